"""Multidimensional scaling (MDS): classical, of a distance matrix, and by stress."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cache, cached_property

import numpy as np

from ldr.objectives.data import memory
from ldr.objectives.data.data import Data, Samples
from ldr.objectives.families.matrices import DataSums, TraceMatrices
from ldr.objectives.families.pairwise import Pairwise, PairwisePoint, Told, in_batches, laplacian
from ldr.objectives.families.projected import Change, DenseRows, ProjectedPoint
from ldr.objectives.families.trace import Trace
from ldr.objectives.kernel import centred_gram
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need, number, word
from ldr.objectives.problem import BoundObjective
from ldr.objectives.starts import principal_directions
from ldr.objectives.statistics import moments
from ldr.objectives.statistics.sums import typical_length, weighted
from ldr.objectives.view import Compact, HalfSquaredDistances, View
from ldr.solvers.errors import ArgumentError, DataError
from ldr.solvers.linalg.eigen import rank_tolerance
from ldr.solvers.manifolds import Array


@dataclass(frozen=True)
class MDS(Objective, weighted=True, from_sums=True, rule="parallel analysis"):
    r"""Multidimensional scaling (MDS) of samples, by a linear map.

    .. math:: \max_{M'M=I} \sum_{ij} \|M'(x_i - x_j)\|^2

    The value is 2 n^2 tr(M'CM) with the covariance C: the span of M, and the scores up to an
    orthogonal matrix, are those of pca. P = M'.

    Use it to preserve inner products of the samples; pca gives the same map. Do not use it if only
    distances are known: take mds-distances. To preserve distances take mds-stress.

    Source: Torgerson 1952; Cunningham & Ghahramani 2015, 3.1.2.
    """

    name = "mds"
    sense = "max"
    baseline = "top eigenvectors of the covariance"
    exact = "yes"

    def bind(self, data: Data, r: int) -> Trace:
        compact = Compact.of(data.samples, quiet=True)
        stats = moments(compact.rows)
        view = compact.view_of(stats)
        return Trace(self, (view,), stats.scatter, r, 2.0 * stats.n)

    def matrices(self, data: DataSums) -> TraceMatrices:
        return TraceMatrices(data.rows.scatter(), 2.0 * data.rows.n)


@dataclass(frozen=True)
class DistanceMDS(Objective, weighted=True, by_place=True, sparse=False, transposed=False):
    r"""Classical multidimensional scaling (MDS) of a distance matrix.

    .. math:: \max_{M'M=I} 2n \operatorname{tr}(M'BM), \quad B = -\frac{1}{2} J D^{(2)} J

    X is the n x n matrix of distances d(i, j), D^(2) contains their squares, and J = I - 11'/n. If
    the distances are Euclidean, B is the Gram matrix of the centred points. Negative eigenvalues of
    B show that distances are not Euclidean; a message reports such eigenvalues. The columns of M
    span the top eigenvectors of B; the value is the sum of squared distances of the scores. The map
    P = (M'BM)^{-1/2} M', with the matrix B of the formula, is applied to squared distances times
    -1/2. The method `transform` returns the scores of the n points, or of new points from their
    distances to the n points. With sample weights w, rows and columns of B are centred about the
    weighted mean and multiplied by sqrt(w), and the sum of the weights replaces n.

    Use it when only distances between samples are known. Do not use it if features are known,
    because no map from features to coordinates results: take mds or mds-stress.

    Source: Torgerson 1952; Gower 1968 (new points).
    """

    name = "mds-distances"
    sense = "max"
    needs = (Need.DISTANCES,)
    baseline = "top eigenvectors of B"
    exact = "yes"

    def bind(self, data: Data, r: int) -> ClassicalScaling:
        features = HalfSquaredDistances()
        half, weights = features(_checked(data.samples)).dense(), data.samples.weights
        root = np.ones(len(half)) if weights is None else np.sqrt(weights)
        B = centred_gram(half, weights)
        B *= root * root[:, None]
        eigenvalues = np.asarray(np.linalg.eigvalsh(B), dtype=np.float64)
        floor = rank_tolerance(len(B)) * float(np.abs(eigenvalues).max())
        positive = int(np.sum(eigenvalues > floor))
        if r > positive:
            raise ArgumentError(
                f"r = {r} is too large: B = -J D2 J / 2, of squared distances D2, has {positive} "
                f"positive eigenvalues, expected r <= {positive}"
            )
        view = View(np.average(half, axis=0, weights=weights), features=features)
        return ClassicalScaling(
            self,
            (view.noting(*_negative(eigenvalues, floor)),),
            B,
            r,
            scale=2.0 * data.samples.weight,
            root=root,
        )


@dataclass(frozen=True)
class ClassicalScaling(Trace):
    """Trace of B, with a map that reconstructs points from distances.

    - root (n,): square roots of the weights
    """

    plain = False

    root: Array = field(kw_only=True)

    def maps(self, M: Array) -> tuple[Array, ...]:
        values, Q = np.linalg.eigh(self.compressed(M))
        floor = np.finfo(float).tiny
        return ((Q / np.sqrt(np.maximum(values, floor))) @ Q.T @ (self.root * M.T),)


def _checked(samples: Samples) -> Samples:
    """Check that distances are square, symmetric, nonnegative and zero on the diagonal."""
    D = samples.dense()
    memory.check_squares(samples)
    if samples.n != samples.d:
        raise DataError(f"X has shape {samples.shape}, expected a square matrix of distances")
    size = float(np.abs(D).max())
    if (D < 0).any():
        raise DataError("X has negative entries, expected distances")
    if np.abs(D - D.T).max() > 1e-10 * size:
        raise DataError("X is not symmetric, expected distances d(i, j) = d(j, i)")
    if np.abs(np.diag(D)).max() > 1e-10 * size:
        raise DataError("X has a diagonal that is not zero, expected distances d(i, i) = 0")
    return samples


def _negative(eigenvalues: Array, floor: float) -> list[str]:
    negative = eigenvalues[eigenvalues < -floor]
    if len(negative) == 0:
        return []
    share = float(-negative.sum() / np.abs(eigenvalues).sum())
    return [
        f"the distances are not Euclidean: B has {len(negative)} negative eigenvalues, the "
        f"smallest {negative[0]:.3g}; they are {share:.1%} of the sum of absolute values"
    ]


WEIGHTS = ("none", "sammon")


@dataclass(frozen=True)
class MDSStress(Objective, weighted=True, by_pairs=True, sparse=False):
    r"""Metric multidimensional scaling (MDS) by least stress, with a linear map.

    .. math:: \min_{M'M=I} \sum_{ij} w_{ij} \left(\|x_i - x_j\| - \|M'(x_i - x_j)\|\right)^2

    The weights w_ij of pairs are 1, or 1/||x_i - x_j|| for Sammon's mapping, whose stress is the
    value divided by the sum of the distances. Distances are not smooth at zero. Each distance t
    between samples or between projected samples is therefore replaced by sqrt(t^2 + e^2) with a
    small constant e. P = M'. The stress has local optima in general. The distances between samples
    take O(n^2 d) time once and O(n^2) memory. An evaluation takes O(n^2 r) time. For n > 5792 no
    distances are stored: an evaluation takes O(n^2 d) time, and O(n (d + r)) memory.

    Use it to preserve distances between samples. Do not use it with many samples, because each
    evaluation computes all pairs.

    Source: Kruskal 1964; Sammon 1969; Cunningham & Ghahramani 2015, 3.1.2.

    Parameters
    ----------
    weights : {"none", "sammon"}
        Weights w_ij of pairs: 1 for "none", 1/||x_i - x_j|| for "sammon".
    epsilon : float
        Constant e in sqrt(t^2 + e^2), relative to the rows' root mean square distance.
    """

    name = "mds-stress"
    sense = "min"
    baseline = "pca"

    weights: str = word("none", WEIGHTS)
    epsilon: float = number(1e-3, positive=True)

    def bind(self, data: Data, r: int) -> BoundObjective:
        if data.samples.in_pieces:
            return in_batches(self, data, r)
        rows = DenseRows.centred(data, self)
        length = typical_length(rows.X)
        X = rows.X / length
        spread = float(np.sqrt(np.average(np.sum(X**2, axis=1), weights=rows.weights)))
        return Stress(
            self,
            (rows.view,),
            X,
            r,
            w=rows.weights,
            smoothing=self.epsilon * spread,
            sammon=self.weights == "sammon",
            unit=length if self.weights == "sammon" else length**2,
        )


class StressPoint(PairwisePoint):
    """The stress is phi = sum_ij w_ij (s_ij - d_ij)^2 with s_ij = sqrt(D_ij + e^2) for projected
    distances, and d_ij likewise for those of X.

    The derivative of phi in D is W = w (1 - d/s), and dW = w d/(2 s^3) dD. Weights w_i of samples
    multiply w_ij by w_i w_j.
    """

    symmetric = True
    _problem: Stress

    def _lengths(self, rows: slice, D: Array) -> tuple[Array, Array]:
        """d and s."""
        D += self._problem.smoothing**2
        return self._problem.distances(rows, self.columns(rows)), np.sqrt(D, out=D)

    def _counted(self, rows: slice, W: Array, d: Array) -> Array:
        """W, which may be overwritten, times w_ij and the weights of both rows."""
        w = self._problem.w
        W = self.twice(W / d if self._problem.sammon else W)
        return W if w is None else np.multiply(W * w[self.columns(rows)], w[rows, None], out=W)

    def pairs(self, rows: slice, D: Array) -> Told:
        d, s = self._lengths(rows, D)
        residual = s - d
        W = self._counted(rows, residual.copy(), d)
        value = float(np.vdot(W, residual))
        rate = cache(lambda: self._counted(rows, 0.5 * d / (s * s * s), d))
        return value, np.divide(W, s, out=W), lambda dD: np.multiply(dD, rate(), out=dD)

    def changes(self, rows: slice) -> tuple[Array, Array, Array, Array]:
        """Return derivatives of phi and W in d^2 (distances of X) and s^2 (projected distances)."""
        d, s = self._lengths(rows, self.squares(rows))
        own = (1.0 - d / s) / d if self._problem.sammon else np.zeros_like(d)
        of_value, of_s = -(s - d) / d - 0.5 * own * s * (s - d) / d, 0.5 * d / s**3
        of_d = -0.5 * (1.0 / s + own) / d
        told = [self._counted(rows, each, d) for each in (of_value, 1.0 - d / s, of_d, of_s)]
        return told[0], told[1], told[2], told[3]


@dataclass(frozen=True)
class Stress(Pairwise):
    """Problem of the stress on the Grassmann manifold.

    - smoothing: the constant e
    - sammon: True if w_ij = 1/d_ij
    """

    smoothing: float = 0.0
    sammon: bool = False

    @cached_property
    def _kept(self) -> Array | None:
        few = 8 * len(self.X) ** 2 <= memory.SMALL  # more distances are computed when needed
        return self._measured(slice(None), slice(None)) if few else None

    def on(self, rows: Array, *, w: Array | None) -> Stress:
        """Return the problem of new rows."""
        length = self.unit if self.sammon else math.sqrt(self.unit)
        return replace(self, X=(rows - self.views[0].mean) / length, w=w)

    def _measured(self, rows: slice, columns: slice) -> Array:
        from scipy.spatial.distance import cdist

        d = cdist(self.X[rows], self.X[columns], "sqeuclidean")
        d += self.smoothing**2
        return np.sqrt(d, out=d)

    def distances(self, rows: slice, columns: slice) -> Array:
        """Return the smoothed distances d of the samples for slices of rows and columns."""
        kept = self._kept
        return self._measured(rows, columns) if kept is None else kept[rows, columns]

    def at(self, M: Array) -> StressPoint:
        return StressPoint(self, M, self.row_blocks)

    def rate_at(self, point: ProjectedPoint, dX: Array) -> tuple[float, Array]:
        assert isinstance(point, StressPoint)
        change = Change(self.X, dX)
        of_square = 2.0 * self._of_smoothing(float(np.vdot(self.X, dX)))
        value, products = 0.0, np.zeros_like(point.Y1)
        for rows in self.row_blocks:
            columns = point.columns(rows)
            dd = change.of_squares(rows, columns) + of_square
            of_value, W, of_d, of_s = point.changes(rows)
            value += float(np.vdot(of_value, dd)) + of_square * float(W.sum())
            point.add_products(products, of_d * dd + of_square * of_s, rows, point.Y1)
        return value, 2.0 * laplacian(products, point.Y1)

    def pulled_at(self, point: ProjectedPoint, dY: Array) -> Array:
        assert isinstance(point, StressPoint)
        X1 = np.column_stack([self.X, np.ones(len(self.X))])
        change, of_square, products = Change(point.Y, dY), 0.0, np.zeros_like(X1)
        for rows in self.row_blocks:
            dD = change.of_squares(rows, point.columns(rows))
            _, _, of_d, of_s = point.changes(rows)
            point.add_products(products, of_d * dD, rows, X1)
            of_square += float(np.vdot(of_d + of_s, dD))
        return 2.0 * (laplacian(products, X1) + self._of_smoothing(of_square) * self.X)

    def _of_smoothing(self, share: float) -> float:
        """Return the factor of e^2, a multiple of tr X'X, in derivatives."""
        return share * self.smoothing**2 / float(np.vdot(self.X, self.X))

    def baseline(self) -> Array:
        return principal_directions(weighted(self.X, self.w), self.r)
