"""Neighbourhood components analysis."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np

from ldr.objectives.certificate import PROVED_GLOBAL, Certificate
from ldr.objectives.data.data import Data
from ldr.objectives.data.footprint import Footprint
from ldr.objectives.families.batches import in_batches
from ldr.objectives.families.pairwise import (
    LabelledPairs,
    LabelledRows,
    WeightedPairsPoint,
    kept_of_pairs,
)
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need
from ldr.objectives.prediction import GroupedRows
from ldr.objectives.problem import BoundObjective
from ldr.objectives.starts.directions import random_points
from ldr.objectives.statistics.sums import counted_rows
from ldr.solvers.descent.lbfgs import LBFGS
from ldr.solvers.loop import minimise
from ldr.solvers.manifolds import Array
from ldr.solvers.records import dataclass, field, replace
from ldr.solvers.run import Stopping

# A p_i this near to 0 or 1 is where a larger M would lead it.
_SATURATED = 1e-6

# Annealing: a ridge, made smaller from a first value to the last one, holds the scale of M down.
# From a large one all starts end nearly alike. The first steps need not see all rows.
_FIRST_RIDGE, _LAST_RIDGE, _LESS = 0.1, 2e-5, 0.15
_STAGE = Stopping(1e-6, 10)
_SOME_ROWS, _SOME_DO = 300, 5e-3
# So many rows, whose evaluations take well below a millisecond, have more starts, more and longer
# steps of the ridge, and from each start also runs that leave the starts apart: from a small ridge,
# and without one.
_FEW_ROWS = 250
_SMALL_RIDGE = 2e-4
_SLOWLY, _LONGER_STAGE = 0.25, Stopping(1e-6, 15)
_DIRECTIONS = 5
_PLAIN = Stopping(1e-6, 200)
# By so much a larger M tells whether all nearest neighbours are right.
_LARGER, _DOUBLINGS = 16.0, 10


@dataclass(frozen=True)
class NCA(Objective):
    """Classify by soft neighbours: max sum_i p_i, p_i = sum over j of i's class of p_ij, any M.

    p_ij = exp(-||M'(x_i - x_j)||^2) / sum_{l != i} exp(-||M'(x_i - x_l)||^2) and p_ii = 0: the
    expected number of rows that a random neighbour classifies rightly. The scale of M matters, its
    rotation does not. Where nearest neighbours in the projection make no mistake, a larger M is
    better without end, towards n; elsewhere a large M saturates too: every p_i is 0 or 1, the
    gradient vanishes, and the end says nothing of other M. A note and the certificate tell it. P =
    M'. There are local optima: in about one of ten data sets a random start (`starts=`) ends a row
    or two higher. An evaluation takes O(n^2 r) time, memory is O(n (d + r)), and up to 2048 rows
    O(n^2). The heuristic is lda with unit variance within classes. From it, as from every start
    that is not given as a matrix, the solver comes by annealing: ridge ||Y||^2, Y = XM, is added,
    and the ridge is made smaller from 0.1 to 2e-5 in six steps, which lets the scale of M grow
    slowly. Of at most 250 rows pca and three random directions are further default starts.

    Weights say how much rows count, as ones to classify and as neighbours: max sum_i w_i p_i with
    p_ij in proportion to w_j exp(-||M'(x_i - x_j)||^2). They do not repeat rows, of which none is
    its own neighbour.
    """

    name = "nca"
    weighted = by_pairs = True
    repeats = False
    formula = "max sum_i sum_{j: z_j = z_i} p_ij, p_i = softmax_j(-||M'(x_i - x_j)||^2)"
    source = "Goldberger, Roweis, Hinton & Salakhutdinov 2004; Cunningham & Ghahramani 2015"
    sense = "max"
    needs = (Need.LABELS,)
    predicts = "classes"
    baseline = "lda, unit variance within classes"
    sparse = False
    domain = "R"

    def footprint(self, data: Data) -> Footprint:
        return Footprint(rows=6.0, row=120.0, pairs=kept_of_pairs(data, 5.0))

    def bind(self, data: Data, r: int) -> BoundObjective:
        return self._problem(data, r).restated(answers=GroupedRows.of(data))

    def _problem(self, data: Data, r: int) -> BoundObjective:
        if data.samples.in_pieces:
            return in_batches(self, data, r, smallest_class=2)
        rows = LabelledRows.of(data, self)
        return SoftNeighbours(
            self, (rows.view,), rows.X, r, rows.lengths, rows.boundaries, w=rows.weights
        )


# Where classes agree: rows and columns of each.
_Classes = list[tuple[slice, slice]]


class SoftNeighbourPoint(WeightedPairsPoint):
    """phi = -sum_i w_i p_i + ridge sum_i w_i ||y_i||^2, with c_ij = 1 where classes agree.

    W_ij = w_i (c_ij - p_i) p_ij, because dp_ij = (e_i - dD_ij) p_ij with e_i = sum_l p_il dD_il.
    Hence dW_ij = w_i ((c_ij - p_i) dp_ij - p_ij dp_i).
    """

    _problem: SoftNeighbours

    def _neighbours(self, rows: slice, D: Array) -> tuple[Array, Array, _Classes]:
        """p_ij, p_i and where classes agree.

        The nearest neighbour's term is exp(0) = 1, so that the sum never underflows.
        """
        own = self._problem.own(rows)
        D -= self._problem.log_weights
        D[np.arange(len(D)), np.arange(rows.start, rows.stop)] = np.inf
        P = np.subtract(D.min(axis=1)[:, None], D, out=D)
        np.exp(P, out=P)
        P /= P.sum(axis=1)[:, None]
        return P, _of_class(P, own), own

    @property
    def value(self) -> float:
        return super().value + self._problem.ridge * float(np.vdot(self.Y, self._counted(self.Y)))

    @property
    def slope(self) -> Array:
        return super().slope + (2.0 * self._problem.ridge) * self._counted(self.Y)

    def curvature(self, dY: Array) -> Array:
        return super().curvature(dY) + (2.0 * self._problem.ridge) * self._counted(dY)

    def _counted(self, Y: Array, rows: slice = slice(None)) -> Array:
        return counted_rows(Y, self._problem.w, rows)

    @property
    def right(self) -> Array:
        """All p_i."""
        return np.concatenate(
            [self._neighbours(rows, self.squares(rows))[1] for rows in self._blocks]
        )

    def weights(self, rows: slice, D: Array) -> tuple[float, Array]:
        P, p, own = self._neighbours(rows, D)
        w = self._problem.w
        right = p.sum() if w is None else w[rows] @ p
        return -float(right), self._counted(_agreeing(P, p, own), rows)

    def weights_change(self, rows: slice, D: Array) -> tuple[Array, Callable[[Array], Array]]:
        P, p, own = self._neighbours(rows, D)

        def change(dD: Array) -> Array:
            dP = P * (np.einsum("ij,ij->i", P, dD)[:, None] - dD)
            dp = _of_class(dP, own)
            dW = _agreeing(dP, p, own)
            dW -= dp[:, None] * P
            return self._counted(dW, rows)

        return self._counted(_agreeing(P.copy(), p, own), rows), change


def _of_class(P: Array, own: _Classes) -> Array:
    """sum_j c_ij P_ij."""
    return np.concatenate([P[place].sum(axis=1) for place in own])


def _agreeing(P: Array, p: Array, own: _Classes) -> Array:
    """(c_ij - p_i) P_ij, in the place of P."""
    agreeing = [P[place].copy() for place in own]
    P *= -p[:, None]
    for place, part in zip(own, agreeing, strict=True):
        P[place] += part
    return P


@dataclass(frozen=True)
class SoftNeighbours(LabelledPairs):
    """Neighbourhood components analysis over all matrices.

    Parameters
    ----------
    ridge : float
        Weight of ||Y||^2, which holds the scale of M down.
    """

    provable = True

    ridge: float = field(default=0.0, kw_only=True)

    @cached_property
    def log_weights(self) -> Array | float:
        """By which a squared distance to each row is the less."""
        if self.w is None:
            return 0.0
        with np.errstate(divide="ignore"):  # a row that does not count is infinitely far away
            return np.asarray(np.log(self.w / self.w.max()))

    def at(self, M: Array) -> SoftNeighbourPoint:
        return SoftNeighbourPoint(self, M)

    def proof(self, M: Array) -> Certificate | None:
        found = self.certificate(M)
        return found if found is not None and found.is_optimal else None

    def starts(self) -> dict[str, Array]:
        """Of few rows pca and random directions; all starts end nearly alike."""
        if len(self.X) > _FEW_ROWS:
            return {}
        directions = enumerate(random_points(self, self.X, _DIRECTIONS, self.w), start=1)
        return {
            "pca": self.principal_directions(self.r),
            **{f"random directions {k}": M for k, M in directions},
        }

    def approach(self, M: Array) -> Array:
        """The end of annealing; of few rows the best of three, or the first that none exceeds."""
        if len(self.X) > _FEW_ROWS:
            return self._annealed(M, _FIRST_RIDGE)
        runs = []
        for ridge in (0.0, _FIRST_RIDGE, _SMALL_RIDGE):
            runs.append(minimise(self, self._annealed(M, ridge), LBFGS(), _PLAIN))
            if self._all_right(runs[-1].M):
                return self._grown(runs[-1].M)
        return min(runs, key=lambda run: run.value).M

    def _annealed(self, M: Array, ridge: float) -> Array:
        """The end of short runs from M under ever smaller ridges; a larger M where that is right.

        While a ridge keeps M small every row has many soft neighbours, and there are few local
        optima. A run without one soon is at a scale where each row has one neighbour.
        """
        n, some = len(self.X), self._some_rows()
        less, stage = (_SLOWLY, _LONGER_STAGE) if n <= _FEW_ROWS else (_LESS, _STAGE)
        while ridge > _LAST_RIDGE:
            if self._all_right(M):
                return self._grown(M)
            held = replace(some if ridge > _SOME_DO else self, ridge=ridge)
            M = minimise(held, M, LBFGS(), stage).M
            ridge *= less
        return M

    def _all_right(self, M: Array) -> bool:
        """Whether every nearest neighbour is of its row's class, so that a larger M is better."""
        least = 1.0 if self.w is None else float(self.w.min())
        return self.value(_LARGER * M) < 0.5 * least - self.weight

    def _grown(self, M: Array) -> Array:
        """The least multiple that proves to be an optimum, where all neighbours are right."""
        factors = (_LARGER * 2.0**k for k in range(_DOUBLINGS))
        return next((a * M for a in (1.0, *factors) if self.proof(a * M)), _LARGER * M)

    def _some_rows(self) -> SoftNeighbours:
        """The problem of evenly spaced rows, where there are many."""
        n = len(self.X)
        rows = np.linspace(0, n - 1, min(n, _SOME_ROWS)).astype(int)
        w = None if self.w is None else self.w[rows]
        boundaries = np.searchsorted(rows, self.boundaries)
        return replace(self, X=self.X[rows], w=w, boundaries=boundaries)

    def certificate(self, M: Array) -> Certificate | None:
        """No value exceeds n; a saturated M is no optimum that means anything.

        Nor is one of which the squared distances are rounded by what a soft neighbour depends on.
        """
        n, point = self.weight, self.at(M)
        longest = float(np.max(np.einsum("ij,ij->i", point.Y, point.Y)))
        if not longest * float(np.finfo(float).eps) <= PROVED_GLOBAL:
            message = f"squared distances of {longest:.0e} are rounded by too much to compare them"
            return Certificate("none", math.inf, message)
        gap = max(0.0, n + point.value) + len(self.X) * n * float(np.finfo(float).eps)
        if gap <= PROVED_GLOBAL * n:
            message = "no value exceeds n: every row has its nearest neighbours in its class"
            return Certificate("global", gap, message)
        if _is_saturated(point.right):
            message = "saturated: every p_i is 0 or 1, so that the gradient vanishes at any large M"
            return Certificate("none", gap, message)
        return None

    def remarks(self, M: Array) -> list[str]:
        p = self.at(M).right
        if not _is_saturated(p):
            return []
        return [
            f"M is saturated: {round(float(p.sum()))} of {len(p)} rows have their nearest "
            "neighbour in their class, a larger M changes nothing, and the gradient vanishes "
            "there whether or not another M is better"
        ]


def _is_saturated(p: Array) -> bool:
    """Whether every p_i is 0 or 1 to 1e-6."""
    return bool(np.all(np.minimum(p, 1.0 - p) <= _SATURATED))
