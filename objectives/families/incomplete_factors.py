"""Gaussian factor models of rows with missing entries: the likelihood of what was observed."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property, partial

import numpy as np

from ldr.objectives.factor_model import FactorModel
from ldr.objectives.families.factors import FactorLikelihood, Factors, Noise, inner
from ldr.objectives.families.observed import Observed, Posterior, outer, over_columns, times
from ldr.objectives.families.row_sum import Remembered
from ldr.objectives.statistics.covariance import Variation
from ldr.solvers.errors import SingularError
from ldr.solvers.expectation_maximisation import Imputation
from ldr.solvers.manifolds import Array, Euclidean, Product
from ldr.solvers.problem import Point, Preconditioner
from ldr.solvers.records import dataclass, field

# Least curvature of a t that the preconditioner divides by, relative to the largest.
_LEAST_CURVATURE = 1e-8


class IncompletePoint(Point):
    """The negative log-likelihood of the observed entries at (M, t, mean), and its derivatives.

    By Fisher's identity the gradient is the expectation of the complete one: with the posterior
    means y_i and covariances V_i, the residuals R_i and sums over the rows that have column j,
    in M_j it is -(sum R_ij y_i - V_i M_j)/psi_j, in mean_j it is -sum R_ij / psi_j, and in psi_j it
    is (n_j/psi_j - q_j/psi_j^2)/2 with q_j = sum R_ij^2 + M_j'V_iM_j. O(n d r) a product, and
    O(p d r^2) for p patterns of missing entries.
    """

    def __init__(self, problem: ObservedRows, M: Array) -> None:
        self.M = M
        self._problem = problem
        self._loadings, self._t, self._mean = problem.manifold.split(M)
        self._slope = problem.noise.slope(self._t)
        self._psi = problem.noise.variances(self._t)

    @cached_property
    def _posterior(self) -> Posterior:
        return Posterior(self._problem.observed, self._mean[:, 0], self._loadings, self._psi)

    @cached_property
    def value(self) -> float:
        if not (np.isfinite(self._psi).all() and self._psi.min() > np.finfo(float).tiny):
            return math.inf
        return self._problem.constant - self._posterior.log_likelihood

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
        return 0.5 * (self._problem.observed.counts - self._squares / self._psi) / self._psi

    @cached_property
    def gradient(self) -> Array:
        problem, psi = self._problem, self._psi[:, None]
        in_t = problem.noise.gather(self._slope * self._h)
        in_mean = -self._posterior.residual.T @ problem.observed.ones / psi
        return problem.manifold.join([-self._pull / psi, in_t, in_mean])

    def hessian_vector(self, V: Array) -> Array:
        """The derivative of the gradient, term by term; dV_i = -V_i dK_i V_i."""
        problem, psi, M = self._problem, self._psi, self._loadings
        posterior, observed = self._posterior, self._problem.observed
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

    def complete_curvature(self) -> tuple[Array, Array]:
        """Of the complete likelihood: of (M_j, mean_j), (d, r + 1, r + 1), and of t."""
        psi, slope = self._psi, self._slope
        in_psi = 0.5 * self._problem.observed.counts * (slope / psi) ** 2
        in_t = self._problem.noise.gather(in_psi + slope * np.maximum(self._h, 0.0))
        return self.regressions().moments / psi[:, None, None], in_t

    def regressions(self) -> Regressions:
        """Of each column on (y, 1), over the rows that have it: what a step of EM needs."""
        posterior, observed = self._posterior, self._problem.observed
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
        """One step of EM: regress each column on (y, 1) over the rows that have it.

        psi is what is left of the column, averaged over its entries, or over all where tied.
        """
        problem, posterior = self._problem, self._posterior
        observed, noise = problem.observed, problem.noise
        M, mean = self.regressions().coefficients()
        residual = observed.mask * (observed.Z - observed.ones * mean[:, 0] - posterior.y @ M.T)
        left = np.sum(residual**2, axis=0) + inner(M, times(posterior.spread, M))
        psi = noise.gather(left) / noise.gather(observed.counts)
        return problem.manifold.join([M, noise.coordinate(psi), mean])


@dataclass(frozen=True)
class Regressions:
    """Of each column on (y, 1), as sums over rows; the moments are those of the posterior.

    Attributes
    ----------
    moments : ndarray (d, r + 1, r + 1)
    targets : ndarray (d, r + 1)
    squares, counts : ndarray (d,)
        Sum of squares and number of each column's entries.
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

    def coefficients(self) -> tuple[Array, Array]:
        """M (d x r) and the mean (d x 1)."""
        both = np.asarray(np.linalg.solve(self.moments, self.targets[:, :, None]), dtype=np.float64)
        return both[:, :-1, 0], both[:, -1:, 0]

    def left(self, M: Array, mean: Array) -> Array:
        """Of each column's sum of squares, by the normal equations."""
        return self.squares - inner(np.hstack([M, mean]), self.targets)


@dataclass(frozen=True, eq=False)
class ObservedRows:
    """Rows with what their likelihood needs: the problem that a point is of.

    Attributes
    ----------
    observed : Observed
        In the coordinates of the solver.
    scale : ndarray (d,)
    """

    observed: Observed
    noise: Noise
    r: int
    scale: Array

    @cached_property
    def manifold(self) -> Product:
        return factor_space(self.noise, self.r)

    @cached_property
    def constant(self) -> float:
        return float(self.observed.counts @ np.log(self.scale))


def factor_space(noise: Noise, r: int) -> Product:
    """Of M, t and the mean."""
    return Product(Euclidean(noise.k, r), Euclidean(noise.size, 1), Euclidean(noise.k, 1))


@dataclass(frozen=True)
class IncompleteLikelihood(FactorLikelihood):
    """The likelihood of the observed entries over M in R^{d x r}, t (the noise), and the mean.

    Parameters
    ----------
    filled : Factors
        The problem of the rows filled in with the columns' means: its heuristic starts this one.
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

    Parameters
    ----------
    observed : Observed
        The rows in the coordinates of the solver, less the means of what was observed; no more of
        a pattern than its sums tell apart.
    """

    observed: Observed

    @cached_property
    def _rows(self) -> ObservedRows:
        return ObservedRows(self.observed, self.noise, self.r, self.scale)

    _points: Remembered[IncompletePoint] = field(
        default_factory=partial(Remembered, 2), init=False, repr=False
    )

    def at(self, M: Array) -> IncompletePoint:
        return self._points.at(M, partial(IncompletePoint, self._rows))

    def expected(self, M: Array) -> Array:
        return self.at(M).expected

    def preconditioner(self, M: Array) -> Preconditioner:
        """The inverse of the complete likelihood's Hessian: a step of EM is one along it.

        What is missing is a share of that, so that no curvature is above 1 then.
        """
        in_columns, in_t = self.at(M).complete_curvature()
        inverse = np.asarray(np.linalg.inv(in_columns), dtype=np.float64)
        in_t = np.maximum(in_t, _LEAST_CURVATURE * in_t.max())

        def apply(N: Array, U: Array) -> Array:
            dM, dt, dmean = self.manifold.split(U)
            both = times(inverse, np.hstack([dM, dmean]))
            return self.manifold.join([both[:, :-1], dt / in_t, both[:, -1:]])

        return apply


def check_entries(r: int, most: int) -> None:
    """Refuse as many factors as the fullest row has entries."""
    if r >= most:
        raise SingularError(
            f"no row has more than {most} entries, which r = {r} factors explain without "
            f"noise; expected r < {most}"
        )


def missing_note(missing: int, entries: int) -> str:
    return f"{missing} of {entries} entries are missing: the likelihood is of the others"
