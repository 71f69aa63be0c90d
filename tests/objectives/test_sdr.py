"""Kernel dimension reduction: what sliced inverse regression cannot see is found."""

import signal
from itertools import count

import numpy as np
import pytest

import ldr
from ldr.errors import ConvergenceWarning, DataError, SingularError, TimeLimitError
from ldr.objectives import GKDR, HSIC, SDR
from ldr.objectives.kernel import centred_gram, gaussian_gram, incomplete_cholesky, median_distance
from ldr.objectives.sdr import Landmarks
from ldr.solvers import deadline
from ldr.solvers.linalg import eigen
from ldr.solvers.linalg.eigen import full_factor
from ldr.solvers.status import Status
from tests import real_data
from tests.clock import Clock
from tests.objectives.methods import bound


def symmetric_dependence(seed, n=200, d=6):
    """y = x_1^2 + noise: no linear dependence at all."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, X[:, 0] ** 2 + 0.1 * rng.standard_normal(n)


@pytest.mark.parametrize("seed", range(3))
def test_finds_the_direction_that_slices_miss(seed):
    X, y = symmetric_dependence(seed)
    result = ldr.solve("sdr", X, 1, y=y, starts=3)
    assert abs(result.M[0, 0]) > 0.999
    assert abs(result.baseline_M[0, 0]) < 0.9
    assert result.value < result.baseline


@pytest.mark.parametrize("rows", ["nearly all equal", "all equal"])
def test_equal_rows_have_a_gradient_outer_product(rows):
    """Where the median distance of the samples is zero, and the width is given."""
    X = np.ones((30, 4))
    if rows == "nearly all equal":
        X[::10] = np.random.default_rng(0).standard_normal((3, 4))
    y = np.random.default_rng(1).standard_normal(30)
    found = ldr.solve("sdr", X, 2, y=y, width=2.0, start="gradient outer product")
    assert np.isfinite(found.value)


@pytest.mark.parametrize("name", ["sdr", "hsic", "gkdr"])
def test_equal_rows_in_rotated_coordinates_give_no_width(name):
    """Their distances in the span of few rows are rounding errors."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3, 12))[[0, 1, 2, 2, 2, 2, 2, 2]]
    with pytest.raises(DataError, match="more than half of the rows of X are equal"):
        ldr.solve(name, X, 1, y=rng.standard_normal(8))


