"""Linear dynamics of the projected data."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ldr.objectives.certificate import Certificate
from ldr.objectives.families.projected import DenseRows
from ldr.objectives.objective import BoundObjective, Data, Objective, Range, check_dimension
from ldr.objectives.opening import as_samples
from ldr.solvers.checks import keep_flag
from ldr.solvers.errors import DataError
from ldr.solvers.linalg.eigen import top_eigenvectors
from ldr.solvers.manifolds import Array, Grassmann
from ldr.solvers.problem import Point


@dataclass(frozen=True)
class Dynamics(Objective):
    """Find a plane that moves by itself: min ||Xdot - X M D' M'||_F^2 over subspaces and D.

    Rows are in time order; y' = D y is fitted to the projected data, D (r x r) in closed form at
    each M and given in the result's `parameters`, in the basis M. Unless derivatives are given,
    those of successive rows are taken at the middle: (x_{t+1} + x_t)/2 moves by x_{t+1} - x_t, so
    that a rotation by w a row gives D the eigenvalues +-2i tan(w/2) exactly. P = M'.

    Cost: time O(n d^2) once, O(d^2 r) an evaluation; memory O(n d).

    Source: Cunningham and Ghahramani 2015; skew-symmetric D: Churchland, Cunningham and others 2012
    (jPCA).

    Parameters
    ----------
    skew : bool
        Ask for D' = -D: rotations only.
    derivatives : array (n, d), optional
        Xdot, where it is known better than by differences.
    """

    name = "dynamics"
    formula = "min ||Xdot - X M D' M'||_F^2 over M and D"
    source = "Cunningham & Ghahramani 2015; Churchland et al. 2012"
    sense = "min"
    needs = ("time order",)
    baseline = "top eigenvectors of X'X (pca)"
    sparse = False

    skew: bool = False
    derivatives: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        keep_flag(self, "skew")

    def bind(self, data: Data, r: int) -> LinearDynamics:
        rows = DenseRows.centred(data, self)
        states, moves = self._states_and_moves(rows)
        A = states.T @ states
        kept = Range.of(A, rows.coordinates, "the covariance")
        return LinearDynamics(
            self,
            (rows.mean,),
            kept(A),
            kept(moves.T @ states),
            float(np.vdot(moves, moves)),
            r,
            skew=self.skew,
            coordinates=(kept.coordinates,),
            notes=rows.notes + kept.notes,
        )

    def _states_and_moves(self, rows: DenseRows) -> tuple[Array, Array]:
        """X and Xdot, row by row."""
        X = rows.X
        if self.derivatives is None:
            return 0.5 * (X[1:] + X[:-1]), X[1:] - X[:-1]
        given = as_samples(self.derivatives, "derivatives").dense()
        expected = (len(X), len(rows.mean))
        if given.shape != expected:
            raise DataError(f"derivatives has shape {given.shape}, expected {expected}")
        return X, np.ascontiguousarray(rows.coordinates.lower(given.T).T)


class DynamicsPoint(Point):
    """f = c - 2 tr(T D') + tr(D S D') at its least over D; S = M'AM, T = M'BM.

    A = X'X, B = Xdot'X, c = ||Xdot||^2. D S = T; of skew D, D S + S D = T - T'. D is optimal, so
    the gradient is that at fixed D, 2 (AM D'D - BMD' - B'MD).
    """

    def __init__(self, problem: LinearDynamics, M: Array) -> None:
        self.M = M
        self._problem = problem
        self._AM, self._BM, self._BtM = problem.states @ M, problem.motion @ M, problem.motion.T @ M
        self.S, self.T = M.T @ self._AM, M.T @ self._BM

    @cached_property
    def _eigen(self) -> tuple[Array, Array]:
        """Of S; eigenvalues that are zero to rounding are kept off zero."""
        s, U = np.linalg.eigh(self.S)
        return np.maximum(s, np.finfo(float).eps * s[-1]), U

    def _solve(self, R: Array) -> Array:
        """D of D S = R, or of D S + S D = R for skew-symmetric R."""
        s, U = self._eigen
        if self._problem.skew:
            D = U @ (U.T @ R @ U / (s[:, None] + s)) @ U.T
            return 0.5 * (D - D.T)
        return (R @ U / s) @ U.T

    def _skewed(self, T: Array) -> Array:
        return T - T.T if self._problem.skew else T

    @cached_property
    def D(self) -> Array:
        """The least-squares dynamics."""
        return self._solve(self._skewed(self.T))

    @cached_property
    def value(self) -> float:
        return self._problem.c - float(np.vdot(self.T, self.D))

    @cached_property
    def gradient(self) -> Array:
        D = self.D
        return 2.0 * (self._AM @ (D.T @ D) - self._BM @ D.T - self._BtM @ D)

    def hessian_vector(self, V: Array) -> Array:
        A, B, D = self._problem.states, self._problem.motion, self.D
        AV, BV, BtV = A @ V, B @ V, B.T @ V
        half = V.T @ self._AM
        dS, dT = half + half.T, V.T @ self._BM + self._BtM.T @ V
        change = self._skewed(dT) - D @ dS
        dD = self._solve(change - dS @ D if self._problem.skew else change)
        at_fixed_D = AV @ (D.T @ D) - BV @ D.T - BtV @ D
        half = dD.T @ D
        return 2.0 * (at_fixed_D + self._AM @ (half + half.T) - self._BM @ dD.T - self._BtM @ dD)


@dataclass
class LinearDynamics(BoundObjective):
    """Fitting linear dynamics on the Grassmann manifold.

    Parameters
    ----------
    states, motion : ndarray (k, k)
        A = X'X, positive definite, and B = Xdot'X.
    c : float
        ||Xdot||^2.
    r : int
    skew : bool
    """

    manifold: Grassmann = field(init=False)
    states: Array
    motion: Array
    c: float
    r: int
    skew: bool = field(kw_only=True)

    def __post_init__(self) -> None:
        check_dimension(self.r, len(self.states))
        self.manifold = Grassmann(len(self.states), self.r)

    def at(self, M: Array) -> DynamicsPoint:
        return DynamicsPoint(self, M)

    def baseline(self) -> Array:
        return top_eigenvectors(self.states, self.r)[1]

    def starts(self) -> dict[str, Array]:
        return {"pca": self.baseline(), "explained motion": self._explained()[1]}

    def _explained(self) -> tuple[Array, Array]:
        """Top eigenvalues and eigenvectors of B A^{-1} B', the motion that X explains linearly."""
        return top_eigenvectors(self.motion @ np.linalg.solve(self.states, self.motion.T), self.r)

    def certificate(self, M: Array) -> Certificate:
        """M (M'AM)^{-1} M' <= A^{-1}: no M explains more motion than the top eigenvectors do."""
        gap = self.at(M).value - (self.c - float(np.sum(self._explained()[0])))
        if gap <= 1e-10 * self.c:
            return Certificate("global", max(gap, 0.0), "no motion that X explains is left out")
        return Certificate("bound", gap, "all motion that X explains bounds the value")

    def parameters(self, M: Array) -> dict[str, Any]:
        return {"D": self.at(M).D}
