"""A problem as the manifold sees it: Riemannian gradients and Hessian products, truly counted."""

from __future__ import annotations

import math
from collections import Counter
from functools import cached_property

import numpy as np

from ldr.solvers.deadline import check
from ldr.solvers.manifolds import Array, Multiplier
from ldr.solvers.problem import Point, Problem


def read_only(M: Array) -> Array:
    """A view of M that cannot be written to, for functions that are not ours."""
    view = M.view()
    view.setflags(write=False)
    return view


class RiemannianPoint:
    """A Point with its Riemannian gradient and Hessian product.

    - point: the point itself, with Euclidean derivatives
    - M: where it is; not finite where a retraction found no point. That is a wall: the function is
      not asked, and its value is infinite.
    """

    def __init__(self, problem: RiemannianProblem, M: Array, point: Point | None = None) -> None:
        self._problem = problem
        self.M = read_only(M)
        if point is not None:
            self.point = point

    @cached_property
    def point(self) -> Point:
        return self._problem.problem.at(self.M)

    @cached_property
    def value(self) -> float:
        squares = np.vdot(self.M, self.M)  # the quick way, where they do not overflow
        if not (math.isfinite(squares) or np.isfinite(self.M).all()):
            return math.inf
        self._problem.count("value")
        return self.point.value

    @cached_property
    def euclidean_gradient(self) -> Array:
        self._problem.count("gradient")
        return self.point.gradient

    @cached_property
    def gradient(self) -> Array:
        """Riemannian gradient, tangent at M."""
        return self._problem.manifold.gradient(self.M, self.euclidean_gradient)

    @cached_property
    def gradient_norm(self) -> float:
        return self._problem.manifold.norm(self.M, self.gradient)

    @cached_property
    def multiplier(self) -> Multiplier:
        """Lagrange's multiplier of the manifold's constraint."""
        return self._problem.manifold.multiplier(self.M, self.euclidean_gradient)

    def hessian(self, V: Array) -> Array:
        """Riemannian Hessian times the tangent vector V."""
        problem = self._problem
        problem.count("hessian")
        if not problem.problem.has_hessian:
            return self._differenced_hessian(V)
        HV = self.point.hessian_vector(V)
        return problem.manifold.hessian(self.M, self.multiplier, V, HV)

    def _differenced_hessian(self, V: Array) -> Array:
        """Central difference of the transported gradient along the retraction.

        The step balances the truncation h^2 against the rounding eps/h of the gradient.
        """
        manifold = self._problem.manifold
        length = manifold.norm(self.M, V)
        if length == 0:
            return np.zeros_like(V)
        h = np.finfo(float).eps ** (1 / 3) * max(1.0, float(np.abs(self.M).max())) / length
        ahead, behind = (
            self._problem.at(manifold.retract(self.M, step * V)).gradient for step in (h, -h)
        )
        return manifold.project(self.M, (ahead - behind) / (2 * h))


class RiemannianProblem:
    """Problem, manifold and true counts of the evaluations of value, gradient and Hessian.

    `threshold` is the gradient norm at which the run will stop: an inner iteration need not go far
    below it.
    """

    threshold: float = 0.0

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.manifold = problem.manifold
        self.evaluations: Counter[str] = Counter(value=0, gradient=0, hessian=0)

    def count(self, what: str) -> None:
        """Count an evaluation that is about to begin; none does after the time or Ctrl-C."""
        check()
        self.evaluations[what] += 1

    def at(self, M: Array, point: Point | None = None) -> RiemannianPoint:
        """The function at M, whose `point` a solver may have made already."""
        return RiemannianPoint(self, M, point)
