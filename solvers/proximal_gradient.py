"""The manifold proximal gradient method, for a smooth function plus a penalty."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ldr.solvers.checks import keep_number, keep_numbers
from ldr.solvers.descent import EXPANSION, SUFFICIENT_DECREASE, initial_step
from ldr.solvers.errors import ArgumentError
from ldr.solvers.linalg.rounding import FACTOR_ROUNDING, VALUE_ROUNDING
from ldr.solvers.manifolds import Array, Grassmann, Manifold, Multiplier, Orthonormal
from ldr.solvers.manifolds.manifold import sym
from ldr.solvers.manifolds.support import (
    SymmetricEquations,
    nearest_with_its_zeros,
    on_support,
    with_zeros,
)
from ldr.solvers.problem import L1, Penalty, Point, Problem, RiemannianPoint, RiemannianProblem
from ldr.solvers.solver import Solver, State, Stopping, minimise
from ldr.solvers.status import Status
from ldr.solvers.trust_region import TrustRegion


class Step:
    """A proximal step V minimises <G - ML, V> + |V|^2/(2t) + h(M + V), where L is the multiplier.

    The minimum over V is a concave function of the symmetric L with the gradient -sym(M'V(L)). At
    the maximum over L, V is tangent and minimises <G, V> + |V|^2/(2t) + h(M + V) over tangent
    vectors. As V(L) = prox_th(M - t(G - ML)) - M, the gradient in L is piecewise smooth: its
    Jacobian maps S to -t sym(M'(D o (MS))), where D is the derivative of prox_th. The initial
    multiplier L is sym(M'G), the multiplier without a penalty.

    - G: Euclidean gradient of the smooth part at M
    - target: M + V, with exact zeros
    - multipliers: L of each factor; None without a constraint
    - error: |M'V + V'M|/2
    """

    def __init__(
        self,
        manifold: Manifold,
        M: Array,
        G: Array,
        penalty: Penalty,
        t: float,
        multipliers: list[Multiplier] | None = None,
    ) -> None:
        self._given = manifold, M, G, penalty, t
        self._parts = parts = manifold.split(M)
        if multipliers is None:
            three = zip(manifold.factors, parts, manifold.split(G), strict=True)
            multipliers = [
                sym(m.T @ g) if isinstance(factor, Orthonormal) else None for factor, m, g in three
            ]
        self.multipliers = multipliers
        pairs = zip(parts, multipliers, strict=True)
        slope = G - manifold.join([np.zeros_like(m) if L is None else m @ L for m, L in pairs])
        self._shifted = M - t * slope
        self.target = penalty.prox(self._shifted, t)
        self.V = V = self.target - M
        self.value = float(np.vdot(slope, V)) + float(np.vdot(V, V)) / (2 * t)
        self.value += penalty.value(self.target)
        moved = zip(parts, manifold.split(V), multipliers, strict=True)
        self.residual = [None if L is None else sym(m.T @ v) for m, v, L in moved]
        self.error = math.sqrt(sum(np.vdot(E, E) for E in self.residual if E is not None))

    def _newton_direction(self) -> list[Multiplier]:
        """The semismooth Newton step for sym(M'V(L)) = 0, regularised as the error falls."""
        manifold, _, _, penalty, t = self._given
        active = manifold.split(penalty.prox_derivative(self._shifted, t))
        shift = min(1e-3, self.error) * 1e-3 + 1e-14
        directions: list[Multiplier] = []
        for m, D, E in zip(self._parts, active, self.residual, strict=True):
            if E is None:
                directions.append(None)
                continue
            equations = SymmetricEquations(m, m, D)
            system = equations.matrix + shift * np.eye(len(equations.matrix))
            step = np.linalg.solve(system, equations.coordinates(-E / t))
            directions.append(equations.symmetric(step))
        return directions

    def solved(self) -> Step:
        """Return the step at the multipliers that make V tangent."""
        step, length = self, float(np.linalg.norm(self._given[1]))
        for _ in range(50):
            if step.error <= FACTOR_ROUNDING * float(np.linalg.norm(step.V)) + 1e-15 * length:
                break
            better = step._ascended()
            if better is None:
                break
            step = better
        return step

    def _ascended(self) -> Step | None:
        """Return the step after a (halved) Newton step for the multipliers, or None."""
        directions = self._newton_direction()
        pairs = zip(self.residual, directions, strict=True)
        slope = -sum(float(np.vdot(E, S)) for E, S in pairs if E is not None)
        for a in 0.5 ** np.arange(30):
            moved = zip(self.multipliers, directions, strict=True)
            trial = Step(*self._given, [None if S is None else L + a * S for L, S in moved])
            if trial.error <= 0.5 * self.error:
                return trial
            enough = self.value + SUFFICIENT_DECREASE * a * slope
            if trial.value > self.value and trial.value >= enough and trial.error < 10 * self.error:
                return trial
        return None


class ProximalPoint(RiemannianPoint):
    """A point with its value f + h and its proximal step of length t.

    The attribute `gradient_norm` is the stationarity measure |V|/t, zero if no tangent direction
    descends. Without a penalty |V|/t is the norm of the gradient. V stays bounded as t grows: |V|/t
    would be small at any M for large t. Therefore t is at most `longest` in |V|/t.
    """

    def __init__(
        self,
        problem: RiemannianProblem,
        M: Array,
        t: float,
        longest: float,
        multipliers: list[Multiplier] | None = None,
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
        """Proximal step at M."""
        h, G = penalty_of(self._problem.problem), self.euclidean_gradient
        return Step(self._problem.manifold, self.M, G, h, self.t, self._start).solved()

    @cached_property
    def gradient_norm(self) -> float:
        if self.t > self.longest:
            return self.with_step(self.longest).gradient_norm
        return self._problem.manifold.norm(self.M, self.proximal.V) / self.t

    def moved(self, M: Array) -> ProximalPoint:
        """Return the point at M with the same t; the multipliers are initial values."""
        return ProximalPoint(self._problem, M, self.t, self.longest, self.proximal.multipliers)

    def with_step(self, t: float) -> ProximalPoint:
        """Return the point with another step length t."""
        known = self.__dict__.get("proximal")
        multipliers = self._start if known is None else known.multipliers
        new = ProximalPoint(self._problem, self.M, t, self.longest, multipliers)
        new.point = self.point
        new.__dict__.update({"value": self.value, "euclidean_gradient": self.euclidean_gradient})
        return new


@dataclass(frozen=True)
class ProximalState(State):
    """State with `reference`, the highest value that a step may reach.

    The attribute `waited` counts the steps since the last attempt of Newton's method; `patience` is
    the number of steps before the next attempt, doubled after a failure.
    """

    point: ProximalPoint
    reference: float
    weight: float = 1.0
    waited: int = 0
    patience: int = 5


@dataclass(frozen=True)
class ProximalGradient(Solver[ProximalState]):
    """Proximal gradients on a manifold (ManPG), for f + h with a convex penalty h.

    With the step length t, the step V at M minimises <grad f, V> + |V|^2/(2t) + h(M + V) over
    tangent vectors. A semismooth Newton method finds the r(r + 1)/2 Lagrange multipliers of the
    constraint M'V + V'M = 0 on the step V. After the step, M + V has exact zeros; if possible, the
    retraction keeps these zeros. Barzilai and Borwein's step length t is shortened until f + h is
    less than a mean of earlier values. In Euclidean space this is the proximal gradient method.

    Proximal gradients converge linearly. If the zeros of M and the signs of its other entries are
    fixed, the problem is smooth; the trust-region solver therefore finishes the run. In the last,
    trust-region steps an entry that becomes zero stays zero.

    Source: S. Chen, S. Ma, A. M.-C. So and T. Zhang, Proximal gradient method for nonsmooth
    optimization over the Stiefel manifold, SIAM J. Optim. 30 (2020).

    Parameters
    ----------
    memory : float in [0, 1)
        A step must improve a mean of earlier values, whose weights decay by this factor per step.
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
        """Take a proximal gradient step, t shortened until the value decreases sufficiently."""
        point = state.point
        ceiling = max(state.reference, point.value)
        ceiling += VALUE_ROUNDING * abs(ceiling)
        for _ in range(40):
            step = point.proximal
            new = point.moved(_retracted(problem.manifold, point.M, step))
            needed = SUFFICIENT_DECREASE * float(np.vdot(step.V, step.V)) / point.t
            if new.value <= ceiling - needed:
                break
            point = point.with_step(0.5 * point.t)
        else:
            return replace(state, halt=Status.STALLED, iterations=1)
        new = _exact(problem, new.with_step(_barzilai_borwein(problem, point, new)))
        weight = self.memory * state.weight + 1.0
        reference = (self.memory * state.weight * state.reference + new.value) / weight
        return ProximalState(new, reference, weight, state.waited + 1, state.patience)


def penalty_of(problem: Problem) -> Penalty:
    """Return the problem's penalty; without a penalty, one of weight zero."""
    return L1(0.0) if problem.penalty is None else problem.penalty


def _exact(problem: RiemannianProblem, point: ProximalPoint) -> ProximalPoint:
    """Return the end of the step if the step is only rounding; else the point.

    The zeros at the end of the step are exact. The value may not rise by more than rounding.
    """
    step = point.proximal
    if problem.problem.penalty is None or not step.V.any():
        return point
    if np.linalg.norm(step.V) > FACTOR_ROUNDING * np.linalg.norm(point.M):
        return point
    new = point.moved(_retracted(problem.manifold, point.M, step))
    return new if new.value <= point.value + VALUE_ROUNDING * abs(point.value) else point


def require_separable(problem: RiemannianProblem) -> None:
    """Refuse a penalty of the entries of M on a manifold of subspaces."""
    manifold = problem.manifold
    subspaces = any(isinstance(factor, Grassmann) for factor in manifold.factors)
    if problem.problem.penalty is not None and subspaces:
        raise ArgumentError(
            "on the Grassmann manifold only the span of M matters, but the penalty depends on the "
            "entries of M: define the problem on the Stiefel manifold"
        )


def _retracted(manifold: Manifold, M: Array, step: Step) -> Array:
    """Return the retraction of V at M, with the zeros of M + V if possible."""
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
    """Return 1/L, L the largest curvature of the smooth part, by a few power iterations."""
    point = problem.at(M)
    V = problem.manifold.random_tangent(M, np.random.default_rng(0))
    largest = 0.0
    for _ in range(5):
        HV = point.hessian(V)
        length = problem.manifold.norm(M, HV)
        largest = max(largest, length)
        if not 0.0 < length < np.inf:
            break
        V = HV / length
    known = 0.0 < largest < np.inf
    step = 1.0 / largest if known else initial_step(problem, point) or 1.0
    return min(step, _penalty_step(problem, M))


def _penalty_step(problem: RiemannianProblem, M: Array) -> float:
    """Return the step length t with which the penalty alone changes M by |M|.

    This t is an upper bound of step lengths. Without the bound, t would be arbitrarily large for a
    smooth part that is constant to rounding, and |V|/t would be small at any M.
    """
    slopes = float(np.linalg.norm(penalty_of(problem.problem).threshold(M.shape)))
    length = float(np.linalg.norm(M))
    return length / slopes if slopes > 0.0 and length > 0.0 else np.inf


def _barzilai_borwein(
    problem: RiemannianProblem, point: ProximalPoint, new: ProximalPoint
) -> float:
    """Return <s, s>/<s, y> within bounds: s the step, y the change of the Riemannian gradient."""
    s, y = new.M - point.M, new.gradient - point.gradient
    curvature = float(np.vdot(s, y))
    if curvature <= 0:
        return EXPANSION * point.t
    t = float(np.vdot(s, s)) / curvature
    return float(np.clip(t, point.t / EXPANSION, EXPANSION * point.t))


class SmoothSum(Point):
    """The function f + h at M with a smooth h, given by value, gradient and diagonal Hessian."""

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
    """The problem restricted to matrices with M's zeros and signs, where h(N) = <slope, N>.

    - support: 1 if an entry of M is nonzero or has no penalty
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
        """Return True for each entry of M whose sign contradicts the penalty's slope."""
        return np.asarray(M * self._slope < 0)


def _on_support(
    problem: RiemannianProblem, point: ProximalPoint
) -> tuple[ProximalPoint, int] | None:
    """Return the optimum on shrinking supports, if better, and the number of iterations.

    All entries that change sign leave the support at once if the value then decreases. The next
    trust region has at least twice the length of this step, so that more entries can leave.
    """
    wanted = Stopping(
        tolerance=0.1 * problem.threshold / max(abs(point.value), np.finfo(float).tiny),
        max_iterations=100,
    )
    new, iterations, radius = point, 0, float(np.linalg.norm(point.proximal.V))
    for _ in range(50):
        smooth = OnSupport(problem.problem, new.M)
        if smooth.manifold.dimension == 0:
            return None
        crossed = [lambda seen, smooth=smooth: smooth.crossed(seen.M).any()]
        run = minimise(smooth, new.M, TrustRegion(radius=radius), wanted, crossed)
        problem.evaluations.update(run.evaluations)
        iterations += run.iterations
        if not smooth.crossed(run.M).any():
            new = point.moved(run.M)
            break
        shorter = _departed(problem, new, smooth, run.M)
        if shorter is None:
            break
        way = float(np.linalg.norm(shorter.M - new.M))
        new, radius = shorter, max(radius, 2.0 * way)
    noise = VALUE_ROUNDING * abs(point.value)
    better = new.value < point.value - noise or (
        new.value <= point.value + noise and new.gradient_norm < 0.5 * point.gradient_norm
    )
    return (new, iterations) if better and iterations > 0 else None


def _departed(
    problem: RiemannianProblem, point: ProximalPoint, smooth: OnSupport, M: Array
) -> ProximalPoint | None:
    """Return the point towards M with sign-changing entries set to zero; None without decrease.

    The step is halved until the value does not rise, at most seven times.
    """
    for halving in range(8):
        N = point.M + 0.5**halving * (M - point.M)
        N = np.where(smooth.crossed(N), 0.0, N)
        new = point.moved(nearest_with_its_zeros(problem.manifold, N))
        if new.value <= point.value:
            return new
    return None


def slack_at(problem: Problem, M: Array) -> float:
    """Return the largest s with |G - ML|_ij <= (1 - s) w_ij at the zeros of a stationary M.

    The argument G is the smooth part's gradient, and w is the penalty's threshold. The symmetric
    multiplier L satisfies G + h' = ML on the support; it is not unique if two columns have no
    common nonzero row. If s > 0 and M is a strict local minimum among points with the same zeros, M
    is a local minimum; if s = 0 this does not follow.
    """
    manifold, penalty = problem.manifold, penalty_of(problem)
    arrays = (M, problem.at(M).gradient, penalty.slope(M), penalty.threshold(M.shape))
    parts = zip(manifold.factors, *map(manifold.split, arrays), strict=True)
    return min(_slack(isinstance(factor, Orthonormal), *part) for factor, *part in parts)


def _slack(orthonormal: bool, M: Array, G: Array, slope: Array, threshold: Array) -> float:
    """Return the slack of one factor, by the linear programme min over x of max |b - Ax|."""
    zeros = (M == 0) & (threshold > 0)
    if not zeros.any():
        return 1.0
    if not orthonormal:
        return 1.0 - float(np.abs(G[zeros] / threshold[zeros]).max())
    support = 1.0 - zeros
    equations = SymmetricEquations(M, M, support)
    L = equations.solve(sym(M.T @ (support * (G + slope))))
    b = (G - M @ L)[zeros] / threshold[zeros]
    values, vectors = np.linalg.eigh(equations.matrix)
    free = vectors[:, values <= FACTOR_ROUNDING * max(values[-1], 0.0)].T
    A = np.array([(M @ equations.symmetric(v))[zeros] / threshold[zeros] for v in free]).T
    if not len(free):
        return 1.0 - float(np.abs(b).max())
    from scipy.optimize import linprog

    ones = np.ones((len(b), 1))
    found = linprog(
        np.append(np.zeros(len(free)), 1.0),
        A_ub=np.block([[-A, -ones], [A, -ones]]),
        b_ub=np.concatenate([-b, b]),
        bounds=[(None, None)] * len(free) + [(0.0, None)],
    )
    return 1.0 - float(np.abs(b - A @ found.x[:-1] if found.success else b).max())


class Smoothed(Problem):
    """A problem with the penalty replaced by `Penalty.smoothed` of a given width."""

    def __init__(self, problem: Problem, width: float) -> None:
        self._problem, self._width = problem, width
        self.manifold = problem.manifold
        self.has_hessian = problem.has_hessian

    def at(self, M: Array) -> Point:
        return SmoothSum(self._problem.at(M), *penalty_of(self._problem).smoothed(M, self._width))


@dataclass(frozen=True)
class Smoothing(ProximalGradient):
    """Smoothing continuation by trust regions, finished by proximal gradients.

    |m| is replaced by sqrt(m^2 + w^2). The width w decreases by stages, from the size of M's
    entries. For large w entries can change sign, whereas proximal gradients from the same start
    often keep the first support.

    Parameters
    ----------
    widths : tuple of float
        Widths of the smoothing in each stage, in units of the root mean square of M's entries.
    """

    name = "smoothing"

    widths: tuple[float, ...] = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)

    def __post_init__(self) -> None:
        super().__post_init__()
        keep_numbers(self, "widths", positive=True)

    def states(self, problem: RiemannianProblem, M: Array, stopping: Stopping) -> Iterator[State]:
        """Yield the start, the end of each stage, then the proximal gradient steps."""
        require_separable(problem)
        lowest = self.initialise(problem, M)
        yield lowest
        if problem.problem.penalty is None:
            return (yield from self.states_from(problem, lowest))
        for width in self.widths:
            size = float(np.linalg.norm(M)) / math.sqrt(M.size)
            smooth = Smoothed(problem.problem, width * size)
            # The solution is only an initial point of the next problem: low accuracy suffices.
            run = minimise(smooth, M, TrustRegion(theta=0.0, kappa=0.1), Stopping(1e-4, 30))
            problem.evaluations.update(run.evaluations)
            M, state = run.M, self.initialise(problem, run.M)
            yield replace(state, iterations=run.iterations)
            lowest = min(lowest, state, key=lambda state: state.point.value)
        yield from self.states_from(problem, lowest)
