"""Tables as text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence


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
