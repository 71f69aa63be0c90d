"""Locality preserving and neighbourhood preserving projections (LPP, NPE)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ldr.objectives.data.data import Data, Samples
from ldr.objectives.families.matrices import RowSums
from ldr.objectives.graphs import (
    GraphMethod,
    LaplacianMethod,
    NeighbourWeights,
    OrthonormalGraph,
    RatioGraph,
    WhitenedGraph,
    given_weights,
    lle_weights,
    residuals,
    within_classes,
)
from ldr.objectives.parameters import number, word
from ldr.objectives.statistics.products import Squares, scaled_rows
from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds import Array

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class LPP(WhitenedGraph, LaplacianMethod):
    r"""Locality preserving projections (LPP).

    .. math:: \min_{Y'DY=I} \frac{1}{2} \sum_{ij} w_{ij} \|y_i - y_j\|^2

    The Laplacian is L = D - W for the weights W of a graph, where D is the diagonal matrix of W's
    row sums. In whitened variables the problem is min tr(M'B^{-1/2} A B^{-1/2} M), with A = X'LX, B
    = X'DX and P = M'B^{-1/2}. The bottom generalised eigenvectors of (X'LX, X'DX) are optimal.

    Use it to keep neighbours close, in components of unit variance. Do not use it with thousands of
    features, because a d x d scatter is formed.

    Source: He & Niyogi 2003; Kokiopoulou, Chen & Saad 2011.

    Parameters
    ----------
    centre : {"mean", "degree"}
        The mean that is subtracted from the rows of X: the plain mean, or the mean weighted by the
        degrees of the graph's vertices, as in Laplacian eigenmaps.
    """

    name = "lpp"
    baseline = "bottom generalised eigenvectors of (X'LX, X'DX)"

    centre: str = word("mean", ("mean", "degree"))

    def _shares(self, degrees: Array) -> Array | None:
        return None if self.centre == "mean" else degrees / np.sum(degrees)


@dataclass(frozen=True)
class OLPP(OrthonormalGraph, LaplacianMethod):
    r"""Orthogonal locality preserving projections (OLPP): LPP over orthonormal M.

    .. math:: \min_{M'M=I} \operatorname{tr}(M'X'LXM)

    The Laplacian is L = D - W for the weights W of a graph, where D is the diagonal matrix of W's
    row sums. With graph="classes" the matrix X'LX is the within-class scatter. P = M'. Among
    directions of nonzero variance the bottom eigenvectors of X'LX are optimal.

    Use it to keep neighbours close, with orthonormal directions. Do not use it if the variance of
    some directions is very small, as such directions are optimal: take orthogonal-lpp or pca first.

    Source: Kokiopoulou & Saad 2007; Kokiopoulou, Chen & Saad 2011.
    """

    name = "olpp"
    baseline = "bottom eigenvectors of X'LX"


@dataclass(frozen=True)
class OrthogonalLPP(RatioGraph, LaplacianMethod):
    r"""Orthogonal locality preserving projections (LPP): the trace ratio.

    .. math:: \min_{M'M=I} \frac{\operatorname{tr}(M'X'LXM)}{\operatorname{tr}(M'X'DXM)}

    The Laplacian is L = D - W for the weights W of a graph, where D is the diagonal matrix of W's
    row sums. P = M'. The baseline consists of the orthonormalised bottom generalised eigenvectors
    of (X'LX, X'DX) and is optimal for r = 1 only.

    Use it to keep neighbours close relative to the total variation, in an orthogonal projection. Do
    not use it to unfold a curved manifold.

    Source: Kokiopoulou, Chen & Saad 2011; Ngo, Bellalij & Saad 2012.
    """

    name = "orthogonal-lpp"
    baseline = "orthonormalised generalised eigenvectors of (X'LX, X'DX)"
    sibling = "lpp"


@dataclass(frozen=True)
class ReconstructionMethod(GraphMethod):
    """Base of the methods of X'(I - W)'(I - W)X, the rows of W summing to 1.

    Parameters
    ----------
    graph : {"neighbours", "classes", "class-neighbours"} or sparse n x n matrix
        "neighbours": the weights of locally linear embedding, which reconstruct each row from its k
        nearest neighbours; "class-neighbours": from the k nearest rows of its class; "classes":
        weight 1/n_k between members of a class of n_k samples; or the user's weights. Sample
        weights multiply the squared residuals.
    regularisation : float
        Constant added to the diagonal of each row's local Gram matrix, as a share of its trace.
    """

    divisor = "X'X"

    regularisation: float = number(1e-3)

    def __post_init__(self) -> None:
        if self.kind == "epsilon":
            raise ArgumentError(
                "graph='epsilon' has no reconstruction weights; expected 'neighbours', "
                "'class-neighbours', 'classes' or a matrix"
            )
        super().__post_init__()

    def _weights(self, data: Data) -> csr_array:
        if not self.kind:
            return given_weights(self.graph, data.samples.n)

        def weights(samples: Samples, k: int) -> csr_array:
            return lle_weights(samples, k, self.regularisation)

        if self.kind == "neighbours":
            return weights(data.samples, self.neighbours)
        return within_classes(weights, data.samples, data.y, self.neighbours)

    def _forms(self, rows: RowSums, W: csr_array) -> dict[str, Any]:
        moving = NeighbourWeights(W, self.regularisation) if self.kind else None
        R, w = residuals(W), rows.weights
        R = R if w is None else scaled_rows(R, np.sqrt(w))
        left = W.multiply(W).sum(axis=1) - 2.0 * W.diagonal()  # squared row norms of I - W, less 1
        return {
            "A": rows.form(Squares(R), moving),
            "B": rows.scatter(),
            "unrelated": lambda: 1.0 + float(np.average(left, weights=w)),
        }


@dataclass(frozen=True)
class NPE(WhitenedGraph, ReconstructionMethod):
    r"""Neighbourhood preserving embedding (NPE).

    .. math:: \min_{Y'Y=I} \|(I - W)Y\|_F^2

    The matrix W contains the weights of locally linear embedding. In whitened variables the problem
    is min tr(M'B^{-1/2} A B^{-1/2} M), with A = X'(I-W)'(I-W)X, B = X'X and P = M'B^{-1/2}. The
    bottom generalised eigenvectors of the pair (A, B) are the exact solution.

    Use it to preserve each sample's reconstruction from neighbours, in components of unit variance:
    a linear version of locally linear embedding. Do not use it with more neighbours than features,
    because the weights are not unique.

    Source: He, Cai, Yan & Zhang 2005; Kokiopoulou, Chen & Saad 2011.
    """

    name = "npe"
    baseline = "bottom generalised eigenvectors of (X'(I-W)'(I-W)X, X'X)"


@dataclass(frozen=True)
class ONPP(OrthonormalGraph, ReconstructionMethod):
    r"""Orthogonal neighbourhood preserving projections (ONPP): NPE over orthonormal M.

    .. math:: \min_{M'M=I} \|(I - W)XM\|_F^2

    The matrix W contains the weights of locally linear embedding. With graph="classes" the matrix
    X'(I - W)'(I - W)X is the within-class scatter. P = M'. Among directions of nonzero variance the
    bottom eigenvectors of X'(I - W)'(I - W)X are optimal.

    Use it to preserve each sample's reconstruction from neighbours, with orthonormal directions. Do
    not use it if the variance of some directions is very small, because such directions are
    optimal: take orthogonal-npe, or pca before the method.

    Source: Kokiopoulou & Saad 2007; Kokiopoulou, Chen & Saad 2011.
    """

    name = "onpp"
    baseline = "bottom eigenvectors of X'(I-W)'(I-W)X"


@dataclass(frozen=True)
class OrthogonalNPE(RatioGraph, ReconstructionMethod):
    r"""Orthogonal neighbourhood preserving embedding (NPE): the trace ratio.

    .. math:: \min_{M'M=I} \frac{\|(I - W)XM\|_F^2}{\|XM\|_F^2}

    The matrix W contains the weights of locally linear embedding. P = M'. The baseline consists of
    the orthonormalised bottom generalised eigenvectors of the pair (X'(I - W)'(I - W)X, X'X) and is
    optimal for r = 1 only.

    Use it to preserve each sample's reconstruction from neighbours, relative to the total
    variation, in an orthogonal projection. Do not use it to unfold a curved manifold.

    Source: Kokiopoulou, Chen & Saad 2011; Ngo, Bellalij & Saad 2012.
    """

    name = "orthogonal-npe"
    baseline = "orthonormalised generalised eigenvectors of (X'(I-W)'(I-W)X, X'X)"
    sibling = "npe"
