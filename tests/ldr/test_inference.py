"""Many problems at once against one at a time; permutation tests against what is known of them."""

import numpy as np
import pandas
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_iris, load_linnerud, load_wine
from sklearn.model_selection import GroupKFold

import ldr
from ldr.errors import ArgumentError, DataError, SingularError
from ldr.inference.bootstrap import aligned
from ldr.inference.hypothesis_tests import Null
from ldr.inference.many import Chunk, optima
from ldr.objectives.data.data import as_tuple
from ldr.objectives.families.stacked import StackedRows
from ldr.objectives.registry import REGISTRY
from tests.real_data import by_time

WINE, CLASSES = load_wine(return_X_y=True)
LINNERUD = load_linnerud()
PAIR = (LINNERUD.data, LINNERUD.target)


def series(n=130, d=4, seed=0):
    rng = np.random.default_rng(seed)
    return np.cumsum(rng.standard_normal((n, d)), axis=0) + 100.0


def windows(X, n):
    return np.lib.stride_tricks.sliding_window_view(X, n, axis=0).transpose(0, 2, 1)


def problems(name):
    """A stack of problems for a method: X, and y."""
    rng = np.random.default_rng(1)
    needs = REGISTRY[name].needs
    if REGISTRY[name].views == 2:
        a, b = rng.standard_normal((30, 4)), rng.standard_normal((12, 30, 3))
        return (a, b + a[:, :3]), None
    if "labels" in needs or "response" in needs:
        y = np.repeat([0, 1, 1 if name == "csp" else 2], 10)
        return rng.standard_normal((30, 5)) * 10.0 ** np.arange(5), np.stack(
            [rng.permutation(y) for _ in range(12)]
        )
    return windows(series(), 40)[::8], None


# `ldr.testing` compares the values and maps of all methods; this, the numbers of components too.
@pytest.mark.parametrize(
    ("name", "parameters"),
    [("orthogonal-lda", {}), ("maf", {}), ("sfa", {"whiten": True}), ("cca", {}), ("csp", {})],
)
def test_many_equal_one_at_a_time(name, parameters):
    X, y = problems(name)
    found = ldr.solve_many(name, X, 2, y=y, **parameters)
    assert found.alone == 0
    for k, value in enumerate(found.values):
        views = tuple(v if v.ndim == 2 else v[k] for v in X) if isinstance(X, tuple) else X
        one = views[k] if not isinstance(X, tuple) and X.ndim == 3 else views
        result = ldr.solve(name, one, 2, y=None if y is None else y[k], **parameters)
        assert value == pytest.approx(result.value, rel=1e-12)
        if found.numbers is not None:
            own = next(iter(result.directions.own.values()))
            np.testing.assert_allclose(found.numbers[k], own, rtol=1e-10)
        for P, Q in zip(as_tuple(found.P), as_tuple(result.P), strict=True):
            np.testing.assert_allclose(P[k], Q, atol=1e-6 * np.abs(Q).max())
        if not isinstance(X, tuple):
            np.testing.assert_allclose(found.mean[k], result.mean, rtol=1e-12, atol=1e-12)


FEW = windows(series(60, 3), 40)[::10]
TIED = np.random.default_rng(0).standard_normal((3, 40))
TIED[1] = np.round(TIED[1])
MISSING = np.array([np.arange(40) % 3, np.arange(40) % 2, np.arange(40) % 3])


@pytest.mark.parametrize(
    ("name", "X", "parameters"),
    [
        ("robust-pca", FEW, {}),
        ("sfa", FEW, {"degree": 2}),
        ("sfa", FEW * [1.0, 1.0, 0.0], {}),  # constant columns restrict
        ("cca", (FEW, FEW**2, FEW**3), {}),
        ("pls", (FEW, FEW**2, FEW**3), {}),
        ("lda", FEW, {"y": MISSING}),  # a class of one problem is not in all
        ("sir", FEW, {"y": TIED}),  # ties leave fewer slices in one problem
    ],
)
def test_what_has_no_stack_goes_one_by_one(name, X, parameters):
    found = ldr.solve_many(name, X, 1, **parameters)
    assert found.alone == len(FEW) == 3
    one = tuple(view[1] for view in X) if isinstance(X, tuple) else X[1]
    options = {key: value[1] if key == "y" else value for key, value in parameters.items()}
    assert found.values[1] == pytest.approx(ldr.solve(name, one, 1, **options).value, rel=1e-12)
    assert len(found.plot().axes) == (1 if found.numbers is None else 2)


