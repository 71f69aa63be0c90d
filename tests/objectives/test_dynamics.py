"""Linear dynamics of the projected data: planted rotations are found, and D is the best one."""

import numpy as np
import pytest

import ldr
from ldr.errors import DataError
from ldr.objectives import Data, Dynamics
from ldr.objectives.data.opening import as_samples
from tests import real_data

FREQUENCY = 0.3


def rotating(seed, n=400, d=12, noise=0.3, loud=0.0):
    """A plane in which a point turns by FREQUENCY a row, in noise; perhaps beside loud noise."""
    rng = np.random.default_rng(seed)
    plane = np.linalg.qr(rng.standard_normal((d, 2)))[0]
    t = FREQUENCY * np.arange(n)
    X = 3.0 * np.stack([np.cos(t), np.sin(t)], axis=1) @ plane.T
    X += noise * rng.standard_normal((n, d))
    if loud:
        direction = np.linalg.qr(np.hstack([plane, rng.standard_normal((d, 1))]))[0][:, 2]
        X += loud * np.outer(rng.standard_normal(n), direction)
    return X, plane


def sine(A, B):
    """Of the largest angle between the spans of matrices with orthonormal columns."""
    return np.linalg.norm(A - B @ (B.T @ A), 2)


def frequency(D):
    """Radians a row: the midpoint rule gives a rotation the eigenvalues +-2i tan(w/2)."""
    return 2 * np.arctan(np.abs(np.linalg.eigvals(D).imag).max() / 2)


@pytest.mark.parametrize("skew", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_a_planted_rotation_is_found(seed, skew):
    X, plane = rotating(seed)
    result = ldr.solve("dynamics", X, 2, skew=skew)
    w = frequency(result.parameters["D"])
    angle = np.degrees(np.arcsin(sine(result.M, plane)))
    assert angle < 2
    assert w == pytest.approx(FREQUENCY, rel=0.03)


@pytest.mark.parametrize("given", [False, True])
def test_value_and_dynamics_are_those_of_least_squares(given):
    X = real_data.stocks()
    rng = np.random.default_rng(0)
    moves = rng.standard_normal(X.shape) if given else None
    problem = Dynamics(derivatives=moves).bind(Data((as_samples(X),)), 3)
    M = problem.random_point(rng)
    centred = X - X.mean(axis=0)
    states = centred if given else (centred[1:] + centred[:-1]) / 2
    moves = moves if given else np.diff(X, axis=0)
    D = np.linalg.lstsq(states @ M, moves @ M, rcond=None)[0].T
    np.testing.assert_allclose(problem.parameters(M)["D"], D, rtol=1e-9)
    error = np.sum((moves - states @ M @ D.T @ M.T) ** 2)
    assert problem.reported(problem.at(M).value) == pytest.approx(error, rel=1e-10)


def test_result_shows_the_dynamics_and_not_the_data():
    X, _ = rotating(0)
    result = ldr.solve("dynamics", X, 2, derivatives=np.gradient(X, axis=0))
    text = repr(result)
    assert "\n  D            [[" in text
    assert len(text) < 1500


def residual(states, moves, M):
    D = np.linalg.lstsq(states @ M, moves @ M, rcond=None)[0]
    return np.sum((moves - states @ M @ D @ M.T) ** 2)


@pytest.mark.parametrize("weights", [None, np.array([1.0, 2.0, 0.5, 1.0, 3.0, 1.0])])
def test_derivatives_outside_the_span_of_few_rows_are_not_explained(weights):
    X, derivatives = np.random.default_rng(0).standard_normal((2, 6, 15))
    result = ldr.solve("dynamics", X, 2, derivatives=derivatives, sample_weight=weights)
    roots = np.sqrt(np.ones(6) if weights is None else weights)[:, None]
    centred = X - np.average(X, axis=0, weights=weights)
    expected = residual(roots * centred, roots * derivatives, result.M)
    assert result.value == pytest.approx(expected, rel=1e-10)


def test_the_bound_holds_for_directions_in_which_no_state_varies():
    """The means of successive entries of the second column are zero, and its changes are not."""
    t = np.arange(20)
    X = np.column_stack([0.5 * t, np.full(20, 100.0)]) * (-1.0) ** t[:, None]
    centred, M = X - X.mean(axis=0), np.array([[1e-4], [1.0]])
    better = residual((centred[1:] + centred[:-1]) / 2, np.diff(X, axis=0), M / np.linalg.norm(M))
    result = ldr.solve("dynamics", X, 1)
    assert result.value - result.certificate.gap <= better < result.value


def test_bad_arguments():
    X = real_data.stocks()
    with pytest.raises(DataError, match=r"derivatives has shape \(9, 2\)"):
        ldr.solve("dynamics", X, 2, derivatives=np.ones((9, 2)))
    with pytest.raises(DataError, match="derivatives has 1 NaN"):
        ldr.solve(
            "dynamics",
            X,
            2,
            derivatives=np.where(np.arange(X.size) == 3, np.nan, 1.0).reshape(X.shape),
        )


def test_skew_dynamics_are_the_best_of_the_skew_ones():
    X = real_data.stocks()
    problem = Dynamics(skew=True).bind(Data((as_samples(X),)), 3)
    M = problem.random_point(np.random.default_rng(0))
    centred = X - X.mean(axis=0)
    Y, moves = (centred[1:] + centred[:-1]) / 2 @ M, np.diff(X, axis=0)
    basis = []
    for i, j in ((0, 1), (0, 2), (1, 2)):
        E = np.zeros((3, 3))
        E[i, j], E[j, i] = 1.0, -1.0
        basis.append(E)
    columns = np.stack([(Y @ E.T).ravel() for E in basis], axis=1)
    weights = np.linalg.lstsq(columns, (moves @ M).ravel(), rcond=None)[0]
    D = sum(w * E for w, E in zip(weights, basis, strict=True))
    np.testing.assert_allclose(problem.parameters(M)["D"], D, rtol=1e-9, atol=1e-12)
    error = np.sum((moves - Y @ D.T @ M.T) ** 2)
    assert problem.reported(problem.at(M).value) == pytest.approx(error, rel=1e-10)
