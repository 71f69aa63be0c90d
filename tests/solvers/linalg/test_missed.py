"""What a random vector tells of the eigenvalues that products did not find."""

import numpy as np
import pytest
import scipy

from ldr.solvers.linalg.products import largest_of_rest, pencil_values, ratio_bound, top_values

PRODUCTS = 400


def problem(seed):
    """A, B with a unit diagonal, r, and near the m >= r largest a block with some noise."""
    rng = np.random.default_rng(seed)
    k, r = int(rng.integers(12, 80)), int(rng.integers(1, 5))
    G, F = rng.standard_normal((k, k)), rng.standard_normal((2 * k, k))
    B = F.T @ F / (2 * k) + 0.1 * np.eye(k)
    scale = 1.0 / np.sqrt(np.diag(B))
    noise = 10.0 ** rng.uniform(-12, -2) * rng.standard_normal((k, r + 3))
    return G + G.T, B * scale * scale[:, None], r, noise


def eigen(A, B=None):
    values, vectors = scipy.linalg.eigh(A, B)
    return values[::-1], vectors[:, ::-1]


@pytest.mark.parametrize("missed", [0, 1])
@pytest.mark.parametrize("seed", range(6))
def test_no_eigenvalue_and_no_ratio_exceeds_what_is_told(seed, missed):
    """Also where the block lacks the largest of all."""
    A, B, r, noise = problem(seed)
    block = slice(missed, missed + noise.shape[1])
    values, V = eigen(A)
    assert (top_values(A, np.linalg.qr(V[:, block] + noise)[0], r, PRODUCTS) >= values[:r]).all()
    values, V = eigen(A, B)
    assert (pencil_values(A, B, V[:, block] + noise, r, PRODUCTS) >= values[:r]).all()
    weights = np.linspace(1.0, 0.5, r)

    def f(t):
        return weights @ eigen(A - t * B)[0][:r]

    rho = scipy.optimize.brentq(f, -1e3, 1e3, xtol=1e-14)
    V = eigen(A - rho * B)[1][:, block]
    diagonal = np.diag(B)
    assert ratio_bound(A, B, V + noise, rho, weights, diagonal, PRODUCTS, 0.1) >= rho * (1 - 1e-13)


def test_beside_all_directions_nothing_is_left():
    assert largest_of_rest(lambda V: V, np.eye(3), PRODUCTS) == -np.inf


def test_it_is_tight_where_the_block_is_good():
    A, B, r, _ = problem(1)
    values, V = eigen(A, B)
    found = pencil_values(A, B, V[:, : r + 3], r, PRODUCTS)
    assert np.allclose(found, values[:r], rtol=0, atol=1e-11 * np.abs(values).max())
    rho = scipy.optimize.brentq(lambda t: eigen(A - t * B)[0][:r].sum(), -1e3, 1e3, xtol=1e-14)
    V = eigen(A - rho * B)[1][:, : r + 3]
    assert ratio_bound(A, B, V, rho, np.ones(r), np.diag(B), PRODUCTS) <= rho * (1 + 1e-10)


@pytest.mark.parametrize("times", [-1.0, 0.0, 1.0])
def test_of_multiples_of_the_identity(times):
    for k in (3, 103):
        told = largest_of_rest(lambda V: times * V, np.empty((k, 0)), PRODUCTS)
        assert times <= told <= times + 0.51
