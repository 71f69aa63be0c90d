from .manifold import (
    Array,
    Euclidean,
    Grassmann,
    Manifold,
    Multiplier,
    Orthonormal,
    Product,
    Stiefel,
    polar_factor,
)
from .support import (
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
