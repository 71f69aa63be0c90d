"""Properties that every manifold must have, tested on each."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldr.errors import ArgumentError
from ldr.solvers import Euclidean, Grassmann, Product, Stiefel
from ldr.solvers.manifolds import polar_factor

MANIFOLDS = [
    Stiefel(7, 3),
    Stiefel(7, 3, retraction="qr"),
    Stiefel(5, 5),
    Stiefel(6, 1),
    Grassmann(7, 3),
    Grassmann(7, 3, retraction="qr"),
    Grassmann(6, 1),
    Euclidean(4, 2),
    Product(Stiefel(5, 2), Stiefel(4, 2, retraction="qr"), Euclidean(1)),
]


@pytest.fixture(params=MANIFOLDS, ids=str)
def manifold(request):
    return request.param


@pytest.fixture
def rng():
    return np.random.default_rng(1)


def test_random_points_are_on_the_manifold(manifold, rng):
    M = manifold.random_point(rng)
    assert M.shape == manifold.shape
    assert manifold.distance_from(M) < 1e-14


def test_projection_is_idempotent_and_self_adjoint(manifold, rng):
    M = manifold.random_point(rng)
    Z, W = rng.standard_normal((2, *manifold.shape))
    PZ, PW = manifold.project(M, Z), manifold.project(M, W)
    np.testing.assert_allclose(manifold.project(M, PZ), PZ, atol=1e-14)
    assert manifold.inner(M, PZ, W) == pytest.approx(manifold.inner(M, Z, PW), abs=1e-13)


def test_projection_takes_stacks(manifold, rng):
    M = manifold.random_point(rng)
    stack = rng.standard_normal((4, *manifold.shape))
    one_by_one = np.stack([manifold.project(M, Z) for Z in stack])
    np.testing.assert_allclose(manifold.project(M, stack), one_by_one, atol=1e-14)


def test_dimension_is_the_rank_of_the_projection(manifold, rng):
    M = manifold.random_point(rng)
    size = M.size
    columns = [manifold.project(M, e.reshape(M.shape)).ravel() for e in np.eye(size)]
    assert np.linalg.matrix_rank(np.array(columns), tol=1e-10) == manifold.dimension


def test_retraction_stays_on_the_manifold_after_many_large_steps(manifold, rng):
    M = manifold.random_point(rng)
    for _ in range(100):
        M = manifold.retract(M, 3.0 * manifold.random_tangent(M, rng))
        assert manifold.distance_from(M) < 1e-14


def test_retraction_is_the_identity_at_zero_and_tangent_to_V(manifold, rng):
    M = manifold.random_point(rng)
    V = manifold.random_tangent(M, rng)
    N, velocity = manifold.curve(M, V, 0.0)
    np.testing.assert_allclose(N, M, atol=1e-14)
    np.testing.assert_allclose(velocity, V, atol=1e-14)


def test_retraction_is_the_curve_at_one(manifold, rng):
    M = manifold.random_point(rng)
    V = manifold.random_tangent(M, rng)
    np.testing.assert_array_equal(manifold.retract(M, V), manifold.curve(M, V)[0])


def test_velocity_is_the_tangential_derivative_of_the_curve(manifold, rng):
    M = manifold.random_point(rng)
    V = manifold.random_tangent(M, rng)
    t, h = 0.7, 1e-5
    N, velocity = manifold.curve(M, V, t)
    difference = (manifold.curve(M, V, t + h)[0] - manifold.curve(M, V, t - h)[0]) / (2 * h)
    # On Grassmann the derivative of the basis also has a vertical part, which the subspace ignores.
    np.testing.assert_allclose(velocity, manifold.project(N, difference), atol=1e-9)
    np.testing.assert_allclose(manifold.project(N, velocity), velocity, atol=1e-14)


@pytest.mark.parametrize(
    ("manifold", "order"),
    [
        (Stiefel(7, 3), 3),
        (Grassmann(7, 3), 3),
        (Grassmann(7, 3, retraction="qr"), 3),
        (Stiefel(7, 3, retraction="qr"), 2),
    ],
    ids=str,
)
def test_order_of_the_retractions(manifold, order, rng):
    """The tangential part of the curve's acceleration vanishes for a second-order retraction."""
    M = manifold.random_point(rng)
    V = manifold.random_tangent(M, rng)

    def error(t):
        return np.linalg.norm(manifold.project(M, manifold.retract(M, t * V) - M - t * V))

    steps = np.array([1e-1, 1e-2, 1e-3])
    errors = np.array([error(t) for t in steps])
    slopes = np.diff(np.log10(errors)) / np.diff(np.log10(steps))
    assert slopes == pytest.approx(order, abs=0.1)


def test_product_splits_and_joins(rng):
    product = Product(Stiefel(5, 2), Euclidean(3, 4))
    M = product.random_point(rng)
    parts = product.split(M)
    assert [p.shape for p in parts] == [(5, 2), (3, 4)]
    assert all(np.shares_memory(p, M) for p in parts)
    np.testing.assert_array_equal(product.join(parts), M)


@settings(max_examples=50, deadline=None)
@given(
    d=st.integers(1, 30),
    r=st.integers(1, 8),
    scale=st.sampled_from([1e-100, 1e-8, 1.0, 1e8, 1e100]),
    spread=st.floats(0, 12),
    seed=st.integers(0, 2**31),
)
def test_polar_factor_is_orthonormal_and_nearest(d, r, scale, spread, seed):
    d = max(d, r)
    rng = np.random.default_rng(seed)
    U = np.linalg.qr(rng.standard_normal((d, r)))[0]
    W = np.linalg.qr(rng.standard_normal((r, r)))[0]
    s = np.logspace(0, -spread, r)
    Y = scale * (U * s) @ W.T
    N = polar_factor(Y)
    assert np.linalg.norm(N.T @ N - np.eye(r), 2) < 1e-14
    # tr(N'Y) of the polar factor is the sum of the singular values, the largest of any N.
    assert np.vdot(N, Y) / scale == pytest.approx(s.sum(), rel=1e-12)


def test_bad_sizes_are_refused():
    with pytest.raises(ArgumentError, match="1 <= r <= d = 3, got r = 4"):
        Stiefel(3, 4)
    with pytest.raises(ArgumentError, match="retraction must be one of polar, qr, got 'exp'"):
        Grassmann(3, 2, retraction="exp")
    with pytest.raises(ArgumentError, match="at least one factor"):
        Product()
    with pytest.raises(ArgumentError, match="at least 1"):
        Euclidean(0, 2)
