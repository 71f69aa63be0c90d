"""Methods of signals and trials, against their peers and sums in extended precision."""

import numpy as np
import pytest
import scipy.linalg

import ldr
from ldr.errors import ArgumentError
from ldr.objectives.data.opening import as_samples
from ldr.objectives.statistics import pair_moments

rng = np.random.default_rng(0)


def _process(n=500):
    """Rows of four processes with autocorrelations .95, .8, .5 and -.6, mixed, far from zero."""
    Z = np.zeros((n, 4))
    for t in range(1, n):
        Z[t] = Z[t - 1] * (0.95, 0.8, 0.5, -0.6) + rng.standard_normal(4)
    return Z @ rng.standard_normal((4, 4)) + 5.0


SERIES = _process()
PARTS = [SERIES[:200], SERIES[200:210], SERIES[210:]]


def span_distance(A, B):
    return ldr.subspaces.distance(A, B)


def peer(module):
    """A package that the project does not depend on."""
    reason = f"{module.split('.')[0]} is not installed: agreement with it was NOT tested"
    return pytest.importorskip(module, reason=reason, exc_type=ImportError)


def members(trials, lag):
    """Both members of all pairs, in extended precision."""
    pairs = [(trial[:-lag], trial[lag:]) for trial in trials if len(trial) > lag]
    heads, tails = (np.vstack(side).astype(np.longdouble) for side in zip(*pairs, strict=True))
    return heads, tails


@pytest.mark.parametrize("lag", [1, 3, 12])
def test_pairs_are_summed_as_rows_of_two_views(lag, monkeypatch):
    from ldr.objectives.data import samples

    heads, tails = members(PARTS, lag)
    both = np.hstack([heads, tails])
    centred = both - both.mean(axis=0)
    expected = (centred.T @ centred).astype(float)
    ids = np.repeat(np.arange(3), list(map(len, PARTS)))
    for numbers in (28, 2**20):  # seven rows in a piece, or all
        monkeypatch.setattr(samples, "PIECE_NUMBERS", numbers)
        for given in (SERIES, scipy.sparse.csr_array(SERIES)):
            rows = as_samples(given)
            marked = type(rows)(**{**vars(rows), "marks": samples.Marks(None, ids)})
            found = pair_moments(marked, lag)
            S = np.block(
                [[found.scatter_aa, found.scatter_ab], [found.scatter_ab.T, found.scatter_bb]]
            )
            np.testing.assert_allclose(S, expected, rtol=0, atol=1e-11 * expected.max())
            assert found.n == len(both)
            mean = np.concatenate([found.mean_a, found.mean_b])
            np.testing.assert_allclose(mean, both.mean(axis=0).astype(float), rtol=1e-13)


@pytest.mark.parametrize("data", [SERIES, PARTS], ids=["series", "trials"])
def test_tica_of_deeptime(data):
    decomposition = peer("deeptime.decomposition")
    theirs = decomposition.TICA(lagtime=3, dim=2, scaling=None).fit(data).fetch_model()
    ours = ldr.solve("tica", data, 2, lag=3)
    eigenvalues = ours.components["eigenvalue"]
    np.testing.assert_allclose(eigenvalues, theirs.singular_values[:2], rtol=1e-12)
    assert span_distance(ours.P.T, theirs.singular_vectors_left[:, :2]) < 1e-12
    np.testing.assert_allclose(ours.mean, theirs.mean_0, rtol=1e-13)


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("data", [SERIES, PARTS], ids=["series", "trials"])
def test_vamp_of_deeptime(data, power):
    decomposition = peer("deeptime.decomposition")
    theirs = decomposition.VAMP(lagtime=3, dim=2, scaling=None).fit(data).fetch_model()
    ours = ldr.solve("vamp", data, 2, lag=3, power=power)
    assert ours.value == pytest.approx(theirs.score(power), rel=1e-12)
    singular = ours.components["singular_value"]
    np.testing.assert_allclose(singular, theirs.singular_values[:2], rtol=1e-12)
    assert span_distance(ours.P.T, theirs.singular_vectors_left[:, :2]) < 1e-12
    right = ours.parameters["right"]
    assert span_distance(right.T, theirs.singular_vectors_right[:, :2]) < 1e-12
    np.testing.assert_allclose(ours.parameters["right_mean"], theirs.mean_t, rtol=1e-13)


@pytest.mark.parametrize("power", [1, 2])
def test_the_cross_validated_score_is_deeptimes(power):
    decomposition = peer("deeptime.decomposition")
    train, test = SERIES[:300], SERIES[300:]
    fits = [
        decomposition.VAMP(lagtime=3, dim=2, scaling=None).fit(part).fetch_model()
        for part in (train, test)
    ]
    for standardise in (False, True):
        ours = ldr.solve("vamp", train, 2, lag=3, power=power, standardise=standardise)
        assert ldr.score(ours, test) == pytest.approx(fits[0].score(power, fits[1]), rel=1e-12)
        assert ldr.score(ours, train) == pytest.approx(ours.value, rel=1e-12)


@pytest.mark.parametrize("power", [1, 2])
def test_the_held_out_vamp_score_by_its_definition(power):
    """From the two maps and the sums over pairs of other rows alone; by folds of trials too."""
    trials = np.split(SERIES, 10)
    ours = ldr.solve("vamp", trials[:5], 2, lag=2, power=power)
    heads, tails = (np.asarray(side, dtype=float) for side in members(trials[5:], 2))
    U, V = ours.P.T, ours.parameters["right"].T
    a, b = (heads - heads.mean(axis=0)) @ U, (tails - tails.mean(axis=0)) @ V
    Qa, Qb = np.linalg.qr(a)[0], np.linalg.qr(b)[0]
    sigma = np.linalg.svd(Qa.T @ Qb, compute_uv=False)
    assert ldr.score(ours, trials[5:]) == pytest.approx(1 + np.sum(sigma**power), rel=1e-12)
    path = ldr.path("vamp", trials, [1, 2], folds=5, lag=2, power=power)
    scores = np.asarray(path.scores)
    assert np.all(np.isfinite(scores)) and np.all(scores > 1.0)


def test_tica_is_bounded_where_maf_is_not():
    X = np.cumsum(np.cumsum(rng.standard_normal((40, 2)), axis=0), axis=0)
    assert ldr.solve("tica", X, 2).value <= 2.0
    heads, tails = members([X], 1)
    mean = 0.5 * (heads.mean(axis=0) + tails.mean(axis=0))
    a, b = (np.asarray(side - mean, dtype=float) for side in (heads, tails))
    expected = scipy.linalg.eigh(a.T @ b + b.T @ a, a.T @ a + b.T @ b, eigvals_only=True)
    assert ldr.solve("tica", X, 2).value == pytest.approx(expected.sum(), rel=1e-12)


@pytest.mark.parametrize("name", ["tica", "vamp"])
def test_lags_that_leave_no_pair_are_refused(name):
    with pytest.raises(ArgumentError, match="lag must be between 1 and n - 1 = 499"):
        ldr.solve(name, SERIES, 2, lag=500)
    with pytest.raises(ArgumentError, match="lag = 12 leaves no two rows"):
        ldr.solve(name, np.split(SERIES, 50), 2, lag=12)
    with pytest.raises(ArgumentError, match="power must be 1 or 2, got 3"):
        ldr.solve("vamp", SERIES, 2, power=3)
