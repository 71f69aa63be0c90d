"""Data that defeat a naive method: a stated restriction or a clear error, never NaN."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy

import ldr
from ldr.errors import DataError, SingularError
from ldr.objectives import OrthogonalLDA, named
from ldr.objectives.data.data import as_tuple
from ldr.objectives.data.opening import as_samples
from ldr.objectives.families.trace_ratio import TraceRatio
from ldr.objectives.graphs import (
    _tree,
    check_settled,
    epsilon_graph,
    nearest_others,
    neighbour_graph,
)
from ldr.objectives.registry import REGISTRY
from ldr.objectives.view import View
from tests import real_data
from tests.objectives.methods import RANDOM, by_kind, name_of

RNG = np.random.default_rng(3)
SPECIAL = ("mds-distances", "exponential-family-pca")  # of distances; of 0 and 1, or counts
METHODS = [key for key in RANDOM if name_of(key) not in SPECIAL]
N, D = 40, 6


def clean(n=N, d=D):
    return np.cumsum(RNG.standard_normal((n, d)), axis=0) * 0.2 + RNG.standard_normal((n, d))


def constant_column(X):
    X = X.copy()
    X[:, 1] = 3.7
    return X


def collinear(X):
    X = X.copy()
    X[:, 2] = 2.0 * X[:, 0] - X[:, 1]
    return X


def nearly_collinear(X):
    X = X.copy()
    X[:, 2] = X[:, 0] + 1e-9 * X[:, 3]
    return X


def tied(X):
    """Covariance exactly isotropic: all eigenvalues tie."""
    Q = np.linalg.qr(X - X.mean(axis=0))[0]
    return Q * np.sqrt(len(X))


def duplicated_rows(X):
    return np.repeat(X[: len(X) // 2], 2, axis=0)


def bad_scales(X):
    return X * 10.0 ** np.linspace(-8, 8, X.shape[1])


CHANGES = {
    f.__name__: f
    for f in (constant_column, collinear, nearly_collinear, tied, duplicated_rows, bad_scales)
}


def case(key, X):
    """The method's data made of X: labels, a second view, noise, a response."""
    name, (_, y, parameters) = name_of(key), RANDOM[key]
    n = len(X)
    parameters = dict(parameters)
    if "neighbours" in parameters or "graph" in REGISTRY[name].needs:
        parameters["neighbours"] = 4
    if "epsilon" in parameters:
        parameters["epsilon"] = float(np.median(np.linalg.norm(X - X.mean(axis=0), axis=1)) * 2)
    if "derivatives" in parameters:
        parameters["derivatives"] = np.gradient(X, axis=0)
    if y is not None:
        labels = np.arange(n) % 3
        kind = np.asarray(y).dtype.kind
        if name == "semi-supervised-da":
            y = np.where(np.arange(n) % 2 == 0, labels, -1)
        elif np.ndim(y) == 2:
            y = np.stack([X[:, 0], X[:, -1]], axis=1) + RNG.standard_normal((n, 2))
        elif kind in "iu":
            y = labels
        else:
            y = X[:, 0] + RNG.standard_normal(n)
    if REGISTRY[name].views == 2:
        return (X, X[:, ::-1][:, :4] + RNG.standard_normal((n, min(4, X.shape[1])))), y, parameters
    if "background" in REGISTRY[name].needs:
        return (X, X[: n // 2] * RNG.standard_normal(X.shape[1])), y, parameters
    return X, y, parameters


def solve(key, X, r=2, **more):
    data, y, parameters = case(key, X)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", ldr.errors.ObjectiveWarning)
        warnings.simplefilter("ignore", ldr.errors.ConvergenceWarning)
        return ldr.solve(name_of(key), data, r, y=y, **parameters, **more)


def finite(result):
    blocks = [*as_tuple(result.M), *as_tuple(result.P), *as_tuple(result.mean)]
    assert all(np.isfinite(block).all() for block in blocks), result
    assert np.isfinite([result.value, result.baseline, result.improvement]).all(), result
    return True


# Searches of several starts take longest: two of the changes by default.
QUICK = ("collinear", "bad_scales")
SEARCHED = ("nca", "lmnn", "dca", "orthogonal-cca", "sparse-cca", "orthogonal-mcca", "sdr", "wda")


@pytest.mark.parametrize("key", by_kind(METHODS, also=["lasso"]))
def test_singular_data_give_a_restriction_or_an_error(key):
    check_changes(key, QUICK if name_of(key) in SEARCHED else CHANGES)


@pytest.mark.slow
@pytest.mark.parametrize("key", [key for key in METHODS if name_of(key) in SEARCHED])
def test_singular_data_of_searches(key):
    check_changes(key, set(CHANGES) - {*QUICK})


def check_changes(key, changes):
    for change in changes:
        X = CHANGES[change](clean())
        if key == "sfa quadratic":
            X = X[:, :4]
        try:
            result = solve(key, X, max_iterations=40)  # local optima of nca may be far away
        except ValueError as error:
            assert len(str(error)) > 40, (change, error)
        else:
            assert finite(result), change


OF_A_RANGE = {
    *("orthogonal-lda", "orthogonal-maf", "orthogonal-lpp", "orthogonal-npe", "orthogonal-sfa"),
    *("lda", "cca", "lpp", "npe", "maf", "sir", "save", "opca", "semi-supervised-da"),
    *("orthogonal-cca", "olpp", "onpp", "squared-difference"),
}
# "squared-difference max" keeps what does not vary among its candidates.
RESTRICTED = [k for k in METHODS if name_of(k) in OF_A_RANGE and k != "squared-difference max"]


@pytest.mark.parametrize("change", [constant_column, collinear])
@pytest.mark.parametrize("key", RESTRICTED)
def test_the_restriction_is_stated_with_its_rank(key, change):
    if key == "opca" and change is constant_column:
        pytest.skip("noise whose mean is not zero has a second moment in a constant column")
    result = solve(key, change(clean()))
    assert any("rank 5 of 6" in note and "e-14" in note for note in result.notes), result.notes


@pytest.mark.parametrize(
    "key",
    by_kind(
        (key for key in METHODS if key != "sparse-lda"), also=["hsic landmarks", "sfa derivatives"]
    ),
)
def test_fewer_rows_than_columns(key):
    X = clean(20, 50)
    if key == "sfa quadratic":
        X = X[:, :8]
    try:
        result = solve(key, X)
    except ValueError as error:
        assert "ridge" in str(error), error
        assert name_of(key) in ("orthogonal-lda", "csp")
        result = solve(key, X, ridge=0.1)
    assert finite(result)


RIDGED = [
    key
    for key in METHODS
    if "ridge" in REGISTRY[name_of(key)].__dataclass_fields__ and key != "sparse-lda"
]  # with fewer rows than columns a penalty is refused


@pytest.mark.parametrize("key", by_kind(RIDGED, also=["csp trials"]))
@pytest.mark.parametrize("shape", [(40, 6), (20, 50)])
def test_a_ridge_is_stated(key, shape):
    result = solve(key, constant_column(clean(*shape)), ridge=0.1)
    assert finite(result)
    assert any("ridge" in note for note in result.notes), result.notes


@pytest.mark.parametrize("name", ["orthogonal-lda", "lda", "nca", "wda", "sparse-lda", "xdawn"])
def test_a_class_of_one_sample_is_noted(name):
    X, y = clean(), np.arange(N) % 3
    y[:2] = 7, 8
    found = ldr.solve(name, X, 2, y=y)
    assert any(
        note.startswith("class 7 has one sample (as have 1 more), which") for note in found.notes
    )
    if name == "orthogonal-lda":
        means = np.array([X[y == k].mean(axis=0) for k in y])
        between, within = ((Z - Z.mean(axis=0)) @ found.M for Z in (means, X - means))
        assert found.value == pytest.approx((between**2).sum() / (within**2).sum(), rel=1e-12)


def test_classes_too_small_for_what_is_asked_of_them():
    y = np.arange(N) % 3
    y[0] = 7
    for name, options in (("lmnn", {}), ("lpp", {"graph": "class-neighbours"})):
        with pytest.raises(ldr.errors.DataError, match=r"class 7 has 1 sample"):
            ldr.solve(name, clean(), 2, y=y, **options)
    with pytest.raises(ldr.errors.DataError, match=r"must be more than the number of classes"):
        ldr.solve("lda", clean(), 2, y=np.arange(N))


def test_the_badly_conditioned_need_no_scaling():
    """breast_cancer as measured: condition number 6e11; whitened methods do not see units."""
    X, y = real_data.breast_cancer()
    for name in ("lda", "sir", "save", "npe"):
        parameters = {"graph": "classes"} if name == "npe" else {}
        raw = ldr.solve(name, X, 1, y=y, **parameters)
        scaled = ldr.solve(name, real_data.standardised(X), 1, y=y, **parameters)
        assert raw.value == pytest.approx(scaled.value, rel=1e-8)
        assert not raw.notes


def test_few_rows_make_trivial_correlations():
    X = RNG.standard_normal((12, 8))
    with pytest.warns(ldr.errors.ObjectiveWarning, match="ridge"):
        result = ldr.solve("cca", (X, RNG.standard_normal((12, 6))), 3)
    assert result.value == pytest.approx(3.0, abs=1e-9)
    assert any("3 canonical correlation(s) are 1" in note for note in result.notes)


def test_distances_that_are_not_euclidean_are_reported():
    X = RNG.standard_normal((30, 3))
    D = np.abs(X[:, None] - X).sum(axis=2)
    result = ldr.solve("mds-distances", D, 2)
    assert any("negative eigenvalues" in note for note in result.notes)
    with pytest.raises(ldr.errors.ArgumentError, match="positive eigenvalues"):
        ldr.solve("mds-distances", D, 30)
    for bad in (D[:, :5], D + np.triu(D), -D, D + np.eye(30)):
        with pytest.raises(ldr.errors.DataError):
            ldr.solve("mds-distances", bad, 2)


@pytest.mark.parametrize("parts", ["at once", "part by part"])
def test_of_rows_equally_far_the_first_are_neighbours(parts, monkeypatch):
    """Whole numbers tie; which of them a search returns depends on its threads."""
    if parts == "part by part":
        monkeypatch.setattr("ldr.solvers.deadline._STEP", 1.0)
    X = real_data.digits()[0][:400].astype(int)
    squares = np.sum(X**2, axis=1)
    D = squares[:, None] + squares - 2 * X @ X.T
    np.fill_diagonal(D, D.max() + 1)
    nearest = np.argsort(D, axis=1, kind="stable")[:, :10]
    expected = np.zeros(D.shape)
    np.put_along_axis(expected, nearest, 1.0, axis=1)
    W = ldr.objectives.graphs.neighbour_graph(ldr.objectives.data.opening.as_samples(X), 10)
    np.testing.assert_array_equal(W.toarray(), np.maximum(expected, expected.T))


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("olpp", {"graph": "epsilon"}, "epsilon"),
        ("olpp", {"graph": "epsilon", "epsilon": 1e-9}, "distance epsilon"),
        ("onpp", {"graph": "epsilon"}, "reconstruction"),
        ("opca", {}, "pair"),
        ("sir", {"y": np.ones(N)}, "slice"),
    ],
)
def test_mistakes_are_named(name, parameters, message):
    with pytest.raises(ValueError, match=message):
        ldr.solve(name, clean(), 2, **parameters)


