"""What each coordinate of a result is worth, against the data and other packages."""

import json
import sys

import numpy as np
import pytest
import scipy
from sklearn import cross_decomposition, decomposition

import ldr
from ldr.tables import Columns
from tests import real_data


def moments(X, result):
    Y = (X - result.mean) @ result.P.T
    return np.cov(X.T, bias=True), np.cov(Y.T, bias=True)


@pytest.mark.parametrize(
    "name", ["orthogonal-lda", "orthogonal-maf", "orthogonal-lpp", "orthogonal-sfa"]
)
def test_the_ratio_is_the_mean_of_the_ratios_weighted_by_their_shares(name):
    X, y = real_data.wine()
    result = ldr.solve(name, X, 3, y=y)
    table = result.components
    assert table["ratio"] @ table["share"] == pytest.approx(result.value, rel=1e-12)
    together = table["numerator"].sum() / table["denominator"].sum()
    assert together == pytest.approx(result.value, rel=1e-12)


def test_generalised_eigenvalues_belong_to_the_span():
    X, y = real_data.wine()
    result = ldr.solve("orthogonal-lda", X, 2, y=y)
    Y = result.transform(X)
    within = sum((np.cov(Y[y == c].T, bias=True)) * np.sum(y == c) for c in range(3))
    between = np.cov(Y.T, bias=True) * len(Y) - within
    values = scipy.linalg.eigh(between, within, eigvals_only=True)[::-1]
    np.testing.assert_allclose(result.components["generalised_eigenvalue"], values, rtol=1e-10)


@pytest.mark.parametrize("name", ["pca", "orthogonal-lda", "lda", "sdr", "ica", "nca"])
def test_what_coordinates_predict_is_what_least_squares_finds(name):
    X, y = real_data.wine()
    result = ldr.solve(name, X, 2, y=y)
    Y, Z = result.transform(X), X - X.mean(axis=0)
    Y = Y - Y.mean(axis=0)
    for k in (1, 2):
        left = Z - Y[:, :k] @ np.linalg.lstsq(Y[:, :k], Z, rcond=None)[0]
        share = 1.0 - np.vdot(left, left) / np.vdot(Z, Z)
        assert result.components["r2"].iloc[k - 1] == pytest.approx(share, rel=1e-9)
    _, S = moments(X, result)
    np.testing.assert_allclose(result.components["variance"], np.diag(S), rtol=1e-10)
    np.testing.assert_allclose(result.correlations, np.corrcoef(Y.T), atol=1e-10)


@pytest.mark.parametrize("name", ["orthogonal-cca", "pls", "cca"])
def test_pairs_have_their_correlations(name):
    Xa, Xb = real_data.tumour_views()
    result = ldr.solve(name, (Xa, Xb), 3)
    a, b = result.transform((Xa, Xb))
    correlations = [np.corrcoef(a[:, k], b[:, k])[0, 1] for k in range(3)]
    np.testing.assert_allclose(result.components["correlation"], correlations, rtol=1e-8)
    own = result.components[{"orthogonal-cca": "contribution"}.get(name, "singular_value")]
    assert own.sum() == pytest.approx(result.value, rel=1e-12)


def test_factors_add_their_parts_to_the_likelihood():
    X, _ = real_data.wine()
    result = ldr.solve("fa", X, 2)
    psi, n = result.parameters["noise_variances"], len(X)
    C = np.var(X, axis=0)
    alone = n / 2 * (X.shape[1] * np.log(2 * np.pi) + np.sum(np.log(psi)) + np.sum(C / psi))
    parts = result.components["likelihood_part"].sum()
    assert alone - parts == pytest.approx(result.value, rel=1e-10)
    theta = np.diag(result.M.T @ (result.M / psi[:, None]))
    np.testing.assert_allclose(result.components["theta"], theta, rtol=1e-10)
    np.testing.assert_allclose(result.model.communalities, 1 - psi / C, atol=1e-6)
    np.testing.assert_allclose(result.model.communalities + result.model.uniquenesses, 1.0)


