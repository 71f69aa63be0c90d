"""Neighbourhood preserving embedding."""

from __future__ import annotations

from dataclasses import dataclass

from ldr.objectives.families.graph import ReconstructionMethod
from ldr.objectives.families.trace import Trace
from ldr.objectives.families.whitened import whitened_trace
from ldr.objectives.objective import Data
from ldr.solvers.checks import keep_number


@dataclass(frozen=True)
class NPE(ReconstructionMethod):
    """Keep each row's reconstruction from its neighbours: min ||(I - W)Y||_F^2 with Y'Y = I.

    In M: min tr(M' B^{-1/2} A B^{-1/2} M) with A = X'(I-W)'(I-W)X and B = X'X, W the weights of
    locally linear embedding; P = M'B^{-1/2}. Exact by the bottom generalised eigenvectors.

    Source: He, Cai, Yan and Zhang 2005; Kokiopoulou, Chen and Saad 2011.

    Parameters
    ----------
    graph, neighbours, regularisation :
        See `ReconstructionMethod`.
    ridge : float
        Added to the diagonal of X'X, in units of its mean diagonal.
    """

    name = "npe"
    formula = "min tr(M'B^{-1/2} X'(I-W)'(I-W)X B^{-1/2} M), B = X'X"
    source = "He, Cai, Yan & Zhang 2005; Kokiopoulou, Chen & Saad 2011"
    sense = "min"
    needs = ("graph",)
    baseline = "bottom generalised eigenvectors of (X'(I-W)'(I-W)X, X'X)"
    transposed = False
    exact = "yes"

    ridge: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        keep_number(self, "ridge")

    def bind(self, data: Data, r: int) -> Trace:
        compact, scatters = self.sums(data)
        return whitened_trace(
            self,
            compact,
            lambda change: scatters(change).pencil,
            r,
            what="X'X",
            ridge=self.ridge,
        )
