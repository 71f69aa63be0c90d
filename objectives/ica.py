"""Orthogonal independent component analysis, or projection pursuit."""

from __future__ import annotations

from functools import cached_property, partial

import numpy as np

from ldr.objectives.data.data import Data
from ldr.objectives.data.footprint import Footprint
from ldr.objectives.data.samples import Samples
from ldr.objectives.families.projected import DenseRows
from ldr.objectives.families.row_sum import InPieces, WhitenedColumns
from ldr.objectives.families.terms import Exchangeable
from ldr.objectives.families.white_projected import WhiteProjected
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import word
from ldr.objectives.problem import BoundObjective
from ldr.objectives.starts.directions import SCREENED, screened
from ldr.objectives.starts.sources import (
    CONTRASTS,
    Contrast,
    ContrastPoint,
    Cost,
    heuristics,
    heuristics_in_pieces,
    sample_note,
)
from ldr.solvers.manifolds import Array, Manifold, Stiefel
from ldr.solvers.problem import Point, Preconditioner, once
from ldr.solvers.records import dataclass, field

# Of the preconditioner, relative to the largest.
_LEAST_CURVATURE = 1e-2
# Of few rows, a point found among random ones is a start where its value is at least this share of
# the best other start's: of 1,571 problems none ended at a lower value for it.
_WORTH = 0.4


@dataclass(frozen=True)
class ICA(Objective):
    """Find the least Gaussian directions: max sum_k (E G(m_k'x) - E G(nu))^2, M'M = I, x white.

    nu is standard normal. The square makes it FastICA's contrast, which finds sources with heavier
    and with lighter tails than a Gaussian alike (E G by itself would need the sign of each). x =
    C^{-1/2}(x - mean), P = M'C^{-1/2}, so that the columns of Y are uncorrelated, of variance 1.
    The columns come in the order of their terms. The heuristic is FOBI; FastICA's deflation and, of
    fewer directions than columns, the best of random ones after a few steps ("screened"; of few
    rows only where it is not far worse than these) are the other default starts. Of many rows a run
    on some of them comes first.

    Cost of an evaluation: time O(n d r), memory O(n d); of rows in a file or on a cluster a pass
    over them, with memory for a piece, and these two are those of a random sample of rows.

    Source: Hyvarinen 1999 (FastICA's contrast for several units).

    Parameters
    ----------
    contrast : {"log cosh", "kurtosis", "exp"}
        G: log cosh y, y^4/4 or -exp(-y^2/2). Kurtosis is thrown off by outliers; exp suits
        sources of very heavy tails.
    """

    name = "ica"
    weighted = True
    formula = "max sum_k (E G(m_k'x) - E G(nu))^2, x white"
    source = "Hyvarinen 1999"
    sense = "max"
    baseline = "FOBI (fourth-order blind identification)"
    scale_free = True
    sparse = False
    transposed = False
    domain = "St"
    arrays = Footprint(squares=11.0, rows=6.0)

    contrast: str = word("log cosh", CONTRASTS)

    def bind(self, data: Data, r: int) -> BoundObjective:
        contrast = CONTRASTS[self.contrast]
        gaussian = contrast.of_gaussian()

        def cost(means: Array) -> Array:
            return -((means - gaussian) ** 2)

        if data.samples.in_pieces:
            return _pursuit_in_pieces(self, data.samples, r, contrast, cost)
        rows = DenseRows.whitened(data, self)
        X, w = rows.X, rows.weights
        return Pursuit(
            self,
            (rows.view,),
            X,
            r,
            w=w,
            contrast=contrast,
            gaussian=gaussian,
            heuristics=heuristics(X, r, contrast, cost, w),
            screens=r < X.shape[1],  # of all directions none is missed
        )


def _pursuit_in_pieces(
    objective: ICA, samples: Samples, r: int, contrast: Contrast, cost: Cost
) -> PursuitInPieces:
    columns = WhitenedColumns.of(samples, r)
    gaussian = contrast.of_gaussian()

    def screened_sample() -> Array:
        X, w = columns.sample(samples)
        some = Pursuit(objective, (columns.view,), X, r, w=w, contrast=contrast, gaussian=gaussian)
        return screened(some, X, w)

    found = heuristics_in_pieces(samples, columns, r, contrast, cost)
    return PursuitInPieces(
        objective,
        (columns.view.noting(sample_note(samples)),),
        Stiefel(columns.W.shape[1], r),
        samples,
        columns.term(partial(ContrastPoint, contrast=contrast, n=samples.weight)),
        gaussian=gaussian,
        heuristics={**found, SCREENED: screened_sample},
    )


