"""What does not fit is refused in bytes before it is made: under a limit of the process."""

import subprocess
import sys

import pytest

import ldr
from ldr.objectives import REGISTRY
from ldr.objectives.data import footprint
from ldr.solvers.errors import TooLargeError
from tests.objectives.methods import RANDOM


@pytest.mark.slow
def test_each_method_beyond_a_limit_is_answered_or_refused_in_bytes_of_each_source():
    command = [sys.executable, "-m", "tests.limits"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    answered = {line.split()[0] for line in done.stdout.splitlines() if "answered" in line}
    assert answered == {"pca", "sparse-pca", "exponential-family-pca"}


@pytest.mark.parametrize("key", [key for key in RANDOM if key in REGISTRY])
def test_each_method_says_what_it_would_take_before_it_takes_it(key, monkeypatch):
    X, y, parameters = RANDOM[key]
    monkeypatch.setattr(footprint, "_SMALL", 0)
    monkeypatch.setattr(footprint, "available", lambda: (100.0, "a test"))
    monkeypatch.setattr(REGISTRY[key], "bind", lambda *given: pytest.fail("it began"))
    with pytest.raises(TooLargeError, match=f"{key}, with its arrays of .* MiB .* a test leaves"):
        ldr.solve(key, X, 2, y=y, **parameters)


def test_the_least_of_the_limits_counts(tmp_path, monkeypatch):
    (tmp_path / "memory.max").write_text("3000000\n")
    (tmp_path / "memory.current").write_text("1000000\n")
    group = (tmp_path, "memory.max", "memory.current")
    monkeypatch.setattr(footprint, "_groups", lambda: iter([group]))
    assert footprint.available() == (2_000_000, "the control group (container)")
    (tmp_path / "memory.max").write_text("max\n")  # no limit
    assert footprint.available()[1] != "the control group (container)"
