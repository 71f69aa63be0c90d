"""`ldr.solve`: from an objective and data to the optimal projection."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ldr.objectives.certificate import Certificate
from ldr.objectives.objective import BoundObjective, Data, Objective
from ldr.objectives.registry import named
from ldr.objectives.samples import as_samples
from ldr.result import Result
from ldr.solvers.davidson import trace_ratio_solver
from ldr.solvers.errors import ArgumentError, ConvergenceWarning, DataError
from ldr.solvers.manifolds import Array
from ldr.solvers.registry import named_solver
from ldr.solvers.second_order import smallest_curvature
from ldr.solvers.self_consistent_field import TraceRatioLike
from ldr.solvers.solver import Observer, Run, Solver, Stopping, minimise
from ldr.solvers.status import Status
from ldr.solvers.threads import threads_for
from ldr.solvers.trust_region import TrustRegion


def solve(
    objective: str | Objective,
    X: Any,
    r: int,
    *,
    y: Any = None,
    solver: str | Solver = "auto",
    start: str | Array | Sequence[Array] = "baseline",
    tolerance: float = 1e-10,
    max_iterations: int | None = None,
    time_limit: float | None = None,
    observers: Sequence[Observer] = (),
    certify: bool = True,
    random_state: int | np.random.Generator | None = None,
    **parameters: Any,
) -> Result:
    """The r-dimensional linear projection of X that optimises an objective.

    Parameters
    ----------
    objective : str or Objective
        A name in the registry ("pca", "lda", "cca", "maf", "sfa", "lpp", "ppca", "sdr"), an
        objective with its parameters (``ldr.objectives.MAF(lag=2)``), or one of your own
        (`ldr.objective`).
    X : array, memory map, sparse matrix or DataFrame (n, d); for cca a pair of them
        Samples in rows. Sparse data stay sparse. Nothing is changed in place.
    r : int
        Dimension to reduce to, 1 <= r <= d.
    y : array (n,), optional
        Labels (lda, lpp on the class graph) or response (sdr).
    solver : str or Solver
        "auto" takes the closed form where it is exact, the self-consistent field or block
        Davidson for trace ratios, the trust region otherwise. Or "closed-form", "trust-region",
        "lbfgs", "conjugate-gradient", "steepest-descent", "self-consistent-field", "davidson",
        "pymanopt:trust-region", "pymanopt:conjugate-gradient", "pymanopt:steepest-descent", or a
        solver with its options.
    start : "baseline", "random" or array (d, r); for two views a pair of arrays
        Where an iterative solver starts; the objective's heuristic by default.
    tolerance : float
        Stop at |gradient| <= tolerance * |value at the start|, whatever the scale of the data.
    max_iterations : int, optional
        By default the solver's own limit.
    time_limit : float, optional
        Seconds.
    observers : sequence of callables
        Each is called with every `ldr.solvers.Iteration`; returning True ends the run. See
        `ldr.observers`.
    certify : bool
        Whether to find out what is known about optimality; it can cost as much as the solution.
    random_state : int or Generator, optional
        Of the random start.
    **parameters
        Of the objective, where it is given by name: ``ldr.solve("maf", X, 3, lag=2)``.

    Returns
    -------
    Result
        Also where the solver did not converge (with a ConvergenceWarning) or was interrupted from
        the keyboard: then with the best point so far.

    Raises
    ------
    ldr.errors.ArgumentError
        An unknown name, a wrong type, an r out of range.
    ldr.errors.DataError
        NaN, a wrong shape, labels that do not fit.
    ldr.errors.SingularError
        A matrix that must be inverted is singular, a ratio or a likelihood is unbounded.
    ldr.errors.ObjectiveError
        An objective of your own returns something other than a finite scalar.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> import ldr
    >>> result = ldr.solve("lda", X / X.std(axis=0), r=2, y=y)
    >>> result.certificate.kind
    'global'
    >>> result.improvement > 0
    True
    """
    objective = as_objective(objective, parameters)
    data = as_data(objective, X, y)
    check_r(r, data)
    rng = as_generator(random_state)
    stopping = _stopping(tolerance, max_iterations, time_limit)
    method = solver if isinstance(solver, Solver) else _solver_name(solver)

    began = time.perf_counter()
    problem = objective.bind(data, int(r))
    with threads_for(problem.order):
        baseline = problem.baseline()
        chosen = _choose(method, problem)
        if chosen is None:
            run = _closed_form(problem, baseline)
        else:
            first = _start(start, problem, data, baseline, rng)
            run = minimise(problem, first, chosen, stopping, observers)
        seconds = time.perf_counter() - began
        certificate = certify_point(problem, run) if certify else None
    if not run.status.converged:
        warnings.warn(
            f"{objective.name}: {run.status.advice}", ConvergenceWarning, stacklevel=2
        )
    return _result(problem, data, run, baseline, chosen, certificate, int(r), seconds)


def as_objective(objective: str | Objective, parameters: dict[str, Any]) -> Objective:
    """The objective that a name or an instance stands for."""
    if isinstance(objective, str):
        return named(objective, **parameters)
    if not isinstance(objective, Objective):
        hint = ""
        if isinstance(objective, type) and issubclass(objective, Objective):
            hint = f" (an instance, {objective.__name__}(), not the class)"
        elif callable(objective):
            hint = " (decorate a function with @ldr.objective)"
        raise ArgumentError(
            f"objective must be a name or an Objective{hint}, got {type(objective).__name__}"
        )
    if parameters:
        raise ArgumentError(
            f"unknown argument {next(iter(parameters))!r}: parameters of an objective go into the "
            "objective itself unless it is given by name"
        )
    return objective


def as_data(objective: Objective, X: Any, y: Any) -> Data:
    """The data, checked against what the objective needs."""
    if objective.views == 1:
        views = (as_samples(X, "X"),)
    else:
        if not isinstance(X, (tuple, list)) or len(X) != objective.views:
            raise DataError(
                f"X must be a pair of arrays (Xa, Xb) for objective {objective.name!r}, "
                f"got {type(X).__name__}"
            )
        views = tuple(as_samples(view, f"X[{i}]") for i, view in enumerate(X))
        if len({view.n for view in views}) > 1:
            rows = " and ".join(str(view.n) for view in views)
            raise DataError(f"the views in X have {rows} rows, expected the same number")
    for need in ("labels", "response"):
        if need in objective.needs and y is None:
            raise ArgumentError(f"objective {objective.name!r} needs {need}: pass y=, got None")
    return Data(views, y)


def check_r(r: Any, data: Data) -> None:
    d = min(view.d for view in data.views)
    if isinstance(r, bool) or not isinstance(r, (int, np.integer)):
        raise ArgumentError(f"r must be a whole number, got {r!r}")
    if not 1 <= r <= d:
        raise ArgumentError(f"r = {r} is out of range: expected 1 <= r <= d = {d}")


def as_generator(random_state: Any) -> np.random.Generator:
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise ArgumentError(
            f"random_state must be an int >= 0, a numpy Generator or None, got {random_state!r}"
        ) from None


def _stopping(tolerance: Any, max_iterations: Any, time_limit: Any) -> Stopping:
    if not (isinstance(tolerance, (int, float)) and 0 <= tolerance < math.inf):
        raise ArgumentError(f"tolerance must be a finite number >= 0, got {tolerance!r}")
    whole = isinstance(max_iterations, (int, np.integer)) and not isinstance(max_iterations, bool)
    if max_iterations is not None and not (whole and max_iterations >= 0):
        raise ArgumentError(f"max_iterations must be a whole number >= 0, got {max_iterations!r}")
    if time_limit is not None and not (isinstance(time_limit, (int, float)) and time_limit > 0):
        raise ArgumentError(f"time_limit must be a number of seconds > 0, got {time_limit!r}")
    return Stopping(tolerance, max_iterations, math.inf if time_limit is None else time_limit)


def _solver_name(solver: Any) -> str | Solver:
    if not isinstance(solver, str):
        raise ArgumentError(f"solver must be a name or a Solver, got {type(solver).__name__}")
    return solver if solver in ("auto", "closed-form") else named_solver(solver)


def _choose(method: str | Solver, problem: BoundObjective) -> Solver | None:
    """The solver to run; None is the closed form."""
    if isinstance(method, Solver):
        return method
    if problem.closed_form() is not None:
        return None
    if method == "closed-form":
        raise ArgumentError(
            f"objective {problem.objective.name!r} has no closed form here; "
            "use solver='auto' or 'trust-region'"
        )
    if isinstance(problem, TraceRatioLike):
        return trace_ratio_solver(*problem.manifold.shape)
    return TrustRegion()


def _closed_form(problem: BoundObjective, baseline: Array | None) -> Run:
    began = time.perf_counter()
    M = problem.closed_form() if baseline is None or not problem.baseline_exact else baseline
    assert M is not None
    point = problem.at(M)
    gradient = problem.manifold.gradient(M, point.gradient)
    norm = problem.manifold.norm(M, gradient)
    seconds = time.perf_counter() - began
    return Run(
        M=M,
        value=point.value,
        gradient_norm=norm,
        status=Status.CLOSED_FORM,
        iterations=0,
        evaluations={"value": 1, "gradient": 1, "hessian": 0},
        history={"value": [point.value], "gradient_norm": [norm], "seconds": [seconds]},
        seconds=seconds,
    )


def _start(
    start: Any,
    problem: BoundObjective,
    data: Data,
    baseline: Array | None,
    rng: np.random.Generator,
) -> Array:
    if isinstance(start, str):
        if start == "random" or (start == "baseline" and baseline is None):
            return problem.random_point(rng)
        if start == "baseline":
            assert baseline is not None
            return baseline
        raise ArgumentError(f"start must be 'baseline', 'random' or an array, got {start!r}")
    given = start if len(data.views) > 1 else (start,)
    if not isinstance(given, (tuple, list)) or len(given) != len(data.views):
        raise ArgumentError("start must be a pair of arrays, one a view")
    r = problem.blocks(problem.random_point(np.random.default_rng(0)))[0].shape[1]
    matrices = [np.array(M, dtype=np.float64) for M in given]
    for M, view in zip(matrices, data.views, strict=True):
        if M.shape != (view.d, r):
            raise ArgumentError(f"start has shape {M.shape}, expected ({view.d}, {r})")
        if not np.isfinite(M).all():
            raise ArgumentError("start has NaN or infinite entries")
    return problem.lower(matrices)


def certify_point(problem: BoundObjective, run: Run) -> Certificate:
    """What theory says of the point, else what the smallest curvature there says."""
    certificate = problem.certificate(run.M)
    if certificate is not None:
        return certificate
    if not run.status.converged:
        return Certificate("none", math.inf, "the solver did not converge")
    curvature, largest = smallest_curvature(problem, run.M)
    # A function that is constant on its manifold has a Hessian of rounding errors.
    if curvature < -1e-6 * max(largest, 1e-6 * abs(run.value)):
        return Certificate("saddle", math.inf, "the Hessian has a direction of descent", curvature)
    return Certificate("local", math.inf, "the Hessian has no direction of descent", curvature)


def _improvement(problem: BoundObjective, value: float, baseline: float) -> float:
    """Eq. 28, -(f(M) - f(M_baseline)) / |f(M_baseline)|, f minimised; cca's is not divided."""
    gain = baseline - value
    if gain == 0 or not problem.relative_improvement:
        return gain
    return gain / abs(baseline) if baseline != 0 else math.copysign(math.inf, gain)


