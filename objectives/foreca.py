"""Forecastable components: uncorrelated components with power at few frequencies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldr.objectives.data.data import Data, Samples
from ldr.objectives.families.whitened import Unwhitened, Whitened, whiten_rows
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need, number, whole
from ldr.objectives.problem import BoundObjective, check_dimension
from ldr.objectives.starts import few_or_more, random_directions
from ldr.objectives.statistics.scatters import Variation
from ldr.objectives.view import Axes, Compact, Range
from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds import Array, Stiefel
from ldr.solvers.problem import Point

# Default number of samples in a segment, and the least number, which gives two frequencies.
_SEGMENT, _FEWEST = 64, 4
# A direction is left out if its power in the segments is below this share of the largest power.
_SEEN = 1e-3
# Iteration limit of the initialisation that finds one component after another.
_ROUNDS = 100


@dataclass(frozen=True)
class ForeCA(Objective, transposed=False, weighted=True, scale_free=True, sparse=False):
    r"""Forecastable component analysis (ForeCA).

    .. math::

        \min_{M'M=I} -\sum_k \sum_f p_{kf} \frac{\log p_{kf}}{\log F}, \quad p_{kf} \propto
        m_k'R_f m_k

    R_f is the real part of the spectral density of the whitened samples z = C^{-1/2}(x - mean) at
    one of F frequencies, 0 < f <= 1/2 cycles per sample. The shares p_kf of component k's power
    have the sum 1 over f. The normalised entropy of a spectrum is 1 for white noise and 0 for a
    single oscillation. Components are uncorrelated; the map is P = M'C^{-1/2}. The spectral
    densities R_f are estimated by Welch's method: the mean over half-overlapping segments within
    trials, with Hann windows. A segment's weight is the geometric mean of its samples' weights.

    Use it when samples are in time order, for components that are easy to forecast because their
    power is concentrated at few frequencies, which need not be low. Do not use it for short series,
    because spectra need many segments: take orthogonal-maf.

    Source: Goerg 2013.

    Parameters
    ----------
    segment : int, optional
        Number of samples in a segment, at least 4; by default 64, or the shortest trial's length.
    ridge : float
        Constant added to the diagonal of C, relative to the mean eigenvalue in the span of the
        samples.
    """

    name = "foreca"
    sense = "min"
    needs = (Need.TIME_ORDER,)
    baseline = "amuse: eigenvectors of the lagged covariance of white rows, least entropy first"
    domain = "St"
    segment: int | None = whole(None, _FEWEST, optional=True)
    ridge: float = number(0.0)

    def bind(self, data: Data, r: int) -> SpectralEntropy:
        compact = Compact.of(data.samples)
        rows = compact.rows.in_memory()
        whitened = whiten_rows(rows, Unwhitened.of(compact, "the covariance", self.ridge))
        Z, weights = _white(rows, whitened), rows.weights
        parts = [Z[run] for run in rows.runs]
        logs = None if weights is None else [np.log(weights[run]) for run in rows.runs]
        view = compact.view(whitened.mean, whitened.scatter).within(whitened)
        length = self._length(parts)
        R = spectra(parts, length, logs)
        values, vectors = np.linalg.eigh(R.sum(axis=0))
        seen = vectors[:, values > _SEEN * values[-1]]
        if seen.shape[1] < len(values):
            why = f"the power outside of it is less than {_SEEN:g} of the largest power"
            view = view.within(Range.along(seen, view.coordinates, "the sum of the spectra", why))
            R = seen.T @ R @ seen
        else:
            seen = np.eye(len(values))
        return SpectralEntropy(self, (view,), R, r, whitened, seen, length)

    def _length(self, parts: Sequence[Array]) -> int:
        """Return the length of a segment."""
        shortest, longest = min(map(len, parts)), max(map(len, parts))
        length = self.segment or max(_FEWEST, min(_SEGMENT, shortest))
        if length > longest:
            raise ArgumentError(
                f"segment = {length} is too large: expected at most {longest}, the rows of the "
                "longest trial"
            )
        return length


def _white(rows: Samples, whitened: Whitened) -> Array:
    """Return whitened rows."""
    changed = whitened.change(rows).in_memory()
    centre = whitened.mean if whitened.change.T is None else np.zeros(changed.d)
    return (changed.dense() - centre) @ whitened.W


def spectra(parts: Sequence[Array], length: int, logs: Sequence[Array] | None = None) -> Array:
    """Return R_f, the real part of the spectral density of series, at frequencies f > 0.

    - parts (n_i, k): the trials of a series
    - length: length of a segment; successive segments overlap by half
    - logs (n_i,): logarithms of the rows' weights
    - returns: the mean over segments, weighted by the geometric mean of the rows' weights.
    """
    k, window = parts[0].shape[1], hann_window(length)
    found, counts = np.zeros((length // 2, k, k)), 0.0
    for i, part in enumerate(parts):
        for start in segment_starts(len(part), length):
            where = slice(start, start + length)
            z = np.fft.rfft(window * part[where], axis=0)[1:]
            sides = np.stack([z.real, z.imag], axis=1)  # frequencies x (real, imaginary) x columns
            count = 1.0 if logs is None else float(np.exp(logs[i][where].mean()))
            found += count * (sides.transpose(0, 2, 1) @ sides)
            counts += count
    return found / counts


def hann_window(length: int) -> Array:
    return np.sin(np.pi * np.arange(length) / length)[:, None] ** 2


def segment_starts(n: int, length: int) -> np.ndarray:
    """Return the first rows of half-overlapping segments of n rows."""
    return np.arange(0, n - length + 1, max(1, length // 2))


class SpectralEntropyPoint(Point):
    """The value is f = sum_k h_k / log F, h = -sum_f p_f log p_f, p_f = a_f/s, a_f = m'R_fm, s =
    sum_f a_f.

    The derivative of h is -sum_f c_f da_f / s with c_f = log p_f + h and da_f = 2 m'R_f dm.
    """

    def __init__(self, problem: SpectralEntropy, M: Array) -> None:
        self.M = M
        self._R, self._scale = problem.R, 1.0 / problem.most
        self._RM = self._R @ M  # shape: F frequencies, k columns, r components
        self._a = np.einsum("ij,fij->fj", M, self._RM)
        self._s = self._a.sum(axis=0)
        self._p = self._a / self._s
        self._log = np.log(np.maximum(self._p, np.finfo(float).tiny))
        h = -np.sum(self._p * self._log, axis=0)
        self._c = self._log + h
        self.entropies = self._scale * h  # entropy of each column, between 0 and 1

    @property
    def value(self) -> float:
        return float(self.entropies.sum())

    @property
    def sensitive(self) -> Array:
        """Bound of the derivative of each column's entropy with respect to the whitened series."""
        power = np.einsum("fii->", self._R) / self._R.shape[1]
        shares = np.abs(self._p)  # rounding errors may make the power at a frequency negative
        return self._scale * np.sqrt(power / self._s * np.sum(shares * self._c**2, axis=0))

    @cached_property
    def _pulls(self) -> Array:
        """Derivative of f with respect to the powers a_f of the spectra."""
        return -self._scale * self._c / self._s

    @cached_property
    def gradient(self) -> Array:
        return 2.0 * np.einsum("fj,fij->ij", self._pulls, self._RM)

    def hessian_vector(self, V: Array) -> Array:
        da = 2.0 * np.einsum("ij,fij->fj", V, self._RM)
        ds = da.sum(axis=0)
        dp = (da - self._p * ds) / self._s
        dh = -np.sum(self._log * dp, axis=0)
        dc = dp / np.maximum(self._p, np.finfo(float).tiny) + dh
        change = -self._scale * (dc - self._c * ds / self._s) / self._s
        pulled = np.einsum("fj,fij->ij", self._pulls, self._R @ V)
        return 2.0 * (np.einsum("fj,fij->ij", change, self._RM) + pulled)


@dataclass(frozen=True)
class SpectralEntropy(BoundObjective):
    """Problem of the sum of the columns' spectral entropies, on the Stiefel manifold.

    - R (F, k, k): spectral densities of whitened rows, positive semidefinite
    - seen (m, k): orthonormal basis of the directions in which segments vary
    - length: length of a segment
    """

    exchangeable = True

    R: Array
    r: int
    whitened: Whitened
    seen: Array
    length: int

    def __post_init__(self) -> None:
        check_dimension(self.r, self.R.shape[1])

    @property
    def most(self) -> float:
        """Entropy log F of white noise at F frequencies."""
        return math.log(len(self.R))

    @cached_property
    def manifold(self) -> Stiefel:  # type: ignore[override]
        return Stiefel(self.R.shape[1], self.r)

    def at(self, M: Array) -> SpectralEntropyPoint:
        return SpectralEntropyPoint(self, M)

    def hidden(self, M: Array) -> float:
        # The error of an entropy is at most its derivative times twice the whitening error.
        errors = [self.whitened.error_along(self.seen @ m[:, None]) for m in M.T]
        return float(np.dot(2.0 * np.array(errors), self.at(M).sensitive))

    def baseline(self) -> Array:
        turns = np.cos(np.pi * np.arange(1, len(self.R) + 1) / len(self.R))
        vectors = np.linalg.eigh(np.tensordot(turns, self.R, 1))[1]
        order = np.argsort(self.at(vectors).entropies, kind="stable")
        return np.ascontiguousarray(vectors[:, order[: self.r]])

    def starts(self) -> dict[str, Array]:
        known = {"amuse": self.baseline(), "one by one": self._one_by_one()}
        return known | random_directions(self, few_or_more(self.R.shape[1], 300, least=5))

    def _one_by_one(self) -> Array:
        """Return directions by Goerg's algorithm, each in the complement of its predecessors.

        w minimises sum_f -log p_f w'R_fw, p_f of the last w, from the direction of least entropy
        among the strongest at each frequency.
        """
        found = np.zeros((self.R.shape[1], 0))
        for _ in range(self.r):
            Q = np.linalg.qr(np.hstack([found, np.eye(len(found))]))[0][:, found.shape[1] :]
            R = Q.T @ self.R @ Q
            tried = np.linalg.eigh(R)[1][:, :, -1].T
            entropies = self.at(Q @ tried).entropies
            w = tried[:, np.argmin(entropies)]
            for _ in range(_ROUNDS):
                a = np.einsum("i,fij,j->f", w, R, w)
                p = np.maximum(a / a.sum(), np.finfo(float).tiny)
                w, before = np.linalg.eigh(np.tensordot(-np.log(p), R, 1))[1][:, 0], w
                if abs(w @ before) > 1.0 - 1e-8:
                    break
            found = np.hstack([found, Q @ w[:, None]])
        return self.manifold.nearest(found)

    def axes(self, M: Array, seen: Sequence[Variation | None]) -> Axes:
        """Return the columns, the most forecastable first."""
        return Axes.ordered(1.0 - self.at(M).entropies)

    def numbers(self, M: Array, axes: Axes, seen: Sequence[Variation | None]) -> dict[str, Array]:
        return {"forecastability": axes.numbers}
