"""Rows in chunks of Dask arrays and DataFrames: the same results, whatever the chunks are."""

import operator
import subprocess
import sys
from dataclasses import replace

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ldr
from ldr.errors import DataError
from ldr.objectives import statistics
from ldr.objectives.data import dask_samples, memory
from ldr.objectives.data.accelerator import Accelerator
from ldr.objectives.data.data import as_tuple
from ldr.objectives.data.opening import as_samples
from tests.objectives.data.clusters import in_this_process
from tests.objectives.statistics.references import DATA, STATISTICS, check, error

DATA = {name: X[:120] for name, X in DATA.items() if len(X) > 100}
N = 120


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Chunks are not put together, and those of more than 8 rows (of 5 columns) are cut."""
    monkeypatch.setattr(dask_samples, "BLOCK_NUMBERS", 1)
    monkeypatch.setattr(dask_samples, "piece_rows", lambda columns: max(1, 40 // columns))


def lengths(n):
    """Lengths of chunks of n rows in all."""
    cuts = st.lists(st.integers(0, n), max_size=12).map(sorted)
    return cuts.map(lambda c: tuple(b - a for a, b in zip([0, *c], [*c, n], strict=True)))


def in_chunks(X, rows, columns=None):
    """The rows, by a function of the place: Dask knows no more than a file's reader would."""
    chunks = (rows, columns or (X.shape[1],))
    return da.map_blocks(
        lambda block_info: X[tuple(slice(*at) for at in block_info[None]["array-location"])].copy(),
        chunks=chunks,
        meta=X[:0],
    )


@settings(max_examples=20, deadline=None)
@given(
    rows=lengths(N),
    name=st.sampled_from(list(DATA)),
    statistic=st.sampled_from([name for name in STATISTICS if "last" not in name]),
)
def test_statistics_are_those_of_any_chunks(rows, name, statistic):
    """Time goes on across chunks, also where they are shorter than a lag."""
    check(statistic, lambda X: as_samples(in_chunks(X, rows)), DATA[name], slack=20)


def rows_of(piece, *beside):
    return [
        (tuple(row), *rest) for row, *rest in zip(piece.array, *map(plain, beside), strict=True)
    ]


def plain(beside):
    return beside.array[:, 0].tolist() if hasattr(beside, "array") else beside.tolist()


@settings(max_examples=15, deadline=None)
@given(rows=lengths(N), other=lengths(N))
def test_every_row_comes_once_in_order_with_what_stands_beside_it(rows, other):
    X = np.arange(N * 5.0).reshape(N, 5)
    y, negative, real = np.arange(N) * 3, -np.arange(N), np.arange(N) / 7
    beside = (
        y,
        negative,
        da.from_array(real, chunks=(other,)),
        as_samples(in_chunks(X + 1, other, (3, 2))),
        as_samples(X + 2),
    )
    found = as_samples(in_chunks(X, rows, (2, 3))).reduce(rows_of, operator.add, *beside)
    columns = (y, negative, real, X[:, 0] + 1, X[:, 0] + 2)
    assert found == rows_of(as_samples(X), *columns)


def test_rows_of_a_file_stand_beside(tmp_path):
    X = np.arange(N * 5.0).reshape(N, 5)
    np.save(tmp_path / "X.npy", X)
    beside = as_samples(tmp_path / "X.npy")
    found = as_samples(da.from_array(X, chunks=(50, 5))).reduce(rows_of, operator.add, beside)
    assert found == rows_of(as_samples(X), X[:, 0])


def smallest_and_largest(piece, *_):
    return piece.n, piece.n


def extremes(a, b):
    return min(a[0], b[0]), max(a[1], b[1])


def test_small_chunks_are_joined_and_large_ones_cut(monkeypatch):
    monkeypatch.setattr(dask_samples, "BLOCK_NUMBERS", 5 * 20)
    monkeypatch.setattr(dask_samples, "piece_rows", lambda columns: 30)
    X = np.ones((300, 5))
    samples = as_samples(da.from_array(X, chunks=((1,) * 100 + (0, 200), 5)))
    assert samples.array.array.chunks[0] == (20,) * 5 + (200,)
    assert samples.reduce(smallest_and_largest, extremes) == (20, 30)