@pytest.mark.parametrize("name", ["tica", "csp", "spoc"])
def test_stacks_of_rows_in_trials(name):
    """tica makes no pair across two of them; spoc counts them alike, and goes one by one."""
    rng, trials = np.random.default_rng(0), np.repeat(np.arange(6), [5, 9, 7, 8, 6, 5])
    X, y = rng.standard_normal((40, 3)), (rng.standard_normal(6) > 0)[trials]
    y = None if name == "tica" else y.astype(int)
    found = optima(REGISTRY[name](), [Chunk((X[None],), y, 1, trials=trials)], 2)
    assert found.alone == (name == "spoc")
    alone = ldr.solve(name, X, 2, y=y, groups=trials)
    assert found.values[0] == pytest.approx(alone.value, rel=1e-12)
    np.testing.assert_allclose(found.P[0], alone.P, atol=1e-10)


@pytest.mark.parametrize(("name", "sign"), [("csp", 1), ("csp", -1), ("phd", 1), ("phd", -1)])
def test_directions_that_count_by_their_sizes_are_tested_by_them(name, sign):
    """One with a large number of either sign, and one of noise."""
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((150, 3)), np.repeat([0, 1], 75)
    if name == "csp":
        X[y == (sign > 0), 0] *= 4.0
    else:
        y = sign * X[:, 0] ** 2
    found = ldr.permutation_test(name, X, 2, y=y, permutations=99, random_state=0)
    assert found.p_values[0] == found.p_value == 0.01 and found.p_values[1] > 0.1
    one = ldr.permutation_test(name, X, 1, y=y, permutations=99, random_state=0)
    assert one.p_values == (one.p_value,)


def test_one_direction_whose_number_is_to_be_small():
    found = ldr.permutation_test("sfa", series(), 1, permutations=99, random_state=0)
    assert found.p_values == (found.p_value,) == (0.01,)


def test_nearly_dependent_columns_are_solved_from_their_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3, 40, 3))
    X[1, :, 2] = X[1, :, 0] + 1e-6 * X[1, :, 2]
    found = ldr.solve_many("maf", X, 1)
    assert found.alone == 1
    alone = ldr.solve("maf", X[1], 1)
    assert found.values[1] == alone.value
    np.testing.assert_array_equal(found.numbers[1], alone.components["eigenvalue"])
    X[1, :, 2] = X[1, :, 0] + 1e-9 * X[0, :, 2]
    found = ldr.solve_many("orthogonal-lda", X, 1, y=np.arange(40) % 2)
    assert found.alone == 1 and found.numbers is None


def test_an_iterable_of_shapes():
    sets = [WINE[CLASSES == k][:, :4] for k in range(3)]
    found = ldr.solve_many("pca", iter(sets), 2)
    assert found.alone == 0
    expected = [ldr.solve("pca", X, 2).value for X in sets]
    np.testing.assert_allclose(found.values, expected, rtol=1e-12)


def test_sets_of_trials_are_solved_as_trials():
    rng = np.random.default_rng(0)
    sets = [by_time(X) for X in rng.standard_normal((3, 8, 20, 3))]
    labels = np.arange(8) % 2
    for name, y in (("csp", [labels] * 3), ("orthogonal-maf", None)):
        found = ldr.solve_many(name, iter(sets), 1, y=y)
        expected = [ldr.solve(name, X, 1, y=None if y is None else labels).value for X in sets]
        np.testing.assert_allclose(found.values, expected, rtol=1e-12)


