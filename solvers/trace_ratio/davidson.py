"""Block Davidson for trace ratios of large matrices and few columns."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrs

from ldr.solvers.manifolds import Array
from ldr.solvers.records import dataclass
from ldr.solvers.riemannian import RiemannianProblem
from ldr.solvers.solver import AnySolver, Solver, State
from ldr.solvers.trace_ratio.problem import (
    TraceRatioLike,
    denominator,
    factor_above,
    matrices,
    projected,
    unless_saddle,
)
from ldr.solvers.trace_ratio.ritz import Block, ritz
from ldr.solvers.trace_ratio.self_consistent_field import FieldState, SelfConsistentField

# The first factor waits until a step gains less than this share of the value, or this many steps.
_LITTLE_GAIN = 0.05
_LEAD = 3
# A factor is kept while each step reduces the gradient to this share, and for some steps at least.
_SLOW = 0.7
_KEPT = 3
# The shift lies above the r-th Ritz value by this share of its distance to the next one, or of the
# residual where that is larger; it grows until the shifted matrix is positive definite.
_ABOVE = 0.1
_RESIDUAL = 0.03
_GROWTH = 8.0
_LEAST_SHIFT = 1e-12


@dataclass(frozen=True)
class Factor:
    """Cholesky factor of the preconditioner, and how many steps it has served."""

    L: Array
    age: int = 0


@dataclass(frozen=True)
class DavidsonState(State):
    """`previous` is the last step's direction, `next_value` the Ritz value below M's, if known."""

    previous: Block | None = None
    next_value: float | None = None
    factor: Factor | None = None
    gain: float = np.inf
    reduction: float = 0.0
    steps: int = 0


@dataclass(frozen=True)
class Davidson(Solver[DavidsonState]):
    """The trace ratio solved on [M, T, previous step]; T the preconditioned residual.

    No step decomposes a k x k matrix into eigenvectors. T = H^{-1} R with R the residual of M in
    K = A - rho B, and H = sI - K + M (M'KM + (c - s) I) M', s just above the smallest Ritz value of
    M: on the complement of M that is inverse iteration for the trailing eigenvalues, kept positive
    definite. H is factored anew only when progress slows. The small trace ratio's solution is never
    worse than M, so the value rises monotonically. Where M is flat but spans no top eigenspace, the
    step is that of the self-consistent field, which knows no saddles.

    Source: locally optimal blocks as in A. V. Knyazev, SIAM J. Sci. Comput. 23 (2001); the trace
    ratio in place of the Rayleigh quotient.
    """

    name = "davidson"
    default_max_iterations = 1000
    patience = 5

    def initialise(self, problem: RiemannianProblem, M: Array) -> DavidsonState:
        state = SelfConsistentField().initialise(problem, M)
        return DavidsonState(state.point)

    def step(self, problem: RiemannianProblem, state: DavidsonState) -> DavidsonState:
        point = state.point
        d, r = point.M.shape
        if 3 * r > d:
            return DavidsonState(SelfConsistentField().step(problem, FieldState(point)).point)

        factor = self._factor(problem, state)
        T = point.gradient if factor is None else dpotrs(factor.L, point.gradient, lower=1)[0]
        found = ritz(problem, point, T, state.previous)
        new = unless_saddle(problem, found.point)
        return DavidsonState(
            new,
            previous=found.direction() if new is found.point else None,  # else not orthogonal to M
            next_value=found.next_value,
            factor=factor and Factor(factor.L, factor.age + 1),
            gain=(point.value - new.value) / max(abs(new.value), np.finfo(float).tiny),
            reduction=new.gradient_norm / point.gradient_norm,
            steps=state.steps + 1,
        )

    def _factor(self, problem: RiemannianProblem, state: DavidsonState) -> Factor | None:
        """The kept factor, or a fresh one where there is none or progress has slowed."""
        if state.factor is None:
            wait = state.gain > _LITTLE_GAIN and state.steps < _LEAD
            return None if wait else _factored(problem, state)
        fresh = state.reduction > _SLOW and state.factor.age >= _KEPT
        return _factored(problem, state) if fresh else state.factor


def _factored(problem: RiemannianProblem, state: DavidsonState) -> Factor:
    """Cholesky factor of H, its shift raised until H is positive definite."""
    point = state.point
    mu = np.linalg.eigvalsh(projected(point))
    below = state.next_value
    spacing = abs(mu[0] - below) if below is not None else mu[-1] - mu[0] + abs(mu[0])
    b = denominator(point)
    residual = 0.5 * b * float(np.sqrt(np.square(point.gradient).sum(axis=0).max()))
    ratio = matrices(problem)
    largest = np.abs(np.diag(ratio.A)).max() + abs(point.value) * np.diag(ratio.B).max()
    least = _LEAST_SHIFT * float(largest)
    tau = max(_ABOVE * spacing, _RESIDUAL * residual, least)
    while True:
        factor = factor_above(problem, point, mu[0] + tau, max(spacing, least))
        if factor is not None:
            return Factor(factor)
        tau *= _GROWTH


# Below these the eigendecompositions of the self-consistent field cost less than more steps.
_LEAST_ORDER = 200
_LARGEST_SHARE = 1 / 20
# A basis of Davidson's mixes the coordinates, and loses in the large ones what the small ones say.
# Where the variances in B are this far apart, only eigenvectors of the graded A - rho B keep it.
_CONTRAST = 1e10


def trace_ratio_solver(problem: TraceRatioLike, r: int) -> AnySolver:
    """The faster of the solvers that are accurate for a trace ratio with r columns."""
    variances = np.diag(problem.B)
    if variances.max() > _CONTRAST * variances[variances > 0].min():
        return SelfConsistentField()
    order = len(problem.B)
    large = order >= _LEAST_ORDER and r <= _LARGEST_SHARE * order
    return Davidson() if large else SelfConsistentField()
