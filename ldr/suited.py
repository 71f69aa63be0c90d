"""Which methods fit what was handed over, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ldr.inputs import as_objective
from ldr.objectives.data.opening import as_samples
from ldr.objectives.kernels import is_categorical
from ldr.objectives.needs import Need
from ldr.objectives.objective import Objective
from ldr.objectives.registry import REGISTRY, named
from ldr.solvers.errors import ArgumentError

# Methods by their names, each with why it was taken.
Chosen = dict[str, tuple[Objective, str]]


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


def suited(X: Any, y: Any = None, time_order: bool = False) -> Chosen:
    """The methods of the registry that fit what was handed over, and why each was taken."""
    pair = isinstance(X, tuple) and len(X) == 2
    rows = [as_samples(view, "X").n for view in X] if pair else []
    beside = "pca, which does not look at it, as a yardstick"
    if pair and rows[0] == rows[1]:
        return _needing(Need.SECOND_VIEW, "X is a pair of views of the same rows")
    if pair:
        return _needing(Need.BACKGROUND, "X is a pair with other rows, a background")
    if has_gaps(X):
        why = "X has missing values"
        return {name: (named(name), why) for name, m in REGISTRY.items() if m.missing}
    if y is not None and is_categorical(y):
        found = _needing(Need.LABELS, "y holds labels")
    elif y is not None:
        found = _needing(Need.RESPONSE, "y holds a response")
    elif time_order:
        found = _needing(Need.TIME_ORDER, "the rows are a time series")
    else:
        why = "there are rows alone"
        return {name: (named(name), why) for name, m in REGISTRY.items() if not m.needs}
    return {**found, "pca": (named("pca"), beside)}


def _needing(need: Need, why: str) -> Chosen:
    """Those that need that and nothing else."""
    return {name: (named(name), why) for name, m in REGISTRY.items() if m.needs == (need,)}


def has_gaps(X: Any) -> bool:
    samples = as_samples(X, "X", allow_nan=True)
    return samples.has_nan or (samples.stored and bool(np.isnan(samples.dense()).any()))
