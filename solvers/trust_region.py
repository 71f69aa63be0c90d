"""The Riemannian trust region with truncated conjugate gradients, alone and after L-BFGS."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple

import numpy as np

from ldr.solvers.checks import keep_number, keep_whole
from ldr.solvers.descent import LBFGS
from ldr.solvers.manifolds import Array, Manifold
from ldr.solvers.problem import Preconditioner, RiemannianPoint, RiemannianProblem
from ldr.solvers.second_order import FEW_NUMBERS, hessian_eigen
from ldr.solvers.solver import Solver, State, Stopping, at_rounding
from ldr.solvers.status import Status


class Model(NamedTuple):
    """Result of the inner iteration: step V, length of V, radius, number of products.

    `residual` is the gradient g + H[V] of the quadratic model at V.
    """

    V: Array
    residual: Array
    length: float
    radius: float
    at_boundary: bool
    products: int


def truncated_cg(
    manifold: Manifold,
    point: RiemannianPoint,
    radius: float | None,
    preconditioner: Preconditioner | None,
    target: float,
    most: float = math.inf,
) -> Model:
    """Minimise m(V) = f + <g, V> + <V, H[V]>/2 within a radius (Steihaug).

    - radius: radius in the metric of the preconditioner's inverse; by default four Cauchy steps
    - target: norm of the residual g + H[V] at which the iteration ends
    - most: limit of Hessian products
    """
    inner, M = manifold.inner, point.M
    V, residual = np.zeros(M.shape), point.gradient
    z = residual if preconditioner is None else preconditioner(M, residual)
    rz = inner(M, residual, z)
    direction = -z
    VV, VD, DD = 0.0, 0.0, rz  # products of step V and direction D in the preconditioner's metric
    products = 0
    for products in range(1, 1 + int(min(most, max(manifold.dimension, 1)))):
        HD = point.hessian(direction)
        curvature = inner(M, direction, HD)
        alpha = rz / curvature if curvature > 0 else math.inf
        if radius is None:
            radius = _first_radius(manifold, M, preconditioner, alpha, rz)
        VV_next = VV + 2 * alpha * VD + alpha * alpha * DD
        if curvature <= 0 or VV_next >= radius * radius:
            root = math.sqrt(VD * VD + DD * max(0.0, radius * radius - VV))
            tau = (root - VD) / DD if DD else 0.0
            V, residual = V + tau * direction, residual + tau * HD
            return Model(V, residual, radius, radius, True, products)
        V = V + alpha * direction
        residual = residual + alpha * HD
        VV = VV_next
        rr = inner(M, residual, residual)
        if math.sqrt(rr) <= target:
            break
        z = residual if preconditioner is None else preconditioner(M, residual)
        rz, previous = rr if z is residual else inner(M, residual, z), rz
        if not rz > 0:  # the residual of conjugate gradients is a rounding error
            break
        beta = rz / previous
        direction = beta * direction - z
        VD, DD = beta * (VD + alpha * DD), rz + beta * beta * DD
    assert radius is not None
    return Model(V, residual, math.sqrt(max(VV, 0.0)), radius, False, products)


def _first_radius(
    manifold: Manifold, M: Array, preconditioner: Preconditioner | None, alpha: float, rz: float
) -> float:
    """Return the length of four Cauchy steps; alpha is infinite for negative curvature."""
    largest = math.inf if preconditioner else manifold.diameter
    if math.isfinite(alpha):
        return min(largest, 4.0 * alpha * math.sqrt(rz))
    if math.isfinite(largest):
        return largest
    return 4.0 * math.sqrt(rz) if preconditioner else max(1.0, float(np.linalg.norm(M)))


# If f changes relatively by less than this, its decrease is computed from slopes, not from values.
_ROUNDING = 1e4 * float(np.finfo(float).eps)
# Ratios of actual to predicted decrease below which the trust region's radius decreases, and above
# which it may grow (Nocedal and Wright, Numerical Optimization, algorithm 4.1).
_POOR, _GOOD = 0.25, 0.75
_SHORTER, _LONGER = 0.25, 2.0
# Largest number of further steps that correct a poor step, and of Hessian products in each.
_CORRECTIONS, _SHORT = 3, 20


class InverseHessian:
    """The preconditioner |H|^{-1}, H the Hessian at a point; 1/|H|_2 on normal vectors."""

    def __init__(self, manifold: Manifold, point: RiemannianPoint) -> None:
        values, vectors = hessian_eigen(manifold, point)
        curvatures = np.abs(values)
        largest = curvatures.max()
        rates = 1.0 / np.maximum(curvatures, 1e-14 * largest) - 1.0 / largest
        self._manifold = manifold
        self._inverse = (vectors * rates) @ vectors.T + np.eye(len(vectors)) / largest

    def __call__(self, M: Array, U: Array) -> Array:
        return self._manifold.project(M, (self._inverse @ U.reshape(-1)).reshape(U.shape))


@dataclass(frozen=True)
class TrustState(State):
    """State with the `preconditioner`, and the `radius` in its metric (None: not chosen yet)."""

    radius: float | None
    preconditioner: Preconditioner | None = None


@dataclass(frozen=True)
class TrustRegion(Solver[TrustState]):
    """Riemannian trust region: minimise a second-order model within a radius.

    The model of f for a step V is m(V) = f + <g, V> + <V, HV>/2, with the gradient g and the
    Hessian H. Steihaug's truncated conjugate gradients minimise the model until the residual is at
    most |g| min(kappa, (|g|/s)^theta) with s = max(|g|, |f|). The local order of convergence is 1 +
    `theta` for retractions of second order: polar on Stiefel, polar or QR on Grassmann manifolds.
    If values of f differ only by rounding errors, the gradients at both ends of a step give the
    decrease of f. After a long inner iteration the problem's preconditioner is used, and defines
    the norm of steps. For columns in very different units, rounding errors can keep conjugate
    gradients from converging in as many steps as the manifold has dimensions. If M has few entries,
    the full Hessian is then decomposed.

    If a step has a poor decrease of f and a larger gradient at its end, as in a curved valley of f,
    the step is corrected before it is accepted or rejected. A few conjugate gradient steps from its
    end correct a poor step: they first reduce f along directions of large curvature. Without
    corrections, some orthogonal-cca problems (Cunningham and Ghahramani 2015) take over 1000 steps.

    Source: P.-A. Absil, C. G. Baker and K. A. Gallivan, Trust-region methods on Riemannian
    manifolds, Foundations of Computational Mathematics 7 (2007); on corrected steps, A. R. Conn,
    N. I. M. Gould and P. L. Toint, Trust-region methods (2000).

    Parameters
    ----------
    radius : float, optional
        Initial radius; by default the length of four Cauchy steps, at most the manifold's diameter.
    theta, kappa : float
        Exponent theta and factor kappa in the tolerance of the conjugate gradients.
    acceptance : float
        Least ratio of actual to predicted decrease for an accepted step.
    long : float, optional
        Number of Hessian products above which an inner iteration counts as long; by default the
        problem's `preconditioner_cost`.
    """

    name = "trust-region"
    default_max_iterations = 1000
    patience = 10

    radius: float | None = None
    theta: float = 0.5
    kappa: float = 0.2
    acceptance: float = 0.1
    long: float | None = None

    def __post_init__(self) -> None:
        keep_number(self, "radius", optional=True, positive=True)
        keep_number(self, "theta")
        keep_number(self, "kappa", positive=True, below=1.0)
        keep_number(self, "acceptance", below=_POOR)
        keep_number(self, "long", optional=True, finite=False)

    def initialise(self, problem: RiemannianProblem, M: Array) -> TrustState:
        return TrustState(problem.at(M), self.radius)

    def step(self, problem: RiemannianProblem, state: TrustState) -> TrustState:
        manifold, point = problem.manifold, state.point
        target = self._target(problem, point)
        model = truncated_cg(manifold, point, state.radius, state.preconditioner, target)
        V = model.V
        radius: float | None = model.radius
        predicted = -0.5 * manifold.inner(point.M, point.gradient + model.residual, V)
        if not math.isfinite(predicted):  # a Hessian product has entries that are not finite
            return replace(state, halt=Status.NOT_FINITE)
        new, decrease = _move(problem, point, V)
        ratio = decrease / predicted if predicted > 0 else 0.0
        poor = 0 < predicted and not ratio >= _POOR and math.isfinite(new.value)
        if poor and point.gradient_norm < new.gradient_norm < math.inf:
            new, ratio = self._corrected(problem, new, ratio, predicted, manifold.norm(point.M, V))
        if not ratio >= _POOR:
            radius = _SHORTER * min(model.radius, model.length)
        elif ratio > _GOOD and model.at_boundary:
            longest = math.inf if state.preconditioner else manifold.diameter
            radius = min(_LONGER * model.radius, longest)
        if not ratio > self.acceptance:
            return replace(state, radius=radius)
        made, long = state.preconditioner, self.long
        if model.products > (problem.problem.preconditioner_cost if long is None else long):
            if model.products >= manifold.dimension and new.M.size <= FEW_NUMBERS:
                made = InverseHessian(manifold, new)
            elif not isinstance(made, InverseHessian):
                made = problem.problem.preconditioner(new.M) or made
        if made is not state.preconditioner and state.preconditioner is None:
            radius = None  # the old radius is a length in the old preconditioner's metric
        return TrustState(new, radius, made)

    def _corrected(
        self,
        problem: RiemannianProblem,
        new: RiemannianPoint,
        ratio: float,
        predicted: float,
        length: float,
    ) -> tuple[RiemannianPoint, float]:
        """Return the corrected step's end and ratio; the given ones if corrections fail."""
        trial, gain = new, ratio
        for _ in range(_CORRECTIONS):
            target = self.kappa * max(trial.gradient_norm, problem.threshold)
            V = truncated_cg(problem.manifold, trial, length, None, target, _SHORT).V
            trial, decrease = _move(problem, trial, V)
            gain += decrease / predicted
            enough = gain > _GOOD or not decrease > 0.1 * predicted
            if enough or not math.isfinite(trial.gradient_norm):
                break
        return (trial, gain) if gain > max(ratio, self.acceptance) else (new, ratio)

    def _target(self, problem: RiemannianProblem, point: RiemannianPoint) -> float:
        """Return the residual at which the inner iteration ends."""
        norm = point.gradient_norm
        scale = max(norm, abs(point.value))
        target = norm * min(self.kappa, (norm / scale) ** self.theta) if scale > 0 else 0.0
        return max(target, self.kappa * problem.threshold)


