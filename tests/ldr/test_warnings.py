"""Warnings name the line of the user's that called, through however many doors it went."""

import linecache
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning as Theirs
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import ldr
from ldr.errors import ConvergenceWarning, DeviceWarning, ObjectiveWarning
from tests import real_data

X, y = real_data.wine()
FEW = {"solver": "steepest-descent", "max_iterations": 1, "certify": False}


def no_device(platform):
    """What jax says of a GPU on most machines."""
    raise RuntimeError("there is no such device")


@ldr.objective(
    manifold="grassmann", sense="max", backend="numpy", gradient=lambda M, X: 4 * X.T @ (X @ M) ** 3
)
def power(M, X):
    return float(np.sum((X @ M) ** 4))


CALLS = {
    "solve": (lambda: ldr.solve("orthogonal-lda", X, 2, y=y, **FEW), ConvergenceWarning),
    "custom": (lambda: ldr.solve(power, X, 2, random_state=0), ObjectiveWarning),
    "orthogonal-cca": (lambda: ldr.solve("cca", (X[:15, :8], X[:15, 5:]), 2), ObjectiveWarning),
    "device": (lambda: ldr.solve("pca", X, 2, device="gpu"), DeviceWarning),
    "reducer": (lambda: ldr.Reducer("orthogonal-lda", **FEW).fit(X, y), ConvergenceWarning),
    "named": (lambda: ldr.OrthogonalLDA(**FEW).fit_transform(X, y), ConvergenceWarning),
    "pipeline": (
        lambda: make_pipeline(StandardScaler(), ldr.Reducer("orthogonal-lda", **FEW)).fit(X, y),
        ConvergenceWarning,
    ),
    "search": (
        lambda: cross_val_score(ldr.Reducer("orthogonal-lda", **FEW), X, y, cv=2),
        ConvergenceWarning,
    ),
    "path": (
        lambda: ldr.path("orthogonal-lda", X, [1, 2], y=y, solver="lbfgs", max_iterations=1),
        ConvergenceWarning,
    ),
    "bootstrap": (lambda: ldr.bootstrap(power, X, 2, draws=1), ObjectiveWarning),
    "partial_fit": (lambda: ldr.PCA().fit(X).partial_fit(X), UserWarning),
}


@pytest.mark.smoke
@pytest.mark.parametrize("call", CALLS)
def test_the_line_is_the_users(call, monkeypatch):
    act, category = CALLS[call]
    monkeypatch.setattr("ldr.objectives.data.accelerator._devices", no_device)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        act()
    found = [warning for warning in caught if issubclass(warning.category, category)]
    assert found
    for warning in found:
        assert warning.filename == __file__
        assert "lambda" in linecache.getline(warning.filename, warning.lineno)


def test_scikit_learn_knows_the_warning_of_runs_that_did_not_converge():
    assert issubclass(ConvergenceWarning, Theirs) and issubclass(ConvergenceWarning, RuntimeWarning)
    with pytest.warns(Theirs, match="iteration"):
        ldr.solve("fa", real_data.wine()[0], 2, max_iterations=1)
    with pytest.raises(AttributeError, match="NoWarning"):
        ldr.errors.NoWarning  # noqa: B018
