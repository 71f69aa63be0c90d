"""Sparse pca: planted loadings, exact zeros, extreme penalties, and scikit-learn beside it."""

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from sklearn import datasets
from sklearn.decomposition import SparsePCA as TheirSparsePCA

import ldr
from ldr.errors import ArgumentError, DataError
from ldr.objectives import PCA, OrthogonalLDA, SparsePCA
from ldr.solvers import Status
from tests import real_data


def planted(seed, n=300, d=40, r=3, k=6, noise=0.5):
    """Rows with r factors, each loading on k columns of its own."""
    rng = np.random.default_rng(seed)
    L, columns = np.zeros((d, r)), rng.permutation(d)
    for c in range(r):
        L[columns[c * k : (c + 1) * k], c] = rng.choice([-1, 1], k) * rng.uniform(0.6, 1.4, k)
    L /= np.linalg.norm(L, axis=0)
    scores = rng.standard_normal((n, r)) * np.array([4.0, 3.0, 2.5])
    return scores @ L.T + noise * rng.standard_normal((n, d)), L


@pytest.fixture(scope="module")
def wine():
    return real_data.wine()[0]


@pytest.mark.parametrize("seed", range(3))
def test_planted_loadings_are_found_with_their_support(seed):
    X, L = planted(seed)
    result = ldr.solve("sparse-pca", X, 3, penalty=200.0)
    order = np.abs(result.M.T @ L).argmax(axis=0)
    angle, dense = (
        np.degrees(subspace_angles(M, L).max()) for M in (result.M, ldr.solve("pca", X, 3).M)
    )
    np.testing.assert_array_equal(result.M[:, order] != 0, L != 0)
    assert angle < dense < 6
    assert result.certificate.kind == "local"


@pytest.mark.parametrize("penalty", [20.0, 100.0, 400.0])
@pytest.mark.parametrize("solver", ["smoothing", "proximal-gradient"])
def test_zeros_are_exact_and_columns_orthonormal(wine, penalty, solver):
    result = ldr.solve("sparse-pca", wine, 3, penalty=penalty, solver=solver)
    M = result.M
    assert result.converged
    assert np.abs(M.T @ M - np.eye(3)).max() < 1e-14
    assert not ((M != 0) & (np.abs(M) < 1e-8)).any()
    np.testing.assert_array_equal(result.P, M.T)
    X = wine - wine.mean(axis=0)
    formula = np.linalg.norm(X - X @ M @ M.T) ** 2 + penalty * np.abs(M).sum()
    assert result.value == pytest.approx(formula, rel=1e-12)
    B = result.baseline_M
    assert np.abs(B.T @ B - np.eye(3)).max() < 1e-14
    formula = np.linalg.norm(X - X @ B @ B.T) ** 2 + penalty * np.abs(B).sum()
    assert result.baseline == pytest.approx(formula, rel=1e-12) and result.improvement >= 0
    assert result.parameters["sparsity"] == np.mean(M == 0)
    assert result.parameters["stationarity"] == result.gradient_norm < 1e-6
    assert "sparsity" in repr(result) and "stationarity" in repr(result)
    assert result.history["gradient_norm"][-1] == result.gradient_norm


