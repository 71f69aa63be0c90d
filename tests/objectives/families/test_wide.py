"""Sparse rows of many columns, by products: what arrays find, and bounds that hold."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import csr_array, hstack, random_array

import ldr
from benchmarks import sparse_wide
from ldr.errors import DataError, SingularError
from ldr.objectives import PCA, PPCA, OrthogonalCCA, OrthogonalLDA, OrthogonalMAF, factor_analysis
from ldr.objectives.data import data as samples
from ldr.objectives.data import memory
from ldr.objectives.registry import named
from ldr.objectives.statistics import products as products_of_rows

N, D, CLASSES = 300, 60, 5


def topics(seed, offset=0.0, units=0.0):
    """Rows of classes in runs of seven, each with columns of its own; column 3 is constant."""
    rng = np.random.default_rng(seed)
    y = np.random.default_rng(0).integers(0, CLASSES, -(-N // 7)).repeat(7)[:N]
    rate = 0.1 + 0.5 * rng.random((CLASSES, D)) ** 4
    X = np.where(rng.random((N, D)) < rate[y], rng.uniform(0.5, 2.0, (N, D)), 0.0)
    X = (X + offset * (np.arange(D) % 9 == 0)) * 10.0 ** (units * rng.uniform(-1, 1, D))
    X[:, 3] = 2.0
    return csr_array(X), y


X, Y = topics(0)
W = random_array((N, N), density=0.02, rng=0)
W = csr_array(W + W.T)
PAIR = X, topics(1)[0][:, : D - 15]
RESPONSE = np.random.default_rng(3).standard_normal(N)
REPEATED = csr_array(X.toarray()[:, np.r_[:D, 7, 7, 20]] * np.r_[np.ones(D), 1.0, -3.0, 0.1])
SUMS = X.toarray()[:, 10:16] + X.toarray()[:, 20:26]
DEPENDENT = csr_array(np.hstack([X.toarray(), SUMS]))
CLASSES_OF_ROWS = {"graph": "classes", "y": Y}
METHODS = {
    "orthogonal-lda": (X, {"y": Y}),
    "orthogonal-lda, ridge": (X, {"y": Y, "ridge": 0.3}),
    "orthogonal-lda, nested": (X, {"y": Y, "nested": True}),
    "lda": (X, {"y": Y}),
    "lda, ridge": (X, {"y": Y, "ridge": 0.3}),
    "lda, weights": (X, {"y": Y, "sample_weight": 1.0 + np.arange(N) % 3}),
    "lda, units": (topics(0, 0.0, 3.0)[0], {"y": Y}),
    "lda, offset": (topics(0, 1e6)[0], {"y": Y}),
    "orthogonal-maf": (X, {"lag": 2}),
    "maf": (X, {"ridge": 0.1}),
    "maf, weights": (X, {"sample_weight": 1.0 + np.arange(N) % 3}),
    "sfa": (X, {"whiten": True}),
    "orthogonal-sfa": (X, {"ridge": 0.1}),
    "lpp": (X, {"graph": W, "centre": "degree"}),
    "lpp, classes": (X, CLASSES_OF_ROWS),
    "orthogonal-lpp": (X, {"graph": W}),
    "npe": (X, {"graph": W * (1.0 / 12), "ridge": 0.1}),
    "ppca": (X, {}),
    "ridge-regression": (X, {"y": RESPONSE, "penalty": 2.0}),
    "ridge-regression, weights": (
        topics(0, 1e3)[0],
        {"y": np.stack([RESPONSE, Y], axis=1), "sample_weight": 1.0 + np.arange(N) % 3},
    ),
    "lasso": (X, {"y": RESPONSE, "penalty": 20.0}),
    "lasso, weights": (
        topics(0, 1e3)[0],
        {"y": np.stack([RESPONSE, Y], axis=1), "sample_weight": 1.0 + np.arange(N) % 3},
    ),
    "pls-regression": (X, {"y": RESPONSE}),
    "pls-regression, nipals": (
        topics(0, 1e3)[0],
        {
            "y": np.stack([RESPONSE, Y], axis=1),
            "sample_weight": 1.0 + np.arange(N) % 3,
            "algorithm": "nipals",
        },
    ),
    "pls": (PAIR, {}),
    "orthogonal-cca, ridge": (PAIR, {"ridge": 0.1}),
    "orthogonal-cca": (PAIR, {}),
    "cca": (PAIR, {}),
    "cca, ridge": (PAIR, {"ridge": 0.1}),
    "cca, dense beside": ((X, PAIR[1].toarray()), {}),
    "orthogonal-lda, proportional": (REPEATED, {"y": Y, "ridge": 0.3}),
    "lda, proportional": (REPEATED, {"y": Y}),
    "orthogonal-maf, proportional": (REPEATED, {"lag": 2}),
    "sfa, proportional": (REPEATED, {"whiten": True}),
    "lpp, proportional": (REPEATED, CLASSES_OF_ROWS),
    "cca, proportional": ((REPEATED, PAIR[1]), {}),
}


@pytest.fixture
def by_products(monkeypatch):
    monkeypatch.setattr(samples, "WIDE", 20)


def solved(name, r=3):
    data, given = METHODS[name]
    return ldr.solve(name.partition(",")[0], data, r, **given)


def each(matrices):
    return matrices if isinstance(matrices, tuple) else (matrices,)


@pytest.mark.smoke
@pytest.mark.parametrize("filled", [0.0, np.inf], ids=["rows", "squares"])
@pytest.mark.parametrize("name", METHODS)
def test_products_find_what_arrays_find(name, filled, monkeypatch):
    """Products with the rows; and with X'LX, which is sparse where rows have few entries."""
    arrays = solved(name)
    monkeypatch.setattr(samples, "WIDE", 20)
    monkeypatch.setattr(products_of_rows, "_FILLED", filled)
    products = solved(name)
    rel = 1e-6 if "offset" in name else 1e-8
    assert products.value == pytest.approx(arrays.value, rel=rel)
    assert products.baseline == pytest.approx(arrays.baseline, rel=rel)
    assert any("products" in note for note in products.notes)
    claim = products.certificate
    assert claim.kind in ("global", "bound") and claim.gap <= 1e-10 * abs(arrays.value)
    assert claim.kind == "global" or claim.message.startswith(
        "within the directions found by products"
    )
    for found, known in zip(each(products.P), each(arrays.P), strict=True):
        assert np.linalg.norm(found - known) <= 1e-6 * np.linalg.norm(known)
    for found, known in zip(each(products.mean), each(arrays.mean), strict=True):
        assert np.allclose(found, known, rtol=1e-12, atol=1e-14)
    if arrays.predictors:
        data = each(METHODS[name][0])[0]
        assert (products.predict(data[:50]) == arrays.predict(data[:50])).all() or (
            np.allclose(products.predict(data[:50]), arrays.predict(data[:50]), atol=1e-5)
        )


