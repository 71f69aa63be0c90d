"""Objectives that need the rows at every step: read piece by piece, the same as in memory."""

import itertools
import pickle
from functools import cache, partial
from weakref import WeakValueDictionary

import autograd.numpy as anp
import cloudpickle
import jax.numpy as jnp
import numpy as np
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
from ldr.objectives.custom import by_value
from ldr.objectives.custom.problem import FunctionTerm
from ldr.objectives.data import data as samples_module
from ldr.objectives.data import memory
from ldr.objectives.data.data import Data
from ldr.objectives.data.opening import as_samples
from ldr.objectives.families import pairwise
from ldr.objectives.families.row_sum import InPieces
from ldr.objectives.registry import named
from ldr.solvers import LBFGS, SVRG, Stopping, Sum, minimise
from ldr.solvers.problem import RiemannianProblem
from ldr.testing import rayleigh, symmetry_error, taylor_slopes
from tests.objectives.methods import bound

N, D, R = 350, 6, 2
solve = partial(ldr.solve, certify=False)
PIECE_ROWS = 75


@pytest.fixture(autouse=True)
def short_pieces(monkeypatch):
    monkeypatch.setattr(samples_module, "BLOCK_NUMBERS", D * PIECE_ROWS)


def heavy_tails(seed=0, n=N):
    """Independent sources, of heavier and of lighter tails, mixed; far from zero."""
    rng = np.random.default_rng(seed)
    S = np.hstack([rng.laplace(size=(n, 3)), rng.uniform(-1, 1, size=(n, D - 3))])
    return S @ rng.standard_normal((D, D)) + 20.0


X = heavy_tails()
Y = np.random.default_rng(1).integers(0, 3, N)


def with_gaps(seed=2):
    """Two factors and noise, a sixth of the entries missing."""
    rng = np.random.default_rng(seed)
    factors = 2 * rng.standard_normal((N, R)) @ rng.standard_normal((R, D))
    rows = factors + rng.uniform(0.5, 1.0, D) * rng.standard_normal((N, D)) + 5.0
    gaps = rng.random(rows.shape) < 0.15
    gaps[:, 0] = False
    return np.where(gaps, np.nan, rows)


GAPS = with_gaps()


@pytest.fixture
def saved(tmp_path):
    """A function that puts rows into a file."""

    def save(rows):
        np.save(tmp_path / "rows.npy", rows)
        return str(tmp_path / "rows.npy")

    return save


# Built-in objectives

BUILT_IN = {
    "uica": (X, {}),
    "uica student": (X, {"expert": "student-t", "degrees": 4.0}),
    "ica": (X, {}),
    "ica kurtosis": (X, {"contrast": "kurtosis"}),
    "robust-pca": (X, {}),
    "robust-pca huber": (X, {"loss": "huber"}),
    "robust-pca threshold": (X, {"loss": "huber", "threshold": 2.0}),
    "robust-pca sphere": (X, {"sphere": True}),
    "ppca": (GAPS, {}),
    "fa": (GAPS, {}),
}


SAME_PROGRAM = {"uica student", "ica kurtosis", "robust-pca huber", "robust-pca threshold", "fa"}


@pytest.fixture(
    params=[pytest.param(key, marks=[pytest.mark.slow] * (key in SAME_PROGRAM)) for key in BUILT_IN]
)
def built_in(request):
    """An objective and its rows."""
    rows, parameters = BUILT_IN[request.param]
    return named(request.param.split()[0], **parameters), rows


def test_built_in_objectives_are_those_of_memory_and_have_derivatives(built_in, saved):
    objective, rows = built_in
    here, there = bound(objective, rows), bound(objective, saved(rows))
    start = here.lift(here.random_point(np.random.default_rng(0)))
    points = [problem.at(problem.lower(start)) for problem in (here, there)]
    assert (type(here), type(points[0])) != (type(there), type(points[1]))
    assert points[0].value == pytest.approx(points[1].value, rel=1e-10)
    rng = np.random.default_rng(1)
    assert taylor_slopes(there, points[1].M, rng) == pytest.approx((2, 3), abs=0.1)
    assert symmetry_error(there, points[1].M, rng) < 1e-8
    baselines = [problem.value(problem.baseline()) for problem in (here, there)]
    # Of robust-pca, fewer steps of reweighting.
    assert baselines[0] == pytest.approx(baselines[1], rel=1e-6)