def changed(earlier, later):
    """A merge in place, as those of the statistics are."""
    earlier += later
    later[:] = np.nan
    return earlier


def first_row(piece):
    return piece.array[0]


def test_merges_change_nothing_that_a_second_run_would_need():
    X = np.arange(40.0).reshape(8, 5)
    samples = as_samples(da.from_array(X, chunks=(1, 5)).persist())
    for _ in range(2):
        np.testing.assert_array_equal(samples.reduce(first_row, changed), X.sum(axis=0))
    np.testing.assert_array_equal(samples.dense(), X)


def blas_threads(piece):
    import threadpoolctl

    return [
        lib["num_threads"] for lib in threadpoolctl.threadpool_info() if lib["user_api"] == "blas"
    ]


def test_threads_do_not_multiply():
    samples = as_samples(da.ones((50, 5), chunks=(10, 5)))
    assert set(samples.reduce(blas_threads, operator.add)) == {1}


# --- what is read ---------------------------------------------------------------------------------


def frame():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.standard_normal((200, 3)), columns=["a", "b", "c"])
    table["whole"] = rng.integers(-5, 5, 200)
    table["true"] = rng.random(200) < 0.3
    table["nullable"] = pd.array(rng.integers(9, size=200), dtype="Int64")
    return table


def test_frames_of_unknown_lengths_have_their_columns_and_names():
    table = frame()
    lazy = dd.from_pandas(table, npartitions=7, sort=False)
    lazy = lazy[lazy["whole"] > 0]
    table = table[table["whole"] > 0]
    samples = as_samples(lazy)
    assert samples.shape == table.shape
    assert samples.feature_names == tuple(table.columns)
    np.testing.assert_array_equal(samples.dense(), table.to_numpy(dtype=float))
    assert ldr.solve("pca", lazy, r=2).feature_names == tuple(table.columns)


def test_columns_of_a_file_in_partitions_of_its_own(tmp_path):
    """Dask reads neighbouring parts of a file together where few columns are wanted."""
    table = pd.DataFrame(rng.standard_normal((400, 12)), columns=list("abcdefghijkl"))
    table.to_parquet(tmp_path / "X.parquet", row_group_size=50)
    lazy = dd.read_parquet(tmp_path / "X.parquet", split_row_groups=True)
    for columns in (["a"], ["a", "b", "c"], list("abcdefghijk")):
        samples = as_samples(lazy[columns])
        np.testing.assert_array_equal(samples.dense(), table[columns])
        found = ldr.solve("pca", lazy[columns], r=1).value
        assert found == pytest.approx(ldr.solve("pca", table[columns], r=1).value, rel=1e-12)


def test_arrays_of_unknown_lengths():
    X = DATA["centred"]
    lazy = da.from_array(X, chunks=(13, 2))
    lazy = lazy[lazy[:, 0] > 0]
    before = lazy.chunks
    expected = X[X[:, 0] > 0]
    np.testing.assert_array_equal(as_samples(lazy).dense(), expected)
    assert str(lazy.chunks) == str(before)


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.float32, bool])
def test_types(dtype):
    X = np.random.default_rng(0).integers(0, 2, (60, 5)).astype(dtype)
    found = statistics.moments(as_samples(da.from_array(X, chunks=(7, 5))))
    assert error(found.scatter, statistics.moments(as_samples(X)).scatter) < 1e-13


