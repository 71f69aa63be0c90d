"""Eigenvalues s of a symmetric S that count by their size or root h, h(S) = VhV', and its rate.

It moves by V(G o V'dS V)V', G_ij = (h_i - h_j)/(s_i - s_j).

Matrices of the rows that are known by their products: sums, products and inverses.

A(X) = sum_i X_i'(KX)_i with a linear K that mixes the rows of the views X_i, so that AT = X'K(XT):
no matrix d x d is made. Products are polynomials in X or one Newton step, so that of X + ih dX they
have h times their rate along dX as imaginary part, h tiny and nothing cancelled.

Sums over the rows as matrices that are known by their products.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldr.objectives.data.array_types import Cells, Given, Matrix
from ldr.objectives.data.data import Data, UnknownError
from ldr.objectives.data.opening import derivatives_of
from ldr.objectives.data.sample_metadata import as_array
from ldr.objectives.data.samples import Samples
from ldr.objectives.families.matrices import Grouped, MovingKernel, by_links_of_pairs
from ldr.objectives.kernel import as_response, deviations
from ldr.objectives.statistics.products import OneSided
from ldr.objectives.statistics.sums import counted_rows, membership, weighted
from ldr.objectives.statistics.time import pair_counts
from ldr.solvers.linalg.eigen import symmetric_eigen
from ldr.solvers.manifolds import Array

if TYPE_CHECKING:
    from scipy.sparse import csr_array


# Roots whose sum is below this share of the largest are zero.
_NO_ROOT = 1e-12


@dataclass(frozen=True)
class Spectrum:
    """Of S.

    - s, h (k,), V (k, k)
    """

    s: Array
    h: Array
    V: Array

    @classmethod
    def of(cls, S: Array, by: str) -> Spectrum:
        """By "sizes" or "roots"."""
        s, V = symmetric_eigen(S)
        return cls(s, np.abs(s) if by == "sizes" else np.sqrt(np.maximum(s, 0.0)), V)

    def times(self, M: Array) -> Array:
        """h(S)M."""
        return np.asarray((self.V * self.h) @ (self.V.T @ M))

    def moved(self, M: Array, dSM: Array, by: str) -> Array:
        """d h(S) M, M spanned by eigenvectors of S."""
        s, h, V = self.s, self.h, self.V
        R = V.T @ M
        if by == "roots":
            both = h[:, None] + h
            G = np.divide(1.0, both, out=np.zeros_like(both), where=both > _NO_ROOT * h.max())
        else:
            gaps, alike = s[:, None] - s, np.sign(s)[:, None] == np.sign(s)
            G = np.where(alike, np.sign(s), (h[:, None] - h) / np.where(alike, 1.0, gaps))
        return np.asarray(V @ ((G * (V.T @ dSM @ R.T)) @ R))


Blocks: TypeAlias = Sequence[Array]
# Real, or complex of complex rows.
Number: TypeAlias = Any
# KX of the views of which it is not zero.
Kernel: TypeAlias = Callable[[Blocks], Mapping[int, Array]]


class Moving(list[Array]):
    """Rows X + i dX of views, whose two parts are kept: what is known of X need not be found again.

    Attributes
    ----------
    still, moves : sequence of ndarray
    """

    def __init__(self, still: Blocks, moves: Blocks) -> None:
        super().__init__(x + 1j * dx for x, dx in zip(still, moves, strict=True))
        self.still, self.moves = still, moves


def projected(X: Blocks, T: Blocks) -> list[Array]:
    """X_i T_i; a background has the samples' T."""
    return [rows @ T[min(i, len(T) - 1)] for i, rows in enumerate(X)]


