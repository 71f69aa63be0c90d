"""How a regression moves with its inputs, by products with the rows.

The gradient of ||Y - XB||^2 is 2X'R with R = XB - Y, whose change is 2(dX'R + X'dX B). The rows of
the map are (1 + s^2)^{1/2} u' of the leading singular values and left singular vectors of B.

How a reduced-rank regression moves with its rows: it is of X'Y and X'X alone.

The maps are Pin = S Min', S of these two at fixed M, and Pout = Mout'.

How the scores of a regression move with its inputs: partial least squares, weight by weight.

The weight w is the leading left singular vector of S, which is X'Y less what earlier scores t take
of it: with its singular value s and right vector v, (s^2 I - SS') dw = s dS v + S dS'w across w.
Scores t = Xw and rotations R, T = XR, follow by the steps of Gram and Schmidt, and so do their
derivatives; a cotangent goes back through the same steps, from the last weight to the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ldr.objectives.data.data import Data
from ldr.objectives.kernel import as_response
from ldr.objectives.objective import Objective
from ldr.objectives.pls import EXPLAINED, PLSRegression, ScoreRegression
from ldr.objectives.regression import ReducedRank, ReducedRankPoint, Regression
from ldr.sensitivity.forms import Blocks, Centring, centred
from ldr.sensitivity.known import Known, moved_vectors
from ldr.sensitivity.optimum import Observed, Optimum, Rate, matrix_of
from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds import Array


@dataclass(frozen=True)
class FittedRows(Known):
    """An optimum of least squares, with a ridge or without.

    Attributes
    ----------
    centre : Centring
    X : ndarray (n, d)
        So centred.
    coefficients : ndarray (d, q)
    residual : ndarray (n, q)
    lifting : ndarray (d, k)
        From the solver's coordinates to the coefficients.
    """

    centre: Centring
    X: Array
    coefficients: Array
    residual: Array
    lifting: Array

    of_marks = True

    @classmethod
    def of(cls, optimum: Optimum, objective: Objective, data: Data) -> FittedRows | None:
        problem, samples = optimum.problem, data.samples
        if type(problem) is not Regression:
            return None
        centre = Centring(samples.weights)
        X, Y = centre(samples.dense()), centre(as_response(data.y, samples.n))
        (coefficients,) = problem.lift(optimum.M)
        lifting = problem.coordinates[0].lift(np.eye(samples.d))
        return cls(optimum, centre, X, coefficients, X @ coefficients - Y, lifting)

    def rate(self, dX: Blocks) -> Rate:
        B, R, problem = self.coefficients, self.residual, self.optimum.problem
        mean, moved = self.centre.mean(dX[0]), self.centre(dX[0])
        fitted = moved @ B
        gradient = self.lifting.T @ (moved.T @ R + self.X.T @ fitted) * (2.0 / problem.unit)
        observed = Observed(
            tuple(map(np.zeros_like, problem.maps(self.optimum.M))),
            (np.zeros_like(B),),
            (mean,),
            2.0 * float(np.vdot(R, fitted)),
            np.zeros_like(matrix_of(self.optimum.axes)),
        )
        return Rate(gradient, observed)

    def pulled(self, V: Sequence[Array]) -> list[Array]:
        problem, B, X = self.optimum.problem, self.coefficients, self.X
        lowered = self.lifting.T @ self._pulled_of_map(V[0])
        u = (2.0 / problem.unit) * (self.lifting @ self.optimum.solve(lowered))
        return [-self.centre.back(self.residual @ u.T + X @ u @ B.T)]

    def _pulled_of_map(self, V: Array) -> Array:
        """The derivative in B of <V', the map>."""
        (P,), B, r = self.optimum.problem.maps(self.optimum.M), self.coefficients, V.shape[1]
        U, s, Vt = np.linalg.svd(B, full_matrices=False)
        if r > len(s):
            raise ArgumentError(
                f"the map of {len(s)} response(s) has {len(s)} row(s) of its own, and r = {r}: the "
                f"others are arbitrary; expected r <= {len(s)}"
            )
        lead, values, right, lengths = U[:, :r], s[:r], Vt[:r], np.hypot(1.0, s[:r])
        V = V * np.sign(np.einsum("kd,dk->k", P, lead))
        turned = moved_vectors(U, s, V, "singular values of the coefficients") * lengths
        longer = np.einsum("dk,dk->k", lead, V) * values / lengths
        found: Array = (turned * values + lead * longer) @ right + lead @ (turned.T @ B)
        return found


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


