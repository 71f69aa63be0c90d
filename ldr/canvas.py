"""Figures, panels, legends, and the colours and markers of samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ldr.objectives.data.sample_metadata import as_array, as_labels
from ldr.objectives.kernel import is_categorical
from ldr.objectives.parameters import Need
from ldr.solvers.errors import ArgumentError, DataError, needed
from ldr.solvers.manifolds import Array
from ldr.trial_layout import known_trials
from ldr.types import Argument, Panels, PerRow, PerView, Rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.cm import ScalarMappable
    from matplotlib.collections import Collection
    from matplotlib.figure import Figure, FigureBase, SubFigure
    from matplotlib.text import Annotation

    from ldr.result import Result


Style: TypeAlias = dict[str, Argument]

SINGLE = "#0072B2"
HIGHLIGHT = "#D55E00"
DOTTED: Style = {"color": SINGLE, "marker": "o", "markersize": 4}
DASHED: Style = {"color": HIGHLIGHT, "linestyle": "--"}


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of a given size in inches, without registering it with pyplot."""
    needed("matplotlib", "a picture")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def inches(figure: Figure | SubFigure) -> float:
    """Return the width of a figure or of a subfigure in inches."""
    return float(figure.bbox.width / figure.get_figure(root=True).dpi)


def figure_of(ax: Axes) -> Figure:
    figure = ax.get_figure(root=True)
    assert figure is not None
    return figure


def given_panels(ax: Panels, count: int) -> list[Axes]:
    """Return the user's axes, or axes of a new figure, in the common style."""
    given = new_figure(4.4 * count, 3.6).subplots(1, count) if ax is None else ax
    axes: list[Axes] = list(np.ravel(np.asarray(given, dtype=object)))
    if len(axes) != count:
        wanted = "one Axes" if count == 1 else f"{count} Axes, one for each panel"
        raise ArgumentError(f"ax must be {wanted}, got {len(axes)}")
    for each in axes:
        tidy(each)
    return axes


def tidy(ax: Axes) -> None:
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=8)


def finish(ax: Axes, x: str, y: str, *, whole: bool = False, legend: bool = False) -> None:
    """Label the axes of a panel, with integer ticks along x if `whole`; add a legend."""
    from matplotlib.ticker import MaxNLocator

    ax.set(xlabel=x, ylabel=y)
    if whole:
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    if legend:
        ax.legend(frameon=False, fontsize=9)


def note(
    ax: Axes,
    text: str,
    at: tuple[float, float],
    offset: tuple[float, float],
    coordinates: str | tuple[str, str] = "data",
    **style: Argument,
) -> Annotation:
    """Write a text at an offset in points from a position."""
    return ax.annotate(
        text, at, xycoords=coordinates, xytext=offset, textcoords="offset points", **style
    )


def mark(ax: Axes, height: float, text: str) -> None:
    """Draw a horizontal line with a label."""
    ax.axhline(height, color=HIGHLIGHT, linestyle="--", linewidth=1)
    place = ("axes fraction", "data")
    note(ax, text, (1, height), (0, 3), place, ha="right", color=HIGHLIGHT, fontsize=9)


def mark_dimension(ax: Axes, r: int, text: str) -> None:
    """Draw a vertical line with a label."""
    ax.axvline(r, color="0.5", linestyle=":", linewidth=1)
    note(ax, text, (r, 1), (4, -4), ("data", "axes fraction"), va="top", color="0.35", fontsize=9)


def literal(text: str) -> str:
    """Escape a text, so that no part between two dollar signs is rendered as a formula."""
    return text.replace("$", r"\$")


def shortened(name: str, letters: int = 28) -> str:
    return name if len(name) <= letters else name[: letters - 1] + "…"


def column_names(columns: Sequence[str] | None, kept: np.ndarray) -> list[str]:
    """Return the displayed names of some columns of a view."""
    return [literal(shortened(columns[j] if columns else f"column {j}")) for j in kept]