def _move(
    problem: RiemannianProblem, point: RiemannianPoint, V: Array
) -> tuple[RiemannianPoint, float]:
    """Return the point at the end of the step V, and the decrease of the function.

    A value that is not finite counts as infinite. If the values differ by rounding only, the
    trapezoidal rule gives the decrease from the slopes at both ends, as accurately as the quadratic
    model predicts it.
    """
    new = problem.at(problem.manifold.retract(point.M, V))
    if not math.isfinite(new.value):
        return new, -math.inf
    decrease = point.value - new.value
    if not abs(decrease) <= _ROUNDING * max(abs(point.value), abs(new.value)):
        return new, decrease
    inner = problem.manifold.inner
    velocity = problem.manifold.curve(point.M, V)[1]
    slopes = inner(point.M, point.gradient, V) + inner(new.M, new.gradient, velocity)
    return new, -0.5 * slopes


@dataclass(frozen=True)
class GradientsFirst(Solver[State]):
    """Limited-memory BFGS, then the trust region if not converged after `steps` steps.

    The solver suits functions whose first Hessian product costs as much as hundreds of gradients,
    such as functions whose derivatives jax compiles.

    Parameters
    ----------
    steps : int
        Number of steps of L-BFGS.
    """

    name = "gradients-first"
    default_max_iterations = 10_000

    steps: int = 200

    def __post_init__(self) -> None:
        keep_whole(self, "steps", 1)

    def initialise(self, problem: RiemannianProblem, M: Array) -> State:
        return LBFGS().initialise(problem, M)

    def states(self, problem: RiemannianProblem, M: Array, stopping: Stopping) -> Iterator[State]:
        """Yield the states of L-BFGS; if stuck or not converged, continue with the trust region."""
        scale = None
        for state in islice(LBFGS().states(problem, M, stopping), self.steps + 1):
            scale = stopping.scale(state.point) if scale is None else scale
            stuck = state.halt is not None and not at_rounding(state.point, scale)
            yield replace(state, halt=None) if stuck else state
            if stuck:
                break
        further = TrustRegion().states(problem, state.point.M, stopping)
        next(further)  # skip the trust region's first state, which is the last state of L-BFGS
        yield from further
