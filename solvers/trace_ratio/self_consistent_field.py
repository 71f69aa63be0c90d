"""The self-consistent field iteration for trace ratios."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol, cast, runtime_checkable

import numpy as np
from scipy.linalg.blas import dgemm, dtrsm
from scipy.linalg.lapack import dpotrf

from ldr.solvers.errors import ArgumentError
from ldr.solvers.limits import CHOLESKY_COST, check_eigen
from ldr.solvers.linalg.eigen import symmetric_eigen, top_eigenvectors
from ldr.solvers.linalg.symmetric import symmetric_product
from ldr.solvers.manifolds import Array
from ldr.solvers.problem import Point
from ldr.solvers.riemannian import RiemannianPoint, RiemannianProblem
from ldr.solvers.solver import Solver, State
from ldr.solvers.status import Status
from ldr.solvers.verdict import VALUE_ROUNDING

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
# A small problem is solved where the next step would bring less than this share of what is gained.
_LITTLE = 0.01
# A point this flat, relative to the value, may be a saddle; eigenvalues this close, relative to the
# norm of the matrix, count as tied, and at most this close, relative to its diagonal.
_FLAT = 1e-8
_TIE = 1e-12
_LOOSE_TIE = 1e-10

_EPS = float(np.finfo(float).eps)
_ABOVE = 8 * _EPS


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
class FieldState(State):
    """`expected` is the optimal ratio, by the second-order model of the last decomposition."""

    expected: float = -np.inf


@dataclass(frozen=True)
class SelfConsistentField(Solver[FieldState]):
    """M <- top_r(A - rho B) with rho = tr(M'AM)/tr(M'BM): Newton's method for the trace ratio.

    It is Newton on f(rho) = sum of the r largest eigenvalues of A - rho B, which is convex and
    falls; its root is the global maximum, reached monotonically and quadratically from any start.

    Each eigendecomposition is used more than once. In its basis the invariant subspace of the
    updated A - rho B is corrected by T_ji = (q_j'R)_i / (theta_i - theta_j), i <= r < j, with the
    residual R = AM - rho BM: two corrections cost a few products and make the step of fourth order.
    Its eigenvalues give f'' too: the next rho is where the second-order model has its root, not
    where Newton's step ends. One beyond the optimum is harmless, unless M gets worse; then Newton's
    step is taken. Far from the optimum the steps are short: the small trace ratio on [M, gradient]
    takes their place. The run ends where f(rho), the Newton decrement, is rounding.

    Source: T. T. Ngo, M. Bellalij and Y. Saad, The trace ratio optimization problem, SIAM Review
    54 (2012).
    """

    name = "self-consistent-field"
    default_max_iterations = 100
    patience = 3

    def initialise(self, problem: RiemannianProblem, M: Array) -> FieldState:
        if not isinstance(problem.problem, TraceRatioLike):
            raise ArgumentError(
                f"solver={self.name!r} solves trace ratios (lda, maf) only; "
                "for other objectives use solver='trust-region'"
            )
        return FieldState(unless_saddle(problem, problem.at(M)))

    def step(self, problem: RiemannianProblem, state: FieldState) -> FieldState:
        ratio, old = matrices(problem), state.point
        newton = ratio_above(old)
        rho = max(newton, state.expected)
        K = ratio.A - rho * ratio.B
        d, r = old.M.shape
        if r <= _FAR_SHARE * d and _is_far(old, K):
            return FieldState(unless_saddle(problem, ritz(problem, old, old.gradient).point))
        if r < _PARTIAL_SHARE * d:
            values, Q = top_eigenvectors(K, r)
            return FieldState(unless_saddle(problem, problem.at(Q)), halt=_halt(values, Q, K))
        values, Q = symmetric_eigen(K)
        point, expected = _corrected(problem, rho, values, Q, r)
        if rho > newton and point.value > old.value + VALUE_ROUNDING * abs(old.value):
            return FieldState(old)
        point = unless_saddle(problem, point)
        if point.gradient_norm <= problem.threshold:
            point = _diagonal(problem, point)
        return FieldState(point, expected, halt=_halt(values[:r], Q[:, :r], K))


def _is_far(point: RiemannianPoint, K: Array) -> bool:
    """Whether the gradient promises much: the slope squared over a bound of twice the curvature."""
    curvature = 2.0 * float(np.linalg.norm(K)) / denominator(point)
    return point.gradient_norm**2 > 2.0 * _FAR * curvature * abs(point.value)


def _halt(top: Array, Q: Array, K: Array) -> Status | None:
    """Whether f(rho), the sum of the top eigenvalues, is the effect of rounding.

    Entries of K that are large only where the eigenvectors Q are small do not count in full.
    """
    weights = np.linalg.norm(Q, axis=1)
    size = min(float(np.linalg.norm(K)), float(weights @ np.abs(K) @ weights))
    rounding = _EPS * (float(np.sum(np.abs(top))) + size)
    return Status.ROUNDING if abs(float(np.sum(top))) <= rounding else None


def _gaps(values: Array, r: int) -> Array:
    """theta_i - theta_j for i <= r < j, (k - r) x r, at least rounding."""
    least = _EPS * max(abs(values[0]), abs(values[-1]))
    return np.maximum(values[:r] - values[r:, None], least)


def _expected(rho: float, ratio: float, gain: float) -> float:
    """The root of the second-order model of f at rho.

    `ratio` is where Newton's step ends, and `gain` what half of f'' adds to it.
    """
    newton = ratio - rho
    if not newton > 0:
        return ratio
    return rho + 2 * newton / (1 + math.sqrt(max(0.0, 1 - 4 * gain / newton)))


def _corrected(
    problem: RiemannianProblem, rho: float, values: Array, Q: Array, r: int
) -> tuple[RiemannianPoint, float]:
    """The top eigenvectors Q of A - rho B, moved to those of A - rho(M) B as far as Q serves.

    And the expected optimal ratio.
    """
    rest, gaps = Q[:, r:], _gaps(values, r)
    point = problem.at(np.ascontiguousarray(Q[:, :r]))
    expected = -point.value
    for count in range(_CORRECTIONS):
        if point.gradient_norm <= problem.threshold:
            break
        residual = (-0.5 * denominator(point)) * (rest.T @ point.gradient)
        coefficients = residual / gaps
        gain = float(np.vdot(coefficients, residual)) / denominator(point)
        expected = gain - point.value if count else _expected(rho, -point.value, gain)
        if not np.linalg.norm(coefficients) <= 1.0:  # too far for this eigenbasis
            break
        candidate = problem.at(_orthonormal(point.M + rest @ coefficients))
        if not candidate.value <= point.value:
            break
        slow = candidate.gradient_norm > _REDUCTION * point.gradient_norm
        point = candidate
        if slow:
            break
    return point, expected


def _diagonal(problem: RiemannianProblem, point: RiemannianPoint) -> RiemannianPoint:
    """The same subspace in eigenvectors of A - rho B: the end does not show the way there."""
    W = symmetric_eigen(projected(point))[1]
    W = W * np.where(np.diag(W) < 0, -1.0, 1.0)
    return _at(problem, _block(point).times(W))


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
        K = ratio.A - ratio_above(point) * ratio.B
        candidate = problem.at(top_eigenvectors(K, point.M.shape[1])[1])
        if not candidate.value < point.value:
            break
        point = candidate
    return point


def _spans_top(problem: RiemannianProblem, point: RiemannianPoint) -> bool:
    """Whether no eigenvalue of K on the complement of M exceeds M's: one Cholesky factorisation.

    Ties are judged beside the diagonal too: what is rounding in a column that outweighs the others
    is none in them.
    """
    ratio = matrices(problem)
    size = float(np.linalg.norm(ratio.A) + abs(point.value) * np.linalg.norm(ratio.B))
    residual = 0.5 * denominator(point) * point.gradient_norm
    diagonal = np.abs(np.diag(ratio.A)) + abs(point.value) * np.diag(ratio.B)
    ties = np.minimum(max(residual, _TIE * size), _LOOSE_TIE * len(diagonal) * diagonal)
    smallest = float(np.linalg.eigvalsh(projected(point))[0])
    return factor_above(problem, point, smallest, size, ties) is not None


def ratio_above(point: RiemannianPoint) -> float:
    """rho, a few roundings above tr(M'AM)/tr(M'BM).

    Where a column of M outweighs all others in B, rounding would decide on the sign of its
    eigenvalue of A - rho B at the ratio itself, and so whether it must stay.
    """
    return -point.value + _ABOVE * abs(point.value)


def projected(point: RiemannianPoint) -> Array:
    """L = M'KM, K = A - rho B."""
    AM, BM = cast(TraceRatioPointLike, point.point).products
    return _sym(point.M.T @ (AM - ratio_above(point) * BM))


def factor_above(
    problem: RiemannianProblem,
    point: RiemannianPoint,
    s: float,
    c: float,
    slack: float | Array = 0.0,
) -> Array | None:
    """Cholesky factor of sI - K + M (M'KM + (c - s) I) M': c on the span of M, s - K off it.

    `slack` is added to the diagonal. None where K has eigenvalues above s and the slack off M. The
    matrix is made in place, in LAPACK's order.
    """
    ratio, M = matrices(problem), point.M
    check_eigen(len(M), CHOLESKY_COST)
    H = np.multiply(ratio.B, ratio_above(point))
    H -= ratio.A
    H = H.T  # it is symmetric, and now in columns
    turned = M @ (projected(point) + (c - s) * np.eye(M.shape[1]))
    H = dgemm(1.0, turned, M, beta=1.0, c=H, trans_b=1, overwrite_c=1)
    H[np.diag_indices_from(H)] += s + slack
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


def _block(point: RiemannianPoint) -> Block:
    """M with the products that the point keeps."""
    return Block(point.M, *cast(TraceRatioPointLike, point.point).products)


def _at(problem: RiemannianProblem, block: Block) -> RiemannianPoint:
    """The point at the block's columns; its products are known."""
    products = (block.AV, block.BV)
    return problem.at(block.V, cast(Point, matrices(problem).at(block.V, products)))


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
    known = _block(point)
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
        _at(problem, new),
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
    """The maximiser of tr(U'AU)/tr(U'BU), from rho; eigenvalues of A - rho B, descending.

    To a share of the progress from rho, as the subspace that it is solved on is a passing one.
    """
    best, found, shift = -np.inf, None, rho
    while True:
        values, Q = symmetric_eigen(A - shift * B)
        U = Q[:, :r]
        BU = B @ U
        b = float(np.vdot(U, BU))
        AU = A @ U
        ratio = float(np.vdot(U, AU)) / b
        if found is not None and not ratio > best:
            return found
        best, found = ratio, (U, values)
        residual = Q[:, r:].T @ (AU - ratio * BU)
        gain = float(np.vdot(residual, residual / _gaps(values, r))) / b
        if not gain > max(_LITTLE * (ratio - rho), 4 * _EPS * abs(ratio)):
            return found
        shift = _expected(shift, ratio, gain)
