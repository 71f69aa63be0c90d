from .graph import diagonal_forms, linked_form
from .row_spaces import (
    DenseRowSpace,
    RowSpace,
    SparseRowSpace,
    WidenedRowSpace,
    row_space,
)
from .scatters import (
    ClassMoments,
    Moments,
    ViewMoments,
    class_moments,
    mean,
    moments,
    moments_of_parts,
    view_moments,
)
from .shrinkage import JointShrinkage, Shrinkage, ledoit_wolf, ledoit_wolf_of_views, target
from .sums import Codes
from .time import LaggedMoments, difference_scatter, lagged_moments, pair_moments, window_moments

__all__ = [
    "ClassMoments",
    "Codes",
    "DenseRowSpace",
    "JointShrinkage",
    "LaggedMoments",
    "Moments",
    "RowSpace",
    "Shrinkage",
    "SparseRowSpace",
    "ViewMoments",
    "WidenedRowSpace",
    "class_moments",
    "diagonal_forms",
    "difference_scatter",
    "lagged_moments",
    "ledoit_wolf",
    "ledoit_wolf_of_views",
    "linked_form",
    "mean",
    "moments",
    "moments_of_parts",
    "pair_moments",
    "row_space",
    "target",
    "view_moments",
    "window_moments",
]
