"""Limited-memory BFGS on a manifold."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ldr.solvers.checks import keep_whole
from ldr.solvers.descent.line_search import initial_step, search
from ldr.solvers.manifolds import Array, Manifold
from ldr.solvers.problem import Preconditioner, RiemannianPoint, RiemannianProblem
from ldr.solvers.solver import Solver, State
from ldr.solvers.status import Status

Flat = Callable[[Array], Array]

_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Pairs:
    """Steps and gradient changes, stacked oldest first, all tangent at the same point."""

    steps: Array
    changes: Array

    @classmethod
    def none(cls, M: Array) -> Pairs:
        """Return an empty sequence of pairs, with arrays of M's shape."""
        nothing = np.empty((0, *M.shape))
        return cls(nothing, nothing)

    def __len__(self) -> int:
        return len(self.steps)

    def carried(self, manifold: Manifold, M: Array, N: Array, count: int) -> Pairs:
        """Transport the newest `count` pairs from M to N."""
        first = max(0, len(self) - count)
        return Pairs(*(manifold.transport(M, N, S[first:]) for S in (self.steps, self.changes)))

    def and_one(self, manifold: Manifold, N: Array, s: Array, y: Array, least: float) -> Pairs:
        """Append the pair (s, y) at N unless the cosine of the angle of s and y is <= `least`."""
        lengths = manifold.norm(N, s) * manifold.norm(N, y)
        if not manifold.inner(N, s, y) > least * lengths:
            return self
        return Pairs(np.concatenate([self.steps, s[None]]), np.concatenate([self.changes, y[None]]))

    def inverse_hessian_times(self, gradient: Array, approximate: Flat | None = None) -> Array:
        """Return H g by the two-loop recursion from the identity or an approximate inverse."""
        if len(self) == 0:
            return gradient
        S, Y = (stack.reshape(len(self), -1) for stack in (self.steps, self.changes))
        curvatures = np.einsum("ij,ij->i", S, Y).tolist()
        # Vector transport can make the curvature <s, y> of a pair negative.
        usable = [pair for pair in zip(S, Y, curvatures, strict=True) if pair[2] > 0]
        q, alphas = gradient.ravel(), list[float]()
        for s, y, curvature in reversed(usable):
            alphas.append(s.dot(q) / curvature)
            q = q - alphas[-1] * y
        if usable:
            q = _roughly(q, *usable[-1][:2], approximate)
        for s, y, curvature in usable:
            q = q + (alphas.pop() - y.dot(q) / curvature) * s
        return q.reshape(gradient.shape)


def _flat(preconditioner: Preconditioner, M: Array) -> Flat:
    return lambda x: preconditioner(M, x.reshape(M.shape)).ravel()


def _roughly(q: Array, s: Array, y: Array, approximate: Flat | None) -> Array:
    """Return a multiple of q or of its approximate image, whichever maps y closer to s."""
    if approximate is not None:
        z = approximate(y)
        if (s @ z) * np.linalg.norm(y) > (s @ y) * np.linalg.norm(z):
            return (s @ y) / (y @ z) * approximate(q)
    return (s @ y) / (y @ y) * q


@dataclass(frozen=True)
class QuasiNewtonState(State):
    """State with `pairs`, tangent at the point, and `steps`, counted from the last restart."""

    pairs: Pairs
    preconditioner: Preconditioner | None = None
    steps: int = 0


@dataclass(frozen=True)
class LBFGS(Solver[QuasiNewtonState]):
    """Limited-memory BFGS: an inverse Hessian from the last steps and gradient changes.

    Source: W. Huang, K. A. Gallivan and P.-A. Absil, A Broyden class of quasi-Newton methods for
    Riemannian optimization, SIAM J. Optim. 25 (2015); J. Nocedal (1980) for the recursion.

    Parameters
    ----------
    memory : int
        Number of pairs kept.
    renewal : int, optional
        Number of steps after which the problem's preconditioner is computed; the interval to each
        renewal is twice the last one. By default no preconditioner is used.
    """

    name = "lbfgs"
    default_max_iterations = 10_000

    memory: int = 20
    renewal: int | None = None

    def __post_init__(self) -> None:
        keep_whole(self, "memory", 1)
        keep_whole(self, "renewal", 1, optional=True)

    def initialise(self, problem: RiemannianProblem, M: Array) -> QuasiNewtonState:
        return self._forgetful(problem.at(M))

    def _forgetful(self, point: RiemannianPoint, halt: Status | None = None) -> QuasiNewtonState:
        return QuasiNewtonState(point, Pairs.none(point.M), halt=halt)

    def step(self, problem: RiemannianProblem, state: QuasiNewtonState) -> QuasiNewtonState:
        manifold, old, pairs = problem.manifold, state.point, state.pairs
        made = self._preconditioner(problem, state)
        V = -pairs.inverse_hessian_times(old.gradient, made and _flat(made, old.M))
        first = 1.0 if len(pairs) else initial_step(problem, old)
        found = search(problem, old, V, first)
        if found is None:
            return self._forgetful(old, halt=None if len(pairs) else Status.STALLED)
        new, s = found.point, found.t * found.velocity
        y = new.gradient - manifold.transport(old.M, new.M, old.gradient)
        carried = pairs.carried(manifold, old.M, new.M, self.memory - 1)
        known = carried.and_one(manifold, new.M, s, y, _EPS)
        return QuasiNewtonState(new, known, made, state.steps + 1)

    def _preconditioner(
        self, problem: RiemannianProblem, state: QuasiNewtonState
    ) -> Preconditioner | None:
        """Return the preconditioner, renewed each time the number of steps has doubled."""
        times = state.steps / self.renewal if self.renewal else 0.0
        if times >= 1 and math.log2(times).is_integer():
            return problem.problem.preconditioner(state.point.M)
        return state.preconditioner
