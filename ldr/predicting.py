"""What a result says of new rows: their class, their response, the other view."""

from __future__ import annotations

from typing import Protocol

from ldr.doors import in_words
from ldr.objectives.objective import Objective
from ldr.objectives.prediction import Predictor
from ldr.projecting import project_rows
from ldr.solvers.checks import whole
from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds import Array
from ldr.types import PerView, Rows


class Predicting(Protocol):
    """A `Result`, as far as its predictions look at it."""

    @property
    def objective(self) -> Objective: ...
    @property
    def predictors(self) -> tuple[Predictor, ...]: ...
    @property
    def mean(self) -> PerView: ...
    @property
    def features(self) -> PerView: ...
    @property
    def feature_names(self) -> PerView: ...


@in_words
def predicted(result: Predicting, X: Rows, view: int, question: str) -> Array:
    """What the predictor of a view says of new rows, asked by the name of its method.

    Raises
    ------
    ldr.errors.ArgumentError
        There is no predictor, or it does not know.
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
