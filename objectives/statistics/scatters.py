"""Class means and the scatters within and between classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from ldr.objectives.data.accelerator import Accelerator
from ldr.objectives.data.array_types import Cells
from ldr.objectives.data.data import Array, Samples
from ldr.objectives.data.sample_metadata import Marks
from ldr.objectives.statistics.products import scaled_rows, shifted_classes, shifted_rows
from ldr.objectives.statistics.sums import (
    NO_SHIFT,
    Codes,
    TwoPartMean,
    add_outer,
    add_outers,
    class_sums,
    column_sums,
    counted_rows,
    dense,
    full,
    membership,
    pilot,
    pilot_rows,
    sampled,
    square,
    symmetric,
    weighted,
    zeros,
)
from ldr.solvers.errors import ArgumentError, DataError

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False)
class ClassMoments:
    """Scatters within and between c classes.

    - counts (c,): n_k, number of samples of each class, or sum of weights
    - means (c, d): mu_k
    - mean (d,): mu, the mean of all samples
    - within (d, d): s_W = sum_i (x_i - mu_{z_i})(x_i - mu_{z_i})'
    - between (d, d): s_B = sum_k n_k (mu_k - mu)(mu_k - mu)'
    - apart (c, d): mu_k - mu, more accurate than the difference of `means` and `mean`
    """

    counts: Codes | Array
    means: Array
    mean: Array
    within: Array
    between: Array
    apart: Array

    @property
    def n(self) -> float:
        """Number of samples, or sum of weights."""
        return float(self.counts.sum()) if self.counts.dtype.kind == "f" else int(self.counts.sum())

    @cached_property
    def total(self) -> Array:
        """Scatter S_W + S_B of all samples."""
        return self.within + self.between

    def through(self, T: Array) -> ClassMoments:
        """Return the class moments of the rows x'T."""
        within, between = T.T @ self.within @ T, T.T @ self.between @ T
        means = self.means @ T, self.mean @ T
        return ClassMoments(self.counts, *means, within, between, self.apart @ T)


def class_moments(samples: Samples, codes: Codes, n_classes: int) -> ClassMoments:
    """Return scatters within and between classes, in a single pass.

    - samples (n, d): the rows
    - codes (n,): class of each sample, 0..n_classes-1, every class occurring (see `as_labels`)
    - returns: S_W is accurate relative to its diagonal even if class means differ widely, because
      each class has its own pilot. S_B is accurate relative to its diagonal even for close means.
    - raises ArgumentError: the number of codes is wrong, one is out of range, or a class is empty.
    """
    _check_codes(codes, samples.n, n_classes)
    term = partial(_class_spread, n_classes=n_classes)
    return samples.reduce(term, ClassSpread.merge, codes).moments


@dataclass(eq=False)
class ClassSpread:
    """Counts, means and within-class scatter of some rows; later rows can be merged.

    The means have two parts, as in `TwoPartMean`. A class without rows has an arbitrary mean.

    - counts (c,), origins, offsets (c, d): weight and two-part mean of each class
    - within (d, d): upper triangle, in Fortran order
    """

    counts: Codes | Array
    origins: Array
    offsets: Array
    within: Array

    def merge(self, other: ClassSpread) -> ClassSpread:
        """Merge with the moments of further rows, in place."""
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
                f"class {missing} of {len(self.counts)} has no samples of positive weight"
            )
        # Differences of means are accurate if the origin is near the means.
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
    if len(there) == 0:  # all weights in the chunk of rows are zero
        origins, offsets = np.zeros((2, n_classes, piece.d))
        return ClassSpread(counts, origins, offsets, zeros(piece.d, piece.d))
    if len(there) < n_classes:  # the chunk of rows does not contain all classes
        place = np.zeros(n_classes, dtype=np.intp)
        place[there] = np.arange(len(there))
        codes = place[codes]
    pilots, rest, within = _class_sums(piece, codes, counts[there])
    if len(there) == n_classes:
        return ClassSpread(counts, pilots, rest, within)
    origins, offsets = np.zeros((2, n_classes, piece.d))
    origins[there], offsets[there] = pilots, rest
    return ClassSpread(counts, origins, offsets, within)


