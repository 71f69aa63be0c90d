"""Matrices that are quadratic in the rows, A = X'KX, represented by products AT in jax.

A form is a jax pytree of arrays and takes the rows X as an argument. jax differentiates products
with respect to X, and compiles them once for all data of a shape. Products AT need no d x d matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform

import jax
import jax.numpy as jnp
import numpy as np

from ldr.objectives.data.array_types import Cells, Given
from ldr.objectives.data.data import Data, Samples, UnknownError
from ldr.objectives.data.opening import derivatives_of
from ldr.objectives.data.sample_metadata import as_array
from ldr.objectives.families.matrices import (
    Codes,
    DataSums,
    Grouped,
    by_links_of_pairs,
    form_by_form,
    reversible_links,
)
from ldr.objectives.graphs import HeatedEdges, NeighbourWeights
from ldr.objectives.kernel import as_response, deviations
from ldr.objectives.statistics.products import ProductOf, Squares
from ldr.objectives.statistics.time import pair_matrix
from ldr.sensitivity.derivative import all_of
from ldr.solvers.linalg.products import LessMeans
from ldr.solvers.manifolds import Array

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# An array of jax or NumPy, or one such array for each view.
Traced = Any
# A d x d matrix A that depends on the rows: a `Form`, which computes products AT with matrices T.
Square = Any
# Function (Y, X) -> KY. The n x n matrix K weights pairs of rows, and may depend on the rows X.
Mixing = Callable[[Traced, Traced], Traced]
# Share of nonzero entries above which jax gets a dense matrix: a sparse entry takes jax 20 ns.
_FULL = 1 / 32


STATIC = {"static": True}
Kind = TypeVar("Kind")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def tree(kind: type[Kind]) -> type[Kind]:
    """Make a frozen dataclass that can be an argument of compiled functions.

    Fields are arrays, except those in STATIC: jax compiles again for each new value of these.
    """
    found = dataclass(frozen=True)(kind)
    still = [each.name for each in fields(found) if "static" in each.metadata]  # type: ignore[arg-type]
    arrays = [each.name for each in fields(found) if each.name not in still]  # type: ignore[arg-type]
    return jax.tree_util.register_dataclass(found, arrays, still)


@jax.tree_util.register_pytree_node_class
class Closure:
    """A function together with its last arguments (arrays or closures), as a jax pytree.

    Closures of the same module-level function, of arrays of the same shapes and of equal `fixed`
    arguments are compiled once.
    """

    def __init__(self, function: Callable[..., Any], *known: Traced, **fixed: Any) -> None:
        self.function, self.known, self.fixed = function, known, fixed

    def __call__(self, *given: Traced) -> Any:
        return self.function(*given, *self.known, **self.fixed)

    def tree_flatten(self) -> tuple[Sequence[Traced], Any]:
        return self.known, (self.function, tuple(self.fixed.items()))

    @classmethod
    def tree_unflatten(cls, kind: Any, known: Sequence[Traced]) -> Closure:
        function, fixed = kind
        return cls(function, *known, **dict(fixed))


def centred(X: Traced, shares: Traced = None) -> Traced:
    """Return rows minus their mean, or minus sum_i shares_i x_i."""
    return X - (X.mean(axis=0) if shares is None else shares @ X)


def centred_back(Y: Traced, shares: Traced = None) -> Traced:
    """Apply the transpose of `centred`."""
    return Y - (Y.mean(axis=0) if shares is None else shares[:, None] * Y.sum(axis=0))


def added(blocks: Any) -> list[Traced]:
    """Return the sums of the matrices of each view."""
    return [sum(each[1:], start=each[0]) for each in zip(*blocks, strict=True)]


# --- matrices K between rows ---


def mixing(K: Any) -> Mixing:
    """Return a matrix between rows in jax: diagonal, sparse, dense or a product."""
    match K:
        case Squares(F=F):
            return Closure(chain, mixing(F.T.tocsr()), mixing(F))
        case ProductOf(factors=factors):
            return Closure(chain, *map(mixing, factors))
        case LessMeans():
            return Closure(less_means, mixing(K.K), K.a, K.b)
    if not hasattr(K, "tocoo"):
        return Closure(diagonal if np.ndim(K) == 1 else dense, K)
    n, m = K.shape
    if K.nnz > _FULL * n * m:
        return Closure(dense, K.toarray())
    K, more = K.tocoo(), -K.nnz % max(n, m)  # padding with zeros gives fewer shapes to compile
    row, column = (np.concatenate([each, np.zeros(more, int)]) for each in (K.row, K.col))
    return Closure(sparse, (np.concatenate([K.data, np.zeros(more)]), row, column), np.zeros(n))


def diagonal(Y: Traced, X: Traced, w: Traced) -> Traced:
    return Y if w is None else w[:, None] * Y


def dense(Y: Traced, X: Traced, K: Traced) -> Traced:
    return K @ Y


def chain(Y: Traced, X: Traced, *factors: Mixing) -> Traced:
    return reduce(lambda Z, K: K(Z, X), reversed(factors), Y)


def less_means(Y: Traced, X: Traced, K: Mixing, a: Traced, b: Traced) -> Traced:
    return K(Y, X) - a[:, None] * (b @ Y)


def sparse(Y: Traced, X: Traced, K: tuple[Traced, ...], each: Traced) -> Traced:
    entries, row, column = K
    products = entries[:, None] * Y[column]
    return jnp.zeros((len(each), Y.shape[1]), Y.dtype).at[row].add(products)


@tree
class Heated:
    """D - W, or D, of a graph with weights exp(-||x_i - x_j||^2 / width) of the rows.

    To first order the weights are W(1 + c - ||x_i - x_j||^2 / width), with W and c fixed. W(1 + c)
    and W have an entry for each edge, or are matrices if most rows are connected.

    - ends: i and j of each edge; None for matrices
    - width: None means the mean squared length of the edges `middle`
    """

    near: Traced
    W: Traced
    ends: tuple[Codes, Codes] | None
    width: float | None
    middle: tuple[Codes, Codes]
    degrees: bool = field(default=False, metadata=STATIC)

    @classmethod
    def of(cls, edges: HeatedEdges, X: Array) -> Heated:
        i, j, W, squared, width, middle = edges.squared(X)
        near, fixed = W * (1.0 + squared / width), None if len(middle) else width
        known = fixed, (i[middle], j[middle])
        if edges.W.nnz <= _FULL * len(X) ** 2:
            return cls(near, W, (i, j), *known)
        every = np.zeros((len(X), len(X)))
        every[i, j] = every[j, i] = near
        return cls(every, edges.W.toarray(), None, *known)

    def __call__(self, Y: Traced, X: Traced) -> Traced:
        a, b = self.middle
        width = ((X[a] - X[b]) ** 2).sum(axis=1).mean() if self.width is None else self.width
        if self.ends is None:
            w = heated(centred(X) / width**0.5, self.near, self.W)
            found = w.sum(axis=1)[:, None] * Y
            return found if self.degrees else found - w @ Y
        i, j = self.ends
        w = self.near - self.W * ((X[i] - X[j]) ** 2).sum(axis=1) / width
        if self.degrees:
            return jnp.zeros(len(Y)).at[i].add(w).at[j].add(w)[:, None] * Y
        moves = w[:, None] * (Y[i] - Y[j])
        return jnp.zeros(Y.shape).at[i].add(moves).at[j].add(-moves)


def squares_between(Z: Traced) -> Traced:
    """Return ||z_i - z_j||^2, which is more accurate for centred rows."""
    own, one = (Z**2).sum(axis=1)[:, None], np.ones((len(Z), 1))
    return jnp.hstack([-2.0 * Z, own, one]) @ jnp.hstack([Z, one, own]).T


@jax.custom_jvp
def heated(Z: Traced, near: Traced, W: Traced) -> Traced:
    """Return the weights near_ij - W_ij ||z_i - z_j||^2."""
    return near - W * squares_between(Z)


@heated.defjvp
def heated_change(at: Traced, moves: Traced) -> tuple[Traced, Traced]:
    """Return the weights and their change, at the rows that have the weights W."""
    (Z, _, W), (dZ, *_) = at, moves
    return W, -W * jax.jvp(squares_between, (Z,), (dZ,))[1]


def reconstructed(
    Y: Traced, X: Traced, around: Sequence[tuple[Traced, ...]], regularisation: Traced, of: Traced
) -> Traced:
    """Return (I - W)'D(I - W)Y, where the neighbours' weights W depend on X: see `Neighbourhoods`.

    D is diagonal and contains the weights `of` the samples; None for weights 1.

    The weights are v / sum v with Gv = 1, G the Gram matrix of the differences to the neighbours.
    One Newton step gives v, exact to first order.
    """
    left, parts = Y, []
    for i, j, v, inverse in around:
        Z = X[j] - X[i, None]
        trace = (Z**2).sum(axis=(1, 2))[:, None]
        Gv = jnp.einsum("mkd,md->mk", Z, jnp.einsum("mkd,mk->md", Z, v))
        Gv = Gv + regularisation * trace * v
        v = v + jnp.einsum("mkl,ml->mk", inverse, 1.0 - Gv)
        w = v / v.sum(axis=1, keepdims=True)
        parts.append((i, j, w))
        left = left.at[i].add(-jnp.einsum("mk,mkr->mr", w, Y[j]))
    found = left = diagonal(left, X, of)
    for i, j, w in parts:
        found = found.at[j].add(-w[:, :, None] * left[i, None])
    return found


# --- matrices A: functions (X, T) -> AT of each view ---


@jax.tree_util.register_pytree_node_class
class Form(Closure):
    """A d x d matrix that depends on the rows, represented by its products."""

    def times(self, X: Sequence[Traced], T: Sequence[Traced]) -> list[Traced]:
        """Return the product AT for each view."""
        return self(X, T)

    @property
    def terms(self) -> list[tuple[Traced, Form]]:
        """Pairs (c_k, A_k) in A = sum_k c_k A_k."""
        return list(self.known) if self.function is combination else [(1.0, self)]

    def __matmul__(self, other: Form) -> Form:
        return Form(product, self, other)

    def __add__(self, other: Form) -> Form:
        """Return the sum, without terms that cancel."""
        found: dict[int, tuple[Traced, Form]] = {}
        for c, A in (*self.terms, *other.terms):
            found[id(A)] = found.get(id(A), (0.0, A))[0] + c, A
        kept = [(c, A) for c, A in found.values() if type(c) is not float or c != 0]
        return Form(combination, *(kept or [*found.values()]))

    def __sub__(self, other: Form) -> Form:
        return self + -1.0 * other

    def __truediv__(self, divisor: float) -> Form:
        return (1.0 / divisor) * self

    def __rmul__(self, factor: float) -> Form:
        return Form(combination, *((factor * c, A) for c, A in self.terms))


def combination(X: Traced, T: Traced, *terms: tuple[Traced, Form]) -> list[Traced]:
    return added([c * AT for AT in A.times(X, T)] for c, A in terms)


def product(X: Traced, T: Traced, left: Form, right: Form) -> list[Traced]:
    return left.times(X, right.times(X, T))


def fixed(X: Traced, T: Traced, array: Traced) -> list[Traced]:
    return [array @ T[0]]


def inverse(X: Traced, T: Traced, B: Form, ridge: Traced) -> list[Traced]:
    """Return (B + ridge mean(diag B) I)^{-1}T."""
    return [jnp.linalg.solve(ridged(B, ridge, X, [np.eye(len(T[0]))], 0), T[0])]


def times_trace(X: Traced, T: Traced, A: Form, B: Form, F: Mixing, shares: Traced) -> list[Traced]:
    """Return A tr(BX'F'FX)T, where A and B are d x d and F maps the centred rows X of one view."""
    R = F(centred(X[0], shares), X[0]).T
    size = (R * B.times(X, [R])[0]).sum()
    return [size * AT for AT in A.times(X, T)]


def between(X: Traced, T: Traced, left: Side, right: Side, K: Mixing) -> list[Traced]:
    """Return X_i'KX_jT, or the product with its symmetric part, for the rows of two views."""
    found = [0.0 * each for each in T]
    pairs = [(left, right)] if left.view == right.view else [(left, right), (right, left)]
    for ours, theirs in pairs:
        v, w = (min(each.view, len(T) - 1) for each in (ours, theirs))
        Z = theirs.of(X)
        KY = K(centred(Z @ T[w], theirs.shares), Z)
        found[v] = ours.of(X).T @ centred_back(KY, ours.shares) / len(pairs)
    return found


