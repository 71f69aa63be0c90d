"""Each objective on real data by every solver: the same value, certified where theory can."""

from functools import cache

import numpy as np
import pytest

import ldr
from ldr.solvers.pymanopt import PYMANOPT_SOLVERS
from tests.objectives.methods import ITERATIVE, OF_VIEWS, REAL, by_kind, name_of

NATIVE = ["trust-region", "lbfgs", "conjugate-gradient", "steepest-descent"]
PYMANOPT = [f"pymanopt:{name}" for name in PYMANOPT_SOLVERS]

# Every optimum is unique or certified, or reached from one start.
JOBS = [
    *("pca", "orthogonal-lda", "orthogonal-cca", "orthogonal-maf", "sfa", "sfa whitened", "lpp"),
    *("lpp classes", "ppca", "sdr", "hsic", "dynamics", "dynamics skew", "ica", "uica"),
]


# Local optima: from the heuristic, like the reference; the others from anywhere.
LOCAL = ("orthogonal-cca", "sdr", "hsic", "dynamics", "ica", "uica")
# First-order solvers of two views take seconds; those of one view, and lbfgs, run by default.
LONG = {("orthogonal-cca", "steepest-descent"), ("orthogonal-cca", "conjugate-gradient")}
# Steepest descent has the value after its 10,000 iterations, not yet the gradient.
SLOW = ("orthogonal-lda", "steepest-descent")
NATIVE_JOBS = [(job, solver) for job in JOBS for solver in NATIVE if (job, solver) != SLOW]
# With one optimum, which the trust region finds from anywhere.
UNIQUE = [job for job in REAL if name_of(job) not in {"lasso"} | OF_VIEWS | ITERATIVE]
FURTHER = by_kind((job for job in UNIQUE if job not in JOBS), also=["cca"])
UNCONVERGED = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ldr.errors.ConvergenceWarning"),
]

# pymanopt's steepest descent is not there after 2000 iterations.
PYMANOPT_FAILS = {
    ("orthogonal-cca", "pymanopt:steepest-descent"),
    ("orthogonal-lda", "pymanopt:steepest-descent"),
    ("sfa whitened", "pymanopt:steepest-descent"),
}


# What pymanopt is tried on: one of those that share their code, for an evaluation is slow. What
# stands between its solvers and ours is the same for all of them: one manifold each by default.
PYMANOPT_JOBS = [
    pytest.param(
        job,
        solver,
        marks=[] if "trust" in solver or job in ("orthogonal-lda", "ppca") else pytest.mark.slow,
    )
    for job in JOBS
    if job not in ("hsic", "dynamics skew", "uica")
    for solver in PYMANOPT
]


def data(job):
    given, r = REAL[job]
    return (*given(), r)


@cache
def reference(job):
    X, y, parameters, r = data(job)
    return ldr.solve(name_of(job), X, r, y=y, **parameters)


def solved(job, solver, **options):
    X, y, parameters, r = data(job)
    options |= {"start": "baseline" if name_of(job) in LOCAL else "random", "random_state": 3}
    return ldr.solve(name_of(job), X, r, y=y, solver=solver, certify=False, **options, **parameters)


@pytest.mark.parametrize(
    ("job", "solver"),
    [
        *(pytest.param(*job, marks=pytest.mark.slow if job in LONG else []) for job in NATIVE_JOBS),
        *(pytest.param(*job.values, "trust-region", marks=job.marks) for job in FURTHER),
        pytest.param(*SLOW, marks=UNCONVERGED),
    ],
)
def test_native_solvers_reach_the_same_value(job, solver):
    X, *_, r = data(job)
    # Of two views of r columns each M has a sign of its determinant, which no path can change.
    square = isinstance(X, tuple) and all(view.shape[1] == r for view in X)
    result = solved(job, solver, starts=8 if square else None)
    assert result.converged or (job, solver) == SLOW
    assert result.value == pytest.approx(reference(job).value, rel=1e-8)
    if job in JOBS and not isinstance(result.M, tuple) and name_of(job) not in ("ppca", "uica"):
        assert np.linalg.norm(result.M.T @ result.M - np.eye(r), 2) < 1e-14


# pymanopt's first-order solvers stall near |gradient| 1e-7 and then run on to their limits.
@pytest.mark.filterwarnings("ignore::ldr.errors.ConvergenceWarning")
@pytest.mark.parametrize(("job", "solver"), PYMANOPT_JOBS)
def test_pymanopt_reaches_the_same_value(job, solver):
    if (job, solver) in PYMANOPT_FAILS:
        pytest.skip("pymanopt does not reach it")
    most = 100 if "trust" in solver else 2000
    result = solved(job, solver, tolerance=1e-8, max_iterations=most)
    assert result.value == pytest.approx(reference(job).value, rel=1e-8)
