"""Eigenvectors of small symmetric matrices."""

import numpy as np
import pytest

from ldr.solvers.spectral import eigh


@pytest.mark.parametrize("k", [1, 2, 7, 32, 33, 50])
@pytest.mark.parametrize("order", "CF")
def test_eigenvectors_are_those_of_the_lower_triangle(k, order):
    rng = np.random.default_rng(k)
    S = np.array(rng.standard_normal((k, k)), order=order)
    before, whole = S.copy(), np.tril(S) + np.tril(S, -1).T
    values, vectors = eigh(S)
    assert np.array_equal(S, before)
    assert np.all(np.diff(values) >= 0)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(k), atol=1e-13)
    np.testing.assert_allclose(whole @ vectors, vectors * values, atol=1e-12)
