"""One's own functions and other libraries' problems: ``python -m benchmarks.doors``.

Seconds of the processor with one BLAS thread. Compiling and first imports count where it says
"cold"; other lines are medians of runs that take turns with the peer's.
"""

from __future__ import annotations

import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache
from resource import RUSAGE_CHILDREN, getrusage
from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.datasets import load_iris, load_wine

import ldr
from benchmarks.beyond_eigen import Job, line, standardised
from ldr.solvers import from_pymanopt
from ldr.solvers.threads import one_thread

OURS = "import ldr; ldr.solve('lda', X, 2, y=y)"
THEIRS = (
    "from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as LDA; "
    "LDA(n_components=2).fit(X, y)"
)
DATA = (
    "import numpy as np; y = np.arange(150) % 3; "
    "X = np.random.default_rng(0).normal(size=(150, 10)); "
)


def cold_start() -> str:
    """The whole process, the least of five, data made by NumPy."""
    spent = {}
    for name, program in (("ldr", OURS), ("scikit-learn", THEIRS)):
        runs = []
        for _ in range(5):
            before = getrusage(RUSAGE_CHILDREN)
            subprocess.run([sys.executable, "-c", DATA + program], check=True)
            after = getrusage(RUSAGE_CHILDREN)
            runs.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        spent[name] = min(runs)
    cells = "   ".join(f"{name} {seconds:.3f} s" for name, seconds in spent.items())
    return f"{'lda, cold start':<24}{cells}   ratio {spent['ldr'] / spent['scikit-learn']:.2f}"


def transport(X: Any, y: Any) -> Callable[..., Any]:
    """Wasserstein discriminants by loops of Python over pairs of classes and over iterations."""
    import jax.numpy as jnp

    rows = [np.flatnonzero(y == c) for c in np.unique(y)]

    def distance(A: Any, B: Any) -> Any:
        C = jnp.sum(A**2, 1)[:, None] + jnp.sum(B**2, 1) - 2 * A @ B.T
        K, u = jnp.exp(-C), jnp.ones(len(A)) / len(A)
        for _ in range(10):
            v = (1 / len(B)) / (K.T @ u)
            u = (1 / len(A)) / (K @ v)
        return jnp.sum(u[:, None] * K * v * C)

    def unrolled(M: Any, X: Any) -> Any:
        parts = [X[i] @ M for i in rows]
        between = sum(distance(A, B) for k, A in enumerate(parts) for B in parts[k + 1 :])
        return between / sum(distance(A, A) for A in parts)

    return unrolled


def cold(name: str, solver: str, function: Callable[..., Any], X: Any) -> str:
    """Of a new objective: nothing of it is compiled."""
    objective = ldr.objective(manifold="grassmann", sense="max")(function)
    began = time.process_time()
    found = ldr.solve(objective, X, 2, random_state=0, solver=solver)
    spent = time.process_time() - began
    counts = found.evaluations.get("compilation", 0)
    return f"{name:<24}{found.solver} {spent:.1f} s, {counts} compilations, {found.value:.10g}"


def folds() -> Iterator[str]:
    import jax.numpy as jnp

    X, _ = standardised(load_wine)

    def robust(M: Any, X: Any) -> Any:
        R = X - (X @ M) @ M.T
        return jnp.sum(jnp.sqrt(jnp.sum(R**2, axis=1) + 1.0))

    for summed in (False, True):
        objective = ldr.objective(manifold="grassmann", sum_over_rows=summed)(robust)
        began, count = time.process_time(), 0
        for n in (178, 142, 143, 150):
            found = ldr.solve(objective, X[:n], 2, random_state=0)
            count += found.evaluations.get("compilation", 0)
        spent = time.process_time() - began
        yield f"four lengths, sum={summed!s:<6} {spent:.2f} s, {count} compilations"


