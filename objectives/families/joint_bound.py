"""Dual upper bound of the values of coupled views.

Let A be a symmetric block matrix with blkdiag(Q_1, ..., Q_K) >= A. All orthonormal M_1, ..., M_K
satisfy

    tr(N'AN)/2 <= sum_i tr(Ni'Qi Ni)/2 <= sum_i TR_r(Qi, Ci)/2,   Ni = Mi / sqrt(tr(Mi'Ci Mi)),

where TR_r is the largest trace ratio. The right side is convex in the Q_i; its minimisation is a
semidefinite program. Given the Q of the other views o, the least Q of view K is A_KK + A_Ko
(blkdiag(Q_o) - A_oo)^{-1} A_oK, which eliminates the constraint. Newton's method with truncated
conjugate gradients minimises smoothed ratios, at decreasing temperatures.

The first candidates are the multipliers at a stationary point: the bound is tight if blkdiag(Q) - A
is semidefinite. Further candidates minimise the bound. Diagonals are increased to compensate for
rounding errors, in the columns' units, and the bounds of the trace ratios include rounding errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import scipy
from scipy.linalg import block_diag, solve_triangular

from ldr.objectives.problem import PROVED_GLOBAL
from ldr.solvers.deadline import decomposing
from ldr.solvers.linalg.bounds import largest_sum_bound
from ldr.solvers.linalg.eigen import length, rank_tolerance, symmetric_eigen, top_eigenvectors
from ldr.solvers.manifolds import Array
from ldr.solvers.manifolds.manifold import sym

_EPS = float(np.finfo(float).eps)
# First temperature: the smaller of a share of the bound and a share of the gap.
_WARMEST, _SHARE_OF_GAP = 4e-3, 0.5
# Factor of the temperature after each minimisation at a temperature.
_COOLING = 0.25
# Limit of Newton steps at a temperature, and of halvings of a step.
_STEPS = 30
# The temperature is lowered if the Newton decrement is below this share of the smoothing error.
_SETTLED = 0.05


# Largest gap relative to the gap of the least bound, and limit of Hessian products. A time limit
# would make the bound depend on the load of the machine.
Effort = tuple[float, int]


def quick(columns: int) -> Effort:
    """Return an effort whose computing time does not exceed the time of the solve."""
    return 1.1, min(150, max(20, 800_000 // columns**2))


@dataclass(frozen=True)
class Multiplier:
    """Multiplier Q of a view, and M near the maximum of tr(M'QM)/tr(M'CM)."""

    Q: Array
    M: Array


class LeastBound:
    """Minimisation of the dual bound over the multipliers.

    - A (d, d): block matrix that couples the views
    - C: denominator matrix of each view
    """

    def __init__(self, A: Array, C: Sequence[Array], r: int) -> None:
        widths = list(map(len, C))
        self.order = sorted(range(len(C)), key=widths.__getitem__)  # eliminate the widest
        ends = np.cumsum(widths)
        kept = np.concatenate([np.arange(ends[i] - widths[i], ends[i]) for i in self.order])
        A = A[np.ix_(kept, kept)]
        self.C, self.r = [C[i] for i in self.order], r
        n = len(A) - max(widths)
        self.among, self.across, self.own = A[:n, :n], A[:n, n:], A[n:, n:]
        starts = np.cumsum([0, *map(len, self.C)])
        self.views = [slice(a, b) for a, b in pairwise(starts[:-1])]
        self.inside = block_diag(*(np.ones((len(own), len(own))) for own in self.C[:-1])) > 0

    def minimised(
        self, start: Sequence[Multiplier], value: float, excess: float, products: int
    ) -> list[Multiplier]:
        """Return multipliers whose gap is at most `excess` times the least bound's gap.

        - start: initial Q of all views, each positive definite
        - value: value of the problem; the search ends once the bound equals the value
        - products: limit of Hessian products; the step that reaches the limit is the last
        """
        best = [start[i] for i in self.order]
        near = [largest_ratio(m.Q, C, m.M)[0] for m, C in zip(best, self.C, strict=True)]
        least = 0.5 * math.fsum(near)
        if least <= value:  # the gap is closed
            return list(start)
        temperature = min(_WARMEST, _SHARE_OF_GAP * (least - value) / least)
        Q, taken = block_diag(*(m.Q for m in best[:-1])), 0
        while temperature > PROVED_GLOBAL and taken < products:
            try:
                point = _Smoothed(self, Q, temperature, near)
            except np.linalg.LinAlgError:  # a block is singular to rounding
                break
            decrement = math.inf
            for _ in range(_STEPS):
                step, decrement, used = point.newton_step()
                taken += used
                moved = point.moved(step)
                if moved is None:
                    break
                point = moved
                if decrement <= _SETTLED * point.slack or taken >= products:
                    break
            Q, near = point.Q, [ratio.value for ratio in point.ratios]
            ratios, found = point.exact()
            bound = 0.5 * math.fsum(ratios)
            if bound < least:
                least, best = bound, found
            below = point.value - 2.0 * decrement - point.slack
            if least - value <= max(excess * (below - value), 0.0):
                break
            temperature *= _COOLING
        where = np.argsort(self.order)
        return [best[i] for i in where]


class _Smoothed:
    """The smoothed bound at Q = blkdiag(Q_1, ..., Q_{K-1}); its derivatives along PSP', Q = PP'.

    S has the blocks of Q. With B = Q - A_oo and Z = P'B^{-1}A_oK the last Q is A_KK +
    A_Ko B^{-1} A_oK, and changes along S by -Z'SZ. Each Fi is the gradient of a ratio in its Q: the
    gradient along S has the blocks of P'FP - Z F_K Z', and dZ = -P'B^{-1}P SZ.
    """

    def __init__(
        self, bound: LeastBound, Q: Array, temperature: float, near: Sequence[float]
    ) -> None:
        self._bound, self._temperature, self.Q = bound, temperature, Q
        self._P = np.linalg.cholesky(Q)
        L = np.linalg.cholesky(Q - bound.among)
        X = solve_triangular(L, self._P, lower=True, check_finite=False)
        Y = solve_triangular(L, bound.across, lower=True, check_finite=False)
        self._inner, self._Z = X.T @ X, X.T @ Y
        self._each = [*(Q[where, where] for where in bound.views), bound.own + Y.T @ Y]
        self.ratios = [
            SmoothedRatio(Qi, C, bound.r, temperature, t)
            for Qi, C, t in zip(self._each, bound.C, near, strict=True)
        ]
        self.value = 0.5 * math.fsum(ratio.value for ratio in self.ratios)
        self.slack = 0.5 * math.fsum(ratio.slack for ratio in self.ratios)

    def exact(self) -> tuple[list[float], list[Multiplier]]:
        """The largest ratios without smoothing."""
        parts = zip(self._each, self._bound.C, self.ratios, strict=True)
        found = [(Q, *largest_ratio(Q, C, ratio.top)) for Q, C, ratio in parts]
        return [t for _, t, _ in found], [Multiplier(Q, M) for Q, _, M in found]

    @cached_property
    def _parts(self) -> tuple[Array, Array]:
        """P'FP and the blocks of Z F_K Z'."""
        F = block_diag(*(ratio.gradient for ratio in self.ratios[:-1]))
        across = self._Z @ self.ratios[-1].gradient @ self._Z.T
        return self._P.T @ F @ self._P, np.where(self._bound.inside, across, 0.0)

    def _hessian_product(self, S: Array) -> Array:
        P, Z, last = self._P, self._Z, self.ratios[-1]
        SZ, E = S @ Z, P @ S @ P.T
        changes = [
            ratio.derivative(E[where, where])
            for ratio, where in zip(self.ratios, self._bound.views, strict=False)
        ]
        across = 2.0 * (self._inner @ SZ) @ last.gradient - Z @ last.derivative(-sym(Z.T @ SZ))
        found = sym(P.T @ block_diag(*changes) @ P + across @ Z.T)
        return 0.5 * np.where(self._bound.inside, found, 0.0)

    @np.errstate(over="ignore", invalid="ignore")
    def newton_step(self) -> tuple[Array, float, int]:
        """Return the Newton step, the decrement, and the number of products."""
        own, across = self._parts
        g, diagonal = 0.5 * (own - across), np.diag(own) + np.diag(across)
        scale = 0.25 * (diagonal[:, None] + diagonal)
        scale += math.sqrt(_EPS) * scale.max()
        enough = min(0.2, math.sqrt(length(g) / abs(self.value))) * length(g)
        step, residual, products = np.zeros_like(g), -g, 0
        z = direction = residual / scale
        while products < 2 * _STEPS and length(residual) > enough:
            curved = self._hessian_product(direction)
            products += 1
            curvature, rz = float(np.vdot(direction, curved)), float(np.vdot(residual, z))
            if not (0 < curvature < math.inf and rz < math.inf):  # rounding makes it indefinite
                break
            step = step + (rz / curvature) * direction
            residual = residual - (rz / curvature) * curved
            z = residual / scale
            direction = z + (float(np.vdot(residual, z)) / rz) * direction
        return step, -float(np.vdot(g, step)), products

    @np.errstate(over="ignore", invalid="ignore")
    def moved(self, step: Array) -> _Smoothed | None:
        """Return the point after the step or a shortened step; None if none lowers the bound."""
        if not np.isfinite(step).all():
            return None
        share, near = 1.0, [ratio.value for ratio in self.ratios]
        for _ in range(_STEPS):
            Q = sym(self.Q + share * (self._P @ step @ self._P.T))
            with suppress(np.linalg.LinAlgError):  # a singular Q needs a shorter step
                found = _Smoothed(self._bound, Q, self._temperature, near)
                if found.value < self.value:
                    return found
            share *= 0.5
        return None


def largest_ratio(Q: Array, C: Array, M: Array, iterations: int = 100) -> tuple[float, Array]:
    """Compute max tr(M'QM) / tr(M'CM) over orthonormal M, and M, by Newton's method from M."""
    best, found = -math.inf, M
    for _ in range(iterations):
        below = float(np.vdot(M, C @ M))
        if not below > 0:  # the ratio is unbounded
            return math.inf, M
        ratio = float(np.vdot(M, Q @ M)) / below
        if not best < ratio < math.inf:
            break
        # the proof follows in `proven_ratio`
        done = ratio <= best * (1 + 2 * _EPS)
        best, found = ratio, M
        if done:
            break
        _, M = top_eigenvectors(Q - ratio * C, M.shape[1])
    return best, found


