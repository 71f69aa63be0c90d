"""Trace ratios max tr(VM'AM) / tr(VM'BM), V = diag(weights), by Newton's method.

Large matrices are known by their products: a block Davidson method finds the subspace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, cast

import numpy as np
import scipy

from ldr.solvers.deadline import check
from ldr.solvers.errors import ArgumentError
from ldr.solvers.linalg.eigen import (
    few_of_many,
    stacked_trace_ratio,
    symmetric_eigen,
    top_eigenvectors,
)
from ldr.solvers.linalg.krylov import SymmetricOperator, complement
from ldr.solvers.loop import VALUE_ROUNDING
from ldr.solvers.manifolds import Array
from ldr.solvers.manifolds.orthonormal import sym
from ldr.solvers.problem import RiemannianProblem
from ldr.solvers.solver import Solver, State
from ldr.solvers.status import Status

# Residuals below this share of what cancels in them are converged; the steps that may take.
_RESIDUAL, _STEPS = 1e-10, 300
# Of conjugate gradients, relative to the right-hand side, and the steps that may take.
_SOLVED, _SOLVING_STEPS = 1e-11, 500
# Of a small B, the share of its largest eigenvalue below which a direction is out of B's range.
_IN_RANGE = 1e-10
# A small ratio is solved to this share of what its solution gains.
_LITTLE = 0.01
_EPS = float(np.finfo(float).eps)

# Of A and B on a small basis: the combinations U that are best, in order, and the s and t of their
# residuals R = AU - BU diag(s) - U diag(t), which are preconditioned.
Small = Callable[[Array, Array], tuple[Array, Array, Array]]
Preconditioned = Callable[[Array, Array, Array], Array]


@dataclass(frozen=True)
class Found:
    """Approximate solutions, and how good they are.

    - V (d, m): the wanted columns first
    - residual: relative to what cancels in it
    - products: vectors that A and B were applied to
    """

    V: Array
    residual: float
    products: int

    @classmethod
    def last(cls, steps: Iterator[Found]) -> Found:
        """The first that is good enough, or the last one in the steps there are."""
        for _, found in zip(range(_STEPS), steps, strict=False):
            check()
            if found.residual <= _RESIDUAL:
                break
        return found


def _steps(
    A: SymmetricOperator,
    B: SymmetricOperator,
    start: Array,
    r: int,
    small: Small,
    preconditioned: Preconditioned,
) -> Iterator[Found]:
    """The best r columns on ever better small bases: [block, last step, preconditioned residual].

    The start has as many columns as the block. Ends where the bases have nothing to add.

    Source: locally optimal blocks as in A. V. Knyazev, SIAM J. Sci. Comput. 23 (2001).
    """
    m = products = start.shape[1]
    V = np.linalg.qr(start / np.linalg.norm(start, axis=0))[0]
    basis = np.stack([V, A @ V, B @ V])
    while True:
        V, AV, BV = basis
        U, s, t = (each[..., :m] for each in small(sym(V.T @ AV), sym(V.T @ BV)))
        X, AX, BX = basis @ U
        R = AX - BX * s - X * t
        sizes = np.linalg.norm(AX, axis=0) + np.linalg.norm(BX * s, axis=0)
        residual = float((np.linalg.norm(R, axis=0) / sizes)[:r].max())
        yield Found(X, residual, products)
        best, last = np.linalg.qr(U)[0], np.vstack([np.zeros((m, m)), U[m:]])
        basis = basis @ np.hstack([best, complement(best, last)])
        T = complement(basis[0], preconditioned(R, s, t))
        if not T.shape[1]:
            return
        basis = np.concatenate([basis, [T, A @ T, B @ T]], axis=2)
        products += T.shape[1]


def ratio_steps(
    A: SymmetricOperator,
    B: SymmetricOperator,
    start: Array,
    weights: Array,
    preconditioned: Preconditioned,
) -> Iterator[Found]:
    """Ever larger tr(VM'AM)/tr(VM'BM), V = diag(weights), M the first columns; in eigenvectors."""

    def small(A: Array, B: Array) -> tuple[Array, Array, Array]:
        """Newton's method from the ratio of the first columns, the best so far."""
        r = len(weights)
        first = rho = float(weights @ np.diag(A)[:r]) / float(weights @ np.diag(B)[:r])
        while True:
            theta, Q = np.linalg.eigh(A - rho * B)
            theta, Q = theta[::-1], Q[:, ::-1]
            U = Q[:, :r] * weights
            ratio = float(np.vdot(U, A @ Q[:, :r])) / float(np.vdot(U, B @ Q[:, :r]))
            if not ratio - rho > max(_LITTLE * (rho - first), 4 * _EPS * abs(rho)):
                return Q, np.full(len(theta), rho), theta
            rho = ratio

    return _steps(A, B, start, len(weights), small, preconditioned)


