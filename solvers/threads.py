"""BLAS threads: a solver on small matrices is slowed by them, many times where cores are shared.

How many threads a library has is one number of the whole process, or of each thread of Python where
it is built on OpenMP. Solves that overlap in threads of Python therefore hold a library together:
the first one notes its number, the last one restores it.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import LibController, ThreadpoolController

# A product of two matrices of this order takes a few milliseconds on one core; below it the
# threads' hand-over, at every one of thousands of products, costs more than they bring.
_WORTH_THREADS = 600

_Pool = tuple[str, int | None]

# Of each pool of threads that is held at one: by how many, and what it had before.
_lock = threading.Lock()
_holders: Counter[_Pool] = Counter()
_before: dict[_Pool, int] = {}


@cache
def _controller() -> ThreadpoolController:
    import threadpoolctl

    return threadpoolctl.ThreadpoolController().select(user_api="blas")


def threads_for(order: int) -> AbstractContextManager[None]:
    """A context in which BLAS uses one thread if matrices are of a small order."""
    if order >= _WORTH_THREADS:
        return nullcontext()
    return _held(_controller().lib_controllers)


@cache
def _beside_scipy() -> list[LibController]:
    """The BLAS libraries beside SciPy's own; none where all use the same one."""
    libraries = _controller().lib_controllers
    others = [library for library in libraries if "scipy.libs" not in library.filepath]
    return others if len(others) < len(libraries) else []


def one_team() -> AbstractContextManager[None]:
    """A context in which SciPy's BLAS alone has threads.

    NumPy's and SciPy's wheels bring a BLAS each, whose threads wait for more work for a while by
    spinning. Where calls of the two take turns, those of one then keep the other's from the cores:
    on two cores a solver took 2.4 times as long.
    """
    return _held(_beside_scipy())


@contextmanager
def _held(libraries: list[LibController]) -> Iterator[None]:
    """Libraries at one thread, until the last of those who hold them lets go."""
    pools = {_pool(library): library for library in libraries}
    with _lock:
        for pool, library in pools.items():
            if not _holders[pool]:
                _before[pool] = library.num_threads
                _set_threads(library, 1)
            _holders[pool] += 1
    try:
        yield
    finally:
        with _lock:
            for pool, library in pools.items():
                _holders[pool] -= 1
                if not _holders[pool]:
                    _set_threads(library, _before.pop(pool))
                    del _holders[pool]


def _pool(library: LibController) -> _Pool:
    """The library's file, and the thread of Python where each has threads of its own."""
    of_each = getattr(library, "threading_layer", None) == "openmp"
    return library.filepath, threading.get_ident() if of_each else None


def _set_threads(library: LibController, count: int) -> None:
    """From whatever thread: threadpoolctl 3.8 obeys but the first that asked, until it is freed."""
    free = getattr(library, "clear_controlling_thread", lambda force: None)
    free(force=True)
    library.set_num_threads(count)
    free(force=True)
