"""What is public for testing one's own: what is wrong does not pass."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
import pytest

import ldr.testing
from ldr.objectives import LDA, PCA
from ldr.objectives.families.trace_ratio import TraceRatio
from ldr.testing.objectives import Case, preconditioner_is_symmetric_and_positive
from tests.objectives.methods import LABELS, X


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


@pytest.mark.parametrize("wrong", [lambda N, U: -U, lambda N, U: U + N, lambda N, U: np.tri(7) @ U])
def test_a_preconditioner_that_is_none(wrong, monkeypatch):
    monkeypatch.setattr(TraceRatio, "preconditioner", lambda problem, M: wrong)
    with pytest.raises(AssertionError):
        preconditioner_is_symmetric_and_positive(Case(LDA(), X, 2, LABELS))
