"""Eigenvectors of matrices with tied eigenvalues, where LAPACK's selected driver can miss some."""

import numpy as np
import pytest

from ldr.solvers.eigen import bottom_eigenvectors, symmetric_eigen, top_eigenvectors


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("choices", [[1.0, -1.0], [0.0, 1.0, 1.0], [2.0]])
def test_ties(seed, choices):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(8, 40))
    spectrum = rng.choice(choices, k)
    Q = np.linalg.qr(rng.standard_normal((k, k)))[0]
    A = (Q * spectrum) @ Q.T
    A = 0.5 * (A + A.T)
    for r in (1, 2, k // 3):
        for values, vectors in (top_eigenvectors(A, r), bottom_eigenvectors(A, r)):
            np.testing.assert_allclose(vectors.T @ vectors, np.eye(r), atol=1e-13)
            np.testing.assert_allclose(A @ vectors, vectors * values, atol=1e-13)
        np.testing.assert_allclose(
            top_eigenvectors(A, r)[0], np.sort(spectrum)[::-1][:r], atol=1e-13
        )
    np.testing.assert_allclose(symmetric_eigen(A)[0], np.sort(spectrum)[::-1], atol=1e-13)
