"""Cross-validation: scores of held-out samples under models fitted to training samples alone."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from itertools import combinations
from operator import add
from typing import TypeVar

import numpy as np
import scipy

from ldr.errors import in_words
from ldr.inputs import as_data
from ldr.objectives.data.data import Samples, as_tuple, single
from ldr.objectives.data.sample_metadata import Marks, as_array, as_labels, begins, is_text
from ldr.objectives.kernel import as_response
from ldr.objectives.objective import Objective, of_features
from ldr.objectives.parameters import OF_Y, Need
from ldr.objectives.prediction import GroupedRows, LinearPredictor
from ldr.objectives.problem import near
from ldr.objectives.statistics.sums import dense
from ldr.projecting import predicted, views_of
from ldr.resampling import Indices, Sampled
from ldr.result import Result, check_result
from ldr.scaling import divided
from ldr.solvers import errors
from ldr.solvers.checks import whole
from ldr.solvers.errors import ArgumentError, DataError, SingularError
from ldr.solvers.linalg.eigen import power_of_two
from ldr.solvers.manifolds import Array, Orthonormal, polar_factor
from ldr.trial_layout import FEATURES, mean_power
from ldr.types import Argument, PerRow, Rows

# Number of neighbours of the nearest-neighbour classifier, equal to scikit-learn's default.
NEIGHBOURS = 5
ERROR = "minus the mean squared error of the response"
ELEMENTS = "minus the mean squared error of elements of X that were left out"
RECONSTRUCTION = "minus the squared error of the reconstruction of a sample"
NORM = "minus the norm of the element-wise errors of a sample"
ACCURACY = "accuracy"
LIKELIHOOD = "log-likelihood of a sample in nats"
PRODUCT = "product of standardised scores"
OBJECTIVE = "objective of held-out samples about the training mean"
DESCRIPTION = "objective of held-out samples about their own mean"
# Scores that change monotonically with r, the number of components, and so cannot determine r.
DESCRIPTIONS = (RECONSTRUCTION, DESCRIPTION)
# Scores with which the one-standard-error rule chooses the number of components.
PREDICTIONS = (ERROR, ACCURACY, ELEMENTS, NORM, PRODUCT)
# Methods that are scored by their reconstruction of X.
VARIANCE = ("pca", "mds", "log-det-pca", "sparse-pca", "robust-pca")
FAILURES = (ArgumentError, DataError, SingularError)


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Scores of m held-out samples."""

    kind: str
    values: Array  # scores of m samples (rows) and q columns; larger is better
    weights: Array  # sample weights, shape (m,)
    reference: Array | None = None  # scores of predicting the training mean
    classes: np.ndarray | None = None  # true class of each sample, shape (m,)
    log_loss: Array | None = None  # minus the log-probability of the true class, shape (m,)

    @classmethod
    def joined(cls, parts: Sequence[HeldOut]) -> HeldOut:
        """Join the samples of all folds."""
        names = [each.name for each in fields(cls) if each.name != "kind"]
        columns = {name: [getattr(part, name) for part in parts] for name in names}
        known = {name: c for name, c in columns.items() if all(each is not None for each in c)}
        return cls(parts[0].kind, **{name: np.concatenate(c) for name, c in known.items()})

    @property
    def score(self) -> float:
        """Mean score over the samples."""
        with np.errstate(invalid="ignore"):
            return float(np.average(self.values.mean(axis=1), weights=self.weights))

    @property
    def largest(self) -> object:
        """The class with the largest total weight; None without classes."""
        if self.classes is None:
            return None
        names, codes = np.unique(self.classes, return_inverse=True)
        return names[np.argmax(np.bincount(codes, self.weights))]

    def trivial(self, largest: object = None) -> HeldOut | None:
        """Return the scores of predictions by the training mean or by a given class (r = 0)."""
        values = self.reference
        if self.classes is not None:
            values = np.asarray(self.classes == largest, dtype=float)[:, None]
        return None if values is None else replace(self, values=values, log_loss=None)

    @property
    def numbers(self) -> dict[str, float]:
        """Summaries over all samples, such as "rmsecv", "q2" or "accuracy"."""
        w = self.weights
        if self.classes is not None:
            codes = np.unique(self.classes, return_inverse=True)[1]
            right, sizes = (np.bincount(codes, each) for each in (w * self.values[:, 0], w))
            shares = right[sizes > 0] / sizes[sizes > 0]
            found = {"accuracy": self.score, "balanced_accuracy": float(shares.mean())}
            found["majority"] = float(sizes.max() / w.sum())
            if self.log_loss is not None:
                found["log_loss"] = float(np.average(self.log_loss[w > 0], weights=w[w > 0]))
            return found
        if self.reference is None or self.kind in (LIKELIHOOD, PRODUCT):
            return {}
        left, total, found = -(w @ self.values), -(w @ self.reference), {}
        columns = {"": slice(None)}
        if self.kind == ERROR and len(left) > 1:
            columns |= {f"_{k}": slice(k, k + 1) for k in range(len(left))}
        for end, k in columns.items():
            of_mean = total[k].sum()
            found[f"q2{end}"] = float(1.0 - left[k].sum() / of_mean) if of_mean > 0 else math.nan
            if self.kind != NORM:
                found[f"rmsecv{end}"] = math.sqrt(left[k].mean() / w.sum())
        return found


