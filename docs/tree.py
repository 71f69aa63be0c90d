"""The table of `ldr.choose` as Markdown and as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ldr.method_selection import TABLE, Advice, Beside

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# What the user has beside X.
ANSWERS = {
    Beside.NOTHING: "nothing",
    Beside.GAPS: "nothing, values\nare missing",
    Beside.LABELS: "labels",
    Beside.RESPONSE: "a response",
    Beside.VIEWS: "further views of\nthe same samples",
    Beside.BACKGROUND: "a background",
    Beside.TIME: "a time order",
    Beside.TRIAL_LABELS: "a label for\neach trial",
    Beside.TRIAL_RESPONSE: "a quantity for\neach trial",
}
_HEADER = ("you have", "you want", "use", "instead of")
_LINE = 0.42  # inches
_COLUMNS = (0.0, 2.2, 4.4, 8.6)  # where the question, the answers, the wants and the methods stand


def table() -> str:
    """The table in Markdown, as the page has it."""
    rows = [_HEADER, ("---",) * len(_HEADER)]
    for advice in TABLE:
        methods = ", ".join(f"`{name}`" for name in advice.use)
        rows.append((advice.has, advice.wants, methods, advice.instead_of))
    return "\n".join(f"| {' | '.join(row)} |".replace("  ", " ") for row in rows)


def branches() -> dict[Beside, list[Advice]]:
    """Return the rows of the table by answer; rows for several answers are under "nothing"."""
    found: dict[Beside, list[Advice]] = {answer: [] for answer in ANSWERS}
    for advice in TABLE:
        found[Beside.NOTHING if Beside.NOTHING in advice.fits else advice.fits[0]].append(advice)
    return found


def picture() -> Figure:
    """The tree, from left to right."""
    from matplotlib.figure import Figure

    tree = branches()
    height = _LINE * (len(TABLE) + 0.5 * len(tree))
    figure = Figure(figsize=(12.6, height), facecolor="white")
    ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    ax.set(xlim=(-0.2, 12.4), ylim=(-height, 0.0))
    ax.axis("off")
    y, places = 0.0, []
    for answer, rows in tree.items():
        lines = [y - _LINE * (k + 0.5) for k in range(len(rows))]
        places.append(sum(lines) / len(lines))
        _box(ax, _COLUMNS[1], places[-1], ANSWERS[answer])
        for advice, line in zip(rows, lines, strict=True):
            _branch(ax, (_COLUMNS[1] + 0.5, places[-1]), (_COLUMNS[2] - 0.1, line))
            ax.text(_COLUMNS[2], line, advice.wants, va="center", fontsize=10.5)
            methods = ", ".join(advice.use)
            ax.text(_COLUMNS[3], line, methods, va="center", fontsize=10.5, family="monospace")
        y = lines[-1] - _LINE
    middle = sum(places) / len(places)
    for place in places:
        _branch(ax, (_COLUMNS[0] + 0.5, middle), (_COLUMNS[1] - 0.05, place))
    _box(ax, _COLUMNS[0], middle, "What is there\nbeside X?")
    return figure


def _box(ax: Axes, x: float, y: float, text: str) -> None:
    box = {"boxstyle": "round,pad=0.4", "facecolor": "#eaf3fa", "edgecolor": "#0072b2"}
    ax.text(x, y, text, va="center", fontsize=10.5, bbox=box)


def _branch(ax: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    middle = end[0] - 0.25
    xs, ys = (start[0], middle, middle, end[0]), (start[1], start[1], end[1], end[1])
    ax.plot(xs, ys, color="0.7", linewidth=1.0, zorder=0)
