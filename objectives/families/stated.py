"""Problems made of a method's matrices: the one statement that stacks and derivatives use too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self, cast

from ldr.objectives import statistics
from ldr.objectives.data.array_types import Cells
from ldr.objectives.data.change import Change
from ldr.objectives.data.data import Data
from ldr.objectives.data.samples import Samples
from ldr.objectives.families.matrices import Against, DataSums, TraceMatrices
from ldr.objectives.families.pencil import Pencil, RowPencil, Shrinking, SumOfSquares
from ldr.objectives.families.trace import Trace, trace_where_varied
from ldr.objectives.families.trace_ratio import NestedMethod, TraceRatio, trace_ratio
from ldr.objectives.families.whitened_trace import whitened_trace
from ldr.objectives.families.wide import WidePencil
from ldr.objectives.objective import Objective
from ldr.objectives.statistics import ClassMoments, Codes
from ldr.objectives.statistics.covariance import KnownScatter
from ldr.objectives.statistics.scatters import Moments
from ldr.objectives.view import Compact
from ldr.solvers.manifolds import Array


class SampleSums:
    """The `DataSums` of samples in memory or in files, of the rows and of themselves.

    A pass over the rows for classes or for a lag gives mean and scatter too: these come last.
    """

    def __init__(self, data: Data, rows: Samples) -> None:
        self._data, self._rows = data, rows
        self.classes: ClassMoments | None = None
        self._moments: Moments | None = None

    @property
    def rows(self) -> Self:
        return self

    @property
    def moments(self) -> Moments:
        if self._moments is None:
            self._moments = statistics.moments(self._rows)
        return self._moments

    @property
    def n(self) -> float:
        return self.moments.n

    def labels(self) -> tuple[Codes, Cells]:
        return self._data.labels

    def scatter(self) -> Array:
        return self.moments.scatter

    def lagged(self, lag: int) -> Array:
        self._moments = found = statistics.lagged_moments(self._rows, lag)
        return found.lagged

    def scatter_of_changes(self) -> Array:
        return statistics.difference_scatter(self._rows)

    def scatters_of_classes(self) -> tuple[Array, Array]:
        codes, classes = self.labels()
        found = statistics.class_moments(self._rows, codes, len(classes))
        self.classes, self._moments = found, Moments(found.n, found.mean, found.total)
        return found.between, found.within

    @property
    def known(self) -> KnownScatter:
        return KnownScatter(self.moments.scatter, self.n)

    def squares(self, B: Array) -> SumOfSquares:
        """B, with what its rounding is relative to: the scatter within classes, or covariance."""
        if self.classes is None:
            return SumOfSquares(B, self.moments.mean, 1.0, scatter=self.known)
        total = self.moments.scatter
        return SumOfSquares(B, self.moments.mean, self.n, total, True, self.known)


@dataclass(frozen=True)
class StatedTrace(Objective):
    """Base of the traces tr(M'AM) of its `TraceMatrices`, over orthonormal M."""

    def bind(self, data: Data, r: int) -> Trace:
        """A minimum is restricted to directions in which something varies: others are empty."""
        compact = Compact.of(data.samples, room=r if self.sense == "max" else 0)
        sums = SampleSums(data, compact.rows)
        found = self.matrices(cast(DataSums, sums))
        assert isinstance(found, TraceMatrices)
        view = compact.view_of(sums.moments)
        if self.sense == "max":
            return Trace(self, (view,), found.A, r)
        return trace_where_varied(self, view, found.A, sums.scatter(), r, is_square=False)


@dataclass(frozen=True)
class StatedQuotient(Shrinking):
    """Base of the trace ratios and whitened traces of A against B, its `Against` matrices.

    Attributes
    ----------
    divisor : str
        The name of B, for messages.
    cancels : float
        Size of the terms that cancel in A, in units of B.
    """

    divisor: ClassVar[str] = "the covariance"
    cancels: ClassVar[float] = 0.0

    def bind(self, data: Data, r: int) -> Trace | TraceRatio:
        rows, notes = self.shrunken(self.rows(data), data), self.notes_on(data, r)
        if isinstance(self, NestedMethod):
            return trace_ratio(self, rows, r, ridge=self.ridge, notes=notes)
        return whitened_trace(self, rows, r, ridge=self.ridge, notes=notes)

    def rows(self, data: Data) -> RowPencil[Pencil]:
        """A and B of the rows in any coordinates."""
        compact, wide = self.compact(data.samples), None
        labels = data.labels[1] if self.predicts == "classes" else None

        def of(change: Change) -> Pencil:
            sums = SampleSums(data, change(compact.rows))
            found = type(self).matrices(self, cast(DataSums, sums))
            assert isinstance(found, Against)
            return Pencil(found.A, sums.squares(found.B), self.cancels, sums.classes)

        if data.samples.wide:
            wide = self.wide(data)
        return RowPencil(compact, of, self.divisor, classes=labels, wide=wide)

    def wide(self, data: Data) -> WidePencil | None:
        """Of sparse rows with very many columns, A against B by products."""
        return None

    def shrunken(self, rows: RowPencil[Pencil], data: Data) -> RowPencil[Pencil]:
        """With B moved towards its diagonal, if it is asked for."""
        return self.shrunk(rows)

    def notes_on(self, data: Data, r: int) -> list[str]:
        """What the user should know of so many dimensions."""
        return []
