"""Default calls on particular data, each with a figure that it should reach."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
import timeit
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.decomposition import FactorAnalysis
from sklearn.linear_model import Lasso, Ridge

import ldr
from benchmarks.defaults import PEERS, Inputs, residual
from benchmarks.turns import Job, Measured, solve_job
from ldr.objectives import Data, named
from ldr.objectives.data.opening import as_samples
from ldr.solvers.problem import RiemannianProblem

ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}


@dataclass(frozen=True)
class Case:
    """A row: its jobs, what is read off them, and what it should be."""

    name: str
    jobs: Callable[[], dict[str, Job]]
    # Function that returns the measured figure as text.
    figure: Callable[[Measured], str]
    wanted: str
    # Options that differ from those of a default call.
    tuned: str = ""


def own(name: str, inputs: Inputs, r: int, **options: Any) -> dict[str, Job]:
    """Return the default call, and the same without a certificate."""
    solve = partial(ldr.solve, name, inputs.X, r, y=inputs.y, **options)
    return {"ldr": solve_job(solve), "uncertified": solve_job(partial(solve, certify=False))}


def ratio(beside: str) -> Callable[[Measured], str]:
    """Return a figure: the time of the default call in that of another."""
    return lambda found: f"{found.seconds['ldr'] / found.seconds[beside]:.2f} of {beside}"


def values_ratio(beside: str) -> Callable[[Measured], str]:
    return lambda found: f"{found.values['ldr'] / found.values[beside]:.1f} of {beside}"


def seconds(found: Measured) -> str:
    return f"{found.seconds['ldr']:.3g} s"


def standardised(load: Callable[..., Any]) -> Inputs:
    X, y = load(return_X_y=True)
    X = X[:, X.std(axis=0) > 0]
    return Inputs((X - X.mean(axis=0)) / X.std(axis=0), y)


def rank_three(seed: int) -> Inputs:
    """Return draws of factor analysis with equal noise: 2000 x 50."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((2000, 3)) @ rng.standard_normal((3, 50))
    return Inputs(X + rng.standard_normal((2000, 50)))


def factor_count(draws: int) -> dict[str, Job]:
    def above() -> int:
        """Count the default ends above scikit-learn's at tol 1e-8."""
        count = 0
        for seed in range(draws):
            X = rank_three(seed).X
            peer = FactorAnalysis(3, tol=1e-8, max_iter=10_000, svd_method="lapack").fit(X)
            count += ldr.solve("fa", X, 3).value > -len(X) * peer.score(X) * (1 + 1e-9)
        return count

    return {"draws": (above, float)}


def beside(name: str, inputs: Inputs, r: int) -> dict[str, Job]:
    """Return the default call, the same without a certificate, and the default calls of peers."""
    peers = {
        peer: (partial(call, inputs, r), partial(value, inputs, r))
        for peer, (call, value, _) in PEERS[name].items()
    }
    return own(name, inputs, r) | peers


def squares(d: int) -> dict[str, Job]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, d))
    return own("sdr", Inputs(X, X[:, 0] ** 2 + 0.1 * rng.standard_normal(2000)), 2)


def sources(n: int, d: int) -> dict[str, Job]:
    rng = np.random.default_rng(0)
    return beside("ica", Inputs(rng.laplace(size=(n, d)) @ rng.standard_normal((d, d))), d)


def responses() -> dict[str, Job]:
    """Twelve responses of ten columns each, of 1000."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 1000))
    C = np.zeros((1000, 12))
    for k in range(12):
        C[rng.choice(1000, 10, replace=False), k] = rng.standard_normal(10)
    Y = X @ C + 0.5 * rng.standard_normal((200, 12))
    peer = Lasso(0.5 / 200, tol=1e-8, max_iter=100_000)
    return penalised("lasso", Inputs(X, Y), 12, peer, 1.0)


def penalised(name: str, inputs: Inputs, r: int, peer: Any, penalty: float) -> dict[str, Job]:
    """Return a regression beside scikit-learn's at the same penalty."""
    power = 1 if name == "lasso" else 2

    def value(fit: Any) -> float:
        return residual(inputs, r, fit) + penalty * float(np.sum(np.abs(fit.coef_) ** power))

    made = own(name, inputs, r, penalty=penalty)
    return made | {"scikit-learn": (lambda: peer.fit(inputs.X, inputs.y), value)}


def sparse_regression(name: str, peer: Any, penalty: float) -> dict[str, Job]:
    """One entry a row of 10^6 x 50,000; a tenth of the columns bears on the response."""
    rng, n, d = np.random.default_rng(0), 10**6, 50_000
    places = (rng.integers(0, n, n, dtype=np.int32), rng.integers(0, d, n, dtype=np.int32))
    X = csr_array((rng.uniform(0.5, 1.5, n), places), shape=(n, d))
    coefficients = np.where(rng.random(d) < 0.1, rng.standard_normal(d), 0.0)
    inputs = Inputs(X, X @ coefficients + rng.standard_normal(n))
    return penalised(name, inputs, 1, peer, penalty)


