"""Weights of the rows: whole numbers are repeated rows, zero is a row left out."""

import json

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from scipy.spatial.distance import pdist, squareform
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.model_selection import (
    GridSearchCV,
    LeaveOneOut,
    PredefinedSplit,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import ldr
from ldr.errors import ArgumentError, DataError
from ldr.objectives.data import data as samples
from ldr.objectives.data.data import Data, as_tuple
from ldr.objectives.data.opening import as_samples
from ldr.objectives.graphs import LaplacianMethod
from ldr.objectives.registry import named
from tests.objectives.methods import LABELS, RANDOM, RESPONSE, VIEWS, X, by_kind, name_of
from tests.real_data import by_time

N = len(X)
WHOLE = np.random.default_rng(3).integers(0, 4, N).astype(float)
ANY = np.random.default_rng(4).gamma(1.0, 2.0, N)


def objective_of(key):
    return named(name_of(key), **RANDOM[key][2])


WEIGHTED = [
    key for key in RANDOM if objective_of(key).traits.weighted and key.split()[-1] != "landmarks"
]
NEIGHBOURS = [key for key in WEIGHTED if not objective_of(key).traits.repeats]
TIMED = [key for key in WEIGHTED if "time order" in objective_of(key).needs]
UNTIMED = [key for key in WEIGHTED if key not in TIMED + NEIGHBOURS]


def taken(key, data, rows):
    """Rows of all views of the same rows, the distances of some; a background stays."""
    if name_of(key) == "mds-distances":
        return data[rows][:, rows]
    if isinstance(data, tuple):
        return tuple(view[rows] if len(view) == N else view for view in data)
    return data[rows]


def projected(result, data):
    given = data if result.objective.views > 1 or not isinstance(data, tuple) else data[0]
    found = result.transform(given)
    return np.hstack(found) if isinstance(found, tuple) else found


def same(found, expected, data, rel=1e-10):
    assert found.value == pytest.approx(expected.value, rel=rel, abs=1e-12)
    ours, theirs = projected(found, data), projected(expected, data)
    rest = ours - theirs @ np.linalg.lstsq(theirs, ours, rcond=None)[0]
    assert np.linalg.norm(rest) <= 1e-6 * np.linalg.norm(ours)
    if found.predictors:
        guess = "predict_proba" if found.objective.traits.predicts == "classes" else "predict"
        ours, theirs = (getattr(each, guess)(as_tuple(data)[0]) for each in (found, expected))
        np.testing.assert_allclose(ours, theirs, atol=1e-6 * np.abs(theirs).max())


def solved(key, data, y, **options):
    return ldr.solve(objective_of(key), data, 2, y=y, random_state=0, certify=False, **options)


@pytest.mark.smoke
@pytest.mark.parametrize("key", by_kind(UNTIMED))
def test_whole_numbers_are_repeated_rows_and_zero_is_left_out(key):
    data, y, _ = RANDOM[key]
    rows = np.repeat(np.arange(N), WHOLE.astype(int))
    expected = solved(key, taken(key, data, rows), None if y is None else y[rows])
    found = solved(key, data, y, sample_weight=WHOLE)
    if name_of(key) != "mds-distances":
        same(found, expected, data)
        return
    assert found.value == pytest.approx(expected.value, rel=1e-12)
    theirs = expected.transform(data[:, rows])
    signs = np.sign(np.sum(found.transform(data) * theirs, axis=0))
    np.testing.assert_allclose(found.transform(data), signs * theirs, atol=1e-12)


@pytest.mark.parametrize("key", [*NEIGHBOURS, "lmnn"])
def test_weights_of_neighbours(key):
    """Zero is a row left out, and what rows add is a sum over i and j of what the formula says."""
    data, y, _ = RANDOM[key]
    there = WHOLE > 0
    found = solved(key, data, y, sample_weight=there)
    assert found.value == pytest.approx(
        solved(key, data[there], None if y is None else y[there]).value, rel=1e-9
    )
    if "graph" in objective_of(key).needs:
        return
    result = solved(key, data, y, sample_weight=ANY)
    D = squareform(pdist(data @ result.M, "sqeuclidean"))
    same_class = y[:, None] == y
    if name_of(key) == "nca":
        P = ANY * np.exp(-D) * ~np.eye(N, dtype=bool)
        expected = ANY @ (np.sum(P * same_class, axis=1) / P.sum(axis=1))
    else:
        expected, lengths = 0.0, squareform(pdist(data))
        for i in range(N):
            own = np.where(same_class[i] & (np.arange(N) != i), lengths[i], np.inf)
            for j in np.argsort(own)[:3]:
                margins = np.maximum(1.0 + D[i, j] - D[i], 0.0)[~same_class[i]]
                expected += ANY[i] * (D[i, j] + ANY[~same_class[i]] @ margins**2)
    assert result.value == pytest.approx(expected, rel=1e-9)


GRAPHS = [key for key in NEIGHBOURS if "graph" in objective_of(key).needs]


@pytest.mark.parametrize("key", [key for key in GRAPHS if name_of(key) != "semi-supervised-da"])
@pytest.mark.parametrize("sparse", [False, True])
def test_weights_of_graphs(key, sparse):
    """An edge has w_i w_j, the residual of a row from its neighbours w_i."""
    data, y, parameters = RANDOM[key]
    objective = objective_of(key)
    given = scipy.sparse.csr_array(data) if sparse else data
    result = ldr.solve(objective, given, 2, y=y, sample_weight=ANY)
    W = objective._weights(Data((as_samples(data, "X"),), y)).toarray()
    if isinstance(objective, LaplacianMethod):
        W = ANY * W * ANY[:, None]
        D = W.sum(axis=1)
        A = data.T @ (np.diag(D) - W) @ data
        centre = D if parameters.get("centre") == "degree" else ANY
    else:
        left = data - W @ data
        A, D, centre = left.T @ (ANY[:, None] * left), ANY, ANY
    Z = data - np.average(data, axis=0, weights=centre)
    B = Z.T @ (D[:, None] * Z)
    name = name_of(key)
    if name in ("lpp", "npe"):
        expected = scipy.linalg.eigh(A, B, eigvals_only=True)[:2].sum()
    elif name in ("olpp", "onpp"):
        expected = np.linalg.eigvalsh(A)[:2].sum()
    elif "nested" in parameters:
        return
    else:
        expected = np.trace(result.P @ A @ result.P.T) / np.trace(result.P @ B @ result.P.T)
        assert np.linalg.eigvalsh(A - expected * B)[:2].sum() == pytest.approx(
            0, abs=1e-9 * D.sum()
        )
    assert result.value == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("key", by_kind(TIMED))
def test_weights_in_time_order(key):
    """Constant ones change nothing; whole ones constant in a trial repeat it; zero cuts."""
    data, y, parameters = RANDOM[key]
    same(solved(key, data, y, sample_weight=np.ones(N)), solved(key, data, y), data)
    if "derivatives" in parameters:
        return
    ids = np.repeat(np.arange(6), 10)
    times = np.array([1, 2, 1, 3, 0, 2])
    trials = [data[ids == k] for k in range(6) for _ in range(times[k])]
    of_trials = (
        y if y is None else np.concatenate([y[ids == k] for k in np.repeat(range(6), times)])
    )
    weights = times[ids].astype(float)
    same(
        solved(key, data, y, groups=ids, sample_weight=weights),
        solved(key, by_time(trials), of_trials),
        data,
    )
    if getattr(objective_of(key), "lag", 1) == 1 and y is None:
        hole = np.ones(N)
        hole[25] = 0.0
        parts = [data[:25], data[26:]]
        same(solved(key, data, y, sample_weight=hole), solved(key, by_time(parts), y), data)


@pytest.mark.parametrize("name", ["ica", "uica", "robust-pca", "fa"])
def test_rows_that_are_read_at_every_step(name, tmp_path, monkeypatch):
    monkeypatch.setattr(samples, "BLOCK_NUMBERS", 70)
    np.save(tmp_path / "X.npy", X)
    expected = ldr.solve(name, X, 2, sample_weight=WHOLE)
    for given in (tmp_path / "X.npy", da.from_array(X, chunks=(17, 7))):
        found = ldr.solve(name, given, 2, start=expected.M, sample_weight=WHOLE)
        same(found, expected, X, rel=1e-9)


def test_two_views_in_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr(samples, "BLOCK_NUMBERS", 70)
    expected = ldr.solve("orthogonal-cca", VIEWS, 2, sample_weight=ANY)
    for kind in (scipy.sparse.csr_array, lambda view: lambda: iter(np.array_split(view, 4))):
        given = tuple(map(kind, VIEWS))
        same(ldr.solve("orthogonal-cca", given, 2, sample_weight=ANY), expected, VIEWS)


def test_more_columns_than_rows():
    wide = np.random.default_rng(0).standard_normal((20, 50))
    weights = np.random.default_rng(1).integers(0, 4, 20).astype(float)
    rows = np.repeat(np.arange(20), weights.astype(int))
    for name in ("pca", "ppca", "fa"):
        for given in (wide, scipy.sparse.csr_array(wide)):
            expected = ldr.solve(name, wide[rows], 2)
            found = ldr.solve(name, given, 2, sample_weight=weights)
            assert found.value == pytest.approx(expected.value, rel=1e-9)
            np.testing.assert_allclose(found.mean, expected.mean, atol=1e-13)
    labels = np.arange(20) % 2
    ratio = ldr.solve("orthogonal-lda", wide, 1, y=labels, sample_weight=weights, ridge=0.1)
    repeated = ldr.solve("orthogonal-lda", wide[rows], 1, y=labels[rows], ridge=0.1)
    assert ratio.value == pytest.approx(repeated.value, rel=1e-9)


def test_the_definition_in_extended_precision():
    mean = (ANY[:, None] * X.astype(np.longdouble)).sum(axis=0) / ANY.sum()
    Z = X - mean
    values = np.linalg.eigvalsh((Z.T @ (ANY[:, None] * Z)).astype(float))
    found = ldr.solve("pca", X, 2, sample_weight=ANY)
    assert found.value == pytest.approx(values[:-2].sum(), rel=1e-12)
    np.testing.assert_allclose(found.mean, mean.astype(float), rtol=1e-13)
    far = X + 1e7  # rows that do not count may be anywhere
    outliers = np.vstack([far, 1e12 * np.ones((2, X.shape[1]))])
    weights = np.append(ANY, [0.0, 0.0])
    shifted = ldr.solve("pca", lambda: iter([outliers]), 2, sample_weight=weights)
    assert shifted.value == pytest.approx(found.value, rel=1e-7)


def test_standard_deviations_are_weighted():
    found = ldr.solve("pca", X, 2, sample_weight=WHOLE, standardise=True)
    rows = np.repeat(np.arange(N), WHOLE.astype(int))
    np.testing.assert_allclose(found.scale, X[rows].std(axis=0), rtol=1e-12)
    expected = ldr.solve("pca", X[rows], 2, standardise=True)
    assert found.value == pytest.approx(expected.value, rel=1e-11)
    sparse = ldr.solve("pca", scipy.sparse.csr_array(X), 2, sample_weight=WHOLE, standardise=True)
    assert sparse.value == pytest.approx(expected.value, rel=1e-11)


def test_scores_folds_and_draws():
    result = ldr.solve("fa", X, 2, sample_weight=WHOLE)
    rows = np.repeat(np.arange(N), WHOLE.astype(int))
    score = ldr.score(result, X, sample_weight=WHOLE)
    assert score == pytest.approx(ldr.score(result, X[rows]), rel=1e-12)
    assert result.model.log_likelihood == pytest.approx(score * WHOLE.sum(), rel=1e-9)
    assert result.model.n == WHOLE.sum()
    lda = ldr.solve("orthogonal-lda", X, 2, y=LABELS, sample_weight=WHOLE)
    expected = ldr.score(lda, X[rows], LABELS[rows])
    assert ldr.score(lda, X, LABELS, sample_weight=WHOLE) == pytest.approx(expected, rel=1e-12)
    path = ldr.path(
        "orthogonal-lda", X, [1, 2], y=LABELS, sample_weight=WHOLE, folds=3, random_state=0
    )
    assert path.values[1] == pytest.approx(lda.value, rel=1e-12) and path.scores.shape == (2, 3)
    for draw in (
        lambda X: ldr.path("pca", X, [2], sample_weight=WHOLE, folds=3, random_state=0).scores,
        lambda X: ldr.bootstrap("pca", X, 2, sample_weight=WHOLE, draws=3, random_state=0).values,
    ):
        np.testing.assert_allclose(draw([X[:30], X[30:]]), draw(X), rtol=1e-12)
    drawn = ldr.bootstrap("pca", X, 2, sample_weight=ANY, draws=2, random_state=0)
    assert drawn.result.value == ldr.solve("pca", X, 2, sample_weight=ANY).value


@pytest.mark.parametrize("name", ["pca", "orthogonal-lda"])
def test_a_splitter_divides_the_given_rows(name):
    """Rows without weight have an entry in `test_fold`; repeated rows are in the same fold."""
    fold, rows = np.arange(N) % 4 - 1, np.repeat(np.arange(N), WHOLE.astype(int))
    y = None if name == "pca" else LABELS
    found = ldr.path(name, X, [1, 2], y=y, sample_weight=WHOLE, folds=PredefinedSplit(fold))
    repeated = PredefinedSplit(fold[rows])
    expected = ldr.path(name, X[rows], [1, 2], y=y if y is None else y[rows], folds=repeated)
    np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-9)
    np.testing.assert_allclose(found.pooled, expected.pooled, rtol=1e-9)
    alone = ldr.path(name, X, [1], y=y, sample_weight=WHOLE, folds=LeaveOneOut())
    assert alone.scores.shape == (1, np.count_nonzero(WHOLE))
    with pytest.raises(ArgumentError, match="cannot split the 60 rows of X: index 60 is out of"):
        ldr.path(name, X, [1], y=y, folds=PredefinedSplit(np.arange(N + 1) % 3))


