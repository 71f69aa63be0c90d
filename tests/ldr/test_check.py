"""`ldr.check`, and with it the derivatives of every built-in objective."""

import dataclasses
from functools import partial

import jax.numpy as jnp
import numpy as np
import pytest

import ldr
from ldr.errors import ArgumentError, ObjectiveError
from ldr.testing import PROBLEMS, Check, symmetry_error, taylor_slopes
from tests.objectives.methods import LABELS, RANDOM, VIEWS, D, X, name_of

R = 2


@pytest.mark.parametrize("r", [1, 3, D])
@pytest.mark.parametrize("key", ["orthogonal-lda", "ppca", "fa", "sdr labels"])
def test_other_dimensions_pass(key, r):
    data, y, _ = RANDOM[key]
    r = min(r, D - 1) if key in ("ppca", "fa") else r
    assert ldr.check(name_of(key), data, r, y=y).passed


def test_instances_and_parameters():
    assert ldr.check(
        ldr.objectives.OrthogonalMAF(lag=2), X
    ).objective == ldr.objectives.OrthogonalMAF(lag=2)
    assert ldr.check("orthogonal-maf", X, lag=3).objective.lag == 3
    units = np.logspace(0, 6, D)
    assert ldr.check("pca", X * units, standardise=True).passed
    with pytest.raises(ArgumentError, match="out of range"):
        ldr.check("pca", X, D + 1)
    with pytest.raises(ArgumentError, match=r"r must be a whole number, got 2.5"):
        ldr.check("pca", X, 2.5)


# Objectives of the user's own


def spread(M, X):
    """f(M) = mean of ||y||^4, a function of the span alone."""
    return np.mean(np.sum((X @ M) ** 2, axis=1) ** 2)


def spread_gradient(M, X):
    Y = X @ M
    return 4 * X.T @ (np.sum(Y**2, axis=1)[:, None] * Y) / len(X)


def spread_hessian(M, X, V):
    Y, Z = X @ M, X @ V
    both = 2 * np.sum(Y * Z, axis=1)[:, None] * Y + np.sum(Y**2, axis=1)[:, None] * Z
    return 4 * X.T @ both / len(X)


def by_hand(gradient=spread_gradient, hessian=spread_hessian, manifold="grassmann"):
    options = {"manifold": manifold, "gradient": gradient, "hessian": hessian}
    return ldr.objective(backend="numpy", **options)(spread)


@pytest.mark.parametrize("error", [1e-1, 1e-5])
def test_a_wrong_gradient_fails(error):
    def wrong(M, X):
        return spread_gradient(M, X) + error * X.T @ (X @ M)

    found = ldr.check(by_hand(gradient=wrong), X, R)
    assert not found.passed
    assert found.gradient_slope < (1.1 if error == 1e-1 else 1.9)
    assert "gradient    FAIL  Taylor slope 1." in repr(found)


@pytest.mark.parametrize("error", [1e-1, 1e-3])
def test_a_wrong_hessian_fails(error):
    def wrong(M, X, V):
        return spread_hessian(M, X, V) + error * X.T @ (X @ V)

    found = ldr.check(by_hand(hessian=wrong), X, R)
    assert not found.passed
    assert found.gradient_slope == pytest.approx(2, abs=0.1)
    assert found.hessian_slope == pytest.approx(2, abs=0.1)


def test_an_asymmetric_hessian_fails():
    skew = np.triu(np.ones((D, D))) - np.tril(np.ones((D, D)))

    def wrong(M, X, V):  # <V, HV> is right, so that no Taylor error shows it
        return spread_hessian(M, X, V) + skew @ V

    found = ldr.check(by_hand(hessian=wrong), X, R)
    assert not found.passed
    assert found.hessian_slope == pytest.approx(3, abs=0.1)
    assert found.symmetry_error > 1e-3


def test_more_freedom_than_declared_is_no_failure():
    found = ldr.check(by_hand(manifold="stiefel"), X, R)
    assert found.passed
    assert (found.declared_manifold, found.implied_manifold) == ("stiefel", "grassmann")


