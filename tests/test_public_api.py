"""The names that users may count on: what is taken away is noticed here first."""

from pathlib import Path

import ldr
from ldr.estimators import estimator_name
from ldr.objectives import REGISTRY

LISTED = Path(__file__).with_name("public_api.txt").read_text().split()
ESTIMATORS = {estimator_name(method) for method in REGISTRY.values()}


def test_the_public_names_are_those_that_are_listed():
    """And an estimator for every method, which the registry lists."""
    assert set(ldr.__all__) == {*LISTED, *ESTIMATORS}, "list what is new in tests/public_api.txt"
    assert not ESTIMATORS & set(LISTED)


def test_every_public_name_is_there():
    assert all(getattr(ldr, name) is not None for name in ldr.__all__)
