"""Attributes and methods that scikit-learn's estimators have: the same names, the same numbers."""

from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA, FactorAnalysis, FastICA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import RFE

import ldr
from ldr.errors import ArgumentError, DataError, SingularError
from tests import real_data

X, y = real_data.wine()
TUMOURS, DIAGNOSIS = real_data.breast_cancer()
PATIENTS, SCORE = real_data.diabetes()


@pytest.mark.parametrize("rows", [X, X[:10]], ids=["tall", "wide"])
@pytest.mark.parametrize("r", [2, 5])
def test_pca_is_a_model_of_the_rows(r, rows):
    theirs, ours = PCA(r).fit(rows), ldr.PCA(r).fit(rows)
    assert ours.n_components_ == theirs.n_components_ == r
    assert ours.noise_variance_ == pytest.approx(theirs.noise_variance_, rel=1e-9)
    assert ours.n_samples_ == theirs.n_samples_
    np.testing.assert_allclose(ours.get_covariance(), theirs.get_covariance(), atol=1e-10)
    np.testing.assert_allclose(ours.get_precision(), theirs.get_precision(), rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X), rtol=1e-8)
    white = ldr.PCA(r, whiten=True).fit(rows)
    expected = PCA(r, whiten=True).fit(rows)
    coordinates = white.transform(X)
    np.testing.assert_allclose(np.abs(coordinates), np.abs(expected.transform(X)), rtol=1e-8)
    np.testing.assert_allclose(
        white.inverse_transform(coordinates), ours.inverse_transform(ours.transform(X)), atol=1e-10
    )
    np.testing.assert_allclose(white.get_covariance(), ours.get_covariance(), rtol=1e-12)


def test_pca_of_all_dimensions():
    theirs, ours = PCA().fit(X), ldr.PCA(None).fit(X)
    assert ours.n_components_ == 13 and ours.noise_variance_ == 0.0
    np.testing.assert_allclose(ours.get_covariance(), np.cov(X.T), atol=1e-10)
    np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X), rtol=1e-9)
    wide = ldr.PCA(None).fit(X[:10])
    assert wide.n_components_ == 9  # in which they vary
    with pytest.raises(SingularError, match="the components explain all variance"):
        wide.get_precision()
    with pytest.raises(SingularError, match="use fewer components"):
        wide.score_samples(X)
    with pytest.raises(ArgumentError, match="whiten must be True or False"):
        ldr.PCA(2, whiten="yes").fit(X)


def test_a_model_of_standardised_columns_is_of_the_columns():
    units = np.logspace(-3, 3, 13)
    scaled = ldr.PCA(3, standardise=True).fit(X * units)
    expected = PCA(3).fit(X / X.std(axis=0))
    C = scaled.get_covariance() / (units * X.std(axis=0)) / (units * X.std(axis=0))[:, None]
    np.testing.assert_allclose(C, expected.get_covariance(), atol=1e-10)


