"""Pictures of a result: the projected data, the map, the run, the heuristic beside the optimum.

Every function returns a matplotlib Figure that belongs to no window and no global state: show it
in a notebook by naming it, or write it with ``figure.savefig("name.png")``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ldr.alignment import by_index
from ldr.objectives.kernels import is_categorical
from ldr.objectives.samples import as_labels
from ldr.solvers.errors import ArgumentError, DataError
from ldr.solvers.manifolds import Array
from ldr.subspaces import principal_angles

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, FigureBase

    from ldr.choosing import ParallelAnalysis, Path
    from ldr.result import Result
    from ldr.stability import Bootstrap

# Distinguishable with any of the common kinds of colour blindness: Okabe and Ito's eight, then, for
# up to ten classes, Paul Tol's "muted". Markers differ too, so that colour is never the only clue.
_OKABE_ITO = (
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000", "#F0E442",
)  # fmt: skip
_MUTED = (
    "#332288", "#88CCEE", "#44AA99", "#117733", "#999933",
    "#DDCC77", "#CC6677", "#882255", "#AA4499", "#AAAAAA",
)  # fmt: skip
_MARKERS = "osD^v<>*ph"
_SINGLE = "#0072B2"
_HIGHLIGHT = "#D55E00"

_PANELS = 4  # coordinates in a scatter matrix, pairs of two views
_LEGEND = 40  # classes that a legend can hold
_FEATURES = 40  # rows of a heat map
_LETTERS = 28  # of a feature's name
_EPS = float(np.finfo(float).eps)


def projection(result: Result, X: Any, y: Any = None, *, ax: Any = None) -> Figure:
    """The projected rows: a histogram (r = 1), a scatter plot (2) or a scatter matrix (3 and more).

    Parameters
    ----------
    result : Result
    X : array, memory map, sparse matrix or DataFrame (m, d); a pair of them for two views
        Two views are drawn as pairs: coordinate k of the second against coordinate k of the first.
    y : array (m,), optional
        Labels (strings, booleans, whole numbers of at most 20 values) give a legend, quantities a
        colour bar. Without it, objectives of time series are coloured by row.
    ax : matplotlib Axes, optional
        Where to draw, if there is one panel only; by default a new figure.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ldr.errors.ArgumentError
        `ax` is given where several panels are needed.
    ldr.errors.DataError
        X or y do not fit the result.
    """
    X, y = by_index(result.objective, X, y)
    Y = _parts(result.transform(X))
    colouring = _colouring(result, y, len(Y[0]))
    if ax is None:
        rows, columns = _grid(Y)
        figure = new_figure(1.6 + _width(rows, columns), 1.0 + max(3.4, 2.0 * rows))
        axes = _draw(figure, Y, colouring, Y)
        _key(figure, axes, colouring)
        return figure
    if _grid(Y) != (1, 1):
        raise ArgumentError(f"ax= takes one panel, but r = {result.r} needs several: leave it out")
    _draw_one(ax, Y, colouring, Y)
    _key_inside(ax, colouring)
    return _root(ax)


def space(result: Result, X: Any, y: Any = None) -> Figure:
    """The first three coordinates of the projected rows, in perspective.

    Parameters
    ----------
    result : Result
        Of one view, with r >= 3.
    X, y
        As in `projection`.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ldr.errors.ArgumentError
        r is less than 3, or there are two views.
    """
    from matplotlib.ticker import MaxNLocator

    X, y = by_index(result.objective, X, y)
    Y = _parts(result.transform(X))
    if len(Y) > 1 or result.r < 3:
        raise ArgumentError(
            f"a picture in space needs one view and r >= 3, got {len(Y)} view(s) and r = {result.r}"
        )
    colouring = _colouring(result, y, len(Y[0]))
    figure = new_figure(6.4, 5.0)
    ax: Any = figure.add_subplot(projection="3d")
    _points(ax, colouring, Y[0][:, 0], Y[0][:, 1], Y[0][:, 2])
    for k, name in enumerate("xyz", start=1):
        getattr(ax, f"set_{name}label")(f"$y_{{{k}}}$")
        getattr(ax, f"{name}axis").set_major_locator(MaxNLocator(4))
    ax.set_aspect("equal")
    ax.set_box_aspect(ax.get_box_aspect(), zoom=0.85)  # room for the labels
    ax.tick_params(labelsize=8)
    _key(figure, [ax], colouring)
    return figure


def loadings(result: Result) -> Figure:
    """The map P as a heat map: a row a feature, a column a coordinate, white at zero.

    Of many features the 40 with the longest rows are shown, in their own order.

    Parameters
    ----------
    result : Result

    Returns
    -------
    matplotlib.figure.Figure
        With a panel a view, all on one scale of colours.
    """
    maps = [np.asarray(P).T for P in _parts(result.P)]
    names = result.feature_names if isinstance(result.P, tuple) else (result.feature_names,)
    rows = [_longest(loading) for loading in maps]
    tallest = max(len(kept) for kept in rows)
    figure = new_figure((2.6 + 0.55 * result.r) * len(maps) + 0.8, 1.2 + 0.22 * max(tallest, 6))
    axes = figure.subplots(1, len(maps), squeeze=False)[0]
    largest = max(float(np.abs(loading).max()) for loading in maps) or 1.0
    for ax, loading, kept, columns in zip(axes, maps, rows, names, strict=True):
        picture = ax.imshow(
            loading[kept], cmap="RdBu_r", vmin=-largest, vmax=largest, aspect="auto"
        )
        labels = [columns[j] if columns else f"column {j}" for j in kept]
        shown = [_literal(_shortened(label)) for label in labels]
        ax.set_yticks(range(len(kept)), shown, fontsize=8)
        ax.set_xticks(range(result.r), [f"$y_{{{k + 1}}}$" for k in range(result.r)])
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        if len(kept) < len(loading):
            ax.set_title(f"{len(kept)} of {len(loading)} features", fontsize=9)
    figure.colorbar(picture, ax=list(axes), fraction=0.05, pad=0.03, label="entry of P")
    return figure


def improvement(results: Result | Sequence[Result], names: Sequence[str] = ()) -> Figure:
    """What was gained over the heuristic: a bar a result, with both values written beside it.

    Parameters
    ----------
    results : Result or sequence of Result
        Of objectives with a heuristic.
    names : sequence of str, optional
        Of the results; by default those of their objectives.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ldr.errors.ArgumentError
        An objective has no heuristic, or there are not as many names as results.
    """
    drawn = list(results) if isinstance(results, Sequence) else [results]
    labels = list(names) or [f"{result.objective.name}, r = {result.r}" for result in drawn]
    if not drawn or len(labels) != len(drawn):
        raise ArgumentError(f"got {len(drawn)} results and {len(labels)} names, expected as many")
    for result in drawn:
        if result.improvement is None:
            raise ArgumentError(f"objective {result.objective.name!r} has no heuristic")
    gains = np.array([result.improvement for result in drawn], dtype=float)
    figure = new_figure(7.2, 0.7 + 0.42 * len(drawn))
    ax = figure.subplots()
    ax.barh([_literal(label) for label in labels], gains, height=0.55, color=_SINGLE)
    for row, result in enumerate(drawn):
        text = f"  {result.baseline:.6g} to {result.value:.6g} ({result.improvement:+.3g})"
        ax.annotate(text, (max(float(gains[row]), 0.0), row), va="center", fontsize=9)
    ax.axvline(0, color="black", linewidth=0.8)
    low, high = min(float(gains.min()), 0.0), max(float(gains.max()), 0.0)
    room = (high - low) or 1.0
    ax.set_xlim(low - 0.02 * room, high + 0.8 * room)  # for the values beside the bars
    ax.set_ylim(
        len(drawn) - 0.4, -0.6
    )  # the first on top, bars of one height whatever their number
    ax.set_xlabel("improvement over the heuristic")
    _tidy(ax)
    return figure


def convergence(result: Result, *, ax: Any = None) -> Figure:
    """How the run went: the distance to the best value, and the gradient norm, by iteration.

    Distances below the rounding of the value are drawn at that level. Of a closed form there is
    one point.

    Parameters
    ----------
    result : Result
    ax : pair of matplotlib Axes, optional
        For the two panels; by default a new figure.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ldr.errors.ArgumentError
        `ax` is not a pair.
    """
    if ax is None:
        figure = new_figure(8.4, 3.6)
        left, right = figure.subplots(1, 2)
        figure.suptitle(_title(result), fontsize=11)
    else:
        axes = list(np.ravel(np.asarray(ax, dtype=object)))
        if len(axes) != 2:
            raise ArgumentError(f"ax must be a pair of Axes, one a panel, got {len(axes)}")
        left, right = axes
        figure = _root(left)
    values = np.asarray(result.history["value"])
    at = np.asarray(result.history["iteration"])
    # A solver that reports its end only has fewer entries than iterations: no line between them.
    complete = len(values) == result.iterations + 1
    style = {"color": _SINGLE, "marker": "o", "markersize": 4, "linestyle": "-" if complete else ""}
    _draw_gap(left, result, at, values, style)
    _draw_gradient(right, at, np.asarray(result.history["gradient_norm"]), style)
    for panel in (left, right):
        panel.set_xlabel("iteration")
        if result.iterations > 0:
            panel.xaxis.get_major_locator().set_params(integer=True)
        else:
            panel.set_xticks([0])
        _tidy(panel)
    return figure


def compare(result: Result, X: Any, y: Any = None) -> Figure:
    """The heuristic's projection beside the optimised one, on the same scales.

    Parameters
    ----------
    result : Result
        Of an objective with a heuristic, whose maps are M'.
    X, y
        As in `projection`.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ldr.errors.ArgumentError
        There is no heuristic, or the map is not M'.
    """
    rows, columns = _grid(_parts(result.transform(X)))
    figure = new_figure(1.4 + 2 * _width(rows, columns), 1.4 + max(3.2, 1.8 * rows))
    draw_comparison(figure, result, X, y)
    return figure


def draw_comparison(figure: FigureBase, result: Result, X: Any, y: Any = None) -> None:
    """Draw `compare` into a figure, or into a part of one (a SubFigure)."""
    X, y = by_index(result.objective, X, y)
    before = _baseline_projection(result, X)
    after = _parts(result.transform(X))
    colouring = _colouring(result, y, len(after[0]))
    width = _inches(figure)
    key = _key_width(colouring, result.r)
    widths = [(width - key) / 2, (width - key) / 2, key][: 3 if key > 0 else 2]
    left, right, *rest = figure.subfigures(1, len(widths), squeeze=False, width_ratios=widths)[0]
    left.suptitle(f"heuristic: {result.baseline:.6g}", fontsize=11)
    gain = f"improvement {result.improvement:+.3g}"
    right.suptitle(f"optimised: {result.value:.6g}, {gain}", fontsize=11)
    extent = tuple(np.vstack(pair) for pair in zip(before, after, strict=True))
    axes = _draw(left, before, colouring, extent)
    others = _draw(right, after, colouring, extent)
    if result.r == 1:  # heights of histograms compare too
        limits = [ax.get_ylim() for ax in (axes[0], others[0])]
        for ax in (axes[0], others[0]):
            ax.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))
    if rest:  # beside the panels, so that both stay of one size
        _key(rest[0], others, colouring, alone=True)


# --- what to draw ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Colouring:
    """Colour of each row: by class, by a quantity, or none."""

    codes: np.ndarray | None = None
    names: tuple[str, ...] = ()
    quantity: Array | None = None
    label: str = ""
    is_time: bool = False

    def groups(self, n: int) -> list[tuple[np.ndarray, str, str, str | None]]:
        """(rows, colour, marker, name) of each class; one group without classes."""
        if self.codes is None:
            return [(np.arange(n), _SINGLE, "o", None)]
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


def _colouring(result: Result, y: Any, n: int) -> _Colouring:
    needs = result.objective.needs
    if y is None:
        if "time order" in needs:
            return _Colouring(quantity=np.arange(n, dtype=float), label="row", is_time=True)
        return _Colouring()
    array = np.asarray(y)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1 or len(array) != n:
        raise DataError(f"y has shape {np.shape(y)}, expected ({n},), one entry a row of X")
    if "labels" in needs or is_categorical(array):
        codes, classes = _classes(array, n)
        return _Colouring(codes=codes, names=tuple(_literal(str(c)) for c in classes))
    return _Colouring(quantity=array.astype(float), label="y")


def _classes(array: np.ndarray, n: int) -> tuple[np.ndarray, Any]:
    """Codes and names; unlike in the objectives, one class or a class of one row will do."""
    try:
        return as_labels(array, n)
    except DataError:
        classes, codes = np.unique(array.astype(str), return_inverse=True)
        return codes, classes


def _parts(Y: Any) -> tuple[Array, ...]:
    """The arrays of one view or of several, whatever container they are in."""
    return tuple(np.asarray(y) for y in (Y if isinstance(Y, tuple) else (Y,)))


def _baseline_projection(result: Result, X: Any) -> tuple[Array, ...]:
    """The rows under the heuristic's map, which is M' like the optimised one."""
    if result.baseline is None:
        raise ArgumentError(f"objective {result.objective.name!r} has no heuristic to compare with")
    optimised = zip(_parts(result.M), _parts(result.P), strict=True)
    if not all(np.allclose(P, M.T, atol=1e-12) for M, P in optimised):
        raise ArgumentError(
            f"objective {result.objective.name!r} maps by more than M'; comparison is for "
            "orthogonal projections, such as those of lda, cca, maf and sdr"
        )
    P = tuple(np.ascontiguousarray(M.T) for M in _parts(result.baseline_M))
    heuristic = replace(result, P=P if isinstance(result.P, tuple) else P[0])
    return _parts(heuristic.transform(X))


# --- figures and panels ---------------------------------------------------------------------------


def new_figure(width: float, height: float) -> Figure:
    """An empty figure in inches, outside pyplot's global state."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _inches(figure: Any) -> float:
    """Width of a figure or of a part of one."""
    return float(figure.bbox.width / figure.get_figure(root=True).dpi)


