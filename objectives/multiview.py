"""Any number of views of the same rows: what they share, by covariances or correlations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldr.objectives.data.data import Data
from ldr.objectives.families.multi_block import MultiBlock, MultiRatio, MultiTrace
from ldr.objectives.needs import Need
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import number
from ldr.objectives.ridge import add_ridge
from ldr.objectives.statistics import ViewMoments, view_moments
from ldr.objectives.statistics.covariance import KnownScatter
from ldr.objectives.view import Compact, Range, View
from ldr.solvers.manifolds import Array


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

    def _sums(self, data: Data, room: int = 0) -> tuple[list[View], ViewMoments]:
        """The way back of each view, and the sums of all side by side."""
        compacts = [Compact.of(view, room=room, quiet=True) for view in data.views]
        stats = view_moments([compact.rows for compact in compacts])
        views = [
            compact.view(mean, KnownScatter(stats.block(i, i), stats.n))
            for i, (compact, mean) in enumerate(zip(compacts, stats.means, strict=True))
        ]
        return views, stats


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
        views, stats = self._sums(data, room=r)
        widths = tuple(map(len, stats.means))
        return MultiTrace(self, tuple(views), stats.scatter / stats.n, widths, r)


@dataclass(frozen=True)
class MaxBet(ManyViews):
    """Covary all views, themselves included: max 1/2 sum_{i,j} tr(Mi'Cij Mj).

    M1, ..., MK orthonormal, Pi = Mi'. The shared response model: the sum of ||Xi - S Mi'||^2 over
    the views is least, for the best S, where it is largest.

    Source: Van de Geer 1984; ten Berge 1988; Chen et al. 2015 (shared response).
    """

    name = "maxbet"
    formula = "max 1/2 sum_{i,j} tr(Mi'Cij Mj)"
    source = "Van de Geer 1984; ten Berge 1988; Chen et al. 2015"
    baseline = "blocks of the top eigenvectors of the Cij, orthonormalised"

    def bind(self, data: Data, r: int) -> MultiBlock:
        views, stats = self._sums(data)
        widths = tuple(map(len, stats.means))
        return MultiTrace(self, tuple(views), stats.scatter / stats.n, widths, r, within=True)


@dataclass(frozen=True)
class OrthogonalMCCA(ManyViews):
    """Correlate all pairs of views: max sum_{i<j} tr(Mi'Cij Mj)/(s_i s_j), Mi orthonormal.

    s_i^2 = tr(Mi'Cii Mi), Pi = Mi'. Of two views it is cca. The heuristic is the directions of
    classical multiset cca, each view's made orthonormal.

    Source: Kettenring 1971 (multiset cca); Cunningham and Ghahramani 2015, section 3.1.4.

    Parameters
    ----------
    ridge : float
        Added to the diagonal of each Cii, in units of its mean diagonal.
    """

    name = "orthogonal-mcca"
    formula = "max sum_{i<j} tr(Mi'Cij Mj)/(s_i s_j), s_i^2 = tr(Mi'Cii Mi)"
    source = "Kettenring 1971; Cunningham & Ghahramani 2015, 3.1.4"
    baseline = "classical multiset cca's maps, orthonormalised"
    relative_improvement = False

    ridge: float = number(0.0)

    def bind(self, data: Data, r: int) -> MultiBlock:
        views, stats = self._sums(data)
        count = len(views)
        kept = [
            Range.of(stats.block(i, i), view.coordinates, f"the covariance of view {i + 1}")
            for i, view in enumerate(views)
        ]
        rows: list[list[Array]] = [[] for _ in kept]
        for i in range(count):
            for j in range(count):
                block = kept[j].rows(kept[i].rows(stats.block(i, j) / stats.n).T).T
                if i == j:
                    block, ridged = add_ridge(block, self.ridge, f"C{i + 1}{i + 1}")
                    views[i] = views[i].within(kept[i]).noting(*ridged)
                rows[i].append(block)
        return MultiRatio(self, tuple(views), *_side_by_side(rows), r)


def _side_by_side(blocks: list[list[Array]]) -> tuple[Array, tuple[int, ...]]:
    return np.block(blocks), tuple(len(row[0]) for row in blocks)
