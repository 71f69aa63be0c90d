"""Coordinate descent for the lasso, with steps along faces of the penalty."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ldr.solvers.deadline import check
from ldr.solvers.errors import ArgumentError
from ldr.solvers.linalg.products import LessMeans, conjugate_gradients
from ldr.solvers.linalg.rounding import EMPTY, VALUE_ROUNDING
from ldr.solvers.manifolds import Array
from ldr.solvers.problem import RiemannianPoint, RiemannianProblem
from ldr.solvers.solver import Solver, State

# Largest number of entries that become zero in one line search along a face of the L1 penalty.
_FACES = 20


@dataclass(frozen=True)
class CoordinateDescent(Solver[State]):
    """Minimise over single coefficients, then over all nonzero coefficients together.

    The problem, with fields Z, T and lasso, is to minimise |T - ZM|^2 + lasso |M|_1. The predictors
    Z are an array, or a sparse matrix that is centred implicitly. If the predictors are sparse,
    sweeps over single coefficients keep the intercept constant, and conjugate gradients compute the
    steps over all nonzero coefficients.

    Sweeps over single coefficients converge slowly if predictors are nearly collinear. A step over
    all nonzero coefficients therefore follows. If the coefficients' signs are fixed, the problem is
    one of least squares. A step towards the least-squares solution ends where a coefficient would
    change sign, with this coefficient at zero. Sweeps and steps never increase the function. If the
    function is smaller at M = 0 than at the given start, the run starts at M = 0.

    Source: J. Friedman, T. Hastie and R. Tibshirani, Regularization paths for generalized linear
    models via coordinate descent, Journal of Statistical Software 33 (2010). scikit-learn computes
    sweeps over coefficients.
    """

    name = "coordinate-descent"
    default_max_iterations = 1000
    patience = 3

    def initialise(self, problem: RiemannianProblem, M: Array) -> State:
        if not getattr(problem.problem, "lasso", 0.0) > 0:
            raise ArgumentError(
                f"solver={self.name!r} solves the lasso only; for other penalised objectives use "
                "solver='smoothing' or 'proximal-gradient'"
            )
        start, zero = problem.at(M), problem.at(np.zeros_like(M))
        return State(start if start.value < zero.value else zero)

    def step(self, problem: RiemannianProblem, state: State) -> State:
        lasso: Any = problem.problem

        def moved(M: Array, move: Callable[[Array, Array, Array, float], Array]) -> RiemannianPoint:
            outputs = zip(lasso.T.T, M.T, strict=True)
            return problem.at(np.stack([move(lasso.Z, *o, lasso.lasso) for o in outputs], axis=1))

        point = moved(state.point.M, _swept)
        if point.gradient_norm > problem.threshold:
            point = _lower(point, moved(point.M, _along_faces))
        return State(_lower(state.point, point))


def _lower(old: RiemannianPoint, new: RiemannianPoint) -> RiemannianPoint:
    alike = new.value <= old.value + VALUE_ROUNDING * abs(old.value)
    flatter = alike and new.gradient_norm < old.gradient_norm
    return new if new.value < old.value or flatter else old


def _swept(Z: Array | LessMeans, t: Array, m: Array, penalty: float) -> Array:
    """Return the coefficients after some sweeps."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import Lasso

    columns: Any = Z
    times, sweeps = 1, 100
    if isinstance(Z, LessMeans):
        columns, t = Z.K, t + (Z.b @ m) * Z.a
        times, sweeps = 10, 10  # the time limit is tested every 10 sweeps
    model = Lasso(
        alpha=penalty / (2 * Z.shape[0]),
        fit_intercept=False,
        warm_start=True,
        tol=1e-14,  # duality gap, relative to the response's squared norm
        max_iter=sweeps,
    )
    model.coef_ = m.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the code below tests the convergence
        for _ in range(times):
            check()
            if model.fit(columns, t).n_iter_ < sweeps:
                break
    return np.asarray(model.coef_, dtype=np.float64)


def _along_faces(Z: Array | LessMeans, t: Array, m: Array, penalty: float) -> Array:
    """Return m after steps towards the minimum of the lasso with m's signs."""
    m = m.copy()
    for _ in range(_FACES):
        free = np.flatnonzero(m)
        if not len(free):
            break
        signs = np.sign(m[free])
        face = Z.columns(free) if isinstance(Z, LessMeans) else Z[:, free]
        direction, whole = _to_minimum(face, t, m[free], 0.5 * penalty * signs)
        falling = direction * signs < 0
        with np.errstate(over="ignore"):
            lengths = np.where(falling, -m[free] / np.where(falling, direction, 1.0), math.inf)
        first = int(np.argmin(lengths))
        if lengths[first] >= whole:
            m[free] += whole * direction
            break
        m[free] += lengths[first] * direction
        m[free[first]] = 0.0
    return m


def _to_minimum(Z: Array | LessMeans, t: Array, m: Array, slope: Array) -> tuple[Array, float]:
    """Return the direction from m to the minimum of |t - Zm|^2/2 + <slope, m>, and the step.

    The step is infinite if `slope` has a part outside of Z's row space: the function is unbounded.
    """
    if isinstance(Z, LessMeans):
        downhill = (Z.T @ (t - Z @ m) - slope)[:, None]
        return conjugate_gradients(lambda V: Z.T @ (Z @ V), downhill)[0][:, 0], 1.0
    U, s, Vt = np.linalg.svd(Z, full_matrices=False)
    kept = s > max(Z.shape) * np.finfo(float).eps * s[0]
    U, s, Vt = U[:, kept], s[kept], Vt[kept]
    unseen = slope - Vt.T @ (Vt @ slope)
    if np.linalg.norm(unseen) > EMPTY * np.linalg.norm(slope):
        return -unseen, math.inf
    ahead = (U.T @ (t - Z @ m) - (Vt @ slope) / s) / s
    return Vt.T @ ahead, 1.0
