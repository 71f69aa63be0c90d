"""Python calls of a small solve: ``python -m benchmarks.calls``.

A call is a Python frame that is entered, or a generator that is resumed, in a file of the library;
what dataclasses and NumPy run is not counted. The second call in a process counts, on 150 x 10
normal data of three classes, whose first two columns differ between the classes.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import numpy as np

import ldr

PACKAGE = Path(ldr.__file__).parent
LIBRARY = {(PACKAGE / name).resolve() for name in (".", "objectives", "solvers")}


def calls(job: Callable[[], object]) -> Counter[str]:
    """How often functions of each file of the library are entered during a second call."""
    seen: Counter[str] = Counter()

    def entered(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            seen[frame.f_code.co_filename] += 1

    job()
    sys.setprofile(entered)
    try:
        job()
    finally:
        sys.setprofile(None)
    return Counter(
        {file: count for file, count in seen.items() if LIBRARY & {*Path(file).resolve().parents}}
    )


def main() -> None:
    """Print the calls and the files of each job; with ``--files`` also those of each file."""
    y = np.repeat([0, 1, 2], 50)
    X = np.random.default_rng(0).normal(size=(150, 10))
    X[:, 0] += y
    X[:, 1] += y == 2
    jobs = {
        "ldr.solve('orthogonal-lda', X, 2, y=y)": lambda: ldr.solve("orthogonal-lda", X, 2, y=y),
        "ldr.solve('pca', X, 2)": lambda: ldr.solve("pca", X, 2),
        "ldr.PCA(2).fit(X)": lambda: ldr.PCA(2).fit(X),
    }
    for name, job in jobs.items():
        seen = calls(job)
        print(f"{name:<28} {seen.total():>5} calls in {len(seen)} files")
        if "--files" in sys.argv:
            for file, count in seen.most_common():
                print(f"    {count:>5} {Path(file).name}")


if __name__ == "__main__":
    main()
