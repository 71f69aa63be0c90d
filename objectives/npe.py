"""Neighbourhood preserving projections: rows stay what their neighbours make of them."""

from __future__ import annotations

from dataclasses import dataclass

from ldr.objectives.families.graph import OrthonormalGraph, RatioGraph, WhitenedGraph
from ldr.objectives.families.reconstruction import ReconstructionMethod


@dataclass(frozen=True)
class NPE(WhitenedGraph, ReconstructionMethod):
    """Keep each row's reconstruction from its neighbours: min ||(I - W)Y||_F^2 with Y'Y = I.

    In M: min tr(M' B^{-1/2} A B^{-1/2} M) with A = X'(I-W)'(I-W)X and B = X'X, W the weights of
    locally linear embedding; P = M'B^{-1/2}. Exact by the bottom generalised eigenvectors.
    """

    name = "npe"
    formula = "min tr(M'B^{-1/2} X'(I-W)'(I-W)X B^{-1/2} M), B = X'X"
    source = "He, Cai, Yan & Zhang 2005; Kokiopoulou, Chen & Saad 2011"
    baseline = "bottom generalised eigenvectors of (X'(I-W)'(I-W)X, X'X)"


@dataclass(frozen=True)
class ONPP(OrthonormalGraph, ReconstructionMethod):
    """Keep each row's reconstruction from its neighbours: min ||(I - W)XM||_F^2, M orthonormal.

    W are the weights of locally linear embedding. With the class graph it is S_W.

    P = M'. Exact by the bottom eigenvectors, outside the directions in which nothing varies.
    """

    name = "onpp"
    formula = "min tr(M'X'(I-W)'(I-W)X M)"
    source = "Kokiopoulou & Saad 2007; Kokiopoulou, Chen & Saad 2011"
    baseline = "bottom eigenvectors of X'(I-W)'(I-W)X"


@dataclass(frozen=True)
class OrthogonalNPE(RatioGraph, ReconstructionMethod):
    """Reconstruction error of neighbours against the spread, over orthonormal M:
    min tr(M'X'(I-W)'(I-W)X M) / tr(M'X'X M), W the weights of locally linear embedding.

    P = M'. The heuristic, the bottom generalised eigenvectors made orthonormal, minimises
    tr((M'BM)^{-1} M'AM) instead and is optimal here for r = 1 only.
    """

    name = "orthogonal-npe"
    formula = "min tr(M'X'(I-W)'(I-W)X M) / tr(M'X'X M)"
    source = "Kokiopoulou, Chen & Saad 2011; Ngo, Bellalij & Saad 2012"
    baseline = "orthonormalised generalised eigenvectors of (X'(I-W)'(I-W)X, X'X)"
    sibling = "npe"
