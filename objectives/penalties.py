"""Penalties on coefficients."""

from __future__ import annotations

import math

from ldr.solvers.errors import ArgumentError


def check_penalty(penalty: float) -> None:
    """Refuse a penalty that is negative or not a number."""
    if not (isinstance(penalty, (int, float)) and math.isfinite(penalty) and penalty >= 0):
        raise ArgumentError(f"penalty must be a finite number >= 0, got {penalty!r}")
