"""BLAS threads: how many there are is one number of the process, which overlapping solves share."""

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations

import pytest
import threadpoolctl

from ldr.solvers.threads import one_team, threads_for


def counts():
    return [
        library["num_threads"]
        for library in threadpoolctl.threadpool_info()
        if library["user_api"] == "blas"
    ]


@pytest.fixture(autouse=True)
def two_threads():
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        yield


def others():
    return [
        library["num_threads"]
        for library in threadpoolctl.threadpool_info()
        if library["user_api"] == "blas" and "scipy.libs" not in library["filepath"]
    ]


def test_one_team_leaves_threads_to_scipy_alone_and_gives_them_back():
    before = counts()
    own = len(before) - len(others())
    with one_team():
        assert others() == [1 if own else 2] * len(others())
        assert sum(counts()) == sum(others()) + 2 * own
    assert counts() == before


def test_only_small_matrices_go_without_threads():
    before = counts()
    with threads_for(10_000):
        assert counts() == before
    with threads_for(10):
        assert counts() == [1] * len(before)
        with threads_for(0), one_team():
            assert counts() == [1] * len(before)
        assert counts() == [1] * len(before)
    assert counts() == before


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_contexts_that_end_in_another_order_than_they_began_restore_the_threads(order):
    before = counts()
    contexts = [threads_for(10), one_team(), threads_for(0)]
    for context in contexts:
        context.__enter__()
    for k in order:
        assert min(counts()) == 1
        contexts[k].__exit__(None, None, None)
    assert counts() == before


def test_threads_of_python_that_overlap_restore_the_threads():
    before = counts()
    begun = threading.Barrier(3)

    def most(_):
        begun.wait()
        found = []
        for k in range(50):
            with threads_for(10 if k % 2 else 0), one_team():
                found += counts()
        return max(found)

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(most, range(3))) == [1, 1, 1]
    assert counts() == before
