"""Neighbourhood components analysis (NCA), and large-margin nearest neighbours (LMNN)."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial

import numpy as np

from ldr.objectives.data.data import Data
from ldr.objectives.data.sample_metadata import CodedLabels, Marks, as_labels
from ldr.objectives.families.pairwise import (
    BATCH_ROWS,
    LabelledPairs,
    PairwisePoint,
    Told,
    in_batches,
    labelled_rows,
)
from ldr.objectives.families.projected import SAME
from ldr.objectives.graphs import nearest_others
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need, number, whole, word
from ldr.objectives.prediction import GroupedRows
from ldr.objectives.problem import PROVED_GLOBAL, BoundObjective, Certificate, restated
from ldr.objectives.starts import random_points, screened
from ldr.objectives.statistics.sums import Codes, counted_rows, counting_rows, weighted
from ldr.solvers.descent import LBFGS
from ldr.solvers.linalg.eigen import top_eigenvectors
from ldr.solvers.manifolds import Array
from ldr.solvers.solver import Stopping, minimise, run_through
from ldr.solvers.trust_region import TrustRegion

# NCA is saturated if all probabilities are this close to 0 or 1: then only M's scale changes f.
_SATURATED = 1e-6

# NCA is annealed: ridge penalties decrease from the first value to the second, and the third is
# their ratio. A larger first penalty leads nearly all initial points to the same optimum.
_FIRST_RIDGE, _LAST_RIDGE, _LESS = 0.1, 2e-5, 0.15
_STAGE = Stopping(1e-6, 10)
# Up to `BATCH_ROWS` rows NCA uses several initial points and another first ridge in addition.
_SMALL_RIDGE = 2e-4
_SLOWLY, _LONGER_STAGE = 0.25, Stopping(1e-6, 15)
_PLAIN = Stopping(1e-6, 200)
# M is multiplied by increasing factors, each twice the last, until the certificate proves that all
# rows are classified correctly: first factor, number of factors.
_LARGER, _DOUBLINGS = 16.0, 10


class NeighbourMethod(Objective, weighted=True, by_pairs=True, predicts="classes", sparse=False):
    """Base of the methods for a nearest-neighbour classifier."""

    needs = (Need.LABELS,)
    baseline = "orthogonal-lda, unit variance within classes"
    domain = "R"

    @abstractmethod
    def _problem(self, data: Data, r: int) -> BoundObjective:
        """Return the problem without a predictor."""

    def bind(self, data: Data, r: int) -> BoundObjective:
        return restated(self._problem(data, r), answers=GroupedRows.of(data))


@dataclass(frozen=True)
class NCA(NeighbourMethod, repeats=False):
    r"""Neighbourhood components analysis (NCA).

    .. math::

        \max_M \sum_i \sum_{j: z_j = z_i} p_{ij}, \quad p_{ij} \propto \exp(-\|M'(x_i -
        x_j)\|^2)

    Sample i, of the class z_i, has another sample j as its random neighbour with the probability
    p_ij. The value is the expected number of samples that a random neighbour classifies correctly.
    M is any d x r matrix; the value depends on the scale of M but not on rotations. P = M'. If
    nearest neighbours in the projection classify all samples correctly, the value increases with
    the scale of M towards n. For a large M the objective saturates: each sample is classified
    correctly with probability 0 or 1, and the gradient vanishes. The result has a message if the
    gradient vanishes because M is large. Local optima exist: in about one of ten data sets a random
    start (`starts=`) finds a better optimum, which classifies one or two more samples correctly. An
    evaluation takes O(n^2 r) time. Memory is O(n^2) for n <= 2000, else O(n (d + r)). The baseline
    is orthogonal-lda, scaled to unit variance within classes. Unless `start` is a matrix, a run
    begins with annealing, which adds the penalty ridge ||XM||^2 and decreases the ridge from 0.1 to
    2e-5 in six steps. For at most 250 samples, pca and five random M are further default starts.
    Sample weights multiply the terms and the neighbours' probabilities: max sum_i w_i sum_j p_ij
    with p_ij in proportion to w_j exp(-||M'(x_i - x_j)||^2). A sample of integer weight w differs
    from w equal samples, which would be neighbours of each other.

    Use it when a nearest-neighbour classifier follows the projection. Do not use it with many
    samples (each evaluation computes all pairs) or with separable classes (the value saturates).

    Source: Goldberger, Roweis, Hinton & Salakhutdinov 2004; Cunningham & Ghahramani 2015.
    """

    name = "nca"
    sense = "max"

    def _problem(self, data: Data, r: int) -> BoundObjective:
        if data.samples.in_pieces:
            return in_batches(self, data, r, smallest_class=2)
        rows, lengths, codes = labelled_rows(data, self)
        return SoftNeighbours(self, (rows.view,), rows.X, r, lengths, codes, w=rows.weights)


class SoftNeighbourPoint(PairwisePoint):
    """phi = -sum_i w_i p_i + ridge sum_i w_i ||y_i||^2, where c_ij = 1 for equal classes.

    The derivative of phi in D is W_ij = w_i (c_ij - p_i) p_ij, as dp_ij = (e_i - dD_ij) p_ij, e_i =
    sum_l p_il dD_il. The change of W is dW_ij = w_i ((c_ij - p_i) dp_ij - p_ij dp_i), and dp_i =
    sum_j (c_ij - p_i) dp_ij.
    """

    _problem: SoftNeighbours

    def _neighbours(self, rows: slice, D: Array) -> tuple[Array, Array, Array]:
        """p_ij, p_i and c_ij.

        The nearest neighbour's term is exp(0) = 1, so that the sum never underflows. exp(-300)
        changes no sum, but terms that underflow would take five times as long.
        """
        if (log_weights := self._problem.log_weights) is not None:
            D -= log_weights
        D[np.arange(len(D)), np.arange(rows.start, rows.stop)] = np.inf
        P = np.subtract(D.min(axis=1)[:, None], D, out=D)
        np.maximum(P, -300.0, out=P)
        np.exp(P, out=P)
        P *= 1.0 / P.sum(axis=1)[:, None]
        agree = self._problem.alike(rows).astype(np.float64)
        return P, np.einsum("ij,ij->i", P, agree), agree

    @property
    def value(self) -> float:
        return super().value + 0.5 * float(np.vdot(self.Y, self._pulled(self.Y)))

    @property
    def slope(self) -> Array:
        return super().slope + self._pulled(self.Y)

    def curvature(self, dY: Array) -> Array:
        return super().curvature(dY) + self._pulled(dY)

    def _pulled(self, Y: Array) -> Array:
        """The slope of the ridge at Y."""
        return 2.0 * self._problem.ridge * counted_rows(Y, self._problem.w)

    @property
    def right(self) -> Array:
        """Probability p_i of a correct classification of each row."""
        return np.concatenate(
            [self._neighbours(rows, self.squares(rows))[1] for rows in self._blocks]
        )

    def pairs(self, rows: slice, D: Array) -> Told:
        w, (P, p, W) = self._problem.w, self._neighbours(rows, D)
        W -= p[:, None]
        W *= P

        def change(dD: Array) -> Array:
            dW = np.subtract(np.einsum("ij,ij->i", P, dD)[:, None], dD, out=dD)
            dW *= W
            dW -= dW.sum(axis=1)[:, None] * P
            return counted_rows(dW, w, rows)

        return -float(counted_rows(p[:, None], w, rows).sum()), counted_rows(W, w, rows), change


@dataclass(frozen=True)
class SoftNeighbours(LabelledPairs):
    """Problem of neighbourhood components analysis, over all k x r matrices.

    - ridge: weight of ||Y||^2, which bounds the scale of M
    """

    ridge: float = field(default=0.0, kw_only=True)

    @cached_property
    def log_weights(self) -> Array | None:
        """Logarithm of each row's weight, relative to the largest."""
        if self.w is None:
            return None
        with np.errstate(divide="ignore"):  # a weight of zero has the logarithm minus infinity
            return np.asarray(np.log(self.w / self.w.max()))

    def at(self, M: Array) -> SoftNeighbourPoint:
        return SoftNeighbourPoint(self, M, self.row_blocks)

    def proof(self, M: Array) -> Certificate | None:
        found = self.certificate(M)
        return found if found is not None and found.is_optimal else None

    def starts(self) -> dict[str, Array]:
        """Return PCA and random directions for few rows; for many rows the baseline suffices."""
        if len(self.X) > BATCH_ROWS:
            return {}
        directions = enumerate(random_points(self, self.X, 5, self.w), start=1)
        return {
            "pca": self.principal_directions(self.r),
            **{f"random directions {k}": M for k, M in directions},
        }

    def approach(self, M: Array) -> Array:
        """Return the optimum of annealing, for few rows the best of three annealing schedules."""
        if len(self.X) > BATCH_ROWS:
            return self._annealed(M, _FIRST_RIDGE)
        runs = []
        for ridge in (0.0, _FIRST_RIDGE, _SMALL_RIDGE):
            runs.append(minimise(self, self._annealed(M, ridge), LBFGS(), _PLAIN))
            if self._all_right(runs[-1].M):
                return self._grown(runs[-1].M)
        return min(runs, key=lambda run: run.value).M

    def _annealed(self, M: Array, ridge: float) -> Array:
        """Return the optimum of short runs from M with decreasing ridges.

        With a large ridge M is small, every row has many neighbours, and local optima are few.
        """
        few = len(self.X) <= BATCH_ROWS
        less, stage = (_SLOWLY, _LONGER_STAGE) if few else (_LESS, _STAGE)
        while ridge > _LAST_RIDGE:
            if self._all_right(M):
                return self._grown(M)
            M = minimise(replace(self, ridge=ridge), M, LBFGS(), stage).M
            ridge *= less
        return M

    def _all_right(self, M: Array) -> bool:
        """Return True if all nearest neighbours have the class of their row."""
        least = 1.0 if self.w is None else float(self.w.min())
        return self.value(_LARGER * M) < 0.5 * least - self.weight

    def _grown(self, M: Array) -> Array:
        """Return the least multiple of M that is proved optimal, if all neighbours are correct."""
        factors = (_LARGER * 2.0**k for k in range(_DOUBLINGS))
        return next((a * M for a in (1.0, *factors) if self.proof(a * M)), _LARGER * M)

    def certificate(self, M: Array) -> Certificate | None:
        """Bound the value by n, and report saturation.

        The optimum is not determined if rounding errors of squared distances change the neighbours.
        """
        n, point = self.weight, self.at(M)
        longest = float(np.max(np.einsum("ij,ij->i", point.Y, point.Y)))
        if not longest * float(np.finfo(float).eps) <= PROVED_GLOBAL:
            message = f"squared distances of {longest:.0e} are too inaccurate to be compared"
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
            "neighbour in their class. A larger M changes nothing, and the gradient is zero, but "
            "another M may be better"
        ]