def _root(ax: Axes) -> Figure:
    figure = ax.get_figure(root=True)
    assert figure is not None
    return figure


def _grid(Y: tuple[Array, ...]) -> tuple[int, int]:
    """Rows and columns of panels."""
    r = min(Y[0].shape[1], _PANELS)
    if len(Y) > 1:
        return 1, r
    return (r, r) if r > 2 else (1, 1)


def _width(rows: int, columns: int) -> float:
    """Of the panels, in inches."""
    return 4.4 if columns == 1 else (2.2 if rows > 1 else 3.0) * columns


def _draw(
    figure: FigureBase, Y: tuple[Array, ...], colouring: _Colouring, extent: tuple[Array, ...]
) -> list[Axes]:
    """All panels of a projection, on axes that also hold the rows of `extent`."""
    rows, columns = _grid(Y)
    axes = figure.subplots(rows, columns, squeeze=False)
    if rows > 1:
        _draw_matrix(axes, Y[0][:, :columns], colouring, extent[0])
    else:
        for k, ax in enumerate(axes[0]):
            _draw_one(ax, Y, colouring, extent, k)
    return list(axes.flat)


def _draw_one(
    ax: Axes, Y: tuple[Array, ...], colouring: _Colouring, extent: tuple[Array, ...], k: int = 0
) -> None:
    """A panel: pair k of two views, or one or two coordinates."""
    if len(Y) > 1:
        _draw_pair(ax, Y[0][:, k], Y[1][:, k], colouring, k)
        _hold(ax, extent[0][:, k], extent[1][:, k])
    elif Y[0].shape[1] == 1:
        _draw_line(ax, Y[0][:, 0], colouring)
    else:
        _points(ax, colouring, Y[0][:, 0], Y[0][:, 1])
        _hold(ax, extent[0][:, 0], extent[0][:, 1])
        ax.set_xlabel("$y_1$")
        ax.set_ylabel("$y_2$")
        ax.set_aspect("equal", adjustable="datalim")
    _tidy(ax)


