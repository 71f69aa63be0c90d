"""Methods of a graph on the rows: Laplacian and reconstruction scatters, by kind of graph."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ldr.objectives.data.cells import Matrix
from ldr.objectives.data.change import Change
from ldr.objectives.data.data import Data
from ldr.objectives.data.samples import Samples
from ldr.objectives.families.nested import NestedMethod
from ldr.objectives.families.pencil import Pencil, RowPencil, SumOfSquares
from ldr.objectives.families.shrinking import Shrinking
from ldr.objectives.families.trace import Trace, trace_where_varied
from ldr.objectives.families.trace_ratio import TraceRatio, trace_ratio
from ldr.objectives.families.whitened_trace import whitened_trace
from ldr.objectives.families.wide import WidePencil, against_total, of_classes
from ldr.objectives.graphs import Graph, as_graph, given_weights, lle_weights, within_classes
from ldr.objectives.needs import Need
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import number, whole
from ldr.objectives.statistics import (
    class_moments,
    graph_scatter,
    moments,
    reconstruction_scatter,
)
from ldr.objectives.statistics.covariance import KnownScatter
from ldr.objectives.statistics.products import CentredRows, Form
from ldr.objectives.view import Compact
from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds import Array

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class Scatters(Pencil):
    """The matrices of a graph method: A = X'LX or X'(I - W)'(I - W)X, B = X'DX or X'X.

    The terms of A are those of B.

    Attributes
    ----------
    total : ndarray (k, k)
        X'X.
    unrelated : float
        What A is, in units of B, of rows that have nothing to do with their neighbours.
    """

    size: float = 1.0
    total: Array = field(kw_only=True)
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
    return Scatters(stats.within, squares, total=total, unrelated=1.0 - classes / n)


def _rest(rows: Samples, shares: Array, middle: Array) -> Array | float:
    """What a weighted mean has beyond its first number; sparse rows are shifted anyway."""
    return 0.0 if rows.is_sparse else rows.centred_transpose_times(shares, middle)


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

    @property
    def weighted(self) -> bool:  # type: ignore[override]
        """Of the classes alone: a row is not its own neighbour, however often it counts."""
        return isinstance(self.graph, str) and self.graph == "classes"

    @property
    def scale_free(self) -> bool:  # type: ignore[override]
        return not self.transposed and not sees_distances(self.graph)

    def compact(self, samples: Samples) -> Compact:
        return Compact.of(samples)

    def scatters(self, data: Data) -> RowPencil[Scatters]:
        """A against B, of the rows in any coordinates."""
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
            data = data.in_memory()
            compact, W = self.compact(data.samples), self._weights(data)
            matrices = partial(self._matrices, W=W)
            wide = self._wide(data.samples, W) if data.samples.wide else None

        def of(change: Change) -> Scatters:
            return matrices(change(compact.rows))

        return RowPencil(compact, of, self.of_spread, wide=wide)

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
    """Base of those that whiten B: exact by the bottom generalised eigenvectors of (A, B).

    Parameters
    ----------
    ridge : float
        Added to the diagonal of B, in units of its mean diagonal.
    """

    transposed = False
    exact = "yes"

    ridge: float = number(0.0)

    def bind(self, data: Data, r: int) -> Trace:
        return whitened_trace(self, self.shrunk_scatters(data), r, ridge=self.ridge)


@dataclass(frozen=True)
class OrthonormalGraph(GraphMethod):
    """Base of those of A alone: exact by its bottom eigenvectors, where something varies."""

    exact = "yes"

    def bind(self, data: Data, r: int) -> Trace:
        rows = self.scatters(data)
        return trace_where_varied(self, rows.view, rows.plain.A, rows.plain.total, r)


@dataclass(frozen=True)
class RatioGraph(NestedMethod, ShrinkingGraph):
    """Base of the ratios tr(M'AM) / tr(M'BM).

    Parameters
    ----------
    ridge : float
        Added to the diagonal of B, in units of its mean diagonal.
    """

    exact = "r = 1"

    ridge: float = number(0.0)

    def bind(self, data: Data, r: int) -> TraceRatio:
        return trace_ratio(self, self.shrunk_scatters(data), r, ridge=self.ridge)


@dataclass(frozen=True)
class LaplacianMethod(GraphMethod):
    """Base of the methods of X'LX, L = D - W, D the row sums of W.

    Parameters
    ----------
    graph : {"neighbours", "epsilon", "classes", "class-neighbours"} or sparse n x n matrix
        "neighbours": the symmetrised k-nearest-neighbour graph; "epsilon": rows within that
        distance; "classes": weight 1/n_k between two members of class k, from the labels y;
        "class-neighbours": neighbours of the same class; or symmetric weights of the user's.
    heat : float or "median" or None
        Weight exp(-||x_i - x_j||^2 / heat) of an edge, "median" being the median squared distance
        of the graph's edges; None gives weight 1.
    epsilon : float, optional
        Distance of the epsilon graph.
    """

    of_spread = "X'DX"

    heat: float | str | None = None
    epsilon: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        graph = self._graph()
        for name in ("heat", "epsilon"):
            object.__setattr__(self, name, getattr(graph, name))

    def _graph(self) -> Graph:
        return Graph(self.graph, self.neighbours, self.heat, self.epsilon)

    def _weights(self, data: Data) -> csr_array:
        return as_graph(self._graph(), data.samples, data.y)

    def _middle(self, rows: Samples, mean: Array, degrees: Array) -> tuple[Array, Array]:
        """Where the rows are centred in X'DX, and the shares of the rows in it: at the mean."""
        return mean, np.full(rows.n, 1.0 / rows.n)

    def _matrices(self, rows: Samples, W: csr_array) -> Scatters:
        rows = rows.in_memory()
        stats, degrees = moments(rows), W.sum(axis=1)
        middle, shares = self._middle(rows, stats.mean, degrees)
        A, B = graph_scatter(rows, W, middle, _rest(rows, shares, middle))
        known = KnownScatter(stats.scatter, stats.n)
        squares = SumOfSquares(B, middle, degrees.sum(), scatter=known)
        return Scatters(A, squares, total=stats.scatter, unrelated=1.0 - W.trace() / degrees.sum())

    def _wide(self, samples: Samples, W: csr_array) -> WidePencil:
        degrees = W.sum(axis=1)
        rows = CentredRows.of(samples)
        about = rows.about(self._middle(samples, rows.mean, degrees)[0])
        from scipy.sparse import diags_array

        L = (diags_array(degrees) - W).tocsr()
        B = Form(about, about, degrees)
        return WidePencil(about, Form(rows, rows, L), B, about.squares(degrees))


