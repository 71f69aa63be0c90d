"""Partial least squares of two views."""

from __future__ import annotations

from dataclasses import dataclass

from ldr.objectives.data.data import Data
from ldr.objectives.data.footprint import Footprint
from ldr.objectives.families.bilinear import Bilinear
from ldr.objectives.families.matrices import DataSums, PairMatrices
from ldr.objectives.families.multi_block import MultiTrace, multi_trace
from ldr.objectives.families.wide_views import leading_pairs
from ldr.objectives.needs import Need
from ldr.objectives.objective import Objective
from ldr.objectives.prediction import Pair
from ldr.objectives.statistics import joint_moments
from ldr.objectives.statistics.covariance import KnownScatter
from ldr.objectives.view import Compact, View, noted


@dataclass(frozen=True)
class PLS(Objective):
    """Covary two views: max tr(Ma'Xa'Xb Mb) over orthonormal Ma and Mb.

    Pa = Ma', Pb = Mb'. Exact by the leading singular vectors of Xa'Xb of the centred views. Of
    three views or more it is maxdiff times the number of rows, which is not.

    Source: Wold 1975; Bookstein 1994 (singular value decomposition).
    """

    name = "pls"
    weighted = True
    formula = "max tr(Ma'Xa'Xb Mb)"
    source = "Wold 1975; Bookstein 1994"
    sense = "max"
    views = 2
    any_views = True
    needs = (Need.SECOND_VIEW,)
    predicts = "view"
    baseline = "leading singular vectors of Xa'Xb"
    domain = "St x St"
    exact = "yes"
    from_sums = True
    stacks = True
    arrays = Footprint(products=True)

    def bind(self, data: Data, r: int) -> Bilinear | MultiTrace:
        if len(data.views) > 2:
            return multi_trace(self, data, r, room=r, summed=True)
        a, b = (Compact.of(view, quiet=True) for view in data.views)
        found = leading_pairs(a.rows, b.rows, r, None)
        if found is not None:
            a, b = found.a, found.b
        stats = joint_moments(a.rows, b.rows)
        views: tuple[View, ...] = (
            a.view(stats.mean_a, KnownScatter(stats.scatter_aa, stats.n)),
            b.view(stats.mean_b, KnownScatter(stats.scatter_bb, stats.n)),
        )
        answers = found or Pair(stats, (a.coordinates, b.coordinates))
        if found is not None:
            views = noted(views, found.note)
        return Bilinear(self, views, stats.scatter_ab, r, answers=answers, rest=found)

    def matrices(self, data: DataSums) -> PairMatrices | None:
        a, b, *more = data.views
        return None if more else PairMatrices(a.cross(b))
