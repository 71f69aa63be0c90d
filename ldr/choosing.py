"""Choosing the dimension: an objective along r."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

# Pickles of it say that it is here.
from ldr.horn import ParallelAnalysis as ParallelAnalysis
from ldr.inputs import as_data, as_generator, as_objective, check_r, in_order, with_marks
from ldr.objectives.data.data import as_tuple, single
from ldr.objectives.objective import Objective
from ldr.objectives.problem import BoundObjective
from ldr.resampling import Sampled
from ldr.result import Result
from ldr.scoring import score
from ldr.solvers.checks import whole
from ldr.solvers.errors import ArgumentError
from ldr.solvers.limits import complete
from ldr.solvers.manifolds import Array
from ldr.solvers.pickles import Pickled
from ldr.solvers.records import dataclass
from ldr.solvers.solver import Solver
from ldr.solving import solve
from ldr.standardising import divided
from ldr.types import Argument, PerRow, PerView, Rows, Splitter

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Path(Pickled):
    """An objective's results along the dimension.

    Attributes
    ----------
    results : tuple of Result
        In ascending dimension.
    scores : ndarray (dimensions, folds) or None
        Of held-out folds, larger is better; None where no folds were asked for.
    """

    results: tuple[Result, ...]
    scores: Array | None = None

    @property
    def dimensions(self) -> tuple[int, ...]:
        return tuple(result.r for result in self.results)

    @property
    def values(self) -> Array:
        """In the objective's own sense and units."""
        return np.array([result.value for result in self.results])

    @property
    def baselines(self) -> Array:
        """Of the heuristic; NaN where there is none."""
        found = [result.baseline for result in self.results]
        return np.array([math.nan if value is None else value for value in found])

    @property
    def certificates(self) -> tuple[str, ...]:
        """The kind of each certificate, "none" where there is none."""
        kinds = [result.certificate for result in self.results]
        return tuple("none" if c is None else c.kind for c in kinds)

    @property
    def elbow(self) -> int | None:
        """The dimension at which the curve of values is farthest from its chord; None of a line.

        Both axes scaled to length 1 (Satopaa, Albrecht, Irwin and Raghavan 2011).
        """
        r, values = np.array(self.dimensions, dtype=float), self.values
        if len(r) < 3 or values[-1] == values[0]:
            return None
        along = (r - r[0]) / (r[-1] - r[0])
        gap = np.abs((values - values[0]) / (values[-1] - values[0]) - along)
        k = int(np.argmax(gap))
        return self.dimensions[k] if gap[k] > 1e-10 else None

    @property
    def best(self) -> int | None:
        """The dimension of the highest mean score; None without folds."""
        if self.scores is None:
            return None
        return self.dimensions[int(np.argmax(self.scores.mean(axis=1)))]

    def plot(self) -> Figure:
        """Value, baseline and score against r; see `ldr.plots.path`."""
        from ldr.plots import path

        return path(self)

    def __repr__(self) -> str:
        head = f"{self.results[0].objective!r}: {self.dimensions[0]} to {self.dimensions[-1]}"
        lines = [f"{head} dimensions", "    r           value        baseline  certificate"]
        if self.scores is not None:
            lines[1] += "   held-out score"
        for k, result in enumerate(self.results):
            line = f"{result.r:5d}  {result.value:14.8g}  {self.baselines[k]:14.8g}  "
            line += f"{self.certificates[k]:<11}"
            if self.scores is not None:
                score, error = _mean_and_error(self.scores[k])
                line += f"   {score:.6g} +- {error:.2g}"
            lines.append(line.rstrip())
        if self.elbow is not None:
            lines.append(f"  elbow at {self.elbow}")
        if self.best is not None:
            lines.append(f"  best score at {self.best}")
        return "\n".join(lines)


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
    solver: str | Solver = "auto",
    starts: int | None = None,
    tolerance: float = 1e-10,
    max_iterations: int | None = None,
    certify: bool = True,
    random_state: int | np.random.Generator | None = None,
    **parameters: object,
) -> Path:
    """Solve an objective for several dimensions, each from the one before.

    Where the solver iterates, it starts at the better of the heuristic and the previous M
    completed by what of the heuristic M lies outside its span. Values need not be monotone in r:
    ratios fall, and the spaces of different r are not nested.

    Parameters
    ----------
    objective, X, y, sample_weight, groups, standardise
        As in `ldr.solve`.
    solver, starts, tolerance, max_iterations, certify
        As in `ldr.solve`.
    dimensions : sequence of int
        Such as ``range(1, 11)``; taken in ascending order.
    folds : int or splitter of scikit-learn, optional
        Also score each dimension on that many held-out folds, by `ldr.score`: log-likelihood, or
        the objective. Every class stands in every fold; of trials whole ones are held out, other
        time series are cut into pieces in order, and what is before and after one are two trials;
        a background is not split. A splitter (`GroupKFold()`, `TimeSeriesSplit()`, ...) is
        given y and `groups` and decides itself.
    random_state : int or Generator, optional
        Of the folds and of random starts.
    **parameters
        Of the objective, where it is given by name.

    Returns
    -------
    Path
        With `plot()`, `elbow` and `best`. After Ctrl-C it has the dimensions (and the folds, if
        more than one) that were done, and a warning says how many.

    Raises
    ------
    ldr.errors.ArgumentError
        No dimensions, one twice, one out of range; folds that the rows do not allow.

    Examples
    --------
    >>> import ldr
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> path = ldr.path("lda", X / X.std(axis=0), range(1, 6), y=y)
    >>> path.certificates
    ('global', 'global', 'global', 'global', 'global')
    """
    objective = as_objective(objective, parameters)
    if hasattr(folds, "split"):  # which is given the groups themselves
        X, y, groups = in_order(objective, X, y, groups=groups)
    sampled = (
        Sampled.of(objective, X, y, "folds", sample_weight, groups) if folds is not None else None
    )
    rng = as_generator(random_state)
    options: dict[str, Argument] = {
        "standardise": standardise,
        "solver": solver,
        "starts": starts,
        "tolerance": tolerance,
        "max_iterations": max_iterations,
        "random_state": rng,
    }
    order = _ascending(dimensions)
    if sampled is None or folds is None:
        X, y = with_marks(objective, X, y, sample_weight, groups)
        along = _along(objective, X, y, order, certify=certify, **options)
        return Path(tuple(complete(along, len(order), "dimensions")))
    along = _along(objective, sampled.data.X, sampled.data.y, order, certify=certify, **options)
    results = complete(along, len(order), "dimensions")
    if len(results) < len(order):
        return Path(tuple(results))
    parts = sampled.folds(folds, rng, groups)

    def scored() -> Iterator[list[float]]:
        for training, held in parts:
            found = _along(objective, *sampled.part(training), order, certify=False, **options)
            yield [score(result, *sampled.part(held)) for result in found]

    scores = complete(scored(), len(parts), "folds")
    return Path(tuple(results), np.array(scores).T if len(scores) > 1 else None)