def _draw_line(ax: Axes, a: Array, colouring: _Colouring) -> None:
    """One coordinate: its histogram, its course in time, or the quantity against it."""
    if colouring.quantity is None:
        _histogram(ax, a, colouring)
        labels = "$y_1$", "number of rows"
    elif colouring.is_time:
        ax.plot(a, color=_SINGLE, linewidth=1)
        labels = "row", "$y_1$"
    else:
        _points(ax, _Colouring(), a, colouring.quantity)
        labels = "$y_1$", "y"
    ax.set_xlabel(labels[0])
    ax.set_ylabel(labels[1])


def _draw_pair(ax: Axes, a: Array, b: Array, colouring: _Colouring, k: int) -> None:
    _points(ax, colouring, a, b)
    ax.set_xlabel(f"$y^a_{{{k + 1}}}$")
    ax.set_ylabel(f"$y^b_{{{k + 1}}}$")
    spread = float(np.std(a) * np.std(b))
    if spread > 0:
        correlation = float(np.mean((a - a.mean()) * (b - b.mean()))) / spread
        ax.set_title(f"correlation {correlation:.3f}", fontsize=9)


def _draw_matrix(axes: np.ndarray, Y: Array, colouring: _Colouring, extent: Array) -> None:
    """Every coordinate against every other, histograms on the diagonal."""
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
                _points(ax, colouring, Y[:, j], Y[:, i])
                _hold(ax, extent[:, j], extent[:, i])
            ax.tick_params(labelbottom=i == r - 1, labelleft=j == 0)
            _tidy(ax)
    for k in range(r):
        axes[r - 1, k].set_xlabel(f"$y_{{{k + 1}}}$")
        axes[k, 0].set_ylabel(f"$y_{{{k + 1}}}$")


