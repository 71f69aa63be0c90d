"""Products of symmetric matrices."""

import numpy as np
import pytest

from ldr.solvers.linalg.lengths import length_of_sizes
from ldr.solvers.linalg.symmetric import defect_of, symmetric_product


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("k", [7, 127, 128, 300])
@pytest.mark.parametrize("columns", [0, 1, 2, 6, 7])
def test_the_product_is_that_of_the_whole_matrix(k, columns, order):
    rng = np.random.default_rng(k)
    S = rng.standard_normal((k, k))
    S = np.asarray(S + S.T, order=order)
    wide = rng.standard_normal((k, 2 * columns))
    for Z in (wide[:, ::2], wide[:, :columns], np.asfortranarray(wide[:, :columns])):
        before = S.copy(), Z.copy()
        product = symmetric_product(S, Z)
        bound = 2 * k * np.finfo(float).eps * (np.abs(S) @ np.abs(Z))
        assert product.shape == (k, columns)
        assert np.all(np.abs(product - S @ Z) <= bound)
        assert np.array_equal(S, before[0])
        assert np.array_equal(Z, before[1])


def test_defect_of_what_whitens():
    rng = np.random.default_rng(0)
    W, E = np.linalg.inv(np.linalg.cholesky(np.eye(30) + 0.5)).T, rng.standard_normal((30, 30))
    for B in (np.eye(30) + 0.5, np.eye(30) - 2.0):
        for off in (0.0, 1e-9, 1.0):
            there = W + off * E
            defect = np.linalg.norm(there.T @ B @ there - np.eye(30))
            assert defect_of(there, B) == pytest.approx(defect, rel=1e-5, abs=1e-13)


@pytest.mark.parametrize("units", [0, 30])
@pytest.mark.parametrize("k", [20, 300])
def test_sizes_in_single_precision_bound_those_in_double(k, units):
    rng = np.random.default_rng(k)
    unit = 10.0 ** rng.uniform(-units, units, k)
    W, A = rng.random((k, 7)), rng.random((k, k))
    A = A + A.T
    A[3] = A[:, 3] = W[3] = 0.0
    exact = np.linalg.norm(W.T @ A @ W)
    found = length_of_sizes(W / unit[:, None], A * unit * unit[:, None])
    assert exact * (1 - 1e-12) <= found <= 1.002 * exact