@tree
class Side:
    """The rows of a view, or a function of these rows; see `centred`."""

    shares: Traced
    through: Closure | None
    view: int = field(metadata=STATIC)

    def of(self, X: Sequence[Traced]) -> Traced:
        return X[self.view] if self.through is None else self.through(X[self.view])


def trace(A: Form, X: Sequence[Traced], d: int) -> Traced:
    """Return the trace of A, a matrix of a single view."""
    return A.times(X, [np.eye(d)])[0].trace()


def ridged(B: Form, ridge: Traced, X: Sequence[Traced], T: Sequence[Traced], view: int) -> Traced:
    """Return (B + ridge mean(diag B) I)T for a view."""
    BT, d = B.times(X, T)[view], len(T[view])
    return BT if ridge is None else BT + ridge * trace(B, X, d) / d * T[view]


# --- arguments of the `matrices` of a method ---


@dataclass(frozen=True)
class RowForms:
    """Sums over the rows of a view in jax, with the methods of `RowSums`.

    - samples: samples in memory, with zeros in place of traced arrays
    - side: the rows that the forms are of
    - heated: edges whose weights depend on the rows, shared by the forms D - W and D
    """

    samples: Samples
    side: Side
    n: float
    count: int
    weights: Array | None
    trials: Codes | None
    heated: dict[HeatedEdges, Heated] = field(default_factory=dict)

    @classmethod
    def of(cls, samples: Samples, view: int) -> RowForms:
        w, marks = samples.weights, samples.marks
        side = Side(None if w is None else w / samples.weight, None, view)
        codes = None if marks is None else marks.codes
        return cls(samples, side, samples.weight, samples.n, w, codes)

    @property
    def shares(self) -> Traced:
        return self.side.shares

    def about(self, shares: Traced) -> RowForms:
        return replace(self, side=replace(self.side, shares=shares))

    @property
    def about_zero(self) -> RowForms:
        return self.about(np.zeros(self.count))

    def of_pairs(self, lag: int) -> tuple[Form, Form, Array]:
        return by_links_of_pairs(self, lag)  # type: ignore[arg-type, return-value]

    def scatter(self) -> Form:
        return self.cross(self)

    def cross(self, other: RowForms) -> Form:
        return Form(between, self.side, other.side, Closure(diagonal, self.weights))

    def lagged(self, lag: int) -> Form:
        return self.form(reversible_links(self, lag))  # type: ignore[arg-type]

    def scatter_of_changes(self) -> Form:
        return self.form(pair_matrix(self.samples, 1, np.array([1.0, -1.0])))

    def form(self, K: Any, moving: HeatedEdges | NeighbourWeights | None = None) -> Form:
        match moving:
            case HeatedEdges():
                if moving not in self.heated:
                    self.heated[moving] = Heated.of(moving, self.samples.dense())
                return self._mixed(replace(self.heated[moving], degrees=np.ndim(K) == 1))
            case NeighbourWeights():
                around = [tuple(each) for each in moving.around(self.samples.dense())]
                return self._mixed(
                    Closure(reconstructed, around, moving.regularisation, self.weights)
                )
        return self._mixed(mixing(K))

    def _mixed(self, K: Mixing) -> Form:
        return Form(between, self.side, self.side, K)

    forms = form_by_form

    def of_groups(self, codes: Traced) -> tuple[Form, Form]:
        """Return the scatter matrices between and within groups."""
        w = np.ones(self.count) if self.weights is None else self.weights
        between = self._mixed(Closure(means, codes, w))
        return between, self.scatter() - between


