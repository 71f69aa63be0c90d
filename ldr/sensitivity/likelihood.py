"""How a factor model moves with its rows: it is of S = MM' + Psi, and of what was observed.

With S_oo^{-1} of what is there, a_i = S_oo^{-1}(z_i - mean) = R_i/psi and y_i = M'a_i, the gradient
of the negative log-likelihood has -sum a_i y_i' in M, -1/2 sum a_i^2 in psi and -sum a_i in the
mean; of complete rows that is theirs. The map is P = EB', B = Psi^{-1}M and E = (I + M'B)^{-1};
axes diagonalise M'B.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from ldr.objectives.data.data import Data
from ldr.objectives.families.factors import FactorLikelihood, inner
from ldr.objectives.families.observed import Observed as ObservedRows
from ldr.objectives.families.observed import Posterior
from ldr.objectives.objective import Objective
from ldr.sensitivity.forms import Blocks, centred
from ldr.sensitivity.known import Known
from ldr.sensitivity.optimum import Observed, Optimum, Rate
from ldr.solvers.manifolds import Array
from ldr.solvers.manifolds.orthonormal import sym
from ldr.solvers.records import dataclass


@dataclass(frozen=True)
class LikelihoodRows(Known):
    """An optimum of a factor model.

    Attributes
    ----------
    posterior : Posterior
        Of the rows in the coordinates of the solver.
    slope : ndarray (d,)
        d psi/dt.
    gaps : bool
        Whether entries are missing: then the mean is one of the model's parameters.
    """

    problem: FactorLikelihood
    posterior: Posterior
    slope: Array
    gaps: bool

    @classmethod
    def of(cls, optimum: Optimum, objective: Objective, data: Data) -> LikelihoodRows | None:
        problem, rows = optimum.problem, data.samples
        if not isinstance(problem, FactorLikelihood) or not isinstance(rows.array, np.ndarray):
            return None
        M, t, *given = problem.manifold.split(optimum.M)
        mean = given[0][:, 0] if given else np.zeros(len(M))
        Z = (rows.dense() - problem.views[0].mean) / problem.scale
        psi, slope = problem.noise.variances(t), problem.noise.slope(t)
        posterior = Posterior(ObservedRows.of(Z), mean, M, psi)
        return cls(optimum, problem, posterior, slope, bool(given))

    @cached_property
    def _E(self) -> Array:
        M, B = self.posterior.M, self.posterior.B
        return np.asarray(np.linalg.inv(np.eye(M.shape[1]) + M.T @ B), dtype=np.float64)

    @property
    def _A(self) -> Array:
        return self.posterior.residual / self.posterior.psi

    def rate(self, dX: Blocks) -> Rate:
        problem, posterior, A = self.problem, self.posterior, self._A
        mean = np.zeros(len(A.T)) if self.gaps else dX[0].mean(axis=0)
        dZ = posterior.observed.mask * (dX[0] - mean) / problem.scale
        dy, dA = posterior.over_S(dZ)
        in_t = problem.noise.gather(self.slope * inner(A.T, dA.T))
        in_mean = [-dA.sum(axis=0)[:, None]] * self.gaps
        gradient = problem.manifold.join([-(dA.T @ posterior.y + A.T @ dy), -in_t, *in_mean])
        still = np.zeros_like(posterior.B)
        value = problem.objective.sign * problem.unit * float(np.vdot(A, dZ))
        within = np.zeros((still.shape[1],) * 2)
        return Rate(gradient, Observed((still.T,), (still,), (mean,), value, within))

    def pulled(self, V: Sequence[Array]) -> list[Array]:
        problem, posterior, E, A = self.problem, self.posterior, self._E, self._A
        M, B, psi = posterior.M, posterior.B, posterior.psi
        lowered = V[0] / problem.scale[:, None]
        W = sym(self.optimum.turn(E @ (B.T @ lowered)))
        H = E @ (lowered.T @ B) @ E
        first, twice = lowered @ E / psi[:, None], W - sym(H)
        in_psi = inner(B @ twice, B) + inner(first, B)
        v = [first + 2.0 * B @ twice, problem.noise.gather(-self.slope * in_psi)]
        v += [np.zeros((len(M), 1))] * self.gaps
        u, t, *m = problem.manifold.split(self.optimum.solve(problem.manifold.join(v)))
        through = (A @ u) @ M.T + posterior.y @ u.T + A * (self.slope * t[:, 0])
        if m:
            through = through + m[0][:, 0]
        found = posterior.over_S(posterior.observed.mask * through)[1] / problem.scale
        return [found if self.gaps else centred(found)]
