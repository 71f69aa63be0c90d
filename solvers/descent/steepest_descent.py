"""Steepest descent on a manifold."""

from __future__ import annotations

from ldr.solvers.checks import keep_number
from ldr.solvers.descent.line_search import Trial, initial_step, search
from ldr.solvers.manifolds import Array
from ldr.solvers.records import dataclass
from ldr.solvers.riemannian import RiemannianPoint, RiemannianProblem
from ldr.solvers.solver import Solver, State
from ldr.solvers.status import Status


@dataclass(frozen=True)
class DescentState(State):
    """`first_step` is the step to try first, `reference` the value that a step may rise to."""

    first_step: float
    reference: float
    weight: float = 1.0


@dataclass(frozen=True)
class SteepestDescent(Solver[DescentState]):
    """Projection, line search, retraction: Algorithm 1 of Cunningham and Ghahramani (2015).

    M <- R_M(-t grad f(M)). The first t tried is the Barzilai-Borwein step, which carries the
    curvature of the last step, and it may raise f a little (a non-monotone search); without either,
    steepest descent zigzags.

    Parameters
    ----------
    memory : float in [0, 1)
        Weight of the past in the reference value of the non-monotone search (Zhang and Hager 2004);
        0 is the monotone search.
    """

    name = "steepest-descent"
    default_max_iterations = 10_000

    memory: float = 0.85

    def __post_init__(self) -> None:
        keep_number(self, "memory", below=1.0)

    def initialise(self, problem: RiemannianProblem, M: Array) -> DescentState:
        point = problem.at(M)
        return DescentState(point, initial_step(problem, point), point.value)

    def step(self, problem: RiemannianProblem, state: DescentState) -> DescentState:
        point = state.point
        found = search(problem, point, -point.gradient, state.first_step, state.reference)
        if found is None:
            return DescentState(point, state.first_step, state.reference, halt=Status.STALLED)
        weight = self.memory * state.weight + 1.0
        reference = (self.memory * state.weight * state.reference + found.value) / weight
        return DescentState(found.point, barzilai_borwein(problem, point, found), reference, weight)


def barzilai_borwein(problem: RiemannianProblem, point: RiemannianPoint, found: Trial) -> float:
    """<s, s> / <s, y>: the inverse of the curvature along the last step.

    s is the step carried to the new point, y the change of the gradient.
    """
    manifold, N = problem.manifold, found.point.M
    s = found.t * found.velocity
    y = found.point.gradient - manifold.transport(point.M, N, point.gradient)
    curvature = manifold.inner(N, s, y)
    if curvature <= 0:
        return 2.0 * found.t
    return manifold.inner(N, s, s) / curvature
