"""Thousands of permutations as stacks, beside a loop: ``python -m benchmarks.permutations``."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.datasets import load_wine

import ldr
from ldr.inference.many import Chunk, optima
from ldr.inference.permutation import Null

PERMUTATIONS = 10_000
LOOPED = 300  # of the permutations, solved one by one too
MANY = 100_000


def data(name: str) -> tuple[Any, Any]:
    """Wine and its cultivars; eight and six of its columns as two views."""
    X, y = load_wine(return_X_y=True)
    return (X, y) if "lda" in name else ((X[:, :8], np.roll(X, 1, axis=1)[:, :6]), None)


def compared(name: str, r: int = 2) -> str:
    """A line: seconds, the ratio to a loop, the largest difference of values."""
    X, y = data(name)
    objective = ldr.objectives.named(name)
    null = Null.of(objective, X, y, "auto", None)
    began = time.perf_counter()
    found = ldr.permutation_test(name, X, r, y=y, permutations=PERMUTATIONS, random_state=0)
    seconds = time.perf_counter() - began
    chunk = null.draw(LOOPED, np.random.default_rng(0))
    stacked = optima(objective, [chunk], r, certify=False).values
    began = time.perf_counter()
    for k in range(LOOPED):
        X_k, y_k = chunk.problem(k)
        stacked[k] /= ldr.solve(name, X_k, r, y=y_k, certify=False).value
    loop = (time.perf_counter() - began) * PERMUTATIONS / LOOPED
    off = float(np.abs(stacked - 1.0).max())
    return (
        f"{name:<15}{PERMUTATIONS} permutations {seconds:6.2f} s   a loop {loop / seconds:5.1f} "
        f"times that   values equal to {off:.0e}   p = {found.p_value:.1e}"
    )


def memory() -> str:
    """A line: how much more memory a hundred thousand take than a thousand."""
    X, y = data("orthogonal-lda")
    null = Null.of(ldr.objectives.OrthogonalLDA(), X, y, "auto", None)

    def drawn(count: int) -> Iterator[Chunk]:
        rng = np.random.default_rng(0)
        return (null.draw(1000, rng) for _ in range(count // 1000))

    peaks = []
    for count in (1000, MANY):
        optima(ldr.objectives.OrthogonalLDA(), drawn(count), 2, with_maps=False, certify=False)
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    return f"orthogonal-lda, {MANY} permutations: {peaks[1] - peaks[0]:.0f} MiB more than 1000"


if __name__ == "__main__":
    print(memory())
    for method in ("orthogonal-lda", "lda", "cca", "pls"):
        print(compared(method))
