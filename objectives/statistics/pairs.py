"""Pairs of rows that lie a lag apart: of the same trial, and counted by their weights."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ldr.objectives.data.marks import Marks
from ldr.objectives.data.samples import Array, Samples
from ldr.objectives.statistics.scatters import JointMoments, Moments, Spread, joint_spread, spread
from ldr.objectives.statistics.sparse import scaled_rows, shifted_rows
from ldr.objectives.statistics.sums import TwoPartMean, dense, symmetric, zeros
from ldr.solvers.errors import ArgumentError
from ldr.solvers.records import dataclass, replace

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
    """Mean and scatter of marked rows, and sums over their pairs; can be merged with later rows.

    With z = x - mean and the counts c_t of the pairs (t, t + lag) the sums are

    Attributes
    ----------
    products : ndarray, shape (d, d)
        sum_t c_t z_t z_{t+lag}'.
    heads, tails : ndarray, shape (d,)
        sum_t c_t z_t and sum_t c_t z_{t+lag}.
    pairs : float
        sum_t c_t.
    first, last : Edge
        At most `lag` rows each: those with a partner before or after.
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
        self._add(*_pair_sums(last, partners, last.counts(partners), new))
        if len(self.first.rows) < self.lag:
            self.first = self.first.followed_by(later.first)[: self.lag]
        self.last = self.last.followed_by(later.last)[-self.lag :]
        self.spread = self.spread.merge(later.spread)
        return self

    def _add(self, products: Array, heads: Array, tails: Array, pairs: float) -> None:
        self.products += products
        self.heads += heads
        self.tails += tails
        self.pairs += pairs

    def _move(self, new: TwoPartMean) -> None:
        """Take the sums about another mean: z + e."""
        e = self.spread.mean - new
        self.products += np.outer(self.heads + self.pairs * e, e) + np.outer(e, self.tails)
        self.heads += self.pairs * e
        self.tails += self.pairs * e

    def lagged(self, name: str) -> Array:
        """The symmetric part of the mean of z_t z_{t+lag}'.

        Raises
        ------
        ArgumentError
            There are no pairs.
        """
        check_pairs(self.pairs, self.lag, name)
        return symmetric(self.products) / self.pairs


PairSums = tuple[Array, Array, Array, float]


def _pair_sums(first: Edge, second: Edge, counts: Array | None, mean: TwoPartMean) -> PairSums:
    """Sums over pairs of rows of two arrays: of c z z'', of c z, of c z'' and of c."""
    assert counts is not None
    before, after = less(first.rows, mean), less(second.rows, mean)
    before_counted = counts[:, None] * before
    heads, tails = before_counted.sum(axis=0), counts @ after
    return before_counted.T @ after, heads, tails, float(counts.sum())


def paired_spread(piece: Samples, lag: int) -> PairedSpread:
    """Sums over the pairs of a piece, about its own mean."""
    counts = pair_counts(piece.marks, piece.n, lag)
    assert counts is not None
    own = spread(piece)
    d = piece.d
    first = Edge.of(piece, slice(0, lag))
    last = Edge.of(piece, slice(max(0, piece.n - lag), piece.n))
    zero = np.zeros
    found = PairedSpread(lag, own, zero((d, d)), zero(d), zero(d), 0.0, first, last)
    if piece.is_sparse:
        found._add(*_sparse_pair_sums(piece, lag, counts, own.mean))
        return found
    for where in piece.slices():
        partners = piece.rows(slice(where.start + lag, where.stop + lag))
        here = slice(where.start, where.start + len(partners))
        block = Edge(piece.rows(here), None)
        found._add(*_pair_sums(block, Edge(partners, None), counts[here], own.mean))
    return found


def _sparse_pair_sums(piece: Samples, lag: int, counts: Array, mean: TwoPartMean) -> PairSums:
    X, _ = shifted_rows(piece)
    head, tail, e = X[: len(counts)], X[lag:], mean.offset
    pairs = float(counts.sum())
    heads, tails = np.asarray(head.T @ counts), np.asarray(tail.T @ counts)
    products = dense(head.T @ scaled_rows(tail, counts))
    products -= np.outer(heads, e) + np.outer(e, tails - pairs * e)
    return products, heads - pairs * e, tails - pairs * e, pairs


@dataclass(eq=False)
class Windows:
    """Rows (x_t, x_{t+o}, ...) side by side, o the offsets; can be merged with those of later rows.

    Attributes
    ----------
    offsets : tuple of int
        0, and more, ascending.
    spread : Spread
        Of the windows as rows; each member about its own mean.
    first, last : list of Edge
        At most as many rows as a window reaches, those with partners before or after; one, or one
        for each member of a window.
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

    Parameters
    ----------
    samples : Samples, shape (n, d)
    offsets : tuple of int
        0, and more, ascending.
    *others : Samples, shape (n, e)
        The same rows in other coordinates, of which the further members of a window are taken.

    Returns
    -------
    Moments
        A window of weighted rows counts their geometric mean; n is the number of windows, or the
        sum of what they count.

    Raises
    ------
    ArgumentError
        The largest offset, called the lag, is out of range, or leaves no windows.
    """
    if samples.n_known:
        check_lag(offsets[-1], samples.n, samples.name)
    found = samples.reduce(partial(_windows, offsets=offsets), Windows.merge, *others)
    check_pairs(found.spread.mean.n, offsets[-1], samples.name)
    return found.spread.moments


def pair_moments(samples: Samples, lag: int, later: Samples | None = None) -> JointMoments:
    """Means, scatters and cross scatter of x_t and x_{t+lag}: see `window_moments`."""
    found = window_moments(samples, (0, lag), *(() if later is None else (later,)))
    S, mean, d = found.scatter, found.mean, samples.d
    return JointMoments(found.n, mean[:d], mean[d:], S[:d, :d], S[:d, d:], S[d:, d:])


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
        width = sum(member.d for member in members)
        return Spread(TwoPartMean(0, np.zeros(width), np.zeros(width)), zeros(width, width))
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
