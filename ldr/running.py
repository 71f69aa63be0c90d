"""Which solver runs, from which points, and which run is the best."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import NamedTuple

from ldr import solvers
from ldr.objectives.certificate import Certificate
from ldr.objectives.problem import BoundObjective
from ldr.solvers.errors import ArgumentError
from ldr.solvers.flatness import unless_flat
from ldr.solvers.limits import check, hearing, over, until_told
from ldr.solvers.loop import minimise
from ldr.solvers.manifolds import Array
from ldr.solvers.records import dataclass, replace
from ldr.solvers.run import Observer, Run, Stopping
from ldr.solvers.solver import Solver
from ldr.solvers.status import Status
from ldr.starting import GIVEN

# How a run ends that was told to.
_TOLD = (Status.TIME_LIMIT, Status.INTERRUPTED, Status.OBSERVER)
# An end that is better by so much, relative to the value, is another one.
_BETTER = 1e-9
# How well the easier problems on the way from a start are solved.
_ROUGHLY = Stopping(1e-4, 50)
# Steps before a function is approximated anew, how often that is, and a change of its value there
# that does not matter.
_FIRST_STEPS, _TIMES, _SAME = 3, 4, 1e-8


@dataclass(frozen=True)
class Starts:
    """What the solver reached from several starts.

    Attributes
    ----------
    values : tuple of float
        In the order of the starts, in the objective's own sense and units.
    names : tuple of str
        Of the starts: "baseline", "given", the objective's own ("gradient outer product"),
        "random 1", ...
    best : float
    best_from : str
        The name of the start that the best was reached from; of those that agree, the first.
    agreeing : int
        How many are the best to 1e-8, relative; the best is one of them.
    spread : float
        Between the best and the worst.
    """

    values: tuple[float, ...]
    names: tuple[str, ...]
    best: float
    best_from: str
    agreeing: int
    spread: float

    @classmethod
    def of(cls, reached: Mapping[str, float], sense: str) -> Starts:
        """The summary of the values reached, by the starts' names."""
        values, names = tuple(reached.values()), tuple(reached)
        best = min(values) if sense == "min" else max(values)
        agree = [abs(v - best) <= 1e-8 * abs(best) for v in values]
        first = names[agree.index(True)]
        return cls(values, names, best, first, sum(agree), max(values) - min(values))

    def __str__(self) -> str:
        return (
            f"{self.agreeing} of {len(self.values)} agree with the best, "
            f"first from {self.best_from!r}; spread {self.spread:.1e}"
        )


class Ended(NamedTuple):
    """A run, and the problem whose function it minimised: as it is approximated near the end."""

    problem: BoundObjective
    run: Run


def solve_near(
    problem: BoundObjective,
    M: Array,
    solver: Solver,
    stopping: Stopping,
    observers: Sequence[Observer] = (),
) -> Ended:
    """`minimise` a function, which may be approximated anew near where the run is.

    It is one smooth function in each part of the run. The last part is that after which the value
    is the same in the next.
    """
    near = problem.near(M)
    if near is problem:
        return Ended(near, minimise(near, M, solver, stopping, observers))
    left = stopping.max_iterations or solver.default_max_iterations
    run = minimise(
        near, M, solver, replace(stopping, max_iterations=min(left, _FIRST_STEPS)), observers
    )
    for _ in range(_TIMES):
        if run.status in _TOLD or run.iterations >= left:
            break
        near, before = problem.near(run.M), run.value
        rest = replace(stopping, max_iterations=left - run.iterations)
        run = run.followed_by(later := minimise(near, run.M, solver, rest, observers))
        if abs(later.history["value"][0] - before) <= _SAME * abs(before):
            break
    return Ended(near, run)


def solve_from(
    problem: BoundObjective,
    points: Mapping[str, Array],
    solver: Solver,
    stopping: Stopping,
    observers: Sequence[Observer] = (),
    workers: int = 1,
) -> dict[str, Ended]:
    """A run from each named point; none after one that was told to stop, nor after the time.

    Raises
    ------
    KeyboardInterrupt, TimeLimitError
        Before there was a point to return.
    """
    told: list[Status] = []
    first = next(iter(points))

    def from_point(name: str) -> Ended | None:
        if told or (name != first and over()):
            return None
        point = points[name]
        with until_told():  # what is not done of this when the time is over need not be
            if name != GIVEN:
                point = problem.approach(point)
            for easier in problem.easier:
                point = point if over() else minimise(easier, point, solver, _ROUGHLY).M
        with until_told():
            near, run = solve_near(problem, point, solver, stopping, observers)
            with until_told():
                run = unless_flat(near, run, problem.random_point)
            if run.status is Status.OBSERVER:
                told.append(run.status)
            return Ended(near, run)
        return None

    with hearing() as interrupt:
        if workers == 1 or len(points) == 1:
            runs = [from_point(name) for name in points]
        else:
            with ThreadPoolExecutor(os.cpu_count() if workers < 0 else workers) as pool:
                tasks = [pool.submit(copy_context().run, from_point, name) for name in points]
                try:
                    runs = [task.result() for task in tasks]
                except BaseException:
                    interrupt.heard = True  # by the other threads too, which are joined here
                    raise
    found = {name: run for name, run in zip(points, runs, strict=True) if run is not None}
    if not found:
        check()
        raise KeyboardInterrupt
    return found