def _class_sums(piece: Samples, codes: Codes, counts: Codes | Array) -> tuple[Array, Array, Array]:
    """Pilots, means less the pilots, and the scatter within classes (upper triangle)."""
    c, d = len(counts), piece.d
    if piece.is_sparse:
        X, pilots = shifted_classes(piece, codes, np.bincount(codes, minlength=c))
        counted = scaled_rows(X, piece.weights)
        sums = dense(membership(codes, c).tocsr() @ counted)
        squares = np.asfortranarray(dense(X.T @ counted))
    else:
        shift = _class_pilots(piece, codes, counts)
        pilots = np.zeros((c, d)) if shift is None else shift
        if piece.accelerator is not None and piece.weights is None:
            sums, squares = piece.accelerator.class_sums(piece.array, pilots, codes)
        else:
            Z = piece.less(None if shift is None else shift[codes])
            sums = class_sums(counted_rows(Z, piece.weights), codes, c)
            squares = square(weighted(Z, piece.weights))
    means = np.asarray(sums / counts[:, None], order="C")
    return pilots, means, add_outers(squares, np.sqrt(counts)[:, None] * means, -1.0)


def _check_codes(codes: Codes, n: int, n_classes: int) -> None:
    if codes.shape != (n,):
        raise ArgumentError(f"codes has shape {codes.shape}; expected a code for each of {n} rows")
    if codes.min() < 0 or codes.max() >= n_classes:
        raise ArgumentError(
            f"codes run from {codes.min()} to {codes.max()}, expected 0 to {n_classes - 1}"
        )


def _class_pilots(samples: Samples, codes: Codes, counts: Codes | Array) -> Array | None:
    """Shift for each class, from sampled rows and each class's heaviest: near its mean.

    The result is None if class means are small relative to the standard deviation.
    """
    first_rows = np.empty(len(counts), dtype=np.intp)
    weights = samples.weights
    heaviest = np.arange(samples.n)[::-1]
    if weights is not None:
        largest = np.zeros(len(counts))
        np.maximum.at(largest, codes, weights)
        heaviest = heaviest[(weights == largest[codes])[::-1]]
    first_rows[codes[heaviest]] = heaviest  # rows descend: each class keeps the first of its rows
    rows = pilot_rows(samples)
    if weights is not None or len(rows) < samples.n:
        rows = np.concatenate([rows, first_rows])
    firsts, sample, classes = sampled(samples, first_rows), sampled(samples, rows), codes[rows]
    sample -= firsts[classes]
    offsets = class_sums(sample, classes, len(counts))
    offsets /= np.bincount(classes, minlength=len(counts))[:, None]
    pilots = firsts + offsets
    sample -= offsets[classes]
    spread = np.add.reduce(sample**2) / len(sample)
    small = counts @ pilots**2 <= NO_SHIFT**2 * samples.weight * spread
    return None if small.all() else np.asarray(pilots)


@dataclass(frozen=True, eq=False)
class Moments:
    """Mean and scatter of rows.

    - n: number of rows, or sum of weights
    - mean (d,)
    - scatter (d, d): sum_i w_i (x_i - mean)(x_i - mean)'
    """

    n: float
    mean: Array
    scatter: Array

    @property
    def covariance(self) -> Array:
        """scatter / n, shape (d, d)."""
        return self.scatter / self.n


def mean(samples: Samples) -> Array:
    """Return the mean of the rows.

    - returns (d,): the mean, accurate to a few eps times max(|mean|, standard deviation), and exact
      for constant columns of dense data
    """
    return samples.reduce(_mean, TwoPartMean.merge).value


