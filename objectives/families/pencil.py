"""What a method makes of rows: a symmetric A, which is optimised against a sum of squares B."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldr.objectives.statistics import ClassMoments
from ldr.solvers.manifolds import Array


@dataclass(frozen=True)
class SumOfSquares:
    """A positive semidefinite B = sum_i w_i x_i x_i', of rows in some coordinates.

    Attributes
    ----------
    B : ndarray (k, k)
    mean : ndarray (k,)
        Of the rows.
    weight : float
        The sum of w_i.
    total : ndarray (k, k), optional
        Of all that varies in the rows, where that is more than B.
    within : bool
        Whether B is what is left of `total` within groups of the rows.
    """

    B: Array
    mean: Array
    weight: float
    total: Array | None = None
    within: bool = False

    @property
    def sizes(self) -> Array:
        """Of each column, the root of the sum of squares of the numbers in the rows."""
        about_mean = self.total if self.within and self.total is not None else self.B
        return np.sqrt(diagonal(about_mean) + self.weight * self.mean**2)


@dataclass(frozen=True)
class Pencil:
    """What a method makes of rows: A is optimised against B.

    Attributes
    ----------
    A : ndarray (k, k)
    B : SumOfSquares
    size : float
        Of the terms that cancel in A, in units of B.
    groups : ClassMoments or None
        Where the rows are of classes.
    """

    A: Array
    B: SumOfSquares
    size: float = 0.0
    groups: ClassMoments | None = None


def diagonal(B: Array) -> Array:
    """Without what rounding leaves below zero."""
    return np.maximum(np.diag(B), 0.0)
