"""Expectation maximisation for likelihoods with hidden variables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds import Array
from ldr.solvers.problem import RiemannianProblem
from ldr.solvers.solver import Solver, State
from ldr.solvers.trust_region import TrustRegion, TrustState


@dataclass(frozen=True)
class ExpectationMaximisation(Solver[State]):
    """M <- argmax over N of E[log p(x, y | N) | x, M]: monotone, with no step length to choose.

    Its rate is linear, the share of information that is missing: a check of faster solvers, and
    sturdy from a bad start. The points of a likelihood have the next iterate, `improved()`.

    Source: A. P. Dempster, N. M. Laird and D. B. Rubin, Maximum likelihood from incomplete data via
    the EM algorithm, J. Royal Statistical Society B 39 (1977).
    """

    name = "em"
    default_max_iterations = 10_000

    def initialise(self, problem: RiemannianProblem, M: Array) -> State:
        start = problem.at(M)
        if not hasattr(start.point, "improved"):
            raise ArgumentError(
                "solver 'em' maximises likelihoods with hidden variables (ppca, fa); "
                "for other objectives take 'trust-region' or 'lbfgs'"
            )
        return State(start)

    def step(self, problem: RiemannianProblem, state: State) -> State:
        point: Any = state.point.point
        return State(problem.at(point.improved()))


@dataclass(frozen=True)
class Imputation(Solver[State]):
    """EM whose hidden variables are the missing entries alone; then the trust region.

    Its rate is their share of the information: a few steps where few are missing, whatever the
    complete problem is like. Where the gradient falls slowly, second-order steps go on. A
    likelihood has `imputed(M)`, the point where the likelihood expected of complete rows, given M,
    is greater, or None where there is none.

    Source: as of EM; D. B. Rubin and D. T. Thayer, EM algorithms for ML factor analysis,
    Psychometrika 47 (1982).
    """

    name = "imputation"
    default_max_iterations = 10_000

    def initialise(self, problem: RiemannianProblem, M: Array) -> State:
        if not hasattr(problem.problem, "imputed"):
            raise ArgumentError(
                "solver 'imputation' maximises likelihoods of rows with missing entries (ppca, "
                "fa); for other objectives take 'trust-region' or 'lbfgs'"
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
        if point.gradient_norm <= 0.3 * last.gradient_norm:  # fast enough for another such step
            return State(point)
        return TrustState(min(last, point, key=lambda end: end.value), None)
