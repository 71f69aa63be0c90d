"""`ldr.solve_many`: problems of equal shape, as stacks if the method allows, else one by one."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Iterator, Sequence
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import reduce
from itertools import groupby, islice, repeat
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ldr.errors import in_words
from ldr.inputs import as_objective
from ldr.objectives.data.data import BLOCK_NUMBERS, UnknownError, as_tuple, fold, single
from ldr.objectives.families.matrices import Divided, Solvable, StackedOptima, of_full_rank
from ldr.objectives.families.stacked import StackedData, StackedRows
from ldr.objectives.families.stated import StatedMethod
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need
from ldr.objectives.view import signs
from ldr.solvers.checks import Pickled, whole
from ldr.solvers.checks import workers as check_workers
from ldr.solvers.errors import DataError
from ldr.solvers.manifolds import Array
from ldr.solving import solve
from ldr.types import Argument, Figure, PerRow, PerView, Rows, XandY

Orders = npt.NDArray[np.intp]
Problem: TypeAlias = tuple[tuple[Rows, ...], PerRow]


@dataclass(frozen=True, eq=False)
class Chunk:
    """Problems of equal shape, or a single problem whose data are no arrays in memory."""

    views: tuple[Rows, ...]  # arrays (n, d) or (count, n, d); the last array may be a background
    y: PerRow  # shape (n, ...), or (count, n) if every problem has its own y
    count: int
    own_y: bool = False
    trials: Orders | None = None  # trial of each row, the same in all problems
    alone: bool = False  # True for a single problem instead of a stack of problems

    def problem(self, k: int) -> XandY:
        """Return X and y of problem k, in the form for `ldr.solve`."""
        if self.alone:
            return single(self.views), self.y
        views = tuple(view[k] if view.ndim == 3 else view for view in self.views)
        return single(views), self.y[k] if self.own_y else self.y


def chunks(objective: Objective, X: Rows, y: PerRow) -> Iterator[Chunk]:
    """Yield the problems of a stack or iterable in chunks, each of which is solved together."""
    pair = objective.views > 1 or Need.BACKGROUND in objective.needs
    views = tuple(X) if pair and isinstance(X, (tuple, list)) else (X,)
    if all(map(_is_array, views)) and (len(views) == 1 + pair or objective.traits.any_views):
        return _slices(views, None if y is None else np.asarray(y))
    if not hasattr(X, "__iter__"):
        raise DataError(
            f"X must be a stack (b, n, d) or an iterable of data sets, got {type(X).__name__}"
        )
    shared = y is None or (isinstance(y, np.ndarray) and y.ndim == 1)
    return gathered(_problems(X, y, pair, shared), shared)


def _is_array(view: Rows) -> bool:
    return isinstance(view, np.ndarray) and view.ndim in (2, 3) and view.dtype.kind in "fiub"


def _slices(views: tuple[Array, ...], y: np.ndarray | None) -> Iterator[Chunk]:
    """Yield chunks of stacks."""
    own = [y] if y is not None and y.ndim == 2 else []
    stacked = [*(view for view in views if view.ndim == 3), *own]
    if len(set(map(len, stacked))) != 1:
        shapes = ", ".join(str(one.shape) for one in (*views, y) if one is not None)
        raise DataError(
            f"X and y have shapes {shapes}: expected stacks X (b, n, d) and y (b, n) with the same "
            "number b of data sets"
        )
    count, step = len(stacked[0]), chunk_size(views)
    for first in range(0, count, step):
        part = slice(first, first + step)
        of_part = tuple(view if view.ndim == 2 else view[part] for view in views)
        labels = own[0][part] if own else y
        yield Chunk(of_part, labels, min(step, count - first), bool(own))


def chunk_size(views: Iterable[Array]) -> int:
    """Return the number of problems to solve together."""
    return max(1, BLOCK_NUMBERS // sum(math.prod(view.shape[-2:]) for view in views))


def _problems(X: Iterable[Rows], y: PerRow, pair: bool, shared: bool) -> Iterator[Problem]:
    """Yield the data sets of an iterable, each with its y."""
    labels = repeat(y) if shared else iter(y)
    for k, one in enumerate(X):
        own = next(labels, None)
        if own is None and not shared:
            raise DataError(f"y has {k} entries, fewer than the data sets in X")
        yield tuple(one) if pair else (one,), own


def gathered(problems: Iterable[Problem], shared: bool) -> Iterator[Chunk]:
    """Yield chunks of consecutive problems of equal shape; all problems may share y."""

    def shape(problem: Problem) -> object:
        views, own = problem
        plain = all(_is_array(view) and view.ndim == 2 for view in views)
        return plain and (*(view.shape for view in views), np.shape(own))

    for plain, group in groupby(problems, shape):
        alike = iter(group)
        for views, own in alike:
            if not plain:
                yield Chunk(views, own, 1, alone=True)
                continue
            both = [(views, own), *islice(alike, chunk_size(views) - 1)]
            stacks = tuple(np.stack(parts) for parts in zip(*(v for v, _ in both), strict=True))
            of_all = own if shared else np.stack([np.asarray(of_one) for _, of_one in both])
            yield Chunk(stacks, of_all, len(both), own_y=not shared)


@dataclass(frozen=True, eq=False)
class Solutions(Pickled):
    """The solutions of many problems.

    Attributes
    ----------
    objective : Objective
    r : int
    values : ndarray (b,)
        Optimal value of the objective for each problem.
    P : ndarray (b, r, d)
        Linear maps; a pair of arrays for two views.
    mean : ndarray (b, d)
        Means that are subtracted before the map; a pair for two views.
    numbers : ndarray (b, r) or None
        Statistic of each component, best first: eigenvalues, or singular values of two views; None
        if the objective has none.
    gaps : ndarray (b,)
        Bounds of the distances of `values` from the optima, without rounding; infinite if unknown.
    alone : int
        Number of problems solved one by one, because the method cannot solve several together, or
        to limit rounding errors if columns are nearly collinear.
    """

    objective: Objective
    r: int
    values: Array
    P: PerView
    mean: PerView
    numbers: Array | None
    gaps: Array
    alone: int

    @classmethod
    def joined(cls, parts: Sequence[Solutions]) -> Solutions:
        """Join the solutions of all chunks, in order."""

        def together(name: str) -> PerView:
            each = [getattr(part, name) for part in parts]
            if any(one is None for one in each):
                return None
            return single(tuple(map(np.concatenate, zip(*map(as_tuple, each), strict=True))))

        arrays = {name: together(name) for name in ("values", "P", "mean", "numbers", "gaps")}
        return cls(
            parts[0].objective, parts[0].r, alone=sum(part.alone for part in parts), **arrays
        )

    def first(self, count: int) -> Solutions:
        """Return the values and scores of the first problems."""
        numbers = None if self.numbers is None else self.numbers[:count]
        return replace(self, values=self.values[:count], numbers=numbers)

    @property
    def sizes(self) -> Array | None:
        """The attribute `numbers`; absolute values if the objective ranks components by those."""
        numbers, objective = self.numbers, self.objective
        by_size = isinstance(objective, StatedMethod) and objective.by_size
        return np.abs(numbers) if by_size and numbers is not None else numbers

    def __len__(self) -> int:
        return len(self.values)

    def plot(self, at: npt.ArrayLike | None = None) -> Figure:
        """Plot the values of the problems at their positions; see `ldr.plots.solutions`."""
        from ldr.plots import solutions

        return solutions(self, at)

    def __repr__(self) -> str:
        low, middle, high = np.quantile(self.values, (0.0, 0.5, 1.0))
        return (
            f"{self.objective!r}, r = {self.r}: {len(self)} problems, {self.alone} of them one by "
            f"one\n  value  {middle:.6g} (median), {low:.6g} to {high:.6g}"
        )


def optima(
    objective: Objective,
    problems: Iterable[Chunk],
    r: int,
    *,
    workers: int = -1,
    with_maps: bool = True,
    **options: Argument,
) -> Solutions:
    """Solve all problems in order, in chunks and threads, lazily.

    Problems that are solved one by one use the options of `ldr.solve`.
    """
    whole("r", r, 1)
    threads = check_workers(workers)
    context = copy_context()  # the context passes the time limit and Ctrl-C to threads

    def of_chunk(chunk: Chunk) -> list[Solutions]:
        return [context.copy().run(_of_chunk, objective, chunk, r, with_maps, options)]

    return Solutions.joined(fold(of_chunk, operator.iadd, zip(problems), threads))


def _of_chunk(
    objective: Objective, chunk: Chunk, r: int, with_maps: bool, options: dict[str, Argument]
) -> Solutions:
    """Solve the problems of a chunk as a stack, or one by one with `ldr.solve`."""

    def alone(k: int) -> Solutions:
        X, y = chunk.problem(k)
        result = solve(objective, X, r, y=y, groups=chunk.trials, **options)
        own = next(iter(result.directions.own.values()), None)
        numbers = None if own is None else own[None]
        gaps = np.array([math.inf if result.certificate is None else result.certificate.gap])
        P = mean = None
        if with_maps:
            both = (result.P, result.mean)
            P, mean = (single([one[None] for one in as_tuple(each)]) for each in both)
        return Solutions(objective, r, np.array([result.value]), P, mean, numbers, gaps, 1)

    try:
        if not objective.traits.stacks:
            raise UnknownError
        rows, matrices = solvable(objective, chunk, r)
    except UnknownError:
        return Solutions.joined([alone(k) for k in range(chunk.count)])
    certified = options.get("certify", True)
    found = matrices.solve(r, certified)
    gaps = (
        np.full(chunk.count, 0.0 if certified else math.inf) if found.gaps is None else found.gaps
    )
    maps = means = None
    if with_maps:
        if matrices.shares is not None:
            rows = tuple(view.about(matrices.shares) for view in rows)
        maps = single(_placed(objective, found, rows))
        means = single(tuple(np.broadcast_to(v.mean, (chunk.count, v.mean.shape[1])) for v in rows))
    sound = found.sound
    if isinstance(matrices, Divided) and matrices.ridge > 0:  # its unit depends on B's rank
        sound = reduce(np.logical_and, map(of_full_rank, matrices.divisors), sound)
    lost = np.flatnonzero(~sound)
    for k in map(int, lost):
        one = alone(k)
        pairs = ((found.values, one.values), (gaps, one.gaps), (found.numbers, one.numbers))
        for array, of_one in (*pairs, *zip(as_tuple(maps), as_tuple(one.P), strict=True)):
            if array is not None and of_one is not None:
                array[k] = of_one[0]
    return Solutions(objective, r, found.values, maps, means, found.numbers, gaps, len(lost))


def _placed(
    objective: Objective, found: StackedOptima, rows: tuple[StackedRows, ...]
) -> tuple[Array, ...]:
    """Return the maps in canonical coordinates, as `ldr.solve` does."""
    maps = found.maps
    if found.numbers is None and not getattr(objective, "nested", False):
        (P,) = maps  # of all bases of a subspace, the principal axes are unique
        Q = np.linalg.eigh(P @ rows[0].scatter() @ P.transpose(0, 2, 1))[1][:, :, ::-1]
        maps = (Q.transpose(0, 2, 1) @ P,)
    flips = signs(maps[0])[:, :, None]
    return tuple(flips * P for P in maps)


def solvable(
    objective: Objective, chunk: Chunk, r: int
) -> tuple[tuple[StackedRows, ...], Solvable]:
    """Return the centred rows of a chunk, and the matrices of the method's eigenproblem.

    - raises UnknownError: eigenvectors do not solve the problem of these data, or the data are not
      finite, for which `ldr.solve` raises an error.
    """
    views, y = chunk.views, chunk.y
    if Need.BACKGROUND in objective.needs or chunk.alone:
        raise UnknownError
    if any(view.shape[-2] <= view.shape[-1] or r > view.shape[-1] for view in views):
        raise UnknownError
    y = y if y is None or chunk.own_y else np.asarray(y)[None]
    if not all(np.isfinite(view).all() for view in views) or (y is not None and y.ndim > 2):
        raise UnknownError
    rows = tuple(StackedRows.of(np.asarray(v, dtype=np.float64), chunk.trials) for v in views)
    found = objective.matrices(StackedData(rows, y))
    if not isinstance(found, Solvable):
        raise UnknownError
    return rows, found


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
    """Solve an objective for many data sets: windows of a series, groups, folds, resamples.

    For these methods all data sets are solved together, in stacked arrays: pca, lda,
    orthogonal-lda, cca, pls, maf, orthogonal-maf, sfa, orthogonal-sfa, tica, csp of two classes,
    spoc, sir and phd. The optimal values equal those of `ldr.solve` for each data set alone. For
    all other methods, and with fewer rows than columns, data sets are solved one by one.

    Parameters
    ----------
    objective : str or Objective
    X : array (b, n, d), or iterable of data for `ldr.solve`
        The data sets. For two views a pair of arrays (b, n, d) and (b, n, e); a view (n, d) is
        shared by all data sets. Data sets of an iterable may differ in shape. An array (n, d) is
        shared by all problems if y is (b, n).
    r : int
    y : array (b, n) or (n,), or iterable of arrays (n,), optional
        Labels or responses; y of shape (n,) is shared by all problems.
    workers : int
        Number of threads, each with a chunk of problems; -1 means one for every core.
    certify : bool
        True to bound the difference between each value and the global optimum (`Solutions.gaps`).
        If False, all gaps are infinite.
    **parameters
        Parameters of the objective, if `objective` is a name.

    Returns
    -------
    Solutions

    Raises
    ------
    ldr.errors.DataError, ldr.errors.ArgumentError
        As in `ldr.solve`, or the shapes of the data sets do not match.

    Examples
    --------
    An example finds slow features in windows of 100 rows:

    >>> import numpy as np, ldr
    >>> X = np.cumsum(np.random.default_rng(0).standard_normal((400, 3)), axis=0)
    >>> windows = np.lib.stride_tricks.sliding_window_view(X, 100, axis=0).transpose(0, 2, 1)
    >>> ldr.solve_many("orthogonal-maf", windows, 1).values.shape
    (301,)
    """
    objective = as_objective(objective, parameters)
    return optima(objective, chunks(objective, X, y), r, workers=workers, certify=certify)
