"""Second-order optimality: the smallest curvature at a point."""

from __future__ import annotations

import numpy as np
import scipy

from ldr.solvers.manifolds import Array
from ldr.solvers.problem import Problem
from ldr.solvers.riemannian import RiemannianProblem


def smallest_curvature(
    problem: Problem, M: Array, steps: int = 60, seed: int = 0
) -> tuple[float, float]:
    """Smallest eigenvalue of the Riemannian Hessian at M, and the largest magnitude of one.

    Lanczos in the tangent space, with full reorthogonalisation; the smallest Ritz value is an
    upper bound of the smallest eigenvalue, exact once `steps` reaches the manifold's dimension. A
    negative one proves that M is no local minimum.
    """
    counted = RiemannianProblem(problem)
    manifold, point = counted.manifold, counted.at(M)
    V = manifold.random_tangent(M, np.random.default_rng(seed))
    basis: list[Array] = []
    diagonal: list[float] = []
    offdiagonal: list[float] = []
    scale = 0.0
    for _ in range(min(steps, manifold.dimension)):
        basis.append(V)
        HV = manifold.project(M, point.hessian(V))
        diagonal.append(manifold.inner(M, V, HV))
        for _ in range(2):  # twice is enough
            for U in basis:
                HV = HV - manifold.inner(M, U, HV) * U
        length = manifold.norm(M, HV)
        scale = max(scale, abs(diagonal[-1]), length)
        if length <= 1e-12 * scale:
            break
        offdiagonal.append(length)
        V = HV / length
    if not diagonal:
        return 0.0, 0.0
    ritz = scipy.linalg.eigh_tridiagonal(
        diagonal, offdiagonal[: len(diagonal) - 1], eigvals_only=True
    )
    return float(ritz[0]), float(np.abs(ritz).max())
