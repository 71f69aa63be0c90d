"""Rotations of loadings and of results to a simple structure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ldr.objectives.view import orthomax, signs
from ldr.solvers.checks import choice
from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds import Array
from ldr.tables import Directions

if TYPE_CHECKING:
    from ldr.result import Result


# Iteration limit of a rotation: for nearly equal loadings varimax takes thousands of iterations.
_STEPS = 20_000


def varimax(L: Array) -> Array:
    """Return the orthogonal T that maximises the variances, by column, of squares of LT.

    Source: Kaiser 1958, without Kaiser's normalisation of rows.
    """
    return orthomax(L, 1.0, _STEPS)


def quartimax(L: Array) -> Array:
    """Return the orthogonal T that maximises the sum of fourth powers of the entries of LT.

    Source: Neuhaus and Wrigley 1954.
    """
    return orthomax(L, 0.0, _STEPS)


def promax(L: Array) -> Array:
    """Return the oblique T of promax, whose target is varimax loadings to the fourth power.

    Source: Hendrickson and White 1964.
    """
    turn = varimax(L)
    A = L @ turn
    U = np.linalg.lstsq(A, A * np.abs(A) ** 3, rcond=None)[0]
    U = U * np.sqrt(np.diag(np.linalg.inv(U.T @ U)))
    return np.asarray(np.linalg.inv(turn @ U).T)


def oblimin(L: Array) -> Array:
    """Return the oblique T that minimises products of squared loadings (quartimin).

    The criterion f = sum_{j < k} sum_i a_ij^2 a_ik^2 / 2 of the rotated loadings A = L T^{-T} is
    minimised by gradient projection over T with columns of unit length.

    Source: Jennrich and Sampson 1966; Bernaards and Jennrich 2005.
    """
    scaled = L / (float(np.abs(L).max()) or 1.0)
    T, step = np.eye(L.shape[1]), 1.0
    value, gradient = _quartimin(scaled, T)
    for _ in range(_STEPS):
        tangent = gradient - T * np.sum(T * gradient, axis=0)
        slope = float(np.vdot(tangent, tangent))
        step *= 2.0
        while slope > 1e-20 and step > 1e-18:  # slope and step still exceed rounding errors
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
    """Return the criterion, and its gradient with respect to T."""
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


def rotated(result: Result, method: str) -> Result:
    """Rotate a result; see `Result.rotate`."""
    choice("method", method, tuple(ROTATIONS))
    oblique = method in OBLIQUE
    views = isinstance(result.P, tuple)
    if not result.directions.free or (oblique and views):
        why = "views share one orthogonal rotation" if views else "the value depends on M's columns"
        raise ArgumentError(
            f"the result of {result.objective.name} cannot be rotated by {method!r}: {why}"
        )
    blocks, maps = (A if views else (A,) for A in (result.M, result.P))
    T = ROTATIONS[method](np.vstack(blocks))
    if result.model is not None:
        explained = np.sum((blocks[0] @ np.linalg.inv(T).T) ** 2, axis=0)
    else:
        variations = [one for one in result.directions.variations if one is not None]
        explained = sum((one.turned(T).variances for one in variations), np.zeros(len(T)))
    T = T[:, np.argsort(-explained, kind="stable")]
    T = T * signs(T.T @ maps[0])
    back = np.linalg.inv(T).T
    M, P = tuple(M @ back for M in blocks), tuple(T.T @ P for P in maps)
    seen = tuple(one and one.turned(T) for one in result.directions.variations)
    own = {"sum_of_squares": np.sum(M[0] ** 2, axis=0)} if result.model is not None else {}
    parameters = {
        name: T.T @ value @ back if np.shape(value) == T.shape else value
        for name, value in result.parameters.items()
    }
    return replace(
        result,
        M=M if views else M[0],
        P=P if views else P[0],
        model=result.model and result.model.turned(T, oblique),
        parameters=parameters,
        directions=Directions(
            own, seen, result.directions.orthonormal and not oblique, free=not oblique
        ),
        notes=(*result.notes, f"coordinates rotated by {method}"),
    )
