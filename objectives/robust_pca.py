"""Robust principal component analysis (PCA), and the geometric median as its centre.

The median minimises the sum of distances to the samples, which is convex. This sum is not
differentiable at a sample. The sample is the median if the gradient of the other terms is at most
as long as the number of samples at this point (Vardi and Zhang 2000).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from operator import add, itemgetter
from typing import NamedTuple, TypeAlias

import numpy as np

from ldr.objectives.data.data import Data, Samples
from ldr.objectives.families.projected import Projected, ProjectedPoint
from ldr.objectives.families.row_sum import (
    SAMPLE_ROWS,
    Frame,
    ProjectedTerm,
    RowSum,
    added,
    some_rows,
)
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import flag, number, word
from ldr.objectives.problem import BoundObjective, check_dimension
from ldr.objectives.statistics import moments
from ldr.objectives.statistics.scatters import KnownScatter
from ldr.objectives.statistics.sums import counted, counted_rows, median
from ldr.objectives.view import Compact, View
from ldr.solvers.errors import DataError
from ldr.solvers.linalg.eigen import in_cache, top_eigenvectors
from ldr.solvers.linalg.rounding import FACTOR_ROUNDING, VALUE_ROUNDING
from ldr.solvers.manifolds import Array, Grassmann

_EPS = float(np.finfo(float).eps)
# Iteration limits of the geometric median and of reweighted PCA; an iteration reads all rows.
_STEPS, _PASSES = 200, 10


@dataclass(frozen=True)
class Sphere(Frame):
    """Unit vectors from a centre to the rows; zero for a row at the centre."""

    def of(self, rows: Array) -> Array:
        Z = super().of(rows)
        lengths = np.linalg.norm(Z, axis=1, keepdims=True)
        return np.divide(Z, lengths, where=lengths > VALUE_ROUNDING, out=np.zeros_like(Z))


class Distances(NamedTuple):
    """Sums over the vectors u from a candidate for the median to the rows.

    - n, value: number (or weight) of rows, and sum of |u|
    - held: number of rows at the candidate, which are excluded from the sums
    - pull, weight, bend: sums of u/|u|, of 1/|u| and of uu'/|u|^3
    - nearest: 1/|u| of the row nearest to the candidate, and this row in the data's coordinates
    """

    n: float
    value: float
    held: float
    pull: Array
    weight: float
    bend: Array
    nearest: tuple[float, Array]

    @classmethod
    def of(cls, piece: Samples, frame: Frame) -> Distances:
        rows = piece.dense()
        U, w = frame.of(rows), np.ones(len(rows)) if piece.weights is None else piece.weights
        length = np.linalg.norm(U, axis=1)
        away = (length > VALUE_ROUNDING) & (w > 0)
        inverse = np.divide(1.0, length, where=away, out=np.zeros_like(length))
        first = int(np.argmax(inverse))
        return cls(
            float(w.sum()),
            float(w @ length),
            float(w[~away].sum()),
            (w * inverse) @ U,
            float(w @ inverse),
            (U.T * (w * inverse**3)) @ U,
            (float(inverse[first]), rows[first].copy()),
        )

    def merge(self, other: Distances) -> Distances:
        sums = map(add, self[:-1], other[:-1])
        return Distances._make([*sums, max(self.nearest, other.nearest, key=itemgetter(0))])

    def gradient(self) -> float:
        """Return the length of the shortest subgradient."""
        return max(0.0, float(np.linalg.norm(self.pull)) - self.held)

    def rounding(self, frame: Frame) -> float:
        """Bound the gradient's rounding error."""
        place = float(np.linalg.norm(frame.centre / frame.length))
        return _EPS * (4.0 * self.n + self.weight * place)

    def candidates(self, frame: Frame) -> Iterator[Array]:
        """Yield points that may lower the sum; the last one does so except at the median.

        The candidates are the points of Newton's step, the nearest row, and Weiszfeld's step,
        shortened at a row as by Vardi and Zhang.
        """
        if not self.held:
            hessian = self.weight * np.eye(len(self.pull)) - self.bend
            yield frame.centre + frame.length * np.linalg.lstsq(hessian, self.pull, rcond=None)[0]
            yield self.nearest[1]
        share = self.gradient() / float(np.linalg.norm(self.pull))
        yield frame.centre + frame.length * (share / self.weight * self.pull)


