"""How weighted sums move with the rows: a sum's gradient is that of its terms.

Canonical axes diagonalise M'AM of a sum of traces, which M'grad is a multiple of, or the variances.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from ldr.objectives.coordinates import Axes
from ldr.objectives.data.data import Data
from ldr.objectives.families.terms import Multiple, WeightedSum
from ldr.objectives.families.weighted_sum import TraceSum
from ldr.objectives.objective import Objective, Sum
from ldr.sensitivity.forms import Blocks, added, centred
from ldr.sensitivity.known import Known, Summand, Variances
from ldr.sensitivity.optimum import Observed, Optimum, Rate, matrix_of
from ldr.sensitivity.products import Products
from ldr.sensitivity.rows import ProjectedRows
from ldr.solvers.manifolds import Array
from ldr.solvers.manifolds.orthonormal import sym
from ldr.solvers.records import dataclass, replace

KINDS: tuple[type[Summand], ...] = (Products, ProjectedRows)


@dataclass(frozen=True)
class SumOfRows(Known):
    """An optimum of a sum of what is orthonormal in the columns of one X.

    Attributes
    ----------
    parts : list of Known
        The terms, at the optimum of the sum.
    weights : list of float
    variances : Variances
    """

    parts: list[Summand]
    weights: list[float]
    variances: Variances

    of_own_columns = True

    @classmethod
    def of(cls, optimum: Optimum, objective: Objective, data: Data) -> SumOfRows | None:
        """None where one of the terms does not say how it moves."""
        problem, M = optimum.problem, optimum.M
        if not isinstance(objective, Sum) or not isinstance(problem, (WeightedSum, TraceSum)):
            return None
        if isinstance(problem, Multiple) or len(problem.views) > 1 or not objective.transposed:
            return None
        parts, alone = [], Axes.given(M.shape[1])
        for term, (_, own) in zip(problem.terms, objective.terms, strict=True):
            there = replace(optimum, problem=term.bound, axes=alone)
            tried = (kind.of(there, own, data) for kind in KINDS) if term.same_point else ()
            part = next((one for one in tried if one is not None and one.additive), None)
            if part is None:
                return None
            parts.append(part)
        X = centred(data.samples.dense())
        weights = [weight for weight, _ in objective.terms]
        return cls(optimum, parts, weights, Variances.of(X, M, X @ M))

    def rate(self, dX: Blocks) -> Rate:
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
        problem, M, W = self.optimum.problem, self.optimum.M, np.zeros((V[0].shape[1],) * 2)
        if len(matrix_of(self.optimum.axes)):
            W = sym(self.optimum.turn(M.T @ V[0]))
        if isinstance(problem, TraceSum):
            W = self._of_gradient * W
            u = self.optimum.solve(V[0] + 2.0 * problem.at(M).gradient @ W)
            return self._crossed(M @ W - u)
        first, *others = self._crossed(-self.optimum.solve(V[0] + self.variances.slope(W)))
        return [first + self.variances.pulled(W), *others]

    def _crossed(self, U: Array) -> list[Array]:
        """The derivative in X of <U, gradient>."""
        return added(*([c * each for each in part.crossed(U)] for c, _, part in self._terms))

    @property
    def _terms(self) -> list[tuple[float, float, Summand]]:
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
