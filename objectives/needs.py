"""What an objective needs besides X."""

from enum import StrEnum

from ldr.solvers.errors import ArgumentError


class Need(StrEnum):
    """One of the things; equal to its name."""

    LABELS = "labels"
    RESPONSE = "response"
    SECOND_VIEW = "second view"
    TIME_ORDER = "time order"
    DISTANCES = "distances"
    GRAPH = "graph"
    BACKGROUND = "background"


def need_named(name: str) -> Need:
    """The need of that name.

    Raises
    ------
    ArgumentError
        There is none.
    """
    try:
        return Need(name)
    except ValueError:
        known = ", ".join(repr(need.value) for need in Need)
        raise ArgumentError(f"needs has {name!r}, expected some of {known}") from None


# What is given as y.
OF_Y = frozenset({Need.LABELS, Need.RESPONSE})
