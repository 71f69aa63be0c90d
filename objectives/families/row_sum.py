"""Objectives that need the rows at every step, evaluated piece by piece where the rows are.

f(M) = sum over pieces of phi(M; piece). Value and gradient come together from one pass over the
rows, each Hessian product from another; only numbers of M's shape come back from a piece. A term
centres and whitens its rows itself, a block at a time, so that there is no copy of the data.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from operator import add
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar

import numpy as np

from ldr.objectives.data.array_types import Cells
from ldr.objectives.data.samples import Beside, Samples
from ldr.objectives.families.projected import ProjectedPoint, Started
from ldr.objectives.problem import check_dimension
from ldr.objectives.statistics.sums import spread_rows
from ldr.objectives.view import Compact, View
from ldr.solvers.manifolds import Array, Manifold
from ldr.solvers.problem import Point, Problem

# Rows of a sample on which heuristics that are no sums are found.
SAMPLE_ROWS = 20_000

# Rows are cut into this many parts for stochastic solvers, with at least this many rows a column.
_PARTS = 32
_PART_ROWS = 10


# Points that are kept: more than a line search tries, mostly.
_REMEMBERED = 10

Kept = TypeVar("Kept", bound=Point)

# What rows add up to: a number, or several in an array.
Total: TypeAlias = Any


class RowTerm(ABC):
    """What some rows add to a sum. Immutable, and fit to be pickled.

    - has_hessian: whether there is `second`
    """

    has_hessian: bool = True

    @abstractmethod
    def first(self, M: Array, rows: Samples, *beside: Any) -> tuple[Total, Array]:
        """Value and gradient at M; the value may be an array of several sums."""

    @abstractmethod
    def second(self, M: Array, V: Array, rows: Samples, *beside: Cells) -> Array:
        """The Hessian product with V."""


class TermOfPoints(RowTerm):
    """The sum of the points of problems of some rows each."""

    @abstractmethod
    def points(self, M: Array, rows: Samples, *beside: Cells) -> Iterator[Point]:
        """Those of all rows of a piece."""

    def first(self, M: Array, rows: Samples, *beside: Cells) -> tuple[float, Array]:
        value, gradient = 0.0, np.zeros_like(M)
        for point in self.points(M, rows, *beside):
            value += point.value
            if math.isinf(value):  # a wall: there is no gradient
                return value, gradient
            gradient += point.gradient
        return value, gradient

    def second(self, M: Array, V: Array, rows: Samples, *beside: Cells) -> Array:
        product = np.zeros_like(M)
        for point in self.points(M, rows, *beside):
            product += point.hessian_vector(V)
        return product


def added(earlier: tuple[Total, Array], later: tuple[Total, Array]) -> tuple[Total, Array]:
    """The sums of pairs."""
    return earlier[0] + later[0], earlier[1] + later[1]


class Summed(Protocol):
    """A problem of sums over rows."""

    @property
    def samples(self) -> Samples: ...

    @property
    def term(self) -> RowTerm: ...

    @property
    def beside(self) -> tuple[Beside, ...]: ...


class SumPoint(Point):
    """A sum over rows at M: value and gradient by one pass, which neither repeats."""

    def __init__(self, problem: Summed, M: Array) -> None:
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
    """The first point, the heuristic's in a solve, and the last few: asked again they take no pass.

    What is told of a result at its end is thus known when the run ends.
    """

    def __init__(self, last: int = _REMEMBERED) -> None:
        self._first: Kept | None = None
        self._last: deque[Kept] = deque(maxlen=last)

    def at(self, M: Array, make: Callable[[Array], Kept]) -> Kept:
        """The point at M: one that was made before, or a new one."""
        for point in tuple(self._last):  # threads that solve from other starts add to it
            if np.array_equal(point.M, M):
                return point
        if self._first is not None and np.array_equal(self._first.M, M):
            return self._first
        point = make(M)
        self._first = self._first or point
        self._last.append(point)
        return point


class InParts:
    """Makes of a sum over rows a `Sum` of parts, for stochastic solvers."""

    if TYPE_CHECKING:

        @property
        def manifold(self) -> Manifold: ...

    samples: Samples
    term: RowTerm
    beside: tuple[Beside, ...]

    @property
    def parts(self) -> int:
        """How many parts the rows are cut into."""
        return -(-self.samples.n // part_rows(*self.samples.shape))

    def each_part(self, order: np.random.Generator) -> Iterator[Part]:
        """What the rows of each part add to f; they are read here, once."""
        rows = part_rows(*self.samples.shape)
        for piece, *beside in self.samples.in_turn(rows, order, *self.beside):
            yield Part(self.manifold, piece, self.term, tuple(beside))


@dataclass(frozen=True)
class InPieces(Started):
    """An objective of sums over rows that are read at every evaluation.

    - beside: what stands beside the rows: labels, a response
    - heuristics: each gives a point to start from and is called once; the first is the baseline
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
class Part(Problem):
    """What some rows in memory add to a sum."""

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
    """Rows seen from a centre and in a unit of length: z = (x - centre)/length."""

    centre: Array
    length: float = 1.0

    def of(self, rows: Array) -> Array:
        Z = rows - self.centre
        return Z if self.length == 1.0 else Z / self.length

    def blocks(self, piece: Samples) -> Iterator[tuple[Array, Array | None]]:
        """Block by block, with the weights of the rows."""
        w = piece.weights
        for where, block in piece.blocks():
            yield self.of(block), None if w is None else w[where]

    def moved(self, z: Array) -> Frame:
        """With its centre at z of this frame."""
        return Frame(self.centre + self.length * z, self.length)


