"""The verbs `compare`, `transform` and `impute`, and `solve --save`."""

import json

import numpy as np
import pandas as pd
import pytest

import ldr
from tests.real_data import wine

X, labels = wine()
NAMES = [f"c{j}" for j in range(X.shape[1])]


@pytest.fixture
def table(tmp_path):
    frame = pd.DataFrame(X, columns=NAMES)
    frame.insert(3, "kind", np.array(["red", "rosé", "white"])[labels])
    frame.to_csv(tmp_path / "wine.csv", index=False)
    return frame


def test_a_saved_model_projects_a_file_by_the_names_of_its_columns(call, table, tmp_path):
    done = call(
        "solve", "orthogonal-lda", "wine.csv", "--label", "kind", "--save", "m.npz", folder=tmp_path
    )
    assert done.returncode == 0 and "m.npz" in done.stdout
    table[table.columns[::-1]].to_csv(tmp_path / "new.csv", index=False)
    done = call("transform", "m.npz", "new.csv", "--out", "y.csv", folder=tmp_path)
    assert (done.returncode, done.stdout) == (0, "written y.csv\n")
    expected = ldr.load(tmp_path / "m.npz").transform(X)
    np.testing.assert_allclose(pd.read_csv(tmp_path / "y.csv"), expected, atol=1e-12)


def test_two_views(call, tmp_path):
    np.save(tmp_path / "a.npy", X[:, :6])
    np.save(tmp_path / "b.npy", X[:, 6:])
    ldr.solve("pls", (X[:, :6], X[:, 6:]), 2).save(tmp_path / "m.npz")
    files = ("transform", "m.npz", "a.npy", "--out", "y.csv")
    done = call(*files, folder=tmp_path)
    assert done.returncode == 2 and "got 1 file(s): give the first view as DATA" in done.stderr
    done = call(*files, "--second-view", "b.npy", folder=tmp_path)
    assert done.returncode == 0
    assert list(pd.read_csv(tmp_path / "y.csv")) == ["pls_a0", "pls_a1", "pls_b0", "pls_b1"]


def test_three_views(call, tmp_path):
    views = X[:, :4], X[:, 4:8], X[:, 8:]
    for name, view in zip("abc", views, strict=True):
        np.save(tmp_path / f"{name}.npy", view)
    more = ("--view", "b.npy", "--view", "c.npy")
    outputs = ("--out", "y.csv", "--plot", "p.png", "--report", "r.html", "--save", "m.npz")
    done = call("solve", "mcca", "a.npy", *more, "-r", "2", *outputs, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    expected = np.hstack(ldr.solve("mcca", views, 2).transform(views))
    np.testing.assert_allclose(pd.read_csv(tmp_path / "y.csv"), expected, atol=1e-9)
    done = call("transform", "m.npz", "a.npy", *more, "--out", "z.csv", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert list(pd.read_csv(tmp_path / "z.csv"))[-2:] == ["mcca_c0", "mcca_c1"]
    methods = ("--methods", "mcca,maxdiff", "--folds", "2", "-r", "1")
    done = call("compare", "a.npy", *more, *methods, folder=tmp_path)
    assert done.returncode == 0 and "maxdiff" in done.stdout, done.stderr


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "npy"])
def test_gaps_are_filled_in_and_the_rest_stays(call, table, tmp_path, ending):
    gaps = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    table[NAMES] = gaps
    table.to_csv(tmp_path / "gaps.csv", index=False)
    result = ldr.solve("ppca", pd.DataFrame(gaps, columns=NAMES), 2)
    result.save(tmp_path / "m.npz")
    out = f"full.{ending}"
    done = call("impute", "m.npz", "gaps.csv", "--out", out, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{np.isnan(gaps).sum()} missing values filled in; written {out}\n"
    filled = result.model.impute(gaps)
    if ending == "npy":
        np.testing.assert_allclose(np.load(tmp_path / out), filled, atol=1e-12)
        return
    options = {"sep": "\t" if ending == "tsv" else ","}
    read = pd.read_parquet if ending == "parquet" else lambda p: pd.read_csv(p, **options)
    written = read(tmp_path / out)
    assert list(written) == list(table)
    assert list(written["kind"]) == list(table["kind"])
    np.testing.assert_allclose(written[NAMES], filled, atol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("transform", "wine.csv", "wine.csv", "--out", "y.csv"), "a model is an .npz file"),
        (("transform", "m.npz", "other.csv", "--out", "y.csv"), "other.csv has no column 'c1'"),
        (
            ("transform", "m.npz", "wine.csv", "--out", "m.npz"),
            "would overwrite the input m.npz (MODEL)",
        ),
        (
            ("impute", "m.npz", "wine.csv", "--out", "y.csv"),
            "of 'orthogonal-lda' does not impute missing",
        ),
        (("solve", "pca", "wine.csv", "--save", "m.pkl"), "unknown ending, expected .npz"),
        (("compare", "wine.csv", "--label", "kind", "--param", "a=1"), "takes no --param"),
        (("compare", "wine.csv", "--label", "kind", "--methods", "no"), "unknown objective 'no'"),
    ],
)
def test_mistakes(call, table, tmp_path, arguments, message):
    ldr.solve("orthogonal-lda", pd.DataFrame(X, columns=NAMES), 2, y=labels).save(
        tmp_path / "m.npz"
    )
    table[["kind", "c0"]].to_csv(tmp_path / "other.csv", index=False)
    done = call(*arguments, folder=tmp_path)
    assert done.returncode == 2 and message in done.stderr, done.stderr