@dataclass(frozen=True, eq=False)
class Part:
    """Training or held-out samples, and their coordinates under the map of a result."""

    result: Result
    X: Rows
    y: PerRow

    @cached_property
    def views(self) -> tuple[Samples, ...]:
        """Views of the samples, without the background."""
        views = as_tuple(self.X)
        return views[:1] if Need.BACKGROUND in self.result.objective.needs else views

    @cached_property
    def Y(self) -> tuple[Array, ...]:
        """Coordinates of each view."""
        return tuple(map(np.asarray, as_tuple(self.result.transform(single(self.views)))))

    @property
    def weights(self) -> Array:
        """Weight of each sample."""
        found = self.views[0].weights
        return np.ones(self.views[0].n) if found is None else np.asarray(found)

    @property
    def rows(self) -> Array:
        """Samples of the only view, or of the last view, which is predicted from the first."""
        return self.views[-1].in_memory().dense_if_few()

    @property
    def response(self) -> Array:
        return as_response(self.y, self.views[0].n)

    def featured(self) -> Samples:
        """Return the features of a view's samples, by the fitted feature maps."""
        features, samples = self.result.features, self.views[0]
        return samples if features is None else features(samples)


# Function of held-out and training samples that returns scores of the held-out samples.
Criterion = Callable[[Part, Part], HeldOut]
Scored = TypeVar("Scored")


def held_out(new: Part, old: Part | None = None, *, elements: bool = False) -> HeldOut:
    """Score held-out samples by the method's criterion, such as prediction or likelihood.

    The training samples `old` are needed only for likelihoods at r = 0 and features of trials.
    """
    result, objective = new.result, new.result.objective
    name, timed = of_features(objective).name, Need.TIME_ORDER in objective.needs
    if result.model is not None:
        return _likelihood(new, old)
    if old is not None and timed and OF_Y & set(objective.needs):
        return of_trials(new, old, Need.LABELS in objective.needs)
    if result.predictors and objective.traits.predicts in ("classes", "response"):
        labelled = getattr(result.predictors[0], "classes", None) is not None
        return (class_scores if labelled else response_scores)(new, old)
    if name == "reduced-rank-regression":
        return response_scores(new, old, "view")
    if len(new.views) > 1:
        return _products(new)
    if name in VARIANCE:
        return _reconstruction(new, name, elements)
    value = np.full((new.views[0].n, 1), _objective_value(new))
    return HeldOut(OBJECTIVE if timed else DESCRIPTION, value, new.weights)


