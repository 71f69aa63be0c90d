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
from ldr.sensitivity.forms import centred
from ldr.sensitivity.moving import Line
from ldr.sensitivity.optimum import Observed, Optimum, Rate
from ldr.solvers.manifolds import Array
from ldr.solvers.manifolds.orthonormal import sym


@dataclass(frozen=True)
class WhiteRows:
    """An optimum of white rows.

    Attributes
    ----------
    optimum : Optimum
    Z : ndarray (n, k)
    L : ndarray (d, k)
    point : WhitePoint
        At the optimum.
    """

    optimum: Optimum
    Z: Array
    L: Array
    point: WhitePoint

    @classmethod
    def of(cls, optimum: Optimum, data: Data) -> WhiteRows | None:
        """None of other problems, and of rows with weights."""
        problem, samples = optimum.problem, data.samples
        if not isinstance(problem, OfWhiteRows) or samples.marks is not None:
            return None
        if getattr(problem.objective, "ridge", 0.0) != 0:
            return None  # they are not quite white
        (coordinates,), unit = problem.coordinates, np.eye(len(optimum.M))
        if len(unit) != samples.d:
            return None  # the coordinates move with the rows
        L = coordinates.map(unit, coordinates.lift(unit)).T
        Z = problem.X if isinstance(problem, WhiteProjected) else centred(samples.dense()) @ L
        return cls(optimum, Z, L, problem.of_rows(Z, optimum.M))

    def rate(self, line: Line) -> Rate | None:
        """None where something else than the rows moves."""
        if line.y is not None or line.weights is not None or line.parameters:
            return None
        (dX,), Z, L, M, n = line.views, self.Z, self.L, self.optimum.M, len(self.Z)
        assert dX is not None
        mean, slope = dX.mean(axis=0), self.point.slope
        dX = dX - mean

        def E(V: Array) -> Array:
            return np.asarray(L.T @ (dX.T @ (Z @ V)) + Z.T @ (dX @ (L @ V))) / n

        EM = E(M)
        dY = dX @ (L @ M) - 0.5 * Z @ EM
        gradient = L.T @ (dX.T @ slope) - 0.5 * E(Z.T @ slope) + Z.T @ self.point.curvature(dY)
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

    def pulled(self, cotangents: Sequence[Array]) -> list[Array]:
        """The derivative in X of <V', the map>."""
        Z, L, M, slope = self.Z, self.L, self.optimum.M, self.point.slope
        V = L.T @ cotangents[0]
        u = self.optimum.solve(self.optimum.problem.manifold.project(M, V))
        bent = self.point.curvature(Z @ u)
        inside = sym(Z.T @ slope @ u.T) + sym((Z.T @ bent - V) @ M.T)
        found = -slope @ (L @ u).T - bent @ (L @ M).T + Z @ inside @ L.T / len(Z)
        return [np.asarray(found - found.mean(axis=0))]
