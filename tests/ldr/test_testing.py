"""What is public for testing one's own: every method passes, and what is wrong does not."""

from dataclasses import dataclass

import jax.numpy as jnp
import pytest

import ldr.testing
from ldr.objectives import PCA
from ldr.objectives.registry import named
from ldr.testing.objectives import Case, derivatives_and_manifold_are_right
from tests.objectives.methods import RANDOM, X, name_of

# No third-order error can be measured where the Hessian jumps: see test_methods.
JUMPS = ("lasso", "lmnn")


@pytest.mark.parametrize("key", RANDOM)
def test_every_method(key):
    rows, y, parameters = RANDOM[key]
    case = Case(named(name_of(key), **parameters), rows, 2, y)
    for test in ldr.testing.OBJECTIVE:
        if not (test is derivatives_and_manifold_are_right and name_of(key) in JUMPS):
            test(case)


@ldr.objective(manifold="stiefel", sense="max")
def fourth_moment(M, X):
    return jnp.mean((X @ M) ** 4)


@pytest.mark.smoke
def test_a_function_of_ones_own():
    ldr.testing.check_objective(fourth_moment, X)


@dataclass(frozen=True)
class Careless(PCA):
    """pca that centres the user's rows in place."""

    def bind(self, data, r):
        rows = data.samples.array
        rows -= rows.mean(axis=0)
        return super().bind(data, r)


@ldr.objective(manifold="grassmann", sense="max")
def of_the_basis(M, X):
    return jnp.mean((X @ M) ** 4)


def test_what_is_wrong_does_not_pass():
    with pytest.raises(AssertionError):
        ldr.testing.check_objective(Careless(), X.copy())
    with pytest.raises(AssertionError, match="f\\(MQ\\) != f\\(M\\)"):
        ldr.testing.check_objective(of_the_basis, X)