def _classified(truth: np.ndarray, weights: Array, classes: np.ndarray, decision: Array) -> HeldOut:
    """Score classes by their logarithmic odds."""
    logs = scipy.special.log_softmax(decision, axis=1)
    loss = -np.max(np.where(truth[:, None] == classes, logs, -np.inf), axis=1)
    right = np.asarray(truth == classes[np.argmax(decision, axis=1)], dtype=float)[:, None]
    return HeldOut(ACCURACY, right, weights, classes=truth, log_loss=loss)


def _squared(truth: Array, found: Array, mean: Array, weights: Array) -> HeldOut:
    return HeldOut(ERROR, -((truth - found) ** 2), weights, -((truth - mean) ** 2))


def _likelihood(new: Part, old: Part | None) -> HeldOut:
    """Score by the log-likelihood; the model at r = 0 has independent normal columns."""
    result, X = new.result, new.featured()
    assert result.model is not None
    values = result.model.score_samples(X)[:, None]
    if old is None:
        return HeldOut(LIKELIHOOD, values, new.weights)
    Z = old.featured().in_memory().dense_if_few()
    w = old.weights[:, None] * ~np.isnan(Z)
    counts, unit = w.sum(axis=0), 1.0 if result.scale is None else result.scale
    mean = np.nansum(w * Z, axis=0) / counts
    squares = np.nansum(w * ((Z - mean) / unit) ** 2, axis=0)
    if of_features(result.objective).name == "ppca":  # in ppca all columns share one noise variance
        squares, counts = squares.sum(), counts.sum()
    variance = squares / counts * unit**2
    terms = np.log(2 * np.pi * variance) + (X.in_memory().dense_if_few() - mean) ** 2 / variance
    return HeldOut(LIKELIHOOD, values, new.weights, -0.5 * np.nansum(terms, axis=1)[:, None])


def _products(new: Part, _: Part | None = None, *, mean: bool = False) -> HeldOut:
    """Score by products of the views' standardised scores: sums or means over components."""
    seen = [one for one in new.result.directions.variations if one is not None]
    Z = [
        Y / np.sqrt(np.where(one.variances > 0, one.variances, np.inf))
        for Y, one in zip(new.Y, seen, strict=True)
    ]
    products = np.mean([a * b for a, b in combinations(Z, 2)], axis=0)
    values = products.mean(axis=1) if mean else products.sum(axis=1)
    return HeldOut(PRODUCT, values[:, None], new.weights, np.zeros((len(values), 1)))


def _reconstruction(new: Part, name: str, elements: bool) -> HeldOut:
    """Score reconstructions about the training mean, by sample or by element."""
    result, samples = new.result, new.featured()
    samples.expect_columns(len(result.mean))
    scaled = result.scale is not None and result.features is None
    unit = result.scale if scaled else np.ones(len(result.mean))
    U, sizes, _ = np.linalg.svd((result.P * unit).T, full_matrices=False)
    Q = U[:, sizes > sizes[0] * np.finfo(float).eps * len(U)]
    free = 1.0 - np.sum(Q**2, axis=1)
    whole_samples = not elements or name == "robust-pca"

    def errors(piece: Samples) -> list[Array]:
        found = []
        for _, block in piece.blocks():
            Z = (dense(block) - result.mean) / unit
            E = Z - (Z @ Q) @ Q.T
            if elements:  # divisors below 1e-8 would magnify rounding errors
                E = np.divide(E, free, out=np.full(E.shape, np.inf), where=free >= 1e-8)
            both = np.stack([E, Z]) ** 2
            found.append(both.sum(axis=2, keepdims=True) if whole_samples else both)
        return found

    both = np.concatenate(samples.reduce(errors, add), axis=1)
    kind = RECONSTRUCTION if not elements else NORM if whole_samples else ELEMENTS
    values, reference = -np.sqrt(both) if kind == NORM else -both
    return HeldOut(kind, values, new.weights, reference)