@dataclass(frozen=True)
class Residuals:
    """(I - W)'(I - W)."""

    W: csr_array

    def __matmul__(self, Y: Array) -> Array:
        Y = Y - self.W @ Y
        return np.asarray(Y - self.W.T @ Y)


@dataclass(frozen=True)
class ReconstructionMethod(GraphMethod):
    """Base of the methods of X'(I - W)'(I - W)X, the rows of W summing to 1.

    Parameters
    ----------
    graph : {"neighbours", "classes", "class-neighbours"} or sparse n x n matrix
        "neighbours": the weights of locally linear embedding, which reconstruct each row from its
        k nearest neighbours; "class-neighbours": from those of its class; "classes": 1/n_k
        between two members of class k; or weights of the user's.
    regularisation : float
        Of the weights: this share of the trace of each row's local Gram matrix is added to its
        diagonal.
    """

    of_spread = "X'X"

    regularisation: float = number(1e-3)

    def __post_init__(self) -> None:
        if isinstance(self.graph, str) and self.graph == "epsilon":
            raise ArgumentError(
                "graph='epsilon' has no reconstruction weights; expected 'neighbours', "
                "'class-neighbours', 'classes' or a matrix"
            )
        super().__post_init__()

    def _weights(self, data: Data) -> csr_array:
        if not isinstance(self.graph, str):
            return given_weights(self.graph, data.samples.n)

        def weights(samples: Samples, k: int) -> csr_array:
            return lle_weights(samples, k, self.regularisation)

        if self.graph == "neighbours":
            return weights(data.samples, self.neighbours)
        return within_classes(weights, data.samples, data.y, self.neighbours)

    def _matrices(self, rows: Samples, W: csr_array) -> Scatters:
        rows = rows.in_memory()
        stats = moments(rows)
        shares = np.full(rows.n, 1.0 / rows.n)
        A = reconstruction_scatter(rows, W, stats.mean, _rest(rows, shares, stats.mean))
        known = KnownScatter(stats.scatter, stats.n)
        squares = SumOfSquares(stats.scatter, stats.mean, stats.n, scatter=known)
        left = 1.0 + (W.multiply(W).sum() - 2.0 * W.trace()) / rows.n  # ||I - W||^2 / n
        return Scatters(A, squares, total=stats.scatter, unrelated=left)

    def _wide(self, samples: Samples, W: csr_array) -> WidePencil:
        rows = CentredRows.of(samples)
        total = Form(rows, rows, rows.counts)
        return WidePencil(rows, Form(rows, rows, Residuals(W)), total, rows.squares(rows.counts))
