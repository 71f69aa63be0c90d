"""Spatial filters of trials: CSP, SPoC, xDAWN and spatio-spectral decomposition (SSD).

For common spatial patterns (CSP) of more than two classes, positive definite matrices are
approximately jointly diagonalised.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from ldr.objectives.data.array_types import Cells
from ldr.objectives.data.data import Data, UnknownError
from ldr.objectives.data.stored import Change
from ldr.objectives.families.matrices import DataSums, PencilMatrices, RowSums, SpectralMatrices
from ldr.objectives.families.stated import Opened, StatedMethod
from ldr.objectives.families.trace import Trace
from ldr.objectives.families.trace_ratio import TraceRatio
from ldr.objectives.families.whitened import SumOfSquares, Unwhitened, diagonal, whiten
from ldr.objectives.kernel import deviations
from ldr.objectives.parameters import Need, number, numbers, word
from ldr.objectives.problem import Certificate
from ldr.objectives.statistics import Codes
from ldr.objectives.statistics.products import Squares
from ldr.objectives.statistics.scatters import Variation
from ldr.objectives.statistics.sums import class_averages
from ldr.objectives.view import Axes, Compact, Whitening
from ldr.solvers.errors import ArgumentError, DataError, SingularError
from ldr.solvers.linalg.eigen import rank_tolerance
from ldr.solvers.manifolds import Array, Euclidean
from ldr.solvers.problem import Point, Preconditioner, Problem
from ldr.solvers.solver import run_through
from ldr.solvers.trust_region import TrustRegion


def inverse_in_pairs(h: Array, least: float = 1e-6) -> Callable[[Array], Array]:
    """Return the map T -> E with h_ij E_ij + E_ji = T_ij, i != j, and a zero diagonal.

    The inverse map is the Hessian of E -> sum_ij h_ij E_ij^2/2 - log |det(I + E)|, where E is the
    relative change of independent sources. The blocks [[h_ij, 1], [1, h_ji]] are shifted so that
    no eigenvalue is below `least`: two equal columns would give an eigenvalue of zero.
    """
    lowest = 0.5 * (h + h.T - np.hypot(h - h.T, 2.0))
    h = h + np.maximum(least - lowest, 0.0)
    determinant = h * h.T - 1.0
    np.fill_diagonal(determinant, np.inf)
    return lambda T: (h.T * T - T.T) / determinant


class JointDiagonalPoint(Point):
    """The value is f(V) = 1/2 mean_c log det diag(V'C_cV) - log |det V|; d_ci = (V'C_cV)_ii.

    Column i of the gradient is mean_c C_cv_i/d_ci minus column i of V^{-1}'. Column i of the
    Hessian product is mean_c (C_cu_i/d_ci - 2 C_cv_i <C_cv_i, u_i>/d_ci^2) plus column i of
    V^{-1}'U'V^{-1}'.
    """

    def __init__(self, problem: JointDiagonal, V: Array) -> None:
        self.M = V
        self._C = problem.C
        self._CV = self._C @ V
        self._d = np.einsum("ij,cij->cj", V, self._CV)

    @cached_property
    def value(self) -> float:
        if not (self._d > 0).all():
            return np.inf
        volume = float(np.linalg.slogdet(self.M)[1])
        return 0.5 * float(np.log(self._d).sum()) / len(self._C) - volume

    @cached_property
    def _inverse(self) -> Array:
        """V^{-1}'."""
        return np.asarray(np.linalg.inv(self.M).T)

    @cached_property
    def gradient(self) -> Array:
        return np.mean(self._CV / self._d[:, None, :], axis=0) - self._inverse

    def hessian_vector(self, U: Array) -> Array:
        d = self._d[:, None, :]
        along = np.einsum("ij,cij->cj", U, self._CV)[:, None, :]
        curved = np.mean((self._C @ U - (2.0 / d) * along * self._CV) / d, axis=0)
        return curved + self._inverse @ U.T @ self._inverse


