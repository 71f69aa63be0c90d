"""How gradient outer products move with the rows: kernel regression, differentiated twice.

G = mean_i sum_p g_pi g_pi' of the gradients B_p = Gamma_pM = (K diag(a_p) - diag(Ka_p))XM/sigma^2
of the regression A = (K + n eps I)^{-1}Z. Along dX, dK_ij = -K_ij <x_i - x_j, dx_i - dx_j>/sigma^2
and dA = -(K + n eps I)^{-1} dK A. A width that is a median grows by the share l: G is then that of
rows that move by dX - lX, less 2lG.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import scipy

from ldr.objectives.data.data import Data
from ldr.objectives.families.gram import kernel_width
from ldr.objectives.families.trace import Trace
from ldr.objectives.gkdr import GKDR
from ldr.objectives.kernels import Response, gaussian_gram, gradient_of_median
from ldr.objectives.objective import Objective
from ldr.sensitivity.forms import Blocks, centred
from ldr.sensitivity.known import Known
from ldr.sensitivity.optimum import Observed, Optimum, Rate
from ldr.solvers.manifolds import Array
from ldr.solvers.manifolds.orthonormal import sym
from ldr.solvers.records import dataclass


@dataclass(frozen=True)
class GradientsOfRows(Known):
    """An optimum of gkdr.

    Attributes
    ----------
    X : ndarray (n, d)
        Centred.
    Z : ndarray (n, p)
        Features of the response.
    width : float
    ridge : float
        n eps.
    widens : ndarray (n, d) or None
        The derivative in X of the logarithm of the width; None where it is given.
    """

    X: Array
    Z: Array
    width: float
    ridge: float
    widens: Array | None

    of_own_columns = True

    @classmethod
    def of(cls, optimum: Optimum, objective: Objective, data: Data) -> GradientsOfRows | None:
        problem, samples = optimum.problem, data.samples
        if not isinstance(objective, GKDR) or type(problem) is not Trace:
            return None  # a sample of many rows
        X, own = centred(samples.dense()), objective
        width = own.width or kernel_width(X, None, 1, 1)
        Z = Response.of(data.y, samples.n, own.response, None).features(own.response_width, None)[0]
        widens = gradient_of_median(X) if own.width is None else None
        return cls(optimum, X, Z, width, samples.n * own.epsilon, widens)

    @cached_property
    def _K(self) -> Array:
        return gaussian_gram(self.X, self.width)

    def factored(self) -> tuple[Array, bool]:
        """Cholesky's factor of K + n eps I."""
        ridged = self._K + self.ridge * np.eye(len(self._K))
        found: tuple[Array, bool] = scipy.linalg.cho_factor(ridged, check_finite=False)
        return found

    @cached_property
    def _factor(self) -> tuple[Array, bool]:
        return self.factored()

    def _solved(self, R: Array) -> Array:
        return np.asarray(scipy.linalg.cho_solve(self._factor, R, check_finite=False))

    @cached_property
    def _A(self) -> Array:
        return self._solved(self.Z)

    @cached_property
    def _KA(self) -> Array:
        return self._K @ self._A

    def _times(self, K: Array, F: Array) -> Array:
        """KF_p of each p."""
        n, p, r = F.shape
        return (K @ F.reshape(n, p * r)).reshape(n, p, r)

    def _gradients(self, Y: Array) -> Array:
        """B of Y = XM, (n, p, r)."""
        found = self._times(self._K, self._A[:, :, None] * Y[:, None])
        found -= self._KA[:, :, None] * Y[:, None]
        return found / self.width**2

    def _back(self, F: Array, KF: Array) -> Array:
        """sum_p (diag(a_p)K - diag(Ka_p))F_p / sigma^2."""
        found = np.einsum("np,npr->nr", self._A, KF) - np.einsum("np,npr->nr", self._KA, F)
        return np.asarray(found) / self.width**2

    @cached_property
    def _at(self) -> tuple[Array, Array, Array, Array]:
        """Y, B, KB and GM."""
        Y = self.X @ self.optimum.M
        B = self._gradients(Y)
        KB = self._times(self._K, B)
        return Y, B, KB, self.X.T @ self._back(B, KB) / len(Y)

    @property
    def _unit_of_axes(self) -> float:
        found = np.einsum("ij,ij->j", self.optimum.M, self._at[3])
        return float(self.optimum.axes.numbers @ found / (found @ found))

    def rate(self, dX: Blocks) -> Rate:
        mean, widens = dX[0].mean(axis=0), 0.0
        moved, X, A, K, KA = dX[0] - mean, self.X, self._A, self._K, self._KA
        (Y, B, KB, GM), M, problem = self._at, self.optimum.M, self.optimum.problem
        if self.widens is not None:
            widens = float(np.vdot(self.widens, moved))
            moved = moved - widens * X
        own = np.einsum("ij,ij->i", X, moved)[:, None]
        dK = np.hstack([X, moved]) @ np.hstack([moved, X]).T
        dK -= own
        dK -= own.T
        dK *= K
        dK /= self.width**2
        of_A = dK @ A
        dA, dY = -self._solved(of_A), moved @ M
        dKA = of_A + K @ dA
        AY = A[:, :, None] * Y[:, None]
        dAY = dA[:, :, None] * Y[:, None] + A[:, :, None] * dY[:, None]
        dB = self._times(dK, AY) + self._times(K, dAY)
        dB -= dKA[:, :, None] * Y[:, None] + KA[:, :, None] * dY[:, None]
        dB /= self.width**2
        changed = np.einsum("np,npr->nr", dA, KB) + np.einsum("np,npr->nr", A, self._times(dK, B))
        changed = (changed - np.einsum("np,npr->nr", dKA, B)) / self.width**2
        changed += self._back(dB, self._times(K, dB))
        dGM = (moved.T @ self._back(B, KB) + X.T @ changed) / len(X) - 2.0 * widens * GM
        inside = sym(M.T @ dGM)
        observed = Observed(
            (np.zeros_like(M.T),),
            (np.zeros_like(M),),
            (mean,),
            float(np.trace(inside)),
            self._unit_of_axes * inside,
        )
        return Rate((-2.0 / problem.unit) * dGM, observed)

    def pulled(self, V: Sequence[Array]) -> list[Array]:
        X, A, K, n = self.X, self._A, self._K, len(self.X)
        (_, B, KB, GM), M, problem = self._at, self.optimum.M, self.optimum.problem
        W = self._unit_of_axes * sym(self.optimum.turn(M.T @ V[0]))
        u = self.optimum.solve(V[0] + 2.0 * GM @ W)
        N = (2.0 / problem.unit) * u + M @ W  # what is asked for is <N, dG M>
        U = X @ np.hstack([M, N])
        Q = self._gradients(U[:, M.shape[1] :])
        F = np.concatenate([Q, B], axis=2) / n
        KF = np.concatenate([self._times(K, Q), KB], axis=2) / n
        found = self._back(F, KF) @ np.hstack([M, N]).T
        along = np.einsum("npr,nr->np", F, U)
        of_A = (np.einsum("npr,nr->np", KF, U) - K @ along) / self.width**2
        left = np.hstack([F.reshape(n, -1), -along]) / self.width**2
        right = np.hstack([(A[:, :, None] * U[:, None]).reshape(n, -1), A])
        of_K = (left @ right.T - self._solved(of_A) @ A.T) * K
        of_K += of_K.T
        found -= (of_K.sum(axis=1)[:, None] * X - of_K @ X) / self.width**2
        if self.widens is not None:
            value = float(np.vdot(N, GM))
            found -= (float(np.vdot(found, X)) + 2.0 * value) * self.widens
        return [found]
