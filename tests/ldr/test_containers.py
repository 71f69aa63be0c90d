"""Whatever the data come in, the answer is the same; where n < d nothing d x d is made."""

import tracemalloc

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow
import pytest
import scipy.sparse
from sklearn.neighbors import kneighbors_graph

import ldr
from ldr.errors import ArgumentError, DataError
from ldr.objectives import REGISTRY
from ldr.objectives.data import data as samples_module
from tests import real_data

X, y = real_data.digits()
X, y = X[::4], y[::4]

# Pixels are whole numbers: distances tie, and the neighbour graph is not unique. Use a given one.
NEIGHBOURS = kneighbors_graph(X, 8)

PIXELS = [f"pixel{j}" for j in range(64)]

SUPERVISED = {"y": y}
WEIGHTED = {"sample_weight": np.random.default_rng(4).gamma(1.0, 2.0, len(X))}
JOBS = {
    "pca": {},
    "pca, weighted": WEIGHTED,
    "pca, standardised": {"standardise": True},
    "orthogonal-lda": SUPERVISED,
    "orthogonal-lda, weighted": SUPERVISED | WEIGHTED,
    "orthogonal-lda, shrunk": SUPERVISED | {"shrinkage": "auto"},
    "lda, shrunk": SUPERVISED | {"shrinkage": "auto"},
    "orthogonal-maf": {},
    "orthogonal-maf, weighted": WEIGHTED,
    "sfa": {},
    "orthogonal-sfa, weighted": WEIGHTED | {"ridge": 0.1},
    "least-squares, weighted": {"y": X[:, :3] + y[:, None]} | WEIGHTED,
    "lpp": {"graph": NEIGHBOURS + NEIGHBOURS.T},
    "ppca": {},
    "ppca, weighted": WEIGHTED,
}


def saved(folder):
    np.save(folder / "X.npy", X)
    return folder / "X.npy"


CONTAINERS = {
    "file": saved,
    "stream": lambda folder: lambda: iter(np.array_split(X, 4)),
    "parts": lambda folder: [X[:113], X[113:]],
    "dask": lambda folder: da.from_array(X, chunks=(117, 64)),
    "list": lambda folder: X.tolist(),
    "float32": lambda folder: X.astype(np.float32),
    "integers": lambda folder: X.astype(np.int16),
    "Fortran order": lambda folder: np.asfortranarray(X),
    "strided": lambda folder: np.repeat(X, 2, axis=0)[::2],
    "memory map": lambda folder: np.load(saved(folder), mmap_mode="r"),
    "csr": lambda folder: scipy.sparse.csr_matrix(X),
    "csc": lambda folder: scipy.sparse.csc_array(X),
    "DataFrame": lambda folder: pd.DataFrame(X, columns=PIXELS),
    "polars": lambda folder: pl.DataFrame(X, schema=PIXELS),
}


# One job of each kind of statistics, and one container of each kind of samples.
JOBS_OF_ALL = ("pca", "orthogonal-lda, weighted")
CONTAINERS_OF_ALL = ("file", "dask", "csr")


@pytest.mark.parametrize(
    ("job", "container"),
    [
        pytest.param(
            job,
            container,
            marks=() if job in JOBS_OF_ALL or container in CONTAINERS_OF_ALL else pytest.mark.slow,
        )
        for job in JOBS
        for container in CONTAINERS
    ],
)
def test_every_container_gives_the_same_answer(job, container, tmp_path, monkeypatch):
    monkeypatch.setattr(samples_module, "BLOCK_NUMBERS", 64 * 100)
    name, data = job.partition(",")[0], CONTAINERS[container](tmp_path)
    if container == "parts" and "time order" in REGISTRY[name].needs:
        pytest.skip("its parts are trials")
    result, reference = (ldr.solve(name, each, 3, **JOBS[job]) for each in (data, X))
    assert result.value == pytest.approx(reference.value, rel=1e-10)
    assert result.baseline == pytest.approx(reference.baseline, rel=1e-8)
    projected = result.transform(data)
    assert projected.shape == (len(X), 3)
    np.testing.assert_allclose(np.asarray(projected), result.transform(X), rtol=1e-8, atol=1e-8)
    for key, value in reference.parameters.items():
        np.testing.assert_allclose(result.parameters[key], value, rtol=1e-6, err_msg=key)
    if container in ("DataFrame", "polars"):
        assert result.feature_names[:2] == ("pixel0", "pixel1")
        assert type(projected) is type(data)
        assert list(projected.columns) == [f"{name}{k}" for k in range(3)]


