"""Decorator of public functions, which translates errors of BLAS, LAPACK and memory.

The module also formats numbers for JSON and for display.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import wraps
from traceback import clear_frames
from typing import ParamSpec, TypeVar

import numpy as np

from ldr.objectives.data.memory import available
from ldr.objectives.data.memory import in_words as in_bytes
from ldr.objectives.registry import REGISTRY
from ldr.solvers.deadline import one_thread
from ldr.solvers.errors import DataError, MissingValuesError, SingularError, TooLargeError
from ldr.solvers.manifolds import Array
from ldr.types import Argument

Arguments = ParamSpec("Arguments")
Returned = TypeVar("Returned")

_WAYS_OUT = (
    "for d x d arrays use fewer columns; for n x n arrays landmarks=, components= or a subsample; "
    "or pass the rows as a path or in blocks, to be read in pieces"
)


def in_words(door: Callable[Arguments, Returned]) -> Callable[Arguments, Returned]:
    """Translate errors of missing values, memory and LAPACK into messages with a remedy.

    BLAS uses one thread within the context, except for long calls while cores are idle.
    """

    @wraps(door)
    def said(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Returned:
        try:
            with one_thread():
                return door(*args, **kwargs)
        except MissingValuesError as error:
            names = " and ".join(repr(n) for n, method in REGISTRY.items() if method.traits.imputes)
            raise DataError(
                f"{error}: {names} accept missing values (NaN), and their `impute` fills them in: "
                "ldr.solve('ppca', X, r).model.impute(X), or `ldr impute` on the command line"
            ) from error
        except TooLargeError:
            raise
        except MemoryError as error:
            limit, whose = available()
            clear_frames(error.__traceback__)  # the frames of an error keep their arrays in memory
            raise TooLargeError(
                f"{_array(error)} does not fit into memory, of which {whose} leaves "
                f"{in_bytes(limit)}: {_WAYS_OUT}"
            ) from error
        except np.linalg.LinAlgError as error:
            raise SingularError(
                f"a decomposition of the data failed ({error}): the scales of the columns are too "
                "far apart; divide them by their standard deviations"
            ) from error

    return said


def _array(error: object) -> str:
    """Describe the array that NumPy could not allocate."""
    if not (hasattr(error, "shape") and hasattr(error, "dtype")):
        return "an array that the method needs"
    size = math.prod(error.shape) * np.dtype(error.dtype).itemsize
    return f"an array of shape {tuple(error.shape)}, {size / 2**30:.3g} GiB,"


def plain(value: Argument) -> Argument:
    """Convert a value for JSON: arrays become lists, infinities and NaN become None."""
    if isinstance(value, Mapping):
        return {name: plain(each) for name, each in value.items()}
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def shown(value: float | Array) -> str:
    """Format a number, or a matrix with one line for each row."""
    if np.ndim(value) == 0:
        return f"{value:.6g}"
    return np.array2string(np.asarray(value), precision=4, threshold=40, prefix=" " * 15)
