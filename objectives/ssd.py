"""Spatio-spectral decomposition: what oscillates in a band of frequencies, not beside it."""

from __future__ import annotations

from functools import partial

import numpy as np

from ldr.objectives.data.change import Change
from ldr.objectives.data.data import Data
from ldr.objectives.data.footprint import Footprint
from ldr.objectives.data.samples import Samples
from ldr.objectives.families.matrices import DataForms, PencilMatrices
from ldr.objectives.families.pencil import Pencil, RowPencil, SumOfSquares
from ldr.objectives.families.trace import Trace
from ldr.objectives.families.whitened_trace import whitened_trace
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need, number, numbers
from ldr.objectives.statistics import second_moments
from ldr.objectives.view import Compact
from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds import Array
from ldr.solvers.records import dataclass

# Of a Hamming window: its length times the width of the transition, in samples and cycles a sample.
_HAMMING = 3.3
# Width of a transition in units of the edge that it lies beside.
_TRANSITION = 0.25


@dataclass(frozen=True)
class SSD(Objective):
    """Find what oscillates in a band and not beside it: max tr((M'RM)^{-1} M'SM).

    S is the second moment about zero of the rows in the band `signal`, R that of the rows in the
    wider band `noise` less those in `signal`. In the whitened variable
    max tr(M'R^{-1/2} S R^{-1/2} M), P = M'R^{-1/2}; exact by the top generalised eigenvectors: the
    eigenvalues are ratios of signal to noise.

    The filters have linear phase and no delay, the window of Hamming, and transitions a quarter as
    wide as the edges are high; each trial is filtered by itself, continued at its ends by odd
    reflection; filtered rows count their weights. P is for the rows as they are.

    Parameters
    ----------
    signal, noise : (float, float)
        Lowest and highest frequency of both bands, in units of `rate`.
    rate : float
        Rows in a unit of time.
    ridge : float
        Added to the diagonal of R, in units of its mean diagonal.
    """

    name = "ssd"
    formula = "max tr(M'R^{-1/2} S R^{-1/2} M), S in the band, R beside it"
    source = "Nikulin, Nolte & Curio 2011"
    sense = "max"
    needs = (Need.TIME_ORDER,)
    baseline = "top generalised eigenvectors of (S, R)"
    transposed = False
    exact = "yes"
    weighted = True
    scale_free = True
    sparse = False
    arrays = Footprint(squares=24.0, span=None, rows=14.0, row=100.0)

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
                f"signal = {self.signal!r} must lie within noise = {self.noise!r}, whose rest it "
                "is held against"
            )

    def bind(self, data: Data, r: int) -> Trace:
        rows = data.samples.in_memory()
        compact = Compact.of_columns(rows)
        inside = filtered(rows, self.signal, self.rate)
        beside = Samples(filtered(rows, self.noise, self.rate).array - inside.array)
        weights = np.ones(rows.n) if rows.weights is None else rows.weights
        counts = weights[:, None] / weights.sum()

        def pencil(change: Change) -> Pencil:
            S, R, numbers = (
                second_moments(change.about_zero(x), counts)[0] for x in (inside, beside, rows)
            )
            sizes = np.sqrt(np.diag(numbers))  # what the filters rounded
            return Pencil(S, SumOfSquares(R, np.zeros(len(R)), 1.0, S + R, offsets=sizes))

        what = "the second moment beside the band"
        found = RowPencil(compact, pencil, what, (inside, beside))
        return whitened_trace(self, found, r, ridge=self.ridge)

    def forms(self, data: DataForms) -> PencilMatrices:
        h, wide = (band_pass(band, self.rate) for band in (self.signal, self.noise))
        inside = data.through(partial(convolved, h=h), partial(convolved_back, h=h))
        beside = data.through(
            lambda X: convolved(X, wide) - convolved(X, h),
            lambda Y: convolved_back(Y, wide) - convolved_back(Y, h),
        )
        n = data.rows.count
        zero, counts = np.zeros(n), np.full(n, 1.0 / n)
        S, R = (rows.about(zero).form(counts) for rows in (inside, beside))
        return PencilMatrices(S, R, ridge=self.ridge, shares=zero)


def filtered(rows: Samples, band: tuple[float, ...], rate: float) -> Samples:
    """The rows in a band of frequencies, each trial by itself."""
    X, h = rows.dense(), band_pass(band, rate)
    found = np.zeros_like(X)
    for run in rows.runs:
        found[run] = convolved(X[run], h)
    return Samples(found)


def band_pass(band: tuple[float, ...], rate: float) -> Array:
    """A symmetric impulse response: the difference of two low passes, windowed by Hamming."""
    low, high = (f / rate for f in band)
    widths = _TRANSITION * low, min(_TRANSITION * high, 0.5 - high)
    cuts = low - 0.5 * widths[0], high + 0.5 * widths[1]
    passes = [_low_pass(cut, width) for cut, width in zip(cuts, widths, strict=True)]
    h = np.zeros(max(map(len, passes)))
    for sign, one in zip((-1.0, 1.0), passes, strict=True):
        start = (len(h) - len(one)) // 2
        h[start : start + len(one)] += sign * one
    return h


def _low_pass(cut: float, width: float) -> Array:
    from scipy.signal import firwin

    length = round(_HAMMING / width)
    return np.asarray(firwin(length + 1 - length % 2, cut, window="hamming", fs=1.0))


def convolved(X: Array, h: Array) -> Array:
    """Columns convolved with h, without delay, continued at both ends by odd reflection."""
    from scipy.signal import oaconvolve

    edge = min(len(h), len(X)) - 1
    before = 2.0 * X[0] - X[edge:0:-1]
    after = 2.0 * X[-1] - X[-2 : -2 - edge : -1] if edge else X[:0]
    start = edge + len(h) // 2
    extended = np.concatenate([before, X, after])
    return np.asarray(oaconvolve(extended, h[:, None], axes=0)[start : start + len(X)])


def convolved_back(Y: Array, h: Array) -> Array:
    """The transpose of that, h symmetric."""
    from scipy.signal import oaconvolve

    n, edge, middle = len(Y), min(len(h), len(Y)) - 1, len(h) // 2
    wide = np.pad(Y, ((edge, edge), (0, 0)))
    extended = oaconvolve(wide, h[:, None], axes=0)[middle : middle + n + 2 * edge]
    before, X, after = np.split(extended, [edge, edge + n])
    X[0] += 2.0 * before.sum(axis=0)
    X[-1] += 2.0 * after.sum(axis=0)
    X[1 : edge + 1] -= before[::-1]
    X[n - 1 - edge : n - 1] -= after[::-1]
    return np.asarray(X)
