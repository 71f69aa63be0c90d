"""Canonical correlations of two views, with orthonormal maps or the classical ones."""

from __future__ import annotations

from dataclasses import dataclass

from ldr.objectives.data.data import Data
from ldr.objectives.data.footprint import Footprint
from ldr.objectives.families.bilinear import Bilinear, whitened_bilinear
from ldr.objectives.families.matrices import CorrelationMatrices, DataSums, PairMatrices
from ldr.objectives.families.multi_block import MultiRatio, multi_ratio
from ldr.objectives.families.shared_directions import SharedDirections, shared_directions
from ldr.objectives.families.shrinking import ShrinkingViews
from ldr.objectives.families.two_block import TwoBlock, two_block
from ldr.objectives.needs import Need
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import word
from ldr.objectives.view import noted
from ldr.solvers.errors import ArgumentError, ObjectiveWarning
from ldr.solvers.manifolds import Array
from ldr.solvers.warn import warn


@dataclass(frozen=True)
class CorrelationMethod(Objective):
    """Base of the methods of the covariances Caa and Cbb of two views, and Cab between them."""

    sense = "max"
    views = 2
    any_views = True
    needs = (Need.SECOND_VIEW,)
    predicts = "view"
    domain = "St x St"
    weighted = True
    from_sums = True
    arrays = Footprint(squares=16.0, span=7.0)


@dataclass(frozen=True)
class ShrinkingCorrelation(ShrinkingViews, CorrelationMethod):
    """Base of the methods that divide by Caa and Cbb."""

    @staticmethod
    def covariances(data: DataSums) -> tuple[Array, Array, Array] | None:
        """(Cab, Caa, Cbb) of two views."""
        a, b, *more = data.views
        return None if more else (a.cross(b) / a.n, a.scatter() / a.n, b.scatter() / b.n)


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

    orthonormalise: str = word("polar", ("polar", "qr"))

    def bind(self, data: Data, r: int) -> TwoBlock | MultiRatio:
        views, shrunk = self.opened(data)
        how = self.orthonormalise
        if len(views) > 2:
            if how != "polar":
                raise ArgumentError(f"orthonormalise={how!r} of cca is for two views alone")
            return multi_ratio(self, views, r, ridge=self.ridge, shrunk=shrunk)
        a, b = views
        return two_block(self, a, b, r, ridge=self.ridge, shrunk=shrunk, orthonormalise=how)

    def matrices(self, data: DataSums) -> CorrelationMatrices | None:
        found = self.covariances(data)
        return None if found is None else CorrelationMatrices(*found, ridge=self.ridge)


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
    arrays = Footprint(span=7.0, products=True)

    def bind(self, data: Data, r: int) -> Bilinear | SharedDirections:
        views, shrunk = self.opened(data)
        if len(views) > 2:
            return shared_directions(self, views, r, ridge=self.ridge, shrunk=shrunk)
        a, b = views
        bound, n = whitened_bilinear(self, a, b, r, ridge=self.ridge, shrunk=shrunk)
        rows = int(n) if a.rows.weights is None else a.rows.counting
        trivial = self._trivial(sum(bound.K.shape) - (rows - 1))
        return bound.restated(views=noted(bound.views, *trivial))

    def matrices(self, data: DataSums) -> PairMatrices | None:
        found = self.covariances(data)
        return None if found is None else PairMatrices(*found, ridge=self.ridge)

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
