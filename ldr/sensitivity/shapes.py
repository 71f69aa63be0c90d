"""Optima whose derivatives with respect to the rows are known, without a new problem.

A function f = phi(Y) of projected rows Y = ZM uses the derivatives of the solver: the gradient
Z'phi'(Y) changes by dZ'phi'(Y) + Z'phi''(Y)[dZ M], plus changes of parameters of phi with the rows.
The gradient of a sum is the sum of the gradients of its terms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ldr.objectives.data.data import Data
from ldr.objectives.families.composite import TraceSum, WeightedSum
from ldr.objectives.families.pairwise import LabelledPairs
from ldr.objectives.families.projected import Projected
from ldr.objectives.objective import Objective, Sum
from ldr.objectives.view import Axes
from ldr.sensitivity import methods
from ldr.sensitivity.forms import added, centred
from ldr.sensitivity.matrices import of_matrices
from ldr.sensitivity.methods import frame
from ldr.sensitivity.moving import all_of
from ldr.sensitivity.optimum import Observed, Optimum, Rate, matrix_of
from ldr.sensitivity.rule import Known
from ldr.solvers.manifolds import Array
from ldr.solvers.manifolds.manifold import sym


def known(optimum: Optimum, objective: Objective, data: Data) -> Known | None:
    """Return the derivative of the optimum in the rows; None if only differences are available."""
    samples = all_of(data)
    if any(one.is_sparse or one.stored for one in samples):
        return None
    kept = zip(optimum.problem.blocks(optimum.M), data.views, strict=True)
    # Formulas below that require `whole` hold only if M has one row for each column of the data.
    whole = all(len(block) == view.d for block, view in kept)
    plain = all(one.marks is None for one in samples)
    kinds: list[Callable[[Optimum, Objective, Data], Known | None]] = []
    if whole:
        kinds += [of_matrices, methods.regression, methods.reduced_rank]
    if plain:
        kinds += [methods.partial_least_squares]
    if whole and plain:
        kinds += [
            methods.function,
            methods.robust_pca,
            methods.factor_model,
            methods.kernel_gradients,
            methods.dynamics,
            methods.dynamical_components,
            methods.white_rows,
            methods.FiltersOfRows.of,
            ProjectedRows.of,
            SumOfRows.of,
        ]
    return next(filter(None, (of(optimum, objective, data) for of in kinds)), None)


def scores_of(Y: Array, unit: float = 1.0) -> Array:
    """Return centred scores Y over n unit^2: a factor of the derivatives of their covariance."""
    return centred(Y) / (len(Y) * unit**2)


@dataclass(frozen=True)
class ProjectedRows(Known):
    """An optimum of phi(Y) with Y = ZM; phi may have parameters that depend on the rows.

    - Z (n, k), L (d, k): Z = (X - m)L
    - unit: ratio of Y to the map of X - m
    - point: phi at the optimum
    """

    problem: Projected
    Z: Array
    L: Array
    unit: float
    point: Any

    @classmethod
    def of(cls, optimum: Optimum, objective: Objective, data: Data) -> ProjectedRows | None:
        problem, rows = optimum.problem, data.samples.dense()
        if not isinstance(problem, Projected) or not problem.follows:
            return None
        (view,), Z, L = problem.views, problem.X, frame(optimum)
        unit = 2.0 ** round(math.log2(np.linalg.norm(Z) / np.linalg.norm((rows - view.mean) @ L)))
        return cls(optimum, problem, Z, unit * L, unit, problem.at(optimum.M))

    def rate(self, dX: Sequence[Array]) -> Rate:
        Z, L, M, slope = self.Z, self.L, self.optimum.M, self.point.slope
        mean, r = dX[0].mean(axis=0), M.shape[1]
        dZ, dT, within = (dX[0] - mean) @ L, np.zeros((len(L), r)), np.zeros((r, r))
        value, moved = self.problem.rate_at(self.point, dZ)
        dY = dZ @ M
        value += float(np.vdot(slope, dY))
        gradient = dZ.T @ slope + Z.T @ (self.point.curvature(dY) + moved)
        if self._by_variance:
            within = 2.0 * sym(dY.T @ self._scores)
        value *= self.optimum.problem.objective.sign * self.optimum.problem.unit
        return Rate(gradient, Observed((dT.T,), (dT,), (mean,), value, within))

    @property
    def _by_variance(self) -> bool:
        """True if variances of Y order the axes; otherwise the lengths of M's columns do."""
        return not isinstance(self.problem, LabelledPairs)

    @cached_property
    def _scores(self) -> Array:
        return scores_of(self.point.Y, self.unit)

    def pulled(self, V: Sequence[Array]) -> list[Array]:
        L, M, W = self.L, self.optimum.M, self.optimum.turned(V)
        lowered, both = L.T @ V[0] / self.unit, W + W.T
        across = self.Z.T @ self._scores if self._by_variance else L.T @ (L @ M)
        (found,) = self.crossed(-self.optimum.solve(lowered + across @ both))
        if self._by_variance:
            found = found + centred(self._scores @ both @ (L @ M).T)
        return [found]

    def crossed(self, U: Array) -> list[Array]:
        point, dY = self.point, self.Z @ U
        of_Z = point.slope @ U.T + point.curvature(dY) @ self.optimum.M.T
        return [centred((of_Z + self.problem.pulled_at(point, dY)) @ self.L.T)]


