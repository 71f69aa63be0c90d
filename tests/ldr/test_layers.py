"""Optima in jax: derivatives against those along directions, and against differences."""

import numpy as np
import pytest

import ldr
from ldr.errors import ArgumentError, DataError
from ldr.objectives import REGISTRY
from ldr.objectives.data.data import as_tuple
from ldr.sensitivity.equations import Given, equations, moved, regular, statement_of
from ldr.sensitivity.rule import compile_quickly
from tests.ldr.test_sensitivity import inner, like
from tests.objectives import methods

jax = pytest.importorskip("jax")
pytestmark = pytest.mark.filterwarnings("ignore")

FORMULAS = [
    key
    for key, (X, y, parameters) in methods.RANDOM.items()
    if statement_of(methods.class_of(key)(**parameters), Given(as_tuple(X), y), 2) is not None
]

# Those that have a statement each of their own.
STATED = (
    *("log-det-pca", "sfa", "orthogonal-maf", "orthogonal-lda", "spoc", "tica", "npe classes"),
    "cca",
)


@pytest.fixture(autouse=True)
def in_float64():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)  # callbacks run in threads of their own
    yield
    jax.config.update("jax_enable_x64", before)


def check_formula(key):
    """Two derivations, one of Hessian products and one of equations in jax."""
    X, y, parameters = methods.RANDOM[key]
    rng = np.random.default_rng(0)
    objective = REGISTRY[methods.name_of(key)](**parameters)
    project = ldr.layer(objective, 2, tolerance=1e-13)
    dX = like(X, rng)
    _, dP = jax.jvp(lambda X: project(X, y), (X,), (dX,))
    result = ldr.solve(objective, X, 2, y=y, tolerance=1e-13)
    sensitivity = result.sensitivity(X, y)
    for found, expected in zip(as_tuple(dP), as_tuple(sensitivity.along(dX).P), strict=True):
        assert np.abs(found - expected).max() < 1e-8 * np.abs(expected).max()
    return project, X, sensitivity, dX, dP


def check_adjoint(sensitivity, dX, dP):
    cotangent = like(dP, np.random.default_rng(1))
    assert inner(sensitivity.pullback(cotangent), dX) == pytest.approx(inner(cotangent, dP))
    return cotangent


def test_pca():
    check_formula("pca")


@pytest.mark.parametrize("key", STATED)
def test_equations_vanish_at_the_optimum_alone(key):
    X, y, parameters = methods.RANDOM[key]
    result = ldr.solve(methods.name_of(key), X, 2, y=y, tolerance=1e-13, **parameters)
    optimum = result.sensitivity(X, y).optimum
    given = Given([jax.numpy.asarray(each) for each in as_tuple(X)], y)
    stated = statement_of(result.objective, given, 2)
    T = [P.T for P in optimum.problem.maps(optimum.M)]
    left_over = jax.jit(lambda T, X: equations(stated, T, X), **compile_quickly())
    for away, small in ((0.0, True), (1e-3, False)):
        near = [each + away * np.abs(each).max() * np.tri(*each.shape) for each in T]
        left = np.concatenate([np.ravel(each) for each in left_over(near, given.X)])
        assert bool(np.abs(left).max() < 1e-9) is small


def test_views_that_are_white_together_have_no_formula():
    assert statement_of(REGISTRY["mcca"](), Given(methods.THREE_VIEWS), 2) is None


def test_equations_that_do_not_determine_an_optimum_are_refused():
    flat, bowl = (
        ldr.objective(function, manifold="euclidean")
        for function in (lambda M, X: 0.0 * (X @ M).sum(), lambda M, X: ((X @ M - 1.0) ** 2).sum())
    )
    T = np.ones((methods.X.shape[1], 2))

    def of(objective):
        known = lambda X: moved(objective, [T], Given([X]), Given([X]))[1:]  # noqa: E731
        return regular(*jax.jit(known, **compile_quickly())(methods.X), [T])

    assert not of(flat)
    with pytest.raises(DataError, match="the derivative of the optimum cannot be computed"):
        of(bowl)


