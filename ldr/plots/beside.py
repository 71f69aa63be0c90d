"""Projections of several methods, and of their heuristics, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ldr.io.alignment import by_index
from ldr.objectives.parameters import Need
from ldr.plots.canvas import new_figure, parts
from ldr.plots.colouring import colouring_of, draw_key
from ldr.plots.drawn import Drawn, DrawnComparison
from ldr.plots.rows import draw_first
from ldr.solvers.manifolds import Array
from ldr.types import PerRow, Rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLUMNS = 4


def side_by_side(comparison: DrawnComparison, X: Rows, y: PerRow = None) -> Figure:
    """The first two coordinates of every method, and of its heuristic where that is another.

    Parameters
    ----------
    comparison : Comparison
    X, y
        As in `projection`; of two views the first pair of coordinates is drawn.

    Returns
    -------
    matplotlib.figure.Figure
        A panel a projection, with its first score.
    """
    judged = comparison.judged_by[0]
    panels: list[tuple[str, Drawn, Mapping[str, Array]]] = []
    for method in comparison.methods:
        panels.append((method.name, method.result, method.scores))
        if method.heuristic is not None and method.heuristic_scores is not None:
            panels.append((f"{method.name}: heuristic", method.heuristic, method.heuristic_scores))
    columns = min(_COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    figure = new_figure(1.2 + 3.1 * columns, 0.6 + 3.0 * rows)
    axes: list[Axes] = list(np.ravel(figure.subplots(rows, columns, squeeze=False)))
    colouring = None
    for ax, (name, result, scores) in zip(axes, panels, strict=False):
        rows_of_X, labels = by_index(result.objective, X, y)
        background = Need.BACKGROUND in result.objective.needs
        Y = parts(result.transform(rows_of_X[0] if background else rows_of_X))
        colouring = colouring or colouring_of(result, labels, len(Y[0]))
        draw_first(ax, result, Y, colouring)
        ax.set_title(f"{name}\n{judged} {np.mean(scores[judged]):.3f}", fontsize=9)
    for ax in axes[len(panels) :]:
        ax.set_visible(False)
    assert colouring is not None
    draw_key(figure, axes[: len(panels)], colouring)
    return figure
