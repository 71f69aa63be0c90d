"""Objectives of the user's own: derivatives by three backends, tests at the door, messages."""

import copy
import pickle
import warnings
from functools import partial

import autograd.numpy as anp
import jax
import jax.numpy as jnp
import numpy as np
import psutil
import pytest
import scipy.sparse

import ldr
from ldr.errors import (
    ArgumentError,
    ConvergenceWarning,
    DataError,
    ObjectiveError,
    ObjectiveWarning,
)
from ldr.inputs import as_data
from ldr.objectives.custom import backends
from ldr.objectives.custom.backends import compilations
from ldr.objectives.custom.function import CustomObjective

N, D, R = 60, 6, 2


def data(seed=0, n=N, d=D):
    rng = np.random.default_rng(seed)
    return rng.laplace(size=(n, d)) @ np.diag(np.linspace(1, 2, d)) + 5.0


X = data()


def fourth_power(M, X):
    return np.mean((X @ M) ** 4)


def fourth_power_gradient(M, X):
    Y = X @ M
    return 4 * X.T @ Y**3 / Y.size


def fourth_power_hessian(M, X, V):
    Y = X @ M
    return 12 * X.T @ (Y**2 * (X @ V)) / Y.size


@ldr.objective(manifold="stiefel", sense="max")
def by_jax(M, X):
    """Mean fourth power of the projections.

    More of the docstring.
    """
    return jnp.mean((X @ M) ** 4)


@ldr.objective(manifold="stiefel", sense="max", backend="autograd")
def by_autograd(M, X):
    return anp.mean(anp.dot(X, M) ** 4)


by_hand = ldr.objective(
    manifold="stiefel",
    sense="max",
    backend="numpy",
    gradient=fourth_power_gradient,
    hessian=fourth_power_hessian,
)(fourth_power)
differenced = ldr.objective(
    manifold="stiefel", sense="max", backend="numpy", gradient=fourth_power_gradient
)(fourth_power)

BACKENDS = {"jax": by_jax, "autograd": by_autograd, "numpy": by_hand}


@ldr.objective(manifold="grassmann", sense="max")
def variance(M, X):
    return jnp.sum((X @ M) ** 2) / len(X)


def bound(objective, X=X, r=R, y=None):
    return objective.bind(as_data(objective, X, y), r)


def numpy_objective(function, **options):
    """With a gradient that is never reached."""
    options = {"gradient": lambda M, X: np.zeros_like(M), "manifold": "stiefel", **options}
    return ldr.objective(backend="numpy", **options)(function)


# Values and derivatives


@pytest.mark.parametrize("backend", BACKENDS)
def test_derivatives_equal_the_formulas(backend):
    problem = bound(BACKENDS[backend])
    rng = np.random.default_rng(1)
    M, V = problem.random_point(rng), rng.standard_normal((D, R))
    centred = X - X.mean(axis=0)
    point = problem.at(M)
    assert point.value == pytest.approx(-fourth_power(M, centred), rel=1e-13)
    np.testing.assert_allclose(point.gradient, -fourth_power_gradient(M, centred), rtol=1e-12)
    HV = point.hessian_vector(V)
    np.testing.assert_allclose(HV, -fourth_power_hessian(M, centred, V), rtol=1e-12)
    assert isinstance(point.value, float)
    assert point.gradient.dtype == HV.dtype == np.float64


def test_without_a_hessian_solvers_difference_gradients():
    assert not bound(differenced).has_hessian
    result = ldr.solve(differenced, X, R, random_state=3)
    assert result.value == pytest.approx(ldr.solve(by_hand, X, R, random_state=3).value, rel=1e-10)
    with pytest.raises(NotImplementedError, match="no Hessian product"):
        problem = bound(differenced)
        problem.at(problem.random_point(np.random.default_rng(0))).hessian_vector(np.ones((D, R)))


def test_euclidean_least_squares():
    @ldr.objective(manifold="euclidean")
    def residual(M, X, y):
        return jnp.mean((y[:, None] - X @ M) ** 2)

    y = X @ np.arange(D) + np.random.default_rng(0).standard_normal(N)
    result = ldr.solve(residual, X, 1, y=y, random_state=0)
    centred = X - X.mean(axis=0)
    expected = np.linalg.lstsq(centred, y, rcond=None)[0]
    np.testing.assert_allclose(result.M[:, 0], expected, rtol=1e-8)
    np.testing.assert_allclose(result.P, result.M.T)