def test_a_restricted_denominator_has_full_rank_down_to_rounding():
    """Turned to a basis of B's range, eigenvalues may lie below the tolerance that kept them."""
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    A, B = np.diag(np.arange(6.0)), (Q * [1, 1, 1, 1, 1, 1e-15 * 8]) @ Q.T
    given = (ldr.objectives.OrthogonalMAF(), (View(np.zeros(6)),), A, B, 1)
    with pytest.raises(ldr.errors.SingularError, match="6 x 6 matrix B has rank 5"):
        TraceRatio(*given)
    assert TraceRatio(*given, restricted=True).definite


@pytest.mark.parametrize("factor", [1e5, 1e7, 1e9])
@pytest.mark.parametrize("name", ["orthogonal-lda", "orthogonal-maf"])
def test_a_change_of_units_costs_no_more_than_leaving_the_column_out(name, factor):
    """M may have zeros in the rows of some columns, so the optimum is no less than without them."""
    X, y = real_data.wine()
    labels = y if name == "orthogonal-lda" else None
    without = ldr.solve(name, X[:, 3:], 2, y=labels)
    result = ldr.solve(name, X * np.where(np.arange(13) < 3, factor, 1.0), 2, y=labels)
    assert result.converged
    assert result.value >= without.value * (1 - 1e-9)
    assert result.solver == "self-consistent-field"


