"""Statistics against sums in extended or exact arithmetic, on data that defeat X'X - n m m'."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import ldr
from ldr.errors import ArgumentError, DataError
from ldr.objectives import statistics
from ldr.objectives.data.opening import as_samples

RNG = np.random.default_rng(0)
N, D, C = 3000, 5, 4
BASE = RNG.standard_normal((N, D)) @ RNG.standard_normal((D, D))
TIME = np.linspace(0, 1, N)[:, None]
CODES = RNG.integers(0, C, N)

DATA = {
    "centred": BASE,
    "mean 1e6": BASE + 1e6,
    "mean 1e8": BASE + 1e8,
    "mixed means": BASE + np.array([0, 4.9, 1e3, -1e6, 1e8]),
    "drift": BASE + 1e6 * TIME,
    "drift and mean": BASE + 1e5 * TIME + 1e8,
    "random walk": BASE.cumsum(axis=0) + 1e7,
    "outlier first": np.vstack([np.full((1, D), 1e6), BASE[1:]]),
    "step": BASE + 1e6 * (TIME > 0.5),
    "heavy tails": RNG.standard_cauchy((N, D)) + 1e3,
    "scales": (BASE + 1e3) * 10.0 ** np.arange(-6, 4, 2),
    "float32": (BASE + 1e3).astype(np.float32),
    "integers": RNG.integers(10**9, 10**9 + 5, (N, D)),
    "wide": RNG.standard_normal((30, 400)) + 1e6,
}


@pytest.fixture(params=DATA, ids=str)
def data(request):
    return DATA[request.param]


def extended(X):
    """Rows in extended precision, less their first: no digit is lost in the differences."""
    L = X.astype(np.longdouble)
    return L - L[0]


def centred(L):
    Z = L - L.mean(axis=0)
    return Z - Z.mean(axis=0)


def error(S, reference, scale=None):
    """Largest error of an entry relative to sqrt(S_ii S_jj)."""
    root = np.sqrt(np.diag(reference if scale is None else scale))
    return float(np.max(np.abs(S - reference) / np.outer(root, root)))


def split(X):
    return as_samples(X[:, : X.shape[1] // 2]), as_samples(X[:, X.shape[1] // 2 :])


def class_reference(X, codes, c):
    L = extended(X)
    means = np.array([L[codes == k].mean(axis=0) for k in range(c)])
    means += np.array([(L[codes == k] - means[k]).mean(axis=0) for k in range(c)])
    within = L - means[codes]
    counts = np.bincount(codes).astype(np.longdouble)
    between = np.sqrt(counts)[:, None] * (means - counts @ means / counts.sum())
    return within.T @ within, between.T @ between


@pytest.mark.parametrize("rows", [None, 1, 100, 10_000])
def test_moments(data, rows):
    Z = centred(extended(data))
    found = statistics.moments(as_samples(data), rows=rows)
    blocks = 1 if rows is None else len(data) / rows  # each addition may round
    assert error(found.scatter, Z.T @ Z) < 2e-14 + 1e-16 * blocks
    np.testing.assert_array_equal(found.scatter, found.scatter.T)
    np.testing.assert_allclose(found.covariance, found.scatter / len(data))
    spread = np.sqrt(np.diag(Z.T @ Z) / len(data)).astype(float)
    exact = (data[0].astype(np.longdouble) + extended(data).mean(axis=0)).astype(float)
    for mean in (found.mean, statistics.mean(as_samples(data), rows=rows)):
        assert np.all(np.abs(mean - exact) <= 1e-14 * np.maximum(np.abs(exact), spread))


def test_moments_in_exact_rational_arithmetic():
    X = RNG.standard_normal((40, 2)) + 1e8
    exact = [[Fraction(float(v)) for v in row] for row in X]
    mean = [sum(column, Fraction(0)) / 40 for column in zip(*exact, strict=True)]
    S = np.array(
        [
            [float(sum((r[i] - mean[i]) * (r[j] - mean[j]) for r in exact)) for j in range(2)]
            for i in range(2)
        ]
    )
    found = statistics.moments(as_samples(X))
    assert error(found.scatter, S) < 1e-14
    np.testing.assert_array_equal(found.mean, [float(m) for m in mean])


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
    assert error(statistics.moments(as_samples(X), rows=rows).scatter, Z.T @ Z) < 1e-13


def test_constant_columns_are_exactly_zero():
    X = BASE.copy()
    X[:, 1], X[:, 3] = 0.1, -1e8 / 3
    for rows in (None, 7):
        found = statistics.moments(as_samples(X), rows=rows)
        assert not np.any(found.scatter[[1, 3]])
        assert found.mean[1] == 0.1
        assert found.mean[3] == -1e8 / 3
        classes = statistics.class_moments(as_samples(X), CODES, C, rows=rows)
        assert not np.any(classes.within[[1, 3]])
        assert not np.any(classes.between[[1, 3]])
        lagged = statistics.lagged_moments(as_samples(X), 3, rows=rows)
        assert not np.any(lagged.lagged[[1, 3]])


def test_sampling_is_not_fooled_by_a_period():
    """A spike at every k-th row, where an even sample might see spikes only or none."""
    for period in (2, 3, 50, 100):
        X = np.zeros((100_000, 2))
        X[::period] = 1.0
        X[:, 1] += 1e7
        Z = centred(extended(X))
        assert error(statistics.moments(as_samples(X)).scatter, Z.T @ Z) < 1e-13


def test_memory_map(tmp_path):
    np.save(tmp_path / "x.npy", BASE + 1e6)
    samples = as_samples(np.load(tmp_path / "x.npy", mmap_mode="r"))
    expected = statistics.moments(as_samples(BASE + 1e6))
    np.testing.assert_array_equal(statistics.moments(samples).scatter, expected.scatter)


def test_inputs_are_unchanged(data):
    X = data.copy()
    X.setflags(write=False)
    samples, c = as_samples(X), min(C, len(X) // 2)
    codes = np.arange(len(X)) % c
    W = neighbour_graph(len(X))
    mean = statistics.mean(samples)
    statistics.moments(samples)
    statistics.joint_moments(samples, samples)
    statistics.class_moments(samples, codes, c)
    statistics.lagged_moments(samples, 2)
    statistics.difference_scatter(samples)
    statistics.graph_scatter(samples, W, mean)
    statistics.row_space(samples)
    np.testing.assert_array_equal(X, data)


# --- two views --------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [None, 13])
def test_joint_moments(data, rows):
    a, b = split(data)
    Z = centred(extended(data))
    S = Z.T @ Z
    found = statistics.joint_moments(a, b, rows=rows)
    top = np.hstack([found.scatter_aa, found.scatter_ab])
    bottom = np.hstack([found.scatter_ab.T, found.scatter_bb])
    assert error(np.vstack([top, bottom]), S) < 2e-14
    mean = statistics.mean(as_samples(data))
    np.testing.assert_allclose(np.concatenate([found.mean_a, found.mean_b]), mean, rtol=1e-12)


@pytest.mark.parametrize("sparse", ["a", "b", "ab"])
def test_joint_moments_of_sparse_views(sparse):
    X = np.where(RNG.random((200, 7)) < 0.3, RNG.standard_normal((200, 7)), 0.0)
    views = {"a": X[:, :3], "b": X[:, 3:]}
    a, b = (as_samples(sp.csr_array(v) if k in sparse else v) for k, v in views.items())
    found = statistics.joint_moments(a, b)
    S = statistics.moments(as_samples(X)).scatter
    np.testing.assert_allclose(found.scatter_aa, S[:3, :3], atol=1e-12)
    np.testing.assert_allclose(found.scatter_ab, S[:3, 3:], atol=1e-12)
    np.testing.assert_allclose(found.scatter_bb, S[3:, 3:], atol=1e-12)
    np.testing.assert_allclose(found.mean_b, X[:, 3:].mean(axis=0), atol=1e-14)


def test_views_of_different_lengths():
    with pytest.raises(DataError, match="Xa has 3 rows and Xb has 4"):
        statistics.joint_moments(as_samples(np.eye(3), "Xa"), as_samples(np.eye(4), "Xb"))


# --- classes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [None, 11])
def test_class_moments(data, rows):
    codes = np.resize(CODES, len(data))
    within, between = class_reference(data, codes, C)
    found = statistics.class_moments(as_samples(data), codes, C, rows=rows)
    assert error(found.within, within) < 2e-14
    assert error(found.between, between) < 1e-12
    total = statistics.moments(as_samples(data))
    assert error(found.within + found.between, total.scatter) < 5e-14
    np.testing.assert_allclose(found.mean, total.mean, rtol=1e-12, atol=1e-13)
    for k in range(C):
        mean = data[codes == k].astype(np.longdouble).mean(axis=0).astype(float)
        np.testing.assert_allclose(found.means[k], mean, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(found.counts, np.bincount(codes))


@pytest.mark.parametrize("order", ["random", "sorted", "rotating"])
def test_classes_far_apart(order):
    codes = {"random": CODES, "sorted": np.sort(CODES), "rotating": np.arange(N) % C}[order]
    X = BASE + 1e6 * RNG.standard_normal((C, D))[codes] + 1e8
    within, between = class_reference(X, codes, C)
    found = statistics.class_moments(as_samples(X), codes, C, rows=100)
    assert error(found.within, within) < 1e-13
    assert error(found.between, between) < 1e-13


def test_rare_and_many_classes():
    codes = np.concatenate([np.zeros(2000, dtype=int), np.arange(1, 1000), [999]])
    X = BASE + 1e6
    within, between = class_reference(X, codes, 1000)
    found = statistics.class_moments(as_samples(X), codes, 1000)
    assert error(found.within, within) < 1e-13
    assert error(found.between, between) < 1e-13


def test_sparse_class_moments():
    X = np.where(RNG.random((N, D)) < 0.3, BASE, 0.0)
    found = statistics.class_moments(as_samples(sp.csr_matrix(X)), CODES, C)
    expected = statistics.class_moments(as_samples(X), CODES, C)
    for field in ("within", "between", "means", "mean"):
        np.testing.assert_allclose(getattr(found, field), getattr(expected, field), atol=1e-10)


@pytest.mark.parametrize(
    ("codes", "n_classes", "message"),
    [
        (np.zeros(3, dtype=int), 1, "codes has shape"),
        (CODES, C - 1, "codes run from 0 to 3; 0 to 2"),
        (CODES - 1, C, "codes run from -1"),
        (CODES, C + 1, "class 4 of 5 has no samples"),
    ],
)
def test_refused_codes(codes, n_classes, message):
    with pytest.raises(ArgumentError, match=message):
        statistics.class_moments(as_samples(BASE), codes, n_classes)


# --- time -------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [None, 1, 10, 64])
@pytest.mark.parametrize("lag", [1, 3, 20, 29])
def test_lagged_moments(data, lag, rows):
    X = data[:200]
    Z = centred(extended(X))
    n = len(X)
    G = Z[:-lag].T @ Z[lag:] / (n - lag)
    found = statistics.lagged_moments(as_samples(X), lag, rows=rows)
    # Few terms are left at a long lag, so they are judged by the variance over n - lag.
    assert error(found.lagged, (G + G.T) / 2, Z.T @ Z / (n - lag)) < 1e-13
    assert error(found.scatter, Z.T @ Z) < 1e-13
    np.testing.assert_allclose(found.mean, statistics.mean(as_samples(X)), rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(found.lagged, found.lagged.T)


@pytest.mark.parametrize("lag", [1, 1500, N - 1])
def test_sparse_lagged_moments(lag):
    X = np.where(RNG.random((N, D)) < 0.3, BASE, 0.0)
    found = statistics.lagged_moments(as_samples(sp.csr_array(X)), lag)
    expected = statistics.lagged_moments(as_samples(X), lag)
    np.testing.assert_allclose(found.lagged, expected.lagged, atol=1e-11)
    np.testing.assert_allclose(found.scatter, expected.scatter, atol=1e-10)


@pytest.mark.parametrize("lag", [0, -1, N, N + 5])
def test_refused_lags(lag):
    with pytest.raises(ArgumentError, match=f"lag must be between 1 and n - 1 = {N - 1}"):
        statistics.lagged_moments(as_samples(BASE), lag)


@pytest.mark.parametrize("rows", [None, 1, 10])
def test_difference_scatter(data, rows):
    steps = np.diff(extended(data), axis=0)
    S = statistics.difference_scatter(as_samples(data), rows=rows)
    assert error(S, steps.T @ steps) < 1e-14
    np.testing.assert_array_equal(S, S.T)


def test_difference_scatter_of_sparse_rows():
    X = np.where(RNG.random((N, D)) < 0.3, BASE, 0.0)
    expected = statistics.difference_scatter(as_samples(X))
    found = statistics.difference_scatter(as_samples(sp.csc_array(X)))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-10)


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


def test_graph_scatter(data):
    n = len(data)
    W = neighbour_graph(n)
    samples = as_samples(data)
    mean = statistics.mean(samples)
    laplacian, degree = statistics.graph_scatter(samples, W, mean)
    Z = data.astype(np.longdouble) - mean
    degrees = W.sum(axis=1)
    exact = Z.T @ (degrees[:, None] * Z)
    assert error(degree, exact) < 1e-13
    # sum_ij w_ij (x_i - x_j)(x_i - x_j)' = 2 X'L X
    edges = sp.triu(W, 1).tocoo()
    steps = Z[edges.row] - Z[edges.col]
    assert error(laplacian, steps.T @ (edges.data[:, None] * steps), exact) < 1e-13
    np.testing.assert_array_equal(laplacian, laplacian.T)


def test_graph_scatter_of_sparse_rows():
    X = np.where(RNG.random((N, D)) < 0.3, BASE, 0.0)
    W = neighbour_graph(N)
    mean = X.mean(axis=0)
    found = statistics.graph_scatter(as_samples(sp.csr_matrix(X)), W.tocoo(), mean)
    expected = statistics.graph_scatter(as_samples(X), W, mean)
    np.testing.assert_allclose(found[0], expected[0], atol=1e-9)
    np.testing.assert_allclose(found[1], expected[1], atol=1e-9)


def test_complete_graph_gives_the_scatter():
    """L = n I - 11', so X'LX = n S."""
    X = BASE[:60] + 1e6
    samples = as_samples(X)
    S = statistics.moments(samples).scatter
    W = sp.csr_array(np.ones((60, 60)))
    laplacian, degree = statistics.graph_scatter(samples, W, statistics.mean(samples))
    assert error(laplacian, 60 * S) < 1e-13
    assert error(degree, 60 * S) < 1e-13


@pytest.mark.parametrize(
    ("W", "message"),
    [
        (sp.eye_array(3), r"W has shape \(3, 3\); \(5, 5\)"),
        (sp.csr_array(np.triu(np.ones((5, 5)))), r"not symmetric.*\(W \+ W.T\) / 2"),
        (sp.csr_array(np.full((5, 5), np.nan)), "NaN or infinite"),
    ],
)
def test_refused_graphs(W, message):
    with pytest.raises(DataError, match=message):
        statistics.graph_scatter(as_samples(np.eye(5)), W, np.zeros(5))


# --- row space --------------------------------------------------------------------------------


def check_row_space(X, space, tolerance):
    """Q is orthonormal, T Q' is the centred rows, and lift and lower are Q and Q'."""
    n, d = X.shape
    Z = X - X.mean(axis=0)
    size = np.abs(Z).max()
    Q = space.lift(np.eye(space.k))
    assert Q.shape == (d, space.k)
    assert space.scores.shape == (n, space.k)
    np.testing.assert_allclose(Q.T @ Q, np.eye(space.k), atol=tolerance)
    np.testing.assert_allclose(space.scores @ Q.T, Z, atol=tolerance * size * np.sqrt(d))
    M = np.random.default_rng(1).standard_normal((d, 3))
    np.testing.assert_allclose(space.lower(M), Q.T @ M, atol=tolerance * np.sqrt(d) * 10)
    np.testing.assert_allclose(space.lift(space.lower(Q)), Q, atol=tolerance)


@pytest.mark.parametrize("shape", [(2, 5), (20, 300), (50, 50), (40, 7), (11, 7000)])
@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_dense_row_space(shape, offset):
    X = RNG.standard_normal(shape) + offset
    space = statistics.row_space(as_samples(X))
    assert space.k == min(shape[0] - 1, shape[1])
    check_row_space(X, space, 1e-12)


def test_dense_row_space_of_dependent_rows():
    X = np.repeat(RNG.standard_normal((5, 40)), 3, axis=0)
    space = statistics.row_space(as_samples(X))
    check_row_space(X, space, 1e-12)
    assert np.sum(space.scores.any(axis=0)) == 4  # no direction is made of rounding


@pytest.mark.parametrize("n", [3, 6, 9])
def test_of_rows_that_are_repeated_rounding_is_no_direction(n):
    """Where a single direction varies, npe's value there is a ratio of two sums of squares."""
    rng = np.random.default_rng(n)
    X = np.repeat(rng.standard_normal((2, 12)), [n - 1, 1], axis=0)
    W = np.triu(rng.random((n, n)), 1)
    W = W + W.T
    result = ldr.solve("npe", X, 1, graph=W)
    Y = (X - X.mean(axis=0)) @ (X[-1] - X[0])
    assert result.value == pytest.approx(np.sum((Y - W @ Y) ** 2) / np.sum(Y**2), rel=1e-12)


