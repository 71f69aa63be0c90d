"""Statistics summed over pieces: the same whatever the pieces are, to the last digits."""

import numpy as np
import pytest
import scipy.sparse as sp

from ldr.errors import ArgumentError
from ldr.objectives import statistics
from ldr.objectives.data import samples as samples_module
from ldr.objectives.data.map_reduce import fold
from ldr.objectives.data.opening import as_samples
from ldr.objectives.data.stored import StoredSamples
from tests.objectives.test_statistics import (
    CODES,
    DATA,
    C,
    centred,
    class_reference,
    error,
    extended,
    split,
)

# Those that defeat a sum the most.
NAMES = ("mean 1e8", "mixed means", "drift and mean", "outlier first", "step", "float32")
DATA = {name: DATA[name] for name in ("centred", *NAMES)}


@pytest.fixture(params=DATA, ids=str)
def data(request):
    return DATA[request.param]


@pytest.fixture(params=[1, 17, 150])
def piece_rows(request, monkeypatch):
    """Rows of a piece."""
    monkeypatch.setattr(samples_module, "PIECE_NUMBERS", 5 * request.param)
    return request.param


def test_pieces_cover_the_rows_in_order(piece_rows):
    samples = as_samples(DATA["centred"])
    pieces = samples.pieces()
    assert len(pieces) == -(-samples.n // piece_rows)
    rows = np.vstack([samples.piece(where).array for where in pieces])
    np.testing.assert_array_equal(rows, DATA["centred"])


def test_moments(data, piece_rows):
    X = data[:400]
    S = centred(extended(X))
    S = S.T @ S
    found = statistics.moments(as_samples(X))
    assert error(found.scatter, S) < 1e-13
    np.testing.assert_array_equal(found.scatter, found.scatter.T)
    spread = np.sqrt(np.diag(S) / len(X)).astype(float)
    exact = (X[0].astype(np.longdouble) + extended(X).mean(axis=0)).astype(float)
    for mean in (found.mean, statistics.mean(as_samples(X))):
        assert np.all(np.abs(mean - exact) <= 5e-14 * np.maximum(np.abs(exact), spread))


def test_joint_moments(data, piece_rows):
    X = data[:400]
    Z = centred(extended(X))
    found = statistics.joint_moments(*split(X))
    top = np.hstack([found.scatter_aa, found.scatter_ab])
    bottom = np.hstack([found.scatter_ab.T, found.scatter_bb])
    assert error(np.vstack([top, bottom]), Z.T @ Z) < 1e-13


@pytest.mark.parametrize("order", ["random", "sorted"])
def test_class_moments(data, piece_rows, order):
    """Sorted classes are missing from most pieces."""
    X, codes = data[:400], CODES[:400]
    codes = codes if order == "random" else np.sort(codes)
    within, between = class_reference(X, codes, C)
    found = statistics.class_moments(as_samples(X), codes, C)
    assert error(found.within, within) < 1e-13
    assert error(found.between, between) < 1e-12
    np.testing.assert_array_equal(found.counts, np.bincount(codes))
    total = statistics.moments(as_samples(X))
    np.testing.assert_allclose(found.mean, total.mean, rtol=1e-12, atol=1e-13)


def test_a_class_without_samples_is_refused(piece_rows):
    with pytest.raises(ArgumentError, match=f"class {C} of {C + 1} has no samples"):
        statistics.class_moments(as_samples(DATA["centred"]), CODES, C + 1)


@pytest.mark.parametrize("lag", [1, 17, 18, 299])
def test_lagged_moments(data, piece_rows, lag):
    """Lags shorter and longer than a piece, which then reach across several."""
    X = data[:300]
    Z = centred(extended(X))
    n = len(X)
    G = Z[:-lag].T @ Z[lag:] / (n - lag)
    found = statistics.lagged_moments(as_samples(X), lag)
    assert error(found.lagged, (G + G.T) / 2, Z.T @ Z / (n - lag)) < 1e-13
    assert error(found.scatter, Z.T @ Z) < 1e-13


def test_difference_scatter(data, piece_rows):
    X = data[:400]
    steps = np.diff(extended(X), axis=0)
    assert error(statistics.difference_scatter(as_samples(X)), steps.T @ steps) < 1e-13


def test_constant_columns_are_exactly_zero(piece_rows):
    X = DATA["centred"].copy()
    X[:, 1], X[:, 3] = 0.1, -1e8 / 3
    found = statistics.moments(as_samples(X))
    assert not np.any(found.scatter[[1, 3]])
    assert found.mean[1] == 0.1
    assert not np.any(statistics.class_moments(as_samples(X), CODES, C).within[[1, 3]])
    assert not np.any(statistics.lagged_moments(as_samples(X), 3).lagged[[1, 3]])


def test_sparse_terms_merge_like_dense_ones():
    """Sparse data in memory are one piece; on a cluster they come in several."""
    X = np.where(np.random.default_rng(1).random((90, 5)) < 0.4, DATA["centred"][:90], 0.0)
    for term, merge, beside in _terms():
        whole = term(as_samples(X), *beside(slice(0, 90)))
        parts = [
            term(as_samples(sp.csr_array(X[where])), *beside(where))
            for where in (slice(0, 20), slice(20, 24), slice(24, 90))
        ]
        merged = merge(merge(parts[0], parts[1]), parts[2])
        for found, expected in zip(_arrays(merged), _arrays(whole), strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-11)


def _terms():
    """The terms that statistics hand to `reduce`, with their merges and what stands beside."""
    handed = []

    class Recorder(type(as_samples(np.eye(5)))):
        def reduce(self, term, merge, *beside):
            handed.append((term, merge, lambda where: tuple(b[where] for b in beside)))
            return super().reduce(term, merge, *beside)

    recorder = Recorder(DATA["centred"][:90])
    codes = np.arange(90) // 23
    statistics.moments(recorder)
    statistics.class_moments(recorder, codes, 4)
    statistics.lagged_moments(recorder, 7)
    statistics.difference_scatter(recorder)
    return handed


def _arrays(total):
    """What the statistics are made of, each at its full size."""
    total = getattr(total, "spread", total)
    if hasattr(total, "moments"):
        found = total.moments
        return [getattr(found, name) for name in vars(found)]
    return [np.triu(total.squares)]


def test_threads_do_not_change_a_bit(monkeypatch):
    monkeypatch.setattr(samples_module, "PIECE_NUMBERS", 500)
    found = []
    for workers in (1, 2, 5):
        monkeypatch.setattr(samples_module, "workers_for", lambda columns, w=workers: w)
        found.append(statistics.lagged_moments(as_samples(DATA["mixed means"]), 3))
    for other in found[1:]:
        np.testing.assert_array_equal(other.scatter, found[0].scatter)
        np.testing.assert_array_equal(other.lagged, found[0].lagged)


def test_no_more_pieces_wait_than_are_needed():
    """Memory does not grow with the number of pieces: few are read ahead of the merge."""
    read, merged, ahead = [], [1], []

    def piece(i):
        read.append(i)
        ahead.append(len(read) - merged[0])
        return (i,)

    def merge(left, right):
        merged[0] += 1
        return left + right

    pieces = (lambda i=i: piece(i) for i in range(200))
    assert fold(lambda i: i, merge, pieces, 2) == sum(range(200))
    assert max(ahead) <= 5


def test_what_a_term_raises_is_raised():
    def term(i):
        if i == 3:
            raise ArgumentError("three")
        return i

    with pytest.raises(ArgumentError, match="three"):
        fold(term, max, ((lambda i=i: (i,)) for i in range(100)), 2)


# --- files ------------------------------------------------------------------------------------


def test_a_file_gives_the_bits_of_the_array(tmp_path, data, piece_rows):
    np.save(tmp_path / "x.npy", data[:400])
    stored, array = as_samples(tmp_path / "x.npy"), as_samples(data[:400])
    assert isinstance(stored, StoredSamples)
    assert stored.shape == (400, 5)
    for statistic in (
        lambda s: statistics.moments(s).scatter,
        lambda s: statistics.class_moments(s, CODES[:400], C).within,
        lambda s: statistics.lagged_moments(s, 2).lagged,
    ):
        before = stored.passes
        np.testing.assert_array_equal(statistic(stored), statistic(array))
        assert stored.passes == before + 1
