"""The other papers' experiments: what is measured is what is said, and known truths come out."""

import math

import numpy as np
import pytest
from typer.testing import CliRunner

import ldr
from experiments.__main__ import EXPERIMENTS, app
from experiments.machine.store import Table
from experiments.other_papers import (
    guided_tour,
    papers,
    probabilistic,
    random_projection,
    trace_optimization,
)
from experiments.other_papers.papers import COLUMNS, Job, Part, job_rows

rng = np.random.default_rng


def table(rows):
    names = ("method", "x", "quantity", "value")
    return Table({n: np.array(c) for n, c in zip(names, zip(*rows, strict=True), strict=True)})


def measured(measure, case):
    return table(list(measure(case, rng(0))))


def three(case, generator):
    yield from (("m", k, "q", generator.random()) for k in range(3))


def test_a_job_has_its_own_random_numbers():
    part = Part("part", three, ("a", "b"), 2, 1)
    jobs = part.jobs(quick=False, seed=0)
    assert [(j.case, j.repeat) for j in jobs] == [("a", 0), ("b", 0), ("a", 1), ("b", 1)]
    assert len(part.jobs(quick=True, seed=0)) == 2
    values = [tuple(row["value"] for row in job_rows(job)) for job in jobs]
    assert len(set(values)) == 4
    assert values[0] == tuple(row["value"] for row in job_rows(jobs[0]))
    assert list(job_rows(jobs[0])[0]) == list(COLUMNS)


def test_cases_of_packages_that_are_not_there_are_left_out(monkeypatch):
    monkeypatch.setattr(papers.importlib.util, "find_spec", lambda name: None)
    part = Part("part", three, ("digits", "mnist", "faces"), 1, 1)
    assert [job.case for job in part.jobs(quick=False, seed=0)] == ["digits"]


def test_every_experiment_is_a_command_and_judges_tables_without_rows():
    for experiment in EXPERIMENTS:
        assert CliRunner().invoke(app, [experiment.name, "--help"]).exit_code == 0
        empty = {part.name: Table({}) for part in experiment.parts}
        marks = {row[1] for row in experiment.judge(empty).sections[0].rows}
        assert marks == {"no runs"}


def test_claims_are_judged_where_there_are_runs():
    experiment = guided_tour.EXPERIMENT
    tables = {part.name: Table({}) for part in experiment.parts}
    tables |= {part.name: _run(part) for part in experiment.parts if part.name == "noisy"}
    judged = {row[0]: row[1] for row in experiment.judge(tables).sections[0].rows}
    claim = "OPCA's span stays as the noise is scaled; signal less noise turns"
    assert judged.pop(claim) == "pass"
    assert set(judged.values()) == {"no runs"}


def _run(part):
    rows = [
        row for case in part.cases[:2] for row in job_rows(Job(part.measure, part.name, case, 0, 0))
    ]
    return Table({name: np.array([row[name] for row in rows]) for name in COLUMNS})


def test_eigenvalues_are_differences_of_values_along_r(monkeypatch):
    monkeypatch.setattr(guided_tour, "ROWS", 3000)
    monkeypatch.setattr(guided_tour, "PERMUTATIONS", 3)
    found = measured(guided_tour.sliced, "x1^2+x2^2+x3^2")
    # an independent SAVE: x is white but for sampling, and whitened here
    X = rng(0).standard_normal((3000, 10))
    y = np.sum(X[:, :3] ** 2, axis=1)
    Z = X - X.mean(axis=0)
    Z = Z @ np.linalg.inv(np.linalg.cholesky(Z.T @ Z / 3000)).T
    slices = np.array_split(np.argsort(y), 10)
    A = sum(0.1 * np.linalg.matrix_power(np.eye(10) - np.cov(Z[s].T, bias=True), 2) for s in slices)
    ours = found.where(method="save", quantity="eigenvalue of 10 slices")["value"]
    np.testing.assert_allclose(ours, np.linalg.eigvalsh(A)[::-1], atol=1e-10)
    assert found.where(method="save", quantity="found of 10 slices")["value"] == [3]


def test_leading_values_end_at_the_first_below():
    assert guided_tour.leading([3, 2, 1, 2], 1.5) == 2
    assert guided_tour.leading([1], 1.5) == 0 and guided_tour.leading([2, 2], 1.5) == 2


def test_planted_correlations_are_those_of_the_views():
    a, b = guided_tour.views("planted", rng(0))
    path = ldr.path("cca", (a, b), (1, 2, 3))
    np.testing.assert_allclose(np.diff(path.values, prepend=0), guided_tour.PLANTED, atol=0.1)