def _points(ax: Axes, colouring: _Colouring, *coordinates: Array) -> None:
    """The rows by two coordinates, or by three."""
    n = len(coordinates[0])
    size = float(np.clip(12000 / max(n, 1), 6, 26))
    alpha = float(np.clip(40 / max(n, 1) ** 0.5, 0.25, 0.85))
    style: dict[str, Any] = {"s": size, "linewidths": 0, "rasterized": n > 2000}
    scatter: Any = ax.scatter
    if colouring.quantity is not None:
        scatter(*coordinates, c=colouring.quantity, cmap="viridis", **style)
        return
    for rows, colour, marker, _ in colouring.groups(n):
        group = [coordinate[rows] for coordinate in coordinates]
        scatter(*group, color=colour, marker=marker, alpha=alpha, **style)


def _longest(loading: Array) -> np.ndarray:
    """The rows of a map that are worth showing, in their order."""
    if len(loading) <= _FEATURES:
        return np.arange(len(loading))
    return np.sort(np.argsort(-np.linalg.norm(loading, axis=1), kind="stable")[:_FEATURES])


def _literal(text: str) -> str:
    """Text that is drawn as it stands: what lies between two dollars would be a formula."""
    return text.replace("$", r"\$")


def _shortened(name: str) -> str:
    return name if len(name) <= _LETTERS else name[: _LETTERS - 1] + "…"


