"""`ldr.solve_many`: problems of one shape, in stacks where the method can, else one by one."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Iterable, Iterator
from contextvars import copy_context
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from ldr.inputs import as_objective
from ldr.objectives.coordinates import signs
from ldr.objectives.data.data import UnknownError, as_tuple, single
from ldr.objectives.data.samples import fold
from ldr.objectives.families.matrices import Solvable, StackedOptima
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need
from ldr.objectives.statistics.covariance import StackedData, StackedRows
from ldr.solvers.checks import Pickled, whole
from ldr.solvers.checks import workers as check_workers
from ldr.solvers.errors import DataError
from ldr.solvers.manifolds import Array
from ldr.solving import solve
from ldr.types import Argument, PerRow, PerView, Rows, XandY
from ldr.validation import in_words

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Orders = npt.NDArray[np.intp]
Problem: TypeAlias = tuple[tuple[Rows, ...], PerRow]

# Numbers in the rows of a chunk, and the most problems in one: temporary arrays stay in the cache.
_CHUNK_NUMBERS = 2**18
_CHUNK_MOST = 2048


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some problems of one shape.

    - views (n, d): the last may be a background
    - y (n, ...)
    - own_y: whether every problem has a y of its own
    - trials (n,): of the rows of all problems, for methods of time order
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

    - raises DataError: One data set, or stacks and labels of different numbers of problems.
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


Stacks = tuple[Array, ...]


@dataclass(frozen=True, eq=False)
class Optima:
    """What was found of b problems, one array a view where there are views.

    - values (b,), maps (b, r, d), means (b, d), numbers (b, r), gaps (b,)
    - alone: how many were solved one by one
    """

    values: Array
    maps: Stacks
    means: Stacks
    numbers: Array | None
    gaps: Array
    alone: int

    @classmethod
    def joined(cls, parts: list[Optima]) -> Optima:
        """Of all chunks, in order."""
        numbers = [part.numbers for part in parts if part.numbers is not None]
        return cls(
            np.concatenate([part.values for part in parts]),
            tuple(map(np.concatenate, zip(*(part.maps for part in parts), strict=True))),
            tuple(map(np.concatenate, zip(*(part.means for part in parts), strict=True))),
            np.concatenate(numbers) if len(numbers) == len(parts) else None,
            np.concatenate([part.gaps for part in parts]),
            sum(part.alone for part in parts),
        )

    def arrays(self) -> list[Array]:
        """All that has an entry for each problem, but the means, which are no one's solution."""
        numbers = [] if self.numbers is None else [self.numbers]
        return [self.values, *self.maps, self.gaps, *numbers]

    def sizes(self, objective: Objective) -> Array | None:
        """The numbers as they count."""
        numbers = self.numbers
        return np.abs(numbers) if objective.by_size and numbers is not None else numbers

    def without_maps(self) -> Optima:
        """The values alone: what permutations are asked for, however many there are."""
        return Optima(self.values, (), (), self.numbers, self.gaps, self.alone)


def optima(
    objective: Objective,
    problems: Iterable[Chunk | Single],
    r: int,
    *,
    workers: int = -1,
    with_maps: bool = True,
    **options: Argument,
) -> Optima:
    """The optima of all problems, in order, chunks of them in threads.

    - problems: made when they are needed, so that memory is bounded
    - with_maps: whether maps and means are kept
    - **options: of `ldr.solve`, for what is solved one by one
    """
    whole("r", r, 1)
    check_workers(workers)
    context = copy_context()  # the time limit and Ctrl-C

    def of_chunk(chunk: Chunk | Single) -> list[Optima]:
        found = context.copy().run(_of_chunk, objective, chunk, r, with_maps, options)
        return [found if with_maps else found.without_maps()]

    count = (os.cpu_count() or 1) if workers < 0 else workers
    return Optima.joined(fold(of_chunk, operator.iadd, zip(problems), count))


