"""A nearest-neighbour classifier gains by the methods that are for it."""

import numpy as np
import pytest
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

import ldr
from tests import real_data


def accuracies(data, steps=40):
    """Accuracies of three neighbours in two dimensions on 30 % of the samples."""
    X, y = getattr(real_data, data)()
    X, rest, y, wanted = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    varying = deviation > 0
    X, rest = ((A - mean)[:, varying] / deviation[varying] for A in (X, rest))
    found = {}
    for name in ("pca", "orthogonal-lda", "lda", "nca", "lmnn"):
        labels = None if name == "pca" else y
        result = ldr.solve(name, X, 2, y=labels, max_iterations=steps, certify=False)
        model = KNeighborsClassifier(3).fit(result.transform(X), y)
        found[name] = model.score(result.transform(rest), wanted)
    return found


@pytest.mark.parametrize("name", ["nca", "lmnn"])
def test_the_best_of_the_starts_is_at_least_the_first(name):
    X, y = real_data.wine()
    X, y = X[::2], y[::2]
    options = {"y": y, "max_iterations": 50, "certify": False}
    first = ldr.solve(name, X, 1, starts=1, **options)
    best = ldr.solve(name, X, 1, **options)
    assert first.objective.sign * (first.value - best.value) >= 0


def test_wine_is_separated_by_two_dimensions():
    row = accuracies("wine")
    assert row["lmnn"] >= 0.95 and row["pca"] < 1
    # Saturated: nca cannot tell apart the M without a wrong sample.
    assert row["nca"] >= 0.93


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ldr.errors.ConvergenceWarning")  # nca's optimum is at infinity
@pytest.mark.parametrize("data", ["wine", "breast_cancer", "digits"])
def test_neighbours_in_two_dimensions_gain_over_pca(data):
    row = accuracies(data)
    assert max(row["nca"], row["lmnn"]) > row["pca"]
    assert max(row["nca"], row["lmnn"]) >= max(row["orthogonal-lda"], row["lda"]) - 0.02
    assert np.isfinite(list(row.values())).all()
