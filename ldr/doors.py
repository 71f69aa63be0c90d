"""What every door does: BLAS has one thread behind it, and what fails deep below it, gaps, memory,
LAPACK, is said in terms of the data.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import numpy as np

from ldr.objectives.data.footprint import available
from ldr.objectives.data.footprint import in_words as in_bytes
from ldr.objectives.registry import REGISTRY
from ldr.solvers.errors import DataError, MissingValuesError, SingularError, TooLargeError
from ldr.solvers.threads import one_thread

Arguments = ParamSpec("Arguments")
Returned = TypeVar("Returned")

_WAYS_OUT = (
    "leave out columns where it is columns x columns, take landmarks=, components= or a sample "
    "where it is rows x rows, or pass the rows as a path or in blocks, to be read piece by piece"
)


def in_words(door: Callable[Arguments, Returned]) -> Callable[Arguments, Returned]:
    """A function whose errors of gaps, memory and LAPACK say what went wrong, and the way out.

    BLAS has one thread in it, but for long calls while cores are idle.
    """

    @wraps(door)
    def said(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Returned:
        try:
            with one_thread():
                return door(*args, **kwargs)
        except MissingValuesError as error:
            raise DataError(f"{error}: {_for_gaps()}") from error
        except TooLargeError:
            raise
        except MemoryError as error:
            limit, whose = available()
            raise TooLargeError(
                f"{_array(error)} does not fit into memory, of which {whose} leaves "
                f"{in_bytes(limit)}: {_WAYS_OUT}"
            ) from error
        except np.linalg.LinAlgError as error:
            raise SingularError(
                f"a decomposition of the data failed ({error}): their columns are too far apart in "
                "size; divide them by their standard deviations"
            ) from error

    return said


def _for_gaps() -> str:
    """The methods that fill missing values in."""
    names = " and ".join(repr(name) for name, method in REGISTRY.items() if method.imputes)
    return f"{names} take missing values (NaN), and their `impute` fills them in"


def _array(error: object) -> str:
    """The array that NumPy could not allocate, where it was NumPy."""
    if not (hasattr(error, "shape") and hasattr(error, "dtype")):
        return "an array that the method needs"
    size = math.prod(error.shape) * np.dtype(error.dtype).itemsize
    return f"an array of shape {tuple(error.shape)}, {size / 2**30:.3g} GiB,"
