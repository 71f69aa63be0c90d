"""Strict complementarity: how far the zeros of a stationary point are from changing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ldr.solvers.manifolds import Array, Orthonormal
from ldr.solvers.manifolds.orthonormal import sym
from ldr.solvers.manifolds.support import RANK, SymmetricEquations
from ldr.solvers.nonsmooth.proximal_gradient import penalty_of
from ldr.solvers.problem import Problem


def slack_at(problem: Problem, M: Array) -> float:
    """The largest s with |G - ML|_ij <= (1 - s) w_ij at the zeros of a stationary M.

    G is the smooth part's gradient and w the penalty's threshold; L is any symmetric multiplier
    with G + h' = ML on the support, of which there are many where columns share no rows. With s > 0
    M is a local minimum if it is one, strictly, among the points with the same zeros; with s = 0
    that does not follow.
    """
    manifold, penalty = problem.manifold, penalty_of(problem)
    arrays = (M, problem.at(M).gradient, penalty.slope(M), penalty.threshold(M.shape))
    parts = zip(manifold.factors, *map(manifold.split, arrays), strict=True)
    return min(_slack(isinstance(factor, Orthonormal), part) for factor, *part in parts)


def _slack(orthonormal: bool, arrays: Sequence[Array]) -> float:
    M, G, slope, threshold = arrays
    zeros = (M == 0) & (threshold > 0)
    if not zeros.any():
        return 1.0
    support = 1.0 - zeros
    residual, columns = G[zeros] / threshold[zeros], np.zeros((int(zeros.sum()), 0))
    if orthonormal:
        equations = SymmetricEquations(M, M, support)
        L = equations.solve(sym(M.T @ (support * (G + slope))))
        residual = (G - M @ L)[zeros] / threshold[zeros]
        values, vectors = np.linalg.eigh(equations.matrix)
        free = vectors[:, values <= RANK * max(values[-1], 0.0)].T
        for v in free:
            move = (M @ equations.symmetric(v))[zeros] / threshold[zeros]
            columns = np.column_stack([columns, move])
    return 1.0 - _least_maximum(residual, columns)


def _least_maximum(b: Array, A: Array) -> float:
    """The minimum of max |b - Ax| over x: a linear programme."""
    if A.shape[1] == 0:
        return float(np.abs(b).max())
    from scipy.optimize import linprog

    ones = np.ones((len(b), 1))
    bounds = [(None, None)] * A.shape[1] + [(0.0, None)]
    found = linprog(
        np.append(np.zeros(A.shape[1]), 1.0),
        A_ub=np.block([[-A, -ones], [A, -ones]]),
        b_ub=np.concatenate([-b, b]),
        bounds=bounds,
    )
    x = found.x[:-1] if found.success else np.zeros(A.shape[1])
    return float(np.abs(b - A @ x).max())
