"""Replicates and trials on the command line: the numbers of Python and of plain loops."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.cross_decomposition import PLSRegression
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyRegressor
from sklearn.model_selection import GroupKFold, StratifiedKFold, cross_val_predict

import ldr

DRAWS = 4


def bootstrapped(name, X, y, r, groups):
    """The values of draws of whole groups, in the order of the random generator."""
    rng, found = np.random.default_rng(0), []
    for _ in range(DRAWS):
        drawn = rng.integers(groups[-1] + 1, size=groups[-1] + 1)
        rows = np.concatenate([np.flatnonzero(groups == k) for k in drawn])
        found.append(ldr.solve(name, X[rows], r, y=y[rows]).value)
    return found


@pytest.fixture
def printed(call):
    def answer(*arguments, folder):
        done = call(*arguments, "--json", folder=folder)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return answer


def test_replicates_of_spectra(printed, tmp_path):
    """60 samples of three smooth bands at 100 wavelengths, three replicates each."""
    rng = np.random.default_rng(0)
    centres, wavelengths = np.array([20.0, 45.0, 75.0]), np.arange(100)
    bands = np.exp(-0.5 * ((wavelengths - centres[:, None]) / 12.0) ** 2)
    amounts, groups = rng.uniform(1.0, 3.0, (60, 3)), np.repeat(np.arange(60), 3)
    scatter = 1.0 + 0.05 * rng.standard_normal((180, 1))
    X = scatter * (amounts @ bands)[groups] + 0.01 * rng.standard_normal((180, 100))
    y = (amounts @ [1.0, -1.0, 0.5] + 0.1 * rng.standard_normal(60))[groups]
    table = pd.DataFrame(X).add_prefix("w").assign(fat=y, sample=groups)
    table.to_csv(tmp_path / "spectra.csv", index=False)
    common = ["pls-regression", "spectra.csv", "--label", "fat", "--groups", "sample"]
    path = printed("path", *common, "-r", "0-4", "--folds", "5", folder=tmp_path)
    ours = ldr.path("pls-regression", X, range(5), y=y, folds=5, groups=groups)
    cv = {"cv": GroupKFold(5), "groups": groups}
    for r in range(5):
        peer = PLSRegression(r, scale=False) if r else DummyRegressor()
        error = np.sqrt(np.mean((y - cross_val_predict(peer, X, y, **cv).ravel()) ** 2))
        assert path["numbers"]["rmsecv"][r] == pytest.approx(error, rel=1e-8)
        assert ours.rmsecv[r] == pytest.approx(error, rel=1e-8)
    assert (path["best"], path["chosen"]) == (ours.best, ours.chosen)
    assert ours.rmsecv[3] < 0.5 * ours.rmsecv[0]
    compared = printed(
        *["compare", "spectra.csv", "--methods", "pls-regression,pca", "-r", "3"],
        *["--label", "fat", "--groups", "sample"],
        folder=tmp_path,
    )
    assert compared["records"][0]["rmsecv"] == pytest.approx(ours.rmsecv[3], rel=1e-8)
    test = printed(
        "test", *common, "-r", "2", "--permutations", "39", "--seed", "0", folder=tmp_path
    )
    again = ldr.permutation_test(
        "pls-regression", X, 2, y=y, groups=groups, permutations=39, random_state=0
    )
    assert (test["null"], test["p_value"]) == ("groups", again.p_value) == ("groups", 1 / 40)
    drawn = printed(
        "bootstrap", *common, "-r", "2", "--draws", DRAWS, "--seed", "0", folder=tmp_path
    )
    expected = bootstrapped("pls-regression", X, y, 2, groups)
    np.testing.assert_allclose(drawn["values"], expected, rtol=1e-8)
    found = ldr.bootstrap("pls-regression", X, 2, y=y, groups=groups, draws=DRAWS, random_state=0)
    np.testing.assert_allclose(found.values, expected, rtol=1e-8)


class Powers(ClassifierMixin, BaseEstimator):
    """Common spatial patterns of two classes, and linear discriminant analysis of log power."""

    def __init__(self, trials, r):
        self.trials, self.r = trials, r

    def fit(self, which, y):
        covariances = [
            np.mean([t.T @ t / len(t) for t in self.trials[which[y == k, 0]]], axis=0)
            for k in (0, 1)
        ]
        shares, W = scipy.linalg.eigh(covariances[0], sum(covariances))
        self.W = W[:, np.argsort(-np.abs(shares - 0.5))[: self.r]]
        self.model = LinearDiscriminantAnalysis().fit(self.features(which), y)
        self.classes_ = self.model.classes_
        return self

    def features(self, which):
        return np.log(np.mean((self.trials[which[:, 0]] @ self.W) ** 2, axis=1))

    def predict(self, which):
        return self.model.predict(self.features(which))


def test_trials_of_two_classes_and_of_two_areas(printed, tmp_path):
    """40 trials of 50 times and 5 channels, of which one source changes its power."""
    rng = np.random.default_rng(1)
    classes, groups = np.arange(40) % 2, np.repeat(np.arange(40), 50)
    sources = rng.standard_normal((40, 50, 5))
    sources[:, :, 0] *= np.where(classes == 0, 0.8, 1.6)[:, None]
    trials = sources @ rng.standard_normal((5, 5))
    X, y = trials.reshape(-1, 5), classes[groups]
    table = pd.DataFrame(X).add_prefix("channel ").assign(condition=y, trial=groups)
    table.to_csv(tmp_path / "trials.csv", index=False)
    pd.DataFrame(X[:, :2] + rng.standard_normal((2000, 2))).add_prefix("area ").to_csv(
        tmp_path / "area.csv", index=False
    )
    common = ["csp", "trials.csv", "--label", "condition", "--groups", "trial"]
    path = printed("path", *common, "-r", "1-3", "--folds", "4", "--seed", "0", folder=tmp_path)
    ours = ldr.path("csp", X, [1, 2, 3], y=y, groups=groups, folds=4, random_state=0)
    cv = StratifiedKFold(4, shuffle=True, random_state=0)
    for k, r in enumerate((1, 2, 3)):
        found = cross_val_predict(Powers(trials, r), np.arange(40)[:, None], classes, cv=cv)
        assert path["numbers"]["accuracy"][k] == ours.accuracy[k] == np.mean(found == classes)
    compared = printed(
        *["compare", "trials.csv", "--methods", "csp", "-r", "2", "--folds", "4", "--seed", "0"],
        *["--label", "condition", "--groups", "trial"],
        folder=tmp_path,
    )
    assert compared["records"][0]["accuracy"] == pytest.approx(ours.accuracy[1])
    areas = ["cca", "trials.csv", "--view", "area.csv", "--drop", "condition"]
    areas += ["--groups", "trial", "-r", "1", "--seed", "0"]
    test = printed("test", *areas, "--permutations", "19", folder=tmp_path)
    pair = (X, pd.read_csv(tmp_path / "area.csv").to_numpy())
    again = ldr.permutation_test("cca", pair, 1, groups=groups, permutations=19, random_state=0)
    assert (test["null"], test["p_value"]) == ("groups", again.p_value) == ("groups", 1 / 20)
    drawn = printed("bootstrap", *areas, "--draws", DRAWS, folder=tmp_path)
    found = ldr.bootstrap("cca", pair, 1, groups=groups, draws=DRAWS, random_state=0)
    np.testing.assert_allclose(drawn["values"], found.values, rtol=1e-9)