EMPTY_IS_BEST = {
    "orthogonal-lda": (DEPENDENT, {"y": Y}),
    "orthogonal-cca": ((DEPENDENT, PAIR[1]), {}),
    "orthogonal-sfa": (DEPENDENT, {"ridge": 0.1}),
    "npe": (DEPENDENT, {"graph": W * (1.0 / 12), "ridge": 0.1}),
}


@pytest.mark.parametrize("name", EMPTY_IS_BEST)
def test_directions_in_which_nothing_varies_are_refused_where_they_cost_nothing(name, by_products):
    """Without a ridge a ratio is 0/0 there; with one a minimum is 0."""
    data, given = EMPTY_IS_BEST[name]
    with pytest.raises(SingularError, match=r"are collinear.*leave out collinear columns"):
        ldr.solve(name, data, 3, **given)


@pytest.mark.parametrize("filled", [0.0, np.inf], ids=["rows", "squares"])
@pytest.mark.parametrize("weights", [None, 1.0 + np.arange(N) % 3], ids=["plain", "weighted"])
def test_fa_of_products_has_the_likelihood_of_arrays(weights, filled, monkeypatch):
    """Its starts are others: those of arrays take the inverse of the covariance."""
    rows = X[:, np.delete(np.arange(D), 3)]
    arrays = ldr.solve("fa", rows, 3, sample_weight=weights)
    monkeypatch.setattr(samples, "WIDE", 20)
    monkeypatch.setattr(products_of_rows, "_FILLED", filled)
    made = "an array was made"
    monkeypatch.setattr(factor_analysis, "moments", lambda *given: pytest.fail(made))
    products = ldr.solve("fa", rows, 3, sample_weight=weights)
    assert products.value == pytest.approx(arrays.value, rel=1e-10)
    assert products.model.noise == pytest.approx(arrays.model.noise, rel=1e-4)
    assert products.certificate.kind == "local" and products.starts is None  # one, found once
    with pytest.raises(SingularError, match="1 constant column"):
        ldr.solve("fa", X, 3)


