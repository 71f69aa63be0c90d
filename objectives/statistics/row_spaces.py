"""The span of the centred rows, for fewer samples than features."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np
import scipy
from scipy.linalg.lapack import dtrcon

from ldr.objectives.data.data import Array, Samples
from ldr.objectives.statistics.products import column_means, shifted_rows
from ldr.objectives.statistics.scatters import mean
from ldr.objectives.statistics.sums import dense, symmetric
from ldr.solvers.deadline import decomposing
from ldr.solvers.linalg.eigen import graded_qr, orthogonal_to, rank_tolerance
from ldr.solvers.linalg.rounding import EMPTY


@dataclass(frozen=True, eq=False)
class RowSpace(ABC):
    """Orthonormal basis Q (d x k) of the span of the centred rows, and the rows' coordinates.

    For n < d all relevant directions lie in this span: a method uses the k-dimensional `scores` and
    maps the solution by `lift`, without d x d arrays.

    - mean (d,)
    - scores (n, k): T = Xc Q, so that Xc = T Q'
    - sizes (k,): sizes of T's columns before cancellation, the scale of rounding errors
    """

    mean: Array
    scores: Array
    sizes: Array

    @property
    def k(self) -> int:
        """Dimension of the basis."""
        return int(self.scores.shape[1])

    @abstractmethod
    def lift(self, Z: Array) -> Array:
        """Return QZ (d x r) for Z (k x r)."""

    @abstractmethod
    def lower(self, M: Array) -> Array:
        """Return Q'M (k x r) for M (d x r)."""


@dataclass(frozen=True, eq=False)
class DenseRowSpace(RowSpace):
    """Row space with a stored basis.

    - basis (d, k): Q, orthonormal to rounding
    """

    basis: Array

    def lift(self, Z: Array) -> Array:
        return np.asarray(self.basis @ Z)

    def lower(self, M: Array) -> Array:
        return np.asarray(self.basis.T @ M)


@dataclass(frozen=True, eq=False)
class SparseRowSpace(RowSpace):
    """Row space of sparse rows with the basis Q = Xc'W, which is never formed.

    - samples (n, d): the rows minus a shift
    - centre (d,): mean of these rows
    - weights (n, k): the matrix W
    """

    samples: Samples
    centre: Array
    weights: Array

    def lift(self, Z: Array) -> Array:
        return self.samples.centred_transpose_times(self.weights @ Z, self.centre)

    def lower(self, M: Array) -> Array:
        return np.asarray(self.weights.T @ self.samples.centred_times(M, self.centre))


@dataclass(frozen=True, eq=False)
class WidenedRowSpace(RowSpace):
    """A row space extended by orthogonal directions.

    - outside (d, m): orthonormal, and orthogonal to the basis of `inner`
    """

    inner: RowSpace
    outside: Array

    @classmethod
    def of(cls, space: RowSpace, room: int) -> RowSpace:
        """Add up to `room` directions in which the scores are zero."""
        room = min(room, len(space.mean) - space.k)
        if room == 0:
            return space
        outside = np.random.default_rng(0).standard_normal((len(space.mean), room))
        nothing = np.zeros((len(space.scores), room))
        return cls.of_rows(space, outside, nothing, np.zeros(len(space.mean)))

    @classmethod
    def of_rows(cls, space: RowSpace, Z: Array, weights: Array, lengths: Array) -> WidenedRowSpace:
        """Add the span of Z (d, m); centred rows have the part `weights` Z' outside the space.

        The argument `lengths` (d,) contains the sizes of the features, for rounding errors.
        """
        for _ in range(2):
            Z, R = np.linalg.qr(_split(space, Z)[1])
            weights = weights @ R.T
        sizes = np.concatenate([space.sizes, lengths @ np.abs(Z)])
        return cls(space.mean, np.hstack([space.scores, weights]), sizes, space, Z)

    def lift(self, Z: Array) -> Array:
        return self.inner.lift(Z[: self.inner.k]) + self.outside @ Z[self.inner.k :]

    def lower(self, M: Array) -> Array:
        return np.concatenate([self.inner.lower(M), self.outside.T @ M])


def row_space(samples: Samples) -> RowSpace:
    """Return an orthonormal basis of the span of the centred rows, for data with n < d.

    For dense data: QR of the centred rows, in O(n^2 d), with one copy of X in float64. For sparse
    data: eigenvectors of the n x n Gram matrix of the centred rows, in O(n^3) plus the cost of XX'.
    Directions with small eigenvalues of the Gram matrix are recomputed from the rows.

    - returns: For dense data k = min(n - 1, d), and Q is orthonormal to 1e-15; directions outside
      of the span of dependent rows have zero scores. For sparse data k is the rank, and Q is
      orthonormal to 1e-16 divided by the smallest relative Gram eigenvalue (at worst 1e-6). The m
      directions with relative eigenvalues below 1e-10 are recomputed, with a d x m array.
    """
    samples = replace(samples, marks=None)  # the span of rows does not depend on weights
    if samples.is_sparse:
        return _sparse_row_space(samples)
    return _dense_row_space(samples)