def of_trials(new: Part, old: Part, labels: bool) -> HeldOut:
    """Score predictions from features of trials: log mean power, or time courses (xdawn)."""
    (F, y, _), (G, z, w) = (_features_of_trials(part) for part in (old, new))
    if not labels:
        known, truth = as_response(y, len(y)), as_response(z, len(z))
        return _least_squares((F, known, np.ones(len(F))), (G, truth, w))
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    if len(F) <= len(np.unique(y)):
        raise DataError(
            f"the training part of a fold has {len(F)} trials of {len(np.unique(y))} classes, "
            "expected more trials than classes: use fewer folds"
        )
    many = FEATURES.get(new.result.objective.name) == "flat"
    options = {"solver": "lsqr", "shrinkage": "auto"} if many else {}
    model = LinearDiscriminantAnalysis(**options).fit(F, y)
    return _classified(z, w, model.classes_, model.predict_log_proba(G))


def _features_of_trials(part: Part) -> tuple[Array, np.ndarray, Array]:
    """Return the features, the class or quantity, and the weight of each trial."""
    Y, marks = part.Y[0], part.views[0].marks
    codes = None if marks is None else marks.codes
    trials = np.arange(len(Y)) if codes is None else codes
    starts = np.flatnonzero(begins(trials))
    if FEATURES.get(part.result.objective.name) == "flat":
        F = Y.reshape(len(starts), -1)
    else:
        F = np.log(np.maximum(mean_power(Y, trials), np.finfo(float).tiny))
    return F, as_array(part.y)[starts], part.weights[starts]


def _objective_value(new: Part) -> float:
    """Return the objective of the samples at the result's matrix, with a sign: larger is better.

    Time series are centred about the training mean: with their reflections about that mean appended
    they have this mean, and unchanged second moments. vamp is centred about the two means of the
    new pairs (of earlier and of later samples), as in deeptime.
    """
    result, objective, P = new.result, new.result.objective, new.result.P
    views = as_tuple(new.X)  # X may be a pair of samples and background data
    if result.features is not None:
        views, objective = tuple(map(result.features, views)), of_features(objective)
    samples, *background = views
    samples.expect_columns(P.shape[1])
    timed = Need.TIME_ORDER in objective.needs and not OF_Y & set(objective.needs)
    given = getattr(objective, "derivatives", None) is not None  # True if the user gave derivatives
    mirrored = timed and not given and "right" not in result.parameters
    if mirrored:
        samples = _mirrored(samples, result.mean)
    # A method that ignores y may be given a y, which has no entries for the reflections.
    data = as_data(objective, single((samples, *background)), None if mirrored else new.y)
    if result.scale is not None and result.features is None:  # nonlinear features are not scaled
        data, P = divided(data, result.scale), P * result.scale
    problem = objective.bind(data, result.r)
    coordinates = problem.views[0].coordinates
    M = coordinates.carried(result.M, P)
    if coordinates.is_whitened and isinstance(problem.manifold.factors[0], Orthonormal):
        # f depends only on the span of M: any orthonormal basis of the span gives the same value.
        M = polar_factor(M / power_of_two(M))
    Z = problem.point([M])
    if hasattr(problem, "value_of"):
        value = problem.value_of(Z, result.parameters)
    elif len(problem.manifold.factors) > len(problem.views):
        raise ArgumentError(f"{objective.name!r} fits parameters besides M: new data have no score")
    else:
        value = near(problem, Z).value(Z)
    value = problem.reported(value)
    return value if objective.sense == "max" else -value


