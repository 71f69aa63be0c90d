"""Sliced inverse regression and average variance: what the slices of a response tell apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ldr.objectives.data.data import Data
from ldr.objectives.data.samples import Samples
from ldr.objectives.families.pencil import Pencil, SumOfSquares
from ldr.objectives.families.shrinking import Shrinking
from ldr.objectives.families.stacked import Stacked, StackedPencils, ridged
from ldr.objectives.families.trace import Trace
from ldr.objectives.families.whitened import Unwhitened, whiten_rows
from ldr.objectives.families.whitened_trace import spectral_bound, whitened_trace
from ldr.objectives.lda import few_directions
from ldr.objectives.needs import Need
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import number, whole
from ldr.objectives.slices import sliced
from ldr.objectives.statistics import class_moments, moments
from ldr.objectives.statistics.stacked import StackedData
from ldr.objectives.view import Compact


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

    @property
    def from_sums(self) -> bool:
        return False  # the slices are those of all rows

    def bind(self, data: Data, r: int) -> Trace:
        codes = self.codes(data)
        groups = int(codes.max()) + 1

        def pencil(rows: Samples) -> Pencil:
            stats = class_moments(rows, codes, groups)
            n = stats.n
            return Pencil(stats.between / n, SumOfSquares.covariance(stats.total, stats.mean, n))

        rows = self.against_covariance(data, pencil)
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
class SAVE(SlicedMethod):
    """Find what the response says about the spread of X: max tr(M' sum_b p_b (I - Cov_b(z))^2 M).

    z = C^{-1/2}(x - mean), p_b the share of slice b, Cov_b(z) its covariance; P = M'C^{-1/2}. Exact
    by the top eigenvectors. It sees symmetric dependence too; its noise floor grows with the number
    of slices.
    """

    name = "save"
    weighted = True
    formula = "max tr(M' sum_b p_b (I - Cov_b(z))^2 M), z = C^{-1/2} x"
    source = "Cook & Weisberg 1991; Burges 2010, 4.5"
    baseline = "top eigenvectors of sum_b p_b (I - Cov_b(z))^2"

    def bind(self, data: Data, r: int) -> Trace:
        codes, compact = self.codes(data), Compact.of(data.samples)
        given = Unwhitened.of(compact, "the covariance", self.ridge)
        whitened = whiten_rows(compact.rows, given)
        rows = whitened.change(compact.rows)
        identity = np.eye(whitened.W.shape[1])
        A, size = np.zeros_like(identity), 0.0
        counts = np.bincount(codes, compact.rows.weights)
        for b, count in enumerate(counts):
            of_slice = whitened(moments(rows.take(codes == b)).covariance)
            change = identity - of_slice
            A += (count / counts.sum()) * (change @ change)
            size += (count / counts.sum()) * spectral_bound(change) * spectral_bound(of_slice)
        return Trace(
            self,
            (compact.view(whitened.mean, whitened.scatter).within(whitened),),
            A,
            r,
            # z does not vary there: (I - 0)^2
            outside=whitened.outside if self.ridge == 0 else 1.0,
            doubt=whitened.doubt(2.0 * size, r),
        )