def test_column_means_are_subtracted_unless_declared_otherwise():
    seen = []

    def look(M, X):
        seen.append(X)
        return np.sum(M * np.arange(M.size).reshape(M.shape))

    def gradient(M, X):
        return np.arange(float(M.size)).reshape(M.shape)

    for center, mean in ((True, X.mean(axis=0)), (False, np.zeros(D))):
        problem = bound(numpy_objective(look, gradient=gradient, center=center))
        np.testing.assert_allclose(problem.views[0].mean, mean)
        np.testing.assert_allclose(seen[-1], X - mean, atol=1e-14)
        assert not seen[-1].flags.writeable


def test_sparse_rows_reach_a_numpy_objective_uncentred():
    S = scipy.sparse.random_array((N, D), density=0.4, rng=np.random.default_rng(0), format="csr")
    seen = []

    @ldr.objective(
        manifold="grassmann",
        sense="max",
        backend="numpy",
        gradient=lambda M, X: 2 * (X.T @ (X @ M)),
        center=False,
    )
    def energy(M, X):
        seen.append(X)
        return float(np.sum((X @ M) ** 2))

    result = ldr.solve(energy, S, R, random_state=0)
    assert all(scipy.sparse.issparse(x) for x in seen)
    top = np.linalg.eigvalsh((S.T @ S).toarray())[-R:].sum()
    assert result.value == pytest.approx(top, rel=1e-10)
    np.testing.assert_allclose(result.mean, 0)


# The manifold


def test_auto_chooses_the_manifold_and_says_so():
    @ldr.objective
    def sphered(M, X):
        return -jnp.mean(jnp.sum((X @ M) ** 2, axis=1) ** 2)

    result = ldr.solve(sphered, X, R, random_state=0)
    assert type(bound(sphered).manifold).__name__ == "Grassmann"
    assert any("f(MQ) = f(M)" in note for note in result.notes)
    problem = bound(ldr.objective(sense="max")(by_jax.function))
    assert type(problem.manifold).__name__ == "Stiefel"
    assert any("f(MQ) != f(M)" in note for note in problem.views[0].notes)


@pytest.mark.parametrize(
    ("function", "r", "chosen"),
    [
        (by_jax.function, 1, "Grassmann"),  # an even function of one column: of its line alone
        (lambda M, X: jnp.mean((X @ M) ** 3), 1, "Stiefel"),
        (lambda M, X: 1e9 + jnp.mean((X @ M) ** 4), R, "Stiefel"),  # however large a constant is
    ],
)
def test_auto_compares_what_varies(function, r, chosen):
    assert type(bound(ldr.objective(function), r=r).manifold).__name__ == chosen


# What the decorator returns


def test_it_is_still_the_plain_function():
    M = np.eye(D)[:, :R]
    assert float(by_jax(M, X)) == pytest.approx(fourth_power(M, X), rel=1e-4)  # float32 by default
    assert by_jax.__name__ == "by_jax"
    assert by_jax.__doc__.startswith("Mean fourth power")
    assert by_jax.formula == "Mean fourth power of the projections."
    assert by_hand.formula == "max fourth_power(M, X)"
    assert repr(by_jax) == "by_jax(manifold='stiefel', sense='max', backend='jax')"
    assert isinstance(by_jax, CustomObjective)
    assert by_jax.name in repr(ldr.solve(by_jax, X, R, random_state=0))


def test_parameters_with_default_values_stay():
    @ldr.objective(sense="max")
    def power(M, X, exponent=4):
        return jnp.mean((X @ M) ** exponent)

    assert power.needs == ()
    assert bound(power).at(np.eye(D)[:, :R]).value == pytest.approx(
        bound(by_jax).at(np.eye(D)[:, :R]).value
    )


def test_a_partial_function_has_a_name():
    def power(M, X, exponent):
        return jnp.mean((X @ M) ** exponent)

    objective = ldr.objective(partial(power, exponent=4))
    assert objective.name == "partial"
    assert objective.formula == "min partial(M, X)"
    bound(objective)


