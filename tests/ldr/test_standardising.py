"""Columns in units of their standard deviations, and notes on units that matter."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import load_breast_cancer, load_wine

import ldr
from ldr.errors import ArgumentError, DataError
from ldr.objectives import LDA, MAF
from ldr.objectives.data.data import as_tuple
from ldr.objectives.registry import named
from tests.objectives.methods import DISTANCES, RANDOM, name_of

X, y = load_wine(return_X_y=True)
Z = X / X.std(axis=0)
GAPS = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)


def pair(A):
    return A[:, :5], A[:, 5:]


METHODS = {
    "orthogonal-lda": (X, Z, y, {}),
    "lda": (X, Z, y, {}),
    "pca": (X, Z, None, {}),
    "orthogonal-cca": (pair(X), pair(Z), None, {}),
    "ridge-regression": (X, Z, X[:, 0] ** 2, {}),
    "sparse-pca": (X, Z, None, {"penalty": 50.0}),
    "contrastive-pca": ((X, X[:90]), (Z, Z[:90]), None, {}),
    "sfa": (X, Z, None, {"whiten": True, "degree": 2}),
}


@pytest.mark.parametrize("name", METHODS)
def test_the_result_is_of_divided_columns_and_maps_those_that_came(name):
    raw, divided, labels, parameters = METHODS[name]
    found = ldr.solve(name, raw, 2, y=labels, standardise=True, **parameters)
    expected = ldr.solve(name, divided, 2, y=labels, **parameters)
    assert found.value == pytest.approx(expected.value, rel=1e-12)
    for ours, theirs in zip(as_tuple(found.M), as_tuple(expected.M), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9)
    background = "background" in found.objective.needs
    given, other = (raw[0], divided[0]) if background else (raw, divided)
    np.testing.assert_allclose(found.transform(given), expected.transform(other), atol=1e-9)
    score = ldr.score(found, raw, labels)
    assert score == pytest.approx(ldr.score(expected, divided, labels), rel=1e-10)
    if found.predictors:
        unit = raw[1].std(axis=0) if name == "orthogonal-cca" else 1
        guesses = found.predict(as_tuple(raw)[0]), expected.predict(as_tuple(divided)[0])
        np.testing.assert_allclose(guesses[0], guesses[1] * unit, rtol=1e-9)


def test_the_map_is_of_the_columns_that_came():
    found = ldr.solve("orthogonal-lda", X, 2, y=y, standardise=True)
    np.testing.assert_allclose(found.transform(X), (X - found.mean) @ found.P.T, atol=1e-12)
    np.testing.assert_allclose(found.M.T, found.P * found.scale, atol=1e-14)
    np.testing.assert_allclose(found.scale, X.std(axis=0), rtol=1e-13)
    assert ldr.solve("orthogonal-lda", X, 2, y=y).scale is None


@pytest.mark.parametrize("data", [X, GAPS], ids=["complete", "gaps"])
def test_the_likelihood_is_that_of_the_rows_that_came(data):
    """Factor analysis knows no units: the model is the same either way."""
    found, plain = (ldr.solve("fa", data, 2, standardise=s).model for s in (True, False))
    assert found.log_likelihood == pytest.approx(plain.log_likelihood, rel=1e-9)
    assert found.score(data) * len(data) == pytest.approx(found.log_likelihood, rel=1e-12)
    np.testing.assert_allclose(found.noise, plain.noise, rtol=1e-3)


def test_kernels_of_divided_columns():
    objective = ldr.kernel("pca", "rbf", gamma=0.1)
    found, expected = ldr.solve(objective, X, 2, standardise=True), ldr.solve(objective, Z, 2)
    assert found.value == pytest.approx(expected.value, rel=1e-10)
    np.testing.assert_allclose(found.transform(X), expected.transform(Z), atol=1e-9)


def test_constant_columns_stay_as_they_are():
    wider = np.insert(X, 3, 7.25, axis=1)
    found = ldr.solve("pca", wider, 2, standardise=True)
    assert found.scale[3] == 1.0 and found.mean[3] == 7.25
    assert any("1 constant column(s)" in note for note in found.notes)
    assert found.value == pytest.approx(ldr.solve("pca", Z, 2).value, rel=1e-12)


def test_along_dimensions_folds_draws_and_penalties():
    path, plain = (
        ldr.path("pca", A, [1, 2], standardise=s, folds=3, random_state=0)
        for A, s in ((X, True), (Z, False))
    )
    np.testing.assert_allclose(path.values, plain.values, rtol=1e-10)
    assert not np.allclose(path.scores, plain.scores, rtol=1e-6)  # units of the training rows
    drawn = ldr.bootstrap("orthogonal-lda", X, 2, y=y, standardise=True, draws=2, random_state=0)
    assert drawn.result.scale is not None and drawn.values[0] != drawn.values[1]
    sparse = ldr.regularisation_path("pca", X, 2, [50.0], standardise=True).results[0]
    refitted = ldr.refit(sparse, X)
    np.testing.assert_array_equal(refitted.M == 0, sparse.M == 0)
    np.testing.assert_allclose(refitted.P * refitted.scale, refitted.M.T, atol=1e-14)


def test_what_cannot_be_divided():
    with pytest.raises(ArgumentError, match="takes distances, which cannot be standardised"):
        ldr.solve("mds-distances", DISTANCES, 2, standardise=True)
    with pytest.raises(ArgumentError, match="standardise must be True or False, got 'yes'"):
        ldr.solve("pca", X, 2, standardise="yes")
    with pytest.raises(DataError, match="reads the rows several times"):
        ldr.solve("pca", iter(np.array_split(X, 3)), 2, standardise=True)
    scaled = ldr.solve("pca", X, 2, standardise=True)
    with pytest.raises(ArgumentError, match="X has 12 columns, expected 13"):
        ldr.score(scaled, X[:, 1:])


def units(result):
    return [note for note in result.notes if "differ in scale" in note]


def test_columns_far_apart_are_noted_where_units_matter():
    assert units(ldr.solve("pca", X, 2)) and units(ldr.solve("orthogonal-lda", X, 2, y=y))
    assert "0.12 to 3.1e+02" in units(ldr.solve("pca", X, 2))[0]
    assert units(ldr.solve(LDA(ridge=0.1), X, 2, y=y))
    assert units(ldr.solve("pca", scipy.sparse.csr_array(X), 2))
    assert not units(ldr.solve("lda", X, 2, y=y))
    assert not units(ldr.solve("pca", Z, 2))
    assert not units(ldr.solve("pca", X, 2, standardise=True))
    assert not units(ldr.solve(MAF(), load_breast_cancer().data, 2))


def is_scale_free(key):
    return named(name_of(key), **RANDOM[key][2]).traits.scale_free


@pytest.mark.parametrize("key", list(filter(is_scale_free, RANDOM)))
def test_what_knows_no_units(key):
    """The projection of columns in other units spans the same, where that is declared."""
    data, labels, parameters = RANDOM[key]
    objective = named(name_of(key), **parameters)
    views = data if isinstance(data, tuple) else (data,)
    factors = [2.0 ** np.random.default_rng(0).integers(-2, 3, view.shape[1]) for view in views]
    if "background" in objective.needs:
        factors[1] = factors[0]
    divided = tuple(view * factor for view, factor in zip(views, factors, strict=True))
    coordinates = []
    r = 1 if key == "xdawn target" else 2  # one class of single rows has one mean
    for given in (views, divided):
        result = ldr.solve(objective, given if len(given) > 1 else given[0], r, y=labels)
        Y = result.transform(given if objective.views > 1 else given[0])
        coordinates.append(np.hstack(Y) if isinstance(Y, tuple) else Y)
    ours, theirs = coordinates
    rest = ours - theirs @ np.linalg.lstsq(theirs, ours, rcond=None)[0]
    assert np.linalg.norm(rest) <= 1e-7 * np.linalg.norm(ours)


def test_estimators_lift_in_these_units():
    model = ldr.OrthogonalLDA(2, standardise=True).fit(X, y)
    lifted = model.inverse_transform(model.transform(X))
    inner = ldr.OrthogonalLDA(2).fit(Z, y)
    np.testing.assert_allclose(lifted / X.std(axis=0), inner.inverse_transform(inner.transform(Z)))
    both = ldr.PLS(2, standardise=True).fit(*pair(X))
    back = both.inverse_transform(*both.transform(*pair(X)))
    np.testing.assert_allclose(both.transform(*back)[1], both.transform(*pair(X))[1], atol=1e-9)
    with pytest.raises(ArgumentError, match="standardise=True needs all rows at once"):
        ldr.OrthogonalLDA(2, standardise=True).partial_fit(X, y)
