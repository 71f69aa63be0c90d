"""`ldr.compare`: methods and their baselines compared by held-out scores."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from textwrap import TextWrapper
from typing import TypeAlias

import numpy as np
import scipy

from ldr.cross_validation import (
    FAILURES,
    Criterion,
    Folds,
    HeldOut,
    Part,
    criteria,
    gap_of,
    labelled,
)
from ldr.errors import in_words
from ldr.inputs import as_generator, by_index, check_weighted, is_open
from ldr.method_selection import asked_for, beyond, has_gaps, suited
from ldr.objectives.data.opening import with_columns
from ldr.objectives.data.sample_metadata import as_array
from ldr.objectives.kernel import is_categorical
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need
from ldr.objectives.registry import named
from ldr.resampling import Sampled
from ldr.result import Result
from ldr.solvers import errors
from ldr.solvers.checks import Pickled, flag
from ldr.solvers.deadline import complete
from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds import Array
from ldr.solving import solve
from ldr.tables import beside, text
from ldr.trial_layout import are_arrays, of_array, refuse_layout
from ldr.types import Argument, Dimension, Figure, Frame, PerRow, Rows, Splitter, XandY

Record: TypeAlias = dict[str, str | float | None]
# Columns that a printed table omits one by one until its lines have at most 100 characters.
_LEFT_TO_THE_TABLE = ("time", "certificate", "improvement")
# Units of the root mean squared error, by the name of the score.
_UNITS = {"Q2": "in units of y", "Q2 of the second view": "in units of the second view"}


@dataclass(frozen=True, eq=False)
class Compared:
    """A method in a comparison: its result, and held-out scores of optimum and baseline.

    Attributes
    ----------
    name : str
    result : Result
        Result on all samples.
    scores : dict of ndarray (folds,)
        Each fold's contribution to each score; larger is better. Their mean is the score of all
        held-out samples together: the score, plus the deviation of the fold's own score times the
        size of the fold (for Q2 the errors of the training mean) relative to the mean size.
    heuristic_scores : dict of ndarray (folds,), or None
        Scores of the baseline; None without a baseline, or if the baseline is the optimum.
    why : str
        Reason for including the method.
    numbers, heuristic_numbers : dict of float
        Summaries of the predictions of all held-out samples: "rmsecv" and "q2", or "accuracy",
        "balanced_accuracy", "log_loss" and "majority".
    notes : tuple of str
        Warnings about the method's folds.
    """

    name: str
    result: Result
    scores: dict[str, Array]
    heuristic_scores: dict[str, Array] | None
    why: str = ""
    numbers: Mapping[str, float] = field(default_factory=dict)
    heuristic_numbers: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def heuristic(self) -> Result | None:
        """Result with the baseline's projection in place of the optimal one."""
        return at_heuristic(self.result)


