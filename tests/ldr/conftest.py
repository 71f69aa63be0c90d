"""The command `ldr` for the tests of this folder."""

import subprocess
import sys

import pytest

from ldr.cli.app import main


@pytest.fixture
def call(monkeypatch, capsys):
    """The command in this process, which is faster: exit code, output, errors."""

    def called(*arguments, folder):
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "argv", ["ldr", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit:
            main()
        printed = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, exit.value.code, printed.out, printed.err)

    return called