def test_sets_with_labels_of_their_own_in_chunks(monkeypatch):
    monkeypatch.setattr("ldr.inference.many.BLOCK_NUMBERS", 2 * 44 * 4)
    sets = [WINE[k::4][:44, :4] for k in range(4)]
    labels = [CLASSES[k::4][:44] for k in range(4)]
    for count in (3, 4):
        found = ldr.solve_many("orthogonal-lda", iter(sets[:count]), 2, y=iter(labels))
        pairs = zip(sets[:count], labels, strict=False)
        expected = [ldr.solve("orthogonal-lda", X, 2, y=y).value for X, y in pairs]
        np.testing.assert_allclose(found.values, expected, rtol=1e-12)
        assert found.alone == 0
    with pytest.raises(DataError, match="y has 3 entries, fewer than the data sets"):
        ldr.solve_many("orthogonal-lda", sets, 2, y=labels[:3])
    sparse = ldr.solve_many("pca", map(csr_array, sets), 2)
    np.testing.assert_allclose(sparse.values, ldr.solve_many("pca", sets, 2).values, rtol=1e-12)
    wide = ldr.solve_many("pca", np.stack(sets).transpose(0, 2, 1), 2)
    assert sparse.alone == wide.alone == 4
    sets[2] = np.where(sets[2] > 2.5, np.nan, sets[2])
    with pytest.raises(DataError, match=r"X has .* NaN"):
        ldr.solve_many("pca", sets, 2)


@pytest.mark.parametrize("name", ["maf", "orthogonal-maf", "tica", "lda", "cca"])
def test_the_unit_of_a_ridge_in_stacks_is_that_of_one_problem(name):
    """The ridge is relative to the mean over the dimensions that vary, three of four here."""
    X = np.random.default_rng(0).standard_normal((2, 30, 4))
    X[0, :, 3] = 7.0
    views = (X, X[:, ::-1]) if name == "cca" else X
    y = np.arange(30) % 3 if name == "lda" else None
    found = ldr.solve_many(name, views, 1, y=y, ridge=0.5)
    for k in range(2):
        one = (X[k], X[k, ::-1]) if name == "cca" else X[k]
        value = ldr.solve(name, one, 1, y=y, ridge=0.5).value
        assert found.values[k] == pytest.approx(value, rel=1e-10)


def test_a_constant_column_has_no_pairs_in_stacks():
    X = np.random.default_rng(0).standard_normal((2, 30, 4))
    X[0, :, 3] = 7.0
    values = [ldr.solve("tica", one, 2).value for one in X]
    assert ldr.solve_many("tica", X, 2).values == pytest.approx(values, rel=1e-10)


def test_stacks_that_do_not_fit():
    flat, ramps = np.zeros((3, 10, 2)), np.zeros((3, 10, 2)) + np.arange(10)[:, None]
    refusals = [
        (DataError, r"stack \(b, n, d\) or an iterable .* got int", "pca", 5, {}),
        (DataError, "same number b", "pca", WINE[:, :1], {}),
        (DataError, "same number b", "orthogonal-lda", flat, {"y": np.zeros((4, 10))}),
        (ArgumentError, "lag must be", "orthogonal-maf", ramps, {"lag": 20}),
        (ArgumentError, "lag must be", "tica", ramps, {"lag": 20}),
        (DataError, "y is constant", "phd", WINE[:, :3], {"y": [CLASSES, 0 * CLASSES]}),
        (ArgumentError, "workers must be", "pca", flat, {"workers": 0}),
    ]
    for error, words, name, X, options in refusals:
        with pytest.raises(error, match=words):
            ldr.solve_many(name, X, 1, **options)


def test_scatters_within_that_a_difference_would_lose():
    rng = np.random.default_rng(3)
    codes = np.repeat([0, 1], 10)[None]
    X = rng.standard_normal((1, 20, 2)) + 1e6 * codes[:, :, None]
    within = StackedRows.of(X).scatters_of_classes(codes)[1][0]
    exact = np.zeros((2, 2), dtype=np.longdouble)
    for c in (0, 1):
        rows = X[0][codes[0] == c].astype(np.longdouble)
        rows = rows - rows.mean(axis=0)
        exact += rows.T @ rows
    np.testing.assert_allclose(within, exact.astype(float), rtol=1e-8)