def gaussian_classes(d, n=150):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 5, n)
    X = rng.standard_normal((n, d)) @ (0.5 * rng.standard_normal((d, d)) + np.eye(d))
    return X + 0.5 * rng.standard_normal((5, d))[y], y


@pytest.mark.parametrize("data", ["digits", "classes"])
def test_where_one_column_dominates_the_others_still_count(data):
    """Among more dimensions than the heuristic has directions for, which are arbitrary then."""
    X, y = real_data.digits() if data == "digits" else gaussian_classes(60, 400)
    X = X[:, X.std(axis=0) > 0]
    X[:, 10] *= 1e6
    without = ldr.solve("orthogonal-lda", np.delete(X, 10, axis=1), 45, y=y)
    result = ldr.solve("orthogonal-lda", X, 45, y=y)
    assert result.converged
    assert result.value >= without.value * (1 - 1e-9)


def noted(result, words):
    (note,) = [note for note in result.notes if words in note]
    return note


def test_directions_that_carry_nothing_of_a_ratio_are_named():
    """Images of digits, raw: the second direction has a quarter of a percent of S_W."""
    X, y = real_data.digits()
    result = ldr.solve("orthogonal-lda", X, 2, y=y)
    note = noted(result, "less than 0.5 % of the denominator")
    means = np.array([X[y == c].mean(axis=0) for c in range(10)])[y]
    SB, SW = ((Z @ result.M).T @ (Z @ result.M) for Z in (means - X.mean(axis=0), X - means))
    least = np.linalg.eigvalsh(SW)[0] / np.trace(SW)
    assert f"(the least share is {100 * least:.2g} %)" in note
    each = scipy.linalg.eigh(SB, SW, eigvals_only=True)[::-1]
    assert f"are {each[0]:.3g}, {each[1]:.3g}. lda" in note
    again = ldr.solve(2 * OrthogonalLDA(), X, 2, y=y)
    assert noted(again, "less than")
    alike = ldr.solve("orthogonal-lda", X[:, X.std(axis=0) > 1], 2, y=y, standardise=True)
    assert not any("% of the denominator" in note for note in alike.notes)


