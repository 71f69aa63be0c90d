"""Methods whose covariance can be moved towards its diagonal, as Ledoit and Wolf find best."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ldr.objectives.data.change import Change
from ldr.objectives.data.data import Data
from ldr.objectives.data.samples import Samples
from ldr.objectives.families.pencil import Pencil, RowPencil
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import optional_word
from ldr.objectives.statistics.shrinkage import ledoit_wolf
from ldr.objectives.view import Compact


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

    @property
    def from_sums(self) -> bool:
        return self.shrinkage is None

    @property
    def weighted(self) -> bool:  # type: ignore[override]
        """The rule counts rows."""
        return self.shrinkage is None

    def compact(self, data: Data) -> Compact:
        """The rows; in all their columns where they shrink, as what is added there is of all."""
        return (Compact.of if self.shrinkage is None else Compact.of_columns)(data.samples)

    def against_covariance(
        self, data: Data, pencil: Callable[[Samples], Pencil]
    ) -> RowPencil[Pencil]:
        """What `pencil` makes of the rows in any coordinates, its B the covariance; B shrunk."""
        compact = self.compact(data)
        if self.shrinkage is None:
            return RowPencil(compact, lambda change: pencil(change(compact.rows)), "the covariance")
        found = ledoit_wolf(compact.rows)

        def shrunk(change: Change) -> Pencil:
            plain = pencil(change(compact.rows))
            added = change.of_matrix(found.added / compact.rows.n)
            return replace(plain, B=replace(plain.B, B=plain.B.B + added))

        chosen = {"shrinkage": float(found.coefficients[0])}
        return RowPencil(compact, shrunk, "the covariance", chosen=chosen)
