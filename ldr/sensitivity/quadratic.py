"""Matrices that are quadratic in the rows, without the matrices: products with them, and rates.

A(X) = sum_i X_i'(KX)_i with a symmetric linear K that mixes the rows of the views X_i, so that
AT = X'K(XT), and along dX it changes by dX'K(XT) + X'K(dX T): no matrix d x d is made.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldr.objectives.data.cells import Cells
from ldr.objectives.data.data import Data
from ldr.objectives.data.labels import as_array
from ldr.objectives.families.matrices import KernelRate
from ldr.objectives.kernels import as_response, deviations
from ldr.objectives.statistics.sums import membership
from ldr.solvers.manifolds import Array

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Codes: TypeAlias = NDArray[np.intp]
Blocks: TypeAlias = Sequence[Array]
# KX of the views of which it is not zero.
Kernel: TypeAlias = Callable[[Blocks], Mapping[int, Array]]


def projected(X: Blocks, T: Blocks) -> list[Array]:
    """X_i T_i; a background has the samples' T."""
    return [rows @ T[min(i, len(T) - 1)] for i, rows in enumerate(X)]


class Form(ABC):
    """A d x d matrix of the rows, by products."""

    @abstractmethod
    def times(self, X: Blocks, T: Blocks) -> list[Array]:
        """AT of each view."""

    @abstractmethod
    def rate_of_times(self, X: Blocks, T: Blocks, Y: Blocks, dX: Blocks, dY: Blocks) -> list[Array]:
        """dA T along dX, from Y = XT and dY = dX T."""

    def rate_at(self, X: Blocks, T: Blocks, dX: Blocks) -> list[Array]:
        """dA T of another T."""
        return self.rate_of_times(X, T, projected(X, T), dX, projected(dX, T))

    def trace(self, X: Blocks) -> float:
        """tr A, of one view."""
        return float(np.trace(self.times(X, [np.eye(X[0].shape[1])])[0]))

    def rate_of_trace(self, X: Blocks, dX: Blocks) -> float:
        return float(np.trace(self.rate_at(X, [np.eye(X[0].shape[1])], dX)[0]))

    def __matmul__(self, other: Form) -> Form:
        return Product(self, other)

    def __add__(self, other: Form) -> Form:
        return Combination([*self.parts, *other.parts])

    def __sub__(self, other: Form) -> Form:
        return self + -1.0 * other

    def __truediv__(self, divisor: float) -> Form:
        return (1.0 / divisor) * self

    def __rmul__(self, factor: float) -> Form:
        return Combination([(factor * c, A) for c, A in self.parts])

    @property
    def parts(self) -> list[tuple[float, Form]]:
        """What it is the sum of: (c_k, A_k) of sum_k c_k A_k."""
        return [(1.0, self)]


@dataclass(frozen=True)
class Product(Form):
    """AB."""

    left: Form
    right: Form

    def times(self, X: Blocks, T: Blocks) -> list[Array]:
        return self.left.times(X, self.right.times(X, T))

    def rate_of_times(self, X: Blocks, T: Blocks, Y: Blocks, dX: Blocks, dY: Blocks) -> list[Array]:
        inside = self.right.times(X, T)
        moved = self.right.rate_of_times(X, T, Y, dX, dY)
        return added(self.left.rate_at(X, inside, dX), self.left.times(X, moved))


@dataclass(frozen=True)
class Combination(Form):
    """sum_k c_k A_k."""

    terms: list[tuple[float, Form]]

    @property
    def parts(self) -> list[tuple[float, Form]]:
        return self.terms

    def times(self, X: Blocks, T: Blocks) -> list[Array]:
        return added(*([c * AT for AT in A.times(X, T)] for c, A in self.terms))

    def rate_of_times(self, X: Blocks, T: Blocks, Y: Blocks, dX: Blocks, dY: Blocks) -> list[Array]:
        parts = ((c, A.rate_of_times(X, T, Y, dX, dY)) for c, A in self.terms)
        return added(*([c * dAT for dAT in found] for c, found in parts))


