"""Slow feature analysis (SFA), time-lagged independent component analysis (TICA) and VAMP."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ldr.objectives.data.data import Data, UnknownError
from ldr.objectives.families.matrices import (
    Against,
    DataSums,
    PencilMatrices,
    RatioMatrices,
    SpectralMatrices,
    TraceMatrices,
    links_of_pairs,
)
from ldr.objectives.families.stated import Opened, StatedMethod
from ldr.objectives.families.trace import SpectralTrace
from ldr.objectives.families.trace_ratio import NestedMethod
from ldr.objectives.families.white_views import whitened_views
from ldr.objectives.families.whitened import RowPencil, Shrinking, Unwhitened, moved
from ldr.objectives.maf import LaggedMethod
from ldr.objectives.objective import Objective, OfFeatures
from ldr.objectives.parameters import Need, flag, whole
from ldr.objectives.problem import Fitted
from ldr.objectives.statistics import pair_moments
from ldr.objectives.statistics.scatters import Variation
from ldr.objectives.statistics.shrinkage import JointShrinkage, chosen_by, ledoit_wolf
from ldr.objectives.statistics.time import count_pairs
from ldr.objectives.view import Axes, Compact, Coordinates, Quadratic
from ldr.solvers.errors import ArgumentError, TooLargeError
from ldr.solvers.linalg.bounds import spectral_bound
from ldr.solvers.linalg.products import LessMeans
from ldr.solvers.manifolds import Array, polar_factor
from ldr.solvers.manifolds.manifold import thin_svd


@dataclass(frozen=True)
class SlowMethod(Objective, weighted=True, from_sums=True, stacks=True):
    """Base of the methods of differences of successive rows in time order."""

    sense = "min"
    needs = (Need.TIME_ORDER,)


@dataclass(frozen=True)
class SFA(StatedMethod, SlowMethod, OfFeatures):
    r"""Slow feature analysis (SFA).

    .. math:: \min_{M'M=I} \operatorname{tr}(M'\dot X'\dot X M)

    The matrix Xdot contains the differences of successive samples. By default M is orthonormal and
    P = M'. With whiten=True, as usual in SFA, the components have unit variance: with the
    covariance C the problem is min tr(M'C^{-1/2} Xdot'Xdot C^{-1/2} M), and P = M'C^{-1/2}. Bottom
    eigenvectors of Xdot'Xdot, or of C^{-1/2} Xdot'Xdot C^{-1/2}, are the exact solution.

    Use it when samples are in time order, for slowly changing components; whiten=True measures
    slowness relative to variance. Do not use it with whiten=False if features differ in variance,
    because then features of small variance dominate.

    Source: Wiskott & Sejnowski 2002; Cunningham & Ghahramani 2015, 3.1.6.

    Parameters
    ----------
    whiten : bool
        Require components of unit variance instead of orthonormal directions.
    degree : {1, 2}
        Degree 2 adds the products of all pairs of columns, d(d + 3)/2 features in all; `transform`
        also expands new samples.
    derivatives : array (n, d), optional
        Derivatives Xdot of the samples, if they are known more accurately than from differences of
        samples. Derivatives require degree=1.
    """

    name = "sfa"
    baseline = "bottom eigenvectors of X_dot'X_dot"
    exact = "yes"

    whiten: bool = flag(False)
    degree: int = whole(1, 1)
    derivatives: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.degree > 2:
            raise ArgumentError(f"degree must be 1 or 2, got {self.degree!r}")
        if self.degree == 2 and self.derivatives is not None:
            raise ArgumentError("derivatives= requires degree=1, got degree=2")
        # With degree 2 centred features are multiplied: the mean is needed first, and dense data.
        from_sums = self.degree == 1 and self.derivatives is None
        self._set_traits(
            transposed=not self.whiten,
            scale_free=self.whiten,
            sparse=self.degree == 1,
            from_sums=from_sums,
            products="optimum" if self.whiten and from_sums else "",
        )

    def check_memory(self, data: Data) -> None:
        try:
            super().check_memory(data)
        except TooLargeError as error:
            if not data.samples.is_sparse or self.whiten:
                raise
            raise TooLargeError(f"{error}. Alternatives: whiten=True, or orthogonal-sfa") from None

    def of_features(self) -> SFA:
        return self if self.degree == 1 else replace(self, degree=1)

    def largest_r(self, data: Data) -> int:
        d = data.samples.d
        return d if self.degree == 1 else d * (d + 3) // 2

    @property
    def divisor(self) -> str:  # type: ignore[override]
        return "the covariance" if self.whiten else ""

    def opened(self, data: Data, room: int) -> Opened:
        if self.degree == 1:
            return super().opened(data, room)
        features = Quadratic.of(data.samples, free=self.whiten)
        compact = Compact.of(features(data.samples), features=features)
        return Opened(self.name, data, compact, [compact.rows])

    def matrices(self, data: DataSums) -> PencilMatrices | TraceMatrices:
        if self.degree > 1:
            raise UnknownError
        rows, given = data.rows, self.derivatives is not None
        A = data.scatter_of(self.derivatives) if given else rows.scatter_of_changes()
        if self.whiten:
            C = rows.scatter() / rows.n
            return PencilMatrices(A, C, -1.0, total=C + A / rows.n if given else None)
        return TraceMatrices(A, -1.0, varied=rows.scatter)


@dataclass(frozen=True)
class OrthogonalSFA(NestedMethod, Shrinking, StatedMethod, SlowMethod, products="optimum"):
    r"""Orthogonal slow feature analysis (SFA): the trace ratio.

    .. math:: \min_{M'M=I} \frac{\operatorname{tr}(M'\dot X'\dot X M)}{\operatorname{tr}(M'CM)}

    The matrix Xdot contains the differences of successive samples, and C = X'X/n. P = M'. The
    baseline consists of the orthonormalised bottom generalised eigenvectors of (Xdot'Xdot, C), the
    solution of whitened slow feature analysis.

    Use it for slowness relative to the variance, in an orthogonal projection. Do not use it for
    uncorrelated components: take sfa with whiten=True.

    Source: Wiskott & Sejnowski 2002; Cunningham & Ghahramani 2015, 3.1.6.

    Parameters
    ----------
    shrinkage : "auto" or None
        "auto" shrinks C towards its diagonal D, by Ledoit and Wolf's rule for the standardised
        columns. Xdot'Xdot is shrunk with the same intensity, towards its expectation 2mD for m
        differences of independent samples. The result's parameters contain the intensity.
    """

    name = "orthogonal-sfa"
    baseline = "orthonormalised generalised eigenvectors of (X_dot'X_dot, C)"
    exact = "r = 1"
    sibling = "sfa with whiten=True"

    def shrunken(self, rows: RowPencil, data: Data) -> RowPencil:
        if self.shrinkage is None:
            return rows
        of_rows = rows.compact.rows
        # The difference of two independent rows has twice a row's variance: hence the factor 2.
        return moved(rows, ledoit_wolf(of_rows), 2.0 * count_pairs(of_rows, 1))

    def matrices(self, data: DataSums) -> RatioMatrices:
        A, C = data.rows.scatter_of_changes(), data.rows.scatter() / data.rows.n
        return RatioMatrices(A, C, -1.0, self.column_weights, ridge=self.ridge)


@dataclass(frozen=True)
class PairMethod(Shrinking, LaggedMethod, transposed=False, scale_free=True):
    """Base of the methods of the pairs (x_t, x_{t+lag}) as rows of two views.

    Pairs are formed within trials; a pair of weighted rows has the weight sqrt(w_t w_{t+lag}).

    Parameters
    ----------
    shrinkage : "auto" or None
        "auto" shrinks C_0, or for vamp C_00 and C_tt, towards the variances of all rows times a
        number that keeps the trace for standardised columns. Ledoit and Wolf's rule, for all rows
        and standardised columns, gives the intensity s, which the result's parameters contain. For
        vamp C_0t is shrunk towards 0, and all three matrices are divided by 1 - s.
    """

    exact = "yes"


@dataclass(frozen=True)
class TICA(PairMethod, StatedMethod, stacks=True):
    r"""Time-lagged independent component analysis (TICA).

    .. math:: \max_M \operatorname{tr}\left((M'C_0 M)^{-1} M'C_{\text{lag}} M\right)

    The rows of X_0 and X_lag are the members of N pairs (x_t, x_{t+lag}), minus mu = (mean x_t +
    mean x_{t+lag})/2. The reversible estimates C_0 = (X_0'X_0 + X_lag'X_lag)/2N and C_lag =
    (X_0'X_lag + X_lag'X_0)/2N give no autocorrelation above 1. The method maf differs from tica
    only at the ends of the series. In variables whitened by the covariance C_0 the problem is max
    tr(M'C_0^{-1/2} C_lag C_0^{-1/2} M), with P = M'C_0^{-1/2}. The top generalised eigenvectors of
    (C_lag, C_0) are the exact solution; negative autocorrelations come last.

    Use it when samples are in time order, for the slowest processes, such as transitions between
    states of a molecule. The result's components contain the implied `timescale`, -lag /
    log|eigenvalue|, in samples. Do not use it for short series with a drift, because the drift is
    the slowest process.

    Source: Molgedey & Schuster 1994; Perez-Hernandez et al. 2013.
    """

    name = "tica"
    baseline = "top generalised eigenvectors of (C_lag, C_0)"
    divisor = "C_0"

    def matrices(self, data: DataSums) -> PencilMatrices:
        A, C, shares = data.rows.of_pairs(self.lag)
        return PencilMatrices(A, C, ridge=self.ridge, shares=shares, cancels=1.0)

    def derived_numbers(self, eigenvalues: Array, trace: float) -> dict[str, Array]:
        """Return the implied timescales of the components."""
        return {"timescale": timescales(eigenvalues, self.lag)}


def timescales(sizes: Array, lag: int) -> Array:
    """Return -lag / log|size|, the number of samples after which a process decays to 1/e."""
    with np.errstate(divide="ignore"):
        return np.asarray(lag / np.abs(np.log(np.abs(sizes))))


@dataclass(frozen=True)
class VAMP(PairMethod):
    r"""Variational approach for Markov processes (VAMP).

    .. math:: \max_U 1 + \|(U'C_{00} U)^{-1/2} U'C_{0t} C_{tt}^{-1/2}\|_p^p

    The matrices C_00, C_tt and C_0t are the covariances of the pairs (x_t, x_{t+lag}), each member
    minus its own mean, and p is `power`. In whitened variables the problem is max 1 +
    tr(M'(KK')^{p/2} M), with K = C_00^{-1/2} C_0t C_tt^{-1/2} and P = M'C_00^{-1/2}. The leading
    left singular vectors of K are the exact solution. The value is the VAMP-1 or VAMP-2 score 1 +
    sum_k sigma_k^p, where the 1 is due to the constant function. The right singular functions are R
    (x_{t+lag} - m), where R and m are the result's parameters `right` and `right_mean`. Unlike in
    tica, the process need not be reversible.

    `ldr.score`, and `ldr.path` with folds, compute the cross-validated VAMP score: that of the
    fitted maps of x_t and x_{t+lag} for the covariances of held-out samples.

    Use it when samples are in time order, for components that predict the future of a process,
    reversible or not; the cross-validated score can select lag and features. Do not use it for a
    process in equilibrium: take tica, whose eigenvalues give time scales.

    Source: Wu & Noe 2020; McGibbon & Pande 2015 (the cross-validated score).

    Parameters
    ----------
    power : {1, 2}
        Power p of the singular values in the score.
    """

    name = "vamp"
    baseline = "leading left singular vectors of K"

    power: int = whole(2, 1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.power > 2:
            raise ArgumentError(f"power must be 1 or 2, got {self.power!r}")

    def bind(self, data: Data, r: int) -> Propagator:
        compact = self.compact(data.samples)
        rows, shrunk = compact.rows, None
        if self.shrinkage is not None:
            by = ledoit_wolf(rows)
            shrunk = JointShrinkage.of(float(by.coefficients[0]), [by.units[0] ** 2] * 2)
        _, (first, later), K = whitened_views(
            lambda a, b: pair_moments(a(rows), self.lag, None if b.T is None else b(rows)),
            Unwhitened.of(compact, "the covariance of x_t", self.ridge),
            Unwhitened.of(compact, "the covariance of x_{t+lag}", self.ridge),
            shrunk=shrunk,
        )
        K = np.ascontiguousarray(K[: first.W.shape[1], first.W.shape[1] :])
        U, sigma, _ = thin_svd(K)
        squared = (U * sigma**2) @ U.T
        outside = (first.outside, later.outside)
        right = compact.view(later.mean).within(later)
        return Propagator(
            self,
            (compact.view(first.mean, first.scatter).within(first),),
            squared if self.power == 2 else (U * sigma) @ U.T,
            r,
            offset=-1.0,
            outside=math.inf if math.inf in outside else first.outside,
            doubt=self.power * sum(one.doubt(spectral_bound(K), r) for one in (first, later)),
            signed=squared,
            K=K,
            right=right.coordinates,
            right_mean=right.mean,
            power=self.power,
            lag=self.lag,
            chosen=chosen_by(shrunk),
        )

    def matrices(self, data: DataSums) -> Against:
        """Return the matrices whose eigenvalues are the squared singular values."""
        pairs = links_of_pairs(data.rows, self.lag)
        a, b = pairs.sum(axis=1), pairs.sum(axis=0)
        rows = data.rows.about(np.zeros_like(a))
        onward = LessMeans(pairs, a, b)
        inverse = data.inverse(data.rows.about(b).form(b), self.ridge)
        A, B = rows.form(onward) @ inverse @ rows.form(onward.T), data.rows.about(a).form(a)
        if self.power == 2:
            return PencilMatrices(A, B, ridge=self.ridge, shares=a)
        return SpectralMatrices(A, B, "roots", ridge=self.ridge, shares=a)


@dataclass(frozen=True)
class Propagator(SpectralTrace):
    """A trace tr(M'S^{power/2}M) with S = KK', which also has right singular functions.

    - K (k, l): cross-covariance of the pairs' members in whitened coordinates
    - right: whitened coordinates of the later member of each pair
    - right_mean (d,)
    """

    K: Array = field(kw_only=True)
    right: Coordinates = field(kw_only=True)
    right_mean: Array = field(kw_only=True)
    power: int = field(kw_only=True)
    lag: int = field(kw_only=True)

    def parameters(self, M: Array) -> Fitted:
        V = polar_factor(self.K.T @ M)
        right = self.right.map(V, self.right.lift(V))
        return {**self.chosen, "right": right, "right_mean": self.right_mean}

    def numbers(self, M: Array, axes: Axes, seen: Sequence[Variation | None]) -> dict[str, Array]:
        """Return norms of the rows of M'K, singular values at the optimum, and timescales."""
        sizes = np.linalg.norm(self.K.T @ M, axis=0)
        return {"singular_value": sizes, "timescale": timescales(sizes, self.lag)}

    def value_of(self, M: Array, fitted: Fitted) -> float:
        """Return the value at M with the right singular functions of an earlier fit."""
        right = np.asarray(fitted["right"])
        V = polar_factor(self.right.carried(right.T, right))
        sigma = np.linalg.svd(M.T @ self.K @ V, compute_uv=False)
        return self.offset - float(np.sum(sigma**self.power))
