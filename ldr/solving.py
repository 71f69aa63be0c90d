"""`ldr.solve`: from an objective and data to the optimal projection."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ldr.io.alignment import by_index
from ldr.memory import within_memory
from ldr.objectives.certificate import Certificate
from ldr.objectives.data.accelerator import accelerator
from ldr.objectives.data.data import Data
from ldr.objectives.data.opening import as_samples, with_column
from ldr.objectives.data.samples import Samples
from ldr.objectives.data.stored import StoredSamples, brought
from ldr.objectives.data.streams import expect, together
from ldr.objectives.objective import Objective
from ldr.objectives.problem import BoundObjective
from ldr.objectives.registry import named
from ldr.result import Result, Starts
from ldr.solvers.checks import LARGEST, SMALLEST, number, whole
from ldr.solvers.errors import ArgumentError, ConvergenceWarning, DataError, TimeLimitError
from ldr.solvers.flatness import unless_flat
from ldr.solvers.limits import check, hearing, over, unlimited, until_told, within
from ldr.solvers.manifolds import Array
from ldr.solvers.nonsmooth.complementarity import slack_at
from ldr.solvers.nonsmooth.smoothing import Smoothing
from ldr.solvers.registry import named_solver
from ldr.solvers.saddles import Curvature, leave_saddles
from ldr.solvers.solver import Observer, Run, Solver, Stopping, minimise
from ldr.solvers.status import Status
from ldr.solvers.threads import threads_for
from ldr.solvers.trace_ratio.davidson import trace_ratio_solver
from ldr.solvers.trace_ratio.self_consistent_field import TraceRatioLike
from ldr.solvers.trust_region import TrustRegion
from ldr.solvers.warn import warn

# Seconds in which nothing is solved.
_SHORTEST = 1e-6
# How a run ends that was told to.
_TOLD = (Status.TIME_LIMIT, Status.INTERRUPTED, Status.OBSERVER)
# Why nothing is known of an optimum.
ENDED = {
    Status.TIME_LIMIT: "the time limit was reached before optimality was settled",
    Status.INTERRUPTED: "interrupted from the keyboard before optimality was settled",
}
# How well the easier problems on the way from a start are solved.
_ROUGHLY = Stopping(1e-4, 50)
# Zeros that are this near to changing, relative to the penalty, may change.
_LEAST_SLACK = 1e-6


@within_memory
def solve(
    objective: str | Objective,
    X: Any,
    r: int,
    *,
    y: Any = None,
    solver: str | Solver = "auto",
    start: str | Array | Sequence[Array] = "baseline",
    starts: int | None = None,
    workers: int = 1,
    tolerance: float = 1e-10,
    max_iterations: int | None = None,
    time_limit: float | None = None,
    observers: Sequence[Observer] = (),
    certify: bool = True,
    random_state: int | np.random.Generator | None = None,
    device: str = "cpu",
    **parameters: Any,
) -> Result:
    """The r-dimensional linear projection of X that optimises an objective.

    Parameters
    ----------
    objective : str or Objective
        A name in the registry (`ldr.objectives.list()` prints them), an objective with its
        parameters (``ldr.objectives.MAF(lag=2)``), a kernel version (`ldr.kernel`), or one of your
        own (`ldr.objective`).
    X : array, memory map, sparse matrix or DataFrame (n, d); or data larger than memory
        Samples in rows. Sparse data stay sparse. Nothing is changed in place. The rows of pandas
        objects, of X, a second view and y, are paired by their index: in another order it is put in
        order, and indices that differ otherwise are refused. The path of a .npy,
        .parquet, .csv or .tsv file or of a folder of .parquet files, a list of arrays and paths
        below one another, an iterator of blocks of rows, or a function that returns one, are read
        piece by piece (see the guide to data larger than memory). NaN is a missing value, for the
        objectives that take them (ppca and fa). For objectives of two views (cca, pls,
        reduced-rank-regression) a pair of them with the same rows; for opca, signal-noise and
        contrastive-pca a pair (samples, noise or background) with the same columns; for
        mds-distances an n x n matrix of distances.
    r : int
        Dimension to reduce to, 1 <= r <= d (or the number of features, of a kernel version).
    y : array (n,), optional
        Labels (lda, or a graph of the classes) or response (sdr, hsic, sir, save,
        regressions); or the name of a column, where X is the path of a table; or the path of an
        .npy file.
    solver : str or Solver
        "auto" takes the closed form where it is exact, the self-consistent field or block
        Davidson for trace ratios, variable projection for fa of complete data, coordinate descent
        for the lasso, smoothing and proximal gradients where there is another l1 penalty, the trust
        region otherwise. Or
        "closed-form", "trust-region", "lbfgs", "conjugate-gradient", "steepest-descent",
        "self-consistent-field", "davidson", "variable-projection" (fa), "em" (ppca and fa),
        "coordinate-descent" (lasso),
        "svrg" (stochastic, for sums over rows: uica and robust-pca of rows in a file, your own
        with ``sum_over_rows=True``), "smoothing", "proximal-gradient", "pymanopt:trust-region",
        "pymanopt:conjugate-gradient", "pymanopt:steepest-descent", or a solver with its options.
    start : str or array (d, r); for two views a pair of arrays
        Where an iterative solver starts: "baseline", the objective's heuristic, by default;
        "random"; or one of the objective's own starts by name, say "gradient outer product" of sdr.
    starts : int, optional
        How many starts to solve from, for objectives with local optima: the first is `start`, then
        come the objective's own starts (not after "random"), then random ones. By default the
        objective's own and no random ones where `start` is "baseline" (sdr, ica, lmnn, ... have
        some), and one otherwise. The best result is returned; its `starts` says how many agree
        with it, what each reached, and which the best came from.
    workers : int
        How many of the starts to solve at the same time, in threads; -1 is one for every core.
    tolerance : float
        Stop at |gradient| <= tolerance * |value at the start|, whatever the scale of the data.
    max_iterations : int, optional
        By default the solver's own limit.
    time_limit : float, optional
        Seconds, for all of it: reading, statistics, heuristic, all starts, certificate. What is
        under way when they are over is finished, at most a pass over the data or a decomposition.
        No claim depends on it: a certificate that does not fit is "none".
    observers : sequence of callables
        Each is called with every `ldr.solvers.Iteration`; returning True ends the run. See
        `ldr.observers`.
    certify : bool
        Whether to find out what is known about optimality; it can cost as much as the solution. A
        saddle is left along a direction of descent and the solver runs on; a note says so.
    random_state : int or Generator, optional
        Of the random starts.
    device : {"cpu", "gpu"}
        Where sums over dense rows (means, scatters, their products with d x r matrices) and
        objectives of your own in jax are computed: "gpu" is the first device of that kind that jax
        finds. Where there is none, a DeviceWarning says so and the processor is used.
    **parameters
        Of the objective, where it is given by name: ``ldr.solve("maf", X, 3, lag=2)``.

    Returns
    -------
    Result
        Also where the solver did not converge, the time was over, or Ctrl-C was pressed: then with
        the best point so far, a status that says so, a ConvergenceWarning, and a note how many of
        several starts were solved.

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
    ldr.errors.TooLargeError
        An array that the method needs does not fit into memory (a MemoryError).
    ldr.errors.TimeLimitError
        The time was over before there was a point to return: data were read, or a heuristic
        computed.
    KeyboardInterrupt
        Ctrl-C before there was a point to return, or again, within half a minute after a Ctrl-C
        that a solve had answered with its best point: loops over solves are left by the second.

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
    rng = as_generator(random_state)
    stopping = _stopping(tolerance, max_iterations)
    if starts is not None:
        whole("starts", starts, 1)
    whole("workers", workers, -1)
    if workers == 0:
        raise ArgumentError("workers must be a whole number >= 1, or -1 for one a core, got 0")
    method = solver if isinstance(solver, Solver) else _solver_name(solver)
    check_observers(observers)

    with within(_seconds(time_limit)) as deadline:
        deadline.task = "the data were opened"
        data = as_data(objective, X, y).on(accelerator(device))
        check_r(r, objective, data)
        began = time.perf_counter()
        deadline.task = "the statistics of the data were computed"
        problem = objective.bind(data, int(r))
        reached: dict[str, float] = {}
        certificate = None
        notes: tuple[str, ...] = ()
        with threads_for(problem.order):
            deadline.task = "the heuristic was computed"
            baseline = problem.baseline()
            chosen = _choose(method, problem)
            heuristic = Heuristic.of(problem, baseline)
            own = chosen is not None and _uses_own_starts(start, starts)
            named_starts = _own_starts(problem, start, baseline) if own else {}
            first = _start(start, problem, data, baseline, named_starts, rng)
            deadline.task = "the solution was computed"
            if chosen is None:
                run = _closed_form(problem, baseline)
            with hearing() as interrupt:
                if chosen is not None:
                    points = _points(problem, start, first, named_starts, starts, rng)
                    runs = solve_from(problem, points, chosen, stopping, observers, workers)
                    reached = {name: problem.reported(run.value) for name, run in runs.items()}
                    run, notes = _best(runs, len(points))
                seconds = time.perf_counter() - began
                if certify:
                    run, certificate, further = certify_run(
                        problem, run, chosen, stopping, observers
                    )
                    notes += further
        if interrupt.heard:
            run = replace(run, status=Status.INTERRUPTED)
        with unlimited():
            result = as_result(problem, data, run, heuristic, chosen, certificate, int(r), seconds)
    if not run.status.converged:
        said = " ".join((run.status.advice, *notes))
        warn(f"{objective.name}: {said}", ConvergenceWarning)
    return replace(
        result,
        notes=result.notes + notes,
        starts=Starts.of(reached, objective.sense) if len(reached) > 1 else None,
    )


