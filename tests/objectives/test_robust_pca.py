"""Robust pca: outliers that wreck pca do not move it. Log-determinant pca: pca's span."""

from dataclasses import replace

import dask.array as da
import numpy as np
import pytest
from scipy.linalg import subspace_angles

import ldr
from ldr.errors import ArgumentError, DataError
from ldr.objectives import LogDetPCA, RobustPCA, robust_pca
from ldr.objectives.data.data import Samples
from ldr.objectives.data.sample_metadata import Marks
from ldr.objectives.families.row_sum import Frame
from tests import real_data
from tests.objectives.methods import X, bound

LOSSES = ["l1", "huber"]


def planted(seed, n=300, d=12, r=3, share=0.12):
    """Rows near a subspace around a centre, and outliers together on one side of it."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.standard_normal((d, r + 1)))[0]
    span, away = basis[:, :r], basis[:, r]
    centre = 5 * rng.standard_normal(d)
    A = rng.standard_normal((n, r)) * [3, 2.5, 2.5] @ span.T + 0.05 * rng.standard_normal((n, d))
    A[: int(share * n)] += 10 * away
    return A + centre, span, centre


def angle(M, span):
    return np.rad2deg(subspace_angles(M, span)[0])


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(3))
def test_outliers_wreck_pca_but_not_robust_pca(seed, loss):
    A, span, centre = planted(seed)
    wrecked = angle(ldr.solve("pca", A, 3).M, span)
    result = ldr.solve("robust-pca", A, 3, loss=loss)
    kept = angle(result.M, span)
    assert wrecked > 60 and kept < 6
    assert np.linalg.norm(result.mean - centre) < 0.6 * np.linalg.norm(A.mean(axis=0) - centre)


@pytest.mark.parametrize("loss", LOSSES)
def test_value_is_the_formula(loss):
    result = ldr.solve("robust-pca", X, 2, loss=loss, epsilon=1e-6, threshold=2.5)
    A = X - result.mean
    t = np.linalg.norm(A - A @ result.M @ result.M.T, axis=1)
    formula = t if loss == "l1" else np.where(t < 2.5, t**2 / 2, 2.5 * (t - 1.25))
    assert result.value == pytest.approx(formula.sum(), rel=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("far", [3, 30, 300])
def test_on_a_sphere_far_samples_do_not_turn_the_subspace(far, loss):
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.standard_normal((100, 3)))[0]
    A = rng.standard_normal((215, 3)) * [5, 3, 2] @ basis.T + 0.1 * rng.standard_normal((215, 100))
    A[:4] += far * rng.standard_normal((4, 100))
    assert angle(ldr.solve("robust-pca", A, 3, loss=loss, sphere=True).M, basis) < 5


def test_value_on_a_sphere_is_the_formula():
    A = np.vstack([X, np.zeros((1, X.shape[1]))])
    plain, result = (ldr.solve("robust-pca", A, 2, epsilon=1e-6, sphere=s) for s in (False, True))
    np.testing.assert_array_equal(result.mean, plain.mean)
    Z = A - result.mean
    Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    lengths = np.linalg.norm(Z - Z @ result.M @ result.M.T, axis=1)
    assert result.value == pytest.approx(lengths.sum(), rel=1e-5)


def test_a_sample_at_the_centre_does_not_count_on_a_sphere():
    A = np.random.default_rng(0).standard_normal((40, 5))
    both = np.vstack([A, -A])  # the median is the origin
    with_centre = np.vstack([both, np.zeros((1, 5))])
    values = [ldr.solve("robust-pca", Z, 2, sphere=True).value for Z in (both, with_centre)]
    assert values[1] == pytest.approx(values[0], rel=1e-12)


def median_of(A, w=None):
    marks = None if w is None else Marks(weights=w)
    centre, notes = robust_pca.geometric_median(
        Samples(A, marks=marks), Frame(np.zeros(A.shape[1]))
    )
    assert not notes
    return centre


def balance(A, centre, w):
    """The length of the rows' unit vectors' sum, less the number of rows at the centre."""
    lengths = np.linalg.norm(A - centre, axis=1)
    away = lengths > 1e-14 * np.median(lengths)
    pull = (w[away] / lengths[away]) @ (A[away] - centre)
    return np.linalg.norm(pull) - w[~away].sum()


def long_weiszfeld(A, steps=20_000):
    centre = np.mean(A, axis=0)
    for _ in range(steps):
        weights = 1.0 / np.linalg.norm(A - centre, axis=1)
        centre = weights @ A / weights.sum()
    return centre


def test_geometric_median_of_outliers_and_of_moved_rows():
    A = real_data.wine()[0]
    centre = median_of(A)
    np.testing.assert_allclose(median_of(A + 3.0), centre + 3.0, atol=1e-13)
    moved = A.copy()
    moved[:50] += 1e6
    assert np.linalg.norm(median_of(moved) - centre) < 5


@pytest.mark.parametrize("seed", range(60))
def test_geometric_median_balances_unit_vectors(seed):
    """Of heavy tails, equal rows, rows on a line or near it, and in columns 1e6 apart in scale."""
    rng = np.random.default_rng(seed)
    n, d = rng.integers(3, 60), rng.integers(1, 8)
    A = rng.standard_t(rng.choice([0.5, 1.0, 30.0]), (n, d)) * 10.0 ** rng.uniform(-3, 3, d)
    if seed % 3 == 0:
        A = np.round(A)[rng.integers(0, n, n)]
    if seed % 4 == 0:
        A = np.outer(A[:, 0], np.ones(d)) + rng.choice([0.0, 1e-8]) * A
    w = rng.integers(0, 4, n) + 0.0 if seed % 5 else np.ones(n)
    A += 10.0 ** rng.uniform(-2, 4) * rng.standard_normal(d)
    centre = median_of(A, w)
    lengths = np.linalg.norm(A - centre, axis=1)
    place = np.linalg.norm(centre) * (w[lengths > 0] / lengths[lengths > 0]).sum()
    assert balance(A, centre, w) <= 2e-15 * (w.sum() + place)


def test_geometric_median_at_a_row():
    """A row among two pairs at right angles; and a start at a row that is not the median."""
    A = np.array([[0.0, 0], [1, 0], [-2, 0], [0, 3], [0, -1]])
    np.testing.assert_array_equal(median_of(A), [0, 0])
    A = np.array([[0.0, 0], [1, 0], [-1, 5], [0, 7], [3, 0]])
    np.testing.assert_array_equal(np.median(A, axis=0), A[0])
    np.testing.assert_allclose(median_of(A), long_weiszfeld(A), atol=1e-12)


@pytest.mark.parametrize("response", [True, False])
def test_longley_from_any_container(tmp_path, response):
    """In nearly collinear columns Weiszfeld's iteration alone takes ten thousand steps."""
    table = real_data.longley(response)
    A = table.to_numpy(dtype=float)
    np.save(tmp_path / "X.npy", A)
    table.to_csv(tmp_path / "X.csv", index=False)
    table.to_parquet(tmp_path / "X.parquet")
    files = [tmp_path / f"X.{kind}" for kind in ("npy", "csv", "parquet")]
    chunks = [[A[:5], A[5:]], da.from_array(A, chunks=(4, A.shape[1]))]
    containers = (A, table, *files, *chunks)
    values = [ldr.solve("robust-pca", each, 2, certify=False).value for each in containers]
    np.testing.assert_allclose(values, values[0], rtol=1e-10)
    centre = long_weiszfeld(A)
    squares = lambda M: np.sum((A - centre - (A - centre) @ M @ M.T) ** 2, axis=1)  # noqa: E731
    result = ldr.solve("robust-pca", A, 2)
    e = 1e-3 * np.median(np.linalg.norm(A - centre, axis=1))
    expected = np.sum(np.sqrt(squares(result.M) + e**2) - e)
    assert result.value == pytest.approx(expected, rel=1e-10)


