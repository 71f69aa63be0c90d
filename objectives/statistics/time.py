"""Rows in time order: lagged covariance and differences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from ldr.objectives.samples import Array, Samples
from ldr.objectives.statistics.moments import sparse_moments
from ldr.objectives.statistics.sums import (
    add_product,
    add_square,
    add_sum,
    dense,
    full,
    pilot,
    plus,
    shifted_blocks,
    sparse_rows,
    symmetric,
    zeros,
)
from ldr.solvers.errors import ArgumentError, DataError


@dataclass(frozen=True, eq=False)
class LaggedMoments:
    """Mean, scatter and lagged covariance of rows in time order.

    Attributes
    ----------
    n : int
    mean : ndarray, shape (d,)
    scatter : ndarray, shape (d, d)
        sum_t (x_t - mean)(x_t - mean)'.
    lagged : ndarray, shape (d, d)
        The symmetric part of 1/(n - lag) sum_t (x_t - mean)(x_{t+lag} - mean)'.
    """

    n: int
    mean: Array
    scatter: Array
    lagged: Array


def lagged_moments(samples: Samples, lag: int, *, rows: int | None = None) -> LaggedMoments:
    """Mean, scatter and symmetrised lagged covariance of rows in time order.

    With Z the rows less a shift c, e = mean - c, and a, b the sums of the first and of the last
    n - lag rows of Z, sum_t (x_t - mean)(x_{t+lag} - mean)' is
    sum_t z_t z_{t+lag}' - a e' - e b' + (n - lag) e e'.

    Parameters
    ----------
    samples : Samples, shape (n, d)
    lag : int
        1 <= lag < n.
    rows : int, optional
        Rows in a block; fewer than the lag is fine.

    Returns
    -------
    LaggedMoments
        Errors as for `moments`, relative to the covariance's diagonal.

    Raises
    ------
    ArgumentError
        The lag is out of range.
    """
    if not 1 <= lag < samples.n:
        raise ArgumentError(
            f"lag must be between 1 and n - 1 = {samples.n - 1} "
            f"({samples.name} has {samples.n} rows), got {lag}"
        )
    if samples.is_sparse:
        return _sparse_lagged_moments(samples, lag)
    n, d = samples.shape
    shift = pilot(samples)
    head_sum, tail_sum, total = np.zeros(d), np.zeros(d), np.zeros(d)
    squares, products = zeros(d, d), zeros(d, d)
    for where, Z in shifted_blocks(samples, shift, rows):
        total = add_sum(total, Z)
        squares = add_square(squares, Z)
        # The rows `lag` later are read again rather than carried: any lag, any block, and
        # memory for two blocks only.
        head = Z[: max(0, n - lag - where.start)]
        if len(head) == 0:
            continue
        later = samples.rows(slice(where.start + lag, where.start + lag + len(head)))
        tail = later if shift is None else later - shift
        head_sum, tail_sum = add_sum(head_sum, head), add_sum(tail_sum, tail)
        products = add_product(products, head, tail)
    rest = total / n
    squares = scipy.linalg.blas.dsyrk(-float(n), rest[:, None], beta=1.0, c=squares, overwrite_c=1)
    products -= np.outer(head_sum, rest) + np.outer(rest, tail_sum - (n - lag) * rest)
    return LaggedMoments(n, plus(shift, rest), full(squares), symmetric(products) / (n - lag))


def _sparse_lagged_moments(samples: Samples, lag: int) -> LaggedMoments:
    X, n = sparse_rows(samples), samples.n
    whole = sparse_moments(samples)
    head, tail, centre = X[: n - lag], X[lag:], whole.mean
    products = dense(head.T @ tail)
    products -= np.outer(np.asarray(head.sum(axis=0)).ravel(), centre)
    products -= np.outer(centre, np.asarray(tail.sum(axis=0)).ravel() - (n - lag) * centre)
    return LaggedMoments(n, centre, whole.scatter, symmetric(products) / (n - lag))


def difference_scatter(samples: Samples, *, rows: int | None = None) -> Array:
    """Xdot'Xdot, where Xdot holds the n - 1 differences x_{t+1} - x_t of rows in time order.

    Parameters
    ----------
    samples : Samples, shape (n, d)
        At least two rows.
    rows : int, optional
        Rows in a block.

    Returns
    -------
    ndarray, shape (d, d)
        A sum of squares of differences of the stored numbers: nothing cancels, whatever the
        mean.

    Raises
    ------
    DataError
        Fewer than two rows.
    """
    if samples.n < 2:
        raise DataError(f"{samples.name} has {samples.n} row(s); differences need at least 2")
    if samples.is_sparse:
        X = sparse_rows(samples)
        steps = X[1:] - X[:-1]
        return symmetric(dense(steps.T @ steps))
    squares = zeros(samples.d, samples.d)
    for where in samples.slices(rows):
        block = samples.rows(slice(where.start, where.stop + 1))  # and the next block's first row
        if len(block) > 1:
            squares = add_square(squares, block[1:] - block[:-1])
    return full(squares)
