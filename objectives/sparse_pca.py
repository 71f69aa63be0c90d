"""Sparse principal component analysis."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldr.objectives.families.terms import Penalised
from ldr.objectives.pca import PCA
from ldr.objectives.sparse import SparseMethod
from ldr.solvers.manifolds import Array, nearest_with_zeros

_ROTATIONS = 500
_STILL = 1e-12


@dataclass(frozen=True)
class PenalisedLoadings(Penalised):
    """The reconstruction error of pca with a penalty on the loadings."""

    @cached_property
    def _thresholded(self) -> Array:
        (term,) = self.smooth.terms
        loadings = term.bound.closed_form()
        assert loadings is not None
        V = self.lower([varimax(term.bound.lift(loadings)[0])])
        # -2 X'XV is the gradient, and soft(2A, 2t) = 2 soft(A, t): the factor does not matter.
        covariances = -self.at(V).gradient
        covariances = np.where(covariances.any(axis=0), covariances, V)  # where nothing varies
        M = self.penalty.prox(covariances, 1.0)
        largest = np.abs(covariances).argmax(axis=0)
        empty = np.flatnonzero(~M.any(axis=0))
        M[largest[empty], empty] = covariances[largest[empty], empty]
        return nearest_with_zeros(M)

    def baseline(self) -> Array:
        return self._thresholded


def varimax(V: Array) -> Array:
    """VR with the orthogonal R that maximises the variance of the squared loadings, column-wise.

    R <- polar factor of V'(L^3 - L diag(mean L^2)), L = VR, an ascent of the criterion.
    """
    R = np.eye(V.shape[1])
    for _ in range(_ROTATIONS):
        L = V @ R
        U, _, Wt = np.linalg.svd(V.T @ (L**3 - L * np.mean(L**2, axis=0)))
        last, R = R, U @ Wt
        if np.abs(R - last).max() <= _STILL:
            break
    return V @ R


@dataclass(frozen=True)
class SparsePCA(SparseMethod):
    """Reconstruct from few columns: min ||X - X M M'||_F^2 + penalty ||M||_1, M orthonormal.

    X is centred and n x d. The squared error is a sum over rows and columns, so that the penalty
    grows with n and with the variance of the columns: an entry of M pays where it explains about
    penalty/2 more. ||M||_1 lies between r, where each column of M picks one column of X, and
    r sqrt(d). The zeros of the returned M are exact, and M is orthonormal. P = M'.

    The heuristic is thresholded loadings: the pca loadings V in varimax rotation, then soft(X'XV,
    penalty/2), with orthonormal columns and the zeros kept where such a matrix is near. Solved by
    smoothing continuation and manifold proximal gradients; local optima exist.

    Source: Jolliffe, Trendafilov and Uddin 2003 (the penalty); Chen, Ma, So and Zhang 2020 (the
    method); Kaiser 1958 (varimax).

    Parameters
    ----------
    penalty : float
        At least 0, in the units of the squared error; with 0 this is pca.
    """

    name = "sparse-pca"
    formula = "min ||X - XMM'||^2 + penalty ||M||_1"
    source = "Jolliffe, Trendafilov & Uddin 2003; Chen, Ma, So & Zhang 2020"
    sense = "min"
    baseline = "soft-thresholded rotated loadings"
    kind = PenalisedLoadings

    @property
    def smooth(self) -> PCA:
        return PCA()
