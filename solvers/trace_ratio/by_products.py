"""Trace ratios and generalised eigenvectors of large A and B that are known by their products."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ldr.solvers.linalg.krylov import SymmetricOperator, bordered, complement, few_rows, turn
from ldr.solvers.manifolds import Array
from ldr.solvers.manifolds.orthonormal import sym
from ldr.solvers.records import dataclass
from ldr.solvers.trace_ratio.ritz import small_trace_ratio

# Residuals below this share of what cancels in them are converged; the steps that may take.
_RESIDUAL = 1e-10
_STEPS = 300
# The basis is cut back to the block and the last step beside it once it is so many blocks wide.
_BLOCKS = 3
# Of conjugate gradients, relative to the right-hand side, and the steps that may take.
_SOLVED = 1e-11
_SOLVING_STEPS = 500
# Of a small B, the share of its largest eigenvalue below which a direction is out of B's range.
_IN_RANGE = 1e-10
# Of a shift into the spectrum of -rho times a ridge, the share that keeps the diagonal positive.
_SHARE = 0.9


@dataclass(frozen=True)
class Found:
    """Approximate solutions, and how good they are.

    Attributes
    ----------
    V : ndarray (d, m)
        The wanted columns first.
    residual : float
        Relative to what cancels in it.
    products : int
        Vectors that A and B were applied to.
    """

    V: Array
    residual: float
    products: int


# Of A and B on a small basis: the combinations U that are best, in order, and the s and t of their
# residuals AU - BU diag(s) - U diag(t).
Small = Callable[[Array, Array], tuple[Array, Array, Array]]


def block_davidson(
    A: SymmetricOperator,
    B: SymmetricOperator,
    start: Array,
    r: int,
    small: Small,
    preconditioned: Callable[[Array, Array, Array], Array],
) -> Found:
    """The best r columns on ever better small bases: [block, last step, preconditioned residual].

    Parameters
    ----------
    start : ndarray (d, at least r)
        As many columns as the block shall have.
    small : callable
        The small problem.
    preconditioned : callable
        Of residuals, s and t.
    """
    d, width = start.shape
    room = np.empty((3, d, min(_BLOCKS * width, d)))  # S, AS and BS, S with orthonormal columns
    inside = [np.empty((0, 0))] * 2  # S'AS and S'BS

    def add(V: Array) -> None:
        nonlocal inside
        k = len(inside[0])
        there = slice(k, k + V.shape[1])
        room[0, :, there], room[1, :, there], room[2, :, there] = V, A @ V, B @ V
        S, images = room[0, :, : there.stop], room[1:, :, there]
        inside = [bordered(H, S.T @ image) for H, image in zip(inside, images, strict=True)]

    add(np.linalg.qr(start / np.linalg.norm(start, axis=0))[0])
    products, last = width, np.empty((width, 0))
    while True:
        k = len(inside[0])
        U, s, t = (each[..., :width] for each in small(*inside))
        R, sizes = _residuals(room[..., :k], U, s, t)
        residual = float((np.linalg.norm(R, axis=0) / sizes)[:r].max())
        if residual <= _RESIDUAL or products >= _STEPS * width or k == d:
            return Found(room[0, :, :k] @ U, residual, products)
        if k + width > room.shape[2]:
            kept = np.linalg.qr(np.hstack([U, last]))[0]
            turn(room, k, kept)
            U, inside = kept.T @ U, [sym(kept.T @ H @ kept) for H in inside]
            k = len(U)
        T = complement(room[0, :, :k], preconditioned(R, s, t))[:, : room.shape[2] - k]
        if not T.shape[1]:
            return Found(room[0, :, :k] @ U, residual, products)
        add(T)
        products += T.shape[1]
        last = np.vstack([U, np.zeros((T.shape[1], U.shape[1]))])


def _residuals(room: Array, U: Array, s: Array, t: Array) -> tuple[Array, Array]:
    """AV - BV diag(s) - V diag(t) of V = SU, and the sizes of what cancels in them."""
    R, squares = np.empty((room.shape[1], U.shape[1])), np.zeros((2, U.shape[1]))
    for rows in few_rows(room):
        S, AS, BS = room[:, rows]
        AV, BV = AS @ U, (BS @ U) * s
        squares += np.sum(AV**2, axis=0), np.sum(BV**2, axis=0)
        R[rows] = AV - BV - (S @ U) * t
    return R, np.sum(np.sqrt(squares), axis=0)


def largest_ratio(
    A: SymmetricOperator,
    B: SymmetricOperator,
    diagonal: Array,
    ridge: float,
    start: Array,
    weights: Array,
) -> Found:
    """The maximiser of tr(VM'AM)/tr(VM'BM), V = diag(weights).

    Parameters
    ----------
    diagonal : ndarray (d,)
        Of B, positive.
    ridge : float
        What B has on it beside a semidefinite matrix.
    start : ndarray (d, at least r)
    """
    rho = 0.0

    def small(A: Array, B: Array) -> tuple[Array, Array, Array]:
        nonlocal rho
        U, _ = small_trace_ratio(A, B, rho, weights)
        rho = float(np.vdot(U * weights, A @ U)) / float(np.vdot(U * weights, B @ U))
        theta, Q = np.linalg.eigh(A - rho * B)
        return Q[:, ::-1], np.full(len(theta), rho), theta[::-1]

    def preconditioned(R: Array, s: Array, t: Array) -> Array:
        shifts = np.maximum(t, -_SHARE * max(rho, 0.0) * ridge)
        return R / (shifts + np.abs(s) * diagonal[:, None])

    return block_davidson(A, B, start, len(weights), small, preconditioned)


def largest_pairs(A: SymmetricOperator, B: SymmetricOperator, start: Array, r: int) -> Found:
    """The r largest generalised eigenvectors of (A, B) in B's range, its diagonal near 1."""

    def small(A: Array, B: Array) -> tuple[Array, Array, Array]:
        sizes, Q = np.linalg.eigh(B)
        kept = sizes > _IN_RANGE * sizes[-1]
        W = Q[:, kept] / np.sqrt(sizes[kept])
        values, U = np.linalg.eigh(W.T @ A @ W)
        return (W @ U)[:, ::-1], values[::-1], np.zeros(len(values))

    return block_davidson(A, B, B @ start, r, small, lambda R, s, t: R)


def conjugate_gradients(
    H: Callable[[Array], Array], R: Array, preconditioned: Callable[[Array], Array]
) -> tuple[Array, int]:
    """H^{-1}R of a positive definite H, all columns at once; and the vectors H was applied to."""
    X, left = np.zeros_like(R), R.copy()
    z = preconditioned(left)
    p, size = z.copy(), np.sum(left * z, axis=0)
    enough = _SOLVED * np.linalg.norm(R, axis=0)
    steps = 0
    while steps < _SOLVING_STEPS and (np.linalg.norm(left, axis=0) > enough).any():
        Hp = H(p)
        curved = np.sum(p * Hp, axis=0)
        step = np.divide(size, curved, where=curved > 0, out=np.zeros_like(size))
        X += step * p
        left -= step * Hp
        z = preconditioned(left)
        before, size = size, np.sum(left * z, axis=0)
        p *= np.divide(size, before, where=before > 0, out=np.zeros_like(size))
        p += z
        steps += 1
    return X, steps * R.shape[1]


def columns_of(width: int, V: Array) -> Array:
    """The first columns of V, with random ones beside them where they are too few."""
    more = np.random.default_rng(0).standard_normal((len(V), max(0, width - V.shape[1])))
    return np.hstack([V[:, :width], more])
