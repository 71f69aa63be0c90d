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


@pytest.mark.parametrize("mean", [0.02, 1 / 30, 0.5])
def test_weights_that_are_shares_count_the_samples(mean):
    """The value is divided by (N - 1)^2, which is zero for weights of sum N = 1."""
    X = np.random.default_rng(0).standard_normal((30, 3))
    plain, shares = (
        ldr.solve("hsic", X, 1, y=X[:, 0] ** 2, sample_weight=w) for w in (None, np.full(30, mean))
    )
    assert shares.value == pytest.approx(plain.value, rel=1e-10)
