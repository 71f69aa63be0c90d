"""Classical maximum autocorrelation factors."""

from __future__ import annotations

from dataclasses import dataclass

from ldr.objectives.change import Change
from ldr.objectives.families.trace import Trace
from ldr.objectives.families.whitened import Pencil, SumOfSquares, whitened_trace
from ldr.objectives.objective import Compact, Data, Objective
from ldr.objectives.statistics import lagged_moments
from ldr.solvers.checks import keep_number, keep_whole


@dataclass(frozen=True)
class ClassicalMAF(Objective):
    """Find what stays correlated in time: max tr((M'CM)^{-1} M'S_lag M), factors uncorrelated.

    S_lag = sym(1/(n - lag) sum_t x_t x_{t+lag}'), C = X'X/n of the centred X, rows in time order.
    In the whitened variable max tr(M'C^{-1/2} S_lag C^{-1/2} M), P = M'C^{-1/2}; exact by the top
    generalised eigenvectors of (S_lag, C).

    Source: Switzer and Green 1984; Larsen 2002.

    Parameters
    ----------
    lag : int
        In rows, at least 1.
    ridge : float
        Added to the diagonal of C, in units of its mean diagonal.
    """

    name = "classical-maf"
    formula = "max tr(M'C^{-1/2} S_lag C^{-1/2} M)"
    source = "Switzer & Green 1984; Larsen 2002"
    sense = "max"
    needs = ("time order",)
    baseline = "top generalised eigenvectors of (S_lag, C)"
    transposed = False
    exact = "yes"
    from_sums = True

    lag: int = 1
    ridge: float = 0.0

    def __post_init__(self) -> None:
        keep_whole(self, "lag", 1)
        keep_number(self, "ridge")

    def bind(self, data: Data, r: int) -> Trace:
        compact = Compact.of(data.samples)

        def pencil(change: Change) -> Pencil:
            stats = lagged_moments(change(compact.rows), self.lag)
            return Pencil(stats.lagged, SumOfSquares(stats.scatter / stats.n, stats.mean, 1.0))

        return whitened_trace(self, compact, pencil, r, what="the covariance", ridge=self.ridge)
