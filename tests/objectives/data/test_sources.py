"""Rows from files, lists and streams: the same samples and the same results as in memory."""

import errno
import os
import sys
import warnings
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest
import scipy.sparse

import ldr
from ldr import files
from ldr.errors import ArgumentError, DataError, DataWarning, TooLargeError
from ldr.files import files_of
from ldr.objectives.data import data as samples_module
from ldr.objectives.data import memory
from ldr.objectives.data.opening import as_samples, open_path, open_table
from ldr.objectives.data.sample_metadata import as_labels
from ldr.objectives.statistics import moments

N, D = 151, 4
_rng = np.random.default_rng(0)
X = _rng.standard_normal((N, D)) @ _rng.standard_normal((D, D)) + 3.0
NAMES = ["width", "height", "depth, inside", "mass"]
FRAME = pd.DataFrame(X, columns=NAMES)
LABELS = np.array(["oak", "ash", "elm"])[np.arange(N) % 3]


@pytest.fixture(autouse=True)
def piece_rows(request, monkeypatch):
    """Rows of a piece, far fewer than there are."""
    rows = getattr(request, "param", 17)
    monkeypatch.setattr(samples_module, "BLOCK_NUMBERS", D * rows)
    return rows


several_sizes = pytest.mark.parametrize("piece_rows", [1, 17, 100], indirect=True)


def _folder(path):
    folder = path / "parts"
    folder.mkdir()
    for k, rows in enumerate((slice(0, 40), slice(40, 40), slice(40, N))):
        FRAME[rows].to_parquet(folder / f"part{k}.parquet", row_group_size=30)
    return folder


def _written(path, write):
    write(path)
    return path


SOURCES = {
    "npy": lambda tmp: _written(tmp / "X.npy", lambda p: np.save(p, X)),
    "npy, by columns": lambda tmp: _written(
        tmp / "X.npy", lambda p: np.save(p, np.asfortranarray(X))
    ),
    "memory map": lambda tmp: np.load(_written(tmp / "X.npy", lambda p: np.save(p, X)), "r"),
    "parquet": lambda tmp: _written(
        tmp / "X.parquet", lambda p: FRAME.to_parquet(p, row_group_size=70)
    ),
    "one row group": lambda tmp: str(_written(tmp / "X.parquet", FRAME.to_parquet)),
    "folder": _folder,
    "csv": lambda tmp: _written(tmp / "X.csv", lambda p: FRAME.to_csv(p, index=False)),
    "tsv": lambda tmp: str(
        _written(tmp / "X.tsv", lambda p: FRAME.to_csv(p, index=False, sep="\t"))
    ),
    "csv, other ends of lines": lambda tmp: _written(
        tmp / "X.csv", lambda p: FRAME.to_csv(p, index=False, lineterminator="\r")
    ),
    "paths": lambda tmp: [
        _written(tmp / "a.csv", lambda p: FRAME[:60].to_csv(p, index=False)),
        str(_written(tmp / "b.parquet", lambda p: FRAME[60:].to_parquet(p, row_group_size=9))),
    ],
    "arrays": lambda tmp: [X[:3], X[3:3], np.asfortranarray(X[3:])],
    "function": lambda tmp: lambda: iter([X[:5], X[5:5], X[5:120], X[120:]]),
    "iterator": lambda tmp: (rows for rows in np.array_split(X, 11)),
    "frames": lambda tmp: iter([FRAME[:5], FRAME[5:5], FRAME[5:]]),
}

STREAMS = ("function", "iterator", "frames")


@pytest.fixture(params=SOURCES)
def data(request, tmp_path):
    return SOURCES[request.param](tmp_path)


@pytest.mark.smoke
@several_sizes
def test_the_same_results_as_in_memory_in_one_pass(data):
    samples = as_samples(data)
    assert samples.stored and samples.d == D
    found = ldr.solve("pca", samples, 2)
    assert samples.passes == 1
    assert samples.n == N
    expected = ldr.solve("pca", X, 2)
    assert found.value == pytest.approx(expected.value, rel=1e-12)
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-13)


@pytest.mark.parametrize("name", [name for name in SOURCES if name not in ("iterator", "frames")])
def test_projected_rows(name, tmp_path):
    data = SOURCES[name](tmp_path)
    result = ldr.solve("pca", X, 2)
    np.testing.assert_allclose(result.transform(data), result.transform(X), atol=1e-12)


