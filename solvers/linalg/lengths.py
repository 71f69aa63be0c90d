"""Lengths of matrices."""

from __future__ import annotations

import scipy

from ldr.solvers.manifolds import Array


def length(A: Array) -> float:
    """The Frobenius norm, also where squares of entries are no numbers (NumPy's sums them)."""
    return float(scipy.linalg.norm(A.ravel(), check_finite=False))
