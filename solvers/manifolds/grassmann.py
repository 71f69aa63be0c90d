"""The Grassmann manifold: subspaces, each written as an orthonormal basis."""

from __future__ import annotations

import math

import numpy as np

from ldr.solvers.manifolds.manifold import Array
from ldr.solvers.manifolds.orthonormal import Orthonormal
from ldr.solvers.records import dataclass


@dataclass(frozen=True)
class Grassmann(Orthonormal):
    """Gr(d, r): the r-dimensional subspaces of R^d, for functions with f(MQ) = f(M).

    A point is any orthonormal basis M of the subspace; tangent vectors are horizontal, M'V = 0.

    Parameters
    ----------
    d, r : int
        Dimension of the space and of the subspaces, 1 <= r <= d.
    retraction : {"polar", "qr"}
        Both reach the span of M + V and both are second-order here; they differ in the basis.
    """

    d: int
    r: int
    retraction: str = "polar"

    @property
    def dimension(self) -> int:
        return self.r * (self.d - self.r)

    @property
    def diameter(self) -> float:
        return 0.5 * math.pi * math.sqrt(self.r)

    def project(self, M: Array, Z: Array) -> Array:
        """(I - MM') Z, or that of each matrix of a stack."""
        times = np.dot if Z.ndim == 2 else np.matmul  # of few columns in two thirds of the time
        normal = times(M, times(M.T, Z))
        return np.subtract(Z, normal, normal)

    def multiplier(self, M: Array, G: Array) -> Array:
        """M'G.

        V M'G is horizontal already; that `hessian` projects it too keeps the rounding in V from
        growing in Krylov methods, where M'G may act as negative curvature.
        """
        return M.T @ G
