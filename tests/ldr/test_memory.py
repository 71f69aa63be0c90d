"""What does not fit is refused in bytes before it is made: under a limit of the process."""

import subprocess
import sys

import pytest

import ldr
from ldr.objectives import REGISTRY
from ldr.objectives.data import footprint
from ldr.solvers.errors import TooLargeError
from tests.objectives.methods import RANDOM

# Every method of every source, at a size that would take more than the limit.
PROGRAM = """
import resource, sys
import dask.array
import numpy as np
import scipy.sparse as sp
import ldr
from ldr.errors import DataError
from ldr.objectives import REGISTRY
ldr.solve("pca", np.random.default_rng(0).standard_normal((30, 4)), 1)
n, d = 20_000, 16_000
path = sys.argv[1]
file = np.lib.format.open_memmap(path, "w+", "f4", (n, d))
del file
taken = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
most = resource.getrlimit(resource.RLIMIT_AS)[1]
resource.setrlimit(resource.RLIMIT_AS, (taken + 5 * 2**28, most))

def sources(method):
    yield np.zeros((9000, 7000), "f4"), 9000
    yield path, n
    yield lambda: (np.ones((10, d)) for _ in range(3)), 30
    yield dask.array.zeros((n, d), chunks=(2000, d)), n
    if method.sparse:
        few = 1_600_000 if method.arrays.products else n
        yield sp.eye_array(few, format="csr"), few

# By products with rows that stay where they are, and not of a stream; refused by name.
others = ("pca", "sparse-pca", "exponential-family-pca", "sparse-lda")
for name in (name for name in REGISTRY if name not in others):
    method = REGISTRY[name]
    for X, rows in sources(method):
        if "distances" in method.needs and isinstance(X, np.ndarray):
            X = X[:7000]
        y = np.arange(rows) % 3 if {"labels", "response"} & set(method.needs) else None
        pair = method.views > 1 or "background" in method.needs
        try:
            ldr.solve(name, (X, X) if pair else X, 2, y=y)
        except DataError as error:
            assert "GiB" in str(error) or "MiB" in str(error), (name, type(X), error)
        except Exception as error:
            raise AssertionError(f"{name}: {type(X)}: {type(error).__name__}: {error}") from error
        else:
            raise AssertionError(f"{name} had room for {type(X)}")
try:
    ldr.solve(ldr.objective(lambda M, X: (X @ M).sum()), path, 2)
except DataError as error:
    assert "GiB" in str(error), error
"""


@pytest.mark.slow
def test_each_method_beyond_a_limit_is_refused_in_bytes_of_each_source(tmp_path):
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "X.npy")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr[-2000:]


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
