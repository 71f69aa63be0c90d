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
    "TooLargeError",
]
