"""What is no eigenproblem, and a busy machine: ``python -m benchmarks.beyond_eigen [PART ...]``.

A line is a job of ours beside a peer's, or beside another way of ours: seconds of the processor
with one BLAS thread, the medians of runs that take turns, and what each reached. The lines of the
part "busy" are seconds of the clock with all threads that BLAS has, beside a program that keeps one
core busy. Below it stand the ratios and the most that they are to be, and all of them at the end.
Without the name of a part all are run, in some minutes.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, ClassVar

import numpy as np
import scipy
import sklearn
from scipy.spatial.distance import cdist
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.decomposition import PCA, FastICA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import NearestNeighbors, NeighborhoodComponentsAnalysis, kneighbors_graph

import ldr
from benchmarks import doors, small
from benchmarks.growth import slope
from benchmarks.turns import Bar, Job, Lines, busy_core, standardised, turns
from ldr.objectives import Data, named
from ldr.objectives.data.opening import as_samples
from ldr.objectives.metric import SoftNeighbours
from ldr.solvers import LBFGS, Stopping, minimise
from ldr.solvers.deadline import one_thread


def solved(name: str, X: Any, r: int, **options: Any) -> Job:
    options.setdefault("certify", False)
    return lambda: ldr.solve(name, X, r, **options).value


def busy() -> Lines:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, 4000)
    X = rng.standard_normal((4000, 1024)) + 0.5 * rng.standard_normal((10, 1024))[y]
    Z = rng.standard_normal((4000, 100)) @ rng.standard_normal((100, 100))
    lda = LinearDiscriminantAnalysis(solver="eigen")
    jobs: dict[str, dict[str, Job]] = {
        "orthogonal-lda 4000 x 1024": {
            "ldr": solved("orthogonal-lda", X, 5, y=y, certify=True),
            "scikit-learn": lambda: float(lda.fit(X, y).score(X[:9], y[:9])),
        },
        "pca 4000 x 100": {
            "ldr": solved("pca", Z, 5, certify=True),
            "scikit-learn": lambda: float(PCA(5).fit(Z).noise_variance_),
        },
    }
    for name, job in jobs.items():
        yield (quiet := turns(name, job, time.perf_counter))
        with busy_core():
            yield (taken := turns(f"{name}, busy", job, time.perf_counter))
        itself = taken.seconds["ldr"] / quiet.seconds["ldr"]
        yield Bar(f"{name}: busy / quiet", itself, 2.5)
        yield taken.ratio("ldr", "scikit-learn", most=1.0)


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


def accuracy(Z: Any, y: Any) -> float:
    """The share of rows of the class that most of their three neighbours have."""
    votes = y[NearestNeighbors(n_neighbors=3).fit(Z).kneighbors()[1]]
    return float(np.mean(scipy.stats.mode(votes, axis=1).mode == y))


def neighbourhoods() -> Lines:
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
        yield (found := turns(name, jobs))
        seconds = until(found.reached["scikit-learn"], X, y)
        share = seconds / found.seconds["scikit-learn"]
        yield Bar(f"{name}: to scikit-learn's value / scikit-learn", share, 1.0)
        yield found.apart("ldr", "scikit-learn", most=0.0, sense=-1)


def pairs() -> Lines:
    for load in (load_wine, load_breast_cancer):
        X, y = standardised(load)
        for name, options in (("mds-stress", {}), ("lmnn", {"y": y})):
            jobs = {
                "all starts": solved(name, X, 2, **options),
                "one start": solved(name, X, 2, starts=1, **options),
                "lbfgs": solved(name, X, 2, starts=1, solver="lbfgs", **options),
                "trust region": solved(name, X, 2, starts=1, solver="trust-region", **options),
            }
            yield (found := turns(f"{name} {load.__name__[5:]}", jobs))
            yield found.ratio("one start", "lbfgs", "trust region", most=1.1)
        yield from large_margins(f"lmnn {load.__name__[5:]}", X, y)


def renamed(check: Callable[..., Any]) -> Callable[..., Any]:
    def renaming(*given: Any, force_all_finite: bool = True, **options: Any) -> Any:
        return check(*given, ensure_all_finite=force_all_finite, **options)

    return renaming


def large_margins(name: str, X: Any, y: Any) -> Lines:
    """Beside metric-learn's, where it is installed; each reaches its accuracy."""
    try:
        from metric_learn import LMNN, _util
    except ImportError:
        return
    for check in ("check_array", "check_X_y"):  # scikit-learn has another name for an option
        setattr(_util, check, renamed(getattr(sklearn.utils, check)))
    peer = LMNN(n_components=2, n_neighbors=3, random_state=0)
    jobs: dict[str, Job] = {
        "ldr": lambda: accuracy(ldr.solve("lmnn", X, 2, y=y, certify=False).transform(X), y),
        "metric-learn": lambda: accuracy(peer.fit(X, y).transform(X), y),
    }
    yield (found := turns(f"{name}, all starts", jobs))
    yield found.ratio("ldr", "metric-learn", most=1.0)
    yield found.apart("ldr", "metric-learn", most=0.01, sense=-1)


