"""Trials: series of which no pair of rows is of two, however they are handed over."""

import json
from dataclasses import replace

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn import config_context
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline

import ldr
from ldr.errors import ArgumentError, DataError, DataWarning
from ldr.objectives import REGISTRY
from ldr.objectives.data import data as samples
from ldr.objectives.data.opening import as_samples
from ldr.objectives.data.sample_metadata import Marks
from ldr.objectives.statistics import difference_scatter, lagged_moments
from tests.real_data import by_time

rng = np.random.default_rng(0)
TRIALS = [np.cumsum(rng.standard_normal((10, 4)), axis=0) + 3.0 for _ in range(40)]
TURNED = [trial.T for trial in TRIALS]
X = np.concatenate(TRIALS)
IDS = np.repeat(np.array([f"t{k}" for k in range(40)]), 10)
TIMED = [name for name, cls in REGISTRY.items() if cls.needs == ("time order",)]


@pytest.fixture
def small_pieces(monkeypatch):
    """Seven rows in a piece: trials end in pieces, and run over several."""
    monkeypatch.setattr(samples, "BLOCK_NUMBERS", 28)


def by_hand(lag, weights=None):
    """Lagged covariance and scatter of differences in extended precision, pair by pair."""
    w = np.ones(len(X)) if weights is None else weights
    mean = np.average(X.astype(np.longdouble), axis=0, weights=w)
    lagged, differences, pairs = np.zeros((4, 4)), np.zeros((4, 4)), 0.0
    for t in range(len(X) - 1):
        if t + lag < len(X) and IDS[t] == IDS[t + lag]:
            count = np.sqrt(np.longdouble(w[t] * w[t + lag]))
            lagged = lagged + count * np.outer(X[t] - mean, X[t + lag] - mean)
            pairs += count
        if IDS[t] == IDS[t + 1]:
            step = X[t + 1] - X[t].astype(np.longdouble)
            differences = differences + np.sqrt(w[t] * w[t + 1]) * np.outer(step, step)
    return (0.5 * (lagged + lagged.T) / pairs).astype(float), differences.astype(float)


WEIGHTS = np.random.default_rng(1).integers(0, 4, len(X)).astype(float)
ROWS = {
    "dense": lambda path: as_samples(X),
    "sparse": lambda path: as_samples(scipy.sparse.csr_array(X)),
    "file": lambda path: (np.save(path, X), as_samples(path))[1],
    "stream": lambda path: as_samples(lambda: iter(np.array_split(X, 9))),
    "dask": lambda path: as_samples(da.from_array(X, chunks=(33, 4))),
}


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weighted"])
@pytest.mark.parametrize("container", ROWS)
@pytest.mark.parametrize("lag", [1, 3, 9])
def test_sums_are_of_pairs_within_trials(lag, container, weights, small_pieces, tmp_path):
    rows = ROWS[container](tmp_path / "X.npy")
    marks = Marks(weights, np.repeat(np.arange(40), 10))
    marked = replace(rows, marks=marks)
    lagged, differences = by_hand(lag, weights)
    found = lagged_moments(marked, lag)
    np.testing.assert_allclose(found.lagged, lagged, rtol=0, atol=1e-12 * np.abs(lagged).max())
    np.testing.assert_allclose(found.mean, np.average(X, 0, weights), rtol=1e-13)
    np.testing.assert_allclose(difference_scatter(marked), differences, rtol=0, atol=1e-9)
    assert found.n == (len(X) if weights is None else weights.sum())


@pytest.mark.parametrize("name", TIMED)
def test_the_order_of_the_trials_does_not_matter(name):
    found = ldr.solve(name, X, 2, groups=IDS)
    order = np.random.default_rng(2).permutation(40)
    shuffled = [TRIALS[k] for k in order]
    for given in (shuffled, np.array(shuffled)):
        other = ldr.solve(name, by_time(given), 2)
        assert other.value == pytest.approx(found.value, rel=1e-11)
        assert ldr.subspaces.distance(other.M, found.M) < 1e-6
    apart = ldr.solve(name, X, 2)
    assert abs(apart.value - found.value) > 1e-2 * abs(found.value)
    sign = 1.0 if found.objective.sense == "max" else -1.0
    error = 0.05 if name == "dca" else 1e-9  # which has a mean for every place in its window
    assert ldr.score(found, by_time(TRIALS)) == pytest.approx(sign * found.value, rel=error)


