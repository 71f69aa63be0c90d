"""Exceptions and warnings of ldr.

The decorator `in_words` of public functions translates errors of NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from traceback import clear_frames
from typing import ParamSpec, TypeVar

import numpy as np

from ldr.objectives.data.memory import available
from ldr.objectives.data.memory import in_words as in_bytes
from ldr.objectives.registry import REGISTRY
from ldr.solvers import errors
from ldr.solvers.deadline import one_thread
from ldr.solvers.errors import (
    ArgumentError,
    ClusterError,
    DataError,
    DataWarning,
    DeviceWarning,
    MissingValuesError,
    ObjectiveError,
    ObjectiveWarning,
    SingularError,
    TimeLimitError,
    TooLargeError,
)

__all__ = [
    "ArgumentError",
    "ClusterError",
    "ConvergenceWarning",  # noqa: F822
    "DataError",
    "DataWarning",
    "DeviceWarning",
    "ObjectiveError",
    "ObjectiveWarning",
    "SingularError",
    "TimeLimitError",
    "TooLargeError",
]


def __getattr__(name: str) -> type[Warning]:
    return getattr(errors, name)


Arguments = ParamSpec("Arguments")
Returned = TypeVar("Returned")

_WAYS_OUT = (
    "for a d x d array use fewer columns; for an n x n array use landmarks=, components= or a "
    "subsample; or pass the rows as a path or in blocks, which are read in chunks"
)


def in_words(function: Callable[Arguments, Returned]) -> Callable[Arguments, Returned]:
    """Translate errors of missing values, memory and LAPACK into messages with a remedy.

    BLAS uses one thread within the context, except for long calls while cores are idle.
    """

    @wraps(function)
    def translated(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Returned:
        try:
            with one_thread():
                return function(*args, **kwargs)
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
            clear_frames(error.__traceback__)  # frames of the traceback would keep arrays in memory
            raise TooLargeError(
                f"{_array(error)} does not fit into memory: only {in_bytes(limit)} are free "
                f"(limit of {whose}). Remedies: {_WAYS_OUT}"
            ) from error
        except np.linalg.LinAlgError as error:
            raise SingularError(
                f"a decomposition of the data failed ({error}): the scales of the columns differ "
                "too much; divide each column by its standard deviation"
            ) from error

    return translated


def _array(error: object) -> str:
    """Describe the array that NumPy could not allocate."""
    if not (hasattr(error, "shape") and hasattr(error, "dtype")):
        return "an array that the method needs"
    size = math.prod(error.shape) * np.dtype(error.dtype).itemsize
    return f"an array of shape {tuple(error.shape)}, {size / 2**30:.3g} GiB,"
