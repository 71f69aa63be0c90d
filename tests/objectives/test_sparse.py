"""sparse-lda and sparse-cca: sums under names of their own."""

import numpy as np
import pytest

import ldr
from ldr.errors import ArgumentError
from ldr.inputs import as_data
from ldr.objectives import CCA, LDA, SparseCCA, SparseLDA
from tests import real_data

WINE, CULTIVARS = real_data.wine()
CASES = {
    "sparse-lda": (SparseLDA(0.3, ridge=0.1), LDA(ridge=0.1), WINE, CULTIVARS),
    "sparse-cca": (SparseCCA(0.02, ridge=0.1), CCA(ridge=0.1), real_data.tumour_views(), None),
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


def test_few_rows_are_refused_in_words():
    with pytest.raises(ArgumentError, match="fewer rows than columns"):
        ldr.solve("sparse-lda", WINE[::20], 1, y=CULTIVARS[::20], ridge=0.1)


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


@pytest.mark.parametrize("name", CASES)
def test_a_negative_penalty_is_refused(name):
    with pytest.raises(ArgumentError, match="penalty must be"):
        type(CASES[name][0])(-1.0)


def test_paths_go_on_where_a_penalty_has_taken_all():
    X, y = real_data.diabetes()
    path = ldr.regularisation_path("lasso", X, 1, [1.0, 1e9, 1e12], y=y)
    nothing = np.sum((y - y.mean()) ** 2)
    np.testing.assert_allclose([found.value for found in path.results[1:]], nothing, rtol=1e-12)
