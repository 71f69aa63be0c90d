"""Files of every kind give the same matrix, and get the same projection."""

import sys

import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.sparse

import ldr
from ldr.errors import ArgumentError, DataError
from ldr.files import read, write
from tests.real_data import tumour_views, wine

X, labels = wine()
NAMES = [f"measurement {j}" for j in range(13)]
FRAME = pd.DataFrame(X, columns=NAMES).assign(cultivar=[f"type {k}" for k in labels])

WRITERS = {
    ".csv": lambda path: FRAME.to_csv(path, index=False),
    ".tsv": lambda path: FRAME.to_csv(path, sep="\t", index=False),
    ".parquet": lambda path: FRAME.to_parquet(path, row_group_size=50),
    ".npy": lambda path: np.save(path, np.column_stack([X, labels]).copy("C")),
    ".npz": lambda path: np.savez(path, X=X, cultivar=labels),
    ".mat": lambda path: scipy.io.savemat(path, {"X": X, "cultivar": labels}),
}


@pytest.fixture(params=WRITERS)
def table(request, tmp_path):
    path = tmp_path / f"wine{request.param}"
    WRITERS[request.param](path)
    return read(path)


def test_every_kind_of_file_gives_the_same_rows_and_labels(table):
    label = "13" if table.name.endswith(".npy") else "cultivar"
    y = table.response([label])
    np.testing.assert_array_equal(np.unique(y, return_inverse=True)[1], labels)
    features = table.select(without=[] if label in table.beside else [label])
    np.testing.assert_allclose(features.samples().dense(), X, rtol=1e-15)
    some = features.select([features.columns[3], features.columns[1]]).samples()
    np.testing.assert_allclose(some.dense(), X[:, [3, 1]], rtol=1e-15)


def test_a_numpy_file_is_mapped_and_not_loaded(tmp_path):
    np.save(tmp_path / "X.npy", X)
    table = read(tmp_path / "X.npy").select()
    assert not table.samples().array.flags.owndata


def test_sparse_matrices_stay_sparse(tmp_path):
    matrix = scipy.sparse.random_array((30, 8), density=0.3, rng=np.random.default_rng(0))
    scipy.sparse.save_npz(tmp_path / "X.npz", matrix.tocsr())
    scipy.io.savemat(tmp_path / "X.mat", {"counts": matrix.tocsc()})
    for name in ("X.npz", "X.mat"):
        samples = read(tmp_path / name).select(["2", "5"]).samples()
        assert samples.is_sparse
        np.testing.assert_array_equal(samples.array.toarray(), matrix.toarray()[:, [2, 5]])


@pytest.mark.parametrize("of", [np.asarray, scipy.sparse.csc_array])
def test_a_column_of_a_matrix_by_its_number(of, tmp_path):
    scipy.io.savemat(tmp_path / "X.mat", {"X": of(X)})
    np.testing.assert_array_equal(read(tmp_path / "X.mat").column("3"), X[:, 3])


def test_one_of_several_arrays(tmp_path):
    path = tmp_path / "both.npz"
    np.savez(path, left=X[:, :5], right=X[:, 5:])
    np.testing.assert_array_equal(read(f"{path}:right").samples().dense(), X[:, 5:])
    with pytest.raises(ArgumentError, match=r"no array called X.*select one of left, right"):
        read(path)
    with pytest.raises(ArgumentError, match=r"no array 'middle'.*left, right"):
        read(f"{path}:middle")


def test_text_cells_are_named(tmp_path):
    path = tmp_path / "wine.csv"
    frame = FRAME.astype(object)
    frame.iloc[[40, 41], 3] = ["n/k", "?"]
    frame.to_csv(path, index=False)
    with pytest.raises(DataError, match=r"column 'measurement 3': Row #42: 'n/k' is not a number"):
        read(path).select(without=["cultivar"]).samples()
    frame.iloc[[40, 41], 3] = [None, 1.0]
    frame.to_csv(path, index=False)
    with pytest.raises(DataError, match=r"first in row 40, column 3 \('measurement 3'\)"):
        read(path).select(without=["cultivar"]).samples()


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".npy", ".npz", ".mat"])
def test_what_is_in_the_file_is_not_what_it_says(ending, tmp_path):
    path = tmp_path / f"X{ending}"
    path.write_bytes(b"\x00\x01 no data at all")
    with pytest.raises((DataError, ArgumentError), match=r"X"):
        read(path).samples()


def test_arrays_that_are_no_matrices(tmp_path, monkeypatch):
    path = tmp_path / "X.npy"
    np.save(path, X[:, 0])
    np.testing.assert_array_equal(read(path).samples().dense(), X[:, :1])
    np.save(path, np.zeros((2, 3, 4)))
    with pytest.raises(DataError, match=r"X.npy has an array of shape \(2, 3, 4\), expected a mat"):
        read(path)
    cells = np.array([f"type {k}" for k in labels], dtype=object)
    scipy.io.savemat(tmp_path / "X.mat", {"X": X, "cultivar": cells})
    np.testing.assert_array_equal(read(tmp_path / "X.mat").response(["cultivar"]), cells)
    (tmp_path / "X.mat").write_bytes(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")
    with pytest.raises(DataError, match=r"of version 7\.3, which is HDF5: save it with -v7"):
        read(tmp_path / "X.mat")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ArgumentError, match="pyarrow"):
        write(tmp_path / "Y.parquet", ldr.solve("pca", X, 2), X[:, :2])


def test_unknown_endings_and_missing_files(tmp_path):
    with pytest.raises(ArgumentError, match=r"unknown ending '\.xls', expected one of \.csv"):
        read(tmp_path / "X.xls")
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "X.csv")


@pytest.mark.smoke
@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet", ".npy", ".npz", ".mat"])
def test_projections_are_written_and_read_back(ending, tmp_path):
    result = ldr.solve("orthogonal-lda", X, 2, y=labels)
    Y = result.transform(X)
    path = tmp_path / f"Y{ending}"
    write(path, result, Y)
    back = read(f"{path}:Y" if ending in (".npz", ".mat") else path)
    np.testing.assert_allclose(back.samples().dense(), Y, rtol=1e-14)
    if ending in (".csv", ".tsv", ".parquet"):
        assert back.columns == ["orthogonal-lda0", "orthogonal-lda1"]
    if ending in (".npz", ".mat"):  # the map is there too: new rows can be projected
        P, mean = back.beside["P"], np.ravel(back.beside["mean"])
        np.testing.assert_allclose((X - mean) @ P.T, Y, rtol=1e-12, atol=1e-14)


def test_two_views_are_written_side_by_side(tmp_path):
    views = tumour_views()
    result = ldr.solve("orthogonal-cca", views, 2)
    Ya, Yb = result.transform(views)
    write(tmp_path / "Y.csv", result, (Ya, Yb))
    table = read(tmp_path / "Y.csv")
    assert table.columns == [f"orthogonal-cca_{k}" for k in ("a0", "a1", "b0", "b1")]
    np.testing.assert_allclose(table.samples().dense(), np.hstack([Ya, Yb]), rtol=1e-14)
    write(tmp_path / "Y.npz", result, (Ya, Yb))
    assert set(np.load(tmp_path / "Y.npz")) == {
        f"{name}_{view}" for name in ("Y", "M", "P", "mean") for view in "ab"
    }
    with pytest.raises(ArgumentError, match=r"two views"):
        write(tmp_path / "Y.npy", result, (Ya, Yb))
