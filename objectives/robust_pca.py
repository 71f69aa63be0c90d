"""Robust principal component analysis: least sums of distances, not of squares."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldr.objectives.families.projected import CentredRows, Projected, ProjectedPoint
from ldr.objectives.lengths import typical_length
from ldr.objectives.objective import Data, Objective
from ldr.solvers.checks import choice, number
from ldr.solvers.eigen import top_eigenvectors
from ldr.solvers.manifolds import Array

LOSSES = ("l1", "huber")

_REWEIGHTINGS = 200
_SETTLED = 1e-9  # relative decrease of the value at which reweighting ends
_WEISZFELD_STEPS = 1000


@dataclass(frozen=True)
class RobustPCA(Objective):
    """Reconstruct most rows well: min sum_i rho(||x_i - MM'x_i||) over subspaces.

    rho(t) = t, with its kink rounded: sqrt(t^2 + e^2) - e. Or Huber's rho(t) = t^2/2 up to a
    threshold, and linear beyond it. A mean is wrecked by outliers as pca is: the data are centred
    at their geometric median, the point of least sum of distances. P = M'. There are local optima.
    A row counts by its distance, no longer by its square, but does count: enough outliers in one
    direction, or a few very far out in it, are still followed.
    An evaluation takes O(ndr) time. The heuristic is iteratively reweighted pca, O(nd^2 + d^3) a
    step, from pca of the rows' directions (spherical pca); every step of it lowers the value, so it
    often ends at the optimum itself, and then the improvement is nil.

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

    def bind(self, data: Data, r: int) -> RobustReconstruction:
        rows = CentredRows.of(data, self)
        length = typical_length(rows.X)
        centre = geometric_median(rows.X / length)
        X = rows.X / length - centre
        distances = np.linalg.norm(X, axis=1)
        rounding = self.epsilon * float(np.median(distances) or distances.mean())
        loss: Loss = RoundedDistance(rounding)
        if self.loss == "huber":
            threshold = (self.threshold or 0.0) / length or _typical_residual(X, r)
            loss = Huber(max(threshold, rounding))
        return RobustReconstruction(
            self,
            (rows.mean + length * rows.coordinates.lift(centre[:, None])[:, 0],),
            X,
            r,
            loss,
            unit=length if self.loss == "l1" else length**2,
            coordinates=(rows.coordinates,),
            notes=[*rows.notes, "the data are centred at their geometric median"],
        )


def geometric_median(X: Array) -> Array:
    """The point of least sum of distances to the rows, by Weiszfeld's steps; O(nd) each."""
    centre = np.median(X, axis=0)
    least = np.finfo(float).eps * float(np.abs(X).max())
    for _ in range(_WEISZFELD_STEPS):
        weights = 1.0 / np.maximum(np.linalg.norm(X - centre, axis=1), least)
        previous, centre = centre, weights @ X / weights.sum()
        if np.linalg.norm(centre - previous) <= 1e-10 * np.linalg.norm(X[0] - centre):
            break
    return centre


class Loss(ABC):
    """rho as a function g(q) of the squared distance q = t^2, and its derivatives in q.

    It is concave, so that pca weighted with g' never raises the sum.
    """

    @abstractmethod
    def __call__(self, q: Array) -> Array: ...

    @abstractmethod
    def slope(self, q: Array) -> Array: ...

    @abstractmethod
    def curvature(self, q: Array) -> Array: ...


@dataclass(frozen=True)
class RoundedDistance(Loss):
    """sqrt(q + e^2) - e, written without cancellation."""

    rounding: float

    def _root(self, q: Array) -> Array:
        return np.sqrt(q + self.rounding**2)

    def __call__(self, q: Array) -> Array:
        return q / (self._root(q) + self.rounding)

    def slope(self, q: Array) -> Array:
        return 0.5 / self._root(q)

    def curvature(self, q: Array) -> Array:
        return -0.25 / self._root(q) ** 3


@dataclass(frozen=True)
class Huber(Loss):
    """q/2 up to the square of the threshold c, c sqrt(q) - c^2/2 beyond."""

    threshold: float

    def _outside(self, q: Array) -> Array:
        """sqrt(q), or c where that is more."""
        return np.maximum(np.sqrt(q), self.threshold)

    def __call__(self, q: Array) -> Array:
        t = np.sqrt(q)
        inside = np.minimum(t, self.threshold)
        return inside * (t - 0.5 * inside)

    def slope(self, q: Array) -> Array:
        return 0.5 * self.threshold / self._outside(q)

    def curvature(self, q: Array) -> Array:
        curved = -0.25 * self.threshold / self._outside(q) ** 3
        return np.where(q > self.threshold**2, curved, 0.0)


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