def test_entries_that_reach_zero_leave_at_once():
    """Proximal gradients alone drop them one after another: 442 steps, to the same value."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((80, 60)) * np.linspace(3, 1, 60)
    X[:, :10] += 3 * rng.standard_normal((80, 1))
    X[:, 10:25] += 2 * rng.standard_normal((80, 1))
    result = ldr.solve("sparse-pca", X, 8, penalty=100.0)
    assert result.value == pytest.approx(15864.685755322545, rel=1e-12)
    assert result.certificate.kind == "local" and result.iterations < 220


@pytest.mark.parametrize("penalty", [1.0, 3.0])
def test_small_penalties_beside_much_variance_converge(penalty):
    """A narrower kink can end higher: what falls from there has not stalled."""
    result = ldr.solve("sparse-pca", datasets.load_digits().data, 2, penalty=penalty)
    assert result.status is Status.CONVERGED and result.certificate.kind == "local"


def test_no_penalty_is_pca(wine):
    pca = ldr.solve("pca", wine, 3)
    for penalty in (0, 1e-9):
        result = ldr.solve("sparse-pca", wine, 3, penalty=penalty)
        assert result.value == pytest.approx(pca.value, rel=1e-10)
        assert np.degrees(subspace_angles(result.M, pca.M).max()) < 1e-4


@pytest.mark.parametrize("objective", [SparsePCA(1e7), PCA() + ldr.l1(1e7)])
def test_a_huge_penalty_picks_columns(wine, objective):
    result = ldr.solve(objective, wine * np.linspace(1, 2, wine.shape[1]), 3)
    assert result.converged
    assert sorted(np.abs(result.M).sum(axis=0)) == [1, 1, 1]
    assert sorted(np.abs(result.M).sum(axis=1))[-3:] == [1, 1, 1]


def test_one_dimension_has_no_local_optimum_worse_than_a_search():
    """r = 1, d = 3: the sphere is searched point by point."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 3)) @ rng.standard_normal((3, 3))
    X -= X.mean(axis=0)
    result = ldr.solve("sparse-pca", X, 1, penalty=20.0)
    u, v = np.meshgrid(np.linspace(0, np.pi, 400), np.linspace(0, np.pi, 400))
    M = np.stack([np.sin(u) * np.cos(v), np.sin(u) * np.sin(v), np.cos(u)]).reshape(3, -1)
    values = np.sum(X**2) - np.sum((X @ M) ** 2, axis=0) + 20.0 * np.abs(M).sum(axis=0)
    assert values.min() - 1e-2 <= result.value <= values.min()


def test_fewer_rows_than_columns():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((25, 60)) + 3 * rng.standard_normal((25, 1)) * (np.arange(60) < 8)
    result = ldr.solve("sparse-pca", X, 2, penalty=30.0)
    M, Xc = result.M, X - X.mean(axis=0)
    assert result.converged and M.shape == (60, 2)
    formula = np.linalg.norm(Xc - Xc @ M @ M.T) ** 2 + 30.0 * np.abs(M).sum()
    assert result.value == pytest.approx(formula, rel=1e-12)
    assert result.parameters["sparsity"] > 0.2
    assert any("M may leave" in note for note in result.notes)


def assert_sound(result):
    """Orthonormal, no worse than the heuristic, and finite."""
    M = result.M
    assert np.abs(M.T @ M - np.eye(M.shape[1])).max() < 1e-14
    assert result.value <= result.baseline
    assert result.status is not Status.NOT_FINITE and np.isfinite(result.gradient_norm)


def spectra():
    """21 smooth curves at 1047 wavelengths: wide, and nearly of rank 4."""
    rng, x = np.random.default_rng(0), np.linspace(0, 1, 1047)
    peaks = np.exp(-(((x - np.array([[0.2], [0.4], [0.6], [0.8]])) / 0.1) ** 2))
    return rng.uniform(1, 2, (21, 4)) @ peaks + 1e-3 * rng.standard_normal((21, 1047))


@pytest.mark.filterwarnings("ignore::ldr.errors.ConvergenceWarning")
@pytest.mark.parametrize(
    ("objective", "X"),
    [
        pytest.param(SparsePCA(), datasets.load_wine().data, id="wine"),
        pytest.param(PCA() + ldr.l1(1), datasets.load_wine().data, id="sum"),
        pytest.param(SparsePCA(), spectra(), id="spectra"),
    ],
)
def test_the_wall_of_a_support_is_a_refused_step(objective, X, capfd):
    """As measured, where the squared error is 1e5 times the penalty: few entries are zero."""
    assert_sound(ldr.solve(objective, X, 2))
    assert capfd.readouterr() == ("", "")


def measured():
    for name in ("wine", "digits", "breast_cancer", "iris", "diabetes"):
        X = getattr(datasets, f"load_{name}")().data
        for penalty in (0.1, 0.3, 1, 3, 10):
            yield pytest.param(X, penalty, id=f"{name} {penalty}")
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((rng.integers(20, 100), rng.integers(3, 15)))
        yield pytest.param(X, 0.001, id=f"normal {seed}")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ldr.errors.ConvergenceWarning")