def _mirrored(samples: Samples, mean: Array) -> Samples:
    """Subtract a mean, and append the negated samples as further trials; halve the weights."""
    Z = samples.in_memory().dense_if_few() - mean
    codes = None if samples.marks is None else samples.marks.codes
    codes = np.zeros(len(Z), dtype=np.intp) if codes is None else codes
    weights = np.ones(len(Z)) if samples.weights is None else samples.weights
    marks = Marks(np.tile(0.5 * weights, 2), np.concatenate([codes, codes + codes[-1] + 1]))
    return Samples(np.concatenate([Z, -Z]), name=samples.name, marks=marks)


@in_words
def score(
    result: Result,
    X: Rows,
    y: PerRow = None,
    *,
    sample_weight: PerRow = None,
    groups: PerRow = None,
) -> float:
    """Score a result on new samples: larger is better.

    - Methods of labels: the accuracy of `Result.predict`. Regressions and reduced-rank-regression:
      minus the mean squared error of `Result.predict`.
    - ppca and fa: the mean log-likelihood per sample.
    - pca, mds, log-det-pca, sparse-pca, robust-pca: minus the mean squared distance of a sample
      from its reconstruction, which uses the training mean.
    - Several views: the sum over components of the mean product of the scores of two views. Scores
      are divided by their standard deviations in the training samples.
    - Other methods: the objective for the new samples at the result's M, with a minus sign if it is
      minimised. Time series are centred about the training mean, other samples about their own
      mean. Samples are not centred for csp, spoc, xdawn and ssd.

    Parameters
    ----------
    result : Result
    X : array, memory map, sparse matrix or DataFrame (m, d)
        Several views or a background as in `ldr.solve`.
    y : array (m,), optional
        Labels or a response, if the objective needs them.
    sample_weight, groups : array (m,), optional
        As in `ldr.solve`.

    Returns
    -------
    float

    Raises
    ------
    ldr.errors.ArgumentError
        The objective is a function of distances, or parameters besides M were fitted to the data.
    ldr.errors.DataError, ldr.errors.SingularError
        The new data do not match the result, or a matrix of the new data is singular.
    """
    check_result(result)
    objective = result.objective
    if Need.DISTANCES in objective.needs:
        raise ArgumentError(
            f"objective {objective.name!r} takes distances and cannot score new samples"
        )
    if isinstance(result.P, tuple):
        X = views_of(X, len(result.P), result.view_names)
    data = as_data(of_features(objective), X, y, sample_weight, groups, minimum_rows=1)
    found = held_out(Part(result, data.X, data.y))
    if found.log_loss is not None and np.isinf(found.log_loss[found.weights > 0]).all():
        known = np.asarray(getattr(result.predictors[0], "classes", ()))[:5].tolist()
        raise DataError(f"no label of y is one of the fit's classes {known}")
    return found.score


def criteria(
    labels: bool | None, *, views: int, ordered: bool, by_trial: bool, gaps: bool
) -> dict[str, Criterion]:
    """Return the scores that `ldr.compare` has for all methods, the main score first.

    - labels: True if y holds labels, False if it holds a response, None without y
    """
    if labels is not None:
        name, scores = ("accuracy", class_scores) if labels else ("Q2", response_scores)
        if by_trial:
            return {name: partial(of_trials, labels=labels)}
        return {name: scores, f"{name}, {NEIGHBOURS} nearest": partial(_nearest, labels=labels)}
    if views > 1:
        products = partial(_products, mean=True)
        second = partial(response_scores, what="view")
        return {"Q2 of the second view": second, "product of scores": products}
    if ordered:
        return {"Q2 of the next step": _next_step}
    if gaps:
        return {"Q2 of hidden entries": _hidden_entries}
    return {"Q2 of X": partial(response_scores, what="rows")}


def labelled(objectives: Sequence[Objective], y: PerRow) -> np.ndarray | None:
    """Return False for the samples that a method takes as unlabelled; None if no method does."""
    own = [o for o in map(of_features, objectives) if hasattr(o, "has_label")]
    if not own or (labels := as_array(y)).ndim != 1:
        return None
    return np.all([o.has_label(labels) for o in own], axis=0)


