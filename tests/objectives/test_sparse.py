"""sparse-lda and sparse-cca: sums under names of their own."""

import numpy as np
import pytest

import ldr
from ldr.errors import ArgumentError
from ldr.inputs import as_data
from ldr.objectives import OrthogonalCCA, OrthogonalLDA, SparseCCA, SparseLDA
from tests import real_data

WINE, CULTIVARS = real_data.wine()
CASES = {
    "sparse-lda": (SparseLDA(0.3, ridge=0.1), OrthogonalLDA(ridge=0.1), WINE, CULTIVARS),
    "sparse-cca": (
        SparseCCA(0.02, ridge=0.1),
        OrthogonalCCA(ridge=0.1),
        real_data.tumour_views(),
        None,
    ),
}


def matrices(result):
    return result.M if isinstance(result.M, tuple) else (result.M,)


@pytest.mark.parametrize("name", CASES)
def test_they_are_the_sum(name):
    named, smooth, X, y = CASES[name]
    ours = ldr.solve(named, X, 2, y=y, starts=1)
    theirs = ldr.solve(smooth + ldr.l1(named.penalty), X, 2, y=y, starts=1)
    assert ours.value == theirs.value
    size = sum(np.abs(M).sum() for M in matrices(ours))
    alone = smooth.bind(as_data(smooth, X, y), 2)
    without = alone.reported(alone.value(alone.lower(matrices(ours))))
    assert ours.value == pytest.approx(without - named.penalty * size, rel=1e-9)
    assert ours.parameters["sparsity"] > 0.1 and ours.improvement > 0
    rows = X[0] if y is None else X
    assert len(ours.predict(rows)) == len(rows)


def shares(M, A, C, amount):
    """tr(M'AM) and tr(M'CM) with a ridge in all columns."""
    return np.vdot(M, A @ M), np.vdot(M, C @ M) + amount * np.vdot(M, M)


def test_lda_of_few_rows_has_its_ridge_in_all_columns():
    X, y = WINE[::20], CULTIVARS[::20]
    found = ldr.solve("sparse-lda", X, 2, y=y, ridge=0.5, penalty=0.05)
    M, means = found.M, np.array([X[y == c].mean(axis=0) for c in y])
    within, between = X - means, means - X.mean(axis=0)
    rank = np.linalg.matrix_rank(X - X.mean(axis=0))
    assert rank < X.shape[1]
    a, b = shares(M, between.T @ between, within.T @ within, 0.5 * np.sum(within**2) / rank)
    assert found.value == pytest.approx(a / b - 0.05 * np.abs(M).sum(), rel=1e-9)
    assert found.parameters["sparsity"] > 0 and found.certificate.kind == "local"
    with pytest.raises(ArgumentError, match=r"fewer rows than columns.*Give ridge= a positive"):
        ldr.solve(ldr.objectives.OrthogonalMAF() + ldr.l1(0.1), X, 1)


def test_cca_of_few_rows_has_its_ridge_in_all_columns():
    rng = np.random.default_rng(0)
    shared = rng.standard_normal((30, 1))
    A, B = (rng.standard_normal((30, d)) for d in (50, 40))
    A[:, :3] += 5 * shared
    B[:, :3] += 5 * shared
    found = ldr.solve("sparse-cca", (A, B), 1, ridge=0.3, penalty=0.05)
    A, B = A - A.mean(axis=0), B - B.mean(axis=0)
    Ma, Mb = found.M
    squares = [
        shares(M, np.eye(len(M)), X.T @ X / 30, 0.3 * np.sum(X**2) / 30 / 29)[1]
        for M, X in ((Ma, A), (Mb, B))
    ]
    correlation = np.sum((A @ Ma) * (B @ Mb)) / 30 / np.sqrt(np.prod(squares))
    size = np.abs(Ma).sum() + np.abs(Mb).sum()
    assert found.value == pytest.approx(correlation - 0.05 * size, rel=1e-9)
    for M in found.M:
        assert set(np.argsort(-np.abs(M[:, 0]))[:3]) == {0, 1, 2}


@pytest.mark.parametrize("name", CASES)
def test_without_a_penalty_they_are_the_smooth_ones(name):
    named, smooth, X, y = CASES[name]
    found = ldr.solve(type(named)(0.0, ridge=0.1), X, 2, y=y)
    assert found.value == pytest.approx(ldr.solve(smooth, X, 2, y=y).value, rel=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_paths_replace_the_penalty(name):
    named, _, X, y = CASES[name]
    path = ldr.regularisation_path(named, X, 2, [0.4, 0.0, 0.01], y=y)
    assert path.penalties == (0.0, 0.01, 0.4) and path.results[2].objective.ridge == 0.1
    assert path.sparsity[0] == 0 < path.sparsity[2]
    assert path.values[0] > path.values[1] > path.values[2]
    refitted = ldr.refit(path.results[2], X, y=y)
    assert [list(map(bool, M.ravel() == 0)) for M in matrices(refitted)] == [
        list(map(bool, M.ravel() == 0)) for M in matrices(path.results[2])
    ]


def test_paths_go_on_where_a_penalty_has_taken_all():
    X, y = real_data.diabetes()
    path = ldr.regularisation_path("lasso", X, 1, [1.0, 1e9, 1e12], y=y)
    nothing = np.sum((y - y.mean()) ** 2)
    np.testing.assert_allclose([found.value for found in path.results[1:]], nothing, rtol=1e-12)
