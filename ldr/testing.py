"""Tests of users' manifolds, solvers and objectives; the library passes the same tests.

Each function takes one object and runs every test of its kind. The lists of tests are for pytest::

    @pytest.mark.parametrize("test", ldr.testing.MANIFOLD, ids=lambda test: test.__name__)
    def test_sphere(test):
        test(Sphere(5))

A failing test raises an AssertionError that names the violated property. Solvers are tested on
problems with known minima, one for each kind of manifold.
"""

from __future__ import annotations

import copy
import math
import pickle
import signal
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from ldr.errors import in_words
from ldr.inference.many import chunks, solvable, solve_many
from ldr.inputs import as_data, as_generator, as_objective, check_r
from ldr.objectives.custom.function import CustomObjective
from ldr.objectives.custom.verify import INVARIANCE_TOLERANCE, invariance_error, random_orthogonal
from ldr.objectives.data.array_types import Cells
from ldr.objectives.data.data import Data, UnknownError, as_tuple, single
from ldr.objectives.data.sample_metadata import Marks
from ldr.objectives.objective import Objective
from ldr.objectives.parameters import Need
from ldr.objectives.problem import BoundObjective, turned_point
from ldr.result import Result
from ldr.scaling import Units
from ldr.sensitivity.derivative import carried
from ldr.solvers import errors
from ldr.solvers.checks import Pickled
from ldr.solvers.errors import TimeLimitError
from ldr.solvers.linalg.rounding import DIFFERENCE_STEP, VALUE_ROUNDING
from ldr.solvers.manifolds import (
    Array,
    Euclidean,
    Grassmann,
    Manifold,
    Orthonormal,
    Product,
    Stiefel,
)
from ldr.solvers.problem import Point, Problem, RiemannianProblem
from ldr.solvers.solver import Iteration, Solver, Stopping, minimise
from ldr.solvers.status import Status
from ldr.solvers.trust_region import TrustRegion
from ldr.solving import solve
from ldr.types import Argument, PerRow, Rows

__all__ = ["MANIFOLD", "OBJECTIVE", "SOLVER", "check_manifold", "check_objective", "check_solver"]

# A Taylor test passes if the order of the error differs from 2 or 3 by at most this tolerance.
SLOPE_TOLERANCE = 0.1

_STEPS = np.logspace(-7, -0.5, 40)  # step lengths of Taylor tests, relative to |M|


@dataclass(frozen=True, repr=False)
class Check(Pickled):
    """Report of `ldr.check`.

    Attributes
    ----------
    objective : Objective
    shape : str
        Shape of M.
    gradient_slope : float
        Order of the error of the first-order Taylor formula in the step length: 2 for a right
        gradient, 1 for a wrong one. It is inf if all errors are at the level of rounding errors.
    hessian_slope : float or None
        Order of the error of the second-order Taylor formula in the step length: 3 for a right
        Hessian, 2 for a wrong one. It is inf if all errors are at the level of rounding errors, and
        None if the objective has no Hessian.
    symmetry_error : float or None
        |<U, HV> - <V, HU>| / sqrt(|U| |HV| |V| |HU|) for the Hessian H and random tangent U and V.
    tangent_error : float
        Relative norm of the Riemannian gradient's component normal to the manifold.
    invariance_error : float
        |f(MQ) - f(M)| relative to changes of f near M, for a random orthogonal Q. If there are
        several views, the same Q rotates the matrices of all views.
    declared_manifold, implied_manifold : str
        The manifold that the objective declares, and the manifold that the test found: "grassmann"
        if f(MQ) = f(M), otherwise "stiefel". The test treats each view separately. If M has one
        column, Q is 1 or -1: only an odd f implies "stiefel".
    """

    objective: Objective
    shape: str
    gradient_slope: float
    hessian_slope: float | None
    symmetry_error: float | None
    tangent_error: float
    invariance_error: float
    declared_manifold: str
    implied_manifold: str

    @property
    def passed(self) -> bool:
        """True if every line passed."""
        return all(passed for _, passed, _ in self._lines())

    def _lines(self) -> list[tuple[str, bool, str]]:
        """Yield each test's name, whether the test passed, and the measured number."""
        lines = [("gradient", *_slope_line(self.gradient_slope, 2))]
        if self.hessian_slope is None or self.symmetry_error is None:
            lines.append(("Hessian", True, "not given: solvers use differences of gradients"))
        else:
            lines.append(("Hessian", *_slope_line(self.hessian_slope, 3)))
            lines.append(("symmetry", *_error_line(self.symmetry_error, 1e-8)))
        lines.append(("tangency", *_error_line(self.tangent_error, 1e-10)))
        declared, implied = self.declared_manifold.split(" x "), self.implied_manifold.split(" x ")
        allowed = all(a == b or a != "grassmann" for a, b in zip(declared, implied, strict=True))
        sign = "=" if self.invariance_error <= INVARIANCE_TOLERANCE else "!="
        text = (
            f"f(MQ) {sign} f(M), relative difference {self.invariance_error:.1e}; "
            f"implied {self.implied_manifold}, declared {self.declared_manifold}"
        )
        lines.append(("invariance", allowed, text))
        return lines

    def __repr__(self) -> str:
        head = f"{self.objective!r}, M {self.shape}: {'passed' if self.passed else 'FAILED'}"
        body = [
            f"  {what:<11} {'pass' if passed else 'FAIL'}  {text}"
            for what, passed, text in self._lines()
        ]
        return "\n".join([head, *body])


