"""Wasserstein discriminant analysis: classes apart by the cost of moving one onto the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from ldr.objectives.certificate import Certificate
from ldr.objectives.coordinates import Axes
from ldr.objectives.data.data import Data
from ldr.objectives.data.footprint import Footprint
from ldr.objectives.data.marks import Marks
from ldr.objectives.data.samples import Samples
from ldr.objectives.families.pairs_of_classes import Rows
from ldr.objectives.families.projected import DenseRows
from ldr.objectives.families.transport import KEPT, Transport
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need, number, whole
from ldr.objectives.prediction import GroupedRows
from ldr.objectives.problem import BoundObjective
from ldr.objectives.starts.directions import principal_directions, sliced_directions
from ldr.objectives.statistics import ClassMoments, class_moments
from ldr.objectives.statistics.covariance import Variation
from ldr.objectives.statistics.sums import weighted
from ldr.objectives.view import Range
from ldr.solvers.descent.lbfgs import LBFGS
from ldr.solvers.errors import ArgumentError
from ldr.solvers.linalg.eigen import orthogonal_to, range_basis, top_eigenvectors
from ldr.solvers.manifolds import Array
from ldr.solvers.records import dataclass, field, replace

_EPS = float(np.finfo(float).eps)
_POINTS = (
    "M can take each class to a point, where the ratio is 0; of such M it is that with the largest "
    "distances between the classes. It says nothing of other rows: classical-lda with ridge= or "
    "shrinkage='auto' counts what varies within classes"
)
# Steps before the first model of frozen plans.
_RENEWAL = 5
# Rows beyond which pairs are those within batches.
_MOST_ROWS = 10_000


@dataclass(frozen=True)
class WDA(Objective):
    """Separate the classes by transport: min sum_c W(c, c) / sum_{c < c'} W(c, c') over subspaces.

    W(c, c') = sum_ij G_ij D_ij, D_ij = ||M'(x_i - x_j)||^2, where G is the plan that moves the rows
    of c onto those of c' after `iterations` steps of Sinkhorn's iteration with the kernel
    exp(-D/reg). As reg grows all rows are moved onto all, and the ratio is that of traces, as in
    lda; a small one looks at near rows only, so that classes may have several clusters. P = M'.
    There are local optima: the trace ratio of an infinite reg (the heuristic), lda and pca are the
    default starts. Where M can take every class to a point, as it can of fewer rows than columns,
    the ratio is 0, and of such M it is that with the largest sum_{c < c'} ||M'(mu_c - mu_c')||^2:
    the limit of the optima with eps added to what is within classes, as eps goes to 0.
    An evaluation takes O(iterations n^2) time, memory is that of the largest two classes'
    distances. Beyond 10,000 rows, and of rows in files, pairs are those within batches.

    Parameters
    ----------
    reg : float
        Of the entropy, in units of squared distances; columns in different units should be
        standardised.
    iterations : int
        Of Sinkhorn's iteration: W is what they end with, and its derivative is exact.
    """

    name = "wda"
    weighted = by_pairs = True
    formula = "min sum_c W(c,c) / sum_{c<c'} W(c,c'), W the entropic transport cost of classes"
    source = "Flamary, Cuturi, Courty & Rakotomamonjy 2018"
    sense = "min"
    needs = (Need.LABELS,)
    predicts = "classes"
    baseline = "the trace ratio of an infinite reg"
    sparse = False

    reg: float = number(1.0, positive=True, power=2)
    iterations: int = whole(10, 1)

    def footprint(self, data: Data) -> Footprint:
        n = data.samples.n if data.samples.n_known else math.inf
        pairs = 15.0 if n**2 <= 2 * KEPT else 1.6 if n <= _MOST_ROWS else 0.0
        return Footprint(rows=6.0, row=100.0, pairs=pairs)

    def bind(self, data: Data, r: int) -> BoundObjective:
        samples = data.samples
        if samples.in_pieces or samples.d <= samples.n > _MOST_ROWS:
            if samples.weights is not None:
                raise ArgumentError(
                    f"wda takes weights (sample_weight=) of at most {_MOST_ROWS} rows in memory"
                )
            from ldr.objectives.families.batches import in_batches

            columns = partial(self._transport, restricted=False)
            batches = in_batches(self, data, r, smallest_class=2, bind=columns)
            bound: BoundObjective = replace(batches, unit=1.0 / samples.n)
        else:
            bound = self._transport(data, r)
        return bound.restated(answers=GroupedRows.of(data))

    def _transport(self, data: Data, r: int, *, restricted: bool = True) -> ClassTransport:
        """On the range of the total scatter, outside of which the ratio is 0/0, or anywhere."""
        rows, (codes, classes) = DenseRows.centred(data, self), data.labels
        X, view, weights = rows.X, rows.view, rows.weights
        groups = _counted_alike(X, codes, len(classes), weights)
        points = None
        if restricted:
            kept = Range.of(groups.total, view.coordinates, "the total scatter")
            X, view = np.ascontiguousarray(kept.rows(X.T).T), view.within(kept)
            groups = groups.through(kept.lift(np.eye(kept.rank)))
            points = _to_points(groups, r)
        heuristics = {
            "trace ratio": lambda: trace_ratio_directions(X, groups, weights, r),
            "lda": lambda: sliced_directions(X, codes, r, weights),
            "pca": lambda: principal_directions(weighted(X, weights), r),
        }
        return ClassTransport(
            self,
            (view if points is None else view.noting(_POINTS),),
            X,
            r,
            codes,
            self.reg,
            self.iterations,
            weights,
            points=points,
            heuristics=heuristics if points is None else {"points": lambda: points},
        )


def _counted_alike(X: Array, codes: Rows, classes: int, weights: Array | None) -> ClassMoments:
    """S_W = sum_c C_c and S_B = sum_c (mu_c - mu)(mu_c - mu)', with mu the mean of the mu_c."""
    counts = np.ones(len(X)) if weights is None else weights
    shares = counts / np.bincount(codes, counts, classes)[codes]
    return class_moments(Samples(X, marks=Marks(weights=shares)), codes, classes)


def _to_points(groups: ClassMoments, r: int) -> Array | None:
    """Of M with M'S_W M = 0 that with the largest tr(M'S_B M); None where M has not the room."""
    Q = range_basis(groups.within)
    if Q is None or r > len(Q) - Q.shape[1]:
        return None
    N = orthogonal_to(Q)
    return N @ top_eigenvectors(N.T @ groups.between @ N, r)[1]


def trace_ratio_directions(X: Array, groups: ClassMoments, weights: Array | None, r: int) -> Array:
    """min tr(M'(2 sum_c C_c)M) / tr(M'(sum_{c<c'} C_c + C_c' + dd')M), d = mu_c - mu_c'.

    C_c and mu_c are the covariance and the mean of a class. By Dinkelbach's iteration.
    """
    c = len(groups.means)
    within, between = 2.0 * groups.within, (c - 1) * groups.within + c * groups.between
    best = M = principal_directions(weighted(X, weights), r)
    last, rounding = np.inf, len(X) * _EPS
    while last > rounding:  # at zero M may as well be where nothing varies
        w, b = (float(np.vdot(M, S @ M)) for S in (within, between))
        if not (b > 0 and w / b < last):
            break
        best, last = M, w / b
        M = top_eigenvectors(last * between - within, r)[1]
    return best


@dataclass(frozen=True)
class ClassTransport(Transport):
    """Transport between the classes of rows in memory.

    Parameters
    ----------
    points : ndarray (k, r), optional
        The optimal M where there are some that take every class to a point.
    """

    points: Array | None = field(default=None, kw_only=True)

    @property
    def baseline_exact(self) -> bool:
        return self.points is not None

    def closed_form(self) -> Array | None:
        return self.points

    def certificate(self, M: Array) -> Certificate | None:
        """No ratio is below 0."""
        value = self.at(M).value
        if self.points is None or value > len(self.X) * _EPS:
            return None
        return Certificate("global", value, "no ratio is below 0: each class is a point")

    @property
    def follows(self) -> bool:
        return self.points is None

    def specialist(self) -> LBFGS:
        return LBFGS(renewal=_RENEWAL)

    def numbers(self, M: Array, axes: Axes, seen: Sequence[Variation | None]) -> dict[str, Array]:
        """What the coordinate adds to the transport within and between classes, and their ratio.

        The value is the mean of the ratios, weighted by their shares of the transport between.
        """
        within, between = self.at(M).of_coordinates()
        total = between.sum()
        ratio = np.divide(within, between, where=between > 0, out=np.zeros_like(within))
        return {"ratio": ratio, "share": between / total, "within": within, "between": between}

    def emptied(self) -> ClassTransport:
        """Without rows, as a template for others."""
        return replace(self, X=self.X[:0], codes=self.codes[:0], heuristics={})

    def on(self, rows: Array, codes: Rows, *, w: None) -> ClassTransport | None:
        """The problem of other rows of the user's; its value counts by their number."""
        present, codes = np.unique(codes, return_inverse=True)
        if len(present) < 2:
            return None
        X = rows - self.views[0].mean
        return replace(self, X=X, codes=codes, share=float(len(rows)))
