"""Matrices that are quadratic in the rows, A = X'KX, represented by products AT in jax.

A form is a jax pytree of arrays and takes the rows X as an argument. jax differentiates products
with respect to X, and compiles them once for all data of a shape. No d x d matrix is formed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform

import jax
import jax.numpy as jnp
import numpy as np

from ldr.objectives.data.accelerator import float64
from ldr.objectives.data.array_types import Cells, Given
from ldr.objectives.data.data import Data, UnknownError
from ldr.objectives.data.opening import derivatives_of
from ldr.objectives.data.sample_metadata import as_array
from ldr.objectives.data.samples import Samples
from ldr.objectives.families.matrices import (
    Codes,
    DataSums,
    Grouped,
    by_links_of_pairs,
    form_by_form,
)
from ldr.objectives.graphs import HeatedEdges, NeighbourWeights
from ldr.objectives.kernel import as_response, deviations
from ldr.objectives.statistics.products import ProductOf, Squares
from ldr.objectives.statistics.sums import membership
from ldr.objectives.statistics.time import count_pairs, pair_matrix
from ldr.solvers.linalg.products import LessMeans
from ldr.solvers.manifolds import Array

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# An array of jax or NumPy, or a sequence of arrays, one for each view.
Traced = Any
# A `Form`, used in place of an array.
Square = Any
# Share of nonzero entries above which a sparse matrix is multiplied as dense: jax takes 20 ns for
# each sparse entry.
_FULL = 1 / 32


STATIC = {"static": True}
Kind = TypeVar("Kind")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def tree(kind: type[Kind]) -> type[Kind]:
    """Make a frozen dataclass that can be an argument of compiled functions.

    Its fields are arrays, except fields in STATIC, for each value of which jax compiles again.
    """
    found = dataclass(frozen=True)(kind)
    still = [each.name for each in fields(found) if "static" in each.metadata]  # type: ignore[arg-type]
    arrays = [each.name for each in fields(found) if each.name not in still]  # type: ignore[arg-type]
    return jax.tree_util.register_dataclass(found, arrays, still)


# Function that multiplies Y by a matrix K between rows; K may depend on the rows X.
Mixing = Callable[[Traced, Traced], Traced]


@tree
class Weights:
    """A diagonal K; the identity if there are no weights."""

    w: Traced

    def __call__(self, Y: Traced, X: Traced) -> Traced:
        return Y if self.w is None else self.w[:, None] * Y


@tree
class Sparse:
    """A sparse K with `size` rows."""

    entries: Traced
    row: Traced
    column: Traced
    size: int = field(metadata=STATIC)

    @classmethod
    def of(cls, K: csr_array) -> Mixing:
        n, m = K.shape
        if K.nnz > _FULL * n * m:
            return Dense(K.toarray())
        K, more = K.tocoo(), -K.nnz % max(n, m)  # padding with zeros: fewer shapes to compile
        row, column = (np.concatenate([each, np.zeros(more, int)]) for each in (K.row, K.col))
        return cls(np.concatenate([K.data, np.zeros(more)]), row, column, n)

    def __call__(self, Y: Traced, X: Traced) -> Traced:
        products = self.entries[:, None] * Y[self.column]
        return jnp.zeros((self.size, Y.shape[1]), Y.dtype).at[self.row].add(products)


@tree
class Dense:
    array: Traced

    def __call__(self, Y: Traced, X: Traced) -> Traced:
        return self.array @ Y


@tree
class Chain:
    """The product of several K."""

    factors: Sequence[Mixing]

    def __call__(self, Y: Traced, X: Traced) -> Traced:
        return reduce(lambda Z, K: K(Z, X), reversed(self.factors), Y)


@tree
class Heated:
    """D - W, or D, of a graph with weights exp(-||x_i - x_j||^2 / width) that depend on the rows.

    To first order the weights are W(1 + c - ||x_i - x_j||^2 / width), with W and c of the given
    rows. W and c have an entry for each edge, or are matrices if most rows are connected.

    - ends: i and j of each edge; None for matrices
    - width: None means the mean squared length of the edges `middle`
    """

    W: Traced
    c: Traced
    ends: tuple[Codes, Codes] | None
    width: float | None
    middle: tuple[Codes, Codes]
    degrees: bool = field(metadata=STATIC)

    @classmethod
    def of(cls, edges: HeatedEdges, X: Array) -> Heated:
        i, j, W, squared, width, middle = edges.squared(X)
        c, fixed = squared / width, None if len(middle) else width
        known = fixed, (i[middle], j[middle]), edges.degrees
        if edges.W.nnz <= _FULL * len(X) ** 2:
            return cls(W, c, (i, j), *known)
        every = np.zeros((len(X), len(X)))
        every[i, j] = every[j, i] = c
        return cls(edges.W.toarray(), every, None, *known)

    def __call__(self, Y: Traced, X: Traced) -> Traced:
        a, b = self.middle
        width = ((X[a] - X[b]) ** 2).sum(axis=1).mean() if self.width is None else self.width
        if self.ends is None:
            Z = centred(X)  # squares of large numbers cancel
            own = (Z**2).sum(axis=1)
            w = self.W * (1.0 + self.c - (own[:, None] + own - 2.0 * Z @ Z.T) / width)
            found = w.sum(axis=1)[:, None] * Y
            return found if self.degrees else found - w @ Y
        i, j = self.ends
        w = self.W * (1.0 + self.c - ((X[i] - X[j]) ** 2).sum(axis=1) / width)
        if self.degrees:
            return jnp.zeros(len(Y)).at[i].add(w).at[j].add(w)[:, None] * Y
        moves = w[:, None] * (Y[i] - Y[j])
        return jnp.zeros(Y.shape).at[i].add(moves).at[j].add(-moves)


@tree
class Residuals:
    """(I - W)'(I - W), where the neighbours' weights W depend on the rows: see `Neighbourhoods`.

    v with Gv = 1 comes from a Newton step from v of the given rows, exact to first order.
    """

    around: Sequence[tuple[Codes, Codes, Array, Array]]
    regularisation: float

    @classmethod
    def of(cls, weights: NeighbourWeights, X: Array) -> Residuals:
        found = [(each.i, each.j, each.v, each.inverse) for each in weights.around(X)]
        return cls(found, weights.regularisation)

    def __call__(self, Y: Traced, X: Traced) -> Traced:
        left, parts = Y, []
        for i, j, v, inverse in self.around:
            Z = X[j] - X[i, None]
            trace = (Z**2).sum(axis=(1, 2))[:, None]
            Gv = jnp.einsum("mkd,md->mk", Z, jnp.einsum("mkd,mk->md", Z, v))
            Gv = Gv + self.regularisation * trace * v
            v = v + jnp.einsum("mkl,ml->mk", inverse, 1.0 - Gv)
            w = v / v.sum(axis=1, keepdims=True)
            parts.append((i, j, w))
            left = left.at[i].add(-jnp.einsum("mk,mkr->mr", w, Y[j]))
        found = left
        for i, j, w in parts:
            found = found.at[j].add(-w[:, :, None] * left[i, None])
        return found


# --- the symmetric matrix A ---


class Form(ABC):
    """A d x d matrix that depends on the rows, represented by its products."""

    @abstractmethod
    def times(self, X: Sequence[Traced], T: Sequence[Traced]) -> list[Traced]:
        """Return AT of each view."""

    def trace(self, X: Sequence[Traced]) -> Traced:
        """Return tr A, for a single view."""
        return self.times(X, [np.eye(X[0].shape[1])])[0].trace()

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
        """Pairs (c_k, A_k) in A = sum_k c_k A_k."""
        return [(1.0, self)]


@tree
class Combination(Form):
    terms: list[tuple[float, Form]]

    @property
    def parts(self) -> list[tuple[float, Form]]:
        return self.terms

    def times(self, X: Sequence[Traced], T: Sequence[Traced]) -> list[Traced]:
        return added([c * AT for AT in A.times(X, T)] for c, A in self.terms)

    def trace(self, X: Sequence[Traced]) -> Traced:
        return sum(c * A.trace(X) for c, A in self.terms)


@tree
class Stack(Form):
    """Sum of forms of equal structure, compiled once for any number of forms.

    - moving: stacks of the arrays that differ between the forms
    - still: the arrays common to all forms
    - moves: True for each array in `moving`, in the order of the structure
    """

    moving: list[Traced]
    still: list[Traced]
    moves: tuple[bool, ...] = field(metadata=STATIC)
    structure: Any = field(metadata=STATIC)

    @classmethod
    def of(cls, terms: Sequence[tuple[float, Form]]) -> Stack:
        columns = [*zip(*map(jax.tree.leaves, terms), strict=True)]
        moves = tuple(not all(each is first for each in rest) for first, *rest in columns)
        pairs = [*zip(moves, columns, strict=True)]
        moving = [np.stack(column) for moved, column in pairs if moved]
        still = [column[0] for moved, column in pairs if not moved]
        return cls(moving, still, moves, jax.tree.structure(terms[0]))

    def times(self, X: Sequence[Traced], T: Sequence[Traced]) -> list[Traced]:
        def one(moving: list[Traced]) -> list[Traced]:
            both = {True: iter(moving), False: iter(self.still)}
            leaves = [next(both[moved]) for moved in self.moves]
            c, A = jax.tree.unflatten(self.structure, leaves)
            return [c * AT for AT in A.times(X, T)]

        return [each.sum(axis=0) for each in jax.vmap(one)(self.moving)]


def stacked(A: Any) -> Form:
    """Return the sum, with terms of equal structure stacked."""
    groups: dict[Any, list[tuple[float, Form]]] = {}
    for term in A.parts:
        leaves, structure = jax.tree.flatten(term)
        groups.setdefault((structure, tuple(map(np.shape, leaves))), []).append(term)
    terms: list[tuple[float, Form]] = []
    for group in groups.values():
        terms += group if len(group) < 3 else [(1.0, Stack.of(group))]
    return Combination(terms)


@tree
class Product(Form):
    left: Form
    right: Form

    def times(self, X: Sequence[Traced], T: Sequence[Traced]) -> list[Traced]:
        return self.left.times(X, self.right.times(X, T))


@tree
class Constant(Form):
    """A matrix that does not depend on the rows."""

    array: Array

    def times(self, X: Sequence[Traced], T: Sequence[Traced]) -> list[Traced]:
        return [self.array @ T[0]]


@tree
class Inverse(Form):
    """(B + ridge mean(diag B) I)^{-1} by one Newton step, which is exact to first order.

    - array: the inverse for the given rows, from which the step starts
    """

    B: Form
    ridge: float | None
    array: Array

    def times(self, X: Sequence[Traced], T: Sequence[Traced]) -> list[Traced]:
        inside = self.array @ T[0]
        return [2.0 * inside - self.array @ ridged(self.B, self.ridge, X, [inside], 0)]


@tree
class TimesTrace(Form):
    """A tr(BX'F'FX), where X is the first view; see `centred`."""

    A: Form
    B: Form
    F: Mixing
    shares: Traced

    def times(self, X: Sequence[Traced], T: Sequence[Traced]) -> list[Traced]:
        R = self.F(centred(X[0], self.shares), X[0]).T
        size = (R * self.B.times(X, [R])[0]).sum()
        return [size * AT for AT in self.A.times(X, T)]


@tree
class QuadraticForm(Form):
    """X_i'KX_j, or its symmetric part, for the rows of two views; see `centred`."""

    K: Mixing
    shares: tuple[Traced, Traced]
    views: tuple[int, int] = field(metadata=STATIC)

    def times(self, X: Sequence[Traced], T: Sequence[Traced]) -> list[Traced]:
        found, sides = [0.0 * each for each in T], list(zip(self.views, self.shares, strict=True))
        pairs = [sides, sides[::-1]] if self.views[0] != self.views[1] else [sides]
        for (i, ours), (j, theirs) in pairs:
            v, w = min(i, len(T) - 1), min(j, len(T) - 1)
            KY = self.K(centred(X[j] @ T[w], theirs), X[j])
            found[v] = X[i].T @ centred_back(KY, ours) / len(pairs)
        return found

    def trace(self, X: Sequence[Traced]) -> Traced:
        rows = X[self.views[0]]
        Z = centred(rows, self.shares[0])
        return (Z * self.K(Z, rows)).sum()


