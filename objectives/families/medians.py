"""The geometric median: the point of least sum of distances to the rows; and medians of these."""

from __future__ import annotations

from functools import cached_property, partial

import numpy as np

from ldr.objectives.data.samples import Samples
from ldr.objectives.families.row_sum import SAMPLE_ROWS, Frame, some_rows
from ldr.objectives.statistics.sizes import median, middle_places
from ldr.objectives.statistics.sums import counted
from ldr.solvers.manifolds import Array
from ldr.solvers.manifolds.orthonormal import sym
from ldr.solvers.records import dataclass

_WEISZFELD_STEPS = 1000
_NEWTON_STEPS = 50
_SETTLED = 1e-10  # in units of a row's distance
_ROUNDING = 1e-13  # relative


def geometric_median(X: Array, w: Array | None = None) -> Array:
    """The point of least sum of distances to the rows, by Weiszfeld's steps; O(nd) each."""
    centre = np.median(X, axis=0) if w is None else np.array([median(x, w) for x in X.T])
    least = np.finfo(float).eps * float(np.abs(X).max())
    U = np.empty_like(X)  # arrays of that size take longer to get than to fill
    for _ in range(_WEISZFELD_STEPS):
        np.subtract(X, centre, out=U)
        U *= U
        weights = counted(1.0 / np.maximum(np.sqrt(U.sum(axis=1)), least), w)
        previous, centre = centre, weights @ X / weights.sum()
        if np.linalg.norm(centre - previous) <= _SETTLED * np.linalg.norm(X[0] - centre):
            break
    return centre


@dataclass(frozen=True)
class CentreRate:
    """How the geometric median at zero moves with the rows u: sum_i H_i (du_i - dm) = 0.

    H_i = (I - uu'/|u|^2)/|u|.
    """

    X: Array

    @cached_property
    def _lengths(self) -> Array:
        return np.linalg.norm(self.X, axis=1)[:, None]

    @cached_property
    def _hessian(self) -> Array:
        units = self.X / self._lengths
        total = np.sum(1.0 / self._lengths) * np.eye(self.X.shape[1])
        return np.asarray(total - units.T @ (units / self._lengths))

    def _across(self, dX: Array) -> Array:
        """H_i du_i."""
        units = self.X / self._lengths
        return np.asarray((dX - np.sum(units * dX, axis=1, keepdims=True) * units) / self._lengths)

    def along(self, dX: Array) -> Array:
        return np.asarray(np.linalg.solve(self._hessian, self._across(dX).sum(axis=0)))

    def pulled(self, v: Array) -> Array:
        """The derivative in the rows of <v, m>."""
        return self._across(np.broadcast_to(np.linalg.solve(self._hessian, v), self.X.shape))


def of_median_length(X: Array) -> Array:
    """The derivative in the rows of their median length."""
    lengths, found = np.linalg.norm(X, axis=1), np.zeros_like(X)
    middle = middle_places(lengths)
    np.add.at(found, middle, 0.5 * X[middle] / lengths[middle, None])
    return found


def of_median_distance(X: Array, r: int) -> Array:
    """The derivative in the rows of their median distance from the subspace of spherical pca.

    Of x the square of the distance changes by 2 rest'dx - x'dP x, P the projector on the leading
    eigenvectors of sum_i x_i x_i'/||x_i||^2.
    """
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    units = X / lengths
    values, V = np.linalg.eigh(units.T @ units)
    inside, outside = V[:, -r:], V[:, :-r]
    rest = X @ outside @ outside.T
    middle = middle_places(np.linalg.norm(rest, axis=1))
    shares = 0.5 / np.linalg.norm(rest[middle], axis=1)[:, None]
    gaps = values[-r:, None] - values[:-r]
    turned = (X[middle] @ inside).T @ (shares * (X[middle] @ outside)) / gaps
    pull = units @ sym(inside @ turned @ outside.T)
    return (
        of_median_length(rest)
        - 2.0 * (pull - np.sum(units * pull, axis=1, keepdims=True) * units) / lengths
    )


@dataclass(frozen=True)
class Distances:
    """Sums over the rows u, seen from a candidate: of |u|, of u/|u|, of 1/|u| and of uu'/|u|^3."""

    n: float
    value: float
    pull: Array
    weight: float
    bend: Array

    def __add__(self, other: Distances) -> Distances:
        return Distances(
            self.n + other.n,
            self.value + other.value,
            self.pull + other.pull,
            self.weight + other.weight,
            self.bend + other.bend,
        )

    def newton(self) -> Array:
        """The step of Newton's method; the Hessian is sum I/|u| - uu'/|u|^3."""
        hessian = self.weight * np.eye(len(self.pull)) - self.bend
        return np.asarray(np.linalg.lstsq(hessian, self.pull, rcond=None)[0])

    def weiszfeld(self) -> Array:
        """Weiszfeld's step, which never raises the sum of distances."""
        return self.pull / self.weight


def _distances(piece: Samples, frame: Frame, least: float) -> Distances:
    total = Distances(0, 0.0, np.zeros(piece.d), 0.0, np.zeros((piece.d, piece.d)))
    for U, w in frame.blocks(piece):
        length = np.maximum(np.linalg.norm(U, axis=1), least)
        weights, sums = counted(1.0 / length, w), counted(length, w)
        bend = (U.T * (weights / length**2)) @ U
        n = len(U) if w is None else float(w.sum())
        total += Distances(n, float(sums.sum()), weights @ U, float(weights.sum()), bend)
    return total


def median_in_pieces(samples: Samples, frame: Frame) -> Array:
    """The geometric median of the rows in a frame, by Newton's method, a pass each step.

    It starts from the median of a sample of rows; a step that raises the sum is replaced by
    Weiszfeld's.
    """
    some = some_rows(samples, SAMPLE_ROWS)
    centre = geometric_median(frame.of(some.dense()), some.weights)
    least = np.finfo(float).eps
    best: tuple[Array, Distances] | None = None
    for _ in range(_NEWTON_STEPS):
        term = partial(_distances, frame=frame.moved(centre), least=least)
        sums = samples.reduce(term, Distances.__add__)
        if best is not None and sums.value > best[1].value * (1 + _ROUNDING):
            centre = best[0] + best[1].weiszfeld()
            best = None
            continue
        step = sums.newton()
        best, centre = (centre, sums), centre + step
        if np.linalg.norm(step) <= _SETTLED * sums.value / sums.n:
            break
    return centre
