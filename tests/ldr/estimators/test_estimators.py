"""The estimators: scikit-learn's rules, and the numbers of `ldr.solve`."""

import dataclasses
import functools
import inspect
import pickle
import re
from itertools import combinations

import dask.array as da
import joblib
import numpy as np
import pandas as pd
import polars
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA as SklearnPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

import ldr
from ldr.cross_validation import VARIANCE
from ldr.errors import ArgumentError, DataError, TimeLimitError
from ldr.estimators import ESTIMATORS, Reducer, base
from ldr.estimators.base import OPTIONS, TwoViews
from ldr.objectives import REGISTRY, OrthogonalLDA
from ldr.trial_layout import FEATURES
from tests import real_data
from tests.objectives import methods

X, labels = real_data.wine()


class ChangesAsBackground:
    """Takes a background from X, since scikit-learn's checks hand over X alone."""

    def fit(self, X, y=None):
        return super().fit(X, background=_changes(X))

    def partial_fit(self, X, y=None):
        return super().partial_fit(X, background=_changes(X))

    def score(self, X, y=None):
        return super().score(X, background=_changes(X))


def takes_background(estimator):
    return "background" in inspect.signature(estimator.fit).parameters


for made in ESTIMATORS.values():
    if takes_background(made):  # named here, to be pickled
        globals()[made.__name__] = type(made.__name__, (ChangesAsBackground, made), {})


def _changes(X):
    array = np.asarray(X)
    return np.diff(array, axis=0) if array.dtype.kind in "biuf" else X  # for fit to judge


def to_check(estimator):
    """An instance that scikit-learn's data allow: of 2 columns, and of 10 rows at times."""
    if takes_background(estimator):
        estimator = globals()[estimator.__name__]
    instance = estimator(n_components=1)
    if "neighbours" in instance.get_params():
        instance.set_params(neighbours=3)
    if "reg" in instance.get_params():  # a small one sees near rows only: flat, of few rows
        instance.set_params(reg=100.0)
    if "ridge" in instance.get_params():  # of weighted rows there are fewer than columns
        instance.set_params(ridge=0.1)
    if "least_noise" in instance.get_params():  # the likelihood of those has no other bound
        instance.set_params(least_noise=0.01)
    return instance


_PLAIN = ["orthogonal-lda", "orthogonal-cca", "contrastive-pca", "mds-distances", "lpp", "sir"]


@parametrize_with_checks(
    [Reducer("pca"), Reducer(OrthogonalLDA(ridge=0.1)), *(to_check(ESTIMATORS[n]) for n in _PLAIN)]
)
def test_scikit_learns_checks(estimator, check):
    of_sparse = check.func.__name__.endswith("on_sparse_data")
    if of_sparse and not get_tags(estimator).input_tags.sparse:
        pytest.skip("scikit-learn 1.6 asks for it where no sparse rows are taken")
    check(estimator)


# By the name CCA scikit-learn takes it that fit_transform gives the coordinates of both views; here
# it gives those of the first, as a step of a Pipeline needs them.
_OF_PAIRS = dict.fromkeys(
    ("check_transformer_general", "check_transformer_data_not_an_array"), "pairs are expected"
)
_EXPECTED = {
    ldr.CCA: _OF_PAIRS,
    ldr.LMNN: {
        "check_sample_weight_equivalence_on_dense_data": "a class has one row with a weight, "
        "repeated; equal rows are one row here, and a class of one row is refused"
    },
}
_CHECKED = {*_PLAIN, "exponential-family-pca"}  # their data are no 0 and 1


@pytest.mark.slow
@parametrize_with_checks(
    [to_check(estimator) for name, estimator in ESTIMATORS.items() if name not in _CHECKED],
    expected_failed_checks=lambda estimator: _EXPECTED.get(type(estimator), {}),
)
def test_scikit_learns_checks_of_all(estimator, check):
    test_scikit_learns_checks(estimator, check)


def test_every_method_has_an_estimator():
    assert set(ESTIMATORS) == set(REGISTRY)
    names = [estimator.__name__ for estimator in ESTIMATORS.values()]
    assert len(set(names)) == len(names)
    missing = [name for name in names if getattr(ldr, name, None) is None]
    assert not missing, "name them in ldr/__init__.pyi"
    for name, estimator in ESTIMATORS.items():
        assert getattr(ldr, estimator.__name__) is estimator
        assert getattr(ldr.estimators, estimator.__name__)._method is REGISTRY[name]


