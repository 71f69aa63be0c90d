"""Thousands of solves in one process leave nothing behind."""

import contextlib
import gc
import itertools
import os
import threading

import psutil
import pytest
import threadpoolctl

from tests.adversarial.campaign import REFUSALS, count, generator
from tests.adversarial.pairs import CHANGES, METHODS, solve, solve_other

SOLVES = 3000
# A fifth of the solves fills caches and loads what is imported late. From then on a solve may keep
# 4 KiB, as lists of freed blocks do, beside 24 MiB for the process.
WARM = 0.2
KEPT = 4 * 2**10
SLACK = 24 * 2**20


def _teams():
    """How many threads each BLAS has."""
    return sorted(
        (pool["filepath"], pool["num_threads"]) for pool in threadpoolctl.threadpool_info()
    )


def _solve(number, method, change):
    """A problem of that method, as it is or changed; a refusal must leave nothing behind either."""
    rng = generator("soak", method, number)
    given = METHODS[method](rng)
    other = change(given, rng)
    with contextlib.suppress(REFUSALS):
        solve(given) if other is None else solve_other(other)


def _soak(solves, warm):
    """Memory, threads, open files and BLAS's teams after a first part and at the end."""
    process = psutil.Process(os.getpid())
    methods, changes = itertools.cycle(METHODS), itertools.cycle(CHANGES)
    for number in range(solves):
        if number == warm:
            gc.collect()
            before = process.memory_info().rss, process.num_threads(), process.num_fds(), _teams()
        _solve(number, next(methods), next(changes))
    gc.collect()
    after = process.memory_info().rss, process.num_threads(), process.num_fds(), _teams()
    return before, after


def _check(solves, warm):
    running = threading.active_count()
    (rss, threads, files, teams), (rss_later, *later) = _soak(solves, warm)
    threads_later, files_later, teams_later = later
    assert rss_later - rss <= SLACK + KEPT * (solves - warm)
    assert threads_later <= threads
    assert files_later <= files
    assert teams_later == teams
    assert threading.active_count() <= running + 1


@pytest.mark.slow
def test_nothing_grows():
    solves = max(count(SOLVES), 2 * len(METHODS))
    _check(solves, max(len(METHODS), int(WARM * solves)))


def test_a_slice():
    """Of the methods that are fast."""
    _check(30, 15)
