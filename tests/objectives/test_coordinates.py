"""Whitening against square roots from another decomposition."""

import numpy as np
import pytest
import scipy

from ldr.objectives.coordinates import Columns, Whitening


@pytest.mark.parametrize("units", [1.0, 8.0, 1e3], ids=["alike", "near", "far apart"])
def test_the_reported_matrix_belongs_to_the_symmetric_root(units):
    """M = B^{1/2}P', orthonormal, whether B had to be scaled or not.

    It is not where it is well conditioned: one decomposition serves W and the root.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 6)) * np.geomspace(1.0, units, 6)
    B = X.T @ X / 40
    whitening = Whitening.of(B, Columns())
    assert whitening.orthogonal == (units < 1e3)
    Z = np.linalg.qr(rng.standard_normal((6, 2)))[0]
    M = whitening.lift(Z)
    np.testing.assert_allclose(M.T @ M, np.eye(2), atol=1e-13)
    root = np.real(scipy.linalg.sqrtm(B))
    np.testing.assert_allclose(M, root @ whitening.map(Z, M).T, atol=1e-9)
    np.testing.assert_allclose(whitening.lower(M), Z, atol=1e-12)
    np.testing.assert_allclose(whitening.inverse @ whitening.W, np.eye(6), atol=1e-12)
