"""Default calls on particular data, each with a figure that it should reach."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.decomposition import FactorAnalysis
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Lasso
from sklearn.neighbors import NeighborhoodComponentsAnalysis

import ldr
from benchmarks.defaults import Inputs, contrast, fast_ica, line_cca, nca_value, picard_o
from benchmarks.turns import Job, Measured, solve_job
from ldr.objectives import Data, named
from ldr.objectives.data.opening import as_samples
from ldr.solvers import LBFGS, Stopping, minimise

ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}


@dataclass(frozen=True)
class Case:
    """A row: its jobs, what is read off them, and what it should be."""

    name: str
    jobs: Callable[[], dict[str, Job]]
    # The figure in words.
    figure: Callable[[Measured], str]
    wanted: str
    # What differs from a default call.
    tuned: str = ""


def own(name: str, inputs: Inputs, r: int, **options: Any) -> dict[str, Job]:
    """Return the default call, and the same without a certificate."""
    solve = partial(ldr.solve, name, inputs.X, r, y=inputs.y, **options)
    return {"ldr": solve_job(solve), "uncertified": solve_job(partial(solve, certify=False))}


def ratio(beside: str, job: str = "ldr") -> Callable[[Measured], str]:
    """Return a figure: the time of a job in those of another."""

    def figure(found: Measured) -> str:
        if not {job, beside} <= set(found.seconds):
            return "not measured"
        return f"{found.seconds[job] / found.seconds[beside]:.2f} of {beside}"

    return figure


def seconds(found: Measured) -> str:
    return f"{found.seconds['ldr']:.2f} s" if "ldr" in found.seconds else "not measured"


def exponent(sizes: tuple[int, ...]) -> Callable[[Measured], str]:
    """Return a figure: the exponent of the time between the last two of the jobs, by size."""

    def figure(found: Measured) -> str:
        last = [found.seconds.get(f"n = {n}", np.nan) for n in sizes[-2:]]
        power = np.log(last[1] / last[0]) / np.log(sizes[-1] / sizes[-2])
        return f"exponent {power:.2f}, {last[1]:.2f} s"

    return figure


def standardised(load: Callable[..., Any]) -> Inputs:
    X, y = load(return_X_y=True)
    X = X[:, X.std(axis=0) > 0]
    return Inputs((X - X.mean(axis=0)) / X.std(axis=0), y)


def rank_three(seed: int) -> Inputs:
    """Return draws of factor analysis with equal noise: 2000 x 50."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((2000, 3)) @ rng.standard_normal((3, 50))
    return Inputs(X + rng.standard_normal((2000, 50)))


def factor_draws(draws: int) -> Iterator[tuple[float, float]]:
    """Yield -loglik of the default end, and of scikit-learn at tol 1e-8."""
    for seed in range(draws):
        X = rank_three(seed).X
        exact = FactorAnalysis(3, tol=1e-8, max_iter=10_000, svd_method="lapack").fit(X)
        yield ldr.solve("fa", X, 3).value, -len(X) * exact.score(X)


def factor_count(draws: int) -> dict[str, Job]:
    def above() -> int:
        return sum(ours > theirs * (1 + 1e-9) for ours, theirs in factor_draws(draws))

    return {"draws": (above, float)}


def factors() -> dict[str, Job]:
    X = rank_three(3).X
    peer = FactorAnalysis(3)
    return own("fa", Inputs(X), 3) | {
        "scikit-learn": (lambda: peer.fit(X), lambda fit: float(-len(X) * fit.score(X)))
    }


def neighbours(load: Callable[..., Any]) -> dict[str, Job]:
    inputs = standardised(load)
    peer = NeighborhoodComponentsAnalysis(2, random_state=0)
    return own("nca", inputs, 2) | {
        "scikit-learn": (
            lambda: peer.fit(inputs.X, inputs.y),
            partial(nca_value, inputs, 2),
        )
    }


def few_neighbours() -> dict[str, Job]:
    """Three overlapping classes in 150 x 10: two columns differ between the classes."""
    rng = np.random.default_rng(0)
    y = np.arange(150) % 3
    X = rng.standard_normal((150, 10))
    X[:, :2] += 2.5 * np.array([[0, 0], [1, 0], [0, 1]])[y]
    inputs = Inputs(X, y)
    peer = NeighborhoodComponentsAnalysis(3, random_state=0)
    return own("nca", inputs, 3) | {
        "scikit-learn": (lambda: peer.fit(X, y), partial(nca_value, inputs, 3))
    }


def squares(d: int) -> dict[str, Job]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, d))
    return own("sdr", Inputs(X, X[:, 0] ** 2 + 0.1 * rng.standard_normal(2000)), 2)