TRIALS = np.arange(N) // 10
SHORT = [csr_array(topics(seed)[0][:40]) for seed in range(3)]
BY_ARRAYS = {
    "sfa": (X, {}),
    "semi-supervised-da": (X, {"y": np.where(np.arange(N) % 2, Y, -1), "graph": W}),
    "sir": (X, {"y": RESPONSE}),
    "save": (X, {"y": Y, "ridge": 0.1}),
    "directional-regression": (X, {"y": Y, "ridge": 0.1}),
    "phd": (X, {"y": RESPONSE}),
    "tica": (X, {}),
    "csp": (X, {"y": Y % 2}),
    "spoc": (X, {"y": RESPONSE}),
    "xdawn": (X, {"y": TRIALS % 2, "groups": TRIALS}),
    "opca": ((X, X[::-1]), {"ridge": 0.1}),
    "orthogonal-gcpca": ((X, X[::-1]), {}),
}
# The unit of a ridge too; and methods without products work in as many dimensions as rows.
OF_FEW_ROWS = {
    "lda": (SHORT[0], {"y": Y[:40], "ridge": 0.1}),
    "orthogonal-sfa": (SHORT[0], {"ridge": 0.1}),
    "cca": (tuple(SHORT[:2]), {"ridge": 0.1}),
    "orthogonal-cca": (tuple(SHORT[:2]), {"ridge": 0.1}),
    "mcca": (tuple(SHORT), {"ridge": 0.1}),
    "maxdiff": (tuple(SHORT), {}),
    "pls-regression": (SHORT[0], {"y": RESPONSE[:40]}),
    "reduced-rank-regression": (tuple(SHORT[:2]), {}),
    "ridge-regression": (SHORT[0], {"y": RESPONSE[:40]}),
    "vamp": (SHORT[0], {"ridge": 0.1}),
}
# Pairs are of the range where columns are dependent.
OF_A_RANGE = {
    "lpp": (DEPENDENT, CLASSES_OF_ROWS),
    "reduced-rank-regression": ((DEPENDENT, PAIR[1]), {}),
}


def both_ways(monkeypatch, name, data, given, r=2):
    """Results by arrays, and of the same rows as those of many columns are solved."""
    arrays = ldr.solve(name, data, r, **given)
    monkeypatch.setattr(samples, "WIDE", 20)
    return arrays, ldr.solve(name, data, r, **given)


@pytest.mark.parametrize(
    ("name", "data", "given", "rel"),
    [
        (name, *case, rel)
        for cases, rel in ((BY_ARRAYS, 0.0), (OF_FEW_ROWS, 1e-9), (OF_A_RANGE, 1e-8))
        for name, case in cases.items()
    ],
)
def test_values_are_those_of_arrays(name, data, given, rel, monkeypatch):
    """Methods that products do not solve make arrays."""
    arrays, found = both_ways(monkeypatch, name, data, given, 3 if name == "lpp" else 2)
    assert found.value == pytest.approx(arrays.value, rel=rel, abs=0.0)
    assert rel or found.certificate.kind == arrays.certificate.kind


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("sfa", "Alternatives: whiten=True, or orthogonal-sfa"),
        ("principal-components-regression", "ridge-regression, lasso, pls-regression"),
    ],
)
def test_a_refusal_of_many_columns_names_methods_by_products(name, words, by_products, monkeypatch):
    monkeypatch.setattr(memory, "SMALL", 0)
    monkeypatch.setattr(memory, "available", lambda: (1e4, "a test"))
    with pytest.raises(DataError, match=words):
        ldr.solve(name, X, 2, y=RESPONSE)


