"""Expectation maximisation for likelihoods with hidden variables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds import Array
from ldr.solvers.problem import RiemannianProblem
from ldr.solvers.solver import Solver, State
from ldr.solvers.trust_region import TrustRegion, TrustState

# What a step must leave of the gradient at most, where it is to be followed by another.
_FAST = 0.3


@runtime_checkable
class Improvable(Protocol):
    """A point that knows the next iterate of EM."""

    def improved(self) -> Array:
        """Where the expected complete likelihood, given this point, is greatest."""


@dataclass(frozen=True)
class ExpectationMaximisation(Solver[State]):
    """M <- argmax over N of E[log p(x, y | N) | x, M]: monotone, with no step length to choose.

    Its rate is linear, the share of information that is missing: a check of faster solvers, and
    sturdy from a bad start.

    Source: A. P. Dempster, N. M. Laird and D. B. Rubin, Maximum likelihood from incomplete data via
    the EM algorithm, J. Royal Statistical Society B 39 (1977).
    """

    name = "em"
    default_max_iterations = 10_000

    def initialise(self, problem: RiemannianProblem, M: Array) -> State:
        start = problem.at(M)
        if not isinstance(start.point, Improvable):
            raise ArgumentError(
                "solver 'em' maximises likelihoods with hidden variables (ppca, fa); "
                "for other objectives take 'trust-region' or 'lbfgs'"
            )
        return State(start)

    def step(self, problem: RiemannianProblem, state: State) -> State:
        point = state.point.point
        assert isinstance(point, Improvable)
        return State(problem.at(point.improved()))


@runtime_checkable
class Imputable(Protocol):
    """A likelihood of rows with missing entries, which knows the one of complete rows."""

    def imputed(self, M: Array) -> Array | None:
        """Where the likelihood expected of complete rows, given M, is greater; None at a wall."""


@dataclass(frozen=True)
class Imputation(Solver[State]):
    """EM whose hidden variables are the missing entries alone; then the trust region.

    Its rate is their share of the information: a few steps where few are missing, whatever the
    complete problem is like. Where the gradient falls slowly, second-order steps go on.

    Source: as of EM; D. B. Rubin and D. T. Thayer, EM algorithms for ML factor analysis,
    Psychometrika 47 (1982).
    """

    name = "imputation"
    default_max_iterations = 10_000

    def initialise(self, problem: RiemannianProblem, M: Array) -> State:
        if not isinstance(problem.problem, Imputable):
            raise ArgumentError(
                "solver 'imputation' maximises likelihoods of rows with missing entries (ppca, "
                "fa); for other objectives take 'trust-region' or 'lbfgs'"
            )
        return State(problem.at(M))

    def step(self, problem: RiemannianProblem, state: State) -> State:
        if isinstance(state, TrustState):
            return TrustRegion().step(problem, state)
        assert isinstance(problem.problem, Imputable)
        last = state.point
        M = problem.problem.imputed(last.M)
        if M is None:
            return TrustRegion().step(problem, TrustState(last, None))
        point = problem.at(M)
        if point.gradient_norm <= _FAST * last.gradient_norm:
            return State(point)
        return TrustState(min(last, point, key=lambda end: end.value), None)
