"""Rows in time order: the scatter of their differences, lagged covariance."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ldr.objectives.data.samples import Array, Samples
from ldr.objectives.statistics.pairs import (
    Edge,
    PairedSpread,
    check_lag,
    less,
    pair_counts,
    paired_spread,
    rows_of,
)
from ldr.objectives.statistics.scatters import Moments, Spread, sparse_spread
from ldr.objectives.statistics.sparse import column_means, scaled_rows, shifted_rows
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
    sparse_rows,
    symmetric,
    weighted,
    zeros,
)
from ldr.solvers.errors import DataError
from ldr.solvers.records import dataclass

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def difference_scatter(samples: Samples) -> Array:
    """Xdot'Xdot, where Xdot holds the n - 1 differences x_{t+1} - x_t of rows in time order.

    Parameters
    ----------
    samples : Samples, shape (n, d)
        At least two rows.

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
    if samples.n_known and samples.n < 2:
        raise DataError(f"{samples.name} has {samples.n} row(s); differences need at least 2")
    return full(samples.reduce(_differences, DifferenceSpread.merge).squares)


@dataclass(eq=False)
class DifferenceSpread:
    """The scatter of differences of neighbouring rows; can be merged with later rows.

    Attributes
    ----------
    squares : ndarray, shape (d, d)
        Its upper triangle, in Fortran order.
    first, last : Edge
        One row each.
    """

    squares: Array
    first: Edge
    last: Edge

    def merge(self, later: DifferenceSpread) -> DifferenceSpread:
        """That of both, in place, with the difference across."""
        self.squares += later.squares
        across = later.first.rows - self.last.rows
        counts = self.last.counts(later.first)
        self.squares = add_square(self.squares, weighted(across, counts))
        self.last = later.last
        return self


def _differences(piece: Samples) -> DifferenceSpread:
    first, last = Edge.of(piece, slice(0, 1)), Edge.of(piece, slice(piece.n - 1, piece.n))
    counts = pair_counts(piece.marks, piece.n, 1)
    if piece.is_sparse:
        X = sparse_rows(piece)
        steps = X[1:] - X[:-1]
        squares = np.asfortranarray(symmetric(dense(steps.T @ scaled_rows(steps, counts))))
        return DifferenceSpread(squares, first, last)
    squares = zeros(piece.d, piece.d)
    for where in piece.slices():
        block = piece.rows(slice(where.start, where.stop + 1))  # and the next block's first row
        if len(block) > 1:
            squares = add_square(squares, weighted(block[1:] - block[:-1], counts, where))
    return DifferenceSpread(squares, first, last)


@dataclass(frozen=True, eq=False)
class LaggedMoments(Moments):
    """Mean, scatter and lagged covariance of rows in time order.

    Attributes
    ----------
    lagged : ndarray, shape (d, d)
        The symmetric part of 1/(n - lag) sum_t (x_t - mean)(x_{t+lag} - mean)'. Of trials or
        weighted rows pairs within a trial count sqrt(w_t w_{t+lag}), in place of 1, and their sum
        takes the place of n - lag.
    """

    lagged: Array


def lagged_moments(samples: Samples, lag: int) -> LaggedMoments:
    """Mean, scatter and symmetrised lagged covariance of rows in time order, in one pass.

    Parameters
    ----------
    samples : Samples, shape (n, d)
    lag : int
        1 <= lag < n.

    Returns
    -------
    LaggedMoments
        Errors as for `moments`, relative to the covariance's diagonal.

    Raises
    ------
    ArgumentError
        The lag is out of range.
    """
    if samples.n_known:
        check_lag(lag, samples.n, samples.name)
    if samples.marks is not None:
        pairs = samples.reduce(partial(paired_spread, lag=lag), PairedSpread.merge)
        found = pairs.spread.moments
        return LaggedMoments(found.n, found.mean, found.scatter, pairs.lagged(samples.name))
    whole = samples.reduce(partial(_lagged_spread, lag=lag), LaggedSpread.merge)
    of_rows = whole.spread.moments
    check_lag(lag, int(of_rows.n), samples.name)
    lagged = symmetric(whole.products) / (of_rows.n - lag)
    return LaggedMoments(of_rows.n, of_rows.mean, of_rows.scatter, lagged)


