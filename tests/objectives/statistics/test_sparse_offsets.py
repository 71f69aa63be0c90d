"""Sparse rows with nearly full columns whose mean is large against their spread.

X'X - n mean mean' loses every digit there; references are sums in extended precision.
"""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from ldr.objectives import statistics
from ldr.objectives.data.data import Samples
from ldr.objectives.data.opening import as_samples
from ldr.objectives.data.sample_metadata import Marks
from ldr.objectives.graphs import laplacian, residuals
from ldr.objectives.statistics.covariance import CovarianceOperator
from ldr.objectives.statistics.products import Squares, shifted_classes, shifted_rows
from tests.objectives.statistics.references import OFFSETS, centred, error, extended
from tests.objectives.statistics.references import offset as rows

N = 300
LABELS = np.arange(N) % 3


def both(offset, n=N):
    X = rows(offset, n)
    return X, as_samples(sp.csr_array(X))


@pytest.mark.parametrize("offset", OFFSETS)
def test_products_with_the_covariance_keep_the_digits(offset):
    X, sparse = both(offset)
    Z = centred(extended(X))
    C, operator = Z.T @ Z / N, CovarianceOperator.of(sparse)
    assert error(operator @ np.eye(X.shape[1]), C) < 1e-12
    assert abs(operator.trace / np.trace(C) - 1) < 1e-14


@pytest.mark.parametrize("kinds", ["ss", "sd", "ds", "dds"])
@pytest.mark.parametrize("offset", OFFSETS)
def test_cross_scatters_keep_the_digits(offset, kinds):
    X = rows(offset)
    views = [
        as_samples(sp.csr_array(v) if kind == "s" else v)
        for kind, v in zip(kinds, (X[:, ::2], X[:, 1::2], X), strict=False)
    ]
    Z = centred(extended(X))
    found = statistics.view_moments(views)
    Za, Zb = Z[:, ::2], Z[:, 1::2]
    scale = np.sqrt(np.outer(np.sum(Za**2, axis=0), np.sum(Zb**2, axis=0)))
    assert np.abs((found.block(0, 1) - Za.T @ Zb) / scale).max() < 1e-13
    assert error(found.block(0, 0), Za.T @ Za) < 1e-13


@pytest.mark.parametrize("offset", OFFSETS)
def test_graph_scatters_keep_the_digits(offset):
    X, sparse = both(offset, 60)
    rng = np.random.default_rng(1)
    W = np.triu(rng.random((60, 60)) * (rng.random((60, 60)) < 0.2), 1)
    W = W + W.T
    Z = centred(extended(X))
    D = np.diag(W.sum(axis=1))
    mean = statistics.mean(sparse)
    laplace = statistics.linked_form(sparse, laplacian(sp.csr_array(W)), [mean])
    degree = statistics.diagonal_forms(sparse, [W.sum(axis=1)], [mean])[0]
    assert error(laplace, Z.T @ (D - W) @ Z, Z.T @ D @ Z) < 1e-12
    # the mean that is subtracted is rounded, and D is not blind to it
    assert error(degree, Z.T @ D @ Z) < 1e-12 + 1e-15 * offset
    R = Z - (W / W.sum(axis=1, keepdims=True)) @ Z
    weights = sp.csr_array(W / W.sum(axis=1, keepdims=True))
    found = statistics.linked_form(sparse, Squares(residuals(weights)), [mean])
    assert error(found, R.T @ R) < 1e-12 + 1e-15 * offset


@pytest.mark.parametrize("offset", OFFSETS)
def test_the_row_space_keeps_the_digits(offset):
    X = rows(offset, 40)
    wide = np.hstack([np.delete(X, 2, axis=1), np.zeros((40, 60))])
    space = statistics.row_space(as_samples(sp.csr_array(wide)))
    Z = np.asarray(centred(extended(wide)), dtype=float)
    T, basis = space.scores, space.lift(np.eye(space.k))
    assert np.abs(T @ basis.T - Z).max() < 1e-9 * np.linalg.norm(Z)
    assert np.abs(basis.T @ basis - np.eye(space.k)).max() < 1e-6


def test_the_shift_keeps_the_rows_sparse_and_constant_columns_exact():
    X = rows(1e6)
    X[:, 1] = 0.1
    sparse = as_samples(sp.csr_array(X))
    for shifted, shift in (shifted_rows(sparse), shifted_classes(sparse, LABELS, LABELS.max() + 1)):
        restored = shifted.toarray() + (shift if shift.ndim == 1 else shift[LABELS])
        assert np.allclose(restored, X, rtol=1e-15)
        assert shifted.nnz <= 26 / 25 * sparse.array.nnz
        assert not shift[..., 4:].any() and shifted[:, [1]].nnz == 0
    scatter = statistics.moments(sparse).scatter
    assert not scatter[1].any()


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("kind", ["a heavy row", "zero where columns are empty"])
def test_weighted_scatters_keep_the_digits(offset, kind):
    rng = np.random.default_rng(2)
    X, w = offset + rng.standard_normal((N, 4)), np.where(np.arange(N) == 7, 1e6, 1e-5)
    X[:, 0] = offset
    if kind.startswith("zero"):
        empty = rng.random(N) < 0.4
        X[empty], w = 0.0, np.where(empty, 0.0, 1.0)
    Z, v = extended(X), w.astype(np.longdouble)
    Z = Z - v @ Z / v.sum()
    samples = as_samples(sp.csr_array(X))
    found = statistics.moments(replace(samples, marks=Marks(w))).scatter
    assert not found[0].any()
    assert error(found[1:, 1:], ((v[:, None] * Z).T @ Z)[1:, 1:]) < 1e-13
    codes = np.arange(N) % 3
    within = statistics.class_moments(replace(samples, marks=Marks(w)), codes, 3).within
    of_classes = [
        statistics.moments(Samples(X[codes == k], marks=Marks(w[codes == k]))) for k in range(3)
    ]
    expected = sum(each.scatter for each in of_classes)
    assert not within[0].any()
    assert error(within[1:, 1:], expected[1:, 1:]) < 1e-13
    views = Samples(sp.csr_array(X[:, :2]), marks=Marks(w)), Samples(X[:, 2:])
    joint = statistics.view_moments(views).scatter
    assert error(joint[1:, 1:], ((v[:, None] * Z).T @ Z)[1:, 1:]) < 1e-13
