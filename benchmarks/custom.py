"""Objectives of the user's own, written in jax: this library against pymanopt's jax backend.

    python -m benchmarks.custom [--n 500] [--d 50] [--r 3] [--repeats 3] [--time-limit 60]

The same function, data, manifold and random start; both by trust regions, to a gradient of 1e-9 |f|
or as far as they get. Warm: each solves once before it is timed, so that what either compiles or
imports is not in it. "reached" is the time to within a relative gap of 1e-12 of the better end
value. pymanopt is measured with the function as it is, and once more with `jax.jit` put around it
by hand. Printed: the median over data sets.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import ldr
from ldr.objectives import Data
from ldr.objectives.data.opening import as_samples
from ldr.solvers import Stopping, TrustRegion, minimise
from ldr.solvers.deadline import one_thread

GAP = 1e-12
TOLERANCE = 1e-9


def functions() -> dict[str, tuple[str, Callable[[Any, Any], Any]]]:
    """Name: manifold and f(M, X)."""
    import jax.numpy as jnp

    def robust_reconstruction(M, X):
        residual = X - (X @ M) @ M.T
        return jnp.mean(jnp.sqrt(jnp.sum(residual**2, axis=1) + 1.0))

    def log_cosh(M, X):
        return jnp.mean(jnp.sum(jnp.logaddexp(X @ M, -(X @ M)), axis=1))

    def variance_ratio(M, X):
        Y = X @ M
        steps = Y[1:] - Y[:-1]
        return jnp.sum(steps**2) / jnp.sum(Y**2)

    return {
        "robust reconstruction": ("grassmann", robust_reconstruction),
        "log cosh": ("stiefel", log_cosh),
        "variance ratio": ("grassmann", variance_ratio),
    }


def sample(n: int, d: int, seed: int) -> np.ndarray:
    """Heavy-tailed columns of different scales, mixed and smooth in time."""
    rng = np.random.default_rng(seed)
    steps = rng.standard_t(5, size=(n, d)) * np.linspace(0.5, 2.0, d)
    smooth = steps + 0.8 * np.vstack([np.zeros(d), steps[:-1]])
    mixed = smooth @ np.linalg.qr(rng.standard_normal((d, d)))[0]
    return np.asarray(mixed - mixed.mean(axis=0))


def ours(manifold: str, f: Callable[[Any, Any], Any], X: np.ndarray, r: int, limit: float) -> Any:
    """A run from a start; returns (seconds, values)."""
    objective = ldr.objective(manifold=manifold)(f)
    bound = objective.bind(Data((as_samples(X),)), r)

    def run(start: np.ndarray) -> tuple[list[float], list[float]]:
        with one_thread():
            history = minimise(
                bound, start, TrustRegion(), Stopping(TOLERANCE, time_limit=limit)
            ).history
        return history["seconds"], history["value"]

    return run


def theirs(
    manifold: str, f: Callable[[Any, Any], Any], X: np.ndarray, r: int, limit: float, jit: bool
) -> Any:
    """The same by pymanopt."""
    import jax
    import pymanopt
    from pymanopt.manifolds import Grassmann, Stiefel
    from pymanopt.optimizers import TrustRegions

    jax.config.update("jax_enable_x64", True)
    space = {"grassmann": Grassmann, "stiefel": Stiefel}[manifold](X.shape[1], r)
    data = jax.numpy.array(X)
    inner = jax.jit(lambda M: f(M, data)) if jit else lambda M: f(M, data)
    seconds: list[float] = []
    values: list[float] = []
    began = [0.0]

    @pymanopt.function.jax(space)
    def cost(M: Any) -> Any:
        value = inner(M)
        if isinstance(M, np.ndarray):  # an evaluation, not the tracing of a derivative
            values.append(float(value))
            seconds.append(time.perf_counter() - began[0])
        return value

    def run(start: np.ndarray) -> tuple[list[float], list[float]]:
        seconds.clear()
        values.clear()
        scale = abs(float(f(start, data)))
        optimizer = TrustRegions(
            max_time=limit, max_iterations=5000, min_gradient_norm=TOLERANCE * scale, verbosity=0
        )
        began[0] = time.perf_counter()
        optimizer.run(pymanopt.Problem(space, cost), initial_point=start)
        return list(seconds), list(values)

    return run


def reached(run: tuple[list[float], list[float]], goal: float) -> float:
    return next((s for s, v in zip(*run, strict=True) if v <= goal), float("inf"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=500)
    parser.add_argument("--d", type=int, default=50)
    parser.add_argument("--r", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds a run")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    table = Table(title=f"n = {given.n}, d = {given.d}, r = {given.r}; ms to a gap of {GAP:g}")
    for column in ("objective", "ldr", "pymanopt jax", "ratio", "with jit by hand", "ratio"):
        table.add_column(column, justify="left" if column == "objective" else "right")
    for name, (manifold, f) in functions().items():
        times = []
        for seed in range(given.repeats):
            X = sample(given.n, given.d, seed)
            start = np.linalg.qr(np.random.default_rng(seed).standard_normal((given.d, given.r)))[0]
            runs = [
                ours(manifold, f, X, given.r, given.time_limit),
                theirs(manifold, f, X, given.r, given.time_limit, jit=False),
                theirs(manifold, f, X, given.r, given.time_limit, jit=True),
            ]
            for run in runs:
                run(start)  # compiles
            traces = [run(start) for run in runs]
            best = min(min(values) for _, values in traces)
            times.append([reached(trace, best + GAP * abs(best)) for trace in traces])
        own, plain, jitted = (statistics.median(column) for column in zip(*times, strict=True))
        ratios = [statistics.median(row[k] / row[0] for row in times) for k in (1, 2)]
        cells = [f"{1e3 * x:.1f}" for x in (own, plain, jitted)]
        table.add_row(name, cells[0], cells[1], f"{ratios[0]:.1f}", cells[2], f"{ratios[1]:.1f}")
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
