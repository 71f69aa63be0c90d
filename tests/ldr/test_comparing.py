"""Methods beside one another: scores of rows that nothing was fitted to, and what they say."""

import sys

import numpy as np
import pandas
import pytest
from sklearn.datasets import load_diabetes, load_linnerud
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import PredefinedSplit, StratifiedGroupKFold
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.preprocessing import StandardScaler

import ldr
from ldr.errors import ArgumentError, DataError
from ldr.objectives import named
from ldr.resampling import Sampled
from ldr.suited import suited
from tests import real_data

X, labels = real_data.wine()
FRAME = pandas.DataFrame(X).rename(columns="c{}".format)
SERIES = np.cumsum(np.random.default_rng(0).standard_normal((150, 4)), axis=0)


@pytest.fixture(scope="module")
def wine():
    return ldr.compare(["lda", "pca"], FRAME, labels, 2, folds=10, standardise=True)


def test_that_a_heuristic_classifies_better_is_said_plainly(wine):
    judged = "accuracy, 5 nearest"
    lda = wine.methods[0]
    assert lda.result.certificate.kind == "global" and lda.result.improvement > 0.05
    assert lda.heuristic_scores[judged].mean() > lda.scores[judged].mean()
    (said,) = [text for text in wine.findings if text.startswith("lda")]
    assert "the heuristic scores higher than the optimum, 0.989 against 0.972" in said
    lines = repr(wine).splitlines()
    assert lines[3].startswith("  its heuristic") and said in " ".join(repr(wine).split())
    assert max(map(len, lines)) <= 100 and "more: held-out value" in lines[-1]
    assert wine.methods[1].heuristic is None  # pca is its heuristic


def folds_of(method, Z, y, count, seed=0):
    return Sampled.of(named(method), Z, y, "folds").folds(count, np.random.default_rng(seed))


def test_everything_is_fitted_inside_the_folds(wine):
    """Standard deviations, projections, neighbours and means of classes: by scikit-learn."""
    expected = {"5 nearest": [], "nearest mean": [], "heuristic": []}
    for training, held in folds_of("lda", X, labels, 10):
        scaler = StandardScaler(with_mean=False).fit(X[training])
        old, new = scaler.transform(X[training]), scaler.transform(X[held])
        found = ldr.solve("lda", old, 2, y=labels[training], certify=False)
        Y, Z = found.transform(old), found.transform(new)
        neighbours = KNeighborsClassifier(5)
        expected["5 nearest"].append(neighbours.fit(Y, labels[training]).score(Z, labels[held]))
        means = LinearDiscriminantAnalysis(solver="lsqr").fit(Y, labels[training])
        expected["nearest mean"].append(means.score(Z, labels[held]))
        Y, Z = old @ found.baseline_M, new @ found.baseline_M
        expected["heuristic"].append(neighbours.fit(Y, labels[training]).score(Z, labels[held]))
    lda = wine.methods[0]
    np.testing.assert_array_equal(lda.scores["accuracy, 5 nearest"], expected["5 nearest"])
    np.testing.assert_array_equal(lda.scores["accuracy, nearest mean"], expected["nearest mean"])
    np.testing.assert_array_equal(
        lda.heuristic_scores["accuracy, 5 nearest"], expected["heuristic"]
    )


def test_scores_of_a_response():
    Z, y = load_diabetes(return_X_y=True)
    (method,) = ldr.compare(["sir"], Z, y, 2, folds=3).methods
    expected = {"R2, linear": [], "R2, 5 nearest": []}
    for training, held in folds_of("sir", Z, y, 3):
        found = ldr.solve("sir", Z[training], 2, y=y[training])
        Y, new = found.transform(Z[training]), found.transform(Z[held])
        about = np.sum((y[held] - y[training].mean()) ** 2)
        for name, peer in zip(expected, (LinearRegression(), KNeighborsRegressor(5)), strict=True):
            left = np.sum((y[held] - peer.fit(Y, y[training]).predict(new)) ** 2)
            expected[name].append(1 - left / about)
    for name, scores in expected.items():
        np.testing.assert_allclose(method.scores[name], scores, atol=1e-10)


