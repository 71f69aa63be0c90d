"""Proximal gradients on manifolds: exact zeros, stationarity, agreement with other ways."""

import numpy as np
import pytest
from scipy.optimize import linprog

from ldr.errors import ArgumentError
from ldr.solvers import (
    L1,
    LBFGS,
    ProximalGradient,
    Smoothing,
    Stiefel,
    Stopping,
    TrustRegion,
    minimise,
)
from ldr.solvers.manifolds import Euclidean, Product, SparseStiefel, nearest_with_zeros
from ldr.solvers.problem import RiemannianProblem
from ldr.solvers.proximal_gradient import OnSupport, ProximalPoint, Smoothed, Step, slack_at
from ldr.solvers.proximal_gradient import _on_support as on_support
from ldr.solvers.saddles import leave_saddles, smallest_curvature
from ldr.testing import PROBLEMS, FunctionProblem, rayleigh, taylor_slopes

SOLVERS = [ProximalGradient(), Smoothing()]


def penalised(weight, seed=0, name="brockett"):
    """A smooth problem on the Stiefel manifold with an l1 penalty, and a random start."""
    problem = PROBLEMS[name]()
    problem.penalty = L1(weight)
    return problem, problem.manifold.random_point(np.random.default_rng(seed))


@pytest.mark.parametrize("t", [1e-3, 0.1, 10.0])
def test_the_step_minimises_its_model_over_tangent_vectors(t):
    problem, M = penalised(0.7)
    G, h = problem.at(M).gradient, problem.penalty
    step = Step(problem.manifold, M, G, h, t).solved()
    V = step.V
    assert np.abs(M.T @ V + V.T @ M).max() < 1e-12 * max(1.0, np.abs(V).max())
    # the subgradient of h at M + V that optimality asks for
    s = -(G - M @ step.multipliers[0] + V / t) / 0.7
    assert np.abs(s).max() <= 1 + 1e-10
    moved = step.target != 0
    np.testing.assert_allclose(s[moved], np.sign(step.target[moved]), atol=1e-9)

    def model(U):
        return np.vdot(G, U) + np.vdot(U, U) / (2 * t) + h.value(M + U)

    rng = np.random.default_rng(1)
    for size in (1e-4, 1e-2, 1.0):
        U = V + size * problem.manifold.random_tangent(M, rng)
        assert model(V) < model(U)


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda s: s.name)
@pytest.mark.parametrize("weight", [0.05, 0.3, 2.0, 1e3])
def test_ends_are_stationary_by_an_independent_test(solver, weight):
    problem, start = penalised(weight)
    run = minimise(problem, start, solver, Stopping(1e-11))
    M = run.M
    assert run.status.converged
    assert np.abs(M.T @ M - np.eye(M.shape[1])).max() < 1e-14
    assert run.value == pytest.approx(problem.at(M).value + weight * np.abs(M).sum(), rel=1e-13)
    # G + weight S = ML with S the sign where M is not zero and in [-1, 1] elsewhere, L symmetric:
    # the least error is a linear programme over L and S.
    d, r = M.shape
    G = problem.at(M).gradient
    basis = [np.eye(r)[:, [i]] @ np.eye(r)[[j]] for i in range(r) for j in range(i, r)]
    columns = np.array([(M @ (B + B.T)).ravel() for B in basis]).T
    zero = (M == 0).ravel()
    selected = np.eye(d * r)[:, zero]
    A = np.hstack([columns, -weight * selected])
    b = (G + weight * np.sign(M)).ravel()
    p = A.shape[1]
    ones = np.ones((d * r, 1))
    found = linprog(
        np.append(np.zeros(p), 1.0),
        A_ub=np.block([[A, -ones], [-A, -ones]]),
        b_ub=np.concatenate([b, -b]),
        bounds=[(None, None)] * len(basis) + [(-1, 1)] * int(zero.sum()) + [(0, None)],
    )
    assert found.fun < 1e-7 * max(1.0, weight)


def test_agrees_with_a_long_run_on_the_smoothed_problem():
    problem, start = penalised(0.3)
    run = minimise(problem, start, Smoothing(), Stopping(1e-11))
    M, values = start, []
    for width in 10.0 ** -np.arange(1, 6):
        M = minimise(Smoothed(problem, width), M, LBFGS(), Stopping(1e-8, 1000)).M
        values.append(problem.value(M))
    assert (run.M == 0).any()
    assert run.value <= values[-1] + 1e-12
    assert values[-1] - run.value < 0.3 * M.size * 1e-5


def test_smooth_solvers_and_subspaces_are_refused():
    problem, start = penalised(0.3)
    for solver in (TrustRegion(), LBFGS()):
        with pytest.raises(ArgumentError, match="nonsmooth"):
            minimise(problem, start, solver)
    subspace = rayleigh()
    subspace.penalty = L1(1.0)
    for solver in SOLVERS:
        with pytest.raises(ArgumentError, match="Stiefel"):
            minimise(subspace, subspace.manifold.random_point(np.random.default_rng(0)), solver)


