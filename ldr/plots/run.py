"""Pictures of a run and of what it gained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ldr.plots.canvas import (
    SINGLE,
    LineStyle,
    Panels,
    figure_of,
    given_panels,
    literal,
    mark,
    new_figure,
    parts,
    tidy,
    whole_ticks,
)
from ldr.plots.drawn import Drawn
from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_EPS = float(np.finfo(float).eps)


def convergence(result: Drawn, *, ax: Panels = None) -> Figure:
    """How the run went: the distance to the best value, and the gradient norm, by iteration.

    Distances below the rounding of the value are drawn at that level. Of a closed form there is
    one point.

    Parameters
    ----------
    result : Result
    ax : pair of matplotlib Axes, optional
        For the two panels; by default a new figure.
    """
    left, right = given_panels(ax, 2)
    if ax is None:
        figure_of(left).suptitle(_title(result), fontsize=11)
    values = np.asarray(result.history["value"])
    at = np.asarray(result.history["iteration"])
    # A solver that reports its end only has fewer entries than iterations: no line between them.
    complete = len(values) == result.iterations + 1
    line = "-" if complete else ""
    style: LineStyle = {"color": SINGLE, "marker": "o", "markersize": 4, "linestyle": line}
    _draw_gap(left, result, at, values, style)
    _draw_gradient(right, at, np.asarray(result.history["gradient_norm"]), style)
    for panel in (left, right):
        panel.set_xlabel("iteration")
        if result.iterations > 0:
            whole_ticks(panel)
        else:
            panel.set_xticks([0])
        tidy(panel)
    return figure_of(left)


def improvement(results: Drawn | Sequence[Drawn], names: Sequence[str] = ()) -> Figure:
    """What was gained over the heuristic: a bar a result, with both values written beside it.

    Parameters
    ----------
    results : Result or sequence of Result
        Of objectives with a heuristic.
    names : sequence of str, optional
        Of the results; by default those of their objectives.

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
    ax.barh([literal(label) for label in labels], gains, height=0.55, color=SINGLE)
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
    tidy(ax)
    return figure


def _title(result: Drawn) -> str:
    shapes = " x ".join(str(len(M)) for M in parts(result.M))
    end = "converged" if result.converged else f"not converged ({result.status.name.lower()})"
    return f"{result.objective.name}, {shapes} to {result.r}, {result.solver}: {end}"


def _draw_gap(ax: Axes, result: Drawn, at: Array, values: Array, style: LineStyle) -> None:
    best = float(np.min(values) if result.objective.sense == "min" else np.max(values))
    if not np.any(values != best):
        ax.plot(at, values, **style)
        ax.set_ylabel("value")
        return
    floor = _EPS * max(abs(best), np.finfo(float).tiny)
    ax.semilogy(at, np.maximum(np.abs(values - best), floor), **style)
    ax.set_ylabel("distance to the best value")
    if result.baseline is not None and abs(result.baseline - best) > floor:
        mark(ax, abs(result.baseline - best), "heuristic")


def _draw_gradient(ax: Axes, at: Array, norms: Array, style: LineStyle) -> None:
    ax.set_ylabel("gradient norm")
    positive = norms[norms > 0]
    if len(positive) > 0:
        ax.set_yscale("log")
        norms = np.maximum(norms, positive.min())  # a logarithmic axis has no zero
    ax.plot(at, norms, **style)
