"""Bootstraps of the subspace."""

from dataclasses import replace

import numpy as np
import pytest
import scipy
from sklearn.datasets import load_diabetes

import ldr
from ldr.errors import ArgumentError, ConvergenceWarning
from ldr.inference.bootstrap import bias_corrected
from ldr.objectives import named
from ldr.resampling import Sampled
from ldr.solvers.manifolds import polar_factor
from ldr.subspaces import distance
from tests import real_data
from tests.ldr.plots.test_plots import draws
from tests.objectives import methods

X, labels = real_data.wine()


def factors(n, noise, seed=0):
    rng = np.random.default_rng(seed)
    A = np.linalg.qr(rng.standard_normal((6, 2)))[0]
    return rng.standard_normal((n, 2)) * [3, 2] @ A.T + noise * rng.standard_normal((n, 6))


def test_angle_is_that_of_the_asymptotic_distribution():
    """r = 1, d = 2: sin^2 of the angle is near l1 l2 / (n (l1 - l2)^2) chi^2_1 (Anderson 1963)."""
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((400, 2)) * [3.0, 1.0]
    found = ldr.bootstrap("pca", Z, 1, draws=200, random_state=0)
    l2, l1 = np.linalg.eigvalsh(np.cov(Z.T))
    expected = np.sqrt(l1 * l2 / (400 * (l1 - l2) ** 2))
    assert np.sqrt(np.mean(found.angles**2)) == pytest.approx(expected, rel=0.15)


@pytest.mark.smoke
def test_draws_are_solutions_of_drawn_rows():
    found = ldr.bootstrap("orthogonal-lda", X, 2, y=labels, draws=3, random_state=5)
    rng = np.random.default_rng(5)
    sampled = Sampled.of(named("orthogonal-lda"), X, labels, "bootstrap")
    for k in range(3):
        drawn, y = sampled.drawn(rng, None)
        np.testing.assert_array_equal(np.bincount(y), np.bincount(labels))
        result = ldr.solve("orthogonal-lda", drawn, 2, y=y, tolerance=1e-8)
        assert found.values[k] == pytest.approx(result.value, rel=1e-9)
        angles = ldr.subspaces.principal_angles(result.P.T, found.result.P.T)
        np.testing.assert_allclose(found.angles[k], angles, atol=1e-5)
    assert found.converged.all() and "principal angles in degrees" in repr(found)


def test_two_views_have_angles_each():
    found = ldr.bootstrap("pls", real_data.linnerud(), 2, draws=5, random_state=0)
    assert [angles.shape for angles in found.angles] == [(5, 2), (5, 2)]
    assert "of view b" in repr(found)
    named = dict(zip(("exercise", "body"), real_data.linnerud(), strict=True))
    called = ldr.bootstrap("pls", named, 2, draws=5, random_state=0)
    np.testing.assert_allclose(called.angles, found.angles)
    assert "of view body in degrees" in repr(called)
    path = ldr.path("pls", named, [1], folds=2, random_state=0)
    assert path.results[0].view_names == ("exercise", "body")
    labels = [panel.get_xlabel() for panel in called.plot().axes]
    assert labels == ["principal angle of view exercise", "principal angle of view body"]


def test_background_is_drawn_too():
    target, noise = X[:60], X[60:120]
    fixed = Sampled.of(named("opca"), (target, noise), None, "bootstrap")
    (_, drawn), _ = fixed.drawn(np.random.default_rng(0), None)
    rows = {tuple(row) for row in drawn.dense()}
    assert len(rows) < 60 and rows <= {tuple(row) for row in noise}
    found = ldr.bootstrap("opca", (target, noise), 1, draws=5, random_state=0)
    assert found.angles.min() > 0


