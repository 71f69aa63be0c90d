"""The command `ldr` for the tests of this folder."""

import os
import subprocess
import sys
import warnings

import pytest

from ldr.cli.app import main
from ldr.errors import DataWarning


def run(*arguments, folder):
    """The command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "ldr", *arguments],
        cwd=folder,
        env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
    )


@pytest.fixture
def call(monkeypatch, capsys):
    """The command in this process, which is faster: exit code, output, errors."""

    def called(*arguments, folder):
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "argv", ["ldr", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit, warnings.catch_warnings():
            warnings.simplefilter("default", DataWarning)  # which the command prints
            main()
        printed = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, exit.value.code, printed.out, printed.err)

    return called
