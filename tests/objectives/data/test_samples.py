"""Samples: containers, blocks, products and what is refused."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from ldr.errors import ArgumentError, DataError
from ldr.objectives.data import sources
from ldr.objectives.data.data import Samples
from ldr.objectives.data.opening import as_samples
from ldr.objectives.data.sample_metadata import as_labels
from ldr.objectives.data.sources import MappedFile

pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")

RNG = np.random.default_rng(0)
X = RNG.standard_normal((57, 4))


def glued(samples: Samples, rows: int | None) -> np.ndarray:
    """All blocks, one below the other."""
    parts = [b.toarray() if samples.is_sparse else b for _, b in samples.blocks(rows)]
    return np.vstack(parts)


def containers(tmp_path):
    """Hold the same numbers in every container."""
    np.save(tmp_path / "x.npy", X)
    frame = pandas.DataFrame(X, columns=list("abcd"))
    yield "ndarray", X
    yield "Fortran order", np.asfortranarray(X)
    yield "strided", np.repeat(X, 2, axis=0)[::2]
    yield "list", X.tolist()
    yield "memmap", np.load(tmp_path / "x.npy", mmap_mode="r")
    yield "frame", frame
    for form in ("csr", "csc", "coo", "lil", "dok"):
        yield form, sp.coo_matrix(X).asformat(form)
    yield "csr_array", sp.csr_array(X)


def test_containers_hold_the_same_rows(tmp_path):
    for label, data in containers(tmp_path):
        samples = as_samples(data)
        assert samples.shape == (57, 4), label
        for rows in (None, 1, 10, 57, 1000):
            np.testing.assert_array_equal(glued(samples, rows), X, err_msg=label)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "uint64", "bool", "longdouble"])
def test_real_types_become_float64_in_blocks_only(dtype):
    data = (10 * np.abs(X)).astype(dtype)
    samples = as_samples(data)
    assert samples.array is data
    block = next(samples.blocks())[1]
    assert block.dtype == np.float64
    assert block.flags.c_contiguous
    np.testing.assert_array_equal(block, data.astype(np.float64))


def test_float64_blocks_are_views():
    assert np.shares_memory(next(as_samples(X).blocks(10))[1], X)
    assert as_samples(X).array is X


def test_a_memory_map_stays_one(tmp_path):
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert isinstance(as_samples(mapped).array, MappedFile)  # each piece is mapped anew
    assert isinstance(as_samples(mapped[:50]).array, np.memmap)


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_large_part_of_a_memory_map_is_mapped_anew(order, tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "SMALL", 0)
    np.save(tmp_path / "x.npy", np.asarray(X, order=order))
    X.ravel(order).tofile(tmp_path / "x.raw")
    kept = np.load(tmp_path / "x.npy", mmap_mode="r")
    late = np.memmap(tmp_path / "x.raw", float, "r", 8 * 7, (5, 4), order)
    for whole in (kept, late):
        for part in (whole[3:], whole[:, 1:3], whole[::2, ::2], whole[1:][:, 1:][1:], whole.T[1:]):
            source = as_samples(part).array
            assert isinstance(source, MappedFile)
            np.testing.assert_array_equal(np.concatenate(list(source.blocks())), part)
    backwards = as_samples(kept[::-1]).array
    assert isinstance(backwards, np.memmap)


def test_two_views_of_a_memory_map_do_not_stay_in_memory(tmp_path):
    program = r"""
import re, sys
import numpy as np
import ldr
from ldr.objectives.data import data as samples, sources

sources.SMALL, samples.BLOCK_NUMBERS = 0, 2**16
pages = lambda: int(re.search(r"VmHWM:\s*(\d+) kB", open("/proc/self/status").read())[1])
X = np.random.default_rng(0).standard_normal((10_000, 100))
ldr.solve("orthogonal-cca", (X[:, :4], X[:, 4:8]), 1)
with open(sys.argv[1], "wb") as file:
    for k in range(30):
        (X + k).tofile(file)
