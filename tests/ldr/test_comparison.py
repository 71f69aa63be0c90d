"""Methods beside one another: scores of rows that nothing was fitted to, and what they say."""

import sys

import numpy as np
import pandas
import pytest
from scipy import stats
from sklearn.datasets import load_diabetes
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GroupKFold, PredefinedSplit, StratifiedGroupKFold
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.preprocessing import StandardScaler

import ldr
from ldr.errors import ArgumentError, DataError
from ldr.method_selection import suited
from ldr.objectives import named
from tests import real_data
from tests.ldr.test_paths import folds_of

X, labels = real_data.wine()
FRAME = pandas.DataFrame(X).rename(columns="c{}".format)
SERIES = np.cumsum(np.random.default_rng(0).standard_normal((150, 4)), axis=0)


@pytest.fixture(scope="module")
def wine():
    return ldr.compare(["orthogonal-lda", "pca"], FRAME, labels, 2, folds=10, standardise=True)


def test_that_a_heuristic_classifies_better_is_said_plainly(wine):
    judged = "accuracy"
    lda = wine.methods[0]
    assert lda.result.certificate.kind == "global" and lda.result.improvement > 0.05
    assert lda.heuristic_scores[judged].mean() > lda.scores[judged].mean()
    (said,) = [text for text in wine.findings if text.startswith("orthogonal-lda")]
    assert "the baseline scores higher than the optimum, 0.989 against 0.983" in said
    lines = repr(wine).splitlines()
    assert lines[3].startswith("  its baseline") and said in " ".join(repr(wine).split())
    assert max(map(len, lines)) <= 100 and "largest class has 0.399" in " ".join(lines)
    assert wine.methods[1].heuristic is None  # pca is its heuristic


def test_everything_is_fitted_inside_the_folds(wine):
    """Standard deviations, projections, neighbours and means of classes: by scikit-learn."""
    right = {"5 nearest": [], "nearest mean": [], "heuristic": []}
    for training, held in folds_of("orthogonal-lda", X, labels, 10):
        scaler = StandardScaler(with_mean=False).fit(X[training])
        old, new = scaler.transform(X[training]), scaler.transform(X[held])
        found = ldr.solve("orthogonal-lda", old, 2, y=labels[training], certify=False)
        Y, Z = found.transform(old), found.transform(new)
        neighbours = KNeighborsClassifier(5)
        right["5 nearest"].append(neighbours.fit(Y, labels[training]).predict(Z) == labels[held])
        means = LinearDiscriminantAnalysis(solver="lsqr").fit(Y, labels[training])
        right["nearest mean"].append(means.predict(Z) == labels[held])
        Y, Z = old @ found.baseline_M, new @ found.baseline_M
        right["heuristic"].append(neighbours.fit(Y, labels[training]).predict(Z) == labels[held])
    lda = wine.methods[0]
    for scores, name in (
        (lda.scores["accuracy, 5 nearest"], "5 nearest"),
        (lda.scores["accuracy"], "nearest mean"),
        (lda.heuristic_scores["accuracy, 5 nearest"], "heuristic"),
    ):
        pooled = np.mean(np.concatenate(right[name]))
        counts = [pooled + 10 * np.sum(fold - pooled) / len(X) for fold in right[name]]
        np.testing.assert_allclose(scores, counts, rtol=1e-12)
        assert scores.mean() == pytest.approx(pooled)


def test_folds_of_equal_scores_have_no_error():
    """Whatever the sizes of the folds are: of a perfect score, and of Q2 of a linear response."""
    rng = np.random.default_rng(0)
    folds, Z = PredefinedSplit(np.repeat([0, 1, 2], [10, 20, 60])), rng.standard_normal((90, 3))
    apart = Z + 50.0 * (np.arange(90) % 2)[:, None]
    (classes,) = ldr.compare(["lda"], apart, np.arange(90) % 2, 1, folds=folds).methods
    (response,) = ldr.compare(["least-squares"], Z, Z @ [1.0, 2.0, 3.0], 1, folds=folds).methods
    for each in (classes.scores["accuracy"], response.scores["Q2"]):
        np.testing.assert_allclose(each, 1.0, rtol=1e-10)


