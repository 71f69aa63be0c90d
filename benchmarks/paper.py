"""Solvers on the problems of the paper, from the same random start, beside pymanopt's.

    python -m benchmarks --against "pymanopt TR" [--repeats N] [--time-limit SECONDS]
    python -m benchmarks --large [--only orthogonal-lda]

"reached" is the time of the solver alone to within a relative gap of 1e-12 of the best value that
any solver found, the median of three runs if they are short, and "ratio" that time over this
library's. The problems are bound before. pymanopt gets the textbook functions of cost, gradient
and Hessian product in NumPy, as its users write them. "in eighs" is the time in those of one full
eigendecomposition of order d.
"""

from __future__ import annotations

import argparse
import copy
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg

from experiments.jmlr2015.recipes import METHODS
from ldr.multistart import solver_for
from ldr.objectives import Data, named
from ldr.objectives.data.opening import as_samples
from ldr.objectives.problem import BoundObjective
from ldr.solvers import Point, Problem, Pymanopt, Stopping, minimise, named_solver
from ldr.solvers.deadline import one_thread

GAP = 1e-12
# Tolerance of gradients, so low that no solver stops before it reaches the optimality gap.
TOLERANCE = 1e-9
# Number of runs of a solver that takes less than SHORT seconds.
RUNS, SHORT = 3, 2.0
OWN = "ldr"
PYMANOPT = {"TR": "trust-region", "CG": "conjugate-gradient", "SD": "steepest-descent"}
DEFAULT = [
    (method, d, r)
    for method in ("orthogonal-maf", "orthogonal-lda")
    for d in (64, 128, 256)
    for r in (1, 3, 10, 20, 40, 80)
    if r < d and not (method == "orthogonal-lda" and d == 256 and r == 80)
]
LARGE = [("orthogonal-lda", 1024, 3), ("orthogonal-maf", 1024, 3)]
QUICK = [("orthogonal-maf", 32, 3), ("orthogonal-lda", 32, 3)]


class Formulas(Problem):
    """-tr(M'AM) / tr(M'BM) by functions of cost, gradient and Hessian that share nothing."""

    def __init__(self, bound: Any) -> None:
        self.manifold, self.A, self.B = bound.manifold, bound.A, bound.B
        # Time and value of each evaluation of the cost function.
        self.evaluations: list[tuple[float, float]] = []

    def at(self, M: np.ndarray) -> FormulaPoint:
        return FormulaPoint(self, M)


class FormulaPoint(Point):
    """A point of the three functions."""

    def __init__(self, problem: Formulas, M: np.ndarray) -> None:
        self.M, self._problem, self._A, self._B = M, problem, problem.A, problem.B

    @property
    def value(self) -> float:
        M = self.M
        value = -float(np.vdot(M, self._A @ M) / np.vdot(M, self._B @ M))
        self._problem.evaluations.append((time.perf_counter(), value))
        return value

    @property
    def gradient(self) -> np.ndarray:
        AM, BM = self._A @ self.M, self._B @ self.M
        b = np.vdot(self.M, BM)
        return -2 / b * (AM - np.vdot(self.M, AM) / b * BM)

    def hessian_vector(self, V: np.ndarray) -> np.ndarray:
        M, A, B = self.M, self._A, self._B
        AM, BM = A @ M, B @ M
        b = np.vdot(M, BM)
        rho = np.vdot(M, AM) / b
        G = -2 / b * (AM - rho * BM)
        db, drho = 2 * np.vdot(BM, V), -np.vdot(G, V)
        return -2 / b * (A @ V - rho * (B @ V) - drho * BM) - db / b * G


@dataclass(frozen=True)
class Task:
    """One problem, its start, and the most seconds that a solver may take."""

    bound: BoundObjective
    start: np.ndarray
    time_limit: float


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
    """A copy that has computed nothing yet: a closed form is kept once it was computed."""
    copied = copy.copy(bound)
    for kind in type(bound).__mro__:
        for name, attribute in vars(kind).items():
            if isinstance(attribute, cached_property):
                vars(copied).pop(name, None)
    return copied


def _minimised(problem: Problem, task: Task, solver: Any) -> Trace:
    run = minimise(problem, task.start, solver, Stopping(TOLERANCE, time_limit=task.time_limit))
    return Trace(run.history["seconds"], run.history["value"], run.iterations)


def pymanopt(algorithm: str) -> Competitor:
    """pymanopt's solver; times are those of its evaluations of the cost."""

    def run(task: Task) -> Trace:
        formulas = Formulas(task.bound)
        began = time.perf_counter()
        iterations = _minimised(formulas, task, Pymanopt(algorithm)).iterations
        times, values = zip(*formulas.evaluations, strict=True)
        return Trace([moment - began for moment in times], list(values), iterations)

    return run


