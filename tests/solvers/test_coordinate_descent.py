"""Coordinate descent for the lasso, where columns are nearly or exactly collinear."""

import numpy as np
import pytest

import ldr
from ldr.errors import ArgumentError
from ldr.solvers.coordinate_descent import _along_faces


def collinear(kind):
    rng = np.random.default_rng(0)
    if kind == "pair":
        a, b, c, noise = rng.standard_normal((4, 200))
        return np.column_stack([a, a + 1e-3 * b, c]), a + b + c + 0.05 * noise
    if kind == "powers":
        t = np.linspace(-1, 1, 100)
        return t[:, None] ** np.arange(1, 11), np.sin(5 * t) + 0.1 * rng.standard_normal(100)
    if kind == "twice":
        X = rng.standard_normal((60, 20))
        return np.hstack([X, 2 * X[:, :5]]), X[:, 0] - X[:, 3] + rng.standard_normal(60)
    X = rng.standard_normal((40, 90)) + 3 * rng.standard_normal((40, 1))
    return X, X[:, :2] + rng.standard_normal((40, 2))


@pytest.mark.parametrize("penalty", [1e-2, 1.0, 100.0])
@pytest.mark.parametrize("kind", ["pair", "powers", "twice", "fewer rows"])
def test_the_optimum_is_proved_from_the_data(kind, penalty):
    """The dual of min |Y - XM|^2 + w |M|_1 is |Y|^2 - |Y - theta|^2 for |2 X'theta| <= w."""
    X, y = collinear(kind)
    result = ldr.solve("lasso", X, 1, y=y, penalty=penalty)
    assert result.solver == "coordinate-descent" and result.converged
    assert result.status is not ldr.solvers.Status.CLOSED_FORM
    assert result.value <= result.baseline
    Xc = np.asarray(X - X.mean(axis=0), np.longdouble)
    Yc = np.asarray(y - y.mean(axis=0), np.longdouble).reshape(len(X), -1)
    rest = Yc - Xc @ result.M
    value = np.sum(rest**2) + penalty * np.abs(result.M).sum()
    theta = rest * (penalty / np.maximum(penalty, 2 * np.abs(Xc.T @ rest).max(axis=0)))
    bound = np.sum(Yc**2) - np.sum((Yc - theta) ** 2)
    gap = result.certificate.gap
    assert abs(result.value - value) <= gap <= 1e-8 * np.sum(Yc**2)
    assert value - bound <= 2 * gap


def test_values_only_fall():
    X, y = collinear("pair")
    result = ldr.solve("lasso", X, 1, y=y, penalty=1e-2, solver="coordinate-descent")
    values = result.history["value"]
    assert len(values) == result.iterations + 1 > 1 and (np.diff(values) <= 0).all()


def test_a_run_that_is_cut_short_is_no_optimum():
    X, y = collinear("pair")
    with pytest.warns(ldr.errors.ConvergenceWarning):
        result = ldr.solve("lasso", X, 1, y=y, penalty=1e-2, max_iterations=0)
    assert result.certificate.kind == "bound"
    best = ldr.solve("lasso", X, 1, y=y, penalty=1e-2).value
    assert best < result.value <= result.baseline
    assert result.value - best <= result.certificate.gap * (1 + 1e-9)


@pytest.mark.parametrize("name", ["pca", "least-squares", "ridge-regression", "lasso"])
def test_others_are_refused(name):
    X, y = collinear("pair")
    solver, words = "coordinate-descent", "solves the lasso only"
    if name == "lasso":
        solver, words = "closed-form", "no closed form"
    with pytest.raises(ArgumentError, match=words):
        ldr.solve(name, X, 1, y=y, solver=solver)


def test_along_faces_of_no_coefficients_there_is_no_way():
    Z, t = np.eye(3), np.ones(3)
    assert not _along_faces(Z, t, np.zeros(3), 1.0).any()
    np.testing.assert_allclose(_along_faces(Z, t, np.array([1.0, 0, 0]), 1.0), [0.5, 0, 0])
