"""Trace ratios on small subspaces, and the second-order model of the optimal ratio."""

from __future__ import annotations

import math
from typing import cast

import numpy as np

from ldr.solvers.linalg.eigen import symmetric_eigen
from ldr.solvers.linalg.symmetric import symmetric_product
from ldr.solvers.manifolds import Array
from ldr.solvers.manifolds.orthonormal import sym
from ldr.solvers.problem import Point
from ldr.solvers.records import dataclass
from ldr.solvers.riemannian import RiemannianPoint, RiemannianProblem
from ldr.solvers.trace_ratio.problem import TraceRatioPointLike, matrices

# A small problem is solved where the next step would bring less than this share of what is gained.
_LITTLE = 0.01
_EPS = float(np.finfo(float).eps)


def gaps(values: Array, r: int) -> Array:
    """theta_i - theta_j for i <= r < j, (k - r) x r, at least rounding."""
    least = _EPS * max(abs(values[0]), abs(values[-1]))
    return np.maximum(values[:r] - values[r:, None], least)


def expected_ratio(rho: float, ratio: float, gain: float) -> float:
    """The root of the second-order model of f at rho.

    `ratio` is where Newton's step ends, and `gain` what half of f'' adds to it.
    """
    newton = ratio - rho
    if not newton > 0:
        return ratio
    return rho + 2 * newton / (1 + math.sqrt(max(0.0, 1 - 4 * gain / newton)))


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
        return Block(*(np.concatenate(pair, axis=1) for pair in parts))


def block_of(point: RiemannianPoint) -> Block:
    """M with the products that the point keeps."""
    return Block(point.M, *cast(TraceRatioPointLike, point.point).products)


def at(problem: RiemannianProblem, block: Block) -> RiemannianPoint:
    """The point at the block's columns; its products are known."""
    products = (block.AV, block.BV)
    return problem.at(block.V, cast(Point, matrices(problem).at(block.V, products)))


@dataclass(frozen=True)
class Ritz:
    """The trace ratio's optimum on a small subspace.

    Attributes
    ----------
    point : RiemannianPoint
    next_value : float
        The largest eigenvalue of A - rho B there that is not the point's.
    """

    point: RiemannianPoint
    next_value: float
    _space: Block
    _step: Array  # M in the columns of `_space`, of which the first r are the M before

    def direction(self) -> Block:
        """Of r columns: the part of the step that lies outside the new M."""
        outside = self._step.copy()
        outside[: self._step.shape[1]] = 0.0
        return self._space.times(_complement(self._step, outside))


def ritz(
    problem: RiemannianProblem, point: RiemannianPoint, T: Array, previous: Block | None = None
) -> Ritz:
    """The trace ratio solved on the span of M, T and the previous direction: never worse than M.

    The only products with A and B are those of T; all others are combined from known ones.
    """
    ratio, r = matrices(problem), point.M.shape[1]
    known = block_of(point)
    if previous is not None:
        known = known.beside(previous)
    V = _complement(known.V, T)
    S = known.beside(Block(V, symmetric_product(ratio.A, V), symmetric_product(ratio.B, V)))
    A, B = sym(S.V.T @ S.AV), sym(S.V.T @ S.BV)
    U, values = small_trace_ratio(A, B, -point.value, ratio.weights)
    M = S.V @ U
    U = U @ np.linalg.inv(np.linalg.cholesky(M.T @ M)).T  # M orthonormal to the last digit
    return Ritz(at(problem, S.times(U)), float(values[r]), S, U)


def _complement(M: Array, Z: Array) -> Array:
    """Orthonormal columns orthogonal to M's, which with M span Z.

    Reflections make them so even where columns of Z vanish, as converged ones do.
    """
    return np.asarray(np.linalg.qr(np.concatenate([M, Z], axis=1))[0][:, M.shape[1] :])


def small_trace_ratio(A: Array, B: Array, rho: float, weights: Array) -> tuple[Array, Array]:
    """The maximiser of tr(VU'AU)/tr(VU'BU), from rho; eigenvalues of A - rho B, descending.

    To a share of the progress from rho, as the subspace that it is solved on is a passing one.
    """
    r = len(weights)
    best, found, shift = -np.inf, None, rho
    while True:
        values, Q = symmetric_eigen(A - shift * B)
        U = Q[:, :r]
        BU = B @ U
        b = float(np.vdot(U * weights, BU))
        AU = A @ U
        ratio = float(np.vdot(U * weights, AU)) / b
        if found is not None and not ratio > best:
            return found
        best, found = ratio, (U, values)
        residual = Q[:, r:].T @ (AU - ratio * BU)
        gain = float(np.vdot(residual * weights, residual / gaps(values, r))) / b
        if not gain > max(_LITTLE * (ratio - rho), 4 * _EPS * abs(ratio)):
            return found
        shift = expected_ratio(shift, ratio, gain)
