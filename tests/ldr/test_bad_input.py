"""Bad input is refused at the door, by a message that names the argument, what came and what was
expected; nothing is changed in place."""

import weakref
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import ldr
from ldr.errors import (
    ArgumentError,
    ConvergenceWarning,
    DataError,
    ObjectiveError,
    SingularError,
    TooLargeError,
)
from tests import real_data

X, y = real_data.wine()
TWO = (X[:, :6], X[:, 6:])


def test_folds_and_draws_name_the_methods_that_accept_missing_values():
    calls = partial(ldr.path, folds=3), ldr.bootstrap
    for call, r in zip(calls, ([1], 1), strict=True):
        with pytest.raises(DataError, match=GAP + ".*" + ADVICE):
            call("pca", having((3, 5), np.nan), r)


def test_missing_labels_are_no_error_of_the_folds():
    with pytest.raises(DataError, match=r"^y has 1 missing or infinite label"):
        ldr.compare(["lda"], X, np.r_[np.nan, y[1:]], 1)


def having(where, value):
    bad = X.copy()
    bad[where] = value
    return bad


RAGGED = [[1], [2, 3]] * 89

GAP = r"X has 1 NaN .*row 3, column 5.*finite"
ADVICE = "'ppca' and 'fa' accept missing values"


def case(words, objective, X=X, r=2, **keywords):
    """Words of the refusal, and the call."""
    return words, (objective, X, r), keywords


DATA = [
    case(GAP + ".*" + ADVICE, "pca", having((3, 5), np.nan)),
    case(r"X has 1 NaN or infinite.*row 0, column 0", "pca", having((0, 0), np.inf)),
    case(r"X must hold real numbers.*complex", "pca", X + 0j, r=1),
    case(r"X must be a pair of arrays \(Xa, Xb\).*ndarray", "orthogonal-cca"),
    case(r"views in X have 178 and 177 rows", "orthogonal-cca", (X, X[:-1])),
    case(r"X\[1\] has 1 NaN.*" + ADVICE, "orthogonal-cca", (X, having((1, 1), np.nan))),
    case(r"y has NaN", "sdr", r=1, y=np.r_[np.nan, X[1:, 0]]),
    case(r"y has shape \(177,\).*178", "sdr", r=1, y=X[1:, 0]),
    case(r"X must be a pair of arrays \(samples, background\)", "opca"),
    case(
        r"X\[0\] has 13 columns and X\[1\] has 3, expected the same columns", "opca", (X, X[:, :3])
    ),
    case(r"X is sparse", "sdr", scipy.sparse.csr_array(X), r=1, y=y),
    case(
        r"graph has shape \(5, 5\), expected \(178, 178\)", "lpp", graph=scipy.sparse.eye_array(5)
    ),
    case(r"graph is not symmetric", "lpp", graph=scipy.sparse.eye_array(178, k=1)),
    case(r"graph has negative weights", "lpp", graph=-scipy.sparse.eye_array(178)),
    case(r"y must be 1-D.*pass np.ravel\(y\)", "lda", y=pd.DataFrame({"y": y})),
    case(
        r"X must be 2-D.*pass a column, np.reshape\(x, \(-1, 1\)\)", "pca", pd.Series(X[:, 0]), r=1
    ),
    case(
        r"y has dtype bool, expected numbers: encode y, or pass y.astype\(float\)", "phd", y=y == 1
    ),
    case(
        r"y looks continuous \(12 distinct values in 12 trials\)",
        "csp",
        ldr.trials(X[:168].reshape(12, 14, 13), "times, channels"),
        y=X[:12, 0] + np.arange(12),
    ),
    case(r"takes one matrix X, got a tuple of 2: pass np.hstack\(X\)", "pca", TWO),
    case(r"takes one matrix X, got a tuple of 2: pass np.hstack\(X\)", "sfa", (X, X)),
    case(r"y could not be read as an array", "orthogonal-lda", y=RAGGED),
    case(r"y could not be read as an", "lasso", y=RAGGED),
    case(r"y could not be read as an array", "sdr", y=RAGGED),
    case(r"y could not be read as an array", "semi-supervised-da", y=RAGGED),
    case(r"y has shape \(178, 0\): it has no columns", "ridge-regression", y=X[:, :0]),
    case(r"y has shape \(178, 0\)", "sir", y=X[:, :0]),
    case(r"y has shape \(0,\), expected 178 rows", "lasso", y=[]),
    case(r"y is a masked", "lasso", y=np.ma.masked_array(X[:, 0])),
    case(
        r"y is sparse, a dense array was expected: pass y.toarray\(\)",
        "lasso",
        y=scipy.sparse.csr_array(X[:, :1]),
    ),
    case(r"y must have an entry for each", "orthogonal-lda", y=iter(y)),
    case(
        r"y has shape \(178,\) and type",
        "semi-supervised-da",
        y=np.zeros(178, dtype=[("a", float)]),
    ),
    case(r"y has no label: every entry equals unlabelled = -1", "semi-supervised-da", y=0 * y - 1),
    case(r"X has no column that varies", "exponential-family-pca", np.ones((8, 3)), r=1),
    case(
        r"X is sparse with fewer rows than columns: pass dense arrays",
        "orthogonal-gcpca",
        (scipy.sparse.eye_array(3, 20), scipy.sparse.eye_array(4, 20)),
        r=1,
    ),
    case(
        r"distances of X are too large for reg = 1e-120: their squares are up to",
        "wda",
        X * 1e120,
        r=1,
        y=y,
        reg=1e-120,
    ),
]

