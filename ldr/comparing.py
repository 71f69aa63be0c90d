"""`ldr.compare`: methods beside one another and beside their heuristics, by numbers that count."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ldr.asking import as_dimension, is_open
from ldr.comparison import Compared, Comparison, at_heuristic
from ldr.doors import in_words
from ldr.inputs import as_data, as_generator
from ldr.io.alignment import by_index
from ldr.judging import Judge, Part, judges
from ldr.marking import check_weighted
from ldr.objectives.data.data import as_tuple
from ldr.objectives.data.labels import as_array
from ldr.objectives.data.opening import with_columns
from ldr.objectives.data.stored import brought
from ldr.objectives.kernels import is_categorical
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need
from ldr.objectives.registry import named
from ldr.resampling import Indices, Sampled, runs_of
from ldr.result import Result
from ldr.solvers.checks import flag, whole
from ldr.solvers.errors import ArgumentError, ConvergenceWarning, DataError, SingularError
from ldr.solvers.limits import complete
from ldr.solving import solve
from ldr.standardising import Units
from ldr.suited import asked_for, beyond, has_gaps, suited
from ldr.types import Argument, Dimension, PerRow, Rows, Splitter


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
    """Solve several methods and judge them, and their heuristics, on rows that they did not see.

    An optimum is better than its heuristic by the objective, which is not always what is wanted of
    a projection. Here both are judged by the same score: of labels the accuracy of the nearest
    training rows and of the nearest class mean in the projection, of a response the R2 of least
    squares and of the nearest rows, of two views the R2 of the second from the first and the mean
    correlation, of time series the R2 of the next step, of missing values that of entries which
    were hidden, otherwise that of the columns of X. All that is fitted, standard deviations too, is
    fitted to the training rows of a fold.

    Parameters
    ----------
    methods : sequence of str or Objective, optional
        Names, or objectives with their parameters; by default those of the registry that fit what
        was handed over, and pca beside them; of more than 1000 rows without those of pairs of rows
        (nca, lmnn, wda, mds-stress, sdr, hsic), which take minutes.
    X : array, sparse matrix or DataFrame (n, d); a pair of them for two views or a background
    y : array (n,), optional
        Labels or a response.
    r : int, float or "auto"
        Dimension to reduce to, of all methods. A share of the variance, or "auto", is asked of pca
        of all rows ("auto" of ppca, where values are missing), as `ldr.solve` has it.
    folds : int or splitter of scikit-learn
        Every class in all of them. A time series is cut into pieces in order, and what is before
        and after a piece is two trials: no step leads from one to the other.
    sample_weight : array (n,), optional
        How much each row counts, in the solutions and in the scores; see `ldr.solve`. Methods that
        take no weights are refused, or left out where they were not asked for.
    groups : array (n,), optional
        Rows of a group are held out together; of a time series they are the trials.
    standardise : bool
        Columns in units of their standard deviations; see `ldr.solve`.
    time_order : bool
        Whether the rows are a time series, where the methods do not say so.
    starts, workers, time_limit :
        As in `ldr.solve`, for each method and fold.
    random_state : int or Generator, optional
        Of the folds and of random starts.

    Returns
    -------
    Comparison
        With `table`, `findings`, ``plot()`` and ``write_html(path)``. After Ctrl-C it has the
        methods that were done, and a warning says how many.

    Raises
    ------
    ldr.errors.ArgumentError
        An unknown method, one twice, none that fits; folds that the rows do not allow.
    ldr.errors.DataError
        The data do not fit a method that was asked for.

    Examples
    --------
    >>> import ldr
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> found = ldr.compare(["lda", "classical-lda"], X, y, 2, standardise=True)
    >>> [method.result.certificate.kind for method in found.methods]
    ['global', 'global']
    """
    flag("standardise", standardise)
    flag("time_order", time_order)
    if not hasattr(folds, "split"):
        whole("folds", folds, 2)
    if X is None:
        raise ArgumentError("X is None, expected the rows to compare methods on")
    X, y, sample_weight, groups = with_columns(X, y=y, sample_weight=sample_weight, groups=groups)
    rng = as_generator(random_state)
    chosen = asked_for(methods) if methods is not None else suited(X, y, time_order)
    first = _of_one_kind([objective for objective, _ in chosen.values()])
    gaps = first.views == 1 and Need.BACKGROUND not in first.needs and has_gaps(X)
    ordered = time_order or any(Need.TIME_ORDER in o.needs for o, _ in chosen.values())
    by = judges(X, y, views=first.views, ordered=ordered, gaps=gaps)
    X, y, weights, groups = by_index(first, X, y, sample_weight=sample_weight, groups=groups)
    like = _like([o for o, _ in chosen.values()], y, ordered, weights is not None)
    rows = Sampled.of(like, X, y, "folds", weights, groups)
    parts = _folds(rows, folds, rng, weights, groups)
    dimension, notes = _dimension(r, first, rows, gaps, standardise)
    options: dict[str, Argument] = {
        "standardise": standardise,
        "starts": starts,
        "workers": workers,
        "time_limit": time_limit,
        "random_state": int(rng.integers(2**31)),
    }
    left_out = {} if methods is not None else beyond(chosen, rows.n)
    chosen = {name: each for name, each in chosen.items() if name not in left_out}

    def compared() -> Iterator[Compared]:
        for name, (objective, why) in chosen.items():
            try:
                if weights is not None:
                    check_weighted(objective)
                yield _compared(name, objective, why, rows, dimension, by, parts, options)
            except (ArgumentError, DataError, SingularError) as error:
                if methods is not None:
                    raise type(error)(f"{name}: {error}") from error
                left_out[name] = str(error)

    found = complete(compared(), len(chosen), "methods")
    if not found:
        reasons = "; ".join(f"{name}: {why}" for name, why in left_out.items())
        raise ArgumentError(f"no method fits the data: {reasons}")
    return Comparison(tuple(found), len(parts), X, y, left_out, notes)


def _of_one_kind(objectives: Sequence[Objective]) -> Objective:
    """The first, where all take the same rows."""
    first, *others = objectives
    for other in others:
        if (other.views, Need.BACKGROUND in other.needs) != (
            first.views,
            Need.BACKGROUND in first.needs,
        ):
            raise ArgumentError(
                f"methods has {first.name!r} and {other.name!r}, which take other data: expected "
                "methods of rows alone, of two views, or of rows and a background"
            )
    return first


def _like(objectives: Sequence[Objective], y: PerRow, ordered: bool, weighted: bool) -> Objective:
    """By whose needs the rows are read and split into folds, the same for all methods."""
    first, need = objectives[0], None
    if ordered:
        need = Need.TIME_ORDER
    elif first.views == 1 and not first.missing and y is not None and is_categorical(y):
        need = Need.LABELS
    fitting = [o for o in objectives if need is None or need in o.needs]
    if need is not None:
        fitting.append(named("maf" if ordered else "lda"))
    return next((o for o in fitting if o.weighted or not weighted), fitting[0])


def _folds(
    rows: Sampled, folds: int | Splitter, rng: np.random.Generator, weights: PerRow, groups: PerRow
) -> list[tuple[Indices, Indices]]:
    """Pieces or trials of a time series, whole groups, else every class in each."""
    if groups is None or rows.ordered:
        return rows.folds(folds, rng, groups)
    groups = as_array(brought(groups))
    if rows.n < len(groups):  # those that count
        groups = groups[as_array(brought(weights)) > 0]
    if not hasattr(folds, "split"):
        from sklearn.model_selection import GroupKFold, StratifiedGroupKFold

        kind = StratifiedGroupKFold if Need.LABELS in rows.objective.needs else GroupKFold
        folds = kind(folds, shuffle=True, random_state=int(rng.integers(2**31)))
    return rows.folds(folds, rng, groups)


def _dimension(
    r: Dimension, first: Objective, rows: Sampled, gaps: bool, standardise: bool
) -> tuple[Dimension, tuple[str, ...]]:
    """The same for all methods, and what says why, where pca of the rows is to tell it."""
    if not is_open(r):
        return r, ()
    if first.views > 1 or Need.BACKGROUND in first.needs:
        raise ArgumentError(f"r = {r!r} is told by the columns of one X: expected a whole number")
    asked = named("ppca" if gaps else "pca")
    data = as_data(asked, rows.data.X, None)
    if standardise:
        data = Units.of(asked, data).divided(data)
    found, notes = as_dimension(r, asked, data)
    return found, tuple(f"{note} ({asked.name} of all rows)" for note in notes)


def _compared(
    name: str,
    objective: Objective,
    why: str,
    rows: Sampled,
    r: Dimension,
    by: Mapping[str, Judge],
    parts: Sequence[tuple[Indices, Indices]],
    options: dict[str, Argument],
) -> Compared:
    """A method solved on all rows, and judged fold by fold."""
    sampled = Sampled.of(objective, rows.data.X, rows.data.y, "folds")
    scores: dict[str, list[float]] = {judged: [] for judged in by}
    heuristic: dict[str, list[float]] = {judged: [] for judged in by}
    unconverged = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        result = solve(objective, sampled.data.X, r, y=sampled.data.y, **options)
        another = at_heuristic(result) is not None
        for both in parts:
            old, new = ((*sampled.part(part), runs_of(part, rows.trials)) for part in both)
            found = solve(objective, old[0], r, y=old[1], certify=False, **options)
            unconverged += not found.converged
            _judge(scores, by, found, old, new)
            if another:
                _judge(heuristic, by, at_heuristic(found) or found, old, new)
    means = [
        {judged: np.array(each) for judged, each in found.items()} for found in (scores, heuristic)
    ]
    return Compared(name, result, means[0], means[1] if another else None, why, unconverged)


def _judge(
    scores: dict[str, list[float]],
    by: Mapping[str, Judge],
    result: Result,
    old: tuple[Rows, PerRow, Indices],
    new: tuple[Rows, PerRow, Indices],
) -> None:
    background = Need.BACKGROUND in result.objective.needs
    where = []
    for X, y, runs in (old, new):
        Y = as_tuple(result.transform(X[0] if background else X))
        where.append(Part(X, y, tuple(map(np.asarray, Y)), runs))
    for name, judge in by.items():
        scores[name].append(judge(result, *where))
