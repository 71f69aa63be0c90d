"""What is public for testing one's own: what is wrong does not pass."""

from dataclasses import dataclass, replace

import jax.numpy as jnp
import numpy as np
import pytest

import ldr.testing
from ldr.objectives import PCA, OrthogonalLDA, RobustPCA
from ldr.objectives.families.stacked import StackedData
from ldr.objectives.families.trace_ratio import TraceRatio
from ldr.testing import Case, preconditioner_is_symmetric_and_positive
from tests.objectives.methods import LABELS, X


@ldr.objective(manifold="stiefel", sense="max")
def fourth_moment(M, X):
    return jnp.mean((X @ M) ** 4)


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
        preconditioner_is_symmetric_and_positive(Case(OrthogonalLDA(), X, 2, LABELS))


@dataclass(frozen=True)
class OtherMatrices(PCA):
    def matrices(self, data):
        found = super().matrices(data)
        return replace(found, scale=1.01 * found.scale)


@dataclass(frozen=True)
class OtherMatricesAlone(OtherMatrices, stacks=False):
    """Its stacks are not solved."""


@dataclass(frozen=True)
class OtherProblem(OrthogonalLDA):
    def bind(self, data, r):
        return OrthogonalLDA(ridge=0.1).bind(data, r)


@dataclass(frozen=True)
class NoMatrices(RobustPCA, stacks=True):
    """It states no matrices."""


@dataclass(frozen=True)
class NoStacks(PCA):
    def matrices(self, data):
        assert not isinstance(data, StackedData), "not for stacks"
        return super().matrices(data)


@dataclass(frozen=True)
class PredictsNothing(PCA, predicts="classes"):
    """Its problem has no classes."""


@dataclass(frozen=True)
class ForgetsWeights(PCA):
    def bind(self, data, r):
        views = tuple(replace(view, marks=None) for view in data.views)
        return super().bind(replace(data, views=views), r)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (OtherMatrices(), "of `matrices`"),
        (OtherMatricesAlone(), "of `matrices`"),
        (OtherProblem(), "of `matrices`"),
        (NoMatrices(), "requires a method `matrices`"),
        (NoStacks(), "not for stacks"),
        (ForgetsWeights(), "values with weights and with repeated rows"),
        (PredictsNothing(), "predicts = 'classes', but the result has no predictor"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_what_a_method_says_of_itself_is_compared(wrong, said):
    with pytest.raises(AssertionError, match=said):
        ldr.testing.check_objective(wrong, X, y=LABELS)


def test_labels_that_are_none_of_the_classes(monkeypatch):
    predict = ldr.Result.predict
    monkeypatch.setattr(ldr.Result, "predict", lambda *given: predict(*given) + 10)
    with pytest.raises(AssertionError, match="predictions are not labels of y"):
        ldr.testing.check_objective(OrthogonalLDA(), X, y=LABELS)
