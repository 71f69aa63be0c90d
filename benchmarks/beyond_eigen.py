"""What is no eigenproblem, and a busy machine: ``python -m benchmarks.beyond_eigen [PART ...]``.

A line is a job of ours beside a peer's, or beside another way of ours: seconds of the processor,
the medians of runs that take turns, and what each reached. The lines of the part "busy" are seconds
of the clock with all threads that BLAS has, beside a program that keeps one core busy. Without the
name of a part all are run, in some minutes.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any, ClassVar

import numpy as np
import scipy
from scipy.spatial.distance import cdist
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.decomposition import PCA, FastICA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import NeighborhoodComponentsAnalysis, kneighbors_graph

import ldr
from ldr.objectives import Data, named
from ldr.objectives.data.opening import as_samples
from ldr.objectives.nca import SoftNeighbours
from ldr.solvers import LBFGS, Stopping, minimise
from ldr.solvers.threads import one_thread

REPEATS = 3
# Of short jobs as many turns as take so many seconds, up to so many.
SECONDS, MOST = 2.0, 100
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
    began = clock()
    reached = {job: run() for job, run in jobs.items()}  # libraries are loaded, caches are warm
    turns = max(REPEATS, min(MOST, int(SECONDS / max(clock() - began, 1e-3))))
    spent: dict[str, list[float]] = {job: [] for job in jobs}
    for _ in range(turns):
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


def busy() -> Iterator[str]:
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


class Watched(SoftNeighbours):
    """Nca that remembers when it was asked for which points."""

    seen: ClassVar[list[tuple[float, Any, Any]]] = []

    def at(self, M: Any) -> Any:
        self.seen.append((time.process_time(), replace(self, ridge=0.0), M))
        return super().at(M)


def until(value: float, X: Any, y: Any) -> float:
    """Seconds until a point of nca from its heuristic, on the way under a ridge too, is as good."""
    began = time.process_time()
    bound: Any = named("nca").bind(Data((as_samples(X),), y), 2)
    given = {field.name: getattr(bound, field.name) for field in fields(bound) if field.init}
    watched = Watched(**given)
    Watched.seen.clear()
    minimise(watched, watched.approach(watched.baseline()), LBFGS(), Stopping())
    points = ((at, problem.value(M)) for at, problem, M in list(Watched.seen))
    return next(at for at, reached in points if -reached >= value) - began


def large_margins(X: Any, y: Any) -> Job:
    """metric-learn's, where it is installed: how many iterations it took."""
    from metric_learn import LMNN

    peer = LMNN(n_components=2, n_neighbors=3, random_state=0)
    return lambda: float(peer.fit(X, y).n_iter_)


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
        name = f"nca {load.__name__[5:]}"
        yield line(name, time.process_time, jobs)
        seconds = until(neighbours(peer.components_, X, y), X, y)
        yield f"{name}: scikit-learn's value after {seconds:.3f} s"
    for load in (load_wine, load_breast_cancer):
        X, y = standardised(load)
        for name, options in (("mds-stress", {}), ("lmnn", {"y": y})):
            jobs = {
                "default": solved(name, X, 2, **options),
                "lbfgs": solved(name, X, 2, starts=1, solver="lbfgs", **options),
                "trust region": solved(name, X, 2, starts=1, solver="trust-region", **options),
            }
            with contextlib.suppress(ImportError):
                jobs |= {"metric-learn": large_margins(X, y)} if name == "lmnn" else {}
            yield line(f"{name} {load.__name__[5:]}", time.process_time, jobs)


def certificates() -> Iterator[str]:
    """A solve from one start without a certificate, and with."""
    rng = np.random.default_rng(0)
    X, y = standardised(load_breast_cancer)
    shared = rng.standard_normal((400, 5))
    views = tuple(
        shared @ rng.standard_normal((5, 100)) + 2 * rng.standard_normal((400, 100))
        for _ in range(2)
    )
    problems: dict[str, tuple[Any, dict[str, Any]]] = {
        "mds-stress": (X, {}),
        "lmnn": (X, {"y": y}),
        "nca": (X, {"y": y}),
        "robust-pca": (X, {}),
        "cca": (views, {}),
    }
    for name, (data, options) in problems.items():
        jobs = {
            "without": solved(name, data, 2, starts=1, **options),
            "with certificate": solved(name, data, 2, starts=1, certify=True, **options),
        }
        yield line(f"{name}, r = 2", time.process_time, jobs)


