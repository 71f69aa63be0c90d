"""A result holds its run, told in the objective's sense and units."""

import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

import ldr
from ldr.errors import DataError


@pytest.fixture(scope="module")
def result():
    X = 1e3 * np.random.default_rng(0).standard_normal((30, 4)) * [4, 3, 2, 1]
    return ldr.solve("mds-stress", X, 2)


def test_what_is_read_off_the_run(result):
    run = result.run
    assert (result.value, result.status) == (run.value, run.status)
    assert (result.iterations, result.evaluations) == (run.iterations, run.evaluations)
    assert result.history is run.history
    with pytest.raises(FrozenInstanceError):
        result.value = 0.0
    assert replace(result, r=1).run is run


def test_history_is_in_the_units_of_the_result(result):
    assert result.history["value"][-1] == result.value
    assert result.history["gradient_norm"][-1] == result.gradient_norm > 0


def test_maximised_values_rise():
    X = np.random.default_rng(0).standard_normal((30, 4)) * [4, 3, 2, 1]
    result = ldr.solve("hsic", X, 2, y=X[:, 0], start="random", random_state=0)
    values = result.history["value"]
    assert 0 < values[0] < values[-1] == result.value


def test_pickles_are_read_again_and_those_of_another_version_refused(result):
    again = pickle.loads(pickle.dumps(result))
    assert np.array_equal(again.M, result.M) and again.history == result.history
    earlier = {**vars(result), "value": result.value, "iterations": result.iterations}
    del earlier["run"]
    reduced = (object.__new__, (ldr.Result,), earlier)
    with pytest.raises(
        DataError, match=r"written by another version of ldr.* save the arrays P and mean"
    ):
        pickle.loads(pickle.dumps(_As(reduced)))


class _As:
    """Something that is pickled as told."""

    def __init__(self, reduced):
        self.reduced = reduced

    def __reduce__(self):
        return self.reduced
