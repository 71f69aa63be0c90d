"""Exceptions and warnings: few, precise, and subclasses of what Python users already catch."""


class ArgumentError(ValueError):
    """An argument that cannot be used: unknown name, wrong type, out of range."""


class DataError(ValueError):
    """Data that cannot be used: wrong shape, NaN, labels that do not fit."""


class MissingValuesError(DataError):
    """Missing values (NaN), for a method that cannot use them; doors say which ones can."""


class SingularError(ValueError):
    """A matrix the formula must invert is singular, or a ratio is unbounded because of it."""


class ObjectiveError(RuntimeError):
    """An objective that misbehaves: not a scalar, not finite, or a gradient that is wrong."""


class TimeLimitError(RuntimeError):
    """The time limit was reached before there was a point to return."""


class TooLargeError(DataError, MemoryError):
    """An array that the method needs does not fit into memory."""


class ClusterError(ConnectionError):
    """A Dask cluster whose scheduler or workers are not there any more."""


class ObjectiveWarning(UserWarning):
    """An objective is not what it says; what was done instead."""


class DataWarning(UserWarning):
    """Data that may not be what they look like; what they are taken for."""


class ClusterWarning(UserWarning):
    """A Dask cluster whose workers are waited for."""


class DeviceWarning(UserWarning):
    """A device is not there; what is used instead."""


class ConvergenceWarning(RuntimeWarning):
    """The solver stopped before the gradient was small; the best point is returned."""