@pytest.mark.parametrize("name", REGISTRY)
def test_parameters_are_the_objectives(name):
    estimator = ESTIMATORS[name]
    fields = {field.name: field for field in dataclasses.fields(REGISTRY[name])}
    given = estimator(3).get_params()
    assert set(inspect.signature(estimator).parameters) == set(given)
    beyond = {"features", "whiten", "priors", "store_covariance"}
    own = {"views"} if REGISTRY[name].views > 1 else beyond & set(given)
    assert set(given) == {"n_components", *fields, *own, *OPTIONS}
    assert ("features" in given) == (name in FEATURES)
    assert given["n_components"] == 3
    for field in fields.values():
        assert given[field.name] == field.default
    documented = inspect.getdoc(estimator)
    for parameter in given:
        assert re.search(rf"^(.*, )?{parameter}( :|,|$)", documented, re.MULTILINE)
    with pytest.raises(
        ArgumentError, match=f"{estimator.__name__} has no parameter 'no_such', exp"
    ):
        estimator(no_such=1)
    with pytest.raises(ArgumentError, match="; max_iter is called max_iterations"):
        estimator(max_iter=1)


@functools.cache
def fitted(key):
    """The estimator of a case of `methods`, fitted; with what it was fitted to."""
    name = methods.name_of(key)
    data, y, parameters = methods.RANDOM[key]
    estimator = ESTIMATORS[name](2, **parameters)
    if isinstance(estimator, TwoViews):
        given = data if len(data) == 2 else (data[0], list(data[1:]))
        return estimator.fit(*given), given, {}
    if takes_background(estimator):
        return estimator.fit(data[0], background=data[1]), data[:1], {"background": data[1]}
    return estimator.fit(data, y), (data, y), {}


@pytest.mark.parametrize("key", methods.by_kind(methods.RANDOM))
def test_results_are_those_of_solve(key):
    name = methods.name_of(key)
    data, y, parameters = methods.RANDOM[key]
    estimator, given, _ = fitted(key)
    result = ldr.solve(name, data, 2, y=y, **parameters)
    assert estimator.result_.value == result.value
    rows = data[0] if takes_background(estimator) else data
    np.testing.assert_array_equal(estimator.transform(given[0]), _first(result.transform(rows)))
    again = pickle.loads(pickle.dumps(estimator))
    np.testing.assert_array_equal(again.transform(given[0]), estimator.transform(given[0]))
    assert clone(estimator).get_params().keys() == estimator.get_params().keys()


def _first(Y):
    return Y[0] if isinstance(Y, tuple) else Y


@pytest.mark.parametrize(
    "key",
    methods.by_kind(
        (key for key in methods.RANDOM if "distances" not in key), also=["semi-supervised-da"]
    ),
)
def test_score_of_the_training_data(key):
    """By the definition of its kind, else the value, larger being better."""
    estimator, given, keywords = fitted(key)
    result = estimator.result_
    found = estimator.score(*given, **keywords)
    if is_classifier(estimator):
        assert (
            found == ldr.score(result, *given) == np.mean(estimator.predict(given[0]) == given[1])
        )
    elif is_regressor(estimator):
        errors = np.reshape(given[1], (len(given[0]), -1)) - np.reshape(
            estimator.predict(given[0]), (len(given[0]), -1)
        )
        assert ldr.score(result, *given) == pytest.approx(-np.mean(errors**2), rel=1e-9)
        assert 0 <= found <= 1
    elif result.objective.name == "reduced-rank-regression":
        errors = given[1] - result.predict(given[0])
        assert found == pytest.approx(-np.mean(errors**2), rel=1e-9)
    elif isinstance(result.P, tuple):
        given = given[0] if isinstance(given[0], (list, tuple)) else given
        others = given[1] if isinstance(given[1], (list, tuple)) else given[1:]
        Y = [y / y.std(axis=0) for y in map(np.asarray, result.transform((given[0], *others)))]
        pairs = [np.sum(a * b) / len(a) for a, b in combinations(Y, 2)]
        assert found == pytest.approx(np.mean(pairs), rel=1e-9)
    elif result.model is not None:
        assert found == pytest.approx(-result.value / len(given[0]), rel=1e-9)
    elif result.objective.name in VARIANCE:
        left = given[0] - estimator.inverse_transform(estimator.transform(given[0]))
        assert found == pytest.approx(-np.sum(left**2) / len(left), rel=1e-9)
    elif result.objective.traits.predicts == "classes":
        labelled = given[1] != -1
        right = result.predict(given[0]) == given[1]
        assert found == pytest.approx(np.mean(right[labelled]))
    else:  # dca has a mean for every place in its window, its score one
        sign = 1 if result.objective.sense == "max" else -1
        error = 0.05 if result.objective.name == "dca" else 1e-9
        assert found == pytest.approx(sign * result.value, rel=error)


