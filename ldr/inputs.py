"""Validation of the data of `ldr.solve`, with the weights and trials of the samples."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import NoReturn

import numpy as np

from ldr.errors import in_words
from ldr.objectives import registry
from ldr.objectives.data.array_types import is_annotated, is_labelled
from ldr.objectives.data.data import Data, Samples
from ldr.objectives.data.opening import as_samples, brought, with_columns
from ldr.objectives.data.sample_metadata import (
    CodedLabels,
    Marks,
    as_array,
    as_trials,
    as_weights,
    check_discrete,
)
from ldr.objectives.data.sources import Stack
from ldr.objectives.data.stored import AccumulatedSamples, side_by_side
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import OF_Y, Need
from ldr.objectives.registry import REGISTRY, named
from ldr.solvers.checks import number, whole
from ldr.solvers.errors import ArgumentError, DataError
from ldr.solvers.manifolds import Array
from ldr.solvers.solver import Solver, Stopping
from ldr.trial_layout import Trials, are_arrays, is_of_mne, known_trials, of_array, refuse_layout
from ldr.types import PerRow, Rows, XandY


def as_objective(objective: str | Objective, parameters: dict[str, object]) -> Objective:
    """Return the objective with a name, or an instance unchanged."""
    if "sample_weight" in parameters:  # some functions take no sample weights
        raise ArgumentError(
            "sample_weight= is not supported here, because all samples count alike: leave it out"
        )
    if isinstance(objective, str):
        return named(objective, **parameters)
    objective = registry.as_objective(objective)
    if parameters:
        raise ArgumentError(
            f"unknown argument {next(iter(parameters))!r}: set parameters in the constructor of "
            "the objective, or give the objective by its name, a string"
        )
    return objective


def opened(
    objective: Objective,
    X: Rows,
    y: PerRow,
    sample_weight: PerRow = None,
    groups: PerRow = None,
    minimum_rows: int = 2,
) -> Data:
    """Validate X and y for an objective, with sample weights and trials.

    Validated `Data` are returned unchanged.
    """
    if isinstance(X, Data):
        return X
    names = tuple(map(str, X)) if isinstance(X, dict) and objective.views > 1 else ()
    beside = {"sample_weight": sample_weight, "groups": groups}
    X, y, sample_weight, groups = in_order(objective, X, y, **beside)
    data = data_in_order(objective, X, y, sample_weight, groups, minimum_rows)
    return replace(data, view_names=names) if names else data


as_data = in_words(opened)


@dataclass(frozen=True, eq=False)
class Covariance:
    """Samples with a given covariance; made by `ldr.covariance`.

    - rows (m, d): samples with mean 0, or with the given mean; each has the weight n / m
    - views: the slice of columns of each view, or of X and of the response
    """

    rows: np.ndarray
    n: float
    views: tuple[slice, ...]
    names: tuple[str, ...] | None = None

    def __array__(self, *_: object, **__: object) -> NoReturn:
        raise DataError(
            "X is a covariance matrix (ldr.covariance), expected the samples. Only ldr.solve, and "
            "ldr.path without folds=, accept a covariance matrix"
        )

    def given(self, objective: Objective, y: PerRow, *beside: PerRow) -> tuple[Rows, PerRow, Array]:
        """Return X, y and the weights for `ldr.solve`."""
        response = Need.RESPONSE in objective.needs
        if not _is_of_covariances(objective):
            names = ", ".join(n for n, method in REGISTRY.items() if _is_of_covariances(method()))
            raise ArgumentError(
                f"objective {objective!r} cannot be solved from a covariance matrix: expected "
                f"samples in rows. Covariances are for {names}, all without shrinkage="
            )
        if any(each is not None for each in (y, *beside)):
            raise ArgumentError(
                "X is a covariance matrix, which has no rows for y=, sample_weight= or groups=: "
                "include the response in the matrix, with views=(d, number of responses)"
            )
        expected = 1 + response if objective.views == 1 else objective.views
        more = objective.traits.any_views and len(self.views) > expected
        if len(self.views) != expected and not more:
            raise ArgumentError(
                f"objective {objective.name!r} takes {expected} group(s) of columns, got "
                f"{len(self.views)}: views=(5, 3) in ldr.covariance gives two, for example"
            )
        parts = [
            Samples(
                self.rows[:, part],
                self.names and self.names[part],
                f"X[{i}]" if objective.views > 1 else "X",
            )
            for i, part in enumerate(self.views)
        ]
        weights = np.full(len(self.rows), self.n / len(self.rows))
        if objective.views > 1:
            return tuple(parts), None, weights
        return parts[0], self.rows[:, self.views[1]] if response else None, weights


def _is_of_covariances(objective: Objective) -> bool:
    """Return True if a method depends on complete samples only through their covariance."""
    traits, needs = objective.traits, set(objective.needs)
    plain = traits.from_sums and traits.weighted and not getattr(objective, "shrinks", False)
    return plain and needs <= {Need.RESPONSE, Need.SECOND_VIEW}


@in_words
def covariance(
    S: Rows, n: float, *, mean: PerRow = None, views: Sequence[int] | None = None
) -> Covariance:
    """Make samples with a given covariance or correlation matrix, for `ldr.solve`.

    Methods that need only a covariance, such as pca, ppca, fa, cca, pls and regressions, accept the
    result as X. The result consists of at most 2 d weighted rows, whose covariance is exactly S.

    Parameters
    ----------
    S : array or DataFrame (d, d)
        Covariance matrix with divisor n, as from ``numpy.cov(X.T, bias=True)``, or correlation
        matrix. The column names of a DataFrame are the names of the features.
    n : float
        Number of samples from which S was computed; likelihoods and sums of squares need n.
    mean : array (d,), optional
        Mean of the samples, which `Result.transform` subtracts; 0 by default.
    views : sequence of int, optional
        Numbers of columns of the views in S; for a regression, of X and then of the response.

    Returns
    -------
    Covariance
        Argument X for `ldr.solve`, and for `ldr.path` without folds.

    Raises
    ------
    ldr.errors.DataError
        S is not symmetric, or has a negative eigenvalue (as pairwise complete correlations can).

    Examples
    --------
    >>> import numpy as np, ldr
    >>> R = np.array([[1.0, 0.8, 0.3], [0.8, 1.0, 0.3], [0.3, 0.3, 1.0]])
    >>> ldr.solve("pca", ldr.covariance(R, n=120), 1).P.round(2)
    array([[0.65, 0.65, 0.4 ]])
    """
    given = as_samples(S, "S", 1)
    C, count = given.dense(), number("n", n, positive=True)
    d = len(C)
    if C.shape != (d, d) or not np.allclose(C, C.T, rtol=1e-8, atol=1e-8 * np.abs(C).max()):
        raise DataError(f"S has shape {C.shape}, expected a symmetric matrix (d, d)")
    scale = np.sqrt(np.maximum(np.diag(C), 0.0))
    unit = np.where(scale > 0, scale, 1.0)
    values, vectors = np.linalg.eigh((C + C.T) / 2.0 / unit / unit[:, None])
    if values[0] < -1e-8 * max(values[-1], 0.0):
        raise DataError(
            f"the correlation matrix of S has the eigenvalue {values[0]:.3g}, expected none below "
            "0. Estimates from separate pairs of columns can have negative eigenvalues: use a "
            "joint estimate, such as ldr.solve('ppca', X, r).model.covariance"
        )
    kept = values > d * np.finfo(float).eps * values[-1]
    root = (vectors[:, kept] * np.sqrt(values[kept] * kept.sum())).T * unit
    centre = np.zeros(d) if mean is None else as_array(mean, "mean").astype(np.float64)
    sizes = (d,) if views is None else tuple(whole("views", size, 1) for size in views)
    if centre.shape != (d,) or sum(sizes) != d:
        raise ArgumentError(
            f"mean has shape {centre.shape} and views have {sum(sizes)} columns, expected d = {d}"
        )
    ends = np.cumsum(sizes)
    parts = tuple(slice(int(end - size), int(end)) for size, end in zip(sizes, ends, strict=True))
    return Covariance(np.concatenate([root, -root]) + centre, count, parts, given.feature_names)


def data_in_order(
    objective: Objective,
    X: Rows,
    y: PerRow,
    sample_weight: PerRow = None,
    groups: PerRow = None,
    minimum_rows: int = 2,
) -> Data:
    """Validate data that `in_order` has aligned; see `opened`."""
    listed = isinstance(X, list)
    single = objective.views == 1 and Need.BACKGROUND not in objective.needs
    if single and isinstance(X, tuple) and all(getattr(view, "ndim", 0) == 2 for view in X):
        raise DataError(
            f"objective {objective.name!r} takes one matrix X, got a tuple of {len(X)}: pass "
            "np.hstack(X) to join their columns, or list(X) to join their rows"
        )
    if Need.TIME_ORDER in objective.needs and are_arrays(X):
        refuse_layout(X, "X")
    views: tuple[Samples, ...]
    background = None
    if Need.BACKGROUND in objective.needs:
        sample, background = _with_background(objective, X, minimum_rows)
        views = (sample,)
    elif objective.views == 1:
        sample, ids = _opened(X, "X", minimum_rows, allow_nan=objective.traits.missing)
        views = (sample,)
        groups = ids if groups is None else groups
    else:
        count = len(X) if isinstance(X, (tuple, list)) else 0
        if count != objective.views and not (
            count > objective.views and objective.traits.any_views
        ):
            more = " or more arrays (X1, ..., Xk)," if objective.traits.any_views else ""
            expected = f"a pair of arrays (Xa, Xb){more}"
            if objective.views > 2:
                expected = f"{objective.views} arrays (X1, ..., X{objective.views})"
            got = f"{type(X).__name__} of {count}" if count else type(X).__name__
            raise DataError(f"X must be {expected} for objective {objective.name!r}, got {got}")
        opened = [_opened(view, f"X[{i}]", minimum_rows) for i, view in enumerate(X)]
        lengths = {None if ids is None else tuple(np.bincount(ids)) for _, ids in opened}
        if len(lengths) > 1:
            shapes = ", ".join(str(np.shape(view)) for view in X)
            raise DataError(f"X has views of shapes {shapes}, expected equal trial lengths in all")
        views = side_by_side(tuple(view for view, _ in opened))
        if all(view.n_known for view in views) and len({view.n for view in views}) > 1:
            rows = " and ".join(str(view.n) for view in views)
            raise DataError(f"the views in X have {rows} rows, expected the same number")
    y = brought(y)
    views[0].expect_rows(y)
    data = Data(views, y, background)
    for need in objective.needs:
        if need in OF_Y:
            data.require(need, objective.name)
    objective.check_memory(data)
    return marked(objective, data, sample_weight, groups, listed)


def _opened(
    X: Rows, name: str, minimum_rows: int, *, allow_nan: bool = False
) -> tuple[Samples, np.ndarray | None]:
    """The samples, with names of channels, and the trial of each sample if X has trials."""
    if isinstance(X, Samples) or (type(X) is np.ndarray and X.ndim == 2):
        return as_samples(X, name, minimum_rows, allow_nan=allow_nan), None
    found = known_trials(X, name)
    rows = X if found is None else found.rows
    samples = as_samples(rows, name, minimum_rows, allow_nan=allow_nan)
    if found is None:
        return samples, None
    return replace(samples, feature_names=found.names or None), found.ids


def in_order(objective: Objective, X: Rows, y: PerRow, **beside: PerRow) -> tuple[Rows, ...]:
    """Return X, y and sample metadata: columns read by name, samples paired by index."""
    if isinstance(X, dict) and objective.views > 1:
        X = tuple(X.values())
    X, *found = with_columns(X, y=y, **beside)
    return by_index(objective, X, found[0], **dict(zip(beside, found[1:], strict=True)))


def with_marks(
    objective: Objective, X: Rows, y: PerRow, sample_weight: PerRow, groups: PerRow
) -> XandY:
    """Return y, and X with weights and trials attached to its samples, for `as_data`."""
    plain = not (isinstance(X, (list, Trials)) or getattr(X, "ndim", 2) > 2 or is_of_mne(X))
    if plain and sample_weight is None and groups is None:
        return X, y
    data = as_data(objective, X, y, sample_weight, groups)
    return data.X, data.y


def _with_background(objective: Objective, X: Rows, minimum_rows: int) -> tuple[Samples, Samples]:
    """The samples and the background (or the noise) of a pair with the same columns."""
    if not isinstance(X, (tuple, list)) or len(X) != 2:
        raise DataError(
            f"X must be a pair of arrays (samples, background) with the same columns for "
            f"objective {objective.name!r}, got {type(X).__name__}"
        )
    sample, background = _opened(X[0], "X[0]", minimum_rows)[0], _opened(X[1], "X[1]", 1)[0]
    if sample.d != background.d:
        raise DataError(
            f"X[0] has {sample.d} columns and X[1] has {background.d}, expected the same columns"
        )
    return sample, background


def is_open(r: object) -> bool:
    """Return True if r is a share of the variance or "auto", so that the data determine r."""
    return r == "auto" if isinstance(r, str) else isinstance(r, float) and 0 < r < 1


def is_asked(name: str, r: object) -> bool:
    """Return True if the data determine r, False for an integer; refuse any other r."""
    if is_open(r):
        return True
    if isinstance(r, (bool, np.bool_)) or not isinstance(r, Integral):
        raise ArgumentError(
            f"{name} must be a whole number, a share of the variance above 0 and below 1, or "
            f"'auto', got {r!r}"
        )
    return False


def check_r(r: object, objective: Objective, data: Data, name: str = "r") -> int:
    """Return r if it is an integer between the objective's smallest and largest dimension."""
    if isinstance(r, bool) or not isinstance(r, (int, np.integer)):
        raise ArgumentError(f"{name} must be a whole number, got {r!r}")
    least, d = least_r(objective), objective.largest_r(data)
    if not least <= r <= d:
        raise ArgumentError(f"{name} = {r} is out of range: expected {least} <= {name} <= d = {d}")
    return int(r)


