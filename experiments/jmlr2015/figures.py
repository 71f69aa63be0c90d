"""The paper's four figures, in its layout and colours, from the tables of the runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from experiments.jmlr2015 import planar, published
from experiments.jmlr2015.convergence import PAIRS, SOLVERS
from experiments.jmlr2015.recipes import METHODS
from experiments.jmlr2015.sweeps import D_OF_R_SWEEP, R_OF_D_SWEEP
from experiments.machine.store import Table
from ldr.files import write_figure

Axes = Any

# Colours that are distinct for colour-blind readers (Okabe and Ito).
COLOURS = {"pca": "#CC79A7", "lda": "#009E73", "cca": "#0072B2", "maf": "#D55E00"}
MARKERS = {"pca": "o", "lda": "s", "cca": "D", "maf": "^"}
PAIR_COLOURS = dict(zip(PAIRS, ("#D55E00", "#009E73", "#0072B2", "#000000"), strict=True))
SOLVER_COLOURS = dict(
    zip(SOLVERS, ("#0072B2", "#E69F00", "#CC79A7", "#D55E00", "#000000"), strict=True)
)
CLASS_COLOURS = ("#D55E00", "#009E73", "#0072B2")

# Factor by which a published point is moved to the right, so that both error bars are visible.
_ASIDE = 1.09

_ITERATIONS = (1, 2, 5, 10, 20, 50, 100, 200)

# Optimality gaps below this threshold are rounding errors.
_FLOOR = 1e-16

BASELINES = ("as-published", "true-eigenvectors")
_COLUMN = {"as-published": "improvement_published_code", "true-eigenvectors": "improvement_code"}


def improvement_column(baseline: str) -> str:
    """The column of the improvement over a baseline, as the paper's code divides."""
    return _COLUMN[baseline]


def sweep(table: Table, recipe: str, name: str) -> Table:
    """The rows of the sweep over "d" (at r = 3) or "r" (at d = 100) by one recipe."""
    fixed = {"r": R_OF_D_SWEEP} if name == "d" else {"d": D_OF_R_SWEEP}
    return table.where(recipe=recipe, **fixed)


def quartiles(table: Table, x: str, column: str) -> np.ndarray:
    """Rows (x, median, 25 % quantile, 75 % quantile) of a column, one for each point."""
    rows = [(at, *np.percentile(part[column], (50, 25, 75))) for at, part in table.groups(x)]
    return np.array(rows).reshape(-1, 4)


def figure1(table: Table, recipe: str, folder: Path) -> None:
    """Projections of two data sets, the heuristic's beside the optimised ones."""
    plt = pyplot()
    figure, axes = plt.subplots(2, 2, figsize=(8.5, 8.5), layout="constrained")
    of_recipe = table.where(recipe=recipe)
    wanted = (planar.PUBLISHED_SMALL, planar.PUBLISHED_STARK)
    for row, target in zip(axes, wanted, strict=True):
        found = planar.nearest(of_recipe, target)
        data, result = found.case.data(), planar.solve(found.case)
        centred = data.X - result.mean
        for ax, M, what, value in (
            (row[0], result.baseline_M, "heuristic", result.baseline),
            (row[1], result.M, "optimised", result.value),
        ):
            _scatter(ax, centred @ M, data.y)
            ax.set_title(f"{what}: tr(M'S$_B$M) / tr(M'S$_W$M) = {value:.4f}", fontsize=10)
        row[0].set_ylabel(
            f"data set {found.case.dataset}: improvement {found.improvement:.3f},\n"
            f"more than {100 * found.quantile:.1f} % of {len(of_recipe)} data sets",
            fontsize=10,
        )
    figure.suptitle(
        f"Figure 1. Orthogonal LDA, d = 3 to r = 2; data of the {recipe}\n"
        f"(published: improvements {wanted[0]} and {wanted[1]}, other data)",
        fontsize=11,
    )
    save(figure, folder / f"figure1-{recipe}")


