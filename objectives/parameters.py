"""Declarations of a method: traits, needs beside X, and parameters.

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
    """An input that a method requires beside X; equal to its name as a string."""

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
        raise ArgumentError(f"`needs` has {name!r}, expected names among {known}") from None


@dataclass(frozen=True)
class Traits:
    """Capabilities of a method, given as class arguments: ``class A(Objective, stacks=True)``.

    Traits that a class does not set are inherited.

    Attributes
    ----------
    any_views : bool
        More data matrices than `views` are accepted if True.
    transposed : bool
        True if P = M'; False if M refers to whitened variables or has coefficients of a model.
    relative_improvement : bool
        The improvement over the baseline is reported relative to the baseline's value.
    predicts : {"", "classes", "response", "view"}
        Kind of prediction for new rows; "view" means that one view predicts the other.
    missing, imputes, sparse : bool
        missing: X may have NaN. imputes: the model imputes missing values. sparse: X may be sparse.
    rule : {"parallel analysis", "bic"} or None
        Rule that chooses r automatically.
    weighted, repeats : bool
        weighted: weights are accepted. repeats: integer weights are equivalent to repeated rows.
    by_pairs, by_place : bool
        by_pairs: each evaluation uses all pairs of rows. by_place: rows are identified by their
        position, so that no row may be omitted.
    from_sums : bool
        For n >= d and without missing values the method only uses sums over rows, computed in one
        pass. Blocks of rows can therefore be added one at a time.
    scale_free, stacks : bool
        scale_free: the projection does not depend on the columns' units (without a ridge). stacks:
        `ldr.solve_many` solves many problems together, in stacked arrays.
    products : {"", "optimum", "everywhere"}
        "everywhere": no d x d array is computed for sparse X, which may have very many columns.
        "optimum": such an X can be solved, but not evaluated at every M. "": such an X is refused.
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
    """Refuse unknown traits, and traits that are set in the body of a class."""
    name = cls.__name__
    if unknown := [word for word in given if word not in TRAITS]:
        raise ArgumentError(
            f"class {name} has the unknown class argument {unknown[0]}=, expected one of "
            f"{', '.join(TRAITS)}"
        )
    if inside := [word for word in TRAITS if word in vars(cls)]:
        raise ArgumentError(
            f"class {name} sets {inside[0]} in its body, but {inside[0]} is a class argument: "
            f"write class {name}(Objective, {inside[0]}=...)"
        )


# Inputs that users pass as the argument y.
OF_Y = frozenset({Need.LABELS, Need.RESPONSE})


# Key under which the metadata of a dataclass field store the function that checks its values.
CHECK = "check"


class NumberLimits(Limits, total=False):
    """Limits of a number: see `keep_number`."""

    optional: bool
    power: int


def number(default: Default, **limits: Unpack[NumberLimits]) -> Default:
    """Declare a number, by default at least 0; see `keep_number`."""
    return declared(default, partial(keep_number, **limits))


def whole(default: Default, least: int, *, optional: bool = False) -> Default:
    """Declare an integer of at least `least`; see `keep_whole`."""
    return declared(default, partial(keep_whole, least=least, optional=optional))


def numbers(default: Default, **limits: Unpack[Limits]) -> Default:
    """Declare a tuple of numbers; see `keep_numbers`."""
    return declared(default, partial(keep_numbers, **limits))


def flag(default: bool) -> bool:
    """Declare a boolean."""
    return declared(default, keep_flag)


def word(default: str, allowed: Collection[str]) -> str:
    """Declare a string parameter with allowed values."""
    return declared(default, partial(_check_word, allowed=allowed))


def optional_word(allowed: Collection[str]) -> str | None:
    """Declare a keyword-only string parameter with allowed values, or None."""
    return declared(None, partial(_check_word, allowed=allowed, optional=True), kw_only=True)


def declared(
    default: Default, check: Callable[[object, str], None], *, kw_only: bool = False
) -> Default:
    """Declare a field with a function `check(owner, name)` that refuses or converts values."""
    return field(default=default, metadata={CHECK: check}, kw_only=kw_only)


def _check_word(owner: object, name: str, allowed: Collection[str], optional: bool = False) -> None:
    value = getattr(owner, name)
    if value is not None or not optional:
        choice(name, value, allowed)
