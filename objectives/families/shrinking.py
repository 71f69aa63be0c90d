"""Methods whose covariance can be moved towards its diagonal, as Ledoit and Wolf find best."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from ldr.objectives.data.change import Change
from ldr.objectives.data.data import Data
from ldr.objectives.data.samples import Samples
from ldr.objectives.families.matrices import DataForms, DataSums, Matrices
from ldr.objectives.families.pencil import Pencil, RowPencil
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import number, optional_word
from ldr.objectives.statistics.shrinkage import (
    JointShrinkage,
    Shrinkage,
    ledoit_wolf,
    ledoit_wolf_of_views,
    target,
)
from ldr.objectives.view import Compact
from ldr.solvers.errors import DataError
from ldr.solvers.manifolds import Array

Found = TypeVar("Found", bound=Pencil)


@dataclass(frozen=True)
class Shrinking(Objective):
    """Base of the methods that divide by a covariance.

    Parameters
    ----------
    shrinkage : "auto" or None
        "auto" moves C towards its diagonal by Ledoit and Wolf's rule, of columns in units of their
        standard deviations. The share by which it was moved is in the result's parameters. It takes
        two more passes over the rows.
    """

    shrinkage: str | None = optional_word(("auto",))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.shrinkage is not None:  # the rule counts rows, and looks at them twice
            vars(self).update(weighted=False, from_sums=False)

    def compact(self, samples: Samples) -> Compact:
        """The rows; in all their columns where they shrink, as what is added there is of all."""
        if self.shrinkage is None:
            return Compact.of(samples)
        if samples.wide:
            raise DataError(
                f"shrinkage='auto' makes a matrix of {samples.d} x {samples.d}, "
                f"{8 * samples.d**2 / 2**30:.3g} GiB, of the sparse {samples.name}: give ridge= a "
                "positive value instead, or fewer columns"
            )
        return Compact.of_columns(samples)

    def shrunk(
        self, rows: RowPencil[Found], unrelated: Callable[[Found], float] | None = None
    ) -> RowPencil[Found]:
        """B moved towards its diagonal, by what shrinks the rows' covariance; if it is asked for.

        Parameters
        ----------
        rows : RowPencil
        unrelated : callable, optional
            What A is, in units of B, where rows have nothing to do with their neighbours. Of a
            method that is minimised A is the part of B that neighbours do not explain, and is moved
            as B is. Were B alone, directions in which hardly anything varies would be best.
        """
        if self.shrinkage is None:
            return rows
        times = None if unrelated is None else unrelated(rows.plain)
        return moved(rows, ledoit_wolf(rows.compact.rows), times)


@dataclass(frozen=True)
class ShrinkingViews(Shrinking):
    """Base of those that divide by the covariance of each view.

    Parameters
    ----------
    ridge : float
        Added to the diagonal of each view's covariance, in units of its mean diagonal.
    shrinkage : "auto" or None
        "auto" moves the covariance of the views side by side towards its diagonal, by Ledoit and
        Wolf's rule: that of each view, and those between views towards 0, by one share, so that no
        correlation exceeds 1. The share is in the result's parameters.
    """

    ridge: float = number(0.0)

    def opened(self, data: Data) -> tuple[list[Compact], JointShrinkage | None]:
        """The views, in all their columns where they shrink, and what shrinks them."""
        if self.shrinkage is None:
            return [Compact.of(view, quiet=True) for view in data.views], None
        opened = [Compact.of_columns(view) for view in data.views]
        return opened, ledoit_wolf_of_views([view.rows for view in opened])


def matrices_of(objective: Objective, data: DataSums) -> Matrices | None:
    """Those of a method; None of one without, and where a rule of the rows shrinks them."""
    return None if _shrinks(objective) else objective.matrices(data)


def forms_of(objective: Objective, data: DataForms) -> Matrices | None:
    """The same from forms in the rows."""
    return None if _shrinks(objective) else objective.forms(data)


def _shrinks(objective: Objective) -> bool:
    return isinstance(objective, Shrinking) and objective.shrinkage is not None


def moved(rows: RowPencil[Found], by: Shrinkage, times: float | None = None) -> RowPencil[Found]:
    """B towards its diagonal, and A, unless None, towards that times a number."""
    s = float(by.coefficients[0])
    diagonal = target(rows.plain.B.B, by.units[0])

    def towards(S: Array, times: float, change: Change) -> Array:
        return (1.0 - s) * S + s * times * change.of_matrix(diagonal)

    def of(change: Change) -> Found:
        found = rows.plain if change.T is None else rows.of(change)
        A = found.A if times is None else towards(found.A, times, change)
        return replace(found, A=A, B=replace(found.B, B=towards(found.B.B, 1.0, change)))

    return replace(rows, of=of, chosen={**rows.chosen, "shrinkage": s})