def _slope_line(slope: float, expected: int) -> tuple[bool, str]:
    if math.isinf(slope):
        return True, "Taylor error at the level of rounding for every step (exact)"
    passed = abs(slope - expected) <= SLOPE_TOLERANCE
    return passed, f"Taylor slope {slope:.3f} (expected {expected} +- {SLOPE_TOLERANCE})"


def _error_line(error: float, tolerance: float) -> tuple[bool, str]:
    return error <= tolerance, f"relative error {error:.1e} (expected at most {tolerance:g})"


# NumPy's warnings are redundant here, because a check fails at values that are not finite.
@np.errstate(over="ignore", invalid="ignore", divide="ignore")
@in_words
def check(
    objective: str | Objective,
    X: Rows,
    r: int = 2,
    *,
    y: PerRow = None,
    sample_weight: PerRow = None,
    groups: PerRow = None,
    standardise: bool = False,
    random_state: int | np.random.Generator | None = 0,
    **parameters: object,
) -> Check:
    """Test an objective's gradient, Hessian and declared manifold on data, at a random point.

    If the objective has a non-smooth penalty, the derivatives of its smooth part are tested.

    A retraction R gives a curve R(tV) from M in a random direction V. The first-order Taylor
    formula at M is f(M) + t <g, V> with the gradient g; its error must be of the order t^2. The
    second-order Taylor formula adds t^2/2 <V, HV> with the Hessian H; its error must be of the
    order t^3. Each order is a median over three random directions V. The Hessian must be symmetric,
    and on the Grassmann manifold f(MQ) = f(M) for every orthogonal Q.

    Parameters
    ----------
    objective : str or Objective
        As in `ldr.solve`, for example an objective of your own (`ldr.objective`).
    X, r, y, sample_weight, groups, standardise, **parameters
        As in `ldr.solve`. Only r >= 2 distinguishes the Grassmann from the Stiefel manifold. If X
        is in a file or on a cluster, objectives with ``sum_over_rows=True`` use the first rows.
    random_state : int or Generator
        Seed of the point and of the directions.

    Returns
    -------
    Check
        The repr of the check lists the passed and failed checks.

    Raises
    ------
    ldr.errors.ArgumentError, ldr.errors.DataError, ldr.errors.SingularError
        Raised as by `ldr.solve`.
    ldr.errors.ObjectiveError
        An objective of your own has no finite scalar value. A wrong gradient, Hessian or manifold
        raises no error but fails the check.

    Examples
    --------
    >>> import numpy as np, ldr
    >>> X = np.random.default_rng(0).standard_normal((100, 5))
    >>> ldr.check("pca", X, r=2).passed
    True
    """
    objective = as_objective(objective, parameters)
    data = as_data(objective, X, y, sample_weight, groups)
    if standardise:
        data = Units.of(objective, data).divided(data)
    check_r(r, objective, data)
    rng = as_generator(random_state)
    # For custom functions `bind` would raise an error for faults that this check must report.
    attach = objective.attach if isinstance(objective, CustomObjective) else objective.bind
    problem = attach(data, int(r))
    M = problem.random_point(rng)
    slopes = [taylor_slopes(problem, M, rng) for _ in range(3)]
    has_hessian = problem.has_hessian
    invariance, implied = _invariance(problem, M, rng)
    return Check(
        objective=objective,
        shape=" and ".join(" x ".join(map(str, block.shape)) for block in problem.blocks(M)),
        gradient_slope=float(np.median([first for first, _ in slopes])),
        hessian_slope=float(np.median([second for _, second in slopes])) if has_hessian else None,
        symmetry_error=symmetry_error(problem, M, rng) if has_hessian else None,
        tangent_error=_tangent_error(problem, M),
        invariance_error=invariance,
        declared_manifold=_manifold_name(problem.manifold),
        implied_manifold=implied,
    )


def taylor_slopes(problem: Problem, M: Array, rng: np.random.Generator) -> tuple[float, float]:
    """Return the orders of the first two Taylor errors along a random retraction curve.

    The second order is 3 for a right Hessian if the retraction is second-order (polar always; qr on
    the Grassmann manifold, but not on the Stiefel manifold). The order is inf if the error is at
    the level of rounding errors for every step length.
    """
    counted = RiemannianProblem(problem)
    manifold, point = counted.manifold, counted.at(M)
    if manifold.dimension == 0:  # on a manifold of one point f varies by rounding errors only
        return math.inf, math.inf
    V = _direction(manifold, M, rng)

    def value(t: float) -> float:
        return problem.at(manifold.retract(M, t * V)).value

    with np.errstate(all="ignore"):
        noise = _noise(value, point.value)
        values = np.array([value(t) for t in _STEPS])
        slope = manifold.inner(M, point.gradient, V)
        curvature = manifold.inner(M, V, point.hessian(V))
        first = values - point.value - _STEPS * slope
        second = first - 0.5 * _STEPS**2 * curvature
    return _order(first, noise), _order(second, noise)


