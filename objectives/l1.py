"""The l1 penalty, which makes entries of M exactly zero."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ldr.solvers.checks import number, real
from ldr.solvers.errors import ArgumentError


def coefficient(value: object) -> float | None:
    """Return a finite number as a float, or None if the value is not a number."""
    weight = real(value)
    if weight is not None and not math.isfinite(weight):
        raise ArgumentError(f"the weight of an objective must be a finite number, got {value!r}")
    return weight


@dataclass(frozen=True, repr=False)
class L1:
    """Penalty weight * sum_ij |m_ij| for a sum with an objective, created by `ldr.l1`.

    Parameters
    ----------
    weight : float
        At least 0.
    """

    weight: float

    __array_ufunc__ = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", number("the weight of an l1 penalty", self.weight))

    def __add__(self, other: object) -> L1:
        return L1(self.weight + other.weight) if isinstance(other, L1) else NotImplemented

    def __mul__(self, factor: object) -> L1:
        factor = coefficient(factor)
        if factor is None:
            return NotImplemented
        if factor < 0:
            raise ArgumentError(
                f"a penalty cannot be subtracted or have a negative weight, got {factor:g}: the "
                "penalty would not be convex"
            )
        return L1(self.weight * factor)

    __rmul__ = __mul__

    def __truediv__(self, divisor: object) -> L1:
        divisor = coefficient(divisor)
        if divisor is None:
            return NotImplemented
        if divisor == 0:
            raise ArgumentError("a penalty cannot be divided by 0")
        return self * (1.0 / divisor)

    def __repr__(self) -> str:
        return f"l1({self.weight:g})"


def l1(weight: float) -> L1:
    """Return a penalty that makes entries of M exactly zero: weight * sum_ij |m_ij|.

    The penalty is added to a minimised f, min f + weight ||M||_1, and subtracted from a maximised
    f, max f - weight ||M||_1. As ||M||_1 depends on the basis M and not only on the span of M, the
    problem is on the Stiefel manifold even if the objective's manifold is Grassmann.

    Parameters
    ----------
    weight : float
        At least 0, in the objective's units.

    Returns
    -------
    L1
        A penalty to add to an objective: ``ldr.objectives.PCA() + ldr.l1(10.0)``.

    Raises
    ------
    ldr.errors.ArgumentError
        The weight is negative, infinite or not a number.

    Examples
    --------
    >>> import numpy as np, ldr
    >>> X = np.random.default_rng(0).standard_normal((100, 6)) * [3, 3, 3, 1, 1, 1]
    >>> result = ldr.solve(ldr.objectives.PCA() + ldr.l1(200.0), X, r=2)
    >>> bool(result.parameters["sparsity"] > 0.5)
    True
    """
    return L1(weight)
