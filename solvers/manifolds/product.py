"""Products of manifolds: several matrices optimised together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate, pairwise

import numpy as np

from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds.euclidean import Euclidean
from ldr.solvers.manifolds.manifold import Array, Manifold, Multiplier
from ldr.solvers.records import dataclass, field


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
