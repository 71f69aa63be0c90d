"""Factor analysis: identities, planted loadings, Heywood cases, and the likelihoods of others."""

import numpy as np
import pytest
from scipy.linalg import sqrtm
from scipy.stats import multivariate_normal
from sklearn import datasets

import ldr
from ldr.errors import ArgumentError, ConvergenceWarning, SingularError
from ldr.objectives import PPCA
from ldr.objectives.factor_analysis import _left_by_columns
from ldr.objectives.factor_model import FactorModel
from ldr.objectives.families.factors import LikelihoodPoint
from ldr.objectives.statistics.covariance import FactoredCovariance
from tests import real_data
from tests.objectives.methods import bound

X = real_data.wine()[0]
WIDE = np.random.default_rng(3).standard_normal((25, 2)) @ np.random.default_rng(4).standard_normal(
    (2, 60)
) + np.random.default_rng(5).standard_normal((25, 60))


def covariance(result):
    return result.M @ result.M.T + np.diag(result.parameters["noise_variances"])


def with_covariance(S, n=200, seed=0):
    """Rows whose covariance is S to rounding."""
    Z = np.random.default_rng(seed).standard_normal((n, len(S)))
    Z -= Z.mean(axis=0)
    root = np.linalg.cholesky(np.linalg.inv(Z.T @ Z / n))
    return Z @ root @ np.real(sqrtm(S))


def planted(n, d, r, seed=0):
    rng = np.random.default_rng(seed)
    M, noise = rng.standard_normal((d, r)), rng.uniform(0.2, 2.0, d)
    rows = rng.standard_normal((n, r)) @ M.T + np.sqrt(noise) * rng.standard_normal((n, d))
    return rows + 3.0, M, noise


@pytest.mark.parametrize("rows", [X, WIDE], ids=["n > d", "n < d"])
def test_value_is_the_negative_log_likelihood_and_P_the_posterior_mean(rows):
    result = ldr.solve("fa", rows, 3)
    S = covariance(result)
    logs = multivariate_normal(result.mean, S).logpdf(rows)
    assert result.value == pytest.approx(-np.sum(logs), rel=1e-12)
    np.testing.assert_allclose(result.P, result.M.T @ np.linalg.inv(S), atol=1e-12)


@pytest.mark.parametrize("gaps", [False, True], ids=["complete", "gaps"])
def test_derivatives_where_a_column_has_next_to_no_noise(gaps):
    """The moments of the factors in other axes than K's lose half of their digits there."""
    rows = real_data.standardised(real_data.breast_cancer()[0][::3, :10])
    if gaps:
        rows = np.where(np.random.default_rng(0).random(rows.shape) < 0.1, np.nan, rows)
    problem = bound("fa", rows, 2)
    parts = problem.manifold.split(problem.random_point(np.random.default_rng(1)).copy())
    parts[1][:] = -1.0
    parts[1][2] = -15.5
    M = problem.manifold.join(parts)
    point = problem.at(M)
    V = np.random.default_rng(2).standard_normal(M.shape)
    below, above = (problem.at(M + h * V) for h in (-1e-5, 1e-5))
    slope = (above.value - below.value) / 2e-5
    assert np.vdot(point.gradient, V) == pytest.approx(slope, rel=1e-7)
    change = (above.gradient - below.gradient) / 2e-5
    np.testing.assert_allclose(
        point.hessian_vector(V), change, rtol=1e-5, atol=1e-6 * np.abs(change).max()
    )


@pytest.mark.parametrize("solver", ["trust-region", "lbfgs", "conjugate-gradient"])
@pytest.mark.parametrize("seed", range(2))
def test_generic_solvers_reach_the_profile_likelihood_from_random_starts(solver, seed):
    reference = ldr.solve("fa", X, 2)
    assert reference.solver == "variable-projection" and reference.converged
    result = ldr.solve("fa", X, 2, solver=solver, start="random", random_state=seed)
    assert result.value == pytest.approx(reference.value, rel=1e-10)
    np.testing.assert_allclose(covariance(result), covariance(reference), atol=1e-5)


