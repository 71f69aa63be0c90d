"""Probabilistic PCA: the closed form is the maximum of the likelihood, whoever computes it."""

import numpy as np
import pytest

import ldr
from tests import real_data
from tests.objectives.methods import bound

X = real_data.wine()[0]


def model(result):
    return result.M @ result.M.T + result.parameters["noise_variance"] * np.eye(len(result.M))


@pytest.mark.parametrize("chosen", [[0, 2], [1, 2], [0, 3]])
def test_gradient_vanishes_at_the_closed_form_and_other_stationary_points_are_saddles(chosen):
    problem = bound("ppca", X, 2)
    M = problem.closed_form()
    assert np.linalg.norm(problem.at(M).gradient) < 1e-9 * problem.at(M).value
    C = np.cov(X.T, bias=True)
    values, vectors = np.linalg.eigh(C)
    values, vectors = values[::-1], vectors[:, ::-1]
    noise = np.delete(values, chosen).mean()  # not the top two are chosen
    loadings = vectors[:, chosen] * np.sqrt(values[chosen] - noise)
    saddle = problem.manifold.join([loadings, np.log([[noise]])])
    assert np.linalg.norm(problem.at(saddle).gradient) < 1e-9 * problem.at(saddle).value
    from ldr.solvers.saddles import smallest_curvature

    assert smallest_curvature(problem, saddle).smallest < -1
    assert smallest_curvature(problem, M).smallest > -1e-6


WIDE = np.random.default_rng(1).standard_normal((15, 40))


@pytest.mark.parametrize("rows", [X, WIDE], ids=["n > d", "n < d"])
def test_em_is_monotone_at_every_step_and_reaches_the_closed_form(rows):
    closed = ldr.solve("ppca", rows, 3)
    result = ldr.solve("ppca", rows, 3, solver="em", start="random", random_state=0)
    values = np.array(result.history["value"])
    assert len(values) > 20 and values[0] - values[-1] > 1
    assert np.all(np.diff(values) <= 1e-12 * abs(values[0]))
    assert result.value == pytest.approx(closed.value, rel=1e-10)
    assert result.certificate.kind == "global"


def test_a_step_of_em_is_that_of_the_textbook():
    """E[Y] = XMK^{-1}, E[Y'Y] = n s2 K^{-1} + E[Y]'E[Y]; M and s2 from them."""
    problem = bound("ppca", X, 2)
    point = problem.random_point(np.random.default_rng(0))
    M, t = problem.manifold.split(point)
    Z = (X - X.mean(axis=0)) / problem.scale
    n, d = Z.shape
    s2 = np.exp(t[0, 0])
    K = M.T @ M + s2 * np.eye(2)
    Y = Z @ M @ np.linalg.inv(K)
    YY = n * s2 * np.linalg.inv(K) + Y.T @ Y
    new = Z.T @ Y @ np.linalg.inv(YY)
    noise = np.sum(Z**2) - 2 * np.trace(Z @ new @ Y.T) + np.trace(new.T @ new @ YY)
    found, log_noise = problem.manifold.split(problem.em_step(point))
    np.testing.assert_allclose(found, new, rtol=1e-10)
    assert np.exp(log_noise[0, 0]) == pytest.approx(noise / (n * d), rel=1e-10)


def test_map_is_the_posterior_mean_and_the_pseudoinverse_without_noise():
    result = ldr.solve("ppca", X, 3)
    S = model(result)
    np.testing.assert_allclose(result.P, result.M.T @ np.linalg.inv(S), atol=1e-12)
    rng = np.random.default_rng(0)
    exact = rng.standard_normal((300, 3)) @ rng.standard_normal((3, 10))
    nearly = ldr.solve("ppca", exact + 1e-5 * rng.standard_normal(exact.shape), 3)
    np.testing.assert_allclose(nearly.P, np.linalg.pinv(nearly.M), atol=1e-6)
