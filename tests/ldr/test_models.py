"""Results in files that last: saved, loaded, and refused in words where they do not fit."""

import json
import os
import re
import warnings
import zipfile
from datetime import date
from functools import cache

import numpy as np
import pandas
import pytest
from scipy.sparse import csr_array

import ldr
from ldr.errors import ArgumentError, ConvergenceWarning, DataError
from ldr.objectives import named
from tests import real_data
from tests.objectives import methods

X, labels = real_data.wine()
NAMES = np.array(["red", "rosé", "white"])[labels]
PAIR = (X[:, :6], X[:, 6:])
RING = csr_array((np.ones(178), (np.arange(178), np.roll(np.arange(178), 1))), shape=(178, 178))

OTHERS = {
    "words": ("lda", X, NAMES.astype(object), {}),
    "a kernel": (ldr.kernel("orthogonal-lda", "rbf", gamma=1e-6), X, labels, {}),
    "landmarks": (ldr.kernel("fa", "rbf", gamma=1e-6, components=20), X, None, {}),
    "kernels of two views": (
        ldr.kernel("orthogonal-cca", "polynomial", components=9),
        PAIR,
        None,
        {},
    ),
    "sparse landmarks": (ldr.kernel("pca", "linear", components=9), csr_array(X), None, {}),
    "a sum": (0.7 * named("pca") + 0.3 * named("orthogonal-lda"), X, labels, {}),
    "a penalty": (named("orthogonal-lda") + ldr.l1(0.01), X, labels, {}),
    "normalised": (ldr.normalised("orthogonal-lda"), X, labels, {}),
    "a graph of one's own": (named("olpp", graph=RING + RING.T), X, None, {}),
    "units": ("ppca", X, None, {"standardise": True}),
    "a kernel in units": (ldr.kernel("pca", "rbf"), X, None, {"standardise": True}),
    "views in units": ("orthogonal-cca", PAIR, None, {"standardise": True}),
    "names": ("fa", pandas.DataFrame(X).rename(columns="c{}".format), None, {}),
    "gaps": ("ppca", methods.GAPS, None, {}),
    "a response": ("lasso", X, X[:, 0], {}),
    "two views": ("reduced-rank-regression", PAIR, None, {}),
    "a background": ("opca", (X, X[::3] ** 2), None, {}),
    "starts": ("ica", X, None, {"starts": 2, "certify": True}),
}


