"""Matrices that are quadratic in the rows, without the matrices: products with them, and rates.

A(X) = sum_i X_i'(KX)_i with a symmetric linear K that mixes the rows of the views X_i, so that
AT = X'K(XT), and along dX it changes by dX'K(XT) + X'K(dX T): no matrix d x d is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldr.objectives.data.cells import Cells
from ldr.objectives.statistics.sums import membership
from ldr.solvers.manifolds import Array

Codes: TypeAlias = NDArray[np.intp]
Blocks: TypeAlias = Sequence[Array]
# KX of the views of which it is not zero.
Kernel: TypeAlias = Callable[[Blocks], Mapping[int, Array]]


def projected(X: Blocks, T: Blocks) -> list[Array]:
    """X_i T_i; a background has the samples' T."""
    return [rows @ T[min(i, len(T) - 1)] for i, rows in enumerate(X)]


@dataclass(frozen=True)
class Quadratic:
    """A matrix of the rows; of two different views, the symmetric part of K.

    Attributes
    ----------
    kernel : callable
    """

    kernel: Kernel

    def __add__(self, other: Quadratic) -> Quadratic:
        def kernel(X: Blocks) -> dict[int, Array]:
            found = dict(self.kernel(X))
            for i, KX in other.kernel(X).items():
                found[i] = found[i] + KX if i in found else KX
            return found

        return Quadratic(kernel)

    def __sub__(self, other: Quadratic) -> Quadratic:
        return self + -1.0 * other

    def __rmul__(self, factor: float) -> Quadratic:
        return Quadratic(lambda X: {i: factor * KX for i, KX in self.kernel(X).items()})

    def __truediv__(self, divisor: float) -> Quadratic:
        return (1.0 / divisor) * self

    def trace(self, X: Blocks) -> float:
        """tr A."""
        return inner(X, self.kernel(X))

    def rate_of_trace(self, X: Blocks, dX: Blocks) -> float:
        return 2.0 * inner(dX, self.kernel(X))

    def times(self, X: Blocks, T: Blocks) -> list[Array]:
        """AT of each view."""
        return _gathered(T, (X, self.kernel(projected(X, T))))

    def rate_of_times(self, X: Blocks, T: Blocks, Y: Blocks, dX: Blocks, dY: Blocks) -> list[Array]:
        """dA T along dX, from Y = XT and dY = dX T."""
        return _gathered(T, (dX, self.kernel(Y)), (X, self.kernel(dY)))


def _gathered(T: Blocks, *products: tuple[Blocks, Mapping[int, Array]]) -> list[Array]:
    """The sum of X_i'Z_i of each view."""
    found = [np.zeros_like(each) for each in T]
    for X, Z in products:
        for i, of_view in Z.items():
            found[min(i, len(T) - 1)] += X[i].T @ of_view
    return found


def inner(one: Blocks, other: Blocks | Mapping[int, Array]) -> float:
    """<one, other> over the blocks of the other."""
    pairs = other.items() if isinstance(other, Mapping) else enumerate(other)
    return sum(float(np.vdot(one[i], block)) for i, block in pairs)


@dataclass(frozen=True)
class QuadraticRows:
    """Sums over the rows of a view, as `ldr.objectives.families.matrices` asks for them."""

    n: int
    view: int = 0

    @property
    def mean(self) -> MeanOfRows:
        return MeanOfRows(self.n, self.view)

    def scatter(self) -> Quadratic:
        return self._of(_centred)

    def cross(self, other: QuadraticRows) -> Quadratic:
        def kernel(X: Blocks) -> dict[int, Array]:
            one, two = _centred(X[self.view]), _centred(X[other.view])
            return {self.view: 0.5 * two, other.view: 0.5 * one}

        return Quadratic(kernel)

    def lagged(self, lag: int) -> Quadratic:
        def both(X: Array) -> Array:
            Z, found = _centred(X), np.zeros_like(X)
            found[:-lag] += Z[lag:]
            found[lag:] += Z[:-lag]
            return _centred(found) / (2 * (self.n - lag))

        return self._of(both)

    def scatter_of_changes(self) -> Quadratic:
        def changes(X: Array) -> Array:
            steps, found = np.diff(X, axis=0), np.zeros_like(X)
            found[1:] += steps
            found[:-1] -= steps
            return found

        return self._of(changes)

    def of_groups(self, codes: Codes) -> tuple[Quadratic, Quadratic]:
        """The scatters between and within them."""
        members = membership(codes, int(codes.max()) + 1)
        counts = np.bincount(codes)[:, None]

        def means(X: Array) -> Array:
            return np.asarray((members @ X) / counts)[codes]

        return self._of(lambda X: means(_centred(X))), self._of(lambda X: X - means(X))

    def _of(self, mixed: Callable[[Array], Array]) -> Quadratic:
        return Quadratic(lambda X: {self.view: mixed(X[self.view])})


@dataclass(frozen=True)
class MeanOfRows:
    """m, of which a method takes mm'."""

    n: int
    view: int

    def __getitem__(self, axes: object) -> MeanOfRows:
        return self

    def __mul__(self, other: MeanOfRows) -> Quadratic:
        def kernel(X: Blocks) -> dict[int, Array]:
            rows = X[self.view]
            return {self.view: np.broadcast_to(rows.mean(axis=0) / self.n, rows.shape)}

        return Quadratic(kernel)


@dataclass(frozen=True)
class QuadraticData:
    """Those of all views, and of the groups that y makes."""

    views: Sequence[QuadraticRows]
    y: np.ndarray | None

    @property
    def rows(self) -> QuadraticRows:
        return self.views[0]

    def scatters_of_classes(self) -> tuple[Quadratic, Quadratic]:
        return self.rows.of_groups(np.unique(np.asarray(self.y), return_inverse=True)[1])

    def scatters_of_groups(self, groups: Callable[[Cells], Codes]) -> tuple[Quadratic, Quadratic]:
        return self.rows.of_groups(groups(np.asarray(self.y)))


def _centred(X: Array) -> Array:
    return X - X.mean(axis=0)
