"""BLAS threads: a solver on small matrices is slowed by them, many times where cores are shared."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

# A product of two matrices of this order takes a few milliseconds on one core; below it the
# threads' hand-over, at every one of thousands of products, costs more than they bring.
_WORTH_THREADS = 600


@cache
def _controller() -> Any:
    import threadpoolctl

    return threadpoolctl.ThreadpoolController()


def threads_for(order: int) -> AbstractContextManager[Any]:
    """A context in which BLAS uses one thread if matrices are of a small order."""
    if order >= _WORTH_THREADS:
        return nullcontext()
    return _controller().limit(limits=1, user_api="blas")


@cache
def _beside_scipy() -> Any:
    """The BLAS libraries beside SciPy's own; none where all use the same one."""
    libraries = _controller().select(user_api="blas").lib_controllers
    others = [library.filepath for library in libraries if "scipy.libs" not in library.filepath]
    return _controller().select(filepath=others if len(others) < len(libraries) else [])


def one_team() -> AbstractContextManager[Any]:
    """A context in which SciPy's BLAS alone has threads.

    NumPy's and SciPy's wheels bring a BLAS each, whose threads wait for more work for a while by
    spinning. Where calls of the two take turns, those of one then keep the other's from the cores:
    on two cores a solver took 2.4 times as long.
    """
    return _beside_scipy().limit(limits=1)
