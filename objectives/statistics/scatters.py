"""Means and scatters of rows, within and between classes, of several views and of components."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ldr.objectives.data.data import BLOCK_NUMBERS, Array, Samples
from ldr.objectives.data.sample_metadata import Marks
from ldr.objectives.statistics.products import scaled_rows, shifted_classes
from ldr.objectives.statistics.sums import (
    Codes,
    TwoPartMean,
    added,
    class_sums,
    counted_rows,
    dense,
    pilots,
    square,
    symmetric,
    weighted,
    zeros,
)
from ldr.solvers.errors import ArgumentError, DataError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from ldr.objectives.statistics.row_spaces import RowSpace


@dataclass(eq=False)
class Spread:
    """Means of groups of rows and the scatter within the groups; later rows can be merged.

    - mean: weights and means of the groups, by default of a single group
    - scatter (d, d): sum of the scatters of the groups about their means
    """

    mean: TwoPartMean
    scatter: Array

    @classmethod
    def of(cls, n: float | Array | Codes, origin: Array, sums: Array, squares: Array) -> Spread:
        """Compute the means from the groups' sums of shifted rows z, the scatter from sum zz'."""
        mean = TwoPartMean.about(n, origin, sums)
        squares -= _squares_of_means(mean.n, mean.offset)
        return cls(mean, squares)

    @classmethod
    def empty(cls, d: int) -> Spread:
        """Return mean and scatter of no rows."""
        return cls.of(0, np.zeros((1, d)), np.zeros((1, d)), zeros(d, d))

    def merge(self, other: Spread) -> Spread:
        """Merge with the sums of further rows, in place."""
        mean = self.mean.merge(other.mean)
        shares = self.mean.n * other.mean.n / np.where(mean.n > 0, mean.n, 1)
        self.scatter += other.scatter
        self.scatter += _squares_of_means(shares, other.mean - self.mean)
        self.mean = mean
        return self

    @property
    def moments(self) -> Moments:
        """Mean and scatter of a single group."""
        return Moments(self.mean.n[0].item(), self.mean.value[0], self.scatter)


def _squares_of_means(n: Array | Codes, means: Array) -> Array:
    """Return sum_k n_k m_k m_k'."""
    rows = np.sqrt(n)[:, None] * means
    return np.asarray(rows.T @ rows)


def spread(piece: Samples, codes: Codes | None = None, groups: int = 1) -> Spread:
    """Compute the means of groups, by default of a single one, and the scatter within them."""
    n = piece.weight if codes is None else np.bincount(codes, piece.weights, groups)
    if piece.accelerator is not None and piece.weights is None and not piece.is_sparse:
        origin = pilots(piece, codes, groups)
        sums, squares = piece.accelerator.class_sums(piece.array, origin, codes)
        squares = symmetric(squares)
    else:
        Z, origin = shifted(piece, codes, groups)
        sums = class_sums(Z, codes, groups, piece.weights)
        squares = squares_of(Z, piece.weights)
    return Spread.of(n, origin, sums, squares)


def shifted(
    piece: Samples, codes: Codes | None = None, groups: int = 1
) -> tuple[csr_array | Array, Array]:
    """Return sparse or dense rows minus a shift near the mean of their group, and the shifts."""
    if piece.is_sparse:
        return shifted_classes(piece, codes, groups)
    shift = pilots(piece, codes, groups)
    if not shift.any():
        return piece.dense(), shift
    return piece.less(shift[0] if codes is None else shift[codes]), shift


def squares_of(Z: csr_array | Array, weights: Array | None) -> Array:
    """Return Z'WZ of sparse or dense rows, W = diag(weights)."""
    if isinstance(Z, np.ndarray):
        return square(weighted(Z, weights))
    return symmetric(dense(Z.T @ scaled_rows(Z, weights)))


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
    return samples.reduce(_mean, TwoPartMean.merge).value[0]


