"""Functions without a slope: what a run that never left its start says of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ldr.solvers.manifolds import Array
from ldr.solvers.problem import Problem
from ldr.solvers.riemannian import RiemannianProblem
from ldr.solvers.run import Run
from ldr.solvers.status import Status

_LOOKS = 5
# Values differ where they do by more than this, relatively; a gradient below this share of the
# difference is no slope that leads from one to the other.
_DIFFERENT = 1e-10
_NO_SLOPE = 1e-8


def unless_flat(
    problem: Problem, run: Run, random_point: Callable[[np.random.Generator], Array]
) -> Run:
    """The run; one that converged at its start is `Status.FLAT` where gradients tell nothing.

    That is so where values at random points differ from the start's and the gradient vanishes at
    all of them, as with a count or a rounding. The first point with a slope ends the search.
    """
    if run.iterations > 0 or not run.status.converged:
        return run
    if problem.penalty is not None or problem.manifold.dimension == 0:
        return run  # a penalty has a slope; of a single point all there is of f is rounding
    counted, rng = RiemannianProblem(problem), np.random.default_rng(0)
    jump, slope = 0.0, run.gradient_norm
    for _ in range(_LOOKS):
        other = counted.at(random_point(rng))
        if not math.isfinite(other.value):
            continue
        jump = max(jump, abs(other.value - run.value))
        slope = max(slope, other.gradient_norm)
        if slope > _NO_SLOPE * jump:
            break
    flat = jump > _DIFFERENT * abs(run.value) and slope <= _NO_SLOPE * jump
    return replace(
        run,
        status=Status.FLAT if flat else run.status,
        evaluations=dict(Counter(run.evaluations) + counted.evaluations),
    )
