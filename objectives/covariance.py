"""The covariance of sparse data as an operator, when it is too large to be an array."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from ldr.objectives.samples import Samples
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
