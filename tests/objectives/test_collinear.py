"""Nearly collinear columns: values from the rows in extended precision, and gaps that cover them.

The columns [a, a + eps b, c] span what [a, b, c] do, so that whitened methods and regressions have
the same value on both; what the rounding of a + eps b takes away is at most 1e-16/eps.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy
from scipy.sparse import csr_array

import ldr
from ldr.objectives import (
    CCA,
    LDA,
    LPP,
    MAF,
    NPE,
    OPCA,
    SAVE,
    SFA,
    SIR,
    ReducedRankRegression,
    RidgeRegression,
    SemiSupervisedDA,
)
from ldr.objectives import LeastSquares as LeastSquaresMap
from ldr.objectives.data.stored import StoredSamples
from tests.adversarial.extended import centred, extended
from tests.adversarial.problems import class_rows
from tests.adversarial.references import (
    Correlations,
    Form,
    Gaussian,
    LeastSquares,
    ReducedRank,
    Save,
    Whitened,
    covariance,
    lagged,
)

N, D, R = 200, 5, 2
_rng = np.random.default_rng(3)
LABELS = np.arange(N) % 3
PARTIAL = np.where(_rng.random(N) < 0.5, LABELS, -1)
PLAIN = 0.3 * np.cumsum(_rng.standard_normal((N, D)), axis=0) + _rng.standard_normal((N, D))
PLAIN = PLAIN + np.eye(3, D)[LABELS]
SIGNAL = _rng.standard_normal((N, D)) * [1.0, 1.0, 3.0, 1.0, 1.0]
OUTPUTS = PLAIN @ _rng.standard_normal((D, 3)) + _rng.standard_normal((N, 3))
_neighbours = np.argsort(scipy.spatial.distance.cdist(PLAIN, PLAIN), axis=1)[:, 1:7]
GRAPH = np.zeros((N, N))
GRAPH[np.arange(N)[:, None], _neighbours] = 1.0
GRAPH = np.maximum(GRAPH, GRAPH.T)
WEIGHTS = GRAPH / GRAPH.sum(axis=1)[:, None]


def collinear(X, eps):
    """[a, a + eps b, c ...] of [a, b, c ...], in units that differ by 1e6."""
    X = np.array(X)
    X[:, 1] = X[:, 0] + eps * X[:, 1]
    return X * [1e3, 1.0, 1e-3, 1.0, 1.0]


def of_form(form, rows, sense="max"):
    """P' A P of what the rows whiten."""
    return Whitened(sense, form, rows / np.sqrt(extended(len(rows))), R).anywhere


def lda(X, ridge=0.0):
    """Whitened by S_W + ridge: the rows less their class means, and a multiple of the identity."""
    _, within, means = class_rows(X, LABELS)
    root = np.sqrt(ridge * (within**2).sum() / D)
    rows = np.vstack([within, root * np.eye(D)]) if ridge else within
    return Whitened("max", Form.squares(means), rows, R).anywhere


def maf(X):
    return of_form(lagged(centred(X), 1), centred(X))


def partly_labelled(X, mu=0.1):
    total, _, means = class_rows(X[PARTIAL >= 0], PARTIAL[PARTIAL >= 0])
    i, j = np.nonzero(np.triu(GRAPH))
    edges = np.sqrt(extended(mu)) * (centred(X)[i] - centred(X)[j])
    return Whitened("max", Form.squares(means), np.vstack([total, edges]), R).anywhere


def lpp(X):
    Z, (i, j) = centred(X), np.nonzero(np.triu(GRAPH))
    weighted = np.sqrt(extended(GRAPH.sum(axis=1)))[:, None] * Z
    return Whitened("min", Form.squares(Z[i] - Z[j]), weighted, R).anywhere


def npe(X):
    Z = centred(X)
    return Whitened("min", Form.squares(Z - WEIGHTS @ Z), Z, R).anywhere


def sir(X):
    total, _, means = class_rows(X, LABELS)
    return Whitened("max", Form.squares(means), total, R).anywhere


def opca(X, noise):
    return of_form(covariance(centred(X)), extended(noise))


def cca(X, Y):
    return Correlations(centred(X), centred(Y), R).anywhere


def residual(X, Y, ridge=0.0):
    return LeastSquares(centred(X), centred(Y), ridge).optimum


# name: (objective, the data of X, y, the value)
CASES = {
    "lda": (LDA(), lambda X: X, LABELS, lda),
    "lda, ridge": (LDA(ridge=1e-10), lambda X: X, LABELS, lambda X: lda(X, 1e-10)),
    "maf": (MAF(), lambda X: X, None, maf),
    "cca": (CCA(), lambda X: (X, OUTPUTS), None, lambda X: cca(X, OUTPUTS)),
    "cca, both": (
        CCA(),
        lambda X: (X, collinear(PLAIN[::-1], 1e-6)),
        None,
        lambda X: cca(X, collinear(PLAIN[::-1], 1e-6)),
    ),
    "opca": (OPCA(), lambda X: (SIGNAL, X), None, lambda X: opca(SIGNAL, X)),
    "sfa": (
        SFA(whiten=True),
        lambda X: X,
        None,
        lambda X: of_form(Form.squares(np.diff(centred(X), axis=0)), centred(X), "min"),
    ),
    "lpp": (LPP(graph=csr_array(GRAPH)), lambda X: X, None, lpp),
    "npe": (NPE(graph=csr_array(WEIGHTS)), lambda X: X, None, npe),
    "semi-supervised-da": (
        SemiSupervisedDA(graph=csr_array(GRAPH)),
        lambda X: X,
        PARTIAL,
        partly_labelled,
    ),
    "sir": (SIR(), lambda X: X, LABELS, sir),
    "save": (SAVE(), lambda X: X, LABELS, lambda X: Save(centred(X), LABELS, R).anywhere),
    "least-squares": (LeastSquaresMap(), lambda X: X, OUTPUTS, lambda X: residual(X, OUTPUTS)),
    "ridge-regression": (
        RidgeRegression(penalty=1e-6),
        lambda X: X,
        OUTPUTS,
        lambda X: residual(X, OUTPUTS, 1e-6),
    ),
    "reduced-rank-regression": (
        ReducedRankRegression(),
        lambda X: (X, OUTPUTS),
        None,
        lambda X: ReducedRank(centred(X), centred(OUTPUTS), R).optimum,
    ),
}


@pytest.mark.parametrize("offset", [0.0, 100.0])
@pytest.mark.parametrize("eps", [1e-1, 1e-3, 1e-5, 1e-7])
@pytest.mark.parametrize("name", CASES)
def test_the_value_is_that_of_the_rows(name, eps, offset):
    objective, data, y, reference = CASES[name]
    X = collinear(PLAIN + offset, eps)
    result = ldr.solve(objective, data(X), R, y=y)
    true = reference(X)
    assert abs(result.value - true) <= result.certificate.gap
    assert abs(result.value - true) <= 1e-8 * abs(true)
    assert result.certificate.gap <= (1e-4 if offset else 1e-6) * abs(true)
    assert not result.notes or "ridge" in name or "regression" in name or "squares" in name
    if eps >= 1e-3 and not offset:
        assert result.certificate.kind == "global"


@pytest.mark.parametrize("name", [name for name in CASES if "ridge" not in name and name != "opca"])
def test_the_value_is_that_of_columns_that_are_not_collinear(name):
    objective, data, y, _ = CASES[name]
    nearly, plain = (ldr.solve(objective, data(X), R, y=y) for X in (collinear(PLAIN, 1e-4), PLAIN))
    assert nearly.value == pytest.approx(plain.value, rel=1e-10)


def test_a_multiple_has_the_gap_of_its_objective():
    X = collinear(PLAIN, 1e-7)
    one, two = (ldr.solve(f, X, R, y=LABELS).certificate for f in (SIR(), 2 * SIR()))
    assert two.gap == pytest.approx(2 * one.gap, rel=1e-3)
    assert one.kind == two.kind == "bound"


def one_pass(X):
    return iter(np.array_split(X, 4))


@pytest.mark.parametrize("eps", [1e-1, 1e-5, 1e-7])
@pytest.mark.parametrize("name", ["lda", "maf", "sir", "least-squares"])
def test_sums_of_a_pass_say_what_they_do_not_know(name, eps):
    objective, _, y, reference = CASES[name]
    X = collinear(PLAIN, eps)
    result = ldr.solve(objective, one_pass(X), R, y=y)
    certificate, error = result.certificate, abs(result.value - reference(X))
    if certificate.kind == "restricted":
        assert "the range of" in certificate.message
        assert "rank 4 of 5" in result.notes[0]
    else:
        assert error <= certificate.gap
    assert (certificate.kind == "global") == (eps >= 1e-3)


@pytest.mark.parametrize("blocks", [lambda X: np.array_split(X, 4), lambda X: lambda: one_pass(X)])
def test_rows_that_can_be_read_again_are(blocks):
    X = collinear(PLAIN, 1e-6)
    result = ldr.solve("lda", blocks(X), R, y=LABELS)
    assert result.value == pytest.approx(lda(X), rel=1e-9)


def test_partial_fit_says_what_sums_do_not_know():
    X = collinear(PLAIN, 1e-5)
    estimator = ldr.MAF(n_components=R)
    for block in one_pass(X):
        estimator.partial_fit(block)
    certificate = estimator.result_.certificate
    assert certificate.kind == "bound"
    assert abs(estimator.result_.value - maf(X)) <= certificate.gap
    assert "nearly collinear" in certificate.message


def test_sums_are_made_once_where_they_tell_all(monkeypatch):
    reads = []
    monkeypatch.setattr(StoredSamples, "check_range", lambda samples: reads.append(samples.passes))
    for X in (PLAIN, np.column_stack([PLAIN, np.ones(N)]), collinear(PLAIN, 1e-5)):
        ldr.solve("lda", np.array_split(X, 2), R, y=LABELS)
    assert reads == [1, 1, 1, 2, 3]  # the last says how the coordinates vary


def test_what_is_collinear_but_for_rounding_is_left_out():
    X = PLAIN @ _rng.standard_normal((D, D + 2)) + 1e3
    for name in ("lda", "sir", "save"):
        result = ldr.solve(name, X, R, y=LABELS)
        assert result.certificate.kind == "global", result
        assert result.value == pytest.approx(CASES[name][3](X[:, :D]), rel=1e-8)
        assert any("rank 5 of 7" in note for note in result.notes)


@pytest.mark.parametrize(("name", "y"), [("sir", LABELS), ("save", LABELS), ("dca", None)])
def test_a_large_column_that_is_there_twice_takes_no_digits_from_small_ones(name, y):
    X = PLAIN * [1e-7, 1e-7, 1e6, 1e6, 1e6]
    X[:, 4] = X[:, 3]
    result = ldr.solve(name, X, R, y=y)
    assert any("rank 4 of 5" in note for note in result.notes)
    first, second = result.P[:, 3:].T
    np.testing.assert_allclose(first, second, rtol=1e-9)
    once = ldr.solve(name, PLAIN[:, :4], R, y=y)
    assert result.value == pytest.approx(once.value, rel=1e-12)


def test_powers_of_a_column():
    """Ten powers of x in 1 .. 2: correlations above .9999, a condition number of 1e12."""
    x = np.linspace(1.0, 2.0, 60)
    X, y = x[:, None] ** np.arange(1, 11), np.sin(8.0 * x)[:, None]
    result = ldr.solve("least-squares", X, 2, y=y)
    assert result.certificate.kind in ("global", "bound")
    assert abs(result.value - residual(X, y)) <= result.certificate.gap
    assert result.value == pytest.approx(residual(X, y), rel=1e-3)


@pytest.mark.parametrize("eps", [1e-1, 1e-3, 1e-5, 1e-7])
@pytest.mark.parametrize("r", [1, D - 1])
def test_ppca_knows_a_noise_far_below_the_columns(eps, r):
    X = collinear(PLAIN, eps) / [1e3, 1.0, 1e-3, 1.0, 1.0]
    reference = Gaussian(centred(X), r)
    true = float(reference.optimum)
    result = ldr.solve("ppca", X, r)
    assert abs(result.value - true) <= min(result.certificate.gap, 1e-9 * abs(true))
    assert result.parameters["noise_variance"] == pytest.approx(float(reference.noise), rel=1e-7)
    if eps >= 1e-5:
        assert result.certificate.kind == "global"


@pytest.mark.filterwarnings("ignore::ldr.errors.ConvergenceWarning")
@pytest.mark.parametrize("blocks", [lambda X: X, lambda X: np.array_split(X, 3)])
def test_independent_components_are_of_white_rows(blocks):
    X = collinear(PLAIN, 1e-6)
    P = ldr.solve("ica", blocks(X), D, starts=1, max_iterations=5, certify=False).P
    Y = centred(X) @ P.T.astype(np.longdouble)
    np.testing.assert_allclose((Y.T @ Y / N).astype(float), np.eye(D), atol=1e-8)


@pytest.mark.parametrize("seed", [2, 6, 10, 11])
def test_a_ridge_keeps_the_digits_of_columns_in_units_far_apart(seed):
    """A column that is the sum of two others, and units up to 2^27 apart."""
    rng = np.random.default_rng(seed)
    F = rng.integers(-50, 51, (100, 3)) + np.repeat([0, 40], 50)[:, None]
    X = np.hstack([F, F[:, :1] + F[:, 1:2]]) * 2.0 ** rng.permutation([0, 9, 18, 27])
    result = ldr.solve("lda", X, 1, y=np.repeat([0, 1], 50), ridge=1e-8)
    assert result.certificate.kind == "global"
    assert result.certificate.gap <= 1e-12 * result.value
    halves, (p,) = np.split(X, 2), result.P.astype(np.longdouble)
    within = np.vstack([centred(half) for half in halves])
    total, mean = np.sum((centred(X) @ p) ** 2), np.sum(within**2) / 3
    inside = np.sum((within @ p) ** 2)
    formula = (total - inside) / (inside + 1e-8 * mean * (p @ p))
    assert abs(result.value - formula) <= result.certificate.gap


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ["lda", "opca"])
def test_what_only_the_numerator_sees_stays_out_of_the_range_of_the_denominator(name, seed):
    """Where B is singular and A is not blind there, the value is that of the P returned."""
    rng = np.random.default_rng(seed)
    X, noise, y = (
        rng.standard_normal((5, 5)),
        rng.standard_normal((3, 5)),
        np.array([0, 0, 0, 1, 1]),
    )
    if name == "opca":
        result = ldr.solve("opca", (X, noise), 1)
        A, B = np.cov(X.T, bias=True), noise.T @ noise / 3
    else:
        result = ldr.solve("lda", X, 1, y=y)
        means = np.stack([X[y == k].mean(axis=0) for k in range(2)])[y]
        A, B = ((Z - Z.mean(axis=0)).T @ (Z - Z.mean(axis=0)) for Z in (means, X - means))
    (p,) = result.P
    assert result.value == pytest.approx(p @ A @ p / (p @ B @ p), rel=1e-9)
    Q = np.linalg.svd(B)[0][:, :3]
    best = scipy.linalg.eigh(Q.T @ A @ Q, Q.T @ B @ Q, eigvals_only=True)[-1]
    assert result.value == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize(("apart", "scale", "ridge"), [(1e-7, 1e6, 1e-6), (1e-4, 1e6, 1e-9)])
def test_noise_along_a_line_that_the_units_of_the_signal_hide(apart, scale, ridge):
    """The ridged noise varies least in a direction that is lost in the signal's coordinates."""
    rng = np.random.default_rng(0)
    X, noise = rng.standard_normal((30, 2)) * [scale, 1.0], rng.standard_normal((40, 2))
    noise[:, 0] = noise[:, 1] + apart * noise[:, 0]
    exact = np.vectorize(Fraction)
    Z, N = exact(X) - exact(X).mean(axis=0), exact(noise)
    A, B = Z.T @ Z / 30, N.T @ N / 40
    B = B + Fraction(ridge) * B.trace() / 2 * np.eye(2, dtype=int)
    # The larger root of |A - t B| = at^2 - 2bt + c = 0.
    a, c = (S[0, 0] * S[1, 1] - S[0, 1] ** 2 for S in (B, A))
    b = (A[0, 0] * B[1, 1] + A[1, 1] * B[0, 0]) / 2 - A[0, 1] * B[0, 1]
    optimum = float(b / a) + math.sqrt((b / a) ** 2 - c / a)
    result = ldr.solve("opca", (X, noise), 1, ridge=ridge)
    assert abs(optimum - result.value) <= result.certificate.gap
    assert "nearly collinear" in result.certificate.message


def test_noise_along_a_line_has_rank_one():
    """In whole numbers, of which sums leave exact zeros beside rounding."""
    noise = np.outer([-2.0, 2.0, -2.0, 1.0], [2.0, -6.0, 3.0, 1.0, 3.0, -2.0])
    result = ldr.solve("opca", (np.eye(7)[:, :6], noise), 1)
    (note,) = result.notes
    assert "has rank 1 of 6" in note


def test_a_ridge_of_noise_along_a_line_beside_columns_without_noise():
    """Rounding errors of these columns are those of the signal."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((8, 20))
    noise = np.outer(rng.integers(-3, 4, 22), 1e3 * (np.arange(20) % 3))
    result = ldr.solve("opca", (X, noise), 1, ridge=1e-6)
    R, C = noise.T @ noise / len(noise), np.cov(X.T, bias=True)
    B = R + 1e-6 * R.trace() / 8 * np.eye(20)  # samples and noise vary in 8 dimensions
    best = scipy.linalg.eigh(C, B, eigvals_only=True)[-1]
    assert result.value == pytest.approx(best, rel=1e-7)


def test_noise_far_smaller_than_the_mean_of_the_signal():
    rng = np.random.default_rng(0)
    X, noise = 3.0 + rng.standard_normal((20, D)), collinear(rng.standard_normal((30, D)), 1e-5)
    one = ldr.solve("opca", (X, noise), 2).value
    other = ldr.solve("opca", (X, noise * 2.0**-60), 2).value
    assert other == pytest.approx(2.0**120 * one, rel=1e-10)


@pytest.mark.parametrize("name", ["cca", "reduced-rank-regression"])
def test_a_constant_view_beside_a_collinear_one_is_refused(name):
    with pytest.raises(ldr.errors.SingularError, match="all directions are equally good"):
        ldr.solve(name, (np.ones((N, 2)), collinear(PLAIN, 1e-6)), 1)


@pytest.mark.parametrize("seed", range(5))
def test_the_gap_covers_what_is_taken_out_of_large_entries(seed):
    """Noise that makes two columns dependent, far apart in unit; the signal does not."""
    rng = np.random.default_rng(seed)
    X, z = rng.standard_normal((6, 3)), rng.standard_normal((11, 2))
    noise = np.stack([1e-9 * z[:, 0], 1e5 * z[:, 1], 1e3 * z[:, 0]], axis=1)
    result = ldr.solve("opca", (X, noise), 1)
    (p,) = result.P.astype(np.longdouble)
    formula = np.mean((centred(X) @ p) ** 2) / np.mean((noise @ p) ** 2)
    assert abs(result.value - formula) <= result.certificate.gap + 1e-9 * abs(formula)


def test_the_lasso_of_collinear_columns_from_their_sums(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 4)), rng.standard_normal(60)
    X = np.column_stack([X, X[:, 0] + X[:, 1], np.ones(60)])
    np.save(tmp_path / "X.npy", X)
    expected = ldr.solve("lasso", X, 1, y=y, penalty=3.0)
    for rows in (csr_array(X), tmp_path / "X.npy"):
        found = ldr.solve("lasso", rows, 1, y=y, penalty=3.0)
        assert found.value == pytest.approx(expected.value, rel=1e-9)
        np.testing.assert_allclose(found.predict(X), expected.predict(X), atol=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_the_lasso_of_few_rows_and_nearly_equal_columns(seed):
    """Everything is explained, so that the residual is what sums of products lose."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((5, 4)), 3.0 * rng.standard_normal(5)
    X[:, 1] = X[:, 0] + 3e-5 * X[:, 1]
    result = ldr.solve("lasso", X, 1, y=y, penalty=0.5)
    m = result.M[:, 0].astype(np.longdouble)
    true = np.sum((centred(y) - centred(X) @ m) ** 2) + 0.5 * np.sum(np.abs(m))
    assert abs(result.value - true) <= result.certificate.gap + 1e-11 * true


@pytest.mark.parametrize("ratio", [10.0, 1e3, 1e6])
@pytest.mark.parametrize("container", [np.asarray, csr_array])
def test_few_rows_that_vary_in_one_direction_within_classes(container, ratio):
    """Across it the classes are apart: there is no bound, and rounding of the span makes none."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        y, (along, apart) = np.arange(5) % 2, rng.integers(-3, 4, (2, 9)).astype(float)
        X = ratio * np.outer(rng.integers(-3, 4, 5), along) + np.outer(y, apart)
        assert ldr.solve("lda", container(X), 1, y=y).certificate.kind == "restricted"


TRIALS = np.repeat(np.arange(N // 10), 10)
BENT = PLAIN[:, 0] ** 2 + PLAIN[:, 1]
OF_MOMENTS = {
    "csp": {"y": LABELS % 2},
    "spoc": {"y": BENT},
    "xdawn": {"y": TRIALS % 2, "groups": TRIALS},
    "ssd": {},
    "tica": {},
    "vamp": {},
    "phd": {"y": BENT},
    "directional-regression": {"y": LABELS},
    "dca": {},
    "gcpca": {},
    "mcca": {},
}


@pytest.mark.parametrize("name", OF_MOMENTS)
def test_methods_of_moments_see_the_span_of_the_columns(name):
    def solved(X, signal):
        data = {"gcpca": (signal, X), "mcca": (X, OUTPUTS, SIGNAL)}.get(name, X)
        return ldr.solve(name, data, R, **OF_MOMENTS[name]).value

    near = collinear(PLAIN, 1e-6), collinear(SIGNAL, 1e-6)
    assert solved(*near) == pytest.approx(solved(PLAIN, SIGNAL), rel=1e-8)


@pytest.mark.parametrize("seed", [4, 39])
def test_lasso_of_dependent_columns_is_right_within_its_gap(seed):
    """Of rows in memory and of their sums: the range of the columns must not lose digits."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((23, 17)) * (rng.random((23, 17)) < 0.4) * 10.0 ** rng.uniform(0, 3, 17)
    X[:, 1], X[:, 5] = 3.7 * X[:, 0], X[:, 3] + X[:, 4]
    Y = X[:, :3] @ rng.standard_normal((3, 2)) / 100 + rng.standard_normal((23, 2))
    rows, sums = (ldr.solve("lasso", given, 2, y=Y) for given in (X, csr_array(X)))
    assert rows.certificate.kind == sums.certificate.kind == "global"
    largest_gap = max(rows.certificate.gap, sums.certificate.gap)
    assert abs(rows.value - sums.value) <= largest_gap <= 1e-10 * rows.value


def test_directions_that_are_left_out_are_told_apart_beside_a_small_column():
    """Of three rows S_W has one direction; the two others are nearly parallel."""
    X = np.array([[11.2, -235.0, -2.64e-6], [62.3, -82.4, 2.10e-6], [-38.7, -154.0, 2.18e-6]])
    result = ldr.solve("lda", X, 1, y=[1, 1, 0])
    first, second, third = extended(X)
    along, between = first - second, (first + second) / 2 - third
    expected = 4 * (along @ between) ** 2 / (3 * (along @ along) ** 2)
    assert result.certificate.kind == "restricted"
    assert result.value == pytest.approx(float(expected), rel=1e-13)