def test_a_model_of_features_scores_features():
    estimator = Reducer(ldr.kernel("ppca", "rbf", gamma=0.1, components=20)).fit(X)
    assert estimator.score(X) == pytest.approx(-estimator.result_.value / len(X), rel=1e-9)


@pytest.mark.parametrize(
    "key", methods.by_kind(sorted({*methods.RANDOM} - {"sfa quadratic", "mds-distances"}))
)
def test_inverse_of_the_projection_projects_back(key):
    estimator, given, _ = fitted(key)
    Y = estimator.transform(given[0])
    back = estimator.inverse_transform(Y)
    assert back.shape == given[0].shape
    np.testing.assert_allclose(estimator.transform(back), Y, atol=1e-9 * np.abs(Y).max())


def test_inverse_is_least_squares():
    estimator = ldr.LDA(2).fit(X, labels)
    Y = estimator.transform(X)
    P = estimator.components_
    back = estimator.inverse_transform(Y) - estimator.mean_
    np.testing.assert_allclose(back, Y @ np.linalg.pinv(P).T, atol=1e-10)
    peer = SklearnPCA(3).fit(X)
    pca = ldr.PCA(3).fit(X)
    np.testing.assert_allclose(
        pca.inverse_transform(pca.transform(X)),
        peer.inverse_transform(peer.transform(X)),
        atol=1e-9,
    )


@pytest.mark.parametrize("estimator", [ldr.OrthogonalMAF(2), ldr.TICA(2), ldr.DCA(2)], ids=repr)
def test_series_are_scored_with_a_y_that_the_method_ignores(estimator):
    fitted = estimator.fit(X, labels)
    assert fitted.score(X, labels) == fitted.score(X)


def test_reconstruction_is_about_the_training_mean():
    pca = ldr.PCA(2).fit(X[1::2])
    new = X[::2] + 100.0
    left = new - pca.mean_ - (new - pca.mean_) @ pca.components_.T @ pca.components_
    assert pca.score(new) == pytest.approx(-np.mean(np.sum(left**2, axis=1)), rel=1e-9)
    assert pca.score(new[:1]) == pytest.approx(-np.sum(left[0] ** 2), rel=1e-9)


@pytest.mark.parametrize("inner", ["pca", "lda"])
def test_kernel_versions_are_scored_by_their_features(inner):
    estimator = Reducer(ldr.kernel(inner, "rbf", gamma=0.05, components=20), 2).fit(X, labels)
    found = estimator.score(X, labels)
    if inner == "pca":
        assert found == pytest.approx(-estimator.result_.value / len(X), rel=1e-7)
    else:
        assert found == np.mean(estimator.result_.predict(X) == labels)
    with pytest.raises(ArgumentError, match="feature map before the projection has no inverse"):
        estimator.inverse_transform(estimator.transform(X))
    several = (X[:40, :3], X[:40, 3:6]) if inner == "pca" else (X[:40, :3], X[40:90, :3])
    kernel = ldr.kernel("pls" if inner == "pca" else "contrastive-pca", components=4)
    result = ldr.solve(kernel, several, 1)  # one map for each view, and one for both samples
    expected = result.value
    if inner == "pca":
        Y, Z = (y[:, 0] / y.std() for y in result.transform(several))
        expected = np.mean(Y * Z)
    assert ldr.score(result, several) == pytest.approx(expected, rel=1e-9)


