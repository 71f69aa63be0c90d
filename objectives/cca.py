"""Canonical correlation methods for two or more views."""

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
from ldr.objectives.families.white_views import (
    Bilinear,
    SharedDirections,
    shared_directions,
    white_bilinear,
)
from ldr.objectives.families.whitened import ShrinkingViews
from ldr.objectives.families.wide_pairs import correlated
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need, word
from ldr.objectives.problem import restated
from ldr.objectives.view import noted
from ldr.solvers.errors import ArgumentError, ObjectiveWarning, warn
from ldr.solvers.manifolds import Array


@dataclass(frozen=True)
class ManyViews(Objective, any_views=True, weighted=True, from_sums=True):
    """Base of the methods of covariances Cij of views i and j; each Mi (d_i x r) is orthonormal."""

    sense = "max"
    views = 2
    needs = (Need.SECOND_VIEW,)
    domain = "St x St"


def covariances(data: DataSums) -> list[Array]:
    """Return the covariances Cij of all pairs of views i < j, in the order of `combinations`."""
    return [a.cross(b) / a.n for a, b in combinations(data.views, 2)]


def variances(data: DataSums) -> list[Array]:
    """Return the covariance matrix Cii of each view."""
    return [view.scatter() / view.n for view in data.views]


def correlations(data: DataSums, ridge: float) -> CorrelationMatrices:
    """Return the matrices of sums of correlations, with each view's covariance as denominator."""
    return CorrelationMatrices(covariances(data), squares=variances(data), ridge=ridge)


def shared(data: DataSums, ridge: float) -> SharedMatrices:
    """Return the matrices of sums of covariances divided by the views' total variance."""
    return SharedMatrices(reduce(add, covariances(data)), squares=variances(data), ridge=ridge)


@dataclass(frozen=True)
class CorrelationMethod(ManyViews, predicts="view"):
    """Base of the methods defined by the covariances Caa, Cbb and Cab of two views a and b."""


@dataclass(frozen=True)
class ShrinkingCorrelation(ShrinkingViews, CorrelationMethod):
    """Base of the methods that divide by the views' own covariances Caa and Cbb."""


def orthogonal(method: ShrinkingViews, data: Data, r: int, how: str = "polar") -> MultiRatio:
    """Return the problem of orthogonal-cca; two very wide views are first reduced to subspaces."""
    views, shrunk = method.opened(data)
    ratio = partial(multi_ratio, method, r=r, shrunk=shrunk, orthonormalise=how)
    found = correlated(views, r, method.ridge)
    if found is None:
        return ratio(views, ridge=method.ridge)
    pair = [found.a, found.b]
    bound = ratio(pair, ridge=found.ridges, searched=found.residual, ends=found.in_columns)
    return restated(bound, views=noted(bound.views, found.note), answers=found)


@dataclass(frozen=True)
class OrthogonalCCA(ShrinkingCorrelation, relative_improvement=False, products="optimum"):
    r"""Orthogonal canonical correlation analysis (CCA) of two views.

    .. math::

        \max_{M_a'M_a = M_b'M_b = I} \frac{\operatorname{tr}(M_a'C_{ab}
        M_b)}{\sqrt{\operatorname{tr}(M_a'C_{aa} M_a) \operatorname{tr}(M_b'C_{bb} M_b)}}

    The maps are P_a = M_a' and P_b = M_b'. The baseline consists of the orthonormalised maps of cca
    and is optimal for r = 1 only. For three or more views take orthogonal-mcca.

    Use it to see what two views share in orthogonal projections of each view. Do not use it for
    tests, or for the largest correlation of each pair of components: take cca. The optimal
    orthogonal directions may explain little variance of the data.

    Source: Hotelling 1936; Cunningham & Ghahramani 2015, 3.1.4.

    Parameters
    ----------
    orthonormalise : {"polar", "qr"}
        Orthonormalisation of the baseline's maps. "polar" takes the nearest orthonormal matrix. Its
        baseline is better than that of "qr", and the improvement over it is smaller.
    """

    name = "orthogonal-cca"
    baseline = "maps of cca, orthonormalised"
    exact = "r = 1"

    orthonormalise: str = word("polar", ("polar", "qr"))

    def bind(self, data: Data, r: int) -> MultiRatio:
        how = self.orthonormalise
        if len(data.views) > 2 and how != "polar":
            raise ArgumentError(
                f"orthonormalise={how!r} requires two views, got {len(data.views)}: leave out "
                "orthonormalise="
            )
        return orthogonal(self, data, r, how)

    def matrices(self, data: DataSums) -> CorrelationMatrices:
        return correlations(data, self.ridge)


