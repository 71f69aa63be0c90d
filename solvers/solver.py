"""The solver protocol (initialise, step, stop) and the one loop that runs every solver."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from ldr.solvers.errors import ArgumentError
from ldr.solvers.limits import check, pass_on, unlimited, until_told, within
from ldr.solvers.manifolds import Array
from ldr.solvers.problem import Problem
from ldr.solvers.riemannian import RiemannianPoint, RiemannianProblem
from ldr.solvers.status import Status


@dataclass(frozen=True)
class State:
    """Where a solver is: its point, and what it remembers (in subclasses).

    `halt` is set by a step that cannot go on; `iterations` is how many it took to get here.
    """

    point: RiemannianPoint
    halt: Status | None = field(default=None, kw_only=True)
    iterations: int = field(default=1, kw_only=True)


@dataclass(frozen=True)
class Iteration:
    """What an observer sees after each step.

    Attributes
    ----------
    number : int
        0 at the start.
    M : ndarray
        The point, read-only.
    value : float
        The minimised function there.
    gradient_norm : float
        Norm of the Riemannian gradient.
    threshold : float
        The gradient norm at which the run stops.
    seconds : float
        Since the start of the run.
    """

    number: int
    M: Array
    value: float
    gradient_norm: float
    threshold: float
    seconds: float


Observer = Callable[[Iteration], object]


@dataclass(frozen=True)
class Stopping:
    """When to stop.

    Attributes
    ----------
    tolerance : float
        Stop at |gradient| <= tolerance * |value at the start|, whatever the scale of the function;
        at most 1e-8 max(1, |gradient at the start|), so that a constant in it does not matter.
    max_iterations : int or None
        None is the solver's own limit.
    time_limit : float
        Seconds.
    """

    tolerance: float = 1e-10
    max_iterations: int | None = None
    time_limit: float = math.inf

    def scale(self, start: RiemannianPoint) -> float:
        """The size of the function, as seen at the start.

        Not of the gradient there: on ill-conditioned data that can be 1e4 times the function, and
        a tolerance relative to it would stop far from the optimum.
        """
        terms = float(np.linalg.norm(start.euclidean_gradient))
        return max(abs(start.value), _CANCELLED * terms) or start.gradient_norm

    def threshold(self, start: RiemannianPoint) -> float:
        """The gradient norm at which to stop; a large constant in the value must not raise it."""
        usual = self.tolerance * self.scale(start)
        return min(usual, _LEAST_DEMAND * max(1.0, start.gradient_norm))


class Solver(ABC):
    """An algorithm: `initialise` a state at a start, `step` it. Options are dataclass fields.

    `patience` is the number of steps in a row that may gain nothing before it counts as stalled;
    `handles_penalty` tells whether it minimises a problem's penalty too.
    """

    name: ClassVar[str]
    default_max_iterations: ClassVar[int]
    patience: ClassVar[int] = 50
    handles_penalty: ClassVar[bool] = False

    @abstractmethod
    def initialise(self, problem: RiemannianProblem, M: Array) -> State:
        """The state at the start M."""

    @abstractmethod
    def step(self, problem: RiemannianProblem, state: State) -> State:
        """The next state."""

    def states(self, problem: RiemannianProblem, M: Array, stopping: Stopping) -> Iterator[State]:
        """The start's state, then one state a step, without end."""
        state = self.initialise(problem, M)
        while True:
            yield state
            state = self.step(problem, state)


@dataclass(frozen=True)
class Run:
    """What a solver did.

    Attributes
    ----------
    M : ndarray
        The final point (the best one where the run was cut short).
    value, gradient_norm : float
        There; the value is the minimised one.
    status : Status
        Why the run ended.
    iterations : int
        Steps taken.
    evaluations : dict
        True counts of value, gradient and Hessian-product evaluations, and of `SVRG` those of
        gradients of a part of the sum.
    history : dict of lists
        `iteration`, `value`, `gradient_norm` and `seconds`, the start included.
    seconds : float
        Time the run took.
    """

    M: Array
    value: float
    gradient_norm: float
    status: Status
    iterations: int
    evaluations: dict[str, int]
    history: dict[str, list[float]]
    seconds: float

    def scaled(self, factor: float) -> Run:
        """The run, told of factor times the function."""
        history = {**self.history}
        history["value"] = [factor * value for value in history["value"]]
        history["gradient_norm"] = [abs(factor) * norm for norm in history["gradient_norm"]]
        return replace(
            self,
            value=factor * self.value,
            gradient_norm=abs(factor) * self.gradient_norm,
            history=history,
        )


# A value this much smaller than the Euclidean gradient is what cancellation left of its terms.
_CANCELLED = 1e-6

# Whatever the value: |gradient| <= this * max(1, |gradient at the start|).
_LEAST_DEMAND = 1e-8

# Where no step can lower the function any more, a gradient this small against its scale is the
# effect of rounding; a larger one means that something is wrong.
_ROUNDING_LEVEL = 1e-6

# A relative change of the value below this is rounding, not progress.
VALUE_ROUNDING = 1e-14

# Values this close, relatively, are the same at the end of a run.
_SAME_VALUE = 1e-12


