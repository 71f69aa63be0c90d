"""Distances between subspaces, and the rotation that aligns two bases."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import scipy

from ldr.solvers.checks import choice
from ldr.solvers.errors import DataError
from ldr.solvers.manifolds import Array

# Distances between subspaces as functions of the principal angles (Ye and Lim, table 2).
_DISTANCES: dict[str, Callable[[Array], float]] = {
    "chordal": lambda angles: float(np.linalg.norm(np.sin(angles))),
    "geodesic": lambda angles: float(np.linalg.norm(angles)),
    "projection": lambda angles: math.sin(float(angles.max())),
    "procrustes": lambda angles: 2.0 * float(np.linalg.norm(np.sin(0.5 * angles))),
    "largest-angle": lambda angles: float(angles.max()),
}


def principal_angles(A: npt.ArrayLike, B: npt.ArrayLike) -> Array:
    """Compute the principal angles between the column spans of two matrices, ascending.

    For orthonormal bases Qa and Qb the cosine of angle k is the k-th largest singular value of
    Qa'Qb; its sine is the k-th smallest singular value of (I - Qa Qa')Qb. Each angle is computed
    from its sine and cosine: a cosine is inaccurate for angles near 0, a sine for angles near pi/2.

    Source: Bjorck and Golub 1973; Knyazev and Argentati 2002.

    Parameters
    ----------
    A : array (d, r)
    B : array (d, s)
        Matrices of full column rank; their columns need not be orthonormal.

    Returns
    -------
    ndarray (min(r, s),)
        Angles in radians, from 0 to pi/2.

    Raises
    ------
    ldr.errors.DataError
        A or B is no numeric matrix, the numbers of rows differ, or a matrix lacks full column rank.

    Examples
    --------
    >>> import ldr
    >>> ldr.subspaces.principal_angles([[1.0], [0.0]], [[1.0], [1e-12]])
    array([1.e-12])
    """
    A, B = _pair(A, B)
    Qa, Qb = _basis(A, "A"), _basis(B, "B")
    if Qa.shape[1] < Qb.shape[1]:
        Qa, Qb = Qb, Qa
    cross = Qa.T @ Qb
    cosines = np.linalg.svd(cross, compute_uv=False)
    sines = np.linalg.svd(Qb - Qa @ cross, compute_uv=False)[::-1]
    return np.asarray(np.arctan2(sines, cosines))


def distance(A: npt.ArrayLike, B: npt.ArrayLike, metric: str = "chordal") -> float:
    """Compute the distance between the spans of two matrices with equally many columns.

    Source: Ye and Lim 2016, table 2.

    Parameters
    ----------
    A, B : array (d, r)
        Matrices of full column rank.
    metric : {"chordal", "geodesic", "projection", "procrustes", "largest-angle"}
        The distance is a function of the principal angles t: (sum sin^2 t)^{1/2} for "chordal",
        (sum t^2)^{1/2} for "geodesic", the sine of the largest angle for "projection", the largest
        angle for "largest-angle", and 2 (sum sin^2(t/2))^{1/2} for "procrustes", the least ||Qa -
        Qb R||_F over orthogonal R for orthonormal bases Qa and Qb.

    Returns
    -------
    float

    Raises
    ------
    ldr.errors.ArgumentError
        An unknown metric.
    ldr.errors.DataError
        As in `principal_angles`, or A and B have different numbers of columns.
    """
    choice("metric", metric, _DISTANCES)
    A, B = _pair(A, B, alike=True)
    return _DISTANCES[metric](principal_angles(A, B))


def align(A: npt.ArrayLike, B: npt.ArrayLike) -> Array:
    """Rotate B to A: return BQ for the orthogonal Q that minimises ||A - BQ||_F (Procrustes).

    The rotation Q is the polar factor of B'A. After alignment, bases of nearby subspaces and
    projections onto them can be compared entry by entry.

    Source: Schoenemann 1966.

    Parameters
    ----------
    A : array (d, r)
    B : array (d, r)

    Returns
    -------
    ndarray (d, r)

    Raises
    ------
    ldr.errors.DataError
        A and B are not two numeric matrices of the same shape.
    """
    A, B = _pair(A, B, alike=True)
    U, _, Vt = np.linalg.svd(B.T @ A)
    return np.asarray(B @ (U @ Vt))


def _pair(A: npt.ArrayLike, B: npt.ArrayLike, alike: bool = False) -> tuple[Array, Array]:
    A, B = _matrix(A, "A"), _matrix(B, "B")
    if alike and A.shape != B.shape:
        raise DataError(f"A and B have shapes {A.shape} and {B.shape}, expected the same shape")
    if len(A) != len(B):
        raise DataError(f"A and B have {len(A)} and {len(B)} rows, expected the same number")
    return A, B


def _matrix(given: npt.ArrayLike, name: str) -> Array:
    """Return a real and finite matrix."""
    try:
        A = np.asarray(given)
    except ValueError as error:
        raise DataError(f"{name} could not be read as a matrix ({error})") from error
    if A.ndim != 2 or A.size == 0 or A.dtype.kind not in "biuf":
        raise DataError(f"{name} has shape {A.shape} and type {A.dtype}, expected a real matrix")
    if not np.isfinite(A).all():
        raise DataError(f"{name} has NaN or infinite entries")
    return A.astype(np.float64)


def _basis(A: Array, name: str) -> Array:
    """Return an orthonormal basis of the span; columns are first scaled to unit length."""
    sizes = np.abs(A).max(axis=0)
    if A.shape[1] <= len(A) and (sizes > 0).all():
        A = A / sizes
        Q, R, _ = scipy.linalg.qr(A / np.linalg.norm(A, axis=0), mode="economic", pivoting=True)
        diagonal = np.abs(np.diag(R))
        if diagonal[-1] > len(A) * np.finfo(float).eps * diagonal[0]:
            return np.asarray(Q)
    raise DataError(f"{name}, of shape {A.shape}, has dependent columns: expected full column rank")