@pytest.mark.parametrize(
    ("name", "X", "y", "kind"),
    [
        ("pca", WINE[:, :4], None, "rows"),
        ("orthogonal-maf", series(), None, "rows"),
        ("orthogonal-maf", series(), None, "shift"),
        ("pls", PAIR, None, "rows"),
        ("pls", PAIR, None, "shift"),
        ("opca", (WINE[CLASSES == 0][:, :3], WINE[CLASSES == 1][:, :3]), None, "rows"),
        ("sir", WINE[:, :4], WINE[:, 5], "rows"),
        ("sir", WINE[:, :4], WINE[:, 5], "shift"),
        ("orthogonal-lda", WINE[:, :4], CLASSES, "rows"),
        ("least-squares", WINE[:, :3], WINE[:, 5:7], "rows"),
    ],
)
def test_every_null_keeps_what_it_says(name, X, y, kind):
    null = Null.of(ldr.objectives.named(name), X, y, kind, None)
    chunk = null.draw(2, np.random.default_rng(0))
    given = as_tuple(X)
    for k in range(2):
        data, labels = chunk.problem(k)
        views = as_tuple(data)
        if name == "opca":
            both = np.vstack(given)
            np.testing.assert_array_equal(np.sort(np.vstack(views), axis=0), np.sort(both, axis=0))
            continue
        for view, old in zip(views, given, strict=True):
            np.testing.assert_array_equal(np.sort(view, axis=0), np.sort(old, axis=0))
        if y is not None:
            np.testing.assert_array_equal(np.sort(labels, axis=0), np.sort(y, axis=0))
    r = 1 if name == "least-squares" else 2
    found = ldr.permutation_test(name, X, r, y=y, null=kind, permutations=4, random_state=0)
    assert 0.2 <= found.p_value <= 1.0


def test_samples_exchanged_with_a_background_have_units_of_their_own():
    """The data are in units of their own samples, so that each permutation must be, too."""
    X, B = np.random.default_rng(0).standard_normal((2, 15, 6)) * np.arange(1, 7)
    drawn = Null.of(ldr.objectives.ContrastivePCA(), (X, B), None, "rows", None, True).draw(
        5, np.random.default_rng(0)
    )
    for k in range(5):
        values = [
            ldr.solve("contrastive-pca", drawn.problem(k)[0], 2, standardise=each).value
            for each in (False, True)
        ]
        assert values[0] == pytest.approx(values[1], rel=1e-10)


def test_groups_change_labels_as_wholes():
    """Twelve subjects of eight rows that are alike: to the naive test they are 96 strangers."""
    rng = np.random.default_rng(0)
    subjects = np.repeat(np.arange(12), 8)[rng.permutation(96)]
    y = (np.arange(12) % 3)[subjects]
    X = rng.standard_normal((12, 5))[subjects] + 0.3 * rng.standard_normal((96, 5))
    options = {"y": y, "permutations": 199, "random_state": 0}
    assert ldr.permutation_test("orthogonal-lda", X, 2, **options).p_value == 1 / 200
    assert ldr.permutation_test("orthogonal-lda", X, 2, groups=subjects, **options).p_value > 0.1


def test_groups_are_paired_by_index():
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(rng.standard_normal((30, 3)))
    y, groups = pandas.Series(np.tile([0, 1], 15)), pandas.Series(np.repeat([0, 1, 2], 10))
    shuffled = groups.sample(frac=1.0, random_state=0)
    null = Null.of(ldr.objectives.OrthogonalLDA(), frame, y, "auto", shuffled)
    np.testing.assert_array_equal(null.sampled.groups, groups)


TRIALS = np.cumsum(np.random.default_rng(3).standard_normal((8, 15, 3)), axis=1)


