"""Variance-reduced stochastic quasi-Newton method for sums of many terms."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ldr.solvers.descent import LBFGS, Pairs, initial_step
from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds import Array
from ldr.solvers.problem import Problem, RiemannianProblem, Sum
from ldr.solvers.solver import Solver, State

# Step size of the first epoch (pass over the data).
_FIRST_RATE = 0.2


@dataclass(frozen=True)
class AnchorState(State):
    """State whose point is the anchor, with the gradient of the whole sum.

    The attribute `pairs` has quasi-Newton pairs that are tangent at the anchor, `rate` is the step
    size, and `epoch` is the number of the next epoch.
    """

    pairs: Pairs
    rate: float
    epoch: int = 0


@dataclass(frozen=True)
class SVRG(Solver[AnchorState]):
    """Stochastic variance-reduced gradients (SVRG) with limited-memory BFGS.

    Each epoch computes the gradient g of f_1 + ... + f_p at a point A, the anchor, then visits the
    parts f_i in random order (in the given order for a stream of rows). The stochastic gradient at
    the iterate W is p (grad f_i(W) - T grad f_i(A)) + T g, where T transports gradients from the
    anchor A to W. The stochastic gradient is unbiased, and its variance vanishes as iterates and
    anchors approach the optimum, so that steps of constant size converge linearly. A step
    multiplies the stochastic gradient by -rate H, where H is the inverse Hessian of limited-memory
    BFGS. Gradients of one part f_i at the start and the end of a step update the matrix H. The last
    iterate W of an epoch becomes the next anchor if the value or the gradient norm is smaller at W;
    otherwise the epoch is discarded and the rate halved. An epoch reads all data twice.

    The problem must be a sum of parts (`Sum`). Examples are uica and robust-pca if X is a file,
    ppca and fa if the file has gaps, and custom objectives with ``sum_over_rows=True``.

    Source: R. Johnson and T. Zhang, Accelerating stochastic gradient descent using predictive
    variance reduction, NIPS 2013; P. Moritz, R. Nishihara and M. I. Jordan, A linearly-convergent
    stochastic L-BFGS algorithm, AISTATS 2016; on manifolds H. Zhang, S. J. Reddi and S. Sra, NIPS
    2016; stochastic BFGS: N. N. Schraudolph, J. Yu and S. Guenter, AISTATS 2007.
    """

    name = "svrg"
    default_max_iterations = 1000

    def initialise(self, problem: RiemannianProblem, M: Array) -> AnchorState:
        if not isinstance(problem.problem, Sum):
            raise ArgumentError(
                "solver 'svrg' minimises sums over rows (uica or robust-pca of rows in a file, "
                "your own objective with sum_over_rows=True); for other objectives use "
                "'trust-region' or 'lbfgs'"
            )
        return AnchorState(problem.at(M), Pairs.none(M), _FIRST_RATE)

    def step(self, problem: RiemannianProblem, state: AnchorState) -> AnchorState:
        """Run one epoch."""
        whole: Any = problem.problem
        W, pairs, old = state.point.M, state.pairs, state.point
        for part in whole.each_part(np.random.default_rng(state.epoch)):
            W, pairs = _visited(problem, state, part, W, pairs)
        new = problem.at(W)
        better = math.isfinite(new.value) and (
            new.value < old.value or new.gradient_norm < old.gradient_norm
        )
        if not better:
            return replace(state, rate=0.5 * state.rate, epoch=state.epoch + 1)
        return AnchorState(new, pairs, state.rate, state.epoch + 1)


def _visited(
    problem: RiemannianProblem, state: AnchorState, part: Problem, W: Array, pairs: Pairs
) -> tuple[Array, Pairs]:
    """Return the point and pairs after the step of a part from W."""
    whole: Any = problem.problem
    manifold, anchor = problem.manifold, state.point

    def gradient(M: Array) -> Array:
        """Return the part's gradient times the number of parts."""
        problem.count("part gradient")
        return whole.parts * manifold.gradient(M, part.at(M).gradient)

    here, rate = gradient(W), state.rate
    if not len(pairs):  # a short step gives L-BFGS its first pair (s, y)
        s = -1e-4 * initial_step(problem, anchor) * anchor.gradient
        N = manifold.retract(W, s)
        y = manifold.transport(N, W, gradient(N)) - here
        if manifold.inner(W, s, y) > 0:
            pairs = Pairs(s[None], y[None])
        else:  # without a pair (s, y), L-BFGS takes gradient steps
            rate *= initial_step(problem, anchor)
    v = here + manifold.transport(anchor.M, W, anchor.gradient - gradient(anchor.M))
    s = -rate * pairs.inverse_hessian_times(v)
    if not np.isfinite(s).all():  # a value that is not finite ends the epoch
        return W, pairs
    s = manifold.project(W, s)
    # A noisy gradient can give too long a step; the limit is a quarter of the manifold's diameter.
    longest = 0.25 * min(manifold.diameter, max(1.0, float(np.linalg.norm(W))))
    s = s * min(1.0, longest / (manifold.norm(W, s) or 1.0))
    N = manifold.retract(W, s)
    s, behind = manifold.transport(W, N, np.stack([s, here]))
    carried = pairs.carried(manifold, W, N, LBFGS.memory - 1)
    return N, carried.and_one(manifold, N, s, gradient(N) - behind)
