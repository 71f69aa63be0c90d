"""Locality preserving projections: neighbours stay together."""

from __future__ import annotations

import numpy as np

from ldr.objectives.data.samples import Samples
from ldr.objectives.families.graph import OrthonormalGraph, RatioGraph, WhitenedGraph
from ldr.objectives.families.laplacian import LaplacianMethod
from ldr.objectives.parameters import word
from ldr.solvers.manifolds import Array
from ldr.solvers.records import dataclass


@dataclass(frozen=True)
class LPP(WhitenedGraph, LaplacianMethod):
    """Keep neighbours together: min sum_ij w_ij ||y_i - y_j||^2 / 2 subject to Y'DY = I.

    In M: min tr(M' B^{-1/2} A B^{-1/2} M) with A = X'LX, B = X'DX, L = D - W, D the row sums of W;
    P = M'B^{-1/2}. Exact by the bottom generalised eigenvectors of (A, B).

    Parameters
    ----------
    centre : {"mean", "degree"}
        Where X is centred in X'DX, which is not blind to it: at its mean, or at the mean weighted
        by the degrees, which makes Y'D1 = 0 as in Laplacian eigenmaps.
    """

    name = "lpp"
    formula = "min tr(M'B^{-1/2} X'LX B^{-1/2} M), B = X'DX"
    source = "He & Niyogi 2003; Kokiopoulou, Chen & Saad 2011"
    baseline = "bottom generalised eigenvectors of (X'LX, X'DX)"

    centre: str = word("mean", ("mean", "degree"))

    def _middle(self, rows: Samples, mean: Array, degrees: Array) -> tuple[Array, Array]:
        if self.centre == "mean":
            return super()._middle(rows, mean, degrees)
        shares = degrees / np.sum(degrees)
        return mean + rows.centred_transpose_times(shares, mean), shares

    def _shares(self, degrees: Array) -> Array | None:
        return None if self.centre == "mean" else degrees / np.sum(degrees)


@dataclass(frozen=True)
class OLPP(OrthonormalGraph, LaplacianMethod):
    """Keep neighbours together: min sum_ij w_ij ||y_i - y_j||^2 / 2 = tr(M'X'LX M), M orthonormal.

    L = D - W, D the row sums of W. With the class graph X'LX is S_W.

    P = M'. Exact by the bottom eigenvectors, outside the directions in which nothing varies.
    """

    name = "olpp"
    formula = "min tr(M'X'LX M)"
    source = "Kokiopoulou & Saad 2007; Kokiopoulou, Chen & Saad 2011"
    baseline = "bottom eigenvectors of X'LX"


@dataclass(frozen=True)
class OrthogonalLPP(RatioGraph, LaplacianMethod):
    """Keep neighbours together against the spread: min tr(M'X'LX M) / tr(M'X'DX M), M orthonormal.

    P = M'. The heuristic, the bottom generalised eigenvectors made orthonormal, minimises
    tr((M'BM)^{-1} M'AM) instead and is optimal here for r = 1 only.
    """

    name = "orthogonal-lpp"
    formula = "min tr(M'X'LX M) / tr(M'X'DX M)"
    source = "Kokiopoulou, Chen & Saad 2011; Ngo, Bellalij & Saad 2012"
    baseline = "orthonormalised generalised eigenvectors of (X'LX, X'DX)"
    sibling = "lpp"
