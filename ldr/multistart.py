"""Multistart: the initial points, the runs from them, and the best run."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from ldr import solvers
from ldr.objectives.data.data import Data
from ldr.objectives.problem import BoundObjective, Certificate, LocalOptima, near
from ldr.solvers.checks import LARGEST, SMALLEST
from ldr.solvers.deadline import check, over, result_of, until_told
from ldr.solvers.errors import ArgumentError, TimeLimitError
from ldr.solvers.linalg.rounding import TIED, VALUE_ROUNDING
from ldr.solvers.manifolds import Array
from ldr.solvers.solver import (
    Budget,
    Observer,
    Run,
    Solver,
    Stopping,
    minimise,
    sharing,
    unless_flat,
)
from ldr.solvers.status import Status
from ldr.types import Start

Made = TypeVar("Made")

# Name of an initial matrix M that the user gave as an array.
GIVEN = "given"


def _start_matrix(given: npt.ArrayLike, shape: tuple[int, ...]) -> Array:
    """An initial point of the user as a matrix of full rank."""
    try:
        M = np.asarray(given)
    except ValueError:
        raise ArgumentError(f"start must be an array of shape {shape}") from None
    if M.dtype.kind not in "biuf":
        raise ArgumentError(f"start must hold real numbers, but its type is {M.dtype}")
    if M.shape != shape:
        raise ArgumentError(f"start has shape {M.shape}, expected {shape}")
    M = M.astype(np.float64)
    if not np.isfinite(M).all():
        raise ArgumentError("start has NaN or infinite entries")
    if not SMALLEST <= np.abs(M).max() <= LARGEST:
        raise ArgumentError(
            f"the largest entry of start is {np.abs(M).max():.1e}, expected a value between "
            f"{SMALLEST:.0e} and {LARGEST:.0e}"
        )
    rank = int(np.linalg.matrix_rank(M))
    if rank < shape[1]:
        raise ArgumentError(f"start has rank {rank}, expected {shape[1]}, its number of columns")
    return M


# Statuses of runs that were ended by a time limit, Ctrl-C or an observer.
_TOLD = (Status.TIME_LIMIT, Status.INTERRUPTED, Status.OBSERVER)
# Tolerance and iteration limit for approximations of a problem, solved to find initial points.
_ROUGHLY = Stopping(1e-4, 50)
# Approximations of f are minimised in turn. The constants are the first one's iteration limit, the
# largest number of further ones, and the relative change of f at which they end.
_FIRST_STEPS, _TIMES, _SAME = 8, 4, 1e-8


@dataclass(frozen=True)
class Starts:
    """Summary of the runs from several initial points.

    Attributes
    ----------
    values : tuple of float
        Final values of the objective for the runs on all rows, by start.
    names : tuple of str
        Names of starts: "baseline", "given", "random 1", "random 2" and so on, or a name of the
        objective's own start ("gradient outer product").
    best : float
        The best value. The result is the first run that reaches it to machine precision.
    best_from : str
        Name of the first start whose run reached the best value.
    agreeing : int
        Number of runs whose relative difference from the best value is at most 1e-8.
    spread : float
        Difference between the best and the worst value.
    merged : tuple of str
        Starts that are no independent evidence. Such a start is equivalent to an earlier one, up to
        the basis, with the same initial and final value. For ica, uica, exponential-family-pca and
        lmnn with large n a start is also merged, without a run of its own, if a run on some of the
        rows leads to the optimum of an earlier start.
    """

    values: tuple[float, ...]
    names: tuple[str, ...]
    best: float
    best_from: str
    agreeing: int
    spread: float
    merged: tuple[str, ...] = ()

    @classmethod
    def of(cls, problem: BoundObjective, runs: Mapping[str, Ended]) -> Starts | None:
        """Return the summary of the runs by the names of their starts; None for one start."""
        if len(runs) < 2:
            return None
        whole: dict[str, Run] = {}
        for name, (_, run) in runs.items():
            if not any(_coincide(run, other) for other in whole.values()):
                whole[name] = run
        names = tuple(whole)
        values = tuple(problem.reported(runs[name].run.value) for name in names)
        best = min(values) if problem.objective.sense == "min" else max(values)
        agree = [abs(v - best) <= 1e-8 * abs(best) for v in values]
        first, spread = names[agree.index(True)], max(values) - min(values)
        merged = tuple(name for name in runs if name not in names)
        return cls(values, names, best, first, sum(agree), spread, merged)

    def __str__(self) -> str:
        said = (
            f"{self.agreeing} of {len(self.values)} agree with the best, "
            f"first from {self.best_from!r}; spread {self.spread:.1e}"
        )
        if self.merged:
            said += f"; the same as an earlier start: {', '.join(self.merged)}"
        return said


def _coincide(run: Run, other: Run) -> bool:
    """Return True if two runs are the same, or have equal initial and equal final values."""
    one, two = ((each.history["value"][0], each.value) for each in (run, other))
    return run is other or np.allclose(one, two, rtol=TIED, atol=0.0)


class Ended(NamedTuple):
    """A run, and the problem whose objective the run minimised."""

    problem: BoundObjective
    run: Run


def solve_near(
    problem: BoundObjective,
    M: Array,
    solver: Solver,
    stopping: Stopping,
    observers: Sequence[Observer] = (),
) -> Ended:
    """Minimise an objective, or a sequence of approximations near the points of the run.

    An objective without approximations has one stage. For others each stage minimises one smooth
    approximation. The run ends when a new approximation no longer changes the value.
    """
    now = near(problem, M)
    if now is problem:
        return Ended(problem, minimise(problem, M, solver, stopping, observers))
    left = stopping.max_iterations
    if left is None:
        left = solver.default_max_iterations
    first = replace(stopping, max_iterations=min(left, _FIRST_STEPS))
    run = minimise(now, M, solver, first, observers)
    for k in range(_TIMES):
        if run.status in _TOLD or (k != 1 and run.iterations >= left):
            break  # for k = 1 the loop goes on at the limit of iterations, to test convergence
        before = run.value
        with until_told() as told:
            now = near(problem, run.M)
        if told.status is not None:
            return Ended(now, replace(run, status=told.status))
        rest = replace(stopping, max_iterations=left - run.iterations)
        if k == 0:  # another approximation of f follows: low accuracy suffices
            rough = max(stopping.tolerance, _ROUGHLY.tolerance)
            rest = replace(rest, tolerance=rough, demand=rough)
        run = run.followed_by(later := minimise(now, run.M, solver, rest, observers))
        if k and abs(later.history["value"][0] - before) <= _SAME * abs(before):
            break
    return Ended(now, run)


class Multistart:
    """Runs of a solver from several starts; no run begins after a limit or an interrupt.

    Initial points that lead to the same optimum, as `same` decides, share a run. The limit
    `max_iterations` includes preparatory runs.

    - solver: None if the solution has a closed form, which needs no starts
    - start: the first initial point, as in `ldr.solve`
    - count: number of initial points; None means `start`, and after a baseline the objective's own
    """

    def __init__(
        self,
        problem: BoundObjective,
        data: Data,
        baseline: Array | None,
        solver: Solver | None,
        start: Start,
        count: int | None,
        random: np.random.Generator | None,
        stopping: Stopping,
    ) -> None:
        self._problem, self._baseline, self._solver = problem, baseline, solver
        self._local = problem if isinstance(problem, LocalOptima) else None
        self._count, self._random, self._stopping = count, random, stopping
        self._observers: Sequence[Observer] = ()
        self._workers = 1
        self._budgets: dict[str, Budget] = {}
        self._begun: dict[str, Array] = {}
        self._twins: dict[str, str] = {}
        self._ends: dict[str, Ended] = {}
        self._stopped = False
        self._name = start if isinstance(start, str) else GIVEN
        self._first = self._named(start) if isinstance(start, str) else self._given(start, data)

    @cached_property
    def _rng(self) -> np.random.Generator:
        """The generator, made on first use: reading the system's entropy is slow."""
        return self._random or np.random.default_rng()

    @cached_property
    def _own(self) -> dict[str, Array]:
        """The objective's own starts; none after the time limit if there is a baseline."""
        several = self._count is not None and self._count > 1
        if self._name != GIVEN:
            several = self._name != "random" and (self._count != 1 or self._name != "baseline")
        if not several or self._solver is None:  # an initial point can cost as much as an iteration
            return {}
        try:
            with sharing(Budget(self._stopping.max_iterations)):
                return self._problem.starts()
        except TimeLimitError:
            if self._name != "baseline" or self._baseline is None:
                raise
            return {}

    def _named(self, name: str) -> Array:
        if name == "baseline" and self._baseline is not None:
            return self._baseline
        if name in ("random", "baseline"):
            return self._problem.random_point(self._rng)
        if name in self._own:
            return self._own[name]
        known = ", ".join(map(repr, ("baseline", "random", *self._own)))
        raise ArgumentError(f"start must be one of {known}, or an array, got {name!r}")

    def _given(self, start: object, data: Data) -> Array:
        count, problem = len(data.views), self._problem
        given = start if count > 1 else (start,)
        if not isinstance(given, (tuple, list)) or len(given) != count:
            raise ArgumentError(f"start must be {count} arrays, one for each view")
        shapes = [M.shape for M in problem.lift(problem.random_point(np.random.default_rng(0)))]
        return problem.lower([_start_matrix(M, s) for M, s in zip(given, shapes, strict=True)])

    def _points(self) -> dict[str, Array]:
        """The first start, then the objective's own starts, then random starts.

        If an own start of the objective equals the first, the two are one start with its name.
        """
        name, count, others = self._name, self._count, {}
        for own, point in self._own.items():
            if np.array_equal(point, self._first):
                name = own
            else:
                others[own] = point
        if count is None:
            count = 1 + len(others) if self._name == "baseline" else 1
        points = dict(list({name: self._first, **others}.items())[:count])
        for k in range(1, count - len(points) + 1):
            points[f"random {k}"] = self._problem.random_point(self._rng)
        return points

    def search(
        self, observers: Sequence[Observer], workers: int
    ) -> tuple[dict[str, Ended], int, Certificate | None]:
        """Return the runs by start, the number of starts, and a certificate of the best run.

        If no count is given, no run begins after a run whose optimum is certified as global.
        """
        self._observers, self._workers = observers, workers
        proof_at = getattr(self._local, "proof", None)
        if self._count is not None or self._workers > 1 or proof_at is None:
            points = self._points()
            return self._runs(points), len(points), None
        points = {self._name: self._first}
        runs: dict[str, Ended] = {}
        proof, best = None, math.inf
        while len(runs) < len(points) and not (runs and over()):
            name = list(points)[len(runs)]
            found = self._runs({name: points[name]})
            runs |= found
            if not found or (run := found[name].run).status in _TOLD:
                break
            with until_told():
                if len(runs) == 1 or run.value < best - TIED * abs(best):
                    proof = proof_at(run.M)
                if proof:
                    return runs, len(runs), proof
                if len(runs) == 1:
                    points = self._points()
            best = min(best, run.value)
        return runs, len(points), None

    def _runs(self, points: Mapping[str, Array]) -> dict[str, Ended]:
        """A run from each named point.

        - raises KeyboardInterrupt, TimeLimitError: no point was available yet.
        """
        for name in points:
            self._budgets[name] = Budget(self._stopping.max_iterations)
        if self._workers == 1 or len(points) == 1:
            for name, point in points.items():
                self._begin(name, self._approach(name, point))
                self._solve(name)
        else:
            self._in_threads(points)
        if not self._ends:
            check()
        through = {name: self._twins.get(name, name) for name in points}
        return {name: self._ends[own] for name, own in through.items() if own in self._ends}

    def _in_threads(self, points: Mapping[str, Array]) -> None:
        with ThreadPoolExecutor(self._workers) as pool:

            def submitted(work: Callable[..., Made], *given: Any) -> Future[Made]:
                return pool.submit(copy_context().run, work, *given)

            try:
                ways = [submitted(self._approach, *item) for item in points.items()]
                for name, way in zip(points, ways, strict=True):
                    self._begin(name, result_of(way))
                for run in [submitted(self._solve, name) for name in list(self._begun)]:
                    result_of(run)
            except BaseException:
                self._stopped = True  # after an exception no further run begins
                raise

    def _late(self, name: str) -> bool:
        return self._stopped or (name != next(iter(self._budgets)) and over())

    def _approach(self, name: str, point: Array) -> Array | None:
        """Return the initial point of a run, or None if no run begins."""
        if self._late(name):
            return None
        local, solver = self._local, self._solver
        if local is None or solver is None or self._stopping.max_iterations == 0:
            return point
        # If the time limit ends the computation of a start, the point reached so far is returned.
        with sharing(self._budgets[name]), until_told():
            if name != GIVEN:
                point = local.approach(point)
            for easier in local.easier:
                point = point if over() else minimise(easier, point, solver, _ROUGHLY).M
        return point

    def _begin(self, name: str, point: Array | None) -> None:
        """Record the initial point of a run, unless an earlier start leads to the same point."""
        if point is None:
            return
        for known, M in self._begun.items():
            if self._local is not None and self._local.same(M, point):
                self._twins[name] = known
                return
        self._begun[name] = point

    def _solve(self, name: str) -> None:
        problem = self._problem
        if name not in self._begun or self._late(name):
            return
        assert self._solver is not None
        with sharing(self._budgets[name]), until_told():
            start = self._begun[name]
            now, run = solve_near(problem, start, self._solver, self._stopping, self._observers)
            self._ends[name] = Ended(now, run)  # if the test below is interrupted, this run is kept
            self._stopped = self._stopped or run.status is Status.OBSERVER
            if run.iterations == 0 and run.status.converged:
                run = unless_flat(now, run, problem.random_point)
                self._ends[name] = Ended(now, run)