def largest_pairs(A: SymmetricOperator, B: SymmetricOperator, start: Array, r: int) -> Found:
    """The r largest generalised eigenvectors of (A, B) in B's range, its diagonal near 1."""

    def small(A: Array, B: Array) -> tuple[Array, Array, Array]:
        sizes, Q = np.linalg.eigh(B)
        kept = sizes > _IN_RANGE * sizes[-1]
        W = Q[:, kept] / np.sqrt(sizes[kept])
        values, U = np.linalg.eigh(W.T @ A @ W)
        return (W @ U)[:, ::-1], values[::-1], np.zeros(len(values))

    return Found.last(_steps(A, B, B @ start, r, small, lambda R, s, t: R))


def conjugate_gradients(
    H: Callable[[Array], Array], R: Array, preconditioned: Callable[[Array], Array]
) -> tuple[Array, int]:
    """H^{-1}R of a positive definite H, all columns at once; and the vectors H was applied to."""
    X, left = np.zeros_like(R), R.copy()
    z = preconditioned(left)
    p, size = z.copy(), np.sum(left * z, axis=0)
    enough = _SOLVED * np.linalg.norm(R, axis=0)
    steps = 0
    while steps < _SOLVING_STEPS and (np.linalg.norm(left, axis=0) > enough).any():
        Hp = H(p)
        curved = np.sum(p * Hp, axis=0)
        step = np.divide(size, curved, where=curved > 0, out=np.zeros_like(size))
        X += step * p
        left -= step * Hp
        z = preconditioned(left)
        before, size = size, np.sum(left * z, axis=0)
        p *= np.divide(size, before, where=before > 0, out=np.zeros_like(size))
        p += z
        steps += 1
    return X, steps * R.shape[1]


def columns_of(width: int, V: Array) -> Array:
    """The first columns of V, with random ones beside them where they are too few."""
    more = np.random.default_rng(0).standard_normal((len(V), max(0, width - V.shape[1])))
    return np.hstack([V[:, :width], more])