@dataclass(eq=False)
class LaggedSpread:
    """Mean, scatter and lagged products of rows in time order; can be merged with later rows.

    Attributes
    ----------
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
        before, after = less(self.last[:pairs], new), less(partners[:pairs], new)
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
        heads = -less(self.last, own).sum(axis=0)
        tails = -less(self.first, own).sum(axis=0)
        self.products += np.outer(heads + pairs * change, change) + np.outer(change, tails)


def _lagged_spread(piece: Samples, lag: int) -> LaggedSpread:
    """Mean, scatter and lagged products of a piece.

    With Z the rows less a shift c, e = mean - c, and a, b the sums of the first and of the last
    n - lag rows of Z, sum_t (x_t - mean)(x_{t+lag} - mean)' is
    sum_t z_t z_{t+lag}' - a e' - e b' + (n - lag) e e'.
    """
    first, last = (
        rows_of(piece, slice(0, lag)),
        rows_of(piece, slice(max(0, piece.n - lag), piece.n)),
    )
    if piece.is_sparse:
        X, origin = shifted_rows(piece)
        return LaggedSpread(lag, sparse_spread(X, origin), _sparse_products(X, lag), first, last)
    n, d = piece.shape
    shift = pilot(piece)
    if piece.accelerator is not None:
        origin = np.zeros(d) if shift is None else shift
        total, squares, products = piece.accelerator.lagged(piece.array, origin, lag)
    else:
        total, squares, products = _lagged_sums(piece, lag, shift)
    mean = TwoPartMean.about(shift, total, n)
    e, pairs = mean.offset, max(0, n - lag)
    heads = total - _less_shift(last, shift).sum(axis=0)
    tails = total - _less_shift(first, shift).sum(axis=0)
    if pairs > 0:
        products -= np.outer(heads, e) + np.outer(e, tails - pairs * e)
    return LaggedSpread(lag, Spread(mean, add_outer(squares, e, -float(n))), products, first, last)


def _lagged_sums(piece: Samples, lag: int, shift: Array | None) -> tuple[Array, Array, Array]:
    """Of the rows less a shift: sum, sum of z_t z_t' (upper triangle), sum of z_t z_{t+lag}'."""
    total, periods, products = np.zeros(piece.d), Periods(piece.d), zeros(piece.d, piece.d)
    # A block and its coefficients stay in cache together.
    for where, Z in shifted_blocks(piece, shift, max(1, piece.block_rows // 2)):
        total = add_sum(total, Z)
        # Lagged rows are read again rather than carried: any lag, any block, little memory.
        if _EIGHT * lag <= len(Z):
            later = _less_shift(piece.rows(slice(where.stop, where.stop + lag)), shift)
            products = periods.add(Z, later, lag, products)
        else:
            partners = piece.rows(slice(where.start + lag, where.stop + lag))
            products = periods.add_apart(Z, _less_shift(partners, shift), products)
    return total, periods.scatter(), products + periods.lagged()


_EIGHT = 8
# Numbers that are transformed at a time: 512 KiB.
_CACHED = 2**16
_ROOT_HALF = math.sqrt(0.5)


class Periods:
    """Sums of z_t z_t' and of z_t z_{t+lag}' at little more than the cost of the first.

    Eight rows at distances of the lag are taken for one period of a series. Their real Fourier
    coefficients u_k are an orthogonal transform, so sum_j z_j z_j' = sum_k u_k u_k', and a shift by
    one multiplies coefficients by a phase, so the symmetric part of sum_j z_j z_{j+1}', with z_8
    = z_0, is sum_k cos(2 pi k/8) u_k u_k'. One product for each frequency gives both sums. What is
    wrong with z_8 = z_0 is put right by a product of an eighth of the rows.

    Attributes
    ----------
    grams : list of ndarray, shape (d, d)
        Of the unnormalised coefficients of k = 0, 1, 2, 3, 4; upper triangles in Fortran order.
    rest : ndarray, shape (d, d)
        Of rows that fill no period.
    """

    def __init__(self, d: int) -> None:
        self.grams = [zeros(d, d) for _ in range(5)]
        self.rest = zeros(d, d)
        self._room: Array | None = None

    def add(self, Z: Array, later: Array, lag: int, products: Array) -> Array:
        """Add a block, followed by at most `lag` later rows; returns products + what is wrong.

        Parameters
        ----------
        Z : ndarray, shape (rows, d)
        later : ndarray, shape (at most lag, d)
            The rows that follow.
        products : ndarray, shape (d, d)
            Changed in place.
        """
        d = Z.shape[1]
        whole = len(Z) // (_EIGHT * lag) * _EIGHT * lag
        following = np.vstack([Z[whole:], later])
        periods = Z[:whole].reshape(-1, _EIGHT, lag, d)
        self._transform(periods)
        first, last = periods[:, 0], np.ascontiguousarray(periods[:, -1])
        change = -first  # z_0 was taken where the next period's first rows belong
        change[:-1] += first[1:]
        change[-1, : len(following)] += following[:lag]
        products = add_product(products, last.reshape(-1, d), change.reshape(-1, d))
        rest = following[: len(Z) - whole]
        return self.add_apart(rest, following[lag:][: len(rest)], products)

    def add_apart(self, Z: Array, partners: Array, products: Array) -> Array:
        """Add rows that fill no period; `partners` are the rows a lag after the first of them."""
        self.rest = add_square(self.rest, Z)
        return add_product(products, Z[: len(partners)], partners)

    def _transform(self, z: Array) -> None:
        """Eight-point real Fourier transform of the periods, and products of its coefficients."""
        w = self._space(z[:, 0].shape)
        step = max(1, _CACHED // z[0].size)
        for start in range(0, len(z), step):
            part = slice(start, start + step)
            _coefficients(z[part].swapaxes(0, 1), w[:, part])
        first = 0
        for k, count in ((2, 2), (0, 1), (4, 1), (1, 2), (3, 2)):
            rows = w[first : first + count].reshape(-1, z.shape[-1])
            self.grams[k] = add_square(self.grams[k], rows)
            first += count

    def _space(self, shape: tuple[int, ...]) -> Array:
        """Room for the coefficients, kept from block to block."""
        if self._room is None or self._room.shape[1:] != shape:
            self._room = np.empty((_EIGHT, *shape))
        return self._room

    def scatter(self) -> Array:
        """sum_t z_t z_t', its upper triangle in Fortran order."""
        g = self.grams
        return self.rest + (g[0] + g[4]) / 8 + (g[1] + g[2] + g[3]) / 4

    def lagged(self) -> Array:
        """The symmetric part of sum_t z_t z_{t+lag}', but for what `add` put right."""
        g = self.grams
        return full((g[0] - g[4]) / 8 + _ROOT_HALF / 4 * (g[1] - g[3]))


