"""What a newcomer sees first: the demonstration, and the programs of README.md."""

import pytest

from ldr import comparison
from ldr.cli import demo
from ldr.errors import ArgumentError
from tests.programs import run_programs


@pytest.fixture(scope="module")
def found():
    return demo.compare_all(2)


def results(found):
    return [comparison.methods[0].result for comparison in found.values()]


def test_demo_finds_the_global_optimum_everywhere(found):
    digits, wine, cancer = results(found)
    for result in (digits, wine, cancer):
        assert result.converged and result.certificate.kind == "global"
    assert wine.improvement == pytest.approx(0.100188, rel=1e-3)
    assert digits.improvement > 0.05
    assert cancer.improvement == pytest.approx(0, abs=1e-12)  # r = 1: nothing to gain


def test_demo_dimension_is_at_most_classes_minus_one():
    assert [result.r for result in results(demo.compare_all(5))] == [5, 2, 1]
    with pytest.raises(ArgumentError, match="r must be at least 1"):
        demo.compare_all(0)


def test_an_interrupted_demo_ends(monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(comparison, "solve", interrupted)
    with pytest.raises(KeyboardInterrupt):
        demo.compare_all(1)


def test_demo_picture_has_a_row_a_data_set(found):
    figure = demo.picture(found)
    assert [len(row.subfigs) for row in figure.subfigs] == [3, 3, 3]


def test_programs_of_the_readme_print_what_it_says(request, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    run_programs(request.config.rootpath / "README.md", at_least=2)
