"""Resampling: samples that are held out, drawn, permuted or shifted in groups."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy

from ldr.inputs import data_in_order, in_order, trials_of
from ldr.objectives.data.data import Data, as_tuple, single
from ldr.objectives.data.opening import brought
from ldr.objectives.data.sample_metadata import Marks, as_array
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import OF_Y, Need
from ldr.solvers.errors import ArgumentError, DataError
from ldr.trial_layout import known_trials
from ldr.types import PerRow, Rows, XandY

Indices = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Resampling:
    """Draws with replacement, permutations and shifts of samples in groups."""

    groups: Indices  # group of each sample: consecutive integers from 0, shape (n,)
    classes: Indices | None = None  # stratum of each sample; groups are drawn within strata

    @cached_property
    def sizes(self) -> Indices:
        return np.bincount(self.groups)

    @cached_property
    def _places(self) -> Indices:
        """Indices of the samples of the first group, then of the second, and so on."""
        return np.argsort(self.groups, kind="stable")

    @cached_property
    def _starts(self) -> Indices:
        return np.cumsum(self.sizes) - self.sizes

    def of_groups(self, y: np.ndarray) -> np.ndarray | None:
        """Return the y of each group, or None if y varies within a group."""
        firsts = y[self._places[self._starts]]
        return firsts if (y == firsts[self.groups]).all() else None

    @cached_property
    def _strata(self) -> list[Indices]:
        """Groups of each class, or all groups if classes vary within groups."""
        of_groups = None if self.classes is None else self.of_groups(self.classes)
        if of_groups is None:
            return [np.arange(len(self.sizes))]
        return [np.flatnonzero(of_groups == k) for k in np.unique(of_groups)]

    def drawn(self, rng: np.random.Generator) -> tuple[Indices, Indices]:
        """Draw groups with replacement within classes; return samples and their draw's number."""
        parts = [k[rng.integers(len(k), size=len(k))] for k in self._strata]
        groups = np.concatenate(parts)
        sizes = self.sizes[groups]
        at = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        samples = self._places[np.repeat(self._starts[groups], sizes) + at]
        return samples, np.repeat(np.arange(len(groups)), sizes)

    def left_out(self) -> Iterator[Indices]:
        """Yield the samples that remain if one of at most 100 parts of the groups is omitted."""
        order = np.concatenate(self._strata)
        count = min(len(order), 100)
        for k in range(count):
            yield np.flatnonzero(~np.isin(self.groups, order[k::count]))

    def permuted(
        self, null: str, count: int, rng: np.random.Generator, alike: bool = False
    ) -> Indices:
        """Draw orders (count, n) of the samples, by a key of `NULLS` of the permutation test.

        If `alike`, groups are exchanged only with groups of equal size. If not, y must be constant
        in groups; a longer group repeats the last sample of a shorter substitute.
        """
        if null in ("rows", "within"):
            return _shuffled(self.groups * (null == "within"), count, rng)
        at = np.arange(len(self.groups)) - np.repeat(self._starts, self.sizes)
        starts, group = self._starts, self.groups[self._places]
        if null == "shift":
            steps = rng.integers(self.sizes, size=(count, len(self.sizes)))
            found = self._places[starts[group] + (at + steps[:, group]) % self.sizes[group]]
        else:
            others = _shuffled(self.sizes * alike, count, rng)[:, group]
            found = self._places[starts[others] + np.minimum(at, self.sizes[others] - 1)]
        orders = np.empty_like(found)
        orders[:, self._places] = found
        return orders

    def arrangements(self, null: str, y: np.ndarray | None) -> float:
        """Count the distinct data sets that permutations of y (None: of a view) can give."""
        classes, moved = self.groups, y
        if null == "groups":
            classes = self.sizes if y is None else np.zeros_like(self.sizes)
            moved = None if y is None else y[self._places[self._starts]]
        codes = np.arange(len(classes)) if moved is None else _codes(moved)
        of_classes = np.bincount(classes)
        alike = np.unique(np.stack([classes, codes]), axis=1, return_counts=True)[1]
        of_all, of_equal = (np.sum(scipy.special.gammaln(k + 1)) for k in (of_classes, alike))
        logarithm = of_all - of_equal
        return float(np.rint(np.exp(logarithm)) if logarithm < 30 else np.inf)


def _shuffled(classes: Indices, count: int, rng: np.random.Generator) -> Indices:
    """Draw orders (count, n) that permute the samples of each class among themselves."""
    orders = np.empty((count, len(classes)), dtype=np.intp)
    orders[:, np.argsort(classes, kind="stable")] = np.argsort(
        rng.random((count, len(classes))) + classes, axis=1
    )
    return orders


def _codes(values: np.ndarray) -> Indices:
    """Return codes 0, 1, 2, ... of the distinct entries (rows of a matrix)."""
    return np.unique(values, axis=0, return_inverse=True)[1].reshape(-1)


