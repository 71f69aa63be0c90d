"""Derivatives of optima, against differences of solutions and against formulas."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import pdist, squareform
from scipy.stats import spearmanr
from sklearn.datasets import load_diabetes

import ldr
from ldr.errors import ArgumentError, DataError, SingularError
from ldr.objectives import (
    HSIC,
    PCA,
    REGISTRY,
    Autocovariance,
    OrthogonalCCA,
    OrthogonalLDA,
    RobustPCA,
    SquaredDifference,
)
from ldr.objectives.data.accelerator import float64
from ldr.objectives.data.data import as_tuple, single
from ldr.objectives.data.opening import as_samples
from ldr.objectives.graphs import HeatedEdges
from ldr.objectives.slices import sliced
from ldr.sensitivity.derivative import Derivative, Line, as_line
from ldr.sensitivity.forms import Heated, RowForms, trace
from ldr.sensitivity.rule import compile_quickly, computed
from ldr.trial_layout import Trials
from tests import real_data
from tests.objectives import methods

# Optima that are not alone: probabilities saturate, as the scale of P grows (no curvature is above
# 1e-8 of the value); one direction of two is of any use.
FLAT = ("nca", "xdawn target")
# Methods without derivatives in X: penalties with corners, maps of features, entries 0 and 1.
ROUGH = {
    *("lasso", "sparse-pca", "sparse-lda", "sparse-cca"),
    *("mds-distances", "exponential-family-pca"),
}
WITHOUT = {*FLAT, *ROUGH, "sfa quadratic"}


def wine(y=False, **parameters):
    """Neighbours of integers tie, and jump: digits are no data for them."""
    return lambda: (real_data.wine()[0], real_data.wine()[1] if y else None, parameters), 2


def thirds():
    """Classes of the diabetes data that overlap."""
    X, y = real_data.diabetes()
    third = np.searchsorted(np.quantile(y, [1 / 3, 2 / 3]), y)
    return real_data.standardised(X)[:200, [2, 3, 8]], third[:200], {}


ON_REAL = {
    **{key: case for key, case in methods.REAL.items() if key not in WITHOUT},
    **{key: wine() for key in ("olpp", "onpp", "orthogonal-lpp", "orthogonal-npe")},
    # One response determines one row of P.
    **{key: (methods.REAL[key][0], 1) for key in ("least-squares", "ridge-regression")},
    "onpp class-neighbours": wine(y=True, graph="class-neighbours"),
    "semi-supervised-da": (lambda: (*methods.some_labels(real_data.wine()), {}), 2),
    "nca": (thirds, 1),
}


def like(arrays, rng):
    """Random ones of their shapes."""
    return single(tuple(rng.standard_normal(np.shape(each)) for each in as_tuple(arrays)))


def inner(a, b):
    return sum(float(np.vdot(x, y)) for x, y in zip(as_tuple(a), as_tuple(b), strict=True))


def relative(found, expected):
    pairs = [
        (np.asarray(a), np.asarray(b))
        for a, b in zip(as_tuple(found), as_tuple(expected), strict=True)
    ]
    return max(np.abs(a - b).max() / max(np.abs(b).max(), 1e-12) for a, b in pairs)


def differences(result, X, dX, y, parameters, of):
    """Central differences through solve over halved steps, extrapolated twice, once and not.

    Pivots of landmarks jump where steps are long, and extrapolation adds to the rounding of values
    where they are short: of sdr on diabetes the error is 1e-2 at 2e-5, and 1e-8 extrapolated at
    1e-5 where it is 8e-9 and 4e-9 without. The value of opca on breast_cancer has 4e-12 of
    rounding: its differences agree to 1e-8 over long steps only, extrapolated twice.
    """
    start = "baseline" if result.solver == "closed-form" else result.M

    def at(t):
        pairs = zip(as_tuple(X), as_tuple(dX), strict=True)
        moved = single(tuple(x + t * dx for x, dx in pairs))
        options = {"start": start, "starts": 1, "tolerance": 1e-14, "certify": False}
        name = result.objective.name
        return of(ldr.solve(name, moved, result.r, y=y, **options, **parameters))

    def combined(a, b, factor_a, factor_b):
        """The sums factor_a a + factor_b b of the arrays of each quantity."""
        return [
            tuple(factor_a * x + factor_b * y for x, y in zip(*map(as_tuple, each), strict=True))
            for each in zip(a, b, strict=True)
        ]

    before = []
    for h in 1e-3 / 2.0 ** np.arange(11):
        row = [combined(at(h), at(-h), 0.5 / h, -0.5 / h)]
        for order, longer in enumerate(before[:2], 1):
            power = 4**order
            row.append(combined(row[-1], longer, power / (power - 1), -1 / (power - 1)))
        yield from reversed(row)
        before = row


def projectors(result):
    return tuple(np.linalg.pinv(P) @ P for P in as_tuple(result.P))


def check_method(key, X, y, parameters, r):
    rng = np.random.default_rng(0)
    pairs = zip(as_tuple(like(X, rng)), as_tuple(X), strict=True)
    dX = single(tuple(move * np.nanstd(x, axis=0) for move, x in pairs))
    name = methods.name_of(key)
    result = ldr.solve(name, X, r, y=y, tolerance=1e-13, random_state=0, **parameters)
    sensitivity = result.sensitivity(X, y, groups=parameters.get("groups"))
    found = sensitivity.along(dX)
    if sensitivity.known is not None:
        V = like(result.P, rng)
        G = sensitivity.pullback(V)
        # The inner product cancels: it is as accurate as its terms.
        terms = 1e-11 * np.sqrt(inner(G, G) * inner(dX, dX))
        assert inner(G, dX) == pytest.approx(inner(V, found.P), rel=1e-8, abs=terms)
    worst = np.inf, np.inf, np.inf
    tried = differences(
        result, X, dX, y, parameters, lambda each: (each.value, projectors(each), each.P)
    )
    for value, projector, P in tried:
        errors = (
            abs(found.value - value[0]) / max(abs(value[0]), abs(result.value)),
            relative(found.projector, projector) if r < min(map(len, as_tuple(result.M))) else 0.0,
            relative(found.P, P),
        )
        worst = tuple(map(min, worst, errors))
        if worst[0] < 1e-8 and max(worst[1:]) < 1e-6:
            return
    assert worst[0] < 1e-8
    assert max(worst[1:]) < 1e-6


@pytest.mark.filterwarnings("ignore")
def test_widths_of_each_class_move_with_the_rows():
    parameters = {"graph": "class-neighbours", "heat": "median"}
    check_method("lpp", methods.X, methods.LABELS, parameters, 2)


# Methods whose optimum is known to move with the rows by products: nothing is bound again.
KNOWN = [key for key in methods.RANDOM if key not in WITHOUT and key != "csp trials"]
# By differences of solutions, too: one of each kind of optimum.
BY_DIFFERENCES = ("pca", "orthogonal-lda", "ica", "least-squares")
BY_PRODUCTS = [
    *((key, {}, "") for key in KNOWN if key != "robust-pca sphere"),  # by differences
    *((key, {"ridge": 0.1}, "") for key in KNOWN if "ridge" in methods.parameters_of(key)),
    ("hsic unsupervised", {"response_width": 2.0}, ""),
    *((key, {}, "weights") for key in KNOWN if "landmarks" not in key),
    *((key, {}, "trials") for key in KNOWN if methods.class_of(key).needs == ("time order",)),
    ("vamp", {"ridge": 0.1}, "weights"),
]
# Pairs of rows and kernels, whose methods share their programs.
COMPILED_ONCE = (
    *("wda", "lmnn", "mds-stress", "sdr", "sdr landmarks"),
    *("hsic", "hsic unsupervised", "hsic unsupervised landmarks"),
)
# Each program takes seconds to compile: by default some matrices and rows.
BY_DEFAULT = [
    ("orthogonal-cca", {"ridge": 0.1}, "weights"),
    *((key, {}, "") for key in ("robust-pca", "csp classes", *COMPILED_ONCE)),
]
# One key of each class of problems, and matrices that are made in ways of their own.
OF_EACH_CLASS = {
    *{
        type(methods.bound(methods.name_of(key), X, y=y, **parameters)): key
        for key in reversed(KNOWN)
        for X, y, parameters in [methods.RANDOM[key]]
    }.values(),
    *("ssd", "dynamics skew", "dynamics derivatives"),
    *("robust-pca huber", "gkdr", "olpp epsilon", "onpp class-neighbours", "save", "sir"),
    *("directional-regression", "sfa derivatives", "vamp power", "ica kurtosis", "ica exp"),
    "uica student",
} - {*BY_DIFFERENCES, *(key for key, *_ in BY_DEFAULT)}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("key", "further", "marks"),
    [
        *BY_DEFAULT,
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in BY_PRODUCTS
            if case not in BY_DEFAULT
        ),
    ],
)
def test_products_with_the_rows_say_what_problems_bound_again_say(key, further, marks, monkeypatch):
    X, y, parameters = methods.RANDOM[key]
    rng = np.random.default_rng(0)
    n = len(as_tuple(X)[0])
    given = {
        "": {},
        "weights": {"sample_weight": rng.uniform(0.5, 2.0, n)},
        "trials": {"groups": np.arange(n) // 15},
    }[marks]
    options = {"tolerance": 1e-13, "random_state": 0, **parameters, **further}
    result = ldr.solve(methods.name_of(key), X, 2, y=y, **given, **options)
    sensitivity = result.sensitivity(X, y, **given)
    dX, V = like(X, rng), like(result.P, rng)
    try:
        sensitivity.pullback(V)
    except ArgumentError as error:
        assert "only along given directions" in str(error)
        unstated = key in ("csp classes", "ssd", "sfa derivatives") or not methods.is_stated(key)
        assert marks and unstated
        return
    bound = Derivative.along(
        sensitivity.optimum, as_line(result.objective, sensitivity.data, 2, X=dX)
    )
    expected = {name: getattr(bound, name) for name in ("value", "mean", "projector", "P", "M")}
    monkeypatch.setattr(Line, "__call__", None)  # nothing is bound again
    found = sensitivity.along(dX)
    if not found._rate.observed.M:  # of white rows, whose M moves by differences
        del expected["M"]
    for name, value in expected.items():
        # Extrapolated differences are good to 1e-7, at which they stop. Filters are bound to what
        # an iteration leaves, landmarks to a nearly singular matrix.
        rough = key == "csp classes" or "landmarks" in key
        assert relative(getattr(found, name), value) < (1e-6 if rough else 1e-7)
    assert inner(sensitivity.pullback(V), dX) == pytest.approx(inner(V, found.P), rel=1e-8)


def statement_value(function, X, M):
    return function(X, M).value


# Methods with a variant in OF_EACH_CLASS that runs the same lines.
WITH_VARIANTS = ("dynamics", "fa", "save", "sir", "uica")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "key",
    [
        pytest.param(key, marks=[pytest.mark.slow] * (key in WITH_VARIANTS))
        for key in sorted(OF_EACH_CLASS)
    ],
)
def test_values_of_statements_change_as_optimal_values(key):
    """By the envelope theorem: of a fixed M, only the value is compiled."""
    X, y, parameters = methods.RANDOM[key]
    options = {"y": y, "tolerance": 1e-13, "random_state": 0, **parameters}
    result = ldr.solve(methods.name_of(key), X, 2, **options)
    known = result.sensitivity(X, y).known
    rng, h = np.random.default_rng(0), 1e-4
    dX = [np.nan_to_num(move) for move in as_tuple(like(X, rng))]
    start = "baseline" if result.solver == "closed-form" else result.M
    moved = {"y": y, "tolerance": 1e-13, "start": start, "starts": 1, "certify": False}
    stated, solved = (
        [of([x + t * move for x, move in zip(rows, dX, strict=True)]) for t in (h, -h)]
        for rows, of in (
            (known.X, lambda X: computed(statement_value, known.observed, X, known.optimum.M)),
            (
                as_tuple(X),
                lambda X: ldr.solve(result.objective, single(tuple(X)), 2, **moved).value,
            ),
        )
    )
    rates = [float(ahead - behind) / (2 * h) for ahead, behind in (stated, solved)]
    assert rates[0] == pytest.approx(rates[1], rel=1e-5, abs=1e-9)


def test_rows_without_a_label_may_say_so_by_anything():
    X, y, _ = methods.RANDOM["semi-supervised-da"]
    dX = np.random.default_rng(0).standard_normal(X.shape)
    known = y >= 0
    found = []
    for names, unlabelled in ((y, -1), (np.where(known, y.astype(str), None), None)):
        options = {"y": names, "unlabelled": unlabelled}
        result = ldr.solve("semi-supervised-da", X, 2, **options)
        found.append(result.sensitivity(X, names).along(dX).value)
    assert found[1] == pytest.approx(found[0], rel=1e-12)
    y = np.where(np.arange(len(y)) == 0, -1, np.arange(len(y)) % 3)  # one row alone
    result = ldr.solve("semi-supervised-da", X, 2, y=y)
    assert np.isfinite(result.sensitivity(X, y).along(dX).value)


def test_a_row_at_the_median_is_no_case_of_a_formula():
    X = methods.X - np.median(methods.X, axis=0)
    X = np.vstack([X, -X, np.zeros((1, X.shape[1]))])
    assert ldr.solve("robust-pca", X, 2).sensitivity(X).known is None


SUMS = {
    "a ratio": 0.5 * PCA() + OrthogonalLDA(ridge=0.1),
    "traces": Autocovariance() - 0.5 * SquaredDifference(),
    "of their rows": 0.01 * RobustPCA() + OrthogonalLDA(),  # centred at a median
    "of a basis": OrthogonalLDA(nested=True) + 0.01 * PCA(),
    "kernels": 100 * HSIC(width=3.0) + 0.01 * PCA(),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "key",
    [
        pytest.param(key, marks=[pytest.mark.slow] * (key not in ("traces", "kernels")))
        for key in SUMS
    ],
)
def test_sums_move_with_their_terms(key):
    X, y, _ = methods.RANDOM["orthogonal-lda"]
    rng = np.random.default_rng(0)
    dX, V, h = rng.standard_normal(X.shape), rng.standard_normal((2, X.shape[1])), 1e-4
    result = ldr.solve(SUMS[key], X, 2, y=y, tolerance=1e-13, random_state=0)
    sensitivity = result.sensitivity(X, y)
    found, back = sensitivity.along(dX), sensitivity.pullback(V)
    assert inner(back, dX) == pytest.approx(inner(V, found.P), rel=1e-8)
    options = {"y": y, "start": result.M, "starts": 1, "tolerance": 1e-14, "certify": False}
    far, near = (
        [ldr.solve(SUMS[key], X + t * dX, 2, **options) for t in (k * h, -k * h)] for k in (2, 1)
    )
    for name in ("value", "P", "mean"):
        two, one = (
            (np.asarray(getattr(a, name)) - getattr(b, name)) / (2 * k * h)
            for k, (a, b) in ((2, far), (1, near))
        )
        assert relative(getattr(found, name), (4 * one - two) / 3) < 1e-6


OWN = {
    "grassmann": lambda M, X: -jnp.log1p(((X @ M) ** 2).sum(axis=1)).sum(),
    "stiefel": lambda M, X: -(((X @ M) ** 2).sum(axis=0) @ jnp.array([2.0, 1.0])),
    "euclidean": lambda M, X, y: ((X @ M - jnp.tanh(y)) ** 2).sum(),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("function", "manifold"),
    [
        *(("stiefel", "stiefel"), ("euclidean", "euclidean"), ("grassmann", "auto")),
        pytest.param("grassmann", "grassmann", marks=pytest.mark.slow),
        pytest.param("stiefel", "grassmann", marks=pytest.mark.slow),
    ],
)
def test_functions_of_ones_own_go_back_by_their_equations(function, manifold):
    X, y, _ = methods.RANDOM["least-squares"]
    beside = {"y": y[:, :2]} if manifold == "euclidean" else {}
    own = ldr.objective(OWN[function], manifold=manifold)
    sensitivity = ldr.solve(own, X, 2, tolerance=1e-13, **beside).sensitivity(X, **beside)
    rng = np.random.default_rng(0)
    dX, V = rng.standard_normal(X.shape), rng.standard_normal((2, X.shape[1]))
    found = inner(sensitivity.pullback(V), dX)
    assert found == pytest.approx(inner(V, sensitivity.along(dX).P), rel=1e-7)


@pytest.mark.parametrize("manifold", ["stiefel", pytest.param("grassmann", marks=pytest.mark.slow)])
def test_functions_of_two_views_have_derivatives(manifold):
    X, Y = methods.VIEWS
    rng = np.random.default_rng(0)
    dX, dY = (rng.standard_normal(each.shape) for each in (X, Y))

    @ldr.objective(manifold=manifold, sense="max", views=2)
    def squared(M, N, X, Y):
        across = (X @ M).T @ (Y @ N)
        return (across**2).sum() if manifold == "grassmann" else across[0, 0] + 0.5 * across[1, 1]

    def solved(t, **options):
        return ldr.solve(squared, (X + t * dX, Y + t * dY), 2, tolerance=1e-13, **options)

    result = solved(0.0, random_state=0)
    found = result.sensitivity((X, Y)).along((dX, dY))
    ahead, behind = (solved(t, start=result.M, starts=1) for t in (1e-4, -1e-4))
    assert found.value == pytest.approx((ahead.value - behind.value) / 2e-4, rel=1e-6)
    for moved, one, other in zip(found.P, ahead.P, behind.P, strict=True):
        np.testing.assert_allclose(moved, (one - other) / 2e-4, rtol=1e-4, atol=1e-6)
    dP = jax.jvp(ldr.layer(squared, 2, start=result.M), ((X, Y),), ((dX, dY),))[1]
    for moved, of_layer in zip(found.P, dP, strict=True):
        np.testing.assert_allclose(of_layer, moved, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("key", ["pca", "ica"])  # whose M are known by products and by differences
def test_numbers_and_matrices_are_those_of_solve(key):
    X = methods.RANDOM[key][0]
    dX, h = np.random.default_rng(0).standard_normal(X.shape), 1e-5
    result = ldr.solve(key, X, 2, tolerance=1e-13, random_state=0)
    found = result.sensitivity(X).along(dX)
    start = "baseline" if key == "pca" else result.M
    ahead, behind = (
        ldr.solve(key, X + t * dX, 2, start=start, starts=1, tolerance=1e-14) for t in (h, -h)
    )
    assert relative(found.M, (ahead.M - behind.M) / (2 * h)) < 1e-5
    for name, moved in found.components.items():
        one, two = (each.components[name] for each in (ahead, behind))
        assert np.abs(moved - (one - two) / (2 * h)).max() < 1e-6


def test_traces_of_sums_of_products():
    X, h = methods.X, 1e-5
    dX = like(X, np.random.default_rng(0))
    rows = RowForms.of(as_samples(X), 0)
    form = rows.scatter() @ rows.lagged(1) - 0.5 * (rows.scatter() @ rows.scatter_of_changes())
    with float64():
        ahead, behind = (float(trace(form, [X + t * dX], X.shape[1])) for t in (h, -h))
        _, rate = jax.jvp(lambda X: trace(form, [X], len(X[0])), (X,), (dX,))
        assert float(rate) == pytest.approx((ahead - behind) / (2 * h), rel=1e-7)
        (times,) = form.times([X], [np.eye(X.shape[1])])
    Z, steps = X - X.mean(axis=0), np.diff(X, axis=0)
    lagged = Z[:-1].T @ Z[1:] / (len(Z) - 1)
    expected = Z.T @ Z @ (0.5 * (lagged + lagged.T) - 0.5 * steps.T @ steps)
    np.testing.assert_allclose(times, expected, atol=1e-8)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("key", [k for k in methods.RANDOM if k not in WITHOUT])
@pytest.mark.parametrize("noise", [0.0, 0.5])  # two data sets, the real ones are the third
def test_derivatives_of_every_smooth_method(key, noise):
    X, y, parameters = methods.RANDOM[key]
    rng = np.random.default_rng(7)
    moved = tuple(x + noise * rng.standard_normal(x.shape) for x in as_tuple(X))
    check_method(key, single(moved), y, parameters, 2)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("key", ON_REAL)
def test_derivatives_on_real_data(key):
    data, r = ON_REAL[key]
    X, y, parameters = data()
    if isinstance(X, Trials):
        X, y, parameters = X.rows, y[X.ids], {**parameters, "groups": X.ids}
    check_method(key, X, y, parameters, r)


def test_derivatives_of_every_smooth_method_are_held_to_three_data_sets():
    smooth = set(REGISTRY) - ROUGH
    assert {methods.name_of(key) for key in methods.RANDOM if key not in WITHOUT} | {
        "nca"
    } == smooth
    assert set(map(methods.name_of, ON_REAL)) == smooth


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("key", FLAT)
def test_what_is_flat_is_refused(key):
    X, y, parameters = methods.RANDOM[key]
    result = ldr.solve(methods.name_of(key), X, 2, y=y, random_state=0, **parameters)
    with pytest.raises(SingularError, match="the optimum is not isolated"):
        result.sensitivity(X, y)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_one_direction_of_a_target():
    X, y, parameters = methods.RANDOM["xdawn target"]
    check_method("xdawn target", X, y, parameters, 1)


def overlapping(seed, d=4):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((120, 4))
    y = (X[:, 0] + 0.7 * rng.standard_normal(120) > 0).astype(int)
    return X[:, :d], y + (X[:, 1] + 0.7 * rng.standard_normal(120) > 0.3)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("seed", "d"), [(1, 4), (6, 2), (7, 2)])
def test_neighbours_of_classes_that_overlap(seed, d):
    check_method("nca", *overlapping(seed, d), {}, 1)


@pytest.mark.filterwarnings("ignore")
def test_neighbours_that_a_larger_map_tells_apart_have_no_optimum():
    X, y = overlapping(5)
    X = X + 8.0 * np.outer(y, np.eye(4)[0])
    result = ldr.solve("nca", X, 1, y=y, random_state=0)
    assert result.value == pytest.approx(120.0)  # of 120 rows, in the limit of a large M
    with pytest.raises(SingularError, match="the optimum is not isolated"):
        result.sensitivity(X, y)


@pytest.mark.filterwarnings("ignore")
def test_an_intercept_within_the_subspace_is_no_tie():
    X = methods.RANDOM["exponential-family-pca"][0]
    result = ldr.solve("exponential-family-pca", X, 2, tolerance=1e-13, random_state=0)
    found, h = result.sensitivity(X).along(saturation=1.0), 1e-4
    options = {"start": result.M, "starts": 1, "tolerance": 1e-14}
    ahead, behind = (
        ldr.solve("exponential-family-pca", X, 2, saturation=4.0 + t, **options) for t in (h, -h)
    )
    assert found.value == pytest.approx((ahead.value - behind.value) / (2 * h), rel=1e-7)
    assert relative(found.P, (ahead.P - behind.P) / (2 * h)) < 1e-6


@pytest.mark.filterwarnings("ignore")
def test_what_jumps_is_refused():
    X, _, parameters = methods.REAL["olpp"][0]()
    result = ldr.solve("olpp", X[:200], 2, **parameters)
    dX = np.random.default_rng(0).standard_normal(X[:200].shape)
    with pytest.raises(SingularError, match="is not smooth"):
        result.sensitivity(X[:200]).along(dX)


def test_whole_weights_that_move_a_default_width_are_refused():
    """Fractional weights are ignored by the width, so that the value jumps at whole weights."""
    X, y = real_data.wine()
    X, w = real_data.standardised(X[::4]), 1.0 + np.arange(len(X[::4])) % 3
    direction = 1.0 * (np.arange(len(X)) == 3)
    given, options = {"y": y[::4], "sample_weight": w}, {"tolerance": 1e-12}
    result = ldr.solve("hsic", X, 2, **given, **options)
    with pytest.raises(SingularError, match=r"its value jumps, or .* kernel width"):
        result.sensitivity(X, **given).along(sample_weight=direction)
    result = ldr.solve("hsic", X, 2, width=3.0, **given, **options)
    found = result.sensitivity(X, **given).along(sample_weight=direction)
    times = np.repeat(np.arange(len(X)), w.astype(int))
    repeated = ldr.solve("hsic", X[times], 2, y=y[::4][times], width=3.0, **options)
    one = 1.0 * (np.arange(len(times)) == np.flatnonzero(times == 3)[0])
    expected = repeated.sensitivity(X[times], y[::4][times]).along(sample_weight=one)
    assert found.value == pytest.approx(expected.value, rel=1e-5)


def spectral(eigenvalues, n=40, seed=0):
    """Rows whose covariance has these eigenvalues; its eigenvectors."""
    rng, d = np.random.default_rng(seed), len(eigenvalues)
    ones = np.hstack([np.ones((n, 1)), rng.standard_normal((n, d))])
    U = np.linalg.qr(ones)[0][:, 1:]
    Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
    return np.sqrt(n) * (U * np.sqrt(eigenvalues)) @ Q.T, Q


def moved_eigenvectors(X, dX, Q, eigenvalues, r):
    """Of the covariance, by first-order perturbation theory: projector and columns of Q."""
    centred = dX - dX.mean(axis=0)
    B = Q.T @ (X.T @ centred + centred.T @ X) @ Q / len(X)
    with np.errstate(divide="ignore"):
        C = B / (eigenvalues[None, :] - eigenvalues[:, None])
    np.fill_diagonal(C, 0.0)
    columns = Q @ C[:, :r]
    across = Q[:, r:] @ C[r:, :r] @ Q[:, :r].T
    return across + across.T, columns


@pytest.mark.parametrize(("gap", "tolerance"), [(1e-3, 1e-10), (1e-6, 1e-6)])
@pytest.mark.parametrize("inside", [False, True])
def test_nearly_tied_numbers(gap, tolerance, inside):
    eigenvalues = np.array([3.0, 3.0 - gap, 2.0, 1.0] if inside else [3.0, 2.0, 2.0 - gap, 1.0])
    X, Q = spectral(eigenvalues)
    dX = np.random.default_rng(1).standard_normal(X.shape)
    projector, columns = moved_eigenvectors(X, dX, Q, eigenvalues, 2)
    result = ldr.solve("pca", X, 2)
    found = result.sensitivity(X).along(dX)
    assert relative(found.projector, projector) < tolerance
    signs = np.sign(np.sum(Q[:, :2] * result.M, axis=0))
    assert relative(found.M, columns * signs) < tolerance


def test_a_tie_at_the_boundary_is_refused_with_its_numbers():
    X, _ = spectral(np.array([3.0, 2.0, 2.0, 1.0]))
    with pytest.raises(SingularError, match=r"with score 2(\.0+\d+)?, .* outside .* 2(\.0+\d+)?\."):
        ldr.solve("pca", X, 2).sensitivity(X)


@pytest.mark.filterwarnings("ignore")
def test_a_tie_inside_leaves_the_subspace_its_derivative():
    X, Q = spectral(np.array([3.0, 3.0, 2.0, 1.0]))
    dX = np.random.default_rng(1).standard_normal(X.shape)
    found = ldr.solve("pca", X, 2).sensitivity(X).along(dX)
    projector, _ = moved_eigenvectors(X, dX, Q, np.array([3.0, 3.0, 2.0, 1.0]), 2)
    assert relative(found.projector, projector) < 1e-10
    for name in ("M", "P", "components"):
        with pytest.raises(SingularError, match=r"0 and 1 have equal scores, 3"):
            getattr(found, name)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("least-squares", "regression coefficients have equal"),
        ("pls-regression", "with the response have equal"),
    ],
)
def test_tied_singular_vectors_are_refused(name, said):
    X, _ = spectral(np.ones(3))
    Y = X[:, :2]
    with pytest.raises(SingularError, match=said):
        ldr.solve(name, X, 2, y=Y).sensitivity(X, Y).pullback(np.ones((2, 3)))
    # one response, which is explained by one direction
    said = (
        "arbitrary and have no derivatives: expected r <= 1, got r = 2"
        if name == "least-squares"
        else "only along given directions"
    )
    with pytest.raises(ArgumentError, match=said):
        ldr.solve(name, X, 2, y=X[:, 0]).sensitivity(X, X[:, 0]).pullback(np.ones((2, 3)))


def test_directions_without_a_number_are_refused_too():
    X = methods.RANDOM["pca"][0]
    one = ldr.objective(lambda M, X: ((X @ M[:, 0]) ** 2).sum(), manifold="stiefel", sense="max")
    with pytest.raises(
        SingularError,
        match="Component 1 can turn out of the subspace without a change of the value",
    ):
        ldr.solve(one, X, 2).sensitivity(X)


def test_derivatives_are_as_good_as_newton_steps_make_a_rough_optimum():
    X, y = real_data.wine()
    dX = np.random.default_rng(0).standard_normal(X.shape)
    rough, fine = (
        ldr.solve("orthogonal-lda", X, 2, y=y, tolerance=tolerance)
        .sensitivity(X, y)
        .along(dX)
        .projector
        for tolerance in (0.3, 1e-13)
    )
    assert relative(rough, fine) < 1e-6


def test_maps_of_nearly_tied_singular_values_move_fast():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 5))
    X = np.linalg.qr(X - X.mean(axis=0))[0]
    U, V = (np.linalg.qr(rng.standard_normal((k, k)))[0] for k in (5, 4))
    dX = rng.standard_normal(X.shape)

    def moved(gap):
        Y = X @ (U[:, :4] * [1.0 + gap, 1.0, 0.5, 0.2]) @ V.T
        result = ldr.solve("least-squares", X, 2, y=Y)

        def map_at(t):
            Z = X + t * dX
            B = np.linalg.lstsq(Z - Z.mean(axis=0), Y - Y.mean(axis=0))[0]
            left, values, _ = np.linalg.svd(B, full_matrices=False)
            P = (left[:, :2] * np.sqrt(1.0 + values[:2] ** 2)).T
            return P * np.sign((P * result.P).sum(axis=1, keepdims=True))

        h = 1e-4 * gap
        return result.sensitivity(X, Y).along(dX).P, (map_at(h) - map_at(-h)) / (2.0 * h)

    assert relative(*moved(1e-3)) < 1e-5
    with pytest.raises(SingularError, match="singular values of M nearly tie"):
        moved(1e-8)


@pytest.mark.filterwarnings("ignore")
def test_filters_that_a_ridge_determines_are_refused():
    X, y, _ = methods.RANDOM["csp classes"]
    X = X * np.where(np.arange(X.shape[1]) < 2, 1e-8, 1.0)
    sensitivity = ldr.solve("csp", X, 2, y=y, ridge=0.1).sensitivity(X, y)
    with pytest.raises(SingularError, match="standardise columns of different units"):
        sensitivity.along(X)


def test_derivatives_in_columns_of_different_units():
    rng = np.random.default_rng(0)
    units = np.logspace(-2, 2, 5)
    X, dX = rng.standard_normal((2, 30, 5))
    Y = rng.standard_normal((30, 5)) + X
    result = ldr.solve("least-squares", X * units, 2, y=Y)
    found = result.sensitivity(X * units, Y).along(dX * units).M
    X, dX, Y = (each - each.mean(axis=0) for each in (X, dX, Y))
    B = np.linalg.lstsq(X, Y)[0]
    expected = np.linalg.solve(X.T @ X, dX.T @ (Y - X @ B) - X.T @ dX @ B)
    assert relative(found * units[:, None], expected) < 1e-9


@pytest.mark.filterwarnings("ignore")
def test_a_point_that_is_not_stationary_is_refused():
    X, y, _ = methods.RANDOM["pca"]
    rough = ldr.solve("ica", X, 2, start="random", random_state=0, max_iterations=1)
    with pytest.raises(SingularError, match=r"the gradient is not zero at M.*max_iterations"):
        rough.sensitivity(X)

    @ldr.objective(manifold="euclidean")
    def hinge(M, X, y):
        return jnp.maximum(0.0, 1.0 - y * (X @ M)[:, 0]).sum() + (M**2).sum()

    y = np.sign(X[:, 0] + np.random.default_rng(0).standard_normal(len(X)))
    with pytest.raises(SingularError, match="not smooth has no derivative"):
        ldr.solve(hinge, X, 1, y=y).sensitivity(X, y)


@pytest.mark.parametrize(("heat", "length"), [(3.0, 1.5), ("median", 4.0)])
def test_weights_of_edges_whatever_the_order_of_the_rows(heat, length):
    rng = np.random.default_rng(0)
    X = np.cumsum(rng.standard_normal((90, 4)), axis=0)[rng.permutation(90)]
    X[7] += 1e3  # a row without edges
    dX, Y, h = rng.standard_normal(X.shape), rng.standard_normal((90, 2)), 1e-5
    there = (squareform(pdist(X)) < length) & ~np.eye(90, dtype=bool)

    def weights(X):
        squared = squareform(pdist(X)) ** 2
        width = np.median(squared[np.triu(there)]) if heat == "median" else heat
        return np.where(there, np.exp(-squared / width), 0.0)

    found = Heated.of(HeatedEdges(csr_array(weights(X)), heat), X)
    W = (weights(X + h * dX) - weights(X - h * dX)) / (2 * h)
    degrees = W.sum(axis=1)[:, None] * Y
    for of, expected in ((False, degrees - W @ Y), (True, degrees)):
        K = replace(found, degrees=of)
        rate = jax.jit(lambda X, dX, K=K: jax.jvp(lambda X: K(Y, X), (X,), (dX,))[1])
        with float64():
            assert relative(rate(X, dX), expected) < 1e-7


def parameters_moved(result, X, y, direction, moved, h=1e-4):
    """The derivative in parameters, and that by differences."""
    found = result.sensitivity(X, y).along(**direction)
    ahead, behind = (ldr.solve(moved(t), X, result.r, y=y, tolerance=1e-13) for t in (h, -h))
    return found, ahead, behind


@pytest.mark.parametrize(
    ("direction", "moved"),
    [
        ({"ridge": 1.0}, lambda t: ldr.objectives.OrthogonalLDA(ridge=0.1 + t)),
        (
            {"weights": (1.0, 0.0)},
            lambda t: (0.5 + t) * ldr.objectives.PCA() + ldr.objectives.OrthogonalLDA(),
        ),
    ],
)
def test_parameters(direction, moved):
    X, y = real_data.wine()
    result = ldr.solve(moved(0.0), X, 2, y=y, tolerance=1e-13)
    found, ahead, behind = parameters_moved(result, X, y, direction, moved)
    assert abs(found.value - (ahead.value - behind.value) / 2e-4) < 1e-6 * abs(found.value)
    expected = (projectors(ahead)[0] - projectors(behind)[0]) / 2e-4
    assert relative(found.projector, expected) < 1e-6


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("key", "numbers"),
    [
        ("hsic", {"width": 3.0}),
        ("sdr", {"width": 3.0}),
        ("ridge-regression", {"penalty": 3.0}),
        ("contrastive-pca", {"alpha": 2.0}),
        ("cca", {"ridge": 0.1}),
        ("semi-supervised-da", {"mu": 0.2, "ridge": 0.1}),
        ("lpp", {"heat": 10.0, "ridge": 0.1}),
        ("npe", {"regularisation": 0.01}),
    ],
)
def test_numbers_of_methods(key, numbers):
    X, y, _ = methods.RANDOM[key]
    result = ldr.solve(key, X, 2, y=y, tolerance=1e-13, **numbers)
    start = "baseline" if result.solver == "closed-form" else result.M
    for name, value in numbers.items():
        found, h = result.sensitivity(X, y).along(**{name: 1.0}), 1e-4 * value
        ahead, behind = (
            ldr.solve(
                key, X, 2, y=y, start=start, starts=1, tolerance=1e-14, **{**numbers, name: moved}
            )
            for moved in (value + h, value - h)
        )
        pairs = zip(projectors(ahead), projectors(behind), strict=True)
        expected = tuple((a - b) / (2 * h) for a, b in pairs)
        assert relative(found.projector, expected) < 1e-6
        assert found.value == pytest.approx((ahead.value - behind.value) / (2 * h), rel=1e-6)


def test_responses_move_too():
    X, y, _ = methods.RANDOM["least-squares"]
    dy = np.random.default_rng(0).standard_normal(y.shape)
    result = ldr.solve("ridge-regression", X, 2, y=y, penalty=3.0)
    centred = X - X.mean(axis=0)
    # M = (X'X + penalty I)^{-1} X'y is linear in y
    expected = np.linalg.solve(centred.T @ centred + 3.0 * np.eye(X.shape[1]), centred.T @ dy)
    assert relative(result.sensitivity(X, y).along(y=dy).M, expected) < 1e-9


def test_conjugate_gradients_where_the_hessian_is_large():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 150)) * np.linspace(3.0, 1.0, 150)
    dX = rng.standard_normal(X.shape)
    result = ldr.solve("pca", X, 4)
    found = result.sensitivity(X).along(dX)
    values, Q = np.linalg.eigh(np.cov(X.T, bias=True))
    projector, _ = moved_eigenvectors(X - X.mean(axis=0), dX, Q[:, ::-1], values[::-1], 4)
    assert relative(found.projector, projector) < 1e-9


def test_other_data_and_directions_are_refused_in_words():
    X, y = real_data.wine()
    result = ldr.solve("orthogonal-lda", X, 2, y=y)
    with pytest.raises(DataError, match="the data differ from the data of the result"):
        result.sensitivity(X + np.linspace(0, 1, len(X))[:, None], y)
    sensitivity = result.sensitivity(X, y)
    with pytest.raises(ArgumentError, match="the direction of the derivative is missing"):
        sensitivity.along()
    with pytest.raises(ArgumentError, match=r"ridge is 0.*one-sided"):
        sensitivity.along(ridge=1.0)
    with pytest.raises(ArgumentError, match=r"with respect to 'rigde'.*: ridge"):
        sensitivity.along(rigde=1.0)
    with pytest.raises(DataError, match=r"expected \(178, 13\)"):
        sensitivity.along(X[:5])
    with pytest.raises(ArgumentError, match="orthogonal-lda treats y as labels"):
        sensitivity.along(y=np.ones(len(y)))
    with pytest.raises(DataError, match="P must be 2 arrays, one for each view, got 3"):
        pair = X[:, :5], X[:, 5:]
        ldr.solve("pls", pair, 1).sensitivity(pair).pullback((X, X, X))
    with pytest.raises(ArgumentError, match="nonsmooth penalty"):
        sparse = ldr.solve("sparse-pca", X, 2, penalty=20.0)
        sparse.sensitivity(X)
    with pytest.raises(ArgumentError, match="standardise"):
        ldr.solve("pca", X, 2, standardise=True).sensitivity(X)
    with pytest.raises(ArgumentError, match="the map of sfa acts on features"):
        ldr.solve("sfa", X[:, :3], 1, degree=2).sensitivity(X[:, :3])
    with pytest.raises(DataError, match=r"shape \(12, 2\), expected \(13, 2\)"):
        result.sensitivity(X[:, 1:], y)
    with pytest.raises(DataError, match="the direction of X has entries that are not finite"):
        sensitivity.along(np.full(X.shape, np.inf))
    ridged = ldr.solve("orthogonal-lda", X, 2, y=y, ridge=0.1).sensitivity(X, y)
    with pytest.raises(ArgumentError, match=r"the direction of ridge must be a number, got 'much'"):
        ridged.along(ridge="much")
    weighted = ldr.solve(0.5 * PCA() + OrthogonalLDA(), X, 2, y=y).sensitivity(X, y)
    with pytest.raises(
        ArgumentError, match=r"the direction of weights must be 2 numbers, got \(1.0, 2.0, 3.0\)"
    ):
        weighted.along(weights=(1.0, 2.0, 3.0))
    for nothing in ({"ridge": 0.0}, {"X": 0.0 * X}):
        assert ridged.along(**nothing).value == 0.0
    assert (
        repr(ridged)
        == "OrthogonalLDA(ridge=0.1), r = 2: derivatives by along, pullback and influence"
    )


def test_data_that_cannot_move_say_so():
    counts = methods.RANDOM["exponential-family-pca"][0]
    binary = ldr.solve("exponential-family-pca", counts, 1).sensitivity(counts)
    with pytest.raises(ArgumentError, match="the data cannot change in the given direction: X has"):
        binary.along(np.ones(counts.shape))
    X, y, _ = methods.RANDOM["orthogonal-lda"]
    sparse = csr_array(np.where(X > 1, X, 0.0))
    found, dense = (
        ldr.solve("orthogonal-lda", each, 2, y=y, ridge=0.1).sensitivity(each, y)
        for each in (sparse, sparse.toarray())
    )
    assert relative(found.along(ridge=1.0).P, dense.along(ridge=1.0).P) < 1e-8
    with pytest.raises(DataError, match="X is sparse: a derivative with respect to its entries"):
        found.along(X)
    pair = X[:, :3], X[:, 3:]
    both = ldr.solve(0.5 * OrthogonalCCA(), pair, 1).sensitivity(pair)
    with pytest.raises(
        DataError, match=r"X must be 2 arrays, the change of each data array \(None for"
    ):
        both.along(X)
    X = methods.RANDOM["ssd"][0]
    trials = {"groups": np.arange(len(X)) // 30}
    banded = ldr.solve("ssd", X, 1, **trials).sensitivity(X, **trials)
    short = ldr.solve("dca", X[:9, :3], 1, window=2).sensitivity(X[:9, :3])
    sphere, narrow = (
        ldr.solve("robust-pca", X, 1, **options).sensitivity(X)
        for options in ({"sphere": True}, {"loss": "huber", "threshold": 1e-12})
    )
    for by_differences, views in (
        (both, pair),
        (banded, (X,)),
        (short, (X[:, :3],)),
        (sphere, (X,)),
        (narrow, (X,)),
        (found, (sparse.toarray(),)),
    ):
        with pytest.raises(ArgumentError, match="only along given directions"):
            by_differences.pullback(single(tuple(view[: by_differences.r] for view in views)))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "data", "parameters"),
    [
        pytest.param("robust-pca", "wine", {"loss": "huber"}, marks=pytest.mark.slow),
        pytest.param("maf", "digits", {}, marks=pytest.mark.slow),
        ("npe", "wine", {}),  # where others are neighbours then
        *(
            pytest.param(name, data, {}, marks=pytest.mark.slow)
            for data, names in (
                (
                    "wine",
                    (
                        "robust-pca",
                        "pca",
                        "orthogonal-lda",
                        "orthogonal-maf",
                        "tica",
                        "sdr",
                        "lmnn",
                    ),
                ),
                ("digits", ("orthogonal-maf", "tica", "sfa", "orthogonal-lda", "robust-pca")),
                ("breast_cancer", ("orthogonal-maf", "tica", "maf", "ppca", "fa")),
            )
            for name in names
        ),
    ],
)
def test_influence_tells_what_leaving_rows_out_does(name, data, parameters):
    X, y = getattr(real_data, data)()
    X, y = real_data.standardised(X[:200]), y[:200]
    y = y if name in ("orthogonal-lda", "sdr", "lmnn") else None
    series = name in ("orthogonal-maf", "tica", "maf", "sfa")
    result = ldr.solve(name, X, 2, y=y, tolerance=1e-12, random_state=0, **parameters)
    influence = result.sensitivity(X, y).influence()
    rows = np.arange(2, len(X), 8 if series else 12)
    options = {**parameters, "certify": False, "tolerance": 1e-12}
    if result.solver != "closed-form":
        options |= {"start": result.M, "starts": 1}
    moved, changed = [], []
    for row in rows:
        others = np.arange(len(X)) != row
        groups = (others.cumsum() > row)[others] if series else None  # cut there
        labels = None if y is None else y[others]
        without = ldr.solve(name, X[others], 2, y=labels, groups=groups, **options)
        moved.append(np.linalg.norm(projectors(without)[0] - projectors(result)[0]))
        changed.append(without.value - result.value)
    assert spearmanr(influence.subspace[rows], moved).statistic > 0.95
    assert spearmanr(-influence.value[rows], changed).statistic > 0.95
    assert len(influence.plot().axes) == 2


def test_slices_of_a_response_stay_where_rows_move():
    X, y = load_diabetes(return_X_y=True)
    X, y = X[::2], y[::2]
    slices = sliced(y, len(y), 10)
    result = ldr.solve("sir", X, 1, y=y)
    influence = result.sensitivity(X, y).influence()
    rows = np.arange(0, len(X), 20)
    moved = []
    for row in rows:
        others = np.arange(len(X)) != row
        without = ldr.solve("sir", X[others], 1, y=slices[others].astype(str))
        moved.append(np.linalg.norm(projectors(without)[0] - projectors(result)[0]))
    assert spearmanr(influence.subspace[rows], moved).statistic > 0.99
    assert np.allclose(influence.subspace[rows], moved, rtol=0.2)


def test_influence_names_the_rows_of_a_data_frame():
    X = pd.DataFrame(np.diag([9.0, 1, 2, 3]) + np.eye(4)[::-1], index=list("abcd"))
    influence = ldr.solve("pca", X, 1).sensitivity(X).influence()
    (first, number), *_ = influence.largest(influence.subspace, 2)
    assert first == "abcd"[int(np.argmax(influence.subspace))]
    assert f"on the subspace  {first} ({number:.3g})" in repr(influence)
    texts = [text.get_text() for text in influence.plot().axes[0].texts]
    assert first in texts


@pytest.mark.filterwarnings("ignore")
def test_influence_is_for_each_unit_of_weight_and_a_derivative_of_many_rows():
    X = real_data.wine()[0][::4]
    weights = 100.0 + np.arange(len(X)) % 3
    weights[5] = 1.0
    result = ldr.solve("fa", X, 2, sample_weight=weights, tolerance=1e-12)
    sensitivity = result.sensitivity(X, sample_weight=weights)
    influence = sensitivity.influence()
    found = sensitivity.along(sample_weight=np.arange(len(X)) == 5)
    assert np.linalg.norm(found.projector) == pytest.approx(influence.subspace[5], rel=1e-2)
    assert found.value == pytest.approx(influence.value[5], rel=1e-2)
    with pytest.raises(ArgumentError, match="sample_weight has zeros"):
        result.sensitivity(X, sample_weight=np.where(weights > 100.0, weights, 0.0))
    y = real_data.wine()[1][::4]
    shrunk = ldr.solve("orthogonal-lda", X, 1, y=y, shrinkage="auto").sensitivity(X, y=y)
    with pytest.raises(ArgumentError, match="'orthogonal-lda' takes no sample weights"):
        shrunk.influence()


def test_older_jax_compiles_without_options(monkeypatch):
    jit = jax.jit

    def without_options(function):
        return jit(function)

    monkeypatch.setattr(jax, "jit", without_options)
    assert compile_quickly.__wrapped__() == {}
