"""Groups, trials, blocks and shifts: what is drawn and permuted, and what the tests are worth."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_wine

import ldr
from ldr.errors import ArgumentError, DataError, SingularError
from ldr.inference.hypothesis_tests import Null, canonical_bases
from ldr.objectives import named
from ldr.resampling import Resampling, Sampled
from tests import real_data
from tests.ldr.test_cross_validation import sets_of
from tests.real_data import by_time

UNEQUAL = np.array([1, 0, 1, 2, 0, 1, 2, 3, 3, 1])


def autoregressive(rng, shape, coefficient):
    """Stationary series along the last axis but one, of unit innovations."""
    E = rng.standard_normal(shape)
    E[..., 0, :] /= np.sqrt(1.0 - coefficient**2)
    for t in range(1, shape[-2]):
        E[..., t, :] += coefficient * E[..., t - 1, :]
    return E


@pytest.mark.parametrize("null", ["within", "groups", "shift"])
def test_permutations_keep_what_they_say(null):
    units, rng = Resampling(UNEQUAL), np.random.default_rng(0)
    for order in units.permuted(null, 50, rng, alike=True):
        assert sorted(order) == list(range(10))
        if null != "groups":
            np.testing.assert_array_equal(UNEQUAL[order], UNEQUAL)
        for k in range(4):
            found, places = order[UNEQUAL == k], np.flatnonzero(UNEQUAL == k)
            if null == "shift":
                turns = [np.roll(places, step) for step in range(len(places))]
                assert any(np.array_equal(found, turn) for turn in turns)
            elif null == "groups":  # all of another group of this size, in its order
                (taken,) = set(UNEQUAL[found])
                np.testing.assert_array_equal(found, np.flatnonzero(UNEQUAL == taken))
    of_groups = np.array([5, 5, 6, 7])
    for order in units.permuted("groups", 50, rng):
        found = units.of_groups(of_groups[UNEQUAL][order])
        np.testing.assert_array_equal(np.sort(found), of_groups)


@pytest.mark.parametrize("null", ["within", "groups"])
@pytest.mark.parametrize("labelled", [True, False])
def test_arrangements_are_counted(null, labelled):
    """Against all that there are."""
    units = Resampling(np.array([0, 0, 0, 1, 1, 2, 2]))
    y = np.array([4, 4, 4, 4, 4, 9, 9]) if null == "groups" else np.array([4, 4, 9, 4, 9, 9, 9])
    y = y if labelled else np.arange(7)
    found = units.permuted(null, 3000, np.random.default_rng(0), alike=not labelled)
    distinct = {tuple(y[order]) for order in found}
    assert units.arrangements(null, y if labelled else None) == len(distinct)


@pytest.mark.parametrize("labelled", [True, False])
def test_groups_are_drawn_as_wholes(labelled):
    groups = np.repeat(list("abcdef"), [3, 5, 2, 4, 4, 6])[np.random.default_rng(1).permutation(24)]
    classes = {"a": 0, "b": 1, "c": 1, "d": 0, "e": 1, "f": 1}
    y = np.array([classes[k] for k in groups]) if labelled else np.arange(24) % 2
    X = np.arange(24.0)[:, None] + [0.0, 1.0]
    sampled = Sampled.of(named("orthogonal-lda"), X, y, "bootstrap", None, groups)
    for seed in range(9):
        drawn, _ = sampled.drawn(np.random.default_rng(seed), None)
        rows = drawn.dense()[:, 0].astype(int)
        ends = np.cumsum([0, *_lengths(groups, rows)])
        firsts = groups[rows[ends[:-1]]]
        assert len(firsts) == 6
        for k, first, last in zip(firsts, ends[:-1], ends[1:], strict=True):
            np.testing.assert_array_equal(rows[first:last], np.flatnonzero(groups == k))
        if labelled:  # two groups of the one class, four of the other
            assert sum(classes[k] == 0 for k in firsts) == 2


def _lengths(groups, rows):
    """Yield the lengths of the groups that stand one after the other."""
    at = 0
    while at < len(rows):
        yield (size := int(np.sum(groups == groups[rows[at]])))
        at += size


def patients(rng, count=24, times=8):
    """Samples of a patient are alike: a factor of two columns in a third."""
    of_patients = rng.standard_normal((count, 3)) * [2.0, 1.0, 1.0]
    return np.repeat(of_patients, times, axis=0) + 0.1 * rng.standard_normal((count * times, 3))


def test_intervals_of_groups_are_wider():
    X, groups = patients(np.random.default_rng(0)), np.repeat(np.arange(24), 8)
    widths = []
    for given in (None, groups):
        found = ldr.bootstrap("pca", X, 1, groups=given, draws=100, random_state=0)
        low, high = found.interval(0.9)
        widths.append(np.mean(high - low))
    assert widths[1] > 2.0 * widths[0]
    with_jackknife = ldr.bootstrap("pca", X, 1, groups=groups, draws=9, bca=True, random_state=0)
    assert len(with_jackknife.without) == 24
    kept = ldr.solve("pca", X[groups != 3], 1).P
    np.testing.assert_allclose(np.abs(with_jackknife.without[3]), np.abs(kept), atol=1e-10)


def test_groups_that_cannot_be_drawn():
    X = patients(np.random.default_rng(0))
    with pytest.raises(ArgumentError, match="cannot be combined with groups or trials"):
        ldr.bootstrap("pca", X, 1, groups=np.repeat(np.arange(24), 8), block=5)
    with pytest.raises(ArgumentError, match="groups= has a single group"):
        ldr.bootstrap("pca", X, 1, groups=np.zeros(192))
    with pytest.raises(ArgumentError, match="has background samples without groups"):
        ldr.bootstrap("opca", (X, X[:9]), 1, groups=np.repeat(np.arange(24), 8))
    for function in (ldr.bootstrap, ldr.permutation_test):
        with pytest.raises(DataError, match="a group per row"):
            function("pca", X, 1, groups=np.arange(24))


def test_groups_go_with_the_samples_that_count():
    X, groups = patients(np.random.default_rng(0)), np.repeat(np.arange(24), 8)
    weights = (np.arange(192) % 8 < 5).astype(float)
    kept = weights > 0
    options = {"draws": 3, "random_state": 0}
    found = ldr.bootstrap("pca", X, 1, groups=groups, sample_weight=weights, **options)
    alone = ldr.bootstrap("pca", X[kept], 1, groups=groups[kept], **options)
    np.testing.assert_allclose(found.values, alone.values, rtol=1e-12)


def test_the_null_that_fits_groups():
    rng = np.random.default_rng(0)
    X, groups = rng.standard_normal((24, 3)), np.repeat(np.arange(8), 3)
    lda, cca = named("orthogonal-lda"), named("orthogonal-cca")

    def kind(objective, X, y=None, groups=groups):
        return Null.of(objective, X, y, "auto", groups).kind

    assert kind(lda, X, groups % 2) == "groups"
    assert kind(lda, X, np.arange(24) % 2) == kind(named("pca"), X) == "within"
    assert kind(cca, (X, X**2)) == "groups" and kind(cca, (X, X**2), groups=None) == "rows"
    assert kind(cca, (X, X**2), groups=np.repeat([0, 1, 2], [7, 8, 9])) == "within"
    trials = by_time(X.reshape(8, 3, 3))
    assert kind(cca, (trials, trials), groups=None) == "groups"
    assert kind(named("csp"), trials, np.arange(8) % 2, None) == "groups"
    assert kind(named("orthogonal-maf"), trials, None, None) == "within"


def test_too_few_permutations_are_refused_with_their_number():
    X = np.random.default_rng(0).standard_normal((24, 4))
    pair, few = (X[:, :2], X[:, 2:]), np.repeat(np.arange(3), 8)

    def refused(message, name, X, groups, **options):
        with pytest.raises(ArgumentError, match=message):
            ldr.permutation_test(name, X, 1, groups=groups, permutations=9, **options)

    refused(r"allows 6 distinct .*least 1/6.*or null='within'", "pls", pair, few)
    four, name, two = np.arange(24) // 6, "orthogonal-lda", np.arange(24) % 2
    refused(r"allows 6 distinct .*more groups", name, X, four, y=four // 2)
    refused(r"allows 1 distinct .*null='groups'", name, X, few, y=few, null="within")
    refused("the same y in all samples", name, X, few, y=two, null="groups")
    found = ldr.permutation_test("pls", pair, 1, groups=few, null="within", permutations=9)
    assert found.kind == "within" and "within groups" in repr(found)


def test_arrays_of_trials_of_two_views():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((9, 12, 3)), rng.standard_normal((9, 12, 2))
    rows, groups = (X.reshape(-1, 3), Y.reshape(-1, 2)), np.repeat(np.arange(9), 12)
    X, Y = by_time(X), by_time(Y)
    for name in ("cca", "pls", "orthogonal-cca"):
        alone = ldr.solve(name, rows, 1)
        found = ldr.solve(name, (X, Y), 1)
        assert found.value == pytest.approx(alone.value, rel=1e-12)
        for a, b in zip(found.transform((X, Y)), alone.transform(rows), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-12)
    options = {"permutations": 19, "random_state": 0}
    found = ldr.permutation_test("cca", (X, Y), 2, **options)
    again = ldr.permutation_test("cca", rows, 2, groups=groups, **options)
    np.testing.assert_array_equal(found.null, again.null)
    assert found.p_values == again.p_values and "paired anew" in repr(found)
    drawn = ldr.bootstrap("pls", (X, Y), 1, draws=3, random_state=0)
    again = ldr.bootstrap("pls", rows, 1, groups=groups, draws=3, random_state=0)
    np.testing.assert_array_equal(drawn.values, again.values)
    with pytest.raises(DataError, match="expected equal trial lengths in all"):
        ldr.solve("pls", (X, by_time(Y.rows.reshape(12, 9, 2))), 1)


WIDE = np.random.default_rng(3).standard_normal((24, 40))
HALVES = np.arange(24) % 2


@pytest.mark.parametrize(
    ("name", "X", "y", "options"),
    [
        ("orthogonal-lda", WIDE, HALVES, {"ridge": 0.1}),
        ("lda", WIDE, HALVES, {"ridge": 0.1}),
        ("lda", WIDE, HALVES, {"shrinkage": "auto"}),
        ("sir", WIDE, WIDE[:, 0], {"ridge": 0.1, "slices": 4}),
        ("cca", (WIDE, WIDE[:, ::-1]), None, {"ridge": 0.3}),
    ],
)
def test_fewer_samples_than_columns_are_solved_again_with_the_ridge(name, X, y, options):
    """Each null value is that of `ldr.solve` on the permuted data as they are."""
    found = ldr.permutation_test(name, X, 1, y=y, permutations=5, random_state=2, **options)
    rng = np.random.default_rng(2)
    rng.integers(2**31)
    null = Null.of(named(name), X, y, "auto", None)
    chunk = null.draw(5, rng)
    for k in range(5):
        data, labels = chunk.problem(k)
        alone = ldr.solve(name, data, 1, y=labels, **options)
        assert found.null[k] == pytest.approx(alone.value, rel=1e-9)
    assert not np.isnan(found.p_values).any()


@pytest.mark.parametrize("name", ["orthogonal-lda", "lda", "sir", "csp", "orthogonal-cca", "cca"])
@pytest.mark.filterwarnings("ignore::ldr.errors.ObjectiveWarning")
def test_too_few_samples_are_refused_and_the_way_out_works(name):
    X, y = ((WIDE, WIDE[::-1]), None) if name.endswith("cca") else (WIDE, HALVES)
    options = {"y": y, "permutations": 19, "random_state": 0}
    with pytest.raises(SingularError, match=r"[Gg]ive ridge= a positive value"):
        ldr.permutation_test(name, X, 1, **options)
    found = ldr.permutation_test(name, X, 1, ridge=0.1, **options)
    assert 0.0 < found.p_value < 1.0


def test_shifts_state_that_series_must_be_stationary():
    """Unrelated random walks with drift are rejected, whatever the seed."""
    A, B = np.cumsum(0.2 + np.random.default_rng(0).standard_normal((2, 200, 3)), axis=1)
    found = ldr.permutation_test("cca", (A, B), 1, null="shift", permutations=99, random_state=0)
    assert found.p_value <= 0.05 and "valid only for stationary series" in repr(found)
    found = ldr.permutation_test("cca", (A, B), 1, permutations=99, random_state=0)
    assert "stationary" not in repr(found)


def test_directions_that_there_are_not_have_no_p_value():
    X = np.random.default_rng(0).standard_normal((30, 3))
    options = {"y": np.arange(30) % 2, "permutations": 19, "random_state": 0}
    two = ldr.permutation_test("orthogonal-lda", X, 3, **options)
    assert 0 < two.p_values[0] <= 1 and np.isnan(two.p_values[1:]).all()


def by_hand(A, B, orders, ridges):
    """p-values of correlations as Winkler et al. 2020 state them, step for step.

    Inverse roots by eigh, no bases in common.
    """
    A, B = A - A.mean(axis=0), B - B.mean(axis=0)

    def white(X, ridge):
        values, T = np.linalg.eigh(X.T @ X)
        kept = values > 1e-10 * values[-1]
        values, T = values[kept], T[:, kept]
        return X @ (T / np.sqrt(values + ridge * values.mean()))

    U, V = white(A, ridges[0]), white(B, ridges[1])
    L, d, Rt = np.linalg.svd(U.T @ V)
    U, V = U @ L, V @ Rt.T
    counts = np.ones(len(d))  # of the data themselves
    for order in orders:
        for k in range(len(d)):
            left = U[order][:, k:]
            if not ridges[0]:
                left = np.linalg.qr(left - left.mean(axis=0))[0]
            values = np.linalg.svd(left.T @ V[:, k:], compute_uv=False)
            mine = -np.log1p(-(values**2)).sum()
            counts[k] += mine >= -np.log1p(-(d[k:] ** 2)).sum() * (1 - 1e-12)
    return np.maximum.accumulate(counts / (1 + len(orders)))


REAL = {"wine": load_wine().data[::3], "diabetes": load_diabetes().data[::3]}
PAIRS = {"linnerud": real_data.linnerud()}
PAIRS |= {name: (X[:, :3], X[:, 4:9]) for name, X in REAL.items()}


@pytest.mark.parametrize(
    "case", [*PAIRS, "ridge of cca", "ridge of lda", "labels of unequal groups"]
)
def test_p_values_of_directions_are_those_of_a_direct_program(case, monkeypatch):
    rng, y, r, options = np.random.default_rng(1), None, 3, {"permutations": 199}
    if case in PAIRS:
        name, X, ridges = "cca", PAIRS[case], (0.0, 0.0)
        B, A = X
    elif case == "ridge of cca":
        B, A = X = (WIDE, WIDE[:, :5] + rng.standard_normal((24, 5)))
        name, ridges, options = "cca", (0.2, 0.2), {"ridge": 0.2, "permutations": 99}
    else:
        groups = np.repeat(np.arange(15), rng.integers(2, 9, 15))
        classes = groups if "groups" in case else np.arange(24)
        y = classes % 3
        X = rng.standard_normal((len(y), 4 if "groups" in case else 40)) + (y == 1)[:, None]
        name, r, (A, B) = "lda", 2, ((y[:, None] == [0, 1]).astype(float), X)
        ridges = (0.0, 0.0 if "groups" in case else 0.1)
        options = {"groups": groups} if "groups" in case else {"ridge": 0.1}
        options["permutations"] = 99
    drawn, orders_of = [], Null.orders

    def orders(self, rng, count):
        drawn.append(orders_of(self, rng, count))
        return drawn[-1]

    monkeypatch.setattr(Null, "orders", orders)
    found = ldr.permutation_test(name, X, r, y=y, random_state=4, **options)
    expected = by_hand(A, B, drawn[-1], ridges)[:r]
    np.testing.assert_array_equal(found.p_values, expected)
    assert found.kind == ("groups" if "groups" in case else "rows")
    if case in PAIRS:
        assert 0.005 <= expected[0] <= 0.1 < expected[2]


def independent(rng):
    return "cca", tuple(rng.standard_normal((2, 25, 2))), {}


def blocks(rng):
    """Blocks differ in X and in how often they have which label: samples are not exchangeable."""
    groups = np.repeat(np.arange(5), 8)
    X = 2.0 * rng.standard_normal((5, 2))[groups] + rng.standard_normal((40, 2))
    y = np.concatenate([rng.permutation(8) < rng.integers(2, 7) for _ in range(5)]).astype(int)
    return "orthogonal-lda", X, {"y": y, "groups": groups}


def subjects(rng):
    """Labels of subjects with 2 to 9 samples each, which are alike."""
    groups = np.repeat(np.arange(16), rng.integers(2, 10, 16))
    X = rng.standard_normal((16, 2))[groups] + 0.5 * rng.standard_normal((len(groups), 2))
    return "lda", X, {"y": groups % 2, "groups": groups}


def areas(rng):
    """Two areas in trials of AR(.9)."""
    return "cca", by_time(tuple(autoregressive(rng, (2, 12, 40, 2), 0.9))), {}


def few(rng):
    return "orthogonal-lda", rng.standard_normal((16, 24)), {"y": np.arange(16) % 2, "ridge": 0.1}


def series(rng):
    return "cca", tuple(autoregressive(rng, (2, 200, 2), 0.9)), {"null": "shift"}


def rejected(draw, sets, permutations=19, r=1):
    """The shares of data sets that are rejected at 5 %, by the value and by each direction."""
    counts = np.zeros(1 + r)
    for seed in range(sets):
        name, X, options = draw(np.random.default_rng([7, seed]))
        found = ldr.permutation_test(
            name, X, r, permutations=permutations, random_state=seed, workers=1, **options
        )
        counts += np.array([found.p_value, *(found.p_values or [np.nan] * r)]) <= 0.05
    return counts / sets


NULL_SETS = [independent, blocks, subjects, areas, few]


@pytest.mark.parametrize(
    "draw", [*NULL_SETS[:-1], pytest.param(few, marks=pytest.mark.slow), series]
)
@sets_of(40, 1000)
def test_size_with_groups_trials_and_few_samples(draw, sets):
    """Few sets: 5 % and three standard errors at most. Shifts are approximate."""
    found = rejected(draw, sets)[0]
    print(f"{draw.__name__}: {found:.3f}")
    if sets == 40:
        assert found <= 0.05 + 3.0 * np.sqrt(0.05 * 0.95 / 40)
    elif draw is series:
        assert found <= 0.08, found
    else:
        assert abs(found - 0.05) <= 0.022, found


def labelled(rng):
    return rng.standard_normal((40, 5)), {"y": np.repeat([0, 1, 2, 3], 10)}


def responded(rng):
    return rng.standard_normal((60, 4)), {"y": rng.standard_normal(60)}


def two_views(rng):
    return (rng.standard_normal((50, 4)), rng.standard_normal((50, 3))), {}


def one_view(rng):
    return rng.standard_normal((50, 4)), {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "draw", "sets"),
    [
        ("orthogonal-lda", labelled, 2000),
        ("lda", labelled, 2000),
        ("cca", two_views, 2000),
        ("pls", two_views, 2000),
        ("pca", one_view, 2000),
        ("sir", responded, 2000),
        ("orthogonal-maf", one_view, 2000),
        ("hsic", responded, 200),
    ],
)
def test_size(name, draw, sets):
    """At 5 %, 5 +- 1.5 % of data sets without structure are rejected (200 sets: three errors)."""
    permutations = 199 if sets == 2000 else 19
    found = rejected(lambda rng: (name, *draw(rng)), sets, permutations)[0]
    assert abs(found - 0.05) <= (0.015 if sets == 2000 else 0.046), found


@pytest.mark.slow
def test_size_of_the_second_step_of_cca():
    """One true pair: the second step has the size that the naive test has not."""

    def one_pair(rng):
        X, Y = two_views(rng)[0]
        Y[:, 0] += 3.0 * X[:, 0]
        return "cca", (X, Y), {}

    found = rejected(one_pair, 2000, 199, r=3)
    assert found[1] == 1.0
    assert abs(found[2] - 0.05) <= 0.015, found
    naive = 0
    for seed in range(400):
        d, U, V = canonical_bases(*one_pair(np.random.default_rng(seed))[1])
        rng = np.random.default_rng(seed)
        orders = np.array([rng.permutation(50) for _ in range(199)])
        permuted = np.linalg.svd(U[orders].transpose(0, 2, 1) @ V, compute_uv=False)
        naive += (1 + np.sum(permuted[:, 1] >= d[1])) / 200 <= 0.05
    assert naive / 400 > 0.2  # what the test that is written by hand does


def sharing(rng):
    """Half of the variance of each trial's signal is that of the other area's."""
    common, own = autoregressive(rng, (20, 60, 3), 0.9), autoregressive(rng, (2, 20, 60, 3), 0.9)
    return "cca", by_time(tuple(np.sqrt(0.5) * (common + own))), {}


@sets_of(10, 40)
def test_shared_signals_of_trials_are_found(sets):
    assert rejected(sharing, sets, permutations=99)[0] >= 0.9


def unrelated(null, drift=0.0):
    """Two areas of 20 trials of AR(.9); their means drift over the session as random walks."""

    def draw(rng):
        areas = autoregressive(rng, (2, 20, 60, 3), 0.9)
        areas += drift * np.cumsum(rng.standard_normal((2, 20, 1, 3)), axis=1)
        return "cca", by_time(tuple(areas)), {"null": null}

    return draw


@pytest.mark.slow
@pytest.mark.parametrize(
    ("null", "drift", "low", "high"),
    [("within", 0.0, 0.6, 0.9), ("groups", 0.0, 0.0, 0.097), ("groups", 2.0, 0.5, 1.0)],
)
def test_unrelated_areas_of_trials(null, drift, low, high):
    found = rejected(unrelated(null, drift), 200)[0]
    print(f"{null}, drift {drift:g}: {found:.3f}")
    assert low <= found <= high


def covered(draw, sets, **options):
    """The share of entries of the first axis that 90 % intervals cover; that axis is (1, 0, 0)."""
    shares = []
    for seed in range(sets):
        X, given = draw(np.random.default_rng([11, seed]))
        found = ldr.bootstrap("pca", X, 1, draws=200, random_state=seed, **given, **options)
        low, high = found.interval(0.9)
        true = np.sign(found.result.P[0, 0]) * np.eye(3)[:1]
        shares.append((low <= true) & (true <= high))
    return np.mean(np.array(shares)[:, 0, 1:])


def many_patients(count):
    groups = np.repeat(np.arange(count), 8)
    return lambda rng: (patients(rng, count), {"groups": groups})


def one_series(n, block):
    return lambda rng: (autoregressive(rng, (n, 3), 0.7) * [2.0, 1.0, 1.0], {"block": block})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("draw", "low"),
    [
        (many_patients(80), 0.84),
        (one_series(2000, 50), 0.84),
        (many_patients(24), 0.74),  # too short: few groups
        (one_series(500, 25), 0.74),  # too short: few blocks
    ],
    ids=["80 groups", "2000 samples in blocks", "24 groups", "500 samples in blocks"],
)
def test_intervals_cover(draw, low):
    """Over 100 data sets, two entries each: the standard error is at most 0.03."""
    found = covered(draw, 100)
    print(f"{found:.3f}")
    assert low <= found <= 0.95, found


def test_parallel_analysis_has_as_many_dimensions_as_were_asked_for():
    """It prints the candidates up to two beyond the chosen number."""
    X = np.random.default_rng(0).standard_normal((60, 30))
    found = ldr.dimension("pca", X, method="parallel", most=12, random_state=0)
    assert len(found.candidates) == len(found.scores) == len(found.threshold) == 12
    assert len(repr(found).splitlines()) == found.r + 4 == 4