def test_estimators():
    expected = ldr.solve("orthogonal-lda", X, 2, y=LABELS, sample_weight=ANY)
    model = ldr.OrthogonalLDA(2).fit(X, LABELS, sample_weight=ANY)
    assert model.result_.value == pytest.approx(expected.value, rel=1e-12)
    in_blocks = ldr.OrthogonalLDA(2)
    for part in (slice(0, 40), slice(40, N)):
        in_blocks.partial_fit(X[part], LABELS[part], sample_weight=ANY[part])
    assert in_blocks.result_.value == pytest.approx(expected.value, rel=1e-10)
    both = ldr.OrthogonalCCA(2).fit(*VIEWS, sample_weight=ANY)
    reference = ldr.solve("orthogonal-cca", VIEWS, 2, sample_weight=ANY).value
    assert both.result_.value == pytest.approx(reference, rel=1e-12)
    with config_context(enable_metadata_routing=True):
        routed = ldr.PCA(2).set_fit_request(sample_weight=True)
        routed.set_score_request(sample_weight=True)
        scores = cross_val_score(routed, X, params={"sample_weight": ANY}, cv=2)
    half = np.arange(N) < N // 2
    by_hand = ldr.solve("pca", X[~half], 2, sample_weight=ANY[~half])
    first = ldr.score(by_hand, X[half], sample_weight=ANY[half])
    assert scores[0] == pytest.approx(first, rel=1e-12)


