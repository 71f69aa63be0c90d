"""Proved upper bounds of eigenvalue sums and trace ratios: every rounding error is inside them.

Ky Fan: for N with orthonormal columns, D >= 0 diagonal and K <= sI + NDN' + delta I, the sum of the
r largest eigenvalues of K is at most r (s + delta) + tr D. That the difference is positive
semidefinite is shown by one Cholesky factorisation. If it runs to completion on the stored
symmetric H, in floating point and in whatever order, then (Demmel 1989; Rump, Verification of
positive definiteness, BIT 46, 2006)

    smallest eigenvalue of H >= -gamma_k / (1 - gamma_k) tr H,   gamma_k = ku / (1 - ku), u = 2^-53.

More precisely H + E is positive semidefinite with |E_ij| <= gamma sqrt(H_ii H_jj), so E adds at
most sqrt(r) ||E||_F <= sqrt(r) gamma tr H to the sum of r eigenvalues. The errors of forming H are
bounded entry by entry, and enter likewise. With s the smallest Ritz value of M in K and
D the rest, delta need only exceed ||R||^2 over the spacing of the eigenvalues plus rounding, R the
residual of M: the bound is second order in M's error, and as tight as rounding lets it be.
"""

from __future__ import annotations

import math

import numpy as np

from ldr.solvers.linalg.eigen import top_eigenvectors
from ldr.solvers.linalg.symmetric import cholesky
from ldr.solvers.manifolds import Array

_U = 0.5 * float(np.finfo(float).eps)
# Rounding of norms and sums that enter the margins themselves is covered by this factor.
_SAFETY = 1.01
# Beyond k + 1 operations an entry: a BLAS may multiply by reciprocals where the proof divides.
_MORE_OPERATIONS = 8
_GROWTH = 64.0
_TRIES_AT_M, _TRIES, _NEWTON_STEPS = 2, 60, 4


def _gamma(k: float) -> float:
    return k * _U / (1.0 - k * _U)


def top_sum_bound(K: Array, M: Array, delta: float, error: float = 0.0) -> float:
    """A number that the sum of the r largest eigenvalues of K is proved not to exceed.

    Parameters
    ----------
    K : symmetric k x k
    M : k x r, columns nearly orthonormal; tight where they span the top eigenspace
    delta : float
        Shift by which K must lie below the model made of M.
    error : float
        The proof covers every symmetric matrix within this Frobenius distance of K.

    Returns
    -------
    float
        Infinite where the factorisation failed: nothing is proved, M is not good enough for delta.
    """
    k, r = M.shape
    mu, V = np.linalg.eigh(M.T @ K @ M)
    N, s = M @ V, float(mu[0])
    D = np.maximum(mu - s, 0.0)
    size = float(np.vdot(N, N)) * _SAFETY
    defect = float(np.linalg.norm(N.T @ N - np.eye(r))) * _SAFETY + _gamma(k + 1) * size
    model = (N * D) @ N.T
    total = float(D.sum()) * (1.0 + defect) * (1.0 + _gamma(r + 2))

    H = np.asfortranarray(model - K)
    H[np.diag_indices(k)] += s + delta
    norms = np.linalg.norm(model) + np.linalg.norm(K) + abs(s) + delta
    forming = _SAFETY * (_gamma(r + 1) * total + 3.0 * _U * float(norms))
    trace = _SAFETY * float(np.abs(np.diag(H)).sum())
    if not math.isfinite(trace) or cholesky(H) is None:
        return math.inf
    gamma = _gamma(k + _MORE_OPERATIONS)
    shortfall = gamma / (1.0 - gamma) * trace + k * k * float(np.finfo(float).tiny)
    rounding = shortfall + forming + error
    bound = r * (s + delta) + math.sqrt(r) * rounding + total
    return bound + 8.0 * r * _U * (r * (abs(s) + delta) + rounding + total)


