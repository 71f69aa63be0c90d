"""Standardised columns, and results transformed back to the original units."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import mul, truediv

import numpy as np

from ldr.objectives.data.array_types import Cells
from ldr.objectives.data.data import Data, Samples, as_tuple, single
from ldr.objectives.data.memory import check_squares
from ldr.objectives.data.stored import StoredSamples
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need
from ldr.objectives.statistics.sums import spread_rows
from ldr.objectives.view import Features, then
from ldr.result import Result
from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds import Array
from ldr.types import PerView

# A message about units uses the columns' standard deviations over at most this many rows.
_LOOKED_AT = 2048


@dataclass(frozen=True, eq=False)
class Units:
    """Scales of the columns of each view.

    - scales (d,): standard deviations; 1 for constant columns, which stay unchanged
    - entries (d,): sum of the weights of the observed entries of each column
    - constant: number of constant columns
    """

    scales: tuple[Array, ...]
    entries: tuple[Array, ...]
    constant: int

    @classmethod
    def of(cls, objective: Objective, data: Data) -> Units:
        if Need.DISTANCES in objective.needs:
            raise ArgumentError(
                f"objective {objective.name!r} takes distances, which cannot be standardised: "
                "leave out standardise="
            )
        for view in data.views:
            check_squares(view)
        found, entries = zip(*map(deviations, data.views), strict=True)
        scales = tuple(np.where(sd > 0, sd, 1.0) for sd in found)
        return cls(scales, entries, sum(int(np.sum(sd == 0)) for sd in found))

    @property
    def notes(self) -> tuple[str, ...]:
        """Messages about columns that were not scaled."""
        if self.constant == 0:
            return ()
        return (
            f"{self.constant} constant column(s) are not divided: their standard deviation is zero",
        )

    def divided(self, data: Data) -> Data:
        """Divide the data by the scales; a background by the scales of the samples."""
        return divided(data, self.scales)

    def undone(self, result: Result) -> Result:
        """Return the result in original units from that for scaled columns; M is unchanged."""
        if result.model is not None and result.features is None:
            logarithm = float(self.entries[0] @ np.log(self.scales[0]))
            result = replace(result, model=result.model.in_units(self.scales[0], logarithm))
        return undone(replace(result, notes=(*result.notes, *self.notes)), self.scales)


def undone(result: Result, scales: tuple[Array, ...]) -> Result:
    """Return a result in original units from that for scaled columns; its model is unchanged."""
    features = as_tuple(result.features)
    # P does not change for nonlinear features, whose function divides the columns by their scale.
    units = [np.ones(1) if f else scale for f, scale in zip(features, scales, strict=True)]
    others = units[::-1] if len(units) > 1 else [np.ones(1)]
    predictors = zip(result.predictors, units, others, strict=False)
    return replace(
        result,
        P=_of_each(truediv, result.P, units),
        mean=_of_each(mul, result.mean, units),
        baseline_P=_of_each(truediv, result.baseline_P, units),
        features=_of_each(lambda f, scale: f and then(Divided(scale), f), result.features, scales),
        predictors=tuple(each.in_units(unit, other) for each, unit, other in predictors),
        scale=single(scales),
    )


def _of_each(
    change: Callable[[PerView, Array], PerView], blocks: PerView, units: Sequence[Array]
) -> PerView:
    """Apply a change with its units to one block, or to each of a tuple; None stays None."""
    if isinstance(blocks, tuple):
        return tuple(change(block, unit) for block, unit in zip(blocks, units, strict=True))
    return None if blocks is None else change(blocks, units[0])


@dataclass(frozen=True)
class Divided(Features):
    """Feature map that divides columns by scales before another feature map."""

    scale: Array

    def __call__(self, samples: Samples) -> Samples:
        return in_units(samples, self.scale)


def divided(data: Data, scales: PerView) -> Data:
    """Divide the columns of each view by its scales, those of a background by the first view's."""
    scales = as_tuple(scales)
    views = tuple(in_units(view, scale) for view, scale in zip(data.views, scales, strict=True))
    background = data.background and in_units(data.background, scales[0])
    return replace(data, views=views, background=background)


