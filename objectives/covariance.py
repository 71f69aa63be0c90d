"""Covariances by what is asked of them: arrays, and operators where an array is too large."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import scipy

from ldr.objectives.samples import Samples
from ldr.solvers.eigen import top_eigenvectors
from ldr.solvers.manifolds import Array


@dataclass(frozen=True)
class CovarianceOperator:
    """C = (X - 1m')'(X - 1m')/n, known by its products C @ V; the centring is algebra.

    Each product costs two passes over the nonzero entries.
    """

    #: Above this many rows and columns, products with sparse data beat a dense covariance.
    worthwhile: ClassVar[int] = 2000

    samples: Samples
    mean: Array

    @property
    def shape(self) -> tuple[int, int]:
        return self.samples.d, self.samples.d

    def __matmul__(self, V: Array) -> Array:
        columns = V.reshape(self.samples.d, -1)
        product = self.samples.centred_transpose_times(
            self.samples.centred_times(columns, self.mean), self.mean
        )
        return product.reshape(V.shape) / self.samples.n

    @cached_property
    def trace(self) -> float:
        squares = sum(float(np.sum(np.square(block.data))) for _, block in self.samples.blocks())
        return squares / self.samples.n - float(self.mean @ self.mean)


@dataclass(frozen=True)
class DenseCovariance:
    """A d x d covariance."""

    C: Array

    def __matmul__(self, V: Array) -> Array:
        return self.C @ V

    def top_weighted(self, weights: Array, r: int) -> tuple[Array, Array]:
        """The top r eigenvalues, descending, and eigenvectors of wCw, w = diag(weights)."""
        return top_eigenvectors(self.C * weights * weights[:, None], r)

    def spectrum(self) -> Array:
        """Its eigenvalues, ascending."""
        return np.asarray(scipy.linalg.eigvalsh(self.C, check_finite=False))

    def unexplained(self) -> Array:
        """1/(C^{-1})_jj: the variance of each column that a regression on the others leaves."""
        return np.asarray(1.0 / np.diag(np.linalg.inv(self.C)))


@dataclass(frozen=True)
class RowCovariance:
    """C = Z'Z of m < d rows, by products with Z and eigenvectors of the m x m Gram matrix."""

    Z: Array

    def __matmul__(self, V: Array) -> Array:
        return self.Z.T @ (self.Z @ V)

    def top_weighted(self, weights: Array, r: int) -> tuple[Array, Array]:
        """The top r eigenvalues, descending, and eigenvectors of wCw, w = diag(weights)."""
        rows = self.Z * weights
        values, vectors = top_eigenvectors(rows @ rows.T, r)
        return values, (rows.T @ vectors) / np.sqrt(values)

    def spectrum(self) -> Array:
        """Its m largest eigenvalues, ascending."""
        return np.asarray(scipy.linalg.eigvalsh(self.Z @ self.Z.T, check_finite=False))