def sources(n: int, d: int) -> dict[str, Job]:
    rng = np.random.default_rng(0)
    inputs = Inputs(rng.laplace(size=(n, d)) @ rng.standard_normal((d, d)))
    return own("ica", inputs, d) | {
        "FastICA": (partial(fast_ica, inputs, d), contrast),
        "Picard-O": (partial(picard_o, inputs, d), contrast),
    }


def responses() -> dict[str, Job]:
    """Twelve responses of ten columns each, of 1000."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 1000))
    C = np.zeros((1000, 12))
    for k in range(12):
        C[rng.choice(1000, 10, replace=False), k] = rng.standard_normal(10)
    Y = X @ C + 0.5 * rng.standard_normal((200, 12))
    peer = Lasso(0.5 / 200, tol=1e-8, max_iter=100_000)

    def value(fit: Any) -> float:
        return float(np.sum((Y - fit.predict(X)) ** 2) + np.sum(np.abs(fit.coef_)))

    return own("lasso", Inputs(X, Y), 12) | {"scikit-learn": (lambda: peer.fit(X, Y), value)}


def few_dimensions() -> dict[str, Job]:
    """Classes in 2000 x 500 of rank about 20."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, 2000)
    X = rng.standard_normal((2000, 20)) + 2 * rng.standard_normal((5, 20))[y]
    inputs = Inputs(X @ rng.standard_normal((20, 500)), y)
    peer = LinearDiscriminantAnalysis(n_components=3)
    return {
        f"{name}{suffix}": job
        for name in ("orthogonal-lda", "lda")
        for suffix, job in own(name, inputs, 3).items()
        if (name, suffix) != ("lda", "uncertified")
    } | {"scikit-learn": (lambda: peer.fit(inputs.X, y), lambda fit: None)}


def by_rows(name: str, sizes: tuple[int, ...], d: int) -> dict[str, Job]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((sizes[-1], 3)) @ rng.standard_normal((3, d))
    X += rng.standard_t(3, X.shape)
    return {f"n = {n}": own(name, Inputs(X[:n]), 3)["ldr"] for n in sizes}


def correlations(sizes: tuple[int, ...]) -> dict[str, Job]:
    """Two views of 50 columns, of more and more samples."""
    rng = np.random.default_rng(0)
    shared = rng.standard_normal((sizes[-1], 3))
    A, B = (
        shared @ rng.standard_normal((3, 50)) + rng.standard_normal((sizes[-1], 50))
        for _ in range(2)
    )
    made: dict[str, Job] = {}
    for n in sizes:
        inputs = Inputs((A[:n], B[:n]))
        made[f"n = {n}"] = own("cca", inputs, 3)["ldr"]
        made[f"NumPy {n}"] = partial(line_cca, inputs, 3), float
    return made


def largest_jump(sizes: tuple[int, ...]) -> Callable[[Measured], str]:
    def figure(found: Measured) -> str:
        ratios = [found.seconds[f"n = {n}"] / found.seconds[f"NumPy {n}"] for n in sizes]
        return f"{min(ratios):.1f} to {max(ratios):.1f} of NumPy"

    return figure


def chunks() -> dict[str, Job]:
    """Robust pca of Dask's chunks on two workers, beside memory; by the wall clock."""
    import dask.array as da
    from distributed import Client

    X = heavy_tails(20_000, 20)
    clock: dict[str, float] = {}

    def solve(name: str, data: Any) -> float:
        began = time.perf_counter()
        value = ldr.solve("robust-pca", data, 3).value
        clock[name] = time.perf_counter() - began
        return float(value)

    def remote() -> float:
        with Client(n_workers=2, threads_per_worker=1, dashboard_address=None):
            solve("ldr", da.from_array(X, chunks=(2500, 20)))  # starts the workers
            solve("ldr", da.from_array(X, chunks=(2500, 20)))
        return clock["ldr"]

    def local() -> float:
        solve("memory", X)
        solve("memory", X)
        return clock["memory"]

    return {"ldr": (remote, float), "memory": (local, float)}


def heavy_tails(n: int, d: int) -> Any:
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, 3)) @ rng.standard_normal((3, d)) + rng.standard_t(3, (n, d))


def values_ratio(job: str, beside: str) -> Callable[[Measured], str]:
    def figure(found: Measured) -> str:
        values = found.values.get(job), found.values.get(beside)
        if None in values:
            return "not measured"
        return f"{values[0] / values[1]:.1f} of {beside}"  # type: ignore[operator]

    return figure