def test_empty_directions_of_minimised_ratios_and_of_denominators_that_vanish():
    objective = named("orthogonal-sfa")
    A, B = np.diag([-1.0, -2.0, -3.0]), np.diag([1.0, 1e-6, 1.0])
    problem = TraceRatio(objective, (View(np.zeros(3)),), A, B, 2, sibling="sfa")
    (note,) = problem.remarks(np.eye(3)[:, :2])
    assert "1 of the 2 directions of M carries less" in note and "are 1, 2e+06. " in note
    problem = TraceRatio(
        OrthogonalLDA(), (View(np.zeros(3)),), -A, np.diag([1.0, 0.0, 1.0]), 2, sibling="x"
    )
    M = np.eye(3)[:, :2]
    assert "(the least share is 0 %)" in problem.remarks(M)[0]
    assert not replace(problem, sibling="").remarks(M)
    numbers = problem.numbers(M, None, ())
    assert np.isinf(numbers["ratio"][1]) and "generalised_eigenvalue" not in numbers


def test_coordinates_of_a_view_that_say_the_same_are_named():
    rng = np.random.default_rng(0)
    w = rng.standard_normal((300, 2)) * [2.0, 1.0]
    Xa = w + 10.0 * rng.standard_normal((300, 1))
    result = ldr.solve("orthogonal-cca", (Xa, w), 2)
    Ya, Yb = (Z - Z.mean(axis=0) for Z in result.transform((Xa, w)))
    U = np.linalg.svd(Ya.T @ Yb)[0]
    correlation = abs(np.corrcoef((Ya @ U).T)[0, 1])
    note = noted(result, "components of the first view have correlation")
    assert f"correlation {correlation:.3f}" in note and "cca" in note
    apart = rng.standard_normal((2, 300, 3))
    alone = ldr.solve("orthogonal-cca", (apart[0], apart[0] + apart[1]), 2)
    assert not any("have correlation" in note for note in alone.notes)