ARGUMENTS = [
    case(r"unknown objective 'ldaa': did you mean 'lda'", "ldaa"),
    case(r"unknown objective 'xyzzy': the known names are autocov", "xyzzy"),
    case(r"unknown solver 'trust'.*trust-region", "pca", solver="trust"),
    case(r"solver must be a name or a Solver", "pca", solver=3),
    case(
        r"\(an instance, LBFGS\(\), not the class\)",
        "orthogonal-lda",
        y=y,
        solver=ldr.solvers.LBFGS,
    ),
    case(r"observers must be a list of callables, got 3", "orthogonal-lda", y=y, observers=3),
    case(r"'orthogonal-lda' has no closed form", "orthogonal-lda", y=y, solver="closed-form"),
    case(r"solves trace ratios", "orthogonal-cca", TWO, solver="self-consistent-field"),
    case(
        r"'orthogonal-maf' has no parameter 'leg'; its parameters are: lag, shrinkage, ridge",
        "orthogonal-maf",
        leg=1,
    ),
    case(r"'pca' has no parameter 'lag'", "pca", lag=1),
    case(r"'pca' has no .*Did you mean 'standardise'\?", "pca", standardize=True),
    case(r"an instance, PCA\(\), not the class", ldr.objectives.PCA),
    case(r"\(an estimator is called as estimator.fit\(X, y\)\), got PCA", ldr.PCA(2)),
    case(r"an estimator is called as estimator.fit", ldr.PCA),
    case(r"certify must be True, False or 'thorough', got 'yes'", "pca", certify="yes"),
    case(r"decorate a function with @ldr.objective", len),
    case(r"unknown argument 'lag'", ldr.objectives.OrthogonalMAF(), lag=2),
    case(r"r = 0 is out of range: expected 1 <= r <= d = 13", "pca", r=0),
    case(r"r = 14 is out of range: expected 1 <= r <= d = 13", "pca", r=14),
    case(r"r = 7 is out of range: .* d = 6", "orthogonal-cca", TWO, r=7),
    case(r"r must be a whole number, a share .*, got 2.5", "pca", r=2.5),
    case(r"r must be a whole number, .*, got True", "pca", r=True),
    case(r"r = 6 is too large: expected r <= 4", "pca", X[:5], r=6),
    case(r"objective 'orthogonal-lda' needs labels: pass y=", "orthogonal-lda"),
    case(r"objective 'sdr' needs response: pass y=", "sdr"),
    case(r"needs labels.*y=", "lpp", graph="classes"),
    case(
        r"start has shape \(13, 13\), expected \(13, 2\)",
        "orthogonal-lda",
        y=y,
        start=np.eye(13),
        solver="lbfgs",
    ),
    case(r"start has NaN", "orthogonal-lda", y=y, start=np.full((13, 2), np.nan)),
    case(r"start must hold re", "orthogonal-lda", y=y, start=[["a"] * 2] * 13),
    case(r"start must be an array", "orthogonal-lda", y=y, start=[[1], [2, 3]]),
    case(r"start has rank 1", "orthogonal-lda", y=y, start=np.ones((13, 2))),
    case(r"start must be .*got 'best'", "orthogonal-lda", y=y, start="best"),
    case(r"start must be 2", "orthogonal-cca", TWO, start=np.eye(6, 2)),
    case(r"tolerance must be .*got -1", "pca", tolerance=-1),
    case(r"max_iterations must be .*got 1.5", "pca", max_iterations=1.5),
    case(r"time_limit must be .*got 0", "pca", time_limit=0),
    case(r"random_state must be .*got 'x'", "pca", random_state="x"),
    case(r"observers must be callables, got 3", "orthogonal-lda", y=y, observers=[3]),
    case(r"lag must be a whole number >= 1, got 0", "orthogonal-maf", lag=0),
    case(r"lag.*178", "orthogonal-maf", lag=178),
    case(r"below the number of rows", "lpp", neighbours=178),
    case(r"workers must be .* -1 .*, got 0", "nca", y=y, workers=0),
    case(r"epsilon must be a finite number > 0, got 1000", "sdr", y=y, epsilon=10**400),
    case(
        r"hinge must be 'squared' or 'linear', got array",
        "lmnn",
        y=y,
        hinge=np.array(["squared", "linear"]),
    ),
    case(r"landmarks must be a whole number >= 2, got array", "hsic", landmarks=np.array([1, 2])),
    case(r"target must be a single label, got \[", "xdawn", r=1, y=y, target=[0, 1]),
    case(r"derivatives= requires degree=1, got degree=2", "sfa", r=1, degree=2, derivatives=X),
    case(
        r"graph='class-neighbours' needs a label for every row",
        "semi-supervised-da",
        r=1,
        y=y,
        graph="class-neighbours",
    ),
    case(
        r"ridge = 1e\+130 is too large for the unit of the data",
        "orthogonal-lda",
        X * 1e100,
        r=1,
        y=y,
        ridge=1e130,
    ),
]