@dataclass(frozen=True, eq=False)
class Comparison(Pickled):
    """Comparison of methods; its repr is a table with lines of at most 100 characters.

    Attributes
    ----------
    methods : tuple of Compared
    folds : int
    left_out : dict
        Names of the methods that failed or would take too long, each with the reason.
    X, y : the compared data
    notes : tuple of str
        Warnings about the whole comparison.
    """

    methods: tuple[Compared, ...]
    folds: int
    X: Rows
    y: PerRow
    left_out: Mapping[str, str]
    notes: tuple[str, ...] = ()

    @property
    def judged_by(self) -> tuple[str, ...]:
        """Names of the scores; the conclusions use the first score."""
        return tuple(self.methods[0].scores)

    @property
    def records(self) -> list[Record]:
        """Rows of the table: each method, and its baseline if the two projections differ.

        Each score is computed over all held-out samples, with a standard error over folds. If y is
        a response, the column "rmsecv" (root mean squared error) is in the units of y.
        """
        found: list[Record] = []
        for m in self.methods:
            result, kind = m.result, getattr(m.result.certificate, "kind", None)
            row: Record = {"method": m.name, "projection": "optimum", "value": result.value}
            row |= {"improvement": result.improvement, "certificate": kind}
            row |= {**_means(m.scores, m.numbers), "seconds": result.seconds}
            found.append(row)
            if m.heuristic_scores is not None:
                known = {"method": m.name, "projection": "heuristic", "value": result.baseline}
                known |= _means(m.heuristic_scores, m.heuristic_numbers)
                found.append(dict.fromkeys(row) | known)
        return found

    @property
    def table(self) -> Frame:
        """Table as a pandas.DataFrame; without pandas, the list `records`."""
        return _framed(self.records)

    @property
    def directions(self) -> Frame:
        """Statistics of every component of every method, as in `Result.components`."""
        records: list[Record] = []
        for m in self.methods:
            columns = m.result.directions.columns()
            for k in range(m.result.r):
                numbers = {name: float(column[k]) for name, column in columns.items()}
                records.append({"method": m.name, "direction": k + 1, **numbers})
        return _framed(records)

    @property
    def columns(self) -> dict[str, list[str]]:
        """Columns of the printed table as text, by their titles."""
        records, titles = self.records, {"rmsecv": "RMSECV", "seconds": "time"}
        shown = ("value", "improvement", "certificate", "rmsecv", *self.judged_by, "seconds")

        def cell(record: Record, name: str) -> str:
            value = record[name]
            if value is None or isinstance(value, str):
                return value or ""
            if name in self.judged_by and not math.isnan(value):
                return f"{value:.3f} +- {record[f'{name} (error)']:.3f}"
            if name == "improvement":
                return f"{value:+.3g}" if value else "0 (exact)"
            return f"{value:.2g} s" if name == "seconds" else text(value)

        there = [name for name in shown if name in records[0]]
        columns = {titles.get(k, k): [cell(record, k) for record in records] for k in there}
        heuristic = [record["projection"] == "heuristic" for record in records]
        names = [cell(record, "method") for record in records]
        return {"method": list(np.where(heuristic, "  its baseline", names)), **columns}

    @property
    def units(self) -> list[str]:
        """Description of the scores and their units."""
        found = [f"scores: mean +- standard error of {self.folds} held-out folds"]
        if "rmsecv" in self.methods[0].numbers:
            unit = _UNITS.get(self.judged_by[0], "in training standard deviations")
            found.append(f"RMSECV: {unit}; smaller is better")
        return found

    @property
    def findings(self) -> list[str]:
        """Conclusions: the best methods by the first score, and baselines that score higher.

        A difference of scores is significant if it exceeds its standard error over folds times the
        .975 quantile of Student's t with folds - 1 degrees of freedom. The best method was selected
        by its score: for k methods beside it the quantile is that of 1 - .025/k (Bonferroni).
        """
        judged, found = self.judged_by[0], []
        beyond = scipy.stats.t(self.folds - 1).isf
        rivals = [(m, m.heuristic_scores) for m in self.methods if m.heuristic_scores is not None]
        scores = {m.name: m.scores[judged] for m in self.methods}
        scores |= {f"the baseline of {m.name}": each[judged] for m, each in rivals}
        means = {name: round(float(np.mean(each)), 12) for name, each in scores.items()}
        best = max((mean for mean in means.values() if math.isfinite(mean)), default=-math.inf)
        if names := [name for name, mean in means.items() if mean == best]:
            majority, nothing = self.methods[0].numbers.get("majority"), ""
            if majority is not None:
                nothing = f"; the largest class has {majority:.3f} of the samples"
            elif best < 0 and "Q2" in judged:
                nothing = "; the training mean predicts better than all methods"
            found.append(f"best {judged}: {' and '.join(names)}, {best:.3f}{nothing}")
            below = {k: scores[names[0]] - each for k, each in scores.items() if k not in names}
            limit = beyond(0.025 / max(1, len(below)))
            near = [k for k, each in below.items() if each.mean() <= limit * scipy.stats.sem(each)]
            if near:
                found.append(f"not significantly below the best: {', '.join(near)}")
        for m, each in rivals:
            ours, theirs = m.scores[judged], each[judged]
            apart, error = np.mean(theirs - ours), scipy.stats.sem(theirs - ours)
            if apart >= 0.0005:  # a smaller difference would be printed as 0.000
                noise = ", within the noise of the folds" if apart <= beyond(0.025) * error else ""
                found.append(
                    f"{m.name}: the baseline scores higher than the optimum, "
                    f"{np.mean(theirs):.3f} against {np.mean(ours):.3f} "
                    f"({judged}; by {apart:.3f} +- {error:.3f}{noise})"
                )
        for m in self.methods:
            stopped = () if m.result.converged else ("not converged on all rows",)
            found += [f"{m.name}: {note}" for note in (*stopped, *m.notes)]
        return found

    def plot(self, X: Rows = None, y: PerRow = None) -> Figure:
        """Plot the projections side by side; see `ldr.plots.side_by_side`.

        Parameters
        ----------
        X, y : as in `ldr.compare`, optional
            Other data to plot; by default the compared data.
        """
        from ldr.plots import side_by_side

        given = (self.X, self.y) if X is None else (X, y)
        return side_by_side(self, *given)

    def write_html(self, path: str | Path) -> None:
        """Write the table, the conclusions and the projections to an HTML file.

        Raises
        ------
        OSError
            The file cannot be written.
        """
        from ldr.report import write_comparison

        write_comparison(path, self)

    def __repr__(self) -> str:
        columns, absent = self.columns, []
        lines = beside(columns)
        for name in _LEFT_TO_THE_TABLE:
            if max(map(len, lines)) > 100:
                absent.append(name)
                del columns[name]
                lines = beside(columns)
        said = [*self.notes, *self.findings]
        said += [f"left out: {name} ({why})" for name, why in self.left_out.items()]
        said += [f"further columns of .table: {', '.join(absent)}"] if absent else []
        wrapper = TextWrapper(100, "  ", "    ", break_long_words=False, break_on_hyphens=False)
        return "\n".join(
            [*lines, *self.units, *(line for each in said for line in wrapper.wrap(each))]
        )