def test_pickling():
    assert pickle.loads(pickle.dumps(by_jax)) is by_jax
    assert pickle.loads(pickle.dumps(by_hand)) is by_hand  # its function has another name
    result = ldr.solve(by_jax, X, R, random_state=0)
    assert pickle.loads(pickle.dumps(result)).objective is by_jax
    assert copy.deepcopy(by_jax) is copy.copy(by_jax) is by_jax


# jax


def test_jax_works_in_float64_and_leaves_the_global_flag_alone():
    before = jax.config.jax_enable_x64
    result = ldr.solve(by_jax, X, R, random_state=3)
    assert result.gradient_norm < 1e-9 * result.value
    assert jax.config.jax_enable_x64 == before
    assert not before
    assert jnp.ones(2).dtype == jnp.float32


def test_jax_compiles_once_for_every_data_of_one_shape():
    traces = []

    @ldr.objective(manifold="stiefel", sense="max")
    def counted(M, X):
        traces.append(X.shape)
        return jnp.mean((X @ M) ** 4)

    ldr.solve(counted, X, R, random_state=0)
    before = len(traces)
    ldr.solve(counted, data(seed=5), R, random_state=0)
    # Only the shape of the value is traced again.
    assert len(traces) - before <= 1


def test_compilations_are_counted_and_few_shapes_are_kept(monkeypatch):
    monkeypatch.setattr(backends, "KEPT_SHAPES", 2)

    @ldr.objective(manifold="stiefel")
    def plain(M, X):
        return jnp.mean((X @ M) ** 4)

    # Value and gradient, the Hessian, its products.
    assert ldr.solve(plain, X, R, random_state=0).evaluations["compilation"] == 3
    assert "compilation" not in ldr.solve(plain, X + 1.0, R, random_state=0).evaluations
    counts = []
    for n in (N, 30, N, 31, 30):  # 30 rows are longest ago when 31 come
        with compilations() as tally:
            bound(plain, X[:n])
        counts.append(tally["compilation"])
    assert counts == [0, 1, 0, 1, 1]


def test_jax_forgets_what_it_keeps_of_many_shapes(monkeypatch):
    cleared = []
    monkeypatch.setattr(backends, "MANY_SHAPES", 3)
    monkeypatch.setattr(jax, "clear_caches", lambda: cleared.append(1))
    compiler = backends.Jax(lambda M, X: jnp.sum(X @ M))
    for n in range(20, 29):
        compiler.programs(np.ones((3, 2)), np.ones((n, 3)))
    assert len(cleared) == 3


@pytest.mark.slow
@pytest.mark.parametrize("summed", [True, False])
def test_memory_of_many_shapes_is_bounded(summed):
    objective = ldr.objective(manifold="stiefel", sum_over_rows=summed)(
        lambda M, X: jnp.sum((X @ M) ** 4)
    )
    program = psutil.Process()
    resident = []
    for n in range(100, 220):
        bound(objective, data(n=n))
        resident.append(program.memory_info().rss / 2**20)
    assert resident[-1] - resident[20] < 100.0


def test_a_long_function_is_solved_without_its_hessian(monkeypatch):
    monkeypatch.setattr(backends, "LONG", 0)

    @ldr.objective(manifold="stiefel", sense="max")
    def again(M, X):
        return by_jax.function(M, X)

    found = ldr.solve(again, X, R, random_state=0)
    assert found.solver == "gradients-first"
    assert found.evaluations["hessian"] == 0
    assert found.evaluations["compilation"] == 1
    usual = ldr.solve(by_jax, X, R, random_state=0)
    assert found.value == pytest.approx(usual.value, rel=1e-12)
    assert found.certificate.kind == usual.certificate.kind == "local"
    assert found.certificate.curvature == pytest.approx(usual.certificate.curvature, rel=1e-5)
    forced = ldr.solve(again, X, R, random_state=0, solver="trust-region")
    assert forced.evaluations["compilation"] == 2
    # What is compiled costs no more.
    assert ldr.solve(again, X, R, random_state=0).solver == "trust-region"


def test_long_compiling_says_what_to_do(monkeypatch, caplog):
    monkeypatch.setattr(backends, "PATIENCE", 0.0)
    objective = ldr.objective(lambda M, X: jnp.mean((X @ M) ** 4))
    bound(objective)
    bound(objective, X[1:])
    (said,) = caplog.messages  # once
    assert "compiling objective '<lambda>'" in said
    assert "jax.lax.map" in said
    assert "backend='autograd'" in said
    assert "JAX_COMPILATION_CACHE_DIR" in said


