"""What the docstrings state of ties, remainders, shares and copies."""

import numpy as np
import pytest

import ldr
from ldr.objectives.data.opening import as_samples
from ldr.objectives.graphs import lle_weights, neighbour_graph
from ldr.objectives.slices import sliced
from tests.objectives.methods import bound


@pytest.mark.parametrize("n", [30, 31, 37, 39, 100, 103])
@pytest.mark.parametrize("slices", [2, 7, 10])
def test_slices_without_ties_differ_by_one_sample(n, slices):
    y = np.random.default_rng(n).permutation(n) ** 1.5
    sizes = np.bincount(sliced(y, n, slices))
    assert len(sizes) == slices and np.ptp(sizes) <= 1 and sizes.sum() == n


def test_tied_responses_stay_together_in_the_upper_slice():
    y = np.array([0.1] * 6 + [1.2] * 2 + [2.5, 3.5, 4.5, 5.5])
    codes = sliced(y, len(y), 4)
    assert all(len(set(codes[y == value])) == 1 for value in y)
    np.testing.assert_array_equal(codes, [0] * 6 + [1] * 2 + [1] + [2] * 3)


def test_slices_of_weighted_samples_have_equal_weight():
    rng = np.random.default_rng(0)
    y, w = rng.standard_normal(3000), rng.gamma(1.0, 2.0, 3000)
    weights = np.bincount(sliced(y, len(y), 10, w), w)
    assert np.ptp(weights) <= 2.0 * w.max()


@pytest.mark.filterwarnings("ignore::ldr.errors.ConvergenceWarning")
@pytest.mark.parametrize("method", ["sdr", "hsic", "gkdr"])
@pytest.mark.parametrize(
    ("kind", "said", "as_well"),
    [(int, "3 distinct integers, which are read as labels", "labels"),
     (float, "3 distinct whole numbers as floats, which are read as a quantity", "quantity")],
)  # fmt: skip
def test_whole_numbers_are_labels_or_a_quantity_and_a_note_says_which(method, kind, said, as_well):
    X = np.random.default_rng(0).standard_normal((30, 3))
    y = (np.arange(30) % 3).astype(kind)
    options = {"y": y, "max_iterations": 3, "random_state": 0, "certify": False}
    result = ldr.solve(method, X, 1, response_width=1.0, **options)
    assert any(said in note for note in result.notes)
    other = {"labels": "quantity", "quantity": "labels"}[as_well]
    told = [ldr.solve(method, X, 1, response=kind, response_width=1.0, **options)
            for kind in (as_well, other)]  # fmt: skip
    assert told[0].value == result.value != told[1].value
    names = ldr.solve(
        method, X, 1, **{**options, "y": np.array(["a", "b", "c"])[np.arange(30) % 3]}
    )
    assert not any("distinct" in note for each in (*told, names) for note in each.notes)


@pytest.mark.parametrize("average", ["rows", "trials"])
def test_power_of_filters_of_several_classes(average):
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(10), 40)
    y = np.array(list("aaaaabbbcc"))[groups]
    mixing = {c: rng.standard_normal((4, 4)) for c in "abc"}
    X = np.array([mixing[c] @ rng.standard_normal(4) for c in y])
    result = ldr.solve("csp", X, 2, y=y, groups=groups, average=average, certify=False)
    shares = {"rows": np.ones(3) / 3, "trials": np.array([0.5, 0.3, 0.2])}[average]
    powers = [np.mean((X[y == c] @ result.P.T) ** 2, axis=0) for c in "abc"]
    np.testing.assert_allclose(shares @ powers, 1.0, rtol=1e-10)


def test_copies_are_neighbours_at_distance_zero():
    rng = np.random.default_rng(0)
    X = np.vstack([np.tile(rng.standard_normal(3), (5, 1)), rng.standard_normal((20, 3))])
    W = neighbour_graph(as_samples(X, "X"), 4).toarray()
    np.testing.assert_array_equal(W[:5, :5], 1 - np.eye(5))
    left = lle_weights(as_samples(X, "X"), 4).toarray()[:5]
    np.testing.assert_allclose(left[:, :5], (1 - np.eye(5)) / 4, atol=1e-12)
    assert not left[:, 5:].any()
    M = np.linalg.qr(rng.standard_normal((3, 1)))[0]
    Y = X @ M
    for given, expected in ((X, 0.5 * np.sum(W * (Y - Y.T) ** 2)),):
        assert bound("olpp", given, 1, neighbours=4).at(M).value == pytest.approx(expected)
