"""Quantiles of rows that count as often as their weights say."""

import numpy as np
import pytest

from ldr.objectives.statistics.sums import median, quantiles


@pytest.mark.parametrize("n", [1, 2, 7, 50])
def test_whole_weights_are_repeated_entries(n):
    rng = np.random.default_rng(n)
    z, w = rng.standard_normal(n).round(1), rng.integers(0, 4, n).astype(float)
    w[rng.integers(n)] += 1
    shares = rng.random(20)
    expected = np.quantile(np.repeat(z, w.astype(int)), shares)
    np.testing.assert_allclose(quantiles(z, shares, w), expected, atol=1e-12)


@pytest.mark.parametrize("weight", [1.0, 1.5, 0.5])
@pytest.mark.parametrize("n", [50, 51])
def test_they_do_not_jump_where_a_weight_moves(n, weight):
    z = np.random.default_rng(0).standard_normal(n)
    for i in range(n):
        w = np.ones(n)
        w[i] = weight
        found = [median(z, w + t * (np.arange(n) == i)) for t in (-1e-6, 0.0, 1e-6)]
        assert np.ptp(found) < 1e-5
