"""Which method answers which question."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_wine

import ldr
from ldr.method_selection import _NEEDED, TABLE, Beside
from ldr.objectives.parameters import Need
from ldr.objectives.registry import REGISTRY

WINE, CLASSES = load_wine(return_X_y=True)
TRIALS = ldr.trials(np.random.default_rng(0).standard_normal((12, 3, 20)))
GAPS = np.where(np.arange(WINE.size).reshape(WINE.shape) % 17 == 0, np.nan, WINE)


@pytest.mark.parametrize("advice", TABLE, ids=lambda advice: advice.wants)
def test_methods_of_a_row_can_use_what_is_there(advice):
    methods = [REGISTRY[name] for name in advice.use]
    for found in advice.fits:
        if found in _NEEDED and len(advice.fits) == 1:
            assert all(set(_NEEDED[found]) <= set(method.needs) for method in methods)
        elif found is Beside.GAPS:
            assert all(method.traits.missing for method in methods)
        else:
            assert set(methods[0].needs) <= {Need.GRAPH}


@pytest.mark.parametrize(
    ("given", "options", "first", "not_there"),
    [
        ((WINE, CLASSES), {}, "lda", "sdr"),
        (load_diabetes(return_X_y=True), {}, "sdr", "orthogonal-lda"),
        (((WINE[:, :6], WINE[:, 6:]),), {}, "cca", "pca"),
        (((WINE[CLASSES == 0], WINE[CLASSES == 1]),), {}, "contrastive-pca", "orthogonal-cca"),
        ((GAPS,), {}, "fa", "pca"),
        ((WINE,), {"time_order": True}, "maf", "orthogonal-lda"),
        ((TRIALS,), {}, "maf", "csp"),
        ((TRIALS, np.arange(12) % 2), {}, "csp", "lda"),
        ((TRIALS, np.arange(12.0) ** 2 / 7), {}, "spoc", "sir"),
        ((TRIALS, np.arange(240) % 2), {}, "lda", "csp"),
        ((WINE,), {}, "pca", "sfa"),
    ],
)
def test_choose_prints_the_rows_that_fit(given, options, first, not_there):
    found = ldr.choose(*given, **options)
    used = [name for advice in found for name in advice.use]
    assert used[0] == first and not_there not in used
    assert first in repr(found) and max(map(len, repr(found).splitlines())) <= 80


def test_choose_of_nothing_is_the_whole_table():
    assert tuple(ldr.choose()) == TABLE
    with pytest.raises(ldr.errors.DataError):
        ldr.choose([[1.0, 2.0], [3.0]])
