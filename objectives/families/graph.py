"""Methods of a graph on the rows: Laplacian and reconstruction scatters, by kind of graph."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ldr.objectives.data.cells import Matrix
from ldr.objectives.data.change import Change
from ldr.objectives.data.data import Data
from ldr.objectives.data.footprint import Footprint
from ldr.objectives.data.samples import Samples
from ldr.objectives.families.matrices import (
    DataForms,
    PencilMatrices,
    RatioMatrices,
    RowForms,
    TraceMatrices,
)
from ldr.objectives.families.nested import NestedMethod
from ldr.objectives.families.pencil import Pencil, RowPencil, Shrinking, SumOfSquares
from ldr.objectives.families.trace import Trace, trace_where_varied
from ldr.objectives.families.trace_ratio import TraceRatio, trace_ratio
from ldr.objectives.families.whitened_trace import whitened_trace
from ldr.objectives.families.wide import WidePencil, against_total, of_classes
from ldr.objectives.graphs import Graph, check_settled, notes_on
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need, whole
from ldr.objectives.statistics import class_moments, moments
from ldr.objectives.statistics.covariance import KnownScatter
from ldr.objectives.view import Compact
from ldr.solvers.manifolds import Array
from ldr.solvers.records import dataclass, field, replace

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class Scatters(Pencil):
    """The matrices of a graph method: A = X'LX or X'(I - W)'(I - W)X, B = X'DX or X'X.

    The terms of A are those of B.

    Attributes
    ----------
    unrelated : float
        What A is, in units of B, of rows that have nothing to do with their neighbours.
    """

    size: float = 1.0
    unrelated: float = field(default=1.0, kw_only=True)


def _of_classes(rows: Samples, codes: np.ndarray, classes: int) -> Scatters:
    """Of the class graph H, h_ij = 1/n_k for i and j in class k.

    H = ZZ' with Z the scaled class indicators, D = I and I - H is a projector: both X'LX and
    X'(I - H)'(I - H)X are S_W, both X'DX and X'X are nC, and the n x n graph, dense within each
    class, is not formed.
    """
    stats = class_moments(rows, codes, classes)
    n, total = stats.n, stats.total
    squares = SumOfSquares(total, stats.mean, n, scatter=KnownScatter(total, n))
    return Scatters(stats.within, squares, unrelated=1.0 - classes / n)


def rest(rows: Samples, shares: Array, middle: Array) -> Array | float:
    """What a weighted mean has beyond its first number; sparse rows are shifted anyway."""
    return 0.0 if rows.is_sparse else rows.centred_transpose_times(shares, middle)


def shares_of(rows: Samples) -> Array:
    """Of the rows, in their mean."""
    return (np.ones(rows.n) if rows.weights is None else rows.weights) / rows.weight


def sees_distances(graph: object) -> bool:
    """Whether the graph is made of distances between rows, which the units of columns change."""
    return isinstance(graph, str) and graph != "classes"


@dataclass(frozen=True)
class GraphMethod(Objective):
    """Base of the methods of a graph on the rows.

    Parameters
    ----------
    graph : str or matrix
    neighbours : int
        k of the neighbour graph.
    """

    sense = "min"
    needs: ClassVar[tuple[Need, ...]] = (Need.GRAPH,)
    arrays = Footprint(squares=10.0, rows=8.0, row=300.0, products=True)
    of_spread: ClassVar[str]  # B, in formulas

    graph: str | Matrix = "neighbours"
    neighbours: int = whole(10, 1)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._graph()
        if isinstance(self.graph, str) and "class" in self.graph and Need.LABELS not in self.needs:
            vars(self)["needs"] = (*self.needs, Need.LABELS)

    def _graph(self) -> Graph:
        """The graph, which refuses what there is not."""
        return Graph(self.graph, self.neighbours)

    weighted = True

    @property
    def repeats(self) -> bool:  # type: ignore[override]
        """Of the classes alone: a row is not its own neighbour, however often it counts."""
        return isinstance(self.graph, str) and self.graph == "classes"

    @property
    def by_place(self) -> bool:  # type: ignore[override]
        """Where the graph is the user's."""
        return not isinstance(self.graph, str)

    @property
    def scale_free(self) -> bool:  # type: ignore[override]
        return not self.transposed and not sees_distances(self.graph)

    def compact(self, samples: Samples) -> Compact:
        return Compact.of(samples)

    def scatters(self, data: Data) -> RowPencil[Scatters]:
        """A against B, of the rows in any coordinates."""
        notes: Sequence[str] = ()
        if isinstance(self.graph, str) and self.graph == "classes":
            compact = self.compact(data.samples)
            codes, classes = data.labels
            matrices = partial(_of_classes, codes=codes, classes=len(classes))
            wide = (
                against_total(of_classes(data.samples, codes, len(classes)))
                if (data.samples.wide)
                else None
            )
        else:
            data = self._joined(data)
            compact, W = self.compact(data.samples), self._weights(data)
            notes = notes_on(self._graph(), data.samples.n)
            matrices = partial(self._matrices, W=W)
            wide = self._wide(data.samples, W) if data.samples.wide else None

        def of(change: Change) -> Scatters:
            return matrices(change(compact.rows))

        return RowPencil(compact, of, self.of_spread, wide=wide, notes=notes)

    def scatter_forms(self, data: DataForms) -> PencilMatrices:
        """A and B, of a W that is known."""
        if isinstance(self.graph, str) and self.graph == "classes":
            between, within = data.scatters_of_classes()
            return PencilMatrices(within, between + within, -1.0)
        return self._forms(data.rows, data.links(self._settled))

    def _settled(self, data: Data) -> csr_array:
        """W, whose edges stay where rows move a little."""
        samples, k = data.samples, self.neighbours
        if isinstance(self.graph, str) and self.graph == "neighbours":
            check_settled(samples, k)
        elif isinstance(self.graph, str) and self.graph == "class-neighbours":
            codes, classes = data.labels
            for members in (samples.take(codes == c) for c in range(len(classes))):
                check_settled(members, k)
        return self._weights(data)

    @abstractmethod
    def _forms(self, rows: RowForms, W: csr_array) -> PencilMatrices:
        """Of a known graph."""

    def _joined(self, data: Data) -> Data:
        """The rows that the graph is of, in memory."""
        data = self.in_memory(data)
        return data if self.by_place else data.of_rows_that_count()

    @abstractmethod
    def _weights(self, data: Data) -> csr_array:
        """W, of rows in memory."""

    @abstractmethod
    def _wide(self, samples: Samples, W: csr_array) -> WidePencil:
        """The matrices by their products, of rows with too many columns for arrays."""

    @abstractmethod
    def _matrices(self, rows: Samples, W: csr_array) -> Scatters:
        """Of rows in some coordinates."""


