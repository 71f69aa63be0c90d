"""Exceptions and warnings of ldr."""

from ldr.solvers.errors import (
    ArgumentError,
    ClusterError,
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
    "ClusterError",
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
