"""`ldr.solve`: computes the optimal projection from an objective and data."""

from __future__ import annotations

import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Unpack

import numpy as np

from ldr.errors import in_words
from ldr.inputs import (
    Covariance,
    as_generator,
    as_objective,
    as_seconds,
    as_solver,
    as_stopping,
    check_observers,
    check_r,
    is_asked,
    opened,
)
from ldr.multistart import Multistart, Starts, best_of, closed_form_run, solver_for
from ldr.objectives.data.data import Data, single
from ldr.objectives.data.opening import without_header
from ldr.objectives.data.stored import StoredSamples
from ldr.objectives.objective import Objective, of_features
from ldr.objectives.parameters import Need
from ldr.objectives.problem import (
    NEARLY_COLLINEAR,
    PROVED_GLOBAL,
    BoundObjective,
    Certificate,
    Fitted,
    Placed,
    certificate_of,
    has_orthonormal_maps,
    near,
)
from ldr.objectives.statistics.scatters import KnownScatter
from ldr.objectives.view import span_of
from ldr.result import Result
from ldr.solvers import errors
from ldr.solvers.checks import flag, whole
from ldr.solvers.checks import workers as check_workers
from ldr.solvers.deadline import Interrupted, check, hearing, unlimited, until_told, within
from ldr.solvers.errors import TimeLimitError, warn
from ldr.solvers.manifolds import Array
from ldr.solvers.solver import Observer, Run, Solver, Stopping
from ldr.solvers.status import Status
from ldr.tables import Directions
from ldr.types import Dimension, PerRow, Rows, Start

if TYPE_CHECKING:
    from ldr.method_parameters import MethodParameters
    from ldr.solvers.saddles import Curvature


# A message on units appears if the ratio of two columns' standard deviations exceeds this value.
_FAR_APART = 1e3
# Messages that optimality is undecided, by the status of a run that ended early.
ENDED = {
    Status.TIME_LIMIT: "the time limit was reached before optimality was decided",
    Status.INTERRUPTED: "interrupted from the keyboard before optimality was decided",
}
UNPROVED = (
    "optimality is not proved: an iterative eigensolver can miss an eigenvector, and a proof "
    "needs the dense matrix, which costs more than the solution; certify='thorough' computes it "
    "for dense rows"
)

# Message if a limit or Ctrl-C ended the solve before M was checked.
_UNSEEN = "checks of M that evaluate the objective were skipped, because the solve ended early"


def certify_run(
    problem: BoundObjective,
    run: Run,
    solver: Solver | None,
    stopping: Stopping | None = None,
    observers: Sequence[Observer] = (),
    *,
    proof: Certificate | None = None,
    thorough: bool = False,
) -> tuple[Run, Certificate, tuple[str, ...]]:
    """Return the run, continued beyond saddles, the certificate, and messages.

    The method's own proof of optimality is tried first. Without a proof the smallest curvature
    detects a saddle. After a time limit or Ctrl-C the certificate contains only earlier proofs.
    """
    certificate = None
    notes: tuple[str, ...] = ()
    known: Callable[[Array], Certificate | None] = partial(certificate_of, problem)
    if thorough and hasattr(problem, "thorough_certificate") and problem.searched is None:
        known = problem.thorough_certificate
    with until_told() as told:
        certificate = proof or known(run.M)
        if certificate is not None and (certificate.is_optimal or solver is None):
            if run.status is Status.STALLED and certificate.kind == "global":
                # At a proved optimum where no step decreases f, the gradient is a rounding error.
                run = replace(run, status=Status.ROUNDING)
            return run, certificate, ()
        if certificate is not None and certificate.kind == "none" and problem.searched is None:
            return run, certificate, ()  # the certificate states why optimality is not proved
        if not run.status.converged or solver is None:
            ended = UNPROVED if run.status.converged else "the solver did not converge"
            message = ENDED.get(run.status, ended)
            return run, certificate or Certificate("none", math.inf, message), ()
        from ldr.solvers.saddles import leave_saddles

        run, curvature, escapes = leave_saddles(problem, run, solver, stopping, observers)
        if escapes:
            notes = (f"the solver left {escapes} saddle point(s) along a direction of descent",)
            certificate = None
            certificate = known(run.M)
        if not run.status.converged:  # the run left a saddle, but did not converge
            message = ENDED.get(run.status, "the solver did not converge")
            return run, certificate or Certificate("none", math.inf, message), notes
        if curvature is not None:
            if certificate is None or (curvature.descends and not certificate.is_optimal):
                gap = math.inf if certificate is None else certificate.gap
                certificate = _by_curvature(problem, run, curvature, gap)
            return run, certificate, notes
    message = ENDED[told.status or Status.TIME_LIMIT]
    return run, certificate or Certificate("none", math.inf, message), notes


