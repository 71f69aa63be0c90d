"""Locality preserving projections as a trace ratio."""

from __future__ import annotations

from dataclasses import dataclass

from ldr.objectives.families.graph import LaplacianMethod
from ldr.objectives.families.ratio import trace_ratio
from ldr.objectives.families.trace_ratio import TraceRatio
from ldr.objectives.objective import Data
from ldr.solvers.checks import keep_number


@dataclass(frozen=True)
class OrthogonalLPP(LaplacianMethod):
    """Keep neighbours together against the spread: min tr(M'X'LX M) / tr(M'X'DX M), M orthonormal.

    P = M'. The heuristic, the bottom generalised eigenvectors made orthonormal, minimises
    tr((M'BM)^{-1} M'AM) instead and is optimal here for r = 1 only.

    Source: Kokiopoulou, Chen and Saad 2011; Ngo, Bellalij and Saad 2012.

    Parameters
    ----------
    graph, ... :
        See `LaplacianMethod`: which graph, and its parameters.
    ridge : float
        Added to the diagonal of X'DX, in units of its mean diagonal.
    """

    name = "orthogonal-lpp"
    formula = "min tr(M'X'LX M) / tr(M'X'DX M)"
    source = "Kokiopoulou, Chen & Saad 2011; Ngo, Bellalij & Saad 2012"
    sense = "min"
    needs = ("graph",)
    baseline = "orthonormalised generalised eigenvectors of (X'LX, X'DX)"
    exact = "r = 1"

    ridge: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        keep_number(self, "ridge")

    def bind(self, data: Data, r: int) -> TraceRatio:
        found = self.scatters(data)
        return trace_ratio(
            self,
            found.centre,
            found.A,
            found.B,
            r,
            coordinates=found.compact.coordinates,
            what="X'DX",
            ridge=self.ridge,
            notes=found.compact.notes,
        )
