"""Each test process has one thread of BLAS and OpenMP, since test processes run side by side."""

import math
import os
import signal
import sys

import pytest
from hypothesis import settings

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# On a busy machine threads that wait make nearest neighbours of few samples 50 times slower.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Every program that a test starts imports the package: what one of them compiles is kept for all.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# No test depends on how busy the machine is.
settings.register_profile("ldr", deadline=None)
settings.load_profile("ldr")

# A shell that runs this in the background has Ctrl-C ignored, `nohup` a hang-up: tests send both.
for name, usual in {"SIGINT": signal.default_int_handler, "SIGHUP": signal.SIG_DFL}.items():
    number = getattr(signal, name, None)
    if number is not None and signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, usual)


@pytest.fixture(autouse=True)
def first_interrupt(monkeypatch):
    """A test's Ctrl-C is no second one after that of the test before."""
    from ldr.solvers import deadline

    monkeypatch.setattr(deadline, "_last_interrupt", -math.inf)
