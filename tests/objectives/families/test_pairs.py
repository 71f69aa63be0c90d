"""Objectives of projected distances: mds-stress, nca, lmnn."""

import itertools

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from sklearn.datasets import load_digits, load_iris, load_wine

import ldr
from ldr.errors import ArgumentError, DataError, SingularError
from ldr.inputs import as_data
from ldr.objectives import LMNN, NCA, MDSStress, metric
from ldr.objectives.data import memory
from ldr.objectives.families import pairwise
from tests import real_data
from tests.objectives.methods import LABELS, X

M = np.random.default_rng(2).standard_normal((7, 2)) * 0.3


def bound(objective, X=X, y=LABELS, r=2):
    return objective.bind(as_data(objective, X, y), r)


def value(objective, M, X=X, y=LABELS):
    """The objective's own value at the user's M, by way of the solver's coordinates."""
    problem = bound(objective, X, y, M.shape[1])
    return problem.reported(problem.at(problem.lower([M])).value)


def squares(A):
    return ((A[:, None] - A) ** 2).sum(axis=2)


@pytest.mark.parametrize("weights", ["none", "sammon"])
def test_stress_finds_the_plane_that_holds_the_data(weights):
    """There stress is 0, and grows with the fourth power of the angle only."""
    rng = np.random.default_rng(0)
    plane = np.linalg.qr(rng.standard_normal((10, 2)))[0]
    flat = rng.standard_normal((80, 2)) @ plane.T * 5
    result = ldr.solve("mds-stress", flat, 2, start="random", random_state=1, weights=weights)
    assert np.rad2deg(subspace_angles(result.M, plane)[0]) < 0.1
    assert result.value <= 1e-12 * value(MDSStress(weights), plane[:, :1], flat)


@pytest.mark.parametrize("weights", ["none", "sammon"])
def test_coinciding_points_are_no_kink(weights):
    """Rows that are equal, and rows that M alone makes equal."""
    doubled = np.vstack([X, X])
    doubled[:20, 6] += 1.0
    problem = bound(MDSStress(weights), doubled)
    point = problem.at(np.eye(7)[:, :2])
    assert np.isfinite(point.gradient).all() and np.isfinite(point.hessian_vector(M)).all()
    result = ldr.solve("mds-stress", doubled, 2, weights=weights)
    assert result.converged and result.improvement >= 0


@pytest.mark.parametrize("objective", [MDSStress(), MDSStress("sammon"), NCA(), LMNN()])
def test_blocks_change_nothing(objective, monkeypatch):
    V = np.random.default_rng(4).standard_normal((7, 2))
    whole = bound(objective).at(M)
    monkeypatch.setattr(pairwise, "_BLOCK_NUMBERS", 7 * len(X))
    monkeypatch.setattr(memory, "SMALL", 0)
    parts = bound(objective)
    assert len(parts.row_blocks) >= 9
    point = parts.at(M)
    assert point.value == pytest.approx(whole.value, rel=1e-13)
    np.testing.assert_allclose(point.gradient, whole.gradient, rtol=1e-10)
    np.testing.assert_allclose(point.hessian_vector(V), whole.hessian_vector(V), rtol=1e-10)
    monkeypatch.setattr(pairwise, "DENSE", 0)  # each product computes the distances again
    product = parts.at(M).hessian_vector(V)
    np.testing.assert_allclose(product, whole.hessian_vector(V), rtol=1e-10)


def test_nca_of_far_points_counts_nearest_neighbours():
    """Every exponential underflows; the limit is leave-one-out accuracy of 1-NN."""
    D = squares(X @ M)
    np.fill_diagonal(D, np.inf)
    right = np.sum(LABELS[D.argmin(axis=1)] == LABELS)
    problem = bound(NCA())
    point = problem.at(problem.lower([1e8 * M]))
    assert problem.reported(point.value) == pytest.approx(right, abs=1e-9)
    assert np.isfinite(point.gradient).all() and np.isfinite(point.hessian_vector(M)).all()


