"""Trace ratios as their solvers see them: A - rho B, what lies above it, and saddles."""

from __future__ import annotations

from typing import Protocol, cast

import numpy as np
from scipy.linalg.blas import dgemm

from ldr.solvers.linalg.eigen import top_eigenvectors
from ldr.solvers.linalg.symmetric import cholesky, on_diagonal
from ldr.solvers.manifolds import Array
from ldr.solvers.manifolds.orthonormal import sym
from ldr.solvers.riemannian import RiemannianPoint, RiemannianProblem
from ldr.solvers.spectral import eigvalsh

# A point this flat, relative to the value, may be a saddle; eigenvalues this close, relative to the
# norm of the matrix, count as tied, and at most this close, relative to its diagonal.
_FLAT = 1e-8
_TIE = 1e-12
_LOOSE_TIE = 1e-10
_ABOVE = 8 * float(np.finfo(float).eps)


class TraceRatioPointLike(Protocol):
    """A point of such a problem, with the products AM and BM and tr(VM'BM)."""

    @property
    def products(self) -> tuple[Array, Array]: ...

    @property
    def denominator(self) -> float: ...


class TraceRatioLike(Protocol):
    """A problem that minimises -tr(VM'AM) / tr(VM'BM), V the diagonal matrix of the weights.

    They fall along the columns, to above zero; all are 1 where only the span of M counts.
    """

    @property
    def A(self) -> Array: ...

    @property
    def B(self) -> Array: ...

    @property
    def weights(self) -> Array: ...

    def at(self, M: Array, products: tuple[Array, Array] | None = None) -> TraceRatioPointLike:
        """The function at M; AM and BM may be known already."""


def is_trace_ratio(problem: object) -> bool:
    """Whether it is `TraceRatioLike`."""
    return all(hasattr(problem, name) for name in ("A", "B", "weights"))


def matrices(problem: RiemannianProblem) -> TraceRatioLike:
    """The problem's A and B; `initialise` has checked that it has them."""
    return cast(TraceRatioLike, problem.problem)


def denominator(point: RiemannianPoint) -> float:
    """tr(VM'BM)."""
    return cast(TraceRatioPointLike, point.point).denominator


def ratio_above(point: RiemannianPoint) -> float:
    """rho, a few roundings above tr(M'AM)/tr(M'BM).

    Where a column of M outweighs all others in B, rounding would decide on the sign of its
    eigenvalue of A - rho B at the ratio itself, and so whether it must stay.
    """
    return -point.value + _ABOVE * abs(point.value)


def projected(point: RiemannianPoint) -> Array:
    """L = M'KM, K = A - rho B."""
    AM, BM = cast(TraceRatioPointLike, point.point).products
    return sym(point.M.T @ (AM - ratio_above(point) * BM))


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
    H = np.multiply(ratio.B, ratio_above(point))
    H -= ratio.A
    H = H.T  # it is symmetric, and now in columns
    turned = M @ (projected(point) + (c - s) * np.eye(M.shape[1]))
    H = dgemm(1.0, turned, M, beta=1.0, c=H, trans_b=1, overwrite_c=1)
    diagonal = on_diagonal(H)
    diagonal += s + slack
    return cholesky(H)


def unless_saddle(problem: RiemannianProblem, point: RiemannianPoint) -> RiemannianPoint:
    """The point, or where it is flat but not in top eigenspaces of A - rho B, one that is better.

    Where A and B share invariant subspaces, iterates can be stationary without being optimal.
    """
    ratio = matrices(problem)
    while point.gradient_norm <= (problem.threshold or _FLAT * abs(point.value)):
        if _is_top(problem, point):
            break
        K = ratio.A - ratio_above(point) * ratio.B
        candidate = problem.at(top_eigenvectors(K, point.M.shape[1])[1])
        if not candidate.value < point.value:
            break
        point = candidate
    return point


def _is_top(problem: RiemannianProblem, point: RiemannianPoint) -> bool:
    """Whether M's eigenvalues of K are in order, and none on its complement exceeds them.

    That takes one Cholesky factorisation.

    Ties are judged beside the diagonal too: what is rounding in a column that outweighs the others
    is none in them.
    """
    ratio = matrices(problem)
    size = float(np.linalg.norm(ratio.A) + abs(point.value) * np.linalg.norm(ratio.B))
    residual = 0.5 * denominator(point) * point.gradient_norm
    diagonal = np.abs(np.diag(ratio.A)) + abs(point.value) * np.diag(ratio.B)
    ties = np.minimum(max(residual, _TIE * size), _LOOSE_TIE * len(diagonal) * diagonal)
    L = projected(point)
    inside = eigvalsh(L)[::-1]
    if float(ratio.weights @ (inside - np.diag(L))) > len(L) * max(residual, _TIE * size):
        return False
    return factor_above(problem, point, float(inside[-1]), size, ties) is not None
