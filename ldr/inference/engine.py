"""The optima of many problems: stacks where the method has them, one by one where not."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Callable, Iterable
from contextvars import copy_context

import numpy as np

from ldr.inference.chunks import Chunk, Single
from ldr.objectives.coordinates import signs
from ldr.objectives.data.data import UnknownError, as_tuple
from ldr.objectives.data.map_reduce import fold
from ldr.objectives.families.matrices import Solvable, StackedOptima
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need
from ldr.objectives.statistics.stacked import StackedData, StackedRows
from ldr.solvers.checks import whole
from ldr.solvers.checks import workers as check_workers
from ldr.solvers.manifolds import Array
from ldr.solvers.records import dataclass, replace
from ldr.solving import solve
from ldr.types import Argument

Stacks = tuple[Array, ...]


@dataclass(frozen=True, eq=False)
class Optima:
    """What was found of b problems, one array a view where there are views.

    Attributes
    ----------
    values : ndarray (b,)
    maps : tuple of ndarray (b, r, d)
    means : tuple of ndarray (b, d)
    numbers : ndarray (b, r) or None
    gaps : ndarray (b,)
    alone : int
        How many were solved one by one.
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

    Parameters
    ----------
    objective : Objective
    problems : iterable of Chunk or Single
        Made when they are needed, so that memory is bounded.
    r, workers : int
    with_maps : bool
        Whether maps and means are kept.
    **options
        Of `ldr.solve`, for what is solved one by one.
    """
    whole("r", r, 1)
    check_workers(workers)
    context = copy_context()  # the time limit and Ctrl-C

    def of_chunk(chunk: Chunk | Single) -> list[Optima]:
        found = context.copy().run(_of_chunk, objective, chunk, r, with_maps, options)
        return [found if with_maps else found.without_maps()]

    def pieces() -> Iterable[Callable[[], tuple[Chunk | Single]]]:
        for chunk in problems:
            yield lambda chunk=chunk: (chunk,)  # type: ignore[misc]

    count = (os.cpu_count() or 1) if workers < 0 else workers
    return Optima.joined(fold(of_chunk, operator.iadd, pieces(), count))


def _of_chunk(
    objective: Objective,
    chunk: Chunk | Single,
    r: int,
    with_maps: bool,
    options: dict[str, Argument],
) -> Optima:
    try:
        rows = _rows(objective, chunk, r)
        matrices = _matrices(objective, rows, chunk)
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


def _matrices(
    objective: Objective, rows: tuple[StackedRows, ...], chunk: Chunk | Single
) -> Solvable:
    assert isinstance(chunk, Chunk)
    y = chunk.y if chunk.y is None or chunk.own_y else chunk.y[None]
    if not objective.stacks or (y is not None and y.ndim > 2):
        raise UnknownError
    found = objective.matrices(StackedData(rows, y))
    assert isinstance(found, Solvable)
    return found


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
