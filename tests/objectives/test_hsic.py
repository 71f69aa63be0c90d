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
