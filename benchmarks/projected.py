"""Objectives of the projected data, likelihoods and sparse pca: time, growth with n, accuracy.

    python -m benchmarks.projected [--quick] [--accuracy] [--splits K] [--only NAME ...]

The first table is one `ldr.solve` of each at n = 2000, d = 50, r = 2. The second is the time of one
evaluation (value and gradient) against n, and the slope of its fit in log-log beside the exponent
of the stated cost. With --accuracy: nearest-neighbour accuracy of nca and lmnn on test rows that
they have not seen, beside pca and orthogonal-lda.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import ldr
from benchmarks.growth import slope
from ldr.inputs import as_data
from ldr.objectives.parameters import Need
from ldr.objectives.registry import REGISTRY, named
from ldr.solvers.deadline import one_thread

Sample = tuple[np.ndarray, Any]


def clusters(n: int, d: int, rng: np.random.Generator) -> Sample:
    """Five classes in a plane, among columns of noise that spread more."""
    y = np.arange(n) % 5
    spread = np.linspace(1, 3, d)
    X = rng.standard_normal((n, d)) * spread
    X[:, :2] += 4 * rng.standard_normal((5, 2))[y]
    return X @ np.linalg.qr(rng.standard_normal((d, d)))[0], y


def regression(n: int, d: int, rng: np.random.Generator) -> Sample:
    """A response to two directions: a parabola and a line."""
    X = rng.standard_normal((n, d))
    return X, X[:, 0] ** 2 + X[:, 1] + 0.1 * rng.standard_normal(n)


def rotation(n: int, d: int, rng: np.random.Generator) -> Sample:
    """A point that circles in a plane, under noise that drifts."""
    angle = 0.05 * np.arange(n)
    X = 0.3 * rng.standard_normal((n, d))
    X[:, :2] += 2 * np.column_stack([np.cos(angle), np.sin(angle)])
    return X @ np.linalg.qr(rng.standard_normal((d, d)))[0], None


def sources(n: int, d: int, rng: np.random.Generator) -> Sample:
    """Two heavy-tailed sources, mixed with normal ones."""
    X = rng.standard_normal((n, d))
    X[:, :2] = rng.laplace(size=(n, 2))
    return X @ rng.standard_normal((d, d)), None


def factors(n: int, d: int, rng: np.random.Generator) -> Sample:
    """Two factors with sparse loadings, under noise of unequal variances."""
    loadings = np.zeros((2, d))
    loadings[0, : d // 5] = loadings[1, d // 5 : d // 2] = 2.0
    noise = rng.standard_normal((n, d)) * np.linspace(0.5, 1.5, d)
    return rng.standard_normal((n, 2)) @ loadings + noise, None


@dataclass(frozen=True)
class Work:
    """A method, its data, and the exponent of n in its stated cost of an evaluation."""

    name: str
    data: Callable[[int, int, np.random.Generator], Sample]
    exponent: int
    parameters: dict[str, Any]

    @property
    def registered(self) -> bool:
        return self.name in REGISTRY


METHODS = [
    Work("sdr", regression, 3, {}),
    Work("hsic", regression, 2, {}),
    Work("dynamics", rotation, 0, {}),
    Work("uica", sources, 1, {}),
    Work("ica", sources, 1, {}),
    Work("mds-stress", clusters, 2, {}),
    Work("lmnn", clusters, 2, {}),
    Work("nca", clusters, 2, {}),
    Work("robust-pca", factors, 1, {}),
    Work("log-det-pca", factors, 0, {}),
    Work("sparse-pca", factors, 0, {"penalty": 500.0}),
    Work("ppca", factors, 0, {}),
    Work("fa", factors, 0, {}),
]

# Long enough for the power of n to show, short enough to wait for.
SIZES = {
    3: (250, 500, 1000, 2000),
    2: (500, 1000, 2000, 4000),
    1: (10_000, 20_000, 40_000, 80_000),
    0: (10_000, 20_000, 40_000, 80_000),
}


def solved(work: Work, n: int, d: int, r: int, limit: float) -> dict[str, Any]:
    """One solve as a row of the first table."""
    X, y = work.data(n, d, np.random.default_rng(0))
    began = time.perf_counter()
    result = ldr.solve(work.name, X, r, y=y, time_limit=limit, random_state=0, **work.parameters)
    whole = time.perf_counter() - began
    return {
        "method": work.name,
        "seconds": result.seconds,
        "with certificate": whole,
        "iterations": result.iterations,
        "baseline": result.baseline,
        "value": result.value,
        "certificate": result.certificate.kind,
        "ended": result.status.name.lower().replace("_", " "),
    }


def seconds_of_evaluation(work: Work, n: int, d: int, r: int, repeats: int) -> float:
    """The median time of value and gradient at fresh points."""
    X, y = work.data(n, d, np.random.default_rng(0))
    objective = named(work.name, **work.parameters)
    bound = objective.bind(as_data(objective, X, y), r)
    rng = np.random.default_rng(1)
    times = []
    with one_thread():
        for _ in range(repeats + 1):
            M = bound.random_point(rng)
            began = time.perf_counter()
            point = bound.at(M)
            _ = point.value, point.gradient
            times.append(time.perf_counter() - began)
    return statistics.median(times[1:])


def grown(work: Work, sizes: Sequence[int], d: int, r: int, repeats: int = 5) -> dict[str, Any]:
    """Time of an evaluation against n as a row of the second table."""
    times = [seconds_of_evaluation(work, n, d, r, repeats) for n in sizes]
    return {
        "method": work.name,
        "n": " ".join(map(str, sizes)),
        "milliseconds": " ".join(f"{1e3 * t:.3g}" for t in times),
        "slope": slope(sizes, times),
        "stated": work.exponent,
    }


DATA = {"wine": "load_wine", "breast_cancer": "load_breast_cancer", "digits": "load_digits"}
PROJECTIONS = ("pca", "orthogonal-lda", "lda", "nca", "lmnn")

# Iterations of nca and lmnn: neighbours seldom change after them.
_STEPS = 40


def accuracies(
    data: str, splits: int = 1, most: int | None = None, r: int = 2, neighbours: int = 3
) -> dict[str, Any]:
    """Mean nearest-neighbour accuracy on 30 % of the rows, of projections learnt from the others.

    Columns are standardised by the rows that are learnt from.
    """
    from sklearn import datasets

    X, y = getattr(datasets, DATA[data])(return_X_y=True)
    X, y = X[:most], y[:most]
    tries = [_accuracies_of_split(X, y, r, neighbours, seed) for seed in range(splits)]
    means = {name: statistics.mean(row[name] for row in tries) for name in tries[0]}
    return {"data": data, "rows": len(X), "columns": X.shape[1], "splits": splits, **means}


def _accuracies_of_split(
    X: np.ndarray, y: np.ndarray, r: int, neighbours: int, seed: int
) -> dict[str, float]:
    from sklearn.model_selection import train_test_split

    X, rest, y, asked = train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    varying = deviation > 0
    X, rest = ((A - mean)[:, varying] / deviation[varying] for A in (X, rest))
    found = {"all columns": _accuracy(X, y, rest, asked, neighbours)}
    for name in PROJECTIONS:
        labels = y if Need.LABELS in named(name).needs else None
        result = ldr.solve(name, X, r, y=labels, max_iterations=_STEPS, certify=False)
        found[name] = _accuracy(result.transform(X), y, result.transform(rest), asked, neighbours)
    return found


def _accuracy(
    X: np.ndarray, y: np.ndarray, rest: np.ndarray, asked: np.ndarray, neighbours: int
) -> float:
    from sklearn.neighbors import KNeighborsClassifier

    return float(KNeighborsClassifier(neighbours).fit(X, y).score(rest, asked))


def table(title: str, rows: Sequence[dict[str, Any]]) -> Table:
    shown = Table(*rows[0], title=title)
    for row in rows:
        shown.add_row(*(f"{x:.6g}" if isinstance(x, float) else str(x) for x in row.values()))
    return shown


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="tiny sizes")
    parser.add_argument("--accuracy", action="store_true", help="nearest neighbours instead")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="some methods, or data sets")
    parser.add_argument("--time-limit", type=float, default=120.0, help="seconds a solve")
    parser.add_argument("--splits", type=int, default=1, help="of --accuracy, to average over")
    given = parser.parse_args(arguments)
    console = Console(width=160)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ldr.errors.ConvergenceWarning)
        if given.accuracy:
            most = 200 if given.quick else None
            rows = [accuracies(data, given.splits, most) for data in given.only or DATA]
            console.print(table("3-nearest-neighbour accuracy on test rows, r = 2", rows))
            return
        wanted = given.only or [work.name for work in METHODS]
        chosen = [work for work in METHODS if work.registered and work.name in wanted]
        n, d, r = (100, 10, 2) if given.quick else (2000, 50, 2)
        rows = [solved(work, n, d, r, given.time_limit) for work in chosen]
        console.print(table(f"n = {n}, d = {d}, r = {r}", rows))
        sizes = dict.fromkeys(SIZES, (50, 100)) if given.quick else SIZES
        rows = [grown(work, sizes[work.exponent], d, r) for work in chosen]
        console.print(table("one evaluation, value and gradient, against n", rows))


if __name__ == "__main__":
    main()
