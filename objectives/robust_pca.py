"""Robust principal component analysis: least sums of distances, not of squares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldr.objectives.families.projected import DenseRows, Projected, ProjectedPoint
from ldr.objectives.families.row_sum import Frame, RowSum, in_pieces
from ldr.objectives.lengths import typical_length
from ldr.objectives.losses import Huber, Loss, RoundedDistance
from ldr.objectives.medians import geometric_median
from ldr.objectives.objective import BoundObjective, Data, Objective
from ldr.objectives.reconstruction_sums import (
    IN_PIECES,
    distances,
    median_frame,
    reconstruction,
    spherical_sums,
)
from ldr.objectives.samples import Samples
from ldr.solvers.checks import choice, number
from ldr.solvers.eigen import top_eigenvectors
from ldr.solvers.manifolds import Array

LOSSES = ("l1", "huber")

CENTRED = "the data are centred at their geometric median"

_REWEIGHTINGS = 200
_SETTLED = 1e-9  # relative decrease of the value at which reweighting ends


@dataclass(frozen=True)
class RobustPCA(Objective):
    """Reconstruct most rows well: min sum_i rho(||x_i - MM'x_i||) over subspaces.

    rho(t) = t, with its kink rounded: sqrt(t^2 + e^2) - e. Or Huber's rho(t) = t^2/2 up to a
    threshold, and linear beyond it. A mean is wrecked by outliers as pca is: the data are centred
    at their geometric median, the point of least sum of distances. P = M'. There are local optima.
    A row counts by its distance, no longer by its square, but does count: enough outliers in one
    direction, or a few very far out in it, are still followed.
    An evaluation takes O(ndr) time; of rows in a file or on a cluster it is a pass over them. The
    heuristic is iteratively reweighted pca, O(nd^2 + d^3) a step, from pca of the rows' directions
    (spherical pca); every step of it lowers the value, so it often ends at the optimum itself, and
    then the improvement is nil.

    Source: Ding, Zhou, He and Zha 2006; Huber 1964; Locantore and others 1999 (spherical pca).

    Parameters
    ----------
    loss : {"l1", "huber"}
        rho.
    epsilon : float
        e, in units of the median distance of the rows from the centre.
    threshold : float, optional
        Huber's, in units of X; by default the median distance of the rows from the subspace of
        spherical pca.
    """

    name = "robust-pca"
    formula = "min sum_i rho(||x_i - MM'x_i||)"
    source = "Ding, Zhou, He & Zha 2006; Huber 1964"
    sense = "min"
    baseline = "iteratively reweighted pca"

    loss: str = "l1"
    epsilon: float = 1e-3
    threshold: float | None = None

    def __post_init__(self) -> None:
        choice("loss", self.loss, LOSSES)
        number("epsilon", self.epsilon, positive=True)
        if self.threshold is not None:
            number("threshold", self.threshold, positive=True)

    def bind(self, data: Data, r: int) -> BoundObjective:
        if in_pieces(data.samples):
            return self._in_pieces(data.samples, r)
        rows = DenseRows.centred(data, self)
        length = typical_length(rows.X)
        centre = geometric_median(rows.X / length)
        X = rows.X / length - centre
        loss = self._loss(np.linalg.norm(X, axis=1), length, lambda: _typical_residual(X, r))
        return RobustReconstruction(
            self,
            (rows.mean + length * rows.coordinates.lift(centre[:, None])[:, 0],),
            X,
            r,
            loss,
            unit=self._unit(length),
            coordinates=(rows.coordinates,),
            notes=[*rows.notes, CENTRED],
        )

    def _in_pieces(self, samples: Samples, r: int) -> RowSum:
        frame = median_frame(samples, r)
        loss = self._loss(
            distances(samples, frame),
            frame.length,
            lambda: _typical_residual_in_pieces(samples, frame, r),
        )
        return reconstruction(
            self,
            samples,
            frame,
            loss,
            r,
            unit=self._unit(frame.length),
            notes=[CENTRED, IN_PIECES],
        )

    def _unit(self, length: float) -> float:
        """Of the value, where lengths are in this unit."""
        return length if self.loss == "l1" else length**2

    def _loss(self, lengths: Array, unit: float, typical: Callable[[], float]) -> Loss:
        """rho, from the rows' distances from the centre and from a typical residual, in a unit."""
        rounding = self.epsilon * float(np.median(lengths) or lengths.mean())
        if self.loss == "l1":
            return RoundedDistance(rounding)
        threshold = (self.threshold or 0.0) / unit or typical()
        return Huber(max(threshold, rounding))


class ReconstructionPoint(ProjectedPoint):
    """phi = sum_i g(q_i), q_i = ||x_i - My_i||^2 = ||x_i||^2 - ||y_i||^2 for orthonormal M.

    Slope -2 g' y and curvature -2 (g' dy + g'' dq y) with dq = -2 y'dy, a row a sample.
    """

    def __init__(self, problem: RobustReconstruction, M: Array) -> None:
        super().__init__(problem, M)
        self._loss = problem.loss
        residual = problem.X - self.Y @ M.T  # the difference of squares would lose small q
        self._q = np.einsum("ij,ij->i", residual, residual)

    @cached_property
    def value(self) -> float:
        return float(self._loss(self._q).sum())

    @cached_property
    def pull(self) -> Array:
        """g'(q_i), the weights of the next reweighted pca."""
        return self._loss.slope(self._q)

    @cached_property
    def slope(self) -> Array:
        return -2.0 * self.pull[:, None] * self.Y

    def curvature(self, dY: Array) -> Array:
        dq = -2.0 * np.einsum("ij,ij->i", self.Y, dY)
        bend = self._loss.curvature(self._q) * dq
        return -2.0 * (self.pull[:, None] * dY + bend[:, None] * self.Y)


@dataclass
class RobustReconstruction(Projected):
    """Robust reconstruction on the Grassmann manifold.

    Parameters
    ----------
    loss : Loss
    """

    loss: Loss

    def at(self, M: Array) -> ReconstructionPoint:
        return ReconstructionPoint(self, M)

    def baseline(self) -> Array:
        """Reweighted pca: the top eigenvectors of sum_i g'(q_i) x_i x_i', again and again."""
        point = self.at(spherical_directions(self.X, self.r))
        for _ in range(_REWEIGHTINGS):
            new = self.at(_weighted_directions(self.X, point.pull, self.r))
            settled = point.value - new.value <= _SETTLED * point.value
            if new.value < point.value:
                point = new
            if settled:
                break
        return point.M

    def starts(self) -> dict[str, Array]:
        """Named starting points besides the baseline."""
        return {
            "pca": _weighted_directions(self.X, np.ones(len(self.X)), self.r),
            "spherical pca": spherical_directions(self.X, self.r),
        }


def spherical_directions(X: Array, r: int) -> Array:
    """pca of the rows divided by their norms."""
    squares = np.einsum("ij,ij->i", X, X)
    return _weighted_directions(X, np.divide(1.0, squares, where=squares > 0, out=squares * 0), r)


def _weighted_directions(X: Array, weights: Array, r: int) -> Array:
    return top_eigenvectors((X.T * weights) @ X, r)[1]


def _typical_residual(X: Array, r: int) -> float:
    """The median distance of the rows from the subspace of spherical pca."""
    M = spherical_directions(X, r)
    return float(np.median(np.linalg.norm(X - (X @ M) @ M.T, axis=1)))


def _typical_residual_in_pieces(samples: Samples, frame: Frame, r: int) -> float:
    M = top_eigenvectors(spherical_sums(samples, frame)[1], r)[1]
    return float(np.median(distances(samples, frame, M)))
