"""Sparse data of 10^6 rows and 10^5 columns: seconds, memory and gap of each method.

Run with ``python -m benchmarks.sparse_wide``; ``--rows``, ``--columns``, ``--density`` and names of
methods make it smaller. The rows are of eleven classes, in runs, each with columns of its own; the
second view has the same topics in other columns. Each method has a process of its own. Seconds are
of the processor, and of the wall. Peak memory is what it holds beyond the data; the bar is ten
times the data and r numbers a row and a column. The last column is how far the value is from that
of arrays, on the first 2,000 columns. What fa's certificate says is of the optimum near its start:
of columns with ten entries several end as Heywood cases, and others would elsewhere. So arrays
begin at the loadings that products begin at, and take forty iterations. orthogonal-cca's bound is
that of the multipliers where the run ended, not the least of all.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array

import ldr
from ldr.objectives.data import samples

R, CLASSES, RUN, OWN = 10, 11, 50, 0.5
FEW, WARM = 2000, 60
SETTLED = 40  # iterations, after which fa's value changes by less than 1e-11 of it
METHODS: dict[str, dict[str, Any]] = {
    "orthogonal-lda": {"ridge": 0.1},
    "lda": {"ridge": 0.1},
    "orthogonal-maf": {"ridge": 0.1},
    "maf": {"ridge": 0.1},
    "sfa": {"whiten": True},
    "orthogonal-sfa": {"ridge": 0.1},
    "lpp": {"graph": "classes", "ridge": 0.1},
    "orthogonal-lpp": {"graph": "classes", "ridge": 0.1},
    "pca": {},
    "ppca": {},
    "fa": {},
    "pls": {},
    "orthogonal-cca": {"ridge": 0.1},
    "cca": {"ridge": 0.1},
    "reduced-rank-regression": {},
    "ridge-regression": {},
    "lasso": {"penalty": 10.0},
    "pls-regression": {},
}
TWO_VIEWS = ("pls", "orthogonal-cca", "cca", "reduced-rank-regression")
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


def size(X: csr_array) -> int:
    return sum(part.nbytes for part in (X.data, X.indices, X.indptr))


def forget_peak() -> int:
    """Count the peak from here on; what is held here."""
    Path("/proc/self/clear_refs").write_text("5")
    return in_bytes("VmRSS:")


def in_bytes(key: str) -> int:
    """An entry of the process's status, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(key))


def measured(name: str, n: int, d: int, density: float) -> dict[str, Any]:
    """One method, in this process."""
    X, y = topics(n, d, density, 0)
    if name == "fa":  # which takes no constant columns
        X = X[:, np.bincount(X.indices, minlength=d) > 0]
    data: Any = X
    if name in TWO_VIEWS:
        data = X, topics(n, d, density, 1)[0]
    given = {"y": y} if name in LABELLED else {}
    if name in REGRESSIONS:  # of the topics, that is of the columns, with noise
        rng = np.random.default_rng(2)
        given = {"y": np.sin(y) + X @ rng.standard_normal(d) + rng.standard_normal(n)}
    warm = tuple(V[:, :WARM] for V in data) if name in TWO_VIEWS else X[:, :WARM]
    wide, samples.WIDE = samples.WIDE, WARM // 2
    ldr.solve(name, warm, 2, **given, **METHODS[name])
    samples.WIDE = wide
    held, began, busy = forget_peak(), time.perf_counter(), time.process_time()
    result = ldr.solve(name, data, R, **given, **METHODS[name])
    seconds, wall = time.process_time() - busy, time.perf_counter() - began
    most = in_bytes("VmHWM:") - held
    few = tuple(V[:, :FEW] for V in data) if name in TWO_VIEWS else X[:, :FEW]
    alone: dict[str, Any] = {"starts": 1, "certify": False}
    samples.WIDE = FEW // 2
    products = ldr.solve(name, few, R, **alone, **given, **METHODS[name])
    samples.WIDE = wide
    if name == "fa":  # to the optimum near the same loadings
        alone |= {"start": products.baseline_M, "max_iterations": SETTLED}
    arrays = ldr.solve(name, few, R, **alone, **given, **METHODS[name])
    views = 2 if name in TWO_VIEWS else 1
    certificate = result.certificate
    return {
        "seconds": seconds,
        "wall": wall,
        "peak": most,
        "bar": views * (10 * size(X) + 8 * R * (n + d)),
        "kind": certificate.kind,
        "gap": certificate.gap,
        "apart": abs(products.value - arrays.value) / abs(arrays.value),
        "value": result.value,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("methods", nargs="*", choices=[[], *METHODS])
    parser.add_argument("--rows", type=int, default=10**6)
    parser.add_argument("--columns", type=int, default=10**5)
    parser.add_argument("--density", type=float, default=1e-5)
    parser.add_argument("--alone", choices=list(METHODS), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.alone:
        print(json.dumps(measured(given.alone, given.rows, given.columns, given.density)))
        return
    print(f"{given.rows} x {given.columns}, density {given.density:g}, r = {R}")
    print(
        f"{'method':23s} {'value':>13s} {'seconds':>8s} {'wall':>6s} {'MiB':>6s} {'bar':>6s}  "
        f"{'certificate':11s} {'gap':>8s} {'arrays':>8s}"
    )
    for name in given.methods or METHODS:
        shape = ["--rows", given.rows, "--columns", given.columns, "--density", given.density]
        command = [
            sys.executable,
            "-m",
            "benchmarks.sparse_wide",
            "--alone",
            name,
            *map(str, shape),
        ]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            print(f"{name:23s} {done.stderr.strip().splitlines()[-1]}", flush=True)
            continue
        row = json.loads(done.stdout)
        print(
            f"{name:23s} {row['value']:13.7g} {row['seconds']:8.1f} {row['wall']:6.0f} "
            f"{row['peak'] / 2**20:6.0f} {row['bar'] / 2**20:6.0f}  {row['kind']:11s} "
            f"{row['gap']:8.1e} {row['apart']:8.1e}",
            flush=True,
        )


if __name__ == "__main__":
    main()
