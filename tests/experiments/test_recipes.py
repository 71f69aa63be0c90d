"""The recipes make what the paper's text and its reference code say."""

import numpy as np
import pytest

from experiments.jmlr2015.recipes import METHODS, RECIPES, _rotated, cca, lda, maf, pca, planar

TEXT, CODE = RECIPES
BOTH = pytest.mark.parametrize("recipe", RECIPES)


def generator(seed=0):
    return np.random.default_rng(seed)


def arrays(data):
    return data.X if isinstance(data.X, tuple) else (data.X,)


@BOTH
@pytest.mark.parametrize("method", METHODS)
def test_seed_decides_everything(method, recipe):
    make = METHODS[method]
    one, same, other = (make(5, 2, generator(s), recipe) for s in (1, 1, 2))
    for a, b, c in zip(arrays(one), arrays(same), arrays(other), strict=True):
        np.testing.assert_array_equal(a, b)
        assert not np.array_equal(a, c)
        assert a.dtype == np.float64 and np.isfinite(a).all()


@pytest.mark.parametrize("method", METHODS)
def test_recipes_differ_and_unknown_ones_are_refused(method):
    make = METHODS[method]
    text, code = (arrays(make(5, 2, generator(), recipe))[0] for recipe in RECIPES)
    assert text.shape != code.shape or not np.allclose(text, code)
    with pytest.raises(ValueError, match="recipe must be one of paper-text, reference-code"):
        make(5, 2, generator(), "paper")


@BOTH
@pytest.mark.parametrize("d", [4, 7])
def test_sizes(recipe, d):
    r = 3
    assert pca(d, r, generator(), recipe).X.shape == (2000, d)
    assert [v.shape for v in cca(d, r, generator(), recipe).X] == [(20 * d, d)] * 2
    assert maf(d, r, generator(), recipe).X.shape == (10 * d, d)
    data = lda(d, r, generator(), recipe)
    classes, size = (d, 1000) if recipe == TEXT else (r + 1, 2000)
    assert data.X.shape == (classes * size, d)
    np.testing.assert_array_equal(np.bincount(data.y), [size] * classes)


@BOTH
def test_pca_and_cca_are_centred(recipe):
    data = [pca(6, 2, generator(), recipe).X, *cca(6, 2, generator(), recipe).X]
    for X in data:
        np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-12 * np.abs(X).max())


def off_diagonal(X):
    correlations = np.corrcoef(X.T)
    return np.abs(correlations[np.triu_indices(len(correlations), 1)])


def test_code_is_axis_aligned_and_text_is_not():
    assert off_diagonal(pca(6, 2, generator(), CODE).X).max() < 0.1
    assert off_diagonal(pca(6, 2, generator(), TEXT).X).max() > 0.1
    for recipe, aligned in ((CODE, True), (TEXT, False)):
        data = lda(6, 2, generator(), recipe)
        largest = max(off_diagonal(data.X[data.y == k]).max() for k in range(3))
        assert (largest < 0.1) == aligned


@BOTH
@pytest.mark.parametrize(("method", "mean"), [("pca", 2.0), ("lda", 5.0)])
def test_standard_deviations_are_exponential(method, mean, recipe):
    found = []
    for seed in range(30):
        data = METHODS[method](8, 2, generator(seed), recipe)
        X = data.X if data.y is None else data.X[data.y == 0]
        found.extend(np.sqrt(np.linalg.eigvalsh(np.cov(X.T))))
    # 240 draws: the mean has standard error mean / 15.5, and so has the standard deviation, about
    assert np.mean(found) == pytest.approx(mean, rel=0.3)
    assert np.std(found) == pytest.approx(mean, rel=0.4)


@BOTH
def test_lda_means_scatter_by_five_over_d(recipe):
    d, means = 4, []
    for seed in range(40):
        data = lda(d, 2, generator(seed), recipe)
        means.extend(data.X[data.y == k].mean(axis=0) for k in range(3))
    assert np.std(means) == pytest.approx(5 / d, rel=0.2)


def test_cca_views_share_their_latent_variables():
    # code: 0.9 d latent variables, all shared, and next to no noise: as many correlations are one
    d = 10
    a, b = cca(d, 2, generator(), CODE).X
    Qa, Qb = (np.linalg.qr(view)[0] for view in (a, b))
    correlations = np.linalg.svd(Qa.T @ Qb, compute_uv=False)
    assert np.sum(correlations > 0.999) >= 9
    a, b = cca(d, 2, generator(), TEXT).X
    Qa, Qb = (np.linalg.qr(view)[0] for view in (a, b))
    correlations = np.linalg.svd(Qa.T @ Qb, compute_uv=False)
    assert np.all(correlations < 0.999) and np.sum(correlations > 0.5) == 5


@BOTH
def test_maf_is_slow_beneath_its_noise(recipe):
    lagged = []
    for seed in range(20):
        X = maf(8, 2, generator(seed), recipe).X
        X = X - X.mean(axis=0)
        lagged.append(np.trace(X[:-1].T @ X[1:]) / np.trace(X.T @ X))
    assert 0.1 < np.median(lagged) < 0.999


def test_rotations_are_orthogonal_and_uniform():
    rng = generator()
    for d in (1, 2, 5):
        Q = _rotated(np.eye(d), rng)
        np.testing.assert_allclose(Q @ Q.T, np.eye(d), atol=1e-14)
    many = np.array([_rotated(np.eye(3), rng) for _ in range(4000)])
    # entries of a uniform rotation: mean 0, variance 1/3, fourth moment 1/5; reflections as often
    np.testing.assert_allclose(many.mean(axis=0), 0, atol=0.04)
    np.testing.assert_allclose((many**2).mean(axis=0), 1 / 3, atol=0.025)
    np.testing.assert_allclose((many**4).mean(axis=0), 1 / 5, atol=0.025)
    assert abs(np.linalg.det(many).mean()) < 0.06


@BOTH
def test_planar_data_are_three_classes_in_three_dimensions(recipe):
    size, spread = (1000, 5 / 2) if recipe == TEXT else (2000, 5 / 3)
    data = planar(generator(), recipe)
    assert data.X.shape == (3 * size, 3)
    np.testing.assert_array_equal(np.bincount(data.y), [size] * 3)
    means = []
    for seed in range(60):
        data = planar(generator(seed), recipe)
        means.extend(data.X[data.y == k].mean(axis=0) for k in range(3))
    # 540 numbers: the standard error is 3 %
    assert np.std(means) == pytest.approx(spread, rel=0.12)
