"""Files that are not loaded: the command line, its projections, and what memory they take."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ldr
from ldr import files
from ldr.errors import ArgumentError
from ldr.files import read, write_projection
from ldr.objectives import PCA
from ldr.objectives.data import data as samples_module
from ldr.objectives.data.data import Data
from ldr.objectives.data.opening import as_samples
from ldr.objectives.data.sources import Source
from ldr.scaling import Units
from tests.ldr.files.test_files import WRITERS, X, labels
from tests.real_data import tumour_views


@pytest.fixture
def large(monkeypatch):
    """Every file is a large one, and pieces are small."""
    monkeypatch.setattr(files, "LARGE", 0)
    monkeypatch.setattr(samples_module, "BLOCK_NUMBERS", 500)


WRITERS = {ending: WRITERS[ending] for ending in (".csv", ".tsv", ".parquet", ".npy")}


@pytest.fixture(params=WRITERS)
def path(request, tmp_path):
    path = tmp_path / f"wine{request.param}"
    WRITERS[request.param](path)
    return path


def test_large_files_are_tables_whose_rows_stay_there(path, large):
    table = read(path)
    assert isinstance(table.X, Source)
    label = "13" if path.suffix == ".npy" else "cultivar"
    y = table.column(label)
    np.testing.assert_array_equal(np.unique(y, return_inverse=True)[1], labels)
    rest = table.select(without=[label])
    samples = rest.samples()
    assert samples.stored and len(list(samples.walk())) > 3
    np.testing.assert_allclose(samples.dense(), X, rtol=1e-15)
    some = rest.select([rest.columns[3], rest.columns[1]], without=[rest.columns[1]]).samples()
    np.testing.assert_allclose(some.dense(), X[:, [3]], rtol=1e-15)
    with pytest.raises(ArgumentError, match=r"no column 'colour'"):
        table.select(["colour"])
    with pytest.raises(ArgumentError, match=r"all columns of .* are left out"):
        table.select(without=table.columns)


def test_small_files_are_loaded(path):
    table = read(path)
    assert not table.select(without=table.columns[13:]).samples().stored


def test_arrays_stored_column_after_column(tmp_path, large):
    np.save(tmp_path / "X.npy", np.asfortranarray(X))
    table = read(tmp_path / "X.npy")
    assert isinstance(table.X, Source)
    np.testing.assert_array_equal(table.samples().dense(), X)


def test_standardised_in_one_pass(path, large):
    table = read(path)
    samples = table.select(without=["13" if path.suffix == ".npy" else "cultivar"]).samples()
    data = Data((samples,))
    scaled = Units.of(PCA(), data).divided(data).samples
    assert samples.passes == 1 and scaled.stored
    np.testing.assert_allclose(scaled.dense(), X / X.std(axis=0), rtol=1e-13)


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet", ".npy", ".npz"])
def test_projections_are_written_piece_by_piece(ending, tmp_path, large, monkeypatch):
    if ending != ".npz":  # which holds what cannot be written in pieces
        monkeypatch.delattr(files, "write")
    np.save(tmp_path / "X.npy", X.copy("C"))
    samples = as_samples(tmp_path / "X.npy")
    result = ldr.solve("pca", samples, 2)
    out = tmp_path / f"Y{ending}"
    write_projection(out, result, samples)
    if ending == ".npz":
        Y = np.load(out)["Y"]
    else:
        table = read(out)
        assert table.columns == (["0", "1"] if ending == ".npy" else list(result.columns))
        Y = table.samples().dense()
    np.testing.assert_allclose(Y, result.transform(X), rtol=1e-12, atol=1e-10)


def test_both_views_are_written_side_by_side(tmp_path, large):
    views = tumour_views()
    for name, view in zip("ab", views, strict=True):
        np.save(tmp_path / f"{name}.npy", view.copy("C"))
    pair = tuple(as_samples(tmp_path / f"{name}.npy") for name in "ab")
    result = ldr.solve("orthogonal-cca", pair, 2)
    write_projection(tmp_path / "Y.parquet", result, pair)
    Y = pd.read_parquet(tmp_path / "Y.parquet")
    assert tuple(Y.columns) == sum(result.columns, ())
    np.testing.assert_allclose(Y, np.hstack(result.transform(views)), rtol=1e-9, atol=1e-9)
    with pytest.raises(ArgumentError, match=r"cannot hold two views"):
        write_projection(tmp_path / "Y.npy", result, pair)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_the_command_does_the_same_with_large_files(ending, tmp_path, monkeypatch, call):
    WRITERS[ending](tmp_path / f"wine{ending}")
    command = (
        f"solve orthogonal-lda wine{ending} --label cultivar --standardise --json --out Y{ending}"
    )
    found = []
    for size in (files.LARGE, 0):
        monkeypatch.setattr(files, "LARGE", size)
        done = call(*command.split(), folder=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        found.append((json.loads(done.stdout)["value"], read(f"Y{ending}").samples().dense()))
    assert found[1][0] == pytest.approx(found[0][0], rel=1e-10)
    np.testing.assert_allclose(found[1][1], found[0][1], atol=1e-7)


_MEASURE = """
import re, sys
from pathlib import Path
import numpy as np
import pyarrow.csv, pyarrow.parquet
import ldr
from ldr.objectives.data import data as samples

samples.BLOCK_NUMBERS = 2**19  # 4 MiB

def peak():
    # ru_maxrss is at least what the parent process had
    return int(re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1]) / 2**10

ldr.solve("pca", np.random.default_rng(0).standard_normal((20_000, 100)), 5)
before = peak()
data = sys.argv[1]
if data.endswith("blocks"):
    rng = np.random.default_rng(0)
    data = (rng.standard_normal((2_000, 100), np.float32) for _ in range(400))
result = ldr.solve("pca", data, 5)
print(peak() - before, result.value)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
@pytest.mark.parametrize("name", ["X.npy", "X.parquet", "X.csv", "blocks"])
def test_memory_is_that_of_pieces_not_of_the_file(name, tmp_path):
    """800 000 x 100 numbers, 610 MiB as float64, in pieces of 4 MiB."""
    import pyarrow
    import pyarrow.csv
    import pyarrow.parquet

    path = tmp_path / name
    rng = np.random.default_rng(0)
    if name == "X.npy":
        np.save(path, rng.standard_normal((800_000, 100), np.float32))
    elif name != "blocks":
        columns = {f"x{j}": rng.standard_normal(800_000, np.float32) for j in range(100)}
        table = pyarrow.table(columns)
        if name == "X.csv":
            pyarrow.csv.write_csv(table, path)
        else:
            pyarrow.parquet.write_table(table, path, row_group_size=100_000, use_dictionary=False)
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE, str(path)], capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stderr
    used, value = map(float, done.stdout.split())
    print(f"{name}: {used:.0f} MiB beyond a small solve")
    assert used < 150
    assert value == pytest.approx(95 * 800_000, rel=0.01)
