"""Gaussian factor models of rows with missing entries: the likelihood of what was observed.

Gaussian factor models of rows with missing entries that are read piece by piece.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from operator import add, attrgetter, or_

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
    empty_line,
    outer,
    over_columns,
    times,
)
from ldr.objectives.families.factors import FactorLikelihood, Factors, Noise, inner
from ldr.objectives.families.row_sum import InParts, Remembered, SumPoint, TermOfPoints
from ldr.objectives.problem import Stated
from ldr.objectives.statistics.covariance import Variation
from ldr.objectives.view import View
from ldr.solvers.errors import DataError, SingularError
from ldr.solvers.expectation_maximisation import Imputation
from ldr.solvers.manifolds import Array, Euclidean, Product
from ldr.solvers.problem import Point


class IncompletePoint(Point):
    """The negative log-likelihood of the observed entries at (M, t, mean), and its derivatives.

    By Fisher's identity the gradient is the expectation of the complete one: with the posterior
    means y_i and covariances V_i, the residuals R_i and sums over the rows that have column j,
    in M_j it is -(sum R_ij y_i - V_i M_j)/psi_j, in mean_j it is -sum R_ij / psi_j, and in psi_j it
    is (n_j/psi_j - q_j/psi_j^2)/2 with q_j = sum R_ij^2 + M_j'V_iM_j. O(n d r) a product, and
    O(p d r^2) for p patterns of missing entries.
    """

    def __init__(
        self, problem: ObservedTerm | IncompleteLikelihood, observed: Observed, M: Array
    ) -> None:
        self.M = M
        self._problem, self._observed = problem, observed
        self._loadings, self._t, self._mean = problem.manifold.split(M)
        self._slope = problem.noise.slope(self._t)
        self._psi = problem.noise.variances(self._t)

    @cached_property
    def _posterior(self) -> Posterior:
        return Posterior(self._observed, self._mean[:, 0], self._loadings, self._psi)

    @cached_property
    def value(self) -> float:
        if not (np.isfinite(self._psi).all() and self._psi.min() > np.finfo(float).tiny):
            return math.inf
        constant = float(self._observed.counts @ np.log(self._problem.scale))
        return constant - self._posterior.log_likelihood

    @cached_property
    def _pull(self) -> Array:
        """sum R_ij y_i - V_i M_j, (d, r)."""
        posterior = self._posterior
        return posterior.residual.T @ posterior.y - times(posterior.spread, self._loadings)

    @cached_property
    def _squares(self) -> Array:
        """q_j = sum R_ij^2 + M_j'V_iM_j."""
        posterior, M = self._posterior, self._loadings
        spread = inner(M, times(posterior.spread, M))
        return np.asarray(np.sum(posterior.residual**2, axis=0) + spread)

    @cached_property
    def _h(self) -> Array:
        return 0.5 * (self._observed.counts - self._squares / self._psi) / self._psi

    @cached_property
    def gradient(self) -> Array:
        problem, psi = self._problem, self._psi[:, None]
        in_t = problem.noise.gather(self._slope * self._h)
        in_mean = -self._posterior.residual.T @ self._observed.ones / psi
        return problem.manifold.join([-self._pull / psi, in_t, in_mean])

    def hessian_vector(self, V: Array) -> Array:
        """The derivative of the gradient, term by term; dV_i = -V_i dK_i V_i."""
        problem, psi, M = self._problem, self._psi, self._loadings
        posterior, observed = self._posterior, self._observed
        y, R, r = posterior.y, posterior.residual, problem.r
        dM, dt, dmean = problem.manifold.split(V)
        dslope = self._slope * dt[:, 0]
        relative = dslope / psi
        dB = dM / psi[:, None] - posterior.B * relative[:, None]
        dK = over_columns(observed.patterns, outer(dM, posterior.B) + outer(M, dB))
        dV = -posterior.V @ dK @ posterior.V
        weighted = posterior.deviation @ dB
        weighted -= observed.ones * (observed.mask @ (dmean * posterior.B))
        dy = observed.times(posterior.V, weighted - observed.times(dK, y))
        rows, columns = np.hstack([observed.ones, y, dy]), np.hstack([dmean, dM, M])
        of_R, of_dR = R.T @ rows, -observed.products(rows, columns)[:, : r + 1]
        dspread = posterior.summed(dV)
        dpull = of_dR[:, 1:] + of_R[:, r + 1 :]
        dpull -= times(dspread, M) + times(posterior.spread, dM)
        in_M = (self._pull * relative[:, None] - dpull) / psi[:, None]
        in_mean = (of_R[:, :1] * relative[:, None] - of_dR[:, :1]) / psi[:, None]
        dsquares = inner(M, times(dspread, M)) - 2.0 * inner(of_R, columns)
        dsquares += 2.0 * inner(M, times(posterior.spread, dM))
        counts = observed.counts
        dh = 0.5 * ((2.0 * self._squares / psi - counts) * relative - dsquares / psi) / psi
        in_t = problem.noise.gather(self._slope * dh + dslope * self._h)
        return problem.manifold.join([in_M, in_t, in_mean])

    def regressions(self) -> Regressions:
        """Of each column on (y, 1), over the rows that have it: what a step of EM needs."""
        posterior, observed = self._posterior, self._observed
        r = self._problem.r
        regressors = np.hstack([posterior.y, observed.ones])
        moments = over_columns(observed.mask.T, outer(regressors, regressors))
        moments[:, :r, :r] += posterior.spread
        squares = np.sum(observed.Z**2, axis=0)
        return Regressions(moments, observed.Z.T @ regressors, squares, observed.counts)

    @property
    def expected(self) -> Array:
        """As `Posterior.expected`."""
        return self._posterior.expected(self._mean[:, 0])

    def improved(self) -> Array:
        """One step of EM."""
        return self.regressions().improved(self._problem)


