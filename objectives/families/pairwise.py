"""Objectives of the projected distances D_ij = ||y_i - y_j||^2, Y = XM, taken in strips of rows.

A method writes phi of some rows of D, W = dphi/dD there, and the derivative of W.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldr.objectives.data.data import Data
from ldr.objectives.families.projected import Projected, ProjectedPoint
from ldr.solvers.descent.lbfgs import LBFGS
from ldr.solvers.limits import check
from ldr.solvers.manifolds import Array

# A block of half a MiB stays in the cache while it is worked on.
_BLOCK_NUMBERS = 2**16
_FEW = 3
# Up to so many pairs (32 MiB a number of each) a point keeps what its Hessian products share.
_KEPT = 2**22


class Change:
    """A dY, and how distances change along it."""

    def __init__(self, Y: Array, dY: Array) -> None:
        one = np.ones((len(Y), 1))
        own = np.einsum("ij,ij->i", Y, dY)[:, None]
        self.dY, self.dY1 = dY, np.hstack([dY, one])
        self._left = 2.0 * np.hstack([own, one, -Y, -dY])
        self._right = np.hstack([one, own, dY, Y]).T

    def of_squares(self, rows: slice, columns: slice) -> Array:
        """These of dD."""
        return np.asarray(self._left[rows] @ self._right[:, columns])


def kept_of_pairs(data: Data, numbers: float) -> float:
    """`Footprint.pairs` of points that keep so many numbers of each pair for Hessian products."""
    rows = data.samples
    return numbers if rows.n_known and rows.n**2 <= _KEPT else 0.0


# Adds what some rows give to a Hessian product, halved.
Strip = Callable[[Array, Change], None]


class PairwisePoint(ProjectedPoint):
    """phi as a sum over rows of D, strip by strip.

    Memory is O(n r), and for n <= 2048 what Hessian products at a point share, some n^2 numbers.
    """

    def __init__(self, problem: Pairwise, M: Array) -> None:
        super().__init__(problem.X, M)
        self._problem = problem
        self._strips = problem.strips

    @abstractmethod
    def add_slope(self, slope: Array, rows: slice) -> float:
        """What these rows of D add to phi, and, halved, to its slope."""

    @abstractmethod
    def strip(self, rows: slice) -> Strip:
        """What these rows of D add to Hessian products."""

    def columns(self, rows: slice) -> slice:
        """Those of D that are looked at in these rows: all."""
        return slice(None)

    def squares(self, rows: slice) -> Array:
        """D there; the differences are squared themselves, not expanded.

        So distances of close points keep their digits.
        """
        from scipy.spatial.distance import cdist

        return cdist(self.Y[rows], self.Y[self.columns(rows)], "sqeuclidean")

    @cached_property
    def _value_and_slope(self) -> tuple[float, Array]:
        value, slope = 0.0, np.zeros_like(self.Y)
        for rows in self._strips:
            check()
            value += self.add_slope(slope, rows)
        return value, 2.0 * slope

    @property
    def value(self) -> float:
        return self._value_and_slope[0]

    @property
    def slope(self) -> Array:
        return self._value_and_slope[1]

    def curvature(self, dY: Array) -> Array:
        product, change = np.zeros_like(dY), Change(self.Y, dY)
        for add in self._products:
            check()
            add(product, change)
        return 2.0 * product

    @property
    def _products(self) -> Iterable[Strip]:
        return self._kept if len(self.Y) ** 2 <= _KEPT else map(self.strip, self._strips)

    @cached_property
    def _kept(self) -> list[Strip]:
        return [self.strip(rows) for rows in self._strips]


class WeightedPairsPoint(PairwisePoint):
    """With a dense W: slope 2 L(W)Y and curvature 2 L(W)dY + 2 L(dW)Y.

    L(W) = diag(W1 + W'1) - W - W' and dD_ij = 2 (y_i - y_j)'(dy_i - dy_j). O(n^2 r) time.
    """

    @abstractmethod
    def weights(self, rows: slice, D: Array) -> tuple[float, Array]:
        """What these rows of D add to phi, and W there; D may be overwritten."""

    @abstractmethod
    def weights_change(self, rows: slice, D: Array) -> tuple[Array, Callable[[Array], Array]]:
        """W at these rows of D, and dW as a function of dD; both D's may be overwritten."""

    def add_slope(self, slope: Array, rows: slice) -> float:
        value, W = self.weights(rows, self.squares(rows))
        self._add_laplacian(slope, W, rows, self._Y1)
        return value

    def strip(self, rows: slice) -> Strip:
        W, dW = self.weights_change(rows, self.squares(rows))

        def add(product: Array, change: Change) -> None:
            self._add_laplacian(product, W, rows, change.dY1)
            self._add_laplacian(
                product, dW(change.of_squares(rows, self.columns(rows))), rows, self._Y1
            )

        return add

    @cached_property
    def _Y1(self) -> Array:
        return np.column_stack([self.Y, np.ones(len(self.Y))])

    def _add_laplacian(self, total: Array, W: Array, rows: slice, Y1: Array) -> None:
        """Add L(W)Y of a W that is zero elsewhere, from [Y, 1]."""
        Y, columns = Y1[:, :-1], self.columns(rows)
        forth, back = _times(W, Y1[columns]), _times(W.T, Y1[rows])
        total[rows] += forth[:, -1:] * Y[rows] - forth[:, :-1]
        total[columns] += back[:, -1:] * Y[columns] - back[:, :-1]


def _times(W: Array, Y: Array) -> Array:
    """WY; few columns take half the time one by one."""
    if Y.shape[1] > _FEW:
        return W @ Y
    product = np.empty((len(W), Y.shape[1]))
    for k, y in enumerate(Y.T):
        product[:, k] = W @ y
    return product


@dataclass(frozen=True)
class Pairwise(Projected):
    """An objective of the projected distances."""

    def specialist(self) -> LBFGS | None:
        """A Hessian product takes about as long as an evaluation, and saves fewer."""
        return LBFGS()

    @cached_property
    def strips(self) -> list[slice]:
        """Rows that are worked on together."""
        return row_slices(0, len(self.X), len(self.X))


def row_slices(start: int, stop: int, n: int) -> list[slice]:
    """The rows from start to stop in blocks, of an n x n matrix."""
    step = max(1, _BLOCK_NUMBERS // n)
    return [slice(a, min(a + step, stop)) for a in range(start, stop, step)]
