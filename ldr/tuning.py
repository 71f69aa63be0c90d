"""`ldr.tune`: tunes parameters of an objective by the gradient of a held-out loss."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import scipy

from ldr.cross_validation import Folds, Part, class_scores, response_scores
from ldr.errors import in_words
from ldr.inputs import as_objective
from ldr.objectives.data.data import as_tuple, single
from ldr.objectives.kernel import is_categorical
from ldr.objectives.objective import Objective
from ldr.resampling import Sampled
from ldr.result import Result
from ldr.scaling import in_units, undone
from ldr.sensitivity.derivative import Derivative, parameter, with_parameters
from ldr.solvers import errors
from ldr.solvers.checks import Pickled, choice, whole
from ldr.solvers.errors import ArgumentError, DataError, ObjectiveError
from ldr.solvers.linalg.rounding import DIFFERENCE_STEP
from ldr.solvers.manifolds import Array
from ldr.solving import solve
from ldr.types import PerRow, Rows, Splitter, XandY

# Key of the columns' scale factors in a dict of tuned parameters.
SCALES = "scales"
# Function (training components, training y, held-out components, held-out y) -> the held-out loss.
Loss = Callable[[Array, PerRow, Array, PerRow], float]
# Map from a loss to the kind of y that it suits, and to the loss's title in the printed table.
LOSSES = {"log": ("classes", "log loss (nats a sample)"), "squared": ("response", "1 - Q2")}


@dataclass(frozen=True)
class Tuning(Pickled):
    """Tuned parameters, their held-out loss and the result.

    Attributes
    ----------
    parameters : dict
        The best values by name: numbers, or arrays of weights and scales.
    loss : float
        Mean loss over all held-out samples at these parameters. The parameters were chosen by this
        loss, so that the loss of further samples is larger on average.
    history : tuple of (dict, float)
        Parameters and loss of every evaluation.
    solves : int
        Number of problems that were solved, over all folds.
    result : Result
        Result on all samples at the best parameters; P and mean apply to X before any scaling.
    kind : str
        Name and unit of the loss.
    notes : tuple of str
        Warnings about the folds.
    """

    parameters: dict[str, float | Array]
    loss: float
    history: tuple[tuple[dict[str, Array], float], ...]
    solves: int
    result: Result
    kind: str = "loss"
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        texts = {k: np.array2string(np.asarray(v), precision=4) for k, v in self.parameters.items()}
        found = ", ".join(f"{name} = {text}" for name, text in texts.items())
        notes = "".join(f"\n  {note}" for note in self.notes)
        return (
            f"{found}: held-out {self.kind} {self.loss:.6g}, at first {self.history[0][1]:.6g}\n"
            f"  {len(self.history)} evaluations, {self.solves} solves; the parameters were chosen "
            f"by this loss: expect a larger loss of new samples{notes}"
        )


def held_out_loss(
    objective: Objective,
    folds: Sequence[tuple[XandY, XandY]],
    r: int,
    loss: str | Loss,
    parameters: Mapping[str, Array],
) -> tuple[float, Array]:
    """Return the mean loss of held-out samples, and its gradient in log10 of the parameters."""
    each = [_of_fold(objective, *fold, r, loss, parameters) for fold in folds]
    losses, gradients, units = (np.sum(part, axis=0) for part in zip(*each, strict=True))
    if not units > 0:
        raise DataError(
            "loss='squared' divides by the variation of y in held-out samples, which is zero: "
            "expected a y that varies, or a function as loss="
        )
    return float(losses / units), math.log(10.0) * gradients / units


def _of_fold(
    objective: Objective,
    training: XandY,
    held: XandY,
    r: int,
    loss: str | Loss,
    parameters: Mapping[str, Array],
) -> tuple[float, list[float], float]:
    """Return a fold's total loss, its derivatives in log parameters, and its denominator."""
    (X, y), (Z, z) = training, held
    X, Z = (_scaled(rows, parameters.get(SCALES)) for rows in (X, Z))
    result = solve(_with(objective, parameters), X, r, y=y, certify=False)
    sensitivity = result.sensitivity(X, y)
    predicts = isinstance(loss, str) and objective.traits.predicts == LOSSES[loss][0]

    def measured(at: Result, factors: Array | None = None) -> tuple[float, float]:
        new, old = (Part(at, _scaled(rows, factors), of) for rows, of in ((Z, z), (X, y)))
        return _measured(loss, new, old)

    def moved(derivative: Derivative, t: float) -> Result:
        """Return the result after a step t to first order: its predictors, or else its map."""
        if predicts:
            problem, M = derivative.optimum_at(t)
            maps, means = problem.maps(M), problem.mean_at(M)
            return replace(result, mean=means[0], predictors=problem.predictors(M, maps, means))
        P, mean = result.P + t * derivative.P, result.mean + t * derivative.mean
        return replace(result, P=P, mean=mean)

    gradient = []
    for name, value in parameters.items():
        for unit in np.eye(value.size):
            if name == SCALES:
                moves = single(tuple(one.dense() * unit for one in as_tuple(X)))
                derivative = sensitivity.along(moves)
            else:
                step = value * unit.reshape(value.shape)
                derivative = sensitivity.along(**{name: step if value.ndim else float(step)})
            ahead, behind = (
                measured(moved(derivative, t), 1.0 + t * unit if name == SCALES else None)[0]
                for t in (DIFFERENCE_STEP, -DIFFERENCE_STEP)
            )
            gradient.append((ahead - behind) / (2.0 * DIFFERENCE_STEP))
    total, denominator = measured(result)
    return total, gradient, denominator


