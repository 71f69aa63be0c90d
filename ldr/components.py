"""What each direction of a result is worth: numbers by name, a row a coordinate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_lowercase

import numpy as np

from ldr.objectives.statistics.covariance import Variation
from ldr.solvers.manifolds import Array
from ldr.solvers.records import dataclass, field
from ldr.types import Frame

# Numbers of a line of `Directions.brief`.
_SHOWN = 5


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
        """All numbers, by name; of several views those of each with "_a", "_b", ...."""
        found = dict(self.own)
        count = len(self.variations)
        ends = [f"_{v}" for v in self.views or view_letters(count)] if count > 1 else [""]
        for end, seen in zip(ends, self.variations, strict=False):
            if seen is None:
                continue
            found[f"variance{end}"] = seen.variances
            if self.orthonormal and seen.shares is not None:
                found[f"explained_variance_ratio{end}"] = seen.shares
            found[f"r2{end}"] = seen.predicted
            found[f"r2_share{end}"] = np.diff(found[f"r2{end}"], prepend=0.0)
        return found

    def table(self, names: Sequence[str]) -> Frame:
        """A DataFrame with a row a coordinate, where pandas is there; else the columns."""
        try:
            from pandas import DataFrame
        except ModuleNotFoundError:
            return Columns(self.columns())
        return DataFrame(self.columns(), index=list(names))

    def brief(self) -> str:
        """The foremost numbers in a line: the objective's, and the share of the variance."""
        columns = self.columns()
        shares = "explained_variance_ratio" if self.orthonormal else "r2_share"
        chosen = [*list(self.own)[:1], *(name for name in columns if name.startswith(shares))]
        return "; ".join(f"{name.replace('_', ' ')} {_line(columns[name])}" for name in chosen)


def view_letters(views: int) -> list[str]:
    """What tells the views apart in names: a, b, ...; beyond z their numbers."""
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


def _line(numbers: Array) -> str:
    text = ", ".join(f"{x:.4g}" for x in numbers[:_SHOWN])
    return text if len(numbers) <= _SHOWN else f"{text}, ..."
