"""Gaussian factor models of rows with missing entries that are read piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from operator import add, attrgetter, or_

import numpy as np

from ldr.objectives.coordinates import ColumnScaling
from ldr.objectives.data.cells import Cells
from ldr.objectives.data.change import MadeSamples
from ldr.objectives.data.data import Data
from ldr.objectives.data.footprint import Footprint
from ldr.objectives.data.samples import Beside, Samples
from ldr.objectives.factor_model import empty_line
from ldr.objectives.families.factors import Factors, Noise
from ldr.objectives.families.incomplete_factors import (
    IncompleteFactors,
    IncompleteLikelihood,
    IncompletePoint,
    ObservedRows,
    Regressions,
    check_entries,
    missing_note,
)
from ldr.objectives.families.observed import Observed
from ldr.objectives.families.row_sum import InParts, Remembered, SumPoint, TermOfPoints
from ldr.objectives.problem import Stated
from ldr.objectives.view import View
from ldr.solvers.errors import DataError
from ldr.solvers.manifolds import Array
from ldr.solvers.records import dataclass, field, replace


def has_missing(samples: Samples) -> bool:
    """Whether entries are known to be missing before the sums over the rows are.

    Of rows that are read piece by piece the sums will tell: missing entries make them NaN.
    """
    if samples.stored and samples.n_known and not samples.in_pieces:  # few rows
        return samples.reduce(attrgetter("has_nan"), or_)
    return samples.has_nan


def observed_footprint(arrays: Footprint, samples: Samples) -> Footprint:
    """Of rows with missing entries in memory: of each pattern its rows, at two points."""
    return replace(arrays, span=30.0, rows=20.0) if samples.has_nan else arrays


def incomplete(
    objective: Stated, samples: Samples, r: int, *, tied: bool, floor: float = 0.0
) -> IncompleteLikelihood:
    """The problem of samples with missing entries.

    Raises
    ------
    DataError
        A row or a column has nothing; X is sparse.
    SingularError
        The likelihood is unbounded, or the noise cannot be told from the factors.
    """
    if samples.is_sparse:
        raise DataError(
            f"{samples.name} is sparse and has missing values (NaN); pass {samples.name}.toarray()"
        )
    entries = samples.reduce(_entries, Entries.merge)
    entries.check(samples.name)
    check_entries(r, entries.most)
    X = None if samples.in_pieces else samples.dense()
    rows: Samples = Filled.of(samples, entries.mean)
    if X is not None:
        complete = _with(entries.mean, X)
        rows = Samples(complete, samples.feature_names, samples.name, marks=samples.marks)
    filled = objective.bind(Data((rows,)), r)
    assert isinstance(filled, Factors)
    scale, noise = filled.scale, Noise(samples.d, tied, floor)
    note = missing_note(entries.missing, entries.rows * samples.d)
    views = (View(entries.mean, ColumnScaling(scale), (note,)),)
    if X is None:
        term = ObservedTerm(entries.mean, scale, noise, r)
        return IncompleteInPieces(
            objective, views, filled, samples, term, noise=noise, r=r, n=entries.weight, scale=scale
        )
    Z = X - entries.mean
    Z /= scale
    observed = Observed.of(Z, samples.weights).compressed()
    return IncompleteFactors(
        objective, views, filled, observed, noise=noise, r=r, n=entries.weight, scale=scale
    )


@dataclass(frozen=True)
class Entries:
    """What was observed of some rows.

    Attributes
    ----------
    weight : float
        Of all rows.
    counts, mean : ndarray (d,)
        Of each column's entries, or what they weigh; a mean of 0 where there is none.
    most : int
        Entries of the fullest row.
    empty, first : int
        Rows without any, and the number of the first of them.
    """

    rows: int
    missing: int
    weight: float
    counts: Array
    mean: Array
    most: int
    empty: int
    first: int

    def merge(self, later: Entries) -> Entries:
        counts = self.counts + later.counts
        share = later.counts / np.where(counts > 0, counts, 1.0)
        return Entries(
            self.rows + later.rows,
            self.missing + later.missing,
            self.weight + later.weight,
            counts,
            self.mean + share * (later.mean - self.mean),
            max(self.most, later.most),
            self.empty + later.empty,
            self.first if self.empty else self.rows + later.first,
        )

    def check(self, name: str) -> None:
        """Refuse rows and columns with nothing."""
        if self.empty:
            raise empty_line(name, "row", self.empty, self.first)
        columns = np.flatnonzero(self.counts == 0)
        if len(columns):
            raise empty_line(name, "column", len(columns), int(columns[0]))


def _entries(piece: Samples) -> Entries:
    total: Entries | None = None
    for where, block in piece.blocks():
        there = ~np.isnan(block)
        w = np.ones(len(block)) if piece.weights is None else piece.weights[where]
        counts, of_rows = w @ there, there.sum(axis=1)
        mean = w @ np.where(there, block, 0.0) / np.where(counts > 0, counts, 1.0)
        empty = np.flatnonzero(of_rows == 0)
        first = int(empty[0]) if len(empty) else 0
        missing = int(there.size - of_rows.sum())
        weight, most = float(w.sum()), int(of_rows.max())
        part = Entries(len(block), missing, weight, counts, mean, most, len(empty), first)
        total = part if total is None else total.merge(part)
    assert total is not None
    return total


@dataclass(frozen=True, eq=False)
class Filled(MadeSamples):
    """Samples whose missing entries are replaced by numbers, when they are read."""

    numbers: Array = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def of(cls, samples: Samples, numbers: Array) -> Filled:
        return cls(
            samples, samples.feature_names, samples.name, marks=samples.marks, numbers=numbers
        )

    @property
    def making(self) -> Callable[[Samples], Samples]:
        return partial(_filled, self.numbers)


def _filled(numbers: Array, piece: Samples) -> Samples:
    return replace(piece, array=_with(numbers, piece.dense()), has_nan=False)


def _with(numbers: Array, X: Array) -> Array:
    return np.where(np.isnan(X), numbers, X)


@dataclass(frozen=True)
class ObservedTerm(TermOfPoints):
    """The negative log-likelihood of what was observed of some rows, a block at a time."""

    mean: Array
    scale: Array
    noise: Noise
    r: int

    def points(self, M: Array, rows: Samples, *beside: Cells) -> Iterator[IncompletePoint]:
        for where, block in rows.blocks():
            weights = None if rows.weights is None else rows.weights[where]
            observed = Observed.of((block - self.mean) / self.scale, weights)
            yield IncompletePoint(ObservedRows(observed, self.noise, self.r, self.scale), M)

    def expected(self, M: Array, rows: Samples) -> Array:
        return np.sum([point.expected for point in self.points(M, rows)], axis=0)

    def regressions(self, M: Array, rows: Samples) -> Regressions:
        first, *others = (point.regressions() for point in self.points(M, rows))
        return sum(others, first)


class IncompleteSums(SumPoint):
    """`IncompletePoint` by sums over pieces."""

    def __init__(self, problem: IncompleteInPieces, M: Array) -> None:
        super().__init__(problem, M)
        self._factors = problem

    def improved(self) -> Array:
        """One step of EM, in one pass."""
        problem = self._factors
        regressions = problem.samples.reduce(partial(problem.term.regressions, self.M), add)
        M, mean = regressions.coefficients()
        gather = problem.noise.gather
        psi = gather(regressions.left(M, mean)) / gather(regressions.counts)
        return problem.manifold.join([M, problem.noise.coordinate(psi), mean])


@dataclass(frozen=True)
class IncompleteInPieces(IncompleteLikelihood, InParts):
    """The likelihood of rows that are read at every step."""

    samples: Samples
    term: ObservedTerm
    beside: tuple[Beside, ...] = field(default=(), init=False)

    _points: Remembered[IncompleteSums] = field(default_factory=Remembered, init=False, repr=False)

    def at(self, M: Array) -> IncompleteSums:
        return self._points.at(M, partial(IncompleteSums, self))

    def expected(self, M: Array) -> Array:
        """In one pass."""
        return self.samples.reduce(partial(self.term.expected, M), add)
