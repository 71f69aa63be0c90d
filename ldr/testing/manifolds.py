"""Properties that every manifold must have."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from ldr.solvers.manifolds import Array, Manifold

# On the manifold to this is as good as rounding allows.
_ON = 1e-14
# Of differences of second order with this step, relative to what they are of.
_STEP = 1e-5
_DIFFERENCED = 1e-8


def _tangent(manifold: Manifold) -> tuple[np.random.Generator, Array, Array]:
    """A generator, and a point and a unit tangent vector that it gave."""
    rng = np.random.default_rng(1)
    M = manifold.random_point(rng)
    return rng, M, manifold.random_tangent(M, rng)


def random_points_are_on_the_manifold(manifold: Manifold) -> None:
    _, M, _ = _tangent(manifold)
    assert M.shape == manifold.shape and M.dtype == np.float64
    assert manifold.distance_from(M) < _ON


def projection_is_idempotent_and_self_adjoint(manifold: Manifold) -> None:
    rng, M, _ = _tangent(manifold)
    Z, W = rng.standard_normal((2, *manifold.shape))
    PZ, PW = manifold.project(M, Z), manifold.project(M, W)
    assert_allclose(manifold.project(M, PZ), PZ, atol=_ON)
    assert_allclose(manifold.inner(M, PZ, W), manifold.inner(M, Z, PW), atol=10 * _ON)


def projection_takes_stacks(manifold: Manifold) -> None:
    rng, M, _ = _tangent(manifold)
    stack = rng.standard_normal((4, *manifold.shape))
    one_by_one = np.stack([manifold.project(M, Z) for Z in stack])
    assert_allclose(manifold.project(M, stack), one_by_one, atol=_ON)


def dimension_is_the_rank_of_the_projection(manifold: Manifold) -> None:
    _, M, _ = _tangent(manifold)
    columns = [manifold.project(M, e.reshape(M.shape)).ravel() for e in np.eye(M.size)]
    assert np.linalg.matrix_rank(np.array(columns), tol=1e-10) == manifold.dimension


def nearest_point_is_on_the_manifold_and_leaves_points_alone(manifold: Manifold) -> None:
    rng, M, _ = _tangent(manifold)
    assert_allclose(manifold.nearest(M), M, atol=_ON)
    assert manifold.distance_from(manifold.nearest(M + 0.1 * rng.standard_normal(M.shape))) < _ON


def retraction_stays_on_the_manifold_after_many_large_steps(manifold: Manifold) -> None:
    rng, M, _ = _tangent(manifold)
    for _ in range(100):
        M = manifold.retract(M, 3.0 * manifold.random_tangent(M, rng))
        assert manifold.distance_from(M) < _ON


def retraction_is_the_curve_at_one(manifold: Manifold) -> None:
    _, M, V = _tangent(manifold)
    assert_array_equal(manifold.retract(M, V), manifold.curve(M, V)[0])


def curve_leaves_its_point_along_its_vector(manifold: Manifold) -> None:
    _, M, V = _tangent(manifold)
    N, velocity = manifold.curve(M, V, 0.0)
    assert_allclose(N, M, atol=_ON)
    assert_allclose(velocity, V, atol=_ON)


def velocity_is_the_tangential_derivative_of_the_curve(manifold: Manifold) -> None:
    _, M, V = _tangent(manifold)
    t = 0.7
    N, velocity = manifold.curve(M, V, t)
    ends = [manifold.curve(M, V, t + h)[0] for h in (_STEP, -_STEP)]
    difference = (ends[0] - ends[1]) / (2 * _STEP)
    # Of a quotient the derivative of the representative also has a part that does not matter.
    assert_allclose(velocity, manifold.project(N, difference), atol=_DIFFERENCED)
    assert_allclose(manifold.project(N, velocity), velocity, atol=_ON)


def transport_gives_tangent_vectors(manifold: Manifold) -> None:
    _, M, V = _tangent(manifold)
    N = manifold.retract(M, V)
    carried = manifold.transport(M, N, V)
    assert_allclose(manifold.project(N, carried), carried, atol=_ON)
    assert_allclose(manifold.transport(M, M, V), V, atol=_ON)


def hessian_is_the_derivative_of_the_gradient(manifold: Manifold) -> None:
    """Of tr(M'AM)/2: P_M(d/dt grad f(R_M(tV))) at t = 0, and symmetric on the tangent space."""
    rng, M, V = _tangent(manifold)
    A = _symmetric(manifold, rng)

    def gradient(N: Array) -> Array:
        return manifold.gradient(N, _times(manifold, A, N))

    ends = [gradient(manifold.curve(M, V, h)[0]) for h in (_STEP, -_STEP)]
    S = manifold.multiplier(M, _times(manifold, A, M))

    def hessian(U: Array) -> Array:
        return manifold.hessian(M, S, U, _times(manifold, A, U))

    difference = manifold.project(M, (ends[0] - ends[1]) / (2 * _STEP))
    assert_allclose(hessian(V), difference, atol=10 * _DIFFERENCED)
    U = manifold.random_tangent(M, rng)
    assert_allclose(manifold.inner(M, U, hessian(V)), manifold.inner(M, hessian(U), V), atol=1e-12)


def _symmetric(manifold: Manifold, rng: np.random.Generator) -> list[Array]:
    """A random symmetric matrix for the rows of each factor."""
    squares = [rng.standard_normal((factor.shape[0],) * 2) for factor in manifold.factors]
    return [0.5 * (A + A.T) for A in squares]


def _times(manifold: Manifold, A: list[Array], M: Array) -> Array:
    return manifold.join([B @ m for B, m in zip(A, manifold.split(M), strict=True)])


MANIFOLD = (
    random_points_are_on_the_manifold,
    projection_is_idempotent_and_self_adjoint,
    projection_takes_stacks,
    dimension_is_the_rank_of_the_projection,
    nearest_point_is_on_the_manifold_and_leaves_points_alone,
    retraction_stays_on_the_manifold_after_many_large_steps,
    retraction_is_the_curve_at_one,
    curve_leaves_its_point_along_its_vector,
    velocity_is_the_tangential_derivative_of_the_curve,
    transport_gives_tangent_vectors,
    hessian_is_the_derivative_of_the_gradient,
)


def check_manifold(manifold: Manifold) -> None:
    """Test a manifold of one's own against what solvers ask of it.

    Parameters
    ----------
    manifold : Manifold
        Small: its dimension is found by projecting every unit matrix.

    Raises
    ------
    AssertionError
        A property does not hold; the traceback names it.

    Examples
    --------
    >>> import ldr.testing
    >>> from ldr.solvers import Stiefel
    >>> ldr.testing.check_manifold(Stiefel(5, 2))
    """
    for test in MANIFOLD:
        test(manifold)
