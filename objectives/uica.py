"""Undercomplete independent component analysis, a product of experts."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ldr.objectives.contrasts import Contrast, hyperbolic_secant, student
from ldr.objectives.families.projected import DenseRows, Projected, ProjectedPoint
from ldr.objectives.families.row_sum import Frame, RowSum, WhitenedColumns, in_pieces
from ldr.objectives.objective import BoundObjective, Data, Objective
from ldr.objectives.samples import Samples
from ldr.objectives.sources import ContrastTerm, heuristics, heuristics_in_pieces, sample_note
from ldr.solvers.checks import choice, number
from ldr.solvers.manifolds import Array, Euclidean, Manifold, Stiefel

EXPERTS = ("log cosh", "student-t")


@dataclass(frozen=True)
class UndercompleteICA(Objective):
    """Fit fewer sources than dimensions: min -(1/2 log|M'M| + 1/n sum_ik log p(m_k'x_i)), x white.

    M is any k x r matrix: the sources need not be orthogonal, and their scales are fitted. x =
    C^{-1/2}(x - mean), P = M'C^{-1/2}. Both experts have heavy tails: the sources found are those
    with heavier tails than a Gaussian; for lighter tails see `ICA`. The order and the signs of the
    columns mean nothing. The heuristic is FOBI; FastICA's deflation is another start.

    Cost of an evaluation: time O(n d r), memory O(n d); of rows in a file or on a cluster a pass
    over them, with memory for a piece, and deflation is that of a random sample of rows.

    Source: Porrill and Stone 1998; Welling, Zemel and Hinton 2004; Cunningham and Ghahramani
    2015.

    Parameters
    ----------
    expert : {"log cosh", "student-t"}
        p(y) = 1/(pi cosh y), or Student's t.
    degrees : float
        Degrees of freedom of Student's t.
    """

    name = "uica"
    formula = "min -(1/2 log|M'M| + 1/n sum_ik log p(m_k'x_i)), x white"
    source = "Porrill & Stone 1998; Welling, Zemel & Hinton 2004"
    sense = "min"
    baseline = "FOBI (fourth-order blind identification)"
    domain = "R"

    expert: str = "log cosh"
    degrees: float = 3.0

    def __post_init__(self) -> None:
        choice("expert", self.expert, EXPERTS)
        number("degrees", self.degrees, positive=True)

    def bind(self, data: Data, r: int) -> BoundObjective:
        expert = hyperbolic_secant() if self.expert == "log cosh" else student(self.degrees)
        if in_pieces(data.samples):
            return _sum_of_experts(self, data.samples, r, expert)
        rows = DenseRows.whitened(data, self)
        X = rows.X
        return ProductOfExperts(
            self,
            (rows.mean,),
            X,
            r,
            expert=expert,
            heuristics=heuristics(X, r, expert, _own),
            coordinates=(rows.coordinates,),
            notes=rows.notes,
        )


def _own(means: Array) -> Array:
    """The cost of a direction, its E G(m'x)."""
    return means


def _sum_of_experts(
    objective: UndercompleteICA, samples: Samples, r: int, expert: Contrast
) -> SumOfExperts:
    columns = WhitenedColumns.of(samples, r)
    contrasts = ContrastTerm(Frame(columns.mean), columns.W, expert, samples.n)
    return SumOfExperts(
        objective,
        (columns.mean,),
        Euclidean(columns.W.shape[1], r),
        samples,
        ExpertsTerm(Frame(columns.mean), columns.W, expert, samples.n),
        heuristics=heuristics_in_pieces(samples, contrasts, r, _own),
        coordinates=(columns.coordinates,),
        notes=[*columns.notes, sample_note(samples)],
    )


class ExpertsPoint(ProjectedPoint):
    """phi = -1/2 log|S| + E sum_k G(y_k), S = Y'Y/n = M'M (X is white), G = -log p.

    phi' = (-Y S^{-1} + g(Y))/n and phi''[dY] = (-dY S^{-1} + Y S^{-1} dS S^{-1} + g'(Y) o dY)/n
    with dS = (dY'Y + Y'dY)/n.
    """

    def __init__(self, problem: ProductOfExperts, M: Array) -> None:
        super().__init__(problem, M)
        self._expert = problem.expert
        self._S = self.Y.T @ self.Y / len(self.Y)

    @cached_property
    def value(self) -> float:
        logdet = np.linalg.slogdet(self._S)[1]
        return float(np.sum(self._expert.value(self.Y).mean(axis=0)) - 0.5 * logdet)

    @cached_property
    def _whitened(self) -> Array:
        """Y S^{-1}."""
        return np.asarray(np.linalg.solve(self._S, self.Y.T).T, dtype=np.float64)

    @cached_property
    def _second(self) -> Array:
        return self._expert.second(self.Y)

    @cached_property
    def slope(self) -> Array:
        return (self._expert.first(self.Y) - self._whitened) / len(self.Y)

    def curvature(self, dY: Array) -> Array:
        n = len(self.Y)
        dS = (dY.T @ self.Y + self.Y.T @ dY) / n
        of_whitened = np.linalg.solve(self._S, (dY - self._whitened @ dS).T).T
        return (self._second * dY - of_whitened) / n


@dataclass
class ProductOfExperts(Projected):
    """Undercomplete ica on the Euclidean space of k x r matrices.

    Parameters
    ----------
    expert : Contrast
        -log p.
    """

    expert: Contrast = field(kw_only=True)

    def space(self, k: int) -> Manifold:
        return Euclidean(k, self.r)

    def random_point(self, rng: np.random.Generator) -> Array:
        """Orthonormal columns: sources of variance 1."""
        return Stiefel(self.X.shape[1], self.r).random_point(rng)

    def at(self, M: Array) -> ExpertsPoint:
        return ExpertsPoint(self, M)


@dataclass(frozen=True)
class ExpertsTerm(ContrastTerm):
    """Of m of the n rows: (1/n) sum_ik G(y_ik) - m/(2n) log|M'M|, so that terms add up to f."""

    def first(self, M: Array, rows: Samples, *beside: Any) -> tuple[float, Array]:
        means, gradient = super().first(M, rows)
        share, S = rows.n / self.n, M.T @ M
        value = float(means.sum()) - 0.5 * share * float(np.linalg.slogdet(S)[1])
        return value, gradient - share * np.linalg.solve(S, M.T).T

    def second(self, M: Array, V: Array, rows: Samples, *beside: Any) -> Array:
        """With d(M S^{-1}) = (V - M S^{-1} dS) S^{-1}, S = M'M."""
        share, S = rows.n / self.n, M.T @ M
        change = V - M @ np.linalg.solve(S, V.T @ M + M.T @ V)
        return super().second(M, V, rows) - share * np.linalg.solve(S, change.T).T


class SumOfExperts(RowSum):
    """Undercomplete ica of rows that are read at every step."""

    def random_point(self, rng: np.random.Generator) -> Array:
        """Orthonormal columns: sources of variance 1."""
        k, r = self.manifold.shape
        return Stiefel(k, r).random_point(rng)