def test_elimination_leaves_no_gradient_in_the_loadings_and_the_profiles_in_the_noise():
    problem = bound("fa", X, 3)
    t = np.log(np.random.default_rng(0).uniform(0.1, 0.9, (13, 1)))
    profile = problem.profile().at(t)
    with np.errstate(over="ignore"):
        assert problem.profile().at(np.full_like(t, 800.0)).value == np.inf  # e^800 overflows
    whole = LikelihoodPoint(problem, problem._rows, profile.whole.M)
    assert whole.value == pytest.approx(profile.value, rel=1e-13)
    in_M, in_t = problem.manifold.split(whole.gradient)
    np.testing.assert_allclose(in_t, profile.gradient, rtol=1e-10)
    assert np.linalg.norm(in_M) < 1e-10 * np.linalg.norm(in_t)


def test_at_an_interior_optimum_the_model_has_the_variances_of_the_data():
    for r in (1, 2, 3):
        result = ldr.solve("fa", X, r)
        assert not any("Heywood" in note for note in result.notes)
        np.testing.assert_allclose(np.diag(covariance(result)), np.var(X, axis=0), atol=1e-7)


def test_the_model_that_the_data_have_exactly_is_certified_and_others_are_local():
    M, noise = np.random.default_rng(2).standard_normal((9, 2)), np.linspace(0.2, 2.0, 9)
    result = ldr.solve("fa", with_covariance(M @ M.T + np.diag(noise)), 2)
    assert result.certificate.kind == "global"
    np.testing.assert_allclose(result.parameters["noise_variances"], noise, rtol=1e-5)
    np.testing.assert_allclose(result.M @ result.M.T, M @ M.T, atol=1e-5)
    assert ldr.solve("fa", X, 2).certificate.kind == "local"


def test_the_units_of_the_columns_change_the_model_and_nothing_else():
    units = 10.0 ** np.random.default_rng(0).uniform(-3, 3, 13)
    for unit in (units, 1e-100, 1e100):
        one, other = ldr.solve("fa", X, 2), ldr.solve("fa", X * unit, 2)
        logs = np.sum(np.log(np.broadcast_to(unit, 13)))
        assert other.value == pytest.approx(one.value + len(X) * logs, rel=1e-9)
        noise = other.parameters["noise_variances"] / unit / unit
        np.testing.assert_allclose(noise, one.parameters["noise_variances"], rtol=1e-5)
        np.testing.assert_allclose(
            other.transform(X * unit) @ other.transform(X * unit).T,
            one.transform(X) @ one.transform(X).T,
            atol=1e-5,
        )


def test_heywood_cases_are_reported_and_bounded():
    """Correlations that one factor explains only with a communality of 1.21 in the first column."""
    loadings = np.array([1.1, 0.6, 0.6, 0.5, 0.5])
    rows = with_covariance(np.outer(loadings, loadings) + np.diag(1 - loadings**2), n=300)
    result = ldr.solve("fa", rows, 1)
    assert result.converged
    assert any("Heywood case" in note and "column(s) 0 is" in note for note in result.notes)
    share = result.parameters["noise_variances"][0] / rows[:, 0].var()
    assert share == pytest.approx(1e-6, rel=1e-3)
    wider = ldr.solve("fa", rows, 1, least_noise=1e-3)
    assert wider.value > result.value
    assert wider.parameters["noise_variances"][0] / rows[:, 0].var() == pytest.approx(1e-3, rel=0.1)
    with pytest.warns(ConvergenceWarning):  # EM comes near the bound ever more slowly
        em = ldr.solve("fa", rows, 1, solver="em", max_iterations=1000)
    assert result.value < em.value < result.value + 1
    import pandas as pd

    frame = pd.DataFrame(rows, columns=list("abcde"))
    assert any("column(s) a is" in note for note in ldr.solve("fa", frame, 1).notes)
    twice = ldr.solve("fa", np.hstack([rows, rows[:, :1]]), 1)
    assert any("depends on the bound" in note for note in twice.notes)


@pytest.mark.parametrize("rows", [6, 15])
def test_rows_give_the_operator_of_their_covariance(rows):
    Z = np.random.default_rng(0).standard_normal((rows, 15))
    found, C = FactoredCovariance(Z), Z.T @ Z
    V = np.random.default_rng(1).standard_normal((15, 2))
    np.testing.assert_allclose(found @ V, C @ V, rtol=1e-11)
    np.testing.assert_allclose(found.array, C, rtol=1e-11)
    np.testing.assert_allclose(found.spectrum(), np.linalg.eigvalsh(C)[-rows:], atol=1e-12)
    weights = np.linspace(0.5, 2.0, 15)
    values, U = found.top_weighted(weights, 3)
    expected, W = np.linalg.eigh(C * weights * weights[:, None])
    np.testing.assert_allclose(values, expected[:-4:-1], rtol=1e-12)
    np.testing.assert_allclose(U @ U.T, W[:, -3:] @ W[:, -3:].T, atol=1e-12)


