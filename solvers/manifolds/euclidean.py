"""Euclidean space: no constraint."""

from __future__ import annotations

import math

import numpy as np

from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds.manifold import Array, Manifold
from ldr.solvers.records import dataclass


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