@pytest.mark.parametrize("estimator", [ldr.LPP(2), ldr.NCA(2), ldr.OrthogonalMAF(2)])
def test_estimators_that_leave_weights_to_solve_say_so(estimator):
    name = estimator._method.name
    with pytest.raises(
        ArgumentError, match=rf"takes no sample_weight=: .* or ldr.Reducer.'{name}'."
    ):
        estimator.fit(X, LABELS, sample_weight=ANY)
    with pytest.raises(ArgumentError, match=r"takes no groups=: .* are those of orthogonal-maf, "):
        ldr.PCA(2).fit(X, groups=LABELS)
    with pytest.raises(TypeError, match=r"fit.*'weight'"):
        estimator.fit(X, weight=ANY)
    found = ldr.Reducer(name, 2).fit(X, LABELS, sample_weight=ANY).result_
    assert found.value == ldr.solve(name, X, 2, y=LABELS, sample_weight=ANY).value


def test_scikit_learn_routes_them_through_pipelines_searches_and_folds():
    rows = np.repeat(np.arange(N), WHOLE.astype(int))

    def steps(**asked):
        parts = (StandardScaler(), ldr.OrthogonalLDA(2), LogisticRegression())
        return make_pipeline(*(part.set_fit_request(**asked) for part in parts))

    with config_context(enable_metadata_routing=True):
        weighted = steps(sample_weight=True)
        scorer = get_scorer("accuracy").set_score_request(sample_weight=True)
        found = clone(weighted).fit(X, LABELS, sample_weight=WHOLE).predict_proba(X)
        expected = steps().fit(X[rows], LABELS[rows]).predict_proba(X)
        grid = {"orthogonallda__n_components": [1, 2]}
        given = {"sample_weight": WHOLE}
        search = GridSearchCV(weighted, grid, cv=2, scoring=scorer).fit(X, LABELS, **given)
        scores = cross_validate(weighted, X, LABELS, cv=2, scoring=scorer, params=given)
    np.testing.assert_allclose(found, expected, atol=1e-8)
    assert search.cv_results_["mean_test_score"][1] == pytest.approx(scores["test_score"].mean())


