"""Gaussian factor models of rows with missing entries: the likelihood of what was observed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial, reduce
from operator import add, attrgetter, or_
from typing import Any, NamedTuple

import numpy as np

from ldr.objectives.coordinates import ColumnScaling
from ldr.objectives.data.array_types import Cells
from ldr.objectives.data.change import MadeSamples
from ldr.objectives.data.data import Data
from ldr.objectives.data.samples import Beside, Samples
from ldr.objectives.factor_model import (
    FactorModel,
    Observed,
    Posterior,
    outer,
    over_columns,
    times,
)
from ldr.objectives.families.factors import (
    FactorLikelihood,
    Factors,
    LikelihoodPoint,
    Noise,
    Regressions,
    inner,
)
from ldr.objectives.families.row_sum import InParts, Remembered, SumPoint, TermOfPoints
from ldr.objectives.problem import Stated
from ldr.objectives.statistics.covariance import DenseCovariance, Variation
from ldr.objectives.view import View
from ldr.solvers.errors import DataError, SingularError
from ldr.solvers.expectation_maximisation import Imputation
from ldr.solvers.manifolds import Array, Euclidean, Product


class IncompletePoint(LikelihoodPoint):
    """The negative log-likelihood of the observed entries at (M, t, mean).

    With the posterior means y_i and covariances V_i and the residuals R_i, pull_j is sum R_ij (y_i,
    1) - (V_i M_j, 0), and left_j is sum R_ij^2 + M_j'V_iM_j. O(n d r) a product, and O(p d r^2) for
    p patterns of missing entries.
    """

    _problem: ObservedTerm

    def __init__(self, problem: ObservedTerm, observed: Observed, M: Array) -> None:
        super().__init__(problem, M)
        self._observed = observed
        self._mean = problem.manifold.split(M)[2]

    @cached_property
    def _posterior(self) -> Posterior:
        return Posterior(self._observed, self._mean[:, 0], self._loadings, self._psi)

    @cached_property
    def value(self) -> float:
        if not self._bounded:
            return math.inf
        constant = float(self._counts @ np.log(self._problem.scale))
        return constant - self._posterior.log_likelihood

    @property
    def _counts(self) -> Array:  # type: ignore[override]
        return self._observed.counts

    @cached_property
    def _pull(self) -> Array:  # type: ignore[override]
        posterior = self._posterior
        pull = posterior.residual.T @ np.hstack([posterior.y, self._observed.ones])
        pull[:, :-1] -= times(posterior.spread, self._loadings)
        return pull

    @cached_property
    def _left(self) -> Array:  # type: ignore[override]
        posterior, M = self._posterior, self._loadings
        spread = inner(M, times(posterior.spread, M))
        return np.asarray(np.sum(posterior.residual**2, axis=0) + spread)

    def _changes(self, V: Array, relative: Array) -> tuple[Array, Array]:
        """With dV_i = -V_i dK_i V_i."""
        psi, M, r = self._psi, self._loadings, self._problem.r
        posterior, observed = self._posterior, self._observed
        dM, _, dmean = self._problem.manifold.split(V)
        dB = dM / psi[:, None] - posterior.B * relative[:, None]
        dK = over_columns(observed.patterns, outer(dM, posterior.B) + outer(M, dB))
        dspread = posterior.summed(-posterior.V @ dK @ posterior.V)
        weighted = posterior.deviation @ dB
        weighted -= observed.ones * (observed.mask @ (dmean * posterior.B))
        dy = observed.times(posterior.V, weighted - observed.times(dK, posterior.y))
        # R_ij = x_ij - mean_j - M_j'y_i falls by rows_i'columns_j
        rows = np.hstack([posterior.y, observed.ones, dy])
        columns = np.hstack([dM, dmean, M])
        of_R = posterior.residual.T @ rows
        dpull = -observed.products(rows, columns)[:, : r + 1]
        dpull[:, :r] += of_R[:, r + 1 :] - times(dspread, M) - times(posterior.spread, dM)
        dleft = inner(M, times(dspread, M) + 2.0 * times(posterior.spread, dM))
        return dpull, dleft - 2.0 * inner(of_R, columns)

    def regressions(self) -> Regressions:
        posterior, observed, r = self._posterior, self._observed, self._problem.r
        z = np.hstack([posterior.y, observed.ones])
        moments = over_columns(observed.mask.T, outer(z, z))
        moments[:, :r, :r] += posterior.spread
        squares = np.sum(observed.Z**2, axis=0)
        return Regressions(moments, observed.Z.T @ z, squares, observed.counts)

    @property
    def expected(self) -> Array:
        """The sum over the rows of E[(1, x)(1, x)'] given what was observed."""
        return self._posterior.expected(self._mean[:, 0])


@dataclass(frozen=True)
class ObservedTerm(TermOfPoints):
    """The negative log-likelihood of what was observed of some rows, a block at a time."""

    mean: Array
    scale: Array
    noise: Noise
    r: int

    @cached_property
    def manifold(self) -> Product:
        """Manifold of M, t and the mean."""
        k = self.noise.k
        return Product(Euclidean(k, self.r), Euclidean(self.noise.size, 1), Euclidean(k, 1))

    def observed(self, rows: Array, weights: Array | None) -> Observed:
        """The entries of rows, in the coordinates of the solver."""
        return Observed.of((rows - self.mean) / self.scale, weights)

    def points(self, M: Array, rows: Samples, *beside: Cells) -> Iterator[IncompletePoint]:
        for where, block in rows.blocks():
            weights = None if rows.weights is None else rows.weights[where]
            yield IncompletePoint(self, self.observed(block, weights), M)

    def expected(self, M: Array, rows: Samples) -> Array:
        return np.sum([point.expected for point in self.points(M, rows)], axis=0)

    def regressions(self, M: Array, rows: Samples) -> Regressions:
        return reduce(Regressions.merge, (p.regressions() for p in self.points(M, rows)))


class IncompleteSums(SumPoint):
    """The likelihood by sums over pieces; each step of EM is one pass over the rows."""

    _problem: IncompleteFactors

    def improved(self) -> Array:
        problem = self._problem
        of_rows = partial(problem.term.regressions, self.M)
        return problem.samples.reduce(of_rows, Regressions.merge).improved(problem)

    @property
    def expected(self) -> Array:
        return self._problem.samples.reduce(partial(self._problem.term.expected, self.M), add)


@dataclass(frozen=True)
class IncompleteFactors(FactorLikelihood, InParts):
    """The likelihood of the observed entries over M in R^{d x r}, t (the noise), and the mean.

    - filled: the problem of the rows filled in with the columns' means: its heuristic starts this
      one
    - samples: read at every evaluation, unless they are in memory
    - in_memory: then the rows, no more of a pattern than its sums tell apart
    """

    filled: Factors
    samples: Samples
    term: ObservedTerm
    in_memory: Observed | None
    beside: tuple[Beside, ...] = field(default=(), init=False)

    @cached_property
    def manifold(self) -> Product:  # type: ignore[override]
        return self.term.manifold

    @cached_property
    def _points(self) -> Remembered[Any]:
        return Remembered() if self.in_memory is None else Remembered(2)

    def at(self, M: Array) -> IncompletePoint | IncompleteSums:
        if self.in_memory is None:
            return self._points.at(M, partial(IncompleteSums, self))
        return self._points.at(M, partial(IncompletePoint, self.term, self.in_memory))

    def imputed(self, M: Array) -> Array | None:
        """A step of EM of which the missing entries alone are hidden: the complete problem."""
        moments = self.at(M).expected
        loadings, t, _ = self.manifold.split(M)
        mean = moments[0, 1:] / self.n
        C = moments[1:, 1:] / self.n - np.outer(mean, mean)
        try:
            complete = self.filled.of_covariance(C)
        except SingularError:
            return None
        better = complete.improved(complete.manifold.join([loadings, t]))
        return self.manifold.join([*complete.manifold.split(better), mean[:, None]])

    def specialist(self) -> Imputation | None:
        dense = isinstance(self.filled.C, (np.ndarray, DenseCovariance))
        return Imputation() if dense and self.filled.noise.k == self.d else None

    def baseline(self) -> Array:
        """The heuristic's model for the rows filled in with the columns' means."""
        M = self.filled.baseline()
        assert M is not None
        return self._of_filled(M)

    def starts(self) -> dict[str, Array]:
        return {name: self._of_filled(M) for name, M in self.filled.starts().items()}

    def random_point(self, rng: np.random.Generator) -> Array:
        return self._of_filled(self.filled.random_point(rng))

    def point(self, blocks: Sequence[Array]) -> Array:
        if len(blocks) == 1:  # loadings of the user's
            loadings = self.filled.coordinates[0].lower(self.coordinates[0].lift(blocks[0]))
            return self._of_filled(self.filled.point([loadings]))
        return self.manifold.join(blocks)

    def _of_filled(self, M: Array) -> Array:
        return self._of_model(self.filled.model(M))

    def _of_model(self, model: FactorModel) -> Array:
        psi = model.noise / self.scale / self.scale
        t = self.noise.coordinate(psi[:1, None] if self.noise.tied else psi[:, None])
        mean = (model.mean - self.views[0].mean) / self.scale
        return self.manifold.join([model.loadings / self.scale[:, None], t, mean[:, None]])

    def mean_at(self, M: Array) -> tuple[Array, ...]:
        return (self.views[0].mean + self.scale * self.manifold.split(M)[2][:, 0],)

    def variations(self, M: Array, maps: Sequence[Array] | None = None) -> list[Variation | None]:
        """By the covariance of the model, for that of the rows is not seen.

        Of complete rows they are the same at an optimum, where CP' = SP' and tr C = tr S; so are
        here S and what EM expects of C.
        """
        model = self.model(M)
        return [model.variation(P) for P in maps or self.maps(M)]

    def remarks(self, M: Array) -> list[str]:
        return self.filled.remarks_on(self.model(M))


def has_missing(samples: Samples) -> bool:
    """Whether entries are known to be missing before the sums over the rows are.

    Of rows that are read piece by piece the sums will tell: missing entries make them NaN.
    """
    if samples.stored and samples.n_known and not samples.in_pieces:  # few rows
        return samples.reduce(attrgetter("has_nan"), or_)
    return samples.has_nan


def incomplete(
    objective: Stated, samples: Samples, r: int, *, tied: bool, floor: float = 0.0
) -> IncompleteFactors:
    """The problem of samples with missing entries.

    - raises DataError: A row or a column has nothing; X is sparse.
    - raises SingularError: The likelihood is unbounded, or the noise cannot be told from the
      factors.
    """
    if samples.is_sparse:
        raise DataError(
            f"{samples.name} is sparse and has missing values (NaN); pass {samples.name}.toarray()"
        )
    entries = samples.reduce(_entries, Entries.merge)
    mean = entries.checked_mean(samples.name, r)
    rows = Filled.of(samples, mean) if samples.in_pieces else _filled(mean, samples)
    filled = objective.bind(Data((rows,)), r)
    assert isinstance(filled, Factors)
    n, missing = entries.rows, entries.rows * samples.d - entries.entries
    note = f"{missing} of {n * samples.d} entries are missing: the likelihood is of the others"
    scale, noise = filled.scale, Noise(samples.d, tied, floor)
    term, observed = ObservedTerm(mean, scale, noise, r), None
    if not samples.in_pieces:
        observed = term.observed(samples.dense(), samples.weights).compressed()
    views = (View(mean, ColumnScaling(scale), (note,)),)
    return IncompleteFactors(
        objective,
        views,
        filled,
        samples,
        term,
        observed,
        noise=noise,
        r=r,
        n=entries.weight,
        scale=scale,
    )


class Entries(NamedTuple):
    """What was observed of some rows.

    - rows, weight: their number, and what they weigh
    - entries, counts, sums (d,): number of entries, weights and weighted sums of each column's
    - empty, first: rows without any, and the number of the first of them
    - most: entries of the fullest row
    """

    rows: int
    weight: float
    entries: int
    counts: Array
    sums: Array
    empty: int
    first: int
    most: int

    def merge(self, later: Entries) -> Entries:
        sums = Entries._make(map(add, self, later))
        first = self.first if self.empty else self.rows + later.first
        return sums._replace(first=first, most=max(self.most, later.most))

    def checked_mean(self, name: str, r: int) -> Array:
        """Return the mean of each column; refuse empty rows and columns, and too large an r."""
        unseen = self.counts == 0
        columns = int(unseen.sum()), int(np.argmax(unseen))
        for what, count, first in (("row", self.empty, self.first), ("column", *columns)):
            if count:
                raise DataError(
                    f"{name} has {count} {what}(s) with nothing observed (all NaN), the first is "
                    f"{what} {first}; drop them"
                )
        if r >= self.most:
            raise SingularError(
                f"no row has more than {self.most} entries, which r = {r} factors explain without "
                f"noise; expected r < {self.most}"
            )
        return self.sums / self.counts


def _entries(piece: Samples) -> Entries:
    found = []
    for where, block in piece.blocks():
        there = ~np.isnan(block)
        w = np.ones(len(block)) if piece.weights is None else piece.weights[where]
        of_rows, sums = there.sum(axis=1), w @ np.where(there, block, 0.0)
        size, empty = (len(block), float(w.sum()), int(of_rows.sum())), of_rows == 0
        rest = int(empty.sum()), int(np.argmax(empty)), int(of_rows.max())
        found.append(Entries(*size, w @ there, sums, *rest))
    return reduce(Entries.merge, found)


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
    X = piece.dense()
    filled = np.where(np.isnan(X), numbers, X)
    return Samples(filled, piece.feature_names, piece.name, marks=piece.marks)