FAR = {
    **dict.fromkeys(("pca", "orthogonal-lda", "orthogonal-maf"), (X * 1e160, X * 1e-160)),
    "opca": ((X * 1e200, X), (X, X * 1e200)),
    "signal-noise": ((X * 1e200, X), (X, X * 1e-200)),
    "contrastive-pca": ((X, X * 1e200),),
    "lasso": (X * 1e200, X * 1e-200),
    "mds-distances": (1e200 * np.abs(X @ X.T),),
    **dict.fromkeys(("lpp", "olpp", "orthogonal-lpp", "npe", "onpp"), (X * 1e200,)),
}

FEW = np.random.default_rng(0).standard_normal((8, 20))
SINGULAR = [
    case(
        r"the covariance is zero, so that all directions",
        "lasso",
        np.ones((8, 3)),
        r=1,
        y=np.arange(8.0),
    ),
    case(
        r"local Gram matrices .* give regularisation= a", "npe", neighbours=20, regularisation=0.0
    ),
    case(
        r"the Gram matrix of XM is singular relative to n epsilon = 2.0e-99: give epsilon=",
        "sdr",
        X[:20],
        r=1,
        y=X[:20, 0],
        epsilon=1e-100,
    ),
    case(
        r"unbounded.*r = 1.*the 7 x 7 matrix B has rank 6\. Give ridge=",
        "orthogonal-lda",
        FEW,
        r=1,
        y=[0, 0, 0, 0, 1, 1, 1, 1],
    ),
    case(r"likelihood is unbounded: r = 7.*rank 7.*r < 7", "ppca", FEW, r=7),
    case(
        r"the centred kernel matrix is zero",
        ldr.kernel("pca", metric="linear"),
        np.ones((8, 3)),
        r=1,
    ),
]


