"""Numbers as JSON holds them and as a reader sees them."""

from __future__ import annotations

import math

import numpy as np

from ldr.solvers.manifolds import Array


def finite(number: float | None) -> float | None:
    """A number that JSON has."""
    return float(number) if number is not None and math.isfinite(number) else None


def plain(value: float | Array) -> object:
    """A number, or an array as lists of numbers."""
    return finite(float(value)) if np.ndim(value) == 0 else np.asarray(value).tolist()


def shown(value: float | Array) -> str:
    """A number, or a matrix with its rows below one another."""
    if np.ndim(value) == 0:
        return f"{value:.6g}"
    return np.array2string(np.asarray(value), precision=4, threshold=40, prefix=" " * 15)
