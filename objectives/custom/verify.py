"""Tests of a user's objective at a random M, before the problem is solved."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ldr.objectives.custom.backends import Traced
from ldr.objectives.custom.problem import CustomPoint, CustomProblem
from ldr.objectives.problem import turned_point
from ldr.objectives.view import noted
from ldr.solvers.checks import LARGEST
from ldr.solvers.errors import ObjectiveError, ObjectiveWarning, warn
from ldr.solvers.linalg.eigen import length
from ldr.solvers.manifolds import Array, Euclidean, Grassmann, Manifold, Product, Stiefel
from ldr.solvers.problem import Point, Problem

# f depends on rotations Q of M if |f(MQ) - f(M)| / (|gradient| |M|) exceeds this value.
INVARIANCE_TOLERANCE = 1e-6

# f is no sum over the rows of X = (X1, X2) if |f(X) - f(X1) - f(X2)| / |f| exceeds this value.
_ADDITIVITY_TOLERANCE = 1e-8
_GRADIENT_TOLERANCE = 1e-4
# Tolerated relative error of Hessian products: finite differences are inaccurate near kinks.
_HESSIAN_TOLERANCE = 1e-2
# Steps h of forward and central differences; errors of the latter are h^2 + eps/h, near 1e-10.
_STEP, _CENTRAL_STEP = 1e-7, 1e-5


class Trial:
    """A problem at a random M, from a fixed seed, so that the tests are reproducible.

    f is evaluated at M, at MQ to test the invariance, and at a point near M.
    """

    def __init__(self, problem: CustomProblem) -> None:
        self.problem = problem
        self.name = problem.objective.name
        self.rng = np.random.default_rng(0)
        self.point = problem.at(problem.random_point(self.rng))
        self._turned: dict[int, CustomPoint] = {}

    def check_value(self) -> None:
        """Check that f returns a finite real number."""
        problem = self.problem
        blocks = problem.blocks(self.point.M)
        try:
            returned = self.point.returned
        except ObjectiveError:
            raise
        except Exception as error:
            shapes = ", ".join(str(np.shape(array)) for array in (*blocks, *problem.arguments))
            error.add_note(
                f"raised by objective {self.name!r}, called with arrays of shapes {shapes}"
            )
            raise
        wrong = _not_a_real_scalar(returned)
        if wrong:
            raise ObjectiveError(
                f"objective {self.name!r} returned {wrong}; expected one real number (a scalar)"
            )
        value = self.point.value
        if not abs(value) <= LARGEST:
            where = "standard normal" if isinstance(problem.manifold, Euclidean) else "orthonormal"
            of = " and ".join(str(block.shape) for block in blocks)
            raise ObjectiveError(
                f"objective {self.name!r} returned {problem.reported(value)} for a random {where} "
                f"M of shape {of}; expected a finite value between -{LARGEST:.0e} and {LARGEST:.0e}"
            )

    def turned(self, view: int) -> CustomPoint:
        """Return the point with the given view's matrix multiplied by a random orthogonal Q."""
        if view not in self._turned:
            r = self.problem.manifold.factors[view].shape[1]
            Q = random_orthogonal(r, np.random.default_rng(1))
            turns = [
                Q if i == view else np.eye(r) for i in range(len(self.problem.manifold.factors))
            ]
            self._turned[view] = self.problem.at(turned_point(self.problem, self.point.M, turns))
        return self._turned[view]

    def invariant(self, view: int) -> bool:
        """Return True if f(MQ) = f(M) up to rounding, for the matrix M of a view."""
        return invariance_error(self.problem, self.point, self.turned(view)) <= INVARIANCE_TOLERANCE

    def check_gradient(self) -> None:
        """Compare <gradient, V> with the difference of f along the manifold in direction V.

        V is the sum of the normalised gradient and a random direction. Along the gradient the
        relative truncation error is smallest, and a random direction detects any error.
        """
        problem, M, gradient = self.problem, self.point.M, self.point.gradient
        self._check_finite("gradient", gradient)
        if problem.term.derivatives.differentiates:
            return
        manifold = problem.manifold
        along = manifold.project(M, gradient)
        V = manifold.random_tangent(M, self.rng) + along / (manifold.norm(M, along) or 1.0)
        V = manifold.project(M, V)  # removes rounding errors normal to the tangent space
        V = V / (manifold.norm(M, V) or 1.0)
        slope = manifold.inner(M, gradient, V)
        here, ahead = self.point.value, problem.at(manifold.retract(M, _STEP * V)).value
        difference = (ahead - here) / _STEP
        rounding = 100 * np.finfo(float).eps * max(abs(ahead), abs(here)) / _STEP
        size = max(abs(slope), abs(difference))
        if abs(slope - difference) > _GRADIENT_TOLERANCE * size + rounding:
            raise ObjectiveError(
                f"the gradient of objective {self.name!r} disagrees with finite differences: along "
                f"a direction V at a random M, <gradient, V> is {problem.reported(slope):.6g} but "
                f"f changes by {problem.reported(difference):.6g} (relative error "
                f"{abs(slope - difference) / size:.1e}, expected at most {_GRADIENT_TOLERANCE:g}). "
                f"ldr.check({self.name}, X, r={M.shape[1]}) shows more"
            )

    def check_hessian(self) -> None:
        """Compare the Hessian product H[V] with the central difference of the gradient along V."""
        problem, M = self.problem, self.point.M
        if problem.term.derivatives.derives_hessian or not problem.has_hessian:
            return
        self._check_finite("Hessian product", self.point.hessian_vector(M))
        manifold = problem.manifold
        V = manifold.random_tangent(M, self.rng)
        product = self.point.hessian_vector(V)
        ahead, behind = (
            problem.at(manifold.retract(M, h * V)).gradient for h in (_CENTRAL_STEP, -_CENTRAL_STEP)
        )
        difference = (ahead - behind) / (2 * _CENTRAL_STEP)
        rounding = 100 * np.finfo(float).eps * float(np.linalg.norm(ahead)) / _CENTRAL_STEP
        size = max(float(np.linalg.norm(product)), float(np.linalg.norm(difference)))
        error = float(np.linalg.norm(product - difference))
        if error > _HESSIAN_TOLERANCE * size + rounding:
            raise ObjectiveError(
                f"the Hessian product of objective {self.name!r} disagrees with finite differences "
                f"of its gradient: the relative error is {error / size:.1e} at a random M, above "
                f"{_HESSIAN_TOLERANCE:g}. Correct or leave out hessian=; "
                f"ldr.check({self.name}, X, r={M.shape[1]}) shows details"
            )

    def _check_finite(self, what: str, Z: Array) -> None:
        if not np.isfinite(Z).all():
            raise ObjectiveError(
                f"the {what} of objective {self.name!r} has NaN or infinite entries at a random M, "
                "where the objective's value is finite"
            )

    def check_additive(self) -> None:
        """Test that f of all rows is f of the first rows plus f of the remaining rows."""
        problem = self.problem
        n = problem.arguments[0].shape[0]
        split = (slice(0, 1), slice(1, n))
        parts = [problem.of_rows(where).at(self.point.M).value for where in split]
        whole, total = self.point.value, sum(parts)
        if not abs(whole - total) <= _ADDITIVITY_TOLERANCE * sum(map(abs, (whole, *parts))):
            raise ObjectiveError(
                f"objective {self.name!r} is declared with sum_over_rows=True, but for the first "
                f"{n} rows f(M, X) = {problem.reported(whole):.12g}, and f(M, X1) + f(M, X2) = "
                f"{problem.reported(total):.12g} where X1 is one row and X2 the others: return a "
                "sum over rows (no mean, no division by len(X), no term of several rows)"
            )


