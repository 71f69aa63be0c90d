"""How sums over white rows change, by products with the rows, and what a cotangent pulls back.

f = phi(Y) + g(M), Y = ZM, Z = XL with L'CL = I. With E = L'dC L, L moves by -LE/2, so that
dZ = dX L - ZE/2 and the gradient Z'phi'(Y) by dZ'phi'(Y) + Z'phi''(Y)[dZ M].
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from ldr.objectives.data.data import Data
from ldr.objectives.families.pairwise import LabelledPairs
from ldr.objectives.families.projected import Projected, ProjectedPoint
from ldr.objectives.families.white_projected import OfWhiteRows, WhitePoint, WhiteProjected
from ldr.objectives.objective import Objective
from ldr.objectives.pca import LogDeterminant
from ldr.sensitivity.forms import Blocks, centred
from ldr.sensitivity.known import Known, Summand, Variances
from ldr.sensitivity.optimum import Observed, Optimum, Rate
from ldr.sensitivity.quadratic import Codes
from ldr.solvers.manifolds import Array
from ldr.solvers.manifolds.orthonormal import sym
from ldr.solvers.records import dataclass


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
        return cls(optimum, Z, L, problem.of_white_rows(Z, optimum.M))

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
            gradient,
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
        u = self.optimum.solve(lowered)
        bent = self.point.curvature(Z @ u)
        inside = sym(Z.T @ slope @ u.T) + sym((Z.T @ bent - lowered) @ M.T)
        found = -slope @ (L @ u).T - bent @ (L @ M).T + Z @ inside @ L.T / len(Z)
        return [np.asarray(found - found.mean(axis=0))]


class SpreadPoint(ProjectedPoint):
    """phi = -log|Y'Y|: slope -2YS, curvature -2(dY - YS(dY'Y + Y'dY))S, S = (Y'Y)^{-1}."""

    @cached_property
    def _S(self) -> Array:
        return np.asarray(np.linalg.inv(self.Y.T @ self.Y), dtype=np.float64)

    @property
    def value(self) -> float:
        return float(np.linalg.slogdet(self._S)[1])

    @cached_property
    def slope(self) -> Array:
        return -2.0 * self.Y @ self._S

    def curvature(self, dY: Array) -> Array:
        cross = dY.T @ self.Y
        return -(2.0 * dY + self.slope @ (cross + cross.T)) @ self._S


class Spread(Projected):
    """The determinant of M'CM, up to a constant, of the rows that C is of."""

    @classmethod
    def of(cls, problem: LogDeterminant, rows: Array) -> Spread:
        (view,) = problem.views
        Z = rows @ view.coordinates.lift(np.eye(len(problem.C)))
        return cls(problem.objective, problem.views, Z, problem.r)

    def at(self, M: Array) -> SpreadPoint:
        return SpreadPoint(self.X, M)


@dataclass(frozen=True)
class ProjectedRows(Summand):
    """An optimum of phi(Y), Y = ZM, with the numbers in phi that the rows choose.

    Attributes
    ----------
    L : ndarray (d, k)
        Z = (X - m)L, its rows in an order of their own.
    order : ndarray of int (n,)
    unit : float
        By which Y is larger than the map of X - m.
    point : ProjectedPoint
        At the optimum.
    """

    problem: Projected
    L: Array
    order: Codes
    unit: float
    point: ProjectedPoint

    @classmethod
    def of(cls, optimum: Optimum, objective: Objective, data: Data) -> ProjectedRows | None:
        problem, rows = optimum.problem, data.samples.dense()
        if isinstance(problem, LogDeterminant):
            problem = Spread.of(problem, centred(rows))
        if not isinstance(problem, Projected) or not problem.follows:
            return None
        (view,), order = problem.views, np.arange(len(rows))
        if isinstance(problem, LabelledPairs):
            order = np.argsort(data.labels[0], kind="stable")
        L = view.coordinates.lift(np.eye(len(optimum.M)))
        ratio = np.linalg.norm(problem.X) / np.linalg.norm((rows - view.mean) @ L)
        unit, point = 2.0 ** round(math.log2(ratio)), problem.at(optimum.M)
        assert isinstance(point, ProjectedPoint)
        return cls(optimum, problem, unit * L, order, unit, point)

    def rate(self, dX: Blocks) -> Rate:
        problem, point, M = self.problem, self.point, self.optimum.M
        moved = dX[0][self.order]
        mean = problem.centre_rate(moved)
        dZ = (moved - mean) @ self.L
        dY = dZ @ M
        value, slope = problem.rate_at(point, dZ)
        value += float(np.vdot(point.slope, dY))
        gradient = dZ.T @ point.slope + problem.X.T @ (point.curvature(dY) + slope)
        still = np.zeros((len(self.L), M.shape[1]))
        stays = np.zeros((M.shape[1],) * 2)
        observed = Observed(
            (still.T,),
            (still,),
            (mean,),
            problem.objective.sign * problem.unit * value,
            stays if self._by_length else self._variances.rate(dY),
        )
        return Rate(gradient, observed)

    @property
    def _by_length(self) -> bool:
        """Whether axes are told apart by the lengths of M's columns, not by the variance of Y's."""
        return isinstance(self.problem, LabelledPairs)

    @cached_property
    def _variances(self) -> Variances:
        return Variances.of(self.problem.X, self.optimum.M, self.point.Y, self.unit)

    def pulled(self, V: Sequence[Array]) -> list[Array]:
        L, M = self.L, self.optimum.M
        lowered = L.T @ V[0] / self.unit
        W = self.optimum.turn(M.T @ lowered)
        of_axes = L.T @ (L @ M) @ (W + W.T) if self._by_length else self._variances.slope(W)
        u = self.optimum.solve(lowered + of_axes)
        found = -self._crossed(u)
        if not self._by_length:
            found = found + self._variances.pulled(W)
        return self._in_columns(found)

    def crossed(self, U: Array) -> list[Array]:
        return self._in_columns(self._crossed(U))

    def _crossed(self, U: Array) -> Array:
        """In the rows of Z."""
        problem, point, dY = self.problem, self.point, self.problem.X @ U
        bent = point.curvature(dY) @ self.optimum.M.T + problem.pulled_at(point, dY)
        return np.asarray(point.slope @ U.T + bent)

    def _in_columns(self, of_Z: Array) -> list[Array]:
        found = of_Z @ self.L.T
        pulled = np.empty_like(found)
        pulled[self.order] = found - self.problem.centre_pulled(found.sum(axis=0))
        return [pulled]
