"""Who is compared: this library's solvers and the peers that are installed, on the same problems.

Each competitor is a function of a `Task` that returns the times and values it passed through, so
that all are held to the same goal: the first time at which the best known value is reached.
"""

from __future__ import annotations

import copy
import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from benchmarks.trust_region import Formulas, correlation_formulas, ratio_formulas
from ldr.multistart import solver_for
from ldr.objectives.families.trace_ratio import TraceRatio
from ldr.objectives.problem import BoundObjective
from ldr.solvers import Problem, Pymanopt, Stopping, minimise, named_solver

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
    """A solver of this library; "auto" is what `ldr.solve` takes, the closed form where r = 1."""

    def run(task: Task) -> Trace:
        bound = fresh(task.bound)
        began = time.perf_counter()
        M = bound.closed_form() if name == "auto" else None
        if M is not None:
            return Trace([time.perf_counter() - began], [bound.at(M).value], 0)
        solver = named_solver(name) if name != "auto" else solver_for("auto", task.bound)
        return _minimised(task.bound, task, solver)

    return run


def fresh(bound: BoundObjective) -> BoundObjective:
    """A copy that has computed nothing yet: a closed form is kept where it was asked for once."""
    copied = copy.copy(bound)
    for kind in type(bound).__mro__:
        for name, attribute in vars(kind).items():
            if isinstance(attribute, cached_property):
                vars(copied).pop(name, None)
    return copied


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


def pymanopt_derived(backend: str) -> Competitor:
    """pymanopt's trust region with the cost alone, whose derivatives its backend takes."""

    def run(task: Task) -> Trace:
        seconds, values = [], []

        def timed(M: Any, value: Any) -> None:
            if isinstance(M, np.ndarray):  # an evaluation, not the tracing of a derivative
                seconds.append(time.perf_counter() - began)
                values.append(float(value))

        solve = derived_trust_region(task.bound, backend, timed, task.time_limit)
        began = time.perf_counter()
        try:
            iterations = solve(task.start)
        except np.linalg.LinAlgError:  # a step that is NaN: what it reached until then counts
            iterations = len(values)
        return Trace(seconds, values, iterations)

    return run


def derived_trust_region(
    bound: BoundObjective, backend: str, timed: Callable[[Any, Any], None], limit: float
) -> Callable[[np.ndarray], int]:
    """A function that runs pymanopt from a start and returns its iterations."""
    import jax
    import pymanopt as package
    from pymanopt.manifolds import Grassmann, Product, Stiefel
    from pymanopt.optimizers import TrustRegions

    jax.config.update("jax_enable_x64", True)
    xp = importlib.import_module({"jax": "jax.numpy", "autograd": "autograd.numpy"}[backend])
    if isinstance(bound, TraceRatio):
        A, B = xp.array(bound.A), xp.array(bound.B)
        manifold = Grassmann(*bound.manifold.shape)

        def cost(M: Any) -> Any:
            value = -xp.sum(M * (A @ M)) / xp.sum(M * (B @ M))
            timed(M, value)
            return value

    else:
        first, last = bound.slices()
        pairs = (first, first), (first, last), (last, last)
        Caa, Cab, Cbb = (xp.array(bound.C[pair]) for pair in pairs)
        manifold = Product([Stiefel(*factor.shape) for factor in bound.manifold.factors])

        def cost(Ma: Any, Mb: Any) -> Any:  # type: ignore[misc]
            a, b = xp.sum(Ma * (Caa @ Ma)), xp.sum(Mb * (Cbb @ Mb))
            value = -xp.sum(Ma * (Cab @ Mb)) / xp.sqrt(a * b)
            timed(Ma, value)
            return value

    def solve(start: np.ndarray) -> int:
        point = start if isinstance(bound, TraceRatio) else bound.manifold.split(start)
        optimizer = TrustRegions(
            max_time=limit, max_iterations=10_000, min_gradient_norm=_TOLERANCE, verbosity=0
        )
        problem = package.Problem(manifold, getattr(package.function, backend)(manifold)(cost))
        return int(optimizer.run(problem, initial_point=point).iterations)

    return solve


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
    if installed("pymanopt"):
        for short, algorithm in (
            ("TR", "trust-region"),
            ("CG", "conjugate-gradient"),
            ("SD", "steepest-descent"),
        ):
            present[f"pymanopt {short}"] = pymanopt(algorithm)
        for backend in ("autograd", "jax"):
            if installed(backend):
                present[f"pymanopt TR {backend}"] = pymanopt_derived(backend)
            else:
                missing.append(backend)
    else:
        missing.append("pymanopt")
    if installed("geoopt"):
        present["geoopt Adam"] = geoopt
    else:
        missing.append("geoopt")
    return present, missing


def installed(package: str) -> bool:
    """Whether it can be imported."""
    return importlib.util.find_spec(package) is not None
