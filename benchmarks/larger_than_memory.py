"""Files larger than memory: time and memory beside a bare BLAS pass and scikit-learn.

Writes a float32 matrix (and its two halves, as the views of orthogonal-cca), once; then solves pca,
orthogonal-lda, orthogonal-cca and orthogonal-maf from the files. Seconds are by the wall clock. The
bare pass reads the same file in blocks, makes them float64 and adds X'X by one BLAS call a block;
its time is the unit of "over bare X'X". IncrementalPCA is given the same blocks.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg
from sklearn.decomposition import IncrementalPCA

import ldr
from benchmarks.turns import Job, in_mebibytes, measure

R = 10
CLASSES = 20
# Number of entries in a block of the plain pass over the data and of IncrementalPCA.
_BLOCK = 2**20


def make(folder: Path, n: int, d: int) -> None:
    """Write the files x.npy, a.npy, b.npy and y.npy.

    Rows follow a first-order autoregression in half of the columns, with class means, a mean of 3
    and standard deviations from 1 to 4.
    """
    rng = np.random.default_rng(0)
    y = rng.integers(0, CLASSES, n)
    np.save(folder / "y.npy", y)
    means = 0.3 * rng.standard_normal((CLASSES, d)).astype(np.float32)
    scales = np.linspace(1, 4, d, dtype=np.float32)
    mixing = np.eye(d, dtype=np.float32) + rng.standard_normal((d, d), dtype=np.float32) / d
    columns = {"x": slice(None), "a": slice(d // 2), "b": slice(d // 2, None)}
    opened = {
        name: np.lib.format.open_memmap(
            folder / f"{name}.npy", "w+", np.float32, (n, len(range(d)[part]))
        )
        for name, part in columns.items()
    }
    step = _BLOCK // d
    for start in range(0, n, step):
        codes = y[start : start + step]
        rows = rng.standard_normal((len(codes) + 1, d), dtype=np.float32)
        rows[1:, ::2] += 0.7 * rows[:-1, ::2]
        rows = (rows[1:] * scales + means[codes]) @ mixing + np.float32(3)
        for name, part in columns.items():
            opened[name][start : start + step] = rows[:, part]
    for array in opened.values():
        array.flush()


def blocks(path: Path) -> Iterator[np.ndarray]:
    """Yield the blocks of a file as they are stored, read without a map."""
    header = np.load(path, mmap_mode="r")
    n, d = header.shape
    step = max(1, _BLOCK // d)
    with path.open("rb") as file:
        file.seek(header.offset)
        del header
        for start in range(0, n, step):
            count = min(step, n - start)
            yield np.fromfile(file, np.float32, count * d).reshape(count, d)


def bare(folder: Path) -> float:
    """X'X, block by block, in float64."""
    total: Any = None
    for block in blocks(folder / "x.npy"):
        rows = block.astype(np.float64)
        if total is None:
            total = np.zeros((rows.shape[1],) * 2, order="F")
        total = scipy.linalg.blas.dsyrk(1.0, rows.T, beta=1.0, c=total, overwrite_c=1)
    return float(np.trace(total))


def incremental_pca(folder: Path) -> float:
    """scikit-learn's, on the same blocks."""
    model = IncrementalPCA(R)
    for block in blocks(folder / "x.npy"):
        if len(block) >= R:
            model.partial_fit(block)
    return float(model.explained_variance_.sum())


def solved(method: str, folder: Path) -> float:
    path = folder / "x.npy"
    X = (folder / "a.npy", folder / "b.npy") if method == "orthogonal-cca" else path
    y = np.load(folder / "y.npy") if method == "orthogonal-lda" else None
    return float(ldr.solve(method, X, R, y=y).value)


SOLVED = ("pca", "orthogonal-lda", "orthogonal-cca", "orthogonal-maf")
WORK: dict[str, Callable[[Path], float]] = {
    "bare X'X": bare,
    **{method: partial(solved, method) for method in SOLVED},
    "IncrementalPCA": incremental_pca,
}


def job(name: str, folder: Path) -> dict[str, Job]:
    ldr.solve("orthogonal-lda", np.random.default_rng(0).random((50, 4)), 2, y=np.arange(50) % 3)
    return {name: (partial(WORK[name], folder), lambda value: (value, in_mebibytes("VmHWM")))}


def cells(name: str, folder: Path, unit: list[float]) -> str:
    """Return the cells of a row; the first is the unit of the others."""
    found = measure(partial(job, name, folder), np.inf, contextlib.nullcontext)
    seconds, (value, peak) = found.clock[name], found.values[name]
    unit.append(seconds)
    return f"{seconds:.3g} | {seconds / unit[0]:.2f} | {peak / 1024:.2f} | {value:.12g} |"


def rows(n: int, d: int) -> Iterator[tuple[str, Callable[[], str]]]:
    """Yield the rows, from files that are there meanwhile."""
    unit: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder), n, d)
        for name in WORK:
            yield f"| {name} |", partial(cells, name, Path(folder), unit)
