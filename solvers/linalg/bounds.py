"""Proved upper bounds of eigenvalue sums and trace ratios: every rounding error is inside them.

Ky Fan: for N with orthonormal columns, D >= 0 diagonal and K <= sI + NDN' + delta I, the sum of the
r largest eigenvalues of K is at most r (s + delta) + tr D. That the difference H is positive
semidefinite is shown by one Cholesky factorisation. If it runs to completion on a stored symmetric
matrix, in floating point and in whatever order, then (Demmel 1989; Rump, Verification of positive
definiteness, BIT 46, 2006) that is semidefinite but for an E with

    |E_ij| <= gamma_k / (1 - gamma_k) sqrt(H_ii H_jj),   gamma_k = ku / (1 - ku), u = 2^-53.

Errors with |E_ij| <= c_i c_j, those and the rounding of H's own entries, have room in one of two
ways. ||E||_F <= sum c_i^2, so that they add at most sqrt(r) times that to the sum of r eigenvalues.
Or, as E <= k diag(c_i^2) by Cauchy and Schwarz, so much is taken off H's diagonal before it is
factorised, and nothing is added: each column has room of its own size, and one that outweighs the
others does not spoil their digits, for M has small entries there.

With s the smallest Ritz value of M in K and D the rest, delta need only exceed ||R||^2 over the
spacing of the eigenvalues plus rounding, R the residual of M: the bound is second order in M's
error, and as tight as rounding lets it be.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ldr.solvers.linalg.eigen import cholesky, top_eigenvectors
from ldr.solvers.manifolds import Array

_U = 0.5 * float(np.finfo(float).eps)
_TINY = float(np.finfo(float).tiny)
# Rounding of norms and sums that enter the margins themselves is covered by this factor.
_SAFETY = 1.01
# Of products that are summed: 16 eps.
OF_SUMS = 32
SUMS_ROUNDING = OF_SUMS * _U
# By how much delta grows after a factorisation that failed.
_GROWTH = 64.0
_TRIES_AT_M, _TRIES, _NEWTON_STEPS = 2, 60, 4


def _gamma(k: float) -> float:
    return k * _U / (1.0 - k * _U)


class Majorant:
    """sI + NDN' + delta I >= K, of which the r largest eigenvalues are known.

    N spans M's columns, N'KN = sI + D with D >= 0.

    - squares (k,): c_i^2 with |K_ij| <= c_i c_j
    - roundings: proofs cover every symmetric K + E with |E_ij| <= roundings u c_i c_j
    """

    def __init__(self, K: Array, M: Array, squares: Array | None = None, roundings: int = 0):
        mu, V = np.linalg.eigh(M.T @ K @ M)
        self.K, self.N, self.s, self.D = K, M @ V, float(mu[0]), np.maximum(mu - mu[0], 0.0)
        self.squares = entry_squares(np.abs(K)) if squares is None else squares
        self.roundings = roundings
        self._diagonal = np.einsum("ij,ij->i", self.N * self.D, self.N)

    def _errors(self, delta: float) -> tuple[Array, float, float]:
        """c_i^2 of the errors E, what they add to the sum, and the shift that makes room for them.

        Beyond k + 1 operations an entry: a BLAS may multiply by reciprocals where the proof
        divides.
        """
        (k, r), diagonal = self.N.shape, self._diagonal
        gamma = _gamma(k + 8)
        errors = gamma / (1.0 - gamma) * np.abs(diagonal - self.K.diagonal() + self.s + delta)
        errors += k * _TINY + _gamma(r + 4) * diagonal + (3 + self.roundings) * _U * self.squares
        errors = _SAFETY * (errors + 3.0 * _U * (abs(self.s) + delta))
        # The largest x'diag(k c_i^2)x of unit vectors x in N's span.
        along = k * float(np.linalg.eigvalsh(self.N.T @ (errors[:, None] * self.N))[-1])
        return errors, math.sqrt(r) * float(errors.sum()), along

    def top_sum(self, delta: float) -> float:
        """A number that the sum of the r largest eigenvalues of K is proved not to exceed.

        Infinite where the factorisation failed: nothing is proved, M is not good enough for delta.
        """
        N, (k, r) = self.N, self.N.shape
        size = float(np.vdot(N, N)) * _SAFETY
        defect = float(np.linalg.norm(N.T @ N - np.eye(r))) * _SAFETY + _gamma(k + 1) * size
        total = float(self.D.sum()) * (1.0 + defect) * (1.0 + _gamma(r + 2))
        errors, rounding, along = self._errors(delta)
        H = (N * self.D) @ N.T
        H -= self.K
        diagonal = np.einsum("ii->i", H)
        diagonal += self.s + delta
        if r * along < rounding:
            diagonal -= k * errors
            rounding = 0.0
        if not np.isfinite(diagonal).all() or cholesky(H.T) is None:  # in LAPACK's order
            return math.inf
        bound = r * (self.s + delta) + total + rounding
        return bound + 8.0 * r * _U * (r * (abs(self.s) + delta) + total + rounding)

    def least_shift(self) -> tuple[float, float]:
        """The least delta that is worth a try, what rounding usually needs; and what it adds
        besides to the sum of the r largest.
        """
        k, r = self.N.shape
        _, rounding, along = self._errors(0.0)
        if r * along < rounding:
            return 1.5 * along, 0.0
        sizes = 16.0 * math.sqrt(k) * float(np.linalg.norm(self.K))
        return _U * max(sizes, 2.0 * float(np.linalg.norm(self.squares))), rounding


def entry_squares(sizes: Array) -> Array:
    """c_i^2 with S_ij <= c_i c_j, of a symmetric S >= 0.

    Of a semidefinite matrix the diagonal will do, elsewhere a multiple of it or the largest entries
    of the rows.
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


