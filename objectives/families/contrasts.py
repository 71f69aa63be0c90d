"""Functions G of one variable whose mean tells sources from Gaussians, and their derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ldr.solvers.manifolds import Array

Function = Callable[[Array], Array]


@dataclass(frozen=True)
class Contrast:
    """G with its first and second derivative, each elementwise; the second from y and G'(y)."""

    value: Function
    first: Function
    second: Callable[[Array, Array], Array]

    def of_gaussian(self) -> float:
        """E G(nu), nu standard normal: the trapezoidal rule, exact to rounding for smooth G."""
        step = 0.05
        nu = np.arange(-14.0, 14.0 + step, step)
        density = np.exp(-0.5 * nu**2) / math.sqrt(2.0 * math.pi)
        return step * float(density @ self.value(nu))


def _log_cosh(y: Array) -> Array:
    """log cosh y, without overflow.

    log1p would be ten times as slow, and of no use beside |y| and log 2.
    """
    size = np.abs(y)
    rest = np.exp(-2.0 * size)
    rest += 1.0
    size += np.log(rest)
    size -= math.log(2.0)
    return size


LOG_COSH = Contrast(_log_cosh, np.tanh, lambda y, slope: 1.0 - slope**2)
KURTOSIS = Contrast(lambda y: 0.25 * y**4, lambda y: y**3, lambda y, slope: 3.0 * y**2)
EXP = Contrast(
    lambda y: -np.exp(-0.5 * y**2),
    lambda y: y * np.exp(-0.5 * y**2),
    lambda y, slope: (1.0 - y**2) * np.exp(-0.5 * y**2),
)

CONTRASTS = {"log cosh": LOG_COSH, "kurtosis": KURTOSIS, "exp": EXP}


def hyperbolic_secant() -> Contrast:
    """-log p(y) of p(y) = 1/(pi cosh y)."""
    constant = math.log(math.pi)
    return Contrast(lambda y: constant + _log_cosh(y), LOG_COSH.first, LOG_COSH.second)


def student(degrees: float) -> Contrast:
    """-log p(y) of Student's t: (nu + 1)/2 log(1 + y^2/nu) and a constant."""
    nu = degrees
    constant = math.lgamma(nu / 2) - math.lgamma((nu + 1) / 2) + 0.5 * math.log(nu * math.pi)
    return Contrast(
        lambda y: constant + 0.5 * (nu + 1.0) * np.log1p(y**2 / nu),
        lambda y: (nu + 1.0) * y / (nu + y**2),
        lambda y, slope: (nu + 1.0) * (nu - y**2) / (nu + y**2) ** 2,
    )