def class_scores(new: Part, old: Part | None, *, probable: bool = False) -> HeldOut:
    """Score classes from `predict`, or from the nearest class mean in the projection.

    If `probable`, the score needs class probabilities, which regressions on indicators lack.
    """
    result, truth, weights = new.result, as_array(new.y), new.weights
    predictor = result.predictors[0] if result.predictors else None
    classes, linear = getattr(predictor, "classes", None), isinstance(predictor, LinearPredictor)
    if classes is None or (linear and probable):
        assert old is not None
        codes, classes = as_labels(old.y, len(old.Y[0]))
        centre = _mean(old.Y[0], old.weights)
        rows = Samples(old.Y[0], marks=Marks(old.weights))
        (nearest,) = GroupedRows(classes, codes, rows).predictors((np.eye(rows.d),), (centre,))
        decision, linear = nearest.decision(new.Y[0] - centre), False
    else:
        decision = predicted(result, new.views[0], 0, "decision")
        known = labelled([result.objective], truth)
        if known is not None and not (weights := weights * known).any():
            raise DataError("y has no label to compare with: every sample is marked as unlabelled")
    found = _classified(truth, weights, classes, decision)
    return replace(found, log_loss=None) if linear else found


def response_scores(new: Part, old: Part | None, what: str = "response") -> HeldOut:
    """Score a response, the second view or X, from `predict` or else from least squares."""
    result, truth = new.result, new.response if what == "response" else new.rows
    if not (result.predictors and result.objective.traits.predicts == what):
        assert old is not None
        known = old.response if what == "response" else old.rows
        training, held = (old.Y[0], known, old.weights), (new.Y[0], truth, new.weights)
        return _least_squares(training, held, standardise=what == "rows")
    found, predictor = predicted(result, new.views[0], 0, "predict"), result.predictors[0]
    assert isinstance(predictor, LinearPredictor)
    if found.size != truth.size:
        raise DataError(
            f"y has {truth.shape[1]} columns, expected {found.size // len(truth)}, one for each "
            "response of the fit"
        )
    return _squared(truth, np.reshape(found, truth.shape), predictor.mean, new.weights)


def _nearest(new: Part, old: Part, labels: bool) -> HeldOut:
    """Score predictions from nearest training samples: the majority class or mean response."""
    from sklearn.neighbors import NearestNeighbors

    counted = np.flatnonzero(old.weights)
    search = NearestNeighbors(n_neighbors=min(NEIGHBOURS, len(counted))).fit(old.Y[0][counted])
    nearest = counted[search.kneighbors(new.Y[0], return_distance=False)]
    codes, classes = as_labels(old.y, len(old.Y[0])) if labels else (None, None)
    known = old.response if classes is None else np.eye(len(classes))[codes]
    votes = old.weights[nearest]
    found = np.einsum("ik,ikq->iq", votes, known[nearest]) / votes.sum(axis=1)[:, None]
    if classes is not None:
        right = classes[found.argmax(axis=1)] == as_array(new.y)
        return HeldOut(ACCURACY, np.asarray(right, dtype=float)[:, None], new.weights)
    return _squared(new.response, found, _mean(known, old.weights), new.weights)


def _mean(Z: Array, w: Array) -> Array:
    return np.asarray(np.average(Z, axis=0, weights=w))


def _least_squares(
    old: tuple[Array, Array, Array], new: tuple[Array, Array, Array], standardise: bool = False
) -> HeldOut:
    """Score the least squares prediction of B from A; both arguments are (A, B, weights)."""
    (A, B, w), (new_A, new_B, new_w) = old, new
    if standardise:
        unit = np.sqrt(_mean((B - _mean(B, w)) ** 2, w))
        unit = np.where(unit > 0, unit, 1.0)
        B, new_B = B / unit, new_B / unit
    mean_A, mean_B, root = _mean(A, w), _mean(B, w), np.sqrt(w)[:, None]
    fitted = np.linalg.lstsq(root * (A - mean_A), root * (B - mean_B), rcond=None)[0]
    return _squared(new_B, mean_B + (new_A - mean_A) @ fitted, mean_B, new_w)


