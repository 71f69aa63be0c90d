"""Orthogonal independent component analysis, or projection pursuit."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ldr.objectives.contrasts import CONTRASTS, Contrast
from ldr.objectives.families.projected import DenseRows, Projected, ProjectedPoint
from ldr.objectives.families.row_sum import (
    Frame,
    InPieces,
    SumPoint,
    WhitenedColumns,
    in_pieces,
)
from ldr.objectives.objective import BoundObjective, Data, Objective
from ldr.objectives.samples import Samples
from ldr.objectives.sources import ContrastTerm, Cost, heuristics, heuristics_in_pieces, sample_note
from ldr.solvers.checks import choice
from ldr.solvers.manifolds import Array, Manifold, Stiefel


@dataclass(frozen=True)
class ICA(Objective):
    """Find the least Gaussian directions: max sum_k (E G(m_k'x) - E G(nu))^2, M'M = I, x white.

    nu is standard normal. The square makes it FastICA's contrast, which finds sources with heavier
    and with lighter tails than a Gaussian alike (E G by itself would need the sign of each). x =
    C^{-1/2}(x - mean), P = M'C^{-1/2}, so that the columns of Y are uncorrelated, of variance 1.
    The order and the signs of the columns mean nothing. The heuristic is FOBI; FastICA's deflation
    is the other default start.

    Cost of an evaluation: time O(n d r), memory O(n d); of rows in a file or on a cluster a pass
    over them, with memory for a piece, and deflation is that of a random sample of rows.

    Source: Hyvarinen 1999 (FastICA's contrast for several units).

    Parameters
    ----------
    contrast : {"log cosh", "kurtosis", "exp"}
        G: log cosh y, y^4/4 or -exp(-y^2/2). Kurtosis is thrown off by outliers; exp suits
        sources of very heavy tails.
    """

    name = "ica"
    formula = "max sum_k (E G(m_k'x) - E G(nu))^2, x white"
    source = "Hyvarinen 1999"
    sense = "max"
    baseline = "FOBI (fourth-order blind identification)"
    domain = "St"

    contrast: str = "log cosh"

    def __post_init__(self) -> None:
        choice("contrast", self.contrast, CONTRASTS)

    def bind(self, data: Data, r: int) -> BoundObjective:
        contrast = CONTRASTS[self.contrast]
        gaussian = contrast.of_gaussian()

        def cost(means: Array) -> Array:
            return -((means - gaussian) ** 2)

        if in_pieces(data.samples):
            return _pursuit_in_pieces(self, data.samples, r, contrast, cost)
        rows = DenseRows.whitened(data, self)
        X = rows.X
        return Pursuit(
            self,
            (rows.mean,),
            X,
            r,
            contrast=contrast,
            gaussian=gaussian,
            heuristics=heuristics(X, r, contrast, cost),
            coordinates=(rows.coordinates,),
            notes=rows.notes,
        )


def _pursuit_in_pieces(
    objective: ICA, samples: Samples, r: int, contrast: Contrast, cost: Cost
) -> PursuitInPieces:
    columns = WhitenedColumns.of(samples, r)
    term = ContrastTerm(Frame(columns.mean), columns.W, contrast, samples.n)
    return PursuitInPieces(
        objective,
        (columns.mean,),
        Stiefel(columns.W.shape[1], r),
        samples,
        term,
        gaussian=contrast.of_gaussian(),
        heuristics=heuristics_in_pieces(samples, term, r, cost),
        coordinates=(columns.coordinates,),
        notes=[*columns.notes, sample_note(samples)],
    )


class PursuitPoint(ProjectedPoint):
    """phi = -sum_k c_k^2, c_k = E G(y_k) - E G(nu); phi' = -(2/n) c_k g(y_k).

    phi''[dY] = -(2/n) (c_k g'(y_k) dy_k + dc_k g(y_k)), dc_k = E[g(y_k) dy_k].
    """

    def __init__(self, problem: Pursuit, M: Array) -> None:
        super().__init__(problem, M)
        self._contrast = problem.contrast
        self._c = problem.contrast.value(self.Y).mean(axis=0) - problem.gaussian

    @property
    def value(self) -> float:
        return -float(self._c @ self._c)

    @cached_property
    def _first(self) -> Array:
        return self._contrast.first(self.Y)

    @cached_property
    def _second(self) -> Array:
        return self._contrast.second(self.Y)

    @property
    def slope(self) -> Array:
        return (-2.0 / len(self.Y)) * self._c * self._first

    def curvature(self, dY: Array) -> Array:
        dc = np.mean(self._first * dY, axis=0)
        return (-2.0 / len(self.Y)) * (self._c * self._second * dY + dc * self._first)


@dataclass
class Pursuit(Projected):
    """Projection pursuit on the Stiefel manifold.

    Parameters
    ----------
    contrast : Contrast
    gaussian : float
        E G(nu).
    """

    contrast: Contrast = field(kw_only=True)
    gaussian: float = field(kw_only=True)

    def space(self, k: int) -> Manifold:
        return Stiefel(k, self.r)

    def at(self, M: Array) -> PursuitPoint:
        return PursuitPoint(self, M)


class PursuitSums(SumPoint):
    """`PursuitPoint` from sums: -sum_k c_k^2, no sum over rows itself but a function of r of them.

    With h_k = E x g(m_k'x) the gradient is -2 c_k h_k, and its change along V is
    -2 (c_k E x g'(m_k'x) x'v_k + (h_k'v_k) h_k).
    """

    def __init__(self, problem: PursuitInPieces, M: Array) -> None:
        super().__init__(problem, M)
        self._gaussian = problem.gaussian

    @property
    def _c(self) -> Array:
        return np.asarray(self.sums[0] - self._gaussian)

    @property
    def value(self) -> float:
        return -float(self._c @ self._c)

    @property
    def gradient(self) -> Array:
        return -2.0 * self._c * self.sums[1]

    def hessian_vector(self, V: Array) -> Array:
        slopes = self.sums[1]
        dc = np.sum(slopes * V, axis=0)
        return -2.0 * (self._c * super().hessian_vector(V) + dc * slopes)


@dataclass
class PursuitInPieces(InPieces):
    """Projection pursuit of rows that are read at every step.

    Parameters
    ----------
    gaussian : float
        E G(nu).
    """

    gaussian: float = field(kw_only=True)

    def at(self, M: Array) -> PursuitSums:
        return PursuitSums(self, M)
