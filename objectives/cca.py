"""Canonical correlations: of two views, and of several at once."""

from __future__ import annotations

from functools import reduce
from itertools import combinations
from operator import add

from ldr.objectives.data.data import Data, UnknownError
from ldr.objectives.data.footprint import Footprint
from ldr.objectives.families.bilinear import Bilinear, whitened_bilinear
from ldr.objectives.families.matrices import (
    CorrelationMatrices,
    DataForms,
    DataSums,
    OfViews,
    PairMatrices,
    SharedMatrices,
)
from ldr.objectives.families.multi_block import MultiBlock, MultiRatio, multi_ratio, multi_trace
from ldr.objectives.families.pencil import ShrinkingViews
from ldr.objectives.families.two_block import TwoBlock
from ldr.objectives.families.whitened_trace import SharedDirections, shared_directions
from ldr.objectives.families.wide_pairs import correlation
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need, word
from ldr.objectives.view import noted
from ldr.solvers.errors import ArgumentError, ObjectiveWarning
from ldr.solvers.manifolds import Array
from ldr.solvers.records import dataclass
from ldr.solvers.warn import warn


@dataclass(frozen=True)
class ManyViews(Objective):
    """Of the covariances Cij of two views or more, Mi orthonormal and all of the same r columns."""

    sense = "max"
    views = 2
    any_views = True
    weighted = True
    needs = (Need.SECOND_VIEW,)
    domain = "St x St"
    from_sums = True
    arrays = Footprint(squares=16.0, span=2.8)


def covariances(data: DataSums) -> list[Array]:
    """The Cij of all pairs i < j, in the order of `combinations`."""
    return [a.cross(b) / a.n for a, b in combinations(data.views, 2)]


def variances(data: DataSums) -> list[Array]:
    """The Cii."""
    return [view.scatter() / view.n for view in data.views]


def correlations(data: DataForms, ridge: float) -> CorrelationMatrices:
    """Of views that are each held against its own covariance."""
    return CorrelationMatrices(covariances(data), squares=variances(data), ridge=ridge)


def shared(data: DataForms, ridge: float) -> SharedMatrices:
    """Of views that are held against them together."""
    return SharedMatrices(reduce(add, covariances(data)), squares=variances(data), ridge=ridge)


@dataclass(frozen=True)
class CorrelationMethod(ManyViews):
    """Base of the methods of the covariances Caa and Cbb of two views, and Cab between them."""

    predicts = "view"
    arrays = Footprint(squares=16.0, span=3.0)


@dataclass(frozen=True)
class ShrinkingCorrelation(ShrinkingViews, CorrelationMethod):
    """Base of the methods that divide by Caa and Cbb."""


def orthogonal(
    method: ShrinkingViews, data: Data, r: int, how: str = "polar"
) -> TwoBlock | MultiRatio:
    """The correlations of orthonormal Mi."""
    views, shrunk = method.opened(data)
    if len(views) > 2:
        return multi_ratio(method, views, r, ridge=method.ridge, shrunk=shrunk)
    a, b = views
    return correlation(method, a, b, r, ridge=method.ridge, shrunk=shrunk, orthonormalise=how)


@dataclass(frozen=True)
class CCA(ShrinkingCorrelation):
    """Correlate two views: max tr(Ma'Cab Mb) / sqrt(tr(Ma'Caa Ma) tr(Mb'Cbb Mb)) on St x St.

    Pa = Ma', Pb = Mb'. The heuristic is traditional CCA's maps made orthonormal, each by itself; it
    is optimal for r = 1 only. Of three views or more it is orthogonal-mcca.

    Parameters
    ----------
    orthonormalise : {"polar", "qr"}
        How the heuristic's maps are made orthonormal; "polar", the nearest, is the conservative
        choice, because the improvement over it is smaller.
    """

    name = "cca"
    formula = "max tr(Ma'Cab Mb) / sqrt(tr(Ma'Caa Ma) tr(Mb'Cbb Mb))"
    source = "Hotelling 1936; Cunningham & Ghahramani 2015, 3.1.4"
    baseline = "traditional cca's maps, orthonormalised"
    exact = "r = 1"
    relative_improvement = False
    arrays = Footprint(squares=16.0, span=6.0, products=True)

    orthonormalise: str = word("polar", ("polar", "qr"))

    def bind(self, data: Data, r: int) -> TwoBlock | MultiRatio:
        how = self.orthonormalise
        if len(data.views) > 2 and how != "polar":
            raise ArgumentError(f"orthonormalise={how!r} of cca is for two views alone")
        return orthogonal(self, data, r, how)

    def forms(self, data: DataForms) -> CorrelationMatrices:
        return correlations(data, self.ridge)


