"""Least squares with a coefficient matrix of rank r, over its singular vectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from ldr.objectives.certificate import Certificate
from ldr.objectives.objective import BoundObjective, check_dimension
from ldr.solvers.manifolds import Array, Product, Stiefel
from ldr.solvers.problem import Point


class ReducedRankPoint(Point):
    """f = t - sum_k c_k^2/a_k, which is ||Y - X Min S Mout'||^2 at the best diagonal S.

    It is added up of what least squares leaves and of ||T - Z Min S Mout'||^2, with Z'Z = X'X and
    Z'T = X'Y: squares, where the difference could be negative.

    t = ||Y||^2, c_k = m_k'X'Y n_k and a_k = m_k'X'X m_k for the columns m_k of Min and n_k of Mout;
    S_k = c_k/a_k, whose sign is a matter of m_k's. Gradient [-2 X'Y n S + 2 X'X m S^2; -2 Y'X m S].
    """

    def __init__(self, problem: ReducedRank, M: Array) -> None:
        self.M = M
        self._problem = problem
        self._in, self._out = problem.product.split(M)
        self._Kn = problem.cross @ self._out
        self._Km = problem.cross.T @ self._in
        self._Am = problem.gram @ self._in
        self._a = np.einsum("ik,ik->k", self._in, self._Am)
        self._c = np.einsum("ik,ik->k", self._in, self._Kn)
        self.S = self._c / self._a

    @cached_property
    def value(self) -> float:
        problem = self._problem
        rest = problem.T - (problem.Z @ self._in * self.S) @ self._out.T
        return problem.unexplained + float(np.vdot(rest, rest))

    @cached_property
    def gradient(self) -> Array:
        inward = -2.0 * self.S * self._Kn + 2.0 * self.S**2 * self._Am
        return self._problem.product.join([inward, -2.0 * self.S * self._Km])

    def hessian_vector(self, V: Array) -> Array:
        problem, S = self._problem, self.S
        Vin, Vout = problem.product.split(V)
        KV, AV = problem.cross @ Vout, problem.gram @ Vin
        dc = np.einsum("ik,ik->k", Vin, self._Kn) + np.einsum("ik,ik->k", self._in, KV)
        dS = (dc - 2.0 * S * np.einsum("ik,ik->k", Vin, self._Am)) / self._a
        inward = -2.0 * (dS * self._Kn + S * KV) + 2.0 * (2.0 * S * dS * self._Am + S**2 * AV)
        outward = -2.0 * (dS * self._Km + S * (problem.cross.T @ Vin))
        return problem.product.join([inward, outward])


@dataclass
class ReducedRank(BoundObjective):
    """Minimise ||Y - X Min S Mout'||_F^2 over St x St and diagonal S >= 0, S in closed form.

    Exact: with the fitted values of least squares F = X B, B_r = B V_r V_r' for the leading right
    singular vectors V_r of F, and Min S Mout' the singular value decomposition of B_r.

    Parameters
    ----------
    gram : ndarray (k, k)
        X'X, positive definite.
    cross : ndarray (k, q)
        X'Y.
    total : float
        ||Y||^2.
    r : int
    directions : callable
        From r to the heuristic's k x r directions of X, on which Y is regressed.
    """

    gram: Array
    cross: Array
    total: float
    r: int
    directions: Callable[[int], Array]

    def __post_init__(self) -> None:
        check_dimension(self.r, min(self.cross.shape))
        k, q = self.cross.shape
        self.product = Product(Stiefel(k, self.r), Stiefel(q, self.r))
        self.manifold = self.product

    @cached_property
    def Z(self) -> Array:
        """The triangular factor of the Gram matrix."""
        return np.asarray(scipy.linalg.cholesky(self.gram))

    @cached_property
    def T(self) -> Array:
        """What of the outputs lies in the span of X, in the rows of Z."""
        return np.asarray(scipy.linalg.solve_triangular(self.Z, self.cross, trans="T"))

    @cached_property
    def unexplained(self) -> float:
        """The sum of squares that least squares leaves."""
        return max(0.0, self.total - float(np.vdot(self.T, self.T)))

    @property
    def order(self) -> int:
        return max(self.cross.shape)

    def at(self, M: Array) -> ReducedRankPoint:
        return ReducedRankPoint(self, M)

    def _factored(self, left: Array, right: Array) -> Array:
        """The point of the coefficients left @ right', from their singular vectors."""
        Q, R = np.linalg.qr(left)
        Qr, Rr = np.linalg.qr(right)
        U, _, Vt = np.linalg.svd(R @ Rr.T)
        return self.manifold.nearest(self.point([Q @ U, Qr @ Vt.T]))

    @cached_property
    def _optimum(self) -> Array:
        U, values, Vt = np.linalg.svd(self.T, full_matrices=False)
        r = self.r
        left = scipy.linalg.solve_triangular(self.Z, U[:, :r] * values[:r])
        return self._factored(left, Vt[:r].T)

    def closed_form(self) -> Array:
        return self._optimum

    def baseline(self) -> Array:
        E = self.directions(self.r)
        coefficients = np.linalg.solve(E.T @ self.gram @ E, E.T @ self.cross)
        return self._factored(E, np.asarray(coefficients.T, dtype=np.float64))

    def lift(self, M: Array) -> tuple[Array, ...]:
        """Min's columns have the signs that make S >= 0."""
        signs = np.where(self.at(M).S < 0, -1.0, 1.0)
        inward, outward = super().lift(M)
        return inward * signs, outward

    def maps(self, M: Array) -> tuple[Array, ...]:
        """Pin = S Min' and Pout = Mout', so that the fitted values are (x - mean)Pin'Pout."""
        inward, outward = self.lift(M)
        return np.abs(self.at(M).S)[:, None] * inward.T, outward.T

    def parameters(self, M: Array) -> dict[str, float]:
        return {f"S_{k + 1}": float(abs(s)) for k, s in enumerate(self.at(M).S)}

    def certificate(self, M: Array) -> Certificate:
        """The closed form is the least squares fit of rank r."""
        gap = max(0.0, self.at(M).value - self.at(self.closed_form()).value)
        if gap <= 1e-10 * self.total:
            return Certificate("global", gap, "the fit is that of the closed form")
        return Certificate("bound", gap, "no fit of rank r is closer than the closed form's")
