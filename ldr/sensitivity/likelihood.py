"""How a factor model moves with its rows: it is of S = MM' + Psi and of C = Z'Z/n alone.

Of C the negative log-likelihood has n/2 tr(S^{-1}C). With A = ZS^{-1} its gradient in M and psi has
-A'ZG, G = S^{-1}M, and -1/2 the diagonal of A'A. The map is P = EB', B = Psi^{-1}M and
E = (I + M'B)^{-1}; axes diagonalise M'B.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldr.objectives.data.data import Data
from ldr.objectives.families.factors import Factors, inner
from ldr.objectives.objective import Objective
from ldr.sensitivity.forms import Blocks, centred
from ldr.sensitivity.known import Known
from ldr.sensitivity.optimum import Observed, Optimum, Rate
from ldr.solvers.manifolds import Array
from ldr.solvers.manifolds.orthonormal import sym


@dataclass(frozen=True)
class LikelihoodRows(Known):
    """An optimum of a factor model of complete rows.

    Attributes
    ----------
    scale : ndarray (d,)
        Columns of Z are those of X less their mean, divided by it.
    Z : ndarray (n, d)
    """

    problem: Factors
    scale: Array
    Z: Array

    @classmethod
    def of(cls, optimum: Optimum, objective: Objective, data: Data) -> LikelihoodRows | None:
        problem, rows = optimum.problem, data.samples
        if not isinstance(problem, Factors) or not isinstance(rows.array, np.ndarray):
            return None
        return cls(optimum, problem, problem.scale, centred(rows.dense()) / problem.scale)

    @cached_property
    def _model(self) -> tuple[Array, Array, Array, Array]:
        """M, psi, d psi/dt, B."""
        M, t = self.problem.manifold.split(self.optimum.M)
        noise = self.problem.noise
        psi = noise.variances(t)
        return M, psi, noise.slope(t), M / psi[:, None]

    @cached_property
    def _E(self) -> Array:
        M, _, _, B = self._model
        return np.asarray(np.linalg.inv(np.eye(M.shape[1]) + M.T @ B), dtype=np.float64)

    def _over_S(self, Z: Array) -> Array:
        """ZS^{-1}, S^{-1} = Psi^{-1} - BEB'."""
        _, psi, _, B = self._model
        return np.asarray(Z / psi - (Z @ B) @ self._E @ B.T)

    @cached_property
    def _A(self) -> Array:
        return self._over_S(self.Z)

    def rate(self, dX: Blocks) -> Rate:
        problem, A, G = self.problem, self._A, self._model[3] @ self._E
        mean = dX[0].mean(axis=0)
        dZ = (dX[0] - mean) / self.scale
        dA = self._over_S(dZ)
        in_t = problem.noise.gather(self._model[2] * np.einsum("ij,ij->j", A, dA))
        gradient = problem.manifold.join([-(dA.T @ (self.Z @ G) + A.T @ (dZ @ G)), -in_t])
        still = np.zeros_like(G)
        value = problem.objective.sign * problem.unit * float(np.vdot(A, dZ))
        r = G.shape[1]
        return Rate(gradient, Observed((still.T,), (still,), (mean,), value, np.zeros((r, r))))

    def pulled(self, V: Sequence[Array]) -> list[Array]:
        (M, psi, slope, B), E, problem = self._model, self._E, self.problem
        lowered = V[0] / self.scale[:, None]
        W = sym(self.optimum.turn(E @ (B.T @ lowered)))
        H = E @ (lowered.T @ B) @ E
        first, twice = lowered @ E / psi[:, None], W - sym(H)
        in_psi = inner(B @ twice, B) + inner(first, B)
        v = [first + 2.0 * B @ twice, problem.noise.gather(-slope * in_psi)]
        u, t = problem.manifold.split(self.optimum.solve(problem.manifold.join(v)))
        A = self._A
        through = (A @ u) @ M.T + (A @ M) @ u.T + A * (slope * np.broadcast_to(t[:, 0], psi.shape))
        found = self._over_S(through) / self.scale
        return [found - found.mean(axis=0)]
