"""Exceptions and warnings of ldr."""

from ldr.solvers import errors
from ldr.solvers.errors import (
    ArgumentError,
    ClusterError,
    DataError,
    DataWarning,
    DeviceWarning,
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