def test_gradient_outer_product_is_the_regressions_gradient():
    """Against differences of the fitted kernel ridge regression, output by output."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 3))
    X -= X.mean(axis=0)
    Z = rng.standard_normal((40, 2))
    sigma, epsilon, h = median_distance(X), 1e-2, 1e-6
    weights = np.linalg.solve(gaussian_gram(X, sigma) + 40 * epsilon * np.eye(40), Z)

    def g(x):
        return np.exp(-((x - X) ** 2).sum(axis=1) / (2 * sigma**2)) @ weights

    outer = np.zeros((3, 3))
    for x in X:
        J = np.array([(g(x + h * e) - g(x - h * e)) / (2 * h) for e in np.eye(3)])
        outer += J @ J.T
    theirs = np.linalg.eigh(outer)[1][:, ::-1][:, :2]
    ours = ldr.objectives.slices.gradient_directions(X, Z, 2, epsilon)
    assert np.linalg.norm(theirs - ours @ (ours.T @ theirs)) < 1e-6


@pytest.mark.filterwarnings("ignore::ldr.errors.ConvergenceWarning")
def test_more_dimensions_than_slices_give_is_filled_by_principal_components():
    X, y = real_data.wine()
    result = ldr.solve("sdr", X[::3], 4, y=y[::3], max_iterations=5, certify=False)
    M = result.baseline_M
    np.testing.assert_allclose(M.T @ M, np.eye(4), atol=1e-12)


# Many optima


@pytest.mark.slow
def test_annealing_finds_more_often_what_waves():
    """y = sin 3x_1: many local optima at the width itself, fewer at four times the width."""
    plain, annealed = [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((200, 10))
        y = np.sin(3 * X[:, 0]) + 0.1 * rng.standard_normal(200)
        for found, factors in ((plain, ()), (annealed, (4, 2))):
            objective = SDR(annealing=factors, landmarks=60)
            for start in range(3):
                result = ldr.solve(
                    objective, X, 1, y=y, start="random", random_state=start, certify=False
                )
                found.append(abs(result.M[0, 0]) > 0.99)
    assert sum(annealed) >= sum(plain) + 2


def test_its_own_starts_are_as_good_as_ten_random_ones():
    """y = sin 3x_1, where the heuristic, the gradients and pca all end at worse optima."""
    rng = np.random.default_rng(101)
    X = rng.standard_normal((150, 10))
    y = np.sin(3 * X[:, 0]) + 0.1 * rng.standard_normal(150)
    own = ldr.solve("sdr", X, 1, y=y, certify=False)
    others = ldr.solve("sdr", X, 1, y=y, start="random", starts=10, random_state=0, certify=False)
    assert own.value <= others.value * (1 + 1e-6)


def test_annealing_starts_from_the_optimum_of_the_wider_kernel():
    X, y = symmetric_dependence(1, n=100)
    wide = ldr.solve(SDR(width=4.0), X, 1, y=y, tolerance=1e-4, certify=False)
    by_hand = ldr.solve(SDR(width=1.0), X, 1, y=y, start=wide.M, certify=False)
    annealed = ldr.solve(SDR(width=1.0, annealing=(4,)), X, 1, y=y, certify=False)
    assert annealed.value == pytest.approx(by_hand.value, rel=1e-9)
    assert annealed.history["value"][0] == pytest.approx(by_hand.history["value"][0], rel=1e-9)


def test_annealing_keeps_to_the_time_limit_and_the_interrupt(monkeypatch):
    X, y = symmetric_dependence(0)

    def interrupt(iteration):
        signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patched, pytest.warns(ConvergenceWarning, match="time"):
        Clock(patched, a_look=1.0)
        result = ldr.solve(SDR(annealing=(4, 2)), X, 1, y=y, time_limit=50)
    assert result.iterations <= 1
    with pytest.warns(ldr.errors.ConvergenceWarning, match="interrupted"):
        ldr.solve(SDR(annealing=(4, 2)), X, 1, y=y, observers=[interrupt])


@pytest.mark.parametrize(
    "objective",
    [SDR(landmarks=None), SDR(landmarks=40), HSIC(landmarks=None), HSIC(landmarks=40), GKDR()],
    ids=repr,
)
def test_work_in_steps_checks_limits_and_changes_nothing(objective, monkeypatch):
    X, y = symmetric_dependence(0, n=120)
    M = np.linalg.qr(np.random.default_rng(0).standard_normal((6, 2)))[0]
    V = np.random.default_rng(1).standard_normal((6, 2))

    def parts():
        point = bound(objective, X, 2, y).at(M)
        return point.value, point.gradient, point.hessian_vector(V)

    whole, checks = parts(), count()
    monkeypatch.setattr(deadline, "_STEP", 2e4)
    monkeypatch.setattr(deadline, "check", lambda: next(checks))
    for one, other in zip(whole, parts(), strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-8, atol=1e-12)
    assert next(checks) > 20


def test_a_matrix_that_is_not_positive_definite_has_no_factor():
    A = np.random.default_rng(0).standard_normal((40, 60))
    H = np.asfortranarray(A @ A.T)
    L = eigen.cholesky(H.copy(order="F"))
    np.testing.assert_allclose(np.tril(L) @ np.tril(L).T, H, rtol=1e-12)
    H[37, 37] = -1.0
    assert eigen.cholesky(H) is None


# Landmarks


@pytest.mark.parametrize("objective", [SDR, HSIC])
def test_the_approximated_value_is_its_formula(objective):
    """With K replaced by C (W + jitter)^{-1} C', everything dense."""
    X, y = symmetric_dependence(1, n=60)
    problem = bound(objective(landmarks=15), X, 2, y)
    M = np.linalg.qr(np.random.default_rng(0).standard_normal((6, 2)))[0]
    Y, n = problem.X @ M, 60
    K = gaussian_gram(Y, problem.width)
    C = K[:, problem.rows]
    W = C[problem.rows] + 1e-6 * np.eye(15)
    G = centred_gram(C @ np.linalg.solve(W, C.T))
    Kz = problem.Z @ problem.Z.T
    if objective is SDR:
        formula = np.trace(Kz @ np.linalg.inv(G + n * 1e-3 * np.eye(n)))
    else:
        formula = -np.trace(Kz @ G) / (n - 1) ** 2
    assert problem.at(M).value == pytest.approx(formula, rel=1e-8)


def test_many_rows_take_landmarks_and_say_so():
    X, y = symmetric_dependence(0, n=2500)
    result = ldr.solve(
        "sdr", X, 1, y=y, start="gradient outer product", certify=False, tolerance=1e-6
    )
    assert abs(result.M[0, 0]) > 0.999
    assert any("incomplete Cholesky decomposition, K_z by rank" in note for note in result.notes)
    assert any("pivots the value has a relative error of at most" in note for note in result.notes)
    assert not bound(SDR(), X[:300], 1, y[:300]).views[0].notes
    wide = bound(SDR(response_width=1e-3), X, 1, y)  # K_z is of no low rank
    assert "200 landmark rows" in wide.views[0].notes[0] and len(wide.rows) == 200
    assert bound(SDR(landmarks=50), X, 1, y).at(np.eye(6, 1)).value == pytest.approx(
        bound(SDR(landmarks=200), X, 1, y).at(np.eye(6, 1)).value, rel=1e-2
    )


