"""How a reduced-rank regression moves with its rows: it is of X'Y and X'X alone.

The maps are Pin = S Min', S of these two at fixed M, and Pout = Mout'.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ldr.objectives.data.data import Data
from ldr.objectives.objective import Objective
from ldr.objectives.reduced_rank_regression import ReducedRank, ReducedRankPoint
from ldr.sensitivity.forms import Blocks, Centring
from ldr.sensitivity.known import Known
from ldr.sensitivity.optimum import Observed, Optimum, Rate
from ldr.solvers.manifolds import Array
from ldr.solvers.records import dataclass


@dataclass(frozen=True)
class LowRankRows(Known):
    """An optimum of reduced-rank regression.

    Attributes
    ----------
    centre : Centring
    X, Y : ndarray (n, d), (n, q)
        So centred.
    M, N : ndarray (d, r), (q, r)
    point : ReducedRankPoint
        At the optimum.
    """

    centre: Centring
    X: Array
    Y: Array
    M: Array
    N: Array
    point: ReducedRankPoint

    of_marks = of_own_columns = True

    @classmethod
    def of(cls, optimum: Optimum, objective: Objective, data: Data) -> LowRankRows | None:
        problem = optimum.problem
        if not isinstance(problem, ReducedRank):
            return None
        centre = Centring(data.samples.weights)
        X, Y = (centre(view.dense()) for view in data.views)
        M, N = problem.blocks(optimum.M)
        return cls(optimum, centre, X, Y, M, N, problem.at(optimum.M))

    def rate(self, dX: Blocks) -> Rate:
        X, Y, M, N, S = self.X, self.Y, self.M, self.N, self.point.S
        of_X, of_Y = map(self.centre, dX)
        dKn, dKm = of_X.T @ (Y @ N) + X.T @ (of_Y @ N), of_Y.T @ (X @ M) + Y.T @ (of_X @ M)
        dAm = of_X.T @ (X @ M) + X.T @ (of_X @ M)
        dc, da = (np.einsum("ik,ik->k", M, each) for each in (dKn, dAm))
        gradient, dS = self.point.changed(dKn, dKm, dAm, dc, da)
        observed = Observed(
            (dS[:, None] * M.T, np.zeros_like(N.T)),
            (np.zeros_like(M), np.zeros_like(N)),
            tuple(map(self.centre.mean, dX)),
            2.0 * float(np.vdot(Y, of_Y)) - float(S @ (2.0 * dc - S * da)),
            np.zeros((0, 0)),
        )
        return Rate(gradient, observed)

    def pulled(self, V: Sequence[Array]) -> list[Array]:
        X, Y, M, N, point = self.X, self.Y, self.M, self.N, self.point
        manifold, s = self.optimum.problem.manifold, np.einsum("ik,ik->k", V[0], M)
        lowered = manifold.join([point.S * V[0], V[1]]) + point.slope_of(s)
        u = self.optimum.solve(lowered)
        P, Q, R = point.pulled(u, s)
        Xm = X @ M
        of_X = (Y @ N) @ P.T + (Y @ Q) @ M.T - Xm @ R.T - (X @ R) @ M.T
        of_Y = (X @ P) @ N.T + Xm @ Q.T
        return [self.centre.back(of_X), self.centre.back(of_Y)]
