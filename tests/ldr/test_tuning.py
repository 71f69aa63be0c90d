"""Parameters chosen by the gradient of a held-out loss."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression

import ldr
from ldr.errors import ArgumentError
from ldr.objectives.data.opening import as_samples
from ldr.tuning import LOSSES, _HeldOut
from tests.real_data import breast_cancer, standardised, wine


def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return standardised(X), y


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("objective", "start"),
    [
        (ldr.objectives.ClassicalLDA(), {"ridge": np.array(0.1)}),
        (ldr.objectives.LDA(ridge=0.1), {"scales": np.linspace(0.5, 2.0, 13)}),
        (
            0.5 * ldr.objectives.PCA() + 100.0 * ldr.objectives.LDA(),
            {"weights": np.array([0.5, 100.0])},
        ),
    ],
)
def test_gradients_are_those_of_the_loss(objective, start):
    X, y = (array[::2] for array in wine())
    parts = [tuple((as_samples(X[a::2]), y[a::2]) for a in (0, 1))]
    held_out = _HeldOut(objective, parts, 2, LOSSES["log"], start)
    size = sum(value.size for value in start.values())
    at = np.linspace(0.0, 0.1, size)
    gradient = held_out(at)[1]
    still = np.zeros((3, 2))
    assert held_out._along(still, None, still, None, still, still) == 0.0
    direction = np.linspace(1.0, 0.3, size)
    ahead, behind = (held_out(at + t * direction)[0] for t in (1e-3, -1e-3))
    assert gradient @ direction == pytest.approx((ahead - behind) / 2e-3, rel=2e-5)


def test_the_squared_loss_is_that_of_least_squares():
    (Y, y), (held, z) = ((X[k::2, :2], X[k::2, 2:4]) for k in (0, 1) for X in (wine()[0],))
    left = z - LinearRegression().fit(Y, y).predict(held)
    expected = np.sum(left**2) / np.sum((z - y.mean(axis=0)) ** 2)
    assert LOSSES["squared"](Y, y, held, z) == pytest.approx(expected, rel=1e-10)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("loss", ["log", LOSSES["log"]])
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
    ("data", "name", "r", "number", "start", "grid"),
    [
        (wine, "classical-lda", 2, "ridge", 1e-2, np.logspace(-4, 2, 10)),
        (breast_cancer, "classical-lda", 1, "ridge", 1e-2, np.logspace(-4, 2, 10)),
        (diabetes, "ridge-regression", 1, "penalty", 1.0, np.logspace(-4, 4, 10)),
    ],
)
def test_better_than_a_grid_in_fewer_solves(data, name, r, number, start, grid):
    X, y = data()
    found = ldr.tune(name, X, r, {number: start}, y=y, random_state=0)
    tried = [
        ldr.tune(name, X, r, {number: value}, y=y, random_state=0, evaluations=1).loss
        for value in grid
    ]
    assert found.loss < min(tried)
    assert found.solves < 10 * 5
    assert getattr(found.result.objective, number) == found.parameters[number]
    assert "held-out loss" in repr(found)


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
    with pytest.raises(ArgumentError, match="'rigde' is no number"):
        ldr.tune("lda", X, 2, {"rigde": 1.0}, y=y)
    with pytest.raises(ArgumentError, match="ridge starts at 0"):
        ldr.tune("lda", X, 2, {"ridge": 0.0}, y=y)
    with pytest.raises(ArgumentError, match="needs y=, or loss="):
        ldr.tune("pca", X, 2, {"scales": np.ones(13)})
    with pytest.raises(ArgumentError, match="parameters is empty: expected numbers to start from"):
        ldr.tune("pca", X, 2, {}, y=y)
    with pytest.raises(ArgumentError, match="several views"):
        ldr.tune("cca", (X, X[:, :3]), 2, {"ridge": 1.0})
