"""Objectives of the projected data whose rows are white; of many rows a sample leads the way."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np

from ldr.objectives.families.projected import Projected
from ldr.objectives.statistics.sums import counting_rows
from ldr.solvers.loop import minimise
from ldr.solvers.manifolds import Array, polar_factor
from ldr.solvers.riemannian import RiemannianProblem
from ldr.solvers.run import Run, Stopping
from ldr.solvers.trust_region import TrustRegion

# A sample of the rows has so many for each column, and at least so many; it is taken of so many
# times as many rows.
_SAMPLE_ROWS, _LEAST_SAMPLE, _MANY = 100, 2000, 4
# Ends of runs on a sample are the same optimum that differ by less, relative to their length.
_SAME = 1e-3
# A step is short that is no longer, relative to the point.
_SHORT = 0.1
_ROUGHLY = Stopping(1e-4, 50)


class WhitePoint(Protocol):
    """Of white rows: what the part that is of Y = XM says of it, as a `ProjectedPoint` does."""

    @property
    def slope(self) -> Array: ...

    def curvature(self, dY: Array) -> Array: ...


@runtime_checkable
class OfWhiteRows(Protocol):
    """A problem of white rows Z, of which no more is known than a function of ZM and one of M."""

    def of_white_rows(self, Z: Array, M: Array) -> WhitePoint: ...


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

    def same(self, M: Array, N: Array) -> bool:
        """Of ends on a sample of the rows."""
        return self.rough is not self and _apart(matched(M, N), N) <= _SAME

    @property
    def leads(self) -> bool:
        """Of few rows, where no sample tells."""
        return self.rough is self

    def a_step_from(self, end: Run, M: Array) -> bool:
        """Whether the way V to the end is short and solves Newton's equation g + H[V] = 0 as nearly
        as the trust region does. The lengths of the columns are the end's.
        """
        N = matched(end.M, M)
        M = M * (np.linalg.norm(N, axis=0) / np.linalg.norm(M, axis=0))
        if _apart(N, M) > _SHORT:
            return False
        manifold, point = self.manifold, RiemannianProblem(self).at(M)
        V = manifold.project(M, N - M)
        H = point.hessian(V)
        rest = manifold.norm(M, point.gradient + H)
        return manifold.inner(M, V, H) > 0 and rest <= TrustRegion.kappa * point.gradient_norm

    @property
    def follows(self) -> bool:
        """The rows are white."""
        return False

    def of_white_rows(self, Z: Array, M: Array) -> WhitePoint:
        return self.at(M)


def matched(M: Array, N: Array) -> Array:
    """The columns of M that are most like those of N, with their signs."""
    products = M.T @ N / np.linalg.norm(M, axis=0)[:, None]
    match = np.abs(products).argmax(axis=0)
    return M[:, match] * np.sign(products[match, np.arange(len(match))])


def _apart(M: Array, N: Array) -> float:
    """Relative to their length."""
    return float(np.linalg.norm(M - N) / np.linalg.norm(N))


def white_sample(X: Array, w: Array | None) -> tuple[Array, Array | None]:
    """Some of many white rows, white too, with their weights: means of them are near those of all.

    Where rows are few it is all of them.
    """
    count = max(_LEAST_SAMPLE, _SAMPLE_ROWS * X.shape[1])
    if (len(X) if w is None else np.count_nonzero(w)) < _MANY * count:
        return X, w
    rows = counting_rows(len(X), w, count)
    Z, v = X[rows], None if w is None else w[rows]
    total, roots = (count, 1.0) if v is None else (v.sum(), np.sqrt(v)[:, None])
    return polar_factor(roots * Z) * (np.sqrt(total) / roots), v
