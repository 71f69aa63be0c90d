"""Gaussian kernels, of rows and of responses: Gram matrices, and their factors of low rank."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ldr.objectives.data.cells import Cells
from ldr.objectives.data.finite import check_largest
from ldr.objectives.data.labels import as_array, as_labels
from ldr.objectives.statistics.sizes import even_rows, middle_places
from ldr.solvers.errors import DataError
from ldr.solvers.linalg.symmetric import full_factor
from ldr.solvers.manifolds import Array
from ldr.solvers.records import dataclass

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


def gradient_of_median(X: Array) -> Array:
    """Of the logarithm of the median distance of X's rows, in X."""
    from scipy.spatial.distance import pdist

    rows = even_rows(len(X), _DISTANCE_ROWS)
    i, j = np.triu_indices(len(rows), 1)
    middle = middle_places(pdist(X[rows]))
    one, two = rows[i[middle]], rows[j[middle]]
    apart = X[one] - X[two]
    lengths = np.linalg.norm(apart, axis=1)
    pull = apart / (lengths * lengths.sum())[:, None]
    found = np.zeros_like(X)
    np.add.at(found, one, pull)
    np.add.at(found, two, -pull)
    return found


def is_categorical(y: object) -> bool:
    """Whether y holds labels (strings, booleans, whole numbers of few values), not quantities."""
    array = as_array(y)
    if array.dtype.kind in "OUSb":
        return True
    return array.ndim == 1 and array.dtype.kind in "iu" and len(np.unique(array)) <= 20


def deviations(y: Array, weights: Cells | None) -> Array:
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


KINDS = ("auto", "labels", "quantity")


@dataclass(frozen=True, eq=False)
class Response:
    """The response of n samples: codes of labels, or values.

    Attributes
    ----------
    codes : ndarray of int (n,), or None
        Of labels, 0, 1, ...
    values : ndarray (n, q)
        Of quantities; of labels, one column an indicator of each.
    weights : ndarray (n,) or None
        Of the samples.
    notes : list of str
        What was guessed.
    """

    codes: np.ndarray | None
    values: Array
    weights: Array | None = None
    notes: Sequence[str] = ()

    @classmethod
    def of(
        cls, y: npt.ArrayLike, n: int, kind: str = "auto", weights: Array | None = None
    ) -> Response:
        """`kind` "auto" takes strings, booleans and at most 20 whole numbers for labels."""
        if kind == "quantity" or (kind == "auto" and not is_categorical(y)):
            return cls(None, as_response(y, n), weights)
        codes, classes = as_labels(y, n, smallest_class=1)
        guessed = kind == "auto" and as_array(y).dtype.kind in "iu"
        note = (
            f"y has {len(classes)} distinct whole numbers, which are read as labels; "
            "response='quantity' reads them as numbers"
        )
        return cls(codes, np.eye(len(classes))[codes], weights, [note] if guessed else [])

    def gram(self, width: float | None) -> Array:
        """The Gram matrix, n x n: of labels, 1 where two are equal; else of a Gaussian kernel."""
        if self.codes is not None:
            return self.values @ self.values.T
        return gaussian_gram(self.values, self.width(width))

    def factor(self, width: float | None, rank: int | None) -> tuple[Array, float]:
        """Z (n x p) with centred columns, ZZ' the centred Gram matrix; the share of trace left out.

        As of `features`.
        """
        Z, left_out = self.features(width, rank)
        return Z - np.average(Z, axis=0, weights=self.weights), left_out

    def features(self, width: float | None, rank: int | None) -> tuple[Array, float]:
        """Z (n x p) with ZZ' the Gram matrix; the share of its trace that is left out.

        To rounding where `rank` is None; else p <= rank and the n x n matrix is never formed.
        """
        if self.codes is not None:
            Z, left_out = self.values, 0.0
        elif rank is None:
            Z, left_out = full_factor(self.gram(width)), 0.0
        else:
            Z = incomplete_factor(self.values, self.width(width), rank)
            left_out = 1.0 - float(np.vdot(Z, Z)) / len(Z)
        return Z, left_out

    def width(self, width: float | None) -> float:
        """sigma of quantities: as given, or their median distance."""
        sigma = width or median_distance(self.values, self.weights)
        if sigma == 0 or not math.isfinite(sigma):
            raise DataError(
                "y has more than half of its values equal; give response_width= a value"
            )
        return sigma
