"""Expectation maximisation for likelihoods with hidden variables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds import Array
from ldr.solvers.riemannian import RiemannianProblem
from ldr.solvers.solver import Solver, State


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