before = pages()
X = np.memmap(sys.argv[1], float, "r", shape=(300_000, 100))
ldr.solve("orthogonal-cca", (X[:, :4], X[:, 4:8]), 1)
print((pages() - before) * 1024, X.nbytes)
"""
    command = [sys.executable, "-c", program, str(tmp_path / "many.raw")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    more, whole = map(int, done.stdout.split())
    assert more < 0.5 * whole, done.stdout


def test_default_blocks_are_bounded():
    for d in (1, 3, 200, 5000, 3_000_000):
        samples = as_samples(np.broadcast_to(np.zeros((1, 1), dtype=np.int8), (1000, d)))
        assert samples.block_rows >= 1
        assert samples.block_rows * d <= max(2**21, d)


def test_block_rows_must_be_positive():
    with pytest.raises(ArgumentError, match="at least 1"):
        list(as_samples(X).blocks(0))


def test_samples_pass_through():
    samples = as_samples(X)
    assert as_samples(samples) is samples
    with pytest.raises(DataError, match="at least 100"):
        as_samples(samples, minimum_rows=100)


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(2, 300),
    d=st.integers(1, 6),
    r=st.integers(1, 4),
    sparse=st.booleans(),
    seed=st.integers(0, 99),
)
def test_centred_products(n, d, r, sparse, seed):
    rng = np.random.default_rng(seed)
    data, V, Y = (rng.standard_normal(shape) for shape in ((n, d), (d, r), (n, r)))
    samples = as_samples(sp.csr_array(data) if sparse else data)
    mean = data.mean(axis=0)
    np.testing.assert_allclose(samples.centred_times(V, mean), (data - mean) @ V, atol=1e-12)
    np.testing.assert_allclose(
        samples.centred_times(V[:, 0], mean), (data - mean) @ V[:, 0], atol=1e-12
    )
    back = samples.centred_transpose_times(Y, mean)
    np.testing.assert_allclose(back, (data - mean).T @ Y, atol=1e-11)
    back = samples.centred_transpose_times(Y[:, 0], mean)
    np.testing.assert_allclose(back, (data - mean).T @ Y[:, 0], atol=1e-11)


def test_centred_products_over_many_blocks_with_a_large_mean():
    data = RNG.standard_normal((15_000, 300)) + 1e8
    mean = data.mean(axis=0)
    samples = as_samples(data)
    assert samples.block_rows < 7500
    V = RNG.standard_normal((300, 2))
    np.testing.assert_allclose(samples.centred_times(V, mean), (data - mean) @ V, atol=1e-11)
    Y = RNG.standard_normal((15_000, 2))
    expected = (data - mean).T @ Y
    np.testing.assert_allclose(samples.centred_transpose_times(Y, mean), expected, atol=1e-10)


def test_dense_and_take():
    np.testing.assert_array_equal(as_samples(X.astype("f4")).dense(), X.astype("f4"))
    with pytest.raises(DataError, match=r"sparse.*toarray"):
        as_samples(sp.csr_array(X)).dense()
    for data in (X, sp.csc_matrix(X)):
        np.testing.assert_array_equal(glued(as_samples(data).take([3, 1]), None), X[[3, 1]])
        mask = X[:, 0] > 0
        np.testing.assert_array_equal(glued(as_samples(data).take(mask), None), X[mask])


def test_frames_keep_names_and_mixed_types():
    frame = pandas.DataFrame(
        {
            "x": [1.0, 2.0, 3.0],
            "flag": [True, False, True],
            "count": pandas.array([1, 2, 3], dtype="Int64"),
            7: np.array([1, 2, 3], dtype="f4"),
        }
    )
    samples = as_samples(frame)
    assert samples.feature_names == ("x", "flag", "count", "7")
    np.testing.assert_array_equal(samples.dense(), [[1, 1, 1, 1], [2, 0, 2, 2], [3, 1, 3, 3]])


def test_frames_with_missing_nullable_values():
    frame = pandas.DataFrame({"a": pandas.array([1, None, 3], dtype="Int64"), "b": [1, 2, 3]})
    with pytest.raises(DataError, match=r"1 NaN.*row 1, column 0 \('a'\)"):
        as_samples(frame)


class OtherFrame:
    """A data frame as other libraries have them: types that say whether they are numeric."""

    class Type:
        def __init__(self, numeric):
            self.numeric = numeric

        def is_numeric(self):
            return self.numeric

    def __init__(self, numeric=True):
        self.columns = ["u", "v"]
        self.dtypes = [self.Type(True), self.Type(numeric)]

    def to_numpy(self):
        return np.arange(6.0).reshape(3, 2)


def test_frames_of_other_libraries():
    assert as_samples(OtherFrame()).feature_names == ("u", "v")
    with pytest.raises(DataError, match=r"'v'.*numeric"):
        as_samples(OtherFrame(numeric=False))
    frame = polars.DataFrame({"a": [1, 2], "b": [True, None]})  # one array of both is of objects
    rows = as_samples(frame, allow_nan=True).array
    np.testing.assert_array_equal(rows, [[1.0, 1.0], [2.0, np.nan]])


def test_entries_that_stand_twice_are_summed_in_a_copy():
    twice = sp.csr_array((np.ones(4), [1, 1, 0, 1], [0, 2, 3, 4]), shape=(3, 2))
    np.testing.assert_array_equal(as_samples(twice).array.toarray(), [[0, 2], [1, 0], [0, 1]])
    assert twice.nnz == 4 and not twice.has_canonical_format


def test_samples_say_what_they_are():
    assert repr(as_samples(np.eye(3, 2))) == "Samples(X: 3 x 2, float64, dense)"
    assert repr(as_samples(sp.eye_array(3, 2))) == "Samples(X: 3 x 2, float64, sparse)"
    stream = as_samples(lambda: iter([np.eye(2), np.ones((3, 2))]))
    assert repr(stream) == "StoredSamples(X: unknown number of rows x 2)"
    assert stream.n == 5 and repr(stream) == "StoredSamples(X: 5 x 2)"


REFUSED = [
    (np.zeros(5), r"X must be 2-D .*1 dimension.*\(5,\).*reshape\(x, \(-1, 1\)\)"),
    (np.zeros((2, 3, 4)), r"X must be 2-D .*3 dimension.*\(2, 3, 4\)"),
    (3.0, "X must be 2-D"),
    (np.zeros((0, 3)), r"X is empty.*\(0, 3\).*no rows"),
    (np.zeros((3, 0)), r"X is empty.*\(3, 0\).*no columns"),
    ([], "X must be 2-D"),
    (np.zeros((1, 3)), r"X has 1 row.*at least 2.*\(1, 3\)"),
    ([[1, 2], [3]], "could not be read as a 2-D array"),
    ([["a", "b"], ["c", "d"]], "must hold real numbers, but its type is <U1"),
    (np.zeros((3, 2), dtype=complex), "must hold real numbers, but its type is complex128"),
    (np.zeros((3, 2), dtype=object), "must hold real numbers, but its type is object"),
    (np.zeros((3, 2), dtype="M8[s]"), "must hold real numbers"),
    (np.ma.masked_array(np.zeros((3, 2))), "masked array"),
    (sp.csr_array(np.zeros((3, 2), dtype=complex)), "must hold real numbers"),
    (sp.csr_array((1, 3)), "at least 2"),
    (pandas.DataFrame({"a": [1, 2], "b": ["x", "y"]}), "column 'b' of type .*numeric.*encode it"),
    (pandas.DataFrame({"a": [1, 2], "when": pandas.to_datetime([1, 2])}), "column 'when'"),
    (pandas.DataFrame({"a": pandas.Categorical([1, 2])}), "column 'a' of type category"),
    (pandas.Series([1.0, 2.0]), "X must be 2-D"),
]


@pytest.mark.parametrize(("data", "message"), REFUSED)
def test_refused(data, message):
    with pytest.raises(DataError, match=message):
        as_samples(data)


def test_the_argument_is_named():
    with pytest.raises(DataError, match=r"^Xa must be 2-D"):
        as_samples(np.zeros(3), "Xa")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_not_finite(bad, dtype):
    data = np.ones((400_000, 4), dtype=dtype)
    data[300_000, 2] = bad
    data[390_000, 1] = bad
    with pytest.raises(DataError, match=r"X has 2 NaN or infinite.*row 300000, column 2"):
        as_samples(data)
    stored = np.ones((50, 4), dtype=dtype)
    stored[:, 1] = 0
    stored[20, 2] = bad
    with pytest.raises(DataError, match=r"X has 1 NaN or infinite.*row 20, column 2"):
        as_samples(sp.csr_array(stored))


def test_opposite_infinities_do_not_hide():
    data = np.zeros((4, 2))
    data[1, 0], data[2, 1] = np.inf, -np.inf
    with pytest.raises(DataError, match="2 NaN or infinite"):
        as_samples(data)


def test_huge_finite_numbers_pass():
    assert as_samples(np.full((100, 3), 1e308)).n == 100


def test_missing_values_on_request():
    data = X.copy()
    data[3, 1] = np.nan
    samples = as_samples(data, allow_nan=True)
    assert samples.has_nan
    assert not as_samples(X, allow_nan=True).has_nan
    with pytest.raises(DataError, match="missing values"):
        as_samples(samples)
    data[5, 0] = np.inf
    with pytest.raises(DataError, match=r"1 infinite.*row 5, column 0"):
        as_samples(data, allow_nan=True)


LABELS = [
    (["b", "a", "b", "a"], ["a", "b"]),
    ([3, 1, 3, 1], [1, 3]),
    ([True, False, True, False], [False, True]),
    ([2.0, 1.0, 2.0, 1.0], [1.0, 2.0]),
    (np.array(["b", "a", "b", "a"], dtype=object), ["a", "b"]),
    (pandas.Series(["b", "a", "b", "a"], index=[9, 8, 7, 6]), ["a", "b"]),
    (pandas.Categorical(["b", "a", "b", "a"], categories=["b", "a", "unused"]), ["a", "b"]),
    (pandas.Series([2, 1, 2, 1], dtype="Int64"), [1, 2]),
]


@pytest.mark.parametrize(("y", "classes"), LABELS)
def test_labels(y, classes):
    codes, found = as_labels(y, 4)
    assert codes.dtype == np.intp
    assert codes.tolist() == [1, 0, 1, 0]
    assert found.tolist() == classes


class Incomparable:
    __hash__ = None

    def __ne__(self, other):
        raise TypeError


def objects(*labels):
    found = np.empty(len(labels), dtype=object)
    found[:] = labels
    return found


REFUSED_LABELS = [
    ([0, 1, 0], "y has 3 labels, expected 4"),
    (np.zeros((4, 1)), r"1-D.*\(4, 1\).*ravel"),
    (np.zeros((2, 2)), r"1-D.*\(2, 2\)"),
    ("spam", "y must have an entry for each sample, but is a str"),
    ([1, 1, 1, 1], r"single class \(1\)"),
    (["a"] * 4, r"single class \('a'\)"),
    ([0, 1, np.nan, 1], "1 missing or infinite label.*position 2"),
    ([0, 1, np.inf, 1], "1 missing or infinite label"),
    (["a", None, "b", None], "2 missing.*position 1"),
    (pandas.Series(["a", pandas.NA, "b", "a"]), "1 missing"),
    (pandas.Series([1, None, 2, 1], dtype="Int64"), "1 missing.*position 1"),
    (pandas.to_datetime(["2020", None, "2021", "2020"]), "1 missing"),
    ([0.1, 0.7, 0.3, 0.1], "looks continuous.*3 distinct values in 4"),
    (np.array([1, "a", 1, "a"], dtype=object), "cannot be sorted"),
    ([1j, 2, 1j, 2], "must hold class labels"),
    ([0, 1, 2, 3], "must be more than the number of classes: y has 4 samples"),
    (np.ma.masked_array([0, 1, 0, 1]), "masked array"),
    ([[1, 2], [3], [1], [2]], "could not be read"),
    (objects([1], [2], [1], [2]), "cannot be sorted"),
    (objects([1], [2], pandas.NA, [2]), "1 missing or infinite label.*position 2"),
    (objects(Incomparable(), 1, 2, [1]), "1 missing or infinite label.*position 0"),
]


@pytest.mark.parametrize(("y", "message"), REFUSED_LABELS)
def test_refused_labels(y, message):
    with pytest.raises(DataError, match=message):
        as_labels(y, 4)


def test_no_labels_at_all():
    with pytest.raises(DataError, match="y has no labels; at least two classes were expected"):
        as_labels([], 0)


def test_smallest_class():
    codes, _ = as_labels(["a", "a", "a", "b"], 4, smallest_class=1)
    assert codes.tolist() == [0, 0, 0, 1]
    with pytest.raises(DataError, match="at least 3"):
        as_labels([0, 0, 1, 1], 4, smallest_class=3)


@pytest.mark.parametrize("kind", ["int8", "uint8", "int64", "uint64"])
def test_integers_are_labels_wherever_they_lie(kind):
    least, most = np.iinfo(kind).min, np.iinfo(kind).max
    for values in ([least, least + 2], [most - 2, most], [least, most]):
        y = np.array(values * 3, dtype=kind)
        codes, classes = as_labels(y, len(y))
        assert classes.dtype == y.dtype and classes.tolist() == values
        assert codes.tolist() == [0, 1] * 3


def test_halves_are_labels_when_they_repeat():
    assert as_labels([0.5, 1.5] * 10, 20)[1].tolist() == [0.5, 1.5]