@dataclass(frozen=True)
class Heuristic:
    """The heuristic's point, and the minimised value there."""

    M: Array
    value: float

    @classmethod
    def of(cls, problem: BoundObjective, M: Array | None) -> Heuristic | None:
        """Once begun it is evaluated to the end: it is the first point that there is to return."""
        check()
        with unlimited():
            return None if M is None else cls(M, problem.value(M))


def solve_from(
    problem: BoundObjective,
    points: Mapping[str, Array],
    solver: Solver,
    stopping: Stopping,
    observers: Sequence[Observer] = (),
    workers: int = 1,
) -> dict[str, Run]:
    """A run from each named point; none after one that was told to stop, nor after the time.

    Raises
    ------
    KeyboardInterrupt
        Before there was a point to return.
    """
    told: list[Status] = []
    first = next(iter(points))

    def from_point(name: str) -> Run | None:
        if told or (name != first and over()):
            return None
        point = points[name]
        with until_told():
            for easier in problem.easier:
                point = point if over() else minimise(easier, point, solver, _ROUGHLY).M
            run = minimise(problem, point, solver, stopping, observers)
            with until_told():
                run = unless_flat(problem, run, problem.random_point)
            if run.status is Status.OBSERVER:
                told.append(run.status)
            return run
        return None

    with hearing() as interrupt:
        if workers == 1 or len(points) == 1:
            runs = [from_point(name) for name in points]
        else:
            with ThreadPoolExecutor(os.cpu_count() if workers < 0 else workers) as pool:
                tasks = [pool.submit(copy_context().run, from_point, name) for name in points]
                try:
                    runs = [task.result() for task in tasks]
                except BaseException:
                    interrupt.heard = True  # by the other threads too, which are joined here
                    raise
    found = {name: run for name, run in zip(points, runs, strict=True) if run is not None}
    if not found:
        raise KeyboardInterrupt
    return found


