"""BLAS threads: one while this package works, more for a single long call while cores are idle.

A call of many threads ends with the last of them: where another program has one of the cores, a
solve of a thousand small calls takes ten to thirty times as long as on one thread. The number of
threads belongs to the whole process: the first of the solves that overlap notes it, the last one
restores it.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import LibController

# The order from which a decomposition into eigenvectors takes a tenth of a second on one thread.
_LONG_ORDER = 1000

_lock, _lent = threading.Lock(), threading.Lock()
_holders = 0
_before: list[int] = []


@cache
def _libraries() -> list[LibController]:
    import threadpoolctl

    return threadpoolctl.ThreadpoolController().select(user_api="blas").lib_controllers


@contextmanager
def one_thread() -> Iterator[None]:
    """A context in which BLAS has one thread, until the last of those who hold it lets go."""
    global _holders
    with _lock:
        if not _holders:
            _before[:] = [library.num_threads for library in _libraries()]
            _share(1)
        _holders += 1
    try:
        yield
    finally:
        with _lock:
            _holders -= 1
            if not _holders:
                _share(math.inf)


@contextmanager
def idle_cores(order: int) -> Iterator[None]:
    """A context for one decomposition: if it is long, BLAS has a thread for each idle core."""
    lent = order >= _LONG_ORDER and _lent.acquire(blocking=False)
    with _lock:
        if lent and _holders:
            _share(_idle())
    try:
        yield
    finally:
        if lent:
            with _lock:
                if _holders:
                    _share(1)
            _lent.release()


def _idle() -> int:
    """The cores that no other program used in the last minute."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return max(1, (os.cpu_count() or 1) + 1 - round(load))  # one of the load is this program


def _share(count: float) -> None:
    """Give each library so many threads, but no more than it had before."""
    for library, before in zip(_libraries(), _before, strict=True):
        if library.num_threads != min(count, before):
            # threadpoolctl 3.8 obeys only the thread that asked first, until that is cleared
            clear = getattr(library, "clear_controlling_thread", lambda force: None)
            clear(force=True)
            library.set_num_threads(min(count, before))
            clear(force=True)
