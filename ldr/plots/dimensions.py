"""Pictures for choosing the dimension, and of how stable a subspace is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ldr.components import view_letters
from ldr.plots.canvas import (
    HIGHLIGHT,
    SINGLE,
    LineStyle,
    Panels,
    figure_of,
    given_panels,
    mark_dimension,
    note,
    parts,
    tidy,
    whole_ticks,
)
from ldr.plots.drawn import DrawnAnalysis, DrawnBootstrap, DrawnPath
from ldr.solvers.manifolds import Array
from ldr.subspaces import principal_angles

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def path(found: DrawnPath, *, ax: Panels = None) -> Figure:
    """Value and baseline against the dimension, the elbow marked; held-out scores beside them.

    Parameters
    ----------
    found : Path
        Of `ldr.path`.
    ax : matplotlib Axes, or a pair of them where there are scores, optional
    """
    panels = given_panels(ax, 1 if found.scores is None else 2)
    r = np.array(found.dimensions)
    first = panels[0]
    first.plot(r, found.values, color=SINGLE, marker="o", markersize=4, label="optimised")
    proved = np.array([kind == "global" for kind in found.certificates])
    if not proved.all():
        open_circles: LineStyle = {"color": "white", "mec": SINGLE, "markersize": 4}
        first.plot(
            r[~proved], found.values[~proved], "o", **open_circles, label="not proved global"
        )
    if not np.allclose(found.baselines, found.values, rtol=1e-10, equal_nan=True):
        style: LineStyle = {"linestyle": "--", "marker": "s", "markersize": 4}
        first.plot(r, found.baselines, color=HIGHLIGHT, label="heuristic", **style)
    first.legend(frameon=False, fontsize=9)
    objective = found.results[0].objective
    first.set_ylabel(f"value ({objective.sense}imised)")
    if found.elbow is not None:
        mark_dimension(first, found.elbow, "elbow")
    if found.scores is not None:
        _draw_scores(panels[1], r, found)
    for panel in panels:
        panel.set_xlabel("r")
        whole_ticks(panel)
        tidy(panel)
    return figure_of(first)


def bootstrap(found: DrawnBootstrap, *, ax: Panels = None) -> Figure:
    """The principal angles over the draws, beside those of random subspaces.

    Parameters
    ----------
    found : Bootstrap
        Of `ldr.bootstrap`.
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
        panel.plot(at, random, color=HIGHLIGHT, linestyle="--", marker="_", linewidth=1)
        end = (at[-1], random[-1])
        note(panel, "random subspaces", end, (0, 5), ha="right", color=HIGHLIGHT, fontsize=9)
        which = f" of view {name}" if len(views) > 1 else ""
        panel.set(xlabel=f"principal angle{which}", ylabel="degrees to the subspace of all rows")
        panel.set_title(f"median, 50 % and 90 % of {len(angles)} draws", fontsize=9)
        panel.set(xticks=at, xlim=(0.5, at[-1] + 0.5), ylim=(0, 96))
        tidy(panel)
    return figure_of(panels[0])


def parallel_analysis(found: DrawnAnalysis, *, ax: Panels = None) -> Figure:
    """The eigenvalues, and the range of those of data without correlations.

    Parameters
    ----------
    found : ParallelAnalysis
        Of `ldr.parallel_analysis`.
    ax : matplotlib Axes, optional
    """
    (panel,) = given_panels(ax, 1)
    at = np.arange(1, len(found.eigenvalues) + 1)
    low = found.null.min(axis=0)
    panel.fill_between(at, low, found.threshold, color=HIGHLIGHT, alpha=0.25, linewidth=0)
    style: LineStyle = {"color": HIGHLIGHT, "linestyle": "--", "linewidth": 1}
    panel.plot(at, found.threshold, **style, label="without correlations")
    panel.plot(at, found.eigenvalues, color=SINGLE, marker="o", markersize=4, label="data")
    panel.legend(frameon=False, fontsize=9)
    if found.r > 0:
        mark_dimension(panel, found.r, f"{found.r} stand out")
    panel.set(xlabel="component", ylabel="eigenvalue")
    whole_ticks(panel)
    panel.set_ylim(bottom=0)
    tidy(panel)
    return figure_of(panel)


def _draw_scores(ax: Axes, r: np.ndarray, found: DrawnPath) -> None:
    """Mean score of the folds with its standard error, the best marked."""
    assert found.scores is not None and found.best is not None
    errors = found.scores.std(axis=1, ddof=1) / found.scores.shape[1] ** 0.5
    means = found.scores.mean(axis=1)
    ax.errorbar(r, means, yerr=errors, color=SINGLE, marker="o", markersize=4, capsize=2)
    ax.set_ylabel(f"score of {found.scores.shape[1]} held-out folds")
    mark_dimension(ax, found.best, "best")


def _random_angles(d: int, r: int) -> Array:
    """Median principal angles between random r-dimensional subspaces of d dimensions."""
    rng = np.random.default_rng(0)
    pairs = [(rng.standard_normal((d, r)), rng.standard_normal((d, r))) for _ in range(100)]
    return np.asarray(np.median([principal_angles(A, B) for A, B in pairs], axis=0))
