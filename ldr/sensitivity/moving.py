"""Objective and data on a line through what was solved: X + t dX, w + t dw, parameters + t d."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

import numpy as np
import numpy.typing as npt

from ldr.inputs import check_weighted, of_array
from ldr.objectives.data.array_types import Matrix
from ldr.objectives.data.data import Data
from ldr.objectives.data.sample_metadata import Marks
from ldr.objectives.data.samples import Samples
from ldr.objectives.kernel import as_response
from ldr.objectives.objective import Objective, Sum
from ldr.objectives.parameters import Need
from ldr.objectives.problem import BoundObjective
from ldr.solvers.checks import real
from ldr.solvers.errors import ArgumentError, DataError
from ldr.solvers.manifolds import Array
from ldr.types import PerRow, Rows

# Name of the weights of a sum, among parameters.
WEIGHTS = "weights"


@dataclass(frozen=True)
class Line:
    """What an objective is bound to at t; at 0 what it was solved for.

    - data: with rows in memory
    - views: how the rows of each view move
    - background, y: how those of the background and the response move
    - weights: how the weights of the rows move
    - parameters: how those of the objective move
    """

    objective: Objective
    data: Data
    r: int
    views: Sequence[Array | None] = ()
    background: Array | None = None
    y: Array | None = None
    weights: Array | None = None
    parameters: Mapping[str, npt.ArrayLike] = field(default_factory=dict)

    def __call__(self, t: float) -> BoundObjective:
        """The problem at t."""
        return moved(self.objective, self.parameters, t).bind(self._data(t), self.r)

    def _data(self, t: float) -> Data:
        views = self.data.views
        if self.views:
            views = tuple(_rows(view, dX, t) for view, dX in zip(views, self.views, strict=True))
        if self.weights is not None:
            views = tuple(_reweighted(view, self.weights, t) for view in views)
        y = self.data.y
        if self.y is not None:
            y = as_response(y, views[0].n) + t * self.y
        background = self.data.background
        if background is not None:
            background = _rows(background, self.background, t)
        return replace(self.data, views=views, y=y, background=background)

    @property
    def of_rows(self) -> list[Array] | None:
        """How each view and the background move; None where something else than rows does."""
        if self.y is not None or self.weights is not None or self.parameters:
            return None
        pairs = [*zip(self.views, self.data.views, strict=True)]
        if self.data.background is not None:
            pairs.append((self.background, self.data.background))
        return [np.zeros(samples.shape) if dX is None else dX for dX, samples in pairs]

    @property
    def length(self) -> float:
        """The t at which something has moved by its own size (a standard deviation, a weight)."""
        lengths = [
            _length(np.nanstd(view.dense(), axis=0), np.abs(dX).max(axis=0))
            for view, dX in zip(self.data.views, self.views, strict=False)
            if dX is not None
        ]
        if self.background is not None and self.data.background is not None:
            spread = np.nanstd(self.data.background.dense(), axis=0)
            lengths.append(_length(spread, np.abs(self.background).max(axis=0)))
        if self.y is not None:
            y = as_response(self.data.y, self.data.samples.n)
            lengths.append(_length(np.nanstd(y, axis=0), np.abs(self.y).max(axis=0)))
        if self.weights is not None:
            lengths.append(_length(_weights(self.data.samples), np.abs(self.weights)))
        for name, direction in self.parameters.items():
            value = np.abs(np.atleast_1d(parameter(self.objective, name)))
            lengths.append(_length(value, np.abs(np.atleast_1d(direction))))
        return min(lengths, default=math.inf)


def _length(sizes: Array, moves: Array) -> float:
    """The least share; what has no size of its own has the largest one's."""
    moving = np.atleast_1d(moves) > 0
    if not moving.any():
        return math.inf
    sizes = np.where(sizes > 0, sizes, float(np.max(sizes)) or 1.0)
    return float(np.min(np.atleast_1d(sizes)[moving] / np.atleast_1d(moves)[moving]))


def _rows(samples: Samples, dX: Array | None, t: float) -> Samples:
    return samples if dX is None else replace(samples, array=samples.dense() + t * dX)


def _weights(samples: Samples) -> Array:
    return np.ones(samples.n) if samples.weights is None else samples.weights


