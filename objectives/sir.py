"""Inverse regression by slices of a response, and principal Hessian directions (PHD)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ldr.objectives.data.data import Data
from ldr.objectives.families.matrices import Codes, DataSums, PencilMatrices, SpectralMatrices
from ldr.objectives.families.stated import StatedMethod
from ldr.objectives.families.trace import AbsoluteTrace, Trace
from ldr.objectives.families.whitened import Shrinking
from ldr.objectives.lda import few_directions
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need, whole
from ldr.objectives.slices import sliced
from ldr.objectives.statistics.products import scaled_rows
from ldr.objectives.statistics.scatters import Variation
from ldr.objectives.statistics.sums import class_averages
from ldr.objectives.view import Axes
from ldr.solvers.manifolds import Array

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class SlicedMethod(Objective, weighted=True, transposed=False, scale_free=True):
    """Base of the methods of slices of a response, or of classes.

    Parameters
    ----------
    slices : int
        Number of slices of a quantitative response: the edges are the quantiles k/slices. Without
        ties the sizes of slices differ by at most one. Samples with equal responses are in the same
        slice; a response at an edge belongs to the slice above; empty slices are removed. If there
        are several responses, the first is sliced. For labels (strings, booleans, integers of at
        most 20 distinct values) each class is a slice.
    """

    sense = "max"
    needs = (Need.RESPONSE,)
    exact = "yes"

    slices: int = whole(10, 2)

    def codes(self, data: Data) -> np.ndarray:
        """Return the slice of each row, from the rows' data."""
        return sliced(data.y, data.samples.n, self.slices, data.samples.weights)

    def slices_of(self, data: DataSums) -> Codes:
        """Return the slice of each row, from sums over the rows."""
        rows, slices = data.rows, self.slices
        return data.groups(lambda y: sliced(y, rows.count, slices, rows.weights))

    def held(self, data: Data) -> Data:
        """Return the data with fixed slices as labels, because slices are discontinuous in y."""
        return replace(data, y=self.codes(data).astype(str))


@dataclass(frozen=True)
class SIR(Shrinking, StatedMethod, SlicedMethod, stacks=True):
    r"""Sliced inverse regression (SIR).

    .. math:: \max_M \operatorname{tr}(M' \operatorname{Cov}(\mathrm{E}[z \mid \text{slice}]) M)

    The samples are whitened, z = C^{-1/2}(x - mean). The sorted response is divided into slices of
    equal weight; each class of labels is a slice. P = M'C^{-1/2}. The top eigenvectors of the
    covariance of the slices' means are the exact solution. With s slices at most s - 1 directions
    are found. With classes as slices the span of M equals that of lda.

    Use it when a response depends on few directions of X, and X is roughly elliptically
    distributed. Do not use it for a response symmetric in X (y = x_1^2): use SAVE.

    Source: Li 1991; Burges 2010, 4.5.
    """

    name = "sir"
    baseline = "top generalised eigenvectors of (Cov(E[x|slice]), C)"

    def notes_on(self, data: Data, r: int) -> list[str]:
        return few_directions(r, int(self.codes(data).max()) + 1, "slices")

    def matrices(self, data: DataSums) -> PencilMatrices:
        rows, slices = data.rows, self.slices
        between, within = data.scatters_of_groups(
            lambda y: sliced(y, rows.count, slices, rows.weights)
        )
        n = rows.n
        return PencilMatrices(between / n, (between + within) / n, ridge=self.ridge)


@dataclass(frozen=True)
class SAVE(Shrinking, StatedMethod, SlicedMethod):
    r"""Sliced average variance estimation (SAVE).

    .. math:: \max_M \operatorname{tr}\left(M' \sum_b p_b (I - \operatorname{Cov}_b(z))^2 M\right)

    The samples are whitened, z = C^{-1/2}(x - mean), p_b is the share of slice b, and Cov_b(z) is
    the covariance within slice b. P = M'C^{-1/2}. The top eigenvectors of the sum in the formula
    are the exact solution. SAVE also finds symmetric dependence; noise increases with the number of
    slices. With a ridge or shrinkage of C, Cov(z) replaces I in the formula.

    Use it when a response depends on few directions, possibly symmetrically or through the
    variance. Do not use it for a linear dependence with few samples: take sir.

    Source: Cook & Weisberg 1991; Burges 2010, 4.5.
    """

    name = "save"
    baseline = "top eigenvectors of sum_b p_b (I - Cov_b(z))^2"

    def matrices(self, data: DataSums) -> PencilMatrices:
        rows, slices = data.rows, shares(self.slices_of(data), data.rows.weights)
        C = rows.scatter() / rows.n
        inside = rows.forms([own for _, own in slices], own_means=True)
        parts = [(share, C - V) for (share, _), V in zip(slices, inside, strict=True)]

        def A(inverse: Array) -> Array:
            terms = [share * data.square(change, inverse) for share, change in parts]
            return sum(terms[1:], start=terms[0])

        roots = sum(math.sqrt(share) for share, _ in slices)

        def cancels(a: float) -> float:
            """Bound 2 sum_b p_b |I - V_b| |V_b|, V_b = Cov_b(z): p_b |I - V_b|^2 <= |A| <= a."""
            return 2.0 * (math.sqrt(a) * roots + len(slices) * a)

        inner = data.with_inverse(A, C, self.ridge)
        return PencilMatrices(inner, C, ridge=self.ridge, cancels=cancels)


