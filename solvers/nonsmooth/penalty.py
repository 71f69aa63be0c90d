"""Convex nonsmooth penalties, defined by proximal maps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from ldr.solvers.manifolds import Array


class Penalty(ABC):
    """A convex function h, the sum of functions of the entries of M.

    The problem is to minimise f + h, with the smooth part f of `Problem.at`.
    """

    @abstractmethod
    def value(self, M: Array) -> float:
        """Return h(M)."""

    @abstractmethod
    def prox(self, Z: Array, t: float) -> Array:
        """Return the minimiser of |N - Z|^2/2 + t h(N) over N."""

    @abstractmethod
    def prox_derivative(self, Z: Array, t: float) -> Array:
        """Return the derivative of each entry of the proximal map in the same entry of Z."""

    @abstractmethod
    def threshold(self, shape: tuple[int, ...]) -> Array:
        """Return the largest subgradient of h at each zero entry."""

    @abstractmethod
    def slope(self, M: Array) -> Array:
        """Return the derivative of h in the nonzero entries of M; 0 for zero entries."""

    @abstractmethod
    def smoothed(self, M: Array, width: float) -> tuple[float, Array, Array]:
        """Return value, gradient and diagonal Hessian of a smoothed h.

        Entries of M far above `width` are hardly affected by the smoothing.
        """


@dataclass(frozen=True)
class L1(Penalty):
    """The lasso's penalty h(M) = sum_ij w_ij |m_ij|.

    Parameters
    ----------
    weight : float or ndarray of M's shape
        w >= 0.
    """

    weight: float | Array

    def value(self, M: Array) -> float:
        return float(np.sum(self.weight * np.abs(M)))

    def prox(self, Z: Array, t: float) -> Array:
        """Return Z soft-thresholded by tw."""
        return np.sign(Z) * np.maximum(np.abs(Z) - t * self.weight, 0.0)

    def prox_derivative(self, Z: Array, t: float) -> Array:
        return (np.abs(Z) > t * self.weight).astype(np.float64)

    def threshold(self, shape: tuple[int, ...]) -> Array:
        return np.broadcast_to(np.asarray(self.weight, dtype=np.float64), shape)

    def slope(self, M: Array) -> Array:
        return self.weight * np.sign(M)

    def smoothed(self, M: Array, width: float) -> tuple[float, Array, Array]:
        """Return sqrt(m^2 + width^2) in place of |m|."""
        root = np.sqrt(M * M + width * width)
        ratio = width / root
        return (
            float(np.sum(self.weight * root)),
            self.weight * (M / root),
            self.weight * (ratio * ratio / root),
        )
