"""The manifold proximal gradient method, for a smooth function plus a penalty."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ldr.solvers.checks import keep_number
from ldr.solvers.descent.line_search import initial_step
from ldr.solvers.errors import ArgumentError
from ldr.solvers.loop import minimise
from ldr.solvers.manifolds import Array, Grassmann, Manifold, Orthonormal
from ldr.solvers.manifolds.support import nearest_with_its_zeros, on_support, with_zeros
from ldr.solvers.nonsmooth.penalty import L1, Penalty
from ldr.solvers.nonsmooth.proximal_step import Step, proximal_step
from ldr.solvers.problem import Point, Problem
from ldr.solvers.records import dataclass, replace
from ldr.solvers.riemannian import RiemannianPoint, RiemannianProblem
from ldr.solvers.run import Stopping
from ldr.solvers.solver import Solver, State
from ldr.solvers.status import Status
from ldr.solvers.trust_region import TrustRegion

_SUFFICIENT_DECREASE = 1e-4
_SHRINKAGE = 0.5
_TRIALS = 40
# Relative rise of the value that counts as rounding.
_VALUE_NOISE = 1e-13
# The step may grow and shrink by this at most from one iteration to the next.
_GROWTH = 10.0
# Steps before Newton's method is tried on the support; doubled in vain.
_PATIENCE = 5
_NEWTON_ITERATIONS = 100
# Entries that would change sign leave the support; so often at most.
_DEPARTURES = 50
_HALVINGS = 8
# Share of the stationarity measure that Newton's method is to leave of the gradient on the support.
_FLATTER = 0.1
# In thresholds: less than this it leaves nothing, as the support is likely to be the last.
_NEAR_THE_END = 1e4
_POWER_STEPS = 5
# A step this small relative to M is the effect of rounding.
_ROUNDING = 1e-12


class ProximalPoint(RiemannianPoint):
    """A point with its value f + h and its proximal step of length t.

    `gradient_norm` is the stationarity measure |V|/t, zero where no tangent direction descends:
    without a penalty it is the norm of the gradient. It falls as t grows, because V stays bounded,
    and is therefore never taken at a t above `longest`.
    """

    def __init__(
        self,
        problem: RiemannianProblem,
        M: Array,
        t: float,
        longest: float,
        multipliers: tuple[Array, ...] | None = None,
    ) -> None:
        super().__init__(problem, M)
        self.t = t
        self.longest = longest
        self._start = multipliers

    @cached_property
    def value(self) -> float:
        return super().value + penalty_of(self._problem.problem).value(self.M)

    @cached_property
    def proximal(self) -> Step:
        """The proximal step."""
        problem = self._problem
        if problem.problem.penalty is None:
            V = -self.t * self.gradient
            return Step(V, self.M + V, ())
        return proximal_step(
            problem.manifold,
            self.M,
            self.euclidean_gradient,
            problem.problem.penalty,
            self.t,
            self._start,
        )

    @cached_property
    def gradient_norm(self) -> float:
        if self.t > self.longest:
            return self.with_step(self.longest).gradient_norm
        return self._problem.manifold.norm(self.M, self.proximal.V) / self.t

    def with_step(self, t: float) -> ProximalPoint:
        """The same point with another step length."""
        known = self.__dict__.get("proximal")
        multipliers = self._start if known is None else known.multipliers
        new = ProximalPoint(self._problem, self.M, t, self.longest, multipliers)
        new.point = self.point
        new.__dict__.update({"value": self.value, "euclidean_gradient": self.euclidean_gradient})
        return new


@dataclass(frozen=True)
class ProximalState(State):
    """`reference` is the value that a step may rise to; `waited` counts steps without Newton's.

    `patience` is the number of such steps before Newton's method is tried.
    """

    point: ProximalPoint
    reference: float
    weight: float = 1.0
    waited: int = 0
    patience: int = _PATIENCE


@dataclass(frozen=True)
class ProximalGradient(Solver[ProximalState]):
    """Proximal gradients on a manifold (ManPG), for f + h with a convex penalty h.

    At M the tangent V that minimises <grad f, V> + |V|^2/(2t) + h(M + V) is found by a semismooth
    Newton method for the r(r + 1)/2 multipliers of M'V + V'M = 0; M + V has exact zeros, and the
    retraction keeps them where an orthonormal matrix with these zeros is near. The step t is
    Barzilai and Borwein's, shortened until f + h falls enough (a non-monotone search). On Euclidean
    space this is the proximal gradient method.

    On the matrices with the zeros and signs of a point the problem is smooth, and a trust region
    there finishes what proximal gradients would approach linearly; an entry that reaches zero on
    its way leaves the support.

    Source: S. Chen, S. Ma, A. M.-C. So and T. Zhang, Proximal gradient method for nonsmooth
    optimization over the Stiefel manifold, SIAM J. Optim. 30 (2020).

    Parameters
    ----------
    memory : float in [0, 1)
        Weight of the past in the reference value of the non-monotone search; 0 is the monotone one.
    """

    name = "proximal-gradient"
    default_max_iterations = 10_000
    handles_penalty = True

    memory: float = 0.85

    def __post_init__(self) -> None:
        keep_number(self, "memory", below=1.0)

    def initialise(self, problem: RiemannianProblem, M: Array) -> ProximalState:
        require_separable(problem)
        t = _inverse_curvature(problem, M)
        point = _exact(problem, ProximalPoint(problem, M, t, t))
        return ProximalState(point, point.value)

    def step(self, problem: RiemannianProblem, state: ProximalState) -> ProximalState:
        if state.waited >= state.patience:
            found = _on_support(problem, state.point)
            if found is not None:
                new, iterations = found
                return ProximalState(new, new.value, iterations=iterations)
            state = replace(state, waited=0, patience=2 * state.patience)
        return self._proximal(problem, state)

    def _proximal(self, problem: RiemannianProblem, state: ProximalState) -> ProximalState:
        """One proximal gradient step, with t shortened until the value falls enough."""
        point = state.point
        ceiling = max(state.reference, point.value)
        ceiling += _VALUE_NOISE * abs(ceiling)
        for _ in range(_TRIALS):
            step = point.proximal
            N = _retracted(problem.manifold, point.M, step)
            new = ProximalPoint(problem, N, point.t, point.longest, step.multipliers)
            needed = _SUFFICIENT_DECREASE * float(np.vdot(step.V, step.V)) / point.t
            if new.value <= ceiling - needed:
                break
            point = point.with_step(_SHRINKAGE * point.t)
        else:
            return replace(state, halt=Status.STALLED, iterations=1)
        new = _exact(problem, new.with_step(_barzilai_borwein(problem, point, new)))
        weight = self.memory * state.weight + 1.0
        reference = (self.memory * state.weight * state.reference + new.value) / weight
        return ProximalState(new, reference, weight, state.waited + 1, state.patience)


def penalty_of(problem: Problem) -> Penalty:
    """The problem's penalty; one of weight zero where there is none."""
    return L1(0.0) if problem.penalty is None else problem.penalty