@several_sizes
@pytest.mark.parametrize("name", [name for name in SOURCES if name not in STREAMS])
def test_any_rows_in_any_order(name, tmp_path):
    samples = as_samples(SOURCES[name](tmp_path))
    pieces = [piece for (piece,) in samples.walk()]
    np.testing.assert_allclose(np.vstack([piece.array for piece in pieces]), X, rtol=1e-15)
    _rng = np.random.default_rng(1)
    for start, stop in np.sort(_rng.integers(0, N + 1, (15, 2)), axis=1):
        np.testing.assert_allclose(samples.read(slice(start, stop)), X[start:stop], rtol=1e-15)
    wanted = _rng.integers(0, N, 30)
    np.testing.assert_allclose(samples.take(wanted).array, X[wanted], rtol=1e-15)
    np.testing.assert_allclose(samples.dense(), X, rtol=1e-15)


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("where", [0, 123, N - 1])
def test_missing_numbers_are_refused_with_their_row(name, where, tmp_path, monkeypatch):
    spoiled = X.copy()
    spoiled[where, 2] = np.nan
    monkeypatch.setitem(globals(), "X", spoiled)
    monkeypatch.setitem(globals(), "FRAME", pd.DataFrame(spoiled, columns=NAMES))
    data = SOURCES[name](tmp_path)
    with pytest.raises(DataError, match=rf"in row {where}, column 2"):
        ldr.solve("pca", data, 2)


@pytest.mark.parametrize("name", ["parquet", "csv", "folder"])
def test_labels_are_a_column(name, tmp_path, monkeypatch):
    frame = FRAME.assign(species=LABELS)
    monkeypatch.setitem(globals(), "FRAME", frame)
    data = SOURCES[name](tmp_path)
    found = ldr.solve("orthogonal-lda", data, 2, y="species")
    expected = ldr.solve("orthogonal-lda", X, 2, y=LABELS)
    assert found.value == pytest.approx(expected.value, rel=1e-10)
    assert found.feature_names == tuple(NAMES)
    # of the file, the columns that were solved for
    np.testing.assert_allclose(found.transform(data), found.transform(X), atol=1e-12)
    with pytest.raises(DataError, match=r"'species'.* (not numeric|not a number)"):
        ldr.solve("pca", data, 2)
    with pytest.raises(ArgumentError, match=r"no column 'kind'; its columns are: width"):
        ldr.solve("orthogonal-lda", data, 2, y="kind")


def test_labels_in_a_file_of_their_own(tmp_path):
    np.save(tmp_path / "labels.npy", LABELS)
    found = ldr.solve("orthogonal-lda", lambda: iter([X]), 2, y=str(tmp_path / "labels.npy"))
    assert found.value == pytest.approx(
        ldr.solve("orthogonal-lda", X, 2, y=LABELS).value, rel=1e-10
    )


def test_two_views_side_by_side(tmp_path):
    other = X[:, :3] + _rng.standard_normal((N, 3))
    np.save(tmp_path / "other.npy", other)
    pd.DataFrame(X, columns=NAMES).to_parquet(tmp_path / "X.parquet", row_group_size=33)
    expected = ldr.solve("orthogonal-cca", (X, other), 2)
    pairs = [
        (str(tmp_path / "X.parquet"), tmp_path / "other.npy"),
        (tmp_path / "other.npy", tmp_path / "X.parquet"),
        (iter(np.array_split(X, 3)), iter(np.array_split(other, 7))),
        (tmp_path / "X.parquet", iter(np.array_split(other, 5))),
        (X, lambda: np.array_split(other, 5)),
    ]
    for pair in pairs:
        assert ldr.solve("orthogonal-cca", pair, 2).value == pytest.approx(expected.value, rel=1e-9)
    for shorter in (other[:-1], other[:7]):
        for pair in ((iter([X]), iter([shorter])), (iter([shorter]), iter([X]))):
            with pytest.raises(DataError, match=r"rows.*expected the same number"):
                ldr.solve("orthogonal-cca", pair, 2)


def test_an_iterator_is_read_once():
    asked = []

    def blocks():
        for k, rows in enumerate(np.array_split(X, 7)):
            asked.append(k)
            yield rows

    for name in ("pca", "orthogonal-maf", "ppca", "mds"):
        asked.clear()
        ldr.solve(name, blocks(), 2)
        assert asked == list(range(7))
    with pytest.raises(DataError, match=r"iterator.* read only once.* pass a function"):
        ldr.solve("orthogonal-sfa", blocks(), 2)
    asked.clear()
    found = ldr.solve("orthogonal-sfa", blocks, 2)
    assert asked == 2 * list(range(7))
    expected = ldr.solve("orthogonal-sfa", X, 2)
    assert found.value == pytest.approx(expected.value, rel=1e-10)


def test_blocks_are_asked_for_as_they_are_needed():
    """Not more rows are held than are worked on."""
    given, added, waiting = [], [], []

    def blocks():
        for k in range(200):
            waiting.append(sum(given) - sum(added))
            given.append(17)
            yield np.full((17, D), float(k))

    def term(piece):
        added.append(piece.n)
        return piece.n

    assert as_samples(blocks()).reduce(term, int.__add__) == 3400
    assert max(waiting) <= 17 * (2 * (os.cpu_count() or 1) + 2)


