"""Sparse data of 10^6 rows and 10^5 columns: seconds, memory and gap of each method.

The rows are of eleven classes, in runs, each with columns of its own; the second view has the same
topics in other columns. Seconds are of the processor. "MiB" is the peak of memory beyond the data;
the bar is ten times the data and r numbers a row and a column. The last column is how far the value
is from that of arrays, on the first 2,000 columns. fa has several optima: there both begin at the
loadings of products, and arrays take forty iterations.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array

import ldr
from benchmarks.turns import Job, measure
from ldr.objectives import REGISTRY
from ldr.objectives.data import data as samples

R, CLASSES, RUN, OWN = 10, 11, 50, 0.5
FEW, WARM = 2000, 60
SETTLED = 40  # iterations after which the relative change of fa's value is below 1e-11
RIDGE = {"ridge": 0.1}
NONE: dict[str, Any] = {}
METHODS: dict[str, dict[str, Any]] = {
    **dict.fromkeys(("orthogonal-lda", "lda", "orthogonal-maf", "maf", "orthogonal-sfa"), RIDGE),
    **dict.fromkeys(("lpp", "orthogonal-lpp"), {"graph": "classes"} | RIDGE),
    **dict.fromkeys(("pca", "ppca", "fa", "pls", "reduced-rank-regression"), NONE),
    **dict.fromkeys(("orthogonal-cca", "cca"), RIDGE),
    **dict.fromkeys(("ridge-regression", "pls-regression"), NONE),
    "sfa": {"whiten": True},
    "lasso": {"penalty": 10.0},
}
REGRESSIONS = ("ridge-regression", "lasso", "pls-regression")
LABELLED = ("orthogonal-lda", "lda", "lpp", "orthogonal-lpp")


def topics(n: int, d: int, density: float, seed: int) -> tuple[csr_array, np.ndarray]:
    """Rows of classes in runs; half of the entries are in columns of the class."""
    rng = np.random.default_rng(seed)
    y = np.random.default_rng(0).integers(0, CLASSES, -(-n // RUN)).repeat(RUN)[:n]
    own = rng.integers(0, d, (CLASSES, max(20, d // 50)))
    rows = rng.integers(0, n, int(density * n * d))
    columns = rng.integers(0, d, len(rows))
    special = rng.random(len(rows)) < OWN
    picked = own[y[rows], rng.integers(0, own.shape[1], len(rows))]
    columns = np.where(special, picked, columns)
    values = rng.uniform(0.5, 1.5, len(rows))
    return csr_array(coo_array((values, (rows, columns)), shape=(n, d))), y


def job(name: str, n: int, d: int, density: float) -> dict[str, Job]:
    """Return one method, warm, and what its row states of its result."""
    X, y = topics(n, d, density, 0)
    if name == "fa":  # fa refuses constant columns
        X = X[:, np.bincount(X.indices, minlength=d) > 0]
    two_views = REGISTRY[name].views > 1
    views = (X, topics(n, d, density, 1)[0]) if two_views else (X,)
    size = sum(part.nbytes for part in (X.data, X.indices, X.indptr))
    bar = len(views) * (10 * size + 8 * R * (n + d)) / 2**20
    given = {"y": y} if name in LABELLED else {}
    if name in REGRESSIONS:  # the response is a noisy function of topics and columns
        rng = np.random.default_rng(2)
        given = {"y": np.sin(y) + X @ rng.standard_normal(d) + rng.standard_normal(n)}

    def solve(columns: int, r: int, wide: int | None = None, **options: Any) -> ldr.Result:
        """Solve on the first columns, by products if these are more than `wide`."""
        data = tuple(V[:, :columns] for V in views)
        before, samples.WIDE = samples.WIDE, wide or samples.WIDE
        found = ldr.solve(
            name, data if two_views else data[0], r, **given, **METHODS[name], **options
        )
        samples.WIDE = before
        return found

    def stated(result: ldr.Result) -> tuple[Any, ...]:
        alone: dict[str, Any] = {"starts": 1, "certify": False}
        products = solve(FEW, R, FEW // 2, **alone)
        if name == "fa":  # both runs start at the same loadings and find the same optimum
            alone |= {"start": products.baseline_M, "max_iterations": SETTLED}
        arrays = solve(FEW, R, **alone).value
        apart = abs(products.value - arrays) / abs(arrays)
        return result.value, bar, result.certificate.kind, result.certificate.gap, apart

    solve(WARM, 2, WARM // 2)
    return {name: (partial(solve, d, R), stated)}


def cells(name: str, n: int, d: int) -> str:
    """Return the cells of a method."""
    found = measure(partial(job, name, n, d, min(0.01, 1e6 / (n * d))), np.inf)
    if name in found.failed:
        return f"{found.failed[name]} | | | | | |"
    value, bar, kind, gap, apart = found.values[name]
    return (
        f"{value:.7g} | {found.seconds[name]:.2g} | {found.memory:.0f} | {bar:.0f} | "
        f"{kind}, {gap:.1e} | {apart:.0e} |"
    )