def _is_saturated(p: Array) -> bool:
    """Return True if every p_i is 0 or 1 to 1e-6."""
    return bool(np.all(np.minimum(p, 1.0 - p) <= _SATURATED))


HINGES = ("squared", "linear")

# Initial points of LMNN are optima for a sample of the rows: stopping rule, largest sample size.
# For 2000 rows and 50 columns, a run on 1000 rows takes a quarter of the time of a run on all rows.
_ROUGHLY, _SOME_ROWS = Stopping(1e-4, 50), 1000


@dataclass(frozen=True)
class LMNN(NeighbourMethod):
    r"""Large margin nearest neighbours (LMNN), with a matrix of rank r.

    .. math::

        \min_M \sum_i \sum_{j \in \eta(i)} \left[d_{ij}^2 + \lambda \sum_{l: z_l \ne z_i} h(1 +
        d_{ij}^2 - d_{il}^2)\right], \quad d_{ij} = \|M'(x_i - x_j)\|

    The classes are z, lambda is `penalty`, and eta(i) are the k other samples of the same class
    nearest to sample i in X; features should be standardised. Equal samples of a class count as one
    sample with the sum of their weights: with copies as neighbours a large M would have the value
    0. A class of m <= k different samples has m - 1 other samples, and i itself replaces the rest
    of eta(i). By default h is the squared hinge [t]_+^2, which is smooth and much easier to
    minimise than the hinge [t]_+. The map is P = M', where M is any d x r matrix. Local optima
    exist. An evaluation takes O(n^2 r) time to find the samples l that violate a margin, and O(k)
    time for each such sample. Memory is O(n^2) for n <= 2000, else O(n (d + r)). The baseline is
    orthogonal-lda, scaled to unit variance within classes. Sample weights multiply the terms of
    sample i by w_i, and each term of the sum over l also by w_l.

    Use it when a nearest-neighbour classifier with a margin follows the projection. Do not use it
    with many features and few samples, because of overfitting: take lda with shrinkage.

    Source: Weinberger & Saul 2009; Cunningham & Ghahramani 2015.

    Parameters
    ----------
    neighbours : int
        Number k of target neighbours of a sample. Each class must have more than k samples.
    penalty : float
        Weight lambda of the violations of the margin.
    hinge : {"squared", "linear"}
        Hinge h(t): [t]_+^2 for "squared"; [t]_+, smoothed at its kink, for "linear".
    width : float
        Width of the smoothing of the linear hinge: h is the parabola t^2/(2 width) for 0 < t <
        width and differs from [t]_+ by at most width/2. With width 0 the hinge is not smoothed, and
        solvers may not converge.
    """

    name = "lmnn"
    sense = "min"

    neighbours: int = whole(3, 1)
    penalty: float = number(1.0, positive=True)
    hinge: str = word("squared", HINGES)
    width: float = number(0.1)

    def _problem(self, data: Data, r: int) -> BoundObjective:
        if data.samples.in_pieces:
            return in_batches(self, data, r, smallest_class=self.neighbours + 1)
        samples = data.samples.in_memory()
        codes, classes = as_labels(data.y, samples.n, smallest_class=self.neighbours + 1)
        kept, w = different_rows(samples.dense(), codes, samples.weights)
        samples = replace(samples.take(kept), marks=Marks(w))
        different = Data((samples,), CodedLabels(codes[kept], classes))
        rows, lengths, codes = labelled_rows(different, self)
        return LargeMargin(
            self,
            (rows.view,),
            rows.X,
            r,
            lengths,
            codes,
            target_neighbours(rows.X * lengths, codes, self.neighbours),
            squared_hinge if self.hinge == "squared" else partial(rounded_hinge, width=self.width),
            impostor_weight=self.penalty,
            w=rows.weights,
        )


