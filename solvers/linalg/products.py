"""Eigenvectors of matrices given by products, by a locally optimal block method."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ldr.solvers.deadline import check
from ldr.solvers.linalg.krylov import SymmetricOperator, complement
from ldr.solvers.linalg.rounding import EMPTY
from ldr.solvers.manifolds import Array
from ldr.solvers.manifolds.manifold import sym

if TYPE_CHECKING:
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import LinearOperator

# Block iterations stop at this residual, relative to its terms, or after this number of steps.
_RESIDUAL, _STEPS = 1e-10, 300
# Conjugate gradients stop at this residual relative to the right side, or after this many steps.
_SOLVED, _SOLVING_STEPS = 1e-11, 500
_EPS = float(np.finfo(float).eps)

# Function that solves a problem of small matrices A and B. It returns the solutions as columns of
# U, best first, and two vectors s and t such that AU = BU diag(s) + U diag(t).
Small = Callable[[Array, Array], tuple[Array, Array, Array]]
Preconditioned = Callable[[Array, Array, Array], Array]


@dataclass(frozen=True, eq=False)
class LessMeans:
    """The matrix Z = K - ab' with a sparse K, for products; Z is never formed."""

    K: csr_array
    a: Array
    b: Array

    def __matmul__(self, Y: Array) -> Array:
        check()
        return np.asarray(self.K @ Y - np.multiply.outer(self.a, self.b @ Y))

    def __mul__(self, number: float) -> LessMeans:
        return LessMeans(self.K * number, self.a, self.b * number)

    @cached_property
    def T(self) -> LessMeans:
        return LessMeans(self.K.T, self.b, self.a)

    @property
    def shape(self) -> tuple[int, int]:
        n, d = self.K.shape
        return n, d

    def sizes(self, Y: Array) -> Array:
        """Return (|K| + |a||b|')|Y|, a bound of the terms summed in (K - ab')Y."""
        Y = np.abs(Y)
        return np.asarray(abs(self.K) @ Y + np.multiply.outer(np.abs(self.a), np.abs(self.b) @ Y))

    def columns(self, which: npt.NDArray[np.intp]) -> LessMeans:
        """Return the matrix of some columns of Z = K - ab'."""
        return LessMeans(self.K[:, which], self.a, self.b[which])

    def operator(self) -> LinearOperator:
        """Return the matrix as an operator of SciPy."""
        from scipy.sparse.linalg import LinearOperator

        times, back = self.__matmul__, self.T.__matmul__
        return LinearOperator(self.shape, times, back, times, np.float64, back)


@dataclass(frozen=True)
class Found:
    """Approximate solutions with their residual.

    - V (d, m): columns, the wanted ones first
    - residual: norm of the residual relative to the terms that cancel
    - products: number of vectors multiplied by A and B
    """

    V: Array
    residual: float
    products: int

    @classmethod
    def last(cls, steps: Iterator[Found]) -> Found:
        """Return the first iterate with a residual below the tolerance, or the last iterate."""
        for _, found in zip(range(_STEPS), steps, strict=False):
            check()
            if found.residual <= _RESIDUAL:
                break
        return found


def _steps(
    A: SymmetricOperator,
    B: SymmetricOperator,
    start: Array,
    r: int,
    small: Small,
    preconditioned: Preconditioned,
) -> Iterator[Found]:
    """Yield the best r columns on the bases [block, last step, preconditioned residual].

    The start has as many columns as the block. The iteration ends if the basis spans the residuals.

    Source: locally optimal blocks as in A. V. Knyazev, SIAM J. Sci. Comput. 23 (2001).
    """
    m = products = start.shape[1]
    start = np.linalg.qr(start / np.linalg.norm(start, axis=0))[0]
    basis = np.stack([start, A @ start, B @ start])
    while True:
        # No variables refer to parts of `basis`: they would keep the old basis in memory.
        U, s, t = (each[..., :m] for each in small(*(sym(basis[0].T @ part) for part in basis[1:])))
        X, AX, BX = basis @ U
        R = AX - BX * s - X * t
        sizes = np.linalg.norm(AX, axis=0) + np.linalg.norm(BX * s, axis=0)
        residual = float((np.linalg.norm(R, axis=0) / sizes)[:r].max())
        yield Found(X, residual, products)
        best, last = np.linalg.qr(U)[0], np.vstack([np.zeros((m, m)), U[m:]])
        basis = basis @ np.hstack([best, complement(best, last)])
        T = complement(basis[0], preconditioned(R, s, t))
        if not T.shape[1]:
            return
        basis = np.pad(basis, [(0, 0), (0, 0), (0, T.shape[1])])
        basis[..., -T.shape[1] :] = T, A @ T, B @ T
        products += T.shape[1]


def ratio_steps(
    A: SymmetricOperator,
    B: SymmetricOperator,
    start: Array,
    weights: Array,
    preconditioned: Preconditioned,
) -> Iterator[Found]:
    """Yield iterates with increasing tr(VM'AM)/tr(VM'BM); V = diag(weights)."""

    def small(A: Array, B: Array) -> tuple[Array, Array, Array]:
        """Apply Newton's method from the ratio of the first columns."""
        r = len(weights)
        rho = float(weights @ np.diag(A)[:r]) / float(weights @ np.diag(B)[:r])
        while True:
            theta, Q = np.linalg.eigh(A - rho * B)
            theta, Q = theta[::-1], Q[:, ::-1]
            U = Q[:, :r] * weights
            ratio = float(np.vdot(U, A @ Q[:, :r])) / float(np.vdot(U, B @ Q[:, :r]))
            if not ratio - rho > 4 * _EPS * abs(rho):
                return Q, np.full(len(theta), rho), theta
            rho = ratio

    return _steps(A, B, start, len(weights), small, preconditioned)


def largest_pairs(A: SymmetricOperator, B: SymmetricOperator, start: Array, r: int) -> Found:
    """Compute the top r generalised eigenvectors of (A, B) in B's range; diag B is near 1."""

    def small(A: Array, B: Array) -> tuple[Array, Array, Array]:
        sizes, Q = np.linalg.eigh(B)
        kept = sizes > EMPTY * sizes[-1]
        W = Q[:, kept] / np.sqrt(sizes[kept])
        values, U = np.linalg.eigh(W.T @ A @ W)
        return (W @ U)[:, ::-1], values[::-1], np.zeros(len(values))

    return Found.last(_steps(A, B, B @ start, r, small, lambda R, s, t: R))


def conjugate_gradients(H: Callable[[Array], Array], R: Array) -> tuple[Array, int]:
    """Return H^{-1}R for a positive definite H, and the number of products with H."""
    X, left, steps = np.zeros_like(R), R.copy(), 0
    p, size = left.copy(), np.sum(left * left, axis=0)
    enough = _SOLVED * np.sqrt(size)
    while steps < _SOLVING_STEPS and (np.sqrt(size) > enough).any():
        Hp = H(p)
        curved = np.sum(p * Hp, axis=0)
        step = np.divide(size, curved, where=curved > 0, out=np.zeros_like(size))
        X += step * p
        left -= step * Hp
        before, size = size, np.sum(left * left, axis=0)
        p *= np.divide(size, before, where=before > 0, out=np.zeros_like(size))
        p += left
        steps += 1
    return X, steps * R.shape[1]


def columns_of(width: int, V: Array) -> Array:
    """Return the first `width` columns of V, padded with random columns."""
    more = np.random.default_rng(0).standard_normal((len(V), max(0, width - V.shape[1])))
    return np.hstack([V[:, :width], more])
