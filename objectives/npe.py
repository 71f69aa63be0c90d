"""Neighbourhood preserving projections: rows stay what their neighbours make of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ldr.objectives.data.data import Data
from ldr.objectives.data.samples import Samples
from ldr.objectives.families.graph import (
    GraphMethod,
    OrthonormalGraph,
    RatioGraph,
    Scatters,
    WhitenedGraph,
    rest,
    shares_of,
)
from ldr.objectives.families.matrices import PencilMatrices, RowForms
from ldr.objectives.families.moving_weights import MovingResiduals, residuals
from ldr.objectives.families.pencil import SumOfSquares
from ldr.objectives.families.wide import WidePencil
from ldr.objectives.graphs import given_weights, lle_weights, within_classes
from ldr.objectives.parameters import number
from ldr.objectives.statistics import moments, reconstruction_scatter
from ldr.objectives.statistics.covariance import KnownScatter
from ldr.objectives.statistics.products import CentredRows, Form, Squares
from ldr.objectives.statistics.sparse import scaled_rows
from ldr.solvers.errors import ArgumentError
from ldr.solvers.records import dataclass

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class ReconstructionMethod(GraphMethod):
    """Base of the methods of X'(I - W)'(I - W)X, the rows of W summing to 1.

    Parameters
    ----------
    graph : {"neighbours", "classes", "class-neighbours"} or sparse n x n matrix
        "neighbours": the weights of locally linear embedding, which reconstruct each row from its
        k nearest neighbours; "class-neighbours": from those of its class; "classes": 1/n_k
        between two members of class k; or weights of the user's. Of rows with weights what is left
        of each counts w_i times.
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

    def _forms(self, rows: RowForms, W: csr_array) -> PencilMatrices:
        moving = MovingResiduals(W, self.regularisation) if isinstance(self.graph, str) else None
        return PencilMatrices(rows.form(Squares(residuals(W)), moving), rows.scatter(), -1.0)

    def _matrices(self, rows: Samples, W: csr_array) -> Scatters:
        rows = rows.in_memory()
        stats = moments(rows)
        shares = shares_of(rows)
        A = reconstruction_scatter(rows, W, stats.mean, rest(rows, shares, stats.mean))
        known = KnownScatter(stats.scatter, stats.n)
        squares = SumOfSquares(stats.scatter, stats.mean, stats.n, scatter=known)
        left = 1.0 + shares @ (W.multiply(W).sum(axis=1) - 2.0 * W.diagonal())  # ||I - W||^2 / n
        return Scatters(A, squares, unrelated=left)

    def _wide(self, samples: Samples, W: csr_array) -> WidePencil:
        rows = CentredRows.of(samples).distinct
        total, R = Form(rows, rows, rows.counts), residuals(W)
        left = Squares(scaled_rows(R, np.sqrt(rows.counts)))
        return WidePencil(rows, Form(rows, rows, left), total, rows.squares(rows.counts))


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
