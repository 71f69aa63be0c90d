"""Matrices Xc'LZc of sparse rows, known by their products: no columns x columns, no rows x rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ldr.objectives.data.samples import BLOCK_NUMBERS, Array, Samples
from ldr.objectives.statistics.sparse import column_means, scaled_rows, shifted_rows
from ldr.objectives.statistics.sums import Codes, dense, membership
from ldr.solvers.limits import check

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# A variance below this share of a column's mean square is rounding.
_CONSTANT = 1e-14
# Columns of a product at a time, so that what is as long as the rows takes little memory.
_LEAST_COLUMNS, _ROWS_NUMBERS = 2, 2 * BLOCK_NUMBERS


def few_columns(m: int, n: int) -> Iterator[slice]:
    """Slices of m columns, so few that as many numbers a row of n take little memory."""
    step = max(_LEAST_COLUMNS, _ROWS_NUMBERS // n)
    for start in range(0, m, step):
        check()
        yield slice(start, start + step)


@dataclass(frozen=True, eq=False)
class CentredRows:
    """Xc = X - 1m' of sparse rows X, by products.

    m is what a shift of nearly full columns leaves of the mean: no digits cancel.

    Attributes
    ----------
    X : csr_array (n, k)
        The rows less the shift, of the columns in which something varies.
    counts : ndarray (n,)
        The weights of the rows.
    centre : ndarray (k,)
        The mean of X.
    mean : ndarray (d,)
        Of the rows themselves.
    varied : ndarray of int (k,)
        The columns in which something varies.
    """

    X: csr_array
    counts: Array
    centre: Array
    mean: Array
    varied: Codes

    @classmethod
    def of(cls, samples: Samples) -> CentredRows:
        X, shift = shifted_rows(samples)
        centre = column_means(X, samples.weights)
        counts = np.ones(samples.n) if samples.weights is None else samples.weights
        rows = cls(X, counts, centre, shift + centre, np.arange(samples.d))
        varied = np.flatnonzero(rows.squares(counts) > _CONSTANT * (X.multiply(X).T @ counts))
        if len(varied) == samples.d:
            return rows
        return replace(rows, X=X[:, varied].tocsr(), centre=centre[varied], varied=varied)

    @property
    def n(self) -> int:
        return int(self.X.shape[0])

    @property
    def k(self) -> int:
        """Columns in which something varies."""
        return int(self.X.shape[1])

    @property
    def weight(self) -> float:
        """The sum of the weights."""
        return float(self.counts.sum())

    def times(self, V: Array) -> Array:
        """XcV, (n, m)."""
        product = np.asarray(self.X @ V)
        product -= self.centre @ V
        return product

    def back(self, Y: Array) -> Array:
        """Xc'Y, (k, m)."""
        return np.asarray(self.X.T @ Y) - np.outer(self.centre, Y.sum(axis=0))

    def sums(self, codes: Codes, classes: int) -> Array:
        """The sums of the weighted rows Xc of each class, (k, c)."""
        sizes = np.bincount(codes, self.counts, minlength=classes)
        totals = dense(membership(codes, classes).tocsr() @ scaled_rows(self.X, self.counts))
        return totals.T - np.outer(self.centre, sizes)

    def squares(self, counts: Array) -> Array:
        """The diagonal of Xc' diag(counts) Xc."""
        squares, sums = self.X.multiply(self.X).T @ counts, self.X.T @ counts
        about = 2.0 * sums - float(counts.sum()) * self.centre
        return np.maximum(np.asarray(squares - self.centre * about), 0.0)

    def about(self, middle: Array) -> CentredRows:
        """The rows less another middle (d,) than their mean."""
        centre = self.centre + (middle - self.mean)[self.varied]
        return replace(self, centre=centre, mean=middle)

    def in_all_columns(self, V: Array) -> Array:
        """V with rows of zeros for the columns in which nothing varies."""
        found = np.zeros((len(self.mean), V.shape[1]))
        found[self.varied] = V
        return found


@dataclass(frozen=True, eq=False)
class Form:
    """Xc'LZc / divisor, L known by its products.

    Attributes
    ----------
    left, right : CentredRows
    through : callable
        LY of an (n, m) array Y, perhaps in its place.
    divisor : float
    """

    left: CentredRows
    right: CentredRows
    through: Callable[[Array], Array]
    divisor: float = 1.0

    @classmethod
    def covariance(cls, rows: CentredRows, other: CentredRows | None = None) -> Form:
        """Of the rows; or between them and the other view's."""
        counts = rows.counts[:, None]
        return cls(rows, other or rows, lambda Y: counts * Y, rows.weight)

    @property
    def shape(self) -> tuple[int, int]:
        return self.left.k, self.right.k

    @property
    def T(self) -> Form:
        """Of a symmetric L."""
        return replace(self, left=self.right, right=self.left)

    def __matmul__(self, V: Array) -> Array:
        found = np.empty((self.left.k, V.shape[1]))
        for some in few_columns(V.shape[1], self.left.n):
            found[:, some] = self.left.back(self.through(self.right.times(V[:, some])))
        found /= self.divisor
        return found