def _direction(manifold: Manifold, M: Array, rng: np.random.Generator) -> Array:
    """A random tangent vector with the norm of M in each factor: steps are relative to M."""
    return manifold.join(
        [
            (float(np.linalg.norm(m)) or 1.0) * factor.random_tangent(m, rng)
            if factor.dimension > 0
            else np.zeros(factor.shape)
            for factor, m in zip(manifold.factors, manifold.split(M), strict=True)
        ]
    )


def _noise(value: Callable[[float], float], size: float) -> float:
    """Rounding error of f, from its residuals about a parabola over steps of at most 3e-7."""
    u = np.linspace(-1, 1, 13)
    values = np.array([value(3e-7 * t) for t in u])
    scatter = values - size
    scatter = scatter - np.polyval(np.polyfit(u, scatter, 2), u)
    return max(float(np.abs(scatter).max()), np.finfo(float).eps * abs(size))


def _order(errors: Array, noise: float) -> float:
    """Slope of log|error| against log t, where t is small but the error well above rounding.

    Among windows of a decade with a constant slope, the one with the smallest steps is used: there
    a wrong derivative is most visible. Otherwise the window with the most nearly constant slope.
    """
    errors = np.abs(errors)
    if not np.isfinite(errors[: len(errors) // 2]).all():
        return math.nan
    usable = np.flatnonzero(np.isfinite(errors) & (errors > 100.0 * noise) & (errors > 0))
    if len(usable) < 4:
        return math.inf
    length = min(7, len(usable))  # 7 successive step lengths span one decade
    x, y = np.log10(_STEPS[usable]), np.log10(errors[usable])
    found = []
    for i in range(len(usable) - length + 1):
        window = slice(i, i + length)
        line, squares, *_ = np.polyfit(x[window], y[window], 1, full=True)
        found.append((math.sqrt(squares[0] / length), float(line[0])))
    return next((slope for scatter, slope in found if scatter <= 0.02), min(found)[1])


def symmetry_error(problem: Problem, M: Array, rng: np.random.Generator) -> float:
    """Compute |<U, HV> - <V, HU>| / sqrt(|U| |HV| |V| |HU|), H the Hessian, U and V random."""
    counted = RiemannianProblem(problem)
    manifold, point = counted.manifold, counted.at(M)
    U, V = (_direction(manifold, M, rng) for _ in range(2))
    HU, HV = point.hessian(U), point.hessian(V)
    size = math.sqrt(math.prod(manifold.norm(M, Z) for Z in (U, HV, V, HU)))
    difference = abs(manifold.inner(M, U, HV) - manifold.inner(M, V, HU))
    return difference / size if size > 0 else 0.0


def _tangent_error(problem: Problem, M: Array) -> float:
    point = RiemannianProblem(problem).at(M)
    normal = point.gradient - problem.manifold.project(M, point.gradient)
    size = float(np.linalg.norm(point.euclidean_gradient))
    return float(np.linalg.norm(normal)) / size if size > 0 else 0.0


def _invariance(problem: BoundObjective, M: Array, rng: np.random.Generator) -> tuple[float, str]:
    """The error of f(MQ) = f(M) if all views are rotated together, and the implied manifold."""
    factors, r, point = problem.manifold.factors, problem.blocks(M)[0].shape[1], problem.at(M)
    views = range(min(len(problem.blocks(M)), len(factors)))
    Q = random_orthogonal(r, rng)

    def error(rotated: Sequence[int]) -> float:
        turns = [Q if i in rotated else np.eye(r) for i in views]
        return invariance_error(problem, point, problem.at(turned_point(problem, M, turns)))

    names = [_manifold_name(factor) for factor in factors]
    for i in views:
        if isinstance(factors[i], Orthonormal) and error([i]) > INVARIANCE_TOLERANCE:
            names[i] = "stiefel"
        elif isinstance(factors[i], Orthonormal) and r > 1:
            names[i] = "grassmann"
    return error(views), " x ".join(names)


def _manifold_name(manifold: Manifold) -> str:
    return " x ".join(type(factor).__name__.lower() for factor in manifold.factors)


@dataclass(frozen=True)
class Case:
    """An objective, the data for its test, and the number of dimensions."""

    objective: Objective
    X: Rows
    r: int
    y: PerRow = None

    def reversed(self) -> Case:
        X = single(tuple(view[::-1] for view in as_tuple(self.X)))
        return Case(self.objective, X, self.r, None if self.y is None else self.y[::-1])

    def bound(self) -> BoundObjective:
        return self.objective.bind(as_data(self.objective, self.X, self.y), self.r)

    def solved(self, **options: Argument) -> Result:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", errors.ConvergenceWarning)
            return solve(self.objective, self.X, self.r, y=self.y, **options)


def derivatives_and_manifold_are_right(case: Case) -> None:
    found = check(case.objective, case.X, case.r, y=case.y)
    assert found.passed, found


def binding_and_pickling_give_the_same(case: Case) -> None:
    first, again = case.bound(), pickle.loads(pickle.dumps(case.objective))
    assert repr(again) == repr(case.objective)
    M = first.random_point(np.random.default_rng(0))
    for other in (case.bound(), Case(again, case.X, case.r, case.y).bound()):
        assert_array_equal(M, other.random_point(np.random.default_rng(0)))
        assert first.at(M).value == other.at(M).value
        assert_array_equal(first.at(M).gradient, other.at(M).gradient)


def data_are_not_changed(case: Case) -> None:
    before = copy.deepcopy((case.X, case.y))
    case.solved(max_iterations=3)
    for given, kept in zip((case.X, case.y), before, strict=True):
        for part, copied in zip(as_tuple(given), as_tuple(kept), strict=True):
            assert_array_equal(np.asarray(part), np.asarray(copied))


def starts_are_on_the_manifold(case: Case) -> None:
    problem = case.bound()
    points = {"baseline": problem.baseline(), **problem.starts()}
    for name, M in points.items():
        assert M is None or problem.manifold.distance_from(M) < 1e-12, name


def preconditioner_is_symmetric_and_positive(case: Case) -> None:
    problem, rng = case.bound(), np.random.default_rng(0)
    manifold, M = problem.manifold, problem.random_point(rng)
    if (apply := problem.preconditioner(M)) is None:
        return
    N = manifold.retract(M, 0.1 * manifold.random_tangent(M, rng))
    U, V = (manifold.random_tangent(N, rng) for _ in range(2))
    PU, PV = apply(N, U), apply(N, V)
    size = manifold.norm(N, PU)
    assert manifold.norm(N, manifold.project(N, PU) - PU) <= 1e-12 * size
    asymmetry = abs(manifold.inner(N, PU, V) - manifold.inner(N, U, PV))
    assert asymmetry <= 1e-8 * size * manifold.norm(N, V)
    assert manifold.inner(N, U, PU) > 0 or not U.any()


def matrices_lead_back_to_their_point(case: Case) -> None:
    problem = case.bound()
    M = problem.random_point(np.random.default_rng(0))
    if len(problem.blocks(M)) > 1:
        return
    lowered = problem.lower(problem.lift(M))
    if lowered.shape == M.shape:  # M is the only variable of the problem
        assert_allclose(problem.at(lowered).value, problem.at(M).value, rtol=1e-8)


def optimum_is_not_worse_than_the_heuristic_and_its_certificate_holds(case: Case) -> None:
    result, problem, rng = case.solved(), case.bound(), np.random.default_rng(0)
    assert result.improvement is None or result.improvement >= -1e-12, result
    assert result.certificate is not None
    for _ in range(20):
        value = problem.reported(problem.value(problem.random_point(rng)))
        assert case.objective.sign * (value - result.value) >= -result.certificate.gap, result


def map_is_what_transform_applies(case: Case) -> None:
    result = case.solved(certify=False)
    if result.features is not None or result.model is not None:
        return
    rows = case.X[0] if isinstance(case.X, tuple) and not isinstance(result.P, tuple) else case.X
    parts = zip(*map(as_tuple, (rows, result.mean, result.P, result.transform(rows))), strict=True)
    for X, mean, P, Y in parts:
        expected = (np.asarray(X) - mean) @ P.T
        assert_allclose(Y, expected, atol=1e-9 * max(1.0, float(np.abs(expected).max())))


def stacks_have_the_optima_of_solve(case: Case) -> None:
    """Check that `solve_many` agrees with `matrices`, also for rows in reverse order."""
    objective = case.objective
    assert not objective.traits.stacks or type(objective).matrices is not Objective.matrices, (
        "stacks=True requires a method `matrices`, which declares the matrices of the stacks"
    )
    views = as_tuple(case.X)
    if Need.DISTANCES in objective.needs or not all(isinstance(X, np.ndarray) for X in views):
        return
    X = single(tuple(np.stack([view, view[::-1]]) for view in views))
    y = None if case.y is None else np.stack([case.y, np.asarray(case.y)[::-1]])
    (chunk,) = chunks(objective, X, y)
    stacked = copy.copy(objective)
    # The copy declares support for stacks of data sets, so that every `matrices` is tested.
    object.__setattr__(stacked, "traits", replace(objective.traits, stacks=True))
    try:
        values = solvable(stacked, chunk, case.r)[1].solve(case.r).values
    except Exception as error:
        if objective.traits.stacks and not isinstance(error, UnknownError):
            raise
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.ConvergenceWarning)
        many = solve_many(objective, X, case.r, y=y)
    for k, one in enumerate((case, case.reversed())):
        result = one.solved(certify=False)
        assert_allclose(values[k], result.value, rtol=1e-7, err_msg="of `matrices`")
        assert_allclose(many.values[k], result.value, rtol=1e-7, err_msg="of `solve_many`")
        found = zip(*map(as_tuple, (many.P, many.mean, result.P, result.mean)), strict=True)
        for P, mean, of_one, its_mean in found:
            left = P[k] - P[k] @ np.linalg.pinv(of_one) @ of_one
            assert np.linalg.norm(left) <= 1e-5 * np.linalg.norm(P[k]), "P of `solve_many`"
            size = np.abs(its_mean).max() + np.abs(views[0]).max()
            assert_allclose(mean[k], its_mean, atol=1e-10 * size, err_msg="mean of `solve_many`")


def predictions_are_of_their_kind(case: Case) -> None:
    kind, views = case.objective.traits.predicts, as_tuple(case.X)
    if not kind:
        return
    result = case.solved(certify=False)
    assert result.predictors, f"predicts = {kind!r}, but the result has no predictor"
    predicted = result.predict(views[0])
    wanted = np.asarray(views[1] if kind == "view" else case.y)
    if kind == "classes":
        assert np.isin(predicted, wanted).all(), "predictions are not labels of y"
    assert predicted.shape == wanted.shape, f"predictions of {kind} have a wrong shape"


def weights_count_equal_rows(case: Case) -> None:
    """Compare weights 1, 2 and 3 with repeated rows (trials in time order), at a random M."""
    objective, data = case.objective, as_data(case.objective, case.X, case.y)
    traits, timed = objective.traits, Need.TIME_ORDER in objective.needs
    if not traits.weighted or not traits.repeats or traits.by_place:
        return
    n = data.samples.n
    ids = np.arange(n) * 2 // n if timed else np.arange(n)
    parts = [np.flatnonzero(ids == i) for i in range(ids[-1] + 1) for _ in range(1 + i % 3)]
    trials = np.repeat(np.arange(len(parts)), list(map(len, parts)))

    def bound(data: Data, weights: Array | None, trials: Cells) -> BoundObjective:
        marks = Marks(weights, trials if timed else None)
        views = tuple(replace(view, marks=marks) for view in data.views)
        return objective.bind(replace(data, views=views), case.r)

    try:
        weighted = bound(data, np.float64(1) + ids % 3, ids)
        repeated = bound(data.take(np.concatenate(parts)), None, trials)
    except (errors.ArgumentError, errors.DataError):  # refused, like weights of landmarks
        return
    M = weighted.random_point(np.random.default_rng(0))
    N = repeated.manifold.nearest(carried(weighted, repeated, M))
    values = weighted.reported(weighted.value(M)), repeated.reported(repeated.value(N))
    assert_allclose(*values, rtol=1e-9, err_msg="values with weights and with repeated rows")


OBJECTIVE = (
    derivatives_and_manifold_are_right,
    binding_and_pickling_give_the_same,
    data_are_not_changed,
    starts_are_on_the_manifold,
    preconditioner_is_symmetric_and_positive,
    matrices_lead_back_to_their_point,
    optimum_is_not_worse_than_the_heuristic_and_its_certificate_holds,
    map_is_what_transform_applies,
    stacks_have_the_optima_of_solve,
    predictions_are_of_their_kind,
    weights_count_equal_rows,
)


def check_objective(objective: Objective, X: Rows, r: int = 2, *, y: PerRow = None) -> None:
    """Test a user's objective, function or class, on a small data set.

    Parameters
    ----------
    objective : Objective
        An instance of a subclass, or a result of `ldr.objective`.
    X, r, y
        As in `ldr.solve`. The rows of X must be in memory.

    Raises
    ------
    AssertionError
        A property does not hold; the traceback names the property.
    ldr.errors.ArgumentError, ldr.errors.DataError, ldr.errors.ObjectiveError
        As `ldr.solve` does.

    Examples
    --------
    >>> import numpy as np, ldr.testing
    >>> X = np.random.default_rng(0).standard_normal((50, 4))
    >>> ldr.testing.check_objective(ldr.objectives.PCA(), X)
    """
    for test in OBJECTIVE:
        test(Case(objective, X, r, y))


# Tolerance of second-order finite differences.
_DIFFERENCED = 1e-8


def _tangent(manifold: Manifold) -> tuple[np.random.Generator, Array, Array]:
    """Return a generator, and a random point and unit tangent vector."""
    rng = np.random.default_rng(1)
    M = manifold.random_point(rng)
    return rng, M, manifold.random_tangent(M, rng)


def random_points_are_on_the_manifold(manifold: Manifold) -> None:
    _, M, _ = _tangent(manifold)
    assert M.shape == manifold.shape and M.dtype == np.float64
    assert manifold.distance_from(M) < VALUE_ROUNDING


def projection_is_idempotent_self_adjoint_and_takes_stacks(manifold: Manifold) -> None:
    rng, M, _ = _tangent(manifold)
    Z, W = stack = rng.standard_normal((2, *manifold.shape))
    PZ, PW = manifold.project(M, Z), manifold.project(M, W)
    assert_allclose(manifold.project(M, PZ), PZ, atol=VALUE_ROUNDING)
    assert_allclose(manifold.inner(M, PZ, W), manifold.inner(M, Z, PW), atol=10 * VALUE_ROUNDING)
    assert_allclose(manifold.project(M, stack), np.stack([PZ, PW]), atol=VALUE_ROUNDING)


def dimension_is_the_rank_of_the_projection(manifold: Manifold) -> None:
    _, M, _ = _tangent(manifold)
    columns = [manifold.project(M, e.reshape(M.shape)).ravel() for e in np.eye(M.size)]
    assert np.linalg.matrix_rank(np.array(columns), tol=1e-10) == manifold.dimension


def nearest_point_is_on_the_manifold_and_leaves_points_alone(manifold: Manifold) -> None:
    rng, M, _ = _tangent(manifold)
    assert_allclose(manifold.nearest(M), M, atol=VALUE_ROUNDING)
    N = manifold.nearest(M + 0.1 * rng.standard_normal(M.shape))
    assert manifold.distance_from(N) < VALUE_ROUNDING


def retraction_stays_on_the_manifold_after_many_large_steps(manifold: Manifold) -> None:
    rng, M, _ = _tangent(manifold)
    for _ in range(100):
        M = manifold.retract(M, 3.0 * manifold.random_tangent(M, rng))
        assert manifold.distance_from(M) < VALUE_ROUNDING


def curve_leaves_along_its_vector_and_its_velocity_is_the_derivative(manifold: Manifold) -> None:
    _, M, V = _tangent(manifold)
    assert_array_equal(manifold.retract(M, V), manifold.curve(M, V)[0])
    for expected, found in zip((M, V), manifold.curve(M, V, 0.0), strict=True):
        assert_allclose(found, expected, atol=VALUE_ROUNDING)
    t = 0.7
    N, velocity = manifold.curve(M, V, t)
    ends = [manifold.curve(M, V, t + h)[0] for h in (DIFFERENCE_STEP, -DIFFERENCE_STEP)]
    difference = (ends[0] - ends[1]) / (2 * DIFFERENCE_STEP)
    # On a quotient manifold the projection removes the vertical part of the derivative.
    assert_allclose(velocity, manifold.project(N, difference), atol=_DIFFERENCED)
    assert_allclose(manifold.project(N, velocity), velocity, atol=VALUE_ROUNDING)


def transport_gives_tangent_vectors(manifold: Manifold) -> None:
    _, M, V = _tangent(manifold)
    N = manifold.retract(M, V)
    carried = manifold.transport(M, N, V)
    assert_allclose(manifold.project(N, carried), carried, atol=VALUE_ROUNDING)
    assert_allclose(manifold.transport(M, M, V), V, atol=VALUE_ROUNDING)


def hessian_is_the_derivative_of_the_gradient(manifold: Manifold) -> None:
    """Check the Hessian of tr(M'AM)/2 against differences of the gradient, and its symmetry."""
    rng, M, V = _tangent(manifold)
    A = [rng.standard_normal((len(part), len(part))) for part in manifold.split(M)]

    def times(N: Array) -> Array:
        parts = zip(A, manifold.split(N), strict=True)
        return manifold.join([(B + B.T) @ part / 2.0 for B, part in parts])

    ends = [manifold.curve(M, V, h)[0] for h in (DIFFERENCE_STEP, -DIFFERENCE_STEP)]
    ends = [manifold.gradient(N, times(N)) for N in ends]
    S = manifold.multiplier(M, times(M))

    def hessian(U: Array) -> Array:
        return manifold.hessian(M, S, U, times(U))

    difference = manifold.project(M, (ends[0] - ends[1]) / (2 * DIFFERENCE_STEP))
    assert_allclose(hessian(V), difference, atol=10 * _DIFFERENCED)
    U = manifold.random_tangent(M, rng)
    assert_allclose(manifold.inner(M, U, hessian(V)), manifold.inner(M, hessian(U), V), atol=1e-12)


MANIFOLD = (
    random_points_are_on_the_manifold,
    projection_is_idempotent_self_adjoint_and_takes_stacks,
    dimension_is_the_rank_of_the_projection,
    nearest_point_is_on_the_manifold_and_leaves_points_alone,
    retraction_stays_on_the_manifold_after_many_large_steps,
    curve_leaves_along_its_vector_and_its_velocity_is_the_derivative,
    transport_gives_tangent_vectors,
    hessian_is_the_derivative_of_the_gradient,
)


def check_manifold(manifold: Manifold) -> None:
    """Test a user's manifold against the requirements of solvers.

    Parameters
    ----------
    manifold : Manifold
        A manifold of small matrices: a test computes the rank of the projection onto the tangent
        space from the projections of all matrices with one entry 1 and zeros elsewhere.

    Raises
    ------
    AssertionError
        A property does not hold; the traceback names the property.

    Examples
    --------
    >>> import ldr.testing
    >>> from ldr.solvers import Stiefel
    >>> ldr.testing.check_manifold(Stiefel(5, 2))
    """
    for test in MANIFOLD:
        test(manifold)


class FunctionPoint(Point):
    """A point of given functions of M; the calls of each function are counted."""

    def __init__(self, problem: FunctionProblem, M: Array) -> None:
        self.M, self.problem = M, problem

    def _called(self, name: str, f: Callable[..., Any] | None, *given: Array) -> Any:
        assert f is not None
        self.problem.calls[name] += 1
        return f(self.M, *given)

    @property
    def value(self) -> float:
        return float(self._called("value", self.problem.f))

    @property
    def gradient(self) -> Array:
        return np.asarray(self._called("gradient", self.problem.g))

    def hessian_vector(self, V: Array) -> Array:
        return np.asarray(self._called("hessian", self.problem.h, V))


@dataclass(eq=False)
class FunctionProblem(Problem):
    """Minimisation of f, with gradient g and, optionally, Hessian product h."""

    manifold: Manifold
    f: Callable[[Array], float]
    g: Callable[[Array], Array]
    h: Callable[[Array, Array], Array] | None = None
    minimum: float | None = None

    def __post_init__(self) -> None:
        self.has_hessian = self.h is not None
        self.calls = dict.fromkeys(("value", "gradient", "hessian"), 0)

    def at(self, M: Array) -> FunctionPoint:
        return FunctionPoint(self, M)


def symmetric(d: int, seed: int = 0, decades: float = 1.0) -> tuple[Array, Array]:
    """Return a random symmetric matrix and its eigenvalues, from 1 to 10^decades."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
    eigenvalues = np.logspace(0, decades, d)
    return (Q * eigenvalues) @ Q.T, eigenvalues


def weighted_trace(
    manifold: Manifold,
    A: Array,
    N: Array | float,
    minimum: float,
    hessian: bool = True,
    offset: float = 0.0,
    scale: float = 1.0,
) -> FunctionProblem:
    """Build scale (offset + tr(M'AM diag(N))); the minimum is known for scale 1 and offset 0."""

    def times(V: Array) -> Array:
        return 2 * scale * (A @ V) * N

    return FunctionProblem(
        manifold,
        lambda M: scale * (offset + float(np.vdot(M * N, A @ M))),
        times,
        (lambda _, V: times(V)) if hessian else None,
        scale * (offset + minimum),
    )


def rayleigh(
    d: int = 20, r: int = 3, retraction: str = "polar", **options: Argument
) -> FunctionProblem:
    """Build -tr(M'AM) on Grassmann; its minimum is minus the sum of the r largest eigenvalues."""
    A, eigenvalues = symmetric(d)
    least = -float(eigenvalues[-r:].sum())
    return weighted_trace(Grassmann(d, r, retraction), A, -1.0, least, **options)


def brockett(d: int = 12, r: int = 3, retraction: str = "polar") -> FunctionProblem:
    """Build tr(M'AMN) on Stiefel, N = diag(1..r); N is paired with A's least eigenvalues."""
    A, eigenvalues = symmetric(d, seed=1)
    N = np.arange(1.0, r + 1)
    least = float(np.sort(eigenvalues)[:r] @ N[::-1])
    return weighted_trace(Stiefel(d, r, retraction), A, N, least)


def singular_values(da: int = 8, db: int = 6, r: int = 2) -> FunctionProblem:
    """Build -tr(Ma'CMb) on Stiefel x Stiefel; its minimum is minus C's top singular values."""
    C = np.random.default_rng(2).standard_normal((da, db))
    manifold = Product(Stiefel(da, r), Stiefel(db, r))

    def g(M: Array) -> Array:
        Ma, Mb = manifold.split(M)
        return manifold.join([-C @ Mb, -C.T @ Ma])

    minimum = -np.linalg.svd(C, compute_uv=False)[:r].sum()
    return FunctionProblem(
        manifold, lambda M: float(np.vdot(M, g(M))) / 2.0, g, lambda M, V: g(V), minimum
    )


def rosenbrock() -> FunctionProblem:
    """Build sum 100 (b - a^2)^2 + (1 - a)^2 over rows (a, b); its minimum is 0 at ones."""

    def f(M: Array) -> float:
        a, b = M.T
        return float(np.sum(100 * (b - a**2) ** 2 + (1 - a) ** 2)) + 1.0

    def g(M: Array) -> Array:
        a, b = M.T
        return np.stack([-400 * a * (b - a**2) - 2 * (1 - a), 200 * (b - a**2)], axis=1)

    def h(M: Array, V: Array) -> Array:
        (a, b), (u, v) = M.T, V.T
        return np.stack([(1200 * a**2 - 400 * b + 2) * u - 400 * a * v, 200 * v - 400 * a * u], 1)

    return FunctionProblem(Euclidean(3, 2), f, g, h, 1.0)


PROBLEMS: dict[str, Callable[[], FunctionProblem]] = {
    "rayleigh": rayleigh,
    "rayleigh by qr": lambda: rayleigh(retraction="qr"),
    "rayleigh, scaled by 1e-50": lambda: rayleigh(scale=1e-50),
    "rayleigh, scaled by 1e50": lambda: rayleigh(scale=1e50),
    "brockett": brockett,
    "brockett by qr": lambda: brockett(retraction="qr"),
    "singular values": singular_values,
    "rosenbrock": rosenbrock,
}


def _start(problem: Problem) -> Array:
    return problem.manifold.random_point(np.random.default_rng(0))


def minima_are_reached_to_the_promised_gradient(solver: Solver) -> None:
    for name, problem_of in PROBLEMS.items():
        problem = problem_of()
        start = _start(problem)
        before = start.copy()
        run = minimise(problem, start, solver, Stopping(tolerance=1e-9))
        assert run.status.converged, (name, run.status)
        assert problem.minimum is not None
        # The tolerance 1e-11 covers the rounding errors of f.
        assert_allclose(run.value, problem.minimum, rtol=1e-11, err_msg=name)
        first = run.history["gradient_norm"][0]
        assert run.gradient_norm <= 1e-8 * max(first, abs(run.history["value"][0])), name
        assert problem.manifold.distance_from(run.M) < 1e-14, name
        assert_array_equal(start, before, err_msg=name)


def counts_and_history_are_true(solver: Solver) -> None:
    for name, problem_of in PROBLEMS.items():
        problem = problem_of()
        run = minimise(problem, _start(problem), solver, Stopping(max_iterations=5))
        assert run.evaluations == problem.calls, name
        assert run.iterations == 5 and run.status is Status.MAX_ITERATIONS, name
        assert {len(entries) for entries in run.history.values()} == {6}, name
        assert min(run.history["value"]) == run.value, name


def tolerance_beyond_rounding_ends_by_itself(solver: Solver) -> None:
    problem = rayleigh(offset=1e6)
    run = minimise(problem, _start(problem), solver, Stopping(tolerance=1e-30))
    assert run.status is Status.ROUNDING, run.status
    assert run.gradient_norm < 1e-9


def a_solution_takes_no_step_and_zero_iterations_return_the_start(solver: Solver) -> None:
    problem = rayleigh()
    start = _start(problem)
    M = minimise(problem, start, TrustRegion(), Stopping(1e-14)).M
    run = minimise(problem, M, solver, Stopping(tolerance=1e-9))
    assert run.iterations == 0 and run.status is Status.CONVERGED
    run = minimise(problem, start, solver, Stopping(max_iterations=0))
    assert_array_equal(run.M, start)
    assert not run.status.converged


def observers_see_every_iteration_and_can_stop(solver: Solver) -> None:
    seen: list[int] = []

    def observe(iteration: Iteration) -> bool:
        seen.append(iteration.number)
        return iteration.number == 3

    problem = rayleigh()
    run = minimise(problem, _start(problem), solver, Stopping(), [observe])
    assert seen == [0, 1, 2, 3] and run.status is Status.OBSERVER


def an_interrupt_returns_the_best_point(solver: Solver) -> None:
    def interrupt(iteration: Iteration) -> None:
        if iteration.number == 4:
            signal.raise_signal(signal.SIGINT)

    problem = rayleigh()
    run = minimise(problem, _start(problem), solver, Stopping(), [interrupt])
    assert run.status is Status.INTERRUPTED
    assert run.value == min(run.history["value"]) < run.history["value"][0]


def a_time_limit_that_is_past_leaves_no_step(solver: Solver) -> None:
    problem = rayleigh()
    run = None
    with suppress(TimeLimitError):
        run = minimise(problem, _start(problem), solver, Stopping(time_limit=1e-9))
    assert run is None or (run.status is Status.TIME_LIMIT and run.iterations == 0)


def a_wrong_gradient_is_no_convergence(solver: Solver) -> None:
    right = rayleigh()
    problem = FunctionProblem(right.manifold, right.f, lambda M: -right.g(M), right.h)
    run = minimise(problem, _start(problem), solver, Stopping(max_iterations=200))
    assert not run.status.converged


SOLVER = (
    minima_are_reached_to_the_promised_gradient,
    counts_and_history_are_true,
    tolerance_beyond_rounding_ends_by_itself,
    a_solution_takes_no_step_and_zero_iterations_return_the_start,
    observers_see_every_iteration_and_can_stop,
    an_interrupt_returns_the_best_point,
    a_time_limit_that_is_past_leaves_no_step,
    a_wrong_gradient_is_no_convergence,
)


def check_solver(solver: Solver) -> None:
    """Test a user's solver for smooth functions on any manifold.

    Parameters
    ----------
    solver : Solver

    Raises
    ------
    AssertionError
        A property does not hold; the traceback names the property.

    Examples
    --------
    >>> import ldr.testing
    >>> from ldr.solvers import TrustRegion
    >>> ldr.testing.check_solver(TrustRegion())
    """
    for test in SOLVER:
        test(solver)
