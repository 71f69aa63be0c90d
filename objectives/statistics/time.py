"""Statistics of samples in time order: lagged covariances, scatter of differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Generic, Protocol, Self, TypeVar

import numpy as np

from ldr.objectives.data.data import Array, Samples
from ldr.objectives.data.sample_metadata import Marks
from ldr.objectives.statistics.products import scaled_rows
from ldr.objectives.statistics.scatters import (
    Moments,
    Spread,
    ViewMoments,
    joint_spread,
    shifted,
    squares_of,
)
from ldr.objectives.statistics.sums import (
    TwoPartMean,
    class_sums,
    dense,
    pilots,
    sparse_rows,
    square,
    symmetric,
    weighted,
)
from ldr.solvers.errors import ArgumentError, DataError

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def check_lag(lag: int, n: int, name: str) -> None:
    """Refuse a lag that is not between 1 and n - 1."""
    if not 1 <= lag < n:
        raise ArgumentError(
            f"lag must be between 1 and n - 1 = {n - 1} ({name} has {n} rows), got {lag}"
        )


def check_pairs(pairs: float, lag: int, name: str) -> None:
    """Refuse a lag without pairs of positive weight."""
    if not pairs > 0:
        raise ArgumentError(
            f"lag = {lag} leaves no pair of rows of {name}: two rows of positive weight must be "
            f"{lag} rows apart in the same trial. Give a smaller lag, or longer trials"
        )


class Mergeable(Protocol):
    """Sums that can be merged with the sums of later rows."""

    def merge(self, later: Self) -> Self: ...


Sums = TypeVar("Sums", bound=Mergeable)


@dataclass(eq=False)
class InOrder(Generic[Sums]):
    """Sums over rows in time order and over windows of rows, which can be merged.

    - sums: sums over the rows and over the windows of these rows
    - across: function that returns the sums over windows of given rows
    - reach: distance of the first and the last row of a window
    - first, last: at most `reach` rows at the beginning and at the end, for windows across chunks
    """

    sums: Sums
    across: Callable[[list[Samples]], Sums]
    reach: int
    first: list[Samples]
    last: list[Samples]

    @classmethod
    def of(
        cls, sums: Sums, across: Callable[[list[Samples]], Sums], reach: int, *pieces: Samples
    ) -> InOrder[Sums]:
        """Return the sums for a chunk; `pieces` are its rows in one or several coordinates."""
        first = [_edge(piece, slice(0, reach)) for piece in pieces]
        last = [_edge(piece, slice(max(0, piece.n - reach), piece.n)) for piece in pieces]
        return cls(sums, across, reach, first, last)

    def merge(self, later: InOrder[Sums]) -> InOrder[Sums]:
        """Merge with the sums of later rows, in place, and add windows that span both chunks."""
        border = list(map(_followed_by, self.last, later.first))
        self.sums = self.sums.merge(self.across(border)).merge(later.sums)
        if self.first[0].n < self.reach:
            both = map(_followed_by, self.first, later.first)
            self.first = [_edge(rows, slice(0, self.reach)) for rows in both]
        both = map(_followed_by, self.last, later.last)
        self.last = [_edge(rows, slice(-self.reach, None)) for rows in both]
        return self


def _edge(piece: Samples, where: slice) -> Samples:
    """Copy the first or last rows of a chunk, for windows across chunks."""
    return Samples(np.array(dense(piece.rows(where))), marks=piece.marked(where))


def _followed_by(rows: Samples, later: Samples) -> Samples:
    marks = rows.marks and later.marks and rows.marks.followed_by(later.marks)
    return Samples(np.vstack([rows.array, later.array]), marks=marks)


def pair_counts(marks: Marks | None, n: int, lag: int) -> Array | None:
    """Return the weight of the n - lag pairs (t, t + lag); None if all weights are 1."""
    return None if marks is None else marks[: max(0, n - lag)].before(marks[lag:])


def pair_matrix(samples: Samples, lag: int, entries: Array) -> csr_array:
    """Return the n x n matrix with blocks [[a, b], [b, a]] added for all weighted pairs."""
    from scipy.sparse import diags_array

    n, (own, across) = samples.n, entries
    counts = pair_counts(samples.marks, n, lag)
    counts = np.ones(n - lag) if counts is None else counts
    each = np.zeros(n)
    each[:-lag] += own * counts
    each[lag:] += own * counts
    beside = across * counts
    return diags_array([beside, each, beside], offsets=[-lag, 0, lag], shape=(n, n)).tocsr()


def count_pairs(samples: Samples, lag: int) -> float:
    """Return the total weight of the pairs of rows at a lag."""
    counts = pair_counts(samples.marks, samples.n, lag)
    return samples.n - lag if counts is None else float(counts.sum())


@dataclass(eq=False)
class PairedSpread:
    """Sums over rows, and over pairs of rows at a lag, which can be merged.

    - rows: mean and scatter of the rows
    - heads, tails: weights of the pairs, and means of the x_t and of the x_{t+lag}
    - products (d, d): weighted sum of (x_t - mean of heads)(x_{t+lag} - mean of tails)'
    """

    rows: Spread
    heads: TwoPartMean
    tails: TwoPartMean
    products: Array

    @classmethod
    def of(cls, rows: Spread, pairs: float, origin: Array, *sums: Array) -> PairedSpread:
        """Compute the sums from those of shifted rows: of z_t z_{t+lag}', z_t and z_{t+lag}."""
        products, *of_members = sums
        heads, tails = (TwoPartMean.about(pairs, origin, each[None]) for each in of_members)
        return cls(rows, heads, tails, products - pairs * np.outer(heads.offset, tails.offset))

    def merge(self, later: PairedSpread) -> PairedSpread:
        """Merge with the sums of later rows, in place."""
        heads, tails = self.heads.merge(later.heads), self.tails.merge(later.tails)
        share = self.heads.n * later.heads.n / np.where(heads.n > 0, heads.n, 1)
        apart = np.outer(later.heads - self.heads, later.tails - self.tails)
        self.products = self.products + later.products + share * apart
        self.rows, self.heads, self.tails = self.rows.merge(later.rows), heads, tails
        return self

    @property
    def lagged(self) -> Array:
        """Symmetrised covariance of the pairs about the mean of all rows."""
        offsets = np.outer(self.heads - self.rows.mean, self.tails - self.rows.mean)
        return symmetric(self.products / self.heads.n + offsets)


