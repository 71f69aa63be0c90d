"""Sizes of products."""

import numpy as np
import pytest

from ldr.solvers.linalg.eigen import defect_of


def test_defect_of_what_whitens():
    rng = np.random.default_rng(0)
    W, E = np.linalg.inv(np.linalg.cholesky(np.eye(30) + 0.5)).T, rng.standard_normal((30, 30))
    for B in (np.eye(30) + 0.5, np.eye(30) - 2.0):
        for off in (0.0, 1e-9, 1.0):
            there = W + off * E
            defect = np.linalg.norm(there.T @ B @ there - np.eye(30))
            assert defect_of(there, B) == pytest.approx(defect, rel=1e-5, abs=1e-13)
