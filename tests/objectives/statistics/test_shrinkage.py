"""shrinkage="auto": Ledoit and Wolf's rule, as scikit-learn's discriminant analysis uses it."""

from dataclasses import replace

import numpy as np
import pytest
import scipy
from scipy.spatial.distance import cdist
from sklearn.covariance import OAS, ShrunkCovariance, ledoit_wolf_shrinkage
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.preprocessing import StandardScaler

import ldr
from ldr.errors import ArgumentError, DataError, SingularError
from ldr.objectives.data.opening import as_samples
from ldr.objectives.data.sample_metadata import Marks
from ldr.objectives.statistics.shrinkage import ledoit_wolf
from tests import real_data


def few_rows():
    """40 rows of 60 columns, three classes."""
    y = np.arange(40) % 3
    return np.random.default_rng(0).standard_normal((40, 60)) + (y == 1)[:, None], y


DATA = {"wine": real_data.wine, "digits": real_data.digits, "few rows": few_rows}


def coefficient(X):
    return ledoit_wolf_shrinkage(StandardScaler().fit_transform(X), assume_centered=True)


@pytest.mark.parametrize("name", DATA)
def test_coefficients_and_components_are_those_of_scikit_learn(name):
    X, y = DATA[name]()
    theirs = LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto").fit(X, y)
    r = len(theirs.classes_) - 1
    result = ldr.solve("lda", X, r, y=y, shrinkage="auto")
    each = [coefficient(X[y == k]) for k in theirs.classes_]
    np.testing.assert_allclose(result.parameters["shrinkage"], each, rtol=1e-12)
    assert result.parameters["of_total"] == pytest.approx(coefficient(X), rel=1e-12)
    ours, scalings = result.P.T, theirs.scalings_[:, :r]
    cosines = np.sum(ours * scalings, axis=0)
    cosines /= np.linalg.norm(ours, axis=0) * np.linalg.norm(scalings, axis=0)
    np.testing.assert_allclose(np.abs(cosines), 1.0, atol=1e-9)
    assert result.certificate.kind == "global"
    assert not any("eigenvalue 0" in note for note in result.notes)


@pytest.mark.parametrize("name", DATA)
def test_all_components_predict_as_scikit_learn_does(name):
    """Which predicts from all of them, however few it projects to."""
    X, y = DATA[name]()
    theirs = LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto").fit(X, y)
    ours = ldr.LDA(n_components=X.shape[1], shrinkage="auto").fit(X, y)
    assert np.array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("given", [{"shrinkage": 0.3}, {"covariance_estimator": OAS()}])
def test_a_number_and_an_estimator_are_those_of_scikit_learn(name, given):
    X, y = DATA[name]()
    theirs = LinearDiscriminantAnalysis(solver="eigen", **given).fit(X, y)
    ours = ldr.LDA(None, store_covariance=True, **given).fit(X, y)
    np.testing.assert_allclose(ours.covariance_, theirs.covariance_, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-9)
    shares = theirs.explained_variance_ratio_
    np.testing.assert_allclose(ours.explained_variance_ratio_[: len(shares)], shares, rtol=1e-9)
    orthogonal = ldr.solve("orthogonal-lda", X, 2, y=y, **given)
    S_W = len(X) * theirs.covariance_
    estimate = OAS() if "covariance_estimator" in given else ShrunkCovariance(shrinkage=0.3)
    S_T = len(X) * estimate.fit(X).covariance_
    traces = [np.trace(orthogonal.M.T @ S @ orthogonal.M) for S in (S_T - S_W, S_W)]
    assert orthogonal.value == pytest.approx(traces[0] / traces[1], rel=1e-9)
    assert orthogonal.certificate.kind == "global"


def test_shrinkage_by_a_number_takes_weights_and_pieces():
    X, y = real_data.wine()
    weights = np.arange(len(X)) % 3
    repeated = np.repeat(np.arange(len(X)), weights)
    for method in ("lda", "orthogonal-lda"):
        weighted = ldr.solve(method, X, 2, y=y, shrinkage=0.3, sample_weight=weights).value
        expected = ldr.solve(method, X[repeated], 2, y=y[repeated], shrinkage=0.3).value
        assert weighted == pytest.approx(expected, rel=1e-10)
        pieces = ldr.solve(method, lambda: iter(np.array_split(X, 7)), 2, y=y, shrinkage=0.3)
        whole = ldr.solve(method, X, 2, y=y, shrinkage=0.3)
        assert pieces.value == pytest.approx(whole.value, rel=1e-10)
    assert not ldr.objectives.LDA(covariance_estimator=OAS()).traits.weighted
    with pytest.raises(ArgumentError, match="Only one of the two can be set"):
        ldr.objectives.LDA(shrinkage=0.3, covariance_estimator=OAS())


