"""How the scores of a regression move with its inputs: partial least squares, weight by weight.

The weight w is the leading left singular vector of S, which is X'Y less what earlier scores t take
of it: with its singular value s and right vector v, (s^2 I - SS') dw = s dS v + S dS'w across w.
Scores t = Xw and rotations R, T = XR, follow by the steps of Gram and Schmidt, and so do their
derivatives; a cotangent goes back through the same steps, from the last weight to the first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ldr.objectives.data.data import Data
from ldr.objectives.kernels import as_response
from ldr.objectives.objective import Objective
from ldr.objectives.pls import EXPLAINED, PLSRegression, ScoreRegression
from ldr.sensitivity.forms import Blocks, centred
from ldr.sensitivity.known import Known, moved_vectors
from ldr.sensitivity.optimum import Observed, Optimum, Rate, matrix_of
from ldr.solvers.manifolds import Array
from ldr.solvers.records import dataclass


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
