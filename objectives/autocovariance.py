"""Lagged autocovariance."""

from __future__ import annotations

from dataclasses import dataclass

from ldr.objectives.families.trace import Trace
from ldr.objectives.objective import Compact, Data, Objective
from ldr.objectives.statistics import lagged_moments
from ldr.solvers.checks import keep_whole


@dataclass(frozen=True)
class Autocovariance(Objective):
    """Find what covaries with its own past: max tr(M'S_lag M) over orthonormal M.

    S_lag = sym(1/(n - lag) sum_t x_t x_{t+lag}') of the centred X, rows in time order. P = M'.
    Exact by the top eigenvectors of S_lag, which may be indefinite: a direction in which nothing
    varies is better than one that covaries negatively.

    Source: Cunningham and Ghahramani 2015, section 3.1.5.

    Parameters
    ----------
    lag : int
        In rows, at least 1.
    """

    name = "autocovariance"
    formula = "max tr(M'S_lag M)"
    source = "Cunningham & Ghahramani 2015, 3.1.5"
    sense = "max"
    needs = ("time order",)
    baseline = "top eigenvectors of S_lag"
    exact = "yes"
    from_sums = True

    lag: int = 1

    def __post_init__(self) -> None:
        keep_whole(self, "lag", 1)

    def bind(self, data: Data, r: int) -> Trace:
        compact = Compact.of(data.samples, room=r)
        stats = lagged_moments(compact.rows, self.lag)
        return Trace(
            self,
            (compact.mean(stats.mean),),
            stats.lagged,
            r,
            coordinates=(compact.coordinates,),
            notes=compact.notes,
        )
