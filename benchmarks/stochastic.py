"""Passes over the data to a given gap: variance-reduced steps against full gradients.

    python -m benchmarks.stochastic [--n 100000] [--d 20] [--r 3] [--repeats 3] [--quick]

The rows are in a file. uica and a row sum of one's own, log(1 + |y|^2), are minimised from the same
random starts by svrg (parts of the sum, corrected by the gradient of the whole), lbfgs and the
trust region. A pass reads all rows once; it is counted from the rows that were read, those of line
searches and of Hessian products included, up to the first iterate whose value is within the
relative gap of the lowest value that any of the three reached. Printed: the median over starts, and
the seconds of the whole run. A solver that ended at another local optimum never gets there.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import ldr
from ldr.objectives import Data
from ldr.objectives.data.opening import as_samples
from ldr.objectives.data.stored import StoredSamples
from ldr.objectives.objective import Objective
from ldr.objectives.problem import BoundObjective
from ldr.objectives.registry import named
from ldr.solvers import Iteration, Solver, Stopping, minimise, named_solver
from ldr.solvers.deadline import one_thread

GAPS = (1e-2, 1e-4, 1e-6, 1e-8)
SOLVERS = ("svrg", "lbfgs", "trust-region")
TOLERANCE = 1e-10


def objectives() -> dict[str, Objective]:
    """What is minimised, by name."""
    import jax.numpy as jnp

    @ldr.objective(manifold="grassmann", sense="max", sum_over_rows=True)
    def log_spread(M: Any, X: Any) -> Any:
        return jnp.sum(jnp.log1p(jnp.sum((X @ M) ** 2, axis=1)))

    return {"uica": named("uica"), "own row sum": log_spread}


def sample(n: int, d: int, seed: int = 0) -> np.ndarray:
    """Laplace sources of different scales, the second half Gaussian, mixed."""
    rng = np.random.default_rng(seed)
    S = np.hstack([rng.laplace(size=(n, d // 2)), rng.standard_normal((n, d - d // 2))])
    S *= np.linspace(0.5, 2.0, d)
    return np.asarray(S @ rng.standard_normal((d, d)), dtype=np.float32)


def trace(
    problem: BoundObjective, samples: StoredSamples, start: np.ndarray, solver: Solver
) -> tuple[list[float], list[float], float]:
    """Passes and value at each iterate, and seconds."""
    passes: list[float] = []
    values: list[float] = []
    before = samples.passes

    def look(iteration: Iteration) -> None:
        passes.append(samples.passes - before)
        values.append(iteration.value)

    run = minimise(problem, start, solver, Stopping(TOLERANCE), [look])
    return passes, values, run.seconds


def passes_to(gap: float, run: tuple[list[float], list[float], float], best: float) -> float:
    """Passes to the first iterate within a relative gap of the best value."""
    passes, values, _ = run
    goal = best + gap * abs(best)
    return next((p for p, v in zip(passes, values, strict=True) if v <= goal), float("inf"))


def measure(
    objective: Objective, path: str, r: int, repeats: int
) -> dict[str, tuple[list[float], float]]:
    """Of each solver the median passes to each gap, and the median seconds of a run."""
    samples = as_samples(path)
    assert isinstance(samples, StoredSamples)
    problem = objective.bind(Data((samples,)), r)
    found: dict[str, list[tuple[list[float], float]]] = {name: [] for name in SOLVERS}
    with one_thread():
        for seed in range(repeats):
            start = problem.random_point(np.random.default_rng(seed))
            runs = {name: trace(problem, samples, start, named_solver(name)) for name in SOLVERS}
            best = min(min(values) for _, values, _ in runs.values())
            for name, run in runs.items():
                found[name].append(([passes_to(gap, run, best) for gap in GAPS], run[2]))
    return {
        name: (
            [statistics.median(row[0][k] for row in rows) for k in range(len(GAPS))],
            statistics.median(row[1] for row in rows),
        )
        for name, rows in found.items()
    }


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=100_000)
    parser.add_argument("--d", type=int, default=20)
    parser.add_argument("--r", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="a tiny size, to see that it runs")
    given = parser.parse_args(arguments)
    if given.quick:
        given.n, given.d, given.r, given.repeats = 2000, 6, 2, 1
    table = Table(title=f"passes over {given.n} x {given.d} rows to a relative gap, r = {given.r}")
    columns = ("objective", "solver", *(f"{gap:g}" for gap in GAPS), "lbfgs/this", "seconds")
    for column in columns:
        table.add_column(column, justify="left" if column in columns[:2] else "right")
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "rows.npy")
        np.save(path, sample(given.n, given.d))
        for name, objective in objectives().items():
            measured = measure(objective, path, given.r, given.repeats)
            for solver, (passes, seconds) in measured.items():
                ratio = measured["lbfgs"][0][-1] / passes[-1]
                table.add_row(
                    name, solver, *(f"{p:.0f}" for p in passes), f"{ratio:.1f}", f"{seconds:.1f}"
                )
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