class Form(ABC):
    """A d x d matrix of the rows, by products."""

    @abstractmethod
    def times(self, X: Blocks, T: Blocks) -> list[Array]:
        """AT of each view."""

    @abstractmethod
    def pulled(self, X: Blocks, T: Blocks, U: Blocks) -> list[Array]:
        """The derivative in X of <U, AT>."""

    @property
    def transposed(self) -> Form:
        """A'; A itself unless said otherwise."""
        return self

    def trace(self, X: Blocks) -> Number:
        """tr A, of one view."""
        return np.trace(self.times(X, [np.eye(X[0].shape[1])])[0])

    def pulled_of_trace(self, X: Blocks, share: float) -> list[Array]:
        """The derivative in X of that share of tr A."""
        unit = np.eye(X[0].shape[1])
        return self.pulled(X, [unit], [share * unit])

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
class Constant(Form):
    """Of one view; it stays where the rows move."""

    array: Array

    def times(self, X: Blocks, T: Blocks) -> list[Array]:
        return [self.array @ T[0]]

    def pulled(self, X: Blocks, T: Blocks, U: Blocks) -> list[Array]:
        return [np.zeros_like(each) for each in X]


@dataclass(frozen=True)
class Product(Form):
    """AB, of one view."""

    left: Form
    right: Form

    def times(self, X: Blocks, T: Blocks) -> list[Array]:
        return self.left.times(X, self.right.times(X, T))

    def pulled(self, X: Blocks, T: Blocks, U: Blocks) -> list[Array]:
        of_left = self.left.pulled(X, self.right.times(X, T), U)
        return added(of_left, self.right.pulled(X, T, self.left.transposed.times(X, U)))

    @property
    def transposed(self) -> Form:
        return self.right.transposed @ self.left.transposed


@dataclass(frozen=True)
class Combination(Form):
    """sum_k c_k A_k."""

    terms: list[tuple[float, Form]]

    @property
    def parts(self) -> list[tuple[float, Form]]:
        return self.terms

    def times(self, X: Blocks, T: Blocks) -> list[Array]:
        return added(*([c * AT for AT in A.times(X, T)] for c, A in self.terms))

    def pulled(self, X: Blocks, T: Blocks, U: Blocks) -> list[Array]:
        return added(*([c * each for each in A.pulled(X, T, U)] for c, A in self.terms))

    def trace(self, X: Blocks) -> Number:
        return sum(c * A.trace(X) for c, A in self.terms)

    def pulled_of_trace(self, X: Blocks, share: float) -> list[Array]:
        return added(*(A.pulled_of_trace(X, c * share) for c, A in self.terms))

    @property
    def transposed(self) -> Form:
        return Combination([(c, A.transposed) for c, A in self.terms])


@dataclass(frozen=True)
class Inverse(Form):
    """(B + ridge mean(diag B) I)^{-1} of one view."""

    B: Form
    ridge: float
    array: Array

    @classmethod
    def of(cls, B: Form, ridge: float, X: Array) -> Inverse:
        d = X.shape[1]
        (array,) = B.times([X], [np.eye(d)])
        array = array + ridge * np.trace(array) / d * np.eye(d)
        return cls(B, ridge, np.linalg.inv(array))

    def times(self, X: Blocks, T: Blocks) -> list[Array]:
        inside = self.array @ T[0]
        if np.isrealobj(X[0]):
            return [inside]
        (square,) = self.B.times(X, [inside])
        square = square + self.ridge * self.B.trace(X) / len(inside) * inside
        return [2.0 * inside - self.array @ square]

    def pulled(self, X: Blocks, T: Blocks, U: Blocks) -> list[Array]:
        inside, back = self.times(X, T), [-each for each in self.times(X, U)]
        found = self.B.pulled(X, inside, back)
        if self.ridge:
            share = self.ridge * inner(inside, back) / len(self.array)
            found = added(found, self.B.pulled_of_trace(X, share))
        return found


