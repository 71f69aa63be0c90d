"""Tests of what users add: a manifold, a solver, an objective; our own are held to the same.

Each function takes one and runs every test of its kind, or gives the tests one by one, for pytest::

    @pytest.mark.parametrize("test", ldr.testing.MANIFOLD, ids=lambda test: test.__name__)
    def test_sphere(test):
        test(Sphere(5))

A test that fails raises an AssertionError that says what did not hold.
"""

from ldr.testing.objectives import (
    MANIFOLD,
    OBJECTIVE,
    SOLVER,
    check_manifold,
    check_objective,
    check_solver,
)

__all__ = ["MANIFOLD", "OBJECTIVE", "SOLVER", "check_manifold", "check_objective", "check_solver"]