def _best(runs: Mapping[str, Run], starts: int) -> tuple[Run, tuple[str, ...]]:
    """The best of the runs; it is told to stop as they were, and a note says how many were not."""
    best = min(runs.values(), key=lambda run: run.value)
    ended = [run.status for run in runs.values() if run.status in _TOLD]
    done = len(runs) - len(ended)
    if starts == 1 or done == starts:
        return best, ()
    status = ended[-1] if ended else Status.TIME_LIMIT
    return replace(best, status=status), (f"{done} of {starts} starts were solved to their end",)


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
    X, y = by_index(objective, *with_column(X, y))
    views: tuple[Samples, ...]
    background = None
    if "background" in objective.needs:
        sample, background = _with_background(objective, X)
        views = (sample,)
    elif objective.views == 1:
        views = (as_samples(X, "X", allow_nan=objective.missing),)
    else:
        if not isinstance(X, (tuple, list)) or len(X) != objective.views:
            raise DataError(
                f"X must be a pair of arrays (Xa, Xb) for objective {objective.name!r}, "
                f"got {type(X).__name__}"
            )
        views = tuple(as_samples(view, f"X[{i}]") for i, view in enumerate(X))
        views = together(views)
        if all(view.n_known for view in views) and len({view.n for view in views}) > 1:
            rows = " and ".join(str(view.n) for view in views)
            raise DataError(f"the views in X have {rows} rows, expected the same number")
    y = brought(y)
    expect(views[0], y)
    data = Data(views, y, background)
    for need in ("labels", "response"):
        if need in objective.needs:
            data.require(need, objective.name)
    return data


