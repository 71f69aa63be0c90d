"""Methods of a graph on the rows: Laplacian and reconstruction scatters, by kind of graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ldr.objectives.data.cells import Matrix
from ldr.objectives.data.change import Change
from ldr.objectives.data.data import Data
from ldr.objectives.data.labels import as_labels
from ldr.objectives.data.samples import Samples
from ldr.objectives.families.pencil import Pencil, SumOfSquares
from ldr.objectives.graphs import Graph, as_graph, given_weights, lle_weights, within_classes
from ldr.objectives.objective import Objective
from ldr.objectives.statistics import (
    class_moments,
    graph_scatter,
    moments,
    reconstruction_scatter,
)
from ldr.objectives.view import Compact, View
from ldr.solvers.checks import keep_number, keep_whole
from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds import Array

if TYPE_CHECKING:
    from scipy.sparse import csr_array


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
    weight : float
        The trace of D, or the number of rows.
    """

    compact: Compact
    mean: Array
    A: Array
    B: Array
    total: Array
    weight: float

    @property
    def view(self) -> View:
        """The way back."""
        return self.compact.view(self.mean)

    @property
    def pencil(self) -> Pencil:
        """(A, B); the terms of X'LX are those of X'DX."""
        return Pencil(self.A, SumOfSquares(self.B, self.mean, self.weight), size=1.0)


Sums = Callable[[Change], Scatters]


def class_scatters(data: Data) -> tuple[Compact, Sums]:
    """Of the class graph H, h_ij = 1/n_k for i and j in class k.

    H = ZZ' with Z the scaled class indicators, D = I and I - H is a projector: both X'LX and
    X'(I - H)'(I - H)X are S_W, both X'DX and X'X are nC, and the n x n graph, dense within each
    class, is not formed.
    """
    codes, classes = as_labels(data.y, data.samples.n)
    compact = Compact.of(data.samples)

    def scatters(change: Change) -> Scatters:
        stats = class_moments(change(compact.rows), codes, len(classes))
        total = stats.total
        return Scatters(compact, stats.mean, stats.within, total, total, stats.counts.sum())

    return compact, scatters


def _rest(rows: Samples, shares: Array, middle: Array) -> Array | float:
    """What a weighted mean has beyond its first number; sparse rows are shifted anyway."""
    return 0.0 if rows.is_sparse else rows.centred_transpose_times(shares, middle)


def check_labels(data: Data, graph: object, name: str) -> None:
    """Refuse a graph of classes without labels."""
    if isinstance(graph, str) and "class" in graph:
        data.require("labels", name)


def sees_distances(graph: object) -> bool:
    """Whether the graph is made of distances between rows, which the units of columns change."""
    return isinstance(graph, str) and graph != "classes"


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

    graph: str | Matrix = "neighbours"
    neighbours: int = 10
    heat: float | str | None = None
    epsilon: float | None = None

    def __post_init__(self) -> None:
        graph = self._graph()
        for number in ("neighbours", "heat", "epsilon"):
            object.__setattr__(self, number, getattr(graph, number))

    @property
    def scale_free(self) -> bool:  # type: ignore[override]
        return not self.transposed and not sees_distances(self.graph)

    def _graph(self) -> Graph:
        return Graph(self.graph, self.neighbours, self.heat, self.epsilon)

    def scatters(self, data: Data) -> Scatters:
        """X'LX and X'DX, of the rows as they are."""
        return self.sums(data)[1](Change())

    def sums(self, data: Data, centre: str = "mean") -> tuple[Compact, Sums]:
        """X'LX and X'DX of the rows in any coordinates; centred at the mean, or at the mean
        weighted by the degrees.
        """
        check_labels(data, self.graph, self.name)
        if isinstance(self.graph, str) and self.graph == "classes":
            return class_scatters(data)
        data = data.in_memory()
        compact = Compact.of(data.samples)
        W = as_graph(self._graph(), data.samples, data.y)

        def scatters(change: Change) -> Scatters:
            rows = change(compact.rows).in_memory()
            stats, degrees = moments(rows), W.sum(axis=1)
            middle, shares = stats.mean, np.full(rows.n, 1.0 / rows.n)
            if centre == "degree":
                shares = degrees / degrees.sum()
                middle = middle + rows.centred_transpose_times(shares, middle)
            A, B = graph_scatter(rows, W, middle, _rest(rows, shares, middle))
            return Scatters(compact, middle, A, B, stats.scatter, degrees.sum())

        return compact, scatters


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

    graph: str | Matrix = "neighbours"
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

    @property
    def scale_free(self) -> bool:  # type: ignore[override]
        return not self.transposed and not sees_distances(self.graph)

    def scatters(self, data: Data) -> Scatters:
        """X'(I - W)'(I - W)X and X'X, of the rows as they are."""
        return self.sums(data)[1](Change())

    def sums(self, data: Data) -> tuple[Compact, Sums]:
        """X'(I - W)'(I - W)X and X'X of the rows in any coordinates."""
        check_labels(data, self.graph, self.name)
        if isinstance(self.graph, str) and self.graph == "classes":
            return class_scatters(data)
        data = data.in_memory()
        compact = Compact.of(data.samples)
        W = self._weights(data)

        def scatters(change: Change) -> Scatters:
            rows = change(compact.rows).in_memory()
            stats = moments(rows)
            shares = np.full(rows.n, 1.0 / rows.n)
            A = reconstruction_scatter(rows, W, stats.mean, _rest(rows, shares, stats.mean))
            return Scatters(compact, stats.mean, A, stats.scatter, stats.scatter, stats.n)

        return compact, scatters

    def _weights(self, data: Data) -> csr_array:
        if not isinstance(self.graph, str):
            return given_weights(self.graph, data.samples.n)

        def weights(samples: Samples, k: int) -> csr_array:
            return lle_weights(samples, k, self.regularisation)

        if self.graph == "neighbours":
            return weights(data.samples, self.neighbours)
        return within_classes(weights, data.samples, data.y, self.neighbours)