ERRORS = {DataError: DATA, ArgumentError: ARGUMENTS, SingularError: SINGULAR}


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("error", "words", "arguments", "keywords"),
    [(error, *each) for error, cases in ERRORS.items() for each in cases],
)
def test_solve_refuses(error, words, arguments, keywords):
    with pytest.raises(error, match=words):
        ldr.solve(*arguments, **keywords)


@pytest.mark.parametrize("name", FAR)
def test_data_whose_squares_are_no_numbers(name):
    for data in FAR[name]:
        with pytest.raises(DataError, match=r"largest entry of .*between 1e-130 and 1e\+130"):
            ldr.solve(name, data, 1, y={"lasso": X[:, 0], "orthogonal-lda": y}.get(name))


@pytest.mark.parametrize("size", [1e300, 1e-300])
@pytest.mark.parametrize("name", ["orthogonal-lda", "uica", "ppca", "nca"])
def test_starts_whose_squares_are_no_numbers(name, size):
    start = np.random.default_rng(0).standard_normal((13, 2)) * size
    with pytest.raises(
        ArgumentError, match=r"largest entry of start is .*expected a value between"
    ):
        ldr.solve(name, X, 2, y=y, start=start, solver="trust-region")


def test_units_that_are_far_apart():
    pca = ldr.objectives.PCA()
    for data, penalty in ((X * 1e-120, 1.0), (X, 1e300)):
        with pytest.raises(ArgumentError, match=r"a penalty of .* is too large relative to"):
            ldr.solve(pca + ldr.l1(penalty), data, 2)
    with pytest.raises(ArgumentError, match=r"width = 1.0e-100 is too small for X"):
        ldr.solve("hsic", X, 2, width=1e-100)
    far = ldr.solve("hsic", X[:60] * 2.0**400, 2, random_state=0, starts=1)
    near = ldr.solve("hsic", X[:60], 2, random_state=0, starts=1)
    assert far.value == pytest.approx(near.value, rel=1e-9)


