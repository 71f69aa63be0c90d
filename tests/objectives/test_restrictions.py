"""What is claimed of M that a solver saw in a subspace only: "global" holds over all columns.

References are d x d matrices and their eigenvalues, made here from the data.
"""

import numpy as np
import pytest
import scipy.sparse

import ldr

RNG = np.random.default_rng(5)
# Rows that change sign from one to the next: most lagged covariances are negative.
ALTERNATING = RNG.standard_normal((6, 20)) * (-1.0) ** np.arange(6)[:, None]
SIGNAL, NOISE = RNG.standard_normal((4, 30)), 3.0 * RNG.standard_normal((5, 30))


def centred(X):
    return X - X.mean(axis=0)


def lagged(X, lag):
    Z = centred(X)
    products = Z[:-lag].T @ Z[lag:] / (len(Z) - lag)
    return 0.5 * (products + products.T)


def covariance(X):
    return centred(X).T @ centred(X) / len(X)


INDEFINITE = {
    "autocovariance": (ALTERNATING, lagged(ALTERNATING, 1)),
    "squared-difference": (ALTERNATING, covariance(ALTERNATING) - lagged(ALTERNATING, 1)),
    "signal-noise": ((SIGNAL, NOISE), covariance(SIGNAL) - covariance(NOISE)),
    "contrastive-pca": ((SIGNAL, NOISE), covariance(SIGNAL) - covariance(NOISE)),
}


@pytest.mark.parametrize("r", [1, 4, 15])
@pytest.mark.parametrize("name", INDEFINITE)
def test_indefinite_traces_of_few_rows_reach_the_optimum_over_all_columns(name, r):
    X, A = INDEFINITE[name]
    options = {"extreme": "max"} if name == "squared-difference" else {}
    best = np.sort(np.linalg.eigvalsh(A))[::-1][:r].sum()
    for solver in ("auto", "trust-region"):
        result = ldr.solve(name, X, r, solver=solver, **options)
        assert result.value == pytest.approx(best, rel=1e-9, abs=1e-12)
        assert np.trace(result.M.T @ A @ result.M) == pytest.approx(best, rel=1e-9, abs=1e-12)
        assert np.abs(result.M.T @ result.M - np.eye(r)).max() < 1e-14
        assert result.certificate.kind == "global"
        assert result.certificate.gap < 1e-9 * np.abs(A).max()


def test_indefinite_traces_of_few_sparse_rows_reach_the_optimum_over_all_columns():
    X = scipy.sparse.csr_array(RNG.standard_normal((8, 60)) * (RNG.random((8, 60)) < 0.3))
    best = np.sort(np.linalg.eigvalsh(lagged(X.toarray(), 1)))[::-1][:6].sum()
    result = ldr.solve("autocovariance", X, 6)
    assert result.value == pytest.approx(best, rel=1e-10) and result.certificate.kind == "global"


def test_with_fewer_rows_than_columns_a_negative_autocovariance_is_not_kept():
    X = np.eye(3, 8) - 1.0  # any lagged pair of centred rows is at an obtuse angle
    result = ldr.solve("autocovariance", X, 3)
    assert result.value >= -1e-15
    kept = centred(X) @ result.P.T
    assert np.abs(kept).max() < 1e-7