def different_rows(X: Array, codes: Codes, w: Array | None) -> tuple[Codes, Array | None]:
    """Return the first of the equal rows of each class, and the sums of the equal rows' weights.

    Rows without weight are left out.
    """
    labelled = np.column_stack([X, codes])
    _, first, place = np.unique(labelled, axis=0, return_index=True, return_inverse=True)
    sums = np.bincount(first[place.ravel()], w, len(X)).astype(np.float64)
    kept = np.flatnonzero(sums)
    return kept, None if w is None and len(kept) == len(X) else sums[kept]


def target_neighbours(X: Array, codes: Codes, k: int) -> Codes:
    """Return the k nearest rows in the class of each row (n x k), or the row itself if too few."""
    targets = np.tile(np.arange(len(X))[:, None], k)
    for code in np.unique(codes):
        own = np.flatnonzero(codes == code)
        if others := min(k, len(own) - 1):
            targets[own, :others] = own[nearest_others(X[own], others)[1]]
    return targets


# Function that returns h(t), h'(t) and a function that returns h''(t), where h = 0 for t <= 0.
Hinge = Callable[[Array], tuple[Array, Array, Callable[[], Array]]]


def squared_hinge(t: Array) -> tuple[Array, Array, Callable[[], Array]]:
    """Return [t]_+^2."""
    inside = np.maximum(t, 0.0)
    return inside**2, 2.0 * inside, lambda: np.where(t > 0, 2.0, 0.0)