MISFITS = [
    (
        r"derivatives has shape \(178, 3\), expected the shape of X, \(178, 13\)",
        lambda: ldr.solve("sfa", X, 2, derivatives=X[:, :3]),
    ),
    (
        r"derivatives has shape \(5, 3\), expected the shape of X, \(5, 13\)",
        lambda: ldr.solve("sfa", X[:5], 2, derivatives=X[:5, :3]),
    ),
    (
        r"the kernel 'rbf' of X has values that are not finite",
        lambda: ldr.solve(ldr.kernel("pca", "rbf", gamma=-1e6), X, 2),
    ),
    (
        r"heat = 1e-06 is too small relative to the squared lengths of edges, .* heat='median'",
        lambda: ldr.solve("lpp", X, 2, heat=1e-6),
    ),
    (
        r"y is the string 'kind', but a string can name a column only if X is the path of a table",
        lambda: ldr.solve("orthogonal-lda", X, 2, y="kind"),
    ),
    (
        r"y has 177 entries, but X has 178 rows",
        lambda: ldr.path("pca", X, [1, 2], y=y[:-1], folds=2),
    ),
    (r"y has 0 labels, expected 178", lambda: ldr.OrthogonalLDA().partial_fit(X, [])),
    (
        r"classes has labels of different types",
        lambda: ldr.OrthogonalLDA().partial_fit(X, y, classes=np.array([1, "a"], dtype=object)),
    ),
    ("the largest entry of X is", lambda: ldr.solve("pca", iter([X[:90] * 1e200, X[90:]]), 2)),
    ("the largest entry of X is", lambda: ldr.solve(ldr.objective(lambda M, X: 0.0), X * 1e200, 2)),
    (
        r"second moment of the noise, which is so small in some direction",
        lambda: ldr.solve("opca", (X * 1e90, X * 1e-90), 1),
    ),
    (
        r"second moment of the noise, which is so small in some direction",
        lambda: ldr.solve("opca", (X * 1e74, X[:, [0] * 13] * 1e-74 + X * 1e-83), 1),
    ),
    (
        r"S_W, which is so small in some direction",
        lambda: ldr.solve("orthogonal-lda", X * 1e-100 + 1e70 * y[:, None], 1, y=y),
    ),
    (
        r"classes is empty, expected all labels",
        lambda: ldr.OrthogonalLDA().partial_fit(X, y, classes=[]),
    ),
    (
        r"X must be 2 arrays, one for each view",
        lambda: ldr.score(ldr.solve("pls", (X[:, :3], X[:, 3:]), 1), X),
    ),
    (
        r"X must be 2 arrays, one for each view, as in the data of the fit",
        lambda: ldr.score(ldr.solve(ldr.kernel("pls"), (X[:9, :3], X[:9, 3:]), 1), (X,)),
    ),
    (r"the largest entry of X", lambda: ldr.parallel_analysis(X * 1e200)),
]
STILL = {
    "sparse rows": lambda: ldr.solve("ppca", scipy.sparse.csr_array(np.ones((5, 8))), 1),
    "noise with a ridge": lambda: ldr.solve("opca", (X, np.zeros((20, 13))), 1, ridge=2.0),
    "noise in units too far apart": lambda: ldr.solve("ppca", X[:, :2] * [1, 1e-100], 1),
}


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize(("words", "act"), MISFITS)
def test_what_does_not_fit_together(words, act):
    with pytest.raises(DataError, match=words):
        act()


@pytest.mark.parametrize("case", STILL)
def test_where_nothing_varies(case):
    with pytest.raises(
        SingularError, match=r"equally good|vary in no direction|is zero to round|leave no resid"
    ):
        STILL[case]()


def test_a_determinant_of_units_too_far_apart_is_refused_or_not_proved():
    """Which of the two is for LAPACK's last digits to say."""
    try:
        result = ldr.solve("log-det-pca", X * 10.0 ** np.arange(0, -130, -10), 9)
    except SingularError as error:
        assert "is zero to rounding" in str(error)
    else:
        assert result.certificate.kind == "none"


def test_a_kernel_has_as_many_dimensions_as_features():
    twice = np.repeat(X[:2], 10, axis=0)
    with pytest.raises(ArgumentError, match=r"r = 3 is too large: expected r <= 1"):
        ldr.solve(ldr.kernel("least-squares", "cosine", components=3), twice, 3, y=np.arange(20.0))


def test_a_penalty_beside_a_map_of_the_rows_span():
    few, wide = np.arange(12) % 3, np.random.default_rng(0).standard_normal((12, 40))
    result = ldr.solve(ldr.objectives.DemixedPCA() + ldr.l1(0.6), wide, 1, y=few, certify=False)
    assert result.P.shape == (1, 40) and np.isfinite(result.value)


@pytest.mark.filterwarnings("error")
def test_projections_to_huge_maps_have_an_inverse():
    lasso = ldr.Lasso(n_components=1, penalty=1e-3).fit(X[:, :2] * 1e-80, X[:, 3] * 1e90)
    assert np.isfinite(lasso.inverse_transform(lasso.transform(X[:, :2] * 1e-80))).all()


