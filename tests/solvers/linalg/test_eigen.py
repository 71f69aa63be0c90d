"""Eigenvectors of matrices with tied eigenvalues, where LAPACK's selected driver can miss some."""

import numpy as np
import pytest

from ldr.errors import SingularError
from ldr.solvers.linalg.eigen import (
    generalised_top_eigenvectors,
    graded_qr,
    graded_svd,
    has_full_rank,
    range_basis,
    rank_tolerance,
    symmetric_eigen,
    top_eigenvectors,
    top_singular,
)
from ldr.solvers.manifolds.manifold import thin_svd
from tests.adversarial.extended import AVAILABLE, eigh, extended, svd


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("choices", [[1.0, -1.0], [0.0, 1.0, 1.0], [2.0]])
def test_ties(seed, choices):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(8, 40))
    spectrum = rng.choice(choices, k)
    Q = np.linalg.qr(rng.standard_normal((k, k)))[0]
    A = (Q * spectrum) @ Q.T
    A = 0.5 * (A + A.T)
    for r in (1, 2, k // 3):
        values, vectors = top_eigenvectors(A, r)
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(r), atol=1e-13)
        np.testing.assert_allclose(A @ vectors, vectors * values, atol=1e-13)
        np.testing.assert_allclose(values, np.sort(spectrum)[::-1][:r], atol=1e-13)
    np.testing.assert_allclose(symmetric_eigen(A)[0], np.sort(spectrum)[::-1], atol=1e-13)


@pytest.mark.parametrize("seed", range(18))
def test_a_factor_never_calls_a_singular_matrix_regular(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(1, 60))
    X = rng.standard_normal((int(rng.integers(1, 2 * k + 2)), k)) * 10.0 ** rng.uniform(-8, 0, k)
    Q = np.linalg.qr(rng.standard_normal((k, k)))[0] if seed % 3 else np.eye(k)
    S = Q.T @ (X.T @ X) @ Q
    if seed % 2:
        S += 10.0 ** rng.uniform(-18, -8) * np.trace(S) * np.eye(k)
    scale = np.sqrt(np.diag(S))
    S = S / scale / scale[:, None]
    spectrum = np.linalg.eigvalsh(S)
    tolerance = rank_tolerance(k)
    if has_full_rank(S, tolerance):
        assert spectrum[0] > tolerance * spectrum[-1]
    else:  # it may leave the decision to the eigenvalues only where they are small
        assert spectrum[0] < 3.0 * tolerance * k


def test_a_regular_matrix_needs_no_eigenvalues():
    S = np.corrcoef(np.random.default_rng(0).standard_normal((30, 200)))
    kept = S.copy()
    assert has_full_rank(S, rank_tolerance(30))
    assert np.array_equal(S, kept)
    S[0], S[:, 0] = 0.0, 0.0
    assert not has_full_rank(S, rank_tolerance(30))