def test_rows_in_parts():
    X = DATA["centred"]
    samples = as_samples(da.from_array(X, chunks=((50, 70), (2, 3))))
    wanted = [7, 3, 119, 3]
    np.testing.assert_array_equal(samples.take(wanted).array, X[wanted])
    np.testing.assert_array_equal(samples.take(X[:, 0] > 0).array, X[X[:, 0] > 0])
    np.testing.assert_array_equal(samples.rows(slice(45, 55)), X[45:55])
    places, blocks = zip(*samples.blocks(8), strict=True)
    assert max(map(len, blocks)) == 8
    np.testing.assert_array_equal(np.vstack(blocks), X)
    assert [i for where in places for i in range(where.start, where.stop)] == list(range(N))
    V, mean = np.random.default_rng(0).standard_normal((5, 2)), X.mean(axis=0)
    np.testing.assert_allclose(samples.centred_times(V, mean), (X - mean) @ V, rtol=0, atol=1e-13)
    np.testing.assert_allclose(samples.centred_times(V[:, 0], mean), (X - mean) @ V[:, 0])
    Y = np.random.default_rng(1).standard_normal((N, 2))
    found = samples.centred_transpose_times(Y, mean)
    np.testing.assert_allclose(found, (X - mean).T @ Y, rtol=0, atol=1e-12)


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_number_that_is_none_is_found_in_its_row(bad):
    X = DATA["centred"].copy()
    X[77, 3] = bad
    with pytest.raises(DataError, match=r"X has 1 NaN or infinite value.* row 77, column 3"):
        ldr.solve("pca", da.from_array(X, chunks=(25, 5)), r=2)
    other = as_samples(da.from_array(X, chunks=(70, 5)), "X[1]")
    with pytest.raises(DataError, match=r"X\[1\] has 1 NaN .* row 77, column 3"):
        statistics.view_moments((as_samples(da.ones((N, 5), chunks=(25, 5))), other))


@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_squares_out_of_range(size):
    X = DATA["centred"] * size
    with pytest.raises(DataError, match="change the unit"):
        ldr.solve("pca", da.from_array(X, chunks=(25, 5)), r=2)


def sparse_chunks():
    from scipy.sparse import csr_matrix

    return da.from_array(np.eye(20), chunks=(5, 20)).map_blocks(csr_matrix)


@pytest.mark.parametrize(
    "X, message",
    [
        (da.ones((4, 5, 6)), r"X must be 2-D .* shape \(4, 5, 6\)"),
        (da.ones(40), "X must be 2-D"),
        (da.ones((40, 5)).astype(str), "X must hold real numbers"),
        (da.ones((1, 5)), "X has 1 row"),
        (da.ones((40, 0)), "X is empty"),
        (dask.delayed(np.ones)((40, 5)), "X is a Delayed; a Dask array or DataFrame"),
        (sparse_chunks(), "X has chunks of type csr_matrix"),
        (dd.from_pandas(pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})), "column 'b' of type"),
        (dd.from_pandas(pd.DataFrame(index=range(9))), "X has no columns"),
        (dd.from_pandas(pd.Series([1, 2])), "X is a Series; a Dask array or DataFrame"),
        ([da.ones((40, 5))], r"X\[0\] is a Dask array in a list: pass"),
    ],
)
def test_what_is_no_matrix_of_numbers_is_refused(X, message):
    with pytest.raises(DataError, match=message):
        ldr.solve("pca", X, r=1)


def test_lengths_must_agree():
    X = da.ones((40, 5), chunks=(10, 5))
    with pytest.raises(DataError, match="y has 39 labels, expected 40"):
        ldr.solve("orthogonal-lda", X, r=1, y=da.ones(39, chunks=7))
    with pytest.raises(DataError, match="the views in X have 40 and 39 rows"):
        ldr.solve("orthogonal-cca", (X, X[:-1]), r=1)
    with pytest.raises(DataError, match="an array passed with X has 39 rows, expected 40"):
        as_samples(X).reduce(rows_of, operator.add, da.ones(39, chunks=7))


def test_chunks_of_other_lengths_than_said():
    X = da.ones((40, 5), chunks=(10, 5)).map_blocks(lambda chunk: chunk[:-1], dtype=float)
    with pytest.raises(
        DataError, match="X has a chunk of 9 rows, where the Dask array declares 10"
    ):
        ldr.solve("pca", X, r=2)


def test_all_rows_come_at_once_only_where_they_fit(monkeypatch):
    X = da.from_array(DATA["centred"], chunks=(25, 5))
    assert "read into memory" in ldr.solve("npe", X, r=2).notes[-1]
    assert ldr.solve("pca", X, r=2).notes == ()
    monkeypatch.setattr(memory, "SMALL", 0)
    monkeypatch.setattr(memory, "available", lambda: (2000.0, "a small machine"))
    with pytest.raises(DataError, match="computes from all rows at once"):
        ldr.solve("npe", X, r=2)
    ldr.solve("pca", X, r=2)


# --- the calls ------------------------------------------------------------------------------------