def _exact(problem: RiemannianProblem, point: ProximalPoint) -> ProximalPoint:
    """The point; where its step is but rounding, the end of the step, whose zeros are exact.

    That must not cost anything: where the value is hardly known, rounding of M may.
    """
    step = point.proximal
    if problem.problem.penalty is None or not step.V.any():
        return point
    if np.linalg.norm(step.V) > _ROUNDING * np.linalg.norm(point.M):
        return point
    N = _retracted(problem.manifold, point.M, step)
    new = ProximalPoint(problem, N, point.t, point.longest, step.multipliers)
    return new if new.value <= point.value + _VALUE_NOISE * abs(point.value) else point


def require_separable(problem: RiemannianProblem) -> None:
    """Refuse a penalty of the entries on a manifold whose points are subspaces."""
    manifold = problem.manifold
    subspaces = any(isinstance(factor, Grassmann) for factor in manifold.factors)
    if problem.problem.penalty is not None and subspaces:
        raise ArgumentError(
            "a penalty of the entries of M is no function of its span: state the problem on the "
            "Stiefel manifold"
        )


def _retracted(manifold: Manifold, M: Array, step: Step) -> Array:
    """The retraction of V at M that keeps the zeros of M + V where it can."""
    parts = zip(manifold.factors, *map(manifold.split, (M, step.V, step.target)), strict=True)
    return manifold.join([_retracted_on(*part) for part in parts])


def _retracted_on(factor: Manifold, M: Array, V: Array, target: Array) -> Array:
    if not isinstance(factor, Orthonormal):
        return target
    polar = factor.retract(M, V)
    support = (target != 0).astype(np.float64)
    if support.all():
        return polar
    sparse = with_zeros(target, support)
    if sparse is None or np.linalg.norm(sparse - polar) > np.linalg.norm(V):
        return polar
    return sparse


def _inverse_curvature(problem: RiemannianProblem, M: Array) -> float:
    """1/L with L the largest curvature of the smooth part, by a few steps of the power method."""
    point = problem.at(M)
    V = problem.manifold.random_tangent(M, np.random.default_rng(0))
    largest = 0.0
    for _ in range(_POWER_STEPS):
        HV = point.hessian(V)
        length = problem.manifold.norm(M, HV)
        largest = max(largest, length)
        if not 0.0 < length < np.inf:
            break
        V = HV / length
    if 0.0 < largest < np.inf:
        return min(1.0 / largest, _penalty_step(problem, M))
    return min(initial_step(problem, point) or 1.0, _penalty_step(problem, M))


def _penalty_step(problem: RiemannianProblem, M: Array) -> float:
    """The t with which the penalty alone moves M by its own length.

    Without this bound a smooth part that is constant to rounding has t, and with it |V|/t, mean
    nothing: any M would count as stationary.
    """
    penalty = problem.problem.penalty
    slopes = 0.0 if penalty is None else float(np.linalg.norm(penalty.threshold(M.shape)))
    length = float(np.linalg.norm(M))
    return length / slopes if slopes > 0.0 and length > 0.0 else np.inf


