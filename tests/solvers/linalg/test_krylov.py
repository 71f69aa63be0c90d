"""Block Krylov: the largest eigenvalues from products, to the residual that it states."""

import numpy as np
import pytest

import ldr
from ldr.objectives.data.opening import as_samples
from ldr.objectives.statistics import moments
from ldr.objectives.statistics.covariance import CovarianceOperator
from ldr.solvers.linalg.krylov import block_krylov

SPECTRA = {
    "decay": 1.0 / np.arange(1, 201),
    "signed": np.linspace(-3, 2, 200),
    "ties": np.r_[np.full(5, 3.0), np.full(195, 1.0)],
    "low rank": np.r_[np.arange(8.0, 0, -1), np.zeros(192)],
    "zero": np.zeros(200),
    "tiny": 1e-120 * np.arange(1, 201),
}


@pytest.mark.parametrize("spectrum", SPECTRA)
@pytest.mark.parametrize("r", [1, 4, 8, 150])
def test_eigenvalues_of_any_spectrum(spectrum, r):
    theta = SPECTRA[spectrum]
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((200, 200)))[0]
    A = (Q * theta) @ Q.T
    found = block_krylov(A, r, tolerance=1e-12, most_products=10_000)
    size = np.abs(theta).max()
    assert found.converged
    assert np.abs(found.values - np.sort(theta)[::-1][:r]).max() <= 1e-12 * size
    assert np.abs(found.vectors.T @ found.vectors - np.eye(r)).max() <= 1e-12
    residual = np.linalg.norm(A @ found.vectors - found.vectors * found.values, axis=0).max()
    assert residual <= found.residual + 1e-13 * size


def test_stops_when_products_are_spent():
    A = np.diag(np.linspace(1, 2, 300))
    found = block_krylov(A, 5, tolerance=1e-14, most_products=30)
    assert not found.converged and 30 <= found.products < 60


@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_operator_is_the_covariance(shift):
    rng = np.random.default_rng(1)
    X = as_samples(rng.standard_normal((70, 30)) * np.linspace(1, 5, 30) + shift)
    C, V = moments(X).covariance, rng.standard_normal((30, 4))
    operator = CovarianceOperator.of(X)
    assert np.allclose(operator @ V, C @ V, rtol=1e-12, atol=1e-12 * np.abs(C).max())
    assert operator.trace == pytest.approx(np.trace(C), rel=1e-12)
    assert np.array_equal(operator.array(), C)


@pytest.mark.parametrize("noise", [0.1, None])
def test_large_dense_pca_needs_no_covariance(monkeypatch, noise):
    """Same value as from the covariance; without a decay of the spectrum, by the covariance."""
    monkeypatch.setattr("ldr.objectives.statistics.covariance._LEAST_ORDER", 100)
    monkeypatch.setattr("ldr.objectives.statistics.covariance._COLUMNS_PER_VECTOR", 40)
    rng = np.random.default_rng(2)
    X = rng.standard_normal((300, 200))
    if noise:
        X = rng.standard_normal((300, 2)) * [9, 6] @ rng.standard_normal((2, 200)) + noise * X
    result = ldr.solve("pca", X, 4 if noise is None else 2)
    assert any("block Krylov" in note for note in result.notes) == (noise is not None)
    s = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)
    assert result.value == pytest.approx(np.sum(s[len(result.P) :] ** 2), rel=1e-11)
    if noise is not None:
        assert result.certificate.kind == "none" and "thorough" in result.certificate.message
        proved = ldr.solve("pca", X, 2, certify="thorough")
        assert proved.value == result.value and proved.certificate.kind == "global"
