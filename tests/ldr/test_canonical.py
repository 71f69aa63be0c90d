"""The canonical coordinates of results: whatever solver and start found the span."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform
from sklearn import cross_decomposition, datasets

import ldr
from ldr.objectives import named
from ldr.objectives.data.data import as_tuple
from ldr.objectives.parameters import Need
from ldr.objectives.view import signs
from tests import real_data
from tests.objectives.methods import RANDOM, name_of

# Of the gradient, of what the value is at a random start, which may be far above the optimum.
_TOLERANCE = 1e-12
SPARSE = ("sparse-pca", "sparse-lda", "sparse-cca")
OTHER_SOLVERS = {"lasso": "coordinate-descent", **dict.fromkeys(SPARSE, "smoothing")}


def _iris():
    X, y = datasets.load_iris(return_X_y=True)
    return real_data.standardised(X), y


def _tumours():
    X, y = real_data.breast_cancer()
    return real_data.standardised(X[::3, :10]), y[::3]


REAL = {"wine": real_data.wine, "iris": _iris, "tumours": _tumours}


def adapted(key, X, y):
    """The data of a method of RANDOM, made of X and y."""
    given, response, parameters = RANDOM[key]
    rng = np.random.default_rng(0)
    half = X.shape[1] // 2
    if isinstance(given, tuple):
        paired = Need.BACKGROUND in named(name_of(key)).needs
        data = (X, X[y == 0]) if paired else (X[:, :half], X[:, half:])
    elif name_of(key) == "mds-distances":
        data = squareform(pdist(X))
    elif "exponential-family-pca" in key:
        data = 1.0 * (X > X.mean(axis=0))
    elif "missing" in key:
        data = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    elif key == "sfa quadratic":
        data = X[:, :3]
    else:
        data = X
    if "derivatives" in parameters:
        parameters = {**parameters, "derivatives": np.gradient(X, axis=0)}
    if response is not None:
        continuous = np.asarray(response).dtype.kind == "f"
        y = X[:, :2] @ rng.standard_normal((2, 5)) if np.ndim(response) == 2 else y
        y = X[:, 0] + X[:, 1] ** 2 if continuous and np.ndim(response) == 1 else y
    return data, None if response is None else y, parameters


def difference(a, b):
    """Largest difference of two matrices or pairs, relative to the largest entry."""
    pairs = zip(as_tuple(a), as_tuple(b), strict=True)
    return max(np.abs(x - y).max() / np.abs(x).max() for x, y in pairs)


def check_equal(key, X, y, starts, parameters):
    """M from other solvers and starts that reach the same value is the same; how many do."""
    name = name_of(key)
    best = ldr.solve(name, X, 2, y=y, certify=False, **parameters)
    agreed = 0
    for seed in range(starts):
        other = ldr.solve(
            name,
            X,
            2,
            y=y,
            solver=OTHER_SOLVERS.get(name, "trust-region"),
            start="random",
            random_state=seed,
            certify=False,
            tolerance=_TOLERANCE,
            **parameters,
        )
        if other.converged and abs(other.value - best.value) <= 1e-11 * abs(best.value):
            agreed += 1
            assert difference(best.M, other.M) < 1e-6
            assert difference(best.P, other.P) < 1e-6
    return agreed


def identified(key, name):
    """Return True where the axes are unique: enough classes, degrees of freedom, a scale.

    Two classes have one direction, and so has one target; four columns do not tell two factors; nca
    has an optimum at infinity once the classes are apart. Of two views of two columns each, sparse
    orthogonal-cca sees Ma Mb' alone: which of the two is the identity is a tie.
    """
    if key == "xdawn target":
        return False
    if name == "tumours":
        one = ("lda", "npe classes", "semi-supervised-da", "xdawn", "dpca")
        return key not in (*one, "nca")
    return not (key == "nca" or (name == "iris" and name_of(key) in ("fa", "sparse-cca")))


FEW = (
    *("pca", "sfa whitened", "orthogonal-lda", "orthogonal-cca", "pls", "fa", "log-det-pca"),
    *("dynamics", "uica", "ica"),
)


@pytest.mark.parametrize("key", FEW)
def test_every_solver_and_start_finds_the_same_matrix(key):
    X, y = real_data.wine()
    X, y, parameters = adapted(key, X, y)
    assert check_equal(key, X, y, 4, parameters) >= 1


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("key", RANDOM)
def test_every_method_solver_and_start_finds_the_same_matrix(key, name):
    X, y, parameters = adapted(key, *REAL[name]())
    if name_of(key) != "least-squares" and identified(key, name):
        check_equal(key, X, y, 10, parameters)


def test_nested_subspaces_stay_nested():
    X, y = real_data.digits()
    results = [
        ldr.solve("orthogonal-lda", X[::4], 5, y=y[::4], nested=(2, 5), ridge=1e-3, **options)
        for options in ({}, {"solver": "trust-region", "start": "random", "random_state": 0})
    ]
    np.testing.assert_allclose(results[1].M, results[0].M, atol=1e-6)
    np.testing.assert_allclose(results[1].parameters["ratios"], results[0].parameters["ratios"])


@pytest.mark.parametrize("name", ["orthogonal-lda", "orthogonal-maf", "log-det-pca"])
def test_the_basis_of_the_start_does_not_matter(name):
    X, y = real_data.wine()
    rng = np.random.default_rng(0)
    M, Q = (np.linalg.qr(rng.standard_normal(shape))[0] for shape in ((13, 3), (3, 3)))
    a, b = (ldr.solve(name, X, 3, y=y, start=start, solver="lbfgs") for start in (M, M @ Q))
    np.testing.assert_allclose(a.M, b.M, atol=1e-7)
    assert b.value == pytest.approx(a.value, rel=1e-12)


def test_trace_ratios_stand_in_principal_axes_and_so_does_their_heuristic():
    X, y = real_data.wine()
    result = ldr.solve("orthogonal-lda", X, 2, y=y)
    for M in (result.M, result.baseline_M):
        C = np.cov((X @ M).T)
        assert abs(C[0, 1]) < 1e-14 * C[0, 0] and C[0, 0] > C[1, 1]
        np.testing.assert_allclose(M.T @ M, np.eye(2), atol=1e-15)


def test_two_views_stand_in_aligned_pairs_of_which_the_first_count_most():
    Xa, Xb = real_data.tumour_views()
    result = ldr.solve(
        "orthogonal-cca", (Xa, Xb), 3, solver="lbfgs", start="random", random_state=1
    )
    shared = result.M[0].T @ (Xa.T @ Xb) @ result.M[1]
    assert np.abs(shared - np.diag(np.diag(shared))).max() < 1e-9 * shared[0, 0]
    assert (np.diff(np.diag(shared)) < 0).all()


def test_loadings_of_factor_models_are_those_of_lawley_and_maxwell():
    X, _ = real_data.wine()
    result = ldr.solve("fa", X, 3, solver="trust-region", start="random", random_state=0)
    S = result.M.T @ (result.M / result.parameters["noise_variances"][:, None])
    assert np.abs(S - np.diag(np.diag(S))).max() < 1e-12 * S[0, 0]
    assert (np.diff(np.diag(S)) < 0).all()


@pytest.mark.parametrize("name", ["pca", "orthogonal-cca", "ppca", "lmnn", "ica"])
def test_the_largest_entry_of_every_row_is_positive(name):
    X, y = real_data.wine()
    data = (X[:, :6], X[:, 6:]) if name == "orthogonal-cca" else X
    P = as_tuple(ldr.solve(name, data, 2, y=y if name == "lmnn" else None).P)[0]
    assert (P[[0, 1], np.abs(P).argmax(axis=1)] > 0).all()


def test_the_first_of_the_entries_that_are_largest_to_rounding_decides_the_sign():
    P = np.array([[0.1, -1.0, 1.0 + 1e-12], [0.1, -0.9, 1.0], [0.0, 1.0, -1.0]])
    np.testing.assert_array_equal(signs(P), [-1.0, 1.0, 1.0])


def test_ties_are_noted():
    X = np.vstack([np.diag([3.0, 2.0, 2.0, 1.0]), -np.diag([3.0, 2.0, 2.0, 1.0])])
    (note,) = ldr.solve("pca", X, 3).notes
    assert note.startswith("components 1, 2 (of 0 to 2) have equal scores")
    assert not any("neighbours" in note for note in ldr.solve("pca", X, 1).notes)


def test_pls_is_that_of_scikit_learn():
    Xa, Xb = real_data.tumour_views()
    theirs = cross_decomposition.PLSSVD(3, scale=False).fit(Xa, Xb)
    for solver in ("closed-form", "trust-region"):
        for M, weights in zip(
            ldr.solve("pls", (Xa, Xb), 3, solver=solver).M,
            (theirs.x_weights_, theirs.y_weights_),
            strict=True,
        ):
            np.testing.assert_allclose(M, weights * np.sign(np.sum(M * weights, axis=0)), atol=1e-8)


def test_an_objective_of_ones_own_stands_in_principal_axes_where_only_the_span_counts():
    X, _ = real_data.wine()

    @ldr.objective(backend="numpy", gradient=lambda M, X: -2 * X.T @ (X @ M))
    def spread(M, X):
        return -((X @ M) ** 2).sum()

    own = ldr.solve(spread, X, 3, start="random", random_state=0)
    np.testing.assert_allclose(own.M, ldr.solve("pca", X, 3).M, atol=1e-6)
