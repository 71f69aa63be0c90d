"""Ctrl-C amid the code that gives tasks to threads: it is raised, and nobody waits for ever."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from ldr.solvers.pool import Pool, result_of, whole

PROGRAM = """
import itertools, operator, signal, threading
from ldr.objectives.data.map_reduce import fold

enter, here = threading.Condition.__enter__, threading.get_ident()
left = itertools.count(1)

def interrupted(condition):
    entered = enter(condition)
    if threading.get_ident() == here and next(left) == 0:
        signal.raise_signal(signal.SIGINT)
    return entered

threading.Condition.__enter__ = interrupted
signal.signal(signal.SIGINT, signal.default_int_handler)
for places in itertools.count():
    left = itertools.count(-places)
    try:
        total = fold(abs, operator.add, [lambda: (1,)] * 6, 2)
    except KeyboardInterrupt:
        assert threading.active_count() == 1
    else:
        break
print(total, places)
"""


def test_no_lock_of_another_thread_is_left_held():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    assert not done.stderr
    total, places = map(int, done.stdout.split())
    assert total == 6 and places > 6


def test_what_a_handler_raises_comes_after_the_step_and_its_value_is_lost():
    steps = []

    def step():
        signal.raise_signal(signal.SIGINT)
        steps.append("to its end")

    with pytest.raises(KeyboardInterrupt):
        whole(step)
    assert steps == ["to its end"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_what_is_only_noted_does_not_end_a_wait():
    heard = []
    usual = signal.signal(signal.SIGINT, lambda *_: heard.append(True))

    def task():
        os.kill(os.getpid(), signal.SIGINT)
        end = time.monotonic() + 60
        while not heard and time.monotonic() < end:
            time.sleep(0.001)
        return "found"

    try:
        with Pool(1) as pool:
            assert result_of(pool.submit(task)) == "found" and heard == [True]
    finally:
        signal.signal(signal.SIGINT, usual)


def test_errors_of_tasks_and_signals_that_are_ignored_go_their_way():
    usual = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Pool(1) as pool, pytest.raises(ZeroDivisionError):
            result_of(pool.submit(lambda: signal.raise_signal(signal.SIGINT) or 1 / 0))
    finally:
        signal.signal(signal.SIGINT, usual)
    with Pool(1) as pool:  # a thread has no handlers
        assert result_of(pool.submit(whole, threading.active_count)) > 1
