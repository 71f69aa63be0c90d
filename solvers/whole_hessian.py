"""The Riemannian Hessian as a matrix, decomposed, where a point has few numbers."""

from __future__ import annotations

import numpy as np

from ldr.solvers.limits import check
from ldr.solvers.manifolds import Array, Manifold
from ldr.solvers.records import dataclass
from ldr.solvers.riemannian import RiemannianPoint

_LEAST = 1e-14  # curvature that is told from rounding, relative to the largest


def spectrum(
    manifold: Manifold, point: RiemannianPoint, free: Array | None = None
) -> tuple[Array, Array]:
    """Eigenvalues, and eigenvectors as columns of flat tangent vectors.

    They are those across `free`, orthonormal columns of flat tangent vectors.
    """
    M, size = point.M, point.M.size
    check()
    units = np.eye(size).reshape(size, *M.shape)
    projector = manifold.project(M, units).reshape(size, size)
    if free is not None:
        projector = projector - free @ free.T
    there, basis = np.linalg.eigh(0.5 * (projector + projector.T))
    basis = basis[:, there > 0.5]
    products = [point.hessian(U.reshape(M.shape)).reshape(-1) for U in basis.T]
    H = basis.T @ np.array(products).T.reshape(size, -1)
    values, vectors = np.linalg.eigh(0.5 * (H + H.T))
    return values, basis @ vectors


@dataclass(frozen=True)
class InverseHessian:
    """The preconditioner |H|^{-1} of the Hessian at a point; across its tangent space 1/|H|_2.

    Attributes
    ----------
    manifold : Manifold
    inverse : ndarray (size, size)
    """

    manifold: Manifold
    inverse: Array

    @classmethod
    def at(cls, manifold: Manifold, point: RiemannianPoint) -> InverseHessian:
        values, vectors = spectrum(manifold, point)
        curvatures = np.abs(values)
        largest = curvatures.max()
        rates = 1.0 / np.maximum(curvatures, _LEAST * largest) - 1.0 / largest
        inverse = (vectors * rates) @ vectors.T
        inverse.flat[:: len(inverse) + 1] += 1.0 / largest
        return cls(manifold, inverse)

    def __call__(self, N: Array, U: Array) -> Array:
        return self.manifold.project(N, (self.inverse @ U.reshape(-1)).reshape(U.shape))
