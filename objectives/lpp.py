"""Locality preserving projections."""

from __future__ import annotations

from dataclasses import dataclass

from ldr.objectives.families.graph import LaplacianMethod
from ldr.objectives.families.trace import Trace
from ldr.objectives.families.whitened import whitened_trace
from ldr.objectives.objective import Data
from ldr.solvers.checks import choice, keep_number


@dataclass(frozen=True)
class LPP(LaplacianMethod):
    """Keep neighbours together: min sum_ij w_ij ||y_i - y_j||^2 / 2 subject to Y'DY = I.

    In M: min tr(M' B^{-1/2} A B^{-1/2} M) with A = X'LX, B = X'DX, L = D - W, D the row sums of W;
    P = M'B^{-1/2}. Exact by the bottom generalised eigenvectors of (A, B).

    Source: He and Niyogi 2003; Kokiopoulou, Chen and Saad 2011.

    Parameters
    ----------
    graph, neighbours, heat, epsilon :
        See `LaplacianMethod`.
    ridge : float
        Added to the diagonal of X'DX, in units of its mean diagonal.
    centre : {"mean", "degree"}
        Where X is centred in X'DX, which is not blind to it: at its mean, or at the mean weighted
        by the degrees, which makes Y'D1 = 0 as in Laplacian eigenmaps.
    """

    name = "lpp"
    formula = "min tr(M'B^{-1/2} X'LX B^{-1/2} M), B = X'DX"
    source = "He & Niyogi 2003; Kokiopoulou, Chen & Saad 2011"
    sense = "min"
    needs = ("graph",)
    baseline = "bottom generalised eigenvectors of (X'LX, X'DX)"
    transposed = False
    exact = "yes"

    ridge: float = 0.0
    centre: str = "mean"

    def __post_init__(self) -> None:
        super().__post_init__()
        keep_number(self, "ridge")
        choice("centre", self.centre, ("mean", "degree"))

    def bind(self, data: Data, r: int) -> Trace:
        compact, scatters = self.sums(data, self.centre)
        return whitened_trace(
            self,
            compact,
            lambda change: scatters(change).pencil,
            r,
            what="X'DX",
            ridge=self.ridge,
        )
