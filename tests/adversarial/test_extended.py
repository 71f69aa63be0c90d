"""The algebra in 80 bits, on matrices whose answers are known."""

import numpy as np
import pytest

from tests.adversarial.extended import (
    AVAILABLE,
    EPS,
    complement,
    eigh,
    extended,
    norm,
    orthonormal,
    svd,
)

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="longdouble has no more digits than double")


@pytest.mark.parametrize("k", [1, 2, 3, 8])
def test_decompositions(k):
    rng = np.random.default_rng(k)
    A = extended(rng.standard_normal((12, k))) * np.logspace(-8, 8, k)
    U, s, V = svd(A)
    assert norm(A - U * s @ V.T) <= 100 * EPS * norm(A)
    assert norm(U.T @ U - np.eye(k)) <= 1000 * EPS
    Q, W = orthonormal(A)
    assert norm(Q.T @ Q - np.eye(k)) <= 1000 * EPS
    assert norm(A @ W - Q) <= 1000 * EPS
    S = A.T @ A
    values, vectors = eigh(S)
    assert norm(S @ vectors - vectors * values) <= 1000 * EPS * norm(S)
    np.testing.assert_allclose(np.sqrt(values).astype(float), s.astype(float), rtol=1e-12)


def test_small_singular_values_keep_their_digits():
    """det of the Vandermonde matrix is the product of the differences of its nodes."""
    nodes = extended([1, 2, 3, 4, 5, 6])
    s = svd(nodes[:, None] ** np.arange(6) * extended(10) ** np.arange(0, 60, 10))[1]
    differences = np.prod([b - a for i, a in enumerate(nodes) for b in nodes[i + 1 :]])
    assert abs(np.prod(s) / (differences * extended(10) ** 150) - 1) <= 1e-16


def test_rank_and_complement():
    G = extended([[1, 2, 0, 4], [1, 2, 0, 1], [2, 4, 0, 3]])
    Q, W = orthonormal(G)
    assert Q.shape == (3, 2)
    assert W.shape == (4, 2)
    N = complement(svd(G)[2][:, :2], 4)
    assert N.shape == (4, 2)
    assert norm(G @ N) <= 100 * EPS
