"""Sliced inverse regression."""

from __future__ import annotations

from dataclasses import dataclass

from ldr.objectives.change import Change
from ldr.objectives.classical_lda import few_directions
from ldr.objectives.families.trace import Trace
from ldr.objectives.families.whitened import Pencil, SumOfSquares, whitened_trace
from ldr.objectives.objective import Compact, Data, Objective
from ldr.objectives.slices import sliced
from ldr.objectives.statistics import class_moments
from ldr.solvers.checks import keep_number, keep_whole


@dataclass(frozen=True)
class SIR(Objective):
    """Find what the response says about the mean of X: max tr(M' Cov(E[z | slice]) M).

    z = C^{-1/2}(x - mean), slices of equal counts of the sorted response (or its labels); P =
    M'C^{-1/2}. Exact by the top eigenvectors. At most (slices - 1) directions; blind to symmetric
    dependence. With slices = classes its span is that of classical LDA.

    Source: Li 1991; Burges 2010, section 4.5.

    Parameters
    ----------
    slices : int
        Of a continuous response; labels are slices themselves.
    ridge : float
        Added to the diagonal of C, in units of its mean diagonal.
    """

    name = "sir"
    formula = "max tr(M'C^{-1/2} Cov(E[x|slice]) C^{-1/2} M)"
    source = "Li 1991; Burges 2010"
    sense = "max"
    needs = ("response",)
    baseline = "top generalised eigenvectors of (Cov(E[x|slice]), C)"
    transposed = False
    exact = "yes"

    slices: int = 10
    ridge: float = 0.0

    def __post_init__(self) -> None:
        keep_whole(self, "slices", 2)
        keep_number(self, "ridge")

    def bind(self, data: Data, r: int) -> Trace:
        codes = sliced(data.y, data.samples.n, self.slices)
        compact = Compact.of(data.samples)
        groups = int(codes.max()) + 1

        def pencil(change: Change) -> Pencil:
            stats = class_moments(change(compact.rows), codes, groups)
            n = int(stats.counts.sum())
            C = (stats.within + stats.between) / n
            return Pencil(stats.between / n, SumOfSquares(C, stats.mean, 1.0))

        return whitened_trace(
            self,
            compact,
            pencil,
            r,
            what="the covariance",
            ridge=self.ridge,
            notes=few_directions(r, groups, "slices"),
        )
