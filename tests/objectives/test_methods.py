"""Every spectral method: derivatives, invariance, closed form against generic solver, baseline."""

import dataclasses

import numpy as np
import pytest

import ldr.testing
from ldr.inputs import as_data, as_objective
from ldr.objectives.registry import REGISTRY, named
from ldr.testing import Case, derivatives_and_manifold_are_right
from tests.objectives.methods import ITERATIVE, OF_VIEWS, RANDOM, REAL, by_kind, class_of, name_of

MANIFOLDS = {"Gr": "grassmann", "St": "stiefel", "St x St": "stiefel", "R": "euclidean"}
# Further variables beside M: noise, a mean, an intercept.
BESIDE = {"exponential-family-pca": 1, "ppca": 1, "fa": 1, "ppca missing": 2, "fa missing": 2}
# f(MQ) differs from f(M): S is diagonal in one basis; a penalty, a fit, a source is of each column.
NOT_INVARIANT = {
    *("reduced-rank-regression", "least-squares", "ridge-regression", "lasso", "pls-regression"),
    *("ica", "uica", "sparse-pca", "sparse-lda", "sparse-cca", "foreca"),
    *("orthogonal-lda nested", "orthogonal-gcpca nested", "orthogonal-lpp nested"),
}
# No third-order error can be measured where the Hessian jumps.
JUMPS = ("lasso", "lmnn")


def declared(key):
    """The manifold of a problem, by the domain and the parameters of the method."""
    X, _, parameters = RANDOM[key]
    domain = class_of(key).domain
    of_a_view = "stiefel" if "nested" in parameters else MANIFOLDS[domain]
    blocks = [of_a_view] * (len(X) if domain == "St x St" else 1)
    return " x ".join(blocks + ["euclidean"] * BESIDE.get(key, 0))


# Matrices that are made in ways of their own.
OWN_WAYS = ("mds", "lpp", "opca", "sfa derivatives", "ssd", "xdawn")


@pytest.mark.parametrize("key", by_kind(RANDOM, also=OWN_WAYS))
def test_every_method(key):
    X, y, parameters = RANDOM[key]
    case = Case(named(name_of(key), **parameters), X, 2, y)
    for test in ldr.testing.OBJECTIVE:
        if test is not derivatives_and_manifold_are_right:  # of which more is said below
            test(case)


@pytest.mark.smoke
@pytest.mark.parametrize("key", RANDOM)
def test_derivatives_and_manifold(key):
    name = name_of(key)
    X, y, parameters = RANDOM[key]
    found = ldr.check(name, X, 2, y=y, random_state=1, **parameters)
    if name in JUMPS:
        assert found.gradient_slope == pytest.approx(2, abs=0.1) and found.symmetry_error < 1e-10
    else:
        assert found.passed, found
    assert found.implied_manifold == declared(key), found
    assert (found.invariance_error > 1e-6) == bool({key, name} & NOT_INVARIANT), found


def test_bound_problems_are_frozen():
    """Built, never patched: evaluations leave every field the object that it was."""
    for key, (X, y, parameters) in RANDOM.items():
        objective = as_objective(name_of(key), parameters)
        bound = objective.bind(as_data(objective, X, y), 2)
        with pytest.raises(dataclasses.FrozenInstanceError):
            bound.views = ()
        before = {field.name: getattr(bound, field.name) for field in dataclasses.fields(bound)}
        point = bound.at(bound.random_point(np.random.default_rng(0)))
        assert np.isfinite(point.gradient).all(), key
        assert all(getattr(bound, name) is value for name, value in before.items()), key


@pytest.mark.parametrize("key", REAL)
def test_never_worse_than_the_baseline_on_real_data(key):
    data, r = REAL[key]
    X, y, parameters = data()
    result = ldr.solve(name_of(key), X, r, y=y, **parameters)
    assert result.converged
    assert result.improvement >= -1e-12
    if name_of(key) in ITERATIVE or "missing" in key:
        # nca's optimum can lie at infinite scale: what is reached is a flat place on the way
        flat = ("saddle", "none", "global") if name_of(key) == "nca" else ()
        assert result.certificate.kind in ("local", "bound", *flat), result
    elif name_of(key) not in OF_VIEWS:
        constant_columns = any("M is restricted to its range" in note for note in result.notes)
        kinds = ("global", "restricted") if constant_columns else ("global",)
        assert result.certificate.kind in kinds, result
    Y = result.transform(X[0] if class_of(key).needs == ("background",) else X)
    for block in Y if isinstance(Y, tuple) else (Y,):
        assert block.shape[1] == r and np.isfinite(block).all()


@pytest.mark.parametrize("key", ["lasso", "lmnn", "lmnn linear"])
def test_hessians_that_jump_are_right_between_jumps(key):
    X, y, parameters = RANDOM[key]
    objective = as_objective(name_of(key), parameters)
    problem = objective.bind(as_data(objective, X, y), 2)
    rng = np.random.default_rng(0)
    M, V = (problem.random_point(rng) for _ in range(2))
    h = 1e-7
    difference = (problem.at(M + h * V).gradient - problem.at(M - h * V).gradient) / (2 * h)
    size = np.abs(difference).max()
    np.testing.assert_allclose(problem.at(M).hessian_vector(V), difference, atol=1e-5 * size)


@pytest.mark.parametrize(
    "key", by_kind(key for key in RANDOM if name_of(key) in ITERATIVE - {"fa"})
)
def test_all_dimensions_can_be_kept(key):
    """Where M is a subspace there is one point only; sources still can be turned."""
    X, y, parameters = RANDOM[key]
    d = min(view.shape[1] for view in X) if isinstance(X, tuple) else X.shape[1]
    result = ldr.solve(name_of(key), X, d, y=y, certify=False, **parameters)
    assert result.converged
    if declared(key).startswith("grassmann"):
        assert result.improvement == pytest.approx(0, abs=1e-9)


def test_the_registry_lists_every_method():
    listing = ldr.objectives.list()
    names = [entry.name for entry in listing]
    assert set(map(name_of, RANDOM)) == set(names) == set(REGISTRY)
    assert set(map(name_of, REAL)) == set(map(name_of, RANDOM))
    text = str(listing)
    for entry in listing:
        assert entry.name in text and entry.formula in text and entry.source in text
        assert entry.sense in ("min", "max") and entry.manifold in ("Gr", "St", "St x St", "R")
