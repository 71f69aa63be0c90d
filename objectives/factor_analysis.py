"""Factor analysis and probabilistic principal component analysis, by maximum likelihood."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from ldr.objectives.data.data import Data, Samples
from ldr.objectives.data.memory import check_squares
from ldr.objectives.factor_model import FactorModel
from ldr.objectives.families.factors import (
    Factors,
    LikelihoodPoint,
    Noise,
    check_rank,
    has_missing,
    incomplete,
    inner,
)
from ldr.objectives.families.whitened import ROWS_ROUNDING, root_of_rows
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import number
from ldr.objectives.problem import PROVED_GLOBAL, BoundObjective, Certificate, check_dimension
from ldr.objectives.statistics import mean, moments
from ldr.objectives.statistics.covariance import CovarianceOperator, FactoredCovariance
from ldr.objectives.statistics.products import CentredRows, Correlations, Form
from ldr.objectives.statistics.scatters import KnownScatter, RowScatter, Scatter
from ldr.objectives.statistics.sums import weighted
from ldr.objectives.view import Compact, Scaling, Subspace, View
from ldr.solvers.checks import SMALLEST
from ldr.solvers.errors import DataError, SingularError
from ldr.solvers.likelihoods import VariableProjection
from ldr.solvers.linalg.bounds import SUMS_ROUNDING
from ldr.solvers.linalg.eigen import (
    graded_eigen,
    is_graded,
    range_basis,
    rank_tolerance,
    scaled_factor,
    symmetric_eigen,
)
from ldr.solvers.linalg.krylov import block_krylov
from ldr.solvers.linalg.rounding import FACTOR_ROUNDING
from ldr.solvers.manifolds import Array, Euclidean
from ldr.solvers.problem import Point, Problem
from ldr.solvers.solver import Stopping, run_through

# Least initial noise variance, relative to the feature's variance: the likelihood is flat at 0.
_LEAST_GUESS = 0.005

# A noise variance below this multiple of its lower bound is at the bound (Heywood case).
_AT_THE_BOUND = 2.0

Correlation: TypeAlias = FactoredCovariance | Correlations


@dataclass(frozen=True)
class FactorAnalysis(
    Objective,
    weighted=True,
    products="everywhere",
    scale_free=True,
    transposed=False,
    missing=True,
    imputes=True,
    from_sums=True,
    rule="bic",
):
    r"""Factor analysis (FA) by maximum likelihood.

    .. math::

        \min_{M,\,\psi} \frac{n}{2} \left[\log|S| + \operatorname{tr}(S^{-1}C)\right], \quad S =
        MM' + \operatorname{diag}(\psi)

    The model is x = My + noise, y ~ N(0, I), noise ~ N(0, diag psi), with any d x r matrix M,
    identified up to a rotation M -> MQ. The negative log-likelihood includes the constant n d/2 log
    2 pi. P = M'(MM' + diag psi)^{-1} gives the posterior mean of the factors y for the noise
    variances psi. For fixed noise variances psi, the top eigenvectors of psi^{-1/2} C psi^{-1/2}
    give the optimal M. The default solver ("variable-projection") therefore optimises psi only. The
    first default start sets psi in proportion to the residual variances of the features, each
    regressed on all others, or to half of their variances if C is singular. The second default
    start sets psi to the residual variances of a regression on r features, selected stepwise by
    likelihood. The second start is near many Heywood cases (zero noise variances). Local optima are
    common if n is small or r too large. The result's `model` scores samples, imputes missing
    entries and returns posterior covariances and the Bayesian information criterion (BIC).

    Missing entries of X are NaN. If entries are missing, the likelihood of the observed entries is
    maximised over M, log psi and the mean. With ``solver="em"`` expectation maximisation is used.

    Use it when a likelihood is needed and noise variances differ between features, as in
    questionnaires or sensors. The result does not depend on the features' units. Do not use it with
    few samples or few features: noise variances can converge to zero (Heywood cases).

    Source: Joreskog 1967; Rubin & Thayer 1982 (EM); Cunningham & Ghahramani 2015, 3.1.2.

    Parameters
    ----------
    least_noise : float
        Lower bound of psi, as a share of each column's variance. The likelihood can increase until
        psi_j = 0, a Heywood case: the result's notes list the columns at the bound. With a bound
        below 1e-6 rounding errors can keep the gradient above the tolerance.
    """

    name = "fa"
    sense = "min"
    baseline = "loadings for noise variances by squared multiple correlations"
    domain = "R"

    least_noise: float = number(1e-6, positive=True, below=0.5)

    def bind(self, data: Data, r: int) -> BoundObjective:
        samples = data.samples
        found = None if has_missing(samples) else _correlation(samples)
        if found is None:
            return incomplete(self, samples, r, tied=False, floor=self.least_noise)
        n, centre, deviations, correlation, scatter = found
        return DiagonalFactors(
            self,
            (View(centre, Scaling(deviations), scatter=scatter),),
            correlation,
            np.ones(samples.d),
            noise=Noise(samples.d, tied=False, floor=self.least_noise),
            r=r,
            n=n,
            scale=deviations,
            feature_names=samples.feature_names,
        )


def _correlation(samples: Samples) -> tuple[float, Array, Array, Correlation, Scatter] | None:
    """Return n, mean, deviations, correlations, scatter; None if entries are missing."""
    check_squares(samples)
    if samples.wide:
        rows = CentredRows.of(samples)
        variances = rows.in_all_columns(rows.squares(rows.counts)[:, None] / rows.weight)[:, 0]
        deviations = _deviations(variances, samples)
        C = Correlations(Form.covariance(rows), deviations)
        return rows.weight, rows.mean, deviations, C, CovarianceOperator.of(samples)
    if not samples.n_known or samples.n >= samples.d:
        stats = moments(samples)
        if np.isnan(stats.mean).any():
            return None
        deviations = _deviations(np.diag(stats.covariance), samples)
        F = scaled_factor(stats.covariance) / deviations
        known = KnownScatter(stats.scatter, stats.n)
        return stats.n, stats.mean, deviations, FactoredCovariance(F), known
    centre = mean(samples)
    Z = weighted(samples.dense_if_few() - centre, samples.weights)
    deviations = _deviations(np.sum(Z**2, axis=0) / samples.weight, samples)
    F = Z / deviations / math.sqrt(samples.weight)
    scatter = RowScatter(samples, centre)
    return samples.weight, centre, deviations, FactoredCovariance(F), scatter


def without_factors(data: Data, *, tied: bool) -> FactorModel:
    """Return the model without factors: independent columns, with equal variances if `tied`.

    - raises DataError: entries are missing, so that r must be at least 1
    """
    samples = data.samples
    stats = moments(samples)
    if np.isnan(stats.mean).any():
        raise DataError(f"{samples.name} has missing values (NaN): r = 0 needs complete samples")
    noise = np.diag(stats.covariance).copy()
    _deviations(noise, samples)
    d, n = len(noise), stats.n
    if tied:
        noise[:] = noise.mean()
    likelihood = -0.5 * n * (d * math.log(2.0 * math.pi) + float(np.log(noise).sum()) + d)
    free = d + (1 if tied else d)
    return FactorModel(stats.mean, np.zeros((d, 0)), noise, n, likelihood, free)


def _deviations(variances: Array, samples: Samples) -> Array:
    """Return the standard deviations of the columns; refuse constant columns."""
    constant = np.flatnonzero(variances == 0)
    if len(constant):
        raise SingularError(
            f"the likelihood is unbounded: {samples.name} has {len(constant)} constant column(s), "
            f"the first is column {constant[0]}; drop them"
        )
    return np.sqrt(variances)


@dataclass(frozen=True)
class DiagonalFactors(Factors):
    """The likelihood of factor analysis over M in R^{d x r} and t, with psi = floor + exp(t).

    The solver's columns have unit variance, so that 1 - psi is the communality.
    """

    C: Correlation
    feature_names: tuple[str, ...] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        # The likelihood is unbounded if r is at least the rank of a singular correlation matrix.
        check_rank(self.r, self._rank + (self._rank == self.d))

    @cached_property
    def _spectrum(self) -> Array:
        """Spectrum of C in ascending order, without the zeros for n < d rows."""
        assert not isinstance(self.C, Correlations)
        return self.C.spectrum()

    @property
    def _rank(self) -> int:
        if isinstance(self.C, Correlations):  # the correlations of n samples have rank < n
            return min(self.d, int(self.n) - 1)
        return int(np.sum(self._spectrum > rank_tolerance(self.d) * self._spectrum[-1]))

    @property
    def root(self) -> Any:
        return self.C.F

    def profile(self) -> Profile:
        return Profile(self)

    def specialist(self) -> VariableProjection:
        return VariableProjection()

    def of_covariance(self, C: Array) -> DiagonalFactors:
        return replace(self, C=FactoredCovariance(scaled_factor(C)), variances=np.diag(C))

    def improved(self, M: Array) -> Array:
        """Return the point after ten iterations; more are not needed between imputations."""
        return run_through(self, M, VariableProjection(), Stopping(max_iterations=10)).M

    def baseline(self) -> Array:
        return next(iter(self.starts().values()))

    def starts(self) -> dict[str, Array]:
        return self._starts

    @cached_property
    def _starts(self) -> dict[str, Array]:
        """Starts from squared multiple correlations and from selected columns.

        The first start has psi_j = (1 - r/2d)/(C^{-1})_jj, as proposed by Joreskog.
        """
        guesses = {"half the variances": np.full(self.d, 0.5)}
        if not isinstance(self.C, Correlations) and self._rank == self.d:
            share, C = 1.0 - 0.5 * self.r / self.d, self.C.array
            guesses = {
                "squared multiple correlations": share / np.diag(np.linalg.inv(C)),
                "columns as factors": _left_by_columns(C, self.r),
            }
        noise = {k: np.maximum(psi, _LEAST_GUESS)[:, None] for k, psi in guesses.items()}
        profile = self.profile()
        return {k: profile.at(self.noise.coordinate(psi)).whole.M for k, psi in noise.items()}

    def certificate(self, M: Array) -> Certificate | None:
        """Certify the optimum if the model's covariance S is C: no Gaussian is more likely."""
        if isinstance(self.C, Correlations) or self._rank < self.d:
            return None
        value = self.at(M).value
        saturated = 0.5 * self.n * (self.constant + float(np.log(self._spectrum).sum()) + self.d)
        gap = max(0.0, value - saturated)
        if gap <= 1e-10 * max(abs(value), self.n):
            return Certificate("global", gap, "the likelihood is the maximum over all Gaussians")
        return None

    def remarks_on(self, model: FactorModel) -> list[str]:
        """Return messages on Heywood cases and on too many factors (Ledermann's bound)."""
        notes = []
        if (self.d - self.r) ** 2 < self.d + self.r:
            notes.append(
                f"{self.r} factors of {self.d} columns are not identified: other loadings and "
                "noise variances have the same likelihood"
            )
        share = model.noise / self.scale / self.scale
        columns = np.flatnonzero(share <= _AT_THE_BOUND * self.noise.floor)
        if len(columns) == 0:
            return notes
        names = self.feature_names or tuple(map(str, range(self.d)))
        note = (
            f"Heywood case: the noise variance of column(s) {', '.join(names[j] for j in columns)} "
            f"is at its lower bound, {self.noise.floor:g} of the column's variance"
        )
        if len(columns) > self.r:
            note += "; with more such columns than factors the value depends on the bound"
        return [*notes, note]