def test_blocks_that_do_not_fit():
    with pytest.raises(DataError, match=r"block 2 has 3 columns, expected 4"):
        ldr.solve("pca", iter([X[:4], X[:4], X[:4, :3], X]), 2)
    with pytest.raises(DataError, match=r"block 1 must have the column names of block 0"):
        ldr.solve("pca", iter([FRAME, FRAME[NAMES[::-1]]]), 2)
    with pytest.raises(DataError, match=r"X \(block 1\) must be 2-D"):
        ldr.solve("pca", iter([X, X[0]]), 2)
    with pytest.raises(DataError, match=r"block 0 is sparse"):
        ldr.solve("pca", iter([scipy.sparse.eye_array(4).tocsr()]), 2)
    with pytest.raises(DataError, match=r"no blocks"):
        ldr.solve("pca", iter([]), 2)
    with pytest.raises(DataError, match=r"0 row\(s\)"):
        ldr.solve("pca", iter([X[:0]]), 2)
    with pytest.raises(ArgumentError, match=r"returned int"):
        ldr.solve("pca", lambda: 3, 2)
    for y in (LABELS[:-1], np.append(LABELS, "oak")):
        with pytest.raises(DataError, match=r"rows"):
            ldr.solve("orthogonal-lda", lambda: [X], 2, y=y)
    turns = iter([X, X[:-1]])
    once = as_samples(lambda: iter([next(turns)]))
    moments(once)
    with pytest.raises(DataError, match=f"returned {N - 1} rows, expected {N}"):
        moments(once)


SUM_OVER_ROWS = ldr.objective(
    sum_over_rows=True, backend="numpy", gradient=lambda M, X: 2 * X.T @ X @ M
)(lambda M, X: float(np.sum((X @ M) ** 2)))


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("robust-pca", {}),
        ("uica", {}),
        ("nca", {"y": LABELS}),
        ("hsic", {}),
        ("save", {"y": X[:, 0]}),
        (SUM_OVER_ROWS, {}),
        (SUM_OVER_ROWS, {"solver": "svrg", "random_state": 0, "max_iterations": 100}),
    ],
    ids=str,
)
def test_a_function_of_blocks_is_as_good_as_a_file(method, options, tmp_path):
    """Rows that are looked up, or in another order, are of one pass more."""
    np.save(tmp_path / "X.npy", X)
    options = {"max_iterations": 3, "certify": False, "start": np.eye(D)[:, :2]} | options
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        file = ldr.solve(method, str(tmp_path / "X.npy"), 2, **options)
        blocks = ldr.solve(method, lambda: iter([X[:50], X[50:50], X[50:]]), 2, **options)
    assert blocks.value == pytest.approx(file.value, rel=1e-12)
    assert blocks.evaluations["passes"] >= file.evaluations["passes"] >= 1
    assert "passes" not in ldr.solve("pca", X, 2).evaluations


def test_a_stream_is_kept_as_far_as_there_is_room(monkeypatch):
    def blocks():
        return iter([X[:50], X[50:]])

    np.testing.assert_array_equal(as_samples(blocks).in_memory().dense(), X)
    monkeypatch.setattr(memory, "SMALL", 0)
    monkeypatch.setattr(memory, "available", lambda: (1e3, "I"))
    with pytest.raises(TooLargeError, match="limit of I"):
        as_samples(blocks).in_memory()


def test_a_response_in_parts(tmp_path):
    folder = _folder(tmp_path)
    found = ldr.solve("least-squares", folder, 1, y="mass")
    expected = ldr.solve("least-squares", X[:, :3], 1, y=X[:, 3])
    assert found.value == pytest.approx(expected.value, rel=1e-10)
    parts = files_of(as_samples(folder))
    assert [part.name for part in parts] == ["part0.parquet", "part1.parquet", "part2.parquet"]
    np.save(tmp_path / "X.npy", X)
    rows = as_samples(tmp_path / "X.npy")
    some = rows.each(np.negative)
    assert files_of(some) == [tmp_path / "X.npy"]
    np.testing.assert_array_equal(some.dense(), -X)


def test_rows_of_a_stream_are_taken_in_one_pass():
    rows = np.random.default_rng(0).permutation(N)[:20]
    samples = as_samples(lambda: iter([X[:50], X[50:]]))
    before = samples.n and samples.passes
    assert (samples.take(rows).array == X[rows]).all()
    assert samples.passes - before <= 1
    assert (samples.piece(slice(3, 9)).array == X[3:9]).all()
    assert samples.take([True, *[False] * (N - 1)]).n == 1


def test_methods_that_look_rows_up_say_so():
    once = iter([X])
    with pytest.raises(DataError, match=r"several times|rows in another order|number of rows"):
        ldr.solve("robust-pca", once, 2)
    with pytest.raises(DataError, match="is a stream of blocks"):
        ldr.solve(SUM_OVER_ROWS, iter([X]), 2)
    found = ldr.solve("lpp", [X[:7], X[7:]], 2)
    assert found.value == pytest.approx(ldr.solve("lpp", X, 2).value, rel=1e-10)


def test_parts_that_do_not_fit(tmp_path):
    with pytest.raises(DataError, match=r"X\[1\] has 3 columns, expected 4"):
        ldr.solve("pca", [X, X[:, :3]], 2)
    with pytest.raises(DataError, match=r"X\[1\] must have the column names of"):
        ldr.solve("pca", [FRAME, FRAME[NAMES[::-1]]], 2)
    with pytest.raises(DataError, match=r"X\[1\] is sparse"):
        ldr.solve("pca", [X, scipy.sparse.eye_array(4).tocsr()], 2)


