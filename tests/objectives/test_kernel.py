"""Kernel versions: a feature map before every linear objective."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import ldr
from ldr.errors import ArgumentError, DataError
from ldr.objectives.data import memory
from ldr.objectives.registry import named
from tests import real_data
from tests.objectives.methods import RANDOM, by_kind, name_of

KEYS = [
    key
    for key in RANDOM
    if name_of(key) not in ("mds-distances", "exponential-family-pca")
    and not key.endswith(("derivatives", "missing"))
]


def first(X):
    return X[0] if isinstance(X, tuple) else X


def kernel_case(key, **options):
    X, y, parameters = RANDOM[key]
    if "ridge" in type(named(name_of(key))).__dataclass_fields__:
        parameters = {**parameters, "ridge": 1e-3}  # or the features fit any labels
    if "epsilon" in parameters:
        parameters = {**parameters, "epsilon": 1.2}
    objective = ldr.kernel(named(name_of(key), **parameters), "rbf", gamma=0.02, **options)
    return objective, X, y


@pytest.mark.parametrize("key", by_kind(KEYS, also=["opca", "sfa quadratic"]))
def test_every_method_has_a_kernel_version(key):
    check_kernel_version(key, 15)


@pytest.mark.parametrize("key", ["pca", "orthogonal-lda", "orthogonal-cca", "ica", "opca"])
def test_features_of_all_rows(key):
    check_kernel_version(key, None)


def check_kernel_version(key, components):
    objective, X, y = kernel_case(key, components=components)
    result = ldr.solve(objective, X, 2, y=y, max_iterations=200, certify=False)
    assert result.improvement >= -1e-9
    assert any("kernel" in note for note in result.notes)
    pair = isinstance(result.P, tuple)
    new = tuple(v[:5] + 0.1 for v in X) if pair else first(X)[:5] + 0.1
    for Y in result.transform(new) if pair else (result.transform(new),):
        assert Y.shape == (5, 2) and np.isfinite(Y).all()


@pytest.mark.parametrize(
    "key", ["pca", "orthogonal-lda", "cca", "orthogonal-maf", "sir", "opca", "pls"]
)
def test_a_linear_kernel_changes_nothing(key):
    X, y, parameters = RANDOM[key]
    linear = ldr.solve(name_of(key), X, 2, y=y, **parameters)
    by_kernel = ldr.solve(ldr.kernel(named(name_of(key), **parameters), "linear"), X, 2, y=y)
    if key != "opca":  # whose noise has its moment about zero, features about their mean
        assert by_kernel.value == pytest.approx(linear.value, rel=1e-8)


@pytest.mark.smoke
def test_nystrom_with_all_rows_is_exact():
    X, y = real_data.wine()
    lda = ldr.objectives.OrthogonalLDA(ridge=1e-3)
    exact = ldr.solve(ldr.kernel(lda, "rbf", gamma=0.01), X[::2], 2, y=y[::2])
    allrows = ldr.solve(ldr.kernel(lda, "rbf", gamma=0.01, components=500), X[::2], 2, y=y[::2])
    assert allrows.value == exact.value
    few = [
        ldr.solve(ldr.kernel("pca", "rbf", gamma=0.01, components=m), X, 2).baseline
        for m in (20, 100)
    ]
    assert all(np.isfinite(few))


def test_a_gaussian_kernel_far_from_zero_keeps_its_digits():
    far = 1e5 + np.random.default_rng(0).standard_normal((40, 20))
    values = [ldr.solve(ldr.kernel("pca", gamma=0.05), X, 2).value for X in (far, far - 1e5)]
    assert values[0] == pytest.approx(values[1], rel=1e-12)


def test_more_dimensions_than_columns():
    X, _ = real_data.wine()
    result = ldr.solve(ldr.kernel("pca", "rbf", gamma=0.1), X, 40)
    assert result.transform(X).shape == (178, 40)
    with pytest.raises(ArgumentError, match="out of range"):
        ldr.solve(ldr.kernel("pca", "rbf", gamma=0.1, components=20), X, 40)


def test_training_rows_are_transformed_like_new_ones():
    X, y = real_data.wine()
    result = ldr.solve(ldr.kernel("lda", "rbf", gamma=0.01), X, 2, y=y)
    np.testing.assert_allclose(result.transform(X)[7:9], result.transform(X[7:9]), atol=1e-6)


def test_sparse_rows_and_blocks_are_those_in_memory():
    X = real_data.digits()[0][:300]
    kernel = ldr.kernel("pca", "rbf", gamma=0.001)
    expected = ldr.solve(kernel, X, 3).value
    for given in (csr_array(X), lambda: iter([X[:25], X[25:]])):
        assert ldr.solve(kernel, given, 3).value == pytest.approx(expected, rel=1e-9)


def test_mistakes_are_named():
    X = real_data.wine()[0]
    with pytest.raises(ArgumentError, match="distances"):
        ldr.kernel("mds-distances")
    with pytest.raises(ArgumentError, match="components"):
        ldr.kernel("pca", components=0)
    with pytest.raises(ArgumentError, match="unknown objective"):
        ldr.kernel("pcaa")
    with pytest.raises(ArgumentError, match="is not a kernel; expected one of"):
        ldr.kernel("pca", "no such kernel")
    with pytest.raises(ArgumentError, match="kernel 'chi2'"):
        ldr.solve(ldr.kernel("pca", "chi2"), -X, 2)


def test_a_kernel_matrix_that_does_not_fit_is_refused_once_rows_are_counted(monkeypatch):
    X = np.random.default_rng(0).standard_normal((400, 3))
    monkeypatch.setattr(memory, "SMALL", 0)
    monkeypatch.setattr(memory, "available", lambda: (1e5, "a test"))
    for given in (X, lambda: iter([X]), csr_array(X)):
        with pytest.raises(
            DataError, match=r"kernel pca, with 8 arrays of 400 x 400 numbers, .* MiB"
        ):
            ldr.solve(ldr.kernel("pca"), given, 2)
