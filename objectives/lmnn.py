"""Large-margin nearest neighbours."""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import pairwise

import numpy as np

from ldr.objectives.data.data import Data
from ldr.objectives.data.footprint import Footprint
from ldr.objectives.families.batches import in_batches
from ldr.objectives.families.pairwise import (
    Change,
    LabelledPairs,
    LabelledRows,
    PairwisePoint,
    RowProduct,
    kept_of_pairs,
)
from ldr.objectives.graphs import nearest_others
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need, number, whole, word
from ldr.objectives.prediction import GroupedRows
from ldr.objectives.problem import BoundObjective
from ldr.objectives.starts.directions import screened
from ldr.objectives.statistics.sparse import differences
from ldr.objectives.statistics.sums import weighted
from ldr.solvers.descent.lbfgs import LBFGS
from ldr.solvers.linalg.eigen import top_eigenvectors
from ldr.solvers.loop import run_through
from ldr.solvers.manifolds import Array
from ldr.solvers.records import dataclass, replace
from ldr.solvers.run import Stopping

HINGES = ("squared", "linear")

_FULL_RANK_ITERATIONS = 50


@dataclass(frozen=True)
class LMNN(Objective):
    """Pull target neighbours near, push other classes out of a margin; over all matrices M.

    min sum_{i, j in eta(i)} d_ij^2 + penalty sum_{i, j in eta(i)} sum_{l: z_l != z_i} h(1 + d_ij^2
    - d_il^2), d_ij = ||M'(x_i - x_j)||; eta(i) are the nearest rows of i's class in X, so that X
    should be standardised. h is the hinge squared, [t]_+^2, by default: it is smooth and far easier
    than the hinge [t]_+ itself. P = M'. There are local optima. An evaluation takes O(n^2 r) time
    to find the margin's violators and O(k) for each of them; memory is O(n (d + r)), and up to 2048
    rows O(k) for each violator. The heuristic is lda with unit variance within classes. Weights say
    how much rows count: what row i adds is multiplied by w_i, and h by w_l too. They do not repeat
    rows, of which none is its own neighbour.

    Parameters
    ----------
    neighbours : int
        k, how many target neighbours a row has. Each class must have more rows.
    penalty : float
        Weight of the violations.
    hinge : {"squared", "linear"}
        h: [t]_+^2, or [t]_+ with its kink rounded.
    width : float
        Of the linear hinge's kink: a parabola t^2/(2 width) for 0 < t < width, so that h is less
        than [t]_+ by width/2 at most. 0 is the hinge itself, on which no solver here is sure to
        converge.
    """

    name = "lmnn"
    weighted = by_pairs = True
    repeats = False
    formula = "min sum_{j in eta(i)} [d_ij^2 + penalty sum_{l: z_l != z_i} h(1 + d_ij^2 - d_il^2)]"
    source = "Weinberger & Saul 2009; Cunningham & Ghahramani 2015"
    sense = "min"
    needs = (Need.LABELS,)
    predicts = "classes"
    baseline = "lda, unit variance within classes"
    sparse = False
    domain = "R"

    neighbours: int = whole(3, 1)
    penalty: float = number(1.0, positive=True)
    hinge: str = word("squared", HINGES)
    width: float = number(0.1)

    def footprint(self, data: Data) -> Footprint:
        pairs = kept_of_pairs(data, 30.0)  # where classes are one
        return Footprint(squares=95.0, rows=6.0, row=600.0, pairs=pairs)

    def bind(self, data: Data, r: int) -> BoundObjective:
        return self._problem(data, r).restated(answers=GroupedRows.of(data))

    def _problem(self, data: Data, r: int) -> BoundObjective:
        if data.samples.in_pieces:
            return in_batches(self, data, r, smallest_class=self.neighbours + 1)
        rows = LabelledRows.of(data, self, smallest_class=self.neighbours + 1)
        return LargeMargin(
            self,
            (rows.view,),
            rows.X,
            r,
            rows.lengths,
            rows.boundaries,
            target_neighbours(rows.X * rows.lengths, rows.boundaries, self.neighbours),
            SquaredHinge() if self.hinge == "squared" else RoundedHinge(self.width),
            impostor_weight=self.penalty,
            w=rows.weights,
        )