def _mean_and_error(scores: Array) -> tuple[float, float]:
    """The mean, and its standard error, in a unit in which squares are numbers."""
    unit = float(np.abs(scores).max()) or 1.0
    error = (scores / unit).std(ddof=1) / math.sqrt(len(scores))
    return float(scores.mean()), unit * float(error)


def _ascending(dimensions: Iterable[int]) -> list[int]:
    try:
        order = sorted(whole("dimensions", r, 1) for r in dimensions)
    except TypeError:
        raise ArgumentError(f"dimensions must be whole numbers, got {dimensions!r}") from None
    if not order or len(set(order)) < len(order):
        raise ArgumentError(f"dimensions must be different whole numbers, got {dimensions!r}")
    return order


def _along(
    objective: Objective,
    X: Rows,
    y: PerRow,
    order: list[int],
    starts: int | None,
    **options: Argument,
) -> Iterator[Result]:
    results: list[Result] = []
    for r in order:
        start = _nested_start(objective, X, y, r, results[-1]) if results else "baseline"
        count = starts
        known = results[0].starts if results else None
        if count is None and known is not None:  # the objective's own, after the nested one
            count = len(known.names) + len(known.merged) + 1
        results.append(solve(objective, X, r, y=y, start=start, starts=count, **options))
        yield results[-1]


def _nested_start(objective: Objective, X: Rows, y: PerRow, r: int, previous: Result) -> PerView:
    """The better of the heuristic and the previous M completed; a closed form needs neither."""
    if previous.solver == "closed-form":
        return "baseline"
    data = as_data(objective, X, y)
    check_r(r, objective, data)
    if previous.scale is not None:
        data = divided(data, previous.scale)
    problem = objective.bind(data, r)
    heuristic = problem.baseline()
    filler = problem.random_point(np.random.default_rng(0)) if heuristic is None else heuristic
    found = as_tuple(previous.M)
    nested = _completed(found, problem.lift(filler))
    if heuristic is not None and _value(problem, heuristic) <= _value(problem, nested):
        return "baseline"
    return single(nested)


def _value(problem: BoundObjective, point: Array | list[Array]) -> float:
    return problem.at(problem.lower(point) if isinstance(point, list) else point).value


def _completed(matrices: Sequence[Array], fillers: Sequence[Array]) -> list[Array]:
    """Each M with the leading directions of its filler outside its span as further columns.

    The same combinations of the fillers' columns in all views, which keeps pairs together.
    """
    bases = [np.linalg.qr(M)[0] for M in matrices]
    left = [N - Q @ (Q.T @ N) for Q, N in zip(bases, fillers, strict=True)]
    combinations = np.linalg.svd(np.vstack(left), full_matrices=False)[2].T
    added = fillers[0].shape[1] - matrices[0].shape[1]
    return [
        np.hstack([M, rest @ combinations[:, :added]])
        for M, rest in zip(matrices, left, strict=True)
    ]
