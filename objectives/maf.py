"""Orthogonal maximum autocorrelation factors."""

from __future__ import annotations

from dataclasses import dataclass

from ldr.objectives.families.ratio import trace_ratio
from ldr.objectives.families.trace_ratio import TraceRatio
from ldr.objectives.objective import Compact, Data, Objective
from ldr.objectives.statistics import lagged_moments
from ldr.solvers.checks import keep_number, keep_whole


@dataclass(frozen=True)
class MAF(Objective):
    """Find what stays correlated in time: max tr(M'S_lag M) / tr(M'CM) over orthonormal M.

    S_lag = sym(1/(n - lag) sum_t x_t x_{t+lag}'), C = X'X/n of the centred X, rows in time order.
    P = M'. The heuristic is the orthonormalised generalised eigenvectors of (S_lag, C).

    Source: Larsen 2002; Cunningham and Ghahramani 2015, section 3.1.5.

    Parameters
    ----------
    lag : int
        In rows, at least 1.
    ridge : float
        Added to the diagonal of C, in units of its mean diagonal.
    """

    name = "maf"
    formula = "max tr(M'S_lag M) / tr(M'CM)"
    source = "Larsen 2002; Cunningham & Ghahramani 2015, 3.1.5"
    sense = "max"
    needs = ("time order",)
    baseline = "orthonormalised generalised eigenvectors of (S_lag, C)"
    exact = "r = 1"
    from_sums = True

    lag: int = 1
    ridge: float = 0.0

    def __post_init__(self) -> None:
        keep_whole(self, "lag", 1)
        keep_number(self, "ridge")

    def bind(self, data: Data, r: int) -> TraceRatio:
        compact = Compact.of(data.samples)
        stats = lagged_moments(compact.rows, self.lag)
        return trace_ratio(
            self,
            compact.mean(stats.mean),
            stats.lagged,
            stats.scatter / stats.n,
            r,
            coordinates=compact.coordinates,
            what="the covariance",
            ridge=self.ridge,
            notes=compact.notes,
        )
