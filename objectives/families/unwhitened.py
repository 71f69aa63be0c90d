"""Rows that are to be whitened: what their sum of squares knows of them, and what it does not."""

from __future__ import annotations

import math

import numpy as np

from ldr.objectives.coordinates import Coordinates
from ldr.objectives.data.samples import Samples
from ldr.objectives.families.pencil import SumOfSquares
from ldr.objectives.view import Compact
from ldr.solvers.errors import ArgumentError
from ldr.solvers.linalg.eigen import has_full_rank, rank_tolerance, unit_diagonal
from ldr.solvers.linalg.lengths import length
from ldr.solvers.manifolds import Array
from ldr.solvers.records import dataclass, replace


def ridge_amount(B: Array, ridge: float) -> float:
    """What a ridge, in units of B's mean diagonal, adds to it."""
    amount = ridge * float(B.trace()) / len(B)
    if not math.isfinite(amount):
        raise ArgumentError(f"ridge = {ridge:g} is too large for data of this unit: lower it")
    return amount


def add_ridge(B: Array, ridge: float, name: str) -> tuple[Array, list[str]]:
    """B + ridge * mean(diag B) * I, and a note that says so; B itself for ridge = 0."""
    if ridge == 0:
        return B, []
    amount = ridge_amount(B, ridge)
    return B + amount * np.eye(len(B)), [f"ridge: {amount:.3g} was added to the diagonal of {name}"]


# Least eigenvalue of B, scaled to a unit diagonal, with which its digits are enough.
LEAST = 1e-5


@dataclass(frozen=True)
class Unwhitened:
    """Rows that are to be whitened.

    Attributes
    ----------
    coordinates : Coordinates
        Of the rows.
    what : str
        The name of B, for messages.
    repeatable : bool
        Whether there are rows to make B of again. Sparse ones would be filled.
    behind : ndarray or None
        Sizes of the numbers that the rows were made of, column by column, where they are no data;
        in units in which all of the rows have length 1.
    """

    coordinates: Coordinates
    what: str
    ridge: float = 0.0
    repeatable: bool = True
    behind: Array | None = None

    @classmethod
    def of(cls, compact: Compact, what: str, ridge: float = 0.0, *others: Samples) -> Unwhitened:
        """The rows of `compact`, with what else B is made of."""
        again = all(rows.repeatable and not rows.is_sparse for rows in (compact.rows, *others))
        space = compact.space if compact.whole is None else None
        behind = None if space is None else space.sizes / (np.linalg.norm(space.scores) or 1.0)
        return cls(compact.coordinates, what, ridge, again, behind)

    def varied(self, sums: SumOfSquares) -> tuple[Array, str]:
        """The matrix to whose range M is restricted, and its name.

        B, or with a ridge all that varies: a direction in which nothing does stays out, whatever
        the ridge.
        """
        if self.ridge > 0 and sums.total is not None:
            return sums.total, "the total scatter"
        return sums.B, self.what

    def sizes(self, sums: SumOfSquares) -> Array:
        """Of the numbers in each column, to which rounding is relative."""
        sizes = sums.sizes
        return sizes if self.behind is None else np.maximum(sizes, length(sizes) * self.behind)

    def known(self, sums: SumOfSquares) -> SumOfSquares:
        """Without the columns of numbers that are no data which have nothing but their rounding."""
        if self.behind is None:
            return sums
        least = (rank_tolerance(len(sums.B)) * self.sizes(sums)) ** 2

        def kept(S: Array) -> Array:
            there = np.diag(S) > least
            return np.where(there[:, None] & there, S, 0.0)

        return replace(sums, B=kept(sums.B), total=None if sums.total is None else kept(sums.total))

    def told_by(self, sums: SumOfSquares) -> bool:
        """Whether the sums say all that the rows know."""
        B, _ = add_ridge(sums.B, self.ridge, self.what)
        return all(map(_well_conditioned, (B, self.varied(sums)[0]) if self.ridge > 0 else (B,)))


def _well_conditioned(S: Array) -> bool:
    """Whether S, scaled to a unit diagonal, has no small eigenvalue."""
    scaled, scale = unit_diagonal(S)
    if not scale.all():
        scaled = scaled[np.ix_(scale > 0, scale > 0)]
    return has_full_rank(scaled, 0.5 * LEAST / max(1, len(scaled)))
