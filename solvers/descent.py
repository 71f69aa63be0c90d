"""Descent along search directions: steepest descent, conjugate gradients, limited-memory BFGS.

The line search is along the retraction curve, by secants and bisection, with the conditions of
Hager and Zhang. Near a minimum f changes by less than its rounding error while its slope is still
accurate. The approximate Wolfe conditions therefore test the slope instead of the difference of
values: first-order methods do not stall where the gradient is of the order of sqrt(eps).

Source: W. W. Hager and H. Zhang, A new conjugate gradient method with guaranteed descent and an
efficient line search, SIAM J. Optim. 16 (2005).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ldr.solvers.checks import keep_number, keep_whole
from ldr.solvers.linalg.rounding import TIED, VALUE_ROUNDING
from ldr.solvers.manifolds import Array, Manifold
from ldr.solvers.problem import Preconditioner, RiemannianPoint, RiemannianProblem
from ldr.solvers.solver import Solver, State
from ldr.solvers.status import Status

Flat = Callable[[Array], Array]

_EPS = float(np.finfo(float).eps)
SUFFICIENT_DECREASE = 0.1  # delta: least decrease of f, as a share of slope times step
_CURVATURE = 0.9  # sigma: largest slope after a step, as a share of the slope before it
EXPANSION = 5.0  # rho: factor by which a line search lengthens its step
_SHRINKAGE = 0.66  # gamma: a bracket is halved if it keeps more than this share of its length


@dataclass(frozen=True)
class Trial:
    """A point of the retraction curve: parameter t, value, slope, velocity of the curve."""

    t: float
    value: float
    slope: float
    point: RiemannianPoint
    velocity: Array


def initial_step(problem: RiemannianProblem, point: RiemannianPoint) -> float:
    """Return the first step of steepest descent: a tenth of the manifold's length scale."""
    if point.gradient_norm == 0:
        return 0.0
    scale = min(problem.manifold.diameter, max(1.0, float(np.linalg.norm(point.M))))
    return 0.1 * scale / point.gradient_norm


def search(
    problem: RiemannianProblem,
    origin: RiemannianPoint,
    V: Array,
    first: float,
    reference: float | None = None,
) -> Trial | None:
    """Find a step along V from origin that meets the Wolfe or approximate Wolfe conditions.

    - V: tangent descent direction at `origin`
    - first: the first step to try
    - reference: A value above f(origin) with which the value after the first step is compared (a
      non-monotone search); the first step need not satisfy the curvature condition then
    - returns: None if no step lowers f or the slope, as at the level of rounding.
    """
    slope = problem.manifold.inner(origin.M, origin.gradient, V)
    if not slope < 0 or not math.isfinite(first):
        return None
    line = _Line(problem, Trial(0.0, origin.value, slope, origin, V))
    low, high, t = line.zero, None, first  # a bracket of a minimum, without an upper end at first
    while math.isfinite(t):
        trial = line.trial(t)
        if reference is not None and line.descends(trial, max(reference, origin.value)):
            return trial
        reference = None  # only the first trial step may increase f
        if line.accepts(trial):
            return trial
        width = high.t - low.t if high else math.inf
        if trial.slope < 0 and line.low(trial):
            low = trial
        else:
            high = trial
        if high is None:
            t = EXPANSION * trial.t
        elif high.t - low.t > _SHRINKAGE * width or not line.low(high):
            t = 0.5 * (low.t + high.t)
        else:
            t = _secant(low, high)
        # The bracket is so short that values and slopes at its ends are equal up to rounding.
        if high is not None and not (low.t < t < high.t and high.t - low.t > _EPS * first):
            break
    return None


