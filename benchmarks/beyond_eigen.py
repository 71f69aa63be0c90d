"""What is no eigenproblem, and a busy machine: ``python -m benchmarks.beyond_eigen``.

A line is a job of ours beside a peer's, or beside another way of ours: seconds of the processor,
the medians of runs that take turns, and what each reached. The first lines are seconds of the
clock with all threads that BLAS has, beside a program that keeps one core busy.
"""

from __future__ import annotations

import contextlib
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.decomposition import PCA, FastICA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import NeighborhoodComponentsAnalysis

import ldr
from ldr.solvers.threads import one_thread

REPEATS = 3
Job = Callable[[], float]


def standardised(load: Callable[..., Any]) -> tuple[Any, Any]:
    X, y = load(return_X_y=True)
    X = X[:, X.std(axis=0) > 0]
    return (X - X.mean(axis=0)) / X.std(axis=0), y


@contextlib.contextmanager
def busy_core() -> Iterator[None]:
    program = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        program.kill()
        program.wait()


def line(name: str, clock: Callable[[], float], jobs: dict[str, Job]) -> str:
    """Medians of the jobs, which take turns; the first is ours, the ratios are to it."""
    reached = {job: run() for job, run in jobs.items()}  # libraries are loaded, caches are warm
    spent: dict[str, list[float]] = {job: [] for job in jobs}
    for _ in range(REPEATS):
        for job, run in jobs.items():
            began = clock()
            run()
            spent[job].append(clock() - began)
    medians = {job: statistics.median(seconds) for job, seconds in spent.items()}
    first = next(iter(medians.values()))
    cells = (
        f"{job} {medians[job]:8.3f} s ({medians[job] / first:5.2f}) {reached[job]:.7g}"
        for job in jobs
    )
    return f"{name:<24}" + "   ".join(cells)


def solved(name: str, X: Any, r: int, **options: Any) -> Job:
    options.setdefault("certify", False)
    return lambda: ldr.solve(name, X, r, **options).value


def eigen_methods() -> Iterator[str]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, 4000)
    X = rng.standard_normal((4000, 1024)) + 0.5 * rng.standard_normal((10, 1024))[y]
    Z = rng.standard_normal((4000, 100)) @ rng.standard_normal((100, 100))
    lda = LinearDiscriminantAnalysis(solver="eigen")
    jobs: dict[str, dict[str, Job]] = {
        "lda 4000 x 1024": {
            "ldr": solved("lda", X, 5, y=y, certify=True),
            "scikit-learn": lambda: float(lda.fit(X, y).score(X[:9], y[:9])),
        },
        "pca 4000 x 100": {
            "ldr": solved("pca", Z, 5, certify=True),
            "scikit-learn": lambda: float(PCA(5).fit(Z).noise_variance_),
        },
    }
    for name, job in jobs.items():
        yield line(name, time.perf_counter, job)
        with busy_core():
            yield line(f"{name}, busy", time.perf_counter, job)


def neighbours(P: Any, X: Any, y: Any) -> float:
    """The value of nca."""
    D = cdist(X @ P.T, X @ P.T, "sqeuclidean")
    np.fill_diagonal(D, np.inf)
    K = np.exp(D.min(axis=1)[:, None] - D)
    K /= K.sum(axis=1)[:, None]
    return float(K[y[:, None] == y].sum())


def pairs_of_rows() -> Iterator[str]:
    for load in (load_wine, load_breast_cancer, load_digits):
        X, y = standardised(load)
        peer = NeighborhoodComponentsAnalysis(2, random_state=0)
        jobs: dict[str, Job] = {
            "ldr": solved("nca", X, 2, y=y),
            "scikit-learn": lambda X=X, y=y, peer=peer: neighbours(  # type: ignore[misc]
                peer.fit(X, y).components_, X, y
            ),
        }
        yield line(f"nca {load.__name__[5:]}", time.process_time, jobs)
    X, y = standardised(load_wine)
    for name, options in (("mds-stress", {}), ("lmnn", {"y": y})):
        jobs = {
            "lbfgs": solved(name, X, 2, starts=1, solver="lbfgs", **options),
            "trust region": solved(name, X, 2, starts=1, solver="trust-region", **options),
            "with certificate": solved(name, X, 2, starts=1, certify=True, **options),
        }
        yield line(f"{name} wine", time.process_time, jobs)


def picard_job(X: Any, *, orthogonal: bool) -> Job:
    """Where it is installed: to a gradient of 1e-9, and how many iterations that takes."""
    from picard import picard

    given: dict[str, Any] = {"ortho": orthogonal, "extended": orthogonal, "tol": 1e-9}
    return lambda: float(picard(X.T, **given, random_state=0, return_n_iter=True)[-1])


def sources() -> Iterator[str]:
    rng = np.random.default_rng(0)
    X = rng.laplace(size=(5000, 10)) @ rng.standard_normal((10, 10))
    peer = FastICA(10, random_state=0, max_iter=500, tol=1e-8, whiten="unit-variance")
    for name in ("ica", "uica"):
        jobs: dict[str, Job] = {
            "ldr": solved(name, X, 10),
            "one start": solved(name, X, 10, starts=1),
            "FastICA": lambda: float(peer.fit(X).n_iter_),
        }
        with contextlib.suppress(ImportError):
            jobs["Picard"] = picard_job(X, orthogonal=name == "ica")
        yield line(f"{name} 5000 x 10", time.process_time, jobs)


def sparse() -> Iterator[str]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 200)) * np.linspace(3, 1, 200)
    X[:, :20] += 3 * rng.standard_normal((300, 1))
    X[:, 20:50] += 2 * rng.standard_normal((300, 1))
    jobs = {f"r = {r}": solved("sparse-pca", X, r, penalty=300.0) for r in (10, 20, 30)}
    yield line("sparse-pca 300 x 200", time.process_time, jobs)


def kernels() -> Iterator[str]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 10))
    y = X[:, 0] / (0.5 + (X[:, 1] + 1.5) ** 2) + 0.2 * rng.standard_normal(20_000)
    for name in ("sdr", "hsic"):
        jobs = {
            f"n = {n}{', one start' * (starts == 1)}": solved(
                name, X[:n], 2, y=y[:n], starts=starts
            )
            for n in (2000, 20_000)
            for starts in (None, 1)
        }
        yield line(name, time.process_time, jobs)


def factors() -> Iterator[str]:
    rng = np.random.default_rng(0)
    X = 2 * rng.standard_normal((1000, 2)) @ rng.standard_normal((2, 200))
    X += rng.standard_normal((1000, 200)) * rng.uniform(0.5, 2, 200)
    jobs = {f"r = {r}": solved("fa", X, r) for r in (60, 100)}
    yield line("fa 1000 x 200", time.process_time, jobs)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for found in eigen_methods():
        print(found, flush=True)
    with one_thread():
        for rows in (pairs_of_rows(), sources(), sparse(), kernels(), factors()):
            for found in rows:
                print(found, flush=True)
