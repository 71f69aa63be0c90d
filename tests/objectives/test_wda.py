"""Wasserstein discriminant analysis: Sinkhorn's iteration by its definition, and its limits."""

import pickle
import tracemalloc
from itertools import combinations, permutations

import numpy as np
import pytest
import scipy

import ldr
from ldr.errors import ArgumentError, DataError, SingularError
from ldr.objectives.families import pairwise
from ldr.solvers.saddles import smallest_curvature
from tests import real_data
from tests.adversarial.newer import by_variance, transport_cost
from tests.objectives.methods import bound

X, Y = real_data.wine()
X, Y = X[::3], Y[::3]


def ratio(rows, M, y, reg, steps=10):
    classes = [own @ M for own in by_variance(rows, y)]
    within = sum(transport_cost(A, A, reg, steps) for A in classes)
    return float(
        within / sum(transport_cost(A, B, reg, steps) for A, B in combinations(classes, 2))
    )


@pytest.mark.parametrize("reg", [10.0, 1.0, 0.1, 1e-3, 1e-5])
@pytest.mark.parametrize("steps", [1, 10])
def test_the_value_is_the_definition(reg, steps):
    """Where the kernel is nothing but zeros in double precision, too."""
    problem = bound("wda", X, y=Y, reg=reg, iterations=steps)
    M = problem.random_point(np.random.default_rng(0))
    assert problem.at(M).value == pytest.approx(ratio(X, M, Y, reg, steps), rel=1e-9)


def test_the_order_of_the_classes_is_nothing_to_it():
    """After few steps Sinkhorn's plan depends on the class that it starts from."""
    A, y = np.random.default_rng(0).standard_normal((48, 6)), np.arange(48) % 3
    results = [ldr.solve("wda", A, 2, y=np.array(names)[y]) for names in permutations("abc")]
    values = [result.value for result in results]
    np.testing.assert_allclose(values, values[0], rtol=1e-8)
    spans = [result.M @ result.M.T for result in results]
    np.testing.assert_allclose(spans, spans[:1] * 6, atol=1e-4)
    classes = [A[y == c] @ results[0].M for c in range(3)]
    one_order = [
        sum(transport_cost(C, C) for C in order)
        / sum(transport_cost(order[i], order[j]) for i in range(3) for j in range(i + 1, 3))
        for order in permutations(classes)
    ]
    assert np.ptp(one_order) > 1e-4 * values[0]


@pytest.mark.parametrize("r", [2, 5])
def test_nothing_is_claimed_of_values_that_are_rounding(r):
    """Squared distances are in the millions: with reg = 1 each row stays where it is."""
    table = real_data.longley(response=False)
    y = np.arange(16) // 8
    result = ldr.solve("wda", table, r, y=y)
    assert result.value < 1e-14
    assert result.certificate.kind == "none"
    assert "the value is a rounding error" in result.certificate.message
    better = ldr.solve("wda", table, r, y=y, standardise=True)
    assert better.value > 1e-3 and better.certificate.kind == "local"


def test_transport_of_no_cost_between_classes_has_no_certificate():
    """Classes of the same points: each row stays at its twin in the other class."""
    points = np.array([-1, 0, 1, 2, 2, 0, -1, 1, -1, 2, 1, -2, 1, 2, 1, 1, 2, -2, 2, 0, 0, 0, 2])
    y = np.array([int(c) for c in "00101101110100010001111"])
    result = ldr.solve("wda", 2.0**25 * points[:, None], 1, y=y)
    assert result.certificate.kind == "none"
    assert "the value is a rounding error" in result.certificate.message


@pytest.mark.parametrize("reg", [1.0, 1e-3])
def test_many_small_classes_and_their_derivatives(reg):
    rng = np.random.default_rng(2)
    rows, labels = rng.standard_normal((90, 4)), np.arange(90) % 23
    labels[:11] = 0  # one class that is padded to no other
    problem = bound("wda", rows, y=labels, reg=reg)
    M, V = (problem.random_point(rng) for _ in range(2))
    assert problem.at(M).value == pytest.approx(ratio(rows, M, labels, reg), rel=1e-10)
    h = 1e-6
    difference = (problem.at(M + h * V).value - problem.at(M - h * V).value) / (2 * h)
    assert np.vdot(problem.at(M).gradient, V) == pytest.approx(difference, rel=1e-5)


def test_frozen_plans_spare_evaluations_and_products():
    """Columns that are nearly combinations of others: 392 evaluations without, and 53 products."""
    rows, labels = real_data.breast_cancer()
    start = np.linalg.qr(np.random.default_rng(0).standard_normal((30, 2)))[0]
    result = ldr.solve("wda", rows, 2, y=labels, reg=10.0, start=start, certify=False)
    assert result.status.converged
    assert result.evaluations["value"] < 100
    problem = bound("wda", rows, y=labels, reg=10.0)
    M, plain = problem.lower([result.M]), bound("wda", rows, y=labels, reg=10.0)
    found = smallest_curvature(problem, M, steps=25)
    object.__setattr__(plain, "preconditioner", lambda M: None)
    assert found.smallest == pytest.approx(smallest_curvature(plain, M).smallest, rel=1e-6)


def _points(rows, labels, r):
    """By singular value decompositions: no row leaves its class's mean, and the means are apart."""
    means = np.array([rows[labels == c].mean(axis=0) for c in np.unique(labels)])
    varied = scipy.linalg.orth((rows - rows.mean(axis=0)).T)
    inside = (rows - means[np.searchsorted(np.unique(labels), labels)]) @ varied
    nothing = varied @ scipy.linalg.null_space(inside)
    return nothing @ np.linalg.svd((means - means.mean(axis=0)) @ nothing)[2][:r].T