def _of_chunk(
    objective: Objective,
    chunk: Chunk | Single,
    r: int,
    with_maps: bool,
    options: dict[str, Argument],
) -> Optima:
    try:
        if not objective.stacks:
            raise UnknownError
        rows, matrices = solvable(objective, chunk, r)
    except UnknownError:
        return Optima.joined([_alone(objective, chunk, k, r, options) for k in range(chunk.count)])
    found = matrices.solve(r, options.get("certify", True))
    if matrices.shares is not None:
        rows = tuple(view.about(matrices.shares) for view in rows)
    means = tuple(np.broadcast_to(view.mean, (chunk.count, view.mean.shape[1])) for view in rows)
    gaps = np.zeros(chunk.count) if found.gaps is None else found.gaps
    lost = np.flatnonzero(~found.sound)
    maps = _placed(objective, found, rows) if with_maps else found.maps
    optima = Optima(found.values, maps, means, found.numbers, gaps, len(lost))
    for k in map(int, lost):
        one = _alone(objective, chunk, k, r, options)
        if optima.numbers is None:
            one = replace(one, numbers=None)
        for array, of_one in zip(optima.arrays(), one.arrays(), strict=True):
            array[k] = of_one[0]
    return optima


def _placed(objective: Objective, found: StackedOptima, rows: tuple[StackedRows, ...]) -> Stacks:
    """The maps in canonical coordinates, as `ldr.solve` gives them."""
    maps = found.maps
    if found.numbers is None and not getattr(objective, "nested", False):
        (P,) = maps  # a subspace, whose axes are those of its variances
        Q = np.linalg.eigh(P @ rows[0].scatter() @ P.transpose(0, 2, 1))[1][:, :, ::-1]
        maps = (Q.transpose(0, 2, 1) @ P,)
    flips = signs(maps[0])[:, :, None]
    return tuple(flips * P for P in maps)


def _rows(objective: Objective, chunk: Chunk | Single, r: int) -> tuple[StackedRows, ...]:
    """The centred rows; unknown where the problems need what `ldr.solve` alone does.

    It refuses what is not finite in words, and knows fewer rows than columns.
    """
    if not isinstance(chunk, Chunk) or Need.BACKGROUND in objective.needs:
        raise UnknownError
    if any(view.shape[-2] <= view.shape[-1] or r > view.shape[-1] for view in chunk.views):
        raise UnknownError
    if not all(np.isfinite(view).all() for view in chunk.views):
        raise UnknownError
    rows = (np.asarray(view, dtype=np.float64) for view in chunk.views)
    return tuple(StackedRows.of(view, chunk.trials) for view in rows)


def solvable(
    objective: Objective, chunk: Chunk | Single, r: int
) -> tuple[tuple[StackedRows, ...], Solvable]:
    """The centred rows of a chunk, and the method's matrices; an `UnknownError` of a method
    without an eigen-solution of such.
    """
    rows = _rows(objective, chunk, r)
    assert isinstance(chunk, Chunk)
    y = chunk.y if chunk.y is None or chunk.own_y else chunk.y[None]
    if y is not None and y.ndim > 2:
        raise UnknownError
    found = objective.matrices(StackedData(rows, y))
    if not isinstance(found, Solvable):
        raise UnknownError
    return rows, found


def _alone(
    objective: Objective, chunk: Chunk | Single, k: int, r: int, options: dict[str, Argument]
) -> Optima:
    """One problem, by `ldr.solve`."""
    X, y = chunk.problem(k)
    result = solve(objective, X, r, y=y, groups=chunk.trials, **options)
    own = next(iter(result.directions.own.values()), None)
    gap = math.inf if result.certificate is None else result.certificate.gap
    return Optima(
        np.array([result.value]),
        tuple(P[None] for P in as_tuple(result.P)),
        tuple(mean[None] for mean in as_tuple(result.mean)),
        None if own is None else own[None],
        np.array([gap]),
        1,
    )


