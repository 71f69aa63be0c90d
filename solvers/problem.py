"""Problems to be minimised: a Problem is a manifold and `at(M)`, which gives a Point.

A solver sees both as the manifold does: Riemannian gradients and Hessian products, with exact
counts.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from ldr.solvers.deadline import check
from ldr.solvers.manifolds import Array, Manifold, Multiplier

Preconditioner = Callable[[Array, Array], Array]

if TYPE_CHECKING:
    from ldr.solvers.nonsmooth.penalty import Penalty


class Point(ABC):
    """The function at M: value, gradient and products, each computed once.

    A subclass caches the products that value, gradient and Hessian share, such as A @ M of a
    quadratic.
    """

    M: Array

    @property
    @abstractmethod
    def value(self) -> float:
        """The function, to be minimised."""

    @property
    @abstractmethod
    def gradient(self) -> Array:
        """Euclidean gradient, of M's shape."""

    def hessian_vector(self, V: Array) -> Array:
        """Return the Euclidean Hessian times V; without, solvers use finite differences."""
        raise NotImplementedError


class Problem(ABC):
    """A function on a manifold: a smooth part, `at`, plus an optional penalty.

    `preconditioner_cost` is the cost of a preconditioner in Hessian products: shorter inner
    iterations use none.
    """

    manifold: Manifold
    has_hessian: bool = True
    penalty: Penalty | None = None
    preconditioner_cost: float = 20

    @abstractmethod
    def at(self, M: Array) -> Point:
        """Return the smooth function at M."""

    def value(self, M: Array) -> float:
        """Return the value to be minimised, the penalty included."""
        smooth = self.at(M).value
        return smooth if self.penalty is None else smooth + self.penalty.value(M)

    def preconditioner(self, M: Array) -> Preconditioner | None:
        """Return an approximate inverse of the Hessian at M, for points near M; None if unknown.

        A function of a point N and a tangent vector U there, symmetric positive definite on the
        tangent space at N and into it.
        """
        return None


@runtime_checkable
class DearProducts(Protocol):
    """A problem whose first Hessian product may cost too much for a single curvature."""

    def for_curvature(self) -> Problem:
        """Return the function without products; differences of gradients replace them."""


@runtime_checkable
class Sum(Protocol):
    """A problem that is the sum of its parts, f = f_0 + ... + f_{p-1}, each cheaper than f."""

    @property
    def parts(self) -> int:
        """p."""

    def each_part(self, order: np.random.Generator) -> Iterator[Problem]:
        """Yield every f_i once, on the same manifold, in a random order if available."""


def read_only(M: Array) -> Array:
    """Return a read-only view of M, for functions of the user."""
    view = M.view()
    view.setflags(write=False)
    return view


class RiemannianPoint:
    """A Point with its Riemannian gradient and Hessian product.

    - point: the point itself, with Euclidean derivatives
    - M: the point; not finite if a retraction found no point. The function is then not evaluated,
      and its value is infinite.
    """

    def __init__(self, problem: RiemannianProblem, M: Array, point: Point | None = None) -> None:
        self._problem = problem
        self.M = M.view()
        self.M.flags.writeable = False
        if point is not None:
            self.point = point

    @cached_property
    def point(self) -> Point:
        return self._problem.problem.at(self.M)

    @cached_property
    def value(self) -> float:
        squares = np.vdot(self.M, self.M)  # the fast sum of squares, unless it overflows
        if not (math.isfinite(squares) or np.isfinite(self.M).all()):
            return math.inf
        check()
        self._problem.evaluations["value"] += 1
        return self.point.value

    @cached_property
    def euclidean_gradient(self) -> Array:
        self._problem.evaluations["gradient"] += 1
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
        """Return the Riemannian Hessian times the tangent vector V."""
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
        """Return the function at M; a solver may have made its `point` already."""
        return RiemannianPoint(self, M, point)