def _result(
    problem: BoundObjective,
    data: Data,
    run: Run,
    baseline: Array | None,
    solver: Solver | None,
    certificate: Certificate | None,
    r: int,
    seconds: float,
) -> Result:
    baseline_value = baseline_M = improvement = None
    if baseline is not None:
        minimised = problem.at(baseline).value
        baseline_value = problem.reported(minimised)
        baseline_M = _single(problem.lift(baseline))
        improvement = _improvement(problem, run.value, minimised)
    return Result(
        M=_single(problem.lift(run.M)),
        P=_single(problem.maps(run.M)),
        mean=_single(problem.means),
        value=problem.reported(run.value),
        baseline=baseline_value,
        baseline_M=baseline_M,
        improvement=improvement,
        certificate=certificate,
        status=run.status,
        iterations=run.iterations,
        evaluations=run.evaluations,
        gradient_norm=run.gradient_norm * problem.unit,
        history={**run.history, "value": [problem.reported(v) for v in run.history["value"]]},
        solver="closed-form" if solver is None else solver.name,
        objective=problem.objective,
        r=r,
        seconds=seconds,
        notes=tuple(problem.notes),
        parameters=problem.parameters(run.M),
        feature_names=_single(tuple(view.feature_names for view in data.views)),
    )


def _single(blocks: tuple[Any, ...]) -> Any:
    """The only block of a tuple of one, else the tuple."""
    return blocks[0] if len(blocks) == 1 else blocks
