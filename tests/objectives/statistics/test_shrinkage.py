"""shrinkage="auto": Ledoit and Wolf's rule, as scikit-learn's discriminant analysis uses it."""

from dataclasses import replace

import dask.array
import numpy as np
import pytest
import scipy
from sklearn.covariance import ledoit_wolf_shrinkage
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.preprocessing import StandardScaler

import ldr
from ldr.errors import ArgumentError, DataError
from ldr.objectives import LDA
from ldr.objectives.data.marks import Marks
from ldr.objectives.data.opening import as_samples
from ldr.objectives.statistics.shrinkage import ledoit_wolf
from tests import real_data


def few_rows():
    """40 rows of 60 columns, three classes."""
    y = np.arange(40) % 3
    return np.random.default_rng(0).standard_normal((40, 60)) + (y == 1)[:, None], y


DATA = {"wine": real_data.wine, "digits": real_data.digits, "few rows": few_rows}


def coefficient(X):
    return ledoit_wolf_shrinkage(StandardScaler().fit_transform(X), assume_centered=True)


@pytest.mark.parametrize("name", DATA)
def test_coefficients_and_components_are_those_of_scikit_learn(name):
    X, y = DATA[name]()
    theirs = LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto").fit(X, y)
    r = len(theirs.classes_) - 1
    result = ldr.solve("classical-lda", X, r, y=y, shrinkage="auto")
    each = [coefficient(X[y == k]) for k in theirs.classes_]
    np.testing.assert_allclose(result.parameters["shrinkage"], each, rtol=1e-12)
    assert result.parameters["of_total"] == pytest.approx(coefficient(X), rel=1e-12)
    ours, scalings = result.P.T, theirs.scalings_[:, :r]
    cosines = np.sum(ours * scalings, axis=0)
    cosines /= np.linalg.norm(ours, axis=0) * np.linalg.norm(scalings, axis=0)
    np.testing.assert_allclose(np.abs(cosines), 1.0, atol=1e-9)
    assert result.certificate.kind == "global"
    assert not any("eigenvalue 0" in note for note in result.notes)


@pytest.mark.parametrize("name", DATA)
def test_all_components_predict_as_scikit_learn_does(name):
    """Which predicts from all of them, however few it projects to."""
    X, y = DATA[name]()
    theirs = LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto").fit(X, y)
    ours = ldr.ClassicalLDA(n_components=X.shape[1], shrinkage="auto").fit(X, y)
    assert np.array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("method", ["lda", "classical-lda"])
def test_the_same_from_every_container(method, tmp_path):
    X, y = real_data.digits()
    np.save(tmp_path / "X.npy", X)
    given = {
        "sparse": scipy.sparse.csr_array(X),
        "dask": dask.array.from_array(X, chunks=(400, -1)),
        "file": tmp_path / "X.npy",
        "stream": lambda: iter(np.array_split(X, 7)),
    }
    reference = ldr.solve(method, X, 2, y=y, shrinkage="auto")
    for kind, Z in given.items():
        found = ldr.solve(method, Z, 2, y=y, shrinkage="auto")
        np.testing.assert_allclose(found.P, reference.P, atol=1e-9 * np.abs(reference.P).max())
        (
            np.testing.assert_allclose(
                found.parameters["shrinkage"], reference.parameters["shrinkage"], rtol=1e-11
            ),
            kind,
        )


def test_orthogonal_lda_is_of_the_same_matrices():
    X, y = few_rows()
    result = ldr.solve("lda", X, 2, y=y, shrinkage="auto", nested=True)
    assert result.certificate.kind == "global"

    def shrunk(Z):
        scaler = StandardScaler().fit(Z)
        S, s = np.cov(scaler.transform(Z), rowvar=False, bias=True), coefficient(Z)
        S = (1 - s) * S + s * np.trace(S) / len(S) * np.eye(len(S))
        return len(Z) * scaler.scale_[:, None] * S * scaler.scale_

    B = sum(shrunk(X[y == k]) for k in range(3))
    A = shrunk(X) - B
    M = result.M
    a, b = np.diag(M.T @ A @ M), np.diag(M.T @ B @ M)
    weights = np.array([2.0, 1.0])
    assert result.value == pytest.approx((a @ weights) / (b @ weights), rel=1e-10)
    assert {"shrinkage", "of_total", "levels"} <= set(result.parameters)


_rng = np.random.default_rng(1)
SERIES = np.cumsum(_rng.standard_normal((50, 4)), axis=0) @ _rng.standard_normal((4, 8))
SERIES += _rng.standard_normal((50, 8))


@pytest.mark.parametrize("name", ["maf", "classical-maf", "orthogonal-sfa", "sir"])
def test_covariances_are_moved_towards_their_diagonal(name):
    y = SERIES[:, 0] if name == "sir" else None
    result = ldr.solve(name, SERIES, 2, y=y, shrinkage="auto")
    s = coefficient(SERIES)
    assert result.parameters["shrinkage"] == pytest.approx(s, rel=1e-12)
    assert result.certificate.kind == "global"
    X = SERIES - SERIES.mean(axis=0)
    C = X.T @ X / 50
    C = (1 - s) * C + s * np.diag(np.diag(C))
    if name == "sir":
        order = np.argsort(y, kind="stable")
        A = sum(np.outer(m, m) for m in X[order].reshape(10, 5, 8).mean(axis=1)) / 10
    elif name == "orthogonal-sfa":
        A = np.diff(X, axis=0).T @ np.diff(X, axis=0)
    else:
        A = X[:-1].T @ X[1:] / 49
        A = (A + A.T) / 2
    if name in ("sir", "classical-maf"):
        best = scipy.linalg.eigh(A, C, eigvals_only=True)[-2:].sum()
    else:
        best = np.trace(result.P @ A @ result.P.T) / np.trace(result.P @ C @ result.P.T)
    assert result.value == pytest.approx(best, rel=1e-10)
    streamed = ldr.solve(name, lambda: iter(np.array_split(SERIES, 4)), 2, y=y, shrinkage="auto")
    np.testing.assert_allclose(streamed.P, result.P, atol=1e-9 * np.abs(result.P).max())
    labels = np.arange(7) > 3 if name == "sir" else None
    few = ldr.solve(name, SERIES[:7], 1, y=labels, shrinkage="auto")
    assert few.certificate.kind == ("bound" if name == "orthogonal-sfa" else "global")  # 0 is least


def test_columns_and_groups_that_are_constant():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 3))
    X[:, 1] = 5.0
    found = ledoit_wolf(as_samples(X))
    assert found.coefficients[0] == pytest.approx(coefficient(X), rel=1e-12)
    assert np.isfinite(found.added).all()
    alone = ledoit_wolf(as_samples(X[:, :1]))
    assert alone.coefficients[0] == 0.0


def test_what_it_is_not_for():
    X, y = real_data.wine()
    with pytest.raises(ArgumentError, match="shrinkage must be"):
        LDA(shrinkage="oas")
    with pytest.raises(ArgumentError, match="count alike"):
        ledoit_wolf(replace(as_samples(X), marks=Marks(np.arange(1.0, len(X) + 1))))
    with pytest.raises(DataError, match="iterator"):
        ldr.solve("lda", iter(np.array_split(X, 3)), 2, y=y, shrinkage="auto")
    assert not hasattr(ldr.OrthogonalLDA(shrinkage="auto"), "partial_fit")
    many = ldr.solve_many("lda", np.stack([X, X]), 2, y=y, shrinkage="auto")
    assert many.alone == 2
    assert many.values[0] == pytest.approx(ldr.solve("lda", X, 2, y=y, shrinkage="auto").value)
