"""Wasserstein discriminants beside POT's: ``python -m benchmarks.transport``.

Each library solves in a process of its own, from the same start, with the same reg and number of
Sinkhorn's iterations: seconds of the processor with one BLAS thread, of the imports, the first
call and the next; ours once more after `import ldr, ot`, where the first call loads what it needs
of ldr. The maps are rated by POT's function, in digits as they come, where its kernel underflows,
by its function of logarithms too. A first process of each, which does not count, writes the
bytecode of what is imported, as an installation does. POT's W depends on the order of the classes,
ours is the mean of both orders: the two minimise slightly different functions.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

# Columns of a map, and Sinkhorn's iterations.
_R, _STEPS = 2, 10
_ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}


def problems() -> Iterator[tuple[str, Any, Any, float]]:
    """Names, rows, labels, reg."""
    from sklearn.datasets import load_breast_cancer, load_digits, load_wine
    from sklearn.decomposition import PCA

    def standardised(X: Any) -> Any:
        return (X - X.mean(axis=0)) / X.std(axis=0)

    for name, load, reg in (("wine", load_wine, 1.0), ("breast_cancer", load_breast_cancer, 10.0)):
        X, y = load(return_X_y=True)
        yield name, standardised(X), y, reg
    X, y = load_digits(return_X_y=True)
    X, y = PCA(20, random_state=0).fit_transform(X)[:600], y[:600]
    yield "digits, 600 x 20", standardised(X), y, 1.0
    yield "digits, in pixels", X, y, 1.0


def start(X: Any) -> Any:
    return np.linalg.qr(np.random.default_rng(0).standard_normal((X.shape[1], _R)))[0]


def ldr_solve(X: Any, y: Any, reg: float) -> Callable[[], Any]:
    from ldr import solve

    return lambda: solve("wda", X, _R, y=y, reg=reg, iterations=_STEPS, start=start(X)).M


def ldr_imported(X: Any, y: Any, reg: float) -> Callable[[], Any]:
    import ot  # noqa: F401

    import ldr

    return lambda: ldr.solve("wda", X, _R, y=y, reg=reg, iterations=_STEPS, start=start(X)).M


def pot(X: Any, y: Any, reg: float) -> Callable[[], Any]:
    from ot import dr

    return lambda: dr.wda(X.copy(), y, _R, reg=reg, k=_STEPS, P0=start(X))[0]


LIBRARIES = {"ldr": ldr_solve, "ldr, ot": ldr_imported, "POT": pot}


def child(library: str) -> None:
    """Solve the problem that stdin gives; write the seconds and the map to stdout."""
    warnings.simplefilter("ignore")
    problem = pickle.load(sys.stdin.buffer)
    clock, out = [time.process_time()], sys.stdout.buffer
    with contextlib.redirect_stdout(sys.stderr):
        solve = LIBRARIES[library](*problem)
        clock.append(time.process_time())
        for _ in range(2):
            M = solve()
            clock.append(time.process_time())
    pickle.dump((np.diff(clock), M), out)


def solved(library: str, *problem: Any) -> tuple[Any, Any]:
    environment = {**os.environ, **_ONE_THREAD}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    process = subprocess.run(
        [sys.executable, "-m", "benchmarks.transport", library],
        input=pickle.dumps(problem),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        check=True,
    )
    seconds, M = pickle.loads(process.stdout)
    return seconds, M


def rated(M: Any, X: Any, y: Any, reg: float, log: bool = False) -> float:
    """POT's function, as its wda writes it."""
    from ot import dr

    plan = dr.sinkhorn_log if log else dr.sinkhorn
    classes = dr.split_classes(X - np.mean(X), y)
    shares = [np.ones(len(A), dtype=np.float32) / len(A) for A in classes]
    sums = [0.0, 0.0]
    for i, A in enumerate(classes):
        for j in range(i, len(classes)):
            D = dr.dist(A @ M, classes[j] @ M)
            sums[i < j] += float(np.sum(plan(shares[i], shares[j], D, reg, _STEPS) * D))
    return sums[0] / sums[1]


def main() -> None:
    _, *first = next(problems())
    for library in LIBRARIES:
        solved(library, *first)
    for name, *problem in problems():
        print(name, flush=True)
        spent = {}
        for library in LIBRARIES:
            spent[library], M = solved(library, *problem)
            seconds = "   ".join(f"{s:7.3f}" for s in spent[library])
            values = f"{rated(M, *problem):.9f}, {rated(M, *problem, log=True):.9f}"
            print(f"  {library:<7} import, first, next {seconds}   rated {values}", flush=True)
        ours, imported, theirs = spent.values()
        print(
            f"  times: first {theirs[1] / ours[1]:.1f}, next {theirs[2] / ours[2]:.1f}, "
            f"imports counted {theirs[:2].sum() / ours[:2].sum():.1f}, "
            f"both imported before {theirs[1] / imported[1]:.1f}"
        )


if __name__ == "__main__":
    child(sys.argv[1]) if len(sys.argv) > 1 else main()
