"""Principal components of yes/no data and counts: deviances and gaps."""

import numpy as np
import pytest
from scipy.special import gammaln

import ldr
from ldr.errors import ArgumentError, DataError
from ldr.inputs import as_data, as_objective
from ldr.objectives.statistics.sums import counting_rows
from tests.objectives.methods import bound

RNG = np.random.default_rng(0)
THETA = RNG.standard_normal((80, 2)) @ RNG.standard_normal((2, 9)) * 1.5 - 0.5
YES_NO = (RNG.random(THETA.shape) < 1 / (1 + np.exp(-THETA))).astype(float)
COUNTS = RNG.poisson(np.exp(np.clip(THETA / 2, None, 3))).astype(float)
GONE = RNG.random(THETA.shape) < 0.1
DATA = {"bernoulli": YES_NO, "poisson": COUNTS}
NAME = "exponential-family-pca"


def natural(X, family, m=4.0):
    if family == "bernoulli":
        return m * (2 * X - 1)
    return np.log(X, where=X > 0, out=np.full_like(X, -m))


def log_likelihood(X, theta, family):
    if family == "bernoulli":
        return X * theta - np.logaddexp(0, theta)
    return X * theta - np.exp(theta) - gammaln(X + 1)


@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing"])
@pytest.mark.parametrize("family", DATA)
def test_the_value_is_the_deviance(family, missing):
    X = np.where(GONE, np.nan, DATA[family]) if missing else DATA[family]
    result = ldr.solve(NAME, X, 2, family=family)
    there, mu, M = ~np.isnan(X), result.parameters["intercept"], result.M
    filled = np.where(there, X, 0.0)
    E = np.where(there, natural(filled, family) - mu, 0.0)
    of_fit = log_likelihood(filled, mu + E @ M @ M.T, family)
    with np.errstate(divide="ignore", invalid="ignore"):
        best = log_likelihood(filled, np.log(filled), "poisson") if family == "poisson" else 0.0
    best = np.where((family == "poisson") & (filled > 0), best, 0.0)
    deviance = 2 * np.sum(np.where(there, best - of_fit, 0.0))
    assert result.value == pytest.approx(deviance, rel=1e-10)
    assert result.certificate.kind == "local" and result.improvement > 0
    shares = np.nanmean(X, axis=0)
    alone = np.log(shares / (1 - shares) if family == "bernoulli" else shares)
    null = 2 * np.sum(np.where(there, best - log_likelihood(filled, alone, family), 0.0))
    assert result.parameters["explained_deviance"] == pytest.approx(1 - deviance / null, rel=1e-9)
    assert deviance < 0.8 * null
    if not missing:
        scores = result.transform(X)
        np.testing.assert_allclose(scores, E @ M, atol=1e-9)
        np.testing.assert_allclose(scores.mean(axis=0), 0, atol=1e-9)


def test_starts_do_not_matter_to_the_numbers():
    one, other = (ldr.solve(NAME, YES_NO, 2, solver=solver) for solver in ("trust-region", "lbfgs"))
    np.testing.assert_allclose(one.components["deviance"], other.components["deviance"], rtol=1e-5)
    np.testing.assert_allclose(one.mean, other.mean, atol=1e-5)
    np.testing.assert_allclose(np.abs(one.P), np.abs(other.P), atol=1e-4)


def test_other_rows_are_scored_by_the_map_and_the_intercept():
    result = ldr.solve(NAME, YES_NO[::2], 2)
    others, mu, M = YES_NO[1::2], result.parameters["intercept"], result.M
    theta = mu + (natural(others, "bernoulli") - mu) @ M @ M.T
    deviance = 2 * np.sum(np.logaddexp(0, -(2 * others - 1) * theta))
    assert ldr.score(result, others) == pytest.approx(-deviance, rel=1e-9)


def test_weights_are_repeated_rows_with_gaps_too():
    X = np.where(GONE, np.nan, YES_NO)
    weights = RNG.integers(0, 3, len(X)).astype(float)
    objective = as_objective(NAME, {})
    rows = np.repeat(np.arange(len(X)), weights.astype(int))
    start = np.eye(9, 2)
    one = ldr.solve(NAME, X, 2, sample_weight=weights, start=start)
    other = ldr.solve(objective, X[rows], 2, start=start)
    assert one.value == pytest.approx(other.value, rel=1e-8)


@pytest.mark.parametrize("family", DATA)
def test_derivatives_with_gaps(family):
    assert ldr.check(NAME, np.where(GONE, np.nan, DATA[family]), 2, family=family).passed


