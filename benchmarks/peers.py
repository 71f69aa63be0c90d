"""Who is compared: this library's solvers and the peers that are installed, on the same problems.

Each competitor is a function of a `Task` that returns the times and values it passed through, so
that all are held to the same goal: the first time at which the best known value is reached.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.trust_region import Formulas, correlation_formulas, ratio_formulas
from ldr.objectives.families.trace_ratio import TraceRatio
from ldr.objectives.objective import BoundObjective
from ldr.solvers import Problem, Pymanopt, Stopping, TrustRegion, minimise, named_solver
from ldr.solvers.davidson import trace_ratio_solver

# Tighter than the goal in value, so that nobody stops short of it.
_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Task:
    """One problem, its start, and the most seconds that a competitor may take."""

    bound: BoundObjective
    start: np.ndarray
    time_limit: float

    @property
    def formulas(self) -> Formulas:
        """The textbook functions that users of other packages write."""
        if isinstance(self.bound, TraceRatio):
            return ratio_formulas(self.bound)
        return correlation_formulas(self.bound)


@dataclass(frozen=True)
class Trace:
    """Seconds since the start and minimised values, in order, and iterations."""

    seconds: list[float]
    values: list[float]
    iterations: int

    def reaches(self, goal: float) -> float:
        """The first time at which the value is at most the goal; infinite where it never is."""
        return next(
            (s for s, v in zip(self.seconds, self.values, strict=True) if v <= goal), np.inf
        )


Competitor = Callable[[Task], Trace]


def native(name: str) -> Competitor:
    def run(task: Task) -> Trace:
        solver = named_solver(name) if name != "auto" else automatic(task.bound)
        return _minimised(task.bound, task, solver)

    return run


def automatic(bound: BoundObjective) -> Any:
    """The solver that `ldr.solve` takes."""
    if isinstance(bound, TraceRatio):
        return trace_ratio_solver(*bound.manifold.shape)
    return TrustRegion()


def _minimised(problem: Problem, task: Task, solver: Any) -> Trace:
    run = minimise(problem, task.start, solver, Stopping(_TOLERANCE, time_limit=task.time_limit))
    return Trace(run.history["seconds"], run.history["value"], run.iterations)


def pymanopt(algorithm: str) -> Competitor:
    """pymanopt's solver; times are those of its evaluations of the cost."""

    def run(task: Task) -> Trace:
        formulas = task.formulas
        cost, seconds, values = formulas.cost, [], []

        def timed_cost(M: np.ndarray) -> float:
            value = cost(M)
            seconds.append(time.perf_counter() - began)
            values.append(value)
            return value

        formulas.cost = timed_cost
        began = time.perf_counter()
        iterations = _minimised(formulas, task, Pymanopt(algorithm)).iterations
        return Trace(seconds, values, iterations)

    return run


def geoopt(task: Task) -> Trace:
    """geoopt's Riemannian Adam on the Stiefel manifold, gradients by torch."""
    import geoopt as package
    import torch

    if not isinstance(task.bound, TraceRatio):
        raise NotImplementedError
    A, B = torch.from_numpy(task.bound.A), torch.from_numpy(task.bound.B)
    start = torch.from_numpy(task.start.copy())
    M = package.ManifoldParameter(start, manifold=package.EuclideanStiefel())
    optimiser = package.optim.RiemannianAdam([M], lr=1e-2)
    seconds: list[float] = []
    values: list[float] = []
    began = time.perf_counter()
    while not seconds or seconds[-1] < task.time_limit:
        optimiser.zero_grad()
        loss = -(M * (A @ M)).sum() / (M * (B @ M)).sum()
        loss.backward()
        seconds.append(time.perf_counter() - began)
        values.append(float(loss.detach()))
        optimiser.step()
    return Trace(seconds, values, len(values))


def competitors() -> tuple[dict[str, Competitor], list[str]]:
    """Those that can run here, the first being this library's default, and who is missing."""
    present: dict[str, Competitor] = {
        "ldr": native("auto"),
        "ldr trust-region": native("trust-region"),
    }
    missing = []
    if _installed("pymanopt"):
        for short, algorithm in (
            ("TR", "trust-region"),
            ("CG", "conjugate-gradient"),
            ("SD", "steepest-descent"),
        ):
            present[f"pymanopt {short}"] = pymanopt(algorithm)
    else:
        missing.append("pymanopt")
    if _installed("geoopt"):
        present["geoopt Adam"] = geoopt
    else:
        missing.append("geoopt")
    return present, missing


def _installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None
