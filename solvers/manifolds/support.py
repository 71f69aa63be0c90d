"""Orthonormal or free matrices with fixed zeros: where a sparse solution is smooth."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt
from scipy.linalg.lapack import (
    dgecon,
    dgetrf,
    dgetrs,
    dlange,
    dpocon,
    dpotrf,
    dpotrs,
    dpstrf,
    dtrtrs,
)

from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds.manifold import Array, Euclidean, Manifold, Product
from ldr.solvers.manifolds.orthonormal import Orthonormal, polar_factor, sym

_NEWTON_STEPS = 20
# Share of the error that a step with equations of a point nearby may leave.
_FAST = 0.1
# M'M = I to this, entry by entry, is as good as rounding allows.
_ORTHONORMAL = 4 * float(np.finfo(float).eps)
# Singular values of a multiplier's equations below this, relative to the largest, are zero: there
# the zeros of M make some columns orthogonal by themselves.
RANK = 1e-12


@dataclass(frozen=True, eq=False)
class _Basis:
    """Of the symmetric r x r matrices, and how their equations are put together.

    - entries (p,): rows and columns of those on and above the diagonal
    - sizes (p,): the entries of the basis
    - places: of K_cab in the p x p matrix, column by column: the row of (a, c), the column of (b,
      c)
    - products (r, r, r): of the sizes there
    """

    entries: tuple[npt.NDArray[np.intp], ...]
    sizes: Array
    places: npt.NDArray[np.intp]
    products: Array

    @classmethod
    @lru_cache(maxsize=8)
    def of(cls, r: int) -> _Basis:
        i, j = entries = np.triu_indices(r)
        sizes = np.where(i == j, 1.0, math.sqrt(0.5))
        place = np.empty((r, r), dtype=np.intp)
        place[entries] = place.T[entries] = np.arange(len(sizes))
        places = place[:, :, None] + place[:, None, :] * len(sizes)
        size = sizes[place]
        return cls(entries, sizes, places.ravel(), size[:, :, None] * size[:, None, :])


class SymmetricEquations:
    """sym(A'(D o (B S))) = R for a symmetric r x r matrix S, D of zeros and ones.

    The column c of B S meets K_c = A' diag(D_c) B only, so that O(d r^3) makes the equations, in
    r(r + 1)/2 unknowns. Of two columns that share no rows S has an entry that nothing depends on,
    and that is zero in the solution.

    - A, B, D (d, r)
    """

    def __init__(self, A: Array, B: Array, D: Array) -> None:
        self._semidefinite = A is B
        self._basis = _Basis.of(A.shape[1])
        rows = (column.nonzero()[0] for column in np.ascontiguousarray(D.T))
        parts = ((A[at], A[at] if A is B else B[at]) for at in rows)
        self._K = np.stack([a.T @ b for a, b in parts])

    @property
    def matrix(self) -> Array:
        """In an orthonormal basis of the symmetric matrices, of one entry or of two that are equal.

        Entries (a, c) and (b, c) of S meet through K_c alone. Made anew, in the order of Fortran:
        its factors may take its place.
        """
        p = len(self._basis.sizes)
        terms = (self._K * self._basis.products).ravel()
        matrix = np.bincount(self._basis.places, terms, p * p).reshape(p, p, order="F")
        return np.asarray(matrix, dtype=np.float64)

    @cached_property
    def _idle(self) -> npt.NDArray[np.bool_]:
        """Entries that nothing depends on."""
        live = np.any(self._K, axis=1) | np.any(self._K, axis=2)
        return np.asarray(~(live | live.T)[self._basis.entries])

    @cached_property
    def _solved(self) -> Callable[[Array], Array]:
        """The solution in the basis: by Cholesky or LU factors, of least norm where they fail."""
        matrix = self.matrix
        matrix[self._idle, self._idle] = 1.0
        size = float(dlange("1", matrix))
        if not math.isfinite(size):
            return lambda given: np.full_like(given, np.nan)
        if self._semidefinite:
            factor, failed = dpotrf(matrix, overwrite_a=True)
            if not failed and dpocon(factor, size)[0] >= RANK:
                return lambda given: dpotrs(factor, given)[0]
            return least_solution(self.matrix)
        LU, pivots, failed = dgetrf(matrix, overwrite_a=True)
        if not failed and dgecon(LU, size)[0] >= RANK:
            return lambda given: dgetrs(LU, pivots, given)[0]
        inverse = np.linalg.pinv(self.matrix, RANK)
        return lambda given: inverse @ given

    def coordinates(self, S: Array) -> Array:
        """S in the basis."""
        return sym(S)[self._basis.entries] / self._basis.sizes

    def symmetric(self, coordinates: Array) -> Array:
        """The symmetric matrix with these coordinates."""
        entries, S = self._basis.entries, np.zeros(self._K.shape[1:])
        S[entries] = S.T[entries] = self._basis.sizes * coordinates
        return S

    def solve(self, R: Array) -> Array:
        """The solution of least norm in the sense of least squares; NaN where R is not finite."""
        given = self.coordinates(R)
        if not np.isfinite(given).all():
            return np.full_like(R, np.nan)
        return self.symmetric(self._solved(np.where(self._idle, 0.0, given)))


def least_solution(matrix: Array) -> Callable[[Array], Array]:
    """The product with the pseudo-inverse of a semidefinite matrix, as a function.

    With pivots P'AP = [U1 U2]'[U1 U2], U1 triangular: columns of [-U1^{-1}U2; I] span the null
    space, and U1 solves for the first entries of what is orthogonal to it.
    """
    floor = RANK * float(matrix.diagonal().max(initial=0.0))
    U, pivots, rank, _ = dpstrf(matrix, tol=floor)
    order = pivots - 1
    U1, leading = np.asfortranarray(U[:rank, :rank]), order[:rank]
    null = np.eye(len(matrix))[:, order[rank:]]
    null[leading] = -dtrtrs(U1, U[:rank, rank:])[0]
    null = np.linalg.qr(null)[0]

    def solution(given: Array) -> Array:
        found = np.zeros_like(given)
        found[leading] = dpotrs(U1, (given - null @ (null.T @ given))[leading])[0]
        return found - null @ (null.T @ found)

    return solution


@dataclass(frozen=True, eq=False)
class SparseStiefel(Orthonormal):
    """{M : M'M = I, m_ij = 0 off the support} with the metric tr(U'V), near a point of full rank.

    Tangent vectors have the zeros and M'V + V'M = 0. The retraction is orthographic: M + V is
    brought back along the normal space at M, M + V + D o (MS) with a symmetric S, which is
    second-order.

    Source of the retraction: P.-A. Absil and J. Malick, Projection-like retractions on matrix
    manifolds, SIAM J. Optim. 22 (2012).

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
        """Free entries less one constraint a column and one a pair of columns that share rows."""
        shared = self.support.T @ self.support > 0
        return max(int(self.support.sum()) - int(np.triu(shared).sum()), 0)

    @property
    def diameter(self) -> float:
        return math.pi * math.sqrt(self.r)

    def multiplier(self, M: Array, Z: Array) -> Array:
        """S with D o (Z - MS) tangent."""
        return self._equations(M).solve(sym(M.T @ (self.support * Z)))

    def _equations(self, M: Array) -> SymmetricEquations:
        """Those of the multipliers at M, which many vectors are projected at in a row."""
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
        """With N = M + tV + D o (MS) and N'N = I, dN = V + D o (M dS), sym(N'dN) = 0."""
        N = self.retract(M, t * V)
        equations = SymmetricEquations(N, M, self.support)
        return N, V - self.support * (M @ equations.solve(sym(N.T @ V)))

    def retract(self, M: Array, V: Array) -> Array:
        N = _newton(M + V, self.support, lambda N: M, self._equations(M))
        # Too far: no such point, which a line search takes for a wall.
        return np.full_like(M, np.nan) if N is None else N

    def random_point(self, rng: np.random.Generator) -> Array:
        """The point near a random matrix with these zeros; some supports have none."""
        for _ in range(_NEWTON_STEPS):
            N = with_zeros(self.support * rng.standard_normal(self.shape), self.support)
            if N is not None:
                return N
        raise ArgumentError("no orthonormal matrix with this support was found")


@dataclass(frozen=True, eq=False)
class SparseEuclidean(Euclidean):
    """Matrices with fixed zeros.

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
    """The points of a manifold that are zero where `support` is."""
    match manifold:
        case Product(factors=factors):
            parts = zip(factors, manifold.split(support), strict=True)
            return Product(*(on_support(factor, part) for factor, part in parts))
        case Orthonormal():
            return SparseStiefel(support)
        case Euclidean(d=d, r=r):
            return SparseEuclidean(d, r, support=support)
    raise ArgumentError(f"there is no form of the manifold {manifold} with fixed zeros")


def with_zeros(Y: Array, support: Array) -> Array | None:
    """An orthonormal matrix near Y with the zeros of the support, by Gauss-Newton steps."""
    if not np.any(Y, axis=0).all():
        return None
    scaled = Y / np.abs(Y).max(axis=0)  # whose squares are not lost
    return _newton(scaled / np.linalg.norm(scaled, axis=0), support, lambda N: N)


def _newton(
    Y: Array,
    support: Array,
    normal: Callable[[Array], Array],
    equations: SymmetricEquations | None = None,
) -> Array | None:
    """Y moved by D o (normal S) until it is orthonormal; None where that fails.

    N'N + 2 sym(N'(D o (normal S))) = I is Newton's equation for S. The equations of a point nearby
    will do, those given say, as long as the error falls fast.
    """
    identity = np.eye(Y.shape[1])
    N, last, fresh = Y, math.inf, True
    for _ in range(_NEWTON_STEPS):
        residual = identity - N.T @ N
        error = float(np.abs(residual).max())
        if not error < 1.0:
            return None
        if error <= _ORTHONORMAL or (error >= last and error <= 16 * _ORTHONORMAL):
            return N
        if error >= 2.0 * last and fresh:
            return None
        across = normal(N)
        fresh = equations is None or error > _FAST * last
        if equations is None or fresh:
            equations = SymmetricEquations(N, across, support)
        last = error
        N = N + support * (across @ equations.solve(0.5 * residual))
    return None


def nearest_with_its_zeros(manifold: Manifold, M: Array) -> Array:
    """The point near M that has M's zeros, factor by factor."""
    pairs = zip(manifold.factors, manifold.split(M), strict=True)
    return manifold.join(
        [nearest_with_zeros(Z) if isinstance(f, Orthonormal) else Z for f, Z in pairs]
    )


def nearest_with_zeros(Y: Array) -> Array:
    """An orthonormal matrix near Y with Y's zeros; the polar factor where there is none."""
    N = with_zeros(Y, (Y != 0).astype(np.float64))
    return polar_factor(polar_factor(Y)) if N is None else N
