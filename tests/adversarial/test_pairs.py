"""Pairs of problems: what changes nothing in the mathematics changes nothing in the answer."""

import pytest

from tests.adversarial.campaign import count, report
from tests.adversarial.pairs import CHANGES, METHODS, compare

# Of each method and change, so that there are 2,000 pairs.
PAIRS = 2


NAMES = [change.__name__ for change in CHANGES]


def check(differences):
    found = [difference for difference in differences if difference is not None]
    assert not found, report(found)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_pairs_agree(method):
    check(compare(method, change, index) for index in range(count(PAIRS)) for change in NAMES)


ALWAYS = ("rotated", "in_far_units")  # of every second method


@pytest.mark.parametrize(("place", "method"), list(enumerate(METHODS)))
def test_a_slice(place, method):
    """Some changes for every method, fewer for those that take their time."""
    some = () if method in ("nca", "lmnn", "wda", "sparse-cca") else NAMES[place % 7 :: 7]
    check(compare(method, change, 0, seed=0) for change in {ALWAYS[place % 2], *some})


# Pairs that were found to disagree.
PAST = [("sfa quadratic", "nearly_collinear", 0, 72001)]


@pytest.mark.parametrize("pair", PAST, ids=str)
def test_past_pairs_agree(pair):
    check([compare(*pair)])
