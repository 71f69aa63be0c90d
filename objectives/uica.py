"""Undercomplete independent component analysis, a product of experts."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property, partial

import numpy as np

from ldr.objectives.data.cells import Cells
from ldr.objectives.data.data import Data
from ldr.objectives.data.footprint import Footprint
from ldr.objectives.data.samples import Samples
from ldr.objectives.families.joint_diagonal import inverse_in_pairs
from ldr.objectives.families.projected import DenseRows
from ldr.objectives.families.row_sum import (
    ProjectedTerm,
    RowSum,
    RowTerm,
    WhitenedColumns,
    added,
)
from ldr.objectives.families.terms import Exchangeable
from ldr.objectives.families.white_projected import WhiteProjected
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import number, word
from ldr.objectives.problem import BoundObjective
from ldr.objectives.starts.sources import (
    Contrast,
    ContrastPoint,
    heuristics,
    heuristics_in_pieces,
    hyperbolic_secant,
    sample_note,
    student,
)
from ldr.solvers.manifolds import Array, Euclidean, Manifold, Stiefel
from ldr.solvers.problem import Point, Preconditioner, once
from ldr.solvers.records import dataclass, field

EXPERTS = ("log cosh", "student-t")
# Of the preconditioner.
_LEAST_CURVATURE = 1e-2


@dataclass(frozen=True)
class UndercompleteICA(Objective):
    """Fit fewer sources than dimensions: min -(1/2 log|M'M| + 1/n sum_ik log p(m_k'x_i)), x white.

    M is any k x r matrix: the sources need not be orthogonal, and their scales are fitted. x =
    C^{-1/2}(x - mean), P = M'C^{-1/2}. Both experts have heavy tails: the sources found are those
    with heavier tails than a Gaussian; for lighter tails see `ICA`. The columns come in the order
    of their terms. The heuristic is FOBI; FastICA's deflation is another start. Of many rows a run
    on some of them comes first.

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
    weighted = True
    formula = "min -(1/2 log|M'M| + 1/n sum_ik log p(m_k'x_i)), x white"
    source = "Porrill & Stone 1998; Welling, Zemel & Hinton 2004"
    sense = "min"
    baseline = "FOBI (fourth-order blind identification)"
    scale_free = True
    sparse = False
    transposed = False
    domain = "R"
    arrays = Footprint(squares=11.0, rows=6.0)

    expert: str = word("log cosh", EXPERTS)
    degrees: float = number(3.0, positive=True)

    def bind(self, data: Data, r: int) -> BoundObjective:
        expert = hyperbolic_secant() if self.expert == "log cosh" else student(self.degrees)
        if data.samples.in_pieces:
            return _sum_of_experts(self, data.samples, r, expert)
        rows = DenseRows.whitened(data, self)
        return ProductOfExperts(
            self,
            (rows.view,),
            rows.X,
            r,
            w=rows.weights,
            expert=expert,
            heuristics=heuristics(rows.X, r, expert, _own, rows.weights),
        )


def _own(means: Array) -> Array:
    """The cost of a direction, its E G(m'x)."""
    return means


def _sum_of_experts(
    objective: UndercompleteICA, samples: Samples, r: int, expert: Contrast
) -> SumOfExperts:
    columns = WhitenedColumns.of(samples, r)
    contrasts = columns.term(partial(ContrastPoint, contrast=expert, n=samples.weight))
    return SumOfExperts(
        objective,
        (columns.view.noting(sample_note(samples)),),
        Euclidean(columns.W.shape[1], r),
        samples,
        ExpertsTerm(contrasts, samples.weight),
        heuristics=heuristics_in_pieces(samples, columns, r, expert, _own),
    )


class LogVolume(Point):
    """-1/2 log|S|, S = M'M: what keeps the experts, M'x of white x, from becoming the same.

    Gradient -M S^{-1}; along V it changes by -(V - M S^{-1} dS) S^{-1}, dS = V'M + M'V.
    """

    def __init__(self, M: Array) -> None:
        self.M = M
        self._S = M.T @ M

    @property
    def value(self) -> float:
        return -0.5 * float(np.linalg.slogdet(self._S)[1])

    @once
    def gradient(self) -> Array:
        return -self._over_S(self.M)

    def hessian_vector(self, V: Array) -> Array:
        dS = V.T @ self.M + self.M.T @ V
        return -self._over_S(V + self.gradient @ dS)

    def _over_S(self, A: Array) -> Array:
        """A S^{-1}."""
        return np.asarray(np.linalg.solve(self._S, A.T).T)