def test_least_squares_of_products_says_what_it_does_not_know(monkeypatch):
    """Also where columns are dependent: the coefficients are those of least norm."""
    arrays, found = both_ways(monkeypatch, "least-squares", DEPENDENT, {"y": RESPONSE}, 1)
    assert found.value == pytest.approx(arrays.value, rel=1e-12)
    np.testing.assert_allclose(found.M, arrays.M, atol=1e-8)
    assert (
        found.certificate.kind == "none"
        and "give ridge= a positive value" in found.certificate.message
    )


@pytest.mark.parametrize("name", ["lasso", "least-squares", "pls-regression"])
def test_regressions_of_products_on_columns_of_many_units(name, monkeypatch):
    data, given = topics(0, 0.0, 3.0)[0], {"penalty": 20.0} if name == "lasso" else {}
    arrays, found = both_ways(monkeypatch, name, data, {"y": RESPONSE, **given})
    assert found.value == pytest.approx(arrays.value, rel=1e-10)
    assert found.value - found.certificate.gap <= arrays.value * (1 + 1e-13)


@pytest.mark.parametrize("rows", [60, N], ids=["few rows", "rows"])
def test_lasso_of_products_sees_the_intercept_in_the_columns(rows, monkeypatch):
    """Columns that sum to one, of which some are proportional, beside the constant."""
    codes = np.arange(rows) % 40
    onehot = csr_array((np.ones(rows), (np.arange(rows), codes)), shape=(rows, 40))
    data = csr_array(hstack([onehot, 2.0 * onehot[:, :5], X[:rows, :30]]))
    given = {"y": RESPONSE[:rows] + codes, "penalty": 0.5}
    arrays, found = both_ways(monkeypatch, "lasso", data, given, 1)
    assert any("products" in note for note in found.notes)
    assert found.value == pytest.approx(arrays.value, rel=1e-9)
    assert found.certificate.gap <= 1e-9 * found.baseline


@pytest.mark.parametrize("algorithm", ["simpls", "nipals"])
def test_pls_regression_of_products_goes_on_where_the_response_is_explained(algorithm, monkeypatch):
    columns = X.toarray()[:, 10:16]
    data = csr_array(np.linalg.qr(columns - columns.mean(axis=0))[0])
    given = {"y": data.toarray()[:, 2], "algorithm": algorithm}
    arrays = ldr.solve("pls-regression", data * np.arange(1.0, 7.0), 4, **given)
    monkeypatch.setattr(samples, "WIDE", 3)
    found = ldr.solve("pls-regression", data * np.arange(1.0, 7.0), 4, **given)
    assert any("products" in note for note in found.notes)
    np.testing.assert_allclose(found.P @ found.P.T, arrays.P @ arrays.P.T, atol=1e-8)
    # after column 2, the response, come the longest of the others
    assert np.array_equal(np.abs(found.P).argmax(axis=1), [2, 5, 4, 3])


REDUCED = {
    "both": (PAIR, {}),
    "pls": (PAIR, {"heuristic": "pls"}),
    "weights": (PAIR, {"sample_weight": 1.0 + np.arange(N) % 3}),
    "few outputs": ((X, PAIR[1].toarray()[:, :7]), {}),
    "few inputs": ((X.toarray()[:, 10:17], PAIR[1]), {}),
}


@pytest.mark.parametrize("name", REDUCED)
def test_reduced_rank_regression_of_products(name, monkeypatch):
    arrays, found = both_ways(monkeypatch, "reduced-rank-regression", *REDUCED[name])
    assert found.value == pytest.approx(arrays.value, rel=1e-12)
    assert found.baseline == pytest.approx(arrays.baseline, rel=1e-8)
    for mine, known in zip(found.P, arrays.P, strict=True):
        np.testing.assert_allclose(mine, known, atol=1e-8)
    assert found.certificate.kind == "bound" and found.certificate.gap <= 1e-11 * found.value
    assert any("products" in note for note in found.notes)


def test_shrinkage_of_many_columns_is_refused(by_products):
    with pytest.raises(DataError, match="60 x 60"):
        ldr.solve("orthogonal-lda", X, 2, y=Y, shrinkage="auto")


