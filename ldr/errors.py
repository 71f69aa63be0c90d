"""Exceptions and warnings of ldr."""

from ldr.solvers.errors import (
    ArgumentError,
    ClusterError,
    ClusterWarning,
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
    "ClusterWarning",
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