@pytest.mark.parametrize("shape", [(2, 5), (20, 300), (40, 7)])
def test_sparse_row_space(shape):
    X = np.where(RNG.random(shape) < 0.3, RNG.standard_normal(shape), 0.0)
    X[0, 0] = 1.0
    space = statistics.row_space(as_samples(sp.csr_array(X)))
    assert space.k == min(shape[0] - 1, shape[1])
    check_row_space(X, space, 1e-10)


def test_sparse_row_space_cuts_dependent_rows():
    X = np.repeat(np.where(RNG.random((5, 40)) < 0.5, 1.0, 0.0), 3, axis=0)
    space = statistics.row_space(as_samples(sp.csr_array(X)))
    assert space.k == 4
    check_row_space(X, space, 1e-10)


@pytest.mark.parametrize("decades", [4, 9])
def test_sparse_row_space_keeps_features_of_small_unit(decades):
    """Each feature is right to its own last digits, where Gram eigenvalues lose 8 of 16."""
    rng = np.random.default_rng(0)
    X = np.where(rng.random((12, 40)) < 0.4, rng.standard_normal((12, 40)), 0.0)
    X *= 10.0 ** rng.uniform(-decades, 0, 40) * 10.0 ** rng.uniform(-decades, 0, (12, 1))
    space = statistics.row_space(as_samples(sp.csr_array(X)))
    assert space.k == 11
    Z = X - X.mean(axis=0)
    errors = np.abs(space.scores @ space.lift(np.eye(11)).T - Z).max(axis=0)
    assert np.all(errors <= 1e-13 * np.abs(Z).max(axis=0))


