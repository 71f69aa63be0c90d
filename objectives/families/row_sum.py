"""Objectives that are sums over rows, evaluated chunk by chunk.

The objective is f(M) = sum over chunks of phi(M; chunk). One pass over the rows computes value and
gradient, another pass each Hessian product. For each chunk only arrays of M's shape are returned.
Rows are centred and whitened chunk by chunk, without a copy of the data.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from operator import add
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

import numpy as np

from ldr.objectives.data.array_types import Cells
from ldr.objectives.data.data import Beside, Samples
from ldr.objectives.families.projected import ProjectedPoint, Started
from ldr.objectives.problem import check_dimension
from ldr.objectives.statistics.sums import spread_rows
from ldr.objectives.view import Compact, View
from ldr.solvers.manifolds import Array, Manifold
from ldr.solvers.problem import Point, Problem

# Number of rows in the sample from which initial points are computed.
SAMPLE_ROWS = 20_000

# Stochastic solvers divide the rows into at most this number of parts.
_PARTS = 32
_PART_ROWS = 10  # least number of rows in a part for each column of X

Kept = TypeVar("Kept", bound=Point)

# Type of a sum over rows: a scalar or an array.
Total: TypeAlias = Any


class RowTerm(ABC):
    """Contribution of some rows to a sum; immutable and picklable.

    - has_hessian: True if `second` exists
    """

    has_hessian: bool = True

    @abstractmethod
    def first(self, M: Array, rows: Samples, *beside: Any) -> tuple[Total, Array]:
        """Return value and gradient at M; the value may be an array of several sums."""

    @abstractmethod
    def second(self, M: Array, V: Array, rows: Samples, *beside: Cells) -> Array:
        """Return the Hessian product with V."""


class TermOfPoints(RowTerm):
    """A term that is a sum of points, each for some of the rows."""

    @abstractmethod
    def points(self, M: Array, rows: Samples, *beside: Cells) -> Iterator[Point]:
        """Yield points (a value and its derivatives at M) whose sum is the term of a chunk."""

    def first(self, M: Array, rows: Samples, *beside: Cells) -> tuple[Total, Array]:
        value: Total = 0.0
        gradient = np.zeros_like(M)
        for point in self.points(M, rows, *beside):
            value = value + point.value
            if np.isinf(value).any():  # at a point where f is infinite it has no gradient
                break
            gradient += point.gradient
        return value, gradient

    def second(self, M: Array, V: Array, rows: Samples, *beside: Cells) -> Array:
        product = np.zeros_like(M)
        for point in self.points(M, rows, *beside):
            product += point.hessian_vector(V)
        return product


def added(earlier: tuple[Total, Array], later: tuple[Total, Array]) -> tuple[Total, Array]:
    """Return the sums of values and of gradients."""
    return earlier[0] + later[0], earlier[1] + later[1]


class OfRows:
    """A function of a chunk, summed over samples and arrays of the same rows."""

    samples: Samples
    term: RowTerm
    beside: tuple[Beside, ...]


class SumPoint(Point):
    """A sum over rows at M: value and gradient from a single pass, cached."""

    def __init__(self, problem: OfRows, M: Array) -> None:
        self.M = M
        self._problem = problem

    @cached_property
    def sums(self) -> tuple[Total, Array]:
        problem = self._problem
        return problem.samples.reduce(partial(problem.term.first, self.M), added, *problem.beside)

    @property
    def value(self) -> Total:
        return self.sums[0]

    @property
    def gradient(self) -> Array:
        return self.sums[1]

    def hessian_vector(self, V: Array) -> Array:
        problem = self._problem
        return problem.samples.reduce(partial(problem.term.second, self.M, V), add, *problem.beside)


class Remembered(Generic[Kept]):
    """Cache of the latest points, since results evaluate the solver's last points again."""

    def __init__(self, last: int = 32) -> None:
        self._last: deque[Kept] = deque(maxlen=last)

    def at(self, M: Array, make: Callable[[Array], Kept]) -> Kept:
        """Return the cached point at M, or a new point by `make`."""
        for point in tuple(self._last):  # iterates over a copy: other threads may append points
            if np.array_equal(point.M, M):
                return point
        point = make(M)
        self._last.append(point)
        return point


