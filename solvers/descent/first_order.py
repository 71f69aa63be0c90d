"""Nonlinear conjugate gradients and steepest descent on a manifold."""

from __future__ import annotations

from dataclasses import dataclass

from ldr.solvers.checks import keep_number
from ldr.solvers.descent.line_search import Trial, initial_step, search
from ldr.solvers.manifolds import Array
from ldr.solvers.problem import RiemannianPoint, RiemannianProblem
from ldr.solvers.solver import Solver, State
from ldr.solvers.status import Status


@dataclass(frozen=True)
class ConjugateState(State):
    """State with the next search `direction`, its `slope`, and the `first_step` to try."""

    direction: Array
    slope: float
    first_step: float


@dataclass(frozen=True)
class ConjugateGradient(Solver[ConjugateState]):
    """Hager and Zhang's conjugate gradients, with descent directions for any line search.

    V <- -g + beta V with beta = <y - 2 V <y, y>/<V, y>, g> / <V, y>, bounded below; g is the
    gradient and y its change; the derivative of the retraction transports V.

    Source: W. W. Hager and H. Zhang, SIAM J. Optim. 16 (2005).

    Parameters
    ----------
    floor : float
        eta in the lower bound of beta, -1 / (|V| min(eta, |g|)).
    """

    name = "conjugate-gradient"
    default_max_iterations = 10_000

    floor: float = 0.01

    def __post_init__(self) -> None:
        keep_number(self, "floor", positive=True)

    def initialise(self, problem: RiemannianProblem, M: Array) -> ConjugateState:
        point = problem.at(M)
        return self._steepest(point, initial_step(problem, point))

    def _steepest(self, point: RiemannianPoint, first_step: float) -> ConjugateState:
        return ConjugateState(point, -point.gradient, -(point.gradient_norm**2), first_step)

    def step(self, problem: RiemannianProblem, state: ConjugateState) -> ConjugateState:
        manifold, point = problem.manifold, state.point
        found = search(problem, point, state.direction, state.first_step)
        if found is None:
            if state.slope == -(point.gradient_norm**2):  # steepest descent has failed
                return ConjugateState(point, state.direction, state.slope, 0.0, halt=Status.STALLED)
            return self._steepest(point, state.first_step)

        new, V = found.point, found.velocity
        y = new.gradient - manifold.transport(point.M, new.M, point.gradient)
        Vy = manifold.inner(new.M, V, y)
        if Vy <= 0:
            return self._steepest(new, found.t)
        beta = manifold.inner(new.M, y - V * (2 * manifold.inner(new.M, y, y) / Vy), new.gradient)
        beta /= Vy
        length = manifold.norm(new.M, V)
        beta = max(beta, -1.0 / (length * min(self.floor, point.gradient_norm)))
        direction = beta * V - new.gradient
        slope = manifold.inner(new.M, direction, new.gradient)
        if slope >= 0:
            return self._steepest(new, found.t)
        return ConjugateState(new, direction, slope, found.t * state.slope / slope)


@dataclass(frozen=True)
class DescentState(State):
    """State with `first_step`, tried first, and `reference`, the highest value a step may reach."""

    first_step: float
    reference: float
    weight: float = 1.0


@dataclass(frozen=True)
class SteepestDescent(Solver[DescentState]):
    """Projection, line search, retraction: Algorithm 1 of Cunningham and Ghahramani (2015).

    A step is M <- R_M(-t grad f(M)). The first t is the Barzilai-Borwein step, the inverse of the
    curvature along the last step. A step may raise f a little (a non-monotone search).

    Parameters
    ----------
    memory : float in [0, 1)
        Weight of earlier values in the reference value of the non-monotone search (Zhang and Hager
        2004); 0 gives a monotone search.
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
    """Return <s, s> / <s, y>: the inverse of the curvature along the last step.

    Here s is the step transported to the new point, and y the change of the gradient.
    """
    manifold, N = problem.manifold, found.point.M
    s = found.t * found.velocity
    y = found.point.gradient - manifold.transport(point.M, N, point.gradient)
    curvature = manifold.inner(N, s, y)
    if curvature <= 0:
        return 2.0 * found.t
    return manifold.inner(N, s, s) / curvature