@dataclass(frozen=True)
class TimesTrace(Form):
    """A tr(B^{-1}N'N), N = FXc of one view."""

    A: Form
    inverse: Inverse
    F: csr_array

    def _size(self, X: Blocks) -> Number:
        N = [self._means(X)]
        return inner(N, self.inverse.times(X, N))

    def _means(self, X: Blocks) -> Array:
        """N'."""
        return np.asarray(self.F @ centred(X[0])).T

    def times(self, X: Blocks, T: Blocks) -> list[Array]:
        size = self._size(X)
        return [size * AT for AT in self.A.times(X, T)]

    def pulled(self, X: Blocks, T: Blocks, U: Blocks) -> list[Array]:
        N, along = [self._means(X)], inner(U, self.A.times(X, T))
        found = [self._size(X) * each for each in self.A.pulled(X, T, U)]
        found = added(found, [along * each for each in self.inverse.pulled(X, N, N)])
        found[0] = found[0] + 2.0 * along * centred(self.F.T @ self.inverse.times(X, N)[0].T)
        return found


def added(*blocks: Sequence[Array]) -> list[Array]:
    """Their sum, view by view."""
    return [sum(each[1:], start=each[0]) for each in zip(*blocks, strict=True)]


@dataclass(frozen=True)
class Quadratic(Form):
    """A matrix of the rows; of two different views, the symmetric part of K.

    - back: its transpose; None where K is symmetric
    - moved: from X and dX to the matrix of X with the change of K; None where K stays
    - moved_back: from X, Y and Z to the derivative of <Y, KZ> in the X that K is made of
    """

    kernel: Kernel
    back: Kernel | None = None
    moved: Callable[[Blocks, Blocks], Quadratic] | None = None
    moved_back: Callable[[Blocks, Blocks, Blocks], list[Array]] | None = None

    @property
    def transposed(self) -> Form:
        if self.back is None:
            return self
        return Quadratic(self.back, self.kernel)

    def pulled(self, X: Blocks, T: Blocks, U: Blocks) -> list[Array]:
        found = [np.zeros_like(each) for each in X]
        XT, XU = projected(X, T), projected(X, U)
        for kernel, Y, other in ((self.kernel, XT, U), (self.back or self.kernel, XU, T)):
            for i, Z in kernel(Y).items():
                found[i] += Z @ other[min(i, len(T) - 1)].T
        return found if self.moved_back is None else added(found, self.moved_back(X, XU, XT))

    def pulled_of_trace(self, X: Blocks, share: float) -> list[Array]:
        """K symmetric."""
        found = [np.zeros_like(each) for each in X]
        for i, KX in self.kernel(X).items():
            found[i] += 2.0 * share * KX
        if self.moved_back is None:
            return found
        return added(found, [share * each for each in self.moved_back(X, X, X)])

    def trace(self, X: Blocks) -> Number:
        found = inner(X, self.kernel(X))
        if self.moved is not None and isinstance(X, Moving):
            found = found + 1j * self.moved(X.still, X.moves).trace(X.still)
        return found

    def times(self, X: Blocks, T: Blocks) -> list[Array]:
        found = [np.zeros_like(each) for each in T]
        for i, Z in self.kernel(projected(X, T)).items():
            v = min(i, len(T) - 1)
            found[v] = found[v] + X[i].T @ Z
        if self.moved is not None and isinstance(X, Moving):
            change = self.moved(X.still, X.moves).times(X.still, [each.real for each in T])
            found = [each + 1j * moved for each, moved in zip(found, change, strict=True)]
        return found


def inner(one: Blocks, other: Blocks | Mapping[int, Array]) -> Number:
    """<one, other> over the blocks of the other."""
    pairs = other.items() if isinstance(other, Mapping) else enumerate(other)
    return sum(np.ravel(one[i]) @ np.ravel(block) for i, block in pairs)


def centred(X: Array) -> Array:
    return X - X.mean(axis=0)


@dataclass(frozen=True)
class Centring:
    """Rows less their mean, times the roots of their weights w, which add up to N."""

    w: Array | None

    def mean(self, X: Array) -> Array:
        return np.average(X, axis=0, weights=self.w)

    def __call__(self, X: Array) -> Array:
        return weighted(X - self.mean(X), self.w)

    def back(self, Z: Array) -> Array:
        """The transpose."""
        Z = weighted(Z, self.w)
        shares = 1.0 / len(Z) if self.w is None else (self.w / self.w.sum())[:, None]
        return np.asarray(Z - shares * Z.sum(axis=0))


