"""Each objective on real data by every solver: the same value, certified where theory can."""

from functools import cache

import numpy as np
import pytest

import ldr
from ldr.solvers.pymanopt import PYMANOPT_SOLVERS
from tests.objectives.methods import REAL, name_of

NATIVE = ["trust-region", "lbfgs", "conjugate-gradient", "steepest-descent"]
PYMANOPT = [f"pymanopt:{name}" for name in PYMANOPT_SOLVERS]

# Every optimum is unique or certified, or reached from one start.
JOBS = [
    *("pca", "lda", "cca", "maf", "sfa", "sfa whitened", "lpp", "lpp classes", "ppca", "sdr"),
    *("hsic", "dynamics", "dynamics skew", "ica", "uica"),
]


# Local optima: from the heuristic, like the reference; the others from anywhere.
LOCAL = ("cca", "sdr", "hsic", "dynamics", "ica", "uica")
# Steepest descent has the value after its 10,000 iterations, not yet the gradient.
SLOW = ("lda", "steepest-descent")
NATIVE_JOBS = [(job, solver) for job in JOBS for solver in NATIVE if (job, solver) != SLOW]
UNCONVERGED = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ldr.errors.ConvergenceWarning"),
]

# pymanopt's steepest descent is not there after 2000 iterations.
PYMANOPT_FAILS = {
    ("cca", "pymanopt:steepest-descent"),
    ("lda", "pymanopt:steepest-descent"),
    ("sfa whitened", "pymanopt:steepest-descent"),
}


# What pymanopt is tried on: one of those that share their code, for an evaluation is slow. What
# stands between its solvers and ours is the same for all of them: one manifold each by default.
PYMANOPT_JOBS = [
    pytest.param(
        job, solver, marks=[] if "trust" in solver or job in ("lda", "ppca") else pytest.mark.slow
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


@pytest.mark.parametrize(("job", "solver"), [*NATIVE_JOBS, pytest.param(*SLOW, marks=UNCONVERGED)])
def test_native_solvers_reach_the_same_value(job, solver):
    X, y, parameters, r = data(job)
    start = "baseline" if name_of(job) in LOCAL else "random"
    options = {"solver": solver, "start": start, "random_state": 3, "certify": False}
    result = ldr.solve(name_of(job), X, r, y=y, **options, **parameters)
    assert result.converged or (job, solver) == SLOW
    assert result.value == pytest.approx(reference(job).value, rel=1e-8)
    if not isinstance(result.M, tuple) and name_of(job) not in ("ppca", "uica"):
        assert np.linalg.norm(result.M.T @ result.M - np.eye(r), 2) < 1e-14


# pymanopt's first-order solvers stall near |gradient| 1e-7 and then run on to their limits.
@pytest.mark.filterwarnings("ignore::ldr.errors.ConvergenceWarning")
@pytest.mark.parametrize(("job", "solver"), PYMANOPT_JOBS)
def test_pymanopt_reaches_the_same_value(job, solver):
    if (job, solver) in PYMANOPT_FAILS:
        pytest.skip("pymanopt does not reach it")
    X, y, parameters, r = data(job)
    start = "baseline" if name_of(job) in LOCAL else "random"
    result = ldr.solve(
        name_of(job),
        X,
        r,
        y=y,
        solver=solver,
        start=start,
        tolerance=1e-8,
        max_iterations=100 if "trust" in solver else 2000,
        random_state=3,
        certify=False,
        **parameters,
    )
    assert result.value == pytest.approx(reference(job).value, rel=1e-8)
