"""Rotations of loadings to a simple structure: few large entries in every column."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ldr.solvers.manifolds import Array

# Of the turn, between steps.
_SETTLED = 1e-12
_STEPS = 20_000
# Exponent of promax's target.
_PROMAX = 4
# Halvings of a step of gradient projection, and the gradient's norm at which it ends.
_HALVINGS = 60
_FLAT = 1e-10


def varimax(L: Array) -> Array:
    """The orthogonal T for which the squares of LT vary most within columns.

    Source: Kaiser 1958, without his normalisation of rows.
    """
    return _orthomax(L, 1.0)


def quartimax(L: Array) -> Array:
    """The orthogonal T for which the fourth powers of LT add up to most.

    Source: Neuhaus and Wrigley 1954.
    """
    return _orthomax(L, 0.0)


def _orthomax(L: Array, weight: float) -> Array:
    """The polar factor of the criterion's gradient, again and again: each step raises it."""
    scaled = L / (float(np.abs(L).max()) or 1.0)
    T = np.eye(L.shape[1])
    for _ in range(_STEPS):
        A = scaled @ T
        U, _, Vt = np.linalg.svd(scaled.T @ (A**3 - weight * A * np.mean(A**2, axis=0)))
        new = U @ Vt
        still = float(np.abs(new - T).max()) <= _SETTLED
        T = new
        if still:
            break
    return T


def promax(L: Array) -> Array:
    """The oblique T whose loadings are nearest to the fourth powers of those of varimax.

    Source: Hendrickson and White 1964.
    """
    turn = varimax(L)
    A = L @ turn
    U = np.linalg.lstsq(A, A * np.abs(A) ** (_PROMAX - 1), rcond=None)[0]
    U = U * np.sqrt(np.diag(np.linalg.inv(U.T @ U)))
    return np.asarray(np.linalg.inv(turn @ U).T)


def oblimin(L: Array) -> Array:
    """The oblique T for which columns of loadings have least to do with one another (quartimin).

    f = sum_{j < k} sum_i a_ij^2 a_ik^2 / 2 of A = L T^{-T} is minimised by gradient projection
    among T with columns of unit length.

    Source: Jennrich and Sampson 1966; Bernaards and Jennrich 2005.
    """
    scaled = L / (float(np.abs(L).max()) or 1.0)
    T, step = np.eye(L.shape[1]), 1.0
    value, gradient = _quartimin(scaled, T)
    for _ in range(_STEPS):
        tangent = gradient - T * np.sum(T * gradient, axis=0)
        slope = float(np.vdot(tangent, tangent))
        if slope <= _FLAT**2:
            break
        step *= 2.0
        for _ in range(_HALVINGS):
            new = T - step * tangent
            new /= np.linalg.norm(new, axis=0)
            new_value, new_gradient = _quartimin(scaled, new)
            if new_value < value - 0.5 * step * slope:
                break
            step *= 0.5
        else:
            break
        T, value, gradient = new, new_value, new_gradient
    return T


def _quartimin(L: Array, T: Array) -> tuple[float, Array]:
    """The criterion, and its gradient in T."""
    inverse = np.linalg.inv(T)
    A = L @ inverse.T
    squares = A**2
    others = squares.sum(axis=1, keepdims=True) - squares
    return 0.25 * float(np.vdot(squares, others)), -(A.T @ (A * others) @ inverse).T


ROTATIONS: dict[str, Callable[[Array], Array]] = {
    "varimax": varimax,
    "quartimax": quartimax,
    "promax": promax,
    "oblimin": oblimin,
}
OBLIQUE = ("promax", "oblimin")