def test_built_in_objectives_reach_the_optimum_of_memory(built_in, saved):
    objective, rows = built_in
    here = solve(objective, rows, R, starts=1)
    there = solve(objective, saved(rows), R, starts=1)
    assert here.converged and there.converged
    assert here.value == pytest.approx(there.value, rel=1e-10)
    np.testing.assert_allclose(here.mean, there.mean, rtol=1e-7)


def test_every_start_of_memory_is_there(built_in, saved):
    objective, rows = built_in
    here, there = bound(objective, rows), bound(objective, saved(rows))
    found = {name for name in here.starts() if not name.startswith("random direction")}
    assert found <= set(there.starts())  # random directions are drawn of rows in memory alone
    for M in there.starts().values():
        assert np.isfinite(there.value(M))


def test_value_and_gradient_take_one_pass_together_and_a_product_another(saved):
    samples = as_samples(saved(X))
    problem = named("uica").bind(Data((samples,)), R)
    M = problem.random_point(np.random.default_rng(0))
    point, before = problem.at(M), samples.passes
    assert point.value is not None and point.gradient is not None and point.value is not None
    assert samples.passes == before + 1
    point.hessian_vector(M)
    assert samples.passes == before + 2


@pytest.mark.parametrize("stream", [False, True])
def test_a_run_counts_its_passes(saved, stream):
    samples = as_samples((lambda: np.array_split(X, 5)) if stream else saved(X))
    problem = named("uica").bind(Data((samples,)), R)
    start, before = problem.random_point(np.random.default_rng(0)), samples.passes
    run = minimise(problem, start, LBFGS())
    assert run.evaluations["value"] == samples.passes - before
    start, before = problem.random_point(np.random.default_rng(1)), samples.passes
    run = minimise(problem, start, SVRG())
    assert samples.passes - before == pytest.approx(2 * run.iterations + 1)


@pytest.mark.parametrize("name", ["uica", "robust-pca", "ppca"])
def test_parts_add_up(name, saved):
    problem = bound(named(name), saved(BUILT_IN[name][0]))
    assert isinstance(problem, Sum) and problem.parts > 3
    M = problem.random_point(np.random.default_rng(0))
    V = np.random.default_rng(1).standard_normal(M.shape)
    order = np.random.default_rng(2)
    whole, parts = problem.at(M), [part.at(M) for part in problem.each_part(order)]
    assert len(parts) == problem.parts
    assert next(problem.each_part(order)).has_hessian == problem.has_hessian
    assert sum(part.value for part in parts) == pytest.approx(whole.value, rel=1e-12)
    for of_parts, of_whole in (
        (sum(part.gradient for part in parts), whole.gradient),
        (sum(part.hessian_vector(V) for part in parts), whole.hessian_vector(V)),
    ):
        np.testing.assert_allclose(of_parts, of_whole, atol=1e-10 * np.abs(of_whole).max())