@pytest.mark.parametrize("kind", ["within", "shift"])
@pytest.mark.parametrize(
    ("name", "parameters"),
    [("orthogonal-maf", {"lag": 2}), ("maf", {}), ("sfa", {"whiten": True}), ("dynamics", {})],
)
def test_trials_are_permuted_within_and_solved_as_trials(name, parameters, kind):
    objective = ldr.objectives.named(name, **parameters)
    null = Null.of(objective, by_time(TRIALS), None, kind, None)
    chunk = null.draw(2, np.random.default_rng(0))
    found = optima(objective, [chunk], 1, certify=False, random_state=0)
    for k in range(2):
        X, _ = chunk.problem(k)
        for trial in range(8):
            rows = X[15 * trial : 15 * trial + 15]
            np.testing.assert_array_equal(np.sort(rows, axis=0), np.sort(TRIALS[trial], axis=0))
        again = ldr.solve(objective, by_time(X.reshape(TRIALS.shape)), 1, random_state=0)
        assert found.values[k] == pytest.approx(again.value, rel=1e-12)


def test_nulls_that_do_not_fit():
    def refused(message, name, X, **options):
        with pytest.raises(ArgumentError, match=message):
            ldr.permutation_test(name, X, 1, permutations=9, **options)

    refused("null must be", "pca", WINE, null="naive")
    refused(
        "permutes every column by itself: null must be one of 'rows'", "pca", WINE, null="response"
    )
    refused("needs groups=, the group of each sample", "pca", WINE, null="within")
    refused(
        "but this method has neither: give null='within'",
        "pca",
        WINE,
        null="groups",
        groups=CLASSES,
    )
    refused("declares dependent samples", "pca", WINE, null="rows", groups=CLASSES)
    for null in ("rows", "shift"):  # permuted samples of trials reject far too often
        options = {"y": np.arange(8) % 2, "null": null}
        refused("constant within each group or trial.*'groups'", "csp", by_time(TRIALS), **options)
    two = (WINE[:90, :3], WINE[90:, :3])
    refused("without groups=", "opca", two, groups=np.arange(90) % 9)
    refused("got null='shift'", "opca", two, null="shift")
    distances = np.abs(WINE[:, :1] - WINE[:, 0])
    refused("takes distances: it has no permutation of their rows", "mds-distances", distances)


@pytest.mark.parametrize(
    ("name", "X", "y", "kind"),
    [
        ("pca", WINE[:, :4], None, "columns"),
        ("pls", PAIR, None, "second view"),
        ("orthogonal-lda", WINE[:, :4], CLASSES, "response"),
    ],
)
def test_earlier_names_of_nulls_warn(name, X, y, kind):
    options = {"y": y, "permutations": 9, "random_state": 0}
    with pytest.warns(
        FutureWarning, match=f"null='{kind}' will become an error: write null='rows'"
    ):
        found = ldr.permutation_test(name, X, 1, null=kind, **options)
    np.testing.assert_array_equal(found.null, ldr.permutation_test(name, X, 1, **options).null)


@pytest.mark.parametrize("null", ["rows", "shift"])
def test_permutations_do_not_depend_on_the_number_of_threads(null):
    X = np.random.default_rng(0).standard_normal((12, 3))
    options = {"permutations": 9, "null": null, "random_state": 0}
    one, two = (
        ldr.permutation_test("robust-pca", X, 1, workers=threads, **options).null
        for threads in (1, 2)
    )
    np.testing.assert_allclose(one, two, rtol=1e-8)


def test_stopping_early_gives_the_share():
    rng = np.random.default_rng(4)
    X, y = rng.standard_normal((60, 3)), np.repeat([0, 1, 2], 20)
    found = ldr.permutation_test("robust-pca", X, 1, stop_after=1, permutations=400, random_state=0)
    assert len(found.null) < 400
    better = found.null <= found.value * (1 + 1e-10)  # p is valid only at the last of these
    assert better[-1] and better.sum() == 1 and "each direction" not in repr(found)
    assert found.p_value == 1 / len(found.null)
    seen = []
    options = {"permutations": 9, "progress": lambda *at: seen.append(at), "random_state": 0}
    ldr.permutation_test("orthogonal-lda", X, 1, y=y, **options)
    assert seen[-1] == (9, 9)


MULTIVARIATE = pytest.importorskip("statsmodels.multivariate.multivariate_ols")


