"""What a projection is worth on rows that it was not found on, by what stands beside the rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ldr.objectives.data.labels import as_array, as_labels
from ldr.objectives.data.samples import Samples
from ldr.objectives.kernels import as_response, is_categorical
from ldr.objectives.prediction import ClassPredictor
from ldr.objectives.statistics import class_moments
from ldr.result import Result, as_tuple
from ldr.scoring import score
from ldr.solvers.errors import ArgumentError, DataError, SingularError
from ldr.solvers.manifolds import Array

# Neighbours that say what a row is.
NEIGHBOURS = 5
# The name of what a method's own objective says.
OWN = "held-out value"
# Of the entries that are there, the share that is hidden to see how they are filled in.
_HIDDEN = 0.1


@dataclass(frozen=True, eq=False)
class Part:
    """Training or held-out rows, and where a map takes them.

    Attributes
    ----------
    X : Samples, or a pair of them
    y : ndarray or None
    Y : tuple of ndarray
        The coordinates of each view.
    """

    X: Any
    y: Any
    Y: tuple[Array, ...]

    @property
    def rows(self) -> Array:
        """Of the last view, as it came: the second, which is predicted, or the only one."""
        view = self.X[-1] if isinstance(self.X, tuple) and len(self.Y) > 1 else as_tuple(self.X)[0]
        return np.asarray(view.dense())


# Of a result, its training rows and held-out ones: larger is better.
Judge = Callable[[Result, Part, Part], float]


def judges(X: Any, y: Any, *, views: int, ordered: bool, gaps: bool) -> dict[str, Judge]:
    """What a projection is judged by, the first above all, and what its own objective says last.

    Labels are predicted from the coordinates, or a response, the second view, the next row's
    coordinates, entries that were hidden, or the rows themselves: the first that there is to
    predict.
    """
    if y is not None and is_categorical(y):
        found: dict[str, Judge] = {
            f"accuracy, {NEIGHBOURS} nearest": _neighbours(as_labels_of, True),
            "accuracy, nearest mean": _nearest_mean,
        }
    elif y is not None:
        found = {
            "R2, linear": lambda _, old, new: _linear_r2(old.Y[0], _of(old), new.Y[0], _of(new)),
            f"R2, {NEIGHBOURS} nearest": _neighbours(_of, False),
        }
    elif views > 1:
        found = {
            "R2 of the second view": lambda _, old, new: _linear_r2(
                old.Y[0], old.rows, new.Y[0], new.rows
            ),
            "mean correlation": _correlation,
        }
    elif ordered:
        found = {"R2 of the next step": _next_step}
    elif gaps:
        found = {"R2 of hidden entries": _hidden_entries}
    else:
        found = {"R2 of X": lambda _, old, new: _linear_r2(old.Y[0], old.rows, new.Y[0], new.rows)}
    return {**found, OWN: _own}


def as_labels_of(part: Part) -> Any:
    return as_array(part.y)


def _of(part: Part) -> Array:
    return as_response(part.y, len(part.Y[0]))


def _own(result: Result, old: Part, new: Part) -> float:
    """The objective of the held-out rows, or their mean log-likelihood; NaN where there is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of so few rows
            return score(result, new.X, new.y)
    except (ArgumentError, DataError, SingularError):
        return float("nan")


def _neighbours(of: Callable[[Part], Any], classes: bool) -> Judge:
    """Accuracy, or R2, of what the nearest training rows say."""

    def judged(result: Result, old: Part, new: Part) -> float:
        from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

        kind = KNeighborsClassifier if classes else KNeighborsRegressor
        asked = kind(min(NEIGHBOURS, len(old.Y[0]))).fit(old.Y[0], of(old))
        predicted = asked.predict(new.Y[0])
        if classes:
            return float(np.mean(predicted == of(new)))
        return _r2(of(new), np.reshape(predicted, of(new).shape), of(old).mean(axis=0))

    return judged


def _nearest_mean(result: Result, old: Part, new: Part) -> float:
    """See `ldr.Result.predict`."""
    codes, classes = as_labels(old.y, len(old.Y[0]))
    centre = old.Y[0].mean(axis=0)
    moments = class_moments(Samples(old.Y[0] - centre), codes, len(classes))
    groups = replace(moments, mean=np.zeros(len(centre)))
    predictor = ClassPredictor.of(np.eye(len(centre)), classes, groups)
    return float(np.mean(predictor.predict(new.Y[0] - centre) == as_array(new.y)))


def _r2(truth: Array, predicted: Array, mean: Array) -> float:
    """1 - sum of squares left / sum about the training rows' mean, all columns together."""
    left, total = np.sum((truth - predicted) ** 2), np.sum((truth - mean) ** 2)
    return float(1.0 - left / total) if total > 0 else float("nan")


def _linear_r2(A: Array, B: Array, new_A: Array, new_B: Array) -> float:
    """R2 of least squares of B on A, each column of B in units of its training rows."""
    mean_A, mean_B, unit = A.mean(axis=0), B.mean(axis=0), B.std(axis=0)
    unit = np.where(unit > 0, unit, 1.0)
    coefficients = np.linalg.lstsq(A - mean_A, (B - mean_B) / unit, rcond=None)[0]
    predicted = (new_A - mean_A) @ coefficients
    return _r2((new_B - mean_B) / unit, predicted, np.zeros(len(unit)))


def _correlation(result: Result, old: Part, new: Part) -> float:
    """The mean correlation of the pairs of coordinates."""
    pairs = zip(new.Y[0].T, new.Y[1].T, strict=True)
    with np.errstate(invalid="ignore"):
        return float(np.mean([np.corrcoef(a, b)[0, 1] for a, b in pairs]))


def _next_step(result: Result, old: Part, new: Part) -> float:
    """R2 of each coordinate at the next row, from all coordinates at this one."""
    before, after = old.Y[0], new.Y[0]
    return _linear_r2(before[:-1], before[1:], after[:-1], after[1:])


def _hidden_entries(result: Result, old: Part, new: Part) -> float:
    """R2 of entries hidden at random and filled in by the model, in units of the columns."""
    if result.model is None or result.features is not None:
        return float("nan")
    rows = new.rows
    mean, unit = np.nanmean(old.rows, axis=0), np.nanstd(old.rows, axis=0)
    hidden = ~np.isnan(rows) & (np.random.default_rng(0).random(rows.shape) < _HIDDEN)
    hidden[np.all(hidden | np.isnan(rows), axis=1)] = False  # something of a row is to be there
    filled = result.model.impute(np.where(hidden, np.nan, rows))
    truth, guess = ((Z - mean) / np.where(unit > 0, unit, 1.0) for Z in (rows, filled))
    return _r2(truth[hidden], guess[hidden], np.zeros(1))
