"""The canonical coordinates of what a solve found; see `ldr.objectives.axes`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ldr.objectives.axes import signs
from ldr.objectives.problem import BoundObjective
from ldr.objectives.statistics.covariance import Variation
from ldr.solvers.limits import check, unlimited
from ldr.solvers.manifolds import Array
from ldr.solvers.run import Run


@dataclass(frozen=True)
class Heuristic:
    """The heuristic's point, and the minimised value there."""

    M: Array
    value: float

    @classmethod
    def of(cls, problem: BoundObjective, M: Array | None) -> Heuristic | None:
        """Once begun it is evaluated to the end: it is the first point that there is to return."""
        check()
        with unlimited():
            return None if M is None else cls(M, problem.value(M))


def in_canonical_coordinates(
    problem: BoundObjective, run: Run, heuristic: Heuristic | None
) -> tuple[Run, Heuristic | None, tuple[str, ...]]:
    """The run's point and the heuristic's, turned; and notes.

    The rows are looked at once, for both.
    """
    points = [run.M]
    if heuristic is not None and heuristic.M is not run.M:
        points.append(heuristic.M)
    maps = [problem.maps(M) for M in points]
    seen = problem.variations([np.vstack(of_view) for of_view in zip(*maps, strict=True)])
    M, ties = _turned(problem, points[0], maps[0], seen, 0)
    run = replace(run, M=M)
    if heuristic is not None:
        if len(points) == 2:
            M = _turned(problem, points[1], maps[1], seen, len(maps[0][0]))[0]
        heuristic = replace(heuristic, M=M)
    return run, heuristic, ties


def _turned(
    problem: BoundObjective,
    M: Array,
    maps: Sequence[Array],
    seen: Sequence[Variation | None],
    start: int,
) -> tuple[Array, tuple[str, ...]]:
    """A point turned to its axes, with the signs that its maps ask for; and what is tied."""
    rows = slice(start, start + len(maps[0]))
    axes = problem.axes(M, [None if one is None else one.of_rows(rows) for one in seen])
    if axes.signed:
        return M, ()
    flips = signs(axes.turns[0].T @ maps[0])
    return problem.turned(M, [Q * flips for Q in axes.turns]), axes.ties()
