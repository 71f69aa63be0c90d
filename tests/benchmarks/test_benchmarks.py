"""The benchmarks run on tiny sizes, and every solver is held to the same goal."""

import json

import numpy as np
import pytest

from benchmarks import power, repeats, turns
from benchmarks.__main__ import main
from benchmarks.growth import slope
from benchmarks.peers import Task, Trace, native
from ldr.objectives import Data, named
from ldr.objectives.data.opening import as_samples
from ldr.objectives.families import trace_ratio
from ldr.solvers.linalg.eigen import generalised_top_eigenvectors


@pytest.mark.parametrize(
    "competitors",
    [
        ["--against", "ldr trust-region", "pymanopt TR"],
        pytest.param([], id="all", marks=pytest.mark.slow),
    ],
)
def test_table_json_and_plot(competitors, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(repeats, "RUNS", 1)
    main(
        [
            "--quick",
            "--time-limit",
            "1",
            "--json",
            f"{tmp_path}/rows.json",
            "--plots",
            f"{tmp_path}",
            *competitors,
        ]
    )
    printed = capsys.readouterr().out
    rows = json.loads((tmp_path / "rows.json").read_text())["results"]
    assert {row["solver"] for row in rows} >= {"ldr", "ldr trust-region", "scikit-learn"}
    assert {row["method"] for row in rows} == {"orthogonal-maf", "orthogonal-lda", "pca", "lda"}
    for row in rows:
        if row["solver"].startswith("ldr"):
            assert row["gap"] <= 1e-12 and np.isfinite(row["reached"])
        assert row["eigh"] > 0 and row["scatter"] > 0
    assert all(row["solver"] in printed for row in rows)
    assert (tmp_path / "ratios.png").stat().st_size > 0


def test_every_run_computes_its_closed_form(monkeypatch):
    rng = np.random.default_rng(0)
    samples = as_samples(rng.standard_normal((60, 5)))
    bound = named("orthogonal-maf").bind(Data((samples,), None), 1)
    task = Task(bound, bound.random_point(rng), 1.0)
    calls = []
    monkeypatch.setattr(
        trace_ratio,
        "generalised_top_eigenvectors",
        lambda *arguments: calls.append(1) or generalised_top_eigenvectors(*arguments),
    )
    traces = [native("auto")(task) for _ in range(3)]
    assert len(calls) == 3
    assert traces[0].values == traces[1].values == traces[2].values


def test_only_short_runs_are_repeated():
    assert len(repeats.a_few(lambda: 0.1, lambda seconds: seconds)) == repeats.RUNS
    assert len(repeats.a_few(lambda: 10.0, lambda seconds: seconds)) == 1


def test_growth(capsys):
    main(["--quick", "--growth"])
    assert "slope" in capsys.readouterr().out


def test_slope_of_a_power_law():
    sizes = [8, 16, 32, 64]
    assert slope(sizes, [size**2.5 for size in sizes]) == pytest.approx(2.5)


def test_reached_is_the_first_time_below_the_goal():
    trace = Trace([0.0, 1.0, 2.0, 3.0], [4.0, 2.0, 1.0, 1.0], 3)
    assert trace.reaches(1.0) == 2.0
    assert trace.reaches(0.5) == np.inf


@pytest.mark.parametrize("curve", power.CURVES, ids=lambda curve: curve.name)
def test_what_is_planted_strongly_is_found(curve):
    assert curve.share(1.9, 3) == 1.0


def test_jobs_take_turns_and_say_what_they_reached():
    order, now = [], iter(range(100))

    def job(name, reached):
        return lambda: order.append(name) or reached

    jobs = {"ours": job("ours", 1.5), "theirs": job("theirs", 2.5)}
    found = turns.turns("race", jobs, lambda: float(next(now)))
    assert order == ["ours", "theirs"] * (1 + turns.REPEATS)
    said = " ".join(str(found).split())
    assert said == "race ours 1.000 s ( 1.00) 1.5 theirs 1.000 s ( 1.00) 2.5"
    bars = {
        "race: ours / theirs 1 bar 1 met": found.ratio("ours", "theirs", most=1.0),
        "race: ours / theirs 1 bar 0.5 MISSED": found.ratio("ours", "theirs", most=0.5),
        "race: ours, more than theirs 0 bar 0.5 met": found.surplus("ours", "theirs", most=0.5),
        "race: the end of ours worse than of theirs -0.4 bar 0 met": found.apart(
            "ours", "theirs", 0.0
        ),
        "race: the end of ours worse than of theirs 0.4 bar 0 MISSED": found.apart(
            "ours", "theirs", 0.0, sense=-1
        ),
    }
    assert all(" ".join(str(bar).split()) == said for said, bar in bars.items())