PEERS = {
    "wine": (lambda: X, (1, 2, 3)),
    "tumours": (lambda: real_data.standardised(real_data.breast_cancer()[0]), (2, 3)),
    "digits": (lambda: real_data.standardised(real_data.digits()[0]), (2, 5)),
}


@pytest.mark.parametrize("name", PEERS)
def test_likelihood_at_least_that_of_scikit_learn(name):
    from sklearn.decomposition import FactorAnalysis as Theirs

    data, dimensions = PEERS[name]
    rows = data()
    for r in dimensions:
        theirs = Theirs(r, tol=1e-6, max_iter=20_000, svd_method="lapack").fit(rows)
        model = ldr.solve("fa", rows, r, certify=False).model
        assert model.score(rows) >= theirs.score(rows) - 1e-6
        # the formula of score itself, on their model
        same = FactorModel(
            theirs.mean_, theirs.components_.T, theirs.noise_variance_, len(rows), 0.0, 0
        )
        assert same.score(rows) == pytest.approx(theirs.score(rows), rel=1e-10)
        np.testing.assert_allclose(same.posterior_mean(rows), theirs.transform(rows), atol=1e-8)


@pytest.mark.filterwarnings("ignore::ldr.errors.ConvergenceWarning")  # along a valley
@pytest.mark.parametrize(("data", "r"), [("iris", 2), ("breast_cancer", 1), ("diabetes", 1)])
def test_no_random_start_ends_below_the_own_ones(data, r):
    """Where the squared multiple correlations alone, or half the variances, end in a poor optimum.

    Two factors of four columns leave a valley, along which values agree to 1e-7.
    """
    rows = getattr(datasets, f"load_{data}")(return_X_y=True)[0]
    found = ldr.solve("fa", rows, r, certify=False)
    assert len(found.starts.values) == 2
    for seed in range(8):
        other = ldr.solve("fa", rows, r, start="random", random_state=seed, certify=False)
        assert found.value <= other.value + 1e-7 * abs(other.value)


def test_the_value_does_not_see_the_basis_of_the_factors():
    """Columns that nearly repeat one another: the factors have very different sizes."""
    rows = real_data.standardised(real_data.breast_cancer()[0][::3, :10])
    problem = bound("fa", rows, 2)
    M, t = problem.manifold.split(ldr.solve("fa", rows, 2, certify=False).run.M)
    turns = (np.linalg.qr(np.random.default_rng(k).standard_normal((2, 2)))[0] for k in range(8))
    values = [problem.value(problem.manifold.join([M @ Q, t])) for Q in turns]
    assert np.ptp(values) <= 2e-12 * abs(values[0])


def test_columns_that_stand_for_factors():
    """They are chosen one by one, each with the least log determinant of what is left."""
    C = np.corrcoef(X.T)

    def cost(chosen):
        rest = np.setdiff1d(np.arange(len(C)), chosen)
        among, across = C[np.ix_(chosen, chosen)], C[np.ix_(chosen, rest)]
        left = 1.0 - np.sum(across * np.linalg.solve(among, across), axis=0)
        return np.linalg.slogdet(among)[1] + np.log(left).sum(), rest, left

    chosen = []
    for _ in range(3):
        others = [j for j in range(len(C)) if j not in chosen]
        chosen.append(min(others, key=lambda j: cost([*chosen, j])[0]))
    _, rest, left = cost(chosen)
    found = _left_by_columns(C, 3)
    np.testing.assert_allclose(found[rest], left, rtol=1e-12)
    assert not found[chosen].any()


def test_refusals():
    constant = X.copy()
    constant[:, 4] = 2.0
    with pytest.raises(SingularError, match=r"1 constant column.*column 4"):
        ldr.solve("fa", constant, 2)
    with pytest.raises(SingularError, match=r"r = 13 factors.*expected r < 13"):
        ldr.solve("fa", np.hstack([X, X[:, :1] - X[:, 1:2]]), 13)
    with pytest.raises(SingularError, match=r"rank 4.*expected r < 4"):
        ldr.solve("fa", X[:5], 4)
    with pytest.raises(ArgumentError, match="'em' maximises likelihoods"):
        ldr.solve("pca", X, 2, solver="em")
    with pytest.raises(ArgumentError, match="'variable-projection' needs an objective"):
        ldr.solve(PPCA(), X, 2, solver="variable-projection")
