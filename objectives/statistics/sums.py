"""Sums over samples about a pilot mean, and typical lengths of samples and columns."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ldr.objectives.data import memory
from ldr.objectives.data.data import BLOCK_NUMBERS, Array, Samples
from ldr.solvers.deadline import check
from ldr.solvers.errors import DataError
from ldr.solvers.linalg.rounding import VALUE_ROUNDING

if TYPE_CHECKING:
    from scipy.sparse import csr_array


Codes = npt.NDArray[np.intp]

# The data are shifted by the mean of this many rows, which errs by 1/16 of a standard deviation.
_PILOT_ROWS = 256
# Rows are not shifted if all means are within this many standard deviations of zero. Omitting the
# shift saves a copy and a fifth of the time, and multiplies relative errors by at most 26.
NO_SHIFT = 5.0
# Up to this number of entries class sums do not use scipy.sparse, whose import takes 10 ms.
_FEW_NUMBERS = 2**15
# Least number of columns in a block, and largest number of entries in a block of more columns.
_LEAST_COLUMNS, _ROWS_NUMBERS = 2, BLOCK_NUMBERS


def few_columns(m: int, n: int) -> Iterator[slice]:
    """Yield slices of few of m columns, so that n rows of a slice take little memory."""
    step = max(_LEAST_COLUMNS, _ROWS_NUMBERS // n)
    for start in range(0, m, step):
        check()
        yield slice(start, start + step)


@dataclass(frozen=True, eq=False)
class TwoPartMean:
    """The means origin + offset of groups of rows.

    If a mean is large relative to the standard deviation, differences of the parts are more
    accurate than differences of the sums origin + offset. A group without rows has any mean.

    - n (c,): number of rows of each group, or sum of weights
    - origin, offset (c, d)
    """

    n: Array | Codes
    origin: Array
    offset: Array

    @classmethod
    def about(cls, n: float | Array | Codes, shift: Array, sums: Array) -> TwoPartMean:
        """Compute the means from the groups' sums of rows minus a shift (c, d)."""
        n = np.atleast_1d(n)
        return cls(n, shift, sums / np.where(n > 0, n, 1)[:, None])

    @property
    def value(self) -> Array:
        return self.origin + self.offset

    def __sub__(self, other: TwoPartMean) -> Array:
        return (self.origin - other.origin) + (self.offset - other.offset)

    def merge(self, other: TwoPartMean) -> TwoPartMean:
        """Return the means of the union of two sets of rows."""
        n, new = self.n + other.n, (self.n == 0)[:, None]
        shares = (other.n / np.where(n > 0, n, 1))[:, None]
        offset = np.where(new, other.offset, self.offset + shares * (other - self))
        return TwoPartMean(n, np.where(new, other.origin, self.origin), offset)


def spread_rows(n: int, count: int) -> Codes:
    """Return indices of `count` rows, one from each of `count` equal stretches of 0..n-1.

    The position within each stretch of rows is random, with a fixed seed, so that periodic data are
    sampled without bias.
    """
    if count >= n:
        return np.arange(n)
    return np.minimum(_places(n, count).astype(np.intp), n - 1)


def _places(length: float, count: int) -> Array:
    """Return a random place in each of `count` equal stretches of an interval from 0."""
    return (np.arange(count) + _jitter(count)) * (length / count)


@lru_cache(8)
def _jitter(count: int) -> Array:
    return np.random.default_rng(0).random(count)