def _pairs_in_order(piece: Samples, lag: int) -> InOrder[PairedSpread]:
    return InOrder.of(_paired_spread(piece, lag), partial(_pairs_across, lag=lag), lag, piece)


def _pairs_across(border: list[Samples], lag: int) -> PairedSpread:
    return replace(_paired_spread(border[0], lag), rows=Spread.empty(border[0].d))


def _paired_spread(piece: Samples, lag: int) -> PairedSpread:
    """Sums over the rows and the pairs of a piece."""
    counts, n, unit = pair_counts(piece.marks, piece.n, lag), piece.weight, piece.accelerator
    pairs = float(max(0, piece.n - lag) if counts is None else counts.sum())
    sums: Sequence[Array]
    if counts is None and unit is not None and not piece.is_sparse:
        origin = pilots(piece)
        total, squares, *sums = unit.lagged(piece.array, origin, lag)
        squares = symmetric(squares)
    else:
        Z, origin = shifted(piece)
        total, squares = class_sums(Z, None, 1, piece.weights), squares_of(Z, piece.weights)
        sums = _pair_sums(Z, total, squares, lag, counts)
    rows = Spread.of(n, origin, total.reshape(1, -1), squares)
    return PairedSpread.of(rows, pairs, origin, *sums)


def _pair_sums(
    Z: csr_array | Array, total: Array, squares: Array, lag: int, counts: Array | None
) -> tuple[Array, Array, Array]:
    """Return sum_t c_t z_t z_{t+lag}' or its symmetric part, and c-weighted sums of both members.

    - total, squares: the sum of the rows, and Z'Z, used for dense rows without weights
    """
    n = Z.shape[0]
    pairs = max(0, n - lag)
    before, after = Z[:pairs], Z[n - pairs :]
    if counts is None and isinstance(Z, np.ndarray) and 2 * pairs > n:
        # Squares of a few rows in the cache take .7 of the time of a product of two matrices.
        # With fewer pairs, the squares of all rows would cancel.
        few = (slice(start, start + 1024) for start in range(0, pairs, 1024))
        first, last = Z[: n - pairs], Z[pairs:]
        ends = square(first) + square(last)
        products = 0.5 * sum((square(before[i] + after[i]) for i in few), ends) - squares
        return products, total[0] - last.sum(axis=0), total[0] - first.sum(axis=0)
    products = dense(before.T @ scaled_rows(after, counts))
    counts = np.ones(pairs) if counts is None else counts
    return products, np.asarray(before.T @ counts), np.asarray(after.T @ counts)


def window_moments(samples: Samples, offsets: tuple[int, ...], *others: Samples) -> Moments:
    """Return mean and scatter of the concatenated rows (x_t, x_{t+o}, ...) of windows.

    - samples (n, d): rows in time order
    - offsets: 0 and larger offsets o, ascending; windows lie within trials
    - *others (n, e): the rows in other coordinates, for further members of a window
    - returns: the weight of a window is the geometric mean of the rows' weights; n is the number of
      windows, or sum of weights
    - raises ArgumentError: The largest offset (the lag) is out of range, or leaves no windows.
    """
    if samples.n_known:
        check_lag(offsets[-1], samples.n, samples.name)
    term = partial(_windows_in_order, offsets=offsets)
    found = samples.reduce(term, InOrder.merge, *others).sums
    check_pairs(found.mean.n[0], offsets[-1], samples.name)
    return found.moments


