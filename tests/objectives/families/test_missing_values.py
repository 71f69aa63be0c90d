"""Missing entries: the likelihood of what was observed, by EM and by every solver; imputation."""

import re
from functools import cache

import numpy as np
import pandas
import polars
import pytest
import scipy.optimize
import scipy.sparse
from scipy.linalg import subspace_angles
from scipy.stats import multivariate_normal

import ldr
from ldr.errors import ArgumentError, DataError, SingularError
from ldr.objectives.data.opening import as_samples
from ldr.objectives.families.factors import incomplete
from ldr.solvers.status import Status
from tests import real_data
from tests.objectives import methods

WINE = real_data.wine()[0]
NAMES = ["ppca", "fa"]


def with_gaps(X, share=0.15, seed=0):
    gaps = np.random.default_rng(seed).random(X.shape) < share
    gaps[: X.shape[1], :] = False  # some complete rows
    return np.where(gaps, np.nan, X)


X = with_gaps(WINE)


def log_likelihoods(X, mean, S):
    """Of the observed entries of each row, from the definition."""
    observed = ~np.isnan(X)
    logs = np.empty(len(X))
    for o in np.unique(observed, axis=0):
        rows = (observed == o).all(axis=1)
        part, deviations = S[np.ix_(o, o)], (X[rows] - mean)[:, o]
        squares = np.sum(deviations * np.linalg.solve(part, deviations.T).T, axis=1)
        logs[rows] = -0.5 * (np.linalg.slogdet(2 * np.pi * part)[1] + squares)
    return logs


@pytest.mark.parametrize("name", NAMES)
def test_few_missing_entries_take_few_steps_whatever_their_patterns(name, tmp_path):
    """Without Hessian products, and of a file with two passes each."""
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((1500, 3)) @ rng.standard_normal((3, 12))
    Z = with_gaps(Z + rng.standard_normal(Z.shape), 0.05)
    second = ldr.solve(name, Z, 3, solver="trust-region")
    result = ldr.solve(name, Z, 3)
    assert result.solver == "imputation" and result.converged
    assert result.value == pytest.approx(second.value, rel=1e-10)
    assert np.all(np.diff(result.history["value"]) <= 1e-12 * abs(result.value))
    assert result.iterations <= 12 and result.evaluations["hessian"] == 0
    np.save(tmp_path / "Z.npy", Z)
    of_file = ldr.solve(name, tmp_path / "Z.npy", 3, starts=1, certify=False)
    assert of_file.value == pytest.approx(second.value, rel=1e-10)
    assert of_file.evaluations["passes"] <= 2 * of_file.iterations + 8


def test_where_much_is_missing_second_order_steps_go_on():
    Z = with_gaps(X, 0.4)
    result = ldr.solve("fa", Z, 2, starts=1)
    assert result.solver == "imputation" and result.converged
    assert result.evaluations["hessian"] > 0
    second = ldr.solve("fa", Z, 2, starts=1, solver="trust-region")
    assert result.value == pytest.approx(second.value, rel=1e-10)


def test_a_column_without_noise_costs_the_others_no_digits():
    """The ash of wine has a noise variance at the bound, 1e-6 of its variance."""
    Z = np.where(np.random.default_rng(0).random(WINE.shape) < 0.15, np.nan, WINE)
    result = ldr.solve("fa", Z, 3)
    assert result.status is Status.CONVERGED
    assert any("Heywood" in note for note in result.notes)
    model = result.model
    exact = log_likelihoods(Z, model.mean, model_covariance(model)).sum()
    assert model.log_likelihood == pytest.approx(exact, rel=1e-9)


@pytest.mark.filterwarnings("ignore::ldr.errors.ConvergenceWarning")
def test_collinear_columns_with_gaps_are_solved_in_few_steps():
    """Radius, perimeter and area: the Hessian of M in the columns' units takes 1000 and more.

    Rounding decides how many steps the last digits take: 74 to 810 in all, by processor, of which
    42 at most lead to 1e-11 of the value where they end.
    """
    Z = with_gaps(real_data.breast_cancer()[0])
    result = ldr.solve("fa", Z, 3, starts=1, max_iterations=60, certify=False)
    assert -result.value == pytest.approx(9215.220984802, rel=1e-10)


