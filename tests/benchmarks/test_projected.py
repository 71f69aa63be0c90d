"""The benchmark of the projected data's objectives runs, and nearest neighbours gain by it."""

import pytest

from benchmarks.projected import METHODS, accuracies, main
from tests import real_data


def test_tables(capsys):
    main(["--quick", "--only", "mds-stress", "nca", "robust-pca"])
    printed = capsys.readouterr().out
    assert all(name in printed for name in ("mds-stress", "nca", "robust-pca", "slope"))
    assert "lmnn" not in printed


def test_every_stated_method_of_this_library_is_known():
    assert {"mds-stress", "lmnn", "nca", "robust-pca", "log-det-pca", "sdr", "ppca"} <= {
        work.name for work in METHODS if work.registered
    }


@pytest.mark.parametrize("name", ["nca", "lmnn"])
def test_the_best_of_the_starts_is_at_least_the_first(name):
    import ldr

    X, y = real_data.wine()
    X, y = X[::2], y[::2]
    options = {"y": y, "max_iterations": 50, "certify": False}
    first = ldr.solve(name, X, 1, starts=1, **options)
    best = ldr.solve(name, X, 1, **options)
    assert first.objective.sign * (first.value - best.value) >= 0


def test_wine_is_told_by_two_dimensions():
    row = accuracies("wine")
    assert row["lmnn"] >= 0.95 and row["pca"] < 1
    assert (
        row["nca"] >= 0.93
    )  # saturated: which of the M without a wrong row it is, nca cannot tell


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ldr.errors.ConvergenceWarning")  # nca's optimum is at infinity
@pytest.mark.parametrize("data", ["wine", "breast_cancer", "digits"])
def test_neighbours_in_two_dimensions_gain_over_pca(data):
    row = accuracies(data)
    print(row)
    assert max(row["nca"], row["lmnn"]) > row["pca"]
    assert max(row["nca"], row["lmnn"]) >= max(row["orthogonal-lda"], row["lda"]) - 0.02