def _dense_row_space(samples: Samples) -> DenseRowSpace:
    """Return the row space by QR of n - 1 combinations of rows orthogonal to the mean.

    The n centred rows span n - 1 dimensions at most. A Householder reflection H that takes 1 to a
    multiple of e_1 turns Xc into H Xc, whose first row is zero; the other rows, B, have the same
    span and are in general independent. With B' = Q R, Xc = H [0; R'] Q'.
    """
    n, centre = samples.n, mean(samples)
    B = _blind_to_the_mean(samples, centre)
    with decomposing(n):
        basis, R = scipy.linalg.qr(B.T, overwrite_a=True, mode="economic", check_finite=False)
    sizes = np.hypot(np.linalg.norm(R), np.sqrt(n) * (np.abs(centre) @ np.abs(basis)))
    if dtrcon(R[:, : len(R)])[0] ** 2 < EMPTY:  # the basis may contain rounding errors
        basis, R, lengths = _graded(samples, centre)
        sizes = np.hypot(lengths, np.sqrt(n) * centre) @ np.abs(basis)
    scores = np.empty((n, len(R)))
    scores[0] = -R.sum(axis=1) / np.sqrt(n)
    scores[1:] = R.T - R.sum(axis=1) / (n + np.sqrt(n))
    return DenseRowSpace(centre, scores, sizes, basis)


def _blind_to_the_mean(samples: Samples, centre: Array) -> Array:
    """Return all rows of H Xc but the first, which is zero, (n - 1, d)."""
    n, d = samples.shape
    Z = np.empty((n, d))
    for where, block in samples.blocks():
        np.subtract(block, centre, out=Z[where])
    # H is the Householder reflection that maps the vector of ones to a multiple of e_1.
    Z[1:] -= Z[0] / (np.sqrt(n) + 1) + Z.sum(axis=0) / (n + np.sqrt(n))
    return Z[1:]


def _graded(samples: Samples, centre: Array) -> tuple[Array, Array, Array]:
    """Return a basis and R, accurate relative to the length of each feature, and these lengths.

    The rank is determined for features scaled to length 1; rows of R beyond the rank are zero.
    """
    B = _blind_to_the_mean(samples, centre)
    lengths = np.linalg.norm(B, axis=0)
    values = scipy.linalg.svdvals(B[:, lengths > 0] / lengths[lengths > 0])
    rank = int(np.sum(values > rank_tolerance(len(B)) * values.max(initial=0.0)))
    basis, pivoted, pivots = graded_qr(B.T)
    R = np.zeros_like(pivoted)
    R[:rank, pivots] = pivoted[:rank]
    return basis, R, lengths


def _sparse_row_space(samples: Samples) -> RowSpace:
    X, shift = shifted_rows(samples)
    centre = column_means(X)
    along = np.asarray(X @ centre)
    gram = dense(X @ X.T) - along[:, None] - along + centre @ centre
    # The vector of ones is excluded, because centred rows are orthogonal to it.
    blind = orthogonal_to(np.ones((len(gram), 1)))
    with decomposing(len(gram)):
        values, vectors = scipy.linalg.eigh(symmetric(blind.T @ gram @ blind), check_finite=False)
    vectors = blind @ vectors
    largest = max(values, default=0.0)  # for n = 1 the matrix is empty: no eigenvalues
    kept = values > EMPTY * max(largest, 0.0)  # smaller eigenvalues are inaccurate
    lengths, lost = np.sqrt(values[kept][::-1]), vectors[:, ~kept]
    vectors = vectors[:, kept][:, ::-1]
    scores, weights = vectors * lengths, vectors / lengths
    sizes = (largest + len(gram) * (centre @ centre)) / lengths
    space = SparseRowSpace(shift + centre, scores, sizes, Samples(X), centre, weights)
    return _with_small_directions(space, lost) if lost.size else space


def _with_small_directions(space: SparseRowSpace, V: Array) -> RowSpace:
    """Return the space extended by directions V, (n, m), that the Gram matrix lost to rounding.

    Xc'V has errors of eps times the length of each feature, but Gram eigenvalues have errors of eps
    times the largest eigenvalue. Xc'V thus recovers features of small scale.
    """
    X, n = space.samples, space.samples.n
    squares = np.asarray(X.array.multiply(X.array).sum(axis=0)).ravel() - n * space.centre**2
    lengths = np.sqrt(np.maximum(squares, 0.0))
    units = np.where(lengths > 0, 1.0 / np.where(lengths > 0, lengths, 1.0), 0.0)[:, None]
    rounding = rank_tolerance(n) * np.sqrt(max(1.0, np.count_nonzero(lengths) / n))
    Z = X.centred_transpose_times(V, space.centre)
    varies = np.linalg.norm(units * Z, axis=0) > rounding
    V, Z = V[:, varies], Z[:, varies]
    if not V.size:
        return space
    # Projection onto the basis Xc'W multiplies Z's rounding errors by the condition number of W.
    lost = n * np.finfo(float).eps * np.linalg.norm(units * Z) * np.linalg.cond(space.weights)
    inside, Z = _split(space, Z)
    space = replace(space, scores=space.scores + V @ inside.T)
    _, shares, turned = np.linalg.svd(units * Z, full_matrices=False)
    turned = turned[shares > max(rounding, lost)].T
    if not turned.size:
        return space
    return WidenedRowSpace.of_rows(space, Z @ turned, V @ turned, lengths)


def _split(space: RowSpace, Z: Array) -> tuple[Array, Array]:
    """Return coordinates in the space and the rest, projected twice against rounding."""
    first = space.lower(Z)
    Z = Z - space.lift(first)
    second = space.lower(Z)
    return first + second, Z - space.lift(second)