def _left_by_columns(C: Array, r: int) -> Array:
    """Return the residual variances of the columns given r selected columns.

    Columns are selected greedily, to minimise the sum of log variances, and then exchanged while
    the likelihood increases.
    """
    columns: list[int] = []
    for _ in range(10):  # two or three passes over the columns usually suffice
        before = set(columns)
        for _ in range(r):
            columns = columns[len(columns) == r :]
            left = _left_by(C, columns)
            own = np.diag(left)
            after = np.maximum(own - left * left / own[:, None], np.finfo(float).tiny)
            np.fill_diagonal(after, own)
            costs = np.log(after).sum(axis=1)
            costs[columns] = np.inf
            columns.append(int(np.argmin(costs)))
        if set(columns) == before:
            break
    found = np.diag(_left_by(C, columns)).copy()
    found[columns] = 0.0
    return found


def _left_by(C: Array, columns: list[int]) -> Array:
    """Return the residual of C after regression on some columns, its diagonal above zero."""
    across = C[:, columns]
    left = np.asarray(C - across @ np.linalg.solve(across[columns], across.T))
    np.fill_diagonal(left, np.maximum(np.diag(left), np.finfo(float).eps))
    return left


class ProfilePoint(Point):
    """The negative log-likelihood at t = log psi with optimal loadings M (the profile likelihood).

    The loadings M = psi^{1/2} V_r (L_r - I)_+^{1/2} come from the eigenvectors V and eigenvalues L
    of psi^{-1/2} C psi^{-1/2}. Up to a constant the value is n/2 times sum_j (log psi_j +
    C_jj/psi_j) plus sum_i (log L_i + 1 - L_i) over the L_i > 1 of the top r. At the optimal M the
    matrix S^{-1} - S^{-1}CS^{-1} has the diagonal of psi^{-1}(S - C)psi^{-1}.
    """

    def __init__(self, problem: DiagonalFactors, t: Array) -> None:
        self.M = t
        self._problem = problem
        self._slope = problem.noise.slope(t)
        self._psi = problem.noise.floor + self._slope

    @cached_property
    def _top(self) -> tuple[Array, Array]:
        """The top r eigenvalues L > 1, the others replaced by 1, and their eigenvectors."""
        values, V = self._problem.C.top_weighted(1.0 / np.sqrt(self._psi), self._problem.r)
        return np.maximum(values, 1.0), V * (values > 1.0)

    @cached_property
    def _left(self) -> Array:
        """Diagonal of psi^{-1/2} C psi^{-1/2} minus the part of the optimal loadings.

        Rows give sums of squares, accurate for small noise variances.
        """
        problem, (values, V) = self._problem, self._top
        if not isinstance(problem.root, np.ndarray):
            return problem.variances / self._psi - inner(V * values, V)
        F = problem.root / np.sqrt(self._psi)
        F = F - (F @ V) @ V.T
        return inner(F.T, F.T)

    @property
    def whole(self) -> LikelihoodPoint:
        """The likelihood at t and the optimal loadings, where it has this value and gradient."""
        problem, (values, V) = self._problem, self._top
        M = np.sqrt(self._psi)[:, None] * V * np.sqrt(values - 1.0)
        whole = problem.at(problem.manifold.join([M, self.M]))
        whole.value = self.value
        whole.gradient = problem.manifold.join([np.zeros_like(M), self.gradient])
        return whole

    @cached_property
    def value(self) -> float:
        if not np.isfinite(self._psi).all():
            return math.inf
        problem, (values, V) = self._problem, self._top
        parts = float(np.log(self._psi).sum() + np.log(values).sum() + self._left.sum())
        return 0.5 * problem.n * (problem.constant + parts + float(np.vdot(V, V)))

    @cached_property
    def gradient(self) -> Array:
        """Gradient in t, by (MM' + psi - C)_jj / psi_j."""
        problem, V = self._problem, self._top[1]
        excess = 1.0 - inner(V, V) - self._left
        return 0.5 * problem.n * problem.noise.gather(self._slope / self._psi * excess)


