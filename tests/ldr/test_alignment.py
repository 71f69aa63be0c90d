"""Rows of pandas objects are paired by their index, in every door that takes two of them."""

import numpy as np
import pandas as pd
import polars
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import ldr
from ldr.errors import DataError
from tests import real_data

rng = np.random.default_rng(0)
ARRAY, LABELS = real_data.wine()
LETTERS = [f"wine {i}" for i in range(len(ARRAY))]
X = pd.DataFrame(ARRAY, index=LETTERS).rename(columns=str)
y = pd.Series(LABELS, index=LETTERS)
OTHER_ORDER = rng.permutation(len(X))
MIXED = y.iloc[OTHER_ORDER]
A, B = X.iloc[:, :6], X.iloc[:, 6:]
B_MIXED = B.iloc[OTHER_ORDER]
NOISE = X.iloc[OTHER_ORDER[:100]]


def same(one, other):
    assert one.value == other.value
    for P, Q in zip(np.atleast_3d(one.M), np.atleast_3d(other.M), strict=True):
        np.testing.assert_array_equal(P, Q)


def test_labels_in_another_order():
    right = ldr.solve("orthogonal-lda", X.to_numpy(), 2, y=LABELS)
    same(ldr.solve("orthogonal-lda", X, 2, y=MIXED), right)
    wrong = ldr.solve("orthogonal-lda", X, 2, y=MIXED.to_numpy())  # by place, as asked for
    assert wrong.value < 0.1 * right.value
    assert (MIXED == y.iloc[OTHER_ORDER]).all()


def test_a_response_and_a_frame_of_responses():
    response = pd.Series(ARRAY[:, 0], index=LETTERS)
    for given in (response, response.to_frame(), X.iloc[:, :2]):
        right = ldr.solve("ridge-regression", X, 2, y=given.to_numpy())
        same(ldr.solve("ridge-regression", X, 2, y=given.iloc[OTHER_ORDER]), right)


def test_the_second_view_in_another_order():
    right = ldr.solve("orthogonal-cca", (A.to_numpy(), B.to_numpy()), 2)
    found = ldr.solve("orthogonal-cca", (A, B_MIXED), 2)
    assert found.value == right.value
    assert ldr.score(found, (A, B_MIXED)) == ldr.score(right, (A, B))
    assert ldr.check("orthogonal-cca", (A, B_MIXED)).passed


def test_a_background_has_rows_of_its_own():
    right = ldr.solve("opca", (X.to_numpy(), NOISE.to_numpy()), 2)
    assert ldr.solve("opca", (X, NOISE), 2).value == right.value


def test_estimators():
    right = ldr.OrthogonalLDA(2).fit(X, y)
    for estimator in (ldr.OrthogonalLDA(2), ldr.Reducer("orthogonal-lda", 2)):
        mixed = estimator.fit(X, MIXED)
        np.testing.assert_array_equal(mixed.components_, right.components_)
        assert mixed.score(X, MIXED) == mixed.score(X, y.to_numpy())
    two = ldr.OrthogonalCCA(2)
    np.testing.assert_array_equal(
        two.fit(A, B_MIXED).components_[1], ldr.OrthogonalCCA(2).fit(A, B).components_[1]
    )
    blocks = ldr.OrthogonalLDA(2).partial_fit(X, MIXED)
    np.testing.assert_array_equal(
        blocks.components_, ldr.OrthogonalLDA(2).partial_fit(X, y).components_
    )
    pipeline = make_pipeline(
        StandardScaler().set_output(transform="pandas"), ldr.Reducer("orthogonal-lda")
    )
    np.testing.assert_array_equal(pipeline.fit(X, MIXED)[-1].components_.shape, (2, 13))
    np.testing.assert_allclose(
        pipeline.fit(X, MIXED)[-1].components_, pipeline.fit(X, y)[-1].components_
    )