def test_float32_data_are_computed_in_float64():
    single = X.astype(np.float32)
    M = np.eye(D)[:, :R]
    wide = bound(by_jax, single.astype(np.float64)).at(M).value
    assert bound(by_jax, single).at(M).value == wide


def test_autograd_calls_the_plain_function_for_values():
    calls = []

    @ldr.objective(manifold="auto", sense="max", backend="autograd")
    def counted(M, X):
        calls.append(type(M))
        return by_autograd.function(M, X)

    with pytest.warns(ConvergenceWarning):
        ldr.solve(counted, X, R, max_iterations=0, certify=False)
    plain = [kind for kind in calls if kind is np.ndarray]
    # M, MQ and a point ahead of M, then the start; a tape at M, and one at the start.
    assert (len(plain), len(calls) - len(plain)) == (4, 2)
    point = bound(counted).at(np.eye(D)[:, :R])
    calls.clear()
    assert np.isfinite(point.value)
    assert calls == [np.ndarray]
    assert point.gradient.shape == (D, R)
    assert len(calls) == 2


# y


def test_y_is_handed_over_as_an_array():
    seen = []

    def look(M, X, y):
        seen.append(y)
        return float(np.sum(M))

    objective = ldr.objective(
        manifold="stiefel", backend="numpy", gradient=lambda M, X, y: np.ones_like(M)
    )(look)
    assert objective.needs == ("response",)
    bound(objective, y=["a", "b"] * (N // 2))
    assert isinstance(seen[-1], np.ndarray) and seen[-1].shape == (N,)


@ldr.objective(manifold="stiefel", sense="max")
def covariance_with_y(M, X, y):
    return jnp.sum((X.T @ y) @ M) / len(y)


@pytest.mark.parametrize(
    ("y", "error", "words"),
    [
        (None, ArgumentError, "needs response: pass y="),
        (
            np.ones(N - 1),
            DataError,
            rf"y has shape \({N - 1},\), expected one entry for each of {N}",
        ),
        (3.0, DataError, "an entry for each sample, but is a float"),
        (np.full(N, np.nan), DataError, "y has NaN"),
        (np.array(["a", "b"] * (N // 2)), DataError, "jax takes numbers.*numpy.unique"),
    ],
)
def test_a_y_that_does_not_fit(y, error, words):
    with pytest.raises(error, match=words):
        ldr.solve(covariance_with_y, X, R, y=y)


# Messages of the decorator


def two(M, X):
    return np.sum(M)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"manifold": "sphere"}, "manifold must be one of 'auto', 'stiefel', .*got 'sphere'"),
        ({"sense": "up"}, "sense must be 'min' or 'max', got 'up'"),
        ({"backend": "torch"}, "backend must be one of 'jax', 'autograd', 'numpy', got 'torch'"),
        ({"backend": "numpy"}, r"'two' with backend='numpy' needs gradient=.*g\(M, X\)"),
        ({"gradient": two}, "gradient= requires backend='numpy'"),
        (
            {"backend": "numpy", "gradient": two, "hessian": 3},
            "hessian must be a function, got int",
        ),
        (
            {"backend": "numpy", "gradient": lambda M: M},
            r"the gradient <lambda>\(M\) has 1 parameters.*expected gradient\(M, X\)",
        ),
        (
            {"backend": "numpy", "gradient": two, "hessian": two},
            r"the hessian two\(M, X\) has 2 parameters.*expected hessian\(M, X, V\)",
        ),
        ({"center": 1}, "center must be True or False, got 1"),
        ({"sum_over_rows": "yes"}, "sum_over_rows must be True or False"),
    ],
)
def test_wrong_options(options, words):
    with pytest.raises(ArgumentError, match=words):
        ldr.objective(**options)(two)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda M: M, r"has 1 parameters .*, expected f\(M, X\) or f\(M, X, y\)"),
        (lambda M, X, y, z: M, "has 4 parameters"),
        (lambda M, X, *, y: M, "keyword-only"),
        ("stiefel", "must be given a function .* got str; pass options by keyword"),
        (dict, r"the signature of dict cannot be read: expected f\(M, X\) or f\(M, X, y\)"),
    ],
)
def test_wrong_functions(function, words):
    with pytest.raises(ArgumentError, match=words):
        ldr.objective(function)


# Messages at the door