@dataclass(frozen=True)
class ShrinkingGraph(Shrinking, GraphMethod):
    """Base of those of A against B.

    Parameters
    ----------
    shrinkage : "auto" or None
        "auto" moves B towards its diagonal, by the share that Ledoit and Wolf's rule finds for the
        rows' covariance of columns in units of their standard deviations, and A as much towards the
        same diagonal, times what rows that have nothing to do with their neighbours would make of
        A: what neighbours share (X'WX of a Laplacian) shrinks, and directions of small variance are
        not taken for smooth ones. The share is in the result's parameters.
    """

    def shrunk_scatters(self, data: Data) -> RowPencil[Scatters]:
        return self.shrunk(self.scatters(data), attrgetter("unrelated"))


@dataclass(frozen=True)
class WhitenedGraph(ShrinkingGraph):
    """Base of those that whiten B: exact by the bottom generalised eigenvectors of (A, B)."""

    transposed = False
    exact = "yes"

    def bind(self, data: Data, r: int) -> Trace:
        return whitened_trace(self, self.shrunk_scatters(data), r, ridge=self.ridge)

    def forms(self, data: DataForms) -> PencilMatrices:
        return replace(self.scatter_forms(data), ridge=self.ridge)


@dataclass(frozen=True)
class OrthonormalGraph(GraphMethod):
    """Base of those of A alone: exact by its bottom eigenvectors, where something varies."""

    exact = "yes"
    arrays = Footprint(squares=10.0, rows=8.0, row=300.0)

    def bind(self, data: Data, r: int) -> Trace:
        rows = self.scatters(data)
        known = rows.plain.B.scatter
        total = moments(rows.compact.rows).scatter if known is None else known.array
        return trace_where_varied(self, rows.view, rows.plain.A, total, r)

    def forms(self, data: DataForms) -> TraceMatrices:
        found = self.scatter_forms(data)
        return TraceMatrices(found.A, -1.0, shares=found.shares)


@dataclass(frozen=True)
class RatioGraph(NestedMethod, ShrinkingGraph):
    """Base of the ratios tr(M'AM) / tr(M'BM)."""

    exact = "r = 1"

    def bind(self, data: Data, r: int) -> TraceRatio:
        return trace_ratio(self, self.shrunk_scatters(data), r, ridge=self.ridge)

    def forms(self, data: DataForms) -> RatioMatrices:
        found = self.scatter_forms(data)
        A, B, weights, shares = found.A, found.B, self.column_weights, found.shares
        return RatioMatrices(A, B, -1.0, weights, ridge=self.ridge, shares=shares)
