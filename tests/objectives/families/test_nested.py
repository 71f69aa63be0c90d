"""Nested trace ratios: one M whose first columns serve at every level."""

from fractions import Fraction

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

import ldr
from ldr.errors import ArgumentError
from ldr.objectives import PCA, OrthogonalLDA, OrthogonalMAF, OrthogonalSFA
from ldr.objectives.families.trace_ratio import TraceRatio
from ldr.objectives.view import View
from ldr.solvers import minimise
from ldr.solvers.linalg.bounds import Majorant, entry_squares, trace_ratio_bound
from ldr.solvers.registry import named_solver
from ldr.solving import certify_run
from tests import real_data
from tests.objectives.test_certificates import rotation

DIGITS_LEVELS = (1, 2, 5, 10)
SOLVERS = ["self-consistent-field", "trust-region", "lbfgs", "conjugate-gradient"]


def bound(A, B, r, **nested):
    objective = OrthogonalLDA(**nested)
    weights = objective.column_weights(r)
    return TraceRatio(objective, (View(np.zeros(len(A))),), A, B, r, weights=weights)


def scatters(X, y):
    """S_B and S_W in units of their traces, each with 1e-5 of its trace on the diagonal."""
    X = X[:, X.std(axis=0) > 0]
    X = X / X.std(axis=0)
    means, found = np.array([X[y == c].mean(axis=0) for c in range(10)])[y], []
    for Z in (means - X.mean(axis=0), X - means):
        S = Z.T @ Z
        S += 1e-5 * np.trace(S) * np.eye(len(S))
        found.append(S / np.trace(S))
    return found


@pytest.fixture(scope="module")
def digits():
    return scatters(*real_data.digits())


def root(A, B, v):
    """Where sum_j v_j lambda_j(A - rho B) changes its sign, by bisection."""

    def f(rho):
        return np.sort(np.linalg.eigvalsh(A - rho * B))[::-1][: len(v)] @ v

    return scipy.optimize.brentq(f, -1e3, 1e3, xtol=1e-15, rtol=1e-14)


def test_digits_have_the_known_value_and_ratios(digits):
    problem = bound(*digits, 10, nested=DIGITS_LEVELS)
    M = minimise(problem, problem.baseline(), named_solver("self-consistent-field")).M
    assert -problem.at(M).value == pytest.approx(11.8239661032, abs=1e-10)
    assert problem.certificate(M).kind == "global"
    found = {**problem.parameters(M), **problem.comparisons(M)}
    assert found["levels"].tolist() == [1, 2, 5, 10]
    np.testing.assert_allclose(found["ratios"], [16.03, 14.23, 12.10, 8.95], atol=0.005)
    np.testing.assert_allclose(found["unnested"], [17.04, 15.16, 12.10, 9.24], atol=0.005)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("start", ["baseline", "random", "out of order"])
