"""Locality preserving projections: neighbours stay together."""

from __future__ import annotations

from dataclasses import dataclass

from ldr.objectives.data.change import Change
from ldr.objectives.data.data import Data
from ldr.objectives.families.graph import LaplacianMethod
from ldr.objectives.families.nested import NestedMethod
from ldr.objectives.families.pencil import Pencil
from ldr.objectives.families.trace import Trace, trace_where_varied
from ldr.objectives.families.trace_ratio import TraceRatio, trace_ratio
from ldr.objectives.families.whitened_trace import whitened_trace
from ldr.solvers.checks import choice, keep_number


@dataclass(frozen=True)
class LPP(LaplacianMethod):
    """Keep neighbours together: min sum_ij w_ij ||y_i - y_j||^2 / 2 subject to Y'DY = I.

    In M: min tr(M' B^{-1/2} A B^{-1/2} M) with A = X'LX, B = X'DX, L = D - W, D the row sums of W;
    P = M'B^{-1/2}. Exact by the bottom generalised eigenvectors of (A, B).

    Source: He and Niyogi 2003; Kokiopoulou, Chen and Saad 2011.

    Parameters
    ----------
    graph, neighbours, heat, epsilon :
        See `LaplacianMethod`.
    ridge : float
        Added to the diagonal of X'DX, in units of its mean diagonal.
    centre : {"mean", "degree"}
        Where X is centred in X'DX, which is not blind to it: at its mean, or at the mean weighted
        by the degrees, which makes Y'D1 = 0 as in Laplacian eigenmaps.
    """

    name = "lpp"
    formula = "min tr(M'B^{-1/2} X'LX B^{-1/2} M), B = X'DX"
    source = "He & Niyogi 2003; Kokiopoulou, Chen & Saad 2011"
    sense = "min"
    needs = ("graph",)
    baseline = "bottom generalised eigenvectors of (X'LX, X'DX)"
    transposed = False
    exact = "yes"

    ridge: float = 0.0
    centre: str = "mean"

    def __post_init__(self) -> None:
        super().__post_init__()
        keep_number(self, "ridge")
        choice("centre", self.centre, ("mean", "degree"))

    def bind(self, data: Data, r: int) -> Trace:
        compact, scatters = self.sums(data, self.centre)

        def pencil(change: Change) -> Pencil:
            return scatters(change).pencil

        return whitened_trace(self, compact, pencil, r, what="X'DX", ridge=self.ridge)


@dataclass(frozen=True)
class OLPP(LaplacianMethod):
    """Keep neighbours together: min sum_ij w_ij ||y_i - y_j||^2 / 2 = tr(M'X'LX M), M orthonormal.

    L = D - W, D the row sums of W. With the class graph X'LX is S_W.

    P = M'. Exact by the bottom eigenvectors, outside the directions in which nothing varies.

    Source: Kokiopoulou and Saad 2007; Kokiopoulou, Chen and Saad 2011.

    Parameters
    ----------
    graph, ... :
        See `LaplacianMethod`: which graph, and its parameters.
    """

    name = "olpp"
    formula = "min tr(M'X'LX M)"
    source = "Kokiopoulou & Saad 2007; Kokiopoulou, Chen & Saad 2011"
    sense = "min"
    needs = ("graph",)
    baseline = "bottom eigenvectors of X'LX"
    exact = "yes"

    def bind(self, data: Data, r: int) -> Trace:
        found = self.scatters(data)
        return trace_where_varied(self, found.view, found.A, found.total, r)


@dataclass(frozen=True)
class OrthogonalLPP(NestedMethod, LaplacianMethod):
    """Keep neighbours together against the spread: min tr(M'X'LX M) / tr(M'X'DX M), M orthonormal.

    P = M'. The heuristic, the bottom generalised eigenvectors made orthonormal, minimises
    tr((M'BM)^{-1} M'AM) instead and is optimal here for r = 1 only.

    Source: Kokiopoulou, Chen and Saad 2011; Ngo, Bellalij and Saad 2012.

    Parameters
    ----------
    graph, ... :
        See `LaplacianMethod`: which graph, and its parameters.
    ridge : float
        Added to the diagonal of X'DX, in units of its mean diagonal.
    nested :
        See `NestedMethod`.
    """

    name = "orthogonal-lpp"
    formula = "min tr(M'X'LX M) / tr(M'X'DX M)"
    source = "Kokiopoulou, Chen & Saad 2011; Ngo, Bellalij & Saad 2012"
    sense = "min"
    needs = ("graph",)
    baseline = "orthonormalised generalised eigenvectors of (X'LX, X'DX)"
    exact = "r = 1"

    ridge: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        keep_number(self, "ridge")

    def bind(self, data: Data, r: int) -> TraceRatio:
        found = self.scatters(data)
        return trace_ratio(self, found.view, found.A, found.B, r, what="X'DX", ridge=self.ridge)
