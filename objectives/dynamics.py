"""Linear dynamics of the projected data."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy

from ldr.objectives.certificate import Certificate
from ldr.objectives.data.data import Data
from ldr.objectives.data.footprint import Footprint
from ldr.objectives.data.opening import as_samples
from ldr.objectives.families.projected import DenseRows
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need, flag
from ldr.objectives.problem import BoundObjective, Fitted, check_dimension
from ldr.objectives.statistics.pairs import pair_counts
from ldr.objectives.statistics.sums import weighted
from ldr.objectives.view import Range
from ldr.solvers.errors import DataError
from ldr.solvers.linalg.eigen import top_eigenvectors
from ldr.solvers.linalg.lengths import power_of_two
from ldr.solvers.manifolds import Array, Grassmann
from ldr.solvers.manifolds.orthonormal import sym
from ldr.solvers.problem import Point
from ldr.solvers.records import dataclass, field

# Of what is in the rows, a share that rounding of their means leaves.
_LOST = 1e-14


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
    weighted = True
    formula = "min ||Xdot - X M D' M'||_F^2 over M and D"
    source = "Cunningham & Ghahramani 2015; Churchland et al. 2012"
    sense = "min"
    needs = (Need.TIME_ORDER,)
    baseline = "top eigenvectors of X'X (pca)"
    sparse = False
    arrays = Footprint(rows=12.0)

    skew: bool = flag(False)
    derivatives: Any = field(default=None, repr=False)

    def bind(self, data: Data, r: int) -> LinearDynamics:
        rows = DenseRows.centred(data, self)
        states, moves = self._states_and_moves(rows)
        lost = np.linalg.norm(states, axis=0) <= _LOST * np.linalg.norm(rows.X, axis=0)
        states = np.where(lost, 0.0, states)  # what rounding leaves of middles that are all alike
        place, pace = power_of_two(states), power_of_two(moves)
        states, moves = states / place, moves / pace
        kept = Range.of(states.T @ states, rows.view.coordinates, "the covariance")
        inside = kept.rows(moves.T).T
        outside = moves - kept.lift(inside.T).T
        states, moves, unreached = _triangular(kept.rows(states.T).T, inside)
        return LinearDynamics(
            self,
            (rows.view.within(kept),),
            states,
            moves,
            float(np.vdot(outside, outside)) + unreached,
            r,
            skew=self.skew,
            unit=pace**2,
            rate=pace / place,
        )

    def _states_and_moves(self, rows: DenseRows) -> tuple[Array, Array]:
        """X and Xdot, row by row."""
        X = rows.X
        if self.derivatives is None:
            counts = pair_counts(rows.marks, len(X), 1)
            middles, steps = middles_and_steps(X)
            return weighted(middles, counts), weighted(steps, counts)
        given = as_samples(self.derivatives, "derivatives").dense()
        expected = (len(X), len(rows.view.mean))
        if given.shape != expected:
            raise DataError(f"derivatives has shape {given.shape}, expected {expected}")
        moves = np.ascontiguousarray(rows.view.coordinates.lower(given.T).T)
        return weighted(X, rows.weights), weighted(moves, rows.weights)


def middles_and_steps(X: Array) -> tuple[Array, Array]:
    """Of successive rows."""
    return 0.5 * (X[1:] + X[:-1]), X[1:] - X[:-1]


def _triangular(states: Array, moves: Array) -> tuple[Array, Array, float]:
    """Rows with the products X'X and Xdot'X, at most as many as there are columns.

    And ||Xdot||^2 in the rows that no combination of the states reaches.
    """
    k = states.shape[1]
    if len(states) <= k:
        return states, moves, 0.0
    R = scipy.linalg.qr(np.hstack([states, moves]), mode="r", check_finite=False)[0]
    unreached = R[k:, k:]
    return (
        np.ascontiguousarray(R[:k, :k]),
        np.ascontiguousarray(R[:k, k:]),
        float(np.vdot(unreached, unreached)),
    )


class DynamicsPoint(Point):
    """f = ||Xdot - X M D'M'||^2 at its least over D, added up as squares; S = M'AM, T = M'BM.

    A = X'X, B = Xdot'X. D S = T; of skew D, D S + S D = T - T'. D is optimal, so the gradient is
    that at fixed D, 2 (AM D'D - BMD' - B'MD). D comes from XM itself, whose condition is the root
    of that of S.
    """

    def __init__(self, problem: LinearDynamics, M: Array) -> None:
        self.M = M
        self._problem = problem
        self._Y, self._V = problem.states @ M, problem.moves @ M
        self.T = self._V.T @ self._Y

    @cached_property
    def _products(self) -> tuple[Array, Array, Array]:
        """AM, BM and B'M."""
        states, moves = self._problem.states, self._problem.moves
        return states.T @ self._Y, moves.T @ self._Y, states.T @ self._V

    @cached_property
    def _eigen(self) -> tuple[Array, Array]:
        """Of S, by the singular values of XM; what is zero to rounding is kept off zero."""
        _, sigma, Ut = scipy.linalg.svd(self._Y, full_matrices=False, check_finite=False)
        return np.maximum(sigma, np.finfo(float).eps * sigma[0]) ** 2, Ut.T

    def _solve(self, R: Array) -> Array:
        """D of D S = R, or of D S + S D = R for skew-symmetric R."""
        s, U = self._eigen
        if self._problem.skew:
            D = U @ (U.T @ R @ U / (s[:, None] + s)) @ U.T
            return 0.5 * (D - D.T)
        return (R @ U / s) @ U.T

    @cached_property
    def _explained(self) -> tuple[Array, Array, Array]:
        """Q and R of XM, whatever the units of its columns, and Q'Xdot M."""
        Q, R = scipy.linalg.qr(self._Y, mode="economic", check_finite=False)
        least = np.finfo(float).eps * np.linalg.norm(R, axis=0)
        diagonal = np.diag_indices(len(R))
        R[diagonal] = np.where(np.abs(R[diagonal]) < least, least, R[diagonal])
        return Q, R, Q.T @ self._V

    def _skewed(self, T: Array) -> Array:
        return T - T.T if self._problem.skew else T

    @cached_property
    def D(self) -> Array:
        """The least-squares dynamics."""
        if self._problem.skew:
            return self._solve(self._skewed(self.T))
        _, R, explained = self._explained
        return np.asarray(scipy.linalg.solve_triangular(R, explained, check_finite=False).T)

    @cached_property
    def value(self) -> float:
        if self._problem.skew:
            fitted = self._Y @ self.D.T
        else:
            Q, _, explained = self._explained
            fitted = Q @ explained
        residual = self._problem.moves - fitted @ self.M.T
        return self._problem.outside + float(np.vdot(residual, residual))

    @cached_property
    def gradient(self) -> Array:
        D = self.D
        AM, BM, BtM = self._products
        return 2.0 * (AM @ (D.T @ D) - BM @ D.T - BtM @ D)

    def hessian_vector(self, V: Array) -> Array:
        states, moves = self._problem.states, self._problem.moves
        AM, BM, BtM = self._products
        XV, XdotV = states @ V, moves @ V
        half = V.T @ AM
        dS, dT = half + half.T, V.T @ BM + BtM.T @ V
        return self.changed(states.T @ XV, moves.T @ XV, states.T @ XdotV, dS, dT)

    def changed(self, dAM: Array, dBM: Array, dBtM: Array, dS: Array, dT: Array) -> Array:
        """Of the gradient, where AM, BM, B'M, S and T change."""
        D = self.D
        AM, BM, BtM = self._products
        change = self._skewed(dT) - D @ dS
        dD = self._solve(change - dS @ D if self._problem.skew else change)
        at_fixed_D = dAM @ (D.T @ D) - dBM @ D.T - dBtM @ D
        half = dD.T @ D
        return 2.0 * (at_fixed_D + AM @ (half + half.T) - BM @ dD.T - BtM @ dD)

    def pulled(self, u: Array) -> tuple[Array, Array, Array]:
        """The derivative of <u, gradient> in A and B.

        F, G and H: FM' + MF' in A and GM' + MH' in B.
        """
        D, M = self.D, self.M
        AM, BM, BtM = self._products
        P = u.T @ AM
        slope = 2.0 * (D @ (P + P.T) - u.T @ BM - BtM.T @ u)
        R = self._solve(slope - slope.T if self._problem.skew else slope)
        half = -0.5 * M @ sym(D.T @ R)
        return u @ (D.T @ D) + half, M @ R - 2.0 * u @ D, -2.0 * u @ D.T


@dataclass(frozen=True)
class LinearDynamics(BoundObjective):
    """Fitting linear dynamics on the Grassmann manifold.

    Parameters
    ----------
    states, moves : ndarray (m, k)
        Rows with the products A = X'X, positive definite, and B = Xdot'X.
    outside : float
        ||Xdot||^2 outside the k columns and the span of the states.
    rate : float
        By which D is larger than that of these rows, where they are in units of their own.
    """

    states: Array
    moves: Array
    outside: float
    r: int
    skew: bool = field(kw_only=True)
    rate: float = field(default=1.0, kw_only=True)

    def __post_init__(self) -> None:
        check_dimension(self.r, self.states.shape[1])

    @cached_property
    def manifold(self) -> Grassmann:  # type: ignore[override]
        return Grassmann(self.states.shape[1], self.r)

    def at(self, M: Array) -> DynamicsPoint:
        return DynamicsPoint(self, M)

    def baseline(self) -> Array:
        k = len(self.states.T)
        if self.r == k:  # every M spans the same: the columns themselves lose no digits
            return np.eye(k)
        return top_eigenvectors(self.states.T @ self.states, self.r)[1]

    def starts(self) -> dict[str, Array]:
        if self.r == len(self.states.T):
            return {}
        directions = self.manifold.nearest(self._explained[1])
        return {"pca": self.baseline(), "explained motion": directions}

    @cached_property
    def _explained(self) -> tuple[float, Array]:
        """What the best r directions of B A^{-1} B', the motion that X explains, leave of Xdot.

        And these directions.
        """
        Q = scipy.linalg.qr(self.states, mode="economic", check_finite=False)[0]
        explained = Q.T @ self.moves
        rest = self.moves - Q @ explained
        _, sigma, Vt = scipy.linalg.svd(explained, full_matrices=False, check_finite=False)
        least = float(np.vdot(rest, rest)) + float(np.sum(sigma[self.r :] ** 2))
        return self.outside + least, Vt[: self.r].T

    def certificate(self, M: Array) -> Certificate:
        """M (M'AM)^{-1} M' <= A^{-1}: no M explains more motion than the top directions do.

        What X explains is known as well as its columns, at length 1, can be told apart.
        """
        c = self.outside + float(np.vdot(self.moves, self.moves))
        sigma = scipy.linalg.svdvals(self.states / np.linalg.norm(self.states, axis=0))
        condition = float(sigma[0] / max(sigma[-1], np.finfo(float).tiny))
        rounding = 4.0 * max(self.states.shape) * float(np.finfo(float).eps) * condition * c
        gap = max(0.0, self.at(M).value - self._explained[0]) + rounding
        return Certificate.of_gap(
            gap * self.unit,
            1e-10 * c * self.unit,
            "no motion that X explains is left out",
            "all motion that X explains bounds the value",
        )

    def parameters(self, M: Array) -> Fitted:
        return {"D": self.rate * self.at(M).D}
