"""Exceptions and warnings, subclasses of ValueError, RuntimeError, UserWarning and so on."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from types import ModuleType


class ArgumentError(ValueError):
    """An argument cannot be used: unknown name, wrong type, or value out of range."""


class DataError(ValueError):
    """Data cannot be used: wrong shape, NaN, or labels of another length."""


class MissingValuesError(DataError):
    """The method refuses missing values (NaN); the message names methods that accept them."""


class SingularError(ValueError):
    """A matrix to be inverted is singular, or a ratio is unbounded because of such a matrix."""


class ObjectiveError(RuntimeError):
    """An objective's value is not a scalar or not finite, or its gradient is wrong."""


class TimeLimitError(RuntimeError):
    """The time limit was reached before the first point was evaluated."""


class TooLargeError(DataError, MemoryError):
    """An array that the method needs does not fit into memory."""


class ClusterError(ConnectionError):
    """A Dask cluster lost its scheduler or its workers."""


class ObjectiveWarning(UserWarning):
    """An objective contradicts its declaration; the warning names the correction."""


class DataWarning(UserWarning):
    """Data may have been misread; the warning names the interpretation."""


class DeviceWarning(UserWarning):
    """A device is missing; the warning names the device used instead."""


def __getattr__(name: str) -> type[Warning]:
    """Define `ConvergenceWarning` on first use, because its base is scikit-learn's."""
    if name != "ConvergenceWarning":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sklearn.exceptions import ConvergenceWarning as Base

    text = "The solver stopped before the gradient was small; the best point is returned."
    made = type(name, (Base, RuntimeWarning), {"__doc__": text, "__module__": __name__})
    return globals().setdefault(name, made)


# Optional packages, each with the NAME of the extra in `pip install "ldr-manifold[NAME]"`.
_EXTRAS = {
    "jax": "jax",
    "autograd": "jax",
    "pymanopt": "pymanopt",
    "matplotlib": "plot",
    "jinja2": "plot",
    "rich": "cli",
    "typer": "cli",
    "pandas": "files",
    "pyarrow": "files",
    "distributed": "dask",
}


def needed(module: str, what: str, extra: str = "") -> ModuleType:
    """Import an optional module; the error for a missing module names the extra to install."""
    try:
        return import_module(module)
    except ImportError as error:
        extra = extra or _EXTRAS[module.partition(".")[0]]
        missing = (error.name or module).partition(".")[0]
        raise ArgumentError(
            f"{what} needs {missing}, which is not installed: pip install 'ldr-manifold[{extra}]'"
        ) from None


# Packages whose stack frames are skipped, so that a warning points to the user's code.
_PASSED_THROUGH = {__name__.partition(".")[0], "joblib", "numpy", "sklearn"}


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the innermost line outside this package and the packages that call it."""
    level, frame = 2, sys._getframe(1).f_back
    while frame is not None and _package(frame.f_globals) in _PASSED_THROUGH:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level + 1)


def _package(names: dict[str, object]) -> str:
    return str(names.get("__name__")).partition(".")[0]
