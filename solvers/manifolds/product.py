"""Products of manifolds: several matrices optimised together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds.manifold import Array, Manifold, Multiplier


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
    _ends: tuple[int, ...] = field(default=(), repr=False, compare=False)

    def __init__(self, *factors: Manifold) -> None:
        if not factors:
            raise ArgumentError("a Product needs at least one factor, got none")
        object.__setattr__(self, "factors", factors)
        ends = tuple(int(e) for e in np.cumsum([math.prod(f.shape) for f in factors]))
        object.__setattr__(self, "_ends", ends)

    @property
    def shape(self) -> tuple[int, ...]:
        return (self._ends[-1],)

    @property
    def dimension(self) -> int:
        return sum(f.dimension for f in self.factors)

    @property
    def diameter(self) -> float:
        return math.hypot(*(f.diameter for f in self.factors))

    def split(self, Z: Array) -> list[Array]:
        starts = (0, *self._ends[:-1])
        return [
            Z[..., a:b].reshape(*Z.shape[:-1], *f.shape)
            for f, a, b in zip(self.factors, starts, self._ends, strict=True)
        ]

    def join(self, parts: Sequence[Array]) -> Array:
        return np.concatenate(
            [
                Z.reshape(*Z.shape[: Z.ndim - len(f.shape)], math.prod(f.shape))
                for f, Z in zip(self.factors, parts, strict=True)
            ],
            axis=-1,
        )

    def _each(self, method: str, *arrays: Array) -> Array:
        parts = zip(self.factors, *map(self.split, arrays), strict=True)
        return self.join([getattr(f, method)(*args) for f, *args in parts])

    def project(self, M: Array, Z: Array) -> Array:
        return self._each("project", M, Z)

    def multiplier(self, M: Array, G: Array) -> list[Multiplier]:
        parts = zip(self.factors, self.split(M), self.split(G), strict=True)
        return [f.multiplier(m, g) for f, m, g in parts]

    def hessian(self, M: Array, S: list[Multiplier], V: Array, HV: Array) -> Array:
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
