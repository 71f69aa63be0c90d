"""Probabilistic principal component analysis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy

from ldr.objectives.certificate import Certificate
from ldr.objectives.coordinates import Scaling
from ldr.objectives.objective import BoundObjective, Compact, Data, Objective, check_dimension
from ldr.objectives.statistics import moments
from ldr.solvers.errors import SingularError
from ldr.solvers.manifolds import Array, Euclidean, Product
from ldr.solvers.problem import Point


@dataclass(frozen=True)
class PPCA(Objective):
    """Fit x = My + noise by maximum likelihood: y ~ N(0, I), noise ~ N(0, s2 I), M any d x r.

    min n/2 [d log 2 pi + log|S| + tr(S^{-1}C)] with S = MM' + s2 I, over M and log s2. Closed form
    M = U_r (L_r - s2 I)^{1/2}, s2 the mean of the d - r discarded eigenvalues of C, up to a
    rotation M -> MQ. P = (M'M + s2 I)^{-1} M' gives the posterior mean of y.

    Source: Tipping and Bishop 1999; Cunningham and Ghahramani 2015, section 3.1.1.
    """

    name = "ppca"
    formula = "min n/2 [d log 2pi + log|S| + tr(S^{-1}C)], S = MM' + s2 I"
    source = "Tipping & Bishop 1999; Cunningham & Ghahramani 2015, 3.1.1"
    sense = "min"
    baseline = "closed form from the eigenvectors of C (exact)"
    domain = "R"
    exact = "yes"

    def bind(self, data: Data, r: int) -> GaussianFactors:
        samples = data.samples
        compact = Compact.of(samples)
        stats = moments(compact.rows)
        C = stats.covariance
        scaling = Scaling.of(math.sqrt(float(C.trace()) / samples.d), compact.coordinates)
        return GaussianFactors(
            self,
            (compact.mean(stats.mean),),
            C / scaling.unit / scaling.unit,
            r,
            n=samples.n,
            d=samples.d,
            length_unit=scaling.unit,
            coordinates=(scaling,),
        )


class FactorPoint(Point):
    """The negative log-likelihood at (M, log s2), by Woodbury: nothing larger than C is inverted.

    K = M'M + s2 I, E = K^{-1}, Phi = M'CM. With S^{-1}M = ME and log|S| = (d - r) log s2 + log|K|:
    gradient in M is n (ME - FE/s2) with F = CM - ME Phi; in log s2 it is
    n/2 [(d - r) + s2 tr E - (tr C - tr(E Phi))/s2 + tr(E^2 Phi)].
    """

    def __init__(self, problem: GaussianFactors, M: Array) -> None:
        self.M = M
        self._problem = problem
        loadings, log_noise = problem.manifold.split(M)
        self._loadings = loadings
        self._s2 = math.exp(float(log_noise[0, 0])) if abs(log_noise[0, 0]) < 700 else math.inf
        self._K = loadings.T @ loadings + self._s2 * np.eye(problem.r)
        self._CM = problem.C @ loadings
        self._Phi = loadings.T @ self._CM

    @cached_property
    def _E(self) -> Array:
        return np.asarray(np.linalg.inv(self._K), dtype=np.float64)

    @cached_property
    def _unexplained(self) -> float:
        """tr C - tr(E Phi)."""
        return self._problem.trace - float(np.vdot(self._E, self._Phi))

    @cached_property
    def value(self) -> float:
        problem = self._problem
        if not math.isfinite(self._s2):
            return math.inf
        logdet = (problem.d - problem.r) * math.log(self._s2) + np.linalg.slogdet(self._K)[1]
        constant = problem.d * (math.log(2 * math.pi) + 2 * math.log(problem.length_unit))
        return 0.5 * problem.n * float(constant + logdet + self._unexplained / self._s2)

    @cached_property
    def _F(self) -> Array:
        return self._CM - self._loadings @ (self._E @ self._Phi)

    @cached_property
    def gradient(self) -> Array:
        problem, E, s2 = self._problem, self._E, self._s2
        in_loadings = (self._loadings - self._F / s2) @ E
        in_log_noise = 0.5 * (
            (problem.d - problem.r)
            + s2 * E.trace()
            - self._unexplained / s2
            + float(np.vdot(E @ E, self._Phi))
        )
        return problem.n * problem.manifold.join([in_loadings, np.array([[in_log_noise]])])

    def hessian_vector(self, V: Array) -> Array:
        """The derivative of the gradient, term by term; dK = V'M + M'V + ds2 I, dE = -E dK E."""
        problem, M, E, Phi, s2 = self._problem, self._loadings, self._E, self._Phi, self._s2
        dM, dlog = problem.manifold.split(V)
        ds2 = s2 * float(dlog[0, 0])
        CV = problem.C @ dM
        cross = dM.T @ M
        dE = -E @ (cross + cross.T + ds2 * np.eye(problem.r)) @ E
        MCV = M.T @ CV
        dPhi = MCV + MCV.T
        dF = CV - dM @ (E @ Phi) - M @ (dE @ Phi + E @ dPhi)
        in_loadings = (dM - dF / s2 + (ds2 / s2**2) * self._F) @ E + (M - self._F / s2) @ dE
        explained = float(np.vdot(dE, Phi) + np.vdot(E, dPhi))
        dEE = dE @ E
        in_log_noise = 0.5 * (
            ds2 * E.trace()
            + s2 * dE.trace()
            + (ds2 / s2**2) * self._unexplained
            + explained / s2
            + float(np.vdot(dEE + dEE.T, Phi) + np.vdot(E @ E, dPhi))
        )
        return problem.n * problem.manifold.join([in_loadings, np.array([[in_log_noise]])])


@dataclass
class GaussianFactors(BoundObjective):
    """The likelihood of ppca over R^{k x r} and log s2, with d - k further zero eigenvalues of C.

    Parameters
    ----------
    C : symmetric k x k
        Covariance, in the coordinates of the solver.
    r : int
    n, d : int
        Samples, and columns of the user's data.
    length_unit : float
        The solver's columns are the user's divided by it.
    """

    manifold: Product = field(init=False)
    C: Array
    r: int
    n: int = 0
    d: int = 0
    length_unit: float = 1.0

    def __post_init__(self) -> None:
        k = len(self.C)
        check_dimension(self.r, k)
        self.manifold = Product(Euclidean(k, self.r), Euclidean(1, 1))
        self.baseline_exact = True
        self.trace = float(self.C.trace())
        self._eigenvalues, self._eigenvectors = scipy.linalg.eigh(self.C, check_finite=False)
        rank = int(np.sum(self._eigenvalues > k * np.finfo(float).eps * self._eigenvalues[-1]))
        if self.r >= min(rank, self.d):
            raise SingularError(
                f"the likelihood is unbounded: r = {self.r} factors explain the covariance, of "
                f"rank {rank}, without noise; expected r < {min(rank, self.d)}"
            )

    def _noise_variance(self) -> float:
        """Mean of the d - r discarded eigenvalues, the d - k zeros included."""
        discarded = self._eigenvalues[: len(self.C) - self.r]
        return float(np.sum(discarded)) / max(self.d - self.r, 1)

    @property
    def order(self) -> int:
        return len(self.C)

    def at(self, M: Array) -> FactorPoint:
        return FactorPoint(self, M)

    def closed_form(self) -> Array:
        noise = self._noise_variance()
        L = self._eigenvalues[::-1][: self.r]
        U = self._eigenvectors[:, ::-1][:, : self.r]
        M = U * np.sqrt(np.maximum(L - noise, 0.0))
        return self.point([M, np.array([[math.log(noise)]])])

    def baseline(self) -> Array:
        return self.closed_form()

    def random_point(self, rng: np.random.Generator) -> Array:
        """Loadings of the data's scale, so that S starts near C in size."""
        scale = math.sqrt(self.trace / self.d / self.r)
        return self.point([scale * rng.standard_normal((len(self.C), self.r))])

    def point(self, blocks: Sequence[Array]) -> Array:
        if len(blocks) == 1:  # loadings of the user's: the noise that goes with them
            explained = float(np.vdot(blocks[0], blocks[0]))
            noise = max(self.trace - explained, 0.01 * self.trace) / self.d
            blocks = [blocks[0], np.array([[math.log(noise)]])]
        return self.manifold.join(blocks)

    def maps(self, M: Array) -> tuple[Array, ...]:
        loadings, log_noise = self.manifold.split(M)
        K = loadings.T @ loadings + math.exp(float(log_noise[0, 0])) * np.eye(self.r)
        lifted = self.coordinates[0].lift(loadings / self.length_unit) / self.length_unit
        P = np.linalg.solve(K, lifted.T)
        return (np.asarray(P, dtype=np.float64),)

    def parameters(self, M: Array) -> dict[str, float]:
        noise = math.exp(float(self.manifold.split(M)[1][0, 0]))
        return {"noise_variance": noise * self.length_unit * self.length_unit}

    def certificate(self, M: Array) -> Certificate:
        """The closed form is the global maximum of the likelihood."""
        gap = max(0.0, self.at(M).value - self.at(self.closed_form()).value)
        if gap <= 1e-10 * max(abs(self.at(M).value), self.n):
            return Certificate("global", gap, "the likelihood is that of the closed form")
        return Certificate("bound", gap, "the closed form's likelihood bounds the value")
