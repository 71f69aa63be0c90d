"""The inverse of the Riemannian Hessian at an optimum, which its derivatives are made of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np
import scipy

from ldr.solvers.deadline import check
from ldr.solvers.manifolds import Array, Manifold
from ldr.solvers.manifolds.manifold import sym
from ldr.solvers.problem import Problem, RiemannianPoint, RiemannianProblem

# If a point has at most this many numbers, the Hessian is a dense matrix with known eigenvalues.
_EXACT = 400
# A curvature below this share of the largest curvature, or of the value, is zero.
FLAT, _NONE = 1e-10, 1e-12


def hessian_eigen(
    manifold: Manifold, point: RiemannianPoint, free: Array | None = None
) -> tuple[Array, Array]:
    """Return eigenvalues of the Hessian, and eigenvectors as columns of flat tangent vectors.

    They are those on the complement of `free`, orthonormal columns of flat tangent vectors.
    """
    M, size = point.M, point.M.size
    check()
    projector = manifold.project(M, np.eye(size).reshape(size, *M.shape)).reshape(size, size)
    if free is not None:
        projector = projector - free @ free.T
    there, basis = np.linalg.eigh(sym(projector))
    basis = basis[:, there > 0.5]
    products = [point.hessian(U.reshape(M.shape)).reshape(-1) for U in basis.T]
    values, vectors = np.linalg.eigh(sym(basis.T @ np.array(products).T.reshape(size, -1)))
    return values, basis @ vectors


class FlatError(ArithmeticError):
    """The Hessian has no inverse: along a unit tangent vector there is no curvature.

    - largest: the largest curvature
    """

    def __init__(self, direction: Array, curvature: float, largest: float) -> None:
        super().__init__("the Hessian is singular")
        self.direction, self.curvature, self.largest = direction, curvature, largest


class HessianInverse:
    """Hess^{-1} on the tangent vectors at M that are orthogonal to some that change nothing.

    If a point has few numbers the Hessian is decomposed; otherwise it is inverted by conjugate
    gradients, which needs a minimum.

    - M: a point where the gradient vanishes
    - free: tangent vectors along which the function is constant
    """

    def __init__(self, problem: Problem, M: Array, free: Sequence[Array] = ()) -> None:
        self._problem = RiemannianProblem(problem)
        self._point: RiemannianPoint = self._problem.at(M)
        self._free = _orthonormal(free, M.size)

    @property
    def M(self) -> Array:
        return self._point.M

    @property
    def gradient(self) -> Array:
        return self._across(self._point.gradient)

    def __call__(self, Z: Array) -> Array:
        """The U with Hess[U] = Z; Z is projected first.

        - raises FlatError
        """
        Z = self._across(self._problem.manifold.project(self.M, Z))
        return self._exactly(Z) if self.M.size <= _EXACT else self._by_products(Z)

    def _across(self, Z: Array) -> Array:
        """Return Z without its part along the free directions."""
        rest = Z.reshape(-1) - self._free @ (self._free.T @ Z.reshape(-1))
        return rest.reshape(Z.shape)

    def _product(self, U: Array) -> Array:
        return self._across(self._problem.manifold.project(self.M, self._point.hessian(U)))

    @cached_property
    def _eigen(self) -> tuple[Array, Array]:
        return hessian_eigen(self._problem.manifold, self._point, self._free)

    def _exactly(self, Z: Array) -> Array:
        values, vectors = self._eigen
        if not len(values):
            return np.zeros_like(Z)
        least, largest = int(np.argmin(np.abs(values))), float(np.abs(values).max())
        if not abs(values[least]) > max(FLAT * largest, _NONE * abs(self._point.value)):
            direction = vectors[:, least].reshape(Z.shape)
            raise FlatError(direction, float(values[least]), largest)
        U = vectors @ ((vectors.T @ Z.reshape(-1)) / values)
        return U.reshape(Z.shape)

    def _by_products(self, Z: Array) -> Array:
        """Preconditioned conjugate gradients."""
        inner, M = self._problem.manifold.inner, self.M
        precondition = self._problem.problem.preconditioner(M)
        U, residual = np.zeros_like(Z), Z
        target = 1e-13 * math.sqrt(inner(M, Z, Z))
        direction, previous, largest = np.zeros_like(Z), 0.0, 0.0
        for _ in range(4 * self._problem.manifold.dimension):
            if math.sqrt(inner(M, residual, residual)) <= target:
                break
            z = residual if precondition is None else self._across(precondition(M, residual))
            rz = inner(M, residual, z)
            direction = z + (rz / previous if previous else 0.0) * direction
            previous = rz
            HD = self._product(direction)
            curvature, size = inner(M, direction, HD), inner(M, direction, direction)
            largest = max(largest, abs(curvature) / size)
            if not curvature > FLAT * largest * size:
                raise FlatError(direction / math.sqrt(size), curvature / size, largest)
            U = U + (rz / curvature) * direction
            residual = residual - (rz / curvature) * HD
        return U


def _orthonormal(directions: Sequence[Array], size: int) -> Array:
    """An orthonormal basis of the span, as columns of flat vectors."""
    if not directions:
        return np.zeros((size, 0))
    together = np.array([U.reshape(-1) for U in directions]).T
    Q, values, _ = scipy.linalg.svd(together, full_matrices=False)
    return np.asarray(Q[:, values > 0.5 * max(1e-8, float(values[0]))])