def test_orthogonal_lda_is_of_the_same_matrices():
    X, y = few_rows()
    result = ldr.solve("orthogonal-lda", X, 2, y=y, shrinkage="auto", nested=True)
    assert result.certificate.kind == "global"

    def scatter(Z):
        scaler = StandardScaler().fit(Z)
        S, s = np.cov(scaler.transform(Z), rowvar=False, bias=True), coefficient(Z)
        S = (1 - s) * S + s * np.trace(S) / len(S) * np.eye(len(S))
        return len(Z) * scaler.scale_[:, None] * S * scaler.scale_

    B = sum(scatter(X[y == k]) for k in range(3))
    A = scatter(X) - B
    M = result.M
    a, b = np.diag(M.T @ A @ M), np.diag(M.T @ B @ M)
    weights = np.array([2.0, 1.0])
    assert result.value == pytest.approx((a @ weights) / (b @ weights), rel=1e-10)
    assert {"shrinkage", "of_total", "levels"} <= set(result.parameters)


_rng = np.random.default_rng(1)
SERIES = np.cumsum(_rng.standard_normal((50, 4)), axis=0) @ _rng.standard_normal((4, 8))
SERIES += _rng.standard_normal((50, 8))


@pytest.mark.parametrize("name", ["orthogonal-maf", "maf", "orthogonal-sfa", "sir"])
def test_covariances_are_moved_towards_their_diagonal(name):
    y = SERIES[:, 0] if name == "sir" else None
    result = ldr.solve(name, SERIES, 2, y=y, shrinkage="auto")
    s = coefficient(SERIES)
    assert result.parameters["shrinkage"] == pytest.approx(s, rel=1e-12)
    assert result.certificate.kind == "global"
    X = SERIES - SERIES.mean(axis=0)
    C = X.T @ X / 50
    C = (1 - s) * C + s * np.diag(np.diag(C))
    if name == "sir":
        order = np.argsort(y, kind="stable")
        A = sum(np.outer(m, m) for m in X[order].reshape(10, 5, 8).mean(axis=1)) / 10
    elif name == "orthogonal-sfa":  # 49 differences of unrelated rows vary twice as much
        A = (1 - s) * np.diff(X, axis=0).T @ np.diff(X, axis=0)
        A += s * 2 * 49 * np.diag(np.diag(X.T @ X / 50))
    else:
        A = X[:-1].T @ X[1:] / 49
        A = (A + A.T) / 2
    if name in ("sir", "maf"):
        best = scipy.linalg.eigh(A, C, eigvals_only=True)[-2:].sum()
    else:
        best = np.trace(result.P @ A @ result.P.T) / np.trace(result.P @ C @ result.P.T)
    assert result.value == pytest.approx(best, rel=1e-10)
    streamed = ldr.solve(name, lambda: iter(np.array_split(SERIES, 4)), 2, y=y, shrinkage="auto")
    np.testing.assert_allclose(streamed.P, result.P, atol=1e-9 * np.abs(result.P).max())
    labels = np.arange(7) > 3 if name == "sir" else None
    few = ldr.solve(name, SERIES[:7], 1, y=labels, shrinkage="auto")
    assert few.certificate.kind == "global"
    assert few.value > 0.1  # not slow because it does not vary


def shrunk(C, s):
    return (1 - s) * C + s * np.diag(np.diag(C))


def _sqrt_inverse(C):
    values, Q = np.linalg.eigh(C)
    return Q / np.sqrt(values) @ Q.T


