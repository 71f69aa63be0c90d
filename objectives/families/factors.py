"""Gaussian factor models: the likelihood of S = MM' + diag(psi) over M and log psi."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
import scipy
from scipy.linalg.lapack import dormqr

from ldr.objectives.coordinates import Axes
from ldr.objectives.factor_model import FactorModel
from ldr.objectives.problem import BoundObjective, Fitted
from ldr.objectives.statistics.covariance import DenseCovariance, Variation
from ldr.solvers.errors import SingularError
from ldr.solvers.linalg.eigen import scaled_factor
from ldr.solvers.manifolds import Array, Euclidean, Product
from ldr.solvers.problem import Point

# Traces that are a difference and below this share of its terms are sums of squares instead.
_CANCELLED = 1e-3


@dataclass(frozen=True)
class Noise:
    """Noise variances psi_j = floor + exp(t): one t for all columns (tied) or one for each.

    - k: columns of the solver
    - floor: lower bound of psi. With it, psi = floor is t = -infinity and t needs no constraint.
    """

    k: int
    tied: bool
    floor: float = 0.0

    @property
    def size(self) -> int:
        """How many t there are."""
        return 1 if self.tied else self.k

    def slope(self, t: Array) -> Array:
        """exp(t) = d psi/dt = d^2 psi/dt^2 of each column, shape (k,)."""
        with np.errstate(over="ignore"):
            return np.broadcast_to(np.exp(t[:, 0]), self.k)

    def variances(self, t: Array) -> Array:
        """psi, shape (k,)."""
        return self.floor + self.slope(t)

    def gather(self, columns: Array) -> Array:
        """Numbers of the columns, (k,), added up for each t, (size, 1)."""
        return np.array([[columns.sum()]]) if self.tied else columns[:, None]

    def coordinate(self, psi: Array) -> Array:
        """The t, (size, 1), of psi, (size, 1); for psi at the floor or below it a t far down."""
        least = 1e-9 * self.floor or np.finfo(float).tiny
        return np.log(np.maximum(psi - self.floor, least))


class FactorPoint(Point):
    """The negative log-likelihood at (M, t), by Woodbury: nothing larger than r x r is inverted.

    K = I + M'B with B = psi^{-1}M, E = K^{-1}, G = S^{-1}M = BE, Phi = B'CB. Then log|S| =
    log|psi| + log|K| and tr(S^{-1}C) = sum_j C_jj/psi_j - tr(E Phi), or where that cancels a sum
    of squares. Both are taken in the axes of K, the right singular vectors of psi^{-1/2}M: in
    others digits go by the condition of K. The gradient in M is
    n (G - U), U = S^{-1}CG = psi^{-1}CBE - G Phi E; in psi_j it is n/2 times
    h_j = (S^{-1} - S^{-1}CS^{-1})_jj, the diagonal of
    psi^{-1} - GB' - psi^{-1}C psi^{-1} + 2 psi^{-1}CBG' - G Phi G'. One product CB, in O(d^2 r).
    """

    def __init__(self, problem: Factors, M: Array) -> None:
        self.M = M
        self._problem = problem
        self._loadings, self._t = problem.manifold.split(M)
        self._slope = problem.noise.slope(self._t)
        self._psi = problem.noise.floor + self._slope

    @cached_property
    def _B(self) -> Array:
        return self._loadings / self._psi[:, None]

    @cached_property
    def _axes(self) -> tuple[Array, Array]:
        """k - 1 and V with K = V diag(k) V'."""
        scaled = self._loadings / np.sqrt(self._psi)[:, None]
        _, s, Vt = np.linalg.svd(scaled, full_matrices=False)
        return s * s, Vt.T

    @cached_property
    def _E(self) -> Array:
        theta, V = self._axes
        return np.asarray((V / (1.0 + theta)) @ V.T)

    @cached_property
    def _CB(self) -> Array:
        return np.asarray(self._problem.C @ self._B)

    @cached_property
    def _Phi(self) -> Array:
        return self._B.T @ self._CB

    @cached_property
    def _G(self) -> Array:
        return self._B @ self._E

    @cached_property
    def value(self) -> float:
        problem = self._problem
        if not (np.isfinite(self._psi).all() and self._psi.min() > np.finfo(float).tiny):
            return math.inf
        logs = float(np.log(self._psi).sum()) + problem.further * float(self._t[0, 0])
        theta, V = self._axes
        logdet = logs + float(np.log1p(theta).sum())
        alone = float((problem.variances / self._psi).sum())
        fit = alone - float((inner((self._B @ V).T, (self._CB @ V).T) / (1.0 + theta)).sum())
        if fit <= _CANCELLED * alone and problem.root is not None:
            fit = self._squares(problem.root)
        return 0.5 * problem.n * float(problem.constant + logdet + fit)

    def _squares(self, root: Array) -> float:
        """tr(S^{-1}C), the sum of squares ||(I + TT')^{-1/2} Z'||^2.

        T is M, and Z the rows F with F'F = C, in units of the noise. By reflections that turn T to
        [R; 0], its columns pivoted and its large rows first: so rows of very different size keep
        their own digits (Cox and Higham 1998).
        """
        unit = np.sqrt(self._psi)
        T = self._loadings / unit[:, None]
        order = np.argsort(-np.abs(T).max(axis=1), kind="stable")
        (reflections, tau), R, _ = scipy.linalg.qr(T[order], mode="raw", pivoting=True)
        Z, _, _ = dormqr("L", "T", reflections, tau, (root / unit).T[order], 64 * len(root))
        k = len(tau)
        y = scipy.linalg.solve_triangular(
            scipy.linalg.cholesky(np.eye(k) + R[:k] @ R[:k].T, lower=True), Z[:k], lower=True
        )
        return float(np.vdot(Z[k:], Z[k:])) + float(np.vdot(y, y))

    @property
    def _U(self) -> Array:
        return (self._CB @ self._E) / self._psi[:, None] - self._G @ (self._Phi @ self._E)

    @cached_property
    def _h(self) -> Array:
        psi, G = self._psi, self._G
        fit = self._problem.variances / psi - 2.0 * inner(self._CB, G)
        return (1.0 - fit) / psi - inner(G, self._B) - inner(G @ self._Phi, G)

    @cached_property
    def gradient(self) -> Array:
        problem = self._problem
        in_t = 0.5 * (problem.noise.gather(self._slope * self._h) + problem.further)
        return problem.n * problem.manifold.join([self._G - self._U, in_t])

    def hessian_vector(self, V: Array) -> Array:
        """The derivative of the gradient, term by term; dK = dM'B + M'dB, dE = -E dK E."""
        problem, psi, noise = self._problem, self._psi, self._problem.noise
        B, E, G, CB, Phi = self._B, self._E, self._G, self._CB, self._Phi
        dM, dt = problem.manifold.split(V)
        dslope = self._slope * dt[:, 0]
        relative = dslope / psi
        dB = dM / psi[:, None] - B * relative[:, None]
        dE = -E @ (dM.T @ B + self._loadings.T @ dB) @ E
        dG = dB @ E + B @ dE
        dCB = np.asarray(problem.C @ dB)
        cross = dB.T @ CB
        dPhi = cross + cross.T
        dU = (dCB @ E + CB @ dE - relative[:, None] * (CB @ E)) / psi[:, None]
        dU -= dG @ (Phi @ E) + G @ (dPhi @ E + Phi @ dE)
        fit = problem.variances / psi - inner(CB, G)
        dh = (
            (relative * (2.0 * fit - 1.0) + 2.0 * (inner(dCB, G) + inner(CB, dG))) / psi
            - inner(dG, B)
            - inner(G, dB)
        )
        dh -= 2.0 * inner(dG @ Phi, G) + inner(G @ dPhi, G)
        in_t = 0.5 * noise.gather(self._slope * dh + dslope * self._h)
        return problem.n * problem.manifold.join([dG - dU, in_t])

    def improved(self) -> Array:
        """One step of EM. E: y = Px has the moments Cxy = CP', Cyy = E + PCP'. M: regress x on y.

        M = Cxy Cyy^{-1}, and psi the diagonal of C - M Cxy', or its mean where tied.
        """
        problem, noise = self._problem, self._problem.noise
        Cxy = self._CB @ self._E
        Cyy = self._E + self._E @ self._Phi @ self._E
        M = np.asarray(np.linalg.solve(Cyy, Cxy.T).T, dtype=np.float64)
        left = noise.gather(problem.variances - inner(M, Cxy))
        psi = left / problem.d if noise.tied else left
        return problem.manifold.join([M, noise.coordinate(psi)])