def geometric_median(samples: Samples, frame: Frame) -> tuple[Array, list[str]]:
    """Return the geometric median of the rows, and a message if not converged.

    Newton's method starts from the medians of the columns, for many rows those of a sample. A step
    that raises the sum of distances is replaced by another candidate. For rows in files each step
    takes one pass over the rows.
    """

    def seen(centre: Array) -> tuple[Frame, Distances]:
        moved = Frame(centre, frame.length)
        return moved, samples.reduce(partial(Distances.of, frame=moved), Distances.merge)

    some = some_rows(samples, SAMPLE_ROWS)
    here, sums = seen(np.array([median(x, some.weights) for x in some.dense().T]))
    passes = 1
    while sums.gradient() > sums.rounding(here) and passes < _STEPS:
        most = sums.value * (1 + 1e-13)  # a margin for rounding errors in the sum
        for candidate in sums.candidates(here):
            there, found = seen(candidate)
            passes += 1
            if found.value <= most:
                break
        here, sums = there, found
    if sums.gradient() <= sums.rounding(here):
        return here.centre, []
    return here.centre, [
        f"the geometric median has not converged in {passes} passes: the gradient of the mean "
        f"distance is {sums.gradient() / sums.n:.1e}, its error {sums.rounding(here) / sums.n:.1e}"
    ]


# Concave loss: a function of squared distances q that returns g(q), g'(q) and g''(q). Because g is
# concave, PCA with the weights g'(q) does not increase the sum of the losses.
Loss: TypeAlias = Callable[[Array], tuple[Array, Array, Array]]


@dataclass(frozen=True)
class RoundedDistance:
    """Smoothed distance sqrt(q + e^2) - e for the squared distance q, without cancellation."""

    rounding: float

    def __call__(self, q: Array) -> tuple[Array, Array, Array]:
        root = np.sqrt(q + self.rounding**2)
        return q / (root + self.rounding), 0.5 / root, -0.25 / (root * root * root)


@dataclass(frozen=True)
class Huber:
    """Huber's loss of the squared distance q: q/2 for q <= c^2, else c sqrt(q) - c^2/2."""

    threshold: float

    def __call__(self, q: Array) -> tuple[Array, Array, Array]:
        c, t = self.threshold, np.sqrt(q)
        inside, outside = np.minimum(t, c), np.maximum(t, c)
        curvature = np.where(t > c, -0.25 * c / (outside * outside * outside), 0.0)
        return inside * (t - 0.5 * inside), 0.5 * c / outside, curvature


LOSSES = ("l1", "huber")

CENTRED = "the data are centred at their geometric median"


IN_PIECES = (
    "the rows are read at every evaluation; the baseline is at most "
    f"{_PASSES} steps of reweighted pca"
)