@pytest.mark.parametrize("estimator", [ldr.LDA(2), ldr.RidgeRegression(2), ldr.PCA(2)])
def test_weights_of_estimators(estimator):
    weights = pd.Series(np.arange(178.0) % 5, index=LETTERS)
    right = estimator.fit(X, y, sample_weight=weights.to_numpy())
    expected = right.result_.value, right.score(X, y, sample_weight=weights.to_numpy())
    other = weights.iloc[OTHER_ORDER]
    mixed = estimator.fit(X, MIXED, sample_weight=other)
    assert (mixed.result_.value, mixed.score(X, MIXED, sample_weight=other)) == expected
    blocks = clone(estimator).partial_fit(X, MIXED, sample_weight=other)
    assert blocks.result_.value == pytest.approx(expected[0], rel=1e-12)


def test_trials_of_estimators():
    trials = pd.Series(np.arange(178) // 20, index=LETTERS)
    right = ldr.OrthogonalMAF(2).fit(X, groups=trials)
    mixed = ldr.OrthogonalMAF(2).fit(X, groups=trials.iloc[OTHER_ORDER])
    assert mixed.result_.value == right.result_.value
    found = mixed.score(X, groups=trials.iloc[OTHER_ORDER])
    assert found == right.score(X, groups=trials)


def test_views_and_scores_of_estimators():
    two = ldr.CCA(2).fit(A, B)
    for found, right in zip(two.transform(A, B_MIXED), two.transform(A, B), strict=True):
        np.testing.assert_array_equal(found, right)
    names = ["a", "b", "c"]
    three, mixed = [A, B, A.iloc[:, :3]], [A, B_MIXED, A.iloc[OTHER_ORDER, :3]]
    right = ldr.MaxDiff(1).fit(three).result_.value
    for views in (mixed, dict(zip(names, mixed, strict=True))):
        assert ldr.MaxDiff(1).fit(views).result_.value == right
    responses = X.iloc[:, :2]
    given = (responses, responses.iloc[OTHER_ORDER])
    right, mixed = (ldr.PLSRegression(2).fit_transform(X, y)[1] for y in given)
    np.testing.assert_array_equal(mixed, right)


def test_a_picture_of_named_views_pairs_their_rows():
    result = ldr.solve("cca", {"a": A, "b": B}, 1)
    right, mixed = (
        ldr.plots.projection(result, {"b": B, "a": view}).axes[0].collections[0].get_offsets()
        for view in (A, A.iloc[OTHER_ORDER])
    )
    np.testing.assert_array_equal(mixed, right)


def test_what_resamples_the_rows():
    few = {"draws": 2, "random_state": 0}
    mixed, right = (ldr.bootstrap("orthogonal-lda", X, 2, y=of, **few) for of in (MIXED, y))
    np.testing.assert_array_equal(mixed.angles, right.angles)
    mixed, right = (
        ldr.path("orthogonal-lda", X, [1, 2], y=of, folds=2, random_state=0) for of in (MIXED, y)
    )
    np.testing.assert_array_equal(mixed.scores, right.scores)


def test_the_kernel_of_a_frame_is_scored_by_index():
    result = ldr.solve(ldr.kernel("orthogonal-lda", components=20), X, 2, y=y)
    assert ldr.score(result, X, MIXED) == ldr.score(result, X, y)


def test_a_picture_has_the_colours_of_its_rows():
    result = ldr.solve("orthogonal-lda", X, 2, y=y)
    of = [ldr.plots.projection(result, X, labels).axes[0].collections for labels in (MIXED, y)]
    for mixed, right in zip(*of, strict=True):
        np.testing.assert_array_equal(mixed.get_offsets(), right.get_offsets())


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (
            y.reset_index(drop=True),
            r"X and y have different indices: y lacks 178 of 178 .*'wine 0', ",
        ),
        (y.rename({"wine 5": "beer"}), "y lacks 1 of 178 entries, the first 'wine 5'; reset"),
        (y.rename({"wine 5": "wine 6"}), r"different indices with duplicates.*to_numpy"),
    ],
)
def test_other_indices_are_refused(labels, words):
    with pytest.raises(DataError, match=words):
        ldr.solve("orthogonal-lda", X, 2, y=labels)
    with pytest.raises(DataError, match=words):
        ldr.OrthogonalLDA().fit(X, labels)