def _with_background(objective: Objective, X: Any) -> tuple[Samples, Samples]:
    """The samples and the background (or the noise) of a pair with the same columns."""
    if not isinstance(X, (tuple, list)) or len(X) != 2:
        raise DataError(
            f"X must be a pair of arrays (samples, background) with the same columns for "
            f"objective {objective.name!r}, got {type(X).__name__}"
        )
    sample, background = as_samples(X[0], "X[0]"), as_samples(X[1], "X[1]")
    if sample.d != background.d:
        raise DataError(
            f"X[0] has {sample.d} columns and X[1] has {background.d}, expected the same columns"
        )
    return sample, background


def check_r(r: Any, objective: Objective, data: Data) -> None:
    d = objective.largest_r(data)
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


def _stopping(tolerance: Any, max_iterations: Any) -> Stopping:
    if max_iterations is not None:
        max_iterations = whole("max_iterations", max_iterations, 0)
    return Stopping(number("tolerance", tolerance), max_iterations)


def _seconds(time_limit: Any) -> float:
    if time_limit is None:
        return math.inf
    seconds = number("time_limit", time_limit, positive=True, finite=False)
    if seconds <= _SHORTEST:
        raise ArgumentError(
            f"time_limit must be a number > {_SHORTEST:g}, in seconds, got {time_limit!r}: nothing "
            "is solved in less"
        )
    return seconds


def check_observers(observers: Any) -> None:
    """Refuse what is no sequence of callables."""
    if not isinstance(observers, (list, tuple)):
        raise ArgumentError(f"observers must be a list of callables, got {observers!r}")
    for observer in observers:
        if not callable(observer):
            raise ArgumentError(f"observers must be callables, got {observer!r}")


def _solver_name(solver: Any) -> str | Solver:
    if not isinstance(solver, str):
        hint = ""
        if isinstance(solver, type) and issubclass(solver, Solver):
            hint = f" (an instance, {solver.__name__}(), not the class)"
        raise ArgumentError(f"solver must be a name or a Solver{hint}, got {solver!r}")
    return solver if solver in ("auto", "closed-form") else named_solver(solver)


def _choose(method: str | Solver, problem: BoundObjective) -> Solver | None:
    """The solver to run; None is the closed form."""
    if isinstance(method, Solver):
        return method
    automatic = automatic_solver(problem)
    if method == "closed-form" and automatic is not None:
        raise ArgumentError(
            f"objective {problem.objective.name!r} has no closed form here; use solver='auto'"
        )
    return automatic


def automatic_solver(problem: BoundObjective) -> Solver | None:
    """What solver="auto" takes; None is the closed form."""
    if problem.closed_form() is not None:
        return None
    if isinstance(problem, TraceRatioLike):
        return trace_ratio_solver(problem, problem.manifold.shape[1])
    if problem.penalty is not None:
        return Smoothing()
    return problem.specialist() or TrustRegion()


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
        history={
            "iteration": [0],
            "value": [point.value],
            "gradient_norm": [norm],
            "seconds": [seconds],
        },
        seconds=seconds,
    )


def _uses_own_starts(start: Any, count: int | None) -> bool:
    """Whether the objective's own starts are wanted: they can cost as much as an iteration."""
    if isinstance(start, str):
        return start != "random" and (count != 1 or start != "baseline")
    return count is not None and count > 1


