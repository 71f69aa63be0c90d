"""Demixed principal components: the reduced-rank fit of each part, and bad factors."""

import numpy as np
import pytest

import ldr
from ldr.errors import ArgumentError, DataError

RNG = np.random.default_rng(0)
D, S, T = 9, 4, 6
CUBE = (
    np.einsum("dk,ks->ds", RNG.standard_normal((D, 2)), RNG.standard_normal((2, S)))[:, :, None]
    + np.einsum("dk,kt->dt", RNG.standard_normal((D, 2)), RNG.standard_normal((2, T)))[:, None]
    + 0.3 * RNG.standard_normal((D, S, T))
)
X = CUBE.reshape(D, -1).T
Y = np.array([(s, t) for s in range(S) for t in range(T)])
RIDGE = 0.1


def part(subset):
    """What the factors of the cube add, on its axes 1 and 2."""
    centred = CUBE - CUBE.mean(axis=(1, 2), keepdims=True)
    stimulus, time = centred.mean(axis=2, keepdims=True), centred.mean(axis=1, keepdims=True)
    parts = {(0,): stimulus, (1,): time, (0, 1): centred - stimulus - time}
    return np.broadcast_to(sum(parts[one] for one in subset), CUBE.shape).reshape(D, -1)


@pytest.mark.parametrize("of", [((0,),), ((1,),), ((0, 1),), ((0,), (0, 1))])
def test_it_is_the_reduced_rank_fit_of_a_part(of):
    centred, added = (X - X.mean(axis=0)).T, part(of)
    inverse = np.linalg.inv(centred @ centred.T + RIDGE * np.sum(centred**2) / D * np.eye(D))
    A = added @ centred.T @ inverse
    value = np.linalg.eigvalsh(A @ np.linalg.inv(inverse) @ A.T)[::-1][:2].sum()
    result = ldr.solve("dpca", X, 2, y=Y, of=of, ridge=RIDGE)
    assert result.value == pytest.approx(value, rel=1e-10)
    np.testing.assert_allclose(result.P, result.M.T @ A, atol=1e-10)
    assert result.parameters["explained_share"] == pytest.approx(value / np.sum(added**2))
    assert result.certificate.kind == "global"


@pytest.mark.parametrize(
    ("y", "parameters", "error", "words"),
    [
        (Y[:-1], {}, DataError, r"y has shape \(23, 2\), expected 24 rows"),
        (Y, {"of": ((2,),)}, DataError, r"selects column 2 of y, expected 0 to 1"),
        (np.vstack([Y[1:], Y[1]]), {}, DataError, "24 combinations of levels, but 1 of these"),
        (Y, {"of": ()}, ArgumentError, "of must be a tuple of sets of columns of y"),
        (Y, {"of": (0,)}, ArgumentError, "of must be a tuple of sets of columns of y"),
        (Y, {"of": ((-1,),)}, ArgumentError, "of must be a tuple of sets of columns of y"),
    ],
)
def test_bad_factors(y, parameters, error, words):
    with pytest.raises(error, match=words):
        ldr.solve("dpca", X, 2, y=y, **parameters)