def _histogram(ax: Axes, a: Array, colouring: _Colouring) -> None:
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


def _key(
    figure: FigureBase, axes: Sequence[Axes], colouring: _Colouring, alone: bool = False
) -> None:
    """Legend of the classes or colour bar of the quantity; `alone` in a figure of its own."""
    if colouring.codes is not None:
        where = "center left" if alone else "outside right center"
        figure.legend(**_legend(colouring), loc=where)  # type: ignore[call-overload]
        return
    mappable = _coloured(axes)
    if mappable is not None and alone:
        figure.colorbar(mappable, cax=figure.add_axes((0.1, 0.2, 0.15, 0.6)), label=colouring.label)
    elif mappable is not None:
        figure.colorbar(mappable, ax=list(axes), label=colouring.label, fraction=0.05, pad=0.02)


def _key_inside(ax: Axes, colouring: _Colouring) -> None:
    """The key of a panel in somebody's figure, whose layout is not ours to change."""
    if colouring.codes is not None:
        ax.legend(**_legend(colouring) | {"frameon": True})
    elif (mappable := _coloured([ax])) is not None:
        _root(ax).colorbar(mappable, ax=ax, label=colouring.label)


def _key_width(colouring: _Colouring, r: int) -> float:
    """Inches that the key takes; a quantity has an axis of its own, and no key, where r is 1."""
    if colouring.codes is not None:
        columns = _legend(colouring)["ncols"]
        return float(columns * (0.5 + 0.085 * max(len(name) for name in colouring.names)))
    return 0.9 if colouring.quantity is not None and r > 1 else 0.0


