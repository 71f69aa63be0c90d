"""Sliced inverse regression's directions, the heuristic of sufficient dimension reduction."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ldr.objectives.kernels import Response
from ldr.objectives.statistics.sizes import quantiles
from ldr.objectives.statistics.sums import counted_rows, weighted
from ldr.solvers.errors import DataError
from ldr.solvers.linalg.eigen import generalised_top_eigenvectors, range_basis
from ldr.solvers.manifolds import Array


def slice_codes(response: Response, slices: int, weights: Array | None = None) -> np.ndarray:
    """Slice of each sample: its label, or the quantile bin of its (first) response."""
    if response.codes is not None:
        return response.codes
    z, shares = response.values[:, 0], np.linspace(0, 1, slices + 1)[1:-1]
    edges = np.unique(quantiles(z, shares, weights))
    return np.unique(np.searchsorted(edges, z, side="right"), return_inverse=True)[1]


def sliced(y: npt.ArrayLike, n: int, slices: int, weights: Array | None = None) -> np.ndarray:
    """Slice of each sample, of which there must be two at least."""
    codes = slice_codes(Response.of(y, n), slices, weights)
    if codes.max() == 0:
        raise DataError("y is constant, or nearly: it has a single slice, expected two at least")
    return codes


def sliced_directions(
    X: Array, response: Response, r: int, slices: int, weights: Array | None = None
) -> Array:
    """Orthonormal span of the top_r directions C^{-1/2} eta of Cov(E[x | slice]); X is centred.

    Beyond slices - 1 directions, where the covariance of slice means has no rank left, the leading
    principal components of the rest fill up.
    """
    d = X.shape[1]
    codes = slice_codes(response, slices, weights)
    counts = np.bincount(codes, weights)
    n, rows = counts.sum(), weighted(X, weights)
    sums = np.zeros((len(counts), d))
    np.add.at(sums, codes, counted_rows(X, weights))
    between = (sums / counts[:, None]).T @ sums / n
    C = rows.T @ rows / n
    Q = range_basis(C)
    basis = np.eye(d) if Q is None else Q
    informative = min(r, len(counts) - 1, basis.shape[1])
    found = np.zeros((d, 0))
    if informative > 0:
        _, directions = generalised_top_eigenvectors(
            basis.T @ between @ basis, basis.T @ C @ basis, informative
        )
        found = np.linalg.qr(basis @ directions)[0]
    if informative == r:
        return found
    rest = rows - (rows @ found) @ found.T
    _, _, Vt = np.linalg.svd(rest, full_matrices=False)
    return np.linalg.qr(np.hstack([found, Vt[: r - informative].T]))[0]