def test_without_a_hessian_it_says_differenced():
    found = ldr.check(by_hand(hessian=None), X, R)
    assert found.passed
    assert found.hessian_slope is None and found.symmetry_error is None
    assert "solvers use differences of gradients" in repr(found)


def test_a_quadratic_in_euclidean_space_is_exact():
    def f(M, X):
        return np.sum((X @ M) ** 2) / 2

    quadratic = ldr.objective(
        manifold="euclidean",
        backend="numpy",
        gradient=lambda M, X: X.T @ (X @ M),
        hessian=lambda M, X, V: X.T @ (X @ V),
    )(f)
    found = ldr.check(quadratic, X, R)
    assert found.passed
    assert found.hessian_slope == np.inf
    assert "(exact)" in repr(found)
    assert (
        ldr.check(dataclasses.replace(quadratic, hessian=lambda M, X, V: V), X, R).passed is False
    )


def test_rounding_in_f_is_seen_for_what_it_is():
    # A GPU multiplies with fewer digits than float32 has, unless it is told not to.
    times = partial(jnp.matmul, precision="highest")
    single = ldr.objective(lambda M, X: jnp.mean(times(jnp.float32(X), jnp.float32(M)) ** 4))
    found = ldr.check(single, X, R)
    assert found.gradient_slope == pytest.approx(2, abs=0.1)
    assert found.hessian_slope == pytest.approx(3, abs=0.1)
    offset = ldr.objective(lambda M, X: 1e6 + jnp.mean(jnp.sum((X @ M) ** 2, axis=1) ** 2))
    assert ldr.check(offset, X, R).passed


def test_a_gradient_that_is_no_number_fails():
    check = ldr.check(by_hand(gradient=lambda M, X: spread_gradient(M, X) * np.nan), X=X)
    assert not check.passed and np.isnan(check.gradient_slope)


def test_no_finite_value_is_an_error():
    with pytest.raises(ObjectiveError, match="returned nan"):
        ldr.check(ldr.objective(lambda M, X: jnp.sum(M) * jnp.nan), X, R)


@pytest.mark.smoke
def test_repr():
    lines = repr(ldr.check("orthogonal-lda", X, R, y=LABELS)).splitlines()
    assert lines[0] == f"OrthogonalLDA(), M {D} x {R}: passed"
    assert [line.split()[0] for line in lines[1:]] == [
        "gradient",
        "Hessian",
        "symmetry",
        "tangency",
        "invariance",
    ]
    assert len({line.index("pass") for line in lines[1:]}) == 1
    assert isinstance(ldr.check("orthogonal-cca", VIEWS), Check)
    assert f"M {D} x 2 and 4 x 2" in repr(ldr.check("orthogonal-cca", VIEWS))


def test_the_same_seed_gives_the_same_check():
    assert ldr.check("orthogonal-lda", X, R, y=LABELS) == ldr.check(
        "orthogonal-lda", X, R, y=LABELS
    )


# Taylor slopes on every manifold, with both retractions


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", [name for name in PROBLEMS if "scaled" not in name])
def test_taylor_slopes_on_manifolds(name, seed):
    problem, rng = PROBLEMS[name](), np.random.default_rng(seed)
    M = problem.manifold.random_point(rng)
    first, second = taylor_slopes(problem, M, rng)
    assert first == pytest.approx(2, abs=0.1)
    assert symmetry_error(problem, M, rng) < 1e-12
    # qr is a first-order retraction on the Stiefel manifold: its curve has an acceleration along
    # the manifold, so that t^2/2 <V, Hess V> is not the second-order term.
    assert second == pytest.approx(2 if name == "brockett by qr" else 3, abs=0.1)


@pytest.mark.parametrize("name", ["pca", "mds-stress", "robust-pca", "log-det-pca", "hsic"])
def test_a_manifold_of_one_point_has_nothing_to_fail(name):
    X = np.random.default_rng(0).standard_normal((30, 4)) + 1.0
    checked = ldr.check(name, X, r=4)
    assert checked.passed, checked
    assert np.isinf(checked.gradient_slope)
