"""Means, scatters and cross scatters of one view, or of several of the same samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ldr.objectives.data.accelerator import Accelerator
from ldr.objectives.data.cells import Cells
from ldr.objectives.data.map_reduce import room
from ldr.objectives.data.samples import Array, Samples
from ldr.objectives.statistics.sparse import column_means, scaled_rows, shifted_rows
from ldr.objectives.statistics.sums import (
    TwoPartMean,
    add_outer,
    add_square,
    add_sum,
    added,
    dense,
    full,
    pilot,
    shifted_blocks,
    symmetric,
    weighted,
    zeros,
)
from ldr.solvers.errors import DataError
from ldr.solvers.records import dataclass

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False)
class Moments:
    """Mean and scatter of n rows.

    Attributes
    ----------
    n : float
        Of weighted rows the sum of the weights, where else it is their number.
    mean : ndarray, shape (d,)
    scatter : ndarray, shape (d, d)
        sum_i w_i (x_i - mean)(x_i - mean)'.
    """

    n: float
    mean: Array
    scatter: Array

    @property
    def covariance(self) -> Array:
        """scatter / n, shape (d, d)."""
        return self.scatter / self.n


def mean(samples: Samples) -> Array:
    """Mean of the rows.

    Returns
    -------
    ndarray, shape (d,)
        Right to a few units in the last place of max(|mean|, spread); exact for constant
        columns of dense data.
    """
    return samples.reduce(_mean, TwoPartMean.merge).value


def _mean(piece: Samples) -> TwoPartMean:
    if piece.is_sparse:
        centred, origin = shifted_rows(piece)
        return TwoPartMean(piece.weight, origin, column_means(centred, piece.weights))
    shift = pilot(piece)
    total = np.zeros(piece.d)
    for where, Z in shifted_blocks(piece, shift):
        total = add_sum(total, Z, piece.weights, where)
    return TwoPartMean.about(shift, total, piece.weight)


def moments(samples: Samples) -> Moments:
    """Mean and scatter of the rows, in one pass.

    Returns
    -------
    Moments
        Accuracy as the module says: entries of the scatter to about 1e-14 sqrt(S_ii S_jj).
    """
    return samples.reduce(spread, Spread.merge).moments


@dataclass(eq=False)
class Spread:
    """Mean and scatter of some rows, which can be merged with those of others.

    Attributes
    ----------
    scatter : ndarray, shape (d, d)
        Its upper triangle, in Fortran order.
    """

    mean: TwoPartMean
    scatter: Array

    def merge(self, other: Spread) -> Spread:
        """Those of both, in place: S = S_a + S_b + (n_a n_b/n) delta delta'."""
        na, nb = self.mean.n, other.mean.n
        self.scatter += other.scatter
        if na and nb:
            self.scatter = add_outer(self.scatter, other.mean - self.mean, na * nb / (na + nb))
        self.mean = self.mean.merge(other.mean)
        return self

    @property
    def moments(self) -> Moments:
        return Moments(self.mean.n, self.mean.value, full(self.scatter))


def spread(piece: Samples) -> Spread:
    """Mean and scatter of a piece."""
    if piece.is_sparse:
        return sparse_spread(*shifted_rows(piece), piece.weights)
    shift = pilot(piece)
    if piece.accelerator is not None and piece.weights is None:
        return spread_on(piece.accelerator, piece.array, shift)
    return spread_of(shifted_blocks(piece, shift), piece, piece.d, shift)


def spread_of(
    blocks: Iterator[tuple[slice, Array]], piece: Samples, d: int, shift: Array | None
) -> Spread:
    """Mean and scatter of a piece's rows from their shifted blocks, of d columns."""
    total, squares = np.zeros(d), zeros(d, d)
    for where, Z in blocks:
        total = add_sum(total, Z, piece.weights, where)
        squares = add_square(squares, weighted(Z, piece.weights, where))
    mean = TwoPartMean.about(shift, total, piece.weight)
    return Spread(mean, add_outer(squares, mean.offset, -float(piece.weight)))


def spread_on(accelerator: Accelerator, X: Cells, shift: Array | None) -> Spread:
    """Mean and scatter of rows, computed on an accelerator."""
    total, squares = accelerator.spread(X, np.zeros(X.shape[1]) if shift is None else shift)
    mean = TwoPartMean.about(shift, total, len(X))
    return Spread(mean, add_outer(squares, mean.offset, -float(len(X))))


def sparse_spread(X: csr_array, shift: Array, weights: Array | None = None) -> Spread:
    """Mean and scatter of X + 1 shift', X sparse."""
    n = X.shape[0] if weights is None else float(weights.sum())
    centre = column_means(X, weights)
    scatter = dense(X.T @ scaled_rows(X, weights)) - n * np.outer(centre, centre)
    return Spread(TwoPartMean(n, shift, centre), np.asfortranarray(symmetric(scatter)))


def second_moments(samples: Samples, counts: Array) -> Array:
    """sum_i c_ik x_i x_i' for each column of the counts, in one pass.

    Parameters
    ----------
    samples : Samples, shape (n, d)
    counts : ndarray, shape (n, q)
        Of either sign; a row costs nothing where it counts zero. Weights of the rows are not looked
        at.
    """
    return samples.reduce(_squares, added, counts)


def _squares(piece: Samples, counts: Array) -> Array:
    found = np.zeros((counts.shape[1], piece.d, piece.d))
    for where, block in piece.blocks():
        for square, of_block in zip(found, counts[where].T, strict=True):
            there = np.flatnonzero(of_block)
            rows, count = block[there], of_block[there]
            scaled = scaled_rows(rows, count) if piece.is_sparse else rows * count[:, None]
            square += dense(rows.T @ scaled)
    return 0.5 * (found + found.transpose(0, 2, 1))


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


