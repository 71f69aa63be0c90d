"""Slow feature analysis."""

from __future__ import annotations

from dataclasses import dataclass

from ldr.objectives.coordinates import Whitening
from ldr.objectives.families.trace import Trace
from ldr.objectives.objective import Compact, Data, Objective, Range
from ldr.objectives.statistics import difference_scatter, moments


@dataclass(frozen=True)
class SFA(Objective):
    """Find what changes slowly: min tr(M'X_dot'X_dot M), X_dot the differences of successive rows.

    Plain, P = M' with orthonormal M; with `whiten`, the usual SFA: features of unit variance,
    min tr(M'C^{-1/2} X_dot'X_dot C^{-1/2} M), P = M'C^{-1/2}. Exact by the bottom eigenvectors.

    Source: Wiskott and Sejnowski 2002; Cunningham and Ghahramani 2015, section 3.1.6.

    Parameters
    ----------
    whiten : bool
        Ask for features of unit variance instead of orthonormal directions.
    """

    name = "sfa"
    formula = "min tr(M'X_dot'X_dot M)"
    source = "Wiskott & Sejnowski 2002; Cunningham & Ghahramani 2015, 3.1.6"
    sense = "min"
    needs = ("time order",)
    baseline = "bottom eigenvectors of X_dot'X_dot (exact)"

    whiten: bool = False

    def bind(self, data: Data, r: int) -> Trace:
        compact = Compact.of(data.samples)
        stats = moments(compact.rows)
        # A direction in which nothing varies is not slow, it is empty: leave those out.
        kept = Range.of(stats.scatter, compact.coordinates, "the covariance")
        A, coordinates = kept(difference_scatter(compact.rows)), kept.coordinates
        if self.whiten:
            whitening = Whitening.of(kept(stats.covariance), coordinates)
            A, coordinates = whitening(A), whitening
        return Trace(
            self,
            (compact.mean(stats.mean),),
            A,
            r,
            scale=-1.0,
            coordinates=(coordinates,),
            notes=kept.notes,
        )
