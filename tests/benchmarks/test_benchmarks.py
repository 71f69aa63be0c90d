"""The benchmarks run on tiny sizes, and every solver is held to the same goal."""

import json

import numpy as np
import pytest

from benchmarks.__main__ import main
from benchmarks.growth import slope
from benchmarks.peers import Trace


def test_table_json_and_plot(tmp_path, capsys):
    main(
        [
            "--quick",
            "--time-limit",
            "1",
            "--json",
            f"{tmp_path}/rows.json",
            "--plots",
            f"{tmp_path}",
        ]
    )
    printed = capsys.readouterr().out
    rows = json.loads((tmp_path / "rows.json").read_text())["results"]
    assert {row["solver"] for row in rows} >= {"ldr", "ldr trust-region", "scikit-learn"}
    assert {row["method"] for row in rows} == {"maf", "lda", "pca", "classical lda"}
    for row in rows:
        if row["solver"].startswith("ldr"):
            assert row["gap"] <= 1e-12 and np.isfinite(row["reached"])
        assert row["eigh"] > 0 and row["scatter"] > 0
    assert all(row["solver"] in printed for row in rows)
    assert (tmp_path / "ratios.png").stat().st_size > 0


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