def _mean(piece: Samples) -> TwoPartMean:
    Z, shift = shifted(piece)
    return TwoPartMean.about(shift, column_sums(Z, piece.weights), piece.weight)


def moments(samples: Samples) -> Moments:
    """Return mean and scatter of the rows, in a single pass.

    - returns: entries of the scatter are accurate to about 1e-14 sqrt(S_ii S_jj).
    """
    return samples.reduce(spread, Spread.merge).moments


@dataclass(eq=False)
class Spread:
    """Mean and scatter of some rows; those of further rows can be merged.

    - scatter (d, d): upper triangle, in Fortran order
    """

    mean: TwoPartMean
    scatter: Array

    @classmethod
    def empty(cls, d: int) -> Spread:
        """Return the moments of no rows."""
        return cls(TwoPartMean(0, np.zeros(d), np.zeros(d)), zeros(d, d))

    def merge(self, other: Spread) -> Spread:
        """Merge with the moments of further rows, in place."""
        na, nb = self.mean.n, other.mean.n
        self.scatter += other.scatter
        if na and nb:
            self.scatter = add_outer(self.scatter, other.mean - self.mean, na * nb / (na + nb))
        self.mean = self.mean.merge(other.mean)
        return self

    @property
    def moments(self) -> Moments:
        return Moments(self.mean.n, self.mean.value, full(self.scatter))


def moments_of_parts(samples: Samples, counts: Sequence[Array]) -> list[Moments]:
    """Return mean and scatter of several weighted parts of the rows, in a single pass.

    - counts (n,): for each part, the weight >= 0 of each row, in place of the sample weights
    """
    table = np.column_stack(counts).astype(np.float64)
    return [each.moments for each in samples.reduce(_spreads, _merged_spreads, table)]


def _spreads(piece: Samples, counts: Array) -> list[Spread]:
    found = []
    for c in counts.T:
        there = np.flatnonzero(c)
        part = replace(piece.take(there), marks=None if (c[there] == 1).all() else Marks(c[there]))
        found.append(spread(part) if len(there) else Spread.empty(piece.d))
    return found


def moments_of_groups(samples: Samples, codes: Codes, groups: int) -> list[Moments]:
    """Return mean and scatter of each group of the rows, in a single pass."""
    term = partial(_group_spreads, groups=groups)
    return [each.moments for each in samples.reduce(term, _merged_spreads, codes)]


def _group_spreads(piece: Samples, codes: Codes, groups: int) -> list[Spread]:
    parts = (piece.take(codes == k) for k in range(groups))
    return [spread(part) if part.n else Spread.empty(piece.d) for part in parts]


def _merged_spreads(earlier: list[Spread], later: list[Spread]) -> list[Spread]:
    return list(map(Spread.merge, earlier, later))


def shifted(piece: Samples) -> tuple[csr_array | Array, Array]:
    """Return sparse or dense rows minus a shift near their mean, and the shift."""
    if piece.is_sparse:
        return shifted_rows(piece)
    shift = pilot(piece)
    return piece.less(shift), np.zeros(piece.d) if shift is None else shift


def spread(piece: Samples) -> Spread:
    """Compute mean and scatter of a chunk of rows."""
    if piece.accelerator is not None and piece.weights is None and not piece.is_sparse:
        return spread_on(piece.accelerator, piece.array, pilot(piece))
    return spread_of(*shifted(piece), piece.weights)


def spread_of(Z: csr_array | Array, shift: Array | None, weights: Array | None) -> Spread:
    """Return mean and scatter of sparse or dense rows z + shift."""
    if isinstance(Z, np.ndarray):
        squares = square(weighted(Z, weights))
    else:
        squares = np.asfortranarray(dense(Z.T @ scaled_rows(Z, weights)))
    n = Z.shape[0] if weights is None else float(weights.sum())
    return spread_of_sums(column_sums(Z, weights), squares, n, shift)