WRONG_VALUES = [
    (lambda M, X: (X @ M)[0], rf"an array of shape \({R},\); expected one real number"),
    (lambda M, X: (X @ M)[:1, :1], r"an array of shape \(1, 1\)"),
    (lambda M, X: (X @ M).sum() + 0j, r"a complex number \(complex128\)"),
    (lambda M, X: None, r"None \(is a `return` missing\?\)"),
    (lambda M, X: (M.sum(), X.sum()), "a tuple"),
    (lambda M, X: (M > 0).sum(), "a value of type int"),
]


@pytest.mark.parametrize(("function", "words"), WRONG_VALUES)
@pytest.mark.parametrize("backend", ["jax", "autograd", "numpy"])
def test_a_value_that_is_no_scalar(function, words, backend):
    options = {"gradient": two} if backend == "numpy" else {}
    objective = ldr.objective(backend=backend, **options)(function)
    with pytest.raises(ObjectiveError, match=f"objective '<lambda>' returned {words}"):
        ldr.solve(objective, X, R)


@pytest.mark.parametrize(
    ("function", "manifold", "words"),
    [
        (
            lambda M, X: jnp.log(-jnp.sum(M**2)),
            "stiefel",
            "nan for a random orthonormal M of shape",
        ),
        (
            lambda M, X: jnp.log(-jnp.sum(M**2)),
            "euclidean",
            "nan for a random standard normal M of",
        ),
        (lambda M, X: jnp.sqrt(jnp.sum(M**2 * 0.0)), "auto", "gradient of .*'<lambda>' has NaN"),
    ],
)
def test_what_is_not_finite(function, manifold, words):
    with pytest.raises(ObjectiveError, match=words):
        ldr.solve(ldr.objective(function, manifold=manifold), X, R)


@pytest.mark.parametrize(
    ("function", "backend", "words"),
    [
        (lambda M, X: np.linalg.norm(X @ M), "jax", r"Use jax\.numpy.*'numpy'"),
        (lambda M, X: float(jnp.sum(X @ M)), "jax", r"Use jax\.numpy.*'numpy'"),
        (
            lambda M, X: jnp.sum(M) if jnp.sum(M) > 0 else -jnp.sum(M),
            "jax",
            r"Use jax\.numpy.*'numpy'",
        ),
        (lambda M, X: jnp.sum((X @ M)[X[:, 0] > 0] ** 2), "jax", r"Use jax\.numpy.*'numpy'"),
        (lambda M, X: float(anp.sum(anp.dot(X, M))), "autograd", r"use autograd\.numpy"),
        (
            lambda M, X: np.linalg.svd(X @ M, compute_uv=False).sum(),
            "autograd",
            r"use autograd\.numpy",
        ),
    ],
)
def test_what_a_backend_cannot_trace(function, backend, words):
    words = rf"cannot be traced by {backend}: .*{words}"
    with pytest.raises(ObjectiveError, match=words) as e:
        ldr.solve(ldr.objective(function, backend=backend), X, R)
    assert e.value.__cause__ is not None


def test_autograd_that_lost_track_of_M():
    @ldr.objective(backend="autograd")
    def constant(M, X):
        return float(np.sum(getattr(M, "_value", M)[0]))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # autograd's own
        with pytest.raises(ObjectiveError, match="disagrees with finite differences"):
            ldr.solve(constant, X, R)


def raising(M, X):
    raise ValueError("its own")


def test_an_error_while_autograd_traces_is_the_functions_own():
    @ldr.objective(backend="autograd")
    def wrong(M, X):
        return float(np.sum(X @ M)) if isinstance(M, np.ndarray) else raising(M, X)

    with pytest.raises(ValueError, match="its own"):
        ldr.solve(wrong, X, R)


