"""Rows of the data taken together: views, background and response, for folds and for bootstraps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ldr.inputs import as_data
from ldr.objectives.data.data import Data
from ldr.objectives.data.labels import as_array, as_labels
from ldr.objectives.objective import Objective
from ldr.solvers.checks import whole
from ldr.solvers.errors import ArgumentError, DataError

Rows = npt.NDArray[np.intp]
# Of a jackknife.
_GROUPS = 100


@dataclass(frozen=True)
class Sampled:
    """An objective's data, from which rows can be taken.

    Attributes
    ----------
    objective : Objective
    data : Data
    """

    objective: Objective
    data: Data

    @classmethod
    def of(cls, objective: Objective, X: Any, y: Any, what: str) -> Sampled:
        """Refuse distances: their rows are columns too."""
        if "distances" in objective.needs:
            raise ArgumentError(f"objective {objective.name!r} is of distances: no {what}")
        data = as_data(objective, X, y)
        if data.y is not None and len(as_array(data.y)) != data.samples.n:
            raise DataError(f"y has {len(as_array(data.y))} entries for {data.samples.n} rows of X")
        return cls(objective, data)

    @property
    def n(self) -> int:
        return self.data.samples.n

    @property
    def ordered(self) -> bool:
        """Whether the rows are a time series."""
        return "time order" in self.objective.needs

    def all(self) -> Any:
        """X as `ldr.solve` takes it."""
        return self._joined(self.data.views, self.data.background)

    def take(self, rows: Rows, background: Rows | None = None) -> tuple[Any, Any]:
        """(X, y) of some rows; and of some rows of the background, all by default."""
        views = tuple(view.take(rows) for view in self.data.views)
        other = self.data.background
        if other is not None and background is not None:
            other = other.take(background)
        y = None if self.data.y is None else np.asarray(self.data.y)[rows]
        return self._joined(views, other), y

    @staticmethod
    def _joined(views: tuple[Any, ...], background: Any) -> Any:
        if background is not None:
            return views[0], background
        return views[0] if len(views) == 1 else views

    def classes(self) -> list[Rows]:
        """The rows of each class, for methods of labels; else all rows."""
        if "labels" not in self.objective.needs:
            return [np.arange(self.n)]
        codes, names = as_labels(self.data.y, self.n)
        return [np.flatnonzero(codes == k) for k in range(len(names))]

    def folds(self, count: int, rng: np.random.Generator) -> list[tuple[Rows, Rows]]:
        """(training, held out) of each fold: every class in all; time series in one piece each."""
        whole("folds", count, 2)
        smallest = min(len(rows) for rows in self.classes())
        if count > smallest:
            raise ArgumentError(
                f"folds = {count} is too large: expected at most {smallest}, the rows"
                f"{' of the smallest class' if 'labels' in self.objective.needs else ''}"
            )
        held = np.empty(self.n, dtype=np.intp)
        for rows in self.classes():
            held[rows] = np.arange(len(rows)) * count // len(rows)
            if not self.ordered:
                held[rows] = rng.permutation(held[rows])
        return [(np.flatnonzero(held != k), np.flatnonzero(held == k)) for k in range(count)]

    def without_groups(self, block: int | None) -> Iterator[Rows]:
        """The rows without each of at most 100 groups of equal size: of neighbours in a series."""
        order = np.arange(self.n) if block is not None else np.concatenate(self.classes())
        count = min(self.n, _GROUPS) if block is None else max(2, self.n // block)
        for k in range(count):
            left_out = order[k::count] if block is None else np.array_split(order, count)[k]
            yield np.setdiff1d(order, left_out)

    def draw(self, rng: np.random.Generator, block: int | None) -> tuple[Any, Any]:
        """(X, y) of rows drawn with replacement: within classes, or in blocks of a time series."""
        background = None
        if self.data.background is not None:
            background = rng.integers(self.data.background.n, size=self.data.background.n)
        if block is not None:
            return self.take(_blocks(self.n, block, rng), background)
        drawn = [rows[rng.integers(len(rows), size=len(rows))] for rows in self.classes()]
        return self.take(np.concatenate(drawn), background)


def _blocks(n: int, length: int, rng: np.random.Generator) -> Rows:
    """n rows in blocks of successive ones that start anywhere (the moving block bootstrap)."""
    starts = rng.integers(n - length + 1, size=-(-n // length))
    return (starts[:, None] + np.arange(length)).ravel()[:n]