def of_pymanopt() -> Iterator[str]:
    import autograd.numpy as anp
    import pymanopt
    from pymanopt.manifolds import Grassmann, Stiefel
    from pymanopt.optimizers import TrustRegions

    rng = np.random.default_rng(0)
    A = rng.standard_normal((100, 100))
    A = A + A.T
    X = rng.standard_normal((200, 20)) * np.linspace(3, 1, 20)
    spaces = {"dominant subspace": Grassmann(100, 3), "pca": Stiefel(20, 3)}

    def subspace(U: Any) -> Any:
        return -anp.trace(U.T @ A @ U)

    def pca(W: Any) -> Any:
        return anp.sum((X - anp.dot(anp.dot(X, W), W.T)) ** 2)

    for (name, space), f in zip(spaces.items(), (subspace, pca), strict=True):
        problem = pymanopt.Problem(space, pymanopt.function.autograd(space)(f))
        start = np.linalg.qr(rng.standard_normal((space._n, space._p)))[0]
        optimizer = TrustRegions(verbosity=0)
        jobs: dict[str, Job] = {
            "ldr": lambda p=problem, s=start: from_pymanopt(p, s).value,  # type: ignore[misc]
            "pymanopt": lambda p=problem, s=start, o=optimizer: float(  # type: ignore[misc]
                o.run(p, initial_point=s).cost
            ),
        }
        yield line(f"pymanopt: {name}", time.process_time, jobs)
    try:
        from ot import dr
    except ImportError:
        yield "POT is not installed: its wda was not solved"
        return
    Z, y = (a[::5] for a in standardised(load_iris))
    P0 = np.linalg.qr(rng.standard_normal((4, 2)))[0]
    ends: list[float] = []

    def wda(run: Callable[..., Any]) -> float:
        def kept(problem: Any, initial_point: Any = None) -> Any:
            found = run(problem, initial_point=initial_point)
            ends.append(float(problem.cost(found.point)))
            return found

        dr.wda(Z, y, 2, reg=1.0, k=3, solver=SimpleNamespace(run=kept), P0=P0)
        return ends[-1]

    jobs = {
        "ldr": lambda: wda(from_pymanopt),
        "pymanopt": lambda: wda(TrustRegions(verbosity=0).run),
    }
    yield line("POT: wda, iris", time.process_time, jobs)
    yield line("POT: prw, 50 + 50", time.process_time, robust_transport(rng))


def robust_transport(rng: Any) -> dict[str, Job]:
    """The projection in which moving rows onto others costs most, the entropy counted.

    POT's solver is one of its own; here the plan's cost is a pymanopt problem.
    """
    import ot
    import pymanopt
    from ot import dr

    S, T = rng.standard_normal((2, 50, 5))
    T[:, :2] += 1.5
    weights, reg = np.full(50, 1 / 50), 2.0
    U0 = np.linalg.qr(rng.standard_normal((5, 2)))[0]
    space = pymanopt.manifolds.Stiefel(5, 2)

    @lru_cache(1)
    def plan_at(numbers: bytes) -> Any:
        U = np.frombuffer(numbers).reshape(5, 2)
        return ot.sinkhorn(
            weights, weights, ot.dist(S @ U, T @ U), reg, "sinkhorn_log", stopThr=1e-12
        )

    def plan(U: Any) -> Any:
        return plan_at(U.tobytes())

    @pymanopt.function.numpy(space)  # type: ignore[untyped-decorator]
    def cost(U: Any) -> float:
        P = plan(U)
        return -float(np.sum(P * (ot.dist(S @ U, T @ U) + reg * np.log(P))))

    @pymanopt.function.numpy(space)  # type: ignore[untyped-decorator]
    def slope(U: Any) -> Any:
        cross = S.T @ plan(U) @ T
        return -2 * ((S.T @ S + T.T @ T) / 50 - cross - cross.T) @ U

    problem = pymanopt.Problem(space, cost, euclidean_gradient=slope)

    def theirs() -> float:
        with np.errstate(all="ignore"):  # its sinkhorn does not work with logarithms
            _, U = dr.projection_robust_wasserstein(
                S, T, weights, weights, 0.1, U0=U0, reg=reg, k=2, maxiter=3000, stopThr=1e-8
            )
        return float(cost(U))

    return {"ldr": lambda: from_pymanopt(problem, U0, solver="lbfgs").value, "POT": theirs}


def main() -> None:
    warnings.simplefilter("ignore")
    print(cold_start(), flush=True)
    X, y = standardised(load_wine)
    with one_thread():
        for solver in ("auto", "trust-region"):
            print(cold("unrolled wda, cold", solver, transport(X, y), X), flush=True)
        for rows in (folds(), of_pymanopt()):
            for found in rows:
                print(found, flush=True)


if __name__ == "__main__":
    main()
