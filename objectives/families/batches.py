"""Objectives of pairs of rows, where the rows are read piece by piece: sums over batches of rows.

A pair of rows that are far apart in a file cannot be looked at. A piece is cut into batches, each
of rows spread over the whole piece, and the objective is the sum of its values on the batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import numpy as np

from ldr.objectives.coordinates import Axes
from ldr.objectives.data.cells import Cells
from ldr.objectives.data.data import Data
from ldr.objectives.data.labels import as_array, as_labels
from ldr.objectives.data.samples import Beside, Samples
from ldr.objectives.families.row_sum import InPieces, TermOfPoints
from ldr.objectives.problem import BoundObjective, Stated
from ldr.objectives.statistics.covariance import Variation
from ldr.objectives.statistics.sums import spread_rows
from ldr.solvers.errors import DataError
from ldr.solvers.manifolds import Array
from ldr.solvers.problem import Point, Problem
from ldr.solvers.records import dataclass, field, replace

# An evaluation takes time in proportion to it, for every row.
BATCH_ROWS = 250
# Rows in memory from which starts and units are found.
_SAMPLE_ROWS = 2000
# Rows in memory that stand for all where an objective is no sum over batches.
_STANDING_ROWS = 5000


class Template(Protocol):
    """A problem of some rows that can make the same of others."""

    def on(self, rows: Array, *beside: Cells, w: Array | None) -> Problem | None:
        """The problem of other rows, in the same coordinates; None where they say nothing."""


@dataclass(frozen=True)
class BatchTerm(TermOfPoints):
    """The sum of an objective over the batches of a piece."""

    template: Template

    def points(self, M: Array, rows: Samples, *beside: Cells) -> Iterator[Point]:
        batches = max(1, round(rows.n / BATCH_ROWS))
        # Classes may take turns: class by class, each batch has its share of every one.
        order = np.argsort(beside[0], kind="stable") if beside else np.arange(rows.n)
        for b in range(batches):
            batch = order[b::batches]
            X = np.asarray(rows.array[batch], dtype=np.float64)
            w = None if rows.weights is None else rows.weights[batch]
            problem = self.template.on(X, *(other[batch] for other in beside), w=w)
            if problem is not None:
                yield problem.at(M)


@dataclass(frozen=True)
class Batches(InPieces):
    """A sum over batches; its starts are those of a sample of rows.

    Parameters
    ----------
    sample : BoundObjective
        The problem of the sample.
    """

    sample: BoundObjective = field(kw_only=True)

    @property
    def exchangeable(self) -> bool:
        return self.sample.exchangeable

    def axes(self, M: Array, seen: Sequence[Variation | None]) -> Axes:
        return self.sample.axes(M, seen)

    def numbers(self, M: Array, axes: Axes, seen: Sequence[Variation | None]) -> dict[str, Array]:
        return self.sample.numbers(M, axes, seen)

    def baseline(self) -> Array | None:
        return self.sample.baseline()

    def starts(self) -> dict[str, Array]:
        return self.sample.starts()


def in_batches(
    objective: Stated,
    data: Data,
    r: int,
    *,
    smallest_class: int | None = None,
    bind: Callable[[Data, int], BoundObjective] | None = None,
) -> Batches:
    """The sum over batches, with labels beside the rows where classes are to be that large.

    `bind` makes the problem of a sample, in coordinates of all rows.
    """
    samples, labels = data.samples, None
    beside: tuple[Beside, ...] = ()
    chosen = spread_rows(samples.n, max(_SAMPLE_ROWS, samples.d))
    if smallest_class is not None:
        codes, _ = as_labels(data.y, samples.n, smallest_class=smallest_class)
        enough = np.bincount(codes[chosen], minlength=codes.max() + 1) >= smallest_class
        chosen = chosen[enough[codes[chosen]]]
        beside, labels = (codes,), codes[chosen]
    sample = (bind or objective.bind)(Data((samples.take(chosen),), labels), r)
    note = (
        "the rows are read at every evaluation: the value counts the pairs within batches of "
        f"{BATCH_ROWS} rows, not all pairs, and the starts are found on {len(chosen)} rows"
    )
    (view,) = sample.views
    without_rows = sample.restated(views=(replace(view, scatter=None),))
    return Batches(
        objective,
        (view.of_all(samples).noting(note),),
        sample.manifold,
        samples,
        BatchTerm(without_rows.emptied()),  # type: ignore[attr-defined]
        beside=beside,
        sample=sample,
        unit=sample.unit,
    )


def on_some_rows(objective: Stated, data: Data, r: int) -> BoundObjective:
    """The problem of a random sample of rows, which a note mentions."""
    samples, y = data.samples, data.y
    chosen = spread_rows(samples.n, _STANDING_ROWS)
    if y is not None:
        y = as_array(y)
        if y.ndim == 0 or len(y) != samples.n:
            raise DataError(
                f"y has shape {y.shape}, expected an entry for each of {samples.n} rows"
            )
        y = y[chosen]
    some = Data((samples.take(chosen),), y)
    objective.afford(some)
    problem = objective.bind(some, r)
    note = f"{objective.name} was solved on a random sample of {len(chosen)} of {samples.n} rows"
    (view,) = problem.views
    return problem.restated(views=(view.of_all(samples).noting(note),))
