"""Weights and trials of rows, as they are handed to the doors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ldr.objectives.data.data import Data
from ldr.objectives.data.sample_metadata import CodedLabels, Marks, as_array, as_trials, as_weights
from ldr.objectives.data.samples import Samples
from ldr.objectives.data.sources import Stack
from ldr.objectives.data.stored import AccumulatedSamples, brought, expect
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need
from ldr.objectives.registry import REGISTRY
from ldr.solvers.errors import ArgumentError, DataError
from ldr.types import PerRow, Rows, XandY


def of_array(X: Rows) -> XandY:
    """The rows of an array (trials, time, channels) below one another, and the trial of each.

    Any other X as it is, and None.
    """
    if not isinstance(X, np.ndarray) or X.ndim != 3:
        return X, None
    return X.reshape(-1, X.shape[2]), np.repeat(np.arange(len(X)), X.shape[1])


def of_list(X: Rows) -> XandY:
    """The same of a list of arrays (time, channels)."""
    if not isinstance(X, list) or not X or not all(np.ndim(part) == 2 for part in X):
        return of_array(X)
    arrays = [np.asarray(part) for part in X]
    columns = [part.shape[1] for part in arrays]
    if len(set(columns)) > 1:
        shown = ", ".join(map(str, columns[:9]))
        raise DataError(f"X has trials of {shown} columns, expected as many in each")
    return np.concatenate(arrays), np.repeat(np.arange(len(X)), list(map(len, arrays)))


def trials_of(X: Rows, y: PerRow) -> np.ndarray | None:
    """The trial of each row of a 3-d array, of the first of several views, or of a list.

    Arrays in a list are trials where y has an entry for each; else they may be any rows.
    """
    if isinstance(X, list) and y is not None and len(as_array(y)) == len(X):
        return np.repeat(np.arange(len(X)), list(map(len, X)))
    return of_array(X[0] if isinstance(X, tuple) else X)[1]


def marked(
    objective: Objective, data: Data, sample_weight: PerRow, groups: PerRow, listed: bool
) -> Data:
    """The data with weights and trials beside their rows.

    - sample_weight, groups (n,)
    - listed: whether X is a list, whose elements are trials for methods with time order
    - raises ldr.errors.ArgumentError: The objective takes no weights.
    - raises ldr.errors.DataError: Weights or ids that do not fit to the rows.
    """
    if sample_weight is not None:
        check_weighted(objective)
    timed, first = Need.TIME_ORDER in objective.needs, data.samples
    source = first.array
    if groups is None and listed and isinstance(source, Stack):
        groups = np.repeat(np.arange(len(source.sources)), np.diff(source.starts))
    weights, groups = brought(sample_weight), brought(groups)
    known = first.marks.trials if groups is None and first.marks is not None else groups
    data, ids = replace(data, y=_of_rows(data.y, known, first)), groups if timed else None
    if weights is None and ids is None:
        return data
    for view in data.views:
        expect(view, ids if weights is None else weights)
    own = first.marks or Marks()
    marks = Marks(
        own.weights if weights is None else as_weights(weights, first.n),
        own.trials if ids is None else _trials(ids, first),
    )
    if marks.weights is None and marks.trials is None:
        return data
    data = replace(data, views=tuple(replace(view, marks=marks) for view in data.views))
    in_memory = all(view.n_known and not view.stored for view in data.views)
    stays = timed or objective.by_place or not in_memory
    return data if stays else data.of_rows_that_count()


def _trials(ids: PerRow, samples: Samples) -> np.ndarray | None:
    """None where there is one trial only, which later blocks of rows may not go on with."""
    trials = as_trials(ids, samples.n)
    one = not isinstance(samples, AccumulatedSamples) and bool((trials == trials[0]).all())
    return None if one else trials


def _of_rows(y: PerRow, groups: PerRow, samples: Samples) -> PerRow:
    """Labels or a response with an entry for each row, where y has one for each trial."""
    if y is None or groups is None or isinstance(y, CodedLabels) or not samples.n_known:
        return y
    entries = as_array(y)
    if len(entries) == samples.n:
        return y
    codes = Marks(trials=as_trials(groups, samples.n)).codes
    return entries[codes] if codes is not None and len(entries) == codes[-1] + 1 else y


def check_weighted(objective: Objective) -> None:
    """Refuse weights where the objective takes none."""
    if not objective.weighted:
        if objective.name in REGISTRY:
            whose = f" as {objective!r}; by default it does"
        else:
            whose = (
                "; the methods of the registry do, and sums over rows (sum_over_rows=True) in jax"
            )
        raise ArgumentError(
            f"objective {objective.name!r} takes no weights of its rows (sample_weight=){whose}"
        )
