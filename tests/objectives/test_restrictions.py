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
    # one direction of the rows has autocovariance 0, as those outside their span have
    kept = centred(X) @ result.P.T
    assert (np.sum(kept[:-1] * kept[1:], axis=0) >= -1e-14).all()


def within(X, y):
    return sum(centred(X[y == k]).T @ centred(X[y == k]) for k in np.unique(y))


def steps(X):
    return np.diff(X, axis=0).T @ np.diff(X, axis=0)


LABELS = np.arange(12) % 3
CLASSES = {"graph": "classes"}
# name -> parameters, the matrix A, and B of a ratio
TRACES = {
    "pca": ({}, lambda X: len(X) * covariance(X)),
    "sfa": ({}, steps),
    "squared-difference": ({}, lambda X: covariance(X) - lagged(X, 1)),
    "olpp": (CLASSES, lambda X: within(X, LABELS)),
    "onpp": (CLASSES, lambda X: within(X, LABELS)),
}
RATIOS = {
    "orthogonal-lda": (
        {},
        lambda X: len(X) * covariance(X) - within(X, LABELS),
        lambda X: within(X, LABELS),
    ),
    "orthogonal-maf": ({}, lambda X: lagged(X, 1), covariance),
    "orthogonal-sfa": ({}, steps, covariance),
    "orthogonal-lpp": (CLASSES, lambda X: within(X, LABELS), lambda X: len(X) * covariance(X)),
    "orthogonal-npe": (CLASSES, lambda X: within(X, LABELS), lambda X: len(X) * covariance(X)),
}


def constant_column():
    X = np.cumsum(np.random.default_rng(1).standard_normal((12, 5)), axis=0)
    X[:, 1] = 3.0
    return X


def few_rows():
    return np.cumsum(np.random.default_rng(2).standard_normal((12, 15)), axis=0)


def everything_varies():
    return np.cumsum(np.random.default_rng(3).standard_normal((12, 4)), axis=0)


DATA = [constant_column, few_rows, everything_varies]


def check_claim(result, best):
    """ "global" where the value is the best over all columns, "restricted" where it is not."""
    if abs(best) < 1e-12 and abs(result.value) < 1e-12:
        pytest.skip("nothing varies within the classes in r directions: rounding decides")
    if np.isclose(result.value, best, rtol=1e-9, atol=0.0):
        assert result.certificate.kind == "global"
        return
    better = best - result.value if result.objective.sense == "max" else result.value - best
    assert better > 0
    assert result.certificate.kind == "restricted"
    assert result.certificate.message.startswith("global within the ")
    assert "restricted (gap" in repr(result)


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("r", [1, 3])
@pytest.mark.parametrize("name", TRACES)
def test_traces_are_global_exactly_where_no_direction_outside_is_better(name, r, data):
    (parameters, matrix), X = TRACES[name], data()
    A = matrix(X)
    values = np.linalg.eigvalsh(A)
    best = np.trace(A) - values[-r:].sum() if name == "pca" else values[:r].sum()
    best = 0.0 if abs(best) < 1e-12 * np.abs(values).max() else best
    check_claim(ldr.solve(name, X, r, y=LABELS, **parameters), best)


def best_ratio(A, B, r, V):
    """The largest tr(M'AM)/tr(M'BM), over all columns, by Newton's iteration from below.

    A and B vanish outside the span of V, where computed ratios are of rounding: as many of the r
    columns as there is room for may lie there.
    """
    A, B = (V.T @ matrix @ V for matrix in (A, B))
    singular = len(B) - np.linalg.matrix_rank(B, hermitian=True)
    best = -np.inf
    for inside in range(max(1, r - (V.shape[0] - V.shape[1])), min(r, V.shape[1]) + 1):
        if inside <= singular:
            return np.inf
        M = np.linalg.eigh(B)[1][:, -inside:]
        for _ in range(50):
            rho = np.trace(M.T @ A @ M) / np.trace(M.T @ B @ M)
            M = np.linalg.eigh(A - rho * B)[1][:, -inside:]
        best = max(best, rho)
    return best


