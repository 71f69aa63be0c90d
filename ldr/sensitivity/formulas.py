"""Methods as functions of the projected rows, for jax to differentiate.

A method of matrices that are quadratic in the rows (`Objective.matrices`) is one of those of the
rows XT, r x r: with T = P' it needs neither the d x d matrices nor their derivatives. What a
formula says is held against the method's own optimum wherever it is used: there its equations must
vanish.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ldr.objectives.custom.function import CustomObjective
from ldr.objectives.families.matrices import (
    AbsolutePencilMatrices,
    CorrelationMatrices,
    DeterminantMatrix,
    Divided,
    KernelRate,
    Matrices,
    PairMatrices,
    PencilMatrices,
    RatioMatrices,
    TraceMatrices,
)
from ldr.objectives.families.nested import NestedMethod
from ldr.objectives.families.shrinking import forms_of
from ldr.objectives.objective import Objective
from ldr.solvers.manifolds import Array

# A traced array of jax's.
Traced = Any


@dataclass(frozen=True)
class Given:
    """What a method is given.

    Attributes
    ----------
    X : sequence of arrays (n, d)
        The views; of methods of a background, samples and background.
    y : array (n,) or None
    parameters : mapping of str to numbers
    """

    X: Sequence[Traced]
    y: Traced = None
    parameters: Mapping[str, Traced] = field(default_factory=dict)

    def through(self, T: Sequence[Traced]) -> Given:
        """XT of each view; of a background with the samples' T."""
        X = [X @ T[min(i, len(T) - 1)] for i, X in enumerate(self.X)]
        return Given(X, self.y, self.parameters)


class TracedRows:
    """Sums over the rows of a view."""

    def __init__(self, X: Traced, mean: Traced = None) -> None:
        self.n, self.mean = len(X), X.mean(axis=0) if mean is None else mean
        self.X = X - self.mean

    def about(self, shares: Array) -> TracedRows:
        X = self.X + self.mean
        return TracedRows(X, shares @ X)

    def form(self, K: Any, rate: KernelRate | None = None) -> Traced:
        if K.ndim == 1:
            return self.X.T @ (K[:, None] * self.X)
        between = K.tocoo()
        products = between.data[:, None] * self.X[between.col]
        return self.X.T @ (0.0 * self.X).at[between.row].add(products)

    def scatter(self) -> Traced:
        return self.cross(self)

    def cross(self, other: TracedRows) -> Traced:
        return self.X.T @ other.X

    def lagged(self, lag: int) -> Traced:
        products = self.X[:-lag].T @ self.X[lag:] / (self.n - lag)
        return (products + products.T) / 2

    def scatter_of_changes(self) -> Traced:
        changes = self.X[1:] - self.X[:-1]
        return changes.T @ changes


class TracedData:
    """Those of all views."""

    def __init__(self, given: Given) -> None:
        self.views, self.y = [TracedRows(X) for X in given.X], given.y

    @property
    def rows(self) -> TracedRows:
        return self.views[0]

    def scatters_of_classes(self) -> tuple[Traced, Traced]:
        """Of labels that need not be known when it is compiled."""
        import jax

        X, n = self.rows.X, self.rows.n
        codes = (self.y[:, None] == self.y[None, :]).argmax(axis=1)  # the first row of the class
        counts = jax.ops.segment_sum(0.0 * X[:, 0] + 1.0, codes, n)
        means = jax.ops.segment_sum(X, codes, n) / (counts + (counts == 0))[:, None]
        between = (means * counts[:, None]).T @ means
        return between, self.rows.scatter() - between

    def through(self, of: Callable[..., Any]) -> None:
        """NumPy's functions take no traced arrays."""

    def deviations(self) -> Traced:
        return self.y - self.y.mean()

    def scatters_of_groups(self, groups: Callable[..., Any]) -> None:
        """They are not known of labels that are not."""

    def labels(self) -> None:
        """Nor are they."""

    def inverse(self, B: Traced, ridge: float) -> None:
        """It is of all columns."""

    def times_trace(self, A: Traced, inverse: Traced, F: Any) -> Traced:
        N = F.toarray() @ self.rows.X
        return A * (N * (N @ inverse)).sum()

    def groups(self, of: Callable[..., Any]) -> None:
        """Nor are those of a response."""

    def links(self, weights: Callable[..., Any]) -> None:
        """They jump with the rows."""


