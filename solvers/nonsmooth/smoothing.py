"""Smoothing continuation: a penalty's kinks rounded off less and less."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ldr.solvers.checks import keep_numbers
from ldr.solvers.limits import over
from ldr.solvers.loop import minimise
from ldr.solvers.manifolds import Array
from ldr.solvers.nonsmooth.proximal_gradient import (
    ProximalGradient,
    ProximalPoint,
    ProximalState,
    SmoothSum,
    penalty_of,
    require_separable,
)
from ldr.solvers.problem import Point, Problem
from ldr.solvers.records import dataclass, replace
from ldr.solvers.riemannian import RiemannianProblem
from ldr.solvers.run import Stopping
from ldr.solvers.solver import State
from ldr.solvers.trust_region import TrustRegion

# Each stage need only come near its minimum: its trust region's models too, linearly.
_STAGE_TOLERANCE = 1e-4
_STAGE_ITERATIONS = 30
_STAGE_SOLVER = TrustRegion(theta=0.0, kappa=0.1)


class Smoothed(Problem):
    """A problem whose penalty is rounded off over entries below `width`: a smooth problem."""

    def __init__(self, problem: Problem, width: float) -> None:
        self._problem, self._width = problem, width
        self.manifold = problem.manifold
        self.has_hessian = problem.has_hessian

    def at(self, M: Array) -> Point:
        return SmoothSum(self._problem.at(M), *penalty_of(self._problem).smoothed(M, self._width))


@dataclass(frozen=True)
class Smoothing(ProximalGradient):
    """Smoothing continuation by trust regions, finished by proximal gradients from the lowest end.

    |m| is replaced by sqrt(m^2 + w^2), w falling stage by stage from the size of M's entries: wide
    kinks let entries cross zero, where proximal gradients from the same start would fix the first
    support that they meet.

    Parameters
    ----------
    widths : tuple of float
        w of the stages, in units of the root mean square of M's entries.
    """

    name = "smoothing"

    widths: tuple[float, ...] = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)

    def __post_init__(self) -> None:
        super().__post_init__()
        keep_numbers(self, "widths", positive=True)

    def states(self, problem: RiemannianProblem, M: Array, stopping: Stopping) -> Iterator[State]:
        """The start, the end of each stage, then the proximal gradient steps."""
        require_separable(problem)
        lowest = self.initialise(problem, M)
        t = lowest.point.t
        yield lowest
        if problem.problem.penalty is None:
            return (yield from self.states_from(problem, lowest))
        for width in self.widths:
            size = float(np.linalg.norm(M)) / math.sqrt(M.size)
            stage = Stopping(_STAGE_TOLERANCE, _STAGE_ITERATIONS)
            run = minimise(Smoothed(problem.problem, width * size), M, _STAGE_SOLVER, stage)
            problem.evaluations.update(run.evaluations)
            M = run.M
            if over():
                point = ProximalPoint(problem, M, t, t)
                state = ProximalState(point, point.value)
            else:
                state = self.initialise(problem, M)
            yield replace(state, iterations=run.iterations)
            lowest = min(lowest, state, key=lambda state: state.point.value)
        yield from self.states_from(problem, lowest)
