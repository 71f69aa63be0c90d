"""Factor analysis by maximum likelihood."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TypeAlias

import numpy as np

from ldr.objectives.certificate import Certificate
from ldr.objectives.coordinates import ColumnScaling
from ldr.objectives.data.data import Data
from ldr.objectives.data.finite import check_squares
from ldr.objectives.data.footprint import Footprint
from ldr.objectives.data.samples import Samples
from ldr.objectives.factor_model import FactorModel
from ldr.objectives.families.factors import FactorPoint, Factors, Noise, check_rank, inner
from ldr.objectives.families.incomplete_sums import has_missing, incomplete, observed_footprint
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import number
from ldr.objectives.problem import BoundObjective
from ldr.objectives.statistics import mean, moments
from ldr.objectives.statistics.covariance import (
    CovarianceOperator,
    DenseCovariance,
    KnownScatter,
    RowCovariance,
    RowScatter,
    Scatter,
)
from ldr.objectives.statistics.products import CentredRows, Correlations, Form
from ldr.objectives.statistics.sums import weighted
from ldr.objectives.view import View
from ldr.solvers.errors import SingularError
from ldr.solvers.linalg.eigen import rank_tolerance
from ldr.solvers.loop import run_through
from ldr.solvers.manifolds import Array, Euclidean
from ldr.solvers.problem import Point, Problem
from ldr.solvers.records import dataclass, field, replace
from ldr.solvers.run import Stopping
from ldr.solvers.variable_projection import VariableProjection

# Of a noise variance at the start, as a share of the column's variance: far from the lower bound,
# where the likelihood is flat.
_LEAST_GUESS = 0.005

# Factors, of the columns, from which Newton's method finishes.
_MANY = 0.25
# A step of imputation need not end where the complete problem does.
_ROUGHLY = Stopping(max_iterations=10)
# A noise variance within this factor of its lower bound counts as at the bound.
_AT_THE_BOUND = 2.0


Correlation: TypeAlias = DenseCovariance | RowCovariance | Correlations


@dataclass(frozen=True)
class FactorAnalysis(Objective):
    """Fit x = My + noise by maximum likelihood: y ~ N(0, I), noise ~ N(0, diag psi), M any d x r.

    min n/2 [d log 2 pi + log|S| + tr(S^{-1}C)] with S = MM' + diag(psi), over M and log psi; M is
    known up to a rotation M -> MQ. P = M'(MM' + diag psi)^{-1} gives the posterior mean of y. For
    fixed psi, M = psi^{1/2} V_r (L_r - I)_+^{1/2} from the eigenvectors of psi^{-1/2} C psi^{-1/2}:
    by default log psi alone is solved for, and M eliminated ("variable-projection"). The starts are
    the squared multiple correlations, and what r columns that stand for the factors leave of the
    others (columns chosen one by one for the likelihood: near them is many a Heywood case); half
    the variances where the covariance is singular. There
    are local optima in general, above all where n is small or r too large. The result's `model`
    scores rows, imputes missing entries and gives posterior covariances and BIC.

    Missing entries of X are NaN. The likelihood is then that of the observed entries, over M,
    log psi and the mean. ``solver="em"`` is expectation maximisation.

    Source: Joreskog 1967; Rubin and Thayer 1982 (EM); Cunningham and Ghahramani 2015, 3.1.2.

    Parameters
    ----------
    least_noise : float
        Lower bound of psi, as a share of each column's variance. The likelihood can rise all the
        way to psi_j = 0, a Heywood case: the result's notes name the columns at the bound. Below
        1e-6, rounding can keep the gradient from becoming small there.
    """

    name = "fa"
    weighted = True
    arrays = Footprint(products=True, everywhere=True)
    formula = "min n/2 [d log 2pi + log|S| + tr(S^{-1}C)], S = MM' + diag(psi)"
    source = "Joreskog 1967; Cunningham & Ghahramani 2015, 3.1.2"
    sense = "min"
    baseline = "loadings for noise variances by squared multiple correlations"
    scale_free = True
    transposed = False
    domain = "R"
    missing = imputes = True
    from_sums = True
    rule = "bic"

    least_noise: float = number(1e-6, positive=True, below=0.5)

    def footprint(self, data: Data) -> Footprint:
        return observed_footprint(self.arrays, data.samples)

    def bind(self, data: Data, r: int) -> BoundObjective:
        samples = data.samples
        found = None if has_missing(samples) else _correlation(samples)
        if found is None:
            return incomplete(self, samples, r, tied=False, floor=self.least_noise)
        n, centre, deviations, correlation, scatter = found
        return DiagonalFactors(
            self,
            (View(centre, ColumnScaling(deviations), scatter=scatter),),
            correlation,
            np.ones(samples.d),
            noise=Noise(samples.d, tied=False, floor=self.least_noise),
            r=r,
            n=n,
            scale=deviations,
            feature_names=samples.feature_names,
        )


def _correlation(samples: Samples) -> tuple[float, Array, Array, Correlation, Scatter] | None:
    """n, mean, standard deviations, correlation matrix and scatter; of n < d columns its root.

    Of sparse rows with very many columns its products.

    None where the sums tell that entries are missing.
    """
    check_squares(samples)
    if samples.wide:
        rows = CentredRows.of(samples)
        deviations = rows.in_all_columns(np.sqrt(rows.squares(rows.counts) / rows.weight)[:, None])
        _refuse_constant(deviations[:, 0], samples)
        C = Correlations(Form.covariance(rows), deviations[:, 0])
        return rows.weight, rows.mean, deviations[:, 0], C, CovarianceOperator.of(samples)
    if not samples.n_known or samples.n >= samples.d:
        stats = moments(samples)
        if np.isnan(stats.mean).any():
            return None
        deviations = np.sqrt(np.diag(stats.covariance))
        _refuse_constant(deviations, samples)
        R = stats.covariance / deviations / deviations[:, None]
        known = KnownScatter(stats.scatter, stats.n)
        return stats.n, stats.mean, deviations, DenseCovariance(R), known
    centre = mean(samples)
    Z = weighted(samples.dense_if_few() - centre, samples.weights)
    deviations = np.sqrt(np.sum(Z**2, axis=0) / samples.weight)
    _refuse_constant(deviations, samples)
    Z = Z / deviations / math.sqrt(samples.weight)
    return samples.weight, centre, deviations, RowCovariance(Z), RowScatter(samples, centre)


def _refuse_constant(deviations: Array, samples: Samples) -> None:
    constant = np.flatnonzero(deviations == 0)
    if len(constant):
        raise SingularError(
            f"the likelihood is unbounded: {samples.name} has {len(constant)} constant column(s), "
            f"the first is column {constant[0]}; drop them"
        )


@dataclass(frozen=True)
class DiagonalFactors(Factors):
    """The likelihood of factor analysis over R^{d x r} and t, psi = floor + exp(t).

    The solver's columns have unit variance: psi is a share of it, 1 - psi the communality.
    """

    C: Correlation
    feature_names: tuple[str, ...] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_rank(self.r, self._rank)

    @cached_property
    def _spectrum(self) -> Array:
        """Of C, in ascending order, without the zeros of n < d rows."""
        assert not isinstance(self.C, Correlations)
        return self.C.spectrum()

    @property
    def _rank(self) -> int:
        if isinstance(self.C, Correlations):  # at most
            return min(self.d, int(self.n) - 1)
        return int(np.sum(self._spectrum > rank_tolerance(self.d) * self._spectrum[-1]))

    @cached_property
    def many_factors(self) -> bool:
        """Whether all eigenvectors of the covariance cost little more than those of the factors."""
        return isinstance(self.C, DenseCovariance) and self.r >= _MANY * self.d

    def profile(self) -> Profile:
        return Profile(self)

    def restrict(self, M: Array) -> Array:
        return self.manifold.split(M)[1]

    def complete(self, point: Point) -> Point:
        assert isinstance(point, ProfilePoint)
        M = self.manifold.join([point.loadings, point.M])
        return Completed(self, M, point) if isinstance(self.C, Correlations) else self.at(M)

    def specialist(self) -> VariableProjection:
        return VariableProjection()

    def of_covariance(self, C: Array) -> DiagonalFactors:
        return replace(self, C=DenseCovariance(C), variances=np.diag(C))

    def improved(self, M: Array) -> Array:
        return run_through(self, M, VariableProjection(), _ROUGHLY).M

    def _at_noise(self, psi: Array) -> Array:
        return self.complete(ProfilePoint(self, self.noise.coordinate(psi[:, None]))).M

    def baseline(self) -> Array:
        return next(iter(self.starts().values()))

    def starts(self) -> dict[str, Array]:
        return self._starts

    @cached_property
    def _starts(self) -> dict[str, Array]:
        """Once: the eigenvectors of products come back with other last digits."""
        return {name: self._at_noise(psi) for name, psi in self._noise_guesses().items()}

    def _noise_guesses(self) -> dict[str, Array]:
        """Squared multiple correlations and columns as factors, where C has an inverse.

        1/(C^{-1})_jj is what the other columns leave over of each; scaled as Joreskog does, by
        1 - r/2d.
        """
        if not isinstance(self.C, DenseCovariance) or self._rank < self.d:
            return {"half the variances": np.full(self.d, 0.5)}
        guesses = {
            "squared multiple correlations": (1.0 - 0.5 * self.r / self.d) * self.C.unexplained(),
            "columns as factors": _left_by_columns(self.C.C, self.r),
        }
        return {name: np.maximum(psi, _LEAST_GUESS) for name, psi in guesses.items()}

    def certificate(self, M: Array) -> Certificate | None:
        """Where S = C the likelihood is that of the unconstrained Gaussian: none is greater."""
        if isinstance(self.C, Correlations) or self._rank < self.d:
            return None
        value = self.at(M).value
        saturated = 0.5 * self.n * (self.constant + float(np.log(self._spectrum).sum()) + self.d)
        gap = max(0.0, value - saturated)
        if gap <= 1e-10 * max(abs(value), self.n):
            return Certificate("global", gap, "the likelihood is the unconstrained Gaussian's")
        return None

    def remarks_on(self, model: FactorModel) -> list[str]:
        """Heywood cases."""
        share = model.noise / self.scale / self.scale
        columns = np.flatnonzero(share <= _AT_THE_BOUND * self.noise.floor)
        if len(columns) == 0:
            return []
        names = self.feature_names or tuple(map(str, range(self.d)))
        note = (
            f"Heywood case: the noise variance of column(s) {', '.join(names[j] for j in columns)} "
            f"is at its lower bound, {self.noise.floor:g} of the column's variance"
        )
        if len(columns) > self.r:
            note += "; these are more columns than factors: the value depends on the bound"
        return [note]


def _left_by_columns(C: Array, r: int) -> Array:
    """What r columns leave of each variance, themselves of theirs nothing.

    They are chosen one by one: the next has the least log variance of its own and of what it leaves
    of the others, together, which is minus twice the likelihood of those given it.
    """
    left, columns = C, np.arange(len(C))
    for _ in range(r):
        own = np.diag(left)
        after = np.maximum(own - left * left / own[:, None], np.finfo(float).tiny)
        np.fill_diagonal(after, own)
        j = int(np.argmin(np.log(after).sum(axis=1)))
        rest = np.delete(np.arange(len(left)), j)
        along = left[rest, j]
        left = left[np.ix_(rest, rest)] - np.outer(along, along) / own[j]
        columns = columns[rest]
    found = np.zeros(len(C))
    found[columns] = np.diag(left)
    return found


class ProfilePoint(Point):
    """The negative log-likelihood at t with the loadings at their best.

    M = psi^{1/2} V_r (L_r - I)_+^{1/2} from the eigenvectors of psi^{-1/2} C psi^{-1/2}, and the
    value is n/2 times a constant plus sum_j (log psi_j + C_jj/psi_j) plus
    sum_i (log L_i + 1 - L_i) over the L_i > 1 of the top r. At this M,
    S^{-1} - S^{-1}CS^{-1} has the diagonal of psi^{-1}(S - C)psi^{-1}.
    """

    def __init__(self, problem: DiagonalFactors, t: Array) -> None:
        self.M = t
        self._problem = problem
        self._slope = problem.noise.slope(t)
        self._psi = problem.noise.variances(t)

    @cached_property
    def _eigen(self) -> tuple[Array, Array]:
        """Of psi^{-1/2} C psi^{-1/2}, all where Hessian products will need them."""
        problem = self._problem
        count = problem.d if problem.many_factors else problem.r
        return problem.C.top_weighted(1.0 / np.sqrt(self._psi), count)

    @property
    def _top(self) -> tuple[Array, Array]:
        values, vectors = self._eigen
        return values[: self._problem.r], vectors[:, : self._problem.r]

    @property
    def loadings(self) -> Array:
        values, vectors = self._top
        return np.sqrt(self._psi)[:, None] * vectors * np.sqrt(np.maximum(values - 1.0, 0.0))

    @cached_property
    def value(self) -> float:
        if not np.isfinite(self._psi).all():
            return math.inf
        problem, psi = self._problem, self._psi
        top = np.maximum(self._top[0], 1.0)
        parts = np.log(psi) + problem.variances / psi
        return (
            0.5 * problem.n * float(problem.constant + parts.sum() + np.sum(np.log(top) + 1 - top))
        )

    @cached_property
    def gradient(self) -> Array:
        problem, psi, M = self._problem, self._psi, self.loadings
        excess = (inner(M, M) + psi - problem.variances) / psi
        return 0.5 * problem.n * problem.noise.gather(self._slope / psi * excess)

    @cached_property
    def _curvatures(self) -> tuple[Array, Array, Array]:
        """Of log psi: what multiplies each entry, the V of L > 1, and the weights of pairs with V.

        With dL_k = -L_k v_k^2 and the change of v_k along the other v_m, the Hessian of the sum
        over L_k > 1 of the top r is that of the pairs v_k v_m, entry by entry: of two of them with
        the weight -(2 + L_k + L_m)/4, of one and another with (1 - L_k)(L_k + 3 L_m)/(L_k - L_m)/2.
        """
        L, V = self._eigen
        q = int(np.sum(L[: self._problem.r] > 1.0))
        top, others = L[:q, None], L[None, q:]
        with np.errstate(divide="ignore"):
            across = 0.5 * (1.0 - top) * (top + 3.0 * others) / (top - others)
        weights = np.hstack([-0.25 * (2.0 + top + top.T), across])
        diagonal = self._problem.variances / self._psi + 0.5 * (V[:, :q] ** 2 @ (1.0 - L[:q]))
        return diagonal, V[:, :q], weights

    def hessian_vector(self, U: Array) -> Array:
        problem, psi, (_, V) = self._problem, self._psi, self._eigen
        diagonal, top, weights = self._curvatures
        speed = self._slope / psi  # of log psi in t
        u = speed * U[:, 0]
        pairs = weights * ((top * u[:, None]).T @ V)
        changed = diagonal * u + np.einsum("jk,jk->j", top, V @ pairs.T)
        M = self.loadings
        excess = (inner(M, M) + psi - problem.variances) / psi
        product = speed * changed + excess * speed * (1.0 - speed) * U[:, 0]
        return 0.5 * problem.n * product[:, None]


class Completed(FactorPoint):
    """Where the loadings are at their best to the residual of the eigenvectors: no further product.

    Of very many columns the numbers that products leave at each of a run's points are too many.
    """

    def __init__(self, problem: DiagonalFactors, M: Array, profile: ProfilePoint) -> None:
        super().__init__(problem, M)
        self.value = profile.value
        self.gradient = problem.manifold.join([np.zeros_like(self._loadings), profile.gradient])


@dataclass(frozen=True)
class Profile(Problem):
    """The likelihood's least value over the loadings, as a function of t."""

    whole: DiagonalFactors

    @cached_property
    def has_hessian(self) -> bool:  # type: ignore[override]
        return self.whole.many_factors

    @cached_property
    def manifold(self) -> Euclidean:  # type: ignore[override]
        return Euclidean(self.whole.noise.k, 1)

    def at(self, M: Array) -> ProfilePoint:
        return ProfilePoint(self.whole, M)
