"""`ldr.check`: tests of an objective's derivatives and of its declared manifold."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ldr.inputs import as_data, as_generator, as_objective, check_r
from ldr.objectives.custom.function import CustomObjective
from ldr.objectives.custom.verify import INVARIANCE_TOLERANCE, invariance_error, random_orthogonal
from ldr.objectives.objective import Objective
from ldr.objectives.problem import BoundObjective
from ldr.scaling import Units
from ldr.solvers.checks import Pickled
from ldr.solvers.manifolds import Array, Manifold, Orthonormal
from ldr.solvers.problem import Problem, RiemannianProblem
from ldr.types import PerRow, Rows
from ldr.validation import in_words

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
        Order in t of the error f(R(tV)) - f(M) - t <g, V>: 2 for a right gradient g, 1 for a wrong
        one, inf if the error is at rounding level for every t.
    hessian_slope : float or None
        Order of the same error minus t^2/2 <V, Hess V>: 3 for a right Hessian, 2 for a wrong one,
        inf as above. None if the objective has no Hessian: solvers then difference gradients.
    symmetry_error : float or None
        |<U, HV> - <V, HU>| / sqrt(|U| |HV| |V| |HU|) for random tangent U and V.
    tangent_error : float
        Relative norm of the Riemannian gradient's component normal to the manifold.
    invariance_error : float
        |f(MQ) - f(M)| for a random orthogonal Q (the same for all views), relative to the variation
        of f near M.
    declared_manifold, implied_manifold : str
        The manifold that the objective declares, and the one that its invariance implies:
        "grassmann" if f(MQ) = f(M), otherwise "stiefel"; for products each factor separately. With
        one column the two are the same manifold up to sign, and only an odd f can distinguish them.
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

    R(tV) is the retraction curve from M in a random direction V. The Taylor errors
    |f(R(tV)) - f(M) - t <g, V>| and |f(R(tV)) - f(M) - t <g, V> - t^2/2 <V, Hess V>| must be of
    the orders t^2 and t^3 (median of three V). The Hessian must be symmetric; f(MQ) is tested too.

    Parameters
    ----------
    objective : str or Objective
        As in `ldr.solve`, for example an objective of your own (`ldr.objective`).
    X, r, y, sample_weight, groups, standardise, **parameters
        As in `ldr.solve`. r >= 2 is needed to tell the Grassmann from the Stiefel manifold. If X is
        in a file or on a cluster, objectives with ``sum_over_rows=True`` use the first rows.
    random_state : int or Generator
        Seed of the point and of the directions.

    Returns
    -------
    Check
        Its repr lists the passed and failed checks.

    Raises
    ------
    ldr.errors.ArgumentError, ldr.errors.DataError, ldr.errors.SingularError
        As `ldr.solve` does.
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
    # `bind` raises an error for a faulty custom function; `attach` lets the check report the fault.
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
    parts = zip(manifold.factors, manifold.split(M), strict=True)
    return manifold.join([_direction_of(factor, m, rng) for factor, m in parts])


def _direction_of(factor: Manifold, M: Array, rng: np.random.Generator) -> Array:
    if factor.dimension == 0:
        return np.zeros(factor.shape)
    return (float(np.linalg.norm(M)) or 1.0) * factor.random_tangent(M, rng)


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
        line = np.polyfit(x[window], y[window], 1)
        scatter = float(np.sqrt(np.mean((y[window] - np.polyval(line, x[window])) ** 2)))
        if scatter <= 0.02:
            return float(line[0])
        found.append((scatter, float(line[0])))
    return min(found)[1]


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
    factors = problem.manifold.factors
    views = min(len(problem.blocks(M)), len(factors))
    Q = random_orthogonal(problem.blocks(M)[0].shape[1], rng)
    point = problem.at(M)
    error = invariance_error(problem, point, problem.at(_rotated(problem, M, Q, range(views))))
    names = [_manifold_name(factor) for factor in factors]
    for i in range(views):
        if not isinstance(factors[i], Orthonormal):
            continue
        alone = invariance_error(
            problem, point, problem.at(_rotated(problem, M, Q, range(i, i + 1)))
        )
        if alone > INVARIANCE_TOLERANCE:
            names[i] = "stiefel"
        elif len(Q) > 1:
            names[i] = "grassmann"
    return error, " x ".join(names)


def _rotated(problem: BoundObjective, M: Array, Q: Array, which: range) -> Array:
    """M with some of its factors multiplied by Q."""
    manifold = problem.manifold
    parts = [m @ Q if i in which else m for i, m in enumerate(manifold.split(M))]
    return manifold.join(parts)


def _manifold_name(manifold: Manifold) -> str:
    return " x ".join(type(factor).__name__.lower() for factor in manifold.factors)