@pytest.mark.parametrize("estimator", [ldr.PPCA, ldr.FactorAnalysis])
def test_models_of_likelihoods(estimator):
    found = estimator(3).fit(X)
    C = found.get_covariance()
    np.testing.assert_allclose(found.get_precision() @ C, np.eye(13), atol=1e-9)
    Z = X - found.mean_
    logs = -0.5 * (
        np.einsum("ij,jk,ik->i", Z, np.linalg.inv(C), Z) + np.linalg.slogdet(2.0 * np.pi * C)[1]
    )
    np.testing.assert_allclose(found.score_samples(X), logs, rtol=1e-9)
    turned = estimator(3, rotation="promax").fit(X)
    np.testing.assert_allclose(turned.get_covariance(), C, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(("rows", "labels"), [(X, y), (TUMOURS, DIAGNOSIS)], ids=["three", "two"])
def test_classifiers_are_linear(rows, labels):
    ours = ldr.LDA(1).fit(rows, labels)
    decision = rows @ ours.coef_.T + ours.intercept_
    decision = decision if decision.shape[1] > 1 else decision[:, 0]
    np.testing.assert_allclose(ours.decision_function(rows), decision, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(ours.priors_, np.bincount(labels) / len(labels))
    assert RFE(ldr.LDA(1), n_features_to_select=3).fit(rows, labels).support_.sum() == 3


def test_discriminants_know_what_those_of_scikit_learn_know():
    theirs = LinearDiscriminantAnalysis(store_covariance=True).fit(X, y)
    for r in (1, 2, None):
        ours = ldr.LDA(r, store_covariance=True).fit(X, y)
        shares = theirs.explained_variance_ratio_[:r]
        np.testing.assert_allclose(ours.explained_variance_ratio_, shares, rtol=1e-10)
        np.testing.assert_allclose(
            np.abs((X - ours.xbar_) @ ours.scalings_), np.abs(theirs.transform(X)[:, :r]), atol=1e-9
        )
    for name in ("means_", "covariance_", "priors_", "coef_", "intercept_"):
        expected = getattr(theirs, name)
        np.testing.assert_allclose(getattr(ours, name), expected, rtol=1e-8, atol=1e-9)
    in_units = ldr.LDA(2, store_covariance=True, standardise=True).fit(X, y)
    np.testing.assert_allclose(in_units.covariance_, theirs.covariance_, rtol=1e-9, atol=1e-9)
    in_blocks = ldr.OrthogonalLDA(2, store_covariance=True)
    for rows in np.array_split(np.random.default_rng(0).permutation(len(X)), 3):
        in_blocks.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
    np.testing.assert_allclose(in_blocks.means_, theirs.means_, rtol=1e-10)
    np.testing.assert_allclose(in_blocks.covariance_, theirs.covariance_, rtol=1e-9, atol=1e-9)
    assert not hasattr(ldr.LDA(2).fit(X, y), "covariance_")
    assert ldr.LDA(2).fit(X.astype(np.float32), y).coef_.dtype == np.float32


@pytest.mark.parametrize("shrinkage", [None, 0.2])
def test_priors_are_those_of_scikit_learn(shrinkage):
    priors = [0.2, 0.5, 0.3]
    theirs = LinearDiscriminantAnalysis(solver="lsqr", priors=priors, shrinkage=shrinkage)
    theirs.fit(X, y)
    ours = ldr.LDA(None, priors=priors, shrinkage=shrinkage, store_covariance=True).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-9)
    np.testing.assert_allclose(ours.covariance_, theirs.covariance_, rtol=1e-9, atol=1e-9)
    with pytest.warns(UserWarning, match="do not sum to 1"):
        np.testing.assert_allclose(ldr.LDA(2, priors=[4, 10, 6]).fit(X, y).priors_, priors)
    for wrong, message in (([-0.5, 1, 0.5], "must be non-negative"), ([0.5, 0.5], "shape")):
        with pytest.raises(ArgumentError, match=message):
            ldr.LDA(2, priors=wrong).fit(X, y)
    with pytest.raises(ArgumentError, match="does not support priors="):
        ldr.LDA(2, priors=priors).partial_fit(X, y)


@pytest.mark.parametrize("standardise", [False, True])
@pytest.mark.parametrize(
    "estimator", [ldr.LeastSquares, ldr.RidgeRegression, ldr.Lasso, ldr.PLSRegression]
)
def test_regressors_are_linear(estimator, standardise):
    for response in (SCORE, np.column_stack([SCORE, np.sqrt(SCORE)])):
        found = estimator(1, standardise=standardise).fit(PATIENTS, response)
        expected = PATIENTS @ found.coef_.T + found.intercept_
        assert found.coef_.shape == (*np.shape(response)[1:], 10)
        np.testing.assert_allclose(found.predict(PATIENTS), expected, rtol=1e-9)


@pytest.mark.parametrize("estimator", [ldr.ICA, ldr.UndercompleteICA])
def test_sources_are_mixed_again(estimator):
    found = estimator(3).fit(X[:, :3])
    again = found.transform(X[:, :3]) @ found.mixing_.T + found.mean_
    np.testing.assert_allclose(again, X[:, :3], atol=1e-10)
    assert found.n_iter_ > 0
    if estimator is ldr.ICA:
        white = (X[:, :3] - found.mean_) @ found.whitening_.T
        np.testing.assert_allclose(np.cov(white.T, bias=True), np.eye(3), atol=1e-10)
        theirs = FastICA(3, whiten="unit-variance", random_state=0).fit(X[:, :3]).whitening_
        expected = np.sqrt(len(X)) * np.abs(theirs)
        np.testing.assert_allclose(np.abs(found.whitening_), expected, rtol=1e-8)


def test_rows_in_float32_are_transformed_to_float32():
    single = X.astype(np.float32)
    for estimator in (ldr.PCA(2), ldr.LDA(2), ldr.CCA(1, views=[[0, 1, 2], [3, 4, 5]])):
        found = estimator.fit(single, None if isinstance(estimator, ldr.CCA) else y)
        for array in np.atleast_1d(found.transform(single)), np.hstack(found.components_):
            assert array.dtype == np.float32
        assert found.transform(X).dtype == np.float64
        np.testing.assert_allclose(
            found.transform(single), found.transform(X), rtol=1e-4, atol=1e-4
        )
    pair = ldr.CCA(1).fit(single[:, :4], single[:, 4:]).transform(single[:, :4], single[:, 4:])
    assert all(part.dtype == np.float32 for part in pair)
    views = [single[:, :4], single[:, 4:]]
    assert all(part.dtype == np.float32 for part in ldr.CCA(1).fit(views).transform(views))


def test_a_share_of_the_variance_is_exceeded():
    shares = np.cumsum(PCA().fit(X).explained_variance_ratio_)
    for r in (2, 5, 12):
        assert ldr.PCA(float(shares[r - 1]) - 1e-9).fit(X).n_components_ == r
        assert ldr.PCA(float(shares[r - 1]) + 1e-9).fit(X).n_components_ == r + 1


def test_text_is_coded_by_a_column_for_each_class():
    """PLS-DA, beside scikit-learn's regression on indicators."""
    names = np.array(["barolo", "grignolino", "barbera"])[y]
    rows, classes = X / X.std(axis=0), np.unique(names)
    indicators = (names[:, None] == classes).astype(float)
    result = ldr.solve("pls-regression", rows, 2, y=names)
    coded = ldr.solve("pls-regression", rows, 2, y=indicators)
    assert result.value == coded.value
    guesses = classes[coded.predict(rows).argmax(axis=1)]
    assert result.predict(rows).tolist() == guesses.tolist()
    assert ldr.score(result, rows, names) == pytest.approx((guesses == names).mean(), rel=1e-12)
    estimator = ldr.PLSRegression(2, algorithm="nipals").fit(rows, names)
    theirs = PLSRegression(2, scale=False, tol=1e-14, max_iter=10_000).fit(rows, indicators)
    assert estimator.predict(rows).tolist() == classes[theirs.predict(rows).argmax(axis=1)].tolist()
    np.testing.assert_allclose(estimator.coef_, theirs.coef_, atol=1e-8)
    assert estimator.fit_transform(rows, names).shape == (178, 2)
    assert estimator.transform(rows, names)[1].shape == (178, 2)
    assert estimator.score(rows, names) == (estimator.predict(rows) == names).mean()
    path = ldr.path("pls-regression", rows, [0, 2], y=names, folds=5, random_state=0)
    assert path.accuracy[0] < 0.5 < 0.9 < path.accuracy[1]
    with pytest.raises(ArgumentError, match="predicts classes, which have no RMSE"):
        ldr.diagnose(result, rows, names)
    with pytest.raises(DataError, match="170 labels, expected 178"):
        ldr.solve("pls-regression", rows, 2, y=names[:170])


def test_weights_of_pls_are_those_of_nipals():
    theirs = PLSRegression(3, tol=1e-14, max_iter=5000).fit(PATIENTS, SCORE)
    ours = ldr.PLSRegression(3, standardise=True).fit(PATIENTS, SCORE)
    np.testing.assert_allclose(np.abs(ours.x_weights_), np.abs(theirs.x_weights_), atol=1e-10)


def test_the_likelihood_after_each_iteration():
    found = ldr.FactorAnalysis(3).fit(X)
    assert found.loglike_[-1] == pytest.approx(found.score_samples(X).sum(), rel=1e-10)
    assert np.all(np.diff(found.loglike_) > -1e-9) and not hasattr(ldr.PCA(2).fit(X), "loglike_")


def test_a_warm_start_begins_at_the_last_solution():
    rows = X / X.std(axis=0)
    ours = ldr.ICA(2, starts=1, warm_start=True).fit(rows)
    value, steps = ours.result_.value, ours.result_.iterations
    ours.set_params(max_iterations=1).fit(rows)
    assert ours.result_.value == pytest.approx(value, rel=1e-12) and ours.result_.converged
    with pytest.warns(ldr.errors.ConvergenceWarning):
        cold = ldr.ICA(2, starts=1, max_iterations=1).fit(rows)
    assert steps > 3 and cold.result_.value < 0.9 * value
    with pytest.raises(ArgumentError, match=r"dimensionality \(5\) does not match.*\(13\)"):
        ours.fit(rows[:, :5])
    with pytest.raises(ArgumentError, match="warm_start must be True or False"):
        ldr.ICA(2, warm_start="yes").fit(rows)


def test_observers_and_lines_follow_a_fit(capsys):
    trace = ldr.observers.Trace()
    ours = ldr.NCA(2, starts=1, observers=[trace], verbose=True).fit(X, y)
    assert len(trace.iterations) == ours.result_.run.iterations + 1 > 1
    title, header, rule, *lines, last = capsys.readouterr().out.splitlines()
    assert title == "[NCA]" and set(rule.split()[1]) == {"-"} and "Iteration" in header
    assert len(lines) == len(trace.iterations) and last.startswith("[NCA] Training took")
    value = float(lines[-1].split()[2])
    assert value == pytest.approx(ours.result_.value, rel=1e-6)  # as the result has it
    with pytest.raises(ArgumentError, match="observers must be a list"):
        ldr.NCA(2, observers="all", verbose=True).fit(X, y)


@pytest.mark.filterwarnings("ignore::ldr.errors.ConvergenceWarning")  # lmnn's value is 0
@pytest.mark.parametrize("estimator", [ldr.NCA(20), ldr.LMNN(20, neighbours=1)], ids=str)
def test_more_components_than_the_samples_span_are_zero(estimator):
    few, classes = TUMOURS[:9] / TUMOURS.std(axis=0), np.tile([0, 1, 2], 3)
    fitted = estimator.fit(few, classes)
    lengths = np.linalg.norm(fitted.components_, axis=1)
    assert fitted.transform(few).shape == (9, 20)
    assert (lengths[8:] <= 1e-12 * lengths[0]).all() and fitted.score(few, classes) == 1.0


@pytest.mark.parametrize("estimator", [ldr.FactorAnalysis, ldr.PPCA])
@pytest.mark.parametrize("standardise", [False, True])
def test_no_components_are_independent_columns(estimator, standardise):
    rows = X / X.std(axis=0) if standardise else X
    none = estimator(0, standardise=standardise).fit(X)
    noise = rows.var(axis=0) if estimator is ldr.FactorAnalysis else rows.var(axis=0).mean()
    unit = X.std(axis=0) if standardise else 1.0
    expected = np.diag(np.broadcast_to(noise, 13) * unit**2)
    np.testing.assert_allclose(none.get_covariance(), expected, rtol=1e-12)
    density = multivariate_normal(X.mean(axis=0), expected).logpdf(X)
    np.testing.assert_allclose(none.score_samples(X), density, rtol=1e-10)
    assert none.result_.model.log_likelihood == pytest.approx(density.sum(), rel=1e-12)
    assert none.transform(X).shape == (178, 0) and none.n_components_ == 0
    assert none.result_.model.log_likelihood < estimator(1).fit(X).result_.model.log_likelihood
    assert "13 -> 0 dimensions" in repr(none.result_) and "components" not in repr(none.result_)
    with pytest.raises(DataError, match="r = 0 needs complete samples"):
        estimator(0).fit(np.where(np.arange(178)[:, None] == 3, np.nan, X))
    with pytest.raises(ArgumentError, match="n_components = 0 is out of range: expected 1"):
        ldr.PCA(0).fit(X)


def test_as_many_factors_as_columns_reach_the_unconstrained_gaussian():
    rows = X[:, :4]
    result = ldr.solve("fa", rows, 4)
    S = np.cov(rows.T, bias=True)
    best = multivariate_normal(rows.mean(axis=0), S).logpdf(rows).sum()
    assert -result.value == pytest.approx(best, rel=1e-12)
    assert result.certificate.kind == "global"
    assert any("4 factors of 4 columns are not identified" in note for note in result.notes)
    assert not any("identified" in note for note in ldr.solve("fa", X, 2).notes)
    with pytest.raises(SingularError, match="unbounded"):  # of a singular covariance
        ldr.solve("fa", np.hstack([rows, rows.sum(axis=1, keepdims=True)]), 5)


def test_counts_of_the_solver_and_maps_of_two_views():
    assert ldr.FactorAnalysis(2).fit(X).n_iter_ > 0 == ldr.PCA(2).fit(X).n_iter_
    assert ldr.SparsePCA(2, penalty=1.0).fit(X).n_components_ == 2
    pair = ldr.CCA(2).fit(X[:, :5], X[:, 5:])
    np.testing.assert_allclose(
        pair.predict(X[:, :5]), X[:, :5] @ pair.coef_.T + pair.intercept_, atol=1e-10
    )
    left, right = pair.transform(X[:, :5], X[:, 5:])
    np.testing.assert_allclose(left, (X[:, :5] - pair.mean_[0]) @ pair.x_rotations_, atol=1e-10)
    np.testing.assert_allclose(right, (X[:, 5:] - pair.mean_[1]) @ pair.y_rotations_, atol=1e-10)


def test_loadings_of_factor_analysis_are_the_components_of_scikit_learn():
    rows = X / X.std(axis=0)
    theirs = FactorAnalysis(2, tol=1e-12, max_iter=20_000, svd_method="lapack").fit(rows)
    ours = ldr.FactorAnalysis(2).fit(rows)
    np.testing.assert_allclose(np.abs(ours.loadings_), np.abs(theirs.components_.T), atol=1e-5)
    np.testing.assert_allclose(np.abs(ours.transform(rows)), np.abs(theirs.transform(rows)), 1e-3)


@pytest.mark.parametrize(
    "estimator", [ldr.PCA(2), ldr.LDA(2), ldr.PLSRegression(2), ldr.Lasso(2), ldr.NCA(2)], ids=str
)
def test_what_comes_of_float32_is_float32(estimator):
    rows = (X / X.std(axis=0)).astype(np.float32)
    fitted = estimator.fit(rows, y)
    scores = fitted.transform(rows)
    known = [scores, fitted.inverse_transform(scores), fitted.components_, fitted.mean_]
    names = ["coef_", "explained_variance_", "x_loadings_", "scalings_", "xbar_", "means_"]
    known += [getattr(fitted, name) for name in names if hasattr(fitted, name)]
    if hasattr(fitted, "decision_function"):
        known += [fitted.decision_function(rows), fitted.predict_proba(rows)]
    elif hasattr(fitted, "predict"):
        known.append(fitted.predict(rows))
    assert {each.dtype.name for each in known} == {"float32"}


def test_annotated_data_are_their_matrix_with_names():
    """AnnData has X, and names of its observations and variables."""

    class Annotated:
        def __init__(self, rows, names, cells):
            self.X, self.var_names, self.obs_names = rows, names, pd.Index(cells)

    names, cells = [f"g{k}" for k in range(13)], [f"c{i}" for i in range(178)]
    given = Annotated(X, names, cells)
    result = ldr.solve("lda", given, 2, y=pd.Series(y, index=cells)[::-1])
    assert result.feature_names == tuple(names)
    assert result.value == ldr.solve("lda", X, 2, y=y).value
    np.testing.assert_array_equal(result.transform(given), result.transform(X))
    assert ldr.LDA(2).fit(given, y).score(given, y) == ldr.LDA(2).fit(X, y).score(X, y)
    with pytest.raises(ArgumentError, match="the order of the fit"):
        result.transform(Annotated(X, names[::-1], cells))


@pytest.mark.parametrize("estimator", [ldr.LDA, ldr.OrthogonalLDA])
@pytest.mark.parametrize("priors", [None, [0.3, 0.6, 0.1]])
def test_a_class_without_weight_is_left_out(estimator, priors):
    known = y < 2
    weights = known.astype(float)
    with nullcontext() if priors is None else pytest.warns(UserWarning, match="do not sum"):
        other = estimator(1, priors=priors and priors[:2]).fit(X[known], y[known])
    found = estimator(1, priors=priors).fit(X, y, sample_weight=weights)
    assert found.classes_.tolist() == [0, 1]
    for name in ("means_", "xbar_", "priors_", "scalings_"):
        np.testing.assert_allclose(getattr(found, name), getattr(other, name), rtol=1e-9)


def test_attributes_of_an_earlier_fit_are_removed():
    estimator = ldr.Reducer("pca").fit(X)
    assert hasattr(estimator, "explained_variance_")
    estimator.set_params(objective=ldr.objectives.LDA()).fit(X, y)
    new = ldr.Reducer(ldr.objectives.LDA()).fit(X, y)
    assert vars(estimator).keys() == vars(new).keys()
    oblique = ldr.PCA(2).fit(X).set_params(rotation="oblimin").fit(X)
    assert not hasattr(oblique, "explained_variance_")


def test_classes_are_not_rounded_with_rows_of_float32():
    rows, dates = X.astype(np.float32), 20240101.0 + y
    for estimator in (ldr.LDA(), ldr.Reducer(ldr.objectives.LDA())):
        found = estimator.fit(rows, dates).predict(rows)
        assert found.dtype == np.float64 and np.mean(found == dates) > 0.9
    assert ldr.LDA().fit(rows, dates).classes_.tolist() == [20240101, 20240102, 20240103]


def test_names_of_an_earlier_fit_to_dask_are_removed():
    frames, arrays = pytest.importorskip("dask.dataframe"), pytest.importorskip("dask.array")
    named = frames.from_pandas(pd.DataFrame(X).rename(columns="c{}".format), npartitions=2)
    estimator = ldr.PCA(2).fit(named)
    assert list(estimator.feature_names_in_) == [f"c{k}" for k in range(13)]
    assert not hasattr(estimator.fit(arrays.from_array(X, chunks=(90, 13))), "feature_names_in_")
