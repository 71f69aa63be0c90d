"""The documentation: every method has a page, every program in it does what it says."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from docs.guides import GUIDES
from docs.pages import page, solve_example
from ldr.cli.app import main
from ldr.objectives import REGISTRY
from tests.programs import run_programs

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [
    "index",
    "answers",
    "writing-an-objective",
    "choosing-a-solver",
    "larger-than-memory",
    "weights",
    "more-than-chance",
    "coordinates",
]


@pytest.mark.parametrize("name", REGISTRY)
def test_every_method_has_a_guide_whose_example_runs(name):
    assert name in GUIDES, f"docs/guides.py does not say when to use {name}"
    printed, result, figure = solve_example(name, GUIDES[name])
    assert result.objective.name == name and result.converged
    assert figure.axes
    text = page(REGISTRY[name], GUIDES[name], printed, result)
    for part in (REGISTRY[name].formula, GUIDES[name].when, printed.strip()):
        assert part in text


@pytest.mark.parametrize("name", PAGES)
def test_programs_of_the_pages_print_what_they_say(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_programs(DOCS / f"{name}.md", at_least=1)


def test_commands_of_the_page_succeed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run_programs(DOCS / "command-line.md", at_least=2)
    text = (DOCS / "command-line.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```sh\n(.*?)```", text, flags=re.DOTALL)
    commands = [line for line in "".join(blocks).splitlines() if line.startswith("ldr ")]
    assert len(commands) >= 5
    for command in commands:
        monkeypatch.setattr(sys, "argv", shlex.split(command))
        with pytest.raises(SystemExit) as exit:
            main()
        assert (exit.value.code, capsys.readouterr().err) == (0, ""), command


@pytest.mark.slow
def test_documentation_builds_without_warnings(tmp_path):
    pytest.importorskip("furo")
    pytest.importorskip("myst_parser")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "-q", str(DOCS), str(tmp_path)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    for name in REGISTRY:
        assert (tmp_path / "methods" / f"{name}.html").exists()
