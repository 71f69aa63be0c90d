"""Plots of a run, of a path of dimensions, of bootstrap and permutation results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ldr.component_table import view_letters
from ldr.plots.canvas import (
    DASHED,
    DOTTED,
    HIGHLIGHT,
    SINGLE,
    Style,
    column_names,
    figure_of,
    finish,
    given_panels,
    literal,
    mark,
    mark_dimension,
    new_figure,
    note,
    parts,
    shortened,
    tidy,
)
from ldr.plots.maps import longest, maps_of, units_of
from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds import Array
from ldr.subspaces import principal_angles
from ldr.types import Panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ldr.diagnosis import Diagnosis
    from ldr.dimension_rule import ParallelAnalysis
    from ldr.inference.bootstrap import Bootstrap
    from ldr.inference.dimension import Dimension
    from ldr.inference.many import Solutions
    from ldr.inference.permutation import PermutationTest
    from ldr.paths import Path
    from ldr.result import Result
    from ldr.sensitivity.influence import Influence


_EPS = float(np.finfo(float).eps)


def convergence(result: Result, *, ax: Panels = None) -> Figure:
    """Plot the distance to the best value, and the gradient norm, by iteration.

    Distances below the value's rounding error are drawn at this error. A closed form is one point.
    A closed form is one point.

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


# Number of samples that a plot names: those with the largest influence.
_NAMED = 5


def solutions(found: Solutions, at: npt.ArrayLike | None = None, *, ax: Panels = None) -> Figure:
    """Plot the values of all problems, and the scores of the components, if any.

    Parameters
    ----------
    found : Solutions
        Result of `ldr.solve_many`.
    at : sequence of numbers or dates, optional
        Position of each problem, such as the last row of each window; by default 0, 1, ...
    ax : matplotlib Axes, or a pair of them if components have scores, optional
    """
    panels = given_panels(ax, 1 if found.numbers is None else 2)
    along = np.arange(len(found.values)) if at is None else np.asarray(at)
    where = "problem" if at is None else ""
    panels[0].plot(along, found.values, color=SINGLE, linewidth=1.0)
    finish(panels[0], where, f"value ({found.objective.sense}imised)")
    if found.numbers is not None:
        for k, numbers in enumerate(found.numbers.T):
            panels[1].plot(along, numbers, linewidth=1.0, label=f"component {k + 1}")
        finish(panels[1], where, "score of each component", legend=found.numbers.shape[1] > 1)
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
        for row in np.argsort(-np.abs(numbers))[:_NAMED]:
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
    were standardised, entries of the map are per standard deviation.

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
