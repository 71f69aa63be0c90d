"""Columns in units of their standard deviations."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ldr.objectives.data.opening import stored
from ldr.objectives.data.samples import Samples
from ldr.objectives.data.sources import Scaled
from ldr.objectives.data.stored import StoredSamples, lazy_rows
from ldr.solvers.errors import DataError
from ldr.solvers.manifolds import Array


def standardised(samples: Samples, reference: Samples) -> Samples:
    """Columns divided by the standard deviations of those of the reference.

    Raises
    ------
    ldr.errors.DataError
        A column of the reference is constant.
    """
    sd = _deviations(reference)
    if samples.is_sparse:
        from scipy.sparse import diags_array

        return replace(samples, array=(samples.array @ diags_array(1 / sd)).tocsr())
    rows = lazy_rows(samples)
    if rows is not None:
        return replace(samples, array=replace(samples.array, array=rows / sd))
    if isinstance(samples, StoredSamples):
        scaled = stored(Scaled(samples.array, sd), samples.name)
        return scaled.taken(samples.allow_nan)
    return replace(samples, array=np.asarray(samples.array) / sd)


def _deviations(samples: Samples) -> Array:
    """Standard deviations of the columns, none of which may be constant."""
    if samples.is_sparse:
        from sklearn.utils.sparsefuncs import mean_variance_axis

        X = samples.array
        low, high = X.min(axis=0).toarray(), X.max(axis=0).toarray()
        sd = np.sqrt(mean_variance_axis(X.astype(np.float64), axis=0)[1])
    else:
        extent = samples.reduce(Extent.of, Extent.merge)
        low, high = extent.low, extent.high
        sd = np.sqrt(extent.squares / np.maximum(extent.n, 1))
    constant = np.flatnonzero(low == high)
    if len(constant):
        j = int(constant[0])
        column = samples.feature_names[j] if samples.feature_names else str(j)
        raise DataError(
            f"{samples.name}: column {column!r} is constant and has no standard deviation to "
            f"divide by; leave it out with --drop {column}"
        )
    return np.asarray(sd)


@dataclass(frozen=True, eq=False)
class Extent:
    """How far the columns of some rows extend; can be merged with that of others.

    Attributes
    ----------
    n, mean, squares, low, high : ndarray (d,)
        Of the entries that are not missing; squares is sum_i (x_i - mean)^2.
    """

    n: np.ndarray
    mean: Array
    squares: Array
    low: Array
    high: Array

    @classmethod
    def of(cls, piece: Samples) -> Extent:
        X = np.asarray(piece.array)
        there = ~np.isnan(X) if piece.has_nan else np.True_
        n = there.sum(axis=0) if piece.has_nan else np.full(X.shape[1], len(X))
        mean = X.sum(axis=0, dtype=np.float64, where=there) / np.maximum(n, 1)
        squares = np.square(X - mean).sum(axis=0, where=there)
        return cls(n, mean, squares, np.fmin.reduce(X), np.fmax.reduce(X))

    def merge(self, other: Extent) -> Extent:
        """That of both: sum of squares a + b + (n_a n_b/n) (mean_b - mean_a)^2."""
        n = self.n + other.n
        share = other.n / np.maximum(n, 1)
        change = other.mean - self.mean
        return Extent(
            n,
            self.mean + change * share,
            self.squares + other.squares + change**2 * (self.n * share),
            np.fmin(self.low, other.low),
            np.fmax(self.high, other.high),
        )