def evaluations() -> dict[str, Job]:
    """Microseconds around an evaluation: L-BFGS of orthogonal-lda, 10 x 2, less the function."""
    rng = np.random.default_rng(0)
    y = np.arange(150) % 3
    X = rng.standard_normal((150, 10)) + y[:, None]
    bound = named("orthogonal-lda").bind(Data((as_samples(X),), y), 2)
    points = [bound.random_point(rng) for _ in range(40)]

    def bare(M: Any) -> float:
        began = time.perf_counter()
        point = bound.at(M)
        _ = point.value, point.gradient
        return time.perf_counter() - began

    def around() -> float:
        began = time.perf_counter()
        runs = [minimise(bound, M, LBFGS(), Stopping()) for M in points]
        spent = (time.perf_counter() - began) / sum(run.evaluations["value"] for run in runs)
        return 1e6 * (spent - statistics.median(map(bare, points)))

    around()
    return {"ldr": (around, float)}


def first_calls() -> dict[str, Job]:
    """Processor seconds of whole processes that make one call."""
    data = (
        "import numpy as np; X = np.random.default_rng(0).normal(size=(150, 10)); "
        "y = np.arange(150) % 3; "
    )
    programs = {
        "ldr": data + "import ldr; ldr.solve('orthogonal-lda', X, 2, y=y)",
        "scikit-learn": data + "from sklearn.discriminant_analysis import "
        "LinearDiscriminantAnalysis; LinearDiscriminantAnalysis(n_components=2).fit(X, y)",
    }

    def process(program: str) -> float:
        before = os.times()
        subprocess.run([sys.executable, "-c", program], check=True, env=os.environ | ONE_THREAD)
        after = os.times()
        return (
            after.children_user
            + after.children_system
            - before.children_user
            - before.children_system
        )

    def least(program: str) -> float:
        return min(process(program) for _ in range(4))

    return {name: (partial(least, program), float) for name, program in programs.items()}


def cases(quick: bool) -> list[Case]:
    """Return the rows; of few draws and small sizes for a quick run."""
    draws = 2 if quick else 100
    rows = (500, 1000) if quick else (1000, 2000, 4000, 8000, 16_000)
    robust = (500, 1000) if quick else (5000, 10_000, 20_000)
    stress = (100, 200) if quick else (1000, 2000, 4000)
    listed = [
        Case(
            f"fa, {draws} draws of 2000 x 50, rank 3",
            partial(factor_count, draws),
            lambda found: f"{found.values['draws']:.0f} ends above scikit-learn's",
            "0 ends",
            "scikit-learn with tol=1e-8 and LAPACK; above by 1e-9 of the value",
        ),
        Case("fa 2000 x 50, r = 3", factors, ratio("scikit-learn"), "1.5 of scikit-learn"),
        Case("cca, 50 + 50 columns", partial(correlations, rows), largest_jump(rows), "all alike"),
        Case(
            f"robust-pca in n, {robust[-1]} x 100",
            partial(by_rows, "robust-pca", robust, 100),
            exponent(robust),
            "exponent 1.1, 1 s",
        ),
        Case(
            f"mds-stress in n, {stress[-1]} x 20",
            partial(by_rows, "mds-stress", stress, 20),
            exponent(stress),
            "exponent 2.1",
        ),
        Case("nca 150 x 10, three classes", few_neighbours, ratio("scikit-learn"), "3"),
        Case(
            "nca breast_cancer", partial(neighbours, load_breast_cancer), ratio("scikit-learn"), "1"
        ),
        Case(
            "a call around an evaluation",
            evaluations,
            lambda found: f"{found.values['ldr']:.0f} us",
            "5 us",
            "orthogonal-lda, 10 x 2, L-BFGS",
        ),
        Case(
            "first call of a process",
            first_calls,
            values_ratio("ldr", "scikit-learn"),
            "less than .6",
            "seconds in the columns of values",
        ),
    ]
    if quick:
        return listed
    listed += [
        Case("nca digits", partial(neighbours, load_digits), ratio("scikit-learn"), "1"),
        *(
            Case(f"sdr, y = z0^2 + noise, 2000 x {d}", partial(squares, d), seconds, "2 s")
            for d in (10, 20, 50)
        ),
        *(
            Case(f"ica {n} x {d}, r = {d}", partial(sources, n, d), ratio("Picard-O"), "1.2")
            for n, d in ((5000, 10), (20_000, 20), (20_000, 40))
        ),
        Case(
            "lasso 200 x 1000, 12 responses",
            responses,
            ratio("scikit-learn"),
            "1",
            "scikit-learn to tol=1e-8, at which its value is ours",
        ),
        Case("lda 2000 x 500, rank 20", few_dimensions, lda_seconds, "the faster of two"),
        Case(
            "robust-pca 20,000 x 20 in Dask",
            chunks,
            values_ratio("ldr", "memory"),
            "3",
            "two workers, eight chunks; seconds by the wall clock in the columns of values",
        ),
    ]
    return listed


def lda_seconds(found: Measured) -> str:
    times = (found.seconds.get(name, np.nan) for name in ("orthogonal-ldaldr", "ldaldr"))
    return "{:.3f} s, lda {:.3f} s".format(*times)
