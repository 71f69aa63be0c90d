"""Slow feature analysis as a trace ratio."""

from __future__ import annotations

from dataclasses import dataclass

from ldr.objectives.families.ratio import trace_ratio
from ldr.objectives.families.trace_ratio import TraceRatio
from ldr.objectives.objective import Compact, Data, Objective
from ldr.objectives.statistics import difference_scatter, moments
from ldr.solvers.checks import keep_number


@dataclass(frozen=True)
class OrthogonalSFA(Objective):
    """Find what changes slowly against its variance: min tr(M'X_dot'X_dot M) / tr(M'CM).

    M orthonormal, X_dot the differences of successive rows, C = X'X/n. P = M'. The heuristic is the
    bottom generalised eigenvectors (whitened slow feature analysis) made orthonormal.

    Source: Wiskott and Sejnowski 2002; Cunningham and Ghahramani 2015, section 3.1.6.

    Parameters
    ----------
    ridge : float
        Added to the diagonal of C, in units of its mean diagonal.
    """

    name = "orthogonal-sfa"
    formula = "min tr(M'X_dot'X_dot M) / tr(M'CM)"
    source = "Wiskott & Sejnowski 2002; Cunningham & Ghahramani 2015, 3.1.6"
    sense = "min"
    needs = ("time order",)
    baseline = "orthonormalised generalised eigenvectors of (X_dot'X_dot, C)"
    exact = "r = 1"
    from_sums = True

    ridge: float = 0.0

    def __post_init__(self) -> None:
        keep_number(self, "ridge")

    def bind(self, data: Data, r: int) -> TraceRatio:
        compact = Compact.of(data.samples)
        stats = moments(compact.rows)
        return trace_ratio(
            self,
            compact.mean(stats.mean),
            difference_scatter(compact.rows),
            stats.covariance,
            r,
            coordinates=compact.coordinates,
            what="the covariance",
            ridge=self.ridge,
            notes=compact.notes,
        )
