"""Pairs of problems: what changes nothing in the mathematics changes nothing in the answer."""

import pytest

from tests.adversarial.campaign import count, report
from tests.adversarial.pairs import CHANGES, METHODS, compare

# Of each method and change, so that there are 2,000 pairs.
PAIRS = 2


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_pairs_agree(method):
    changes = [change.__name__ for change in CHANGES]
    differences = [
        compare(method, change, index) for index in range(count(PAIRS)) for change in changes
    ]
    found = [difference for difference in differences if difference is not None]
    assert not found, report(found)