def test_columns_of_files_and_the_command_line(tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    expected = ldr.solve("orthogonal-lda", X, 2, y=LABELS, sample_weight=ANY).value
    frame = pd.DataFrame(X, columns=list("abcdefg")).assign(kind=LABELS, times=ANY)
    frame.to_parquet("rows.parquet")
    np.save("times.npy", ANY)
    for weights in ("times", "times.npy"):
        data = "rows.parquet" if weights == "times" else X
        labels = "kind" if weights == "times" else LABELS
        found = ldr.solve("orthogonal-lda", data, 2, y=labels, sample_weight=weights)
        assert found.value == pytest.approx(expected, rel=1e-10)
    command = "solve orthogonal-lda rows.parquet --label kind --weights times --json"
    done = call(*command.split(), folder=tmp_path)
    assert json.loads(done.stdout)["value"] == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (np.ones(3), r"sample_weight has shape \(3,\), expected \(60,\)"),
        (np.where(np.arange(N) == 4, -1.0, 1.0), r"1 weight\(s\) that are negative.*-1.0 in row 4"),
        (np.where(np.arange(N) == 4, np.nan, 1.0), "nan in row 4"),
        (np.zeros(N), "zero in every row"),
        (np.full(N, 1e-100), "largest sample_weight is 1e-100, expected between 1e-12 and 1e.12"),
        (np.where(np.arange(N) % 2, 1e15, 1.0), "divide all weights by the largest"),
        (np.where(np.arange(N) % 2, 1e-13, 1.0), "from 1e-13 to 1, expected a ratio of at most"),
        (np.array(["a"] * N), "sample_weight must hold real numbers"),
        ("times", "sample_weight is the string 'times', but a string can name a column"),
    ],
)
def test_what_is_no_weight(weights, words):
    with pytest.raises(DataError, match=words):
        ldr.solve("pca", X, 2, sample_weight=weights)


