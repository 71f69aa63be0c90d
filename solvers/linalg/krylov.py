"""The largest eigenvalues of a symmetric operator, by products with blocks of vectors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ldr.solvers.manifolds import Array
from ldr.solvers.manifolds.orthonormal import sym

# A block is wider than what is wanted: its last columns only help the others.
_OVERSAMPLING = 6
# The basis is cut back to twice the block once it is this many blocks wide, or has so many numbers.
_BLOCKS, _FEWEST_BLOCKS = 8, 3
_ROOM_NUMBERS = 2**23
# Rows of a basis that are combined at a time.
_ROWS = 4096
# Columns whose Gram matrix has no diagonal of its Cholesky factor below this share are orthonormal
# to half of the digits with it; below the other they are rounding.
_INDEPENDENT, _EMPTY = 1e-4, 1e-10


class SymmetricOperator(Protocol):
    """A symmetric matrix, perhaps only known by its products."""

    def __matmul__(self, V: Array) -> Array: ...


class SizedOperator(SymmetricOperator, Protocol):
    """One that tells its order."""

    @property
    def shape(self) -> tuple[int, ...]: ...


@dataclass(frozen=True)
class Ritz:
    """Approximate eigenvectors, and how good they are.

    - values (r,): descending
    - vectors (k, r): orthonormal columns
    - residual: largest |Av - theta v|: each theta is within it of an eigenvalue of A
    - products: vectors that A was applied to
    - block (k, b): the vectors, and those that only helped
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
    """The r largest eigenvalues of A and their eigenvectors, from a random block.

    Rayleigh-Ritz on the block Krylov space of A and a random k x b block, b somewhat above r, with
    full orthogonalisation; a basis that has grown wide is cut back to its best Ritz vectors. All
    products are with blocks: A is read once for b vectors, and no eigenvalue of multiplicity up to
    b is missed, which methods of one vector cannot say.

    Source: C. Musco and C. Musco, Randomized block Krylov methods, NIPS 2015; the thick restart of
    K. Wu and H. Simon, SIAM J. Matrix Anal. Appl. 22 (2000).

    - tolerance: on the residuals, relative to the largest |theta|
    - most_products: vectors to apply A to at most; then the best so far is returned, not converged
    - seed: of the random block
    - near (k, m): vectors near the eigenvectors, which the first columns of the block are
    """
    k = A.shape[0]
    b = min(k, r + max(_OVERSAMPLING, r // 2))
    block = np.random.default_rng(seed).standard_normal((k, b))
    if near is not None:
        block[:, : near.shape[1]] = near[:, :b]
    del near  # of very many columns it is as large as all else that is held of a block
    block = np.linalg.qr(block)[0]
    blocks = min(_BLOCKS, max(_FEWEST_BLOCKS, _ROOM_NUMBERS // (2 * k * b)))
    room, H = np.empty((2, k, min(blocks * b, k))), np.empty((0, 0))  # V and AV; V'AV
    m = products = 0
    while True:
        there = slice(m, m + block.shape[1])
        room[0, :, there], room[1, :, there] = block, A @ block
        m, products = there.stop, products + block.shape[1]
        del block
        V, AV = room[..., :m]
        H = bordered(H, V.T @ AV[:, there])
        theta, U = np.linalg.eigh(H)
        theta, U = theta[::-1], U[:, ::-1]
        R = _residuals(room[..., :m], U[:, :b], theta[:b])
        residual = float(np.linalg.norm(R[:, :r], axis=0).max())
        converged = residual <= tolerance * float(np.abs(theta).max()) or m == k
        if converged or products >= most_products:
            vectors = V @ U[:, :b]
            return Ritz(theta[:r], vectors[:, :r], residual, products, converged, vectors)
        if m + b > room.shape[2]:
            kept = U[:, : min(2 * b, m)]
            turn(room, m, kept)
            m = kept.shape[1]
            H, U = np.diag(theta[:m]), np.eye(m)
        block = complement(room[0, :, :m], R)[:, : room.shape[2] - m]
        del R
        if not block.shape[1]:
            vectors = room[0, :, :m] @ U[:, :b]
            return Ritz(theta[:r], vectors[:, :r], residual, products, True, vectors)


def _residuals(room: Array, U: Array, theta: Array) -> Array:
    """Av - theta v of the vectors VU, from V and AV."""
    R = np.empty((room.shape[1], U.shape[1]))
    for rows in few_rows(room):
        V, AV = room[:, rows]
        R[rows] = AV @ U - (V @ U) * theta
    return R


def bordered(H: Array, last: Array) -> Array:
    """V'AV from its first rows and columns and its last columns."""
    first = H.shape[0]
    found = np.empty((len(last), len(last)))
    found[:first, :first], found[:, first:], found[first:, :first] = H, last, last[:first].T
    found[first:, first:] = sym(last[first:])
    return found


def turn(room: Array, k: int, Q: Array) -> None:
    """The first k columns of each matrix, combined by Q; in their place."""
    for rows in few_rows(room):
        room[:, rows, : Q.shape[1]] = room[:, rows, :k] @ Q


def few_rows(room: Array) -> Iterator[slice]:
    """Slices of the rows of each matrix that are combined at a time."""
    return (slice(k, k + _ROWS) for k in range(0, room.shape[1], _ROWS))


def complement(V: Array, R: Array) -> Array:
    """An orthonormal basis of the part of R's span that is orthogonal to V, at most what is left.

    The residuals of the Ritz vectors span the next Krylov block. Columns that are rounding are
    dropped.
    """
    lengths = np.linalg.norm(R, axis=0)
    Q = R[:, lengths > 0]
    Q /= lengths[lengths > 0]
    for _ in range(2):
        Q -= V @ (V.T @ Q)
        Q = _orthonormal(Q)
    return Q[:, : V.shape[0] - V.shape[1]]


def _orthonormal(Q: Array) -> Array:
    """An orthonormal basis of Q's span: to rounding where Q is near to one.

    From the Cholesky factor of Q'Q, a tenth of the time of QR, where that keeps half of the digits.
    """
    try:
        L = np.linalg.cholesky(Q.T @ Q)
    except np.linalg.LinAlgError:
        L = np.zeros((1, 1))
    sizes = np.diag(L)
    if sizes.min(initial=1.0) > _INDEPENDENT * sizes.max(initial=0.0):
        return np.asarray(Q @ np.linalg.inv(L).T)
    Q, T = np.linalg.qr(Q)
    return np.asarray(Q[:, np.abs(np.diag(T)) > _EMPTY])