def test_one_variable_of_all_views_does_not_add_up():
    for objective in (2.0 * ldr.objectives.MCCA(), ldr.objectives.MCCA() + ldr.l1(1.0)):
        with pytest.raises(ArgumentError, match=r"'mcca' cannot be weighted, summed or penalised"):
            ldr.solve(objective, (X[:, :5], X[:, 5:]), 1)


def test_one_label_stands_for_none():
    with pytest.raises(ArgumentError, match=r"unlabelled must be a single label, got \[-1\]"):
        ldr.solve("semi-supervised-da", X, 2, y=y, unlabelled=[-1])


def test_values_beyond_squares_of_ones_own():
    huge = ldr.objective(
        lambda M, X: 1e200, backend="numpy", gradient=lambda M, X: np.zeros(M.shape)
    )
    with pytest.raises(ObjectiveError, match=r"returned 1e\+200 .*between -1e\+130 and 1e\+130"):
        ldr.solve(huge, X, 2)


def test_solvers_of_others_on_a_manifold_of_one_point():
    result = ldr.solve("opca", (X[:, :2], X[:, 1:3]), 2, solver="pymanopt:trust-region")
    assert result.converged and result.iterations == 0


def test_directions_in_which_nothing_varies_explain_nothing():
    constant = (X[:9], np.ones((9, 1)))
    path = ldr.regularisation_path("reduced-rank-regression", constant, 1, [1.0], max_iterations=5)
    assert np.isfinite(path.values[0])


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_large_values_have_certificates():
    noise = np.random.default_rng(0).standard_normal((50, 13)) * 1e-50
    assert ldr.solve("opca", (X, noise), 2).certificate is not None
    large = X[:, :2] * 1e100
    assert ldr.solve("ridge-regression", large, 2, y=X[:, 3] * 1e100).converged
    far = ldr.solve(
        "reduced-rank-regression", (X * 1e-100, large), 1, start="random", certify=False
    )
    assert np.isfinite(far.value)
    assert np.isfinite(ldr.solve("pls-regression", large, 2, y=X[:, 3] * 1e100).value)
    assert repr(ldr.path("signal-noise", (large, X[:, :2]), [1, 2], folds=3, random_state=0))


def test_what_does_not_fit_into_memory_is_named():
    n = 2_000_000
    wide = scipy.sparse.eye_array(n, format="csr")
    with pytest.raises(TooLargeError, match=r"2000000 x 2000000.* 2.38e\+05 GiB.*columns"):
        ldr.solve("autocovariance", wide, 1)
    assert issubclass(TooLargeError, MemoryError) and issubclass(TooLargeError, DataError)


def test_scores_are_of_results():
    for nothing in (None, X, "pca"):
        with pytest.raises(ArgumentError, match=r"result must be a Result of ldr.solve, got"):
            ldr.score(nothing, X)
    distances = np.abs(X[:, :1] - X[:, 0])
    with pytest.raises(ArgumentError, match=r"'mds-distances' takes distances"):
        ldr.score(ldr.solve("mds-distances", distances, 1), distances)
    with pytest.raises(ArgumentError, match="X has 12 columns, expected 13"):
        ldr.score(ldr.solve("pca", X, 2), X[:, :12])


def test_exceptions_are_what_users_already_catch():
    assert issubclass(ArgumentError, ValueError)
    assert issubclass(DataError, ValueError)
    assert issubclass(SingularError, ValueError)
    assert issubclass(ConvergenceWarning, RuntimeWarning)


@pytest.mark.parametrize(("name", "data"), [("orthogonal-lda", X), ("orthogonal-cca", TWO)])
def test_starts_are_not_changed_in_place(name, data):
    start = tuple(
        np.linalg.qr(np.ones((v.shape[1], 2)) + np.eye(v.shape[1], 2))[0]
        for v in (data if name == "orthogonal-cca" else (data,))
    )
    before = [M.copy() for M in start]
    ldr.solve(
        name, data, 2, y=y, solver="lbfgs", start=start if name == "orthogonal-cca" else start[0]
    )
    for M, copy in zip(start, before, strict=True):
        np.testing.assert_array_equal(M, copy)


