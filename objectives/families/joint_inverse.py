"""An approximate inverse of the Hessian of two blocks that may be turned together."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy

from ldr.solvers.limits import decomposing
from ldr.solvers.manifolds import Array

# Least eigenvalue of K that is divided by, relative to the largest.
_LEAST_CURVATURE = 1e-12


def joint_inverse(K: Array, Ma: Array, Mb: Array) -> Callable[[Array], Array]:
    """An approximate inverse of the Riemannian Hessian at M = [Ma; Mb], on the tangent space there.

    Up to terms of low rank and to the multipliers, which are small beside K at a solution, the
    Hessian maps V to the projection of KV. The tangent space, without the joint rotations, asks for
    M'V = 0 and sym(J'V) = 0, J = [Ma; -Mb]. The first restricts K to the complement of M. The
    second is kept by a symmetric multiplier: KV = U - J Theta with the Lyapunov equation
    W Theta + Theta W = 2 sym(J'K^{-1}U), W = J'K^{-1}J, solved in the eigenvectors of W. The
    magnitude of K is inverted in the place of K, which makes the inverse positive semidefinite.
    """
    M, J = np.concatenate([Ma, Mb]), np.concatenate([Ma, -Mb])
    complement = np.eye(len(M)) - 0.5 * (M @ M.T)
    with decomposing(len(K)):
        eigenvalues, Q = scipy.linalg.eigh(
            complement @ K @ complement, driver="evd", check_finite=False
        )
    magnitude = np.abs(eigenvalues)
    Q = complement @ (Q / np.sqrt(np.maximum(magnitude, _LEAST_CURVATURE * magnitude.max())))
    inverse = Q @ Q.T
    w, R = scipy.linalg.eigh(J.T @ inverse @ J, check_finite=False)
    JR = J @ R
    inverse_JR = inverse @ JR
    denominator = np.maximum(w[:, None] + w, np.finfo(float).eps * w[-1])

    def apply(U: Array) -> Array:
        C = inverse_JR.T @ (U @ R)
        Theta = (C + C.T) / denominator
        return inverse @ U - inverse_JR @ Theta @ R.T

    return apply