Codes: TypeAlias = NDArray[np.intp]


@dataclass(frozen=True)
class QuadraticRows:
    """Sums over the rows of a view, as `ldr.objectives.families.matrices` asks for them.

    - shares (n,): weights of the rows in what is subtracted from them; None is their mean
    """

    samples: Samples
    view: int
    shares: Array | None

    @classmethod
    def of(cls, samples: Samples, view: int) -> QuadraticRows:
        w = samples.weights
        return cls(samples, view, None if w is None else w / samples.weight)

    @property
    def n(self) -> float:
        return self.samples.weight

    @property
    def count(self) -> int:
        return self.samples.n

    @property
    def trials(self) -> Codes | None:
        marks = self.samples.marks
        return None if marks is None else marks.codes

    @property
    def weights(self) -> Array | None:
        return self.samples.weights

    @property
    def about_zero(self) -> QuadraticRows:
        return self.about(np.zeros(self.count))

    def of_pairs(self, lag: int) -> tuple[Form, Form, Array]:
        return by_links_of_pairs(self, lag)  # type: ignore[arg-type, return-value]

    def scatter(self) -> Quadratic:
        return self._of(lambda X: self.counted(self.centre(X)))

    def cross(self, other: QuadraticRows) -> Quadratic:
        def kernel(X: Blocks) -> dict[int, Array]:
            one, two = (each.counted(each.centre(X[each.view])) for each in (self, other))
            if other.view == self.view:
                return {self.view: one}
            return {self.view: 0.5 * two, other.view: 0.5 * one}

        return Quadratic(kernel)

    def lagged(self, lag: int) -> Quadratic:
        def both(X: Array) -> Array:
            Z, found, (counts, total) = self.centre(X), np.zeros_like(X), self._pairs(lag)
            found[:-lag] += counts * Z[lag:]
            found[lag:] += counts * Z[:-lag]
            return self._centre_transposed(found) / (2.0 * total)

        return self._of(both)

    def scatter_of_changes(self) -> Quadratic:
        def changes(X: Array) -> Array:
            found, steps = np.zeros_like(X), self._pairs(1)[0] * np.diff(X, axis=0)
            found[1:] += steps
            found[:-1] -= steps
            return found

        return self._of(changes)

    def about(self, shares: Array) -> QuadraticRows:
        return replace(self, shares=shares)

    def form(self, K: Matrix, moving: MovingKernel | None = None) -> Quadratic:
        def of(K: Matrix) -> Quadratic:
            return self._of(lambda X: self._centre_transposed(times(K, self.centre(X))))

        found, view = of(K), self.view
        if isinstance(K, OneSided):
            return replace(found, back=of(K.T).kernel)
        if moving is None:
            return found

        def moved(X: Blocks, dX: Blocks) -> Quadratic:
            return of(moving.along(X[view], dX[view]))

        def moved_back(X: Blocks, Y: Blocks, Z: Blocks) -> list[Array]:
            pulled = moving.back(X[view], self.centre(Y[view]), self.centre(Z[view]))
            return [pulled if i == view else np.zeros_like(each) for i, each in enumerate(X)]

        return replace(found, moved=moved, moved_back=moved_back)

    def _pairs(self, lag: int) -> tuple[float | Array, float]:
        """How much pairs of rows count, as a column, and together."""
        counts = pair_counts(self.samples.marks, self.count, lag)
        if counts is None:
            return 1.0, self.count - lag
        return counts[:, None], float(counts.sum())

    def counted(self, Z: Array) -> Array:
        """Rows times their weights."""
        return counted_rows(Z, self.samples.weights)

    def centre(self, X: Array) -> Array:
        return centred(X) if self.shares is None else X - self.shares @ X

    def _centre_transposed(self, X: Array) -> Array:
        return centred(X) if self.shares is None else X - np.outer(self.shares, X.sum(axis=0))

    def of_groups(self, codes: Codes) -> tuple[Quadratic, Quadratic]:
        """The scatters between and within them."""
        members = membership(codes, int(codes.max()) + 1)
        counts = members @ self.counted(np.ones((len(codes), 1)))

        def means(X: Array) -> Array:
            return np.asarray((members @ self.counted(X)) / counts)[codes]

        return (
            self._of(lambda X: self.counted(means(self.centre(X)))),
            self._of(lambda X: self.counted(X - means(X))),
        )

    def _of(self, mixed: Callable[[Array], Array]) -> Quadratic:
        return Quadratic(lambda X: {self.view: mixed(X[self.view])})


