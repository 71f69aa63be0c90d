"""Relative sizes below which computed numbers are rounding errors, for the whole library."""

from __future__ import annotations

# Two values are equal, or a difference is zero, if they differ by less than this share of the
# terms: some tens of roundings.
VALUE_ROUNDING = 1e-14
# A decomposition or an iteration has converged, or a factor of a matrix is zero, below this share
# of the largest entry: the roundings of one decomposition.
FACTOR_ROUNDING = 1e-12
# Two eigenvalues, distances or optimal values are tied if their relative difference is smaller:
# they were computed by different operations, or from different data.
TIED = 1e-10
# A variance is zero, or a vector lies in a subspace, if less than this share of it is left.
EMPTY = 1e-10
# Step of central differences of functions of size 1: truncation and rounding errors are near 1e-10.
DIFFERENCE_STEP = 1e-5
# A gradient is a rounding error of f below this share of |f|, a curvature below this share of the
# largest curvature, and f below this share of the gradient of its terms.
SLOPE_ROUNDING = 1e-6
# A difference of sums, or an eigenvalue of a matrix whose rows have very different sizes, is
# computed in another way if it is below this share of the sums or of the largest eigenvalue.
CANCELLED = 1e-3
