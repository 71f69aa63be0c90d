from .euclidean import Euclidean
from .grassmann import Grassmann
from .manifold import Array, Manifold, Multiplier
from .orthonormal import Orthonormal, polar_factor
from .product import Product
from .stiefel import Stiefel
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