@pytest.mark.parametrize("name", ["fa", "ppca"])
def test_variances_of_rows_with_gaps_are_of_the_covariance_that_em_expects(name):
    X = real_data.wine()[0]
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    result = ldr.solve(name, X, 2, tolerance=1e-12)
    model, C = result.model, np.zeros((13, 13))
    S = model.loadings @ model.loadings.T + np.diag(model.noise)
    for x in X:
        there, gone = ~np.isnan(x), np.isnan(x)
        A = S[:, there] @ np.linalg.inv(S[np.ix_(there, there)])
        z = A @ (x - model.mean)[there]
        C += (np.outer(z, z) + (S - A @ S[there]) * np.outer(gone, gone)) / len(X)
    table, P = result.components, result.P
    np.testing.assert_allclose(table["variance"], np.diag(P @ C @ P.T), rtol=1e-8)
    share = np.trace(C @ P.T @ np.linalg.solve(P @ C @ P.T, P @ C)) / np.trace(C)
    assert table["r2"].iloc[-1] == pytest.approx(share, rel=1e-8)
    np.testing.assert_allclose(result.correlations, np.eye(2), atol=1e-12)
    turned = result.rotate("promax")
    assert turned.components["r2"].iloc[-1] == pytest.approx(share, rel=1e-8)


@pytest.mark.parametrize("n", [60, 200])
def test_wide_data_and_streams_have_the_same_numbers(n):
    X = np.random.default_rng(0).standard_normal((n, 100)) * np.linspace(1, 2, 100)
    C = np.cov(X.T, bias=True)
    result = ldr.solve("pca", X, 3)
    variances = np.diag(result.P @ C @ result.P.T)
    np.testing.assert_allclose(result.components["variance"], variances, rtol=1e-10)
    (seen,) = result.directions.variations
    np.testing.assert_allclose(seen.columns, C @ result.P.T, atol=1e-12)
    if n > 100:
        once = ldr.solve("pca", iter(np.array_split(X, 3)), 3)
        np.testing.assert_allclose(once.components, result.components, rtol=1e-10)


def test_without_pandas_the_table_is_its_columns(monkeypatch):
    result = ldr.solve("pca", real_data.wine()[0], 2)
    frame = result.components
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert isinstance(result.components, Columns)
    for name, column in frame.items():
        np.testing.assert_array_equal(result.components[name], column)


def test_numbers_are_in_what_is_printed_and_in_json():
    X, y = real_data.wine()
    result = ldr.solve("orthogonal-lda", X, 2, y=y)
    assert "\n  components   ratio " in repr(result)
    assert list(json.loads(json.dumps(result.summary()))["components"]) == list(result.components)
    printed = repr(Columns(result.directions.columns())).splitlines()
    assert len(printed) == 3 and printed[0].split()[0] == "ratio"


def test_estimators_have_the_names_of_scikit_learn():
    X, _ = real_data.wine()
    ours, theirs = ldr.PCA(n_components=3).fit(X), decomposition.PCA(3).fit(X)
    for name in ("explained_variance_", "explained_variance_ratio_", "singular_values_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-12)
    assert np.ndim(ldr.PPCA(n_components=3).fit(X).noise_variance_) == 0
    assert not hasattr(ldr.LDA(n_components=1), "explained_variance_")
    assert not hasattr(ldr.PCA(n_components=1).fit(0 * X), "explained_variance_ratio_")


def test_two_view_estimators_have_weights_and_loadings():
    Xa, Xb = real_data.tumour_views()
    theirs = cross_decomposition.CCA(2, scale=False, max_iter=5000, tol=1e-14).fit(Xa, Xb)
    ours = ldr.CCA(n_components=2).fit(Xa, Xb)
    for mine, other in (
        (ours.x_loadings_, theirs.x_loadings_),
        (ours.y_weights_, theirs.y_rotations_),
    ):
        scale = np.linalg.norm(mine, axis=0) / np.linalg.norm(other, axis=0)
        signs = np.sign(np.sum(mine * other, axis=0))
        np.testing.assert_allclose(mine, other * scale * signs, atol=1e-4)
    scores = ours.transform(Xa)
    np.testing.assert_allclose((Xa - Xa.mean(axis=0)) @ ours.x_weights_, scores, atol=1e-10)
