"""BLAS threads: how many there are is one number of the process, which overlapping solves share."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import threadpoolctl

import ldr
from ldr.objectives.statistics import sums
from ldr.solvers import deadline
from ldr.solvers.deadline import idle_cores, one_thread


def counts():
    return [
        library["num_threads"]
        for library in threadpoolctl.threadpool_info()
        if library["user_api"] == "blas"
    ]


@pytest.fixture(autouse=True)
def two_threads(monkeypatch):
    """Two threads, and two cores that are idle."""
    monkeypatch.setattr(deadline, "idle_count", lambda: 2)
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        yield


def test_only_long_calls_have_threads():
    before = counts()
    with one_thread():
        assert counts() == [1] * len(before)
        with idle_cores(999):
            assert counts() == [1] * len(before)
        with idle_cores(2000):
            assert counts() == before
            with idle_cores(2000):  # another call at the same time
                assert counts() == before
            assert counts() == before
        assert counts() == [1] * len(before)
        with one_thread():
            assert counts() == [1] * len(before)
        assert counts() == [1] * len(before)
    assert counts() == before


def test_long_calls_have_one_thread_where_another_program_runs(monkeypatch):
    monkeypatch.setattr(deadline, "idle_count", lambda: 1)
    with one_thread(), idle_cores(5000):
        assert max(counts()) == 1


def test_who_does_not_hold_blas_keeps_its_threads():
    before = counts()
    with idle_cores(5000):
        assert counts() == before
    assert counts() == before


def test_threads_of_python_that_overlap_restore_the_threads():
    before = counts()
    begun = threading.Barrier(3)

    def most(_):
        begun.wait(60)
        found = []
        for k in range(50):
            with one_thread(), idle_cores(10 if k % 2 else 0):
                found += counts()
        return max(found)

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(most, range(3))) == [1, 1, 1]
    assert counts() == before


def test_a_solve_reads_and_solves_with_one_thread(monkeypatch):
    seen = []
    real, scatters = sums.square, sys.modules["ldr.objectives.statistics.scatters"]
    monkeypatch.setattr(scatters, "square", lambda *given: seen.append(counts()) or real(*given))
    X = np.random.default_rng(0).standard_normal((40, 5))
    ldr.solve("ppca", X, 2, solver="lbfgs", observers=[lambda iteration: seen.append(counts())])
    assert len(seen) > 1
    assert np.max(seen) == 1


@pytest.mark.parametrize(("load", "idle"), [(0.0, 5), (1.2, 4), (3.6, 1), (9.0, 1)])
def test_cores_on_which_something_runs_are_not_idle(monkeypatch, load, idle):
    monkeypatch.undo()
    monkeypatch.setattr(deadline.os, "cpu_count", lambda: 4)
    monkeypatch.setattr(deadline.os, "getloadavg", lambda: (load, 0.0, 0.0), raising=False)
    assert deadline.idle_count() == idle


def test_a_door_within_a_door_holds_blas_once(monkeypatch):
    with one_thread():
        monkeypatch.setattr(deadline, "_share", None)
        with one_thread():
            assert set(counts()) == {1}
        assert set(counts()) == {1}
        monkeypatch.undo()
