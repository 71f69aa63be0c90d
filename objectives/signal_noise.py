"""Signal against noise: variance of some rows against that of others, or against all of it."""

from __future__ import annotations

import numpy as np

from ldr.objectives.data.change import Change
from ldr.objectives.data.data import Data
from ldr.objectives.data.finite import check_squares
from ldr.objectives.data.footprint import Footprint
from ldr.objectives.data.samples import Samples
from ldr.objectives.families.matrices import DataSums, PencilMatrices, RatioMatrices, TraceMatrices
from ldr.objectives.families.nested import NestedMethod
from ldr.objectives.families.pencil import Pencil, RowPencil, Shrinking, SumOfSquares, moved
from ldr.objectives.families.trace import Trace
from ldr.objectives.families.trace_ratio import TraceRatio, trace_ratio
from ldr.objectives.families.whitened_trace import whitened_trace
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need, number
from ldr.objectives.statistics import moments
from ldr.objectives.statistics.covariance import KnownScatter, Scatter
from ldr.objectives.statistics.shrinkage import ledoit_wolf
from ldr.objectives.view import Compact, View
from ldr.solvers.manifolds import Array
from ldr.solvers.records import dataclass, replace


@dataclass(frozen=True)
class Pair:
    """Samples and background; where both have fewer rows than columns, in the span of their rows.

    The span holds the rows themselves, not only their differences from the mean, so that second
    moments about zero are kept too.
    """

    samples: Samples
    background: Samples
    compact: Compact

    @classmethod
    def of(cls, data: Data, *, room: int = 0, in_columns: bool = False) -> Pair:
        """With room for directions outside the span, as `Compact` has it; or in all columns."""
        assert data.background is not None
        samples, background = data.samples, data.background
        check_squares(background)
        if in_columns:
            return cls(samples, background, Compact.of_columns(samples))
        compact, (samples, background) = Compact.about_zero(samples, background, room=room)
        return cls(samples, background, compact)

    def view(self, mean: Array, scatter: Scatter) -> View:
        """The way back, from the mean of `samples` and their scatter."""
        of_columns = self.compact.coordinates.lift(mean[:, None])[:, 0]
        return replace(self.compact.view(mean, scatter), mean=of_columns)


@dataclass(frozen=True)
class NoiseMethod(Objective):
    """Base of the methods of two arrays with the same columns: signal and noise."""

    sense = "max"
    needs = (Need.BACKGROUND,)
    exact = "yes"
    weighted = True
    from_sums = True
    arrays = Footprint(squares=10.0, span=30.0)


@dataclass(frozen=True)
class SignalNoise(NoiseMethod):
    """Vary with the signal and not with the noise: max tr(M'(C_signal - alpha C_noise)M).

    X is a pair (signal, noise) of arrays with the same columns, each centred by itself.
    P = M'. Exact by the top eigenvectors of the difference, which is indefinite. Unlike oriented
    PCA's, its span changes when the noise is rescaled.

    Parameters
    ----------
    alpha : float
        Weight of the noise, alpha >= 0.
    """

    name = "signal-noise"
    formula = "max tr(M'(C_signal - alpha C_noise)M)"
    source = "Cunningham & Ghahramani 2015; Burges 2010, 4.2"
    baseline = "top eigenvectors of C_signal - alpha C_noise"

    alpha: float = number(1.0)

    def bind(self, data: Data, r: int) -> Trace:
        pair = Pair.of(data, room=r)
        signal, noise = moments(pair.samples), moments(pair.background)
        A = signal.covariance - self.alpha * noise.covariance
        return Trace(self, (pair.view(signal.mean, KnownScatter(signal.scatter, signal.n)),), A, r)

    def matrices(self, data: DataSums) -> TraceMatrices:
        signal, noise = data.views
        return TraceMatrices(signal.scatter() / signal.n - self.alpha * noise.scatter() / noise.n)


@dataclass(frozen=True)
class ContrastivePCA(SignalNoise):
    """Vary in the target and not in the background: max tr(M'(C_target - alpha C_background)M).

    X is a pair (target, background) of arrays with the same columns, each centred by itself.
    P = M'. Exact by the top eigenvectors of the difference.

    Parameters
    ----------
    alpha : float
        Weight of the background, alpha >= 0.
    """

    name = "contrastive-pca"
    formula = "max tr(M'(C_target - alpha C_background)M)"
    source = "Abid, Zhang, Bagaria & Zou 2018"
    baseline = "top eigenvectors of C_target - alpha C_background"


