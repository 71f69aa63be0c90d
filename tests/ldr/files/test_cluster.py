"""The option --cluster, and files that workers read."""

import json
import sys

import dask
import dask.dataframe as dd
import distributed  # noqa: F401, whose settings a test changes for a while
import numpy as np
import pandas as pd
import pytest

import ldr
from ldr import files
from ldr.cli import cluster
from ldr.errors import ArgumentError, DataError, DataWarning
from ldr.objectives import PCA
from ldr.objectives.data.dask_samples import DaskSamples
from ldr.objectives.data.data import Data
from ldr.objectives.data.opening import as_samples
from ldr.scaling import Units
from tests.ldr.conftest import run
from tests.objectives.data import clusters

X = np.random.default_rng(0).standard_normal((500, 4)) * [1, 2, 3, 4] + 5
KINDS = np.array(["a", "b", "c"])[np.arange(500) % 3]
TABLE = pd.DataFrame(X, columns=["w", "x", "y", "z"]).assign(kind=KINDS)
WRITERS = {
    ".npy": lambda path: np.save(path, X),
    ".csv": lambda path: TABLE.to_csv(path, index=False),
    ".tsv": lambda path: TABLE.to_csv(path, index=False, sep="\t"),
    ".parquet": lambda path: TABLE.to_parquet(path, row_group_size=100),
}


@pytest.mark.parametrize("ending", WRITERS)
def test_files_in_chunks(tmp_path, monkeypatch, ending):
    monkeypatch.setattr(cluster, "piece_rows", lambda columns: 70)
    path = tmp_path / f"X{ending}"
    WRITERS[ending](path)
    table = cluster.read_in_chunks(path)
    if ending != ".npy":
        np.testing.assert_array_equal(table.column("kind"), KINDS)
        table = table.select(without=["kind"])
    else:
        assert table.X.chunks[0] == (70,) * 7 + (10,)
        np.testing.assert_array_equal(table.column("2"), X[:, 2])
    assert table.name == path.name
    np.testing.assert_allclose(table.samples().dense(), X, rtol=1e-15)
    assert ldr.solve("pca", table.X, r=1).value == pytest.approx(ldr.solve("pca", X, r=1).value)


def test_tables_without_names_or_with_numbers_of_rows(tmp_path):
    path = tmp_path / "X.csv"
    TABLE.to_csv(path)
    with pytest.warns(DataWarning, match="first column has no name"):
        table = cluster.read_in_chunks(path)
    assert table.columns == list(TABLE.columns)
    np.savetxt(path, X, delimiter=",")
    table = cluster.read_in_chunks(path, header=False)
    assert table.columns == ["0", "1", "2", "3"]
    np.testing.assert_allclose(table.samples().dense(), X, rtol=1e-15)


@pytest.mark.parametrize("labels", [["007", "7", "08"], ["1", "2", "3"], ["a", "b", "NA"]])
def test_labels_are_those_of_the_file_read_here(tmp_path, labels):
    path = tmp_path / "X.csv"
    TABLE.assign(kind=np.array(labels)[np.arange(500) % 3]).to_csv(path, index=False)
    there = cluster.read_in_chunks(path).column("kind")
    np.testing.assert_array_equal(there, files.read(path).column("kind"))
    assert len(set(there)) == 3


def test_a_folder_in_chunks(tmp_path):
    for k in range(3):
        TABLE[k::3].to_parquet(tmp_path / f"part{k}.parquet")
    found = cluster.read_in_chunks(tmp_path).select(without=["kind"]).samples()
    np.testing.assert_array_equal(found.dense(), np.vstack([X[k::3] for k in range(3)]))


def test_units_of_standard_deviations():
    table = dd.from_pandas(TABLE.drop(columns="kind"), npartitions=4)
    data = Data((as_samples(table),))
    found = Units.of(PCA(), data).divided(data).samples
    assert isinstance(found, DaskSamples) and found.feature_names == tuple("wxyz")
    np.testing.assert_allclose(found.dense(), X / X.std(axis=0), rtol=1e-14)


