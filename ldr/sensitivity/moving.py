"""Objective and data on a line: X + t dX, weights w + t dw, and parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

import numpy as np
import numpy.typing as npt

from ldr.inputs import check_weighted
from ldr.objectives.data.array_types import Matrix
from ldr.objectives.data.data import Data, Samples
from ldr.objectives.data.sample_metadata import Marks
from ldr.objectives.kernel import as_response
from ldr.objectives.objective import Objective, Sum
from ldr.objectives.parameters import Need
from ldr.objectives.problem import BoundObjective
from ldr.solvers.checks import real
from ldr.solvers.errors import ArgumentError, DataError
from ldr.solvers.manifolds import Array
from ldr.trial_layout import of_array
from ldr.types import PerRow, Rows

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
        """The t at which data change by their own size (a standard deviation, a weight)."""
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
        return min((_length(*each) for each in moving), default=math.inf)


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
                f"X must be {len(given)} arrays in the shapes of the data (None for data that stay "
                f"fixed), got {type(X).__name__}"
            )
        pairs = zip(moves, given, strict=True)
        rows = tuple(None if dX is None else _moves(dX, samples) for dX, samples in pairs)
    if y is not None:
        if Need.LABELS in objective.needs:
            raise ArgumentError(
                f"{objective.name} treats y as labels, which cannot change continuously: leave out "
                "y=, and give a change of X, of sample_weight or of a parameter"
            )
        y = numbers(y, np.shape(data.y), "y")
        y = y.reshape(as_response(data.y, data.samples.n).shape)
    if sample_weight is not None:
        check_weighted(objective)
        sample_weight = numbers(sample_weight, (data.samples.n,), "the direction of sample_weight")
    for name, direction in parameters.items():
        _check_parameter(objective, name, direction)
    return Line(objective, data, r, rows, y, sample_weight, parameters)


def _moves(dX: Matrix, samples: Samples) -> Array:
    if samples.is_sparse or samples.stored:
        raise DataError(
            f"{samples.name} is {'sparse' if samples.is_sparse else 'not in memory'}: a derivative "
            "with respect to its entries needs a dense array in memory"
        )
    return numbers(dX, samples.shape, f"the direction of {samples.name}")


def numbers(given: npt.ArrayLike, shape: tuple[int, ...], name: str) -> Array:
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
