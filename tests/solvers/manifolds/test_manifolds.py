"""Properties that every manifold must have, tested on each."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ldr.testing
from ldr.errors import ArgumentError
from ldr.solvers import Euclidean, Grassmann, Product, Stiefel
from ldr.solvers.manifolds import SparseEuclidean, SparseStiefel, polar_factor
from ldr.solvers.manifolds.manifold import sym
from ldr.solvers.manifolds.support import SymmetricEquations, on_support, with_zeros
from ldr.testing import retraction_stays_on_the_manifold_after_many_large_steps as retraction_stays

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
    SparseStiefel(np.array([[1.0, 0, 1, 1, 0, 1, 1], [1, 1, 0, 0, 1, 1, 1]]).T),
]


@pytest.fixture(params=MANIFOLDS, ids=lambda m: str(m).split("support")[0])
def manifold(request):
    return request.param


@pytest.fixture
def rng():
    return np.random.default_rng(1)


@pytest.mark.smoke
@pytest.mark.parametrize("test", ldr.testing.MANIFOLD, ids=lambda test: test.__name__)
def test_every_manifold(manifold, test):
    if isinstance(manifold, SparseStiefel) and test is retraction_stays:
        pytest.skip("its curves end: what a long step leads to is no point")
    test(manifold)


@dataclass(frozen=True)
class NotQuiteStiefel(Stiefel):
    """One property of each broken."""

    broken: str = ""

    def project(self, M, Z):
        return Z if self.broken == "project" else super().project(M, Z)

    def curve(self, M, V, t=1.0):
        N, velocity = super().curve(M, V, t)
        return (M + t * V if self.broken == "point" else N), (
            V if self.broken == "velocity" else velocity
        )

    def hessian(self, M, S, V, HV):
        return self.project(M, HV) if self.broken == "hessian" else super().hessian(M, S, V, HV)


@pytest.mark.parametrize("broken", ["project", "point", "velocity", "hessian"])
def test_what_is_broken_does_not_pass(broken):
    ldr.testing.check_manifold(NotQuiteStiefel(6, 2))
    with pytest.raises(AssertionError):
        ldr.testing.check_manifold(NotQuiteStiefel(6, 2, broken=broken))


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


def test_vectors_of_a_product_without_constraints_are_tangent_as_they_are(rng):
    product = Product(Euclidean(3, 4), Euclidean(2))
    M, Z = product.random_point(rng), product.random_point(rng)
    assert product.project(M, Z) is Z
    assert product.hessian(M, product.multiplier(M, Z), M, Z) is Z


def test_factors_with_fixed_zeros_are_a_constraint(rng):
    support = np.array([[1.0, 0.0], [0.0, 1.0]])
    product = Product(SparseEuclidean(2, 2, support=support), Euclidean(2))
    Z = np.ones(product.shape)
    expected = product.join([support, np.ones((2, 1))])
    np.testing.assert_array_equal(product.project(Z, Z), expected)
    np.testing.assert_array_equal(product.hessian(Z, [None, None], Z, Z), expected)


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


@pytest.mark.parametrize("singular", ["", "idle", "dependent"])
def test_multipliers_of_fixed_zeros_solve_their_equations(singular):
    """Against the equations written out, entry by entry; of least norm where they are singular."""
    rng = np.random.default_rng(3)
    support = (rng.random((12, 4)) < 0.6).astype(float)
    if singular == "idle":  # columns that share no row are orthogonal by themselves
        support[:, 0] *= np.arange(12) < 5
        support[:, 1] = np.arange(12) >= 5
    if singular == "dependent":  # columns of one row have one equation for three entries
        support[:, :2] = 0.0
        support[3] = 1.0
    M, R = support * rng.standard_normal((12, 4)), sym(rng.standard_normal((4, 4)))
    pairs = list(zip(*np.triu_indices(4), strict=True))
    basis = []
    for i, j in pairs:
        S = np.zeros((4, 4))
        S[i, j] = S[j, i] = 1.0 if i == j else np.sqrt(0.5)
        basis.append(S)
    image = [sym(M.T @ (support * (M @ S))) for S in basis]
    matrix = np.array([[np.vdot(S, T) for T in image] for S in basis])
    expected = np.linalg.pinv(matrix, rcond=1e-10) @ [np.vdot(S, R) for S in basis]
    found = SymmetricEquations(M, M, support).solve(R)
    np.testing.assert_allclose(found, np.tensordot(expected, basis, axes=1), atol=1e-11)


def test_equations_that_are_not_symmetric_or_not_finite():
    rng = np.random.default_rng(0)
    A, B, R = *rng.standard_normal((2, 5, 3)), sym(rng.standard_normal((3, 3)))
    A[:, 2] = A[:, 1]
    D = np.ones((5, 3))
    found = SymmetricEquations(A, B, D).solve(R)
    residual = sym(A.T @ (B @ found)) - R
    for step in map(sym, rng.standard_normal((9, 3, 3))):  # least squares
        assert abs(np.vdot(residual, sym(A.T @ (B @ step)))) < 1e-12
    assert np.isnan(SymmetricEquations(np.nan * A, B, D).solve(R)).all()
    assert np.isnan(SymmetricEquations(A, B, D).solve(np.nan * R)).all()


def test_zeros_that_leave_no_point(rng):
    with pytest.raises(ArgumentError, match="no orthonormal matrix with the prescribed zero"):
        SparseStiefel(np.array([[1.0, 1.0], [0.0, 0.0]])).random_point(rng)
    assert with_zeros(np.eye(3, 2) * [1.0, 0.0], np.ones((3, 2))) is None
    with pytest.raises(ArgumentError, match=r"the manifold .* does not support prescribed zero"):
        on_support(object(), np.ones((3, 2)))


def test_retractions_onto_a_support_are_orthonormal(rng):
    manifold = SparseStiefel((rng.random((12, 3)) < 0.7).astype(float))
    M = manifold.random_point(rng)
    for size in (1e-1, 1e-2, 1e-3):
        R = manifold.retract(M, size * manifold.random_tangent(M, rng))
        np.testing.assert_allclose(R.T @ R, np.eye(3), atol=1e-14)