@dataclass(frozen=True)
class JointDiagonal(Problem):
    """Joint diagonalisation of the V'C_cV by Pham's criterion, up to a constant.

    Scales and order of V's columns do not change the value; a factor of a C_c adds a constant.

    Source: Pham 2001.

    - C (m, k, k): the positive definite matrices C_c
    """

    preconditioner_cost = 1

    C: Array

    @property
    def manifold(self) -> Euclidean:  # type: ignore[override]
        k = self.C.shape[1]
        return Euclidean(k, k)

    def at(self, V: Array) -> JointDiagonalPoint:
        return JointDiagonalPoint(self, V)

    def preconditioner(self, M: Array) -> Preconditioner:
        """Return the inverse Hessian of E -> f(V + VE) for diagonal V'C_cV.

        The Hessian couples only the entries ij and ji of E, by [[h_ij, 1], [1, h_ji]] with h_ij =
        mean_c d_ci/d_cj.
        """
        d = np.einsum("ij,cij->cj", M, self.C @ M)
        h = np.mean(d[:, :, None] / d[:, None, :], axis=0)
        across = inverse_in_pairs(h)
        # The diagonal of V'U does not change f.
        return lambda V, U: V @ (across(VU := V.T @ U) + np.diag(np.diag(VU)))


def joint_diagonaliser(C: Array) -> Array:
    """Return V of the joint diagonalisation, a local minimum near I, with unordered columns.

    - C (m, k, k): matrices with the identity as mean
    """
    return run_through(JointDiagonal(C), np.eye(C.shape[1]), TrustRegion()).M


@dataclass(frozen=True)
class PowerMethod(StatedMethod, weighted=True, transposed=False, scale_free=True):
    """Base of the methods of second moments about zero, the power of band-passed signals.

    The data X are not centred. The response y has an entry for each row or for each trial; without
    trials each row is a trial. `ldr.log_power` computes features from the filtered signals.

    Parameters
    ----------
    ridge : float
        Constant added to the diagonal of B, relative to the mean eigenvalue in the span of the
        samples.
    """

    sense = "max"
    about_zero = True

    ridge: float = number(0.0)


@dataclass(frozen=True)
class CSP(PowerMethod, stacks=True):
    r"""Common spatial patterns (CSP).

    .. math::

        \max_M \operatorname{tr}\left(M' |B^{-1/2}(C_1 - C_2)B^{-1/2}| M\right), \quad B = C_1 +
        C_2

    The matrix C_c is the second moment about zero of the samples of class c. P = M'B^{-1/2}. For
    two classes the generalised eigenvectors of (C_1, C_1 + C_2) are the exact solution, in
    descending order of |lambda - 1/2| for eigenvalues lambda. An eigenvalue lambda is the share of
    a filter's power in class 1; the value is the sum of |2 lambda - 1|.

    For more than two classes the matrices C_c are approximately jointly diagonalised, by a local
    minimum of Pham's criterion. A filter m has the power s_c = m'C_cm in class c, and is scaled to
    unit mean power sum_c p_c s_c, with the classes' probabilities p_c. The filters with the largest
    mutual information with the class are selected. The information is approximately -sum_c p_c log
    sqrt(s_c) - 3/16 (sum_c p_c (s_c^2 - 1))^2 nats. With average="rows" the probability p_c of a
    class c is equal for all classes; with average="trials" it is the share of trials of class c.

    Use it when trials of two or more classes differ in signal power, not in the mean, as in
    band-passed EEG; `ldr.log_power(result, X)` returns features for a classifier. Do not use it if
    class means differ: take lda.

    Source: Koles 1991; Blankertz et al. 2008; more classes: Pham 2001, Grosse-Wentrup & Buss 2008.

    Parameters
    ----------
    average : {"rows", "trials"}
        "rows" gives equal weight to all rows of a class, "trials" to all trials of a class.
    """

    name = "csp"
    needs = (Need.LABELS, Need.TIME_ORDER)
    baseline = "generalised eigenvectors of (C_1, C_1 + C_2), or joint diagonalisation"
    by_size = True
    exact = "two classes"

    average: str = word("rows", ("rows", "trials"))

    divisor = "the sum of the classes' second moments"

    def bind(self, data: Data, r: int) -> Trace | TraceRatio:
        if len(data.labels[1]) == 2:
            return super().bind(data, r)
        return joint_filters(self, self.opened(data, 0), r)

    def matrices(self, data: DataSums) -> SpectralMatrices:
        if len(data.labels()[1]) > 2:
            raise UnknownError
        C, zero = self.second_moments(data), np.zeros(data.rows.count)
        return SpectralMatrices(
            C[0] - C[1], C[0] + C[1], ridge=self.ridge, shares=zero, cancels=1.0
        )

    def second_moments(self, data: DataSums) -> list[Array]:
        """Return the second moments about zero of each class."""
        rows = data.rows.about_zero
        return rows.forms(self.members(data.rows, *data.labels()))

    def members(self, rows: RowSums, codes: Codes, classes: Cells) -> list[Array]:
        """Return the weights of the rows in each class's mean, zero outside of the class."""
        share = self._shares(rows)
        counts = [(codes == k) * share for k in range(len(classes))]
        sizes = [own.sum(axis=-1, keepdims=True) for own in counts]
        for label, size in zip(classes, sizes, strict=True):
            if not size.all():
                raise DataError(
                    f"all rows of class {label} of y have sample_weight 0, expected a weight > 0 "
                    "in each class; leave the rows of this class out"
                )
        return [own / size for own, size in zip(counts, sizes, strict=True)]

    def probabilities(self, rows: RowSums, codes: Codes, classes: Cells) -> Array:
        """Return the class probabilities p_c."""
        if self.average == "rows":
            return np.full(len(classes), 1.0 / len(classes))
        members = np.bincount(codes, self._shares(rows))
        return members / members.sum()

    def _shares(self, rows: RowSums) -> Array:
        """Return the weight of each row."""
        if self.average == "trials":
            return trial_shares(rows)[1]
        return np.ones(rows.count) if rows.weights is None else rows.weights