def _coloured(axes: Sequence[Axes]) -> Any:
    """Points with a colour scale, if there are any."""
    points = [c for ax in axes for c in ax.collections if c.get_array() is not None]
    return points[0] if points else None


def _legend(colouring: _Colouring) -> dict[str, Any]:
    from matplotlib.lines import Line2D

    groups = colouring.groups(0)[:_LEGEND]
    left_out = len(colouring.names) - len(groups)
    handles = [
        Line2D([], [], color=colour, marker=marker, linestyle="none", markersize=5, label=name)
        for _, colour, marker, name in groups
    ]
    return {
        "handles": handles,
        "frameon": False,
        "fontsize": 9,
        "ncols": -(-len(handles) // 20),
        "handletextpad": 0.2,
        "title": f"and {left_out} more" if left_out > 0 else None,
    }


def _tidy(ax: Axes) -> None:
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=8)


def _hold(ax: Axes, a: Array, b: Array | None = None) -> None:
    """Let the axes reach over these values too."""
    ends = np.array([a.min(), a.max()])
    others = ends if b is None else np.array([b.min(), b.max()])
    ax.update_datalim(np.column_stack([ends, others]), updatey=b is not None)
    ax.autoscale_view()


# --- convergence ----------------------------------------------------------------------------------


def _title(result: Result) -> str:
    shapes = " x ".join(str(len(M)) for M in _parts(result.M))
    end = "converged" if result.converged else f"not converged ({result.status.name.lower()})"
    return f"{result.objective.name}, {shapes} to {result.r}, {result.solver}: {end}"


def _draw_gap(ax: Axes, result: Result, at: Array, values: Array, style: dict[str, Any]) -> None:
    best = float(np.min(values) if result.objective.sense == "min" else np.max(values))
    if not np.any(values != best):
        ax.plot(at, values, **style)
        ax.set_ylabel("value")
        return
    floor = _EPS * max(abs(best), np.finfo(float).tiny)
    ax.semilogy(at, np.maximum(np.abs(values - best), floor), **style)
    ax.set_ylabel("distance to the best value")
    if result.baseline is not None and abs(result.baseline - best) > floor:
        _mark(ax, abs(result.baseline - best), "heuristic")