@pytest.mark.parametrize("data", ["linnerud", "iris", "wine"])
def test_tables_equal_those_of_statsmodels(data):
    if data == "linnerud":
        found = ldr.parametric_test("orthogonal-cca", PAIR)
        Y, regressors = PAIR[1], PAIR[0]
    else:
        X, y = load_iris(return_X_y=True) if data == "iris" else (WINE[:, :6], CLASSES)
        found = ldr.parametric_test("lda", X, y=y)
        Y, regressors = X, (y[:, None] == [0, 1]).astype(float)
    design = np.column_stack([np.ones(len(Y)), regressors])
    fitted = MULTIVARIATE._MultivariateOLS(Y, design).fit()
    table = fitted.mv_test([("all", np.eye(design.shape[1])[1:])]).results["all"]["stat"]
    names = ("Wilks", "Pillai", "Hotelling-Lawley", "Roy")
    for name, row in zip(names, table.to_numpy(dtype=float), strict=True):
        ours = found[name][0]
        np.testing.assert_allclose((ours.value, *ours.df), row[:3], rtol=1e-9)
        assert ours.p_value == pytest.approx(row[4], rel=1e-8, abs=1e-15)
    assert "Roy: the p-value is a lower bound" in repr(found)
    two_classes = ldr.parametric_test("lda", WINE[:, :3], y=CLASSES == 0)  # Roy's F is exact
    assert "bound" not in repr(two_classes)


@pytest.mark.parametrize("name", ["sir", "save"])
def test_slices_are_tested_by_the_moments_of_whitened_rows(name):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 4)) @ rng.standard_normal((4, 4))
    y = (X[:, 0] > 0).astype(int) + (X[:, 0] > 1) if name == "sir" else abs(X[:, 0]) > 1
    found = ldr.parametric_test(name, X, y=y)[name]
    Z = (X - X.mean(axis=0)) @ np.linalg.inv(np.linalg.cholesky(np.cov(X.T, bias=True))).T
    slices = [Z[y == c] for c in np.unique(y)]
    if name == "sir":
        all_of_it = sum(len(rows) * np.sum(rows.mean(axis=0) ** 2) for rows in slices)
    else:
        changes = [np.eye(4) - np.cov(rows.T, bias=True) for rows in slices]
        all_of_it = sum(len(S) * np.sum(C**2) / 2 for S, C in zip(slices, changes, strict=True))
    assert found[0].value == pytest.approx(all_of_it, rel=1e-9)
    assert found[0].p_value < 1e-6 < 0.01 < found[1].p_value
    twice = ldr.parametric_test(name, np.column_stack([X, X[:, 0] + X[:, 1], np.ones(600)]), y=y)
    assert [each.p_value for each in twice[name]] == pytest.approx([each.p_value for each in found])
    text = repr(ldr.parametric_test(name, X, y=y))
    assert ("valid only if X is Gaussian" in text) == (name == "save")


def test_weights_are_refused():
    with pytest.raises(ArgumentError, match="all samples count alike: leave it out"):
        ldr.permutation_test("orthogonal-lda", WINE, 1, y=CLASSES, sample_weight=np.ones(178))


def test_a_value_that_no_permutation_changes_is_no_evidence():
    X = np.random.default_rng(0).standard_normal((30, 5))
    with pytest.raises(
        SingularError, match=r"all 9 permutations have.*a method whose value depends"
    ):
        ldr.permutation_test(
            "principal-components-regression", X, 2, y=X @ np.ones(5), permutations=9
        )
    by_direction = ldr.permutation_test("pca", X, 5, permutations=9, random_state=0)  # r = d
    assert by_direction.p_values is not None and np.isfinite(by_direction.p_values).all()


def test_tests_that_there_are_not():
    with pytest.raises(ArgumentError, match="no parametric test"):
        ldr.parametric_test("pca", WINE)
    with pytest.raises(ArgumentError, match="X has trials, and these tests assume"):
        ldr.parametric_test("lda", by_time(TRIALS), y=np.arange(8) % 2)
    with pytest.raises(ArgumentError, match="the null distribution is known for ridge = 0"):
        ldr.parametric_test("orthogonal-lda", WINE, y=CLASSES, ridge=0.1)
    with pytest.raises(DataError, match="too few"):
        ldr.parametric_test("orthogonal-cca", tuple(view[:7] for view in PAIR))
    few = ldr.parametric_test("orthogonal-cca", tuple(view[:9] for view in PAIR))
    assert few["Pillai"] and not few["Hotelling-Lawley"]  # whose approximation needs more rows


