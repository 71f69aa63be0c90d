"""The benchmarks run on tiny sizes, and every solver is held to the same goal."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import __main__, defaults, paper, particular, power
from ldr.objectives import REGISTRY, Data, named
from ldr.objectives.data.opening import as_samples
from ldr.objectives.families import trace_ratio
from ldr.solvers.linalg.eigen import generalised_top_eigenvectors
from tests.house import ROOT


def printed_by(program):
    """Run a program in a process without jax, whose threads a fork does not survive."""
    command = [sys.executable, "-c", program]
    found = subprocess.run(
        command, capture_output=True, text=True, check=True, cwd=ROOT, timeout=600
    )
    return found.stdout


def printed_tables(*calls, between=""):
    """Print tables, each by its arguments and in few turns, by one program."""
    given = [call.split() for call in calls]
    return printed_by(
        "import shutil; from benchmarks import __main__, turns; turns.SECONDS = 0.0\n"
        f"for given in {given}: __main__.main(given); {between}"
    )


@pytest.mark.slow
def test_tables_of_small_sizes():
    printed = printed_tables(
        "--quick --only pca --part methods growth",
        "--quick --only fa --part particular",
        "--size 4000x300 --part sparse --only lda lasso",
        "--size 3000x20 --part files",
    )
    rows = [line for line in printed.splitlines() if line.startswith("| pca")]
    assert len(rows) == 3  # one of them of files
    assert "scikit-learn" in rows[0] and "over" not in rows[1]
    assert "of scikit-learn | 1.5" in printed and "not measured" not in printed
    assert sum(line.startswith(("| lda |", "| lasso |")) for line in printed.splitlines()) == 2
    assert "| IncrementalPCA |" in printed and "Error" not in printed


def test_rows_are_written_into_a_table_and_left_where_they_are(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- methods -->\n<!-- end -->\nafter\n")
    options = f"--quick --part methods --write {page} --only"
    calls = f"{options} pca cca", f"{options} pca lda --resume"
    printed_tables(*calls, between=f"shutil.copy({str(page)!r}, {str(tmp_path)!r} + given[-1])")
    first, second = (Path(f"{tmp_path}{last}").read_text() for last in ("cca", "--resume"))
    assert "\n| cca | 60 x 6 | " in first and first.startswith("before\n")
    assert second.startswith(first.removesuffix("<!-- end -->\nafter\n"))
    assert "\n| lda | 60 x 6 | " in second and second.endswith(" |\n<!-- end -->\nafter\n")


def test_rows_on_particular_data_have_names():
    names = [case.name for case in particular.cases(quick=False)]
    assert len(set(names)) == len(names) >= 16


@pytest.mark.parametrize("name", sorted(set(defaults.PEERS) - {"ica", "nca", "wda", "fa"}))
def test_peers_reach_the_value_of_default_calls(name):
    jobs = defaults.jobs(name, 150, 10)
    ours = jobs["ldr"][0]().value
    for peer in set(jobs) - {"ldr", "uncertified"}:
        call, value = jobs[peer]
        try:
            reached = value(call())
        except ImportError:
            continue
        assert reached is None or reached == pytest.approx(ours, rel=1e-4)


def test_every_method_has_data():
    for name in REGISTRY:
        inputs = defaults.draw(name, 40, 6)
        assert inputs is not None
        named(name)


def measured(job, limit):
    """Run a job that returns 1, and another that is a function without arguments."""
    program = (
        "from benchmarks.turns import measure\n"
        f"{job}\n"
        "jobs = {'one': (lambda: 1, float), 'other': (other, float)}\n"
        f"found = measure(lambda: jobs, {limit})\n"
        "print(found.values, found.failed, 'one' in found.seconds)"
    )
    return printed_by(program).strip()


def test_jobs_take_turns_in_their_own_process():
    found = measured("def other():\n    raise ValueError", 300.0)
    assert found == "{'one': 1.0} {'other': 'ValueError'} True"


def test_a_job_over_its_limit_is_ended():
    found = measured("def other():\n    while True:\n        pass", 0.2)
    assert found == "{'one': 1.0} {'other': 'over 0.2 s'} True"


@pytest.mark.parametrize(
    "against",
    [
        ["ldr trust-region", "pymanopt TR"],
        pytest.param([*paper.COMPETITORS][1:], id="all", marks=pytest.mark.slow),
    ],
)
def test_solvers_on_problems_of_the_paper(against, capsys, monkeypatch):
    monkeypatch.setattr(paper, "RUNS", 1)
    __main__.main(["--quick", "--time-limit", "1", "--against", *against])
    printed = capsys.readouterr().out
    assert all(printed.count(name) >= 2 for name in ("ldr ", *against))
    rows = paper.compare("orthogonal-lda", 16, 2, 0, 1.0, against)
    assert {row["solver"] for row in rows} == {"ldr", *against}
    for row in rows:
        if row["solver"].startswith("ldr"):
            assert row["gap"] <= 1e-12 and np.isfinite(row["reached"])
        assert row["eighs"] > 0


def test_every_run_computes_its_closed_form(monkeypatch):
    rng = np.random.default_rng(0)
    samples = as_samples(rng.standard_normal((60, 5)))
    bound = named("orthogonal-maf").bind(Data((samples,), None), 1)
    task = paper.Task(bound, bound.random_point(rng), 1.0)
    calls = []
    monkeypatch.setattr(
        trace_ratio,
        "generalised_top_eigenvectors",
        lambda *arguments: calls.append(1) or generalised_top_eigenvectors(*arguments),
    )
    traces = [paper.native("auto")(task) for _ in range(3)]
    assert len(calls) == 3
    assert traces[0].values == traces[1].values == traces[2].values


def test_only_short_runs_are_repeated():
    assert len(paper.a_few(lambda: paper.Trace([0.1], [1.0], 1))) == paper.RUNS
    assert len(paper.a_few(lambda: paper.Trace([10.0], [1.0], 1))) == 1


def test_reached_is_the_first_time_below_the_goal():
    trace = paper.Trace([0.0, 1.0, 2.0, 3.0], [4.0, 2.0, 1.0, 1.0], 3)
    assert trace.reaches(1.0) == 2.0
    assert trace.reaches(0.5) == np.inf


@pytest.mark.parametrize("curve", power.CURVES, ids=lambda curve: curve.name)
def test_what_is_planted_strongly_is_found(curve):
    assert curve.share(1.9, 3) == 1.0