KNOWN_EVERYWHERE = {
    "penalty": (OrthogonalLDA(ridge=0.1) + ldr.l1(0.1), X, {"y": Y}),
    "sum": (OrthogonalLDA(ridge=0.1) + PCA(), X, {"y": Y}),
    "sparse": ("sparse-lda", X, {"y": Y, "ridge": 0.1}),
    "views": (OrthogonalCCA(ridge=0.1) + ldr.l1(0.01), PAIR, {}),
    "ppca": (ldr.normalised(PPCA()), X, {}),
    "both": (ldr.normalised(OrthogonalLDA()) + ldr.normalised(2 * OrthogonalMAF()), X, {"y": Y}),
}


@pytest.mark.parametrize("name", KNOWN_EVERYWHERE)
def test_sums_penalties_and_typical_values_are_of_arrays(name, monkeypatch):
    """What products find is known near an optimum alone; what would not fit is refused before."""
    objective, data, given = KNOWN_EVERYWHERE[name]
    arrays, found = both_ways(monkeypatch, objective, data, given)
    assert found.value == pytest.approx(arrays.value, rel=1e-9, abs=1e-10)
    assert found.baseline == pytest.approx(arrays.baseline, rel=1e-9, abs=1e-10)
    monkeypatch.setattr(memory, "SMALL", 0)
    monkeypatch.setattr(memory, "available", lambda: (1e4, "a test"))
    with pytest.raises(
        DataError, match=r"with 8 arrays of (\d+) x \1 numbers, .* MiB.* not in a sum, pen"
    ):
        ldr.solve(objective, data, 2, **given)


@pytest.mark.parametrize("name", ["orthogonal-cca, ridge", "cca", "pls", "lda", "orthogonal-lda"])
def test_a_multiple_of_what_products_find_is_found_by_them(name, by_products):
    """Its claim is of all columns, too."""
    data, given = METHODS[name]
    objective = named(name.partition(",")[0], **{k: v for k, v in given.items() if k != "y"})
    single, double = (
        ldr.solve(one, data, 2, y=given.get("y")) for one in (objective, 2 * objective)
    )
    assert double.value == pytest.approx(2 * single.value, rel=1e-12)
    assert any("products" in note for note in double.notes)
    assert double.certificate.kind == single.certificate.kind
    assert double.certificate.gap == pytest.approx(2 * single.certificate.gap, abs=1e-10)


@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in (2, 5))])
def test_orthogonal_cca_ends_where_arrays_do(seed, monkeypatch):
    """Of columns with few entries, in the dimensions of its end and its start are other optima."""
    pair = tuple(sparse_wide.topics(2000, 60, 0.0015, 2 * seed + k)[0] for k in range(2))
    given = {"ridge": 0.1, "starts": 1, "certify": False}
    arrays, products = both_ways(monkeypatch, "orthogonal-cca", pair, given, 10)
    assert products.value == pytest.approx(arrays.value, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fa", "orthogonal-cca"])
def test_two_thousand_columns_have_the_value_of_arrays(name, monkeypatch):
    views = [sparse_wide.topics(20_000, 2_000, 0.01, seed)[0] for seed in range(2)]
    data, given = (views[0], {}) if name == "fa" else (tuple(views), {"ridge": 0.1})
    arrays = ldr.solve(name, data, 10, starts=1, certify=False, **given)
    monkeypatch.setattr(samples, "WIDE", 1_000)
    products = ldr.solve(name, data, 10, starts=1, certify=False, **given)
    assert products.value == pytest.approx(arrays.value, rel=1e-10)
    for found, known in zip(each(products.P), each(arrays.P), strict=True):
        assert np.linalg.norm(found - known) <= 1e-5 * np.linalg.norm(known)


PROGRAM = """
import resource, sys
import numpy as np
from scipy.sparse import random_array
import ldr
X = random_array((60_000, 30_000), density=1e-4, rng=0).tocsr()
y = np.random.default_rng(0).integers(0, 4, 60_000)
limit = resource.getrlimit(resource.RLIMIT_AS)[1]
resource.setrlimit(resource.RLIMIT_AS, (3 * 2**30, limit))
for name, data, given in [
    ("orthogonal-lda", X, {"y": y, "ridge": 1.0}),
    ("lda", X, {"y": y, "ridge": 1.0}),
    ("pls", (X, X), {}),
]:
    assert ldr.solve(name, data, 2, **given).P is not None
"""


@pytest.mark.slow
def test_thirty_thousand_columns_fit_where_their_square_does_not():
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, timeout=300)
