"""How sums over white rows change, by products with the rows, and what a cotangent pulls back.

f = phi(Y) + g(M), Y = ZM, Z = XL with L'CL = I. With E = L'dC L, L moves by -LE/2, so that
dZ = dX L - ZE/2 and the gradient Z'phi'(Y) by dZ'phi'(Y) + Z'phi''(Y)[dZ M].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ldr.objectives.data.data import Data
from ldr.objectives.families.projected import OfWhiteRows, WhitePoint, WhiteProjected
from ldr.objectives.objective import Objective
from ldr.sensitivity.forms import Blocks, centred
from ldr.sensitivity.known import Known
from ldr.sensitivity.optimum import Observed, Optimum, Rate
from ldr.solvers.manifolds import Array
from ldr.solvers.manifolds.orthonormal import sym


@dataclass(frozen=True)
class WhiteRows(Known):
    """An optimum of white rows.

    Attributes
    ----------
    Z : ndarray (n, k)
    L : ndarray (d, k)
    point : WhitePoint
        At the optimum.
    """

    Z: Array
    L: Array
    point: WhitePoint

    @classmethod
    def of(cls, optimum: Optimum, objective: Objective, data: Data) -> WhiteRows | None:
        problem, samples = optimum.problem, data.samples
        if not isinstance(problem, OfWhiteRows):
            return None
        if getattr(objective, "ridge", 0.0) != 0:
            return None  # they are not quite white
        (coordinates,), unit = problem.coordinates, np.eye(len(optimum.M))
        L = coordinates.map(unit, coordinates.lift(unit)).T
        Z = problem.X if isinstance(problem, WhiteProjected) else centred(samples.dense()) @ L
        return cls(optimum, Z, L, problem.of_rows(Z, optimum.M))

    def rate(self, dX: Blocks) -> Rate:
        Z, L, M, slope = self.Z, self.L, self.optimum.M, self.point.slope
        mean = dX[0].mean(axis=0)
        moved = dX[0] - mean

        def E(V: Array) -> Array:
            return np.asarray(L.T @ (moved.T @ (Z @ V)) + Z.T @ (moved @ (L @ V))) / len(Z)

        EM = E(M)
        dY = moved @ (L @ M) - 0.5 * Z @ EM
        gradient = L.T @ (moved.T @ slope) - 0.5 * E(Z.T @ slope) + Z.T @ self.point.curvature(dY)
        problem = self.optimum.problem
        return Rate(
            problem.manifold.project(M, gradient),
            Observed(
                (-0.5 * (L @ EM).T,),
                (),
                (mean,),
                problem.objective.sign * problem.unit * float(np.vdot(slope, dY)),
                np.zeros((0, 0)),
            ),
        )

    def pulled(self, V: Sequence[Array]) -> list[Array]:
        Z, L, M, slope = self.Z, self.L, self.optimum.M, self.point.slope
        lowered = L.T @ V[0]
        u = self.optimum.solve(self.optimum.problem.manifold.project(M, lowered))
        bent = self.point.curvature(Z @ u)
        inside = sym(Z.T @ slope @ u.T) + sym((Z.T @ bent - lowered) @ M.T)
        found = -slope @ (L @ u).T - bent @ (L @ M).T + Z @ inside @ L.T / len(Z)
        return [np.asarray(found - found.mean(axis=0))]
