"""Eigenvalues s of a symmetric S that count by their size or root h, h(S) = VhV', and its rate.

It moves by V(G o V'dS V)V', G_ij = (h_i - h_j)/(s_i - s_j).
"""

from __future__ import annotations

import numpy as np

from ldr.solvers.linalg.eigen import symmetric_eigen
from ldr.solvers.manifolds import Array
from ldr.solvers.records import dataclass

# Roots whose sum is below this share of the largest are zero.
_NO_ROOT = 1e-12


@dataclass(frozen=True)
class Spectrum:
    """Of S.

    Attributes
    ----------
    s, h : ndarray (k,)
    V : ndarray (k, k)
    """

    s: Array
    h: Array
    V: Array

    @classmethod
    def of(cls, S: Array, by: str) -> Spectrum:
        """By "sizes" or "roots"."""
        s, V = symmetric_eigen(S)
        return cls(s, np.abs(s) if by == "sizes" else np.sqrt(np.maximum(s, 0.0)), V)

    def times(self, M: Array) -> Array:
        """h(S)M."""
        return np.asarray((self.V * self.h) @ (self.V.T @ M))

    def moved(self, M: Array, dSM: Array, by: str) -> Array:
        """d h(S) M, M spanned by eigenvectors of S."""
        s, h, V = self.s, self.h, self.V
        R = V.T @ M
        if by == "roots":
            both = h[:, None] + h
            G = np.divide(1.0, both, out=np.zeros_like(both), where=both > _NO_ROOT * h.max())
        else:
            gaps, alike = s[:, None] - s, np.sign(s)[:, None] == np.sign(s)
            G = np.where(alike, np.sign(s), (h[:, None] - h) / np.where(alike, 1.0, gaps))
        return np.asarray(V @ ((G * (V.T @ dSM @ R.T)) @ R))