def test_scores_of_two_views(tmp_path):
    a, b = load_linnerud(return_X_y=True)
    compared = ldr.compare(["pls"], (a, b), r=1, folds=4)
    (method,) = compared.methods
    compared.write_html(tmp_path / "page.html")
    assert "one view against that of the other" in (tmp_path / "page.html").read_text()
    expected = {"R2 of the second view": [], "mean correlation": []}
    for training, held in folds_of("pls", (a, b), None, 4):
        found = ldr.solve("pls", (a[training], b[training]), 1)
        (Y, _), (new, other) = (found.transform((a[k], b[k])) for k in (training, held))
        predicted = LinearRegression().fit(Y, b[training]).predict(new)
        unit = b[training].std(axis=0)
        left = np.sum(((b[held] - predicted) / unit) ** 2)
        about = np.sum(((b[held] - b[training].mean(axis=0)) / unit) ** 2)
        expected["R2 of the second view"].append(1 - left / about)
        expected["mean correlation"].append(np.corrcoef(new[:, 0], other[:, 0])[0, 1])
    for name, scores in expected.items():
        np.testing.assert_allclose(method.scores[name], scores, atol=1e-10)


def test_that_nothing_is_predicted_is_said():
    rng = np.random.default_rng(0)
    found = ldr.compare(["least-squares"], rng.standard_normal((60, 20)), rng.random(60), 1)
    assert found.findings[0].endswith("the mean of the training rows predicts better than all")


def test_time_series_are_cut_into_pieces_in_order():
    found = ldr.compare(["maf", "pca"], SERIES, r=2, folds=3)
    assert found.judged_by == ("R2 of the next step", "held-out value")
    _, held = folds_of("maf", SERIES, None, 3)[1]
    assert list(held) == list(range(50, 100))
    training = np.setdiff1d(np.arange(150), held)
    trials = training > 50
    for method, given in (("maf", {"groups": trials}), ("pca", {})):
        result = ldr.solve(method, SERIES[training], 2, **given)
        Y, new = result.transform(SERIES[training]), result.transform(SERIES[held])
        first, then = np.delete(Y[:-1], 49, axis=0), np.delete(Y[1:], 49, axis=0)  # 50 before 101
        predicted = LinearRegression().fit(first, then).predict(new[:-1])
        unit, mean = then.std(axis=0), then.mean(axis=0)
        expected = 1 - np.sum(((new[1:] - predicted) / unit) ** 2) / np.sum(
            ((new[1:] - mean) / unit) ** 2
        )
        (one,) = [one for one in found.methods if one.name == method]
        assert one.scores["R2 of the next step"][1] == pytest.approx(expected)


def test_paths_know_where_the_training_rows_of_a_series_were_cut():
    scores = ldr.path("maf", SERIES, [2], folds=3, random_state=0).scores[0]
    training, held = np.delete(np.arange(150), np.s_[50:100]), np.arange(50, 100)
    cut = ldr.solve("maf", SERIES[training], 2, groups=training > 50)
    assert scores[1] == pytest.approx(ldr.score(cut, SERIES[held]), rel=1e-12)


def test_whole_groups_are_held_out():
    rng = np.random.default_rng(0)
    people = np.repeat(np.arange(30), 6)[: len(X)]
    found = ldr.compare(["lda"], X, labels, 2, folds=3, groups=people, standardise=True)
    seed = int(np.random.default_rng(0).integers(2**31))
    splitter = StratifiedGroupKFold(3, shuffle=True, random_state=seed)
    same = ldr.compare(["lda"], X, labels, 2, folds=splitter, groups=people, standardise=True)
    for name, scores in found.methods[0].scores.items():
        np.testing.assert_array_equal(scores, same.methods[0].scores[name])
    trials = np.repeat(np.arange(15), 10)
    in_time = ldr.compare(["maf"], SERIES, r=2, folds=3, groups=trials)
    parts = Sampled.of(named("maf"), SERIES, None, "folds", None, trials).folds(3, rng)
    training, held = parts[0]
    assert set(trials[training]).isdisjoint(trials[held])
    result = ldr.solve("maf", SERIES[training], 2, groups=trials[training])
    expected = ldr.score(result, SERIES[held], groups=trials[held])
    assert in_time.methods[0].scores["held-out value"][0] == pytest.approx(expected, rel=1e-12)
    with pytest.raises(ArgumentError, match="does not split these rows"):
        ldr.compare(["lda"], X, labels, folds=3, groups=people[:-1])