def _mean(piece: Samples) -> TwoPartMean:
    Z, shift = shifted(piece)
    return TwoPartMean.about(piece.weight, shift, class_sums(Z, None, 1, piece.weights))


def moments(samples: Samples) -> Moments:
    """Return mean and scatter of the rows, in a single pass.

    - returns: entries of the scatter are accurate to about 1e-14 sqrt(S_ii S_jj).
    """
    return samples.reduce(spread, Spread.merge).moments


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


def _merged_spreads(earlier: list[Spread], later: list[Spread]) -> list[Spread]:
    return list(map(Spread.merge, earlier, later))


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
    found = samples.reduce(partial(spread, groups=n_classes), Spread.merge, codes)
    counts, origins = found.mean.n, found.mean.origin
    if not counts.all():
        missing = int(np.argmin(counts))
        raise ArgumentError(f"class {missing} of {n_classes} has no samples of positive weight")
    # Differences of means are accurate if the origin is near the means.
    offsets = (origins - origins[0]) + found.mean.offset
    centre = counts @ offsets / counts.sum()
    apart = offsets - centre
    means = origins[0] + offsets, origins[0] + centre
    between = _squares_of_means(counts, apart)
    return ClassMoments(counts, *means, found.scatter, between, apart)


def _check_codes(codes: Codes, n: int, n_classes: int) -> None:
    if codes.shape != (n,):
        raise ArgumentError(f"codes has shape {codes.shape}; expected a code for each of {n} rows")
    if codes.min() < 0 or codes.max() >= n_classes:
        raise ArgumentError(
            f"codes run from {codes.min()} to {codes.max()}, expected 0 to {n_classes - 1}"
        )


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

    The first view's weights apply to all views.

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
    joint = first.reduce(joint_spread, Spread.merge, *others).moments
    means = np.split(joint.mean, np.cumsum([view.d for view in views])[:-1])
    return ViewMoments(joint.n, tuple(means), joint.scatter)


def joint_spread(*views: Samples) -> Spread:
    """Return mean and scatter of a chunk of rows of the concatenated views."""
    first, weights = views[0], views[0].weights
    if not any(view.is_sparse for view in views):
        return spread(replace(first, array=np.hstack([view.array for view in views])))
    marked = [replace(view, marks=first.marks) for view in views]
    rows, shifts = zip(*map(shifted, marked), strict=True)
    sums = [class_sums(Z, None, 1, weights) for Z in rows]
    squares = [[dense(A.T @ scaled_rows(B, weights)) for B in rows] for A in rows]
    joint = symmetric(np.block(squares))
    return Spread.of(first.weight, np.hstack(shifts), np.hstack(sums), joint)


@dataclass(frozen=True)
class Variation:
    """Covariances of the components y = P(x - mean), where C is the covariance of the samples x.

    - within (r, r): PCP', the covariance of y
    - columns (d, r): CP', the covariances of x and y
    - total: tr C
    - n: number of rows, or sum of weights
    """

    within: Array
    columns: Array
    total: float
    n: float

    @classmethod
    def of(cls, P: Array, CP: Array, total: float, n: float) -> Variation:
        """Compute the variation from P and CP'."""
        within = P @ CP
        return cls(0.5 * (within + within.T), CP, total, n)

    def turned(self, Q: Array) -> Variation:
        """Return the variation of the rotated components Q'y."""
        return Variation(Q.T @ self.within @ Q, self.columns @ Q, self.total, self.n)

    def of_rows(self, where: slice) -> Variation:
        """Return the covariances for some of the components, given by a slice."""
        return Variation(self.within[where, where], self.columns[:, where], self.total, self.n)

    @property
    def variances(self) -> Array:
        """Variances of the components."""
        return np.maximum(np.diag(self.within), 0.0)

    @property
    def shares(self) -> Array | None:
        """Share of each component in the total variance of x; None for constant x."""
        return self.variances / self.total if self.total > 0 else None

    @property
    def correlations(self) -> Array:
        """Correlations of the components; zero for constant components."""
        roots = np.sqrt(self.variances)
        inverse = np.divide(1.0, roots, where=roots > 0, out=np.zeros_like(roots))
        return self.within * inverse * inverse[:, None]

    @property
    def loadings(self) -> Array:
        """Coefficients CP'(PCP')^+ of the linear regression of x on the components y."""
        return np.asarray(self.columns @ np.linalg.pinv(self.within, hermitian=True))

    @property
    def predicted(self) -> Array:
        """Share of x's variance explained by the first k components, for each k."""
        if not self.total > 0:
            return np.zeros(len(self.within))
        shares = self.columns.T @ (self.columns / self.total)
        inverses = (
            np.linalg.pinv(self.within[:k, :k], hermitian=True)
            for k in range(1, len(self.within) + 1)
        )
        return np.array([np.vdot(A, shares[: len(A), : len(A)]) for A in inverses])


