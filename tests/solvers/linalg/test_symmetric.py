"""Products of symmetric matrices."""

import numpy as np
import pytest

from ldr.solvers.linalg.symmetric import symmetric_product


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("k", [7, 127, 128, 300])
@pytest.mark.parametrize("columns", [0, 1, 2, 6, 7])
def test_the_product_is_that_of_the_whole_matrix(k, columns, order):
    rng = np.random.default_rng(k)
    S = rng.standard_normal((k, k))
    S = np.asarray(S + S.T, order=order)
    wide = rng.standard_normal((k, 2 * columns))
    for Z in (wide[:, ::2], wide[:, :columns], np.asfortranarray(wide[:, :columns])):
        before = S.copy(), Z.copy()
        product = symmetric_product(S, Z)
        bound = 2 * k * np.finfo(float).eps * (np.abs(S) @ np.abs(Z))
        assert product.shape == (k, columns)
        assert np.all(np.abs(product - S @ Z) <= bound)
        assert np.array_equal(S, before[0])
        assert np.array_equal(Z, before[1])