def inner(A: Array, B: Array) -> Array:
    """a_j'b_j of each row."""
    return np.einsum("jk,jk->j", A, B)


class HasProducts(Protocol):
    """A symmetric matrix, as an array or by its products."""

    def __matmul__(self, V: Array, /) -> Array: ...


@dataclass(frozen=True)
class FactorLikelihood(BoundObjective):
    """The likelihood of a factor model; its variable starts with M and t.

    - n: samples, or the sum of their weights
    - scale (d,): the solver's columns are the user's divided by it
    """

    exchangeable = True

    noise: Noise = field(kw_only=True)
    r: int = field(kw_only=True)
    n: float = field(kw_only=True)
    scale: Array = field(kw_only=True)

    @cached_property
    def manifold(self) -> Product:  # type: ignore[override]
        """Of M and t."""
        return Product(Euclidean(self.noise.k, self.r), Euclidean(self.noise.size, 1))

    @property
    def d(self) -> int:
        """Columns of the user's data."""
        return len(self.scale)

    def axes(self, M: Array, seen: Sequence[Variation | None]) -> Axes:
        """In which M'Psi^{-1}M is diagonal, largest first (Lawley and Maxwell)."""
        loadings, t = self.manifold.split(M)[:2]
        return Axes.principal(loadings.T @ (loadings / self.noise.variances(t)[:, None]))

    def numbers(self, M: Array, axes: Axes, seen: Sequence[Variation | None]) -> dict[str, Array]:
        """theta_k = (M'Psi^{-1}M)_kk, and the loadings' sum of squares in the user's units."""
        return {"theta": axes.numbers, "sum_of_squares": np.sum(self.lift(M)[0] ** 2, axis=0)}

    @cached_property
    def _told(self) -> dict[bytes, FactorModel]:
        """The last model, by its point: a result is told of in five places."""
        return {}

    def model(self, M: Array) -> FactorModel:
        """In the user's units. Of the free parameters, M's are known up to a rotation."""
        point = M.tobytes()
        model = self._told.get(point) or self._model(M)
        self._told.clear()
        self._told[point] = model
        return model

    def _model(self, M: Array) -> FactorModel:
        psi = self.noise.variances(self.manifold.split(M)[1])
        with np.errstate(over="ignore"):  # of a likelihood without a bound
            variances = (psi[0] if self.noise.tied else psi) * self.scale * self.scale
        noises = 1 if self.noise.tied else self.d
        return FactorModel(
            mean=self.mean_at(M)[0],
            loadings=self.lift(M)[0],
            noise=variances,
            n=self.n,
            log_likelihood=-self.at(M).value,
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
    """The likelihood of complete rows over R^{k x r} and t, the logarithm of the noise.

    Of the user's columns, d - k further directions have no variance.

    - C: covariance in the coordinates of the solver, as an array or by its products C @ V
    - variances (k,): its diagonal
    """

    C: HasProducts
    variances: Array

    @property
    def further(self) -> int:
        """Directions without variance."""
        return self.d - self.noise.k

    @cached_property
    def constant(self) -> float:
        return self.d * math.log(2 * math.pi) + 2.0 * float(np.log(self.scale).sum())

    @cached_property
    def root(self) -> Array | None:
        """F with F'F = C; None of a C known by its products."""
        return scaled_factor(self.C) if isinstance(self.C, np.ndarray) else None

    def at(self, M: Array) -> FactorPoint:
        return FactorPoint(self, M)

    def numbers(self, M: Array, axes: Axes, seen: Sequence[Variation | None]) -> dict[str, Array]:
        """Also n/2 (theta_k - log(1 + theta_k)), by which the factor raises the log-likelihood."""
        found = super().numbers(M, axes, seen)
        theta = found["theta"]
        return {**found, "likelihood_part": 0.5 * self.n * (theta - np.log1p(theta))}

    @property
    def is_dense(self) -> bool:
        """Whether C is an array of all columns."""
        return isinstance(self.C, (np.ndarray, DenseCovariance)) and self.further == 0

    @abstractmethod
    def of_covariance(self, C: Array) -> Factors:
        """The likelihood of a covariance of all columns, of as many rows.

        - raises SingularError: It has no bound.
        """

    @abstractmethod
    def improved(self, M: Array) -> Array:
        """A point of far larger likelihood than M, or the best."""

    def random_point(self, rng: np.random.Generator) -> Array:
        """Loadings of the data's scale, so that S starts near C in size."""
        scale = np.sqrt(self.variances.sum() / self.d / self.r)
        return self.point([scale * rng.standard_normal((self.noise.k, self.r))])

    def point(self, blocks: Sequence[Array]) -> Array:
        if len(blocks) == 1:  # loadings of the user's: the noise that goes with them
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
        """What the user should know of a model, fitted here or to incomplete rows."""
        return []


def check_rank(r: int, rank: int) -> None:
    """Refuse as many factors as explain the covariance without noise."""
    if r >= rank:
        raise SingularError(
            f"the likelihood is unbounded: r = {r} factors explain the covariance, of "
            f"rank {rank}, without noise; expected r < {rank}"
        )