def test_files_that_cannot_be_read_in_chunks(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such file"):
        cluster.read_in_chunks(tmp_path / "X.npy")
    np.savez(tmp_path / "X.npz", X=X)
    with pytest.raises(ArgumentError, match=r"--cluster takes \.csv, \.tsv, \.parquet and \.npy"):
        cluster.read_in_chunks(tmp_path / "X.npz")
    (tmp_path / "X.parquet").write_text("no parquet")
    with pytest.raises(DataError, match=r"X\.parquet cannot be read as \.parquet"):
        cluster.read_in_chunks(tmp_path / "X.parquet")
    np.save(tmp_path / "X.npy", X[0])
    with pytest.raises(DataError, match=r"^X\.npy: X\.npy holds an array of shape \(4,\)"):
        cluster.read_in_chunks(tmp_path / "X.npy")
    (tmp_path / "X.csv").write_text("")
    with pytest.raises(DataError, match=r"X\.csv"):
        cluster.read_in_chunks(tmp_path / "X.csv")


def test_a_cluster_needs_dask(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ArgumentError, match="--cluster needs distributed, which is not installed"):
        cluster.connected("tcp://127.0.0.1:9").__enter__()


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nowhere", "tcp://no.such.host.:8786"])
def test_a_scheduler_that_is_not_there_is_one_line(call, tmp_path, address):
    np.save(tmp_path / "X.npy", X)
    with dask.config.set({"distributed.comm.timeouts.connect": 0.3}):
        done = call("solve", "pca", "X.npy", "--cluster", address, folder=tmp_path)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith(f"ldr: --cluster {address}: no scheduler answers there (")
    assert done.stderr.count("\n") == 1
    assert dask.config.get("scheduler", None) is None  # of all that this process does from now on


@pytest.mark.parametrize("workers", [1, 0])
def test_a_cluster_in_this_process(workers, call, tmp_path):
    WRITERS[".npy"](tmp_path / "X.npy")
    with clusters.in_this_process(workers) as there:
        address = there.scheduler_address
        done = call("solve", "pca", "X.npy", "--json", "--cluster", address, folder=tmp_path)
    if workers:
        assert json.loads(done.stdout)["value"] == pytest.approx(ldr.solve("pca", X, 2).value)
    else:
        assert done.returncode == 2
        assert done.stderr == (
            f"ldr: --cluster {address}: the scheduler has no workers; start workers with "
            f"`dask worker {address}`\n"
        )


@pytest.mark.slow
def test_the_command_on_a_cluster(tmp_path):
    for ending, write in WRITERS.items():
        write(tmp_path / f"X{ending}")
    with clusters.cluster(tmp_path) as (client, _):
        option = ("--cluster", client.scheduler.address)
        for ending in (".csv", ".tsv", ".parquet"):
            command = (
                "solve",
                "orthogonal-lda",
                f"X{ending}",
                "--label",
                "kind",
                "--json",
                "--standardise",
            )
            done = run(*command, *option, "--out", "Y.csv", "--plot", "Y.png", folder=tmp_path)
            assert done.stderr == "" and done.returncode == 0
            expected = ldr.solve("orthogonal-lda", X / X.std(axis=0), r=2, y=KINDS)
            assert json.loads(done.stdout)["value"] == pytest.approx(expected.value, rel=1e-10)
            Y = pd.read_csv(tmp_path / "Y.csv").to_numpy()
            there = expected.transform(X / X.std(axis=0))
            np.testing.assert_allclose(np.abs(Y), np.abs(there), atol=1e-6)
        done = run("path", "pca", "X.npy", "-r", "1-3", "--json", *option, folder=tmp_path)
        values = [found["value"] for found in json.loads(done.stdout)["results"]]
        expected = [ldr.solve("pca", X, r=r).value for r in (1, 2, 3)]
        assert values == pytest.approx(expected, rel=1e-10)
        views = ("solve", "orthogonal-cca", "X.npy", "--second-view", "X.npy", "-r", "1", "--json")
        done = run(*views, *option, folder=tmp_path)
        assert json.loads(done.stdout)["value"] == pytest.approx(1)
        done = run("solve", "pca", "X.csv", *option, folder=tmp_path)
        assert done.returncode == 2
        assert done.stderr.startswith("ldr: X.csv has a column 'kind' of type")
        assert done.stderr.count("\n") == 1