def least_r(objective: Objective) -> int:
    """Return 0 for factor models, where r = 0 means independent Gaussian columns; else 1."""
    return 0 if objective.traits.rule == "bic" else 1


def as_generator(random_state: int | np.random.Generator | None) -> np.random.Generator:
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise ArgumentError(
            f"random_state must be an int >= 0, a numpy Generator or None, got {random_state!r}"
        ) from None


def as_stopping(tolerance: object, max_iterations: object) -> Stopping:
    if max_iterations is not None:
        max_iterations = whole("max_iterations", max_iterations, 0)
    return Stopping(number("tolerance", tolerance), max_iterations)


def as_seconds(time_limit: object) -> float:
    if time_limit is None:
        return math.inf
    return number("time_limit", time_limit, positive=True, finite=False)


def check_observers(observers: object) -> None:
    """Refuse observers that are not a sequence of callables."""
    if not isinstance(observers, (list, tuple)):
        raise ArgumentError(f"observers must be a list of callables, got {observers!r}")
    for observer in observers:
        if not callable(observer):
            raise ArgumentError(f"observers must be callables, got {observer!r}")


def as_solver(solver: object) -> str | Solver:
    if not isinstance(solver, str):
        hint = ""
        if isinstance(solver, type) and issubclass(solver, Solver):
            hint = f" (an instance, {solver.__name__}(), not the class)"
        raise ArgumentError(f"solver must be a name or a Solver{hint}, got {solver!r}")
    if solver in ("auto", "closed-form"):
        return solver
    from ldr.solvers.registry import named_solver  # imported late: the module loads all solvers

    return named_solver(solver)


