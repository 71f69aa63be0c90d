"""Many small symmetric eigenproblems at once: stacks of matrices, B x k x k."""

from __future__ import annotations

import numpy as np

from ldr.solvers.manifolds import Array

_EPS = float(np.finfo(float).eps)
# Newton steps on rho; it converges quadratically and from one side, so that few are ever taken.
_MOST_STEPS = 60


def stacked_eigen(A: Array) -> tuple[Array, Array]:
    """The eigenvalues (B, k) of each symmetric A, descending, and their eigenvectors."""
    values, vectors = np.linalg.eigh(A)
    return values[..., ::-1], vectors[..., ::-1]


def stacked_roots(S: Array) -> tuple[Array, Array]:
    """W with W'SW = I of each positive definite S, scaled to a unit diagonal for accuracy.

    And the smallest eigenvalue of each S so scaled, of which the trace is k: where it is small, W
    has lost as many digits. Where it is not positive, W is of no use.
    """
    diagonal = np.einsum("bii->bi", S)
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    values, vectors = np.linalg.eigh(S / scale[:, :, None] / scale[:, None, :])
    roots = np.sqrt(np.maximum(values, _EPS))
    return vectors / roots[:, None, :] / scale[:, :, None], values[:, 0]


def stacked_trace_ratio(A: Array, B: Array, weights: Array) -> tuple[Array, Array, Array]:
    """The maximum of sum_j v_j m_j'Am_j / sum_j v_j m_j'Bm_j of each A and B, by Newton's method.

    f(rho) = sum_j v_j lambda_j(A - rho B) is convex and falls; from below its root, the steps
    rise to it. Those problems alone that still move are decomposed again.

    Parameters
    ----------
    A, B : ndarray (b, k, k)
        B positive semidefinite, of rank above k - r.
    weights : ndarray (r,)
        v_1 >= ... >= v_r > 0, all equal for the trace ratio itself.

    Returns
    -------
    rho : ndarray (b,)
    M : ndarray (b, k, r)
        Eigenvectors of A - rho B, the largest first.
    f : ndarray (b,)
        At rho: what is above zero there, over the least denominator, is what rho may lack.
    """
    r = len(weights)
    shift = _ratio_of_axes(A, B, weights)
    rho = np.full(len(A), -np.inf)
    M, f = np.empty((*A.shape[:2], r)), np.empty(len(A))
    active = np.arange(len(A))
    for _ in range(_MOST_STEPS):
        of_A, of_B, at = A[active], B[active], shift[active]
        values, vectors = np.linalg.eigh(of_A - at[:, None, None] * of_B)
        values, vectors = values[:, ::-1], vectors[:, :, ::-1]
        found = vectors[:, :, :r]
        turned = vectors.transpose(0, 2, 1) @ (of_B @ found)
        slope = np.einsum("bii,i->b", turned[:, :r], weights)
        sums = values[:, :r] @ weights
        # not at + sums / slope: eigenvalues are good to the size of the largest column only
        ratio = np.einsum("bkj,bkj,j->b", found, of_A @ found, weights) / slope
        best = rho[active]
        better = ratio > best
        kept = active[better]
        M[kept], f[kept], rho[kept] = found[better], sums[better], ratio[better]
        further = _second_order(at, ratio, slope, values, turned, weights)
        shift[active] = np.where(better, further, best)
        moved = np.abs(ratio - at) > 4 * _EPS * np.maximum(np.abs(ratio), np.abs(at))
        active = active[moved & (better | (at > best))]  # else Newton's step from the best is none
        if len(active) == 0:
            break
    return rho, M, f


def _second_order(
    rho: Array, newton: Array, slope: Array, values: Array, turned: Array, weights: Array
) -> Array:
    """The root of the second-order model of f, which lies beyond Newton's step.

    f'' = 2 sum_{i<j} (v_i - v_j)(q_j'Bq_i)^2 / (theta_i - theta_j), v_j = 0 beyond the r-th.
    """
    r = len(weights)
    others = np.concatenate([weights, np.zeros(values.shape[1] - r)])
    more = np.maximum(weights[None, :] - others[:, None], 0.0)
    apart = values[:, None, :r] - values[:, :, None]
    least = _EPS * np.abs(values).max(axis=1)[:, None, None]
    bend = np.sum(more * turned**2 / np.maximum(apart, least), axis=(1, 2))
    step = newton - rho
    inner = np.maximum(0.0, 1.0 - 4.0 * bend * step / slope)
    return rho + 2.0 * step / (1.0 + np.sqrt(inner))


def _ratio_of_axes(A: Array, B: Array, weights: Array) -> Array:
    """The best ratio of columns of the identity: whatever their units, Newton begins not far."""
    a, b = np.einsum("bii->bi", A), np.einsum("bii->bi", B)
    rho = a.sum(axis=1) / b.sum(axis=1)
    for _ in range(_MOST_STEPS):
        best = np.argsort(rho[:, None] * b - a, axis=1)[:, : len(weights)]
        top_a, top_b = (np.take_along_axis(S, best, axis=1) @ weights for S in (a, b))
        ratio = np.divide(top_a, top_b, out=rho.copy(), where=top_b > 0)
        if not np.any(ratio > rho):
            break
        rho = np.maximum(ratio, rho)
    return rho
