"""Statistics summed over pieces: the same whatever the pieces are, to the last digits."""

import os

import numpy as np
import pytest

from ldr.errors import ArgumentError
from ldr.objectives import statistics
from ldr.objectives.data import data as samples_module
from ldr.objectives.data.data import fold
from ldr.objectives.data.opening import as_samples
from ldr.objectives.data.stored import StoredSamples
from tests.objectives.statistics.references import CODES, DATA, C

DATA = {name: DATA[name] for name in ("centred", "mixed means", "float32")}


@pytest.fixture(params=DATA, ids=str)
def data(request):
    return DATA[request.param]


@pytest.fixture(params=[1, 17, 150])
def piece_rows(request, monkeypatch):
    """Rows of a piece."""
    monkeypatch.setattr(samples_module, "BLOCK_NUMBERS", 5 * request.param)
    return request.param


WIDE = np.random.default_rng(0).standard_normal((150, 600)) + 30.0


@pytest.mark.parametrize("X", [DATA["mixed means"], WIDE], ids=["many rows", "many columns"])
def test_threads_do_not_change_a_bit(X, monkeypatch):
    monkeypatch.setattr(samples_module, "BLOCK_NUMBERS", 40 * 600 if X is WIDE else 500)
    found = []
    for workers in (1, 2, 5):
        monkeypatch.setattr(os, "cpu_count", lambda w=workers: w)
        found.append(statistics.lagged_moments(as_samples(X), 3))
    for other in found[1:]:
        np.testing.assert_array_equal(other.scatter, found[0].scatter)
        np.testing.assert_array_equal(other.lagged, found[0].lagged)


def test_no_more_pieces_wait_than_are_needed():
    """Memory does not grow with the number of pieces: few are read ahead of the merge."""
    read, merged, ahead = [], [1], []

    def piece(i):
        read.append(i)
        ahead.append(len(read) - merged[0])
        return (i,)

    def merge(left, right):
        merged[0] += 1
        return left + right

    pieces = map(piece, range(200))
    assert fold(lambda i: i, merge, pieces, 2) == sum(range(200))
    assert max(ahead) <= 5


def test_what_a_term_raises_is_raised():
    def term(i):
        if i == 3:
            raise ArgumentError("three")
        return i

    with pytest.raises(ArgumentError, match="three"):
        fold(term, max, zip(range(100)), 2)


# --- files ------------------------------------------------------------------------------------


def test_a_file_gives_the_bits_of_the_array(tmp_path, data, piece_rows):
    np.save(tmp_path / "x.npy", data[:150])
    stored, array = as_samples(tmp_path / "x.npy"), as_samples(data[:150])
    assert isinstance(stored, StoredSamples)
    assert stored.shape == (150, 5)
    for statistic in (
        lambda s: statistics.moments(s).scatter,
        lambda s: statistics.class_moments(s, CODES[:150], C).within,
        lambda s: statistics.lagged_moments(s, 2).lagged,
    ):
        before = stored.passes
        np.testing.assert_array_equal(statistic(stored), statistic(array))
        assert stored.passes == before + 1
