"""Gaussian kernels: Gram matrices, and their factors of low rank."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ldr.objectives.data.finite import check_largest
from ldr.objectives.data.labels import as_array
from ldr.objectives.statistics.sizes import even_rows
from ldr.solvers.errors import DataError
from ldr.solvers.manifolds import Array

# Share of a Gram matrix's trace that an incomplete factor may leave out.
_NEGLIGIBLE = 1e-9
# Of a median distance.
_DISTANCE_ROWS = 1000


def centred_gram(K: Array, weights: Array | None = None) -> Array:
    """PKP with P = I - 11'/n, for symmetric K, without forming P; or WP'KPW, P = I - w1'/N."""
    if weights is not None:
        return weighted_centre(K, weights) * weights * weights[:, None]
    means = K.mean(axis=0)
    return K - means - means[:, None] + means.mean()


def weighted_centre(K: Array, weights: Array) -> Array:
    """P'KP with P = I - w1'/N."""
    means = K @ (weights / weights.sum())
    return K - means - means[:, None] + means @ weights / weights.sum()


def gaussian(A: Array, B: Array, width: float) -> Array:
    """exp(-||a_i - b_j||^2 / (2 width^2)) of rows of A and of B."""
    A, B = A / width, B / width
    exponent = A @ B.T
    exponent -= 0.5 * np.einsum("ij,ij->i", A, A)[:, None]
    exponent -= 0.5 * np.einsum("ij,ij->i", B, B)
    np.minimum(exponent, 0.0, out=exponent)
    return np.exp(exponent, out=exponent)


def gaussian_gram(Y: Array, width: float) -> Array:
    """The Gram matrix of the rows of Y: symmetric, with a diagonal of exact ones."""
    K = gaussian(Y, Y, width)
    np.fill_diagonal(K, 1.0)
    return K


def incomplete_factor(Y: Array, width: float, rank: int) -> Array:
    """L (n x p), p <= rank, with LL' near the Gram matrix of Y's rows: see `incomplete_cholesky`.

    What is left out has a trace of 1e-9 n where the rank suffices.
    """
    return incomplete_cholesky(Y, width, rank, _NEGLIGIBLE)[0]


def incomplete_cholesky(
    Y: Array, width: float, rank: int, negligible: float
) -> tuple[Array, npt.NDArray[np.intp], float]:
    """Cholesky with pivots of the Gram matrix of Y's rows, which is never formed. Time O(n p^2).

    Source: Fine and Scheinberg 2001; Bach and Jordan 2002.

    Returns
    -------
    L : ndarray (n, p)
        p <= rank; LL' is near the Gram matrix.
    pivots : ndarray of int (p,)
    left_out : float
        Share of the trace; p is the first for which it is negligible.
    """
    n = len(Y)
    L, left, pivots = np.empty((min(rank, n), n)), np.ones(n), []
    for j in range(len(L)):
        if left.sum() <= negligible * n:
            break
        pivot = int(np.argmax(left))
        column = gaussian(Y, Y[pivot : pivot + 1], width)[:, 0] - L[:j, pivot] @ L[:j]
        L[j] = column / np.sqrt(left[pivot])
        left = np.maximum(left - L[j] ** 2, 0.0)
        left[pivot] = 0.0
        pivots.append(pivot)
    return L[: len(pivots)].T, np.array(pivots, dtype=np.intp), float(left.sum()) / n


def median_distance(X: Array, weights: Array | None = None) -> float:
    """Median Euclidean distance of pairs of rows, over at most 1000 evenly spaced ones."""
    from scipy.spatial.distance import pdist

    return float(np.median(pdist(X[even_rows(len(X), _DISTANCE_ROWS, weights)])))


def is_categorical(y: object) -> bool:
    """Whether y holds labels (strings, booleans, whole numbers of few values), not quantities."""
    array = as_array(y)
    if array.dtype.kind in "OUSb":
        return True
    return array.ndim == 1 and array.dtype.kind in "iu" and len(np.unique(array)) <= 20


def deviations(y: Array, weights: npt.NDArray[Any] | None) -> Array:
    """y less its mean, the second time less what rounding of a large mean left."""
    for _ in range(2):
        y = y - np.average(y, axis=0, weights=weights)
    return y


def as_response(y: npt.ArrayLike, n: int) -> Array:
    """A quantitative response as an n x q array."""
    array = as_array(y)
    if array.dtype.kind not in "iuf":
        raise DataError(f"y has dtype {array.dtype}, expected numbers or labels")
    array = array.astype(np.float64)
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or len(array) != n:
        raise DataError(f"y has shape {np.shape(y)}, expected {n} rows, one a sample")
    if array.shape[1] == 0:
        raise DataError(f"y has shape {array.shape}: it has no columns, expected one at least")
    if not np.isfinite(array).all():
        raise DataError("y has NaN or infinite entries, expected finite numbers")
    check_largest(float(np.abs(array).max(initial=0.0)), "y")
    return array
