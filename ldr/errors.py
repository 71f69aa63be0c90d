"""Exceptions and warnings of ldr."""

from ldr.solvers.errors import (
    ArgumentError,
    ConvergenceWarning,
    DataError,
    DeviceWarning,
    ObjectiveError,
    ObjectiveWarning,
    SingularError,
)

__all__ = [
    "ArgumentError",
    "ConvergenceWarning",
    "DataError",
    "DeviceWarning",
    "ObjectiveError",
    "ObjectiveWarning",
    "SingularError",
]