def certificates() -> Lines:
    """A solve without a certificate, and with: from one start, of coupled views from all."""
    rng = np.random.default_rng(0)
    X, y = standardised(load_breast_cancer)
    shared = rng.standard_normal((400, 2))  # little, so that the bound does not close
    views = tuple(
        shared @ rng.standard_normal((2, 100)) + 8 * rng.standard_normal((400, 100))
        for _ in range(2)
    )
    problems: dict[str, tuple[Any, dict[str, Any], float]] = {
        "mds-stress": (X, {"starts": 1}, 0.5),
        "lmnn": (X, {"y": y, "starts": 1}, 0.5),
        "nca": (X, {"y": y, "starts": 1}, 0.5),
        "wda": (X, {"y": y, "starts": 1, "reg": 10.0}, 0.5),
        "robust-pca": (X, {"starts": 1}, 0.5),
        "orthogonal-cca": (views, {}, 1.0),
    }
    for name, (data, options, most) in problems.items():
        jobs = {
            "without": solved(name, data, 2, **options),
            "with certificate": solved(name, data, 2, certify=True, **options),
        }
        yield (found := turns(f"{name}, r = 2", jobs))
        yield found.surplus("with certificate", "without", most)


def picard_job(X: Any, *, orthogonal: bool) -> Job:
    """Where it is installed: to a gradient of 1e-9, and how many iterations that takes."""
    sys.modules["numexpr"] = None  # type: ignore[assignment]  # slower with it
    from picard import picard

    given: dict[str, Any] = {"ortho": orthogonal, "extended": orthogonal, "tol": 1e-9}
    return lambda: float(picard(X.T, **given, random_state=0, return_n_iter=True)[-1])


def sources() -> Lines:
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
                # Of f, which is .01 and 14: norms below Picard's largest entry, 1e-9, on its scale.
                "same gradient": solved(name, X, d, tolerance=1e-8 if name == "ica" else 1e-10),
                "one start": solved(name, X, d, starts=1),
                "FastICA": lambda peer=peer, X=X: float(peer.fit(X).n_iter_),  # type: ignore[misc]
            }
            with contextlib.suppress(ImportError):
                jobs["Picard"] = picard_job(X, orthogonal=name == "ica")
            yield (found := turns(f"{name} {which}", jobs))
            if "Picard" in jobs:
                yield found.ratio("same gradient", "Picard", most=1.5)


def sparse() -> Lines:
    rng = np.random.default_rng(0)
    name, X = "sparse-pca 300 x 200", rng.standard_normal((300, 200)) * np.linspace(3, 1, 200)
    X[:, :20] += 3 * rng.standard_normal((300, 1))
    X[:, 20:50] += 2 * rng.standard_normal((300, 1))
    ranks = (10, 20, 30)
    yield (
        found := turns(name, {f"r = {r}": solved("sparse-pca", X, r, penalty=300.0) for r in ranks})
    )
    yield Bar(f"{name}: seconds of r = 30", found.seconds["r = 30"], 2.0)
    yield Bar(f"{name}: slope in r", slope(ranks, list(found.seconds.values())), 3.0)


def off_exact(name: str, X: Any, y: Any) -> float:
    """||grad f - grad of the exact form|| at the optimum, in units of that at a random point."""
    data = Data((as_samples(X),), y)
    M = ldr.solve(name, X, 2, y=y, certify=False).run.M
    ours, exact = (type(named(name))(landmarks=many).bind(data, 2) for many in ("auto", None))
    project, far = exact.manifold.project, exact.random_point(np.random.default_rng(0))
    off = project(M, ours.near(M).at(M).gradient) - project(M, exact.at(M).gradient)
    return float(np.linalg.norm(off) / np.linalg.norm(exact.at(far).gradient))


def kernels() -> Lines:
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
        yield (found := turns(name, jobs))
        for n, most in ((2000, 1.0), (20_000, 20.0)):
            yield Bar(f"{name}: seconds of n = {n}", found.seconds[f"n = {n}"], most)
        yield Bar(f"{name}: gradient of n = 2000", off_exact(name, X[:2000], y[:2000]), 1e-7)