@dataclass(frozen=True)
class ClassicalCCA(ShrinkingCorrelation):
    """Correlate two views: max tr(Ma'Caa^{-1/2} Cab Cbb^{-1/2} Mb), the sum of the correlations.

    Pa = Ma'Caa^{-1/2}, Pb = Mb'Cbb^{-1/2}. Exact by the leading singular vectors; the singular
    values are the canonical correlations, unchanged by invertible affine maps of either view. On n
    samples in general position max(0, da + db - (n - 1)) of them are 1 whatever the data: a warning
    says so. Of three views or more it is mcca.
    """

    name = "classical-cca"
    formula = "max tr(Ma'Caa^{-1/2} Cab Cbb^{-1/2} Mb)"
    source = "Hotelling 1936; Burges 2010, 4.4"
    baseline = "leading singular vectors of Caa^{-1/2} Cab Cbb^{-1/2}"
    transposed = False
    exact = "yes"
    scale_free = True
    stacks = True
    arrays = Footprint(span=3.0, products=True)

    def bind(self, data: Data, r: int) -> Bilinear | SharedDirections:
        views, shrunk = self.opened(data)
        if len(views) > 2:
            return shared_directions(self, views, r, ridge=self.ridge, shrunk=shrunk)
        a, b = views
        bound, n = whitened_bilinear(self, a, b, r, ridge=self.ridge, shrunk=shrunk)
        rows = int(n) if a.rows.weights is None else a.rows.counting
        trivial = self._trivial(sum(bound.K.shape) - (rows - 1))
        return bound.restated(views=noted(bound.views, *trivial))

    def matrices(self, data: DataSums) -> PairMatrices:
        if len(data.views) > 2:
            raise UnknownError
        (K,) = covariances(data)
        return PairMatrices(K, squares=variances(data), ridge=self.ridge)

    def forms(self, data: DataForms) -> OfViews:
        return shared(data, self.ridge) if len(data.views) > 2 else self.matrices(data)

    def _trivial(self, ones: int) -> list[str]:
        """A note of the correlations that are 1 because there are few samples, with a warning."""
        if ones <= 0 or self.ridge > 0 or self.shrinkage is not None:
            return []
        note = (
            f"{ones} canonical correlation(s) are 1 whatever the data, because there are so few "
            "rows: give ridge= a positive value, or more rows"
        )
        warn(f"{self.name}: {note}", ObjectiveWarning)
        return [note]


@dataclass(frozen=True)
class MaxDiff(ManyViews):
    """Covary all pairs of views: max sum_{i<j} tr(Mi'Cij Mj) over orthonormal M1, ..., MK.

    Pi = Mi'. Of two views it is pls. Several local optima are possible from three views on; where
    the multipliers at M prove it, it is certified.

    Source: Van de Geer 1984; ten Berge 1988; Hanafi and Kiers 2006.
    """

    name = "maxdiff"
    formula = "max sum_{i<j} tr(Mi'Cij Mj)"
    source = "Van de Geer 1984; ten Berge 1988"
    baseline = "blocks of the top eigenvectors of the Cij, i != j, orthonormalised"

    def bind(self, data: Data, r: int) -> MultiBlock:
        return multi_trace(self, data, r, room=r)

    def forms(self, data: DataForms) -> PairMatrices:
        return PairMatrices(reduce(add, covariances(data)))


