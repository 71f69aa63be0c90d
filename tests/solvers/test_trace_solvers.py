"""Trace ratios: how few decompositions they take."""

import numpy as np
import pytest

from ldr.solvers import SelfConsistentField, Stopping, TrustRegion, minimise, named_solver
from ldr.solvers.linalg import eigen
from ldr.solvers.linalg.products import Found, ratio_steps
from ldr.solvers.trace_ratio import Tangent, _beyond
from tests.objectives.test_certificates import bound_ratio, rotation


def spread(k, rng):
    """A symmetric positive definite matrix with eigenvalues of an exponential law, squared."""
    Q = rotation(k, rng)
    return (Q * rng.exponential(2.0, k) ** 2) @ Q.T


@pytest.mark.parametrize("r", [1, 4])  # of 9 dimensions, in which 3r directions have room or not
def test_solvers_of_trace_ratios_agree(r):
    rng = np.random.default_rng(0)
    problem = bound_ratio(spread(9, rng), spread(9, rng), r)
    start = problem.random_point(rng)
    solvers = SelfConsistentField(), TrustRegion()
    ends = [minimise(problem, start, solver, Stopping(1e-10)) for solver in solvers]
    assert all(end.value == pytest.approx(ends[0].value, rel=1e-12) for end in ends)


def ratios(k, r, count):
    for seed in range(count):
        rng = np.random.default_rng(seed)
        A, B = spread(k, rng), spread(k, rng) + 0.01 * np.eye(k)
        yield bound_ratio(A, B, r), rng


def test_the_end_is_in_eigenvectors():
    """Which basis of the subspace comes out does not depend on the way there."""
    for problem, rng in ratios(40, 8, 3):
        start = problem.random_point(rng)
        M = minimise(problem, start, SelfConsistentField(), Stopping(1e-10)).M
        K = problem.A + problem.at(M).value * problem.B
        values, vectors = np.linalg.eigh(K)
        np.testing.assert_allclose(np.abs(vectors[:, :-9:-1].T @ M), np.eye(8), atol=1e-6)
        np.testing.assert_allclose(np.diag(M.T @ K @ M), values[:-9:-1], atol=1e-9)


@pytest.mark.parametrize("r", [1, 4])
@pytest.mark.parametrize("falling", [False, True])
def test_steps_by_products_rise_to_the_same_ratio(r, falling):
    for problem, rng in ratios(80, r, 3):
        weights = np.linspace(1.0, 0.5, r) if falling else np.ones(r)
        bound = bound_ratio(problem.A, problem.B, r, weights=weights)
        best = minimise(bound, bound.baseline(), SelfConsistentField(), Stopping(1e-12))
        inverse = np.linalg.inv(bound.B)
        steps = ratio_steps(
            bound.A,
            bound.B,
            rng.standard_normal((80, r + 3)),
            weights,
            lambda R, rho, theta, inverse=inverse: inverse @ R,
        )
        seen = []
        found = Found.last(seen.append(each) or each for each in steps)
        values = [bound.at(np.ascontiguousarray(each.V[:, :r])).value for each in seen]
        assert np.all(np.diff(values) <= 1e-13 * abs(best.value))
        assert values[-1] == pytest.approx(best.value, rel=1e-12)
        assert found.residual <= 1e-10


def test_the_former_name_of_the_solver_is_understood():
    with pytest.warns(FutureWarning, match="'self-consistent-field'"):
        assert named_solver("davidson") == SelfConsistentField()


@pytest.mark.parametrize("falling", [False, True])
def test_steps_in_a_subspace_reach_the_same_ratio(falling, monkeypatch):
    """Of large matrices a step takes some eigenvectors, not all: here of 60 x 60."""
    weights = np.linspace(1.0, 0.5, 3) if falling else np.ones(3)
    for problem, rng in ratios(60, 3, 3):
        bound = bound_ratio(problem.A, problem.B, 3, weights=weights)
        start, stopping = bound.random_point(rng), Stopping(1e-12)
        whole = minimise(bound, start, SelfConsistentField(), stopping)
        with monkeypatch.context() as patch:
            patch.setattr(eigen, "_MANY", 50)
            patch.setattr(eigen, "_MANY_PER_VECTOR", 1)
            few = minimise(bound, start, SelfConsistentField(), stopping)
        assert few.value == pytest.approx(whole.value, rel=1e-12)
        assert few.iterations <= whole.iterations


def test_the_shift_lies_at_the_root_of_a_quadratic():
    """For f(rho) = (rho - 2)(rho - 5) the model is exact; Newton's step from 1 ends at 1.8."""
    before, last = (Tangent(s, (s - 2.0) * (s - 5.0), 2.0 * s - 7.0) for s in (-1.0, 1.0))
    assert _beyond(1.8, ()) == _beyond(1.8, (last,)) == 1.8
    assert _beyond(1.8, (before, last)) == pytest.approx(2.0, rel=1e-14)
