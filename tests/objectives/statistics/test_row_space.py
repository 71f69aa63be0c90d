"""The span of centred rows: an orthonormal basis, and the rows in it."""

import numpy as np
import pytest
import scipy.sparse as sp

import ldr
from ldr.objectives import statistics
from ldr.objectives.data.opening import as_samples

RNG = np.random.default_rng(0)


def check_row_space(X, space, tolerance):
    """Q is orthonormal, T Q' is the centred rows, and lift and lower are Q and Q'."""
    n, d = X.shape
    Z = X - X.mean(axis=0)
    size = np.abs(Z).max()
    Q = space.lift(np.eye(space.k))
    assert Q.shape == (d, space.k)
    assert space.scores.shape == (n, space.k)
    np.testing.assert_allclose(Q.T @ Q, np.eye(space.k), atol=tolerance)
    np.testing.assert_allclose(space.scores @ Q.T, Z, atol=tolerance * size * np.sqrt(d))
    M = np.random.default_rng(1).standard_normal((d, 3))
    np.testing.assert_allclose(space.lower(M), Q.T @ M, atol=tolerance * np.sqrt(d) * 10)
    np.testing.assert_allclose(space.lift(space.lower(Q)), Q, atol=tolerance)


@pytest.mark.parametrize("container", [np.array, sp.csr_array])
@pytest.mark.parametrize("shape", [(2, 5), (20, 300), (50, 50), (40, 7), (11, 7000)])
@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_row_space(shape, offset, container):
    sparse = container is sp.csr_array
    there = RNG.random(shape) < (0.3 if sparse else 1.0)
    X = np.where(there, RNG.standard_normal(shape) + offset, 0.0)
    X[0, 0] = 1.0
    space = statistics.row_space(as_samples(container(X)))
    assert space.k == min(shape[0] - 1, shape[1])
    check_row_space(X, space, 1e-10 if sparse else 1e-12)


@pytest.mark.parametrize("container", [np.array, sp.csr_array])
def test_row_space_of_dependent_rows(container):
    few = np.where(RNG.random((5, 40)) < 0.5, RNG.standard_normal((5, 40)), 0.0)
    X = np.repeat(few, 3, axis=0)
    space = statistics.row_space(as_samples(container(X)))
    check_row_space(X, space, 1e-12 if container is np.array else 1e-10)
    assert np.sum(space.scores.any(axis=0)) == 4  # no direction is made of rounding


@pytest.mark.parametrize("n", [3, 6, 9])
def test_of_rows_that_are_repeated_rounding_is_no_direction(n):
    """Where a single direction varies, npe's value there is a ratio of two sums of squares."""
    rng = np.random.default_rng(n)
    X = np.repeat(rng.standard_normal((2, 12)), [n - 1, 1], axis=0)
    W = np.triu(rng.random((n, n)), 1)
    W = W + W.T
    result = ldr.solve("npe", X, 1, graph=W)
    Y = (X - X.mean(axis=0)) @ (X[-1] - X[0])
    assert result.value == pytest.approx(np.sum((Y - W @ Y) ** 2) / np.sum(Y**2), rel=1e-12)


@pytest.mark.parametrize("container", [np.array, sp.csr_array])
@pytest.mark.parametrize("decades", [4, 9])
def test_the_row_space_keeps_features_of_small_unit(decades, container):
    """Each feature is right to its own last digits, not to those of the largest."""
    rng = np.random.default_rng(0)
    X = np.where(rng.random((12, 40)) < 0.4, rng.standard_normal((12, 40)), 0.0)
    X *= 10.0 ** rng.uniform(-decades, 0, 40) * 10.0 ** rng.uniform(-decades, 0, (12, 1))
    space = statistics.row_space(as_samples(container(X)))
    assert space.k == 11
    Z = X - X.mean(axis=0)
    errors = np.abs(space.scores @ space.lift(np.eye(11)).T - Z).max(axis=0)
    assert np.all(errors <= 1e-13 * np.abs(Z).max(axis=0))


@pytest.mark.parametrize("centre", ["mean", "degree"])
def test_a_large_mean_costs_degree_scatters_nothing(centre):
    """One number does not hold the mean of columns at 1e8; their deviations are exact."""
    rng = np.random.default_rng(0)
    X = rng.integers(-50, 50, (31, 4)) / 8.0
    W = np.triu(rng.random((31, 31)) < 0.2, 1).astype(float)
    W = W + W.T
    near = ldr.solve("lpp", X, 2, graph=W, centre=centre).value
    far = ldr.solve("lpp", X + np.array([1e8, -1e8, 3e8, 0.0]), 2, graph=W, centre=centre).value
    assert far == pytest.approx(near, rel=1e-12)
    for name in ("orthogonal-lpp", "onpp"):
        values = [ldr.solve(name, Z, 2, graph=W).value for Z in (X, X + 1e8)]
        assert values[1] == pytest.approx(values[0], rel=1e-12)
