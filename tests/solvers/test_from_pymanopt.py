"""Problems written for pymanopt: its examples that fit, POT's as it calls them, what does not."""

from types import SimpleNamespace

import autograd.numpy as anp
import numpy as np
import pytest

from ldr.errors import ArgumentError
from ldr.solvers import Run, Stopping, from_pymanopt
from ldr.solvers.manifolds import polar_factor
from ldr.solvers.pymanopt import _import_pymanopt

pymanopt = _import_pymanopt()
kinds = pymanopt.manifolds
by_numpy, by_autograd, by_jax = (
    getattr(pymanopt.function, name) for name in ("numpy", "autograd", "jax")
)
rng = np.random.default_rng(0)
A = rng.standard_normal((8, 8))
A = A + A.T
X = rng.standard_normal((40, 6)) * np.linspace(3, 1, 6)


@pytest.fixture(autouse=True)
def drawn_alike():
    """pymanopt draws the points that runs begin at from NumPy's global generator."""
    np.random.seed(0)  # noqa: NPY002


def solved(problem, point=None, peer="TrustRegions", **options):
    """The end, which is stationary and no worse than that of theirs from the same start."""
    start = problem.manifold.random_point() if point is None else point
    run = from_pymanopt(problem, start, **options)
    assert isinstance(run, Run)
    assert run.status.converged
    assert float(problem.cost(run.point)) == run.value
    if peer is not None:
        optimizer = getattr(pymanopt.optimizers, peer)(verbosity=0)
        theirs = optimizer.run(problem, initial_point=start)
        assert run.value <= theirs.cost + 1e-9 * abs(theirs.cost)
    return run


def subspace(wrap, **derivatives):
    """The dominant invariant subspace: max tr(U'AU)."""
    manifold = kinds.Grassmann(8, 3)
    given = {name: by_numpy(manifold)(f) for name, f in derivatives.items()}

    @wrap(manifold)
    def cost(U):
        return -(U * (A @ U)).sum()

    return pymanopt.Problem(manifold, cost, **given)


def gradient(U):
    return -2 * A @ U


def tangent(U, Z):
    return Z - U @ (U.T @ Z)


@pytest.mark.parametrize(
    ("wrap", "derivatives", "products"),
    [
        (by_autograd, {}, True),
        pytest.param(by_jax, {}, True, marks=pytest.mark.slow),  # every operation by itself
        (by_numpy, {"euclidean_gradient": gradient}, False),
        (
            by_numpy,
            {"euclidean_gradient": gradient, "euclidean_hessian": lambda U, V: -2 * A @ V},
            True,
        ),
        (
            by_numpy,
            {
                "riemannian_gradient": lambda U: tangent(U, gradient(U)),
                "riemannian_hessian": lambda U, V: tangent(U, 2 * V @ (U.T @ A @ U) - 2 * A @ V),
            },
            True,
        ),
        (
            by_numpy,
            {
                "euclidean_gradient": gradient,
                "riemannian_hessian": lambda U, V: tangent(U, 2 * V @ (U.T @ A @ U) - 2 * A @ V),
            },
            True,
        ),
    ],
)
def test_dominant_invariant_subspace(wrap, derivatives, products):
    problem = subspace(wrap, **derivatives)
    run = solved(problem, peer="TrustRegions" if products else "ConjugateGradient")
    assert run.value == pytest.approx(-np.linalg.eigvalsh(A)[-3:].sum(), rel=1e-12)
    assert run.point.shape == (8, 3)
    # Products that are differences take two gradients each.
    assert (run.evaluations["gradient"] >= 2 * run.evaluations["hessian"]) is not products


def test_dominant_eigenvector():
    manifold = kinds.Sphere(8)

    @by_autograd(manifold)
    def cost(x):
        return -anp.inner(x, anp.dot(A, x))

    run = solved(pymanopt.Problem(manifold, cost), solver="lbfgs")
    assert run.value == pytest.approx(-np.linalg.eigvalsh(A)[-1], rel=1e-12)
    assert run.point.shape == (8,)