WRITERS = {
    ".npy": lambda path, frame: np.save(path, frame.to_numpy()),
    ".parquet": lambda path, frame: frame.to_parquet(path),
    ".csv": lambda path, frame: frame.to_csv(path, index=False),
}


@pytest.mark.parametrize("ending", WRITERS)
def test_files_that_are_cut_off(ending, tmp_path):
    path = tmp_path / f"X{ending}"
    WRITERS[ending](path, FRAME)
    content = path.read_bytes()
    last_line = content.rstrip(b"\n").rindex(b"\n")
    path.write_bytes(content[: last_line + 8 if ending == ".csv" else len(content) // 2])
    with pytest.raises(DataError, match=rf"X: X\{ending} cannot be read"):
        ldr.solve("pca", path, 2)


@pytest.mark.parametrize("ending", WRITERS)
def test_files_without_rows(ending, tmp_path):
    path = tmp_path / f"X{ending}"
    WRITERS[ending](path, FRAME[:0])
    with pytest.raises(DataError, match=r"no rows"):
        ldr.solve("pca", path, 2)


def test_paths_that_lead_nowhere(tmp_path):
    for name in ("X.npy", "X.parquet", "X.csv", "X.tsv"):
        with pytest.raises(FileNotFoundError):
            ldr.solve("pca", tmp_path / name, 2)
    for name in ("X.txt", "wine"):
        with pytest.raises(ArgumentError, match=r"\.npy, \.parquet, \.csv, \.tsv"):
            ldr.solve("pca", name, 2)
    with pytest.raises(ArgumentError, match=r"y: '\.' is a folder, expected"):
        ldr.solve("orthogonal-lda", X, 2, y=Path(""))
    with pytest.raises(ArgumentError, match=r"numpy\.load"):
        ldr.solve("pca", "X.npz", 2)
    with pytest.raises(ArgumentError, match=r"no \.parquet files"):
        ldr.solve("pca", tmp_path, 2)
    (tmp_path / "X.parquet").write_bytes(b"")
    (tmp_path / "X.csv").write_bytes(b"")
    for name in ("X.parquet", "X.csv"):
        with pytest.raises(DataError, match=r"cannot be read|no line of column names"):
            ldr.solve("pca", tmp_path / name, 2)


def test_text_as_pandas_reads_it(tmp_path):
    path = tmp_path / "X.csv"
    path.write_bytes(
        b'\xef\xbb\xbf"a, long",yes,"b\n1, 2.5 ,True,3\r\n'.replace(b'"b\n', b"b\r\n").replace(
            b"1, 2.5 ", b'"1"'
        )
        + b"\r\n-2e-3,False,+.5\r\n\n 7 ,True,1e400"
    )
    samples = as_samples(path)
    assert samples.feature_names == ("a, long", "yes", "b")
    frame = pd.read_csv(path)
    assert list(frame.columns) == list(samples.feature_names)
    np.testing.assert_array_equal(samples.read(slice(0, 3)), frame.to_numpy(dtype=float))


def test_newlines_within_quotes(tmp_path):
    path = tmp_path / "X.csv"
    notes = ['say ""a""', "two\nlines", "\n", '"', "plain"] * 20
    frame = pd.DataFrame({"a": np.arange(100.0), "note": notes, "b": np.arange(100) ** 2})
    frame.to_csv(path, index=False)
    found = ldr.solve("orthogonal-lda", path, 1, y="note")
    assert found.value == pytest.approx(
        ldr.solve("orthogonal-lda", frame[["a", "b"]], 1, y=frame.note).value, rel=1e-10
    )


def test_labels_that_look_like_numbers_at_first(tmp_path):
    y = np.where(np.arange(N) < 100, np.arange(N) % 2, -1).astype(str)
    y[100:] = np.array(["x", "y"])[np.arange(100, N) % 2]
    FRAME.assign(y=y).to_csv(tmp_path / "X.csv", index=False)
    found = ldr.solve("orthogonal-lda", tmp_path / "X.csv", 2, y="y")
    assert found.value == pytest.approx(ldr.solve("orthogonal-lda", X, 2, y=y).value, rel=1e-10)
    for missing in ("", "NA"):
        y[3] = missing
        FRAME.assign(y=y).to_csv(tmp_path / "X.csv", index=False)
        with pytest.raises(DataError, match=r"missing .* position 3"):
            ldr.solve("orthogonal-lda", tmp_path / "X.csv", 2, y="y")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["1,2", "3,4", "5,x"], r"column 'b': Row #4: 'x' is not a number"),
        (["1,2", "3,4,5", "6,7"], r"Row #3: Expected 2 columns, got 3"),
        (["1,2", "3", "6,7"], r"Row #3: Expected 2 columns, got 1"),
        (["1,2", "", "3,", "6,7"], r"row 1, column 1 \('b'\)"),
        (["1,2", "3,\N{ARABIC-INDIC DIGIT ONE}", "6,7"], r"X\.csv .* is not a number"),
        (["1,2", '3,"4', "6,7" * 99], r"column 'b'"),
    ],
)
def test_text_that_is_no_table_of_numbers(lines, message, tmp_path):
    (tmp_path / "X.csv").write_text("\n".join(["a,b", *lines]), encoding="utf-8")
    with pytest.raises(DataError, match=message):
        ldr.solve("pca", tmp_path / "X.csv", 1)