class SmoothedRatio:
    """t = max (<Q, F> + mu S(F)) / <C, F> over 0 <= F <= I, tr F = r.

    S is the entropy -sum f log f + (1 - f) log(1 - f) of F's eigenvalues f. At an F of rank r it
    is zero, so that t is at least the largest tr(M'QM)/tr(M'CM); it exceeds it by `slack` at most.
    The maximum is expit((Q - tC - nu)/mu), the occupations f = expit((theta - nu)/mu) of the
    eigenvectors of Q - tC with nu such that they add up to r.

    - temperature: mu, in units of the mean eigenvalue of `near` C
    - near: what Newton's iteration for t begins at
    - value: t
    - gradient (d, d): of t in Q: F / <C, F>
    - top (d, r): the eigenvectors most occupied
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
            if not step * step > 1e-15 * temperature * t * t:  # the error that the step leaves
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
        tied = np.abs(apart) < 1e-6 * self._mu  # there the derivative, not the difference
        slopes = 0.5 * (self._slopes[occupied, None] + self._slopes)
        return np.where(tied, slopes, (f[occupied, None] - f) / np.where(tied, 1.0, apart))

    @cached_property
    def _slopes(self) -> Array:
        return self._f * (1.0 - self._f) / self._mu

    def derivative(self, E: Array) -> Array:
        """Of the gradient along a symmetric E."""
        E = E - float(np.vdot(self.gradient, E)) * self._C
        V, N = self._V, self._occupied
        X = (N.T @ E) @ V
        slopes = self._slopes
        change = self._differences * X
        total = float(slopes.sum())
        if total > 0:  # nu moves too, so that the occupations go on adding up to r
            k = np.arange(len(X))
            change[k, k] -= slopes[k] * float(slopes[k] @ X[k, k]) / total
        change[:, : len(X)] *= 0.5
        D = N @ (change @ V.T)
        D += D.T
        return (D - float(np.vdot(self._C, D)) * self.gradient) / self._size


def _occupations(theta: Array, r: int, mu: float) -> Array:
    """expit((theta - nu)/mu) that add up to r, by Newton's method within bounds; theta descending.

    SciPy's root finders take three times as many sums, a twelfth of a solve of cca.
    """
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


# A point this flat, relative to the value, may be a saddle.
_FLAT = 1e-8


class TraceRatioLike(Protocol):
    """A problem that minimises -tr(VM'AM) / tr(VM'BM).

    The weights fall along the columns, to above zero; all are 1 where only the span of M counts.
    """

    @property
    def A(self) -> Array: ...

    @property
    def B(self) -> Array: ...

    @property
    def weights(self) -> Array: ...


@dataclass(frozen=True)
class SelfConsistentField(Solver[State]):
    """M <- the top r eigenvectors of A - rho B, rho the ratio at M, until it no longer grows.

    That is Newton's method on f(rho) = sum_j v_j lambda_j(A - rho B), which is convex and falls.
    Its root is the global maximum, reached monotonically and quadratically from any start.

    Source: T. T. Ngo, M. Bellalij and Y. Saad, The trace ratio optimization problem, SIAM Review
    54 (2012).
    """

    name = "self-consistent-field"
    default_max_iterations = 100
    patience = 3

    def initialise(self, problem: RiemannianProblem, M: Array) -> State:
        ratio = problem.problem
        if not (hasattr(ratio, "A") and hasattr(ratio, "B") and hasattr(ratio, "weights")):
            raise ArgumentError(
                f"solver={self.name!r} solves trace ratios (lda, maf) only; "
                "for other objectives use solver='trust-region'"
            )
        start = State(problem.at(M))
        flat = start.point.gradient_norm <= _FLAT * abs(start.point.value)
        return self.step(problem, start) if flat else start

    def step(self, problem: RiemannianProblem, state: State) -> State:
        """Newton's step, and further ones while they lead to saddles.

        Where A and B share eigenvectors, a point can be flat without being the maximum. A flat
        point whose step gained next to nothing is near the maximum.
        """
        ratio = cast(TraceRatioLike, problem.problem)
        old = state.point
        while True:
            # A few roundings above the ratio: where a column outweighs all others in B, rounding
            # would decide on the sign of its eigenvalue at the ratio itself.
            new = problem.at(_next(ratio, -old.value + 8 * _EPS * abs(old.value), old.M))
            gain, size = old.value - new.value, abs(new.value)
            # convergence is quadratic: a step that leaves half of the gradient is rounding
            if gain <= VALUE_ROUNDING * size and new.gradient_norm > 0.5 * old.gradient_norm:
                return State(new, halt=Status.ROUNDING)
            if gain <= _FLAT * size or new.gradient_norm > (problem.threshold or _FLAT * size):
                return State(new)
            old = new


def _next(ratio: TraceRatioLike, rho: float, M: Array) -> Array:
    """The top eigenvectors of A - rho B; of large matrices the best of more of them and of M.

    Of d = 1024 and r = 3 a decomposition is a fifth of a whole one, and a step less in each four:
    with ten more maf of autoregressive columns takes 4 steps, not 7.
    """
    A, B, r = ratio.A, ratio.B, M.shape[1]
    if not few_of_many(A, r):
        return top_eigenvectors(A - rho * B, r)[1]
    Q = np.linalg.qr(np.hstack([top_eigenvectors(A - rho * B, r + 10)[1], M]))[0]
    small_A, small_B = (sym(Q.T @ S @ Q)[None] for S in (A, B))
    return Q @ stacked_trace_ratio(small_A, small_B, ratio.weights)[1][0]
