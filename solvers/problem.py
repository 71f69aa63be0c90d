"""What is to be minimised: a Problem is a manifold and `at(M)`, which gives a Point."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from ldr.solvers.manifolds import Array, Manifold

Preconditioner = Callable[[Array, Array], Array]

if TYPE_CHECKING:
    from ldr.solvers.nonsmooth.penalty import Penalty


class Point(ABC):
    """Everything known about the function at M, computed once and kept.

    A subclass caches the products that value, gradient and Hessian share, say A @ M of a quadratic.
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
        """Euclidean Hessian times V; solvers use finite differences where it is not given."""
        raise NotImplementedError


class Problem(ABC):
    """A function on a manifold: the smooth one that `at` gives, plus the penalty, if any.

    `preconditioner_cost` is what making a preconditioner costs, in Hessian products: a shorter
    inner iteration goes without.
    """

    manifold: Manifold
    has_hessian: bool = True
    penalty: Penalty | None = None
    preconditioner_cost: float = 20

    @abstractmethod
    def at(self, M: Array) -> Point:
        """The smooth function at M."""

    def value(self, M: Array) -> float:
        """What is minimised, the penalty included."""
        smooth = self.at(M).value
        return smooth if self.penalty is None else smooth + self.penalty.value(M)

    def for_curvature(self) -> Problem:
        """The function as it is asked for its curvature once: without Hessian products, of which
        differences of gradients take the place, where the first of them costs too much."""
        return self

    def preconditioner(self, M: Array) -> Preconditioner | None:
        """An approximate inverse of the Hessian, made at M and fit for points near it.

        A function of a point N and a tangent vector U there, symmetric positive definite on the
        tangent space at N and into it; None where there is none.
        """
        return None


@runtime_checkable
class Sum(Protocol):
    """A problem that is the sum of its parts, f = f_0 + ... + f_{p-1}, each cheaper than f."""

    @property
    def parts(self) -> int:
        """p."""

    def each_part(self, order: np.random.Generator) -> Iterator[Problem]:
        """Every f_i once, on the same manifold, in a random order if they can be had in any."""