@cache
def solved(key):
    if key in OTHERS:
        objective, rows, y, options = OTHERS[key]
    else:
        rows, y, parameters = methods.RANDOM[key]
        objective, options = named(methods.name_of(key), **parameters), {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        options = {"certify": False, "max_iterations": 2, "random_state": 0} | options
        return ldr.solve(objective, rows, 2, y=y, **options), rows


def same(a, b):
    """Whether two values are equal to the last bit, whatever they are made of."""
    assert type(a) is type(b)
    if isinstance(a, np.ndarray):
        np.testing.assert_array_equal(a, b)
        return
    if isinstance(a, (tuple, list)):
        assert len(a) == len(b)
        for pair in zip(a, b, strict=True):
            same(*pair)
    elif isinstance(a, dict):
        assert list(a) == list(b)
        same(list(a.values()), list(b.values()))


@pytest.mark.parametrize(
    "key", [*OTHERS, *(pytest.param(key, marks=pytest.mark.slow) for key in methods.RANDOM)]
)
def test_what_is_loaded_is_what_was_saved(key, tmp_path):
    result, rows = solved(key)
    result.save(tmp_path / "model.npz")
    loaded = ldr.load(tmp_path / "model.npz")
    assert repr(loaded) == repr(result)
    assert json.dumps(loaded.summary()) == json.dumps(result.summary())
    names = ("M", "P", "mean", "baseline_M", "history", "parameters", "columns", "scale")
    for name in (*names, "correlations"):
        same(getattr(loaded, name), getattr(result, name))
    assert loaded.components.equals(result.components)
    rows = rows[0] if "background" in result.objective.needs else rows
    same(as_arrays(loaded.transform(rows)), as_arrays(result.transform(rows)))
    if result.predictors and result.objective.traits.predicts:
        first = rows[0] if isinstance(rows, tuple) else rows
        np.testing.assert_array_equal(loaded.predict(first), result.predict(first))
    if result.model is not None and result.features is None:
        assert loaded.model.score(rows) == result.model.score(rows)


def as_arrays(Y):
    return tuple(np.asarray(y) for y in (Y if isinstance(Y, tuple) else (Y,)))


def test_an_objective_of_ones_own_is_code(tmp_path):
    @ldr.objective
    def spread(M, Z):
        return -((Z @ M) ** 2).sum()

    result = ldr.solve(spread, X[:, :3], 1, certify=False)
    with pytest.raises(ArgumentError, match=r"cannot be saved.*your own code.*P and mean"):
        result.save(tmp_path / "model.npz")
    own = ldr.solve(ldr.kernel("pca", metric=lambda a, b: float(a @ b), components=5), X, 1)
    with pytest.raises(ArgumentError, match="cannot be saved"):
        own.save(tmp_path / "model.npz")
    assert os.listdir(tmp_path) == []


def test_labels_of_numpy_are_kept_in_parameters(tmp_path):
    y = np.where(labels == 2, -1, labels)
    result = ldr.solve("semi-supervised-da", X, 1, y=y, unlabelled=np.int64(-1))
    result.save(tmp_path / "model.npz")
    assert ldr.load(tmp_path / "model.npz").objective == result.objective


def test_what_does_not_fit_is_refused(tmp_path):
    path = tmp_path / "model.npz"
    result = ldr.solve("pca", pandas.DataFrame(X).rename(columns="c{}".format), 2)
    with pytest.raises(ArgumentError, match=r"a model is an .npz file, got the ending '.pkl'"):
        result.save(tmp_path / "model.pkl")
    with pytest.raises(FileNotFoundError):
        ldr.load(path)
    result.save(path)
    with pytest.raises(ArgumentError, match="the columns of X must have"):
        ldr.load(path).transform(pandas.DataFrame(X).rename(columns="other{}".format))
    with pytest.raises(ArgumentError, match="X has 12 columns, expected 13"):
        ldr.load(path).transform(X[:, 1:])
    dated = ldr.solve("lda", X, 1, y=np.array([date(2000, 1, 1 + k) for k in labels], dtype=object))
    with pytest.raises(ArgumentError, match="labels that are neither numbers nor text"):
        dated.save(path)
    whole = path.read_bytes()
    for content in (b"", b"no archive", *(whole[:end] for end in range(300, len(whole), 150))):
        (tmp_path / "bad.npz").write_bytes(content)
        with pytest.raises(DataError, match=r"bad\.npz is not a model of ldr, or is damaged"):
            ldr.load(tmp_path / "bad.npz")
    np.savez(tmp_path / "other.npz", X=X)
    with pytest.raises(DataError, match="not a model of ldr"):
        ldr.load(tmp_path / "other.npz")
    with np.load(path) as archive:
        arrays = dict(archive)
    np.savez(path, **{**arrays, "array0": np.zeros((1, 1)), "unread": np.zeros(3)})
    with pytest.raises(DataError, match=r"array0 is not of shape .*: the file is damaged"):
        ldr.load(path)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"format": 99, "ldr": "9.0"}, "written by ldr 9.0 in file format 99.*use a newer ldr"),
        (
            {"result": {"kind": "Novelty", "fields": {}}},
            r"this version of ldr cannot read model\.npz",
        ),
        ({"result": {"objective": "pca", "parameters": {}}}, "holds a PCA, expected a Result"),
        ({"result": {"objective": "novelty", "parameters": {}}}, "cannot read .*'novelty'"),
    ],
)
def test_what_a_later_version_wrote_is_refused(tmp_path, changed, message):
    path = tmp_path / "model.npz"
    ldr.solve("pca", X, 2).save(path)
    with np.load(path) as archive:
        arrays = dict(archive)
    header = json.loads(str(arrays.pop("ldr_model")))
    np.savez(path, ldr_model=np.array(json.dumps(header | changed)), **arrays)
    with pytest.raises(DataError, match=message):
        ldr.load(path)


def test_files_of_version_0_9_have_no_shapes(tmp_path):
    path, result = tmp_path / "model.npz", ldr.solve("pca", X, 2)
    result.save(path)
    with np.load(path) as archive:
        arrays = dict(archive)
    header = re.sub(r', "shape": [^}]*}', "}", str(arrays.pop("ldr_model")))
    header = header.replace('"format": 2', '"format": 1')
    np.savez(path, ldr_model=np.array(header), **arrays)
    np.testing.assert_array_equal(ldr.load(path).P, result.P)


def test_nothing_in_a_file_is_executed(tmp_path):
    path = tmp_path / "model.npz"
    np.savez(path, ldr_model=np.array([print], dtype=object))
    assert zipfile.is_zipfile(path)
    with pytest.raises(DataError, match="not a model of ldr"):
        ldr.load(path)


def test_a_file_is_whole_or_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "model.npz"
    first = ldr.solve("pca", X, 2)
    first.save(path)

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(OSError, match="No space left"):
        ldr.solve("pca", X, 3).save(path)
    assert ldr.load(path).r == 2 and os.listdir(tmp_path) == ["model.npz"]
