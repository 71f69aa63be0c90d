"""Partial least squares regression: de Jong's loop on the rows, scikit-learn's, and limits."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cross_decomposition import PLSRegression
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

import ldr
from ldr.errors import ArgumentError
from tests import real_data


def centred(A):
    return A - A.mean(axis=0)


def simpls(X, Y, r):
    """Coefficients, weights and scores as in de Jong 1993, on the rows."""
    X, Y = centred(X), centred(Y)
    S, weights, scores, V = X.T @ Y, [], [], np.zeros((X.shape[1], 0))
    for _ in range(r):
        w = S @ np.linalg.eigh(S.T @ S)[1][:, -1]
        t = X @ w
        length = np.linalg.norm(t)
        weights.append(w / length)
        scores.append(t / length)
        p = X.T @ scores[-1]
        v = p - V @ (V.T @ p)
        V = np.column_stack([V, v / np.linalg.norm(v)])
        S = S - V[:, -1:] @ (V[:, -1:].T @ S)
    W, T = np.column_stack(weights), np.column_stack(scores)
    return W @ (Y.T @ T).T, W, T


@pytest.fixture(params=["linnerud", "tumours"])
def outputs(request):
    return real_data.linnerud() if request.param == "linnerud" else real_data.tumour_views()


@pytest.mark.parametrize("r", [1, 2, 3])
def test_simpls_is_de_jongs_loop(outputs, r):
    X, Y = outputs
    B, W, T = simpls(X, Y, r)
    found = ldr.solve("pls-regression", X, r, y=Y)
    np.testing.assert_allclose(found.M, B, atol=1e-9 * np.abs(B).max())
    scores = found.transform(X)
    np.testing.assert_allclose(np.abs(scores), np.abs(T) * np.sqrt(len(X)), atol=1e-7)
    assert found.value == pytest.approx(np.sum((centred(Y) - centred(X) @ B) ** 2), rel=1e-10)
    shares = np.sum((T.T @ centred(Y)) ** 2, axis=1) / np.sum(centred(Y) ** 2)
    np.testing.assert_allclose(found.components["explained_share"], shares, atol=1e-10)
    unit = np.linalg.qr(W)[0] ** 2
    vip = np.sqrt(X.shape[1] * unit @ shares / shares.sum())
    np.testing.assert_allclose(found.parameters["vip"], vip, rtol=1e-8)


@pytest.mark.parametrize("r", [1, 2, 3])
def test_nipals_is_scikit_learns(outputs, r):
    X, Y = outputs
    theirs = PLSRegression(r, scale=False, tol=1e-15, max_iter=100_000).fit(X, Y)
    ours = ldr.solve("pls-regression", X, r, y=Y, algorithm="nipals")
    size = np.abs(theirs.coef_).max()
    np.testing.assert_allclose(ours.M, theirs.coef_.T, atol=1e-8 * size)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-8 * np.abs(Y).max())
    unit = theirs.x_weights_**2
    explained = np.sum((theirs.x_scores_.T @ centred(Y)) ** 2, axis=1)
    explained /= np.sum(theirs.x_scores_**2, axis=0)
    vip = np.sqrt(X.shape[1] * unit @ explained / explained.sum())
    np.testing.assert_allclose(ours.parameters["vip"], vip, rtol=1e-6)


@pytest.mark.parametrize("r", [1, 2, 3])
def test_scores_of_the_response_are_scikit_learns(outputs, r):
    """Theirs have another length: those of X, and so those of Y."""
    X, Y = outputs
    theirs = PLSRegression(r, scale=False, tol=1e-15, max_iter=100_000).fit(X, Y)
    ours = ldr.PLSRegression(r, algorithm="nipals").fit(X, Y)
    of_x, of_y = ours.transform(X, Y)
    lengths = np.linalg.norm(theirs.x_scores_, axis=0) / np.sqrt(len(X))
    lengths *= np.sign(np.sum(of_x * theirs.x_scores_, axis=0))
    for expected, found in zip(theirs.transform(X, Y), (of_x, of_y), strict=True):
        np.testing.assert_allclose(found * lengths, expected, atol=1e-7 * np.abs(expected).max())
    for name in ("x_loadings_", "y_loadings_"):
        expected = getattr(theirs, name)
        found = getattr(ours, name) / lengths
        np.testing.assert_allclose(found, expected, atol=1e-7 * np.abs(expected).max())
    np.testing.assert_allclose(ours.predict(X) - Y.mean(axis=0), of_x @ ours.y_loadings_.T)
    least = [np.linalg.lstsq(ours.y_loadings_, y, rcond=None)[0] for y in centred(Y)]
    np.testing.assert_allclose(of_y, least, atol=1e-7 * np.abs(of_y).max())
    both = clone(ours).fit_transform(X, Y)
    np.testing.assert_array_equal(both, (of_x, of_y))


def test_a_step_of_a_pipeline_gives_scores_of_the_rows():
    X, y = real_data.diabetes()
    steps = make_pipeline(ldr.PLSRegression(3, standardise=True), LinearRegression()).fit(X, y)
    scores, of_y = steps[0].transform(X, y)
    assert scores.shape == of_y.shape == (len(X), 3)
    np.testing.assert_allclose(of_y @ steps[0].y_loadings_[0], centred(y))
    np.testing.assert_allclose(steps.predict(X), steps[0].predict(X))
    with pytest.raises(ArgumentError, match="y has 2 columns, expected 1"):
        steps[0].transform(X, np.ones((len(X), 2)))
    constant = ldr.PLSRegression(2).fit(X, np.ones(len(X)))
    np.testing.assert_array_equal(constant.transform(X, np.ones(len(X)))[1], 0)


@pytest.mark.parametrize("r", [1, 3, 10])
def test_one_response_is_scikit_learns_by_either(r):
    X, y = real_data.diabetes()
    theirs = PLSRegression(r, scale=False).fit(X, y)
    for algorithm in ("simpls", "nipals"):
        ours = ldr.solve("pls-regression", X, r, y=y, algorithm=algorithm)
        size = np.abs(theirs.coef_).max()
        np.testing.assert_allclose(ours.M, theirs.coef_.T, atol=1e-8 * size)
    assert np.mean(ours.parameters["vip"] ** 2) == pytest.approx(1)


def test_the_two_differ_for_several_responses_and_agree_on_all_of_X(outputs):
    X, Y = outputs
    both = [
        [ldr.solve("pls-regression", X, r, y=Y, algorithm=name) for name in ("simpls", "nipals")]
        for r in (2, X.shape[1])
    ]
    (a, b), (c, d) = ((one.M, other.M) for one, other in both)
    assert np.abs(a - b).max() > 1e-7 * np.abs(a).max()
    np.testing.assert_allclose(c, d, atol=1e-7 * np.abs(c).max())
    least = ldr.solve("least-squares", X, X.shape[1], y=Y).M
    np.testing.assert_allclose(c, least, atol=1e-7 * np.abs(c).max())


def test_weights_that_are_no_longer_asked_for_leave_the_coefficients():
    rng = np.random.default_rng(0)
    X = np.linalg.qr(centred(rng.standard_normal((40, 6))))[0]  # one weight explains all
    y = X @ rng.standard_normal(6)
    one, three = (ldr.solve("pls-regression", X, r, y=y) for r in (1, 3))
    np.testing.assert_allclose(one.M, three.M, atol=1e-12)
    assert three.value < 1e-20
    np.testing.assert_allclose(three.correlations, np.eye(3), atol=1e-9)


@pytest.mark.parametrize("algorithm", ["simpls", "nipals"])
def test_few_rows(algorithm):
    rng = np.random.default_rng(1)
    X, Y = rng.standard_normal((12, 30)), rng.standard_normal((12, 2))
    theirs = PLSRegression(3, scale=False, tol=1e-15, max_iter=100_000).fit(X, Y)
    ours = ldr.solve("pls-regression", X, 3, y=Y, algorithm=algorithm)
    expected = theirs.coef_.T if algorithm == "nipals" else simpls(X, Y, 3)[0]
    np.testing.assert_allclose(ours.M, expected, atol=1e-8)
    with pytest.raises(ArgumentError, match="r = 12 is too large"):
        ldr.solve("pls-regression", X, 12, y=Y)


def test_columns_far_apart():
    """One weight is a matrix of more rows than columns, whose rows differ in size."""
    X, y = real_data.diabetes()
    units = 10.0 ** np.linspace(-5, 5, X.shape[1])
    theirs = PLSRegression(1, scale=False).fit(X * units, y)
    ours = ldr.solve("pls-regression", X * units, 1, y=y)
    fitted = [(X * units) @ M.reshape(-1, 1) for M in (ours.M, theirs.coef_)]
    np.testing.assert_allclose(*fitted, atol=1e-6 * np.abs(fitted[1]).max())


@pytest.mark.parametrize("name", ["least-squares", "ridge-regression", "lasso"])
def test_the_first_coordinate_rises_with_the_prediction(name):
    X, y = real_data.diabetes()
    for sign in (1.0, -1.0):
        found = ldr.solve(name, X, 1, y=sign * y)
        first, predicted = found.transform(X).ravel(), found.predict(X).ravel()
        assert np.corrcoef(first, predicted)[0, 1] > 0.999


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_value_is_within_its_gap_if_collinear_columns_explain_the_response(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((200, 1)) + 0.005 * rng.standard_normal((200, 8))
    b = rng.standard_normal(8)
    y = X @ (b - b.mean())
    y /= y.std()
    result = ldr.solve("pls-regression", X, 1, y=y)
    Z, t = (A.astype(np.longdouble) - A.astype(np.longdouble).mean(axis=0) for A in (X, y))
    score = Z @ (Z.T @ t)
    exact = t @ t - (score @ t) ** 2 / (score @ score)
    assert abs(result.value - exact) <= result.certificate.gap