@dataclass(frozen=True)
class SPoC(PowerMethod, stacks=True):
    r"""Source power comodulation (SPoC).

    .. math::

        \max_M \operatorname{tr}\left(M' |B^{-1/2} A B^{-1/2}| M\right), \quad A = \overline{z_t
        C_t}, \quad B = \overline{C_t}

    The matrix C_t is the second moment about zero of trial t; bars denote means over trials. The
    number z_t is the response of trial t (the mean over its samples), standardised over trials. P =
    M'B^{-1/2}. The generalised eigenvectors of (A, B) with the largest absolute eigenvalues are the
    exact solution, where A = mean(z_t C_t) and B = mean(C_t). An eigenvalue is the covariance of
    the response z and a filter's power.

    Use it when the power of a signal is correlated with a response of each trial. Do not use it if
    the response is correlated with the signal itself: take pls-regression or least-squares.

    Source: Daehne et al. 2014.
    """

    name = "spoc"
    needs = (Need.RESPONSE, Need.TIME_ORDER)
    baseline = "generalised eigenvectors of (A, B), by the size of their eigenvalues"
    by_size = True
    exact = "yes"

    divisor = "the mean second moment of the trials"

    def matrices(self, data: DataSums) -> SpectralMatrices:
        e, rows = data.deviations(), data.rows.about_zero
        if rows.trials is None and rows.weights is None:
            z = e / (e**2).mean(axis=-1, keepdims=True) ** 0.5
            counts = np.full(rows.count, 1.0 / rows.count)
        elif e.ndim > 1:
            raise UnknownError
        else:
            trials, share = trial_shares(rows)
            z, counts = _of_trials(e, trials, share)[trials], share / share.sum()
        A, B, zero = rows.form(counts * z), rows.form(counts), np.zeros(rows.count)
        return SpectralMatrices(A, B, ridge=self.ridge, shares=zero, cancels=abs(z).max())


def _of_trials(e: Array, trials: Codes, share: Array) -> Array:
    """Return the standardised mean response of each trial."""
    weights = np.bincount(trials, share)
    sums = np.bincount(trials, share * e)
    z = np.divide(sums, weights, out=np.zeros(len(sums)), where=weights > 0)
    z = deviations(z, weights)
    size = np.sqrt(np.average(z**2, weights=weights))
    if not size > 0:
        raise DataError("y has the same mean in all trials, expected means that differ")
    return np.where(weights > 0, z / size, 0.0)


