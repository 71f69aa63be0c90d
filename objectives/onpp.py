"""Orthogonal neighbourhood preserving projections."""

from __future__ import annotations

from dataclasses import dataclass

from ldr.objectives.families.graph import ReconstructionMethod
from ldr.objectives.families.trace import Trace
from ldr.objectives.objective import Data, Range


@dataclass(frozen=True)
class ONPP(ReconstructionMethod):
    """Keep each row's reconstruction from its neighbours: min ||(I - W)XM||_F^2, M orthonormal.

    W are the weights of locally linear embedding. With the class graph it is S_W.

    P = M'. Exact by the bottom eigenvectors, outside the directions in which nothing varies.

    Source: Kokiopoulou and Saad 2007; Kokiopoulou, Chen and Saad 2011.

    Parameters
    ----------
    graph, ... :
        See `ReconstructionMethod`: which graph, and its parameters.
    """

    name = "onpp"
    formula = "min tr(M'X'(I-W)'(I-W)X M)"
    source = "Kokiopoulou & Saad 2007; Kokiopoulou, Chen & Saad 2011"
    sense = "min"
    needs = ("graph",)
    baseline = "bottom eigenvectors of X'(I-W)'(I-W)X"
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