def spread_on(accelerator: Accelerator, X: Cells, shift: Array | None) -> Spread:
    """Compute mean and scatter of rows on an accelerator."""
    total, squares = accelerator.spread(X, np.zeros(X.shape[1]) if shift is None else shift)
    return spread_of_sums(total, squares, len(X), shift)


def spread_of_sums(total: Array, squares: Array, n: float, shift: Array | None) -> Spread:
    """Return mean and scatter from the sums of shifted rows z and of zz'."""
    mean = TwoPartMean.about(shift, total, n)
    return Spread(mean, add_outer(squares, mean.offset, -float(n)))


@dataclass(frozen=True, eq=False)
class ViewMoments:
    """Means and scatters of several views of the same samples.

    - n: number of rows, or sum of weights
    - means (d_i,)
    - scatter (sum d_i, sum d_i): scatter of the concatenated views
    """

    n: float
    means: tuple[Array, ...]
    scatter: Array

    def block(self, i: int, j: int) -> Array:
        """Return sum_t w_t (x_t - mean_i)(z_t - mean_j)' of views i and j."""
        ends = np.cumsum([0, *map(len, self.means)])
        return self.scatter[ends[i] : ends[i + 1], ends[j] : ends[j + 1]]


def view_moments(views: Sequence[Samples]) -> ViewMoments:
    """Return means, scatters and cross scatters of several views of the same samples.

    Dense views take one pass over the rows. Sparse views take three passes: scatters first, then
    A'(B - 1 mean_b'), in which A need not be centred.

    - returns: as accurate as `moments`; the error of cross entry (i, j) is relative to sqrt(Saa_ii
      Sbb_jj)
    """
    first, *others = views
    for other in others:
        if first.n_known and other.n_known and first.n != other.n:
            raise DataError(
                f"{first.name} has {first.n} rows and {other.name} has {other.n}; "
                f"views of the same samples were expected"
            )
    all_of_them = first.reduce(joint_spread, Spread.merge, *others).moments
    means = np.split(all_of_them.mean, np.cumsum([view.d for view in views])[:-1])
    return ViewMoments(all_of_them.n, tuple(means), all_of_them.scatter)


def joint_spread(*views: Samples) -> Spread:
    """Return mean and scatter of a chunk of rows of the concatenated views."""
    if any(view.is_sparse for view in views):
        return _joint_spread_apart(views)
    first = views[0]
    pilots, shift = [pilot(view) for view in views], None
    if any(p is not None for p in pilots):
        pairs = zip(views, pilots, strict=True)
        shift = np.concatenate([np.zeros(view.d) if p is None else p for view, p in pairs])
    if first.accelerator is not None and first.weights is None:
        return spread_on(first.accelerator, np.hstack([view.array for view in views]), shift)
    Z = np.hstack([view.less(own) for view, own in zip(views, pilots, strict=True)])
    return spread_of(Z, shift, first.weights)


def _joint_spread_apart(views: Sequence[Samples]) -> Spread:
    """Return mean and scatter of views of which some are sparse, each about its own shift."""
    rows, shifts = zip(*map(shifted, views), strict=True)
    weight, weights = views[0].weight, views[0].weights
    of_each = [spread_of(Z, shift, weights) for Z, shift in zip(rows, shifts, strict=True)]
    blocks = [[full(one.scatter) for one in of_each] for _ in views]
    for j, B in enumerate(rows):
        counted = scaled_rows(B, weights)
        for i, A in enumerate(rows[:j]):
            offsets = of_each[i].mean.offset, of_each[j].mean.offset
            cross = dense(A.T @ counted) - weight * np.outer(*offsets)
            blocks[i][j], blocks[j][i] = cross, cross.T
    for i, one in enumerate(of_each):
        blocks[i][i] = full(one.scatter)
    origin = np.concatenate([one.mean.origin for one in of_each])
    offset = np.concatenate([one.mean.offset for one in of_each])
    return Spread(TwoPartMean(weight, origin, offset), np.asfortranarray(np.block(blocks)))
