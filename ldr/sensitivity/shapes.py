"""Functions of projected rows: how they move, by slope and curvature as the solver has them.

With f = phi(Y), Y = ZM, the gradient Z'phi'(Y) moves by dZ'phi'(Y) + Z'phi''(Y)[dZ M], and by what
the numbers in phi move that the rows choose. White rows are Z = XL with L'CL = I: with E = L'dC L,
L moves by -LE/2, so that dZ = dX L - ZE/2. The gradient of a sum is that of its terms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ldr.objectives.coordinates import Axes
from ldr.objectives.data.data import Data
from ldr.objectives.families.composite import TraceSum, WeightedSum
from ldr.objectives.families.pairwise import LabelledPairs
from ldr.objectives.families.projected import (
    OfWhiteRows,
    Projected,
    ProjectedPoint,
    WhitePoint,
    WhiteProjected,
)
from ldr.objectives.objective import Objective, Sum
from ldr.sensitivity.forms import added, centred
from ldr.sensitivity.matrices import of_matrices
from ldr.sensitivity.methods import frame, robust_pca
from ldr.sensitivity.optimum import Observed, Optimum, Rate, matrix_of
from ldr.sensitivity.rule import Known
from ldr.solvers.manifolds import Array
from ldr.solvers.manifolds.orthonormal import sym


@dataclass(frozen=True)
class Variances:
    """M'CM, C the covariance of rows X: what canonical axes diagonalise unless a method says more.

    - X (n, d), M (d, r)
    - scores (n, r): centred, X'times them is CM
    """

    X: Array
    M: Array
    scores: Array

    @classmethod
    def of(cls, X: Array, M: Array, Y: Array, unit: float = 1.0) -> Variances:
        """Make the variances of Y = XM, where the unit of the map is `unit` times larger."""
        return cls(X, M, centred(Y) / (len(Y) * unit**2))

    def rate(self, dY: Array) -> Array:
        """Where M stays."""
        return 2.0 * sym(dY.T @ self.scores)

    def slope(self, W: Array) -> Array:
        """The derivative of <W, M'CM> in M."""
        return self.X.T @ self.scores @ (W + W.T)

    def pulled(self, W: Array) -> Array:
        """And in X, centred."""
        return np.asarray(self.scores @ (W + W.T) @ self.M.T)