def trials_of(X: Rows) -> np.ndarray | None:
    """Return the trial of each sample of X, or of its first view."""
    return of_array(X[0] if isinstance(X, tuple) else X)[1]


def marked(
    objective: Objective, data: Data, sample_weight: PerRow, groups: PerRow, listed: bool
) -> Data:
    """Return the data with weights and trials attached to their samples.

    - sample_weight, groups (n,)
    - listed: True if X is a list; its elements are then trials for methods with time order
    """
    if sample_weight is not None:
        check_weighted(objective)
    timed, first = Need.TIME_ORDER in objective.needs, data.samples
    if sample_weight is None and groups is None and first.marks is None and not listed:
        return data
    source = first.array
    if groups is None and listed and isinstance(source, Stack):
        groups = np.repeat(np.arange(len(source.sources)), np.diff(source.starts))
    weights, groups = brought(sample_weight), brought(groups)
    known = first.marks.trials if groups is None and first.marks is not None else groups
    labelled = Need.LABELS in objective.needs
    data = replace(data, y=_of_rows(data.y, known, first, labelled))
    ids = groups if timed else None
    if weights is None and ids is None:
        return data
    for view in data.views:
        view.expect_rows(ids if weights is None else weights)
    own = first.marks or Marks()
    marks = Marks(
        own.weights if weights is None else as_weights(weights, first.n),
        own.trials if ids is None else _trials(ids, first),
    )
    if marks.weights is None and marks.trials is None:
        return data
    data = replace(data, views=tuple(replace(view, marks=marks) for view in data.views))
    in_memory = all(view.n_known and not view.stored for view in data.views)
    stays = timed or objective.traits.by_place or not in_memory
    return data if stays else data.of_rows_that_count()