@pytest.mark.parametrize("ridge", [0.0, 0.01, 1.0])
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("r", [1, 2, 4])
@pytest.mark.parametrize("name", RATIOS)
def test_ratios_are_global_exactly_where_no_direction_outside_is_better(name, r, data, ridge):
    (parameters, *matrices), X = RATIOS[name], data()
    A, B = (matrix(X) for matrix in matrices)
    if name == "orthogonal-lda" and data is few_rows and r < 4 and ridge == 0:
        pytest.skip("the ratio is unbounded")
    if name == "orthogonal-lda" and r == 4 and data is everything_varies:
        pytest.skip("r = d")
    varying = np.linalg.matrix_rank(covariance(X), hermitian=True)
    ridged = B + ridge * np.trace(B) / varying * np.eye(len(B))
    V = np.linalg.eigh(covariance(X))[1][:, -varying:] if ridge == 0 else np.eye(len(B))
    result = ldr.solve(name, X, r, y=LABELS, ridge=ridge, **parameters)
    sign = 1.0 if result.objective.sense == "max" else -1.0
    check_claim(result, sign * best_ratio(sign * A, ridged, r, V))


def test_columns_in_very_different_units_hide_no_restriction():
    X = np.random.default_rng(6).standard_cauchy((6, 6))
    X *= 10.0 ** np.array([-5, 0, 7, -2, 7, 2])
    X[:, 1] = 1.0
    claim = ldr.solve("orthogonal-maf", X, 3).certificate
    assert claim.kind == "restricted" and "the range of the covariance" in claim.message


def test_cca_of_a_view_with_a_constant_column_is_global_for_one_pair_only():
    Xa, Xb = RNG.standard_normal((2, 30, 4))
    Xa[:, 0] = Xb[:, 1] = 2.0
    assert ldr.solve("orthogonal-cca", (Xa, Xb), 1).certificate.kind == "global"
    claim = ldr.solve("orthogonal-cca", (Xa, Xb), 3, starts=4).certificate
    assert claim.kind != "global" and "within the range of the covariance" in claim.message


def test_whitened_traces_are_restricted_where_they_have_no_bound():
    """Class means that differ where nothing varies within the classes."""
    X = RNG.standard_normal((12, 4))
    X[:, 2] = LABELS
    assert ldr.solve("lda", X, 1, y=LABELS).certificate.kind == "restricted"
    X[:, 2] = 1.0
    assert ldr.solve("lda", X, 1, y=LABELS).certificate.kind == "global"


def test_save_with_a_ridge_finds_nothing_in_what_does_not_vary():
    """Outside the span of the rows z is 0, in each slice as in all."""
    X = few_rows()
    for ridge in (0.0, 1.0):
        claim = ldr.solve("save", X, 11, y=LABELS.astype(str), ridge=ridge).certificate
        assert claim.kind == "global"


def test_save_with_a_ridge_is_blind_to_what_varies_little_and_alike_in_all_slices():
    rng = np.random.default_rng(0)
    y = rng.standard_normal(2000)
    X = rng.standard_normal((2000, 3)) * [1.0, 1.0, 0.01]
    X[:, 0] *= y
    P = ldr.solve("save", X, 1, y=y, ridge=0.1).P
    assert abs(P[0, 0]) > 10 * np.abs(P[0, 1:]).max()


def test_sums_claim_no_more_than_their_terms():
    X = few_rows()
    pca, olpp = ldr.objectives.PCA(), ldr.objectives.OLPP("classes")
    for total, kind in (
        (2 * pca, "global"),
        (-pca, "restricted"),
        (2 * olpp, "restricted"),
        (pca + olpp, "global"),  # max tr(M'(X'X - S_W)M)
        (olpp - 1e-3 * pca, "restricted"),
        (pca - ldr.objectives.Autocovariance(), "restricted"),  # the span is all they share
    ):
        assert ldr.solve(total, X, 4, y=LABELS).certificate.kind == kind, total
