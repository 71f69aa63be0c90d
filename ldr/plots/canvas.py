"""Figures, panels and what stands on them, whatever is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias, TypedDict

import numpy as np

from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds import Array
from ldr.types import Argument, PerView

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.text import Annotation

# Axes to draw in, one a panel, as a user hands them over; None is a new figure.
Panels: TypeAlias = "Axes | Sequence[Axes] | np.ndarray | None"

SINGLE = "#0072B2"
HIGHLIGHT = "#D55E00"

_LETTERS = 28  # of a feature's name


class LineStyle(TypedDict, total=False):
    """How a line is drawn."""

    color: str
    linestyle: str
    linewidth: float
    marker: str
    markersize: float
    mec: str


def new_figure(width: float, height: float) -> Figure:
    """An empty figure in inches, outside pyplot's global state."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def inches(figure: Figure | SubFigure) -> float:
    """Width of a figure or of a part of one."""
    return float(figure.bbox.width / figure.get_figure(root=True).dpi)


def figure_of(ax: Axes) -> Figure:
    figure = ax.get_figure(root=True)
    assert figure is not None
    return figure


def given_panels(ax: Panels, count: int) -> list[Axes]:
    """The caller's axes, or those of a new figure."""
    if ax is None:
        return list(np.ravel(new_figure(4.4 * count, 3.6).subplots(1, count, squeeze=False)))
    axes = list(np.ravel(np.asarray(ax, dtype=object)))
    if len(axes) != count:
        wanted = "one Axes" if count == 1 else f"{count} Axes, one a panel"
        raise ArgumentError(f"ax must be {wanted}, got {len(axes)}")
    return axes


def tidy(ax: Axes) -> None:
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=8)


def whole_ticks(ax: Axes) -> None:
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(integer=True))


def note(
    ax: Axes,
    text: str,
    at: tuple[float, float],
    offset: tuple[float, float],
    coordinates: str | tuple[str, str] = "data",
    **style: Argument,
) -> Annotation:
    """Text so many points beside a place."""
    return ax.annotate(
        text, at, xycoords=coordinates, xytext=offset, textcoords="offset points", **style
    )


def mark(ax: Axes, height: float, text: str) -> None:
    """A labelled horizontal line."""
    ax.axhline(height, color=HIGHLIGHT, linestyle="--", linewidth=1)
    place = ("axes fraction", "data")
    note(ax, text, (1, height), (0, 3), place, ha="right", color=HIGHLIGHT, fontsize=9)


def mark_dimension(ax: Axes, r: int, text: str) -> None:
    """A labelled vertical line."""
    ax.axvline(r, color="0.5", linestyle=":", linewidth=1)
    note(ax, text, (r, 1), (4, -4), ("data", "axes fraction"), va="top", color="0.35", fontsize=9)


def literal(text: str) -> str:
    """Text that is drawn as it stands: what lies between two dollars would be a formula."""
    return text.replace("$", r"\$")


def shortened(name: str) -> str:
    return name if len(name) <= _LETTERS else name[: _LETTERS - 1] + "…"


def parts(Y: PerView) -> tuple[Array, ...]:
    """The arrays of one view or of several, whatever container they are in."""
    return tuple(np.asarray(y) for y in (Y if isinstance(Y, tuple) else (Y,)))