@pytest.mark.parametrize("objective", [SDR, HSIC])
def test_pivots_are_the_exact_form_to_seven_digits(objective):
    """At the optimum, at the heuristic and in multiples; the error is below what is said of it."""
    X, y = real_data.diabetes()
    X, y = np.vstack([X, X[::2] + 0.1]), np.concatenate([y, y[::2]])
    exact = bound(objective(landmarks=None), X, 2, y)
    result = ldr.solve(objective(), X, 2, y=y)
    assert result.certificate.kind == "local" and result.converged
    problem = bound(objective(), X, 2, y)
    assert problem.pivoted
    scale = np.linalg.norm(exact.at(exact.random_point(np.random.default_rng(0))).gradient)
    for M in (result.run.M, exact.baseline()):
        here, there = problem.near(M).at(M), exact.at(M)
        project = exact.manifold.project
        off = project(M, here.gradient) - project(M, there.gradient)
        assert np.linalg.norm(off) < 1e-7 * scale
        of_response = 1e-9 * len(X) * problem.scale  # what Z leaves out of K_z
        assert -of_response <= here.value - there.value <= here.error + 1e-12 * abs(there.value)
        assert here.error < 1e-5 * abs(there.value)
    assert result.value == pytest.approx(exact.reported(exact.value(result.run.M)), rel=1e-8)
    assert result.baseline == pytest.approx(exact.reported(exact.value(exact.baseline())), rel=1e-8)
    double = ldr.solve(2.0 * objective(), X, 2, y=y, certify=False)
    assert double.value == pytest.approx(2.0 * result.value, rel=1e-8)
    held_out = ldr.score(result, X[::2], y[::2])
    assert np.isfinite(held_out)


def test_many_pivots_are_no_approximation():
    """In five dimensions the rows have nearly as many as there are: then the form is exact."""
    X, y = real_data.diabetes()
    X, y = np.vstack([X, X[::2] + 0.1]), np.concatenate([y, y[::2]])
    assert not hasattr(bound(SDR(), X, 5, y), "rows")


def test_factors_of_a_gram_matrix():
    Y = np.random.default_rng(0).standard_normal((80, 2))
    K = gaussian_gram(Y, 1.5)
    L = full_factor(K)
    assert L.shape[1] < 80
    np.testing.assert_allclose(L @ L.T, K, atol=1e-12)
    incomplete = incomplete_cholesky(Y, 1.5, 80)[0]
    assert incomplete.shape[1] < L.shape[1]
    assert np.trace(K - incomplete @ incomplete.T) < 1e-8 * 80
    short = incomplete_cholesky(Y, 1.5, 7)[0]
    assert short.shape == (80, 7)
    assert np.linalg.eigvalsh(K - short @ short.T)[0] > -1e-12


def test_pivots_keep_to_the_time_limit(monkeypatch):
    """The run before the pivots that the time did not suffice for is the result."""
    with deadline.within(0.0), pytest.raises(TimeLimitError):
        incomplete_cholesky(np.random.default_rng(0).standard_normal((80, 2)), 1.5, 80)
    X, y = symmetric_dependence(0, n=600)
    near, times = Landmarks.near, count()

    def late(problem, M):
        if next(times) == 2:  # after the heuristic and the first steps
            raise TimeLimitError("late")
        return near(problem, M)

    monkeypatch.setattr(Landmarks, "near", late)
    with pytest.warns(ConvergenceWarning, match="time"):
        result = ldr.solve("sdr", X, 2, y=y, starts=1, certify=False)
    assert result.status is Status.TIME_LIMIT and result.iterations > 0


# What y is


def test_many_whole_numbers_can_be_labels():
    X = np.random.default_rng(2).standard_normal((100, 3))
    groups = np.repeat(np.arange(25), 4)
    problem = bound(SDR(response="labels"), X, 1, groups)
    np.testing.assert_allclose(
        problem.Z @ problem.Z.T, centred_gram((groups[:, None] == groups) * 1.0), atol=1e-12
    )


@pytest.mark.parametrize("objective", [SDR, HSIC])
def test_bad_arguments(objective):
    X, y = symmetric_dependence(0, n=40)
    with pytest.raises(DataError, match=r"y .*continuous"):
        ldr.solve(objective(response="labels"), X, 1, y=y)
    with pytest.raises(DataError, match="y has dtype"):
        ldr.solve(objective(response="quantity"), X, 1, y=np.array(["a", "b"] * 20))
    with pytest.raises(DataError, match="response_width="):
        ldr.solve(objective(), X, 1, y=np.where(np.arange(40) < 35, 0.0, y))
    with pytest.raises(DataError, match="width="):
        ldr.solve(objective(), np.repeat(X[:2], [36, 4], axis=0), 1, y=y)


def test_annealing_as_a_list_is_the_same_objective():
    assert hash(SDR(annealing=[4, 2])) == hash(SDR(annealing=(4, 2)))


def test_a_singular_gram_matrix_asks_for_more_regularisation():
    X = np.repeat(np.random.default_rng(0).standard_normal((30, 4)), 2, axis=0)
    with pytest.raises(SingularError, match=r"Gram matrix of X is singular .* epsilon= a larger"):
        ldr.solve("gkdr", X, 1, y=X[:, 0], epsilon=1e-100)
