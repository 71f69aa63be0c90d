"""Approximate joint diagonalisation of positive definite matrices."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from ldr.solvers.loop import run_through
from ldr.solvers.manifolds import Array, Euclidean
from ldr.solvers.problem import Point, Preconditioner, Problem
from ldr.solvers.records import dataclass
from ldr.solvers.trust_region.outer import TrustRegion

# Least eigenvalue of the preconditioner's blocks, which are singular where two columns are alike.
_LEAST = 1e-6


def inverse_in_pairs(h: Array, least: float = _LEAST) -> Callable[[Array], Array]:
    """T -> E with h_ij E_ij + E_ji = T_ij, i != j; nothing on the diagonal.

    It is the Hessian of E -> sum_j h_ij E_ij^2/2 - log |det(I + E)|, the relative change of
    sources that are independent. The blocks [[h_ij, 1], [1, h_ji]] are shifted to be definite.
    """
    lowest = 0.5 * (h + h.T - np.hypot(h - h.T, 2.0))
    h = h + np.maximum(least - lowest, 0.0)
    determinant = h * h.T - 1.0
    np.fill_diagonal(determinant, np.inf)
    return lambda T: (h.T * T - T.T) / determinant


class JointDiagonalPoint(Point):
    """f(V) = 1/2 mean_c log det diag(V'C_cV) - log |det V|, with d_ci = (V'C_cV)_ii.

    Gradient_i mean_c C_cv_i/d_ci less that of the determinant, V^{-1}'; Hessian product_i
    mean_c (C_cu_i/d_ci - 2 C_cv_i <C_cv_i, u_i>/d_ci^2) plus V^{-1}'U'V^{-1}'.
    """

    def __init__(self, problem: JointDiagonal, V: Array) -> None:
        self.M = V
        self._C = problem.C
        self._CV = self._C @ V
        self._d = np.einsum("ij,cij->cj", V, self._CV)

    @cached_property
    def value(self) -> float:
        if not (self._d > 0).all():
            return np.inf
        volume = float(np.linalg.slogdet(self.M)[1])
        return 0.5 * float(np.log(self._d).sum()) / len(self._C) - volume

    @cached_property
    def _inverse(self) -> Array:
        """V^{-1}'."""
        return np.asarray(np.linalg.inv(self.M).T)

    @cached_property
    def gradient(self) -> Array:
        return np.mean(self._CV / self._d[:, None, :], axis=0) - self._inverse

    def hessian_vector(self, U: Array) -> Array:
        d = self._d[:, None, :]
        along = np.einsum("ij,cij->cj", U, self._CV)[:, None, :]
        curved = np.mean((self._C @ U - (2.0 / d) * along * self._CV) / d, axis=0)
        return curved + self._inverse @ U.T @ self._inverse


@dataclass(frozen=True)
class JointDiagonal(Problem):
    """Make all V'C_cV as diagonal as they can be: Pham's criterion, but for a constant.

    Scales and order of the columns are free, and so is what multiplies one of the C_c.

    Source: Pham 2001.

    Parameters
    ----------
    C : ndarray (m, k, k)
        Positive definite.
    """

    preconditioner_cost = 1

    C: Array

    @property
    def manifold(self) -> Euclidean:  # type: ignore[override]
        k = self.C.shape[1]
        return Euclidean(k, k)

    def at(self, V: Array) -> JointDiagonalPoint:
        return JointDiagonalPoint(self, V)

    def preconditioner(self, M: Array) -> Preconditioner:
        """The inverse of the Hessian of E -> f(V + VE) where all V'C_cV are diagonal.

        Pairs of entries are by themselves: [[h_ij, 1], [1, h_ji]], h_ij = mean_c d_ci/d_cj.
        """
        d = np.einsum("ij,cij->cj", M, self.C @ M)
        h = np.mean(d[:, :, None] / d[:, None, :], axis=0)
        across = inverse_in_pairs(h)
        return lambda V, U: V @ (across(V.T @ U) + np.diag(_along(V, U)))


def _along(V: Array, U: Array) -> Array:
    """The diagonal of V'U, along which f does not change."""
    return np.asarray(np.einsum("ij,ij->j", V, U))


def joint_diagonaliser(C: Array) -> Array:
    """V of the joint diagonalisation, from V = I: a local minimum, columns in no order.

    Parameters
    ----------
    C : ndarray (m, k, k)
        In coordinates in which their mean is the identity.
    """
    return run_through(JointDiagonal(C), np.eye(C.shape[1]), TrustRegion()).M