@dataclass(frozen=True)
class QuadraticData:
    """Those of all views, and of the groups that y makes.

    - made: of the first view's rows, further blocks, and the transpose: see `blocks`
    """

    views: Sequence[QuadraticRows]
    data: Data
    made: list[tuple[Callable[[Array], Array], Callable[[Array], Array]]] = field(
        default_factory=list
    )

    @classmethod
    def of(cls, data: Data) -> QuadraticData:
        samples = (*data.views, *filter(None, (data.background,)))
        return cls([QuadraticRows.of(one, i) for i, one in enumerate(samples)], data)

    @property
    def y(self) -> Cells:
        return as_array(self.data.y)

    def through(
        self, of: Callable[[Array], Array], back: Callable[[Array], Array]
    ) -> QuadraticRows:
        if self.rows.samples.marks is not None:
            raise UnknownError
        self.made.append((of, back))
        return replace(self.rows, view=len(self.views) + len(self.made) - 1)

    def blocks(self, X: Blocks) -> list[Array]:
        """X, with the rows that were made of those of the first view."""
        return [*X, *(of(X[0]) for of, _ in self.made)]

    def gathered(self, found: Sequence[Array]) -> list[Array]:
        """What derivatives in these blocks are in X."""
        given = list(found[: len(self.views)])
        for (_, back), each in zip(self.made, found[len(given) :], strict=True):
            given[0] = given[0] + back(each)
        return given

    def deviations(self) -> Array:
        samples = self.data.samples
        return deviations(as_response(self.data.y, samples.n)[:, 0], samples.weights)

    def labels(self) -> tuple[Codes, Cells]:
        return self.data.labels

    def inverse(self, B: Form, ridge: float) -> Inverse:
        return Inverse.of(B, ridge, self.data.samples.dense())

    def with_inverse(self, A: Callable[[Form], Form], B: Form, ridge: float) -> Form:
        return A(self.inverse(B, ridge))

    def times_trace(self, A: Form, inverse: Inverse, F: csr_array) -> TimesTrace:
        return TimesTrace(A, inverse, F)

    def scatter_of(self, beside: Given) -> Constant:
        X = derivatives_of(beside, self.data.samples.shape)
        return Constant(X.T @ X)

    def groups(self, of: Callable[[Cells], Grouped]) -> Grouped:
        return of(self.y)

    def links(
        self, weights: Callable[[Data], csr_array], check: Callable[[Data], None]
    ) -> csr_array:
        check(self.data)
        return weights(self.data)

    @property
    def rows(self) -> QuadraticRows:
        return self.views[0]

    def scatters_of_classes(self) -> tuple[Quadratic, Quadratic]:
        return self.rows.of_groups(np.unique(self.y, return_inverse=True)[1])

    def scatters_of_groups(self, groups: Callable[[Cells], Codes]) -> tuple[Quadratic, Quadratic]:
        return self.rows.of_groups(groups(self.y))


def times(K: Matrix, Y: Array) -> Array:
    """KY of a matrix, or of a diagonal."""
    if np.iscomplexobj(Y):
        return times(K, Y.real) + 1j * times(K, Y.imag)
    return K[:, None] * Y if np.ndim(K) == 1 else np.asarray(K @ Y)
