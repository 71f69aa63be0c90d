"""What does not fit is refused in bytes before it is made: under a limit of the process."""

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

import ldr
from ldr.objectives import REGISTRY
from ldr.objectives.data import memory
from ldr.solvers.errors import TooLargeError
from tests.objectives.methods import RANDOM


@pytest.mark.slow
def test_each_method_beyond_a_limit_is_answered_or_refused_in_bytes_of_each_source():
    command = [sys.executable, "-m", "tests.limits"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    answered = {line.split()[0] for line in done.stdout.splitlines() if "answered" in line}
    always = {"pca", "sparse-pca", "exponential-family-pca"}
    products = {name for name, method in REGISTRY.items() if method.traits.products}
    assert always <= answered <= always | products


@pytest.mark.parametrize(
    "key", [key for key in RANDOM if key in REGISTRY and key != "exponential-family-pca"]
)
def test_each_method_says_what_it_would_take_before_it_takes_it(key, monkeypatch):
    X, y, parameters = RANDOM[key]
    monkeypatch.setattr(memory, "SMALL", 0)
    monkeypatch.setattr(memory, "available", lambda: (100.0, "a test"))
    monkeypatch.setattr(REGISTRY[key], "bind", lambda *given: pytest.fail("it began"))
    with pytest.raises(
        TooLargeError, match=rf"{key}, with 8 arrays of \d+ x \d+ .* MiB .*\(limit of a test\)"
    ):
        ldr.solve(key, X, 2, y=y, **parameters)


def test_the_least_of_the_limits_counts(tmp_path, monkeypatch):
    (tmp_path / "memory.max").write_text("3000000\n")
    (tmp_path / "memory.current").write_text("1000000\n")
    group = (tmp_path, "memory.max", "memory.current")
    monkeypatch.setattr(memory, "_GROUPS", (group,))
    assert memory.available() == (2_000_000, "the control group (container)")
    (tmp_path / "memory.max").write_text("max\n")  # no limit
    assert memory.available()[1] != "the control group (container)"


def test_what_is_left_is_the_least_of_what_anybody_says(monkeypatch):
    resource = pytest.importorskip("resource")
    free, whose = memory.available()
    assert 0 < free < math.inf and whose in ("the machine", "the control group (container)")
    used = memory._bytes(r"VmSize:\s*(\d+) kB", "/proc/self/status", 1024)
    with monkeypatch.context() as patch:
        patch.setattr(resource, "getrlimit", lambda kind: (int(used) + 2**20,) * 2)
        left, whose = memory.available()
        assert 0 <= left <= 2**20 and whose == "the process's address space"

    def nowhere(*_):
        raise FileNotFoundError

    with monkeypatch.context() as patch:  # no /proc
        patch.setattr(Path, "read_text", nowhere)
        pages = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        assert memory.available() == (pages, "the machine")
    monkeypatch.setattr(os, "name", "nt")
    assert memory.available() == (math.inf, "nothing")
