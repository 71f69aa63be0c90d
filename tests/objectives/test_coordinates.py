"""Whitening against square roots from another decomposition."""

import numpy as np
import pytest
import scipy

from ldr.objectives import OrthogonalLDA
from ldr.objectives.view import Columns, Whitening
from tests.objectives.methods import LABELS, X, bound


def test_axes_of_rows_that_are_gone_are_those_of_the_span():
    """Columns count by their places, the first most: diag(d, ..., 1) is diagonal in them."""
    problem, Q = (
        bound(OrthogonalLDA(), X, 2, LABELS),
        scipy.linalg.expm(np.array([[0, 1.0], [-1.0, 0]])),
    )
    M = problem.random_point(np.random.default_rng(0))
    one, other = (N @ problem.axes(N, [None]).turns[0] for N in (M, M @ Q))
    np.testing.assert_allclose(np.abs(one), np.abs(other), atol=1e-12)
    places = one.T @ np.diag(np.arange(len(M), 0.0, -1.0)) @ one
    assert abs(places[0, 1]) < 1e-12 and places[0, 0] > places[1, 1]


@pytest.mark.parametrize("units", [1.0, 8.0, 1e3], ids=["alike", "near", "far apart"])
def test_the_reported_matrix_belongs_to_the_symmetric_root(units):
    """M = B^{1/2}P', orthonormal, whether B had to be scaled or not.

    It is not where it is well conditioned: one decomposition serves W and the root.
    """
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((40, 6)) * np.geomspace(1.0, units, 6)
    B = rows.T @ rows / 40
    whitening = Whitening.of(B, Columns())
    assert whitening.orthogonal == (units < 1e3)
    Z = np.linalg.qr(rng.standard_normal((6, 2)))[0]
    M = whitening.lift(Z)
    np.testing.assert_allclose(M.T @ M, np.eye(2), atol=1e-13)
    root = np.real(scipy.linalg.sqrtm(B))
    np.testing.assert_allclose(M, root @ whitening.map(Z, M).T, atol=1e-9)
    np.testing.assert_allclose(whitening.lower(M), Z, atol=1e-12)
    np.testing.assert_allclose(whitening.inverse @ whitening.W, np.eye(6), atol=1e-12)