@pytest.mark.parametrize(
    ("methods", "data", "y"),
    [
        (["lda", "pca"], X, labels),
        (["sir"], X, X[:, 0] ** 2 + X[:, 1]),
        (["classical-cca"], (X[:, :6], X[:, 6:]), None),
        (["pca"], X, None),
    ],
)
def test_whole_weights_are_repeated_rows(methods, data, y):
    """Of training rows and of held-out ones; for nearest rows of distinct rows it is a vote."""
    weights = np.random.default_rng(0).integers(0, 4, len(X))
    times, places = np.repeat(np.arange(len(X)), weights), np.arange(len(X)) % 3
    found, repeated = (
        ldr.compare(methods, Z, z, 2, folds=PredefinedSplit(fold), sample_weight=w)
        for Z, z, fold, w in (
            (data, y, places[weights > 0], weights),
            (
                tuple(v[times] for v in data) if isinstance(data, tuple) else data[times],
                None if y is None else y[times],
                places[times],
                None,
            ),
        )
    )
    for one, other in zip(found.methods, repeated.methods, strict=True):
        for name, scores in one.scores.items():
            if "nearest" not in name or "mean" in name:
                np.testing.assert_allclose(scores, other.scores[name], rtol=1e-7, err_msg=name)


def test_groups_of_rows_that_count(monkeypatch):
    """Rows of no weight are gone, and their groups with them; no pandas is needed for the table."""
    people, w = np.arange(len(X)) // 10, (np.arange(len(X)) % 3 > 0).astype(float)
    kept = w > 0
    some, all_of_them = (
        ldr.compare(["pca"], Z, r=2, folds=3, groups=g, **beside)
        for Z, g, beside in ((X[kept], people[kept], {}), (X, people, {"sample_weight": w}))
    )
    monkeypatch.setitem(sys.modules, "pandas", None)
    for one, other in zip(some.table, all_of_them.table, strict=True):
        assert one["R2 of X"] == pytest.approx(other["R2 of X"], rel=1e-9)


def test_scores_that_there_are_not():
    """Held-out pieces are shorter than the lag: the value is none there, what rows say is."""
    scores = ldr.compare([named("maf", lag=6)], SERIES[:40], r=1, folds=8).methods[0].scores
    assert np.isnan(scores["held-out value"]).all()
    assert np.isfinite(scores["R2 of the next step"]).all()


def test_methods_without_weights_are_refused():
    sdr = named("sdr", landmarks=10)
    with pytest.raises(ArgumentError, match=r"sdr: sdr takes weights .* exact form"):
        ldr.compare(["pca", sdr], X, X[:, 0], sample_weight=np.ones(len(X)))


def test_the_dimension_may_be_left_to_the_rows():
    found = ldr.compare(["lda", "pca"], X, labels, 0.6, folds=2, standardise=True)
    r = ldr.solve("pca", X, 0.6, standardise=True).r
    assert {method.result.r for method in found.methods} == {r}
    assert found.notes[0].startswith(f"r = {r}: the fewest") and found.notes[0] in " ".join(
        repr(found).split()
    )
    gaps = np.where(np.random.default_rng(0).random(X.shape) < 0.05, np.nan, X)
    auto = ldr.compare(["ppca"], gaps[:, :5], r="auto", folds=2)
    assert "the least BIC" in auto.notes[0]
    with pytest.raises(ArgumentError, match="one X: expected a whole number"):
        ldr.compare(["pls"], (X[:, :6], X[:, 6:]), r="auto")


def test_rows_alone_and_gaps():
    alone = ldr.compare(["pca", "ppca"], X, r=3, standardise=True, folds=3)
    training, held = folds_of("pca", X, None, 3)[0]
    scaler = StandardScaler().fit(X[training])
    old, new = scaler.transform(X[training]), scaler.transform(X[held])
    M = ldr.solve("pca", old, 3).M
    predicted = new @ M @ M.T
    expected = 1 - np.sum((new - predicted) ** 2) / np.sum(new**2)
    assert alone.methods[0].scores["R2 of X"][0] == pytest.approx(expected, rel=1e-9)
    gaps = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    found = ldr.compare(["ppca"], gaps, r=2, standardise=True, folds=2)
    assert found.judged_by[0] == "R2 of hidden entries"
    assert 0.1 < found.methods[0].scores["R2 of hidden entries"].mean() < 0.6


def test_a_background_is_not_split():
    units = X / X.std(axis=0)
    found = ldr.compare(["opca"], (units[labels == 1], units[labels != 1]), r=2, folds=3)
    assert found.judged_by[0] == "R2 of X"
    assert np.isfinite(found.methods[0].scores["held-out value"]).all()