def pilot_rows(samples: Samples) -> Codes:
    """Return the indices of the pilot's rows, fewer for very many columns.

    Rows with weights occur in proportion to their weights.
    """
    most = max(16, min(_PILOT_ROWS, BLOCK_NUMBERS // samples.d))
    if samples.weights is None:
        return spread_rows(samples.n, most)
    heaped = np.cumsum(samples.weights)
    return _rows_at(_places(heaped[-1], most), heaped)


def heaviest_rows(codes: Codes, groups: int, weights: Array | None) -> Codes:
    """Return the first row of largest weight in each group; row 0 for a group without rows."""
    rows = np.arange(len(codes))[::-1]
    if weights is not None:
        largest = np.zeros(groups)
        np.maximum.at(largest, codes, weights)
        rows = rows[(weights == largest[codes])[::-1]]
    found = np.zeros(groups, dtype=np.intp)
    found[codes[rows]] = rows  # rows descend: each group keeps the first of its rows
    return found


def pilots(samples: Samples, codes: Codes | None = None, groups: int = 1) -> Array:
    """Return a shift of dense rows for each group (c, d), near its mean, exact for a constant.

    The shifts are zero if all means are within `NO_SHIFT` standard deviations of zero.
    """
    codes = np.zeros(samples.n, dtype=np.intp) if codes is None else codes
    first_rows = heaviest_rows(codes, groups, samples.weights)
    rows = np.concatenate([first_rows, pilot_rows(samples)])
    firsts, sample, own = sampled(samples, first_rows), sampled(samples, rows), codes[rows]
    sample -= firsts[own]  # a constant column becomes exactly zero in all rows
    sizes = np.bincount(own, minlength=groups)[:, None]
    offsets = class_sums(sample, own, groups) / np.maximum(sizes, 1)
    shifts = firsts + offsets
    sample -= offsets[own]
    with np.errstate(over="ignore"):  # squares of very large entries may overflow
        spread = np.sqrt(np.einsum("ij,ij->j", sample, sample) / len(sample))
    return np.zeros_like(shifts) if (np.abs(shifts) <= NO_SHIFT * spread).all() else shifts


def counting_rows(n: int, weights: Array | None, count: int) -> Codes:
    """Return indices of at most `count` rows, spread over the rows with positive weight."""
    there = None if weights is None else np.flatnonzero(weights)
    if there is None or len(there) == 0:
        return spread_rows(n, count)
    return there[spread_rows(len(there), count)]


def sampled(samples: Samples, rows: Codes) -> Array:
    """Copy some rows of dense data, in float64."""
    picked = np.asarray(samples.array)[rows]  # indexing with an array makes a copy
    return np.asarray(picked, dtype=np.float64, order="C")


def weighted(Z: Array, weights: Array | None) -> Array:
    """Return W^{1/2}Z, W = diag(weights), or Z itself without weights."""
    return Z if weights is None else Z * np.sqrt(weights[:, None])


def counted(z: Array, weights: Array | None) -> Array:
    """Return the vector z times the weights, or z itself without weights."""
    return z if weights is None else z * weights


def counted_rows(Z: Array, weights: Array | None, where: slice | Codes = slice(None)) -> Array:
    """Return WZ for a block of rows, W = diag(weights), or Z itself without weights."""
    return Z if weights is None else Z * weights[where][:, None]


def square(Z: Array) -> Array:
    """Return Z'Z after a check of the memory."""
    check_sums(Z.shape[1], Z.shape[1])
    return np.asarray(Z.T @ Z)


def added(earlier: Array, later: Array) -> Array:
    """Add `later` to `earlier` in place; a merge function for sums that are arrays."""
    earlier += later
    return earlier


def zeros(rows: int, columns: int) -> Array:
    """Return zeros after a check of the memory."""
    check_sums(rows, columns)
    return np.zeros((rows, columns))


def check_sums(rows: int, columns: int) -> None:
    """Refuse matrices of which two copies do not fit into memory."""
    if 16.0 * rows * columns <= memory.SMALL:
        return
    memory.check_memory(
        16.0 * rows * columns,
        f"a symmetric matrix of shape ({rows}, {columns})",
        "leave out columns, or use pca, lda, maf or pls with sparse rows and a small r",
    )


def symmetric(A: Array) -> Array:
    return 0.5 * (A + A.T)


def dense(product: csr_array | Array) -> Array:
    """Return a product of two sparse matrices (d x d or smaller) as an array."""
    rows, columns = np.shape(product)
    check_sums(rows, columns)
    return np.asarray(product.toarray() if hasattr(product, "toarray") else product)


def sparse_rows(samples: Samples) -> csr_array:
    return samples.array.astype(np.float64, copy=False)


def membership(codes: Codes, n_classes: int, weights: Array | None = None) -> csr_array:
    """Return the sparse indicator matrix (n_classes x n) of the classes, times the weights."""
    from scipy.sparse import csc_array

    n = len(codes)
    entries = np.ones(n) if weights is None else weights
    return csc_array((entries, codes, np.arange(n + 1)), shape=(n_classes, n))


def class_averages(
    codes: Codes, n_classes: int, weights: Array | None = None
) -> tuple[csr_array, Array]:
    """Return a sparse F such that FX are the class means, and the sizes of the classes.

    Rows with negative codes are in no class; the mean of a class without weight is zero.
    """
    from scipy.sparse import csr_array

    there = np.flatnonzero(codes >= 0)
    known, counts = codes[there], np.ones(len(there)) if weights is None else weights[there]
    sizes = np.asarray(np.bincount(known, counts, minlength=n_classes), dtype=np.float64)
    shape = n_classes, len(codes)
    shares = counts / np.where(sizes > 0, sizes, 1.0)[known]
    return csr_array((shares, (known, there)), shape=shape), sizes


def class_sums(
    rows: csr_array | Array, codes: Codes | None, n_classes: int, weights: Array | None = None
) -> Array:
    """Return the weighted sum of the rows of each class, of all rows without codes, (c, d)."""
    if codes is None:
        return np.asarray(rows.T @ (np.ones(rows.shape[0]) if weights is None else weights))[None]
    if not isinstance(rows, np.ndarray):
        return dense(membership(codes, n_classes, weights).tocsr() @ rows)
    if rows.size > _FEW_NUMBERS:
        return np.asarray(membership(codes, n_classes, weights) @ rows)
    d = rows.shape[1]
    places = codes[:, None] * d + np.arange(d)
    sums = np.bincount(places.ravel(), counted_rows(rows, weights).ravel(), n_classes * d)
    return np.asarray(sums, dtype=np.float64).reshape(n_classes, d)


def typical_length(X: Array) -> float:
    """Return the power of two nearest to the root mean square of the rows' norms."""
    largest = float(np.abs(X).max())
    if largest == 0:
        raise DataError("all rows of X are equal, expected rows that differ")
    length = largest * math.sqrt(float(np.mean(np.sum((X / largest) ** 2, axis=1))))
    return 2.0 ** round(math.log2(length))


def column_lengths(X: Array) -> Array:
    """Return root mean squares of the columns; 1 for a column of zeros."""
    largest = np.abs(X).max(axis=0)
    largest = np.where(largest > 0, largest, 1.0)
    root = np.sqrt(np.mean((X / largest) ** 2, axis=0))
    return np.asarray(largest * np.where(root > 0, root, 1.0), dtype=np.float64)


def quantiles(z: Array, shares: Array, weights: Array) -> Array:
    """Return weighted quantiles of z: integer weights are equivalent to repeated entries.

    Fractional weights are first divided by their mean. The quantiles interpolate linearly between
    the first and last positions of equal sorted entries, or the middle positions for weights below
    1, and are continuous in the weights.
    """
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
    asked = np.where(np.abs(asked - whole) <= VALUE_ROUNDING * ends[-1], whole, asked)
    return np.interp(asked, places.ravel(), np.repeat(z[order], 2))


def median(z: Array, weights: Array | None = None) -> float:
    """Return the weighted median, by `quantiles`."""
    return float(np.median(z) if weights is None else quantiles(z, np.array([0.5]), weights)[0])


def middle_places(z: Array) -> Codes:
    """Return the indices of the two entries whose mean is the median."""
    places = [(len(z) - 1) // 2, len(z) // 2]
    return np.asarray(np.argpartition(z, places)[places])


def even_rows(n: int, count: int, weights: Array | None = None) -> Codes:
    """Return the indices of at most `count` of n rows, evenly spaced.

    Integer weights are equivalent to repeated rows; fractional weights are ignored.
    """
    if weights is None or _are_shares(weights):
        return np.linspace(0, n - 1, min(n, count)).astype(np.intp)
    ends = np.cumsum(weights)
    return _rows_at(even_rows(int(ends[-1]), count), ends)


def _rows_at(places: Array | Codes, ends: Array) -> Codes:
    """Return the rows at places in the sum of weights, given the cumulative weights `ends`."""
    rows = np.searchsorted(ends, places, side="right")
    return rows.clip(max=len(ends) - 1)  # rounding of the sum can lead past the last row


def _are_shares(weights: Array) -> bool:
    """Return True if some weight is not a whole number."""
    return bool(np.any(weights != np.floor(weights)))
