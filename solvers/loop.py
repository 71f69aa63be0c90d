"""The one loop that runs every solver."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace

import numpy as np

from ldr.solvers.deadline import check, pass_on, until_told, within
from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds import Array
from ldr.solvers.problem import Problem
from ldr.solvers.riemannian import RiemannianProblem
from ldr.solvers.run import Observer, Run, Stopping
from ldr.solvers.solver import AnySolver
from ldr.solvers.stopping import Tracker


@dataclass
class Budget:
    """The iterations that several runs may take together; None is no limit."""

    left: int | None = None


_budget: ContextVar[Budget | None] = ContextVar("budget", default=None)


@contextmanager
def sharing(budget: Budget | None) -> Iterator[None]:
    """A context whose runs share a budget; None is one without a limit."""
    token = _budget.set(budget)
    try:
        yield
    finally:
        _budget.reset(token)


# What is not finite ends the run, which says so: NumPy need not warn of it too.
@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def minimise(
    problem: Problem,
    start: Array,
    solver: AnySolver,
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
    KeyboardInterrupt, TimeLimitError
        Before value and gradient at the start were known.
    ArgumentError
        The problem has a penalty and the solver is one for smooth functions.
    """
    if problem.penalty is not None and not solver.handles_penalty:
        raise ArgumentError(
            f"solver={solver.name!r} minimises smooth functions, and the problem has a penalty "
            "that is not smooth: use solver='proximal-gradient' or 'smoothing'"
        )
    stopping, budget = stopping or Stopping(), _budget.get()
    if budget is not None and budget.left is not None:
        limit = stopping.max_iterations
        limit = solver.default_max_iterations if limit is None else limit
        stopping = replace(stopping, max_iterations=min(limit, budget.left))
    counted = RiemannianProblem(problem)
    tracker = Tracker(counted, solver, stopping, observers)
    # the runs of a step are part of its iterations
    with sharing(None), within(stopping.time_limit):
        with until_told() as told:
            for state in solver.states(counted, start, stopping):
                if tracker.ends_at(state):
                    break
                check()
        run = tracker.run(told.status)
    if budget is not None and budget.left is not None:
        budget.left = max(0, budget.left - run.iterations)
    return run


def run_through(
    problem: Problem, start: Array, solver: AnySolver, stopping: Stopping | None = None
) -> Run:
    """`minimise` as a step to something else, a heuristic say, which needs the whole of it.

    - raises KeyboardInterrupt, TimeLimitError: Where `minimise` would return what there is.
    """
    run = minimise(problem, start, solver, stopping)
    pass_on(run.status)
    return run