@dataclass(frozen=True)
class Regressions:
    """Of each column on (y, 1), as sums over rows; the moments are those of the posterior.

    - moments (d, r + 1, r + 1), targets (d, r + 1)
    - squares, counts (d,): sum of squares and number of each column's entries
    """

    moments: Array
    targets: Array
    squares: Array
    counts: Array

    def __add__(self, other: Regressions) -> Regressions:
        return Regressions(
            self.moments + other.moments,
            self.targets + other.targets,
            self.squares + other.squares,
            self.counts + other.counts,
        )

    def improved(self, problem: ObservedTerm | IncompleteLikelihood) -> Array:
        """M, t and the mean by least squares.

        psi is what is left of the column, averaged over its entries, or over all where tied.
        """
        gather = problem.noise.gather
        solved = np.linalg.solve(self.moments, self.targets[:, :, None])
        both = np.asarray(solved[:, :, 0], dtype=np.float64)
        psi = gather(self.squares - inner(both, self.targets)) / gather(self.counts)
        return problem.manifold.join([both[:, :-1], problem.noise.coordinate(psi), both[:, -1:]])


def factor_space(noise: Noise, r: int) -> Product:
    """Of M, t and the mean."""
    return Product(Euclidean(noise.k, r), Euclidean(noise.size, 1), Euclidean(noise.k, 1))


@dataclass(frozen=True)
class IncompleteLikelihood(FactorLikelihood):
    """The likelihood of the observed entries over M in R^{d x r}, t (the noise), and the mean.

    - filled: the problem of the rows filled in with the columns' means: its heuristic starts this
      one
    """

    filled: Factors

    @cached_property
    def manifold(self) -> Product:  # type: ignore[override]
        return factor_space(self.noise, self.r)

    @abstractmethod
    def expected(self, M: Array) -> Array:
        """The sum over the rows of E[(1, x)(1, x)'] given M and what was observed."""

    def imputed(self, M: Array) -> Array | None:
        """A step of EM of which the missing entries alone are hidden: the complete problem."""
        moments = self.expected(M)
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
        return Imputation() if self.filled.is_dense else None

    def baseline(self) -> Array:
        """The heuristic's model for the rows filled in with the columns' means."""
        M = self.filled.baseline()
        assert M is not None
        return self._of_model(self.filled.model(M))

    def starts(self) -> dict[str, Array]:
        return {
            name: self._of_model(self.filled.model(M)) for name, M in self.filled.starts().items()
        }

    def _of_model(self, model: FactorModel) -> Array:
        psi = model.noise / self.scale / self.scale
        t = self.noise.coordinate(psi[:1, None] if self.noise.tied else psi[:, None])
        mean = (model.mean - self.views[0].mean) / self.scale
        return self.manifold.join([model.loadings / self.scale[:, None], t, mean[:, None]])

    def random_point(self, rng: np.random.Generator) -> Array:
        return self._of_model(self.filled.model(self.filled.random_point(rng)))

    def point(self, blocks: Sequence[Array]) -> Array:
        if len(blocks) == 1:  # loadings of the user's
            loadings = self.filled.coordinates[0].lower(self.coordinates[0].lift(blocks[0]))
            return self._of_model(self.filled.model(self.filled.point([loadings])))
        return self.manifold.join(blocks)

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


@dataclass(frozen=True)
class IncompleteFactors(IncompleteLikelihood):
    """The likelihood of rows in memory.

    - observed: the rows in the coordinates of the solver, less the means of what was observed; no
      more of a pattern than its sums tell apart
    """

    observed: Observed

    _points: Remembered[IncompletePoint] = field(
        default_factory=partial(Remembered, 2), init=False, repr=False
    )

    def at(self, M: Array) -> IncompletePoint:
        return self._points.at(M, partial(IncompletePoint, self, self.observed))

    def expected(self, M: Array) -> Array:
        return self.at(M).expected


def check_entries(r: int, most: int) -> None:
    """Refuse as many factors as the fullest row has entries."""
    if r >= most:
        raise SingularError(
            f"no row has more than {most} entries, which r = {r} factors explain without "
            f"noise; expected r < {most}"
        )


def missing_note(missing: int, entries: int) -> str:
    return f"{missing} of {entries} entries are missing: the likelihood is of the others"


def has_missing(samples: Samples) -> bool:
    """Whether entries are known to be missing before the sums over the rows are.

    Of rows that are read piece by piece the sums will tell: missing entries make them NaN.
    """
    if samples.stored and samples.n_known and not samples.in_pieces:  # few rows
        return samples.reduce(attrgetter("has_nan"), or_)
    return samples.has_nan


def incomplete(
    objective: Stated, samples: Samples, r: int, *, tied: bool, floor: float = 0.0
) -> IncompleteLikelihood:
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

    - weight: of all rows
    - counts, mean (d,): of each column's entries, or what they weigh; a mean of 0 where there is
      none
    - most: entries of the fullest row
    - empty, first: rows without any, and the number of the first of them
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

    @property
    def manifold(self) -> Product:
        return factor_space(self.noise, self.r)

    def points(self, M: Array, rows: Samples, *beside: Cells) -> Iterator[IncompletePoint]:
        for where, block in rows.blocks():
            weights = None if rows.weights is None else rows.weights[where]
            observed = Observed.of((block - self.mean) / self.scale, weights)
            yield IncompletePoint(self, observed, M)

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
        return regressions.improved(problem)


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