def trial_shares(rows: RowSums) -> tuple[Codes, Array]:
    """Return the trial of each row, and weights of the rows that sum to each trial's weight.

    The weight of a trial is the mean weight of its rows; without trials each row is a trial.
    """
    weights = np.ones(rows.count) if rows.weights is None else rows.weights
    trials = np.arange(rows.count) if rows.trials is None else rows.trials
    return trials, weights / np.maximum(np.bincount(trials, weights > 0), 1.0)[trials]


@dataclass(frozen=True)
class JointFilters(Trace):
    """The trace of a diagonal matrix in the coordinates of jointly diagonalising filters.

    The optimum selects the filters with the largest diagonal entries.
    """

    plain = False

    def numbers(self, M: Array, axes: Axes, seen: Sequence[Variation | None]) -> dict[str, Array]:
        return {"mutual_information": super().numbers(M, axes, seen)["eigenvalue"]}

    def certificate(self, M: Array) -> Certificate | None:
        found = super().certificate(M)
        filters = "the filters of the joint diagonalisation"
        return None if found is None else found.restricted_to(filters)


def check_definite(C: Array, classes: Cells, error: float) -> None:
    """Refuse classes whose power in some direction is at most the error of the C_c."""
    for label, least in zip(classes, np.linalg.eigvalsh(C)[:, 0], strict=True):
        if not least > max(rank_tolerance(C.shape[1]), error):
            raise SingularError(
                f"the second moment of class {label} is singular, but must be positive definite if "
                "there are more than two classes: give ridge= a positive value, or fewer columns"
            )


def joint_filters(objective: CSP, opened: Opened, r: int) -> JointFilters:
    """Return the filters that jointly diagonalise the classes' second moments, best first."""

    def squares(C: list[Array]) -> list[SumOfSquares]:
        B = np.sum(C, axis=0)
        return [SumOfSquares(B, np.zeros(len(B)), np.sqrt(diagonal(B)))]

    given = Unwhitened.of(opened.compact, objective.divisor, objective.ridge)
    parts, (whitened,) = whiten(
        lambda change: objective.second_moments(cast(DataSums, opened.at(change))), squares, given
    )
    C = np.array([whitened(part) for part in parts])
    C = C * len(C) + (np.eye(C.shape[1]) - C.sum(axis=0))  # the mean of the matrices C becomes I
    error = len(C) * whitened.error
    check_definite(C, opened.data.labels[1], error)
    sums = opened.at(Change())
    probabilities = objective.probabilities(cast(RowSums, sums.rows), *sums.labels())
    V = joint_diagonaliser(C)
    V = V / np.sqrt(np.einsum("ij,cik,kj,c->j", V, C, V, probabilities))
    powers = np.einsum("ij,cik,kj->cj", V, C, V)
    fourth = probabilities @ (powers**2 - 1)
    told = -probabilities @ (0.5 * np.log(powers)) - 3 / 16 * fourth**2
    slopes = probabilities @ (0.5 / powers) + 0.75 * np.abs(fourth) * (probabilities @ powers)
    doubt = r * error * float(np.max(slopes * np.sum(V**2, axis=0)))
    inner = whitened.coordinates
    V = V * np.sqrt(len(C))  # scales signals to unit mean power
    coordinates = Whitening(inner.W @ V, np.linalg.solve(V, inner.inverse), inner.outer)
    view = opened.compact.view(whitened.mean, whitened.scatter).within(whitened)
    views = (replace(view, coordinates=coordinates),)
    return JointFilters(objective, views, np.diag(told), r, doubt=doubt)


