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
