"""Products with sparse rows minus a shift, and operators of sparse rows.

The formula X'X - n mean mean' is inaccurate if a mean is large relative to the standard deviation.
If a share p of a column's entries is stored, |mean| <= sqrt(p/(1 - p)) standard deviations: the
mean of a column can only be large if the column is nearly full. The shift of a nearly full column
is near its mean and adds few stored entries.

Matrices Xc'LZc of sparse rows are operators, without d x d or n x n arrays.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from ldr.objectives.data.data import Array, Samples
from ldr.objectives.statistics.sums import (
    NO_SHIFT,
    Codes,
    TwoPartMean,
    class_sums,
    dense,
    few_columns,
    heaviest_rows,
    membership,
    sparse_rows,
)
from ldr.solvers.linalg.krylov import block_krylov
from ldr.solvers.linalg.rounding import VALUE_ROUNDING

if TYPE_CHECKING:
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import LinearOperator


Rows = TypeVar("Rows", "csr_array", Array)

# Share of nonzeros in a column, below which its mean is too small to need a shift of the rows.
_NEARLY_FULL = NO_SHIFT**2 / (1.0 + NO_SHIFT**2)


def shifted_rows(samples: Samples) -> tuple[csr_array, Array]:
    """Return X - 1 shift' as csr, and the shift, nonzero in nearly full columns only.

    Full constant columns become empty. The number of stored entries increases by at most 1/25.
    """
    rows, shift = shifted_classes(samples)
    return rows, shift[0]


def shifted_classes(
    samples: Samples, codes: Codes | None = None, c: int = 1
) -> tuple[csr_array, Array]:
    """Return the rows minus a shift of each class (c, d), nonzero for nearly full columns."""
    X, d, weights = sparse_rows(samples), samples.d, samples.weights
    codes = np.zeros(samples.n, dtype=np.intp) if codes is None else codes
    sizes, per_row = np.bincount(codes, weights, c), np.diff(X.indptr)
    shares = None if weights is None else np.repeat(weights, per_row)
    stored = np.bincount(X.indices, shares, d)
    least = _NEARLY_FULL * np.where(sizes > 0, sizes, np.inf).min()
    if not np.any(stored > least):  # columns have many zeros
        return X, np.zeros((c, d))
    cells = X.indices + d * np.repeat(codes, per_row)
    stored = np.bincount(cells, shares, c * d).reshape(c, d)
    nearly_full = stored > _NEARLY_FULL * sizes[:, None]
    # The shift makes constant columns zero.
    shift = np.where(nearly_full, X[heaviest_rows(codes, c, weights)].toarray(), 0.0)
    sums = class_sums(less(X, shift, codes), codes, c, weights)
    shift = np.where(nearly_full, TwoPartMean.about(sizes, shift, sums).value, 0.0)
    return less(X, shift, codes), shift


def less(X: csr_array, shift: Array, codes: Codes) -> csr_array:
    """Return the rows of X minus the sparse shift of each row's class."""
    from scipy.sparse import csr_array

    return (X - csr_array(shift)[codes]).tocsr()


def column_means(rows: csr_array, weights: Array | None = None) -> Array:
    """Return the column means of sparse rows; zero if all weights are zero."""
    if weights is None:
        return np.asarray(rows.sum(axis=0)).ravel() / rows.shape[0]
    return np.asarray(rows.T @ weights) / (weights.sum() or 1.0)


def scaled_rows(rows: Rows, weights: Array | None) -> Rows:
    """Return WX for sparse or dense rows X, W = diag(weights); X itself without weights."""
    if weights is None:
        return rows
    if isinstance(rows, np.ndarray):
        return rows * weights[:, None]
    from scipy.sparse import diags_array

    return (diags_array(weights) @ rows).tocsr()


# Equal unit-norm columns have equal products with random vectors: number of vectors, tolerance.
_TELLING, _DIFFERENT = 3, 1e-11
# The product X'LZ is stored if it has at most this many nonzero entries per entry of X.
_FILLED = 4.0
# Eigensolver: tolerance relative to the largest eigenvalue, limit of matrix-vector products.
_EXACT, _MOST_PRODUCTS = 1e-8, 3000


