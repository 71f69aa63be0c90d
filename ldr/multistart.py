"""The points that a solver starts from: the heuristic, the objective's own, random, given ones.

Which solver runs, from which points, and which run is the best.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from ldr import solvers
from ldr.inputs import as_generator
from ldr.objectives.certificate import Certificate
from ldr.objectives.data.data import Data
from ldr.objectives.problem import BoundObjective
from ldr.solvers.checks import LARGEST, SMALLEST
from ldr.solvers.deadline import check, hearing, over, result_of, until_told
from ldr.solvers.errors import ArgumentError, TimeLimitError
from ldr.solvers.loop import VALUE_ROUNDING, Budget, minimise, sharing, unless_flat
from ldr.solvers.manifolds import Array
from ldr.solvers.run import Observer, Run, Stopping
from ldr.solvers.solver import Solver
from ldr.solvers.status import Status
from ldr.types import Start

Made = TypeVar("Made")

# The name of a start that is an array.
GIVEN = "given"


def once(make: Callable[[], Made]) -> Callable[[], Made]:
    """What a function gives, made when it is first asked for."""
    made: list[Made] = []

    def asked() -> Made:
        if not made:
            made.append(make())
        return made[0]

    return asked


def uses_own_starts(start: Start, count: int | None) -> bool:
    """Whether the objective's own starts are wanted: they can cost as much as an iteration."""
    if isinstance(start, str):
        return start != "random" and (count != 1 or start != "baseline")
    return count is not None and count > 1


def own_starts(
    problem: BoundObjective, start: Start, baseline: Array | None, stopping: Stopping
) -> dict[str, Array]:
    """The objective's own starts; none where the time is over and the heuristic will do."""
    try:
        with sharing(Budget(stopping.max_iterations)):
            return problem.starts()
    except TimeLimitError:
        if start != "baseline" or baseline is None:
            raise
        return {}


def points_from(
    problem: BoundObjective,
    start: Start,
    first: Array,
    named_starts: Mapping[str, Array],
    count: int | None,
    rng: Callable[[], np.random.Generator],
) -> dict[str, Array]:
    """`count` points to solve from: the first, then the objective's own, then random ones.

    Without a count, the first and, where that is the baseline, the objective's own.

    One of the objective's own that is the first itself gives it its name and comes once.
    """
    name = start if isinstance(start, str) else GIVEN
    others = {}
    for own, point in named_starts.items():
        if np.array_equal(point, first):
            name = own
        else:
            others[own] = point
    if count is None:
        count = 1 + len(others) if isinstance(start, str) and start == "baseline" else 1
    points = dict(list({name: first, **others}.items())[:count])
    for k in range(1, count - len(points) + 1):
        points[f"random {k}"] = problem.random_point(rng())
    return points


def as_random(random_state: int | np.random.Generator | None) -> Callable[[], np.random.Generator]:
    """The generator, for whoever asks for it: the system's entropy takes as long as statistics."""
    if random_state is None:
        return once(np.random.default_rng)
    rng = as_generator(random_state)
    return lambda: rng


def start_point(
    start: Start,
    problem: BoundObjective,
    data: Data,
    baseline: Array | None,
    named_starts: Callable[[], Mapping[str, Array]],
    rng: Callable[[], np.random.Generator],
) -> Array:
    if isinstance(start, str):
        if start == "random" or (start == "baseline" and baseline is None):
            return problem.random_point(rng())
        if start == "baseline":
            assert baseline is not None
            return baseline
        own = named_starts()
        if start in own:
            return own[start]
        known = ", ".join(map(repr, ("baseline", "random", *own)))
        raise ArgumentError(f"start must be one of {known}, or an array, got {start!r}")
    given = start if len(data.views) > 1 else (start,)
    count = len(data.views)
    if not isinstance(given, (tuple, list)) or len(given) != count:
        raise ArgumentError(f"start must be {count} arrays, one a view")
    shapes = [M.shape for M in problem.lift(problem.random_point(np.random.default_rng(0)))]
    matrices = [_start_matrix(M, shape) for M, shape in zip(given, shapes, strict=True)]
    return problem.lower(matrices)


