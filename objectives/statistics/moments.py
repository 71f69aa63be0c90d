"""Means and scatters of one view."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy

from ldr.objectives.samples import Array, Samples
from ldr.objectives.statistics.sums import (
    add_square,
    add_sum,
    dense,
    full,
    pilot,
    plus,
    shifted_blocks,
    sparse_mean,
    sparse_rows,
    symmetric,
    zeros,
)


@dataclass(frozen=True, eq=False)
class Moments:
    """Mean and scatter of n rows.

    Attributes
    ----------
    n : int
    mean : ndarray, shape (d,)
    scatter : ndarray, shape (d, d)
        sum_i (x_i - mean)(x_i - mean)'.
    """

    n: int
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
    if samples.is_sparse:
        return sparse_mean(samples)
    shift = pilot(samples)
    total = np.zeros(samples.d)
    for _, Z in shifted_blocks(samples, shift, rows):
        total = add_sum(total, Z)
    return plus(shift, total / samples.n)


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
        Accuracy as the module says: entries of the scatter to about 1e-14 sqrt(S_ii S_jj) for
        dense data; algebraic, X'X - n mean mean', for sparse data.
    """
    if samples.is_sparse:
        return sparse_moments(samples)
    shift = pilot(samples)
    return moments_of(shifted_blocks(samples, shift, rows), samples.shape, shift)


def moments_of(
    blocks: Iterator[tuple[slice, Array]], shape: tuple[int, int], shift: Array | None
) -> Moments:
    """Moments of rows from their shifted blocks."""
    n, d = shape
    total, squares = np.zeros(d), zeros(d, d)
    for _, Z in blocks:
        total = add_sum(total, Z)
        squares = add_square(squares, Z)
    rest = total / n
    squares = scipy.linalg.blas.dsyrk(-float(n), rest[:, None], beta=1.0, c=squares, overwrite_c=1)
    return Moments(n, plus(shift, rest), full(squares))


def sparse_moments(samples: Samples) -> Moments:
    X, centre = sparse_rows(samples), sparse_mean(samples)
    scatter = dense(X.T @ X) - samples.n * np.outer(centre, centre)
    return Moments(samples.n, centre, symmetric(scatter))
