"""Losses of a distance that grow more slowly than its square."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from ldr.solvers.manifolds import Array
from ldr.solvers.records import dataclass


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

    @abstractmethod
    def of_number(self, q: Array) -> tuple[Array, Array]:
        """The derivatives of g and of g' in rho's own number: e, or the threshold."""


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

    def of_number(self, q: Array) -> tuple[Array, Array]:
        e, root = self.rounding, self._root(q)
        return e / root - 1.0, -0.5 * e / root**3


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

    def of_number(self, q: Array) -> tuple[Array, Array]:
        outside = self._outside(q)
        return outside - self.threshold, np.where(q > self.threshold**2, 0.5 / outside, 0.0)