def test_principal_axes_through_the_row_space():
    """Eigenvalues in the row space are those of the scatter."""
    X = RNG.standard_normal((30, 80)) + 10
    space = statistics.row_space(as_samples(X))
    small = np.linalg.eigvalsh(space.scores.T @ space.scores)
    large = np.linalg.eigvalsh(statistics.moments(as_samples(X)).scatter)[-29:]
    np.testing.assert_allclose(small, large, rtol=1e-11)


@pytest.mark.parametrize("centre", ["mean", "degree"])
def test_a_large_mean_costs_degree_scatters_nothing(centre):
    """One number does not hold the mean of columns at 1e8; their deviations are exact."""
    rng = np.random.default_rng(0)
    X = rng.integers(-50, 50, (31, 4)) / 8.0
    W = np.triu(rng.random((31, 31)) < 0.2, 1).astype(float)
    W = W + W.T
    near = ldr.solve("lpp", X, 2, graph=W, centre=centre).value
    far = ldr.solve("lpp", X + np.array([1e8, -1e8, 3e8, 0.0]), 2, graph=W, centre=centre).value
    assert far == pytest.approx(near, rel=1e-12)
    for name in ("orthogonal-lpp", "onpp"):
        values = [ldr.solve(name, Z, 2, graph=W).value for Z in (X, X + 1e8)]
        assert values[1] == pytest.approx(values[0], rel=1e-12)
