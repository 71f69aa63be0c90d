"""Paths along r."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.model_selection import GroupKFold, ShuffleSplit

import ldr
from ldr.cross_validation import Folds
from ldr.errors import ArgumentError
from ldr.objectives import named
from ldr.paths import Path
from ldr.resampling import Sampled
from tests import real_data
from tests.ldr.plots.test_plots import draws
from tests.objectives import methods

X, labels = real_data.wine()


def folds_of(name, data, y, count, groups=None):
    sampled = Sampled.of(named(name), data, y, "folds", None, groups)
    return Folds.of(sampled, count, 0).parts


SDR = {"sdr": (X[::3], labels[::3], {})}


@pytest.mark.parametrize(
    "name", ["pca", "orthogonal-lda", "orthogonal-cca", "orthogonal-maf", "signal-noise", "sdr"]
)
def test_values_are_those_of_solve(name):
    data, y, parameters = next(
        case for key, case in (methods.RANDOM | SDR).items() if methods.name_of(key) == name
    )
    options = {"y": y, "certify": False, **parameters}
    path = ldr.path(name, data, [3, 1, 2], random_state=0, **options)
    assert path.dimensions == (1, 2, 3)
    for r, value in zip(path.dimensions, path.values, strict=True):
        assert value == pytest.approx(ldr.solve(name, data, r, **options).value, rel=1e-9)


@pytest.mark.smoke
def test_held_out_scores():
    options = {"y": labels, "folds": 4, "random_state": 0}
    path, again = (ldr.path("orthogonal-lda", X, [1, 2, 4], **options) for _ in range(2))
    assert path.scores.shape == (3, 4)
    np.testing.assert_array_equal(path.scores, again.scores)
    training, held = folds_of("orthogonal-lda", X, labels, 4)[2]
    result = ldr.solve("orthogonal-lda", X[training], 2, y=labels[training])
    assert path.scores[1, 2] == pytest.approx(ldr.score(result, X[held], labels[held]), rel=1e-8)
    assert "held-out" in repr(path) and f"best score at r = {path.best}" in repr(path)


@pytest.mark.parametrize(
    "key", ["orthogonal-lda", "orthogonal-maf", "orthogonal-cca", "opca", "pca"]
)
def test_folds_partition_the_rows(key):
    data, y, _ = methods.RANDOM[key]
    folds = folds_of(key, data, y, 4)
    np.testing.assert_array_equal(np.sort(np.concatenate([h for _, h in folds])), np.arange(60))
    for training, held in folds:  # a lag beside each block of time
        gap = [held[0] - 1, held[-1] + 1] if key == "orthogonal-maf" else []
        rows = np.concatenate([training, held, [row for row in gap if 0 <= row < 60]])
        np.testing.assert_array_equal(np.sort(rows), np.arange(60))
        assert len(held) == 15
        if key == "orthogonal-lda":
            np.testing.assert_array_equal(np.bincount(methods.LABELS[held]), [5, 5, 5])
        if key == "orthogonal-maf":
            np.testing.assert_array_equal(np.diff(held), 1)


class Fake:
    certificate = None
    baseline = None

    def __init__(self, r, value):
        self.r, self.value = r, value


def test_elbow_is_where_a_broken_line_breaks():
    values = [0.0, 10.0, 20.0, 21.0, 22.0, 23.0]
    path = Path(tuple(Fake(r, v) for r, v in enumerate(values, start=1)))
    assert path.elbow == 3
    assert Path(tuple(Fake(r, -v) for r, v in enumerate(values, start=1))).elbow == 3
    assert Path(tuple(Fake(r, 2.0 * r) for r in range(1, 6))).elbow is None
    assert Path((Fake(1, 1.0), Fake(2, 3.0))).elbow is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dimensions": []}, "dimensions must be different"),
        ({"dimensions": [1, 1]}, "dimensions must be different"),
        ({"dimensions": [0, 1]}, "dimensions must be a whole number"),
        ({"dimensions": 3}, "dimensions must be whole numbers"),
        ({"dimensions": [1, 14]}, "out of range"),
        ({"dimensions": [1], "folds": 1}, "folds must be a whole number >= 2"),
        ({"dimensions": [1], "folds": [([0], [1])]}, r"or a splitter .* PredefinedSplit.*got list"),
        ({"dimensions": [1], "folds": "5"}, r"or a splitter .*KFold\(5\).*got str"),
        ({"dimensions": [1], "folds": 50}, "folds = 50 .* class in y has only 48 members"),
    ],
)
def test_bad_arguments_of_path(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        ldr.path("orthogonal-lda", X, y=labels, **arguments)


def test_a_path_without_folds_has_no_scores():
    path = ldr.path("pca", X, [1, 2])
    assert path.scores is None and path.errors is None


def test_distances_have_no_folds():
    with pytest.raises(ArgumentError, match="takes distances: it has no folds"):
        ldr.path("mds-distances", methods.DISTANCES, [1, 2], folds=3)


def test_plot_of_a_path():
    path = ldr.path("orthogonal-lda", X, [1, 2, 3, 5], y=labels, folds=3, random_state=0)
    figure = path.plot()
    values, scores = figure.axes
    lines = {line.get_label(): line for line in values.lines}
    np.testing.assert_array_equal(lines["optimised"].get_ydata(), path.values)
    np.testing.assert_array_equal(lines["baseline"].get_ydata(), path.baselines)
    np.testing.assert_array_equal(lines["optimised"].get_xdata(), [1, 2, 3, 5])
    np.testing.assert_allclose(scores.lines[0].get_ydata(), path.pooled)
    assert draws(figure)
    exact = ldr.path("pca", X, [1, 2]).plot()
    assert [text.get_text() for text in exact.axes[0].get_legend().get_texts()] == ["optimised"]
    own = Figure()
    assert ldr.plots.path(ldr.path("pca", X, [1, 2]), ax=own.subplots()) is own
    with pytest.raises(ArgumentError, match="2 Axes, one for each panel, got 1"):
        ldr.plots.path(path, ax=Figure().subplots())


def test_plot_of_what_is_not_proved_global():
    path = ldr.path("sdr", X[::4], [1, 2], y=labels[::4], random_state=0)
    labelled = [text.get_text() for text in path.plot().axes[0].get_legend().get_texts()]
    assert labelled == ["optimised", "not proved global", "baseline"]


def test_splitters_that_do_not_fit():
    with pytest.raises(ArgumentError, match=r"cannot split the \d+ rows"):
        ldr.path("orthogonal-lda", X, [1], y=labels, folds=GroupKFold(3))
    with pytest.raises(
        ArgumentError, match=r"1 split\(s\), of which 1 have .*expected two or more"
    ):
        ldr.path("pca", X, [1], folds=ShuffleSplit(1))