def _by_curvature(
    problem: BoundObjective, run: Run, curvature: Curvature, gap: float
) -> Certificate:
    """A certificate "local" or "saddle"; with a penalty, among matrices with the zeros of M.

    A minimum among those matrices is a local one if no zero is about to change (strict
    complementarity).
    """
    kind = "saddle" if curvature.descends else "local"
    message = f"the Hessian has {'a' if curvature.descends else 'no'} direction of descent"
    if problem.penalty is not None:
        message = f"with the zeros of M fixed, {message}"
        if kind == "local":
            from ldr.solvers.proximal_gradient import slack_at

            slack = slack_at(problem, run.M)
            message = f"{message}, and strict complementarity holds (slack {slack:.1e})"
            if slack <= 1e-6:
                kind = "none"
                message = f"stationary, but strict complementarity fails (slack {slack:.1e})"
    certificate = Certificate(kind, gap, message, curvature.smallest)
    if (span := span_of(problem.views)) is not None:
        certificate = certificate.restricted_to(span)
    if problem.hidden(run.M) > PROVED_GLOBAL * abs(run.value):
        certificate = replace(certificate, kind="none", message=NEARLY_COLLINEAR)
    return certificate


@in_words
def solve(
    objective: str | Objective,
    X: Rows,
    r: Dimension,
    *,
    y: PerRow = None,
    sample_weight: PerRow = None,
    groups: PerRow = None,
    standardise: bool = False,
    header: bool = True,
    solver: str | Solver = "auto",
    start: Start = "baseline",
    starts: int | None = None,
    workers: int = 1,
    tolerance: float = 1e-10,
    max_iterations: int | None = None,
    time_limit: float | None = None,
    observers: Sequence[Observer] = (),
    certify: bool | str = True,
    random_state: int | np.random.Generator | None = None,
    device: str = "cpu",
    **parameters: Unpack[MethodParameters],
) -> Result[Array]:
    """Find the r-dimensional linear projection of X that optimises an objective.

    Parameters
    ----------
    objective : str or Objective
        A name in the registry (`ldr.objectives.list()` prints all names), an objective with
        parameters (``ldr.objectives.OrthogonalMAF(lag=2)``), a kernel version (`ldr.kernel`), or
        an objective of your own (`ldr.objective`).
    X : array, memory map, sparse matrix, DataFrame or DataArray (n, d); or data larger than memory
        Samples in rows. Sparse data stay sparse. No input is changed. Rows of pandas objects (X,
        second view, y) are matched by index: the order may differ, the set of labels may not.

        X is read in chunks if it is the path of a .npy, .parquet, .csv or .tsv file, a folder of
        .parquet files, a list of arrays and paths (which are stacked), an iterator of blocks of
        rows, or a function that returns an iterator (see the guide to data larger than memory). NaN
        is a missing value, which ppca and fa accept. Objectives of two views (orthogonal-cca, pls,
        reduced-rank-regression) take a pair with the same rows. Methods with a background (opca,
        signal-noise, contrastive-pca) take a pair (samples, background) with the same columns. The
        method mds-distances takes an n x n matrix of distances. The function `ldr.covariance` makes
        X from a covariance or correlation matrix.
    r : int, float or "auto"
        Number of components, 1 <= r <= d (or the number of features of a kernel version). For ppca
        and fa, r = 0 is the model of independent columns. A number between 0 and 1 is a share of
        the variance, and selects the fewest components that explain it. Such shares are accepted
        for closed forms with orthonormal M (pca, mds, ...). For tica and vamp the share refers to
        the sum of all squared autocorrelations. "auto" selects r by parallel analysis of the
        covariance, or of the correlation if `standardise` (pca, mds, log-det-pca), or by the least
        BIC (ppca, fa). A message names the rule that selected r.
    y : array (n,), optional
        Labels, for methods such as lda, or a response, for methods such as sdr and regressions. y
        may also be the path of an .npy file or, if X is the path of a table, the name of a column.
        The pair ``("label", str)`` reads the column "label" as text, not as numbers.
    sample_weight : array (n,), optional
        Sample weights, numbers >= 0. An integer weight w stands for w equal rows; samples with
        weight 0 are left out. Methods without weights refuse them. The weights may also be the name
        of a column or the path of an .npy file.
    groups : array (n,), optional
        The trial of each row, for methods with time order: successive rows of different trials are
        not paired. The rows of a trial must be contiguous. Data from `ldr.trials` (of an array
        (trials, channels, times)) need no groups. Methods without time order ignore groups. The
        groups may also be the name of a column or the path of an .npy file.
    standardise : bool
        Divide the columns by their standard deviations, in a further pass over the data; constant
        columns are unchanged. A background is divided by the standard deviations of the samples. M,
        value and `start` then refer to the standardised columns, and so do parameters in units of
        X, such as a width. P, mean, model and `transform` refer to the original columns.
    header : bool
        True if the first line of a .csv or .tsv file names the columns; else they are "0", "1", ...
    solver : str or Solver
        Name of a solver, or a solver with options. "auto" selects the solver by the problem:

        - "closed-form" for methods whose optimum has a closed form;
        - "self-consistent-field" for trace ratios;
        - "variable-projection" for fa; "imputation" for fa and ppca if X has missing values;
        - "coordinate-descent" for the lasso, "smoothing" for all other l1 penalties;
        - "lbfgs" for wda and for sums over pairs of rows (mds-stress, nca);
        - "gradients-first" for your own functions that jax compiles slowly;
        - "trust-region" for all other problems.

        Further solvers are "proximal-gradient", "conjugate-gradient", "steepest-descent", "em" for
        ppca and fa, "pymanopt:trust-region", "pymanopt:conjugate-gradient",
        "pymanopt:steepest-descent", and "svrg" (stochastic) for your own functions with
        ``sum_over_rows=True`` and for uica and robust-pca if X is a file.
    start : str or array (d, r); for two views a pair of arrays
        Initial point of an iterative solver: an array; "baseline", the objective's baseline;
        "random"; or the name of an initial point of the method (for sdr "gradient outer product").
    starts : int, optional
        Number of initial points, for objectives with local optima. The first is `start`. The next
        are the method's own initial points, unless `start` is "random", and all others are random.
        By default the baseline and the method's own points are used, until a run is proved optimal;
        if another `start` is given, only it is used. The best result is returned. `Result.starts`
        contains the value of each run and the name of the best initial point.
    workers : int
        Number of threads; each runs the solver from another start. -1 means one for every core.
    tolerance : float
        Stop at |gradient| <= tolerance * |value at the start|, whatever the scale of the data.
    max_iterations : int, optional
        Limit of iterations from each start, preparatory runs included; by default the solver's own.
    time_limit : float, optional
        Seconds for the whole call: reading, statistics, baseline, all starts, certificate. The call
        exceeds the limit by at most one pass over the data (lmnn of a file: two), one
        decomposition, or a part of a sum over all pairs of samples. A certificate that cannot be
        completed in time is "none".
    observers : sequence of callables
        Functions called with every `ldr.solvers.Iteration`; one that returns True ends the run.
    certify : bool or "thorough"
        True to compute the certificate of optimality, which can cost as much as the solution. If
        the point is a saddle, the solver continues along a direction of descent, and a message
        states this. "thorough" also decomposes the whole matrix of dense rows after an iterative
        eigensolver, to prove that no eigenvector was missed. This can take many times as long.
    random_state : int or Generator, optional
        Seed of the random starts.
    device : {"cpu", "gpu"}
        Device for sums over dense rows (means, scatters, products with d x r matrices) and for your
        own objectives in jax: "gpu" is the first GPU that jax finds. If jax finds no GPU, a
        DeviceWarning is issued and the CPU is used.
    **parameters
        Parameters of an objective given by name: ``ldr.solve("orthogonal-maf", X, 3, lag=2)``.

    Returns
    -------
    Result
        After a time limit, Ctrl-C or a run without convergence, the result has the best point so
        far, its status, and a message on the completed starts; a ConvergenceWarning is issued.

    Raises
    ------
    ldr.errors.ArgumentError
        A name is unknown, an argument has the wrong type, or r is out of range.
    ldr.errors.DataError
        The data contain NaN or have a wrong shape, or labels do not match the samples.
    ldr.errors.SingularError
        A matrix that must be inverted is singular, or a ratio or a likelihood is unbounded.
    ldr.errors.ObjectiveError
        An objective of your own returns no finite scalar.
    ldr.errors.TooLargeError
        An array that the method needs does not fit into memory (a MemoryError).
    ldr.errors.TimeLimitError
        The time limit passed before there was a point to return, for example during reading.
    KeyboardInterrupt
        Ctrl-C was pressed before there was a point to return, or a second time within half a
        minute. After one Ctrl-C a solve returns its best point; the second ends a loop of solves.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> import ldr
    >>> result = ldr.solve("orthogonal-lda", X / X.std(axis=0), r=2, y=y)
    >>> result.certificate.kind
    'global'
    >>> result.improvement > 0
    True
    """
    objective = as_objective(objective, dict(parameters))
    stopping = as_stopping(tolerance, max_iterations)
    if starts is not None:
        whole("starts", starts, 1)
    workers = check_workers(workers)
    method = solver if isinstance(solver, Solver) else as_solver(solver)
    check_observers(observers)
    flag("standardise", standardise)
    X = X if flag("header", header) else without_header(X)
    if not isinstance(certify, bool | np.bool_) and certify != "thorough":
        raise errors.ArgumentError(f"certify must be True, False or 'thorough', got {certify!r}")
    if random_state is not None:
        random_state = as_generator(random_state)

    if isinstance(X, Covariance):
        X, y, sample_weight = X.given(objective, y, sample_weight, groups)
    with within(as_seconds(time_limit)) as deadline, _compilations() as compiled:
        if math.isfinite(deadline.seconds):  # import scikit-learn, which takes a second, in advance
            _ = errors.ConvergenceWarning
        deadline.task = "the data were opened"
        data = opened(objective, X, y, sample_weight, groups)
        units = None
        if standardise:
            from ldr.scaling import Units

            units = Units.of(objective, data)
            data = units.divided(data)
        if device != "cpu":
            data = data.on(device)

        began = time.perf_counter()
        deadline.task = "the statistics of the data were computed"
        notes: tuple[str, ...] = ()
        if is_asked("r", r):
            from ldr.dimension_rule import by_rule

            r, notes = by_rule(r, objective, data, solve)
        else:
            r = check_r(r, objective, data)
        if r == 0:
            result = _without_factors(objective, data, began)
            return units.undone(result) if units else result
        problem = objective.bind(data, r)
        for observer in observers:
            if hasattr(observer, "reported"):  # observers report values in the objective's units
                observer.reported = problem.reported

        deadline.task = "the baseline was computed"
        baseline = problem.baseline()
        chosen = solver_for(method, problem)
        closed = closed_form_run(problem) if chosen is None else None
        check()
        heuristic = None
        if baseline is not None:
            if closed is not None and closed.M is baseline:
                heuristic = closed.value
            else:
                heuristic = near(problem, baseline).value(baseline)
        points = Multistart(problem, data, baseline, chosen, start, starts, random_state, stopping)

        deadline.task = "the solution was computed"
        reached = proof = certificate = None
        compared: Fitted = {}
        remarks = [_UNSEEN]
        with hearing() as interrupt:
            if closed is not None or chosen is None:
                assert closed is not None
                run = closed
            else:
                try:
                    runs, count, proof = points.search(observers, workers)
                except (TimeLimitError, Interrupted) as ended:
                    if baseline is None or heuristic is None:
                        raise
                    limited = isinstance(ended, TimeLimitError)
                    status = Status.TIME_LIMIT if limited else Status.INTERRUPTED
                    run = Run.of_point(baseline.copy(), heuristic, math.nan, status)
                else:
                    reached = Starts.of(problem, runs)
                    (problem, run), further = best_of(runs, count)
                    notes += further
            seconds = time.perf_counter() - began
            if certify:
                thorough = certify == "thorough"
                run, certificate, further = certify_run(
                    problem, run, chosen, stopping, observers, proof=proof, thorough=thorough
                )
                notes += further
            with until_told():
                remarks = problem.remarks(run.M)
                if certify and hasattr(problem, "comparisons"):
                    compared = problem.comparisons(run.M)
            with unlimited():
                ends = [run.M]
                if baseline is not None and baseline is not run.M:
                    ends.append(baseline)
                placed = Placed.both(problem, ends)
                notes += placed[0].axes.ties()
                if compiled:
                    run = replace(run, evaluations={**run.evaluations, **compiled})
                usual = None if heuristic is None else (heuristic, placed[-1])
                result = as_result(
                    problem, data, run, placed[0], usual, chosen, certificate, r, seconds, remarks
                )
                result = units.undone(result) if units else result
    if interrupt.is_set():  # Ctrl-C may arrive after the search for the optimum
        run = replace(run, status=Status.INTERRUPTED)
        result = replace(result, run=replace(result.run, status=Status.INTERRUPTED))
    notes += () if units else units_matter(problem, data, run.status.converged)
    if not run.status.converged:
        said = " ".join((run.status.advice, *notes))
        warn(f"{objective.name}: {said}", errors.ConvergenceWarning)
    if all(view.n_known for view in data.views):
        d = max(map(len, placed[0].matrices))
        notes += tuple(of_features(objective).cautions(result.run.value, data, d, r))
    names = data.view_names
    return replace(
        result,
        notes=(*result.notes, *notes),
        parameters={**result.parameters, **compared},
        directions=replace(result.directions, views=names) if names else result.directions,
        view_names=names,
        starts=reached,
    )


