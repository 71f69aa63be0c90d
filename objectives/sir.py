"""Sliced inverse regression and average variance: what the slices of a response tell apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldr.objectives.data.change import Change
from ldr.objectives.data.data import Data
from ldr.objectives.families.pencil import Pencil, RowPencil, SumOfSquares
from ldr.objectives.families.shrinking import Shrinking
from ldr.objectives.families.stacked import Stacked, StackedPencils, ridged
from ldr.objectives.families.trace import Trace
from ldr.objectives.families.whitened import Unwhitened, whiten
from ldr.objectives.families.whitened_trace import spectral_bound, whitened_trace
from ldr.objectives.lda import few_directions
from ldr.objectives.needs import Need
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import number, whole
from ldr.objectives.slices import sliced
from ldr.objectives.statistics import class_moments, moments
from ldr.objectives.statistics.stacked import StackedData


@dataclass(frozen=True)
class SlicedMethod(Objective):
    """Base of the methods of slices of the response, each with as many rows, or of its labels.

    Parameters
    ----------
    slices : int
        Of a continuous response; labels are slices themselves.
    ridge : float
        Added to the diagonal of C, in units of its mean diagonal.
    """

    sense = "max"
    needs = (Need.RESPONSE,)
    weighted = True
    transposed = False
    exact = "yes"
    scale_free = True

    slices: int = whole(10, 2)
    ridge: float = number(0.0)

    def codes(self, data: Data) -> np.ndarray:
        """The slice of each row."""
        return sliced(data.y, data.samples.n, self.slices, data.samples.weights)


@dataclass(frozen=True)
class SIR(Shrinking, SlicedMethod):
    """Find what the response says about the mean of X: max tr(M' Cov(E[z | slice]) M).

    z = C^{-1/2}(x - mean), slices of equal counts of the sorted response (or its labels); P =
    M'C^{-1/2}. Exact by the top eigenvectors. At most (slices - 1) directions; blind to symmetric
    dependence. With slices = classes its span is that of classical LDA.
    """

    name = "sir"
    formula = "max tr(M'C^{-1/2} Cov(E[x|slice]) C^{-1/2} M)"
    source = "Li 1991; Burges 2010, 4.5"
    baseline = "top generalised eigenvectors of (Cov(E[x|slice]), C)"

    def bind(self, data: Data, r: int) -> Trace:
        codes, compact = self.codes(data), self.compact(data.samples)
        groups = int(codes.max()) + 1

        def pencil(change: Change) -> Pencil:
            stats = class_moments(change(compact.rows), codes, groups)
            n = stats.n
            return Pencil(stats.between / n, SumOfSquares.covariance(stats.total, stats.mean, n))

        rows = self.shrunk(RowPencil(compact, pencil, "the covariance"))
        notes = few_directions(r, groups, "slices")
        return whitened_trace(self, rows, r, ridge=self.ridge, notes=notes)

    def stacked(self, data: StackedData) -> Stacked | None:
        if data.y is None:
            return None
        rows = data.rows
        codes = np.stack([sliced(of_one, rows.n, self.slices) for of_one in data.y])
        between, within = rows.scatters_of_classes(codes)
        return StackedPencils(between / rows.n, ridged((between + within) / rows.n, self.ridge))


@dataclass(frozen=True)
class SAVE(Shrinking, SlicedMethod):
    """Find what the response says about the spread of X: max tr(M' sum_b p_b (I - Cov_b(z))^2 M).

    z = C^{-1/2}(x - mean), p_b the share of slice b, Cov_b(z) its covariance; P = M'C^{-1/2}. Exact
    by the top eigenvectors. It sees symmetric dependence too; its noise floor grows with the number
    of slices. With a ridge, or shrinkage, of C in C^{-1/2}, the I is Cov(z): slices like all rows
    make zero.
    """

    name = "save"
    formula = "max tr(M' sum_b p_b (I - Cov_b(z))^2 M), z = C^{-1/2} x"
    source = "Cook & Weisberg 1991; Burges 2010, 4.5"
    baseline = "top eigenvectors of sum_b p_b (I - Cov_b(z))^2"

    def bind(self, data: Data, r: int) -> Trace:
        codes, compact = self.codes(data), self.compact(data.samples)

        def covariance(change: Change) -> Pencil:
            stats = moments(change(compact.rows))
            B = SumOfSquares.covariance(stats.scatter, stats.mean, stats.n)
            return Pencil(B.B, B)

        all_rows = self.shrunk(RowPencil(compact, covariance, "the covariance"))
        given = Unwhitened.of(compact, all_rows.what, self.ridge)
        found, (whitened,) = whiten(all_rows.of, lambda found: (found.B,), given)
        rows, of_all = whitened.change(compact.rows), whitened(found.A)
        A, size = np.zeros_like(of_all), 0.0
        counts = np.bincount(codes, compact.rows.weights)
        for b, count in enumerate(counts):
            of_slice = whitened(moments(rows.take(codes == b)).covariance)
            change = of_all - of_slice
            A += (count / counts.sum()) * (change @ change)
            size += (count / counts.sum()) * spectral_bound(change) * spectral_bound(of_slice)
        return Trace(
            self,
            (compact.view(whitened.mean, whitened.scatter).within(whitened),),
            A,
            r,
            outside=whitened.outside,
            chosen=all_rows.chosen,
            doubt=whitened.doubt(2.0 * size, r),
        )
