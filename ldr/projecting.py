"""Projections and predictions of samples, in the same kind of container as the samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import zip_longest
from operator import add
from typing import TYPE_CHECKING

import numpy as np

from ldr.errors import in_words
from ldr.objectives.data.array_types import check_dimensions, like
from ldr.objectives.data.opening import as_samples, open_table
from ldr.objectives.data.stored import lazy_rows
from ldr.objectives.view import Features
from ldr.solvers.checks import whole
from ldr.solvers.errors import ArgumentError, DataError
from ldr.solvers.manifolds import Array
from ldr.trial_layout import of_array
from ldr.types import Argument, Rows

if TYPE_CHECKING:
    from ldr.objectives.factor_model import FactorModel
    from ldr.result import Result

# Function that projects data; its second argument names the data in error messages.
Project = Callable[[Rows, str], Array]


def views_of(X: Rows, count: int, names: tuple[str, ...]) -> Rows:
    """Return the arrays of several views; the views of a dict in the order of the fit."""
    if isinstance(X, dict):
        named = {str(name): view for name, view in X.items()}
        if names and set(named) != set(names):
            raise DataError(f"X has the views {', '.join(named)}; expected {', '.join(names)}")
        X = tuple(named[name] for name in names or named)
    if not isinstance(X, (tuple, list)) or len(X) != count:
        got = f"{len(X)} array(s)" if isinstance(X, (tuple, list)) else type(X).__name__
        raise DataError(
            f"X must be {count} arrays, one for each view, as in the data of the fit, got {got}"
        )
    return X


def in_kind(X: Rows, project: Project, name: str, names: tuple[str, ...]) -> Rows:
    """Return the projection in the same kind of container as X; for Dask it is lazy."""
    lazy = lazy_rows(X)
    if lazy is None:
        return like(X, project(X, name), names)
    return project_chunks(lazy, project, name, names)


def project_chunks(X: Rows, project: Project, name: str, names: Sequence[str]) -> Rows:
    """Return the projected rows lazily, as a Dask collection.

    - X (m, d): the lengths of its chunks need not be known
    - project: function of a chunk and its name
    - names: names of the r columns
    - returns (m, r): with the chunks of X; a DataFrame has X's index and the given names.
    """
    from ldr.objectives.data.dask_samples import is_frame  # imported late: the module loads dask

    if is_frame(X):
        row = X._meta_nonempty
        empty = like(row, project(row, name), names).iloc[:0]
        return X.map_partitions(partial(_partition, project, name, empty), meta=empty)
    check_dimensions(X, name)
    r = project(np.ones((1, *X.shape[1:]), X.dtype), name).shape[1]
    return X.rechunk({1: -1}).map_blocks(
        partial(_chunk, project, name, r), chunks=(X.chunks[0], (r,)), meta=np.empty((0, 0))
    )


def _partition(
    project: Project,
    name: str,
    empty: Rows,
    part: Rows,
    partition_info: Argument,
) -> Rows:
    if len(part) == 0:
        return empty
    number = partition_info["number"]
    return like(part, project(part, f"{name}, partition {number}"), empty.columns)


def _chunk(project: Project, name: str, r: int, chunk: Rows, block_id: Argument) -> Array:
    if len(chunk) == 0:
        return np.empty((0, r))
    return project(chunk, f"{name}, chunk {block_id[0]}")


def project_rows(
    X: Rows,
    name: str,
    features: Features | None,
    mean: Array,
    P: Array,
    columns: tuple[str, ...] | None,
    model: FactorModel | None = None,
) -> Array:
    """Return (X - mean) P' for the features of X; for missing values, the posterior mean."""
    gaps = model is not None and features is None
    if columns and (table := open_table(X, name)):
        X = table.select(columns)
    samples = as_samples(of_array(X)[0], name, minimum_rows=1, allow_nan=gaps)
    if columns and samples.feature_names and samples.feature_names != columns:
        pairs = zip_longest(samples.feature_names, columns, fillvalue="no column")
        at, got, expected = next((k, *pair) for k, pair in enumerate(pairs) if pair[0] != pair[1])
        raise ArgumentError(
            f"the columns of {name} must have the names and the order of the fit: column {at} is "
            f"{got}, expected {expected} (feature_names)"
        )
    if features is not None:
        samples = features(samples)
    samples.expect_columns(P.shape[1])
    if model is not None and samples.stored:  # each chunk of a file is tested for missing values
        parts = samples.reduce(
            lambda piece: [project_rows(piece, piece.name, None, mean, P, None, model)], add
        )
        return np.concatenate(parts)
    if model is not None and samples.has_nan:
        return model.posterior_mean(samples)
    return np.asarray(samples.centred_times(np.ascontiguousarray(P.T), mean))


@in_words
def predicted(result: Result, X: Rows, view: int, question: str) -> Array:
    """Predict for new samples by the method `question` of a view's predictor."""
    whole("view", view, 0)
    predictors = result.predictors if result.objective.traits.predicts else ()
    if view >= len(predictors) or not hasattr(predictors[view], question):
        what = "nothing" if question == "predict" else "no probabilities"
        where = f" from view {view}" if view > 0 else ""
        raise ArgumentError(
            f"objective {result.objective.name!r} predicts {what}{where}. Classes are predicted by "
            "methods of labels, a response by regressions, one view by methods of two views"
        )
    features, mean, columns = result.features, result.mean, result.feature_names
    if isinstance(mean, tuple):
        features = None if features is None else features[view]
        mean, columns = mean[view], columns[view]
    predictor = predictors[view]
    Y = project_rows(X, "X", features, mean, predictor.P, columns)
    return getattr(predictor, question)(Y)
