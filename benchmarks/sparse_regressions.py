"""Regressions on sparse rows of very many columns beside scikit-learn's: seconds and values.

Run with ``python -m benchmarks.sparse_regressions``; ``--rows`` and ``--columns`` make it smaller.
One entry a row, columns and values at random; a tenth of the columns bears on the response. Seconds
are of the processor with one thread. The last column is how far the value is above scikit-learn's
(below it where negative), relative to it, at the penalties and tolerances in the table.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.linear_model import Lasso, Ridge

import ldr


def problem(n: int, d: int) -> tuple[csr_array, np.ndarray]:
    """As many entries as rows, and a response to them with noise."""
    rng = np.random.default_rng(0)
    places = (rng.integers(0, n, n, dtype=np.int32), rng.integers(0, d, n, dtype=np.int32))
    X = csr_array((rng.uniform(0.5, 1.5, n), places), shape=(n, d))
    coefficients = np.where(rng.random(d) < 0.1, rng.standard_normal(d), 0.0)
    return X, X @ coefficients + rng.standard_normal(n)


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    began = time.process_time()
    return call(), time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10**6)
    parser.add_argument("--columns", type=int, default=5 * 10**4)
    given = parser.parse_args()
    X, y = problem(given.rows, given.columns)
    n = len(y)
    ridges = [(1.0, Ridge(1.0, tol=tol), f"ridge, tol={tol:g}") for tol in (1e-4, 1e-10)]
    lassos = [(p, Lasso(p / (2 * n)), f"lasso, penalty={p:g}") for p in (30.0, 1.0)]
    print(f"{'method':24s} {'seconds':>8s} {'theirs':>8s} {'certificate':11s} {'apart':>9s}")
    for penalty, model, what in [*ridges, *lassos]:
        name, power = ("ridge-regression", 2) if "ridge" in what else ("lasso", 1)
        found, seconds = timed(lambda: ldr.solve(name, X, 1, y=y, penalty=penalty))  # noqa: B023
        fit, theirs = timed(lambda: model.fit(X, y))  # noqa: B023
        rest = y - X @ fit.coef_ - fit.intercept_
        value = rest @ rest + penalty * np.sum(np.abs(fit.coef_) ** power)
        kind, apart = found.certificate.kind, found.value / value - 1.0
        print(f"{what:24s} {seconds:8.1f} {theirs:8.1f} {kind:11s} {apart:9.1e}", flush=True)


if __name__ == "__main__":
    main()