@pytest.mark.parametrize("step", [1, 2])
def test_a_saturated_nca_says_so(step):
    """iris on a line: every p_i goes to 0 or 1 with M; of all rows one is wrong, of every other
    none.
    """
    A, y = (part[::step] for part in load_iris(return_X_y=True))
    result = ldr.solve("nca", A, 1, y=y, starts=1)
    D = squares(A @ result.M)
    np.fill_diagonal(D, np.inf)
    n, right = len(A), int(np.sum(y[D.argmin(axis=1)] == y))
    assert right == (149 if step == 1 else 75)
    assert result.value == pytest.approx(right, abs=1e-6)
    assert any(f"{right} of {n} rows" in note for note in result.notes), result.notes
    assert result.certificate.kind == ("none" if right < n else "global")
    assert result.value + result.certificate.gap >= n


def test_a_saturated_nca_is_no_saddle():
    """Its curvature, of 1e-9, is what the exponentials left."""
    A, y = real_data.breast_cancer()
    found = ldr.solve("nca", A, 2, y=y, starts=1).certificate
    assert found.kind == "none" and found.message.startswith("saturated")


def test_distances_that_rounding_errors_of_the_map_decide_prove_nothing():
    A, y = real_data.wine()
    start = 1e9 * np.random.default_rng(0).standard_normal((13, 2))
    found = ldr.solve("nca", A / A.std(axis=0), 2, y=y, start=start).certificate
    assert found.kind == "none" and "are too inaccurate to be compared" in found.message


def test_an_nca_that_is_not_saturated_is_a_local_optimum():
    """Classes that overlap in the one column there is: scale 0 and infinity are both worse."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    result = ldr.solve("nca", rng.standard_normal((60, 1)) + 2 * y[:, None], 1, y=y)
    assert result.certificate.kind == "local" and not result.notes


def test_nca_of_its_own_starts_is_as_good_as_what_random_ones_find():
    """iris without its last column: both end at 147, one of ten random starts at 148."""
    A, y = load_iris(return_X_y=True)
    A = A[:, :3] / A[:, :3].std(axis=0)
    assert ldr.solve("nca", A, 1, y=y, certify=False).value == pytest.approx(148, abs=1e-3)


def test_of_many_rows_there_are_no_starts_beside_the_annealed_one(monkeypatch):
    assert len(bound(NCA()).starts()) > 1
    monkeypatch.setattr("ldr.objectives.metric.BATCH_ROWS", 9)
    assert not bound(NCA()).starts()


def test_a_batch_of_a_single_class_has_no_margins(tmp_path):
    np.save(tmp_path / "X.npy", X)
    problem = bound(LMNN(), tmp_path / "X.npy")
    M, piece = problem.random_point(np.random.default_rng(0)), problem.samples.piece(slice(0, 9))
    one, several = (
        problem.term.first(M, piece, codes)[0] for codes in (np.zeros(9, int), np.arange(9) // 3)
    )
    assert 0.0 < one < several


@pytest.mark.parametrize(
    "case", [pytest.param("digits", marks=pytest.mark.slow), "overlapping classes"]
)
def test_an_annealed_nca_is_better_than_plain_runs(case):
    """scikit-learn's, from its own start, and ours from random M that are given as matrices."""
    from sklearn.neighbors import NeighborhoodComponentsAnalysis

    rng = np.random.default_rng(0)
    if case == "digits":
        A, y = (part[:300] for part in load_digits(return_X_y=True))
        A = A[:, A.std(axis=0) > 0]
    else:
        y = rng.integers(0, 3, 100)
        A = rng.standard_normal((100, 8))
        A[:, :3] += 1.2 * rng.standard_normal((3, 3))[y]
    A = real_data.standardised(A)
    found = ldr.solve("nca", A, 2, y=y, certify=False)
    M = NeighborhoodComponentsAnalysis(2, max_iter=500, random_state=0).fit(A, y).components_.T
    assert found.value > value(NCA(), M, A, y) + 1.0
    for _ in range(3):
        given = ldr.solve("nca", A, 2, y=y, certify=False, start=rng.standard_normal((len(A.T), 2)))
        assert found.value > given.value + 1.0


def test_no_other_start_is_tried_where_no_value_is_better():
    A, y = load_wine(return_X_y=True)
    result = ldr.solve("nca", real_data.standardised(A), 2, y=y)
    assert result.certificate.kind == "global" and result.starts is None


