"""The Riemannian trust region with truncated conjugate gradients."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ldr.solvers.manifolds import Array
from ldr.solvers.problem import Preconditioner
from ldr.solvers.riemannian import RiemannianPoint, RiemannianProblem
from ldr.solvers.solver import Solver, State

_EPS = float(np.finfo(float).eps)
_ROUNDING = 1e4 * _EPS  # a relative change of f below this is judged by slopes
_INNER_MARGIN = 0.1  # how far below the run's threshold an inner iteration may aim
_FIRST_RADIUS = 4.0  # in Cauchy steps


@dataclass(frozen=True)
class TrustState(State):
    """`radius` of the region (None: to be chosen) in the metric of the `preconditioner`."""

    radius: float | None
    preconditioner: Preconditioner | None = None


@dataclass(frozen=True)
class Model:
    """What the inner iteration found: the step V, H[V], its length, and what it cost."""

    V: Array
    HV: Array
    length: float
    radius: float
    at_boundary: bool
    products: int


@dataclass(frozen=True)
class TrustRegion(Solver):
    """Minimise the second-order model within a radius, step if the function agrees.

    The model m(V) = f + <g, V> + <V, H[V]>/2 is minimised by Steihaug's truncated conjugate
    gradients, to |residual| <= |g| min(kappa, (|g|/scale)^theta): with theta = 1 the local rate is
    quadratic. That rate needs a second-order retraction: polar on Stiefel, polar or QR on
    Grassmann. Where f changes by rounding only, the decrease is measured by slopes. Once an inner
    iteration has been long, the problem is asked for a preconditioner, whose metric then shapes the
    region too.

    Source: P.-A. Absil, C. G. Baker and K. A. Gallivan, Trust-region methods on Riemannian
    manifolds, Found. Comput. Math. 7 (2007).

    Parameters
    ----------
    radius : float, optional
        The first radius; by default four Cauchy steps of the first model, at most an eighth of the
        manifold's diameter.
    theta, kappa : float
        Superlinear and linear target of the inner iteration.
    acceptance : float
        Least ratio of actual to predicted decrease for a step to be taken.
    long : float
        Hessian products after which an inner iteration counts as long; infinite for no
        preconditioner.
    """

    name = "trust-region"
    default_max_iterations = 1000
    patience = 10

    radius: float | None = None
    theta: float = 1.0
    kappa: float = 0.1
    acceptance: float = 0.1
    long: float = 20

    def initialise(self, problem: RiemannianProblem, M: Array) -> TrustState:
        return TrustState(problem.at(M), self.radius)

    def step(self, problem: RiemannianProblem, state: State) -> TrustState:
        assert isinstance(state, TrustState)
        manifold, point = problem.manifold, state.point
        model = self._truncated_cg(problem, state)
        V, radius = model.V, model.radius
        predicted = -manifold.inner(point.M, point.gradient + 0.5 * model.HV, V)
        N, velocity = manifold.curve(point.M, V)
        new = problem.at(N)
        ratio = _decrease(problem, point, new, V, velocity) / predicted if predicted > 0 else 0.0

        if not ratio >= 0.25:  # also where it is NaN
            radius = 0.25 * min(radius, model.length)
        elif ratio > 0.75 and model.at_boundary:
            radius = min(2 * radius, manifold.diameter) if not state.preconditioner else 2 * radius
        accepted = new if ratio > self.acceptance else point
        if model.products > self.long and accepted is new:
            fresh = problem.problem.preconditioner(new.M)
            if fresh is not None:
                return TrustState(new, None, fresh)
        return TrustState(accepted, radius, state.preconditioner)

    def _truncated_cg(self, problem: RiemannianProblem, state: TrustState) -> Model:
        """Minimise the model within the radius, in the metric of the preconditioner's inverse."""
        inner, point = problem.manifold.inner, state.point
        M, radius = point.M, state.radius
        V = np.zeros_like(M)
        HV = np.zeros_like(M)
        residual = point.gradient
        z = _apply(state.preconditioner, M, residual)
        rz = inner(M, residual, z)
        direction = -z
        # <V, V>, <V, direction> and <direction, direction> in the metric
        VV, VD, DD = 0.0, 0.0, rz
        target = self._target(problem, point)
        products = 0
        for products in range(1, max(problem.manifold.dimension, 1) + 1):
            HD = point.hessian(direction)
            curvature = inner(M, direction, HD)
            alpha = rz / curvature if curvature > 0 else math.inf
            if radius is None:
                radius = self._first_radius(problem, state, alpha, rz)
            VV_next = VV + 2 * alpha * VD + alpha * alpha * DD
            if curvature <= 0 or VV_next >= radius * radius:
                tau = (-VD + math.sqrt(VD * VD + DD * (radius * radius - VV))) / DD if DD else 0.0
                return Model(V + tau * direction, HV + tau * HD, radius, radius, True, products)
            V = V + alpha * direction
            HV = HV + alpha * HD
            residual = residual + alpha * HD
            VV = VV_next
            if math.sqrt(inner(M, residual, residual)) <= target:
                break
            z = _apply(state.preconditioner, M, residual)
            rz, previous = inner(M, residual, z), rz
            beta = rz / previous
            direction = beta * direction - z
            VD, DD = beta * (VD + alpha * DD), rz + beta * beta * DD
        assert radius is not None
        return Model(V, HV, math.sqrt(VV), radius, False, products)

    def _target(self, problem: RiemannianProblem, point: RiemannianPoint) -> float:
        """The residual at which the model counts as minimised."""
        norm = point.gradient_norm
        scale = max(norm, abs(point.value))
        target = norm * min(self.kappa, (norm / scale) ** self.theta) if scale > 0 else 0.0
        return max(target, _INNER_MARGIN * problem.threshold)

    def _first_radius(
        self, problem: RiemannianProblem, state: TrustState, alpha: float, rz: float
    ) -> float:
        """Some Cauchy steps of the first model; alpha is infinite for negative curvature."""
        largest = math.inf if state.preconditioner else problem.manifold.diameter / 8
        if math.isfinite(alpha):
            return min(largest, _FIRST_RADIUS * alpha * math.sqrt(rz))
        if math.isfinite(largest):
            return largest
        if state.preconditioner:
            return _FIRST_RADIUS * math.sqrt(rz)
        return max(1.0, float(np.linalg.norm(state.point.M)))


def _apply(preconditioner: Preconditioner | None, M: Array, U: Array) -> Array:
    return U if preconditioner is None else preconditioner(M, U)


def _decrease(
    problem: RiemannianProblem,
    point: RiemannianPoint,
    new: RiemannianPoint,
    V: Array,
    velocity: Array,
) -> float:
    """f(point) - f(new), by the slopes at both ends where the values agree to rounding.

    The trapezoidal rule is as accurate as the model that the decrease is held against.
    """
    decrease = point.value - new.value
    if not abs(decrease) <= _ROUNDING * max(abs(point.value), abs(new.value)):
        return decrease
    inner = problem.manifold.inner
    slopes = inner(point.M, point.gradient, V) + inner(new.M, new.gradient, velocity)
    return -0.5 * slopes
