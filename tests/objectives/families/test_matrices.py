"""Statements of methods as matrices: sums that some data do not have."""

import inspect

import numpy as np
import pytest
from scipy.sparse import eye_array

from ldr.objectives.data.data import UnknownError
from ldr.objectives.families.matrices import DataSums
from ldr.objectives.statistics.products import ProductOf

SUMS = [
    name
    for name, of in vars(DataSums).items()
    if inspect.isfunction(of) and not name.startswith("_") and name != "unknown"
]


@pytest.mark.parametrize("name", SUMS)
def test_sums_that_are_not_available_are_unknown(name):
    """The problem is then solved alone, or its derivative computed by differences."""
    of = getattr(DataSums(), name)
    with pytest.raises(UnknownError):
        of(*inspect.signature(of).parameters)


def test_products_of_matrices_and_their_transposes():
    rng = np.random.default_rng(0)
    A, Y = rng.standard_normal((4, 3)), rng.standard_normal((5, 2))
    spread = eye_array(5, 4).tocsr()
    product = ProductOf((spread, A, spread[:4, :3].T.tocsr() @ spread.T[:4].tocsr()))
    dense = spread @ A @ (spread[:4, :3].T @ spread.T[:4]).toarray()
    np.testing.assert_allclose(product @ Y, dense @ Y)
    np.testing.assert_allclose(product.T @ Y, dense.T @ Y)