FEW = {
    "sir": {"y": np.linspace(0.0, 1.0, 21)},
    "hsic": {"y": np.linspace(0.0, 1.0, 21)},
    "lda": {"y": np.arange(21) % 3},
    "least-squares": {"y": np.linspace(0.0, 1.0, 21)},
    "orthogonal-maf": {},
}


@pytest.mark.parametrize("name", FEW)
def test_fewer_rows_than_columns_is_no_finding(name):
    N = np.random.default_rng(0).standard_normal((21, 30))
    note = noted(ldr.solve(name, N, 1, certify=False, **FEW[name]), "no evidence")
    assert "21 rows of 30 columns" in note and "ldr.permutation_test" in note
    assert ("ridge=" in note) == ("ridge" in REGISTRY[name].__dataclass_fields__)
    enough = ldr.solve(name, N[:, :5], 1, certify=False, **FEW[name])
    assert not any("no evidence" in note for note in enough.notes)


def test_what_explains_nothing_has_no_such_note():
    N = np.random.default_rng(0).standard_normal((21, 30))
    assert not any("no evidence" in note for note in ldr.solve("pca", N, 2).notes)


@pytest.mark.parametrize("name", ["orthogonal-maf", "maf"])
def test_autocorrelations_above_one_stand_beside_those_that_are_bounded(name):
    wave = np.sin(np.linspace(0.0, 2.0 * np.pi, 40))
    X = np.column_stack([wave, np.random.default_rng(0).standard_normal(40)])
    result = ldr.solve(name, X, 1)
    Y = result.transform(X)[:, 0]
    bounded = (Y[1:] @ Y[:-1]) / (Y @ Y)
    assert result.value > 1 > bounded
    assert f"the value is {bounded:.6g}" in noted(result, "autocorrelations exceed 1")
    noise = ldr.solve(name, np.random.default_rng(0).standard_normal((40, 2)), 1)
    assert not any("autocorrelations" in note for note in noise.notes)


def test_of_trials_the_pairs_inside_them_are_counted():
    rng = np.random.default_rng(0)
    wave = np.sin(np.linspace(0.0, 2.0 * np.pi, 40))[:, None]
    trials = [wave + 0.001 * rng.standard_normal((40, 2)) for _ in range(3)]
    result = ldr.solve("orthogonal-maf", real_data.by_time(trials), 1)
    Y = np.vstack(trials) @ result.P.T - result.mean @ result.P.T
    inside = np.arange(1, 120) % 40 != 0
    bounded = np.sum((Y[1:] * Y[:-1])[inside]) / np.sum(Y**2)
    assert result.value > 1 > bounded
    note = noted(result, "autocorrelations exceed 1")
    assert "divided by 117" in note and f"the value is {bounded:.6g}" in note


@pytest.mark.parametrize("d", [10, 20])
def test_neighbours_far_from_zero_are_those_near_it(d):
    """Products of rows cancel there; whole numbers are moved without rounding."""
    X = np.random.default_rng(0).integers(-500, 500, (400, d)).astype(float)
    near, far = (neighbour_graph(as_samples(X + shift), 5) for shift in (0.0, 1e9))
    assert abs(near - far).nnz == 0