def target_neighbours(X: Array, boundaries: np.ndarray, k: int) -> np.ndarray:
    """The k nearest rows of each row's own class (n x k); rows are sorted by class."""
    edges = pairwise(boundaries)
    return np.vstack([start + nearest_others(X[start:stop], k)[1] for start, stop in edges])


class Hinge(ABC):
    """h(t), which is 0 for t <= 0, and its derivatives."""

    @abstractmethod
    def __call__(self, t: Array) -> Array: ...

    @abstractmethod
    def slope(self, t: Array) -> Array: ...

    @abstractmethod
    def curvature(self, t: Array) -> Array: ...


class SquaredHinge(Hinge):
    """[t]_+^2."""

    def __call__(self, t: Array) -> Array:
        return np.maximum(t, 0.0) ** 2

    def slope(self, t: Array) -> Array:
        return 2.0 * np.maximum(t, 0.0)

    def curvature(self, t: Array) -> Array:
        return np.where(t > 0, 2.0, 0.0)


@dataclass(frozen=True)
class RoundedHinge(Hinge):
    """t^2/(2w) for 0 <= t <= w, t - w/2 above."""

    width: float

    def __call__(self, t: Array) -> Array:
        inside = np.clip(t, 0.0, self.width)
        return 0.5 * inside * self.slope(t) + np.maximum(t - self.width, 0.0)

    def slope(self, t: Array) -> Array:
        if self.width == 0:
            return (t > 0).astype(np.float64)
        return np.clip(t / self.width, 0.0, 1.0)

    def curvature(self, t: Array) -> Array:
        inside = (t > 0) & (t < self.width)
        return inside / self.width if self.width > 0 else np.zeros_like(t)


class Violations:
    """Pairs of one of some rows and a violator l, found row by row: nearer than the farthest
    target's margin.

    Attributes
    ----------
    near : ndarray (n, k)
        Squared distances of the targets.
    i, j : ndarray (p,)
        Row, counted among these, and violator of each pair.
    t : ndarray (k, p)
        1 + D_ij - D_il of each target; of some of them positive.
    own : ndarray (n,)
        Weights of these rows.
    counts : ndarray (p,) or float
        The objective's penalty times the weights of both rows.
    """

    def __init__(self, problem: LargeMargin, rows: slice, D: Array) -> None:
        w = problem.w
        self.near = np.take_along_axis(D, problem.targets[rows], axis=1)
        for place in problem.own(rows):
            D[place] = np.inf
        nearer = np.flatnonzero(D < 1.0 + self.near.max(axis=1)[:, None])
        self.i, self.j = np.divmod(nearer, D.shape[1])
        self.t = np.take(self.near.T, self.i, axis=1)
        self.t += 1.0
        self.t -= D.ravel()[nearer]
        self.own = np.ones(len(D))
        self.counts: Array | float = problem.impostor_weight
        if w is not None:
            self.own = w[rows]
            self.counts = problem.impostor_weight * self.own[self.i] * w[self.j]


class Margins:
    """W and dW of some rows, which are sparse: of targets and violators, and of their t > 0.

    With D = |BY|^2 of targets and violators and t = 1 + GD, W is w_i at targets + G'(penalty w_i
    w_l h'(t)). A pair has a row of B, e_i - e_j, and a t one of G.
    """

    def __init__(self, problem: LargeMargin, Y: Array, rows: slice, D: Array) -> None:
        found, targets, hinge = Violations(problem, rows, D), problem.targets[rows], problem.hinge
        (n, k), pairs = targets.shape, len(found.i)
        target, violating = np.divmod(np.flatnonzero(found.t > 0), max(pairs, 1))
        here = np.arange(rows.start, rows.stop)
        self._B = differences(
            np.concatenate([np.repeat(here, k), here[found.i]]),
            np.concatenate([targets.ravel(), found.j]),
            len(Y),
        )
        self._G = differences(found.i[violating] * k + target, n * k + violating, n * k + pairs)
        counts, t = np.broadcast_to(found.counts, pairs)[violating], found.t[target, violating]
        self._W = self._G.T @ (counts * hinge.slope(t))
        self._W[: n * k] += np.repeat(found.own, k)
        self._curvature = counts * hinge.curvature(t)
        self._BY = self._B @ Y

    def add_product(self, product: Array, change: Change) -> None:
        BdY = self._B @ change.dY
        dD = 2.0 * np.einsum("ij,ij->i", self._BY, BdY)
        dW = self._G.T @ (self._curvature * (self._G @ dD))
        product += self._B.T @ (self._W[:, None] * BdY + dW[:, None] * self._BY)


