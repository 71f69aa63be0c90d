"""Sparse methods: a smooth objective with an l1 penalty on M."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from ldr.objectives.cca import CorrelationMethod, OrthogonalCCA
from ldr.objectives.data.data import Data
from ldr.objectives.families.composite import WeightedSum, weighted_sum
from ldr.objectives.lda import OrthogonalLDA
from ldr.objectives.objective import L1, Objective, Shorthand, known_everywhere
from ldr.objectives.parameters import Need, number
from ldr.objectives.pca import PCA
from ldr.objectives.problem import BoundObjective
from ldr.objectives.view import orthomax
from ldr.solvers.manifolds import Array, nearest_with_zeros


@dataclass(frozen=True)
class SparseMethod(Shorthand, weighted=True):
    """Base of methods that add a penalty on ||M||_1, M orthonormal, to a smooth method."""

    kind: ClassVar[type[WeightedSum]] = WeightedSum

    domain = "St"
    exact = "penalty = 0"

    penalty: float = number(1.0, power=2)

    @property
    @abstractmethod
    def smooth(self) -> Objective:
        """The method without the penalty."""

    def expanded(self) -> Objective:
        return self.smooth + L1(self.penalty)

    def order(self, data: Data) -> int:
        return self.smooth.order(known_everywhere(self.smooth, data))

    def bind(self, data: Data, r: int) -> BoundObjective:
        smooth = self.smooth.bind(known_everywhere(self.smooth, data), r)
        return weighted_sum(self, [1.0], [smooth], penalty=self.penalty, kind=self.kind)


@dataclass(frozen=True)
class SparseLDA(SparseMethod, predicts="classes"):
    r"""Sparse linear discriminant analysis (LDA): the trace ratio with an l1 penalty.

    .. math::

        \max_{M'M=I} \frac{\operatorname{tr}(M'S_B M)}{\operatorname{tr}(M'S_W M)} - \lambda
        \|M\|_1

    The parameter `penalty` is the weight lambda of the l1 norm. The norm ||M||_1 lies between r, if
    each direction is a single feature, and r sqrt(d). Zeros of M are exact. Features should be
    standardised; with fewer samples than features a ridge is required. P = M'.
    `ldr.regularisation_path` solves a sequence of penalties, and `ldr.refit` removes the shrinkage.
    The baseline, that of orthogonal-lda, is not sparse. Local optima exist.

    Use it instead of orthogonal-lda if each direction should depend on few features. Do not use it
    if sparsity is not needed: take orthogonal-lda, which is certified.

    Source: Clemmensen, Hastie, Witten & Ersboll 2011 (another form); Chen, Ma, So & Zhang 2020.

    Parameters
    ----------
    penalty : float
        Weight of the penalty subtracted from the ratio, lambda >= 0; 0 gives orthogonal-lda.
    ridge : float
        Constant added to the diagonal of S_W, relative to the mean eigenvalue in the span of the
        samples.
    """

    name = "sparse-lda"
    sense = "max"
    needs = (Need.LABELS,)
    baseline = "heuristic of orthogonal-lda"

    penalty: float = number(0.3)
    ridge: float = number(0.0)

    @property
    def smooth(self) -> OrthogonalLDA:
        return OrthogonalLDA(ridge=self.ridge)


@dataclass(frozen=True)
class SparseCCA(SparseMethod, CorrelationMethod, relative_improvement=False):
    r"""Sparse canonical correlation analysis (CCA), orthogonal, with an l1 penalty.

    .. math::

        \max_{M_a'M_a = M_b'M_b = I} \frac{\operatorname{tr}(M_a'C_{ab}
        M_b)}{\sqrt{\operatorname{tr}(M_a'C_{aa} M_a) \operatorname{tr}(M_b'C_{bb} M_b)}} -
        \lambda (\|M_a\|_1 + \|M_b\|_1)

    lambda is `penalty`. Zeros are exact. Features should be standardised; with fewer samples than
    features a ridge is required, because directions without variance do not change the correlation.
    The maps of the two views are P_a = M_a' and P_b = M_b'. `ldr.regularisation_path` solves a
    sequence of penalties with warm starts, and `ldr.refit` removes the shrinkage. The baseline,
    that of orthogonal-cca, is not sparse. Local optima exist.

    Use it instead of orthogonal-cca if each direction should depend on few features of its view. Do
    not use it if sparsity is not needed: take orthogonal-cca, or cca, which is exact.

    Source: Witten, Tibshirani & Hastie 2009 (another form); Chen, Ma, So & Zhang 2020.

    Parameters
    ----------
    penalty : float
        Weight of the penalty subtracted from the correlation, lambda >= 0; 0 gives orthogonal-cca.
    ridge : float
        Constants added to the diagonals of Caa and Cbb, relative to the mean eigenvalues in the
        spans of the samples.
    """

    name = "sparse-cca"
    baseline = "heuristic of orthogonal-cca"
    domain = "St x St"

    penalty: float = number(0.01)
    ridge: float = number(0.0)

    @property
    def smooth(self) -> OrthogonalCCA:
        return OrthogonalCCA(ridge=self.ridge)


# Largest number of rotations of the loadings of the initial point.
_ROTATIONS = 500


@dataclass(frozen=True)
class PenalisedLoadings(WeightedSum):
    """The reconstruction error of pca with a penalty on the loadings."""

    @cached_property
    def _thresholded(self) -> Array:
        (term,) = self.terms
        loadings = term.bound.closed_form()
        assert loadings is not None
        L = term.bound.lift(loadings)[0]
        V = self.lower([L @ orthomax(L, 1.0, _ROTATIONS)])
        # The thresholded 2X'XV is twice X'XV thresholded by half of the penalty's weight.
        covariances = -self.at(V).gradient
        # A component with constant scores keeps its loadings, because its covariances are zero.
        covariances = np.where(covariances.any(axis=0), covariances, V)
        assert self.penalty is not None
        M = self.penalty.prox(covariances, 1.0)
        largest = np.abs(covariances).argmax(axis=0)
        empty = np.flatnonzero(~M.any(axis=0))
        M[largest[empty], empty] = covariances[largest[empty], empty]
        return nearest_with_zeros(M)

    def baseline(self) -> Array:
        return self._thresholded


@dataclass(frozen=True)
class SparsePCA(SparseMethod):
    r"""Sparse principal component analysis (PCA), with an l1 penalty.

    .. math:: \min_{M'M=I} \|X - XMM'\|_F^2 + \lambda \|M\|_1

    X is centred, and lambda is the parameter `penalty`. As the squared error is a sum over samples
    and features, suitable penalties are proportional to n and the features' variance. An entry of M
    is nonzero only if the squared error then decreases by more than lambda |m_ij|, roughly. The
    norm ||M||_1 is between r (a single nonzero entry in each column of M) and r sqrt(d). Zeros of M
    are exact. P = M'.

    The baseline soft-thresholds the entries of X'XV by lambda/2, where V contains the
    varimax-rotated loadings of pca. The baseline's columns are orthonormalised, with zeros kept if
    possible. The solver runs smoothing, then proximal gradients. Local optima exist.

    Use it instead of pca if directions with few features are required for interpretation. Do not
    use it for uncorrelated components or for the largest variance: take pca.

    Source: Jolliffe, Trendafilov & Uddin 2003 (the penalty); Chen, Ma, So & Zhang 2020 (the
    method); Kaiser 1958 (varimax).

    Parameters
    ----------
    penalty : float
        Weight of the penalty added to the squared error, lambda >= 0; 0 gives pca.
    """

    name = "sparse-pca"
    sense = "min"
    baseline = "soft-thresholded rotated loadings"
    kind = PenalisedLoadings

    @property
    def smooth(self) -> PCA:
        return PCA()
