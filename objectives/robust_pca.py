"""Robust principal component analysis: least sums of distances, not of squares."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, cached_property, partial
from operator import add

import numpy as np

from ldr.objectives.data.data import Data
from ldr.objectives.data.footprint import Footprint
from ldr.objectives.data.samples import Samples
from ldr.objectives.families.losses import Huber, Loss, RoundedDistance
from ldr.objectives.families.medians import (
    CentreRate,
    geometric_median,
    median_in_pieces,
    of_median_distance,
    of_median_length,
)
from ldr.objectives.families.projected import DenseRows, Projected, ProjectedPoint
from ldr.objectives.families.row_sum import Frame, ProjectedTerm, RowSum, added
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import number, word
from ldr.objectives.problem import BoundObjective, check_dimension
from ldr.objectives.statistics import moments
from ldr.objectives.statistics.covariance import KnownScatter
from ldr.objectives.statistics.sizes import median, typical_length
from ldr.objectives.statistics.sums import counted, counted_rows
from ldr.objectives.view import View
from ldr.solvers.errors import DataError
from ldr.solvers.linalg.eigen import top_eigenvectors
from ldr.solvers.manifolds import Array, Grassmann
from ldr.solvers.problem import once
from ldr.solvers.records import dataclass, replace

LOSSES = ("l1", "huber")

CENTRED = "the data are centred at their geometric median"

# Steps of reweighting; of rows in a file each is a pass.
_REWEIGHTINGS = 200
_PASSES = 10
# Of the rows' mean distance from the centre: what rounding leaves of rows that are there.
_NO_LENGTH = 1e-12
_SETTLED = 1e-9  # relative decrease of the value at which reweighting ends

IN_PIECES = (
    "the rows are read at every evaluation; the heuristic is at most "
    f"{_PASSES} steps of reweighted pca"
)


@dataclass(frozen=True)
class RobustPCA(Objective):
    """Reconstruct most rows well: min sum_i rho(||x_i - MM'x_i||) over subspaces.

    rho(t) = t, with its kink rounded: sqrt(t^2 + e^2) - e. Or Huber's rho(t) = t^2/2 up to a
    threshold, and linear beyond it. A mean is wrecked by outliers as pca is: the data are centred
    at their geometric median, the point of least sum of distances. P = M'. There are local optima.
    A row counts by its distance, no longer by its square, but does count: enough outliers in one
    direction, or a few very far out in it, are still followed.
    An evaluation takes O(ndr) time; of rows in a file or on a cluster it is a pass over them. The
    heuristic is iteratively reweighted pca, O(nd^2 + d^3) a step, from pca of the rows' directions
    (spherical pca); every step of it lowers the value, so it often ends at the optimum itself, and
    then the improvement is nil.

    Source: Ding, Zhou, He and Zha 2006; Huber 1964; Locantore and others 1999 (spherical pca).

    Parameters
    ----------
    loss : {"l1", "huber"}
        rho.
    epsilon : float
        e, in units of the median distance of the rows from the centre.
    threshold : float, optional
        Huber's, in units of X; by default the median distance of the rows from the subspace of
        spherical pca.
    """

    name = "robust-pca"
    weighted = True
    formula = "min sum_i rho(||x_i - MM'x_i||)"
    source = "Ding, Zhou, He & Zha 2006; Huber 1964"
    sense = "min"
    baseline = "iteratively reweighted pca"
    sparse = False
    arrays = Footprint(rows=6.0)

    loss: str = word("l1", LOSSES)
    epsilon: float = number(1e-3, positive=True)
    threshold: float | None = number(None, optional=True, positive=True)

    def bind(self, data: Data, r: int) -> BoundObjective:
        if data.samples.in_pieces:
            rows = MedianRows.in_pieces(data.samples, r)
        else:
            rows = MedianRows.in_memory(data, self)
        loss = self._loss(rows, r)
        unit = rows.length if self.loss == "l1" else rows.length**2
        starts = heuristics(rows, loss, r)
        if not rows.samples.stored:
            return Reconstruction(
                self,
                (rows.view,),
                rows.samples.dense(),
                r,
                loss,
                w=rows.samples.weights,
                heuristics=starts,
                unit=unit,
            )
        return RowSum(
            self,
            (rows.view,),
            Grassmann(rows.samples.d, r),
            rows.samples,
            ProjectedTerm(rows.frame, None, partial(ReconstructionPoint, loss=loss)),
            heuristics=starts,
            unit=unit,
        )

    def _loss(self, rows: MedianRows, r: int) -> Loss:
        """rho, from the rows' distances from the centre and from a typical residual."""
        lengths, w = rows.distances(), rows.samples.weights
        typical, mean = median(lengths, w), float(np.average(lengths, weights=w))
        rounding = self.epsilon * (typical if typical > _NO_LENGTH * mean else mean)
        if self.loss == "l1":
            return RoundedDistance(rounding)
        threshold = (self.threshold or 0.0) / rows.length
        if not threshold:
            threshold = median(rows.distances(_directions(rows.scatters()[1], r)), w)
        return Huber(max(threshold, rounding))


@dataclass(frozen=True)
class MedianRows:
    """The rows from their geometric median, in the power of two next to their typical length.

    Attributes
    ----------
    frame : Frame
        In which the samples are these rows; in memory they are so already.
    most_steps : int
        Of reweighted pca.
    """

    samples: Samples
    frame: Frame
    length: float
    view: View
    most_steps: int

    @classmethod
    def in_memory(cls, data: Data, objective: Objective) -> MedianRows:
        rows = DenseRows.centred(data, objective)
        length = typical_length(rows.X)
        centre = geometric_median(rows.X / length, rows.weights)
        view = rows.view
        mean = view.mean + length * view.coordinates.lift(centre[:, None])[:, 0]
        return cls(
            Samples(rows.X / length - centre, marks=rows.marks),
            Frame(np.zeros(len(centre))),
            length,
            replace(view, mean=mean, centre="median").noting(CENTRED),
            _REWEIGHTINGS,
        )

    @classmethod
    def in_pieces(cls, samples: Samples, r: int) -> MedianRows:
        check_dimension(r, samples.d)
        stats = moments(samples)
        square = float(stats.covariance.trace())
        if square == 0:
            raise DataError("all rows of X are equal, expected data that vary")
        frame = Frame(stats.mean, 2.0 ** round(0.5 * math.log2(square)))
        frame = frame.moved(median_in_pieces(samples, frame))
        scatter = KnownScatter(stats.scatter, stats.n)
        view = View(frame.centre, notes=(CENTRED, IN_PIECES), scatter=scatter, centre="median")
        return cls(samples, frame, frame.length, view, _PASSES)

    def distances(self, M: Array | None = None) -> Array:
        """Of each row from the centre, or from the subspace of M there; n numbers."""
        term = partial(_distances, frame=self.frame, M=M)
        return np.concatenate(self.samples.reduce(term, add))

    def scatters(self) -> tuple[Array, Array]:
        """Of the rows and of the rows divided by their norms, in one pass."""
        return self.samples.reduce(partial(_scatters, frame=self.frame), added)

    def reweighted(self, loss: Loss, M: Array) -> tuple[float, Array]:
        """The value at M, and the scatter in which each row has the weight g'(q)."""
        term = partial(_reweighted, frame=self.frame, loss=loss, M=M)
        return self.samples.reduce(term, added)


def _distances(piece: Samples, frame: Frame, M: Array | None) -> list[Array]:
    return [np.sqrt(_squares(Z, M)) for Z, _ in frame.blocks(piece)]


def _scatters(piece: Samples, frame: Frame) -> tuple[Array, Array]:
    plain, spherical = np.zeros((2, piece.d, piece.d))
    for Z, w in frame.blocks(piece):
        q, WZ = _squares(Z, None), counted_rows(Z, w)
        plain += WZ.T @ Z
        spherical += (WZ.T * np.divide(1.0, q, where=q > 0, out=np.zeros_like(q))) @ Z
    return plain, spherical


def _reweighted(piece: Samples, frame: Frame, loss: Loss, M: Array) -> tuple[float, Array]:
    value, scatter = 0.0, np.zeros((piece.d, piece.d))
    for Z, w in frame.blocks(piece):
        q = _squares(Z, M)
        value += float(counted(loss(q), w).sum())
        scatter += (Z.T * counted(loss.slope(q), w)) @ Z
    return value, scatter


def _squares(Z: Array, M: Array | None) -> Array:
    """Of the rows' distances from zero, or from the subspace of M."""
    return np.einsum("ij,ij->i", Z, Z) if M is None else _residual_squares(Z, Z @ M, M)


def _residual_squares(Z: Array, Y: Array, M: Array) -> Array:
    if M.shape[0] == M.shape[1]:  # what rounding leaves of nothing is no residual
        return np.zeros(len(Z))
    residual = Z - Y @ M.T  # the difference of squares would lose small ones
    return np.einsum("ij,ij->i", residual, residual)


class ReconstructionPoint(ProjectedPoint):
    """phi = sum_i w_i g(q_i), q_i = ||x_i - My_i||^2 = ||x_i||^2 - ||y_i||^2 for orthonormal M.

    Slope -2 g' y and curvature -2 (g' dy + g'' dq y) with dq = -2 y'dy, a row a sample, times w_i.
    """

    def __init__(self, X: Array, M: Array, loss: Loss, w: Array | None = None) -> None:
        super().__init__(X, M)
        self._loss = loss
        self._w = w

    @once
    def q(self) -> Array:
        return _residual_squares(self.X, self.Y, self.M)

    @once
    def value(self) -> float:
        return float(np.add.reduce(counted(self._loss(self.q), self._w)))

    @once
    def _pull(self) -> Array:
        """w_i g'(q_i), the weights of reweighted pca."""
        return counted(self._loss.slope(self.q), self._w)

    @once
    def slope(self) -> Array:
        return -2.0 * self._pull[:, None] * self.Y

    def curvature(self, dY: Array) -> Array:
        dq = -2.0 * np.einsum("ij,ij->i", self.Y, dY)
        bend = counted(self._loss.curvature(self.q), self._w) * dq
        return -2.0 * (self._pull[:, None] * dY + bend[:, None] * self.Y)


@dataclass(frozen=True)
class Reconstruction(Projected):
    """Robust reconstruction of rows in memory on the Grassmann manifold."""

    loss: Loss

    def at(self, M: Array) -> ReconstructionPoint:
        return ReconstructionPoint(self.X, M, self.loss, self.w)

    @cached_property
    def _median(self) -> CentreRate:
        return CentreRate(self.X)

    def centre_rate(self, dX: Array) -> Array:
        return self._median.along(dX)

    def centre_pulled(self, v: Array) -> Array:
        return self._median.pulled(v)

    @property
    def follows(self) -> bool:
        """No row is at the centre, no threshold at its least."""
        assert isinstance(self.objective, RobustPCA)
        lengths, loss = np.sqrt(_squares(self.X, None)), self.loss
        least = self.objective.epsilon * median(lengths)
        held = isinstance(loss, Huber) and not loss.threshold > least
        return bool(lengths.min() > _NO_LENGTH * lengths.mean()) and not held

    @cached_property
    def _number(self) -> Array:
        """The derivative in the rows of e, or of the threshold."""
        objective, X = self.objective, self.X
        assert isinstance(objective, RobustPCA)
        if objective.loss == "huber":
            return np.zeros_like(X) if objective.threshold else of_median_distance(X, self.r)
        return objective.epsilon * of_median_length(X)

    def rate_at(self, point: ProjectedPoint, dX: Array) -> tuple[float, Array]:
        """q_i = ||x_i||^2 - ||y_i||^2 moves."""
        assert isinstance(point, ReconstructionPoint)
        q, loss = point.q, self.loss
        dq = 2.0 * np.einsum("ij,ij->i", self.X, dX)
        number = float(np.vdot(self._number, dX))
        of_value, of_slope = loss.of_number(q)
        value = float(loss.slope(q) @ dq) + number * float(of_value.sum())
        return value, -2.0 * (loss.curvature(q) * dq + number * of_slope)[:, None] * point.Y

    def pulled_at(self, point: ProjectedPoint, dY: Array) -> Array:
        assert isinstance(point, ReconstructionPoint)
        along = -2.0 * np.einsum("ij,ij->i", point.Y, dY)
        bent = 2.0 * along * self.loss.curvature(point.q)
        found: Array = bent[:, None] * self.X
        return found + float(along @ self.loss.of_number(point.q)[1]) * self._number


def heuristics(rows: MedianRows, loss: Loss, r: int) -> dict[str, Callable[[], Array]]:
    """pca, pca of the rows divided by their norms, and from there reweighted pca.

    Reweighted pca is that of sum_i g'(q_i) x_i x_i', again and again.
    """

    scatters = cache(rows.scatters)

    def pca() -> Array:
        return _directions(scatters()[0], r)

    @cache
    def spherical() -> Array:
        return _directions(scatters()[1], r)

    def reweighted() -> Array:
        M, least = spherical(), math.inf
        best = M
        for _ in range(rows.most_steps):
            value, scatter = rows.reweighted(loss, M)
            if value < least:
                best = M
            if least - value <= _SETTLED * value:
                break
            least, M = value, _directions(scatter, r)
        return best

    return {"reweighted pca": reweighted, "pca": pca, "spherical pca": spherical}


def _directions(scatter: Array, r: int) -> Array:
    return top_eigenvectors(scatter, r)[1]