def test_missing_entries_by_the_true_model_are_a_regression():
    M, noise = rng(1).standard_normal((4, 2)), 0.5
    observed = np.array([[1.0, np.nan, 2.0, np.nan]])
    filled = probabilistic._expected(observed, M, noise)
    factor = np.linalg.solve(
        M[[0, 2]].T @ M[[0, 2]] + noise**2 * np.eye(2), M[[0, 2]].T @ observed[0, [0, 2]]
    )
    np.testing.assert_allclose(filled[0, [1, 3]], M[[1, 3]] @ factor)
    np.testing.assert_array_equal(filled[0, [0, 2]], [1, 2])


def test_the_published_shares_of_the_egg():
    from scipy.stats import chi2

    for d, published in probabilistic.EGG.items():
        inside = chi2(d).cdf(d * np.array([0.95, 1.05]) ** 2)
        exact = 100 * np.diff([0, *inside, 1])
        np.testing.assert_allclose(exact, published, atol=0.051)


def test_effective_dimensions():
    assert probabilistic._effective(np.array([2.0, 2.0, 0.0])) == 2
    found = measured(probabilistic.effective, "isotropic d=100")
    np.testing.assert_allclose(found["value"], 100, rtol=0.05)


def test_the_six_turns_without_changing_its_ink():
    upright, upside_down = probabilistic.turned_six(0), probabilistic.turned_six(180)
    np.testing.assert_allclose(upside_down, upright[::-1, ::-1], atol=1e-12)
    assert upright.sum() == pytest.approx(probabilistic.turned_six(37).sum(), rel=0.01)
    assert upright.max() > 0.9 and upright[0].max() < 0.01


def test_the_bound_of_johnson_and_lindenstrauss():
    m = random_projection.dimensions(300, 0.9)
    assert m == math.ceil(32 * math.log(300) / 0.81) == 226
    found = measured(random_projection.bounded, "gaussian d=1000")
    largest = found.where(quantity="largest distortion")
    assert (largest["value"] < largest["x"]).all() and len(largest) == 3
    rms = found.where(quantity="root mean square distortion")["value"]
    dimensions = found.where(quantity="dimensions")["value"]
    np.testing.assert_allclose(rms, np.sqrt(2 / dimensions), rtol=0.1)


def test_the_square_and_the_half_annuli():
    left, y = trace_optimization.square_and_annulus("left half", rng(0))
    right, _ = trace_optimization.square_and_annulus("right half", rng(0))
    assert np.abs(left[y == 0]).max() <= 0.75
    for X, side in ((left, -1), (right, 1)):
        offsets = X[y == 1] - (1, 0)
        radius = np.linalg.norm(offsets, axis=1)
        assert radius.min() >= 3.5 and radius.max() <= 4.5 and (side * offsets[:, 0] >= 0).all()


def test_leading_directions_of_eigenproblems_are_optimal():
    train, _, y, _ = trace_optimization.split("digits", rng(0))
    assert train.shape[1] <= len(train) - 10
    for method, options in trace_optimization.NESTED.values():
        many, few = (
            ldr.solve(method, train, r, y=y, certify=False, **options).P[:3] for r in (8, 3)
        )
        assert ldr.subspaces.distance(many.T, few.T, "largest-angle") < 1e-6


def test_splits_keep_training_and_test_rows_apart():
    train, test, y, z = trace_optimization.split("digits", rng(0))
    np.testing.assert_array_equal(np.bincount(y), 20)
    np.testing.assert_array_equal(np.bincount(z), 100)
    assert trace_optimization.error(train, y, train, y) == 0
    from scipy.spatial.distance import cdist

    assert cdist(train, test).min() > 0


def test_least_errors_and_their_dimension():
    rows = [("PCA", 2.0, "error", 0.3), ("PCA", 2.0, "error", 0.1), ("PCA", 5.0, "error", 0.1)]
    rows += [("LDA", 2.0, "error", 0.4)]
    found = trace_optimization.lowest(table(rows))
    assert found["PCA"] == (0.1, 0.0, 5.0) and found["LDA"][0] == 0.4


@pytest.mark.slow
@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda e: e.name)
def test_the_quick_form_runs_and_judges(experiment, tmp_path):
    result = CliRunner().invoke(app, [experiment.name, "--quick", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert {p.suffix for p in tmp_path.iterdir()} == {".csv", ".png", ".pdf", ".md"}
    assert "| pass |" in (tmp_path / "verdict.md").read_text()
