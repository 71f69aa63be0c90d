"""Objectives of the projected distances D_ij = ||y_i - y_j||^2, Y = XM, taken in blocks of rows.

A method writes phi of some rows of D, W = dphi/dD there, and the derivative of W.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldr.objectives.families.projected import Projected, ProjectedPoint
from ldr.solvers.descent.lbfgs import LBFGS
from ldr.solvers.limits import check
from ldr.solvers.manifolds import Array

# A block of half a MiB stays in the cache while it is worked on.
_BLOCK_NUMBERS = 2**16


class PairwisePoint(ProjectedPoint):
    """phi as a sum over rows of D.

    Slope 2 L(W)Y and curvature 2 L(W)dY + 2 L(dW)Y with L(W) = diag(W1 + W'1) - W - W' and
    dD_ij = 2 (y_i - y_j)'(dy_i - dy_j). The differences are squared themselves, not expanded:
    distances of close points keep their digits. O(n^2 r) time; D is made in blocks and not kept,
    so memory is O(n r).
    """

    def __init__(self, problem: Pairwise, M: Array) -> None:
        super().__init__(problem.X, M)
        self._problem = problem
        self._strips = problem.strips

    @abstractmethod
    def weights(self, rows: slice, D: Array) -> tuple[float, Array]:
        """What these rows of D add to phi, and W there; D may be overwritten."""

    @abstractmethod
    def weights_change(self, rows: slice, D: Array, dD: Array) -> tuple[Array, Array]:
        """W at these rows of D, and its derivative along dD; both may be overwritten."""

    def _squares(self, rows: slice) -> Array:
        from scipy.spatial.distance import cdist

        return cdist(self.Y[rows], self.Y, "sqeuclidean")

    @cached_property
    def _value_and_slope(self) -> tuple[float, Array]:
        value, slope, Y1 = 0.0, np.zeros_like(self.Y), _and_one(self.Y)
        for rows in self._strips:
            check()
            part, W = self.weights(rows, self._squares(rows))
            value += part
            _add_laplacian(slope, W, rows, Y1)
        return value, 2.0 * slope

    @property
    def value(self) -> float:
        return self._value_and_slope[0]

    @property
    def slope(self) -> Array:
        return self._value_and_slope[1]

    def curvature(self, dY: Array) -> Array:
        Y, product = self.Y, np.zeros_like(dY)
        Y1, dY1 = _and_one(Y), _and_one(dY)
        own = np.einsum("ij,ij->i", Y, dY)
        left, right = np.hstack([Y, dY]), np.hstack([dY, Y]).T
        for rows in self._strips:
            check()
            dD = 2.0 * (own[rows, None] + own - left[rows] @ right)
            W, dW = self.weights_change(rows, self._squares(rows), dD)
            _add_laplacian(product, W, rows, dY1)
            _add_laplacian(product, dW, rows, Y1)
        return 2.0 * product


def _and_one(Y: Array) -> Array:
    """[Y, 1], whose product with W has the sums of W beside WY."""
    return np.column_stack([Y, np.ones(len(Y))])


def _add_laplacian(total: Array, W: Array, rows: slice, Y1: Array) -> None:
    """Add L(W)Y of a W that is zero outside these rows, from [Y, 1]."""
    Y, forth, back = Y1[:, :-1], W @ Y1, W.T @ Y1[rows]
    total[rows] += forth[:, -1:] * Y[rows] - forth[:, :-1]
    total += back[:, -1:] * Y - back[:, :-1]


@dataclass(frozen=True)
class Pairwise(Projected):
    """An objective of the projected distances."""

    def specialist(self) -> LBFGS | None:
        """A Hessian product takes as long as three evaluations and more, and saves fewer."""
        return LBFGS()

    @cached_property
    def strips(self) -> list[slice]:
        """Rows that are worked on together."""
        return row_slices(0, len(self.X), len(self.X))


def row_slices(start: int, stop: int, n: int) -> list[slice]:
    """The rows from start to stop in blocks, of an n x n matrix."""
    step = max(1, _BLOCK_NUMBERS // n)
    return [slice(a, min(a + step, stop)) for a in range(start, stop, step)]
