"""The demonstration: orthogonal LDA and its baseline on data sets of scikit-learn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from ldr.comparison import Comparison, compare
from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds import Array
from ldr.solving import solve

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURE = "ldr-demo.png"

NOTES = (
    "digits is reduced to its 30 leading principal components. The columns of wine and "
    "breast_cancer are divided by their standard deviations, because they have units. r is at "
    "most the number of classes minus one: further directions of the baseline are arbitrary. For "
    "r = 1 the baseline is optimal."
)


def data_sets() -> Iterator[tuple[str, Array, np.ndarray]]:
    """Yield name, X and y of digits, wine and breast_cancer, as described in `NOTES`."""
    from sklearn import datasets
    from sklearn.preprocessing import scale

    digits = datasets.load_digits()
    # Some pixels are blank in nearly every digit; a trace ratio would select exactly these pixels.
    pixels = solve("pca", digits.data, 30, certify=False).transform(digits.data)
    yield "digits", pixels, digits.target.astype(str)
    for name in ("wine", "breast_cancer"):
        data = getattr(datasets, f"load_{name}")()
        yield name, scale(data.data), data.target_names[data.target]


def compare_all(r: int) -> dict[str, Comparison]:
    """Solve orthogonal LDA of every data set; r is at most the number of classes minus 1."""
    if r < 1:
        raise ArgumentError(f"r must be at least 1, got {r}")
    found = {}
    for name, X, y in data_sets():
        n, d, classes = *X.shape, len(np.unique(y))
        most = min(r, classes - 1)
        title = f"{name}: {n} rows, {d} columns, {classes} classes, r = {most}"
        found[title] = compare(["orthogonal-lda"], X, y, most)
    return found


def picture(comparisons: Mapping[str, Comparison]) -> Figure:
    """Plot the baseline's projection beside the optimised one, one row for each data set."""
    from ldr.plots import draw_comparison, new_figure

    results = [found.methods[0].result for found in comparisons.values()]
    heights = [7.0 if result.r > 2 else 3.6 for result in results]
    figure = new_figure(14.0 if max(heights) > 4 else 9.5, sum(heights))
    rows = figure.subfigures(len(results), 1, squeeze=False, height_ratios=heights)[:, 0]
    for row, result, (title, found) in zip(rows, results, comparisons.items(), strict=True):
        row.suptitle(title, fontweight="bold", fontsize=11)
        draw_comparison(row, result, found.X, found.y)
    return figure