class LargeMarginPoint(PairwisePoint):
    """phi = sum w_i D_ij over targets j + penalty sum_l w_i w_l h(t_ijl), t_ijl = 1 + D_ij - D_il.

    W_ij = w_i + penalty sum_l w_i w_l h'(t_ijl) and W_il = -penalty sum_j w_i w_l h'(t_ijl). Only l
    that violate a margin occur.
    """

    _problem: LargeMargin

    def add_slope(self, slope: Array, rows: slice) -> float:
        problem, W = self._problem, self.squares(rows)
        found, targets = Violations(problem, rows, W), problem.targets[rows]
        value = float(found.own @ found.near.sum(axis=1))
        value += float(np.sum(found.counts * problem.hinge(found.t)))
        pulls = found.counts * problem.hinge.slope(found.t)
        W[:] = 0.0
        W[found.i, found.j] = -pulls.sum(axis=0)
        pulled = [found.own + np.bincount(found.i, pull, len(W)) for pull in pulls]
        np.put_along_axis(W, targets, np.stack(pulled, axis=1), axis=1)
        self.add_laplacian(slope, W, rows, self.Y1)
        return value

    def row_product(self, rows: slice) -> RowProduct:
        return Margins(self._problem, self.Y, rows, self.squares(rows)).add_product


@dataclass(frozen=True)
class LargeMargin(LabelledPairs):
    """Large-margin nearest neighbours over all matrices.

    Parameters
    ----------
    targets : ndarray of int (n, k)
        Target neighbours of each row.
    impostor_weight : float
        The objective's penalty.
    """

    targets: np.ndarray
    hinge: Hinge
    impostor_weight: float = 1.0

    def specialist(self) -> None:
        """Curvature jumps where margins are met: steps from gradients alone may take thousands.

        And products with the few violators are cheap.
        """

    def emptied(self) -> LargeMargin:
        return replace(
            self,
            X=self.X[:0],
            w=None,
            boundaries=np.zeros(2, dtype=np.intp),
            targets=self.targets[:0],
        )

    def on(self, rows: Array, codes: np.ndarray, *, w: Array | None = None) -> LargeMargin | None:
        """With target neighbours among these rows; classes with too few of them are left out."""
        k = self.targets.shape[1]
        enough = np.bincount(codes)[codes] > k
        if not enough.any():
            return None
        new = super().on(rows[enough], codes[enough], w=None if w is None else w[enough])
        assert isinstance(new, LargeMargin)
        return replace(new, targets=target_neighbours(new.X * new.lengths, new.boundaries, k))

    def at(self, M: Array) -> LargeMarginPoint:
        return LargeMarginPoint(self, M)

    def starts(self) -> dict[str, Array]:
        """pca, the best of random points, and pca of what the full-rank solution makes of X."""
        return {
            "pca": self.principal_directions(self.r),
            "screened": screened(self, self.X, self.w),
            "full-rank": self._truncated(),
        }

    def _truncated(self) -> Array:
        """The problem of full rank is convex in MM', and a rough solution of it will do."""
        full = replace(self, r=self.X.shape[1])
        start = full.principal_directions(full.r)
        M = run_through(full, start, LBFGS(), Stopping(1e-4, _FULL_RANK_ITERATIONS)).M
        Y = weighted(self.X @ M, self.w)
        return M @ top_eigenvectors(Y.T @ Y, self.r)[1]