def _mark(ax: Axes, height: float, text: str) -> None:
    """A labelled horizontal line."""
    ax.axhline(height, color=_HIGHLIGHT, linestyle="--", linewidth=1)
    ax.annotate(
        text,
        (1, height),
        xycoords=("axes fraction", "data"),
        xytext=(0, 3),
        textcoords="offset points",
        ha="right",
        color=_HIGHLIGHT,
        fontsize=9,
    )


def _draw_gradient(ax: Axes, at: Array, norms: Array, style: dict[str, Any]) -> None:
    ax.set_ylabel("gradient norm")
    positive = norms[norms > 0]
    if len(positive) > 0:
        ax.set_yscale("log")
        norms = np.maximum(norms, positive.min())  # a logarithmic axis has no zero
    ax.plot(at, norms, **style)


# --- choosing the dimension, and stability --------------------------------------------------------


def path(found: Path, *, ax: Any = None) -> Figure:
    """Value and baseline against the dimension, the elbow marked; held-out scores beside them.

    Parameters
    ----------
    found : Path
        Of `ldr.path`.
    ax : matplotlib Axes, or a pair of them where there are scores, optional
        By default a new figure.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ldr.errors.ArgumentError
        `ax` does not hold as many panels as are needed.
    """
    panels = _given_panels(ax, 1 if found.scores is None else 2)
    r = np.array(found.dimensions)
    first = panels[0]
    first.plot(r, found.values, color=_SINGLE, marker="o", markersize=4, label="optimised")
    proved = np.array([kind == "global" for kind in found.certificates])
    if not proved.all():
        open_circles: dict[str, Any] = {"color": "white", "mec": _SINGLE, "markersize": 4}
        first.plot(
            r[~proved], found.values[~proved], "o", **open_circles, label="not proved global"
        )
    if not np.allclose(found.baselines, found.values, rtol=1e-10, equal_nan=True):
        style: dict[str, Any] = {"linestyle": "--", "marker": "s", "markersize": 4}
        first.plot(r, found.baselines, color=_HIGHLIGHT, label="heuristic", **style)
    first.legend(frameon=False, fontsize=9)
    objective = found.results[0].objective
    first.set_ylabel(f"value ({objective.sense}imised)")
    if found.elbow is not None:
        _mark_dimension(first, found.elbow, "elbow")
    if found.scores is not None:
        _draw_scores(panels[1], r, found)
    for panel in panels:
        panel.set_xlabel("r")
        _whole_ticks(panel)
        _tidy(panel)
    return _root(first)


def bootstrap(found: Bootstrap, *, ax: Any = None) -> Figure:
    """The principal angles over the draws, beside those of random subspaces.

    Parameters
    ----------
    found : Bootstrap
        Of `ldr.bootstrap`.
    ax : matplotlib Axes, or a pair of them for two views, optional
        By default a new figure.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ldr.errors.ArgumentError
        `ax` does not hold as many panels as there are views.
    """
    views, maps = _parts(found.angles), _parts(found.result.P)
    panels = _given_panels(ax, len(views))
    for k, (panel, angles, P) in enumerate(zip(panels, views, maps, strict=True)):
        at = np.arange(1, angles.shape[1] + 1)
        for spread, width in ((0.05, 1.5), (0.25, 6.0)):
            low, high = np.degrees(np.quantile(angles, (spread, 1 - spread), axis=0))
            panel.vlines(at, low, high, color=_SINGLE, linewidth=width, alpha=0.6)
        panel.plot(at, np.degrees(np.median(angles, axis=0)), "o", color=_SINGLE, mec="white")
        random = np.degrees(_random_angles(P.shape[1], angles.shape[1]))
        panel.plot(at, random, color=_HIGHLIGHT, linestyle="--", marker="_", linewidth=1)
        panel.annotate(
            "random subspaces",
            (at[-1], random[-1]),
            xytext=(0, 5),
            textcoords="offset points",
            ha="right",
            color=_HIGHLIGHT,
            fontsize=9,
        )
        panel.set_xlabel("principal angle" + (f" of view {'ab'[k]}" if len(views) > 1 else ""))
        panel.set_ylabel("degrees to the subspace of all rows")
        panel.set_title(f"median, 50 % and 90 % of {len(angles)} draws", fontsize=9)
        panel.set_xticks(at)
        panel.set_xlim(0.5, at[-1] + 0.5)
        panel.set_ylim(0, 96)
        _tidy(panel)
    return _root(panels[0])