@dataclass(frozen=True)
class Inverse(Form):
    """(B + ridge mean(diag B) I)^{-1} of one view."""

    B: Quadratic
    ridge: float
    array: Array

    @classmethod
    def of(cls, B: Quadratic, ridge: float, X: Array) -> Inverse:
        d = X.shape[1]
        (array,) = B.times([X], [np.eye(d)])
        array = array + ridge * np.trace(array) / d * np.eye(d)
        return cls(B, ridge, np.linalg.inv(array))

    def times(self, X: Blocks, T: Blocks) -> list[Array]:
        return [self.array @ T[0]]

    def rate_of_times(self, X: Blocks, T: Blocks, Y: Blocks, dX: Blocks, dY: Blocks) -> list[Array]:
        inside = self.times(X, T)
        (moved,) = self.B.rate_at(X, inside, dX)
        if self.ridge:
            share = self.ridge * self.B.rate_of_trace(X, dX) / len(self.array)
            moved = moved + share * inside[0]
        return [-self.array @ moved]


@dataclass(frozen=True)
class TimesTrace(Form):
    """A tr(B^{-1}N'N), N = FXc of one view."""

    A: Form
    inverse: Inverse
    F: csr_array

    def _size(self, X: Blocks) -> float:
        N = [self._means(X)]
        return inner(N, self.inverse.times(X, N))

    def _means(self, X: Blocks) -> Array:
        """N'."""
        return np.asarray(self.F @ _centred(X[0])).T

    def times(self, X: Blocks, T: Blocks) -> list[Array]:
        size = self._size(X)
        return [size * AT for AT in self.A.times(X, T)]

    def rate_of_times(self, X: Blocks, T: Blocks, Y: Blocks, dX: Blocks, dY: Blocks) -> list[Array]:
        N, dN = [self._means(X)], [self._means(dX)]
        moved = self.inverse.rate_at(X, N, dX)
        rate = 2.0 * inner(dN, self.inverse.times(X, N)) + inner(N, moved)
        parts = zip(self.A.rate_of_times(X, T, Y, dX, dY), self.A.times(X, T), strict=True)
        return [self._size(X) * dAT + rate * AT for dAT, AT in parts]


def added(*blocks: Sequence[Array]) -> list[Array]:
    """Their sum, view by view."""
    return [np.sum(each, axis=0) for each in zip(*blocks, strict=True)]