@dataclass(frozen=True)
class DirectionalRegression(Shrinking, StatedMethod, SlicedMethod):
    r"""Directional regression (DR).

    .. math::

        \max_M \operatorname{tr}\left(M'\, \mathrm{E}(2I - A)^2 M\right), \quad A =
        \mathrm{E}[(z - z')(z - z')' \mid y, y']

    The pairs (z, y) and (z', y') are independent; z = C^{-1/2}(x - mean), and y is the response's
    slice. Given the slices, A is the second-moment matrix of z - z'. If slices carry no information
    about z, A is 2I. The matrix E(2I - A)^2 equals 2 sum_b p_b V_b^2 + 2K^2 + 2 tr(K) K - 2I. Slice
    b has the share p_b of the samples and the second-moment matrix V_b of z; K is the covariance of
    the slices' means of z. The top eigenvectors of the matrix in the formula are the exact solution
    M, and P = M'C^{-1/2}. Directional regression finds the dependence that sir and save find, with
    fewer samples than save. With a ridge or shrinkage of C, Cov(z) replaces I in the formula.

    Use it if samples are too few for save, and the mean or the spread of X depends on the response.
    Do not use it for X far from Gaussian, because the moments are then biased: take sdr or gkdr.

    Source: Li & Wang 2007.
    """

    name = "directional-regression"
    baseline = "top eigenvectors of 2 sum_b p_b V_b^2 + 2K^2 + 2 tr(K) K - 2I"

    def matrices(self, data: DataSums) -> PencilMatrices:
        rows, codes = data.rows, self.slices_of(data)
        slices = shares(codes, rows.weights)
        between, within = data.scatters_of_groups(lambda y: codes)
        K, C = between / rows.n, (between + within) / rows.n
        moments = rows.forms([own for _, own in slices])
        parts = [(share, V - C) for (share, _), V in zip(slices, moments, strict=True)]

        def F() -> csr_array:
            means, sizes = class_averages(codes, len(slices), rows.weights)
            return scaled_rows(means, np.sqrt(sizes / sizes.sum()))

        def A(inverse: Array) -> Array:
            found = 2.0 * data.square(K, inverse) + 2.0 * data.times_trace(K, inverse, F)
            for share, change in parts:
                found = found + 2.0 * share * data.square(change, inverse)
            return found

        roots = sum(math.sqrt(share) for share, _ in slices)

        def cancels(a: float) -> float:
            """Bound 4 sum_b p_b |V_b - I| |V_b| + 8 tr(K) |K|, A a sum of squares, |A| <= a."""
            return 4.0 * (math.sqrt(0.5 * a) * roots + (0.5 * len(slices) + 1.0) * a)

        inner = data.with_inverse(A, C, self.ridge)
        return PencilMatrices(inner, C, ridge=self.ridge, cancels=cancels)


def shares(codes: Codes, weights: Array | None) -> list[tuple[float, Array]]:
    """Return the share of samples in each slice, and each row's weight in the slice's mean."""
    counts = np.ones(len(codes)) if weights is None else weights
    parts = [counts * (codes == b) for b in range(int(codes.max()) + 1)]
    return [(float(own.sum() / counts.sum()), own / own.sum()) for own in parts]


@dataclass(frozen=True)
class Hessian(AbsoluteTrace):
    """The trace tr(M'|H|M), with signed curvatures as scores."""

    def numbers(self, M: Array, axes: Axes, seen: Sequence[Variation | None]) -> dict[str, Array]:
        """Return m'Hm, positive for a convex dependence, and m'|H|m of each direction m."""
        curvature = super().numbers(M, axes, seen)["eigenvalue"]
        return {"curvature": curvature, **Trace.numbers(self, M, axes, seen)}


@dataclass(frozen=True)
class PrincipalHessianDirections(
    Shrinking, StatedMethod, stacks=True, weighted=True, transposed=False, scale_free=True
):
    r"""Principal Hessian directions (PHD).

    .. math:: \max_M \operatorname{tr}(M'|H|M), \quad H = \frac{1}{n} \sum_i (y_i - \bar y) z_i z_i'

    The samples are whitened, z = C^{-1/2}(x - mean). For Gaussian X, H is the mean Hessian of the
    regression function. The matrix |H| has the absolute eigenvalues of H; the column `curvature` of
    the result's components has the signs. P = M'C^{-1/2}. The eigenvectors of H with the largest
    absolute eigenvalues are the exact solution. PHD finds dependence that sir does not find, such
    as y = x_1^2, but not linear dependence.

    Use it when the regression function is curved along few directions, and features are roughly
    Gaussian. Do not use it for a linear dependence: take sir, or directional-regression.

    Source: Li 1992.
    """

    name = "phd"
    sense = "max"
    needs = (Need.RESPONSE,)
    baseline = "eigenvectors of H with the largest |eigenvalues|"
    spectral = Hessian
    by_size = True
    exact = "yes"

    def matrices(self, data: DataSums) -> SpectralMatrices:
        rows, e = data.rows, data.deviations()
        counts = e if rows.weights is None else e * rows.weights
        A, C = rows.form(counts / rows.n), rows.scatter() / rows.n
        return SpectralMatrices(A, C, ridge=self.ridge, cancels=abs(e).max())
