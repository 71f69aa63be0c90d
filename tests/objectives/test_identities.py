"""The identities between methods, on random and on real data."""

import numpy as np
import pytest
import scipy.linalg
from scipy.spatial.distance import pdist, squareform

import ldr
from ldr.objectives import graphs
from ldr.objectives.data.opening import as_samples
from tests import real_data
from tests.objectives import methods
from tests.objectives.methods import bound

RNG = np.random.default_rng(0)
DATA = {
    "random": (methods.X, methods.LABELS),
    "wine": real_data.wine(),
    "tumours": (real_data.standardised(real_data.breast_cancer()[0]), real_data.breast_cancer()[1]),
}


@pytest.fixture(params=DATA)
def labelled(request):
    return DATA[request.param]


def orthonormal(d, r):
    return np.linalg.qr(RNG.standard_normal((d, r)))[0]


def same_span(A, B, tolerance=1e-7):
    Qa, Qb = (np.linalg.qr(Z)[0] for Z in (A, B))
    return np.linalg.norm(Qa - Qb @ (Qb.T @ Qa)) < tolerance


def total_distance(Y):
    return 2.0 * float(np.sum(pdist(Y) ** 2))


def test_mds_is_pca(labelled):
    X = labelled[0]
    pca, mds = ldr.solve("pca", X, 3), ldr.solve("mds", X, 3)
    from_distances = ldr.solve("mds-distances", squareform(pdist(X)), 3)
    Y = mds.transform(X)
    assert mds.value == pytest.approx(total_distance(Y), rel=1e-10)
    assert from_distances.value == pytest.approx(mds.value, rel=1e-10)
    scores = from_distances.transform(squareform(pdist(X)))
    for other in (pca.transform(X), scores):
        np.testing.assert_allclose(other @ other.T, Y @ Y.T, atol=1e-8 * np.abs(Y @ Y.T).max())


def test_new_points_by_their_distances():
    X = real_data.wine()[0]
    D = squareform(pdist(X))
    result = ldr.solve("mds-distances", D[:150, :150], 13)
    Y = result.transform(D[:, :150])
    np.testing.assert_allclose(squareform(pdist(Y)), D, atol=1e-6)


@pytest.mark.parametrize("heat", [None, "median", 3.0])
def test_neighbours_distances_are_the_laplacian(labelled, heat):
    X = labelled[0]
    W = graphs.neighbour_graph(as_samples(X), 8, heat)
    problem = bound("olpp", X, 2, graph=W)
    M = orthonormal(X.shape[1], 2)
    Y = X @ M
    dense = W.toarray()
    pairs = float(np.sum(dense * squareform(pdist(Y)) ** 2))
    value = problem.at(problem.lower([M])).value
    assert 2.0 * value == pytest.approx(pairs, rel=1e-9)
    assert bound("olpp", X, 2, neighbours=8, heat=heat).at(M).value == pytest.approx(value)


def test_lda_and_sir(labelled):
    X, y = labelled
    n, classes = len(X), len(np.unique(y))
    lda = ldr.solve("lda", X, classes - 1, y=y)
    sir = ldr.solve("sir", X, classes - 1, y=y)
    assert same_span(lda.P.T, sir.P.T, 1e-6)
    _, W = _scatters(X, y)
    B = np.cov(X.T, bias=True) * n - W
    mu = scipy.linalg.eigh(B, W, eigvals_only=True)[::-1][: classes - 1]
    assert lda.value == pytest.approx(mu.sum(), rel=1e-8)
    assert sir.value == pytest.approx(np.sum(mu / (1 + mu)), rel=1e-8)
    more = ldr.solve("lda", X, classes + 1, y=y)
    assert more.value == pytest.approx(lda.value, rel=1e-8)
    assert any("informative" in note for note in more.notes)


def _scatters(X, y):
    W = sum(np.cov(X[y == k].T, bias=True) * np.sum(y == k) for k in np.unique(y))
    return np.cov(X.T, bias=True) * len(X) - W, W


RATIOS = ["orthogonal-lda", "orthogonal-maf", "orthogonal-lpp", "orthogonal-npe", "orthogonal-sfa"]


@pytest.mark.parametrize("name", RATIOS)
def test_the_heuristic_of_one_dimension_is_the_optimum(name, labelled):
    X, y = labelled
    assert ldr.solve(name, X, 1, y=y).improvement == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("apart", [1.0, 1e-6])
def test_slow_features_of_given_derivatives_are_eigenvectors(apart):
    """Whatever linear map is applied to the columns and their derivatives."""
    X, slopes = RNG.standard_normal((2, 60, 5))
    values = scipy.linalg.eigh(slopes.T @ slopes, np.cov(X.T, bias=True), eigvals_only=True)
    T = np.eye(5)
    T[:, 1] = T[:, 0] + apart * T[:, 1]
    result = ldr.solve("sfa", X @ T, 2, derivatives=slopes @ T, whiten=True)
    assert result.value == pytest.approx(values[:2].sum(), rel=1e-9)


def test_trace_ratios_are_not_nested_and_eigen_solutions_are():
    X, y = real_data.digits()
    one, two = (ldr.solve("lda", X, r, y=y) for r in (3, 5))
    assert np.linalg.norm(one.P - one.P @ np.linalg.pinv(two.P) @ two.P) < 1e-7
    one, two = (ldr.solve("orthogonal-lda", X, r, y=y) for r in (3, 5))
    assert np.linalg.norm(one.M - two.M @ (two.M.T @ one.M)) > 1e-3