# What is not finite ends the run, which says so: NumPy need not warn of it too.
@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def minimise(
    problem: Problem,
    start: Array,
    solver: Solver,
    stopping: Stopping | None = None,
    observers: Sequence[Observer] = (),
) -> Run:
    """Run a solver from a start until a stopping rule fires.

    Parameters
    ----------
    problem : Problem
    start : ndarray
        A point of ``problem.manifold``; not changed.
    solver : Solver
    stopping : Stopping, optional
    observers : sequence of callables
        Each is called with every `Iteration`; one that returns True ends the run.

    Returns
    -------
    Run
        Also after Ctrl-C, with the best point so far; not after a second one.

    Raises
    ------
    ArgumentError
        The problem has a penalty and the solver is one for smooth functions.
    """
    if problem.penalty is not None and not solver.handles_penalty:
        raise ArgumentError(
            f"solver={solver.name!r} minimises smooth functions, and the problem has a penalty "
            "that is not smooth: use solver='proximal-gradient' or 'smoothing'"
        )
    stopping = stopping or Stopping()
    limit = stopping.max_iterations
    limit = solver.default_max_iterations if limit is None else limit
    counted = RiemannianProblem(problem)
    history: dict[str, list[float]] = {
        name: [] for name in ("iteration", "value", "gradient_norm", "seconds")
    }
    began = time.perf_counter()
    progress = _Progress(solver.patience)
    best: RiemannianPoint | None = None
    last: RiemannianPoint | None = None
    threshold = 0.0
    status: Status | None = None
    scale = 1.0
    number = 0

    with within(stopping.time_limit), until_told() as told:
        for state in solver.states(counted, start, stopping):
            with unlimited():  # what a step has led to is not given up
                finite = _is_finite(state.point)
            last = state.point
            if not finite:
                status = Status.NOT_FINITE
                break
            if best is None:
                scale, threshold = stopping.scale(last), stopping.threshold(last)
                counted.threshold = threshold
                best = last
            else:
                number += state.iterations
            if last.value <= best.value:
                best = last
            seconds = time.perf_counter() - began
            _record(history, number, last, seconds)
            iteration = Iteration(
                number, last.M, last.value, last.gradient_norm, threshold, seconds
            )
            wishes = [_is_true(observer(iteration)) for observer in observers]
            halt = Status.STALLED if progress.stalled(last) else state.halt
            if last.gradient_norm <= threshold:
                status = Status.CONVERGED
            elif halt is not None:
                flattest = (progress.flattest or last).gradient_norm
                small = flattest <= _ROUNDING_LEVEL * max(scale, abs(last.value))
                status = Status.ROUNDING if halt is Status.STALLED and small else halt
            elif any(wishes):
                status = Status.OBSERVER
            elif number >= limit:
                status = Status.MAX_ITERATIONS
            if status is not None:
                break
            check()

    status = told.status or status
    if last is None:
        if status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        best = counted.at(start)
        with unlimited():
            _record(history, 0, best, time.perf_counter() - began)

    # Where values agree to rounding, "lowest" means nothing: there the flattest point is the best.
    final = best or last
    if status is Status.CONVERGED:
        final = last
    elif status is Status.ROUNDING:
        final = progress.flattest
    assert final is not None and status is not None
    return Run(
        M=final.M.copy(),
        value=final.value,
        gradient_norm=final.gradient_norm,
        status=status,
        iterations=number,
        evaluations=dict(counted.evaluations),
        history=history,
        seconds=time.perf_counter() - began,
    )


def run_through(
    problem: Problem, start: Array, solver: Solver, stopping: Stopping | None = None
) -> Run:
    """`minimise` as a step to something else, a heuristic say, which needs the whole of it.

    Raises
    ------
    KeyboardInterrupt, TimeLimitError
        Where `minimise` would return what there is.
    """
    run = minimise(problem, start, solver, stopping)
    pass_on(run.status)
    return run


def _is_finite(point: RiemannianPoint) -> bool:
    return math.isfinite(point.value) and math.isfinite(point.gradient_norm)


def _is_true(wish: object) -> bool:
    """True itself, of Python's or of NumPy's: other truthy values are no wish to stop."""
    return isinstance(wish, (bool, np.bool_)) and bool(wish)


class _Progress:
    """Tells when neither the value nor the gradient has improved for a while.

    `flattest` is the point of the smallest gradient among those whose values agree with the lowest
    to rounding: a saddle on the way may be flatter.
    """

    def __init__(self, patience: int) -> None:
        self._patience = patience
        self._value = self._lowest = self._gradient_norm = math.inf
        self._idle = 0
        self.flattest: RiemannianPoint | None = None

    def stalled(self, point: RiemannianPoint) -> bool:
        value, norm = point.value, point.gradient_norm
        lower = math.isinf(self._value) or value < self._value - VALUE_ROUNDING * abs(value)
        self._idle = 0 if lower or norm < 0.9 * self._gradient_norm else self._idle + 1
        if lower:
            self._value = value
        self._gradient_norm = min(self._gradient_norm, norm)
        self._keep(point)
        return self._idle >= self._patience

    def _keep(self, point: RiemannianPoint) -> None:
        self._lowest = min(self._lowest, point.value)
        highest = self._lowest + _SAME_VALUE * abs(self._lowest)
        if point.value > highest:
            return
        kept = self.flattest
        if kept is None or kept.value > highest or point.gradient_norm < kept.gradient_norm:
            self.flattest = point


def _record(
    history: dict[str, list[float]], number: int, point: RiemannianPoint, seconds: float
) -> None:
    history["iteration"].append(number)
    history["value"].append(point.value)
    history["gradient_norm"].append(point.gradient_norm)
    history["seconds"].append(seconds)