def test_methods_that_are_not_significantly_worse_are_named():
    found = ldr.compare(["lda", "nca", "wda", "pca"], X, labels, 2, starts=1)
    best, near = found.findings[:2]
    assert best.startswith("best accuracy: lda and")
    scores = {m.name: m.scores["accuracy"] for m in found.methods}
    baselines = {m.name: m.heuristic_scores for m in found.methods if m.heuristic_scores}
    scores |= {f"the baseline of {name}": each["accuracy"] for name, each in baselines.items()}
    rivals = {k: v for k, v in scores.items() if v.mean() < scores["lda"].mean() - 1e-12}
    p = {k: stats.ttest_rel(scores["lda"], v).pvalue for k, v in rivals.items()}
    level = 0.05 / len(rivals)
    assert set(near.split(": ")[1].split(", ")) == {k for k in p if p[k] > level}
    assert any(level < each < 0.05 for each in p.values())  # the best is selected by its score


def test_scores_of_a_response():
    Z, y = load_diabetes(return_X_y=True)
    (method,) = ldr.compare(["sir"], Z, y, 2, folds=3).methods
    left, total = {"Q2": 0.0, "Q2, 5 nearest": 0.0}, 0.0
    for training, held in folds_of("sir", Z, y, 3):
        found = ldr.solve("sir", Z[training], 2, y=y[training])
        Y, new = found.transform(Z[training]), found.transform(Z[held])
        total += np.sum((y[held] - y[training].mean()) ** 2)
        for name, peer in zip(left, (LinearRegression(), KNeighborsRegressor(5)), strict=True):
            left[name] += np.sum((y[held] - peer.fit(Y, y[training]).predict(new)) ** 2)
    for name, each in left.items():
        assert method.scores[name].mean() == pytest.approx(1 - each / total, abs=1e-10)
    assert method.numbers["rmsecv"] == pytest.approx(np.sqrt(left["Q2"] / len(y)), rel=1e-10)


def test_that_nothing_is_predicted_is_said():
    rng = np.random.default_rng(0)
    found = ldr.compare(["least-squares"], rng.standard_normal((60, 20)), rng.random(60), 1)
    assert found.findings[0].endswith("the training mean predicts better than all methods")


@pytest.mark.parametrize("weights", [np.ones(150), np.where(np.arange(150) % 7 == 0, 0.0, 1.0)])
@pytest.mark.parametrize("trials", [None, np.repeat(np.arange(15), 10)])
def test_time_series_are_cut_into_pieces_in_order(trials, weights):
    """Blocks with a gap, or whole trials, of which no step leads to another, for any method.

    Steps from or to rows of no weight are left out, and the folds remain those of all rows.
    """
    options = {"r": 2, "folds": 3, "groups": trials, "sample_weight": weights}
    found = ldr.compare(["orthogonal-maf", "pca"], SERIES, **options)
    assert found.judged_by == ("Q2 of the next step",)
    parts = folds_of("orthogonal-maf", SERIES, None, 3, trials)
    assert trials is not None or list(parts[1][1]) == list(range(50, 100))
    given = np.zeros(150) if trials is None else trials

    def steps(rows):
        kept = (np.diff(rows) == 1) & (np.diff(given[rows]) == 0)
        kept &= weights[rows[:-1]] * weights[rows[1:]] > 0
        return rows[:-1][kept], rows[1:][kept]

    for method in ("orthogonal-maf", "pca"):
        left = total = 0.0
        for training, held in parts:
            assert trials is not None or not {held[0] - 1, held[-1] + 1} & set(training)
            ends = (np.diff(training) > 1) | (np.diff(given[training]) != 0)
            runs = np.cumsum(np.append(False, ends))
            options = {"groups": runs} if method == "orthogonal-maf" else {}
            options["sample_weight"] = weights[training]
            Y = ldr.solve(method, SERIES[training], 2, **options).transform(SERIES)
            (first, then), (new, ahead) = ([Y[rows] for rows in steps(r)] for r in (training, held))
            unit = then.std(axis=0)
            guess = LinearRegression().fit(first, then).predict(new)
            left += np.sum(((ahead - guess) / unit) ** 2)
            total += np.sum(((ahead - then.mean(axis=0)) / unit) ** 2)
        (one,) = [one for one in found.methods if one.name == method]
        assert one.scores["Q2 of the next step"].mean() == pytest.approx(1 - left / total)


