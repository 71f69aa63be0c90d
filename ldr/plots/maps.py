"""Pictures of the linear map: loadings, biplot, correlation circle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ldr.io.chunks import by_index
from ldr.objectives.data.data import as_tuple
from ldr.objectives.data.opening import as_samples
from ldr.plots.canvas import (
    HIGHLIGHT,
    SINGLE,
    colouring_of,
    draw_key,
    draw_points,
    figure_of,
    key_inside,
    literal,
    new_figure,
    note,
    parts,
    shortened,
    tidy,
)
from ldr.plots.rows import axis_names
from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds import Array
from ldr.types import PerRow, Rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ldr.result import Result


_FEATURES = 40  # rows of a heat map
_LINES = 100  # features beyond which each coordinate is a line


def loadings(result: Result) -> Figure:
    """The map P, or of a factor model its loadings M, as a heat map: a row a feature.

    With ``standardise=True`` both are of the columns divided by their standard deviations. Of many
    features the 40 with the longest rows are shown, in their own order. Of more than 100, such as
    the channels of a spectrum, each coordinate is a line along all of them.

    Parameters
    ----------
    result : Result

    Returns
    -------
    matplotlib.figure.Figure
        With a panel a view, all on one scale of colours.
    """
    if result.model is None:
        which, maps = "P", [P.T for P in maps_of(result)]
    else:
        which, maps = "M", [np.asarray(result.M)]
    if result.scale is not None:
        which += ", per standard deviation"
    names = result.feature_names if isinstance(result.P, tuple) else (result.feature_names,)
    if max(map(len, maps)) > _LINES:
        return _lines(maps, names, which)
    rows = [longest(loading) for loading in maps]
    tallest = max(len(kept) for kept in rows)
    figure = new_figure((2.6 + 0.55 * result.r) * len(maps) + 0.8, 1.2 + 0.22 * max(tallest, 6))
    axes = figure.subplots(1, len(maps), squeeze=False)[0]
    largest = max(float(np.abs(loading).max()) for loading in maps) or 1.0
    for ax, loading, kept, columns in zip(axes, maps, rows, names, strict=True):
        picture = ax.imshow(
            loading[kept], cmap="RdBu_r", vmin=-largest, vmax=largest, aspect="auto"
        )
        labels = [columns[j] if columns else f"column {j}" for j in kept]
        shown = [literal(shortened(label)) for label in labels]
        ax.set_yticks(range(len(kept)), shown, fontsize=8)
        ax.set_xticks(range(result.r), [f"$y_{{{k + 1}}}$" for k in range(result.r)])
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        if len(kept) < len(loading):
            ax.set_title(f"{len(kept)} of {len(loading)} features", fontsize=9)
    figure.colorbar(picture, ax=list(axes), fraction=0.05, pad=0.03, label=f"entry of {which}")
    return figure


def maps_of(result: Result) -> list[Array]:
    """P of each view, of divided columns where the columns were divided: units do not count."""
    return [P * unit for P, unit in zip(parts(result.P), units_of(result), strict=True)]


def units_of(result: Result) -> list[float | Array]:
    """The standard deviations that the columns of each view were divided by, or 1."""
    if result.scale is None:
        return [1.0] * len(parts(result.P))
    both = zip(as_tuple(result.scale), as_tuple(result.features), strict=True)
    return [scale if features is None else 1.0 for scale, features in both]


def _lines(maps: list[Array], names: Sequence[Sequence[str] | None], which: str) -> Figure:
    """A panel a view; names that are numbers, such as wavelengths, are places on its axis."""
    figure = new_figure(7.0, 0.8 + 2.6 * len(maps))
    for ax, loading, columns in zip(
        figure.subplots(len(maps), squeeze=False)[:, 0], maps, names, strict=True
    ):
        places, label = _places(columns, len(loading))
        for k, line in enumerate(loading.T):
            ax.plot(places, line, linewidth=1.0, label=f"$y_{{{k + 1}}}$")
        ax.axhline(0.0, color="0.8", linewidth=0.8, zorder=0)
        ax.set(xlabel=label, ylabel=f"entry of {which}")
        ax.legend(frameon=False, fontsize=9, ncols=4)
        tidy(ax)
    return figure


def _places(columns: Sequence[str] | None, count: int) -> tuple[Array, str]:
    """Where the columns stand on an axis, and what it is called."""
    try:
        return np.array([float(name) for name in columns or ("",)]), "name of the column"
    except (TypeError, ValueError):
        return np.arange(count, dtype=np.float64), "column"


def longest(loading: Array) -> np.ndarray:
    """The rows of a map that are worth showing, in their order."""
    if len(loading) <= _FEATURES:
        return np.arange(len(loading))
    return np.sort(np.argsort(-np.linalg.norm(loading, axis=1), kind="stable")[:_FEATURES])


# Columns with a name in a picture, those that correlate most; and how far the longest arrow goes.
_NAMED = 14
_REACH = 0.9
_LINE = 9.5  # points from one name to the next


def biplot(result: Result, X: Rows, y: PerRow = None, *, ax: Axes | None = None) -> Figure:
    """The rows by their first two coordinates, and an arrow for each column.

    An arrow is the correlations of a column with the two coordinates, so that it points where rows
    with much of it are, whatever the method's map is; all arrows are lengthened by one factor. Of
    many columns the 14 that correlate most are drawn.

    Parameters
    ----------
    result : Result
        Of one view, with r >= 2.
    X, y
        As in `projection`.
    ax : matplotlib Axes, optional

    Raises
    ------
    ldr.errors.ArgumentError
        There are several views, or one coordinate.
    """
    X, y = by_index(result.objective, X, y)
    Y, correlations = _with_columns(result, X)
    colouring = colouring_of(result, y, len(Y), X)
    panel = new_figure(7.2, 5.4).subplots() if ax is None else ax
    draw_points(panel, colouring, Y[:, 0], Y[:, 1])
    reach = np.abs(Y).max() / max(float(np.abs(correlations).max()), 1e-300)
    arrows = correlations * _REACH * reach
    kept = _draw_arrows(panel, arrows)
    _finish(panel, result)
    if ax is None:
        draw_key(figure_of(panel), [panel], colouring)
    else:
        key_inside(panel, colouring)
    _name_arrows(panel, arrows, kept, result)
    return figure_of(panel)


def correlation_circle(result: Result, X: Rows, *, ax: Axes | None = None) -> Figure:
    """The correlations of each column with the first two coordinates, in the unit circle.

    Where coordinates are uncorrelated (pca, the classical methods) the squared length of an arrow
    is the share of the column's variance that the two explain. It takes and refuses what `biplot`
    does, but for y.
    """
    from matplotlib.patches import Circle

    _, correlations = _with_columns(result, X)
    if ax is None:
        ax = new_figure(6.4, 6.0).subplots()
    ax.add_patch(Circle((0.0, 0.0), 1.0, fill=False, color="0.7"))
    ax.axhline(0.0, color="0.9", linewidth=0.8)
    ax.axvline(0.0, color="0.9", linewidth=0.8)
    kept = _draw_arrows(ax, correlations, SINGLE)
    _finish(ax, result)
    _name_arrows(ax, correlations, kept, result, SINGLE)
    return figure_of(ax)


def _with_columns(result: Result, X: Rows) -> tuple[Array, Array]:
    """The first two coordinates (m, 2), and the correlations of the columns with them (d, 2)."""
    if isinstance(result.P, tuple) or result.r < 2:
        raise ArgumentError(
            f"arrows of columns need one view and r >= 2, got r = {result.r}"
            f"{' and several views' if isinstance(result.P, tuple) else ''}; see plots.loadings"
        )
    Y = parts(result.transform(X))[0][:, :2]
    rows = as_samples(X, "X", allow_nan=True).dense()
    centred = np.nan_to_num(rows - np.nanmean(rows, axis=0))  # a gap says nothing
    deviations = Y - Y.mean(axis=0)
    sizes = np.outer(np.linalg.norm(centred, axis=0), np.linalg.norm(deviations, axis=0))
    products = centred.T @ deviations
    return Y, np.divide(products, sizes, out=np.zeros_like(products), where=sizes > 0)


def _draw_arrows(ax: Axes, arrows: Array, colour: str = HIGHLIGHT) -> np.ndarray:
    """The longest, and which they are."""
    kept = np.argsort(-np.linalg.norm(arrows, axis=1), kind="stable")[:_NAMED]
    style = {"arrowstyle": "-|>", "color": colour, "linewidth": 1.1}
    for end in arrows[kept]:
        ax.annotate("", tuple(end), (0.0, 0.0), arrowprops=style)
    if len(kept) < len(arrows):
        ax.set_title(f"{len(kept)} of {len(arrows)} columns", fontsize=9)
    return kept


def _name_arrows(
    ax: Axes, arrows: Array, kept: np.ndarray, result: Result, colour: str = HIGHLIGHT
) -> None:
    """Each name beside the end of its arrow, outwards; the axes have room, and no two one line."""
    from matplotlib.patheffects import withStroke

    figure, names = figure_of(ax), result.feature_names
    ax.autoscale_view()
    figure.draw_without_rendering()  # the size of the axes, and the scales
    texts = [
        note(
            ax,
            literal(shortened(names[j] if names else f"column {j}")),
            tuple(arrows[j]),
            (4.0 if arrows[j, 0] >= 0 else -4.0, 0.0),
            annotation_clip=False,
            ha="left" if arrows[j, 0] >= 0 else "right",
            va="center",
            fontsize=8,
            color=colour,
            path_effects=[withStroke(linewidth=2.0, foreground="white")],
        )
        for j in kept
    ]
    extents = [text.get_window_extent() for text in texts]
    widths = np.array([extent.width + 8.0 for extent in extents]) / ax.bbox.width
    x, right = arrows[kept, 0], arrows[kept, 0] >= 0
    least, most = low, high = ax.get_xlim()
    for _ in range(6):  # names are wider where the axes are
        wide = widths * (high - low)
        low = min(least, float((x - wide)[~right].min(initial=least)))
        high = max(most, float((x + wide)[right].max(initial=most)))
    ax.update_datalim([(low, 0.0), (high, 0.0)])
    ax.autoscale_view()
    figure.draw_without_rendering()
    points = 72.0 / figure.dpi
    heights = ax.transData.transform(arrows[kept])[:, 1] * points
    for side in (side for side in (right, ~right) if side.any()):
        for k, height in zip(np.flatnonzero(side), _apart(heights[side]), strict=True):
            texts[k].set_position((texts[k].xyann[0], height - heights[k]))


def _apart(heights: Array) -> Array:
    """The same, moved as little as keeps lines from one another."""
    from scipy.optimize import isotonic_regression

    order = np.argsort(heights, kind="stable")
    steps = _LINE * np.arange(len(heights))
    moved = np.empty(len(heights))
    moved[order] = isotonic_regression(heights[order] - steps).x + steps
    return moved


def _finish(ax: Axes, result: Result) -> None:
    first, second = axis_names(result)[0][:2]
    ax.set(xlabel=first, ylabel=second)
    ax.set_aspect("equal", adjustable="datalim")
    tidy(ax)
