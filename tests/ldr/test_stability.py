"""Bootstraps of the subspace."""

import numpy as np
import pytest

import ldr
from ldr.errors import ArgumentError
from ldr.objectives import named
from ldr.resampling import Sampled
from tests import real_data
from tests.ldr.test_plots import draws
from tests.objectives import methods

X, labels = real_data.wine()
X = real_data.standardised(X)


def factors(n, noise, seed=0):
    rng = np.random.default_rng(seed)
    A = np.linalg.qr(rng.standard_normal((6, 2)))[0]
    return rng.standard_normal((n, 2)) * [3, 2] @ A.T + noise * rng.standard_normal((n, 6))


def test_angles_shrink_as_one_over_the_root_of_n():
    medians = [
        ldr.bootstrap("pca", factors(n, 0.5), 2, draws=60, random_state=0).quantiles(0.5)[1]
        for n in (100, 1600)
    ]
    assert medians[0] / medians[1] == pytest.approx(4, rel=0.4)


def test_angle_is_that_of_the_asymptotic_distribution():
    """r = 1, d = 2: sin^2 of the angle is near l1 l2 / (n (l1 - l2)^2) chi^2_1 (Anderson 1963)."""
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((400, 2)) * [3.0, 1.0]
    found = ldr.bootstrap("pca", Z, 1, draws=400, random_state=0)
    l2, l1 = np.linalg.eigvalsh(np.cov(Z.T))
    expected = np.sqrt(l1 * l2 / (400 * (l1 - l2) ** 2))
    assert np.sqrt(np.mean(found.angles**2)) == pytest.approx(expected, rel=0.15)


@pytest.mark.smoke
def test_draws_are_solutions_of_drawn_rows():
    found = ldr.bootstrap("lda", X, 2, y=labels, draws=3, random_state=5)
    rng = np.random.default_rng(5)
    sampled = Sampled.of(named("lda"), X, labels, "bootstrap")
    for k in range(3):
        drawn, y = sampled.draw(rng, None)
        np.testing.assert_array_equal(np.bincount(y), np.bincount(labels))
        result = ldr.solve("lda", drawn, 2, y=y, tolerance=1e-8)
        assert found.values[k] == pytest.approx(result.value, rel=1e-9)
        angles = ldr.subspaces.principal_angles(result.P.T, found.result.P.T)
        np.testing.assert_allclose(found.angles[k], angles, atol=1e-5)
    assert found.converged.all() and "principal angles in degrees" in repr(found)


def test_two_views_have_angles_each():
    found = ldr.bootstrap("pls", real_data.linnerud(), 2, draws=5, random_state=0)
    assert [angles.shape for angles in found.angles] == [(5, 2), (5, 2)]
    assert "of view b" in repr(found)


def test_background_is_drawn_too():
    target, noise = X[:60], X[60:120]
    fixed = Sampled.of(named("opca"), (target, noise), None, "bootstrap")
    (_, drawn), _ = fixed.draw(np.random.default_rng(0), None)
    rows = {tuple(row) for row in drawn.dense()}
    assert len(rows) < 60 and rows <= {tuple(row) for row in noise}
    found = ldr.bootstrap("opca", (target, noise), 1, draws=5, random_state=0)
    assert found.angles.min() > 0


def test_time_series_need_blocks():
    with pytest.raises(ArgumentError, match=r"rows in time order.*pass block="):
        ldr.bootstrap("maf", methods.X, 2)
    with pytest.raises(ArgumentError, match="block = 61 is too long"):
        ldr.bootstrap("maf", methods.X, 2, block=61)
    sampled = Sampled.of(named("maf"), np.arange(60.0)[:, None], None, "bootstrap")
    drawn, _ = sampled.draw(np.random.default_rng(0), 7)
    steps = np.diff(drawn.dense()[:, 0])
    assert drawn.n == 60 and np.sum(steps != 1) <= 8
    found = ldr.bootstrap("maf", methods.X, 2, block=60, draws=3, random_state=0)
    np.testing.assert_allclose(found.angles, 0, atol=1e-6)  # one block is all rows


@pytest.mark.parametrize(
    "objective",
    ["mds-distances", ldr.kernel("pca"), ldr.objectives.SFA(whiten=True, degree=2)],
)
def test_what_belongs_to_the_rows_is_refused(objective):
    data = methods.DISTANCES if objective == "mds-distances" else methods.X[:, :3]
    with pytest.raises(ArgumentError, match=r"of distances|of features"):
        ldr.bootstrap(
            objective, data, 2, draws=2, block=None if objective == "mds-distances" else 9
        )


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
