"""Objectives of the Gaussian Gram matrix of the projected data, phi(Y) = F(K): exact, O(n^2)."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, Self, TypeAlias, runtime_checkable

import numpy as np

from ldr.objectives.families.projected import Projected, ProjectedPoint
from ldr.objectives.kernels import gaussian_gram, gradient_of_median, median_distance
from ldr.solvers.errors import ArgumentError, DataError
from ldr.solvers.linalg.lengths import power_of_two
from ldr.solvers.manifolds import Array
from ldr.solvers.records import dataclass, field, replace

# Rows up to so many widths have derivatives that are numbers.
_LONGEST = 1e50
# A width up to this size, or its inverse, keeps its unit.
_IN_RANGE = 2.0**100

# Of a Gram matrix: the matrix, or factors.
Change: TypeAlias = tuple[Array, ...]


@runtime_checkable
class Bilinear(Protocol):
    """A point of f bilinear in K and in K_z, centred: the change of one stands for the other."""

    def change(self, dY: Array) -> Change:
        """Of its Gram matrix."""

    def rate_of(self, change: Change) -> float:
        """f of this one and of a change of the other."""

    def slope_of(self, change: Change) -> Array:
        """Its derivative in Y."""


class GramPoint(ProjectedPoint):
    """F(K) at K_ij = exp(-||y_i - y_j||^2 / (2 sigma^2)); subclasses give F and its derivatives.

    Slope (2/sigma^2) (D_H - H)Y with H = -F'(K) o K, D_H = diag(H1). Along dY, dK = K o E with
    E_ij = -<y_i - y_j, dy_i - dy_j>/sigma^2, and in the slope's derivative dH = H o E - dF' o K.

    Attributes
    ----------
    K : ndarray (n, n)
    width : float
        sigma.
    """

    def __init__(self, problem: Gram, M: Array) -> None:
        super().__init__(problem.X, M)
        self.width = problem.width
        self.K = gaussian_gram(self.Y, problem.width)

    @property
    @abstractmethod
    def weights(self) -> Array:
        """F'(K), symmetric."""

    def change_of_weights(self, dY: Array) -> Array | None:
        """The derivative of F'(K) along dY; None where F is linear."""
        return None

    def change_of_gram(self, dY: Array) -> Array:
        """dK."""
        left, right = relative_change(self.Y, self.Y, dY, dY, self.width)
        dK = left @ right.T
        dK *= self.K
        return dK

    @cached_property
    def _H(self) -> Array:
        H = self.weights * self.K
        return np.negative(H, out=H)

    @cached_property
    def _HY1(self) -> Array:
        return self._H @ self.Y1

    @cached_property
    def slope(self) -> Array:
        return (2.0 / self.width**2) * self._laplacian_times(self._HY1, self.Y, self._HY1)

    def curvature(self, dY: Array) -> Array:
        left, right = relative_change(self.Y, self.Y, dY, dY, self.width)
        dHY1 = hadamard_times(self._H, left, right, self.Y1)
        change = self.change_of_weights(dY)
        if change is not None:
            change *= self.K
            dHY1 -= change @ self.Y1
        product = self._laplacian_times(dHY1, self.Y, dHY1)
        product += self._laplacian_times(self._HY1, dY, self._H @ dY)
        return (2.0 / self.width**2) * product

    def _laplacian_times(self, HY1: Array, Z: Array, HZ: Array) -> Array:
        """(D_H - H)Z from H[Y, 1], which ends in H1, and HZ, perhaps with H1 at its end too."""
        return HY1[:, -1:] * Z - HZ[:, : Z.shape[1]]


def relative_change(Y: Array, U: Array, dY: Array, dU: Array, width: float) -> tuple[Array, Array]:
    """Factors A, B with AB' = E: of the Gaussian kernel of rows of Y and of U, dK = K o E.

    E_ij = -<y_i - u_j, dy_i - du_j>/sigma^2 is of rank 2r + 2.
    """
    y, u = np.einsum("ij,ij->i", Y, dY), np.einsum("ij,ij->i", U, dU)
    left = np.column_stack([Y, dY, -y, -np.ones(len(Y))]) / width**2
    return left, np.column_stack([dU, U, np.ones(len(U)), u])