@pytest.mark.parametrize(
    "key", ["sdr", "hsic", "gkdr", "sir", "nca", "orthogonal-lda", "orthogonal-maf"]
)
@pytest.mark.parametrize("largest", [1.0, 1e12])
def test_weights_as_far_apart_as_is_taken(key, largest):
    """Rows of a weight that rounding nearly loses change nothing but as little."""
    data, y, _ = RANDOM[key]
    light = np.arange(N) % 2 == 1
    weights = np.where(light, 1e-12, 1.0) * largest
    result = ldr.solve(key, data, 1, y=y, sample_weight=weights, random_state=0)
    assert np.isfinite(result.value) and np.isfinite(result.P).all()


def test_sums_over_rows_of_ones_own(tmp_path):
    jnp = pytest.importorskip("jax.numpy")

    @ldr.objective(manifold="grassmann", sense="max", sum_over_rows=True)
    def spread(M, X, y):
        return jnp.sum((1.0 + y**2) * jnp.sqrt(1.0 + jnp.sum((X @ M) ** 2, axis=1)))

    assert spread.traits.weighted
    rows = np.repeat(np.arange(N), WHOLE.astype(int))
    expected = ldr.solve(spread, X[rows], 2, y=RESPONSE[rows], random_state=0)
    np.save(tmp_path / "X.npy", X)
    for given in (X, tmp_path / "X.npy"):
        found = ldr.solve(spread, given, 2, y=RESPONSE, sample_weight=WHOLE, random_state=0)
        same(found, expected, X)

    @ldr.objective(manifold="grassmann", sense="max")
    def whole(M, X):
        return jnp.mean(jnp.sqrt(1.0 + jnp.sum((X @ M) ** 2, axis=1)))

    with pytest.raises(
        ArgumentError, match=r"'whole' takes no sample weights .*the registry take them"
    ):
        ldr.solve(whole, X, 2, sample_weight=WHOLE)
    with pytest.raises(
        ArgumentError, match=r"'orthogonal-lda' takes no sample weights .*by default it takes them"
    ):
        ldr.solve("orthogonal-lda", X, 2, y=LABELS, sample_weight=WHOLE, shrinkage="auto")


def test_landmarks_take_no_weights():
    with pytest.raises(ArgumentError, match="and the exact kernel: pass an array"):
        ldr.solve("hsic", X, 2, y=LABELS, sample_weight=ANY, landmarks=20)


@pytest.mark.parametrize("low", [1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("name", ["maf", "lda", "orthogonal-lda", "pca"])
def test_rows_of_next_to_no_weight_do_not_displace_the_shift(name, low):
    """Sums about a mean of all rows alike lose the digits of the rows with weight."""
    rng, t = np.random.default_rng(0), np.arange(600)
    X = np.column_stack([np.sin(t / 20), rng.standard_normal(600), rng.standard_normal(600)])
    X[300:] = X[300:] * 1e-4 + [1.5, 1.0, 0.5]
    w = np.where(t >= 300, 1.0, low)
    y = None if name in ("maf", "pca") else t % 2
    far, near = (
        ldr.solve(name, Z, 1, y=y, sample_weight=w) for Z in (X, X - np.average(X, 0, weights=w))
    )
    assert far.certificate.kind == "global"
    assert abs(far.value - near.value) <= near.certificate.gap + 1e-14 * abs(near.value)
