"""r as a share of the variance, or left to a rule."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

import ldr
from ldr.errors import ArgumentError
from tests import real_data

X, Y = real_data.wine()


@pytest.mark.parametrize("share", [0.3, 0.8, 0.95, 0.999])
def test_a_share_of_the_variance_is_that_of_scikit_learn(share):
    result = ldr.solve("pca", X, share)
    assert result.r == PCA(share, svd_solver="full").fit(X).n_components_
    assert result.components["explained_variance_ratio"].sum() >= share
    assert f"r = {result.r}: the fewest that explain {share:g} of the variance" in result.notes
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
    bic = [ldr.solve("ppca", X, r).model.bic for r in range(1, 12)]
    result = ldr.solve("ppca", X, "auto")
    assert result.r == 1 + int(np.argmin(bic)) and any("the least BIC" in n for n in result.notes)
    assert ldr.solve("ppca", X[:, :4], "auto").r == 3  # the most there are
    bic = [ldr.solve("fa", X, r).model.bic for r in range(1, 7)]
    assert ldr.FactorAnalysis(n_components="auto").fit(X).result_.r == 1 + int(np.argmin(bic))


def test_noise_has_one_dimension():
    noise = np.random.default_rng(1).standard_normal((300, 6))
    result = ldr.solve("pca", noise, "auto")
    assert result.r == 1 and any("stands out of chance" in note for note in result.notes)


def test_where_there_is_no_rule_that_is_said():
    with pytest.raises(ArgumentError, match=r"no rule for objective 'orthogonal-lda'.*ldr\.path"):
        ldr.solve("orthogonal-lda", X, "auto", y=Y)
    with pytest.raises(ArgumentError, match="'orthogonal-lda' is none: expected a whole number"):
        ldr.solve("orthogonal-lda", X, 0.5, y=Y)
    with pytest.raises(ArgumentError, match=r"the 7 dimensions that 'autocovariance' has expl"):
        ldr.solve("autocovariance", X[:7], 0.9999)
    with pytest.raises(ArgumentError, match="r = 'auto': the data have no dimension for 'fa'"):
        ldr.solve("fa", X[:, :2], "auto")
    with pytest.raises(ArgumentError, match="read more than once"):
        ldr.solve("pca", iter([X[:90], X[90:]]), 0.5)
    for r in (1.5, 0.0, "some"):
        with pytest.raises(ArgumentError, match="r must be a whole number, a share"):
            ldr.solve("pca", X, r)
        with pytest.raises(ArgumentError, match="n_components must be a whole number, a share"):
            ldr.PCA(r).fit(X)
