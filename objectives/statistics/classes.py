"""Scatters within and between classes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from ldr.objectives.data.map_reduce import room
from ldr.objectives.data.samples import Array, Samples
from ldr.objectives.statistics.sparse import scaled_rows, shifted_classes
from ldr.objectives.statistics.sums import (
    NO_SHIFT,
    Codes,
    add_outers,
    add_square,
    class_sums,
    counted_rows,
    counting_rows,
    dense,
    full,
    membership,
    pilot_rows,
    sampled,
    symmetric,
    weighted,
    zeros,
)
from ldr.solvers.errors import ArgumentError
from ldr.solvers.limits import check
from ldr.solvers.records import dataclass

_ROWS_PER_CLASS = 4


@dataclass(frozen=True, eq=False)
class ClassMoments:
    """Scatters within and between c classes.

    Attributes
    ----------
    counts : ndarray, shape (c,)
        n_k, the samples in each class, or the sum of their weights.
    means : ndarray, shape (c, d)
        mu_k.
    mean : ndarray, shape (d,)
        mu, the mean of all samples.
    within : ndarray, shape (d, d)
        S_W = sum_i (x_i - mu_{z_i})(x_i - mu_{z_i})'.
    between : ndarray, shape (d, d)
        S_B = sum_k n_k (mu_k - mu)(mu_k - mu)'.
    apart : ndarray, shape (c, d)
        mu_k - mu, with digits that these two may have lost.
    """

    counts: Codes | Array
    means: Array
    mean: Array
    within: Array
    between: Array
    apart: Array

    @property
    def n(self) -> float:
        """The number of samples, or the sum of their weights."""
        return float(self.counts.sum()) if self.counts.dtype.kind == "f" else int(self.counts.sum())

    @property
    def total(self) -> Array:
        """S_W + S_B, the scatter of all samples."""
        return self.within + self.between

    def through(self, T: Array) -> ClassMoments:
        """Of the rows x'T."""
        within, between = T.T @ self.within @ T, T.T @ self.between @ T
        means = self.means @ T, self.mean @ T
        return ClassMoments(self.counts, *means, within, between, self.apart @ T)


def class_moments(samples: Samples, codes: Codes, n_classes: int) -> ClassMoments:
    """Scatters within and between classes, in one pass; classes may come in any order.

    Parameters
    ----------
    samples : Samples, shape (n, d)
    codes : ndarray of int, shape (n,)
        Class of each sample, 0..n_classes-1, every class occurring (see `as_labels`).
    n_classes : int

    Returns
    -------
    ClassMoments
        S_W is accurate relative to its own diagonal even where the classes lie far apart, since
        each class has its own pilot, and S_B relative to its own where they lie close.

    Raises
    ------
    ArgumentError
        Another number of codes than rows, codes out of range, or a class that never occurs.
    """
    _check_codes(codes, samples.n, n_classes)
    term = partial(_class_spread, n_classes=n_classes)
    return samples.reduce(term, ClassSpread.merge, codes).moments


@dataclass(eq=False)
class ClassSpread:
    """Counts, means and the scatter within classes of some rows; can be merged with others.

    The means are kept in two parts, as a `TwoPartMean` is. Classes may be missing: their count is
    zero and their means are arbitrary.

    Attributes
    ----------
    counts : ndarray, shape (c,)
    origins, offsets : ndarray, shape (c, d)
    within : ndarray, shape (d, d)
        Its upper triangle, in Fortran order.
    """

    counts: Codes | Array
    origins: Array
    offsets: Array
    within: Array

    def merge(self, other: ClassSpread) -> ClassSpread:
        """Those of both, in place; each class is merged like a `Spread`."""
        counts = self.counts + other.counts
        share = other.counts / np.where(counts > 0, counts, 1)
        apart = (other.origins - self.origins) + (other.offsets - self.offsets)
        self.within += other.within
        self.within = add_outers(self.within, np.sqrt(self.counts * share)[:, None] * apart, 1.0)
        new = self.counts == 0
        self.origins[new], self.offsets[new] = other.origins[new], other.offsets[new]
        self.offsets += np.where(new, 0.0, share)[:, None] * apart
        self.counts = counts
        return self

    @property
    def moments(self) -> ClassMoments:
        if not self.counts.all():
            missing = int(np.argmin(self.counts))
            raise ArgumentError(
                f"class {missing} of {len(self.counts)} has no samples, or none with a weight"
            )
        # Class means measured from one of the origins keep the digits that their differences need.
        origin = self.origins[0]
        offsets = (self.origins - origin) + self.offsets
        centre = self.counts @ offsets / self.counts.sum()
        apart = offsets - centre
        counted = np.sqrt(self.counts)[:, None] * apart
        between = symmetric(counted.T @ counted)
        within = full(self.within)
        means = origin + offsets, origin + centre
        return ClassMoments(self.counts, *means, within, between, apart)


