"""Classical multidimensional scaling."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldr.objectives.coordinates import Columns
from ldr.objectives.families.trace import Trace
from ldr.objectives.features import HalfSquaredDistances
from ldr.objectives.kernels import centred_gram
from ldr.objectives.objective import Compact, Data, Objective
from ldr.objectives.samples import Samples, check_squares
from ldr.objectives.statistics import moments
from ldr.solvers.errors import ArgumentError, DataError
from ldr.solvers.linalg.eigen import rank_tolerance
from ldr.solvers.manifolds import Array


@dataclass(frozen=True)
class MDS(Objective):
    """Keep the distances large: max sum_ij ||M'(x_i - x_j)||^2 over orthonormal M.

    It is 2 n^2 tr(M'CM): the span, and the scores up to an orthogonal matrix, are those of PCA.
    P = M'.

    Source: Torgerson 1952; Cunningham and Ghahramani 2015, section 3.1.2.
    """

    name = "mds"
    formula = "max sum_ij ||M'(x_i - x_j)||^2 = 2 n^2 tr(M'CM)"
    source = "Torgerson 1952; Cunningham & Ghahramani 2015, 3.1.2"
    sense = "max"
    baseline = "top eigenvectors of the covariance"
    exact = "yes"
    from_sums = True

    def bind(self, data: Data, r: int) -> Trace:
        compact = Compact.of(data.samples)
        stats = moments(compact.rows)
        return Trace(
            self,
            (compact.mean(stats.mean),),
            stats.scatter,
            r,
            scale=2.0 * stats.n,
            coordinates=(compact.coordinates,),
        )


@dataclass(frozen=True)
class DistanceMDS(Objective):
    """Classical multidimensional scaling of distances: X is the n x n matrix of d(i, j).

    B = -1/2 J D2 J with D2 the squared distances and J = I - 11'/n is the Gram matrix of the
    centred points if the distances are Euclidean; negative eigenvalues, which say that they are
    not, are counted in the notes. M spans its top eigenvectors, max 2n tr(M'BM), the sum of squared
    distances of the scores. P = (M'BM)^{-1/2} M' is applied to -D2/2, so that `transform` gives the
    scores B M (M'BM)^{-1/2} of the points and, from their distances to the n points, of new ones.

    Source: Torgerson 1952; Gower 1968 for new points.
    """

    name = "mds-distances"
    formula = "max 2n tr(M'BM), B = -J D2 J / 2"
    source = "Torgerson 1952; Gower 1968"
    sense = "max"
    needs = ("distances",)
    baseline = "top eigenvectors of B"
    sparse = False
    transposed = False
    exact = "yes"

    def bind(self, data: Data, r: int) -> ClassicalScaling:
        features = HalfSquaredDistances()
        half = features(_checked(data.samples)).dense()
        B = centred_gram(half)
        eigenvalues = np.asarray(np.linalg.eigvalsh(B), dtype=np.float64)
        floor = rank_tolerance(len(B)) * float(np.abs(eigenvalues).max())
        positive = int(np.sum(eigenvalues > floor))
        if r > positive:
            raise ArgumentError(
                f"r = {r} is too large: B = -J D2 J / 2 has {positive} positive eigenvalues, "
                f"expected r <= {positive}"
            )
        return ClassicalScaling(
            self,
            (half.mean(axis=0),),
            B,
            r,
            scale=2.0 * len(B),
            coordinates=(Columns(),),
            features=(features,),
            notes=_negative(eigenvalues, floor),
        )


class ClassicalScaling(Trace):
    """Trace of B whose map gives the points of the distances."""

    def maps(self, M: Array) -> tuple[Array, ...]:
        values, Q = np.linalg.eigh(self.compressed(M))
        return ((Q / np.sqrt(np.maximum(values, np.finfo(float).tiny))) @ Q.T @ M.T,)


def _checked(samples: Samples) -> Samples:
    """A matrix of distances: square, symmetric, not negative, zero on the diagonal."""
    D = samples.dense()
    check_squares(samples)
    if samples.n != samples.d:
        raise DataError(f"X has shape {samples.shape}, expected an n x n matrix of distances")
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
        f"the distances are not Euclidean: B has {len(negative)} negative eigenvalues, the least "
        f"{negative[0]:.3g}, together {share:.1%} of the absolute spectrum"
    ]
