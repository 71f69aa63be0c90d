"""Matrices of sparse rows minus a sparse shift, which avoids cancellation by a large mean.

X'X - n mean mean' cancels where a mean is large against the spread. For a column with a share p of
its entries stored, |mean| <= sqrt(p/(1 - p)) standard deviations: only that of a nearly full column
can be large, and subtracting the typical value of such a column leaves few further entries.

Matrices Xc'LZc of sparse rows, known by their products, without d x d or n x n arrays.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ldr.objectives.data.samples import Array, Samples
from ldr.objectives.statistics.sums import (
    NO_SHIFT,
    Codes,
    dense,
    few_columns,
    membership,
    sparse_rows,
)
from ldr.solvers.linalg.krylov import block_krylov

if TYPE_CHECKING:
    from scipy.sparse import csr_array


# Share of nonzero entries beyond which a mean can exceed NO_SHIFT standard deviations: 25/26.
_NEARLY_FULL = NO_SHIFT**2 / (1.0 + NO_SHIFT**2)


def shifted_rows(samples: Samples) -> tuple[csr_array, Array]:
    """Return X - 1 shift' as csr, and the shift: near the mean of nearly full columns, else 0.

    Constant columns that are full become empty. At most a 25th more entries are stored.
    """
    codes = np.zeros(samples.n, dtype=np.intp)
    rows, shift = shifted_classes(samples, codes, np.array([samples.n]))
    return rows, shift[0]


def shifted_classes(samples: Samples, codes: Codes, counts: Codes) -> tuple[csr_array, Array]:
    """Return the rows minus a shift for each class, (c, d), where columns are nearly full.

    Every class must occur; `counts` are their sizes.
    """
    X, (c, d) = sparse_rows(samples), (len(counts), samples.d)
    stored = np.bincount(X.indices, minlength=d)
    if not np.any(stored > _NEARLY_FULL * counts.min()):  # most data have no nearly full columns
        return X, np.zeros((c, d))
    cells = X.indices + d * np.repeat(codes, np.diff(X.indptr))
    stored = np.bincount(cells, minlength=c * d).reshape(c, d)
    nearly_full = stored > _NEARLY_FULL * counts[:, None]
    first = np.unique(codes, return_index=True)[1]
    shift = np.where(nearly_full, X[first].toarray(), 0.0)  # exact for constant columns
    sums = dense(membership(codes, c).tocsr() @ less(X, shift, codes))
    shift += np.where(nearly_full, sums / counts[:, None], 0.0)
    return less(X, shift, codes), shift


def less(X: csr_array, shift: Array, codes: Codes) -> csr_array:
    """Subtract from the rows of X the shift of their class, which is mostly zero."""
    from scipy.sparse import csr_array

    return (X - csr_array(shift)[codes]).tocsr()


def column_means(rows: csr_array, weights: Array | None = None) -> Array:
    """Return means of the columns of sparse rows; zero of rows without weight."""
    if weights is None:
        return np.asarray(rows.sum(axis=0)).ravel() / rows.shape[0]
    return np.asarray(rows.T @ weights) / (weights.sum() or 1.0)


def scaled_rows(rows: csr_array, weights: Array | None) -> csr_array:
    """Return WX of sparse rows; X itself if every row counts once."""
    if weights is None:
        return rows
    from scipy.sparse import diags_array

    return (diags_array(weights) @ rows).tocsr()


def differences(plus: np.ndarray, minus: np.ndarray, n: int) -> csr_array:
    """Return a sparse matrix with rows e_plus - e_minus."""
    from scipy.sparse import csr_array

    columns, rows = np.column_stack([plus, minus]).ravel(), 2 * np.arange(len(plus) + 1)
    signs = np.ones(len(columns))
    signs[1::2] = -1.0
    return csr_array((signs, columns, rows), shape=(len(plus), n))


# A variance below this share of a column's mean square is rounding error.
_CONSTANT = 1e-14
# Number of random sums that detect proportional columns; least difference of other columns.
_TELLING, _DIFFERENT = 3, 1e-11
# X'LZ is computed up to this many entries for each entry of X.
_FILLED = 4.0
# Eigenvectors: the residual relative to the largest eigenvalue, and a limit of products.
_EXACT, _MOST_PRODUCTS = 1e-8, 3000


@dataclass(frozen=True, eq=False)
class CentredRows:
    """Xc = X - 1m' of sparse rows X, by products.

    m is the part of the mean that a shift of nearly full columns leaves: no digits cancel.

    - X (n, k): the rows less the shift, in the basis
    - counts (n,): the weights of the rows
    - centre (k,): the mean of X
    - mean (d,): of the rows themselves
    - basis (d, k): orthonormal: the columns that vary, or sums of some of them
    """

    X: csr_array
    counts: Array
    centre: Array
    mean: Array
    basis: csr_array

    @classmethod
    def of(cls, samples: Samples) -> CentredRows:
        from scipy.sparse import eye_array

        X, shift = shifted_rows(samples)
        centre = column_means(X, samples.weights)
        counts = np.ones(samples.n) if samples.weights is None else samples.weights
        every = eye_array(samples.d).tocsr()
        rows = cls(X, counts, centre, shift + centre, every)
        varied = rows.squares(counts) > _CONSTANT * (X.multiply(X).T @ counts)
        return rows if varied.all() else rows._in(every[:, varied])

    @property
    def distinct(self) -> CentredRows:
        """The rows with proportional columns merged: their difference does not vary.

        Random sums over the rows detect them, each column divided by its length.
        """
        from scipy.sparse import csr_array

        lengths = np.sqrt(self.squares(self.counts))
        random = np.random.default_rng(0).standard_normal((_TELLING, self.n)) * self.counts
        sums = self.back(random.T) / lengths[:, None]
        signs = np.where(sums[:, 0] < 0, -1.0, 1.0)
        group = np.zeros(self.k, dtype=np.intp)
        for told in (signs[:, None] * sums).T:
            order = np.lexsort((told, group))
            apart = np.diff(told[order]) > _DIFFERENT
            apart |= np.diff(group[order]) > 0
            group[order] = np.append(0, np.cumsum(apart))
        if group.max() == self.k - 1:
            return self
        sizes = np.sqrt(np.bincount(group, lengths**2))
        shares = signs * lengths / sizes[group]
        return self._in(csr_array((shares, group, np.arange(self.k + 1))))

    def _in(self, basis: csr_array) -> CentredRows:
        """In a basis of orthonormal combinations of the columns, (k, m)."""
        X = (self.X @ basis).tocsr()
        return replace(self, X=X, centre=basis.T @ self.centre, basis=self.basis @ basis)

    @property
    def n(self) -> int:
        return int(self.X.shape[0])

    @property
    def k(self) -> int:
        """Directions in which something varies."""
        return int(self.X.shape[1])

    @property
    def weight(self) -> float:
        """The sum of the weights."""
        return float(self.counts.sum())

    def times(self, V: Array) -> Array:
        """Return XcV, (n, m)."""
        product = np.asarray(self.X @ V)
        product -= self.centre @ V
        return product

    def back(self, Y: Array) -> Array:
        """Return Xc'Y, (k, m)."""
        return np.asarray(self.X.T @ Y) - np.outer(self.centre, Y.sum(axis=0))

    def sums(self, codes: Codes, classes: int) -> Array:
        """Return the sums of the weighted rows Xc of each class, (k, c)."""
        sizes = np.bincount(codes, self.counts, minlength=classes)
        totals = dense(membership(codes, classes).tocsr() @ _counted(self.X, self.counts))
        return totals.T - np.outer(self.centre, sizes)

    def squares(self, counts: Array) -> Array:
        """Return the diagonal of Xc' diag(counts) Xc."""
        squares, sums = self.X.multiply(self.X).T @ counts, self.X.T @ counts
        about = 2.0 * sums - float(counts.sum()) * self.centre
        return np.maximum(np.asarray(squares - self.centre * about), 0.0)

    def mean_of(self, spread: Array) -> float:
        """Return the mean diagonal of a matrix in the span of the rows, from its diagonal here."""
        return float(spread.sum()) / max(1, min(len(spread), self.n - 1))

    def about(self, middle: Array) -> CentredRows:
        """Return the rows less another centre (d,) than their mean."""
        centre = self.centre + self.basis.T @ (middle - self.mean)
        return replace(self, centre=centre, mean=middle)

    def in_all_columns(self, V: Array) -> Array:
        """Return V of the basis in the columns, with zeros where nothing varies."""
        return np.asarray(self.basis @ V)


