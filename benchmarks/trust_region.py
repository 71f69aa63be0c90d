"""The native trust region against pymanopt's, on the same NumPy formulas and starts.

    python -m benchmarks.trust_region [--d 100] [--ranks 3 10] [--repeats 3] [--tolerance 1e-6]

Both minimise pca and the paper's LDA, MAF and CCA (data by the reference code's recipe)
to the same gradient norm. pymanopt gets the textbook functions of cost, gradient and Hessian
product, as its users write them; "cached" gives it this library's points, which share products
between the three. Printed: seconds and iterations of each, the relative difference of the values,
and the ratio of the times, the median over repeats, each repeat running both one after the other,
short runs three times, of which the middle one counts.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.repeats import a_few
from experiments.jmlr2015.recipes import METHODS
from ldr.objectives import Data, named
from ldr.objectives.data.opening import as_samples
from ldr.objectives.problem import BoundObjective
from ldr.solvers import Point, Problem, Pymanopt, Run, Stopping, TrustRegion, minimise
from ldr.solvers.deadline import one_thread


class FormulaPoint(Point):
    """A point of three functions that share nothing, as pymanopt's users write them."""

    def __init__(self, problem: Formulas, M: np.ndarray) -> None:
        self.M, self._problem = M, problem

    @property
    def value(self) -> float:
        return self._problem.cost(self.M)

    @property
    def gradient(self) -> np.ndarray:
        return self._problem.egrad(self.M)

    def hessian_vector(self, V: np.ndarray) -> np.ndarray:
        return self._problem.ehess(self.M, V)


class Formulas(Problem):
    """Cost, Euclidean gradient and Hessian product written out."""

    def __init__(self, bound: BoundObjective, cost: Callable, egrad: Callable, ehess: Callable):
        self.manifold, self.cost, self.egrad, self.ehess = bound.manifold, cost, egrad, ehess

    def at(self, M: np.ndarray) -> FormulaPoint:
        return FormulaPoint(self, M)


def trace_formulas(bound: Any) -> Formulas:
    """offset - scale tr(M'AM)."""
    A, scale, offset = bound.A, bound.scale, bound.offset

    def cost(M):
        return offset - scale * np.vdot(M, A @ M)

    def egrad(M):
        return -2 * scale * (A @ M)

    def ehess(M, V):
        return -2 * scale * (A @ V)

    return Formulas(bound, cost, egrad, ehess)


def ratio_formulas(bound: Any) -> Formulas:
    """-tr(M'AM) / tr(M'BM)."""
    A, B = bound.A, bound.B

    def cost(M):
        return -np.vdot(M, A @ M) / np.vdot(M, B @ M)

    def egrad(M):
        b = np.vdot(M, B @ M)
        return -2 / b * (A @ M + cost(M) * (B @ M))

    def ehess(M, V):
        AM, BM = A @ M, B @ M
        b = np.vdot(M, BM)
        rho = np.vdot(M, AM) / b
        G = -2 / b * (AM - rho * BM)
        db, drho = 2 * np.vdot(BM, V), -np.vdot(G, V)
        return -2 / b * (A @ V - rho * (B @ V) - drho * BM) - db / b * G

    return Formulas(bound, cost, egrad, ehess)


def correlation_formulas(bound: Any) -> Formulas:
    """-tr(Ma'CabMb) / sqrt(tr(Ma'CaaMa) tr(Mb'CbbMb))."""
    (a, b), split, join = bound.slices(), bound.manifold.split, bound.manifold.join
    Caa, Cab, Cbb = bound.C[a, a], bound.C[a, b], bound.C[b, b]

    def traces(M):
        Ma, Mb = split(M)
        return np.vdot(Ma, Cab @ Mb), np.vdot(Ma, Caa @ Ma), np.vdot(Mb, Cbb @ Mb)

    def cost(M):
        N, a, b = traces(M)
        return -N / np.sqrt(a * b)

    def egrad(M):
        (Ma, Mb), (N, a, b) = split(M), traces(M)
        s = np.sqrt(a * b)
        Ga = -(Cab @ Mb) / s + N / (a * s) * (Caa @ Ma)
        Gb = -(Cab.T @ Ma) / s + N / (b * s) * (Cbb @ Mb)
        return join([Ga, Gb])

    def ehess(M, V):
        (Ma, Mb), (Va, Vb), (N, a, b) = split(M), split(V), traces(M)
        s = np.sqrt(a * b)
        CaaMa, CbbMb, CabMb, CbaMa = Caa @ Ma, Cbb @ Mb, Cab @ Mb, Cab.T @ Ma
        da, db = 2 * np.vdot(CaaMa, Va), 2 * np.vdot(CbbMb, Vb)
        dN = np.vdot(Va, CabMb) + np.vdot(Vb, CbaMa)
        ds = s / 2 * (da / a + db / b)
        dNas, dNbs = (
            dN / (c * s) - N * dc / (c * c * s) - N * ds / (c * s * s)
            for c, dc in ((a, da), (b, db))
        )
        Ha = -(Cab @ Vb) / s + ds / s**2 * CabMb + N / (a * s) * (Caa @ Va) + dNas * CaaMa
        Hb = -(Cab.T @ Va) / s + ds / s**2 * CbaMa + N / (b * s) * (Cbb @ Vb) + dNbs * CbbMb
        return join([Ha, Hb])

    return Formulas(bound, cost, egrad, ehess)