COMPETITORS = {OWN: native("auto"), "ldr trust-region": native("trust-region")} | {
    f"pymanopt {short}": pymanopt(algorithm) for short, algorithm in PYMANOPT.items()
}


def a_few(run: Callable[[], Trace]) -> list[Trace]:
    """Return the traces of some runs where the first is short, else of one."""
    traces = [run()]
    while len(traces) < RUNS and traces[0].seconds[-1] < SHORT:
        traces.append(run())
    return traces


def compare(
    method: str, d: int, r: int, seed: int, limit: float, against: Collection[str]
) -> list[dict[str, Any]]:
    """One problem by this library and the solvers named; a row each."""
    data = METHODS[method.removeprefix("orthogonal-")](
        d, r, np.random.default_rng(seed), "reference-code"
    )
    bound = named(method).bind(Data((as_samples(data.X),), data.y), r)
    task = Task(bound, bound.random_point(np.random.default_rng(seed)), limit)
    with one_thread():
        K = np.cov(np.random.default_rng(0).standard_normal((d, 2 * d)))
        began = time.perf_counter()
        scipy.linalg.eigh(K, check_finite=False)
        eigh = time.perf_counter() - began
        runs = {
            name: a_few(lambda competitor=competitor: competitor(task))  # type: ignore[misc]
            for name, competitor in COMPETITORS.items()
            if name == OWN or name in against
        }
    lowest = {name: min(min(trace.values) for trace in traces) for name, traces in runs.items()}
    best = min(lowest.values())
    goal = best + GAP * abs(best)
    reached = {
        name: statistics.median(trace.reaches(goal) for trace in traces)
        for name, traces in runs.items()
    }
    return [
        {
            "method": method,
            "d": d,
            "r": r,
            "solver": name,
            "reached": reached[name],
            "ratio": reached[name] / reached[OWN],
            "gap": (lowest[name] - best) / abs(best),
            "iterations": traces[0].iterations,
            "eighs": reached[name] / eigh,
        }
        for name, traces in runs.items()
    ]


HEADER = (
    f"{'problem':14s} {'d':>5s} {'r':>3s}  {'solver':17s} {'reached ms':>10s} {'ratio':>8s} "
    f"{'final gap':>9s} {'its':>6s} {'in eighs':>9s}"
)


def line(row: dict[str, Any]) -> str:
    return (
        f"{row['method']:14s} {row['d']:5d} {row['r']:3d}  {row['solver']:17s} "
        f"{1e3 * row['reached']:10.2f} {row['ratio']:8.1f} {row['gap']:9.1e} "
        f"{row['iterations']:6d} {row['eighs']:9.1f}"
    )


def summary(rows: Sequence[dict[str, Any]]) -> list[str]:
    """The spread of the ratios of each method and solver; failures to reach count as infinite."""
    lines = []
    for method, solver in dict.fromkeys((row["method"], row["solver"]) for row in rows):
        ratios = [x["ratio"] for x in rows if (x["method"], x["solver"]) == (method, solver)]
        if solver != OWN:
            lines.append(
                f"{method:14s} {solver:17s} ratio: median {statistics.median(ratios):.1f}, least "
                f"{min(ratios):.1f}, of {len(ratios)}; never reached: {sum(np.isinf(ratios))}"
            )
    return lines


def main(arguments: Sequence[str]) -> list[dict[str, Any]]:
    """Print the table, and return its rows."""
    peers = [name for name in COMPETITORS if name != OWN]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    sizes = parser.add_mutually_exclusive_group()
    sizes.add_argument("--quick", action="store_true", help="two tiny problems")
    sizes.add_argument("--large", action="store_true", help="d = 1024; minutes")
    parser.add_argument("--only", help="orthogonal-maf or orthogonal-lda")
    parser.add_argument("--against", nargs="+", metavar="NAME", choices=peers, default=peers)
    parser.add_argument("--repeats", type=int, default=1, help="data sets a problem")
    parser.add_argument("--time-limit", type=float, default=10.0, help="seconds a solver")
    given = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    problems = QUICK if given.quick else LARGE if given.large else DEFAULT
    compare("orthogonal-lda", 8, 1, 0, 0.1, given.against)  # loads modules before the first timing
    print(HEADER, flush=True)
    rows: list[dict[str, Any]] = []
    for method, d, r in problems:
        for seed in range(given.repeats if given.only in (None, method) else 0):
            fresh_rows = compare(method, d, r, seed, given.time_limit, given.against)
            print("\n".join(map(line, fresh_rows)), flush=True)
            rows += fresh_rows
    print("\n".join(["", *summary(rows)]))
    return rows


if __name__ == "__main__":
    main(sys.argv[1:])
