"""Scatters within and between classes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from ldr.objectives.samples import Array, Samples
from ldr.objectives.statistics.sums import (
    NO_SHIFT,
    Codes,
    add_square,
    dense,
    full,
    pilot_rows,
    sampled,
    sparse_rows,
    spread_rows,
    symmetric,
    zeros,
)
from ldr.solvers.errors import ArgumentError

_ROWS_PER_CLASS = 4


@dataclass(frozen=True, eq=False)
class ClassMoments:
    """Scatters within and between c classes.

    Attributes
    ----------
    counts : ndarray of int, shape (c,)
        n_k, the samples in each class.
    means : ndarray, shape (c, d)
        mu_k.
    mean : ndarray, shape (d,)
        mu, the mean of all samples.
    within : ndarray, shape (d, d)
        S_W = sum_i (x_i - mu_{z_i})(x_i - mu_{z_i})'.
    between : ndarray, shape (d, d)
        S_B = sum_k n_k (mu_k - mu)(mu_k - mu)'. S_B + S_W is the scatter of all samples.
    """

    counts: Codes
    means: Array
    mean: Array
    within: Array
    between: Array


def class_moments(
    samples: Samples, codes: Codes, n_classes: int, *, rows: int | None = None
) -> ClassMoments:
    """Scatters within and between classes, in one pass; classes may come in any order.

    Parameters
    ----------
    samples : Samples, shape (n, d)
    codes : ndarray of int, shape (n,)
        Class of each sample, 0..n_classes-1, every class occurring (see `as_labels`).
    n_classes : int
    rows : int, optional
        Rows in a block.

    Returns
    -------
    ClassMoments
        S_W is accurate relative to its own diagonal even where the classes lie far apart, since
        each class has its own pilot, and S_B relative to its own where they lie close. Both
        are algebraic for sparse data.

    Raises
    ------
    ArgumentError
        Another number of codes than rows, codes out of range, or a class that never occurs.
    """
    counts = _class_counts(samples.n, codes, n_classes)
    if samples.is_sparse:
        return _sparse_class_moments(samples, codes, counts)
    pilots = _class_pilots(samples, codes, counts)
    # With many classes, longer blocks: the sums are rewritten for each.
    rows = rows or max(samples.block_rows, _ROWS_PER_CLASS * n_classes)
    sums, squares = np.zeros((n_classes, samples.d)), zeros(samples.d, samples.d)
    for where, Z in _class_shifted_blocks(samples, codes, pilots, rows):
        sums += _membership(codes[where], n_classes) @ Z
        squares = add_square(squares, Z)
    rest = sums / counts[:, None]
    weighted = np.sqrt(counts)[:, None] * rest
    squares = scipy.linalg.blas.dsyrk(-1.0, weighted.T, beta=1.0, c=squares, overwrite_c=1)
    if pilots is None:
        return _class_moments(counts, np.zeros(samples.d), rest, full(squares))
    # Class means measured from one of the pilots keep the digits that their differences need.
    return _class_moments(counts, pilots[0], (pilots - pilots[0]) + rest, full(squares))


def _class_shifted_blocks(
    samples: Samples, codes: Codes, pilots: Array | None, rows: int
) -> Iterator[tuple[slice, Array]]:
    """Walk over dense blocks less each row's class pilot, in one buffer (see shifted_blocks)."""
    if pilots is None:
        yield from samples.blocks(rows)
        return
    buffer = np.empty((min(rows, samples.n), samples.d))
    for where, block in samples.blocks(rows):
        Z = buffer[: len(block)]
        # mode="clip" (the codes are checked) lets take write into its output directly.
        np.take(pilots, codes[where], axis=0, out=Z, mode="clip")
        yield where, np.subtract(block, Z, out=Z)


def _class_counts(n: int, codes: Codes, n_classes: int) -> Codes:
    if codes.shape != (n,):
        raise ArgumentError(f"codes has shape {codes.shape}; one code for each of {n} rows needed")
    if codes.min() < 0 or codes.max() >= n_classes:
        raise ArgumentError(
            f"codes run from {codes.min()} to {codes.max()}; 0 to {n_classes - 1} was expected"
        )
    counts = np.bincount(codes, minlength=n_classes)
    if np.any(counts == 0):
        raise ArgumentError(f"class {int(np.argmin(counts))} of {n_classes} has no samples")
    return counts


def _class_pilots(samples: Samples, codes: Codes, counts: Codes) -> Array | None:
    """Shift for each class, from sampled rows and each class's first: close to its mean.

    None where the class means are already small against the spread within classes.
    """
    first_rows = np.unique(codes, return_index=True)[1]
    rows = np.union1d(spread_rows(samples.n, pilot_rows(samples.d)), first_rows)
    firsts, sample, classes = sampled(samples, first_rows), sampled(samples, rows), codes[rows]
    sample -= firsts[classes]
    offsets = _membership(classes, len(counts)) @ sample
    offsets /= np.bincount(classes, minlength=len(counts))[:, None]
    pilots = firsts + offsets
    sample -= offsets[classes]
    if np.all(counts @ pilots**2 <= NO_SHIFT**2 * samples.n * np.mean(sample**2, axis=0)):
        return None
    return np.asarray(pilots)


def _membership(codes: Codes, n_classes: int) -> Any:
    """Sparse (n_classes x rows) matrix of ones that sums rows class by class."""
    from scipy.sparse import csc_array

    n = len(codes)
    return csc_array((np.ones(n), codes, np.arange(n + 1)), shape=(n_classes, n))


def _class_moments(counts: Codes, origin: Array, offsets: Array, within: Array) -> ClassMoments:
    """Put the parts together, from class means relative to an origin."""
    centre = counts @ offsets / counts.sum()
    weighted = np.sqrt(counts)[:, None] * (offsets - centre)
    return ClassMoments(
        counts, origin + offsets, origin + centre, within, symmetric(weighted.T @ weighted)
    )


def _sparse_class_moments(samples: Samples, codes: Codes, counts: Codes) -> ClassMoments:
    X = sparse_rows(samples)
    means = dense(_membership(codes, len(counts)).tocsr() @ X) / counts[:, None]
    weighted = np.sqrt(counts)[:, None] * means
    within = dense(X.T @ X) - weighted.T @ weighted
    return _class_moments(counts, np.zeros(samples.d), means, symmetric(within))
