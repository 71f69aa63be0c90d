"""Blocks of rows added one at a time: the projection of all of them."""

import pickle
from functools import partial
from itertools import pairwise
from operator import add

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import ldr
from ldr.errors import ArgumentError, DataError, SingularError
from ldr.estimators import ESTIMATORS, Reducer
from ldr.objectives import REGISTRY
from ldr.objectives.data.data import as_tuple
from ldr.objectives.data.opening import as_samples
from ldr.objectives.data.stored import AccumulatedSamples
from tests.objectives import methods

N = methods.N
CUTS = [0, 25, 26, 40, 58, N]


def _estimator(key):
    _, _, parameters = methods.RANDOM[key]
    return ESTIMATORS[methods.name_of(key)](2, **parameters)


KEYS = [
    key
    for key in methods.RANDOM
    if hasattr(_estimator(key), "partial_fit") and "missing" not in key
]


def _arguments(key, where=slice(None)):
    """What `fit` and `partial_fit` take, of some rows."""
    X, y, _ = methods.RANDOM[key]
    if "background" in REGISTRY[methods.name_of(key)].needs:
        stop = None if where.stop in (None, N) else where.stop * len(X[1]) // N
        background = X[1][where.start and where.start * len(X[1]) // N : stop]
        return (X[0][where],), {"background": background}
    if isinstance(X, tuple):
        first, *others = (view[where] for view in X)
        return (first, others[0] if len(others) == 1 else others), {}
    return tuple(part if part is None else part[where] for part in (X, y)), {}


def _blocks(key, cuts=CUTS):
    return [_arguments(key, slice(a, b)) for a, b in pairwise(cuts)]


def test_methods_of_sums_have_it():
    names = {methods.name_of(key) for key in KEYS}
    assert {"pca", "lda", "orthogonal-cca", "maf", "least-squares", "fa", "opca"} <= names
    for name in ("uica", "sir", "lpp", "nca"):
        assert not hasattr(ESTIMATORS[name](), "partial_fit")
    assert not hasattr(ldr.SFA(degree=2), "partial_fit")
    assert hasattr(Reducer("pca"), "partial_fit") and not hasattr(Reducer("nca"), "partial_fit")
    assert not hasattr(Reducer(ldr.kernel("pca")), "partial_fit")


@pytest.mark.parametrize(
    "key", [pytest.param(k, marks=[pytest.mark.slow] * k.startswith("sparse")) for k in KEYS]
)
def test_equals_fit_on_all_rows(key):
    whole, parts = _estimator(key), _estimator(key)
    arguments, keywords = _arguments(key)
    whole.fit(*arguments, **keywords)
    classes = {}
    if "labels" in REGISTRY[methods.name_of(key)].needs:
        classes = {"classes": np.unique(arguments[1])}
    for block, extra in _blocks(key):
        assert parts.partial_fit(*block, **extra, **classes) is parts
    assert parts.n_samples_seen_ == N
    assert parts.result_.value == pytest.approx(whole.result_.value, rel=1e-10)
    views = zip(as_tuple(parts.components_), as_tuple(whole.components_), strict=True)
    for P, Q in views:  # alike up to a rotation of the coordinates
        np.testing.assert_allclose(P.T @ P, Q.T @ Q, rtol=0, atol=1e-8 * np.abs(Q.T @ Q).max())
    for m, n in zip(as_tuple(parts.mean_), as_tuple(whole.mean_), strict=True):
        np.testing.assert_allclose(m, n, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("lag", [1, 7])
def test_blocks_of_a_time_series_may_be_shorter_than_the_lag(lag):
    parts = ldr.OrthogonalMAF(2, lag=lag).partial_fit(methods.X[:30])
    for t in range(30, N, 3):
        parts.partial_fit(methods.X[t : t + 3])
    whole = ldr.OrthogonalMAF(2, lag=lag).fit(methods.X)
    assert parts.result_.value == pytest.approx(whole.result_.value, rel=1e-10)


def test_labels_are_those_of_the_first_call():
    X, y = methods.X, np.array(["a", "b", "c"])[methods.LABELS]
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    with pytest.raises(DataError, match=r"label 'c', which is not one of the classes.*classes="):
        ldr.OrthogonalLDA().partial_fit(X[:35], y[:35]).partial_fit(X[35:], y[35:])
    parts = ldr.OrthogonalLDA()
    with pytest.raises(ValueError, match=r"class 2 of 3 has no samples"):
        parts.partial_fit(X[:35], y[:35], classes=["c", "a", "b"])
    assert not hasattr(parts, "n_samples_seen_")
    parts.partial_fit(X[::2], y[::2], classes=["c", "a", "b"])
    with pytest.raises(DataError, match=r"differ from the classes of the first call"):
        parts.partial_fit(X[1::2], y[1::2], classes=["a", "b"])
    parts.partial_fit(X[1::2][:25], y[1::2][:25]).partial_fit(X[1::2][25:], y[1::2][25:])
    whole = ldr.OrthogonalLDA().fit(X, y)
    assert parts.result_.value == pytest.approx(whole.result_.value, rel=1e-10)


def test_a_block_that_is_refused_is_not_counted():
    X = methods.X
    parts = ldr.PCA(2).partial_fit(X[:30])
    before = parts.components_
    spoiled = X[30:].copy()
    spoiled[3, 1] = np.inf
    for wrong in (spoiled, X[30:, :4]):
        with pytest.raises(ValueError, match=r"infinite|features"):
            parts.partial_fit(wrong)
    assert parts.n_samples_seen_ == 30 and parts.components_ is before
    parts.partial_fit(X[30:])
    value = ldr.PCA(2).fit(X).result_.value
    assert parts.result_.value == pytest.approx(value, rel=1e-12)
    with pytest.raises(DataError, match=r"missing values.*use fit"):
        ldr.PPCA(2).partial_fit(methods.GAPS)
    with pytest.raises(SingularError):
        ldr.OrthogonalLDA().partial_fit(np.ones((8, 3)), [0, 1] * 4)


def test_fit_begins_anew():
    X = methods.X
    estimator = ldr.PCA(2).partial_fit(X[:30]).fit(X[30:])
    assert not hasattr(estimator, "n_samples_seen_")
    with pytest.warns(UserWarning, match=r"partial_fit ignores the samples given to fit"):
        estimator.partial_fit(X[:30])
    assert estimator.n_samples_seen_ == 30
    value = ldr.PCA(2).fit(X[:30]).result_.value
    assert estimator.result_.value == pytest.approx(value, rel=1e-12)
    assert not hasattr(clone(estimator), "n_samples_seen_")


def test_goes_on_after_a_rest_in_a_file():
    X = pd.DataFrame(methods.X).add_prefix("x")
    parts = pickle.loads(pickle.dumps(ldr.PCA(2).partial_fit(X[:30]))).partial_fit(X[30:])
    assert list(parts.feature_names_in_) == list(X.columns)
    value = ldr.PCA(2).fit(X).result_.value
    assert parts.result_.value == pytest.approx(value, rel=1e-12)


def test_rows_are_not_kept():
    rng = np.random.default_rng(0)
    estimator = ldr.PCA(2).partial_fit(rng.standard_normal((1000, 5)))
    size = len(pickle.dumps(estimator))
    for _ in range(5):
        estimator.partial_fit(rng.standard_normal((1000, 5)))
    assert len(pickle.dumps(estimator)) < 1.1 * size < 5000 * 8


def test_sparse_blocks():
    import scipy.sparse

    X = np.where(methods.X > 1.0, methods.X, 0.0)
    parts = ldr.PCA(2)
    for start, stop in ((0, 20), (20, N)):
        parts.partial_fit(scipy.sparse.csr_array(X[start:stop]))
    assert parts.result_.value == pytest.approx(ldr.PCA(2).fit(X).result_.value, rel=1e-12)


def test_sums_that_depend_on_the_rows_seen_are_refused():
    first = AccumulatedSamples.of(as_samples(methods.X[:30]), {})
    first.reduce(partial(_sums_about, 1.0), add)
    second = AccumulatedSamples.of(as_samples(methods.X[30:]), first.totals)
    np.testing.assert_allclose(
        second.reduce(partial(_sums_about, 1.0), add), (methods.X - 1.0).sum(axis=0)
    )
    with pytest.raises(ArgumentError, match="cannot be fitted to one block of rows"):
        second.reduce(partial(_sums_about, 2.0), add)


def _sums_about(centre, rows):
    return (rows.dense() - centre).sum(axis=0)
