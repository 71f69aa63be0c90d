"""Principal component analysis (PCA): the trace or the determinant of M'CM."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ldr.objectives.data.data import Data
from ldr.objectives.families.matrices import DataSums, DeterminantMatrix, TraceMatrices
from ldr.objectives.families.trace import Trace
from ldr.objectives.objective import Objective
from ldr.objectives.problem import PROVED_GLOBAL, BoundObjective, Certificate, check_dimension
from ldr.objectives.statistics import moments
from ldr.objectives.statistics.covariance import CovarianceOperator
from ldr.objectives.view import Compact, Range, View
from ldr.solvers.errors import SingularError
from ldr.solvers.linalg.eigen import power_of_two, top_eigenvectors
from ldr.solvers.manifolds import Array, Grassmann, polar_factor
from ldr.solvers.problem import Point


class LogDeterminantPoint(Point):
    """The value is f = -log|Phi| with Phi = M'CM, and the gradient is -2 CM Phi^{-1}.

    The Hessian product is -2 (CV - CM Phi^{-1} dPhi) Phi^{-1} with dPhi = V'CM + M'CV.
    """

    def __init__(self, problem: LogDeterminant, M: Array) -> None:
        self.M = M
        self._problem = problem
        self._CM = problem.C @ M
        Phi = M.T @ self._CM
        self._Phi = 0.5 * (Phi + Phi.T)

    @cached_property
    def value(self) -> float:
        sign, logarithm = np.linalg.slogdet(self._Phi)
        return -float(logarithm) - self._problem.offset if sign > 0 else math.inf

    def _divided(self, Z: Array) -> Array:
        """Z Phi^{-1}; of a singular Phi there is none."""
        if not math.isfinite(self.value):
            return np.full_like(Z, np.nan)
        return np.asarray(np.linalg.solve(self._Phi, Z.T).T, dtype=np.float64)

    @cached_property
    def gradient(self) -> Array:
        return -2.0 * self._divided(self._CM)

    def hessian_vector(self, V: Array) -> Array:
        CV = self._problem.C @ V
        MCV = self.M.T @ CV
        return -2.0 * self._divided(CV) - self._divided(self.gradient @ (MCV + MCV.T))


@dataclass(frozen=True)
class LogDeterminant(BoundObjective):
    """Maximise log|M'CM| on the Grassmann manifold; eigenvectors are the exact solution."""

    C: Array
    r: int
    offset: float = field(init=False)

    def __post_init__(self) -> None:
        check_dimension(self.r, len(self.C))
        size = power_of_two(self.C)
        vars(self).update(C=(self.C + self.C.T) * (0.5 / size), offset=self.r * math.log(size))

    @cached_property
    def manifold(self) -> Grassmann:  # type: ignore[override]
        return Grassmann(len(self.C), self.r)

    def at(self, M: Array) -> LogDeterminantPoint:
        return LogDeterminantPoint(self, M)

    @cached_property
    def _eigen(self) -> tuple[Array, Array]:
        return top_eigenvectors(self.C, self.r)

    @cached_property
    def _optimum(self) -> Array:
        M = polar_factor(self._eigen[1])
        if not math.isfinite(self.value(M)):
            raise SingularError(
                f"the determinant of the projected covariance is zero to rounding, r = {self.r}. "
                "The columns have very different units: divide X by its standard deviations"
            )
        return M

    def baseline(self) -> Array:
        return self._optimum

    def closed_form(self) -> Array:
        return self._optimum

    def certificate(self, M: Array) -> Certificate:
        """Bound the optimality gap by the sum of the logarithms of C's r largest eigenvalues.

        Computed eigenvalues of C and of M'CM have errors of at most k eps times the largest.
        """
        largest = self._eigen[0]
        error = 4 * len(self.C) * float(np.finfo(float).eps) * float(largest[0])
        least = np.linalg.eigvalsh(M.T @ self.C @ M) - error
        if least[0] <= 0:
            return Certificate("none", math.inf, "M'CM is singular to rounding")
        gap = float(np.log(largest + error).sum() - np.log(least).sum())
        return Certificate.of_gap(
            gap,
            PROVED_GLOBAL * self.r,
            "M spans a top eigenspace of C",
            "the r largest eigenvalues of C bound the determinant of M'CM",
        )


@dataclass(frozen=True)
class PrincipalMethod(Objective, from_sums=True, rule="parallel analysis"):
    """Base of the methods solved by the covariance's leading eigenvectors."""

    baseline = "top eigenvectors of the covariance"
    exact = "yes"


@dataclass(frozen=True)
class PCA(PrincipalMethod, weighted=True, stacks=True):
    r"""Principal component analysis (PCA).

    .. math:: \min_{M'M=I} \sum_i \|x_i - MM'x_i\|^2

    With C = X'X/n of the centred X the value is n (tr C - tr(M'CM)): the r leading eigenvectors of
    C are the global optimum. P = M'.

    Use it for a first look at any data, and as a step before another method. Features in different
    units should be divided by their standard deviations first. Do not use it for variation related
    to labels, a response or time, as such variation need not have large variance. Do not use it
    with outliers, because a single one can change the result: take robust-pca.

    Source: Pearson 1901; Cunningham & Ghahramani 2015, 3.1.1.
    """

    name = "pca"
    sense = "min"

    def order(self, data: Data) -> int:
        return 0 if CovarianceOperator.worthwhile(data.samples, 1) else super().order(data)

    def bind(self, data: Data, r: int) -> Trace:
        if CovarianceOperator.worthwhile(data.samples, r):
            C = CovarianceOperator.of(data.samples)
            n = data.samples.weight
            return Trace(self, (View(C.mean, scatter=C),), C, r, n, n * C.trace, is_square=True)
        compact = Compact.of(data.samples, quiet=True)
        stats = moments(compact.rows)
        view = compact.view_of(stats)
        total = float(stats.scatter.trace())
        return Trace(self, (view,), stats.covariance, r, stats.n, total, is_square=True)

    def matrices(self, data: DataSums) -> TraceMatrices:
        n = data.rows.n
        return TraceMatrices(data.rows.scatter() / n, n, residual=True)


@dataclass(frozen=True)
class LogDetPCA(PrincipalMethod, weighted=True):
    r"""Log-determinant principal component analysis (PCA).

    .. math:: \max_{M'M=I} \log |M'CM|

    For Gaussian data the value is, up to a constant, twice the entropy of the projection M'x. The
    optimal M also maximises the mutual information of x and of M'x + noise, in the limit of small
    noise. The eigenvalues of M'CM interlace with the eigenvalues of C. The r leading eigenvectors
    of C, the solution of pca, are therefore the global optimum. If C is singular, M is restricted
    to the range of C. P = M'. The cost is O(nd^2) once and O(d^2 r) per evaluation.

    Use it instead of pca if the entropy of Gaussian data is of interest, not the sum of variances.
    Do not use it to find other directions than pca, because the optimum is the same.

    Source: Linsker 1988; Burges 2010, 3.
    """

    name = "log-det-pca"
    sense = "max"

    def bind(self, data: Data, r: int) -> LogDeterminant:
        compact = Compact.of(data.samples)
        stats = moments(compact.rows)
        kept = Range.of(stats.covariance, compact.coordinates, "the covariance")
        view = compact.view_of(stats).within(kept)
        return LogDeterminant(self, (view,), kept(stats.covariance), r)

    def matrices(self, data: DataSums) -> DeterminantMatrix:
        return DeterminantMatrix(data.rows.scatter() / data.rows.n)
