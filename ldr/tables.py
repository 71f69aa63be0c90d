"""Tables of a result's components, in its canonical coordinates, and numbers as text.

See `ldr.objectives.view`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_lowercase

import numpy as np

from ldr.objectives.statistics.scatters import Variation
from ldr.solvers.manifolds import Array
from ldr.types import Argument, Frame


@dataclass(frozen=True)
class Directions:
    """Statistics of the components of a result.

    Attributes
    ----------
    own : dict of str to ndarray (r,)
        The objective's statistics of the components, the most important first.
    variations : tuple of (Variation or None)
        Variation of the samples under P, one for each view; None if the samples are not available.
    orthonormal : bool
        True if P has orthonormal rows: then variances are shares of the variance of x.
    free : bool
        True if every basis of the span of P has the same objective value.
    views : tuple of str
        Names of the views if there are several; by default a, b, c and so on.
    """

    own: Mapping[str, Array] = field(default_factory=dict)
    variations: Sequence[Variation | None] = ()
    orthonormal: bool = False
    free: bool = field(default=False, kw_only=True)
    views: Sequence[str] = field(default=(), kw_only=True)

    def columns(self) -> dict[str, Array]:
        """Return the statistics by name; names have suffixes "_a", "_b" for several views."""
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
        """Return a DataFrame with one row per component; without pandas, `columns`."""
        try:
            from pandas import DataFrame
        except ModuleNotFoundError:
            return Columns(self.columns())
        return DataFrame(self.columns(), index=list(names))

    def brief(self) -> str:
        """Return the objective's first scores and shares of the variance, in one line."""
        columns = self.columns()
        shares = "explained_variance_ratio" if self.orthonormal else "r2_share"
        chosen = [*list(self.own)[:1], *(name for name in columns if name.startswith(shares))]
        texts = {}
        for name in chosen:
            numbers = [f"{x:.4g}" for x in columns[name]]
            if not numbers:  # if r = 0, a table has no components
                continue
            texts[name] = ", ".join([*numbers[:5], *(["..."] if len(numbers) > 5 else [])])
        return "; ".join(f"{name.replace('_', ' ')} {text}" for name, text in texts.items())


def view_letters(views: int) -> list[str]:
    """Return the suffixes of the views in names: a, b, c and so on; after z their numbers."""
    return [ascii_lowercase[v] if v < len(ascii_lowercase) else str(v) for v in range(views)]


class Columns(dict[str, Array]):
    """Columns by name, printed as a table."""

    def __repr__(self) -> str:
        columns = {name: [text(x) for x in column] for name, column in self.items()}
        return "\n".join(beside(columns)) if columns else ""


def text(value: float | None, form: str = ".6g") -> str:
    """Format a number; "-" for None."""
    return "-" if value is None or math.isnan(value) else format(value, form)


def beside(columns: Mapping[str, Sequence[str]]) -> list[str]:
    """Join columns into lines of text, with titles: the first left-aligned, others right-aligned.

    The part of a title before a comma is printed in an extra line above.
    """
    titles = [name.rpartition(", ") for name in columns]
    above = [first + comma.strip() for first, comma, _ in titles]
    cells = [above, [last for *_, last in titles], *zip(*columns.values(), strict=True)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = []
    for first, *others in cells if any(above) else cells[1:]:
        right = [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        lines.append("  ".join([first.ljust(widths[0]), *right]).rstrip())
    return lines


def plain(value: Argument) -> Argument:
    """Convert a value for JSON: arrays become lists, infinities and NaN become None."""
    if isinstance(value, Mapping):
        return {name: plain(each) for name, each in value.items()}
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def shown(value: float | Array) -> str:
    """Format a number, or a matrix with one line for each row."""
    if np.ndim(value) == 0:
        return f"{value:.6g}"
    return np.array2string(np.asarray(value), precision=4, threshold=40, prefix=" " * 15)