def _trials(ids: PerRow, samples: Samples) -> np.ndarray | None:
    """Return the trials, or None for one trial, which has no later blocks of samples."""
    trials = as_trials(ids, samples.n)
    one = not isinstance(samples, AccumulatedSamples) and bool((trials == trials[0]).all())
    return None if one else trials


def _of_rows(y: PerRow, groups: PerRow, samples: Samples, labelled: bool) -> PerRow:
    """Return labels or a response for each sample, if y has one entry per trial."""
    if y is None or groups is None or isinstance(y, CodedLabels) or not samples.n_known:
        return y
    entries = as_array(y)
    if len(entries) == samples.n:
        return y
    codes = Marks(trials=as_trials(groups, samples.n)).codes
    if codes is None or len(entries) != codes[-1] + 1:
        trials = "" if codes is None else f" (or {codes[-1] + 1}, one for each trial)"
        raise DataError(
            f"y has {len(entries)} entries, expected {samples.n}, one for each sample{trials}"
        )
    if labelled and entries.dtype.kind == "f":
        check_discrete(np.unique(entries), len(entries), "trials")
    return entries[codes]


def check_weighted(objective: Objective) -> None:
    """Refuse weights if the objective has none."""
    if not objective.traits.weighted:
        if objective.name in REGISTRY:
            whose = f" with the parameters {objective!r}; by default it takes them"
        else:
            whose = "; methods of the registry take them, and sums over rows (sum_over_rows=True)"
        raise ArgumentError(
            f"objective {objective.name!r} takes no sample weights (sample_weight=){whose}"
        )


