"""Kernel dimension reduction: what sliced inverse regression cannot see is found."""

import numpy as np
import pytest

import ldr
from ldr.objectives.kernels import centred_gram
from ldr.objectives.sdr import SDR
from tests import real_data


def symmetric_dependence(seed, n=200, d=6):
    """y = x_1^2 + noise: no linear dependence at all."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, X[:, 0] ** 2 + 0.1 * rng.standard_normal(n)


@pytest.mark.parametrize("seed", range(2))
def test_finds_the_direction_that_slices_miss(seed):
    X, y = symmetric_dependence(seed)
    starts = [ldr.solve("sdr", X, 1, y=y, start="random", random_state=s) for s in range(6)]
    best = min(starts, key=lambda result: result.value)
    assert abs(best.M[0, 0]) > 0.999
    assert abs(best.baseline_M[0, 0]) < 0.9
    assert best.value < best.baseline


def test_value_is_the_formula():
    X, y = real_data.wine()[0][::4], real_data.wine()[1][::4]
    result = ldr.solve("sdr", X, 2, y=y, width=1.5, epsilon=0.01)
    n = len(X)
    Y = (X - X.mean(axis=0)) @ result.M
    K = np.exp(-((Y[:, None] - Y) ** 2).sum(axis=2) / (2 * 1.5**2))
    P = np.eye(n) - 1 / n
    Kz = P @ (y[:, None] == y).astype(float) @ P
    formula = np.trace(Kz @ np.linalg.inv(P @ K @ P + n * 0.01 * np.eye(n)))
    assert result.value == pytest.approx(formula, rel=1e-10)


def test_centring_without_forming_the_projector():
    K = np.random.default_rng(0).standard_normal((7, 7))
    K = K + K.T
    P = np.eye(7) - 1 / 7
    np.testing.assert_allclose(centred_gram(K), P @ K @ P, atol=1e-14)


def test_slices_find_a_linear_dependence():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((300, 5))
    direction = np.array([1.0, 2.0, 0.0, 0.0, -1.0]) / np.sqrt(6)
    result = ldr.solve(SDR(), X, 1, y=X @ direction + 0.1 * rng.standard_normal(300))
    assert abs(result.baseline_M[:, 0] @ direction) > 0.99
    assert abs(result.M[:, 0] @ direction) > 0.99


def test_more_dimensions_than_slices_give_is_filled_by_principal_components():
    X, y = real_data.wine()
    result = ldr.solve("sdr", X[::3], 4, y=y[::3], max_iterations=5, certify=False)
    M = result.baseline_M
    np.testing.assert_allclose(M.T @ M, np.eye(4), atol=1e-12)
