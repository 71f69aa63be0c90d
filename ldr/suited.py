"""Which methods fit what was handed over, and why."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import numpy as np

from ldr.inputs import as_objective
from ldr.objectives.data.opening import as_samples
from ldr.objectives.kernels import is_categorical
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need
from ldr.objectives.registry import REGISTRY, named
from ldr.solvers.errors import ArgumentError
from ldr.types import PerRow, Rows

# Methods by their names, each with why it was taken.
Chosen = dict[str, tuple[Objective, str]]
# Of methods of pairs of rows that nobody asked for: each is solved for every fold.
_MOST_ROWS = 1000


def asked_for(methods: Sequence[str | Objective]) -> Chosen:
    """The methods that were asked for, by name, or by all they say where a name stands twice."""
    if isinstance(methods, (str, Objective)) or not len(methods):
        raise ArgumentError(f"methods must be a list of names or objectives, got {methods!r}")
    objectives = [as_objective(method, {}) for method in methods]
    names = [objective.name for objective in objectives]
    labels = [
        repr(objective) if names.count(objective.name) > 1 else objective.name
        for objective in objectives
    ]
    twice = [label for label in labels if labels.count(label) > 1]
    if twice:
        raise ArgumentError(f"methods has {twice[0]} twice, expected different ones")
    return {label: (o, "asked for") for label, o in zip(labels, objectives, strict=True)}


def beyond(chosen: Chosen, n: int) -> dict[str, str]:
    """Those that n rows are too many for where nobody asked for them, and why."""
    return {
        name: f"it looks at all pairs of {n} rows, which takes long: name it to have it"
        for name, (objective, _) in chosen.items()
        if objective.by_pairs and n > _MOST_ROWS
    }


class Beside(StrEnum):
    """What stands beside the rows, in the words of why a method was taken."""

    VIEWS = "X is a pair of views of the same rows"
    BACKGROUND = "X is a pair with other rows, a background"
    GAPS = "X has missing values"
    LABELS = "y holds labels"
    RESPONSE = "y holds a response"
    TIME = "the rows are a time series"
    NOTHING = "there are rows alone"


_NEEDED = {
    Beside.VIEWS: Need.SECOND_VIEW,
    Beside.BACKGROUND: Need.BACKGROUND,
    Beside.LABELS: Need.LABELS,
    Beside.RESPONSE: Need.RESPONSE,
    Beside.TIME: Need.TIME_ORDER,
}


def beside(X: Rows, y: PerRow = None, time_order: bool = False) -> Beside:
    """What was handed over."""
    if isinstance(X, (tuple, dict)):
        views = tuple(X.values()) if isinstance(X, dict) else X
        rows = {as_samples(view, "X").n for view in views}
        return Beside.BACKGROUND if len(views) == 2 and len(rows) == 2 else Beside.VIEWS
    if has_gaps(X):
        return Beside.GAPS
    if y is not None:
        return Beside.LABELS if is_categorical(y) else Beside.RESPONSE
    return Beside.TIME if time_order else Beside.NOTHING


def suited(X: Rows, y: PerRow = None, time_order: bool = False) -> Chosen:
    """The methods of the registry that fit what was handed over, and why each was taken."""
    found = beside(X, y, time_order)
    if found is Beside.GAPS:
        fitting = [name for name, method in REGISTRY.items() if method.imputes]
    else:  # what needs that and nothing else
        needs = (_NEEDED[found],) if found in _NEEDED else ()
        fitting = [name for name, method in REGISTRY.items() if method.needs == needs]
    chosen = {name: (named(name), str(found)) for name in fitting}
    if found in (Beside.LABELS, Beside.RESPONSE, Beside.TIME):
        chosen["pca"] = named("pca"), "pca, which does not look at it, as a yardstick"
    return chosen


def has_gaps(X: Rows) -> bool:
    samples = as_samples(X, "X", allow_nan=True)
    return samples.has_nan or (samples.stored and bool(np.isnan(samples.dense()).any()))