@dataclass(frozen=True)
class RobustPCA(Objective, weighted=True, sparse=False):
    r"""Robust principal component analysis (PCA), by a loss of the residuals' lengths.

    .. math:: \min_{M'M=I} \sum_i \rho(\|x_i - MM'x_i\|)

    The loss rho is the smoothed distance sqrt(t^2 + e^2) - e, or Huber's loss, t^2/2 up to a
    threshold and linear for larger t. The data are centred at the geometric median, the point with
    the least sum of distances, because outliers affect the mean. P = M'. Local optima exist.

    With sphere=True each sample is divided by its distance from the centre, so that only directions
    matter. With sphere=False the influence of an outlier is proportional to its distance instead of
    the squared distance. Many outliers in one direction, or 2 % of the samples at 500 times the
    distance of the others, still determine the result.

    An evaluation takes O(ndr) time; for samples in a file or on a cluster an evaluation is one
    pass. The baseline is iteratively reweighted PCA, which starts from spherical PCA (of the
    samples' directions) and takes O(nd^2 + d^3) time per step. Every step of the baseline's
    iteration lowers the value, so that the baseline is often optimal.

    Use it instead of pca if some samples are outliers. Do not use it without outliers, because pca
    is exact and certified. Remove clusters of outliers first: clusters also affect the median.

    Source: Ding, Zhou, He & Zha 2006; Huber 1964; Locantore et al. 1999 (spherical PCA).

    Parameters
    ----------
    loss : {"l1", "huber"}
        Loss rho of distances: smoothed absolute value ("l1"), or Huber's loss.
    epsilon : float
        Constant e of the loss "l1", relative to the median distance of the samples from the centre.
    threshold : float, optional
        Threshold of Huber's loss, a distance of samples, which are unit vectors if sphere=True. The
        default is the median distance of the samples from the subspace of spherical PCA.
    sphere : bool
        True to divide samples by their distances from the centre, excluding samples at the centre.
    """

    name = "robust-pca"
    sense = "min"
    baseline = "iteratively reweighted pca"

    loss: str = word("l1", LOSSES)
    epsilon: float = number(1e-3, positive=True)
    threshold: float | None = number(None, optional=True, positive=True)
    sphere: bool = flag(False)

    def bind(self, data: Data, r: int) -> BoundObjective:
        rows = MedianRows.of(data.samples, r)
        if self.sphere:
            rows = replace(rows, frame=Sphere(rows.frame.centre, rows.frame.length))
        length = 1.0 if self.sphere else rows.frame.length
        loss = self._loss(rows, r, length)
        unit = length if self.loss == "l1" else length**2
        starts = heuristics(rows, loss, r)
        if not data.samples.in_pieces:
            return Reconstruction(
                self,
                (rows.view,),
                rows.frame.of(rows.samples.dense()),
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
            ProjectedTerm(rows.frame, partial(ReconstructionPoint, loss=loss)),
            heuristics=starts,
            unit=unit,
        )

    def _loss(self, rows: MedianRows, r: int, length: float) -> Loss:
        """rho, from the rows' distances from the centre and from a typical residual.

        - length: the unit of the distances
        """
        lengths, w = rows.distances(), rows.samples.weights
        typical, mean = median(lengths, w), float(np.average(lengths, weights=w))
        rounding = self.epsilon * (typical if typical > FACTOR_ROUNDING * mean else mean)
        if self.loss == "l1":
            return RoundedDistance(rounding)
        threshold = (self.threshold or 0.0) / length
        if not threshold:
            threshold = median(rows.distances(top_eigenvectors(rows.scatters()[1], r)[1]), w)
        return Huber(max(threshold, rounding))


@dataclass(frozen=True)
class MedianRows:
    """The rows minus the geometric median, divided by a power of two near their length.

    - frame: the map from samples to these rows
    """

    samples: Samples
    frame: Frame
    view: View

    @classmethod
    def of(cls, samples: Samples, r: int) -> MedianRows:
        compact = Compact.of(samples)
        rows, stats = compact.rows, moments(compact.rows)
        check_dimension(r, rows.d)
        square = float(stats.covariance.trace())
        if square == 0:
            raise DataError("all rows of X are equal, expected rows that differ")
        length = 2.0 ** round(0.5 * math.log2(square))
        centre, notes = geometric_median(rows, Frame(stats.mean, length))
        view = compact.view(centre, KnownScatter(stats.scatter, stats.n))
        notes = [IN_PIECES, CENTRED, *notes] if rows.in_pieces else [CENTRED, *notes]
        return cls(rows, Frame(centre, length), replace(view, centre="median").noting(*notes))

    def distances(self, M: Array | None = None) -> Array:
        """Return the n distances of the rows from the centre, or from the subspace of M."""
        term = partial(_distances, frame=self.frame, M=M)
        return np.concatenate(self.samples.reduce(term, add))

    def scatters(self) -> tuple[Array, Array]:
        """Return the scatter of the rows and that of the rows scaled to length 1, by one pass."""
        return self.samples.reduce(partial(_scatters, frame=self.frame), added)

    def reweighted(self, loss: Loss, M: Array) -> tuple[float, Array]:
        """Return the value at M and the scatter of rows with weights g'(q), the loss's slope."""
        term = partial(_reweighted, frame=self.frame, loss=loss, M=M)
        return self.samples.reduce(term, added)


