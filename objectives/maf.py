"""What lasts from row to row: maximum autocorrelation factors, and their traces."""

from __future__ import annotations

from ldr.objectives.data.change import Change
from ldr.objectives.data.data import Data
from ldr.objectives.data.footprint import Footprint
from ldr.objectives.families.matrices import DataSums, PencilMatrices, RatioMatrices, TraceMatrices
from ldr.objectives.families.nested import NestedMethod
from ldr.objectives.families.pencil import Pencil, RowPencil, Shrinking, SumOfSquares
from ldr.objectives.families.trace import Trace, trace_where_varied
from ldr.objectives.families.trace_ratio import TraceRatio, trace_ratio
from ldr.objectives.families.whitened_trace import whitened_trace
from ldr.objectives.families.wide import of_lag
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need, whole, word
from ldr.objectives.statistics import lagged_moments
from ldr.objectives.statistics.pairs import count_pairs
from ldr.objectives.view import Compact
from ldr.solvers.manifolds import Array
from ldr.solvers.records import dataclass


@dataclass(frozen=True)
class LaggedMethod(Objective):
    """Base of the methods of S_lag, the lagged covariance of rows in time order.

    Parameters
    ----------
    lag : int
        In rows, at least 1.
    """

    sense = "max"
    needs = (Need.TIME_ORDER,)
    weighted = True
    from_sums = True
    arrays = Footprint(squares=12.0)

    lag: int = whole(1, 1)

    def autocovariances(self, data: DataSums) -> tuple[Array, Array]:
        """(S_lag, C)."""
        return data.rows.lagged(self.lag), data.rows.scatter() / data.rows.n


@dataclass(frozen=True)
class AutocorrelationMethod(Shrinking, LaggedMethod):
    """Base of the methods of S_lag against the covariance C."""

    stacks = True
    arrays = Footprint(squares=16.0, products=True)

    def covariances(self, data: Data) -> RowPencil[Pencil]:
        """(S_lag, C) of the rows in any coordinates."""

        compact = self.compact(data.samples)

        def pencil(change: Change) -> Pencil:
            stats = lagged_moments(change(compact.rows), self.lag)
            C = SumOfSquares.covariance(stats.scatter, stats.mean, stats.n)
            return Pencil(stats.lagged, C, 1.0)

        wide = of_lag(data.samples, self.lag) if data.samples.wide else None
        return self.shrunk(RowPencil(compact, pencil, "the covariance", wide=wide))

    def autocorrelations(self, r: int) -> int:
        """How many are added up, of r factors."""
        return r

    def cautions(self, value: float, data: Data, d: int, r: int) -> list[str]:
        notes = super().cautions(value, data, d, r)
        if value > self.autocorrelations(r):
            n, pairs = data.samples.weight, count_pairs(data.samples, self.lag)
            notes.append(
                f"autocorrelations exceed 1, as lagged sums are divided by {pairs:g} and variances "
                f"by {n:g}: with {n:g} for both, the value is {value * pairs / n:.6g}, and bounded"
            )
        return notes


@dataclass(frozen=True)
class MAF(NestedMethod, AutocorrelationMethod):
    """Find what stays correlated in time: max tr(M'S_lag M) / tr(M'CM) over orthonormal M.

    S_lag = sym(1/(n - lag) sum_t x_t x_{t+lag}'), C = X'X/n of the centred X, rows in time order.
    P = M'. The heuristic is the orthonormalised generalised eigenvectors of (S_lag, C).
    """

    name = "maf"
    formula = "max tr(M'S_lag M) / tr(M'CM)"
    source = "Larsen 2002; Cunningham & Ghahramani 2015, 3.1.5"
    baseline = "orthonormalised generalised eigenvectors of (S_lag, C)"
    exact = "r = 1"
    sibling = "classical-maf"

    def autocorrelations(self, r: int) -> int:
        return 1  # the ratio is their mean

    def bind(self, data: Data, r: int) -> TraceRatio:
        return trace_ratio(self, self.covariances(data), r, ridge=self.ridge)

    def matrices(self, data: DataSums) -> RatioMatrices:
        both = self.autocovariances(data)
        return RatioMatrices(*both, 1.0, self.column_weights, ridge=self.ridge)


