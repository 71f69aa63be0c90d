"""The Hilbert-Schmidt independence criterion, with a response and without."""

import numpy as np
import pytest

import ldr
from ldr.objectives.kernel import median_distance
from tests import real_data


def gram(Y, width):
    return np.exp(-((Y[:, None] - Y) ** 2).sum(axis=2) / (2 * width**2))


def test_value_is_the_formula():
    """Of fewer rows than columns too, where the problem is that in the span of the rows."""
    X, y = (part[::3] for part in real_data.wine())
    wide = np.random.default_rng(0).standard_normal((15, 40))
    for rows, response, Kz in (
        (X, y, (y[:, None] == y).astype(float)),
        (X, X[:, :1], gram(X[:, :1], median_distance(X[:, :1]))),
        (X, None, gram(X, median_distance(X))),
        (wide, wide[:, 0], gram(wide[:, :1], median_distance(wide[:, :1]))),
    ):
        result = ldr.solve("hsic", rows, 2, y=response, width=1.5)
        n = len(rows)
        P, K = np.eye(n) - 1 / n, gram(rows @ result.M, 1.5)
        assert result.value == pytest.approx(np.trace(P @ K @ P @ Kz) / (n - 1) ** 2, rel=1e-10)
        assert result.value >= result.baseline


@pytest.mark.parametrize("landmarks", [None, 60])
def test_finds_what_is_not_linear(landmarks):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 6))
    y = X[:, 0] ** 2 + 0.1 * rng.standard_normal(300)
    result = ldr.solve("hsic", X, 1, y=y, starts=4, random_state=0, landmarks=landmarks)
    assert abs(result.M[0, 0]) > 0.99
    assert abs(ldr.solve("sir", X, 1, y=y).M[0, 0]) < 0.9


def test_groups_that_variance_hides():
    """Three tight groups in two columns beside wide noise in a third."""
    rng = np.random.default_rng(1)
    groups = np.arange(150) % 3
    centres = 4 * np.array([[1, 0], [-0.5, 0.87], [-0.5, -0.87]])
    X = np.hstack([centres[groups] + 0.2 * rng.standard_normal((150, 2)), np.zeros((150, 1))])
    X[:, 2] = 4 * rng.standard_normal(150)
    supervised = ldr.solve("hsic", X, 2, y=groups, response="labels")
    assert np.linalg.norm(supervised.M[2]) < 0.1
    assert np.linalg.norm(ldr.solve("pca", X, 2).M[2]) > 0.9


@pytest.mark.parametrize("landmarks", [None, 30])
def test_without_a_response_it_is_the_data_themselves(landmarks):
    X = real_data.wine()[0][::2]
    without, with_X = (
        ldr.solve("hsic", X, 2, y=y, landmarks=landmarks, certify=False) for y in (None, X)
    )
    assert without.value == pytest.approx(with_X.value, rel=1e-10)


def test_the_heuristic_is_exact_for_a_wide_kernel():
    """1 - |y_i - y_j|^2/(2 sigma^2) is all that is left: tr(M'X'Kz X M)/sigma^2."""
    X, y = real_data.wine()
    wide = ldr.solve("hsic", X, 2, y=y, width=1e3)
    assert np.linalg.norm(wide.M - wide.baseline_M @ (wide.baseline_M.T @ wide.M)) < 1e-4
    Kz = (y[:, None] == y) - np.mean(y[:, None] == y, axis=0)
    Kz = Kz - Kz.mean(axis=1, keepdims=True)
    top = np.linalg.eigvalsh(X.T @ Kz @ X)[-2:].sum()
    assert wide.value == pytest.approx(top / 1e6 / (len(X) - 1) ** 2, rel=1e-3)