def best_of(runs: Mapping[str, Ended], starts: int) -> tuple[Ended, tuple[str, ...]]:
    """Return the best run, and a message on the number of runs cut short.

    Among runs whose values agree to machine precision the first is returned.
    """
    ends = list(runs.values())
    values = np.array([end.run.value for end in ends])
    lowest = float(np.fmin.reduce(values))
    best = ends[int(np.argmax(values <= lowest + VALUE_ROUNDING * abs(lowest)))]
    told = [end.run.status for end in ends if end.run.status in _TOLD]
    done = len(ends) - len(told)
    if starts == 1 or done == starts:
        return best, ()
    cut = replace(best.run, status=told[-1] if told else Status.TIME_LIMIT)
    return Ended(best.problem, cut), (f"{done} of {starts} starts were solved completely",)


def solver_for(method: str | Solver, problem: BoundObjective) -> Solver | None:
    """Return the solver to run, or None if the problem has a closed form."""
    if isinstance(method, Solver):
        return method
    if problem.closed_form() is not None:
        return None
    if method == "closed-form":
        raise ArgumentError(
            f"objective {problem.objective.name!r} has no closed form for this X; use solver='auto'"
        )
    if problem.penalty is not None:
        return solvers.Smoothing()
    return problem.specialist() or solvers.TrustRegion()


def closed_form_run(problem: BoundObjective) -> Run:
    """Return the closed form solution as a run without iterations."""
    began = time.perf_counter()
    M = problem.closed_form()
    assert M is not None
    point = problem.at(M)
    norm = problem.manifold.norm(M, problem.manifold.gradient(M, point.gradient))
    seconds = time.perf_counter() - began
    return Run.of_point(M, point.value, norm, Status.CLOSED_FORM, seconds)