def search(
    problem: BoundObjective,
    first: Mapping[str, Array],
    points: Callable[[], Mapping[str, Array]],
    solver: Solver,
    stopping: Stopping,
    observers: Sequence[Observer] = (),
    workers: int = 1,
    *,
    prove: bool,
) -> tuple[dict[str, Ended], int, Certificate | None]:
    """`solve_from` the points, of which the first may do.

    Parameters
    ----------
    first : mapping
        Of the first start's name to its point.
    points : callable
        Gives all points by name, the first one first.
    prove : bool
        Whether the others are solved only until an end is proved to be optimal.

    Returns
    -------
    runs : dict of Ended
    starts : int
        How many there were to be.
    proof : Certificate or None
        Of the best end.
    """
    if not (prove and problem.provable and workers == 1):
        named = points()
        return solve_from(problem, named, solver, stopping, observers, workers), len(named), None
    named, proof = first, None
    (end,) = solve_from(problem, named, solver, stopping, observers).values()
    if end.run.status not in _TOLD:
        with until_told():
            proof = problem.proof(end.run.M)
            named = named if proof else points()
    name, *others = named
    runs = {name: end}
    for other in others:
        if proof or over() or end.run.status in _TOLD:
            break
        found: dict[str, Ended] = {}
        with until_told():
            found = solve_from(problem, {other: named[other]}, solver, stopping, observers)
        if not found:
            break
        (end,) = found.values()
        better = all(
            end.run.value < known.run.value - _BETTER * abs(known.run.value)
            for known in runs.values()
        )
        runs[other] = end
        if better and end.run.status not in _TOLD:
            with until_told():
                proof = problem.proof(end.run.M)
    return runs, len(runs) if proof else len(named), proof


def best_of(runs: Mapping[str, Ended], starts: int) -> tuple[Ended, tuple[str, ...]]:
    """The best of the runs; it is told to stop as they were, and a note says how many were not."""
    best = min(runs.values(), key=lambda end: end.run.value)
    ended = [end.run.status for end in runs.values() if end.run.status in _TOLD]
    done = len(runs) - len(ended)
    if starts == 1 or done == starts:
        return best, ()
    status = ended[-1] if ended else Status.TIME_LIMIT
    cut = Ended(best.problem, replace(best.run, status=status))
    return cut, (f"{done} of {starts} starts were solved to their end",)


def solver_for(method: str | Solver, problem: BoundObjective) -> Solver | None:
    """The solver to run; None is the closed form."""
    if isinstance(method, Solver):
        return method
    automatic = automatic_solver(problem)
    if method == "closed-form" and automatic is not None:
        raise ArgumentError(
            f"objective {problem.objective.name!r} has no closed form here; use solver='auto'"
        )
    return automatic


def automatic_solver(problem: BoundObjective) -> Solver | None:
    """What solver="auto" takes; None is the closed form."""
    if problem.closed_form() is not None:
        return None
    if problem.penalty is not None:
        return solvers.Smoothing()
    return problem.specialist() or solvers.TrustRegion()


def closed_form_run(problem: BoundObjective, baseline: Array | None) -> Run:
    """The closed form as a run without iterations."""
    began = time.perf_counter()
    M = problem.closed_form() if baseline is None or not problem.baseline_exact else baseline
    assert M is not None
    point = problem.at(M)
    gradient = problem.manifold.gradient(M, point.gradient)
    norm = problem.manifold.norm(M, gradient)
    seconds = time.perf_counter() - began
    return Run(
        M=M,
        value=point.value,
        gradient_norm=norm,
        status=Status.CLOSED_FORM,
        iterations=0,
        evaluations={"value": 1, "gradient": 1, "hessian": 0},
        history={
            "iteration": [0],
            "value": [point.value],
            "gradient_norm": [norm],
            "seconds": [seconds],
        },
        seconds=seconds,
    )