@dataclass(frozen=True, eq=False)
class CentredRows:
    """Centred sparse rows Xc = X - 1m', by products.

    Nearly full columns of X are shifted to avoid cancellation; m is the mean of the shifted rows.

    - X (n, k): the rows minus the shift, in the basis
    - counts (n,): weights of the rows
    - centre (k,): the mean m of X
    - mean (d,): mean of the unshifted rows
    - basis (d, k): orthonormal basis: non-constant columns, or combinations of proportional ones
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
        varied = rows.squares(counts) > VALUE_ROUNDING * (X.multiply(X).T @ counts)
        return rows if varied.all() else rows._in(every[:, varied])

    @property
    def distinct(self) -> CentredRows:
        """The rows after merging proportional columns into one column each.

        Two columns of length 1 are merged if their sums with the same random weights agree.
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
        """Return the rows in a basis of orthonormal combinations of the columns, (k, m)."""
        X = (self.X @ basis).tocsr()
        return replace(self, X=X, centre=basis.T @ self.centre, basis=self.basis @ basis)

    @property
    def n(self) -> int:
        return int(self.X.shape[0])

    @property
    def k(self) -> int:
        """Dimension of the basis."""
        return int(self.X.shape[1])

    @property
    def weight(self) -> float:
        """Sum of the weights."""
        return float(self.counts.sum())

    def times(self, V: Array) -> Array:
        """Return the product XcV, (n, m)."""
        product = np.asarray(self.X @ V)
        product -= self.centre @ V
        return product

    def back(self, Y: Array) -> Array:
        """Return the product Xc'Y, (k, m)."""
        return np.asarray(self.X.T @ Y) - np.outer(self.centre, Y.sum(axis=0))

    def sums(self, codes: Codes, classes: int) -> Array:
        """Return the sums of the weighted rows Xc of each class, (k, c)."""
        sizes = np.bincount(codes, self.counts, minlength=classes)
        totals = dense(membership(codes, classes).tocsr() @ _counted(self.X, self.counts))
        return totals.T - np.outer(self.centre, sizes)

    def squares(self, counts: Array) -> Array:
        """Return the diagonal of Xc' diag(counts) Xc, the weighted sums of squares of columns."""
        squares, sums = self.X.multiply(self.X).T @ counts, self.X.T @ counts
        about = 2.0 * sums - float(counts.sum()) * self.centre
        return np.maximum(np.asarray(squares - self.centre * about), 0.0)

    def mean_of(self, spread: Array) -> float:
        """Return the mean diagonal entry of a matrix restricted to the span of the rows."""
        return float(spread.sum()) / max(1, min(len(spread), self.n - 1))

    def about(self, middle: Array) -> CentredRows:
        """Return the rows centred by the vector `middle` (d,) instead of the mean."""
        centre = self.centre + self.basis.T @ (middle - self.mean)
        return replace(self, centre=centre, mean=middle)

    def in_all_columns(self, V: Array) -> Array:
        """Return the matrix V, given in the basis, in all columns."""
        return np.asarray(self.basis @ V)


class Between(Protocol):
    """An n x n matrix of weights between rows, given as an array or by products."""

    def __matmul__(self, Y: Array, /) -> Array: ...


@dataclass(frozen=True, eq=False)
class Squares:
    """The matrix F'F, by products with F."""

    F: csr_array

    def __matmul__(self, Y: Array) -> Array:
        return np.asarray(self.F.T @ (self.F @ Y))


@dataclass(frozen=True, eq=False)
class ProductOf:
    """A product of matrices, used only by products with each factor."""

    factors: tuple[csr_array | Array, ...]

    def __matmul__(self, Y: Array) -> Array:
        return reduce(lambda Z, F: np.asarray(F @ Z), reversed(self.factors), Y)

    @property
    def T(self) -> ProductOf:
        return ProductOf(tuple(each.T for each in reversed(self.factors)))


@dataclass(frozen=True, eq=False)
class Form:
    """The matrix (Xc'LZc - PP') / divisor with a symmetric L, as an operator.

    If rows have few entries, the sparse X'LZ is computed: products need no vectors of length n.

    - between (n, n): L, as its diagonal, an array, or an operator
    - less (k, q): P
    """

    left: CentredRows
    right: CentredRows
    between: Between | Array
    divisor: float = 1.0
    less: Array | None = None

    @classmethod
    def covariance(cls, rows: CentredRows, other: CentredRows | None = None) -> Form:
        """Return the covariance of the rows, or the covariance with a second view's rows."""
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
        """Return the product LY."""
        if isinstance(self.between, np.ndarray):
            return self.between[:, None] * Y
        return np.asarray(self.between @ Y)

    @cached_property
    def _sums(self) -> tuple[Array, Array, float]:
        """The sums X'L1, Z'L1 and 1'L1, for the centring of X'LZ."""
        L1 = self._through(np.ones((self.left.n, 1)))[:, 0]
        return self.left.X.T @ L1, self.right.X.T @ L1, float(L1.sum())

    @cached_property
    def _square(self) -> csr_array | None:
        """The sparse X'LZ; None if it has many more nonzero entries than X."""
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
    """The correlation matrix of sparse rows as an operator; no column may be constant.

    - C: the covariance
    - deviations (d,): standard deviations of the columns
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

    @cached_property
    def F(self) -> LinearOperator:
        """Factor F'F = C: the centred rows, scaled, as an operator."""
        from scipy.sparse import diags_array
        from scipy.sparse.linalg import aslinearoperator

        centred = self.C.left
        root = np.sqrt(centred.counts / centred.weight)
        X = diags_array(root) @ centred.X @ diags_array(1.0 / self.deviations)
        mean = np.outer(root, 1.0), (centred.centre / self.deviations)[None]
        return aslinearoperator(X) - aslinearoperator(mean[0]) @ aslinearoperator(mean[1])

    def top_weighted(self, weights: Array, r: int) -> tuple[Array, Array]:
        """Return the top r eigenvalues, descending, and eigenvectors of wCw, w = diag(weights).

        The eigenvectors for the previous weights are the initial vectors of the iteration.
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
        return found.values, found.vectors.copy()  # a view would keep the whole block in memory


def _counted(X: csr_array, counts: Array) -> csr_array:
    """Return the rows of X times their weights; X itself if all weights are 1."""
    return scaled_rows(X, None if (counts == 1.0).all() else counts)
