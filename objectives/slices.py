"""Slices of a response, and directions of largest gradients of a kernel regression."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ldr.objectives.kernel import FEW_ROWS, Response, gaussian_gram, median_distance
from ldr.objectives.statistics.sums import Codes, even_rows, quantiles, weighted
from ldr.solvers.deadline import check
from ldr.solvers.errors import DataError, SingularError
from ldr.solvers.linalg.bounds import SUMS_ROUNDING
from ldr.solvers.linalg.eigen import cholesky, cholesky_solve, length, product, top_eigenvectors
from ldr.solvers.manifolds import Array

_RESPONSES = 20  # largest number of principal components of the response


def gradient_directions(
    X: Array, Z: Array, r: int, epsilon: float, weights: Array | None = None
) -> Array:
    """Return k x r directions of the largest gradients of the kernel regression of Z on X.

    The directions are the top r eigenvectors of `gradient_outer_product`, for at most 1000 evenly
    spaced rows and the leading principal components of the response's features.

    - X (n, k): centred rows
    - Z (n, p): features of the response, a factor of the response's Gram matrix
    - epsilon: regularisation of the regression
    """
    rows = even_rows(len(X), FEW_ROWS, weights)
    X, Z = X[rows], Z[rows]
    U, s, _ = np.linalg.svd(Z, full_matrices=False)
    Z = (U * s)[:, :_RESPONSES]
    width = median_distance(X) or length(X) / np.sqrt(len(X)) or 1.0  # rows may be equal
    return top_eigenvectors(gradient_outer_product(X, Z, width, epsilon)[0], r)[1]


def gradient_outer_product(
    X: Array, Z: Array, width: float, epsilon: float, weights: Array | None = None
) -> tuple[Array, float]:
    """Return mean_i sum_p grad g_p(x_i) grad g_p(x_i)', g the kernel regression of Z on X.

    The regression function is g(x) = Z'(K + n eps I)^{-1} k(x) with the Gaussian Gram matrix K. If
    D_i has the rows (x_j - x_i)'k(x_j, x_i)/width^2, the result is mean_i D_i'(K + n eps I)^{-1}
    ZZ' (K + n eps I)^{-1} D_i. For weighted rows the matrix W^{1/2}(W^{1/2}KW^{1/2} + N eps
    I)^{-1}W^{1/2} takes the place of the inverse.

    Source: Fukumizu and Leng 2014 (gradient-based kernel dimension reduction).

    - returns rounding: bound of the rounding error of each eigenvalue of the result
    """
    n, k = len(X) if weights is None else weights.sum(), X.shape[1]
    K = gaussian_gram(X, width)
    ridged = K.copy() if weights is None else weighted(weighted(K, weights).T, weights)
    ridged[np.diag_indices_from(K)] += n * epsilon
    Z = weighted(Z, weights)
    factor = cholesky(ridged.T)
    if factor is None:
        raise SingularError(
            f"the Gram matrix of X is singular relative to n epsilon = {n * epsilon:.1e}: give "
            "epsilon= a larger value"
        )
    A = cholesky_solve(factor, Z)
    left = Z - weighted(K @ weighted(A, weights), weights) - n * epsilon * A
    # The residual has rounding errors too: the error of A is of the order of this correction.
    error = weighted(cholesky_solve(factor, left), weights)
    A = weighted(A, weights)
    outer = np.zeros((k, k))
    for a in A.T:
        check()
        gradients = weighted(K @ (a[:, None] * X) - (K @ a)[:, None] * X, weights) / width**2
        outer += gradients.T @ gradients
    # Rounding errors are bounded by the largest entry of X times sums of absolute terms.
    largest = float(np.abs(X).max()) * np.sqrt(k) / width**2
    off_A = SUMS_ROUNDING * np.abs(A) + 8.0 * np.abs(error)
    off = 2.0 * largest * length(weighted(product(K, off_A), weights)) / np.sqrt(n)
    return outer / n, off * (2.0 * np.sqrt(np.trace(outer) / n) + off)


def slice_codes(response: Response, slices: int, weights: Array | None = None) -> Codes:
    """Return the slice of each sample: the label, or the quantile bin of the (first) response."""
    if response.codes is not None:
        return response.codes
    z, cuts = response.values[:, 0], np.arange(1, slices)
    if weights is None:  # without weights each quantile is one of the sorted samples
        positions = -(-(len(z) - 1) * cuts // slices)
        edges = np.partition(z, positions)[positions]
    else:
        edges = quantiles(z, cuts / slices, weights)
    bins = np.searchsorted(np.unique(edges), z, side="right")
    return (np.cumsum(np.bincount(bins) > 0) - 1)[bins]


def sliced(y: npt.ArrayLike, n: int, slices: int, weights: Array | None = None) -> Codes:
    """Return the slice of each sample; refuse a response with a single slice."""
    codes = slice_codes(Response.of(y, n), slices, weights)
    if codes.max() == 0:
        raise DataError("y is nearly constant and gives a single slice: expected at least two")
    return codes
