"""The self-consistent field iteration for trace ratios."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from ldr.solvers.eigen import top_eigenvectors
from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds import Array
from ldr.solvers.riemannian import RiemannianProblem
from ldr.solvers.solver import Solver, State


@runtime_checkable
class TraceRatioLike(Protocol):
    """A problem that minimises -tr(M'AM) / tr(M'BM)."""

    A: Array
    B: Array


@dataclass(frozen=True)
class SelfConsistentField(Solver):
    """M <- top_r(A - rho B) with rho = tr(M'AM)/tr(M'BM): Newton's method for the trace ratio.

    It is Newton on f(rho) = sum of the r largest eigenvalues of A - rho B, which is convex and
    falls; its root is the global maximum, reached monotonically and quadratically from any start.

    Source: T. T. Ngo, M. Bellalij and Y. Saad, The trace ratio optimization problem, SIAM Review
    54 (2012).
    """

    name = "self-consistent-field"
    default_max_iterations = 100
    patience = 3

    def initialise(self, problem: RiemannianProblem, M: Array) -> State:
        if not isinstance(problem.problem, TraceRatioLike):
            raise ArgumentError(
                "solver='self-consistent-field' solves trace ratios (lda, maf) only; "
                "for other objectives use solver='trust-region'"
            )
        return State(problem.at(M))

    def step(self, problem: RiemannianProblem, state: State) -> State:
        ratio = problem.problem
        assert isinstance(ratio, TraceRatioLike)
        rho = -state.point.value
        _, M = top_eigenvectors(ratio.A - rho * ratio.B, state.point.M.shape[1])
        return State(problem.at(M))


def largest_trace_ratio(A: Array, B: Array, start: Array, iterations: int = 100) -> float:
    """max tr(M'AM) / tr(M'BM) over orthonormal M of start's shape, B positive definite."""
    M, rho, previous = start, -float("inf"), -float("inf")
    for _ in range(iterations):
        rho = float(np.vdot(M, A @ M)) / float(np.vdot(M, B @ M))
        if rho <= previous:
            break
        previous = rho
        _, M = top_eigenvectors(A - rho * B, start.shape[1])
    return max(rho, previous)
