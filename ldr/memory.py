"""What does not fit into memory, said in terms of the data."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from ldr.solvers.errors import TooLargeError

Arguments = ParamSpec("Arguments")
Returned = TypeVar("Returned")

_WAYS_OUT = (
    "leave out columns where it is columns x columns, take landmarks=, components= or a sample "
    "where it is rows x rows, or pass the rows as a path or in blocks, to be read piece by piece"
)


def within_memory(door: Callable[Arguments, Returned]) -> Callable[Arguments, Returned]:
    """A function whose MemoryErrors say which array did not fit, and the way out."""

    @wraps(door)
    def said(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Returned:
        try:
            return door(*args, **kwargs)
        except TooLargeError:
            raise
        except MemoryError as error:
            raise TooLargeError(f"{_array(error)} does not fit into memory: {_WAYS_OUT}") from error

    return said


def _array(error: Any) -> str:
    """The array that NumPy could not allocate, where it was NumPy."""
    if not hasattr(error, "shape"):
        return "an array that the method needs"
    size = math.prod(error.shape) * np.dtype(error.dtype).itemsize
    return f"an array of shape {tuple(error.shape)}, {size / 2**30:.3g} GiB,"