def pair_moments(samples: Samples, lag: int, later: Samples | None = None) -> ViewMoments:
    """Return means, scatters and cross scatter of x_t and x_{t+lag}; see `window_moments`."""
    found = window_moments(samples, (0, lag), *(() if later is None else (later,)))
    means = found.mean[: samples.d], found.mean[samples.d :]
    return ViewMoments(found.n, means, found.scatter)


def _windows_in_order(*pieces: Samples, offsets: tuple[int, ...]) -> InOrder[Spread]:
    of_windows = partial(_spread_of_windows, offsets=offsets)
    return InOrder.of(of_windows(pieces), of_windows, offsets[-1], *pieces)


def _spread_of_windows(rows: Sequence[Samples], offsets: tuple[int, ...]) -> Spread:
    """Return mean and scatter of all windows of rows, given once, or once for each member."""
    members = [rows[k % len(rows)] for k in range(len(offsets))]
    reach, n = offsets[-1], rows[0].n
    count = n - reach
    if count <= 0:
        return Spread.empty(sum(member.d for member in members))
    own = rows[0].marks
    marks = None if own is None else Marks(_window_counts(own, count, offsets))
    return joint_spread(
        *(
            replace(member, array=member.array[offset : offset + count], marks=marks)
            for member, offset in zip(members, offsets, strict=True)
        )
    )


def _window_counts(marks: Marks, count: int, offsets: tuple[int, ...]) -> Array:
    """The geometric mean of the weights of the members; 0 across trials."""
    within = Marks(None, marks.trials)
    together = within[:count].before(within[offsets[-1] :])
    if marks.weights is None:
        return together
    members = [marks.weights[offset : offset + count] for offset in offsets]
    return np.asarray(together * np.prod(np.power(members, 1.0 / len(members)), axis=0))


def difference_scatter(samples: Samples) -> Array:
    """Return Xdot'Xdot of the n - 1 differences x_{t+1} - x_t of rows in time order.

    - samples (n, d): at least two rows
    - returns (d, d): a sum of squares of differences, accurate for any mean
    - raises DataError: There are fewer than two rows.
    """
    if samples.n_known and samples.n < 2:
        raise DataError(f"{samples.name} has {samples.n} row(s); differences need at least 2")
    return samples.reduce(_changes_in_order, InOrder.merge).sums.scatter


def _changes_in_order(piece: Samples) -> InOrder[Spread]:
    return InOrder.of(_changes([piece]), _changes, 1, piece)


def _changes(pieces: list[Samples]) -> Spread:
    """Return the scatter of changes about zero."""
    found, (piece,) = Spread.empty(pieces[0].d), pieces
    counts = pair_counts(piece.marks, piece.n, 1)
    if piece.is_sparse:
        X = sparse_rows(piece)
        steps = X[1:] - X[:-1]
        found.scatter += symmetric(dense(steps.T @ scaled_rows(steps, counts)))
        return found
    X = piece.dense()
    found.scatter += square(weighted(X[1:] - X[:-1], counts))
    return found


@dataclass(frozen=True, eq=False)
class LaggedMoments(Moments):
    """Mean, scatter and lagged covariance of rows in time order.

    - lagged (d, d): the symmetric part of 1/(n - lag) sum_t (x_t - mean)(x_{t+lag} - mean)'. With
      trials or weights, pairs within a trial have the weight sqrt(w_t w_{t+lag}), and the sum of
      these weights replaces n - lag.
    """

    lagged: Array


def lagged_moments(samples: Samples, lag: int) -> LaggedMoments:
    """Return mean, scatter and symmetrised lagged covariance of a series, in a single pass.

    - samples (n, d): rows in time order
    - lag: 1 <= lag < n
    - returns: errors are those of `moments`, relative to the covariance's diagonal.
    - raises ArgumentError: The lag is out of range.
    """
    if samples.n_known:
        check_lag(lag, samples.n, samples.name)
    found = samples.reduce(partial(_pairs_in_order, lag=lag), InOrder.merge).sums
    of_rows = found.rows.moments
    if samples.marks is None:
        check_lag(lag, int(of_rows.n), samples.name)
    check_pairs(found.heads.n[0], lag, samples.name)
    return LaggedMoments(of_rows.n, of_rows.mean, of_rows.scatter, found.lagged)
