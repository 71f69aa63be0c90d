"""Covariances as arrays or as linear operators, and the variation under a map."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Protocol

import numpy as np
import scipy

from ldr.objectives.data.data import BLOCK_NUMBERS, WIDE, Samples
from ldr.objectives.statistics import mean, moments
from ldr.objectives.statistics.products import column_means, scaled_rows, shifted_rows
from ldr.objectives.statistics.sums import added, check_sums, counted_rows, few_columns, weighted
from ldr.solvers.linalg.eigen import top_eigenvectors
from ldr.solvers.manifolds import Array

# Largest order of a covariance or Gram matrix that is computed as a dense matrix.
_LEAST_ORDER = 2000
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
            return order > _LEAST_ORDER
        return order > max(_LEAST_ORDER, _COLUMNS_PER_VECTOR * r)

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


@dataclass(frozen=True)
class Variation:
    """Covariances of the components y = P(x - mean), where C is the covariance of the samples x.

    - within (r, r): PCP', the covariance of y
    - columns (d, r): CP', the covariances of x and y
    - total: tr C
    - n: number of rows, or sum of weights
    """

    within: Array
    columns: Array
    total: float
    n: float

    @classmethod
    def of(cls, P: Array, CP: Array, total: float, n: float) -> Variation:
        """Compute the variation from P and CP'."""
        within = P @ CP
        return cls(0.5 * (within + within.T), CP, total, n)

    def turned(self, Q: Array) -> Variation:
        """Return the variation of the rotated components Q'y."""
        return Variation(Q.T @ self.within @ Q, self.columns @ Q, self.total, self.n)

    def of_rows(self, where: slice) -> Variation:
        """Return the covariances for some of the components, given by a slice."""
        return Variation(self.within[where, where], self.columns[:, where], self.total, self.n)

    @property
    def variances(self) -> Array:
        """Variances of the components."""
        return np.maximum(np.diag(self.within), 0.0)

    @property
    def shares(self) -> Array | None:
        """Share of each component in the total variance of x; None for constant x."""
        return self.variances / self.total if self.total > 0 else None

    @property
    def correlations(self) -> Array:
        """Correlations of the components; zero for constant components."""
        roots = np.sqrt(self.variances)
        inverse = np.divide(1.0, roots, where=roots > 0, out=np.zeros_like(roots))
        return self.within * inverse * inverse[:, None]

    @property
    def loadings(self) -> Array:
        """Coefficients CP'(PCP')^+ of the linear regression of x on the components y."""
        return np.asarray(self.columns @ np.linalg.pinv(self.within, hermitian=True))

    @property
    def predicted(self) -> Array:
        """Share of x's variance explained by the first k components, for each k."""
        if not self.total > 0:
            return np.zeros(len(self.within))
        shares = self.columns.T @ (self.columns / self.total)
        inverses = (
            np.linalg.pinv(self.within[:k, :k], hermitian=True)
            for k in range(1, len(self.within) + 1)
        )
        return np.array([np.vdot(A, shares[: len(A), : len(A)]) for A in inverses])


class Scatter(Protocol):
    """Scatter of rows, from which the covariances of projected rows are computed."""

    def variation(self, P: Array) -> Variation: ...


@dataclass(frozen=True)
class KnownScatter:
    """The scatter of n rows as an array."""

    array: Array
    n: float

    @property
    def deviations(self) -> Array:
        """Standard deviations of the columns."""
        return np.sqrt(np.maximum(self.array.diagonal(), 0.0) / self.n)

    def variation(self, P: Array) -> Variation:
        total = float(np.trace(self.array)) / self.n
        return Variation.of(P, self.array @ P.T / self.n, total, self.n)


@dataclass(frozen=True)
class RowScatter:
    """Scatter of rows read on demand, in a single pass.

    - centre (d,): approximate mean of the rows
    """

    samples: Samples
    centre: Array | None = None

    def variation(self, P: Array) -> Variation:
        centre = mean(self.samples) if self.centre is None else self.centre
        sums = self.samples.reduce(partial(_variation_sums, centre=centre, P=P), added)
        n = float(sums[0, -1])
        offset = sums[:, -2] / n
        total = float(sums[:, -3].sum()) / n - float(offset @ offset)
        CP = sums[:, :-3] / n - np.outer(offset, P @ offset)
        return Variation.of(P, CP, total, n)


def _variation_sums(piece: Samples, centre: Array, P: Array) -> Array:
    """Return sum z (Pz)', sum z^2, sum z and sum of weights, z = x - centre, side by side."""
    sums = np.zeros((piece.d, len(P) + 3))
    sums[:, -1] = piece.weight
    if piece.is_sparse:
        slices = list(piece.slices(max(1, BLOCK_NUMBERS // sums.shape[1])))
        if len(slices) > 1:  # blocks limit memory: sparse rows times the matrix P are dense
            for where in slices:
                sums[:, :-1] += _variation_sums(piece.piece(where), centre, P)[:, :-1]
            return sums
        rows, n = piece.array.astype(np.float64, copy=False), piece.weight
        counted = scaled_rows(rows, piece.weights)
        totals = np.asarray(counted.sum(axis=0)).ravel()
        squares = np.asarray(rows.multiply(counted).sum(axis=0)).ravel()
        products = counted_rows(piece.centred_times(P.T, centre), piece.weights)
        sums[:, :-3] = piece.centred_transpose_times(products, centre)
        sums[:, -3] = squares - centre * (2.0 * totals - n * centre)
        sums[:, -2] = totals - n * centre
        return sums
    Z = piece.less(centre)
    counted = counted_rows(Z, piece.weights)
    sums[:, :-3] = counted.T @ (Z @ P.T)
    sums[:, -3] = np.einsum("ij,ij->j", counted, Z)
    sums[:, -2] = counted.sum(axis=0)
    return sums


class Basis(Protocol):
    """An orthonormal basis Q of a subspace, by the products QZ and Q'M."""

    def lift(self, Z: Array) -> Array: ...

    def lower(self, M: Array) -> Array: ...


@dataclass(frozen=True)
class SpannedScatter:
    """The scatter of rows in an orthonormal basis of the rows' span."""

    space: Basis
    inner: Scatter

    def variation(self, P: Array) -> Variation:
        found = self.inner.variation(self.space.lower(P.T).T)
        return replace(found, columns=self.space.lift(found.columns))