def test_lengths_of_edges_far_from_zero_are_those_near_it():
    """scikit-learn computes lengths of rows of 16 or more columns from products."""
    far = 1e6 + np.random.default_rng(0).standard_normal((40, 20))
    graphs = [epsilon_graph(as_samples(X), 6.0, 10.0) for X in (far, far - 1e6)]
    assert np.abs(graphs[0] - graphs[1]).max() < 1e-12


@pytest.mark.parametrize(("filled", "by_tree"), [(2, True), (12, False)])
def test_a_tree_is_asked_where_rows_fill_few_dimensions(monkeypatch, filled, by_tree):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, filled)) @ rng.standard_normal((filled, 12))
    assert (_tree(X, 6) is not None) == by_tree
    found = nearest_others(X, 5)
    monkeypatch.setattr("ldr.objectives.graphs._LEAST_ROWS", 1e9 if by_tree else 0)
    monkeypatch.setattr("ldr.objectives.graphs._CALL", 1e9 if by_tree else -1e9)
    other = nearest_others(X, 5)
    assert np.array_equal(found[1], other[1]) and np.allclose(*(each[0] for each in (found, other)))


def test_many_rows_are_told_how_their_neighbours_are_found(monkeypatch):
    monkeypatch.setattr("ldr.objectives.graphs._LONG", 50_000)
    X = np.random.default_rng(0).standard_normal((120, 4))
    for name in ("lpp", "onpp", "orthogonal-npe"):
        assert any("neighbours of 120 rows" in note for note in ldr.solve(name, X, 1).notes)
        assert not any("neighbours of" in note for note in ldr.solve(name, X[:90], 1).notes)


def test_neighbours_that_are_as_far_as_the_next_row_would_jump():
    rows = as_samples(np.array([[0.0], [1.0], [2.0], [5.0]]))
    with pytest.raises(ldr.errors.SingularError, match=r"of row 1 are equally far"):
        check_settled(rows, 1)
    check_settled(rows, 3)  # all others are neighbours


def test_edges_of_no_length_weigh_one():
    W = neighbour_graph(as_samples(np.repeat(np.eye(3), 2, axis=0)), 1, heat="median")
    assert set(W.data) == {1.0}


def test_rows_that_do_not_vary_have_a_proved_optimum():
    found = ldr.solve("pca", np.zeros((10, 3)), 1)
    assert (found.value, found.certificate.kind, found.certificate.gap) == (0.0, "global", 0.0)


@pytest.mark.parametrize("sparse", [False, True])
def test_classes_of_equal_rows_have_no_scatter_whatever_the_coordinates(sparse):
    first, other = np.random.default_rng(52).standard_normal((2, 6))
    X = np.array([first, first, other])
    with pytest.raises((SingularError, DataError), match=r"S_W(, which)? is"):
        ldr.solve("orthogonal-lda", scipy.sparse.csr_array(X) if sparse else X, 1, y=[1, 1, 0])


def test_a_map_of_zeros_predicts_the_largest_class(tmp_path):
    """A single binary feature that says nothing of the class: M = 0 is optimal for nca."""
    X, y = (np.arange(28) < 7).astype(float)[:, None], np.arange(28) % 7 < 2
    np.save(tmp_path / "X.npy", X)
    found = ldr.solve("nca", tmp_path / "X.npy", 1, y=y)
    assert np.all(found.M == 0) and not found.predict(X).any()


@pytest.mark.parametrize("name", ["nca", "lmnn"])
def test_directions_without_variance_keep_a_map_of_the_order_of_the_others(name):
    y = np.arange(30) % 2
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = (0.3 * y[:, None] + rng.normal(size=(30, 1))) @ rng.normal(size=(1, 6))
        assert np.linalg.norm(ldr.solve(name, X, 5, y=y).M) < 100.0