def test_a_multiple_fits_an_intercept_that_no_score_knows():
    result = ldr.solve(2 * as_objective(NAME, {}), YES_NO, 2)
    with pytest.raises(ArgumentError, match="parameters besides M: new data have no score"):
        ldr.score(result, YES_NO)


def test_results_last(tmp_path):
    result = ldr.solve(NAME, COUNTS, 2, family="poisson")
    result.save(tmp_path / "model.npz")
    again = ldr.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(again.transform(COUNTS), result.transform(COUNTS))


@pytest.mark.parametrize(
    ("X", "family", "words"),
    [
        (THETA, "bernoulli", r"720 entries outside the family's range.*expected 0 and 1"),
        (-COUNTS, "poisson", "expected numbers >= 0"),
        (np.where(np.arange(9) == 3, np.nan, YES_NO), "bernoulli", "missing values in column 3"),
        (np.where(np.arange(80)[:, None] == 5, np.nan, YES_NO), "bernoulli", "in row 5"),
    ],
)
def test_bad_entries(X, family, words):
    with pytest.raises(DataError, match=words):
        ldr.solve(NAME, X, 2, family=family)


def test_of_more_columns_than_rows_the_heuristic_is_of_the_rows():
    rows = YES_NO.T[:, YES_NO.T.std(axis=0) > 0]
    objective = as_objective(NAME, {})
    M = (problem := objective.bind(as_data(objective, rows, None), 2)).baseline()
    T = natural(rows, "bernoulli")
    expected = np.linalg.svd(T - T.mean(axis=0))[2][:2]
    N = problem.blocks(M)[0]
    np.testing.assert_allclose(N @ N.T, expected.T @ expected, atol=1e-12)


def test_with_gaps_the_intercept_is_not_idle():
    for rows, count in ((YES_NO, 2), (np.where(GONE, np.nan, YES_NO), 0)):
        objective = as_objective(NAME, {})
        problem = objective.bind(as_data(objective, rows, None), 2)
        M, V = problem.baseline(), problem.manifold.random_point(RNG)
        directions = problem.idle(M)
        assert len(directions) == count
        for along in directions:
            assert problem.value(M + 1e-3 * along) == pytest.approx(problem.value(M), rel=1e-14)
        assert problem.value(M + 1e-3 * V) != pytest.approx(problem.value(M), rel=1e-9)


def test_constant_columns_do_not_count():
    wider = np.column_stack([YES_NO, np.zeros(80), np.ones(80)])
    with_them, without = ldr.solve(NAME, wider, 2), ldr.solve(NAME, YES_NO, 2)
    assert with_them.value == pytest.approx(without.value, rel=1e-8)
    assert np.abs(with_them.M[9:]).max() < 1e-6
    assert any("2 constant columns are left out" in note for note in with_them.notes)


@pytest.mark.parametrize("start", ["pca", "random"])
def test_constant_columns_are_in_no_start_and_the_value_is_that_of_the_intercept(start):
    A = np.random.default_rng(3).integers(0, 2, (40, 7)).astype(float)
    A[:, [1, 4]] = [0.0, 1.0]
    found = ldr.solve("exponential-family-pca", A, 2, start=start, random_state=0)
    np.testing.assert_array_equal(found.M[[1, 4]], 0)
    mu, varies = found.parameters["intercept"], A.std(axis=0) > 0
    theta = mu + (natural(A, "bernoulli") - mu) @ found.M @ found.M.T
    lost = np.logaddexp(0, theta) - A * theta
    assert found.value == pytest.approx(2 * lost[:, varies].sum(), rel=1e-12)


def test_for_many_rows_a_run_on_a_sample_precedes():
    """Starts with one optimum there share a run; a column that is constant there is left out."""
    rng = np.random.default_rng(0)
    theta = 2.0 * rng.standard_normal((10_000, 2)) @ rng.standard_normal((2, 8))
    X = (rng.random(theta.shape) < 1.0 / (1.0 + np.exp(-theta))).astype(float)
    X = np.column_stack([X, np.zeros(len(X))])
    X[np.setdiff1d(np.arange(10_000), counting_rows(10_000, None, 2000))[::200], -1] = 1.0
    problem = bound("exponential-family-pca", X, r=2)
    rough = problem.rough
    assert len(rough.X) == 2000 and not rough.there[:, -1].any() and rough.there[:, :-1].all()
    result = ldr.solve("exponential-family-pca", X, 2)
    assert result.starts.merged == ("screened",)
    start = np.linalg.qr(rng.standard_normal((9, 2)))[0]
    whole = ldr.solve("exponential-family-pca", X, 2, start=start)
    assert whole.starts is None
    assert result.value == pytest.approx(whole.value, rel=1e-9)