rng = np.random.default_rng(3)
TIMES = np.arange(300) / 9
X = np.sin(np.outer(TIMES, [1, 2, 3])) @ rng.standard_normal((3, 5))
X = (X + 0.3 * rng.standard_normal(X.shape)) * [1, 2, 3, 1, 2] + 10
LABELS = rng.integers(3, size=300)
X[:, 0] += 2 * LABELS
VIEW = X[:, :3] + rng.standard_normal((300, 3))
NOISE = rng.standard_normal((90, 5)) * [1, 2, 1, 2, 1]
RESPONSE = X @ rng.standard_normal((5, 2)) + rng.standard_normal((300, 2))


def lazy(array):
    return da.from_array(array, chunks=(37, *array.shape[1:]))


@pytest.mark.parametrize(
    "objective, X, y",
    [
        ("pca", X, None),
        ("orthogonal-lda", X, LABELS),
        ("lda", X, np.array(["one", "two", "three"])[LABELS]),
        ("orthogonal-cca", (X, VIEW), None),
        ("pls", (X, VIEW), None),
        ("orthogonal-maf", X, None),
        ("sfa", X, None),
        (ldr.objectives.Autocovariance(lag=40), X, None),
        ("opca", (X, NOISE), None),
        ("ridge-regression", X, RESPONSE),
        ("reduced-rank-regression", (X, RESPONSE), None),
        ("ppca", X, None),
        ("lpp", X, None),
        ("pca", X[:4], None),
    ],
    ids=lambda value: str(value) if isinstance(value, (str, ldr.objectives.Objective)) else "",
)
def test_solutions_are_those_in_memory(objective, X, y):
    expected = ldr.solve(objective, X, r=2, y=y)
    chunks = tuple(map(lazy, X)) if isinstance(X, tuple) else lazy(X)
    found = ldr.solve(objective, chunks, r=2, y=None if y is None else lazy(y))
    assert found.value == pytest.approx(expected.value, rel=1e-10)
    if isinstance(X, tuple) and not isinstance(found.P, tuple):  # with a background
        X, chunks = X[0], chunks[0]
    for lazily, at_once in zip(
        as_tuple(found.transform(chunks)), as_tuple(found.transform(X)), strict=True
    ):
        assert isinstance(lazily, da.Array)
        np.testing.assert_allclose(lazily.compute(), at_once, rtol=0, atol=1e-11)


@pytest.fixture
def few_pieces(monkeypatch):
    """For methods that read the rows again and again."""
    monkeypatch.setattr(dask_samples, "piece_rows", lambda columns: 100)


def in_two(array):
    return da.from_array(array, chunks=(150, 5))


def test_missing_values(few_pieces):
    gaps = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    expected = ldr.solve("ppca", gaps, r=2, starts=1)
    found = ldr.solve("ppca", in_two(gaps), r=2, starts=1)
    assert found.value == pytest.approx(expected.value, rel=1e-10)
    Y = found.transform(in_two(gaps)).compute()
    np.testing.assert_allclose(Y, found.transform(gaps), atol=1e-10)


@ldr.objective(manifold="stiefel", sense="max", sum_over_rows=True)
def fourth_moments(M, X):
    return ((X @ M) ** 4).sum() / 300


@pytest.mark.parametrize("objective", ["uica", fourth_moments], ids=["uica", "own"])
def test_sums_over_rows_are_evaluated_in_chunks(few_pieces, objective):
    """At every step of the solver; nothing is brought together."""
    expected = ldr.solve(objective, X, r=2, starts=1)
    samples = as_samples(in_two(X))
    found = ldr.solve(objective, samples, r=2, starts=1)
    assert found.value == pytest.approx(expected.value, rel=1e-10)
    assert samples.passes > 5 and not samples.tally.whole


def test_sums_on_an_accelerator_of_the_workers():
    expected = ldr.solve("pca", X, r=2).value
    samples = replace(as_samples(lazy(X)), accelerator=Accelerator("cpu"))
    assert samples.reduce(accelerators, set.union) == {"cpu"}
    assert ldr.solve("pca", samples, r=2).value == pytest.approx(expected, rel=1e-12)


def accelerators(piece):
    return {piece.accelerator.platform}


