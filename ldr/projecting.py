"""Projections and predictions of samples, in the kind of container that they came in."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import add
from typing import TYPE_CHECKING

import numpy as np

from ldr.inputs import of_array
from ldr.objectives.data.containers import like
from ldr.objectives.data.opening import as_samples, open_table
from ldr.objectives.data.samples import Samples
from ldr.objectives.data.stored import lazy_rows
from ldr.objectives.view import Features
from ldr.solvers.checks import whole
from ldr.solvers.errors import ArgumentError, DataError
from ldr.solvers.manifolds import Array
from ldr.types import Rows
from ldr.validation import in_words

if TYPE_CHECKING:
    from ldr.objectives.factor_model import FactorModel
    from ldr.result import Result


def views_of(X: Rows, count: int, names: tuple[str, ...]) -> Rows:
    """The arrays of several views, those of a dict in the order of the names solved for."""
    if isinstance(X, dict):
        named = {str(name): view for name, view in X.items()}
        if names and set(named) != set(names):
            raise DataError(f"X has the views {', '.join(named)}; expected {', '.join(names)}")
        X = tuple(named[name] for name in names or named)
    if not isinstance(X, (tuple, list)) or len(X) != count:
        got = f"{len(X)} of them" if isinstance(X, (tuple, list)) else type(X).__name__
        raise DataError(
            f"X must be {count} arrays, one a view, as in the data solved for, got {got}"
        )
    return X


def in_kind(
    X: Rows, project: Callable[[Rows, str], Array], name: str, names: tuple[str, ...]
) -> Rows:
    """The projection in X's own kind of container; of Dask's it is computed later."""
    lazy = lazy_rows(X)
    if lazy is None:
        return like(X, project(X, name), names)
    from ldr.io.chunks import project_chunks

    return project_chunks(lazy, project, name, names)


def project_rows(
    X: Rows,
    name: str,
    features: Features | None,
    mean: Array,
    P: Array,
    columns: tuple[str, ...] | None,
    model: FactorModel | None = None,
) -> Array:
    """(X - mean) P' of the features; of a model with gaps in X the posterior mean."""
    gaps = model is not None and features is None
    if columns and (table := open_table(X, name)):
        X = table.select(columns)
    samples = as_samples(of_array(X)[0], name, minimum_rows=1, allow_nan=gaps)
    if columns and samples.feature_names and samples.feature_names != columns:
        raise ArgumentError(
            f"{name} has other columns, or in another order, than the data solved for: got "
            f"{', '.join(samples.feature_names)}; expected {', '.join(columns)}"
        )
    if features is not None:
        samples = features(samples)
    samples.expect_columns(P.shape[1])
    if model is not None and samples.stored:  # whether entries are missing is known of a piece
        parts = samples.reduce(partial(_posterior_means, model=model, mean=mean, P=P), add)
        return np.concatenate(parts)
    if model is not None and samples.has_nan:
        return model.posterior_mean(samples)
    return np.asarray(samples.centred_times(np.ascontiguousarray(P.T), mean))


def _posterior_means(piece: Samples, model: FactorModel, mean: Array, P: Array) -> list[Array]:
    return [project_rows(piece, piece.name, None, mean, P, None, model)]


@in_words
def predicted(result: Result, X: Rows, view: int, question: str) -> Array:
    """Predict new samples by the named method of a view's predictor.

    - raises ldr.errors.ArgumentError: There is no predictor, or it does not know.
    """
    whole("view", view, 0)
    predictors = result.predictors if result.objective.predicts else ()
    if view >= len(predictors) or not hasattr(predictors[view], question):
        what = "nothing" if question == "predict" else "no probabilities"
        where = f" from view {view}" if view > 0 else ""
        raise ArgumentError(
            f"objective {result.objective.name!r} predicts {what}{where}: methods of labels "
            "predict classes, regressions their response, methods of two views the other"
        )
    features, mean, columns = result.features, result.mean, result.feature_names
    if isinstance(mean, tuple):
        features = None if features is None else features[view]
        mean, columns = mean[view], columns[view]
    predictor = predictors[view]
    Y = project_rows(X, "X", features, mean, predictor.P, columns)
    return getattr(predictor, question)(Y)
