"""What is to be minimised: a Problem is a manifold and `at(M)`, which gives a Point."""

from __future__ import annotations

from abc import ABC, abstractmethod

from ldr.solvers.manifolds import Array, Manifold


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

    def precondition(self, U: Array) -> Array:
        """An approximate inverse of the Hessian applied to the tangent vector U; U by default.

        Must be symmetric positive definite on the tangent space at M and map into it.
        """
        return U


class Problem(ABC):
    """A function on a manifold."""

    manifold: Manifold
    has_hessian: bool = True
    has_preconditioner: bool = False

    @abstractmethod
    def at(self, M: Array) -> Point:
        """The function at M."""
