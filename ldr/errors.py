"""Exceptions and warnings of ldr."""

from ldr.solvers.errors import (
    ArgumentError,
    ConvergenceWarning,
    DataError,
    ObjectiveError,
    ObjectiveWarning,
    SingularError,
)

__all__ = [
    "ArgumentError",
    "ConvergenceWarning",
    "DataError",
    "ObjectiveError",
    "ObjectiveWarning",
    "SingularError",
]