FORMULAS = {
    "pca": trace_formulas,
    "orthogonal-lda": ratio_formulas,
    "orthogonal-maf": ratio_formulas,
    "orthogonal-cca": correlation_formulas,
}


def bind(method: str, d: int, r: int, seed: int) -> BoundObjective:
    """The problem of one data set."""
    data = METHODS[method.removeprefix("orthogonal-")](
        d, r, np.random.default_rng(seed), "reference-code"
    )
    views = data.X if isinstance(data.X, tuple) else (data.X,)
    return named(method).bind(Data(tuple(as_samples(X) for X in views), data.y), r)


def timed(
    problem: Problem, start: np.ndarray, solver: Any, stopping: Stopping
) -> tuple[Run, float]:
    began = time.perf_counter()
    run = minimise(problem, start, solver, stopping)
    return run, time.perf_counter() - began


def middle(
    problem: Problem, start: np.ndarray, solver: Any, stopping: Stopping
) -> tuple[Run, float]:
    """The run, and the middle of its times."""
    outcomes = a_few(lambda: timed(problem, start, solver, stopping), lambda outcome: outcome[1])
    return outcomes[0][0], statistics.median(seconds for _, seconds in outcomes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--d", type=int, default=100)
    parser.add_argument("--ranks", type=int, nargs="+", default=[3, 10])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--tolerance", type=float, default=1e-6)
    parser.add_argument("--time-limit", type=float, default=30.0, help="seconds a run")
    parser.add_argument("--start", choices=["random", "baseline"], default="random")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")

    print(f"d = {arguments.d}, {arguments.start} start, |gradient| <= {arguments.tolerance:g} |f|")
    header = f"{'problem':10s} {'r':>3s} {'native s':>9s} {'its':>4s} {'H products':>10s}"
    print(
        f"{header} {'pymanopt s':>11s} {'its':>5s} {'value diff':>11s} {'ratio':>7s} {'cached':>7s}"
    )
    for method in FORMULAS:
        for r in arguments.ranks:
            print(compare(method, r, arguments))


def compare(method: str, r: int, arguments: argparse.Namespace) -> str:
    """One line of the table; a new data set a repeat."""
    ours, theirs, ratios, cached = [], [], [], []
    for seed in range(arguments.repeats):
        bound = bind(method, arguments.d, r, seed)
        formulas = FORMULAS[method](bound)
        start = bound.random_point(np.random.default_rng(seed))
        if arguments.start == "baseline" or method == "orthogonal-cca":
            start = bound.baseline()
        stopping = Stopping(arguments.tolerance, time_limit=arguments.time_limit)
        with one_thread():
            timed(bound, start, Pymanopt(), Stopping(max_iterations=1))  # imports
            native, native_seconds = middle(bound, start, TrustRegion(), stopping)
            plain, plain_seconds = middle(formulas, start, Pymanopt(), stopping)
            _, shared_seconds = middle(bound, start, Pymanopt(), stopping)
        ours.append((native_seconds, native.iterations, native.evaluations["hessian"]))
        theirs.append((plain_seconds, plain.iterations, abs(plain.value - native.value)))
        ratios.append(plain_seconds / native_seconds)
        cached.append(shared_seconds / native_seconds)
    seconds, iterations, products = (
        statistics.median(column) for column in zip(*ours, strict=True)
    )
    their_seconds, their_iterations, difference = (
        statistics.median(column) for column in zip(*theirs, strict=True)
    )
    return (
        f"{method:10s} {r:3d} {seconds:9.3f} {iterations:4.0f} {products:10.0f} "
        f"{their_seconds:11.3f} {their_iterations:5.0f} {difference:11.1e} "
        f"{statistics.median(ratios):7.1f} {statistics.median(cached):7.1f}"
    )


if __name__ == "__main__":
    main()