def attached(problem: CustomProblem, declared: str) -> Trial:
    """Return the problem on its declared or detected manifold; only the value is tested."""
    trial = Trial(problem)
    trial.check_value()
    if declared != "auto":
        return trial
    several = len(problem.manifold.factors) > 1
    for i, factor in enumerate(problem.manifold.factors):
        sign, chosen = ("=", "grassmann") if trial.invariant(i) else ("!=", "stiefel")
        where = f" of view {i + 1}" if several else ""
        note = f"manifold='auto': f(MQ) {sign} f(M){where}, so {chosen!r} was chosen"
        trial.problem = _moved(trial.problem, i, manifold_named(chosen, *factor.shape), note)
    return trial


def verified(trial: Trial) -> CustomProblem:
    """Return the tested problem, on the Stiefel manifold if f depends on more than M's span."""
    trial.check_gradient()
    trial.check_hessian()
    problem = trial.problem
    for i, factor in enumerate(problem.manifold.factors):
        if not isinstance(factor, Grassmann) or trial.invariant(i):
            continue
        value = problem.reported(trial.point.value)
        rotated = problem.reported(trial.turned(i).value)
        which = f" of view {i + 1}" if len(problem.manifold.factors) > 1 else ""
        note = (
            f"declared on 'grassmann', but f(MQ) = {rotated:.12g} and f(M) = {value:.12g} for a "
            f"random M{which} and a random orthogonal Q: f depends on more than the span of M, so "
            "it is solved on 'stiefel'"
        )
        warn(f"objective {trial.name!r} has the wrong manifold: {note}", ObjectiveWarning)
        problem = _moved(problem, i, manifold_named("stiefel", *factor.shape), note)
    return problem


