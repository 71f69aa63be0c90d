"""Pictures of many problems, and of a value beside those of nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ldr.plots.canvas import (
    HIGHLIGHT,
    SINGLE,
    Panels,
    figure_of,
    given_panels,
    literal,
    mark_dimension,
    new_figure,
    note,
    shortened,
    tidy,
    whole_ticks,
)
from ldr.plots.drawn import (
    DrawnBootstrap,
    DrawnDimension,
    DrawnInfluence,
    DrawnSolutions,
    DrawnTest,
)
from ldr.plots.maps import longest, maps_of, units_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Bins of a histogram of permuted values.
_BINS = 40
# Rows of most influence that are named.
_NAMED = 5


def solutions(
    found: DrawnSolutions, at: npt.ArrayLike | None = None, *, ax: Panels = None
) -> Figure:
    """The values along the problems, and the number of each direction where there is one.

    Parameters
    ----------
    found : Solutions
        Of `ldr.solve_many`.
    at : sequence of numbers or dates, optional
        Where each problem stands, say the last row of each window; by default 0, 1, ...
    ax : matplotlib Axes, or a pair of them where directions have numbers, optional
    """
    panels = given_panels(ax, 1 if found.numbers is None else 2)
    along = np.arange(len(found.values)) if at is None else np.asarray(at)
    panels[0].plot(along, found.values, color=SINGLE, linewidth=1.0)
    panels[0].set_ylabel(f"value ({found.objective.sense}imised)")
    if found.numbers is not None:
        for k, numbers in enumerate(found.numbers.T):
            panels[1].plot(along, numbers, linewidth=1.0, label=f"direction {k + 1}")
        panels[1].set_ylabel("own number of each direction")
        panels[1].legend(frameon=False, fontsize=9)
    for panel in panels:
        panel.set_xlabel("problem" if at is None else "")
        tidy(panel)
    return figure_of(panels[0])


def influence(found: DrawnInfluence, *, ax: Panels = None) -> Figure:
    """The influence of each row on the subspace and on the value, the largest by their numbers.

    Parameters
    ----------
    found : Influence
        Of ``result.sensitivity(...).influence()``.
    ax : pair of matplotlib Axes, optional
    """
    panels = given_panels(ax, 2)
    shown = (
        (found.subspace, "how far leaving it out moves the subspace"),
        (found.value, f"what it adds to {found.name}'s value"),
    )
    for panel, (numbers, what) in zip(panels, shown, strict=True):
        rows = np.arange(len(numbers))
        panel.vlines(rows, 0.0, numbers, color=SINGLE, linewidth=0.8)
        for row in np.argsort(-np.abs(numbers))[:_NAMED]:
            panel.plot(row, numbers[row], "o", color=HIGHLIGHT, markersize=4)
            above = numbers[row] >= 0
            name, offset = literal(shortened(found.named(row))), (0, 4 if above else -4)
            side = "bottom" if above else "top"
            note(panel, name, (row, numbers[row]), offset, ha="center", va=side, fontsize=8)
        panel.margins(y=0.1)
        panel.set(xlabel="row", ylabel=what)
        tidy(panel)
    return figure_of(panels[0])


def permutation_test(found: DrawnTest, *, ax: Panels = None) -> Figure:
    """The optima of permuted data, and where the optimum of the data stands.

    Parameters
    ----------
    found : PermutationTest
        Of `ldr.permutation_test`.
    ax : matplotlib Axes, optional
    """
    panel = given_panels(ax, 1)[0]
    panel.hist(found.null, bins=_BINS, color=SINGLE, alpha=0.6, label="permuted")
    panel.axvline(found.value, color=HIGHLIGHT, label=f"data, p = {found.p_value:.3g}")
    panel.set(xlabel=f"value ({found.objective.sense}imised)", ylabel="permutations")
    panel.legend(frameon=False, fontsize=9)
    tidy(panel)
    return figure_of(panel)


def dimension(found: DrawnDimension, *, ax: Panels = None) -> Figure:
    """What a rule looked at along r, what it was judged beside, and the dimension that it says.

    Parameters
    ----------
    found : Dimension
        Of `ldr.dimension`.
    ax : matplotlib Axes, optional
    """
    panel = given_panels(ax, 1)[0]
    panel.plot(found.candidates, found.scores, color=SINGLE, marker="o", markersize=4)
    if found.threshold is not None:
        bar = np.broadcast_to(found.threshold, found.scores.shape)
        panel.plot(found.candidates, bar, color=HIGHLIGHT, linestyle="--", label="threshold")
        panel.legend(frameon=False, fontsize=9)
    mark_dimension(panel, found.r, found.rule)
    panel.set(xlabel="r", ylabel=found.criterion)
    whole_ticks(panel)
    tidy(panel)
    return figure_of(panel)


def intervals(found: DrawnBootstrap, level: float = 0.9) -> Figure:
    """Every entry of the map with its interval; those that do not reach zero stand out.

    Of more than 40 features the 40 with the longest rows are shown; entries are per standard
    deviation of their columns where those were divided by it.

    Parameters
    ----------
    found : Bootstrap
        Of `ldr.bootstrap`.
    level : float
        Of the intervals.

    Returns
    -------
    matplotlib.figure.Figure
        With a panel for every coordinate of every view.
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
            labels = [columns[j] if columns else f"column {j}" for j in kept]
            ax.set_yticks(at, [literal(shortened(label)) for label in labels], fontsize=8)
            ax.set_title(f"$y_{{{k + 1}}}$", fontsize=10)
            ax.invert_yaxis()
            ax.xaxis.set_major_locator(MaxNLocator(4))
            tidy(ax)
    return figure