@pytest.mark.slow
def test_compiled_batched_and_twice():
    project, X, sensitivity, dX, dP = check_formula("pca")
    cotangent = check_adjoint(sensitivity, dX, dP)
    gradient = jax.jit(jax.grad(lambda X: (project(X) * cotangent).sum()))
    both = np.stack([X, X + 0.1 * dX])
    batched = jax.vmap(gradient)(both)
    assert inner(batched[0], dX) == pytest.approx(inner(cotangent, dP))
    np.testing.assert_allclose(batched[1], gradient(both[1]), rtol=1e-10)
    again = jax.jvp(gradient, (X,), (dX,))[1]
    ahead, behind = (gradient(X + t * dX) for t in (1e-4, -1e-4))
    np.testing.assert_allclose(again, (ahead - behind) / 2e-4, atol=1e-6 * np.abs(again).max())


@pytest.mark.slow
@pytest.mark.parametrize("key", [key for key in FORMULAS if key != "pca"])
def test_every_formula(key):
    _, _, *known = check_formula(key)
    check_adjoint(*known)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["orthogonal-lda", "lda", "orthogonal-cca", "cca", "opca"])
def test_ridges_have_derivatives(name):
    X, y, _ = methods.RANDOM[name]
    project = ldr.layer(name, 2, tolerance=1e-13)
    cotangent = like(project(X, y, ridge=0.1), np.random.default_rng(0))

    def loss(ridge):
        found = zip(as_tuple(project(X, y, ridge=ridge)), as_tuple(cotangent), strict=True)
        return sum((P * V).sum() for P, V in found)

    ahead, behind = (float(loss(0.1 + t)) for t in (1e-4, -1e-4))
    assert float(jax.grad(loss)(0.1)) == pytest.approx((ahead - behind) / 2e-4, rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("manifold", ["grassmann", "stiefel"])
def test_ones_own_objectives(manifold):
    def function(M, X):
        if manifold == "grassmann":
            return jax.numpy.log1p(((X @ M) ** 2).sum(axis=1)).sum()
        return ((X @ M) ** 2).sum(axis=0) @ jax.numpy.array([2.0, 1.0])

    objective = ldr.objective(function, manifold=manifold, sense="max")
    X = methods.RANDOM["pca"][0]
    start = ldr.solve(objective, X, 2, start="random", random_state=0, tolerance=1e-13).M
    project = ldr.layer(objective, 2, start=start, tolerance=1e-13)
    rng = np.random.default_rng(0)
    dX, cotangent = like(X, rng), like(start.T, rng)

    def loss(X):
        return (project(X) * cotangent).sum()

    ahead, behind = (float(loss(X + t * dX)) for t in (1e-4, -1e-4))
    assert inner(jax.grad(loss)(X), dX) == pytest.approx((ahead - behind) / 2e-4, rel=1e-5)


def test_a_basis_of_the_optimum_has_no_formula_but_derivatives():
    X, y, _ = methods.RANDOM["orthogonal-lda"]
    dX = like(X, np.random.default_rng(0))
    dP = jax.jvp(lambda X: ldr.layer("orthogonal-lda", 2, nested=True)(X, y), (X,), (dX,))[1]
    result = ldr.solve("orthogonal-lda", X, 2, y=y, nested=True)
    np.testing.assert_allclose(dP, result.sensitivity(X, y).along(dX).P, rtol=1e-8, atol=1e-10)


def test_methods_without_a_formula_go_both_ways():
    X, y, _ = methods.RANDOM["csp"]
    dX = like(X, np.random.default_rng(0))
    project = ldr.layer("csp", 2)
    dP = jax.jvp(lambda X: project(X, y), (X,), (dX,))[1]
    result = ldr.solve("csp", X, 2, y=y)
    np.testing.assert_allclose(dP, result.sensitivity(X, y).along(dX).P, rtol=1e-8, atol=1e-10)

    def loss(X, ridge):
        return (project(X, y, ridge=ridge) ** 3).sum()

    slopes = jax.jit(jax.grad(loss, argnums=(0, 1)))
    of_X, of_ridge = slopes(X, 0.1)
    ahead, behind = (float(loss(X + t * dX, 0.1)) for t in (1e-5, -1e-5))
    assert inner(of_X, dX) == pytest.approx((ahead - behind) / 2e-5, rel=1e-6)
    batched, _ = jax.vmap(slopes, (0, None))(np.stack([X, X + 0.1 * dX]), 0.1)
    np.testing.assert_allclose(batched[0], of_X, rtol=1e-10)
    ahead, behind = (float(loss(X, 0.1 + t)) for t in (1e-5, -1e-5))
    assert float(of_ridge) == pytest.approx((ahead - behind) / 2e-5, rel=1e-6)
    assert np.isnan(slopes(X, 0.0)[1])  # there is a derivative to one side only


def test_methods_by_differences_say_so_backwards():
    X, y, _ = methods.RANDOM["orthogonal-lda"]
    project = ldr.layer(0.5 * ldr.normalised("pca") + ldr.objectives.OrthogonalLDA(), 2)
    with pytest.raises(Exception, match=r"only along given directions.*`jax.jvp`"):
        jax.grad(lambda X: project(X, y)[0, 0])(X).block_until_ready()


@pytest.mark.parametrize("function", ["csp", "weighted"])
def test_second_derivatives_without_a_formula_are_refused_in_words(function):
    X, y, _ = methods.RANDOM["csp"]
    weighted = ldr.layer("pca", 2, sample_weight=np.linspace(1.0, 2.0, len(X)))
    project = {"csp": lambda X: ldr.layer("csp", 2)(X, y), "weighted": weighted}[function]

    def slope(X):
        return (jax.grad(lambda X: (project(X) ** 3).sum())(X) ** 2).sum()

    for wrap in (lambda f: f, jax.jit):
        with pytest.raises(ArgumentError, match="has first derivatives only"):
            wrap(jax.grad(slope))(X)


def test_what_is_refused_within_is_not_an_error_of_jax():
    X, y, _ = methods.RANDOM["orthogonal-lda"]
    pca, lda, sparse = (ldr.layer(name, 2) for name in ("pca", "orthogonal-lda", "sparse-pca"))
    gaps = np.where(X == X[0, 0], np.nan, X)
    for function in (pca, jax.grad(lambda X: pca(X)[0, 0])):
        with pytest.raises(DataError, match="X has 1 NaN"):
            function(gaps)
    with pytest.raises(DataError, match="single class"):
        lda(X, np.zeros(len(X), dtype=int))
    with pytest.raises(ArgumentError, match="ridge must be"):
        lda(X, y, ridge=-1.0)
    with pytest.raises(ArgumentError, match="nonsmooth penalty"):
        jax.grad(lambda X: sparse(X)[0, 0])(X)
    with pytest.raises(Exception, match="X has 1 NaN"):  # of jax
        jax.jit(pca)(gaps).block_until_ready()


def test_rows_that_count_differently_and_weights_of_a_sum():
    X, y, _ = methods.RANDOM["orthogonal-lda"]
    dX, w = like(X, np.random.default_rng(0)), np.linspace(1.0, 2.0, len(X))
    counted = ldr.layer("orthogonal-lda", 2, ridge=0.1, sample_weight=w, tolerance=1e-13)
    both = ldr.layer(
        0.5 * ldr.objectives.PCA() + ldr.objectives.OrthogonalLDA(), 2, tolerance=1e-13
    )
    for function, at, move in (
        (lambda X: (counted(X, y) ** 3).sum(), X, dX),
        (lambda v: (both(X, y, weights=v) ** 3).sum(), np.array([0.5, 1.0]), np.array([1.0, -2.0])),
    ):
        ahead, behind = (float(function(at + t * move)) for t in (1e-4, -1e-4))
        found = inner(jax.grad(function)(at), move)
        assert found == pytest.approx((ahead - behind) / 2e-4, rel=1e-5)


@pytest.mark.parametrize("name", ["pca", "lda"])
def test_batches_are_solved_together(name, monkeypatch):
    X, y, _ = methods.RANDOM[name]
    both = np.stack([X, X[:, ::-1]])
    expected = [ldr.solve(name, each, 2, y=y).P for each in both]
    monkeypatch.setattr("ldr.layers.solve", None)  # not one by one
    project = ldr.layer(name, 2)
    found = jax.vmap(lambda X: project(X, y))(both)
    np.testing.assert_allclose(found, expected, atol=1e-10)


def test_batches_of_numbers_are_solved_one_by_one():
    X, y, _ = methods.RANDOM["lda"]
    project, ridges = ldr.layer("lda", 2), np.array([0.1, 1.0])
    found = jax.vmap(lambda ridge: project(X, y, ridge=ridge))(ridges)
    expected = [ldr.solve("lda", X, 2, y=y, ridge=float(ridge)).P for ridge in ridges]
    np.testing.assert_allclose(found, expected, atol=1e-10)


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit])
def test_other_shapes_are_refused_in_words(wrap):
    X, y, _ = methods.RANDOM["orthogonal-lda"]
    with pytest.raises(DataError, match=r"X must be 2-D"):
        wrap(ldr.layer("pca", 2))(X[0])
    with pytest.raises(DataError, match=r"X must be a pair of arrays"):
        wrap(ldr.layer("orthogonal-cca", 2))(X)
    with pytest.raises(ArgumentError, match="r = 8 is out of range: expected 1 <= r <= d = 7"):
        wrap(ldr.layer("pca", 8))(X)
    with pytest.raises(ArgumentError, match="'pca' has no parameter 'tolerence'"):
        ldr.layer("pca", 2, tolerence=1e-3)
    with pytest.raises(ArgumentError, match="r = 8 is out of range: expected 1 <= r <= d = 7"):
        wrap(ldr.layer("pca", 8))(X.tolist())
    with pytest.raises(ArgumentError, match="'orthogonal-lda' needs labels"):
        wrap(ldr.layer("orthogonal-lda", 2))(X)
    with pytest.raises(DataError, match=r"y has shape \(5,\)"):
        wrap(ldr.layer("orthogonal-lda", 2))(X, y[:5])