def test_time_series_need_blocks():
    with pytest.raises(ArgumentError, match=r"rows in time order.*pass block="):
        ldr.bootstrap("orthogonal-maf", methods.X, 2)
    with pytest.raises(ArgumentError, match="block = 61 is too long"):
        ldr.bootstrap("orthogonal-maf", methods.X, 2, block=61)
    sampled = Sampled.of(named("orthogonal-maf"), np.arange(60.0)[:, None], None, "bootstrap")
    drawn, _ = sampled.drawn(np.random.default_rng(0), 7)
    steps = np.diff(drawn.dense()[:, 0])
    assert drawn.n == 60 and np.sum(steps != 1) <= 8
    found = ldr.bootstrap("orthogonal-maf", methods.X, 2, block=60, draws=3, random_state=0)
    np.testing.assert_allclose(found.angles, 0, atol=1e-6)  # one block is all rows


@pytest.mark.parametrize(
    "objective", ["mds-distances", ldr.kernel("pca"), ldr.objectives.SFA(whiten=True, degree=2)]
)
def test_what_belongs_to_the_rows_is_refused(objective):
    data = methods.DISTANCES if objective == "mds-distances" else methods.X[:, :3]
    block = None if objective == "mds-distances" else 9
    with pytest.raises(ArgumentError, match=r"takes distances|feature map"):
        ldr.bootstrap(objective, data, 2, draws=2, block=block)


def test_draws_that_do_not_converge_are_counted(monkeypatch):
    monkeypatch.setattr("ldr.solvers.LBFGS.default_max_iterations", 2)
    options = {"y": labels, "draws": 3, "solver": "lbfgs", "random_state": 0}
    with pytest.warns(ConvergenceWarning, match="iteration limit"):
        found = ldr.bootstrap("orthogonal-lda", X, 2, **options)
    assert f"  {np.sum(~found.converged)} draws did not converge" in repr(found).splitlines()


def test_trials_are_left_out_as_wholes():
    ids = np.repeat(np.arange(5), 12)
    options = {"groups": ids, "draws": 2, "bca": True, "random_state": 0}
    found = ldr.bootstrap("orthogonal-maf", methods.X, 1, **options)
    assert len(found.without) == 5
    kept = ldr.solve("orthogonal-maf", methods.X[ids != 3], 1, groups=ids[ids != 3]).P
    assert distance(found.without[3].T, kept.T) < 1e-6


def test_stretches_of_a_series_are_left_out():
    found = ldr.bootstrap("sfa", methods.X, 1, block=7, draws=2, bca=True, random_state=0)
    assert len(found.without) == len(methods.X) // 7


def test_bad_draws():
    with pytest.raises(ArgumentError, match="draws must be a whole number"):
        ldr.bootstrap("pca", X, 2, draws=0)


def test_plot_of_a_bootstrap():
    found = ldr.bootstrap("pls", real_data.linnerud(), 2, draws=9, random_state=0)
    figure = found.plot()
    assert len(figure.axes) == 2 and draws(figure)
    for ax, angles in zip(figure.axes, found.angles, strict=True):
        medians = np.degrees(np.median(angles, axis=0))
        np.testing.assert_allclose(ax.lines[0].get_ydata(), medians)
        wide = np.array([segment[:, 1] for segment in ax.collections[0].get_segments()])
        np.testing.assert_allclose(wide, np.degrees(np.quantile(angles, (0.05, 0.95), axis=0)).T)


SPREADS = np.array([4.0, 2.5, 1.0, 0.7, 0.5])
TURN = np.linalg.qr(np.random.default_rng(99).standard_normal((5, 5)))[0]
CENTRES = np.array([[0.0, 0, 0, 0, 0], [2, 0, 1, 0, 0], [0, 2, 0, 1, 0]])
LABELS = np.repeat([0, 1, 2], 130)
WITHIN = 0.3 * np.random.default_rng(5).standard_normal((5, 5)) + np.eye(5)
# Communalities that leave no sample at a variance of zero (Heywood), where BCa does not hold.
LOADINGS = np.array([[0.9, 0.8, 0.7, 0.8, 0, 0, -0.2, 0], [0.2, 0, 0, 0, 0.6, 0.7, 0.5, 0.6]]).T
NOISE = np.array([0.3, 0.5, 0.6, 0.4, 0.5, 0.4, 0.6, 0.5])


