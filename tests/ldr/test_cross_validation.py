"""Held-out scores: equal to plain loops over folds, honest in noise, right where r is known."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    StratifiedGroupKFold,
    StratifiedKFold,
    cross_val_score,
)

import ldr
from ldr.errors import ArgumentError, ConvergenceWarning, DataError
from ldr.estimators import ESTIMATORS
from ldr.objectives import REGISTRY
from tests import real_data
from tests.real_data import by_time

REGRESSIONS = [name for name, method in REGISTRY.items() if method.traits.predicts == "response"]
CLASSIFIERS = [name for name, method in REGISTRY.items() if method.traits.predicts == "classes"]
PREDICTING = [*REGRESSIONS, *CLASSIFIERS, "reduced-rank-regression"]
rng = np.random.default_rng(0)


def standardised(X, y, step, columns):
    X = X[::step, :columns]
    return (X - X.mean(axis=0)) / X.std(axis=0), y[::step]


SETS = {
    "small": standardised(*load_iris(return_X_y=True), 8, 4),
    "diabetes": standardised(*load_diabetes(return_X_y=True), 18, 5),
    "iris": standardised(*load_iris(return_X_y=True), 6, 4),
    "wine": standardised(*load_wine(return_X_y=True), 7, 5),
}
ALL = [(name, data) for name in PREDICTING for data in ("diabetes", "iris", "wine")]


def given_to(name, data):
    """X and y: a quantity, labels, or a second view."""
    X, y = SETS[data]
    if name == "reduced-rank-regression":
        return (X[:, :2], X[:, 2:]), None
    if name in CLASSIFIERS:
        return X, y if y.dtype.kind == "i" else (y > np.median(y)).astype(int)
    return X, y + 0.1 * X[:, 0] ** 2 if y.dtype.kind == "i" else y


def splitters(name, n, y):
    """Arguments of ours, and the folds that they stand for."""
    groups = np.arange(n) % 9
    labels = name in CLASSIFIERS
    shuffled = (StratifiedKFold if labels else KFold)(3, shuffle=True, random_state=0)
    grouped = (StratifiedGroupKFold if labels else GroupKFold)(3)
    yield {"folds": 3}, list(shuffled.split(np.zeros(n), y))
    yield {"folds": 3, "groups": groups}, list(grouped.split(np.zeros(n), y, groups))
    yield {"folds": LeaveOneOut()}, list(LeaveOneOut().split(np.zeros(n)))


def by_hand(name, X, y, r, parts):
    """Predictions of held-out samples and of the training mean, by the estimator."""
    views = isinstance(X, tuple)
    truth = X[1] if views else y
    found, usual = np.empty(truth.shape, truth.dtype), np.empty(truth.shape)
    each = []
    for training, held in parts:
        A, B = (X[0][training], X[1][training]) if views else (X[training], y[training])
        fitted = ESTIMATORS[name](r).fit(A, B)
        new = X[0][held] if views else X[held]
        found[held] = fitted.predict(new) if not views else fitted.result_.predict(new)
        usual[held] = B.mean(axis=0)
        given = (X[0][held], X[1][held]) if views else X[held]
        each.append(ldr.score(fitted.result_, given, None if views else y[held]))
    return truth, found, usual, each


def check_loops(name, data, checked=(1, 2)):
    X, y = given_to(name, data)
    n = len(SETS[data][0])
    for options, parts in splitters(name, n, y):
        options = {**options, "random_state": 0}
        path = ldr.path(name, X, [0, 1, 2], y=y, **options)
        how_many = ldr.dimension(name, X, y, method="folds", most=2, **options)
        offered = how_many.scores.size  # of two classes lda has one direction
        np.testing.assert_array_equal(how_many.scores, path.pooled[:offered])
        assert how_many.r == path.chosen
        for k, r in ((r, r) for r in checked):
            truth, found, usual, each = by_hand(name, X, y, r, parts)
            np.testing.assert_allclose(path.scores[k], each, rtol=1e-10, atol=1e-10)
            (method,) = ldr.compare([name], X, y, r, **options).methods
            if name in CLASSIFIERS:
                right = np.mean(truth == found)
                balanced = balanced_accuracy_score(truth, found)
                assert path.accuracy[k] == method.numbers["accuracy"] == pytest.approx(right)
                assert path.numbers["balanced_accuracy"][k] == pytest.approx(balanced)
                assert path.numbers["majority"][k] == np.bincount(truth).max() / n
                assert next(iter(method.scores.values())).mean() == pytest.approx(right)
                continue
            left, total = np.sum((truth - found) ** 2), np.sum((truth - usual) ** 2)
            expected = [np.sqrt(left / truth.size), 1 - left / total]
            q2 = next(iter(method.scores.values())).mean()
            for rmsecv, share in (
                (path.rmsecv[k], path.q2[k]),
                (method.numbers["rmsecv"], q2),
                (np.sqrt(-path.pooled[k]), path.q2[k]),
            ):
                np.testing.assert_allclose([rmsecv, share], expected, rtol=1e-10, atol=1e-10)
            assert path.q2[0] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.filterwarnings("ignore::ldr.errors.ConvergenceWarning")
@pytest.mark.parametrize("name", ["pls-regression", "lda", "reduced-rank-regression"])
def test_scores_are_those_of_loops_over_folds(name):
    check_loops(name, "small", (2,))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ldr.errors.ConvergenceWarning")
@pytest.mark.parametrize(("name", "data"), ALL)
def test_scores_of_all_methods_are_those_of_loops_over_folds(name, data):
    check_loops(name, data)


@pytest.mark.parametrize(
    "name", ["pls-regression", pytest.param("ridge-regression", marks=pytest.mark.slow)]
)
def test_regressions_on_labels_are_scored_by_their_classes(name):
    X, y = SETS["wine"]
    y = np.array(["a", "b", "c"])[y]
    for options, parts in splitters("lda", len(X), y):
        options = {**options, "random_state": 0}
        found = np.empty((2, len(X)), y.dtype)
        for training, held in parts:
            for k in range(2):
                fitted = ldr.solve(name, X[training], k + 1, y=y[training])
                found[k, held] = fitted.predict(X[held])
        path = ldr.path(name, X, [0, 1, 2], y=y, **options)
        np.testing.assert_array_equal(path.accuracy[1:], np.mean(found == y, axis=1))
        (method,) = ldr.compare([name], X, y, 2, **options).methods
        assert method.numbers["accuracy"] == path.accuracy[2] and "log_loss" not in path.numbers
        how_many = ldr.dimension(name, X, y, method="folds", most=2, **options)
        np.testing.assert_array_equal(how_many.scores, path.pooled)


@pytest.mark.parametrize("name", ["pca", "fa", "ppca"])
def test_a_single_row_has_a_score(name):
    X, _ = load_diabetes(return_X_y=True)
    some = list(LeaveOneOut().split(X[:20]))[::5]
    assert np.isfinite(cross_val_score(ESTIMATORS[name](2), X, cv=some)).all()


def test_replicates_are_held_out_together():
    """Replicates of one sample differ by little: by samples the error is that of a twin."""
    samples = rng.standard_normal((24, 30))
    X = np.repeat(samples, 8, axis=0) + 0.01 * rng.standard_normal((192, 30))
    y = np.repeat(rng.standard_normal(24), 8)
    patients = np.repeat(np.arange(24), 8)
    one, whole = (
        ldr.path("least-squares", X, [1], y=y, folds=6, groups=g, random_state=0).q2[0]
        for g in (None, patients)
    )
    assert one > 0.9 and whole < 0.3
    wrong = ldr.path(
        "pls-regression", X, [1], y=y, folds=KFold(3, shuffle=True, random_state=0), groups=patients
    )
    assert "groups= has no effect" in repr(wrong)


def test_trials_of_an_array_are_held_out_together():
    trials = np.repeat(rng.standard_normal((12, 1, 5)), 6, axis=1)
    trials += 0.01 * rng.standard_normal(trials.shape)
    rows, ids = trials.reshape(-1, 5), np.repeat(np.arange(12), 6)
    trials = by_time(trials)
    options = {"folds": 4, "random_state": 0}
    whole = ldr.path("pca", trials, [1, 2], **options)
    expected = ldr.path("pca", rows, [1, 2], groups=ids, **options)
    np.testing.assert_array_equal(whole.scores, expected.scores)
    weights = np.tile([0.0, 1.0, 1.0], 24)
    found = ldr.path("pca", trials, [1, 2], sample_weight=weights, **options)
    expected = ldr.path("pca", rows, [1, 2], groups=ids, sample_weight=weights, **options)
    np.testing.assert_array_equal(found.scores, expected.scores)
    with pytest.raises(DataError, match="a group per row"):
        ldr.path("pca", rows, [1], groups=ids[:9], sample_weight=weights, **options)
    y = np.arange(12) % 2
    for splitter in (4, GroupKFold(4)):
        found = ldr.path("lda", trials, [1], y=y, folds=splitter)
        expected = ldr.path("lda", rows, [1], y=y[ids], folds=splitter, groups=ids)
        np.testing.assert_array_equal(found.scores, expected.scores)
    tuned, expected = (
        ldr.tune("lda", X, 1, {"ridge": 0.1}, y=labels, groups=groups, folds=4, evaluations=2)
        for X, labels, groups in ((trials, y, None), (rows, y[ids], ids))
    )
    assert tuned.loss == expected.loss and tuned.result.value == expected.result.value
    apart = ldr.path("pca", trials, [1], folds=KFold(5, shuffle=True, random_state=0))
    assert "divides a group (or trial)" in repr(apart)


def elementwise(X, parts, r, standardise=False):
    """Each element from the others of its sample by least squares on the training loadings."""
    left = 0.0
    for training, held in parts:
        mean, unit = X[training].mean(axis=0), 1.0
        if standardise:
            unit = X[training].std(axis=0)
        Z = (X[held] - mean) / unit
        P = np.linalg.svd((X[training] - mean) / unit, full_matrices=False)[2][:r].T
        for j in range(X.shape[1]):
            others = np.delete(np.arange(X.shape[1]), j)
            t = np.linalg.lstsq(P[others], Z[:, others].T, rcond=None)[0]
            left += np.sum((Z[:, j] - P[j] @ t) ** 2)
    return left


@pytest.mark.parametrize("standardise", [False, True])
@pytest.mark.parametrize("name", ["pca", "mds"])
def test_r_of_pca_is_scored_element_by_element(name, standardise):
    X = real_data.wine()[0][:60, :6]
    path = ldr.path(
        name, X, [0, 1, 3, 6], folds=4, groups=np.arange(60) // 3, standardise=standardise
    )
    parts = list(GroupKFold(4).split(X, None, np.arange(60) // 3))
    for k, r in enumerate((0, 1, 3)):
        assert -path.pooled[k] * X.size == pytest.approx(elementwise(X, parts, r, standardise))
    assert path.pooled[3] == -np.inf and path.rule == "one-standard-error"


def test_likelihoods_at_no_factors():
    """A normal distribution of each column, or one variance for all."""
    X = real_data.wine()[0][:, :5]
    for name in ("fa", "ppca"):
        path = ldr.path(name, X, [0, 1], folds=KFold(4))
        for f, (training, held) in enumerate(KFold(4).split(X)):
            mean, variance = X[training].mean(axis=0), X[training].var(axis=0)
            variance = np.full(5, variance.mean()) if name == "ppca" else variance
            logs = -0.5 * np.sum(
                np.log(2 * np.pi * variance) + (X[held] - mean) ** 2 / variance, axis=1
            )
            assert path.scores[0, f] == pytest.approx(logs.mean(), rel=1e-12)
        model = ldr.solve(name, X[training], 1).model
        assert path.scores[1, -1] == pytest.approx(model.score(X[held]), rel=1e-9)
        assert path.rule == "best"


@pytest.mark.parametrize("name", ["orthogonal-maf", "autocovariance", "sfa"])
def test_time_series_are_scored_about_the_training_mean(name):
    """A block whose mean is another has slow variation; sums of changes know no mean."""
    X = np.cumsum(rng.standard_normal((80, 3)), axis=0)
    result = ldr.solve(name, X[:60], 1)
    for shift in (0.0, 5.0):
        y = (X[60:] + shift - result.mean) @ result.P.T
        pair, change = np.mean(y[:-1] * y[1:]), np.sum(np.diff(y, axis=0) ** 2)
        expected = {"orthogonal-maf": pair / np.mean(y**2), "autocovariance": pair, "sfa": -change}[
            name
        ]
        assert ldr.score(result, X[60:] + shift) == pytest.approx(expected, rel=0.1)


def test_trials_are_classified_by_their_power():
    X, y = real_data.strips()
    path = ldr.path("csp", by_time(X), [1, 2, 3], y=y, folds=5, random_state=0)
    cv = StratifiedKFold(5, shuffle=True, random_state=0)
    for k, r in enumerate((1, 2, 3)):
        right = []
        for training, held in cv.split(y, y):
            filters = ldr.solve("csp", by_time(X[training]), r, y=y[training])
            F, G = (ldr.log_power(filters, by_time(X[rows])) for rows in (training, held))
            model = LinearDiscriminantAnalysis().fit(F, y[training])
            right.append(model.predict(G) == y[held])
        assert path.accuracy[k] == np.mean(np.concatenate(right))
        (method,) = ldr.compare(["csp"], by_time(X), y, r, random_state=0).methods
        assert method.numbers["accuracy"] == path.accuracy[k]
    power = np.linspace(0.5, 2.0, 40)
    trials = (
        rng.standard_normal((40, 50, 3)) * np.stack([power, np.ones(40), np.ones(40)], 1)[:, None]
    )
    spoc = ldr.path("spoc", by_time(trials), [1, 2], y=power, folds=5, random_state=0)
    assert spoc.q2[0] > 0.5 and spoc.chosen == 1


def test_a_labelled_sample_without_groups_is_a_trial():
    """Samples that stay next to each other in a fold are not one trial."""
    X, y = real_data.wine()
    found, expected = (
        ldr.path("csp", X, [1, 2], y=y > 0, folds=3, groups=groups, random_state=0)
        for groups in (None, np.arange(len(X)))
    )
    np.testing.assert_array_equal(found.scores, expected.scores)
    assert found.numbers["majority"][0] == pytest.approx(np.mean(y > 0))


@pytest.mark.parametrize("name", ["cca", "pls"])  # of unit variance, and of others
def test_views_are_scored_by_products_of_standardised_scores(name):
    a, b = real_data.tumour_views()
    path = ldr.path(name, (a, b), [1, 2], folds=KFold(3))
    assert path.rule == "one-standard-error"
    for f, (training, held) in enumerate(KFold(3).split(a)):
        result = ldr.solve(name, (a[training], b[training]), 2)
        old = result.transform((a[training], b[training]))
        new = result.transform((a[held], b[held]))
        products = np.prod([y / x.std(axis=0) for x, y in zip(old, new, strict=True)], axis=0)
        assert path.scores[1, f] == pytest.approx(products.sum(axis=1).mean(), rel=1e-9)


def test_a_fold_that_cannot_run_is_said():
    X, y = real_data.wine()
    rows = np.r_[:60, 59:130]  # the last fold holds out a class
    parts = [(np.arange(40, 131), np.arange(40)), (np.r_[:40, 60:131], np.arange(40, 60))]
    parts.append((np.arange(59), np.arange(59, 131)))

    class Three:
        def split(self, X, y=None, groups=None):
            return iter(parts)

    path = ldr.path("lda", X[rows], [1], y=y[rows], folds=Three())
    assert path.scores.shape == (1, 2) and "fold 3 failed at r = 1" in path.notes[0]
    small = ldr.path("ppca", X[:8, :6], [1, 5], folds=2, random_state=0)
    assert small.best == 1
    parts[0] = (np.arange(60, 130), np.arange(60))
    with pytest.raises(ArgumentError, match=r"fewer than two folds were solved .*fold 3 failed"):
        ldr.path("lda", X[rows], [1], y=y[rows], folds=Three())


def test_best_at_the_edge_is_said():
    X, y = load_diabetes(return_X_y=True)
    found = ldr.path("pls-regression", X, [1, 2], y=y, folds=5, random_state=0, rule="best")
    assert found.chosen == found.best == 2
    assert "the largest tried: a larger r may be better" in repr(found)
    whole = ldr.path("pls-regression", X, [5, 10], y=y, folds=5, random_state=0, rule="best")
    assert whole.best == 10 and "may be better" not in repr(whole)  # there are no more columns
    rng = np.random.default_rng(0)  # of noise more components predict less
    noise = ldr.path(
        "pls-regression", X[:60], [2, 6], y=rng.normal(size=60), folds=3, random_state=rng
    )
    assert noise.best == 2 and "the smallest tried: a smaller r may be better" in repr(noise)
    also = ldr.dimension(
        "pls-regression", X, y, method="folds", most=2, rule="best", random_state=0
    )
    assert "the largest tried" in repr(also)
    with pytest.raises(ArgumentError, match="rule"):
        ldr.path("pls-regression", X, [1, 2], y=y, folds=5, rule="elbow")


def test_dimension_tries_each_r_that_can_predict_better():
    """orthogonal-lda has more directions than classes; further ones of lda are arbitrary."""
    X, y = real_data.wine()
    options = {"method": "folds", "random_state": 0, "standardise": True}
    found = ldr.dimension("orthogonal-lda", X, y, most=4, **options)
    assert list(found.candidates) == [0, 1, 2, 3, 4]
    path = ldr.path("orthogonal-lda", X, range(5), y=y, folds=5, random_state=0, standardise=True)
    assert found.threshold == path.pooled.max() - path.errors[np.argmax(path.pooled)]
    assert found.r == np.argmax(found.scores >= found.threshold) == 2 < path.best
    assert len(repr(found).splitlines()) == 2 + len(found.candidates) + len(found.notes)
    lda = ldr.dimension("lda", X, y, **options)
    assert lda.r == lda.candidates[-1] == 2 and "may be better" not in repr(lda)
    best = ldr.dimension("lda", X, y, rule="best", **options)
    assert best.threshold is None and "r: the best score" in repr(best)


def test_a_held_out_fold_does_not_limit_r():
    X, y = load_diabetes(return_X_y=True)
    path = ldr.path("pls-regression", X[:24], [8], y=y[:24], folds=6, random_state=0)
    assert np.isfinite(path.scores).all()


def noise(seed, n=100, d=50):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), rng.standard_normal(n)


def planted(seed):
    rng = np.random.default_rng(seed)
    T = rng.standard_normal((100, 2)) * [3.0, 2.0]
    X = T @ rng.standard_normal((2, 50)) + rng.standard_normal((100, 50))
    return X, T[:, 0] - T[:, 1] + 0.5 * rng.standard_normal(100)


def sets_of(few, many):
    """Sets in each run, and in the slow one."""
    return pytest.mark.parametrize("sets", [few, pytest.param(many, marks=pytest.mark.slow)])


@sets_of(10, 40)
def test_two_planted_latents_are_found(sets):
    paths = [
        ldr.path("pls-regression", X, range(7), y=y, folds=5, random_state=seed, certify=False)
        for seed in range(sets)
        for X, y in [planted(seed)]
    ]
    assert sum(path.best == 2 for path in paths) >= 0.9 * sets
    assert sum(path.chosen == 2 for path in paths) >= (8 if sets == 10 else 34)


@pytest.mark.parametrize(
    ("noise", "sets", "right"),
    [
        (1.0, 4, 4),
        *(
            pytest.param(*each, marks=pytest.mark.slow)
            for each in ((0.3, 20, 20), (1.0, 20, 20), (2.0, 20, 16))
        ),
    ],
)
def test_rank_three_is_found(noise, sets, right):
    found = []
    for seed in range(sets):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((100, 3)) @ rng.standard_normal((3, 20))
        X += noise * rng.standard_normal(X.shape)
        options = {"folds": 7, "random_state": seed, "certify": False, "rule": "best"}
        found.append(ldr.path("pca", X, range(9), **options).best)
    assert np.sum(np.array(found) == 3) >= right


@pytest.mark.filterwarnings("ignore::ldr.errors.ConvergenceWarning")
@pytest.mark.parametrize(
    ("name", "sets"),
    [
        ("pls-regression", 30),
        ("lda", 30),
        *(pytest.param(name, 200, marks=pytest.mark.slow) for name in PREDICTING),
    ],
)
def test_noise_is_not_predicted(name, sets):
    """Q2, or accuracy where y is two balanced classes, of 60 samples of 6 columns."""
    found, options = [], {"folds": 5, "certify": False}
    if REGISTRY[name].traits.by_pairs:
        options["starts"] = 1  # a solve from all starts takes half a second
    for seed in range(sets):
        X, y = noise(seed, 60, 6)
        views, labels = name == "reduced-rank-regression", name in CLASSIFIERS
        given = (X[:, :3], X[:, 3:]) if views else X
        y = None if views else np.arange(60) % 2 if labels else y
        new = ldr.path(name, given, [1], y=y, random_state=seed, **options)
        found.append((new.accuracy if labels else new.q2)[0])
    mean, error = np.mean(found), np.std(found, ddof=1) / np.sqrt(sets)
    if labels and sets == 200:
        assert abs(mean - 0.5) < 0.02
    else:
        assert mean <= (0.5 if labels else 0.0) + 3 * error


@sets_of(10, 200)
def test_no_dimension_is_found_in_noise(sets):
    chosen = [
        ldr.dimension("pls-regression", *noise(seed), method="folds", most=5, random_state=seed).r
        for seed in range(sets)
    ]
    assert np.mean(np.array(chosen) <= 1) >= 0.9


def test_no_direction_is_found_by_leaving_out_one_of_two_equal_classes():
    """The largest class of the training samples would be wrong for each held-out sample."""
    y, options = np.arange(30) % 2, {"method": "folds", "folds": LeaveOneOut()}
    found = [ldr.dimension("lda", noise(seed, 30, 4)[0], y, **options) for seed in range(10)]
    assert all(each.scores[0] == 0.5 for each in found)
    assert sum(each.r == 0 for each in found) >= 7


@pytest.mark.slow
def test_few_differences_are_claimed_in_noise():
    """The heuristic of orthogonal-lda is said to score higher in 5 % of the sets at most."""
    count = 0
    for seed in range(200):
        X, _ = noise(seed, 60, 8)
        found = ldr.compare(["orthogonal-lda"], X, np.arange(60) % 3, 1, random_state=seed).findings
        count += any("higher" in text and "noise of the folds" not in text for text in found)
    assert count <= 10


def test_held_out_responses_do_not_reach_the_score():
    """Noise 100 x 50: errors over the total, beside those that a plain loop finds."""
    ratios = np.zeros(2)
    for seed in range(3):
        X, y = noise(seed)
        path = ldr.path("pls-regression", X, [1, 5], y=y, folds=5, random_state=seed, certify=False)
        ratios += (1 - path.q2) / 3
    assert ratios[0] > 1.05 and ratios[1] > 1.5


def test_least_squares_leave_one_out_by_the_hat_matrix():
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:60, :4], y[:60]
    path = ldr.path("least-squares", X, [1], y=y, folds=LeaveOneOut())
    A = np.column_stack([np.ones(60), X])
    leverage = np.diag(A @ np.linalg.pinv(A))
    left = (y - LinearRegression().fit(X, y).predict(X)) / (1 - leverage)
    assert path.rmsecv[0] == pytest.approx(np.sqrt(np.mean(left**2)), rel=1e-10)
    found = ldr.compare(["least-squares"], X, y, 1, folds=LeaveOneOut())
    assert found.methods[0].numbers["q2"] == pytest.approx(path.q2[0], rel=1e-10)
    assert ("predicts better than all" in found.findings[0]) == (path.q2[0] < 0)


def test_solutions_of_folds_that_did_not_converge_are_counted():
    X = real_data.wine()[0]
    with pytest.warns(ConvergenceWarning):
        path = ldr.path("robust-pca", X, [2], folds=2, max_iterations=1, random_state=0)
    assert path.notes == ("2 of 2 solves in the folds did not converge",)


def test_trials_are_classified_by_their_time_courses():
    """Classes with time courses of opposite sign have the same power, and are told apart."""
    rng = np.random.default_rng(0)
    labels = np.arange(24) % 2
    course = np.sin(np.arange(15) / 3)
    X = rng.standard_normal((24, 4, 15))
    X[:, 0] += 4 * np.where(labels == 0, 1, -1)[:, None] * course
    path = ldr.path("xdawn", ldr.trials(X), [1], y=labels, folds=3, random_state=0)
    assert path.accuracy[0] == 1.0


@pytest.mark.parametrize(
    "name",
    ["ppca", pytest.param("fa", marks=pytest.mark.slow), "pca", "maf", "reduced-rank-regression"],
)
def test_sparse_samples_are_scored_as_dense_samples(name):
    X = np.cumsum(rng.standard_normal((80, 5)), axis=0)
    Z = sp.csr_array(X)
    given = ((X, X[:, ::2]), (Z, Z[:, ::2])) if name.startswith("reduced") else (X, Z)
    dense, sparse = (ldr.path(name, each, [1, 2], folds=4, random_state=0) for each in given)
    np.testing.assert_allclose(sparse.scores, dense.scores, rtol=1e-6)
    found, expected = (
        ldr.compare([name], each, r=1, random_state=0).methods[0].scores for each in reversed(given)
    )
    for each in expected:
        np.testing.assert_allclose(found[each], expected[each], rtol=1e-6, atol=1e-6)
    assert ldr.score(ldr.solve(name, given[1], 1), given[1]) == pytest.approx(
        ldr.score(ldr.solve(name, given[0], 1), given[0]), rel=1e-6
    )


def test_labels_that_the_fit_does_not_know_have_no_score():
    X, y = real_data.wine()
    result = ldr.solve("lda", X, 2, y=y)
    with pytest.raises(DataError, match=r"no label of y is one of the fit's classes \["):
        ldr.score(result, X, np.array(["a", "b", "c"])[y])


def test_missing_labels_of_text_are_named():
    X, y = real_data.wine()
    some = np.where(np.arange(len(y)) % 3, np.array(["a", "b", "c"])[y], None)
    with pytest.raises(DataError, match="y has 60 missing or infinite label"):
        ldr.compare(["lda", "pca"], X, some, 2)
