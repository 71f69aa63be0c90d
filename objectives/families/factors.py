"""Gaussian factor models: the likelihood of S = MM' + diag(psi) over M and log psi.

Complete rows enter the likelihood by their covariance, incomplete rows by their observed entries.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial, reduce
from operator import add, attrgetter, or_
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from ldr.objectives.data.array_types import Cells
from ldr.objectives.data.data import Beside, Data, Samples
from ldr.objectives.data.stored import MadeSamples
from ldr.objectives.factor_model import FactorModel, Observed, Posterior, outer, over_columns, times
from ldr.objectives.families.row_sum import InParts, Remembered, SumPoint, TermOfPoints
from ldr.objectives.problem import BoundObjective, Fitted, Stated
from ldr.objectives.statistics.scatters import Variation
from ldr.objectives.view import Axes, ColumnScaling, View
from ldr.solvers.errors import DataError, SingularError
from ldr.solvers.likelihoods import Imputation
from ldr.solvers.linalg.eigen import scaled_factor
from ldr.solvers.manifolds import Array, Euclidean, Product
from ldr.solvers.problem import Point


@dataclass(frozen=True)
class Noise:
    """Noise variances psi_j = floor + exp(t_j), with a common t if tied.

    - k: number of columns of the solver
    - floor: lower bound of psi, the limit for t -> -infinity
    - further: if tied, number of directions outside the solver's columns, which have noise only
    """

    k: int
    tied: bool
    floor: float = 0.0
    further: int = 0

    @property
    def size(self) -> int:
        """Number of entries of t."""
        return 1 if self.tied else self.k

    def slope(self, t: Array) -> Array:
        """Return exp(t) = d psi/dt = d^2 psi/dt^2 of each column, shape (k,)."""
        with np.errstate(over="ignore"):
            return np.broadcast_to(np.exp(t[:, 0]), self.k)

    def variances(self, t: Array) -> Array:
        """Return psi, shape (k,)."""
        return self.floor + self.slope(t)

    def gather(self, columns: Array) -> Array:
        """Sum values of the columns (k,) over the columns of each t; the result is (size, 1)."""
        return np.array([[columns.sum()]]) if self.tied else columns[:, None]

    def coordinate(self, psi: Array) -> Array:
        """Return t for psi, each (size, 1); a very small t if psi is not above the floor."""
        least = 1e-9 * self.floor or np.finfo(float).tiny
        return np.log(np.maximum(psi - self.floor, least))


class Regressions(NamedTuple):
    """Sums for each column's regression on z = (y, 1), or on the factors y only.

    - moments (d or 1, k, k): sum of E[zz'], for each column or for all columns
    - targets (d, k): sum of x_j E[z]
    - squares, counts (d,): sums of x_j^2 and of 1
    """

    moments: Array
    targets: Array
    squares: Array
    counts: Array

    def merge(self, other: Regressions) -> Regressions:
        return Regressions._make(map(add, self, other))

    def improved(self, problem: Any) -> Array:
        """Return the EM step: M (and the mean) by least squares, psi from the residuals.

        The variance psi_j is a mean over column j's entries, or over all entries if tied.
        """
        noise = problem.noise
        solved = np.linalg.solve(self.moments, self.targets[:, :, None])
        both = np.asarray(solved[:, :, 0], dtype=np.float64)
        entries = noise.gather(self.counts) + self.counts[0] * noise.further
        psi = noise.gather(self.squares - inner(both, self.targets)) / entries
        return joined(problem, both, noise.coordinate(psi))


def joined(problem: Any, both: Array, t: Array) -> Array:
    """Return the point with the coefficients `both`, (M, mean) or M alone, and the noise t."""
    M, mean = both[:, : problem.r], both[:, problem.r :]
    return problem.manifold.join([M, t, mean] if mean.size else [M, t])


class LikelihoodPoint(Point):
    """The negative log-likelihood at (M, t) or (M, t, mean), and its derivatives.

    By Fisher's identity the gradient is the conditional expectation, given the observed entries, of
    the gradient for known factors y. The latter is that of a regression of each column on z = (y,
    1) with the coefficients b_j = (M_j, mean_j). Let pull_j = sum E[z (x_j - z'b_j)], left_j = sum
    E[(x_j - z'b_j)^2] and n_j be sums over the rows that observe column j. The gradient is
    -pull_j/psi_j in b_j, and (n_j - left_j/psi_j)/(2 psi_j) in psi_j.
    """

    def __init__(self, problem: Any, M: Array) -> None:
        self.M = M
        self._problem = problem
        self._noise: Noise = problem.noise
        self._loadings, self._t, *_ = problem.manifold.split(M)
        self._slope = self._noise.slope(self._t)
        self._psi = self._noise.floor + self._slope

    # Sums over the rows in which a column is observed; the docstring of the class defines them.
    _counts: Array
    _pull: Array
    _left: Array

    @abstractmethod
    def _changes(self, V: Array, relative: Array) -> tuple[Array, Array]:
        """The derivatives of pull and left along V, which changes psi by psi * relative."""

    @abstractmethod
    def regressions(self) -> Regressions:
        """Return the conditional expectations of the regression sums, for EM."""

    @property
    def _bounded(self) -> bool:
        """True if psi is finite and not zero."""
        return bool(np.isfinite(self._psi).all() and self._psi.min() > np.finfo(float).tiny)

    @cached_property
    def _in_psi(self) -> Array:
        return 0.5 * (self._counts - self._left / self._psi) / self._psi

    @cached_property
    def gradient(self) -> Array:
        noise = self._noise
        in_t = noise.gather(self._slope * self._in_psi) + 0.5 * self._counts[0] * noise.further
        return joined(self._problem, -self._pull / self._psi[:, None], in_t)

    def hessian_vector(self, V: Array) -> Array:
        psi = self._psi
        dslope = self._slope * self._problem.manifold.split(V)[1][:, 0]
        relative = dslope / psi
        dpull, dleft = self._changes(V, relative)
        in_both = (self._pull * relative[:, None] - dpull) / psi[:, None]
        weighed = (2.0 * self._left / psi - self._counts) * relative
        din_psi = 0.5 * (weighed - dleft / psi) / psi
        in_t = self._noise.gather(self._slope * din_psi + dslope * self._in_psi)
        return joined(self._problem, in_both, in_t)

    def improved(self) -> Array:
        """Return the next iterate of EM."""
        return self.regressions().improved(self._problem)


class FactorPoint(LikelihoodPoint):
    """The negative log-likelihood of complete rows, by the Woodbury formula.

    With B = psi^{-1}M, K = I + M'B, E = K^{-1} and A = BE, the terms of the log-likelihood are
    log|S| = log|psi| + log|K| and tr(S^{-1}C) = sum_j C_jj/psi_j - tr(B'CA), which is computed as a
    sum of squares if a root of C is known. The factors y have the expected moments Cxy = CA and
    Cyy = E + A'CA. For accuracy all matrices refer to the eigenvectors of K. An evaluation costs
    one product CA, O(d^2 r).
    """

    _problem: Factors

    @cached_property
    def _sums(self) -> Any:
        """U, s and V of psi^{-1/2}M = U diag(s) V', A V and CA V, and E, A, Cxy and Cyy."""
        root = np.sqrt(self._psi)[:, None]
        U, s, Vt = np.linalg.svd(self._loadings / root, full_matrices=False)
        AV = U * (s / (1.0 + s * s)) / root
        CAV = self._problem.C @ AV
        E, A, Cxy = (Vt.T / (1.0 + s * s)) @ Vt, AV @ Vt, CAV @ Vt
        return SimpleNamespace(
            U=U, s=s, AV=AV, CAV=CAV, E=E, A=A, Cxy=Cxy, Cyy=E + Vt.T @ (AV.T @ CAV) @ Vt
        )

    @cached_property
    def value(self) -> float:
        problem = self._problem
        if not self._bounded:
            return math.inf
        logs = float(np.log(self._psi).sum()) + self._noise.further * float(self._t[0, 0])
        sums = self._sums
        U, s, theta = sums.U, sums.s, sums.s**2
        if problem.root is None:
            fit = float((problem.variances / self._psi).sum())
            fit -= float(inner(sums.AV.T, sums.CAV.T) @ (1.0 + theta))
        else:
            F = problem.root / np.sqrt(self._psi)
            Y = (F @ U) * (s / (1.0 + theta))
            fit = float(np.sum((F - (Y * s) @ U.T) ** 2) + np.sum(Y**2))
        logdet = logs + float(np.log1p(theta).sum())
        return 0.5 * problem.n * float(problem.constant + logdet + fit)

    @cached_property
    def _counts(self) -> Array:  # type: ignore[override]
        return np.full(self._noise.k, float(self._problem.n))

    @cached_property
    def _pull(self) -> Array:  # type: ignore[override]
        return np.asarray(self._problem.n * (self._sums.Cxy - self._loadings @ self._sums.Cyy))

    @cached_property
    def _left(self) -> Array:  # type: ignore[override]
        M, sums, problem = self._loadings, self._sums, self._problem
        fit = problem.variances - 2.0 * inner(M, sums.Cxy) + inner(M @ sums.Cyy, M)
        return problem.n * fit

    def _changes(self, V: Array, relative: Array) -> tuple[Array, Array]:
        """With dK = dM'B + M'dB, dE = -E dK E and dA = dB E + B dE."""
        M, sums, E, n = self._loadings, self._sums, self._sums.E, self._problem.n
        dM = self._problem.manifold.split(V)[0]
        B = M / self._psi[:, None]
        dB = dM / self._psi[:, None] - B * relative[:, None]
        dK = dM.T @ B + M.T @ dB
        dA = (dB - sums.A @ dK) @ E
        dCxy, beside = self._problem.C @ dA, dA.T @ sums.Cxy
        dCyy = beside + beside.T - E @ dK @ E
        dpull = n * (dCxy - dM @ sums.Cyy - M @ dCyy)
        dleft = n * (inner(M @ dCyy, M) - 2.0 * inner(M, dCxy)) - 2.0 * inner(dM, self._pull)
        return dpull, dleft

    def regressions(self) -> Regressions:
        n, sums = self._problem.n, self._sums
        return Regressions(
            n * sums.Cyy[None], n * sums.Cxy, n * self._problem.variances, self._counts
        )


def inner(A: Array, B: Array) -> Array:
    """Return the inner products a_j'b_j of the rows of A and B."""
    return np.einsum("jk,jk->j", A, B)


@dataclass(frozen=True)
class FactorLikelihood(BoundObjective):
    """Problem of the likelihood of a factor model; the first blocks of the point are M and t.

    - n: number of samples, or sum of weights
    - scale (d,): the solver's columns are the user's columns divided by `scale`
    """

    exchangeable = True

    noise: Noise = field(kw_only=True)
    r: int = field(kw_only=True)
    n: float = field(kw_only=True)
    scale: Array = field(kw_only=True)

    @cached_property
    def manifold(self) -> Product:  # type: ignore[override]
        """Product manifold of M and t."""
        return Product(Euclidean(self.noise.k, self.r), Euclidean(self.noise.size, 1))

    @cached_property
    def _points(self) -> Remembered[Any]:
        """The last two points, which the report of a result needs again."""
        return Remembered(2)

    @property
    def d(self) -> int:
        """Number of columns of the user's data."""
        return len(self.scale)

    def axes(self, M: Array, seen: Sequence[Variation | None]) -> Axes:
        """Return the eigenvectors of M'Psi^{-1}M, Psi = diag(psi) (Lawley and Maxwell)."""
        loadings, t = self.manifold.split(M)[:2]
        return Axes.principal(loadings.T @ (loadings / self.noise.variances(t)[:, None]))

    def numbers(self, M: Array, axes: Axes, seen: Sequence[Variation | None]) -> dict[str, Array]:
        """Return theta_k = (M'Psi^{-1}M)_kk, and sums of squared loadings in the user's units."""
        return {"theta": axes.numbers, "sum_of_squares": np.sum(self.lift(M)[0] ** 2, axis=0)}

    def model(self, M: Array) -> FactorModel:
        """Return the model in the user's units; the point caches it."""
        point: Any = self.at(M)
        if not hasattr(point, "model"):
            point.model = self._model(M, point.value)
        model: FactorModel = point.model
        return model

    def _model(self, M: Array, value: float) -> FactorModel:
        """Make the model; its free parameters count M up to a rotation."""
        psi = self.noise.variances(self.manifold.split(M)[1])
        with np.errstate(over="ignore"):  # variances overflow if the likelihood has no maximum
            variances = (psi[0] if self.noise.tied else psi) * self.scale * self.scale
        noises = 1 if self.noise.tied else self.d
        return FactorModel(
            mean=self.mean_at(M)[0],
            loadings=self.lift(M)[0],
            noise=variances,
            n=self.n,
            log_likelihood=-value,
            free_parameters=self.d + self.d * self.r - self.r * (self.r - 1) // 2 + noises,
        )

    def maps(self, M: Array) -> tuple[Array, ...]:
        return (self.model(M).P,)

    def parameters(self, M: Array) -> Fitted:
        noise = self.model(M).noise
        if self.noise.tied:
            return {"noise_variance": float(noise[0])}
        return {"noise_variances": noise}


@dataclass(frozen=True)
class Factors(FactorLikelihood):
    """The likelihood of complete rows over M in R^{k x r} and t (see `Noise`).

    The value refers to the user's d columns; d - k directions outside have no variance.

    - C: covariance in the solver's coordinates, an array or an operator for products C @ V
    - variances (k,): diagonal of C
    """

    C: Any
    variances: Array

    @cached_property
    def constant(self) -> float:
        return self.d * math.log(2 * math.pi) + 2.0 * float(np.log(self.scale).sum())

    @cached_property
    def root(self) -> Array | None:
        """Factor F of the covariance, F'F = C; None if only products with C are available."""
        return scaled_factor(self.C) if isinstance(self.C, np.ndarray) else None

    def at(self, M: Array) -> FactorPoint:
        return self._points.at(M, partial(FactorPoint, self))

    def numbers(self, M: Array, axes: Axes, seen: Sequence[Variation | None]) -> dict[str, Array]:
        """Return scores, and each factor's gain of likelihood n/2 (theta_k - log(1 + theta_k))."""
        found = super().numbers(M, axes, seen)
        theta = found["theta"]
        return {**found, "likelihood_part": 0.5 * self.n * (theta - np.log1p(theta))}

    @abstractmethod
    def of_covariance(self, C: Array) -> Factors:
        """Build the likelihood from the covariance of all columns and the number of rows.

        - raises SingularError: The likelihood is unbounded.
        """

    @abstractmethod
    def improved(self, M: Array) -> Array:
        """Return the maximiser or, without a closed form, a point of larger likelihood than M."""

    def random_point(self, rng: np.random.Generator) -> Array:
        """Draw random loadings scaled so that tr(S) is near tr(C)."""
        scale = np.sqrt(self.variances.sum() / self.d / self.r)
        return self.point([scale * rng.standard_normal((self.noise.k, self.r))])

    def point(self, blocks: Sequence[Array]) -> Array:
        if len(blocks) == 1:  # the user gave loadings, but no noise variances
            left, all_of_it = (
                self.noise.gather(v)
                for v in (self.variances - inner(blocks[0], blocks[0]), self.variances)
            )
            psi = np.maximum(left, 0.01 * all_of_it) / (self.d if self.noise.tied else 1)
            blocks = [blocks[0], self.noise.coordinate(psi)]
        return self.manifold.join(blocks)

    def remarks(self, M: Array) -> list[str]:
        return self.remarks_on(self.model(M))

    def remarks_on(self, model: FactorModel) -> list[str]:
        """Return messages on a model fitted to complete or incomplete rows."""
        return []


def check_rank(r: int, rank: int) -> None:
    """Refuse a number of factors that explains the covariance without noise."""
    if r >= rank:
        raise SingularError(
            f"the likelihood is unbounded: r = {r} factors fit the covariance, of rank {rank}, "
            f"without noise; expected r < {rank}"
        )


class IncompletePoint(LikelihoodPoint):
    """The negative log-likelihood of the observed entries at the point (M, t, mean).

    With posterior means y_i, covariances V_i and residuals R_i of the rows, the sums of the
    gradient are pull_j = sum_i R_ij (y_i, 1) - (V_i M_j, 0) and left_j = sum_i R_ij^2 + M_j'V_iM_j.
    A Hessian product costs O(n d r), plus O(p d r^2) for p patterns of missing entries.
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
        # The derivative of the residuals is -AB', where A and B are the following two matrices.
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
        """Sum over the rows of E[(1, x)(1, x)' | observed entries]."""
        return self._posterior.expected(self._mean[:, 0])


@dataclass(frozen=True)
class ObservedTerm(TermOfPoints):
    """Negative log-likelihood of the observed entries of a chunk of rows."""

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
        """Return the observed entries of a chunk of rows, in the solver's coordinates."""
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
    """Likelihood by sums over chunks; each step of EM is a pass over the rows."""

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

    - filled: the problem of the rows after imputation of column means; its baseline is a start
    - samples: samples, read at every evaluation unless in memory
    - in_memory: the rows, compressed within each pattern, if in memory
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
        """Return the EM iterate whose only hidden variables are the missing entries."""
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
        few = self.samples.n_known and self.samples.n < self.d
        return None if few else Imputation()

    def baseline(self) -> Array:
        """Return the baseline of the problem with column means in place of missing entries."""
        M = self.filled.baseline()
        assert M is not None
        return self._of_filled(M)

    def starts(self) -> dict[str, Array]:
        return {name: self._of_filled(M) for name, M in self.filled.starts().items()}

    def random_point(self, rng: np.random.Generator) -> Array:
        return self._of_filled(self.filled.random_point(rng))

    def point(self, blocks: Sequence[Array]) -> Array:
        if len(blocks) == 1:  # the user gave loadings, but no noise variances
            (inner,), (outer,) = self.filled.views, self.views
            loadings = inner.coordinates.lower(outer.coordinates.lift(blocks[0]))
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
        """Return covariances under the model, because those of the rows are unknown.

        For complete rows the model's covariance S and the rows' C give the same result at an
        optimum, where CP' = SP' and tr C = tr S. For incomplete rows C is unknown, and S is used.
        """
        model = self.model(M)
        return [model.variation(P) for P in maps or self.maps(M)]

    def remarks(self, M: Array) -> list[str]:
        return self.filled.remarks_on(self.model(M))


def has_missing(samples: Samples) -> bool:
    """Return True if missing entries are detected before sums over the rows are formed.

    For rows that are read in chunks, sums are NaN if entries are missing.
    """
    if samples.stored and samples.n_known and not samples.in_pieces:  # n < d: check the few rows
        return samples.reduce(attrgetter("has_nan"), or_)
    return samples.has_nan


def incomplete(
    objective: Stated, samples: Samples, r: int, *, tied: bool, floor: float = 0.0
) -> IncompleteFactors:
    """Build the problem of samples with missing entries.

    - raises DataError: A row or a column has no observed entry, or X is sparse.
    - raises SingularError: The likelihood is unbounded, or noise and factors cannot be separated.
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
    note = f"{missing} of {n * samples.d} entries are missing and do not enter the likelihood"
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
    """Counts and sums of the observed entries of some rows.

    - rows, weight: number of rows, and sum of weights
    - entries, counts, sums (d,): number of entries, sum of weights and weighted sum of each column
    - empty, first: number of rows without entries, and index of the first one
    - most: largest number of observed entries in a row
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
                    f"{name} has {count} {what}(s) with only missing entries (NaN), the first is "
                    f"{what} {first}; drop each such {what}"
                )
        if r >= self.most:
            raise SingularError(
                f"no row has more than {self.most} observed entries, so that r = {r} factors fit "
                f"every row without noise; expected r < {self.most}"
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
    """Samples whose missing entries are replaced by given values when rows are read."""

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