@pytest.mark.smoke
def test_data_frames_keep_their_index_and_views_their_kind():
    frame = pd.DataFrame(X, index=[f"image {i}" for i in range(len(X))])
    assert list(ldr.solve("pca", frame, 2).transform(frame[:3]).index) == [
        "image 0",
        "image 1",
        "image 2",
    ]
    views = frame.iloc[:, 10:30], pl.DataFrame(X[:, 34:54])
    a, b = ldr.solve("orthogonal-cca", views, 2, max_iterations=40).transform(views)
    assert isinstance(a, pd.DataFrame) and list(a.columns) == [
        "orthogonal-cca_a0",
        "orthogonal-cca_a1",
    ]
    assert isinstance(b, pl.DataFrame) and b.columns == ["orthogonal-cca_b0", "orthogonal-cca_b1"]


def test_tables_of_pyarrow_have_names():
    table = pyarrow.table(dict(zip("abc", X[:, 10:13].T, strict=True)))
    found = ldr.solve("pca", table, 2)
    assert found.feature_names == ("a", "b", "c")
    batches = ldr.solve("pca", lambda: iter(table.to_batches(100)), 2)
    assert batches.feature_names == found.feature_names
    with pytest.raises(ldr.errors.ArgumentError, match="must have the names and the order of the"):
        found.transform(table.select(["c", "b", "a"]))