@pytest.mark.parametrize("rows", [50, 9])
def test_two_views_are_shrunk_side_by_side(rows):
    X = SERIES[:rows]
    both = X - X.mean(axis=0)
    s = coefficient(X)
    C = shrunk(both.T @ both / rows, s)
    A, K, B = C[:5, :5], C[:5, 5:], C[5:, 5:]
    found = ldr.solve("cca", (X[:, :5], X[:, 5:]), 2, shrinkage="auto")
    canonical = np.linalg.svd(_sqrt_inverse(A) @ K @ _sqrt_inverse(B), compute_uv=False)
    assert found.value == pytest.approx(canonical[:2].sum(), rel=1e-9)
    assert found.parameters["shrinkage"] == pytest.approx(s, rel=1e-12)
    (a, b), scores = found.P, both
    pairs = zip((scores[:, :5] @ a.T).T, (scores[:, 5:] @ b.T).T, strict=True)
    seen = [np.corrcoef(one, other)[0, 1] for one, other in pairs]
    np.testing.assert_allclose(found.directions.columns()["correlation"], seen, rtol=1e-9)
    orthogonal = ldr.solve("orthogonal-cca", (X[:, :5], X[:, 5:]), 2, shrinkage="auto")
    Ma, Mb = orthogonal.M
    scale = np.sqrt(np.trace(Ma.T @ A @ Ma) * np.trace(Mb.T @ B @ Mb))
    assert orthogonal.value == pytest.approx(np.trace(Ma.T @ K @ Mb) / scale, rel=1e-9)
    assert orthogonal.certificate.kind in ("global", "bound")
    assert not any("too few" in note for note in (*found.notes, *orthogonal.notes))


def test_correlations_of_a_view_with_itself_stay_within_one_and_those_of_noise_are_refused():
    found = ldr.solve("cca", (SERIES[:20], SERIES[:20]), 2, shrinkage="auto")
    assert 0.5 < found.value / 2 < 1.0
    X = np.random.default_rng(1).standard_normal((6, 4))
    with pytest.raises(SingularError, match="than those of noise"):
        ldr.solve("orthogonal-cca", (X[:, :2], X[:, 2:]), 1, shrinkage="auto")


def test_many_views_are_shrunk_side_by_side():
    X = DATA["wine"]()[0][:30]
    places = (slice(4), slice(4, 8), slice(8, None))
    views, s = tuple(X[:, own] for own in places), coefficient(X)
    C = shrunk(np.cov(X.T, bias=True), s)
    blocks = scipy.linalg.block_diag(*(C[own, own] for own in places))
    found = ldr.solve("mcca", views, 2, shrinkage="auto")
    assert found.parameters["shrinkage"] == pytest.approx(s, rel=1e-9)
    eigenvalues = scipy.linalg.eigh(C, blocks, eigvals_only=True)[-2:]
    assert found.value == pytest.approx(1.5 * np.sum(eigenvalues - 1.0), rel=1e-9)
    orthogonal = ldr.solve("orthogonal-mcca", views, 2, shrinkage="auto")
    M = scipy.linalg.block_diag(*orthogonal.M)
    traces = np.einsum("iajb,ab->ij", (M.T @ C @ M).reshape(3, 2, 3, 2), np.eye(2))
    sizes = np.sqrt(np.diag(traces))
    value = np.triu(traces / sizes / sizes[:, None], 1).sum()
    assert orthogonal.value == pytest.approx(value, rel=1e-9)
    assert orthogonal.parameters["shrinkage"] == pytest.approx(s, rel=1e-9)
    for two, many in (("orthogonal-cca", "orthogonal-mcca"), ("cca", "mcca")):
        a, b = (ldr.solve(name, views[:2], 2, shrinkage="auto") for name in (two, many))
        assert a.value == pytest.approx(b.value, rel=1e-9)


