"""Checks of scalar arguments, with the same words everywhere."""

from __future__ import annotations

import math
from collections.abc import Collection
from numbers import Integral, Real
from typing import Any

import numpy as np

from ldr.solvers.errors import ArgumentError


def whole(name: str, value: Any, least: int) -> int:
    """A whole number of at least `least`, of Python's or of NumPy's.

    Raises
    ------
    ArgumentError
        It is something else, or a boolean.
    """
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Integral) or value < least:
        raise ArgumentError(f"{name} must be a whole number >= {least}, got {value!r}")
    return int(value)


def number(name: str, value: Any, *, positive: bool = False, finite: bool = True) -> float:
    """A number of at least 0 (above 0 if `positive`), of Python's or of NumPy's.

    Raises
    ------
    ArgumentError
        It is something else, a boolean, NaN, or infinite where it must be finite.
    """
    size = real(value)
    if size is not None and (math.isfinite(size) or not finite):  # NaN passes no comparison below
        above = size > 0 if positive else size >= 0
        if above:
            return size
    wanted = f"a {'finite ' if finite else ''}number {'>' if positive else '>='} 0"
    raise ArgumentError(f"{name} must be {wanted}, got {value!r}")


def real(value: Any) -> float | None:
    """A real number as a float, infinite where it is too large for one; None of anything else."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf  # type: ignore[operator]


def choice(name: str, value: Any, allowed: Collection[str]) -> None:
    """Refuse what is none of the allowed words.

    Raises
    ------
    ArgumentError
        It is another word, or no word.
    """
    if isinstance(value, str) and value in allowed:
        return
    words = [repr(word) for word in allowed]
    listed = " or ".join(words) if len(words) == 2 else f"one of {', '.join(words)}"
    raise ArgumentError(f"{name} must be {listed}, got {value!r}")
