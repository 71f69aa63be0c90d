"""Means, scatters and cross scatter of two views of the same samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from ldr.objectives.data.samples import Array, Samples
from ldr.objectives.statistics.moments import Spread, spread, spread_of, spread_on
from ldr.objectives.statistics.sparse import scaled_rows, shifted_rows
from ldr.objectives.statistics.sums import TwoPartMean, dense, full, pilot
from ldr.solvers.errors import DataError


@dataclass(frozen=True, eq=False)
class JointMoments:
    """Means and scatters of two views of the same n samples.

    Attributes
    ----------
    n : float
        Of weighted rows the sum of the weights.
    mean_a, mean_b : ndarray, shapes (da,) and (db,)
    scatter_aa, scatter_ab, scatter_bb : ndarray, shapes (da, da), (da, db), (db, db)
        scatter_ab is sum_i w_i (a_i - mean_a)(b_i - mean_b)', and so on.
    """

    n: float
    mean_a: Array
    mean_b: Array
    scatter_aa: Array
    scatter_ab: Array
    scatter_bb: Array

    def through(self, A: Array, B: Array) -> JointMoments:
        """Of the rows a'A and b'B."""
        return JointMoments(
            self.n,
            self.mean_a @ A,
            self.mean_b @ B,
            A.T @ self.scatter_aa @ A,
            A.T @ self.scatter_ab @ B,
            B.T @ self.scatter_bb @ B,
        )


def joint_moments(a: Samples, b: Samples, *, rows: int | None = None) -> JointMoments:
    """Means, scatters and cross scatter of two views of the same samples.

    One pass over both views where both are dense. Where either is sparse, three passes: the
    scatters, then A'(B - 1 mean_b'), which is right because A's own mean drops out.

    Parameters
    ----------
    a, b : Samples, shapes (n, da) and (n, db)
    rows : int, optional
        Rows in a block.

    Returns
    -------
    JointMoments
        Accuracy as for `moments`: the error of cross entry (i, j) is relative to
        sqrt(Saa_ii Sbb_jj).

    Raises
    ------
    DataError
        The views have different numbers of rows.
    """
    if a.n_known and b.n_known and a.n != b.n:
        raise DataError(
            f"{a.name} has {a.n} rows and {b.name} has {b.n}; "
            f"two views of the same samples were expected"
        )
    both = a.reduce(partial(_joint_spread, rows=rows), Spread.merge, b).moments
    first, second = slice(0, a.d), slice(a.d, None)
    return JointMoments(
        both.n,
        both.mean[first],
        both.mean[second],
        both.scatter[first, first],
        both.scatter[first, second],
        both.scatter[second, second],
    )


def _joint_spread(a: Samples, b: Samples, rows: int | None) -> Spread:
    """Mean and scatter of a piece of both views side by side."""
    if a.is_sparse or b.is_sparse:
        return _joint_spread_apart(a, b)
    shift = _side_by_side(pilot(a), a.d, pilot(b), b.d)
    if a.accelerator is not None and a.weights is None:
        return spread_on(a.accelerator, np.hstack([a.array, b.array]), shift)
    blocks = _joint_blocks(a, b, shift, rows or min(a.block_rows, b.block_rows))
    return spread_of(blocks, a, a.d + b.d, shift)


def _side_by_side(shift_a: Array | None, da: int, shift_b: Array | None, db: int) -> Array:
    parts = (
        np.zeros(da) if shift_a is None else shift_a,
        np.zeros(db) if shift_b is None else shift_b,
    )
    return np.concatenate(parts)


def _joint_blocks(a: Samples, b: Samples, shift: Array, rows: int) -> Iterator[tuple[slice, Array]]:
    """Shifted blocks of both views side by side, so that one product gives all scatters."""
    buffer = np.empty((min(rows, a.n), a.d + b.d))
    for where in a.slices(rows):
        block = buffer[: where.stop - where.start]
        np.subtract(a.rows(where), shift[: a.d], out=block[:, : a.d])
        np.subtract(b.rows(where), shift[a.d :], out=block[:, a.d :])
        yield where, block


def _joint_spread_apart(a: Samples, b: Samples) -> Spread:
    of_a, of_b = spread(a, None), spread(b, None)
    if a.is_sparse and b.is_sparse:
        (A, _), (B, _) = shifted_rows(a), shifted_rows(b)
        cross = dense(A.T @ scaled_rows(B, a.weights))
        cross -= a.weight * np.outer(of_a.mean.offset, of_b.mean.offset)
    elif a.is_sparse:
        cross = _sparse_cross(a, b, of_b.mean)
    else:
        cross = _sparse_cross(b, a, of_a.mean).T
    scatter = np.block([[full(of_a.scatter), cross], [cross.T, full(of_b.scatter)]])
    origin = np.concatenate([of_a.mean.origin, of_b.mean.origin])
    offset = np.concatenate([of_a.mean.offset, of_b.mean.offset])
    return Spread(TwoPartMean(a.weight, origin, offset), np.asfortranarray(scatter))


def _sparse_cross(a: Samples, b: Samples, mean_b: TwoPartMean) -> Array:
    """A'(B - 1 mean_b') for sparse A and dense B; A may be shifted."""
    A = scaled_rows(shifted_rows(a)[0], a.weights)
    cross = np.zeros((a.d, b.d))
    for where, block in b.blocks():
        cross += A[where].T @ ((block - mean_b.origin) - mean_b.offset)
    return cross
