"""Graph methods of the Laplacian: neighbours stay together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldr.objectives.data.data import Data, UnknownError
from ldr.objectives.data.samples import Samples
from ldr.objectives.families.graph import GraphMethod, Scatters, rest, shares_of
from ldr.objectives.families.matrices import PencilMatrices, RowForms
from ldr.objectives.families.moving_weights import HeatedEdges, MovingDegrees, MovingLaplacian
from ldr.objectives.families.pencil import SumOfSquares
from ldr.objectives.families.wide import WidePencil
from ldr.objectives.graphs import Graph, as_graph
from ldr.objectives.statistics import graph_scatter, mean
from ldr.objectives.statistics.products import CentredRows, Form
from ldr.objectives.statistics.sparse import scaled_rows
from ldr.solvers.manifolds import Array
from ldr.solvers.records import dataclass

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def laplacian(W: csr_array) -> csr_array:
    """D - W, D the row sums of W."""
    from scipy.sparse import diags_array

    return (diags_array(W.sum(axis=1)) - W).tocsr()


@dataclass(frozen=True)
class LaplacianMethod(GraphMethod):
    """Base of the methods of X'LX, L = D - W, D the row sums of W.

    Parameters
    ----------
    graph : {"neighbours", "epsilon", "classes", "class-neighbours"} or sparse n x n matrix
        "neighbours": the symmetrised k-nearest-neighbour graph; "epsilon": rows within that
        distance; "classes": weight 1/n_k between two members of class k, from the labels y;
        "class-neighbours": neighbours of the same class; or symmetric weights of the user's. Of
        rows with weights an edge counts w_i w_j times.
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
        W, weights = as_graph(self._graph(), data.samples, data.y), data.samples.weights
        if weights is None:
            return W
        return scaled_rows(scaled_rows(W, weights).T.tocsr(), weights)  # W is symmetric

    def _forms(self, rows: RowForms, W: csr_array) -> PencilMatrices:
        degrees = W.sum(axis=1)
        if (shares := self._shares(degrees)) is not None:
            rows = rows.about(shares)
        if self.heat is None or not isinstance(self.graph, str):
            A, B = rows.form(laplacian(W)), rows.form(degrees)
            return PencilMatrices(A, B, -1.0, shares=shares)
        if shares is not None or (self.graph == "class-neighbours" and self.heat == "median"):
            raise UnknownError  # shares, and widths of each class, move too
        edges = HeatedEdges(W, self.heat)
        A, B = (
            rows.form(laplacian(W), MovingLaplacian(edges)),
            rows.form(degrees, MovingDegrees(edges)),
        )
        return PencilMatrices(A, B, -1.0)

    def _shares(self, degrees: Array) -> Array | None:
        """Of the rows in what is subtracted; None is their mean."""
        return None

    def _middle(self, rows: Samples, mean: Array, degrees: Array) -> tuple[Array, Array]:
        """Where the rows are centred in X'DX, and the shares of the rows in it: at the mean."""
        return mean, shares_of(rows)

    def _matrices(self, rows: Samples, W: csr_array) -> Scatters:
        rows = rows.in_memory()
        degrees = W.sum(axis=1)
        middle, shares = self._middle(rows, mean(rows), degrees)
        A, B = graph_scatter(rows, W, middle, rest(rows, shares, middle))
        squares = SumOfSquares(B, middle, degrees.sum())
        return Scatters(A, squares, unrelated=1.0 - W.trace() / degrees.sum())

    def _wide(self, samples: Samples, W: csr_array) -> WidePencil:
        degrees = W.sum(axis=1)
        rows = CentredRows.of(samples).distinct
        about = rows.about(self._middle(samples, rows.mean, degrees)[0])
        B = Form(about, about, degrees)
        return WidePencil(about, Form(rows, rows, laplacian(W)), B, about.squares(degrees))
