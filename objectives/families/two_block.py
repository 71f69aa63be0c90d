"""Two blocks: correlation of two projected views, on a product of Stiefel manifolds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg

from ldr.objectives.certificate import Certificate
from ldr.objectives.objective import BoundObjective, check_dimension
from ldr.solvers.manifolds import Array, Product, Stiefel, polar_factor
from ldr.solvers.problem import Point, Preconditioner
from ldr.solvers.self_consistent_field import largest_trace_ratio


# Least eigenvalue of K - s_j that the preconditioner divides by, relative to the largest of K.
_LEAST_GAP = 1e-12

# Relative ridge of the multipliers' equations, which are singular where they are redundant.
_MULTIPLIER_RIDGE = 1e-12

# The multipliers' equations cost r^6 / 24; above this r they cost more than they save.
_MOST_MULTIPLIERS = 64


class TwoBlockPoint(Point):
    """f = -N / s, N = tr(Ma'CabMb), s = sqrt(alpha beta), alpha = tr(Ma'CaaMa), beta likewise.

    The two blocks are stacked, [Ma; Mb], which is how the flat point lies in memory. Gradient
    [-CabMb/s + (rho/alpha) CaaMa; -CbaMa/s + (rho/beta) CbbMb] with rho = -f; its derivative takes
    one product with the stacked matrix [[(rho/alpha) Caa, -Cab/s], [-Cba/s, (rho/beta) Cbb]].
    """

    def __init__(self, problem: TwoBlock, M: Array) -> None:
        self.M = M
        self._problem = problem
        stacked = M.reshape(-1, problem.r)
        da = problem.da
        Ma, Mb = stacked[:da], stacked[da:]
        self._own = np.concatenate([problem.Caa @ Ma, problem.Cbb @ Mb])
        self._cross = np.concatenate([problem.Cab @ Mb, problem.Cab.T @ Ma])
        self._alpha = float(np.vdot(Ma, self._own[:da]))
        self._beta = float(np.vdot(Mb, self._own[da:]))
        self._s = math.sqrt(self._alpha * self._beta)
        self._rho = float(np.vdot(Ma, self._cross[:da])) / self._s

    @property
    def value(self) -> float:
        return -self._rho

    @cached_property
    def _stacked_gradient(self) -> Array:
        da = self._problem.da
        G = self._cross * (-1.0 / self._s)
        G[:da] += (self._rho / self._alpha) * self._own[:da]
        G[da:] += (self._rho / self._beta) * self._own[da:]
        return G

    @property
    def gradient(self) -> Array:
        return self._stacked_gradient.reshape(-1)

    @cached_property
    def _K(self) -> Array:
        problem, s, rho = self._problem, self._s, self._rho
        return np.block(
            [
                [(rho / self._alpha) * problem.Caa, problem.Cab / -s],
                [problem.Cab.T / -s, (rho / self._beta) * problem.Cbb],
            ]
        )

    def stacked(self) -> tuple[Array, Array, Array, int]:
        """The stacked matrix K, M and gradient as two blocks of rows, and where the second begins."""
        return self._K, self.M.reshape(-1, self._problem.r), self._stacked_gradient, self._problem.da

    def hessian_vector(self, V: Array) -> Array:
        da = self._problem.da
        V = V.reshape(-1, self._problem.r)
        dalpha = 2.0 * float(np.vdot(self._own[:da], V[:da])) / self._alpha  # relative
        dbeta = 2.0 * float(np.vdot(self._own[da:], V[da:])) / self._beta
        ds = 0.5 * (dalpha + dbeta)
        drho = -float(np.vdot(self._stacked_gradient, V))
        HV = self._K @ V
        HV += (ds / self._s) * self._cross
        HV[:da] += ((drho - self._rho * dalpha) / self._alpha) * self._own[:da]
        HV[da:] += ((drho - self._rho * dbeta) / self._beta) * self._own[da:]
        return HV.reshape(-1)


class JointInverse:
    """An approximate inverse of the Riemannian Hessian at M = [Ma; Mb], on the tangent space there.

    Up to terms of rank four the Hessian maps V to the projection of KV - [Va Sa; Vb Sb], where K is
    the stacked matrix of `TwoBlockPoint` and Sa, Sb the multipliers sym(Ma'Ga), sym(Mb'Gb). With
    their mean S = R diag(s) R' in the place of both it acts on the columns of VR one by one,
    K - s_j, and one eigendecomposition of K inverts all of them. The eigenvalues' magnitude, floored,
    is inverted, which makes the inverse positive definite.

    The tangent space asks for M'V = 0, which holds joint rotations back, too: there K is restricted
    to the complement of M. What it asks for besides, sym(J'V) = 0 with J = [Ma; -Mb], is kept by a
    symmetric multiplier Theta: (K - S) V = U - J Theta, with r (r + 1) / 2 linear equations for it.
    """

    def __init__(self, point: TwoBlockPoint) -> None:
        K, M, G, da = point.stacked()
        S = M[:da].T @ G[:da] + M[da:].T @ G[da:]
        s, R = scipy.linalg.eigh(0.25 * (S + S.T), check_finite=False)
        KM = 0.5 * (K @ M)
        restricted = K - KM @ M.T - M @ KM.T + M @ (0.5 * (M.T @ KM)) @ M.T
        eigenvalues, Q = scipy.linalg.eigh(restricted, driver="evd", check_finite=False)
        gaps = np.abs(eigenvalues[:, None] - s)
        self._inverse = 1.0 / np.maximum(gaps, _LEAST_GAP * eigenvalues[-1])
        self._Q, self._R = Q - M @ (0.5 * (M.T @ Q)), R
        J = np.concatenate([M[:da], -M[da:]]) @ R
        self._J = self._Q.T @ J
        self._pairs = np.triu_indices(len(s))
        self._factor = scipy.linalg.cho_factor(self._multiplier_matrix(), check_finite=False)

    def _multiplier_matrix(self) -> Array:
        """<E, J'(K - S)^{-1} J F> for the basis e_a e_b' + e_b e_a' of symmetric matrices E, F."""
        W = np.einsum("ka,kj,kb->jab", self._J, self._inverse, self._J, optimize=True)
        a, b = (index[:, None] for index in self._pairs)
        c, d = self._pairs
        matrix = (
            (b == d) * W[b, a, c] + (b == c) * W[b, a, d]
            + (a == d) * W[a, b, c] + (a == c) * W[a, b, d]
        )  # fmt: skip
        matrix[np.diag_indices_from(matrix)] *= 1.0 + _MULTIPLIER_RIDGE
        return matrix

    def __call__(self, U: Array) -> Array:
        Z = self._inverse * (self._Q.T @ U @ self._R)
        constraint = self._J.T @ Z
        a, b = self._pairs
        theta = scipy.linalg.cho_solve(
            self._factor, (constraint + constraint.T)[a, b], check_finite=False
        )
        Theta = np.zeros_like(constraint)
        Theta[a, b] = theta
        Z -= self._inverse * (self._J @ (Theta + Theta.T))
        return self._Q @ Z @ self._R.T


@dataclass
class TwoBlock(BoundObjective):
    """Maximise tr(Ma'CabMb) / sqrt(tr(Ma'CaaMa) tr(Mb'CbbMb)) on St x St.

    Parameters
    ----------
    Caa, Cab, Cbb : covariances and cross covariance of the views, Caa and Cbb positive definite
    r : int
    orthonormalise : {"polar", "qr"}
        How the heuristic makes the canonical directions orthonormal.
    """

    Caa: Array
    Cab: Array
    Cbb: Array
    r: int
    orthonormalise: str = "polar"

    def __post_init__(self) -> None:
        check_dimension(self.r, min(self.Cab.shape))
        self.da = len(self.Caa)
        self.manifold = Product(Stiefel(self.da, self.r), Stiefel(len(self.Cbb), self.r))
        self.baseline_exact = self.r == 1
        self.relative_improvement = False

    @property
    def order(self) -> int:
        return sum(self.Cab.shape)

    def at(self, M: Array) -> TwoBlockPoint:
        return TwoBlockPoint(self, M)

    def preconditioner(self, M: Array) -> Preconditioner | None:
        if self.r > _MOST_MULTIPLIERS:
            return None
        apply = JointInverse(self.at(M))
        return lambda N, U: self.manifold.project(N, apply(U.reshape(-1, self.r)).reshape(-1))

    @cached_property
    def _canonical(self) -> tuple[Array, Array, Array]:
        """Canonical directions of the views (as columns) and the canonical correlations."""
        Wa, Wb = _inverse_factor(self.Caa), _inverse_factor(self.Cbb)
        U, correlations, Vt = np.linalg.svd(Wa.T @ self.Cab @ Wb, full_matrices=False)
        return Wa @ U[:, : self.r], Wb @ Vt[: self.r].T, np.minimum(correlations, 1.0)

    def baseline(self) -> Array:
        orthonormal = polar_factor if self.orthonormalise == "polar" else _qr_factor
        Pa, Pb, _ = self._canonical
        return self.point([orthonormal(Pa), orthonormal(Pb)])

    def closed_form(self) -> Array | None:
        return self.baseline() if self.baseline_exact else None

    def certificate(self, M: Array) -> Certificate:
        """The least of two bounds on every value: rho_1, and the dual bound made of M.

        For Qa, Qb with [[Qa, -Cab], [-Cab', Qb]] >= 0, no value exceeds
        sqrt(TR(Qa, Caa) TR(Qb, Cbb)), TR the largest trace ratio. Made of the multipliers at a
        stationary M, the bound is tight; where the block matrix is not semidefinite it is shifted
        until it is.
        """
        rho = -self.at(M).value
        bound = min(float(self._canonical[2][0]), self._dual_bound(M))
        gap = max(0.0, bound - rho)
        if gap <= 1e-10:
            return Certificate("global", gap, "the dual bound equals the value")
        return Certificate("bound", gap, "no value exceeds the dual bound")

    def _dual_bound(self, M: Array) -> float:
        Ma, Mb = self.blocks(M)
        N = float(np.vdot(Ma, self.Cab @ Mb))
        Qa = _dual_block(Ma, self.Cab @ Mb, self.Caa, N)
        Qb = _dual_block(Mb, self.Cab.T @ Ma, self.Cbb, N)
        block = np.block([[Qa, -self.Cab], [-self.Cab.T, Qb]])
        spectrum = scipy.linalg.eigvalsh(block, check_finite=False)
        rounding = len(block) * np.finfo(float).eps * float(np.abs(spectrum).max())
        shift = max(0.0, rounding - float(spectrum[0]))
        ratios = []
        for Q, C, start in ((Qa, self.Caa, Ma), (Qb, self.Cbb, Mb)):
            Q[np.diag_indices_from(Q)] += shift
            ratios.append(largest_trace_ratio(Q, C, start))
        return math.sqrt(ratios[0] * ratios[1])


def _dual_block(M: Array, cross: Array, C: Array, N: float) -> Array:
    ratio = N / float(np.vdot(M, C @ M))
    L = M.T @ (cross - ratio * (C @ M))
    L = 0.5 * (L + L.T)
    smallest = float(np.linalg.eigvalsh(L)[0])
    Q = M @ (L - smallest * np.eye(len(L))) @ M.T + ratio * C
    Q[np.diag_indices_from(Q)] += smallest
    return Q


def _inverse_factor(C: Array) -> Array:
    """W with W'CW = I, from the Cholesky factor of C scaled to a unit diagonal."""
    scale = 1.0 / np.sqrt(np.diag(C))
    L = scipy.linalg.cholesky(C * scale * scale[:, None], lower=True, check_finite=False)
    inverse = scipy.linalg.solve_triangular(L, np.eye(len(C)), lower=True, check_finite=False)
    return scale[:, None] * inverse.T


def _qr_factor(P: Array) -> Array:
    Q, R = np.linalg.qr(P)
    return Q * np.where(np.diag(R) < 0, -1.0, 1.0)