def test_data_arrays_of_xarray_keep_their_names_and_coordinates():
    xarray = pytest.importorskip("xarray")
    rng = np.random.default_rng(0)
    values = rng.standard_normal((20, 3))
    days = np.arange("2024-01-01", "2024-01-21", dtype="M8[D]")
    given = xarray.DataArray(
        values,
        dims=("day", "station"),
        coords={"day": days, "week": ("day", np.arange(20) // 7), "station": ["Oslo", "Rome", "x"]},
    )
    found = ldr.solve("pca", given, 2)
    assert found.feature_names == ("Oslo", "Rome", "x")
    assert found.value == ldr.solve("pca", values, 2).value
    scores = found.transform(given)
    assert scores.dims == ("day", "component") and set(scores.coords) == {
        "day",
        "week",
        "component",
    }
    assert scores.component.values.tolist() == ["pca0", "pca1"]
    np.testing.assert_array_equal(scores.day.values, given.day.values)
    np.testing.assert_array_equal(scores.values, found.transform(values))
    with pytest.raises(
        ldr.errors.ArgumentError,
        match="must have the names and the order of the fit: column 0 is x, expected Oslo",
    ):
        found.transform(given[:, ::-1])
    bare = xarray.DataArray(values, dims=("a", "b"))
    assert ldr.solve("pca", bare, 2).feature_names is None
    assert ldr.PCA(2).fit(given).transform(given).shape == (20, 2)


def test_chunks_of_dask_without_rows_stay_so():
    result, few = ldr.solve("pca", X, 2), np.arange(len(X)) < 9
    rows = da.from_array(X, chunks=(100, -1))[da.from_array(few, chunks=100)]
    frame = dd.from_pandas(pd.DataFrame(X), npartitions=3)
    for some in (rows, frame.map_partitions(lambda part: part[part.index < 9])):
        np.testing.assert_allclose(result.transform(some).compute(), result.transform(X[few]))


def test_polars_labels_types_and_missing_values():
    names = pl.Series([f"digit {k}" for k in y])
    frame = pl.DataFrame(X, schema=PIXELS)
    reference = ldr.solve("orthogonal-lda", X, 2, y=y).value
    for labels in (names, names.cast(pl.Categorical), names.cast(pl.Enum(sorted(set(names))))):
        assert ldr.solve("orthogonal-lda", frame, 2, y=labels).value == pytest.approx(
            reference, rel=1e-10
        )
    mixed = frame.with_columns(pl.col("pixel1").cast(pl.Int8), pl.col("pixel2").cast(pl.Float32))
    assert ldr.solve("orthogonal-lda", mixed, 2, y=names).value == pytest.approx(
        reference, rel=1e-10
    )
    missing = frame.with_columns(
        pl.when(pl.col("pixel3") > 15).then(None).otherwise(pl.col("pixel3")).alias("pixel3")
    )
    with pytest.raises(ldr.errors.DataError, match=r"column 3 \('pixel3'\)"):
        ldr.solve("pca", missing, 2)
    with pytest.raises(ldr.errors.DataError, match="column 'who' of type String"):
        ldr.solve("pca", frame.with_columns(names.alias("who")), 2)
    with pytest.raises(ldr.errors.DataError, match="LazyFrame"):
        ldr.solve("pca", frame.lazy(), 2)


N, D = 30, 4000  # D x D would be 128 MB


def wide(kind):
    rng = np.random.default_rng(0)
    dense = rng.standard_normal((N, D)) * (rng.random((N, D)) < 0.2)
    dense[0] = rng.standard_normal(D)  # so that no column is constant
    return scipy.sparse.csr_array(dense) if kind == "sparse" else dense


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("pca", {}),
        ("orthogonal-lda", {"y": np.arange(N) % 3, "ridge": 0.1}),
        ("orthogonal-maf", {}),
        ("sfa", {}),
        ("sfa", {"whiten": True}),
        ("lpp", {"ridge": 0.1}),
        ("ppca", {}),
        ("fa", {}),
        ("orthogonal-cca", {"ridge": 0.1, "max_iterations": 5}),
    ],
)
@pytest.mark.filterwarnings("ignore::ldr.errors.ConvergenceWarning")
def test_fewer_rows_than_columns_never_makes_a_square_of_columns(name, parameters, kind):
    data = wide(kind)
    if name == "orthogonal-cca":
        data = (data, data[:, ::2])
    ldr.solve("pca", np.eye(5), 1)  # imports
    tracemalloc.start()
    result = ldr.solve(name, data, 2, **parameters)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.2 * D * D * 8
    M = result.M[0] if name == "orthogonal-cca" else result.M
    assert M.shape == (D, 2)
    if name not in ("ppca", "fa"):
        assert np.linalg.norm(M.T @ M - np.eye(2), 2) < 1e-14