def model_covariance(model):
    return model.loadings @ model.loadings.T + np.diag(model.noise)


def small():
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((60, 1)) @ rng.uniform(0.5, 1.5, (1, 4))
    return with_gaps(rows + rng.standard_normal((60, 4)), 0.25)


@cache
def maximum_by_scipy(tied):
    """The observed-data log-likelihood over mean, M and log psi, by BFGS with differences."""
    X, r = small(), 1
    d = X.shape[1]
    k = 1 if tied else d

    def negative(theta):
        mean, M, t = np.split(theta, [d, d + d * r])
        M = M.reshape(d, r)
        return -log_likelihoods(X, mean, M @ M.T + np.diag(np.broadcast_to(np.exp(t), d))).sum()

    start = np.concatenate([np.nanmean(X, axis=0), np.full(d * r, 0.5), np.zeros(k)])
    return -scipy.optimize.minimize(negative, start, method="BFGS", options={"gtol": 1e-4}).fun


@pytest.mark.parametrize("solver", ["auto", "em"])
@pytest.mark.parametrize("name", NAMES)
def test_the_maximum_is_that_of_an_independent_implementation(name, solver):
    rows = small()
    best = maximum_by_scipy(name == "ppca")
    result = ldr.solve(name, rows, 1, solver=solver)
    assert -result.value == pytest.approx(best, abs=1e-6)
    model = result.model
    direct = log_likelihoods(rows, model.mean, model_covariance(model))
    np.testing.assert_allclose(model.score_samples(rows), direct, rtol=1e-10)
    assert model.log_likelihood == pytest.approx(direct.sum(), rel=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_em_is_monotone_at_every_step_and_every_solver_agrees(name):
    em = ldr.solve(name, X, 2, solver="em")
    values = np.array(em.history["value"])
    assert len(values) > 20 and values[0] - values[-1] > 1
    assert np.all(np.diff(values) <= 1e-12 * abs(values[0]))
    for solver, start in (("auto", "baseline"), ("lbfgs", "baseline"), ("trust-region", "random")):
        other = ldr.solve(name, X, 2, solver=solver, start=start, random_state=0)
        assert other.converged
        assert other.value == pytest.approx(em.value, rel=1e-9)
        np.testing.assert_allclose(other.mean, em.mean, atol=1e-4)
    assert em.improvement > 0


@pytest.mark.parametrize("name", NAMES)
def test_with_nothing_missing_it_is_the_complete_problem(name):
    from ldr.objectives import Data
    from ldr.objectives.data.opening import as_samples

    complete = ldr.solve(name, WINE, 2)
    problem = incomplete(complete.objective, as_samples(WINE), 2, tied=name == "ppca")
    whole = complete.objective.bind(Data((as_samples(WINE),)), 2)
    M = whole.random_point(np.random.default_rng(0))
    same = problem._of_model(whole.model(M))
    assert problem.at(same).value == pytest.approx(whole.at(M).value, rel=1e-12)
    in_M, in_t, in_mean = problem.manifold.split(problem.at(same).gradient)
    units = problem.scale[:, None] / whole.scale[:, None]
    np.testing.assert_allclose(in_M / units, whole.manifold.split(whole.at(M).gradient)[0])
    assert np.linalg.norm(in_mean) < 1e-9 * np.linalg.norm(in_M)
    assert in_t.shape == whole.manifold.split(M)[1].shape


@pytest.mark.parametrize("name", NAMES)
def test_posterior_and_imputation_are_conditional_gaussians(name):
    result = ldr.solve(name, X, 2)
    model = result.model
    S, M = model_covariance(model), model.loadings
    means, covariances = model.posterior_mean(X), model.posterior_covariances(X)
    imputed = model.impute(X)
    observed = ~np.isnan(X)
    for i in np.flatnonzero(~observed.all(axis=1))[:20]:
        o, m = observed[i], ~observed[i]
        gain = S[:, o] @ np.linalg.inv(S[np.ix_(o, o)])
        deviation = X[i, o] - model.mean[o]
        np.testing.assert_allclose(imputed[i, m], model.mean[m] + gain[m] @ deviation, atol=1e-10)
        part = M[o].T @ np.linalg.inv(S[np.ix_(o, o)])
        np.testing.assert_allclose(means[i], part @ deviation, atol=1e-10)
        np.testing.assert_allclose(covariances[i], np.eye(2) - part @ M[o], atol=1e-10)
    np.testing.assert_array_equal(imputed[observed], X[observed])
    # the posterior mean given some entries is that of the row with the others imputed
    np.testing.assert_allclose(result.transform(X), (imputed - model.mean) @ result.P.T, atol=1e-10)
    complete = observed.all(axis=1)
    np.testing.assert_allclose(
        covariances[complete],
        np.broadcast_to(model.posterior_covariance, covariances[complete].shape),
        atol=1e-12,
    )


@pytest.mark.parametrize("name", NAMES)
def test_planted_loadings_and_missing_entries_are_recovered(name):
    rng = np.random.default_rng(0)
    M = rng.standard_normal((20, 2))
    rows = rng.standard_normal((3000, 2)) @ M.T + 0.5 * rng.standard_normal((3000, 20)) + 4.0
    gappy = with_gaps(rows, 0.2)
    result = ldr.solve(name, gappy, 2)
    angle = np.degrees(subspace_angles(result.M, M).max())
    assert angle < 1.5
    np.testing.assert_allclose(result.mean, 4.0, atol=0.2)
    missing = np.isnan(gappy)
    error = (result.model.impute(gappy) - rows)[missing].std()
    assert 0.5 <= error < 0.56 < 0.5 * (np.nanmean(gappy, axis=0) - rows)[missing].std()


def test_models_say_what_they_are():
    for name, noise in (("ppca", r"\S+"), ("fa", r"\S+ to \S+")):
        shown = repr(ldr.solve(name, WINE, 2).model)
        said = (
            rf"FactorModel: 2 factors of 13 columns, noise {noise}, log-likelihood \S+ of 178 rows"
        )
        assert re.match(rf"{said}, bic \S+$", shown)


@pytest.mark.parametrize("name", NAMES)
def test_score_and_bic(name):
    train, test = WINE[::2], WINE[1::2]
    result = ldr.solve(name, train, 2)
    model, S = result.model, model_covariance(result.model)
    direct = multivariate_normal(result.mean, S).logpdf(test)
    np.testing.assert_allclose(model.score_samples(test), direct, rtol=1e-10)
    assert model.score(test) == pytest.approx(direct.mean(), rel=1e-12)
    assert model.score(train) * len(train) == pytest.approx(model.log_likelihood, rel=1e-12)
    free = 13 + 13 * 2 - 1 + (1 if name == "ppca" else 13)
    assert model.bic == pytest.approx(free * np.log(len(train)) + 2 * result.value, rel=1e-12)
    np.testing.assert_allclose(
        model.posterior_covariance, np.eye(2) - result.P @ result.M, atol=1e-12
    )
    # of many rows, block by block
    many = np.tile(test, (1000, 1))
    np.testing.assert_allclose(model.score_samples(many), np.tile(direct, 1000), rtol=1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_a_complete_problem_without_a_bound_leaves_the_step_to_the_trust_region(name, monkeypatch):
    expected = ldr.solve(name, X, 2)
    problem = methods.bound(name, X)

    def unbounded(*_):
        raise SingularError("no bound")

    monkeypatch.setattr(type(problem.filled), "of_covariance", unbounded)
    M = problem.baseline()
    assert problem.imputed(M) is None
    assert problem.point(problem.manifold.split(M)) == pytest.approx(M)
    assert ldr.solve(name, X, 2).value == pytest.approx(expected.value, rel=1e-9)


def test_wide_data_with_gaps():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((25, 2)) @ rng.standard_normal((2, 60))
    rows = with_gaps(rows + 0.5 * rng.standard_normal(rows.shape))
    rows[3, ::2] = np.nan
    for name in NAMES:
        result = ldr.solve(name, rows, 2)
        assert result.converged
        model = result.model
        direct = log_likelihoods(rows, model.mean, model_covariance(model))
        assert -result.value == pytest.approx(direct.sum(), rel=1e-10)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("rows", [WINE, X], ids=["complete", "gaps"])
def test_a_start_of_the_users(name, rows):
    result = ldr.solve(name, rows, 2)
    again = ldr.solve(name, rows, 2, solver="lbfgs", start=result.M)
    afresh = ldr.solve(name, rows, 2, solver="lbfgs", start="random", random_state=0)
    assert again.value == pytest.approx(result.value, rel=1e-9)
    assert again.history["value"][0] < afresh.history["value"][0]


def test_refusals():
    def having(where, value):
        bad = X.copy()
        bad[where] = value
        return bad

    with pytest.raises(DataError, match=r"1 row\(s\) with only missing entries.*row 7"):
        ldr.solve("ppca", having(7, np.nan), 2)
    with pytest.raises(DataError, match=r"1 column\(s\) with only missing entries.*column 5"):
        ldr.solve("fa", having((slice(None), 5), np.nan), 2)
    with pytest.raises(DataError, match=r"1 infinite value.*row 2, column 3"):
        ldr.solve("ppca", having((2, 3), np.inf), 2)
    with pytest.raises(DataError, match="NaN"):
        ldr.solve("pca", X, 2)
    sparse = scipy.sparse.csr_array(having((0, 0), np.nan))
    with pytest.raises(DataError, match="sparse and has missing"):
        ldr.solve("ppca", sparse, 2)
    pairs = np.full((60, 6), np.nan)
    rng = np.random.default_rng(0)
    for row in pairs:
        row[rng.permutation(6)[:2]] = rng.standard_normal(2)
    with pytest.raises(
        SingularError, match=r"no row has more than 2 observed entries.*expected r < 2"
    ):
        ldr.solve("ppca", pairs, 2)
    model = ldr.solve("ppca", X, 2).model
    with pytest.raises(ArgumentError, match="X has 12 columns, expected 13"):
        model.score(X[:, :12])
    with pytest.raises(SingularError, match="unbounded: r = 8 factors"):
        ldr.solve("ppca", X[[0, 1, 2, 3, 20, 21, 22, 23, 24]], 8)


@pytest.mark.parametrize("name", ["ppca", pytest.param("fa", marks=pytest.mark.slow)])
def test_rows_of_a_file_may_have_missing_entries(name, tmp_path):
    path = tmp_path / "X.npy"
    np.save(path, X)
    result = ldr.solve(name, path, 2)
    np.testing.assert_allclose(result.transform(path), result.model.posterior_mean(X), rtol=1e-10)
    assert any("entries are missing" in note for note in result.notes)
    rows = as_samples(path, allow_nan=True)
    assert ldr.solve(name, rows, 2).value == result.value
    problem = methods.bound(name, path)
    M = problem.baseline()
    problem.manifold.split(M)[1][:] = np.inf  # a wall, without a gradient
    assert problem.term.first(M, rows.piece(slice(0, 9)))[0] == np.inf
    with pytest.raises(DataError, match="NaN or infinite"):
        ldr.solve("pca", rows, 2)
    few = X[[0, 3, 20, 21, 22, 23, 24]]
    np.save(path, few)
    assert ldr.solve(name, path, 1).value == pytest.approx(ldr.solve(name, few, 1).value, rel=1e-10)


@pytest.mark.parametrize("frame", [pandas.DataFrame, polars.DataFrame])
def test_imputed_frames_stay_frames(frame):
    columns = [f"c{j}" for j in range(X.shape[1])]
    result = ldr.solve("ppca", X, 2)
    given = frame(dict(zip(columns, X.T, strict=True)))
    if frame is pandas.DataFrame:
        given.index = [f"row {i}" for i in range(len(X))]
    imputed = result.model.impute(given)
    assert type(imputed) is frame and list(imputed.columns) == columns
    np.testing.assert_array_equal(imputed.to_numpy(), result.model.impute(X))
    if frame is pandas.DataFrame:
        assert imputed.index.equals(given.index)
