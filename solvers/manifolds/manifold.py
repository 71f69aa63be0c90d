"""The manifold protocol: what a solver may ask of the set that it searches."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Of M'M = I an r x r array; on a product a list of the factors'; None where nothing binds.
Multiplier = Any


class Manifold(ABC):
    """A matrix manifold embedded in a Euclidean space, with the metric it inherits from there.

    Points are written M and N, tangent vectors U and V, ambient matrices Z. Every method is a pure
    function of its arrays; `project` also takes a stack of them (leading axes).
    """

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """Shape of a point's array."""

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Dimension of the manifold, the number of degrees of freedom of a point."""

    @property
    @abstractmethod
    def diameter(self) -> float:
        """Length scale for trust regions, about the largest distance; `inf` where unbounded."""

    @property
    def factors(self) -> tuple[Manifold, ...]:
        """Of a product of manifolds; any other has one, itself."""
        return (self,)

    def split(self, Z: Array) -> list[Array]:
        """The factors' matrices, as views of the array Z (leading axes are kept)."""
        return [Z]

    def join(self, parts: Sequence[Array]) -> Array:
        """The array of the factors' matrices; the inverse of `split`."""
        return parts[0]

    @abstractmethod
    def project(self, M: Array, Z: Array) -> Array:
        """Orthogonal projection of the ambient matrix Z onto the tangent space at M."""

    @abstractmethod
    def curve(self, M: Array, V: Array, t: float = 1.0) -> tuple[Array, Array]:
        """The retraction curve: R_M(tV) and its exact derivative with respect to t, tangent there.

        The derivative makes a line search's slope exact, so that it can trust slopes where
        differences of f are lost in rounding.
        """

    @abstractmethod
    def multiplier(self, M: Array, G: Array) -> Multiplier:
        """Lagrange's multiplier of the constraint at M, where the Euclidean gradient is G."""

    @abstractmethod
    def hessian(self, M: Array, S: Multiplier, V: Array, HV: Array) -> Array:
        """Riemannian Hessian product: of the Lagrangian with multiplier S, projected.

        HV is the Euclidean Hessian product. S is the same for all V at a point.
        """

    @abstractmethod
    def random_point(self, rng: np.random.Generator) -> Array:
        """A point drawn uniformly (standard normal entries where there is no uniform law)."""

    def nearest(self, Z: Array) -> Array:
        """The point nearest to the ambient matrix Z: cleans up rounding or a guess."""
        return np.array(Z, dtype=np.float64)

    def inner(self, M: Array, U: Array, V: Array) -> float:
        """Inner product of tangent vectors at M, the trace of U'V."""
        return float(np.vdot(U, V))

    def norm(self, M: Array, V: Array) -> float:
        """Length of a tangent vector."""
        return math.sqrt(np.vdot(V, V))

    def gradient(self, M: Array, G: Array) -> Array:
        """Riemannian gradient from the Euclidean gradient G."""
        return self.project(M, G)

    def retract(self, M: Array, V: Array) -> Array:
        """The point reached from M along the tangent vector V."""
        return self.curve(M, V)[0]

    def transport(self, M: Array, N: Array, V: Array) -> Array:
        """The tangent vector V at M (or a stack of them) carried to N, by projection."""
        return self.project(N, V)

    def random_tangent(self, M: Array, rng: np.random.Generator) -> Array:
        """A tangent vector at M of unit length, drawn uniformly; zero where there is no other."""
        V = self.project(M, rng.standard_normal(self.shape))
        if self.dimension == 0:
            return np.zeros_like(V)
        return self.project(M, V / self.norm(M, V))

    def distance_from(self, M: Array) -> float:
        """How far the array M is from satisfying the constraint, 0 on the manifold."""
        return 0.0