def parallel_analysis(found: ParallelAnalysis, *, ax: Any = None) -> Figure:
    """The eigenvalues, and the range of those of data without correlations.

    Parameters
    ----------
    found : ParallelAnalysis
        Of `ldr.parallel_analysis`.
    ax : matplotlib Axes, optional
        By default a new figure.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ldr.errors.ArgumentError
        `ax` is not one panel.
    """
    (panel,) = _given_panels(ax, 1)
    at = np.arange(1, len(found.eigenvalues) + 1)
    low = found.null.min(axis=0)
    panel.fill_between(at, low, found.threshold, color=_HIGHLIGHT, alpha=0.25, linewidth=0)
    style: dict[str, Any] = {"color": _HIGHLIGHT, "linestyle": "--", "linewidth": 1}
    panel.plot(at, found.threshold, **style, label="without correlations")
    panel.plot(at, found.eigenvalues, color=_SINGLE, marker="o", markersize=4, label="data")
    panel.legend(frameon=False, fontsize=9)
    if found.r > 0:
        _mark_dimension(panel, found.r, f"{found.r} stand out")
    panel.set_xlabel("component")
    panel.set_ylabel("eigenvalue")
    _whole_ticks(panel)
    panel.set_ylim(bottom=0)
    _tidy(panel)
    return _root(panel)


def _given_panels(ax: Any, count: int) -> list[Axes]:
    """The caller's axes, or those of a new figure."""
    if ax is None:
        return list(np.ravel(new_figure(4.4 * count, 3.6).subplots(1, count, squeeze=False)))
    axes = list(np.ravel(np.asarray(ax, dtype=object)))
    if len(axes) != count:
        wanted = "one Axes" if count == 1 else f"{count} Axes, one a panel"
        raise ArgumentError(f"ax must be {wanted}, got {len(axes)}")
    return axes


def _draw_scores(ax: Axes, r: np.ndarray, found: Path) -> None:
    """Mean score of the folds with its standard error, the best marked."""
    assert found.scores is not None and found.best is not None
    errors = found.scores.std(axis=1, ddof=1) / found.scores.shape[1] ** 0.5
    means = found.scores.mean(axis=1)
    ax.errorbar(r, means, yerr=errors, color=_SINGLE, marker="o", markersize=4, capsize=2)
    ax.set_ylabel(f"score of {found.scores.shape[1]} held-out folds")
    _mark_dimension(ax, found.best, "best")


def _mark_dimension(ax: Axes, r: int, text: str) -> None:
    """A labelled vertical line."""
    ax.axvline(r, color="0.5", linestyle=":", linewidth=1)
    ax.annotate(
        text,
        (r, 1),
        xycoords=("data", "axes fraction"),
        xytext=(4, -4),
        textcoords="offset points",
        va="top",
        color="0.35",
        fontsize=9,
    )


def _whole_ticks(ax: Axes) -> None:
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(integer=True))


def _random_angles(d: int, r: int) -> Array:
    """Median principal angles between random r-dimensional subspaces of d dimensions."""
    rng = np.random.default_rng(0)
    pairs = [(rng.standard_normal((d, r)), rng.standard_normal((d, r))) for _ in range(100)]
    return np.asarray(np.median([principal_angles(A, B) for A, B in pairs], axis=0))
