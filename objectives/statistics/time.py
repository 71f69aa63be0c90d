"""Rows in time order: lagged covariance and differences."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from ldr.objectives.samples import Array, Samples
from ldr.objectives.statistics.moments import Spread, spread
from ldr.objectives.statistics.sums import (
    TwoPartMean,
    add_outer,
    add_product,
    add_square,
    add_sum,
    dense,
    full,
    pilot,
    shifted_blocks,
    sparse_mean,
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
    """Mean, scatter and symmetrised lagged covariance of rows in time order, in one pass.

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
    whole = samples.reduce(partial(_lagged_spread, lag=lag, rows=rows), LaggedSpread.merge)
    of_rows = whole.spread.moments
    lagged = symmetric(whole.products) / (of_rows.n - lag)
    return LaggedMoments(of_rows.n, of_rows.mean, of_rows.scatter, lagged)


@dataclass(eq=False)
class LaggedSpread:
    """Mean, scatter and lagged products of rows in time order; can be merged with later rows.

    Attributes
    ----------
    lag : int
    spread : Spread
    products : ndarray, shape (d, d)
        sum_t (x_t - mean)(x_{t+lag} - mean)' over the pairs within these rows; only its symmetric
        part means anything.
    first, last : ndarray, shape (at most lag, d)
        The first and the last rows themselves: those with a partner before or after.
    """

    lag: int
    spread: Spread
    products: Array
    first: Array
    last: Array

    def merge(self, later: LaggedSpread) -> LaggedSpread:
        """Those of both, in place: both are moved to the common mean, then come the pairs across.

        A pair (t, t + lag) across is one of the last and one of the first rows: the last k rows
        have their partners from row lag - k of the later ones on.
        """
        own = self.spread.mean
        new = own.merge(later.spread.mean)
        self._move(new)
        later._move(new)
        self.products += later.products
        k = len(self.last)
        partners = later.first[self.lag - k :]
        pairs = min(k, len(partners))
        before, after = _less(self.last[:pairs], new), _less(partners[:pairs], new)
        self.products = add_product(self.products, before, after)
        if own.n < self.lag:
            self.first = np.vstack([self.first, later.first])[: self.lag]
        self.last = np.vstack([self.last, later.last])[-self.lag :]
        self.spread = self.spread.merge(later.spread)
        return self

    def _move(self, new: TwoPartMean) -> None:
        """Take the products about another mean.

        sum (z_t + e)(z_{t+lag} + e)' with the sums of the pairs' first and second members, which
        are minus those of the last and the first rows, as the z add up to zero.
        """
        own = self.spread.mean
        pairs = own.n - self.lag
        if pairs <= 0:
            return
        change = own - new
        heads = -_less(self.last, own).sum(axis=0)
        tails = -_less(self.first, own).sum(axis=0)
        self.products += np.outer(heads + pairs * change, change) + np.outer(change, tails)


def _less(rows: Array, mean: TwoPartMean) -> Array:
    return (rows - mean.origin) - mean.offset


def _lagged_spread(piece: Samples, lag: int, rows: int | None) -> LaggedSpread:
    """Mean, scatter and lagged products of a piece.

    With Z the rows less a shift c, e = mean - c, and a, b the sums of the first and of the last
    n - lag rows of Z, sum_t (x_t - mean)(x_{t+lag} - mean)' is
    sum_t z_t z_{t+lag}' - a e' - e b' + (n - lag) e e'.
    """
    first, last = _rows(piece, slice(0, lag)), _rows(piece, slice(max(0, piece.n - lag), piece.n))
    if piece.is_sparse:
        return LaggedSpread(lag, spread(piece, rows), _sparse_products(piece, lag), first, last)
    n, d = piece.shape
    shift = pilot(piece)
    head_sum, tail_sum, total = np.zeros(d), np.zeros(d), np.zeros(d)
    squares, products = zeros(d, d), zeros(d, d)
    for where, Z in shifted_blocks(piece, shift, rows):
        total = add_sum(total, Z)
        squares = add_square(squares, Z)
        # The rows `lag` later are read again rather than carried: any lag, any block, and
        # memory for two blocks only.
        head = Z[: max(0, n - lag - where.start)]
        if len(head) == 0:
            continue
        later = piece.rows(slice(where.start + lag, where.start + lag + len(head)))
        tail = later if shift is None else later - shift
        head_sum, tail_sum = add_sum(head_sum, head), add_sum(tail_sum, tail)
        products = add_product(products, head, tail)
    mean = TwoPartMean.about(shift, total, n)
    e, pairs = mean.offset, max(0, n - lag)
    products -= np.outer(head_sum, e) + np.outer(e, tail_sum - pairs * e)
    return LaggedSpread(lag, Spread(mean, add_outer(squares, e, -float(n))), products, first, last)


def _rows(piece: Samples, where: slice) -> Array:
    """A few rows as an array of their own."""
    rows = piece.rows(where)
    return np.asarray(rows.toarray() if piece.is_sparse else rows.copy())


def _sparse_products(piece: Samples, lag: int) -> Array:
    X, n, centre = sparse_rows(piece), piece.n, sparse_mean(piece)
    if n <= lag:
        return zeros(piece.d, piece.d)
    head, tail = X[: n - lag], X[lag:]
    products = dense(head.T @ tail)
    products -= np.outer(np.asarray(head.sum(axis=0)).ravel(), centre)
    products -= np.outer(centre, np.asarray(tail.sum(axis=0)).ravel() - (n - lag) * centre)
    return np.asfortranarray(products)


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
    return full(samples.reduce(partial(_differences, rows=rows), DifferenceSpread.merge).squares)


@dataclass(eq=False)
class DifferenceSpread:
    """The scatter of differences of neighbouring rows; can be merged with later rows.

    Attributes
    ----------
    squares : ndarray, shape (d, d)
        Its upper triangle, in Fortran order.
    first, last : ndarray, shape (1, d)
    """

    squares: Array
    first: Array
    last: Array

    def merge(self, later: DifferenceSpread) -> DifferenceSpread:
        """That of both, in place, with the difference across."""
        self.squares += later.squares
        self.squares = add_square(self.squares, later.first - self.last)
        self.last = later.last
        return self


def _differences(piece: Samples, rows: int | None) -> DifferenceSpread:
    first, last = _rows(piece, slice(0, 1)), _rows(piece, slice(piece.n - 1, piece.n))
    if piece.is_sparse:
        X = sparse_rows(piece)
        steps = X[1:] - X[:-1]
        squares = np.asfortranarray(symmetric(dense(steps.T @ steps)))
        return DifferenceSpread(squares, first, last)
    squares = zeros(piece.d, piece.d)
    for where in piece.slices(rows):
        block = piece.rows(slice(where.start, where.stop + 1))  # and the next block's first row
        if len(block) > 1:
            squares = add_square(squares, block[1:] - block[:-1])
    return DifferenceSpread(squares, first, last)