@dataclass(frozen=True)
class Xdawn(StatedMethod, weighted=True, transposed=False, scale_free=True):
    r"""Spatial filters of evoked responses (xDAWN).

    .. math:: \max_M \operatorname{tr}\left((M'RM)^{-1} M'EM\right)

    The matrix E is the second moment about zero, over time, of the mean trial of a class; R is the
    second moment about zero of all samples. In variables whitened by all samples the problem is max
    tr(M'R^{-1/2} E R^{-1/2} M), with the moments E of the mean trial and R of all samples, and P =
    M'R^{-1/2}. The top generalised eigenvectors of (E, R) are the exact solution; an eigenvalue is
    the response's share of the power of all samples. All trials must be aligned and of equal
    length; without trials each sample is a trial.

    Use it when trials aligned at an event have a common response that is masked by noise in single
    trials; target= names the class of interest. Do not use it if responses vary between trials:
    take csp, which compares power.

    Source: Rivet, Souloumiac, Attina & Gibert 2009.

    Parameters
    ----------
    target : label, optional
        Class whose evoked response (mean trial) is enhanced; by default those of all classes are.
    ridge : float
        Constant added to the diagonal of R, relative to the mean eigenvalue in the span of the
        samples.
    """

    name = "xdawn"
    sense = "max"
    needs = (Need.LABELS, Need.TIME_ORDER)
    baseline = "top generalised eigenvectors of (E, R)"
    exact = "yes"

    target: Any = None
    ridge: float = number(0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if np.ndim(self.target) != 0:
            raise ArgumentError(f"target must be a single label, got {self.target!r}")

    divisor = "the second moment of the rows"
    about_zero = True

    def matrices(self, data: DataSums) -> PencilMatrices:
        codes, classes = data.labels()
        rows = data.rows.about_zero
        times = places(rows)
        if (codes != codes[np.arange(len(times)) - times]).any():
            raise DataError("y has several classes within a trial, expected one for each trial")
        length = int(times.max()) + 1
        means, sizes = class_averages(codes * length + times, len(classes) * length, rows.weights)
        wanted = np.arange(len(classes)) if self.target is None else self._wanted(classes)
        cells = (wanted[:, None] * length + np.arange(length)).ravel()
        if not sizes.all():
            raise DataError("at one time point all trials of a class have weight 0, expected > 0")
        E = rows.form(Squares(means[cells])) / len(cells)
        R = rows.scatter() / rows.n
        return PencilMatrices(E, R, ridge=self.ridge, shares=np.zeros(rows.count))

    def _wanted(self, classes: Cells) -> Codes:
        found = np.flatnonzero([label == self.target for label in classes])
        if len(found) == 0:
            shown = ", ".join(map(repr, classes.tolist()[:9]))
            raise ArgumentError(
                f"target = {self.target!r} is not a label of y: expected one of {shown}"
            )
        return found


def places(rows: RowSums) -> Codes:
    """Return the position of each row in its trial."""
    codes = rows.trials
    if codes is None:
        return np.zeros(rows.count, dtype=np.intp)
    lengths = np.bincount(codes)
    if len(set(lengths)) > 1:
        raise DataError(
            f"trials have from {lengths.min()} to {lengths.max()} rows, expected the same number "
            "in each trial: rows at the same position are averaged over trials"
        )
    return np.arange(rows.count) % lengths[0]


# A Hamming-window filter of length L has a transition of width 3.3 / L, in cycles per sample.
_HAMMING = 3.3
# Width of a band-pass filter's transition, relative to the edge of the band.
_TRANSITION = 0.25


@dataclass(frozen=True)
class SSD(StatedMethod, transposed=False, weighted=True, scale_free=True, sparse=False):
    r"""Spatio-spectral decomposition (SSD).

    .. math:: \max_M \operatorname{tr}\left((M'RM)^{-1} M'SM\right)

    The matrix S is the second moment about zero of the samples filtered to the frequency band
    `signal`. The matrix R is the second moment of a difference: the samples filtered to the wider
    band `noise`, minus the samples filtered to `signal`. In variables whitened by the noise the
    problem is max tr(M'R^{-1/2} S R^{-1/2} M), with the moments S of the signal and R of the noise,
    and P = M'R^{-1/2}. The top generalised eigenvectors of (S, R) are the exact solution;
    eigenvalues are signal/noise ratios.

    Filters are zero-phase, with Hamming windows. At each edge of a band, the width of the filter's
    transition is a quarter of the frequency of the edge. Each trial is filtered separately, with
    odd reflection at the ends; sample weights and P refer to unfiltered samples.

    Use it for oscillations in a known frequency band, in trials or in one long series, if
    neighbouring frequencies contain noise. Do not use it if the band is unknown or noisy: take ica.

    Source: Nikulin, Nolte & Curio 2011.

    Parameters
    ----------
    signal, noise : (float, float)
        Lowest and highest frequency of each band, in the units of `rate`.
    rate : float
        Number of samples per unit of time.
    ridge : float
        Constant added to the diagonal of R, relative to the mean eigenvalue in the span of the
        samples.
    """

    name = "ssd"
    sense = "max"
    needs = (Need.TIME_ORDER,)
    baseline = "top generalised eigenvectors of (S, R)"
    exact = "yes"

    signal: tuple[float, ...] = numbers((0.1, 0.2))
    noise: tuple[float, ...] = numbers((0.05, 0.3))
    rate: float = number(1.0, positive=True)
    ridge: float = number(0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("signal", "noise"):
            band = getattr(self, name)
            if len(band) != 2 or not 0 < band[0] < band[1] < 0.5 * self.rate:
                raise ArgumentError(
                    f"{name} = {band!r} must be two frequencies, 0 < lowest < highest < rate/2 = "
                    f"{0.5 * self.rate:g}"
                )
        if not self.noise[0] <= self.signal[0] <= self.signal[1] <= self.noise[1]:
            raise ArgumentError(
                f"the frequency band signal = {self.signal!r} must lie within the wider band "
                f"noise = {self.noise!r}"
            )

    divisor = "the second moment beside the band"

    def opened(self, data: Data, room: int) -> Opened:
        compact = Compact.of_columns(data.samples.in_memory())
        return Opened(self.name, data, compact, [compact.rows])

    def matrices(self, data: DataSums) -> PencilMatrices:
        h, wide = (band_pass(band, self.rate) for band in (self.signal, self.noise))
        inside, beside = (data.through(convolved, each) for each in (h, difference(wide, h)))
        rows = data.rows
        counts = (np.ones(rows.count) if rows.weights is None else rows.weights) / rows.n
        S, R = (found.about_zero.form(counts) for found in (inside, beside))

        def rounded() -> Array:
            """Return the squares that determine the filters' rounding errors."""
            return np.diag(rows.about_zero.form(counts))

        zero = np.zeros(rows.count)
        return PencilMatrices(S, R, ridge=self.ridge, shares=zero, total=S + R, offsets=rounded)


def band_pass(band: tuple[float, ...], rate: float) -> Array:
    """Return a symmetric impulse response, the difference of two Hamming low-pass filters."""
    low, high = (f / rate for f in band)
    widths = _TRANSITION * low, min(_TRANSITION * high, 0.5 - high)
    cuts = low - 0.5 * widths[0], high + 0.5 * widths[1]
    passes = [_low_pass(cut, width) for cut, width in zip(cuts, widths, strict=True)]
    return difference(passes[1], passes[0])


def difference(a: Array, b: Array) -> Array:
    """Return the impulse response a - b, both symmetric and of odd length."""
    h = np.zeros(max(len(a), len(b)))
    for sign, one in ((1.0, a), (-1.0, b)):
        start = (len(h) - len(one)) // 2
        h[start : start + len(one)] += sign * one
    return h


def _low_pass(cut: float, width: float) -> Array:
    from scipy.signal import firwin

    length = round(_HAMMING / width)
    return np.asarray(firwin(length + 1 - length % 2, cut, window="hamming", fs=1.0))


def convolved(X: Array, h: Array) -> Array:
    """Return the columns convolved with h, without delay, with odd reflection at both ends.

    X may be an array of jax.
    """
    from scipy.fft import next_fast_len
    from scipy.signal import oaconvolve

    xp: Any = np
    if not isinstance(X, np.ndarray):
        import jax.numpy as xp
    edge = min(len(h), len(X)) - 1
    before = 2.0 * X[0] - X[edge:0:-1]
    after = 2.0 * X[-1] - X[-2 : -2 - edge : -1] if edge else X[:0]
    extended, start = xp.concatenate([before, X, after]), edge + len(h) // 2
    if xp is np:
        return oaconvolve(extended, h[:, None], axes=0)[start : start + len(X)]
    n = next_fast_len(len(extended) + len(h), real=True)
    products = xp.fft.rfft(extended, n, axis=0) * xp.fft.rfft(h, n)[:, None]
    return xp.fft.irfft(products, n, axis=0)[start : start + len(X)]
