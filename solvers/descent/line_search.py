"""The line search of Hager and Zhang, along the retraction curve.

Near a minimum f changes by less than its rounding error while its slope is still accurate. Near a
minimum the approximate Wolfe conditions therefore test the slope instead of the difference of
values: first-order methods do not stall where the gradient is of the order of sqrt(eps).

Source: W. W. Hager and H. Zhang, A new conjugate gradient method with guaranteed descent and an
efficient line search, SIAM J. Optim. 16 (2005).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ldr.solvers.manifolds import Array
from ldr.solvers.problem import RiemannianPoint, RiemannianProblem

_SUFFICIENT_DECREASE = 0.1  # delta: least decrease relative to the slope
_CURVATURE = 0.9  # sigma: largest final slope relative to the initial slope
_VALUE_NOISE = 1e-10  # epsilon: a smaller relative increase of f is rounding
_VALUE_ROUNDING = 1e-13  # smaller relative differences of f are rounding
_EXPANSION = 5.0  # rho: growth factor of a bracket
_SHRINKAGE = 0.66  # gamma: least reduction factor of a bracket


@dataclass(frozen=True)
class Trial:
    """A point of the retraction curve: parameter t, value, slope, velocity of the curve."""

    t: float
    value: float
    slope: float
    point: RiemannianPoint
    velocity: Array


def initial_step(problem: RiemannianProblem, point: RiemannianPoint) -> float:
    """Return the first step of steepest descent: a tenth of the manifold's length scale."""
    if point.gradient_norm == 0:
        return 0.0
    scale = min(problem.manifold.diameter, max(1.0, float(np.linalg.norm(point.M))))
    return 0.1 * scale / point.gradient_norm


def search(
    problem: RiemannianProblem,
    origin: RiemannianPoint,
    V: Array,
    first: float,
    reference: float | None = None,
) -> Trial | None:
    """Find a step along V from origin that meets the Wolfe or approximate Wolfe conditions.

    - V: tangent descent direction at `origin`
    - first: the first step to try
    - reference: A value above f(origin) with which the value after the first step is compared (a
      non-monotone search); the first step need not satisfy the curvature condition then
    - returns: None if no step lowers f or the slope, as at the level of rounding.
    """
    slope = problem.manifold.inner(origin.M, origin.gradient, V)
    if not slope < 0 or not math.isfinite(first):
        return None
    line = _Line(problem, Trial(0.0, origin.value, slope, origin, V))
    start = line.trial(first)
    if reference is not None and line.descends(start, max(reference, origin.value)):
        return start
    if line.accepts(start):
        return start
    return line.wolfe(start)


class _Line:
    """The function f along the retraction curve."""

    def __init__(self, problem: RiemannianProblem, zero: Trial) -> None:
        self.problem = problem
        self.zero = zero
        self.ceiling = zero.value + _VALUE_NOISE * abs(zero.value)
        self.trials = 0
        self.accepted: Trial | None = None

    def trial(self, t: float) -> Trial:
        """Evaluate f and its slope at t; NaN counts as infinite."""
        self.trials += 1
        zero = self.zero
        M, velocity = self.problem.manifold.curve(zero.point.M, zero.velocity, t)
        point = self.problem.at(M)
        value, slope = point.value, math.inf
        if math.isfinite(value):
            slope = self.problem.manifold.inner(M, point.gradient, velocity)
        if not math.isfinite(slope):
            return Trial(t, math.inf, math.inf, point, velocity)
        trial = Trial(t, value, slope, point, velocity)
        if self.accepted is None and self.accepts(trial):
            self.accepted = trial
        return trial

    def descends(self, trial: Trial, reference: float) -> bool:
        """Return True under Armijo's condition, or its approximate form by slopes."""
        slope0 = self.zero.slope
        if trial.value <= reference + _SUFFICIENT_DECREASE * trial.t * slope0:
            return True
        noise = _VALUE_NOISE * abs(reference)
        return trial.value <= reference + noise and trial.slope <= (
            (2 * _SUFFICIENT_DECREASE - 1) * slope0
        )

    def accepts(self, trial: Trial) -> bool:
        """Return True under the Wolfe or approximate Wolfe conditions.

        If the values agree up to rounding, only slopes decide.
        """
        zero = self.zero
        if trial.slope < _CURVATURE * zero.slope:
            return False
        if abs(trial.value - zero.value) <= _VALUE_ROUNDING * abs(zero.value):
            return self.low(trial) and trial.slope <= (2 * _SUFFICIENT_DECREASE - 1) * zero.slope
        return self.descends(trial, zero.value)

    def low(self, trial: Trial) -> bool:
        return trial.value <= self.ceiling

    def wolfe(self, start: Trial) -> Trial | None:
        """Shrink a bracket by double secant steps, or by bisection if they are slow."""
        bracket = self.bracket(start)
        while bracket and self.accepted is None and self.trials < 40:
            a, b = bracket
            left, right = self.double_secant(a, b)
            if self.accepted is None and right.t - left.t > _SHRINKAGE * (b.t - a.t):
                left, right = self.update(left, right, 0.5 * (left.t + right.t))
            if right.t - left.t >= b.t - a.t:  # the bracket contains no further number
                break
            bracket = left, right
        return self.accepted

    def bracket(self, trial: Trial) -> tuple[Trial, Trial] | None:
        """Expand until the slope is positive or f increases: a bracket of a minimum."""
        lowest = self.zero
        while self.accepted is None and self.trials < 40:
            if trial.slope >= 0 and self.low(trial):
                return lowest, trial
            if not self.low(trial):
                return self.shrink(lowest, trial)
            lowest = trial
            trial = self.trial(_EXPANSION * trial.t)
        return None

    def shrink(self, a: Trial, b: Trial) -> tuple[Trial, Trial]:
        """Bisect between a low a and a high b until the slope at the right end is positive."""
        while self.accepted is None and self.trials < 40:
            middle = self.trial(0.5 * (a.t + b.t))
            if middle.slope >= 0 and self.low(middle):
                return a, middle
            a, b = (middle, b) if self.low(middle) else (a, middle)
        return a, b

    def update(self, a: Trial, b: Trial, t: float) -> tuple[Trial, Trial]:
        """Return the part of the bracket [a, b] on one side of t that contains a minimum."""
        if not a.t < t < b.t:
            return a, b
        trial = self.trial(t)
        if not self.low(trial):
            return self.shrink(a, trial)
        return (a, trial) if trial.slope >= 0 else (trial, b)

    def double_secant(self, a: Trial, b: Trial) -> tuple[Trial, Trial]:
        t = _secant(a, b)
        left, right = self.update(a, b, t)
        if self.accepted is None and t == right.t:
            return self.update(left, right, _secant(b, right))
        if self.accepted is None and t == left.t:
            return self.update(left, right, _secant(a, left))
        return left, right


def _secant(a: Trial, b: Trial) -> float:
    """Zero of the line through the slopes at a and b; NaN where they agree."""
    rise = b.slope - a.slope
    if rise == 0 or not math.isfinite(rise):
        return math.nan if rise == 0 else 0.5 * (a.t + b.t)
    return (a.t * b.slope - b.t * a.slope) / rise