def _class_spread(piece: Samples, codes: Codes, n_classes: int) -> ClassSpread:
    """Counts, means and the scatter within the classes of a piece."""
    counts = np.bincount(codes, piece.weights, minlength=n_classes)
    there = np.flatnonzero(counts)
    if len(there) == 0:  # no row of the piece has a weight
        origins, offsets = np.zeros((2, n_classes, piece.d))
        return ClassSpread(counts, origins, offsets, zeros(piece.d, piece.d))
    if len(there) < n_classes:  # work with the classes of this piece alone
        place = np.zeros(n_classes, dtype=np.intp)
        place[there] = np.arange(len(there))
        codes = place[codes]
    if piece.is_sparse:
        pilots, rest, within = _sparse_class_sums(piece, codes, counts[there])
    else:
        pilots, rest, within = _dense_class_sums(piece, codes, counts[there])
    if len(there) == n_classes:
        return ClassSpread(counts, pilots, rest, within)
    origins, offsets = np.zeros((2, n_classes, piece.d))
    origins[there], offsets[there] = pilots, rest
    return ClassSpread(counts, origins, offsets, within)


def _dense_class_sums(
    piece: Samples, codes: Codes, counts: Codes | Array
) -> tuple[Array, Array, Array]:
    """Pilots, means less the pilots, and the scatter within classes (upper triangle)."""
    c, d = len(counts), piece.d
    pilots = _class_pilots(piece, codes, counts)
    if piece.accelerator is not None and piece.weights is None:
        shift = np.zeros((c, d)) if pilots is None else pilots
        sums, squares = piece.accelerator.class_sums(piece.array, shift, codes)
        return shift, *_centred_classes(sums, squares, counts)
    # With many classes, longer blocks: the sums are rewritten for each.
    rows = max(piece.block_rows, _ROWS_PER_CLASS * c)
    sums, squares = np.zeros((c, d)), zeros(d, d)
    for where, Z in _class_shifted_blocks(piece, codes, pilots, rows):
        sums += class_sums(counted_rows(Z, piece.weights, where), codes[where], c)
        squares = add_square(squares, weighted(Z, piece.weights, where))
    return np.zeros((c, d)) if pilots is None else pilots, *_centred_classes(sums, squares, counts)


def _centred_classes(sums: Array, squares: Array, counts: Codes | Array) -> tuple[Array, Array]:
    """Means of classes from their sums, and the scatter about them from that about zero."""
    means = np.asarray(sums / counts[:, None], order="C")
    return means, add_outers(squares, np.sqrt(counts)[:, None] * means, -1.0)


def _class_shifted_blocks(
    samples: Samples, codes: Codes, pilots: Array | None, rows: int
) -> Iterator[tuple[slice, Array]]:
    """Walk over dense blocks less each row's class pilot, in one buffer (see shifted_blocks)."""
    if pilots is None and samples.array.dtype == np.float64:
        yield from samples.blocks(rows)
        return
    with room(min(rows, samples.n), samples.d) as buffer:
        for where in samples.slices(rows):
            check()
            Z = buffer[: where.stop - where.start]
            if pilots is not None:
                # mode="clip" (the codes are checked) lets take write into its output directly.
                np.take(pilots, codes[where], axis=0, out=Z, mode="clip")
            yield where, samples.less(where, None if pilots is None else Z, out=Z)


def _check_codes(codes: Codes, n: int, n_classes: int) -> None:
    if codes.shape != (n,):
        raise ArgumentError(f"codes has shape {codes.shape}; one code for each of {n} rows needed")
    if codes.min() < 0 or codes.max() >= n_classes:
        raise ArgumentError(
            f"codes run from {codes.min()} to {codes.max()}; 0 to {n_classes - 1} was expected"
        )


def _class_pilots(samples: Samples, codes: Codes, counts: Codes | Array) -> Array | None:
    """Shift for each class, from sampled rows and each class's first: close to its mean.

    None where the class means are already small against the spread within classes.
    """
    first_rows = np.empty(len(counts), dtype=np.intp)
    counting = counting_rows(samples.n, samples.weights, samples.n)[::-1]
    first_rows[codes[counting]] = counting  # of equal codes the last one written
    rows = counting_rows(samples.n, samples.weights, pilot_rows(samples.n, samples.d))
    if len(rows) < len(counting):
        rows = np.union1d(rows, first_rows)
    firsts, sample, classes = sampled(samples, first_rows), sampled(samples, rows), codes[rows]
    sample -= firsts[classes]
    offsets = class_sums(sample, classes, len(counts))
    offsets /= np.bincount(classes, minlength=len(counts))[:, None]
    pilots = firsts + offsets
    sample -= offsets[classes]
    spread = np.add.reduce(sample**2) / len(sample)
    small = counts @ pilots**2 <= NO_SHIFT**2 * samples.weight * spread
    return None if small.all() else np.asarray(pilots)


def _sparse_class_sums(
    piece: Samples, codes: Codes, counts: Codes | Array
) -> tuple[Array, Array, Array]:
    X, shift = shifted_classes(piece, codes, np.bincount(codes, minlength=len(counts)))
    counted = scaled_rows(X, piece.weights)
    means = dense(membership(codes, len(counts)).tocsr() @ counted) / counts[:, None]
    apart = np.sqrt(counts)[:, None] * means
    within = symmetric(dense(X.T @ counted) - apart.T @ apart)
    return shift, means, np.asfortranarray(within)
