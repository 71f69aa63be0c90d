"""Declarations of a method: its traits, its needs besides X, and its parameters.

A parameter is a field, ``ridge: float = number(0.0)``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import partial
from typing import TypeVar, Unpack

from ldr.solvers.checks import Limits, choice, keep_flag, keep_number, keep_numbers, keep_whole
from ldr.solvers.errors import ArgumentError

Default = TypeVar("Default")


class Need(StrEnum):
    """A requirement of a method beside X; equal to its name."""

    LABELS = "labels"
    RESPONSE = "response"
    SECOND_VIEW = "second view"
    TIME_ORDER = "time order"
    DISTANCES = "distances"
    GRAPH = "graph"
    BACKGROUND = "background"


def need_named(name: str) -> Need:
    """Return the need with this name."""
    try:
        return Need(name)
    except ValueError:
        known = ", ".join(repr(need.value) for need in Need)
        raise ArgumentError(f"needs has {name!r}, expected some of {known}") from None


@dataclass(frozen=True)
class Traits:
    """Capabilities of a method; given with its class, ``class PCA(Objective, stacks=True)``.

    A class inherits those of its bases that it does not set.

    Attributes
    ----------
    any_views : bool
        More data matrices than `views` are accepted.
    transposed : bool
        The map is P = M' (not where M is whitened or the coefficients of a model).
    relative_improvement : bool
        The improvement over the baseline is relative to its value.
    predicts : {"", "classes", "response", "view"}
        Prediction for new rows; "view" is the other view.
    missing, imputes, sparse : bool
        Missing values in X (NaN) are accepted; the model fills them in; X may be sparse.
    rule : {"parallel analysis", "bic"} or None
        Rule that chooses r automatically.
    weighted, repeats : bool
        Weights of the rows are accepted; whole ones repeat rows, otherwise they are importance.
    by_pairs, by_place : bool
        Every step uses all pairs of rows, or a factor of their kernel; rows are identified by their
        places, so that none may be left out.
    from_sums : bool
        Only sums over rows are used of the data: `Samples.reduce` adds them up, and their terms do
        not depend on other sums, so that blocks of rows can be added one at a time. (For n >= d,
        and without missing values.)
    scale_free, stacks : bool
        The projection is the same whatever the units of the columns (without a ridge); many
        problems are solved as stacks of their matrices.
    products : {"", "optimum", "everywhere"}
        Products with sparse rows of very many columns suffice, so that no d x d array is made: ""
        (one is made), "optimum" (they find an optimum and its neighbourhood) or "everywhere" (at
        every M).
    """

    any_views: bool = False
    transposed: bool = True
    relative_improvement: bool = True
    predicts: str = ""
    missing: bool = False
    imputes: bool = False
    sparse: bool = True
    rule: str | None = None
    weighted: bool = False
    repeats: bool = True
    by_pairs: bool = False
    by_place: bool = False
    from_sums: bool = False
    scale_free: bool = False
    stacks: bool = False
    products: str = ""

    def __post_init__(self) -> None:
        choice("predicts", self.predicts, ("", "classes", "response", "view"))
        choice("rule", self.rule or "bic", ("parallel analysis", "bic"))
        choice("products", self.products, ("", "optimum", "everywhere"))


TRAITS = tuple(each.name for each in fields(Traits))


def check_traits(cls: type, given: Collection[str]) -> None:
    """Refuse words that are no trait, and traits that the body of a class sets."""
    name = cls.__name__
    if unknown := [word for word in given if word not in TRAITS]:
        raise ArgumentError(
            f"class {name} has {unknown[0]}=, which is no trait, expected some of "
            f"{', '.join(TRAITS)}"
        )
    if inside := [word for word in TRAITS if word in vars(cls)]:
        raise ArgumentError(
            f"class {name} sets {inside[0]} in its body: it is a trait, given with the class, "
            f"class {name}(Objective, {inside[0]}=...); of an object, set `traits` in __post_init__"
        )


# Inputs that are given as y.
OF_Y = frozenset({Need.LABELS, Need.RESPONSE})


# Key of a field's check in the field's metadata.
CHECK = "check"


class NumberLimits(Limits, total=False):
    """Limits of a number: see `keep_number`."""

    optional: bool
    power: int


def number(default: Default, **limits: Unpack[NumberLimits]) -> Default:
    """Declare a number, by default at least 0; see `keep_number`."""
    return declared(default, partial(keep_number, **limits))


def whole(default: Default, least: int, *, optional: bool = False) -> Default:
    """Check a whole number of at least `least`."""
    return declared(default, partial(keep_whole, least=least, optional=optional))


def numbers(default: Default, **limits: Unpack[Limits]) -> Default:
    """Check a tuple of whole numbers of at least `least`."""
    return declared(default, partial(keep_numbers, **limits))


def flag(default: bool) -> bool:
    """Check True or False."""
    return declared(default, keep_flag)


def word(default: str, allowed: Collection[str]) -> str:
    """Declare a parameter with allowed words."""
    return declared(default, partial(_check_word, allowed=allowed))


def optional_word(allowed: Collection[str]) -> str | None:
    """Declare a keyword-only parameter with allowed words, or None."""
    return declared(None, partial(_check_word, allowed=allowed, optional=True), kw_only=True)


def declared(
    default: Default, check: Callable[[object, str], None], *, kw_only: bool = False
) -> Default:
    """Declare a field that `check`, given the owner and the name, refuses or keeps."""
    return field(default=default, metadata={CHECK: check}, kw_only=kw_only)


def _check_word(owner: object, name: str, allowed: Collection[str], optional: bool = False) -> None:
    value = getattr(owner, name)
    if value is not None or not optional:
        choice(name, value, allowed)