def means(Y: Traced, X: Traced, codes: Traced, w: Traced) -> Traced:
    """Return each row's weighted mean of its group, times the row's weight.

    There are at most as many groups as rows.
    """
    sums, sizes = (jax.ops.segment_sum(Z, codes, len(Y)) for Z in (w[:, None] * Y, w[:, None]))
    return w[:, None] * (sums / jnp.where(sizes > 0, sizes, 1.0))[codes]


@dataclass(frozen=True)
class DataForms(DataSums):
    """Sums over the rows of all views in jax, with the methods of `DataSums`.

    - data: None if rows and labels are traced arrays
    """

    views: Sequence[Any]
    y: Traced
    data: Data | None = None

    @classmethod
    def of(cls, data: Data) -> DataForms:
        y = None if data.y is None else as_array(data.y)
        return cls([RowForms.of(one, i) for i, one in enumerate(all_of(data))], y, data)

    @classmethod
    def traced(cls, X: Sequence[Traced], y: Traced) -> DataForms:
        """Make the forms of arrays that jax traces."""
        views = [RowForms.of(Samples(np.zeros((len(rows), 1))), i) for i, rows in enumerate(X)]
        return cls(views, y)

    @property
    def _known(self) -> Data:
        if self.data is None:
            raise UnknownError
        return self.data

    @property
    def rows(self) -> Any:
        return self.views[0]

    def through(self, of: Callable[..., Traced], *known: Array) -> Any:
        if self._known.samples.marks is not None:
            raise UnknownError
        return replace(self.rows, side=replace(self.rows.side, through=Closure(of, *known)))

    def deviations(self) -> Traced:
        if self.data is None:
            return self.y - self.y.mean()
        samples = self.data.samples
        return deviations(as_response(self.data.y, samples.n)[:, 0], samples.weights)

    def labels(self) -> tuple[Codes, Cells]:
        return self._known.labels

    def inverse(self, B: Square, ridge: float) -> Square:
        self._known  # noqa: B018
        return Form(inverse, B, ridge or None)

    def with_inverse(self, A: Callable[[Square], Square], B: Square, ridge: float) -> Square:
        return A(self.inverse(B, ridge))

    def square(self, A: Any, inverse: Any) -> Any:
        return A @ inverse @ A

    def times_trace(self, A: Any, inverse: Any, F: Callable[[], csr_array]) -> Any:
        return Form(times_trace, A, inverse, mixing(F()), self.rows.shares)

    def scatter_of(self, beside: Given) -> Any:
        X = derivatives_of(beside, self._known.samples.shape)
        return Form(fixed, X.T @ X)

    def groups(self, of: Callable[[Cells], Grouped]) -> Grouped:
        self._known  # noqa: B018
        return of(self.y)

    def links(
        self, weights: Callable[[Data], csr_array], check: Callable[[Data], None]
    ) -> csr_array:
        check(self._known)
        return weights(self._known)

    def scatters_of_classes(self) -> Any:
        if self.data is None:  # the first row of a class represents the class
            return self.rows.of_groups((self.y[:, None] == self.y[None, :]).argmax(axis=1))
        return self.rows.of_groups(np.unique(self.y, return_inverse=True)[1])

    def scatters_of_groups(self, groups: Callable[[Cells], Codes]) -> Any:
        return self.rows.of_groups(self.groups(groups))
