"""The solver protocol, initialise and step; stopping rules, and the record of a run."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

import numpy as np

from ldr.solvers.checks import Brief
from ldr.solvers.manifolds import Array
from ldr.solvers.problem import RiemannianPoint, RiemannianProblem
from ldr.solvers.status import Status

# Threshold: f is a difference of large terms if f is smaller, relative to the Euclidean gradient.
_CANCELLED = 1e-6


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
        The threshold of the gradient is at most demand * max(1, |gradient at the start|), so that a
        large constant in the function does not matter.
    """

    tolerance: float = 1e-10
    max_iterations: int | None = None
    time_limit: float = math.inf
    demand: float = 1e-8

    def scale(self, start: RiemannianPoint) -> float:
        """Return the scale of the function at the start.

        The scale is a value, not the norm of the gradient: on ill-conditioned data this norm can be
        1e4 times the value, and the run would stop far from the optimum.
        """
        terms = float(np.linalg.norm(start.euclidean_gradient))
        return max(abs(start.value), _CANCELLED * terms) or start.gradient_norm

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
        Exact counts of the evaluations of values, gradients and Hessian products, and for `SVRG` of
        gradients of parts of the sum.
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

    The attribute `halt` is the status if the solver cannot continue, else None; `iterations` is the
    number of iterations that led to the state from the one before.
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
        """Return the next state; solvers that override `states` have no single step."""
        raise NotImplementedError(f"solver {self.name!r} runs as a whole and takes no single step")

    def states(self, problem: RiemannianProblem, M: Array, stopping: Stopping) -> Iterator[State]:
        """Yield the state at the start, then the state after each step, endlessly."""
        return self.states_from(problem, self.initialise(problem, M))

    def states_from(self, problem: RiemannianProblem, state: S) -> Iterator[State]:
        """Yield the given state, then the state after each step, endlessly."""
        while True:
            yield state
            state = self.step(problem, state)


AnySolver: TypeAlias = Solver[Any]
