"""The self-consistent field iteration for trace ratios."""

from __future__ import annotations

import numpy as np
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dpotrf

from ldr.solvers.errors import ArgumentError
from ldr.solvers.linalg.eigen import symmetric_eigen, top_eigenvectors
from ldr.solvers.manifolds import Array
from ldr.solvers.records import dataclass
from ldr.solvers.riemannian import RiemannianPoint, RiemannianProblem
from ldr.solvers.solver import Solver, State
from ldr.solvers.status import Status
from ldr.solvers.trace_ratio.problem import (
    TraceRatioLike,
    denominator,
    is_trace_ratio,
    matrices,
    projected,
    ratio_above,
    unless_saddle,
)
from ldr.solvers.trace_ratio.ritz import at, block_of, expected_ratio, gaps, ritz
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

_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class FieldState(State):
    """`expected` is the optimal ratio, by the second-order model of the last decomposition."""

    expected: float = -np.inf


@dataclass(frozen=True)
class SelfConsistentField(Solver[FieldState]):
    """M <- top_r(A - rho B) with rho = tr(M'AM)/tr(M'BM): Newton's method for the trace ratio.

    It is Newton on f(rho) = sum of the r largest eigenvalues of A - rho B, which is convex and
    falls; its root is the global maximum, reached monotonically and quadratically from any start.
    So it is with weights that fall along the columns, of f(rho) = sum_j v_j lambda_j(A - rho B) and
    the eigenvectors in order.

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
        if not is_trace_ratio(problem.problem):
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
        size = float(np.linalg.norm(K))
        d, r = old.M.shape
        if r <= _FAR_SHARE * d and _is_far(old, size):
            return FieldState(unless_saddle(problem, ritz(problem, old, old.gradient).point))
        if r < _PARTIAL_SHARE * d or _is_nested(ratio):
            values, Q = top_eigenvectors(K, r)
            halt = _halt(ratio.weights * values, Q, K, size)
            return FieldState(unless_saddle(problem, problem.at(Q)), halt=halt)
        values, Q = symmetric_eigen(K)
        point, expected = _corrected(problem, rho, values, Q, r)
        if rho > newton and point.value > old.value + VALUE_ROUNDING * abs(old.value):
            return FieldState(old)
        point = unless_saddle(problem, point)
        if point.gradient_norm <= problem.threshold:
            point = _diagonal(problem, point)
        return FieldState(point, expected, halt=_halt(values[:r], Q[:, :r], K, size))


def _is_nested(ratio: TraceRatioLike) -> bool:
    """Whether the order of the columns counts."""
    return bool(ratio.weights[-1] < ratio.weights[0])


def _is_far(point: RiemannianPoint, size: float) -> bool:
    """Whether the gradient promises much: the slope squared over a bound of twice the curvature.

    `size` is the norm of K.
    """
    curvature = 2.0 * size / denominator(point)
    return point.gradient_norm**2 > 2.0 * _FAR * curvature * abs(point.value)


def _halt(top: Array, Q: Array, K: Array, size: float) -> Status | None:
    """Whether f(rho), the sum of the weighted top eigenvalues, is the effect of rounding.

    `size` is the norm of K. Its entries that are large only where the eigenvectors Q are small do
    not count in full.
    """
    total, sizes = abs(float(top.sum())), float(np.abs(top).sum())
    if total > _EPS * (sizes + size):
        return None
    weights = np.linalg.norm(Q, axis=1)
    return Status.ROUNDING if total <= _EPS * (sizes + weights @ np.abs(K) @ weights) else None


def _corrected(
    problem: RiemannianProblem, rho: float, values: Array, Q: Array, r: int
) -> tuple[RiemannianPoint, float]:
    """The top eigenvectors Q of A - rho B, moved to those of A - rho(M) B as far as Q serves.

    And the expected optimal ratio.
    """
    rest, spacings = np.ascontiguousarray(Q[:, r:]), gaps(values, r)
    point = problem.at(np.ascontiguousarray(Q[:, :r]))
    expected = -point.value
    for count in range(_CORRECTIONS):
        if point.gradient_norm <= problem.threshold:
            break
        residual = (-0.5 * denominator(point)) * (rest.T @ point.gradient)
        coefficients = residual / spacings
        gain = float(np.vdot(coefficients, residual)) / denominator(point)
        expected = gain - point.value if count else expected_ratio(rho, -point.value, gain)
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
    return at(problem, block_of(point).times(W))


def _orthonormal(Y: Array) -> Array:
    """Y L'^{-1} with Y'Y = LL', at least 1: orthonormal to rounding where Y nearly is."""
    L, _ = dpotrf(Y.T @ Y, lower=1)
    return np.asarray(dtrsm(1.0, L.T, Y.T, side=0, lower=0, trans_a=1).T)
