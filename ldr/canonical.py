"""The canonical coordinates of what a solve found; see `ldr.objectives.coordinates`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ldr.components import Directions
from ldr.objectives.coordinates import Axes, signs
from ldr.objectives.problem import BoundObjective
from ldr.objectives.statistics.covariance import Variation
from ldr.solvers.limits import check, unlimited
from ldr.solvers.manifolds import Array, Orthonormal
from ldr.solvers.records import dataclass, replace
from ldr.solvers.run import Run


@dataclass(frozen=True)
class Heuristic:
    """The heuristic's point, and the minimised value there."""

    M: Array
    value: float

    @classmethod
    def of(cls, problem: BoundObjective, M: Array | None, run: Run | None) -> Heuristic | None:
        """Once begun it is evaluated to the end: it is the first point that there is to return.

        `run` is the closed form, which may be known to be the same point.
        """
        check()
        if run is not None and run.M is M:
            return cls(run.M, run.value)
        with unlimited():
            return None if M is None else cls(M, problem.near(M).value(M))


@dataclass(frozen=True)
class Placed:
    """A point in its canonical coordinates, and how the rows vary there."""

    M: Array
    axes: Axes
    seen: Sequence[Variation | None]

    @classmethod
    def of(
        cls,
        problem: BoundObjective,
        M: Array,
        maps: Sequence[Array],
        seen: Sequence[Variation | None],
    ) -> Placed:
        axes = problem.axes(M, seen)
        if not axes.signed:
            flips = signs(axes.turns[0].T @ maps[0])
            turns = [Q * flips for Q in axes.turns]
            M = problem.turned(M, turns)
            seen = [
                None if one is None else one.turned(Q) for one, Q in zip(seen, turns, strict=True)
            ]
        return cls(M, axes, seen)


def directions_of(
    problem: BoundObjective, M: Array, axes: Axes, seen: Sequence[Variation | None]
) -> Directions:
    """What each coordinate of a point is worth."""
    orthonormal = problem.objective.transposed and all(
        isinstance(factor, Orthonormal) for factor in problem.factors
    )
    return Directions(problem.numbers(M, axes, seen), tuple(seen), orthonormal, free=axes.free)


def in_canonical_coordinates(
    problem: BoundObjective, run: Run, heuristic: Heuristic | None
) -> tuple[Run, Heuristic | None, Directions, tuple[str, ...]]:
    """The run's point and the heuristic's, turned; what each coordinate is worth; and notes.

    The rows are looked at once, for both.
    """
    points = [run.M]
    if heuristic is not None and heuristic.M is not run.M:
        points.append(heuristic.M)
    maps = [problem.maps(M) for M in points]
    both = maps[0] if len(maps) == 1 else [np.vstack(pair) for pair in zip(*maps, strict=True)]
    together = problem.variations(run.M, both)
    placed = []
    for i, (M, own) in enumerate(zip(points, maps, strict=True)):
        rows = slice(i * len(own[0]), (i + 1) * len(own[0]))
        seen = [one if one is None or both is own else one.of_rows(rows) for one in together]
        placed.append(Placed.of(problem, M, own, seen))
    found = placed[0]
    run = replace(run, M=found.M)
    if heuristic is not None:
        heuristic = replace(heuristic, M=placed[-1].M)
    directions = directions_of(problem, found.M, found.axes, found.seen)
    return run, heuristic, directions, found.axes.ties()