def weighted_sum_bound(
    K: Array, M: Array, weights: Array | float, delta: float, error: float = 0.0
) -> float:
    """A number that sum_j v_j lambda_j is proved not to exceed, lambda_j K's eigenvalues from the
    largest on and v_1 >= ... >= v_r > 0 the weights: it is sum_k (v_k - v_{k+1}) times the sum of
    the k largest, v_{r+1} = 0. The other parameters are those of `top_sum_bound`.
    """
    v = np.append(np.broadcast_to(weights, M.shape[1]), 0.0)
    steps = v[:-1] - v[1:]
    parts = [
        steps[k] * top_sum_bound(K, M[:, : k + 1], delta, error) for k in np.flatnonzero(steps)
    ]
    return math.fsum(parts) + _SAFETY * _gamma(4) * math.fsum(map(abs, parts))


def rounding_shift(K: Array) -> float:
    """The least delta that is worth a try: what the factorisation's rounding usually needs."""
    return 16.0 * math.sqrt(len(K)) * _U * float(np.linalg.norm(K))


def largest_sum_bound(K: Array, M: Array, eigenvectors: Array) -> float:
    """A proved bound of the sum of the r largest eigenvalues, M perhaps far from spanning them."""
    for N, tries in ((M, _TRIES_AT_M), (eigenvectors, _TRIES)):
        delta = rounding_shift(K)
        for _ in range(tries):
            bound = top_sum_bound(K, N, delta)
            if math.isfinite(bound):
                return bound
            delta *= _GROWTH
    return math.inf


# Of an overflow an infinite bound comes, which proves nothing.
@np.errstate(over="ignore", invalid="ignore")
def trace_ratio_bound(A: Array, B: Array, M: Array, weights: Array | float = 1.0) -> float:
    """A number that tr(VN'AN)/tr(VN'BN) is proved not to exceed, for every N with tr(VN'BN) > 0.

    It is a t at which sum_j v_j lambda_j(A - tB) is proved not to be positive. Where M's columns do
    not span the top eigenspaces, the proof is made at the point that Newton's iteration leads to
    from there.

    Parameters
    ----------
    A, B : symmetric k x k
    M : k x r, orthonormal columns, tr(VM'BM) > 0
    weights : ndarray (r,) or float
        V's diagonal, v_1 >= ... >= v_r > 0.
    """
    rho = _ratio(A, B, M, weights)
    for _ in range(_TRIES):
        bound = _bound_at(A, B, M, weights, rho, _TRIES_AT_M)
        if math.isfinite(bound):
            return bound
        _, N = top_eigenvectors(A - rho * B, M.shape[1])
        new = _ratio(A, B, N, weights)
        if not new > rho + 4.0 * _U * abs(rho):
            return min(_bound_at(A, B, Q, weights, max(rho, new), _TRIES) for Q in (N, M))
        M, rho = N, new
    return math.inf


def _bound_at(
    A: Array, B: Array, M: Array, weights: Array | float, rho: float, tries: int
) -> float:
    """The bound t = rho + eta, eta grown by Newton steps until the sum is proved not positive."""
    b = float(np.vdot(M * weights, B @ M))
    if not b > 0:
        return math.inf
    norm_A, norm_B = float(np.linalg.norm(A)), float(np.linalg.norm(B))
    forming = 2.0 * _U * (norm_A + abs(rho) * norm_B)
    delta, eta = max(rounding_shift(A - rho * B), forming), 0.0
    for _ in range(tries):
        for _ in range(_NEWTON_STEPS):
            t = rho + eta
            error = _SAFETY * 2.0 * _U * (norm_A + abs(t) * norm_B)
            bound = weighted_sum_bound(A - t * B, M, weights, delta, error)
            if bound <= 0:
                return t
            if not math.isfinite(bound):
                break
            eta += 1.1 * bound / b
        delta *= _GROWTH
    return math.inf


def _ratio(A: Array, B: Array, M: Array, weights: Array | float) -> float:
    N = M * weights
    return float(np.vdot(N, A @ M)) / float(np.vdot(N, B @ M))