def _own_starts(problem: BoundObjective, start: Any, baseline: Array | None) -> dict[str, Array]:
    """The objective's own starts; none where the time is over and the heuristic will do."""
    try:
        return problem.starts()
    except TimeLimitError:
        if start != "baseline" or baseline is None:
            raise
        return {}


def _points(
    problem: BoundObjective,
    start: Any,
    first: Array,
    named_starts: Mapping[str, Array],
    count: int | None,
    rng: np.random.Generator,
) -> dict[str, Array]:
    """`count` points to solve from: the first, then the objective's own, then random ones.

    Without a count, the first and, where that is the baseline, the objective's own.

    One of the objective's own that is the first itself gives it its name and comes once.
    """
    name = start if isinstance(start, str) else "given"
    others = {}
    for own, point in named_starts.items():
        if np.array_equal(point, first):
            name = own
        else:
            others[own] = point
    if count is None:
        count = 1 + len(others) if isinstance(start, str) and start == "baseline" else 1
    points = dict(list({name: first, **others}.items())[:count])
    for k in range(1, count - len(points) + 1):
        points[f"random {k}"] = problem.random_point(rng)
    return points


def _start(
    start: Any,
    problem: BoundObjective,
    data: Data,
    baseline: Array | None,
    named_starts: Mapping[str, Array],
    rng: np.random.Generator,
) -> Array:
    if isinstance(start, str):
        if start == "random" or (start == "baseline" and baseline is None):
            return problem.random_point(rng)
        if start == "baseline":
            assert baseline is not None
            return baseline
        if start in named_starts:
            return named_starts[start]
        known = ", ".join(map(repr, ("baseline", "random", *named_starts)))
        raise ArgumentError(f"start must be one of {known}, or an array, got {start!r}")
    given = start if len(data.views) > 1 else (start,)
    if not isinstance(given, (tuple, list)) or len(given) != len(data.views):
        raise ArgumentError("start must be a pair of arrays, one a view")
    shapes = [M.shape for M in problem.lift(problem.random_point(np.random.default_rng(0)))]
    matrices = [_start_matrix(M, shape) for M, shape in zip(given, shapes, strict=True)]
    return problem.lower(matrices)


def _start_matrix(given: Any, shape: tuple[int, ...]) -> Array:
    """A start of the user's as a matrix of full rank."""
    try:
        M = np.asarray(given)
    except ValueError:
        raise ArgumentError(f"start must be an array of shape {shape}") from None
    if M.dtype.kind not in "biuf":
        raise ArgumentError(f"start must hold real numbers, but its type is {M.dtype}")
    if M.shape != shape:
        raise ArgumentError(f"start has shape {M.shape}, expected {shape}")
    M = M.astype(np.float64)
    if not np.isfinite(M).all():
        raise ArgumentError("start has NaN or infinite entries")
    if not SMALLEST <= np.abs(M).max() <= LARGEST:
        raise ArgumentError(
            f"start has a largest entry of {np.abs(M).max():.1e}, expected one between "
            f"{SMALLEST:.0e} and {LARGEST:.0e}"
        )
    rank = int(np.linalg.matrix_rank(M))
    if rank < shape[1]:
        raise ArgumentError(f"start has rank {rank}, expected {shape[1]}, its number of columns")
    return M


def certify_run(
    problem: BoundObjective,
    run: Run,
    solver: Solver | None,
    stopping: Stopping | None = None,
    observers: Sequence[Observer] = (),
) -> tuple[Run, Certificate, tuple[str, ...]]:
    """The run, continued where it ended on a saddle; what is known of its end; and notes.

    What theory says comes first; where that is no optimum, the smallest curvature tells a saddle.
    Where the time limit or Ctrl-C ends the search, nothing is claimed but what was proved before.
    """
    certificate = None
    notes: tuple[str, ...] = ()
    with hearing() as interrupt, until_told():
        certificate = problem.certificate(run.M)
        if certificate is not None and (certificate.is_optimal or solver is None):
            return run, certificate, ()
        if not run.status.converged or solver is None:
            message = ENDED.get(run.status, "the solver did not converge")
            return run, certificate or Certificate("none", math.inf, message), ()
        run, curvature, escapes = leave_saddles(problem, run, solver, stopping, observers)
        if escapes:
            notes = (f"{escapes} saddle(s) left along a direction of descent",)
            certificate = None
            certificate = problem.certificate(run.M)
        if curvature is not None:
            if certificate is None or (curvature.descends and not certificate.is_optimal):
                certificate = _local_certificate(curvature, certificate)
                if problem.penalty is not None:
                    certificate = _among_zeros(problem, run.M, certificate)
                if problem.span is not None:
                    certificate = certificate.restricted_to(problem.span)
            return run, certificate, notes
    message = ENDED[Status.INTERRUPTED if interrupt.heard else Status.TIME_LIMIT]
    return run, certificate or Certificate("none", math.inf, message), notes


