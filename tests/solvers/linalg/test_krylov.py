"""Block Krylov: the largest eigenvalues from products, to the residual that it states."""

from dataclasses import replace

import numpy as np
import pytest

import ldr
from ldr.objectives import Data
from ldr.objectives.data.opening import as_samples
from ldr.objectives.data.sample_metadata import Marks
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


def by_products(monkeypatch, squared_per_product):
    of = "ldr.objectives.statistics.covariance."
    monkeypatch.setattr(of + "DENSE", 100)
    monkeypatch.setattr(of + "_COLUMNS_PER_VECTOR", 40)
    monkeypatch.setattr(of + "_SQUARED_PER_PRODUCT", squared_per_product)


@pytest.mark.parametrize("noise", [0.1, None])
def test_large_dense_pca_needs_no_covariance(monkeypatch, noise):
    """Same value as from the covariance; without a decay of the spectrum, by the covariance."""
    by_products(monkeypatch, 0)
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


@pytest.mark.parametrize("shape", [(300, 200), (200, 400)])
@pytest.mark.parametrize("weighted", [False, True])
def test_pca_by_products_is_proved_where_that_costs_no_more(monkeypatch, shape, weighted):
    """A point that misses an eigenvector is bounded by what it misses."""
    by_products(monkeypatch, 1000)
    rng = np.random.default_rng(3)
    X = rng.standard_normal((shape[0], 3)) * [9, 6, 3] @ rng.standard_normal((3, shape[1]))
    X += 0.1 * rng.standard_normal(shape) + 7.0
    w = rng.integers(1, 4, shape[0]) if weighted else np.ones(shape[0])
    found = ldr.solve("pca", X, 2, sample_weight=w if weighted else None)
    Z = np.sqrt(w)[:, None] * (X - np.average(X, axis=0, weights=w))
    _, s, Vt = np.linalg.svd(Z, full_matrices=False)
    assert any("block Krylov" in note for note in found.notes)
    assert found.certificate.kind == "global" and found.certificate.gap <= 1e-9 * found.value
    samples = replace(as_samples(X), marks=Marks(w.astype(float)) if weighted else None)
    problem = ldr.objectives.PCA().bind(Data((samples,)), 2)
    missed = problem.certificate(Vt[[0, 2]].T)
    assert missed.kind == "bound"
    assert s[1] ** 2 - s[2] ** 2 <= missed.gap <= (1 + 1e-9) * (s[1] ** 2 - s[2] ** 2)


def test_few_eigenvectors_of_a_large_covariance_are_found_by_products(monkeypatch):
    monkeypatch.setattr("ldr.solvers.linalg.eigen._MANY", 100)
    monkeypatch.setattr("ldr.solvers.linalg.eigen._MANY_PER_VECTOR", 20)
    rng = np.random.default_rng(4)
    X = rng.standard_normal((300, 2)) * [9, 6] @ rng.standard_normal((2, 200))
    X += 0.1 * rng.standard_normal((300, 200))
    found = ldr.solve("pca", X, 2)
    s = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)
    assert any("block Krylov" in note for note in found.notes)
    # the value is a difference of sums over all eigenvalues, rounded relative to their sum
    rounding = 4 * np.finfo(float).eps * np.sum(s**2)
    assert found.value == pytest.approx(np.sum(s[2:] ** 2), rel=0, abs=rounding)
    assert found.certificate.kind == "global"
    graded = ldr.solve("pca", X * np.logspace(0, 6, 200), 2)
    assert not any("block Krylov" in note for note in graded.notes)


def test_a_basis_that_the_matrix_maps_into_itself_is_the_end():
    A = np.diag(SPECTRA["low rank"])
    found = block_krylov(A, 3, tolerance=0.0, most_products=10_000)
    assert found.converged and found.products < 200
    np.testing.assert_allclose(found.values, [8.0, 7.0, 6.0], rtol=1e-13)
