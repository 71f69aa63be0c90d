"""T2, Q and their limits, and RMSEP, beside programs that share no code.

The programs are those of textbooks: eigenvectors of the covariance for pca, NIPALS for pls.
"""

import math

import numpy as np
import pytest
from scipy import stats
from sklearn.cross_decomposition import PLSRegression

import ldr
from ldr.diagnosis import q_limit
from ldr.errors import ArgumentError, DataError, SingularError
from tests import real_data


def spectra(n=60, d=80, noise=0.02):
    """Sums of three bands whose heights vary, and the height of one of them with an error."""
    rng = np.random.default_rng(3)
    at = np.linspace(0, 1, d)
    bands = np.exp(-(((at - np.array([[0.3], [0.5], [0.7]])) / 0.08) ** 2))
    heights = rng.gamma(3.0, 1.0, (n, 3))
    X = heights @ bands + noise * rng.standard_normal((n, d))
    return X, heights[:, 1] + 0.1 * rng.standard_normal(n)


def jackson_mudholkar(values, level):
    """The limit of Q by its definition, of eigenvalues in a list."""
    theta = [sum(v**m for v in values) for m in (1, 2, 3)]
    h = 1 - 2 * theta[0] * theta[2] / (3 * theta[1] ** 2)
    z = stats.norm.ppf(level)
    inner = z * h * math.sqrt(2 * theta[1]) / theta[0] + 1
    inner += theta[1] * h * (h - 1) / theta[0] ** 2
    return theta[0] * inner ** (1 / h)


def t2_limits(n, r, level):
    new = r * (n * n - 1) / (n * (n - r)) * stats.f(r, n - r).ppf(level)
    own = (n - 1) ** 2 / n * stats.beta(r / 2, (n - r - 1) / 2).ppf(level)
    return own, new


@pytest.mark.parametrize("standardise", [False, True])
@pytest.mark.parametrize("level", [0.95, 0.99])
def test_pca_by_eigenvectors(standardise, level):
    X, _ = spectra()
    new = X[:7] * 1.1
    unit = X.std(axis=0) if standardise else np.ones(X.shape[1])
    Z, W = (X - X.mean(0)) / unit, (new - X.mean(0)) / unit
    values, vectors = np.linalg.eigh(np.cov(Z.T))
    values, P = values[::-1], vectors[:, ::-1][:, :3]
    result = ldr.solve("pca", X, 3, standardise=standardise)
    own, other = t2_limits(len(X), 3, level)
    for rows, given, limit in ((Z, {}, own), (W, {"new": new}, other)):
        found = ldr.diagnose(result, X, level=level, **given)
        np.testing.assert_allclose(found.t2, np.sum((rows @ P) ** 2 / values[:3], axis=1), 1e-8)
        expected = np.sum((rows - rows @ P @ P.T) ** 2, axis=1)
        np.testing.assert_allclose(found.q, expected, rtol=1e-8)
        assert found.t2_limit == pytest.approx(limit, rel=1e-8)
        expected = jackson_mudholkar(values[3:].tolist(), level)
        assert found.q_limit == pytest.approx(expected, rel=1e-8)


def nipals(X, y, r):
    """Scores, and loadings of X and y, of NIPALS for one response; X, y centred."""
    E, found = X.copy(), []
    for _ in range(r):
        w = E.T @ y
        w /= np.linalg.norm(w)
        t = E @ w
        p, q = E.T @ t / (t @ t), y @ t / (t @ t)
        E = E - np.outer(t, p)
        found.append((t, p, q))
    return (np.array(each).T for each in zip(*found, strict=True))