def rounded_hinge(t: Array, width: float) -> tuple[Array, Array, Callable[[], Array]]:
    """Return the smoothed hinge t^2/(2w) for 0 <= t <= w, t - w/2 for larger t."""
    if width == 0:
        return np.maximum(t, 0.0), (t > 0).astype(np.float64), lambda: np.zeros_like(t)
    inside = np.clip(t, 0.0, width)
    value = 0.5 * inside**2 / width + np.maximum(t - width, 0.0)
    return value, inside / width, lambda: ((t > 0) & (t < width)) / width


class LargeMarginPoint(PairwisePoint):
    """phi = sum w_i D_ij over targets j + penalty sum_l w_i w_l h(t_ijl), t_ijl = 1 + D_ij - D_il.

    The derivatives in D are W_ij = w_i + penalty sum_l w_i w_l h'(t_ijl) and W_il = -penalty sum_j
    w_i w_l h'(t_ijl). Only rows l that violate a margin occur in the sums.
    """

    _problem: LargeMargin

    def pairs(self, rows: slice, D: Array) -> Told:
        problem, w, (n, columns) = self._problem, self._problem.w, D.shape
        # The flat indices, in D, of the squared distances from each row to its target neighbours.
        near = problem.targets[rows] + columns * np.arange(n)[:, None]
        D_near = D.ravel()[near]
        np.copyto(D, np.inf, where=problem.alike(rows))
        far = np.flatnonzero(D < 1.0 + D_near.max(axis=1)[:, None])  # violate some margin
        i = far // columns
        first = np.flatnonzero(np.diff(i, prepend=-1))  # the first entry of each row i
        t = np.take(D_near.T, i, axis=1)
        t += 1.0 - D.ravel()[far]
        own, counts = np.ones((n, 1)), problem.impostor_weight
        if w is not None:
            own = w[rows, None]
            counts = counts * own[i, 0] * w[far % columns]
        hinges, slopes, curvature = problem.hinge(t)
        rate = cache(lambda: counts * curvature())

        def filled(W: Array, own: Array | float, pulls: Array) -> Array:
            """Return the derivative in D, in W, from the derivative `pulls` in t."""
            pulled = np.zeros_like(D_near)
            pulled[i[first]] = np.add.reduceat(pulls, first, axis=1).T
            W[:] = 0.0
            W.ravel()[near] = own + pulled
            W.ravel()[far] = -pulls.sum(axis=0)
            return W

        def change(dD: Array) -> Array:
            dt = np.take(dD.ravel()[near].T, i, axis=1)
            dt -= dD.ravel()[far]
            return filled(dD, 0.0, rate() * dt)

        value = float(np.sum(own * D_near)) + float(np.sum(counts * hinges))
        return value, filled(D, own, counts * slopes), change