@dataclass(frozen=True)
class SumOfRows(Known):
    """Optimum of a sum of terms, with orthonormal M in the original columns of a single X.

    - parts: the terms, at the optimum of the sum
    - X: centred rows
    """

    parts: list[Known]
    weights: list[float]
    X: Array

    @classmethod
    def of(cls, optimum: Optimum, objective: Objective, data: Data) -> SumOfRows | None:
        """Return the sum; None if a term has no known derivative."""
        problem = optimum.problem
        if not isinstance(objective, Sum) or not isinstance(problem, (WeightedSum, TraceSum)):
            return None
        whole = not isinstance(problem, WeightedSum) or not (problem.only or problem.penalty)
        if not whole or len(problem.views) > 1 or not objective.traits.transposed:
            return None
        kinds = of_matrices, methods.robust_pca, ProjectedRows.of
        parts, alone = [], Axes.given(optimum.M.shape[1])
        for term, (_, own) in zip(problem.terms, objective.terms, strict=True):
            there = replace(optimum, problem=term.bound, axes=alone)
            tried = (of(there, own, data) for of in kinds)
            part = next(filter(None, tried), None) if term.same_point else None
            if part is None or not part.additive:
                return None
            parts.append(part)
        weights = [weight for weight, _ in objective.terms]
        return cls(optimum, parts, weights, centred(data.samples.dense()))

    def rate(self, dX: Sequence[Array]) -> Rate:
        problem, M = self.optimum.problem, self.optimum.M
        rates = [part.rate(dX) for part in self.parts]
        gradient, value = np.zeros_like(M), 0.0
        for rate, share, weight, part in zip(
            rates, self._shares, self.weights, self.parts, strict=True
        ):
            gradient += share * rate.gradient
            value += weight * part.optimum.problem.objective.sign * rate.observed.value
        within = np.zeros_like(matrix_of(self.optimum.axes))
        if isinstance(problem, TraceSum):
            within = self._of_gradient * sym(M.T @ gradient)
        elif len(within):
            within = 2.0 * sym((centred(dX[0]) @ M).T @ self._scores)
        still, value = np.zeros_like(M), problem.objective.sign * value
        return Rate(gradient, Observed((still.T,), (still,), rates[0].observed.mean, value, within))

    @cached_property
    def _scores(self) -> Array:
        return scores_of(self.X @ self.optimum.M)

    def pulled(self, V: Sequence[Array]) -> list[Array]:
        problem, M, W = self.optimum.problem, self.optimum.M, self.optimum.turned(V)
        if isinstance(problem, TraceSum):
            W = self._of_gradient * W
            u = self.optimum.solve(V[0] + 2.0 * problem.at(M).gradient @ W)
            return self.crossed(M @ W - u)
        both = self._scores @ (W + W.T)
        first, *others = self.crossed(-self.optimum.solve(V[0] + self.X.T @ both))
        return [first + both @ M.T, *others]

    def crossed(self, U: Array) -> list[Array]:
        pairs = zip(self._shares, self.parts, strict=True)
        return added([share * each for each in part.crossed(U)] for share, part in pairs)

    @property
    def _shares(self) -> list[float]:
        """Coefficients of the terms in the gradient."""
        units = [part.optimum.problem.unit / self.optimum.problem.unit for part in self.parts]
        return [weight * unit for weight, unit in zip(self.weights, units, strict=True)]

    @cached_property
    def _of_gradient(self) -> float:
        """Ratio of M'AM to M'grad, for a sum of traces."""
        M = self.optimum.M
        own = np.einsum("ij,ij->j", M, self.optimum.problem.at(M).gradient)
        return float(self.optimum.axes.numbers @ own / (own @ own))