def _barzilai_borwein(
    problem: RiemannianProblem, point: ProximalPoint, new: ProximalPoint
) -> float:
    """<s, s>/<s, y> with s the step and y the change of the Riemannian gradient, within bounds."""
    s, y = new.M - point.M, new.gradient - point.gradient
    curvature = float(np.vdot(s, y))
    if curvature <= 0:
        return _GROWTH * point.t
    t = float(np.vdot(s, s)) / curvature
    return min(max(t, point.t / _GROWTH), _GROWTH * point.t)


class SmoothSum(Point):
    """f + h at M with a smooth h: its value, gradient and diagonal Hessian there."""

    def __init__(self, point: Point, h: float, dh: Array, ddh: float | Array = 0.0) -> None:
        self.M = point.M
        self._point = point
        self._h, self._dh, self._ddh = h, dh, ddh

    @cached_property
    def value(self) -> float:
        return self._point.value + self._h

    @cached_property
    def gradient(self) -> Array:
        return self._point.gradient + self._dh

    def hessian_vector(self, V: Array) -> Array:
        return self._point.hessian_vector(V) + self._ddh * V


class OnSupport(Problem):
    """The problem near M on the matrices with its zeros and signs, where h is <slope, M>.

    Attributes
    ----------
    support : ndarray
        1 where M is not zero or where nothing is penalised.
    """

    def __init__(self, problem: Problem, M: Array) -> None:
        self._problem = problem
        penalty = penalty_of(problem)
        penalised = penalty.value(np.ones_like(M)) > 0
        self.support = (M != 0).astype(np.float64) if penalised else np.ones_like(M)
        self._slope = penalty.slope(M)
        self.manifold = on_support(problem.manifold, self.support)
        self.has_hessian = problem.has_hessian

    def at(self, M: Array) -> Point:
        h = float(np.vdot(self._slope, M))
        return SmoothSum(self._problem.at(M), h, self._slope)

    def crossed(self, M: Array) -> Array:
        """Which entries of M have another sign than the slope is for."""
        return np.asarray(M * self._slope < 0)


def _on_support(
    problem: RiemannianProblem, point: ProximalPoint
) -> tuple[ProximalPoint, int] | None:
    """The end of trust regions on smaller and smaller supports, if it is better; its iterations.

    Entries that reach zero leave the support, all at once as long as the value falls: then the next
    region is twice as long as the way was, so that more leave.
    """
    wanted = Stopping(
        tolerance=0.1 * problem.threshold / max(abs(point.value), np.finfo(float).tiny),
        max_iterations=_NEWTON_ITERATIONS,
    )
    flat = _FLATTER * point.gradient_norm  # beyond it entries that are to come matter more
    if flat < _NEAR_THE_END * problem.threshold:  # none are
        flat = 0.0
    new, iterations, radius = point, 0, float(np.linalg.norm(point.proximal.V))
    for _ in range(_DEPARTURES):
        smooth = OnSupport(problem.problem, new.M)
        if smooth.manifold.dimension == 0:
            return None
        ends = [
            lambda seen, smooth=smooth: seen.gradient_norm <= flat or smooth.crossed(seen.M).any()
        ]
        run = minimise(smooth, new.M, TrustRegion(radius=radius), wanted, ends)
        problem.evaluations.update(run.evaluations)
        iterations += run.iterations
        if not smooth.crossed(run.M).any():
            new = _at(problem, point, run.M)
            break
        shorter = _departed(problem, new, smooth, run.M)
        if shorter is None:
            break
        way = float(np.linalg.norm(shorter.M - new.M))
        new, radius = shorter, max(radius, 2.0 * way)
    noise = _VALUE_NOISE * abs(point.value)
    better = new.value < point.value - noise or (
        new.value <= point.value + noise and new.gradient_norm < 0.5 * point.gradient_norm
    )
    return (new, iterations) if better and iterations > 0 else None


def _departed(
    problem: RiemannianProblem, point: ProximalPoint, smooth: OnSupport, M: Array
) -> ProximalPoint | None:
    """Where the way from a point to M leads without the entries that change sign on it.

    It is halved until the value falls; None where it does not.
    """
    for halving in range(_HALVINGS):
        N = point.M + 0.5**halving * (M - point.M)
        N = np.where(smooth.crossed(N), 0.0, N)
        new = _at(problem, point, nearest_with_its_zeros(problem.manifold, N))
        if new.value <= point.value:
            return new
    return None


def _at(problem: RiemannianProblem, point: ProximalPoint, M: Array) -> ProximalPoint:
    """M with the step length of a point, and its multipliers to start from."""
    return ProximalPoint(problem, M, point.t, point.longest, point.proximal.multipliers)
