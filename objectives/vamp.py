"""Slow processes by their pairs of rows: time-lagged independent components, and vamp."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ldr.objectives.coordinates import Axes, Coordinates
from ldr.objectives.data.change import Change
from ldr.objectives.data.data import Data, UnknownError
from ldr.objectives.data.footprint import Footprint
from ldr.objectives.families.bilinear import whitened_cross
from ldr.objectives.families.matrices import (
    Against,
    DataForms,
    DataSums,
    PencilMatrices,
    RowSums,
    SpectralMatrices,
)
from ldr.objectives.families.pencil import Pencil, RowPencil, Shrinking, SumOfSquares
from ldr.objectives.families.trace import Trace
from ldr.objectives.families.unwhitened import Unwhitened
from ldr.objectives.families.whitened_trace import SpectralTrace, spectral_bound, whitened_trace
from ldr.objectives.maf import LaggedMethod
from ldr.objectives.parameters import whole
from ldr.objectives.problem import Fitted
from ldr.objectives.statistics import pair_moments
from ldr.objectives.statistics.covariance import Variation
from ldr.objectives.statistics.products import LessMeans
from ldr.objectives.statistics.shrinkage import JointShrinkage, chosen_by, ledoit_wolf
from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds import Array, polar_factor
from ldr.solvers.records import dataclass, field
from ldr.solvers.spectral import thin_svd

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class PairMethod(Shrinking, LaggedMethod):
    """Base of the methods of the pairs (x_t, x_{t+lag}) as rows of two views.

    No pair is of two trials; those of weighted rows count sqrt(w_t w_{t+lag}).

    Parameters
    ----------
    shrinkage : "auto" or None
        "auto" moves the covariances towards their diagonals, by the share that Ledoit and Wolf's
        rule finds for all rows, of columns in units of their standard deviations; it is in the
        result's parameters. Of vamp the covariances between the members move towards 0, too.
    """

    transposed = False
    exact = "yes"
    scale_free = True
    arrays = Footprint(squares=27.0)


@dataclass(frozen=True)
class TICA(PairMethod):
    """Find the slowest processes: max tr((M'C_0 M)^{-1} M'C_lag M), components uncorrelated.

    Of the N pairs, both members less mu = (mean x_t + mean x_{t+lag})/2: C_0 =
    (X_0'X_0 + X_lag'X_lag)/2N, C_lag = (X_0'X_lag + X_lag'X_0)/2N, so that no autocorrelation
    exceeds 1: the reversible estimate. classical-maf differs by the ends of the series alone.
    In the whitened variable max tr(M'C_0^{-1/2} C_lag C_0^{-1/2} M), P = M'C_0^{-1/2}; exact by
    the top generalised eigenvectors, so that what swings to and fro comes last, not by its size.
    """

    name = "tica"
    formula = "max tr(M'C_0^{-1/2} C_lag C_0^{-1/2} M)"
    source = "Molgedey & Schuster 1994; Perez-Hernandez et al. 2013"
    baseline = "top generalised eigenvectors of (C_lag, C_0)"
    stacks = True

    def bind(self, data: Data, r: int) -> Trace:
        compact = self.compact(data.samples)

        def pencil(change: Change) -> Pencil:
            stats = pair_moments(change(compact.rows), self.lag)
            mean, half = 0.5 * (stats.mean_a + stats.mean_b), 0.5 * (stats.mean_a - stats.mean_b)
            between = stats.n * np.outer(half, half)
            scatter = 0.5 * (stats.scatter_aa + stats.scatter_bb) + between
            lagged = 0.5 * (stats.scatter_ab + stats.scatter_ab.T) - between
            return Pencil(lagged / stats.n, SumOfSquares.covariance(scatter, mean, stats.n), 1.0)

        rows = self.shrunk(RowPencil(compact, pencil, "C_0"))
        return whitened_trace(self, rows, r, ridge=self.ridge)

    def matrices(self, data: DataSums) -> PencilMatrices:
        K = pairs_of(data.rows, self.lag)
        K = 0.5 * (K + K.T).tocsr()
        shares = K.sum(axis=1)
        rows = data.rows.about(shares)
        return PencilMatrices(rows.form(K), rows.form(shares), ridge=self.ridge, shares=shares)


def pairs_of(rows: RowSums, lag: int) -> csr_array:
    """One over their number at (t, t + lag) of one trial."""
    from scipy.sparse import diags_array

    n, trials = rows.count, rows.trials
    together = np.ones(max(n - lag, 0))
    if trials is not None:
        together[trials[lag:] != trials[:-lag]] = 0.0
    if not together.any():
        raise UnknownError
    return diags_array(together / together.sum(), offsets=lag, shape=(n, n)).tocsr()


@dataclass(frozen=True)
class VAMP(PairMethod):
    """Approximate how rows go on: max 1 + ||(U'C_00 U)^{-1/2} U'C_0t C_tt^{-1/2}||^power over U.

    Of the pairs (x_t, x_{t+lag}), each member less its own mean. In the whitened variable max
    1 + tr(M'(KK')^{power/2} M), K = C_00^{-1/2} C_0t C_tt^{-1/2}, P = M'C_00^{-1/2}; exact by the
    leading left singular vectors of K, at 1 + sum_k sigma_k^power, the VAMP-1 or VAMP-2 score (1 is
    that of the constant). The singular functions of the later rows, P of x_{t+lag} less its mean,
    are in the result's parameters as `right` and `right_mean`. Unlike tica, no process has to be
    reversible.

    `ldr.score`, and so `ldr.path` with folds, judges both by the covariances of other rows,
    1 + ||(U'C_00 U)^{-1/2} U'C_0t V (V'C_tt V)^{-1/2}||^power with the norm of as many singular
    values: the cross-validated score.

    Parameters
    ----------
    power : {1, 2}
        Of the singular values.
    """

    name = "vamp"
    formula = "max 1 + tr(M'(KK')^{power/2} M), K = C_00^{-1/2} C_0t C_tt^{-1/2}"
    source = "Wu & Noe 2020; McGibbon & Pande 2015 (the cross-validated score)"
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
        _, (first, later), K = whitened_cross(
            lambda a, b: pair_moments(a(rows), self.lag, None if b.T is None else b(rows)),
            Unwhitened.of(compact, "the covariance of x_t", self.ridge),
            Unwhitened.of(compact, "the covariance of x_{t+lag}", self.ridge),
            shrunk=shrunk,
        )
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
            chosen=chosen_by(shrunk),
        )

    def forms(self, data: DataForms) -> Against:
        """Of the squared singular values."""
        pairs = pairs_of(data.rows, self.lag)
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
    """A trace of S^{power/2}, S = KK', with the singular functions of the later rows of M.

    Attributes
    ----------
    K : ndarray (k, l)
        The correlations of both members of the pairs, in their whitened coordinates.
    right : Coordinates
        Of the later members.
    right_mean : ndarray (d,)
    """

    K: Array = field(kw_only=True)
    right: Coordinates = field(kw_only=True)
    right_mean: Array = field(kw_only=True)
    power: int = field(kw_only=True)

    def parameters(self, M: Array) -> Fitted:
        V = polar_factor(self.K.T @ M)
        right = self.right.map(V, self.right.lift(V))
        return {**self.chosen, "right": right, "right_mean": self.right_mean}

    def numbers(self, M: Array, axes: Axes, seen: Sequence[Variation | None]) -> dict[str, Array]:
        """The singular values of M'K, in the canonical coordinates those of K."""
        return {"singular_value": np.linalg.norm(self.K.T @ M, axis=0)}

    def value_of(self, M: Array, fitted: Fitted) -> float:
        """With the singular functions of the other fit, not the best ones for M."""
        right = np.asarray(fitted["right"])
        V = polar_factor(self.right.carried(right.T, right))
        sigma = np.linalg.svd(M.T @ self.K @ V, compute_uv=False)
        return self.offset - float(np.sum(sigma**self.power))
