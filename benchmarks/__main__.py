"""This library and its peers side by side: one command, one table.

    python -m benchmarks [--quick | --large] [--growth] [--against NAME ...] [--json FILE]
        [--plots FOLDER]

Each row is one problem of the paper (data by the reference code's recipe), solved from the same
start by each solver, one after the other in this process. "reached" is the time to within a
relative gap of 1e-12 of the best value that anyone found, the median of a few runs where they are
short, and "ratio" is that time over this library's. Statistics and heuristic are not in it. Below
each problem stand the physical floors: the time of one scatter product of its data, and of one
eigendecomposition of its order.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
import warnings
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg

from benchmarks.growth import against_columns, against_rows, described
from benchmarks.peers import Task, Trace, competitors
from benchmarks.repeats import a_few
from experiments.jmlr2015.recipes import METHODS
from ldr.objectives import Data, named
from ldr.objectives.data.opening import as_samples
from ldr.objectives.statistics import moments
from ldr.solvers.deadline import one_thread

GAP = 1e-12
OWN = "ldr"
Row = dict[str, Any]

QUICK = [("orthogonal-maf", 32, 3), ("orthogonal-lda", 32, 3)]
DEFAULT = [
    *(
        (method, d, r)
        for method in ("orthogonal-maf", "orthogonal-lda")
        for d in (64, 128, 256)
        for r in (1, 3, 10, 20, 40, 80)
        if r < d and not (method == "orthogonal-lda" and d == 256 and r == 80)
    ),
    *(("orthogonal-cca", d, r) for d in (64, 100) for r in (3, 10)),
]
LARGE = [("orthogonal-lda", 1024, 3), ("orthogonal-maf", 1024, 3)]


def seconds_of(work: Callable[[], object], repeats: int = 3) -> float:
    """The median time of some work."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def compare(
    method: str,
    d: int,
    r: int,
    seed: int,
    start: str,
    limit: float,
    against: Collection[str] | None = None,
) -> list[Row]:
    """One problem by every competitor, or by those named; a row each, the floors in every row."""
    data = METHODS[method.removeprefix("orthogonal-")](
        d, r, np.random.default_rng(seed), "reference-code"
    )
    views = data.X if isinstance(data.X, tuple) else (data.X,)
    samples = tuple(as_samples(X) for X in views)
    bound = named(method).bind(Data(samples, data.y), r)
    M = bound.baseline() if start == "baseline" or method == "orthogonal-cca" else None
    task = Task(bound, bound.random_point(np.random.default_rng(seed)) if M is None else M, limit)
    runs: dict[str, list[Trace]] = {}
    with one_thread():
        K = np.cov(np.random.default_rng(0).standard_normal((d, 2 * d)))
        eigh = seconds_of(lambda: scipy.linalg.eigh(K, check_finite=False))
        scatter = seconds_of(lambda: [moments(view) for view in samples], 1)
        for name, competitor in competitors()[0].items():
            if name != OWN and against is not None and name not in against:
                continue
            try:
                runs[name] = a_few(partial(competitor, task), lambda trace: trace.seconds[-1])
            except NotImplementedError:
                continue
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
            "n": samples[0].n,
            "seed": seed,
            "solver": name,
            "reached": reached[name],
            "ratio": reached[name] / reached[OWN],
            "gap": (lowest[name] - best) / abs(best),
            "iterations": traces[0].iterations,
            "seconds": traces[0].seconds[-1],
            "scatter": scatter,
            "eigh": eigh,
        }
        for name, traces in runs.items()
    ]


def classical(d: int, r: int, seed: int) -> list[Row]:
    """The jobs that scikit-learn does too, whole calls: pca, and the directions of lda."""
    from sklearn.decomposition import PCA
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    import ldr

    rng = np.random.default_rng(seed)
    pca, lda = (METHODS[name](d, r, rng, "reference-code") for name in ("pca", "lda"))

    def own_lda() -> np.ndarray | None:
        return named("orthogonal-lda").bind(Data((as_samples(lda.X),), lda.y), r).baseline()

    jobs = {
        "pca": (
            pca.X,
            lambda: ldr.solve("pca", pca.X, r, certify=False),
            lambda: PCA(r, svd_solver="covariance_eigh").fit(pca.X),
        ),
        "lda": (
            lda.X,
            own_lda,
            lambda: LinearDiscriminantAnalysis(solver="eigen", n_components=r).fit(lda.X, lda.y),
        ),
    }
    rows = []
    for job, (X, own, theirs) in jobs.items():
        with one_thread():
            scatter = seconds_of(lambda X=X: moments(as_samples(X)))
            eigh = seconds_of(lambda: scipy.linalg.eigh(np.eye(d), check_finite=False))
            times = {"ldr": seconds_of(own), "scikit-learn": seconds_of(theirs)}
        rows += [
            {
                "method": job,
                "d": d,
                "r": r,
                "n": len(X),
                "seed": seed,
                "solver": name,
                "reached": seconds,
                "ratio": seconds / times["ldr"],
                "gap": 0.0,
                "iterations": 1,
                "seconds": seconds,
                "scatter": scatter,
                "eigh": eigh,
            }
            for name, seconds in times.items()
        ]
    return rows


