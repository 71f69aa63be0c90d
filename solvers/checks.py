"""Checks of scalar arguments, short representations of objects, the refusal of old pickles."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from inspect import get_annotations
from numbers import Integral, Real
from typing import TypedDict, Unpack

import numpy as np

from ldr.solvers.errors import ArgumentError, DataError

# Range of data whose squares, multiplied by counts, neither overflow nor underflow in float64.
SMALLEST, LARGEST = 1e-130, 1e130


class Limits(TypedDict, total=False):
    """Limits of a number: see `number`."""

    positive: bool
    finite: bool
    below: float | None


def whole(name: str, value: object, least: int) -> int:
    """Check that a value is a Python or NumPy integer of at least `least`.

    - raises ArgumentError: The value has another type, is a boolean, or is below `least`.
    """
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Integral) or value < least:
        raise ArgumentError(f"{name} must be a whole number >= {least}, got {value!r}")
    return int(value)


def workers(count: object) -> int:
    """Return the number of threads; -1 means one thread per core."""
    threads = whole("workers", count, -1)
    if threads == 0:
        raise ArgumentError("workers must be a whole number >= 1, or -1 for all cores, got 0")
    return threads if threads > 0 else os.cpu_count() or 1


def number(
    name: str,
    value: object,
    *,
    positive: bool = False,
    finite: bool = True,
    below: float | None = None,
) -> float:
    """Return a nonnegative Python or NumPy number (positive if `positive`) as a float.

    - raises ArgumentError: The value is not a real number, is NaN, is infinite (unless `finite` is
      False), or lies outside the bounds.
    """
    size = real(value)
    if size is not None and (math.isfinite(size) or not finite):  # comparisons with NaN are false
        above = size > 0 if positive else size >= 0
        if above and (below is None or size < below):
            return size
    wanted = f"a {'finite ' if finite else ''}number {'>' if positive else '>='} 0"
    limit = "" if below is None else f" and < {below:g}"
    raise ArgumentError(f"{name} must be {wanted}{limit}, got {value!r}")


def flag(name: str, value: object) -> bool:
    """Check that a value is a Python or NumPy boolean.

    - raises ArgumentError: The value has another type.
    """
    if not isinstance(value, (bool, np.bool_)):
        raise ArgumentError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def keep_whole(owner: object, name: str, least: int, *, optional: bool = False) -> None:
    """Check an integer field of a frozen dataclass by `whole`, and store a Python int.

    A NumPy scalar would impose its own precision on later computations.
    """
    value = getattr(owner, name)
    if value is not None or not optional:
        object.__setattr__(owner, name, whole(name, value, least))


def keep_number(
    owner: object, name: str, *, optional: bool = False, power: int = 1, **limits: Unpack[Limits]
) -> None:
    """Check a field of a frozen dataclass by `number`, and store a Python float.

    A nonzero value must lie between `SMALLEST` and `LARGEST`, both raised to `power`; sums of
    squares of values outside this range overflow.
    """
    value = getattr(owner, name)
    if value is None and optional:
        return
    kept = number(name, value, **limits)
    least, largest = SMALLEST**power, LARGEST**power
    if kept != 0 and math.isfinite(kept) and not least <= kept <= largest:
        raise ArgumentError(f"{name} must be between {least:.0e} and {largest:.0e}, got {value!r}")
    object.__setattr__(owner, name, kept)


def keep_numbers(owner: object, name: str, **limits: Unpack[Limits]) -> None:
    """Check a field with a sequence of numbers, and store a tuple."""
    values = getattr(owner, name)
    if not isinstance(values, (tuple, list)):
        raise ArgumentError(f"{name} must be a tuple of numbers, got {values!r}")
    object.__setattr__(owner, name, tuple(number(name, value, **limits) for value in values))


def keep_flag(owner: object, name: str) -> None:
    """Check a field that is True or False, and store a Python bool."""
    object.__setattr__(owner, name, flag(name, getattr(owner, name)))


def real(value: object) -> float | None:
    """Return a real number as a float, infinite if too large for one; None for any other object."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf  # type: ignore[operator]


def choice(name: str, value: object, allowed: Collection[str]) -> None:
    """Refuse any value but the allowed strings.

    - raises ArgumentError: The value is another string, or not a string.
    """
    if isinstance(value, str) and value in allowed:
        return
    words = [repr(word) for word in allowed]
    listed = " or ".join(words) if len(words) == 2 else f"one of {', '.join(words)}"
    raise ArgumentError(f"{name} must be {listed}, got {value!r}")


class Brief:
    """Base of classes whose repr omits defaults, like scikit-learn's estimators."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.__repr__ = cls.__repr__  # type: ignore[method-assign]  # else `dataclass` writes its own

    def __repr__(self) -> str:
        given: tuple[Field[object], ...] = fields(self) if is_dataclass(self) else ()
        values = {each: repr(getattr(self, each.name)) for each in given if each.repr}
        changed = (f"{each.name}={it}" for each, it in values.items() if it != _usual(each))
        return f"{type(self).__name__}({', '.join(changed)})"


def _usual(field: Field[object]) -> str | None:
    """Return the repr of a field's default; None without a default."""
    default = field.default if field.default_factory is MISSING else field.default_factory()
    return None if default is MISSING else repr(default)


class Pickled:
    """A base of dataclasses that refuse pickles written by another version."""

    def __setstate__(self, state: Mapping[str, object]) -> None:
        own: set[str] = {each.name for each in fields(self)} if is_dataclass(self) else set()
        declared = {name for cls in type(self).__mro__ for name in get_annotations(cls)}
        others = (own - set(state)) | (set(state) - declared - set(dir(type(self))))
        if own and others:
            raise DataError(
                f"the pickled {type(self).__name__} was written by another version of ldr, in "
                f"which these attributes differ: {', '.join(sorted(others))}. Read it with that "
                "version and save the arrays P and mean, or solve again"
            )
        vars(self).update(state)
