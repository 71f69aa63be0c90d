"""Covariances as linear operators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import scipy

from ldr.objectives.data.data import DENSE, WIDE, Samples
from ldr.objectives.statistics import mean, moments
from ldr.objectives.statistics.products import column_means, shifted_rows
from ldr.objectives.statistics.scatters import RowScatter, Variation
from ldr.objectives.statistics.sums import added, check_sums, counted_rows, few_columns, weighted
from ldr.solvers.linalg.eigen import top_eigenvectors
from ldr.solvers.manifolds import Array

# Ratio of the covariance's order to the number of components, above which block Krylov is applied
# to dense data. At this ratio block Krylov takes half of the time of the covariance matrix.
_COLUMNS_PER_VECTOR = 150
# A multiplication in a product of the covariance with a vector takes this many times as long as one
# in the computation of the covariance matrix.
_SQUARED_PER_PRODUCT = 25


@dataclass(frozen=True)
class CovarianceOperator:
    """The covariance C = (X - 1m')'(X - 1m')/n as an operator, with products C @ V.

    A product with C takes one pass over dense rows, centred block by block, or two passes over the
    nonzero entries of sparse rows.

    - samples: the rows, minus a shift if sparse
    - centre (d,): mean of these rows
    - mean (d,): mean of the unshifted rows
    """

    samples: Samples
    centre: Array
    mean: Array

    @classmethod
    def of(cls, samples: Samples) -> CovarianceOperator:
        if not samples.is_sparse:
            centre = mean(samples)
            return cls(samples, centre, centre)
        X, shift = shifted_rows(samples)
        centre = column_means(X, samples.weights)
        return cls(replace(samples, array=X), centre, shift + centre)

    @staticmethod
    def worthwhile(samples: Samples, r: int) -> bool:
        """Return True if products for r eigenvectors are likely faster than the covariance."""
        if not samples.n_known:
            return False
        order = min(samples.shape)
        if samples.stored:  # each product with the covariance would read the file again
            return order > WIDE
        if samples.is_sparse:
            return order > DENSE
        return order > max(DENSE, _COLUMNS_PER_VECTOR * r)

    @property
    def shape(self) -> tuple[int, int]:
        return self.samples.d, self.samples.d

    @property
    def is_sparse(self) -> bool:
        return self.samples.is_sparse

    @property
    def most_products(self) -> int:
        """Number of products beyond which a dense covariance is cheaper."""
        return self.samples.d if self.samples.is_sparse else min(self.samples.shape) // 8

    def array(self) -> Array | None:
        """Return the covariance as an array; None for sparse data."""
        return None if self.samples.is_sparse else moments(self.samples).covariance

    def worth_squaring(self, products: int) -> bool:
        """Return True if `squared` and a proof by Cholesky factors cost less than `products`."""
        order, longest = sorted(self.samples.shape)
        cost = order * (1.0 + 2.0 * order / longest)  # matrix product plus proof of optimality
        affordable = order <= WIDE and not (self.samples.is_sparse or self.samples.stored)
        return affordable and cost <= _SQUARED_PER_PRODUCT * products

    def squared(self) -> tuple[Array, Callable[[Array], Array]] | None:
        """Return C, or for n < d the matrix XX'/n of the centred rows, with the same eigenvalues.

        The second result maps eigenvectors of C to eigenvectors of the returned matrix. The
        function returns None for sparse data.
        """
        samples, centre, n = self.samples, self.centre, self.samples.weight
        if samples.is_sparse:
            return None
        if samples.stored or samples.n >= samples.d:
            return moments(samples).covariance, lambda V: V
        check_sums(samples.n, samples.n)
        K = np.zeros((samples.n, samples.n))
        for some in few_columns(samples.d, samples.n):
            centred = weighted(samples.array[:, some] - centre[some], samples.weights)
            K += centred @ centred.T

        def scores(V: Array) -> Array:
            return np.linalg.qr(weighted(samples.centred_times(V, centre), samples.weights))[0]

        return K / n, scores

    def __matmul__(self, V: Array) -> Array:
        columns = V.reshape(self.samples.d, -1)
        term = partial(_scatter_times, mean=self.centre, V=columns)
        return self.samples.reduce(term, added).reshape(V.shape) / self.samples.weight

    def variation(self, P: Array) -> Variation:
        return RowScatter(self.samples, self.centre).variation(P)

    @cached_property
    def trace(self) -> float:
        return self.variation(np.empty((0, self.samples.d))).total


def _scatter_times(piece: Samples, mean: Array, V: Array) -> Array:
    """(X - 1m')'(X - 1m')V of a piece."""
    if piece.is_sparse:
        found = np.empty_like(V)
        for some in few_columns(V.shape[1], piece.n):
            products = counted_rows(piece.centred_times(V[:, some], mean), piece.weights)
            found[:, some] = piece.centred_transpose_times(products, mean)
        return found
    if piece.accelerator is not None and piece.weights is None:
        return piece.accelerator.scatter_times(piece.array, mean, V)
    centred = weighted(piece.less(mean), piece.weights)
    return centred.T @ (centred @ V)


@dataclass(frozen=True)
class FactoredCovariance:
    """The covariance C = F'F of d columns, by products with the m <= d rows of F.

    The eigenvectors of C are computed from the m x m matrix FF' if m < d.
    """

    F: Array

    @property
    def array(self) -> Array:
        """The matrix C."""
        return self.F.T @ self.F

    def __matmul__(self, V: Array) -> Array:
        return self.F.T @ (self.F @ V)

    def top_weighted(self, weights: Array, r: int) -> tuple[Array, Array]:
        """Return the top r eigenvalues, descending, and eigenvectors of wCw, w = diag(weights)."""
        rows = self.F * weights
        if len(rows) == len(weights):
            return top_eigenvectors(rows.T @ rows, r)
        values, vectors = top_eigenvectors(rows @ rows.T, r)
        return values, (rows.T @ vectors) / np.sqrt(values)

    def spectrum(self) -> Array:
        """Return the m largest eigenvalues of C, ascending."""
        return np.asarray(scipy.linalg.eigvalsh(self.F @ self.F.T, check_finite=False))
