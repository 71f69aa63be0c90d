"""Numbers of each direction of a result, in its canonical coordinates.

See `ldr.objectives.coordinates`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from string import ascii_lowercase

import numpy as np

from ldr.objectives.coordinates import Axes, signs
from ldr.objectives.problem import BoundObjective
from ldr.objectives.statistics.covariance import Variation
from ldr.solvers.deadline import check
from ldr.solvers.manifolds import Array, Orthonormal
from ldr.solvers.run import Run
from ldr.types import Frame


@dataclass(frozen=True)
class Directions:
    """Numbers of the coordinates of a result.

    Attributes
    ----------
    own : dict of str to ndarray (r,)
        The objective's, the first of them foremost.
    variations : tuple of (Variation or None)
        Of the rows under P, one a view; None of rows that are gone.
    orthonormal : bool
        Whether P has orthonormal rows, so that variances are shares of that of x.
    free : bool
        Whether other axes of the same span have the same value.
    views : tuple of str
        What the views are called where there are several: a, b, ..., if nothing is said.
    """

    own: Mapping[str, Array] = field(default_factory=dict)
    variations: Sequence[Variation | None] = ()
    orthonormal: bool = False
    free: bool = field(default=False, kw_only=True)
    views: Sequence[str] = field(default=(), kw_only=True)

    def columns(self) -> dict[str, Array]:
        """Return all numbers by name; of several views those of each with "_a", "_b", ...."""
        found = dict(self.own)
        count = len(self.variations)
        ends = [f"_{v}" for v in self.views or view_letters(count)] if count > 1 else [""]
        each = [(end, v) for end, v in zip(ends, self.variations, strict=False) if v is not None]
        for end, seen in each:
            found[f"variance{end}"] = seen.variances
            if self.orthonormal and seen.shares is not None:
                found[f"explained_variance_ratio{end}"] = seen.shares
            found[f"r2{end}"] = seen.predicted
            found[f"r2_share{end}"] = np.diff(found[f"r2{end}"], prepend=0.0)
        return found

    def table(self, names: Sequence[str]) -> Frame:
        """Return a DataFrame with a row a coordinate, or the columns without pandas."""
        try:
            from pandas import DataFrame
        except ModuleNotFoundError:
            return Columns(self.columns())
        return DataFrame(self.columns(), index=list(names))

    def brief(self) -> str:
        """Return the first numbers in a line: the objective's, and the share of the variance."""
        columns = self.columns()
        shares = "explained_variance_ratio" if self.orthonormal else "r2_share"
        chosen = [*list(self.own)[:1], *(name for name in columns if name.startswith(shares))]
        texts = {}
        for name in chosen:
            numbers = [f"{x:.4g}" for x in columns[name]]
            texts[name] = ", ".join([*numbers[:5], *(["..."] if len(numbers) > 5 else [])])
        return "; ".join(f"{name.replace('_', ' ')} {text}" for name, text in texts.items())


def view_letters(views: int) -> list[str]:
    """Return the suffixes of the views in names: a, b, ...; beyond z their numbers."""
    return [ascii_lowercase[v] if v < len(ascii_lowercase) else str(v) for v in range(views)]


class Columns(dict[str, Array]):
    """Columns of numbers by name, printed as a table."""

    def __repr__(self) -> str:
        heads = [f"{name:>{max(len(name), 12)}}" for name in self]
        rows = zip(*self.values(), strict=True)
        cells = (
            (f"{x:>{len(head)}.6g}" for x, head in zip(row, heads, strict=True)) for row in rows
        )
        return "\n".join(["  ".join(heads), *map("  ".join, cells)])


@dataclass(frozen=True)
class Heuristic:
    """The heuristic's point, and the minimised value there."""

    M: Array
    value: float

    @classmethod
    def of(cls, problem: BoundObjective, M: Array | None, run: Run | None) -> Heuristic | None:
        """Evaluate it; `run` is the closed form, which may be known to be the same point."""
        check()
        if run is not None and run.M is M:
            return cls(run.M, run.value)
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
    """Compute the numbers of each coordinate of a point."""
    orthonormal = problem.objective.transposed and all(
        isinstance(factor, Orthonormal) for factor in problem.factors
    )
    return Directions(problem.numbers(M, axes, seen), tuple(seen), orthonormal, free=axes.free)


def in_canonical_coordinates(
    problem: BoundObjective, run: Run, heuristic: Heuristic | None
) -> tuple[Run, Heuristic | None, Directions, tuple[str, ...]]:
    """Turn the run's point and the heuristic's; return the numbers of coordinates, and notes.

    The rows are read once, for both.
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