@dataclass(frozen=True)
class ClassicalMAF(AutocorrelationMethod):
    """Find what stays correlated in time: max tr((M'CM)^{-1} M'S_lag M), factors uncorrelated.

    S_lag = sym(1/(n - lag) sum_t x_t x_{t+lag}'), C = X'X/n of the centred X, rows in time order.
    In the whitened variable max tr(M'C^{-1/2} S_lag C^{-1/2} M), P = M'C^{-1/2}; exact by the top
    generalised eigenvectors of (S_lag, C).
    """

    name = "classical-maf"
    formula = "max tr(M'C^{-1/2} S_lag C^{-1/2} M)"
    source = "Switzer & Green 1984; Larsen 2002"
    baseline = "top generalised eigenvectors of (S_lag, C)"
    transposed = False
    exact = "yes"
    scale_free = True

    def bind(self, data: Data, r: int) -> Trace:
        return whitened_trace(self, self.covariances(data), r, ridge=self.ridge)

    def matrices(self, data: DataSums) -> PencilMatrices:
        return PencilMatrices(*self.autocovariances(data), ridge=self.ridge)


@dataclass(frozen=True)
class Autocovariance(LaggedMethod):
    """Find what covaries with its own past: max tr(M'S_lag M) over orthonormal M.

    S_lag = sym(1/(n - lag) sum_t x_t x_{t+lag}') of the centred X, rows in time order. P = M'.
    Exact by the top eigenvectors of S_lag, which may be indefinite: a direction in which nothing
    varies is better than one that covaries negatively.
    """

    name = "autocovariance"
    formula = "max tr(M'S_lag M)"
    source = "Cunningham & Ghahramani 2015, 3.1.5"
    baseline = "top eigenvectors of S_lag"
    exact = "yes"

    def bind(self, data: Data, r: int) -> Trace:
        compact = Compact.of(data.samples, room=r)
        stats = lagged_moments(compact.rows, self.lag)
        view = compact.view_of(stats)
        return Trace(self, (view,), stats.lagged, r)

    def matrices(self, data: DataSums) -> TraceMatrices:
        return TraceMatrices(data.rows.lagged(self.lag))


@dataclass(frozen=True)
class SquaredDifference(LaggedMethod):
    """Find what changes least (or most) over a lag: min tr(M'(C - S_lag)M) over orthonormal M.

    With S_lag = sym(1/(n - lag) sum_t x_t x_{t+lag}') and C = X'X/n, both of the centred X, it is
    half the mean squared change over the lag, but for the ends of the series: the discrete analogue
    of slow feature analysis. P = M'. Exact by the extreme eigenvectors of C - S_lag.

    Parameters
    ----------
    extreme : {"min", "max"}
        Least or most change.
    """

    name = "squared-difference"
    formula = "min (or max) tr(M'(C - S_lag)M)"
    source = "Cunningham & Ghahramani 2015, 3.1.5 and 3.1.6"
    baseline = "extreme eigenvectors of C - S_lag"
    exact = "yes"

    extreme: str = word("min", ("min", "max"))

    @property
    def sense(self) -> str:  # type: ignore[override]
        return self.extreme

    def bind(self, data: Data, r: int) -> Trace:
        compact = Compact.of(data.samples, room=r if self.extreme == "max" else 0)
        stats = lagged_moments(compact.rows, self.lag)
        view = compact.view_of(stats)
        A = stats.scatter / stats.n - stats.lagged
        if self.extreme == "max":
            return Trace(self, (view,), A, r)
        return trace_where_varied(self, view, A, stats.scatter, r, is_square=False)

    def matrices(self, data: DataSums) -> TraceMatrices:
        S, C = self.autocovariances(data)
        return TraceMatrices(C - S, -self.sign)
