"""Oriented, contrastive and demixed principal component analysis (PCA)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
import numpy.typing as npt

from ldr.objectives.data.data import Data
from ldr.objectives.data.sample_metadata import as_array, distinct
from ldr.objectives.data.stored import Change
from ldr.objectives.families.matrices import DataSums, PencilMatrices, RatioMatrices, TraceMatrices
from ldr.objectives.families.stated import StatedMethod
from ldr.objectives.families.trace import Trace
from ldr.objectives.families.trace_ratio import NestedMethod
from ldr.objectives.families.whitened import (
    RowPencil,
    Shrinking,
    SumOfSquares,
    Unwhitened,
    moved,
    whiten,
)
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need, declared, number
from ldr.objectives.problem import Fitted
from ldr.objectives.statistics import ClassMoments, class_moments
from ldr.objectives.statistics.products import ProductOf
from ldr.objectives.statistics.scatters import KnownScatter, Variation
from ldr.objectives.statistics.shrinkage import ledoit_wolf
from ldr.objectives.statistics.sums import membership
from ldr.objectives.view import Axes, Compact, Coordinates
from ldr.solvers.errors import ArgumentError, DataError
from ldr.solvers.linalg.bounds import spectral_bound
from ldr.solvers.manifolds import Array


@dataclass(frozen=True)
class NoiseMethod(StatedMethod, weighted=True, from_sums=True):
    """Base of the methods of a pair (signal, noise) of arrays with the same columns."""

    sense = "max"
    needs = (Need.BACKGROUND,)
    exact = "yes"


@dataclass(frozen=True)
class SignalNoise(NoiseMethod):
    r"""Difference of signal and noise variances.

    .. math:: \max_{M'M=I} \operatorname{tr}(M'(C_{\text{signal}} - \alpha C_{\text{noise}})M)

    X is a pair (signal, noise) of arrays with the same features, each centred separately. P = M'.
    The top eigenvectors of the indefinite difference of the covariances are the exact solution.
    Unlike in oriented PCA, the span of M depends on the scale of the noise.

    Use it when the noise was measured separately and the difference of variances is of interest. Do
    not use it if no alpha is known: take opca, which maximises a ratio.

    Source: Cunningham & Ghahramani 2015; Burges 2010, 4.2.

    Parameters
    ----------
    alpha : float
        Weight of the noise, alpha >= 0.
    """

    name = "signal-noise"
    baseline = "top eigenvectors of C_signal - alpha C_noise"
    divisor = ""

    alpha: float = number(1.0)

    def matrices(self, data: DataSums) -> TraceMatrices:
        signal, noise = data.views
        return TraceMatrices(signal.scatter() / signal.n - self.alpha * noise.scatter() / noise.n)


@dataclass(frozen=True)
class ContrastivePCA(SignalNoise):
    r"""Contrastive principal component analysis (PCA).

    .. math:: \max_{M'M=I} \operatorname{tr}(M'(C_{\text{target}} - \alpha C_{\text{background}})M)

    X is a pair (target, background) of arrays with the same features, each centred separately. P =
    M'. The top eigenvectors of the difference of the covariances are the exact solution.

    Use it for variation that is present in a target data set and not in a background data set. Do
    not use it if no weight alpha is known: try several, or take orthogonal-gcpca or opca.

    Source: Abid, Zhang, Bagaria & Zou 2018.

    Parameters
    ----------
    alpha : float
        Weight of the background, alpha >= 0.
    """

    name = "contrastive-pca"
    baseline = "top eigenvectors of C_target - alpha C_background"


@dataclass(frozen=True)
class OPCA(Shrinking, NoiseMethod, transposed=False, scale_free=True):
    r"""Oriented principal component analysis (PCA), also distortion discriminant analysis.

    .. math:: \max_M \operatorname{tr}\left((M'RM)^{-1} M'CM\right)

    X is a pair (signal, noise) of arrays with the same features; C is the covariance of the signal,
    R the second moment of the noise about zero. In variables whitened by the noise the problem is
    max tr(M'R^{-1/2} C R^{-1/2} M), with the moments C of the signal and R of the noise, and P =
    M'R^{-1/2}. The top generalised eigenvectors of (C, R) are the exact solution and also maximise
    log|M'CM| - log|M'RM|. The span of M does not depend on the scales of signal and noise.

    Use it when the noise was measured separately, for the largest ratio of signal to noise. Do not
    use it without a ridge if noise samples are fewer than features.

    Source: Diamantaras & Kung 1996; Burges 2010, 4.2.

    Parameters
    ----------
    ridge : float
        Constant added to the diagonal of R, relative to the mean eigenvalue in the span of signal
        and noise, or with shrinkage in all columns. If R is singular and the ridge is 0, M is
        restricted to the range of R.
    shrinkage : "auto" or None
        "auto" shrinks R towards its diagonal. The intensity is that of Ledoit and Wolf's rule for
        second moments, computed from columns divided by their root mean squares.
    """

    name = "opca"
    baseline = "top generalised eigenvectors of (C, R)"

    divisor = "the second moment of the noise"

    def shrunken(self, rows: RowPencil, data: Data) -> RowPencil:
        if self.shrinkage is None:
            return rows
        return moved(rows, ledoit_wolf(rows.others[0], about_zero=True))

    def matrices(self, data: DataSums) -> PencilMatrices:
        signal, noise = data.views
        C, R = signal.scatter() / signal.n, noise.about_zero.scatter() / noise.n
        # The noise scatter is not centred and has no offset due to a mean: `float()` returns 0.
        return PencilMatrices(C, R, ridge=self.ridge, total=R + C, offsets=float)


@dataclass(frozen=True)
class GeneralisedContrast(NoiseMethod):
    """Base of the methods of the pair (C_target - C_background, C_target + C_background).

    Parameters
    ----------
    ridge : float
        Constant added to the diagonal of C_target + C_background, relative to the mean eigenvalue
        in the span of the samples.
    """

    ridge: float = number(0.0)

    divisor = "the sum of both covariances"

    @staticmethod
    def difference_and_sum(data: DataSums) -> tuple[Array, Array]:
        """Return C_target - C_background and C_target + C_background."""
        target, background = (view.scatter() / view.n for view in data.views)
        return target - background, target + background


@dataclass(frozen=True)
class OrthogonalGCPCA(NestedMethod, GeneralisedContrast):
    r"""Generalised contrastive principal component analysis (gcPCA), orthogonal.

    .. math::

        \max_{M'M=I} \frac{\operatorname{tr}(M'(C_t - C_b)M)}{\operatorname{tr}(M'(C_t + C_b)M)}

    X is a pair (target, background) of arrays with the same features, each centred separately, with
    the covariances C_t and C_b. P = M'. The value lies between -1 and 1 and is an increasing
    function of tr(M'C_tM) / tr(M'C_bM).

    Use it for variation that is present in a target data set and not in a background data set, in
    orthonormal directions and without a parameter alpha. Do not use it if the background has fewer
    samples than features: take opca with a ridge.

    Source: de Oliveira, Garg, Hjerling-Leffler, Batista-Brito & Sjulson 2025.
    """

    name = "orthogonal-gcpca"
    baseline = "orthonormalised generalised eigenvectors of (C_t - C_b, C_t + C_b)"
    exact = "r = 1"
    sibling = "gcpca"

    def matrices(self, data: DataSums) -> RatioMatrices:
        both = self.difference_and_sum(data)
        return RatioMatrices(*both, 1.0, self.column_weights, ridge=self.ridge, cancels=1.0)


@dataclass(frozen=True)
class GCPCA(GeneralisedContrast, transposed=False, scale_free=True):
    r"""Generalised contrastive principal component analysis (gcPCA), whitened.

    .. math:: \max_M \operatorname{tr}\left((M'(C_t + C_b)M)^{-1} M'(C_t - C_b)M\right)

    X is a pair (target, background) of arrays with the same features, each centred separately. For
    their covariances C_t and C_b the whitened problem is max tr(M'B^{-1/2}(C_t - C_b)B^{-1/2}M),
    with B = C_t + C_b and P = M'B^{-1/2}. The top generalised eigenvectors of C_t - C_b relative to
    C_t + C_b are optimal, with eigenvalues between -1 and 1.

    Use it instead of orthogonal-gcpca for components that are uncorrelated over both data sets. Do
    not use it if the projection must be orthogonal: take orthogonal-gcpca.

    Source: de Oliveira, Garg, Hjerling-Leffler, Batista-Brito & Sjulson 2025.
    """

    name = "gcpca"
    baseline = "top generalised eigenvectors of (C_t - C_b, C_t + C_b)"

    def matrices(self, data: DataSums) -> PencilMatrices:
        return PencilMatrices(*self.difference_and_sum(data), ridge=self.ridge, cancels=1.0)


def _keep_subsets(owner: object, name: str) -> None:
    given = getattr(owner, name)
    subsets = list(given) if isinstance(given, (tuple, list)) else []
    if not subsets or not all(map(_are_columns, subsets)):
        raise ArgumentError(
            f"{name} must be a tuple of sets of columns of y, such as ((0,),) for the first "
            f"column, or ((0,), (0, 1)) to add its interaction with the second, got {given!r}"
        )
    kept = (tuple(sorted({int(k) for k in subset})) for subset in subsets)
    object.__setattr__(owner, name, tuple(dict.fromkeys(kept)))


def _are_columns(subset: object) -> bool:
    return (
        isinstance(subset, (tuple, list))
        and len(subset) > 0
        and all(isinstance(k, (int, np.integer)) and not isinstance(k, bool) for k in subset)
        and min(subset) >= 0
    )


@dataclass(frozen=True)
class DemixedPCA(Objective, weighted=True, transposed=False):
    r"""Demixed principal component analysis (dPCA).

    .. math::

        \max_{M'M=I} \operatorname{tr}(M'A(X'X + \lambda I)A'M),
        \quad A' = (X'X + \lambda I)^{-1} X'X_f

    y has a column of labels for each factor (stimulus, decision, time). The parameter `of` selects
    sets of factors, and the matrix X_f is the sum of their contributions to the samples. As in the
    analysis of variance, the contribution of a set of factors is the mean over all other factors
    minus the contributions of its subsets. All combinations of levels have equal weight. Samples
    are trials or their means. The penalty lambda is `ridge` times the mean nonzero eigenvalue of
    X'X. Equivalently, the decoder D = M'A solves min ||X_f - XD'M'||_F^2 + lambda ||MD||_F^2. The
    top eigenvectors are the exact solution. `parameters["explained_share"]` is the value divided by
    ||X_f||^2, the contributions' sum of squares. P = D.

    Use it when samples come from an experiment with several factors (stimulus, decision, time), to
    separate the contributions of the factors. Do not use it to discriminate classes: take lda.

    Source: Kobak et al. 2016.

    Parameters
    ----------
    of : tuple of tuples of int
        Sets of factors whose contributions are added; a factor is the index of its column in y.
    ridge : float
        Constant added to the diagonal of X'X, relative to the mean eigenvalue in the span of the
        samples.
    """

    name = "dpca"
    sense = "max"
    needs = (Need.RESPONSE,)
    baseline = "top eigenvectors of X_f'X (X'X + ridge I)^{-1} X'X_f"
    exact = "yes"

    of: tuple[tuple[int, ...], ...] = declared(((0,),), _keep_subsets)
    ridge: float = number(0.0)

    def bind(self, data: Data, r: int) -> Demixed:
        compact = Compact.of(data.samples, quiet=True)
        codes, shape = self._cells(data.y, data.samples.n)

        def cells_of(change: Change) -> ClassMoments:
            return class_moments(change(compact.rows), codes, math.prod(shape))

        cells = cells_of(Change())
        given = Unwhitened.of(compact, "the covariance", self.ridge)
        found, (whitened,) = whiten(
            lambda change: cells if change.T is None else cells_of(change),
            lambda found: (SumOfSquares.of_rows(found.total, found.mean, float(found.n)),),
            given,
        )
        added = self.added(cells.apart, shape)
        K = whitened.rows((cells.counts[:, None] * found.apart).T @ added)
        A = K.T @ K
        view = compact.view(cells.mean, KnownScatter(cells.total, cells.n))
        return Demixed(
            self,
            (view.noting(*whitened.notes),),
            A,
            r,
            doubt=2.0 * whitened.doubt(spectral_bound(A), r),
            decoding=whitened.coordinates,
            K=K,
            total=float(np.sum(cells.counts[:, None] * added**2)),
        )

    def matrices(self, data: DataSums) -> TraceMatrices:
        rows, n = data.rows, data.rows.count
        codes, shape = data.groups(lambda y: self._cells(y, n))
        members, counts = membership(codes, math.prod(shape)).tocsr(), np.bincount(codes)
        added = self.added(np.eye(len(counts)), shape) / counts
        parts = ProductOf((members.T.tocsr(), added, members))
        D = data.inverse(rows.scatter(), self.ridge) @ rows.form(parts)
        return TraceMatrices(rows.form(parts.T) @ D, decoder=D)

    def _cells(self, y: npt.ArrayLike, n: int) -> tuple[npt.NDArray[np.intp], tuple[int, ...]]:
        """Return each row's combination of levels, and the factors' numbers of levels."""
        factors = as_array(y)
        factors = factors[:, None] if factors.ndim == 1 else factors
        if factors.ndim != 2 or len(factors) != n:
            raise DataError(
                f"y has shape {factors.shape}, expected {n} rows and one column for each factor"
            )
        highest = max(max(subset) for subset in self.of)
        if highest >= factors.shape[1]:
            raise DataError(
                f"of={self.of} selects column {highest} of y, expected 0 to {factors.shape[1] - 1}"
            )
        levels, codes, _ = zip(*(distinct(factor, "y") for factor in factors.T), strict=True)
        shape = tuple(map(len, levels))
        cells = np.asarray(np.ravel_multi_index(codes, shape))
        missing = math.prod(shape) - len(np.unique(cells))
        if missing:
            raise DataError(
                f"the factors in y have {math.prod(shape)} combinations of levels, but {missing} "
                "of these have no samples; expected samples of every combination"
            )
        return cells, shape

    def added(self, means: Array, shape: tuple[int, ...]) -> Array:
        """Return the contribution of sets of factors to each cell mean, by inclusion-exclusion."""
        grid = means.reshape(*shape, -1)
        total = np.zeros_like(grid)
        for subset in self.of:
            for size in range(len(subset) + 1):
                for inner in combinations(subset, size):
                    others = tuple(k for k in range(len(shape)) if k not in inner)
                    total += (-1) ** (len(subset) - size) * grid.mean(axis=others, keepdims=True)
        return total.reshape(means.shape)


@dataclass(frozen=True)
class Demixed(Trace):
    """Trace with the map P = D, the decoder of the reconstruction by M.

    - decoding: whitened coordinates of the rows
    - K (m, k): the matrix A' in whitened coordinates; the decoder is D = M'A
    - total: ||X_f||^2
    """

    plain = False

    decoding: Coordinates = field(kw_only=True)
    K: Array = field(kw_only=True)
    total: float = field(kw_only=True)

    def maps(self, M: Array) -> tuple[Array, ...]:
        return (self.decoding.map(self.K @ M, M),)

    def numbers(self, M: Array, axes: Axes, seen: Sequence[Variation | None]) -> dict[str, Array]:
        """Return the eigenvalues, and their shares of ||X_f||^2."""
        found = super().numbers(M, axes, seen)
        return {**found, "explained_share": found["eigenvalue"] / (self.total or 1.0)}

    def parameters(self, M: Array) -> Fitted:
        return {"explained_share": float(np.trace(self.compressed(M))) / (self.total or 1.0)}
