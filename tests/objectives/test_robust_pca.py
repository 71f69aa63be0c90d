"""Robust pca: outliers that wreck pca do not move it. Log-determinant pca: pca's span."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import subspace_angles

import ldr
from ldr.errors import ArgumentError, DataError
from ldr.objectives import LogDetPCA, RobustPCA
from ldr.objectives.data.opening import as_samples
from ldr.objectives.families.medians import Distances, median_in_pieces
from ldr.objectives.families.row_sum import Frame
from ldr.objectives.robust_pca import Huber, MedianRows, RoundedDistance, geometric_median
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


def test_each_start_is_found_once(monkeypatch):
    passes = []
    plain = MedianRows.scatters
    monkeypatch.setattr(MedianRows, "scatters", lambda rows: passes.append(1) or plain(rows))
    assert len(ldr.solve("robust-pca", planted(0)[0], 3).starts.names) == 3
    assert len(passes) == 1


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


def test_geometric_median_balances_unit_vectors():
    A = real_data.wine()[0]
    centre = geometric_median(A)
    units = (A - centre) / np.linalg.norm(A - centre, axis=1)[:, None]
    assert np.linalg.norm(units.sum(axis=0)) < 1e-6
    np.testing.assert_allclose(geometric_median(A + 3.0), centre + 3.0, atol=1e-8)
    moved = A.copy()
    moved[:50] += 1e6
    assert np.linalg.norm(geometric_median(moved) - centre) < 5


def test_a_step_that_raises_the_sum_of_distances_is_taken_back(monkeypatch):
    A, far = real_data.wine()[0], iter([30.0])
    expected, newton = geometric_median(A), Distances.newton
    monkeypatch.setattr("ldr.objectives.families.medians.SAMPLE_ROWS", 9)
    monkeypatch.setattr(Distances, "newton", lambda sums: next(far, 1.0) * newton(sums))
    found = median_in_pieces(as_samples(A), Frame(np.zeros(A.shape[1])))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


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
    assert set(starts) == {"reweighted pca", "pca", "spherical pca"}
    baseline = problem.at(problem.baseline())
    assert baseline.value <= min(problem.at(M).value for M in starts.values())
    result = ldr.solve("robust-pca", A, 3, loss=loss)
    assert 0 <= result.improvement < 1e-6


@pytest.mark.parametrize("loss", [RoundedDistance(0.1), Huber(0.7)], ids=LOSSES)
def test_losses_and_their_derivatives(loss):
    q, h = np.linspace(0.01, 3, 50), 1e-5
    q = q[np.abs(q - 0.49) > 2 * h]
    np.testing.assert_allclose(loss.slope(q), (loss(q + h) - loss(q - h)) / (2 * h), rtol=1e-6)
    difference = (loss.slope(q + h) - loss.slope(q - h)) / (2 * h)
    np.testing.assert_allclose(loss.curvature(q), difference, rtol=1e-5, atol=1e-8)
    assert loss(np.zeros(1)) == 0


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
