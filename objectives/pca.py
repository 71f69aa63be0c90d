"""Principal component analysis: most variance, by the trace or the determinant."""

from __future__ import annotations

from dataclasses import dataclass

from ldr.objectives.data.data import Data
from ldr.objectives.data.footprint import Footprint
from ldr.objectives.families.log_determinant import LogDeterminant
from ldr.objectives.families.matrices import DataSums, DeterminantMatrix, TraceMatrices
from ldr.objectives.families.trace import Trace
from ldr.objectives.objective import Objective
from ldr.objectives.statistics import moments
from ldr.objectives.statistics.covariance import CovarianceOperator
from ldr.objectives.view import Compact, Range, View


@dataclass(frozen=True)
class PrincipalMethod(Objective):
    """Base of the methods of the covariance's leading eigenvectors."""

    baseline = "top eigenvectors of the covariance"
    exact = "yes"
    from_sums = True
    rule = "parallel analysis"


@dataclass(frozen=True)
class PCA(PrincipalMethod):
    """Reconstruct the data from r coordinates: min sum_i ||x_i - MM'x_i||^2.

    With C = X'X/n of the centred X this is n (tr C - tr(M'CM)), so the r leading eigenvectors of C
    are the global optimum. P = M'.
    """

    name = "pca"
    weighted = True
    stacks = True
    formula = "min sum ||x - MM'x||^2"
    source = "Pearson 1901; Cunningham & Ghahramani 2015, 3.1.1"
    sense = "min"

    def footprint(self, data: Data) -> Footprint:
        by_products = CovarianceOperator.worthwhile(data.samples, 1)
        return Footprint(0.0, 0.0, products=True) if by_products else self.arrays

    def bind(self, data: Data, r: int) -> Trace:
        samples = data.samples
        if CovarianceOperator.worthwhile(samples, r):
            C = CovarianceOperator.of(samples)
            n = samples.weight
            return Trace(self, (View(C.mean, scatter=C),), C, r, n, n * C.trace, is_square=True)
        compact = Compact.of(samples, quiet=True)
        stats = moments(compact.rows)
        view = compact.view_of(stats)
        total = float(stats.scatter.trace())
        return Trace(self, (view,), stats.covariance, r, stats.n, total, is_square=True)

    def matrices(self, data: DataSums) -> TraceMatrices:
        n = data.rows.n
        return TraceMatrices(data.rows.scatter() / n, n, residual=True)


@dataclass(frozen=True)
class LogDetPCA(PrincipalMethod):
    """Keep the most information of normal data: max log|M'CM| over subspaces.

    Twice the entropy of the projection, up to a constant: the mutual information of it and x under
    vanishing noise. The eigenvalues of M'CM interlace with those of C, so the r leading
    eigenvectors of C, pca's, are the global optimum. Where C is singular, M is restricted to its
    range. P = M'. O(nd^2) time once, then O(d^2 r) an evaluation.
    """

    name = "log-det-pca"
    weighted = True
    formula = "max log|M'CM|"
    source = "Linsker 1988; Burges 2010, 3"
    sense = "max"

    def bind(self, data: Data, r: int) -> LogDeterminant:
        compact = Compact.of(data.samples)
        stats = moments(compact.rows)
        kept = Range.of(stats.covariance, compact.coordinates, "the covariance")
        view = compact.view_of(stats).within(kept)
        return LogDeterminant(self, (view,), kept(stats.covariance), r)

    def matrices(self, data: DataSums) -> DeterminantMatrix:
        return DeterminantMatrix(data.rows.scatter() / data.rows.n)
