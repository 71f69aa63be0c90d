"""Matrix pairs (A, B) of methods, B a sum of squares, for rows in any coordinates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from ldr.objectives import statistics
from ldr.objectives.data.array_types import Cells
from ldr.objectives.data.data import Data, Samples, UnknownError
from ldr.objectives.data.stored import Change
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import number, optional_word
from ldr.objectives.prediction import Groups
from ldr.objectives.statistics.scatters import KnownScatter
from ldr.objectives.view import Compact, Coordinates, View
from ldr.solvers.checks import LARGEST
from ldr.solvers.errors import DataError
from ldr.solvers.linalg.eigen import length
from ldr.solvers.manifolds import Array

if TYPE_CHECKING:
    from ldr.objectives.families.wide import WidePencil
    from ldr.objectives.statistics import ClassMoments, JointShrinkage, Shrinkage


@dataclass(frozen=True)
class SumOfSquares:
    """A positive semidefinite matrix B = sum_i w_i x_i x_i' of rows x_i.

    - B (k, k): the matrix, the weighted sum of squares
    - mean (k,): of the rows
    - sizes (k,): root of each column's sum of squares, for bounds of rounding errors
    - total (k, k): total scatter of the rows if larger than B
    - scatter: scatter of the rows
    """

    B: Array
    mean: Array
    sizes: Array
    total: Array | None = None
    scatter: KnownScatter | None = None

    @classmethod
    def of_rows(cls, scatter: Array, mean: Array, n: float) -> SumOfSquares:
        """Return the scatter of n rows."""
        sizes = np.sqrt(diagonal(scatter) + n * mean**2)
        return cls(scatter, mean, sizes, scatter=KnownScatter(scatter, n))

    @classmethod
    def covariance(cls, scatter: Array, mean: Array, n: float) -> SumOfSquares:
        """Return the covariance of n rows with a known scatter."""
        sizes = np.sqrt(diagonal(scatter / n) + mean**2)
        return cls(scatter / n, mean, sizes, scatter=KnownScatter(scatter, n))


@dataclass(frozen=True)
class Pencil(SumOfSquares):
    """The numerator matrix A and the denominator matrix B of a method.

    - A (k, k): matrix, or function that returns the matrix from a W with WW' = B^{-1}
    - size: size of the terms that cancel in A, relative to B
    - groups: classes of the rows, if any
    - unrelated: function that returns the expected ratio of A to B for independent rows
    """

    A: Array = field(kw_only=True)
    size: float | Callable[[float], float] = field(default=0.0, kw_only=True)
    groups: ClassMoments | None = field(default=None, kw_only=True)
    unrelated: Callable[[], float] | None = field(default=None, kw_only=True)

    def terms(self, a: float) -> float:
        """Return the size of the terms whose sum is A, given a bound `a` of A."""
        return self.size(a) if callable(self.size) else max(a, self.size)


@dataclass(frozen=True)
class RowPencil:
    """The matrix pair (A, B) of a method as a function of the rows' coordinates.

    - compact: the rows
    - of: function of a `Change` that returns the matrix pair of the changed rows
    - what: the name of B, for messages
    - others: further samples that the matrices depend on
    - classes (c,): labels of the groups
    - chosen: parameters estimated from the rows; see `BoundObjective`
    - wide: the matrix pair as operators if the rows have too many columns for arrays
    - notes, searched: the message, and `BoundObjective.searched`, if coordinates come from products
    """

    compact: Compact
    of: Callable[[Change], Pencil]
    what: str
    others: Sequence[Samples] = ()
    classes: Cells | None = None
    chosen: Mapping[str, float | Array] = field(default_factory=dict)
    wide: WidePencil | None = None
    notes: tuple[str, ...] = ()
    searched: float | None = None

    def narrowed(
        self, r: int, ridge: float, sign: float, weights: Array | None = None
    ) -> tuple[RowPencil, float]:
        """Return the matrix pair in a subspace that contains the optimum, for very wide rows.

        The second result is the ridge relative to B in the subspace. The method maximises the
        numerator A times `sign`.
        """
        if self.wide is None:
            return self, ridge
        pencil = self.wide.against(ridge, sign)
        basis, note, residual = pencil.solved(r, weights)
        inside = Change(basis, pencil.rows.mean)
        rows = replace(
            self,
            compact=Compact.along(basis, pencil.rows.mean, self.compact.rows),
            of=lambda later: self.of(inside.then(later)),
            wide=None,
            notes=(note,),
            searched=residual,
        )
        share = pencil.ridge / float(diagonal(rows.plain.B).mean()) if ridge > 0 else 0.0
        return rows, share

    @cached_property
    def plain(self) -> Pencil:
        """The matrix pair in the coordinates of the rows."""
        return self.of(Change())

    @property
    def view(self) -> View:
        """The View (map to the user's columns), centred by the mean of the rows."""
        return self.compact.view(self.plain.mean, self.plain.scatter)

    def changed(
        self, how: Callable[[Pencil, Change], Pencil], **chosen: float | Array
    ) -> RowPencil:
        """Return the pair with changed matrices; `chosen` are the estimated parameters."""

        def of(change: Change) -> Pencil:
            return how(self.plain if change.T is None else self.of(change), change)

        return replace(self, of=of, chosen={**self.chosen, **chosen})

    def answers(
        self,
        found: Pencil,
        coordinates: Coordinates,
        W: Array | None = None,
        ridged: Array | None = None,
        ridge: float = 0.0,
    ) -> Groups | None:
        """Return the predictor of classes by the class means in the coordinates W'x.

        With a ridge, `ridged` is B plus the ridge in these coordinates and replaces the scatter
        within groups. Otherwise class probabilities for few samples would be too extreme. If
        `ridge` is given, `ridged` is B, and `ridge` is added in all columns.
        """
        if self.classes is None or found.groups is None:
            return None
        return Groups(self.classes, found.groups, coordinates, W, ridged, ridge)


def added_to(
    squares: Sequence[SumOfSquares], changes: Sequence[Change], added: Sequence[Array]
) -> list[SumOfSquares]:
    """Return each view's B plus a matrix that is given in the user's columns."""
    parts = zip(squares, changes, added, strict=True)
    return [replace(one, B=one.B + of.of_matrix(matrix)) for one, of, matrix in parts]


def check_comparable(A: Array, what: str, size: float = 1.0) -> None:
    """Refuse an A too large relative to B; `what` is B's name in the message."""
    if not length(A) <= LARGEST**2 * size:
        raise DataError(
            f"the objective divides by {what}, which is so small in some direction that the value "
            f"exceeds {LARGEST**2:.0e}: bring columns to similar units, or drop near-constant ones"
        )


def diagonal(B: Array) -> Array:
    """Return the diagonal of B; negative rounding errors become 0."""
    return np.maximum(np.diag(B), 0.0)


@dataclass(frozen=True)
class Shrinking(Objective):
    """Base of the methods that divide by a covariance.

    Parameters
    ----------
    shrinkage : "auto" or None
        "auto" shrinks the covariance towards its diagonal, with the intensity that Ledoit and
        Wolf's rule gives for the standardised columns in two additional passes over the rows. The
        result's parameters contain the intensity.
    ridge : float
        Constant added to the diagonal of the denominator, relative to the mean eigenvalue in the
        span of the samples, or with shrinkage in all columns.
    """

    shrinkage: float | str | None = optional_word(("auto",))
    ridge: float = number(0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.shrinks:  # shrinkage reads the rows twice and needs their number
            weighted = self.traits.weighted and isinstance(self.shrinkage, float)
            self._set_traits(weighted=weighted, from_sums=False)
            vars(self).update(matrices=_unknown)

    @property
    def shrinks(self) -> bool:
        """Return True if the covariance is shrunk."""
        return self.shrinkage is not None

    def compact(self, samples: Samples) -> Compact:
        """Return the rows in coordinates of their span, or in all columns with shrinkage."""
        if not self.shrinks:
            return Compact.of(samples)
        if samples.wide:
            raise DataError(
                f"shrinkage of the sparse {samples.name} needs a dense {samples.d} x {samples.d} "
                f"matrix, {8 * samples.d**2 / 2**30:.3g} GiB: give ridge= a positive value "
                "instead, or fewer columns"
            )
        return Compact.of_columns(samples)

    def shrunken(self, rows: RowPencil, data: Data) -> RowPencil:
        """Shrink B towards its diagonal by Ledoit and Wolf's intensity if shrinkage is requested.

        If A (variation between neighbours) is minimised relative to B (all variation), A is also
        shrunk, towards a multiple of the diagonal of B: the expected A if rows are independent. If
        B were shrunk and A were not, nearly constant directions would be optimal.
        """
        if self.shrinkage is None:
            return rows
        times = None if rows.plain.unrelated is None else rows.plain.unrelated()
        return moved(rows, statistics.ledoit_wolf(rows.compact.rows), times)


@dataclass(frozen=True)
class ShrinkingViews(Shrinking):
    """Base of methods that divide by the covariance of each view.

    Parameters
    ----------
    shrinkage : "auto" or None
        "auto" shrinks the covariance of the concatenated views towards its diagonal by Ledoit and
        Wolf's rule. Covariances within and between views are shrunk with the same intensity s,
        so that no correlation exceeds 1, and divided by 1 - s. The result's parameters contain s.
    """

    def opened(self, data: Data) -> tuple[list[Compact], JointShrinkage | None]:
        """Return the views and the shrinkage; with shrinkage the views have all columns."""
        if self.shrinkage is None:
            two = len(data.views) == 2
            return [Compact.of(view, quiet=True, by_products=two) for view in data.views], None
        opened = [Compact.of_columns(view) for view in data.views]
        return opened, statistics.ledoit_wolf_of_views([view.rows for view in opened])


def _unknown(data: object) -> NoReturn:
    """Raise UnknownError: sums over rows do not determine a function of the rows."""
    raise UnknownError


def moved(rows: RowPencil, by: Shrinkage, times: float | None = None) -> RowPencil:
    """Shrink B towards its diagonal D, and A towards `times` D unless `times` is None."""
    s = float(by.coefficients[0])
    diagonal = statistics.target(rows.plain.B, by.units[0])

    def towards(S: Array, times: float, change: Change) -> Array:
        return (1.0 - s) * S + s * times * change.of_matrix(diagonal)

    def how(found: Pencil, change: Change) -> Pencil:
        A = found.A if times is None else towards(found.A, times, change)
        B = towards(found.B, 1.0, change)
        total = found.total if found.total is None else found.total + B - found.B
        return replace(found, A=A, B=B, total=total)

    return rows.changed(how, shrinkage=s)