def test_large_sparse_pca_works_by_products_only(monkeypatch):
    monkeypatch.setattr("ldr.objectives.statistics.covariance.DENSE", 700)
    rng = np.random.default_rng(1)
    data = scipy.sparse.random_array((900, 800), density=0.005, rng=rng, format="csr")
    tracemalloc.start()
    result = ldr.solve("pca", data, 3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.5 * 800 * 800 * 8
    dense = data.toarray()
    s = np.linalg.svd(dense - dense.mean(axis=0), compute_uv=False)
    assert result.value == pytest.approx(np.sum(s[3:] ** 2), rel=1e-10)
    again = ldr.solve("pca", data, 3, solver="trust-region", start="random", random_state=0)
    assert again.value == pytest.approx(result.value, rel=1e-10)


WINE = real_data.wine()[0]
OF_COVARIANCES = {
    "pca": None,
    "ppca": None,
    "fa": None,
    "cca": (5, 8),
    "pls": (5, 8),
    "mcca": (4, 4, 5),
    "reduced-rank-regression": (5, 8),
    "ridge-regression": (11, 2),
    "pls-regression": (11, 2),
}


@pytest.mark.parametrize("standardise", [False, True])
@pytest.mark.parametrize("rows", [WINE, WINE[:9]], ids=["tall", "wide"])
@pytest.mark.parametrize("method", OF_COVARIANCES)
def test_a_covariance_says_as_much_as_its_samples(method, rows, standardise):
    views, how = OF_COVARIANCES[method], {"standardise": standardise}
    if len(rows) < 13 and method in ("cca", "mcca"):
        how["ridge"] = 0.1
    S, mean = np.cov(rows.T, bias=True), rows.mean(axis=0)
    names = [f"c{k}" for k in range(13)]
    given = ldr.covariance(pd.DataFrame(S, names, names), len(rows), mean=mean, views=views)
    of_sums = ldr.solve(method, given, 2, **how)
    parts = (rows,) if views is None else tuple(np.split(rows, np.cumsum(views)[:-1], axis=1))
    response = method.endswith("regression") and not method.startswith("reduced")
    X = parts[0] if views is None or response else parts
    of_rows = ldr.solve(method, X, 2, y=parts[1] if response else None, **how)
    assert of_sums.value == pytest.approx(of_rows.value, rel=1e-9)
    first = of_sums.feature_names if len(parts) == 1 or response else of_sums.feature_names[0]
    assert first == tuple(names[: len(first)])
    for one, other in zip(
        *(np.atleast_3d(np.asarray(each.transform(X))) for each in (of_sums, of_rows)), strict=True
    ):
        np.testing.assert_allclose(np.abs(one), np.abs(other), rtol=1e-5, atol=1e-6)
    if response:
        np.testing.assert_allclose(of_sums.predict(X), of_rows.predict(X), rtol=1e-6)
    if of_rows.model is not None:
        assert of_sums.model.n == pytest.approx(len(rows), rel=1e-12)


def test_a_covariance_is_refused_where_samples_are_needed():
    S = np.cov(WINE.T, bias=True)
    given = ldr.covariance(S, 178)
    cases = [
        (lambda: ldr.solve("ica", given, 2), "cannot be solved from a covariance.* are for pca"),
        (lambda: ldr.solve("cca", given, 2), r"takes 2 group\(s\) of columns, got 1"),
        (lambda: ldr.solve("pca", given, 2, y=WINE[:, 0]), "has no rows for y="),
        (lambda: ldr.path("pca", given, [1, 2], folds=3), "expected the samples"),
        (lambda: ldr.PCA(2).fit(given), "expected the samples"),
        (lambda: ldr.covariance(WINE, 5), r"shape \(178, 13\), expected a symmetric matrix"),
        (lambda: ldr.covariance([[1.0, 2.0], [2.0, 1.0]], 5), "eigenvalue -1, .*none below 0"),
        (lambda: ldr.covariance(S, 0), "n must be a finite number > 0"),
        (lambda: ldr.covariance(S, 178, views=(5, 9)), "views have 14 columns, expected d = 13"),
    ]
    for call, message in cases:
        with pytest.raises((ArgumentError, DataError), match=message):
            call()
    paths = ldr.path("fa", given, [1, 2]).results
    assert [result.model.n for result in paths] == pytest.approx([178.0, 178.0], rel=1e-12)


def test_projections_of_jax_arrays_are_jax_arrays():
    jnp = pytest.importorskip("jax.numpy")
    rows = jnp.asarray(X)
    result, model = ldr.solve("pca", rows, 2), ldr.PCA(2)
    for found in (result.transform(rows), model.fit_transform(rows), model.transform(rows)):
        assert isinstance(found, jnp.ndarray) and found.device == rows.device
        np.testing.assert_allclose(found, result.transform(np.asarray(rows)), rtol=1e-4, atol=1e-4)