def test_indices_of_several_kinds():
    levels = pd.MultiIndex.from_arrays([np.arange(178) // 2, np.arange(178) % 2])
    dates = pd.date_range("2020", periods=178)
    spans = pd.IntervalIndex.from_breaks(np.arange(179.0))
    right = ldr.solve("orthogonal-lda", X, 2, y=y).value
    for index in (levels, dates, spans, pd.RangeIndex(178), pd.CategoricalIndex(LETTERS)):
        labels = y.set_axis(index)
        assert (
            ldr.solve("orthogonal-lda", X.set_axis(index), 2, y=labels.iloc[OTHER_ORDER]).value
            == right
        )
        for other in (levels, dates, spans, pd.RangeIndex(178)):
            if type(other) is not type(index):
                with pytest.raises(DataError, match="different indices"):
                    ldr.solve("orthogonal-lda", X.set_axis(index), 2, y=y.set_axis(other))


def test_rows_by_place_where_there_is_no_index_to_go_by():
    right = ldr.solve("orthogonal-lda", X, 2, y=LABELS).value
    twice = np.repeat(LETTERS[:89], 2)
    assert ldr.solve("orthogonal-lda", X.set_axis(twice), 2, y=y.set_axis(twice)).value == right
    assert ldr.solve("orthogonal-lda", X, 2, y=list(LABELS)).value == right
    assert ldr.solve("orthogonal-lda", ARRAY, 2, y=MIXED).value != right
    frame = polars.DataFrame(X.to_numpy())
    assert ldr.solve("orthogonal-lda", frame, 2, y=polars.Series(LABELS)).value == right
    default = X.reset_index(drop=True)
    assert ldr.solve("orthogonal-lda", default, 2, y=pd.Series(LABELS)).value == right


def test_data_arrays_of_xarray():
    xarray = pytest.importorskip("xarray")
    given = xarray.DataArray(ARRAY, dims=("wine", "column"), coords={"wine": LETTERS})
    labels = xarray.DataArray(LABELS, dims="wine", coords={"wine": LETTERS})
    right = ldr.solve("orthogonal-lda", X, 2, y=y).value
    for mixed in (labels[OTHER_ORDER], MIXED, labels.drop_vars("wine")):
        assert ldr.solve("orthogonal-lda", given, 2, y=mixed).value == right
    with pytest.raises(DataError, match="X and y have different indices"):
        ldr.solve("orthogonal-lda", given, 2, y=labels.assign_coords(wine=range(178)))


def test_dask_frames_must_begin_and_end_alike():
    dd = pytest.importorskip("dask.dataframe")
    frame = dd.from_pandas(X.reset_index(drop=True), npartitions=3)
    labels = pd.Series(LABELS)
    right = dd.from_pandas(labels, npartitions=2)
    shifted = dd.from_pandas(labels.set_axis(np.arange(178) + 5), npartitions=3)
    value = ldr.solve("orthogonal-lda", X, 2, y=y).value
    assert ldr.solve("orthogonal-lda", frame, 2, y=right).value == pytest.approx(value, rel=1e-10)
    with pytest.raises(DataError, match="different indices: X from 0 to 177, y from 5 to 182"):
        ldr.solve("orthogonal-lda", frame, 2, y=shifted)
    assert ldr.solve("orthogonal-lda", frame, 2, y=labels).value == pytest.approx(value, rel=1e-10)
    for X_given, y_given in ((frame, labels[::-1]), (X.reset_index(drop=True)[::-1], right)):
        with pytest.raises(DataError, match=r"from 177 to 0.* pass y\.to_.*\(\) as y"):
            ldr.solve("orthogonal-lda", X_given, 2, y=y_given)
