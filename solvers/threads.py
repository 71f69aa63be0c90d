"""BLAS threads: one while this package works, more for a single long call while cores are idle.

A call of many threads ends with the last of them: where another program has one of the cores, a
solve of a thousand small calls takes ten to thirty times as long as on one thread. Sums over rows
have threads of their own (`objectives/data/map_reduce.py`), which do not wait for one another.

How many threads a library has is one number of the whole process, or of each thread of Python where
it is built on OpenMP. Solves that overlap in threads of Python therefore hold a library together:
the first one notes its number, the last one restores it.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import LibController, ThreadpoolController

# The order from which a decomposition into eigenvectors is long: a tenth of a second.
_LONG_ORDER = 1000
# Seconds for which cores that were idle count as idle: BLAS's own threads wait for more work for a
# while, and look like another program's.
_IDLE_FOR = 0.5

_Pool = tuple[str, int | None]
_AS_IT_IS = nullcontext()

# Of each pool of threads that is held at one: by how many, and what it had before.
_lock = threading.Lock()
_holders: Counter[_Pool] = Counter()
_before: dict[_Pool, int] = {}
# Whether this thread of Python holds them: within, there is nothing more to do.
_here = threading.local()
_lent = threading.Lock()
_seen_idle = (-1.0, 1)


@cache
def _controller() -> ThreadpoolController:
    import threadpoolctl

    return threadpoolctl.ThreadpoolController().select(user_api="blas")


def one_thread() -> AbstractContextManager[None]:
    """A context in which BLAS has one thread, until the last of those who hold it lets go."""
    return _AS_IT_IS if getattr(_here, "holds", False) else _held()


@contextmanager
def _held() -> Iterator[None]:
    pools = {_pool(library): library for library in _controller().lib_controllers}
    with _lock:
        for pool, library in pools.items():
            if not _holders[pool]:
                _before[pool] = library.num_threads
                if _before[pool] > 1:
                    _set_threads(library, 1)
            _holders[pool] += 1
    _here.holds = True
    try:
        yield
    finally:
        _here.holds = False
        with _lock:
            for pool, library in pools.items():
                _holders[pool] -= 1
                if not _holders[pool]:
                    if (before := _before.pop(pool)) > 1:
                        _set_threads(library, before)
                    del _holders[pool]


def idle_cores(order: int, cost: float = 1.0) -> AbstractContextManager[None]:
    """A context for one long call, in which BLAS that is held has a thread for each idle core.

    It has one where the call is short, or where another call has them.

    Parameters
    ----------
    order : int
        Of the matrix that is decomposed.
    cost : float
        In decompositions of that order into all eigenvectors.
    """
    return _AS_IT_IS if cost * order**3 < _LONG_ORDER**3 else _lent_cores()


@contextmanager
def _lent_cores() -> Iterator[None]:
    if not _lent.acquire(blocking=False):
        yield
        return
    try:
        _share(_idle_cores())
        yield
    finally:
        _share(1)
        _lent.release()


def _share(count: int) -> None:
    """Give libraries that are held so many threads, but no more than they had before."""
    with _lock:
        for library in _controller().lib_controllers:
            if _holders[_pool(library)]:
                _set_threads(library, min(count, _before[_pool(library)]))


def _idle_cores() -> int:
    """The cores that nothing else runs on: now on Linux, in the last minute elsewhere."""
    global _seen_idle
    when, cores = _seen_idle
    if monotonic() - when < _IDLE_FOR:
        return cores
    try:
        with open("/proc/loadavg") as file:
            running = int(file.read().split()[3].partition("/")[0]) - 1
    except (OSError, ValueError, IndexError):
        running = round(os.getloadavg()[0]) if hasattr(os, "getloadavg") else 0
    idle = max(1, (os.cpu_count() or 1) - running)
    if idle > 1:
        _seen_idle = monotonic(), idle
    return idle


def _pool(library: LibController) -> _Pool:
    """The library's file, and the thread of Python where each has threads of its own."""
    of_each = getattr(library, "threading_layer", None) == "openmp"
    return library.filepath, threading.get_ident() if of_each else None


def _set_threads(library: LibController, count: int) -> None:
    """From whatever thread: threadpoolctl 3.8 obeys but the first that asked, until it is freed."""
    if library.num_threads == count:
        return
    free = getattr(library, "clear_controlling_thread", lambda force: None)
    free(force=True)
    library.set_num_threads(count)
    free(force=True)
