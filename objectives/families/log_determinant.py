"""Log-determinant: max log|M'CM| over subspaces."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ldr.objectives.certificate import PROVED_GLOBAL, Certificate
from ldr.objectives.problem import BoundObjective, check_dimension
from ldr.solvers.errors import SingularError
from ldr.solvers.linalg.eigen import top_eigenvectors
from ldr.solvers.linalg.lengths import power_of_two
from ldr.solvers.manifolds import Array, Grassmann
from ldr.solvers.problem import Point


class LogDeterminantPoint(Point):
    """f = -log|Phi|, Phi = M'CM; gradient -2 CM Phi^{-1}.

    Hessian product -2 (CV - CM Phi^{-1} dPhi) Phi^{-1}, dPhi = V'CM + M'CV.
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
    """The largest determinant of M'CM on the Grassmann manifold; exact by eigenvectors.

    Parameters
    ----------
    C : positive definite matrix (k x k)
    r : int
    """

    baseline_exact = True

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
        M = self.manifold.nearest(self._eigen[1])
        if not math.isfinite(self.value(M)):
            raise SingularError(
                f"|M'CM| of {self.r} dimensions is zero to rounding: the columns vary in units too "
                "far apart; divide X by its standard deviations, or lower r"
            )
        return M

    def baseline(self) -> Array:
        return self._optimum

    def closed_form(self) -> Array:
        return self._optimum

    def certificate(self, M: Array) -> Certificate:
        """The gap to the sum of the logarithms of the r largest eigenvalues.

        Computed eigenvalues, of C and of M'CM, are wrong by k eps times the largest at most.
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
