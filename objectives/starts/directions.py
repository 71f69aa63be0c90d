"""Directions that are cheap to find, X centred throughout, and a point that is found among many."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import scipy

from ldr.objectives.kernels import Response, gaussian_gram, median_distance
from ldr.objectives.problem import BoundObjective
from ldr.objectives.statistics.sizes import even_rows, quantiles
from ldr.objectives.statistics.sums import counted_rows, weighted
from ldr.solvers.descent.lbfgs import LBFGS
from ldr.solvers.errors import DataError
from ldr.solvers.limits import check
from ldr.solvers.linalg.eigen import (
    generalised_top_eigenvectors,
    range_basis,
    rank_tolerance,
    symmetric_eigen,
    top_eigenvectors,
)
from ldr.solvers.linalg.lengths import power_of_two
from ldr.solvers.loop import run_through
from ldr.solvers.manifolds import Array
from ldr.solvers.run import Stopping

_ROWS = 1000  # of the gradient outer product, whose time is cubic in them
_RESPONSES = 20  # principal components of the response's features that it looks at


def principal_directions(X: Array, r: int) -> Array:
    """Orthonormal k x r: the leading principal components."""
    return top_eigenvectors(X.T @ X, r)[1]


def fourth_order_directions(X: Array, weights: Array | None = None) -> Array:
    """FOBI: all k eigenvectors of E[|x|^2 x x'].

    Of white X they are the sources' where their kurtoses differ.

    Source: Cardoso 1989.
    """
    squares = np.einsum("ij,ij->i", X, X)
    return symmetric_eigen((counted_rows(X, weights) * squares[:, None]).T @ X / len(X))[1]


def gradient_directions(
    X: Array, Z: Array, r: int, epsilon: float, weights: Array | None = None
) -> Array:
    """Orthonormal k x r: the directions along which the kernel regression of Z on X changes most.

    The top_r eigenvectors of `gradient_outer_product`, of at most 1000 evenly spaced rows and the
    leading features of the response.

    Parameters
    ----------
    X : ndarray (n, k)
    Z : ndarray (n, p)
        Features of the response: a factor of its Gram matrix.
    r : int
    epsilon : float
        Regularisation of the regression.
    """
    rows = even_rows(len(X), _ROWS, weights)
    X, Z = X[rows], Z[rows]
    U, s, _ = np.linalg.svd(Z, full_matrices=False)
    Z = (U * s)[:, :_RESPONSES]
    return top_eigenvectors(gradient_outer_product(X, Z, median_distance(X), epsilon), r)[1]


def gradient_outer_product(
    X: Array, Z: Array, width: float, epsilon: float, weights: Array | None = None
) -> Array:
    """mean_i sum_p grad g_p(x_i) grad g_p(x_i)' of the kernel regression g of Z on X, k x k.

    g(x) = Z'(K + n eps I)^{-1} k(x), K the Gaussian Gram matrix, so that with the rows
    (x_j - x_i)' k(x_j, x_i)/width^2 of D_i it is mean_i D_i'(K + n eps I)^{-1} ZZ'
    (K + n eps I)^{-1} D_i. Of weighted rows W^{1/2}(W^{1/2}KW^{1/2} + N eps I)^{-1}W^{1/2} stands
    for the inverse.

    Source: Fukumizu and Leng 2014 (gradient-based kernel dimension reduction).
    """
    n, k = len(X) if weights is None else weights.sum(), X.shape[1]
    K = gaussian_gram(X, width)
    ridged = K.copy() if weights is None else weighted(weighted(K, weights).T, weights)
    ridged[np.diag_indices_from(K)] += n * epsilon
    Z = weighted(Z, weights)
    A = weighted(scipy.linalg.solve(ridged, Z, assume_a="pos", check_finite=False), weights)
    outer = np.zeros((k, k))
    for a in A.T:
        check()
        gradients = weighted(K @ (a[:, None] * X) - (K @ a)[:, None] * X, weights) / width**2
        outer += gradients.T @ gradients
    return outer / n


_RUNS = 5
_GROUP = 8  # points, from the lowest of which there is a run
_SHORT = Stopping(1e-6, 10)


def screened(problem: BoundObjective, X: Array, weights: Array | None = None) -> Array:
    """The lowest end of short runs from random points, the same ones at every call.

    A run starts from the lowest of each group of points: the lowest of all may be in one basin.
    """
    points = random_points(problem, X, _RUNS * _GROUP, weights)
    starts = (min(islice(points, _GROUP), key=problem.value) for _ in range(_RUNS))
    ends = [run_through(problem, M, LBFGS(), _SHORT) for M in starts]
    return min(ends, key=lambda run: run.value).M


def random_points(
    problem: BoundObjective, X: Array, count: int, weights: Array | None = None
) -> Iterator[Array]:
    """Random M that turn with the columns of X and do not depend on the order of its rows.

    They are made in the eigenvectors of E[|x|^2 x x'], with positive skewness, those in which
    something varies. X is centred.
    """
    X = X / power_of_two(X)  # fourth powers stay in range
    axes = fourth_order_directions(X, weights)
    Y = X @ axes
    axes = axes * np.where(counted_rows(Y**3, weights).sum(axis=0) < 0, -1.0, 1.0)
    lengths, (k, r) = np.linalg.norm(Y, axis=0), problem.manifold.shape
    varied = lengths > rank_tolerance(k) * lengths.max()
    rng, m = np.random.default_rng(0), int(varied.sum())
    draw, manifold = problem.random_point, cast(Any, problem.manifold)
    if r <= m < k:
        axes, draw = axes[:, varied], replace(manifold, d=m).random_point
    for _ in range(count):
        yield axes @ draw(rng)


def random_directions(problem: BoundObjective, count: int = 5) -> dict[str, Array]:
    """Random starts, always the same."""
    rng = np.random.default_rng(0)
    return {f"random direction {k + 1}": problem.random_point(rng) for k in range(count)}


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