@dataclass(frozen=True)
class OPCA(Shrinking, NoiseMethod):
    """Signal to noise ratio, also distortion discriminant analysis: max tr((M'RM)^{-1} M'CM).

    X is a pair (signal, noise) of arrays with the same columns; C is the covariance of the signal,
    R the second moment of the noise about zero. In the whitened variable
    max tr(M'R^{-1/2} C R^{-1/2} M), P = M'R^{-1/2}; exact by the top generalised eigenvectors of
    (C, R), which maximise log|M'CM| - log|M'RM| too. The span does not change when signal or noise
    is rescaled.

    Parameters
    ----------
    ridge : float
        Added to the diagonal of R, in units of its mean diagonal. Without it, and where R is
        singular, M is restricted to the range of R.
    shrinkage : "auto" or None
        "auto" moves R towards its diagonal by Ledoit and Wolf's rule for second moments, of columns
        in units of their root mean squares.
    """

    name = "opca"
    formula = "max tr(M'R^{-1/2} C R^{-1/2} M), R the second moment of noise"
    source = "Diamantaras & Kung 1996; Burges 2010, 4.2"
    baseline = "top generalised eigenvectors of (C, R)"
    transposed = False
    scale_free = True
    arrays = Footprint(squares=16.0, span=30.0)

    def bind(self, data: Data, r: int) -> Trace:
        pair = Pair.of(data, in_columns=self.shrinkage is not None)

        def pencil(change: Change) -> Pencil:
            signal = moments(change(pair.samples))
            noise = moments(change.about_zero(pair.background))
            R = noise.covariance + np.outer(noise.mean, noise.mean)
            total = R + signal.covariance
            # R has the squares of the numbers themselves: no mean comes on top
            known = KnownScatter(signal.scatter, signal.n)
            B = SumOfSquares(R, signal.mean, 0.0, total, scatter=known)
            return Pencil(signal.covariance, B)

        others = (pair.samples, pair.background)
        rows = RowPencil(pair.compact, pencil, "the second moment of the noise", others)
        if self.shrinkage is not None:
            rows = moved(rows, ledoit_wolf(pair.background, about_zero=True))
        return whitened_trace(self, rows, r, ridge=self.ridge)

    def matrices(self, data: DataSums) -> PencilMatrices:
        signal, noise = data.views
        R = noise.scatter() / noise.n + noise.mean[..., :, None] * noise.mean[..., None, :]
        return PencilMatrices(signal.scatter() / signal.n, R, ridge=self.ridge)


@dataclass(frozen=True)
class GeneralisedContrast(NoiseMethod):
    """Base of the methods of C_target - C_background against C_target + C_background.

    Parameters
    ----------
    ridge : float
        Added to the diagonal of C_target + C_background, in units of its mean diagonal.
    """

    ridge: float = number(0.0)

    def contrast(self, data: Data) -> RowPencil[Pencil]:
        """The difference and the sum of both covariances, each of rows about their own mean."""
        pair = Pair.of(data)
        plain = moments(pair.background)

        def pencil(change: Change) -> Pencil:
            target, background = moments(change(pair.samples)), plain
            if change.T is not None:
                background = moments(Change(change.T, plain.mean)(pair.background))
            a, b = target.covariance, background.covariance
            means = (a, target.mean), (b, background.mean)
            known = KnownScatter(target.scatter, target.n)
            # a column that is constant in one of them has no rounding there
            offsets = np.hypot(*(np.where(np.diag(C) > 0, m, 0.0) for C, m in means))
            B = SumOfSquares(a + b, target.mean, 1.0, scatter=known, offsets=offsets)
            return Pencil(a - b, B, 1.0)

        others = (pair.samples, pair.background)
        return RowPencil(pair.compact, pencil, "the sum of both covariances", others)

    @staticmethod
    def difference_and_sum(data: DataSums) -> tuple[Array, Array]:
        """C_target - C_background and C_target + C_background."""
        target, background = (view.scatter() / view.n for view in data.views)
        return target - background, target + background


@dataclass(frozen=True)
class GCPCA(NestedMethod, GeneralisedContrast):
    """Vary in the target and not in the background: max tr(M'(C_t - C_b)M) / tr(M'(C_t + C_b)M).

    X is a pair (target, background) of arrays with the same columns, each centred by itself; M is
    orthonormal, P = M'. The value lies between -1 and 1 and needs no alpha: it is largest where
    tr(M'C_tM) / tr(M'C_bM) is.
    """

    name = "gcpca"
    formula = "max tr(M'(C_t - C_b)M) / tr(M'(C_t + C_b)M)"
    source = "de Oliveira, Garg, Hjerling-Leffler, Batista-Brito & Sjulson 2025"
    baseline = "orthonormalised generalised eigenvectors of (C_t - C_b, C_t + C_b)"
    exact = "r = 1"
    sibling = "classical-gcpca"

    def bind(self, data: Data, r: int) -> TraceRatio:
        return trace_ratio(self, self.contrast(data), r, ridge=self.ridge)

    def matrices(self, data: DataSums) -> RatioMatrices:
        both = self.difference_and_sum(data)
        return RatioMatrices(*both, 1.0, self.column_weights, ridge=self.ridge)


@dataclass(frozen=True)
class ClassicalGCPCA(GeneralisedContrast):
    """Vary in the target and not in the background: max tr((M'(C_t + C_b)M)^{-1} M'(C_t - C_b)M).

    X is a pair (target, background) of arrays with the same columns, each centred by itself. In the
    whitened variable max tr(M'B^{-1/2}(C_t - C_b)B^{-1/2}M), B = C_t + C_b, P = M'B^{-1/2}; exact
    by the top generalised eigenvectors, whose eigenvalues lie between -1 and 1.
    """

    name = "classical-gcpca"
    formula = "max tr(M'B^{-1/2}(C_t - C_b)B^{-1/2}M), B = C_t + C_b"
    source = "de Oliveira, Garg, Hjerling-Leffler, Batista-Brito & Sjulson 2025"
    baseline = "top generalised eigenvectors of (C_t - C_b, C_t + C_b)"
    transposed = False
    scale_free = True
    arrays = Footprint(squares=16.0, span=30.0)

    def bind(self, data: Data, r: int) -> Trace:
        return whitened_trace(self, self.contrast(data), r, ridge=self.ridge)

    def matrices(self, data: DataSums) -> PencilMatrices:
        return PencilMatrices(*self.difference_and_sum(data), ridge=self.ridge)