def few_dimensions(name: str) -> dict[str, Job]:
    """Classes in 2000 x 500 of rank about 20."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, 2000)
    X = rng.standard_normal((2000, 20)) + 2 * rng.standard_normal((5, 20))[y]
    return own(name, Inputs(X @ rng.standard_normal((20, 500)), y), 3)


def chunks() -> dict[str, Job]:
    """Robust pca of Dask's chunks on two workers, beside memory; by the wall clock."""
    import dask.array as da
    from distributed import Client

    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 3)) @ rng.standard_normal((3, 20))
    X += rng.standard_t(3, X.shape)
    clock: dict[str, float] = {}

    def solve(name: str, data: Any) -> float:
        began = time.perf_counter()
        value = ldr.solve("robust-pca", data, 3).value
        clock[name] = time.perf_counter() - began
        return float(value)

    def remote() -> float:
        with Client(n_workers=2, threads_per_worker=1, dashboard_address=None):
            solve("ldr", da.from_array(X, chunks=(2500, 20)))  # the first solve starts the workers
            solve("ldr", da.from_array(X, chunks=(2500, 20)))
        return clock["ldr"]

    def local() -> float:
        solve("memory", X)
        solve("memory", X)
        return clock["memory"]

    return {"ldr": (remote, float), "memory": (local, float)}


def evaluations() -> dict[str, Job]:
    """Microseconds that Riemannian derivatives add to value and gradient of a small trace ratio."""
    rng = np.random.default_rng(0)
    y = np.arange(150) % 3
    X = rng.standard_normal((150, 10)) + y[:, None]
    bound = named("orthogonal-lda").bind(Data((as_samples(X),), y), 2)
    problem, M = RiemannianProblem(bound), bound.random_point(rng)

    def plain() -> None:
        point = bound.at(M)
        _ = point.value, point.gradient

    def layered() -> None:
        point = problem.at(M)
        _ = point.value, point.gradient_norm

    def around() -> float:
        clock = partial(timeit.repeat, timer=time.process_time, repeat=20, number=500)
        return 1e6 * (min(clock(layered)) - min(clock(plain))) / 500

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

    def used() -> float:
        spent = resource.getrusage(resource.RUSAGE_CHILDREN)
        return spent.ru_utime + spent.ru_stime

    def process(program: str) -> float:
        before = used()
        subprocess.run([sys.executable, "-c", program], check=True, env=os.environ | ONE_THREAD)
        return used() - before

    def least(program: str) -> float:
        return min(process(program) for _ in range(4))

    return {name: (partial(least, program), float) for name, program in programs.items()}


def cases(quick: bool) -> list[Case]:
    """Return the rows; of few draws for a quick run."""
    draws = 2 if quick else 100
    by_peer = ratio("scikit-learn")
    return [
        Case(
            f"fa, {draws} draws of 2000 x 50, rank 3",
            partial(factor_count, draws),
            lambda found: f"{found.values['draws']:.0f} ends above scikit-learn's",
            "0 ends",
            "scikit-learn with tol=1e-8 and LAPACK; above by 1e-9 of the value",
        ),
        Case("fa 2000 x 50, r = 3", partial(beside, "fa", rank_three(3), 3), by_peer, "1.5"),
        *(
            Case(f"nca {name}", partial(beside, "nca", standardised(load), 2), by_peer, "1")
            for name, load in (("breast_cancer", load_breast_cancer), ("digits", load_digits))
        ),
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
            by_peer,
            "1",
            "scikit-learn to tol=1e-8, at which its value is ours",
        ),
        *(
            Case(
                f"{name}, sparse 10^6 x 50,000",
                partial(sparse_regression, name, peer, penalty),
                by_peer,
                "1",
                f"penalty={penalty:g}; {peer}",
            )
            for name, peer, penalty in (
                ("ridge-regression", Ridge(1.0, tol=1e-10), 1.0),
                ("lasso", Lasso(30.0 / (2 * 10**6)), 30.0),
            )
        ),
        *(
            Case(f"{name} 2000 x 500, rank 20", partial(few_dimensions, name), seconds, ".115 s")
            for name in ("orthogonal-lda", "lda")
        ),
        Case(
            "robust-pca 20,000 x 20 in Dask",
            chunks,
            values_ratio("memory"),
            "3",
            "two workers, eight chunks; seconds by the wall clock in the columns of values",
        ),
        Case(
            "Riemannian derivatives around a small evaluation",
            evaluations,
            lambda found: f"{found.values['ldr']:.0f} us",
            "5 us",
            "orthogonal-lda, 10 x 2: value, gradient and its norm",
        ),
        Case(
            "first call of a process",
            first_calls,
            values_ratio("scikit-learn"),
            "less than .6",
            "seconds in the columns of values",
        ),
    ]
