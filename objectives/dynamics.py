"""Linear dynamics in a subspace, also rotational (jPCA)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy
from scipy.linalg.lapack import dtrtri

from ldr.objectives.data.data import Data
from ldr.objectives.data.opening import derivatives_of
from ldr.objectives.families.projected import DenseRows
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need, flag
from ldr.objectives.problem import (
    NEARLY_COLLINEAR,
    BoundObjective,
    Certificate,
    Fitted,
    check_dimension,
)
from ldr.objectives.statistics.sums import weighted
from ldr.objectives.statistics.time import pair_counts
from ldr.objectives.view import Range
from ldr.solvers.linalg.eigen import power_of_two, rank_tolerance, top_eigenvectors
from ldr.solvers.manifolds import Array, Grassmann
from ldr.solvers.problem import Point


@dataclass(frozen=True)
class Dynamics(Objective, weighted=True, sparse=False):
    r"""Linear dynamics in a subspace, also rotational (jPCA).

    .. math:: \min_{M'M=I,\,D} \|\dot X - XMD'M'\|_F^2

    Samples must be in time order. The model dy/dt = D y is fitted to the projected data y = M'x.
    The optimal D (r x r) for a given M has a closed form; the result's `parameters` contain D. By
    default the derivative at (x_{t+1} + x_t)/2 is x_{t+1} - x_t. For a rotation by the angle w per
    sample, D then has exactly the eigenvalues +-2i tan(w/2). P = M'.

    Cost: time O(n d^2) once and O(d^2 r) per evaluation; memory O(n d).

    Use it when samples are in time order, to find a subspace in which linear dynamics explain the
    motion; skew=True allows rotations only. Do not use it if differences of successive samples are
    mostly noise: take tica or dca.

    Source: Cunningham & Ghahramani 2015; Churchland et al. 2012 (skew-symmetric D, jPCA).

    Parameters
    ----------
    skew : bool
        Require D' = -D, so that the linear dynamics are rotations.
    derivatives : array (n, d), optional
        Derivatives Xdot of the samples, if known more accurately than by differences.
    """

    name = "dynamics"
    sense = "min"
    needs = (Need.TIME_ORDER,)
    baseline = "top eigenvectors of X'X (pca)"

    skew: bool = flag(False)
    derivatives: Any = field(default=None, repr=False)

    def bind(self, data: Data, r: int) -> LinearDynamics:
        rows = DenseRows.centred(data, self)
        states, moves, beside = self._states_and_moves(rows)
        least = rank_tolerance(rows.X.shape[1]) * np.linalg.norm(rows.X, axis=0)
        # If a column alternates between two values, means of successive rows vanish up to rounding.
        states = np.where(np.linalg.norm(states, axis=0) <= least, 0.0, states)
        place, pace = power_of_two(states), power_of_two(moves)
        states, moves = states / place, moves / pace
        kept = Range.of(states.T @ states, rows.view.coordinates, "the covariance")
        inside = kept.rows(moves.T).T
        outside = np.hstack([moves - kept.lift(inside.T).T, beside / pace])
        lost = np.linalg.norm(states - kept.lift(kept.rows(states.T)).T, axis=0)
        tiny = rank_tolerance(states.shape[1]) * np.linalg.norm(states, axis=0)
        states = kept.rows(states.T).T
        Q = np.linalg.qr(states)[0] if outside.any() else np.zeros((len(states), 0))
        states, moves, unreached = _triangular(states, inside)
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
            beyond=float(np.linalg.norm(Q.T @ outside) ** 2),
            is_part=bool((lost > tiny).any()),
        )

    def _states_and_moves(self, rows: DenseRows) -> tuple[Array, Array, Array]:
        """X, Xdot, and the part of Xdot outside the coordinates of X, row by row."""
        X = rows.X
        if self.derivatives is None:
            counts = pair_counts(rows.marks, len(X), 1)
            middles, steps = middles_and_steps(X)
            return weighted(middles, counts), weighted(steps, counts), steps[:, :0]
        given = derivatives_of(self.derivatives, (len(X), len(rows.view.mean)))
        coordinates = rows.view.coordinates
        moves = np.ascontiguousarray(coordinates.lower(given.T).T)
        beside = given - coordinates.lift(moves.T).T
        w = rows.weights
        return weighted(X, w), weighted(moves, w), weighted(beside, w)


def middles_and_steps(X: Array) -> tuple[Array, Array]:
    """Return the means and differences of successive rows."""
    return 0.5 * (X[1:] + X[:-1]), X[1:] - X[:-1]


def _triangular(states: Array, moves: Array) -> tuple[Array, Array, float]:
    """Return at most k rows with equal X'X and Xdot'X, and the unexplained part of ||Xdot||^2."""
    k = states.shape[1]
    R = np.asarray(np.linalg.qr(np.hstack([states, moves]), mode="r"))
    of_states, of_moves, unreached = R[:k, :k], R[:k, k:], R[k:, k:]
    return (
        np.ascontiguousarray(of_states),
        np.ascontiguousarray(of_moves),
        float(np.vdot(unreached, unreached)),
    )


class DynamicsPoint(Point):
    """f = min over D of ||Xdot - X M D'M'||^2, computed as a sum of squares.

    With A = X'X, B = Xdot'X, S = M'AM and T = M'BM the optimal D solves D S = T, or D S + S D = T -
    T' if D is skew. The value is ||Xdot - V M'||^2 + ||E||^2 with V = Xdot M and E = V - XM D'.
    Since D is optimal, the gradient in M is the partial gradient at fixed D, -2 (X'ED + Xdot'XM
    D'). D is computed from XM = QR: errors grow with the square root of S's condition number.
    """

    def __init__(self, problem: LinearDynamics, M: Array) -> None:
        self.M = M
        self._problem = problem
        self._Y, self._V = problem.states @ M, problem.moves @ M

    @cached_property
    def _factored(self) -> tuple[Array, Array]:
        """Q and R^{-1} of XM; R's diagonal is kept off zero, whatever the units of XM's columns."""
        Q, R = np.linalg.qr(self._Y)
        limits, diagonal = np.finfo(float), R.diagonal()
        if not np.abs(diagonal).min() > limits.eps * np.linalg.norm(R):
            least = np.maximum(limits.eps * np.linalg.norm(self._Y, axis=0), limits.tiny)
            np.fill_diagonal(R, np.where(np.abs(diagonal) < least, least, diagonal))
        return np.asarray(Q), np.asarray(dtrtri(R)[0])

    @cached_property
    def _eigen(self) -> tuple[Array, Array]:
        """Eigenvalues, bounded away from 0, and eigenvectors of S, from singular values of XM."""
        _, sigma, Ut = scipy.linalg.svd(self._Y, full_matrices=False, check_finite=False)
        return np.maximum(sigma, np.finfo(float).eps * sigma[0]) ** 2, Ut.T

    def _solve(self, R: Array) -> Array:
        """D of D S = R, or of D S + S D = R - R'."""
        if self._problem.skew:
            s, U = self._eigen
            D = U @ (U.T @ (R - R.T) @ U / (s[:, None] + s)) @ U.T
            return 0.5 * (D - D.T)
        inverse = self._factored[1]
        return R @ inverse @ inverse.T

    @cached_property
    def D(self) -> Array:
        """Least-squares estimate of the dynamics D."""
        if self._problem.skew:
            return self._solve(self._V.T @ self._Y)
        Q, inverse = self._factored
        return np.asarray((inverse @ (Q.T @ self._V)).T)

    @cached_property
    def _left(self) -> Array:
        """Residual Xdot M - XM D'."""
        if self._problem.skew:
            return self._V - self._Y @ self.D.T
        Q, _ = self._factored
        return np.asarray(self._V - Q @ (Q.T @ self._V))

    @cached_property
    def value(self) -> float:
        problem, left = self._problem, self._left
        beside = problem.moves - self._V @ self.M.T
        return problem.outside + float(np.vdot(beside, beside) + np.vdot(left, left))

    @cached_property
    def gradient(self) -> Array:
        states, moves, left = self._problem.states, self._problem.moves, self._left
        return -2.0 * (states.T @ (left @ self.D) + moves.T @ (self._V - left))

    def hessian_vector(self, V: Array) -> Array:
        states, moves, Y, D = self._problem.states, self._problem.moves, self._Y, self.D
        dY = states @ V
        dleft = moves @ V - dY @ D.T  # change of the residuals if only M changes, not D
        dD = self._solve(dleft.T @ Y + self._left.T @ dY)
        along = Y @ dD.T
        of_states = (dleft - along) @ D + self._left @ dD
        return -2.0 * (states.T @ of_states + moves.T @ (dY @ D.T + along))


@dataclass(frozen=True)
class LinearDynamics(BoundObjective):
    """Problem of fitting linear dynamics, on the Grassmann manifold.

    - states, moves (m, k): rows of X and Xdot, or other rows with the same X'X and Xdot'X
    - outside: the part of ||Xdot||^2 outside the k columns and outside the span of the states
    - beyond: the part of `outside` that the states explain: M outside the k columns may reach it
    - rate: factor between D and the dynamics of these rows, which may be scaled
    - is_part: True if states vary in directions that count as zero
    """

    states: Array
    moves: Array
    outside: float
    r: int
    skew: bool = field(kw_only=True)
    rate: float = field(default=1.0, kw_only=True)
    beyond: float = field(default=0.0, kw_only=True)
    is_part: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        check_dimension(self.r, self.states.shape[1])

    @cached_property
    def manifold(self) -> Grassmann:  # type: ignore[override]
        return Grassmann(self.states.shape[1], self.r)

    @cached_property
    def squares(self) -> float:
        """||Xdot||^2 of the rows."""
        return float(np.vdot(self.moves, self.moves))

    def at(self, M: Array) -> DynamicsPoint:
        return DynamicsPoint(self, M)

    def baseline(self) -> Array:
        k = len(self.states.T)
        if self.r == k:  # if r = k, M spans the whole space: use the identity
            return np.eye(k)
        return top_eigenvectors(self.states.T @ self.states, self.r)[1]

    def starts(self) -> dict[str, Array]:
        if self.r == len(self.states.T):
            return {}
        directions = self.manifold.nearest(self._explained[1])
        return {"pca": self.baseline(), "explained motion": directions}

    @cached_property
    def _explained(self) -> tuple[float, Array]:
        """Bound of the residual of Xdot for r directions, and the directions that explain most."""
        Q = scipy.linalg.qr(self.states, mode="economic", check_finite=False)[0]
        explained = Q.T @ self.moves
        rest = self.moves - Q @ explained
        _, sigma, Vt = scipy.linalg.svd(explained, full_matrices=False, check_finite=False)
        least = float(np.vdot(rest, rest)) + float(np.sum(sigma[self.r :] ** 2))
        return self.outside - self.beyond + least, Vt[: self.r].T

    def hidden(self, M: Array) -> float:
        # Rounding errors of the explained sum of squares grow with the columns' condition number.
        sigma = scipy.linalg.svdvals(self.states / np.linalg.norm(self.states, axis=0))
        condition = float(sigma[0] / max(sigma[-1], np.finfo(float).tiny))
        share = 4.0 * max(self.states.shape) * float(np.finfo(float).eps) * condition
        return share * (self.outside + self.squares)

    def certificate(self, M: Array) -> Certificate:
        """Bound the explained ||Xdot||^2 from above, by M (M'AM)^{-1} M' <= A^{-1}."""
        if self.is_part:
            return Certificate("none", math.inf, NEARLY_COLLINEAR)
        return Certificate.of_gap(
            (max(0.0, self.at(M).value - self._explained[0]) + self.hidden(M)) * self.unit,
            1e-10 * (self.outside + self.squares) * self.unit,
            "M explains as much of the motion as all columns of X",
            "no M explains more of the motion than all columns of X",
        )

    def parameters(self, M: Array) -> Fitted:
        return {"D": self.rate * self.at(M).D}
