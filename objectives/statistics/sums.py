"""Sums over samples about a pilot mean, and typical lengths of samples and columns."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import scipy

from ldr.objectives.data import memory
from ldr.objectives.data.samples import BLOCK_NUMBERS, Array, Samples
from ldr.solvers.deadline import check
from ldr.solvers.errors import DataError

if TYPE_CHECKING:
    from scipy.sparse import csr_array


Codes = npt.NDArray[np.intp]

# The pilot is the mean of this many rows; the remaining mean is a sixteenth of the spread.
_PILOT_ROWS = 256
# Columns whose mean is within this many standard deviations of zero are not shifted. This saves a
# copy and a fifth of the time; the correction then costs a factor 26 of the 1e16 of float64.
NO_SHIFT = 5.0
# Up to this many numbers class sums avoid a sparse matrix, whose module takes 10 ms to import.
_FEW_NUMBERS = 2**15
# Columns multiplied at a time, so that arrays as long as the rows need little memory.
_LEAST_COLUMNS, _ROWS_NUMBERS = 2, 2 * BLOCK_NUMBERS


def few_columns(m: int, n: int) -> Iterator[slice]:
    """Yield slices of m columns, so that a block of n rows takes little memory."""
    step = max(_LEAST_COLUMNS, _ROWS_NUMBERS // n)
    for start in range(0, m, step):
        check()
        yield slice(start, start + step)


@dataclass(frozen=True, eq=False)
class TwoPartMean:
    """The mean of n rows, or of rows of the total weight n, origin + offset.

    Differences of such means keep the digits that the sum of the two parts would round away if the
    mean is large beside the spread.
    """

    n: float
    origin: Array
    offset: Array

    @classmethod
    def about(cls, shift: Array | None, total: Array, n: float) -> TwoPartMean:
        """Compute the mean from the sum of n rows less a shift (None for none), or of weight n."""
        return cls(n, np.zeros_like(total) if shift is None else shift, total / (n or 1))

    @property
    def value(self) -> Array:
        return self.origin + self.offset

    def __sub__(self, other: TwoPartMean) -> Array:
        return (self.origin - other.origin) + (self.offset - other.offset)

    def merge(self, other: TwoPartMean) -> TwoPartMean:
        """Return the mean of both sets of rows; rows without weight are ignored."""
        n = self.n + other.n
        if not (self.n and other.n):
            return self if self.n else other
        return TwoPartMean(n, self.origin, self.offset + (other - self) * (other.n / n))


def spread_rows(n: int, count: int) -> Codes:
    """Return indices of `count` rows, each random in a stretch of 0..n-1 of equal length.

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