@pytest.mark.parametrize("r", [1, 2])
def test_classes_that_can_be_points_are_as_far_apart_as_can_be(r):
    rows, labels = np.random.default_rng(0).standard_normal((15, 30)), np.arange(15) % 3
    expected = _points(rows, labels, r)
    result = ldr.solve("wda", rows, r, y=labels)
    np.testing.assert_allclose(result.M @ result.M.T, expected @ expected.T, atol=1e-9)
    assert 0 <= result.value < 1e-15
    assert result.certificate.kind == "global"
    assert any("project each class to a single point" in note for note in result.notes)
    weights = np.array([3.0, 1, 2, 0, 0, 1, 2, 2, 1, 1, 1, 3, 2, 1, 1])
    repeated = np.repeat(np.arange(15), weights.astype(int))
    one = ldr.solve("wda", rows, r, y=labels, sample_weight=weights)
    other = ldr.solve("wda", rows[repeated], r, y=labels[repeated])
    np.testing.assert_allclose(one.M, other.M, atol=1e-9)


def test_a_column_that_gives_the_class_away():
    rows = np.column_stack([X, 0.1 * Y])
    result = ldr.solve("wda", rows, 1, y=Y)
    np.testing.assert_allclose(np.abs(result.P[0]), np.eye(14)[13], atol=1e-7)
    assert np.mean(result.predict(rows) == Y) == 1
    assert ldr.solve("wda", rows, 2, y=Y).value > 0


def test_a_direction_in_which_nothing_varies_costs_nothing_and_is_left_out():
    rows = np.column_stack([X, np.full(len(X), 3.0), X[:, 0] - X[:, 1]])
    result = ldr.solve("wda", rows, 2, y=Y, reg=300.0)
    np.testing.assert_allclose(result.P[:, 13], 0, atol=1e-12)
    np.testing.assert_allclose(result.baseline_P[:, 13], 0, atol=1e-12)
    assert np.linalg.eigvalsh(np.cov(result.transform(rows).T))[0] > 1e-3
    assert "within the range of the total scatter" in result.certificate.message


def test_pairs_of_rows_in_files_are_those_within_batches(tmp_path, monkeypatch):
    monkeypatch.setattr(pairwise, "BATCH_ROWS", 30)
    np.save(tmp_path / "X.npy", X)
    problem = bound("wda", tmp_path / "X.npy", y=Y)
    M = problem.random_point(np.random.default_rng(0))
    parts = [slice(0, None, 2), slice(1, None, 2)]
    expected = sum(len(X[p]) / len(X) * ratio(X[p], M, Y[p], 1.0) for p in parts)
    assert problem.reported(problem.at(M).value) == pytest.approx(expected, rel=1e-10)
    piece, term = problem.samples.piece(slice(0, None)), pickle.loads(pickle.dumps(problem.term))
    assert term.first(M, piece, Y)[0] == problem.term.first(M, piece, Y)[0]
    assert term.first(M, piece, np.zeros_like(Y))[0] == 0.0  # of one class alone
    assert problem.exchangeable
    with pytest.raises(ArgumentError, match=r"wda takes sample_weight= only for .* rows in memory"):
        ldr.solve("wda", tmp_path / "X.npy", 2, y=Y, sample_weight=np.ones(len(X)))


def test_batches_of_classes_that_take_turns(tmp_path, monkeypatch):
    """Each batch has its share of every class, and the value is the mean of theirs."""
    monkeypatch.setattr(pairwise, "BATCH_ROWS", 30)
    monkeypatch.setattr(pairwise, "DENSE", 60)
    rng = np.random.default_rng(0)
    labels = np.arange(120) % 4  # the number of batches is a multiple of that of the classes
    rows = rng.standard_normal((120, 5)) + 2.0 * np.eye(4, 5)[labels]
    np.save(tmp_path / "X.npy", rows)
    problem = bound("wda", tmp_path / "X.npy", y=labels)
    M = problem.random_point(rng)
    order = np.argsort(labels, kind="stable")
    parts = [order[b::4] for b in range(4)]
    expected = np.mean([ratio(rows[p], M, labels[p], 1.0) for p in parts])
    assert problem.reported(problem.at(M).value) == pytest.approx(expected, rel=1e-10)
    result = ldr.solve("wda", tmp_path / "X.npy", 2, y=labels, random_state=0)
    whole = ldr.solve("wda", rows, 2, y=labels, random_state=0)
    assert 0.5 * whole.value < result.value < 2.0 * whole.value


def test_rows_that_are_one_point(tmp_path):
    rows, labels = np.tile([[0.0, 1.0], [1.0, 0.0]], (4, 1)), np.array([0, 0, 1, 1] * 2)
    np.save(tmp_path / "X.npy", rows)
    with pytest.raises(DataError, match="classes of X coincide"):
        ldr.solve("wda", tmp_path / "X.npy", 1, y=labels, start=[[1.0], [1.0]])
    with pytest.raises(SingularError, match="the total scatter is zero"):
        ldr.solve("wda", np.ones((8, 2)), 1, y=labels)


@pytest.mark.slow
def test_five_thousand_rows_fit():
    rng = np.random.default_rng(0)
    rows, labels = rng.standard_normal((5000, 10)), np.arange(5000) % 2
    problem = bound("wda", rows + labels[:, None], y=labels)
    tracemalloc.start()
    assert np.isfinite(problem.at(problem.random_point(rng)).gradient).all()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 1e9


def test_where_there_is_nowhere_to_go():
    problem = bound("wda", X[:, :3], 3, y=Y)
    M = problem.random_point(np.random.default_rng(0))
    assert problem.preconditioner(M) is None  # of a square M the value is constant
    assert not problem.at(M).hessian_vector(np.zeros_like(M)).any()