def test_terms_can_be_pickled(built_in, saved):
    objective, rows = built_in
    problem = bound(objective, saved(rows))
    term = cloudpickle.loads(cloudpickle.dumps(problem.term))
    M = problem.random_point(np.random.default_rng(0))
    piece = problem.samples.piece(slice(0, 50))
    for found, expected in zip(term.first(M, piece), problem.term.first(M, piece), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_expectation_maximisation_in_pieces(saved):
    for name in ("ppca", "fa"):
        here, there = bound(named(name), GAPS), bound(named(name), saved(GAPS))
        M = here.baseline()
        np.testing.assert_allclose(there.em_step(M), here.em_step(M), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(there.imputed(M), here.imputed(M), rtol=1e-9, atol=1e-9)


def test_missing_values_in_a_file(saved):
    with pytest.raises(DataError, match=r"NaN or infinite value\(s\), the first in row"):
        solve("pca", saved(GAPS), R)
    rows = GAPS.copy()
    rows[[200, 300]] = np.nan
    with pytest.raises(DataError, match=r"2 row\(s\) with only missing entries.* row 200"):
        solve("ppca", saved(rows), R)
    rows = GAPS.copy()
    rows[:, 4] = np.nan
    with pytest.raises(DataError, match=r"1 column\(s\) with only missing entries.* column 4"):
        solve("fa", saved(rows), R)
    rows = GAPS.copy()
    rows[:, 3:] = np.nan
    rows[2, 5] = np.inf
    with pytest.raises(DataError, match="infinite value"):
        solve("ppca", saved(rows), R)


def test_rows_that_are_all_equal(saved):
    with pytest.raises(DataError, match="all rows of X are equal"):
        solve("robust-pca", saved(np.ones((300, D))), R)


# Objectives of pairs, in batches


@pytest.mark.parametrize(
    ("name", "y", "scale"), [("nca", Y, 1e-3), ("lmnn", Y, 1e-2), ("mds-stress", None, 1.0)]
)
def test_a_single_batch_is_the_objective_itself(name, y, scale, saved, monkeypatch):
    monkeypatch.setattr(samples_module, "BLOCK_NUMBERS", D * N)
    monkeypatch.setattr(pairwise, "BATCH_ROWS", N)
    rows, y = X[:200], None if y is None else y[:200]
    here, there = bound(named(name), rows, y=y), bound(named(name), saved(rows), y=y)
    assert isinstance(there, InPieces)
    M = here.lift(here.random_point(np.random.default_rng(0)))[0] * scale
    points = [problem.at(problem.lower([M])) for problem in (here, there)]
    values = [p.reported(q.value) for p, q in zip((here, there), points, strict=True)]
    assert values[0] == pytest.approx(values[1], rel=1e-10)


@pytest.mark.parametrize(
    ("name", "y"),
    [("nca", Y), pytest.param("lmnn", Y, marks=pytest.mark.slow), ("mds-stress", None)],
)
def test_batches(name, y, saved, monkeypatch):
    monkeypatch.setattr(pairwise, "BATCH_ROWS", 50)
    path = saved(X[:120] / X.std(axis=0))
    y = None if y is None else y[:120]
    problem = bound(named(name), path, y=y)
    rng = np.random.default_rng(0)
    slopes = taylor_slopes(problem, problem.baseline(), rng)
    assert slopes[0] == pytest.approx(2, abs=0.1)
    with pytest.warns(ConvergenceWarning, match="iteration limit"):
        result = solve(name, path, R, y=y, starts=1, max_iterations=2)
    assert abs(result.value) > 0 and result.improvement >= 0
    assert any("counts the pairs within batches of 50 rows" in note for note in result.notes)


@pytest.mark.parametrize(("name", "y"), [("gkdr", Y), ("exponential-family-pca", None)])
def test_few_rows_of_a_file_are_taken_whole(name, y, saved):
    rows = X if y is not None else (X > X.mean(axis=0)).astype(float)
    assert solve(name, saved(rows), R, y=y).value == pytest.approx(
        solve(name, rows, R, y=y).value, rel=1e-12
    )


@pytest.mark.parametrize(("name", "y"), [("sdr", Y), ("hsic", Y), ("hsic", None)])
def test_gram_matrices_of_a_sample(name, y, saved, monkeypatch):
    monkeypatch.setattr(pairwise, "WIDE", 200)
    with pytest.warns(ConvergenceWarning, match="iteration limit"):
        result = solve(name, saved(X), R, y=y, starts=1, max_iterations=3)
    assert f"{name} was solved on a random sample of 200 of {N} rows" in result.notes
    np.testing.assert_allclose(result.mean, X.mean(axis=0))
    if y is not None:
        with pytest.raises(DataError, match=r"y has shape \(349,\)"):
            solve(name, saved(X), R, y=y[1:])


# Objectives of one's own


def spread(M, X):
    return jnp.sum(jnp.log1p(jnp.sum((X @ M) ** 2, axis=1)))


def spread_of(xp):
    def spread(M, X):
        return xp.sum(xp.log1p(xp.sum(xp.dot(X, M) ** 2, axis=1)))

    return spread


def spread_gradient(M, X):
    P = X @ M
    return X.T @ (2 * P / (1 + np.sum(P**2, axis=1))[:, None])


def spread_hessian(M, X, V):
    P, dP = X @ M, X @ V
    s = 1 + np.sum(P**2, axis=1)[:, None]
    return X.T @ (2 * dP / s - 4 * P * np.sum(P * dP, axis=1)[:, None] / s**2)


OPTIONS = {"sense": "max", "manifold": "grassmann", "sum_over_rows": True}
OWN = {
    "jax": ldr.objective(**OPTIONS)(spread_of(jnp)),
    "autograd": ldr.objective(**OPTIONS, backend="autograd")(spread_of(anp)),
    "numpy": ldr.objective(
        **OPTIONS, backend="numpy", gradient=spread_gradient, hessian=spread_hessian
    )(spread_of(np)),
    "no Hessian": ldr.objective(**OPTIONS, backend="numpy", gradient=spread_gradient)(
        spread_of(np)
    ),
}


@cache
def in_memory():
    """The optimum, by one call with all rows."""
    plain = ldr.objective(sense="max", manifold="grassmann")(spread)
    return solve(plain, X, R, random_state=0)


@pytest.mark.parametrize(
    "backend",
    [pytest.param(name, marks=[pytest.mark.slow] * (name == "autograd")) for name in OWN],
)
def test_own_sums_are_the_same_everywhere(backend, saved, monkeypatch):
    pieces = solve(OWN[backend], X, R, random_state=0)  # longer than a piece
    from_file = solve(OWN[backend], saved(X), R, random_state=0)
    monkeypatch.setattr(samples_module, "BLOCK_NUMBERS", D * N)
    at_once = solve(OWN[backend], X, R, random_state=0)
    for result in (pieces, from_file, at_once):
        assert result.converged
        assert result.value == pytest.approx(in_memory().value, rel=1e-10)
        np.testing.assert_allclose(result.mean, X.mean(axis=0))


@pytest.mark.parametrize("backend", ["jax", "autograd", "numpy"])
def test_own_derivatives_are_the_formulas(backend, saved):
    problem = bound(OWN[backend], saved(X))
    rng = np.random.default_rng(0)
    M, V = problem.random_point(rng), rng.standard_normal((D, R))
    point, Z = problem.at(M), X - X.mean(axis=0)
    assert point.value == pytest.approx(-spread_of(np)(M, Z), rel=1e-12)
    np.testing.assert_allclose(point.gradient, -spread_gradient(M, Z), rtol=1e-9)
    np.testing.assert_allclose(point.hessian_vector(V), -spread_hessian(M, Z, V), rtol=1e-9)


def test_own_sum_is_compiled_once_a_shape(saved):
    traced = []

    @ldr.objective(manifold="stiefel", sum_over_rows=True)
    def traced_sum(M, X):
        traced.append(X.shape)
        return jnp.sum(jnp.logaddexp(X @ M, -(X @ M)))

    result = solve(traced_sum, saved(X), R, solver="lbfgs", random_state=0)
    assert result.evaluations["value"] > 10
    # Tests look at 256 rows, one and the others; a shape is traced a few times: shape, gradient,
    # Hessian.
    lengths = {shape[0] for shape in traced}
    assert lengths == {1, 255, 256, PIECE_ROWS, N % PIECE_ROWS}
    assert len(traced) < 20


def test_y_is_cut_beside_the_rows(saved):
    y = X @ np.arange(D) + np.random.default_rng(3).standard_normal(N)

    def slope(M, X, y):
        return -2 * X.T @ (y[:, None] - X @ M)

    @ldr.objective(manifold="euclidean", sum_over_rows=True, backend="numpy", gradient=slope)
    def squares(M, X, y):
        return np.sum((y[:, None] - X @ M) ** 2)

    expected = np.linalg.lstsq(X - X.mean(axis=0), y, rcond=None)[0]
    result = solve(squares, saved(X), 1, y=y, random_state=0)
    np.testing.assert_allclose(result.M[:, 0], expected, rtol=1e-6)
    with pytest.raises(DataError, match="y has shape"):
        solve(squares, saved(X), 1, y=y[1:])


def test_uncentred_rows(saved):
    uncentred = ldr.objective(**OPTIONS, center=False, backend="numpy", gradient=spread_gradient)(
        spread_of(np)
    )
    result = solve(uncentred, saved(X), R, random_state=0)
    np.testing.assert_array_equal(result.mean, 0)
    assert result.value == pytest.approx(spread_of(np)(result.M, X), rel=1e-12)


def test_automatic_manifold_and_wrong_claims(saved):
    def rotated(M, X):
        return jnp.sum(jnp.logaddexp(X @ M, -(X @ M)))

    for function, manifold in ((spread, "grassmann"), (rotated, "stiefel")):
        automatic = ldr.objective(sum_over_rows=True)(function)
        problem = bound(automatic, saved(X))
        assert type(problem.manifold).__name__.lower() == manifold
        assert any(manifold in note for note in problem.views[0].notes)
    with pytest.warns(ObjectiveWarning, match="declared on 'grassmann'"):
        problem = bound(ldr.objective(manifold="grassmann", sum_over_rows=True)(rotated), saved(X))
    assert type(problem.manifold).__name__ == "Stiefel"


def test_what_is_no_sum_is_refused(saved):
    @ldr.objective(manifold="grassmann", sum_over_rows=True)
    def mean_spread(M, X):
        return jnp.mean(jnp.sum((X @ M) ** 2, axis=1))

    for rows in (X, saved(X)):
        with pytest.raises(ObjectiveError, match=r"f\(M, X\) = .* f\(M, X1\) \+ f\(M, X2\) = "):
            solve(mean_spread, rows, R)

    @ldr.objective(manifold="grassmann", sum_over_rows=True)
    def with_a_constant(M, X):
        return 1.0 + jnp.sum((X @ M) ** 2)

    with pytest.raises(ObjectiveError, match="sum_over_rows=True"):
        solve(with_a_constant, saved(X), R)


def test_a_wrong_gradient_is_found_on_some_rows(saved):
    wrong = ldr.objective(
        **OPTIONS, backend="numpy", gradient=lambda M, X: 1.1 * spread_gradient(M, X)
    )(spread_of(np))
    samples = as_samples(saved(X))
    with pytest.raises(ObjectiveError, match="disagrees with finite differences"):
        wrong.bind(Data((samples,)), R)
    assert samples.passes < 2  # the mean's, and 200 rows
    assert not ldr.check(wrong, saved(X), R).passed


def test_all_rows_at_once_are_refused_where_they_do_not_fit(saved, monkeypatch):
    monkeypatch.setattr(memory, "SMALL", 0)
    monkeypatch.setattr(memory, "available", lambda: (2000.0, "a small machine"))
    with pytest.raises(DataError, match="sum_over_rows=True"):
        solve(ldr.objective(manifold="grassmann")(spread), saved(X), R)
    assert solve(OWN["numpy"], saved(X), R, random_state=0).converged


def test_own_terms_are_pickled_by_value_and_compiled_once(saved, monkeypatch):
    scale = 2.0

    @ldr.objective(manifold="stiefel", sum_over_rows=True)
    def local(M, X):
        return scale * jnp.sum((X @ M) ** 2)

    problem = bound(local, saved(X))
    M = problem.random_point(np.random.default_rng(0))
    piece = problem.samples.piece(slice(0, 50))
    weighted = FunctionTerm(local, problem.term.means, weighted=True)
    expected = [term.first(M, piece)[0] for term in (problem.term, weighted)]
    pickled = [cloudpickle.dumps(term) for term in (problem.term, problem.term, weighted)]
    monkeypatch.setattr(by_value, "_known", WeakValueDictionary())  # as in another process
    *terms, weighted = map(pickle.loads, pickled)
    assert terms[0].objective is terms[1].objective is weighted.objective is not local
    assert [term.first(M, piece)[0] for term in (terms[0], weighted)] == expected
    assert isinstance(terms[0], FunctionTerm)


def test_sparse_rows_are_taken_at_once():
    kept = scipy.sparse.random_array((300, D), density=0.3, rng=0, format="csr")
    own = ldr.objective(**OPTIONS, backend="numpy", gradient=spread_gradient, center=False)(
        lambda M, X: float(np.sum(np.log1p(np.sum((X @ M) ** 2, axis=1))))
    )
    result = solve(own, kept, R, random_state=0)
    assert result.value == pytest.approx(
        solve(own, kept.toarray(), R, random_state=0).value, rel=1e-8
    )


# The stochastic solver


@pytest.mark.parametrize("backend", [pytest.param("jax", marks=pytest.mark.slow), "no Hessian"])
def test_stochastic_optimum_of_own_sums(backend, saved):
    result = solve(OWN[backend], saved(X), R, solver="svrg", random_state=0)
    assert result.converged and result.solver == "svrg"
    assert result.value == pytest.approx(in_memory().value, rel=1e-10)
    assert result.evaluations["part gradient"] > 0


def test_stochastic_optimum_in_memory(monkeypatch):
    monkeypatch.setattr(samples_module, "BLOCK_NUMBERS", D * N)
    result = solve(OWN["numpy"], X, R, solver="svrg", random_state=0)
    assert result.converged
    assert result.value == pytest.approx(in_memory().value, rel=1e-10)


@pytest.mark.parametrize(
    "name", ["robust-pca", *(pytest.param(k, marks=pytest.mark.slow) for k in ("uica", "ppca"))]
)
def test_stochastic_optimum_of_built_in_objectives(name, saved):
    path = saved(BUILT_IN[name][0])
    results = [solve(name, path, R, starts=1, solver=solver) for solver in ("lbfgs", "svrg")]
    assert results[0].value == pytest.approx(results[1].value, rel=1e-10)


def test_stochastic_solver_takes_back_what_rises(saved, monkeypatch):
    """With far too long steps it still ends at the optimum, at a lower rate."""
    monkeypatch.setattr("ldr.solvers.stochastic._FIRST_RATE", 30.0)
    problem = bound(OWN["numpy"], saved(X))
    start = problem.random_point(np.random.default_rng(0))
    states = SVRG().states(RiemannianProblem(problem), start, Stopping())
    visited = list(itertools.islice(states, 20))
    values = [state.point.value for state in visited]
    assert visited[-1].rate < 30.0
    assert values[-1] < values[0]
    reference = minimise(problem, start, LBFGS()).value
    assert minimise(problem, start, SVRG()).value == pytest.approx(reference, rel=1e-8)


@pytest.mark.parametrize("problem", ["ica", "pca", "nca"])
def test_what_is_no_sum_has_no_stochastic_solver(problem, saved):
    with pytest.raises(ArgumentError, match="'svrg' minimises sums over rows"):
        solve(problem, saved(X), R, y=Y, solver="svrg", starts=1)
    with pytest.raises(ArgumentError, match="'svrg' minimises sums over rows"):
        minimise(rayleigh(), np.eye(*rayleigh().manifold.shape), SVRG())


@pytest.mark.slow
def test_two_hundred_thousand_rows(tmp_path, monkeypatch):
    """uica and a sum of one's own, in pieces of 2^16 rows, against memory."""
    n, d, r = 200_000, 20, 3
    rng = np.random.default_rng(0)
    S = np.hstack([rng.laplace(size=(n, 5)), rng.standard_normal((n, d - 5))])
    rows = (S @ rng.standard_normal((d, d)) + 5.0).astype(np.float32)
    np.save(tmp_path / "rows.npy", rows)
    monkeypatch.setattr(samples_module, "BLOCK_NUMBERS", d * 2**16)
    own = ldr.objective(**OPTIONS)(spread)
    plain = ldr.objective(sense="max", manifold="grassmann")(spread)
    path = str(tmp_path / "rows.npy")
    for there, here in ((own, plain), ("uica", "uica")):
        results = [
            solve(objective, X, r, starts=1, random_state=0, solver=solver)
            for objective, X, solver in (
                (here, rows, "auto"),
                (there, path, "auto"),
                (there, path, "svrg"),
            )
        ]
        for result in results[1:]:
            assert result.value == pytest.approx(results[0].value, rel=1e-10)