def planted(rng, n=400):
    """The response bends over two of eight columns."""
    X = rng.standard_normal((n, 8))
    return X, X[:, 0] / (0.5 + (X[:, 1] + 1.5) ** 2) + 0.1 * rng.standard_normal(n)


@pytest.mark.parametrize("rule", ["ladle", "permutation"])
def test_dimension_of_a_planted_response(rule):
    X, t = planted(np.random.default_rng(0))
    found = ldr.dimension("sir", X, t, method=rule, permutations=199, random_state=0)
    assert found.r == 2
    assert found.plot().axes


@pytest.mark.parametrize(("name", "rule"), [("pca", "parallel"), ("fa", "bic"), ("ppca", "folds")])
def test_dimension_of_planted_factors(name, rule):
    rng = np.random.default_rng(1)
    X = 2.0 * rng.standard_normal((300, 2)) @ rng.standard_normal((2, 7))
    X += rng.standard_normal((300, 7))
    method = rule if rule == "folds" else "auto"
    found = ldr.dimension(name, X, method=method, most=4, random_state=0)
    assert (found.rule, found.r) == (rule, 2)


@pytest.mark.parametrize("name", ["fa", "ppca"])
def test_independent_columns_have_no_factors(name):
    X = np.random.default_rng(0).standard_normal((100, 5))
    found = ldr.dimension(name, X, most=2)
    assert found.r == 0 and list(found.candidates) == [0, 1, 2]
    notes = ldr.solve(name, X, "auto").notes
    assert any("r = 1: the BIC is smaller still at r = 0" in note for note in notes)
    X[0, 0] = np.nan  # r = 0 needs complete samples
    assert list(ldr.dimension(name, X, most=1).candidates) == [1]


@pytest.mark.parametrize("name", ["fa", "ppca"])
def test_factors_leave_some_noise(name):
    """The last dimension that is tried is the last that has a likelihood."""
    found = ldr.dimension(name, load_iris().data, random_state=0)
    np.testing.assert_array_equal(found.candidates, [0, 1, 2, 3])


def test_dimension_of_trials_holds_out_whole_ones():
    found = ldr.dimension("maf", by_time(TRIALS), method="folds", folds=4, random_state=0)
    ids = np.repeat(np.arange(8), 15)
    splitter = GroupKFold(4)
    with pytest.raises(ArgumentError, match="requires method='permutation'"):
        ldr.dimension("fa", WINE, method="bic", groups=CLASSES)
    again = ldr.dimension("maf", TRIALS.reshape(-1, 3), groups=ids, folds=splitter, rule="best")
    assert (found.rule, found.scores.shape) == (again.rule, again.scores.shape) == ("folds", (3,))


@pytest.mark.parametrize(
    ("name", "options"), [("maf", {}), ("tica", {}), ("sfa", {"whiten": True})]
)
def test_slow_components_are_counted_against_white_noise(name, options):
    noise = np.random.default_rng(1).standard_normal((400, 6))
    X = noise.copy()
    for t in range(1, 400):
        X[t, :2] += [0.9, 0.8] * X[t - 1, :2]
    X = X @ np.random.default_rng(2).standard_normal((6, 6))
    found = [ldr.dimension(name, Z, permutations=99, random_state=0, **options) for Z in (noise, X)]
    assert [each.r for each in found] == [0, 2] and found[0].rule == "permutation"
    path = ldr.path(name, X, [1, 2], folds=3, **options)
    assert "the best r estimates no dimension" in repr(path)


