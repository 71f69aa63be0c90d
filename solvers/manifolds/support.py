"""Orthonormal or unconstrained matrices with fixed zeros, for penalised problems."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np

from ldr.solvers.errors import ArgumentError
from ldr.solvers.linalg.rounding import FACTOR_ROUNDING
from ldr.solvers.manifolds.manifold import (
    Array,
    Euclidean,
    Manifold,
    Orthonormal,
    Product,
    polar_factor,
    sym,
)

_NEWTON_STEPS = 20
# M is orthonormal to machine precision if all entries of M'M - I are below this value.
_ORTHONORMAL = 4 * float(np.finfo(float).eps)


@lru_cache(maxsize=8)
def _symmetric_basis(r: int) -> Array:
    """An orthonormal basis (p, r, r) of the symmetric r x r matrices, p = r(r + 1)/2."""
    i, j = np.triu_indices(r)
    basis, k = np.zeros((len(i), r, r)), np.arange(len(i))
    basis[k, i, j] = basis[k, j, i] = np.where(i == j, 1.0, math.sqrt(0.5))
    return basis


class SymmetricEquations:
    """Equations sym(A'(D o (B S))) = R for a symmetric S (r, r); D is 0 or 1, o entrywise.

    The unknowns are the r(r + 1)/2 coordinates of S in an orthonormal basis of the symmetric
    matrices. Forming the equations from the columns B_c and D_c takes O(d r^3) operations. If two
    columns have no common nonzero row, the equations do not determine the entry of S for this pair,
    and the solution of least norm sets the entry to zero.

    - A, B, D (d, r)
    """

    def __init__(self, A: Array, B: Array, D: Array) -> None:
        self._basis = basis = _symmetric_basis(A.shape[1])
        K = A.T @ (D.T[:, :, None] * B)
        images = np.matmul(basis.swapaxes(0, 1), K.swapaxes(1, 2)).swapaxes(0, 1)
        self.matrix = basis.reshape(len(basis), -1) @ images.reshape(len(basis), -1).T

    @cached_property
    def _inverse(self) -> Array:
        """The pseudo-inverse: the zeros of M can make columns orthogonal by themselves."""
        if not np.isfinite(self.matrix).all():
            return np.full_like(self.matrix, np.nan)
        return np.linalg.pinv(self.matrix, FACTOR_ROUNDING)

    def coordinates(self, S: Array) -> Array:
        """Return the coordinates of the symmetric part of S."""
        return self._basis.reshape(len(self._basis), -1) @ S.ravel()

    def symmetric(self, coordinates: Array) -> Array:
        """Return the symmetric matrix with the given coordinates."""
        return np.tensordot(coordinates, self._basis, axes=1)

    def solve(self, R: Array) -> Array:
        """Return the least-squares solution S of least norm; NaN if equations are not finite."""
        return self.symmetric(self._inverse @ self.coordinates(R))


@dataclass(frozen=True, eq=False)
class SparseStiefel(Orthonormal):
    """Manifold {M : M'M = I, m_ij = 0 off the support} with metric tr(U'V), near full rank.

    A tangent vector V at M has the zeros of M, and M'V + V'M = 0. The retraction is orthographic,
    of second order: the point M + V + D o (MS) with a symmetric S and D the support, that is, M + V
    plus a normal vector at M.

    Source: P.-A. Absil and J. Malick, Projection-like retractions on matrix manifolds, SIAM J.
    Optim. 22 (2012).

    - support (d, r): 1 where an entry is free, 0 where it is zero
    """

    support: Array
    retraction: str = "orthographic"
    _last: tuple[Array, SymmetricEquations] | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        for name, size in zip(("d", "r"), self.support.shape, strict=True):
            object.__setattr__(self, name, size)

    @property
    def dimension(self) -> int:
        """Number of free entries, minus constraints for columns and for overlapping pairs."""
        shared = self.support.T @ self.support > 0
        return max(int(self.support.sum()) - int(np.triu(shared).sum()), 0)

    @property
    def diameter(self) -> float:
        return math.pi * math.sqrt(self.r)

    def multiplier(self, M: Array, Z: Array) -> Array:
        """Return S such that D o (Z - MS) is tangent, D the support."""
        return self._equations(M).solve(sym(M.T @ (self.support * Z)))

    def _equations(self, M: Array) -> SymmetricEquations:
        """Return the equations of the multipliers at M, cached for repeated projections."""
        if self._last and np.array_equal(self._last[0], M):
            return self._last[1]
        equations = SymmetricEquations(M, M, self.support)
        object.__setattr__(self, "_last", (M.copy(), equations))
        return equations

    def project(self, M: Array, Z: Array) -> Array:
        if Z.ndim > 2:
            return np.stack([self.project(M, z) for z in Z]) if len(Z) else Z
        return self.support * (Z - M @ self.multiplier(M, Z))

    def curve(self, M: Array, V: Array, t: float = 1.0) -> tuple[Array, Array]:
        """Return N = M + tV + D o (MS) with N'N = I, and dN/dt = V + D o (M dS/dt)."""
        N = self.retract(M, t * V)
        equations = SymmetricEquations(N, M, self.support)
        return N, V - self.support * (M @ equations.solve(sym(N.T @ V)))

    def retract(self, M: Array, V: Array) -> Array:
        N = _newton(M + V, self.support, lambda N: M)
        # If a step is too long for the retraction, NaN makes the line search take a shorter step.
        return np.full_like(M, np.nan) if N is None else N

    def random_point(self, rng: np.random.Generator) -> Array:
        """Return a point near a random matrix with the support."""
        for _ in range(_NEWTON_STEPS):
            N = with_zeros(self.support * rng.standard_normal(self.shape), self.support)
            if N is not None:
                return N
        raise ArgumentError("no orthonormal matrix with the prescribed zero entries was found")


@dataclass(frozen=True, eq=False)
class SparseEuclidean(Euclidean):
    """The space of matrices with fixed zeros.

    - support (d, r): 1 where an entry is free, 0 where it is zero
    """

    support: Array = field(kw_only=True)

    @property
    def dimension(self) -> int:
        return int(np.sum(self.support))

    def project(self, M: Array, Z: Array) -> Array:
        return self.support * Z

    def hessian(self, M: Array, S: None, V: Array, HV: Array) -> Array:
        return self.support * HV


def on_support(manifold: Manifold, support: Array) -> Manifold:
    """Return the submanifold of matrices that are zero off the support."""
    match manifold:
        case Product(factors=factors):
            parts = zip(factors, manifold.split(support), strict=True)
            return Product(*(on_support(factor, part) for factor, part in parts))
        case Orthonormal():
            return SparseStiefel(support)
        case Euclidean(d=d, r=r):
            return SparseEuclidean(d, r, support=support)
    raise ArgumentError(f"the manifold {manifold} does not support prescribed zero entries of M")


def with_zeros(Y: Array, support: Array) -> Array | None:
    """Find an orthonormal matrix near Y that is zero off the support, by Gauss-Newton steps."""
    if not np.any(Y, axis=0).all():
        return None
    scaled = Y / np.abs(Y).max(axis=0)  # scaled, so that squares do not underflow
    return _newton(scaled / np.linalg.norm(scaled, axis=0), support, lambda N: N)


def _newton(Y: Array, support: Array, normal: Callable[[Array], Array]) -> Array | None:
    """Return Y moved by D o (normal S) until orthonormal; None if Newton's method fails.

    N'N + 2 sym(N'(D o (normal S))) = I is Newton's equation for S.
    """
    identity, N, last = np.eye(Y.shape[1]), Y, math.inf
    for _ in range(_NEWTON_STEPS):
        residual = identity - N.T @ N
        error = float(np.abs(residual).max())
        if error <= _ORTHONORMAL or (error >= last and error <= 16 * _ORTHONORMAL):
            return N
        if not error < min(1.0, 2.0 * last):
            return None
        across, last = normal(N), error
        S = SymmetricEquations(N, across, support).solve(0.5 * residual)
        N = N + support * (across @ S)
    return None


def nearest_with_its_zeros(manifold: Manifold, M: Array) -> Array:
    """Return the point near M with M's zeros, factor by factor."""
    pairs = zip(manifold.factors, manifold.split(M), strict=True)
    return manifold.join(
        [nearest_with_zeros(Z) if isinstance(f, Orthonormal) else Z for f, Z in pairs]
    )


def nearest_with_zeros(Y: Array) -> Array:
    """Return an orthonormal matrix near Y with Y's zeros; the polar factor if none exists."""
    N = with_zeros(Y, (Y != 0).astype(np.float64))
    return polar_factor(polar_factor(Y)) if N is None else N
