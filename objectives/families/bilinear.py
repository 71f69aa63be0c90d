"""Two-block SVD: max tr(Ma'K Mb) over pairs of orthonormal matrices."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter

import numpy as np

from ldr.objectives.certificate import NEARLY_COLLINEAR, PROVED_GLOBAL, Certificate
from ldr.objectives.coordinates import Axes
from ldr.objectives.data.change import Change
from ldr.objectives.families.pencil import SumOfSquares, added_to
from ldr.objectives.families.two_block import pair_correlations
from ldr.objectives.families.whitened import Unwhitened, Whitened, whiten
from ldr.objectives.families.whitened_trace import spectral_bound
from ldr.objectives.families.wide_pairs import leading_pairs
from ldr.objectives.prediction import PairedViews
from ldr.objectives.problem import BoundObjective, Fitted, Stated, check_dimension
from ldr.objectives.statistics import JointMoments, joint_moments
from ldr.objectives.statistics.covariance import Variation
from ldr.objectives.statistics.shrinkage import JointShrinkage, chosen_by
from ldr.objectives.view import Compact, noted
from ldr.solvers.deadline import decomposing
from ldr.solvers.linalg.eigen import top_singular
from ldr.solvers.manifolds import Array, Product, Stiefel
from ldr.solvers.problem import Point


class CoupledPoint(Point):
    """f = -tr(N'AN)/2, N the blocks of M below one another; gradient -AN, Hessian product -AV."""

    def __init__(self, M: Array, r: int, times: Callable[[Array], Array]) -> None:
        self.M, self._r, self._times = M, r, times

    @cached_property
    def value(self) -> float:
        return 0.5 * float(np.vdot(self.M, self.gradient))

    @cached_property
    def gradient(self) -> Array:
        return self.hessian_vector(self.M)

    def hessian_vector(self, V: Array) -> Array:
        return -self._times(V.reshape(-1, self._r)).reshape(-1)


@dataclass(frozen=True)
class Bilinear(BoundObjective):
    """Maximise tr(Ma'K Mb) on St x St; exact by the leading singular vectors of K.

    Joint rotations (MaQ, MbQ) leave the value unchanged, separate ones do not.

    - K (ka, kb)
    - correlations: whether K's singular values are correlations: then their mean is reported too
    - doubt: by how much the rounding of what K was made of may move a sum of r singular values
    - restricted: whether there may be more in the directions that the coordinates leave out
    """

    exchangeable = True

    baseline_exact = True

    K: Array
    r: int
    correlations: bool = False
    doubt: float = field(default=0.0, kw_only=True)
    restricted: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        check_dimension(self.r, min(self.K.shape))

    @cached_property
    def manifold(self) -> Product:  # type: ignore[override]
        ka, kb = self.K.shape
        return Product(Stiefel(ka, self.r), Stiefel(kb, self.r))

    @property
    def order(self) -> int:
        return max(self.K.shape)

    def at(self, M: Array) -> CoupledPoint:
        return CoupledPoint(M, self.r, self._coupled)

    def _coupled(self, N: Array) -> Array:
        """[K Nb; K'Na]."""
        k = len(self.K)
        return np.concatenate([self.K @ N[k:], self.K.T @ N[:k]])

    @cached_property
    def _singular(self) -> tuple[Array, Array, Array]:
        with decomposing(min(self.K.shape)):
            U, values, Vt = top_singular(self.K, self.r)
        return U[:, : self.r], values, Vt[: self.r].T

    def axes(self, M: Array, seen: Sequence[Variation | None]) -> Axes:
        """The singular vectors of Ma'K Mb."""
        Ma, Mb = self.blocks(M)
        return Axes.singular(Ma.T @ self.K @ Mb)

    def numbers(self, M: Array, axes: Axes, seen: Sequence[Variation | None]) -> dict[str, Array]:
        """The singular values, and the correlation of each pair."""
        rows = 1 if self.correlations or seen[0] is None else seen[0].n
        return {
            "singular_value": axes.numbers,
            "correlation": pair_correlations(axes.numbers / rows, seen),
        }

    @cached_property
    def _optimum(self) -> Array:
        U, _, V = self._singular
        return self.manifold.nearest(self.point([U, V]))

    def baseline(self) -> Array:
        return self._optimum

    def closed_form(self) -> Array:
        return self._optimum

    def parameters(self, M: Array) -> Fitted:
        if not self.correlations:
            return self.chosen
        return {**self.chosen, "mean_correlation": -self.at(M).value / self.r}

    def certificate(self, M: Array) -> Certificate:
        """No value exceeds the sum of the r largest singular values of K.

        They are good to the order of K times the rounding of the largest.
        """
        values = self._singular[1]
        best = float(np.sum(values[: self.r]))
        rounding = self.r * self.order * float(np.finfo(float).eps) * float(values[0])
        missed = max(0.0, best + self.at(M).value) + rounding
        gap = missed + self.doubt
        bounded = "the leading singular values bound the value"
        found = Certificate.of_gap(
            gap,
            PROVED_GLOBAL * max(best, np.finfo(float).tiny),
            "M spans leading singular subspaces, aligned",
            bounded if missed > self.doubt else NEARLY_COLLINEAR,
        )
        return found.restricted_to(str(self.span)) if self.restricted else found


def whitened_bilinear(
    objective: Stated,
    a: Compact,
    b: Compact,
    r: int,
    *,
    ridge: float,
    shrunk: JointShrinkage | None = None,
) -> tuple[Bilinear, float]:
    """max tr(Ma'Caa^{-1/2} Cab Cbb^{-1/2} Mb), P = M'C^{-1/2} of each; and the number of rows."""
    found = leading_pairs(a.rows, b.rows, r, ridge)
    ridges = ridge, ridge
    if found is not None:
        a, b, ridges = found.a, found.b, found.ridges
    stats, (in_a, in_b), K = whitened_cross(
        lambda of_a, of_b: joint_moments(of_a(a.rows), of_b(b.rows)),
        Unwhitened.of(a, "the covariance of the first view", ridges[0]),
        Unwhitened.of(b, "the covariance of the second view", ridges[1]),
        shrunk=shrunk,
    )
    views = (
        a.view(in_a.mean, in_a.scatter).within(in_a),
        b.view(in_b.mean, in_b.scatter).within(in_b),
    )
    size = spectral_bound(K)
    bound = Bilinear(
        objective,
        views if found is None else noted(views, found.note),
        K,
        r,
        correlations=True,
        restricted=math.inf in (in_a.outside, in_b.outside),
        answers=found or PairedViews(stats, (in_a.coordinates, in_b.coordinates), (in_a.W, in_b.W)),
        doubt=in_a.doubt(size, r) + in_b.doubt(size, r),
        chosen=chosen_by(shrunk),
        rest=found,
    )
    return bound, stats.n


def whitened_cross(
    sums: Callable[..., JointMoments], *given: Unwhitened, shrunk: JointShrinkage | None = None
) -> tuple[JointMoments, list[Whitened], Array]:
    """Sums over rows of two views, the coordinates that whiten each, and Cab in them."""

    def with_squares(*changes: Change) -> tuple[JointMoments, list[SumOfSquares]]:
        stats = sums(*changes)
        squares = [
            SumOfSquares.covariance(stats.scatter_aa, stats.mean_a, stats.n),
            SumOfSquares.covariance(stats.scatter_bb, stats.mean_b, stats.n),
        ]
        if shrunk is not None:
            squares = added_to(squares, changes, shrunk.added)
        return stats, squares

    (stats, _), (in_a, in_b) = whiten(with_squares, itemgetter(1), *given)
    K = np.ascontiguousarray(in_b.rows(in_a.rows(stats.scatter_ab / stats.n).T).T)
    return stats, [in_a, in_b], K
