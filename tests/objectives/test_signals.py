"""Methods of signals and trials, against their peers and sums in extended precision."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg
import scipy.signal
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

import ldr
from ldr.errors import ArgumentError, DataError, SingularError
from ldr.objectives.data.opening import as_samples
from ldr.objectives.statistics import diagonal_forms, pair_moments
from ldr.objectives.trials import JointDiagonal, joint_diagonaliser
from tests import real_data
from tests.objectives.methods import as_data
from tests.real_data import by_time

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
    from ldr.objectives.data import data as samples

    heads, tails = members(PARTS, lag)
    both = np.hstack([heads, tails])
    centred = both - both.mean(axis=0)
    expected = (centred.T @ centred).astype(float)
    ids = np.repeat(np.arange(3), list(map(len, PARTS)))
    for numbers in (28, 2**20):  # seven rows in a piece, or all
        monkeypatch.setattr(samples, "BLOCK_NUMBERS", numbers)
        for given in (SERIES, scipy.sparse.csr_array(SERIES)):
            rows = as_samples(given)
            marked = replace(rows, marks=samples.Marks(None, ids))
            found = pair_moments(marked, lag)
            np.testing.assert_allclose(found.scatter, expected, rtol=0, atol=1e-11 * expected.max())
            assert found.n == len(both)
            mean = np.concatenate(found.means)
            np.testing.assert_allclose(mean, both.mean(axis=0).astype(float), rtol=1e-13)


@pytest.mark.parametrize("power", [1, 2])
def test_the_held_out_vamp_score_by_its_definition(power):
    """From the two maps and the sums over pairs of other rows alone; by folds of trials too."""
    trials = np.split(SERIES, 10)
    ours = ldr.solve("vamp", by_time(trials[:5]), 2, lag=2, power=power)
    heads, tails = (np.asarray(side, dtype=float) for side in members(trials[5:], 2))
    U, V = ours.P.T, ours.parameters["right"].T
    a, b = (heads - heads.mean(axis=0)) @ U, (tails - tails.mean(axis=0)) @ V
    Qa, Qb = np.linalg.qr(a)[0], np.linalg.qr(b)[0]
    sigma = np.linalg.svd(Qa.T @ Qb, compute_uv=False)
    assert ldr.score(ours, by_time(trials[5:])) == pytest.approx(
        1 + np.sum(sigma**power), rel=1e-12
    )
    heads, tails = (np.asarray(side, dtype=float) for side in members(trials[:5], 2))
    np.testing.assert_allclose(ours.mean, heads.mean(axis=0), rtol=1e-13)
    np.testing.assert_allclose(ours.parameters["right_mean"], tails.mean(axis=0), rtol=1e-13)
    white = (np.linalg.qr(side - side.mean(axis=0))[0] for side in (heads, tails))
    sigma = np.linalg.svd(next(white).T @ next(white), compute_uv=False)[:2]
    np.testing.assert_allclose(ours.components["singular_value"], sigma, rtol=1e-12)
    assert ours.value == pytest.approx(1 + np.sum(sigma**power), rel=1e-12)
    standardised = ldr.solve("vamp", by_time(trials[:5]), 2, lag=2, power=power, standardise=True)
    for rows in (by_time(trials[:5]), by_time(trials[5:])):
        assert ldr.score(standardised, rows) == pytest.approx(ldr.score(ours, rows), rel=1e-12)
    assert ldr.score(ours, by_time(trials[:5])) == pytest.approx(ours.value, rel=1e-12)
    path = ldr.path("vamp", by_time(trials), [1, 2], folds=5, lag=2, power=power)
    scores = np.asarray(path.scores)
    assert np.all(np.isfinite(scores)) and np.all(scores > 1.0)


@pytest.mark.parametrize("name", ["tica", "vamp"])
@pytest.mark.parametrize("share", [0.5, 0.9, 0.99])
def test_a_share_of_the_kinetic_variance(name, share):
    """As `var_cutoff` of deeptime."""
    X = SERIES @ rng.standard_normal((SERIES.shape[1], SERIES.shape[1]))
    sizes = np.asarray(ldr.solve(name, X, X.shape[1], lag=2).components.iloc[:, 0])
    expected = np.searchsorted(np.cumsum(sizes**2) / np.sum(sizes**2), share) + 1
    found = ldr.solve(name, X, share, lag=2)
    assert found.r == expected and any("kinetic variance" in note for note in found.notes)


@pytest.mark.parametrize("name", ["tica", "vamp"])
def test_timescales_are_those_of_the_processes(name):
    """Two autoregressive processes, mixed: each decays to 1/e after -1/log of its coefficient."""
    noise, decay = np.random.default_rng(0).standard_normal((20000, 2)), np.array([0.95, 0.7])
    processes = scipy.signal.lfilter([1.0], [1.0, -decay[0]], noise[:, 0])
    other = scipy.signal.lfilter([1.0], [1.0, -decay[1]], noise[:, 1])
    X = np.column_stack([processes, other]) @ [[1.0, 0.4], [-0.3, 1.0]]
    for lag in (1, 3):
        found = ldr.solve(name, X, 2, lag=lag).components["timescale"]
        np.testing.assert_allclose(found, -1 / np.log(decay), rtol=0.15)


@pytest.mark.parametrize("name", ["tica", "vamp"])
def test_lags_that_leave_no_pair_are_refused(name):
    with pytest.raises(ArgumentError, match="lag must be between 1 and n - 1 = 499"):
        ldr.solve(name, SERIES, 2, lag=500)
    with pytest.raises(ArgumentError, match="lag = 12 leaves no pair of rows"):
        ldr.solve(name, by_time(np.split(SERIES, 50)), 2, lag=12)
    with pytest.raises(ArgumentError, match="power must be 1 or 2, got 3"):
        ldr.solve("vamp", SERIES, 2, power=3)


def _trials(classes):
    """Sixty trials of fifty times of five channels, in classes of unequal sizes; not centred."""
    labels = np.repeat(np.arange(classes), [15, 25, 20][:classes])
    X = rng.standard_normal((len(labels), 50, 5)) + 0.3
    for c in range(1, classes):
        X[labels == c] = X[labels == c] @ rng.standard_normal((5, 5))
    return X, labels


def cosines(ours, theirs):
    """Of the rows of two matrices."""
    ours, theirs = (P / np.linalg.norm(P, axis=1, keepdims=True) for P in (ours, theirs))
    return np.abs(np.sum(ours * theirs, axis=1))


def test_diagonal_form_about_zero():
    counts = np.where(rng.random((len(SERIES), 3)) < 0.5, 0.0, rng.standard_normal((500, 3)))
    X = SERIES.astype(np.longdouble)
    expected = np.array([(X * c[:, None]).T @ X for c in counts.T]).astype(float)
    for given in (SERIES, scipy.sparse.csr_array(SERIES)):
        found = diagonal_forms(as_samples(given), counts.T)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("average", ["rows", "trials"])
def test_csp_of_mne(average):
    mne = peer("mne.decoding")
    X, labels = _trials(2)
    estimate = {"rows": "concat", "trials": "epoch"}[average]
    theirs = mne.CSP(n_components=4, cov_est=estimate).fit(X.transpose(0, 2, 1), labels)
    ours = ldr.solve("csp", by_time(X), 4, y=labels, average=average)
    np.testing.assert_allclose(cosines(ours.P, theirs.filters_[:4]), 1.0, rtol=1e-12)
    power = theirs.transform(X.transpose(0, 2, 1))
    features = ldr.log_power(ours, by_time(X))
    np.testing.assert_allclose(features - power, np.broadcast_to((features - power)[0], (40, 4)))
    np.testing.assert_allclose(features, power, atol=0.05)  # they divide by n_c - 1
    scores = [
        cross_val_score(make_pipeline(csp, LinearDiscriminantAnalysis()), X.swapaxes(1, 2), labels)
        for csp in (ldr.CSP(4, average=average), mne.CSP(n_components=4, cov_est=estimate))
    ]
    np.testing.assert_array_equal(*scores)


@pytest.mark.parametrize("average", ["rows", "trials"])
def test_csp_of_three_classes_of_mne(average):
    """Their joint diagonalisation stops at 1e-6 of its decrease; run to the end it is ours."""
    csp = peer("mne.decoding.csp")
    X, labels = _trials(3)
    C = np.array([np.mean([x.T @ x for x in X[labels == c]], axis=0) / 50 for c in range(3)])
    V = csp._ajd_pham(C, eps=1e-28, max_iter=500)[0]
    p = np.bincount(labels) / 60 if average == "trials" else np.full(3, 1 / 3)
    V /= np.sqrt(np.einsum("ij,cjk,ik,c->i", V, C, V, p))[:, None]
    powers = np.einsum("ij,cjk,ik->ci", V, C, V)
    told = -p @ np.log(np.sqrt(powers)) - 3 / 16 * (p @ (powers**2 - 1)) ** 2
    order = np.argsort(told)[::-1][:4]
    ours = ldr.solve("csp", by_time(X), 4, y=labels, average=average)
    np.testing.assert_allclose(cosines(ours.P, V[order]), 1.0, rtol=1e-12)
    np.testing.assert_allclose(ours.components["mutual_information"], told[order], rtol=1e-9)
    assert ours.certificate.kind == "restricted"
    theirs = csp.CSP(n_components=4, cov_est="concat").fit(X.transpose(0, 2, 1), labels)
    if average == "rows":
        np.testing.assert_allclose(cosines(ours.P, theirs.filters_[:4]), 1.0, rtol=1e-3)


def test_joint_diagonalisation_is_stationary_and_finds_what_is_jointly_diagonal():
    k = 6
    A, d = rng.standard_normal((k, k)), rng.gamma(2.0, 1.0, (4, k))
    C = np.einsum("ij,cj,kj->cik", A, d, A)
    W = np.linalg.inv(np.linalg.cholesky(C.mean(axis=0)))
    V = joint_diagonaliser(W @ C @ W.T)
    D = V.T @ W @ C @ W.T @ V
    off = D - np.einsum("cii->ci", D)[:, :, None] * np.eye(k)
    assert np.abs(off).max() < 1e-10 * np.abs(D).max()
    noisy = C + np.array([x.T @ x for x in rng.standard_normal((4, 9, k))])
    V = joint_diagonaliser(noisy)
    D = V.T @ noisy @ V
    relative = np.mean(D / np.einsum("cii->ci", D)[:, :, None], axis=0)
    assert np.abs(relative - np.eye(k)).max() < 1e-9
    problem, h = JointDiagonal(noisy), 1e-6
    assert JointDiagonal(-noisy).at(np.eye(noisy.shape[1])).value == np.inf
    U = rng.standard_normal((k, k))
    (point, up), down = (problem.at(V + t * U) for t in (0.0, h)), problem.at(V - h * U)
    assert abs((up.value - down.value) / (2 * h) - np.vdot(point.gradient, U)) < 1e-8
    difference = (up.gradient - down.gradient) / (2 * h)
    np.testing.assert_allclose(point.hessian_vector(U), difference, rtol=1e-5, atol=1e-6)


def test_spoc_of_mne():
    mne = peer("mne.decoding")
    X, z = _trials(3)[0], rng.standard_normal(60)
    theirs = mne.SPoC(n_components=4).fit(X.transpose(0, 2, 1), z)
    ours = ldr.solve("spoc", by_time(X), 4, y=z)
    np.testing.assert_allclose(cosines(ours.P, theirs.filters_[:4]), 1.0, rtol=1e-12)
    covariances = np.array([x.T @ x / 50 for x in X])
    z = (z - z.mean()) / z.std()
    A, B = np.tensordot(z, covariances, 1) / 60, covariances.mean(axis=0)
    values = scipy.linalg.eigh(A, B, eigvals_only=True)
    found = np.asarray(ours.components["eigenvalue"])
    np.testing.assert_allclose(
        found, values[np.argsort(-np.abs(values))][:4], rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("name", ["csp", "spoc", "xdawn"])
def test_variances_of_few_rows_are_those_of_the_components(name):
    """The filters are of moments about zero, the variances of `components` about the mean."""
    rng = np.random.default_rng(0)
    X, w = 2.0 + rng.standard_normal((10, 25)), rng.random(10)
    y = rng.standard_normal(10) if name == "spoc" else np.arange(10) % 2
    result = ldr.solve(name, X, 2, y=y, sample_weight=w)
    Y = result.transform(X)
    variances = np.average((Y - np.average(Y, axis=0, weights=w)) ** 2, axis=0, weights=w)
    assert result.components["variance"].to_numpy() == pytest.approx(variances, rel=1e-9)


def test_labels_of_trials_and_trials_however_they_come():
    X, y = real_data.strips()
    trials = by_time(X)
    expected = ldr.solve("csp", trials, 2, y=y, average="trials")
    rows, ids = X.reshape(-1, 16), np.repeat(np.arange(60), 14)
    for given, labels, groups in ((rows, y, ids), (rows, y[ids], ids), (by_time(list(X)), y, None)):
        found = ldr.solve("csp", given, 2, y=labels, groups=groups, average="trials")
        assert found.value == pytest.approx(expected.value, rel=1e-13)
        np.testing.assert_allclose(found.transform(trials), expected.transform(rows), rtol=1e-9)
    features = ldr.log_power(expected, trials)
    np.testing.assert_allclose(features, ldr.log_power(expected, rows, groups=ids), rtol=1e-12)
    powers = np.mean((X @ expected.P.T) ** 2, axis=1)
    np.testing.assert_allclose(features, np.log(powers), rtol=1e-12)
    assert np.asarray(ldr.CSP(2, average="trials").fit(trials, y).result_.value) == expected.value
    path = ldr.path("csp", trials, [1, 2], y=y, folds=5)
    assert np.all(np.isfinite(path.scores))


def test_what_csp_and_spoc_refuse():
    X, y = real_data.strips()
    few = X.reshape(-1, 16)[:30]
    with pytest.raises(SingularError, match=r"class 0 is singular.*ridge="):
        ldr.solve("csp", few, 2, y=np.arange(30) % 3)
    X = by_time(X)
    with pytest.raises(DataError, match="single class"):
        ldr.solve("csp", X, 2, y=np.zeros(60))
    with pytest.raises(DataError, match="constant over all rows or trials"):
        ldr.solve("spoc", X, 2, y=np.ones(60))
    with pytest.raises(DataError, match="y has the same mean in all trials"):
        ldr.solve("spoc", X.rows, 2, y=np.resize([1.0, -1.0], len(X.rows)), groups=X.ids)
    with pytest.raises(DataError, match="y has 2 columns"):
        ldr.solve("spoc", X, 2, y=np.ones((60, 2)))
    result = ldr.solve("csp", X, 2, y=y)
    with pytest.raises(DataError, match="trial of each row as groups="):
        ldr.log_power(result, X.rows)
    with pytest.raises(DataError, match="zero throughout"):
        ldr.log_power(result, by_time(np.zeros((2, 16, 16))))
    with pytest.raises(ArgumentError, match="a single view"):
        ldr.log_power(ldr.solve("orthogonal-cca", (few, few[:, :3]), 1), X)


def test_xdawn_of_mne():
    mne = peer("mne.decoding")
    X, labels = _trials(2)
    X = X + np.sin(np.arange(50) / (5.0 + labels[:, None, None]))[:, 0, :, None] * X[0, 0]
    theirs = mne.XdawnTransformer(n_components=2).fit(X.transpose(0, 2, 1), labels)
    for c in (0, 1):
        ours = ldr.solve("xdawn", by_time(X), 2, y=labels, target=c)
        np.testing.assert_allclose(cosines(ours.P, theirs.filters_[c, :2]), 1.0, rtol=1e-12)
        response = X[labels == c].mean(axis=0)
        E = response.T @ response / 50
        R = np.einsum("nti,ntj->ij", X, X) / (40 * 50)
        values = scipy.linalg.eigh(E, R, eigvals_only=True)[::-1]
        np.testing.assert_allclose(ours.components["eigenvalue"], values[:2], rtol=1e-10)


def test_xdawn_finds_a_response_and_refuses_what_has_no_class_or_length():
    response = np.hanning(50)[:, None] * np.array([1.0, -1.0, 0.5, 0.0, 0.0])
    X = rng.standard_normal((200, 50, 5)) @ rng.standard_normal((5, 5))
    y = np.repeat(["event", "rest"], 100)
    X[:100] += response
    found = ldr.solve("xdawn", by_time(X), 1, y=y, target="event")
    R = np.einsum("nti,ntj->ij", X, X) / X[:, :, 0].size
    expected = np.linalg.solve(R, [1.0, -1.0, 0.5, 0.0, 0.0])
    assert cosines(found.P, expected[None])[0] > 0.99
    with pytest.raises(ArgumentError, match="target = 'none' is not a label of y"):
        ldr.solve("xdawn", by_time(X), 1, y=y, target="none")
    with pytest.raises(DataError, match="from 40 to 50 rows"):
        ldr.solve("xdawn", by_time([X[0][:40], *X[1:]]), 1, y=y)
    mixed = np.arange(10_000) % 2
    with pytest.raises(DataError, match="several classes within a trial"):
        ldr.solve("xdawn", by_time(X), 1, y=mixed)


def _oscillation(n=2000):
    """Six channels of drifts and noise at 200 rows a second, with ten cycles a second in all."""
    rng = np.random.default_rng(6)
    noise = rng.standard_normal((n, 6))
    pattern = rng.standard_normal(6)
    wave = np.sin(2 * np.pi * 10.0 * np.arange(n) / 200.0)
    return noise + 0.1 * np.cumsum(noise[:, ::-1], axis=0) + wave[:, None] * pattern


@pytest.mark.parametrize("trials", [1, 2])
def test_ssd_of_mne(trials):
    mne = peer("mne.decoding")
    X = _oscillation().reshape(trials, -1, 6)
    bands = {"signal": (8.0, 12.0), "noise": (5.0, 16.0)}
    filters = [
        {"l_freq": a, "h_freq": b, "l_trans_bandwidth": a / 4, "h_trans_bandwidth": b / 4}
        for a, b in bands.values()
    ]
    given = X.transpose(0, 2, 1) if trials > 1 else X[0].T
    theirs = mne.SSD(200.0, *filters, sort_by_spectral_ratio=False).fit(given)
    ours = ldr.solve("ssd", by_time(X), 3, rate=200.0, **bands)
    np.testing.assert_allclose(ours.components["eigenvalue"], theirs.evals_[:3], rtol=1e-9)
    np.testing.assert_allclose(cosines(ours.P, theirs.filters_[:3]), 1.0, rtol=1e-10)


def same_features(ours, theirs):
    """Whether features (trials, r, ...) differ by a shift and a scale for each component alone."""
    F, G = (each.swapaxes(0, 1).reshape(each.shape[1], -1) for each in (ours, theirs))
    F, G = ((each - each.mean(1)[:, None]) / each.std(1)[:, None] for each in (F, G))
    np.testing.assert_allclose(np.sign(np.sum(F * G, axis=1))[:, None] * F, G, atol=1e-6)


def test_features_and_scores_in_pipelines_are_those_of_mne():
    mne = peer("mne.decoding")
    X, labels = _trials(2)
    X = X + np.sin(np.arange(50) / (5.0 + labels[:, None, None]))[:, 0, :, None] * X[0, 0]
    epochs, quantity = X.swapaxes(1, 2), rng.standard_normal(40)
    power, given = {"features": "power"}, np.random.default_rng(1).standard_normal(40)
    spocs = ldr.SPoC(4, **power).fit(epochs, given), mne.SPoC(n_components=4).fit(epochs, given)
    same_features(*(each.transform(epochs) for each in spocs))
    steps = (make_pipeline(each, LinearRegression()) for each in spocs)
    scores = [cross_val_score(each, epochs, quantity, cv=4) for each in steps]
    np.testing.assert_allclose(*scores, rtol=1e-6)
    theirs = mne.XdawnTransformer(n_components=2).fit(epochs, labels)
    for c in (0, 1):
        ours = ldr.Xdawn(2, target=c, features="time").fit(epochs, labels)
        same_features(ours.transform(epochs), theirs.transform(epochs)[:, 2 * c : 2 * c + 2])
    X = _oscillation().reshape(2, 1000, 6).swapaxes(1, 2)
    bands = {"signal": (8.0, 12.0), "noise": (5.0, 16.0)}
    filters = [
        {"l_freq": a, "h_freq": b, "l_trans_bandwidth": a / 4, "h_trans_bandwidth": b / 4}
        for a, b in bands.values()
    ]
    theirs = mne.SSD(200.0, *filters, sort_by_spectral_ratio=False, n_components=3).fit(X)
    ours = ldr.SSD(3, rate=200.0, features="time", **bands).fit(X)
    same_features(ours.transform(X), theirs.transform(X))


def test_ssd_finds_an_oscillation_where_pca_finds_drifts():
    X = _oscillation()
    bands = {"signal": (8.0, 12.0), "noise": (5.0, 16.0), "rate": 200.0}
    found = ldr.solve("ssd", X, 1, **bands)
    assert found.value > 5 * ldr.solve("ssd", rng.standard_normal((2000, 6)), 1, **bands).value
    drifts = ldr.solve("pca", X, 1)
    at_ten = [np.abs(np.fft.rfft(each.transform(X)[:, 0])) ** 2 for each in (found, drifts)]
    shares = [power[100] / power[1:].sum() for power in at_ten]  # 100 cycles in 2000 rows
    assert shares[0] > shares[1]
    slower = {name: tuple(np.array(b) / 200) for name, b in list(bands.items())[:2]}
    assert ldr.solve("ssd", X, 1, **slower).value == pytest.approx(found.value, rel=1e-12)


def test_bands_that_are_none_are_refused():
    for signal, noise in (((0.2, 0.1), (0.05, 0.3)), ((0.1, 0.6), (0.05, 0.3))):
        with pytest.raises(ArgumentError, match=r"signal = .* must be two frequencies"):
            ldr.objectives.SSD(signal=signal, noise=noise)
    with pytest.raises(ArgumentError, match="must lie within the wider band noise"):
        ldr.objectives.SSD(signal=(0.1, 0.2), noise=(0.12, 0.3))


def _contrast():
    A, B = (rng.standard_normal((n, 7)) @ rng.standard_normal((7, 7)) for n in (80, 120))
    return A - A.mean(axis=0), B - B.mean(axis=0)


def test_numbers_of_gcpca_compare_the_variances():
    ours = ldr.solve("gcpca", sides := _contrast(), 3)
    a, b = (np.mean((side @ ours.P.T) ** 2, axis=0) for side in sides)
    np.testing.assert_allclose((a - b) / (a + b), ours.components["eigenvalue"], rtol=1e-10)


def _rotation(n=1500):
    """Two coordinates that turn about one another, one that drifts, three of noise; mixed."""
    turn = 0.95 * np.array([[np.cos(1.0), -np.sin(1.0)], [np.sin(1.0), np.cos(1.0)]])
    rng = np.random.default_rng(5)
    A, Z = scipy.linalg.block_diag(turn, 0.7, np.zeros((3, 3))), np.zeros((n, 6))
    for t in range(1, n):
        Z[t] = A @ Z[t - 1] + rng.standard_normal(6)
    mixing = rng.standard_normal((6, 6))
    return Z @ mixing, np.linalg.inv(mixing)[:, :2]


def _information(X, M, T):
    """By the definition, from the covariance of windows averaged along its diagonals."""
    trials = X if isinstance(X, list) else [X]
    windows = [np.hstack([Y[k : len(Y) - 2 * T + 1 + k] for k in range(2 * T)]) for Y in trials]
    S = np.cov(np.vstack(windows).T.astype(float))
    d = len(M)
    blocks = S.reshape(2 * T, d, 2 * T, d)
    C = [np.mean([blocks[j + k, :, j] for j in range(2 * T - k)], axis=0) for k in range(2 * T)]
    B = [M.T @ c @ M for c in C]

    def log_det(K):
        rows = [[B[i - j] if i >= j else B[j - i].T for j in range(K)] for i in range(K)]
        return np.linalg.slogdet(np.block(rows))[1]

    return log_det(T) - 0.5 * log_det(2 * T)


@pytest.mark.parametrize("window", [1, 3])
def test_dca_by_its_definition_and_what_it_finds(window):
    X, plane = _rotation()
    found = ldr.solve("dca", X, 2, window=window)
    assert found.value == pytest.approx(_information(X, found.P.T, window), rel=1e-10)
    assert span_distance(found.P.T, plane) < 0.1
    slow = ldr.solve("tica", X, 2)
    assert _information(X, slow.P.T, window) < 0.9 * found.value  # turning is not slow
    for start in range(5):
        other = ldr.solve("dca", X, 2, window=window, start="random", random_state=start)
        assert other.value <= found.value * (1 + 1e-9)
    parts = np.split(X, 10)
    found = ldr.solve("dca", by_time(parts), 2, window=window)
    assert found.value == pytest.approx(_information(parts, found.P.T, window), rel=1e-10)


def test_dca_leaves_local_optima_that_its_heuristics_end_in():
    X = real_data.elevation()
    found = ldr.solve("dca", X, 2, window=2, certify=False)
    values = dict(zip(found.starts.names, found.starts.values, strict=True))
    assert found.value > values["slow"] + 0.1 and found.value > values["pca"] + 0.1


def test_dca_starts_the_same_in_other_units():
    X, objective = real_data.stocks(), ldr.objectives.DCA(window=2)
    units = 10.0 ** np.random.default_rng(0).uniform(-3, 3, X.shape[1])

    def values(X):
        problem = objective.bind(as_data(objective, X, None), 2)
        return [problem.value(M) for M in problem.starts().values()]

    np.testing.assert_allclose(values(X * units + units), values(X), rtol=1e-8)


def test_windows_that_no_series_has():
    X, _ = _rotation(60)
    found = ldr.solve("dca", X, 2, window=10)
    assert any(
        "no time series has the estimated covariances of 20 successive rows" in n
        for n in found.notes
    )
    assert 0 < found.value < ldr.solve("dca", X, 6, window=10).value  # the whole tells more
    with pytest.raises(ArgumentError, match="window = 31 is too large: expected at most 30"):
        ldr.solve("dca", X, 2, window=31)


def _entropies(trials, P, length):
    """By scipy's Welch, whose one-sided spectra have all frequencies twice but 0 and the last."""
    mean = np.concatenate(trials).mean(axis=0)
    found, count = 0.0, 0
    for trial in trials:
        Y = (trial - mean) @ P.T
        segments = (len(Y) - length) // (length // 2) + 1
        options = {"nperseg": length, "noverlap": length - length // 2, "detrend": False}
        power = scipy.signal.welch(Y, window="hann", axis=0, **options)[1][1:]
        power[-1] *= 2.0
        found, count = found + segments * power, count + segments
    p = found / found.sum(axis=0)
    return -np.sum(p * np.log(p), axis=0) / np.log(length // 2)


def _forecastable(n=1500):
    rng = np.random.default_rng(7)
    S, t = rng.standard_normal((n, 5)), np.arange(n)
    S[:, 0] = np.sin(0.9 * t) + 0.3 * S[:, 0]
    S[:, 1] += np.sin(2.3 * t)
    return S @ rng.standard_normal((5, 5)) + 3.0, S[:, :2]


def test_foreca_by_its_definition_and_what_it_finds():
    X, sources = _forecastable()
    for trials in ([X], np.split(X, 10)):
        found = ldr.solve("foreca", by_time(trials), 2, segment=32)
        entropies = _entropies(trials, found.P, 32)
        assert found.value == pytest.approx(entropies.sum(), rel=1e-9)
        np.testing.assert_allclose(found.components["forecastability"], 1 - entropies, rtol=1e-8)
        Y = found.transform(X)
        np.testing.assert_allclose(np.cov(Y.T, bias=True), np.eye(2), atol=1e-10)
        correlations = np.abs(np.corrcoef(Y.T, sources.T)[:2, 2:])
        assert np.diag(correlations).min() > 0.9
        for start in range(4):
            other = ldr.solve(
                "foreca", by_time(trials), 2, segment=32, start="random", random_state=start
            )
            assert other.value >= found.value * (1 - 1e-9)


def test_directions_that_no_segment_sees_are_left_out():
    X, _ = _forecastable(20)
    rows = np.hstack([X, X**2, np.roll(X, 1, axis=0)])
    found = ldr.solve("foreca", rows, 2, segment=16)
    assert 0 < found.value < 2 and found.converged
    assert any("M is restricted to its range" in note for note in found.notes)


def test_segments_that_no_trial_has_are_refused():
    X, _ = _forecastable(100)
    with pytest.raises(ArgumentError, match="segment = 40 is too large: expected at most 20"):
        ldr.solve("foreca", by_time(np.split(X, 5)), 2, segment=40)
    assert ldr.solve("foreca", by_time(np.split(X, 5)), 2).converged  # segments of 20 rows
    with pytest.raises(ArgumentError, match="segment must be"):
        ldr.objectives.ForeCA(segment=3)
