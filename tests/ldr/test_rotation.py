"""Rotations to a simple structure, against other packages and as optima of their criteria."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from sklearn.decomposition import FactorAnalysis

import ldr
from ldr.errors import ArgumentError
from ldr.rotation import OBLIQUE, ROTATIONS
from tests import real_data

X, Y = real_data.wine()
FOUND = ldr.solve("fa", X, 3)
OTHERS = {  # of which no uniqueness is at its bound
    "wine": (X, 3),
    "tumours": (real_data.breast_cancer()[0][:, 10:20], 3),
    "exercise": (np.hstack(real_data.linnerud()), 1),
}


def matched(A, B):
    """B with its columns in the order and with the signs of A's."""
    order = linear_sum_assignment(-np.abs(A.T @ B))[1]
    return B[:, order] * np.sign(np.sum(A * B[:, order], axis=0))


@pytest.mark.parametrize("method", ["varimax", "quartimax", "oblimin"])
def test_loadings_are_those_of_statsmodels(method):
    rotation = pytest.importorskip("statsmodels.multivariate.factor_rotation")
    given = (0, "oblique") if method == "oblimin" else ()
    theirs, _ = rotation.rotate_factors(FOUND.M, method, *given, tol=1e-5)
    ours = FOUND.rotate(method).M
    np.testing.assert_allclose(ours, matched(ours, theirs), atol=1e-3)


@pytest.mark.parametrize("name", OTHERS)
def test_communalities_are_those_of_statsmodels(name):
    factor = pytest.importorskip("statsmodels.multivariate.factor")
    rows, r = OTHERS[name]
    pca = ldr.PCA(r, standardise=True).fit(rows).result_
    start = pca.M * np.sqrt(pca.components["eigenvalue"].to_numpy()), np.full(len(pca.M), 0.5)
    theirs = factor.Factor(rows, n_factor=r, method="ml").fit(start=start, maxiter=1_000)
    ours = ldr.solve("fa", rows, r, standardise=True)
    np.testing.assert_allclose(ours.model.communalities, theirs.communality, atol=2e-6)
    np.testing.assert_allclose(ours.model.uniquenesses, theirs.uniqueness, atol=2e-6)


@pytest.mark.parametrize("name", ["wine", "tumours"])
@pytest.mark.parametrize("method", ["varimax", "promax", "oblimin"])
def test_loadings_are_those_of_factor_analyzer(method, name):
    rotator = pytest.importorskip("factor_analyzer.rotator")
    given = rotator.Rotator(method, normalize=False, tol=1e-12, max_iter=5_000)
    found = ldr.solve("fa", real_data.standardised(OTHERS[name][0]), 3)
    theirs, ours = given.fit_transform(found.M), found.rotate(method)
    np.testing.assert_allclose(ours.M, matched(ours.M, theirs), atol=1e-5)
    if method in OBLIQUE:
        T = np.linalg.lstsq(ours.M, found.M)[0].T  # A T' are the loadings before
        np.testing.assert_allclose(
            np.sort(np.abs(T.T @ T), axis=None), np.sort(np.abs(given.phi_), axis=None), atol=1e-5
        )


def test_varimax_is_that_of_scikit_learn():
    theirs = FactorAnalysis(3, rotation="varimax", svd_method="lapack", tol=1e-12, max_iter=20_000)
    loadings = theirs.fit(X).components_.T
    ours = ldr.FactorAnalysis(n_components=3, rotation="varimax").fit(X).result_.M
    np.testing.assert_allclose(ours, matched(ours, loadings), atol=1e-4)  # EM and a loose rotation


@pytest.mark.parametrize("method", ROTATIONS)
def test_the_model_stays_what_it_was(method):
    rotated = FOUND.rotate(method)
    gaps = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)
    np.testing.assert_allclose(rotated.model.score_samples(gaps), FOUND.model.score_samples(gaps))
    np.testing.assert_allclose(rotated.model.impute(gaps), FOUND.model.impute(gaps), atol=1e-10)
    communalities = rotated.model.communalities
    np.testing.assert_allclose(communalities, FOUND.model.communalities, atol=1e-12)
    np.testing.assert_allclose(rotated.P, rotated.model.P, atol=1e-12)
    np.testing.assert_allclose(rotated.transform(X), rotated.model.posterior_mean(X), atol=1e-10)
    # x is still predicted as mean + My
    both = (FOUND.transform(X) @ FOUND.M.T, rotated.transform(X) @ rotated.M.T)
    np.testing.assert_allclose(*both, atol=1e-10)


@pytest.mark.parametrize("method", ["varimax", "quartimax"])
@pytest.mark.parametrize("name", ["pca", "orthogonal-lda", "orthogonal-cca"])
def test_orthogonal_rotations_keep_value_and_span(name, method):
    data = real_data.tumour_views() if name == "orthogonal-cca" else X
    found = ldr.solve(name, data, 3, y=Y if name == "orthogonal-lda" else None)
    rotated = found.rotate(method)
    assert rotated.value == found.value and rotated.notes[-1] == f"coordinates rotated by {method}"
    M, N = (np.vstack(r.M) if name == "orthogonal-cca" else r.M for r in (found, rotated))
    np.testing.assert_allclose(N @ N.T, M @ M.T, atol=1e-12)
    power = {"varimax": np.var, "quartimax": np.sum}[method]
    assert np.sum(power(N**2 if method == "varimax" else N**4, axis=0)) >= np.sum(
        power(M**2 if method == "varimax" else M**4, axis=0)
    )
    if name != "orthogonal-cca":
        scores = rotated.transform(X)
        np.testing.assert_allclose(rotated.components["variance"], scores.var(axis=0), rtol=1e-10)
        np.testing.assert_allclose(rotated.correlations, np.corrcoef(scores.T), atol=1e-12)


def test_what_cannot_be_rotated_says_so():
    with pytest.raises(
        ArgumentError, match="ica cannot be rotated by 'varimax': the value depends on M's columns"
    ):
        ldr.solve("ica", X, 2).rotate("varimax")
    with pytest.raises(
        ArgumentError, match="orthogonal-cca cannot be rotated by 'promax': views share"
    ):
        ldr.solve("orthogonal-cca", (X[:, :6], X[:, 6:]), 2).rotate("promax")
    with pytest.raises(ArgumentError, match="method must be one of"):
        FOUND.rotate("equamax")


def test_one_coordinate_is_left_alone():
    found = ldr.solve("fa", X, 1)
    for method in ROTATIONS:
        np.testing.assert_allclose(found.rotate(method).M, found.M, atol=1e-12)


def test_the_picture_of_loadings_shows_those_of_the_model():
    image = ldr.plots.loadings(FOUND).axes[0].images[0].get_array()
    np.testing.assert_array_equal(image, FOUND.M)