def parts(Y: PerView) -> tuple[Array, ...]:
    """Return the arrays of one or several views as a tuple of NumPy arrays."""
    return tuple(np.asarray(y) for y in (Y if isinstance(Y, tuple) else (Y,)))


# Palettes for colour-blind readers: Okabe and Ito's, with grey for yellow, and Paul Tol's.
_OKABE_ITO = (
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000", "#999999",
)  # fmt: skip
_MUTED = (
    "#332288", "#88CCEE", "#44AA99", "#117733", "#999933",
    "#DDCC77", "#CC6677", "#882255", "#AA4499", "#AAAAAA",
)  # fmt: skip
_MARKERS = "osD^v<>*ph"

MOST_NAMES = 40  # largest number of names in a legend or on an axis, or of entries in a report


@dataclass(frozen=True)
class Colouring:
    """Colour of each sample: by class, by a quantity, or none.

    - codes (n,): indices of the classes in `names`
    - quantity (n,): values on a colour scale; dates are converted to days
    - label: name of y
    - is_time: True if the quantity is the position in time
    - dates: True if the quantity is in days
    """

    codes: np.ndarray | None = None
    names: tuple[str, ...] = ()
    quantity: Array | None = None
    label: str = ""
    is_time: bool = False
    dates: bool = False

    def groups(self, n: int) -> list[tuple[np.ndarray, str, str, str | None]]:
        """Return (samples, colour, marker, name) of each class; one group without classes."""
        if self.codes is None:
            return [(np.arange(n), SINGLE, "o", None)]
        palette = _OKABE_ITO if len(self.names) <= len(_OKABE_ITO) else _MUTED
        return [
            (
                np.flatnonzero(self.codes == k),
                palette[k % len(palette)],
                _MARKERS[(k + k // len(palette)) % len(_MARKERS)],
                name,
            )
            for k, name in enumerate(self.names)
        ]


def colouring_of(result: Result, y: PerRow, n: int, X: Rows = None) -> Colouring:
    """Return the colours by y; without y, objectives of time series use row or date."""
    needs = result.objective.needs
    if y is None:
        if Need.TIME_ORDER not in needs:
            return Colouring()
        index = np.asarray(getattr(X, "index", ()))
        if index.shape == (n,) and index.dtype.kind == "M":
            return Colouring(quantity=_days(index), label="date", is_time=True, dates=True)
        return Colouring(quantity=np.arange(n, dtype=float), label="row", is_time=True)
    label = str(getattr(y, "name", None) or getattr(y, "columns", "y")[0])
    array = as_array(y)
    if array.ndim == 2:  # several responses: the colour is the first
        array = array[:, 0]
    if (trials := known_trials(X, "X")) is not None and len(array) == len(trials):
        array = array[trials.ids]
    if array.ndim != 1 or len(array) != n:
        raise DataError(f"y has shape {np.shape(y)}, expected ({n},) for the {n} rows of X")
    if array.dtype.kind == "M":
        return Colouring(quantity=_days(array), label=label, dates=True)
    if Need.LABELS in needs or is_categorical(array):
        codes, classes = _classes(array, n)
        return Colouring(codes, tuple(literal(str(c)) for c in classes), label=label)
    return Colouring(quantity=array.astype(float), label=label)


def _days(dates: np.ndarray) -> Array:
    from matplotlib.dates import date2num

    return np.asarray(date2num(dates), dtype=np.float64)


def _classes(array: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return codes and names; unlike for objectives, one class or sample is allowed."""
    try:
        return as_labels(array, n)
    except DataError:
        classes, codes = np.unique(array.astype(str), return_inverse=True)
        return codes, classes


def draw_points(ax: Axes, colouring: Colouring, *coordinates: Array) -> None:
    """Draw the samples by two components, or by three."""
    n = len(coordinates[0])
    size = float(np.clip(12000 / max(n, 1), 6, 26))
    alpha = float(np.clip(40 / max(n, 1) ** 0.5, 0.25, 0.85))
    scatter: Callable[..., object] = ax.scatter  # Axes.scatter and Axes3D.scatter differ in type
    style = {"s": size, "linewidths": 0, "rasterized": n > 2000}
    if colouring.quantity is not None:
        scatter(*coordinates, c=colouring.quantity, cmap="viridis", **style)
        return
    for rows, colour, marker, _ in colouring.groups(n):
        group = [coordinate[rows] for coordinate in coordinates]
        order = 1.0 + 0.5 / (1.0 + sum(map(np.var, group)))  # draw classes of small spread on top
        scatter(*group, color=colour, marker=marker, alpha=alpha, zorder=order, **style)


def draw_key(
    figure: FigureBase, axes: Sequence[Axes], colouring: Colouring, alone: bool = False
) -> None:
    """Draw the legend of classes or the colour bar of the quantity; `alone`: in its own figure."""
    if colouring.codes is not None:
        where = "center left" if alone else "outside right center"
        figure.legend(**_legend(colouring), loc=where)  # type: ignore[call-overload]
        return
    mappable = _coloured(axes)
    if mappable is not None:
        if alone:
            _bar(figure, mappable, colouring, cax=figure.add_axes((0.1, 0.2, 0.15, 0.6)))
        else:
            _bar(figure, mappable, colouring, ax=list(axes), fraction=0.05, pad=0.02)


def key_inside(ax: Axes, colouring: Colouring) -> None:
    """Draw the legend or colour bar inside a panel of the user's figure, keeping its layout."""
    if colouring.codes is not None:
        ax.legend(**_legend(colouring) | {"frameon": True})
    elif (mappable := _coloured([ax])) is not None:
        _bar(figure_of(ax), mappable, colouring, ax=ax)


def _bar(
    figure: FigureBase, mappable: ScalarMappable, colouring: Colouring, **place: Argument
) -> None:
    bar = figure.colorbar(mappable, label=literal(colouring.label), **place)
    write_quantity(bar.ax.yaxis, colouring)


def write_quantity(axis: Axis, colouring: Colouring) -> None:
    """Format dates and integers (such as years) on an axis."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
    from matplotlib.ticker import MaxNLocator

    quantity = colouring.quantity
    if colouring.dates:
        locator = AutoDateLocator()
        axis.set_major_locator(locator)
        axis.set_major_formatter(ConciseDateFormatter(locator))
    elif quantity is not None and not np.any(quantity % 1):
        axis.set_major_locator(MaxNLocator(integer=True, steps=(1, 2, 5, 10)))


def key_width(colouring: Colouring, r: int) -> float:
    """Return the width of the legend or colour bar in inches; 0 for a quantity with r = 1."""
    if colouring.codes is not None:
        columns = _legend(colouring)["ncols"]
        return float(columns * (0.5 + 0.085 * max(len(name) for name in colouring.names)))
    return 0.9 if colouring.quantity is not None and r > 1 else 0.0


def _coloured(axes: Sequence[Axes]) -> Collection | None:
    """Return the points with a colour scale, or None."""
    points = [c for ax in axes for c in ax.collections if c.get_array() is not None]
    return points[0] if points else None


def _legend(colouring: Colouring) -> dict[str, Argument]:
    from matplotlib.lines import Line2D

    groups = colouring.groups(0)[:MOST_NAMES]
    left_out = len(colouring.names) - len(groups)
    handles = [
        Line2D([], [], color=colour, marker=marker, linestyle="none", markersize=5, label=name)
        for _, colour, marker, name in groups
    ]
    title = [literal(colouring.label)] if colouring.label != "y" else []
    if left_out > 0:
        title.append(f"and {left_out} more")
    return {
        "handles": handles,
        "frameon": False,
        "fontsize": 9,
        "ncols": -(-len(handles) // 20),
        "handletextpad": 0.2,
        "title": " ".join(title) or None,
    }
