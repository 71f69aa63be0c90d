"""What is one for each view: a tuple, and the only one without it at the doors."""

from __future__ import annotations

from collections.abc import Sequence

from ldr.objectives.data.cells import Given


def as_tuple(value: Given) -> tuple[Given, ...]:
    """The blocks of several views, also of a dict, or the only one as a tuple."""
    if isinstance(value, dict):
        return tuple(value.values())
    return value if isinstance(value, tuple) else (value,)


def single(blocks: Sequence[Given]) -> Given:
    """The only block of one view, or a tuple of those of several."""
    return blocks[0] if len(blocks) == 1 else tuple(blocks)
