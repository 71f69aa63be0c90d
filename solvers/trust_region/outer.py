"""The Riemannian trust region with truncated conjugate gradients."""

from __future__ import annotations

import math

import numpy as np

from ldr.solvers.checks import keep_number
from ldr.solvers.manifolds import Array
from ldr.solvers.problem import Preconditioner
from ldr.solvers.records import dataclass, replace
from ldr.solvers.riemannian import RiemannianPoint, RiemannianProblem
from ldr.solvers.solver import Solver, State
from ldr.solvers.status import Status
from ldr.solvers.trust_region.truncated_cg import Leg, shortened, truncated_cg
from ldr.solvers.whole_hessian import InverseHessian

_EPS = float(np.finfo(float).eps)
_ROUNDING = 1e4 * _EPS  # a relative change of f below this is judged by slopes
_INNER_MARGIN = 0.1  # how far below the run's threshold an inner iteration may aim
# Of a point whose Hessian is made, where an inner iteration has taken as many products.
_FEW_NUMBERS = 1000
# Ratios of actual to predicted decrease: below the first the radius is shortened, above the second
# it may grow.
_POOR, _GOOD = 0.25, 0.75
_SHORTER, _LONGER = 0.25, 2.0
_SHORT = 20  # Hessian products of a correction
_CORRECTIONS = 3  # after a step that the function disagrees with
_LEAST_CORRECTION = 0.1  # in predicted decreases: a correction that brings less is the last one


@dataclass(frozen=True)
class TrustState(State):
    """`radius` of the region (None: to be chosen) in the metric of the `preconditioner`.

    `path` is the inner iteration's at this point, where a longer step was refused.
    """

    radius: float | None
    preconditioner: Preconditioner | None = None
    path: tuple[Leg, ...] = ()


@dataclass(frozen=True)
class TrustRegion(Solver[TrustState]):
    """Minimise the second-order model within a radius, step if the function agrees.

    The model m(V) = f + <g, V> + <V, H[V]>/2 is minimised by Steihaug's truncated conjugate
    gradients, to |residual| <= |g| min(kappa, (|g|/scale)^theta): the local rate is 1 + theta. It
    needs a second-order retraction: polar on Stiefel, polar or QR on Grassmann. Where f changes by
    rounding only, the decrease is measured by slopes. Once an inner iteration has been long, the
    problem is asked for a preconditioner, whose metric then shapes the region too. Where rounding
    keeps conjugate gradients from ending in as many steps as there are dimensions, as where columns
    have units of different sizes, that many products more make the Hessian itself, decomposed.

    In a curved valley a good step along it ends on its wall. Therefore a step that the function
    disagrees with, and that ends where it is steeper, is corrected by a few conjugate gradient
    steps without a preconditioner from its end, which see the steep directions first and lead back
    to the floor; the step is judged there. A step refused all the same is shortened along the path
    of its inner iteration, which needs no new Hessian product.

    Source: P.-A. Absil, C. G. Baker and K. A. Gallivan, Trust-region methods on Riemannian
    manifolds, Found. Comput. Math. 7 (2007); the idea of corrections is in A. R. Conn, N. I. M.
    Gould and P. L. Toint, Trust-region methods (2000).

    Parameters
    ----------
    radius : float, optional
        The first radius; by default four Cauchy steps of the first model, at most the manifold's
        diameter.
    theta, kappa : float
        Superlinear and linear target of the inner iteration.
    acceptance : float
        Least ratio of actual to predicted decrease for a step to be taken.
    long : float, optional
        Hessian products after which an inner iteration counts as long; by default what making a
        preconditioner costs, infinite for no preconditioner.
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
        if state.path and state.radius is not None:
            model = shortened(state.path, state.radius)
        else:
            model = truncated_cg(manifold, point, state.radius, state.preconditioner, target)
        V, radius = model.V, model.radius
        predicted = -0.5 * manifold.inner(point.M, point.gradient + model.residual, V)
        if not math.isfinite(predicted):  # a Hessian product was not
            return replace(state, halt=Status.NOT_FINITE)
        new, decrease = _move(problem, point, V)
        ratio = decrease / predicted if predicted > 0 else 0.0
        if 0 < predicted and not ratio >= _POOR and _is_steeper(new, point):
            new, ratio = self._corrected(problem, new, ratio, predicted, manifold.norm(point.M, V))

        if not ratio >= _POOR:
            radius = _SHORTER * min(radius, model.length)
        elif ratio > _GOOD and model.at_boundary:
            longest = math.inf if state.preconditioner else manifold.diameter
            radius = min(_LONGER * radius, longest)
        if not ratio > self.acceptance:
            return replace(state, radius=radius, path=model.path)
        fresh = self._preconditioner(problem, state, model.products, new)
        if fresh is not None:
            return TrustState(new, radius if state.preconditioner else None, fresh)
        return TrustState(new, radius, state.preconditioner)

    def _preconditioner(
        self, problem: RiemannianProblem, state: TrustState, products: int, new: RiemannianPoint
    ) -> Preconditioner | None:
        """A new one, after an inner iteration of so many products."""
        if products <= (problem.problem.preconditioner_cost if self.long is None else self.long):
            return None
        if products >= problem.manifold.dimension and new.M.size <= _FEW_NUMBERS:
            return InverseHessian.at(problem.manifold, new)
        if isinstance(state.preconditioner, InverseHessian):
            return None
        return problem.problem.preconditioner(new.M)

    def _corrected(
        self,
        problem: RiemannianProblem,
        new: RiemannianPoint,
        ratio: float,
        predicted: float,
        length: float,
    ) -> tuple[RiemannianPoint, float]:
        """The end of the step led back to the floor of the valley, and the ratio there.

        Both as they were where that does not save the step.
        """
        trial, gain = new, ratio
        for _ in range(_CORRECTIONS):
            if not (math.isfinite(trial.value) and math.isfinite(trial.gradient_norm)):
                break
            target = max(self.kappa * trial.gradient_norm, _INNER_MARGIN * problem.threshold)
            V = truncated_cg(problem.manifold, trial, length, None, target, _SHORT).V
            trial, decrease = _move(problem, trial, V)
            gain += decrease / predicted
            if gain > _GOOD or not decrease > _LEAST_CORRECTION * predicted:
                break
        return (trial, gain) if gain > max(ratio, self.acceptance) else (new, ratio)

    def _target(self, problem: RiemannianProblem, point: RiemannianPoint) -> float:
        """The residual at which the model counts as minimised."""
        norm = point.gradient_norm
        scale = max(norm, abs(point.value))
        target = norm * min(self.kappa, (norm / scale) ** self.theta) if scale > 0 else 0.0
        return max(target, _INNER_MARGIN * problem.threshold)


def _is_steeper(new: RiemannianPoint, point: RiemannianPoint) -> bool:
    return math.isfinite(new.value) and new.gradient_norm > point.gradient_norm


def _move(
    problem: RiemannianProblem, point: RiemannianPoint, V: Array
) -> tuple[RiemannianPoint, float]:
    """The point at the end of the step V, and how much lower the function is there.

    Where it is not finite there is a wall: infinitely high, and without a gradient.

    Where the values agree to rounding, the decrease comes from the slopes at both ends: the
    trapezoidal rule is as accurate as the model that the decrease is held against.
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
