"""Squared difference in time."""

from __future__ import annotations

from dataclasses import dataclass

from ldr.objectives.families.trace import Trace
from ldr.objectives.objective import Compact, Data, Objective, Range
from ldr.objectives.statistics import lagged_moments
from ldr.solvers.checks import choice, keep_whole


@dataclass(frozen=True)
class SquaredDifference(Objective):
    """Find what changes least (or most) over a lag: min tr(M'(C - S_lag)M) over orthonormal M.

    With S_lag = sym(1/(n - lag) sum_t x_t x_{t+lag}') and C = X'X/n, both of the centred X, it is
    half the mean squared change over the lag, but for the ends of the series: the discrete analogue
    of slow feature analysis. P = M'. Exact by the extreme eigenvectors of C - S_lag.

    Source: Cunningham and Ghahramani 2015, sections 3.1.5 and 3.1.6.

    Parameters
    ----------
    lag : int
        In rows, at least 1.
    extreme : {"min", "max"}
        Least or most change.
    """

    name = "squared-difference"
    formula = "min (or max) tr(M'(C - S_lag)M)"
    source = "Cunningham & Ghahramani 2015, 3.1.5"
    needs = ("time order",)
    baseline = "extreme eigenvectors of C - S_lag"
    exact = "yes"
    from_sums = True

    lag: int = 1
    extreme: str = "min"

    def __post_init__(self) -> None:
        keep_whole(self, "lag", 1)
        choice("extreme", self.extreme, ("min", "max"))

    @property
    def sense(self) -> str:  # type: ignore[override]
        return self.extreme

    def bind(self, data: Data, r: int) -> Trace:
        compact = Compact.of(data.samples, room=r if self.extreme == "max" else 0)
        stats = lagged_moments(compact.rows, self.lag)
        A, coordinates, notes = (
            stats.scatter / stats.n - stats.lagged,
            compact.coordinates,
            compact.notes,
        )
        if self.extreme == "min":
            # A direction in which nothing varies does not change either: leave those out.
            kept = Range.of(stats.scatter, coordinates, "the covariance")
            A, coordinates, notes = kept(A), kept.coordinates, notes + kept.notes
        return Trace(
            self,
            (compact.mean(stats.mean),),
            A,
            r,
            scale=-self.sign,
            coordinates=(coordinates,),
            notes=notes,
        )
