"""Derivatives of an optimum along a line of data, weights or parameters.

At the optimum M of f_t the gradient g_t(M) vanishes for every t, so that dM = -Hess^{-1} dg/dt, M
fixed: the implicit function theorem on the tangent vectors that are no turns of the axes. How f_t,
its coordinates, means and numbers change at fixed M comes from differences of problems bound at t
(in t nothing is nearly singular, and Richardson's extrapolation leaves rounding alone); how fast
optima move where eigenvalues nearly tie comes from Hess^{-1} and from gaps, exactly.

Axes that diagonalise a symmetric S turn by Om_kl = dS_kl/(s_l - s_k).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ldr.objectives.data.views import single
from ldr.objectives.problem import BoundObjective
from ldr.sensitivity.moving import Line
from ldr.sensitivity.optimum import Observed, Optimum
from ldr.solvers.errors import SingularError
from ldr.solvers.manifolds import Array
from ldr.solvers.riemannian import RiemannianProblem

# Of a line's length: the first step of differences; each further one is shorter by this.
_STEP, _SHORTER = 2e-3, 4.0
_STEPS, _COLUMNS = 9, 4
# Extrapolated differences that agree to this, relatively, are good; that do not, useless.
_GOOD, _USELESS = 1e-9, 1e-5
# A change smaller than this over a line's length, relative to what changes, counts as none.
_NOTHING = 1e-7
_TINY = float(np.finfo(float).tiny)
# Of moves of M, relative to its size.
_MOVE = 1e-3


@dataclass(frozen=True)
class Rate:
    """How a problem changes with t where M stays: its gradient, and what is observed."""

    gradient: Array
    observed: Observed

    def combined(self, c: float, d: float, other: Rate) -> Rate:
        gradient = c * self.gradient + d * other.gradient
        return Rate(gradient, self.observed.combined(c, d, other.observed))

    def apart(self, other: Rate, least: Sequence[float]) -> float:
        """How far this is from another one, relative to it and to the least that counts."""
        pairs = (
            (self.gradient, other.gradient),
            (np.array(self.observed.value), np.array(other.observed.value)),
        )
        return max(
            float(np.linalg.norm(one - two)) / max(float(np.linalg.norm(one)), small)
            for (one, two), small in zip(pairs, least, strict=True)
        )


def rate(optimum: Optimum, line: Callable[[float], BoundObjective], length: float) -> Rate:
    """By central differences, extrapolated (Ridders): the step is where they agree best.

    Raises
    ------
    SingularError
        They agree nowhere: the problem jumps, as graphs of neighbours and ranks do.
    """
    if math.isinf(length):
        at = _at(optimum, line(0.0))
        return at.combined(1.0, -1.0, at)
    problem, M = optimum.problem, optimum.M
    sizes = np.linalg.norm(problem.at(M).gradient), problem.reported(problem.value(M))
    least = [max(_NOTHING * abs(float(size)) / length, _TINY) for size in sizes]
    above: list[Rate] = []
    best, error = None, math.inf
    for step in _STEP * length * _SHORTER ** -np.arange(_STEPS):
        row = [difference(optimum, line, float(step))]
        for j, upper in enumerate(above[: _COLUMNS - 1], 1):
            q = _SHORTER ** (2 * j)
            row.append(row[-1].combined(q / (q - 1), -1 / (q - 1), upper))
            found = max(row[j].apart(other, least) for other in (row[j - 1], upper))
            if found < error:
                best, error = row[j], found
        if error <= _GOOD:
            break
        above = row
    if best is None or not error <= _USELESS:
        raise SingularError(
            "the problem does not change smoothly along this direction: differences over smaller "
            f"and smaller steps, down to {step / length:.0e} of the data's own size, do not agree"
        )
    return best


def difference(optimum: Optimum, line: Callable[[float], BoundObjective], h: float) -> Rate:
    """By one central difference."""
    ahead, behind = (_at(optimum, line(t)) for t in (h, -h))
    return ahead.combined(0.5 / h, -0.5 / h, behind)


def _at(optimum: Optimum, problem: BoundObjective) -> Rate:
    """Another problem's gradient and numbers at the same user's matrices."""
    own = optimum.problem
    M = problem.manifold.nearest(carried(own, problem, optimum.M))
    problem = problem.near(M)
    gradient = RiemannianProblem(problem).at(M).gradient
    back = carried(problem, own, gradient) * (problem.unit / own.unit)
    return Rate(own.manifold.project(optimum.M, back), Observed.of(problem, M))


def carried(one: BoundObjective, other: BoundObjective, Z: Array) -> Array:
    """What is a matrix in the coordinates of one problem, in those of another."""
    pairs = zip(one.coordinates, other.coordinates, one.blocks(Z), strict=True)
    blocks = [there.lower(here.lift(block)) for here, there, block in pairs]
    further = one.manifold.split(Z)[len(blocks) :]
    return other.manifold.join([*blocks, *further]) if further else other.point(blocks)


@dataclass(frozen=True)
class Derivative:
    """How an optimum moves along a direction, per unit of t in X + t dX.

    Attributes
    ----------
    value : float
        Of the objective's value.
    mean : ndarray (d,), or one a view
        Of what the map subtracts.
    projector : ndarray (d, d), or one a view
        Of the orthogonal projector onto the rows of P: the subspace.
    M, P : ndarray (d, r), (r, d), or one a view
        Of the matrix and the map in canonical coordinates.
    components : dict of str to ndarray (r,)
        Of the numbers of each coordinate.

    Notes
    -----
    M, P and components raise `ldr.errors.SingularError` where numbers of coordinates tie: there the
    axes are arbitrary, but value, mean and projector are not.
    """

    _optimum: Optimum
    _rate: Rate
    _move: Array

    @classmethod
    def along(cls, optimum: Optimum, line: Line) -> Derivative:
        found = rate(optimum, line, line.length)
        return cls(optimum, found, -optimum.solve(found.gradient))

    @property
    def value(self) -> float:
        return self._of_subspace.value

    @property
    def mean(self) -> Any:
        return single(self._of_subspace.mean)

    @property
    def projector(self) -> Any:
        maps = self._optimum.problem.maps(self._optimum.M)
        pairs = zip(maps, self._of_subspace.P, strict=True)
        return single(tuple(projector_rate(P, dP) for P, dP in pairs))

    @property
    def M(self) -> Any:
        return single(self._of_axes.M)

    @property
    def P(self) -> Any:
        return single(self._of_axes.P)

    @property
    def components(self) -> dict[str, Array]:
        return dict(self._of_axes.numbers)

    @cached_property
    def _of_subspace(self) -> Observed:
        """With axes that do not turn."""
        return self._observed(None)

    @cached_property
    def _of_axes(self) -> Observed:
        """In canonical axes."""
        change = self._of_subspace.within
        return self._observed(self._optimum.turn(change)) if len(change) else self._of_subspace

    def _observed(self, turn: Array | None) -> Observed:
        """What changes with t, and with M along its move."""
        optimum = self._optimum
        size = float(np.linalg.norm(self._move) + (0.0 if turn is None else np.linalg.norm(turn)))
        if size == 0:
            return self._rate.observed
        step = _MOVE * max(1.0, float(np.abs(optimum.M).max())) / size

        def at(t: float) -> Observed:
            N = optimum.moved(t * self._move, None if turn is None else t * turn)
            return Observed.of(optimum.problem, N)

        coarse, fine = (at(h).combined(0.5 / h, -0.5 / h, at(-h)) for h in (step, 0.5 * step))
        moved = fine.combined(4.0 / 3.0, -1.0 / 3.0, coarse)
        return self._rate.observed.combined(1.0, 1.0, moved)


def projector_rate(P: Array, dP: Array) -> Array:
    """d(P^+P) = P^+W + (P^+W)', with the pseudo-inverse P^+ and W = dP across P."""
    inverse = np.asarray(np.linalg.pinv(P), dtype=np.float64)
    half = inverse @ across(P, inverse, dP)
    return half + half.T


def across(P: Array, inverse: Array, dP: Array) -> Array:
    """dP (I - P^+P): the rows of dP less what lies in the span of those of P."""
    return dP - (dP @ inverse) @ P
