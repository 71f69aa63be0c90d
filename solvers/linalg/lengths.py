"""Lengths of matrices, and units in which they are about 1."""

from __future__ import annotations

import math

import numpy as np
import scipy

from ldr.solvers.manifolds import Array

# Order from which products of sizes are made in single precision.
_LARGE = 200


def length(A: Array) -> float:
    """The Frobenius norm, also where squares of entries are no numbers (NumPy's sums them)."""
    return float(scipy.linalg.norm(A.ravel(), check_finite=False))


def power_of_two(A: Array) -> float:
    """The power of two next above the largest entry; 1 of a matrix of zeros."""
    return math.ldexp(1.0, math.frexp(float(np.abs(A).max()))[1])


def length_of_sizes(W: Array, A: Array) -> float:
    """||W'AW|| of entries that are not negative: nothing cancels, and single precision will do."""
    if len(A) < _LARGE:
        return length(W.T @ A @ W)
    largest = W.max(axis=1)
    sizes = A * largest * largest[:, None]
    unit = power_of_two(sizes)
    w = (W / np.where(largest > 0, largest, 1.0)[:, None]).astype(np.float32)
    return (1.0 + 1e-3) * unit * length(w.T @ (sizes / unit).astype(np.float32) @ w)
