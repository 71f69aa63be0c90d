"""The inverse Riemannian Hessian at an optimum, for derivatives of the optimum."""

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

# Number of entries of M up to which a dense Hessian is decomposed.
FEW_NUMBERS = 400
# A curvature counts as zero below these shares of the largest curvature and of |f|.
FLAT, _NONE = 1e-10, 1e-12


def hessian_eigen(
    manifold: Manifold, point: RiemannianPoint, free: Array | None = None
) -> tuple[Array, Array]:
    """Return eigenvalues of the Hessian, and eigenvectors as flattened tangent vectors.

    The Hessian is restricted to the orthogonal complement of `free`, which has orthonormal
    flattened tangent vectors as columns.
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
    """The Hessian is singular: the curvature along a unit tangent vector is zero.

    - largest: largest curvature
    """

    def __init__(self, direction: Array, curvature: float, largest: float) -> None:
        super().__init__("the Hessian is singular")
        self.direction, self.curvature, self.largest = direction, curvature, largest


class HessianInverse:
    """The inverse Hessian on tangent vectors at M that are orthogonal to the vectors `free`.

    A small Hessian is decomposed into eigenvectors. For a large Hessian conjugate gradients solve
    the equations; M must then be a minimum.

    - M: a stationary point
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
        """Return U with Hess[U] = Z, after projecting Z.

        - raises FlatError: The Hessian is singular.
        """
        Z = self._across(self._problem.manifold.project(self.M, Z))
        return self._exactly(Z) if self.M.size <= FEW_NUMBERS else self._by_products(Z)

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
        U = np.zeros_like(Z)
        for _ in range(2):  # the second step refines U where columns have different units
            residual = (Z - self._product(U)).reshape(-1)
            U = U + (vectors @ ((vectors.T @ residual) / values)).reshape(Z.shape)
        return U

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
