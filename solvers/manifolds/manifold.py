"""The protocol of a manifold, Euclidean space, and products of manifolds."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldr.solvers.errors import ArgumentError

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


@dataclass(frozen=True)
class Euclidean(Manifold):
    """R^{d x r} with the inner product tr(U'V).

    Parameters
    ----------
    d, r : int
        Rows and columns.
    """

    d: int
    r: int = 1

    def __post_init__(self) -> None:
        if self.d < 1 or self.r < 1:
            raise ArgumentError(f"d and r must be at least 1, got d = {self.d}, r = {self.r}")

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.d, self.r)

    @property
    def dimension(self) -> int:
        return self.d * self.r

    @property
    def diameter(self) -> float:
        return math.inf

    def project(self, M: Array, Z: Array) -> Array:
        return Z

    def curve(self, M: Array, V: Array, t: float = 1.0) -> tuple[Array, Array]:
        return M + t * V, V

    def multiplier(self, M: Array, G: Array) -> None:
        return None

    def hessian(self, M: Array, S: None, V: Array, HV: Array) -> Array:
        return HV

    def random_point(self, rng: np.random.Generator) -> Array:
        return rng.standard_normal(self.shape)


@dataclass(frozen=True, init=False)
class Product(Manifold):
    """M_1 x ... x M_k, a point being the factors' entries one after another in one flat array.

    `split` gives the factors as views, `join` makes the flat array; because points and tangent
    vectors are single arrays, every solver works on a product unchanged.

    Parameters
    ----------
    *factors : Manifold
        At least one.
    """

    factors: tuple[Manifold, ...] = ()
    # where each factor's entries are in the flat array, and their shape
    _places: tuple[tuple[slice, tuple[int, ...]], ...] = field(
        default=(), repr=False, compare=False
    )

    def __init__(self, *factors: Manifold) -> None:
        if not factors:
            raise ArgumentError("a Product needs at least one factor, got none")
        object.__setattr__(self, "factors", factors)
        ends = list(accumulate((math.prod(f.shape) for f in factors), initial=0))
        places = tuple(
            (slice(*pair), f.shape) for pair, f in zip(pairwise(ends), factors, strict=True)
        )
        object.__setattr__(self, "_places", places)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self._places[-1][0].stop,)

    @property
    def dimension(self) -> int:
        return sum(f.dimension for f in self.factors)

    @property
    def diameter(self) -> float:
        return math.hypot(*(f.diameter for f in self.factors))

    def split(self, Z: Array) -> list[Array]:
        stack = Z.shape[:-1]
        return [Z[..., place].reshape(stack + shape) for place, shape in self._places]

    def join(self, parts: Sequence[Array]) -> Array:
        stack = parts[0].shape[: parts[0].ndim - len(self._places[0][1])]
        places = zip(self._places, parts, strict=True)
        flat = [Z.reshape(*stack, place.stop - place.start) for (place, _), Z in places]
        return np.concatenate(flat, axis=-1)

    def _each(self, method: str, *arrays: Array) -> Array:
        parts = zip(self.factors, *map(self.split, arrays), strict=True)
        return self.join([getattr(f, method)(*args) for f, *args in parts])

    @property
    def _free(self) -> bool:
        """Whether no factor has a constraint, so that all vectors are tangent."""
        return all(type(f) is Euclidean for f in self.factors)

    def project(self, M: Array, Z: Array) -> Array:
        return Z if self._free else self._each("project", M, Z)

    def multiplier(self, M: Array, G: Array) -> list[Multiplier]:
        parts = zip(self.factors, self.split(M), self.split(G), strict=True)
        return [f.multiplier(m, g) for f, m, g in parts]

    def hessian(self, M: Array, S: list[Multiplier], V: Array, HV: Array) -> Array:
        if self._free:
            return HV
        parts = zip(self.factors, self.split(M), S, self.split(V), self.split(HV), strict=True)
        return self.join([f.hessian(*part) for f, *part in parts])

    def nearest(self, Z: Array) -> Array:
        return self._each("nearest", Z)

    def retract(self, M: Array, V: Array) -> Array:
        return self._each("retract", M, V)

    def curve(self, M: Array, V: Array, t: float = 1.0) -> tuple[Array, Array]:
        parts = zip(self.factors, self.split(M), self.split(V), strict=True)
        points, velocities = zip(*(f.curve(m, v, t) for f, m, v in parts), strict=True)
        return self.join(points), self.join(velocities)

    def random_point(self, rng: np.random.Generator) -> Array:
        return self.join([f.random_point(rng) for f in self.factors])

    def distance_from(self, M: Array) -> float:
        return max(f.distance_from(m) for f, m in zip(self.factors, self.split(M), strict=True))