@dataclass(frozen=True)
class Quadratic(Form):
    """A matrix of the rows; of two different views, the symmetric part of K.

    Attributes
    ----------
    kernel : callable
    moved : callable or None
        From X and dX to the matrix of X with the change of K; None where K stays.
    """

    kernel: Kernel
    moved: Callable[[Blocks, Blocks], Form] | None = None

    def __add__(self, other: Form) -> Form:
        if not isinstance(other, Quadratic):
            return super().__add__(other)

        def kernel(X: Blocks) -> dict[int, Array]:
            found = dict(self.kernel(X))
            for i, KX in other.kernel(X).items():
                found[i] = found[i] + KX if i in found else KX
            return found

        one, two = self.moved, other.moved
        if one is None or two is None:
            return Quadratic(kernel, one or two)
        return Quadratic(kernel, lambda X, dX: one(X, dX) + two(X, dX))

    def __rmul__(self, factor: float) -> Quadratic:
        def kernel(X: Blocks) -> dict[int, Array]:
            return {i: factor * KX for i, KX in self.kernel(X).items()}

        one = self.moved
        return Quadratic(kernel, None if one is None else lambda X, dX: factor * one(X, dX))

    def trace(self, X: Blocks) -> float:
        """tr A."""
        return inner(X, self.kernel(X))

    def rate_of_trace(self, X: Blocks, dX: Blocks) -> float:
        found = 2.0 * inner(dX, self.kernel(X))
        return found if self.moved is None else found + self.moved(X, dX).trace(X)

    def times(self, X: Blocks, T: Blocks) -> list[Array]:
        return _gathered(T, (X, self.kernel(projected(X, T))))

    def rate_of_times(self, X: Blocks, T: Blocks, Y: Blocks, dX: Blocks, dY: Blocks) -> list[Array]:
        parts = [(dX, self.kernel(Y)), (X, self.kernel(dY))]
        if self.moved is not None:
            return added(_gathered(T, *parts), self.moved(X, dX).times(X, T))
        return _gathered(T, *parts)


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
    """Sums over the rows of a view, as `ldr.objectives.families.matrices` asks for them.

    Attributes
    ----------
    n, view : int
    shares : ndarray (n,) or None
        Weights of the rows in what is subtracted from them; None is their mean.
    """

    n: int
    view: int = 0
    shares: Array | None = None

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

    def about(self, shares: Array) -> QuadraticRows:
        return replace(self, shares=shares)

    def form(self, K: Any, rate: KernelRate | None = None) -> Quadratic:
        found = self._of(lambda X: self._centre_transposed(times(K, self._centre(X))))
        if rate is None:
            return found

        def moved(X: Blocks, dX: Blocks) -> Quadratic:
            return self.form(rate(X[self.view], dX[self.view]))

        return replace(found, moved=moved)

    def _centre(self, X: Array) -> Array:
        return _centred(X) if self.shares is None else X - self.shares @ X

    def _centre_transposed(self, X: Array) -> Array:
        return _centred(X) if self.shares is None else X - np.outer(self.shares, X.sum(axis=0))

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
    """Those of all views, and of the groups that y makes.

    Attributes
    ----------
    views : sequence of QuadraticRows
    data : Data
    made : list of callable
        Of the first view's rows, further blocks: see `blocks`.
    """

    views: Sequence[QuadraticRows]
    data: Data
    made: list[Callable[[Array], Array]] = field(default_factory=list)

    @classmethod
    def of(cls, data: Data) -> QuadraticData:
        samples = (*data.views, *filter(None, (data.background,)))
        return cls([QuadraticRows(one.n, i) for i, one in enumerate(samples)], data)

    @property
    def y(self) -> Cells:
        return as_array(self.data.y)

    def through(self, of: Callable[[Array], Array]) -> QuadraticRows:
        self.made.append(of)
        return QuadraticRows(self.rows.n, len(self.views) + len(self.made) - 1)

    def blocks(self, X: Blocks) -> list[Array]:
        """X, with the rows that were made of those of the first view."""
        return [*X, *(of(X[0]) for of in self.made)]

    def deviations(self) -> Array:
        return deviations(as_response(self.data.y, self.rows.n)[:, 0], None)

    def labels(self) -> tuple[Codes, Cells]:
        return self.data.labels

    def inverse(self, B: Quadratic, ridge: float) -> Inverse:
        return Inverse.of(B, ridge, self.data.samples.dense())

    def times_trace(self, A: Form, inverse: Inverse, F: csr_array) -> TimesTrace:
        return TimesTrace(A, inverse, F)

    def groups(self, of: Callable[[Cells], Codes]) -> Codes:
        return of(self.y)

    def links(self, weights: Callable[[Data], csr_array]) -> csr_array:
        return weights(self.data)

    @property
    def rows(self) -> QuadraticRows:
        return self.views[0]

    def scatters_of_classes(self) -> tuple[Quadratic, Quadratic]:
        return self.rows.of_groups(np.unique(self.y, return_inverse=True)[1])

    def scatters_of_groups(self, groups: Callable[[Cells], Codes]) -> tuple[Quadratic, Quadratic]:
        return self.rows.of_groups(groups(self.y))


def times(K: Any, Y: Array) -> Array:
    """KY of a matrix, or of a diagonal."""
    return K[:, None] * Y if np.ndim(K) == 1 else np.asarray(K @ Y)


def _centred(X: Array) -> Array:
    return X - X.mean(axis=0)
