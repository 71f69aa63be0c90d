"""Typical lengths of rows and of columns, by which the data of a solver are scaled."""

from __future__ import annotations

import math

import numpy as np

from ldr.solvers.errors import DataError
from ldr.solvers.manifolds import Array


def typical_length(X: Array) -> float:
    """The power of two nearest to the root mean square of the rows' norms: it rounds nothing.

    Raises
    ------
    DataError
        All rows are zero: of centred data, all rows are equal.
    """
    largest = float(np.abs(X).max())
    if largest == 0:
        raise DataError("all rows of X are equal, expected data that vary")
    length = largest * math.sqrt(float(np.mean(np.sum((X / largest) ** 2, axis=1))))
    return 2.0 ** round(math.log2(length))


def column_lengths(X: Array) -> Array:
    """Root mean squares of the columns; 1 for a column of zeros."""
    largest = np.abs(X).max(axis=0)
    largest = np.where(largest > 0, largest, 1.0)
    root = np.sqrt(np.mean((X / largest) ** 2, axis=0))
    return np.asarray(largest * np.where(root > 0, root, 1.0), dtype=np.float64)