@pytest.mark.smoke
@pytest.mark.parametrize("kind", ["array", "series", "strings", "category", "object"])
def test_labels(kind):
    names = np.array(["b", "a", "c"])[LABELS]
    y = {
        "array": lambda: da.from_array(LABELS, chunks=41),
        "series": lambda: dd.from_pandas(pd.Series(LABELS), npartitions=4),
        "strings": lambda: dd.from_pandas(pd.Series(names), npartitions=4),
        "category": lambda: dd.from_pandas(pd.Series(names, dtype="category"), npartitions=4),
        "object": lambda: da.from_array(names.astype(object), chunks=41),
    }[kind]()
    expected = ldr.solve("orthogonal-lda", X, r=2, y=LABELS).value
    assert ldr.solve("orthogonal-lda", lazy(X), r=2, y=y).value == pytest.approx(
        expected, rel=1e-12
    )


def test_one_view_in_chunks_and_the_other_in_memory():
    expected = ldr.solve("orthogonal-cca", (X, VIEW), r=2).value
    for views in ((lazy(X), VIEW), (X, lazy(VIEW))):
        assert ldr.solve("orthogonal-cca", views, r=2).value == pytest.approx(expected, rel=1e-12)


def test_projections_of_frames_are_frames():
    table = frame().drop(columns="nullable")
    lazily = dd.from_pandas(table, npartitions=5, sort=False)
    lazily = lazily[lazily["a"] > -1.5]
    result = ldr.solve("pca", lazily, r=2)
    Y = result.transform(lazily)
    assert isinstance(Y, dd.DataFrame) and list(Y.columns) == ["pca0", "pca1"]
    expected = result.transform(lazily.compute())
    pd.testing.assert_frame_equal(Y.compute(), expected, check_exact=False, atol=1e-12)
    with pytest.raises(ldr.errors.ArgumentError, match="the columns of X must have"):
        result.transform(lazily[["b", "a", "c", "whole", "true"]])


def test_projecting_computes_nothing_before_it_is_asked():
    computed = []
    seen = in_chunks(X, (100, 100, 100)).map_blocks(lambda c: computed.append(1) or c, meta=X[:0])
    result = ldr.solve("pca", X, r=2)
    Y = result.transform(seen)
    assert not computed and Y.chunks == ((100, 100, 100), (2,))
    np.testing.assert_allclose(Y[:150].compute(), result.transform(X)[:150], atol=1e-12)
    assert len(computed) == 2
    with pytest.raises(ldr.errors.ArgumentError, match="X has 4 columns, expected 5"):
        result.transform(seen[:, :4])


def test_estimators():
    y = np.array(["one", "two", "three"])[LABELS]
    found = ldr.OrthogonalLDA(n_components=2).fit(lazy(X), lazy(y))
    expected = ldr.OrthogonalLDA(n_components=2).fit(X, y)
    assert found.n_features_in_ == 5
    np.testing.assert_allclose(found.components_, expected.components_, atol=1e-9)
    assert isinstance(found.transform(lazy(X)), da.Array)
    assert found.score(lazy(X), lazy(y)) == pytest.approx(expected.score(X, y), rel=1e-10)
    table = dd.from_pandas(frame().drop(columns="nullable"), npartitions=3)
    named = ldr.PCA(n_components=2).fit(table)
    assert list(named.feature_names_in_) == list(table.columns)
    both = ldr.OrthogonalCCA(n_components=2).fit(lazy(X), lazy(VIEW))
    Ya, Yb = both.transform(lazy(X), lazy(VIEW))
    assert Ya.shape == Yb.shape == (300, 2)


def test_a_program_without_dask_does_not_import_it(tmp_path):
    program = (
        "import sys, numpy, ldr; ldr.solve('pca', numpy.eye(5), r=2).transform(numpy.eye(5)); "
        "print([name for name in ('dask', 'distributed') if name in sys.modules])"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.stdout.strip() == "[]"


def test_workers_keep_rows_from_the_third_pass_on():
    from distributed import Client, futures_of

    X = da.from_array(np.arange(120.0).reshape(40, 3), chunks=(10, 3))
    with in_this_process(n_workers=2) as there, Client(there):
        samples = as_samples(X)
        kept = []
        for _ in range(4):
            total = samples.reduce(lambda piece: piece.dense().sum(), operator.add)
            assert total == np.arange(120.0).sum()
            kept.append(len(futures_of(samples.array.array)))
    assert kept == [0, 0, 4, 4]
