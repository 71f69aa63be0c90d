"""Statistics against sums in extended or exact arithmetic, on data that defeat X'X - n m m'."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from ldr.errors import ArgumentError, DataError
from ldr.objectives import statistics
from ldr.objectives.data import data as samples_module
from ldr.objectives.data.opening import as_samples
from ldr.objectives.data.sample_metadata import Marks
from ldr.objectives.data.stored import Change
from ldr.objectives.graphs import laplacian
from ldr.objectives.statistics.scatters import KnownScatter, RowScatter
from ldr.objectives.statistics.sums import class_sums
from tests.objectives.statistics.references import (
    BASE,
    CODES,
    DATA,
    RNG,
    C,
    D,
    N,
    centred,
    class_reference,
    error,
    extended,
)


@pytest.fixture(params=DATA, ids=str)
def data(request):
    return DATA[request.param]


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(2, 60),
    d=st.integers(1, 6),
    scale=st.integers(-30, 30),
    offset=st.sampled_from([0.0, 1.0, 1e3, 1e6, 1e8]),
    rows=st.integers(1, 70),
    seed=st.integers(0, 999),
)
def test_moments_of_any_shape_and_scale(n, d, scale, offset, rows, seed):
    X = (np.random.default_rng(seed).standard_normal((n, d)) + offset) * 10.0**scale
    Z = centred(extended(X))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(samples_module, "BLOCK_NUMBERS", rows * d)
        assert error(statistics.moments(as_samples(X)).scatter, Z.T @ Z) < 1e-13


@pytest.mark.parametrize("piece", [1, 17, 150, 10_000])
def test_constant_columns_are_exactly_zero(piece, monkeypatch):
    monkeypatch.setattr(samples_module, "BLOCK_NUMBERS", D * piece)
    X = BASE[:200].copy()
    X[:, 1], X[:, 3] = 0.1, -1e8 / 3
    samples, codes = as_samples(X), CODES[:200]
    for numbers in (samples_module.BLOCK_NUMBERS, 7 * D):
        monkeypatch.setattr(samples_module, "BLOCK_NUMBERS", numbers)
        found = statistics.moments(samples)
        assert not np.any(found.scatter[[1, 3]])
        assert found.mean[1] == 0.1
        assert found.mean[3] == -1e8 / 3
        classes = statistics.class_moments(samples, codes, C)
        assert not np.any(classes.within[[1, 3]])
        assert not np.any(classes.between[[1, 3]])
        lagged = statistics.lagged_moments(samples, 3)
        assert not np.any(lagged.lagged[[1, 3]])


def test_sampling_is_not_fooled_by_a_period():
    """A spike at every k-th row, where an even sample might see spikes only or none."""
    for period in (2, 3, 50, 100):
        X = np.zeros((100_000, 2))
        X[::period] = 1.0
        X[:, 1] += 1e7
        Z = centred(extended(X))
        assert error(statistics.moments(as_samples(X)).scatter, Z.T @ Z) < 1e-13


# --- two views --------------------------------------------------------------------------------


def test_views_of_different_lengths():
    with pytest.raises(DataError, match="Xa has 3 rows and Xb has 4"):
        statistics.view_moments((as_samples(np.eye(3), "Xa"), as_samples(np.eye(4), "Xb")))


def test_weights_of_sparse_and_dense_views_are_repeated_rows():
    rng = np.random.default_rng(0)
    sparse = sp.random_array((40, 5), density=0.3, rng=rng, format="csr")
    views = [sparse, 1e6 + rng.standard_normal((40, 3)), sp.csr_array(5e3 + sparse.toarray())]
    times = rng.integers(0, 4, 40)
    rows = np.repeat(np.arange(40), times)
    marks = Marks(times.astype(np.float64))
    weighted = statistics.view_moments([replace(as_samples(X), marks=marks) for X in views])
    repeated = statistics.view_moments([as_samples(X[rows]) for X in views])
    assert weighted.n == repeated.n
    for mean, expected in zip(weighted.means, repeated.means, strict=True):
        np.testing.assert_allclose(mean, expected, rtol=1e-14)
    scale = np.sqrt(np.diag(repeated.scatter))
    apart = (weighted.scatter - repeated.scatter) / scale / scale[:, None]
    assert np.abs(apart).max() < 1e-13


# --- classes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [9, 20_000])  # few numbers and many
def test_sums_of_classes_have_the_same_bits_however_many_numbers(n):
    codes, rows = RNG.integers(0, 4, n), RNG.standard_normal((n, 3))
    expected = np.zeros((5, 3))
    np.add.at(expected, codes, rows)
    np.testing.assert_array_equal(class_sums(rows, codes, 5), expected)


def test_rare_and_many_classes():
    codes = np.concatenate([np.zeros(2000, dtype=int), np.arange(1, 1000), [999]])
    X = BASE + 1e6
    within, between = class_reference(X, codes, 1000)
    found = statistics.class_moments(as_samples(X), codes, 1000)
    assert error(found.within, within) < 1e-13
    assert error(found.between, between) < 1e-13


def test_pieces_whose_rows_do_not_count(monkeypatch):
    monkeypatch.setattr(samples_module, "BLOCK_NUMBERS", 10 * D)
    w = (np.arange(N) >= 25).astype(float)
    of_all = replace(as_samples(BASE), marks=Marks(w))
    found, expected = (
        statistics.class_moments(rows, codes, C)
        for rows, codes in ((of_all, CODES), (as_samples(BASE[25:]), CODES[25:]))
    )
    np.testing.assert_allclose(found.within, expected.within, rtol=1e-12)
    np.testing.assert_allclose(found.between, expected.between, rtol=1e-12)


def test_a_change_of_changed_rows_is_one_change():
    T, centre = np.linalg.qr(RNG.standard_normal((D, 3)))[0], RNG.standard_normal(D)
    one, other = Change(T, centre), Change(RNG.standard_normal((3, 2)), RNG.standard_normal(3))
    rows = ((BASE - centre) @ T - other.centre) @ other.T
    both = one.then(other).made(as_samples(BASE)), other.made(one.made(as_samples(BASE)))
    for found in both:
        np.testing.assert_allclose(found.array, rows, atol=1e-10)
    assert one.then(Change()) is one and Change().then(other) is other


@pytest.mark.parametrize("scaled", [False, True])
def test_variation_of_sparse_rows_a_block_at_a_time(scaled, monkeypatch):
    monkeypatch.setattr("ldr.objectives.statistics.scatters.BLOCK_NUMBERS", 60)
    X = np.where(RNG.random(BASE.shape) < 0.5, BASE, 0.0)
    w = RNG.integers(1, 4, N).astype(float) if scaled else np.ones(N)
    P, Z = RNG.standard_normal((2, D)), X - np.average(X, axis=0, weights=w)
    rows = replace(as_samples(sp.csr_array(X)), marks=Marks(w) if scaled else None)
    found = RowScatter(rows).variation(P)
    C = (Z.T * w) @ Z / w.sum()
    np.testing.assert_allclose(found.columns, C @ P.T, atol=1e-12)
    assert found.total == pytest.approx(np.trace(C), rel=1e-12)
    assert not KnownScatter(np.zeros((D, D)), 3.0).variation(P).predicted.any()


@pytest.mark.parametrize(
    ("codes", "n_classes", "message"),
    [
        (np.zeros(3, dtype=int), 1, "codes has shape"),
        (CODES, C - 1, "codes run from 0 to 3, expected 0 to 2"),
        (CODES - 1, C, "codes run from -1"),
        (CODES, C + 1, "class 4 of 5 has no samples"),
    ],
)
def test_refused_codes(codes, n_classes, message):
    with pytest.raises(ArgumentError, match=message):
        statistics.class_moments(as_samples(BASE), codes, n_classes)


# --- time -------------------------------------------------------------------------------------


@pytest.mark.parametrize("lag", [0, -1, N, N + 5])
def test_refused_lags(lag):
    with pytest.raises(ArgumentError, match=f"lag must be between 1 and n - 1 = {N - 1}"):
        statistics.lagged_moments(as_samples(BASE), lag)


@pytest.mark.parametrize("lag", [1, 2999])
def test_few_pairs_at_a_large_lag_keep_their_digits(lag):
    X = np.random.default_rng(0).standard_normal((3000, 3))
    Z = centred(extended(X))
    S = Z[:-lag].T @ Z[lag:] / (3000 - lag)
    found = statistics.lagged_moments(as_samples(X), lag).lagged
    scale = np.sqrt(np.mean(np.asarray(Z, dtype=float) ** 2))
    assert np.abs(found - 0.5 * (S + S.T)).max() < 2e-14 * scale**2


def test_differences_need_two_rows():
    with pytest.raises(DataError, match="at least 2"):
        statistics.difference_scatter(as_samples(np.ones((1, 3)), minimum_rows=1))


# --- graphs -----------------------------------------------------------------------------------


def neighbour_graph(n, seed=0):
    """Random symmetric weights, with isolated samples, self loops and a hub."""
    rng = np.random.default_rng(seed)
    W = sp.random(n, n, density=min(1.0, 6 / n), random_state=rng, format="lil")
    W[0, n // 2 :] = 1.0
    W[1, :] = 0
    W[:, 1] = 0
    W[2, 2] = 5.0
    return sp.csr_array(W + W.T)


def graph_forms(samples, W, mean):
    """Xc'(D - W)Xc and Xc'DXc."""
    laplace = statistics.linked_form(samples, laplacian(W), [mean])
    return laplace, statistics.diagonal_forms(samples, [W.sum(axis=1)], [mean])[0]


def test_graph_scatter(data):
    n = len(data)
    W = neighbour_graph(n)
    samples = as_samples(data)
    mean = statistics.mean(samples)
    laplace, degree = graph_forms(samples, W, mean)
    Z = data.astype(np.longdouble) - mean
    degrees = W.sum(axis=1)
    exact = Z.T @ (degrees[:, None] * Z)
    assert error(degree, exact) < 1e-13
    # sum_ij w_ij (x_i - x_j)(x_i - x_j)' = 2 X'L X
    edges = sp.triu(W, 1).tocoo()
    steps = Z[edges.row] - Z[edges.col]
    assert error(laplace, steps.T @ (edges.data[:, None] * steps), exact) < 1e-13
    np.testing.assert_array_equal(laplace, laplace.T)