class ExpertsPoint(Point):
    """The experts' sum E sum_k G(y_k), G = -log p, and the volume."""

    def __init__(self, experts: ContrastPoint) -> None:
        self.M = M = experts.M
        self._experts = experts
        self._volume = LogVolume(M)

    @once
    def value(self) -> float:
        return float(self._experts.value.sum()) + self._volume.value

    @once
    def gradient(self) -> Array:
        return self._experts.gradient + self._volume.gradient

    def hessian_vector(self, V: Array) -> Array:
        return self._experts.hessian_vector(V) + self._volume.hessian_vector(V)

    @property
    def slope(self) -> Array:
        """Of the experts."""
        return self._experts.slope

    def curvature(self, dY: Array) -> Array:
        return self._experts.curvature(dY)


class ByExpert(Exchangeable):
    """Sources in the order of what each alone, without regard to the angles, adds to -f."""

    @abstractmethod
    def costs(self, M: Array) -> Array:
        """E G(m_k'x) of each source."""

    def random_point(self, rng: np.random.Generator) -> Array:
        """Sources of variance one."""
        k, r = self.manifold.shape
        return Stiefel(k, r).random_point(rng)

    def contributions(self, M: Array) -> Array:
        return np.log(np.linalg.norm(M, axis=0)) - self.costs(M)


@dataclass(frozen=True)
class ProductOfExperts(ByExpert, WhiteProjected):
    """Undercomplete ica on the Euclidean space of k x r matrices.

    Parameters
    ----------
    expert : Contrast
        -log p.
    """

    preconditioner_cost = 4

    expert: Contrast = field(kw_only=True)

    @cached_property
    def manifold(self) -> Manifold:  # type: ignore[override]
        return Euclidean(self.X.shape[1], self.r)

    def at(self, M: Array) -> ExpertsPoint:
        return ExpertsPoint(self._experts(M))

    def _experts(self, M: Array) -> ContrastPoint:
        return ContrastPoint(self.X, M, self.expert, w=self.w)

    def preconditioner(self, M: Array) -> Preconditioner:
        """The inverse of the Hessian where the y_k are independent, and of what is across M.

        Along V = ME it is that of E -> sum_ij h_ij E_ij^2/2 - log |det(I + E)|, h_ij = E g'(y_j)
        E y_i^2 and h_jj = E g'(y_j) y_j^2; v_j across M is multiplied by E g'(y_j) - 1/E y_j^2.

        Source: Ablin, Cardoso and Gramfort 2018 (Picard).
        """
        experts = self._experts(M)
        sizes, slopes = np.sum(M * M, axis=0), experts.second.sum(axis=0)
        own = np.einsum("ij,ij,ij->j", experts.second, experts.Y, experts.Y)
        within = inverse_in_pairs(slopes * sizes[:, None], _LEAST_CURVATURE)
        along = np.maximum(own + 1.0, _LEAST_CURVATURE)
        across = np.maximum(slopes - 1.0 / sizes, _LEAST_CURVATURE / sizes)

        def apply(N: Array, U: Array) -> Array:
            T = N.T @ U
            rest = U - N @ np.linalg.solve(N.T @ N, T)
            return rest / across + N @ (within(T) + np.diag(np.diag(T) / along))

        return apply

    def costs(self, M: Array) -> Array:
        return np.asarray(self._experts(M).value)


@dataclass(frozen=True)
class ExpertsTerm(RowTerm):
    """The experts' sum over rows, and their share of the weight n of the volume, which adds up."""

    contrasts: ProjectedTerm
    n: float

    def first(self, M: Array, rows: Samples, *beside: Cells) -> tuple[float, Array]:
        means, gradient = self.contrasts.first(M, rows)
        share, volume = rows.weight / self.n, LogVolume(M)
        return float(means.sum()) + share * volume.value, gradient + share * volume.gradient

    def second(self, M: Array, V: Array, rows: Samples, *beside: Cells) -> Array:
        share = rows.weight / self.n
        return self.contrasts.second(M, V, rows) + share * LogVolume(M).hessian_vector(V)


@dataclass(frozen=True)
class SumOfExperts(ByExpert, RowSum):
    """Undercomplete ica of rows that are read at every step."""

    term: ExpertsTerm

    def costs(self, M: Array) -> Array:
        of_experts = partial(self.term.contrasts.first, M)
        return np.asarray(self.samples.reduce(of_experts, added)[0])
