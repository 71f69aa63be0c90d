"""Solve for some of the variables where the others have a closed form given them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ldr.solvers.descent.lbfgs import LBFGS
from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds import Array
from ldr.solvers.problem import RiemannianProblem
from ldr.solvers.run import Stopping
from ldr.solvers.solver import Solver, State


@dataclass(frozen=True)
class VariableProjection(Solver[State]):
    """Limited-memory BFGS on the profile, the least value over the variables with a closed form.

    Where those are at their best, the gradient in them is zero and the gradient in the others is
    the profile's: stopping rules mean the same as on the whole problem. The start is completed
    first: only the variables that stay matter of it. A problem says so by three methods: `profile`,
    the problem of the variables that stay; `restrict`, of a point to these; and `complete`, the
    point above one of the profile.

    Source: G. H. Golub and V. Pereyra, The differentiation of pseudo-inverses and nonlinear least
    squares problems whose variables separate, SIAM J. Numer. Anal. 10 (1973).
    """

    name = "variable-projection"
    default_max_iterations = 10_000
    patience = 20

    def initialise(self, problem: RiemannianProblem, M: Array) -> State:
        return next(self.states(problem, M, Stopping()))

    def states(self, problem: RiemannianProblem, M: Array, stopping: Stopping) -> Iterator[State]:
        """Those of the profile's solver, completed."""
        whole: Any = problem.problem
        if not hasattr(whole, "profile"):
            raise ArgumentError(
                "solver 'variable-projection' needs variables with a closed form given the others "
                "(fa); for other objectives take 'trust-region' or 'lbfgs'"
            )
        profile = RiemannianProblem(whole.profile())
        profile.evaluations = problem.evaluations
        for state in LBFGS().states(profile, whole.restrict(M), stopping):
            above = whole.complete(state.point.point)
            yield State(problem.at(above.M, above), halt=state.halt)
