"""Exceptions and warnings of ldr."""

from ldr.solvers.errors import (
    ArgumentError,
    ConvergenceWarning,
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
    "ConvergenceWarning",
    "DataError",
    "DataWarning",
    "DeviceWarning",
    "ObjectiveError",
    "ObjectiveWarning",
    "SingularError",
    "TimeLimitError",
    "TooLargeError",
]