def picard_job(X: Any, *, orthogonal: bool) -> Job:
    """Where it is installed: to a gradient of 1e-9, and how many iterations that takes."""
    from picard import picard

    given: dict[str, Any] = {"ortho": orthogonal, "extended": orthogonal, "tol": 1e-9}
    return lambda: float(picard(X.T, **given, random_state=0, return_n_iter=True)[-1])


def sources() -> Iterator[str]:
    rng = np.random.default_rng(0)
    mixed = {
        "5000 x 10": rng.laplace(size=(5000, 10)),
        "half uniform": np.hstack([rng.laplace(size=(5000, 5)), rng.uniform(-1, 1, (5000, 5))]),
        "20,000 x 40": rng.laplace(size=(20_000, 40)),
    }
    for which, S in mixed.items():
        d = S.shape[1]
        X = S @ rng.standard_normal((d, d))
        peer = FastICA(d, random_state=0, max_iter=500, tol=1e-8, whiten="unit-variance")
        for name in ("ica", "uica"):
            jobs: dict[str, Job] = {
                "ldr": solved(name, X, d),
                "one start": solved(name, X, d, starts=1),
                "FastICA": lambda peer=peer, X=X: float(peer.fit(X).n_iter_),  # type: ignore[misc]
            }
            with contextlib.suppress(ImportError):
                jobs["Picard"] = picard_job(X, orthogonal=name == "ica")
            yield line(f"{name} {which}", time.process_time, jobs)


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


def straight(A: Any, B: Any, r: int) -> float:
    """The sum of r canonical correlations, as one writes it down."""
    A, B = A - A.mean(axis=0), B - B.mean(axis=0)
    La, Lb = np.linalg.cholesky(A.T @ A), np.linalg.cholesky(B.T @ B)
    K = scipy.linalg.solve_triangular(La, A.T @ B, lower=True)
    K = scipy.linalg.solve_triangular(Lb, K.T, lower=True)
    return float(np.linalg.svd(K)[1][:r].sum())


def straight_lpp(X: Any, r: int) -> float:
    """The value of lpp, as one writes it down."""
    Z = X - X.mean(axis=0)
    W = kneighbors_graph(Z, 10)
    W = W.maximum(W.T)
    degrees = W.sum(axis=1).A1
    A, B = Z.T @ (degrees[:, None] * Z - W @ Z), Z.T @ (degrees[:, None] * Z)
    return float(scipy.linalg.eigh(A, B, eigvals_only=False, subset_by_index=(0, r - 1))[0].sum())


def closed_forms() -> Iterator[str]:
    rng = np.random.default_rng(0)
    shared = rng.standard_normal((2000, 5))
    A, B = (
        shared @ rng.standard_normal((5, 500)) + rng.standard_normal((2000, 500)) for _ in range(2)
    )
    jobs: dict[str, Job] = {
        "ldr": solved("classical-cca", (A, B), 5, certify=True),
        "NumPy": lambda: straight(A, B, 5),
    }
    yield line("classical-cca 2000", time.process_time, jobs)
    X = rng.standard_normal((2000, 1000))
    jobs = {
        "ldr": solved("lpp", X, 5, certify=True),
        "NumPy": lambda: straight_lpp(X, 5),
    }
    yield line("lpp 2000 x 1000", time.process_time, jobs)
    wide = rng.standard_normal((3000, 20)) @ rng.standard_normal((20, 2048))
    wide += rng.standard_normal((3000, 2048))
    peer = PCA(5, svd_solver="arpack", random_state=0)
    jobs = {
        "ldr": solved("pca", wide, 5),
        "with certificate": solved("pca", wide, 5, certify=True),
        "scikit-learn": lambda: float(peer.fit(wide).noise_variance_),
    }
    yield line("pca 3000 x 2048", time.process_time, jobs)
    for d in (10, 30):
        X = rng.standard_normal((40_000, d)) * np.linspace(3, 1, d)
        jobs = {f"n = {n}": solved("lpp", X[:n], 2) for n in (10_000, 20_000, 40_000)}
        yield line(f"lpp, d = {d}", time.process_time, jobs)


PARTS = {
    "pairs": pairs_of_rows,
    "certificates": certificates,
    "sources": sources,
    "sparse": sparse,
    "kernels": kernels,
    "factors": factors,
    "closed-forms": closed_forms,
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(["busy", *PARTS]))
    chosen = parser.parse_args().parts or ["busy", *PARTS]
    if unknown := set(chosen) - {"busy", *PARTS}:
        parser.error(f"no parts {', '.join(sorted(unknown))}")
    warnings.simplefilter("ignore")
    for part in chosen:
        with contextlib.nullcontext() if part == "busy" else one_thread():
            for found in busy() if part == "busy" else PARTS[part]():
                print(found, flush=True)
