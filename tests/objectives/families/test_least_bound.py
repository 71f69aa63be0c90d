"""The least dual bound, against its semidefinite program and differences."""

import numpy as np
import pytest

import ldr
from ldr.objectives.families.joint_bound import LeastBound, MultiBound, SmoothedRatio, largest_ratio
from tests.objectives.test_multiview import shared

# Of 300 rows in 10 and 10 columns, r = 3: the program's values by Clarabel (cvxpy), to 1e-9.
PROGRAM = {5: 0.712437748, 8: 0.649915817, 9: 0.687017500}


def symmetric(rng, d):
    S = rng.standard_normal((d, d))
    return S + S.T


@pytest.mark.parametrize("r", [1, 3, 6])
def test_a_smoothed_ratio_is_above_the_largest_by_at_most_its_slack(r):
    rng = np.random.default_rng(r)
    C = np.cov(rng.standard_normal((6, 30)))
    Q = 5.0 * C + symmetric(rng, 6)
    exact, _ = largest_ratio(Q, C, np.eye(6, r))
    for temperature in (1e-1, 1e-3, 1e-8):
        smoothed = SmoothedRatio(Q, C, r, temperature, 1.0)
        tiny = 1e-12 * abs(exact)
        assert smoothed.value - smoothed.slack - tiny <= exact <= smoothed.value + tiny
    assert smoothed.value == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("r", [1, 2])
def test_derivatives_of_a_smoothed_ratio(r):
    rng = np.random.default_rng(r)
    C = np.cov(rng.standard_normal((5, 30)))
    Q, E, h = 3.0 * C + symmetric(rng, 5), symmetric(rng, 5), 1e-5

    def at(t):
        return SmoothedRatio(Q + t * E, C, r, 0.1, 3.0)

    slope = (at(h).value - at(-h).value) / (2 * h)
    assert np.vdot(at(0).gradient, E) == pytest.approx(slope, rel=1e-7)
    change = (at(h).gradient - at(-h).gradient) / (2 * h)
    np.testing.assert_allclose(at(0).derivative(E), change, atol=1e-7 * np.abs(change).max())


@pytest.mark.parametrize("seed", PROGRAM)
def test_thorough_gaps_are_those_of_the_semidefinite_program(seed):
    """Of a relaxation that is not tight."""
    X = shared(300, (10, 10), seed, noise=2.0)
    found = ldr.solve("orthogonal-cca", X, 3, certify="thorough")
    program = PROGRAM[seed] - found.value
    assert 0.999 * program <= found.certificate.gap <= 1.05 * program
    assert ldr.solve("orthogonal-cca", X, 3).certificate.gap <= 1.3 * program


def test_a_singular_divisor_has_no_bound():
    blocks = [np.eye(2, 1), np.eye(2, 1)]
    for C, bound in ((np.diag([1.0, 0.0]), np.inf), (np.eye(2), 1.0)):
        found = MultiBound(np.eye(4)[::-1], [C, np.eye(2)]).of(blocks, 0.0, None)
        assert found == pytest.approx(bound)


def test_the_bound_of_three_views_is_a_minimum():
    """No multipliers nearby, made a bound by a shift, prove less."""
    rng = np.random.default_rng(0)
    Z = np.hstack(shared(60, (4, 3, 5), 1, noise=2.0))
    S = np.cov(Z.T)
    where = [slice(0, 4), slice(4, 7), slice(7, 12)]
    C = [S[w, w] for w in where]
    A = S.copy()
    for w in where:
        A[w, w] = 0.0
    bounds = MultiBound(A, C)

    def proven(found):
        return bounds.proven(bounds.semidefinite(found))

    start = bounds.semidefinite(bounds.multipliers([np.eye(len(own), 2) for own in C]))
    least = LeastBound(A, C, 2).minimised(start, 0.0, 1.0001, 5000)
    best = proven(least)
    assert best < proven(start)
    for _ in range(20):
        moved = [type(one)(one.Q + 1e-2 * symmetric(rng, len(one.Q)), one.M) for one in least]
        assert proven(moved) >= best * (1 - 1e-4)


@pytest.mark.slow
def test_gaps_of_random_problems_beside_the_semidefinite_program():
    """All 36: the gap of the program times 1.1; the share that is certified is printed."""
    cvxpy = pytest.importorskip("cvxpy", reason="cvxpy and clarabel, the SDP solver, are missing")
    certified = programs = 0
    for widths, r in (((10, 10), 3), ((20, 15), 3), ((30, 30), 5)):
        for seed in range(12):
            X = shared(300, widths, seed, noise=2.0)
            found = ldr.solve("orthogonal-cca", X, r, certify="thorough")
            program = semidefinite_program(cvxpy, *X, r) - found.value
            certified += found.certificate.kind == "global"
            programs += program < 1e-8
            print(widths, seed, f"{found.certificate.gap:.2e}, program {program:.2e}")
            assert found.certificate.gap <= 1.1 * program + 1e-8
    print(f"certified: {certified} of 36, tight programs: {programs}")


def semidefinite_program(cvxpy, Xa, Xb, r):
    """min (ta + tb)/2 with Qi = ti Cii + Wi + mi I, Wi >= 0, tr Wi + r mi <= 0, blkdiag(Q) >= A."""
    Xa, Xb = (X - X.mean(axis=0) for X in (Xa, Xb))
    Xa, Xb = (X / np.sqrt(np.mean(X**2) * len(X)) for X in (Xa, Xb))
    Q, t, limits = [], [], []
    for X in (Xa, Xb):
        d = X.shape[1]
        W, own, level = cvxpy.Variable((d, d), PSD=True), cvxpy.Variable(), cvxpy.Variable()
        Q.append(own * (X.T @ X) + W + level * np.eye(d))
        limits.append(cvxpy.trace(W) + r * level <= 0)
        t.append(own)
    blocks = cvxpy.bmat([[Q[0], -Xa.T @ Xb], [-Xb.T @ Xa, Q[1]]])
    program = cvxpy.Problem(cvxpy.Minimize(0.5 * (t[0] + t[1])), [blocks >> 0, *limits])
    return program.solve(solver="CLARABEL")