@dataclass(frozen=True)
class CCA(ShrinkingCorrelation, transposed=False, scale_free=True, stacks=True, products="optimum"):
    r"""Canonical correlation analysis (CCA) of two views.

    .. math:: \max_{P_a C_{aa} P_a' = P_b C_{bb} P_b' = I} \operatorname{tr}(P_a C_{ab} P_b')

    For covariances C_aa, C_ab and C_bb of the views the whitened problem is max tr(M_a'C_aa^{-1/2}
    C_ab C_bb^{-1/2} M_b), with P_a = M_a'C_aa^{-1/2} and P_b = M_b'C_bb^{-1/2}. Leading singular
    vectors solve the problem exactly; the singular values are the canonical correlations, unchanged
    by invertible affine maps of either view. For views with d_a and d_b features and n samples,
    max(0, d_a + d_b - (n - 1)) correlations are always 1, and ldr warns. For more views take mcca.

    Use it for uncorrelated components, as in most textbooks; their directions are not orthogonal.
    Do not use it with more features than samples, where every correlation is 1: give shrinkage or a
    ridge, or take pls.

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
        """Return a message, and warn, if correlations are 1 because samples are few."""
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
    r"""MAXDIFF: sum of covariances of all pairs of views.

    .. math:: \max_{M_i'M_i=I} \sum_{i<j} \operatorname{tr}(M_i'C_{ij} M_j)

    P_i = M_i'. For two views MAXDIFF is pls. For three or more views local optima are possible; the
    Lagrange multipliers at M can certify a global optimum.

    Use it for shared variation of three or more views of the same samples, weighted by variance: a
    generalisation of pls. Do not use it for views in different units, because covariances depend on
    units: take orthogonal-mcca.

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
    r"""MAXBET: sum of covariances of all pairs of views, and of the views' own variances.

    .. math:: \max_{M_i'M_i=I} \frac{1}{2} \sum_{i,j} \operatorname{tr}(M_i'C_{ij} M_j)

    P_i = M_i'. MAXBET solves the shared response model: with the best shared scores S (n x r), the
    maximiser minimises the sum of ||X_i - S M_i'||^2 over the views.

    Use it to represent several views in one space, such as brain recordings of several people who
    saw the same film, if each view's own variance should count. Do not use it if views differ in
    scale, because the view of largest variance dominates: scale the views, or take maxdiff, which
    omits the variances within views.

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

    P_i = M_i'. For two views the method is orthogonal-cca. The baseline consists of the directions
    of mcca, orthonormalised for each view.

    Use it for shared variation of three or more views. The projections are orthogonal, and do not
    change if a whole view is multiplied by a number. Do not use it with two views: orthogonal-cca
    is the same, and certifies the optimum for two views.

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

    The variance of a component, averaged over the K views, is 1. In terms of M_i' = P_i C_ii^{1/2}
    the constraint is sum_i M_i'M_i = K I. The leading eigenvectors of C w = lambda blkdiag(C_ii) w
    for the joint covariance C of the K views are the exact solution; the value is K sum(lambda -
    1)/2. The eigenvalues lambda, from 0 to K, are those of the sum of the projectors onto the
    views, as in generalised CCA (MAXVAR). For two views the method is cca.

    Use it for shared variation of three or more views: the optimum is global, and the directions of
    a view need not be orthogonal. Do not use it if each view should be projected orthogonally: take
    orthogonal-mcca or maxdiff.

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
