"""Second-order optimality: the smallest curvature at a point, and descent from saddles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg

from ldr.solvers.deadline import check, until_told
from ldr.solvers.linalg.rounding import SLOPE_ROUNDING
from ldr.solvers.manifolds import Array, Manifold
from ldr.solvers.problem import (
    DearProducts,
    Preconditioner,
    Problem,
    RiemannianPoint,
    RiemannianProblem,
)
from ldr.solvers.solver import AnySolver, Observer, Run, Stopping, minimise

# The sign of the Hessian's least eigenvalue is decided when the relative residual of its
# eigenvector is below this tolerance. The second constant is the least number of Krylov steps.
_DECIDED, _LEAST_STEPS = 1e-4, 10


@dataclass(frozen=True)
class Curvature:
    """Computed part of the spectrum of the Riemannian Hessian at a point.

    - smallest: curvature along `direction`, an upper bound of the least eigenvalue, accurate to
      about eight digits if the sign is decided
    - largest: largest magnitude of an eigenvalue found
    - direction: unit tangent vector along which the curvature is `smallest`
    - floor: lower limit of the scale relative to which a curvature counts as negative
    """

    smallest: float
    largest: float
    direction: Array
    floor: float = 0.0

    @property
    def descends(self) -> bool:
        """True if the direction descends: the point is not a local minimum."""
        return self.smallest < -SLOPE_ROUNDING * max(self.largest, self.floor)


def smallest_curvature(problem: Problem, M: Array, steps: int = 60, seed: int = 0) -> Curvature:
    """Compute the least eigenvalue of the Riemannian Hessian, by Rayleigh-Ritz.

    Each step extends the basis by the residual of the Ritz vector. The iteration ends when the sign
    of the least eigenvalue is decided, or after `steps` steps.
    """
    counted = RiemannianProblem(problem)
    manifold, point = counted.manifold, counted.at(M)
    V = manifold.random_tangent(M, np.random.default_rng(seed))
    room = 2**25 // M.size  # at most 512 MiB for the basis and the Hessian products
    most = min(steps, manifold.dimension, max(_LEAST_STEPS, room))
    preconditioner = problem.preconditioner(M) if most > _LEAST_STEPS else None
    if most == 0:
        return Curvature(0.0, 0.0, V)
    ritz, direction = _least_ritz_pair(manifold, point, V, most, preconditioner)
    direction = manifold.project(M, direction)
    direction = direction / manifold.norm(M, direction)
    # Curvatures below this floor are rounding errors, as in the Hessian of a constant function.
    floor = SLOPE_ROUNDING * abs(point.value)
    return Curvature(float(ritz[0]), float(np.abs(ritz).max()), direction, floor)


def _least_ritz_pair(
    manifold: Manifold,
    point: RiemannianPoint,
    V: Array,
    most: int,
    preconditioner: Preconditioner | None,
) -> tuple[Array, Array]:
    """Return the Ritz values and the vector of the least, on a basis extended by residuals.

    The basis spans a Krylov space. A preconditioner is applied to V and to all residuals but the
    first, which approximates the largest eigenvalue; small eigenvalues then converge first.
    """
    M = point.M
    if preconditioner is not None:
        V = manifold.project(M, preconditioner(M, V))
        V = V / manifold.norm(M, V)
    basis, images = np.empty((2, most, V.size))
    T = np.empty((most, most))
    for k in range(1, most + 1):
        basis[k - 1], images[k - 1] = V.ravel(), point.hessian(V).ravel()
        T[k - 1, :k] = T[:k, k - 1] = basis[:k] @ images[k - 1]
        if preconditioner is None and k % (_LEAST_STEPS // 2):
            # A Hessian product extends the basis like a residual, which would need eigenvectors.
            V = images[k - 1].reshape(V.shape)
        else:
            least, vectors = scipy.linalg.eigh(
                T[:k, :k], subset_by_index=(0, 0), check_finite=False
            )
            found = (vectors[:, 0] @ basis[:k]).reshape(V.shape)
            V = (vectors[:, 0] @ images[:k]).reshape(V.shape) - least[0] * found
            length = manifold.norm(M, V)
            decided = k >= _LEAST_STEPS and length <= _DECIDED * abs(least[0])
            # The iteration also ends if the residual is at the level of rounding errors.
            if decided or length <= 1e-9 * np.abs(T[:k, :k]).max():
                break
            if preconditioner is not None and k >= 2:
                V = preconditioner(M, V)
        V = _apart(manifold, M, V, basis[:k])
        length = manifold.norm(M, V)
        if not length > 0:  # the basis already spans the whole tangent space
            break
        V = V / length
    values, vectors = np.linalg.eigh(T[:k, :k])
    return np.asarray(values, np.float64), (vectors[:, 0] @ basis[:k]).reshape(V.shape)


def _apart(manifold: Manifold, M: Array, V: Array, vectors: Array) -> Array:
    """Return the part of V that is tangent and orthogonal to the rows of `vectors`."""
    for _ in range(2):  # repeating the orthogonalisation removes rounding errors
        # A projection removes the normal part, which could dominate a short tangent vector.
        V = manifold.project(M, V)
        V = V - ((vectors @ V.ravel()) @ vectors).reshape(V.shape)
    return V


def leave_saddles(
    problem: Problem,
    run: Run,
    solver: AnySolver,
    stopping: Stopping | None = None,
    observers: Sequence[Observer] = (),
) -> tuple[Run, Curvature | None, int]:
    """Step down from a saddle and continue, as long as runs end on saddles.

    With a nonsmooth penalty, the curvature is that among points with the same zeros.

    - returns run: all runs, as one.
    - returns curvature: curvature at the end; None if the time limit or Ctrl-C came first.
    - returns escapes: number of saddles that were left.
    """
    stopping = stopping or Stopping()
    limit = stopping.max_iterations
    limit = solver.default_max_iterations if limit is None else limit
    escapes, start = 0, None
    while True:
        with until_told() as told:
            if start is not None:
                rest = replace(stopping, max_iterations=max(0, limit - run.iterations))
                run = run.followed_by(minimise(problem, start, solver, rest, observers))
                escapes += 1
            smooth: Problem = problem
            if isinstance(problem, DearProducts):
                smooth = problem.for_curvature()
            if problem.penalty is not None:
                from ldr.solvers.proximal_gradient import OnSupport

                smooth = OnSupport(smooth, run.M)
            curvature = smallest_curvature(smooth, run.M)
            start = _below(problem, smooth.manifold, run, curvature) if curvature.descends else None
            check()
        if told.status is not None:
            return run, None, escapes
        if start is None or not run.status.converged or escapes == 5:
            return run, curvature, escapes


def _below(problem: Problem, manifold: Manifold, run: Run, curvature: Curvature) -> Array | None:
    """Return a point below the saddle, by the longest halved step of sufficient decrease."""
    step = min(1.0, 0.25 * manifold.diameter)
    for t in step * 0.5 ** np.arange(20):
        for sign in (1.0, -1.0):
            check()
            N = manifold.retract(run.M, sign * t * curvature.direction)
            promise = run.value + 0.125 * t * t * curvature.smallest
            if np.isfinite(N).all() and problem.value(N) < promise:
                return N
    return None