def _moved(problem: CustomProblem, view: int, factor: Manifold, note: str) -> CustomProblem:
    """Return the problem with the matrix of a view on another manifold."""
    factors = list(problem.manifold.factors)
    factors[view] = factor
    manifold = Product(*factors) if len(factors) > 1 else factor
    return replace(problem, manifold=manifold, views=noted(problem.views, note))


def manifold_named(name: str, d: int | Sequence[int], r: int) -> Manifold:
    """Return the named manifold, a product for several views; Stiefel for "auto"."""
    if not isinstance(d, int):
        factors = [manifold_named(name, width, r) for width in d]
        return Product(*factors) if len(factors) > 1 else factors[0]
    if name == "euclidean":
        return Euclidean(d, r)
    return Grassmann(d, r) if name == "grassmann" else Stiefel(d, r)


def random_orthogonal(r: int, rng: np.random.Generator) -> Array:
    """Draw an orthogonal r x r matrix of determinant -1, to include a reflection."""
    Q = Stiefel(r, r).random_point(rng)
    if np.linalg.det(Q) > 0:
        Q[:, 0] = -Q[:, 0]
    return Q


def invariance_error(problem: Problem, point: Point, other: Point) -> float:
    """Return the difference of two values, relative to |gradient| |M|, the scale of changes of f.

    The value's magnitude has the weight 1e-6, to allow rounding errors of a large constant in f.
    """
    change = other.value - point.value
    if problem.penalty is not None:
        change += problem.penalty.value(other.M) - problem.penalty.value(point.M)
    difference = abs(change)
    size = length(point.gradient) * length(point.M) + 1e-6 * abs(point.value)
    return difference / size if size > 0 else (0.0 if difference == 0 else math.inf)


def _not_a_real_scalar(returned: Traced) -> str:
    """Describe a function's result that is not a real number; empty for a real number."""
    if returned is None:
        return "None (is a `return` missing?)"
    if isinstance(returned, (tuple, list, dict, str)):
        return f"a {type(returned).__name__}"
    if not hasattr(returned, "dtype"):
        returned = np.asarray(returned)
    if returned.shape != ():
        return f"an array of shape {tuple(returned.shape)}"
    if returned.dtype.kind == "c":
        return f"a complex number ({returned.dtype})"
    if returned.dtype.kind != "f":
        return f"a value of type {returned.dtype}"
    return ""
