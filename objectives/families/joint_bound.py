"""Dual upper bound of the values of coupled views.

Let A be a symmetric block matrix, and Q_i symmetric matrices with blkdiag(Q_1, ..., Q_K) >= A. All
orthonormal M_1, ..., M_K then satisfy the inequalities

    tr(N'AN)/2 <= sum_i tr(Ni'Qi Ni)/2 <= sum_i TR_r(Qi, Ci)/2,   Ni = Mi / sqrt(tr(Mi'Ci Mi)),

where TR_r is the largest trace ratio. The Q_i are the multipliers at a stationary point: the bound
is tight if blkdiag(Q) - A is semidefinite. For other multipliers the diagonals of the Q_i are
increased until the inequality holds. The increase and the bounds of the trace ratios include
rounding errors. The least bound over all Q is a semidefinite program, which is not solved.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from scipy.linalg import block_diag

from ldr.solvers.deadline import decomposing
from ldr.solvers.linalg.bounds import largest_sum_bound
from ldr.solvers.linalg.eigen import rank_tolerance, top_eigenvectors
from ldr.solvers.manifolds import Array
from ldr.solvers.manifolds.manifold import sym

_EPS = float(np.finfo(float).eps)


def largest_ratio(Q: Array, C: Array, M: Array, iterations: int = 100) -> tuple[float, Array]:
    """Maximise tr(M'QM) / tr(M'CM) over orthonormal M by Newton's method; return maximum and M."""
    best, found = -math.inf, M
    for _ in range(iterations):
        below = float(np.vdot(M, C @ M))
        if not below > 0:  # the ratio is unbounded if its denominator vanishes
            return math.inf, M
        ratio = float(np.vdot(M, Q @ M)) / below
        if not best < ratio < math.inf:
            break
        # An increase of the ratio by 2 eps is a rounding error, which `proven_ratio` bounds.
        done = ratio <= best * (1 + 2 * _EPS)
        best, found = ratio, M
        if done:
            break
        _, M = top_eigenvectors(Q - ratio * C, M.shape[1])
    return best, found


def proven_ratio(Q: Array, C: Array, M: Array) -> float:
    """Return a proved upper bound of max tr(M'QM) / tr(M'CM), from an M near the maximum.

    The ratio is at most t if the sum of the r largest eigenvalues of Q - tC is <= 0.
    """
    ratio, M = largest_ratio(Q, C, M)
    more = 4 * len(Q) * _EPS * abs(ratio)
    while 0 < more <= abs(ratio) < math.inf:
        t = ratio + more
        K, sizes = Q - t * C, np.abs(Q) + abs(t) * np.abs(C)
        _, M = top_eigenvectors(K, M.shape[1])
        if largest_sum_bound(K, M, M, 2, sizes) <= 0:
            return t
        more *= 4.0
    return math.inf


