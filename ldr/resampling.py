"""Rows of the data taken together: views, background and response, for folds and for bootstraps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from ldr.inputs import as_data
from ldr.objectives.data.data import Data
from ldr.objectives.data.labels import as_array
from ldr.objectives.data.marks import Marks
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need
from ldr.solvers.checks import whole
from ldr.solvers.errors import ArgumentError, DataError
from ldr.solvers.records import dataclass, replace
from ldr.types import PerRow, Rows, Splitter, XandY

Indices = npt.NDArray[np.intp]
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
    def of(
        cls,
        objective: Objective,
        X: Rows,
        y: PerRow,
        what: str,
        sample_weight: PerRow = None,
        groups: PerRow = None,
    ) -> Sampled:
        """Refuse distances: their rows are columns too."""
        if Need.DISTANCES in objective.needs:
            raise ArgumentError(f"objective {objective.name!r} is of distances: no {what}")
        data = as_data(objective, X, y, sample_weight, groups)
        if data.y is not None and len(as_array(data.y)) != data.samples.n:
            raise DataError(f"y has {len(as_array(data.y))} entries for {data.samples.n} rows of X")
        return cls(objective, data)

    @property
    def n(self) -> int:
        return self.data.samples.n

    @property
    def ordered(self) -> bool:
        """Whether the rows are a time series."""
        return Need.TIME_ORDER in self.objective.needs

    @property
    def trials(self) -> Indices | None:
        """The trial of each row, 0, 1, ...; None where there is one only, or no order."""
        marks = self.data.samples.marks
        return marks.codes if marks is not None and self.ordered else None

    def take(self, rows: Indices, background: Indices | None = None) -> XandY:
        """(X, y) of some rows; and of some rows of the background, all by default."""
        views = tuple(view.take(rows) for view in self.data.views)
        other = self.data.background
        if other is not None and background is not None:
            other = other.take(background)
        y = None if self.data.y is None else np.asarray(self.data.y)[rows]
        return Data(views, None, other).X, y

    def part(self, rows: Indices) -> XandY:
        """(X, y) of some rows in their order; of a series what does not follow on is a trial."""
        X, y = self.take(rows)
        runs = runs_of(rows, self.trials)
        if self.ordered and runs[-1] > 0:
            X = replace(X, marks=replace(X.marks or Marks(), trials=runs))
        return X, y

    def classes(self) -> list[Indices]:
        """The rows of each class, for methods of labels; else all rows."""
        if Need.LABELS not in self.objective.needs:
            return [np.arange(self.n)]
        codes, names = self.data.labels
        return [np.flatnonzero(codes == k) for k in range(len(names))]

    def folds(
        self, count: int | Splitter, rng: np.random.Generator, groups: PerRow = None
    ) -> list[tuple[Indices, Indices]]:
        """(training, held out) of each fold: every class in all; time series in one piece each.

        Of trials whole ones are held out. A splitter in the place of a count says itself, of y and
        the groups.
        """
        if hasattr(count, "split"):
            return self._split(count, groups)
        whole("folds", count, 2)
        if self.trials is not None:
            return self._folds_of_trials(self.trials, count, rng)
        smallest = min(len(rows) for rows in self.classes())
        if count > smallest:
            raise ArgumentError(
                f"folds = {count} is too large: expected at most {smallest}, the rows"
                f"{' of the smallest class' if Need.LABELS in self.objective.needs else ''}"
            )
        held = np.empty(self.n, dtype=np.intp)
        for rows in self.classes():
            held[rows] = np.arange(len(rows)) * count // len(rows)
            if not self.ordered:
                held[rows] = rng.permutation(held[rows])
        return [(np.flatnonzero(held != k), np.flatnonzero(held == k)) for k in range(count)]

    def _split(self, splitter: Splitter, groups: PerRow) -> list[tuple[Indices, Indices]]:
        y = None if self.data.y is None else as_array(self.data.y)
        try:
            parts = list(splitter.split(np.zeros((self.n, 1)), y, groups))
        except (TypeError, ValueError) as error:
            raise ArgumentError(
                f"folds = {splitter!r} does not split these rows: {error}"
            ) from error
        if len(parts) < 2:
            raise ArgumentError(
                f"folds = {splitter!r} has {len(parts)} fold, expected two at least"
            )
        return [(np.asarray(training), np.asarray(held)) for training, held in parts]

    def without_groups(self, block: int | None) -> Iterator[Indices]:
        """The rows without each of at most 100 groups of equal size: of neighbours in a series.

        Of trials without some of those.
        """
        if self.trials is not None:
            count = min(int(self.trials[-1]) + 1, _GROUPS)
            yield from (np.flatnonzero(self.trials % count != k) for k in range(count))
            return
        order = np.arange(self.n) if block is not None else np.concatenate(self.classes())
        count = min(self.n, _GROUPS) if block is None else max(2, self.n // block)
        for k in range(count):
            left_out = order[k::count] if block is None else np.array_split(order, count)[k]
            yield np.setdiff1d(order, left_out)

    @staticmethod
    def _folds_of_trials(
        trials: Indices, count: int, rng: np.random.Generator
    ) -> list[tuple[Indices, Indices]]:
        most = int(trials[-1]) + 1
        if count > most:
            raise ArgumentError(
                f"folds = {count} is too large: expected at most {most}, the number of trials"
            )
        held = rng.permutation(np.arange(most) * count // most)[trials]
        return [(np.flatnonzero(held != k), np.flatnonzero(held == k)) for k in range(count)]

    def draw(self, rng: np.random.Generator, block: int | None) -> XandY:
        """(X, y) of rows drawn with replacement: within classes, or in blocks of a time series.

        Of trials whole ones are drawn; one that is drawn twice is two.
        """
        if self.trials is not None:
            return self._drawn_trials(self.trials, rng)
        background = None
        if self.data.background is not None:
            background = rng.integers(self.data.background.n, size=self.data.background.n)
        if block is not None:
            return self.take(_blocks(self.n, block, rng), background)
        drawn = [rows[rng.integers(len(rows), size=len(rows))] for rows in self.classes()]
        return self.take(np.concatenate(drawn), background)

    def _drawn_trials(self, trials: Indices, rng: np.random.Generator) -> XandY:
        ends = np.searchsorted(trials, np.arange(trials[-1] + 2))
        drawn = rng.integers(len(ends) - 1, size=len(ends) - 1)
        rows = np.concatenate([np.arange(ends[k], ends[k + 1]) for k in drawn])
        X, y = self.take(rows)
        again = np.repeat(np.arange(len(drawn)), np.diff(ends)[drawn])
        return replace(X, marks=replace(X.marks, trials=again)), y


def runs_of(rows: Indices, trials: Indices | None = None) -> Indices:
    """0, 1, ... of ascending rows that follow on one another, within a trial."""
    ends = np.diff(rows) != 1
    if trials is not None:
        ends |= np.diff(trials[rows]) != 0
    return np.cumsum(np.append(False, ends))


def _blocks(n: int, length: int, rng: np.random.Generator) -> Indices:
    """n rows in blocks of successive ones that start anywhere (the moving block bootstrap)."""
    starts = rng.integers(n - length + 1, size=-(-n // length))
    return (starts[:, None] + np.arange(length)).ravel()[:n]