@dataclass(frozen=True)
class WhiteRows(Known):
    """An optimum of white rows.

    - Z (n, k), L (d, k)
    - point: at the optimum
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
        L = frame(optimum)
        Z = problem.X if isinstance(problem, WhiteProjected) else centred(samples.dense()) @ L
        return cls(optimum, Z, L, problem.of_white_rows(Z, optimum.M))

    def rate(self, dX: Sequence[Array]) -> Rate:
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


@dataclass(frozen=True)
class ProjectedRows(Known):
    """An optimum of phi(Y), Y = ZM, with the numbers in phi that the rows choose.

    - L (d, k): Z = (X - m)L
    - unit: by which Y is larger than the map of X - m
    - point: at the optimum
    """

    problem: Projected
    L: Array
    unit: float
    point: ProjectedPoint

    @classmethod
    def of(cls, optimum: Optimum, objective: Objective, data: Data) -> ProjectedRows | None:
        problem, rows = optimum.problem, data.samples.dense()
        if not isinstance(problem, Projected) or not problem.follows:
            return None
        (view,) = problem.views
        L = view.coordinates.lift(np.eye(len(optimum.M)))
        ratio = np.linalg.norm(problem.X) / np.linalg.norm((rows - view.mean) @ L)
        unit, point = 2.0 ** round(math.log2(ratio)), problem.at(optimum.M)
        assert isinstance(point, ProjectedPoint)
        return cls(optimum, problem, unit * L, unit, point)

    def rate(self, dX: Sequence[Array]) -> Rate:
        problem, point, M = self.problem, self.point, self.optimum.M
        mean = dX[0].mean(axis=0)
        dZ = (dX[0] - mean) @ self.L
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

    @property
    def additive(self) -> bool:
        return True

    def pulled(self, V: Sequence[Array]) -> list[Array]:
        L, M = self.L, self.optimum.M
        lowered = L.T @ V[0] / self.unit
        W = self.optimum.turned(V)
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
        return [centred(of_Z @ self.L.T)]


@dataclass(frozen=True)
class SumOfRows(Known):
    """An optimum of a sum of what is orthonormal in the columns of one X.

    - parts: the terms, at the optimum of the sum
    """

    parts: list[Known]
    weights: list[float]
    variances: Variances

    @classmethod
    def of(cls, optimum: Optimum, objective: Objective, data: Data) -> SumOfRows | None:
        """None where one of the terms does not say how it moves."""
        problem, M = optimum.problem, optimum.M
        if not isinstance(objective, Sum) or not isinstance(problem, (WeightedSum, TraceSum)):
            return None
        if isinstance(problem, WeightedSum) and (problem.only or problem.penalty):
            return None
        if len(problem.views) > 1 or not objective.transposed:
            return None
        parts, alone = [], Axes.given(M.shape[1])
        for term, (_, own) in zip(problem.terms, objective.terms, strict=True):
            there = replace(optimum, problem=term.bound, axes=alone)
            tried = (of(there, own, data) for of in (of_matrices, robust_pca, ProjectedRows.of))
            part = next(filter(None, tried), None) if term.same_point else None
            if part is None or not part.additive:
                return None
            parts.append(part)
        X = centred(data.samples.dense())
        weights = [weight for weight, _ in objective.terms]
        return cls(optimum, parts, weights, Variances.of(X, M, X @ M))

    def rate(self, dX: Sequence[Array]) -> Rate:
        problem, M = self.optimum.problem, self.optimum.M
        rates = [part.rate(dX) for _, _, part in self._terms]
        gradient, value = np.zeros_like(M), 0.0
        for rate, (share, weight, part) in zip(rates, self._terms, strict=True):
            gradient += share * rate.gradient
            value += weight * part.optimum.problem.objective.sign * rate.observed.value
        within = np.zeros_like(matrix_of(self.optimum.axes))
        if isinstance(problem, TraceSum):
            within = self._of_gradient * sym(M.T @ gradient)
        elif len(within):
            within = self.variances.rate(centred(dX[0]) @ M)
        still, value = np.zeros_like(M), problem.objective.sign * value
        return Rate(gradient, Observed((still.T,), (still,), rates[0].observed.mean, value, within))

    def pulled(self, V: Sequence[Array]) -> list[Array]:
        problem, M, W = self.optimum.problem, self.optimum.M, self.optimum.turned(V)
        if isinstance(problem, TraceSum):
            W = self._of_gradient * W
            u = self.optimum.solve(V[0] + 2.0 * problem.at(M).gradient @ W)
            return self._crossed(M @ W - u)
        first, *others = self._crossed(-self.optimum.solve(V[0] + self.variances.slope(W)))
        return [first + self.variances.pulled(W), *others]

    def _crossed(self, U: Array) -> list[Array]:
        """The derivative in X of <U, gradient>."""
        return added([c * each for each in part.crossed(U)] for c, _, part in self._terms)

    @property
    def _terms(self) -> list[tuple[float, float, Known]]:
        """The share in the gradient, the weight and the term."""
        unit, pairs = self.optimum.problem.unit, zip(self.weights, self.parts, strict=True)
        return [(w * part.optimum.problem.unit / unit, w, part) for w, part in pairs]

    @cached_property
    def _of_gradient(self) -> float:
        """M'AM over M'grad, of a sum of traces."""
        own = np.einsum(
            "ij,ij->j", self.optimum.M, self.optimum.problem.at(self.optimum.M).gradient
        )
        return float(self.optimum.axes.numbers @ own / (own @ own))
