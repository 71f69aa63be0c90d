"""What a newcomer sees first: the demonstration, and the programs of README.md."""

from unittest.mock import Mock

import numpy as np
import pytest

from ldr.cli import demo
from ldr.errors import ArgumentError
from ldr.solvers.solver import Status
from tests.programs import run_programs


@pytest.fixture(scope="module")
def solved():
    return demo.solve_all(2)


def test_demo_finds_the_global_optimum_everywhere(solved):
    for data, result in solved:
        assert result.converged and result.certificate.kind == "global", data.name
        assert result.value >= result.baseline
    gains = {data.name: result.improvement for data, result in solved}
    assert gains["wine"] == pytest.approx(0.100188, rel=1e-3)
    assert gains["digits"] > 0.05
    assert gains["breast_cancer"] == pytest.approx(0, abs=1e-12)  # r = 1: nothing to gain


def test_demo_values_are_the_objective_of_the_rows(solved):
    for data, result in solved:
        Y = result.transform(data.X)
        means = np.array([Y[data.y == name].mean(axis=0) for name in data.y])
        ratio = np.sum((means - Y.mean(axis=0)) ** 2) / np.sum((Y - means) ** 2)
        assert result.value == pytest.approx(ratio, rel=1e-9)


def test_demo_dimension_is_at_most_classes_minus_one():
    assert [result.r for _, result in demo.solve_all(5)] == [5, 2, 1]
    with pytest.raises(ArgumentError, match="r must be at least 1"):
        demo.solve_all(0)


def test_an_interrupted_demo_ends(monkeypatch):
    monkeypatch.setattr(demo, "solve", lambda *_, **__: Mock(status=Status.INTERRUPTED))
    with pytest.raises(KeyboardInterrupt):
        demo.solve_all(1)


def test_demo_table_has_a_column_a_data_set(solved):
    cells = [line.split() for line in demo.table(solved).splitlines()[2:]]
    assert cells[0] == ["data", "set", "digits", "wine", "breast_cancer"]
    accuracies = [line[2:] for line in cells if line[0] == "accuracy"]
    assert [len(line) for line in accuracies] == [3, 3]
    assert all(0.5 < float(cell) <= 1.0 for line in accuracies for cell in line)


def test_demo_picture_has_a_row_a_data_set(solved, tmp_path):
    figure = demo.picture(solved)
    assert [len(row.subfigs) for row in figure.subfigs] == [3, 3, 3]
    path = demo.save_picture(solved, tmp_path)
    assert path == tmp_path / "ldr-demo.png" and path.stat().st_size > 10_000


def test_programs_of_the_readme_print_what_it_says(request, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    run_programs(request.config.rootpath / "README.md", at_least=2)