def _framed(records: list[Record]) -> Frame:
    try:
        import pandas
    except ImportError:
        return records
    return pandas.DataFrame(records)


def _means(scores: Mapping[str, Array], numbers: Mapping[str, float]) -> dict[str, float]:
    found = {name: value for name, value in numbers.items() if name == "rmsecv"}
    for name, each in scores.items():
        found |= {name: float(np.mean(each)), f"{name} (error)": float(scipy.stats.sem(each))}
    return found


def at_heuristic(result: Result) -> Result | None:
    """Return the baseline's projection as a result, to transform and to score with.

    The result is None without a baseline, if the baseline is the optimum, and for likelihoods.
    """
    # A relative improvement below 1e-9 does not count, because it is near the tolerance of solvers.
    same = result.improvement is None or abs(result.improvement) <= 1e-9
    if same or result.baseline_P is None or result.model is not None:
        return None
    return replace(result, M=result.baseline_M, P=result.baseline_P, predictors=())


@in_words
def compare(
    methods: Sequence[str | Objective] | None = None,
    X: Rows = None,
    y: PerRow = None,
    r: Dimension = 2,
    *,
    folds: int | Splitter = 5,
    sample_weight: PerRow = None,
    groups: PerRow = None,
    standardise: bool = False,
    time_order: bool = False,
    starts: int | None = None,
    workers: int = 1,
    time_limit: float | None = None,
    random_state: int | np.random.Generator | None = 0,
) -> Comparison:
    """Solve several methods and score them, and their baselines, on held-out samples.

    The same criteria score all methods, over all held-out samples together:

    - With labels: the accuracy of the method's `predict`, or else of the nearest class mean in the
      projection; and the accuracy of a nearest-neighbour classifier. Samples without a label (see
      semi-supervised-da) are not scored, and methods that need all labels are fitted without them.
      Whole floats are labels if at least one of the methods needs labels, else a response.
    - With a response: Q2 and the root mean squared error (RMSECV) of the method's `predict`, or
      else of least squares on the components; and Q2 of nearest-neighbour regression.
    - If each trial has a label or a quantity: the accuracy or Q2 of its prediction, for csp and
      spoc from the log powers of the trial's components, for xdawn from their time courses.
    - With several views: Q2 of the last view predicted from the first; and the mean product of the
      scores of two views, standardised in the training samples.
    - With a time series: Q2 of the prediction of the next step.
    - If X has missing values: Q2 of the imputation of observed entries hidden from the method.
    - Otherwise: Q2 of the columns of X, predicted from the components.

    Q2 is 1 - (sum of squared errors) / (sum of squared errors of the training mean). Statistics
    such as means and standard deviations are computed from the training samples of a fold.

    Parameters
    ----------
    methods : sequence of str or Objective, optional
        Names, or objectives with parameters; by default pca and the methods of the registry that
        fit X and y. For more than 1000 rows the default excludes methods that use all pairs of rows
        (nca, lmnn, wda, mds-stress, sdr, hsic), because they take minutes.
    X : array, sparse matrix or DataFrame (n, d); or a pair of two views, or (samples, background)
    y : array (n,), optional
        Labels or a response.
    r : int, float or "auto"
        Number of components, for all methods. A share of the variance or "auto" determines r by pca
        (ppca if values are missing), as in `ldr.solve`; in a fold by pca of its training samples.
    folds : int or splitter of scikit-learn
        As in `ldr.path`.
    sample_weight : array (n,), optional
        Sample weights in solutions and scores. Methods that refuse weights are left out.
    groups : array (n,), optional
        Samples of a group are held out together; for a time series the groups are the trials.
    standardise : bool
        Divide the columns by their standard deviations; see `ldr.solve`.
    time_order : bool
        Treat the samples as a time series, even if the methods do not imply it.
    starts, workers, time_limit :
        As in `ldr.solve`, for each method and fold.
    random_state : int or Generator, optional
        Seed of the folds and of random starts.

    Returns
    -------
    Comparison
        An object with `table`, `findings`, `plot` and `write_html`. `left_out` has the reasons why
        methods failed. After Ctrl-C the completed methods are returned, with a warning.

    Raises
    ------
    ldr.errors.ArgumentError
        A method is unknown or repeated, no method could run, or the folds do not fit the rows.

    Examples
    --------
    >>> import ldr
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> found = ldr.compare(["orthogonal-lda", "lda"], X, y, 2, standardise=True)
    >>> [method.result.certificate.kind for method in found.methods]
    ['global', 'global']
    """
    flag("standardise", standardise)
    flag("time_order", time_order)
    if X is None:
        raise ArgumentError("X is None, expected the samples on which to compare the methods")
    if are_arrays(X):
        refuse_layout(X, "X")
    given, (X, trials) = X, of_array(X)
    groups = trials if groups is None else groups
    X, y, sample_weight, groups = with_columns(X, y=y, sample_weight=sample_weight, groups=groups)
    rng = as_generator(random_state)
    of = X if trials is None else given
    chosen = asked_for(methods) if methods is not None else suited(of, y, time_order)
    objectives = [objective for objective, _ in chosen.values()]
    first = objectives[0]
    kinds = {(o.views, Need.BACKGROUND in o.needs): o.name for o in objectives}
    if len(kinds) > 1:
        raise ArgumentError(
            f"methods has {' and '.join(map(repr, kinds.values()))}, which take different data: "
            "expected methods for samples alone, for two views, or for samples with a background"
        )
    gaps = first.views == 1 and Need.BACKGROUND not in first.needs and has_gaps(X)
    ordered = time_order or any(Need.TIME_ORDER in o.needs for o in objectives)
    X, y, weights, groups = by_index(first, X, y, sample_weight=sample_weight, groups=groups)
    floats = any(Need.LABELS in o.needs for o in objectives)  # whole floats may be labels too
    labels = None if y is None else is_categorical(y, floats)
    stratified = bool(labels) and not (ordered or first.views > 1 or gaps)
    like = _like(objectives, stratified, ordered, weights is not None)
    rows = Sampled.of(like, X, y, "folds", weights, groups)
    by_trial = ordered and not rows.is_series and y is not None
    if by_trial and rows.trials is not None:
        by_trial = rows.units.of_groups(as_array(rows.data.y)) is not None
    by = criteria(labels, views=first.views, ordered=ordered, by_trial=by_trial, gaps=gaps)
    gap = max(map(gap_of, objectives))
    known = labelled(objectives, rows.data.y)
    if known is not None and (known.all() or len(set(as_array(rows.data.y)[known])) < 2):
        known = None  # of the labels -1 and 1 both are classes
    marked = [] if known is None else objectives
    parts = Folds.of(rows, folds, random_state, gap, known)
    dimensions, notes = _dimensions(r, first, parts, gaps, standardise)
    fit = partial(
        solve,
        standardise=standardise,
        starts=starts,
        workers=workers,
        time_limit=time_limit,
        random_state=int(rng.integers(2**31)),
    )
    needy = [
        name
        for name, (objective, _) in chosen.items()
        if marked and Need.LABELS in objective.needs and labelled([objective], rows.data.y) is None
    ]
    if needy:
        parts.notes.append(f"fitted to the labelled samples alone: {', '.join(needy)}")
    left_out = {} if methods is not None else beyond(chosen, rows.n)
    chosen = {name: each for name, each in chosen.items() if name not in left_out}

    def of_labelled(
        objective: Objective, X: Rows, r: int, *, y: PerRow, **options: Argument
    ) -> Result:
        X, y = _with_labels(X, y, marked)
        return fit(objective, X, r, y=y, **options)

    def compared() -> Iterator[Compared]:
        for name, (objective, why) in chosen.items():
            try:
                if weights is not None:
                    check_weighted(objective)
                own = replace(parts, notes=[])
                solved = partial(of_labelled if name in needy else fit, objective)
                yield _compared(name, why, solved, own, dimensions, by, marked)
            except FAILURES as error:
                left_out[name] = str(error)

    found = complete(compared(), len(chosen), "methods")
    if not found:
        reasons = "; ".join(f"{name}: {why}" for name, why in left_out.items())
        raise ArgumentError(f"no method can be fitted to these data: {reasons}")
    notes = (*notes, *parts.notes)
    return Comparison(tuple(found), len(parts.parts), X, y, left_out, notes)