@pytest.mark.parametrize("trials", [None, np.repeat(np.arange(15), 10)])
def test_samples_of_a_series_are_predicted_one_by_one(trials):
    """Labels change within a trial, so that no trial has a label: each sample is classified."""
    y = (SERIES[:, 0] + np.sin(np.arange(150)) > 0).astype(int)
    options = {"folds": 3, "groups": trials, "time_order": True}
    (method,) = ldr.compare(["maf"], SERIES, y, 2, **options).methods
    right = []
    for training, held in folds_of("maf", SERIES, None, 3, trials):
        runs = np.cumsum(np.append(False, np.diff(training) > 1)) if trials is None else trials
        groups = runs if trials is None else trials[training]
        result = ldr.solve("maf", SERIES[training], 2, groups=groups)
        Y, Z = (result.transform(SERIES[rows]) for rows in (training, held))
        means = LinearDiscriminantAnalysis(solver="lsqr").fit(Y, y[training])
        right.append(means.predict(Z) == y[held])
    assert method.numbers["accuracy"] == np.mean(np.concatenate(right))


def test_paths_know_where_the_training_rows_of_a_series_were_cut():
    scores = ldr.path("orthogonal-maf", SERIES, [2], folds=3, random_state=0).scores[0]
    training, held = np.delete(np.arange(150), np.s_[49:101]), np.arange(50, 100)
    cut = ldr.solve("orthogonal-maf", SERIES[training], 2, groups=training > 50)
    assert scores[1] == pytest.approx(ldr.score(cut, SERIES[held]), rel=1e-12)


def test_whole_groups_are_held_out():
    people = np.repeat(np.arange(30), 6)[: len(X)]
    options = {"groups": people, "standardise": True}
    found, same = (
        ldr.compare(["orthogonal-lda"], X, labels, 2, folds=folds, **options)
        for folds in (3, StratifiedGroupKFold(3))
    )
    for name, scores in found.methods[0].scores.items():
        np.testing.assert_array_equal(scores, same.methods[0].scores[name])
    with pytest.raises(DataError, match=r"groups has shape \(177,\), expected \(178,\)"):
        ldr.compare(["orthogonal-lda"], X, labels, folds=3, groups=people[:-1])


def test_the_order_of_the_methods_does_not_change_the_folds():
    """Stratified by labels, also if the first method accepts missing values."""
    one, other = (ldr.compare(names, X, labels) for names in (["ppca", "pca"], ["pca", "ppca"]))
    for a, b in zip(one.methods, other.methods[::-1], strict=True):
        np.testing.assert_array_equal(a.scores["accuracy"], b.scores["accuracy"])


@pytest.mark.parametrize(
    ("methods", "data", "y"),
    [
        (["orthogonal-lda", "pca"], X, labels),
        (["sir"], X, X[:, 0] ** 2 + X[:, 1]),
        (["cca"], (X[:, :6], X[:, 6:]), None),
        (["pca"], X, None),
    ],
)
def test_whole_weights_are_repeated_rows(methods, data, y):
    """Weights count training and held-out rows; among nearest rows they are votes."""
    weights = np.random.default_rng(0).integers(0, 4, len(X))
    times, places = np.repeat(np.arange(len(X)), weights), np.arange(len(X)) % 3
    options = {"folds": PredefinedSplit(places), "sample_weight": weights}
    found = ldr.compare(methods, data, y, 2, **options)
    data = tuple(v[times] for v in data) if isinstance(data, tuple) else data[times]
    y = None if y is None else y[times]
    repeated = ldr.compare(methods, data, y, 2, folds=PredefinedSplit(places[times]))
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
        assert one["Q2 of X"] == pytest.approx(other["Q2 of X"], rel=1e-9)


def test_methods_that_cannot_run_are_left_out():
    sdr = named("sdr", landmarks=10)
    found = ldr.compare(["pca", sdr], X, X[:, 0], sample_weight=np.ones(len(X)))
    assert [method.name for method in found.methods] == ["pca"]
    assert "sample_weight= only for rows in memory and the exact kernel" in found.left_out["sdr"]
    found = ldr.compare(["orthogonal-lda", "pca"], X, X[:, 0], folds=3)
    assert "left out: orthogonal-lda (y looks continuous" in repr(found) and len(found.methods) == 1


