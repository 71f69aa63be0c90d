"""Orthogonal canonical correlation analysis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldr.objectives.families.two_block import TwoBlock
from ldr.objectives.objective import Compact, Data, Objective, Range
from ldr.objectives.ridge import add_ridge
from ldr.objectives.statistics import joint_moments
from ldr.solvers.checks import choice, keep_number


@dataclass(frozen=True)
class CCA(Objective):
    """Correlate two views: max tr(Ma'Cab Mb) / sqrt(tr(Ma'Caa Ma) tr(Mb'Cbb Mb)) on St x St.

    Pa = Ma', Pb = Mb'. The heuristic is traditional CCA's maps made orthonormal, each by itself; it
    is optimal for r = 1 only.

    Source: Hotelling 1936; Cunningham and Ghahramani 2015, section 3.1.4.

    Parameters
    ----------
    orthonormalise : {"polar", "qr"}
        How the heuristic's maps are made orthonormal; "polar", the nearest, is the conservative
        choice, because the improvement over it is smaller.
    ridge : float
        Added to the diagonals of Caa and Cbb, in units of their mean diagonals.
    """

    name = "cca"
    formula = "max tr(Ma'Cab Mb) / sqrt(tr(Ma'Caa Ma) tr(Mb'Cbb Mb))"
    source = "Hotelling 1936; Cunningham & Ghahramani 2015, 3.1.4"
    sense = "max"
    views = 2
    needs = ("second view",)
    baseline = "traditional cca's maps, orthonormalised"
    domain = "St x St"
    exact = "r = 1"
    from_sums = True

    orthonormalise: str = "polar"
    ridge: float = 0.0

    def __post_init__(self) -> None:
        choice("orthonormalise", self.orthonormalise, ("polar", "qr"))
        keep_number(self, "ridge")

    def bind(self, data: Data, r: int) -> TwoBlock:
        a, b = (Compact.of(view) for view in data.views)
        stats = joint_moments(a.rows, b.rows)
        n = stats.n
        kept_a = Range.of(stats.scatter_aa, a.coordinates, "the covariance of the first view")
        kept_b = Range.of(stats.scatter_bb, b.coordinates, "the covariance of the second view")
        Caa, notes_a = add_ridge(kept_a(stats.scatter_aa / n), self.ridge, "Caa")
        Cbb, notes_b = add_ridge(kept_b(stats.scatter_bb / n), self.ridge, "Cbb")
        Cab = np.ascontiguousarray(kept_b.rows(kept_a.rows(stats.scatter_ab / n).T).T)
        if self.ridge == 0 and len(Caa) + len(Cbb) > n - 1:
            notes_b.append(
                f"{n} rows are too few for {len(Caa)} + {len(Cbb)} columns: canonical correlations "
                "of 1 are certain whatever the data; give ridge= a positive value"
            )
        return TwoBlock(
            self,
            (a.mean(stats.mean_a), b.mean(stats.mean_b)),
            Caa,
            Cab,
            Cbb,
            r,
            self.orthonormalise,
            coordinates=(kept_a.coordinates, kept_b.coordinates),
            notes=kept_a.notes + kept_b.notes + notes_a + notes_b,
        )
