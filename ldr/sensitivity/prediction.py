"""How predictive information moves with the rows, which it knows by lagged covariances C_k.

In coordinates T = LM with L'C_0L = I; along dX, E = L'dC_0 L, L moves by -LE/2, so that L'C_kL does
by L'dC_k L - (E L'C_kL + L'C_kL E)/2.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ldr.objectives.data.data import Data
from ldr.objectives.dca import DCA, Predictive, PredictivePoint, stationary
from ldr.objectives.objective import Objective
from ldr.sensitivity.forms import Blocks
from ldr.sensitivity.known import Known
from ldr.sensitivity.optimum import Observed, Optimum, Rate
from ldr.solvers.manifolds import Array
from ldr.solvers.manifolds.orthonormal import sym
from ldr.solvers.records import dataclass


@dataclass(frozen=True)
class Windows:
    """The windows of rows that their lagged covariances are a mean over.

    C_k is the mean of x_{t+j+k}x_{t+j}' over the windows t and over j, rows less the mean of those
    at their place in a window.

    Attributes
    ----------
    n, length : int
    """

    n: int
    length: int

    @property
    def count(self) -> int:
        return self.n - self.length + 1

    def rows(self, X: Array) -> Array:
        """Those at place 0 of all windows, at place 1, ..., each less its mean."""
        places = (X[j : j + self.count] for j in range(self.length))
        return np.concatenate([each - each.mean(axis=0) for each in places])

    def pulled(self, Z: Array) -> Array:
        """The transpose."""
        found = np.zeros((self.n, Z.shape[1]))
        for j, each in enumerate(np.split(Z, self.length)):
            found[j : j + self.count] += each - each.mean(axis=0)
        return found

    def lagged(self, k: int, Z: Array, Y: Array) -> Array:
        """Z'Y of rows of Z that are k later."""
        m = self._pairs(k)
        return Z[-m:].T @ Y[:m] / m

    def leading(self, k: int, Z: Array, Y: Array) -> Array:
        """Z'Y of rows of Z that are k earlier."""
        m = self._pairs(k)
        return Z[:m].T @ Y[-m:] / m

    def pulled_of_lagged(self, k: int, G: Array, Z: Array) -> Array:
        """The derivative of <G, C_k> in Z."""
        found, m = np.zeros_like(Z), self._pairs(k)
        found[-m:] += Z[:m] @ G.T / m
        found[:m] += Z[-m:] @ G / m
        return found

    def _pairs(self, k: int) -> int:
        return (self.length - k) * self.count


@dataclass(frozen=True)
class WindowsOfRows(Known):
    """An optimum of dca.

    Attributes
    ----------
    windows : Windows
    Z : ndarray (length * count, d)
        Their rows.
    L : ndarray (d, k)
    ridge : float
        Of C_0, in units of the mean of its diagonal.
    point : PredictivePoint
        At the optimum.
    """

    windows: Windows
    Z: Array
    L: Array
    ridge: float
    point: PredictivePoint

    @classmethod
    def of(cls, optimum: Optimum, objective: Objective, data: Data) -> WindowsOfRows | None:
        """None of covariances that no series has."""
        problem, X = optimum.problem, data.samples.dense()
        if not isinstance(problem, Predictive) or not isinstance(objective, DCA):
            return None
        (coordinates,), unit = problem.coordinates, np.eye(len(optimum.M))
        L = coordinates.map(unit, coordinates.lift(unit)).T
        windows = Windows(len(X), len(problem.C))
        Z = windows.rows(X - X.mean(axis=0))
        ZL = Z @ L
        if stationary(np.array([windows.lagged(k, ZL, ZL) for k in range(windows.length)]))[1]:
            return None
        return cls(optimum, windows, Z, L, objective.ridge, problem.at(optimum.M))

    def rate(self, dX: Blocks) -> Rate:
        windows, Z, L, M = self.windows, self.Z, self.L, self.optimum.M
        problem, K = self.optimum.problem, self.windows.length
        dZ, T, C = windows.rows(dX[0]), L @ M, self._C
        ZT, dZT = Z @ T, dZ @ T
        trace = 2.0 * float(np.vdot(dZ, Z)) / len(Z)

        def E(V: Array) -> Array:
            U = L @ V
            both = dZ.T @ (Z @ U) + Z.T @ (dZ @ U)
            return np.asarray(L.T @ (both / len(Z) + self.ridge * trace / len(L) * U))

        CM = np.concatenate([C @ M, C.transpose(0, 2, 1) @ M])
        EM, *EC = np.split(E(np.hstack([M, *CM])), 2 * K + 1, axis=1)
        both = np.zeros_like(CM)
        for i in range(2 * K):
            k, times = i % K, windows.lagged if i < K else windows.leading
            if k:  # C_0 stays
                across = C[k] if i < K else C[k].T
                own = L.T @ (times(k, dZ, ZT) + times(k, Z, dZT))
                both[i] = own - 0.5 * (EC[i] + across @ EM)
        dB = M.T @ both[:K]
        gradient = self.point.changed(dB, both[:K], both[K:])
        mean = np.mean([dX[0][j : j + windows.count].mean(axis=0) for j in range(K)], axis=0)
        value = problem.objective.sign * float(np.vdot(self.point.slopes, dB))
        observed = Observed((-0.5 * (L @ EM).T,), (), (mean,), value, sym(dB[1]))
        return Rate(gradient, observed)

    def pulled(self, V: Sequence[Array]) -> list[Array]:
        L, M, C = self.L, self.optimum.M, self._C
        lowered = L.T @ V[0]
        W = sym(self.optimum.turn(M.T @ lowered))
        u = self.optimum.solve(lowered + (C[1] + C[1].T) @ M @ W)
        N, G = self.point.pulled(u)
        of_C = -(u @ N @ M.T + M @ N @ u.T + M @ G @ M.T)
        of_C[1] += M @ W @ M.T
        of_C[0] = 0.0
        Ct = C.transpose(0, 2, 1)
        of_E = -0.5 * sym(lowered @ M.T + np.sum(of_C @ Ct + Ct @ of_C, axis=0))
        of_C = L @ of_C @ L.T
        trace = self.ridge * float(np.vdot(of_E, L.T @ L)) / len(L)
        of_C[0] = L @ of_E @ L.T + trace * np.eye(len(L))
        parts = (self.windows.pulled_of_lagged(k, each, self.Z) for k, each in enumerate(of_C))
        return [self.windows.pulled(sum(parts, start=np.zeros_like(self.Z)))]

    @property
    def _C(self) -> Array:
        problem = self.optimum.problem
        assert isinstance(problem, Predictive)
        return problem.C
