"""Many data sets in chunks of one shape."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ldr.objectives.data.data import single
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need
from ldr.solvers.errors import DataError
from ldr.solvers.manifolds import Array
from ldr.solvers.records import dataclass
from ldr.types import PerRow, Rows, XandY

Orders = npt.NDArray[np.intp]
Problem: TypeAlias = tuple[tuple[Rows, ...], PerRow]

# Numbers in the rows of a chunk, and the most problems in one: temporary arrays stay in the cache.
_CHUNK_NUMBERS = 2**18
_CHUNK_MOST = 2048


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some problems of one shape.

    Attributes
    ----------
    views : tuple of ndarray, (n, d) shared by all or (b, n, d)
        The last may be a background.
    y : ndarray (n, ...), (b, n, ...) or None
    count : int
    own_y : bool
        Whether every problem has a y of its own.
    trials : ndarray of int (n,) or None
        Of the rows of all problems, for methods of time order.
    """

    views: tuple[Array, ...]
    y: np.ndarray | None
    count: int
    own_y: bool = False
    trials: Orders | None = None

    def problem(self, k: int) -> XandY:
        """X and y of one problem, as `ldr.solve` takes them."""
        views = tuple(view if view.ndim == 2 else view[k] for view in self.views)
        y = self.y[k] if self.y is not None and self.own_y else self.y
        return single(views), y


@dataclass(frozen=True, eq=False)
class Single:
    """A problem of data that are no arrays of numbers in memory: sparse, tables, files."""

    X: Rows
    y: PerRow
    count: int = 1
    trials: None = None

    def problem(self, k: int) -> XandY:
        return self.X, self.y


def chunks(objective: Objective, X: Rows, y: PerRow) -> Iterator[Chunk | Single]:
    """The problems of a stack, or of an iterable, in chunks that are solved together.

    Raises
    ------
    DataError
        One data set, or stacks and labels of different numbers of problems.
    """
    views = X if isinstance(X, (tuple, list)) and takes_pairs(objective) else (X,)
    expected = len(views) == 1 + takes_pairs(objective) or objective.any_views
    if expected and all(_is_array(view) for view in views):
        labels = None if y is None else np.asarray(y)
        return _slices(objective, tuple(views), labels)
    if not hasattr(X, "__iter__"):
        raise DataError(
            f"X must be a stack (b, n, d) or an iterable of data sets, got {type(X).__name__}"
        )
    return _gathered(objective, X, y)


def takes_pairs(objective: Objective) -> bool:
    """Whether X is a pair: of two views, or of samples and a background."""
    return objective.views > 1 or Need.BACKGROUND in objective.needs


def _is_array(view: Rows) -> bool:
    return isinstance(view, np.ndarray) and view.ndim in (2, 3) and view.dtype.kind in "fiub"


def _slices(objective: Objective, views: tuple[Array, ...], y: PerRow) -> Iterator[Chunk]:
    counts = {len(view) for view in views if view.ndim == 3}
    if y is not None and y.ndim == 2:
        counts.add(len(y))
    if len(counts) != 1:
        shapes = ", ".join(str(view.shape) for view in (*views, *([] if y is None else [y])))
        raise DataError(
            f"X and y have shapes {shapes}: expected stacks (b, n, d), or y (b, n), of the same "
            "number b of problems"
        )
    count, step = counts.pop(), chunk_size(views)
    own_y = y is not None and y.ndim == 2
    for first in range(0, count, step):
        where = slice(first, min(first + step, count))
        yield Chunk(
            tuple(view if view.ndim == 2 else view[where] for view in views),
            y[where] if own_y else y,
            where.stop - where.start,
            own_y,
        )


def chunk_size(views: tuple[Array, ...]) -> int:
    """How many problems to solve together."""
    numbers = sum(view.shape[-2] * view.shape[-1] for view in views)
    return max(1, min(_CHUNK_MOST, _CHUNK_NUMBERS // numbers))


def _gathered(objective: Objective, X: Rows, y: PerRow) -> Iterator[Chunk | Single]:
    """Of an iterable: neighbours of one shape together, up to what a chunk holds."""
    shared = y is None or (isinstance(y, np.ndarray) and y.ndim == 1)
    labels = None if shared else iter(y)
    pair = takes_pairs(objective)

    def paired() -> Iterator[Problem]:
        for k, one in enumerate(X):
            of_one = y if labels is None else next(labels, None)
            if labels is not None and of_one is None:
                raise DataError(f"y has {k} entries, fewer than the data sets in X")
            yield tuple(one) if pair else (one,), of_one

    def shape(problem: Problem) -> object:
        views, of_one = problem
        plain = all(_is_array(view) and view.ndim == 2 for view in views)
        return plain and (*(view.shape for view in views), np.shape(of_one))

    for plain, group in groupby(paired(), shape):
        waiting: list[Problem] = []
        for views, of_one in group:
            if not plain:
                yield Single(views if pair else views[0], of_one)
                continue
            waiting.append((views, of_one))
            if len(waiting) >= chunk_size(views):
                yield _stacked(waiting, shared)
                waiting = []
        if waiting:
            yield _stacked(waiting, shared)


def _stacked(problems: list[Problem], shared: bool) -> Chunk:
    views = tuple(np.stack(parts) for parts in zip(*(views for views, _ in problems), strict=True))
    y = problems[0][1]
    if not shared:
        y = np.stack([np.asarray(of_one) for _, of_one in problems])
    return Chunk(views, y, len(problems), own_y=not shared)