def _without_factors(objective: Objective, data: Data, began: float) -> Result:
    """Return the result of a factor model for r = 0."""
    from ldr.objectives.factor_analysis import without_factors

    model = without_factors(data, tied=objective.name == "ppca")
    M, P = model.loadings, model.P
    run = Run.of_point(M, -model.log_likelihood, 0.0, Status.CLOSED_FORM)
    noise = model.noise
    return Result(
        M=M,
        P=P,
        mean=model.mean,
        run=run,
        baseline=None,
        baseline_M=None,
        improvement=None,
        certificate=Certificate(
            "global", 1e-12 * max(abs(run.value), model.n), "independent columns, in closed form"
        ),
        solver="closed-form",
        objective=objective,
        r=0,
        seconds=time.perf_counter() - began,
        parameters={"noise_variances": noise}
        if objective.name == "fa"
        else {"noise_variance": float(noise[0])},
        directions=Directions({}, (model.variation(P),)),
        model=model,
        feature_names=data.samples.feature_names,
    )


def _compilations() -> AbstractContextManager[Counter[str]]:
    """Count the functions that jax compiles, if a user's jax function has been loaded."""
    backends = sys.modules.get("ldr.objectives.custom.backends")
    return nullcontext(Counter()) if backends is None else backends.compilations()


