"""Principal angles to the last digit, distances by their definitions, Procrustes."""

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from ldr import subspaces
from ldr.errors import ArgumentError, DataError
from ldr.solvers.manifolds import Stiefel

rng = np.random.default_rng(0)


def turned(angles, d=9, seed=0):
    """Bases of two subspaces with these principal angles."""
    r = len(angles)
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((d, d)))[0]
    A = Q[:, :r]
    return A, A * np.cos(angles) + Q[:, r : 2 * r] * np.sin(angles)


@given(st.lists(st.floats(-14, 0), min_size=1, max_size=4), st.integers(0, 50), st.booleans())
def test_angles_are_accurate_near_zero_and_near_a_right_angle(exponents, seed, complement):
    angles = np.sort(10.0 ** np.array(exponents))
    if complement:
        angles = np.sort(np.pi / 2 - angles)
    A, B = turned(angles, seed=seed)
    mix = np.random.default_rng(seed).standard_normal((2, len(angles), len(angles)))
    mix = np.linalg.qr(mix)[0]
    found = subspaces.principal_angles(A @ mix[0], B @ mix[1])
    np.testing.assert_allclose(found, angles, atol=3e-15)


def test_angles_are_those_of_scipy_in_ascending_order():
    A, B = rng.standard_normal((8, 3)), rng.standard_normal((8, 2))
    expected = scipy.linalg.subspace_angles(A, B)[::-1]
    np.testing.assert_allclose(subspaces.principal_angles(A, B), expected, atol=1e-14)
    np.testing.assert_allclose(subspaces.principal_angles(B, A), expected, atol=1e-14)


def test_bases_do_not_matter():
    A, B = rng.standard_normal((8, 3)), rng.standard_normal((8, 3))
    before = subspaces.principal_angles(A, B)
    after = subspaces.principal_angles(1e200 * A @ rng.standard_normal((3, 3)), B * [1e-90, 1, 1e9])
    np.testing.assert_allclose(after, before, rtol=1e-9)


def test_distances_are_what_they_say():
    A, B = Stiefel(8, 3).random_point(rng), Stiefel(8, 3).random_point(rng)
    projectors = A @ A.T - B @ B.T
    distance = subspaces.distance
    assert distance(A, B) == pytest.approx(np.linalg.norm(projectors) / np.sqrt(2))
    assert distance(A, B, "projection") == pytest.approx(np.linalg.norm(projectors, 2))
    angles = subspaces.principal_angles(A, B)
    assert distance(A, B, "geodesic") == pytest.approx(np.sqrt(np.sum(angles**2)))
    assert distance(A, B, "largest-angle") == angles[-1]
    assert distance(A, B, "procrustes") == pytest.approx(np.linalg.norm(A - subspaces.align(A, B)))


@pytest.mark.parametrize(
    "metric", ["chordal", "geodesic", "projection", "procrustes", "largest-angle"]
)
def test_distances_are_metrics(metric):
    A, B, C = (rng.standard_normal((6, 2)) for _ in range(3))
    ab, bc, ac = (subspaces.distance(*pair, metric) for pair in ((A, B), (B, C), (A, C)))
    assert ac <= ab + bc and ab == pytest.approx(subspaces.distance(B, A, metric))
    assert subspaces.distance(A, A @ rng.standard_normal((2, 2)), metric) < 1e-14


@pytest.mark.smoke
def test_align_is_the_orthogonal_procrustes_solution():
    A, B = rng.standard_normal((8, 3)), rng.standard_normal((8, 3))
    Q, _ = scipy.linalg.orthogonal_procrustes(B, A)
    np.testing.assert_allclose(subspaces.align(A, B), B @ Q, atol=1e-12)
    R = Stiefel(3, 3).random_point(rng)
    np.testing.assert_allclose(subspaces.align(A, A @ R), A, atol=1e-12)
    apart = subspaces.align(np.eye(4)[:, :2], np.eye(4)[:, 2:])
    np.testing.assert_allclose(apart.T @ apart, np.eye(2), atol=1e-14)


@pytest.mark.parametrize(
    ("A", "B", "message"),
    [
        (np.eye(3, 2), np.ones((3, 2)), r"^B, of shape \(3, 2\), has dependent columns"),
        (np.zeros((3, 1)), np.eye(3, 1), "dependent columns"),
        (np.eye(3, 2), np.eye(4, 2), "3 and 4 rows"),
        (np.ones(3), np.eye(3, 2), "expected a real matrix"),
        (np.full((3, 1), np.nan), np.eye(3, 1), "NaN"),
        (np.eye(2, 3), np.eye(2, 1), r"^A, of shape \(2, 3\), has dependent columns"),
        ([[1], [2, 3]], np.eye(2, 1), "could not be read"),
    ],
)
def test_what_spans_no_subspace_is_refused(A, B, message):
    with pytest.raises(DataError, match=message):
        subspaces.principal_angles(A, B)


def test_bad_distances():
    with pytest.raises(ArgumentError, match="metric must be one of 'chordal'"):
        subspaces.distance(np.eye(3, 2), np.eye(3, 2), "cosine")
    with pytest.raises(DataError, match="expected the same"):
        subspaces.distance(np.eye(3, 2), np.eye(3, 1))
    with pytest.raises(DataError, match="expected the same"):
        subspaces.align(np.eye(3, 2), np.eye(3, 1))
