"""Decompositions of small matrices."""

import numpy as np
import pytest

from ldr.solvers.spectral import eigh, eigvalsh, generalised_eigh, orthonormal_basis


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
    np.testing.assert_allclose(eigvalsh(S), values, atol=1e-12)


def test_what_lapack_does_not_find_is_said(monkeypatch):
    monkeypatch.setattr("ldr.solvers.spectral.dsyevd", lambda S, lower: (S[0], S, 1))
    with pytest.raises(np.linalg.LinAlgError, match="did not converge"):
        eigh(np.eye(3))


@pytest.mark.parametrize("k", [1, 2, 7, 33])
def test_generalised_eigenvectors_are_of_length_1_in_b(k):
    A, F = np.random.default_rng(k).standard_normal((2, k, k))
    A, B = A + A.T, F @ F.T + np.eye(k)
    values, vectors = generalised_eigh(A, B)
    np.testing.assert_allclose(A @ vectors, B @ vectors * values, atol=1e-11)
    np.testing.assert_allclose(vectors.T @ B @ vectors, np.eye(k), atol=1e-12)
    np.testing.assert_allclose(generalised_eigh(A, B, vectors=False)[0], values, atol=1e-11)
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        generalised_eigh(A, -B)


@pytest.mark.parametrize("d", [1, 2, 10, 33])
def test_an_orthonormal_basis_spans_the_columns(d):
    V = np.random.default_rng(d).standard_normal((d, min(d, 3)))
    Q = orthonormal_basis(V)
    np.testing.assert_allclose(Q.T @ Q, np.eye(Q.shape[1]), atol=1e-13)
    np.testing.assert_allclose(Q @ (Q.T @ V), V, atol=1e-12)