def _reweighted(samples: Samples, dw: Array, t: float) -> Samples:
    trials = None if samples.marks is None else samples.marks.trials
    return replace(samples, marks=Marks(_weights(samples) + t * dw, trials))


def parameter(objective: Objective, name: str) -> float | Array:
    """A number of the objective's, or the weights of a sum.

    - raises ArgumentError: There is no such number.
    """
    if isinstance(objective, Sum) and name == WEIGHTS:
        return np.array([weight for weight, _ in objective.terms])
    movable = numbers_of(objective)
    if name in movable:
        return movable[name]
    listed = [WEIGHTS] if isinstance(objective, Sum) else sorted(movable)
    raise ArgumentError(
        f"{name!r} is no number of {objective!r} that can move: expected "
        f"{', '.join(listed) or 'none, for it has no such parameter'}"
    )


def numbers_of(objective: Objective) -> dict[str, float]:
    """The parameters that are numbers, and can move."""
    known = {each.name: getattr(objective, each.name) for each in fields(objective)}  # type: ignore[arg-type]
    return {name: value for name, value in known.items() if type(value) is float}


def with_parameters(objective: Objective, values: Mapping[str, float | Array]) -> Objective:
    """The objective with other numbers."""
    for name, value in values.items():
        if isinstance(objective, Sum) and name == WEIGHTS:
            pairs = zip(np.atleast_1d(value), objective.terms, strict=True)
            terms = tuple((float(weight), part) for weight, (_, part) in pairs)
            objective = replace(objective, terms=terms)
        else:
            objective = replace(objective, **{name: float(value)})  # type: ignore[type-var]
    return objective


def moved(objective: Objective, directions: Mapping[str, npt.ArrayLike], t: float) -> Objective:
    """The objective with parameters + t * directions."""
    values = {
        name: parameter(objective, name) + t * np.asarray(direction, dtype=np.float64)
        for name, direction in directions.items()
    }
    return with_parameters(objective, values)


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
    """The line of a direction as a user gives it.

    - raises ArgumentError, DataError: Nothing moves; of another shape; what cannot move.
    """
    parameters = parameters or {}
    if X is None and y is None and sample_weight is None and not parameters:
        raise ArgumentError(
            "nothing moves: give X=, y=, sample_weight= or a parameter of the objective"
        )
    views: tuple[Array | None, ...] = ()
    background = None
    if X is not None and data.background is not None:
        first, background = _pair(X, (data.samples, data.background))
        views = (first,)
    elif X is not None:
        views = _pair(X, data.views) if len(data.views) > 1 else (_moves(X, data.samples),)
    if y is not None:
        if Need.LABELS in objective.needs:
            raise ArgumentError(
                f"y moves, but {objective.name} takes it as labels, which are equal or not: "
                "expected a direction of X, of sample_weight or of a parameter"
            )
        y = numbers(y, np.shape(data.y), "y")
        y = y.reshape(as_response(data.y, data.samples.n).shape)
    if sample_weight is not None:
        check_weighted(objective)
        sample_weight = numbers(sample_weight, (data.samples.n,), "the direction of sample_weight")
    for name, direction in parameters.items():
        _check_parameter(objective, name, direction)
    return Line(objective, data, r, views, background, y, sample_weight, parameters)


def _pair(X: Rows, samples: Sequence[Samples]) -> tuple[Array | None, ...]:
    if not isinstance(X, (tuple, list)) or len(X) != len(samples):
        raise DataError(
            f"X must be {len(samples)} arrays, as the data are (None for one that stays), got "
            f"{type(X).__name__}"
        )
    return tuple(
        None if one is None else _moves(one, view) for one, view in zip(X, samples, strict=True)
    )


def _moves(dX: Matrix, samples: Samples) -> Array:
    if samples.is_sparse or samples.stored:
        raise DataError(
            f"{samples.name} is {'sparse' if samples.is_sparse else 'stored'}: derivatives along "
            "its rows need them as a dense array in memory"
        )
    return numbers(dX, samples.shape, f"the direction of {samples.name}")


def numbers(given: npt.ArrayLike, shape: tuple[int, ...], name: str) -> Array:
    """A given array of real numbers of a shape."""
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
        raise ArgumentError(f"{name} moves by {expected}, got {direction!r}")
    if value == 0:
        raise ArgumentError(
            f"{name} is 0, where there is a derivative to one side only: solve with a positive one"
        )
