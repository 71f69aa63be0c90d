"""Samples in time order: pairs at a lag, lagged covariance, scatter of differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ldr.objectives.data.sample_metadata import Marks
from ldr.objectives.data.samples import Array, Samples
from ldr.objectives.statistics.products import scaled_rows, shifted_rows
from ldr.objectives.statistics.scatters import (
    Moments,
    Spread,
    ViewMoments,
    joint_spread,
    spread,
)
from ldr.objectives.statistics.sums import (
    TwoPartMean,
    add_outer,
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
from ldr.solvers.errors import ArgumentError, DataError

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def check_lag(lag: int, n: int, name: str) -> None:
    """Refuse a lag that no two of n rows lie apart."""
    if not 1 <= lag < n:
        raise ArgumentError(
            f"lag must be between 1 and n - 1 = {n - 1} ({name} has {n} rows), got {lag}"
        )


def check_pairs(pairs: float, lag: int, name: str) -> None:
    """Refuse a lag that leaves no pairs that count."""
    if not pairs > 0:
        raise ArgumentError(
            f"lag = {lag} leaves no two rows of {name} that lie so far apart within a "
            "trial and both have a weight: expected a smaller lag, or longer trials"
        )


def less(rows: Array, mean: TwoPartMean) -> Array:
    return (rows - mean.origin) - mean.offset


def rows_of(piece: Samples, where: slice) -> Array:
    """A few rows as an array of their own."""
    return np.array(dense(piece.rows(where)))


@dataclass(frozen=True, eq=False)
class Edge:
    """The first or the last rows of a piece, with their marks: partners of rows elsewhere."""

    rows: Array
    marks: Marks | None

    @classmethod
    def of(cls, piece: Samples, where: slice) -> Edge:
        return cls(rows_of(piece, where), piece.marked(where))

    def __getitem__(self, where: slice) -> Edge:
        return Edge(self.rows[where], self.marks and self.marks[where])

    def followed_by(self, later: Edge) -> Edge:
        marks = self.marks and later.marks and self.marks.followed_by(later.marks)
        return Edge(np.vstack([self.rows, later.rows]), marks)

    def counts(self, later: Edge) -> Array | None:
        """How much each row and its later partner count; None where they count once."""
        if self.marks is None or later.marks is None:
            return None
        return self.marks.before(later.marks)


def pair_counts(marks: Marks | None, n: int, lag: int) -> Array | None:
    """How much the n - lag pairs (t, t + lag) of n rows count; None where each counts once."""
    return None if marks is None else marks[: max(0, n - lag)].before(marks[lag:])


def pair_matrix(samples: Samples, lag: int, entries: Array) -> csr_array:
    """The sum over pairs, as often as they count, of [[a, b], [b, a]] at their rows."""
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
    """How many pairs of rows the lag makes, or what they count."""
    counts = pair_counts(samples.marks, samples.n, lag)
    return samples.n - lag if counts is None else float(counts.sum())


@dataclass(eq=False)
class PairedSpread:
    """Mean and scatter of rows, and sums over their pairs; can be merged with later rows.

    With z = x - mean and the counts c_t of the pairs (t, t + lag) the sums are

    - products (d, d): sum_t c_t z_t z_{t+lag}', of which only the symmetric part means anything
    - heads, tails (d,): sum_t c_t z_t and sum_t c_t z_{t+lag}
    - pairs: sum_t c_t
    - first, last: at most `lag` rows each: those with a partner before or after
    """

    lag: int
    spread: Spread
    products: Array
    heads: Array
    tails: Array
    pairs: float
    first: Edge
    last: Edge

    def merge(self, later: PairedSpread) -> PairedSpread:
        """Those of both, in place: both are moved to the common mean, then come the pairs across.

        Where either has fewer rows than the lag, its first rows are its last ones too.
        """
        new = self.spread.mean.merge(later.spread.mean)
        self._move(new)
        later._move(new)
        self._add(later.products, later.heads, later.tails, later.pairs)
        partners = later.first[self.lag - len(self.last.rows) :]
        last = self.last[: len(partners.rows)]
        before, after = less(last.rows, new), less(partners.rows, new)
        self._add(*_pair_sums(before, after, last.counts(partners)))
        if len(self.first.rows) < self.lag:
            self.first = self.first.followed_by(later.first)[: self.lag]
        self.last = self.last.followed_by(later.last)[-self.lag :]
        self.spread = self.spread.merge(later.spread)
        return self

    def _add(self, products: Array, heads: Array, tails: Array, pairs: float) -> None:
        self.products = self.products + products
        self.heads = self.heads + heads
        self.tails = self.tails + tails
        self.pairs += pairs

    def _move(self, new: TwoPartMean) -> None:
        """Take the sums about another mean: z + e."""
        e = self.spread.mean - new
        self.products += np.outer(self.heads + self.pairs * e, e) + np.outer(e, self.tails)
        self.heads = self.heads + self.pairs * e
        self.tails = self.tails + self.pairs * e


PairSums = tuple[Array, Array, Array, float]


def _pair_sums(before: Array, after: Array, counts: Array | None) -> PairSums:
    """Sums over pairs of rows of two arrays: of c z z'', of c z, of c z'' and of c."""
    counts = np.ones(len(before)) if counts is None else counts
    counted = counts[:, None] * before
    return counted.T @ after, counted.sum(axis=0), counts @ after, float(counts.sum())


def paired_spread(piece: Samples, lag: int) -> PairedSpread:
    """Sums over the pairs of a piece, about its own mean."""
    n, counts = piece.n, pair_counts(piece.marks, piece.n, lag)
    first, last = Edge.of(piece, slice(0, lag)), Edge.of(piece, slice(max(0, n - lag), n))
    if counts is None and not piece.is_sparse:
        own, sums = _alike_pair_sums(piece, lag, first.rows, last.rows)
        return PairedSpread(lag, own, *sums, first, last)
    own, d = spread(piece), piece.d
    nothing: PairSums = np.zeros((d, d)), np.zeros(d), np.zeros(d), 0.0
    found = PairedSpread(lag, own, *nothing, first, last)
    if piece.is_sparse:
        counts = np.ones(max(0, n - lag)) if counts is None else counts
        found._add(*_sparse_pair_sums(piece, lag, counts, own.mean))
        return found
    for where in piece.slices():
        after = less(piece.rows(slice(where.start + lag, where.stop + lag)), own.mean)
        here = slice(where.start, where.start + len(after))
        before = less(piece.rows(here), own.mean)
        found._add(*_pair_sums(before, after, None if counts is None else counts[here]))
    return found


def _sparse_pair_sums(piece: Samples, lag: int, counts: Array, mean: TwoPartMean) -> PairSums:
    X, _ = shifted_rows(piece)
    head, tail, e = X[: len(counts)], X[lag:], mean.offset
    pairs = float(counts.sum())
    heads, tails = np.asarray(head.T @ counts), np.asarray(tail.T @ counts)
    products = dense(head.T @ scaled_rows(tail, counts))
    products -= np.outer(heads, e) + np.outer(e, tails - pairs * e)
    return products, heads - pairs * e, tails - pairs * e, pairs


def _alike_pair_sums(
    piece: Samples, lag: int, first: Array, last: Array
) -> tuple[Spread, PairSums]:
    """Mean and scatter of a piece of dense rows that count once, and the sums over its pairs.

    With Z the rows less a shift c, e = mean - c, and a, b the sums of the first and of the last
    n - lag rows of Z, sum_t (x_t - mean)(x_{t+lag} - mean)' is
    sum_t z_t z_{t+lag}' - a e' - e b' + (n - lag) e e'.
    """
    (n, d), shift = piece.shape, pilot(piece)
    if piece.accelerator is not None:
        origin = np.zeros(d) if shift is None else shift
        total, squares, products = piece.accelerator.lagged(piece.array, origin, lag)
    else:
        total, squares, products = _lagged_sums(piece, lag, shift)
    mean, pairs = TwoPartMean.about(shift, total, n), float(max(0, n - lag))
    e, heads, tails = mean.offset, np.zeros(d), np.zeros(d)
    if pairs > 0:
        heads = total - _less_shift(last, shift).sum(axis=0) - pairs * e
        tails = total - _less_shift(first, shift).sum(axis=0) - pairs * e
        products -= np.outer(heads + pairs * e, e) + np.outer(e, tails)
    own = Spread(mean, add_outer(squares, e, -float(n)))
    return own, (products, heads, tails, pairs)


@dataclass(eq=False)
class Windows:
    """Rows (x_t, x_{t+o}, ...) side by side, o the offsets; can be merged with those of later rows.

    - offsets: 0, and more, ascending
    - spread: of the windows as rows; each member about its own mean
    - first, last: at most as many rows as a window reaches, those with partners before or after;
      one, or one for each member of a window
    """

    offsets: tuple[int, ...]
    spread: Spread
    first: list[Edge]
    last: list[Edge]

    def merge(self, later: Windows) -> Windows:
        """Those of both, in place, with the windows across: none of them is of last rows alone."""
        reach = self.offsets[-1]
        border = list(map(Edge.followed_by, self.last, later.first))
        rows = [Samples(edge.rows, marks=edge.marks) for edge in border]
        self.spread = self.spread.merge(_spread_of_windows(rows, self.offsets)).merge(later.spread)
        if len(self.first[0].rows) < reach:
            both = map(Edge.followed_by, self.first, later.first)
            self.first = [edge[:reach] for edge in both]
        both = map(Edge.followed_by, self.last, later.last)
        self.last = [edge[-reach:] for edge in both]
        return self


def window_moments(samples: Samples, offsets: tuple[int, ...], *others: Samples) -> Moments:
    """Mean and scatter of the rows (x_t, x_{t+o}, ...) side by side, over windows within a trial.

    - samples (n, d)
    - offsets: 0, and more, ascending
    - *others (n, e): the same rows in other coordinates, of which the further members of a window
      are taken
    - returns: A window of weighted rows counts their geometric mean; n is the number of windows, or
      the sum of what they count.
    - raises ArgumentError: The largest offset, called the lag, is out of range, or leaves no
      windows.
    """
    if samples.n_known:
        check_lag(offsets[-1], samples.n, samples.name)
    found = samples.reduce(partial(_windows, offsets=offsets), Windows.merge, *others)
    check_pairs(found.spread.mean.n, offsets[-1], samples.name)
    return found.spread.moments


def pair_moments(samples: Samples, lag: int, later: Samples | None = None) -> ViewMoments:
    """Means, scatters and cross scatter of x_t and x_{t+lag}: see `window_moments`."""
    found = window_moments(samples, (0, lag), *(() if later is None else (later,)))
    means = found.mean[: samples.d], found.mean[samples.d :]
    return ViewMoments(found.n, means, found.scatter)


def _windows(*pieces: Samples, offsets: tuple[int, ...]) -> Windows:
    reach, n = offsets[-1], pieces[0].n
    return Windows(
        offsets,
        _spread_of_windows(pieces, offsets),
        [Edge.of(piece, slice(0, reach)) for piece in pieces],
        [Edge.of(piece, slice(max(0, n - reach), n)) for piece in pieces],
    )


def _spread_of_windows(rows: Sequence[Samples], offsets: tuple[int, ...]) -> Spread:
    """Of all windows of rows, given once, or once for each member."""
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
    """Xdot'Xdot, where Xdot holds the n - 1 differences x_{t+1} - x_t of rows in time order.

    - samples (n, d): at least two rows
    - returns (d, d): A sum of squares of differences of the stored numbers: nothing cancels,
      whatever the mean.
    - raises DataError: Fewer than two rows.
    """
    if samples.n_known and samples.n < 2:
        raise DataError(f"{samples.name} has {samples.n} row(s); differences need at least 2")
    return full(samples.reduce(_differences, DifferenceSpread.merge).squares)


@dataclass(eq=False)
class DifferenceSpread:
    """The scatter of differences of neighbouring rows; can be merged with later rows.

    - squares (d, d): its upper triangle, in Fortran order
    - first, last: one row each
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

    - lagged (d, d): the symmetric part of 1/(n - lag) sum_t (x_t - mean)(x_{t+lag} - mean)'. Of
      trials or weighted rows pairs within a trial count sqrt(w_t w_{t+lag}), in place of 1, and
      their sum takes the place of n - lag.
    """

    lagged: Array


def lagged_moments(samples: Samples, lag: int) -> LaggedMoments:
    """Mean, scatter and symmetrised lagged covariance of rows in time order, in one pass.

    - samples (n, d)
    - lag: 1 <= lag < n
    - returns: errors as for `moments`, relative to the covariance's diagonal.
    - raises ArgumentError: The lag is out of range.
    """
    if samples.n_known:
        check_lag(lag, samples.n, samples.name)
    found = samples.reduce(partial(paired_spread, lag=lag), PairedSpread.merge)
    of_rows = found.spread.moments
    if samples.marks is None:
        check_lag(lag, int(of_rows.n), samples.name)
    check_pairs(found.pairs, lag, samples.name)
    lagged = symmetric(found.products) / found.pairs
    return LaggedMoments(of_rows.n, of_rows.mean, of_rows.scatter, lagged)


def _lagged_sums(piece: Samples, lag: int, shift: Array | None) -> tuple[Array, Array, Array]:
    """Of the rows less a shift: sum, sum of z_t z_t', the symmetric part of sum of z_t z_{t+lag}'.

    The last is half of sum (z_t + z_{t+lag})(z_t + z_{t+lag})' less the squares of both: a product
    of a matrix with its own transpose takes half as long as one of two matrices.
    """
    n, d = piece.shape
    total, squares, pairs = np.zeros(d), zeros(d, d), zeros(d, d)
    for where, Z in shifted_blocks(piece, shift, max(1, piece.block_rows // 2)):
        total, squares = add_sum(total, Z), add_square(squares, Z)
        # Lagged rows are read again rather than carried: any lag, any block, little memory.
        partners = _less_shift(piece.rows(slice(where.start + lag, where.stop + lag)), shift)
        pairs = add_square(pairs, Z[: len(partners)] + partners)
    if n <= lag:
        return total, squares, zeros(d, d)
    for edge in (slice(0, lag), slice(n - lag, n)):  # these rows are in one pair, the others in two
        pairs = add_square(pairs, _less_shift(piece.rows(edge), shift))
    return total, squares, full(0.5 * pairs - squares)


def _less_shift(rows: Array, shift: Array | None) -> Array:
    return rows if shift is None else rows - shift