def test_a_step_that_raises_the_sum_of_distances_is_not_taken(monkeypatch):
    A, far = real_data.wine()[0], iter([30.0])
    expected, candidates = median_of(A), robust_pca.Distances.candidates

    def overshooting(sums, frame):
        newton, *others = candidates(sums, frame)
        yield frame.centre + next(far, 1.0) * (newton - frame.centre)
        yield from others

    monkeypatch.setattr(robust_pca.Distances, "candidates", overshooting)
    np.testing.assert_allclose(median_of(A), expected, atol=1e-14)


def test_a_sample_of_the_rows_is_a_start_only(monkeypatch):
    A = real_data.wine()[0]
    expected = median_of(A)
    monkeypatch.setattr(robust_pca, "SAMPLE_ROWS", 9)
    np.testing.assert_allclose(median_of(A), expected, atol=1e-13)


def test_a_median_that_has_not_converged_is_noted(monkeypatch, tmp_path):
    monkeypatch.setattr(robust_pca, "_STEPS", 2)
    np.save(tmp_path / "X.npy", real_data.wine()[0])
    for given in (real_data.wine()[0], tmp_path / "X.npy"):
        notes = ldr.solve("robust-pca", given, 2).notes
        assert any("geometric median has not converged in" in note for note in notes)


