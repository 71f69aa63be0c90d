"""orthogonal-cca: its time beside pymanopt's, and what its certificates say.

    python -m benchmarks.canonical_correlation [--d 64 100] [--ranks 3 10 40] [--repeats 3]
        [--recipe paper-text] [--problems 40] [--json FILE]

Times: the trust region, pymanopt's trust region and its conjugate gradient, all from the heuristic,
with the same NumPy formulas. Each is run with tolerances 1e-5, 1e-6, ... on the gradient, and its
time is that of the loosest at which its value is within 1e-12, relative, of the best value that any
of the runs reached. Where none is, the time is that of the run that came nearest, marked >: the
ratio is then a lower bound. pymanopt may end in another local optimum; that, too, is marked >. The
ratios are medians over repeats, each with its own data.

Certificates: on random problems, d = 4 to 100, how many are certified global, and the gaps left on
the others.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.trust_region import correlation_formulas, timed
from experiments.jmlr2015.recipes import METHODS, RECIPES
from ldr.objectives import Data, named
from ldr.objectives.data.opening import as_samples
from ldr.solvers import Stopping, TrustRegion, minimise, named_solver
from ldr.solvers.deadline import one_thread

GAP = 1e-12  # relative, of a value that counts as reached
TOLERANCES = (1e-5, 1e-6, 1e-7, 1e-8, 1e-9)
PEERS = {
    "pymanopt TR": named_solver("pymanopt:trust-region"),
    "pymanopt CG": named_solver("pymanopt:conjugate-gradient"),
}
SHAPES = [(4, 2), (4, 3), (8, 2), (8, 3), (8, 5), (16, 2), (16, 3), (16, 8)] * 4
SHAPES += [(64, 3), (64, 10), (64, 40), (100, 3), (100, 3), (100, 10), (100, 10), (100, 40)]


def bind(d: int, r: int, seed: int, recipe: str) -> Any:
    """The orthogonal-cca problem of one data set of the recipe."""
    data = METHODS["cca"](d, r, np.random.default_rng(seed), recipe)
    return named("orthogonal-cca").bind(Data(tuple(as_samples(X) for X in data.X)), r)


def ladder(problem: Any, start: np.ndarray, solver: Any, limit: float) -> list[tuple[float, float]]:
    """(seconds, value) at each tolerance, ended by the time limit."""
    rungs = []
    for tolerance in TOLERANCES:
        run, seconds = timed(problem, start, solver, Stopping(tolerance, time_limit=limit))
        rungs.append((seconds, run.value))
        if seconds >= limit:
            break
    return rungs


def reached(rungs: list[tuple[float, float]], best: float) -> tuple[float, float]:
    """Seconds to the best value, and the relative gap that is left."""
    gaps = [(value - best) / abs(best) for _, value in rungs]
    for (seconds, _), gap in zip(rungs, gaps, strict=True):
        if gap <= GAP:
            return seconds, gap
    nearest = int(np.argmin(gaps))
    return rungs[nearest][0], gaps[nearest]


def compare(d: int, r: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """Medians over the repeats."""
    rows = []
    for seed in range(arguments.repeats):
        bound = bind(d, r, seed, arguments.recipe)
        formulas, start = correlation_formulas(bound), bound.baseline()
        with one_thread():
            rungs = {"ldr": ladder(bound, start, TrustRegion(), arguments.time_limit)}
            for name, solver in PEERS.items():
                rungs[name] = ladder(formulas, start, solver, arguments.time_limit)
        best = min(value for steps in rungs.values() for _, value in steps)
        rows.append({name: reached(steps, best) for name, steps in rungs.items()})
    result: dict[str, Any] = {"d": d, "r": r}
    for name in ("ldr", *PEERS):
        result[f"{name} seconds"] = statistics.median(row[name][0] for row in rows)
        result[f"{name} gap"] = max(row[name][1] for row in rows)
    for name in PEERS:
        result[f"{name} ratio"] = statistics.median(row[name][0] / row["ldr"][0] for row in rows)
    result["fastest ratio"] = statistics.median(
        min(row[name][0] for name in PEERS) / row["ldr"][0] for row in rows
    )
    return result


def certify(count: int, recipe: str) -> list[dict[str, Any]]:
    """One row a random problem."""
    rows = []
    for seed, (d, r) in enumerate(SHAPES[-count:]):
        bound = bind(d, r, 100 + seed, recipe)
        with one_thread():
            run = minimise(bound, bound.baseline(), TrustRegion(), Stopping(1e-10, time_limit=20))
            began = time.perf_counter()
            certificate = bound.certificate(run.M)
            seconds = time.perf_counter() - began
        rows.append(
            {"d": d, "r": r, "kind": certificate.kind, "gap": certificate.gap, "seconds": seconds}
        )
    return rows


def time_table(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Time and print every shape, then the medians of the ratios."""
    print(f"orthogonal-cca, {arguments.recipe} data, from the heuristic, to a gap of {GAP:g}")
    columns = f"{'ldr s':>8s} {'TR s':>8s} {'CG s':>8s} {'/TR':>7s} {'/CG':>7s} {'/fastest':>8s}"
    print(f"{'d':>4s} {'r':>3s} {columns}   gaps: ldr, TR, CG")
    rows = []
    for d in arguments.d:
        for r in arguments.ranks:
            row = compare(d, r, arguments)
            rows.append(row)
            mark = {name: ">" if row[f"{name} gap"] > GAP else " " for name in PEERS}
            gaps = ", ".join(f"{row[f'{name} gap']:.0e}" for name in ("ldr", *PEERS))
            seconds = " ".join(f"{row[f'{name} seconds']:8.3f}" for name in ("ldr", *PEERS))
            ratios = " ".join(f"{mark[name]}{row[f'{name} ratio']:6.1f}" for name in PEERS)
            fastest = f"{row['fastest ratio']:8.1f}"
            print(f"{d:4d} {r:3d} {seconds} {ratios} {fastest}   {gaps}", flush=True)
    for name in ("fastest", *PEERS):
        median = statistics.median(row[f"{name} ratio"] for row in rows)
        print(f"median ratio to {name}: {median:.1f}")
    return rows


