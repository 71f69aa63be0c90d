"""Means, scatters and sums of squares of one view."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ldr.objectives.data.accelerator import Accelerator
from ldr.objectives.data.cells import Cells
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


def mean(samples: Samples, *, rows: int | None = None) -> Array:
    """Mean of the rows.

    Parameters
    ----------
    samples : Samples, shape (n, d)
    rows : int, optional
        Rows in a block.

    Returns
    -------
    ndarray, shape (d,)
        Right to a few units in the last place of max(|mean|, spread); exact for constant
        columns of dense data.
    """
    return samples.reduce(partial(_mean, rows=rows), TwoPartMean.merge).value


def _mean(piece: Samples, rows: int | None) -> TwoPartMean:
    if piece.is_sparse:
        centred, origin = shifted_rows(piece)
        return TwoPartMean(piece.weight, origin, column_means(centred, piece.weights))
    shift = pilot(piece)
    total = np.zeros(piece.d)
    for where, Z in shifted_blocks(piece, shift, rows):
        total = add_sum(total, Z, piece.weights, where)
    return TwoPartMean.about(shift, total, piece.weight)


def moments(samples: Samples, *, rows: int | None = None) -> Moments:
    """Mean and scatter of the rows, in one pass.

    Parameters
    ----------
    samples : Samples, shape (n, d)
    rows : int, optional
        Rows in a block.

    Returns
    -------
    Moments
        Accuracy as the module says: entries of the scatter to about 1e-14 sqrt(S_ii S_jj).
    """
    return samples.reduce(partial(spread, rows=rows), Spread.merge).moments


@dataclass(eq=False)
class Spread:
    """Mean and scatter of some rows, which can be merged with those of others.

    Attributes
    ----------
    mean : TwoPartMean
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


def spread(piece: Samples, rows: int | None) -> Spread:
    """Mean and scatter of a piece."""
    if piece.is_sparse:
        return sparse_spread(*shifted_rows(piece), piece.weights)
    shift = pilot(piece)
    if piece.accelerator is not None and piece.weights is None:
        return spread_on(piece.accelerator, piece.array, shift)
    return spread_of(shifted_blocks(piece, shift, rows), piece, piece.d, shift)


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

    Returns
    -------
    ndarray, shape (q, d, d)
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
