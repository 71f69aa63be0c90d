"""Trace ratios max tr(VM'AM) / tr(VM'BM), V = diag(weights), by Newton's method.

The module has functions for a stack of small problems and for one problem, small or large.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ldr.solvers.errors import ArgumentError
from ldr.solvers.linalg.eigen import few_of_many, top_eigenvectors
from ldr.solvers.linalg.rounding import TIED, VALUE_ROUNDING
from ldr.solvers.manifolds import Array
from ldr.solvers.manifolds.manifold import sym
from ldr.solvers.problem import RiemannianProblem
from ldr.solvers.solver import Solver, State
from ldr.solvers.status import Status

_EPS, _TINY = float(np.finfo(float).eps), float(np.finfo(float).tiny)


def stacked_trace_ratio(A: Array, B: Array, weights: Array) -> tuple[Array, Array, Array]:
    """Maximise sum_j v_j m_j'Am_j / sum_j v_j m_j'Bm_j for each A and B, by Newton's method.

    The function f(rho) = sum_j v_j lambda_j(A - rho B) is convex and decreasing. From below the
    root of f, Newton's iterates increase to the root quadratically. Only problems of the stack that
    have not converged are decomposed.

    - A, B (b, k, k): B positive semidefinite, of rank above k - r
    - weights (r,): v_1 >= ... >= v_r > 0, all equal for the unweighted trace ratio.
    - returns rho (b,)
    - returns M (b, k, r): eigenvectors of A - rho B, in descending order of eigenvalues.
    - returns f (b,): f(rho); if positive, f(rho) / (least denominator) bounds the error of rho
    """
    r = len(weights)
    shift = _ratio_of_axes(A, B, weights)
    rho = np.full(len(A), -np.inf)
    M, f = np.empty((*A.shape[:2], r)), np.empty(len(A))
    active = np.arange(len(A))
    for _ in range(60):
        of_A, of_B, at = A[active], B[active], shift[active]
        values, vectors = np.linalg.eigh(of_A - at[:, None, None] * of_B)
        values, vectors = values[:, ::-1], vectors[:, :, ::-1]
        found = vectors[:, :, :r]
        turned = vectors.transpose(0, 2, 1) @ (of_B @ found)
        slope = np.einsum("bii,i->b", turned[:, :r], weights)
        sums = values[:, :r] @ weights
        # This ratio of traces equals Newton's update, but avoids rounding errors of eigenvalues.
        ratio = np.einsum("bkj,bkj,j->b", found, of_A @ found, weights) / slope
        best = rho[active]
        better = ratio > best
        kept = active[better]
        M[kept], f[kept], rho[kept] = found[better], sums[better], ratio[better]
        further = _second_order(at, ratio, slope, values, turned, weights)
        shift[active] = np.where(better, further, best)
        moved = np.abs(ratio - at) > 4 * _EPS * np.maximum(np.abs(ratio), np.abs(at))
        active = active[moved & (better | (at > best))]  # drop problems that have converged
        if len(active) == 0:
            break
    return rho, M, f


def _second_order(
    rho: Array, newton: Array, slope: Array, values: Array, turned: Array, weights: Array
) -> Array:
    """Return the root of the second-order model of f, which lies beyond Newton's step.

    f'' = 2 sum_{i<j} (v_i - v_j)(q_j'Bq_i)^2 / (theta_i - theta_j), v_j = 0 beyond the r-th.
    """
    r = len(weights)
    others = np.concatenate([weights, np.zeros(values.shape[1] - r)])
    more = np.maximum(weights[None, :] - others[:, None], 0.0)
    apart = values[:, None, :r] - values[:, :, None]
    least = _EPS * np.abs(values).max(axis=1)[:, None, None]
    bend = np.sum(more * turned**2 / np.maximum(apart, least), axis=(1, 2))
    return _root_beyond(rho, newton, slope, 2.0 * bend)


def _root_beyond(rho: Any, newton: Any, slope: Any, curvature: Any) -> Any:
    """Return the root of a quadratic model of f at rho, which lies beyond Newton's step.

    Arguments are numbers, or arrays with an entry for each problem of a stack.

    - slope: -f' at rho, positive
    """
    step = newton - rho
    inner = np.maximum(0.0, 1.0 - 2.0 * curvature * step / slope)
    return rho + 2.0 * step / (1.0 + np.sqrt(inner))


def _ratio_of_axes(A: Array, B: Array, weights: Array) -> Array:
    """Return the best ratio for M of columns of the identity, whatever the columns' units."""
    a, b = np.einsum("bii->bi", A), np.einsum("bii->bi", B)
    rho = a.sum(axis=1) / b.sum(axis=1)
    for _ in range(60):
        best = np.argsort(rho[:, None] * b - a, axis=1)[:, : len(weights)]
        top_a, top_b = (np.take_along_axis(S, best, axis=1) @ weights for S in (a, b))
        ratio = np.divide(top_a, top_b, out=rho.copy(), where=top_b > 0)
        if not np.any(ratio > rho):
            break
        rho = np.maximum(ratio, rho)
    return rho


class Tangent(NamedTuple):
    """The value and the slope of f(rho) = sum_j v_j lambda_j(A - rho B) at a shift."""

    shift: float
    f: float
    slope: float


@dataclass(frozen=True)
class FieldState(State):
    """A state with the eigenvectors of the last step, and f at the last two shifts."""

    span: Array = field(kw_only=True)
    tangents: Sequence[Tangent] = field(default=(), kw_only=True)


@dataclass(frozen=True)
class SelfConsistentField(Solver[FieldState]):
    """Iterate M <- top r eigenvectors of A - rho B, where rho is the trace ratio at M.

    The trace ratio is the quotient of tr(V M'AM) and tr(V M'BM) with positive, descending weights
    in the diagonal matrix V; V = I if the ratio depends only on the span of M. For r columns, let
    f(rho) be the weighted sum of the r largest eigenvalues of A - rho B. The function f is convex
    and decreasing, and its root is the largest trace ratio. The iteration is Newton's method for
    this root, with quadratic convergence.

    Source: T. T. Ngo, M. Bellalij and Y. Saad, The trace ratio optimization problem, SIAM Review
    54 (2012).
    """

    name = "self-consistent-field"
    default_max_iterations = 100
    patience = 3

    def initialise(self, problem: RiemannianProblem, M: Array) -> FieldState:
        ratio = problem.problem
        if not (hasattr(ratio, "A") and hasattr(ratio, "B") and hasattr(ratio, "weights")):
            raise ArgumentError(
                f"solver={self.name!r} solves trace ratios (orthogonal-lda, orthogonal-maf) only; "
                "for other objectives use solver='trust-region'"
            )
        start = FieldState(problem.at(M), span=M)
        flat = start.point.gradient_norm <= TIED * abs(start.point.value)
        return self.step(problem, start) if flat else start

    def step(self, problem: RiemannianProblem, state: FieldState) -> FieldState:
        """Take a Newton step, and leave saddle points by further steps.

        If the ratio's matrices A and B share eigenvectors, the gradient can vanish far from the
        maximum. Steps are therefore repeated while the gradient is small but the ratio increases.
        """
        ratio: Any = problem.problem
        old, span, tangents = state.point, state.span, state.tangents
        # Rounding error of the ratio tr(M'AM) / tr(M'BM) when its exact value is zero.
        rounding = 8 * _EPS * abs(ratio.A.trace()) / max(ratio.B.trace(), _TINY)
        while True:
            # If one column dominates B, the trace ratio as shift makes an eigenvalue of A - shift B
            # zero up to rounding, with a random sign. A slightly larger shift avoids this.
            shift = _beyond(-old.value, tangents) + 8 * _EPS * abs(old.value)
            M, span = _next(ratio, shift, old.M, span)
            new = problem.at(M)
            gain, size = old.value - new.value, abs(new.value)
            nothing = VALUE_ROUNDING * size + rounding
            if gain < -nothing and len(tangents) == 2:  # the shift overshot the ratio's maximum
                tangents = ()
                continue
            if span is M:  # eigenvalues of A - shift B have a known derivative in the shift
                slope = -float(np.vdot(M * ratio.weights, ratio.B @ M))
                tangents = (*tangents[-1:], Tangent(shift, slope * (shift + new.value), slope))
            if gain < -nothing:  # only rounding errors can decrease the ratio
                return FieldState(old, span=span, halt=Status.ROUNDING)
            # Convergence is quadratic: a gradient that does not fall by half is a rounding error.
            if gain <= nothing and new.gradient_norm > 0.5 * old.gradient_norm:
                return FieldState(new, span=span, tangents=tangents, halt=Status.ROUNDING)
            if gain <= TIED * size or new.gradient_norm > (problem.threshold or TIED * size):
                return FieldState(new, span=span, tangents=tangents)
            old = new


def _beyond(rho: float, tangents: Sequence[Tangent]) -> float:
    """Return the root of a quadratic model of f, which lies beyond Newton's iterate rho.

    The curvature is that of the cubic through the values and slopes at the last two shifts.
    """
    if len(tangents) < 2 or tangents[0].shift == tangents[1].shift:
        return rho
    before, last = tangents
    moved = last.shift - before.shift
    bend = (2.0 * before.slope + 4.0 * last.slope - 6.0 * (last.f - before.f) / moved) / moved
    return float(_root_beyond(last.shift, rho, -last.slope, max(bend, 0.0)))


def _next(ratio: Any, rho: float, M: Array, span: Array) -> tuple[Array, Array]:
    """Return the top eigenvectors of A - rho B; for large matrices the best M in a subspace.

    The subspace is spanned by r + 20 eigenvectors, those of the last step, and M. At d = 1024 and r
    = 3 orthogonal-lda takes 4 decompositions from a random start instead of 9, each at a third of
    the cost of a full one; with r + 10 eigenvectors 5 are needed.
    """
    A, B, r = ratio.A, ratio.B, M.shape[1]
    if not few_of_many(A, r):
        vectors = top_eigenvectors(A - rho * B, r)[1]
        return vectors, vectors
    vectors = top_eigenvectors(A - rho * B, r + 20)[1]
    Q = np.linalg.qr(np.hstack([vectors, span, M]))[0]
    small_A, small_B = (sym(Q.T @ S @ Q)[None] for S in (A, B))
    return Q @ stacked_trace_ratio(small_A, small_B, ratio.weights)[1][0], vectors