def test_low_rank_approximation():
    """X by U diag(s) V', on a product."""
    manifold = kinds.Product([kinds.Stiefel(40, 2), kinds.Euclidean(2), kinds.Stiefel(6, 2)])

    @by_autograd(manifold)
    def cost(U, s, V):
        return anp.sum((X - anp.dot(U * s, V.T)) ** 2)

    run = solved(pymanopt.Problem(manifold, cost))
    assert run.value == pytest.approx((np.linalg.svd(X)[1][2:] ** 2).sum(), rel=1e-12)
    assert [part.shape for part in run.point] == [(40, 2), (2,), (6, 2)]


def test_rotations_that_align_clouds_of_points():
    """A power of the Stiefel manifold: three orthogonal matrices that turn B into C."""
    manifold = kinds.Stiefel(3, 3, k=3)
    B, C = rng.standard_normal((2, 3, 3, 10))

    @by_autograd(manifold)
    def cost(Q):
        return anp.sum((anp.matmul(Q, B) - C) ** 2)

    products = [c @ b.T for b, c in zip(B, C, strict=True)]
    noise = 0.1 * rng.standard_normal((3, 3))  # near the optimum: there are others
    start = np.array([polar_factor(P + noise) for P in products])
    run = solved(pymanopt.Problem(manifold, cost), start)
    nuclear = sum(np.linalg.norm(P, "nuc") for P in products)
    assert run.value == pytest.approx((B**2).sum() + (C**2).sum() - 2 * nuclear, rel=1e-12)


def test_observers_and_stopping():
    seen = []
    run = from_pymanopt(
        subspace(by_autograd), stopping=Stopping(max_iterations=1), observers=[seen.append]
    )
    assert run.iterations == 1
    assert len(seen) == 2


def test_wda_of_pot():
    """As POT calls an optimiser that it is handed."""
    dr = pytest.importorskip("ot.dr", reason="POT is not installed: nothing of it was solved")
    from sklearn.datasets import load_iris

    Z, y = load_iris(return_X_y=True)
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    Z, y = Z[::10], y[::10]
    P0 = np.linalg.qr(rng.standard_normal((4, 2)))[0]
    ends = {}

    def optimiser(name, run):
        def kept(problem, initial_point=None):
            found = run(problem, initial_point=initial_point)
            ends[name] = float(problem.cost(found.point))
            return found

        return SimpleNamespace(run=kept)

    theirs = pymanopt.optimizers.ConjugateGradient(verbosity=0, max_iterations=100)
    dr.wda(Z, y, 2, reg=1.0, k=2, solver=optimiser("theirs", theirs.run), P0=P0)
    P, _ = dr.wda(Z, y, 2, reg=1.0, k=2, solver=optimiser("ours", from_pymanopt), P0=P0)
    assert P.shape == (4, 2)
    assert ends["ours"] <= ends["theirs"] * (1 + 1e-9)


@pytest.mark.parametrize(
    ("manifold", "words"),
    [
        (
            kinds.Oblique(4, 3),
            "Oblique.* no counterpart in ldr, expected Stiefel, Grassmann, Sphere",
        ),
        (kinds.FixedRankEmbedded(4, 4, 2), "no counterpart in ldr"),
        (kinds.Product([kinds.Euclidean(2), kinds.SymmetricPositiveDefinite(2)]), "definite"),
    ],
)
def test_manifolds_that_do_not_fit(manifold, words):
    problem = pymanopt.Problem(manifold, by_numpy(manifold)(lambda *M: 0.0))
    with pytest.raises(ArgumentError, match=words):
        from_pymanopt(problem)


def test_what_else_does_not_fit():
    with pytest.raises(ArgumentError, match=r"expected a pymanopt\.Problem, got list"):
        from_pymanopt([])
    with pytest.raises(ArgumentError, match=r"wrong shape \(8, 2\) for the manifold"):
        from_pymanopt(subspace(by_autograd), np.eye(8)[:, :2])
    with pytest.raises(ArgumentError, match=r"has shape \(8,\), expected an n x p"):
        from_pymanopt(subspace(by_autograd), np.ones(8))
    pair = kinds.Product([kinds.Euclidean(2), kinds.Euclidean(3)])
    with pytest.raises(ArgumentError, match="initial_point has 1 arrays, expected one per factor"):
        from_pymanopt(pymanopt.Problem(pair, by_numpy(pair)(lambda *M: 0.0)), [np.ones(2)])
    with pytest.raises(ArgumentError, match="has no gradient"):
        from_pymanopt(subspace(by_numpy))
