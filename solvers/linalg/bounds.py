"""Proved upper bounds of eigenvalue sums and trace ratios, rounding errors included.

For N with orthonormal columns, D >= 0 diagonal with descending entries, and K <= (s + delta)I +
NDN', the j-th eigenvalue of K is at most s + delta + D_j (Weyl). One Cholesky factorisation shows
that the difference H of the two sides is positive semidefinite. If the Cholesky factorisation of
the stored matrix completes in floating point, H + E is semidefinite for an error E with the bound
(Demmel 1989; Rump, Verification of positive definiteness, BIT 46, 2006)

    |E_ij| <= gamma_k / (1 - gamma_k) sqrt(H_ii H_jj),   gamma_k = ku / (1 - ku), u = 2^-53.

Any error E with |E_ij| <= c_i c_j is at most k diag(c_i^2), by the Cauchy-Schwarz inequality; this
covers E and the rounding of H's entries. The bound k diag(c_i^2) is subtracted from H's diagonal
before the factorisation. Each column has a margin of its own scale: a large column does not impair
the bound, because M has small entries in its row.

Let s be the smallest Ritz value of K on the span of M, s + D_j the Ritz values, and R the residual
KM - M(M'KM). Then delta need only exceed ||R||^2 divided by the gap of the eigenvalues, plus
rounding: the bound is second order in M's error.
"""

from __future__ import annotations

import math

import numpy as np

from ldr.solvers.linalg.eigen import cholesky, length, top_eigenvectors
from ldr.solvers.manifolds import Array

_U = 0.5 * float(np.finfo(float).eps)
_TINY = float(np.finfo(float).tiny)
# Factor that covers the rounding errors of computed norms and sums in a proved bound.
_SAFETY = 1.01
# Bound of the rounding errors of sums in matrix products, in units of eps/2.
OF_SUMS = 32
SUMS_ROUNDING = OF_SUMS * _U
# Growth factor of a shift after a failed factorisation, and limits of the number of attempts.
_GROWTH, _TRIES_AT_M, _TRIES = 8.0, 3, 100


class Majorant:
    """A matrix (s + delta)I + NDN' >= K, and the weighted sum of its r largest eigenvalues.

    The columns of N span those of M, and N'KN = sI + D with D >= 0.

    - weights (r,): descending, positive
    - squares (k,): numbers c_i^2 with |K_ij| <= c_i c_j
    - roundings: proofs cover every symmetric K + E with |E_ij| <= roundings u c_i c_j, u = 2^-53
    """

    def __init__(self, K: Array, M: Array, weights: Array, squares: Array, roundings: int = 0):
        mu, V = np.linalg.eigh(M.T @ K @ M)
        self.K, self.N, self.s = K, M @ V[:, ::-1], float(mu[0])
        self.D = np.maximum(mu[::-1] - self.s, 0.0)
        self._fixed = (3 + roundings) * _U * squares
        self._diagonal = np.einsum("ij,ij->i", self.N * self.D, self.N)
        k, r = self.N.shape
        size = float(np.vdot(self.N, self.N)) * _SAFETY
        defect = float(np.linalg.norm(self.N.T @ self.N - np.eye(r))) * _SAFETY
        terms = _U * np.array([k + 1, r + 2, k + 8, r + 4])
        of_sizes, of_sums, self._of_factor, self._of_diagonal = (terms / (1.0 - terms)).tolist()
        growth = (1.0 + defect + of_sizes * size) * (1.0 + of_sums)
        self.weight = float(weights.sum())
        self.total = float(weights @ self.D) * growth  # the sum is rounded upwards for a proof

    def _errors(self, delta: float) -> Array:
        """Return k c_i^2 for all errors, for more than k + 1 operations per entry."""
        k, diagonal, gamma = len(self.N), self._diagonal, self._of_factor
        errors = gamma / (1.0 - gamma) * np.abs(diagonal - self.K.diagonal() + self.s + delta)
        errors += k * _TINY + self._of_diagonal * diagonal + self._fixed
        return np.asarray(k * _SAFETY * (errors + 3.0 * _U * (abs(self.s) + delta)))

    def top_sum(self, delta: float) -> float:
        """Return a proved upper bound of the weighted sum of K's eigenvalues.

        The bound is infinite if the factorisation fails, because M is too inaccurate for delta.
        """
        H = (self.N * self.D) @ self.N.T
        H -= self.K
        diagonal = np.einsum("ii->i", H)
        diagonal += self.s + delta
        diagonal -= self._errors(delta)
        if not np.isfinite(diagonal).all() or cholesky(H.T) is None:  # LAPACK reads H by columns
            return math.inf
        bound = self.weight * (self.s + delta) + self.total
        sizes = self.weight * (abs(self.s) + delta) + self.total
        return bound + 8.0 * len(self.D) * _U * sizes

    def least_shift(self) -> float:
        """Return the smallest useful delta: a bound of the rounding errors on the span of N."""
        along = self.N.T @ (self._errors(0.0)[:, None] * self.N)
        return 1.1 * float(np.linalg.eigvalsh(along)[-1])


