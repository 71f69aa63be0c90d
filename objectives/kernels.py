"""Gram matrices of Gaussian kernels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ldr.objectives.samples import as_labels
from ldr.solvers.errors import DataError
from ldr.solvers.manifolds import Array


def centred_gram(K: Array) -> Array:
    """PKP with P = I - 11'/n, for symmetric K, without forming P."""
    means = K.mean(axis=0)
    return K - means - means[:, None] + means.mean()


def median_distance(X: Array, sample: int = 1000) -> float:
    """Median Euclidean distance of distinct rows, over at most `sample` evenly spaced rows."""
    from scipy.spatial.distance import pdist

    n = len(X)
    rows = X if n <= sample else X[np.linspace(0, n - 1, sample).astype(int)]
    return float(np.median(pdist(rows)))


def is_categorical(y: Any) -> bool:
    """Whether y holds labels (strings, booleans, whole numbers of few values), not quantities."""
    array = np.asarray(y)
    if array.dtype.kind in "OUSb":
        return True
    return array.ndim == 1 and array.dtype.kind in "iu" and len(np.unique(array)) <= 20


def as_response(y: Any, n: int) -> Array:
    """A quantitative response as an n x q array."""
    array = np.asarray(y)
    if array.dtype.kind not in "iuf":
        raise DataError(f"y has dtype {array.dtype}, expected numbers or labels")
    array = array.astype(np.float64)
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or len(array) != n:
        raise DataError(f"y has shape {np.shape(y)}, expected {n} rows, one a sample")
    if not np.isfinite(array).all():
        raise DataError("y has NaN or infinite entries, expected finite numbers")
    return array


def response_gram(y: Any, n: int, width: float | None) -> Array:
    """Centred Gram matrix of the response: Gaussian, or 1 where two labels are equal."""
    from scipy.spatial.distance import cdist

    if is_categorical(y):
        codes, _ = as_labels(y, n, smallest_class=1)
        return centred_gram((codes[:, None] == codes).astype(np.float64))
    z = as_response(y, n)
    sigma = width or median_distance(z)
    if sigma == 0 or not math.isfinite(sigma):
        raise DataError("y has more than half of its values equal; give response_width= a value")
    return centred_gram(np.exp(cdist(z, z, "sqeuclidean") / (-2.0 * sigma**2)))
