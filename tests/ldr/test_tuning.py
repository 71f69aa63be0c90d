"""Parameters chosen by the gradient of a held-out loss."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, PredefinedSplit, cross_val_predict
from sklearn.pipeline import make_pipeline

import ldr
from ldr.errors import ArgumentError, DataError, ObjectiveError
from ldr.objectives.data.opening import as_samples
from ldr.tuning import held_out_loss
from tests.real_data import breast_cancer, standardised, wine


def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return standardised(X), y


SHUFFLED = KFold(3, shuffle=True, random_state=0)


def log_loss(Y, y, held, z):
    model = LinearDiscriminantAnalysis(store_covariance=True).fit(Y, y)
    return -np.mean(
        model.predict_log_proba(held)[np.arange(len(z)), np.searchsorted(np.unique(y), z)]
    )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("objective", "start", "loss"),
    [
        (ldr.objectives.LDA(), {"ridge": np.array(0.1)}, "log"),
        (ldr.objectives.OrthogonalLDA(ridge=0.1), {"scales": np.linspace(0.5, 2.0, 4)}, "log"),
        (ldr.objectives.PCA(), {"scales": np.linspace(0.5, 2.0, 4)}, "log"),
        (ldr.objectives.PCA(), {"scales": np.linspace(0.5, 2.0, 4)}, log_loss),
        (ldr.objectives.PCA(), {"scales": np.linspace(0.5, 2.0, 4)}, "squared"),
        (ldr.objectives.RidgeRegression(), {"penalty": np.array(3.0)}, "squared"),
        (ldr.objectives.RidgeRegression(), {"scales": np.linspace(0.5, 2.0, 4)}, "squared"),
        (
            0.5 * ldr.objectives.PCA() + 100.0 * ldr.objectives.OrthogonalLDA(),
            {"weights": np.array([0.5, 100.0])},
            "log",
        ),
    ],
)
def test_gradients_are_those_of_the_loss(objective, start, loss):
    X, y = (array[::2] for array in wine())
    X, y = X[:, 3:7], y + 0.1 * X[:, 0] if loss == "squared" else y
    parts = [tuple((as_samples(X[a::2]), y[a::2]) for a in (0, 1))]
    ((name, first),) = start.items()
    at, direction = np.linspace(0.0, 0.1, first.size), np.linspace(1.0, 0.3, first.size)

    def evaluated(t):
        here = {name: first * 10.0 ** (at + t * direction).reshape(first.shape)}
        return held_out_loss(objective, parts, 2, loss, here)

    gradient, (ahead, behind) = evaluated(0.0)[1], (evaluated(t)[0] for t in (1e-3, -1e-3))
    assert gradient @ direction == pytest.approx((ahead - behind) / 2e-3, rel=2e-5)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "number"),
    [("lda", "ridge"), ("orthogonal-lda", "ridge"), ("ridge-regression", "penalty")],
)
def test_the_loss_is_that_of_predictions(name, number):
    """One of three directions, a ridge of the size of the data: coordinates say more."""
    X, y = diabetes() if number == "penalty" else wine()
    X, r = X[:, :4], 1
    given = {number: 200.0}
    if number == "ridge":
        y = 2 * y + (X[:, 0] > np.median(X[:, 0]))
    found = ldr.tune(name, X, r, given, y=y, evaluations=1, folds=SHUFFLED)
    losses, totals = [], []
    for training, held in SHUFFLED.split(X):
        result = ldr.solve(name, X[training], r, y=y[training], **given)
        if number == "ridge":
            codes = np.searchsorted(np.unique(y[training]), y[held])
            losses.append(-np.log(result.predict_proba(X[held])[np.arange(len(held)), codes]))
            totals.append(np.ones(len(held)))
        else:
            losses.append((y[held] - result.predict(X[held])) ** 2)
            totals.append((y[held] - y[training].mean()) ** 2)
    expected = np.concatenate(losses).sum() / np.concatenate(totals).sum()
    assert found.loss == pytest.approx(expected, rel=1e-10)
    path = ldr.path(name, X, [r], y=y, folds=SHUFFLED, **given)
    same = path.numbers["log_loss"] if number == "ridge" else 1.0 - path.q2
    assert found.loss == pytest.approx(same[0], rel=1e-10)


def test_the_squared_loss_of_coordinates_is_that_of_least_squares():
    X, y = diabetes()
    found = ldr.tune("pca", X, 2, {"scales": np.ones(10)}, y=y, evaluations=1, folds=KFold(3))
    left = y - cross_val_predict(make_pipeline(PCA(2), LinearRegression()), X, y, cv=KFold(3))
    means = cross_val_predict(DummyRegressor(), X, y, cv=KFold(3))
    assert found.loss == pytest.approx(np.sum(left**2) / np.sum((y - means) ** 2), rel=1e-9)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("loss", ["log", log_loss])
def test_scales_are_those_of_the_columns(loss):
    X, y = wine()
    options = {"y": y, "loss": loss, "folds": 2, "evaluations": 2, "random_state": 0}
    found = ldr.tune("pca", X[:, :3], 1, {"scales": np.ones(3)}, **options)
    assert len(found.history) == 2
    scaled = X[:, :3] * found.parameters["scales"]
    expected = ldr.solve("pca", scaled, 1).transform(scaled)
    np.testing.assert_allclose(found.result.transform(X[:, :3]), expected, atol=1e-9)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("data", "name", "r", "number", "start", "grid", "most"),
    [
        (wine, "lda", 2, "ridge", 1e-2, np.logspace(-4, 2, 10), 10),
        # the least loss of predict is six decades below the start
        (breast_cancer, "lda", 1, "ridge", 1e-2, np.logspace(-4, 2, 10), 20),
        (diabetes, "ridge-regression", 1, "penalty", 1.0, np.logspace(-4, 4, 10), 10),
    ],
)
def test_better_than_a_grid_in_few_solves(data, name, r, number, start, grid, most):
    X, y = data()
    found = ldr.tune(name, X, r, {number: start}, y=y, random_state=0)
    options = {"y": y, "random_state": 0, "evaluations": 1}
    assert found.loss < min(ldr.tune(name, X, r, {number: at}, **options).loss for at in grid)
    assert found.solves < most * 5
    assert getattr(found.result.objective, number) == found.parameters[number]
    assert "expect a larger loss of new samples" in repr(found)
    assert "held-out" in repr(found) and found.kind in repr(found)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_planted_weighting_of_columns():
    rng = np.random.default_rng(0)
    deviations, loadings = np.array([0.5, 1.0, 0.7, 1.5]), np.array([1.0, -1.0, 1.0, -1.0])
    z = rng.standard_normal(4000)
    X = np.outer(z, loadings) + rng.standard_normal((4000, 4)) * deviations
    found = ldr.tune("pca", X, 1, {"scales": np.ones(4)}, y=z, random_state=0)
    # the leading component of columns divided by their noise predicts z best
    scales = found.parameters["scales"] * deviations
    np.testing.assert_allclose(scales / scales[0], 1.0, atol=0.1)
    best = loadings / deviations**2
    P = found.result.P[0]
    assert abs(P @ best) > 0.999 * np.linalg.norm(P) * np.linalg.norm(best)
    again = (X - found.result.mean) @ P
    np.testing.assert_allclose(found.result.transform(X)[:, 0], again, rtol=1e-12)


def test_what_cannot_be_tuned_is_refused_in_words():
    X, y = wine()
    refused = [
        ("with respect to 'rigde'", "orthogonal-lda", X, {"rigde": 1.0}, y),
        ("initial ridge is 0", "orthogonal-lda", X, {"ridge": 0.0}, y),
        (r"\[0.1\], expected a positive", "orthogonal-lda", X, {"ridge": [0.1]}, y),
        ("initial scales .* expected 13 positive", "pca", X, {"scales": [1.0, 2.0]}, y),
        ("needs y=, or a function as loss=", "pca", X, {"scales": np.ones(13)}, None),
        ("parameters is empty: expected initial values", "pca", X, {}, y),
        ("several views", "orthogonal-cca", (X, X[:, :3]), {"ridge": 1.0}, None),
    ]
    for words, name, rows, parameters, labels in refused:
        with pytest.raises(ArgumentError, match=words):
            ldr.tune(name, rows, 2, parameters, y=labels)


@pytest.mark.parametrize("value", [0.0, 3, np.float32(-1.0)])
def test_a_loss_that_is_constant_leaves_the_parameters(value):
    X, y = wine()
    found = ldr.tune("orthogonal-lda", X, 2, {"ridge": 0.1}, y=y, loss=lambda *rows: value, folds=2)
    assert found.parameters == {"ridge": 0.1} and found.loss == value


@pytest.mark.parametrize("value", [np.nan, np.inf, "a", None, 1j, np.ones(2)])
def test_a_loss_that_is_no_number_is_refused(value):
    X, y = wine()
    with pytest.raises(ObjectiveError, match="expected a finite real number"):
        ldr.tune("orthogonal-lda", X, 2, {"ridge": 0.1}, y=y, loss=lambda *rows: value, folds=2)


def test_classes_that_no_training_row_has_are_named():
    X, y = wine()
    y = np.sort(y)
    with pytest.raises(DataError, match="missing in the training samples of its fold"):
        ldr.tune("pca", X, 2, {"scales": np.ones(13)}, y=y, folds=PredefinedSplit(y))


def test_samples_without_a_label_are_not_part_of_the_loss():
    X, y = wine()
    y = np.where(np.random.default_rng(0).random(len(y)) < 0.4, -1, y)
    start, options = {"mu": 0.1}, {"folds": 3, "random_state": 0}
    found = ldr.tune("semi-supervised-da", standardised(X), 2, start, y=y, evaluations=2, **options)
    path = ldr.path("semi-supervised-da", standardised(X), [2], y=y, mu=0.1, **options)
    assert found.history[0][1] == pytest.approx(path.numbers["log_loss"][0], rel=1e-9)


def test_a_splitter_that_divides_groups_is_noted():
    groups = np.repeat(np.arange(20), 5)
    X, y = np.random.default_rng(0).standard_normal((20, 3))[groups], groups % 2
    options = {"y": y, "groups": groups, "evaluations": 1}
    divided = ldr.tune("lda", X, 1, {"ridge": 0.1}, folds=SHUFFLED, **options)
    assert "groups= has no effect" in repr(divided)
    assert not ldr.tune("lda", X, 1, {"ridge": 0.1}, folds=4, **options).notes
