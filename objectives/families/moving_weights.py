"""Weights between neighbours that move with the rows, and the matrices that are made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np

from ldr.objectives.graphs import Integers, few, regularised
from ldr.objectives.statistics.products import SymmetricProduct, WeightedSquares
from ldr.objectives.statistics.sparse import differences
from ldr.solvers.manifolds import Array
from ldr.solvers.records import dataclass, field

if TYPE_CHECKING:
    from scipy.sparse import csr_array


Found = TypeVar("Found")
# Of all pairs of rows, from which share on edges are many.
_MANY = 1 / 32
# Up to this many numbers (32 MiB) the differences of neighbours are kept.
_KEPT = 2**22
# Squared lengths of the edges, the heat, and the edges that it is the mean of.
Squared: TypeAlias = tuple[Array, float, Integers]


@dataclass(frozen=True, eq=False)
class HeatedEdges:
    """Edges whose weights exp(-||x_i - x_j||^2 / heat) move with the rows."""

    W: csr_array
    heat: float | str
    _rows: list[tuple[Array, Squared]] = field(default_factory=list, init=False)
    _last: list[tuple[Array, Array]] = field(default_factory=list, init=False)

    @cached_property
    def ends(self) -> tuple[Integers, Integers]:
        """i and j of every edge."""
        i, j = self._upper.tocoo().coords
        return self._order[i], self._order[j]

    @cached_property
    def _order(self) -> Integers:
        """Of the rows, in which the ends of edges are near one another."""
        from scipy.sparse.csgraph import reverse_cuthill_mckee

        return np.asarray(reverse_cuthill_mckee(self.W, symmetric_mode=True))

    @cached_property
    def _upper(self) -> csr_array:
        from scipy.sparse import triu

        return triu(self.W[self._order][:, self._order], format="csr")

    @property
    def many(self) -> bool:
        """Whether sums over the edges take longer than products of all rows."""
        return self._upper.nnz >= _MANY * len(self._upper.indptr) ** 2

    def apart(self, weights: Array) -> EdgeLaplacian:
        """The Laplacian of other weights of the edges."""
        from scipy.sparse import csr_array

        upper = self._upper
        moved = csr_array((weights, upper.indices, upper.indptr), shape=upper.shape)
        return EdgeLaplacian(moved, self._order)

    @cached_property
    def between(self) -> csr_array:
        """Of every edge a row e_i - e_j."""
        return differences(*self.ends, self.W.shape[0])

    def along(self, X: Array, dX: Array) -> Array:
        """How the weights change; the last direction's is kept, which more than one asks for."""
        return _kept(self._last, dX, lambda: self._along(X, dX))

    def _along(self, X: Array, dX: Array) -> Array:
        squared, width, middle = _kept(self._rows, X, lambda: self._squares(X))
        rate = self._summed(X, dX)
        widens = 2.0 * float(rate[middle].mean()) if len(middle) else 0.0
        rate *= -2.0 / width
        rate += widens / width**2 * squared
        rate *= self._upper.data
        return rate

    def _squares(self, X: Array) -> Squared:
        squared = self._summed(X, X)
        return (squared, *self._width(squared))

    def back(self, X: Array, slopes: Array) -> Array:
        """The derivative in X of the sum of slopes times weights, of every edge once."""
        (i, j), (squared, width, middle) = self.ends, self._squares(X)
        pull = slopes * self._upper.data / width
        of_squares = -pull
        of_squares[middle] += float(pull @ squared) / width / max(len(middle), 1)
        found = np.zeros_like(X)
        for some in few(np.arange(len(i)), X.shape[1]):
            moves = 2.0 * of_squares[some, None] * (X[i[some]] - X[j[some]])
            np.add.at(found, i[some], moves)
            np.subtract.at(found, j[some], moves)
        return found

    def _summed(self, X: Array, other: Array) -> Array:
        """<x_i - x_j, z_i - z_j> of every edge; of many by products of all rows."""
        (i, j), n = self.ends, len(X)
        found = np.empty(len(i))
        if self.many:
            X, other = (rows[self._order] for rows in (X, other))
            X, other = X - X.mean(axis=0), other - other.mean(axis=0)  # large numbers would cancel
            own, ones = np.einsum("ij,ij->i", X, other)[:, None], np.ones((n, 1))
            left, right = np.hstack([X, other, own, ones]), np.hstack([-other, -X, ones, own]).T
            for own_rows, others, edges, places in self._blocks:
                products = left[own_rows] @ right[:, others]
                np.take(products, places, out=found[edges], mode="clip")
            return found
        for some in few(np.arange(len(i)), X.shape[1]):
            Z, there = (rows[i[some]] - rows[j[some]] for rows in (X, other))
            found[some] = np.einsum("ij,ij->i", Z, there)
        return found

    @cached_property
    def _blocks(self) -> list[tuple[slice, slice, slice, Integers]]:
        """Rows, those their edges lead to, the edges, and where these stand among the pairs."""
        (i, j), n, found = self._upper.tocoo().coords, self.W.shape[0], []
        for rows in few(np.arange(n), n // 3):
            a, b = int(rows[0]), int(rows[-1]) + 1
            edges = slice(*np.searchsorted(i, [a, b]))  # they are in order
            end = int(j[edges].max(initial=a)) + 1
            places = (i[edges] - a) * np.intp(end - a) + (j[edges] - a)
            found.append((slice(a, b), slice(a, end), edges, places))
        return found

    def _width(self, squared: Array) -> tuple[float, Integers]:
        """heat, and the edges that it is the mean of."""
        if self.heat != "median":
            return float(self.heat), np.zeros(0, dtype=np.intp)
        order, m = np.argsort(squared, kind="stable"), len(squared)
        middle = order[(m - 1) // 2 : m // 2 + 1]
        return float(squared[middle].mean()), middle


def _kept(last: list[tuple[Array, Found]], of: Array, find: Callable[[], Found]) -> Found:
    """What was found of this array last, or is now."""
    if not last or last[0][0] is not of:
        last[:] = [(of, find())]
    return last[0][1]


@dataclass(frozen=True, eq=False)
class EdgeLaplacian:
    """D - W, of the weights of i < j, the rows in an order of their own."""

    upper: csr_array
    order: Integers

    def __matmul__(self, Y: Array) -> Array:
        Z, found = Y[self.order], np.empty_like(Y)
        degrees = self.upper.sum(axis=1) + self.upper.sum(axis=0)
        found[self.order] = degrees[:, None] * Z - self.upper @ Z - self.upper.T @ Z
        return found


@dataclass(frozen=True, eq=False)
class MovingLaplacian:
    """D - W, W moving."""

    edges: HeatedEdges

    def along(self, X: Array, dX: Array) -> WeightedSquares | EdgeLaplacian:
        edges, rates = self.edges, self.edges.along(X, dX)
        return edges.apart(rates) if edges.many else WeightedSquares(edges.between, rates)

    def back(self, X: Array, Y: Array, Z: Array) -> Array:
        i, j = self.edges.ends
        return self.edges.back(X, np.einsum("ij,ij->i", Y[i] - Y[j], Z[i] - Z[j]))


@dataclass(frozen=True, eq=False)
class MovingDegrees:
    """The diagonal of D, W moving."""

    edges: HeatedEdges

    def along(self, X: Array, dX: Array) -> Array:
        (i, j), moves = self.edges.ends, self.edges.along(X, dX)
        return np.asarray(np.bincount(i, moves, len(X)) + np.bincount(j, moves, len(X)))

    def back(self, X: Array, Y: Array, Z: Array) -> Array:
        i, j = self.edges.ends
        products = np.einsum("ij,ij->i", Y, Z)
        return self.edges.back(X, products[i] + products[j])


@dataclass(frozen=True, eq=False)
class MovingResiduals:
    """(I - W)'(I - W) whose W, of the neighbours' weights, moves with the rows."""

    W: csr_array
    regularisation: float
    _rows: list[tuple[Array, list[Neighbourhoods]]] = field(default_factory=list, init=False)

    @cached_property
    def _residuals(self) -> csr_array:
        return residuals(self.W)

    def _around(self, X: Array) -> Iterable[Neighbourhoods]:
        """The neighbourhoods; few are kept for further directions."""
        found = Neighbourhoods.of(self.W, X, self.regularisation)
        if self.W.nnz * X.shape[1] > _KEPT:
            return found
        return _kept(self._rows, X, lambda: list(found))

    def along(self, X: Array, dX: Array) -> SymmetricProduct:
        from scipy.sparse import csr_array

        W, rates = self.W, np.empty_like(self.W.data)
        for some in self._around(X):
            rates[some.entries] = -some.rates(dX)
        return SymmetricProduct(self._residuals, csr_array((rates, W.indices, W.indptr), W.shape))

    def back(self, X: Array, Y: Array, Z: Array) -> Array:
        W, R = self.W, self._residuals
        i, j = np.repeat(np.arange(len(X)), np.diff(W.indptr)), W.indices
        pairs = ((R @ one, other) for one, other in ((Z, Y), (Y, Z)))
        slopes = np.sum(
            [-np.einsum("ij,ij->i", left[i], other[j]) for left, other in pairs], axis=0
        )
        found = np.zeros_like(X)
        for some in self._around(X):
            some.pull(slopes[some.entries], found)
        return found


def residuals(W: csr_array) -> csr_array:
    """I - W."""
    from scipy.sparse import eye_array

    return (eye_array(W.shape[0]) - W).tocsr()


@dataclass(frozen=True, eq=False)
class Neighbourhoods:
    """Rows together that have as many neighbours: of v with Gv = 1 their weights are v / sum v.

    Attributes
    ----------
    entries : ndarray of int (m, k)
        Where their weights stand in W.data.
    i, j : ndarray of int (m,), (m, k)
    w : ndarray (m, k)
    Z : ndarray (m, k, d)
        x_j - x_i.
    inverse : ndarray (m, k, k)
        Of G, regularised.
    """

    entries: Integers
    i: Integers
    j: Integers
    w: Array
    Z: Array
    inverse: Array
    regularisation: float

    @classmethod
    def of(cls, W: csr_array, X: Array, regularisation: float) -> Iterator[Neighbourhoods]:
        counts = np.diff(W.indptr)
        for k in np.unique(counts):
            for i in few(np.flatnonzero(counts == k), k * X.shape[1]):
                entries = W.indptr[i, None] + np.arange(k)
                j = W.indices[entries]
                Z = X[j] - X[i, None]
                G = regularised(Z @ Z.transpose(0, 2, 1), regularisation)
                inverse = np.asarray(np.linalg.inv(G), dtype=np.float64)
                yield cls(entries, i, j, W.data[entries], Z, inverse, regularisation)

    @cached_property
    def _left(self) -> Array:
        """Z'w, as columns."""
        return np.asarray(self.Z.transpose(0, 2, 1) @ self.w[:, :, None])

    def rates(self, dX: Array) -> Array:
        """How the weights change along dX: G dv = -dG w."""
        Z, w, dZ = self.Z, self.w[:, :, None], dX[self.j] - dX[self.i, None]
        traces = 2.0 * self.regularisation * np.einsum("ijk,ijk->i", Z, dZ)[:, None, None]
        dGw = dZ @ self._left + Z @ (dZ.transpose(0, 2, 1) @ w) + traces * w
        dv = -self.inverse @ dGw
        return np.asarray((dv - w * dv.sum(axis=1, keepdims=True))[..., 0])

    def pull(self, slopes: Array, found: Array) -> None:
        """Add the derivative in X of the sum of slopes times weights."""
        Z, w = self.Z, self.w
        s = slopes - np.einsum("ij,ij->i", w, slopes)[:, None]
        b = -self.inverse @ s[:, :, None]
        ends = np.concatenate([self._left, Z.transpose(0, 2, 1) @ b], axis=2)
        moves = np.concatenate([b, w[:, :, None]], axis=2) @ ends.transpose(0, 2, 1)
        moves += 2.0 * self.regularisation * (w[:, None, :] @ b) * Z
        np.add.at(found, self.j, moves)
        np.subtract.at(found, self.i, moves.sum(axis=1))
