"""The Riemannian trust region with truncated conjugate gradients."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ldr.solvers.manifolds import Array
from ldr.solvers.riemannian import RiemannianPoint, RiemannianProblem
from ldr.solvers.solver import Solver, State

_EPS = float(np.finfo(float).eps)
_ROUNDING = 1e4 * _EPS  # a relative change of f below this is judged by slopes
_INNER_MARGIN = 0.1  # how far below the run's threshold an inner iteration may aim


@dataclass(frozen=True)
class TrustState(State):
    """`radius` of the region."""

    radius: float


@dataclass(frozen=True)
class TrustRegion(Solver):
    """Minimise the second-order model within a radius, step if the function agrees.

    The model m(V) = f + <g, V> + <V, H[V]>/2 is minimised by Steihaug's truncated conjugate
    gradients, to |residual| <= |g| min(kappa, (|g|/scale)^theta): with theta = 1 the local rate is
    quadratic. That rate needs a second-order retraction: polar on Stiefel, polar or QR on
    Grassmann. Where f changes by rounding only, the decrease is measured by slopes.

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
    """

    name = "trust-region"
    default_max_iterations = 1000
    patience = 10

    radius: float | None = None
    theta: float = 1.0
    kappa: float = 0.1
    acceptance: float = 0.1

    def initialise(self, problem: RiemannianProblem, M: Array) -> TrustState:
        point = problem.at(M)
        return TrustState(point, self.radius or self._first_radius(problem, point))

    def _first_radius(self, problem: RiemannianProblem, point: RiemannianPoint) -> float:
        largest = problem.manifold.diameter / 8
        g = point.gradient
        if point.gradient_norm == 0:
            return largest if math.isfinite(largest) else 1.0
        curvature = problem.manifold.inner(point.M, g, point.hessian(g))
        if curvature > 0:
            return min(largest, 4 * point.gradient_norm**3 / curvature)
        return min(largest, max(1.0, float(np.linalg.norm(point.M))))

    def step(self, problem: RiemannianProblem, state: State) -> TrustState:
        assert isinstance(state, TrustState)
        manifold, point, radius = problem.manifold, state.point, state.radius
        V, HV, at_boundary = self._truncated_cg(problem, point, radius)
        predicted = -manifold.inner(point.M, point.gradient + 0.5 * HV, V)
        N, velocity = manifold.curve(point.M, V)
        new = problem.at(N)
        decrease = _decrease(problem, point, new, V, velocity)
        ratio = decrease / predicted if predicted > 0 else 0.0

        if not ratio >= 0.25:  # also where it is NaN
            radius = 0.25 * min(radius, manifold.norm(point.M, V))
        elif ratio > 0.75 and at_boundary:
            radius = min(2 * radius, manifold.diameter)
        return TrustState(new if ratio > self.acceptance else point, radius)

    def _truncated_cg(
        self, problem: RiemannianProblem, point: RiemannianPoint, radius: float
    ) -> tuple[Array, Array, bool]:
        """Minimise the model within the radius; also H[V], and whether the boundary was met.

        Lengths are measured by the preconditioner, whose inverse is the metric of the region.
        """
        inner, M = problem.manifold.inner, point.M
        preconditioned = problem.problem.has_preconditioner
        V = np.zeros_like(M)
        HV = np.zeros_like(M)
        residual = point.gradient
        z = point.precondition(residual) if preconditioned else residual
        rz = inner(M, residual, z)
        direction = -z
        # <V, V>, <V, direction> and <direction, direction> in the preconditioner's metric
        VV, VD, DD = 0.0, 0.0, rz
        norm0 = point.gradient_norm
        scale = max(norm0, abs(point.value))
        target = norm0 * min(self.kappa, (norm0 / scale) ** self.theta)
        target = max(target, _INNER_MARGIN * problem.threshold)
        for _ in range(problem.manifold.dimension):
            HD = point.hessian(direction)
            curvature = inner(M, direction, HD)
            alpha = rz / curvature if curvature > 0 else math.inf
            VV_next = VV + 2 * alpha * VD + alpha * alpha * DD
            if curvature <= 0 or VV_next >= radius * radius:
                tau = (-VD + math.sqrt(VD * VD + DD * (radius * radius - VV))) / DD
                return V + tau * direction, HV + tau * HD, True
            V = V + alpha * direction
            HV = HV + alpha * HD
            residual = residual + alpha * HD
            if math.sqrt(inner(M, residual, residual)) <= target:
                break
            z = point.precondition(residual) if preconditioned else residual
            rz_next = inner(M, residual, z)
            beta = rz_next / rz
            rz = rz_next
            direction = beta * direction - z
            VV, VD, DD = VV_next, beta * (VD + alpha * DD), rz + beta * beta * DD
        return V, HV, False


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
