"""The Stiefel manifold: matrices with orthonormal columns."""

from __future__ import annotations

import math

from ldr.solvers.manifolds.manifold import Array
from ldr.solvers.manifolds.orthonormal import Orthonormal, sym
from ldr.solvers.records import dataclass


@dataclass(frozen=True)
class Stiefel(Orthonormal):
    """St(d, r) = {M in R^{d x r} : M'M = I} with the embedded metric tr(U'V).

    Parameters
    ----------
    d, r : int
        Rows and columns, 1 <= r <= d.
    retraction : {"polar", "qr"}
        "polar" is the nearest point to M + V and a second-order retraction, which the trust region
        needs for its rate; "qr" is first-order.
    """

    d: int
    r: int
    retraction: str = "polar"

    @property
    def dimension(self) -> int:
        return self.d * self.r - self.r * (self.r + 1) // 2

    @property
    def diameter(self) -> float:
        return math.pi * math.sqrt(self.r)

    def project(self, M: Array, Z: Array) -> Array:
        """Z - M sym(M'Z)."""
        return Z - M @ sym(M.T @ Z)

    def multiplier(self, M: Array, G: Array) -> Array:
        """sym(M'G)."""
        return sym(M.T @ G)