def target_neighbours(X, y, k):
    D = squares(X)
    np.fill_diagonal(D, np.inf)
    D[y[:, None] != y] = np.inf
    return np.argsort(D, axis=1)[:, :k]


def hinge_sum(M, penalty, h, k=3):
    """The formula, triple by triple."""
    D, total = squares(X @ M), 0.0
    eta = target_neighbours(X, LABELS, k)
    for i, q in itertools.product(range(len(X)), range(k)):
        j = eta[i, q]
        total += D[i, j]
        total += penalty * sum(
            h(1 + D[i, j] - D[i, m]) for m in range(len(X)) if LABELS[m] != LABELS[i]
        )
    return total


@pytest.mark.parametrize(
    ("parameters", "h"),
    [
        ({}, lambda t: max(t, 0) ** 2),
        ({"hinge": "linear", "width": 0.0}, lambda t: max(t, 0)),
        (
            {"hinge": "linear", "width": 0.5},
            lambda t: 0 if t < 0 else t**2 if t < 0.5 else t - 0.25,
        ),
    ],
    ids=["squared", "linear", "rounded"],
)
def test_lmnn_is_the_formula(parameters, h):
    objective = LMNN(penalty=0.7, **parameters)
    assert value(objective, M) == pytest.approx(hinge_sum(M, 0.7, h), rel=1e-12)


def test_equal_rows_are_no_target_neighbours(tmp_path):
    """A class of two different rows has one target neighbour of each, and the row itself."""
    rows = np.r_[np.repeat(np.arange(30), 4), 30, 30, 31, 31]
    y = np.r_[LABELS[rows[:-4]], 7, 7, 7, 7]
    M = np.random.default_rng(0).standard_normal((7, 2))
    D, own, counts = squares(X[:32] @ M), np.r_[LABELS[:30], 7, 7], np.r_[np.full(30, 4), 2, 2]
    eta, expected = target_neighbours(X[:32], own, 3), 0.0
    eta[30:] = [[31, 30, 30], [30, 31, 31]]
    for i, q in itertools.product(range(32), range(3)):
        margins = np.maximum(1 + D[i, eta[i, q]] - D[i], 0)[own != own[i]]
        expected += counts[i] * (D[i, eta[i, q]] + counts[own != own[i]] @ margins**2)
    assert value(LMNN(), M, X[rows], y) == pytest.approx(expected, rel=1e-12)
    wide = np.random.default_rng(0).standard_normal((32, 40))
    assert len(bound(LMNN(), wide[rows], y).X) == 32
    result = ldr.solve("lmnn", X[rows], 2, y=y)
    with pytest.raises(SingularError, match="no derivative in X where rows of a class are equal"):
        result.sensitivity(X[rows], y).along(X[rows])
    np.save(tmp_path / "X.npy", X[rows])
    in_batches = value(LMNN(), M, tmp_path / "X.npy", y)
    assert in_batches == pytest.approx(value(LMNN(), M, X[rows], y), rel=1e-12)


@pytest.mark.parametrize("rows", [1000, 30, 5], ids=["all", "some", "too few of a class"])
def test_lmnn_starts_are_named_and_the_solution_of_full_rank_is_one(rows, monkeypatch):
    monkeypatch.setattr(metric, "_SOME_ROWS", rows)
    problem = bound(LMNN())
    starts = problem.starts()
    assert set(starts) == {"pca", "screened", "full-rank"}
    assert all(start.shape == (7, 2) for start in starts.values())
    values = {name: problem.at(start).value for name, start in starts.items()}
    assert values["full-rank"] < values["pca"]


@pytest.mark.parametrize("name", ["nca", "lmnn"])
def test_units_of_the_columns_are_no_obstacle(name):
    """Columns of breast_cancer as measured spread over five decades."""
    A, y = (part[::6] for part in real_data.breast_cancer())
    result = ldr.solve(name, A, 2, y=y, tolerance=1e-6, certify=False)
    assert result.converged and result.improvement > 0
    D = squares((A - result.mean) @ result.M)
    np.fill_diagonal(D, np.inf)
    assert np.mean(y[D.argmin(axis=1)] == y) > 0.95


