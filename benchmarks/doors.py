"""One's own functions and other libraries' problems: rows of `benchmarks.beyond_eigen`.

Seconds of the processor with one BLAS thread. Compiling and first imports count where it says
"cold"; other lines are medians of runs that take turns with the peer's.
"""

from __future__ import annotations

import logging.handlers
import subprocess
import sys
import time
from collections.abc import Callable
from functools import lru_cache, partial
from resource import RUSAGE_CHILDREN, getrusage
from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.datasets import load_iris, load_wine

import ldr
from benchmarks.turns import Bar, Job, Lines, standardised, turns
from ldr.solvers import from_pymanopt

OURS = "import ldr; ldr.solve('orthogonal-lda', X, 2, y=y)"
THEIRS = (
    "from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as LDA; "
    "LDA(n_components=2).fit(X, y)"
)
DATA = (
    "import numpy as np; y = np.arange(150) % 3; "
    "X = np.random.default_rng(0).normal(size=(150, 10)); "
)


def cold_start() -> Lines:
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
    yield f"{'orthogonal-lda, cold start':<24}" + "   ".join(
        f"{k} {s:.3f} s" for k, s in spent.items()
    )
    yield Bar(
        "orthogonal-lda, cold start: ldr / scikit-learn", spent["ldr"] / spent["scikit-learn"], 0.4
    )


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


def compiled() -> Lines:
    """A new objective, nothing of which is compiled: by both ways, and what is said meanwhile."""
    X, y = standardised(load_wine)
    spent, told = [], logging.handlers.BufferingHandler(1000)
    logging.getLogger("ldr").addHandler(told)
    for solver in ("auto", "trust-region"):
        objective = ldr.objective(manifold="grassmann", sense="max")(transport(X, y))
        began = time.process_time()
        found = ldr.solve(objective, X, 2, random_state=0, solver=solver)
        spent.append(time.process_time() - began)
        count = found.evaluations.get("compilation", 0)
        said = f"{found.solver} {spent[-1]:.1f} s, {count} compilations, {found.value:.10g}"
        yield f"wda in jax, cold: {said}"
    logging.getLogger("ldr").removeHandler(told)
    yield Bar("wda in jax, cold: gradients first / trust region", spent[0] / spent[1], 1.0)
    yield Bar("wda in jax, cold: no message after 5 s", float(not told.buffer), 0.0)


def robust(numpy: Any) -> Callable[[Any, Any], Any]:
    """A sum over rows, written with some library's NumPy."""

    def function(M: Any, X: Any) -> Any:
        R = X - (X @ M) @ M.T
        return numpy.sum(numpy.sqrt(numpy.sum(R**2, axis=1) + 1.0))

    return function


def taped() -> Lines:
    """Calls of one's own function in autograd: by the tape, and of plain arrays."""
    import autograd.numpy as anp

    X, _ = standardised(load_wine)
    plain: list[bytes] = []
    f, tapes = robust(anp), []

    @ldr.objective(manifold="grassmann", backend="autograd")
    def counted(M: Any, X: Any) -> Any:
        plain.append(M.tobytes()) if isinstance(M, np.ndarray) else tapes.append(1)
        return f(M, X)

    given: dict[str, Any] = {"starts": 1, "certify": False, "random_state": 0}
    ldr.solve(counted, X, 2, max_iterations=0, **given)
    probes = len(set(plain)) - 1  # all but the start
    plain.clear()
    tapes.clear()
    found = ldr.solve(counted, X, 2, **given)
    by_tape = max(0, found.evaluations["value"] + probes - len(plain))
    said = f"{len(plain)} plain calls, {len(tapes)} tapes, {found.evaluations}"
    yield f"robust pca in autograd: {said}"
    yield Bar("robust pca in autograd: points before the start", probes, 3)
    yield Bar("robust pca in autograd: values by tape", by_tape, 0)


def lengths() -> Lines:
    import jax.numpy as jnp

    X, _ = standardised(load_wine)
    counts = []
    for summed in (True, False):
        objective = ldr.objective(manifold="grassmann", sum_over_rows=summed)(robust(jnp))
        began, count = time.process_time(), 0
        for n in (178, 142, 143, 150):
            found = ldr.solve(objective, X[:n], 2, random_state=0)
            count += found.evaluations.get("compilation", 0)
        spent = time.process_time() - began
        counts.append(count)
        yield f"four lengths in jax, sum={summed!s:<6} {spent:.2f} s, {count} compilations"
    yield Bar("four lengths: compilations of a sum / of no sum", counts[0] / counts[1], 0.5)


def of_pymanopt() -> Lines:
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
        yield from beside(f"pymanopt: {name}", jobs)
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
        "to 1e-6": lambda: wda(partial(from_pymanopt, observers=[as_far])),
        "pymanopt": lambda: wda(TrustRegions(verbosity=0).run),
    }
    yield from beside("POT: wda, iris", jobs)
    yield from beside("POT: prw, 50 + 50", robust_transport(rng))


def beside(name: str, jobs: dict[str, Job]) -> Lines:
    """Ours beside the other, the last: no worse an end, and the ratio of times."""
    *ours, theirs = jobs
    yield (found := turns(name, jobs))
    for job in ours:
        yield found.ratio(job, theirs, most=1.0)
        yield found.apart(job, theirs, most=1e-9)


def as_far(step: Any) -> bool:
    """Whether pymanopt's optimisers would stop; ours go on to a gradient of 1e-10 of f."""
    return bool(step.gradient_norm <= 1e-6)


def robust_transport(rng: Any) -> dict[str, Job]:
    """The projection in which moving rows onto others costs most, the entropy counted.

    POT's solver is one of its own, to a gradient of 1e-8; here the plan's cost is a pymanopt
    problem. Plans are of the kernel itself, as POT's solver has them: by logarithms each takes
    seven times as long.
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
        return ot.sinkhorn(weights, weights, ot.dist(S @ U, T @ U), reg, stopThr=1e-12)

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
        with np.errstate(all="ignore"):
            _, U = dr.projection_robust_wasserstein(
                S, T, weights, weights, 0.1, U0=U0, reg=reg, k=2, maxiter=3000, stopThr=1e-8
            )
        return float(cost(U))

    return {"ldr": lambda: from_pymanopt(problem, U0, solver="lbfgs").value, "POT": theirs}
