"""How linear dynamics move with the rows: they are of A = X'X and B = Xdot'X alone.

At the best D the value changes by what tr Xdot'Xdot - 2<D, M'BM> + <D M'AM, D> does at that D.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ldr.objectives.data.data import Data
from ldr.objectives.data.opening import as_samples
from ldr.objectives.dynamics import Dynamics, DynamicsPoint, LinearDynamics, middles_and_steps
from ldr.objectives.objective import Objective
from ldr.sensitivity.forms import Blocks, centred
from ldr.sensitivity.known import Known, Variances
from ldr.sensitivity.optimum import Observed, Optimum, Rate
from ldr.solvers.manifolds import Array
from ldr.solvers.records import dataclass


@dataclass(frozen=True)
class MotionOfRows(Known):
    """An optimum of dynamics.

    Attributes
    ----------
    states, moves : ndarray (m, d)
        X and Xdot, in the problem's units.
    place, pace : float
        These units.
    given : bool
        Whether Xdot stays.
    point : DynamicsPoint
        At the optimum.
    axes : Variances
    """

    states: Array
    moves: Array
    place: float
    pace: float
    given: bool
    point: DynamicsPoint
    axes: Variances

    of_own_columns = True

    @classmethod
    def of(cls, optimum: Optimum, objective: Objective, data: Data) -> MotionOfRows | None:
        problem, X = optimum.problem, centred(data.samples.dense())
        if not isinstance(problem, LinearDynamics) or not isinstance(objective, Dynamics):
            return None
        pace, given = problem.unit**0.5, objective.derivatives is not None
        states, moves = middles_and_steps(X)
        if given:
            states, moves = X, as_samples(objective.derivatives, "derivatives").dense()
        place, axes = pace / problem.rate, Variances.of(X, optimum.M, X @ optimum.M)
        point = problem.at(optimum.M)
        return cls(optimum, states / place, moves / pace, place, pace, given, point, axes)

    def rate(self, dX: Blocks) -> Rate:
        optimum, point, X, V = self.optimum, self.point, self.states, self.moves
        M, D, mean = optimum.M, point.D, dX[0].mean(axis=0)
        moved = dX[0] - mean
        dV, (dX_, steps) = np.zeros_like(V), middles_and_steps(moved)
        if self.given:
            dX_ = moved
        else:
            dV = steps / self.pace
        dX_ = dX_ / self.place
        Y, dY = X @ M, dX_ @ M
        dAM, dBM = dX_.T @ Y + X.T @ dY, dV.T @ Y + V.T @ dY
        dBtM = dX_.T @ (V @ M) + X.T @ (dV @ M)
        dS, dT = M.T @ dAM, M.T @ dBM
        gradient = point.changed(dAM, dBM, dBtM, dS, dT)
        value = 2.0 * float(np.vdot(V, dV) - np.vdot(D, dT)) + float(np.vdot(D @ dS, D))
        still = np.zeros_like(M)
        observed = Observed(
            (still.T,), (still,), (mean,), optimum.problem.unit * value, self.axes.rate(moved @ M)
        )
        return Rate(gradient, observed)

    def pulled(self, V: Sequence[Array]) -> list[Array]:
        optimum, X, moves = self.optimum, self.states, self.moves
        M, W = optimum.M, optimum.turn(optimum.M.T @ V[0])
        u = optimum.solve(V[0] + self.axes.slope(W))
        F, G, H = self.point.pulled(u)
        Y = X @ M
        of_states = -2.0 * (X @ F @ M.T + Y @ F.T) - (moves @ G) @ M.T - (moves @ M) @ H.T
        of_states, of_moves = of_states / self.place, -(Y @ G.T + X @ H @ M.T) / self.pace
        found = self.axes.pulled(W)
        if self.given:
            found += of_states
        else:
            found[1:] += 0.5 * of_states + of_moves
            found[:-1] += 0.5 * of_states - of_moves
        return [centred(found)]