def test_compare(call, table, tmp_path):
    shared = (
        "compare",
        "wine.csv",
        "--label",
        "kind",
        "--methods",
        "orthogonal-lda,pca",
        "--standardise",
    )
    done = call(*shared, "--plot", "a.png", "--report", "a.html", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    expected = ldr.compare(["orthogonal-lda", "pca"], X, labels, 2, standardise=True)
    assert max(map(len, done.stdout.splitlines())) <= 100
    for finding in expected.findings:
        assert finding in " ".join(done.stdout.split())
    assert (tmp_path / "a.png").stat().st_size > 10_000
    assert "wine.csv: methods compared" in (tmp_path / "a.html").read_text()
    records = json.loads(call(*shared, "--json", folder=tmp_path).stdout)["records"]
    assert [row["projection"] for row in records] == ["optimum", "heuristic", "optimum"]


def test_compare_weights_groups_and_a_dimension_that_the_rows_tell(call, table, tmp_path):
    rng = np.random.default_rng(0)
    weights, groups = rng.integers(1, 3, len(X)), rng.integers(0, 12, len(X))
    table.assign(w=weights, g=groups).to_csv(tmp_path / "more.csv", index=False)
    done = call(
        *("compare", "more.csv", "--label", "kind", "--methods", "pca", "--standardise"),
        *("--weights", "w", "--groups", "g", "-r", "0.6", "--folds", "3"),
        folder=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    expected = ldr.compare(
        ["pca"], X, labels, 0.6, folds=3, sample_weight=weights, groups=groups, standardise=True
    )
    printed = " ".join(done.stdout.split())
    assert expected.notes[0] in printed and expected.findings[0] in printed


@pytest.mark.parametrize(
    ("r", "said"),
    [
        ("0.6", "the smallest r that explains 0.6"),
        ("auto", "by parallel analysis"),
        ("3", "13 -> 3"),
    ],
)
def test_solve_for_a_dimension_that_the_rows_tell(call, table, tmp_path, r, said):
    done = call("solve", "pca", "wine.csv", "--drop", "kind", "-r", r, folder=tmp_path)
    assert done.returncode == 0 and said in done.stdout, done.stderr


@pytest.mark.parametrize(
    ("r", "said"),
    [("two", "expected an integer, a share of"), ("1.5", "whole number"), ("0", "range")],
)
def test_dimensions_that_are_none(call, table, tmp_path, r, said):
    done = call("solve", "pca", "wine.csv", "--drop", "kind", "-r", r, folder=tmp_path)
    assert done.returncode == 2 and said in " ".join(done.stderr.split())