@pytest.mark.parametrize(("X", "penalty"), list(measured()))
def test_small_penalties_on_data_as_measured(X, penalty, capfd):
    assert_sound(ldr.solve("sparse-pca", X, 2, penalty=penalty))
    assert capfd.readouterr() == ("", "")


def test_the_path_is_warm_started_and_grows_sparser(wine):
    penalties = [300.0, 0.0, 10.0, 100.0, 1e5]
    path = ldr.regularisation_path("sparse-pca", wine, 3, penalties, certify=True)
    assert path.penalties == tuple(sorted(penalties))
    assert all(result.converged for result in path.results)
    assert (np.diff(path.values) > 0).all() and (np.diff(path.sparsity) >= 0).all()
    assert path.sparsity[0] == 0 and path.sparsity[-1] == 1 - 1 / wine.shape[1]
    # errors rise and norms fall along the path, whatever the penalty
    norms = [np.abs(result.M).sum() for result in path.results[1:]]
    assert (np.diff(norms) <= 0).all()
    assert len(str(path).splitlines()) == 6
    same = ldr.regularisation_path("pca", wine, 3, penalties)
    np.testing.assert_allclose(same.values, path.values, rtol=1e-6)


@pytest.mark.parametrize("penalties", [[], "12", 3.0, np.array([]), [1.0, -1.0], [np.nan], None])
def test_bad_penalties_are_refused(wine, penalties):
    with pytest.raises(ArgumentError, match="penalt"):
        ldr.regularisation_path("pca", wine, 2, penalties)


def test_smooth_solvers_say_what_to_use(wine):
    for solver in ("trust-region", "lbfgs", "pymanopt:trust-region"):
        with pytest.raises(ArgumentError, match="use solver='proximal-gradient' or 'smoothing'"):
            ldr.solve("sparse-pca", wine, 2, solver=solver)


def adjusted_variance(X, V):
    """Zou, Hastie and Tibshirani's: what each score adds to those before it, unit loadings."""
    V = V / np.linalg.norm(V, axis=0)
    scores = (X - X.mean(axis=0)) @ V
    order = np.argsort(-np.sum(scores**2, axis=0))
    R = np.linalg.qr(scores[:, order])[1]
    return np.sum(np.diag(R) ** 2) / np.sum((X - X.mean(axis=0)) ** 2)


def at_sparsity(X, r, wanted):
    """Our solution for about the least penalty at which the share of zeros is at least `wanted`."""
    low, high, best = 1.0, 20.0 * len(X), None
    for _ in range(8):
        penalty = np.sqrt(low * high)
        result = ldr.solve("sparse-pca", X, r, penalty=penalty, certify=False)
        if np.mean(result.M == 0) >= wanted:
            high, best = penalty, result
        else:
            low = penalty
    return best


@pytest.mark.parametrize("data", ["planted", pytest.param("wine", marks=pytest.mark.slow)])
def test_variance_at_equal_sparsity_beside_scikit_learn(data, wine):
    """Refitted on its support ours explains at least as much as theirs, with as many zeros."""
    X, alpha = (planted(0)[0], 6.0) if data == "planted" else (wine, 1.0)
    theirs = TheirSparsePCA(3, alpha=alpha, random_state=0, max_iter=300).fit(X).components_.T
    zeros = np.mean(theirs == 0)
    found = at_sparsity(X, 3, zeros)
    M, refitted = found.M, ldr.refit(found, X)
    np.testing.assert_array_equal(refitted.M == 0, M == 0)
    ours, other = (adjusted_variance(X, V) for V in (refitted.M, theirs))
    assert 0 < zeros <= np.mean(M == 0)
    assert ours >= other


def test_where_nothing_varies_the_heuristic_is_orthonormal():
    result = ldr.solve(SparsePCA(2.0), np.ones((10, 4)), 2)
    np.testing.assert_allclose(result.baseline_M.T @ result.baseline_M, np.eye(2), atol=1e-12)
    assert result.value == pytest.approx(4.0)  # the penalty of two columns picked
    assert result.converged