@dataclass(frozen=True)
class LargeMargin(LabelledPairs):
    """Problem of large-margin nearest neighbours, over all k x r matrices.

    - targets (n, k): target neighbours of each row
    - impostor_weight: the objective's penalty
    """

    targets: Codes
    hinge: Hinge
    impostor_weight: float = 1.0

    def specialist(self) -> None:
        """Prefer the trust region to first-order methods.

        First-order methods need many steps, because the curvature is discontinuous at margins.
        A Hessian product of few rows takes half the time of an evaluation.
        """

    def on(self, rows: Array, codes: Codes, *, w: Array | None = None) -> LargeMargin:
        """Return the problem of new rows, their classes and target neighbours."""
        k, (kept, w) = self.targets.shape[1], different_rows(rows, codes, w)
        new = super().on(rows[kept], codes[kept], w=w)
        assert isinstance(new, LargeMargin)
        return replace(new, targets=target_neighbours(new.X * new.lengths, new.codes, k))

    def at(self, M: Array) -> LargeMarginPoint:
        return LargeMarginPoint(self, M, self.row_blocks)

    def approach(self, M: Array) -> Array:
        """Return the optimum for a sample of the rows, by a run from M; for few rows M itself."""
        return minimise(self._some, M, TrustRegion(), _ROUGHLY).M if self._many else M

    def same(self, M: Array, N: Array) -> bool:
        """Return True if the optima M and N for a sample of the rows are equal up to a rotation."""
        MM, NN = M @ M.T, N @ N.T
        return self._many and bool(np.linalg.norm(MM - NN) <= SAME * np.linalg.norm(NN))

    def starts(self) -> dict[str, Array]:
        """Return PCA, the best of random points, and PCA of a full-rank solution's projection.

        The latter two are found on a sample of the rows.
        """
        some = self._some
        return {
            "pca": self.principal_directions(self.r),
            "screened": screened(some, some.X, some.w),
            "full-rank": self._truncated(some),
        }

    @property
    def _many(self) -> bool:
        return len(self.X) >= 2 * len(self._some.X)

    @cached_property
    def _some(self) -> LargeMargin:
        """The problem of some rows, or of all if the sample of a class is too small."""
        k, rows = self.targets.shape[1], counting_rows(len(self.X), self.w, _SOME_ROWS)
        few = len(rows) == len(self.X)
        if few or np.bincount(self.codes[rows], minlength=self.codes.max() + 1).min() <= k:
            return self
        X, codes, w = self.X[rows], self.codes[rows], None if self.w is None else self.w[rows]
        targets = target_neighbours(X * self.lengths, codes, k)
        return replace(self, X=X, codes=codes, targets=targets, w=w)

    def _truncated(self, some: LargeMargin) -> Array:
        """Return the rank-r part of a rough full-rank solution, whose problem is convex in MM'."""
        full = replace(some, r=self.X.shape[1])
        start = full.principal_directions(full.r)
        M = run_through(full, start, LBFGS(), _ROUGHLY).M
        Y = weighted(self.X @ M, self.w)
        M = M @ top_eigenvectors(Y.T @ Y, min(self.r, full.r))[1]
        return np.pad(M, ((0, 0), (0, self.r - M.shape[1])))