@pytest.mark.parametrize("large", [20, 2])
def test_few_eigenvalues_of_graded_matrices_need_no_others(large, monkeypatch):
    """Those that are asked for are found alone, small ones beside the large ones."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 30)) * np.where(np.arange(30) < large, 1e4, 1.0)
    A = X.T @ X
    expected = graded_svd(X)[1] ** 2
    monkeypatch.setattr(np.linalg, "eigh", None)  # of whole matrices
    values, vectors = top_eigenvectors(A, 3)
    np.testing.assert_allclose(values, expected[:3], rtol=1e-13)
    np.testing.assert_allclose(A @ vectors, vectors * values, atol=1e-13 * values[0])


@pytest.mark.skipif(not AVAILABLE, reason="longdouble is a double here")
@pytest.mark.parametrize("share", [0.1, 1.0])
@pytest.mark.parametrize("decades", ["one column", "half of them", "all alike"])
def test_small_eigenvalues_of_graded_matrices(decades, share):
    """DSD with D over many decades and an indefinite S: each eigenvalue to its own last digits."""
    d = 30
    rng = np.random.default_rng(0)
    D = {
        "one column": np.where(np.arange(d) == 7, 1e8, 1.0),
        "half of them": np.where(np.arange(d) % 2, 1e6, 1.0),
        "all alike": np.logspace(0, 6, d)[rng.permutation(d)],
    }[decades]
    S = rng.standard_normal((d, d)) + np.diag(np.where(np.arange(d) % 3, -9.0, 9.0))
    A = (S + S.T) * D * D[:, None]
    r = round(share * d)
    values, vectors = top_eigenvectors(A, r)
    expected, theirs = eigh(A)
    np.testing.assert_allclose(values, expected[:r].astype(float), rtol=1e-10)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(r), atol=1e-13)
    overlap = np.abs(np.sum(vectors * theirs[:, :r], axis=0))
    np.testing.assert_allclose(overlap.astype(float), 1.0, atol=1e-10)


@pytest.mark.skipif(not AVAILABLE, reason="longdouble is a double here")
def test_rows_of_very_different_size_keep_their_digits():
    rng = np.random.default_rng(0)
    units = 10.0 ** rng.uniform(-12, 12, (30, 1))
    A = units * rng.standard_normal((30, 6))
    Q, R, pivots = graded_qr(A)
    np.testing.assert_allclose(Q.T @ Q, np.eye(6), atol=1e-14)
    np.testing.assert_allclose((Q @ R) / units, A[:, pivots] / units, atol=1e-13)
    complement = graded_qr(A, "full")[0][:, 6:]
    off = np.abs(extended(A).T @ complement) / (np.abs(A).T @ np.abs(complement))
    assert off.max() < 1e-14


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [2.0**700, 2.0**-700])
def test_matrices_whose_squares_are_no_numbers(scale):
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((4, 4)))[0]
    S = (Q * [4.0, 3.0, 2.0, 1.0]) @ Q.T
    near, far = top_eigenvectors(S, 2), top_eigenvectors(S * scale, 2)
    np.testing.assert_allclose(far[0] / scale, near[0], rtol=1e-14)
    np.testing.assert_allclose(np.abs(near[1].T @ far[1]), np.eye(2), atol=1e-12)


@pytest.mark.skipif(not AVAILABLE, reason="longdouble is a double here")
def test_singular_values_of_columns_in_any_units():
    rng = np.random.default_rng(0)
    F = rng.standard_normal((5, 9)) * 10.0 ** rng.uniform(-12, 12, 9)
    U, values, Vt = graded_svd(F)
    np.testing.assert_allclose(values, svd(F)[1].astype(float), rtol=1e-13)
    np.testing.assert_allclose((U * values) @ Vt / F, 1.0, atol=1e-12)
    V, same, Ut = graded_svd(F.T)  # more rows than columns
    np.testing.assert_allclose(same, values, rtol=1e-13)
    np.testing.assert_allclose((V * same) @ Ut / F.T, 1.0, atol=1e-12)


def test_eigenvalues_that_are_equal_are_found():
    """Some versions of LAPACK find none by bisection; all are asked for then."""
    rng = np.random.default_rng(0)
    F = rng.standard_normal((30, 11))
    B = F.T @ F
    values, V = generalised_top_eigenvectors(B, B, 1)
    assert V.shape == (11, 1) and values == pytest.approx([1.0])


def test_a_range_keeps_small_columns_apart_from_dependences_of_large_ones():
    """Rounding of what depends on what in columns of 1e7 is more than all of one of 1e-6."""
    X = np.random.default_rng(0).standard_normal((20, 3))
    X[:, 2] = -0.5 * X[:, 0]
    X *= [1e7, 1e-6, 1e7]
    Q = range_basis(X.T @ X)
    alone = np.abs(Q[1]).argmax()
    assert abs(Q[1, alone]) == pytest.approx(1.0, abs=1e-15)
    assert np.abs(Q[[0, 2], alone]).max() * 1e7 < 1e-10 * 1e-6
    np.testing.assert_allclose(Q.T @ [1.0, 0.0, 2.0], 0.0, atol=1e-14)


def test_singular_values_where_divide_and_conquer_does_not_converge(monkeypatch):
    def fails(*given, **options):
        raise np.linalg.LinAlgError("SVD did not converge")

    monkeypatch.setattr(np.linalg, "svd", fails)
    A = np.random.default_rng(0).standard_normal((7, 5))
    U, s, Vt = thin_svd(A)
    np.testing.assert_allclose(U.T @ U, np.eye(5), atol=1e-14)
    np.testing.assert_allclose((U * s) @ Vt, A, atol=1e-13)
    np.testing.assert_allclose(s**2, np.linalg.eigvalsh(A.T @ A)[::-1], rtol=1e-12)


@pytest.mark.parametrize("shape", [(210, 210), (210, 300), (300, 210), (20, 30)])
@pytest.mark.parametrize("largest", [[3.0, 2.0, 2.0, 1.5], [3.0, 1e-3, 1e-3, 1e-4]])
@pytest.mark.parametrize("unit", [1.0, 1e200, 1e-200])
def test_few_singular_values_are_those_of_all(shape, largest, unit):
    rng = np.random.default_rng(0)
    U, V = (np.linalg.qr(rng.standard_normal((k, min(shape))))[0] for k in shape)
    s = np.concatenate([largest, np.linspace(0.9, 0.0, min(shape) - 4) * largest[-1]])
    A = unit * ((U * s) @ V.T)
    found = top_singular(A, 4)
    Ur, sr, Vr = found[0].T[:4], found[1][:4], found[2][:4]
    np.testing.assert_allclose(sr / unit, largest, atol=2e-14)
    np.testing.assert_allclose(Ur @ (A / unit), sr[:, None] / unit * Vr, atol=5e-14)
    np.testing.assert_allclose(Ur @ Ur.T, np.eye(4), atol=1e-14)
    np.testing.assert_allclose(Vr @ Vr.T, np.eye(4), atol=1e-14)


def test_what_is_not_positive_definite_is_no_denominator():
    with pytest.raises(SingularError, match="eigenproblem Ax = lambda Bx is not positive definite"):
        generalised_top_eigenvectors(np.eye(2), np.array([[1.0, 2.0], [2.0, 1.0]]), 1)


def test_eigenvalues_near_the_tolerance_decide_themselves():
    """A factor leaves room for rounding; .2 of 1.8 and .17 of 1.83 are about a tenth."""
    for across, whole in ((0.8, True), (0.83, False)):
        S = np.array([[1.0, across], [across, 1.0]])
        assert not has_full_rank(S, 0.1)
        assert (range_basis(S, 0.1) is None) == whole
