"""The demonstration: orthogonal LDA and its baseline on data sets of scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ldr.comparison import compare
from ldr.files import write_figure
from ldr.result import Result
from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds import Array
from ldr.solvers.status import Status
from ldr.solving import solve
from ldr.tables import beside

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURE = "ldr-demo.png"

NOTES = (
    "digits: its 30 leading principal components; wine, breast_cancer: columns divided by their "
    "standard deviations, because they have units. r is at most the number of classes minus one, "
    "beyond which the baseline's directions are arbitrary; for r = 1 the baseline is optimal and "
    "cannot be improved. Accuracy is that of the five nearest training samples, over five held-out "
    "folds."
)


class DataSet(NamedTuple):
    """Labelled samples with a name; y holds names of classes."""

    name: str
    X: Array
    y: np.ndarray

    @property
    def classes(self) -> int:
        return len(np.unique(self.y))


def data_sets() -> list[DataSet]:
    """Yield digits, wine and breast_cancer, as described in `NOTES`."""
    from sklearn import datasets
    from sklearn.preprocessing import scale

    digits = datasets.load_digits()
    # Some pixels are blank in nearly every digit; a trace ratio would select exactly these pixels.
    pixels = solve("pca", digits.data, 30, certify=False).transform(digits.data)
    found = [DataSet("digits", pixels, digits.target.astype(str))]
    for name in ("wine", "breast_cancer"):
        data = getattr(datasets, f"load_{name}")()
        found.append(DataSet(name, scale(data.data), data.target_names[data.target]))
    return found


def solve_all(r: int, show_progress: bool = False) -> list[tuple[DataSet, Result]]:
    """Solve orthogonal LDA of every data set; r is at most the number of classes minus 1."""
    if r < 1:
        raise ArgumentError(f"r must be at least 1, got {r}")
    from ldr.observers import Progress

    solved = []
    for data in data_sets():
        with Progress() as progress:
            followed = [progress] if show_progress else []
            most = min(r, data.classes - 1)
            result = solve("orthogonal-lda", data.X, most, y=data.y, observers=followed)
        if result.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        solved.append((data, result))
    return solved


def table(solved: Sequence[tuple[DataSet, Result]]) -> str:
    """Return the table of problems and results, with one column for each data set."""
    columns = {data.name: _column(data, result) for data, result in solved}
    names = {"data set": list(columns[solved[0][0].name])}
    cells = {name: list(column.values()) for name, column in columns.items()}
    return "\n".join(["Orthogonal LDA: max tr(M'S_B M) / tr(M'S_W M)\n", *beside(names | cells)])


def picture(solved: Sequence[tuple[DataSet, Result]]) -> Figure:
    """Plot the baseline's projection beside the optimised one, one row for each data set."""
    from ldr.plots import draw_comparison, new_figure

    heights = [7.0 if result.r > 2 else 3.6 for _, result in solved]
    figure = new_figure(14.0 if max(heights) > 4 else 9.5, sum(heights))
    rows = figure.subfigures(len(solved), 1, squeeze=False, height_ratios=heights)[:, 0]
    for row, (data, result) in zip(rows, solved, strict=True):
        n, d = data.X.shape
        row.suptitle(
            f"{data.name}: {n} rows, {d} columns, {data.classes} classes, to {result.r}",
            fontweight="bold",
            fontsize=11,
        )
        draw_comparison(row, result, data.X, data.y)
    return figure


def save_picture(solved: Sequence[tuple[DataSet, Result]], folder: Path) -> Path:
    """Write the plot of `picture` to a file in a folder, and return the file's path."""
    path = folder / PICTURE
    write_figure(path, picture(solved), dpi=100)
    return path


def _column(data: DataSet, result: Result) -> dict[str, str]:
    assert result.baseline is not None and result.improvement is not None
    assert result.certificate is not None
    n, d = data.X.shape
    before, after = _accuracies(data, result.r)
    return {
        "rows n": str(n),
        "columns d": str(d),
        "classes": str(data.classes),
        "dimensions r": str(result.r),
        "baseline": f"{result.baseline:.6f}",
        "optimised": f"{result.value:.6f}",
        "improvement": f"{100 * result.improvement:+.2f} %",
        "accuracy before": f"{before:.3f}",
        "accuracy after": f"{after:.3f}",
        "certificate": result.certificate.kind,
        "solver": result.solver,
        "iterations": str(result.iterations),
        "seconds": f"{result.seconds:.3f}",
    }


def _accuracies(data: DataSet, r: int) -> tuple[float, float]:
    """Return the accuracies of the baseline and of the optimum on held-out rows."""
    (method,) = compare(["orthogonal-lda"], data.X, data.y, r, random_state=0).methods
    # Methods whose baseline is optimal have no separate scores of the baseline.
    scores = (method.heuristic_scores or method.scores, method.scores)
    before, after = (float(next(iter(each.values())).mean()) for each in scores)
    return before, after
