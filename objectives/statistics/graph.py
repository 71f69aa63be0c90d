"""Sums over the edges of a graph on the samples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ldr.objectives.data.samples import Array, Samples
from ldr.objectives.statistics.products import scaled_rows, shifted_rows
from ldr.objectives.statistics.sums import (
    add_product,
    add_square,
    counted,
    dense,
    full,
    sampled,
    symmetric,
    weighted,
    zeros,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_GATHERED_BLOCKS = 4


def graph_scatter(
    samples: Samples, W: csr_array, mean: Array, rest: Array | float = 0.0
) -> tuple[Array, Array]:
    """Xc'L Xc and Xc'D Xc for a weighted graph on the samples, Xc = X - 1 (mean + rest)'.

    L = D - W is the graph Laplacian and D the diagonal of W's row sums. L is blind to the mean
    (Xc'L Xc = X'L X), but the sums are made of centred rows, which keep the digits; D is not
    blind. Works on a few rows of W at a time with the rows of X they touch, in
    O(nnz(W) d + n d^2).

    - samples (n, d)
    - W (n, n): symmetric, its row sums not negative; never made dense
    - mean (d,)
    - rest (d,): of a mean with more digits than one number has, what the first number leaves; of
      dense rows
    - returns laplacian, degree (d, d): entry (i, j) of either is accurate relative to
      sqrt(degree_ii degree_jj).
    """
    degrees = W.sum(axis=1)
    if samples.is_sparse:
        return _sparse_graph_scatter(samples, W, degrees, mean)
    laplacian, degree = zeros(samples.d, samples.d), zeros(samples.d, samples.d)
    for where in _graph_slices(W, samples):
        Z = samples.rows(where) - mean - rest
        degree = add_square(degree, weighted(Z, degrees, where))
        each = degrees[where, None] * Z
        each -= _neighbour_sums(samples, W[where], mean) - degrees[where, None] * rest
        laplacian = add_product(laplacian, Z, each)
    return symmetric(laplacian), full(degree)


def reconstruction_scatter(
    samples: Samples, W: csr_array, mean: Array, rest: Array | float = 0.0
) -> Array:
    """Xc'(I - W)'(I - W) Xc for reconstruction weights W, Xc = X - 1 (mean + rest)'.

    Of rows with weights each residual counts as often. Blind to the mean where the rows of W sum
    to 1. Works on a few rows of W at a time with the rows of X they touch; W need not be symmetric,
    and n x n matrices are never formed.

    - samples (n, d), W (n, n), mean (d,)
    - rest (d,): see `graph_scatter`
    - returns (d, d): A sum of squares of residuals: nothing cancels but in the residuals
      themselves.
    """
    left = 1.0 - W.sum(axis=1)
    if samples.is_sparse:
        X, shift = shifted_rows(samples)
        mean = mean - shift
        residual = X - W @ X
        each = scaled_rows(residual, samples.weights)
        sums = np.asarray(each.T @ left)
        scatter = dense(each.T @ residual) - np.outer(sums, mean) - np.outer(mean, sums)
        square = float(left @ counted(left, samples.weights))
        return symmetric(scatter + square * np.outer(mean, mean))
    scatter = zeros(samples.d, samples.d)
    for where in _graph_slices(W, samples):
        residual = samples.rows(where) - mean
        residual -= _neighbour_sums(samples, W[where], mean)
        residual -= left[where, None] * rest
        scatter = add_square(scatter, weighted(residual, samples.weights, where))
    return full(scatter)


def _graph_slices(W: csr_array, samples: Samples) -> Iterator[slice]:
    """Slices of rows of W, each touching no more rows of X than fit in a few blocks."""
    step = samples.block_rows
    entries = _GATHERED_BLOCKS * step
    start = 0
    while start < samples.n:
        fits = int(np.searchsorted(W.indptr, W.indptr[start] + entries, side="right")) - 1
        stop = min(max(fits, start + 1), start + step, samples.n)
        yield slice(start, stop)
        start = stop


def _neighbour_sums(samples: Samples, W: csr_array, mean: Array) -> Array:
    """Rows W of the graph times Xc, gathering only the rows of X that have weights there."""
    from scipy.sparse import csr_array

    touched, local = np.unique(W.indices, return_inverse=True)
    compact = csr_array((W.data, local, W.indptr), shape=(W.shape[0], len(touched)))
    Z = sampled(samples, touched)
    Z -= mean
    return np.asarray(compact @ Z)


def _sparse_graph_scatter(
    samples: Samples, W: csr_array, degrees: Array, mean: Array
) -> tuple[Array, Array]:
    X, shift = shifted_rows(samples)
    mean = mean - shift
    degree = dense(X.T @ scaled_rows(X, degrees))
    laplacian = degree - dense(X.T @ (W @ X))
    sums = np.asarray(X.T @ degrees)
    degree = degree - np.outer(sums, mean) - np.outer(mean, sums - degrees.sum() * mean)
    return symmetric(laplacian), symmetric(degree)
