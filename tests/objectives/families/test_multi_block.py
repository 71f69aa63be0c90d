"""The preconditioner of orthogonal-cca, and the trust region in its curved valleys."""

import math

import numpy as np
import pytest
import scipy.linalg

import ldr
from experiments.jmlr2015.recipes import METHODS
from ldr.errors import SingularError
from ldr.objectives import Data, named
from ldr.objectives.data.opening import as_samples
from ldr.objectives.families.multi_block import _inverse_factor
from ldr.solvers import Stopping, TrustRegion, minimise
from tests.objectives.test_cases import CASES, CCA_BEST, FOLDER, load


def bind(pair, r):
    return named("orthogonal-cca").bind(Data(tuple(as_samples(view) for view in pair)), r)


def recipe(d, r, seed=0, kind="paper-text"):
    return bind(METHODS["cca"](d, r, np.random.default_rng(seed), kind).X, r)


@pytest.mark.parametrize(("d", "r"), [(24, 3), (32, 10)])
def test_preconditioner_saves_products(d, r):
    problem = recipe(d, r)
    runs = [
        minimise(problem, problem.baseline(), TrustRegion(long=long), Stopping(1e-10))
        for long in (20, math.inf)
    ]
    assert all(run.status.converged for run in runs)
    assert runs[0].value == pytest.approx(runs[1].value, rel=1e-12)
    assert runs[0].evaluations["hessian"] < 0.7 * runs[1].evaluations["hessian"]


@pytest.mark.skipif(not CASES, reason="no reference cases beside the checkout")
def test_flat_curved_valley_is_followed_to_its_end():
    """Without corrections a thousand iterations, and 50,000 products, do not reach the end."""
    stem = "cca_d16_r3_seed3"
    _, pair, _, r, _ = load(FOLDER / f"{stem}.mat")
    problem = bind(pair, r)
    run = minimise(problem, problem.baseline(), TrustRegion(), Stopping(1e-10))
    assert run.status.converged
    assert run.iterations < 500
    assert run.evaluations["hessian"] < 6000
    assert run.value < CCA_BEST[stem] - 1e-9


@pytest.mark.parametrize("factor", ["polar", "qr"])
def test_the_heuristic_is_made_of_canonical_directions(factor):
    views = METHODS["cca"](6, 2, np.random.default_rng(0), "paper-text").X
    result = ldr.solve("orthogonal-cca", views, 2, orthonormalise=factor, certify=False)
    canonical = ldr.solve("cca", views, 2).P
    nearest = [scipy.linalg.polar(P.T)[0] for P in canonical]
    if factor == "qr":
        factors = [np.linalg.qr(P.T) for P in canonical]
        nearest = [Q * np.sign(np.diag(R)) for Q, R in factors]
    found, expected = (a @ b.T for a, b in (result.baseline_M, nearest))  # a turn of both is none
    np.testing.assert_allclose(found, expected, atol=1e-8)
    assert result.value >= result.baseline


@pytest.mark.parametrize("name", ["orthogonal-cca", "pls"])
def test_a_run_that_was_cut_short_has_the_value_of_its_matrices(name):
    """Turned to its axes; they keep a trace that is not symmetric yet."""
    views = METHODS["cca"](6, 2, np.random.default_rng(0), "paper-text").X
    with pytest.warns(ldr.errors.ConvergenceWarning, match="iteration limit"):
        result = ldr.solve(
            name, views, 2, solver="lbfgs", start="random", random_state=0, max_iterations=1
        )
    Ya, Yb = ((X - X.mean(axis=0)) @ M for X, M in zip(views, result.M, strict=True))
    size = np.linalg.norm(Ya) * np.linalg.norm(Yb) if name == "orthogonal-cca" else 1.0
    assert result.value == pytest.approx(np.sum(Ya * Yb) / size, rel=1e-10)


def test_a_covariance_that_is_singular_has_no_inverse_factor():
    C = np.cov(np.random.default_rng(0).standard_normal((3, 9))) * 10.0 ** np.arange(-9, 9, 6)
    C = C * 10.0 ** np.arange(-9, 9, 6)[:, None]
    W = _inverse_factor(C)
    np.testing.assert_allclose(W.T @ C @ W, np.eye(3), atol=1e-12)
    with pytest.raises(
        SingularError, match="covariance of a view is singular to machine precision"
    ):
        _inverse_factor(np.ones((2, 2)))