def _distances(piece: Samples, frame: Frame, M: Array | None) -> list[Array]:
    return [np.sqrt(_squares(frame.of(piece.dense()), M))]


def _scatters(piece: Samples, frame: Frame) -> tuple[Array, Array]:
    Z = frame.of(piece.dense())
    q, WZ = _squares(Z, None), counted_rows(Z, piece.weights)
    spherical = (WZ.T * np.divide(1.0, q, where=q > 0, out=np.zeros_like(q))) @ Z
    return WZ.T @ Z, spherical


def _reweighted(piece: Samples, frame: Frame, loss: Loss, M: Array) -> tuple[float, Array]:
    Z, w = frame.of(piece.dense()), piece.weights
    losses, slopes, _ = loss(_squares(Z, M))
    return float(counted(losses, w).sum()), (Z.T * counted(slopes, w)) @ Z


def _squares(Z: Array, M: Array | None, Y: Array | None = None) -> Array:
    """Return squared distances of the rows from zero, or from the subspace of M."""
    if M is None:
        return np.einsum("ij,ij->i", Z, Z)
    if M.shape[0] == M.shape[1]:  # a square M spans the whole space, so that distances are zero
        return np.zeros(len(Z))
    squares = np.empty(len(Z))
    for rows in in_cache(Z, M):
        # The residual itself has no cancellation, unlike a difference of squared lengths.
        residual = Z[rows] - (Z[rows] @ M if Y is None else Y[rows]) @ M.T
        np.einsum("ij,ij->i", residual, residual, out=squares[rows])
    return squares


class ReconstructionPoint(ProjectedPoint):
    """The value is phi = sum_i w_i g(q_i), q_i = ||x_i - My_i||^2 = ||x_i||^2 - ||y_i||^2.

    For a row y the gradient is -2 w_i g' y, its derivative -2 w_i (g' dy + g'' dq y), dq = -2 y'dy.
    """

    def __init__(self, X: Array, M: Array, loss: Loss, w: Array | None = None) -> None:
        super().__init__(X, M)
        losses = loss(_squares(X, M, self.Y))
        self._values, self._pull, self._bend = (counted(each, w) for each in losses)

    @property
    def value(self) -> float:
        return float(np.add.reduce(self._values))

    @property
    def slope(self) -> Array:
        return -2.0 * self._pull[:, None] * self.Y

    def curvature(self, dY: Array) -> Array:
        dq = -2.0 * np.einsum("ij,ij->i", self.Y, dY)
        return -2.0 * (self._pull[:, None] * dY + (self._bend * dq)[:, None] * self.Y)


@dataclass(frozen=True)
class Reconstruction(Projected):
    """Problem of the robust reconstruction of rows in memory, on the Grassmann manifold."""

    loss: Loss

    def at(self, M: Array) -> ReconstructionPoint:
        return ReconstructionPoint(self.X, M, self.loss, self.w)

    @property
    def follows(self) -> bool:
        """False, because the centre and a parameter of the loss are medians of the rows."""
        return False


def heuristics(rows: MedianRows, loss: Loss, r: int) -> dict[str, Callable[[], Array]]:
    """Return starts: PCA, and reweighted PCA from spherical PCA.

    Reweighted PCA repeats PCA of sum_i g'(q_i) x_i x_i'.
    """

    scatters = cache(rows.scatters)

    def reweighted() -> Array:
        M, least = top_eigenvectors(scatters()[1], r)[1], math.inf
        best = M
        for _ in range(_PASSES if rows.samples.in_pieces else _STEPS):
            value, scatter = rows.reweighted(loss, M)
            if value < least:
                best = M
            if least - value <= 1e-9 * value:  # an initial point needs no higher accuracy
                break
            least, M = value, top_eigenvectors(scatter, r)[1]
        return best

    return {
        "reweighted pca": reweighted,
        "pca": lambda: top_eigenvectors(scatters()[0], r)[1],
    }