def _like(
    objectives: Sequence[Objective], labels: bool, ordered: bool, weighted: bool
) -> Objective:
    """Return the objective by whose needs samples are read and split, for all methods alike."""
    need = Need.TIME_ORDER if ordered else Need.LABELS if labels else None
    fitting = [o for o in objectives if (need in o.needs if need else Need.LABELS not in o.needs)]
    fitting = [o for o in fitting if not hasattr(o, "has_label")]  # it could find a single class
    if need is not None:
        fitting.append(named("orthogonal-maf" if ordered else "orthogonal-lda"))
    fitting = fitting or list(objectives)
    return next((o for o in fitting if o.traits.weighted or not weighted), fitting[0])


def _dimensions(
    r: Argument, first: Objective, folds: Folds, gaps: bool, standardise: bool
) -> tuple[list[int], tuple[str, ...]]:
    """Return r for all samples and for each fold; PCA chooses r for a share or "auto"."""
    if not is_open(r):
        return [r] * (1 + len(folds.parts)), ()
    if first.views > 1 or Need.BACKGROUND in first.needs:
        raise ArgumentError(f"r = {r!r} requires methods of one data matrix: give a whole number")
    rule, sampled = "ppca" if gaps else "pca", folds.sampled
    trained = (sampled.part(training)[0] for training, _ in folds.parts)
    whole, *others = (
        solve(rule, X, r, standardise=standardise, certify=False)
        for X in (sampled.data.X, *trained)
    )
    note = next(note for note in whole.notes if note.startswith(f"r = {whole.r}: "))
    of_folds = [each.r for each in others]
    said = ", ".join(map(str, of_folds))
    return [whole.r, *of_folds], (
        f"{note} ({rule} of all rows; of the training samples of each fold: r = {said})",
    )