def centred(X: Traced, shares: Traced = None) -> Traced:
    """Return rows minus their mean, or minus sum_i shares_i x_i."""
    return X - (X.mean(axis=0) if shares is None else shares @ X)


def centred_back(Y: Traced, shares: Traced = None) -> Traced:
    """Apply the transpose of `centred`."""
    return Y - (Y.mean(axis=0) if shares is None else shares[:, None] * Y.sum(axis=0))


def added(blocks: Any) -> list[Traced]:
    """Return the sums of the matrices of each view."""
    return [sum(each[1:], start=each[0]) for each in zip(*blocks, strict=True)]


def ridged(B: Form, ridge: Traced, X: Sequence[Traced], T: Sequence[Traced], view: int) -> Traced:
    """Return (B + ridge mean(diag B) I)T for a view."""
    BT = B.times(X, T)[view]
    return BT if ridge is None else BT + ridge * B.trace(X) / len(BT) * T[view]


# --- building blocks of the `matrices` and `forms` of a method ---


@dataclass(frozen=True)
class RowForms:
    """Forms of the rows of a view, as in `ldr.objectives.families.matrices.RowSums`.

    - samples: samples in memory, with zeros in place of traced arrays
    - shares: see `centred`
    """

    samples: Samples
    view: int
    shares: Traced = None
    traced: bool = False

    @classmethod
    def of(cls, samples: Samples, view: int) -> RowForms:
        w = samples.weights
        return cls(samples, view, None if w is None else w / samples.weight)

    @property
    def n(self) -> float:
        return self.samples.weight

    @property
    def count(self) -> int:
        return self.samples.n

    @property
    def weights(self) -> Array | None:
        return self.samples.weights

    @property
    def trials(self) -> Codes | None:
        marks = self.samples.marks
        return None if marks is None else marks.codes

    def about(self, shares: Traced) -> RowForms:
        return replace(self, shares=shares)

    @property
    def about_zero(self) -> RowForms:
        return self.about(np.zeros(self.count))

    def of_pairs(self, lag: int) -> tuple[Form, Form, Array]:
        return by_links_of_pairs(self, lag)  # type: ignore[arg-type, return-value]

    def scatter(self) -> Form:
        return self.mixed(Weights(self.weights))

    def cross(self, other: RowForms) -> Form:
        shares, views = (self.shares, other.shares), (self.view, other.view)
        return QuadraticForm(Weights(self.weights), shares, views)

    def lagged(self, lag: int) -> Form:
        pairs = pair_matrix(self.samples, lag, np.array([0.0, 0.5]))
        return self.mixed(Sparse.of(pairs / count_pairs(self.samples, lag)))

    def scatter_of_changes(self) -> Form:
        return self.mixed(Sparse.of(pair_matrix(self.samples, 1, np.array([1.0, -1.0]))))

    def form(self, K: Any, moving: HeatedEdges | NeighbourWeights | None = None) -> Form:
        match moving:
            case HeatedEdges():
                return self.mixed(Heated.of(moving, self.samples.dense()))
            case NeighbourWeights():
                return self.mixed(Residuals.of(moving, self.samples.dense()))
        if isinstance(K, LessMeans):
            outer = Chain((Dense(K.a[:, None]), Dense(K.b[None, :])))
            return self.mixed(Sparse.of(K.K)) - self.mixed(outer)
        return self.mixed(mixing(K))

    forms = form_by_form

    def of_groups(self, codes: Traced) -> tuple[Form, Form]:
        """Return the scatter matrices between and within groups."""
        n = self.count
        if not self.traced:
            w = np.ones(n) if self.weights is None else self.weights
            shares = w / np.bincount(codes, w)[codes] ** 0.5
            between = self.form(Squares((membership(codes, codes.max() + 1) * shares).tocsr()))
        else:
            each = np.arange(n)
            entries = jax.ops.segment_sum(np.ones(n), codes, n)[codes] ** -0.5
            there, back = Sparse(entries, codes, each, n), Sparse(entries, each, codes, n)
            between = self.mixed(Chain((back, there)))
        return between, self.scatter() - between

    def mixed(self, K: Mixing) -> Form:
        """Return X'KX."""
        return QuadraticForm(K, (self.shares, self.shares), (self.view, self.view))


