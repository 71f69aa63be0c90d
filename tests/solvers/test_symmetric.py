"""Products of symmetric matrices, and the BLAS threads that they are made with."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from ldr.solvers.symmetric import symmetric_product
from ldr.solvers.threads import one_team


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


def _threads_of_others():
    return [
        library["num_threads"]
        for library in threadpool_info()
        if library["user_api"] == "blas" and "scipy.libs" not in library["filepath"]
    ]


def test_one_team_leaves_threads_to_scipy_alone_and_gives_them_back():
    before = threadpool_info()
    own = [library for library in before if "scipy.libs" in library["filepath"]]
    with one_team():
        if own:
            assert _threads_of_others() == [1] * len(_threads_of_others())
        else:
            assert threadpool_info() == before
        assert [library for library in threadpool_info() if library in own] == own
    assert threadpool_info() == before