def _start_matrix(given: npt.ArrayLike, shape: tuple[int, ...]) -> Array:
    """A start of the user's as a matrix of full rank."""
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
            f"start has a largest entry of {np.abs(M).max():.1e}, expected one between "
            f"{SMALLEST:.0e} and {LARGEST:.0e}"
        )
    rank = int(np.linalg.matrix_rank(M))
    if rank < shape[1]:
        raise ArgumentError(f"start has rank {rank}, expected {shape[1]}, its number of columns")
    return M


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
        Of the runs on all rows, in the order of the starts, in the objective's own sense and units.
    names : tuple of str
        Of the starts: "baseline", "given", the objective's own ("gradient outer product"),
        "random 1", ...
    best : float
        The result is the first end whose value agrees with it to rounding.
    best_from : str
        The name of the start that the best was reached from; of those that agree, the first.
    agreeing : int
        How many are the best to 1e-8, relative; the best is one of them.
    spread : float
        Between the best and the worst.
    merged : tuple of str
        Starts that are no evidence of their own: the value there and at the end is an earlier
        start's (they are one point, perhaps in other axes); or, of ica and uica, they had no run
        of their own, up to the order and signs of the columns: of many rows, where a run on some of
        them came to the same point as that from an earlier start; of few, where Newton's step from
        it, as nearly as the trust region solves for one, leads to the end of the first.
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
        """The summary of the ends, by the starts' names; None of one start."""
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
    """Whether two runs are one, or began at one value and ended at one."""
    one, two = ((each.history["value"][0], each.value) for each in (run, other))
    return run is other or np.allclose(one, two, rtol=_BETTER, atol=0.0)


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
    left = stopping.max_iterations
    if left is None:
        left = solver.default_max_iterations
    first = replace(stopping, max_iterations=min(left, _FIRST_STEPS))
    run = minimise(near, M, solver, first, observers)
    for _ in range(_TIMES):
        if run.status in _TOLD or run.iterations >= left:
            break
        before = run.value
        with until_told() as told:
            near = problem.near(run.M)
        if told.status is not None:
            return Ended(near, replace(run, status=told.status))
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

    Starts that come to the `same` point have one run, which is then the end of each of them, and so
    is the first run of those that are `a_step_from` its end. `max_iterations` limits what each
    start takes in all, with the runs that lead to its own.

    - raises KeyboardInterrupt, TimeLimitError: Before there was a point to return.
    """
    told: list[Status] = []
    first = next(iter(points))
    begun: dict[str, Array] = {}
    twins: dict[str, str] = {}
    lead: list[Ended] = []
    budgets = {name: Budget(stopping.max_iterations) for name in points}

    def late(name: str) -> bool:
        return bool(told) or (name != first and over())

    def approached(name: str) -> Array | None:
        """Where a run begins; None where none does."""
        if late(name):
            return None
        point = points[name]
        if stopping.max_iterations == 0:
            return point
        # what is not done of this when the time is over need not be
        with sharing(budgets[name]), until_told():
            if name != GIVEN:
                point = problem.approach(point)
            for easier in problem.easier:
                point = point if over() else minimise(easier, point, solver, _ROUGHLY).M
        return point

    def apart(ways: Iterable[Array | None]) -> Iterator[str]:
        """The starts that come to where none before them came."""
        for name, point in zip(points, ways, strict=True):
            if point is None:
                continue
            twin = next((known for known, M in begun.items() if problem.same(M, point)), None)
            if twin is None:
                begun[name] = point
                yield name
            else:
                twins[name] = twin

    def ended(name: str) -> Ended | None:
        if late(name):
            return None
        with sharing(budgets[name]), until_told():
            if lead and problem.a_step_from(lead[0].run, begun[name]):
                return lead[0]
            near, run = solve_near(problem, begun[name], solver, stopping, observers)
            with until_told():
                run = unless_flat(near, run, problem.random_point)
            if run.status is Status.OBSERVER:
                told.append(run.status)
            end = Ended(near, run)
            if name == first and problem.leads and run.status.converged:
                lead.append(end)
            return end
        return None

    with hearing():
        if workers == 1 or len(points) == 1:
            ends = list(map(ended, apart(map(approached, points))))
        else:
            with ThreadPoolExecutor(os.cpu_count() if workers < 0 else workers) as pool:

                def each(work: Callable[[str], Any], names: Iterable[str]) -> Iterator[Any]:
                    tasks = []
                    for name in names:
                        tasks.append(pool.submit(copy_context().run, work, name))
                        if work is ended and problem.leads:
                            result_of(tasks[0])  # the others look at its end
                    return map(result_of, tasks)

                try:
                    ends = list(each(ended, apart(each(approached, points))))
                except BaseException:
                    told.append(Status.INTERRUPTED)  # no other start begins
                    raise
    found = {name: end for name, end in zip(begun, ends, strict=True) if end is not None}
    if not found:
        check()
        raise KeyboardInterrupt
    through = {name: twins.get(name, name) for name in points}
    return {name: found[own] for name, own in through.items() if own in found}


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

    - first: of the first start's name to its point
    - points: gives all points by name, the first one first
    - prove: whether the others are solved only until an end is proved to be optimal
    - returns runs
    - returns starts: how many there were to be.
    - returns proof: of the best end.
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
    """The best of the runs; it is told to stop as they were, and a note says how many were not.

    Of those whose values agree to rounding it is the first, so that no last bit decides.
    """
    lowest = min(runs.values(), key=lambda end: end.run.value)
    same = partial(math.isclose, lowest.run.value, rel_tol=VALUE_ROUNDING)
    best = next((end for end in runs.values() if same(end.run.value)), lowest)
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