def factors() -> Lines:
    rng = np.random.default_rng(0)
    X = 2 * rng.standard_normal((1000, 2)) @ rng.standard_normal((2, 200))
    X += rng.standard_normal((1000, 200)) * rng.uniform(0.5, 2, 200)
    yield (found := turns("fa 1000 x 200", {f"r = {r}": solved("fa", X, r) for r in (60, 100)}))
    yield found.ratio("r = 100", "r = 60", most=3.0)


def small_problems() -> Lines:
    for name, problem in small.problems().items():
        least, apart = small.compared(name, *problem)
        yield small.line(name, least, apart)
        for job, most in (("solve", 3.0), ("of many", 1.0)):
            yield Bar(f"{name} 150 x 10: {job} / loop", least[job] / least["loop"], most)


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


def closed_forms() -> Lines:
    rng = np.random.default_rng(0)
    shared = rng.standard_normal((2000, 5))
    A, B = (
        shared @ rng.standard_normal((5, 500)) + rng.standard_normal((2000, 500)) for _ in range(2)
    )
    X = rng.standard_normal((2000, 1000))
    scaled = X * 10.0 ** rng.uniform(-3, 3, 1000)
    jobs: dict[str, tuple[Job, Job]] = {
        "cca 2000 x (500 + 500)": (
            solved("cca", (A, B), 5, certify=True),
            lambda: straight(A, B, 5),
        ),
        "lpp 2000 x 1000": (solved("lpp", X, 5, certify=True), lambda: straight_lpp(X, 5)),
        "lpp, columns of several scales": (
            solved("lpp", scaled, 5, certify=True),
            lambda: straight_lpp(scaled, 5),
        ),
    }
    for name, (ours, straight_line) in jobs.items():
        yield (found := turns(name, {"ldr": ours, "NumPy": straight_line}))
        yield found.ratio("ldr", "NumPy", most=2.0)


def many_columns() -> Lines:
    rng = np.random.default_rng(0)
    wide = rng.standard_normal((3000, 20)) @ rng.standard_normal((20, 2048))
    wide += rng.standard_normal((3000, 2048))
    peer = PCA(5, svd_solver="arpack", random_state=0)
    jobs: dict[str, Job] = {
        "ldr": solved("pca", wide, 5),
        "with certificate": solved("pca", wide, 5, certify=True),
        "scikit-learn": lambda: float(peer.fit(wide).noise_variance_),
    }
    yield (found := turns("pca 3000 x 2048", jobs))
    yield found.ratio("ldr", "scikit-learn", most=1.0)
    result = ldr.solve("pca", wide, 5)
    proved = result.converged and result.certificate.kind == "global"
    gap = result.certificate.gap / result.value if proved else math.inf
    yield Bar("pca 3000 x 2048: proved gap / value", gap, 1e-9)


def graphs() -> Lines:
    """Rows that fill all dimensions, of which there is no faster exact way, or three of them."""
    rng = np.random.default_rng(0)
    sizes = (10_000, 20_000, 40_000)
    cases = (("lpp", 10, 10), ("npe", 10, 10), ("lpp", 30, 30), ("lpp", 10, 3), ("lpp", 50, 3))
    for name, d, filled in cases:
        X = rng.standard_normal((sizes[-1], d)) * np.linspace(3, 1, d)
        if filled < d:
            X = X[:, :filled] @ rng.standard_normal((filled, d)) + 0.01 * X
        jobs = {f"n = {n}": solved(name, X[:n], 2) for n in sizes}
        yield (found := turns(f"{name}, {filled} of {d} columns filled", jobs))
        yield Bar(f"{found.name}: slope in n", slope(sizes, list(found.seconds.values())), 1.8)


PARTS: dict[str, Callable[[], Lines]] = {
    "busy": busy,
    "nca": neighbourhoods,
    "pairs": pairs,
    "certificates": certificates,
    "sources": sources,
    "sparse": sparse,
    "kernels": kernels,
    "factors": factors,
    "small": small_problems,
    "closed-forms": closed_forms,
    "columns": many_columns,
    "graphs": graphs,
    "cold": doors.cold_start,
    "jax": doors.compiled,
    "autograd": doors.taped,
    "lengths": doors.lengths,
    "pymanopt": doors.of_pymanopt,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    chosen = parser.parse_args().parts or PARTS
    if unknown := set(chosen) - set(PARTS):
        parser.error(f"no parts {', '.join(sorted(unknown))}")
    warnings.simplefilter("ignore")
    bars = []
    for part in chosen:
        with contextlib.nullcontext() if part == "busy" else one_thread():
            for found in PARTS[part]():
                print(found, flush=True)
                bars += [found] if isinstance(found, Bar) else []
    if len(chosen) > 1:
        print("", *bars, sep="\n")


if __name__ == "__main__":
    main()