def figure2(table: Table, recipe: str, baseline: str, folder: Path) -> None:
    """Improvement against d (A) and r (B)."""
    plt = pyplot()
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained", sharey=True)
    column = improvement_column(baseline)
    for ax, name, panel in zip(axes, ("d", "r"), ("2A", "2B"), strict=True):
        ax.axhline(0, color="0.4", linestyle="--", linewidth=1)
        part = sweep(table, recipe, name)
        _points(ax, part, name, column)
        for method in METHODS:
            _overlay(ax, panel, method)
        ax.set_xscale("log", base=2 if name == "d" else 10)
        _ticks(ax, name, part)
        ax.set_title("A" if name == "d" else "B", loc="left", fontweight="bold")
    axes[0].set_ylim(-0.02, 0.28)
    axes[0].set_ylabel("improvement over the baseline")
    _legend(axes[1])
    figure.suptitle(
        f"Figure 2. Data of the {recipe}; MAF's baseline {_in_words(baseline)}", fontsize=11
    )
    save(figure, folder / f"figure2-{recipe}-{baseline}")


def figure3(table: Table, recipe: str, folder: Path) -> None:
    """Seconds (A, B) and iterations (C, D) of the trust region against d and r."""
    plt = pyplot()
    figure, axes = plt.subplots(2, 2, figsize=(11, 8.4), layout="constrained")
    panels = (("A", "d", "time"), ("B", "r", "time"), ("C", "d", "count"), ("D", "r", "count"))
    for ax, (letter, name, what) in zip(axes.flat, panels, strict=True):
        part = sweep(table, recipe, name)
        _points(ax, with_totals(part), name, what)
        for method in METHODS:
            _overlay(ax, f"3{letter}", method)
        ax.set_xscale("log", base=2 if name == "d" else 10)
        _ticks(ax, name, part)
        if what == "time":
            ax.set_yscale("log")
        ax.set_ylabel("seconds" if what == "time" else "iterations, the start counted")
        ax.set_title(letter, loc="left", fontweight="bold")
    _legend(axes[0, 0], loc="upper left")
    figure.suptitle(
        f"Figure 3. Trust region to |gradient| = 1e-6 |value at the start|, data of the {recipe}\n"
        "seconds: sums over the rows, baseline and solver, one core "
        "(published: MATLAB, 2014)",
        fontsize=11,
    )
    save(figure, folder / f"figure3-{recipe}")


def with_totals(table: Table) -> Table:
    """The table with "time", what a user waits for, and "count", iterations as published."""
    if not table.columns:
        return table
    time = table["statistics_seconds"] + table["baseline_seconds"] + table["usual_seconds"]
    return Table({**table.columns, "time": time, "count": table["usual_iterations"] + 1})


def figure4(table: Table, recipe: str, folder: Path) -> None:
    """Gap against seconds (A) and iterations (B): the paper's pairs, then all solvers."""
    plt = pyplot()
    figure, axes = plt.subplots(2, 2, figsize=(11, 8.4), layout="constrained", sharey=True)
    of_recipe = table.where(recipe=recipe)
    everything = {(solver, "grassmann"): SOLVER_COLOURS[solver] for solver in SOLVERS}
    groups = ((axes[0], PAIR_COLOURS, "AB"), (axes[1], everything, "CD"))
    for row, colours, letters in groups:
        for (solver, manifold), colour in colours.items():
            part = of_recipe.where(solver=solver, manifold=manifold)
            if not len(part):
                continue
            median = median_run(part)
            steps, gaps = mean_gaps(part)
            # Curves of steepest descent on the two manifolds nearly coincide: one is dashed.
            drawn: dict[str, Any] = {"linestyle": "-", "color": colour}
            if manifold == "stiefel":
                drawn |= {"linestyle": "--", "zorder": 3}
            label = f"{solver}, {manifold}" if letters == "AB" else solver
            row[0].plot(1e3 * median["seconds"], _floored(median["gap"]), **drawn)
            row[1].plot(steps + 1, _floored(gaps), **drawn, label=label)
        row[0].set(xlabel="milliseconds (the median run)", ylabel="(f - f*) / f*")
        row[1].set(xlabel="iterations, the start counted (mean gap of all runs)")
        for ax, letter in zip(row, letters, strict=True):
            ax.set_yscale("log")
            ax.set_title(letter, loc="left", fontweight="bold")
        row[0].set_xscale("log")
        row[1].set_xscale("log")
        row[1].set_xticks(_ITERATIONS, [str(number) for number in _ITERATIONS])
        row[1].minorticks_off()
    axes[0, 1].plot(
        published.TRUST_REGION_ITERATIONS,
        1e-9,
        "o",
        markerfacecolor="white",
        color=PAIR_COLOURS["trust-region", "grassmann"],
        markersize=5,
        label="published: trust-region, grassmann",
    )
    for left, right in axes:  # the legend is in the lower left corner, where no curve is
        left.legend(*right.get_legend_handles_labels(), fontsize=8, loc="lower left")
    sets = len(np.unique(of_recipe["dataset"])) if len(of_recipe) else 0
    figure.suptitle(
        f"Figure 4. PCA, d = 100, r = 10, n = 100, {sets} data sets of the {recipe}", fontsize=11
    )
    save(figure, folder / f"figure4-{recipe}")