def as_result(
    problem: BoundObjective,
    data: Data,
    run: Run,
    placed: Placed,
    usual: tuple[float, Placed] | None,
    solver: Solver | None,
    certificate: Certificate | None,
    r: int,
    seconds: float,
    remarks: Sequence[str],
) -> Result:
    """Make the result of a run.

    - placed: the final point of the run, in canonical coordinates
    - usual: the baseline's value, and its point
    """
    objective = problem.objective
    M, maps, unit = placed.M, placed.maps, problem.reported(1.0)
    baseline = baseline_M = baseline_P = improvement = None
    if usual is not None:
        value, at = usual
        baseline = unit * value
        baseline_M = single([N.copy() for N in at.matrices])
        baseline_P = single([P.copy() for P in at.maps])
        # Equation 28 of Cunningham and Ghahramani: (f(M_baseline) - f(M)) / |f(M_baseline)|.
        improvement = value - run.value
        if improvement != 0 and objective.traits.relative_improvement:
            size = abs(value)
            improvement = improvement / size if size else math.copysign(math.inf, improvement)
    means = problem.mean_at(M)
    notes = [*(note for view in problem.views for note in view.notes), *remarks]
    evaluations = dict(run.evaluations)
    for view in data.views:
        if isinstance(view, StoredSamples):  # passes over a file are counted as evaluations
            passes = max(math.ceil(view.passes), evaluations.get("passes", 0))
            evaluations["passes"] = passes
            if view.tally.whole:
                notes.append(
                    f"all rows of {view.name} were read into memory, because this method needs "
                    "them at once"
                )
    directions = Directions(
        problem.numbers(M, placed.axes, placed.seen),
        tuple(placed.seen),
        has_orthonormal_maps(problem),
        free=placed.axes.free,
    )
    parameters = dict(problem.parameters(M))
    if problem.penalty is not None:
        parameters["stationarity"] = run.gradient_norm * problem.unit
    return Result(
        M=single(placed.matrices),
        P=single(maps),
        mean=single(means),
        run=replace(run, M=M, evaluations=evaluations).scaled(unit),
        baseline=baseline,
        baseline_M=baseline_M,
        baseline_P=baseline_P,
        improvement=improvement,
        certificate=certificate,
        solver="closed-form" if solver is None else solver.name,
        objective=objective,
        r=r,
        seconds=seconds,
        notes=tuple(notes),
        parameters=parameters,
        directions=directions,
        model=problem.model(M),
        predictors=problem.predictors(M, maps, means),
        feature_names=single([view.feature_names for view in data.views]),
        features=single([view.features for view in problem.views]),
    )


def units_matter(problem: BoundObjective, data: Data, converged: bool) -> tuple[str, ...]:
    """Return a message if columns differ much in scale and the objective depends on units.

    If the solver did not converge, its steps depend on units too: then the message is for every
    objective. Files are not read again for the message about units.
    """
    objective = problem.objective
    what = objective.name
    if objective.traits.scale_free and not getattr(objective, "ridge", 0.0) > 0:
        if converged:
            return ()
        what = "convergence"
    notes = []
    for view, bound in zip(data.views, problem.views, strict=False):
        if view.stored or not view.n_known or Need.DISTANCES in objective.needs:
            continue
        if isinstance(bound.scatter, KnownScatter) and bound.features is None:
            sd = bound.scatter.deviations
        else:
            from ldr.scaling import deviations_of_some

            sd = deviations_of_some(view)
        least, most = float(sd.min(where=sd > 0, initial=np.inf)), float(sd.max())
        if most > _FAR_APART * least:
            notes.append(
                f"the columns of {view.name} differ in scale, with standard deviations from "
                f"{least:.2g} to {most:.2g}, and {what} depends on their units: "
                "standardise=True gives them equal scales"
            )
    return tuple(notes)
