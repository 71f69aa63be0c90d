"""`ldr.regularisation_path` and `ldr.refit`: sparse solutions, and refits without shrinkage."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ldr.errors import in_words
from ldr.inputs import as_data, as_objective, as_seconds, with_marks
from ldr.objectives.data.data import as_tuple
from ldr.objectives.objective import L1, Objective, penalty_of, without_penalty
from ldr.objectives.problem import Certificate, Placed, near
from ldr.objectives.sparse import SparseMethod
from ldr.objectives.view import Axes
from ldr.result import Result, check_result
from ldr.scaling import divided, undone
from ldr.solvers import errors
from ldr.solvers.checks import Pickled
from ldr.solvers.deadline import complete, hearing, until_told, within
from ldr.solvers.errors import ArgumentError, DataError, warn
from ldr.solvers.manifolds import Array
from ldr.solvers.manifolds.support import on_support
from ldr.solvers.problem import Point, Problem
from ldr.solvers.saddles import smallest_curvature
from ldr.solvers.solver import Solver, minimise
from ldr.solvers.status import Status
from ldr.solvers.trust_region import TrustRegion
from ldr.solving import ENDED, as_result, solve
from ldr.types import Argument, PerRow, PerView, Rows


@dataclass(frozen=True, repr=False)
class RegularisationPath(Pickled):
    """Solutions for increasing penalties.

    Attributes
    ----------
    penalties : tuple of float
        Weights of the penalty in ascending order.
    results : tuple of Result
        A result for each penalty.
    """

    penalties: tuple[float, ...]
    results: tuple[Result, ...]

    @property
    def values(self) -> tuple[float, ...]:
        """Value of each solution, including the penalty."""
        return tuple(result.value for result in self.results)

    @property
    def sparsity(self) -> tuple[float, ...]:
        """Share of zeros in each M (for two views in both matrices together)."""
        entries = [np.concatenate([M.ravel() for M in as_tuple(r.M)]) for r in self.results]
        return tuple(float(np.mean(each == 0)) for each in entries)

    def __repr__(self) -> str:
        lines = [f"{'penalty':>12}  {'value':>18}  {'sparsity':>8}  converged"]
        rows = zip(self.penalties, self.values, self.sparsity, self.results, strict=True)
        for penalty, value, zeros, result in rows:
            lines.append(f"{penalty:12.6g}  {value:18.12g}  {zeros:8.3f}  {result.converged}")
        return "\n".join(lines)


@in_words
def regularisation_path(
    objective: str | Objective,
    X: Rows,
    r: int,
    penalties: Sequence[float],
    *,
    y: PerRow = None,
    sample_weight: PerRow = None,
    groups: PerRow = None,
    standardise: bool = False,
    solver: str | Solver = "auto",
    max_iterations: int | None = None,
    time_limit: float | None = None,
    certify: bool = False,
    random_state: int | np.random.Generator | None = None,
    **parameters: object,
) -> RegularisationPath:
    """Solve an objective plus an l1 penalty for a sequence of penalty weights.

    Parameters
    ----------
    objective : str or Objective
        A smooth objective; each problem is ``objective + ldr.l1(penalty)``. In "sparse-pca",
        "sparse-lda" and "sparse-cca" the penalty replaces their own l1 penalty.
    X, r, y, sample_weight, groups, standardise, random_state, **parameters
        As in `ldr.solve`.
    penalties : sequence of float
        At least 0, in the objective's units; sorted in ascending order. The first solve starts at
        the baseline, each further solve at the previous solution.
    solver : str or Solver
        "auto" runs smoothing continuation, then proximal gradients.
    max_iterations : int, optional
        Limit for each penalty; by default the solver's own limit.
    time_limit : float, optional
        Seconds for all penalties together.
    certify : bool
        True to certify each solution.

    Returns
    -------
    RegularisationPath
        The repr is a table of penalties, values and sparsity. After Ctrl-C or the time limit the
        path contains only the completed solutions, and a warning states their number.

    Raises
    ------
    ldr.errors.ArgumentError
        No penalty is given, a penalty is negative, or the objective already has a penalty (except
        sparse-pca, sparse-lda and sparse-cca); otherwise as in `ldr.solve`.
    ldr.errors.TimeLimitError
        The time limit passed before the first solution.

    Examples
    --------
    >>> import numpy as np, ldr
    >>> X = np.random.default_rng(0).standard_normal((100, 6)) * [3, 3, 3, 1, 1, 1]
    >>> path = ldr.regularisation_path("pca", X, 2, [1.0, 100.0, 1000.0])
    >>> path.sparsity[0] <= path.sparsity[-1]
    True
    """
    listed = isinstance(penalties, (Sequence, np.ndarray)) and not isinstance(penalties, str)
    if not listed or len(penalties) == 0:
        raise ArgumentError(f"penalties must be a sequence of numbers >= 0, got {penalties!r}")
    smooth = as_objective(objective, parameters)
    own = penalty_of(smooth)
    if own is not None and not isinstance(smooth, SparseMethod):
        raise ArgumentError(
            f"objective has the penalty {own!r}, expected none: penalties= gives the penalties"
        )
    X, y = with_marks(smooth, X, y, sample_weight, groups)
    weights = sorted(L1(penalty).weight for penalty in penalties)

    options: dict[str, Argument] = {
        "standardise": standardise,
        "solver": solver,
        "max_iterations": max_iterations,
        "certify": certify,
        "random_state": random_state,
    }

    def along() -> Iterator[Result]:
        start: PerView = "baseline"
        for weight in weights:
            result = solve(_penalised(smooth, weight), X, r, y=y, start=start, **options)
            yield result
            # A rank-deficient M, with too many zeros, cannot be the initial point of the next run.
            full = all(np.linalg.matrix_rank(M) == M.shape[1] for M in as_tuple(result.M))
            start = result.M if full else "baseline"

    with within(as_seconds(time_limit)):
        results = complete(along(), len(weights), "penalties")
    return RegularisationPath(tuple(weights[: len(results)]), tuple(results))


def _penalised(smooth: Objective, weight: float) -> Objective:
    if isinstance(smooth, SparseMethod):
        return replace(smooth, penalty=weight)
    return smooth + L1(weight)


class WithZeros(Problem):
    """The smooth part of a problem, over matrices with the zeros of M."""

    def __init__(self, problem: Problem, M: Array) -> None:
        self._problem = problem
        self.manifold = on_support(problem.manifold, (M != 0).astype(np.float64))
        self.has_hessian = problem.has_hessian

    def at(self, M: Array) -> Point:
        return self._problem.at(M)


@in_words
def refit(
    result: Result,
    X: Rows,
    *,
    y: PerRow = None,
    sample_weight: PerRow = None,
    groups: PerRow = None,
) -> Result:
    """Optimise the objective again without its penalty, keeping the zeros of a solution.

    An l1 penalty selects features, but also shrinks large loadings. With fixed zeros the penalty is
    no longer needed, because the features are already selected. For sparse-pca the refitted M is a
    local maximum of the variance explained by orthonormal loadings with the given zeros.

    Parameters
    ----------
    result : Result
        Result of an objective with a penalty: "sparse-pca", or a sum with ``ldr.l1(weight)``.
    X, y, sample_weight, groups
        The data that the result was solved for, as in `ldr.solve`.

    Returns
    -------
    Result
        Optimum of the objective without the penalty, among matrices with the zeros of ``result.M``.
        Its certificate also refers to these matrices only. It has no baseline.

    Raises
    ------
    ldr.errors.ArgumentError
        The objective has no penalty.
    ldr.errors.DataError
        The columns of X differ from those of the solution.

    References
    ----------
    N. Meinshausen, Relaxed lasso, Computational Statistics & Data Analysis 52 (2007).

    Examples
    --------
    >>> import numpy as np, ldr
    >>> X = np.random.default_rng(0).standard_normal((100, 6)) * [3, 3, 3, 1, 1, 1]
    >>> sparse = ldr.solve("sparse-pca", X, 2, penalty=300.0)
    >>> refitted = ldr.refit(sparse, X)
    >>> bool(((refitted.M == 0) == (sparse.M == 0)).all())
    True
    """
    check_result(result)
    if penalty_of(result.objective) is None:
        raise ArgumentError(
            f"refit removes the shrinkage of a penalty, but {result.objective!r} has none: "
            "expected 'sparse-pca', or ldr.objectives.PCA() + ldr.l1(0.1), for example"
        )
    data = as_data(result.objective, X, y, sample_weight, groups)
    for view, M in zip(data.views, as_tuple(result.M), strict=True):
        if view.d != len(M):
            raise DataError(f"{view.name} has {view.d} columns, expected {len(M)}, as in result")
    if result.scale is not None:
        data = divided(data, result.scale)
    began = time.perf_counter()
    problem = result.objective.bind(data, result.r)
    start = problem.lower(as_tuple(result.M))
    within, solver = WithZeros(near(problem, start), start), TrustRegion()
    certificate = Certificate("none", np.inf, ENDED[Status.INTERRUPTED])
    with hearing() as interrupt:
        run = minimise(within, start, solver)
        with until_told():
            curvature = smallest_curvature(within, run.M)
            kind, what = ("saddle", "a") if curvature.descends else ("local", "no")
            message = f"with the zeros of M fixed, the Hessian has {what} direction of descent"
            certificate = Certificate(kind, np.inf, message, curvature.smallest)
    if interrupt.is_set():
        run = replace(run, status=Status.INTERRUPTED)
    if not run.status.converged:
        warn(f"refit did not converge: {run.status.advice}", errors.ConvergenceWarning)
    seconds = time.perf_counter() - began
    maps, given = problem.maps(run.M), Axes.given(result.r, len(data.views))
    seen = problem.variations(run.M, maps)
    placed = Placed(run.M, given, seen, problem.lift(run.M), maps)
    remarks = problem.remarks(run.M)
    found = as_result(
        problem, data, run, placed, None, solver, certificate, result.r, seconds, remarks
    )
    if result.scale is not None:
        found = undone(found, as_tuple(result.scale))
    return replace(found, objective=without_penalty(result.objective))
