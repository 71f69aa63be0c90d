"""A first-order run, and second-order steps where it has not ended."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from ldr.solvers.checks import keep_whole
from ldr.solvers.descent.lbfgs import LBFGS
from ldr.solvers.manifolds import Array
from ldr.solvers.records import dataclass, replace
from ldr.solvers.riemannian import RiemannianProblem
from ldr.solvers.run import Stopping
from ldr.solvers.solver import Solver, State
from ldr.solvers.trust_region import TrustRegion
from ldr.solvers.verdict import at_rounding


@dataclass(frozen=True)
class GradientsFirst(Solver[State]):
    """Limited-memory BFGS; after so many steps without an end, the trust region from there.

    For functions of which the first Hessian product costs as much as hundreds of gradients: one
    whose derivatives are compiled.

    Parameters
    ----------
    steps : int
        Of the first-order run.
    """

    name = "gradients-first"
    default_max_iterations = 10_000

    steps: int = 200

    def __post_init__(self) -> None:
        keep_whole(self, "steps", 1)

    def initialise(self, problem: RiemannianProblem, M: Array) -> State:
        return LBFGS().initialise(problem, M)

    def step(self, problem: RiemannianProblem, state: State) -> State:
        raise NotImplementedError("the two solvers run one after the other")

    def states(self, problem: RiemannianProblem, M: Array, stopping: Stopping) -> Iterator[State]:
        """Those of the first run; where it is stuck or not done, those of the second."""
        scale = None
        for state in islice(LBFGS().states(problem, M, stopping), self.steps + 1):
            scale = stopping.scale(state.point) if scale is None else scale
            stuck = state.halt is not None and not at_rounding(state.point, scale)
            yield replace(state, halt=None) if stuck else state
            if stuck:
                break
        further = TrustRegion().states(problem, state.point.M, stopping)
        next(further)  # where the first run ended
        yield from further
