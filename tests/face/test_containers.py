"""Whatever the data come in, the answer is the same; where n < d nothing d x d is made."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.neighbors import kneighbors_graph

import ldr
from tests import real_data

X, y = real_data.digits()
X, y = X[::4], y[::4]

# Pixels are whole numbers: distances tie, and the neighbour graph is not unique. Use a given one.
NEIGHBOURS = kneighbors_graph(X, 8)

JOBS = {
    "pca": {},
    "lda": {"y": y},
    "maf": {},
    "sfa": {},
    "lpp": {"graph": NEIGHBOURS + NEIGHBOURS.T},
    "ppca": {},
}


def memory_map(folder):
    path = folder / "X.npy"
    np.save(path, X)
    return np.load(path, mmap_mode="r")


CONTAINERS = {
    "list": lambda folder: X.tolist(),
    "float32": lambda folder: X.astype(np.float32),
    "integers": lambda folder: X.astype(np.int16),
    "Fortran order": lambda folder: np.asfortranarray(X),
    "strided": lambda folder: np.repeat(X, 2, axis=0)[::2],
    "memory map": memory_map,
    "csr": lambda folder: scipy.sparse.csr_matrix(X),
    "csc": lambda folder: scipy.sparse.csc_array(X),
    "DataFrame": lambda folder: pd.DataFrame(X, columns=[f"pixel{j}" for j in range(64)]),
}


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("name", JOBS)
def test_every_container_gives_the_same_answer(name, container, tmp_path):
    data = CONTAINERS[container](tmp_path)
    result, reference = (ldr.solve(name, each, 3, **JOBS[name]) for each in (data, X))
    assert result.value == pytest.approx(reference.value, rel=1e-10)
    assert result.baseline == pytest.approx(reference.baseline, rel=1e-8)
    projected = result.transform(data)
    assert projected.shape == (len(X), 3)
    np.testing.assert_allclose(projected, result.transform(X), rtol=1e-8, atol=1e-8)
    if container == "DataFrame":
        assert result.feature_names[:2] == ("pixel0", "pixel1")


@pytest.mark.parametrize("container", ["csr", "DataFrame", "memory map"])
def test_two_views(container, tmp_path):
    full = CONTAINERS[container](tmp_path)
    views = (
        (full.iloc[:, 10:30], full.iloc[:, 34:54])
        if container == "DataFrame"
        else (full[:, 10:30], full[:, 34:54])
    )
    result = ldr.solve("cca", views, 2, max_iterations=40)
    reference = ldr.solve("cca", (X[:, 10:30], X[:, 34:54]), 2, max_iterations=40)
    assert result.value == pytest.approx(reference.value, rel=1e-8)
    ours, theirs = result.transform(views), reference.transform((X[:, 10:30], X[:, 34:54]))
    assert [Y.shape for Y in ours] == [Y.shape for Y in theirs] == [(len(X), 2)] * 2


N, D = 30, 4000  # D x D would be 128 MB


def wide(kind):
    rng = np.random.default_rng(0)
    dense = rng.standard_normal((N, D)) * (rng.random((N, D)) < 0.2)
    return scipy.sparse.csr_array(dense) if kind == "sparse" else dense


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("pca", {}),
        ("lda", {"y": np.arange(N) % 3, "ridge": 0.1}),
        ("maf", {}),
        ("sfa", {}),
        ("sfa", {"whiten": True}),
        ("lpp", {"ridge": 0.1}),
        ("ppca", {}),
        ("cca", {"ridge": 0.1, "max_iterations": 5}),
    ],
)
@pytest.mark.filterwarnings("ignore::ldr.errors.ConvergenceWarning")
def test_fewer_rows_than_columns_never_makes_a_square_of_columns(name, parameters, kind):
    data = wide(kind)
    if name == "cca":
        data = (data, data[:, ::2])
    ldr.solve("pca", np.eye(5), 1)  # imports
    tracemalloc.start()
    result = ldr.solve(name, data, 2, **parameters)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.2 * D * D * 8
    M = result.M[0] if name == "cca" else result.M
    assert M.shape == (D, 2)
    if name != "ppca":
        assert np.linalg.norm(M.T @ M - np.eye(2), 2) < 1e-14


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_wide_pca_is_the_singular_value_decomposition(kind):
    data = wide(kind)
    dense = data.toarray() if kind == "sparse" else data
    centred = dense - dense.mean(axis=0)
    _, s, Vt = np.linalg.svd(centred, full_matrices=False)
    result = ldr.solve("pca", data, 5)
    assert result.value == pytest.approx(np.sum(s[5:] ** 2), rel=1e-10)
    cosines = np.linalg.svd(Vt[:5] @ result.M, compute_uv=False)
    np.testing.assert_allclose(cosines, 1, atol=1e-10)
    np.testing.assert_allclose(result.mean, dense.mean(axis=0), atol=1e-14)


def test_large_sparse_pca_works_by_products_only():
    rng = np.random.default_rng(1)
    data = scipy.sparse.random_array((3000, 2500), density=0.002, rng=rng, format="csr")
    tracemalloc.start()
    result = ldr.solve("pca", data, 3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.2 * 2500 * 2500 * 8
    dense = data.toarray()
    s = np.linalg.svd(dense - dense.mean(axis=0), compute_uv=False)
    assert result.value == pytest.approx(np.sum(s[3:] ** 2), rel=1e-10)
    again = ldr.solve("pca", data, 3, solver="trust-region", start="random", random_state=0)
    assert again.value == pytest.approx(result.value, rel=1e-10)


def test_a_large_mean_costs_no_digits():
    rng = np.random.default_rng(2)
    Z = rng.standard_normal((500, 6)) * np.arange(1, 7)
    shifted = Z + 2.0**20  # the same numbers but for their last 20 bits
    exact = shifted - 2.0**20
    for name, parameters in {"pca": {}, "maf": {}, "lda": {"y": np.arange(500) % 4}}.items():
        value, reference = (
            ldr.solve(name, data, 2, **parameters).value for data in (shifted, exact)
        )
        assert value == pytest.approx(reference, rel=1e-11)
