"""`ldr.refit`: a sparse solution without the shrinkage that the penalty put on it."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from ldr.certifying import ENDED
from ldr.component_table import directions_of
from ldr.inputs import as_data
from ldr.objectives.certificate import Certificate
from ldr.objectives.coordinates import Axes
from ldr.objectives.data.data import as_tuple
from ldr.objectives.objective import penalty_of, without_penalty
from ldr.result import Result
from ldr.scaling import divided, undone
from ldr.solvers.deadline import hearing, until_told
from ldr.solvers.errors import ArgumentError, ConvergenceWarning, DataError, warn
from ldr.solvers.loop import minimise
from ldr.solvers.manifolds import Array
from ldr.solvers.manifolds.support import on_support
from ldr.solvers.problem import Point, Problem
from ldr.solvers.saddles import smallest_curvature
from ldr.solvers.status import Status
from ldr.solvers.trust_region import TrustRegion
from ldr.solving import as_result
from ldr.types import PerRow, Rows
from ldr.validation import in_words


class WithZeros(Problem):
    """The smooth part of a problem among the matrices that have M's zeros."""

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

    The l1 penalty finds which columns of X matter, and shrinks the loadings of those towards equal
    ones. With the zeros fixed the penalty is needed no more: of sparse pca the refitted M explains
    the most variance that orthonormal loadings with these zeros can, near the solution.

    Parameters
    ----------
    result : Result
        Of an objective with a penalty: "sparse-pca", or any with ``+ ldr.l1(weight)``.
    X, y, sample_weight, groups
        The data that it was solved for, as `ldr.solve` takes them.

    Returns
    -------
    Result
        Of the objective without the penalty, its value too. M has the zeros of ``result.M``. The
        certificate is about matrices with these zeros; there is no heuristic to compare with.

    Raises
    ------
    ldr.errors.ArgumentError
        The objective has no penalty.
    ldr.errors.DataError
        X has other columns than the solution.

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
    if not isinstance(result, Result):
        raise ArgumentError(f"result must be a Result of ldr.solve, got {type(result).__name__}")
    if penalty_of(result.objective) is None:
        raise ArgumentError(
            f"result is of {result.objective!r}, expected an objective with a penalty, such as "
            "'sparse-pca' or ldr.objectives.LDA() + ldr.l1(0.1): without one nothing is shrunk"
        )
    data = as_data(result.objective, X, y, sample_weight, groups)
    for view, M in zip(data.views, as_tuple(result.M), strict=True):
        if view.d != len(M):
            raise DataError(f"{view.name} has {view.d} columns, the solution is for {len(M)}")
    if result.scale is not None:
        data = divided(data, result.scale)
    began = time.perf_counter()
    problem = result.objective.bind(data, result.r)
    start = problem.lower(as_tuple(result.M))
    within, solver = WithZeros(problem.near(start), start), TrustRegion()
    certificate = Certificate("none", np.inf, ENDED[Status.INTERRUPTED])
    with hearing() as interrupt:
        run = minimise(within, start, solver)
        with until_told():
            curvature = smallest_curvature(within, run.M)
            kind, found = ("saddle", "a") if curvature.descends else ("local", "no")
            message = (
                f"among matrices with these zeros the Hessian has {found} direction of descent"
            )
            certificate = Certificate(kind, np.inf, message, curvature.smallest)
    if interrupt.is_set():
        run = replace(run, status=Status.INTERRUPTED)
    if not run.status.converged:
        warn(f"refit: {run.status.advice}", ConvergenceWarning)
    seconds = time.perf_counter() - began
    found_result = as_result(problem, data, run, None, solver, certificate, result.r, seconds)
    if result.scale is not None:
        found_result = undone(found_result, as_tuple(result.scale))
    maps = problem.maps(run.M)
    given = Axes.given(len(maps[0]), len(maps))
    directions = directions_of(problem, run.M, given, problem.variations(run.M, maps))
    objective = without_penalty(result.objective)
    return replace(found_result, objective=objective, directions=directions)