def _coefficients(z: Array, w: Array) -> None:
    """Unnormalised coefficients of eight rows z: in w those of k = 2, 2, 0, 4, 1, 1, 3, 3."""
    half = _EIGHT // 2
    np.add(z[:half], z[half:], out=w[:half])
    np.subtract(z[:half], z[half:], out=w[half:])
    even_odd = w[0:2] + w[2:4]
    np.subtract(w[0:2], w[2:4], out=w[0:2])
    np.add(even_odd[0], even_odd[1], out=w[2])
    np.subtract(even_odd[0], even_odd[1], out=w[3])
    p, q = w[5] - w[7], w[5] + w[7]
    p *= _ROOT_HALF
    q *= _ROOT_HALF
    np.subtract(q, w[6], out=w[7])
    np.add(q, w[6], out=w[5])
    np.subtract(w[4], p, out=w[6])
    np.add(w[4], p, out=w[4])


def _less_shift(rows: Array, shift: Array | None) -> Array:
    return rows if shift is None else rows - shift


def _sparse_products(X: csr_array, lag: int) -> Array:
    (n, d), centre = X.shape, column_means(X)
    if n <= lag:
        return zeros(d, d)
    head, tail = X[: n - lag], X[lag:]
    products = dense(head.T @ tail)
    products -= np.outer(np.asarray(head.sum(axis=0)).ravel(), centre)
    products -= np.outer(centre, np.asarray(tail.sum(axis=0)).ravel() - (n - lag) * centre)
    return np.asfortranarray(products)