class Formula(ABC):
    """f(T), minimised subject to T'BT = I for each view."""

    @abstractmethod
    def value(self, T: Sequence[Traced], given: Given) -> Traced:
        """f."""

    @abstractmethod
    def axes(self, T: Sequence[Traced], given: Given) -> Traced | None:
        """The symmetric r x r matrix that is diagonal in canonical coordinates.

        None where columns are what they are.
        """

    @abstractmethod
    def squares(self, T: Sequence[Traced], given: Given) -> Sequence[Traced] | None:
        """T'BT of each view; None where nothing binds T."""


@dataclass(frozen=True)
class OfMatrices(Formula):
    """A method that states its matrices."""

    objective: Objective

    def matrices(self, given: Given) -> Matrices | None:
        own = copy(self.objective)
        vars(own).update(given.parameters)
        return forms_of(own, TracedData(given))

    def value(self, T: Sequence[Traced], given: Given) -> Traced:
        import jax

        match self.matrices(given.through(T)):
            case TraceMatrices(A=A, scale=scale) | PencilMatrices(A=A, scale=scale):
                return -scale * A.trace()
            case AbsolutePencilMatrices(A=A):
                return -abs(jax.numpy.linalg.eigvalsh(A)).sum()
            case RatioMatrices() as found:
                (B,) = self._ridged(found, T, given)
                return -found.sign * found.A.trace() / B.trace()
            case PairMatrices(K=K):
                return -K.trace()
            case CorrelationMatrices() as found:
                Caa, Cbb = self._ridged(found, T, given)
                return -found.K.trace() / (Caa.trace() * Cbb.trace()) ** 0.5
            case DeterminantMatrix(C=C):
                return -jax.numpy.linalg.slogdet(C)[1]

    def axes(self, T: Sequence[Traced], given: Given) -> Traced:
        through = given.through(T)
        match self.matrices(through):
            case TraceMatrices(A=A, scale=scale) | PencilMatrices(A=A, scale=scale):
                return scale * A
            case AbsolutePencilMatrices(A=A):
                return A
            case PairMatrices(K=K) | CorrelationMatrices(K=K):
                return (K + K.T) / 2
        return _variances(through)

    def squares(self, T: Sequence[Traced], given: Given) -> Sequence[Traced]:
        found = self.matrices(given.through(T))
        if (
            isinstance(found, (PencilMatrices, AbsolutePencilMatrices, PairMatrices))
            and found.divisors
        ):
            return self._ridged(found, T, given)
        return orthonormal(T)

    def _ridged(self, found: Divided, T: Sequence[Traced], given: Given) -> list[Traced]:
        """T'BT of each view with the ridge, which is in units of the mean diagonal of B."""
        whole = self.matrices(given)
        assert isinstance(whole, Divided)
        return [
            B + found.ridge * of_all.trace() / len(of_all) * (each.T @ each)
            for B, of_all, each in zip(found.divisors, whole.divisors, T, strict=True)
        ]


@dataclass(frozen=True)
class OfFunction(Formula):
    """A function of one's own in jax, whose manifold is said."""

    objective: CustomObjective

    def value(self, T: Sequence[Traced], given: Given) -> Traced:
        own = self.objective
        X = TracedRows(given.X[0]).X if own.center else given.X[0]
        beside = () if given.y is None or not own.needs else (given.y,)
        return own.sign * own.function(T[0], X, *beside)

    def axes(self, T: Sequence[Traced], given: Given) -> Traced | None:
        return _variances(given.through(T)) if self.objective.manifold == "grassmann" else None

    def squares(self, T: Sequence[Traced], given: Given) -> Sequence[Traced] | None:
        return None if self.objective.manifold == "euclidean" else orthonormal(T)


def orthonormal(T: Sequence[Traced]) -> list[Traced]:
    return [each.T @ each for each in T]


def _variances(through: Given) -> Traced:
    return TracedData(through).rows.scatter() / len(through.X[0])


def formula_of(objective: Objective, given: Given) -> Formula | None:
    """The method as a formula; None where there is none for what is given."""
    if isinstance(objective, CustomObjective):
        said = objective.backend == "jax" and objective.manifold != "auto"
        return OfFunction(objective) if said else None
    if isinstance(objective, NestedMethod) and objective.nested:
        return None
    import jax

    found, stated = OfMatrices(objective), []

    def look(X: Sequence[Traced], y: Traced) -> None:
        stated.append(found.matrices(Given(X, y, given.parameters)) is not None)

    jax.eval_shape(look, list(given.X), np.zeros(len(given.X[0])))  # of shapes, nothing is computed
    return found if any(stated) else None