def pilot_rows(samples: Samples) -> Codes:
    """Return rows whose mean is near that of all; fewer of very many columns."""
    most = max(16, min(_PILOT_ROWS, BLOCK_NUMBERS // samples.d))
    return counting_rows(samples.n, samples.weights, most)


def pilot(samples: Samples) -> Array | None:
    """Return a shift for dense rows: near their mean, exact for constant columns.

    None if every column's mean is small compared with its spread.
    """
    sample = sampled(samples, pilot_rows(samples))
    first = sample[0].copy()
    sample -= first  # exactly zero in a constant column, so that its pilot is its value
    offset = np.add.reduce(sample) / len(sample)
    shift = first + offset
    sample -= offset
    with np.errstate(over="ignore"):  # an infinite spread is larger than any shift
        spread = np.sqrt(np.einsum("ij,ij->j", sample, sample) / len(sample))
    return None if (np.abs(shift) <= NO_SHIFT * spread).all() else shift


def counting_rows(n: int, weights: Array | None, count: int) -> Codes:
    """Return indices of at most `count` rows, spread over the rows with positive weight."""
    there = None if weights is None else np.flatnonzero(weights)
    if there is None or len(there) == 0:
        return spread_rows(n, count)
    return there[spread_rows(len(there), count)]


def sampled(samples: Samples, rows: Codes) -> Array:
    """Copy some rows of dense data, in float64."""
    picked = np.asarray(samples.array)[rows]  # indexing has copied the rows already
    return np.asarray(picked, dtype=np.float64, order="C")


def weighted(Z: Array, weights: Array | None) -> Array:
    """Return W^{1/2}Z, or Z itself if every row counts once."""
    return Z if weights is None else Z * np.sqrt(weights[:, None])


def counted(z: Array, weights: Array | None) -> Array:
    """Multiply numbers of rows by their weights, if they have any."""
    return z if weights is None else z * weights


def counted_rows(Z: Array, weights: Array | None, where: slice | Codes = slice(None)) -> Array:
    """Return WZ of a block of rows, or Z itself if every row counts once."""
    return Z if weights is None else Z * weights[where][:, None]


def square(Z: Array) -> Array:
    """Return Z'Z, in Fortran order, after a check of the memory."""
    check_sums(Z.shape[1], Z.shape[1])
    return np.matmul(Z.T, Z).T


def add_outer(total: Array, v: Array, weight: float) -> Array:
    """Add weight v v' to the upper triangle of total, in place (total in Fortran order)."""
    return scipy.linalg.blas.dsyr(weight, v, a=total, overwrite_a=1)


def add_outers(total: Array, V: Array, weight: float) -> Array:
    """Add weight V'V to the upper triangle, in place (total in Fortran order, V in C order)."""
    square = np.matmul(V.T, V)
    total += square.T if weight == 1.0 else weight * square.T
    return total


def add_product(total: Array, Z: Array, Y: Array) -> Array:
    """Return total + Z'Y, computed in place (total in Fortran order, Z and Y in C order)."""
    total += np.matmul(Y.T, Z).T
    return total


def added(earlier: Array, later: Array) -> Array:
    """Add later to earlier in place: the merge of sums that are arrays."""
    earlier += later
    return earlier


def column_sums(Z: Array, weights: Array | None) -> Array:
    """Return 1'Z, or w'Z."""
    return np.matmul(np.ones(len(Z)) if weights is None else weights, Z)


def zeros(rows: int, columns: int) -> Array:
    """Return zeros in the order to which BLAS can add without a copy."""
    check_sums(rows, columns)
    return np.zeros((rows, columns), order="F")


def check_sums(rows: int, columns: int) -> None:
    """Refuse sums that do not fit into memory twice, as making them symmetric takes a copy."""
    if 16.0 * rows * columns <= memory.SMALL:
        return
    memory.check_memory(
        16.0 * rows * columns,
        f"sums of shape ({rows}, {columns}), made symmetric,",
        "leave out columns, or take a method of few directions of sparse rows (pca, lda, maf, pls)",
    )


def full(upper: Array) -> Array:
    """Return the symmetric matrix of an upper triangle."""
    return np.where(np.tri(len(upper), k=-1, dtype=bool), upper.T, upper)


def symmetric(A: Array) -> Array:
    return 0.5 * (A + A.T)


def dense(product: csr_array | Array) -> Array:
    """Return a product of two sparse matrices (d x d or smaller) as an array."""
    rows, columns = np.shape(product)
    check_sums(rows, columns)
    return np.asarray(product.toarray() if hasattr(product, "toarray") else product)


def sparse_rows(samples: Samples) -> csr_array:
    return samples.array.astype(np.float64, copy=False)


def membership(codes: Codes, n_classes: int) -> csr_array:
    """Return the sparse (n_classes x rows) matrix of ones that sums rows class by class."""
    from scipy.sparse import csc_array

    n = len(codes)
    return csc_array((np.ones(n), codes, np.arange(n + 1)), shape=(n_classes, n))


def class_averages(
    codes: Codes, n_classes: int, weights: Array | None = None
) -> tuple[csr_array, Array]:
    """Return sparse F, where FX are the means of the classes, and the sizes of the classes.

    Rows of codes < 0 are in no class; the mean of a class without weight is zero.
    """
    from scipy.sparse import csr_array

    there = np.flatnonzero(codes >= 0)
    known, counts = codes[there], np.ones(len(there)) if weights is None else weights[there]
    sizes = np.asarray(np.bincount(known, counts, minlength=n_classes), dtype=np.float64)
    shape = n_classes, len(codes)
    shares = counts / np.where(sizes > 0, sizes, 1.0)[known]
    return csr_array((shares, (known, there)), shape=shape), sizes


def class_sums(rows: Array, codes: Codes, n_classes: int) -> Array:
    """Sum the rows class by class in the rows' order, with equal bits either way."""
    if rows.size > _FEW_NUMBERS:
        return np.asarray(membership(codes, n_classes) @ rows)
    d = rows.shape[1]
    places = codes[:, None] * d + np.arange(d)
    sums = np.bincount(places.ravel(), rows.ravel(), n_classes * d)
    return np.asarray(sums, dtype=np.float64).reshape(n_classes, d)


# Tolerance of a position among the sorted entries, relative to their number.
_ROUNDED = 1e-14


def typical_length(X: Array) -> float:
    """Return the power of two nearest to the root mean square of the rows' norms."""
    largest = float(np.abs(X).max())
    if largest == 0:
        raise DataError("all rows of X are equal, expected varying data")
    length = largest * math.sqrt(float(np.mean(np.sum((X / largest) ** 2, axis=1))))
    return 2.0 ** round(math.log2(length))


def column_lengths(X: Array) -> Array:
    """Return root mean squares of the columns; 1 for a column of zeros."""
    largest = np.abs(X).max(axis=0)
    largest = np.where(largest > 0, largest, 1.0)
    root = np.sqrt(np.mean((X / largest) ** 2, axis=0))
    return np.asarray(largest * np.where(root > 0, root, 1.0), dtype=np.float64)


def quantiles(z: Array, shares: Array, weights: Array | None = None) -> Array:
    """Return the quantiles of z with every entry repeated as often as its weight.

    Fractional weights are taken in units of their mean. The sorted entries are interpolated
    linearly between their first and last places, or their middle places for weights below 1:
    quantiles are continuous in the weights.
    """
    if weights is None:
        return np.asarray(np.quantile(z, shares))
    if _are_shares(weights):
        weights = weights * (np.count_nonzero(weights) / weights.sum())
    order = np.argsort(z, kind="stable")
    order = order[weights[order] > 0]
    w = weights[order]
    ends = np.cumsum(w)
    middle, half = ends - 0.5 * (w + 1.0), np.maximum(0.5 * (w - 1.0), 0.0)
    places = np.column_stack([middle - half, middle + half])
    asked = shares * (ends[-1] - 1.0)
    whole = np.rint(asked)
    asked = np.where(np.abs(asked - whole) <= _ROUNDED * ends[-1], whole, asked)
    return np.interp(asked, places.ravel(), np.repeat(z[order], 2))


def median(z: Array, weights: Array | None = None) -> float:
    """Return the median of entries repeated by their weights."""
    return float(np.median(z) if weights is None else quantiles(z, np.array([0.5]), weights)[0])


def middle_places(z: Array) -> Codes:
    """Return the indices of the two entries whose mean is the median."""
    places = [(len(z) - 1) // 2, len(z) // 2]
    return np.asarray(np.argpartition(z, places)[places])


def even_rows(n: int, count: int, weights: Array | None = None) -> Codes:
    """Return indices of `count` of n rows at most, evenly spaced.

    Whole-number weights count as repetitions; fractional weights are ignored.
    """
    if weights is None or _are_shares(weights):
        return np.linspace(0, n - 1, min(n, count)).astype(np.intp)
    ends = np.cumsum(weights)
    rows = np.searchsorted(ends, even_rows(int(ends[-1]), count), side="right")
    return rows.clip(max=n - 1)  # sums beyond 2^53 are rounded


def _are_shares(weights: Array) -> bool:
    """Return True if some weight is not a whole number."""
    return bool(np.any(weights != np.floor(weights)))