@dataclass(frozen=True)
class ProjectedTerm(RowTerm):
    """phi(Y) of the projected rows Y = ZWM, Z the rows in a frame, a block at a time.

    - W (d, k): to the coordinates of the solver, the identity where None; the rows are multiplied
      by WM, never by W
    - formula: of rows, a matrix and ``w``, weights of the rows: the `ProjectedPoint`, as in memory
    """

    frame: Frame
    W: Array | None
    formula: Callable[..., ProjectedPoint]

    def _points(self, M: Array, rows: Samples) -> Iterator[ProjectedPoint]:
        N = self._to_columns(M)
        return (self.formula(Z, N, w=w) for Z, w in self.frame.blocks(rows))

    def first(self, M: Array, rows: Samples, *beside: Cells) -> tuple[Total, Array]:
        value: Total = 0.0
        gradient = np.zeros((rows.d, M.shape[1]))
        for point in self._points(M, rows):
            value = value + point.value
            gradient += point.gradient
        return value, self._from_columns(gradient)

    def second(self, M: Array, V: Array, rows: Samples, *beside: Cells) -> Array:
        dN = self._to_columns(V)
        product = np.zeros_like(dN)
        for point in self._points(M, rows):
            product += point.hessian_vector(dN)
        return self._from_columns(product)

    def _to_columns(self, M: Array) -> Array:
        return M if self.W is None else self.W @ M

    def _from_columns(self, N: Array) -> Array:
        return N if self.W is None else self.W.T @ N


def part_rows(n: int, d: int) -> int:
    """Of n rows of d columns, those of a part for stochastic solvers; the last may have fewer."""
    return max(-(-n // _PARTS), _PART_ROWS * d)


@dataclass(frozen=True)
class WhitenedColumns:
    """Whitening from the sums of a pass over the rows: (X - mean) W has the covariance I.

    - W (d, k)
    - view: P = M'C^{-1/2}
    """

    W: Array
    view: View

    @property
    def frame(self) -> Frame:
        return Frame(self.view.mean)

    def blocks(self, piece: Samples) -> Iterator[tuple[Array, Array | None]]:
        """The white rows, block by block, with their weights."""
        return ((Z @ self.W, w) for Z, w in self.frame.blocks(piece))

    def sample(self, samples: Samples) -> tuple[Array, Array | None]:
        """White rows of a sample in memory, and their weights."""
        some = some_rows(samples, SAMPLE_ROWS)
        return np.vstack([X for X, _ in self.blocks(some)]), some.weights

    def term(self, formula: Callable[..., ProjectedPoint]) -> ProjectedTerm:
        """What a formula of white rows adds up to."""
        return ProjectedTerm(self.frame, self.W, formula)

    @classmethod
    def of(cls, samples: Samples, r: int) -> WhitenedColumns:
        from ldr.objectives.families.whitened import Unwhitened, whiten_rows

        columns = Compact.of_columns(samples)
        whitened = whiten_rows(samples, Unwhitened.of(columns, "the covariance"))
        W = whitened.W if whitened.change.T is None else whitened.change.T @ whitened.W
        check_dimension(r, W.shape[1])
        return cls(
            np.ascontiguousarray(W), columns.view(whitened.mean, whitened.scatter).within(whitened)
        )


def some_rows(samples: Samples, count: int) -> Samples:
    """A sample of `count` rows in memory, one at random of each of as many stretches."""
    return samples.take(spread_rows(samples.n, count))
