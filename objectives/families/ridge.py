"""Ridges: a multiple of the identity that makes a singular matrix invertible, on request."""

from __future__ import annotations

import math

import numpy as np

from ldr.solvers.errors import ArgumentError
from ldr.solvers.manifolds import Array


def ridge_amount(B: Array, ridge: float) -> float:
    """What a ridge, in units of B's mean diagonal, adds to it.

    Raises
    ------
    ArgumentError
        It is no number any more.
    """
    amount = ridge * float(B.trace()) / len(B)
    if not math.isfinite(amount):
        raise ArgumentError(f"ridge = {ridge:g} is too large for data of this unit: lower it")
    return amount


def add_ridge(B: Array, ridge: float, name: str) -> tuple[Array, list[str]]:
    """B + ridge * mean(diag B) * I, and a note that says so; B itself for ridge = 0."""
    if ridge == 0:
        return B, []
    amount = ridge_amount(B, ridge)
    return B + amount * np.eye(len(B)), [f"ridge: {amount:.3g} was added to the diagonal of {name}"]