def test_every_solver_reaches_the_known_value(solver, start, digits):
    problem = bound(*digits, 10, nested=DIGITS_LEVELS)
    M = problem.baseline()
    if start == "random":
        M = problem.random_point(np.random.default_rng(0))
    elif start == "out of order":  # the span of the optimum's columns is the best, not their order
        M = minimise(problem, M, named_solver("self-consistent-field")).M[:, ::-1].copy()
    run = minimise(problem, M, named_solver(solver))
    assert -run.value == pytest.approx(11.8239661032, abs=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_best_columns_in_another_order_are_left(solver):
    """Of diagonal A and B every choice of columns is stationary: a saddle, where not the best."""
    problem = bound(np.diag([4.0, 3.0, 2.0, 1.0, 0.5, 0.2, 0.1]), np.eye(7), 2, nested=True)
    run = minimise(problem, np.eye(7)[:, [1, 0]], named_solver(solver))
    run, certificate, _ = certify_run(problem, run, named_solver(solver))
    assert certificate.kind == "global" and -run.value == pytest.approx(11.0 / 3.0)


@settings(max_examples=40, deadline=None)
@given(k=st.integers(2, 12), seed=st.integers(0, 2**32 - 1), smallest=st.booleans())
def test_the_optimum_is_the_root_of_the_weighted_sum(k, seed, smallest):
    rng = np.random.default_rng(seed)
    levels = np.flatnonzero(rng.random(k) < 0.5) + 1
    levels = levels if len(levels) else np.array([k])
    nested = {int(level): float(rng.uniform(0.1, 2.0)) for level in levels}
    r = max(nested)
    U, V = rotation(k, rng), rotation(k, rng)
    A = (U * rng.standard_normal(k)) @ U.T
    B = (V * rng.uniform(0.1, 3.0, k)) @ V.T
    v = np.array([sum(w for level, w in nested.items() if level > j) for j in range(r)])
    problem = bound(A, B, r, nested=nested)
    M = minimise(problem, problem.baseline(), named_solver("self-consistent-field")).M
    value, statement = -problem.at(M).value, problem.certificate(M)
    assert value == pytest.approx(root(A, B, v), abs=1e-11 * np.abs(A).max() / 0.1)
    assert value + statement.gap >= root(A, B, v) - 1e-12
    assert statement.gap < 1e-10
    for _ in range(5):
        N = problem.random_point(rng)
        assert -problem.at(N).value + problem.certificate(N).gap >= value - 1e-12


@settings(max_examples=60, deadline=None)
@given(k=st.integers(1, 15), seed=st.integers(0, 2**32 - 1))
def test_bounds_of_integer_matrices_hold_exactly(k, seed):
    """Diagonal integers and weights: the sums are exact, so no rounding error may be missed."""
    rng = np.random.default_rng(seed)
    r = int(rng.integers(1, k + 1))
    a, b = rng.integers(-50, 50, k), rng.integers(1, 9, k)
    v = np.sort(rng.integers(1, 7, r))[::-1]
    M = np.eye(k)[:, np.argsort(-a)[:r]]
    top = sum(int(x) * int(y) for x, y in zip(v, np.sort(a)[::-1][:r], strict=True))
    A = np.diag(a.astype(float))
    for delta in (1e-14, 1e-6, 1.0):
        assert Majorant(A, M, v, entry_squares(np.abs(A))).top_sum(delta) >= top
    most = trace_ratio_bound(A, np.diag(b.astype(float)), M, v.astype(float))
    for _ in range(20):
        chosen = rng.permutation(k)[:r]
        assert most >= Fraction(int(v @ a[chosen]), int(v @ b[chosen]))


def test_values_and_prices_are_those_of_the_data():
    X, y = real_data.wine()
    result = ldr.solve("orthogonal-lda", X, 4, y=y, nested={1: 2.0, 3: 1.0, 4: 0.5})
    assert result.certificate.kind == "global"
    means = np.array([X[y == c].mean(axis=0) for c in range(3)])
    Z = X - means[y]
    a = np.sum(((means - X.mean(axis=0))[y] @ result.M) ** 2, axis=0)
    b = np.sum((Z @ result.M) ** 2, axis=0)
    sums = [(2.0 * a[:1].sum(), b[:1].sum() * 2.0), (a[:3].sum(), b[:3].sum())]
    sums.append((0.5 * a.sum(), 0.5 * b.sum()))
    assert result.value == pytest.approx(sum(s for s, _ in sums) / sum(t for _, t in sums))
    np.testing.assert_allclose(result.parameters["ratios"], [s / t for s, t in sums], rtol=1e-12)
    alone = [ldr.solve("orthogonal-lda", X, k, y=y).value for k in (1, 3, 4)]
    np.testing.assert_allclose(result.parameters["unnested"], alone, rtol=1e-12)
    assert np.all(result.parameters["ratios"] <= alone)
    assert "levels 1, 3, 4" in repr(result)


def test_minimised_ratios_are_nested_too():
    X = real_data.stocks()
    result = ldr.solve("orthogonal-sfa", X, 3, nested=True)
    assert result.certificate.kind == "global"
    alone = [ldr.solve("orthogonal-sfa", X, k).value for k in (1, 2, 3)]
    np.testing.assert_allclose(result.parameters["unnested"], alone, rtol=1e-10)
    assert np.all(result.parameters["ratios"] >= np.array(alone) * (1 - 1e-12))
    assert result.parameters["ratios"].min() <= result.value <= result.parameters["ratios"].max()


def test_ways_to_say_the_same_levels():
    X, y = real_data.wine()
    values = [
        ldr.solve("orthogonal-lda", X, 3, y=y, nested=nested).value
        for nested in (True, (1, 2, 3), [3, 1, 2], np.arange(1, 4), dict.fromkeys((1, 2, 3), 1e-30))
    ]
    np.testing.assert_allclose(values, values[0], rtol=1e-13)
    plain = ldr.solve("orthogonal-lda", X, 3, y=y)
    for nested in (False, (3,), {3: 0.1}):
        same = ldr.solve("orthogonal-lda", X, 3, y=y, nested=nested)
        assert same.value == plain.value and "levels" not in same.parameters


@pytest.mark.parametrize(
    ("nested", "message"),
    [
        ((1, 2), r"largest number in nested=\(1, 2\) must be r = 3, got 2"),
        ((), "nested must be"),
        ("123", "nested must be"),
        ((1, 1, 3), "different whole numbers"),
        ((0, 3), "whole number >= 1"),
        ((1.5, 3), "whole number >= 1"),
        ({1: 0.0, 3: 1.0}, "number > 0"),
        ({1: np.nan, 3: 1.0}, "number > 0"),
        ({1: 1e300, 3: 1e-300}, "more than 1e\\+08 times the smallest"),
        (None, "nested must be"),
        ([[1, 3]], "nested must be"),
    ],
)
def test_other_levels_are_refused(nested, message):
    X, y = real_data.wine()
    with pytest.raises(ArgumentError, match=message):
        ldr.solve("orthogonal-lda", X, 3, y=y, nested=nested)


def test_a_level_that_has_no_bound_by_itself():
    """B of rank 3 of 4: of one column the ratio is unbounded, of two it is not."""
    rng = np.random.default_rng(0)
    Q = rotation(4, rng)
    problem = bound((Q * [4.0, 3.0, 2.0, 1.0]) @ Q.T, np.diag([1.0, 2.0, 3.0, 0.0]), 2, nested=True)
    M = minimise(problem, problem.baseline(), named_solver("self-consistent-field")).M
    assert problem.certificate(M).kind == "global"
    unnested = problem.comparisons(M)["unnested"]
    assert np.isinf(unnested[0]) and np.isfinite(unnested[1])


def test_sums_kernels_and_the_rest_work_with_it():
    X, y = real_data.wine()
    kernel = ldr.solve(
        ldr.kernel(OrthogonalLDA(ridge=0.1, nested=True), "rbf", gamma=0.02), X, 2, y=y
    )
    assert kernel.certificate.kind == "global" and len(kernel.parameters["ratios"]) == 2
    double = ldr.solve(2 * OrthogonalLDA(nested=True), X, 2, y=y)
    single = ldr.solve(OrthogonalLDA(nested=True), X, 2, y=y)
    assert double.value == pytest.approx(2 * single.value)
    np.testing.assert_allclose(double.parameters["unnested"], single.parameters["unnested"])
    both = ldr.solve(OrthogonalLDA(nested=True) - 1e-6 * PCA(), X, 2, y=y)
    np.testing.assert_allclose(np.abs(both.M), np.abs(single.M), atol=0.01)
    estimator = ldr.OrthogonalLDA(n_components=2, nested=(1, 2)).fit(X, y)
    assert estimator.result_.value == pytest.approx(single.value)
    assert estimator.get_params()["nested"] == (1, 2)
    path = ldr.path(OrthogonalMAF(nested=True), real_data.stocks(), (1, 2, 3))
    assert path.certificates == ("global",) * 3
    streamed = ldr.solve(OrthogonalSFA(nested=True), lambda: iter(np.array_split(X, 5)), 2)
    assert streamed.value == pytest.approx(ldr.solve(OrthogonalSFA(nested=True), X, 2).value)


def test_objectives_say_what_they_are():
    nested = OrthogonalLDA(nested=[5, 1])
    assert (
        nested == OrthogonalLDA(nested=(1, 5))
        and nested.domain == "St"
        and OrthogonalLDA().domain == "Gr"
    )
    assert repr(nested) == "OrthogonalLDA(nested=(1, 5))"
    assert nested.formula.endswith("each trace summed over the levels 1, 5")