class WeightedMajorant:
    """sum_j v_j lambda_j, lambda_j K's eigenvalues from the largest on and v_1 >= ... >= v_r > 0
    the weights: it is sum_k (v_k - v_{k+1}) times the sum of the k largest, v_{r+1} = 0.
    """

    def __init__(
        self,
        K: Array,
        M: Array,
        weights: Array,
        squares: Array | None = None,
        roundings: int = 0,
    ) -> None:
        v = [*weights.tolist(), 0.0]
        self.parts = [
            (v[k - 1] - v[k], Majorant(K, M[:, :k], squares, roundings))
            for k in range(1, len(v))
            if v[k - 1] != v[k]
        ]

    def top_sum(self, delta: float) -> float:
        """A number that the weighted sum is proved not to exceed."""
        sums = [weight * part.top_sum(delta) for weight, part in self.parts]
        return math.fsum(sums) + _SAFETY * _gamma(4) * math.fsum(map(abs, sums))


def largest_sum_bound(
    K: Array, M: Array, eigenvectors: Array, roundings: int = 0, sizes: Array | None = None
) -> float:
    """A proved bound of the sum of the r largest eigenvalues, M perhaps far from spanning them.

    `sizes` are those of the terms that K's entries are sums of, to which rounding is relative.
    """
    squares = entry_squares(np.abs(K) if sizes is None else sizes)
    if not squares.any():
        return 0.0
    for N, tries in ((M, _TRIES_AT_M), (eigenvectors, _TRIES)):
        above = Majorant(K, N, squares, roundings)
        delta, _ = above.least_shift()
        for _ in range(tries):
            bound = above.top_sum(delta)
            if math.isfinite(bound):
                return bound
            delta *= _GROWTH
    return math.inf


def rounding_of_correlations(
    N: Array, squares: Array, views: Sequence[slice], shares: Array
) -> float:
    """What |E_ij| <= 16 eps c_i c_j, the rounding of sums, moves sum_{i<j} tr(Ni'Cij Nj) by.

    Ni = Mi/s_i with s_i^2 = tr(Mi'Cii Mi), which the same sums make.

    - N (k, r): the Ni below one another
    - squares (k,): c_i^2
    - views: where each Ni is
    - shares: sum_{j != i} tr(Ni'Cij Nj) of each
    """
    parts = np.sqrt(squares)[:, None] * np.abs(N)
    sizes = np.stack([parts[where].sum(axis=0) for where in views])
    own, total = np.sum(sizes**2, axis=1), sizes.sum(axis=0)
    moved = float(total @ total) + float((np.abs(shares) - 1.0) @ own)
    return 0.5 * SUMS_ROUNDING * moved


# Of an overflow an infinite bound comes, which proves nothing.
@np.errstate(over="ignore", invalid="ignore")
def trace_ratio_bound(
    A: Array,
    B: Array,
    M: Array,
    weights: Array | float = 1.0,
    sums: tuple[Array, Array] | None = None,
) -> float:
    """A number that tr(VN'AN)/tr(VN'BN) is proved not to exceed, for every N with tr(VN'BN) > 0.

    It is a t at which sum_j v_j lambda_j(A - tB) is proved not to be positive. Where M's columns do
    not span the top eigenspaces, the proof is made at the point that Newton's iteration leads to
    from there.

    - weights (r,): V's diagonal, v_1 >= ... >= v_r > 0.
    - sums (k,): a_i and b_i: the proof covers all A + E and B + F with |E_ij| <= 16 eps sqrt(a_i
      a_j), which is what sums of products round, and F likewise
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
    """The bound t = rho + eta, eta grown by Newton steps until the sum is proved not positive.

    At rho the sum is zero, but for rounding, and its bound is what delta and rounding add to that:
    the first step is known without a factor.
    """
    b = float(np.vdot(M * weights, B @ M))
    if not b > 0:
        return math.inf

    def at(t: float) -> WeightedMajorant:
        squares = entry_squares(np.abs(A) + abs(t) * np.abs(B))
        if sums is not None:
            squares = np.maximum(squares, sums[0] + abs(t) * sums[1])
        roundings = 2 if sums is None else 2 + OF_SUMS
        return WeightedMajorant(A - t * B, M, weights, squares, roundings)

    last = at(rho).parts[-1][1]
    delta, rounding = last.least_shift()
    value = float(np.vdot(M * weights, last.K @ M))
    bound = float(value + delta * weights.sum() + rounding * weights[-1])
    eta = 1.1 * max(bound, 0.0) / b
    above = at(rho + eta)
    for _ in range(tries):
        for _ in range(_NEWTON_STEPS):
            bound = above.top_sum(delta)
            if bound <= 0:
                return rho + eta
            if not math.isfinite(bound):
                break
            eta = max(eta + 1.1 * bound / b, 1.1 * eta)  # more than the rounding of rho + eta
            above = at(rho + eta)
        delta *= _GROWTH
    return math.inf


def _ratio(A: Array, B: Array, M: Array, weights: Array) -> float:
    N = M * weights
    return float(np.vdot(N, A @ M)) / float(np.vdot(N, B @ M))
