"""Methods with few columns in each direction: a smooth objective and an l1 penalty on M."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import ClassVar

import numpy as np

from ldr.objectives.cca import CCA, CorrelationMethod
from ldr.objectives.data.data import Data
from ldr.objectives.data.footprint import Footprint
from ldr.objectives.families.terms import Penalised
from ldr.objectives.families.weighted_sum import weighted_sum
from ldr.objectives.l1 import L1
from ldr.objectives.lda import LDA
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need, number
from ldr.objectives.pca import PCA
from ldr.objectives.problem import BoundObjective
from ldr.solvers.manifolds import Array, nearest_with_zeros
from ldr.solvers.records import dataclass, replace


@dataclass(frozen=True)
class SparseMethod(Objective):
    """Base of the methods that are a smooth one and a penalty ||M||_1, with M orthonormal."""

    kind: ClassVar[type[Penalised]] = Penalised

    weighted = True
    domain = "St"
    exact = "penalty = 0"

    penalty: float = number(1.0, power=2)

    @property
    @abstractmethod
    def smooth(self) -> Objective:
        """The method without the penalty."""

    def expanded(self) -> Objective:
        return self.smooth + L1(self.penalty)

    def footprint(self, data: Data) -> Footprint:
        return self.smooth.footprint(data)

    def seen(self, data: Data) -> Data:
        return data.everywhere(self.smooth.arrays)

    def bind(self, data: Data, r: int) -> BoundObjective:
        smooth = self.smooth.bind(self.seen(data), r)
        return weighted_sum(self, [1.0], [smooth], penalty=self.penalty, kind=self.kind)


@dataclass(frozen=True)
class SparseLDA(SparseMethod):
    """Separate the classes by few columns: lda's trace ratio less penalty ||M||_1.

    max tr(M'S_B M)/tr(M'S_W M) - penalty ||M||_1, M orthonormal. ||M||_1 lies between r, where each
    direction is one column of X, and r sqrt(d). The zeros of M are exact. Columns should be
    standardised; fewer rows than columns need a ridge. P = M'. `ldr.regularisation_path` takes
    many penalties, each from the last M, and `ldr.refit` the shrinkage away. The heuristic is that
    of lda, which is not sparse; local optima exist.

    Parameters
    ----------
    penalty : float
        At least 0, in units of the ratio; with 0 this is lda.
    ridge : float
        Added to the diagonal of S_W, in units of its mean diagonal.
    """

    name = "sparse-lda"
    formula = "max tr(M'S_B M) / tr(M'S_W M) - penalty ||M||_1"
    source = "Clemmensen, Hastie, Witten & Ersboll 2011 (another form); Chen, Ma, So & Zhang 2020"
    sense = "max"
    needs = (Need.LABELS,)
    predicts = "classes"
    baseline = "lda's heuristic"

    penalty: float = number(0.3)
    ridge: float = number(0.0)

    @property
    def smooth(self) -> LDA:
        return LDA(ridge=self.ridge)


@dataclass(frozen=True)
class SparseCCA(SparseMethod, CorrelationMethod):
    """Correlate two views by few columns: cca's correlation less penalty (||Ma||_1 + ||Mb||_1).

    max tr(Ma'Cab Mb)/sqrt(tr(Ma'Caa Ma) tr(Mb'Cbb Mb)) - penalty (||Ma||_1 + ||Mb||_1), Ma and Mb
    orthonormal. The zeros are exact. Columns should be standardised; fewer rows than columns need
    a ridge, without which directions in which nothing varies cost nothing. Pa = Ma', Pb = Mb'.
    `ldr.regularisation_path` takes many penalties, each from the last M, and `ldr.refit` the
    shrinkage away. The heuristic is that of cca, which is not sparse; local optima exist.

    Parameters
    ----------
    penalty : float
        At least 0, in units of the correlation; with 0 this is cca.
    ridge : float
        Added to the diagonals of Caa and Cbb, in units of their mean diagonals.
    """

    name = "sparse-cca"
    formula = (
        "max tr(Ma'Cab Mb) / sqrt(tr(Ma'Caa Ma) tr(Mb'Cbb Mb)) - penalty (||Ma||_1 + ||Mb||_1)"
    )
    source = "Witten, Tibshirani & Hastie 2009 (another form); Chen, Ma, So & Zhang 2020"
    baseline = "cca's heuristic"
    domain = "St x St"
    relative_improvement = False

    penalty: float = number(0.01)
    ridge: float = number(0.0)

    @property
    def smooth(self) -> CCA:
        return CCA(ridge=self.ridge)

    def footprint(self, data: Data) -> Footprint:
        """Nothing is solved or proved in closed form, but without the penalty."""
        found = super().footprint(data)
        return replace(found, squares=0.5 * found.squares) if self.penalty else found


_ROTATIONS = 500
_STILL = 1e-12


@dataclass(frozen=True)
class PenalisedLoadings(Penalised):
    """The reconstruction error of pca with a penalty on the loadings."""

    @cached_property
    def _thresholded(self) -> Array:
        (term,) = self.smooth.terms
        loadings = term.bound.closed_form()
        assert loadings is not None
        V = self.lower([varimax(term.bound.lift(loadings)[0])])
        # -2 X'XV is the gradient, and soft(2A, 2t) = 2 soft(A, t): the factor does not matter.
        covariances = -self.at(V).gradient
        covariances = np.where(covariances.any(axis=0), covariances, V)  # where nothing varies
        M = self.penalty.prox(covariances, 1.0)
        largest = np.abs(covariances).argmax(axis=0)
        empty = np.flatnonzero(~M.any(axis=0))
        M[largest[empty], empty] = covariances[largest[empty], empty]
        return nearest_with_zeros(M)

    def baseline(self) -> Array:
        return self._thresholded


def varimax(V: Array) -> Array:
    """VR with the orthogonal R that maximises the variance of the squared loadings, column-wise.

    R <- polar factor of V'(L^3 - L diag(mean L^2)), L = VR, an ascent of the criterion.
    """
    R = np.eye(V.shape[1])
    for _ in range(_ROTATIONS):
        L = V @ R
        squares = L * L  # a power takes a hundred times as long as a product
        U, _, Wt = np.linalg.svd(V.T @ (L * (squares - squares.mean(axis=0))))
        last, R = R, U @ Wt
        if np.abs(R - last).max() <= _STILL:
            break
    return V @ R


@dataclass(frozen=True)
class SparsePCA(SparseMethod):
    """Reconstruct from few columns: min ||X - X M M'||_F^2 + penalty ||M||_1, M orthonormal.

    X is centred and n x d. The squared error is a sum over rows and columns, so that the penalty
    grows with n and with the variance of the columns: an entry of M pays where it explains about
    penalty/2 more. ||M||_1 lies between r, where each column of M picks one column of X, and
    r sqrt(d). The zeros of the returned M are exact, and M is orthonormal. P = M'.

    The heuristic is thresholded loadings: the pca loadings V in varimax rotation, then soft(X'XV,
    penalty/2), with orthonormal columns and the zeros kept where such a matrix is near. Solved by
    smoothing continuation and manifold proximal gradients; local optima exist.

    Source: Jolliffe, Trendafilov and Uddin 2003 (the penalty); Chen, Ma, So and Zhang 2020 (the
    method); Kaiser 1958 (varimax).

    Parameters
    ----------
    penalty : float
        At least 0, in the units of the squared error; with 0 this is pca.
    """

    name = "sparse-pca"
    formula = "min ||X - XMM'||^2 + penalty ||M||_1"
    source = "Jolliffe, Trendafilov & Uddin 2003; Chen, Ma, So & Zhang 2020"
    sense = "min"
    baseline = "soft-thresholded rotated loadings"
    kind = PenalisedLoadings

    @property
    def smooth(self) -> PCA:
        return PCA()