@dataclass(frozen=True)
class MultiBound:
    """Dual bounds of tr(N'AN)/2, N the stacked blocks Mi/s_i, s_i^2 = tr(Mi'Ci Mi).

    - A (d, d): symmetric matrix that couples the blocks
    - C: denominator matrices; with I/r the ratios are sums of r eigenvalues
    """

    A: Array
    C: list[Array]

    def of(self, blocks: Sequence[Array]) -> float:
        """Return an upper bound of the value, by the multipliers at the Mi."""
        return self.proven(self.semidefinite(self.multipliers(blocks)), blocks)

    def multipliers(self, blocks: Sequence[Array]) -> list[Array]:
        """Return the multipliers at the Mi, Qi = f_i Ci + s_i^2 [Mi(Li - ti I)Mi' + ti I].

        In this formula Ri = sum_j Aij Mj/(s_i s_j), f_i = tr(Mi'Ri), Li = sym(Mi'(Ri - (f_i/s_i^2)
        Ci Mi)), and ti is the least eigenvalue of Li. If the dual bound is tight, it equals the
        value at optimal Mi.
        """
        own = [C @ M for C, M in zip(self.C, blocks, strict=True)]
        squares = [float(np.vdot(M, CM)) for M, CM in zip(blocks, own, strict=True)]
        N = np.concatenate([M / math.sqrt(s) for M, s in zip(blocks, squares, strict=True)])
        ends = np.cumsum([len(M) for M in blocks])[:-1]
        found = []
        for M, C, CM, s, across in zip(
            blocks, self.C, own, squares, np.split(self.A @ N, ends), strict=True
        ):
            R = across / math.sqrt(s)
            f = float(np.vdot(M, R))
            L = sym(M.T @ (R - (f / s) * CM))
            least = float(np.linalg.eigvalsh(L)[0])
            Q = f * C + s * sym(M @ (L - least * np.eye(len(L))) @ M.T)
            Q[np.diag_indices_from(Q)] += s * least
            found.append(Q)
        return found

    def semidefinite(self, found: Sequence[Array]) -> list[Array]:
        """Increase the diagonals of the Q until blkdiag(Q) - A is semidefinite.

        Each diagonal entry is increased by the same share, which includes rounding errors.
        """
        S = block_diag(*found) - self.A
        sizes = np.abs(np.diag(S))
        sizes = np.maximum(sizes, _EPS * sizes.max(initial=1.0))
        scale = np.exp2(np.round(0.5 * np.log2(sizes)))  # scaling by powers of two is exact
        with decomposing(len(S)):
            values = np.linalg.eigvalsh(S / scale / scale[:, None])
        # Eigenvalues and sums of entries have errors of n eps times the largest eigenvalue.
        rounding = 2 * len(S) * _EPS * float(np.abs(values).max())
        missing = max(0.0, rounding - float(values[0]))
        added = np.split(missing * scale**2, np.cumsum(list(map(len, found)))[:-1])
        return [Q + np.diag(more) for Q, more in zip(found, added, strict=True)]

    def proven(self, found: Sequence[Array], blocks: Sequence[Array]) -> float:
        """Return the proved bound for the multipliers `found`; Newton's method starts at the Mi."""
        return 0.5 * math.fsum(map(proven_ratio, found, self.C, blocks))


def joint_inverse(K: Array, Ma: Array, Mb: Array) -> Callable[[Array], Array]:
    """Return an approximate inverse of the Riemannian Hessian at M = [Ma; Mb], for a symmetric K.

    Up to terms of low rank and multipliers, which are small relative to K at a solution, the
    Hessian maps a tangent vector V to the projection of KV. Tangent vectors orthogonal to joint
    rotations satisfy M'V = 0 and sym(J'V) = 0, J = [Ma; -Mb]. The condition M'V = 0 restricts K to
    the complement of M. The condition sym(J'V) = 0 requires a symmetric Theta with KV = U - J Theta
    and the Lyapunov equation W Theta + Theta W = 2 sym(J'K^{-1}U), W = J'K^{-1}J, solved in the
    eigenvectors of W. K is replaced by |K|, so that the inverse is positive semidefinite.
    """
    M, J = np.concatenate([Ma, Mb]), np.concatenate([Ma, -Mb])
    complement = np.eye(len(M)) - 0.5 * (M @ M.T)
    with decomposing(len(K)):
        eigenvalues, Q = scipy.linalg.eigh(
            complement @ K @ complement, driver="evd", check_finite=False
        )
    magnitude = np.abs(eigenvalues)
    least = rank_tolerance(len(K)) * magnitude.max()  # smaller eigenvalues are rounding errors
    Q = complement @ (Q / np.sqrt(np.maximum(magnitude, least)))
    inverse = Q @ Q.T
    w, R = scipy.linalg.eigh(J.T @ inverse @ J, check_finite=False)
    JR = J @ R
    inverse_JR = inverse @ JR
    denominator = np.maximum(w[:, None] + w, np.finfo(float).eps * w[-1])

    def apply(U: Array) -> Array:
        C = inverse_JR.T @ (U @ R)
        Theta = (C + C.T) / denominator
        return inverse @ U - inverse_JR @ Theta @ R.T

    return apply