def _measured(loss: str | Loss, new: Part, old: Part) -> tuple[float, float]:
    """Return the total loss, and its denominator: a count or the training mean's loss."""
    if callable(loss):
        found = np.asarray(loss(old.Y[0], old.y, new.Y[0], new.y))
        if found.shape or found.dtype.kind not in "iufb" or not np.isfinite(found):
            raise ObjectiveError(f"loss= returned {found!r}, expected a finite real number")
        return float(found) * len(new.Y[0]), len(new.Y[0])
    log = loss == "log"
    scored = class_scores(new, old, probable=True) if log else response_scores(new, old)
    if (logs := scored.log_loss) is None:
        assert scored.reference is not None
        return -float(np.sum(scored.values)), -float(np.sum(scored.reference))
    if not np.isfinite(logs).all():
        raise DataError(
            "a class of a held-out sample is missing in the training samples of its fold: "
            "expected folds= with every class in the training samples"
        )
    return float(np.sum(logs)), len(logs)


def _with(objective: Objective, parameters: Mapping[str, Array]) -> Objective:
    own = {name: value for name, value in parameters.items() if name != SCALES}
    return with_parameters(objective, own)


def _scaled(X: Rows, scales: Array | None) -> Rows:
    """Multiply the columns of samples, or of samples and background."""
    if scales is None:
        return X
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
    groups: PerRow = None,
    evaluations: int = 30,
    random_state: int | np.random.Generator | None = None,
) -> Tuning:
    """Tune parameters of an objective by the gradient of a held-out loss.

    The optimum of every fold is differentiated with respect to every parameter
    (`Result.sensitivity`). A quasi-Newton method, in the logarithms of all parameters, finds the
    nearest local minimum. To search a wide range, score a grid of values by `ldr.compare`.

    Parameters
    ----------
    objective : str or Objective
        A smooth objective of one view, or of samples and background, without a feature map.
    X : array (n, d) or DataFrame; for a method with a background, a pair (samples, background)
    r : int
    parameters : dict
        Initial values by name: positive parameters of the objective ({"ridge": 0.1}), "weights" of
        a sum of objectives, and "scales", d factors that multiply the columns.
    y : array (n,), optional
        Labels or response for the objective, the loss or both.
    loss : {"log", "squared"} or callable, optional
        "log", for labels, is minus the log of the predicted probability of the true class. If the
        method predicts no classes, each class has a Gaussian distribution in the projection.
        "squared", for a response, is 1 - Q2, pooled over all folds. If the method predicts no
        response, the components predict it by least squares. The loss may be a smooth function
        ``loss(Y, y, Y_held, y_held)`` of components and responses of training and held-out samples.
    folds : int or splitter of scikit-learn
        As in `ldr.path`.
    groups : array (n,), optional
        Samples of a group are held out together; if the method needs time order, groups are trials.
    evaluations : int
        Largest number of evaluations of the loss over all folds.
    random_state : int or Generator, optional
        Seed of the folds.

    Returns
    -------
    Tuning

    Raises
    ------
    ldr.errors.ArgumentError
        A parameter is unknown or not positive, or the loss needs y and y is not given.
    ldr.errors.ObjectiveError
        The loss is not a finite real number.
    ldr.errors.SingularError
        Eigenvalues tie during the search: the optimum is then not differentiable.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> import ldr
    >>> X = X / X.std(axis=0)
    >>> found = ldr.tune("orthogonal-lda", X, 2, {"ridge": 1e-2}, y=y, random_state=0)
    >>> found.loss < found.history[0][1]
    True
    """
    objective = as_objective(objective, {})
    whole("evaluations", evaluations, 1)
    if not parameters:
        raise ArgumentError("parameters is empty: expected initial values by name")
    if objective.views > 1:
        raise ArgumentError(f"{objective.name} has several views, expected a single view")
    sampled = Sampled.of(objective, X, y, "held-out loss", groups=groups)
    at_first: dict[str, Array] = {}
    for name, given in parameters.items():
        one = np.zeros(sampled.data.samples.d) if name == SCALES else parameter(objective, name)
        at_first[name] = first = np.asarray(given, dtype=np.float64)
        if first.shape != np.shape(one) or not (np.isfinite(first) & (first > 0)).all():
            expected = f"{np.size(one)} positive numbers" if np.ndim(one) else "a positive number"
            raise ArgumentError(f"initial {name} is {given!r}, expected {expected}")
    splits = Folds.of(sampled, folds, random_state)
    parts = [(sampled.part(training), sampled.part(held)) for training, held in splits.parts]
    used = _loss(loss, sampled.data.y)
    ends = np.cumsum([value.size for value in at_first.values()])
    history: list[tuple[dict[str, Array], float]] = []

    def share_of_first(decades: Array) -> tuple[float, Array]:
        """Evaluate the loss from log10 of the parameters' ratios to the initial values."""
        if len(history) == evaluations:
            raise StopIteration
        steps = zip(at_first.items(), np.split(decades, ends[:-1]), strict=True)
        here = {name: first * 10.0 ** step.reshape(first.shape) for (name, first), step in steps}
        value, gradient = held_out_loss(objective, parts, r, used, here)
        history.append((here, value))
        unit = abs(history[0][1]) or 1.0
        return value / unit, gradient / unit

    with warnings.catch_warnings(), suppress(StopIteration):
        warnings.simplefilter("ignore", errors.ConvergenceWarning)
        scipy.optimize.minimize(
            share_of_first,
            np.zeros(ends[-1]),
            jac=True,
            method="L-BFGS-B",
            options={"ftol": 1e-6, "gtol": 1e-6},  # larger tolerances stopped at saddle points
        )
    best, value = min(history, key=lambda each: each[1])
    scales = best.get(SCALES)
    result = solve(_with(objective, best), _scaled(sampled.data.X, scales), r, y=sampled.data.y)
    if scales is not None:
        result = undone(result, (1.0 / scales,))
    found = {name: each if each.ndim else float(each) for name, each in best.items()}
    kind = "loss" if callable(used) else LOSSES[used][1]
    solves, notes = len(history) * len(parts), tuple(splits.notes)
    return Tuning(found, value, tuple(history), solves, result, kind, notes)


def _loss(loss: str | Loss | None, y: PerRow) -> str | Loss:
    if callable(loss):
        return loss
    if y is None:
        raise ArgumentError("a held-out loss needs y=, or a function as loss=")
    if loss is None:
        return "log" if is_categorical(y) else "squared"
    choice("loss", loss, tuple(LOSSES))
    return loss
