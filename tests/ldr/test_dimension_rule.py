"""The number of dimensions: a share of the variance, a rule, parallel analysis."""

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.decomposition import PCA

import ldr
from ldr.errors import ArgumentError, DataError
from tests import real_data
from tests.ldr.plots.test_plots import draws

X, Y = real_data.wine()


@pytest.mark.parametrize("share", [0.3, 0.8, 0.95, 0.999])
def test_a_share_of_the_variance_is_that_of_scikit_learn(share):
    result = ldr.solve("pca", X, share)
    assert result.r == PCA(share, svd_solver="full").fit(X).n_components_
    assert result.components["explained_variance_ratio"].sum() >= share
    assert f"r = {result.r}: the smallest r that explains {share:g} of the variance" in result.notes
    fitted = ldr.PCA(n_components=share).fit(X)
    assert fitted.transform(X).shape == (len(X), result.r)


@pytest.mark.parametrize("name", ["mds", "log-det-pca", "autocovariance", "squared-difference"])
def test_a_share_is_reached_and_not_before(name):
    result = ldr.solve(name, X, 0.7)
    ratio = result.components["explained_variance_ratio"]
    assert ratio.sum() >= 0.7 and ratio[:-1].sum() < 0.7


def test_fewer_rows_than_columns():
    wide = np.random.default_rng(0).standard_normal((20, 50))
    result = ldr.solve("pca", wide, 0.9)
    assert result.r == PCA(0.9, svd_solver="full").fit(wide).n_components_


def test_columns_in_units():
    raw = X * np.logspace(0, 3, X.shape[1])
    assert ldr.solve("pca", raw, 0.8, standardise=True).r == ldr.solve("pca", X, 0.8).r
    assert ldr.solve("pca", raw, 0.8).r < ldr.solve("pca", X, 0.8).r


def test_parallel_analysis_and_bic_are_named():
    found = ldr.parallel_analysis(X, correlation=False, random_state=0).r
    result = ldr.solve("pca", X, "auto")
    assert result.r == found and any("by parallel analysis" in note for note in result.notes)
    bic = [ldr.solve("ppca", X, r, certify=False).model.bic for r in range(1, 12)]
    result = ldr.solve("ppca", X, "auto")
    assert result.r == 1 + int(np.argmin(bic)) and any(
        "the smallest Bayesian information criterion" in n for n in result.notes
    )
    assert ldr.solve("ppca", X[:, :4], "auto").r == 3  # the most there are
    bic = [ldr.solve("fa", X, r, certify=False).model.bic for r in range(1, 7)]
    assert ldr.FactorAnalysis(n_components="auto").fit(X).result_.r == 1 + int(np.argmin(bic))


def test_noise_has_one_dimension():
    noise = np.random.default_rng(1).standard_normal((300, 6))
    result = ldr.solve("pca", noise, "auto")
    assert result.r == 1 and any("larger than by chance" in note for note in result.notes)


def test_where_there_is_no_rule_that_is_said():
    refused = [
        (
            r"not available for objective 'orthogonal-lda'.*ldr\.path",
            "orthogonal-lda",
            X,
            "auto",
            Y,
        ),
        (
            "variance, is not available for objective 'orthogonal-lda': give",
            "orthogonal-lda",
            X,
            0.5,
            Y,
        ),
        ("all 7 dimensions of 'autocovariance' expl", "autocovariance", X[:7], 0.9999, None),
        ("r = 'auto' found no r: the data are too few for 'fa'", "fa", X[:, :2], "auto", None),
        ("X is an iterator", "pca", iter([X[:90], X[90:]]), 0.5, None),
    ]
    for words, name, rows, r, y in refused:
        with pytest.raises(ArgumentError, match=words):
            ldr.solve(name, rows, r, y=y)
    for r in (1.5, 0.0, "some"):
        with pytest.raises(ArgumentError, match="r must be a whole number, a share"):
            ldr.solve("pca", X, r)
        with pytest.raises(ArgumentError, match="n_components must be a whole number, a share"):
            ldr.PCA(r).fit(X)


@pytest.mark.smoke
@pytest.mark.parametrize("null", ["permutation", "gaussian"])
@pytest.mark.parametrize("correlation", [True, False])
def test_parallel_analysis_finds_the_factors(null, correlation):
    rng = np.random.default_rng(1)
    Z = 2 * rng.standard_normal((300, 3)) @ rng.standard_normal((3, 12))
    Z += rng.standard_normal(Z.shape)
    options = {"null": null, "correlation": correlation, "draws": 50, "random_state": 0}
    found = ldr.parallel_analysis(Z + 100, **options)
    assert found.r == 3
    C = np.corrcoef(Z.T) if correlation else np.cov(Z.T, bias=True)
    np.testing.assert_allclose(found.eigenvalues, np.linalg.eigvalsh(C)[::-1], rtol=1e-9)
    np.testing.assert_allclose(
        found.null.sum(axis=1) if null == "permutation" else found.eigenvalues.sum(),
        found.eigenvalues.sum(),  # permuting columns keeps their variances
    )