@pytest.mark.parametrize("algorithm", ["simpls", "nipals"])
@pytest.mark.parametrize("data", [spectra, real_data.diabetes])
def test_pls_by_nipals(data, algorithm):
    X, y = data()
    Z, v = X - X.mean(0), y - y.mean()
    T, P, q = nipals(Z, v, 3)
    result = ldr.solve("pls-regression", X, 3, y=y, algorithm=algorithm)
    found = ldr.diagnose(result, X, y)
    t2 = np.sum(T**2 / (np.sum(T**2, axis=0) / (len(X) - 1)), axis=1)
    np.testing.assert_allclose(found.t2, t2, rtol=1e-8)
    E = Z - T @ P.T
    np.testing.assert_allclose(found.q, np.sum(E**2, axis=1), rtol=1e-8)
    values = np.linalg.eigvalsh(E.T @ E / (len(X) - 1))
    assert found.q_limit == pytest.approx(jackson_mudholkar(values.clip(0).tolist(), 0.95), 1e-8)
    assert found.t2_limit == pytest.approx(t2_limits(len(X), 3, 0.95)[0], rel=1e-8)
    assert found.rmse == pytest.approx(np.sqrt(np.mean((v - T @ q) ** 2)), rel=1e-8)


def test_rmsep_is_of_new_samples():
    X, y = spectra()
    result = ldr.solve("pls-regression", X[:40], 3, y=y[:40])
    found = ldr.diagnose(result, X[:40], y[40:], new=X[40:])
    errors = y[40:] - PLSRegression(3, scale=False).fit(X[:40], y[:40]).predict(X[40:])
    assert found.rmse == pytest.approx(np.sqrt(np.mean(errors**2)), rel=1e-8)
    Y = np.column_stack([y, y**2])
    both = ldr.diagnose(ldr.solve("pls-regression", X, 3, y=Y), X, Y)
    assert both.rmse.shape == (2,) and "RMSE" in repr(both)


def test_samples_outside_are_those_that_were_moved():
    X, _ = spectra()
    within, beside = X.copy(), X.copy()
    within[5] = X.mean(0) + 8 * (X[5] - X.mean(0))
    beside[7] += np.linspace(-1, 1, X.shape[1])
    result = ldr.solve("pca", X, 3)
    assert ldr.diagnose(result, X, new=within, level=0.999).outside[5]
    found = ldr.diagnose(result, X, new=beside, level=0.999)
    assert found.q[7] > 100 * found.q_limit and found.outside[7]


def test_the_limit_of_q_with_a_negative_power_and_with_none():
    values = np.r_[1.0, np.full(400, 0.01)]
    h = 1 - 2 * values.sum() * np.sum(values**3) / (3 * np.sum(values**2) ** 2)
    assert h < -0.5 and q_limit(values, 0.95) > values.sum()
    level = np.mean(stats.chi2(1).rvs((4000, 401), random_state=0) @ values < q_limit(values, 0.95))
    assert 0.93 < level < 0.985  # with |h| in the place of h none is below
    # The normal approximation of (Q / mean)^h gives no finite limit for many small values.
    assert q_limit(np.r_[1.0, np.full(3000, 1e-3)], 0.99) == math.inf
    flat = [np.array([1.0, s, s]) for s in (0.2, 0.2 + 1e-9)]
    assert q_limit(flat[0], 0.95) == pytest.approx(q_limit(flat[1], 0.95), rel=1e-6)


@pytest.mark.parametrize(("n", "of_q"), [(30, 0.87), (100, 0.93), (500, 0.95)])
def test_how_many_new_samples_the_limits_held(n, of_q):
    rng, held = np.random.default_rng(0), []
    for _ in range(30):
        W = 2 * rng.standard_normal((3, 20))
        X, new = (rng.standard_normal((m, 3)) @ W + rng.standard_normal((m, 20)) for m in (n, 1000))
        found = ldr.diagnose(ldr.solve("pca", X, 3, certify=False), X, new=new)
        held.append([np.mean(found.q <= found.q_limit), np.mean(found.t2 <= found.t2_limit)])
    np.testing.assert_allclose(np.mean(held, axis=0), [of_q, 0.95], atol=0.015)


