"""`ldr.tune`: numbers of an objective and scales of columns, by gradients of a held-out loss."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
import scipy

from ldr.doors import in_words
from ldr.inputs import as_generator, as_objective
from ldr.objectives.data.data import as_tuple, single
from ldr.objectives.data.labels import as_array, as_labels
from ldr.objectives.data.samples import Samples
from ldr.objectives.kernels import as_response, is_categorical
from ldr.objectives.objective import Objective
from ldr.objectives.prediction import ClassPredictor
from ldr.objectives.statistics import class_moments
from ldr.resampling import Sampled
from ldr.result import Result
from ldr.sensitivity.moving import parameter, with_parameters
from ldr.solvers.checks import choice, whole
from ldr.solvers.errors import ArgumentError, ConvergenceWarning
from ldr.solvers.manifolds import Array
from ldr.solvers.pickles import Pickled
from ldr.solvers.records import dataclass, field
from ldr.solving import solve
from ldr.standardising import in_units, undone
from ldr.types import PerRow, Rows, Splitter, XandY

# The name of numbers that the columns are multiplied by, among parameters.
SCALES = "scales"
# Loss of held-out rows, from coordinates and y of the training rows and of those.
Loss = Callable[[Array, PerRow, Array, PerRow], float]
# Of coordinates: differences of a loss over it.
_STEP = 1e-4
# What a step may bring at least, relative to the loss, for the search to go on: for one number, and
# for several, which may pass a saddle (scales of columns did, at 3e-5).
_ENOUGH, _PASSING = 3e-5, 1e-6
# Decades of the first step; ratios of actual to predicted decrease; what the radius is changed by.
_FIRST = 1.0
_POOR, _GOOD, _SHORTER, _LONGER = 0.1, 0.75, 0.25, 2.0
# Least share of a secant's curvature in an update (Powell).
_DAMPED = 0.2


def log_loss(Y: Array, y: PerRow, held: Array, y_held: PerRow) -> float:
    """Mean -log of the probability of the right class, the classes Gaussian in the coordinates."""
    codes, classes = as_labels(y, len(Y))
    moments = class_moments(Samples(Y), codes, len(classes))
    predictor = ClassPredictor.of(np.eye(Y.shape[1]), classes, moments)
    scores = predictor.decision(held - moments.mean)
    right = np.searchsorted(classes, as_array(y_held))
    scores = scores - scipy.special.logsumexp(scores, axis=1, keepdims=True)
    return -float(np.mean(scores[np.arange(len(held)), right]))


def squared_error(Y: Array, y: PerRow, held: Array, y_held: PerRow) -> float:
    """Mean squared error of least squares on the coordinates, a share of what the mean leaves."""
    known, wanted = as_response(y, len(Y)), as_response(y_held, len(held))
    centre, middle = Y.mean(axis=0), known.mean(axis=0)
    B = np.linalg.lstsq(Y - centre, known - middle, rcond=None)[0]
    error = wanted - middle - (held - centre) @ B
    return float(np.sum(error**2) / np.sum((wanted - middle) ** 2))


LOSSES: dict[str, Loss] = {"log": log_loss, "squared": squared_error}


@dataclass(frozen=True)
class Tuning(Pickled):
    """What `ldr.tune` found.

    Attributes
    ----------
    parameters : dict
        By name; numbers, or arrays of weights and scales.
    loss : float
        Held-out, the mean over the folds, at these parameters.
    history : tuple of (dict, float)
        Parameters and loss of every evaluation.
    solves : int
        How many problems were solved, the one of all rows not counted.
    result : Result
        Of all rows at these parameters; its P and mean are for columns as they came.
    """

    parameters: dict[str, float | Array]
    loss: float
    history: tuple[tuple[dict[str, Array], float], ...]
    solves: int
    result: Result

    def __repr__(self) -> str:
        told = ", ".join(
            f"{name} = {np.array2string(np.asarray(value), precision=4)}"
            for name, value in self.parameters.items()
        )
        return (
            f"{told}: held-out loss {self.loss:.6g}, at first {self.history[0][1]:.6g}\n"
            f"  {len(self.history)} evaluations, {self.solves} solves"
        )


@dataclass
class _HeldOut:
    """The mean loss of held-out rows as a function of the logarithms of parameters, in decades."""

    objective: Objective
    folds: list[tuple[XandY, XandY]]
    r: int
    loss: Loss
    at_first: Mapping[str, Array]
    history: list[tuple[dict[str, Array], float]] = field(default_factory=list)

    def parameters(self, decades: Array) -> dict[str, Array]:
        found, start = {}, 0
        for name, value in self.at_first.items():
            step = decades[start : start + value.size].reshape(value.shape)
            found[name] = value * 10.0**step
            start += value.size
        return found

    def __call__(self, decades: Array) -> tuple[float, Array]:
        """The loss and its gradient."""
        parameters = self.parameters(decades)
        told = [self._of_fold(parameters, *fold) for fold in self.folds]
        losses, gradients = zip(*told, strict=True)
        value = float(np.mean(losses))
        self.history.append((parameters, value))
        return value, np.mean(gradients, axis=0)

    def _of_fold(
        self, parameters: dict[str, Array], training: XandY, held: XandY
    ) -> tuple[float, Array]:
        (X, y), (Z, z) = training, held
        scales = parameters.get(SCALES)
        if scales is not None:
            X, Z = _scaled(X, scales), _scaled(Z, scales)
        result = solve(_with(self.objective, parameters), X, self.r, y=y, certify=False)
        rows = [as_tuple(one)[0].dense() for one in (X, Z)]
        Y, W = ((A - result.mean) @ result.P.T for A in rows)
        sensitivity = result.sensitivity(X, y)
        gradient = []
        for name, value in parameters.items():
            for unit in np.eye(value.size):
                if name == SCALES:
                    moves = single(tuple(one.dense() * unit for one in as_tuple(X)))
                    derivative = sensitivity.along(moves)
                else:
                    step = value * unit.reshape(value.shape)
                    derivative = sensitivity.along(**{name: step if value.ndim else float(step)})
                    unit = np.zeros(1)
                moved = [
                    (A * unit - derivative.mean) @ result.P.T + (A - result.mean) @ derivative.P.T
                    for A in rows
                ]
                gradient.append(math.log(10.0) * self._along(Y, y, W, z, *moved))
        return self.loss(Y, y, W, z), np.array(gradient)

    def _along(self, Y: Array, y: PerRow, W: Array, z: PerRow, dY: Array, dW: Array) -> float:
        """The derivative of the loss, the coordinates moving."""
        size = max(float(np.abs(dY).max()), float(np.abs(dW).max()))
        if size == 0:
            return 0.0
        h = _STEP * float(np.abs(Y).max()) / size
        ahead, behind = (self.loss(Y + t * dY, y, W + t * dW, z) for t in (h, -h))
        return (ahead - behind) / (2.0 * h)


def _descend(function: Callable[[Array], tuple[float, Array]], size: int, evaluations: int) -> None:
    """A trust region on a quadratic model whose Hessian is updated by damped BFGS.

    Every evaluation counts, so that steps are judged by the function and its gradient at once, and
    a step that is refused improves the model too.
    """
    x, radius, enough = np.zeros(size), _FIRST, _ENOUGH if size == 1 else _PASSING
    value, gradient = function(x)
    B = np.eye(size) * np.linalg.norm(gradient) / _FIRST
    for _ in range(evaluations - 1):
        step = _model_step(gradient, B, radius)
        predicted = -float(gradient @ step + 0.5 * step @ B @ step)
        if not predicted > enough * abs(value):
            break
        there, slope = function(x + step)
        B = _updated(B, step, slope - gradient)
        ratio = (value - there) / predicted
        length = float(np.linalg.norm(step))
        if ratio < _POOR:
            radius = _SHORTER * length
        elif ratio > _GOOD:
            radius = max(radius, _LONGER * length)
        if ratio > 0:
            x, value, gradient = x + step, there, slope


def _model_step(gradient: Array, B: Array, radius: float) -> Array:
    """The minimum of g's + s'Bs/2 within the radius, B positive definite."""
    values, Q = np.linalg.eigh(B)
    g = Q.T @ gradient

    def beyond(shift: float) -> float:
        return float(np.linalg.norm(g / (values + shift))) - radius

    if beyond(0.0) <= 0:
        return Q @ (-g / values)
    shift = scipy.optimize.brentq(beyond, 0.0, float(np.linalg.norm(g)) / radius)
    return Q @ (-g / (values + shift))


def _updated(B: Array, s: Array, y: Array) -> Array:
    """BFGS, the secant moved towards Bs where it has too little curvature."""
    Bs = B @ s
    own, found = float(s @ Bs), float(s @ y)
    if found < _DAMPED * own:
        share = (1.0 - _DAMPED) * own / (own - found)
        y = share * y + (1.0 - share) * Bs
    return B - np.outer(Bs, Bs) / own + np.outer(y, y) / float(s @ y)


def _with(objective: Objective, parameters: Mapping[str, Array]) -> Objective:
    own = {name: value for name, value in parameters.items() if name != SCALES}
    return with_parameters(objective, own)


def _scaled(X: Rows, scales: Array) -> Rows:
    """Samples, or samples and background, with their columns multiplied."""
    return single(tuple(in_units(one, 1.0 / scales) for one in as_tuple(X)))


@in_words
def tune(
    objective: str | Objective,
    X: Rows,
    r: int,
    parameters: Mapping[str, npt.ArrayLike],
    *,
    y: PerRow = None,
    loss: str | Loss | None = None,
    folds: int | Splitter = 5,
    evaluations: int = 30,
    random_state: int | np.random.Generator | None = None,
) -> Tuning:
    """Choose numbers of an objective by the gradient of a held-out loss.

    Every fold's optimum is differentiated in every number (`Result.sensitivity`), so that a
    quasi-Newton method can search all of them at once, in their logarithms. What it
    finds is the nearest local minimum; a grid, `ldr.compare` of a few values, looks further.

    Parameters
    ----------
    objective : str or Objective
        Smooth, of one view or of samples and background, its map of the columns.
    X : array (n, d), DataFrame; or a pair (samples, background)
    r : int
    parameters : dict
        Where to start, by name: positive numbers of the objective ({"ridge": 0.1}), "weights" of a
        sum, and "scales", d numbers that the columns are multiplied by.
    y : array (n,), optional
        For the objective, the loss or both.
    loss : {"log", "squared"} or callable, optional
        "log", for labels: -log of the probability of the right class, classes Gaussian in the
        coordinates. "squared", for a response: the error of least squares on the coordinates, as a
        share of what the training rows' mean leaves. Or a smooth function of the coordinates and y
        of training rows, and those of held-out ones: loss(Y, y, Y_held, y_held).
    folds : int or splitter of scikit-learn
    evaluations : int
        Of the loss of all folds, at most.
    random_state : int or Generator, optional
        Of the folds.

    Returns
    -------
    Tuning

    Raises
    ------
    ldr.errors.ArgumentError
        No such number, one that is not positive, a loss without y.
    ldr.errors.SingularError
        On the way numbers tie, and an optimum has no derivative.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> import ldr
    >>> X = X / X.std(axis=0)
    >>> found = ldr.tune("lda", X, 2, {"ridge": 1e-2}, y=y, random_state=0)
    >>> found.loss < found.history[0][1]
    True
    """
    objective = as_objective(objective, {})
    whole("evaluations", evaluations, 1)
    at_first = {name: _start(objective, name, value) for name, value in parameters.items()}
    if not at_first:
        raise ArgumentError("parameters is empty: expected numbers to start from, by name")
    if objective.views > 1:
        raise ArgumentError(f"{objective.name} is of several views, expected a method of one")
    sampled = Sampled.of(objective, X, y, "held-out loss")
    splits = sampled.folds(folds, as_generator(random_state))
    parts = [(sampled.take(training), sampled.take(held)) for training, held in splits]
    held_out = _HeldOut(objective, parts, r, _loss(loss, y), at_first)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        _descend(held_out, sum(value.size for value in at_first.values()), evaluations)
    best, value = min(held_out.history, key=lambda each: each[1])
    own, scales = _with(objective, best), best.get(SCALES)
    rows = sampled.data.X if scales is None else _scaled(sampled.data.X, scales)
    result = solve(own, rows, r, y=y)
    if scales is not None:
        result = undone(result, (1.0 / scales,))
    found = {name: each if each.ndim else float(each) for name, each in best.items()}
    history = tuple(held_out.history)
    return Tuning(found, value, history, len(history) * len(parts), result)


def _start(objective: Objective, name: str, value: npt.ArrayLike) -> Array:
    if name != SCALES:
        parameter(objective, name)
    start = np.asarray(value, dtype=np.float64)
    if not (np.isfinite(start) & (start > 0)).all():
        raise ArgumentError(f"{name} starts at {value!r}, expected positive numbers")
    return start


def _loss(loss: str | Loss | None, y: PerRow) -> Loss:
    if callable(loss):
        return loss
    if y is None:
        raise ArgumentError("a held-out loss needs y=, or loss= as a function")
    if loss is None:
        return log_loss if is_categorical(y) else squared_error
    choice("loss", loss, tuple(LOSSES))
    return LOSSES[loss]
