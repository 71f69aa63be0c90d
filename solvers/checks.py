"""Checks of scalar arguments, with the same words everywhere."""

from __future__ import annotations

import math
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
    real = isinstance(value, Real) and not isinstance(value, (bool, np.bool_))
    if real and (math.isfinite(value) or not finite):  # NaN passes neither comparison below
        above = value > 0 if positive else value >= 0
        if above:
            return float(value)
    wanted = f"a {'finite ' if finite else ''}number {'>' if positive else '>='} 0"
    raise ArgumentError(f"{name} must be {wanted}, got {value!r}")