@dataclass(frozen=True)
class Profile(Problem):
    """The negative log-likelihood minimised over the loadings, as a function of t."""

    of: DiagonalFactors

    has_hessian = False

    @cached_property
    def manifold(self) -> Euclidean:  # type: ignore[override]
        return Euclidean(self.of.noise.k, 1)

    def at(self, M: Array) -> ProfilePoint:
        return ProfilePoint(self.of, M)

    def restrict(self, M: Array) -> Array:
        """Return t, the variable that remains of a point of the likelihood."""
        return self.of.manifold.split(M)[1]


@dataclass(frozen=True)
class PPCA(
    Objective,
    weighted=True,
    transposed=False,
    missing=True,
    imputes=True,
    from_sums=True,
    rule="bic",
    products="optimum",
):
    r"""Probabilistic principal component analysis (PPCA).

    .. math::

        \min_{M,\,\sigma^2} \frac{n}{2} \left[\log|S| + \operatorname{tr}(S^{-1}C)\right], \quad
        S = MM' + \sigma^2 I

    The model is x = My + noise, y ~ N(0, I), noise ~ N(0, s2 I), s2 = sigma^2, with any d x r
    matrix M. The negative log-likelihood includes the constant n d/2 log 2 pi. The maximum
    likelihood estimate is M = U_r (L_r - s2 I)^{1/2}, up to a rotation M -> MQ, with the r leading
    eigenvectors U_r and eigenvalues L_r of C; s2 is the mean of the d - r other eigenvalues. P =
    (M'M + s2 I)^{-1} M' gives the posterior mean of the factors y for the noise variance s2. The
    result's `model` scores samples, imputes missing entries and returns posterior covariances and
    the Bayesian information criterion (BIC).

    Missing entries of X are NaN. If entries are missing, the solver maximises the likelihood of the
    observed entries over M, the mean and the noise variance. The baseline is the estimate for data
    with missing entries replaced by means. With ``solver="em"`` expectation maximisation is used.

    Use it when a likelihood is needed: to choose r, to compare models, to score new samples. Do not
    use it if noise variances differ between features: take fa.

    Source: Tipping & Bishop 1999; Cunningham & Ghahramani 2015, 3.1.1.
    """

    name = "ppca"
    sense = "min"
    baseline = "closed form from the eigenvectors of C, with column means where X is missing"
    domain = "R"
    exact = "where nothing is missing"

    def bind(self, data: Data, r: int) -> BoundObjective:
        samples = data.samples
        if has_missing(samples):
            return incomplete(self, samples, r, tied=True)
        if samples.wide:
            return self._of_products(samples, r)
        compact = Compact.of(samples, quiet=True)
        stats = moments(compact.rows)
        if np.isnan(stats.mean).any():
            return incomplete(self, samples, r, tied=True)
        C, view = stats.covariance, compact.view_of(stats)
        F = root_of_rows(compact, stats)
        return self._bound(view, r, C, float(C.trace()), stats.n, offset=stats.mean, of_rows=F)

    def _of_products(self, samples: Samples, r: int) -> IsotropicFactors:
        """Return the model of wide rows in their leading eigenvectors and one more."""
        C = CovarianceOperator.of(samples)
        check_dimension(r, min(samples.shape) - 1)
        found = block_krylov(C, r + 1, tolerance=FACTOR_ROUNDING, most_products=C.most_products)
        view = View(C.mean, Subspace(found.vectors), scatter=C)
        view = view.noting(f"eigenvectors by block Krylov, {found.products} products")
        offset, values = found.vectors.T @ C.mean, np.diag(found.values)
        return self._bound(
            view, r, values, C.trace, samples.weight, offset=offset, searched=found.accuracy
        )

    def _bound(
        self,
        view: View,
        r: int,
        C: Array,
        trace: float,
        n: float,
        *,
        offset: Array,
        of_rows: Array | None = None,
        searched: float | None = None,
    ) -> IsotropicFactors:
        """Return the likelihood in the coordinates of a view, scaled by a power of two.

        The trace of the covariance exceeds that of C if there is variance outside the coordinates.
        """
        d, k = len(view.mean), len(C)
        scaling = Scaling.of(math.sqrt(trace / d), view.coordinates)
        unit = float(scaling.scale)
        C = C / unit / unit
        rest = 0.0 if searched is None else trace / unit / unit - float(C.trace())
        return IsotropicFactors(
            self,
            (replace(view, coordinates=scaling),),
            C,
            np.diag(C) + rest / k,
            noise=Noise(k, tied=True, further=d - k, outside=n * rest),
            r=r,
            n=n,
            scale=np.full(d, unit),
            of_rows=None if of_rows is None else of_rows / unit,
            offset=offset / unit,
            searched=searched,
        )