def line(row: Row) -> str:
    problem = f"{row['method']:13s} {row['d']:5d} {row['r']:3d}  {row['solver']:17s}"
    numbers = f"{1e3 * row['reached']:10.2f} {row['ratio']:8.1f} {row['gap']:9.1e}"
    in_eigh = row["reached"] / row["eigh"]
    floors = f"{1e3 * row['scatter']:11.2f} {1e3 * row['eigh']:9.2f} {in_eigh:9.1f}"
    return f"{problem} {numbers} {row['iterations']:6d} {floors}"


HEADER = (
    f"{'problem':13s} {'d':>5s} {'r':>3s}  {'solver':17s} {'reached ms':>10s} {'ratio':>8s} "
    f"{'final gap':>9s} {'its':>6s} {'scatter ms':>11s} {'eigh ms':>9s} {'in eighs':>9s}"
)


def summary(rows: Sequence[Row]) -> list[str]:
    """The spread of the ratios of each method and solver; failures to reach count as infinite."""
    lines = []
    for method, solver in dict.fromkeys((row["method"], row["solver"]) for row in rows):
        ratios = [x["ratio"] for x in rows if (x["method"], x["solver"]) == (method, solver)]
        if solver != OWN:
            middle = statistics.median(ratios)
            lines.append(
                f"{method:13s} {solver:17s} ratio: median {middle:.1f}, least {min(ratios):.1f}, "
                f"of {len(ratios)}; never reached: {sum(np.isinf(ratios))}"
            )
    return lines


def plot(rows: Sequence[Row], folder: Path) -> Path:
    """Time over this library's, a dot a problem, a column a solver."""
    import matplotlib.pyplot as plt

    pairs = [p for p in dict.fromkeys((r["method"], r["solver"]) for r in rows) if p[1] != OWN]
    figure, axes = plt.subplots(figsize=(1.5 + 0.7 * len(pairs), 4), layout="constrained")
    for place, pair in enumerate(pairs):
        ratios = np.array([r["ratio"] for r in rows if (r["method"], r["solver"]) == pair])
        finite = ratios[np.isfinite(ratios)]
        axes.plot(np.full(len(finite), place), finite, "o", color="C0", alpha=0.5)
        failed = len(ratios) - len(finite)
        if failed:
            axes.annotate(f"{failed} never", (place, 1), ha="center", va="top", size="small")
    axes.axhline(1.0, color="black", linewidth=0.8)
    axes.set_yscale("log")
    axes.set_xticks(range(len(pairs)), ["\n".join(pair) for pair in pairs], rotation=60, ha="right")
    axes.set_ylabel("time over ldr's")
    path = folder / "ratios.png"
    figure.savefig(path, dpi=150)
    plt.close(figure)
    return path


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    sizes = parser.add_mutually_exclusive_group()
    sizes.add_argument("--quick", action="store_true", help="two tiny problems")
    sizes.add_argument("--large", action="store_true", help="d = 1024; minutes")
    parser.add_argument(
        "--only", help="one method: orthogonal-maf, orthogonal-lda or orthogonal-cca"
    )
    parser.add_argument(
        "--against",
        nargs="+",
        metavar="NAME",
        choices=[name for name in competitors()[0] if name != OWN],
        help="only these; as the table calls its solvers",
    )
    parser.add_argument("--repeats", type=int, default=1, help="data sets a problem")
    parser.add_argument("--start", choices=["random", "baseline"], default="random")
    parser.add_argument("--time-limit", type=float, default=10.0, help="seconds a solver")
    parser.add_argument("--growth", action="store_true", help="time against d and n instead")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plots", type=Path)
    given = parser.parse_args(arguments)
    warnings.simplefilter("ignore")

    if given.growth:
        results: list[Any] = _grown(given.quick)
    else:
        results = _compared(given)
    if given.json:
        record = {"numpy": np.__version__, "machine": platform.machine(), "results": results}
        given.json.write_text(json.dumps(record, indent=1))
    if given.plots and not given.growth:
        given.plots.mkdir(parents=True, exist_ok=True)
        print(plot(results, given.plots))


def _compared(given: argparse.Namespace) -> list[Row]:
    missing = competitors()[1]
    print(f"{given.start} start (orthogonal-cca: its heuristic); reached: relative gap {GAP:g}")
    print(f"not installed: {', '.join(missing) or 'none'}\n{HEADER}", flush=True)
    problems = QUICK if given.quick else LARGE if given.large else DEFAULT
    compare("orthogonal-lda", 8, 1, 0, "random", 0.1)  # imports
    rows: list[Row] = []
    for method, d, r in problems:
        if given.only not in (None, method):
            continue
        for seed in range(given.repeats):
            fresh = compare(method, d, r, seed, given.start, given.time_limit, given.against)
            print("\n".join(map(line, fresh)), flush=True)
            rows += fresh
    if given.only is None:
        fresh = classical(32 if given.quick else 200, 5, 0)
        print("\n".join(map(line, fresh)), flush=True)
        rows += fresh
    print("\n".join(["", *summary(rows)]))
    return rows


def _grown(quick: bool) -> list[Any]:
    orders = (16, 32) if quick else (64, 128, 256, 512, 1024, 2048)
    counts = (100, 200) if quick else (10_000, 100_000, 1_000_000)
    fits = []
    for method in ("orthogonal-lda", "orthogonal-maf"):
        for start in ("baseline", "random"):
            fits.append(against_columns(method, orders, 3, start))
            print(described(fits[-1]), flush=True)
    fits.append(against_rows("orthogonal-lda", counts, 20, 2))
    print(described(fits[-1]))
    return fits


if __name__ == "__main__":
    main()