def test_a_solution_given_as_start_is_kept():
    problem, start = penalised(0.3)
    first = minimise(problem, start, Smoothing(), Stopping(1e-13))
    noisy = first.M + 1e-17
    again = minimise(problem, noisy, Smoothing(), Stopping(1e-9))
    assert again.iterations == 0
    np.testing.assert_array_equal(again.M == 0, first.M == 0)


def sparse_point(seed=0, d=12, r=3):
    rng = np.random.default_rng(seed)
    support = (rng.uniform(size=(d, r)) < 0.6).astype(float)
    return SparseStiefel(support), nearest_with_zeros(support * rng.standard_normal((d, r)))


def test_points_and_steps_keep_their_zeros():
    for seed in range(5):
        manifold, M = sparse_point(seed)
        rng = np.random.default_rng(seed)
        V = manifold.random_tangent(M, rng)
        N, velocity = manifold.curve(M, V, 0.1)
        for Z in (M, V, N, velocity):
            assert not Z[manifold.support == 0].any()
        for Z in (M, N, manifold.random_point(rng)):
            assert np.abs(Z.T @ Z - np.eye(3)).max() < 2e-15


def test_on_a_support_derivatives_are_right_to_second_order():
    problem, start = penalised(0.3)
    M = minimise(problem, start, Smoothing(), Stopping(1e-2, 8)).M
    smooth = OnSupport(problem, M)
    first, second = taylor_slopes(smooth, M, np.random.default_rng(0))
    assert first == pytest.approx(2, abs=0.1) and second == pytest.approx(3, abs=0.1)


def test_a_support_of_one_point_leads_nowhere():
    problem, _ = penalised(0.3)
    riemannian = RiemannianProblem(problem)
    M = np.eye(*problem.manifold.shape)
    assert on_support(riemannian, ProximalPoint(riemannian, M, 0.01, 0.01)) is None


def test_disjoint_columns_have_free_multipliers():
    """Where columns share no rows the least slack of any one multiplier would be too small."""
    M = np.zeros((6, 2))
    M[:3, 0], M[3:, 1] = 1 / np.sqrt(3), 1 / np.sqrt(3)
    A = M @ np.diag([5.0, 4.0]) @ M.T
    problem = rayleigh()
    problem.A, problem.manifold, problem.penalty = A, Stiefel(6, 2), L1(0.5)
    problem.f = lambda N: -float(np.vdot(N, A @ N))
    problem.g = lambda N: -2 * A @ N
    slack = slack_at(problem, M)
    assert 0.9 < slack <= 1.0


def test_a_saddle_among_the_sparse_is_left():
    """Two columns of the axes that are stationary, but not in the best order."""
    problem, _ = penalised(0.05)
    d, r = problem.manifold.shape
    run = minimise(problem, np.eye(d)[:, :r], ProximalGradient(), Stopping(1e-9))
    end, curvature, _ = leave_saddles(problem, run, ProximalGradient(), Stopping(1e-9))
    assert end.value <= run.value
    assert not curvature.descends
    assert not smallest_curvature(OnSupport(problem, end.M), end.M).descends


def test_factors_without_a_constraint_are_plain_thresholding():
    manifold = Product(Stiefel(5, 2), Euclidean(3, 2))
    rng = np.random.default_rng(0)
    M, G = manifold.random_point(rng), rng.standard_normal(16)
    step = Step(manifold, M, G, L1(0.4), 0.3).solved()
    free = manifold.split(M - 0.3 * G)[1]
    expected = np.sign(free) * np.maximum(np.abs(free) - 0.12, 0)
    np.testing.assert_allclose(manifold.split(step.target)[1], expected)
    assert step.multipliers[1] is None


def test_where_a_curve_ends_at_no_point_the_function_is_not_asked():
    """Two columns that share two rows: a long step leaves no orthonormal matrix with its zeros."""
    support = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 1.0], [0.0, 1.0]])
    manifold = SparseStiefel(support)
    rng = np.random.default_rng(0)
    C, M = rng.standard_normal((4, 2)), manifold.random_point(rng)
    asked, walls = [], []

    def f(M):
        assert np.isfinite(M).all()
        asked.append(M)
        return float(np.vdot(C, M))

    def g(M):
        assert np.isfinite(M).all()
        return C

    class Walled(SparseStiefel):
        def retract(self, M, V):
            N = super().retract(M, V)
            walls.append(not np.isfinite(N).all())
            return N

    problem = FunctionProblem(Walled(support), f, g, lambda M, V: 0.0 * V)
    run = minimise(problem, M, TrustRegion(radius=3.0))
    assert run.status.converged and any(walls)
    assert run.evaluations["value"] == len(asked)