@dataclass(frozen=True)
class MaxBet(ManyViews):
    """Covary all views, themselves included: max 1/2 sum_{i,j} tr(Mi'Cij Mj).

    M1, ..., MK orthonormal, Pi = Mi'. The shared response model: the sum of ||Xi - S Mi'||^2 over
    the views is least, for the best S, where it is largest.

    Source: Van de Geer 1984; ten Berge 1988; Chen et al. 2015 (shared response).
    """

    name = "maxbet"
    aliases = ("shared-response",)
    formula = "max 1/2 sum_{i,j} tr(Mi'Cij Mj)"
    source = "Van de Geer 1984; ten Berge 1988; Chen et al. 2015"
    baseline = "blocks of the top eigenvectors of the Cij, orthonormalised"

    def bind(self, data: Data, r: int) -> MultiBlock:
        return multi_trace(self, data, r, within=True)

    def forms(self, data: DataForms) -> PairMatrices:
        own = [0.5 * (view.cross(view) / view.n) for view in data.views]
        return PairMatrices(reduce(add, [*covariances(data), *own]))


@dataclass(frozen=True)
class OrthogonalMCCA(ShrinkingViews, ManyViews):
    """Correlate all pairs of views: max sum_{i<j} tr(Mi'Cij Mj)/(s_i s_j), Mi orthonormal.

    s_i^2 = tr(Mi'Cii Mi), Pi = Mi'. Of two views it is cca. The heuristic is the directions of
    classical multiset cca, each view's made orthonormal.

    Source: Kettenring 1971 (multiset cca); Cunningham and Ghahramani 2015, section 3.1.4.
    """

    name = "orthogonal-mcca"
    formula = "max sum_{i<j} tr(Mi'Cij Mj)/(s_i s_j), s_i^2 = tr(Mi'Cii Mi)"
    source = "Kettenring 1971; Cunningham & Ghahramani 2015, 3.1.4"
    baseline = "classical multiset cca's maps, orthonormalised"
    relative_improvement = False
    arrays = Footprint(squares=16.0, span=5.0, products=True)

    def bind(self, data: Data, r: int) -> TwoBlock | MultiRatio:
        return orthogonal(self, data, r)

    def forms(self, data: DataForms) -> CorrelationMatrices:
        return correlations(data, self.ridge)


@dataclass(frozen=True)
class MCCA(ShrinkingViews, ManyViews):
    """Correlate all pairs of views: max sum_{i<j} tr(Mi'Cii^{-1/2} Cij Cjj^{-1/2} Mj).

    sum_i Mi'Mi = K I of K views, Pi = Mi'Cii^{-1/2}: in the mean over the views a coordinate has
    unit variance. Exact by the leading eigenvectors of C w = lambda blkdiag(Cii) w, the value is
    K sum(lambda - 1)/2; lambda, from 0 to K, are the eigenvalues of the sum of the projectors on
    the views, so that this is generalised cca (maxvar) too. Of two views it is classical-cca.

    Source: Kettenring 1971 (maxvar); Carroll 1968 (generalised cca).
    """

    name = "mcca"
    aliases = ("gcca",)
    formula = "max sum_{i<j} tr(Mi'Cii^{-1/2} Cij Cjj^{-1/2} Mj), sum_i Mi'Mi = K I"
    source = "Kettenring 1971; Carroll 1968"
    baseline = "leading eigenvectors of C w = lambda blkdiag(Cii) w"
    domain = "Gr"
    transposed = False
    exact = "yes"
    scale_free = True
    arrays = Footprint(squares=11.0, span=2.8)

    def bind(self, data: Data, r: int) -> SharedDirections:
        views, shrunk = self.opened(data)
        return shared_directions(self, views, r, ridge=self.ridge, shrunk=shrunk)

    def forms(self, data: DataForms) -> SharedMatrices:
        return shared(data, self.ridge)