class PursuitPoint(Point):
    """-sum_k c_k^2, c_k = E G(m_k'x) - E G(nu), from the point of the means.

    With h_k the gradient of the mean k, the gradient is -2 c_k h_k, and its change along V is
    -2 (c_k dh_k + (h_k'v_k) h_k).
    """

    def __init__(self, means: Point, gaussian: float) -> None:
        self.M = means.M
        self._means = means
        self._gaussian = gaussian

    @once
    def _c(self) -> Array:
        return np.asarray(self._means.value - self._gaussian)

    @property
    def value(self) -> float:
        return -float(self._c @ self._c)

    @property
    def contributions(self) -> Array:
        """Of each column to -f."""
        return self._c**2

    @once
    def gradient(self) -> Array:
        return -2.0 * self._c * self._means.gradient

    def hessian_vector(self, V: Array) -> Array:
        return self._change(self._means.gradient, V, self._means.hessian_vector(V))

    def _change(self, h: Array, V: Array, dh: Array) -> Array:
        """Of h, in M or in Y, along V."""
        return -2.0 * (self._c * dh + np.sum(h * V, axis=0) * h)


class ProjectedPursuitPoint(PursuitPoint):
    """Of rows in memory."""

    _means: ContrastPoint

    @property
    def slope(self) -> Array:
        return -2.0 * self._c * self._means.slope

    def curvature(self, dY: Array) -> Array:
        """Of the slope along dY."""
        return self._change(self._means.slope, dY, self._means.curvature(dY))


@dataclass(frozen=True)
class Pursuit(Exchangeable, WhiteProjected):
    """Projection pursuit on the Stiefel manifold.

    Parameters
    ----------
    gaussian : float
        E G(nu).
    """

    preconditioner_cost = 4

    contrast: Contrast = field(kw_only=True)
    gaussian: float = field(kw_only=True)

    @cached_property
    def manifold(self) -> Manifold:  # type: ignore[override]
        return Stiefel(self.X.shape[1], self.r)

    def starts(self) -> dict[str, Array]:
        """Without the point found among random ones where others are far better already."""
        found = super().starts()
        # Of many rows a start is worth what a sample leads it to.
        if SCREENED in found and self.leads:
            values = {name: self.value(M) for name, M in found.items()}
            if values[SCREENED] > _WORTH * min(values.values()):
                del found[SCREENED]
        return found

    def at(self, M: Array) -> ProjectedPursuitPoint:
        return ProjectedPursuitPoint(self._means(M), self.gaussian)

    def _means(self, M: Array) -> ContrastPoint:
        return ContrastPoint(self.X, M, self.contrast, w=self.w)

    def preconditioner(self, M: Array) -> Preconditioner:
        """The inverse of the Hessian where y_k is independent of what is across m_k.

        There it multiplies v_k across M by a_k = 2 c_k (E y_k g(y_k) - E g'(y_k)), and the entries
        ik of M'V, which is skew, by (a_i + a_k)/2.

        Source: Ablin, Cardoso and Gramfort 2018 (Picard-O), of another function of the means.
        """
        means = self._means(M)
        moments = np.sum(M * means.gradient, axis=0) - means.second.sum(axis=0)
        a = 2.0 * (means.value - self.gaussian) * moments
        least = _LEAST_CURVATURE * float(np.abs(a).max()) or 1.0
        across, within = (np.maximum(b, least) for b in (a, 0.5 * (a + a[:, None])))

        def apply(N: Array, U: Array) -> Array:
            W = N.T @ U
            V: Array = (U - N @ W) / across + N @ ((0.5 * (W - W.T)) / within)
            return V

        return apply

    def contributions(self, M: Array) -> Array:
        return self.at(M).contributions


@dataclass(frozen=True)
class PursuitInPieces(Exchangeable, InPieces):
    """Projection pursuit of rows that are read at every step.

    Parameters
    ----------
    gaussian : float
        E G(nu).
    """

    gaussian: float = field(kw_only=True)

    def at(self, M: Array) -> PursuitPoint:
        return PursuitPoint(super().at(M), self.gaussian)

    def contributions(self, M: Array) -> Array:
        return self.at(M).contributions
