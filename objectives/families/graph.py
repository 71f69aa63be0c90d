"""Methods of a graph on the rows: Laplacian and reconstruction scatters, by kind of graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ldr.objectives.graphs import Graph, as_graph, given_weights, lle_weights, within_classes
from ldr.objectives.objective import Compact, Data, Objective
from ldr.objectives.samples import as_labels
from ldr.objectives.statistics import (
    class_moments,
    graph_scatter,
    mean,
    moments,
    reconstruction_scatter,
)
from ldr.solvers.checks import keep_number, keep_whole
from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds import Array


@dataclass(frozen=True)
class Scatters:
    """The matrices of a graph method, of the rows of `compact` centred at `mean`.

    Attributes
    ----------
    compact : Compact
    mean : ndarray
    A : ndarray
        X'LX, or X'(I - W)'(I - W)X.
    B : ndarray
        X'DX, or X'X.
    total : ndarray
        X'X.
    """

    compact: Compact
    mean: Array
    A: Array
    B: Array
    total: Array

    @property
    def centre(self) -> Array:
        """The mean in the user's columns."""
        return self.compact.mean(self.mean)


def class_scatters(data: Data) -> Scatters:
    """Of the class graph H, h_ij = 1/n_k for i and j in class k.

    H = ZZ' with Z the scaled class indicators, D = I and I - H is a projector: both X'LX and
    X'(I - H)'(I - H)X are S_W, both X'DX and X'X are nC, and the n x n graph, dense within each
    class, is not formed.
    """
    codes, classes = as_labels(data.y, data.samples.n)
    compact = Compact.of(data.samples)
    stats = class_moments(compact.rows, codes, len(classes))
    total = stats.within + stats.between
    return Scatters(compact, stats.mean, stats.within, total, total)


def check_labels(data: Data, graph: Any, name: str) -> None:
    """Refuse a graph of classes without labels."""
    if isinstance(graph, str) and "class" in graph:
        data.require("labels", name)


@dataclass(frozen=True)
class LaplacianMethod(Objective):
    """Base of the methods of X'LX, L = D - W, D the row sums of W.

    Parameters
    ----------
    graph : {"neighbours", "epsilon", "classes", "class-neighbours"} or sparse n x n matrix
        "neighbours": the symmetrised k-nearest-neighbour graph; "epsilon": rows within that
        distance; "classes": weight 1/n_k between two members of class k, from the labels y;
        "class-neighbours": neighbours of the same class; or symmetric weights of the user's.
    neighbours : int
        k of the neighbour graph.
    heat : float or "median" or None
        Weight exp(-||x_i - x_j||^2 / heat) of an edge, "median" being the median squared distance
        of the graph's edges; None gives weight 1.
    epsilon : float, optional
        Distance of the epsilon graph.
    """

    graph: Any = "neighbours"
    neighbours: int = 10
    heat: float | str | None = None
    epsilon: float | None = None

    def __post_init__(self) -> None:
        graph = self._graph()
        for number in ("neighbours", "heat", "epsilon"):
            object.__setattr__(self, number, getattr(graph, number))

    def _graph(self) -> Graph:
        return Graph(self.graph, self.neighbours, self.heat, self.epsilon)

    def scatters(self, data: Data, centre: str = "mean") -> Scatters:
        """X'LX and X'DX; centred at the mean, or at the mean weighted by the degrees."""
        check_labels(data, self.graph, self.name)
        if isinstance(self.graph, str) and self.graph == "classes":
            return class_scatters(data)
        data = data.in_memory()
        compact = Compact.of(data.samples)
        W = as_graph(self._graph(), data.samples, data.y)
        stats = moments(compact.rows)
        middle = stats.mean
        if centre == "degree":
            degrees = W.sum(axis=1)
            offsets = compact.rows.centred_transpose_times(degrees, middle)
            middle = middle + offsets / degrees.sum()
        return Scatters(
            compact, middle, *graph_scatter(compact.rows, W, middle), total=stats.scatter
        )


@dataclass(frozen=True)
class ReconstructionMethod(Objective):
    """Base of the methods of X'(I - W)'(I - W)X, the rows of W summing to 1.

    Parameters
    ----------
    graph : {"neighbours", "classes", "class-neighbours"} or sparse n x n matrix
        "neighbours": the weights of locally linear embedding, which reconstruct each row from its
        k nearest neighbours; "class-neighbours": from those of its class; "classes": 1/n_k
        between two members of class k; or weights of the user's.
    neighbours : int
        k.
    regularisation : float
        Of the weights: this share of the trace of each row's local Gram matrix is added to its
        diagonal.
    """

    graph: Any = "neighbours"
    neighbours: int = 10
    regularisation: float = 1e-3

    def __post_init__(self) -> None:
        if isinstance(self.graph, str) and self.graph == "epsilon":
            raise ArgumentError(
                "graph='epsilon' has no reconstruction weights; expected 'neighbours', "
                "'class-neighbours', 'classes' or a matrix"
            )
        Graph(self.graph, self.neighbours)
        keep_whole(self, "neighbours", 1)
        keep_number(self, "regularisation")

    def scatters(self, data: Data) -> Scatters:
        """X'(I - W)'(I - W)X and X'X."""
        check_labels(data, self.graph, self.name)
        if isinstance(self.graph, str) and self.graph == "classes":
            return class_scatters(data)
        data = data.in_memory()
        compact = Compact.of(data.samples)
        W = self._weights(data)
        stats = moments(compact.rows)
        A = reconstruction_scatter(compact.rows, W, mean(compact.rows))
        return Scatters(compact, stats.mean, A, stats.scatter, stats.scatter)

    def _weights(self, data: Data) -> Any:
        if not isinstance(self.graph, str):
            return given_weights(self.graph, data.samples.n)

        def weights(samples: Any, k: int) -> Any:
            return lle_weights(samples, k, self.regularisation)

        if self.graph == "neighbours":
            return weights(data.samples, self.neighbours)
        return within_classes(weights, data.samples, data.y, self.neighbours)