def _next_step(new: Part, old: Part) -> HeldOut:
    """Score the least squares prediction of each sample's successor in time."""
    return _least_squares(_steps(old), _steps(new), standardise=True)


def _steps(part: Part) -> tuple[Array, Array, Array]:
    """Return samples, their successors in time, and the weights of these pairs."""
    Y, marks = part.Y[0], replace(part.views[0].marks or Marks(), weights=part.weights)
    there = marks[:-1].before(marks[1:])
    kept = there > 0
    return Y[:-1][kept], Y[1:][kept], there[kept]


def _hidden_entries(new: Part, old: Part) -> HeldOut:
    """Score the imputation of a tenth of the entries, hidden at random, in standardised columns."""
    assert new.result.model is not None  # only methods that fit a model accept missing values
    rows = new.rows
    mean, unit = np.nanmean(old.rows, axis=0), np.nanstd(old.rows, axis=0)
    hidden = ~np.isnan(rows) & (np.random.default_rng(0).random(rows.shape) < 0.1)
    hidden[np.all(hidden | np.isnan(rows), axis=1)] = False  # no row loses all of its entries
    filled = new.result.model.impute(np.where(hidden, np.nan, rows))
    truth, guess = ((Z - mean) / np.where(unit > 0, unit, 1.0) for Z in (rows, filled))
    w = np.broadcast_to(new.weights[:, None], rows.shape)[hidden]
    return _squared(truth[hidden][:, None], guess[hidden][:, None], np.zeros(1), w)


def gap_of(objective: Objective) -> int:
    """Return the objective's lag: the samples to omit before and after a held-out block."""
    own = getattr(objective, "lag", None) or getattr(objective, "segment", None)
    window = getattr(objective, "window", None)
    return int(own or (2 * window - 1 if window else 1))