def proven_ratio(Q: Array, C: Array, M: Array) -> float:
    """Return a proved upper bound of max tr(M'QM) / tr(M'CM), from an M near the maximum.

    The ratio is at most t if the sum of the r largest eigenvalues of Q - tC is not positive.
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

    - A (d, d)
    - C: denominator matrices; with I/r the ratios are sums of r eigenvalues
    """

    A: Array
    C: list[Array]

    def of(self, blocks: Sequence[Array], value: float, effort: Effort | None) -> float:
        """Return an upper bound of the value.

        The multipliers at the Mi give a first bound. If the first bound exceeds the value, further
        bounds are computed: by the largest canonical correlation and, with an effort, by better
        multipliers. The result is the smallest bound.
        """
        found = self.semidefinite(self.multipliers(blocks))
        least = self.proven(found)
        if not PROVED_GLOBAL * abs(value) < least - value:
            return least
        least = min(least, self._of_eigenvalues())
        if effort is None or not PROVED_GLOBAL * abs(value) < least - value < math.inf:
            return least
        near = LeastBound(self.A, self.C, blocks[0].shape[1]).minimised(found, value, *effort)
        return min(least, self.proven(self.semidefinite(near)))

    def multipliers(self, blocks: Sequence[Array]) -> list[Multiplier]:
        """Return the multipliers at the Mi, Qi = f_i Ci + s_i^2 [Mi(Li - ti I)Mi' + ti I].

        Here Ri = sum_j Aij Mj/(s_i s_j), f_i = tr(Mi'Ri), Li = sym(Mi'(Ri - (f_i/s_i^2) Ci Mi)) and
        ti is the least eigenvalue of Li. At optimal Mi with a tight bound, the bound equals the
        value.
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
            found.append(Multiplier(Q, M))
        return found

    def semidefinite(self, found: Sequence[Multiplier]) -> list[Multiplier]:
        """Increase the diagonals of the Q until blkdiag(Q) - A is semidefinite.

        Each diagonal entry is increased by the same share, which includes rounding errors.
        """
        S = block_diag(*(one.Q for one in found)) - self.A
        sizes = np.abs(np.diag(S))
        sizes = np.maximum(sizes, _EPS * sizes.max(initial=1.0))
        scale = np.exp2(np.round(0.5 * np.log2(sizes)))  # powers of two are exact
        with decomposing(len(S)):
            values = np.linalg.eigvalsh(S / scale / scale[:, None])
        # n eps times the largest for errors of eigenvalues, and again for errors of summed entries
        rounding = 2 * len(S) * _EPS * float(np.abs(values).max())
        missing = max(0.0, rounding - float(values[0]))
        ends = np.cumsum([len(one.Q) for one in found])[:-1]
        added = np.split(missing * scale**2, ends)
        return [
            Multiplier(one.Q + np.diag(more), one.M) for one, more in zip(found, added, strict=True)
        ]

    def proven(self, found: Sequence[Multiplier]) -> float:
        """Return the proved bound of semidefinite multipliers."""
        pairs = zip(found, self.C, strict=True)
        return 0.5 * math.fsum(proven_ratio(one.Q, C, one.M) for one, C in pairs)

    def _of_eigenvalues(self) -> float:
        """Return K/2 times the largest eigenvalue of A relative to the Ci, or inf."""
        own = block_diag(*self.C)
        scale = 1.0 / np.sqrt(np.maximum(np.diag(own), np.finfo(float).tiny))
        own, A = own * scale * scale[:, None], self.A * scale * scale[:, None]
        with decomposing(len(own)):
            smallest = float(np.linalg.eigvalsh(own)[0])
            if not smallest > rank_tolerance(len(own)):
                return math.inf
            largest = float(scipy.linalg.eigh(A, own, eigvals_only=True)[-1])
        error = rank_tolerance(len(own)) / smallest
        return 0.5 * len(self.C) * (largest + error * max(1.0, abs(largest)))


def joint_inverse(K: Array, Ma: Array, Mb: Array) -> Callable[[Array], Array]:
    """Return an approximate inverse of the Riemannian Hessian at M = [Ma; Mb].

    Up to terms of low rank and Lagrange multipliers, which are small relative to K at a solution,
    the Hessian maps V to the projection of KV. Tangent vectors orthogonal to joint rotations
    satisfy M'V = 0 and sym(J'V) = 0, J = [Ma; -Mb]. The first condition restricts K to the
    complement of M. The second condition requires a symmetric Theta with KV = U - J Theta and the
    Lyapunov equation W Theta + Theta W = 2 sym(J'K^{-1}U), W = J'K^{-1}J, solved in the
    eigenvectors of W. |K| is inverted instead of K, so that the inverse is positive semidefinite.
    """
    M, J = np.concatenate([Ma, Mb]), np.concatenate([Ma, -Mb])
    complement = np.eye(len(M)) - 0.5 * (M @ M.T)
    with decomposing(len(K)):
        eigenvalues, Q = scipy.linalg.eigh(
            complement @ K @ complement, driver="evd", check_finite=False
        )
    magnitude = np.abs(eigenvalues)
    least = rank_tolerance(len(K)) * magnitude.max()  # smaller ones are rounding errors
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


class SmoothedRatio:
    """t = max (<Q, F> + mu S(F)) / <C, F> over 0 <= F <= I, tr F = r.

    S is the entropy -sum [f log f + (1 - f) log(1 - f)] of F's eigenvalues f. For F of rank r the
    entropy is zero; therefore t is at least the largest tr(M'QM)/tr(M'CM), and exceeds this ratio
    by at most `slack`. The maximiser F has the eigenvectors of Q - tC and the eigenvalues f =
    expit((theta - nu)/mu), with theta the eigenvalues of Q - tC and nu such that the sum of f is r.

    - temperature: mu, in units of the mean eigenvalue of `near` C
    - near: initial t of Newton's iteration
    - value: t
    - gradient (d, d): derivative of t in Q: F / <C, F>
    - top (d, r): the eigenvectors of the r largest f
    """

    def __init__(self, Q: Array, C: Array, r: int, temperature: float, near: float) -> None:
        mu = temperature * abs(near) * float(np.trace(C)) / len(C)
        t = near
        for _ in range(50):
            theta, V = symmetric_eigen(Q - t * C)
            f = _occupations(theta, r, mu)
            entropy = -float(
                np.sum(scipy.special.xlogy(f, f) + scipy.special.xlogy(1.0 - f, 1.0 - f))
            )
            size = float(f @ np.einsum("ij,ij->j", V, C @ V))
            step = (float(f @ theta) + mu * entropy) / size
            t += step
            if not step * step > 1e-15 * temperature * t * t:  # the error is below t eps
                break
        self.top = np.ascontiguousarray(V[:, :r])
        self.value, self.slack = t, mu * entropy / size
        self._C, self._mu, self._size = C, mu, size
        self._theta, self._V, self._f = theta, V, f
        self._occupied = V[:, : np.count_nonzero(f > 1e-14)]
        self.gradient = (self._occupied * (f[: self._occupied.shape[1]] / size)) @ self._occupied.T

    @cached_property
    def _differences(self) -> Array:
        """(f_i - f_j)/(theta_i - theta_j) of the occupied i and all j."""
        theta, f = self._theta, self._f
        occupied = slice(self._occupied.shape[1])
        apart = theta[occupied, None] - theta
        tied = np.abs(apart) < 1e-6 * self._mu  # near ties use the derivative
        slopes = 0.5 * (self._slopes[occupied, None] + self._slopes)
        return np.where(tied, slopes, (f[occupied, None] - f) / np.where(tied, 1.0, apart))

    @cached_property
    def _slopes(self) -> Array:
        return self._f * (1.0 - self._f) / self._mu

    def derivative(self, E: Array) -> Array:
        """Return the change of the gradient along a symmetric E."""
        E = E - float(np.vdot(self.gradient, E)) * self._C
        V, N = self._V, self._occupied
        X = (N.T @ E) @ V
        slopes = self._slopes
        change = self._differences * X
        total = float(slopes.sum())
        if total > 0:  # nu changes too, so that occupations still sum to r
            k = np.arange(len(X))
            change[k, k] -= slopes[k] * float(slopes[k] @ X[k, k]) / total
        change[:, : len(X)] *= 0.5
        D = N @ (change @ V.T)
        D += D.T
        return (D - float(np.vdot(self._C, D)) * self.gradient) / self._size


def _occupations(theta: Array, r: int, mu: float) -> Array:
    """Return expit((theta - nu)/mu) with the sum r, for descending theta."""
    low, high = theta[-1] - 50.0 * mu, theta[0] + 50.0 * mu
    nu = 0.5 * (theta[r - 1] + theta[min(r, len(theta) - 1)])
    for _ in range(100):
        f = scipy.special.expit((theta - nu) / mu)
        excess = float(f.sum()) - r
        if abs(excess) <= 1e-13 * r:
            break
        low, high = (nu, high) if excess > 0 else (low, nu)
        slope = float(np.sum(f * (1.0 - f))) / mu
        newton = nu + excess / slope if slope > 0 else low
        nu = newton if low < newton < high else 0.5 * (low + high)
    return f
