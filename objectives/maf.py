"""Maximum autocorrelation factors (MAF) and related traces, for samples in time order."""

from __future__ import annotations

from dataclasses import dataclass

from ldr.objectives.data.data import Data
from ldr.objectives.families.matrices import DataSums, PencilMatrices, RatioMatrices, TraceMatrices
from ldr.objectives.families.stated import StatedMethod
from ldr.objectives.families.trace_ratio import NestedMethod
from ldr.objectives.families.whitened import Shrinking
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need, whole, word
from ldr.objectives.statistics.time import count_pairs
from ldr.solvers.manifolds import Array


@dataclass(frozen=True)
class LaggedMethod(Objective, weighted=True, from_sums=True):
    """Base of the methods of the lagged covariance S_lag of rows in time order.

    Parameters
    ----------
    lag : int
        Lag in samples, at least 1.
    """

    sense = "max"
    needs = (Need.TIME_ORDER,)

    lag: int = whole(1, 1)

    def autocovariances(self, data: DataSums) -> tuple[Array, Array]:
        """Return the lagged covariance S_lag and the covariance C."""
        return data.rows.lagged(self.lag), data.rows.scatter() / data.rows.n


@dataclass(frozen=True)
class AutocorrelationMethod(Shrinking, StatedMethod, LaggedMethod, stacks=True, products="optimum"):
    """Base of the methods of the pair (S_lag, C) of the lagged covariance and the covariance."""

    def autocorrelations(self, r: int) -> int:
        """Return the number of autocorrelations whose sum is the value, for r factors."""
        return r

    def cautions(self, value: float, data: Data, d: int, r: int) -> list[str]:
        notes = super().cautions(value, data, d, r)
        if value > self.autocorrelations(r):
            n, pairs = data.samples.weight, count_pairs(data.samples, self.lag)
            notes.append(
                f"autocorrelations exceed 1, because lagged sums are divided by {pairs:g} and "
                f"variances by {n:g}: with {n:g} for both the value is {value * pairs / n:.6g}"
            )
        return notes


@dataclass(frozen=True)
class OrthogonalMAF(NestedMethod, AutocorrelationMethod):
    r"""Orthogonal maximum autocorrelation factors (MAF): the trace ratio.

    .. math:: \max_{M'M=I} \frac{\operatorname{tr}(M'S_{\text{lag}} M)}{\operatorname{tr}(M'CM)}

    Samples are in time order; S_lag = sym(1/(n - lag) sum_t x_t x_{t+lag}') and C = X'X/n for the
    centred X. P = M'. The baseline is the orthonormalised generalised eigenvectors of (S_lag, C).

    Use it when samples are in time or space order, for orthogonal directions of large
    autocorrelation, whatever their variance. Do not use it for uncorrelated factors: take maf.

    Source: Larsen 2002; Cunningham & Ghahramani 2015, 3.1.5.
    """

    name = "orthogonal-maf"
    baseline = "orthonormalised generalised eigenvectors of (S_lag, C)"
    exact = "r = 1"
    sibling = "maf"

    def autocorrelations(self, r: int) -> int:
        return 1  # the trace ratio is a mean of r autocorrelations

    def matrices(self, data: DataSums) -> RatioMatrices:
        both = self.autocovariances(data)
        return RatioMatrices(*both, 1.0, self.column_weights, ridge=self.ridge, cancels=1.0)


@dataclass(frozen=True)
class MAF(AutocorrelationMethod, transposed=False, scale_free=True):
    r"""Maximum autocorrelation factors (MAF).

    .. math:: \max_M \operatorname{tr}\left((M'CM)^{-1} M'S_{\text{lag}} M\right)

    Samples are in time order; S_lag = sym(1/(n - lag) sum_t x_t x_{t+lag}') and C = X'X/n for the
    centred X. In variables whitened by the covariance C the problem is max tr(M'C^{-1/2} S_lag
    C^{-1/2} M), with P = M'C^{-1/2}. The top generalised eigenvectors of (S_lag, C) are optimal.

    Use it for uncorrelated components with large autocorrelation; the directions are oblique. Do
    not use it if the projection must be orthogonal: take orthogonal-maf.

    Source: Switzer & Green 1984; Larsen 2002.
    """

    name = "maf"
    baseline = "top generalised eigenvectors of (S_lag, C)"
    exact = "yes"

    def matrices(self, data: DataSums) -> PencilMatrices:
        return PencilMatrices(*self.autocovariances(data), ridge=self.ridge, cancels=1.0)


@dataclass(frozen=True)
class Autocovariance(StatedMethod, LaggedMethod):
    r"""Largest autocovariance.

    .. math:: \max_{M'M=I} \operatorname{tr}(M'S_{\text{lag}} M)

    Samples are in time order, and S_lag = sym(1/(n - lag) sum_t x_t x_{t+lag}') for the centred X.
    P = M'. The top eigenvectors of S_lag are the exact solution. The matrix S_lag may be
    indefinite: a direction without variance is preferred to one with negative autocovariance.

    Use it when samples are in time order, for variation that is large and persistent;
    orthogonal-maf divides the autocovariance by the variance. Do not use it for features in
    different units, because features of large variance dominate.

    Source: Cunningham & Ghahramani 2015, 3.1.5.
    """

    name = "autocovariance"
    baseline = "top eigenvectors of S_lag"
    exact = "yes"
    divisor = ""

    def matrices(self, data: DataSums) -> TraceMatrices:
        return TraceMatrices(data.rows.lagged(self.lag))


@dataclass(frozen=True)
class SquaredDifference(StatedMethod, LaggedMethod):
    r"""Least or largest squared difference over a lag.

    .. math:: \min_{M'M=I} \operatorname{tr}(M'(C - S_{\text{lag}})M)

    Samples are in time order; S_lag = sym(1/(n - lag) sum_t x_t x_{t+lag}') and C = X'X/n for the
    centred X. Except for the ends of the series, the value is half the mean squared change over the
    lag. P = M'. Extreme eigenvectors of C - S_lag are optimal, the top ones if extreme="max".

    Use it when samples are in time order, for the largest or smallest changes over a lag. Do not
    use it for slow components, because small variances are optimal: take sfa with whiten=True.

    Source: Cunningham & Ghahramani 2015, 3.1.5 and 3.1.6.

    Parameters
    ----------
    extreme : {"min", "max"}
        Minimise ("min") or maximise ("max") the squared difference.
    """

    name = "squared-difference"
    baseline = "extreme eigenvectors of C - S_lag"
    exact = "yes"
    divisor = ""

    extreme: str = word("min", ("min", "max"))

    @property
    def sense(self) -> str:  # type: ignore[override]
        return self.extreme

    def matrices(self, data: DataSums) -> TraceMatrices:
        S, C = self.autocovariances(data)
        return TraceMatrices(C - S, -self.sign)
