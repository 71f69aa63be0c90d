"""Solvers for likelihoods: expectation maximisation (EM) and variable projection."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ldr.solvers.descent import LBFGS
from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds import Array
from ldr.solvers.problem import RiemannianProblem
from ldr.solvers.solver import Solver, State, Stopping
from ldr.solvers.trust_region import TrustRegion, TrustState


@dataclass(frozen=True)
class ExpectationMaximisation(Solver[State]):
    """Expectation maximisation (EM): M <- argmax over N of E[log p(x, y | N) | x, M].

    The likelihood increases in every step. Convergence is linear, with the fraction of missing
    information as rate; EM serves as a check of faster solvers. The problem must have a method
    `em_step(M)`, which returns the next iterate.

    Source: A. P. Dempster, N. M. Laird and D. B. Rubin, Maximum likelihood from incomplete data via
    the EM algorithm, J. Royal Statistical Society B 39 (1977).
    """

    name = "em"
    default_max_iterations = 10_000

    def initialise(self, problem: RiemannianProblem, M: Array) -> State:
        if not hasattr(problem.problem, "em_step"):
            raise ArgumentError(
                "solver 'em' maximises likelihoods with hidden variables (ppca, fa); for other "
                "objectives use 'trust-region' or 'lbfgs'"
            )
        return State(problem.at(M))

    def step(self, problem: RiemannianProblem, state: State) -> State:
        likelihood: Any = problem.problem
        return State(problem.at(likelihood.em_step(state.point.M)))


@dataclass(frozen=True)
class Imputation(Solver[State]):
    """Expectation maximisation (EM) over missing entries only, then the trust region.

    EM converges linearly, at the rate of the fraction of missing information: if few entries are
    missing, a few steps suffice. If the gradient decreases slowly, trust-region steps follow the EM
    steps. The problem needs a method `imputed(M)`: the result of an EM step, or None if it fails.

    Source: D. Rubin and D. Thayer, EM algorithms for ML factor analysis, Psychometrika 47 (1982).
    """

    name = "imputation"
    default_max_iterations = 10_000

    def initialise(self, problem: RiemannianProblem, M: Array) -> State:
        if not hasattr(problem.problem, "imputed"):
            raise ArgumentError(
                "solver 'imputation' maximises likelihoods of rows with missing entries (ppca, "
                "fa); for other objectives use 'trust-region' or 'lbfgs'"
            )
        return State(problem.at(M))

    def step(self, problem: RiemannianProblem, state: State) -> State:
        if isinstance(state, TrustState):
            return TrustRegion().step(problem, state)
        likelihood: Any = problem.problem
        last = state.point
        M = likelihood.imputed(last.M)
        if M is None:
            return TrustRegion().step(problem, TrustState(last, None))
        point = problem.at(M)
        if point.gradient_norm <= 0.3 * last.gradient_norm:  # EM goes on while it converges fast
            return State(point)
        return TrustState(min(last, point, key=lambda end: end.value), None)


@dataclass(frozen=True)
class VariableProjection(Solver[State]):
    """Limited-memory BFGS on the profile: f minimised in closed form over some variables.

    The profile has the gradient of f in the remaining variables at the optimal eliminated
    variables, because the other derivatives of f are zero there. Eliminated variables of the
    initial point are replaced by the optimal ones. The problem must have a method `profile`, which
    returns the problem of the remaining variables. The profile's method `restrict` returns the
    remaining variables of a point; `whole` of its points is the point with all variables.

    Source: G. H. Golub and V. Pereyra, The differentiation of pseudo-inverses and nonlinear least
    squares problems whose variables separate, SIAM Journal on Numerical Analysis 10 (1973).
    """

    name = "variable-projection"
    default_max_iterations = 10_000
    patience = 20

    def initialise(self, problem: RiemannianProblem, M: Array) -> State:
        return next(self.states(problem, M, Stopping()))

    def states(self, problem: RiemannianProblem, M: Array, stopping: Stopping) -> Iterator[State]:
        """Yield the states of the profile's solver, completed by the eliminated variables."""
        whole: Any = problem.problem
        if not hasattr(whole, "profile"):
            raise ArgumentError(
                "solver 'variable-projection' needs an objective that has a closed-form optimum "
                "over some variables (fa); for other objectives use 'trust-region' or 'lbfgs'"
            )
        profile: Any = whole.profile()
        remaining = RiemannianProblem(profile)
        remaining.evaluations = problem.evaluations
        for state in LBFGS().states(remaining, profile.restrict(M), stopping):
            point: Any = state.point.point
            yield State(problem.at(point.whole.M, point.whole), halt=state.halt)
