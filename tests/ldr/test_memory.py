"""What does not fit is refused in bytes before it is made: under a limit of the process."""

import subprocess
import sys

import pytest

from ldr.objectives.data import memory

PROGRAM = """
import resource, sys
import numpy as np
import scipy.sparse as sp
import ldr
from ldr.errors import DataError
ldr.solve("pca", np.random.default_rng(0).standard_normal((30, 4)), 1)
taken = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
most = resource.getrlimit(resource.RLIMIT_AS)[1]
resource.setrlimit(resource.RLIMIT_AS, (taken + 2**30, most))
square = sp.eye_array(30_000, format="csr")
labels = np.arange(30_000) % 3
blocks = lambda: (np.ones((200_000, 10)) for _ in range(40))
file = np.lib.format.open_memmap(sys.argv[1], "w+", float, (8_000_000, 10))
del file
cases = [
    ("autocovariance", square, {}),
    ("log-det-pca", square, {}),
    ("olpp", square, {"graph": "classes", "y": labels}),
    ("sir", square, {"y": labels + 0.5}),
    ("fa", square, {}),
    ("cca", (square, square), {}),
    ("dynamics", blocks, {}),
    ("dynamics", sys.argv[1], {}),
    (ldr.objective(lambda M, X: (X @ M).sum()), sys.argv[1], {}),
]
for method, data, given in cases:
    try:
        ldr.solve(method, data, 2, **given)
    except DataError as error:
        assert "GiB" in str(error) or "MiB" in str(error), (method, error)
    except Exception as error:
        raise AssertionError(f"{method}: {type(error).__name__}: {error}") from error
    else:
        raise AssertionError(f"{method} had room")
"""


@pytest.mark.slow
def test_each_source_beyond_a_limit_is_refused_in_bytes(tmp_path):
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "X.npy")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr[-2000:]


def test_the_least_of_the_limits_counts(tmp_path, monkeypatch):
    (tmp_path / "memory.max").write_text("3000000\n")
    (tmp_path / "memory.current").write_text("1000000\n")
    group = (tmp_path, "memory.max", "memory.current")
    monkeypatch.setattr(memory, "_groups", lambda: iter([group]))
    assert memory.available() == (2_000_000, "the control group (container)")
    (tmp_path / "memory.max").write_text("max\n")  # no limit
    assert memory.available()[1] != "the control group (container)"