def certificate_table(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Certify the problems and print a line a shape."""
    rows = certify(arguments.problems, arguments.recipe)
    print(f"\ncertificates of {len(rows)} problems")
    print(
        f"{'d':>4s} {'r':>3s} {'problems':>8s} {'global':>6s} {'largest gap':>12s} {'seconds':>8s}"
    )
    for d, r in sorted({(row["d"], row["r"]) for row in rows}):
        group = [row for row in rows if (row["d"], row["r"]) == (d, r)]
        certified = sum(row["kind"] == "global" for row in group)
        largest = max(row["gap"] for row in group)
        seconds = statistics.median(row["seconds"] for row in group)
        print(f"{d:4d} {r:3d} {len(group):8d} {certified:6d} {largest:12.1e} {seconds:8.2f}")
    small = [row for row in rows if row["d"] <= 16]
    certified = sum(row["kind"] == "global" for row in small)
    largest = max(row["gap"] for row in rows)
    print(
        f"d <= 16: {certified} of {len(small)} certified global; largest gap of all {largest:.1e}"
    )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--d", type=int, nargs="+", default=[64, 100])
    parser.add_argument("--ranks", type=int, nargs="+", default=[3, 10, 40])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--recipe", choices=RECIPES, default="paper-text")
    parser.add_argument("--time-limit", type=float, default=30.0, help="seconds a run")
    parser.add_argument("--problems", type=int, default=40, help="to certify")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")

    tiny = bind(6, 2, 0, "paper-text")
    for solver in PEERS.values():  # imports
        minimise(tiny, tiny.baseline(), solver, Stopping(max_iterations=1))
    times = time_table(arguments) if arguments.repeats else []
    rows = certificate_table(arguments) if arguments.problems else []
    if arguments.json:
        arguments.json.write_text(json.dumps({"times": times, "certificates": rows}, indent=1))


if __name__ == "__main__":
    main()