def by_index(objective: Objective, X: Rows, y: PerRow, **beside: PerRow) -> tuple[Rows, ...]:
    """Return X, y and sample metadata in the order of the first view's index.

    A background has other rows than the samples, and is not reordered.
    """
    if isinstance(X, dict) and objective.views > 1:
        views, *others = by_index(objective, tuple(X.values()), y, **beside)
        return dict(zip(X, views, strict=True)), *others
    beside = {"y": y, **beside}
    if objective.views == 1 and Need.BACKGROUND not in objective.needs:
        if isinstance(X, (np.ndarray, Samples)):
            return X, *beside.values()
        return X, *[aligned(X, other, name, "X") for name, other in beside.items()]
    if not isinstance(X, (tuple, list)) or not X:
        return X, *beside.values()
    first, *others = X
    if objective.views > 1:
        others = [aligned(first, other, f"X[{i}]", "X[0]") for i, other in enumerate(others, 1)]
    rows = (aligned(first, other, name, "X[0]") for name, other in beside.items())
    return (first, *others), *rows


def aligned(first: Rows, other: PerRow, name: str, first_name: str) -> PerRow:
    """Return the second argument in the order of the first one's index, if both have an index.

    pandas objects, AnnData and DataArrays of xarray have an index. Arguments of other types are
    unchanged. If one of two indices is of Dask, both must begin and end alike, if this is known.
    """
    if other is None or isinstance(first, np.ndarray):
        return other
    _check_divisions(first, other, name, first_name)
    index, others = _index(first), _index(other)
    if index is None or others is None or len(index) != len(others) or index.equals(others):
        return other
    by_place = f"reset both indices, or pass {name}.to_numpy(), to pair rows by position"
    if not (index.is_unique and others.is_unique):
        raise DataError(
            f"{first_name} and {name} have different indices with duplicates, so rows cannot be "
            f"paired by index; {by_place}"
        )
    places = others.get_indexer(index)
    absent = index[places < 0]
    if len(absent):
        examples = ", ".join(map(repr, absent[:3].tolist()))
        raise DataError(
            f"{first_name} and {name} have different indices: {name} lacks {len(absent)} of "
            f"{len(index)} entries, the first {examples}; {by_place}"
        )
    return other.iloc[places] if hasattr(other, "iloc") else other[places]


def _index(rows: Rows) -> PerRow:
    """Return the index of pandas objects, AnnData and DataArrays; None for anything else."""
    if is_annotated(rows):
        return rows.obs_names
    if is_labelled(rows):
        return rows.indexes.get(rows.dims[0])
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(rows, (pandas.DataFrame, pandas.Series)):
        return None
    return rows.index


def _check_divisions(first: Rows, other: PerRow, name: str, first_name: str) -> None:
    # A dask.delayed returns an object for every attribute, so that only True shows known divisions.
    lazy = [getattr(rows, "known_divisions", False) is True for rows in (first, other)]
    if not any(lazy):
        return
    found = [
        rows.divisions if of_dask else _index(rows)
        for rows, of_dask in zip((first, other), lazy, strict=True)
    ]
    ends = [(index[0], index[-1]) for index in found if index is not None and len(index)]
    if len(ends) == 2 and ends[0] != ends[1]:
        raise DataError(
            f"{first_name} and {name} have different indices: {first_name} from {ends[0][0]!r} to "
            f"{ends[0][1]!r}, {name} from {ends[1][0]!r} to {ends[1][1]!r}. To pair rows by "
            f"position, pass {name}.{'to_dask_array' if lazy[1] else 'to_numpy'}() as {name}"
        )