@dataclass(frozen=True)
class Weight:
    """One of the weights, and what it was found of.

    Attributes
    ----------
    S : ndarray (d, q)
    U, s, Vt : ndarray
        Its singular value decomposition.
    score : ndarray (n,)
        Xw, of which `along` (j,) is that of the earlier scores, and the rest is `length` long.
    loading : ndarray (d,)
        X't.
    """

    S: Array
    U: Array
    s: Array
    Vt: Array
    score: Array
    along: Array
    length: float
    loading: Array

    @property
    def w(self) -> Array:
        column: Array = self.U[:, 0]
        return column

    def across(self, b: Array) -> Array:
        """The y across w with (s^2 I - SS') y = b."""
        return moved_vectors(
            self.U, self.s, b[:, None], "covariances of weights with the response"
        )[:, 0]


@dataclass(frozen=True)
class ScoresOfRows(Known):
    """An optimum of pls-regression.

    Attributes
    ----------
    X, Y : ndarray (n, d), (n, q)
        Centred.
    weights : list of Weight
    R, T, V : ndarray (d, r), (n, r), (d, r)
        Rotations, scores and, of simpls, orthonormal loadings.
    scale : ndarray (r,)
        By what the rows of the map are larger than R's columns.
    nipals : bool
    """

    X: Array
    Y: Array
    weights: list[Weight]
    R: Array
    T: Array
    V: Array
    scale: Array
    nipals: bool

    of_columns = False

    @classmethod
    def of(cls, optimum: Optimum, objective: Objective, data: Data) -> ScoresOfRows | None:
        """None where the response is explained before the last weight."""
        problem, samples = optimum.problem, data.samples
        if not isinstance(problem, ScoreRegression) or not isinstance(objective, PLSRegression):
            return None
        nipals = objective.algorithm == "nipals"
        X, Y = centred(samples.dense()), centred(as_response(data.y, samples.n))
        r, S = len(problem.P), X.T @ Y
        R, V, T = (np.zeros((k, r)) for k in (samples.d, samples.d, samples.n))
        weights, least = [], EXPLAINED * np.linalg.norm(S)
        for j in range(r):
            if not np.linalg.norm(S) > least:
                return None
            U, s, Vt = np.linalg.svd(S, full_matrices=False)
            score = X @ U[:, 0]
            along = T[:, :j].T @ score
            t = score - T[:, :j] @ along
            length = float(np.linalg.norm(t))
            T[:, j], R[:, j] = t / length, (U[:, 0] - R[:, :j] @ along) / length
            weights.append(Weight(S, U, s, Vt, score, along, length, X.T @ T[:, j]))
            v = weights[j].loading
            if not nipals:
                v = v - V[:, :j] @ (V[:, :j].T @ v)
                V[:, j] = v / np.linalg.norm(v)
            S = S - (np.outer(v, T[:, j] @ Y) if nipals else np.outer(V[:, j], V[:, j] @ S))
        scale = np.einsum("ij,ji->i", problem.P, R) / np.einsum("ij,ij->j", R, R)
        return cls(optimum, X, Y, weights, R, T, V, scale, nipals)

    def rate(self, dX: Blocks) -> Rate:
        mean = dX[0].mean(axis=0)
        moved, X, Y, R, T, V = dX[0] - mean, self.X, self.Y, self.R, self.T, self.V
        dR, dT, dV, dS = *map(np.zeros_like, (R, T, V)), moved.T @ Y
        for j, one in enumerate(self.weights):
            t, p, earlier = T[:, j], one.loading, slice(j)
            w, s, right = one.w, one.s[0], one.Vt[0]
            dw = one.across(s * (dS @ right) + one.S @ (dS.T @ w))
            of_score = moved @ w + X @ dw
            of_along = dT[:, earlier].T @ one.score + T[:, earlier].T @ of_score
            of_rest = of_score - dT[:, earlier] @ one.along - T[:, earlier] @ of_along
            longer = t @ of_rest
            dT[:, j] = (of_rest - longer * t) / one.length
            turned = dw - dR[:, earlier] @ one.along - R[:, earlier] @ of_along
            dR[:, j] = (turned - longer * R[:, j]) / one.length
            dp = moved.T @ t + X.T @ dT[:, j]
            if self.nipals:
                dS = dS - np.outer(dp, t @ Y) - np.outer(p, dT[:, j] @ Y)
                continue
            v, V_, dV_ = V[:, j], V[:, earlier], dV[:, earlier]
            dv = dp - dV_ @ (V_.T @ p) - V_ @ (dV_.T @ p + V_.T @ dp)
            dV[:, j] = (dv - (v @ dv) * v) / (v @ p)
            dS = dS - np.outer(dV[:, j], v @ one.S) - np.outer(v, dV[:, j] @ one.S + v @ dS)
        loadings, of_loadings, optimum = T.T @ Y, dT.T @ Y, self.optimum
        observed = Observed(
            (self.scale[:, None] * dR.T,),
            (dR @ loadings + R @ of_loadings,),
            (mean,),
            -2.0 * float(np.vdot(loadings, of_loadings)),
            np.zeros_like(matrix_of(optimum.axes)),
        )
        return Rate(np.zeros_like(optimum.M), observed)

    def pulled(self, V: Sequence[Array]) -> list[Array]:
        X, Y, R, T, N = self.X, self.Y, self.R, self.T, self.V
        found, of_R, of_T, of_N = np.zeros_like(X), V[0] * self.scale, *map(np.zeros_like, (T, N))
        of_S = np.zeros_like(self.weights[0].S)
        for j, one in reversed([*enumerate(self.weights)]):
            t, p, earlier, of_p = T[:, j], one.loading, slice(j), np.zeros(len(R))
            if self.nipals:
                of_p -= of_S @ (Y.T @ t)
                of_T[:, j] -= Y @ (of_S.T @ p)
            else:
                v = N[:, j]
                of_v = of_N[:, j] - of_S @ (one.S.T @ v) - one.S @ (of_S.T @ v)
                of_S = of_S - np.outer(v, v @ of_S)
                z = (of_v - (v @ of_v) * v) / (v @ p)
                inside = N[:, earlier].T @ z
                of_p += z - N[:, earlier] @ inside
                of_N[:, earlier] -= np.outer(z, N[:, earlier].T @ p) + np.outer(p, inside)
            of_t = of_T[:, j] + X @ of_p
            of_r = of_R[:, j] / one.length
            of_rest = (of_t - (t @ of_t) * t) / one.length - (R[:, j] @ of_r) * t
            of_along = -R[:, earlier].T @ of_r - T[:, earlier].T @ of_rest
            of_R[:, earlier] -= np.outer(of_r, one.along)
            of_T[:, earlier] += np.outer(one.score, of_along) - np.outer(of_rest, one.along)
            of_score = of_rest + T[:, earlier] @ of_along
            y = one.across(of_r + X.T @ of_score)
            of_S = of_S + one.s[0] * np.outer(y, one.Vt[0]) + np.outer(one.w, one.S.T @ y)
            found += np.outer(t, of_p) + np.outer(of_score, one.w)
        return [centred(found + Y @ of_S.T)]
