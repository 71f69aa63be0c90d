"""Locality preserving projections: neighbours stay together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldr.objectives.data.data import Data
from ldr.objectives.data.samples import Samples
from ldr.objectives.families.graph import LaplacianMethod, ShrinkingGraph
from ldr.objectives.families.nested import NestedMethod
from ldr.objectives.families.trace import Trace, trace_where_varied
from ldr.objectives.families.trace_ratio import TraceRatio, trace_ratio
from ldr.objectives.families.whitened_trace import whitened_trace
from ldr.objectives.parameters import number, word
from ldr.solvers.manifolds import Array


@dataclass(frozen=True)
class LPP(ShrinkingGraph, LaplacianMethod):
    """Keep neighbours together: min sum_ij w_ij ||y_i - y_j||^2 / 2 subject to Y'DY = I.

    In M: min tr(M' B^{-1/2} A B^{-1/2} M) with A = X'LX, B = X'DX, L = D - W, D the row sums of W;
    P = M'B^{-1/2}. Exact by the bottom generalised eigenvectors of (A, B).

    Parameters
    ----------
    ridge : float
        Added to the diagonal of X'DX, in units of its mean diagonal.
    centre : {"mean", "degree"}
        Where X is centred in X'DX, which is not blind to it: at its mean, or at the mean weighted
        by the degrees, which makes Y'D1 = 0 as in Laplacian eigenmaps.
    """

    name = "lpp"
    formula = "min tr(M'B^{-1/2} X'LX B^{-1/2} M), B = X'DX"
    source = "He & Niyogi 2003; Kokiopoulou, Chen & Saad 2011"
    baseline = "bottom generalised eigenvectors of (X'LX, X'DX)"
    transposed = False
    exact = "yes"

    ridge: float = number(0.0)
    centre: str = word("mean", ("mean", "degree"))

    def bind(self, data: Data, r: int) -> Trace:
        return whitened_trace(self, self.shrunk_scatters(data), r, ridge=self.ridge)

    def _middle(self, rows: Samples, mean: Array, degrees: Array) -> tuple[Array, Array]:
        if self.centre == "mean":
            return super()._middle(rows, mean, degrees)
        shares = degrees / np.sum(degrees)
        return mean + rows.centred_transpose_times(shares, mean), shares


@dataclass(frozen=True)
class OLPP(LaplacianMethod):
    """Keep neighbours together: min sum_ij w_ij ||y_i - y_j||^2 / 2 = tr(M'X'LX M), M orthonormal.

    L = D - W, D the row sums of W. With the class graph X'LX is S_W.

    P = M'. Exact by the bottom eigenvectors, outside the directions in which nothing varies.
    """

    name = "olpp"
    formula = "min tr(M'X'LX M)"
    source = "Kokiopoulou & Saad 2007; Kokiopoulou, Chen & Saad 2011"
    baseline = "bottom eigenvectors of X'LX"
    exact = "yes"

    def bind(self, data: Data, r: int) -> Trace:
        rows = self.scatters(data)
        return trace_where_varied(self, rows.view, rows.plain.A, rows.plain.total, r)


@dataclass(frozen=True)
class OrthogonalLPP(NestedMethod, ShrinkingGraph, LaplacianMethod):
    """Keep neighbours together against the spread: min tr(M'X'LX M) / tr(M'X'DX M), M orthonormal.

    P = M'. The heuristic, the bottom generalised eigenvectors made orthonormal, minimises
    tr((M'BM)^{-1} M'AM) instead and is optimal here for r = 1 only.

    Parameters
    ----------
    ridge : float
        Added to the diagonal of X'DX, in units of its mean diagonal.
    """

    name = "orthogonal-lpp"
    formula = "min tr(M'X'LX M) / tr(M'X'DX M)"
    source = "Kokiopoulou, Chen & Saad 2011; Ngo, Bellalij & Saad 2012"
    baseline = "orthonormalised generalised eigenvectors of (X'LX, X'DX)"
    exact = "r = 1"
    sibling = "lpp"

    ridge: float = number(0.0)

    def bind(self, data: Data, r: int) -> TraceRatio:
        return trace_ratio(self, self.shrunk_scatters(data), r, ridge=self.ridge)
