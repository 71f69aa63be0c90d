"""Matrix manifolds: where the projection M lives.

A point is one float64 array, also on a product (a flat one, whose ``split`` gives the factors), so
that a solver is written once, in plain array arithmetic, for every manifold.
"""

from ldr.solvers.manifolds.euclidean import Euclidean
from ldr.solvers.manifolds.grassmann import Grassmann
from ldr.solvers.manifolds.manifold import Array, Manifold, Multiplier
from ldr.solvers.manifolds.orthonormal import Orthonormal, polar_factor
from ldr.solvers.manifolds.product import Product
from ldr.solvers.manifolds.stiefel import Stiefel
from ldr.solvers.manifolds.support import (
    SparseEuclidean,
    SparseStiefel,
    nearest_with_its_zeros,
    nearest_with_zeros,
    on_support,
)

__all__ = [
    "Array",
    "Euclidean",
    "Grassmann",
    "Manifold",
    "Multiplier",
    "Orthonormal",
    "Product",
    "SparseEuclidean",
    "SparseStiefel",
    "Stiefel",
    "nearest_with_its_zeros",
    "nearest_with_zeros",
    "on_support",
    "polar_factor",
]
