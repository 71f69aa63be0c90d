"""Principal component analysis."""

from __future__ import annotations

from dataclasses import dataclass

from ldr.objectives.coordinates import Columns
from ldr.objectives.covariance import CovarianceOperator
from ldr.objectives.families.trace import Trace
from ldr.objectives.objective import Compact, Data, Objective
from ldr.objectives.statistics import moments


@dataclass(frozen=True)
class PCA(Objective):
    """Reconstruct the data from r coordinates: min sum_i ||x_i - MM'x_i||^2.

    With C = X'X/n of the centred X this is n (tr C - tr(M'CM)), so the r leading eigenvectors of C
    are the global optimum. P = M'.

    Source: Pearson 1901; Cunningham and Ghahramani 2015, section 3.1.1.
    """

    name = "pca"
    formula = "min sum ||x - MM'x||^2"
    source = "Pearson 1901; Cunningham & Ghahramani 2015, 3.1.1"
    sense = "min"
    baseline = "top eigenvectors of the covariance"
    exact = "yes"
    from_sums = True

    def bind(self, data: Data, r: int) -> Trace:
        samples = data.samples
        if CovarianceOperator.worthwhile(samples, r):
            C = CovarianceOperator.of(samples)
            n = samples.n
            total, columns = n * C.trace, (Columns(),)
            return Trace(self, (C.mean,), C, r, n, total, is_square=True, coordinates=columns)
        compact = Compact.of(samples)
        stats = moments(compact.rows)
        return Trace(
            self,
            (compact.mean(stats.mean),),
            stats.covariance,
            r,
            scale=stats.n,
            offset=float(stats.scatter.trace()),
            is_square=True,
            coordinates=(compact.coordinates,),
        )