@dataclass(frozen=True, eq=False)
class Folds:
    """Training and held-out samples of each fold, with their fits and scores."""

    sampled: Sampled
    parts: list[tuple[Indices, Indices]]  # indices of the (training, held-out) samples of each fold
    notes: list[str]  # warnings about folds, and reasons why some fits failed

    @classmethod
    def of(
        cls,
        sampled: Sampled,
        folds: Argument,
        random_state: int | np.random.Generator | None,
        gap: int | None = None,
        known: np.ndarray | None = None,
    ) -> Folds:
        """Split samples into folds as in `ldr.path`; trials of time series are not split.

        Only samples with `known` labels are held out, by default those that the objective knows.
        """
        from sklearn import model_selection

        trials, blocks, splitter = sampled.trials, sampled.is_series, folds
        units = np.arange(sampled.n) if trials is None else trials
        first = np.searchsorted(units, np.arange(units[-1] + 1))
        y = None if sampled.data.y is None else as_array(sampled.data.y)[first]
        numbered = isinstance(folds, str) or not hasattr(folds, "split")
        counted = np.ones(len(first), bool)
        groups = None if numbered and sampled.ordered else sampled.groups
        groups = None if groups is None else groups[first]
        if numbered:
            if not isinstance(folds, int | np.integer):
                raise ArgumentError(
                    "folds must be a whole number >= 2, or a splitter of scikit-learn such as "
                    f"KFold(5) or PredefinedSplit(fold_of_each_sample), got {type(folds).__name__}"
                )
            whole("folds", folds, 2)
            needs, seed = set(sampled.objective.needs), random_state
            labels = Need.LABELS in needs or (Need.RESPONSE in needs and is_text(y))
            kind = "Stratified" * (labels and not blocks) + "Group" * (groups is not None)
            if isinstance(seed, np.random.Generator):
                seed = int(seed.integers(2**31))
            shuffled = not blocks and groups is None
            options = {"shuffle": True, "random_state": seed} if shuffled else {}
            splitter = getattr(model_selection, f"{kind}KFold")(folds, **options)
        elif sampled.counted is not None:  # a splitter divides also samples without weight
            counted = sampled.counted
        near = np.maximum(np.cumsum(counted) - 1, 0)
        if y is not None and numbered and labels:  # scikit-learn would cast them to integers
            y = as_labels(y, len(y))[0]
        try:
            given = [None if each is None else each[near] for each in (y, groups)]
            with warnings.catch_warnings():  # a separate message says that groups are ignored
                warnings.simplefilter("error" if numbered else "ignore", UserWarning)
                parts = [
                    (near[a][counted[a]], near[b][counted[b]])
                    for a, b in splitter.split(np.zeros((len(near), 1)), *given)
                ]
        except (IndexError, TypeError, ValueError, UserWarning) as error:
            what = f"{len(first)} {'rows' if trials is None else 'trials'}"
            raise ArgumentError(
                f"folds = {folds!r} cannot split the {what} of X: {error}"
            ) from error
        filled = [both for both in parts if all(map(len, both))]
        parts = parts if counted.all() else filled
        if len(filled) < max(2, len(parts)):
            raise ArgumentError(
                f"folds = {folds!r} makes {len(parts)} split(s), of which {len(filled)} have both "
                "training and held-out samples: expected two or more splits, each with both"
            )
        notes = []
        if groups is not None and any(set(groups[a]) & set(groups[b]) for a, b in parts):
            notes.append(
                f"groups= has no effect: folds={folds!r} divides a group (or trial) between "
                "training and held-out samples"
            )
        if numbered and blocks:
            lag = gap_of(sampled.objective) if gap is None else gap
            parts = [(a[(a < b[0] - lag) | (a > b[-1] + lag)], b) for a, b in parts]
        if trials is not None:
            parts = [
                (np.flatnonzero(np.isin(trials, a)), np.flatnonzero(np.isin(trials, b)))
                for a, b in parts
            ]
        known = labelled([sampled.objective], sampled.data.y) if known is None else known
        if known is not None and not known.all():
            notes.append(
                f"{np.sum(~known)} of {len(known)} samples have no label: they are not scored"
            )
            parts = [(a, b[known[b]]) for a, b in parts if known[b].any()]
            if len(parts) < 2:
                raise ArgumentError(
                    f"folds = {folds!r} makes {len(parts)} split(s) with labels in the held-out "
                    "samples, expected two or more: use other folds or groups"
                )
        return cls(sampled, parts, notes)

    def scored(
        self,
        fit: Callable[..., Result],
        orders: Sequence[Sequence[int]],
        score: Callable[[Part, Part], Scored],
    ) -> Iterator[dict[int, Scored]]:
        """Yield each fold's held-out scores by r; ``fit(X, r, y=y)`` fits the training samples.

        - orders: the values of r in each fold
        """
        unconverged = 0
        failed: dict[str, list[tuple[int, int]]] = {}
        for number, (both, order) in enumerate(zip(self.parts, orders, strict=True), start=1):
            found = {}
            (X, y), (Z, z) = map(self.sampled.part, both)
            for r in order:
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore", errors.ConvergenceWarning)
                        result = fit(X, r, y=y)
                    unconverged += not result.converged
                    found[r] = score(Part(result, Z, z), Part(result, X, y))
                except FAILURES as error:
                    failed.setdefault(str(error), []).append((number, r))
            yield found
        for message, where in failed.items():
            numbers, at = (", ".join(map(str, sorted(set(k)))) for k in zip(*where, strict=True))
            folds = f"fold{'s' if ',' in numbers else ''} {numbers}"
            self.notes.append(f"{folds} failed at r = {at}: {message}")
        if unconverged:
            count = sum(map(len, orders))
            self.notes.append(f"{unconverged} of {count} solves in the folds did not converge")
