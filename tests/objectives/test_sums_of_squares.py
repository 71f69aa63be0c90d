"""Values that are sums of squares: never negative, and right where they are small differences.

References are singular values and residuals of the rows in extended precision.
"""

import numpy as np
import pytest

import ldr
from ldr.objectives import LPP, OLPP, ONPP, PCA, OrthogonalLPP, OrthogonalNPE
from tests.adversarial.extended import centred, svd
from tests.adversarial.references import Gaussian

SEEDS = range(6)


def scaled(seed, n=20, d=5):
    """Columns in units from 1e-5 to 1e5."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) @ rng.standard_normal((d, d))
    return X * 10.0 ** rng.integers(-5, 6, d)


@pytest.mark.parametrize("seed", SEEDS)
def test_all_directions_leave_nothing_and_not_less(seed):
    X = scaled(seed)
    total = np.sum((X - X.mean(axis=0)) ** 2)
    for objective in ("pca", 3.0 * PCA()):
        for data in (X, X.T @ np.eye(20, 12)):  # 5 rows of 12 columns: 4 directions
            r = min(len(data) - 1, data.shape[1])
            assert 0.0 <= ldr.solve(objective, data, r).value < 1e-25 * total
    assert ldr.solve("pca", X, 5, solver="trust-region").value >= 0.0


@pytest.mark.parametrize("seed", SEEDS)
def test_classes_of_few_rows_vary_by_nothing_and_not_less_in_some_directions(seed):
    X, labels = np.random.default_rng(seed).standard_normal((12, 30)), np.arange(12) % 4
    objectives = OLPP("classes"), ONPP("classes"), LPP("classes"), 2.0 * OLPP("classes")
    for ratio in (OrthogonalLPP("classes"), OrthogonalNPE("classes")):
        assert 0.0 <= ldr.solve(ratio, X, 3, y=labels).value < 1e-13
    for objective in objectives:  # 12 rows less their mean, less 8 directions within the classes
        assert 0.0 <= ldr.solve(objective, X, 3, y=labels).value < 1e-13 * np.sum(X**2)


@pytest.mark.parametrize("seed", SEEDS)
def test_an_exact_regression_leaves_nothing_and_not_less(seed):
    X = np.random.default_rng(seed).standard_normal((30, 5))
    Y = X @ np.random.default_rng(seed + 1).standard_normal((5, 4))
    total = np.sum(Y**2)
    assert 0.0 <= ldr.solve("reduced-rank-regression", (X, Y), 4).value < 1e-13 * total
    assert 0.0 <= ldr.solve("least-squares", X, 4, y=Y).value < 1e-13 * total
    components = ldr.solve("principal-components-regression", X, 5, y=Y)
    assert 0.0 <= components.parameters["residual"] < 1e-13 * total


@pytest.mark.parametrize("larger", [1e3, 1e5, 1e7])
def test_beside_a_column_far_larger_the_others_keep_their_digits(larger):
    X = np.random.default_rng(1).standard_normal((20, 5)) @ np.diag([larger, 1, 2, 3, 4])
    squares = svd(centred(X))[1] ** 2
    for r in (1, 2, 4):
        best = float(np.sum(squares[r:]))
        assert ldr.solve("pca", X, r).value == pytest.approx(best, rel=1e-11)
        likelihood = ldr.solve("ppca", X, r)
        assert likelihood.value == pytest.approx(float(Gaussian(centred(X), r).optimum), rel=1e-13)
        noise = best / len(X) / (5 - r)
        assert likelihood.parameters["noise_variance"] == pytest.approx(noise, rel=1e-12)