def test_pca_start_is_pca_in_the_units_of_the_user():
    A = X * np.logspace(-3, 3, 7)
    (M,) = bound(NCA(), A).lift(bound(NCA(), A).starts()["pca"])
    assert subspace_angles(M, ldr.solve("pca", A, 2).M)[0] < 1e-6
    Y = (A - A.mean(axis=0)) @ M
    within = sum(len(part) * part.var(axis=0) for part in (Y[LABELS == c] for c in range(3)))
    assert np.mean(within) / len(Y) == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["nca", "lmnn"])
def test_more_dimensions_than_classes_tell_are_filled_by_principal_components(name):
    y = LABELS % 2
    result = ldr.solve(name, X, 4, y=y)
    assert np.linalg.matrix_rank(result.baseline_M) == 4
    assert result.improvement > 0


def test_columns_of_the_baseline_beyond_the_rank_are_zero():
    rows = np.random.default_rng(0).standard_normal((5, 8))  # 4 directions
    baseline = ldr.solve("nca", rows, 7, y=[0, 1, 0, 1, 0]).baseline_M
    lengths = np.linalg.norm(baseline, axis=0)
    assert np.count_nonzero(lengths) == 4 and lengths[:4].min() > 0.1


# where no violation is left the value is 0 and its gradient rounding, whatever the tolerance
@pytest.mark.filterwarnings("ignore::ldr.errors.ConvergenceWarning")
@pytest.mark.parametrize("name", ["nca", "lmnn"])
def test_classes_without_spread(name):
    centres = np.random.default_rng(1).standard_normal((3, 7))
    result = ldr.solve(name, centres[LABELS], 2, y=LABELS)
    assert np.isfinite(result.M).all() and np.isfinite(result.value)


@pytest.mark.parametrize(
    ("name", "y", "parameters", "error", "message"),
    [
        (
            "lmnn",
            LABELS,
            {"neighbours": 20},
            DataError,
            r"class 0 has 20 sample\(s\); each class of y needs at least 21",
        ),
        ("lmnn", None, {}, ArgumentError, "needs labels"),
        ("nca", None, {}, ArgumentError, "needs labels"),
        ("nca", np.zeros(len(X)), {}, DataError, "class"),
    ],
)
def test_mistakes_are_named(name, y, parameters, error, message):
    with pytest.raises(error, match=message):
        ldr.solve(name, X, 2, y=y, **parameters)


@pytest.mark.parametrize("name", ["mds-stress", "nca", "lmnn"])
def test_data_that_do_not_vary_are_refused(name):
    with pytest.raises(DataError, match="equal"):
        ldr.solve(name, np.ones((60, 7)), 2, y=LABELS)


@pytest.mark.parametrize("start", [pytest.param("baseline", marks=pytest.mark.slow), "pca"])
def test_nca_at_least_as_good_as_scikit_learn(start):
    """The same formula; and from the same start, what they cannot improve from our end."""
    from sklearn.neighbors import NeighborhoodComponentsAnalysis

    A, y = (part[::3] for part in real_data.breast_cancer())
    A = real_data.standardised(A)[:, :10]
    problem = bound(NCA(), A, y)

    def theirs(M):
        fitted = NeighborhoodComponentsAnalysis(2, init=M.T, max_iter=2000, tol=1e-10).fit(A, y)
        return value(NCA(), fitted.components_.T, A, y)

    (M,) = problem.lift(problem.baseline() if start == "baseline" else problem.starts()["pca"])
    result = ldr.solve("nca", A, 2, y=y, start=M)
    best = ldr.solve("nca", A, 2, y=y, certify=False)
    assert best.value >= theirs(M) - 1e-6
    assert result.value >= theirs(result.M) - 1e-6


def test_lmnn_on_many_rows_merges_starts_with_the_same_optimum_on_a_sample(monkeypatch):
    A, y = load_wine(return_X_y=True)
    A = real_data.standardised(A)
    alone = ldr.solve("lmnn", A, 2, y=y)
    monkeypatch.setattr(metric, "_SOME_ROWS", 80)
    merged = ldr.solve("lmnn", A, 2, y=y)
    assert merged.value == pytest.approx(alone.value, rel=1e-8)
    assert merged.starts.merged
    assert len(merged.starts.values) + len(merged.starts.merged) == 4