@pytest.mark.parametrize(
    ("given", "expected", "why"),
    [
        ((X, labels), {"lda", "classical-lda", "lmnn", "nca", "pca"}, "y holds labels"),
        ((X, X[:, 0]), {"least-squares", "lasso", "sir", "sdr", "pca"}, "y holds a response"),
        (((X[:, :6], X[:, 6:]),), {"cca", "classical-cca", "pls"}, "X is a pair of views"),
        (((X[:90], X[90:170]),), {"opca", "contrastive-pca"}, "a background"),
        ((np.where(X > 2, np.nan, X),), {"ppca", "fa"}, "missing values"),
        ((X,), {"pca", "ica", "mds", "fa"}, "rows alone"),
        ((X, None, True), {"maf", "sfa", "dynamics", "pca"}, "a time series"),
    ],
)
def test_methods_that_fit_what_was_handed_over(given, expected, why):
    found = suited(*given)
    assert expected <= set(found)
    others = {name for name in found if name not in expected}
    needs = {need for name in expected - {"pca"} for need in named(name).needs}
    assert all(set(named(name).needs) == needs for name in others)
    assert why in found[next(iter(found))][1]


def test_a_picture_of_pairs_says_which_view_is_where():
    ax = ldr.compare(["pls"], (X[:60, :3], X[:60, 3:6]), r=1, folds=2).plot().axes[0]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("$y^a_{1}$", "$y^b_{1}$")
    five = ldr.compare(["pca", "mds", "ppca", "uica"], X[:60, :4], r=1, folds=2).plot().axes
    assert [ax.get_visible() for ax in five] == [True] * 5 + [False] * 3


def test_what_fits_but_fails_is_left_out_with_the_reason():
    found = ldr.compare(None, (X[:60, :2], X[:60, 2:5]), r=2, folds=2)
    assert "reduced-rank-regression" not in found.left_out
    with pytest.raises(ArgumentError, match=r"no method fits the data: .*r = 3"):
        ldr.compare(None, (X[:60, :2], X[:60, 2:5]), r=3, folds=2)


def test_of_many_rows_those_of_pairs_are_compared_where_they_were_asked_for():
    rng = np.random.default_rng(0)
    Z, y = rng.standard_normal((1001, 3)), np.arange(1001) % 3
    found = ldr.compare(None, Z, y, 1, folds=2)
    assert {"lmnn", "nca", "wda"} <= set(found.left_out)
    assert "all pairs of 1001 rows" in found.left_out["nca"] and "left out: nca" in repr(found)
    assert {"lda", "classical-lda", "pca"} <= {method.name for method in found.methods}
    (asked,) = ldr.compare(["mds-stress"], Z[:, :2], r=1, folds=2).methods
    assert asked.name == "mds-stress"


def test_table_page_and_picture(wine, tmp_path):
    table = wine.table
    assert list(table["projection"]) == ["optimum", "heuristic", "optimum"]
    mean = table["accuracy, 5 nearest"][0]
    assert mean == pytest.approx(wine.methods[0].scores["accuracy, 5 nearest"].mean())
    numbers = wine.directions
    assert list(numbers["method"]) == ["lda", "lda", "pca", "pca"]
    components = wine.methods[1].result.components
    np.testing.assert_array_equal(
        numbers["explained_variance_ratio"][2:], components["explained_variance_ratio"]
    )
    figure = wine.plot()
    titles = [ax.get_title().split("\n")[0] for ax in figure.axes if ax.get_visible()]
    assert titles == ["lda", "lda: heuristic", "pca"]
    wine.write_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "0.989 +- 0.007" in page and "scores higher than the optimum" in page
    assert wine.methods[0].result.directions.brief() in page
    assert page.count("<img") == 1 and "asked for" in page
    other = wine.plot(FRAME[::2], labels[::2])
    assert sum(ax.get_visible() for ax in other.axes) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("lda", X, labels), "methods must be a list"),
        (([], X, labels), "methods must be a list"),
        ((["lda", "lda"], X, labels), r"LDA\(.* twice"),
        ((["ldaa"], X, labels), "unknown objective 'ldaa'"),
        ((["lda"], None, labels), "X is None"),
        ((["cca", "lda"], (X, X), labels), "'cca' and 'lda', which take other data"),
        ((["lda"], X, labels, 0), "lda: r = 0 is out of range"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        ldr.compare(*arguments)


def test_bad_data_name_the_method():
    with pytest.raises(ArgumentError, match="folds = 90 is too large"):
        ldr.compare(["pca"], X, labels, folds=90)
    with pytest.raises((ArgumentError, DataError), match="needs labels"):
        ldr.compare(["lda"], X)
