"""The largest eigenvalues of a symmetric operator, by products with blocks of vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ldr.solvers.linalg.rounding import EMPTY
from ldr.solvers.manifolds import Array
from ldr.solvers.manifolds.manifold import sym

# Number of extra columns of a block, which accelerate the convergence of the wanted eigenvectors.
_OVERSAMPLING = 6
# Largest number of blocks in a Krylov basis, and the number that is allowed for any block size.
_BLOCKS, _FEWEST_BLOCKS = 8, 3
# Memory limit of a Krylov basis V and its product AV: largest number of entries of both matrices.
_ROOM_NUMBERS = 2**23


class SymmetricOperator(Protocol):
    """A symmetric matrix with a method for products, stored or not."""

    def __matmul__(self, V: Array) -> Array: ...


class SizedOperator(SymmetricOperator, Protocol):
    """Symmetric operator with a known order."""

    @property
    def shape(self) -> tuple[int, ...]: ...


@dataclass(frozen=True)
class Ritz:
    """Approximate eigenpairs of a symmetric A (Ritz pairs), with residuals.

    - values (r,): descending
    - vectors (k, r): orthonormal columns
    - residual: largest |Av - theta v|, an upper bound of each theta's distance from A's spectrum
    - products: number of vectors multiplied by A
    - block (k, b): the vectors, with the extra columns of the block
    """

    values: Array
    vectors: Array
    residual: float
    products: int
    converged: bool
    block: Array

    @property
    def accuracy(self) -> float:
        """The residual, relative to the largest eigenvalue."""
        size = float(np.abs(self.values).max())
        return self.residual / size if size > 0 else 0.0


def block_krylov(
    A: SizedOperator,
    r: int,
    *,
    tolerance: float,
    most_products: int,
    seed: int = 0,
    near: Array | None = None,
) -> Ritz:
    """Compute the r largest eigenvalues of A and their eigenvectors, from a random block.

    The method is Rayleigh-Ritz on the block Krylov space of A and a random k x b block, b somewhat
    above r, with full orthogonalisation. A basis of many blocks is truncated to its best Ritz
    vectors. The matrix A is read once for b vectors. No eigenvalue of multiplicity up to b is
    missed, which methods of single vectors cannot guarantee.

    Source: C. Musco and C. Musco, Randomized block Krylov methods, NIPS 2015; the thick restart of
    K. Wu and H. Simon, SIAM Journal on Matrix Analysis and Applications 22 (2000).

    - tolerance: tolerance of the residuals, relative to the largest eigenvalue in magnitude
    - most_products: limit of the number of vectors multiplied by A; after the limit the best
      approximation is returned, with `converged` False
    - seed: seed of the random block
    - near (k, m): vectors near the eigenvectors, used as first columns of the block
    """
    k = A.shape[0]
    b = min(k, r + max(_OVERSAMPLING, r // 2))
    most = b * min(_BLOCKS, max(_FEWEST_BLOCKS, _ROOM_NUMBERS // (2 * k * b)))
    block = np.random.default_rng(seed).standard_normal((k, b))
    if near is not None:
        block[:, : near.shape[1]] = near[:, :b]
    block = np.linalg.qr(block)[0]
    V = AV = np.empty((k, 0))
    H = np.empty((0, 0))
    products = 0
    while True:
        m, products = V.shape[1], products + block.shape[1]
        V, AV = np.hstack([V, block]), np.hstack([AV, A @ block])
        last = V.T @ AV[:, m:]
        H = np.block([[H, last[:m]], [last[:m].T, sym(last[m:])]])
        theta, U = np.linalg.eigh(H)
        theta, U = theta[::-1], U[:, ::-1]
        vectors = V @ U[:, :b]
        R = AV @ U[:, :b] - vectors * theta[:b]
        residual = float(np.linalg.norm(R[:, :r], axis=0).max())
        converged = residual <= tolerance * float(np.abs(theta).max()) or V.shape[1] == k
        if not converged and products < most_products:
            if V.shape[1] + b > min(most, k):
                kept = U[:, : 2 * b]
                V, AV, H = V @ kept, AV @ kept, np.diag(theta[: 2 * b])
            block = complement(V, R)[:, : min(most, k) - V.shape[1]]
            if block.shape[1]:
                continue
            converged = True  # residuals in the span of the basis count as zero
        return Ritz(theta[:r], vectors[:, :r], residual, products, converged, vectors)


def complement(V: Array, R: Array) -> Array:
    """Return an orthonormal basis of the part of R's span orthogonal to V.

    The residuals of the Ritz vectors span the next Krylov block. Columns that are rounding errors
    are dropped from the basis.
    """
    lengths = np.linalg.norm(R, axis=0)
    Q = R[:, lengths > 0] / lengths[lengths > 0]
    for _ in range(2):
        Q, T = np.linalg.qr(Q - V @ (V.T @ Q))
        Q = Q[:, np.abs(np.diag(T)) > EMPTY]
    return Q[:, : V.shape[0] - V.shape[1]]
