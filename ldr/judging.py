"""What a projection is worth on rows that it was not found on, by what stands beside the rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import numpy as np

from ldr.objectives.data.data import as_tuple
from ldr.objectives.data.labels import as_array, as_labels
from ldr.objectives.data.marks import Marks
from ldr.objectives.data.samples import Samples
from ldr.objectives.kernels import as_response, is_categorical
from ldr.objectives.prediction import ClassPredictor
from ldr.objectives.statistics import class_moments
from ldr.resampling import Indices
from ldr.result import Result
from ldr.scoring import score
from ldr.solvers.errors import ArgumentError, DataError, SingularError
from ldr.solvers.manifolds import Array
from ldr.solvers.records import dataclass, replace
from ldr.types import PerRow, Rows

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
    runs : ndarray of int
        Of a time series: equal for rows that follow on one another.
    """

    X: Rows
    y: PerRow
    Y: tuple[Array, ...]
    runs: Indices

    @property
    def weights(self) -> Array:
        """How much each row counts."""
        found = as_tuple(self.X)[0].weights
        return np.ones(len(self.Y[0])) if found is None else np.asarray(found)

    @property
    def rows(self) -> Array:
        """Of the last view, as it came: the second, which is predicted, or the only one."""
        view = self.X[-1] if isinstance(self.X, tuple) and len(self.Y) > 1 else as_tuple(self.X)[0]
        return np.asarray(view.dense())


# Of a result, its training rows and held-out ones: larger is better.
Judge = Callable[[Result, Part, Part], float]


def judges(X: Rows, y: PerRow, *, views: int, ordered: bool, gaps: bool) -> dict[str, Judge]:
    """What a projection is judged by, the first above all, and what its own objective says last.

    Labels are predicted from the coordinates, or a response, the second view, the next row's
    coordinates, entries that were hidden, or the rows themselves: the first that there is to
    predict.
    """
    if y is not None and is_categorical(y):
        found: dict[str, Judge] = {
            f"accuracy, {NEIGHBOURS} nearest": _nearest_classes,
            "accuracy, nearest mean": _nearest_mean,
        }
    elif y is not None:
        found = {
            "R2, linear": lambda _, old, new: _linear_r2(old, new, _of),
            f"R2, {NEIGHBOURS} nearest": _nearest_responses,
        }
    elif views > 1:
        found = {
            "R2 of the second view": lambda _, old, new: _linear_r2(old, new, _rows),
            "mean correlation": _correlation,
        }
    elif ordered:
        found = {"R2 of the next step": _next_step}
    elif gaps:
        found = {"R2 of hidden entries": _hidden_entries}
    else:
        found = {"R2 of X": lambda _, old, new: _linear_r2(old, new, _rows)}
    return {**found, OWN: _own}


def _of(part: Part) -> Array:
    return as_response(part.y, len(part.Y[0]))


def _rows(part: Part) -> Array:
    return part.rows


def _own(result: Result, old: Part, new: Part) -> float:
    """The objective of the held-out rows, or their mean log-likelihood; NaN where there is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of so few rows
            return score(result, new.X, new.y)
    except (ArgumentError, DataError, SingularError):
        return float("nan")


def _nearest(old: Part, new: Part) -> tuple[Indices, Array]:
    """The training rows that are nearest to each new one, and how much they count."""
    from sklearn.neighbors import NearestNeighbors

    counted = np.flatnonzero(old.weights)
    asked = NearestNeighbors(n_neighbors=min(NEIGHBOURS, len(counted))).fit(old.Y[0][counted])
    found = counted[asked.kneighbors(new.Y[0], return_distance=False)]
    return found, old.weights[found]


def _nearest_classes(result: Result, old: Part, new: Part) -> float:
    """Accuracy of what the nearest training rows vote for."""
    nearest, votes = _nearest(old, new)
    codes, classes = as_labels(old.y, len(old.Y[0]))
    counted = np.einsum("ik,ikc->ic", votes, np.eye(len(classes))[codes[nearest]])
    return _accuracy(classes[counted.argmax(axis=1)], new)


def _nearest_responses(result: Result, old: Part, new: Part) -> float:
    """R2 of the mean of the nearest training rows."""
    (nearest, counts), y = _nearest(old, new), _of(old)
    said = np.einsum("ik,ikq->iq", counts, y[nearest]) / counts.sum(axis=1)[:, None]
    return _r2(_of(new), said, _mean(y, old.weights), new.weights)


def _nearest_mean(result: Result, old: Part, new: Part) -> float:
    """See `ldr.Result.predict`."""
    codes, classes = as_labels(old.y, len(old.Y[0]))
    centre = _mean(old.Y[0], old.weights)
    rows = Samples(old.Y[0] - centre, marks=Marks(old.weights))
    moments = class_moments(rows, codes, len(classes))
    groups = replace(moments, mean=np.zeros(len(centre)))
    predictor = ClassPredictor.of(np.eye(len(centre)), classes, groups)
    return _accuracy(predictor.predict(new.Y[0] - centre), new)


def _accuracy(said: np.ndarray, new: Part) -> float:
    return float(np.average(said == as_array(new.y), weights=new.weights))


def _mean(Z: Array, w: Array) -> Array:
    return np.asarray(np.average(Z, axis=0, weights=w))


def _r2(truth: Array, predicted: Array, mean: Array, w: Array) -> float:
    """1 - sum of squares left / sum about the training rows' mean, all columns together."""
    left, total = (float(np.sum(w @ (truth - Z) ** 2)) for Z in (predicted, mean))
    return 1.0 - left / total if total > 0 else float("nan")


def _linear_r2(old: Part, new: Part, of: Callable[[Part], Array]) -> float:
    """R2 of least squares on the coordinates."""
    return _r2_of((old.Y[0], of(old), old.weights), (new.Y[0], of(new), new.weights))


def _r2_of(old: Sequence[Array], new: Sequence[Array]) -> float:
    """R2 of least squares of B on A, weighted; B's columns in units of their training rows."""
    (A, B, w), (new_A, new_B, new_w) = old, new
    mean_A, mean_B = _mean(A, w), _mean(B, w)
    unit = np.sqrt(_mean((B - mean_B) ** 2, w))
    unit = np.where(unit > 0, unit, 1.0)
    root = np.sqrt(w)[:, None]
    fitted = np.linalg.lstsq(root * (A - mean_A), root * (B - mean_B) / unit, rcond=None)[0]
    return _r2((new_B - mean_B) / unit, (new_A - mean_A) @ fitted, np.zeros(len(unit)), new_w)


def _correlation(result: Result, old: Part, new: Part) -> float:
    """The mean correlation of the pairs of coordinates."""
    pairs = zip(new.Y[0].T, new.Y[1].T, strict=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = [np.cov(a, b, bias=True, aweights=new.weights) for a, b in pairs]
        return float(np.mean([C[0, 1] / np.sqrt(C[0, 0] * C[1, 1]) for C in found]))


def _next_step(result: Result, old: Part, new: Part) -> float:
    """R2 of each coordinate at the next row, from all coordinates at this one."""
    return _r2_of(_steps(old), _steps(new))


def _steps(part: Part) -> tuple[Array, Array, Array]:
    """Rows, those that follow on them, and how much they count together."""
    Y, counts = part.Y[0], Marks(part.weights, part.runs)
    there = counts[:-1].before(counts[1:])
    kept = there > 0
    return Y[:-1][kept], Y[1:][kept], there[kept]


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
    w = np.broadcast_to(new.weights[:, None], rows.shape)
    return _r2(truth[hidden][:, None], guess[hidden][:, None], np.zeros(1), w[hidden])
