"""Lengths of matrices, and units in which they are about 1."""

from __future__ import annotations

import math

import numpy as np
import scipy

from ldr.solvers.manifolds import Array


def length(A: Array) -> float:
    """The Frobenius norm, also where squares of entries are no numbers (NumPy's sums them)."""
    return float(scipy.linalg.norm(A.ravel(), check_finite=False))


def power_of_two(A: Array) -> float:
    """The power of two next above the largest entry; 1 of a matrix of zeros."""
    return math.ldexp(1.0, math.frexp(float(np.abs(A).max()))[1])