def test_pairs_of_rows_are_shrunk():
    s, lag = coefficient(SERIES), 2
    D = np.diag(SERIES.var(axis=0))
    first, later = SERIES[:-lag], SERIES[lag:]
    both = np.vstack([first, later])
    m = both.mean(axis=0)
    C0 = np.cov(both.T, bias=True)
    lagged = (first - m).T @ (later - m) / len(first)
    moved = (1 - s) * C0 + s * np.diag(np.mean(np.diag(C0) / np.diag(D)) * np.diag(D))
    values = scipy.linalg.eigh(0.5 * (lagged + lagged.T), moved, eigvals_only=True)
    found = ldr.solve("tica", SERIES, 2, lag=lag, shrinkage="auto")
    assert found.value == pytest.approx(values[-2:].sum(), rel=1e-9)
    assert found.parameters["shrinkage"] == pytest.approx(s, rel=1e-9)
    Z = np.hstack([first, later])
    C = (1 - s) * np.cov(Z.T, bias=True) + s * np.kron(np.eye(2), D)
    roots = [_sqrt_inverse(C[w, w]) for w in (slice(8), slice(8, None))]
    sigma = np.linalg.svd(roots[0] @ C[:8, 8:] @ roots[1], compute_uv=False)
    vamp = ldr.solve("vamp", SERIES, 2, lag=lag, shrinkage="auto")
    assert vamp.value == pytest.approx(1.0 + np.sum(sigma[:2] ** 2), rel=1e-9)
    assert vamp.parameters["shrinkage"] == pytest.approx(s, rel=1e-9)
    assert ldr.solve("vamp", SERIES, 2, lag=lag).value > vamp.value


def graph_of(X, k=5):
    near = np.argsort(cdist(X, X), axis=1)[:, 1 : k + 1]
    W = np.zeros((len(X), len(X)))
    np.put_along_axis(W, near, 1.0, axis=1)
    return W


@pytest.mark.parametrize("name", ["lpp", "orthogonal-lpp", "npe", "orthogonal-npe"])
def test_graphs_keep_what_neighbours_share(name):
    """A and B are moved towards one diagonal, in the units of rows unrelated to neighbours."""
    X = SERIES - SERIES.mean(axis=0)
    s, W, n = coefficient(SERIES), graph_of(SERIES), len(SERIES)
    if "lpp" in name:
        W = np.maximum(W, W.T)
        D = np.diag(W.sum(axis=1))
        A, B, unrelated = X.T @ (D - W) @ X, X.T @ D @ X, 1.0
        deviations = X.std(axis=0)  # B's diagonal is not the covariance's
        diagonal = np.mean(np.diag(B) / deviations**2) * deviations**2
    else:
        W /= W.sum(axis=1, keepdims=True)
        left = np.eye(n) - W
        A, B, unrelated = X.T @ left.T @ left @ X, X.T @ X, np.sum(left**2) / n
        diagonal = np.diag(B)
    A = (1 - s) * A + s * unrelated * np.diag(diagonal)
    B = (1 - s) * B + s * np.diag(diagonal)
    found = ldr.solve(name, SERIES, 2, graph=scipy.sparse.csr_array(W), shrinkage="auto")
    if "orthogonal" in name:
        P = found.P
        assert found.value == pytest.approx(np.trace(P @ A @ P.T) / np.trace(P @ B @ P.T), rel=1e-9)
    else:
        least = scipy.linalg.eigh(A, B, eigvals_only=True)[:2].sum()
        assert found.value == pytest.approx(least, rel=1e-9)
    assert found.parameters["shrinkage"] == pytest.approx(s, rel=1e-12)
    assert found.certificate.kind == "global"


def test_independent_rows_are_no_neighbours_of_one_another_however_little_varies():
    """Of few rows B alone, moved, makes what hardly varies the smoothest of all."""
    X = np.random.default_rng(0).standard_normal((12, 30))
    shrunken, ridged = (
        ldr.solve("lpp", X, 1, neighbours=3, **by) for by in ({"shrinkage": "auto"}, {"ridge": 0.5})
    )
    assert shrunken.value > 0.5 > ridged.value


