"""Traces and trace ratios: the trace's preconditioner, and how few decompositions a ratio takes."""

import math

import numpy as np
import pytest

from ldr.solvers import SelfConsistentField, Stopping, TrustRegion, minimise, named_solver
from ldr.solvers.linalg.products import Found, ratio_steps
from tests.objectives.test_certificates import bound_ratio, bound_trace, rotation


def spread(k, rng):
    """A symmetric positive definite matrix with eigenvalues of an exponential law, squared."""
    Q = rotation(k, rng)
    return (Q * rng.exponential(2.0, k) ** 2) @ Q.T


def planted(k, r, seed, sign):
    """min of -sign tr(M'AM), A with r eigenvalues far out on that side, and a point near them."""
    rng = np.random.default_rng(seed)
    values = np.concatenate([rng.uniform(5, 50, r), rng.standard_normal(k - r)])
    Q = rotation(k, rng)
    problem = bound_trace(sign * (Q * values) @ Q.T, r, scale=sign)
    M = problem.manifold.retract(
        Q[:, :r], 0.1 * problem.manifold.random_tangent(Q[:, :r].copy(), rng)
    )
    return problem, M, rng


@pytest.mark.parametrize("r", [1, 4])  # of 9 dimensions, in which 3r directions have room or not
def test_solvers_of_trace_ratios_agree(r):
    rng = np.random.default_rng(0)
    problem = bound_ratio(spread(9, rng), spread(9, rng), r)
    start = problem.random_point(rng)
    solvers = SelfConsistentField(), TrustRegion()
    ends = [minimise(problem, start, solver, Stopping(1e-10)) for solver in solvers]
    assert all(end.value == pytest.approx(ends[0].value, rel=1e-12) for end in ends)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_preconditioner_of_a_trace_is_the_inverse_of_the_mean_curvature(sign):
    """Averaged over the complement of M, the Hessian is what the preconditioner inverts."""
    problem, M, rng = planted(12, 3, 1, sign)
    complement = np.linalg.qr(np.hstack([M, rng.standard_normal((12, 9))]))[0][:, 3:]
    multiplier = problem.manifold.multiplier(M, problem.at(M).gradient)
    mean = np.zeros((3, 3))
    for u in complement.T:
        for i in range(3):
            V = np.outer(u, np.eye(3)[i])
            HV = problem.manifold.hessian(M, multiplier, V, problem.at(M).hessian_vector(V))
            mean[i] += u @ HV / 9
    V = problem.manifold.random_tangent(M, rng)
    np.testing.assert_allclose(problem.preconditioner(M)(M, V) @ mean, V, atol=1e-12)


def test_there_is_no_preconditioner_where_the_curvature_is_negative():
    problem, M, _ = planted(12, 3, 2, 1.0)
    worst = np.linalg.eigh(problem.A)[1][:, :3]
    assert problem.preconditioner(M) is not None
    assert problem.preconditioner(worst.copy()) is None


def test_preconditioner_of_a_trace_saves_products():
    counts = []
    for long in (None, math.inf):
        total = 0
        for seed in range(6):
            rng = np.random.default_rng(seed)
            problem = bound_trace(spread(60, rng), 8)
            solver = TrustRegion(long=long)
            run = minimise(problem, problem.random_point(rng), solver, Stopping(1e-9))
            best = problem.at(problem.closed_form()).value
            assert run.value == pytest.approx(best, rel=1e-12)
            total += run.evaluations["hessian"]
        counts.append(total)
    assert counts[0] < 0.8 * counts[1]


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