@dataclass(frozen=True)
class Sampled:
    """Data of an objective, of which samples can be selected."""

    objective: Objective
    data: Data
    groups: Indices | None = None  # group or trial of each sample, numbered from 0
    counted: npt.NDArray[np.bool_] | None = None  # the given samples that have weight, if some lack

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
        """Open the data; refuse distances, because their rows are columns too."""
        if Need.DISTANCES in objective.needs:
            raise ArgumentError(f"objective {objective.name!r} takes distances: it has no {what}")
        names = tuple(map(str, X)) if isinstance(X, dict) and objective.views > 1 else ()
        X = known_trials(X, "X") or X  # data of the package MNE are read once
        X, y, sample_weight, groups = in_order(
            objective, X, y, sample_weight=sample_weight, groups=groups
        )
        data = data_in_order(objective, X, y, sample_weight, groups)
        data = replace(data, view_names=names)
        if not (Need.TIME_ORDER in objective.needs or objective.traits.by_place):
            data = data.of_rows_that_count()  # of files too, for the same folds and draws
        n, marks = data.samples.n, data.samples.marks
        data.check_y()
        counted = None if sample_weight is None else as_array(brought(sample_weight)) > 0
        counted = None if counted is None or len(counted) == n else counted
        if marks is not None and marks.trials is not None:
            return cls(objective, data, marks.codes, counted)
        given = trials_of(X) if groups is None else as_array(brought(groups), "groups")
        if given is not None and counted is not None and len(given) == len(counted):
            given = given[counted]
        if given is None or (groups is None and len(given) != n):
            return cls(objective, data, None, counted)
        if given.shape != (n,):
            raise DataError(f"groups has shape {given.shape}, expected ({n},), a group per row")
        codes = _codes(given)
        several = groups is not None or codes.any()
        return cls(objective, data, codes if several else None, counted)

    @property
    def n(self) -> int:
        return self.data.samples.n

    @property
    def ordered(self) -> bool:
        """True for a method of time series."""
        return Need.TIME_ORDER in self.objective.needs

    @property
    def trials(self) -> Indices | None:
        """Trial of each sample, as codes; None for a single series, and without time order."""
        marks = self.data.samples.marks
        return marks.codes if marks is not None and self.ordered else None

    @property
    def is_series(self) -> bool:
        """True for a single series; for a method of labelled trials each sample is a trial."""
        return self.ordered and self.trials is None and not OF_Y & set(self.objective.needs)

    def take(self, rows: Indices, background: Indices | None = None) -> XandY:
        """Return (X, y) of some samples and some background samples, by default of all."""
        views = tuple(view.take(rows) for view in self.data.views)
        other = self.data.background
        if other is not None and background is not None:
            other = other.take(background)
        y = None if self.data.y is None else np.asarray(self.data.y)[rows]
        return Data(views, None, other).X, y

    def part(self, rows: Indices) -> XandY:
        """Return (X, y) of some samples in order; unbroken runs of a time series become trials."""
        X, y = self.take(rows)
        runs = runs_of(rows, self.trials)
        if (self.is_series or self.trials is not None) and runs[-1] > 0:
            samples, *background = as_tuple(X)
            marks = replace(samples.marks or Marks(), trials=runs)
            X = single((replace(samples, marks=marks), *background))
        return X, y

    @cached_property
    def units(self) -> Resampling:
        """Sampling units, which are drawn or left out: samples, or whole groups."""
        groups = np.arange(self.n) if self.groups is None else self.groups
        labelled = Need.LABELS in self.objective.needs
        return Resampling(groups, self.data.labels[0] if labelled else None)

    def drawn(self, rng: np.random.Generator, block: int | None) -> XandY:
        """Return (X, y) of samples, or of moving blocks of samples, drawn with replacement.

        A trial that is drawn twice becomes two different trials.
        """
        background = None
        if self.data.background is not None:
            background = rng.integers(self.data.background.n, size=self.data.background.n)
        if block is not None:
            starts = rng.integers(self.n - block + 1, size=-(-self.n // block))
            rows = (starts[:, None] + np.arange(block)).ravel()[: self.n]
            return self.take(rows, background)
        rows, draw = self.units.drawn(rng)
        X, y = self.take(rows, background)
        return (X if self.trials is None else replace(X, marks=replace(X.marks, trials=draw))), y

    def left_out(self, block: int | None) -> Iterator[Indices]:
        """Yield the samples that remain if one part is omitted, for each part of a jackknife."""
        if block is None:
            return self.units.left_out()
        return Resampling(np.arange(self.n) * max(2, self.n // block) // self.n).left_out()


def runs_of(rows: Indices, trials: Indices | None = None) -> Indices:
    """Return codes of the runs of successive samples of the same trial."""
    ends = np.diff(rows) != 1
    if trials is not None:
        ends |= np.diff(trials[rows]) != 0
    return np.cumsum(np.append(False, ends))