def _compared(
    name: str,
    why: str,
    fit: Callable[..., Result],
    folds: Folds,
    dimensions: Sequence[int],
    by: Mapping[str, Criterion],
    marked: Sequence[Objective],
) -> Compared:
    """Solve a method on all samples, and score each fold."""
    data, (r, *of_folds) = folds.sampled.data, dimensions
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.ConvergenceWarning)
        result = fit(data.X, r, y=data.y)
    rival = at_heuristic(result) is not None

    def scores(new: Part, old: Part) -> list[list[HeldOut]]:
        """Score the optimum, and the baseline where that is another projection."""
        if marked:
            X, y = _with_labels(old.X, old.y, marked)
            old = replace(old, X=X, y=y)
        pairs = [(new, old)]
        if rival:
            at = at_heuristic(new.result) or new.result
            pairs.append((replace(new, result=at), replace(old, result=at)))
        return [[criterion(*pair) for criterion in by.values()] for pair in pairs]

    scored = folds.scored(partial(fit, certify=False), [[r] for r in of_folds], scores)
    found = [each for fold in scored for each in fold.values()]
    if len(found) < len(folds.parts):
        raise ArgumentError("; ".join(folds.notes))
    pooled = [
        (
            dict(zip(by, map(_contributions, zip(*each, strict=True)), strict=True)),
            HeldOut.joined([fold[0] for fold in each]).numbers,
        )
        for each in zip(*found, strict=True)
    ]
    (own, numbers), (others, of_others) = pooled[0], pooled[-1]
    rivals, notes = others if rival else None, tuple(folds.notes)
    return Compared(name, result, own, rivals, why, numbers, of_others, notes)


def _with_labels(X: Rows, y: PerRow, marked: Sequence[Objective]) -> XandY:
    """Return the samples that all `marked` methods take as labelled."""
    there = labelled(marked, y)
    assert there is not None
    return X.take(there), as_array(y)[there]


def _contributions(folds: Sequence[HeldOut]) -> Array:
    """Return values of the folds whose mean is the pooled score, and whose spread its error.

    The pooled score is a ratio of sums over folds. The fold's deviation from it is weighted by its
    share of the denominator: folds of equal scores have no spread, whatever their sizes are.
    """
    sizes = np.array([fold.weights.sum() for fold in folds])
    gains = np.array([fold.score for fold in folds]) * sizes
    if "q2" in folds[0].numbers:
        sizes = -sizes * [(fold.trivial() or fold).score for fold in folds]
        gains += sizes
    pooled = gains.sum() / sizes.sum()
    return np.asarray(pooled + len(folds) * (gains - pooled * sizes) / sizes.sum())
