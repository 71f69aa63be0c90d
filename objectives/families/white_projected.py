"""Objectives of the projected data whose rows are white; of many rows a sample leads the way."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np

from ldr.objectives.families.projected import Projected
from ldr.objectives.statistics.sums import counted_rows, spread_rows
from ldr.solvers.loop import minimise
from ldr.solvers.manifolds import Array
from ldr.solvers.run import Stopping
from ldr.solvers.trust_region import TrustRegion

# A sample of the rows has so many for each column, and at least so many; it is taken of so many
# times as many rows.
_SAMPLE_ROWS, _LEAST_SAMPLE, _MANY = 100, 2000, 4
_LEAST_VARIANCE = 0.01  # of a sample, where all rows have 1
_ROUGHLY = Stopping(1e-4, 50)


class WhitePoint(Protocol):
    """Of white rows: what the part that is of Y = XM says of it, as a `ProjectedPoint` does."""

    @property
    def slope(self) -> Array: ...

    def curvature(self, dY: Array) -> Array: ...


@runtime_checkable
class OfWhiteRows(Protocol):
    """A problem of white rows Z, of which no more is known than a function of ZM and one of M."""

    def of_rows(self, Z: Array, M: Array) -> WhitePoint: ...


class WhiteProjected(Projected):
    """Which keeps the rows."""

    @abstractmethod
    def at(self, M: Array) -> WhitePoint: ...  # type: ignore[override]

    @cached_property
    def rough(self) -> WhiteProjected:
        """Of a sample of many rows."""
        X, w = white_sample(self.X, self.w)
        return self if X is self.X else replace(self, X=X, w=w)

    def approach(self, M: Array) -> Array:
        """Of many rows, the end of a run on some of them."""
        return M if self.rough is self else minimise(self.rough, M, TrustRegion(), _ROUGHLY).M

    @property
    def follows(self) -> bool:
        """The rows are white."""
        return False

    def of_rows(self, Z: Array, M: Array) -> WhitePoint:
        return self.at(M)


def white_sample(X: Array, w: Array | None) -> tuple[Array, Array | None]:
    """Some of many white rows, white too, with their weights: means of them are near those of all.

    Where rows are few it is all of them.
    """
    counted = np.arange(len(X)) if w is None else np.flatnonzero(w)
    count = max(_LEAST_SAMPLE, _SAMPLE_ROWS * X.shape[1])
    if len(counted) < _MANY * count:
        return X, w
    rows = counted[spread_rows(len(counted), count)]
    Z, v = X[rows], None if w is None else w[rows]
    values, axes = np.linalg.eigh(Z.T @ counted_rows(Z, v) / (count if v is None else v.sum()))
    return Z @ (axes / np.sqrt(np.maximum(values, _LEAST_VARIANCE))) @ axes.T, v
