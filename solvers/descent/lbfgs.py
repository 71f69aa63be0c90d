"""Limited-memory BFGS on a manifold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldr.solvers.checks import keep_whole
from ldr.solvers.descent.line_search import Trial, initial_step, search
from ldr.solvers.manifolds import Array
from ldr.solvers.riemannian import RiemannianPoint, RiemannianProblem
from ldr.solvers.solver import Solver, State
from ldr.solvers.status import Status


@dataclass(frozen=True)
class QuasiNewtonState(State):
    """`steps` and `changes` of the gradient, stacked oldest first, all tangent at the point."""

    steps: Array
    changes: Array


@dataclass(frozen=True)
class LBFGS(Solver[QuasiNewtonState]):
    """Limited-memory BFGS: the last steps and gradient changes make an inverse Hessian.

    Source: W. Huang, K. A. Gallivan and P.-A. Absil, A Broyden class of quasi-Newton methods for
    Riemannian optimization, SIAM J. Optim. 25 (2015); J. Nocedal (1980) for the recursion.

    Parameters
    ----------
    memory : int
        Number of pairs kept.
    """

    name = "lbfgs"
    default_max_iterations = 10_000

    memory: int = 20

    def __post_init__(self) -> None:
        keep_whole(self, "memory", 1)

    def initialise(self, problem: RiemannianProblem, M: Array) -> QuasiNewtonState:
        return self._forgetful(problem.at(M))

    def _forgetful(self, point: RiemannianPoint, halt: Status | None = None) -> QuasiNewtonState:
        nothing = np.empty((0, *point.M.shape))
        return QuasiNewtonState(point, nothing, nothing, halt=halt)

    def step(self, problem: RiemannianProblem, state: QuasiNewtonState) -> QuasiNewtonState:
        point = state.point
        known = len(state.steps) > 0
        direction = -inverse_hessian_times(point.gradient, state.steps, state.changes)
        first = 1.0 if known else initial_step(problem, point)
        found = search(problem, point, direction, first)
        if found is None:
            return self._forgetful(point, halt=None if known else Status.STALLED)
        return self._remember(problem, state, found)

    def _remember(
        self, problem: RiemannianProblem, state: QuasiNewtonState, found: Trial
    ) -> QuasiNewtonState:
        """Carry the pairs to the new point and add the newest one."""
        manifold, old, new = problem.manifold, state.point, found.point
        s = found.t * found.velocity
        y = new.gradient - manifold.transport(old.M, new.M, old.gradient)
        steps, changes = (
            manifold.transport(old.M, new.M, stack[1 - self.memory :])
            for stack in (state.steps, state.changes)
        )
        lengths = manifold.norm(new.M, s) * manifold.norm(new.M, y)
        if manifold.inner(new.M, s, y) > np.finfo(float).eps * lengths:
            steps = np.concatenate([steps, s[None]])
            changes = np.concatenate([changes, y[None]])
        return QuasiNewtonState(new, steps, changes)


def inverse_hessian_times(gradient: Array, steps: Array, changes: Array) -> Array:
    """The two-loop recursion."""
    if len(steps) == 0:
        return gradient
    shape = gradient.shape
    S, Y, q = steps.reshape(len(steps), -1), changes.reshape(len(steps), -1), gradient.ravel()
    curvatures = np.einsum("ij,ij->i", S, Y)
    usable = np.flatnonzero(curvatures > 0)  # transport may have turned a pair
    alphas = np.zeros(len(S))
    for i in reversed(usable):
        alphas[i] = S[i] @ q / curvatures[i]
        q = q - alphas[i] * Y[i]
    if len(usable):
        newest = usable[-1]
        q = q * (curvatures[newest] / (Y[newest] @ Y[newest]))
    for i in usable:
        q = q + (alphas[i] - Y[i] @ q / curvatures[i]) * S[i]
    return q.reshape(shape)