def test_the_dimension_may_be_left_to_the_rows():
    found = ldr.compare(["orthogonal-lda", "pca"], X, labels, 0.6, folds=2, standardise=True)
    r = ldr.solve("pca", X, 0.6, standardise=True).r
    assert {method.result.r for method in found.methods} == {r}
    assert found.notes[0].startswith(f"r = {r}: the smallest r") and found.notes[0] in " ".join(
        repr(found).split()
    )
    gaps = np.where(np.random.default_rng(0).random(X.shape) < 0.05, np.nan, X)
    auto = ldr.compare(["ppca"], gaps[:, :5], r="auto", folds=2)
    assert "the smallest Bayesian information criterion" in auto.notes[0]
    with pytest.raises(ArgumentError, match="methods of one data matrix: give a whole number"):
        ldr.compare(["pls"], (X[:, :6], X[:, 6:]), r="auto")


def test_a_fold_chooses_its_dimension_without_the_held_out_rows():
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((60, 5)) * [9.0, 0.1, 0.1, 0.1, 0.1]
    rows[40:, 1] *= 200.0  # a direction of the last fold alone
    splitter = PredefinedSplit(np.arange(60) // 40)
    found = ldr.compare(["pca"], rows, r=0.9, folds=splitter)
    assert found.methods[0].result.r == 2
    assert found.notes[0].endswith("of the training samples of each fold: r = 2, 1)")
    assert [ldr.solve("pca", rows[t], 0.9).r for t, _ in splitter.split()] == [2, 1]
    left = total = 0.0
    for r, (training, held) in zip((2, 1), splitter.split(), strict=True):
        scaler, result = StandardScaler().fit(rows[training]), ldr.solve("pca", rows[training], r)
        Y, new = result.transform(rows[training]), result.transform(rows[held])
        guess = LinearRegression().fit(Y, scaler.transform(rows[training])).predict(new)
        left += np.sum((scaler.transform(rows[held]) - guess) ** 2)
        total += np.sum(scaler.transform(rows[held]) ** 2)
    assert found.methods[0].numbers["q2"] == pytest.approx(1 - left / total, rel=1e-10)


def test_hidden_entries_judge_methods_of_gaps():
    gaps = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    found = ldr.compare(["ppca"], gaps, r=2, standardise=True, folds=2)
    assert found.judged_by[0] == "Q2 of hidden entries"
    assert 0.1 < found.methods[0].scores["Q2 of hidden entries"].mean() < 0.6


def test_a_background_is_not_split():
    units = X / X.std(axis=0)
    found = ldr.compare(["opca"], (units[labels == 1], units[labels != 1]), r=2, folds=3)
    assert found.judged_by == ("Q2 of X",)


@pytest.mark.parametrize(
    ("given", "expected", "why"),
    [
        ((X, labels), {"orthogonal-lda", "lda", "lmnn", "nca", "pca"}, "y holds labels"),
        ((X, X[:, 0]), {"least-squares", "lasso", "sir", "sdr", "pca"}, "y holds a response"),
        (((X[:, :6], X[:, 6:]),), {"orthogonal-cca", "cca", "pls"}, "X is a pair of views"),
        (((X[:90], X[90:170]),), {"opca", "contrastive-pca"}, "a background"),
        ((np.where(X > 2, np.nan, X),), {"ppca", "fa"}, "missing values"),
        ((X,), {"pca", "ica", "mds", "fa"}, "samples alone"),
        ((ldr.trials([X.T, X.T]), ["a", "b"]), {"csp", "xdawn", "pca"}, "a label for each trial"),
        ((X, None, True), {"orthogonal-maf", "sfa", "dynamics", "pca"}, "a time series"),
    ],
)
def test_methods_that_fit_what_was_handed_over(given, expected, why):
    found = suited(*given)
    assert expected <= set(found)
    others = {name for name in found if name not in expected}
    needs = {need for name in expected - {"pca"} for need in named(name).needs}
    assert all(set(named(name).needs) == needs for name in others)
    assert why in found[next(iter(found))][1]


LEVELS = np.arange(20) % 4 + np.linspace(0.0, 0.1, 20)


def test_trials_are_compared_by_the_methods_of_trials():
    rng = np.random.default_rng(0)
    trials, session = ldr.trials(rng.standard_normal((20, 3, 30))), np.arange(20) % 4
    y = np.arange(20) // 10
    found = ldr.compare(None, trials, y, 1, folds=PredefinedSplit(session))
    assert [method.name for method in found.methods] == ["csp", "xdawn", "pca"]
    with pytest.raises(DataError, match="pass folds=PredefinedSplit"):
        ldr.compare(None, trials, y, 1, groups=session)


@pytest.mark.parametrize(("y", "score"), [(np.arange(20) % 4, "accuracy"), (LEVELS, "Q2")])
def test_methods_that_ignore_y_are_scored_by_trials_as_the_others_are(y, score):
    trials = np.random.default_rng(0).standard_normal((20, 3, 30))
    trials[:, 0] *= 1 + y[:, None]
    found = ldr.compare(["spoc", "pca"], ldr.trials(trials), y, 2, folds=2)
    assert found.left_out == {} and (found.table[score] > 0.7).all()
    assert f"best {score}: " in str(found) and ("RMSECV" in str(found)) == (score == "Q2")


def test_a_picture_of_pairs_says_which_view_is_where():
    ax = ldr.compare(["pls"], (X[:60, :3], X[:60, 3:6]), r=1, folds=2).plot().axes[0]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("$y^a_{1}$", "$y^b_{1}$")
    five = ldr.compare(["pca", "mds", "ppca", "uica"], X[:60, :4], r=1, folds=2).plot().axes
    assert [ax.get_visible() for ax in five] == [True] * 5 + [False] * 3


def test_what_fits_but_fails_is_left_out_with_the_reason():
    found = ldr.compare(None, (X[:60, :2], X[:60, 2:5]), r=2, folds=2)
    assert "reduced-rank-regression" not in found.left_out
    with pytest.raises(ArgumentError, match=r"no method can be fitted to these data: .*r = 3"):
        ldr.compare(None, (X[:60, :2], X[:60, 2:5]), r=3, folds=2)


def test_of_many_rows_those_of_pairs_are_compared_where_they_were_asked_for():
    rng = np.random.default_rng(0)
    Z, y = rng.standard_normal((1001, 3)), np.arange(1001) % 3
    found = ldr.compare(None, Z, y, 1, folds=2)
    assert {"lmnn", "nca", "wda"} <= set(found.left_out)
    assert "all pairs of 1001 samples" in found.left_out["nca"] and "left out: nca" in repr(found)
    assert {"orthogonal-lda", "lda", "pca"} <= {method.name for method in found.methods}
    (asked,) = ldr.compare(["mds-stress"], Z[:, :2], r=1, folds=2).methods
    assert asked.name == "mds-stress"


def test_table_page_and_picture(wine, tmp_path):
    table = wine.table
    assert list(table["projection"]) == ["optimum", "heuristic", "optimum"]
    mean = table["accuracy"][0]
    assert mean == pytest.approx(wine.methods[0].scores["accuracy"].mean())
    numbers = wine.directions
    assert list(numbers["method"]) == ["orthogonal-lda", "orthogonal-lda", "pca", "pca"]
    components = wine.methods[1].result.components
    np.testing.assert_array_equal(
        numbers["explained_variance_ratio"][2:], components["explained_variance_ratio"]
    )
    figure = wine.plot()
    titles = [ax.get_title().split("\n")[0] for ax in figure.axes if ax.get_visible()]
    assert titles == ["orthogonal-lda", "orthogonal-lda: baseline", "pca"]
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
        (("orthogonal-lda", X, labels), "methods must be a list"),
        (([], X, labels), "methods must be a list"),
        ((["orthogonal-lda", "orthogonal-lda"], X, labels), r"LDA\(.* twice"),
        ((["ldaa"], X, labels), "unknown objective 'ldaa'"),
        ((["orthogonal-lda"], None, labels), "X is None"),
        ((["csp"], [X, X], [0, 1]), "X is a list of 2 arrays, and the order of axes is unknown"),
        (
            (["orthogonal-cca", "orthogonal-lda"], (X, X), labels),
            "'orthogonal-cca' and 'orthogonal-lda', which take different data",
        ),
        ((["orthogonal-lda"], X, labels, 0), "orthogonal-lda: r = 0 is out of range"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises((ArgumentError, DataError), match=message):
        ldr.compare(*arguments)


def test_bad_data_name_the_method():
    with pytest.raises(ArgumentError, match=r"folds = 90 cannot split the \d+ rows"):
        ldr.compare(["pca"], X, labels, folds=90)
    with pytest.raises((ArgumentError, DataError), match="needs labels"):
        ldr.compare(["orthogonal-lda"], X)


def test_too_few_trials_for_their_classes():
    with pytest.raises(ArgumentError, match=r"2 trials of 2 classes, expected more trials"):
        ldr.compare(
            ["csp"], X[:20, :5], np.repeat([0, 1], 10), 1, folds=2, groups=np.arange(20) // 5
        )


@pytest.mark.parametrize("order", [1, -1])
def test_methods_score_the_same_samples_if_some_have_no_label(order):
    """-1 is no class of lda, whose scores equal a loop over the labelled samples."""
    y = np.where(np.random.default_rng(0).random(len(labels)) < 0.4, -1, labels)
    names = ["lda", "semi-supervised-da", "pca", "nca"][::order]
    found = ldr.compare(names, X, y, 2, folds=3, standardise=True)
    majority = np.unique(y[y >= 0], return_counts=True)[1].max() / np.sum(y >= 0)
    for method in found.methods:
        assert method.numbers["majority"] == pytest.approx(majority)
    right = []
    for training, held in folds_of("orthogonal-lda", X, y, 3):
        a, b = training[y[training] >= 0], held[y[held] >= 0]
        model = ldr.solve("lda", X[a], 2, y=y[a], standardise=True)
        right += list(model.predict(X[b]) == y[b])
    (lda,) = (method for method in found.methods if method.name == "lda")
    assert lda.numbers["accuracy"] == pytest.approx(np.mean(right), abs=1e-12)
    said = repr(found)
    assert f"{np.sum(y < 0)} of {len(y)} samples have no label: they are not scored" in said
    assert "fitted to the labelled samples alone: " in said


def test_folds_without_labels_are_left_out():
    groups = np.arange(len(labels)) % 10
    y = np.where(groups < 2, -1, labels)
    options = {"folds": GroupKFold(10), "groups": groups, "standardise": True}
    found = ldr.compare(["semi-supervised-da", "lda"], X, y, 2, **options)
    assert found.folds == 8 and all(np.isfinite(m.numbers["accuracy"]) for m in found.methods)
    assert ldr.path("semi-supervised-da", X, [1, 2], y=y, **options).scores.shape == (2, 8)
    with pytest.raises(ArgumentError, match="with labels in the held-out samples, expected two"):
        ldr.compare(["semi-supervised-da"], X, np.where(groups < 9, -1, y), 2, **options)
    fitted = ldr.solve("semi-supervised-da", X, 2, y=y)
    with pytest.raises(DataError, match="y has no label to compare with"):
        ldr.score(fitted, X, np.full(len(y), -1))


def test_minus_one_is_a_class_beside_a_single_other_class():
    found = ldr.compare(["semi-supervised-da", "lda"], X, np.where(labels == 0, -1, 1), 1)
    assert [method.name for method in found.methods] == ["lda"]
    assert "give another unlabelled=" in found.left_out["semi-supervised-da"]


def test_floats_with_gaps_are_labels_of_which_some_are_missing():
    """pandas makes integers with missing values floats; no regression takes these either."""
    X, y = real_data.wine()
    y = np.where(np.arange(len(y)) % 3, y, np.nan)
    with pytest.raises(DataError, match="label is -1 as unlabelled"):
        ldr.compare(None, X, y, 2)


def test_whole_floats_are_labels_for_a_method_of_labels():
    ours, same = (ldr.compare(["lda", "pca"], X, y, 2) for y in (labels * 1.0, labels))
    for a, b in zip(ours.methods, same.methods, strict=True):
        assert a.scores.keys() == b.scores.keys() == {"accuracy", "accuracy, 5 nearest"}
        np.testing.assert_allclose(a.scores["accuracy"], b.scores["accuracy"], rtol=1e-9)
    assert ldr.compare(["pca"], X, labels * 1.0, 2).judged_by[0] == "Q2"
