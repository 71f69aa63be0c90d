"""How time grows with the columns d and the rows n, and the slope of the fit in log-log."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from experiments.jmlr2015.recipes import METHODS
from ldr.multistart import solver_for
from ldr.objectives import Data, named
from ldr.objectives.data.opening import as_samples
from ldr.solvers import Stopping, minimise
from ldr.solvers.deadline import one_thread

Fit = dict[str, Any]


def slope(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """The exponent p of seconds = c size^p, by least squares on the upper half of the sizes."""
    half = len(sizes) // 2 if len(sizes) > 3 else 0
    return float(np.polyfit(np.log(sizes[half:]), np.log(seconds[half:]), 1)[0])


def against_columns(method: str, orders: Sequence[int], r: int, start: str) -> Fit:
    """Statistics and solution of the paper's data, apart."""
    times: dict[str, list[float]] = {"statistics": [], "heuristic": [], "solver": []}
    for d in orders:
        data = METHODS[method.removeprefix("orthogonal-")](
            d, r, np.random.default_rng(0), "reference-code"
        )
        samples = Data((as_samples(data.X),), data.y)
        began = time.perf_counter()
        bound = named(method).bind(samples, r)
        times["statistics"].append(time.perf_counter() - began)
        with one_thread():
            began = time.perf_counter()
            M = bound.baseline()
            times["heuristic"].append(time.perf_counter() - began)
            if start == "random":
                M = bound.random_point(np.random.default_rng(0))
            run = minimise(bound, M, solver_for("auto", bound), Stopping())
        times["solver"].append(run.seconds)
    return _fitted(f"{method}, r = {r}, {start} start, against d", orders, times)


def against_rows(method: str, rows: Sequence[int], d: int, r: int) -> Fit:
    """Statistics and solution of normal data with classes, apart."""
    times: dict[str, list[float]] = {"statistics": [], "solver": []}
    rng = np.random.default_rng(0)
    for n in (rows[0], *rows):
        y = np.arange(n) % 5
        X = rng.standard_normal((n, d)) * np.linspace(1, 3, d) + rng.standard_normal((5, d))[y]
        samples = Data((as_samples(X),), y)
        began = time.perf_counter()
        bound = named(method).bind(samples, r)
        times["statistics"].append(time.perf_counter() - began)
        with one_thread():
            start = bound.baseline()
            run = minimise(bound, start, solver_for("auto", bound), Stopping())
        times["solver"].append(run.seconds)
    times = {part: seconds[1:] for part, seconds in times.items()}  # the first was to warm up
    return _fitted(f"{method}, d = {d}, r = {r}, against n", rows, times)


def _fitted(work: str, sizes: Sequence[int], times: dict[str, list[float]]) -> Fit:
    slopes = {part: slope(sizes, seconds) for part, seconds in times.items()}
    return {"work": work, "sizes": list(sizes), "seconds": times, "slopes": slopes}


def described(fit: Fit) -> str:
    """The fit as lines of text."""
    lines = [fit["work"], "  size        " + "".join(f"{size:>10d}" for size in fit["sizes"])]
    for part, seconds in fit["seconds"].items():
        row = "".join(f"{second:10.4f}" for second in seconds)
        lines.append(f"  {part:<12s}{row}  s, slope {fit['slopes'][part]:.2f}")
    return "\n".join(lines)
