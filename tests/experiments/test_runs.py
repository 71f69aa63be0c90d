"""Runs are stored job by job, continue where they were stopped, and do what the paper did."""

from dataclasses import asdict, replace

import numpy as np
import pytest
from typer.testing import CliRunner

from experiments.__main__ import app
from experiments.jmlr2015 import convergence, planar, sweeps
from experiments.jmlr2015.problems import Case, prepare, published_maf_heuristic, summed_lda
from experiments.jmlr2015.protocol import improvement, improvement_of_code, measure
from experiments.jmlr2015.recipes import METHODS, RECIPES, lda, lda_classes
from experiments.machine.store import Store, Table
from ldr.inputs import as_data
from ldr.objectives import OrthogonalLDA

TEXT, CODE = RECIPES
BOTH = pytest.mark.parametrize("recipe", RECIPES)


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


def test_a_stopped_run_continues_to_the_same_table(tmp_path, monkeypatch):
    monkeypatch.setattr(sweeps, "QUICK", replace(sweeps.QUICK, searched=12))
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    options = ("--quick", "--recipe", CODE, "--workers", 1, "--seed", 3, "--out")
    first = run("figure1", *options, whole)
    assert first.exit_code == 0, first.output
    assert {path.suffix for path in whole.iterdir()} == {".csv", ".png", ".pdf"}

    stopped.mkdir()
    text = (whole / "figure1.csv").read_text()
    (stopped / "figure1.csv").write_text(text[: len(text) // 2 + 5])  # inside a line
    monkeypatch.setattr("experiments.jmlr2015.figures.figure1", lambda *_: None)  # drawn above
    second = run("figure1", *options, stopped)
    assert second.exit_code == 0, second.output
    assert (stopped / "figure1.csv").read_text() == text
    assert len(Table.read(stopped / "figure1.csv")) == sweeps.QUICK.searched


def test_recipes():
    done = run("recipes", "-d", 6, "-r", 2)
    assert done.exit_code == 0, done.output
    assert done.output.count("paper-text") == done.output.count("reference-code") == 4


def test_unknown_options_are_refused():
    for arguments in (["figure2", "--recipe", "paper"], ["figure5"], ["all", "--seed", "-1"]):
        assert CliRunner().invoke(app, arguments).exit_code == 2


def table_of(tmp_path, columns=("job", "rows", "value")):
    return Store(tmp_path / "table.csv", columns, ("job",))


def test_jobs_with_missing_rows_are_run_again(tmp_path):
    store = table_of(tmp_path)
    store.add([{"job": 10, "rows": 2, "value": 0.1}, {"job": 10, "rows": 2, "value": 0.2}])
    store.add([{"job": 9, "rows": 1, "value": 1 / 3}])
    with store.path.open("a") as file:
        file.write("8,2,0.5\n7,1,0.")
    again = table_of(tmp_path)
    assert again.done == {("10",), ("9",)}
    again.sort()
    table = Table.read(again.path)
    np.testing.assert_array_equal(table["job"], [9, 10, 10])
    np.testing.assert_array_equal(table["value"], [1 / 3, 0.1, 0.2])  # all digits


def test_a_table_of_other_columns_is_not_overwritten(tmp_path):
    table_of(tmp_path).add([{"job": 1, "rows": 1, "value": 2.0}])
    with pytest.raises(SystemExit, match="other columns"):
        table_of(tmp_path, ("job", "value"))
    assert len(Table.read(tmp_path / "table.csv")) == 1


@BOTH
def test_lda_summed_class_by_class_is_lda(recipe):
    d, r = 7, 3
    data = lda(d, r, np.random.default_rng(5), recipe)
    whole = OrthogonalLDA().bind(as_data(OrthogonalLDA(), data.X, data.y), r)
    summed = summed_lda(lda_classes(d, r, np.random.default_rng(5), recipe), d, r)
    assert summed.n == len(data.X)
    for ours, theirs in ((summed.problem.A, whole.A), (summed.problem.B, whole.B)):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12 * np.abs(theirs).max())


@BOTH
@pytest.mark.parametrize("method", METHODS)
def test_a_data_set_by_the_protocol(method, recipe):
    row = measure(Case(recipe, method, 6, 3, 0, 0))
    assert row.improvement >= -1e-12
    if method == "pca":
        assert abs(row.improvement) < 1e-12 and row.start == "random" and row.iterations > 1
    if method != "cca":
        assert row.certificate == row.auto_certificate == "global"
        assert row.value == pytest.approx(row.auto_value, rel=1e-9)
        assert row.value == pytest.approx(row.other_value, rel=1e-9)
    if method == "maf":
        assert row.improvement > 0 and row.improvement_published > 0
        assert row.baseline_published != row.baseline
    else:
        assert row.baseline_published == row.baseline
    assert list(asdict(row)) == list(sweeps.COLUMNS)
    assert row.usual_iterations <= row.iterations


def test_true_eigenvectors_of_maf_are_optimal_for_one_dimension():
    row = measure(Case(CODE, "maf", 20, 1, 0, 0))
    assert abs(row.improvement) < 1e-10 < 1e-2 < row.improvement_published


def test_published_heuristic_of_maf_is_the_singular_vectors():
    problem = prepare(Case(CODE, "maf", 6, 2, 0, 0)).problem
    U = published_maf_heuristic(problem)
    K = np.linalg.solve(problem.B, problem.A)
    values, vectors = np.linalg.eigh(K @ K.T)
    np.testing.assert_allclose(np.abs(U.T @ vectors[:, [-1, -2]]), np.eye(2), atol=1e-8)
    assert values[-1] > values[-2]


def test_improvements_divide_as_they_say():
    # f = -1.25 after, -1 before: Eq. 28 divides by 1, the code by 1.25 (c/(1-c) = 0.25)
    assert improvement("lda", -1.25, -1.0) == 0.25
    assert improvement_of_code("lda", -1.25, -1.0) == pytest.approx(0.2)
    assert improvement("maf", -0.9, -0.6) == pytest.approx(0.5)
    assert improvement_of_code("maf", -0.9, -0.6) == pytest.approx(0.3)
    assert improvement("cca", -0.9, -0.6) == improvement_of_code("cca", -0.9, -0.6)


def test_the_search_finds_the_nearest_data_set_and_its_quantile():
    table = Table(
        {
            "recipe": np.array([CODE] * 4),
            "seed": np.zeros(4),
            "dataset": np.arange(4.0),
            "improvement_code": np.array([0.3, 0.01, 0.4, 0.1]),
        }
    )
    found = planar.nearest(table, 0.32)
    assert (found.case.dataset, found.improvement, found.quantile) == (0, 0.3, 0.5)


@pytest.mark.parametrize(
    ("solver", "manifold"), [*convergence.PAIRS, ("self-consistent-field", "grassmann")]
)
def test_every_solver_of_figure_4_closes_the_gap(solver, manifold):
    rows = convergence.traced_rows(convergence.TracedRun(CODE, 0, 0, solver, manifold))
    gaps = [row["gap"] for row in rows]
    # all from the same start, in pca's own units
    other = convergence.TracedRun(CODE, 0, 0, "trust-region", "grassmann")
    assert gaps[0] == pytest.approx(convergence.traced_rows(other)[0]["gap"], rel=1e-10)
    assert gaps[0] > 0.1 and abs(gaps[-1]) < 1e-12
    assert {row["rows"] for row in rows} == {len(rows)}
