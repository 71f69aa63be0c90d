"""Problems to be minimised: a Problem has a manifold and `at(M)`, which returns a Point.

A Problem may also have a convex nonsmooth penalty, defined by its proximal map.

`RiemannianProblem` and `RiemannianPoint` add Riemannian derivatives, and count the evaluations.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np

from ldr.solvers.deadline import check
from ldr.solvers.manifolds import Array, Manifold, Multiplier

Preconditioner = Callable[[Array, Array], Array]


class Point(ABC):
    """The function at M: value, gradient and Hessian products.

    Subclasses store common intermediate results, such as A @ M for a quadratic form with matrix A.
    """

    M: Array

    @property
    @abstractmethod
    def value(self) -> float:
        """Value of the function to be minimised."""

    @property
    @abstractmethod
    def gradient(self) -> Array:
        """Euclidean gradient, with M's shape."""

    def hessian_vector(self, V: Array) -> Array:
        """Return the Euclidean Hessian times V; by default, solvers use differences."""
        raise NotImplementedError


class Problem(ABC):
    """A function on a manifold: a smooth part, given by `at`, plus an optional penalty.

    A preconditioner costs as much time as `preconditioner_cost` Hessian products. A preconditioner
    is computed only after an inner iteration that took more Hessian products.
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
        """Return an approximate inverse Hessian for points near M; None if there is none.

        The preconditioner maps a point N and a tangent vector U at N to a tangent vector at N; the
        map is symmetric positive definite in U.
        """
        return None


@runtime_checkable
class DearProducts(Protocol):
    """A problem whose first Hessian product may cost hundreds of gradients."""

    def for_curvature(self) -> Problem:
        """Return the problem without Hessian products; solvers then difference gradients."""


@runtime_checkable
class Sum(Protocol):
    """A problem with f = f_0 + ... + f_{p-1}, where each part f_i is cheaper than f."""

    @property
    def parts(self) -> int:
        """Number p of the parts."""

    def each_part(self, order: np.random.Generator) -> Iterator[Problem]:
        """Yield every f_i once as a problem on the same manifold, in random order if possible."""


def read_only(M: Array) -> Array:
    """Return a read-only view of M for the user's functions."""
    view = M.view()
    view.setflags(write=False)
    return view


class RiemannianPoint:
    """A Point with Riemannian gradient and Hessian products.

    - point: the Point, with Euclidean derivatives
    - M: array of the point. If a retraction is undefined M is not finite; the value is then
      infinite, without an evaluation.
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
        squares = np.vdot(self.M, self.M)  # finite only if all entries of M are finite
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
        """Lagrange multiplier of the manifold's constraint."""
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
    """Problem, manifold and exact counts of the evaluations of value, gradient and Hessian.

    `threshold`, the gradient norm at which the run stops, scales the tolerance of inner iterations.
    """

    threshold: float = 0.0

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.manifold = problem.manifold
        self.evaluations: Counter[str] = Counter(value=0, gradient=0, hessian=0)

    def count(self, what: str) -> None:
        """Count an evaluation before it begins, after a `check` of the limits."""
        check()
        self.evaluations[what] += 1

    def at(self, M: Array, point: Point | None = None) -> RiemannianPoint:
        """Return the function at M; `point` is the function's Point at M if already computed."""
        return RiemannianPoint(self, M, point)


class Penalty(ABC):
    """A convex function h, the sum of functions of the entries of M.

    The problem is to minimise f + h, where h is the penalty and `Problem.at` returns the smooth f.
    """

    @abstractmethod
    def value(self, M: Array) -> float:
        """Return h(M)."""

    @abstractmethod
    def prox(self, Z: Array, t: float) -> Array:
        """Return the minimiser over N of |N - Z|^2/2 + t h(N) for the penalty h."""

    @abstractmethod
    def prox_derivative(self, Z: Array, t: float) -> Array:
        """Return the derivative of each entry of the proximal map in the same entry of Z."""

    @abstractmethod
    def threshold(self, shape: tuple[int, ...]) -> Array:
        """Return the largest subgradient of the penalty at each zero entry."""

    @abstractmethod
    def slope(self, M: Array) -> Array:
        """Return the derivative of the penalty in the nonzero entries of M; 0 for zero entries."""

    @abstractmethod
    def smoothed(self, M: Array, width: float) -> tuple[float, Array, Array]:
        """Return value, gradient and diagonal Hessian of a smoothed penalty.

        Entries of M far above `width` are hardly affected by the smoothing.
        """


@dataclass(frozen=True)
class L1(Penalty):
    """The lasso's penalty h(M) = sum_ij w_ij |m_ij|.

    Parameters
    ----------
    weight : float or ndarray of M's shape
        Weights w >= 0 of the entries.
    """

    weight: float | Array

    def value(self, M: Array) -> float:
        return float(np.sum(self.weight * np.abs(M)))

    def prox(self, Z: Array, t: float) -> Array:
        """Return Z, soft-thresholded by t times the weights."""
        return np.sign(Z) * np.maximum(np.abs(Z) - t * self.weight, 0.0)

    def prox_derivative(self, Z: Array, t: float) -> Array:
        return (np.abs(Z) > t * self.weight).astype(np.float64)

    def threshold(self, shape: tuple[int, ...]) -> Array:
        return np.broadcast_to(np.asarray(self.weight, dtype=np.float64), shape)

    def slope(self, M: Array) -> Array:
        return self.weight * np.sign(M)

    def smoothed(self, M: Array, width: float) -> tuple[float, Array, Array]:
        """Return sqrt(m^2 + width^2) in place of |m|."""
        root = np.sqrt(M * M + width * width)
        ratio = width / root
        return (
            float(np.sum(self.weight * root)),
            self.weight * (M / root),
            self.weight * (ratio * ratio / root),
        )
