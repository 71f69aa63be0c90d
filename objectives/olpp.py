"""Orthogonal locality preserving projections."""

from __future__ import annotations

from dataclasses import dataclass

from ldr.objectives.families.graph import LaplacianMethod
from ldr.objectives.families.trace import Trace
from ldr.objectives.objective import Data, Range


@dataclass(frozen=True)
class OLPP(LaplacianMethod):
    """Keep neighbours together: min sum_ij w_ij ||y_i - y_j||^2 / 2 = tr(M'X'LX M), M orthonormal.

    L = D - W, D the row sums of W. With the class graph X'LX is S_W.

    P = M'. Exact by the bottom eigenvectors, outside the directions in which nothing varies.

    Source: Kokiopoulou and Saad 2007; Kokiopoulou, Chen and Saad 2011.

    Parameters
    ----------
    graph, ... :
        See `LaplacianMethod`: which graph, and its parameters.
    """

    name = "olpp"
    formula = "min tr(M'X'LX M)"
    source = "Kokiopoulou & Saad 2007; Kokiopoulou, Chen & Saad 2011"
    sense = "min"
    needs = ("graph",)
    baseline = "bottom eigenvectors of X'LX"
    exact = "yes"

    def bind(self, data: Data, r: int) -> Trace:
        found = self.scatters(data)
        kept = Range.of(found.total, found.compact.coordinates, "the covariance")
        return Trace(
            self,
            (found.centre,),
            kept(found.A),
            r,
            scale=-1.0,
            is_square=True,
            coordinates=(kept.coordinates,),
            notes=found.compact.notes + kept.notes,
        )
