"""The command `ldr`, run as a process."""

import os
import subprocess
import sys

import pytest

import ldr


def run(*arguments, folder):
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    return subprocess.run(
        [sys.executable, "-m", "ldr.command_line", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )


def test_demo_prints_a_table_and_saves_a_picture(tmp_path):
    done = run("demo", "--out", "pictures", "--show-progress", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    picture = tmp_path / "pictures" / "ldr-demo.png"
    assert done.stdout.splitlines()[-1] == f"picture: {picture}"
    assert picture.read_bytes().startswith(b"\x89PNG")
    for word in ("digits", "wine", "breast_cancer", "improvement", "self-consistent-field"):
        assert word in done.stdout


def test_methods_lists_the_registry(tmp_path):
    done = run("methods", folder=tmp_path)
    assert done.returncode == 0 and done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0].split() == list(ldr.objectives.listing.COLUMNS)
    assert [line.split()[0] for line in lines[1:]] == list(ldr.objectives.REGISTRY)


def test_version(tmp_path):
    done = run("--version", folder=tmp_path)
    assert (done.returncode, done.stdout) == (0, f"ldr {ldr.__version__}\n")


@pytest.mark.parametrize("arguments", [[], ["--help"], ["demo", "--help"]])
def test_help_names_the_demo_and_succeeds(arguments, tmp_path):
    done = run(*arguments, folder=tmp_path)
    assert done.returncode == 0 and "demo" in done.stdout and done.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["demo", "--r", "0"], "ldr: r must be at least 1, got 0"),
        (["demo", "--r", "two"], "ldr: Invalid value for '--r'"),
        (["demo", "--out", os.devnull], f"ldr: {os.devnull}: "),
        (["dmeo"], "ldr: No such command 'dmeo'"),
        (["--frobnicate"], "ldr: No such option"),
    ],
)
def test_mistakes_are_one_line_and_code_2(arguments, message, tmp_path):
    done = run(*arguments, folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(message) and done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_experiments_recipes(tmp_path, request):
    done = subprocess.run(
        [sys.executable, "-m", "experiments", "recipes", "-d", "6", "-r", "2"],
        cwd=request.config.rootpath,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("paper-text") == done.stdout.count("reference-code") == 4
