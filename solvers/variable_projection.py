"""Solve for some of the variables where the others have a closed form given them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ldr.solvers.descent.lbfgs import LBFGS, QuasiNewtonState
from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds import Array
from ldr.solvers.problem import RiemannianProblem
from ldr.solvers.solver import Solver, State


@dataclass(frozen=True)
class ProfileState(State):
    """The completed point, and the inner solver's state on the profile."""

    profile: RiemannianProblem
    inner: QuasiNewtonState


@dataclass(frozen=True)
class VariableProjection(Solver[ProfileState]):
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

    def initialise(self, problem: RiemannianProblem, M: Array) -> ProfileState:
        whole: Any = problem.problem
        if not hasattr(whole, "profile"):
            raise ArgumentError(
                "solver 'variable-projection' needs variables with a closed form given the others "
                "(fa); for other objectives take 'trust-region' or 'lbfgs'"
            )
        profile = RiemannianProblem(whole.profile())
        profile.evaluations = problem.evaluations
        return self._completed(problem, profile, LBFGS().initialise(profile, whole.restrict(M)))

    def step(self, problem: RiemannianProblem, state: ProfileState) -> ProfileState:
        inner = LBFGS().step(state.profile, state.inner)
        return self._completed(problem, state.profile, inner)

    def _completed(
        self, problem: RiemannianProblem, profile: RiemannianProblem, inner: QuasiNewtonState
    ) -> ProfileState:
        whole: Any = problem.problem
        above = whole.complete(inner.point.point)
        point = problem.at(above.M, above)
        return ProfileState(point, profile, inner, halt=inner.halt)