class Between(Protocol):
    """A matrix of numbers between rows, perhaps only known by its products."""

    def __matmul__(self, Y: Array, /) -> Array: ...


@dataclass(frozen=True, eq=False)
class Squares:
    """F'F."""

    F: csr_array

    def __matmul__(self, Y: Array) -> Array:
        return np.asarray(self.F.T @ (self.F @ Y))


@dataclass(frozen=True, eq=False)
class ProductOf:
    """A product of matrices, sparse or not, that need not be symmetric."""

    factors: tuple[csr_array | Array, ...]

    def __matmul__(self, Y: Array) -> Array:
        return reduce(lambda Z, F: np.asarray(F @ Z), reversed(self.factors), Y)

    @property
    def T(self) -> ProductOf:
        return ProductOf(tuple(each.T for each in reversed(self.factors)))


@dataclass(frozen=True, eq=False)
class Form:
    """(Xc'LZc - PP') / divisor, L symmetric, known by its products.

    If the rows have few entries X'LZ is sparse too, and computed: a product then has the length of
    the columns, not of the rows.

    - between (n, n): L, or its diagonal; or an object with its products
    - less (k, q): P
    """

    left: CentredRows
    right: CentredRows
    between: Between | Array
    divisor: float = 1.0
    less: Array | None = None

    @classmethod
    def covariance(cls, rows: CentredRows, other: CentredRows | None = None) -> Form:
        """Return the covariance form of the rows; or between them and a second view's."""
        return cls(rows, other or rows, rows.counts, rows.weight)

    @property
    def shape(self) -> tuple[int, int]:
        return self.left.k, self.right.k

    @cached_property
    def T(self) -> Form:
        """Transposed form."""
        return replace(self, left=self.right, right=self.left)

    def __matmul__(self, V: Array) -> Array:
        if self._square is not None:
            found = np.asarray(self._square @ V)
            of_left, of_right, both = self._sums
            means = self.right.centre @ V
            sums = of_right @ V - both * means
            for column, mean, total in zip(found.T, means, sums, strict=True):
                column -= of_left * mean + self.left.centre * total
        else:
            found = np.empty((self.left.k, V.shape[1]))
            for some in few_columns(V.shape[1], self.left.n):
                through = self._through(self.right.times(V[:, some]))
                found[:, some] = self.left.back(through)
        if self.less is not None:
            found -= self.less @ (self.less.T @ V)
        found /= self.divisor
        return found

    def _through(self, Y: Array) -> Array:
        """LY."""
        if isinstance(self.between, np.ndarray):
            return self.between[:, None] * Y
        return np.asarray(self.between @ Y)

    @cached_property
    def _sums(self) -> tuple[Array, Array, float]:
        """X'L1, Z'L1 and 1'L1."""
        L1 = self._through(np.ones((self.left.n, 1)))[:, 0]
        return self.left.X.T @ L1, self.right.X.T @ L1, float(L1.sum())

    @cached_property
    def _square(self) -> csr_array | None:
        """X'LZ, if it has not many more entries than the rows."""
        from scipy.sparse import csr_array

        L = self.between
        sizes, others = np.diff(self.left.X.indptr), np.diff(self.right.X.indptr)
        if isinstance(L, np.ndarray):
            entries = float(sizes @ others)
        elif isinstance(L, csr_array):
            entries = float(sizes @ (abs(L.sign()) @ others))
        else:
            return None
        if entries > _FILLED * self.left.X.nnz:
            return None
        if isinstance(L, np.ndarray):
            return csr_array(self.left.X.T @ _counted(self.right.X, L))
        return csr_array(self.left.X.T @ (L @ self.right.X))


@dataclass(frozen=True, eq=False)
class Correlations:
    """The correlation matrix of sparse rows, by its products; no column may be constant.

    - C: the covariance
    - deviations (d,)
    """

    C: Form
    deviations: Array
    _near: list[Array] = field(default_factory=list, init=False, repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        return self.C.shape

    def __matmul__(self, V: Array) -> Array:
        found = self.C @ (V / self.deviations[:, None])
        found /= self.deviations[:, None]
        return found

    def top_weighted(self, weights: Array, r: int) -> tuple[Array, Array]:
        """Return the top r eigenvalues, descending, and eigenvectors of wCw, w = diag(weights).

        They are found to rounding, from those of the previous weights, which are usually near.
        """
        weighted = replace(self, deviations=self.deviations / weights)
        found = block_krylov(
            weighted,
            r,
            tolerance=_EXACT,
            most_products=_MOST_PRODUCTS,
            near=self._near.pop() if self._near else None,
        )
        self._near.append(found.block)
        return found.values, found.vectors.copy()  # a copy, without the extra columns of the block


def _counted(X: csr_array, counts: Array) -> csr_array:
    """X with its rows as often as they count; X itself where each counts once."""
    return scaled_rows(X, None if (counts == 1.0).all() else counts)