def in_units(samples: Samples, scale: Array) -> Samples:
    """Divide the columns of samples by scales; the container stays the same."""
    samples.expect_columns(len(scale))
    if samples.is_sparse:
        from scipy.sparse import diags_array

        quotient = (samples.array @ diags_array(1 / scale)).tocsr()
        return replace(samples, array=quotient, in_range=False)
    if isinstance(samples, StoredSamples):
        return samples.each(partial(_quotient, scale=scale))
    return replace(samples, array=np.asarray(samples.array) / scale, in_range=False)


def _quotient(block: Cells, scale: Array) -> Cells:
    return block / scale


def deviations(samples: Samples) -> tuple[Array, Array]:
    """Return the columns' standard deviations, 0 if constant, and weights of observed entries."""
    if samples.is_sparse:
        from ldr.objectives.statistics.products import CentredRows

        X, rows = samples.array, CentredRows.of(samples)
        low, high = X.min(axis=0).toarray().ravel(), X.max(axis=0).toarray().ravel()
        squares = rows.squares(rows.counts)[:, None]
        sd = np.sqrt(rows.in_all_columns(squares / rows.weight)[:, 0])
        entries = np.full(samples.d, samples.weight)
    else:
        extent = samples.reduce(Extent.of, Extent.merge)
        low, high, entries = extent.low, extent.high, extent.n
        sd = np.sqrt(extent.squares / np.where(extent.n > 0, extent.n, 1))
    return np.where(low == high, 0.0, sd), entries


def deviations_of_some(samples: Samples) -> Array:
    """Return standard deviations of the columns, from a subset of the rows if n is large."""
    few = samples.n <= _LOOKED_AT
    return deviations(samples if few else samples.take(spread_rows(samples.n, _LOOKED_AT)))[0]


@dataclass(frozen=True, eq=False)
class Extent:
    """Sums of squares of columns; two objects can be merged.

    - n, mean, squares, low, high (d,): of the observed entries of each column; n is the sum of the
      weights w_i, and squares is sum_i w_i (x_i - mean)^2
    """

    n: np.ndarray
    mean: Array
    squares: Array
    low: Array
    high: Array

    @classmethod
    def of(cls, piece: Samples) -> Extent:
        X, weights = np.asarray(piece.array), piece.weights
        if weights is None and not piece.has_nan:
            mean = X.mean(axis=0, dtype=np.float64)
            Z = X - mean
            n = np.full(X.shape[1], len(X))
            return cls(n, mean, np.einsum("ij,ij->j", Z, Z), X.min(axis=0), X.max(axis=0))
        weights = np.ones(len(X)) if weights is None else weights
        X, weights = X[weights > 0].astype(np.float64), weights[weights > 0]
        there = ~np.isnan(X)
        n, zero = weights @ there, np.where(there, X, 0.0)
        mean = (weights @ zero) / np.where(n > 0, n, 1)
        squares = weights @ np.where(there, zero - mean, 0.0) ** 2
        ends = (np.fmin.reduce(X, initial=np.inf), np.fmax.reduce(X, initial=-np.inf))
        return cls(n, mean, squares, *ends)

    def merge(self, other: Extent) -> Extent:
        """Merge with another; the sum of squares is a + b + (n_a n_b/n) (mean_b - mean_a)^2."""
        n = self.n + other.n
        share = other.n / np.where(n > 0, n, 1)
        change = other.mean - self.mean
        return Extent(
            n,
            self.mean + change * share,
            self.squares + other.squares + change**2 * (self.n * share),
            np.fmin(self.low, other.low),
            np.fmax(self.high, other.high),
        )