@dataclass(frozen=True, eq=False)
class ViewMoments:
    """Means and scatters of several views of the same n samples.

    Attributes
    ----------
    n : float
        Of weighted rows the sum of the weights.
    means : tuple of ndarray (d_i,)
    scatter : ndarray (sum d_i, sum d_i)
        Of the views side by side: its blocks are the scatters and cross scatters.
    """

    n: float
    means: tuple[Array, ...]
    scatter: Array

    def block(self, i: int, j: int) -> Array:
        """sum_t w_t (x_t - mean_i)(z_t - mean_j)' of views i and j."""
        ends = np.cumsum([0, *map(len, self.means)])
        return self.scatter[ends[i] : ends[i + 1], ends[j] : ends[j + 1]]


def joint_moments(a: Samples, b: Samples) -> JointMoments:
    """Means, scatters and cross scatter of two views of the same samples: see `view_moments`."""
    both = view_moments((a, b))
    aa, ab, bb = (both.block(i, j) for i, j in ((0, 0), (0, 1), (1, 1)))
    mean_a, mean_b = both.means
    return JointMoments(both.n, mean_a, mean_b, aa, ab, bb)


def view_moments(views: Sequence[Samples]) -> ViewMoments:
    """Means, scatters and cross scatters of several views of the same samples.

    One pass over all views where all are dense. Where one is sparse, three passes: the scatters,
    then A'(B - 1 mean_b'), which is right because A's own mean drops out.

    Returns
    -------
    ViewMoments
        Accuracy as for `moments`: the error of cross entry (i, j) is relative to
        sqrt(Saa_ii Sbb_jj).
    """
    first, *others = views
    for other in others:
        if first.n_known and other.n_known and first.n != other.n:
            raise DataError(
                f"{first.name} has {first.n} rows and {other.name} has {other.n}; "
                f"views of the same samples were expected"
            )
    all_of_them = first.reduce(joint_spread, Spread.merge, *others).moments
    means = np.split(all_of_them.mean, np.cumsum([view.d for view in views])[:-1])
    return ViewMoments(all_of_them.n, tuple(means), all_of_them.scatter)


def joint_spread(*views: Samples) -> Spread:
    """Mean and scatter of a piece of all views side by side."""
    if any(view.is_sparse for view in views):
        return _joint_spread_apart(views)
    first, width = views[0], sum(view.d for view in views)
    pilots = ((view, pilot(view)) for view in views)
    shift = np.concatenate([np.zeros(view.d) if p is None else p for view, p in pilots])
    if first.accelerator is not None and first.weights is None:
        return spread_on(first.accelerator, np.hstack([view.array for view in views]), shift)
    blocks = _joint_blocks(views, shift, min(view.block_rows for view in views))
    return spread_of(blocks, first, width, shift)


def _joint_blocks(
    views: Sequence[Samples], shift: Array, rows: int
) -> Iterator[tuple[slice, Array]]:
    """Shifted blocks of all views side by side, so that one product gives all scatters."""
    ends = np.cumsum([0, *(view.d for view in views)])
    with room(min(rows, views[0].n), ends[-1]) as buffer:
        for where in views[0].slices(rows):
            block = buffer[: where.stop - where.start]
            for view, a, b in zip(views, ends, ends[1:], strict=False):
                view.less(where, shift[a:b], out=block[:, a:b])
            yield where, block


def _joint_spread_apart(views: Sequence[Samples]) -> Spread:
    of_each = [spread(view) for view in views]
    blocks = [[full(one.scatter) for one in of_each] for _ in views]
    for j, b in enumerate(views):
        for i, a in enumerate(views[:j]):
            cross = _cross(a, b, of_each[i].mean, of_each[j].mean)
            blocks[i][j], blocks[j][i] = cross, cross.T
    for i, one in enumerate(of_each):
        blocks[i][i] = full(one.scatter)
    origin = np.concatenate([one.mean.origin for one in of_each])
    offset = np.concatenate([one.mean.offset for one in of_each])
    return Spread(TwoPartMean(views[0].weight, origin, offset), np.asfortranarray(np.block(blocks)))


def _cross(a: Samples, b: Samples, mean_a: TwoPartMean, mean_b: TwoPartMean) -> Array:
    """The cross scatter of a piece of two views."""
    if a.is_sparse and b.is_sparse:
        (A, _), (B, _) = shifted_rows(a), shifted_rows(b)
        cross = dense(A.T @ scaled_rows(B, a.weights))
        return np.asarray(cross - a.weight * np.outer(mean_a.offset, mean_b.offset))
    if a.is_sparse:
        return _sparse_cross(a, b, mean_b)
    if b.is_sparse:
        return _sparse_cross(b, a, mean_a).T
    cross = np.zeros((a.d, b.d))
    for where, block in a.blocks():
        weighted = ((block - mean_a.origin) - mean_a.offset).T
        weighted = weighted if a.weights is None else weighted * a.weights[where]
        cross += weighted @ ((b.rows(where) - mean_b.origin) - mean_b.offset)
    return cross


def _sparse_cross(a: Samples, b: Samples, mean_b: TwoPartMean) -> Array:
    """A'(B - 1 mean_b') for sparse A and dense B; A may be shifted."""
    A = scaled_rows(shifted_rows(a)[0], a.weights)
    cross = np.zeros((a.d, b.d))
    for where, block in b.blocks():
        cross += A[where].T @ ((block - mean_b.origin) - mean_b.offset)
    return cross
