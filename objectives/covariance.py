"""The covariance as an operator, where it is too large, or too dear, to be an array."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldr.objectives.samples import Samples
from ldr.objectives.statistics import moments
from ldr.solvers.manifolds import Array

# Below this many rows or columns an array is made.
_LEAST_ORDER = 2000
# Columns for each of the r wanted, from which on dense data are not squared. Block Krylov usually
# needs 10 r to 15 r products; it may spend d/8, which is half of the work of squaring.
_COLUMNS_PER_VECTOR = 150


@dataclass(frozen=True)
class CovarianceOperator:
    """C = (X - 1m')'(X - 1m')/n, known by its products C @ V.

    A product costs one pass over dense rows, centred block by block; two passes over the nonzero
    entries of sparse ones, whose centring is algebra.
    """

    samples: Samples
    mean: Array

    @staticmethod
    def worthwhile(samples: Samples, r: int) -> bool:
        """Whether r eigenvectors from products should cost less than the covariance itself."""
        order = min(samples.shape)
        return order > _LEAST_ORDER and (samples.is_sparse or order > _COLUMNS_PER_VECTOR * r)

    @property
    def shape(self) -> tuple[int, int]:
        return self.samples.d, self.samples.d

    @property
    def most_products(self) -> int:
        """Beyond which the array is the cheaper way; of sparse data it may be too large to make."""
        return self.samples.d if self.samples.is_sparse else min(self.samples.shape) // 8

    def array(self) -> Array | None:
        """The covariance itself; None of sparse data, which are not squared."""
        return None if self.samples.is_sparse else moments(self.samples).covariance

    def __matmul__(self, V: Array) -> Array:
        columns, samples = V.reshape(self.samples.d, -1), self.samples
        if samples.is_sparse:
            product = samples.centred_transpose_times(
                samples.centred_times(columns, self.mean), self.mean
            )
        else:
            product = np.zeros_like(columns)
            for _, block in samples.blocks():
                centred = block - self.mean
                product += centred.T @ (centred @ columns)
        return product.reshape(V.shape) / samples.n

    @cached_property
    def trace(self) -> float:
        if self.samples.is_sparse:
            squares = sum(float(np.sum(np.square(b.data))) for _, b in self.samples.blocks())
            return squares / self.samples.n - float(self.mean @ self.mean)
        deviations = (block - self.mean for _, block in self.samples.blocks())
        return sum(float(np.vdot(b, b)) for b in deviations) / self.samples.n