def mixing(K: Any) -> Mixing:
    """Return a matrix between rows in jax: diagonal, sparse, dense or a product."""
    match K:
        case Squares(F=F):
            return Chain((Sparse.of(F.T.tocsr()), Sparse.of(F)))
        case ProductOf(factors=factors):
            return Chain(tuple(map(mixing, factors)))
    if np.ndim(K) == 1:
        return Weights(K)
    return Sparse.of(K) if hasattr(K, "tocsr") else Dense(K)


@dataclass(frozen=True)
class DataForms(DataSums):
    """Forms of the rows of all views, as in `ldr.objectives.families.matrices.DataForms`.

    - data: None if rows and labels are traced arrays
    - made: further blocks derived from the first view's rows, and the adjoint map: see `blocks`
    """

    views: Sequence[Any]
    y: Traced
    data: Data | None = None
    made: list[tuple[Callable[[Array], Array], Callable[[Array], Array]]] = field(
        default_factory=list
    )

    @classmethod
    def of(cls, data: Data) -> DataForms:
        samples = (*data.views, *filter(None, (data.background,)))
        y = None if data.y is None else as_array(data.y)
        return cls([RowForms.of(one, i) for i, one in enumerate(samples)], y, data)

    @classmethod
    def traced(cls, X: Sequence[Traced], y: Traced) -> DataForms:
        """Make the forms of arrays that jax traces."""
        stand_ins = [Samples(np.zeros((len(rows), 1))) for rows in X]
        return cls([RowForms(one, i, None, traced=True) for i, one in enumerate(stand_ins)], y)

    @property
    def _known(self) -> Data:
        if self.data is None:
            raise UnknownError
        return self.data

    @property
    def samples(self) -> Sequence[Samples]:
        """Samples of the views and of the background."""
        return (*self._known.views, *filter(None, (self._known.background,)))

    @property
    def rows(self) -> Any:
        return self.views[0]

    def through(self, of: Callable[[Array], Array], back: Callable[[Array], Array]) -> Any:
        if self._known.samples.marks is not None:
            raise UnknownError
        self.made.append((of, back))
        return replace(self.rows, view=len(self.views) + len(self.made) - 1)

    def blocks(self, X: Sequence[Array]) -> list[Array]:
        """Return X and the rows that the method derives from the first view."""
        return [*X, *(of(X[0]) for of, _ in self.made)]

    def gathered(self, found: Sequence[Array]) -> list[Array]:
        """Return derivatives in X from derivatives in the blocks."""
        given = list(found[: len(self.views)])
        for (_, back), each in zip(self.made, found[len(given) :], strict=True):
            given[0] = given[0] + back(each)
        return given

    def deviations(self) -> Traced:
        if self.data is None:
            return self.y - self.y.mean()
        samples = self.data.samples
        return deviations(as_response(self.data.y, samples.n)[:, 0], samples.weights)

    def labels(self) -> tuple[Codes, Cells]:
        return self._known.labels

    def inverse(self, B: Square, ridge: float) -> Square:
        X = self._known.samples.dense()
        with float64():
            array = np.array(ridged(B, ridge, [X], [np.eye(X.shape[1])], 0))
        return Inverse(B, ridge or None, np.linalg.inv(array))

    def with_inverse(self, A: Callable[[Square], Square], B: Square, ridge: float) -> Square:
        return A(self.inverse(B, ridge))

    def square(self, A: Square, inverse: Square) -> Square:
        return A @ inverse @ A

    def times_trace(self, A: Square, inverse: Square, F: Callable[[], csr_array]) -> Square:
        return TimesTrace(A, inverse, Sparse.of(F()), self.rows.shares)

    def scatter_of(self, beside: Given) -> Square:
        X = derivatives_of(beside, self._known.samples.shape)
        return Constant(X.T @ X)

    def groups(self, of: Callable[[Cells], Grouped]) -> Grouped:
        self._known  # noqa: B018
        return of(self.y)

    def links(
        self, weights: Callable[[Data], csr_array], check: Callable[[Data], None]
    ) -> csr_array:
        check(self._known)
        return weights(self._known)

    def scatters_of_classes(self) -> tuple[Square, Square]:
        if self.data is None:  # a class is coded by its first row
            return self.rows.of_groups((self.y[:, None] == self.y[None, :]).argmax(axis=1))
        return self.rows.of_groups(np.unique(self.y, return_inverse=True)[1])

    def scatters_of_groups(self, groups: Callable[[Cells], Codes]) -> tuple[Square, Square]:
        return self.rows.of_groups(self.groups(groups))
