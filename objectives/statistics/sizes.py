"""Typical lengths and quantiles of numbers, of rows and of columns."""

from __future__ import annotations

import math

import numpy as np

from ldr.objectives.data.samples import Array
from ldr.objectives.statistics.sums import Codes
from ldr.solvers.errors import DataError


def typical_length(X: Array) -> float:
    """The power of two nearest to the root mean square of the rows' norms: it rounds nothing."""
    largest = float(np.abs(X).max())
    if largest == 0:
        raise DataError("all rows of X are equal, expected data that vary")
    length = largest * math.sqrt(float(np.mean(np.sum((X / largest) ** 2, axis=1))))
    return 2.0 ** round(math.log2(length))


def column_lengths(X: Array) -> Array:
    """Root mean squares of the columns; 1 for a column of zeros."""
    largest = np.abs(X).max(axis=0)
    largest = np.where(largest > 0, largest, 1.0)
    root = np.sqrt(np.mean((X / largest) ** 2, axis=0))
    return np.asarray(largest * np.where(root > 0, root, 1.0), dtype=np.float64)


def quantiles(z: Array, shares: Array, weights: Array | None = None) -> Array:
    """Those of z with every entry as often as its weight says.

    Weights that are no whole numbers are taken in units of their mean. The entries stand one behind
    the other, from their first place to their last one, which is the middle of both where they
    count less than once, with straight lines between: quantiles do not jump where weights move.
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
    return np.interp(shares * (ends[-1] - 1.0), places.ravel(), np.repeat(z[order], 2))


def median(z: Array, weights: Array | None = None) -> float:
    """Of entries that count as often as their weights say."""
    return float(np.median(z) if weights is None else quantiles(z, np.array([0.5]), weights)[0])


def middle_places(z: Array) -> Codes:
    """Of the two entries that the median is the mean of, or twice of the one."""
    places = [(len(z) - 1) // 2, len(z) // 2]
    return np.asarray(np.argpartition(z, places)[places])


def even_rows(n: int, count: int, weights: Array | None = None) -> Codes:
    """Indices of `count` of n rows at most, evenly spaced.

    Where weights are whole numbers, of the rows that they repeat; others do not count.
    """
    if weights is None or _are_shares(weights):
        return np.linspace(0, n - 1, min(n, count)).astype(np.intp)
    ends = np.cumsum(weights)
    return np.searchsorted(ends, even_rows(int(ends[-1]), count), side="right")


def _are_shares(weights: Array) -> bool:
    """Whether they are no whole numbers, which count rows."""
    return bool(np.any(weights != np.floor(weights)))