@pytest.mark.parametrize(
    ("wrong", "error", "options"),
    [
        (lambda M, X: jnp.sum(M @ X), TypeError, {}),
        (raising, ValueError, {"backend": "autograd"}),
        (raising, ValueError, {"backend": "numpy", "gradient": raising}),
    ],
)
def test_another_error_of_the_function_keeps_its_type_and_gets_a_note(wrong, error, options):
    with pytest.raises(error) as e:
        ldr.solve(ldr.objective(**options)(wrong), X, R)
    assert (
        f"objective '{wrong.__name__}', called with arrays of shapes ({D}, {R}), ({N}, {D})"
        in str(e.value.__notes__)
    )


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"gradient": lambda M, X: fourth_power_gradient(M, X).T}, "gradient"),
        (
            {
                "gradient": fourth_power_gradient,
                "hessian": lambda M, X, V: fourth_power_hessian(M, X, V).T,
            },
            "Hessian product",
        ),
    ],
)
def test_a_derivative_of_the_wrong_shape(options, what):
    words = rf"the {what} of 'fourth_power' has shape \({R}, {D}\) and type float64, expected real"
    for call in (ldr.solve, ldr.check):
        with pytest.raises(ObjectiveError, match=words):
            call(numpy_objective(fourth_power, **options), X, R)


@pytest.mark.parametrize(
    "wrong", [lambda G: None, lambda G: "abc", lambda G: (1.0 + 0.0j) * G, lambda G: G.astype(str)]
)
def test_a_gradient_that_is_no_matrix_of_real_numbers(wrong):
    objective = numpy_objective(
        fourth_power, gradient=lambda M, X: wrong(fourth_power_gradient(M, X))
    )
    for call in (ldr.solve, ldr.check):
        with pytest.raises(ObjectiveError, match="expected real numbers of the shape of M"):
            call(objective, X, R)


@pytest.mark.parametrize("manifold", ["stiefel", "euclidean"])
def test_a_wrong_gradient(manifold):
    objective = numpy_objective(
        fourth_power, manifold=manifold, gradient=lambda M, X: 1.01 * fourth_power_gradient(M, X)
    )
    words = r"disagrees with finite differences.*relative error 9\.9e-03.*ldr\.check\(fourth_power"
    with pytest.raises(ObjectiveError, match=words):
        ldr.solve(objective, X, R)


def test_the_tests_at_the_door_pass_at_any_scale():
    for scale in (1e-8, 1e8):
        for objective in BACKENDS.values():
            bound(objective, scale * X)


def test_a_wrong_invariance():
    objective = ldr.objective(manifold="grassmann")(by_jax.function)
    words = r"declared on 'grassmann', but f\(MQ\) = .* and f\(M\) = .*solved on 'stiefel'"
    with pytest.warns(ObjectiveWarning, match=words):
        result = ldr.solve(objective, X, R, random_state=0)
    assert words.split(",")[0] in result.notes[0]
    on_stiefel = ldr.objective(manifold="stiefel")(by_jax.function)
    assert result.value == ldr.solve(on_stiefel, X, R, random_state=0).value


def test_sparse_rows_are_refused_where_they_cannot_be_taken():
    S = scipy.sparse.csr_array(X)
    for objective, words in (
        (by_jax, "takes dense arrays: densify X, or write a numpy objective with center=False"),
        (by_autograd, "takes dense arrays"),
        (by_hand, "centring it .* densify X, or declare center=False"),
    ):
        with pytest.raises(DataError, match=words):
            ldr.solve(objective, S, R)


STEPS = {
    "count": lambda np, M, X: np.sum(np.where(X @ M > 0, 1.0, 0.0)),
    "floor": lambda np, M, X: np.sum(np.floor(X @ M)),
    "comparison": lambda np, M, X: np.mean(np.abs(X @ M) > 1.0),
}


@pytest.mark.filterwarnings("ignore:Output seems independent of input")
@pytest.mark.parametrize("starts", [None, 3])
@pytest.mark.parametrize("backend", ["jax", "autograd", "numpy"])
@pytest.mark.parametrize("steps", STEPS)
def test_a_function_without_a_slope_is_not_converged(steps, backend, starts):
    numpy = {"jax": jnp, "autograd": anp, "numpy": np}[backend]
    gradient = {"gradient": lambda M, X: 0.0 * M} if backend == "numpy" else {}

    @ldr.objective(manifold="stiefel", backend=backend, **gradient)
    def own(M, X):
        return STEPS[steps](numpy, M, X)

    X = np.random.default_rng(0).standard_normal((50, 5))
    with pytest.warns(ldr.errors.ConvergenceWarning, match="the gradient is zero at random"):
        result = ldr.solve(own, X, 2, starts=starts, random_state=0)
    assert result.status is ldr.solvers.Status.FLAT and not result.converged
    assert result.certificate.kind == "none"