@pytest.mark.smoke
def test_two_views():
    a, b = real_data.tumour_views()
    estimator = ldr.OrthogonalCCA(2).fit(a, b)
    result = ldr.solve("orthogonal-cca", (a, b), 2)
    both = estimator.transform(a, b)
    for ours, theirs in zip(both, result.transform((a, b)), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(estimator.transform(a), both[0])
    np.testing.assert_array_equal(estimator.fit_transform(a, b), both[0])
    back = estimator.inverse_transform(*both)
    np.testing.assert_allclose(estimator.transform(*back)[1], both[1], atol=1e-10)
    np.testing.assert_array_equal(estimator.inverse_transform(both[0]), back[0])
    assert [P.shape for P in estimator.components_] == [(2, a.shape[1]), (2, b.shape[1])]
    prediction = make_pipeline(ldr.PLS(2), LinearRegression()).fit(a, b)
    assert 0.5 < prediction.score(a, b) <= 1
    reducer = Reducer("orthogonal-cca", 2).fit(a, b)
    np.testing.assert_array_equal(reducer.transform(a, b)[1], both[1])
    np.testing.assert_array_equal(reducer.inverse_transform(*both)[1], back[1])


@pytest.mark.parametrize("key", ["pca", "opca", "orthogonal-cca"])
def test_estimators_written_by_hand(key):
    """The bases serve a class that says its objective, as they do those that are made."""

    class Mine(type(fitted(key)[0]).__bases__[-1]):
        __init__ = Reducer.__init__
        _objective, _known_objective = Reducer._objective, Reducer._known_objective

    made, given, beside = fitted(key)
    mine = Mine(key).fit(*given, **beside)
    np.testing.assert_array_equal(mine.transform(given[0]), made.transform(given[0]))
    assert mine.score(*given, **beside) == made.score(*given, **beside)
    assert Mine(key).partial_fit(*given, **beside).n_samples_seen_ == len(given[0])


def test_background():
    target, noise, _ = np.split(X, [60, 120])
    pipeline = make_pipeline(StandardScaler(with_std=False), ldr.OPCA(2))
    pipeline.fit(target, opca__background=noise)
    expected = ldr.solve("opca", (target - target.mean(axis=0), noise), 2)
    assert pipeline[-1].result_.value == pytest.approx(expected.value, rel=1e-12)
    assert Reducer("opca").fit(target, background=noise).score(target, background=noise) > 0
    with pytest.raises(DataError, match="OPCA needs background="):
        ldr.OPCA().fit(target)
    with pytest.raises(TypeError, match=r"fit.* missing .*'self'"):
        ldr.OPCA.fit()


def test_distances_are_pairwise():

    distances = pairwise_distances(X)
    assert ldr.DistanceMDS().__sklearn_tags__().input_tags.pairwise
    assert not hasattr(ldr.DistanceMDS(), "score")
    assert not hasattr(ldr.DistanceMDS(), "inverse_transform")
    search = GridSearchCV(
        make_pipeline(ldr.DistanceMDS(2), KNeighborsClassifier()),
        {"distancemds__n_components": [2]},
        cv=KFold(3, shuffle=True, random_state=0),
    ).fit(distances, labels)  # folds take rows and columns
    assert search.best_score_ > 0.8


def test_labels_are_required_where_they_are_used():
    for estimator in (ldr.OrthogonalLDA(), ldr.OLPP(graph="classes"), ldr.KernelSDR()):
        assert estimator.__sklearn_tags__().target_tags.required
        with pytest.raises(DataError, match=f"{type(estimator).__name__} requires y"):
            estimator.fit(X)
    for estimator in (ldr.OLPP(), ldr.PCA(), Reducer("orthogonal-maf")):
        assert not estimator.__sklearn_tags__().target_tags.required


@pytest.mark.parametrize("n_components", [0, 14, 2.0, True, "2"])
def test_bad_n_components_is_refused_by_that_name(n_components):
    with pytest.raises(ArgumentError, match="n_components"):
        ldr.PCA(n_components).fit(X)


def test_unknown_objectives_are_refused_by_fit_alone():
    estimator = Reducer("ldda")
    repr(estimator), clone(estimator), estimator.__sklearn_tags__()
    with pytest.raises(ArgumentError, match="did you mean 'lda'"):
        estimator.fit(X, labels)
    with pytest.raises(NotFittedError):
        estimator.transform(X)


def test_errors_say_of_what_data():
    with pytest.raises(ArgumentError, match=r"n_samples = 8, n_features = 13"):
        ldr.LPP().fit(X[:8])


NAMES = [f"column {k}" for k in range(X.shape[1])]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_in_and_out(library):
    frame = pd.DataFrame(X, columns=NAMES) if library == "pandas" else polars.DataFrame(X, NAMES)
    frame_type = pd.DataFrame if library == "pandas" else polars.DataFrame
    estimator = ldr.OrthogonalLDA(3).set_output(transform=library)
    Y = estimator.fit_transform(frame, labels)
    assert isinstance(Y, frame_type) and list(Y.columns) == list(estimator.get_feature_names_out())
    assert list(estimator.get_feature_names_out()) == [f"orthogonallda{k}" for k in range(3)]
    np.testing.assert_allclose(Y.to_numpy(), ldr.OrthogonalLDA(3).fit(X, labels).transform(X))
    assert list(estimator.feature_names_in_) == NAMES
    assert estimator.result_.feature_names == tuple(NAMES)
    turned = frame[NAMES[::-1]]
    with pytest.raises(ValueError, match="feature names should match"):
        estimator.transform(turned)
    pipeline = make_pipeline(StandardScaler(), ldr.PCA(2)).set_output(transform=library)
    out = pipeline.fit_transform(frame)
    assert isinstance(out, frame_type) and list(out.columns) == ["pca0", "pca1"]


def test_estimators_of_two_views_and_reducers_predict():
    a, b = real_data.tumour_views()
    estimator = ldr.PLS(2).fit(a, b)
    np.testing.assert_array_equal(estimator.predict(a), estimator.result_.predict(a))
    reducer = Reducer("orthogonal-lda", 2).fit(X, labels)
    np.testing.assert_array_equal(reducer.predict(X), reducer.result_.predict(X))
    assert not hasattr(Reducer("pca"), "predict") and not hasattr(ldr.PCA(), "predict")


@pytest.mark.slow
def test_joblib_in_other_processes():
    found = joblib.Parallel(n_jobs=2)(
        joblib.delayed(lambda e: e.fit(X, labels).result_.value)(ldr.OrthogonalLDA(r))
        for r in (1, 2)
    )
    assert found == [ldr.solve("orthogonal-lda", X, r, y=labels).value for r in (1, 2)]


@ldr.objective(sense="max", backend="autograd")
def fourth_moment(M, X):
    return ((X @ M) ** 4).mean()


@pytest.mark.smoke
def test_objective_of_three_lines_in_a_pipeline_pickled():
    pipeline = make_pipeline(
        StandardScaler(), Reducer(fourth_moment, 2, random_state=0), KNeighborsClassifier()
    )
    pipeline.fit(X, labels)
    again = pickle.loads(pickle.dumps(pipeline))
    np.testing.assert_array_equal(again.predict(X), pipeline.predict(X))
    fresh = clone(pipeline).fit(X, labels)
    assert fresh[1].result_.value == pytest.approx(pipeline[1].result_.value, rel=1e-12)
    Y = pipeline[:2].transform(X)
    assert pipeline[1].result_.value == pytest.approx(np.mean(Y**4), rel=1e-9)


def test_random_state_of_either_kind():
    for state in (0, np.random.RandomState(0), np.random.default_rng(0)):
        estimator = ldr.OrthogonalCCA(2, starts=3, random_state=state)
        a, b = real_data.linnerud()
        assert len(clone(estimator).fit(a, b).result_.starts.values) == 3


@pytest.mark.slow
def test_digits_by_orthogonal_lda_and_neighbours():
    """At r = 1 it is Fisher's discriminant, exactly; unlike that it goes on beyond r = 9."""
    digits, numbers = load_digits(return_X_y=True)

    def searched(reducer, dimensions):
        pipeline = make_pipeline(StandardScaler(), reducer, KNeighborsClassifier())
        step = pipeline.steps[1][0]
        search = GridSearchCV(pipeline, {f"{step}__n_components": dimensions}, cv=5)
        return search.fit(digits, numbers)

    ours = searched(ldr.OrthogonalLDA(), [1, 2, 5, 9, 24])
    fisher = searched(LinearDiscriminantAnalysis(), [1, 2, 5, 9])
    accuracy = ours.cv_results_["mean_test_score"]
    assert accuracy[0] == pytest.approx(fisher.cv_results_["mean_test_score"][0], abs=0.01)
    assert np.all(np.diff(accuracy) > 0) and accuracy[-1] > 0.9
    assert ours.best_params_ == {"orthogonallda__n_components": 24}


def test_every_estimator_ends_in_time_and_tells_what_it_does(monkeypatch):
    given = {"time_limit": 5.0, "workers": 2, "verbose": True}
    for estimator in (Reducer, *ESTIMATORS.values()):
        assert given.items() <= clone(estimator(**given)).get_params().items()
    with pytest.raises(TimeLimitError):
        ldr.NCA(2, time_limit=2e-6).fit(X, labels)
    seen = []

    def solve(*args, observers, workers, **options):
        seen.append((len(observers), workers))
        return ldr.solve(*args, **options)

    monkeypatch.setattr(base, "solve", solve)
    for verbose in (True, 1, 0, False):
        ldr.PCA(2, verbose=verbose, workers=2).fit(X)
    assert seen == [(1, 2), (1, 2), (0, 2), (0, 2)]
    with pytest.raises(ArgumentError, match="verbose must be True or False, got 'yes'"):
        ldr.PCA(2, verbose="yes").fit(X)


def test_gaps_are_refused_with_the_methods_that_take_them():
    gaps = np.where(np.arange(13) == 5, np.nan, X)
    for fit in (
        lambda: ldr.OrthogonalLDA(2).fit(gaps, labels),
        lambda: ldr.PLS(2).fit(X[:, :5], gaps),
        lambda: ldr.PCA(2).fit(X).transform(gaps),
    ):
        with pytest.raises(DataError, match=r"row 0, column 5.*'ppca' and 'fa' accept missing"):
            fit()


def test_views_as_column_groups_of_one_array():
    """In a pipeline, by numbers, slices and names; the same as views that are given apart."""
    X = real_data.standardised(real_data.breast_cancer()[0])
    groups = [range(10), slice(10, 20), list(range(20, 30))]
    apart = tuple(X[:, list(range(30)[g]) if isinstance(g, slice) else list(g)] for g in groups)
    expected = np.hstack(ldr.solve("mcca", apart, 2).transform(apart))
    pipeline = make_pipeline(StandardScaler(), ldr.MCCA(2, views=groups))
    np.testing.assert_allclose(pipeline.fit_transform(X), expected, atol=1e-9)
    names = [f"c{k}" for k in range(30)]
    frame = pd.DataFrame(X, columns=names)
    fitted = ldr.MCCA(2, views=(names[:10], names[10:20], names[20:])).fit(frame)
    np.testing.assert_allclose(fitted.transform(frame), expected, atol=1e-9)
    assert list(fitted.get_feature_names_out()) == [f"mcca{k}" for k in range(6)]
    assert fitted.result_.feature_names[1] == tuple(names[10:20])
    called = dict(zip(("means", "errors", "worst"), groups, strict=True))
    called = clone(ldr.MCCA(2, views=called)).fit(X)
    np.testing.assert_allclose(called.transform(X), expected, atol=1e-9)
    assert called.result_.view_names == ("means", "errors", "worst")
    assert list(called.get_feature_names_out()[2:4]) == ["mcca_errors0", "mcca_errors1"]
    # The score is the mean, over pairs of views, of the summed correlations of components.
    parts = np.split(called.transform(X), 3, axis=1)
    pairs = [np.corrcoef(a[:, k], b[:, k])[0, 1] for a, b in combinations(parts, 2) for k in (0, 1)]
    assert called.score(X) == pytest.approx(np.sum(pairs) / 3, rel=1e-10)
    np.testing.assert_allclose(
        called.inverse_transform(expected), fitted.inverse_transform(expected), atol=1e-9
    )
    assert fitted.score(frame) == pytest.approx(called.score(X), rel=1e-10)
    whole = ldr.MaxDiff(3, views=([0, 1, 2], [4, 5, 6])).fit(X)
    back = whole.inverse_transform(whole.transform(X))
    np.testing.assert_allclose(back[:, [0, 1, 2, 4, 5, 6]], X[:, [0, 1, 2, 4, 5, 6]], atol=1e-9)
    assert np.isnan(back[:, 3]).all()
    assert cross_val_score(ldr.OrthogonalCCA(1, views=groups[:2]), X, cv=3).shape == (3,)
    any_method = make_pipeline(StandardScaler(), ldr.Reducer("mcca", 2, views=groups))
    np.testing.assert_allclose(any_method.fit_transform(X), expected, atol=1e-9)


def test_all_views_as_a_list_or_a_dict():
    """Of one shape, and of several, is what `ldr.solve` gives."""
    X = real_data.standardised(real_data.breast_cancer()[0])
    for shape in ((10, 20), (7, 16)):
        apart = np.split(X, shape, axis=1)
        named = dict(zip("abc", apart, strict=True))
        for estimator in (ldr.MCCA(2), ldr.PLS(2), ldr.OrthogonalCCA(2)):
            fitted = estimator.fit(apart)
            expected = fitted.result_.transform(tuple(apart))
            beside = clone(estimator).fit(apart[0], apart[1:])
            called = clone(estimator).fit(named)
            assert called.result_.view_names == ("a", "b", "c")
            for found in (
                fitted.transform(apart),
                clone(estimator).fit_transform(tuple(apart)),
                beside.transform(apart[0], apart[1:]),
                called.transform(dict(reversed(named.items()))),
            ):
                assert isinstance(found, tuple)
                np.testing.assert_allclose(found, expected, atol=1e-9)
            assert fitted.score(apart) == pytest.approx(called.score(named), rel=1e-10)
            back, also = (
                fitted.inverse_transform(expected),
                called.inverse_transform(dict(reversed(named_of(expected).items()))),
            )
            for one, other in zip(back, also, strict=True):
                np.testing.assert_allclose(one, other, atol=1e-9)
    with pytest.raises(ValueError, match="Expected 2D array"):
        ldr.MCCA(2).fit({})


def named_of(coordinates):
    return dict(zip("abc", coordinates, strict=True))


@pytest.mark.parametrize(
    ("views", "words"),
    [
        ([[0, 1]], "two or more groups of columns"),
        ("ab", "two or more groups of columns"),
        ([[0, 1], [2, 99]], r"views\[1\] = \[2, 99\]"),
        ([[0, 1], ["alcohol"]], r"views\[1\]"),
        ([[0, 1], []], "selects no column"),
        ([0, 1], r"views\[0\] = 0: expected a slice, or a list"),
        ({"a": [0, 1], "b": [99]}, r"views\['b'\] = \[99\]"),
        ({"a": [0, 1]}, "a dict of groups by name"),
    ],
)
def test_column_groups_that_are_none(views, words):
    with pytest.raises(ldr.errors.ArgumentError, match=words):
        ldr.MCCA(1, views=views).fit(X)
    with pytest.raises(ldr.errors.ArgumentError, match=r"'pca' has one view.*leave out views="):
        ldr.Reducer("pca", 1, views=views).fit(X)


def test_what_does_not_go_with_column_groups():
    fitted = ldr.PLS(1, views=([0, 1], [2, 3])).fit(X[:, :4])
    with pytest.raises(ArgumentError, match="X has 3 columns, expected 2"):
        fitted.inverse_transform(X[:, :3])
    with pytest.raises(ArgumentError, match=r"predict does not support views="):
        fitted.predict(X[:, :4])
    stored = da.from_array(X[:, :4])
    with pytest.raises(DataError, match="views= needs X in memory"):
        clone(fitted).fit(stored)
    pca = ldr.PCA(2).partial_fit(stored)
    with pytest.raises(DataError, match="X has 3 features, expected 4"):
        pca.partial_fit(stored[:, :3])
    with pytest.raises(ArgumentError, match="X has 3 columns, expected n_components = 2"):
        pca.inverse_transform(X[:, :3])


def test_options_are_those_of_solve():
    options = inspect.signature(Reducer).parameters
    assert {name: options[name].default for name in OPTIONS} == OPTIONS


def test_parameters_of_an_objective_go_into_it():
    with pytest.raises(
        ArgumentError, match=r"Reducer has no parameter 'lag'.*\.OrthogonalMAF\(lag=2\)"
    ):
        ldr.Reducer("tica", 2, lag=2)
    with pytest.raises(ArgumentError, match="lag"):
        ldr.OrthogonalMAF(lag=0).partial_fit(X)
    names = np.array(["low", "high"], dtype=object)[labels % 2]
    assert set(ldr.LeastSquares(1).fit(X, names).predict(X)) == {"low", "high"}
    with pytest.raises(DataError, match="y has dtype object, expected numbers: encode y"):
        ldr.LeastSquares(1).fit(X, np.where(labels == 2, None, names))
    with pytest.raises(DataError, match="labels as text, which partial_fit does not take"):
        ldr.PLSRegression(1).partial_fit(X, names)


def test_arguments_that_no_estimator_takes():
    with pytest.raises(TypeError, match="PCA: too many positional arguments"):
        ldr.PCA(2, *range(5))
    with pytest.raises(ArgumentError, match=r"PCA.fit takes no background=: only the .* opca"):
        ldr.PCA(2).fit(X, background=X)
