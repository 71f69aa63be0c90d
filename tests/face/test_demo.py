"""What a newcomer sees first: the demonstration, and the programs of README.md."""

import contextlib
import io
import re

import numpy as np
import pytest

from ldr import demo
from ldr.errors import ArgumentError


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


def test_demo_table_has_a_column_a_data_set(solved):
    table = demo.table(solved)
    assert [column.header for column in table.columns][1:] == ["digits", "wine", "breast_cancer"]
    assert len(list(table.columns[1].cells)) == len(list(table.columns[0].cells))


def test_demo_picture_has_a_row_a_data_set(solved, tmp_path):
    figure = demo.picture(solved)
    assert [len(row.subfigs) for row in figure.subfigs] == [3, 3, 3]
    path = demo.save_picture(solved, tmp_path)
    assert path == tmp_path / "ldr-demo.png" and path.stat().st_size > 10_000


def programs_of_the_readme(text):
    """Each python block, and what it prints: the text block that follows, or nothing."""
    pattern = r"```python\n(.*?)```\n(?:\n```text\n(.*?)```)?"
    return re.findall(pattern, text, flags=re.DOTALL)


def same_up_to_rounding(printed, expected):
    """Words equal, numbers nearly; times, counts of iterations and rounding levels are free."""
    number = re.compile(r"[-+]?\d+\.?\d*(?:e[-+]?\d+)?")
    free = re.compile(
        r"[-+.e\d]+ s\b|\d+ iterations|(gap at most|difference|relative error|slope) [-+.e\d]+"
    )
    printed, expected = (free.sub("_", text) for text in (printed, expected))
    assert number.sub("#", printed).split() == number.sub("#", expected).split()
    for a, b in zip(number.findall(printed), number.findall(expected), strict=True):
        assert float(a) == pytest.approx(float(b), rel=1e-6, abs=1e-9)


def test_programs_of_the_readme_print_what_it_says(request, monkeypatch, tmp_path):
    text = (request.config.rootpath / "README.md").read_text(encoding="utf-8")
    programs = programs_of_the_readme(text)
    assert len(programs) >= 4
    monkeypatch.chdir(tmp_path)
    names: dict = {"__name__": "readme"}
    for program, expected in programs:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(program, "README.md", "exec"), names)
        same_up_to_rounding(printed.getvalue(), expected)