def planted(name, rng):
    """Rows of a population, and labels."""
    if name == "pca":
        return (rng.standard_normal((400, 5)) * SPREADS) @ TURN.T, None
    if name == "orthogonal-lda":
        return CENTRES[LABELS] + rng.standard_normal((len(LABELS), 5)) @ WITHIN.T, LABELS
    factors = rng.standard_normal((400, 2)) @ LOADINGS.T
    return factors + np.sqrt(NOISE) * rng.standard_normal((400, 8)), None


def map_of_the_population(name):
    """P and the covariance of the population."""
    if name == "pca":
        return TURN[:, :2].T, TURN * SPREADS**2 @ TURN.T
    if name == "orthogonal-lda":
        away = CENTRES - CENTRES.mean(axis=0)
        between, within = away.T @ away / 3, WITHIN @ WITHIN.T
        rho = 0.0
        for _ in range(50):  # Newton's method on the trace ratio
            M = np.linalg.eigh(between - rho * within)[1][:, -2:]
            rho = np.trace(M.T @ between @ M) / np.trace(M.T @ within @ M)
        return M.T, between + within
    C = LOADINGS @ LOADINGS.T + np.diag(NOISE)
    return LOADINGS.T @ np.linalg.inv(C), C


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pca", "orthogonal-lda", "fa"])
def test_intervals_cover_the_map_of_the_population(name):
    P, C = map_of_the_population(name)
    hits = {True: [], False: []}
    for seed in range(100):
        X, y = planted(name, np.random.default_rng(seed))
        found = ldr.bootstrap(name, X, 2, y=y, draws=200, bca=True, random_state=seed)
        own = found.result
        metric = np.eye(len(C)) if own.objective.traits.transposed else C
        true = polar_factor(own.P @ metric @ P.T) @ P
        for bca in (True, False):
            each = found if bca else replace(found, without=None)
            low, high = each.interval(0.9)
            hits[bca].append((low <= true) & (true <= high))
    for shares in hits.values():
        assert 0.86 <= np.mean(shares) <= 0.94, np.mean(shares)


def test_draws_are_turned_towards_the_result():
    X, y = planted("orthogonal-lda", np.random.default_rng(0))
    found = ldr.bootstrap("orthogonal-lda", X, 2, y=y, draws=6, bca=True, random_state=0)
    assert found.maps.shape == (6, 2, 5) and found.without.shape == (100, 2, 5)
    for P in found.maps:
        product = found.result.P @ P.T  # symmetric: no rotation brings them nearer
        np.testing.assert_allclose(product, product.T, atol=1e-12)
    low, high = found.interval(0.8)
    assert (low <= high).all()
    assert found.region(0.5) == np.quantile(found.angles[:, -1], 0.5)
    assert len(found.plot_loadings().axes) == 2
    with pytest.raises(ArgumentError, match="level"):
        found.interval(1.5)


def test_what_bounds_the_optimum_is_said():
    X = load_diabetes().data
    found = ldr.bootstrap("fa", X / X.std(axis=0), 2, draws=2, random_state=0)
    assert "of all rows: Heywood case" in repr(found)


def test_bca_of_a_mean_is_that_of_the_formula():
    """Against scipy's BCa of the mean: the same draws, the same jackknife, the same ends."""
    rng = np.random.default_rng(3)
    x = rng.exponential(size=40)
    other = scipy.stats.bootstrap((x,), np.mean, confidence_level=0.9, rng=rng, method="BCa")
    without = np.array([np.delete(x, k).mean() for k in range(40)])
    ends = bias_corrected(
        other.bootstrap_distribution[:, None], x.mean()[None], without[:, None], 0.9
    )
    assert ends[0][0] == pytest.approx(other.confidence_interval.low, rel=1e-10)
    assert ends[1][0] == pytest.approx(other.confidence_interval.high, rel=1e-10)
