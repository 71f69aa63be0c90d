"""Identities that no test over all methods states."""

import numpy as np
import pytest
import scipy.linalg
from scipy.spatial.distance import pdist, squareform

import ldr
from tests import real_data

RNG = np.random.default_rng(0)


def test_new_points_by_their_distances():
    X = real_data.wine()[0]
    D = squareform(pdist(X))
    result = ldr.solve("mds-distances", D[:150, :150], 13)
    Y = result.transform(D[:, :150])
    np.testing.assert_allclose(squareform(pdist(Y)), D, atol=1e-6)


@pytest.mark.parametrize("apart", [1.0, 1e-6])
def test_slow_features_of_given_derivatives_are_eigenvectors(apart):
    """Whatever linear map is applied to the columns and their derivatives."""
    X, slopes = RNG.standard_normal((2, 60, 5))
    values = scipy.linalg.eigh(slopes.T @ slopes, np.cov(X.T, bias=True), eigvals_only=True)
    T = np.eye(5)
    T[:, 1] = T[:, 0] + apart * T[:, 1]
    result = ldr.solve("sfa", X @ T, 2, derivatives=slopes @ T, whiten=True)
    assert result.value == pytest.approx(values[:2].sum(), rel=1e-9)
