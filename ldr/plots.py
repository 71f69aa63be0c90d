"""Plots of a result: the projected data, the map, the run, the baseline and the optimum.

Every function returns a matplotlib Figure, which belongs to no window and is not known to pyplot. A
notebook shows a figure that ends a cell; ``figure.savefig("name.png")`` writes a file. The argument
`ax` takes matplotlib Axes to draw in; by default a new figure is made. If `ax` has too few panels,
an ``ldr.errors.ArgumentError`` states the required number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ldr.canvas import (
    DASHED,
    DOTTED,
    HIGHLIGHT,
    MOST_NAMES,
    SINGLE,
    Colouring,
    Style,
    colouring_of,
    column_names,
    draw_key,
    draw_points,
    figure_of,
    finish,
    given_panels,
    inches,
    key_inside,
    key_width,
    literal,
    mark,
    mark_dimension,
    new_figure,
    note,
    parts,
    shortened,
    tidy,
    write_quantity,
)
from ldr.inputs import by_index
from ldr.objectives.data.data import as_tuple
from ldr.objectives.data.opening import as_samples
from ldr.objectives.parameters import Need
from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds import Array
from ldr.subspaces import principal_angles
from ldr.tables import view_letters
from ldr.types import Panels, PerRow, Rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, FigureBase, SubFigure

    from ldr.comparison import Comparison
    from ldr.diagnosis import Diagnosis
    from ldr.dimension_rule import ParallelAnalysis
    from ldr.inference.bootstrap import Bootstrap
    from ldr.inference.dimension import Dimension
    from ldr.inference.hypothesis_tests import PermutationTest
    from ldr.inference.many import Solutions
    from ldr.paths import Path
    from ldr.result import Result
    from ldr.sensitivity.sensitivity import Influence

__all__ = [
    "biplot",
    "bootstrap",
    "compare",
    "convergence",
    "correlation_circle",
    "diagnosis",
    "dimension",
    "draw_comparison",
    "improvement",
    "influence",
    "intervals",
    "loadings",
    "new_figure",
    "parallel_analysis",
    "path",
    "permutation_test",
    "projection",
    "side_by_side",
    "solutions",
    "space",
]

_PANELS = 4  # largest number of panels in a row


def projection(result: Result, X: Rows, y: PerRow = None, *, ax: Axes | None = None) -> Figure:
    """Plot the projection: a histogram (r = 1), a scatter plot (2) or a scatter matrix.

    Parameters
    ----------
    result : Result
    X : array, memory map, sparse matrix or DataFrame (m, d); a pair of them for two views
        Component k of the first view is plotted against component k of each other view.
    y : array (m,), optional
        Colours: labels (strings, booleans, or at most 20 distinct integers) with a legend, or
        quantities with a colour bar. Without y, the points of time series are coloured by time.
    ax : matplotlib Axes, optional
        Axes to draw in, if one panel suffices; by default a new figure is made.

    Raises
    ------
    ldr.errors.ArgumentError
        `ax` is given, but several panels are needed.
    ldr.errors.DataError
        X or y do not match the result.
    """
    X, y = by_index(result.objective, X, y)
    Y = parts(result.transform(X))
    colouring = colouring_of(result, y, len(Y[0]), X)
    names = axis_names(result)
    if ax is None:
        rows, columns = _grid(result.r, len(Y))
        figure = new_figure(1.6 + _width(rows, columns), 1.0 + max(3.4, 2.0 * rows))
        axes = _draw(figure, Y, colouring, Y, names)
        if result.r > _PANELS:
            figure.suptitle(f"{_PANELS} of {result.r} components", fontsize=9)
        draw_key(figure, axes, colouring)
        return figure
    if _grid(result.r, len(Y)) != (1, 1):
        raise ArgumentError(f"ax= takes one panel, r = {result.r} needs several: leave out ax=")
    _draw_one(ax, Y, colouring, Y, names)
    key_inside(ax, colouring)
    return figure_of(ax)


def space(result: Result, X: Rows, y: PerRow = None) -> Figure:
    """Plot the first three components of the projected samples, in perspective.

    Parameters
    ----------
    result : Result
        Result of a single view, with r >= 3.
    X, y
        As in `projection`.

    Raises
    ------
    ldr.errors.ArgumentError
        r is less than 3, or there are two views.
    """
    from matplotlib.ticker import MaxNLocator

    X, y = by_index(result.objective, X, y)
    Y = parts(result.transform(X))
    if len(Y) > 1 or result.r < 3:
        raise ArgumentError(
            f"a 3D plot needs one view and r >= 3, got {len(Y)} view(s) and r = {result.r}"
        )
    colouring = colouring_of(result, y, len(Y[0]), X)
    figure = new_figure(6.4, 5.0)
    ax = figure.add_subplot(projection="3d")
    draw_points(ax, colouring, Y[0][:, 0], Y[0][:, 1], Y[0][:, 2])
    for name, label in zip("xyz", _plain(axis_names(result))[0], strict=False):
        getattr(ax, f"set_{name}label")(label)
        getattr(ax, f"{name}axis").set_major_locator(MaxNLocator(4))
    ax.set_aspect("equal")
    ax.set_box_aspect(ax.get_box_aspect(), zoom=0.85)  # keeps space for the axis labels
    ax.tick_params(labelsize=8)
    draw_key(figure, [ax], colouring)
    return figure


def compare(result: Result, X: Rows, y: PerRow = None) -> Figure:
    """Plot the baseline's projection beside the optimised projection, on equal scales.

    Parameters
    ----------
    result : Result
        Result of an objective with a baseline, whose components are X M (P = M').
    X, y
        As in `projection`.

    Raises
    ------
    ldr.errors.ArgumentError
        The result has no baseline, or its components are not X M (P = M').
    """
    rows, columns = _grid(result.r, len(parts(result.P)))
    figure = new_figure(1.4 + 2 * _width(rows, columns), 1.4 + max(3.2, 1.8 * rows))
    draw_comparison(figure, result, X, y)
    return figure


def draw_comparison(figure: Figure | SubFigure, result: Result, X: Rows, y: PerRow = None) -> None:
    """Draw `compare` into a figure or a SubFigure."""
    X, y = by_index(result.objective, X, y)
    before = _baseline_projection(result, X)
    after = parts(result.transform(X))
    colouring = colouring_of(result, y, len(after[0]), X)
    width = inches(figure)
    key = key_width(colouring, result.r)
    widths = [(width - key) / 2, (width - key) / 2, key][: 3 if key > 0 else 2]
    left, right, *rest = figure.subfigures(1, len(widths), squeeze=False, width_ratios=widths)[0]
    left.suptitle(f"baseline: {result.baseline:.6g}", fontsize=11)
    gain = f"improvement {result.improvement:+.3g}"
    right.suptitle(f"optimised: {result.value:.6g}, {gain}", fontsize=11)
    extent = tuple(np.vstack(pair) for pair in zip(before, after, strict=True))
    names = axis_names(result)
    axes = _draw(left, before, colouring, extent, _plain(names))
    others = _draw(right, after, colouring, extent, names)
    if result.r == 1:  # for one component the two panels' histograms have the same height
        limits = [ax.get_ylim() for ax in (axes[0], others[0])]
        for ax in (axes[0], others[0]):
            ax.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))
    if rest:  # a third panel holds the legend
        draw_key(rest[0], others, colouring, alone=True)


def _baseline_projection(result: Result, X: Rows) -> tuple[Array, ...]:
    """Return the samples projected by the baseline, for maps P = M'."""
    if result.baseline is None:
        raise ArgumentError(f"objective {result.objective.name!r} has no baseline to compare with")
    if not result.objective.traits.transposed:
        raise ArgumentError(
            f"objective {result.objective.name!r} cannot be compared with its baseline: expected a "
            "method of orthogonal projections, such as orthogonal-lda, orthogonal-cca or sdr"
        )
    return parts(replace(result, P=result.baseline_P).transform(X))


def _grid(r: int, views: int) -> tuple[int, int]:
    """Return the numbers of rows and columns of panels."""
    r = min(r, _PANELS)
    if views > 1:
        return views - 1, r
    return (r, r) if r > 2 else (1, 1)


def _width(rows: int, columns: int) -> float:
    """Return the width of the panels, in inches."""
    return 4.4 if columns == 1 else (2.2 if rows > 1 else 3.0) * columns


Names = tuple[list[str], ...]


def axis_names(result: Result) -> Names:
    """Return the components' names by view, with their shares of the variance or scores."""
    columns = result.directions.columns()
    own = next(iter(result.directions.own.items()), None)
    views = len(result.directions.variations) if isinstance(result.P, tuple) else 1
    names = []
    called = result.directions.views or view_letters(views)
    for letter, name in zip(view_letters(views), called, strict=True) if views > 1 else [("", "")]:
        shares = columns.get(f"explained_variance_ratio{'_' * (views > 1)}{name}")
        symbols = [f"$y{f'^{letter}' * (views > 1)}_{{{k + 1}}}$" for k in range(result.r)]
        if result.directions.views:
            symbols = [f"{name} {k + 1}".replace("$", r"\$") for k in range(result.r)]
        if shares is not None:
            symbols = [
                f"{s}, {share:.1%} of the variance"
                for s, share in zip(symbols, shares, strict=True)
            ]
        elif own is not None and len(own[1]) == result.r:
            word = own[0].replace("_", " ")
            symbols = [
                f"{s}, {word} {number:.4g}" for s, number in zip(symbols, own[1], strict=True)
            ]
        names.append(symbols)
    return tuple(names)


def _plain(names: Names) -> Names:
    """Return only the symbols of the components."""
    return tuple([name.partition(",")[0] for name in of_view] for of_view in names)


def _draw(
    figure: FigureBase,
    Y: tuple[Array, ...],
    colouring: Colouring,
    extent: tuple[Array, ...],
    names: Names,
) -> list[Axes]:
    """Draw all panels of a projection; the axes also contain the samples of `extent`."""
    rows, columns = _grid(Y[0].shape[1], len(Y))
    axes = figure.subplots(rows, columns, squeeze=False)
    if len(Y) == 1 and rows > 1:
        _draw_matrix(axes, Y[0][:, :columns], colouring, extent[0], names[0])
    elif len(Y) == 1:
        _draw_one(axes[0, 0], Y, colouring, extent, names)
    else:
        if rows > 1:  # panels in several rows have no room for axis names
            names = tuple([name.replace(", ", "\n", 1) for name in of_view] for of_view in names)
        for i, of_view in enumerate(axes):
            both, extents = ((of[0], of[i + 1]) for of in (Y, extent))
            for k, ax in enumerate(of_view):
                _draw_one(ax, both, colouring, extents, (names[0], names[i + 1]), k)
    return list(axes.flat)


def _draw_one(
    ax: Axes,
    Y: tuple[Array, ...],
    colouring: Colouring,
    extent: tuple[Array, ...],
    names: Names,
    k: int = 0,
) -> None:
    """Draw a panel: pair k of two views, or one or two components."""
    if len(Y) > 1:
        _draw_pair(ax, Y[0][:, k], Y[1][:, k], colouring)
        ax.set_xlabel(names[0][k])
        ax.set_ylabel(names[1][k])
        _hold(ax, extent[0][:, k], extent[1][:, k])
    elif Y[0].shape[1] == 1:
        _draw_line(ax, Y[0][:, 0], colouring, names[0][0])
    else:
        draw_points(ax, colouring, Y[0][:, 0], Y[0][:, 1])
        _hold(ax, extent[0][:, 0], extent[0][:, 1])
        ax.set_xlabel(names[0][0])
        ax.set_ylabel(names[0][1])
        _one_scale(ax, extent[0])
    tidy(ax)


def _draw_line(ax: Axes, a: Array, colouring: Colouring, name: str) -> None:
    """Draw a component: its histogram, its time course, or a quantity against the component."""
    if colouring.quantity is None:
        _histogram(ax, a, colouring)
        labels = name, "number of rows"
    elif colouring.is_time:
        ax.plot(colouring.quantity, a, color=SINGLE, linewidth=1)
        labels = colouring.label, name
    else:
        draw_points(ax, Colouring(), a, colouring.quantity)
        labels = name, literal(colouring.label)
    write_quantity(ax.xaxis if colouring.is_time else ax.yaxis, colouring)
    ax.set_xlabel(labels[0])
    ax.set_ylabel(labels[1])


def _draw_pair(ax: Axes, a: Array, b: Array, colouring: Colouring) -> None:
    draw_points(ax, colouring, a, b)
    # A feature is constant if its values differ by rounding only.
    if all(np.std(each) > 1e-12 * np.abs(each).max() for each in (a, b)):
        correlation = float(np.corrcoef(a, b)[0, 1])
        ax.set_title(f"correlation {correlation:.3f}", fontsize=9)


def _draw_matrix(
    axes: np.ndarray, Y: Array, colouring: Colouring, extent: Array, names: list[str]
) -> None:
    """Draw a scatter matrix of all components, with histograms on the diagonal."""
    r = Y.shape[1]
    for i in range(r):
        for j in range(r):
            ax = axes[i, j]
            if i == j:
                _histogram(ax, Y[:, i], colouring)
                ax.set_yticks([])
                ax.margins(x=0.05)
                _hold(ax, extent[:, j])
            else:
                draw_points(ax, colouring, Y[:, j], Y[:, i])
                _hold(ax, extent[:, j], extent[:, i])
            ax.tick_params(labelbottom=i == r - 1, labelleft=j == 0)
            tidy(ax)
    for k in range(r):
        name = names[k].replace(", ", "\n", 1)
        axes[r - 1, k].set_xlabel(name, fontsize=9)
        axes[k, 0].set_ylabel(name, fontsize=9)


def _histogram(ax: Axes, a: Array, colouring: Colouring) -> None:
    groups = colouring.groups(len(a))
    edges = np.histogram_bin_edges(a, bins=min(60, max(10, int(len(a) ** 0.5))))
    opacity = 0.25 if len(groups) > 1 else 0.6
    for rows, colour, _, _ in groups:
        ax.hist(
            a[rows],
            bins=edges.tolist(),
            histtype="stepfilled",
            facecolor=(colour, opacity),
            edgecolor=colour,
            linewidth=1.2,
        )


def _one_scale(ax: Axes, Y: Array) -> None:
    """Give both axes equal scales, unless one component would become invisible."""
    low, high = sorted(np.ptp(Y[:, :2], axis=0))
    if high <= 4.0 * low:
        ax.set_aspect("equal", adjustable="datalim")


def _hold(ax: Axes, a: Array, b: Array | None = None) -> None:
    """Extend the limits of the axes to include the given values."""
    ends = np.array([a.min(), a.max()])
    others = ends if b is None else np.array([b.min(), b.max()])
    ax.update_datalim(np.column_stack([ends, others]), updatey=b is not None)
    ax.autoscale_view()


def side_by_side(comparison: Comparison, X: Rows, y: PerRow = None) -> Figure:
    """Plot two components of every method, and of baselines that differ from the optimum.

    Parameters
    ----------
    comparison : Comparison
        Each projection has a panel, titled with its first score.
    X, y
        As in `projection`; for two views the first pair of components is drawn.
    """
    judged = comparison.judged_by[0]
    panels: list[tuple[str, Result, Mapping[str, Array]]] = []
    for method in comparison.methods:
        panels.append((method.name, method.result, method.scores))
        if method.heuristic is not None and method.heuristic_scores is not None:
            panels.append((f"{method.name}: baseline", method.heuristic, method.heuristic_scores))
    columns = min(_PANELS, len(panels))
    rows = -(-len(panels) // columns)
    figure = new_figure(1.2 + 3.1 * columns, 0.6 + 3.0 * rows)
    axes: list[Axes] = list(np.ravel(figure.subplots(rows, columns, squeeze=False)))
    colouring = None
    for ax, (name, result, scores) in zip(axes, panels, strict=False):
        rows_of_X, labels = by_index(result.objective, X, y)
        background = Need.BACKGROUND in result.objective.needs
        Y = parts(result.transform(rows_of_X[0] if background else rows_of_X))
        colouring = colouring or colouring_of(result, labels, len(Y[0]))
        first = tuple(y[:, :2] for y in Y)
        _draw_one(ax, first, colouring, Y, _plain(axis_names(result)))
        ax.set_title(f"{name}\n{judged} {np.mean(scores[judged]):.3f}", fontsize=9)
    for ax in axes[len(panels) :]:
        ax.set_visible(False)
    assert colouring is not None
    draw_key(figure, axes[: len(panels)], colouring)
    return figure


def loadings(result: Result) -> Figure:
    """Plot the map P, or a factor model's loadings M, as a heat map: one row per feature.

    With ``standardise=True`` P and M are for the standardised columns. The heat map shows the 40
    features with the largest loadings, in the order of the columns. More than 100 features, or more
    than 40 with numeric names such as wavelengths, are drawn as lines, one for each component.

    Parameters
    ----------
    result : Result
        Each view has a panel; all panels share one colour scale.
    """
    if result.model is None:
        which, maps = "P", [P.T for P in maps_of(result)]
    else:
        which, maps = "M", [np.asarray(result.M)]
    if result.scale is not None:
        which += ", per standard deviation"
    names = result.feature_names if isinstance(result.P, tuple) else (result.feature_names,)
    numeric = all(_places(columns, 1)[1] == _NUMERIC for columns in names)
    if max(map(len, maps)) > (MOST_NAMES if numeric else 100):  # too many names to be legible
        return _lines(maps, names, which)
    rows = [longest(loading) for loading in maps]
    tallest = max(len(kept) for kept in rows)
    figure = new_figure((2.6 + 0.55 * result.r) * len(maps) + 0.8, 1.2 + 0.22 * max(tallest, 9))
    axes = figure.subplots(1, len(maps), squeeze=False)[0]
    largest = max(float(np.abs(loading).max()) for loading in maps) or 1.0
    called = result.directions.views or view_letters(len(maps))
    for ax, loading, kept, columns, view in zip(axes, maps, rows, names, called, strict=True):
        picture = ax.imshow(
            loading[kept], cmap="RdBu_r", vmin=-largest, vmax=largest, aspect="auto"
        )
        ax.set_yticks(range(len(kept)), column_names(columns, kept), fontsize=8)
        ax.set_xticks(range(result.r), [f"$y_{{{k + 1}}}$" for k in range(result.r)])
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        titles = [literal(view)] if len(maps) > 1 else []
        if len(kept) < len(loading):
            titles.append(f"{len(kept)} of {len(loading)} features")
        ax.set_title(", ".join(titles), fontsize=9)
    figure.colorbar(picture, ax=list(axes), fraction=0.05, pad=0.03, label=f"entry of {which}")
    return figure


def maps_of(result: Result) -> list[Array]:
    """Return P of each view, in units of standardised columns if the fit was standardised."""
    return [P * unit for P, unit in zip(parts(result.P), units_of(result), strict=True)]


def units_of(result: Result) -> list[float | Array]:
    """Return the scales of the columns of each view, or 1 if the fit was not standardised."""
    if result.scale is None:
        return [1.0] * len(parts(result.P))
    both = zip(as_tuple(result.scale), as_tuple(result.features), strict=True)
    return [scale if features is None else 1.0 for scale, features in both]


def _lines(maps: list[Array], names: Sequence[Sequence[str] | None], which: str) -> Figure:
    """Draw loadings as lines, one panel for each view; numeric names are positions on the axis."""
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
    """Return the positions of the columns on an axis, and the axis's label."""
    try:
        return np.array([float(name) for name in columns or ("",)]), _NUMERIC
    except (TypeError, ValueError):
        return np.arange(count, dtype=np.float64), "number of the feature"


def longest(loading: Array) -> np.ndarray:
    """Return the indices of the rows of a map with the largest loadings, in ascending order."""
    if len(loading) <= MOST_NAMES:
        return np.arange(len(loading))
    return np.sort(np.argsort(-np.linalg.norm(loading, axis=1), kind="stable")[:MOST_NAMES])


# Largest number of named features in a plot; features with the largest correlations are named.
_NAMED = 14
_NUMERIC = "feature"  # label of an axis of unnamed features


def biplot(result: Result, X: Rows, y: PerRow = None, *, ax: Axes | None = None) -> Figure:
    """Plot the samples by their first two components, and an arrow for each column.

    The coordinates of an arrow are the column's correlations with the two components, times a
    factor common to all arrows. Arrows point towards samples with large values of their column. At
    most 14 columns have arrows, those with the largest correlations.

    Parameters
    ----------
    result : Result
        Result of a single view, with r >= 2.
    X, y
        As in `projection`.
    ax : matplotlib Axes, optional

    Raises
    ------
    ldr.errors.ArgumentError
        There are several views, or only one component.
    """
    X, y = by_index(result.objective, X, y)
    Y, correlations = _with_columns(result, X)
    colouring = colouring_of(result, y, len(Y), X)
    panel = new_figure(7.2, 5.4).subplots() if ax is None else ax
    draw_points(panel, colouring, Y[:, 0], Y[:, 1])
    reach = np.abs(Y).max() / max(float(np.abs(correlations).max()), 1e-300)
    arrows = 0.9 * reach * correlations  # the longest arrow spans 0.9 of the samples' range
    kept = _draw_arrows(panel, arrows)
    _finish(panel, result)
    if ax is None:
        draw_key(figure_of(panel), [panel], colouring)
    else:
        key_inside(panel, colouring)
    _name_arrows(panel, arrows, kept, result)
    return figure_of(panel)


def correlation_circle(result: Result, X: Rows, *, ax: Axes | None = None) -> Figure:
    """Plot the correlations of each column with the first two components, in the unit circle.

    If components are uncorrelated (pca, lda, cca), an arrow's squared length is the share of the
    column's variance that the two components explain together. See `biplot` for the arguments.
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
    """Return the first two components (m, 2), and their correlations with the columns (d, 2)."""
    if isinstance(result.P, tuple) or result.r < 2:
        raise ArgumentError(
            "arrows for the columns of X require one view and r >= 2, got r = "
            f"{result.r}{' and several views' if isinstance(result.P, tuple) else ''}; use "
            "plots.loadings"
        )
    Y = parts(result.transform(X))[0][:, :2]
    rows = as_samples(X, "X", allow_nan=True).dense()
    centred = np.nan_to_num(rows - np.nanmean(rows, axis=0))  # a missing value counts as the mean
    deviations = Y - Y.mean(axis=0)
    sizes = np.outer(np.linalg.norm(centred, axis=0), np.linalg.norm(deviations, axis=0))
    products = centred.T @ deviations
    return Y, np.divide(products, sizes, out=np.zeros_like(products), where=sizes > 0)


def _draw_arrows(ax: Axes, arrows: Array, colour: str = HIGHLIGHT) -> np.ndarray:
    """Draw the longest arrows, and return their indices."""
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
    """Write the names at the ends of the arrows, within the axes and without overlap."""
    from matplotlib.patheffects import withStroke

    figure = figure_of(ax)
    ax.autoscale_view()
    figure.draw_without_rendering()  # matplotlib computes positions of artists when it draws
    texts = [
        note(
            ax,
            name,
            tuple(arrows[j]),
            (4.0 if arrows[j, 0] >= 0 else -4.0, 0.0),
            annotation_clip=False,
            ha="left" if arrows[j, 0] >= 0 else "right",
            va="center",
            fontsize=8,
            color=colour,
            path_effects=[withStroke(linewidth=2.0, foreground="white")],
        )
        for j, name in zip(kept, column_names(result.feature_names, kept), strict=True)
    ]
    extents = [text.get_window_extent() for text in texts]
    widths = np.array([extent.width + 8.0 for extent in extents]) / ax.bbox.width
    x, right = arrows[kept, 0], arrows[kept, 0] >= 0
    least, most = low, high = ax.get_xlim()
    for _ in range(6):  # the space for names and the axis limits depend on each other
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


def _apart(heights: Array, line: float = 9.5) -> Array:
    """Return positions at least `line` points apart, nearest to the given heights."""
    from scipy.optimize import isotonic_regression

    order = np.argsort(heights, kind="stable")
    steps = line * np.arange(len(heights))
    moved = np.empty(len(heights))
    moved[order] = isotonic_regression(heights[order] - steps).x + steps
    return moved


def _finish(ax: Axes, result: Result) -> None:
    first, second = axis_names(result)[0][:2]
    ax.set(xlabel=first, ylabel=second)
    ax.set_aspect("equal", adjustable="datalim")
    tidy(ax)


_EPS = float(np.finfo(float).eps)


def convergence(result: Result, *, ax: Panels = None) -> Figure:
    """Plot the distance to the best value, and the gradient norm, by iteration.

    Distances below machine precision are drawn at it. For a closed form a single point is drawn.

    Parameters
    ----------
    result : Result
    ax : pair of matplotlib Axes, optional
        Two panels; by default a new figure is made.
    """
    left, right = given_panels(ax, 2)
    if ax is None:
        figure_of(left).suptitle(_title(result), fontsize=11)
    values = np.asarray(result.history["value"])
    at = np.asarray(result.history["iteration"])
    # Values are joined by a line only if the solver reported all its iterations.
    style: Style = {**DOTTED, "linestyle": "-" if len(values) == result.iterations + 1 else ""}
    finish(left, "iteration", _draw_gap(left, result, at, values, style), whole=True)
    norms = np.asarray(result.history["gradient_norm"])
    positive = norms[norms > 0]
    if len(positive) > 0:
        right.set_yscale("log")
        norms = np.maximum(norms, positive.min())  # a logarithm needs positive values
    right.plot(at, norms, **style)
    finish(right, "iteration", "gradient norm", whole=True)
    if result.iterations == 0:
        for panel in (left, right):
            panel.set_xticks([0])
    return figure_of(left)


def improvement(results: Result | Sequence[Result], names: Sequence[str] = ()) -> Figure:
    """Plot the improvement over the baseline: one bar per result, labelled with both values.

    Parameters
    ----------
    results : Result or sequence of Result
        Results of objectives with a baseline.
    names : sequence of str, optional
        Names of the results; by default the names of their objectives.

    Raises
    ------
    ldr.errors.ArgumentError
        An objective has no baseline, or the number of names is wrong.
    """
    drawn = list(results) if isinstance(results, Sequence) else [results]
    labels = list(names) or [f"{result.objective.name}, r = {result.r}" for result in drawn]
    if not drawn or len(labels) != len(drawn):
        raise ArgumentError(f"names has {len(labels)} entries, expected one for each result")
    for result in drawn:
        if result.improvement is None:
            raise ArgumentError(f"objective {result.objective.name!r} has no baseline")
    gains = np.array([result.improvement for result in drawn], dtype=float)
    figure = new_figure(7.2, 0.7 + 0.42 * len(drawn))
    ax = figure.subplots()
    ax.barh([literal(label) for label in labels], gains, height=0.55, color=SINGLE)
    for row, result in enumerate(drawn):
        text = f"  {result.baseline:.6g} to {result.value:.6g} ({result.improvement:+.3g})"
        if abs(gains[row]) <= 1e-9:
            text = f"  {result.value:.6g}: the baseline is optimal"
        ax.annotate(text, (max(float(gains[row]), 0.0), row), va="center", fontsize=9)
    ax.axvline(0, color="black", linewidth=0.8)
    low, high = min(float(gains.min()), 0.0), max(float(gains.max()), 0.0)
    room = (high - low) or 1.0
    ax.set_xlim(low - 0.02 * room, high + 0.8 * room)  # leaves space for the printed values
    ax.set_ylim(len(drawn) - 0.4, -0.6)  # the first row of the table is drawn on top
    ax.set_xlabel("improvement over the baseline")
    tidy(ax)
    return figure


def _title(result: Result) -> str:
    shapes = " x ".join(str(len(M)) for M in parts(result.M))
    end = "converged" if result.converged else f"not converged ({result.status.name.lower()})"
    return f"{result.objective.name}, {shapes} to {result.r}, {result.solver}: {end}"


def _draw_gap(ax: Axes, result: Result, at: Array, values: Array, style: Style) -> str:
    """Draw the distances to the best value, and return the axis label."""
    best = float(np.min(values) if result.objective.sense == "min" else np.max(values))
    if not np.any(values != best):
        ax.plot(at, values, **style)
        return "value"
    floor = _EPS * max(abs(best), np.finfo(float).tiny)
    ax.semilogy(at, np.maximum(np.abs(values - best), floor), **style)
    if result.baseline is not None and abs(result.baseline - best) > floor:
        mark(ax, abs(result.baseline - best), "baseline")
    return "distance to the best value"


def path(found: Path, *, ax: Panels = None) -> Figure:
    """Plot value, baseline and held-out scores against r, with the elbow marked.

    Parameters
    ----------
    found : Path
        Result of `ldr.path`.
    ax : matplotlib Axes, or a pair of them if there are scores, optional
    """
    panels = given_panels(ax, 1 if found.scores is None else 2)
    r = np.array(found.dimensions)
    first = panels[0]
    first.plot(r, found.values, **DOTTED, label="optimised")
    proved = np.array([kind == "global" for kind in found.certificates])
    if not proved.all():
        hollow: Style = {"color": "white", "mec": SINGLE, "markersize": 4}
        first.plot(r[~proved], found.values[~proved], "o", **hollow, label="not proved global")
    if not np.allclose(found.baselines, found.values, rtol=1e-10, equal_nan=True):
        first.plot(r, found.baselines, **DASHED, marker="s", markersize=4, label="baseline")
    value = f"value ({found.results[0].objective.sense}imised)"
    finish(first, "r", value, whole=True, legend=True)
    if found.elbow is not None:
        mark_dimension(first, found.elbow, "elbow")
    if found.scores is not None and found.pooled is not None:
        pooled = np.where(np.isfinite(found.pooled), found.pooled, np.nan)
        panels[1].errorbar(r, pooled, yerr=found.errors, capsize=2, **DOTTED)
        finish(panels[1], "r", f"score of {found.scores.shape[1]} held-out folds", whole=True)
        if found.chosen is not None:
            word = "best" if found.chosen == found.best else "chosen"
            mark_dimension(panels[1], found.chosen, word)
    return figure_of(first)


def bootstrap(found: Bootstrap, *, ax: Panels = None) -> Figure:
    """Plot the principal angles of the draws, and the angles between random subspaces.

    Parameters
    ----------
    found : Bootstrap
        Result of `ldr.bootstrap`.
    ax : matplotlib Axes, or a pair of them for two views, optional
    """
    views, maps = parts(found.angles), parts(found.result.P)
    panels = given_panels(ax, len(views))
    called = found.result.directions.views or view_letters(len(views))
    for panel, angles, P, name in zip(panels, views, maps, called, strict=True):
        at = np.arange(1, angles.shape[1] + 1)
        for spread, width in ((0.05, 1.5), (0.25, 6.0)):
            low, high = np.degrees(np.quantile(angles, (spread, 1 - spread), axis=0))
            panel.vlines(at, low, high, color=SINGLE, linewidth=width, alpha=0.6)
        panel.plot(at, np.degrees(np.median(angles, axis=0)), "o", color=SINGLE, mec="white")
        random = np.degrees(_random_angles(P.shape[1], angles.shape[1]))
        panel.plot(at, random, **DASHED, marker="_", linewidth=1)
        end = (at[-1], random[-1])
        note(panel, "random subspaces", end, (0, 5), ha="right", color=HIGHLIGHT, fontsize=9)
        which = f" of view {name}" if len(views) > 1 else ""
        panel.set(xlabel=f"principal angle{which}", ylabel="degrees to the subspace of all rows")
        panel.set_title(f"median, 50 % and 90 % of {len(angles)} draws", fontsize=9)
        panel.set(xticks=at, xlim=(0.5, at[-1] + 0.5), ylim=(0, 96))
    return figure_of(panels[0])


def parallel_analysis(found: ParallelAnalysis, *, ax: Panels = None) -> Figure:
    """Plot the eigenvalues, and the range of eigenvalues of uncorrelated data.

    Parameters
    ----------
    found : ParallelAnalysis
        Result of `ldr.parallel_analysis`.
    ax : matplotlib Axes, optional
    """
    (panel,) = given_panels(ax, 1)
    at = np.arange(1, len(found.eigenvalues) + 1)
    low = found.null.min(axis=0)
    panel.fill_between(at, low, found.threshold, color=HIGHLIGHT, alpha=0.25, linewidth=0)
    panel.plot(at, found.threshold, **DASHED, linewidth=1, label="without correlations")
    panel.plot(at, found.eigenvalues, **DOTTED, label="data")
    finish(panel, "component", "eigenvalue", whole=True, legend=True)
    if found.r > 0:
        mark_dimension(panel, found.r, f"{found.r} stand out")
    panel.set_ylim(bottom=0)
    return figure_of(panel)


def _random_angles(d: int, r: int) -> Array:
    """Median principal angles between random r-dimensional subspaces of R^d."""
    rng = np.random.default_rng(0)
    pairs = [(rng.standard_normal((d, r)), rng.standard_normal((d, r))) for _ in range(100)]
    return np.asarray(np.median([principal_angles(A, B) for A, B in pairs], axis=0))


# Largest number of named samples in a plot; the most influential samples are named.
_NAMED_ROWS = 5


def solutions(found: Solutions, at: npt.ArrayLike | None = None, *, ax: Panels = None) -> Figure:
    """Plot the values of all problems, and the statistics of the components, if any.

    Parameters
    ----------
    found : Solutions
        Result of `ldr.solve_many`.
    at : sequence of numbers or dates, optional
        Position of each problem, such as the last row of each window; by default 0, 1, ...
    ax : matplotlib Axes, or a pair of them if components have statistics, optional
    """
    panels = given_panels(ax, 1 if found.numbers is None else 2)
    along = np.arange(len(found.values)) if at is None else np.asarray(at)
    where = "problem" if at is None else ""
    panels[0].plot(along, found.values, color=SINGLE, linewidth=1.0)
    finish(panels[0], where, f"value ({found.objective.sense}imised)")
    if found.numbers is not None:
        for k, numbers in enumerate(found.numbers.T):
            panels[1].plot(along, numbers, linewidth=1.0, label=f"component {k + 1}")
        finish(panels[1], where, "statistic of each component", legend=found.numbers.shape[1] > 1)
    return figure_of(panels[0])


def influence(found: Influence, *, ax: Panels = None) -> Figure:
    """Plot the influence of each row on the subspace and the value; the largest are labelled.

    Parameters
    ----------
    found : Influence
        Result of ``result.sensitivity(...).influence()``.
    ax : pair of matplotlib Axes, optional
    """
    panels = given_panels(ax, 2)
    shown = (
        (found.subspace, "movement of the subspace without the row"),
        (found.value, f"contribution to {found.name}'s value"),
    )
    for panel, (numbers, what) in zip(panels, shown, strict=True):
        rows = np.arange(len(numbers))
        panel.vlines(rows, 0.0, numbers, color=SINGLE, linewidth=0.8)
        for row in np.argsort(-np.abs(numbers))[:_NAMED_ROWS]:
            panel.plot(row, numbers[row], "o", color=HIGHLIGHT, markersize=4)
            name, right = literal(shortened(found.named(row))), 2 * row > len(numbers)
            style: Style = {"ha": "right" if right else "left", "va": "center", "fontsize": 8}
            note(panel, name, (row, numbers[row]), (-5 if right else 5, 0), **style)
        panel.margins(y=0.1)
        finish(panel, "row", what)
    return figure_of(panels[0])


def diagnosis(found: Diagnosis, *, ax: Panels = None) -> Figure:
    """Plot T2 of samples against Q, with both limits, and predictions against measurements.

    Parameters
    ----------
    found : ldr.Diagnosis
    ax : matplotlib Axes, or two of them if there are predictions, optional
    """
    panels = given_panels(ax, 1 if found.measured is None else 2)
    for some, colour in ((~found.outside, SINGLE), (found.outside, HIGHLIGHT)):
        panels[0].scatter(found.t2[some], found.q[some], s=14, color=colour)
    for row in np.flatnonzero(found.outside):
        note(panels[0], str(row), (found.t2[row], found.q[row]), (3, 3), fontsize=7)
    panels[0].axvline(found.t2_limit, color=HIGHLIGHT, linestyle="--", linewidth=1)
    if np.isfinite(found.q_limit):
        mark(panels[0], found.q_limit, f"limits at {found.level:g}")
    if max(found.t2.max() / found.t2_limit, found.q.max() / found.q_limit) > 100.0:
        panels[0].set_xscale("log")  # outliers would compress a linear axis
        panels[0].set_yscale("log")
    finish(panels[0], "Hotelling's T2", "Q, squared distance from the model")
    if found.measured is not None and found.predicted is not None:
        measured, predicted = np.ravel(found.measured), np.ravel(found.predicted)
        panels[1].scatter(measured, predicted, s=14, color=SINGLE)
        ends = [min(measured.min(), predicted.min()), max(measured.max(), predicted.max())]
        panels[1].plot(ends, ends, **DASHED, linewidth=1)
        finish(panels[1], "measured", "predicted")
    return figure_of(panels[0])


def permutation_test(found: PermutationTest, *, ax: Panels = None) -> Figure:
    """Plot the optimal values of permuted data, and the optimal value of the data.

    Parameters
    ----------
    found : PermutationTest
        Result of `ldr.permutation_test`.
    ax : matplotlib Axes, optional
    """
    panel = given_panels(ax, 1)[0]
    panel.hist(found.null, bins="auto", color=SINGLE, alpha=0.6, label="permuted")
    panel.axvline(found.value, color=HIGHLIGHT, label=f"data, p = {found.p_value:.3g}")
    finish(panel, f"value ({found.objective.sense}imised)", "permutations", legend=True)
    return figure_of(panel)


def dimension(found: Dimension, *, ax: Panels = None) -> Figure:
    """Plot the criterion of a rule against r, its threshold, and the chosen r.

    Parameters
    ----------
    found : Dimension
        Result of `ldr.dimension`.
    ax : matplotlib Axes, optional
    """
    panel = given_panels(ax, 1)[0]
    panel.plot(found.candidates, found.scores, **DOTTED)
    if found.threshold is not None:
        bar = np.broadcast_to(found.threshold, found.scores.shape)
        panel.plot(found.candidates, bar, **DASHED, label="threshold")
    finish(panel, "r", found.criterion, whole=True, legend=found.threshold is not None)
    mark_dimension(panel, found.r, found.rule)
    return figure_of(panel)


def intervals(found: Bootstrap, level: float = 0.9) -> Figure:
    """Plot every entry of the map with its interval; intervals without zero are highlighted.

    If there are more than 40 features, the 40 with the largest loadings are drawn. If the columns
    were standardised, the drawn map is that of the standardised columns.

    Parameters
    ----------
    found : Bootstrap
        Result of `ldr.bootstrap`.
    level : float
        Level of the intervals. Each component of each view has a panel.
    """
    from matplotlib.ticker import MaxNLocator

    result, several = found.result, isinstance(found.result.P, tuple)
    ends = found.interval(level) if several else (found.interval(level),)
    names = result.feature_names if several else (result.feature_names,)
    units, maps = units_of(result), maps_of(result)
    rows = [longest(P.T) for P in maps]
    tallest = max(len(kept) for kept in rows)
    figure = new_figure(2.6 * result.r * len(maps) + 1.0, 1.2 + 0.22 * max(tallest, 6))
    axes = figure.subplots(1, result.r * len(maps), squeeze=False)[0]
    views = zip(maps, ends, units, rows, names, strict=True)
    for v, (P, interval, unit, kept, columns) in enumerate(views):
        low, high = (end * unit for end in interval)
        for k in range(result.r):
            ax = axes[v * result.r + k]
            at = np.arange(len(kept))
            firm = (low[k, kept] > 0) | (high[k, kept] < 0)
            colours = np.where(firm, HIGHLIGHT, SINGLE)
            ax.hlines(at, low[k, kept], high[k, kept], colors=list(colours))
            ax.scatter(P[k, kept], at, c=list(colours), s=12)
            ax.axvline(0.0, color="0.7", linewidth=0.8)
            ax.set_yticks(at, column_names(columns, kept), fontsize=8)
            ax.set_title(f"$y_{{{k + 1}}}$", fontsize=10)
            ax.set_xlabel(f"entry of P, {level:.0%} interval", fontsize=8)
            ax.invert_yaxis()
            ax.xaxis.set_major_locator(MaxNLocator(4))
            tidy(ax)
    return figure
