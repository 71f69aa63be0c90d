"""Products of matrices whose sums cancel."""

from fractions import Fraction

import numpy as np
import pytest

from ldr.solvers.linalg.products import accurate_product, product_error

EPS = float(np.finfo(float).eps)


@pytest.mark.parametrize(("n", "k", "r"), [(1, 1, 1), (3, 40, 2), (2, 500, 1), (4, 5, 0)])
def test_the_product_is_that_of_fractions(n, k, r):
    rng = np.random.default_rng(k)
    A, B = rng.standard_normal((n, k)), rng.standard_normal((k, r))
    A = np.hstack([A, -A * (1 + 1e-12)])  # the products nearly cancel
    B = np.vstack([B, B])
    found = accurate_product(A, B)
    assert found.shape == (n, r)
    room = product_error(2 * k) * np.linalg.norm(A) * np.linalg.norm(B)
    assert room <= 2 * EPS * np.linalg.norm(A) * np.linalg.norm(B)
    for i, row in enumerate(A):
        for j, column in enumerate(B.T):
            exact = sum(Fraction(a) * Fraction(b) for a, b in zip(row, column, strict=True))
            error = float(abs(Fraction(float(found[i, j])) - exact))
            assert error <= EPS * abs(float(exact)) + room