def test_no_convergence_is_a_flag_and_a_warning_with_the_best_point():
    with pytest.warns(ConvergenceWarning, match="iteration limit.*max_iterations"):
        result = ldr.solve("orthogonal-lda", X, 2, y=y, solver="steepest-descent", max_iterations=3)
    assert not result.converged
    assert "NOT CONVERGED" in repr(result)
    assert result.value >= result.baseline
    assert result.value == max(result.history["value"])


def test_transform_refuses_other_columns():
    for objective in ("pca", ldr.objectives.SFA(degree=2), ldr.kernel("pca")):
        result = ldr.solve(objective, X, 2)
        with pytest.raises(ArgumentError, match="X has 12 columns, expected 13"):
            result.transform(X[:, :12])
    both = ldr.solve("orthogonal-cca", TWO, 2)
    with pytest.raises(DataError, match="X must be 2 arrays"):
        both.transform(X)


@pytest.mark.parametrize(
    ("fail", "error", "words"),
    [
        (
            lambda: np.linalg.cholesky(-np.eye(2)),
            SingularError,
            r"decomposition .* failed \(Matrix is not positive definite",
        ),
        (
            lambda: np.empty((2**30, 2**20)),
            TooLargeError,
            r"an array of shape \(1073741824, 1048576\), 8.39e\+06 GiB, does not fit into mem",
        ),
        (
            lambda: bytearray(2**62),
            TooLargeError,
            r"an array that the method needs does not fit into memory",
        ),
    ],
)
def test_what_fails_on_the_way_is_said_in_words(fail, error, words, monkeypatch):
    monkeypatch.setattr(ldr.objectives.PCA, "bind", lambda *_: fail())
    with pytest.raises(error, match=words):
        ldr.solve("pca", X, 2)


def test_a_refusal_for_memory_keeps_no_arrays(monkeypatch):
    kept = []

    def fail(*_):
        rows = np.ones((3, 3))
        kept.append(weakref.ref(rows))
        return np.empty((2**30, 2**20))

    monkeypatch.setattr(ldr.objectives.PCA, "bind", fail)
    with pytest.raises(TooLargeError):
        ldr.solve("pca", X, 2)
    assert kept[0]() is None


def test_a_background_of_the_other_byte_order_may_stand_beside_sparse_data():
    sparse = scipy.sparse.csr_array(np.where(np.abs(X) > 1, X, 0.0))
    objective = ldr.kernel("contrastive-pca", "rbf", gamma=0.1, components=5, random_state=0)
    values = [
        ldr.solve(objective, (sparse, X[::2].astype(order)), 2).value for order in (">f8", "<f8")
    ]
    assert values[0] == values[1]


def test_a_response_that_says_nothing_has_no_directions_to_start_from():
    X = np.random.default_rng(0).standard_normal((30, 3))
    found = ldr.solve("sdr", X, 1, y=np.ones(30), response_width=2.0, max_iterations=0)
    assert np.isfinite(found.value)
    constant = ldr.solve("pls-regression", X, 1, y=np.ones(30))
    assert constant.value == 0.0 and (constant.parameters["vip"] == 0.0).all()


def test_products_that_are_no_numbers_are_refused():
    X = np.random.default_rng(0).standard_normal((20, 3))
    result = ldr.solve("sfa", X, 1, degree=2)
    with pytest.raises(ldr.errors.DataError, match="whose squares overflow"):
        result.transform(X * [1e170, 1.0, 1.0])


@pytest.mark.parametrize("name", ["pca", "lda", "sir"])
def test_y_of_another_length_beside_weights_of_zero(name):
    weights = np.ones(len(X))
    weights[:5] = 0.0
    with pytest.raises(DataError, match=rf"y has \d+ entries, but X has {len(X)} rows"):
        ldr.solve(name, X, 1, y=np.arange(len(X) // 2) % 2, sample_weight=weights)