@pytest.mark.parametrize("weighted", [pytest.param(False, marks=pytest.mark.slow), True])
def test_projectors_have_derivatives_where_components_tie(weighted):
    rng = np.random.default_rng(0)
    ones = np.hstack([np.ones((40, 1)), rng.standard_normal((40, 4))])
    X = np.sqrt(40) * np.linalg.qr(ones)[0][:, 1:] * np.sqrt([3, 3, 2, 1])
    dX, C = like(X, rng), rng.standard_normal((4, 4))
    sensitivity = ldr.solve("pca", X, 2).sensitivity(X)
    expected = sensitivity.along(dX).projector
    marks = {"sample_weight": np.ones(40)} if weighted else {}
    project = ldr.layer("pca", 2, projector=True, **marks)
    np.testing.assert_allclose(project(X), np.diag([1.0, 1, 0, 0]), atol=1e-12)
    np.testing.assert_allclose(jax.jvp(project, (X,), (dX,))[1], expected, atol=1e-12)
    slope = jax.grad(lambda X: (project(X) * C).sum())
    if weighted:  # which has first derivatives only
        assert inner(slope(X), dX) == pytest.approx(inner(expected, C))
        return
    both = jax.jit(lambda X: jax.jvp(slope, (X,), (dX,)), **compile_quickly())
    (found, again), (ahead, _), (behind, _) = (both(X + t * dX) for t in (0.0, 1e-4, -1e-4))
    assert inner(found, dX) == pytest.approx(inner(expected, C))
    np.testing.assert_allclose(again, (ahead - behind) / 2e-4, atol=1e-6)
