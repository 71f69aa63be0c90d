"""The self-consistent field iteration for trace ratios."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, cast, runtime_checkable

import numpy as np
from scipy.linalg.blas import dgemm, dtrsm
from scipy.linalg.lapack import dpotrf

from ldr.solvers.eigen import symmetric_eigen, top_eigenvectors
from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds import Array
from ldr.solvers.problem import Point
from ldr.solvers.riemannian import RiemannianPoint, RiemannianProblem
from ldr.solvers.solver import Solver, State
from ldr.solvers.status import Status
from ldr.solvers.symmetric import symmetric_product

# Below this share of the spectrum two steps with the selected-eigenvector driver cost less than one
# with all eigenvectors and its corrections (which save every other step).
_PARTIAL_SHARE = 0.05
# Far from the optimum, a step along the gradient alone would gain this share of the value; up to
# this share of columns, the small problem on [M, gradient] then costs less than eigenvectors.
_FAR = 0.1
_FAR_SHARE = 1 / 6
# Corrections in one eigenbasis, each of which must reduce the gradient at least this much.
_CORRECTIONS = 12
_REDUCTION = 0.3
# A point this flat, relative to the value, may be a saddle; eigenvalues this close, relative to the
# norm of the matrix, count as tied.
_FLAT = 1e-8
_TIE = 1e-12

_EPS = float(np.finfo(float).eps)


class TraceRatioPointLike(Protocol):
    """A point of such a problem, with the products AM and BM and tr(M'BM)."""

    @property
    def products(self) -> tuple[Array, Array]: ...

    @property
    def denominator(self) -> float: ...


@runtime_checkable
class TraceRatioLike(Protocol):
    """A problem that minimises -tr(M'AM) / tr(M'BM)."""

    A: Array
    B: Array

    def at(self, M: Array, products: tuple[Array, Array] | None = None) -> TraceRatioPointLike:
        """The function at M; AM and BM may be known already."""


@dataclass(frozen=True)
class SelfConsistentField(Solver):
    """M <- top_r(A - rho B) with rho = tr(M'AM)/tr(M'BM): Newton's method for the trace ratio.

    It is Newton on f(rho) = sum of the r largest eigenvalues of A - rho B, which is convex and
    falls; its root is the global maximum, reached monotonically and quadratically from any start.

    Each eigendecomposition is used more than once. In its basis the invariant subspace of the
    updated A - rho B is corrected by T_ji = (q_j'R)_i / (theta_i - theta_j), i <= r < j, with the
    residual R = AM - rho BM: two corrections cost a few products and make the step of fourth order.
    Far from the optimum Newton's steps are short: the small trace ratio on [M, gradient] takes
    their place. The run ends where f(rho), the Newton decrement, is rounding.

    Source: T. T. Ngo, M. Bellalij and Y. Saad, The trace ratio optimization problem, SIAM Review
    54 (2012).
    """

    name = "self-consistent-field"
    default_max_iterations = 100
    patience = 3

    def initialise(self, problem: RiemannianProblem, M: Array) -> State:
        if not isinstance(problem.problem, TraceRatioLike):
            raise ArgumentError(
                f"solver={self.name!r} solves trace ratios (lda, maf) only; "
                "for other objectives use solver='trust-region'"
            )
        return State(unless_saddle(problem, problem.at(M)))

    def step(self, problem: RiemannianProblem, state: State) -> State:
        ratio = matrices(problem)
        K = ratio.A + state.point.value * ratio.B
        d, r = state.point.M.shape
        if r <= _FAR_SHARE * d and _is_far(state.point, K):
            return State(
                unless_saddle(problem, ritz(problem, state.point, state.point.gradient).point)
            )
        if r < _PARTIAL_SHARE * d:
            values, Q = top_eigenvectors(K, r)
            return State(unless_saddle(problem, problem.at(Q)), halt=_halt(values, K))
        values, Q = symmetric_eigen(K)
        point = unless_saddle(problem, _corrected(problem, values, Q, r))
        return State(point, halt=_halt(values[:r], K))


def _is_far(point: RiemannianPoint, K: Array) -> bool:
    """Whether the gradient promises much: the slope squared over a bound of twice the curvature."""
    curvature = 2.0 * float(np.linalg.norm(K)) / denominator(point)
    return point.gradient_norm**2 > 2.0 * _FAR * curvature * abs(point.value)


def _halt(top: Array, K: Array) -> Status | None:
    """Whether f(rho), the sum of the top eigenvalues, is the effect of rounding."""
    rounding = _EPS * float(np.sum(np.abs(top)) + np.linalg.norm(K))
    return Status.ROUNDING if float(np.sum(top)) <= rounding else None


def _corrected(problem: RiemannianProblem, values: Array, Q: Array, r: int) -> RiemannianPoint:
    """The top eigenvectors Q of A - rho B, moved to those of A - rho(M) B as far as Q serves."""
    rest = Q[:, r:]
    gaps = np.maximum(values[:r] - values[r:, None], _EPS * max(abs(values[0]), abs(values[-1])))
    point = problem.at(np.ascontiguousarray(Q[:, :r]))
    for _ in range(_CORRECTIONS):
        if point.gradient_norm <= problem.threshold:
            break
        residual = (-0.5 * denominator(point)) * (rest.T @ point.gradient)
        coefficients = residual / gaps
        if not np.linalg.norm(coefficients) <= 1.0:  # too far for this eigenbasis
            break
        candidate = problem.at(_orthonormal(point.M + rest @ coefficients))
        if not candidate.value <= point.value:
            break
        slow = candidate.gradient_norm > _REDUCTION * point.gradient_norm
        point = candidate
        if slow:
            break
    return point


def matrices(problem: RiemannianProblem) -> TraceRatioLike:
    """The problem's A and B; `initialise` has checked that it has them."""
    return cast(TraceRatioLike, problem.problem)


def denominator(point: RiemannianPoint) -> float:
    """tr(M'BM)."""
    return cast(TraceRatioPointLike, point.point).denominator


def unless_saddle(problem: RiemannianProblem, point: RiemannianPoint) -> RiemannianPoint:
    """The point, or where it is flat but spans no top eigenspace of A - rho B, one that is better.

    Where A and B share invariant subspaces, iterates can be stationary without being optimal.
    """
    ratio = matrices(problem)
    while point.gradient_norm <= (problem.threshold or _FLAT * abs(point.value)):
        if _spans_top(problem, point):
            break
        K = ratio.A + point.value * ratio.B
        candidate = problem.at(top_eigenvectors(K, point.M.shape[1])[1])
        if not candidate.value < point.value:
            break
        point = candidate
    return point


def _spans_top(problem: RiemannianProblem, point: RiemannianPoint) -> bool:
    """Whether no eigenvalue of K on the complement of M exceeds M's: one Cholesky factorisation."""
    ratio = matrices(problem)
    size = float(np.linalg.norm(ratio.A) + abs(point.value) * np.linalg.norm(ratio.B))
    residual = 0.5 * denominator(point) * point.gradient_norm
    above = float(np.linalg.eigvalsh(projected(point))[0]) + max(residual, _TIE * size)
    return factor_above(problem, point, above, size) is not None


def projected(point: RiemannianPoint) -> Array:
    """L = M'KM, K = A - rho B."""
    AM, BM = cast(TraceRatioPointLike, point.point).products
    return _sym(point.M.T @ (AM + point.value * BM))


def factor_above(
    problem: RiemannianProblem, point: RiemannianPoint, s: float, c: float
) -> Array | None:
    """Cholesky factor of sI - K + M (M'KM + (c - s) I) M': c on the span of M, s - K off it.

    None where K has eigenvalues above s off M. The matrix is made in place, in LAPACK's order.
    """
    ratio, M = matrices(problem), point.M
    H = np.multiply(ratio.B, -point.value)
    H -= ratio.A
    H = H.T  # it is symmetric, and now in columns
    turned = M @ (projected(point) + (c - s) * np.eye(M.shape[1]))
    H = dgemm(1.0, turned, M, beta=1.0, c=H, trans_b=1, overwrite_c=1)
    H[np.diag_indices_from(H)] += s
    factor, failed = dpotrf(H, lower=1, overwrite_a=1, clean=0)
    return None if failed else np.asarray(factor)


def _orthonormal(Y: Array) -> Array:
    """Y L'^{-1} with Y'Y = LL': orthonormal to rounding where Y nearly is."""
    L = np.linalg.cholesky(Y.T @ Y)
    return np.asarray(dtrsm(1.0, L.T, Y.T, side=0, lower=0, trans_a=1).T)


@dataclass(frozen=True)
class Block:
    """Orthonormal columns V, and AV and BV."""

    V: Array
    AV: Array
    BV: Array

    def times(self, U: Array) -> Block:
        """The block of V U, U with orthonormal columns."""
        return Block(self.V @ U, self.AV @ U, self.BV @ U)

    def beside(self, other: Block) -> Block:
        """Both blocks' columns in one."""
        parts = zip((self.V, self.AV, self.BV), (other.V, other.AV, other.BV), strict=True)
        return Block(*(np.hstack(pair) for pair in parts))


@dataclass(frozen=True)
class Ritz:
    """The trace ratio's optimum on a small subspace.

    Attributes
    ----------
    point : RiemannianPoint
    direction : Block
        Of r columns: the part of the step that lies outside the new M.
    next_value : float
        The largest eigenvalue of A - rho B there that is not the point's.
    """

    point: RiemannianPoint
    direction: Block
    next_value: float


def ritz(
    problem: RiemannianProblem, point: RiemannianPoint, T: Array, previous: Block | None = None
) -> Ritz:
    """The trace ratio solved on the span of M, T and the previous direction: never worse than M.

    The only products with A and B are those of T; all others are combined from known ones.
    """
    ratio, r = matrices(problem), point.M.shape[1]
    known = Block(point.M, *cast(TraceRatioPointLike, point.point).products)
    if previous is not None:
        known = known.beside(previous)
    V = _complement(known.V, T)
    S = known.beside(Block(V, symmetric_product(ratio.A, V), symmetric_product(ratio.B, V)))
    U, values = small_trace_ratio(_sym(S.V.T @ S.AV), _sym(S.V.T @ S.BV), -point.value, r)
    M = S.V @ U
    U = U @ np.linalg.inv(np.linalg.cholesky(M.T @ M)).T  # M orthonormal to the last digit
    new = S.times(U)
    step = np.vstack([np.zeros((r, r)), U[r:]])
    return Ritz(
        problem.at(new.V, cast(Point, ratio.at(new.V, (new.AV, new.BV)))),
        S.times(_complement(U, step)),
        float(values[r]),
    )


def _complement(M: Array, Z: Array) -> Array:
    """Orthonormal columns orthogonal to M's, which with M span Z.

    Reflections make them so even where columns of Z vanish, as converged ones do.
    """
    return np.asarray(np.linalg.qr(np.hstack([M, Z]))[0][:, M.shape[1] :])


def _sym(S: Array) -> Array:
    return 0.5 * (S + S.T)


def small_trace_ratio(A: Array, B: Array, rho: float, r: int) -> tuple[Array, Array]:
    """The maximiser of tr(U'AU)/tr(U'BU), from rho; eigenvalues of A - rho B, descending."""
    while True:
        values, U = np.linalg.eigh(A - rho * B)
        U = U[:, -r:]
        new = float(np.vdot(U, A @ U)) / float(np.vdot(U, B @ U))
        if not new > rho + 4 * _EPS * abs(rho):
            return U, values[::-1]
        rho = new
