"""Derivatives of an optimum along a line of data, weights or parameters.

At the optimum M of f_t the gradient g_t(M) is zero for every t. By the implicit function theorem dM
= -Hess^{-1} dg/dt, with dg/dt at fixed M, on tangent vectors that do not rotate the axes. If f
depends on matrices that are quadratic in the rows (`Products`), the derivatives of f_t, its
components, means and scores at fixed M come from products with the rows. Otherwise they are
differences between problems at several t, with Richardson extrapolation, and are accurate even if
eigenvalues nearly tie, because only Hess^{-1} and exact eigengaps depend on the tie.

Canonical axes, eigenvectors of S with eigenvalues s, rotate by Om_kl = dS_kl/(s_l - s_k).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from ldr.inputs import check_weighted
from ldr.objectives.data.array_types import Matrix
from ldr.objectives.data.data import Data, Samples, single
from ldr.objectives.data.sample_metadata import Marks
from ldr.objectives.kernel import as_response
from ldr.objectives.objective import Objective, Sum
from ldr.objectives.parameters import Need
from ldr.objectives.problem import BoundObjective, like
from ldr.sensitivity.optimum import (
    ALIKE,
    Observed,
    Optimum,
    Rate,
    apart,
    combined,
    numbers,
    within,
)
from ldr.solvers.checks import real
from ldr.solvers.errors import ArgumentError, DataError, SingularError
from ldr.solvers.manifolds import Array
from ldr.solvers.problem import RiemannianProblem
from ldr.trial_layout import of_array
from ldr.types import PerRow, PerView, Rows

# A `Rate`, or a tuple of arrays.
Found = TypeVar("Found")
# Parameter name of the weights of the terms in a sum of objectives.
WEIGHTS = "weights"


@dataclass(frozen=True)
class Line:
    """Objective and data at t; t = 0 is the solved problem.

    - data: the data, with rows in memory
    - rows: direction of the rows of each view, and of the background
    - y: direction of the response
    - weights: direction of the sample weights
    - parameters: direction of the objective's parameters
    """

    objective: Objective
    data: Data
    r: int
    rows: Sequence[Array | None] = ()
    y: Array | None = None
    weights: Array | None = None
    parameters: Mapping[str, npt.ArrayLike] = field(default_factory=dict)

    def __call__(self, t: float) -> BoundObjective:
        """Return the problem at t."""
        values = {
            name: parameter(self.objective, name) + t * np.asarray(direction, dtype=np.float64)
            for name, direction in self.parameters.items()
        }
        return with_parameters(self.objective, values).bind(self._data(t), self.r)

    def _data(self, t: float) -> Data:
        data, given = self.data, [*all_of(self.data)]
        for k, dX in enumerate(self.rows):
            if dX is not None:
                given[k] = replace(given[k], array=given[k].dense() + t * dX, in_range=False)
        views = given[: len(data.views)]
        if self.weights is not None:
            views = [_reweighted(view, self.weights, t) for view in views]
        y = data.y if self.y is None else as_response(data.y, data.samples.n) + t * self.y
        background = given[-1] if data.background is not None else None
        return replace(data, views=tuple(views), y=y, background=background)

    @property
    def of_rows(self) -> list[Array] | None:
        """Directions of each view and the background; None unless only rows change."""
        if self.y is not None or self.weights is not None or self.parameters:
            return None
        pairs = zip(self.rows, all_of(self.data), strict=True)
        return [np.zeros(samples.shape) if dX is None else dX for dX, samples in pairs]

    @property
    def length(self) -> float:
        """The t at which data change by their own size (a standard deviation, a weight).

        It is 1 if nothing changes.
        """
        data = self.data
        moving: list[tuple[npt.ArrayLike, npt.ArrayLike]] = [
            (np.nanstd(samples.dense(), axis=0), np.abs(dX).max(axis=0))
            for samples, dX in zip(all_of(data), self.rows, strict=False)
            if dX is not None
        ]
        if self.y is not None:
            y = as_response(data.y, data.samples.n)
            moving.append((np.nanstd(y, axis=0), np.abs(self.y).max(axis=0)))
        if self.weights is not None:
            moving.append((_weights(data.samples), self.weights))
        moving += [(parameter(self.objective, name), d) for name, d in self.parameters.items()]
        found = min((_length(*each) for each in moving), default=math.inf)
        return 1.0 if math.isinf(found) else found


def all_of(data: Data) -> Sequence[Samples]:
    """Return the samples of the views and of the background."""
    return (*data.views, *filter(None, (data.background,)))


def _length(sizes: npt.ArrayLike, moves: npt.ArrayLike) -> float:
    """Return the least ratio of size to change; zero sizes are replaced by the largest size."""
    size, move = (np.abs(np.atleast_1d(np.asarray(each, float))) for each in (sizes, moves))
    if not move.any():
        return math.inf
    size = np.where(size > 0, size, float(np.max(size)) or 1.0)
    return float(np.min(size[move > 0] / move[move > 0]))


def _weights(samples: Samples) -> Array:
    return np.ones(samples.n) if samples.weights is None else samples.weights


def _reweighted(samples: Samples, dw: Array, t: float) -> Samples:
    trials = None if samples.marks is None else samples.marks.trials
    return replace(samples, marks=Marks(_weights(samples) + t * dw, trials))


def parameter(objective: Objective, name: str) -> float | Array:
    """Return a numeric parameter of the objective, or the weights of a sum.

    - raises ArgumentError: the objective has no such parameter.
    """
    if isinstance(objective, Sum) and name == WEIGHTS:
        return np.array([weight for weight, _ in objective.terms])
    movable = numbers_of(objective)
    if name in movable:
        return movable[name]
    listed = [WEIGHTS] if isinstance(objective, Sum) else sorted(movable)
    raise ArgumentError(
        f"{objective!r} has no derivative with respect to {name!r}, expected one of its "
        f"parameters: {', '.join(listed) or 'none'}"
    )


def numbers_of(objective: Objective) -> dict[str, float]:
    """Return the numeric parameters that can vary."""
    known = {each.name: getattr(objective, each.name) for each in fields(objective)}  # type: ignore[arg-type]
    return {name: value for name, value in known.items() if type(value) is float}


def with_parameters(objective: Objective, values: Mapping[str, float | Array]) -> Objective:
    """Return the objective with new values of parameters."""
    for name, value in values.items():
        if isinstance(objective, Sum) and name == WEIGHTS:
            pairs = zip(np.atleast_1d(value), objective.terms, strict=True)
            terms = tuple((float(weight), part) for weight, (_, part) in pairs)
            objective = replace(objective, terms=terms)
        else:
            objective = replace(objective, **{name: float(value)})  # type: ignore[type-var]
    return objective


def as_line(
    objective: Objective,
    data: Data,
    r: int,
    *,
    X: Rows = None,
    y: PerRow = None,
    sample_weight: PerRow = None,
    parameters: Mapping[str, npt.ArrayLike] | None = None,
) -> Line:
    """Return the line along a direction given by the user.

    - raises ArgumentError, DataError: no direction, a wrong shape, or data without a derivative.
    """
    parameters, given = parameters or {}, all_of(data)
    rows: tuple[Array | None, ...] = ()
    if X is None and y is None and sample_weight is None and not parameters:
        raise ArgumentError(
            "the direction of the derivative is missing: give a change of the data as X=, y= or "
            "sample_weight=, or a change of a parameter of the objective"
        )
    if X is not None:
        moves = X if len(given) > 1 else (X,)
        if not isinstance(moves, (tuple, list)) or len(moves) != len(given):
            raise DataError(
                f"X must be {len(given)} arrays, the change of each data array (None for no "
                f"change), got {type(X).__name__}"
            )
        pairs = zip(moves, given, strict=True)
        rows = tuple(None if dX is None else _moves(dX, samples) for dX, samples in pairs)
    if y is not None:
        if Need.LABELS in objective.needs:
            raise ArgumentError(
                f"{objective.name} treats y as labels, which have no derivatives: leave out "
                "y=, and give a change of X, of sample_weight or of a parameter"
            )
        y = real_numbers(y, np.shape(data.y), "y")
        y = y.reshape(as_response(data.y, data.samples.n).shape)
    if sample_weight is not None:
        check_weighted(objective)
        sample_weight = real_numbers(
            sample_weight, (data.samples.n,), "the direction of sample_weight"
        )
    for name, direction in parameters.items():
        _check_parameter(objective, name, direction)
    return Line(objective, data, r, rows, y, sample_weight, parameters)


def _moves(dX: Matrix, samples: Samples) -> Array:
    if samples.is_sparse or samples.stored:
        raise DataError(
            f"{samples.name} is {'sparse' if samples.is_sparse else 'not in memory'}: a derivative "
            "with respect to its entries needs a dense array in memory"
        )
    return real_numbers(dX, samples.shape, f"the direction of {samples.name}")


def real_numbers(given: npt.ArrayLike, shape: tuple[int, ...], name: str) -> Array:
    """Validate an array of real numbers of a given shape."""
    array = np.asarray(of_array(given)[0])
    if array.dtype.kind not in "biuf" or array.shape != shape:
        raise DataError(
            f"{name} has shape {array.shape} and type {array.dtype}, expected {shape} real numbers"
        )
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise DataError(f"{name} has entries that are not finite")
    return array


def _check_parameter(objective: Objective, name: str, direction: npt.ArrayLike) -> None:
    value = parameter(objective, name)
    if name == WEIGHTS and np.shape(direction) == np.shape(value):
        return
    if real(direction) is None:
        expected = "a number" if np.ndim(value) == 0 else f"{np.size(value)} numbers"
        raise ArgumentError(f"the direction of {name} must be {expected}, got {direction!r}")
    if value == 0:
        raise ArgumentError(
            f"{name} is 0, where only a one-sided derivative exists: solve with a positive value"
        )


# Finite differences: the first step, relative to the magnitude of the quantity that is varied, and
# the factor by which each further step is shorter.
_STEP, _SHORTER = 2e-3, 4.0
_STEPS = 8
# The extrapolation ends when its relative error is below the first value, or when it is below the
# second and a shorter step does not reduce it: rounding errors then dominate.
_GOOD, _ROUNDED = 1e-9, 1e-7
# Changes of the gradient and of f count as zero below these shares of |gradient| and |f|.
_NOTHING = 1e-7, 1e-2


def rate(optimum: Optimum, line: Line) -> Rate:
    """Compute the derivative along a line by differences, at the M of the optimum.

    - raises SingularError: the differences agree at no step, or the value jumps at t = 0, because
      the problem is discontinuous in t, as with graphs of neighbours or ranks.
    """
    own, M = optimum.problem, optimum.M
    gradient, value = own.at(M).gradient, own.reported(own.value(M))
    values: list[float] = []

    def at(t: float) -> Rate:
        problem = line(t)
        there = same_point(optimum, problem)
        problem = like(problem, own)
        moved = RiemannianProblem(problem).at(there).gradient
        back = carried(problem, own, moved) * (problem.unit / own.unit)
        found = Rate(own.manifold.project(M, back), Observed.of(problem, there))
        values.append(found.observed.value)
        return found

    def seen(found: Rate) -> tuple[Array, ...]:
        return found.gradient, np.array([found.observed.value])

    sizes = _NOTHING[0] * float(np.linalg.norm(gradient)), _NOTHING[1] * abs(value)
    try:
        best, error = extrapolated(at, line.length, sizes, seen)
    except DataError as refused:  # the method accepts only integers, or only 0 and 1
        raise ArgumentError(
            f"the data cannot change in the given direction: {refused}"
        ) from refused
    jumps = np.abs(0.5 * np.add(values[::2], values[1::2]) - value)
    if not error <= ALIKE or jumps[-1] > max(0.5 * jumps[0], ALIKE * abs(value)):
        raise SingularError(
            "the problem is not smooth along the given direction: its value jumps, or finite "
            f"differences of decreasing steps, down to {_STEP * _SHORTER ** (1 - len(jumps)):.0e} "
            "of the data's norm, disagree. If the kernel width is the default, a median of "
            "distances, give a number; standardise columns of very different units"
        )
    return best


def extrapolated(
    at: Callable[[float], Found],
    unit: float,
    sizes: Sequence[float],
    seen: Callable[[Found], tuple[Array, ...]],
) -> tuple[Found, float]:
    """Return a derivative at t = 0 by Ridders' extrapolation of central differences, and its error.

    - unit: the t at which the function changes by its own size
    - seen: function that returns the arrays that are compared
    - sizes: sizes of these arrays below which they count as zero
    """
    least = [max(size / unit, float(np.finfo(float).tiny)) for size in sizes]
    above: list[Found] = []
    error = math.inf
    for k in range(_STEPS):
        h = _STEP * unit * _SHORTER**-k
        row, before = [combined(0.5 / h, at(h), -0.5 / h, at(-h))], error
        for j, upper in enumerate(above, 1):
            q = _SHORTER ** (2 * j)
            row.append(combined(q / (q - 1), row[-1], -1 / (q - 1), upper))
            distance = max(apart(seen(row[j]), seen(each), least) for each in (row[j - 1], upper))
            if j == 1 and distance <= ALIKE:  # extrapolation roughly squares the relative error
                distance *= distance
            if distance < error:
                best, error = row[j], distance
        if not above:
            best = row[0]
        if error <= _GOOD or before <= min(error, _ROUNDED):
            break
        above = row
    return best, error


def same_point(optimum: Optimum, problem: BoundObjective) -> Array:
    """Return the optimum as a point of another problem."""
    return problem.manifold.nearest(carried(optimum.problem, problem, optimum.M))


def carried(one: BoundObjective, other: BoundObjective, Z: Array) -> Array:
    """Map a matrix from the coordinates of one problem to those of another problem."""
    pairs = zip(one.views, other.views, one.blocks(Z), strict=True)
    blocks = [there.coordinates.lower(here.coordinates.lift(block)) for here, there, block in pairs]
    further = one.manifold.split(Z)[len(blocks) :]
    return other.manifold.join([*blocks, *further]) if further else other.point(blocks)


@dataclass(frozen=True)
class Derivative:
    """Derivative of an optimum along a direction, per unit of t in X + t dX.

    - value: derivative of the objective's value
    - mean (d,): derivative of the mean that the map subtracts
    - projector (d, d): derivative of the orthogonal projector onto the rows of P, the subspace
    - M, P (d, r): derivatives of the matrix and the map, in canonical coordinates
    - components (r,): derivatives of the score of each component

    Notes
    -----
    M, P and components raise `ldr.errors.SingularError` if scores of components tie, because the
    axes are then arbitrary. value, mean and projector do not depend on the axes.
    """

    _optimum: Optimum
    _line: Line
    _rate: Rate
    _move: Array
    _by_products: bool

    @classmethod
    def along(cls, optimum: Optimum, line: Line, known: Rate | None = None) -> Derivative:
        """Return the derivative from a known `Rate`, or by differences."""
        found = rate(optimum, line) if known is None else known
        return cls(optimum, line, found, -optimum.solve(found.gradient), known is not None)

    @property
    def value(self) -> float:
        return self._rate.observed.value  # at an optimum the derivative of f by M is zero

    @property
    def mean(self) -> PerView:
        moved = self._moved(self._optimum.problem.mean_at)
        return single(combined(1.0, self._rate.observed.mean, 1.0, moved))

    @property
    def projector(self) -> PerView:
        pairs = zip(self._optimum.problem.maps(self._optimum.M), self.maps(None), strict=True)
        return single(tuple(projector_rate(P, dP) for P, dP in pairs))

    @property
    def M(self) -> PerView:
        if not self._rate.observed.M:
            return self._by_differences.M
        moved = self._moved(self._optimum.problem.lift, self._turn)
        return single(combined(1.0, self._rate.observed.M, 1.0, moved))

    @property
    def P(self) -> PerView:
        return single(self.maps(self._turn))

    def maps(self, turn: Array | None) -> tuple[Array, ...]:
        """Return the derivative of the maps if the axes rotate by `turn`; None keeps the axes."""
        moved = self._moved(self._optimum.problem.maps, turn)
        return combined(1.0, self._rate.observed.P, 1.0, moved)

    def optimum_at(self, t: float, turn: Array | None = None) -> tuple[BoundObjective, Array]:
        """Return the problem at t, and its optimum to first order, with axes rotated by t turn."""
        own = self._optimum
        problem = like(self._line(t), own.problem)
        moved = own.moved(t * self._move, None if turn is None else t * turn)
        return problem, problem.manifold.nearest(carried(own.problem, problem, moved))

    @property
    def components(self) -> dict[str, Array]:
        if self._by_products:  # which fix the point of the problem at t in another way
            return self._by_differences.components
        own, turn = self._optimum, self._turn
        found = self._slope(
            lambda t: tuple(numbers(*self.optimum_at(t, turn)).values()),
            min(self._unit(turn), self._line.length),
        )
        return dict(zip(numbers(own.problem, own.M), found, strict=True))

    @cached_property
    def _by_differences(self) -> Derivative:
        return Derivative.along(self._optimum, self._line)

    @cached_property
    def _turn(self) -> Array | None:
        """Derivative of the canonical axes; None if columns have no canonical axes."""
        change = self._rate.observed.within
        if not len(change):
            return None
        problem = self._optimum.problem
        (moved,) = self._moved(lambda M: (within(problem, M),))
        return self._optimum.turn(change + moved)

    def _moved(
        self, seen: Callable[[Array], tuple[Array, ...]], turn: Array | None = None
    ) -> tuple[Array, ...]:
        """Return the derivative of observed quantities in M, for a fixed problem."""

        def at(t: float) -> tuple[Array, ...]:
            return seen(self._optimum.moved(t * self._move, None if turn is None else t * turn))

        return self._slope(at, self._unit(turn))

    def _unit(self, turn: Array | None) -> float:
        """Return the t at which M changes by its own size."""
        size = float(np.linalg.norm(self._move) + (0.0 if turn is None else np.linalg.norm(turn)))
        return max(1.0, float(np.abs(self._optimum.M).max())) / size if size else math.inf

    def _slope(self, at: Callable[[float], tuple[Array, ...]], unit: float) -> tuple[Array, ...]:
        """Return the derivative at t = 0 by differences, for steps relative to `unit`."""
        still = at(0.0)
        if math.isinf(unit):
            return combined(1.0, still, -1.0, still)
        sizes = [_NOTHING[1] * float(np.linalg.norm(each)) for each in still]
        best, error = extrapolated(at, unit, sizes, lambda found: found)
        if not error <= ALIKE:
            raise SingularError(
                "the map or the scores of components are no smooth functions of M: singular values "
                "of M nearly tie, or a component vanishes. Use a smaller r"
            )
        return best


def projector_rate(P: Array, dP: Array) -> Array:
    """Return d(P^+P) = P^+W + (P^+W)', with the pseudoinverse P^+ and W = dP (I - P^+P)."""
    inverse = np.asarray(np.linalg.pinv(P), dtype=np.float64)
    half = inverse @ (dP - (dP @ inverse) @ P)
    return half + half.T
