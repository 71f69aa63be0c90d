"""Predictions for new rows: their class, their response, the other view."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_linnerud,
)
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Lasso, LinearRegression, Ridge

import ldr
from ldr.errors import ArgumentError
from tests import real_data

X, labels = real_data.wine()
ROWS, RESPONSE = load_diabetes(return_X_y=True)
VIEWS = load_linnerud(return_X_y=True)


@pytest.mark.parametrize("data", [load_iris, load_digits, load_breast_cancer, real_data.wine])
def test_classical_lda_in_all_its_directions_is_linear_discriminant_analysis(data):
    Z, y = data() if data is real_data.wine else data(return_X_y=True)
    Z = Z[:, Z.std(axis=0) > 0]
    training = np.arange(len(Z)) % 3 > 0
    peer = LinearDiscriminantAnalysis(solver="eigen").fit(Z[training], y[training])
    r = len(np.unique(y)) - 1
    result = ldr.solve("lda", Z[training], r, y=y[training])
    held = Z[~training]
    np.testing.assert_array_equal(result.predict(held), peer.predict(held))
    np.testing.assert_allclose(
        result.predict_proba(held), peer.predict_proba(held), rtol=1e-8, atol=1e-10
    )


class Known(BaseEstimator):
    """A covariance that is known."""

    def __init__(self, covariance):
        self.covariance = covariance

    def fit(self, X):
        self.covariance_ = self.covariance
        return self


@pytest.mark.filterwarnings("ignore::ldr.errors.ConvergenceWarning")
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *((name, "plain") for name in ("orthogonal-lda", "lda", "nca", "lmnn")),
        *((name, kind) for name in ("orthogonal-lda", "lda") for kind in ("kernel", "wide")),
    ],
)
def test_classes_are_gaussian_in_the_projection(name, kind):
    objective, Z = ldr.objectives.named(name), X
    if kind == "kernel":
        objective = ldr.kernel(name, "rbf", gamma=0.05, components=20)
    if kind == "wide":
        noise = np.random.default_rng(0).standard_normal((*X.shape, 15))
        Z = (X[:, :, None] + 2 * noise).reshape(len(X), -1)
        objective = ldr.objectives.named(name, ridge=1.0)
    words = np.array(["red", "rosé", "white"])[np.unique(labels, return_inverse=True)[1]]
    result = ldr.solve(objective, Z, 2, y=words, max_iterations=5, certify=False)
    Y = result.transform(Z)
    known = None
    if kind == "wide":  # the ridge, in the span of the rows, is part of what classes vary by
        within = sum(
            np.cov(Z[words == word].T, bias=True) * np.sum(words == word) for word in set(words)
        )
        ridged = result.P @ within @ result.P.T
        ridged += np.trace(within) / (len(Z) - 1) * result.P @ result.P.T
        known = Known(ridged / len(Z))
    peer = LinearDiscriminantAnalysis(solver="lsqr", covariance_estimator=known).fit(Y, words)
    np.testing.assert_allclose(result.predict_proba(Z), peer.predict_proba(Y), atol=1e-9)
    np.testing.assert_array_equal(result.predict(Z), peer.predict(Y))


def test_rows_without_a_label_are_not_of_a_class():
    some = np.where(np.arange(len(X)) % 3 == 0, labels, -1)
    result = ldr.solve("semi-supervised-da", X, 2, y=some)
    known = some >= 0
    peer = LinearDiscriminantAnalysis(solver="lsqr").fit(result.transform(X[known]), some[known])
    expected = peer.predict_proba(result.transform(X))
    np.testing.assert_allclose(result.predict_proba(X), expected, atol=1e-9)


def test_a_ridge_counts_where_loadings_leave_the_span_of_the_rows():
    rng = np.random.default_rng(0)
    rows, y, counts = rng.standard_normal((12, 20)), np.repeat([0, 1, 2], 4), rng.integers(1, 4, 12)
    options = {"ridge": 1.0, "penalty": 0.05}
    few = ldr.solve("sparse-lda", rows, 2, y=y, sample_weight=counts, **options)
    again = np.repeat(np.arange(12), counts)  # more rows than columns: no span of rows
    many = ldr.solve("sparse-lda", rows[again], 2, y=y[again], **options)
    np.testing.assert_allclose(few.predict_proba(rows), many.predict_proba(rows), atol=1e-10)


def test_sums_of_objectives_classify():
    result = ldr.solve(ldr.objectives.OrthogonalLDA() + 1e-3 * ldr.objectives.PCA(), X, 2, y=labels)
    peer = LinearDiscriminantAnalysis(solver="lsqr").fit(result.transform(X), labels)
    np.testing.assert_array_equal(result.predict(X), peer.predict(result.transform(X)))


@pytest.mark.filterwarnings("ignore::ldr.errors.ConvergenceWarning")
def test_perfectly_separated_classes_are_told_apart():
    Z = np.random.default_rng(0).standard_normal((60, 3))
    y = np.repeat([0, 1, 2], 20)
    Z[:, 0] = 5.0 * y + 100
    result = ldr.solve("nca", Z, 3, y=y, start=np.eye(3), max_iterations=0, certify=False)
    np.testing.assert_array_equal(result.predict(Z), y)


REGRESSIONS = {
    "least-squares": ({}, LinearRegression()),
    "ridge-regression": ({"penalty": 0.3}, Ridge(alpha=0.3)),
    "lasso": ({"penalty": 1e4}, Lasso(alpha=1e4 / (2 * 294), tol=1e-10, max_iter=10**5)),
}


@pytest.mark.filterwarnings("ignore::ldr.errors.ConvergenceWarning")
@pytest.mark.parametrize("name", REGRESSIONS)
@pytest.mark.parametrize("r", [1, 3])
def test_regressions_predict_on_the_scale_of_the_response(name, r):
    parameters, peer = REGRESSIONS[name]
    training = np.arange(len(ROWS)) % 3 > 0
    Z = 1000 * ROWS + 50
    assert training.sum() == 294
    peer.fit(Z[training], RESPONSE[training])
    result = ldr.solve(name, Z[training], r, y=RESPONSE[training], **parameters)
    expected = peer.predict(Z[~training])
    tolerance = 1e-4 if name == "lasso" else 1e-9
    np.testing.assert_allclose(result.predict(Z[~training]), expected, rtol=tolerance)
    several = ldr.solve(name, Z, 1, y=np.column_stack([RESPONSE, -RESPONSE]), **parameters)
    assert several.predict(Z[:5]).shape == (5, 2)


def test_regression_on_components_is_that_of_the_components():
    result = ldr.solve("principal-components-regression", X, 3, y=X[:, 0] ** 2)
    Y = PCA(3).fit_transform(X)
    expected = LinearRegression().fit(Y, X[:, 0] ** 2).predict(Y)
    np.testing.assert_allclose(result.predict(X), expected, atol=1e-10)


@pytest.mark.parametrize("name", ["pls", "orthogonal-cca", "cca", "reduced-rank-regression"])
@pytest.mark.parametrize("wide", [False, True])
def test_a_view_predicts_the_other_by_least_squares_in_the_projection(name, wide):
    a, b = VIEWS
    objective = ldr.objectives.named(name)
    if wide:
        rng = np.random.default_rng(1)
        a = np.hstack([a, rng.standard_normal((len(a), 30))])
        if "cca" in name:
            objective = ldr.objectives.named(name, ridge=0.5)
    result = ldr.solve(objective, (a, b), 2)
    first, second = result.transform((a, b))
    expected = LinearRegression().fit(first, b).predict(first)
    np.testing.assert_allclose(result.predict(a), expected, atol=1e-8)
    if name == "reduced-rank-regression":
        with pytest.raises(ArgumentError, match="predicts nothing from view 1"):
            result.predict(b, view=1)
        return
    expected = LinearRegression().fit(second, a).predict(second)
    np.testing.assert_allclose(result.predict(b, view=1), expected, atol=1e-8)


def test_what_predicts_nothing_says_so():
    with pytest.raises(ArgumentError, match="'pca' predicts nothing"):
        ldr.solve("pca", X, 2).predict(X)
    with pytest.raises(ArgumentError, match="'least-squares' predicts no probabilities"):
        ldr.solve("least-squares", X, 1, y=X[:, 0]).predict_proba(X)
    with pytest.raises(ArgumentError, match="X has 12 columns"):
        ldr.solve("orthogonal-lda", X, 2, y=labels).predict(X[:, 1:])


def test_stored_rows_and_blocks_predict_alike(tmp_path):
    np.save(tmp_path / "x.npy", X)
    result = ldr.solve("orthogonal-lda", X, 2, y=labels)
    stored = ldr.solve("orthogonal-lda", str(tmp_path / "x.npy"), 2, y=labels)
    np.testing.assert_allclose(
        stored.predict_proba(str(tmp_path / "x.npy")), result.predict_proba(X), atol=1e-10
    )
    blocks = ldr.OrthogonalLDA(2).partial_fit(X[::2], labels[::2])
    blocks.partial_fit(X[1::2], labels[1::2])
    np.testing.assert_allclose(blocks.predict_proba(X), result.predict_proba(X), atol=1e-10)
