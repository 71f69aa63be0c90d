"""Replicates and trials on the command line: --groups gives the numbers of groups= in Python."""

import json

import numpy as np
import pandas as pd
import pytest

import ldr

DRAWS = 4


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
    np.testing.assert_allclose(path["numbers"]["rmsecv"], ours.rmsecv, rtol=1e-8)
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
    found = ldr.bootstrap("pls-regression", X, 2, y=y, groups=groups, draws=DRAWS, random_state=0)
    np.testing.assert_allclose(drawn["values"], found.values, rtol=1e-8)


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
    np.testing.assert_array_equal(path["numbers"]["accuracy"], ours.accuracy)
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
