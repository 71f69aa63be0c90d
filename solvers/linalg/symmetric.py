"""Symmetric matrices: products with a few columns, and factors of semidefinite ones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg.blas import dsymv, dsyrk, dtrmm
from scipy.linalg.lapack import dpotrf, dpstrf

from ldr.solvers.limits import CHOLESKY_COST, decomposing
from ldr.solvers.manifolds import Array

if TYPE_CHECKING:
    from ldr.solvers.linalg.krylov import SymmetricOperator

# A product with few columns waits for the matrix. Column by column half of it is read: measured
# against a general product, 2 to 4 times as fast up to 6 columns from order 128 on, slower at 10
# columns or order 64.
_FEW_COLUMNS = 6
_LEAST_ORDER = 128
# Pivots of a matrix with a unit diagonal below its order times this are rounding.
_ROUNDING = 1e-16


def symmetric_product(S: Array | SymmetricOperator, Z: Array) -> Array:
    """S Z for the symmetric S (k x k; contiguous, or known by its products) and Z (k x m)."""
    k, m = Z.shape
    if not isinstance(S, np.ndarray):
        return np.asarray(S @ Z)
    if k < _LEAST_ORDER or not 1 < m <= _FEW_COLUMNS:
        return S.dot(Z)
    triangle = S.T if S.flags.c_contiguous else S  # in BLAS's order: no copy
    product = np.empty((k, m), order="F")
    for z, column in zip(Z.T, product.T, strict=True):
        dsymv(1.0, triangle, z, y=column, overwrite_y=1)
    return product


def on_diagonal(H: Array) -> Array:
    """The diagonal of H to write to."""
    return np.einsum("ii->i", H)


def cholesky(H: Array) -> Array | None:
    """Cholesky's factor of H, in H's place, below and on the diagonal; None if H is not positive
    definite. H is in LAPACK's order.
    """
    with decomposing(len(H), CHOLESKY_COST):
        factor, failed = dpotrf(H, lower=1, overwrite_a=1, clean=0)
    return None if failed else np.asarray(factor)


def full_factor(K: Array) -> Array:
    """L (n x p) with K = LL' to rounding, by Cholesky with pivots; p is K's numerical rank.

    K is positive semidefinite, its diagonal 1 (or 0).
    """
    L, pivots, rank, _ = dpstrf(K, tol=_ROUNDING * len(K), lower=1)
    factor = np.empty((len(K), rank))
    factor[pivots - 1] = np.tril(L)[:, :rank]
    return factor


def scaled_factor(S: Array) -> Array:
    """F (p x k) with S = F'F to rounding of sqrt(S_ii S_jj), whatever the units of the columns.

    Sums of squares of its columns cancel nothing where differences of traces would.
    """
    scale = np.sqrt(np.maximum(np.diag(S), 0.0))
    inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
    return full_factor(S * inverse * inverse[:, None]).T * scale


def defect_of(W: Array, B: Array) -> float:
    """||W'BW - I||, of B = LL' by half of the products of ||W'L L'W - I||."""
    L = cholesky(np.array(B.T, order="F"))
    if L is None:
        return float(np.linalg.norm(W.T @ B @ W - np.eye(W.shape[1])))
    upper = dsyrk(1.0, dtrmm(1.0, L, W.T, side=1, lower=1))
    diagonal = on_diagonal(upper)
    diagonal -= 1.0
    return math.sqrt(2.0 * float(np.vdot(upper.T, upper.T)) - float(diagonal @ diagonal))