def test_the_ladle_draws_whole_groups():
    """Replicates of 50 samples: by rows spans seem to be more certain than they are."""
    rng = np.random.default_rng(4)
    X, t = planted(rng, 50)
    X, t, groups = np.repeat(X, 6, axis=0), np.repeat(t, 6), np.repeat(np.arange(50), 6)
    X = X + 0.01 * rng.standard_normal(X.shape)
    options = {"method": "ladle", "random_state": 0}
    by_rows, by_groups = (
        ldr.dimension("sir", X, t, groups=given, **options).scores for given in (None, groups)
    )
    alone = ldr.dimension("sir", X[::6], t[::6], **options).scores
    assert np.abs(by_groups - alone).max() < 0.5 * np.abs(by_rows - alone).max()


@pytest.mark.parametrize("unit", [0.01, 1.0, 100.0])
def test_the_ladle_of_phd_does_not_depend_on_the_unit_of_y(unit):
    rng = np.random.default_rng(0)
    X, noise = rng.standard_normal((300, 5)), rng.standard_normal(300)
    planted = X[:, 0] ** 2 - X[:, 1] ** 2 + 0.5 * noise
    found = [ldr.dimension("phd", X, unit * y, random_state=0).r for y in (noise, planted)]
    assert found == [0, 2]


def test_directions_of_save_are_counted_by_permutation():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 4))
    found = ldr.dimension("save", X, X[:, 0] ** 2, most=3, permutations=99, random_state=0)
    assert found.rule == "permutation" and found.r == 1
    assert len(found.scores) == 3 and repr(found).count("\n") == 4  # a head, titles and 3 rows


def test_candidates_after_the_chosen_one_are_not_all_printed():
    wide = np.random.default_rng(0).standard_normal((30, 20))
    found = ldr.dimension("pca", wide, random_state=0)
    assert len(repr(found).splitlines()) <= found.r + 4 and len(found.scores) == 20


def test_a_description_chooses_no_dimension():
    path = ldr.path("lpp", WINE, [1, 2], folds=3, random_state=0)
    assert path.best is None and path.chosen is None and np.isfinite(path.pooled).all()
    assert "no r is chosen" in repr(path) and "best score" not in repr(path)
    assert path.plot().axes
    with pytest.raises(ArgumentError, match=r"measure prediction\. Use method='permutation'"):
        ldr.dimension("lpp", WINE, method="folds", most=2, random_state=0)


def test_levels_below_the_smallest_p_value():
    with pytest.raises(ArgumentError, match=r"level = 0\.001 is less than 1/100, .*permutations="):
        ldr.dimension("lda", WINE, CLASSES, level=0.001, permutations=99)
    assert ldr.dimension("lda", WINE, CLASSES, level=0.01, permutations=99, random_state=0).r == 2
    X = np.random.default_rng(0).standard_normal((30, 3))
    few, many = (
        ldr.dimension("pca", X, level=level, random_state=0).threshold[0] for level in (0.01, 1e-3)
    )
    assert many > few


def test_rules_that_a_method_does_not_have():
    wrong = (
        ("bic", "orthogonal-lda"),
        ("parallel", "orthogonal-lda"),
        ("permutation", "robust-pca"),
    )
    for rule, name in (*wrong, *(("ladle", name) for name in ("pls", "maf", "orthogonal-lda"))):
        X, y = (PAIR, None) if name == "pls" else (WINE, CLASSES)
        with pytest.raises(ArgumentError, match="method="):
            ldr.dimension(name, X, y, method=rule, permutations=3)
    with pytest.raises(ArgumentError, match=r"rule= requires method='folds', got .*'parallel'"):
        ldr.dimension("pca", WINE, method="parallel", rule="best")


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_maps_of_any_size_are_turned_towards_the_reference():
    rng = np.random.default_rng(0)
    reference = rng.standard_normal((3, 6))
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    found = aligned(1e140 * (turn @ reference), 1e140 * reference, rng.standard_normal((9, 6)))
    np.testing.assert_allclose(found / 1e140, reference, atol=1e-12)


@pytest.mark.parametrize("name", ["orthogonal-lda", "pca", "nca"])
def test_gaps_are_infinite_without_certificates(name):
    X, y = np.random.default_rng(0).normal(size=(2, 15, 3)), np.arange(15) % 3
    assert np.isinf(ldr.solve_many(name, X, 2, y=y, certify=False).gaps).all()
