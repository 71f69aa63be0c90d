"""What is to be minimised: a Problem is a manifold and `at(M)`, which gives a Point."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from ldr.solvers.manifolds import Array, Manifold

Preconditioner = Callable[[Array, Array], Array]


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
    """A function on a manifold."""

    manifold: Manifold
    has_hessian: bool = True

    @property
    def order(self) -> int:
        """Order of the matrices that an evaluation multiplies, to choose BLAS threads by."""
        return max(self.manifold.shape)

    @abstractmethod
    def at(self, M: Array) -> Point:
        """The function at M."""

    def preconditioner(self, M: Array) -> Preconditioner | None:
        """An approximate inverse of the Hessian, made at M and fit for points near it.

        A function of a point N and a tangent vector U there, symmetric positive definite on the
        tangent space at N and into it; None where there is none.
        """
        return None