def test_limits_where_nothing_is_left_and_refusals():
    X, y = real_data.diabetes()
    whole = ldr.diagnose(ldr.solve("pca", X, 10), X)
    assert math.isnan(whole.q_limit) and whole.outside.sum() == np.sum(whole.t2 > whole.t2_limit)
    result = ldr.solve("pca", X, 3)
    with pytest.raises(ArgumentError, match="level must be"):
        ldr.diagnose(result, X, level=95)
    with pytest.raises(ArgumentError, match=r"result must be a Result of ldr\.solve, got ndarray"):
        ldr.diagnose(X, result)
    assert ldr.diagnose(result, X).rmse is None
    with pytest.raises(DataError, match=r"y has shape \(442, 2\), expected \(442,\)"):
        ldr.diagnose(ldr.solve("pls-regression", X, 2, y=y), X, np.column_stack([y, y]))
    with pytest.raises(ArgumentError, match="predicts nothing"):
        ldr.diagnose(result, X, y)
    with pytest.raises(DataError, match="5 or more"):
        ldr.diagnose(result, X[:4])
    with pytest.raises(SingularError, match="collinear"):
        ldr.diagnose(result, np.outer(np.arange(20.0), np.ones(10)))
    with pytest.raises(ArgumentError, match="a single view"):
        ldr.diagnose(ldr.solve("cca", (X[:, :5], X[:, 5:]), 2), X)


def test_the_picture():
    X, y = spectra()
    result = ldr.solve("pls-regression", X, 3, y=y)
    figure = ldr.diagnose(result, X, y).plot()
    assert [ax.get_xlabel() for ax in figure.axes] == ["Hotelling's T2", "measured"]
    assert len(ldr.diagnose(result, X).plot().axes) == 1
    far = X.copy()
    far[0] *= 1e4
    panel = ldr.diagnose(result, X, new=far).plot().axes[0]
    assert panel.get_xscale() == panel.get_yscale() == "log"


def robust_rows(n, rng):
    axes = np.linalg.qr(np.random.default_rng(1).standard_normal((20, 3)))[0]
    scores = rng.standard_normal((n, 3)) * [5.0, 3.0, 2.0]
    return scores @ axes.T + 0.5 * rng.standard_normal((n, 20))


@pytest.mark.parametrize("distance", [3.0, 30.0, 300.0])
def test_outliers_do_not_hide_each_other_from_robust_pca(distance):
    rng = np.random.default_rng(0)
    rows = robust_rows(215, rng)
    rows[:20, 0] += 5.0 * distance  # all in one direction, which pca follows
    robust = ldr.solve("robust-pca", rows, 3, sphere=True)
    found = ldr.diagnose(robust, rows, level=0.99)
    assert found.outside[:20].all() and found.outside[20:].mean() < 0.06
    usual = ldr.diagnose(ldr.solve("pca", rows, 3), rows, level=0.99)
    assert usual.outside[:20].mean() < 0.9
    new = ldr.diagnose(robust, rows, new=robust_rows(2000, rng), level=0.95)
    assert 0.85 < (new.t2 <= new.t2_limit).mean() < 0.98
    assert 0.85 < (new.q <= new.q_limit).mean() < 0.995  # 9 % of outliers widen it


def test_robust_limits_in_units_of_the_standard_deviations():
    rows = robust_rows(215, np.random.default_rng(0)) * np.geomspace(1.0, 100.0, 20)
    found = ldr.diagnose(ldr.solve("robust-pca", rows, 3, standardise=True), rows)
    scaled = rows / rows.std(axis=0)
    expected = ldr.diagnose(ldr.solve("robust-pca", scaled, 3), scaled)
    np.testing.assert_allclose(found.q, expected.q, rtol=1e-6)
    assert found.q_limit == pytest.approx(expected.q_limit, rel=1e-6)
    np.testing.assert_allclose(found.t2, expected.t2, rtol=1e-4)
