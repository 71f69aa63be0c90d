"""Every method of every source beyond a limit of the process's memory, answered or refused.

    python -m tests.limits [METHOD ...]

Prints what each gave, a method a line: "refused" is a `DataError` that names bytes, or says that
sparse rows are not made dense; "answered" is a result within the limit, or a run that had room for
ten seconds. Whatever else ends a solve is printed, and the exit status is then 1.
"""

from __future__ import annotations

import resource
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import dask.array
import numpy as np
import scipy.sparse as sp

import ldr
from ldr.errors import DataError, TimeLimitError
from ldr.objectives import REGISTRY, Objective

# Bytes beyond what the process has when the libraries are loaded.
LIMIT = 5 * 2**28
SHAPE = (20_000, 16_000)


def some_rows(X: np.ndarray, yes_or_no: bool = False) -> np.ndarray:
    rows = np.random.default_rng(0).standard_normal((50, X.shape[1]))
    X[:50] = rows > 0 if yes_or_no else rows
    return X


def sources(method: type[Objective], path: Path) -> Iterator[tuple[object, int]]:
    """An array, a file, a stream, a Dask array and sparse rows, and how many rows."""
    n, d = SHAPE
    rows = np.zeros((7000 if "distances" in method.needs else 9000, 7000), "f4")
    yield some_rows(rows, method.name == "exponential-family-pca"), 9000
    yield path, n
    yield lambda: (np.random.default_rng(k).integers(0, 2, (10, d)) for k in range(3)), 30
    yield dask.array.zeros(SHAPE, chunks=(2000, d)), n
    few = 1_600_000 if method.traits.products or not method.traits.sparse else n
    yield sp.eye_array(few, format="csr"), few


def outcome(objective: object, X: object, y: np.ndarray | None = None) -> str:
    try:
        ldr.solve(objective, X, 2, y=y, max_iterations=2, time_limit=10, certify=False)
    except TimeLimitError:
        pass
    except DataError as error:
        told = ("GiB", "MiB", "is sparse (")
        return "refused" if any(word in str(error) for word in told) else f"UNTOLD {error}"
    except Exception as error:
        return f"RAW {type(error).__name__}: {error}"
    return "answered"


def outcomes(name: str, path: Path) -> Iterator[str]:
    method = REGISTRY[name]
    labelled = {"labels", "response"} & set(method.needs)
    pair = method.views > 1 or "background" in method.needs
    for X, rows in sources(method, path):
        yield outcome(name, (X, X) if pair else X, np.arange(rows) % 3 if labelled else None)


def main(names: list[str]) -> int:
    ldr.solve("pca", np.random.default_rng(0).standard_normal((30, 4)), 1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "X.npy")
        some_rows(np.lib.format.open_memmap(path, "w+", "f4", SHAPE)).flush()
        taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        most = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (taken + LIMIT, most))
        table = {name: list(outcomes(name, path)) for name in names or REGISTRY}
        table["of one's own"] = [outcome(ldr.objective(lambda M, X: (X @ M).sum()), path)]
    for name, row in table.items():
        print(f"{name:32s}", "  ".join(f"{one:8s}" for one in row))
    return int(any(one not in ("refused", "answered") for row in table.values() for one in row))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
