"""Any number of views of the same rows: what they share, by covariances or correlations."""

from __future__ import annotations

from dataclasses import dataclass

from ldr.objectives.data.data import Data
from ldr.objectives.data.footprint import Footprint
from ldr.objectives.families.multi_block import MultiBlock, multi_ratio, multi_trace
from ldr.objectives.families.shared_directions import SharedDirections, shared_directions
from ldr.objectives.families.shrinking import ShrinkingViews
from ldr.objectives.needs import Need
from ldr.objectives.objective import Objective


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
    arrays = Footprint(squares=16.0, span=9.0)


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

    def bind(self, data: Data, r: int) -> MultiBlock:
        views, shrunk = self.opened(data)
        return multi_ratio(self, views, r, ridge=self.ridge, shrunk=shrunk)


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

    def bind(self, data: Data, r: int) -> SharedDirections:
        views, shrunk = self.opened(data)
        return shared_directions(self, views, r, ridge=self.ridge, shrunk=shrunk)