def test_a_path_wants_a_smooth_objective(wine):
    with pytest.raises(ArgumentError, match=r"has the penalty l1\(5\), expected none"):
        ldr.regularisation_path(PCA() + ldr.l1(5.0), wine, 2, [1.0])


@pytest.mark.parametrize("seed", range(4))
def test_of_white_data_the_penalty_alone_decides(seed):
    rows = np.random.default_rng(seed).standard_normal((40, 4))
    rows = np.linalg.qr(rows - rows.mean(axis=0))[0]  # all M reconstruct alike
    result = ldr.solve(SparsePCA(0.1), rows, 2, certify=False)
    assert result.converged
    assert result.value == pytest.approx(2.0 + 0.1 * 2, rel=1e-8)  # two columns picked


def test_refitting_takes_the_shrinkage_away(wine):
    result = ldr.solve("sparse-pca", wine, 3, penalty=150.0)
    refitted = ldr.refit(result, wine)
    assert refitted.converged and refitted.certificate.kind == "local"
    assert repr(refitted.objective) == "PCA()"
    X, M = wine - wine.mean(axis=0), refitted.M
    np.testing.assert_array_equal(M == 0, result.M == 0)
    assert np.abs(M.T @ M - np.eye(3)).max() < 1e-13
    error = np.linalg.norm(X - X @ M @ M.T) ** 2
    assert refitted.value == pytest.approx(error, rel=1e-12)
    assert error < np.linalg.norm(X - X @ result.M @ result.M.T) ** 2
    # stationary: the gradient is a multiplier of M'M = I on the support
    A = X.T @ X
    support = M != 0
    G = A @ M
    basis = [np.where(support, M @ S, 0.0) for S in _symmetric(3)]
    columns = np.column_stack([b[support] for b in basis])
    rest = G[support] - columns @ np.linalg.lstsq(columns, G[support], rcond=None)[0]
    assert np.abs(rest).max() < 1e-7 * np.abs(G).max()


def _symmetric(r):
    for i in range(r):
        for j in range(i + 1):
            S = np.zeros((r, r))
            S[i, j] = S[j, i] = 1.0
            yield S


@pytest.mark.smoke
def test_other_objectives_are_refitted(wine):
    y = real_data.wine()[1]
    result = ldr.solve(OrthogonalLDA() + ldr.l1(0.3), wine, 2, y=y)
    refitted = ldr.refit(result, wine, y=y)
    assert refitted.objective == OrthogonalLDA()
    assert result.value < refitted.value <= ldr.solve("orthogonal-lda", wine, 2, y=y).value
    np.testing.assert_array_equal(refitted.M == 0, result.M == 0)


def test_what_cannot_be_refitted(wine):
    with pytest.raises(ArgumentError, match="has none: expected 'sparse-pca'"):
        ldr.refit(ldr.solve("pca", wine, 2), wine)
    with pytest.raises(ArgumentError, match="result must be a Result"):
        ldr.refit(3, wine)
    sparse = ldr.solve("sparse-pca", wine, 2, penalty=50.0)
    with pytest.raises(DataError, match="X has 12 columns, expected 13, as in result"):
        ldr.refit(sparse, wine[:, 1:])


def test_the_error_is_that_of_all_columns_where_loadings_leave_the_span_of_the_rows():
    rows = np.outer([3.0, -2.0, -2.0, 1.0], [1.0, 2, 0, -1, -2, -3, -3, 2])
    result = ldr.solve("sparse-pca", rows, 1)
    left = rows - rows @ result.M @ result.M.T
    error = np.sum(left**2) + np.abs(result.M).sum()
    assert result.value == pytest.approx(error, abs=1e-12 * np.sum(rows**2))


def test_a_zero_that_is_about_to_change_is_no_local_optimum():
    """At e_1 the slope of n m'Cm in the second entry equals the penalty."""
    C = np.array([[3.0, 0.5], [0.5, 1.0]])
    X = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]]) @ np.linalg.cholesky(C).T
    result = ldr.solve("sparse-pca", X, 1, penalty=4.0, start=np.eye(2)[:, :1])
    assert result.certificate.kind == "none"
    assert "strict complementarity fails" in result.certificate.message
