"""Objectives of the Gaussian Gram matrix of the projected data, phi(Y) = F(K): exact, O(n^2)."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ldr.objectives.families.projected import Projected, ProjectedPoint
from ldr.objectives.kernels import gaussian_gram, median_distance
from ldr.solvers.errors import DataError
from ldr.solvers.manifolds import Array


class GramPoint(ProjectedPoint):
    """F(K) at K_ij = exp(-||y_i - y_j||^2 / (2 sigma^2)); subclasses give F and its derivatives.

    Slope (2/sigma^2) (D_H - H)Y with H = -F'(K) o K, D_H = diag(H1). Its derivative replaces H by
    dH = -dF' o K - F' o dK, dK = -K o (u_i + u_j - U_ij - U_ji)/sigma^2, U = Y dY', u = diag(U).

    Attributes
    ----------
    K : ndarray (n, n)
    width : float
        sigma.
    """

    def __init__(self, problem: Gram, M: Array) -> None:
        super().__init__(problem, M)
        self.width = problem.width
        self.K = gaussian_gram(self.Y, problem.width)

    @property
    @abstractmethod
    def weights(self) -> Array:
        """F'(K), symmetric."""

    @abstractmethod
    def change_of_weights(self, dK: Array) -> Array | float:
        """The derivative of F'(K) along dK."""

    @cached_property
    def _H(self) -> Array:
        return -self.weights * self.K

    @cached_property
    def slope(self) -> Array:
        return (2.0 / self.width**2) * _laplacian_times(self._H, self.Y)

    def curvature(self, dY: Array) -> Array:
        U = self.Y @ dY.T
        u = np.diag(U)
        dK = self.K * (U + U.T - u - u[:, None]) / self.width**2
        dH = -self.change_of_weights(dK) * self.K - self.weights * dK
        dLY = _laplacian_times(dH, self.Y) + _laplacian_times(self._H, dY)
        return (2.0 / self.width**2) * dLY


def _laplacian_times(H: Array, Y: Array) -> Array:
    """(D_H - H) Y."""
    return H.sum(axis=1)[:, None] * Y - H @ Y


@dataclass
class Gram(Projected):
    """An objective of the Gram matrix of Y = XM.

    Parameters
    ----------
    width : float
        sigma of the kernel of Y's rows.
    """

    width: float = field(kw_only=True)


def kernel_width(X: Array, r: int, d: int) -> float:
    """A sigma for r of d dimensions: the median distance of X's rows, times sqrt(r/d)."""
    width = median_distance(X) * math.sqrt(r / d)
    if width == 0:
        raise DataError("X has more than half of its rows equal; give width= a value")
    return width