def _local_certificate(curvature: Curvature, bound: Certificate | None) -> Certificate:
    gap = math.inf if bound is None else bound.gap
    if curvature.descends:
        message = "the Hessian has a direction of descent"
        return Certificate("saddle", gap, message, curvature.smallest)
    message = "the Hessian has no direction of descent"
    return Certificate("local", gap, message, curvature.smallest)


def _among_zeros(problem: BoundObjective, M: Array, smooth: Certificate) -> Certificate:
    """What the curvature among matrices with M's zeros says of M itself.

    A minimum there is a local one if no zero is about to change (strict complementarity).
    """
    if smooth.kind == "saddle":
        message = "among matrices with these zeros the Hessian has a direction of descent"
        return replace(smooth, message=message)
    slack = slack_at(problem, M)
    if slack <= _LEAST_SLACK:
        message = f"stationary, but a zero of M is about to change (slack {slack:.1e})"
        return Certificate("none", smooth.gap, message, smooth.curvature)
    message = (
        "among matrices with these zeros the Hessian has no direction of descent, and no zero is "
        f"about to change (slack {slack:.1e})"
    )
    return replace(smooth, message=message)


def _improvement(problem: BoundObjective, value: float, baseline: float) -> float:
    """Eq. 28, -(f(M) - f(M_baseline)) / |f(M_baseline)|, f minimised; cca's is not divided."""
    gain = baseline - value
    if gain == 0 or not problem.relative_improvement:
        return gain
    return gain / abs(baseline) if baseline != 0 else math.copysign(math.inf, gain)


def as_result(
    problem: BoundObjective,
    data: Data,
    run: Run,
    heuristic: Heuristic | None,
    solver: Solver | None,
    certificate: Certificate | None,
    r: int,
    seconds: float,
) -> Result:
    """What the user gets of a run."""
    baseline_value = baseline_M = improvement = None
    if heuristic is not None:
        baseline_value = problem.reported(heuristic.value)
        baseline_M = _single(problem.lift(heuristic.M))
        improvement = _improvement(problem, run.value, heuristic.value)
    objective = problem.objective
    assert isinstance(objective, Objective)
    return Result(
        M=_single(problem.lift(run.M)),
        P=_single(problem.maps(run.M)),
        mean=_single(problem.mean_at(run.M)),
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
        objective=objective,
        r=r,
        seconds=seconds,
        notes=(*problem.notes, *problem.remarks(run.M), *_brought(data)),
        parameters=_parameters(problem, run),
        model=problem.model(run.M),
        feature_names=_single(tuple(view.feature_names for view in data.views)),
        features=_single(tuple(view.features for view in problem.views)),
    )


def _brought(data: Data) -> list[str]:
    """Notes on data from files or workers that the method needed in memory."""
    return [
        f"all rows of {view.name} were read into memory, where this method needs them at once"
        for view in data.views
        if isinstance(view, StoredSamples) and view.tally.whole
    ]


def _parameters(problem: BoundObjective, run: Run) -> dict[str, Any]:
    """Of the model; with a penalty also the stationarity measure |V|/t in the objective's units."""
    own = problem.parameters(run.M)
    if problem.penalty is None:
        return own
    return {**own, "stationarity": run.gradient_norm * problem.unit}


def _single(blocks: tuple[Any, ...]) -> Any:
    """The only block of a tuple of one, else the tuple."""
    return blocks[0] if len(blocks) == 1 else blocks
