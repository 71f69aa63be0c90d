"""Whole solves of small problems beside straight-line NumPy: ``python -m benchmarks.small``.

A line is a method on 150 x 10 (5 + 5 of two views): microseconds of the processor of one
`ldr.solve`, certificate included, of what it cannot be without, of one of the problems of an
`ldr.solve_many`, of the fit that users of other libraries call, and of the same optimum by a loop
that takes its input for granted, the least of many that take turns; and the largest difference of
our values and the loop's.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.cross_decomposition import CCA
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import ldr
from benchmarks.peers import installed
from ldr.inputs import as_data, as_objective
from ldr.solvers.deadline import one_thread
from ldr.solvers.loop import minimise

ROWS, COLUMNS, R = 150, 10, 2
TURNS, TOGETHER = 100, 5
STACKED = 200


def trace_ratio(A: Any, B: Any) -> float:
    """The maximum of tr(M'AM) / tr(M'BM), by the self-consistent field."""
    rho, before = 0.0, -np.inf
    while rho > before * (1 + 1e-14):
        before = rho
        M = np.linalg.eigh(A - rho * B)[1][:, -R:]
        rho = np.vdot(M, A @ M) / np.vdot(M, B @ M)
    return float(rho)


def pca(X: Any) -> float:
    Z = X - X.mean(axis=0)
    return float(np.linalg.eigh(Z.T @ Z)[0][:-R].sum())


def lda(X: Any, y: Any) -> float:
    Z = X - X.mean(axis=0)
    classes, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    means = (np.eye(len(classes))[codes].T @ Z) / counts[:, None]
    within = Z - means[codes]
    return trace_ratio((means.T * counts) @ means, within.T @ within)


def classical_cca(Xa: Any, Xb: Any) -> float:
    Za, Zb = Xa - Xa.mean(axis=0), Xb - Xb.mean(axis=0)
    La, Lb = np.linalg.cholesky(Za.T @ Za), np.linalg.cholesky(Zb.T @ Zb)
    K = np.linalg.solve(Lb, np.linalg.solve(La, Za.T @ Zb).T).T
    s = np.linalg.svd(K)[1]
    return float(s[:R].sum())


def sfa(X: Any) -> float:
    changes = np.diff(X, axis=0)
    return float(np.linalg.eigh(changes.T @ changes)[0][:R].sum())


def maf(X: Any) -> float:
    Z = X - X.mean(axis=0)
    before, after = Z[:-1], Z[1:]
    cross = before.T @ after / len(before)
    return trace_ratio(0.5 * (cross + cross.T), Z.T @ Z / len(Z))


def problems() -> dict[str, tuple[Callable[..., float], Any, dict[str, Any]]]:
    """The loop, X and what stands beside it, of each method."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, ROWS)
    X = rng.standard_normal((ROWS, COLUMNS)) @ rng.standard_normal((COLUMNS, COLUMNS))
    X += y[:, None] * rng.standard_normal(COLUMNS)
    half = COLUMNS // 2
    return {
        "pca": (pca, X, {}),
        "orthogonal-lda": (lda, X, {"y": y}),
        "cca": (classical_cca, (X[:, :half], X[:, half:]), {}),
        "sfa": (sfa, X, {}),
        "orthogonal-maf": (maf, X, {}),
    }


def peers(X: Any, y: Any = None) -> dict[str, Callable[[], Any]]:
    """Fits of scikit-learn and, where it is installed, deeptime, by the method they are beside.

    That of orthogonal-maf is its heuristic, and so is that of orthogonal-lda. Nothing fits sfa.
    """
    found: dict[str, Callable[[], Any]] = {
        "pca": lambda: PCA(R).fit(X),
        "orthogonal-lda": lambda: LinearDiscriminantAnalysis(solver="eigen", n_components=R).fit(
            X, y
        ),
        "cca": lambda: CCA(R).fit(*X),
    }
    if installed("deeptime"):
        from deeptime.decomposition import TICA

        found["orthogonal-maf"] = lambda: TICA(lagtime=1, dim=R).fit_fetch(X)
    return found


def spent(run: Callable[[], Any]) -> float:
    """Microseconds of one call, of a few together."""
    began = time.process_time()
    for _ in range(TOGETHER):
        run()
    return 1e6 * (time.process_time() - began) / TOGETHER


def stack(X: Any) -> Any:
    """So many problems like this one, which differ a little."""
    if isinstance(X, tuple):
        return tuple(map(stack, X))
    return X + 0.1 * np.random.default_rng(1).standard_normal((STACKED, *X.shape))


def bare(name: str, X: Any, beside: dict[str, Any]) -> Any:
    """Checks of the data, statistics, one run from the heuristic, its proof and its maps."""
    objective = as_objective(name, {})
    problem = objective.bind(as_data(objective, X, beside.get("y")), R)
    M = problem.closed_form()
    if M is None:
        M = minimise(problem, problem.baseline(), problem.specialist()).M
    return problem.certificate(M), problem.maps(M)


def compared(
    name: str, loop: Callable[..., float], X: Any, beside: dict[str, Any]
) -> tuple[dict[str, float], float]:
    """Microseconds of each job, and the largest relative difference of values."""
    given = X if isinstance(X, tuple) else (X,)
    jobs: dict[str, Callable[[], Any]] = {
        "loop": lambda: loop(*given, **beside),
        "solve": lambda: ldr.solve(name, X, R, **beside),
        "bare": lambda: bare(name, X, beside),
        "uncertified": lambda: ldr.solve(name, X, R, certify=False, **beside),
    }
    many = stack(X)
    problems = list(zip(*many, strict=True)) if isinstance(many, tuple) else [(x,) for x in many]
    stacked = ldr.solve_many(name, many, R, workers=1, **beside)
    pairs = [(jobs["loop"](), jobs["solve"]().value)]
    pairs += [(loop(*p, **beside), v) for p, v in zip(problems, stacked.values, strict=True)]
    with one_thread():
        turns = [{job: spent(run) for job, run in jobs.items()} for _ in range(TURNS)]
        least = {job: min(turn[job] for turn in turns) for job in jobs}
        together = lambda: ldr.solve_many(name, many, R, workers=1, **beside)  # noqa: E731
        least["of many"] = min(spent(together) for _ in range(TURNS // 10)) / STACKED
        if fit := peers(X, **beside).get(name):
            least["peer"] = min(spent(fit) for _ in range(TURNS))
    return least, max(abs(ours / loops - 1) for loops, ours in pairs)


def line(name: str, least: dict[str, float], apart: float) -> str:
    cells = "".join(
        f"{job} {spent:6.0f} ({spent / least['loop']:5.1f})   " for job, spent in least.items()
    )
    return f"{name:<16}{cells}values differ by {apart:.0e}"


def main() -> None:
    warnings.simplefilter("ignore")
    for name, problem in problems().items():
        print(line(name, *compared(name, *problem)), flush=True)


if __name__ == "__main__":
    main()
