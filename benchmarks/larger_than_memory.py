"""Files larger than memory: time, memory and GB/s beside a bare BLAS pass and scikit-learn.

    python -m benchmarks.larger_than_memory [--rows N] [--columns D] [--folder FOLDER] [--quick]

Writes a float32 matrix to FOLDER (and its two halves, as the views of orthogonal-cca), once; then
solves pca, orthogonal-lda, orthogonal-cca and orthogonal-maf from the files, each in a process of
its own, whose peak of resident memory is read when it ends. The bare pass reads the same file in
blocks, makes them float64 and adds X'X by one BLAS call a block; its time is the unit of "ratio".
IncrementalPCA is given the same blocks.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg

R = 10
CLASSES = 20
# Rows of a block of the bare pass and of IncrementalPCA: 2^20 numbers.
_BLOCK = 2**20


def make(folder: Path, n: int, d: int) -> None:
    """The files x.npy, a.npy, b.npy and y.npy, unless they are there with this shape.

    Rows follow a first-order autoregression in half of the columns, with class means, a mean of 3
    and standard deviations from 1 to 4.
    """
    if (folder / "x.npy").exists() and np.load(folder / "x.npy", mmap_mode="r").shape == (n, d):
        return
    rng = np.random.default_rng(0)
    y = rng.integers(0, CLASSES, n)
    np.save(folder / "y.npy", y)
    means = 0.3 * rng.standard_normal((CLASSES, d)).astype(np.float32)
    scales = np.linspace(1, 4, d, dtype=np.float32)
    mixing = np.eye(d, dtype=np.float32) + rng.standard_normal((d, d), dtype=np.float32) / d
    shapes = {"x": (n, d), "a": (n, d // 2), "b": (n, d - d // 2)}
    opened = {
        name: np.lib.format.open_memmap(folder / f"{name}.npy", "w+", np.float32, shape)
        for name, shape in shapes.items()
    }
    step = _BLOCK // d
    for start in range(0, n, step):
        codes = y[start : start + step]
        rows = rng.standard_normal((len(codes) + 1, d), dtype=np.float32)
        rows[1:, ::2] += 0.7 * rows[:-1, ::2]
        rows = (rows[1:] * scales + means[codes]) @ mixing + np.float32(3)
        parts = {"x": rows, "a": rows[:, : d // 2], "b": rows[:, d // 2 :]}
        for name, part in parts.items():
            opened[name][start : start + step] = part
    for array in opened.values():
        array.flush()


def blocks(path: Path) -> Iterator[np.ndarray]:
    """Blocks of a file as they are stored, read without a map."""
    header = np.load(path, mmap_mode="r")
    n, d = header.shape
    with path.open("rb") as file:
        file.seek(header.offset)
        del header
        step = max(1, _BLOCK // d)
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
    from sklearn.decomposition import IncrementalPCA

    model = IncrementalPCA(R)
    for block in blocks(folder / "x.npy"):
        if len(block) >= R:
            model.partial_fit(block)
    return float(model.explained_variance_.sum())


def solved(method: str) -> Callable[[Path], float]:
    """`ldr.solve` of a method on the files."""

    def work(folder: Path) -> float:
        import ldr

        path = folder / "x.npy"
        X = (folder / "a.npy", folder / "b.npy") if method == "orthogonal-cca" else path
        y = np.load(folder / "y.npy") if method == "orthogonal-lda" else None
        return float(ldr.solve(method, X, R, y=y).value)

    return work


WORK: dict[str, Callable[[Path], float]] = {
    "bare X'X": bare,
    **{
        method: solved(method)
        for method in ("pca", "orthogonal-lda", "orthogonal-cca", "orthogonal-maf")
    },
    "IncrementalPCA": incremental_pca,
}


def measure(name: str, folder: Path) -> dict[str, Any]:
    """Work done in a fresh process: value, seconds (imports left out), peak memory in GB."""
    command = [sys.executable, "-m", "benchmarks.larger_than_memory", "--work", name]
    done = subprocess.run(
        [*command, "--folder", str(folder)], check=True, capture_output=True, text=True
    )
    return dict(json.loads(done.stdout.splitlines()[-1]))


def do(name: str, folder: Path) -> None:
    """The work itself, reported as one line of JSON."""
    import ldr

    ldr.solve(
        "orthogonal-lda", np.random.default_rng(0).standard_normal((50, 4)), 2, y=np.arange(50) % 3
    )
    began = time.perf_counter()
    value = WORK[name](folder)
    seconds = time.perf_counter() - began
    print(json.dumps({"work": name, "value": value, "seconds": seconds, "peak": peak_memory()}))


def peak_memory() -> float:
    """Peak of resident memory of this process in GB.

    Linux's own figure, because `getrusage` counts what the parent held before the process began.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(x for x in status.read_text().splitlines() if x.startswith("VmHWM"))
        return int(line.split()[1]) * 1024 / 1e9
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def table(folder: Path, repeats: int, only: Sequence[str]) -> list[dict[str, Any]]:
    """Measure everything in turn, `repeats` times, and print the medians."""
    size = (folder / "x.npy").stat().st_size / 1e9
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in WORK if not only or name in only}
    for _ in range(repeats):
        for name in found:
            found[name].append(measure(name, folder))
    rows = []
    unit = np.median([run["seconds"] for run in found[next(iter(found))]])
    print(f"{'work':15s} {'seconds':>8s} {'GB/s':>6s} {'ratio':>6s} {'peak GB':>8s}  value")
    for name, runs in found.items():
        seconds = float(np.median([run["seconds"] for run in runs]))
        peak = max(run["peak"] for run in runs)
        row = {"work": name, "seconds": seconds, "peak": peak, "value": runs[0]["value"]}
        rows.append({**row, "ratio": seconds / unit, "gigabytes": size})
        print(
            f"{name:15s} {seconds:8.2f} {size / seconds:6.2f} {seconds / unit:6.2f} {peak:8.2f}  "
            f"{row['value']:.12g}",
            flush=True,
        )
    return rows


def subset(folder: Path, rows: int) -> None:
    """The largest relative difference between values from files and from memory, on a part."""
    import ldr

    with tempfile.TemporaryDirectory() as part:
        for name in "xaby":
            np.save(
                Path(part) / f"{name}.npy", np.load(folder / f"{name}.npy", mmap_mode="r")[:rows]
            )
        y = np.load(Path(part) / "y.npy")
        X, a, b = (np.load(Path(part) / f"{name}.npy").astype(np.float64) for name in "xab")
        for method in ("pca", "orthogonal-lda", "orthogonal-cca", "orthogonal-maf"):
            inside = ldr.solve(method, (a, b) if method == "orthogonal-cca" else X, R, y=y).value
            outside = WORK[method](Path(part))
            print(f"{method}: {rows} rows, file against memory {abs(outside / inside - 1):.1e}")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=8_000_000)
    parser.add_argument("--columns", type=int, default=200)
    parser.add_argument("--folder", type=Path, help="where the files are kept; else they are not")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--only", nargs="+", default=[], choices=list(WORK))
    parser.add_argument("--quick", action="store_true", help="a small file")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--work", choices=list(WORK), help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.work:
        do(given.work, given.folder)
        return
    n, d = (20_000, 20) if given.quick else (given.rows, given.columns)
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        make(folder, n, d)
        rows = table(folder, given.repeats, given.only)
        subset(folder, min(n, 100_000))
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
