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
    A[:, :1] -= A @ B[:, :1] / B[0, :1]  # the first column of the product nearly cancels
    found = accurate_product(A, B)
    assert found.shape == (n, r)
    room = product_error(k) * np.linalg.norm(A) * np.linalg.norm(B)
    assert room < 1e-2 * EPS * np.linalg.norm(A) * max(np.linalg.norm(B), 1.0)
    for i, row in enumerate(A):
        for j, column in enumerate(B.T):
            exact = sum(Fraction(a) * Fraction(b) for a, b in zip(row, column, strict=True))
            error = float(abs(Fraction(float(found[i, j])) - exact))
            assert error <= EPS * abs(float(exact)) + room
