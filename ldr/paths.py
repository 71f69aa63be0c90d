"""`ldr.path`: results for several r, and their scores by cross-validation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from ldr.cross_validation import (
    DESCRIPTIONS,
    ERROR,
    OBJECTIVE,
    PREDICTIONS,
    Folds,
    HeldOut,
    held_out,
)
from ldr.errors import in_words
from ldr.inputs import as_generator, as_objective, with_marks
from ldr.objectives.objective import Objective
from ldr.resampling import Sampled
from ldr.result import Result
from ldr.solvers.checks import Pickled, choice, whole
from ldr.solvers.deadline import complete
from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds import Array
from ldr.solvers.solver import Solver
from ldr.solving import solve
from ldr.tables import beside, text
from ldr.types import Figure, PerRow, Rows, Splitter

RULES = ("best", "one-standard-error")
# Numbers of all folds besides the score, with their column titles in the printed table.
_SHOWN = {"rmsecv": "RMSECV", "q2": "Q2", "log_loss": "log loss"}


@dataclass(frozen=True)
class Path(Pickled):
    """Results for several r, with cross-validated scores.

    Attributes
    ----------
    results : tuple of Result
        Results on all samples, in ascending order of dimension.
    scores : ndarray (dimensions, folds) or None
        Mean score of the held-out samples of each fold; larger is better. None without folds; NaN
        if a fold failed. `scored_by` names the score, such as the accuracy or the log-likelihood.
    dimensions : tuple of int
        Numbers of components; 0 stands for prediction by the mean or by the largest class.
    pooled : ndarray (dimensions,) or None
        The mean score of all held-out samples.
    numbers : dict of ndarray (dimensions,)
        Summaries over all held-out samples: "rmsecv" in units of the response, "q2", "accuracy",
        "balanced_accuracy", "log_loss", "majority" (the share of the largest class). For several
        responses these values are pooled, and "rmsecv_0", "q2_0" and so on are for one response.
    scored_by : str
        Kind of the scores, such as "accuracy".
    rule : str
        Rule that selected `chosen`.
    notes : tuple of str
        Warnings about the folds.
    """

    results: tuple[Result, ...]
    scores: Array | None = None
    dimensions: tuple[int, ...] = ()
    pooled: Array | None = None
    numbers: Mapping[str, Array] = field(default_factory=dict)
    scored_by: str = ""
    rule: str = "best"
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.dimensions:
            object.__setattr__(self, "dimensions", tuple(result.r for result in self.results))

    def _of_results(self, name: str) -> Array:
        found = {result.r: getattr(result, name) for result in self.results}
        return np.array([found.get(r) for r in self.dimensions], dtype=float)

    @property
    def values(self) -> Array:
        """Optimal values of the objective; NaN at r = 0."""
        return self._of_results("value")

    @property
    def baselines(self) -> Array:
        """Values of the baseline; NaN without a baseline."""
        return self._of_results("baseline")

    @property
    def certificates(self) -> tuple[str, ...]:
        """Kind of each certificate; "none" without a certificate."""
        kinds = {each.r: getattr(each.certificate, "kind", "none") for each in self.results}
        return tuple(kinds.get(r, "none") for r in self.dimensions)

    @property
    def elbow(self) -> int | None:
        """The r at which the curve of values is farthest from its chord; None for a straight line.

        For distances both axes are scaled to length 1 (Satopaa, Albrecht, Irwin and Raghavan 2011).
        """
        r = np.array([result.r for result in self.results], dtype=float)
        values = np.array([result.value for result in self.results])
        if len(r) < 3 or values[-1] == values[0]:
            return None
        along = (r - r[0]) / (r[-1] - r[0])
        gap = np.abs((values - values[0]) / (values[-1] - values[0]) - along)
        k = int(np.argmax(gap))
        return int(r[k]) if gap[k] > 1e-10 else None

    @property
    def rmsecv(self) -> Array | None:
        """Root mean squared error of cross-validation, in units of the response."""
        return self.numbers.get("rmsecv")

    @property
    def q2(self) -> Array | None:
        """Q2: 1 - (sum of squared errors) / (that of the training means), summed over all folds."""
        return self.numbers.get("q2")

    @property
    def accuracy(self) -> Array | None:
        """Share of held-out samples whose class is predicted correctly."""
        return self.numbers.get("accuracy")

    @property
    def errors(self) -> Array | None:
        """Standard errors of the scores: the standard deviation over folds / sqrt(folds)."""
        if self.scores is None:
            return None
        # Scores are scaled to order 1, so that their squares do not overflow.
        unit = np.abs(self.scores).max(where=np.isfinite(self.scores), initial=0.0) or 1.0
        with np.errstate(invalid="ignore"):
            spread = (self.scores / unit).std(axis=1, ddof=1)
        return np.asarray(unit * spread / math.sqrt(self.scores.shape[1]))

    @property
    def best(self) -> int | None:
        """The r with the best pooled score; None without folds, or without predictions."""
        if self.pooled is None or self.scored_by in DESCRIPTIONS:
            return None
        return self.dimensions[int(np.nanargmax(self.pooled))]

    @property
    def threshold(self) -> float | None:
        """Least score that `rule` accepts: the best, or the best minus its standard error."""
        if self.pooled is None or self.errors is None or self.best is None:
            return None
        k = self.dimensions.index(self.best)
        return float(self.pooled[k] - (0.0 if self.rule == "best" else self.errors[k]))

    @property
    def chosen(self) -> int | None:
        """The smallest r whose score reaches `threshold`."""
        if self.pooled is None or self.threshold is None:
            return self.best
        return self.dimensions[int(np.argmax(self.pooled >= self.threshold))]

    def plot(self) -> Figure:
        """Plot value, baseline and score against r; see `ldr.plots.path`."""
        from ldr.plots import path

        return path(self)

    def __repr__(self) -> str:
        columns: dict[str, Sequence[str]] = {
            "    r": [f"{r:5d}" for r in self.dimensions],
            "value": [text(value, ".8g") for value in self.values],
            "baseline": [text(value, ".8g") for value in self.baselines],
            "certificate": self.certificates,
        }
        said = [] if self.elbow is None else [f"elbow of the values at r = {self.elbow}"]
        if self.scores is not None and self.pooled is not None and self.errors is not None:
            for name, title in _SHOWN.items():
                if name in self.numbers:
                    columns[title] = [text(each, ".4g") for each in self.numbers[name]]
            pairs = zip(self.pooled, self.errors, strict=True)
            columns["held-out score"] = [
                f"{text(each)} +- {error:.2g}" if np.isfinite(error) else text(each)
                for each, error in pairs
            ]
            said.append(f"score: {self.scored_by}")
            said.append(f"+-: standard error over {self.scores.shape[1]} folds")
        if "rmsecv" in self.numbers:
            said.append(f"RMSECV: {self._unit}")
        if "log_loss" in self.numbers:
            said.append("log loss: in nats a sample")
        if "majority" in self.numbers:
            said.append(f"share of the largest class: {self.numbers['majority'][0]:.4g}")
        if self.best is not None:
            said.append(f"best score at r = {self.best}")
            if self.rule != "best":
                said.append(f"smallest r within one standard error of the best: {self.chosen}")
        head = f"{self.results[0].objective!r}: {self.dimensions[0]} to {self.dimensions[-1]}"
        lines = [f"{head} dimensions", *beside(columns)]
        return "\n".join([*lines, *(f"  {each}" for each in (*said, *self.notes))])

    @property
    def _unit(self) -> str:
        """Unit of "rmsecv"."""
        if self.scored_by == ERROR:
            many = "rmsecv_0" in self.numbers
            several = ", the root of the mean square of all columns" * many
            return f"in units of the response{several}"
        scaled = self.results[0].scale is not None
        return f"in {'training standard deviations' if scaled else 'units'} of the columns of X"


@in_words
def path(
    objective: str | Objective,
    X: Rows,
    dimensions: Sequence[int],
    *,
    y: PerRow = None,
    sample_weight: PerRow = None,
    groups: PerRow = None,
    standardise: bool = False,
    folds: int | Splitter | None = None,
    rule: str | None = None,
    solver: str | Solver = "auto",
    starts: int | None = None,
    tolerance: float = 1e-10,
    max_iterations: int | None = None,
    certify: bool = True,
    random_state: int | np.random.Generator | None = None,
    **parameters: object,
) -> Path:
    """Solve an objective for several dimensions, and score each on held-out samples.

    Each problem of the path is solved as by `ldr.solve`. Optimal subspaces of different r need not
    be nested, and optimal values need not increase with r: ratios decrease.

    Parameters
    ----------
    objective, X, y, sample_weight, standardise
        As in `ldr.solve`.
    groups : array (n,), optional
        Samples of a group are held out together; if the method needs time order, groups are trials.
    solver, starts, tolerance, max_iterations, certify
        As in `ldr.solve`.
    dimensions : sequence of int
        Values of r, such as ``range(1, 11)``; they are sorted. With `folds`, r = 0 predicts the
        training mean or the largest class of all samples; for ppca and fa it is the model of
        independent columns.
    folds : int or splitter of scikit-learn, optional
        Score each dimension on held-out samples as `ldr.score` does, or for pca and its variants on
        held-out entries of X. Statistics are computed from training samples. A number of folds
        selects `GroupKFold` if there are groups, else a shuffled `KFold` (stratified for labels).
        Time series are divided into trials or, without trials, into blocks separated by gaps. A
        splitter, such as `LeaveOneOut()`, divides samples (also those of weight 0) or trials, but
        not a background.
    rule : {"best", "one-standard-error"}, optional
        Rule for `chosen`: the best pooled score, or the smallest r whose score is within one
        standard error of the best. The latter is the default for scores of predictions, or of
        agreement between views.
    random_state : int or Generator, optional
        Seed of the folds and of random starts.
    **parameters
        Parameters of the objective, if `objective` is a name.

    Returns
    -------
    Path
        The path has `plot()`, `elbow`, `best` and `chosen`. After Ctrl-C the path contains only the
        completed dimensions, and a warning states their number.

    Raises
    ------
    ldr.errors.ArgumentError
        No dimension is given, one is repeated or out of range, or the folds do not fit the rows.

    Examples
    --------
    >>> import ldr
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> path = ldr.path("orthogonal-lda", X / X.std(axis=0), range(1, 6), y=y)
    >>> path.certificates
    ('global', 'global', 'global', 'global', 'global')
    """
    objective = as_objective(objective, parameters)
    if rule is not None:
        choice("rule", rule, RULES)
    fit = partial(
        solve,
        objective,
        standardise=standardise,
        solver=solver,
        starts=starts,
        tolerance=tolerance,
        max_iterations=max_iterations,
        random_state=as_generator(random_state),
    )
    order = _ascending(dimensions, 0 if folds is not None else 1)
    sampled = None
    if folds is None:
        X, y = with_marks(objective, X, y, sample_weight, groups)
    else:
        sampled = Sampled.of(objective, X, y, "folds", sample_weight, groups)
        X = sampled.data
    solved = [r for r in order if r > 0] or [1]
    along = (fit(X, r, y=y, certify=certify) for r in solved)
    results = tuple(complete(along, len(solved), "dimensions"))
    if sampled is None or len(results) < len(solved):
        return Path(results)
    parts = Folds.of(sampled, folds, random_state)
    orders, score = [solved] * len(parts.parts), partial(held_out, elements=True)
    scored = parts.scored(partial(fit, certify=False), orders, score)
    found = complete(scored, len(orders), "folds")
    if len(found) == 1:
        return Path(results)
    largest = objective.largest_r(sampled.data)
    if objective.name == "lda":  # further directions are arbitrary
        largest = min(largest, len(sampled.data.labels[1]) - 1)
    return _scored(results, order, found, rule, parts.notes, largest)


def _scored(
    results: tuple[Result, ...],
    order: Sequence[int],
    found: Sequence[dict[int, HeldOut]],
    rule: str | None,
    notes: Sequence[str],
    largest: int,
) -> Path:
    """Make a path with the scores of its folds; folds in which no solve succeeded are left out."""
    ran, notes = [fold for fold in found if fold], list(notes)
    if len(ran) < 2 or not set.intersection(*map(set, ran)):
        raise ArgumentError(f"fewer than two folds were solved at the same r: {'; '.join(notes)}")
    kind = next(iter(ran[0].values())).kind
    # The largest class of training samples can be wrong for all of one or few held-out samples.
    largest_class = HeldOut.joined([next(iter(fold.values())) for fold in ran]).largest
    for fold in ran:
        trivial = next(iter(fold.values())).trivial(largest_class)
        if 0 in order and trivial is not None:
            fold[0] = trivial
    in_all = [r for r in order if all(r in fold for fold in ran)]
    of_all = {r: HeldOut.joined([fold[r] for fold in ran]) for r in in_all}
    if 0 in order and 0 not in of_all:
        order = order[1:]
        notes.append(f"r = 0 is left out, because its score is undefined ({kind})")
    nan = math.nan
    scores = [[fold[r].score if r in fold else nan for fold in ran] for r in order]
    pooled = np.array([of_all[r].score if r in of_all else nan for r in order])
    tables = [of_all[r].numbers if r in of_all else {} for r in order]
    names = dict.fromkeys(name for table in tables for name in table)
    numbers = {name: np.array([table.get(name, nan) for table in tables]) for name in names}
    best = order[int(np.nanargmax(pooled))]
    if kind in DESCRIPTIONS:
        notes.append("no r is chosen, because the score does not measure a prediction")
    elif kind == OBJECTIVE and len(order) > 1:
        notes.append("the objective changes with r by itself: the best r estimates no dimension")
    elif best == order[-1] < largest and len(order) > 1:
        notes.append(f"the best r is {best}, the largest tried: a larger r may be better")
    elif best == order[0] > 1 and len(order) > 1:
        notes.append(f"the best r is {best}, the smallest tried: a smaller r may be better")
    rule = rule or RULES[kind in PREDICTIONS]
    return Path(results, np.array(scores), tuple(order), pooled, numbers, kind, rule, tuple(notes))


def _ascending(dimensions: Iterable[int], least: int) -> list[int]:
    try:
        order = sorted(whole("dimensions", r, least) for r in dimensions)
    except TypeError:
        raise ArgumentError(
            f"dimensions must be whole numbers such as range(1, 6) or [1, 2, 5], got {dimensions!r}"
        ) from None
    if not order or len(set(order)) < len(order):
        raise ArgumentError(f"dimensions must be different whole numbers, got {dimensions!r}")
    return order
