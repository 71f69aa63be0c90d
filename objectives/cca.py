"""Canonical correlations: of two views, and of several at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial, reduce
from itertools import combinations
from operator import add

from ldr.objectives.data.data import Data
from ldr.objectives.families.matrices import (
    CorrelationMatrices,
    DataSums,
    OfViews,
    PairMatrices,
    SharedMatrices,
)
from ldr.objectives.families.multi_block import MultiBlock, MultiRatio, multi_ratio, multi_trace
from ldr.objectives.families.pencil import ShrinkingViews
from ldr.objectives.families.white_views import (
    Bilinear,
    SharedDirections,
    shared_directions,
    white_bilinear,
)
from ldr.objectives.families.wide_pairs import correlated
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need, word
from ldr.objectives.problem import restated
from ldr.objectives.view import noted
from ldr.solvers.errors import ArgumentError, ObjectiveWarning, warn
from ldr.solvers.manifolds import Array


@dataclass(frozen=True)
class ManyViews(Objective, any_views=True, weighted=True, from_sums=True):
    """Methods of the covariances Cij of two or more views, Mi orthonormal with r columns each."""

    sense = "max"
    views = 2
    needs = (Need.SECOND_VIEW,)
    domain = "St x St"


def covariances(data: DataSums) -> list[Array]:
    """Return the Cij of all pairs i < j, in the order of `combinations`."""
    return [a.cross(b) / a.n for a, b in combinations(data.views, 2)]


def variances(data: DataSums) -> list[Array]:
    """Return the Cii."""
    return [view.scatter() / view.n for view in data.views]


def correlations(data: DataSums, ridge: float) -> CorrelationMatrices:
    """Return the correlations of views, each divided by its own variance."""
    return CorrelationMatrices(covariances(data), squares=variances(data), ridge=ridge)


def shared(data: DataSums, ridge: float) -> SharedMatrices:
    """Return the covariances of views, divided by their total variance."""
    return SharedMatrices(reduce(add, covariances(data)), squares=variances(data), ridge=ridge)


@dataclass(frozen=True)
class CorrelationMethod(ManyViews, predicts="view"):
    """Base of the methods of the covariances Caa and Cbb of two views, and Cab between them."""


@dataclass(frozen=True)
class ShrinkingCorrelation(ShrinkingViews, CorrelationMethod):
    """Base of the methods that divide by Caa and Cbb."""


def orthogonal(method: ShrinkingViews, data: Data, r: int, how: str = "polar") -> MultiRatio:
    """Return the correlations of orthonormal Mi; pairs of very wide views in subspaces."""
    views, shrunk = method.opened(data)
    ratio = partial(multi_ratio, method, r=r, shrunk=shrunk, orthonormalise=how)
    found = correlated(views, r, method.ridge)
    if found is None:
        return ratio(views, ridge=method.ridge)
    pair = [found.a, found.b]
    bound = ratio(pair, ridge=found.ridges, rest=found, ends=found.in_columns)
    return restated(bound, views=noted(bound.views, found.note), answers=found)


@dataclass(frozen=True)
class OrthogonalCCA(ShrinkingCorrelation, relative_improvement=False, products="optimum"):
    r"""Orthogonal canonical correlation analysis (CCA) of two views.

    .. math::

        \max_{M_a'M_a = M_b'M_b = I} \frac{\operatorname{tr}(M_a'C_{ab}
        M_b)}{\sqrt{\operatorname{tr}(M_a'C_{aa} M_a) \operatorname{tr}(M_b'C_{bb} M_b)}}

    P_a = M_a', P_b = M_b'. The baseline is the maps of cca, each made orthonormal separately; it is
    optimal for r = 1 only. For three views or more it is orthogonal-mcca.

    Use it to see what two views share in orthogonal projections of both. Do not use it to test, or
    to have the largest correlation of each pair of components: take cca. Orthogonal
    directions may hardly vary.

    Source: Hotelling 1936; Cunningham & Ghahramani 2015, 3.1.4.

    Parameters
    ----------
    orthonormalise : {"polar", "qr"}
        How the baseline's maps are made orthonormal; "polar", the nearest, is the conservative
        choice, because the improvement over it is smaller.
    """

    name = "orthogonal-cca"
    baseline = "maps of cca, orthonormalised"
    exact = "r = 1"

    orthonormalise: str = word("polar", ("polar", "qr"))

    def bind(self, data: Data, r: int) -> MultiRatio:
        how = self.orthonormalise
        if len(data.views) > 2 and how != "polar":
            raise ArgumentError(f"orthonormalise={how!r} of orthogonal-cca is for two views alone")
        return orthogonal(self, data, r, how)

    def matrices(self, data: DataSums) -> CorrelationMatrices:
        return correlations(data, self.ridge)


@dataclass(frozen=True)
class CCA(ShrinkingCorrelation, transposed=False, scale_free=True, stacks=True, products="optimum"):
    r"""Canonical correlation analysis (CCA) of two views.

    .. math:: \max_{P_a C_{aa} P_a' = P_b C_{bb} P_b' = I} \operatorname{tr}(P_a C_{ab} P_b')

    In the whitened variables max tr(M_a'C_aa^{-1/2} C_ab C_bb^{-1/2} M_b), P_a = M_a'C_aa^{-1/2},
    P_b = M_b'C_bb^{-1/2}: the sum of the canonical correlations. Exact by the leading singular
    vectors; the singular values are the correlations, unchanged by invertible affine maps of either
    view. On n samples in general position max(0, d_a + d_b - (n - 1)) of them are 1 whatever the
    data: a warning says so. For three views or more it is mcca.

    Use it for the textbook's canonical correlations, whose components are uncorrelated but whose
    directions are not orthogonal. Do not use it with more features than samples, where every
    correlation is 1: give shrinkage or a ridge, or take pls.

    Source: Hotelling 1936; Burges 2010, 4.4.
    """

    name = "cca"
    baseline = "leading singular vectors of Caa^{-1/2} Cab Cbb^{-1/2}"
    exact = "yes"

    def bind(self, data: Data, r: int) -> Bilinear | SharedDirections:
        views, shrunk = self.opened(data)
        if len(views) > 2:
            return shared_directions(self, views, r, ridge=self.ridge, shrunk=shrunk)
        bound, n = white_bilinear(self, views, r, ridge=self.ridge, shrunk=shrunk)
        rows = int(n) if views[0].rows.weights is None else views[0].rows.counting
        trivial = self._trivial(sum(bound.K.shape) - (rows - 1))
        return restated(bound, views=noted(bound.views, *trivial))

    def matrices(self, data: DataSums) -> OfViews:
        if len(data.views) > 2:
            return shared(data, self.ridge)
        (K,) = covariances(data)
        return PairMatrices(K, squares=variances(data), ridge=self.ridge)

    def _trivial(self, ones: int) -> list[str]:
        """A note of the correlations that are 1 because there are few samples, with a warning."""
        if ones <= 0 or self.ridge > 0 or self.shrinkage is not None:
            return []
        note = (
            f"{ones} canonical correlation(s) are 1 for any data, because there are too few "
            "rows: give ridge= a positive value, or more rows"
        )
        warn(f"{self.name}: {note}", ObjectiveWarning)
        return [note]


@dataclass(frozen=True)
class MaxDiff(ManyViews):
    r"""MAXDIFF: the covariances of all pairs of views.

    .. math:: \max_{M_i'M_i=I} \sum_{i<j} \operatorname{tr}(M_i'C_{ij} M_j)

    P_i = M_i'. For two views it is pls. From three views on local optima are possible; M is
    certified if its multipliers prove it optimal.

    Use it for the variation that three views or more of the same samples share, weighted by its
    size: pls for any number of views. Do not use it for views in different units, whose covariances
    it compares: take orthogonal-mcca.

    Source: Van de Geer 1984; ten Berge 1988; Hanafi & Kiers 2006.
    """

    name = "maxdiff"
    baseline = "blocks of the top eigenvectors of the Cij, i != j, orthonormalised"

    def bind(self, data: Data, r: int) -> MultiBlock:
        return multi_trace(self, data, r, room=r)

    def matrices(self, data: DataSums) -> PairMatrices:
        return PairMatrices(reduce(add, covariances(data)))


@dataclass(frozen=True)
class MaxBet(ManyViews):
    r"""MAXBET: the covariances of all views, own variances included.

    .. math:: \max_{M_i'M_i=I} \frac{1}{2} \sum_{i,j} \operatorname{tr}(M_i'C_{ij} M_j)

    P_i = M_i'. It is the shared response model: the sum of ||X_i - S M_i'||^2 over the views, with
    the best S, is smallest where this is largest.

    Use it to show several views in one space, such as the brains of several people who saw the same
    film, if each view's own variance counts too. Do not use it if a view of large variance should
    not dominate: scale the views first, or take maxdiff, which leaves own variances out.

    Source: Van de Geer 1984; ten Berge 1988; Chen et al. 2015 (shared response).
    """

    name = "maxbet"
    baseline = "blocks of the top eigenvectors of the Cij, orthonormalised"

    def bind(self, data: Data, r: int) -> MultiBlock:
        return multi_trace(self, data, r, within=True)

    def matrices(self, data: DataSums) -> PairMatrices:
        own = [0.5 * (view.cross(view) / view.n) for view in data.views]
        return PairMatrices(reduce(add, [*covariances(data), *own]))


@dataclass(frozen=True)
class OrthogonalMCCA(ShrinkingViews, ManyViews, relative_improvement=False, products="optimum"):
    r"""Orthogonal multiset canonical correlation analysis (MCCA).

    .. math::

        \max_{M_i'M_i=I} \sum_{i<j} \frac{\operatorname{tr}(M_i'C_{ij} M_j)}{s_i s_j}, \quad
        s_i^2 = \operatorname{tr}(M_i'C_{ii} M_i)

    P_i = M_i'. For two views it is orthogonal-cca. The baseline is the directions of mcca, made
    orthonormal for each view.

    Use it for the variation that three views or more share, whatever their units and variances, in
    orthogonal projections of all. Do not use it with two views: orthogonal-cca is the same, with a
    certificate for two.

    Source: Kettenring 1971; Cunningham & Ghahramani 2015, 3.1.4.
    """

    name = "orthogonal-mcca"
    baseline = "maps of mcca, orthonormalised"

    def bind(self, data: Data, r: int) -> MultiRatio:
        return orthogonal(self, data, r)

    def matrices(self, data: DataSums) -> CorrelationMatrices:
        return correlations(data, self.ridge)


@dataclass(frozen=True)
class MCCA(ShrinkingViews, ManyViews, transposed=False, scale_free=True):
    r"""Multiset canonical correlation analysis (MCCA), also generalised CCA (MAXVAR).

    .. math::

        \max_P \sum_{i<j} \operatorname{tr}(P_i C_{ij} P_j'), \quad \frac{1}{K} \sum_i P_i
        C_{ii} P_i' = I

    Averaged over the K views a component has unit variance; in the whitened variables sum_i M_i'M_i
    = K I, P_i = M_i'C_ii^{-1/2}. Exact by the leading eigenvectors of C w = lambda blkdiag(C_ii) w,
    the value is K sum(lambda - 1)/2; lambda, from 0 to K, are the eigenvalues of the sum of the
    projectors on the views, so that this is generalised orthogonal-cca (maxvar) too. For two views
    it is cca.

    Use it for the variation that three views or more share: the directions of each view need not be
    orthogonal, and the optimum is global. Do not use it if views are to be projected orthogonally:
    take orthogonal-mcca or maxdiff.

    Source: Kettenring 1971 (MAXVAR); Carroll 1968 (generalised CCA).
    """

    name = "mcca"
    baseline = "leading eigenvectors of C w = lambda blkdiag(Cii) w"
    domain = "Gr"
    exact = "yes"

    def bind(self, data: Data, r: int) -> SharedDirections:
        views, shrunk = self.opened(data)
        return shared_directions(self, views, r, ridge=self.ridge, shrunk=shrunk)

    def matrices(self, data: DataSums) -> SharedMatrices:
        return shared(data, self.ridge)
