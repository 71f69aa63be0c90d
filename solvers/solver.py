"""The solver protocol, initialise and step; the loop of all solvers, and the record of a run."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

import numpy as np

from ldr.solvers.checks import Brief
from ldr.solvers.deadline import pass_on, until_told, within
from ldr.solvers.errors import ArgumentError
from ldr.solvers.linalg.rounding import SLOPE_ROUNDING, VALUE_ROUNDING
from ldr.solvers.manifolds import Array
from ldr.solvers.problem import Problem, RiemannianPoint, RiemannianProblem
from ldr.solvers.status import Status


@dataclass(frozen=True)
class Stopping:
    """Stopping rules of a run.

    Attributes
    ----------
    tolerance : float
        The run stops at |gradient| <= tolerance * |value at the start|.
    max_iterations : int or None
        Limit of iterations; None means the solver's default.
    time_limit : float
        Time limit in seconds.
    demand : float
        The run stops only at |gradient| <= demand * max(1, |gradient at the start|), because the
        rule of `tolerance` stops too early if the function contains a large constant.
    """

    tolerance: float = 1e-10
    max_iterations: int | None = None
    time_limit: float = math.inf
    demand: float = 1e-8

    def scale(self, start: RiemannianPoint) -> float:
        """Return the scale of the function at the start.

        The scale is |f|. On ill-conditioned data the norm of the gradient can be 1e4 times |f|;
        such a scale would stop runs far from the optimum.
        """
        terms = float(np.linalg.norm(start.euclidean_gradient))
        return max(abs(start.value), SLOPE_ROUNDING * terms) or start.gradient_norm

    def threshold(self, start: RiemannianPoint) -> float:
        """Return the gradient norm at which the run stops."""
        usual = self.tolerance * self.scale(start)
        return min(usual, self.demand * max(1.0, start.gradient_norm))


@dataclass(frozen=True)
class Iteration:
    """State of a run after an iteration, passed to observers.

    Attributes
    ----------
    number : int
        Number of the iteration, 0 at the start.
    M : ndarray
        The point, read-only.
    value : float
        The value of the minimised function.
    gradient_norm : float
        Norm of the Riemannian gradient.
    threshold : float
        The gradient norm at which the run stops.
    seconds : float
        Seconds since the start of the run.
    """

    number: int
    M: Array
    value: float
    gradient_norm: float
    threshold: float
    seconds: float


Observer = Callable[[Iteration], object]


@dataclass(frozen=True)
class Run:
    """Record of a run of a solver.

    Attributes
    ----------
    M : ndarray
        The final point; the best point if a limit or Ctrl-C ended the run.
    value, gradient_norm : float
        Value of the minimised function and norm of the Riemannian gradient at M.
    status : Status
        Reason why the run ended.
    iterations : int
        Number of iterations.
    evaluations : dict
        Exact numbers of evaluated values, gradients and Hessian products; for `SVRG` also the
        number of evaluated gradients of single parts of the sum.
    history : dict of lists
        Lists of `iteration`, `value`, `gradient_norm` and `seconds`, including the start.
    seconds : float
        Duration of the run in seconds.
    """

    M: Array
    value: float
    gradient_norm: float
    status: Status
    iterations: int
    evaluations: dict[str, int]
    history: dict[str, list[float]]
    seconds: float

    @classmethod
    def of_point(
        cls, M: Array, value: float, norm: float, status: Status, seconds: float = 0.0
    ) -> Run:
        """Return a run without iterations; the norm of the gradient is NaN if unknown."""
        counts = {"value": 1, "gradient": int(not math.isnan(norm)), "hessian": 0}
        history: dict[str, list[float]] = {
            "iteration": [0],
            "value": [value],
            "gradient_norm": [norm],
            "seconds": [seconds],
        }
        return cls(M, value, norm, status, 0, counts, history, seconds)

    def scaled(self, factor: float) -> Run:
        """Return the run with values and gradient norms multiplied by a factor."""
        history = {**self.history}
        history["value"] = [factor * value for value in history["value"]]
        history["gradient_norm"] = [abs(factor) * norm for norm in history["gradient_norm"]]
        return replace(
            self,
            value=factor * self.value,
            gradient_norm=abs(factor) * self.gradient_norm,
            history=history,
        )

    def followed_by(self, later: Run) -> Run:
        """Join the run and a later run that started near the final point."""
        numbers = [self.iterations + number for number in later.history["iteration"]]
        seconds = [self.seconds + t for t in later.history["seconds"]]
        further = {**later.history, "iteration": numbers, "seconds": seconds}
        return replace(
            later,
            iterations=self.iterations + later.iterations,
            evaluations=dict(Counter(self.evaluations) + Counter(later.evaluations)),
            history={name: values + further[name] for name, values in self.history.items()},
            seconds=self.seconds + later.seconds,
        )


@dataclass(frozen=True)
class State:
    """State of a solver: the point and, in subclasses, quantities for the next step.

    If the solver cannot continue, `halt` contains the status of the run, otherwise None. The number
    of iterations since the previous state is `iterations`, usually 1.
    """

    point: RiemannianPoint
    halt: Status | None = field(default=None, kw_only=True)
    iterations: int = field(default=1, kw_only=True)


S = TypeVar("S", bound=State)


class Solver(Brief, ABC, Generic[S]):
    """An algorithm: `initialise` returns the first state, `step` the next; options are fields.

    After `patience` successive steps without improvement the run counts as stalled.
    `handles_penalty` is True if the solver also minimises nonsmooth penalties.
    """

    name: ClassVar[str]
    default_max_iterations: ClassVar[int]
    patience: ClassVar[int] = 50
    handles_penalty: ClassVar[bool] = False

    @abstractmethod
    def initialise(self, problem: RiemannianProblem, M: Array) -> S:
        """Return the state at the start M."""

    def step(self, problem: RiemannianProblem, state: S) -> S:
        """Return the next state; a solver that overrides `states` has no method `step`."""
        raise NotImplementedError(f"solver {self.name!r} has no method `step`: use `states`")

    def states(self, problem: RiemannianProblem, M: Array, stopping: Stopping) -> Iterator[State]:
        """Yield the state at the start, then the state after each step, endlessly."""
        return self.states_from(problem, self.initialise(problem, M))

    def states_from(self, problem: RiemannianProblem, state: S) -> Iterator[State]:
        """Yield the given state, then the state after each step, endlessly."""
        while True:
            yield state
            state = self.step(problem, state)


AnySolver: TypeAlias = Solver[Any]


# f is piecewise constant if its values at random points differ and all gradients are zero, up to
# thresholds: of the difference relative to |f|, of gradients relative to the difference.
_DIFFERENT, _NO_SLOPE = 1e-10, 1e-8


@dataclass
class Budget:
    """Limit of the iterations of several runs together; None means no limit."""

    left: int | None = None


_budget: ContextVar[Budget | None] = ContextVar("budget", default=None)


@contextmanager
def sharing(budget: Budget | None) -> Iterator[None]:
    """Let the runs in the context share a budget; None removes the limit."""
    token = _budget.set(budget)
    try:
        yield
    finally:
        _budget.reset(token)


# NumPy's warnings are redundant, because values that are not finite end the run with a status.
@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def minimise(
    problem: Problem,
    start: Array,
    solver: AnySolver,
    stopping: Stopping | None = None,
    observers: Sequence[Observer] = (),
) -> Run:
    """Run a solver from a start until a stopping rule is met.

    Parameters
    ----------
    problem : Problem
    start : ndarray
        A point of ``problem.manifold``; the array is not changed.
    solver : Solver
    stopping : Stopping, optional
    observers : sequence of callables
        Each is called with every `Iteration`; returning True ends the run.

    Returns
    -------
    Run
        After the first Ctrl-C the record with the best point is returned.

    Raises
    ------
    KeyboardInterrupt, TimeLimitError
        The run ended before value and gradient at the start were computed.
    ArgumentError
        The problem has a nonsmooth penalty, but the solver is for smooth functions.
    """
    if problem.penalty is not None and not solver.handles_penalty:
        raise ArgumentError(
            f"solver={solver.name!r} minimises smooth functions only, but the problem has a "
            "nonsmooth penalty: use solver='proximal-gradient' or 'smoothing'"
        )
    stopping, budget = stopping or Stopping(), _budget.get()
    if budget is not None and budget.left is not None:
        limit = stopping.max_iterations
        limit = solver.default_max_iterations if limit is None else limit
        stopping = replace(stopping, max_iterations=min(limit, budget.left))
    tracker = Tracker(RiemannianProblem(problem), solver, stopping, observers)
    token = _budget.set(None)  # a step may run an inner loop with its own budget
    try:
        unlimited = stopping.time_limit == math.inf
        with nullcontext() if unlimited else within(stopping.time_limit):
            with until_told() as told:
                for state in solver.states(tracker.problem, start, stopping):
                    if tracker.ends_at(state):
                        break
            run = tracker.run(told.status)
    finally:
        _budget.reset(token)
    if budget is not None and budget.left is not None:
        budget.left = max(0, budget.left - run.iterations)
    return run


def run_through(
    problem: Problem, start: Array, solver: AnySolver, stopping: Stopping | None = None
) -> Run:
    """Run `minimise`, and raise an exception if a limit or Ctrl-C ended the run.

    - raises KeyboardInterrupt, TimeLimitError: The run ended early.
    """
    run = minimise(problem, start, solver, stopping)
    pass_on(run.status)
    return run


class Tracker:
    """History of a run, its last, best and flattest point, observers, and reason for ending.

    The flattest point has the smallest gradient among the points whose values equal the lowest to
    rounding. Other points, such as saddles, are excluded: their gradient may be smaller.
    """

    def __init__(
        self,
        problem: RiemannianProblem,
        solver: AnySolver,
        stopping: Stopping,
        observers: Sequence[Observer],
    ) -> None:
        limit = stopping.max_iterations
        self._limit = solver.default_max_iterations if limit is None else limit
        self.problem, self._patience = problem, solver.patience
        self._stopping, self._observers = stopping, observers
        self._history: dict[str, list[float]] = {
            "iteration": [],
            "value": [],
            "gradient_norm": [],
            "seconds": [],
        }
        self._began = time.perf_counter()
        self._number = self._idle = 0
        self._least_value = self._least_gradient = math.inf  # least f and gradient norm so far
        self._scale = 0.0
        self._best: RiemannianPoint | None = None
        self._last: RiemannianPoint | None = None
        self._flattest: RiemannianPoint | None = None
        self._status: Status | None = None

    def ends_at(self, state: State) -> bool:
        """Record a state, and return True if the run ends there."""
        point = self._last = state.point
        value, seconds = point.value, time.perf_counter() - self._began
        looked = math.isfinite(value) or self._best is None  # an infinite f has no gradient
        norm = point.gradient_norm if looked else math.nan
        finite = math.isfinite(value) and math.isfinite(norm)
        if finite and self._best is None:
            self._scale = self._stopping.scale(point)
            self.problem.threshold = self._stopping.threshold(point)
        elif finite:
            self._number += state.iterations
        if finite or self._best is None:
            seen = (self._number, value, norm, seconds)
            for column, number in zip(self._history.values(), seen, strict=True):
                column.append(number)
        if not finite:
            self._status = Status.NOT_FINITE
            return True
        if self._best is None or value <= self._best.value:
            self._best = point
        asked = False
        if self._observers:
            threshold = self.problem.threshold
            shown = Iteration(self._number, point.M, value, norm, threshold, seconds)
            wishes = [observer(shown) for observer in self._observers]
            # Only True requests a stop; an observer may return other values by accident.
            asked = any(isinstance(wish, (bool, np.bool_)) and wish for wish in wishes)
        halt = Status.STALLED if self._is_idle(point, value, norm) else state.halt
        if norm <= self.problem.threshold:
            self._status = Status.CONVERGED
        elif halt is Status.STALLED and at_rounding(
            self._flattest or point, max(self._scale, abs(value))
        ):
            self._status = Status.ROUNDING
        elif halt is not None or asked:
            self._status = halt or Status.OBSERVER
        elif self._number >= self._limit:
            self._status = Status.MAX_ITERATIONS
        return self._status is not None

    def _is_idle(self, point: RiemannianPoint, value: float, norm: float) -> bool:
        """Return True if neither value nor gradient has improved for a while.

        The flattest point is kept.
        """
        least = self._least_value
        lower = math.isinf(least) or value < least - VALUE_ROUNDING * abs(value)
        flatter = norm < self._least_gradient
        self._idle = 0 if lower or flatter else self._idle + 1
        if lower:
            self._least_value = value
        self._least_gradient = min(self._least_gradient, norm)
        kept, best = self._flattest or point, self._best or point
        highest = best.value + 1e-12 * abs(best.value)
        if value <= highest and (kept.value > highest or norm < kept.gradient_norm):
            kept = point
        self._flattest = kept
        return self._idle >= self._patience

    def run(self, told: Status | None) -> Run:
        """Return the record of the run.

        - told: status of the limit or interrupt that ended the run, or None
        - raises KeyboardInterrupt, TimeLimitError: The run ended before the first state.
        """
        status = told or self._status
        assert status is not None
        if self._last is None:
            pass_on(status)
        # Among points with equal values up to rounding, the best point has the smallest gradient.
        final = self._best or self._last
        if status is Status.ROUNDING:
            final = self._flattest
        elif status is Status.CONVERGED:
            final = self._last
        assert final is not None
        return Run(
            M=final.M.copy(),
            value=final.value,
            gradient_norm=final.gradient_norm,
            status=status,
            iterations=self._number,
            evaluations=dict(self.problem.evaluations),
            history=self._history,
            seconds=time.perf_counter() - self._began,
        )


def at_rounding(point: RiemannianPoint, scale: float) -> bool:
    """Return True if the gradient is rounding error for a function of the given scale."""
    return point.gradient_norm <= SLOPE_ROUNDING * scale


def unless_flat(
    problem: Problem, run: Run, random_point: Callable[[np.random.Generator], Array]
) -> Run:
    """Return the run, with `Status.FLAT` if the function is piecewise constant.

    Counts and rounded values are piecewise constant: values at random points differ from the value
    at the start, and all gradients are zero there.
    """
    if run.iterations > 0 or not run.status.converged:
        return run
    if problem.penalty is not None or problem.manifold.dimension == 0:
        # The test for a constant function needs a smooth f and a manifold of positive dimension.
        return run
    counted, rng = RiemannianProblem(problem), np.random.default_rng(0)
    jump, slope = 0.0, run.gradient_norm
    for _ in range(5):
        other = counted.at(random_point(rng))
        if not math.isfinite(other.value):
            continue
        jump = max(jump, abs(other.value - run.value))
        slope = max(slope, other.gradient_norm)
        if slope > _NO_SLOPE * jump:
            break
    flat = jump > _DIFFERENT * abs(run.value) and slope <= _NO_SLOPE * jump
    return replace(
        run,
        status=Status.FLAT if flat else run.status,
        evaluations=dict(Counter(run.evaluations) + counted.evaluations),
    )