def entry_squares(sizes: Array) -> Array:
    """Return c_i^2 with S_ij <= c_i c_j, for a symmetric S with entries >= 0.

    For a semidefinite matrix c_i^2 is S_ii, otherwise a multiple of the diagonal or the largest
    entry of row i.
    """
    rows, diagonal = sizes.max(axis=1), sizes.diagonal()
    there = rows > 0
    if not (diagonal[there] > 0).all():
        return rows
    roots = np.sqrt(np.where(there, diagonal, 1.0))
    multiple = float((sizes / roots / roots[:, None]).max(initial=1.0))
    by_diagonal = _SAFETY * multiple * diagonal
    larger = float(np.log(by_diagonal[there] / rows[there]).sum()) >= 0
    return rows if larger else by_diagonal


def largest_sum_bound(
    K: Array, M: Array, eigenvectors: Array, roundings: int = 0, sizes: Array | None = None
) -> float:
    """Return a proved bound of the sum of the r largest eigenvalues, given approximate M.

    Rounding errors are relative to `sizes`, the magnitudes of the terms summed in K's entries.
    """
    squares = entry_squares(np.abs(K) if sizes is None else sizes)
    if not squares.any():
        return 0.0
    for N, tries in ((M, _TRIES_AT_M), (eigenvectors, _TRIES)):
        above = Majorant(K, N, np.ones(N.shape[1]), squares, roundings)
        delta = above.least_shift()
        for _ in range(tries):
            bound = above.top_sum(delta)
            if math.isfinite(bound):
                return bound
            delta *= _GROWTH
    return math.inf


# An overflow makes the bound infinite, and an infinite bound always holds.
@np.errstate(over="ignore", invalid="ignore")
def trace_ratio_bound(
    A: Array,
    B: Array,
    M: Array,
    weights: Array | float = 1.0,
    sums: tuple[Array, Array] | None = None,
) -> float:
    """Return a proved upper bound of tr(VN'AN)/tr(VN'BN), for all N with tr(VN'BN) > 0.

    The bound is a t at which sum_j v_j lambda_j(A - tB) is proved not to be positive. If M's
    columns do not span the top eigenspaces, Newton's iteration from M is continued first.

    - weights (r,): V's diagonal, v_1 >= ... >= v_r > 0.
    - sums (k,): a and b. The proof covers all A + E and B + F with |E_ij| <= 16 eps sqrt(a_i a_j)
      and |F_ij| <= 16 eps sqrt(b_i b_j), the rounding errors of sums of products
    """
    weights = weights * np.ones(M.shape[1])
    rho = _ratio(A, B, M, weights)
    for _ in range(_TRIES):
        bound = _bound_at(A, B, M, weights, sums, rho, _TRIES_AT_M)
        if math.isfinite(bound):
            return bound
        _, N = top_eigenvectors(A - rho * B, M.shape[1])
        new = _ratio(A, B, N, weights)
        if not new > rho + 4.0 * _U * abs(rho):
            return min(_bound_at(A, B, Q, weights, sums, max(rho, new), _TRIES) for Q in (N, M))
        M, rho = N, new
    return math.inf


def _bound_at(
    A: Array,
    B: Array,
    M: Array,
    weights: Array,
    sums: tuple[Array, Array] | None,
    rho: float,
    tries: int,
) -> float:
    """The bound t = rho + eta, eta grown until the sum is proved not to be positive."""
    b = float(np.vdot(M * weights, B @ M))
    if not b > 0:
        return math.inf

    def at(t: float) -> Majorant:
        squares = entry_squares(np.abs(A) + abs(t) * np.abs(B))
        if sums is not None:
            squares = np.maximum(squares, sums[0] + abs(t) * sums[1])
        roundings = 2 if sums is None else 2 + OF_SUMS
        return Majorant(A - t * B, M, weights, squares, roundings)

    above = at(rho)
    above_zero = max(above.weight * above.s + above.total, 0.0)
    eta = 1.1 * (above_zero + above.weight * above.least_shift()) / b
    for _ in range(tries):
        t = rho + max(eta, 4.0 * _U * abs(rho))
        above = at(t)
        delta = -0.9 * (above.s + above.total / above.weight)
        if delta > 0 and above.top_sum(delta) <= 0:
            return t
        eta *= _GROWTH
    return math.inf


def _ratio(A: Array, B: Array, M: Array, weights: Array) -> float:
    N = M * weights
    return float(np.vdot(N, A @ M)) / float(np.vdot(N, B @ M))


def spectral_bound(A: Array) -> float:
    """Return an upper bound of the singular values of A."""
    rows, columns = (float(np.abs(A).sum(axis=axis).max()) for axis in (1, 0))
    return min(length(A), math.sqrt(rows) * math.sqrt(columns))