@pytest.mark.parametrize("name", TIMED)
def test_one_trial_is_one_long_series(name):
    series = ldr.solve(name, X, 2)
    for given, groups in ((X, np.zeros(len(X))), (by_time(X[None]), None)):
        trial = ldr.solve(name, given, 2, groups=groups)
        assert trial.value == pytest.approx(series.value, rel=1e-13)
        np.testing.assert_allclose(trial.M, series.M, atol=1e-8)  # BLAS rounds by where rows begin


def test_methods_without_time_order_stack_them():
    expected = ldr.solve("pca", X, 2).value
    for given in (TRIALS, by_time(TRIALS), by_time(np.array(TRIALS))):
        assert ldr.solve("pca", given, 2).value == pytest.approx(expected, rel=1e-12)
    assert ldr.solve("pca", X, 2, groups=IDS).value == expected


def test_files_columns_and_the_command_line(tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    expected = ldr.solve("orthogonal-maf", X, 2, groups=IDS).value
    frame = pd.DataFrame(X, columns=list("abcd")).assign(trial=IDS)
    frame.to_csv("trials.csv", index=False)
    for k, trial in enumerate(TRIALS[:3]):
        np.save(f"{k}.npy", trial)
    assert ldr.solve("orthogonal-maf", "trials.csv", 2, groups="trial").value == pytest.approx(
        expected
    )
    few = ldr.solve("orthogonal-maf", [f"{k}.npy" for k in range(3)], 2).value
    assert few == pytest.approx(
        ldr.solve("orthogonal-maf", by_time(TRIALS[:3]), 2).value, rel=1e-12
    )
    shuffled = frame["trial"].sample(frac=1, random_state=0)
    by_index = ldr.solve("orthogonal-maf", frame.drop(columns="trial"), 2, groups=shuffled)
    assert by_index.value == pytest.approx(expected, rel=1e-12)
    done = call(
        *["solve", "orthogonal-maf", "trials.csv", "--groups", "trial", "--json"], folder=tmp_path
    )
    assert json.loads(done.stdout)["value"] == pytest.approx(expected, rel=1e-12)


def test_estimators():
    expected = ldr.solve("orthogonal-maf", X, 2, groups=IDS).value
    for given, groups in (
        (X, IDS),
        (by_time(TRIALS), None),
        (TURNED, None),
        (np.array(TURNED), None),
    ):
        model = ldr.OrthogonalMAF(2).fit(given, groups=groups)
        assert model.result_.value == pytest.approx(expected, rel=1e-12)
        assert model.score(given, groups=groups) == pytest.approx(expected, rel=1e-12)
    in_blocks, listed = ldr.OrthogonalMAF(2), ldr.OrthogonalMAF(2)
    for part in (slice(0, 95), slice(95, 98), slice(98, 400)):  # within trials
        in_blocks.partial_fit(X[part], groups=IDS[part])
    assert in_blocks.result_.value == pytest.approx(expected, rel=1e-12)
    for blocks in (TURNED[:3], TURNED[3:4], TURNED[4:5], TURNED[5:]):
        listed.partial_fit(blocks)
    assert listed.result_.value == pytest.approx(expected, rel=1e-12)
    reducer = ldr.Reducer("orthogonal-maf").fit(X, groups=IDS)
    assert reducer.result_.value == pytest.approx(expected, rel=1e-12)
    with config_context(enable_metadata_routing=True):
        assert ldr.OrthogonalMAF(2).set_fit_request(groups=True)
    with pytest.raises(ArgumentError, match="takes no groups="):
        ldr.PCA(2).fit(X, groups=IDS)


def test_what_is_no_trials():
    with pytest.raises(DataError, match=r"groups: the rows of trial 0 are not contiguous"):
        ldr.solve("orthogonal-maf", X, 2, groups=np.arange(400) % 7)
    with pytest.raises(DataError, match=r"groups has 3 missing entries, the first at position 0"):
        ldr.solve("orthogonal-maf", X, 2, groups=np.where(np.arange(400) < 3, np.nan, 1.0))
    with pytest.raises(DataError, match=r"groups has shape \(3,\), expected \(400,\)"):
        ldr.solve("orthogonal-maf", X, 2, groups=[1, 2, 3])
    with pytest.raises(ArgumentError, match="lag = 10 leaves no pair of rows of X"):
        ldr.solve("orthogonal-maf", by_time(TRIALS), 2, lag=10)
    with pytest.raises(DataError, match="X has trials of 4, 3 channels"):
        ldr.OrthogonalMAF(1).fit([TURNED[0], TURNED[1][:3]])
    with pytest.raises(
        DataError, match=r"groups is the string 'trial', but a string can name a column"
    ):
        ldr.solve("orthogonal-maf", X, 2, groups="trial")
    with pytest.raises(ArgumentError, match="folds = 41 cannot split the 40 trials"):
        ldr.path("orthogonal-maf", by_time(TRIALS), [1], folds=41)


KIND = np.arange(40) % 2
EPOCHS = np.random.default_rng(5).standard_normal((40, 4, 30)) * (1.0 + np.eye(4)[0][:, None])
EPOCHS[KIND == 1, 1] *= 1.7


class Epochs:
    """As mne hands trials over."""

    ch_names = ("Fz", "C3", "C4", "Pz")

    def get_data(self):
        return EPOCHS


def test_the_order_of_the_axes_is_named():
    rows = EPOCHS.transpose(0, 2, 1).reshape(-1, 4)
    expected = ldr.solve("csp", rows, 2, y=KIND, groups=np.repeat(np.arange(40), 30))
    turned = EPOCHS.transpose(0, 2, 1)
    for given in (
        ldr.trials(EPOCHS),
        ldr.trials(list(EPOCHS)),
        by_time(turned),
        by_time(list(turned)),
        Epochs(),
        ldr.trials(Epochs(), "times, channels"),
    ):
        found = ldr.solve("csp", given, 2, y=KIND)
        assert found.value == pytest.approx(expected.value, rel=1e-13)
        features = ldr.log_power(found, given)
        assert features.shape == (40, 2)
    assert found.feature_names == Epochs.ch_names and repr(ldr.trials(EPOCHS)).startswith("40 tri")
    pair = ldr.trials((EPOCHS[:, :2], EPOCHS[:, 2:]))
    assert ldr.solve("cca", pair, 1).value == pytest.approx(
        ldr.solve("cca", (rows[:, :2], rows[:, 2:]), 1).value, rel=1e-12
    )


def test_data_arrays_of_xarray_have_names_of_channels():
    xarray = pytest.importorskip("xarray")
    dims, coords = ("trial", "channel", "time"), {"channel": list(Epochs.ch_names)}
    given = xarray.DataArray(EPOCHS, dims=dims, coords=coords)
    expected = ldr.solve("csp", ldr.trials(EPOCHS), 2, y=KIND).value
    turned = given.transpose("trial", "time", "channel")
    for trials in (ldr.trials(given), ldr.trials(turned, "times, channels")):
        found = ldr.solve("csp", trials, 2, y=KIND)
        assert found.value == expected and found.feature_names == Epochs.ch_names


def test_an_order_that_is_not_known_is_refused():
    for given in (EPOCHS, list(EPOCHS)):
        for name, y in (("csp", KIND), ("sfa", None)):
            with pytest.raises(DataError, match=r"ldr\.trials\(X\) if .*ldr\.trials\(X, 'times, "):
                ldr.solve(name, given, 2, y=y)
    with pytest.raises(DataError, match=r"X\[1\] has shape \(40, 4, 30\)"):
        ldr.solve("cca", (ldr.trials(EPOCHS), EPOCHS), 1)
    with pytest.raises(ArgumentError, match="layout must be 'channels, times' or"):
        ldr.trials(EPOCHS, "time, channel")
    with pytest.raises(DataError, match=r"X has shape \(40, 4\): expected an array \(trials, chan"):
        ldr.trials(EPOCHS[:, :, 0])
    with pytest.raises(DataError, match=r"X has a int: expected an array"):
        ldr.trials(3)
    with pytest.warns(DataWarning, match="30 channels and 4 times. If these are 4 channels and 30"):
        ldr.trials(EPOCHS.transpose(0, 2, 1))
    by_time(EPOCHS)  # which is said, and so meant


def test_estimators_of_trials_stand_in_pipelines():
    scores = cross_val_score(
        make_pipeline(ldr.CSP(2), LinearDiscriminantAnalysis()), EPOCHS, KIND, cv=4
    )
    by_hand = []
    for old, new in StratifiedKFold(4).split(EPOCHS, KIND):
        filters = ldr.solve("csp", ldr.trials(EPOCHS[old]), 2, y=KIND[old])
        F, G = (ldr.log_power(filters, ldr.trials(EPOCHS[part])) for part in (old, new))
        by_hand.append(LinearDiscriminantAnalysis().fit(F, KIND[old]).score(G, KIND[new]))
    np.testing.assert_array_equal(scores, by_hand)
    model = ldr.CSP(3).fit(Epochs(), KIND)
    C = np.cov(EPOCHS.transpose(1, 0, 2).reshape(4, -1))
    P = model.components_
    np.testing.assert_allclose(model.patterns_, np.linalg.solve(P @ C @ P.T, P @ C), rtol=1e-9)
    np.testing.assert_array_equal(model.filters_, P)
    assert model.result_.feature_names == Epochs.ch_names
    scaled = ldr.CSP(3, standardise=True).fit(EPOCHS * 1e3, KIND)
    np.testing.assert_allclose(np.abs(scaled.patterns_), 1e3 * np.abs(model.patterns_), rtol=1e-6)


@pytest.mark.parametrize("name", ["CSP", "SPoC", "SSD", "Xdawn"])
def test_features_of_trials(name):
    y = {"CSP": KIND, "SPoC": np.arange(40.0), "SSD": None, "Xdawn": KIND}[name]
    estimator = getattr(ldr, name)
    courses = estimator(2, features="time").fit_transform(EPOCHS, y)
    centred = EPOCHS - estimator(2).fit(EPOCHS, y).mean_[:, None]
    expected = estimator(2).fit(EPOCHS, y).components_ @ centred
    np.testing.assert_allclose(courses, expected, atol=1e-10)
    flat = estimator(2, features="flat").fit_transform(EPOCHS, y)
    np.testing.assert_array_equal(flat, courses.reshape(40, -1))
    framed = estimator(2, features="flat").set_output(transform="pandas").fit(EPOCHS, y)
    assert framed.transform(EPOCHS).columns.tolist() == list(framed.get_feature_names_out())
    np.testing.assert_array_equal(framed.transform(EPOCHS), flat)
    power = estimator(2, features="power").fit_transform(EPOCHS, y)
    np.testing.assert_allclose(power, np.log(np.mean(courses**2, axis=2)), rtol=1e-12)
    plain = estimator(2).fit(EPOCHS, y)
    np.testing.assert_array_equal(plain.transform(EPOCHS), flat if name == "Xdawn" else power)
    rows = by_time(EPOCHS.transpose(0, 2, 1)).rows
    assert plain.transform(rows).shape == (1200, 2)  # of samples in rows, sample by sample
    with pytest.raises(DataError, match=r"y has 39 entries, expected 1200, .*or 40, one for"):
        ldr.CSP().fit(EPOCHS, np.arange(39) % 2)
    with pytest.raises(ArgumentError, match="features must be one of 'power', 'flat', 'time'"):
        estimator(2, features="log").fit(EPOCHS, y)
    uneven = [EPOCHS[0], EPOCHS[1][:, :20]]
    with pytest.raises(
        DataError, match="trials of 20 to 30 samples, expected trials of one length"
    ):
        estimator(2, features="time").fit(EPOCHS, y).transform(uneven)
    with pytest.raises(DataError, match="a component is zero throughout a trial"):
        estimator(2, features="power").fit(EPOCHS, y).transform(
            np.tile(plain.mean_[:, None], (2, 1, 30))
        )
