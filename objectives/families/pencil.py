"""What a method makes of rows: a symmetric A, which is optimised against a sum of squares B."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np

from ldr.objectives.coordinates import Coordinates
from ldr.objectives.data.cells import Cells
from ldr.objectives.data.change import Change
from ldr.objectives.data.samples import Samples
from ldr.objectives.families.wide import Narrow, WidePencil
from ldr.objectives.prediction import Groups
from ldr.objectives.statistics import ClassMoments
from ldr.objectives.statistics.covariance import KnownScatter
from ldr.objectives.view import Compact, View
from ldr.solvers.checks import LARGEST
from ldr.solvers.errors import DataError
from ldr.solvers.linalg.lengths import length
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
    scatter : KnownScatter, optional
        Of the rows.
    offsets : ndarray (k,), optional
        What the numbers in the rows are about, where that is not their mean alone.
    """

    B: Array
    mean: Array
    weight: float
    total: Array | None = None
    within: bool = False
    scatter: KnownScatter | None = None
    offsets: Array | None = None

    @classmethod
    def covariance(cls, scatter: Array, mean: Array, n: float) -> SumOfSquares:
        """Of n rows, from their scatter."""
        return cls(scatter / n, mean, 1.0, scatter=KnownScatter(scatter, n))

    @property
    def sizes(self) -> Array:
        """Of each column, the root of the sum of squares of the numbers in the rows."""
        about_mean = self.total if self.within and self.total is not None else self.B
        offsets = self.mean if self.offsets is None else self.offsets
        return np.sqrt(diagonal(about_mean) + self.weight * offsets**2)


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


Found = TypeVar("Found", bound=Pencil, covariant=True)


@dataclass(frozen=True)
class RowPencil(Generic[Found]):
    """What a method makes of rows in any coordinates of them, for its variants to optimise.

    Attributes
    ----------
    compact : Compact
        The rows.
    of : callable
        The pencil of the rows, changed as it is told.
    what : str
        The name of B, for messages.
    others : sequence of Samples
        What else the matrices are made of.
    classes : ndarray (c,), optional
        The labels of the pencil's groups.
    chosen : mapping
        Numbers that the rows chose: see `BoundObjective`.
    wide : WidePencil, optional
        The pencil by its products, where the rows have too many columns for arrays.
    """

    compact: Compact
    of: Callable[[Change], Found]
    what: str
    others: Sequence[Samples] = ()
    classes: Cells | None = None
    chosen: Mapping[str, float | Array] = field(default_factory=dict)
    wide: WidePencil | None = None

    def narrowed(
        self, r: int, ridge: float, sign: float, weights: Array | None = None
    ) -> tuple[RowPencil[Found], float, Narrow | None]:
        """Of wide rows, the pencil of the rows in a subspace that the answer lies in.

        And the same ridge in units of B there, and what is known of the rest. See `Narrow`; A is
        maximised times a sign.
        """
        if self.wide is None:
            return self, ridge, None
        pencil = self.wide.against(ridge, sign)
        found = pencil.solved(r, weights)
        inside = Change(found.basis, pencil.rows.mean)
        compact = Compact.along(found.basis, pencil.rows.mean, self.compact.rows)
        rows = replace(
            self, compact=compact, of=lambda later: self.of(inside.then(later)), wide=None
        )
        share = pencil.ridge / float(diagonal(rows.plain.B.B).mean()) if ridge > 0 else 0.0
        return rows, share, found

    @cached_property
    def plain(self) -> Found:
        """Of the rows as they are."""
        return self.of(Change())

    @property
    def view(self) -> View:
        """The way back, from the mean of the rows."""
        return self.compact.view(self.plain.B.mean, self.plain.B.scatter)

    def answers(
        self,
        found: Pencil,
        coordinates: Coordinates,
        W: Array | None = None,
        ridged: Array | None = None,
        ridge: float = 0.0,
    ) -> Groups | None:
        """What the groups, in the coordinates W'x, tell of the classes of other rows.

        Where B has a ridge, `ridged` is B with it there, and takes the place of the groups' own
        scatter: without it classes of few rows would be told apart too surely. Or B without it,
        and `ridge` is what it adds of all columns.
        """
        if self.classes is None or found.groups is None:
            return None
        groups = found.groups if W is None else found.groups.through(W)
        if ridged is not None:
            groups = replace(groups, within=ridged)
        return Groups(self.classes, groups, coordinates, ridge)


def added_to(
    squares: Sequence[SumOfSquares], changes: Sequence[Change], added: Sequence[Array]
) -> list[SumOfSquares]:
    """The B of several views, each with a matrix of its columns added."""
    parts = zip(squares, changes, added, strict=True)
    return [replace(one, B=one.B + of.of_matrix(matrix)) for one, of, matrix in parts]


def shrunken(found: Pencil, change: Change, within: Array, total: Array) -> Pencil:
    """The pencil of S_T - S_W against S_W, where numbers were added to both in the columns."""
    within, total = change.of_matrix(within), change.of_matrix(total)
    assert found.B.total is not None and found.groups is not None
    within, total = found.B.B + within, found.B.total + total
    groups = replace(found.groups, within=within, between=total - within)
    B = replace(found.B, B=within, total=total)
    return Pencil(total - within, B, found.size, groups)


def check_comparable(A: Array, what: str, size: float = 1.0) -> None:
    """Refuse an A that is so large beside a B of that size, called `what`."""
    if not length(A) <= LARGEST**2 * size:
        raise DataError(
            f"{what} is so small in some direction that the objective exceeds {LARGEST**2:.0e} "
            "there: bring what is compared to like units, or leave out columns that hardly vary"
        )


def diagonal(B: Array) -> Array:
    """Without what rounding leaves below zero."""
    return np.maximum(np.diag(B), 0.0)
