"""Sizes of products."""

import numpy as np
import pytest

from ldr.solvers.linalg.eigen import defect_of, length_of_sizes


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
