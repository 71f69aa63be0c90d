"""Locality preserving projections."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ldr.objectives.coordinates import Whitening
from ldr.objectives.families.trace import Trace
from ldr.objectives.graphs import Graph, as_graph
from ldr.objectives.objective import Compact, Data, Objective, Range
from ldr.objectives.ridge import add_ridge, check_ridge
from ldr.objectives.samples import Samples, as_labels
from ldr.objectives.statistics import class_moments, graph_scatter, mean
from ldr.solvers.manifolds import Array


@dataclass(frozen=True)
class LPP(Objective):
    """Keep neighbours together: min sum_ij w_ij ||y_i - y_j||^2 / 2 subject to Y'DY = I.

    In M: min tr(M' B^{-1/2} A B^{-1/2} M) with A = X'LX, B = X'DX, L = D - W, D the row sums of W;
    P = M'B^{-1/2}. Exact by the bottom generalised eigenvectors of (A, B).

    Source: He and Niyogi 2003; Kokiopoulou, Chen and Saad 2011.

    Parameters
    ----------
    graph : {"neighbours", "classes"} or sparse n x n matrix
        "neighbours": the symmetrised k-nearest-neighbour graph; "classes": weight 1/n_k between two
        members of class k, from the labels y; or symmetric weights of the user's.
    neighbours : int
        k of the neighbour graph.
    heat : float or "median" or None
        Weight exp(-||x_i - x_j||^2 / heat) of an edge, "median" being the median squared distance
        of the graph's edges; None gives weight 1.
    ridge : float
        Added to the diagonal of X'DX, in units of its mean diagonal.
    """

    name = "lpp"
    formula = "min tr(M'B^{-1/2} X'LX B^{-1/2} M), B = X'DX"
    source = "He & Niyogi 2003; Kokiopoulou, Chen & Saad 2011"
    sense = "min"
    needs = ("graph",)
    baseline = "bottom generalised eigenvectors of (X'LX, X'DX) (exact)"

    graph: Any = "neighbours"
    neighbours: int = 10
    heat: float | str | None = None
    ridge: float = 0.0

    def __post_init__(self) -> None:
        check_ridge(self.ridge)
        Graph(self.graph, self.neighbours, self.heat)

    def bind(self, data: Data, r: int) -> Trace:
        compact = Compact.of(data.samples)
        m, A, B = self._scatters(data, compact.rows)
        kept = Range.of(B, compact.coordinates, "X'DX")
        B, notes = add_ridge(kept(B), self.ridge, "X'DX")
        whitening = Whitening.of(B, kept.coordinates)
        return Trace(
            self,
            (compact.mean(m),),
            whitening(kept(A)),
            r,
            scale=-1.0,
            coordinates=(whitening,),
            notes=kept.notes + notes,
        )

    def _scatters(self, data: Data, rows: Samples) -> tuple[Array, Array, Array]:
        """Mean of the rows, X'LX and X'DX."""
        if isinstance(self.graph, str) and self.graph == "classes":
            # W = ZZ' with Z the scaled class indicators and D = I: X'LX is S_W, X'DX is nC, and
            # the n x n graph, dense within each class, need not be formed.
            data.require("labels", self.name)
            codes, classes = as_labels(data.y, data.samples.n)
            stats = class_moments(rows, codes, len(classes))
            return stats.mean, stats.within, stats.within + stats.between
        W = as_graph(Graph(self.graph, self.neighbours, self.heat), data.samples)
        m = mean(rows)
        return m, *graph_scatter(rows, W, m)