def test_what_is_constant_or_starts_at_its_optimum_is_converged():
    X = np.random.default_rng(0).standard_normal((50, 5))

    @ldr.objective(manifold="stiefel", backend="numpy", gradient=lambda M, X: 2 * M)
    def constant(M, X):
        return np.sum(M**2)

    assert ldr.solve(constant, X, 2).status is ldr.solvers.Status.CONVERGED
    pca = ldr.solve("pca", X, 2, solver="trust-region")
    assert pca.status is ldr.solvers.Status.CONVERGED and pca.iterations == 0


A_HESSIAN = {
    "right": lambda C, V: -2 * C @ V,
    "scaled": lambda C, V: -4 * C @ V,
    "of the other sign": lambda C, V: 2 * C @ V,
    "not symmetric": lambda C, V: -2 * np.triu(C) @ V,
    "zero": lambda C, V: 0.0 * V,
}


@pytest.mark.parametrize("given", A_HESSIAN)
@pytest.mark.parametrize("rows", [False, True])
def test_a_wrong_hessian_is_noticed(given, rows):
    X = np.random.default_rng(0).standard_normal((60, 5)) * np.arange(1, 6)

    @ldr.objective(
        backend="numpy",
        manifold="grassmann",
        gradient=lambda M, X: -2 * X.T @ (X @ M),
        hessian=lambda M, X, V: A_HESSIAN[given](X.T @ X, V),
        sum_over_rows=rows,
    )
    def variance(M, X):
        return -np.sum((X @ M) ** 2)

    if given == "right":
        assert ldr.solve(variance, X, 2).converged
        return
    with pytest.raises(ObjectiveError, match=r"Hessian product .* disagrees .* ldr.check\("):
        ldr.solve(variance, X, 2)
    assert not ldr.check(variance, X, 2).passed


def spoiling(M, *rest):
    M[:] = 0.0


@pytest.mark.parametrize("backend", ["jax", "autograd", "numpy"])
@pytest.mark.parametrize("what", ["function", "gradient", "hessian", "direction", "response"])
def test_arguments_cannot_be_written_to(backend, what):
    if backend != "numpy" and what not in ("function", "response"):
        pytest.skip("derived")
    X, y = np.random.default_rng(0).standard_normal((2, 20, 4))
    y = y[:, 0].copy()
    before = y.copy()

    def function(M, X, y):
        if what == "function":
            spoiling(M)
        if what == "response":
            spoiling(y)
        return -((X @ M) ** 2).sum()

    def gradient(M, X, y):
        if what == "gradient":
            spoiling(M)
        return -2 * X.T @ (X @ M)

    def hessian(M, X, y, V):
        if what in ("hessian", "direction"):
            spoiling(M if what == "hessian" else V)
        return -2 * X.T @ (X @ V)

    derived = {"gradient": gradient, "hessian": hessian} if backend == "numpy" else {}
    own = ldr.objective(manifold="grassmann", backend=backend, **derived)(function)
    with pytest.raises(ObjectiveError, match=r"changes its arguments in place.*M = M.copy\(\)"):
        ldr.solve(own, X, 2, y=y)
    np.testing.assert_array_equal(y, before)


# Sums over rows


def test_folds_of_a_sum_over_rows_need_no_compiling():
    @ldr.objective(manifold="stiefel", sense="max", sum_over_rows=True)
    def summed(M, X):
        return jnp.sum((X @ M) ** 4)

    ldr.solve(summed, X, R, random_state=0)
    fold = X[:47]
    with compilations() as tally:
        found = ldr.solve(summed, fold, R, random_state=0)
        weighted = ldr.solve(summed, fold, R, random_state=0, sample_weight=np.ones(47))
    assert tally == {}
    whole = ldr.solve(summed, np.vstack([X] * 20), R, random_state=0, max_iterations=1000)
    plain = ldr.solve(by_jax, fold, R, random_state=0)
    assert found.value == pytest.approx(fold.size / D * R * plain.value, rel=1e-12)
    assert found.value == weighted.value
    assert whole.converged


def test_a_sum_over_pairs_of_rows_is_no_sum_over_rows():
    @ldr.objective(sum_over_rows=True)
    def pairs(M, X):
        return jnp.sum(((X[: len(X) // 2 * 2 : 2] - X[1::2]) @ M) ** 2)

    with pytest.raises((ObjectiveError, TypeError)):
        ldr.solve(pairs, X, R)