def hadamard_times(H: Array, left: Array, right: Array, Z: Array) -> Array:
    """(H o AB')Z = sum_k diag(a_k) H diag(b_k) Z, without forming AB'."""
    n, k = right.shape
    columns = (right[:, :, None] * Z[:, None, :]).reshape(n, k * Z.shape[1])
    return np.einsum("ik,ikj->ij", left, (H @ columns).reshape(len(H), k, Z.shape[1]))


@dataclass(frozen=True)
class Gram(Projected):
    """An objective of the Gram matrix of Y = XM.

    Parameters
    ----------
    width : float
        sigma of the kernel of Y's rows.
    annealing : tuple of float
        Widths, in units of sigma, of the easier problems.
    own : float, optional
        sigma of z's kernel, where z are the rows themselves.
    """

    width: float = field(kw_only=True)
    annealing: tuple[float, ...] = field(default=(), kw_only=True)
    own: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        X, width = in_range(self.X, self.width)
        own = None if self.own is None else self.own * (width / self.width)
        vars(self).update(X=X, width=width, own=own)

    @cached_property
    def of_median(self) -> Array:
        """The derivative of the logarithm of the rows' median distance in them."""
        return gradient_of_median(self.X)

    def _chosen(self, width: str) -> bool:
        """Whether the rows choose it: by their median distance."""
        return getattr(self.objective, width, None) is None

    if TYPE_CHECKING:  # where `own` is given

        @property
        def of_z(self) -> Bilinear:
            """The Gram matrix of the rows themselves, at M = I."""

    def rate_at(self, point: ProjectedPoint, dX: Array) -> tuple[float, Array]:
        """phi is of Y/sigma, and K_z moves with the rows that it is of."""
        value, slope = super().rate_at(point, dX)
        if self._chosen("width"):
            rate = -float(np.vdot(self.of_median, dX))
            value = rate * float(np.vdot(point.slope, point.Y))
            slope = rate * (point.slope + point.curvature(point.Y))
        if self.own is None:
            return value, slope
        assert isinstance(point, Bilinear)
        if self._chosen("response_width"):
            dX = dX - np.vdot(self.of_median, dX) * self.X
        change = self.of_z.change(dX)
        return value + point.rate_of(change), slope + point.slope_of(change)

    def pulled_at(self, point: ProjectedPoint, dY: Array) -> Array:
        found = super().pulled_at(point, dY)
        if self._chosen("width"):
            share = np.vdot(point.slope + point.curvature(point.Y), dY)
            found = -float(share) * self.of_median
        if self.own is None:
            return found
        assert isinstance(point, Bilinear)
        pulled = self.of_z.slope_of(point.change(dY))
        if self._chosen("response_width"):
            pulled = pulled - np.vdot(self.X, pulled) * self.of_median
        return found + pulled

    @cached_property
    def easier(self) -> Sequence[Self]:
        return [replace(self, width=t * self.width, annealing=()) for t in self.annealing]


def in_range(X: Array, width: float) -> tuple[Array, float]:
    """Rows and the width of their kernel in a unit in which the width's powers are numbers."""
    longest = float(np.abs(X).max(initial=0.0))
    if longest / _LONGEST > width:
        raise ArgumentError(
            f"width = {width:.1e} is too small beside rows of X of the length {longest:.1e}: "
            "to the kernel each row would be alone"
        )
    if 1.0 / _IN_RANGE <= width <= _IN_RANGE:
        return X, width
    unit = power_of_two(np.array(width))
    return X / unit, width / unit


def kernel_width(X: Array, weights: Array | None, r: int, d: int) -> float:
    """A sigma for r of d dimensions: the median distance of X's rows, times sqrt(r/d)."""
    width = median_distance(X, weights) * math.sqrt(r / d)
    if width == 0:
        raise DataError("X has more than half of its rows equal; give width= a value")
    return width
