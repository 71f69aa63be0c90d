"""Why a run ends: where the gradient has vanished, where nothing is gained, and at its limits."""

from __future__ import annotations

import math

from ldr.solvers.riemannian import RiemannianPoint
from ldr.solvers.run import Stopping
from ldr.solvers.solver import State
from ldr.solvers.status import Status

# Where no step can lower the function any more, a gradient this small against its scale is the
# effect of rounding; a larger one means that something is wrong.
_ROUNDING_LEVEL = 1e-6

# A relative change of the value below this is rounding, not progress.
VALUE_ROUNDING = 1e-14

# A gradient below this share of the least before is progress.
_FLATTER = 0.9

# Values this close, relatively, are the same at the end of a run.
_SAME_VALUE = 1e-12


class Verdict:
    """Whether a run goes on, asked state by state.

    Parameters
    ----------
    start : RiemannianPoint
    stopping : Stopping
    limit : int
        Of iterations.
    patience : int
        Steps in a row that may improve neither the value nor the gradient.

    Attributes
    ----------
    threshold : float
        The gradient norm at which the run ends.
    flattest : RiemannianPoint
        Of the smallest gradient among those whose values agree with the lowest to rounding: a
        saddle on the way may be flatter.
    """

    def __init__(
        self, start: RiemannianPoint, stopping: Stopping, limit: int, patience: int
    ) -> None:
        self.threshold = stopping.threshold(start)
        self.flattest = start
        self._scale, self._limit, self._patience = stopping.scale(start), limit, patience
        self._value = self._lowest = self._gradient_norm = math.inf
        self._idle = 0

    def of(self, state: State, number: int, asked: bool) -> Status | None:
        """Why the run ends at this state, the number-th; None where it goes on.

        Parameters
        ----------
        asked : bool
            Whether an observer asks to stop.
        """
        halt = Status.STALLED if self._is_idle(state.point) else state.halt
        if state.point.gradient_norm <= self.threshold:
            return Status.CONVERGED
        if halt is Status.STALLED and self._is_rounding(state.point):
            return Status.ROUNDING
        if halt is not None:
            return halt
        if asked:
            return Status.OBSERVER
        return Status.MAX_ITERATIONS if number >= self._limit else None

    def _is_rounding(self, point: RiemannianPoint) -> bool:
        return at_rounding(self.flattest, max(self._scale, abs(point.value)))

    def _is_idle(self, point: RiemannianPoint) -> bool:
        """Whether neither the value nor the gradient has improved for a while."""
        value, norm = point.value, point.gradient_norm
        lower = math.isinf(self._value) or value < self._value - VALUE_ROUNDING * abs(value)
        flatter = norm < _FLATTER * self._gradient_norm
        self._idle = 0 if lower or flatter else self._idle + 1
        if lower:
            self._value = value
        self._gradient_norm = min(self._gradient_norm, norm)
        self._keep(point)
        return self._idle >= self._patience

    def _keep(self, point: RiemannianPoint) -> None:
        self._lowest = min(self._lowest, point.value)
        highest, kept = self._lowest + _SAME_VALUE * abs(self._lowest), self.flattest
        same, better = point.value <= highest, kept.value > highest
        if same and (better or point.gradient_norm < kept.gradient_norm):
            self.flattest = point


def at_rounding(point: RiemannianPoint, scale: float) -> bool:
    """Whether what is left of the gradient, of a function of that size, may be rounding."""
    return point.gradient_norm <= _ROUNDING_LEVEL * scale
