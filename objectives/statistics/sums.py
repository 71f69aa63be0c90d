"""The pilot shift, and the three sums that everything is made of."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import scipy

from ldr.objectives.data.footprint import afford
from ldr.objectives.data.map_reduce import room
from ldr.objectives.data.samples import BLOCK_NUMBERS, Array, Samples
from ldr.solvers.limits import check
from ldr.solvers.linalg import blas
from ldr.solvers.records import dataclass

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Codes = npt.NDArray[np.intp]

# With few columns NumPy's product costs less than a call of BLAS's routine from here.
FEW_COLUMNS = 512
_PILOT_ROWS = 2048
_PILOT_NUMBERS = 2**20
_FEWEST_PILOT_ROWS = 16
# Of few rows one in so many: the rest of 256 rows' mean is a sixteenth of their spread.
_PILOT_SHARE, _SMALL_PILOT = 16, 256
# Columns whose mean is within this many standard deviations of zero need no shift and no copy,
# which saves a fifth of the time; the correction then cancels a factor 26 of 1e16.
NO_SHIFT = 5.0
# Up to so many numbers sums of classes need no sparse matrix, whose module takes 10 ms to load.
_FEW_NUMBERS = 2**15
# Columns of a product at a time, so that what is as long as the rows takes little memory.
_LEAST_COLUMNS, _ROWS_NUMBERS = 2, 2 * BLOCK_NUMBERS


def few_columns(m: int, n: int) -> Iterator[slice]:
    """Slices of m columns, so few that as many numbers a row of n take little memory."""
    step = max(_LEAST_COLUMNS, _ROWS_NUMBERS // n)
    for start in range(0, m, step):
        check()
        yield slice(start, start + step)


@dataclass(frozen=True, eq=False)
class TwoPartMean:
    """The mean of n rows, or of rows of the total weight n, origin + offset.

    Differences of such means keep the digits that the sum of the two parts would round away where
    the mean is large against the spread.
    """

    n: float
    origin: Array
    offset: Array

    @classmethod
    def about(cls, shift: Array | None, total: Array, n: float) -> TwoPartMean:
        """From the sum of n rows less a shift, or of the weight n; None is no shift."""
        return cls(n, np.zeros_like(total) if shift is None else shift, total / (n or 1))

    @property
    def value(self) -> Array:
        return self.origin + self.offset

    def __sub__(self, other: TwoPartMean) -> Array:
        return (self.origin - other.origin) + (self.offset - other.offset)

    def merge(self, other: TwoPartMean) -> TwoPartMean:
        """The mean of both sets of rows; rows without weight leave it."""
        n = self.n + other.n
        if not (self.n and other.n):
            return self if self.n else other
        return TwoPartMean(n, self.origin, self.offset + (other - self) * (other.n / n))


def spread_rows(n: int, count: int) -> Codes:
    """Indices of `count` rows, one from each of as many equal stretches of 0..n-1.

    The place within each stretch is random (with a fixed seed), so that data with a period, or
    classes in rotation, are sampled fairly.
    """
    if count >= n:
        return np.arange(n)
    stretch = n / count
    rows = ((np.arange(count) + _jitter(count)) * stretch).astype(np.intp)
    return np.minimum(rows, n - 1)


@lru_cache(8)
def _jitter(count: int) -> Array:
    return np.random.default_rng(0).random(count)


def pilot_rows(n: int, d: int) -> int:
    most = min(_PILOT_ROWS, max(_SMALL_PILOT, n // _PILOT_SHARE))
    return max(_FEWEST_PILOT_ROWS, min(most, _PILOT_NUMBERS // d))


def pilot(samples: Samples) -> Array | None:
    """Shift for dense rows: close to their mean, exactly it for constant columns.

    None where every column's mean is already small against its spread.
    """
    rows = counting_rows(samples.n, samples.weights, pilot_rows(samples.n, samples.d))
    sample = sampled(samples, rows)
    first = sample[0].copy()
    sample -= first  # exactly zero in a constant column, so that its pilot is its value
    offset = np.add.reduce(sample) / len(sample)
    shift = first + offset
    sample -= offset
    with np.errstate(over="ignore"):  # an infinite spread is larger than any shift
        spread = np.sqrt(np.einsum("ij,ij->j", sample, sample) / len(sample))
    return None if (np.abs(shift) <= NO_SHIFT * spread).all() else shift


def counting_rows(n: int, weights: Array | None, count: int) -> Codes:
    """Indices of `count` of n rows at most, spread over those that have a weight, if any have."""
    there = None if weights is None else np.flatnonzero(weights)
    if there is None or len(there) == 0:
        return spread_rows(n, count)
    return there[spread_rows(len(there), count)]


def sampled(samples: Samples, rows: Codes) -> Array:
    """Copy of some rows of dense data, in float64."""
    picked = np.asarray(samples.array)[rows]  # a copy already
    return np.asarray(picked, dtype=np.float64, order="C")


def shifted_blocks(
    samples: Samples, shift: Array | None, rows: int | None = None
) -> Iterator[tuple[slice, Array]]:
    """Walk over dense blocks less the shift. One buffer serves all: use a block, then forget it."""
    if shift is None and samples.array.dtype == np.float64:
        yield from samples.blocks(rows)
        return
    with room(min(rows or samples.block_rows, samples.n), samples.d) as buffer:
        for where in samples.slices(rows):
            check()
            yield where, samples.less(where, shift, out=buffer[: where.stop - where.start])


def weighted(Z: Array, weights: Array | None, where: slice = slice(None)) -> Array:
    """W^{1/2}Z of a block of rows; Z itself where every row counts once."""
    return Z if weights is None else Z * np.sqrt(weights[where, None])


def counted(z: Array, weights: Array | None) -> Array:
    """Numbers of rows, times their weights; themselves where every row counts once."""
    return z if weights is None else z * weights


def counted_rows(Z: Array, weights: Array | None, where: slice | Codes = slice(None)) -> Array:
    """WZ of a block of rows; Z itself where every row counts once."""
    return Z if weights is None else Z * weights[where][:, None]


def add_square(total: Array, Z: Array) -> Array:
    """Upper triangle of total + Z'Z, in place (total in Fortran order, Z in C order)."""
    return add_outers(total, Z, 1.0)


