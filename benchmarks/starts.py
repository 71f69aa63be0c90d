"""Default starts beside 20 of them: on real data, for every method that has local optima.

``python -m benchmarks.starts [WORD ...]`` solves the problems whose names contain one of the words.
"""

from __future__ import annotations

import sys
import time
import warnings
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import sklearn.datasets
import statsmodels.datasets

import ldr

# Threshold: a default is not optimal if the best of 20 starts is better by a larger share.
CLOSE = 1e-6
STARTS = 20

FALLEN_SHORT = [
    *(("foreca", "linnerud", 2), ("uica", "linnerud", 1), ("uica", "macrodata", 5)),
    *(("uica", "longley", 2), ("uica", "iris", 2), ("uica", "iris", 1)),
    *(("ica", "diabetes", 5), ("fa", "macrodata", 5)),
]
# Data sets and numbers of components for each method.
SETS = {
    "foreca": "linnerud:1,3 longley:2,4 macrodata:2,5 stackloss:2",
    "uica": "linnerud:3 longley:1,4 macrodata:2 diabetes:3,5 wine:4 cancer:3",
    "ica": "linnerud:1,3 longley:2 macrodata:3 diabetes:2 wine:2,5 iris:2",
    "fa": "linnerud:2 longley:1,2 macrodata:2,3 diabetes:3 wine:3,5 iris:1",
    "dca": "linnerud:2 longley:1,3 macrodata:2,5",
    "nca": "iris:1,2 wine:1,2 cancer:2",
    "lmnn": "iris:1,2 wine:2",
    "wda": "iris:1,2 wine:1,2",
    "sdr": "iris:1 diabetes:1,3 wine:2",
    "hsic": "iris:2 diabetes:1,3 wine:2 linnerud:2",
    "robust-pca": "iris:1,2 longley:2 linnerud:2,4 wine:2 macrodata:3",
    "mds-stress": "iris:1,2 longley:2 linnerud:2 wine:2 macrodata:2",
    "dynamics": "linnerud:2 longley:1,2 macrodata:2,5",
    "sparse-pca": "iris:2 linnerud:2 longley:2 diabetes:3 wine:3",
    "sparse-lda": "iris:1,2 wine:1,2",
    "sparse-cca": "linnerud:1,2 iris:1 diabetes:2",
    "orthogonal-cca": "linnerud:1,2 iris:2 diabetes:3 wine:3 macrodata:4",
    "maxbet": "linnerud:2 diabetes:3 macrodata:3",
}
SCALE_FREE = {"foreca", "uica", "ica", "fa", "dca"}
TWO_VIEWS = {"sparse-cca", "orthogonal-cca", "maxbet"}
LABELLED = {"nca", "lmnn", "wda", "sdr", "hsic", "sparse-lda"}


@dataclass(frozen=True)
class Problem:
    """A method, a data set, a dimension, and whether columns are divided by their deviations."""

    method: str
    data: str
    r: int
    standardise: bool = False

    def __str__(self) -> str:
        return f"{self.method} {self.data} {self.r} {'standardised' if self.standardise else 'raw'}"

    def solve(self, **options: Any) -> ldr.Result:
        X, y = data_set(self.data)
        views: Any = X
        if self.method in TWO_VIEWS:
            views = X[:, : X.shape[1] // 2], X[:, X.shape[1] // 2 :]
        response = y if self.method in LABELLED else None
        if self.standardise:
            options["standardise"] = True
        return ldr.solve(self.method, views, self.r, y=response, certify=False, **options)


@cache
def data_set(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Columns that vary, and labels or a response."""
    if name in {"longley", "macrodata", "stackloss"}:
        table = getattr(statsmodels.datasets, name).load_pandas().data
        y = table.columns[2 if name == "macrodata" else 0]
        return table.drop(columns=y).to_numpy(float), table[y].to_numpy(float)
    name = {"cancer": "breast_cancer"}.get(name, name)
    options = {"scaled": False} if name == "diabetes" else {}
    X, y = getattr(sklearn.datasets, f"load_{name}")(return_X_y=True, **options)
    return (np.hstack([X, y]), y[:, 0]) if name == "linnerud" else (X, y)


def problems() -> list[Problem]:
    """Those that once fell short, and those of every method, in both units where these matter."""
    listed = [Problem(*each) for each in FALLEN_SHORT]
    for method, sets in SETS.items():
        for data, dimensions in (each.split(":") for each in sets.split()):
            for k, r in enumerate(map(int, dimensions.split(","))):
                listed.append(Problem(method, data, r, method not in SCALE_FREE and k == 0))
    return listed


def shortfall(problem: Problem) -> tuple[float, ldr.Result, ldr.Result, list[float]]:
    """How much worse the default is, relative to the best of 20; both, and processor seconds."""
    found, seconds = [], []
    for options in ({}, {"starts": STARTS, "random_state": 0}):
        began = time.process_time()
        found.append(problem.solve(**options))
        seconds.append(time.process_time() - began)
    default, best = found
    sign = 1.0 if default.objective.sense == "min" else -1.0
    worse = sign * (default.value - best.value) / max(abs(best.value), np.finfo(float).tiny)
    return worse, default, best, seconds


def main(words: list[str]) -> None:
    warnings.simplefilter("ignore", ldr.errors.ConvergenceWarning)
    chosen = [p for p in problems() if not words or any(word in str(p) for word in words)]
    short = 0
    for problem in chosen:
        worse, default, best, (own, all_of_them) = shortfall(problem)
        short += worse > CLOSE
        print(
            f"{problem!s:36} {default.value:14.8g} {best.value:14.8g} {worse:9.1e} "
            f"{'SHORT' if worse > CLOSE else '':5} {own:7.2f} s {all_of_them:7.2f} s  "
            f"{default.starts or '1 start'}",
            flush=True,
        )
    print(f"{len(chosen) - short} of {len(chosen)} defaults within {CLOSE:g} of {STARTS} starts")


if __name__ == "__main__":
    main(sys.argv[1:])
