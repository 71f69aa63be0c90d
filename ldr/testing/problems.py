"""Problems with known minima, one a kind of manifold; each is used by every solver's test.

Properties that every solver must have, on problems with known minima.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from contextlib import suppress

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from ldr.solvers.errors import TimeLimitError
from ldr.solvers.loop import minimise
from ldr.solvers.manifolds import Array, Euclidean, Grassmann, Manifold, Product, Stiefel
from ldr.solvers.problem import Point, Problem
from ldr.solvers.run import Iteration, Stopping
from ldr.solvers.solver import Solver
from ldr.solvers.status import Status
from ldr.solvers.trust_region import TrustRegion


class FunctionPoint(Point):
    """A point of functions of M; counts how often each is called."""

    def __init__(self, problem: FunctionProblem, M: Array) -> None:
        self.M, self.problem = M, problem

    @property
    def value(self) -> float:
        self.problem.calls["value"] += 1
        return self.problem.f(self.M)

    @property
    def gradient(self) -> Array:
        self.problem.calls["gradient"] += 1
        return self.problem.g(self.M)

    def hessian_vector(self, V: Array) -> Array:
        self.problem.calls["hessian"] += 1
        assert self.problem.h is not None
        return self.problem.h(self.M, V)


class FunctionProblem(Problem):
    """A function f with its gradient g and, where there is one, its Hessian product h."""

    def __init__(
        self,
        manifold: Manifold,
        f: Callable[[Array], float],
        g: Callable[[Array], Array],
        h: Callable[[Array, Array], Array] | None = None,
        minimum: float | None = None,
    ) -> None:
        self.manifold, self.f, self.g, self.h, self.minimum = manifold, f, g, h, minimum
        self.has_hessian = h is not None
        self.calls = {"value": 0, "gradient": 0, "hessian": 0}

    def at(self, M: Array) -> FunctionPoint:
        return FunctionPoint(self, M)


def symmetric(d: int, seed: int = 0, decades: float = 1.0) -> tuple[Array, Array]:
    """A random symmetric matrix with eigenvalues from 1 to 10^decades, and these."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
    eigenvalues = np.logspace(0, decades, d)
    return (Q * eigenvalues) @ Q.T, eigenvalues


def rayleigh(
    d: int = 20,
    r: int = 3,
    retraction: str = "polar",
    hessian: bool = True,
    offset: float = 0.0,
    scale: float = 1.0,
) -> FunctionProblem:
    """-tr(M'AM) on Grassmann; the minimum is minus the sum of the top eigenvalues."""
    A, eigenvalues = symmetric(d)
    return FunctionProblem(
        Grassmann(d, r, retraction),
        lambda M: scale * (offset - float(np.vdot(M, A @ M))),
        lambda M: -2 * scale * (A @ M),
        (lambda M, V: -2 * scale * (A @ V)) if hessian else None,
        scale * (offset - eigenvalues[-r:].sum()),
    )


def brockett(d: int = 12, r: int = 3, retraction: str = "polar") -> FunctionProblem:
    """tr(M'AMN) with N = diag(1..r) on Stiefel; bottom eigenvalues against top weights."""
    A, eigenvalues = symmetric(d, seed=1)
    N = np.arange(1.0, r + 1)
    return FunctionProblem(
        Stiefel(d, r, retraction),
        lambda M: float(np.vdot(M * N, A @ M)),
        lambda M: 2 * (A @ M) * N,
        lambda M, V: 2 * (A @ V) * N,
        float(np.sort(eigenvalues)[:r] @ N[::-1]),
    )


def singular_values(da: int = 8, db: int = 6, r: int = 2) -> FunctionProblem:
    """-tr(Ma'CMb) on Stiefel x Stiefel; minus the sum of the top singular values."""
    C = np.random.default_rng(2).standard_normal((da, db))
    manifold = Product(Stiefel(da, r), Stiefel(db, r))

    def f(M: Array) -> float:
        Ma, Mb = manifold.split(M)
        return -float(np.vdot(Ma, C @ Mb))

    def g(M: Array) -> Array:
        Ma, Mb = manifold.split(M)
        return manifold.join([-C @ Mb, -C.T @ Ma])

    minimum = -np.linalg.svd(C, compute_uv=False)[:r].sum()
    return FunctionProblem(manifold, f, g, lambda M, V: g(V), minimum)


def rosenbrock() -> FunctionProblem:
    """Sum of 100 (b - a^2)^2 + (1 - a)^2 over the rows (a, b); the minimum is 0 at ones."""

    def f(M: Array) -> float:
        a, b = M.T
        return float(np.sum(100 * (b - a**2) ** 2 + (1 - a) ** 2)) + 1.0

    def g(M: Array) -> Array:
        a, b = M.T
        return np.stack([-400 * a * (b - a**2) - 2 * (1 - a), 200 * (b - a**2)], axis=1)

    def h(M: Array, V: Array) -> Array:
        (a, b), (u, v) = M.T, V.T
        return np.stack([(1200 * a**2 - 400 * b + 2) * u - 400 * a * v, 200 * v - 400 * a * u], 1)

    return FunctionProblem(Euclidean(3, 2), f, g, h, 1.0)


PROBLEMS: dict[str, Callable[[], FunctionProblem]] = {
    "rayleigh": rayleigh,
    "rayleigh by qr": lambda: rayleigh(retraction="qr"),
    "rayleigh, scaled by 1e-50": lambda: rayleigh(scale=1e-50),
    "rayleigh, scaled by 1e50": lambda: rayleigh(scale=1e50),
    "brockett": brockett,
    "brockett by qr": lambda: brockett(retraction="qr"),
    "singular values": singular_values,
    "rosenbrock": rosenbrock,
}


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
            signal.raise_signal(signal.SIGINT)

    run = minimise(problem, _start(problem), solver, Stopping(), [interrupt])
    assert run.status is Status.INTERRUPTED
    assert run.value == min(run.history["value"]) < run.history["value"][0]


def a_time_limit_that_is_past_leaves_no_step(solver: Solver) -> None:
    problem = rayleigh()
    with suppress(TimeLimitError):
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
    a_time_limit_that_is_past_leaves_no_step,
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