@dataclass(frozen=True)
class IsotropicFactors(Factors):
    """The likelihood of PPCA over M in R^{k x r} and log s2.

    - of_rows (m, k): F with F'F = C if rows are more accurate than C, else None
    - offset (k,): mean of the rows
    """

    C: Array
    of_rows: Array | None = field(default=None, kw_only=True)
    offset: Array = field(kw_only=True)

    def __post_init__(self) -> None:
        check_dimension(self.r, len(self.C))
        if self.noise.outside > 0:
            return
        if self.of_rows is None:
            range_ = range_basis(self.C)
            check_rank(self.r, len(self.C) if range_ is None else range_.shape[1])
        else:
            check_rank(self.r, len(self.of_rows))

    @cached_property
    def root(self) -> Array:
        return scaled_factor(self.C) if self.of_rows is None else self.of_rows

    @cached_property
    def _eigen(self) -> tuple[Array, Array]:
        """Eigenvalues of C and eigenvectors."""
        if self.of_rows is None and not is_graded(self.C):
            return symmetric_eigen(self.C)
        return graded_eigen(self.root)

    @cached_property
    def _noise(self) -> float:
        """Maximum likelihood estimate of s2."""
        left = float(np.sum(self._eigen[0][self.r :])) + self.noise.outside / self.n
        noise = left / (self.d - self.r)
        if not noise > SMALLEST:
            raise SingularError(
                f"the likelihood is unbounded: r = {self.r} factors leave no residual variance; "
                "the units of the columns are too far apart, or r is too large"
            )
        return noise

    def closed_form(self) -> Array:
        return self._best

    @cached_property
    def _best(self) -> Array:
        """M = U_r (L_r - s2 I)^{1/2}; s2 averages the d - r others, the d - k zeros included."""
        L, U = self._eigen[0][: self.r], self._eigen[1][:, : self.r]
        M = U * np.sqrt(np.maximum(L - self._noise, 0.0))
        return self.point([M, np.array([[math.log(self._noise)]])])

    def baseline(self) -> Array:
        return self.closed_form()

    def of_covariance(self, C: Array) -> IsotropicFactors:
        noise = Noise(len(C), tied=True)
        return replace(self, C=C, variances=np.diag(C), noise=noise, of_rows=None)

    def improved(self, M: Array) -> Array:
        return self.closed_form()

    def certificate(self, M: Array) -> Certificate:
        """Certify the optimum by the eigenvalues of C: these give log|S|, and tr(S^{-1}C) = d.

        The optimality gap includes rounding errors of C, or of `of_rows`.
        """
        logs = np.log(np.append(self._eigen[0][: self.r], np.full(self.d - self.r, self._noise)))
        terms = self.constant, *logs, self.d
        best, size = (0.5 * self.n * float(np.sum(each)) for each in (terms, np.abs(terms)))
        rounding = SUMS_ROUNDING * size + self._rounding(self._noise)
        return Certificate.of_gap(
            abs(self.at(M).value - best) + rounding,
            PROVED_GLOBAL * max(abs(self.at(M).value), self.n),
            "the likelihood equals the maximum, known from eigenvalues",
            "the maximum likelihood, known from eigenvalues, bounds the value",
        )

    def _rounding(self, noise: float) -> float:
        """Bound the change n/2 tr(S^{-1} dC) of the optimum by rounding of C or of the rows."""
        L, U = self._eigen[0][: self.r], self._eigen[1][:, : self.r]
        rest = np.eye(len(U)) - U @ U.T
        inverse = rest.T @ rest / noise + (U / L) @ U.T
        variances = np.maximum(np.diag(self.C), 0.0)
        sizes = (variances + self.offset**2) @ np.diag(inverse)
        of_rows = self.n * ROWS_ROUNDING * math.sqrt(self.d * sizes)
        if self.of_rows is not None:
            return of_rows
        scale = np.sqrt(variances)
        return of_rows + 0.5 * self.n * SUMS_ROUNDING * float(scale @ np.abs(inverse) @ scale)