@pytest.mark.parametrize(
    ("write", "warning"),
    [
        (lambda frame, path: frame.to_csv(path), "first column has no name"),
        (lambda frame, path: frame.reset_index(names="Unnamed: 0").to_csv(path, index=False),
         "first column has no name"),
        (lambda frame, path: frame.to_csv(path, index=False), None),
    ],
)  # fmt: skip
def test_numbers_of_rows_are_no_data(write, warning, tmp_path):
    path = tmp_path / "X.csv"
    write(FRAME.assign(tree=LABELS), path)
    for found in _told(warning, lambda: ldr.solve("orthogonal-lda", path, 2, y="tree")):
        assert found.value == pytest.approx(
            ldr.solve("orthogonal-lda", X, 2, y=LABELS).value, rel=1e-10
        )
    for table in _told(warning, lambda: files.read(path)):
        assert table.columns == [*NAMES, "tree"]


def _told(warning, call):
    """What a call returns, in a list; it warns of this and of nothing else."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        found = [call()]
    assert [w.category for w in given] == ([] if warning is None else [DataWarning])
    assert warning is None or warning in str(given[0].message)
    return found


@pytest.mark.parametrize(
    ("texts", "labels"),
    [
        (["007", "7", "07"], ["007", "7", "07"]),
        (["12345678901234567890", "12345678901234567891"], None),
        (["1", "-2", "30"], [1, -2, 30]),
        ([" 1.5", "1e3", "-.5"], [1.5, 1000.0, -0.5]),
        (["True", "False"], [True, False]),
        (["0.5", "0"], [0.5, 0.0]),
        (["a", "1"], ["a", "1"]),
        (["2020-01-02", "2020-01-03"], None),
    ],
)
def test_labels_are_what_the_cells_say(texts, labels, tmp_path):
    path = tmp_path / "X.csv"
    cells = np.array(texts)[np.arange(N) % len(texts)]
    with path.open("w") as file:
        file.write("a,label,b\n")
        file.writelines(f"{i},{cell},{i * i}\n" for i, cell in enumerate(cells))
    for table in (open_path(path, "X"), files.read(path)):
        y = np.asarray(table.column("label"))
        assert y[: len(texts)].tolist() == (texts if labels is None else labels)
        assert len(y) == N and len(np.unique(y)) == len(texts)


@pytest.mark.parametrize("ending", ["csv", "parquet", "coded", "folder"])
def test_labels_that_look_like_numbers_are_texts_where_that_is_asked(ending, tmp_path):
    y = np.array([10, 9, 100])[np.arange(N) % 3]
    frame = pd.DataFrame({"a": np.sin(y + np.arange(N)), "b": np.cos(y * np.arange(N)), "y": y})
    path = tmp_path / f"X.{'csv' if ending == 'csv' else 'parquet'}"
    if ending == "csv":
        frame.to_csv(path, index=False)
    elif ending == "folder":
        frame.to_parquet(path, partition_cols=["y"])
    else:
        frame.astype({"y": "category"} if ending == "coded" else {}).to_parquet(path)
    numbers = ldr.solve("orthogonal-lda", path, 1, y="y")
    texts = ldr.solve("orthogonal-lda", path, 1, y=("y", str))
    assert texts.value == pytest.approx(numbers.value, rel=1e-12)
    assert set(texts.predict(frame[["a", "b"]])) <= {"10", "9", "100"}


def test_columns_of_one_name(tmp_path):
    (tmp_path / "X.csv").write_text("a,b,a\n1,2,3\n")
    with pytest.raises(DataError, match=r"2 columns called 'a'"):
        ldr.solve("pca", tmp_path / "X.csv", 1)


def test_a_frame_of_columns_of_one_name_and_a_file(tmp_path):
    frame = pd.DataFrame(X[:, :3], columns=["a", "b", "a"])
    result = ldr.solve("pca", frame, 1)
    FRAME.set_axis(["a", "b", "c", "d"], axis=1).to_csv(tmp_path / "X.csv", index=False)
    with pytest.raises(ArgumentError, match="a column is selected twice in a, b, a"):
        result.transform(tmp_path / "X.csv")


def test_types_of_parquet_columns(tmp_path):
    frame = pd.DataFrame(
        {
            "int": np.arange(50),
            "short": np.arange(50, dtype=np.int8),
            "bool": np.arange(50) % 2 == 0,
            "single": np.arange(50, dtype=np.float32) / 3,
        },
        index=pd.Index(np.arange(50) * 1.5, name="when"),
    )
    frame.to_parquet(tmp_path / "X.parquet")
    samples = as_samples(tmp_path / "X.parquet")
    assert samples.feature_names == tuple(frame.columns)
    np.testing.assert_array_equal(samples.dense(), frame.to_numpy(dtype=float))
    assert as_samples([tmp_path / "X.parquet"]).read(slice(0, 9)).dtype == np.float64
    frame[["short", "single"]].to_parquet(tmp_path / "Y.parquet")
    assert as_samples(tmp_path / "Y.parquet").read(slice(0, 9)).dtype == np.float32
    frame.astype({"int": "Int64"}).mask(frame["int"] == 9).to_parquet(tmp_path / "Z.parquet")
    with pytest.raises(DataError, match=r"in row 9, column 0 \('int'\)"):
        ldr.solve("pca", tmp_path / "Z.parquet", 1)


def test_parquet_columns_that_are_no_numbers(tmp_path):
    import pyarrow
    from pyarrow.parquet import write_table

    path = tmp_path / "X.parquet"
    pair = pyarrow.array([{"u": 1, "v": 2}] * N)
    latin = pyarrow.array([b"caf\xe9"] * N).view(pyarrow.string())
    columns = {name: X[:, j] for j, name in enumerate(NAMES)}
    kind = pyarrow.array(LABELS).dictionary_encode()
    write_table(pyarrow.table({**columns, "kind": kind, "pair": pair, "latin": latin}), path)
    table = open_path(path, "X").select(NAMES)
    for data in (table, files.read(path)):
        np.testing.assert_array_equal(data.column("kind"), LABELS)
        with pytest.raises(DataError, match=r"column 'pair' is of type struct"):
            data.column("pair")
        with pytest.raises(DataError, match=r"column 'latin' of X\.parquet cannot be read"):
            data.column("latin")
    for name, of in (("kind", "dictionary"), ("pair", "struct"), ("latin", "string")):
        with pytest.raises(
            DataError, match=rf"column '{name}' is of type {of}.*which is not numeric"
        ):
            files.read(path).select([NAMES[0], name]).samples()
    with pytest.raises(DataError, match=r"column 'kind' is of type dictionary.*is not numeric"):
        ldr.solve("pca", path, 2)


def test_text_in_another_code(tmp_path):
    path = tmp_path / "X.csv"
    path.write_bytes("a,b,c\n1,2,oak\n3,4,café\n5,7,oak\n".encode("latin-1"))
    for y, place in (
        ("c", "Row #3: .* invalid UTF8 data; save the file in UTF-8"),
        (None, "Row #2: 'oak' is not a number"),
    ):
        with pytest.raises(DataError, match=f"column 'c': {place}"):
            ldr.solve("orthogonal-lda" if y else "pca", path, 1, y=y)
    path.write_bytes("a,b,é\n1,2,oak\n3,4,café\n5,7,oak\n6,4,café".encode("utf-16"))
    found = ldr.solve("orthogonal-lda", path, 1, y="é")
    rows = [[1, 2], [3, 4], [5, 7], [6, 4]]
    assert found.value == ldr.solve("orthogonal-lda", rows, 1, y=["oak", "café"] * 2).value


def test_decimal_commas(tmp_path):
    path = tmp_path / "X.csv"
    path.write_text("a;b\n1,5;2,25\n3,75;4\n")
    with pytest.raises(DataError, match=r"Expected 1 columns, got 3.* give --sep"):
        ldr.solve("pca", path, 1)
    with pytest.raises(DataError, match=r"'1,5' is not a number; .* have a decimal point"):
        as_samples(open_path(path, "X", ";")).dense()


@pytest.mark.parametrize("content", ["pickled", "empty", "archive", "nothing"])
def test_labels_in_files_that_are_no_arrays(content, tmp_path):
    path = tmp_path / "y.npy"
    if content == "pickled":
        np.save(path, np.array(["a", None] * 5, dtype=object), allow_pickle=True)
    elif content == "archive":
        np.savez(tmp_path / "y.npz", y=LABELS)
        (tmp_path / "y.npz").rename(path)
    else:
        path.write_bytes(b"" if content == "empty" else b"no array")
    with pytest.raises(DataError, match=r"y: y\.npy cannot be read as \.npy"):
        ldr.solve("orthogonal-lda", X, 2, y=str(path))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"no array", r"cannot be read as \.npy: the magic string"),
        (b"\x93NUMPY\x01\x00v\x00{broken" + 111 * b" ", r"cannot be read as \.npy"),
        (np.ones(5), r"holds an array of shape \(5,\) and type float64, expected a matrix"),
        (np.ones((5, 2), dtype="U1"), r"holds .* type <U1, expected a matrix of real numbers"),
    ],
)
def test_files_of_arrays_that_are_no_matrices(content, words, tmp_path):
    path = tmp_path / "X.npy"
    path.write_bytes(content) if isinstance(content, bytes) else np.save(path, content)
    with pytest.raises(DataError, match=r"X: X\.npy " + words):
        ldr.solve("pca", path, 1)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("npy", r"X\.npy cannot be read as \.npy"),
        ("csv", r"X returned 150 rows, expected 151: the file has changed"),
        ("parquet", r"X returned 140 rows, expected 151: the file has changed"),
        ("one row group", r"X\.parquet cannot be read: "),
    ],
)
def test_files_that_change_once_they_are_open(name, words, tmp_path):
    path = Path(SOURCES[name](tmp_path))
    samples, content = as_samples(path), path.read_bytes()
    if name == "parquet":
        FRAME[:140].to_parquet(path, row_group_size=47)
    elif name == "csv":
        first, second, rest = content.split(b"\n", 2)
        path.write_bytes(b"\n".join([first, b"\n" * len(second), rest]))
    else:
        path.write_bytes(content[:-9] if name == "npy" else content[::-1])
    with pytest.raises(DataError, match=words):
        samples.read(slice(0, N))


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_what_reads_files_may_not_be_installed(ending, tmp_path, monkeypatch):
    path = Path(SOURCES[ending](tmp_path))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ArgumentError, match=r"file needs pyarrow, which is not installed: pip in"):
        ldr.solve("pca", path, 2)


def test_paths_that_are_none(tmp_path, monkeypatch):
    FRAME.to_parquet(tmp_path / "X.parquet")
    monkeypatch.chdir(tmp_path)
    for name in ("", " "):  # not the folder of the process
        with pytest.raises(ArgumentError, match="expected the path of a file"):
            ldr.solve("pca", name, 2)
    for name in ("a\0b.csv", "a\0b.npy", "a\0b"):
        with pytest.raises(ArgumentError, match=r"NUL character"):
            ldr.solve("pca", name, 2)
    with pytest.raises(ArgumentError, match=r"is not a valid path: .*too long"):
        ldr.solve("pca", "no/such" * 900 + ".csv", 2)
    with pytest.raises(ArgumentError, match=r"path is \('', ''\), expected the path of a file"):
        ldr.load(("", ""))
    with pytest.raises(ArgumentError, match=r"y 'a\\x00b\.npy' is not a valid path"):
        ldr.solve("orthogonal-lda", X, 2, y="a\0b.npy")
    with pytest.raises(ArgumentError, match=r"is the string"):
        ldr.solve("pca", "a" * 5000, 2)


def test_text_of_parquet_is_looked_up_by_codes(tmp_path):
    columns = {
        "text": ["b", None, "a", "b", "a"],
        "words": ["b", "c", "a", "b", "a"],
        "coded": pyarrow.array(["u", "v", "u", None, "w"]).dictionary_encode(),
        "numbers": pyarrow.array([3, 5, 3, 3, 5]).dictionary_encode(),
        "nothing": pyarrow.array([None] * 5, pyarrow.string()),
    }
    table = pyarrow.table({"x": np.arange(5.0), **columns})
    pyarrow.parquet.write_table(table, tmp_path / "X.parquet", row_group_size=2)
    source = open_table(str(tmp_path / "X.parquet"), "X")
    for name in columns:
        assert np.asarray(source.column(name)).tolist() == table.column(name).to_pylist()
    assert source.column("numbers").dtype == np.int64


def test_the_index_of_a_frame_in_a_parquet_file_is_a_column_of_labels(tmp_path):
    FRAME.set_index(pd.Index(LABELS, name="tree")).to_parquet(tmp_path / "X.parquet")
    found = ldr.solve("orthogonal-lda", tmp_path / "X.parquet", 1, y="tree")
    assert found.value == pytest.approx(ldr.solve("orthogonal-lda", X, 1, y=LABELS).value, 1e-12)
    assert found.feature_names == tuple(NAMES)


@pytest.mark.parametrize("kinds", [["ash", "elm"], [3, 5]])
def test_a_key_of_partitions_is_a_column_of_labels_and_no_feature(kinds, tmp_path):
    labels = np.array(kinds)[np.arange(N) % 2]
    FRAME.assign(kind=labels).to_parquet(tmp_path / "X", partition_cols=["kind"])
    order = np.argsort(labels, kind="stable")
    found = ldr.solve("orthogonal-lda", str(tmp_path / "X"), 1, y="kind")
    known = ldr.solve("orthogonal-lda", FRAME.iloc[order], 1, y=labels[order])
    assert found.value == pytest.approx(known.value, rel=1e-12)
    assert found.feature_names == tuple(NAMES)
    assert found.predictors and set(found.predict(X)) <= set(kinds)
    assert ldr.solve("pca", str(tmp_path / "X"), 1).feature_names == tuple(NAMES)
    with pytest.raises(ArgumentError, match=r"no column 'sort'; its columns are: .*kind"):
        ldr.solve("orthogonal-lda", str(tmp_path / "X"), 1, y="sort")


def test_labels_of_any_kind_have_the_codes_of_sorting():
    labels = np.array(["b", "a", "c", "a", "b", "c"] * 5, dtype=object)
    codes, classes = as_labels(labels, 30)
    known, theirs = np.unique(labels, return_inverse=True)
    assert (codes == theirs).all() and (classes == known).all()
    labels[7] = None
    with pytest.raises(DataError, match=r"1 missing .* the first at position 7"):
        as_labels(labels, 30)


def test_the_first_line_is_a_header_unless_it_is_said(tmp_path):
    path = tmp_path / "spectra.csv"
    np.savetxt(path, X, delimiter=",", fmt="%.17g")
    found = ldr.solve("pca", path, 2, header=False)
    expected = ldr.solve("pca", X, 2)
    assert found.value == pytest.approx(expected.value, rel=1e-12)
    assert found.feature_names == ("0", "1", "2", "3")
    np.testing.assert_allclose(
        found.transform(str(path), header=False), expected.transform(X), atol=1e-12
    )
    said = pytest.warns(DataWarning, match="first line is .* only numbers; if it is data, pass")
    with said, pytest.raises(ArgumentError, match="no column '0'; its columns are: "):
        found.transform(path)
    with said:
        with_header = ldr.solve("pca", path, 2)
    wavelengths = FRAME.set_axis(["880.5", "900", "910", "930.5"], axis=1)
    wavelengths.to_csv(path, index=False)
    assert ldr.solve("pca", path, 2).value == pytest.approx(expected.value, rel=1e-12)
    path.write_text("5,3,5\n1,2,3\n")
    with pytest.raises(DataError, match=r"2 columns called '5': .* pass header=False"):
        ldr.solve("pca", path, 1)
    assert with_header.value == pytest.approx(ldr.solve("pca", X[1:], 2).value, rel=1e-12)
    with pytest.raises(ArgumentError, match="header must be True or False, got 'no'"):
        ldr.solve("pca", path, 2, header="no")


def test_files_without_a_header_in_lists_and_pairs(tmp_path):
    paths = [tmp_path / "a.csv", str(tmp_path / "b.tsv")]
    for path, rows, separator in zip(paths, (X[:60], X[60:]), ",\t", strict=True):
        np.savetxt(path, rows, delimiter=separator, fmt="%.17g")
    found = ldr.solve("least-squares", paths, 1, y="3", header=False)
    expected = ldr.solve("least-squares", X[:, :3], 1, y=X[:, 3])
    assert found.value == pytest.approx(expected.value, rel=1e-9)
    pair = (paths[0], X[:60, ::-1])
    expected = ldr.solve("orthogonal-cca", (X[:60], pair[1]), 2)
    assert ldr.solve("orthogonal-cca", pair, 2, header=False).value == pytest.approx(expected.value)


def test_years_and_wavelengths_are_names(tmp_path):
    path = tmp_path / "X.csv"
    path.write_text("400,410.5,420\n1,2,3\n4,0,6\n9,8,9\n")
    samples = as_samples(path)
    assert samples.feature_names == ("400", "410.5", "420") and samples.n == 3


@pytest.mark.parametrize("name", ["npy", "csv", "parquet", "paths"])
def test_files_that_change_between_two_passes_are_noticed(name, tmp_path):
    data = SOURCES[name](tmp_path)
    samples = as_samples(data)
    moments(samples)
    path = Path(data[0] if isinstance(data, list) else data)
    content = path.read_bytes()
    path.write_bytes(content.replace(content[-3:-2], b"1"))
    os.utime(path, ns=(1, 1))
    with pytest.raises(DataError, match=rf"{path.name} has changed since it was opened"):
        moments(samples)


def test_text_after_the_first_block_is_named_by_its_row(tmp_path):
    (tmp_path / "X.csv").write_text("\n".join(["a,b", *["1,2"] * 300_000, "1,x"]))
    with pytest.raises(DataError, match=r"Row #300002: 'x' is not a number"):
        moments(as_samples(tmp_path / "X.csv"))


def test_files_that_are_removed_once_they_are_open(tmp_path):
    path = Path(SOURCES["csv"](tmp_path))
    samples = as_samples(path)
    path.unlink()
    with pytest.raises(FileNotFoundError):
        samples.read(slice(0, N))


def test_too_little_address_space_for_a_file_is_no_damage(tmp_path, monkeypatch):
    path, full = SOURCES["npy"](tmp_path), OSError(errno.ENOMEM, "Cannot allocate memory")
    monkeypatch.setattr(np.lib.format, "open_memmap", Mock(side_effect=full))
    with pytest.raises(MemoryError, match="Cannot allocate memory"):
        as_samples(path)


def test_a_column_of_a_table_without_rows(tmp_path):
    pd.DataFrame({"a": pd.Series(dtype=float), "k": pd.Series(dtype=str)}).to_parquet(
        tmp_path / "X.parquet"
    )
    assert files.read(tmp_path / "X.parquet").column("k").shape == (0,)


def test_views_by_name_without_headers(tmp_path):
    pair = {"a": FRAME.iloc[:, :2], "b": FRAME.iloc[:, 2:4]}
    for name, frame in pair.items():
        frame.to_csv(tmp_path / f"{name}.csv", index=False, header=False)
    paths = {name: tmp_path / f"{name}.csv" for name in pair}
    found = ldr.solve("cca", paths, 1, header=False).value
    assert found == pytest.approx(ldr.solve("cca", pair, 1).value, rel=1e-12)