def test_parallel_analysis_finds_nothing_in_noise():
    rng = np.random.default_rng(2)
    found = [
        ldr.parallel_analysis(rng.standard_normal((100, 10)), draws=40, random_state=k).r
        for k in range(20)
    ]
    assert np.mean(np.array(found) == 0) >= 0.8  # by chance 5 % stand out


def test_parallel_analysis_of_fewer_rows_than_columns_and_constant_columns():
    rng = np.random.default_rng(3)
    Z = rng.standard_normal((20, 1)) @ rng.standard_normal((1, 50)) * 3
    Z += rng.standard_normal(Z.shape)
    Z[:, 7] = 4.0
    found = ldr.parallel_analysis(Z, draws=30, random_state=0)
    assert found.r == 1 and len(found.eigenvalues) == 20
    assert found.eigenvalues.sum() == pytest.approx(49)


def test_the_threshold_of_few_draws_has_its_level():
    """The largest of 20 alike is the data's with probability 1/20."""
    found = ldr.parallel_analysis(X, draws=19, random_state=0)
    np.testing.assert_allclose(found.threshold, found.null.max(axis=0))


def test_null_columns_are_permuted_one_by_one():
    ordered = np.sort(np.random.default_rng(0).standard_normal((200, 4)), axis=0)
    found = ldr.parallel_analysis(ordered, draws=20, random_state=0)
    assert spearmanr(ordered).statistic.min() == pytest.approx(1)
    assert found.eigenvalues[0] > 3.5 and found.null[:, 0].max() < 2


@pytest.mark.parametrize("correlation", [True, False])
def test_parallel_analysis_of_gaps_is_of_pairwise_complete_rows(correlation):
    rng = np.random.default_rng(5)
    Z = 2 * rng.standard_normal((300, 2)) @ rng.standard_normal((2, 8))
    Z += rng.standard_normal(Z.shape) + 50
    Z[rng.random(Z.shape) < 0.2] = np.nan
    options = {"correlation": correlation, "draws": 40, "random_state": 0}
    found = ldr.parallel_analysis(Z, **options)
    C = np.empty((8, 8))
    for i, j in np.ndindex(C.shape):
        pair = Z[:, [i, j]][~np.isnan(Z[:, [i, j]]).any(axis=1)]
        of_pair = np.corrcoef(pair.T) if correlation else np.cov(pair.T, bias=True)
        C[i, j] = of_pair[0, 1]
    np.testing.assert_allclose(found.eigenvalues, np.linalg.eigvalsh(C)[::-1], rtol=1e-9)
    assert found.r == ldr.parallel_analysis(Z, null="gaussian", **options).r == 2


def test_parallel_analysis_of_columns_never_observed_together():
    Z = np.random.default_rng(0).standard_normal((20, 3))
    Z[:10, 0] = Z[10:, 2] = np.nan
    with pytest.raises(DataError, match="columns 0 and 2 have 0 row"):
        ldr.parallel_analysis(Z)


@pytest.mark.parametrize(
    "argument", [{"null": "uniform"}, {"quantile": 1.0}, {"quantile": "0.5"}, {"draws": 0}]
)
def test_bad_arguments_of_parallel_analysis(argument):
    with pytest.raises(ArgumentError, match=next(iter(argument))):
        ldr.parallel_analysis(X, **argument)


def test_plot_of_a_parallel_analysis():
    found = ldr.parallel_analysis(X, draws=20, random_state=0)
    (ax,) = found.plot().axes
    lines = {line.get_label(): line.get_ydata() for line in ax.lines}
    np.testing.assert_array_equal(lines["data"], found.eigenvalues)
    np.testing.assert_array_equal(lines["without correlations"], found.threshold)
    assert draws(ax.figure)
    noise = np.random.default_rng(1).standard_normal((300, 6))
    nothing = ldr.parallel_analysis(noise, draws=20, correlation=False, random_state=0)
    assert nothing.r == 0 and not any(
        "stand out" in t.get_text() for t in nothing.plot().axes[0].texts
    )


@pytest.mark.parametrize("standardise", [False, True])
def test_dimension_and_auto_count_the_components_of_the_same_matrix(standardise):
    options = {"standardise": standardise, "random_state": 0}
    raw = X * np.logspace(0, 3, X.shape[1])
    found = ldr.dimension("pca", raw, **options)
    assert max(found.r, 1) == ldr.solve("pca", raw, "auto", **options).r
    Z = raw / raw.std(axis=0) if standardise else raw
    variances = np.linalg.eigvalsh(np.cov(Z.T, bias=True))[::-1]
    np.testing.assert_allclose(found.scores, variances, rtol=1e-9)
    assert ("correlation" if standardise else "covariance") in found.criterion