class InParts(OfRows):
    """Base of sums over rows that are also a `Sum` of parts, for stochastic solvers."""

    if TYPE_CHECKING:

        @property
        def manifold(self) -> Manifold: ...

    @property
    def parts(self) -> int:
        """Number of parts of the rows."""
        return -(-self.samples.n // part_rows(*self.samples.shape))

    def each_part(self, order: np.random.Generator) -> Iterator[Part]:
        """Yield the problem of each part of the rows; each row is read once."""
        rows = part_rows(*self.samples.shape)
        for piece, *beside in self.samples.in_turn(rows, order, *self.beside):
            yield Part(self.manifold, piece, self.term, tuple(beside))


@dataclass(frozen=True)
class InPieces(OfRows, Started):
    """An objective of sums over rows that are read at every evaluation.

    - beside: other arrays of the same rows: labels, a response
    - heuristics: functions that return initial points, each called once; the first is the baseline
    """

    manifold: Manifold
    samples: Samples
    term: RowTerm
    beside: tuple[Beside, ...] = field(default=(), kw_only=True)
    heuristics: Mapping[str, Callable[[], Array]] = field(default_factory=dict, kw_only=True)
    _points: Remembered[SumPoint] = field(default_factory=Remembered, init=False, repr=False)

    @property
    def has_hessian(self) -> bool:  # type: ignore[override]
        return self.term.has_hessian

    def at(self, M: Array) -> Point:
        return self._points.at(M, partial(SumPoint, self))


@dataclass(frozen=True)
class RowSum(InPieces, InParts):
    """A sum over rows that are read at every evaluation."""


@dataclass(frozen=True)
class Part(OfRows, Problem):
    """The sum over some rows in memory, for stochastic solvers."""

    manifold: Manifold
    samples: Samples
    term: RowTerm
    beside: tuple[Beside, ...] = ()

    @property
    def has_hessian(self) -> bool:  # type: ignore[override]
        return self.term.has_hessian

    def at(self, M: Array) -> SumPoint:
        return SumPoint(self, M)


@dataclass(frozen=True)
class Frame:
    """Normalised rows z = (x - centre)/length, and a map to the solver's coordinates.

    - W (d, k): map to the solver's coordinates; None means the identity
    """

    centre: Array
    length: float = 1.0
    W: Array | None = None

    def of(self, rows: Array) -> Array:
        Z = rows - self.centre
        return Z if self.length == 1.0 else Z / self.length

    def lifted(self, M: Array) -> Array:
        """Return WM, the matrix by which normalised rows are multiplied."""
        return M if self.W is None else self.W @ M

    def lowered(self, N: Array) -> Array:
        """Return W'N."""
        return N if self.W is None else self.W.T @ N

    def white(self, rows: Array) -> Array:
        """Return the rows zW."""
        return self.of(rows) if self.W is None else self.of(rows) @ self.W

    @classmethod
    def whitening(cls, samples: Samples, r: int) -> tuple[Samples, Frame, View]:
        """Return rows, the Frame that whitens them, and the View with P = M'C^{-1/2}.

        The rows are the samples, or for n < d their coordinates in the span of the rows.
        """
        from ldr.objectives.families.whitened import Unwhitened, whiten_rows

        compact = Compact.of(samples)
        whitened = whiten_rows(compact.rows, Unwhitened.of(compact, "the covariance"))
        W = whitened.W if whitened.change.T is None else whitened.change.T @ whitened.W
        check_dimension(r, W.shape[1])
        view = compact.view(whitened.mean, whitened.scatter).within(whitened)
        return compact.rows, cls(whitened.mean, W=np.ascontiguousarray(W)), view


@dataclass(frozen=True)
class ProjectedTerm(TermOfPoints):
    """A function phi(Y) of the projected rows Y = ZWM of the normalised rows Z, in blocks.

    - formula: function of rows, a matrix and ``w``, weights of the rows, that returns the
      `ProjectedPoint`
    """

    frame: Frame
    formula: Callable[..., ProjectedPoint]

    def points(self, M: Array, rows: Samples, *beside: Cells) -> Iterator[ProjectedPoint]:
        for where, block in rows.blocks():
            w = None if rows.weights is None else rows.weights[where]
            yield self.formula(self.frame.of(block), M, w=w)

    def first(self, M: Array, rows: Samples, *beside: Cells) -> tuple[Total, Array]:
        value, gradient = super().first(self.frame.lifted(M), rows)
        return value, self.frame.lowered(gradient)

    def second(self, M: Array, V: Array, rows: Samples, *beside: Cells) -> Array:
        return self.frame.lowered(super().second(self.frame.lifted(M), self.frame.lifted(V), rows))


def part_rows(n: int, d: int) -> int:
    """Return the number of rows in a part for stochastic solvers; the last may have fewer."""
    return max(-(-n // _PARTS), _PART_ROWS * d)


def some_rows(samples: Samples, count: int) -> Samples:
    """Return a stratified sample: a random row of each of `count` stretches of rows."""
    return samples.take(spread_rows(samples.n, count))
