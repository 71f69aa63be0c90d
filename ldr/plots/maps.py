"""Pictures of the linear map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ldr.objectives.data.data import as_tuple
from ldr.plots.canvas import literal, new_figure, parts, shortened, tidy
from ldr.plots.drawn import Drawn
from ldr.solvers.manifolds import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_FEATURES = 40  # rows of a heat map
_LINES = 100  # features beyond which each coordinate is a line


def loadings(result: Drawn) -> Figure:
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


def maps_of(result: Drawn) -> list[Array]:
    """P of each view, of divided columns where the columns were divided: units do not count."""
    return [P * unit for P, unit in zip(parts(result.P), units_of(result), strict=True)]


def units_of(result: Drawn) -> list[float | Array]:
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