class Scatter(Protocol):
    """Scatter of rows, from which the covariances of projected rows are computed."""

    def variation(self, P: Array) -> Variation: ...


@dataclass(frozen=True)
class KnownScatter:
    """The scatter of n rows as an array."""

    array: Array
    n: float

    @property
    def deviations(self) -> Array:
        """Standard deviations of the columns."""
        return np.sqrt(np.maximum(self.array.diagonal(), 0.0) / self.n)

    def variation(self, P: Array) -> Variation:
        total = float(np.trace(self.array)) / self.n
        return Variation.of(P, self.array @ P.T / self.n, total, self.n)


@dataclass(frozen=True)
class RowScatter:
    """Scatter of rows read on demand, in a single pass.

    - centre (d,): approximate mean of the rows
    """

    samples: Samples
    centre: Array | None = None

    def variation(self, P: Array) -> Variation:
        centre = mean(self.samples) if self.centre is None else self.centre
        sums = self.samples.reduce(partial(_variation_sums, centre=centre, P=P), added)
        n = float(sums[0, -1])
        offset = sums[:, -2] / n
        total = float(sums[:, -3].sum()) / n - float(offset @ offset)
        CP = sums[:, :-3] / n - np.outer(offset, P @ offset)
        return Variation.of(P, CP, total, n)


def _variation_sums(piece: Samples, centre: Array, P: Array) -> Array:
    """Return sum z (Pz)', sum z^2, sum z and sum of weights, z = x - centre, side by side."""
    sums = np.zeros((piece.d, len(P) + 3))
    sums[:, -1] = piece.weight
    if piece.is_sparse:
        slices = list(piece.slices(max(1, BLOCK_NUMBERS // sums.shape[1])))
        if len(slices) > 1:  # blocks limit memory: sparse rows times the matrix P are dense
            for where in slices:
                sums[:, :-1] += _variation_sums(piece.piece(where), centre, P)[:, :-1]
            return sums
        rows, n = piece.array.astype(np.float64, copy=False), piece.weight
        counted = scaled_rows(rows, piece.weights)
        totals = np.asarray(counted.sum(axis=0)).ravel()
        squares = np.asarray(rows.multiply(counted).sum(axis=0)).ravel()
        products = counted_rows(piece.centred_times(P.T, centre), piece.weights)
        sums[:, :-3] = piece.centred_transpose_times(products, centre)
        sums[:, -3] = squares - centre * (2.0 * totals - n * centre)
        sums[:, -2] = totals - n * centre
        return sums
    Z = piece.less(centre)
    counted = counted_rows(Z, piece.weights)
    sums[:, :-3] = counted.T @ (Z @ P.T)
    sums[:, -3] = np.einsum("ij,ij->j", counted, Z)
    sums[:, -2] = counted.sum(axis=0)
    return sums


@dataclass(frozen=True)
class SpannedScatter:
    """The scatter of rows in an orthonormal basis of the rows' span."""

    space: RowSpace
    inner: Scatter

    def variation(self, P: Array) -> Variation:
        found = self.inner.variation(self.space.lower(P.T).T)
        return replace(found, columns=self.space.lift(found.columns))