@dataclass(frozen=True, eq=False)
class Solutions(Pickled):
    """The optima of many problems.

    Attributes
    ----------
    objective : Objective
    r : int
    values : ndarray (b,)
        In the objective's own sense and units.
    P : ndarray (b, r, d)
        The linear maps; a pair of arrays for two views.
    mean : ndarray (b, d)
        Subtracted before the map; a pair for two views.
    numbers : ndarray (b, r) or None
        Of each direction, best first: eigenvalues, or singular values of two views; None where the
        objective has none.
    gaps : ndarray (b,)
        Of each certificate: by how much a better value could be better, but for rounding; infinite
        where nothing was proved.
    alone : int
        How many were solved one by one: the objective has no stacked form, or the columns of these
        problems are so nearly dependent that digits would be lost.
    """

    objective: Objective
    r: int
    values: Array
    P: PerView
    mean: PerView
    numbers: Array | None
    gaps: Array
    alone: int

    def __len__(self) -> int:
        return len(self.values)

    def plot(self, at: npt.ArrayLike | None = None) -> Figure:
        """The values along the problems, at their places; see `ldr.plots.solutions`."""
        from ldr.plots import solutions

        return solutions(self, at)

    def __repr__(self) -> str:
        low, middle, high = np.quantile(self.values, (0.0, 0.5, 1.0))
        return (
            f"{self.objective!r}, r = {self.r}: {len(self)} problems, {self.alone} of them one by "
            f"one\n  value  {middle:.6g} (median), {low:.6g} to {high:.6g}"
        )


@in_words
def solve_many(
    objective: str | Objective,
    X: Rows,
    r: int,
    *,
    y: PerRow = None,
    workers: int = -1,
    certify: bool = True,
    **parameters: object,
) -> Solutions:
    """Solve an objective for many data sets: windows of a series, groups, folds, resampled rows.

    Methods with an eigen-solution (pca, lda, maf, sfa, tica, sir, phd, pls, csp of two classes,
    spoc, their classical forms and classical-cca) are solved as stacks of matrices: no more than
    the sums over the rows, stacked eigenproblems, and Newton's method on all ratios at once. The
    values are those of `ldr.solve`. What has no stacked form, or fewer rows than columns, is solved
    one by one.

    Parameters
    ----------
    objective : str or Objective
    X : array (b, n, d), or iterable of what `ldr.solve` takes
        The data sets. For two views a pair of arrays (b, n, d) and (b, n, e), either of which may
        be (n, d): shared by all. Data sets of an iterable may differ in shape. An array (n, d)
        stands for all where y has several rows.
    r : int
    y : array (b, n) or (n,), or iterable of arrays (n,), optional
        Labels or responses; (n,) is shared by all.
    workers : int
        Chunks of problems at a time, in threads; -1 is one for every core.
    certify : bool
        Whether to certify what is solved one by one; of stacks the gaps cost nothing.
    **parameters
        Of the objective, where it is given by name.

    Returns
    -------
    Solutions

    Raises
    ------
    ldr.errors.DataError, ldr.errors.ArgumentError
        As `ldr.solve` raises, or shapes that do not fit one another.

    Examples
    --------
    Slow features in windows of 100 rows:

    >>> import numpy as np, ldr
    >>> X = np.cumsum(np.random.default_rng(0).standard_normal((400, 3)), axis=0)
    >>> windows = np.lib.stride_tricks.sliding_window_view(X, 100, axis=0).transpose(0, 2, 1)
    >>> ldr.solve_many("maf", windows, 1).values.shape
    (301,)
    """
    objective = as_objective(objective, parameters)
    found = optima(objective, chunks(objective, X, y), r, workers=workers, certify=certify)
    P, mean = map(single, (found.maps, found.means))
    return Solutions(objective, r, found.values, P, mean, found.numbers, found.gaps, found.alone)