def add_outer(total: Array, v: Array, weight: float) -> Array:
    """Upper triangle of total + weight v v', in place (total in Fortran order)."""
    return scipy.linalg.blas.dsyr(weight, v, a=total, overwrite_a=1)


def add_outers(total: Array, V: Array, weight: float) -> Array:
    """Upper triangle of total + weight V'V, in place (total in Fortran order, V in C order)."""
    if len(total) <= FEW_COLUMNS:
        square = np.matmul(V.T, V)
        total += square.T if weight == 1.0 else weight * square.T
        return total
    return blas.add_square(total, V, weight)


def add_product(total: Array, Z: Array, Y: Array) -> Array:
    """Return total + Z'Y, computed in place (total in Fortran order, Z and Y in C order)."""
    if max(total.shape) <= FEW_COLUMNS:
        total += np.matmul(Y.T, Z).T
        return total
    return blas.add_product(total, Z, Y)


def added(earlier: Array, later: Array) -> Array:
    """earlier + later, in place: the merge of sums that are arrays."""
    earlier += later
    return earlier


def add_sum(
    total: Array, Z: Array, weights: Array | None = None, where: slice = slice(None)
) -> Array:
    """Return total + 1'Z, or w'Z. The block is summed on its own first, which rounds less."""
    return total + np.matmul(np.ones(len(Z)) if weights is None else weights[where], Z)


def zeros(rows: int, columns: int) -> Array:
    """Zeros in the order BLAS can add into without a copy."""
    _afford(rows, columns)
    return np.zeros((rows, columns), order="F")


def _afford(rows: int, columns: int) -> None:
    """Refuse sums that do not fit, before they are made: twice, as they are made symmetric."""
    afford(
        2 * 8.0 * rows * columns,
        f"sums of shape ({rows}, {columns}), made symmetric,",
        "leave out columns, or take a method of few directions of sparse rows (pca, lda, maf, pls)",
    )


def full(upper: Array) -> Array:
    """Symmetric matrix of an upper triangle."""
    return np.where(np.tri(len(upper), k=-1, dtype=bool), upper.T, upper)


def symmetric(A: Array) -> Array:
    return 0.5 * (A + A.T)


def dense(product: csr_array | Array) -> Array:
    """Product of two sparse matrices (d x d or smaller) as an array."""
    rows, columns = np.shape(product)
    _afford(rows, columns)
    return np.asarray(product.toarray() if hasattr(product, "toarray") else product)


def sparse_rows(samples: Samples) -> csr_array:
    return samples.array.astype(np.float64, copy=False)


def membership(codes: Codes, n_classes: int) -> csr_array:
    """Sparse (n_classes x rows) matrix of ones that sums rows class by class."""
    from scipy.sparse import csc_array

    n = len(codes)
    return csc_array((np.ones(n), codes, np.arange(n + 1)), shape=(n_classes, n))


def class_sums(rows: Array, codes: Codes, n_classes: int) -> Array:
    """Sums of the rows class by class, in the rows' order: the same bits either way."""
    if rows.size > _FEW_NUMBERS:
        return np.asarray(membership(codes, n_classes) @ rows)
    d = rows.shape[1]
    places = codes[:, None] * d + np.arange(d)
    sums = np.bincount(places.ravel(), rows.ravel(), n_classes * d)
    return np.asarray(sums, dtype=np.float64).reshape(n_classes, d)
