"""Products of matrices without the rounding of their sums.

Of each row of A and column of B the leading digits are split off, so few that the products of
those add up without rounding, in any order (Ozaki, Ogita, Oishi, Rump 2012). What is left is
smaller by as many digits, and so is its rounding.
"""

from __future__ import annotations

import math

import numpy as np

from ldr.solvers.manifolds import Array

_UNIT = 0.5 * float(np.finfo(float).eps)
_DIGITS = 53


def accurate_product(A: Array, B: Array) -> Array:
    """AB, but for 2u of its entries and `product_error` times the sizes of A and B."""
    bits = _bits(A.shape[1])
    high_A, high_B = _leading(A, bits, 1), _leading(B, bits, 0)
    return high_A @ high_B + (high_A @ (B - high_B) + (A - high_A) @ B)


def product_error(k: int) -> float:
    """What the rounding of the smaller part is at most, relative to the Frobenius norms."""
    return 4 * k * (k + 4) * _UNIT * 2.0 ** -_bits(k)


def _bits(k: int) -> int:
    return (_DIGITS - math.ceil(math.log2(max(k, 2)))) // 2


def _leading(A: Array, bits: int, axis: int) -> Array:
    """The leading digits, as many below the largest entry along the axis."""
    _, exponents = np.frexp(np.abs(A).max(axis=axis, keepdims=True, initial=0.0))
    large = np.ldexp(1.5, exponents + (_DIGITS - 1 - bits))
    return (A + large) - large