class _Line:
    """The function f along the retraction curve."""

    def __init__(self, problem: RiemannianProblem, zero: Trial) -> None:
        self.problem = problem
        self.zero = zero
        self.ceiling = zero.value + TIED * abs(zero.value)

    def trial(self, t: float) -> Trial:
        """Evaluate f and its slope at t; NaN counts as infinite."""
        zero = self.zero
        M, velocity = self.problem.manifold.curve(zero.point.M, zero.velocity, t)
        point = self.problem.at(M)
        value, slope = point.value, math.inf
        if math.isfinite(value):
            slope = self.problem.manifold.inner(M, point.gradient, velocity)
        if not math.isfinite(slope):
            return Trial(t, math.inf, math.inf, point, velocity)
        return Trial(t, value, slope, point, velocity)

    def descends(self, trial: Trial, reference: float) -> bool:
        """Return True under Armijo's condition, or its approximate form by slopes."""
        slope0 = self.zero.slope
        if trial.value <= reference + SUFFICIENT_DECREASE * trial.t * slope0:
            return True
        noise = TIED * abs(reference)
        return trial.value <= reference + noise and trial.slope <= (
            (2 * SUFFICIENT_DECREASE - 1) * slope0
        )

    def accepts(self, trial: Trial) -> bool:
        """Return True under the Wolfe or approximate Wolfe conditions.

        If the values agree up to rounding, only slopes decide.
        """
        zero = self.zero
        if trial.slope < _CURVATURE * zero.slope:
            return False
        if abs(trial.value - zero.value) <= VALUE_ROUNDING * abs(zero.value):
            return self.low(trial) and trial.slope <= (2 * SUFFICIENT_DECREASE - 1) * zero.slope
        return self.descends(trial, zero.value)

    def low(self, trial: Trial) -> bool:
        return trial.value <= self.ceiling


def _secant(a: Trial, b: Trial) -> float:
    """Return the zero of the line through the slopes at a and b, which differ in sign."""
    return (a.t * b.slope - b.t * a.slope) / (b.slope - a.slope)


@dataclass(frozen=True)
class ConjugateState(State):
    """State with the next search `direction`, its `slope`, and the `first_step` to try."""

    direction: Array
    slope: float
    first_step: float


@dataclass(frozen=True)
class ConjugateGradient(Solver[ConjugateState]):
    """Hager and Zhang's conjugate gradients, with descent directions for any line search.

    The next direction is -g + beta V, where g is the gradient, and V is the last direction,
    transported by the derivative of the retraction. With the change y of the gradient, beta is <y -
    2 V <y, y>/<V, y>, g> / <V, y>, bounded below.

    Source: W. W. Hager and H. Zhang, SIAM J. Optim. 16 (2005).

    Parameters
    ----------
    floor : float
        Constant eta in the bound beta >= -1 / (|V| min(eta, |g|)), with the gradient g.
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
            if state.slope == -(point.gradient_norm**2):  # even steepest descent has failed
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

    A step of length t leads from M to the retraction R_M(-t grad f(M)). The search for t begins
    with the Barzilai-Borwein step length, the inverse curvature along the last step. A step may
    raise f a little (a non-monotone search).

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

    def and_one(self, manifold: Manifold, N: Array, s: Array, y: Array) -> Pairs:
        """Append the pair (s, y) at N unless <s, y> is a rounding error."""
        lengths = manifold.norm(N, s) * manifold.norm(N, y)
        if not manifold.inner(N, s, y) > _EPS * lengths:
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
        Number of stored pairs of a step and a gradient change.
    renewal : int, optional
        Number of steps after which the problem's preconditioner is computed, and computed again
        whenever the number of steps has doubled. By default no preconditioner is used.
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
        known = carried.and_one(manifold, new.M, s, y)
        return QuasiNewtonState(new, known, made, state.steps + 1)

    def _preconditioner(
        self, problem: RiemannianProblem, state: QuasiNewtonState
    ) -> Preconditioner | None:
        """Return the preconditioner, renewed each time the number of steps has doubled."""
        times = state.steps / self.renewal if self.renewal else 0.0
        if times >= 1 and math.log2(times).is_integer():
            return problem.problem.preconditioner(state.point.M)
        return state.preconditioner
