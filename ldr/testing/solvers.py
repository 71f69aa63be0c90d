"""Properties that every solver must have, on problems with known minima."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from ldr.solvers.loop import minimise
from ldr.solvers.manifolds import Array
from ldr.solvers.problem import Problem
from ldr.solvers.run import Iteration, Stopping
from ldr.solvers.solver import Solver
from ldr.solvers.status import Status
from ldr.solvers.trust_region import TrustRegion
from ldr.testing.problems import PROBLEMS, rayleigh


def _start(problem: Problem, seed: int = 0) -> Array:
    return problem.manifold.random_point(np.random.default_rng(seed))


def minima_are_reached_to_the_promised_gradient(solver: Solver) -> None:
    for name, problem_of in PROBLEMS.items():
        problem = problem_of()
        start = _start(problem)
        before = start.copy()
        run = minimise(problem, start, solver, Stopping(tolerance=1e-9))
        assert run.status.converged, (name, run.status)
        assert problem.minimum is not None
        # |g|^2 over the curvature
        assert_allclose(run.value, problem.minimum, rtol=1e-11, err_msg=name)
        first = run.history["gradient_norm"][0]
        assert run.gradient_norm <= 1e-8 * max(first, abs(run.history["value"][0])), name
        assert problem.manifold.distance_from(run.M) < 1e-14, name
        assert_array_equal(start, before, err_msg=name)


def counts_are_true(solver: Solver) -> None:
    for name, problem_of in PROBLEMS.items():
        problem = problem_of()
        run = minimise(problem, _start(problem), solver, Stopping(max_iterations=7))
        assert run.evaluations == problem.calls, name


def history_is_one_entry_an_iteration(solver: Solver) -> None:
    for name, problem_of in PROBLEMS.items():
        problem = problem_of()
        run = minimise(problem, _start(problem), solver, Stopping(max_iterations=5))
        assert run.iterations == 5 and run.status is Status.MAX_ITERATIONS, name
        assert {len(entries) for entries in run.history.values()} == {6}, name
        assert min(run.history["value"]) == run.value, name


def tolerance_beyond_rounding_ends_by_itself(solver: Solver) -> None:
    problem = rayleigh(offset=1e6)
    run = minimise(problem, _start(problem), solver, Stopping(tolerance=1e-30))
    assert run.status is Status.ROUNDING, run.status
    assert run.gradient_norm < 1e-9


def start_at_the_solution_takes_no_step(solver: Solver) -> None:
    problem = rayleigh()
    M = minimise(problem, _start(problem), TrustRegion(), Stopping(1e-14)).M
    run = minimise(problem, M, solver, Stopping(tolerance=1e-9))
    assert run.iterations == 0 and run.status is Status.CONVERGED


def zero_iterations_return_the_start(solver: Solver) -> None:
    problem = rayleigh()
    start = _start(problem)
    run = minimise(problem, start, solver, Stopping(max_iterations=0))
    assert_array_equal(run.M, start)
    assert not run.status.converged


def observers_see_every_iteration_and_can_stop(solver: Solver) -> None:
    problem = rayleigh()
    seen: list[int] = []

    def observe(iteration: Iteration) -> bool:
        seen.append(iteration.number)
        return iteration.number == 3

    run = minimise(problem, _start(problem), solver, Stopping(), [observe])
    assert seen == [0, 1, 2, 3]
    assert run.status is Status.OBSERVER


def an_interrupt_returns_the_best_point(solver: Solver) -> None:
    problem = rayleigh()

    def interrupt(iteration: Iteration) -> None:
        if iteration.number == 4:
            raise KeyboardInterrupt

    run = minimise(problem, _start(problem), solver, Stopping(), [interrupt])
    assert run.status is Status.INTERRUPTED
    assert run.value == min(run.history["value"]) < run.history["value"][0]


def a_time_limit_that_is_past_returns_the_start(solver: Solver) -> None:
    problem = rayleigh()
    run = minimise(problem, _start(problem), solver, Stopping(time_limit=1e-9))
    assert run.status is Status.TIME_LIMIT and run.iterations == 0


def a_wrong_gradient_is_no_convergence(solver: Solver) -> None:
    problem = rayleigh()
    good = problem.g
    problem.g = lambda M: -good(M)
    run = minimise(problem, _start(problem), solver, Stopping(max_iterations=200))
    assert not run.status.converged


SOLVER = (
    minima_are_reached_to_the_promised_gradient,
    counts_are_true,
    history_is_one_entry_an_iteration,
    tolerance_beyond_rounding_ends_by_itself,
    start_at_the_solution_takes_no_step,
    zero_iterations_return_the_start,
    observers_see_every_iteration_and_can_stop,
    an_interrupt_returns_the_best_point,
    a_time_limit_that_is_past_returns_the_start,
    a_wrong_gradient_is_no_convergence,
)


def check_solver(solver: Solver) -> None:
    """Test a solver of one's own for smooth functions on any manifold.

    Parameters
    ----------
    solver : Solver

    Raises
    ------
    AssertionError
        A property does not hold; the traceback names it.

    Examples
    --------
    >>> import ldr.testing
    >>> from ldr.solvers import TrustRegion
    >>> ldr.testing.check_solver(TrustRegion())
    """
    for test in SOLVER:
        test(solver)