def test_huber_with_a_high_threshold_is_pca_around_the_geometric_median():
    A = real_data.wine()[0]
    result = ldr.solve("robust-pca", A, 3, loss="huber", threshold=1e6)
    centred = A - result.mean
    _, s, Vt = np.linalg.svd(centred, full_matrices=False)
    assert angle(result.M, Vt[:3].T) < 1e-5
    assert result.value == pytest.approx(np.sum(s[3:] ** 2) / 2, rel=1e-10)


@pytest.mark.parametrize("loss", LOSSES)
def test_reweighting_never_raises_the_value_and_ends_near_an_optimum(loss):
    A, _, _ = planted(5)
    problem = bound(RobustPCA(loss), A, 3)
    starts = problem.starts()
    assert set(starts) == {"reweighted pca", "pca"}
    baseline = problem.at(problem.baseline())
    assert baseline.value <= min(problem.at(M).value for M in starts.values())
    result = ldr.solve("robust-pca", A, 3, loss=loss)
    assert 0 <= result.improvement < 1e-6


def test_exact_fit_keeps_its_digits():
    """Rows on a subspace: residuals are not differences of large squares."""
    rng = np.random.default_rng(0)
    span = np.linalg.qr(rng.standard_normal((8, 2)))[0]
    A = rng.standard_normal((30, 2)) @ span.T
    A[:3] = 2 * rng.standard_normal((3, 8))
    result = ldr.solve("robust-pca", np.vstack([A, -A]), 2, start="random", random_state=0)
    assert result.converged
    assert angle(result.M, span) < 0.1


@pytest.mark.parametrize("loss", LOSSES)
def test_more_than_half_of_the_rows_equal(loss):
    A = np.zeros((50, 5))
    A[:10] = np.random.default_rng(0).standard_normal((10, 5))
    result = ldr.solve("robust-pca", A, 2, loss=loss)
    assert np.isfinite(result.value)
    np.testing.assert_allclose(result.mean, 0, atol=1e-8)


def test_data_that_do_not_vary_are_refused():
    with pytest.raises(DataError, match="equal"):
        ldr.solve("robust-pca", np.ones((20, 4)), 2)


# log-det-pca: identity 1


def test_the_bound_of_the_determinant_holds():
    A = real_data.wine()[0]
    best = ldr.solve("log-det-pca", A, 3).value
    problem = bound(LogDetPCA(), A, 3)
    for seed in range(20):
        M = problem.random_point(np.random.default_rng(seed))
        statement = problem.certificate(M)
        short = best - problem.reported(problem.at(M).value)
        assert statement.kind == "bound"
        assert short <= statement.gap <= short + 1e-9


def test_a_saddle_of_the_determinant_is_not_called_global():
    problem = bound(LogDetPCA(), real_data.wine()[0], 2)
    vectors = np.linalg.eigh(problem.C)[1][:, ::-1]
    assert problem.certificate(vectors[:, [0, 2]]).kind == "bound"
    M = np.eye(len(problem.C), 2)
    flat = replace(problem, C=np.outer(M[:, 0], M[:, 0]))  # of one dimension
    assert flat.at(M).value == np.inf and np.isnan(flat.at(M).gradient).all()
    assert flat.certificate(M).kind == "none"


def test_a_singular_covariance_restricts_and_limits_r():
    A = np.hstack([X[:, :3], X[:, :1] + X[:, 1:2]])
    result = ldr.solve("log-det-pca", A, 3)
    assert any("rank 3 of 4" in note for note in result.notes)
    assert angle(result.M, ldr.solve("pca", A, 3).M) < 1e-5
    with pytest.raises(ArgumentError, match="r <= 3"):
        ldr.solve("log-det-pca", A, 4)