def median_run(runs: Table) -> Table:
    """The run that takes the median time to its end."""
    by_set = [(float(run["seconds"].max()), run) for _, run in runs.groups("dataset")]
    by_set.sort(key=lambda pair: pair[0])
    return by_set[(len(by_set) - 1) // 2][1]


def mean_gaps(runs: Table) -> tuple[np.ndarray, np.ndarray]:
    """The mean gap of all runs after each iteration; a run that has ended keeps its last gap."""
    longest = int(runs["iteration"].max())
    steps = np.arange(longest + 1)
    total = np.zeros(longest + 1)
    count = 0
    for _, run in runs.groups("dataset"):
        at = np.searchsorted(run["iteration"], steps, side="right") - 1
        total += np.maximum(run["gap"], 0.0)[at]
        count += 1
    return steps, total / count


def _floored(gaps: np.ndarray) -> np.ndarray:
    return np.maximum(gaps, _FLOOR)


def _points(ax: Axes, part: Table, x: str, column: str) -> None:
    """Medians with quartiles of every method."""
    for method in METHODS if part.columns else ():
        rows = quartiles(part.where(method=method), x, column)
        spread = np.abs(rows[:, 2:].T - rows[:, 1])
        ax.errorbar(
            rows[:, 0],
            rows[:, 1],
            spread,
            color=COLOURS[method],
            marker=MARKERS[method],
            markersize=5,
            capsize=3,
            linewidth=1.4,
            label=method.upper(),
        )


def _overlay(ax: Axes, panel: str, method: str) -> None:
    """The published medians and quartiles, small and open, a little to the right."""
    bars = published.bars(panel, method)
    medians = np.array([bar.median for bar in bars])
    spread = np.abs([[bar.low for bar in bars], [bar.high for bar in bars]] - medians)
    ax.errorbar(
        [_ASIDE * bar.x for bar in bars],
        medians,
        spread,
        color=COLOURS[method],
        linestyle="none",
        marker=MARKERS[method],
        markersize=3.5,
        markerfacecolor="white",
        linewidth=0.7,
        alpha=0.8,
    )


def _ticks(ax: Axes, name: str, part: Table) -> None:
    points = sorted({bar.x for bar in published.bars("2A" if name == "d" else "2B", "lda")})
    ax.set_xticks(points, [str(x) for x in points])
    ax.minorticks_off()
    ax.set_xlabel("d (r = 3)" if name == "d" else "r (d = 100)")


def _legend(ax: Axes, loc: str = "best") -> None:
    ax.plot([], [], "o", color="0.3", markersize=3.5, markerfacecolor="white", label="published")
    ax.legend(fontsize=9, loc=loc)


def _scatter(ax: Axes, Y: np.ndarray, y: Any) -> None:
    order = np.random.default_rng(0).permutation(len(Y))  # a random order puts no class on top
    ax.scatter(
        *Y[order].T,
        s=2,
        c=[CLASS_COLOURS[k] for k in y[order]],
        linewidths=0,
        alpha=0.6,
        rasterized=True,
    )
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_xticks([])
    ax.set_yticks([])


def _in_words(baseline: str) -> str:
    return "as published" if baseline == "as-published" else "with true eigenvectors"


def save(figure: Any, path: Path) -> None:
    """As PNG and PDF, and closed."""
    for ending in ("png", "pdf"):
        write_figure(path.with_name(f"{path.name}.{ending}"), figure, dpi=130)
    pyplot().close(figure)


def pyplot() -> Any:
    """matplotlib without a screen."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt
