"""Nearly collinear columns: values from the rows in extended precision, and gaps that cover them.

The columns [a, a + eps b, c] span what [a, b, c] do, so that whitened methods and regressions have
the same value on both; what the rounding of a + eps b takes away is at most 1e-16/eps. References
orthonormalise the rows that were stored in 80 bits; in that basis the textbook's formula is well
conditioned, and any solver of eigenproblems will do.
"""

import itertools

import numpy as np
import pytest
import scipy
from scipy.sparse import csr_array

import ldr
from ldr.objectives import (
    LPP,
    NPE,
    OPCA,
    SAVE,
    SFA,
    SIR,
    ClassicalCCA,
    ClassicalLDA,
    ClassicalMAF,
    LeastSquares,
    ReducedRankRegression,
    RidgeRegression,
    SemiSupervisedDA,
)
from ldr.objectives.data.stored import StoredSamples

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


def orthonormal(X, *others):
    """A basis of the span of the columns in 80 bits, by Gram and Schmidt, twice.

    Other rows follow, in the same combinations of the columns.
    """
    rows = [np.array(part, dtype=np.longdouble) for part in (X, *others)]
    Q = rows[0]
    for _ in range(2):
        for j in range(Q.shape[1]):
            for i in range(j):
                along = Q[:, i] @ Q[:, j]
                for part in rows:
                    part[:, j] -= along * part[:, i]
            length = np.sqrt(Q[:, j] @ Q[:, j])
            for part in rows:
                part[:, j] /= length
    return rows if others else Q


def centred(X):
    X = np.asarray(X, dtype=np.longdouble)
    return X - X.mean(axis=0)


def eigenvalues(A, B):
    return scipy.linalg.eigh(A.astype(float), B.astype(float), eigvals_only=True)


def largest(A, B):
    return eigenvalues(A, B)[-R:].sum()


def smallest(A, B):
    return eigenvalues(A, B)[:R].sum()


def between(Q, labels):
    """S_B of rows whose mean is zero."""
    sums = [Q[labels == k].sum(axis=0) / np.sqrt(np.sum(labels == k)) for k in np.unique(labels)]
    middle = Q.sum(axis=0)
    return sum(np.outer(s, s) for s in sums) - np.outer(middle, middle) / len(Q)


def lda(X):
    Q = orthonormal(centred(X))
    S = between(Q, LABELS)
    return largest(S, Q.T @ Q - S)


def lda_with_ridge(X, ridge=1e-10):
    """Whitened by S_W + ridge: the rows less their class means, and a multiple of the identity."""
    X = centred(X)
    means = np.stack([X[LABELS == k].mean(axis=0) for k in range(3)])
    within = X - means[LABELS]
    root = np.sqrt(ridge * (within**2).sum() / D)
    Q, means = orthonormal(np.vstack([within, root * np.eye(D)]), means)
    return largest(means.T @ (np.bincount(LABELS)[:, None] * means), Q.T @ Q)


def partly_labelled(X, mu=0.1):
    Q = orthonormal(centred(X))
    some = Q[PARTIAL >= 0] - Q[PARTIAL >= 0].mean(axis=0)
    B = some.T @ some + mu * Q.T @ (np.diag(GRAPH.sum(axis=1)) - GRAPH) @ Q
    return largest(between(some, PARTIAL[PARTIAL >= 0]), B)


def maf(X):
    Q = orthonormal(centred(X))
    A = Q[:-1].T @ Q[1:] / (N - 1)
    return largest((A + A.T) / 2, Q.T @ Q / N)


def sfa(X):
    Q = orthonormal(centred(X))
    return smallest(np.diff(Q, axis=0).T @ np.diff(Q, axis=0), Q.T @ Q / N)


def lpp(X):
    Q, degrees = orthonormal(centred(X)), GRAPH.sum(axis=1)
    return smallest(Q.T @ (np.diag(degrees) - GRAPH) @ Q, Q.T @ (degrees[:, None] * Q))


def npe(X):
    Q = orthonormal(centred(X))
    return smallest((Q - WEIGHTS @ Q).T @ (Q - WEIGHTS @ Q), Q.T @ Q)


def sir(X):
    Q = orthonormal(centred(X))
    return largest(between(Q, LABELS), Q.T @ Q)


def save(X):
    Z = np.sqrt(N) * orthonormal(centred(X))
    changes = [np.eye(D) - np.cov(Z[LABELS == k].astype(float).T, ddof=0) for k in range(3)]
    shares = np.bincount(LABELS) / N
    return largest(sum(p * C @ C for p, C in zip(shares, changes, strict=True)), np.eye(D))


def opca(X, noise):
    Q, X = orthonormal(noise, centred(X))
    return largest(X.T @ X / N, Q.T @ Q / N)


def cca(X, Y):
    K = orthonormal(centred(X)).T @ orthonormal(centred(Y))
    return np.linalg.svd(K.astype(float))[1][:R].sum()


def residual(X, Y):
    Q, Y = orthonormal(centred(X)), centred(Y)
    return float(((Y - Q @ (Q.T @ Y)) ** 2).sum())


def reduced_rank(X, Y):
    fitted = (orthonormal(centred(X)).T @ centred(Y)).astype(float)
    return residual(X, Y) + np.sum(np.linalg.svd(fitted)[1][R:] ** 2)


def ridge_residual(X, Y, penalty=1e-6):
    X, Y = centred(X), centred(Y)
    rows = np.vstack([X, np.sqrt(np.longdouble(penalty)) * np.eye(D)])
    Q, T = orthonormal(rows), np.vstack([Y, np.zeros((D, 3))])
    return float(((T - Q @ (Q.T @ T)) ** 2).sum())


# name: (objective, the data of X, y, the value)
CASES = {
    "classical-lda": (ClassicalLDA(), lambda X: X, LABELS, lda),
    "classical-lda, ridge": (ClassicalLDA(ridge=1e-10), lambda X: X, LABELS, lda_with_ridge),
    "classical-maf": (ClassicalMAF(), lambda X: X, None, maf),
    "classical-cca": (ClassicalCCA(), lambda X: (X, OUTPUTS), None, lambda X: cca(X, OUTPUTS)),
    "classical-cca, both": (
        ClassicalCCA(),
        lambda X: (X, collinear(PLAIN[::-1], 1e-6)),
        None,
        lambda X: cca(X, collinear(PLAIN[::-1], 1e-6)),
    ),
    "opca": (OPCA(), lambda X: (SIGNAL, X), None, lambda X: opca(SIGNAL, X)),
    "sfa": (SFA(whiten=True), lambda X: X, None, sfa),
    "lpp": (LPP(graph=csr_array(GRAPH)), lambda X: X, None, lpp),
    "npe": (NPE(graph=csr_array(WEIGHTS)), lambda X: X, None, npe),
    "semi-supervised-da": (
        SemiSupervisedDA(graph=csr_array(GRAPH)),
        lambda X: X,
        PARTIAL,
        partly_labelled,
    ),
    "sir": (SIR(), lambda X: X, LABELS, sir),
    "save": (SAVE(), lambda X: X, LABELS, save),
    "least-squares": (LeastSquares(), lambda X: X, OUTPUTS, lambda X: residual(X, OUTPUTS)),
    "ridge-regression": (
        RidgeRegression(penalty=1e-6),
        lambda X: X,
        OUTPUTS,
        lambda X: ridge_residual(X, OUTPUTS),
    ),
    "reduced-rank-regression": (
        ReducedRankRegression(),
        lambda X: (X, OUTPUTS),
        None,
        lambda X: reduced_rank(X, OUTPUTS),
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
    assert not result.notes or "ridge" in name
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
@pytest.mark.parametrize("name", ["classical-lda", "classical-maf", "sir", "least-squares"])
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
    result = ldr.solve("classical-lda", blocks(X), R, y=LABELS)
    assert result.value == pytest.approx(lda(X), rel=1e-9)


def test_partial_fit_says_what_sums_do_not_know():
    X = collinear(PLAIN, 1e-5)
    estimator = ldr.ClassicalMAF(n_components=R)
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
        ldr.solve("classical-lda", np.array_split(X, 2), R, y=LABELS)
    assert reads == [1, 1, 1, 2]


def test_what_is_collinear_but_for_rounding_is_left_out():
    X = PLAIN @ _rng.standard_normal((D, D + 2)) + 1e3
    for name in ("classical-lda", "sir", "save"):
        result = ldr.solve(name, X, R, y=LABELS)
        assert result.certificate.kind == "global", result
        assert result.value == pytest.approx(CASES[name][3](X[:, :D]), rel=1e-8)
        assert any("rank 5 of 7" in note for note in result.notes)


def test_powers_of_a_column():
    """Ten powers of x in 1 .. 2: correlations above .9999, a condition number of 1e12."""
    x = np.linspace(1.0, 2.0, 60)
    X, y = x[:, None] ** np.arange(1, 11), np.sin(8.0 * x)[:, None]
    result = ldr.solve("least-squares", X, 2, y=y)
    assert result.certificate.kind in ("global", "bound")
    assert abs(result.value - residual(X, y)) <= result.certificate.gap
    assert result.value == pytest.approx(residual(X, y), rel=1e-3)


def spectrum(X):
    """Eigenvalues of the covariance in 80 bits, largest first, by Jacobi's rotations of columns."""
    A = centred(X) / np.sqrt(np.longdouble(len(X)))
    pairs = list(itertools.combinations(range(A.shape[1]), 2))
    for _ in range(12):
        for p, q in pairs:
            a, b, c = A[:, p] @ A[:, p], A[:, q] @ A[:, q], A[:, p] @ A[:, q]
            if c == 0:
                continue
            zeta = (b - a) / (2.0 * c)
            t = np.copysign(1.0, zeta) / (abs(zeta) + np.sqrt(1.0 + zeta**2))
            cosine = 1.0 / np.sqrt(1.0 + t**2)
            rotation = cosine * np.array([[1.0, t], [-t, 1.0]], dtype=np.longdouble)
            A[:, [p, q]] = A[:, [p, q]] @ rotation
    return np.sort((A**2).sum(axis=0))[::-1]


@pytest.mark.parametrize("eps", [1e-1, 1e-3, 1e-5, 1e-7])
@pytest.mark.parametrize("r", [1, D - 1])
def test_ppca_knows_a_noise_far_below_the_columns(eps, r):
    X = collinear(PLAIN, eps) / [1e3, 1.0, 1e-3, 1.0, 1.0]
    values = spectrum(X)
    noise = values[r:].mean()
    logs = np.log(values[:r]).sum() + (D - r) * np.log(noise)
    true = float(N / 2 * (D * np.log(2.0 * np.pi) + logs + D))
    result = ldr.solve("ppca", X, r)
    assert abs(result.value - true) <= min(result.certificate.gap, 1e-9 * abs(true))
    assert result.parameters["noise_variance"] == pytest.approx(float(noise), rel=1e-7)
    if eps >= 1e-5:
        assert result.certificate.kind == "global"


@pytest.mark.filterwarnings("ignore::ldr.errors.ConvergenceWarning")
@pytest.mark.parametrize("blocks", [lambda X: X, lambda X: np.array_split(X, 3)])
def test_independent_components_are_of_white_rows(blocks):
    X = collinear(PLAIN, 1e-6)
    P = ldr.solve("ica", blocks(X), D, starts=1, max_iterations=5, certify=False).P
    Y = centred(X) @ P.T.astype(np.longdouble)
    np.testing.assert_allclose((Y.T @ Y / N).astype(float), np.eye(D), atol=1e-8)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ["classical-lda", "opca"])
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
        result = ldr.solve("classical-lda", X, 1, y=y)
        means = np.stack([X[y == k].mean(axis=0) for k in range(2)])[y]
        A, B = ((Z - Z.mean(axis=0)).T @ (Z - Z.mean(axis=0)) for Z in (means, X - means))
    (p,) = result.P
    assert result.value == pytest.approx(p @ A @ p / (p @ B @ p), rel=1e-9)
    Q = np.linalg.svd(B)[0][:, :3]
    best = scipy.linalg.eigh(Q.T @ A @ Q, Q.T @ B @ Q, eigvals_only=True)[-1]
    assert result.value == pytest.approx(best, rel=1e-9)


def test_noise_along_a_line_has_rank_one():
    """In whole numbers, of which sums leave exact zeros beside rounding."""
    noise = np.outer([-2.0, 2.0, -2.0, 1.0], [2.0, -6.0, 3.0, 1.0, 3.0, -2.0])
    result = ldr.solve("opca", (np.eye(7)[:, :6], noise), 1)
    (note,) = result.notes
    assert "has rank 1 of 6" in note


def test_noise_far_smaller_than_the_mean_of_the_signal():
    rng = np.random.default_rng(0)
    X, noise = 3.0 + rng.standard_normal((20, D)), collinear(rng.standard_normal((30, D)), 1e-5)
    one = ldr.solve("opca", (X, noise), 2).value
    other = ldr.solve("opca", (X, noise * 2.0**-60), 2).value
    assert other == pytest.approx(2.0**120 * one, rel=1e-10)


@pytest.mark.parametrize("name", ["classical-cca", "reduced-rank-regression"])
def test_a_constant_view_beside_a_collinear_one_is_refused(name):
    with pytest.raises(ldr.errors.SingularError, match="nothing varies"):
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