def test_slices_noise_and_labelled_rows():
    X, n = SERIES - SERIES.mean(axis=0), len(SERIES)
    s = coefficient(SERIES)
    y = np.arange(n) // 10
    C = X.T @ X / n
    root = _sqrt_inverse(shrunk(C, s))
    parts = [np.cov(X[y == k].T, bias=True) for k in range(5)]
    sum_of_squares = sum(
        (root @ (C - part) @ root @ root @ (C - part) @ root) / 5 for part in parts
    )
    found = ldr.solve("save", SERIES, 2, y=y.astype(str), shrinkage="auto")
    best = np.linalg.eigvalsh(sum_of_squares)[-2:].sum()
    assert found.value == pytest.approx(best, rel=1e-9)

    signal, noise = SERIES[::2], SERIES[1::2] + 3.0
    unit = np.sqrt(np.mean(noise**2, axis=0))
    of_noise = ledoit_wolf_shrinkage(noise / unit, assume_centered=True)
    R = shrunk(noise.T @ noise / len(noise), of_noise)
    found = ldr.solve("opca", (signal, noise), 2, shrinkage="auto")
    C = np.cov(signal.T, bias=True)
    best = scipy.linalg.eigh(C, R, eigvals_only=True)[-2:].sum()
    assert found.value == pytest.approx(best, rel=1e-9)
    assert found.parameters["shrinkage"] == pytest.approx(of_noise, rel=1e-12)

    W = np.maximum(graph_of(SERIES), graph_of(SERIES).T)
    L = np.diag(W.sum(axis=1)) - W
    labels = np.where(np.arange(n) < 30, y, -1)
    known = X[:30] - X[:30].mean(axis=0)
    total = 30 * shrunk(known.T @ known / 30, coefficient(SERIES[:30]))
    means = np.array([known[y[:30] == k].mean(axis=0) for k in range(3)])
    B = total + 0.1 * X.T @ L @ X
    found = ldr.solve(
        "semi-supervised-da", SERIES, 2, y=labels, graph=scipy.sparse.csr_array(W), shrinkage="auto"
    )
    best = scipy.linalg.eigh(10 * means.T @ means, B, eigvals_only=True)[-2:].sum()
    assert found.value == pytest.approx(best, rel=1e-9)


def test_a_ridge_leaves_the_directions_that_shrinkage_adds():
    """With fewer labelled rows than columns the optimum is outside of the span of the rows."""
    X, y = few_rows()
    X = X * np.arange(1.0, 61.0)
    found = ldr.solve("semi-supervised-da", X, 2, y=y, mu=0.0, shrinkage="auto", ridge=1e-6)
    Z = X - X.mean(axis=0)
    means = np.array([Z[y == k].mean(axis=0) for k in range(3)])
    between = (means.T * np.bincount(y)) @ means
    s, sizes = coefficient(X), np.sum(Z**2, axis=0)
    B = (1.0 - s) * Z.T @ Z + s * np.diag(sizes) + 1e-6 * sizes.mean() * np.eye(60)
    best = scipy.linalg.eigh(between, B, eigvals_only=True)[-2:].sum()
    assert found.value == pytest.approx(best, rel=1e-9)

    signal, noise = X[:8], X[8:18] + 3.0
    found = ldr.solve("opca", (signal, noise), 2, shrinkage="auto", ridge=1e-6)
    squares = np.mean(noise**2, axis=0)
    s = ledoit_wolf_shrinkage(noise / np.sqrt(squares), assume_centered=True)
    R = (1.0 - s) * noise.T @ noise / 10 + s * np.diag(squares) + 1e-6 * squares.mean() * np.eye(60)
    best = scipy.linalg.eigh(np.cov(signal.T, bias=True), R, eigvals_only=True)[-2:].sum()
    assert found.value == pytest.approx(best, rel=1e-9)


def test_columns_and_groups_that_are_constant():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 3))
    X[:, 1] = 5.0
    found = ledoit_wolf(as_samples(X))
    assert found.coefficients[0] == pytest.approx(coefficient(X), rel=1e-12)
    assert np.isfinite(found.added).all()
    alone = ledoit_wolf(as_samples(X[:, :1]))
    assert alone.coefficients[0] == 0.0


def test_what_it_is_not_for():
    X, y = real_data.wine()
    with pytest.raises(ArgumentError, match="equal weight"):
        ledoit_wolf(replace(as_samples(X), marks=Marks(np.arange(1.0, len(X) + 1))))
    with pytest.raises(DataError, match="iterator"):
        ldr.solve("orthogonal-lda", iter(np.array_split(X, 3)), 2, y=y, shrinkage="auto")
    assert not hasattr(ldr.OrthogonalLDA(shrinkage="auto"), "partial_fit")
    many = ldr.solve_many("orthogonal-lda", np.stack([X, X]), 2, y=y, shrinkage="auto")
    assert many.alone == 2
    assert many.values[0] == pytest.approx(
        ldr.solve("orthogonal-lda", X, 2, y=y, shrinkage="auto").value
    )
