"""What a method declares: its needs besides X, its parameters, ``ridge: float = number(0.0)``."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import field
from enum import StrEnum
from functools import partial
from typing import TypeVar, Unpack

from ldr.solvers.checks import Limits, choice, keep_flag, keep_number, keep_numbers, keep_whole
from ldr.solvers.errors import ArgumentError

Default = TypeVar("Default")


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
    """The need of that name."""
    try:
        return Need(name)
    except ValueError:
        known = ", ".join(repr(need.value) for need in Need)
        raise ArgumentError(f"needs has {name!r}, expected some of {known}") from None


# What is given as y.
OF_Y = frozenset({Need.LABELS, Need.RESPONSE})


# The key of a field's check in its metadata.
CHECK = "check"


class NumberLimits(Limits, total=False):
    """Of a number: see `keep_number`."""

    optional: bool
    power: int


def number(default: Default, **limits: Unpack[NumberLimits]) -> Default:
    """Of at least 0, within limits; see `keep_number`."""
    return declared(default, partial(keep_number, **limits))


def whole(default: Default, least: int, *, optional: bool = False) -> Default:
    """A whole number of at least `least`."""
    return declared(default, partial(keep_whole, least=least, optional=optional))


def numbers(default: Default, **limits: Unpack[Limits]) -> Default:
    """A tuple of such numbers."""
    return declared(default, partial(keep_numbers, **limits))


def flag(default: bool) -> bool:
    """True or False."""
    return declared(default, keep_flag)


def word(default: str, allowed: Collection[str]) -> str:
    """One of the allowed words."""
    return declared(default, partial(_check_word, allowed=allowed))


def optional_word(allowed: Collection[str]) -> str | None:
    """One of the allowed words, or None; by its name only."""
    return declared(None, partial(_check_word, allowed=allowed, optional=True), kw_only=True)


def declared(
    default: Default, check: Callable[[object, str], None], *, kw_only: bool = False
) -> Default:
    """A field that `check`, given the owner and the name, refuses or keeps."""
    return field(default=default, metadata={CHECK: check}, kw_only=kw_only)


def _check_word(owner: object, name: str, allowed: Collection[str], optional: bool = False) -> None:
    value = getattr(owner, name)
    if value is not None or not optional:
        choice(name, value, allowed)
