"""The names that users may count on: what is taken away is noticed here first."""

from pathlib import Path

import ldr

LISTED = Path(__file__).with_name("public_api.txt").read_text().split()


def test_the_public_names_are_those_that_are_listed():
    assert sorted(ldr.__all__) == LISTED, "list what is new in tests/public_api.txt"


def test_every_public_name_is_there():
    assert all(getattr(ldr, name) is not None for name in LISTED)