VIEWS = {
    "random": methods.VIEWS,
    "linnerud": real_data.linnerud(),
    "tumours": real_data.tumour_views(),
}


@pytest.mark.parametrize("key", VIEWS)
def test_canonical_correlations(key):
    Xa, Xb = VIEWS[key]
    r = min(Xa.shape[1], Xb.shape[1])
    exact = ldr.solve("cca", (Xa, Xb), r)
    mixed = (
        Xa @ RNG.standard_normal((Xa.shape[1],) * 2) + 3.0,
        Xb @ RNG.standard_normal((Xb.shape[1],) * 2) - 1e3,
    )
    affine = ldr.solve("cca", mixed, r)
    assert affine.value == pytest.approx(exact.value, rel=1e-8)
    Ya, Yb = exact.transform((Xa, Xb))
    assert exact.parameters["mean_correlation"] == pytest.approx(exact.value / r)
    correlations = [np.corrcoef(a, b)[0, 1] for a, b in zip(Ya.T, Yb.T, strict=True)]
    assert sum(correlations) == pytest.approx(exact.value, rel=1e-8)
    np.testing.assert_allclose(Ya.T @ Ya / len(Ya), np.eye(r), atol=1e-8)
    np.testing.assert_allclose(Yb.T @ Yb / len(Yb), np.eye(r), atol=1e-8)
    first = ldr.solve("cca", (Xa, Xb), 1).value
    assert ldr.solve("orthogonal-cca", (Xa, Xb), 1).value == pytest.approx(first, rel=1e-8)
    for k in range(2, r + 1):
        assert ldr.solve("orthogonal-cca", (Xa, Xb), k, certify=False).value <= first + 1e-10


@pytest.mark.parametrize("r", [1, 3])
def test_opca_does_not_see_scales(r):
    X, y = DATA["tumours"]
    signal, noise = X[y == 0], X[y == 1]
    exact = ldr.solve("opca", (signal, noise), r)
    for a, b in ((7.0, 1.0), (1.0, 1e-3)):
        scaled = ldr.solve("opca", (a * signal, b * noise), r)
        assert same_span(scaled.P.T, exact.P.T, 1e-6)
        assert scaled.value == pytest.approx(exact.value * a**2 / b**2, rel=1e-8)
    C = np.cov(signal.T, bias=True)
    R = noise.T @ noise / len(noise)

    def trace_and_logdet(V):
        VCV, VRV = V.T @ C @ V, V.T @ R @ V
        logdet = np.linalg.slogdet(VCV)[1] - np.linalg.slogdet(VRV)[1]
        return np.trace(np.linalg.solve(VRV, VCV)), logdet

    best = trace_and_logdet(exact.P.T)
    assert best[0] == pytest.approx(exact.value, rel=1e-8)
    mixed = trace_and_logdet(exact.P.T @ RNG.standard_normal((r, r)))
    np.testing.assert_allclose(mixed, best, rtol=1e-8)
    for _ in range(20):
        other = trace_and_logdet(exact.P.T + 0.1 * RNG.standard_normal((len(C), r)))
        assert other[0] <= best[0] and other[1] <= best[1]
    # the difference of covariances does see them
    plain, loud = (ldr.solve("signal-noise", (signal, b * noise), r) for b in (1.0, 3.0))
    assert not same_span(plain.M, loud.M, 1e-2)


# Regression
def test_regressions_agree(labelled):
    X = labelled[0]
    rng = np.random.default_rng(2)
    Y = X[:, :4] @ rng.standard_normal((4, 3)) + rng.standard_normal((len(X), 3))
    Xc, Yc = X - X.mean(axis=0), Y - Y.mean(axis=0)
    B = np.linalg.lstsq(Xc, Yc, rcond=None)[0]
    result = ldr.solve("least-squares", X, X.shape[1], y=Y)
    np.testing.assert_allclose(result.M, B, atol=1e-8)
    assert result.value == pytest.approx(np.sum((Yc - Xc @ B) ** 2), rel=1e-9)
    # P = S V' with [I; M'] = U S V': distances of [x; M'x]
    stacked = np.hstack([Xc, Xc @ B])
    Z = result.transform(X)
    np.testing.assert_allclose(Z @ Z.T, stacked @ stacked.T, atol=1e-8 * np.abs(Z @ Z.T).max())
    full = ldr.solve("reduced-rank-regression", (X, Y), 3)
    assert full.value == pytest.approx(result.value, rel=1e-9)
    Pin, Pout = full.P
    np.testing.assert_allclose(Pin.T @ Pout, B, atol=1e-8)
    np.testing.assert_allclose(Pin @ Pin.T, np.diag(np.diag(Pin @ Pin.T)), atol=1e-9)
    values = [ldr.solve("reduced-rank-regression", (X, Y), r).value for r in (1, 2)]
    V = np.linalg.svd(Xc @ B)[2].T
    for r, value in zip((1, 2), values, strict=True):
        reference = np.sum((Yc - Xc @ B @ V[:, :r] @ V[:, :r].T) ** 2)
        assert value == pytest.approx(reference, rel=1e-9)
    components = ldr.solve("principal-components-regression", X, 2, y=Y)
    rrr = ldr.solve("reduced-rank-regression", (X, Y), 2)
    assert rrr.baseline == pytest.approx(components.parameters["residual"], rel=1e-9)
